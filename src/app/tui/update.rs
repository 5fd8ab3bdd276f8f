//! What happens next: a message changes the state and asks for effects. No terminal, no files, no clock.

mod arrive;
mod exchange;
mod lab;
mod layers;
mod live;
mod motion;
mod mouse;
mod recover;
mod search;
mod takes;

pub use exchange::hear as exchange;
pub use layers::health as health_of_history;
pub use live::{LiveCommand, answer_trust, approve, edit_call, enable_tool, reject};
pub use recover::edited;
pub use search::{Counting, Paths, Search, Sifting};
pub use takes::TakesReport;

use super::keymap::{self, Command, Context};
use super::lab::Subject;
use super::layer::{Input, Screen as _};
use super::live::trust::TrustRequest;
use super::palette::{Choice, Palette};
use super::state::document::{Checked, Document, Place};
use super::state::layout::{Pane, WIDE};
use super::state::live::AgentInfo;
use super::state::tree::Shown;
use super::state::{Follow, State};
use crossterm::event::{KeyEvent, KeyEventKind, MouseEvent};
use retake_core::engine::Millis;
use retake_core::session::ledger::LedgerEvent;
use retake_core::session::takes::Take;
use retake_core::session::{Edit, Span};
use retake_live::live::News;
use retake_live::proxy;
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Debug)]
pub enum Message {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    /// The terminal has another size: columns and rows.
    Resize(u16, u16),
    /// It is so late; told before whatever happens then.
    Now(Millis),
    /// News of the file.
    Report(Report),
}

/// News of the file.
#[derive(Debug)]
pub enum Report {
    /// So many bytes of so many are read.
    Progress {
        /// Bytes that are read.
        done: u64,
        total: u64,
    },
    /// The end of the file, read on its own.
    Tail(Arc<Document>),
    Whole(Arc<Document>),
    /// The rules have seen a session.
    Checked {
        /// The document with the session; what is said of one that is no longer shown counts for nothing.
        document: Arc<Document>,
        /// Index of the session.
        session: usize,
        checked: Arc<Checked>,
    },
    /// The rules have seen everything in this document.
    Finished(Arc<Document>),
    /// News of the takes.
    Takes(TakesReport),
    /// News of the live run.
    Live(News),
    /// What happened in a run before the file was opened, and when, in milliseconds since 1970; 0 where
    /// that was not told.
    Past(Box<LedgerEvent>, u64),
    /// The agent that runs, or is to run.
    Agent(Box<AgentInfo>),
    /// So many items has the request that a live run begins with.
    Asked(usize),
    /// The breakpoints that a run begins with.
    Breakpoints(Vec<retake_core::engine::Breakpoint>),
    /// The file of the agent that ran here last.
    PastAgent(String),
    /// An agent's file has to be trusted before anything of it runs.
    Trust(TrustRequest),
    /// The file has grown; what is shown from now on. Its numbers are right, its findings are not known yet.
    Grown(Arc<Document>),
    /// On which lines problems stand, by their byte.
    Lines(HashMap<u64, u64>),
    /// Something for the operator to read.
    Notice(String),
    Failed(String),
    /// Which items the filter lets through.
    Sifted {
        /// The document that was asked; what is said of one that is no longer shown counts for nothing.
        document: Arc<Document>,
        /// Index of the session.
        session: usize,
        shown: Arc<Shown>,
        /// Whether the filter is still being typed.
        is_preview: bool,
    },
    /// A search ended; the item with the text, and whether it was searched for from the other end again.
    Found(Option<(Place, bool)>),
    /// More items with the text that is searched for, in the order of their bytes; whether there are no others.
    Counted(Counting, Vec<Place>, bool),
    /// What a path can be completed to.
    Paths(Paths),
}

/// A take to be made.
#[derive(Debug)]
pub struct Order {
    /// What the edits were planned for.
    pub document: Arc<Document>,
    /// Index of the session.
    pub session: usize,
    pub edits: Vec<Edit>,
    /// Why; its parent and its splices are filled in where the take is made.
    pub about: Take,
}

