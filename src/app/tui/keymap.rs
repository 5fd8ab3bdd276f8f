//! The one table of keys. The keys that work, the footer, the help and the table of the README are all read
//! from it. Its rows stand in four places: here those of the panes, in [`lab`], [`exchanges`] and [`layers`] the
//! others.

mod context;
pub mod exchanges;
mod group;
pub mod hints;
pub mod lab;
pub mod layers;
pub mod settings;

pub use context::Context;
pub use group::Group;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::sync::{LazyLock, OnceLock};

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Step(Direction),
    HalfPage(Direction),
    Page(Direction),
    Edge(Direction),
    Turn(Direction),
    Unfold,
    Fold,
    Toggle,
    FoldAll(bool),
    Finding(Direction),
    Error(Direction),
    Partner,
    Find,
    Hit(Direction),
    SameTool,
    Filter,
    /// A text in the contents of all recordings.
    Contents,
    Mark,
    OnlyMarked,
    NextPane(Direction),
    Pane(u8),
    /// The focused pane over the whole screen, or all panes.
    ZoomPane,
    /// A wider detail, or a narrower one.
    Resize(Direction),
    Open,
    View,
    Transcript,
    Lab,
    Recover(&'static str),
    /// All that is safe to apply in the session, as one take.
    FixAll,
    EditJson,
    Undo,
    Redo,
    Fork,
    Takes,
    SaveAs,
    Note,
    Health,
    /// Why the finding at the cursor is one.
    Explain,
    /// Where tokens and time went.
    Usage,
    Timeline,
    /// Shows a shorter part of the timeline, or a longer one.
    Zoom(Direction),
    /// Shows a later part of the timeline, or an earlier one.
    Pan(Direction),
    Intercept,
    Views,
    Break,
    Breakpoints,
    StepRun,
    Continue,
    PauseRun,
    Abort,
    Always,
    Follow,
    Log,
    Picture,
    Copy,
    Editor,
    Palette,
    Help,
    Back,
    Close,
    Quit,
    Suspend,
    Redraw,
    NextTheme,
    Leave,
    Accept,
    Choose,
    OtherPart,
    /// The next of the values that are allowed.
    NextChoice,
    LineBreak,
    OtherAnswer,
    Preview(Direction),
    Yes,
    No,
    Reword,
    Difference(Direction),
    Compare,
    Rename,
    Value(Direction),
    Change,
    Enable,
    Once,
    Delete,
    Add,
    Complete,
    Type,
    Release,
    ReleaseAll,
    Cut,
    Replay,
    BothViews,
    Held(Direction),
    Connect,
    Child,
    Begin,
    Include,
    Channel,
    Words,
    More,
    Sort,
    /// Turns the order around.
    Reverse,
    Group,
    /// Shows or hides unreadable files.
    Unread,
    /// Looks for new and changed files.
    Renew,
    Winner,
    Trial(Direction),
}

/// Towards the end or towards the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

impl Direction {
    /// Whether it leads towards the end.
    pub fn is_forward(self) -> bool {
        self == Self::Forward
    }
}

/// The event of the key that the table calls by this name; shift is in the character already.
pub(crate) fn event(name: &str) -> Option<KeyEvent> {
    let mut characters = name.chars();
    let plain = |code| Some(KeyEvent::new(code, KeyModifiers::NONE));
    match (characters.next(), characters.next(), characters.next()) {
        (Some(only), None, None) => plain(KeyCode::Char(only)),
        (Some('^'), Some(letter), None) => {
            Some(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL))
        }
        _ => named(name).and_then(plain),
    }
}

/// Whether two events are the same key. Terminals differ in what they say of shift, and of
/// capital letters with control.
fn is_same_key(one: &KeyEvent, other: &KeyEvent) -> bool {
    let control = |event: &KeyEvent| event.modifiers.contains(KeyModifiers::CONTROL);
    let code = |event: &KeyEvent| match event.code {
        KeyCode::Char(letter) if control(event) => KeyCode::Char(letter.to_ascii_lowercase()),
        code => code,
    };
    control(one) == control(other) && code(one) == code(other)
}

