//! Fuzzy matching, as the palette, the picker and the filter bar use it: letters in order with gaps, words in
//! any order, small letters match both cases.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// A pattern with the memory that matching needs.
#[derive(Debug, Clone)]
pub struct Fuzzy {
    pattern: Pattern,
    matcher: Matcher,
    buffer: Vec<char>,
}

impl Fuzzy {
    /// A pattern; in it `^`, `$`, `'` and `!` mean what they mean in fzf.
    pub fn new(pattern: &str) -> Self {
        Self {
            pattern: Pattern::parse(pattern, CaseMatching::Smart, Normalization::Smart),
            matcher: Matcher::new(Config::DEFAULT),
            buffer: Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.pattern.atoms.is_empty()
    }

    /// How well a text matches: higher is better, `None` not at all.
    pub fn score(&mut self, text: &str) -> Option<u32> {
        let text = Utf32Str::new(text, &mut self.buffer);
        self.pattern.score(text, &mut self.matcher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_match_in_order_and_words_in_any() {
        let mut fuzzy = Fuzzy::new("nxf");
        assert!(fuzzy.score("next finding").is_some());
        assert!(fuzzy.score("finding next").is_none());
        let mut fuzzy = Fuzzy::new("find next");
        assert!(fuzzy.score("next finding").is_some());
        assert!(fuzzy.score("Next Finding") > fuzzy.score("f-i-n-d then n-e-x-t"));
        assert!(Fuzzy::new("  ").is_empty());
    }
}
