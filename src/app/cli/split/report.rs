//! What `split` answers, for people and as JSON: one line for each session, and under it what would be split.

use crate::cli::output::{counted, safe_line};
use crate::cli::report::write_line;
use crate::cli::style::Palette;
use serde::Serialize;
use std::io::{self, Write};

/// Most rows of one kind that are printed for people.
const ROWS: usize = 12;

/// The verdict on a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    /// The requested cut splits nothing.
    #[default]
    Clean,
    /// It would split something; the nearest cut that keeps more does not.
    Moved,
    /// As much as is to be kept is all there is.
    NothingToCut,
    /// No cut keeps so much and splits nothing.
    None,
    /// The given cut splits something.
    Splits,
    /// There is no item of the given number.
    NoSuchItem,
    /// The two recordings share no item.
    Unrelated,
}

/// The answer for one session. Items count from 1; absent values are null.
#[derive(Debug, Default, Serialize)]
#[serde(tag = "type", rename = "split")]
pub(super) struct Answer {
    pub(super) path: String,
    /// The session, as `check` calls it.
    pub(super) session: String,
    pub(super) verdict: Verdict,
    pub(super) items: usize,
    /// The first item that would be kept if the wish were taken literally.
    #[serde(rename = "asked")]
    pub(super) wanted: Option<usize>,
    /// The first item that is kept by the nearest cut at or before it that splits nothing.
    pub(super) boundary: Option<usize>,
    /// The first item that the next such cut after it would keep.
    #[serde(rename = "behind")]
    pub(super) next: Option<usize>,
    /// What the kept part begins with.
    pub(super) opens_with: Option<&'static str>,
    /// The recording that the cut was judged by.
    pub(super) against: Option<String>,
    /// How many items stand in it.
    pub(super) kept: Option<usize>,
    /// How many items only it holds.
    pub(super) new: Option<usize>,
    /// What the requested cut splits.
    pub(super) splits: Vec<Broken>,
    /// Calls and outputs that have no other half, wherever the cut is.
    pub(super) unpaired: Vec<Unpaired>,
}

/// Two items that a cut parts, or one that it loses.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Broken {
    /// What holds them together.
    pub(super) kind: &'static str,
    pub(super) item: usize,
    pub(super) item_kind: &'static str,
    /// The later item; `None` for one that something outside waits for.
    pub(super) other: Option<usize>,
    pub(super) other_kind: Option<&'static str>,
    pub(super) tool: Option<String>,
    pub(super) call_id: Option<String>,
}

/// A call or an output without its other half.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Unpaired {
    pub(super) item: usize,
    pub(super) kind: &'static str,
    /// What it has none of.
    pub(super) missing: &'static str,
    pub(super) call_id: Option<String>,
    /// Whether the cut keeps it; `None` where only the later recording holds it.
    pub(super) kept: Option<bool>,
}