/// The keys that have a name of more than one letter.
fn named(name: &str) -> Option<KeyCode> {
    let code = match name {
        "space" => KeyCode::Char(' '),
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "PgUp" => KeyCode::PageUp,
        "PgDn" => KeyCode::PageDown,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "tab" => KeyCode::Tab,
        "S-tab" => KeyCode::BackTab,
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "del" => KeyCode::Delete,
        "insert" => KeyCode::Insert,
        "backspace" => KeyCode::Backspace,
        _ => {
            let number = name.strip_prefix('F')?.parse().ok()?;
            return (1..=12).contains(&number).then_some(KeyCode::F(number));
        }
    };
    Some(code)
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// The keys as people read them, `^d` with control, with spaces between; the first one is
    /// named in the footer.
    pub keys: &'static str,
    pub command: Command,
    pub contexts: &'static [Context],
    /// Where they stand in the help.
    pub group: Group,
    /// What they do, for people.
    pub help: &'static str,
    /// What the footer says, and how much that matters there; 0 keeps it out except where a finding offers it.
    pub footer: (u8, &'static str),
    /// Other names for the palette, as gdb's.
    pub aliases: &'static [&'static str],
    /// Whether it ends or throws away something.
    pub is_destructive: bool,
}

/// A row of the table, for the palette and for the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyEntry {
    /// What it does: `next finding`.
    pub title: &'static str,
    /// Its key as the operator reads it: `]`, `^d`, `enter`. Empty where it has none.
    pub key: &'static str,
    /// Its heading in the help: `move`, `recover`.
    pub group: &'static str,
    /// Other names, as gdb's: `next`, `finish`.
    pub aliases: &'static [&'static str],
    /// Whether it ends or throws away something: such a command is chosen only when its name was typed.
    pub is_destructive: bool,
}

use Command as C;
use Context::{Browse, Detail, Exchanges, LabForm, LabSamples, LabTable, List, Overlay, Picker};
use Direction::{Backward, Forward};

#[rustfmt::skip]
const EVERYWHERE: &[Context] = &[Browse, Detail, List, Overlay, Picker, Exchanges, LabForm, LabTable, LabSamples];
const DEBUGGER: &[Context] = &[Browse, Detail, List, Overlay];
const PANES: &[Context] = &[Browse, Detail, List];
const HISTORY: &[Context] = &[Browse, Detail];

const fn row(
    keys: &'static str,
    command: Command,
    contexts: &'static [Context],
    group: Group,
    help: &'static str,
) -> Binding {
    Binding {
        keys,
        command,
        contexts,
        group,
        help,
        footer: (0, ""),
        aliases: &[],
        is_destructive: false,
    }
}

impl Binding {
    const fn in_footer(mut self, weight: u8, words: &'static str) -> Self {
        self.footer = (weight, words);
        self
    }

    const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn destructive(mut self) -> Self {
        self.is_destructive = true;
        self
    }

    /// The row for the palette and the help.
    fn described(&self) -> KeyEntry {
        KeyEntry {
            title: self.help,
            key: self.keys,
            group: self.group.title(),
            aliases: self.aliases,
            is_destructive: self.is_destructive,
        }
    }

    /// Whether it has a key.
    pub fn has_key(&self) -> bool {
        !self.keys.is_empty()
    }

    fn works_in(&self, contexts: &[Context]) -> bool {
        self.contexts.iter().any(|it| contexts.contains(it))
    }

    fn is_pressed(&self, event: &KeyEvent) -> bool {
        let mut keys = self.keys.split(' ').filter_map(self::event);
        keys.any(|key| is_same_key(&key, event))
    }

    /// The key that the footer names.
    pub fn first_key(&self) -> &'static str {
        self.keys.split(' ').next().unwrap_or_default()
    }
}

