//! `split`: where a recording can be cut so that no pair is split, or what a given cut splits.

use super::arguments::{LineFormat, ReadingArguments, SplitArguments, SplitWish};
use super::exit::{Exit, Failure};
use super::inputs::{self, inputs_of};
use super::output::{Output, counted, name_of, safe_line};
use super::report::write_line;
use super::style::Palette;
use retake_core::session::boundary::{Bond, Boundaries, BoundaryChoice, unpaired};
use retake_core::session::{Kind, Session, SourceError};
use retake_core::wire::{Survivors, survivors};
use retake_live::report::session_names;
use retake_live::{Inputs, Recording, exit_on_interrupt};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// Answers for each session of a recording.
pub(super) fn run(arguments: &SplitArguments) -> Result<Exit, Failure> {
    let SplitWish {
        keep,
        keep_turns,
        at,
        against,
    } = &arguments.wish;
    if keep.or(*keep_turns).or(*at).is_none() && against.is_none() {
        let path = name_of(&arguments.path);
        let message = "split: say how much to keep";
        let hint = format!(
            "`retake split {path} --keep 20` finds the cut that keeps at least the last 20 items and splits no pair; \
             --keep-turns N counts turns, --at ITEM and --against AFTER check a given cut"
        );
        return Err(Failure::with_hint(message, hint));
    }
    let inputs = inputs_of(&ReadingArguments {
        read_as: arguments.read_as.clone(),
        ..ReadingArguments::default()
    })?;
    exit_on_interrupt();
    let recording = read(&inputs, &arguments.path)?;
    let after = match &arguments.wish.against {
        Some(path) => Some((name_of(path), read(&inputs, path)?)),
        None => None,
    };
    let palette = Palette::of_stdout(arguments.color);
    let mut output = Output::stdout();
    // Until a session answers, the question did not fit the recording.
    let mut exit = Exit::Usage;
    let names = session_names(&recording.sessions);
    for (session, name) in recording.sessions.iter().zip(&names) {
        let subject = Subject {
            session,
            boundaries: Boundaries::of(session),
        };
        let answer = match &after {
            Some((path, after)) => subject.against(path, after),
            None => subject.wished(&arguments.wish),
        };
        let mut answer =
            answer.map_err(|error| Failure::unreadable(&arguments.path, &error.into()))?;
        answer.path = arguments.path.to_string_lossy().into_owned();
        answer.session.clone_from(name);
        exit = match (answer.verdict, exit) {
            (Verdict::None | Verdict::Splits, _) => Exit::Findings,
            (Verdict::NoSuchItem | Verdict::Unrelated, so_far) => so_far,
            (_, Exit::Usage) => Exit::Clean,
            (_, so_far) => so_far,
        };
        match arguments.format {
            LineFormat::Json => write_line(&mut output, &answer)?,
            LineFormat::Text => answer.write_text(&mut output, palette, names.len() > 1)?,
        }
    }
    output.finish()?;
    Ok(exit)
}

fn read(inputs: &Inputs, path: &Path) -> Result<Recording, Failure> {
    let opened = inputs::read_one(inputs, path, "split")?;
    if opened.recording.sessions.is_empty() {
        return Err(Failure::refused(format!("{}: no session", name_of(path))));
    }
    Ok(opened.recording)
}

/// A session that is to be cut.
struct Subject<'a> {
    session: &'a Session,
    boundaries: Boundaries,
}

