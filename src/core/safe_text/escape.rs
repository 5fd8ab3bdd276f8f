//! The display policy: walks a text cluster by cluster and writes what may be drawn.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;

use super::characters::{
    ENCLOSING_KEYCAP, ZERO_WIDTH_JOINER, control_picture, hidden, is_emoji_selector, is_pictograph,
    is_plain_letter, is_skin_tone, seen, spacing_sound_mark, stands_on_previous,
};
use super::{CharacterFlags, Run, SafeText, TextMark, cells};

/// No cluster is longer; ratatui puts a whole cluster into one cell and measures it in 16 bits.
pub(crate) const CLUSTER_BYTES: usize = 64;
/// Code points of a cluster that are drawn.
const CLUSTER_CODE_POINTS: usize = 8;
/// The longest emoji that vendors agree on has ten: a kiss with two skin tones (Unicode
/// emoji-zwj-sequences.txt).
const EMOJI_CODE_POINTS: usize = 10;
/// Marks that are drawn on one base.
const MARKS_ON_BASE: usize = 4;
const TAB_CELLS: usize = 4;

const DOTTED_CIRCLE: char = '\u{25cc}';

/// A [`SafeText`] being written.
pub(crate) struct Drawing {
    text: String,
    runs: Vec<Run>,
    flags: CharacterFlags,
    /// Cells written to the current line.
    column: usize,
    /// Width of the row for a text that is drawn in one row.
    row: Option<usize>,
}

impl Drawing {
    /// LF breaks the line, everything is read.
    pub(crate) fn of_lines() -> Self {
        Self {
            text: String::new(),
            runs: Vec::new(),
            flags: CharacterFlags::default(),
            column: 0,
            row: None,
        }
    }

    /// LF is shown, reading stops once more than `width` cells are filled.
    pub(crate) fn of_row(width: usize) -> Self {
        Self {
            row: Some(width),
            ..Self::of_lines()
        }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        for chunk in bytes.utf8_chunks() {
            self.text(chunk.valid());
            for byte in chunk.invalid() {
                if self.is_full() {
                    return;
                }
                self.escaped(&format!("\\x{byte:02x}"), CharacterFlags::ILL_FORMED);
            }
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(first) = rest.chars().next().filter(|_| !self.is_full()) {
            let ascii = drawable_ascii(rest);
            let taken = if ascii > 0 {
                self.plain(&rest[..ascii], ascii);
                ascii
            } else if first.is_ascii_control() {
                self.ascii_control(first);
                1
            } else {
                let cluster = rest.graphemes(true).next().unwrap_or(rest);
                self.cluster(cluster, first);
                cluster.len()
            };
            rest = &rest[taken..];
        }
    }

    pub(crate) fn finish(self) -> SafeText {
        SafeText {
            text: Cow::Owned(self.text),
            runs: self.runs,
            flags: self.flags,
        }
    }

    fn is_full(&self) -> bool {
        self.row.is_some_and(|width| self.column > width)
    }

    fn plain(&mut self, text: &str, cells: usize) {
        self.text.push_str(text);
        self.column += cells;
        self.close_run(TextMark::Plain);
    }

    fn escaped(&mut self, text: &str, flags: CharacterFlags) {
        self.text.push_str(text);
        self.column += cells(text);
        self.flags |= flags;
        self.close_run(TextMark::Escaped);
    }

    /// What was written since the last run belongs to `mark`.
    fn close_run(&mut self, mark: TextMark) {
        let end = self.text.len();
        match self.runs.last_mut() {
            Some(last) if last.mark == mark => last.end = end,
            _ => self.runs.push(Run { mark, end }),
        }
    }

    fn ascii_control(&mut self, c: char) {
        match c {
            '\n' if self.row.is_none() => {
                self.plain("\n", 0);
                self.column = 0;
            }
            '\n' => self.escaped("⏎", CharacterFlags::default()),
            '\t' => {
                let spaces = TAB_CELLS - self.column % TAB_CELLS;
                self.escaped(&"    "[..spaces], CharacterFlags::default());
            }
            _ => self.escaped(
                control_picture(c).encode_utf8(&mut [0; 4]),
                CharacterFlags::CONTROL,
            ),
        }
    }

    /// Draws one grapheme cluster; `first` is its first character.
    fn cluster(&mut self, cluster: &str, first: char) {
        if cluster.len() == first.len_utf8() && is_plain_letter(first) {
            self.flags |= seen(first);
            return self.plain(cluster, first.width().unwrap_or(0));
        }
        let mut kept = Kept::default();
        for (at, c) in cluster.char_indices() {
            let next = cluster[at + c.len_utf8()..].chars().next();
            if kept.joins_emoji(c, next) {
                // Part of an emoji.
            } else if let Some(stand_in) = spacing_sound_mark(c) {
                self.keep(&mut kept);
                self.escaped(stand_in, CharacterFlags::default());
                continue;
            } else if let Some(flags) = hidden(c) {
                self.keep(&mut kept);
                self.hexadecimal(c, flags);
                continue;
            } else if kept.text.is_empty() && stands_on_previous(c) {
                kept.push(DOTTED_CIRCLE);
                kept.orphan = true;
            } else if kept.text.is_empty() && c.width() == Some(0) {
                self.hexadecimal(c, CharacterFlags::INVISIBLE);
                continue;
            }
            if !kept.has_room_for(c) {
                let dropped = kept.without_dangling_joiner();
                self.keep(&mut kept);
                return self.leave_out(&cluster[at..], dropped);
            }
            kept.push(c);
        }
        self.keep(&mut kept);
    }

    /// Writes the characters kept so far as one cluster and begins a new one.
    fn keep(&mut self, kept: &mut Kept) {
        let Kept { text, orphan, .. } = std::mem::take(kept);
        let keycap = text.contains(is_emoji_selector);
        for c in text.chars().filter(|c| !(keycap && *c == ENCLOSING_KEYCAP)) {
            self.flags |= seen(c);
        }
        if orphan {
            self.escaped(&text, CharacterFlags::COMBINING);
        } else if !text.is_empty() {
            self.plain(&text, cells(&text));
        }
    }

    fn leave_out(&mut self, rest: &str, dropped: usize) {
        let mut count = dropped;
        for c in rest.chars() {
            count += 1;
            self.flags |= hidden(c).unwrap_or_default();
        }
        self.escaped(&format!("…(+{count})"), CharacterFlags::COMBINING);
    }

    fn hexadecimal(&mut self, c: char, flags: CharacterFlags) {
        let start = self.text.len();
        // Writing to a String cannot fail.
        let _ = write!(self.text, "\\u{{{:x}}}", u32::from(c));
        self.column += self.text.len() - start;
        self.flags |= flags;
        self.close_run(TextMark::Escaped);
    }
}

/// The beginning of a cluster that will be drawn.
#[derive(Default)]
struct Kept {
    text: String,
    code_points: usize,
    /// Marks since the last base.
    marks: usize,
    /// The cluster got a dotted circle as its base.
    orphan: bool,
}

impl Kept {
    fn push(&mut self, c: char) {
        if is_emoji_selector(c) || c == ZERO_WIDTH_JOINER {
            // Shows nothing by itself.
        } else if c.width() == Some(0) {
            self.marks += 1;
        } else {
            self.marks = 0;
        }
        self.text.push(c);
        self.code_points += 1;
    }