#[rustfmt::skip]
pub const KEYMAP: &[Binding] = &[
    row("j down", C::Step(Forward), EVERYWHERE, Group::Move, "down"),
    row("k up", C::Step(Backward), EVERYWHERE, Group::Move, "up"),
    row("^d", C::HalfPage(Forward), EVERYWHERE, Group::Move, "half a page down"),
    row("^u", C::HalfPage(Backward), EVERYWHERE, Group::Move, "half a page up"),
    row("PgDn ^f", C::Page(Forward), EVERYWHERE, Group::Move, "a page down"),
    row("PgUp ^b", C::Page(Backward), EVERYWHERE, Group::Move, "a page up"),
    row("g home", C::Edge(Backward), EVERYWHERE, Group::Move, "to the top"),
    row("G end", C::Edge(Forward), EVERYWHERE, Group::Move, "to the bottom"),
    row("enter l right", C::Open, &[Picker], Group::Recordings, "open the recording; in the filter: keep the filter")
        .in_footer(90, "open"),
    row("/ f", C::Filter, &[Picker], Group::Recordings, "filter the recordings: ? in it shows the words and fields")
        .in_footer(80, "filter"),
    row("s", C::Sort, &[Picker], Group::Recordings, "sort by time, size, findings, tokens, cost or name")
        .in_footer(70, "sort"),
    row("S", C::Reverse, &[Picker], Group::Recordings, "reverse the order"),
    row("F", C::Contents, &[Picker], Group::Recordings,
        "find a text or /expression/ in the contents of the listed recordings").in_footer(75, "contents"),
    row("tab", C::Group, &[Picker], Group::Recordings, "group by project folder, by agent, or not at all")
        .in_footer(60, "group"),
    row(".", C::Unread, &[Picker], Group::Recordings, "show or hide unreadable files"),
    row("R F5", C::Renew, &[Picker], Group::Recordings,
        "look for new and changed files; while the list is shown, it does so by itself").alias(&["refresh", "reload"]),
    row("space", C::Toggle, &[Picker], Group::Recordings, "preview of the first and last messages, or more rows")
        .in_footer(50, "preview"),
    row("J", C::Turn(Forward), HISTORY, Group::Move, "next turn").alias(&["until"]),
    row("K", C::Turn(Backward), HISTORY, Group::Move, "previous turn"),
    row("l right", C::Unfold, HISTORY, Group::Tree, "unfold the turn; then go right"),
    row("h left", C::Fold, HISTORY, Group::Tree, "fold the turn; else go left"),
    row("space", C::Toggle, &[Browse], Group::Tree, "fold or unfold the turn"),
    row("=", C::FoldAll(true), HISTORY, Group::Tree, "unfold all turns").alias(&["expand"]),
    row("-", C::FoldAll(false), HISTORY, Group::Tree,
        "fold all turns; in the transcript, where all are folded: one line each, or a few").alias(&["collapse"]),
    row("]", C::Finding(Forward), PANES, Group::Findings, "next finding").in_footer(90, "finding").alias(&["next"]),
    row("[", C::Finding(Backward), PANES, Group::Findings, "previous finding"),
    row("}", C::Error(Forward), PANES, Group::Findings, "next error").alias(&["find error"]),
    row("{", C::Error(Backward), PANES, Group::Findings, "previous error"),
    row("!", C::Explain, PANES, Group::Findings,
        "explain the finding: its message in full, what the provider says, what to do")
        .alias(&["explain", "why", "describe"]),
    row("%", C::Partner, PANES, Group::Findings, "from a call to its result and back")
        .in_footer(80, "pair").alias(&["finish"]),
    row("/", C::Find, PANES, Group::Find, "find a text, or /expression/: a regular expression between slashes")
        .in_footer(70, "find").alias(&["search", "grep"]),
    row("/", C::Find, &[Overlay], Group::Find, "in a full-screen text: only the lines with a text or /expression/"),
    row("n", C::Hit(Forward), PANES, Group::Find, "next hit"),
    row("N", C::Hit(Backward), PANES, Group::Find, "previous hit"),
    row("*", C::SameTool, PANES, Group::Find, "next item of the same tool"),
    row("f", C::Filter, PANES, Group::Find, "filter the items: ? in it shows the words and fields")
        .in_footer(50, "filter"),
    row("m", C::Mark, PANES, Group::Find, "mark the item").alias(&["bookmark"]),
    row("'", C::Note, PANES, Group::Find, "write a note on the item").alias(&["comment", "annotate"]),
    row("M", C::OnlyMarked, PANES, Group::Find, "only items with a mark or a note, or all"),
    row("tab", C::NextPane(Forward), PANES, Group::Panes, "next pane").in_footer(60, "pane"),
    row("S-tab", C::NextPane(Backward), PANES, Group::Panes, "previous pane"),
    row("1", C::Pane(0), PANES, Group::Panes, "turns"),
    row("2", C::Pane(1), PANES, Group::Panes, "items of the turn"),
    row("3", C::Pane(2), PANES, Group::Panes, "the item in full").alias(&["print", "list"]),
    row("4", C::Pane(3), PANES, Group::Panes, "all findings")
        .in_footer(40, "list findings").alias(&["backtrace", "bt", "where", "problems", "issues"]),
    row("5 S", C::Pane(4), PANES, Group::Panes, "the sessions of the file")
        .alias(&["info threads", "info inferiors", "sub-agents", "agents", "tasks"]),
    row("z", C::ZoomPane, PANES, Group::Panes, "the pane over the whole screen, or all panes")
        .alias(&["zoom", "maximize", "full screen"]),
    row("<", C::Resize(Forward), PANES, Group::Panes, "wider detail").alias(&["resize", "wider"]),
    row(">", C::Resize(Backward), PANES, Group::Panes, "narrower detail").alias(&["narrower"]),
    row("|", C::Transcript, PANES, Group::Panes, "the transcript in one view, or columns")
        .alias(&["layout", "columns"]),
    row("t", C::View, PANES, Group::Panes, "pretty, unescaped or raw").alias(&["json", "source"]),
    row("enter", C::Open, PANES, Group::Recover, "fixes for the finding; in lists: open")
        .in_footer(85, "fixes").alias(&["fix", "repair"]),
    row("enter", C::Open, &[Overlay], Group::Totals,
        "in the totals: go to the turn, the call or the sub-agent; esc comes back"),
    row("+ =", C::Zoom(Forward), &[Overlay], Group::Timeline, "in the timeline: zoom in on the bar under the cursor"),
    row("-", C::Zoom(Backward), &[Overlay], Group::Timeline, "in the timeline: zoom out"),
    row("l right", C::Pan(Forward), &[Overlay], Group::Timeline, "in the timeline: later"),
    row("h left", C::Pan(Backward), &[Overlay], Group::Timeline, "in the timeline: earlier"),
    row("o", C::Sort, &[Overlay], Group::Totals, "in the totals: sort by cost, time or size"),
    row("i", C::Recover("inject-error"), PANES, Group::Recover,
        "inject an error that the model can read; reject a call").in_footer(84, "inject"),
    row("r", C::Recover("retry"), PANES, Group::Recover, "retry the turn; a call that may have run: run it again")
        .in_footer(0, "retry").alias(&["rerun", "again"]),
    row("a", C::Recover("fallback"), PANES, Group::Recover,
        "accept a fallback; live: release what is held, decide about an approval").in_footer(0, "fallback"),
    row("s", C::Recover("take-suggestion"), PANES, Group::Recover, "take the suggestion").in_footer(0, "suggestion"),
    row("R", C::Recover("repair-arguments"), PANES, Group::Recover, "repair the arguments").in_footer(0, "repair"),
    row("e", C::Recover("edit"), PANES, Group::Recover, "edit the item").in_footer(0, "edit").alias(&["set"]),
    row("E", C::EditJson, PANES, Group::Recover, "edit the item as JSON"),
    row("o", C::Recover("supply-output"), PANES, Group::Recover,
        "supply the output; in the transcript, where none is missing: the totals").in_footer(0, "output"),
    row("x", C::Recover("drop-pair"), PANES, Group::Recover, "drop the pair")
        .in_footer(0, "drop").destructive().alias(&["delete", "remove"]),
    row("Y", C::FixAll, DEBUGGER, Group::Recover,
        "apply all safe fixes of the session: shows them first; one take, one undo")
        .in_footer(83, "fix all").alias(&["fix all", "repair all", "safe fixes", "autofix"]),
    row("u", C::Undo, PANES, Group::Recover, "undo: back to the previous take").alias(&["reverse-step", "revert"]),
    row("^r", C::Redo, PANES, Group::Recover, "redo: forward to the next take"),
    row("D", C::Fork, PANES, Group::Recover,
        "fork here: a take that ends after this item (in the transcript: and the results of its calls), or in the list of turns after this turn")
        .alias(&["branch"]),
    row("T", C::Takes, PANES, Group::Recover, "the takes and their differences")
        .alias(&["diff", "compare", "history", "versions"]),
    row("W", C::Lab, PANES, Group::Recover, "the wording lab: which words help the model, counted over many samples")
        .alias(&["lab", "wording lab", "compare wordings", "experiment"]),
    row("I", C::Intercept, PANES, Group::Live, "switch the proxy's interception on or off"),
    row("v", C::Views, PANES, Group::Live, "exchange: what the agent sees, or what the provider sees"),
    row("V", C::BothViews, PANES, Group::Live, "exchange: what the agent sees beside what the provider sees")
        .alias(&["side by side", "diff"]),
    row("b", C::Break, PANES, Group::Live, "set a breakpoint on the item under the cursor")
        .alias(&["break", "b", "tbreak"]),
    row("B", C::Breakpoints, PANES, Group::Live, "all breakpoints: on or off, once, delete, add")
        .alias(&["info breakpoints", "info b", "delete", "disable", "enable"]),
    row(".", C::StepRun, PANES, Group::Live, "step: one model request, or the tools of one reply")
        .in_footer(0, "step").alias(&["step", "s", "stepi"]),
    row("c", C::Continue, PANES, Group::Live, "continue; in a recording: continue live from this take")
        .in_footer(0, "continue").alias(&["continue", "c", "cont", "run", "resume", "replay"]),
    row("p", C::PauseRun, PANES, Group::Live, "pause the run before its next step")
        .in_footer(0, "pause").alias(&["interrupt"]),
    row("X", C::Abort, PANES, Group::Live, "abort the run; open calls are closed")
        .in_footer(0, "abort").alias(&["kill", "abort"]).destructive(),
    row("A", C::Always, PANES, Group::Live, "always approve this tool; release a fault unchanged")
        .in_footer(0, "release").alias(&["release", "approve"]),
    row("F", C::Follow, PANES, Group::Live, "follow the file or the run as it grows")
        .in_footer(20, "follow").alias(&["tail", "watch", "reload"]),
    row("H", C::Health, DEBUGGER, Group::Findings, "tool health: calls, errors, rates")
        .alias(&["info tools", "failures"]),
    row("U", C::Usage, DEBUGGER, Group::Totals,
        "where tokens, money and time went: by tool, by turn, the largest results")
        .alias(&["tokens", "totals", "usage", "stats", "cost", "expensive", "price", "money", "spending", "budget"]),
    row("Z", C::Timeline, DEBUGGER, Group::Timeline, "the run as bars over time: model, tools, waiting")
        .alias(&["timeline", "duration", "slow", "latency", "time"]),
    row("L", C::Log, DEBUGGER, Group::Files, "the events of the run, and read errors").alias(&["info log", "events"]),
    row("P", C::Picture, PANES, Group::Files, "show or save the images of the item").alias(&["image", "pictures"]),
    row("y", C::Copy, PANES, Group::Files, "copy").alias(&["yank", "clipboard"]),
    row("^e", C::Editor, PANES, Group::Files, "open the item in $EDITOR"),
    row("w", C::SaveAs, PANES, Group::Files, "save as").alias(&["export", "write", "convert", "html"]),
    row(": ^p", C::Palette, PANES, Group::Program, "all commands by name; a number goes to that turn, #40 to item 40")
        .alias(&["jump", "goto", "go to turn"]),
    row(": ^p", C::Palette, &[Picker], Group::Program, "all commands by name; a number goes to that recording"),
    row("? F1", C::Help, EVERYWHERE, Group::Program, "the keys")
        .in_footer(100, "help").alias(&["help", "shortcuts", "bindings"]),
    row("esc", C::Back, EVERYWHERE, Group::Program, "back"),
    row("q", C::Close, EVERYWHERE, Group::Program, "close; at the top level quit")
        .in_footer(95, "quit").alias(&["exit", "quit!"]).destructive(),
    row("Q ^c", C::Quit, EVERYWHERE, Group::Program, "quit").alias(&["exit", "quit!"]).destructive(),
    row("^z", C::Suspend, EVERYWHERE, Group::Program, "suspend"),
    row("^l", C::Redraw, EVERYWHERE, Group::Program, "redraw the screen"),
    row("^t", C::NextTheme, EVERYWHERE, Group::Program, "next theme; `theme` in config.toml keeps one")
        .alias(&["theme", "colours", "colors", "settings", "config", "dark", "light"]),
];