impl Answer {
    /// One JSON object on a line.
    pub(super) fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_line(out, self)
    }

    /// The sentence, and what belongs to it.
    pub(super) fn write_text(
        &self,
        out: &mut dyn Write,
        palette: Palette,
        names_session: bool,
    ) -> io::Result<()> {
        let mut place = safe_line(&self.path);
        if names_session {
            place.push_str(&format!(", session {}", safe_line(&self.session)));
        }
        writeln!(out, "{}: {}", palette.bold(place), self.sentence())?;
        if !self.splits.is_empty() {
            writeln!(out, "  {}", self.introduction())?;
            let rows = self.splits.iter().map(Broken::row);
            rows_of(out, rows, self.splits.len(), "split")?;
        }
        if let Some(next) = self.next {
            let keeps = counted(self.keeps(next), "item");
            writeln!(
                out,
                "  the next whole cut behind it is before item {next}; it would keep {keeps}"
            )?;
        }
        if !self.unpaired.is_empty() {
            writeln!(out, "  without another half, wherever the cut is")?;
            let rows = self.unpaired.iter().map(Unpaired::row);
            rows_of(out, rows, self.unpaired.len(), "item")?;
        }
        Ok(())
    }

    fn keeps(&self, first: usize) -> usize {
        (self.items + 1).saturating_sub(first)
    }

    fn sentence(&self) -> String {
        let wanted = self.wanted.unwrap_or_default();
        let of = format!("of {}", counted(self.items, "item"));
        let cut = self.boundary.map(|boundary| {
            let begins = self.opens_with.unwrap_or_default();
            format!(
                "before item {boundary} ({begins}), keeps the last {} {of}",
                self.keeps(boundary)
            )
        });
        let cut = cut.unwrap_or_default();
        match (self.verdict, &self.against) {
            (Verdict::NothingToCut, _) => {
                format!(
                    "nothing needs to be cut: all {} stay",
                    counted(self.items, "item")
                )
            }
            (Verdict::Unrelated, Some(after)) => format!("nothing {of} is in {after}"),
            (verdict, Some(after)) => {
                let kept = self.kept.unwrap_or_default();
                let new = counted(self.new.unwrap_or_default(), "new item");
                let judged = match verdict {
                    Verdict::Clean => "splits nothing".to_owned(),
                    _ => "splits what belongs together".to_owned(),
                };
                format!("the cut to {after} {judged}; it keeps {kept} {of} and adds {new}")
            }
            (Verdict::Clean, _) => format!("cut {cut}"),
            (Verdict::Moved, _) => format!("cut {cut}; asked for {}", self.keeps(wanted)),
            (Verdict::None, _) => format!(
                "no cut keeps the last {} {of} and splits nothing",
                self.keeps(wanted)
            ),
            (Verdict::NoSuchItem, _) => {
                format!("no item {wanted}, there are {}", self.items)
            }
            (Verdict::Splits | Verdict::Unrelated, _) => {
                let nearest = self.boundary.map(|item| format!("item {item}"));
                format!(
                    "a cut before item {wanted} splits what belongs together; the nearest whole one before it: {}",
                    nearest.as_deref().unwrap_or("none")
                )
            }
        }
    }

    fn introduction(&self) -> String {
        match (self.verdict, self.wanted) {
            (Verdict::Moved | Verdict::None, Some(wanted)) => {
                format!("a cut before item {wanted} would split")
            }
            _ => "it splits".to_owned(),
        }
    }
}

impl Broken {
    fn row(&self) -> String {
        let tool = self.tool.as_deref();
        let tool = tool.map(|tool| format!("{}: ", safe_line(tool)));
        let id = self.call_id.as_deref();
        let id = id.map(|id| format!(" ({})", safe_line(id)));
        let Self {
            item, item_kind, ..
        } = self;
        let place = match (self.other, self.other_kind) {
            (Some(other), Some(kind)) => {
                format!("{item_kind} at item {item}, {kind} at item {other}")
            }
            _ => format!("{item_kind} at item {item} waits for an answer and would be lost"),
        };
        let (tool, id) = (tool.unwrap_or_default(), id.unwrap_or_default());
        format!("{:<9}  {tool}{place}{id}", self.kind)
    }
}

impl Unpaired {
    fn row(&self) -> String {
        let id = self
            .call_id
            .as_deref()
            .map(|id| format!(" ({})", safe_line(id)));
        let place = match self.kept {
            Some(true) => "kept",
            Some(false) => "cut off",
            None => "new",
        };
        let Self {
            kind,
            item,
            missing,
            ..
        } = self;
        format!(
            "{place:<9}  {kind} at item {item}{} without {missing}",
            id.unwrap_or_default()
        )
    }
}

/// The first rows, and how many there are more.
fn rows_of(
    out: &mut dyn Write,
    rows: impl Iterator<Item = String>,
    count: usize,
    noun: &str,
) -> io::Result<()> {
    for row in rows.take(ROWS) {
        writeln!(out, "    {row}")?;
    }
    match count.saturating_sub(ROWS) {
        0 => Ok(()),
        more => writeln!(
            out,
            "    and {} more; --format json has all",
            counted(more, noun)
        ),
    }
}
