//! How contents look: a few looks of our own, never the codes of a terminal.

/// How a piece of content looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Look {
    #[default]
    Plain,
    Faint,
    Strong,
    Emphasis,
    Heading,
    /// The words of a link.
    Link,
    Code,
    Quote,
    /// Of source code, as the next ones.
    Keyword,
    Text,
    Number,
    Comment,
    Added,
    Removed,
    /// The position of a part of a diff in its file.
    Place,
    /// A colour of terminal output.
    Colour(Colour),
    /// Terminal output on a background of this colour.
    Background(Colour),
}

/// The colours that terminal output is shown in. Which shade of them it was is not kept, and neither are black and
/// the colour of letters on a background: they are unreadable on somebody's screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
    /// White and greys, of backgrounds only.
    Grey,
}

/// A line of pieces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StyledLine {
    pub pieces: Vec<(Look, String)>,
}

impl StyledLine {
    pub fn new(look: Look, text: &str) -> Self {
        Self {
            pieces: vec![(look, text.to_owned())],
        }
    }

    /// Appends text; what looks like the last piece joins it.
    pub(super) fn push(&mut self, look: Look, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some((last, before)) if *last == look => before.push_str(text),
            _ => self.pieces.push((look, text.to_owned())),
        }
    }

    /// A line of Markdown without the marks of bold, emphasized and linked words. Code keeps its marks, and the target of
    /// a link follows its words.
    pub(super) fn inline(line: &str) -> Self {
        Self::inline_in(Look::Plain, line)
    }

    /// [`Self::inline`] where words that are not marked have this look.
    pub(super) fn inline_in(look: Look, line: &str) -> Self {
        let mut styled = Self::default();
        let mut rest = line;
        let mut before = None;
        while let Some(at) = rest.find(['`', '*', '[']) {
            before = rest[..at].chars().next_back().or(before);
            let marked = &rest[at..];
            let found = code(marked)
                .or_else(|| strong(marked))
                .or_else(|| emphasis(before, marked))
                .or_else(|| link(before, marked));
            let (plain, length) = match &found {
                Some(found) => (at, found.length),
                None => (at + 1, 0),
            };
            styled.push(look, &rest[..plain]);
            before = rest[..plain + length].chars().next_back();
            rest = &rest[plain + length..];
            match found {
                None => {}
                Some(found) if found.look == Look::Code => styled.push(Look::Code, found.words),
                Some(found) => {
                    let inside = match look {
                        Look::Heading => Look::Heading,
                        _ => found.look,
                    };
                    for (look, words) in Self::inline_in(inside, found.words).pieces {
                        styled.push(look, &words);
                    }
                    if let Some(target) = found.target.filter(|it| *it != found.words) {
                        styled.push(Look::Faint, &format!(" ({target})"));
                    }
                }
            }
        }
        styled.push(look, rest);
        styled
    }
}

/// Words in marks.
struct Marked<'a> {
    look: Look,
    words: &'a str,
    /// Where a link leads.
    target: Option<&'a str>,
    /// Bytes with the marks.
    length: usize,
}

impl<'a> Marked<'a> {
    fn new(look: Look, words: &'a str, length: usize) -> Self {
        Self {
            look,
            words,
            target: None,
            length,
        }
    }
}

fn code(text: &str) -> Option<Marked<'_>> {
    let inside = text.strip_prefix('`')?;
    let end = inside.find('`').filter(|end| *end > 0)? + 2;
    Some(Marked::new(Look::Code, &text[..end], end))
}

fn strong(text: &str) -> Option<Marked<'_>> {
    let inside = text.strip_prefix("**")?;
    let end = inside.find("**")?;
    let words = &inside[..end];
    let is_word = !words.is_empty() && !words.starts_with(' ') && !words.ends_with(' ');
    is_word.then(|| Marked::new(Look::Strong, words, end + 4))
}

/// Words between single stars that are no operators and no patterns of files.
fn emphasis(before: Option<char>, text: &str) -> Option<Marked<'_>> {
    let is_start =
        |letter: char| letter.is_whitespace() || matches!(letter, '(' | '[' | '"' | '\'' | '—');
    if !before.is_none_or(is_start) {
        return None;
    }
    let inside = text.strip_prefix('*')?;
    let end = inside.find('*')?;
    let words = &inside[..end];
    let begins = words.starts_with(|letter: char| letter.is_alphanumeric() || letter == '`');
    let ends = words.ends_with(|letter: char| !letter.is_whitespace() && letter != '/');
    let after = &inside[end + 1..];
    let mut next = after.chars();
    let is_closed = match next.next() {
        None => true,
        Some('.') => !next.next().is_some_and(char::is_alphanumeric),
        Some(letter) => !letter.is_alphanumeric() && !matches!(letter, '*' | '/' | '_'),
    };
    (begins && ends && is_closed).then(|| Marked::new(Look::Emphasis, words, end + 2))
}

/// `[words](target)`, which is no picture.
fn link(before: Option<char>, text: &str) -> Option<Marked<'_>> {
    let inside = text.strip_prefix('[')?;
    let end = inside.find(['[', ']']).filter(|end| *end > 0)?;
    let target = inside[end..].strip_prefix("](")?;
    let length = target.find(|letter: char| letter.is_whitespace() || "()".contains(letter))?;
    let is_link = length > 0 && target[length..].starts_with(')');
    let is_link = is_link && before != Some('!') && !inside[..end].trim().is_empty();
    is_link.then(|| Marked {
        target: Some(&target[..length]),
        ..Marked::new(Look::Link, &inside[..end], 1 + end + 2 + length + 1)
    })
}