    fn is_emoji(&self) -> bool {
        self.text.chars().next().is_some_and(is_pictograph)
    }

    fn has_room_for(&self, c: char) -> bool {
        let few = self.code_points < CLUSTER_CODE_POINTS
            || (self.code_points < EMOJI_CODE_POINTS && self.is_emoji());
        few && self.text.len() + c.len_utf8() <= CLUSTER_BYTES
            && (self.marks < MARKS_ON_BASE || c.width() != Some(0))
    }

    /// True for a joiner or selector that makes an emoji out of its neighbours.
    fn joins_emoji(&self, c: char, next: Option<char>) -> bool {
        let previous = self.text.chars().next_back();
        match c {
            ZERO_WIDTH_JOINER => self.ends_in_pictograph() && next.is_some_and(is_pictograph),
            _ if is_emoji_selector(c) => {
                let keycap = matches!(previous, Some('0'..='9' | '#' | '*'))
                    && next == Some(ENCLOSING_KEYCAP);
                keycap || previous.is_some_and(is_pictograph)
            }
            _ => false,
        }
    }

    /// True where the last character, but for what modifies it, is a pictograph.
    fn ends_in_pictograph(&self) -> bool {
        let modifies = |c: &char| is_emoji_selector(*c) || is_skin_tone(*c);
        self.text
            .chars()
            .rev()
            .find(|c| !modifies(c))
            .is_some_and(is_pictograph)
    }

