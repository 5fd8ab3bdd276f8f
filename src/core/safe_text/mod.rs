//! Drawable text: the one type that carries words from outside to a screen, a report or a log.
//!
//! Recorded text is hostile. It can move the cursor, turn a line around, hide letters or overflow a cell, and a
//! terminal obeys. [`SafeText`] shows such characters instead of obeying them, and marks what it changed, so
//! that `\u{202e}` made from a bidi control looks different from the same eight letters in the recording.
//!
//! What is drawn (`escape.rs` holds the policy):
//!
//! | found | drawn |
//! |---|---|
//! | LF | a line break; `⏎` in [`SafeText::single_line`] |
//! | TAB | spaces to the next stop of four cells |
//! | other C0 controls, DEL | the control picture: `␛` |
//! | C1, bidi controls, invisible characters, private use, unassigned | `\u{hex}` |
//! | bytes that are not UTF-8, among them encoded surrogates | `\xNN` |
//! | joiners and variation selectors | kept inside emoji, `\u{hex}` elsewhere |
//! | halfwidth katakana sound marks | their spacing form `゛` |
//! | a combining mark with nothing to stand on | on a dotted circle |
//! | a cluster too big for a cell | its beginning, then `…(+N)` with the number of characters left out |
//!
//! The store keeps the bytes as they came; this type is derived for looking at and is never written back.

mod characters;
mod escape;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

pub use characters::{CharacterFlags, confusable};

/// Why a run of characters in a [`SafeText`] is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextMark {
    /// The characters stand in the source as they are shown.
    Plain,
    /// They replace something that cannot be shown. Views draw them dim.
    Escaped,
}

/// Text that is safe to draw, print and log.
///
/// The deltas of a stream are put together first and converted then: half a character is not a character.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct SafeText {
    text: Cow<'static, str>,
    runs: Vec<Run>,
    flags: CharacterFlags,
}

/// A stretch of [`SafeText::text`] with one mark; it begins where the run before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Run {
    mark: TextMark,
    end: usize,
}

impl SafeText {
    /// Text from outside. Linear in its length; for one row of a list use [`SafeText::single_line`].
    #[allow(clippy::should_implement_trait)] // never fails, so `FromStr` with its error would mislead
    pub fn from_str(text: &str) -> Self {
        let mut drawing = escape::Drawing::of_lines();
        drawing.text(text);
        drawing.finish()
    }