static DEFAULTS: LazyLock<Vec<Binding>> =
    LazyLock::new(|| [KEYMAP, lab::LAB, layers::LAYERS, exchanges::EXCHANGES].concat());
/// The rows with the keys that the operator chose.
static CHOSEN: OnceLock<Vec<Binding>> = OnceLock::new();

#[cfg(test)]
thread_local! {
    /// The rows that a test chose for itself.
    pub(crate) static CHOSEN_HERE: std::cell::Cell<Option<&'static [Binding]>> =
        const { std::cell::Cell::new(None) };
}

/// Every row as retake comes: those of the panes first.
pub fn defaults() -> &'static [Binding] {
    &DEFAULTS
}

/// Every row as it holds.
pub fn rows() -> impl DoubleEndedIterator<Item = &'static Binding> {
    #[cfg(test)]
    if let Some(chosen) = CHOSEN_HERE.get() {
        return chosen.iter();
    }
    CHOSEN.get().unwrap_or(&DEFAULTS).iter()
}

/// From now on these rows hold, in the order of the defaults. Later calls change nothing.
pub fn choose(rows: Vec<Binding>) {
    // The first choice stays.
    let _ = CHOSEN.set(rows);
}

pub fn command(context: Context, event: &KeyEvent) -> Option<Command> {
    Some(binding(context, event)?.command)
}

