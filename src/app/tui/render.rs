//! Contents as lines: Markdown, terminal output, diffs. All text becomes drawable here.

use super::recovery::difference::within;
use super::text::{Glyph, Line, Tone};
use retake_core::content::{
    Change, DiffLine, FileDiff, Look, StyledLine, diff_of_text, has_colours, markdown_lines,
    terminal_lines,
};
use retake_core::safe_text::SafeText;

/// The longest line that is laid out as one; longer ones are cut in several.
const LONGEST: usize = 2048;

/// What a text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// What people and models say.
    Markdown,
    /// What programs print.
    Output,
}

/// The lines of a text.
pub fn text_lines(text: &str, writing: Writing) -> Vec<Line> {
    let styled = match writing {
        Writing::Markdown => markdown_lines(text),
        Writing::Output => match diff_of_text(text) {
            Some(diff) => return diff_lines(&diff),
            None if has_colours(text) || text.contains('\r') => terminal_lines(text),
            None => return plain_lines(&SafeText::from_str(text)),
        },
    };
    styled.iter().flat_map(styled_lines).collect()
}

fn styled_lines(styled: &StyledLine) -> Vec<Line> {
    match &styled.pieces[..] {
        [(look, text)] if text.len() > LONGEST => {
            let text = SafeText::from_str(text);
            let parts = text.wrapped(LONGEST);
            parts
                .map(|part| Line::new(Tone::Look(*look), part))
                .collect()
        }
        pieces => {
            let pieces = pieces.iter();
            let pieces = pieces.map(|(look, text)| (Tone::Look(*look), SafeText::from_str(text)));
            vec![Line {
                pieces: pieces.collect(),
                ..Line::default()
            }]
        }
    }
}

/// Text as lines, giant ones cut in several.
pub fn plain_lines(text: &SafeText) -> Vec<Line> {
    let lines = text.lines().flat_map(|line| {
        if line.as_plain().len() <= LONGEST {
            return vec![Line::new(Tone::Plain, line)];
        }
        let parts = line.wrapped(LONGEST);
        parts.map(|part| Line::new(Tone::Plain, part)).collect()
    });
    lines.collect()
}

/// The longest line in which the words that make the difference are looked for.
const COMPARED: usize = 400;

/// The lines of a diff, each with its sign. Where lines are replaced by as many others, the words that make the
/// difference are set apart.
pub fn diff_lines(diff: &FileDiff) -> Vec<Line> {
    let mut lines = Vec::with_capacity(diff.lines.len());
    let (mut rest, mut costs) = (&diff.lines[..], 0);
    while let Some(first) = rest.first() {
        let run = |lines: &[DiffLine], change| {
            let own = lines.iter().take_while(|line| line.change == change);
            own.count()
        };
        let removed = run(rest, Change::Removed);
        let added = run(&rest[removed..], Change::Added);
        if removed == 0 || removed != added {
            lines.push(diff_line(first));
            rest = &rest[1..];
            continue;
        }
        let (before, after) = rest[..2 * removed].split_at(removed);
        let sides: (Vec<Line>, Vec<Line>) = before
            .iter()
            .zip(after)
            .map(
                |(old, new)| match old.text.len().max(new.text.len()) <= COMPARED {
                    true => {
                        let (old, new) = within(&old.text, &new.text, &mut costs);
                        (marked(Change::Removed, &old), marked(Change::Added, &new))
                    }
                    false => (diff_line(old), diff_line(new)),
                },
            )
            .unzip();
        lines.extend(sides.0);
        lines.extend(sides.1);
        rest = &rest[2 * removed..];
    }
    lines
}

fn sign_of(change: Change) -> (&'static str, Tone, Tone) {
    match change {
        Change::Same => ("  ", Tone::Plain, Tone::Plain),
        Change::Added => ("+ ", Tone::Look(Look::Added), Tone::AddedPart),
        Change::Removed => ("- ", Tone::Look(Look::Removed), Tone::RemovedPart),
        Change::Place => ("", Tone::Look(Look::Place), Tone::Look(Look::Place)),
    }
}

fn diff_line(line: &DiffLine) -> Line {
    if line.change == Change::Place && line.text.is_empty() {
        return Line::new(Tone::Glyph(Glyph::More), SafeText::from_static(" "));
    }
    marked(line.change, &[(false, line.text.clone())])
}

/// A line of pieces, of which some make the difference.
fn marked(change: Change, pieces: &[(bool, String)]) -> Line {
    let (sign, tone, part) = sign_of(change);
    let pieces = pieces.iter().map(|(differs, text)| {
        let tone = if *differs { part } else { tone };
        (tone, SafeText::from_str(text))
    });
    let sign = (tone, SafeText::from_static(sign));
    Line {
        pieces: std::iter::once(sign).chain(pieces).collect(),
        ..Line::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_make_the_difference_are_set_apart() {
        let line = |change, text: &str| DiffLine {
            change,
            text: text.to_owned(),
        };
        let diff = FileDiff {
            path: String::new(),
            lines: vec![
                line(Change::Same, "fn delay() {"),
                line(Change::Removed, "let delay = base * factor(attempt);"),
                line(Change::Added, "let delay = base * factor(attempt + 1);"),
                line(Change::Added, "cap(delay)"),
                line(Change::Removed, "let limit = 60 + base * factor(attempt);"),
                line(Change::Added, "let limit = 90 + base * factor(attempt);"),
            ],
        };
        let lines = diff_lines(&diff);
        let parts = |line: &Line| -> Vec<String> {
            let parts = line.pieces.iter();
            let parts =
                parts.filter(|(tone, _)| matches!(tone, Tone::AddedPart | Tone::RemovedPart));
            parts.map(|(_, text)| text.as_plain().to_owned()).collect()
        };
        let marked: Vec<_> = lines.iter().map(parts).collect();
        assert_eq!(
            marked[..4],
            [vec![], vec![], vec![], Vec::<String>::new()],
            "two for one"
        );
        assert_eq!(marked[4..], [vec!["60".to_owned()], vec!["90".to_owned()]]);
    }
}