    /// Removes a joiner at the end, which would join nothing. Returns how many characters went.
    fn without_dangling_joiner(&mut self) -> usize {
        usize::from(self.text.ends_with(ZERO_WIDTH_JOINER) && self.text.pop().is_some())
    }
}

/// Length of the printable ASCII at the beginning, without a last character that marks may stand on.
fn drawable_ascii(text: &str) -> usize {
    let bytes = text.as_bytes();
    let length = bytes
        .iter()
        .position(|byte| !matches!(byte, b' '..=b'~'))
        .unwrap_or(bytes.len());
    match bytes.get(length) {
        Some(byte) if !byte.is_ascii() => length.saturating_sub(1),
        _ => length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str) -> String {
        SafeText::from_str(text).as_plain().to_owned()
    }

    #[test]
    fn a_carriage_return_cannot_paint_over_a_command() {
        assert_eq!(drawn("rm -rf /\rls"), "rm -rf /␍ls");
        assert_eq!(drawn("a\u{1b}[2Jb\u{7f}"), "a␛[2Jb␡");
        assert_eq!(drawn("a\u{9b}2Jb"), "a\\u{9b}2Jb");
    }

    #[test]
    fn a_bidi_override_is_spelled_out() {
        let text = SafeText::from_str("invoice\u{202e}gnp.exe");
        assert_eq!(text.as_plain(), "invoice\\u{202e}gnp.exe");
        assert_eq!(text.flags(), CharacterFlags::BIDI);
    }

    #[test]
    fn invisible_characters_are_spelled_out() {
        for c in [
            '\u{ad}',
            '\u{115f}',
            '\u{1160}',
            '\u{3164}',
            '\u{ffa0}',
            '\u{200b}',
            '\u{200c}',
            '\u{2060}',
            '\u{feff}',
            '\u{fe0f}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{ffff}',
            '\u{378}',
            '\u{110bd}',
            '\u{1161}',
        ] {
            let text = SafeText::from_str(&format!("ab{c}cd"));
            assert_eq!(text.as_plain(), format!("ab\\u{{{:x}}}cd", u32::from(c)));
            assert_eq!(text.flags(), CharacterFlags::INVISIBLE, "{c:?}");
        }
    }

    #[test]
    fn emoji_keep_their_joiners_and_letters_do_not() {
        for emoji in ["👨‍👩‍👧‍👦", "❤️", "🏳️‍🌈", "1️⃣", "👍🏽", "👩🏽‍❤️‍💋‍👨🏽", "🇯🇵", "☎︎"]
        {
            let text = SafeText::from_str(emoji);
            assert_eq!(text.as_plain(), emoji);
            assert!(text.flags().is_empty(), "{emoji} {:?}", text.flags());
        }
        assert_eq!(drawn("a\u{200d}b"), "a\\u{200d}b");
        assert_eq!(drawn("👩\u{200d}b"), "👩\\u{200d}b");
        assert_eq!(drawn("😀\u{fe0f}\u{fe0f}"), "😀\u{fe0f}\\u{fe0f}");
    }

    #[test]
    fn a_tower_of_marks_is_cut_and_counted() {
        let text = SafeText::from_str(&format!("Z{}", "\u{301}".repeat(10_000)));
        assert_eq!(text.as_plain(), "Z\u{301}\u{301}\u{301}\u{301}…(+9996)");
        assert_eq!(text.flags(), CharacterFlags::COMBINING);
    }

    #[test]
    fn a_cluster_that_overflows_the_width_of_a_cell_is_cut() {
        // Ratatui measures in 16 bits: this cluster is 65,538 cells wide, which it would take for 2.
        let text = SafeText::from_str(&"\u{1100}".repeat(32_769));
        assert_eq!(
            text.as_plain(),
            format!("{}…(+32761)", "\u{1100}".repeat(8))
        );
        assert_eq!(text.width(), 16 + "…(+32761)".chars().count());
    }

    #[test]
    fn a_chain_of_emoji_is_cut_without_a_dangling_joiner() {
        let text = drawn(&format!("{}👩", "👩\u{200d}".repeat(2000)));
        assert_eq!(text, "👩\u{200d}👩\u{200d}👩\u{200d}👩\u{200d}👩…(+3992)");
    }

    #[test]
    fn a_mark_without_a_base_gets_a_dotted_circle() {
        assert_eq!(drawn("\u{301}abc"), "◌\u{301}abc");
        assert_eq!(drawn("a\u{1b}\u{301}b"), "a␛◌\u{301}b");
        assert_eq!(drawn("a\u{34f}\u{301}b"), "a\\u{34f}◌\u{301}b");
    }

    #[test]
    fn halfwidth_sound_marks_take_the_cells_that_ratatui_gives_them() {
        let text = SafeText::from_str("ｶ\u{ff9e}ﾊ\u{ff9f}");
        assert_eq!(text.as_plain(), "ｶ゛ﾊ゜");
        assert_eq!(text.width(), 6);
    }

    #[test]
    fn letters_of_living_scripts_pass_unchanged() {
        for text in [
            "Grüße, naïve café",
            "Жизнь",
            "漢字カナ",
            "각",
            "กำ",
            "क्षत्रिय",
            "Việt",
            "ខ្រុំ",
        ] {
            let safe = SafeText::from_str(text);
            assert_eq!(safe.as_plain(), text);
            assert!(safe.flags().is_empty(), "{text} {:?}", safe.flags());
        }
        assert_eq!(
            SafeText::from_str("שלום").flags(),
            CharacterFlags::RIGHT_TO_LEFT
        );
    }
}
