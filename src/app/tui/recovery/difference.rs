//! How two texts differ, line by line and within lines. JSON is laid out first, so that a changed value
//! is a changed line.

use crate::tui::state::pretty::{self, TokenKind};
use crate::tui::text::{Line, Tone};
use retake_core::content::without_colours;
use retake_core::json::{display_text, skip_value};
use retake_core::safe_text::SafeText;
use retake_core::session::operations_of;
use similar::DiffOp;

/// Most lines of one side that are compared; of longer texts the beginning is shown.
const LINES: usize = 4000;
/// Unchanged lines that are shown around changed ones.
const AROUND: usize = 3;
/// The longest line that is compared word by word; of longer ones what both sides begin and end with is found.
const LONGEST: usize = 2000;
/// The most that comparing word by word may cost in one text: the words of both lines multiplied, for
/// every pair of lines.
const COSTS: usize = 16 << 20;
/// Most bytes of an unchanged piece of a changed line.
const PIECE: usize = 400;

/// A line of one side, in pieces; true is what the other side has not.
pub type Pieces = Vec<(bool, String)>;

/// A row of the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DifferenceRow {
    /// The same on both sides.
    Same(String),
    /// Not the same; at least one side is there.
    Changed(Option<Pieces>, Option<Pieces>),
    /// So many lines that are the same on both sides are left out.
    Folded(usize),
    /// So many lines before, and so many after, are not compared.
    Uncompared(usize, usize),
}

/// A text as lines: JSON laid out, other text as it is.
pub fn lines_of(text: &str) -> Vec<String> {
    let is_json = text.trim_start().starts_with(['{', '['])
        && skip_value(text.as_bytes(), 0).is_ok_and(|end| text[end..].trim().is_empty());
    if !is_json {
        return text.lines().map(str::to_owned).collect();
    }
    let laid_out = pretty::lay_out(text);
    let lines = laid_out.into_iter().map(|line| {
        let mut written = "  ".repeat(line.depth);
        for (token, range) in line.pieces {
            written.push_str(&text[range.clone()]);
            if token == TokenKind::Punctuation && &text[range] == ":" {
                written.push(' ');
            }
        }
        written
    });
    lines.collect()
}

/// A text as lines for a reader: as [`lines_of`], but strings without their escapes and colours. Those
/// of several lines, and those with quotes or backslashes inside, stand without their own quotes on the
/// lines below their name.
fn readable_lines(text: &str) -> Vec<String> {
    let is_json = text.trim_start().starts_with(['{', '['])
        && skip_value(text.as_bytes(), 0).is_ok_and(|end| text[end..].trim().is_empty());
    if !is_json {
        return without_colours(text).lines().map(str::to_owned).collect();
    }
    let mut lines = Vec::new();
    for line in pretty::lay_out(text) {
        let indent = "  ".repeat(line.depth);
        let (mut written, mut block) = (indent.clone(), Vec::new());
        for (token, range) in line.pieces {
            let token_text = &text[range];
            let inside = token_text
                .strip_prefix('"')
                .and_then(|it| it.strip_suffix('"'));
            match (token, inside) {
                (TokenKind::String, Some(inside)) => {
                    let plain = display_text(inside.as_bytes());
                    let plain = without_colours(&plain);
                    match plain.trim_end().contains(['\n', '"', '\\']) {
                        true => {
                            block.extend(plain.lines().map(|line| format!("{indent}    {line}")))
                        }
                        false => written.push_str(&format!("\"{plain}\"")),
                    }
                }
                (TokenKind::Punctuation, _) if token_text == ":" => written.push_str(": "),
                // The comma after a string that stands below.
                (TokenKind::Punctuation, _) if !block.is_empty() => {}
                _ => written.push_str(token_text),
            }
        }
        lines.push(written);
        lines.append(&mut block);
    }
    lines
}

pub fn compare(before: &str, after: &str) -> Vec<DifferenceRow> {
    compare_lines(lines_of(before), lines_of(after))
}

/// The same for a reader: strings are compared without their escapes and colours, line by line.
pub fn compare_readable(before: &str, after: &str) -> Vec<DifferenceRow> {
    compare_lines(readable_lines(before), readable_lines(after))
}

fn compare_lines(mut before: Vec<String>, mut after: Vec<String>) -> Vec<DifferenceRow> {
    let more = (
        before.len().saturating_sub(LINES),
        after.len().saturating_sub(LINES),
    );
    before.truncate(LINES);
    after.truncate(LINES);
    let mut rows = Vec::new();
    let mut costs = 0;
    let operations = operations_of(&before, &after);
    let last = operations.len().saturating_sub(1);
    for (number, operation) in operations.iter().enumerate() {
        let (old, new) = (operation.old_range(), operation.new_range());
        if let DiffOp::Equal { .. } = operation {
            fold(&before[old], number == 0, number == last, &mut rows);
            continue;
        }
        let (old, new) = (&before[old], &after[new]);
        for at in 0..old.len().max(new.len()) {
            rows.push(match (old.get(at), new.get(at)) {
                (Some(old), Some(new)) => {
                    let (old, new) = within(old, new, &mut costs);
                    DifferenceRow::Changed(Some(old), Some(new))
                }
                (old, new) => {
                    let lone = |line: &String| whole(line);
                    DifferenceRow::Changed(old.map(lone), new.map(lone))
                }
            });
        }
    }
    if more != (0, 0) {
        rows.push(DifferenceRow::Uncompared(more.0, more.1));
    }
    rows
}