impl Subject<'_> {
    /// The nearest boundary for what is to be kept, or what a given one splits.
    fn wished(&self, wish: &SplitWish) -> Result<Answer, SourceError> {
        let (items, turns) = (&self.session.items, &self.session.turns);
        if let Some(item) = wish.at {
            return self.judge(item as usize - 1);
        }
        let wished = match (wish.keep, wish.keep_turns) {
            (_, Some(keep)) => turns
                .get(turns.len().saturating_sub(keep as usize))
                .map_or(0, |turn| turn.first as usize),
            (keep, None) => items.len().saturating_sub(keep.unwrap_or(0) as usize),
        };
        let found = self.boundaries.at_or_before(wished);
        let broken = match found {
            BoundaryChoice::Nothing => Vec::new(),
            _ => self.boundaries.split_at(wished),
        };
        let (verdict, boundary) = match found {
            BoundaryChoice::Nothing => (Verdict::NothingToCut, None),
            BoundaryChoice::Nowhere => (Verdict::None, None),
            BoundaryChoice::Before(boundary) if boundary == wished => {
                (Verdict::Clean, Some(boundary))
            }
            BoundaryChoice::Before(boundary) => (Verdict::Moved, Some(boundary)),
        };
        let next = match verdict {
            Verdict::Moved | Verdict::None => self.boundaries.after(wished),
            _ => None,
        };
        self.answer(verdict, wished, boundary, next, &broken)
    }

    fn judge(&self, boundary: usize) -> Result<Answer, SourceError> {
        let broken = match boundary < self.session.items.len() {
            true => self.boundaries.split_at(boundary),
            // There is no such item: nothing of the history would be kept.
            false => return self.answer(Verdict::NoSuchItem, boundary, None, None, &[]),
        };
        if boundary <= self.boundaries.opening() {
            return self.answer(Verdict::NothingToCut, boundary, None, None, &[]);
        }
        if broken.is_empty() {
            return self.answer(Verdict::Clean, boundary, Some(boundary), None, &[]);
        }
        let before = match self.boundaries.at_or_before(boundary) {
            BoundaryChoice::Before(before) => Some(before),
            BoundaryChoice::Nothing | BoundaryChoice::Nowhere => None,
        };
        let next = self.boundaries.after(boundary);
        self.answer(Verdict::Splits, boundary, before, next, &broken)
    }

    fn answer(
        &self,
        verdict: Verdict,
        wished: usize,
        boundary: Option<usize>,
        next: Option<usize>,
        broken: &[Bond],
    ) -> Result<Answer, SourceError> {
        let cut_before = match verdict {
            Verdict::NothingToCut => 0,
            Verdict::Splits | Verdict::None => wished,
            _ => boundary.unwrap_or(wished),
        };
        Ok(Answer {
            verdict,
            items: self.session.items.len(),
            wanted: Some(wished + 1),
            boundary: boundary.map(|boundary| boundary + 1),
            next: next.map(|next| next + 1),
            opens_with: boundary
                .and_then(|boundary| Some(self.session.items.get(boundary)?.kind.word())),
            splits: self.broken(broken)?,
            unpaired: self.unpaired(|index| index >= cut_before)?,
            ..Answer::default()
        })
    }

    /// What the cut broke that made one of the sessions of `after`: the one that shares most items.
    fn against(&self, path: &str, after: &Recording) -> Result<Answer, SourceError> {
        let mut best: Option<(usize, Survivors, &Session)> = None;
        for session in &after.sessions {
            let found = survivors(self.session, session)?;
            let shared = found.kept.iter().filter(|kept| **kept).count();
            if best.as_ref().is_none_or(|(most, ..)| shared > *most) {
                best = Some((shared, found, session));
            }
        }
        let Some((shared, found, later)) = best else {
            return Ok(Answer::default());
        };
        let is_kept = |index: usize| found.kept.get(index).copied().unwrap_or_default();
        let broken = match shared {
            0 => Vec::new(),
            _ => self.boundaries.broken(is_kept),
        };
        let unpaired = self.unpaired(is_kept)?;
        let verdict = match (shared, broken.is_empty()) {
            (0, _) => Verdict::Unrelated,
            (_, true) => Verdict::Clean,
            (_, false) => Verdict::Splits,
        };
        Ok(Answer {
            verdict,
            items: self.session.items.len(),
            against: Some(path.to_owned()),
            kept: Some(shared),
            new: Some(found.new.len()),
            splits: self.broken(&broken)?,
            unpaired: [unpaired, strangers(later, &found.new)?].concat(),
            ..Answer::default()
        })
    }

    fn broken(&self, bonds: &[Bond]) -> Result<Vec<Broken>, SourceError> {
        let one = |bond: &Bond| {
            let first = &self.session.items[bond.first as usize];
            let last = bond.last.map(|last| &self.session.items[last as usize]);
            // The name is on the call, which is the second of two where reasoning or text comes first.
            let named = std::iter::once(first).chain(last);
            let named = named
                .clone()
                .find(|item| !self.session.name(item).is_empty())
                .unwrap_or(first);
            Ok(Broken {
                kind: bond.kind.word(),
                item: bond.first as usize + 1,
                item_kind: first.kind.word(),
                other: bond.last.map(|last| last as usize + 1),
                other_kind: last.map(|last| last.kind.word()),
                tool: Some(self.session.name(named).to_owned()).filter(|name| !name.is_empty()),
                call_id: call_id(self.session, named)?,
            })
        };
        bonds.iter().map(one).collect()
    }

    /// What has no other half to be split from, and where it goes.
    fn unpaired(&self, is_kept: impl Fn(usize) -> bool) -> Result<Vec<Unpaired>, SourceError> {
        let one = |index: usize| Unpaired::new(self.session, index, Some(is_kept(index)));
        unpaired(self.session).into_iter().map(one).collect()
    }
}