/// The row of a key in a place.
pub fn binding(context: Context, event: &KeyEvent) -> Option<&'static Binding> {
    let mut here = rows().filter(|row| row.contexts.contains(&context));
    here.find(|row| row.is_pressed(event))
}

/// What the footer may say here, what matters most first.
pub fn footer(context: Context) -> Vec<&'static Binding> {
    let here =
        rows().filter(|row| row.footer.0 > 0 && row.has_key() && row.contexts.contains(&context));
    let mut here: Vec<_> = here.collect();
    here.sort_by_key(|row| std::cmp::Reverse(row.footer.0));
    here
}

pub fn key_of(command: Command) -> Option<KeyEvent> {
    let row = rows().find(|row| row.command == command)?;
    event(row.first_key())
}

/// What keys do, for a message: `u undoes it, w saves it`. One that the operator gave no key is left out.
pub fn ways(commands: &[(Command, &str)]) -> String {
    let ways = commands.iter().filter_map(|(command, words)| {
        let row = rows().find(|row| row.command == *command && row.has_key())?;
        Some(format!("{} {words}", row.first_key()))
    });
    ways.collect::<Vec<_>>().join(", ")
}

/// A message that ends with `: ` or `; `, and after that what keys do next.
pub fn with_ways(message: &str, commands: &[(Command, &str)]) -> String {
    match &*ways(commands) {
        "" => message.trim_end_matches([':', ';', ' ']).to_owned(),
        ways => format!("{message}{ways}"),
    }
}

