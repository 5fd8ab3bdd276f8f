//! The recordings of the picker as rows of a table: their columns, their order, their groups, and what a filter
//! knows of them.

use crate::tui::columns::{self, Column, SpareWidth};
use crate::tui::filter::{FilterTerm, Filtered, Values};
use crate::tui::theme::Theme;
use crate::usage::at_least;
use crate::words::{count, shortened};
use ratatui::text::Span;
use retake_core::content::any_name_of;
use retake_core::rules::Severity;
use retake_core::safe_text::SafeText;
use retake_core::usage::Cost;
use retake_live::discover::{Candidate, Origin, Place};
use retake_live::inspect::Summary;
use retake_live::is_sub_agent_log;
use retake_live::stores::Agent;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The word of a filter for files that cannot be read.
pub const UNREAD: &str = "unread";

/// A file that may be opened.
#[derive(Debug, Clone)]
pub struct PickerRow {
    pub candidate: Candidate,
    pub summary: Option<Result<Summary, String>>,
    /// Its path below the place where it was found.
    pub name: PathBuf,
    place: PathBuf,
    /// The program that wrote it, as far as its place tells.
    agent: Cow<'static, str>,
    /// Whether the operator named this file.
    pub is_named: bool,
    pub now: SystemTime,
    /// Whether the file has changed since it was read.
    is_stale: bool,
    /// Whether it is no longer where it was found.
    pub is_gone: bool,
    /// What words of a filter are looked for in, once it was asked for.
    text: OnceCell<String>,
}

impl PickerRow {
    pub fn new(candidate: Candidate, places: &[Place], now: SystemTime) -> Self {
        let place = places.get(candidate.place);
        let inside = candidate.inside(places);
        let agent = match candidate.origin {
            Origin::Agent(agent) => Cow::Borrowed(agent.id.as_str()),
            Origin::Runs => {
                let kind = place.and_then(|place| place.path.file_name());
                let kind = kind.and_then(OsStr::to_str).unwrap_or_default();
                Cow::Owned(format!("retake {}", kind.trim_end_matches('s')))
            }
            Origin::Named | Origin::Sessions | Origin::Current => Cow::Borrowed(""),
        };
        Self {
            name: inside.unwrap_or(&candidate.path).to_owned(),
            place: place.map_or_else(PathBuf::new, |place| match inside {
                Some(_) => place.path.clone(),
                None => place.path.parent().unwrap_or(Path::new("")).to_owned(),
            }),
            is_named: candidate.origin == Origin::Named
                && place.is_some_and(|place| place.path == candidate.path),
            agent,
            now,
            is_stale: false,
            is_gone: false,
            text: OnceCell::new(),
            summary: None,
            candidate,
        }
    }

    /// Takes the file as it was found again; whether it is another than before.
    pub fn renew(&mut self, candidate: Candidate) -> bool {
        self.is_gone = false;
        let facts = |candidate: &Candidate| (candidate.size, candidate.modified);
        let has_changed = facts(&self.candidate) != facts(&candidate);
        self.is_stale |= has_changed;
        self.candidate = candidate;
        has_changed
    }

    /// Takes what the file holds.
    pub fn learn(&mut self, summary: Result<Summary, String>) {
        self.is_stale = false;
        self.summary = Some(summary);
        self.text = OnceCell::new();
    }

    /// What words of a filter are looked for in.
    fn words(&self) -> &str {
        self.text.get_or_init(|| {
            let mut text = format!("{} {}", self.name.to_string_lossy(), self.agent());
            if let Some(summary) = self.known() {
                let texts = summary.last.iter().map(|(_, text)| text);
                let texts = summary
                    .folder
                    .iter()
                    .chain(summary.first.iter().map(|(_, words)| words))
                    .chain(texts)
                    .chain(&summary.models)
                    .map(String::as_str);
                let rules = summary.rules.iter().map(|(rule, ..)| *rule);
                for more in texts.chain(rules) {
                    text.push(' ');
                    text.push_str(more);
                }
            }
            text
        })
    }

    pub fn known(&self) -> Option<&Summary> {
        self.summary.as_ref()?.as_ref().ok()
    }