/// Something to be done to the takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakesCommand {
    /// Go back to the take that the current one branches off.
    Undo,
    /// Go down again to where undo came from.
    Redo,
    /// Go to the take of this number.
    GoTo(u32),
    Compare(u32, u32),
    /// Write a note on a take.
    NoteTake(u32, String),
    /// Call a take so.
    Rename(u32, String),
    /// Write a note on the item with these bytes.
    NoteItem {
        /// The first byte of the item.
        at: u64,
        bytes: Vec<u8>,
        text: String,
    },
    /// Mark the item with these bytes, or take the mark away.
    Mark {
        /// The first byte of the item.
        at: u64,
        bytes: Vec<u8>,
        /// Whether it is marked.
        set: bool,
    },
    /// Say in what formats the take can be saved.
    Formats(usize),
    Save {
        /// Index of the session.
        session: usize,
        path: String,
        /// Id of the format.
        format: &'static str,
        /// Whether a file that is there may be replaced.
        force: bool,
    },
}

/// Something to be done outside.
#[derive(Debug)]
pub enum Effect {
    Quit,
    Close,
    /// Give the terminal back until the shell calls again.
    Suspend,
    Redraw,
    /// Read the end of the file, now.
    ReadTail,
    /// Watch the file, or stop watching it.
    Watch(bool),
    /// Show bytes of the file in the editor.
    Edit(Span),
    /// Give words to the editor and take them over.
    EditWords(String),
    Take(Box<Order>),
    /// Do something to the takes.
    Takes(TakesCommand),
    /// Do something to the live run.
    Live(LiveCommand),
    /// Open the wording lab for a finding.
    Lab(Box<Subject>),
    /// Tell the proxy whose exchange this is.
    Proxy(proxy::Command),
    /// Look for a text.
    Search(Search),
    /// Count the items with a text.
    Count(Counting),
    Sift(Sifting),
    /// Say what a path can be completed to; an empty one: which agent's file lies beside the recording.
    Complete(String),
    /// Put bytes on the clipboard.
    Copy(Vec<u8>),
    /// Drop what may take a while to drop.
    Discard(Arc<Document>),
}

pub fn update(state: &mut State, message: Message) -> Vec<Effect> {
    match message {
        Message::Key(key) if key.kind == KeyEventKind::Release => {}
        Message::Key(key) => press(state, key),
        Message::Mouse(event) => mouse::mouse(state, event),
        Message::Paste(text) => drop(state.give_to_layers(Input::Paste(&text))),
        Message::Resize(width, height) => state.size = (width, height),
        Message::Now(now) => state.now = now,
        Message::Report(report) => arrive::arrive(state, report),
    }
    std::mem::take(&mut state.effects)
}

/// The context that the footer and the keys are read for.
pub fn context(state: &State) -> Context {
    match state.has_overlay() {
        true => Context::Overlay,
        false => state.context(),
    }
}

fn press(state: &mut State, key: KeyEvent) {
    if takes::keep_key(state, &key) {
        return;
    }
    state.notice = None;
    state.recovery.awaited = None;
    if state.give_to_layers(Input::Key(key)) {
        exchange::leave_what_is_over(state);
    } else if let Some(command) = keymap::command(context(state), &key) {
        obey(state, command);
    }
}

