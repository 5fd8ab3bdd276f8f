//! Contents as lines: Markdown, terminal output, diffs. All text becomes drawable here.

use super::text::{Glyph, Line, Tone};
use retake_core::content::{
    Change, FileDiff, Look, StyledLine, diff_of_text, has_colours, markdown_lines, terminal_lines,
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

/// The lines of a diff, each with its sign.
pub fn diff_lines(diff: &FileDiff) -> Vec<Line> {
    let lines = diff.lines.iter();
    lines
        .map(|line| {
            let (sign, tone) = match line.change {
                Change::Same => ("  ", Tone::Plain),
                Change::Added => ("+ ", Tone::Look(Look::Added)),
                Change::Removed => ("- ", Tone::Look(Look::Removed)),
                Change::Place if line.text.is_empty() => {
                    return Line::new(Tone::Glyph(Glyph::More), SafeText::from_static(" "));
                }
                Change::Place => ("", Tone::Look(Look::Place)),
            };
            Line {
                pieces: vec![
                    (tone, SafeText::from_static(sign)),
                    (tone, SafeText::from_str(&line.text)),
                ],
                ..Line::default()
            }
        })
        .collect()
}