/// Items without another half that only the later history holds.
fn strangers(later: &Session, new: &[usize]) -> Result<Vec<Unpaired>, SourceError> {
    let lonely = unpaired(later);
    let lonely = lonely
        .into_iter()
        .filter(|index| new.binary_search(index).is_ok());
    lonely
        .map(|index| Unpaired::new(later, index, None))
        .collect()
}

impl Unpaired {
    fn new(session: &Session, index: usize, kept: Option<bool>) -> Result<Self, SourceError> {
        let item = &session.items[index];
        Ok(Self {
            item: index + 1,
            kind: item.kind.word(),
            missing: match item.kind {
                Kind::Call | Kind::HostedCall => "output",
                Kind::ApprovalResponse => "request",
                Kind::ApprovalRequest => "decision",
                _ => "call",
            },
            call_id: call_id(session, item)?,
            kept,
        })
    }
}

fn call_id(
    session: &Session,
    item: &retake_core::session::Item,
) -> Result<Option<String>, SourceError> {
    let id = session.call_id(item)?;
    Ok(Some(id).filter(|id| !id.is_empty()))
}

// What `split` answers, for people and as JSON: one line for each session, and under it what would be split.

/// Most rows of one kind that are printed for people.
const ROWS: usize = 12;

/// The verdict on a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
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
struct Answer {
    path: String,
    /// The session, as `check` calls it.
    session: String,
    verdict: Verdict,
    items: usize,
    /// The first item that would be kept if the wish were taken literally.
    #[serde(rename = "asked")]
    wanted: Option<usize>,
    /// The first item that is kept by the nearest cut at or before it that splits nothing.
    boundary: Option<usize>,
    /// The first item that the next such cut after it would keep.
    #[serde(rename = "behind")]
    next: Option<usize>,
    opens_with: Option<&'static str>,
    /// The recording that the cut was judged by.
    against: Option<String>,
    /// How many items stand in it.
    kept: Option<usize>,
    /// How many items only it holds.
    new: Option<usize>,
    /// What the requested cut splits.
    splits: Vec<Broken>,
    /// Calls and outputs that have no other half, wherever the cut is.
    unpaired: Vec<Unpaired>,
}

/// Two items that a cut parts, or one that it loses.
#[derive(Debug, Clone, Serialize)]
struct Broken {
    /// What holds them together.
    kind: &'static str,
    item: usize,
    item_kind: &'static str,
    /// The later item; `None` for one that something outside waits for.
    other: Option<usize>,
    other_kind: Option<&'static str>,
    tool: Option<String>,
    call_id: Option<String>,
}

/// A call or an output without its other half.
#[derive(Debug, Clone, Serialize)]
struct Unpaired {
    item: usize,
    kind: &'static str,
    /// What it has none of.
    missing: &'static str,
    call_id: Option<String>,
    /// Whether the cut keeps it; `None` where only the later recording holds it.
    kept: Option<bool>,
}

impl Answer {
    /// The sentence, and what belongs to it.
    fn write_text(
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
                "  the next complete cut is before item {next}; it would keep {keeps}"
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
                    "nothing to cut: all {} are kept",
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
            (Verdict::Moved, _) => format!("cut {cut}; requested {}", self.keeps(wanted)),
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
