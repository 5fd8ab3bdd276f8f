//! Questions about single characters: which show nothing, which lean on their neighbours.
//!
//! The answers come from the Unicode tables of the crates where these have them; the lists written out here
//! name their Unicode file.

use std::ops::{BitOr, BitOrAssign};
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;

pub(crate) const ZERO_WIDTH_JOINER: char = '\u{200d}';
pub(crate) const ENCLOSING_KEYCAP: char = '\u{20e3}';

/// The picture of a C0 control or DEL (Unicode block Control Pictures).
pub(crate) fn control_picture(c: char) -> char {
    match c {
        '\u{7f}' => '\u{2421}',
        _ => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
    }
}

/// The flags of a character that is not drawn but spelled out as `\u{hex}`, and `None` for one that is drawn.
pub(crate) fn hidden(c: char) -> Option<CharacterFlags> {
    match get_general_category(c) {
        GeneralCategory::Control => Some(CharacterFlags::CONTROL),
        GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator => {
            Some(CharacterFlags::CONTROL | CharacterFlags::INVISIBLE)
        }
        GeneralCategory::Format if is_bidi_control(c) => Some(CharacterFlags::BIDI),
        GeneralCategory::Format => Some(CharacterFlags::INVISIBLE),
        GeneralCategory::PrivateUse => Some(CharacterFlags::PRIVATE_USE),
        // Letters and emoji younger than the tables of the category crate are drawn.
        GeneralCategory::Unassigned if !c.is_alphanumeric() && !is_pictograph(c) => {
            Some(CharacterFlags::INVISIBLE)
        }
        _ if is_ignorable(c) => Some(CharacterFlags::INVISIBLE),
        _ => None,
    }
}

fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Unicode DerivedCoreProperties.txt, `Default_Ignorable_Code_Point`, as far as the general category does not
/// say it (`Cf`, `Cn`); and the blank braille pattern, which no font shows.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}')
}

/// Text and emoji presentation selectors.
pub(crate) fn is_emoji_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

pub(crate) fn is_skin_tone(c: char) -> bool {
    matches!(c, '\u{1f3fb}'..='\u{1f3ff}')
}

/// `Extended_Pictographic`, from the segmentation tables: only between two of these does a joiner join
/// (UAX #29, rule GB11).
pub(crate) fn is_pictograph(c: char) -> bool {
    !c.is_ascii() && c.width() != Some(0) && is_one_cluster(&[c, ZERO_WIDTH_JOINER, '\u{2764}'])
}

/// True for a character that combines with the one before it.
pub(crate) fn stands_on_previous(c: char) -> bool {
    !c.is_ascii() && is_one_cluster(&['\u{25cc}', c])
}

fn is_one_cluster(characters: &[char]) -> bool {
    let text: String = characters.iter().collect();
    text.graphemes(true).nth(1).is_none()
}

/// A letter that fills its own cells and combines with nothing: most of all text, and needs no other check.
pub(crate) fn is_plain_letter(c: char) -> bool {
    use GeneralCategory::{LowercaseLetter, OtherLetter, UppercaseLetter};
    matches!(get_general_category(c), LowercaseLetter | OtherLetter | UppercaseLetter)
        && c.width() != Some(0)
        && !is_ignorable(c)
        // Thai and Lao am, letters that melt into the letter before (UAX #29, SpacingMark).
        && !matches!(c, '\u{e33}' | '\u{eb3}')
}

/// The spacing form of a halfwidth katakana sound mark. Ratatui gives the halfwidth mark two cells and
/// terminals one, so that a cell of an earlier frame would stay visible; on the spacing form they agree.
pub(crate) fn spacing_sound_mark(c: char) -> Option<&'static str> {
    match c {
        '\u{ff9e}' => Some("\u{309b}"),
        '\u{ff9f}' => Some("\u{309c}"),
        _ => None,
    }
}