    /// Bytes from outside, which need not be UTF-8.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut drawing = escape::Drawing::of_lines();
        drawing.bytes(bytes);
        drawing.finish()
    }

    /// Our own words. They are trusted: hold them to printable characters.
    pub fn from_static(text: &'static str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            runs: Run::whole(text.len()),
            flags: CharacterFlags::default(),
        }
    }

    /// The beginning of a text in one row of at most `width` cells; `…` ends it where something is left out.
    ///
    /// Reads no more of the text than the row can show, so a row of a giant text costs as much as a short one.
    pub fn single_line(text: &str, width: usize) -> Self {
        let read = text.floor_char_boundary(row_bytes(width));
        let mut drawing = escape::Drawing::of_row(width);
        drawing.text(&text[..read]);
        drawing.finish().cut(width, read < text.len())
    }

    /// [`SafeText::single_line`] for bytes that need not be UTF-8.
    pub fn single_line_bytes(bytes: &[u8], width: usize) -> Self {
        let limit = bytes.len().min(row_bytes(width));
        // A character that the limit divides, of four bytes at most, is left out whole.
        let divides = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
        let read = (limit.saturating_sub(3)..=limit)
            .rev()
            .find(|at| !divides(at))
            .unwrap_or(limit);
        let mut drawing = escape::Drawing::of_row(width);
        drawing.bytes(&bytes[..read]);
        drawing.finish().cut(width, read < bytes.len())
    }

    /// The drawable text for pipes, reports and logs; escapes are spelled out, line breaks are LF.
    pub fn as_plain(&self) -> &str {
        &self.text
    }

    /// The runs for the screen, in order. Each is drawn as a span of its own; take [`SafeText::lines`] first
    /// when the text may hold line breaks.
    pub fn runs(&self) -> impl Iterator<Item = (TextMark, &str)> {
        self.ranges().map(|(mark, range)| (mark, &self.text[range]))
    }

    /// The lines, without their LF. As with [`str::lines`], a final LF begins no further line.
    /// Each line carries the flags of the whole text.
    pub fn lines(&self) -> impl Iterator<Item = SafeText> {
        let mut from = 0;
        self.text.split_inclusive('\n').map(move |line| {
            let start = from;
            from += line.len();
            self.slice(start..start + line.trim_end_matches('\n').len())
        })
    }

    /// The rows of at most `width` cells that the lines take, broken after spaces where there are any. The
    /// space that a row has no room for is left out.
    ///
    /// Views wrap with this: the wrapping of ratatui 0.30 lets a wide character reach one cell over the edge.
    pub fn wrapped(&self, width: usize) -> impl Iterator<Item = SafeText> {
        self.wrapped_behind(width, width)
    }

    /// [`SafeText::wrapped`] for a text that follows another one: its first row has only `room` cells.
    pub fn wrapped_behind(&self, room: usize, width: usize) -> impl Iterator<Item = SafeText> {
        let mut room = Some(room);
        self.lines().flat_map(move |line| {
            let mut from = Some(0);
            let mut first = room.take();
            std::iter::from_fn(move || {
                let start = from?;
                let width = first.take().unwrap_or(width);
                let (end, next) = line.row(start, width);
                from = (next < line.text.len()).then_some(next);
                Some(line.slice(start..end).cut(width, false))
            })
        })
    }

    /// Where the rows of at most `width` cells stand that a text of one line takes, broken as
    /// [`SafeText::wrapped`] breaks it.
    pub fn row_ranges(&self, width: usize) -> impl Iterator<Item = Range<usize>> {
        let mut from = Some(0);
        std::iter::from_fn(move || {
            let start = from?;
            let (end, next) = self.row(start, width);
            from = (next < self.text.len()).then_some(next);
            Some(start..end)
        })
    }

    /// A part of the text. `range` begins and ends where rows do, or texts that were put together.
    pub fn part(&self, range: Range<usize>) -> Self {
        self.slice(range)
    }

    /// Width in terminal cells; of the widest line, when there are several.
    pub fn width(&self) -> usize {
        let (mut widest, mut line) = (0, 0);
        for (_, run) in self.runs() {
            for (index, part) in run.split('\n').enumerate() {
                if index > 0 {
                    line = 0;
                }
                line += cells(part);
                widest = widest.max(line);
            }
        }
        widest
    }

    /// What the source holds that deserves a warning beside the text.
    pub fn flags(&self) -> CharacterFlags {
        self.flags
    }

    /// True when nothing is to be shown.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The first line, cut to `width` cells; `…` ends it where something is left out.
    pub fn truncated(&self, width: usize) -> Self {
        match self.text.find('\n') {
            Some(end) => self.slice(0..end).cut(width, end + 1 < self.text.len()),
            None => self.cut(width, false),
        }
    }

    pub fn push(&mut self, other: &SafeText) {
        let before = self.text.len();
        self.text.to_mut().push_str(&other.text);
        self.runs.extend(other.runs.iter().map(|run| Run {
            mark: run.mark,
            end: before + run.end,
        }));
        self.flags |= other.flags;
    }

    fn ranges(&self) -> impl Iterator<Item = (TextMark, Range<usize>)> {
        let mut start = 0;
        self.runs.iter().map(move |run| {
            let range = start..run.end;
            start = run.end;
            (run.mark, range)
        })
    }

    /// A part of the text; `range` lies on cluster boundaries.
    fn slice(&self, range: Range<usize>) -> Self {
        let first = self.runs.partition_point(|run| run.end <= range.start);
        let mut runs = Vec::new();
        for run in &self.runs[first..] {
            if runs.last().map_or(0, |last: &Run| last.end) == range.len() {
                break;
            }
            runs.push(Run {
                mark: run.mark,
                end: run.end.min(range.end) - range.start,
            });
        }
        Self {
            text: Cow::Owned(self.text[range].to_owned()),
            runs,
            flags: self.flags,
        }
    }

    /// Cuts one line to `width` cells; `more` says that something follows it that is not part of `self`.
    fn cut(&self, width: usize, more: bool) -> Self {
        let room = if more { width.saturating_sub(1) } else { width };
        let (fits, whole) = self.fitting(room);
        if whole && !more {
            return self.clone();
        }
        if width == 0 {
            return Self {
                flags: self.flags,
                ..Self::default()
            };
        }
        let end = if whole {
            fits
        } else {
            self.fitting(width - 1).0
        };
        let mut cut = self.slice(0..end);
        cut.push(&Self::ellipsis());
        cut
    }

    /// Bytes of the longest beginning that takes at most `width` cells, and whether that is everything.
    fn fitting(&self, width: usize) -> (usize, bool) {
        let mut used = 0;
        for (at, cluster) in self.clusters(0) {
            used += cells(cluster);
            if used > width {
                return (at, false);
            }
        }
        (self.text.len(), true)
    }

    /// Where the row that begins at byte `from` ends, and where the next one begins.
    fn row(&self, from: usize, width: usize) -> (usize, usize) {
        let (mut used, mut after_space) = (0, None);
        for (at, cluster) in self.clusters(from) {
            let next = at + cluster.len();
            used += cells(cluster);
            match (used > width, cluster) {
                (true, " ") => return (at, next),
                (true, _) if at == from => return (next, next),
                (true, _) => return after_space.map_or((at, at), |end| (end, end)),
                (false, " ") => after_space = Some(next),
                (false, _) => {}
            }
        }
        (self.text.len(), self.text.len())
    }

    /// The grapheme clusters from byte `from` on, with their places. None reaches over the end of a run.
    fn clusters(&self, from: usize) -> impl Iterator<Item = (usize, &str)> {
        let first = self.runs.partition_point(|run| run.end <= from);
        let mut start = from;
        self.runs[first..].iter().flat_map(move |run| {
            let at = start;
            start = run.end;
            self.text[at..run.end]
                .grapheme_indices(true)
                .map(move |(offset, cluster)| (at + offset, cluster))
        })
    }

    fn ellipsis() -> Self {
        Self {
            text: Cow::Borrowed("…"),
            runs: vec![Run {
                mark: TextMark::Escaped,
                end: "…".len(),
            }],
            flags: CharacterFlags::default(),
        }
    }
}

