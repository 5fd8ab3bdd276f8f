//! One item in full: what it is, what is wrong with it, what it says. Lines are made once for an item and
//! wrapped only where they are seen; of a giant item only the beginning is read until the operator scrolls on.

mod compose;
mod scroll;
mod violations;

pub use compose::{Subject, compose};
pub use scroll::Scroll;
pub use violations::violations;

use retake_core::rules::Severity;
use retake_core::safe_text::SafeText;
use retake_live::search::Needle;

/// Least cells between a line and its remark.
const GAP: &str = "    ";

/// How an item is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Its text, its arguments laid out.
    #[default]
    Pretty,
    /// Its bytes as they stand in the file.
    Raw,
}

impl Mode {
    pub fn next(self) -> Self {
        match self {
            Self::Pretty => Self::Raw,
            Self::Raw => Self::Pretty,
        }
    }
}

/// What a piece of text is, for its looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Words of the recording.
    Plain,
    /// Words of ours that explain.
    Dim,
    /// The name of the tool, and what else heads the item.
    Title,
    /// A key of JSON.
    Key,
    /// A string of JSON.
    String,
    /// A number or word of JSON.
    Scalar,
    /// The sign of a severity; the text only holds its room.
    Sign(Severity),
    Error,
    Warning,
    /// About something worth knowing.
    Info,
    /// It would be there, and was not.
    Added,
    /// The part of an added line that makes the difference.
    AddedPart,
    /// It was there, and would not be.
    Removed,
    /// The part of a removed line that makes the difference.
    RemovedPart,
}

impl Tone {
    /// The tone of words about a finding.
    pub fn of(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::Error,
            Severity::Warning => Self::Warning,
            Severity::Info => Self::Info,
        }
    }
}

/// What a line is about, beside it.
#[derive(Debug, Clone)]
pub struct Remark {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong there.
    pub text: SafeText,
}

impl Remark {
    /// Puts the remark behind the last row where it fits, else on rows of its own.
    fn place(&self, rows: &mut Vec<DetailRow>, indent: usize, width: usize) {
        let sign = (Tone::Sign(self.severity), SafeText::from_static("  "));
        let tone = Tone::of(self.severity);
        let used = rows.last().map_or(0, DetailRow::width);
        if used + GAP.len() + 2 + self.text.width() <= width
            && let Some(row) = rows.last_mut()
        {
            if !row.pieces.is_empty() {
                row.pieces.push((Tone::Plain, SafeText::from_static(GAP)));
            }
            row.pieces.extend([sign, (tone, self.text.clone())]);
            return;
        }
        rows.retain(|row| !row.pieces.is_empty());
        let room = width.saturating_sub(indent + 2).max(1);
        for (number, part) in self.text.wrapped(room).enumerate() {
            let first = if number == 0 { sign.0 } else { Tone::Plain };
            rows.push(DetailRow {
                indent,
                pieces: vec![(first, sign.1.clone()), (tone, part)],
            });
        }
    }
}

/// One line before it is wrapped.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// Columns that stay free on the left, also on the rows it wraps to.
    pub indent: usize,
    pub pieces: Vec<(Tone, SafeText)>,
    /// A remark to its right.
    pub remark: Option<Remark>,
}

/// One row on the screen.
#[derive(Debug, Clone, Default)]
pub struct DetailRow {
    /// Columns that stay free on the left.
    pub indent: usize,
    pub pieces: Vec<(Tone, SafeText)>,
}

impl DetailRow {
    fn width(&self) -> usize {
        self.indent
            + self
                .pieces
                .iter()
                .map(|(_, text)| text.width())
                .sum::<usize>()
    }
}

impl Line {
    /// A line of one tone.
    pub fn new(tone: Tone, text: SafeText) -> Self {
        Self {
            pieces: vec![(tone, text)],
            ..Self::default()
        }
    }

    /// Whether a text stands in one of its pieces.
    pub fn holds(&self, needle: &Needle) -> bool {
        let mut pieces = self.pieces.iter();
        pieces.any(|(_, text)| needle.find(text.as_plain().as_bytes(), 0).is_some())
    }

    /// The rows that it takes in a pane of this width.
    pub fn rows(&self, width: usize) -> Vec<DetailRow> {
        let indent = self.indent.min(width / 2);
        let mut rows = vec![DetailRow {
            indent,
            pieces: Vec::new(),
        }];
        for (tone, text) in &self.pieces {
            flow(*tone, text, width.max(indent + 1), &mut rows);
        }
        if let Some(remark) = &self.remark {
            remark.place(&mut rows, indent, width);
        }
        rows
    }
}

/// Adds a piece behind the last row, on further rows where it does not fit.
fn flow(tone: Tone, text: &SafeText, width: usize, rows: &mut Vec<DetailRow>) {
    let (indent, used) = rows.last().map_or((0, 0), |row| (row.indent, row.width()));
    let needed = text.width();
    if used + needed <= width {
        if let Some(row) = rows.last_mut() {
            row.pieces.push((tone, text.clone()));
        }
        return;
    }
    // A short piece goes to the next row whole, a long one fills up this row first, and so do words where
    // hardly anything stands yet.
    let (room, whole) = (width.saturating_sub(used), width - indent);
    let is_long = needed > whole && room > whole / 3;
    let are_words = room > whole * 3 / 4 && text.as_plain().contains(' ');
    let fills_up = used > indent && (is_long || are_words);
    let mut parts = text.wrapped_behind(if fills_up { room } else { whole }, whole);
    let is_fresh = rows.last().is_some_and(|row| row.pieces.is_empty());
    if (fills_up || is_fresh)
        && let (Some(row), Some(part)) = (rows.last_mut(), parts.next())
    {
        row.pieces.push((tone, part));
    }
    rows.extend(parts.map(|part| DetailRow {
        indent,
        pieces: vec![(tone, part)],
    }));
}