/// What the footer says of an action that a finding offers; `None` where no key is bound to it.
pub fn recovery(action: &str) -> Option<&'static Binding> {
    let is_meant =
        |binding: &&Binding| matches!(binding.command, Command::Recover(id) if id == action);
    rows().find(is_meant)
}

/// What can be done in these places, for a palette: what is done nowhere else first.
pub fn commands_of(contexts: &[Context]) -> Vec<(KeyEntry, Command)> {
    let mut rows: Vec<_> = rows().filter(|row| row.works_in(contexts)).collect();
    rows.sort_by_key(|row| match row.group {
        Group::Exchanges => 0,
        Group::Lab => 1,
        // What everybody does with the arrow keys is not looked for by name.
        Group::Move => 4,
        Group::Tree | Group::Panes => 3,
        _ => 2,
    });
    let rows = rows.into_iter();
    rows.map(|row| (row.described(), row.command)).collect()
}

/// The keys that work in one of these places, for the help, by group.
pub fn keys_of(contexts: &[Context], has_use: impl Fn(Command) -> bool) -> Vec<KeyEntry> {
    let rows = rows().filter(|row| row.has_key() && row.works_in(contexts) && has_use(row.command));
    let mut keys: Vec<_> = rows.map(Binding::described).collect();
    sort_by_group(&mut keys);
    keys
}