/// Flags of a character that is drawn.
pub(crate) fn seen(c: char) -> CharacterFlags {
    let mut flags = CharacterFlags::default();
    if right_to_left(c) {
        flags |= CharacterFlags::RIGHT_TO_LEFT;
    }
    if odd_space(c) {
        flags |= CharacterFlags::ODD_SPACE;
    }
    if stacks_on_anything(c) {
        flags |= CharacterFlags::COMBINING;
    }
    flags
}

/// Marks that belong to no script (Unicode Blocks.txt: the Combining Diacritical Marks blocks, Combining Half
/// Marks, the Cyrillic thousands and millions signs).
fn stacks_on_anything(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Letters of the blocks that the bidirectional algorithm takes as right-to-left by default
/// (Unicode DerivedBidiClass.txt, `@missing` lines).
fn right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

pub(crate) fn odd_space(c: char) -> bool {
    c != ' ' && get_general_category(c) == GeneralCategory::SpaceSeparator
}

/// Combining marks of any script.
pub(crate) fn is_mark(c: char) -> bool {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    matches!(
        get_general_category(c),
        EnclosingMark | NonspacingMark | SpacingMark
    )
}

// Contents of a text that an operator must know about, and names that look like other names.

/// Classes of characters that can mislead a reader. A set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CharacterFlags(u8);

impl CharacterFlags {
    /// Control characters other than TAB and LF.
    pub const CONTROL: CharacterFlags = CharacterFlags(1);
    /// Characters that reorder the text around them.
    pub const BIDI: CharacterFlags = CharacterFlags(2);
    /// Characters that show nothing: zero width, blank, unassigned, tags, selectors outside emoji.
    pub const INVISIBLE: CharacterFlags = CharacterFlags(4);
    /// Private use: what is seen depends on the font.
    pub const PRIVATE_USE: CharacterFlags = CharacterFlags(8);
    /// Bytes that are not UTF-8, encoded surrogates among them.
    pub const ILL_FORMED: CharacterFlags = CharacterFlags(16);
    /// Marks that stack on any letter, and clusters that were cut.
    pub const COMBINING: CharacterFlags = CharacterFlags(32);
    /// Letters written from right to left: a terminal may reorder the line.
    pub const RIGHT_TO_LEFT: CharacterFlags = CharacterFlags(64);
    /// Spaces that are not U+0020.
    pub const ODD_SPACE: CharacterFlags = CharacterFlags(128);

    const NAMES: [(CharacterFlags, &'static str); 8] = [
        (CharacterFlags::CONTROL, "control characters"),
        (CharacterFlags::BIDI, "bidirectional controls"),
        (CharacterFlags::INVISIBLE, "invisible characters"),
        (CharacterFlags::PRIVATE_USE, "private-use characters"),
        (CharacterFlags::ILL_FORMED, "bytes that are not UTF-8"),
        (CharacterFlags::COMBINING, "combining marks"),
        (CharacterFlags::RIGHT_TO_LEFT, "right-to-left letters"),
        (CharacterFlags::ODD_SPACE, "unusual spaces"),
    ];

    /// True when nothing was found.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True when every class of `other` was found.
    pub fn contains(self, other: CharacterFlags) -> bool {
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

impl BitOr for CharacterFlags {
    type Output = CharacterFlags;
    fn bitor(self, other: CharacterFlags) -> CharacterFlags {
        CharacterFlags(self.0 | other.0)
    }
}

impl BitOrAssign for CharacterFlags {
    fn bitor_assign(&mut self, other: CharacterFlags) {
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
        let flags = CharacterFlags::CONTROL | CharacterFlags::BIDI;
        assert_eq!(
            flags.names().collect::<Vec<_>>(),
            ["control characters", "bidirectional controls"]
        );
        assert!(
            flags.contains(CharacterFlags::BIDI)
                && !flags.contains(CharacterFlags::BIDI | CharacterFlags::INVISIBLE)
        );
    }
}