    /// When the last entry was recorded; where that is not known, when the file was changed.
    pub fn last_entry(&self) -> Option<SystemTime> {
        let recorded = self.known().and_then(|summary| summary.last_entry);
        let recorded = recorded.map(|at| SystemTime::UNIX_EPOCH + Duration::from_millis(at));
        recorded.or(self.candidate.modified)
    }

    fn age(&self) -> Duration {
        let last = self.last_entry().unwrap_or(SystemTime::UNIX_EPOCH);
        self.now.duration_since(last).unwrap_or_default()
    }

    /// Whether it cannot be read.
    pub fn is_unread(&self) -> bool {
        matches!(self.summary, Some(Err(_)))
    }

    /// Whether nothing more can be learned about it.
    pub fn is_done(&self) -> bool {
        match &self.summary {
            _ if self.is_stale => false,
            None => false,
            Some(Ok(summary)) => summary.is_whole,
            Some(Err(_)) => true,
        }
    }

    /// The program that wrote it, else its format.
    pub fn agent(&self) -> &str {
        match self.known() {
            Some(summary) if self.agent.is_empty() => {
                let agent = Agent::of_format(summary.format);
                agent.map_or(summary.format, |agent| &agent.id)
            }
            _ => &self.agent,
        }
    }

    /// The first words in one line.
    pub fn title(&self) -> String {
        let words = self.known().map_or("", Summary::words);
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The file of the session that a sub-agent belongs to.
    fn parent(&self) -> Option<PathBuf> {
        let path = &self.candidate.path;
        let folder = path.parent().filter(|_| is_sub_agent_log(path))?;
        if folder.file_name() == Some(OsStr::new("subagents")) {
            return Some(folder.parent()?.with_extension("jsonl"));
        }
        let id = self.known()?.parent.as_ref()?;
        Some(folder.join(format!("{id}.jsonl")))
    }

    fn has(&self, severity: Severity) -> bool {
        self.known().is_some_and(|summary| match severity {
            Severity::Error => summary.errors > 0,
            Severity::Warning => summary.warnings > 0,
            Severity::Info => !summary.rules.is_empty(),
        })
    }
}

impl Filtered for PickerRow {
    const TERMS: &'static [FilterTerm] = &[
        FilterTerm::word("error", "has a finding of severity error"),
        FilterTerm::word("warning", "has a finding of severity warning"),
        FilterTerm::word("finding", "has any finding"),
        FilterTerm::word(UNREAD, "cannot be read"),
        FilterTerm::field(
            "rule:orphan",
            Values::Rules,
            "has a finding of this rule; a part of the name is enough",
        ),
        FilterTerm::field(
            "tool:search",
            Values::PartNames,
            "calls this tool; a part of the name is enough",
        ),
        FilterTerm::field("model:gpt", Values::PartNames, "was written by this model"),
        FilterTerm::field(
            "agent:claude",
            Values::PartNames,
            "was recorded by this agent",
        ),
        FilterTerm::field(
            "folder:shop",
            Values::PartNames,
            "was recorded in this folder",
        ),
        FilterTerm::field(
            "since:7d",
            Values::Age,
            "was written since then: 7d, 12h, 30m, 2026-11-20",
        ),
        FilterTerm::field(
            "before:7d",
            Values::LeastAge,
            "was written before then: 7d, 12h, 30m, 2026-11-20",
        ),
        FilterTerm::field(
            "turns:>9",
            Values::Number,
            "has more turns than that; < for fewer",
        ),
        FilterTerm::field("tokens:>10k", Values::Number, "took more tokens"),
        FilterTerm::field("cost:>1", Values::Number, "cost more, in dollars"),
        FilterTerm::field(
            "findings:>5",
            Values::Number,
            "has more errors and warnings",
        ),
    ];

    fn is(&self, word: &str) -> bool {
        match word {
            "error" => self.has(Severity::Error),
            "warning" => self.has(Severity::Warning),
            UNREAD => self.is_unread(),
            _ => self.has(Severity::Info),
        }
    }

