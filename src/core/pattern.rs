//! Names with `*` and `?`, as filters, breakpoints and policies write them.

/// One or more alternatives, with commas between them. Without capital letters they match in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    alternatives: Vec<Vec<char>>,
    any_case: bool,
}

impl Pattern {
    pub fn new(text: &str) -> Self {
        let alternatives = text.split(',').filter(|part| !part.is_empty());
        Self {
            alternatives: alternatives.map(|part| part.chars().collect()).collect(),
            any_case: ignores_case(text),
        }
    }

    /// The same, where a part of the name is enough in an alternative without `*` and `?`, in any case.
    pub fn of_parts(text: &str) -> Self {
        let alternatives = text.to_lowercase();
        let alternatives = alternatives.split(',').map(|part| {
            match part.contains(['*', '?']) || part.is_empty() {
                true => part.to_owned(),
                false => format!("*{part}*"),
            }
        });
        Self::new(&alternatives.collect::<Vec<_>>().join(","))
    }

    /// One name with `*` and `?`, in exactly these letters.
    pub fn exact(text: &str) -> Self {
        Self {
            alternatives: vec![text.chars().collect()],
            any_case: false,
        }
    }

    /// Whether all of a name fits.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = if self.any_case {
            name.chars().flat_map(char::to_lowercase).collect()
        } else {
            name.chars().collect()
        };
        self.alternatives
            .iter()
            .any(|pattern| matches_whole(pattern, &name))
    }
}

/// Whether a text that is looked for is found in any case: it has no capital letter.
pub fn ignores_case(text: &str) -> bool {
    !text.chars().any(char::is_uppercase)
}

/// Whether the pattern matches all of the name. On a mismatch the last `*` takes one character more, which is
/// enough, since an earlier one could only leave less for the later ones.
fn matches_whole(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[from] => {
                at += 1;
                from += 1;
            }
            _ => match star.as_mut() {
                Some((star, taken)) => {
                    *taken += 1;
                    (at, from) = (*star + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_letters() {
        let yes = [
            ("search*", "search_flights"),
            ("*flights", "search_flights"),
            ("s*_f*s", "search_flights"),
            ("get_?ser", "get_user"),
            ("a,b*", "bcd"),
            ("read", "Read"),
            ("*", ""),
        ];
        for (pattern, name) in yes {
            assert!(Pattern::new(pattern).matches(name), "{pattern} {name}");
        }
        let no = [
            ("search", "search_flights"),
            ("Read", "read"),
            ("a?", "a"),
            ("", "a"),
        ];
        for (pattern, name) in no {
            assert!(!Pattern::new(pattern).matches(name), "{pattern} {name}");
        }
        let part = Pattern::of_parts("CLAUDE,gpt-5*");
        for (name, is_matched) in [
            ("claude-code", true),
            ("Claude Code", true),
            ("gpt-5-mini", true),
            ("my-gpt-5", false),
            ("codex", false),
        ] {
            assert_eq!(part.matches(name), is_matched, "{name}");
        }
        assert!(!Pattern::of_parts(",").matches("claude-code"));
        let slow = "*a".repeat(50);
        assert!(!Pattern::new(&slow).matches(&("a".repeat(49) + &"b".repeat(5000))));
    }
}
