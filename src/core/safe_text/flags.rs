//! Contents of a text that an operator must know about, and names that look like other names.

use std::ops::{BitOr, BitOrAssign};

use super::characters::{hidden, is_mark, odd_space};

/// Classes of characters that can mislead a reader. A set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// Control characters other than TAB and LF.
    pub const CONTROL: Flags = Flags(1);
    /// Characters that reorder the text around them.
    pub const BIDI: Flags = Flags(2);
    /// Characters that show nothing: zero width, blank, unassigned, tags, selectors outside emoji.
    pub const INVISIBLE: Flags = Flags(4);
    /// Private use: what is seen depends on the font.
    pub const PRIVATE_USE: Flags = Flags(8);
    /// Bytes that are not UTF-8, encoded surrogates among them.
    pub const ILL_FORMED: Flags = Flags(16);
    /// Marks that stack on any letter, and clusters that were cut.
    pub const COMBINING: Flags = Flags(32);
    /// Letters written from right to left: a terminal may reorder the line.
    pub const RIGHT_TO_LEFT: Flags = Flags(64);
    /// Spaces that are not U+0020.
    pub const ODD_SPACE: Flags = Flags(128);

    const NAMES: [(Flags, &'static str); 8] = [
        (Flags::CONTROL, "control characters"),
        (Flags::BIDI, "bidirectional controls"),
        (Flags::INVISIBLE, "invisible characters"),
        (Flags::PRIVATE_USE, "private-use characters"),
        (Flags::ILL_FORMED, "bytes that are not UTF-8"),
        (Flags::COMBINING, "combining marks"),
        (Flags::RIGHT_TO_LEFT, "right-to-left letters"),
        (Flags::ODD_SPACE, "unusual spaces"),
    ];

    /// True when nothing was found.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True when every class of `other` was found.
    pub fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The classes found, in words.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .into_iter()
            .filter(move |(flag, _)| self.contains(*flag))
            .map(|(_, name)| name)
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// True when a name can be taken for another one by eye: it is blank, holds something invisible or a space
/// other than between words, mixes ASCII with other letters or marks, mixes scripts, or is spelled in lookalike
/// forms of ASCII (fullwidth, mathematical).
pub fn confusable(name: &str) -> bool {
    if name.trim().is_empty() || name.trim().len() != name.len() {
        return true;
    }
    let mut scripts = [
        name.bytes()
            .any(|byte| byte.is_ascii_alphabetic())
            .then_some(Script::Latin),
        None,
    ];
    for c in name.chars().filter(|c| !matches!(c, ' '..='~')) {
        let hidden = c.is_control() || hidden(c).is_some() || odd_space(c);
        let lookalike = matches!(c, '\u{ff01}'..='\u{ff5e}' | '\u{1d400}'..='\u{1d7ff}');
        let beside_ascii = scripts[0].is_some() && (c.is_alphabetic() || is_mark(c));
        if hidden || lookalike || beside_ascii {
            return true;
        }
        if c.is_alphabetic() {
            let script = Script::of(c);
            if scripts[1].is_some_and(|seen| seen != script) {
                return true;
            }
            scripts[1] = Some(script);
        }
    }
    false
}

/// Scripts whose letters resemble letters of another one, and all the others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Cherokee,
    Other,
}

impl Script {
    /// By block (Unicode Blocks.txt); Han, kana and hangul are written together and count as one.
    fn of(c: char) -> Script {
        match c {
            'A'..='Z'
            | 'a'..='z'
            | '\u{aa}'..='\u{2af}'
            | '\u{1d00}'..='\u{1eff}'
            | '\u{2c60}'..='\u{2c7f}' => Script::Latin,
            '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Script::Greek,
            '\u{400}'..='\u{52f}' | '\u{2de0}'..='\u{2dff}' | '\u{a640}'..='\u{a69f}' => {
                Script::Cyrillic
            }
            '\u{530}'..='\u{58f}' => Script::Armenian,
            '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}' => Script::Cherokee,
            _ => Script::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookalike_names_are_detected() {
        for name in [
            "fοo",
            "get_weаther",
            "ｇｅｔ",
            "𝗀𝖾𝗍_weather",
            "cafe\u{301}",
            "get_\u{200b}weather",
            "get\u{ad}",
            "",
            "   ",
            "get_weather\n",
            "get_weather\u{a0}",
            "a\0b",
            "Ωтест",
        ] {
            assert!(confusable(name), "{name:?}");
        }
    }

    #[test]
    fn plain_names_and_names_in_one_script_are_not_suspected() {
        for name in [
            "get_weather",
            "browser.tabs-open",
            "погода",
            "天気_取得",
            "get weather",
            "a'b`c",
        ] {
            assert!(!confusable(name), "{name:?}");
        }
    }

    #[test]
    fn flags_name_themselves() {
        let flags = Flags::CONTROL | Flags::BIDI;
        assert_eq!(
            flags.names().collect::<Vec<_>>(),
            ["control characters", "bidirectional controls"]
        );
        assert!(flags.contains(Flags::BIDI) && !flags.contains(Flags::BIDI | Flags::INVISIBLE));
    }
}