    fn any_name(&self, field: &str, fits: &dyn Fn(&str) -> bool) -> bool {
        let Some(summary) = self.known() else {
            return field == "agent" && fits(self.agent());
        };
        match field {
            "rule" => summary.rules.iter().any(|(rule, ..)| fits(rule)),
            "tool" => summary.tools.iter().any(|tool| any_name_of(tool, fits)),
            "model" => summary.models.iter().any(|model| fits(model)),
            "agent" => fits(self.agent()),
            _ => {
                let kept = self.candidate.path.parent().map(Path::to_string_lossy);
                let recorded = summary.folder.as_deref().map(Cow::Borrowed);
                recorded.into_iter().chain(kept).any(|folder| {
                    let mut names = folder.split('/').filter(|name| !name.is_empty());
                    fits(&folder) || names.any(fits)
                })
            }
        }
    }

    fn number(&self, field: &str) -> Option<f64> {
        let summary = self.known().filter(|summary| summary.is_whole);
        match field {
            "since" | "before" => Some(self.age().as_secs_f64()),
            "turns" => summary.map(|summary| summary.turns as f64),
            "tokens" => summary?.tokens.map(|tokens| tokens as f64),
            "cost" => summary?.cost.map(Cost::dollars),
            _ => summary.map(|summary| (summary.errors + summary.warnings) as f64),
        }
    }

    fn text(&self) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(self.words().as_bytes()))
    }

    /// Letters in order with gaps are in almost every title.
    fn row(&self) -> Cow<'_, str> {
        self.name.to_string_lossy()
    }
}

/// By what the rows are sorted: the most or the newest first, names from A to Z.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    Time,
    Size,
    Findings,
    Tokens,
    Cost,
    /// From A to Z.
    Name,
}

impl Sort {
    /// The column that shows it.
    pub fn column(self) -> Id {
        match self {
            Self::Time => Id::When,
            Self::Size => Id::Size,
            Self::Findings => Id::Findings,
            Self::Tokens => Id::Tokens,
            Self::Cost => Id::Cost,
            Self::Name => Id::File,
        }
    }

    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Time, "time"),
        (Self::Size, "size"),
        (Self::Findings, "findings"),
        (Self::Tokens, "tokens"),
        (Self::Cost, "cost"),
        (Self::Name, "name"),
    ];
}

/// What rows stand together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Grouping {
    #[default]
    Folder,
    Agent,
    Nothing,
}

impl Grouping {
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::Folder, "folder"),
        (Self::Agent, "agent"),
        (Self::Nothing, "none"),
    ];
}