/// Does what a command says.
pub fn obey(state: &mut State, command: Command) {
    if exchange::obey(state, command) {
        return;
    }
    match command {
        Command::Step(_)
        | Command::HalfPage(_)
        | Command::Page(_)
        | Command::Edge(_)
        | Command::Turn(_)
        | Command::Unfold
        | Command::Fold
        | Command::Toggle
        | Command::FoldAll(_)
        | Command::Finding(_)
        | Command::Error(_)
        | Command::Partner
        | Command::SameTool => motion::motion(state, command),
        Command::Find => layers::find(state),
        Command::Hit(direction) => layers::next_hit(state, direction),
        Command::Filter => layers::filter(state),
        Command::Copy => layers::copy(state),
        Command::Palette => palette(state),
        Command::Mark => takes::mark(state),
        Command::OnlyMarked => {
            only_marked(state);
        }
        Command::NextPane(direction) => {
            motion::next_pane(state, direction.is_forward());
        }
        Command::Pane(number) => {
            if let Some(pane) = Pane::ALL.get(usize::from(number)) {
                motion::focus(state, *pane);
            }
        }
        Command::Open => open(state),
        Command::View => {
            state.detail.mode = state.detail.mode.next();
        }
        // Where there is no exchange, that is told above.
        Command::Intercept | Command::Views => {}
        Command::Lab => lab::begin(state),
        Command::Recover(action) => {
            let is_of_run = live::recover(state, action);
            if !is_of_run {
                recover::begin(state, action);
            }
        }
        Command::Break
        | Command::Breakpoints
        | Command::StepRun
        | Command::Continue
        | Command::PauseRun
        | Command::Abort
        | Command::Always => live::obey(state, command),
        Command::Undo => takes::ask(state, TakesCommand::Undo),
        Command::Redo => takes::ask(state, TakesCommand::Redo),
        Command::Fork => takes::fork(state),
        Command::Takes => takes::tree(state),
        Command::SaveAs => takes::ask(state, TakesCommand::Formats(state.session)),
        Command::Note => takes::ask_for_note(state),
        Command::Follow => follow(state),
        Command::Log => layers::log(state),
        Command::Health => live::health(state),
        Command::Help => state.open_help(),
        Command::Editor => {
            let edit = state.item().map(|item| Effect::Edit(item.span));
            state.effects.extend(edit);
        }
        Command::Back => {
            layers::back(state);
        }
        Command::Close if layers::back_from_list(state) => {}
        Command::Close | Command::Quit => takes::ask_to_leave(state, command),
        Command::Suspend => state.effects.push(Effect::Suspend),
        Command::Redraw => state.effects.push(Effect::Redraw),
        // Of layers and of other screens.
        _ => {}
    }
}

fn palette(state: &mut State) {
    let panes = [Context::Browse, Context::Detail, Context::List];
    let commands = keymap::commands_of(&panes).into_iter();
    let commands = commands.filter(|(_, command)| state.has_use(*command));
    let (rows, commands): (Vec<_>, Vec<_>) = commands.unzip();
    let palette = Palette::new(&rows, "a turn");
    state.open(palette, move |state, _, choice| match choice {
        Choice::Chosen(number) => obey(state, commands[number]),
        Choice::Number(number) => motion::go_to_turn(state, number),
    });
}

fn only_marked(state: &mut State) {
    if state.only_marked {
        state.show_all();
    } else if state.marks.is_empty() {
        state.notice = Some("nothing is marked: m marks the item".to_owned());
    } else {
        state.only_marked = true;
        state.show_marked();
        motion::stay_in_sight(state);
    }
}

fn open(state: &mut State) {
    match state.focus {
        Pane::Findings => {
            motion::focus(state, Pane::Turns);
            motion::focus(state, Pane::Items);
        }
        Pane::Sessions => {
            let session = state.listed_session;
            motion::open_session(state, session);
            motion::focus(state, Pane::Turns);
        }
        // Only one pane is seen: the item comes before what can be done about it.
        Pane::Turns | Pane::Items if state.size.0 < WIDE => motion::focus(state, Pane::Detail),
        Pane::Turns | Pane::Items | Pane::Detail if state.offering_here().next().is_some() => {
            recover::offers(state);
        }
        Pane::Turns | Pane::Items => motion::focus(state, Pane::Detail),
        Pane::Detail => {}
    }
}

fn follow(state: &mut State) {
    if state.live.is_on() {
        state.follow = match state.follow {
            Follow::On => Follow::Off,
            Follow::Off | Follow::Paused => Follow::On,
        };
        if state.follow == Follow::On {
            return motion::to_end(state);
        }
        return;
    }
    match state.follow {
        Follow::On => {
            state.follow = Follow::Off;
            state.effects.push(Effect::Watch(false))
        }
        Follow::Off | Follow::Paused => {
            let was_off = state.follow == Follow::Off;
            state.follow = Follow::On;
            motion::to_end(state);
            if was_off {
                state.effects.push(Effect::Watch(true));
            }
        }
    }
}
