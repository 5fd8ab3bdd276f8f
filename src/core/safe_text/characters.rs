//! Questions about single characters: which show nothing, which lean on their neighbours.
//!
//! The answers come from the Unicode tables of the crates where these have them; the lists written out here
//! name their Unicode file.

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;

use super::Flags;

pub(super) const ZERO_WIDTH_JOINER: char = '\u{200d}';
pub(super) const ENCLOSING_KEYCAP: char = '\u{20e3}';

/// The picture of a C0 control or DEL (Unicode block Control Pictures).
pub(super) fn control_picture(c: char) -> char {
    match c {
        '\u{7f}' => '\u{2421}',
        _ => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
    }
}

/// The flags of a character that is not drawn but spelled out as `\u{hex}`, and `None` for one that is drawn.
pub(super) fn hidden(c: char) -> Option<Flags> {
    match get_general_category(c) {
        GeneralCategory::Control => Some(Flags::CONTROL),
        GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator => {
            Some(Flags::CONTROL | Flags::INVISIBLE)
        }
        GeneralCategory::Format if is_bidi_control(c) => Some(Flags::BIDI),
        GeneralCategory::Format => Some(Flags::INVISIBLE),
        GeneralCategory::PrivateUse => Some(Flags::PRIVATE_USE),
        // Letters and emoji younger than the tables of the category crate are drawn.
        GeneralCategory::Unassigned if !c.is_alphanumeric() && !is_pictograph(c) => {
            Some(Flags::INVISIBLE)
        }
        _ if is_ignorable(c) => Some(Flags::INVISIBLE),
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
pub(super) fn is_emoji_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

pub(super) fn is_skin_tone(c: char) -> bool {
    matches!(c, '\u{1f3fb}'..='\u{1f3ff}')
}

/// `Extended_Pictographic`, from the segmentation tables: only between two of these does a joiner join
/// (UAX #29, rule GB11).
pub(super) fn is_pictograph(c: char) -> bool {
    !c.is_ascii() && c.width() != Some(0) && is_one_cluster(&[c, ZERO_WIDTH_JOINER, '\u{2764}'])
}

/// True for a character that combines with the one before it.
pub(super) fn stands_on_previous(c: char) -> bool {
    !c.is_ascii() && is_one_cluster(&['\u{25cc}', c])
}

fn is_one_cluster(characters: &[char]) -> bool {
    let text: String = characters.iter().collect();
    text.graphemes(true).nth(1).is_none()
}

/// A letter that fills its own cells and combines with nothing: most of all text, and needs no other check.
pub(super) fn is_plain_letter(c: char) -> bool {
    use GeneralCategory::{LowercaseLetter, OtherLetter, UppercaseLetter};
    matches!(get_general_category(c), LowercaseLetter | OtherLetter | UppercaseLetter)
        && c.width() != Some(0)
        && !is_ignorable(c)
        // Thai and Lao am, letters that melt into the letter before (UAX #29, SpacingMark).
        && !matches!(c, '\u{e33}' | '\u{eb3}')
}

/// The spacing form of a halfwidth katakana sound mark. Ratatui gives the halfwidth mark two cells and
/// terminals one, so that a cell of an earlier frame would stay visible; on the spacing form they agree.
pub(super) fn spacing_sound_mark(c: char) -> Option<&'static str> {
    match c {
        '\u{ff9e}' => Some("\u{309b}"),
        '\u{ff9f}' => Some("\u{309c}"),
        _ => None,
    }
}

/// Flags of a character that is drawn.
pub(super) fn seen(c: char) -> Flags {
    let mut flags = Flags::default();
    if right_to_left(c) {
        flags |= Flags::RIGHT_TO_LEFT;
    }
    if odd_space(c) {
        flags |= Flags::ODD_SPACE;
    }
    if stacks_on_anything(c) {
        flags |= Flags::COMBINING;
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

pub(super) fn odd_space(c: char) -> bool {
    c != ' ' && get_general_category(c) == GeneralCategory::SpaceSeparator
}

/// Combining marks of any script.
pub(super) fn is_mark(c: char) -> bool {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    matches!(
        get_general_category(c),
        EnclosingMark | NonspacingMark | SpacingMark
    )
}