/// The value after one, around the end, and the word of a value.
pub fn next<T: Copy + PartialEq>(all: &[(T, &'static str)], now: T) -> T {
    let at = all.iter().position(|(value, _)| *value == now).unwrap_or(0);
    all[(at + 1) % all.len()].0
}

pub fn word<T: PartialEq>(all: &[(T, &'static str)], now: T) -> &'static str {
    let found = all.iter().find(|(value, _)| *value == now);
    found.map_or("", |(_, word)| word)
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListLine {
    Heading(String),
    /// A row by its number, and whether it is below the session that it belongs to.
    File(usize, bool),
}

/// The lines of the list: the rows of these numbers, sorted, in groups, sub-agents below their sessions.
pub fn arranged(
    rows: &[PickerRow],
    mut tops: Vec<usize>,
    (sort, is_reversed): (Sort, bool),
    grouping: Grouping,
) -> Vec<ListLine> {
    // The largest of all is on top only where folders do not part the list.
    let grouping = match (sort, grouping) {
        (Sort::Size | Sort::Findings | Sort::Tokens | Sort::Cost, Grouping::Folder) => {
            Grouping::Nothing
        }
        (_, grouping) => grouping,
    };
    tops.sort_by_cached_key(|number| sort_key(&rows[*number], sort, is_reversed, *number));
    let places: HashMap<&Path, usize> = tops
        .iter()
        .map(|number| (&*rows[*number].candidate.path, *number))
        .collect();
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut is_child = |number: &usize| {
        let parent = rows[*number].parent();
        let parent = parent.and_then(|parent| places.get(&*parent).copied());
        let parent = parent.filter(|parent| parent != number);
        parent.map(|parent| children.entry(parent).or_default().push(*number))
    };
    tops.retain(|number| is_child(number).is_none());
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let projects = projects(rows);
    for number in tops {
        let name = match grouping {
            Grouping::Folder => folder(&rows[number], &projects),
            Grouping::Agent => rows[number].agent().to_owned(),
            Grouping::Nothing => String::new(),
        };
        let group = *known.entry(name.clone()).or_insert_with(|| {
            groups.push((name, Vec::new()));
            groups.len() - 1
        });
        groups[group].1.push(number);
    }
    let has_headings = groups.len() > 1;
    let mut lines = Vec::new();
    for (name, numbers) in groups {
        if has_headings {
            lines.push(ListLine::Heading(name));
        }
        for number in numbers {
            lines.push(ListLine::File(number, false));
            let below = children.get(&number).into_iter().flatten().rev();
            lines.extend(below.map(|number| ListLine::File(*number, true)));
        }
    }
    lines
}

/// Files that were named stand first, in the order in which they were named, and those that cannot be read last; files
/// of the same second, as a checkout makes them, by name.
type SortKey = (
    Reverse<bool>,
    bool,
    Reverse<u64>,
    Reverse<Option<u64>>,
    PathBuf,
    Reverse<PathBuf>,
);

fn sort_key(row: &PickerRow, sort: Sort, is_reversed: bool, number: usize) -> SortKey {
    let candidate = &row.candidate;
    if row.is_named && sort == Sort::Time {
        let order = PathBuf::from(format!("{number:020}"));
        let none = Reverse(PathBuf::new());
        return (Reverse(true), false, Reverse(0), Reverse(None), order, none);
    }
    let summary = row.known();
    let most = match sort {
        Sort::Time | Sort::Name => 0,
        Sort::Size => candidate.size,
        Sort::Findings => summary.map_or(0, |known| {
            // An error weighs more than any number of warnings.
            ((known.errors as u64) << 32) + known.warnings as u64
        }),
        Sort::Tokens => summary.and_then(|known| known.tokens).unwrap_or(0),
        Sort::Cost => summary
            .and_then(|known| known.cost)
            // Whole millionths of a dollar.
            .map_or(0, |cost| (cost.dollars() * 1e6) as u64),
    };
    let since = row
        .last_entry()
        .and_then(|last| last.duration_since(SystemTime::UNIX_EPOCH).ok());
    let seconds = since.map(|since| since.as_secs());
    let seconds = seconds.filter(|_| sort != Sort::Name);
    let (most, seconds) = match is_reversed {
        true => (u64::MAX - most, Some(u64::MAX - seconds.unwrap_or(0))),
        false => (most, seconds),
    };
    let (name, reversed_name) = match is_reversed && sort == Sort::Name {
        true => (PathBuf::new(), candidate.path.clone()),
        false => (candidate.path.clone(), PathBuf::new()),
    };
    let is_unreadable = row.is_unread();
    (
        Reverse(false),
        is_unreadable,
        Reverse(most),
        Reverse(seconds),
        name,
        Reverse(reversed_name),
    )
}

/// The project of each folder in which Claude Code keeps the sessions of one.
fn projects(rows: &[PickerRow]) -> HashMap<&Path, &str> {
    let kept = rows.iter().filter(|row| row.agent == "claude-code");
    kept.filter_map(|row| {
        let folder = row.known()?.folder.as_deref()?;
        Some((row.candidate.path.parent()?, folder))
    })
    .collect()
}

/// The project folder of a file, else the place where it was found.
fn folder(row: &PickerRow, projects: &HashMap<&Path, &str>) -> String {
    let recorded = row.known().and_then(|known| known.folder.as_deref());
    let parent = row.candidate.path.parent();
    let project = parent.and_then(|parent| projects.get(parent).copied());
    let folder = project.or(recorded);
    folder.map_or_else(|| row.place.to_string_lossy().into_owned(), str::to_owned)
}

/// A column of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id {
    When,
    Findings,
    Turns,
    Size,
    Tokens,
    Cost,
    Agent,
    Model,
    /// The name of the file.
    File,
    Title,
}

/// Each column in the order in which they stand, with what matters most ranked lowest.
#[rustfmt::skip]
const ALL: [Column<Id>; 10] = [
    Column { is_number: true, ..Column::new(Id::When, "when", 8, 1) },
    Column::new(Id::Findings, "findings", 10, 2),
    Column { spare: TITLE, is_number: true, ..Column::new(Id::Turns, "turns", 6, 3) },
    Column { spare: 3 * TITLE, is_number: true, ..Column::new(Id::Size, "size", 6, 8) },
    Column { spare: ROOMY_TITLE, is_number: true, ..Column::new(Id::Tokens, "tokens", 7, 6) },
    Column { spare: ROOMY_TITLE, is_number: true, ..Column::new(Id::Cost, "cost", 7, 7) },
    Column { spare: 2 * TITLE, takes: SpareWidth::Share(8, 6), ..Column::new(Id::Agent, "agent", 12, 5) },
    Column { spare: 3 * TITLE, takes: SpareWidth::Share(6, 12), ..Column::new(Id::Model, "model", 16, 9) },
    Column { spare: TITLE, takes: SpareWidth::Share(8, 8), ..Column::new(Id::File, "file", 16, 4) },
    Column { takes: SpareWidth::Rest, ..Column::new(Id::Title, "title", 16, 0) },
];
/// Cells that the title has before what matters less has any.
const TITLE: usize = 14;
/// The same before tokens and cost.
const ROOMY_TITLE: usize = 26;

/// Each column with the word for it in a file of settings.
pub const COLUMN_NAMES: [(Id, &str); 10] = [
    (Id::When, "when"),
    (Id::Findings, "findings"),
    (Id::Turns, "turns"),
    (Id::Size, "size"),
    (Id::Tokens, "tokens"),
    (Id::Cost, "cost"),
    (Id::Agent, "agent"),
    (Id::Model, "model"),
    (Id::File, "file"),
    (Id::Title, "title"),
];

/// How the list of recordings begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickerSettings {
    pub columns: Vec<Id>,
    pub sort: Sort,
    pub grouping: Grouping,
    pub has_preview: bool,
}

impl Default for PickerSettings {
    fn default() -> Self {
        Self {
            columns: COLUMN_NAMES.iter().map(|(id, _)| *id).collect(),
            sort: Sort::default(),
            grouping: Grouping::default(),
            has_preview: true,
        }
    }
}

/// Those of the columns that fit into this width, in the order of `wanted`, with their widths. The list is sorted by one
/// of them: that one is shown before all but the title.
pub fn fit(wanted: &[Id], sorted: Id, width: usize) -> Vec<(Column<Id>, usize)> {
    let columns = wanted.iter().filter_map(|id| {
        let column = ALL.iter().find(|column| column.id == *id).copied()?;
        Some(match column.id == sorted {
            true => Column {
                rank: 0,
                spare: 0,
                ..column
            },
            false => column,
        })
    });
    columns::fit(&columns.collect::<Vec<_>>(), width)
}

/// The cells of a row; a sub-agent hangs on its parent by `branch`.
pub fn cells(
    row: &PickerRow,
    branch: Option<&'static str>,
    columns: &[(Column<Id>, usize)],
    theme: &Theme,
) -> Vec<Span<'static>> {
    let cells = columns.iter().flat_map(|(column, width)| {
        let cell = match column.id {
            Id::Title => title(row, branch, *width, theme),
            id => cell(row, id, *width, theme),
        };
        column.cell(cell, *width)
    });
    cells.collect()
}

fn cell(row: &PickerRow, id: Id, width: usize, theme: &Theme) -> Vec<Span<'static>> {
    let whole = row.known().filter(|summary| summary.is_whole);
    let dim = |text: String| vec![Span::styled(text, theme.dim)];
    let text = |text: &str| theme.spans(&SafeText::single_line(text, width), theme.dim);
    let figure = |known: &Summary, figure: Option<String>| match figure {
        None => Vec::new(),
        Some(figure) => {
            let figure = format!("{}{figure}", at_least(known.is_undercounted));
            theme.spans(&SafeText::single_line(&figure, width), theme.text)
        }
    };
    match id {
        Id::When => dim(age_words(row.age())),
        Id::Findings => findings(row, theme),
        Id::Turns => whole.map_or_else(Vec::new, |known| {
            vec![Span::styled(known.turns.to_string(), theme.text)]
        }),
        Id::Size => dim(columns::size(row.candidate.size)),
        Id::Tokens => whole.map_or_else(Vec::new, |known| figure(known, known.tokens.map(count))),
        Id::Cost => whole.map_or_else(Vec::new, |known| {
            figure(known, known.cost.map(|cost| cost.to_string()))
        }),
        Id::Agent => text(row.agent()),
        Id::Model => {
            let models = row.known().map_or(&[][..], |known| &known.models);
            text(&models.join(", "))
        }
        Id::File => {
            let name = row.candidate.path.file_name().unwrap_or_default();
            let name = shortened(name.as_bytes(), width, theme.glyphs.more);
            theme.spans(&name, theme.dim)
        }
        Id::Title => Vec::new(),
    }
}

fn title(
    row: &PickerRow,
    branch: Option<&'static str>,
    width: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let words = row.title();
    let style = match words.is_empty() {
        true => theme.dim,
        false => theme.text,
    };
    let mut spans = Vec::new();
    let mut room = width;
    if let Some(branch) = branch {
        spans.push(Span::styled(format!("{branch} "), theme.dim));
        room = room.saturating_sub(2);
    }
    let text = match words.is_empty() {
        false => SafeText::single_line(&words, room),
        true => shortened(row.name.as_os_str().as_bytes(), room, theme.glyphs.more),
    };
    spans.extend(theme.spans(&text, style));
    spans
}

/// Errors and warnings; nothing where nothing was found, a dot while that is not known.
fn findings(row: &PickerRow, theme: &Theme) -> Vec<Span<'static>> {
    let summary = match &row.summary {
        Some(Err(_)) => return vec![Span::styled("?", theme.dim)],
        Some(Ok(summary)) if summary.is_whole => summary,
        Some(Ok(_)) | None => return vec![Span::styled(theme.glyphs.dot, theme.dim)],
    };
    let mut spans = Vec::new();
    for (number, glyph, style) in [
        (summary.errors, theme.glyphs.error, theme.error),
        (summary.warnings, theme.glyphs.warning, theme.warning),
    ] {
        let text = match number {
            0 => String::new(),
            1..=999 => format!("{glyph} {number}"),
            _ => format!("{glyph} {}k", (number / 1000).min(99)),
        };
        spans.push(Span::styled(format!("{text:<5}"), style));
    }
    spans
}

/// How long ago it was, in the largest unit.
fn age_words(age: Duration) -> String {
    const UNITS: [(u64, &str); 6] = [
        (365 * 86400, "y"),
        (7 * 86400, "w"),
        (86400, "d"),
        (3600, "h"),
        (60, "m"),
        (1, "s"),
    ];
    let seconds = age.as_secs();
    let unit = UNITS.iter().find(|(length, _)| seconds >= *length);
    unit.map_or_else(
        || "now".to_owned(),
        |(length, unit)| format!("{}{unit} ago", (seconds / length).min(999)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let age = |seconds| age_words(Duration::from_secs(seconds));
        assert_eq!(
            [
                age(0),
                age(59),
                age(7200),
                age(86400 * 13),
                age(86400 * 800)
            ],
            ["now", "59s ago", "2h ago", "1w ago", "2y ago"]
        );
    }

    #[test]
    fn a_narrow_list_keeps_what_matters_and_a_wide_one_has_all() {
        let names = |width| -> Vec<&str> {
            let all = COLUMN_NAMES.map(|(id, _)| id);
            let columns = fit(&all, Id::When, width).into_iter();
            columns.map(|(column, _)| column.title).collect()
        };
        assert_eq!(names(38), ["when", "findings", "title"]);
        assert_eq!(names(79), ["when", "findings", "turns", "file", "title"]);
        assert_eq!(names(200).len(), 10);
        let all = COLUMN_NAMES.map(|(id, _)| id);
        let by_size = fit(&all, Id::Size, 60).into_iter();
        assert!(
            by_size
                .map(|(column, _)| column.id)
                .any(|id| id == Id::Size)
        );
        for width in 0..200 {
            let all = COLUMN_NAMES.map(|(id, _)| id);
            let used: usize = fit(&all, Id::When, width)
                .iter()
                .map(|(_, width)| width + 1)
                .sum();
            assert!(used <= width, "{used} of {width}");
        }
    }
}
