//! Each tool name once; items hold its number.

use std::collections::HashMap;

/// The number of a name in [`Names`]; 0 is "no name".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, PartialOrd, Ord)]
pub struct NameId(pub u32);

impl NameId {
    /// Whether it means "no name".
    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// The distinct names of a session.
#[derive(Debug, Clone, Default)]
pub struct Names {
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Names {
    /// The number of a name, new or known. The empty name is [`NameId::default`].
    pub fn intern(&mut self, name: &str) -> NameId {
        if name.is_empty() {
            return NameId::default();
        }
        if let Some(number) = self.numbers.get(name) {
            return NameId(*number);
        }
        self.texts.push(name.to_owned());
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.numbers.insert(name.to_owned(), number);
        NameId(number)
    }

    /// The name of a number; empty for "no name".
    pub fn text(&self, id: NameId) -> &str {
        id.0.checked_sub(1)
            .and_then(|index| self.texts.get(index as usize))
            .map_or("", String::as_str)
    }

    /// The number of a name that is already known.
    pub fn find(&self, name: &str) -> Option<NameId> {
        self.numbers.get(name).map(|number| NameId(*number))
    }

    /// All names with their numbers, in the order in which they were first seen.
    pub fn iter(&self) -> impl Iterator<Item = (NameId, &str)> {
        (1..).map(NameId).zip(self.texts.iter().map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number() {
        let mut names = Names::default();
        let read = names.intern("read");
        assert_eq!(names.intern("read"), read);
        assert_ne!(names.intern("write"), read);
        assert_eq!(names.text(read), "read");
        assert_eq!(
            (names.intern(""), names.text(NameId(9))),
            (NameId::default(), "")
        );
    }
}