impl fmt::Display for SafeText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.text)
    }
}

impl Run {
    fn whole(length: usize) -> Vec<Run> {
        if length == 0 {
            Vec::new()
        } else {
            vec![Run {
                mark: TextMark::Plain,
                end: length,
            }]
        }
    }
}

/// How much of a text is read for a row: enough for every cell to hold a full cluster, and some more for what a
/// cut cluster leaves out.
fn row_bytes(width: usize) -> usize {
    width
        .saturating_add(1)
        .saturating_mul(escape::CLUSTER_BYTES)
        .saturating_add(4096)
}

/// Cells that ratatui gives to a text: the sum over its grapheme clusters, each measured alone.
fn cells(text: &str) -> usize {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.len();
    }
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn runs(text: &SafeText) -> Vec<(TextMark, &str)> {
        text.runs().collect()
    }

    #[test]
    fn an_escape_differs_from_the_same_letters_in_the_recording() {
        let literal = SafeText::from_str("\\u{202e}");
        let escape = SafeText::from_str("\u{202e}");
        assert_eq!(literal.as_plain(), escape.as_plain());
        assert_eq!(runs(&literal), [(TextMark::Plain, "\\u{202e}")]);
        assert_eq!(runs(&escape), [(TextMark::Escaped, "\\u{202e}")]);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_shown_as_bytes() {
        let text = SafeText::from_bytes(b"x\xed\xa0\xbd\xe2\x80\x1b[m");
        assert_eq!(text.as_plain(), "x\\xed\\xa0\\xbd\\xe2\\x80␛[m");
        assert!(
            text.flags()
                .contains(CharacterFlags::ILL_FORMED | CharacterFlags::CONTROL)
        );
    }

    #[test]
    fn lines_break_at_lf_and_tabs_reach_the_next_stop() {
        let text = SafeText::from_str("if x:\n\treturn\ty\n\nend");
        let lines: Vec<String> = text.lines().map(|line| line.to_string()).collect();
        assert_eq!(lines, ["if x:", "    return  y", "", "end"]);
        assert_eq!(text.width(), 13);
        let second = text.lines().nth(1).unwrap();
        assert_eq!(
            runs(&second),
            [
                (TextMark::Escaped, "    "),
                (TextMark::Plain, "return"),
                (TextMark::Escaped, "  "),
                (TextMark::Plain, "y")
            ]
        );
    }

    #[test]
    fn a_row_shows_line_breaks_and_ends_in_an_ellipsis() {
        assert_eq!(SafeText::single_line("a\nb", 10).as_plain(), "a⏎b");
        assert_eq!(
            SafeText::single_line("hello world", 11).as_plain(),
            "hello world"
        );
        assert_eq!(
            SafeText::single_line("hello world", 8).as_plain(),
            "hello w…"
        );
        assert_eq!(SafeText::single_line("漢字漢字", 4).as_plain(), "漢…");
        assert_eq!(SafeText::single_line("hello", 1).as_plain(), "…");
        assert_eq!(SafeText::single_line("hello", 0).as_plain(), "");
    }

    #[test]
    fn a_row_of_a_giant_text_reads_only_its_beginning() {
        for unit in ["a", "漢", "\u{301}", "\u{200b}", "\n", "👩\u{200d}"] {
            let giant = unit.repeat(1_000_000);
            assert_eq!(
                SafeText::single_line(&giant, 40),
                SafeText::single_line(&giant[..unit.len() * 10_000], 40),
            );
            assert!(SafeText::single_line(&giant, 40).as_plain().ends_with('…'));
            assert_eq!(
                SafeText::single_line_bytes(giant.as_bytes(), 40).as_plain(),
                SafeText::single_line(&giant, 40).as_plain()
            );
        }
        let continuations = SafeText::single_line_bytes(&[0x80; 100_000], 9);
        assert_eq!(continuations.as_plain(), "\\x80\\x80…");
    }

    #[test]
    fn truncation_keeps_marks_and_says_that_more_follows() {
        let text = SafeText::from_str("ab\u{1b}cd");
        assert_eq!(
            runs(&text.truncated(4)),
            [
                (TextMark::Plain, "ab"),
                (TextMark::Escaped, "␛"),
                (TextMark::Escaped, "…")
            ]
        );
        assert_eq!(text.truncated(5), text);
        assert_eq!(SafeText::from_str("ab\ncd").truncated(9).as_plain(), "ab…");
    }

    #[test]
    fn long_lines_wrap_after_spaces_and_wide_letters_fit() {
        let rows = |text: &str, width| -> Vec<String> {
            SafeText::from_str(text)
                .wrapped(width)
                .map(|row| row.to_string())
                .collect()
        };
        assert_eq!(
            rows("one two  three\n\nfour", 7),
            ["one two", " three", "", "four"]
        );
        assert_eq!(rows("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(rows("xxx漢x", 4), ["xxx", "漢x"]);
        assert_eq!(rows("漢", 1), ["…"]);
        assert_eq!(rows("", 5), Vec::<String>::new());
    }

    #[test]
    fn texts_are_put_together_without_melting() {
        let mut row = SafeText::from_static("tool ");
        row.push(&SafeText::from_str("\u{301}x"));
        assert_eq!(row.as_plain(), "tool ◌\u{301}x");
        assert_eq!(
            runs(&row),
            [
                (TextMark::Plain, "tool "),
                (TextMark::Escaped, "◌\u{301}"),
                (TextMark::Plain, "x")
            ]
        );
        assert_eq!(format!("{:>6}|", SafeText::from_static("é")), "     é|");
    }
}