/// A line that the other side has not at all.
fn whole(line: &str) -> Pieces {
    vec![(false, cut(line, 2 * PIECE))]
}

/// Unchanged lines: those next to a change, and the number of the others.
fn fold(lines: &[String], is_first: bool, is_last: bool, rows: &mut Vec<DifferenceRow>) {
    let head = if is_first { 0 } else { AROUND };
    let tail = if is_last { 0 } else { AROUND };
    let same = |line: &String| DifferenceRow::Same(cut(line, 2 * PIECE));
    // One line takes as much room as the words that would stand in its place.
    if lines.len() <= head + tail + 1 {
        rows.extend(lines.iter().map(same));
        return;
    }
    rows.extend(lines[..head].iter().map(same));
    rows.push(DifferenceRow::Folded(lines.len() - head - tail));
    rows.extend(lines[lines.len() - tail..].iter().map(same));
}

/// Finds what differs within two lines; `costs` adds up what that took, so that many lines stay cheap.
pub fn within(old: &str, new: &str, costs: &mut usize) -> (Pieces, Pieces) {
    let (old_words, new_words) = (words(old), words(new));
    *costs = costs.saturating_add(old_words.len() * new_words.len());
    if old.len().max(new.len()) > LONGEST || *costs > COSTS {
        return (edges(&old_words, &new_words), edges(&new_words, &old_words));
    }
    let operations = operations_of(&old_words, &new_words);
    let is_same = |operation: &&DiffOp| matches!(operation, DiffOp::Equal { .. });
    let same: usize = operations
        .iter()
        .filter(is_same)
        .map(|operation| old_words[operation.old_range()].concat().trim().len())
        .sum();
    // Lines that have little in common are shown as they are: a patchwork of emphasis
    // reads worse than none.
    if same * 3 < old.trim().len().max(new.trim().len()) {
        return (whole(old), whole(new));
    }
    let mut sides = (Pieces::new(), Pieces::new());
    for operation in &operations {
        let differs = !matches!(operation, DiffOp::Equal { .. });
        push(&mut sides.0, differs, &old_words[operation.old_range()]);
        push(&mut sides.1, differs, &new_words[operation.new_range()]);
    }
    sides
}

/// A line as what it has in common with another at both ends, and what is between. Linear, for long lines.
fn edges(words: &[&str], others: &[&str]) -> Pieces {
    let pairs = words.iter().zip(others);
    let head = pairs.take_while(|(one, other)| one == other).count();
    let (rest, others) = (&words[head..], &others[head..]);
    let pairs = rest.iter().rev().zip(others.iter().rev());
    let tail = pairs.take_while(|(one, other)| one == other).count();
    let mut pieces = Pieces::new();
    push(&mut pieces, false, &words[..head]);
    push(&mut pieces, true, &rest[..rest.len() - tail]);
    push(&mut pieces, false, &rest[rest.len() - tail..]);
    pieces
}

fn push(pieces: &mut Pieces, differs: bool, words: &[&str]) {
    let text = words.concat();
    if !text.is_empty() {
        pieces.push((differs, cut(&text, if differs { LONGEST } else { PIECE })));
    }
}

/// A text without its middle where it is longer than `most` bytes.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    format!("{} ... {}", &text[..head], &text[tail..])
}

/// Runs of letters and digits, and single other characters.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut is_word = false;
    for (at, character) in line.char_indices() {
        let continues = character.is_alphanumeric();
        if at > start && !(is_word && continues) {
            words.push(&line[start..at]);
            start = at;
        }
        is_word = continues;
    }
    words.extend(Some(&line[start..]).filter(|word| !word.is_empty()));
    words
}

/// The side of a line, with its mark and looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceSide {
    Before,
    After,
}

impl DifferenceSide {
    fn tones(self) -> (Tone, Tone) {
        match self {
            Self::Before => (Tone::Removed, Tone::RemovedPart),
            Self::After => (Tone::Added, Tone::AddedPart),
        }
    }

    fn mark(self) -> &'static str {
        match self {
            Self::Before => "- ",
            Self::After => "+ ",
        }
    }
}

pub fn changed(side: DifferenceSide, pieces: &Pieces) -> Line {
    let (tone, emphasised) = side.tones();
    let mut line = Line::new(tone, SafeText::from_static(side.mark()));
    let pieces = pieces.iter().map(|(differs, text)| {
        let tone = if *differs { emphasised } else { tone };
        (tone, SafeText::from_str(text))
    });
    line.pieces.extend(pieces);
    line
}