fn sort_by_group(keys: &mut [KeyEntry]) {
    let place = |key: &KeyEntry| Group::ALL.iter().position(|(_, title)| *title == key.group);
    keys.sort_by_key(place);
}

/// Every key, for the help: those of the panes and those of what lies over them, by group; what is the same in several
/// places of a group once.
pub fn all_keys() -> Vec<KeyEntry> {
    let mut keys: Vec<KeyEntry> = Vec::new();
    for key in rows().filter(|row| row.has_key()).map(Binding::described) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    sort_by_group(&mut keys);
    keys
}

/// The keys as the table of `retake help keys`.
pub fn markdown_table() -> String {
    let mut table = String::from("| | keys | |\n|---|---|---|\n");
    let mut last = "";
    for binding in all_keys() {
        let keys: Vec<String> = binding
            .key
            .split(' ')
            .map(|key| format!("`{}`", key.replace('|', "\\|")))
            .collect();
        let title = if binding.group == last {
            ""
        } else {
            binding.group
        };
        last = binding.group;
        table.push_str(&format!(
            "| {title} | {} | {} |\n",
            keys.join(" "),
            binding.title
        ));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_in_one_place() {
        let rows: Vec<_> = rows().collect();
        for (number, binding) in rows.iter().enumerate() {
            for other in &rows[..number] {
                let mut contexts = binding.contexts.iter();
                let shares_place = contexts.any(|context| other.contexts.contains(context));
                let mut keys = binding.keys.split(' ');
                let shares_key = keys.any(|key| other.keys.split(' ').any(|other| other == key));
                assert!(!(shares_place && shares_key), "{binding:?} {other:?}");
            }
        }
    }

    #[test]
    fn every_place_can_be_left() {
        let esc = event("esc").unwrap();
        for context in rows().flat_map(|row| row.contexts) {
            let left = command(*context, &esc);
            let leaves = matches!(left, Some(Command::Leave | Command::Back));
            assert!(leaves, "{context:?}");
        }
    }

    #[test]
    fn shift_and_control_are_read_as_terminals_send_them() {
        let pressed = |code, modifiers| command(Browse, &KeyEvent::new(code, modifiers));
        assert_eq!(
            pressed(KeyCode::Char('G'), KeyModifiers::SHIFT),
            Some(Command::Edge(Forward))
        );
        assert_eq!(
            pressed(KeyCode::Char('d'), KeyModifiers::CONTROL),
            Some(Command::HalfPage(Forward))
        );
        assert_eq!(
            pressed(KeyCode::BackTab, KeyModifiers::SHIFT),
            Some(Command::NextPane(Backward))
        );
    }

    #[test]
    fn every_key_stands_in_the_table_of_the_readme() {
        let table = markdown_table();
        for binding in all_keys() {
            assert!(table.contains(binding.title), "{binding:?}");
        }
    }
}