/// A line that is the same on both sides.
pub fn same(text: &str) -> Line {
    let mut safe = SafeText::from_static("  ");
    safe.push(&SafeText::from_str(text));
    Line::new(Tone::Plain, safe)
}

/// `... 34 lines the same`.
pub fn folded(count: usize, what: &str) -> Line {
    let plural = if count == 1 { "" } else { "s" };
    let words = format!("... {count} {what}{plural} the same");
    Line::new(Tone::Dim, SafeText::from_str(&words))
}

/// The note on lines that are not compared.
pub fn uncompared(before: usize, after: usize) -> Line {
    let words = format!("... too long to compare: {before} more lines before, {after} after");
    Line::new(Tone::Dim, SafeText::from_str(&words))
}

/// The rows one below the other: of neighbouring changes first the old lines, then the new ones.
pub fn unified(rows: &[DifferenceRow]) -> Vec<Line> {
    let mut lines = Vec::new();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for row in rows {
        if let DifferenceRow::Changed(old, new) = row {
            before.extend(
                old.iter()
                    .map(|pieces| changed(DifferenceSide::Before, pieces)),
            );
            after.extend(
                new.iter()
                    .map(|pieces| changed(DifferenceSide::After, pieces)),
            );
            continue;
        }
        lines.append(&mut before);
        lines.append(&mut after);
        lines.push(match row {
            DifferenceRow::Same(text) => same(text),
            DifferenceRow::Folded(count) => folded(*count, "line"),
            DifferenceRow::Uncompared(before, after) => uncompared(*before, *after),
            DifferenceRow::Changed(..) => continue,
        });
    }
    lines.append(&mut before);
    lines.append(&mut after);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rows: &[DifferenceRow]) -> String {
        let mut told = String::new();
        for line in unified(rows) {
            for (tone, text) in line.pieces {
                let is_part = matches!(tone, Tone::AddedPart | Tone::RemovedPart);
                let text = text.as_plain();
                told.push_str(&if is_part {
                    format!("<{text}>")
                } else {
                    text.to_owned()
                });
            }
            told.push('\n');
        }
        told
    }

    #[test]
    fn a_changed_value_is_a_changed_line_with_the_change_emphasised() {
        let before = r#"{"type":"function_call","name":"serch_flights","call_id":"c1","arguments":"{\"to\":\"JFK\"}"}"#;
        let after = before.replace("serch", "search");
        insta::assert_snapshot!(told(&compare(before, &after)), @r#"
          {
            "type": "function_call",
        -   "name": "<serch>_flights",
        +   "name": "<search>_flights",
            "call_id": "c1",
            "arguments": "{\"to\":\"JFK\"}"
          }
        "#);
    }

    #[test]
    fn far_unchanged_lines_are_counted_and_strangers_are_not_patched_together() {
        let numbers: Vec<String> = (0..20).map(|number| format!("line {number}")).collect();
        let before = numbers.join("\n");
        let after = before.replace("line 9\n", "something else\nand more\n");
        insta::assert_snapshot!(told(&compare(&before, &after)), @r"
        ... 6 lines the same
          line 6
          line 7
          line 8
        - line 9
        + something else
        + and more
          line 10
          line 11
          line 12
        ... 7 lines the same
        ");
        assert_eq!(told(&compare("a", "a")), "  a\n");
        assert_eq!(told(&compare("", "")), "");
        assert_eq!(told(&compare("a", "")), "- a\n");
    }

    #[test]
    fn long_lines_show_the_place_and_giant_texts_end() {
        let long = |middle: &str| format!("{}{middle}{}", "a ".repeat(9000), "b ".repeat(9000));
        let shown = told(&compare(&long("cat "), &long("dog ")));
        assert!(
            shown.contains("a <cat> b ") && shown.contains("a <dog> b "),
            "{shown}"
        );
        assert!(shown.len() < 4 * LONGEST, "{}", shown.len());
        let many = |word: &str| format!("{word}\n").repeat(3 * LINES);
        let shown = told(&compare(&many("one"), &many("two")));
        assert!(shown.contains("8000 more lines before, 8000 after"));
    }

    #[test]
    fn many_long_lines_are_compared_in_bounded_time() {
        let lines = |word: &str| format!("{}\n", word.repeat(300)).repeat(LINES);
        let rows = compare(&lines("abc d "), &lines("abc e "));
        let emphasised = rows.iter().filter(|row| {
            matches!(row, DifferenceRow::Changed(Some(old), _) if old.iter().any(|(differs, _)| *differs))
        });
        assert_eq!(
            emphasised.count(),
            LINES,
            "by word at first, then by their ends"
        );
    }

    #[test]
    fn words_are_runs_of_letters_and_single_signs() {
        assert_eq!(words("ab_c é1: "), ["ab", "_", "c", " ", "é1", ":", " "]);
        assert!(words("").is_empty());
    }
}
