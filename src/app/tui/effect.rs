//! What is to be done outside of a screen: the one way from a key to a side effect. A screen notes what it wants;
//! whoever runs the screen does what concerns it, and passes the rest on.

use super::filter::Filter;
use super::keymap::{Command, Direction};
use super::lab::subject::{ExperimentOrder as LabOrder, LabSubject, Saving};
use super::state::document::{Checked, Document, Place};
use super::state::takes::TakesView;
use retake_core::engine::{self, Breakpoint};
use retake_core::exchange::ExchangeId;
use retake_core::lab;
use retake_core::session::Edit;
use retake_core::session::takes::{Take, TakeId};
use retake_live::proxy;
use retake_live::search::Needle;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub enum Effect {
    Quit,
    /// Close the screen; quit where nothing is below it.
    Close,
    /// Give the terminal back until the shell calls again.
    Suspend,
    Redraw,
    /// Draw in the colours of the next theme.
    NextTheme,
    /// Put bytes on the clipboard.
    Copy(Vec<u8>),
    /// Give a text to the operator's editor and take over what is made of it.
    Edit(String),
    /// The same with the JSON of an item: what is made of it is proposed as an edit.
    EditItem(String),
    Open(PathBuf),
    /// The same with the cursor on its first item, whatever was found in it.
    OpenAtStart(PathBuf),
    /// Open a recording at a place of a text.
    OpenAt(Box<FoundText>, Arc<Needle>),
    /// Open the recording of a proxy at the conversation of an exchange, and do a command there.
    OpenConversation(PathBuf, ExchangeId, Command),
    /// Open an exchange of the proxy.
    Enter(ExchangeId),
    Lab(Box<LabSubject>),
    /// Leave the lab and word the error for its finding, of this rule, with these words.
    InjectWording(Place, &'static str, String),
    /// Open a take of a journal: a sample of the lab.
    Sample(PathBuf, TakeId),
    Proxy(proxy::ProxyCommand),
    /// Put the request of an exchange on the clipboard, as a command line of curl.
    CopyRequest(ExchangeId),
    Begin(Box<LabOrder>),
    Experiment(lab::LabCommand),
    /// Say which models these names mean.
    ReadModels(String),
    /// Say what a wording becomes, for which the spec of this order is needed.
    Becomes(Box<LabOrder>),
    Save(Saving),
    /// Read the end of the file, now.
    ReadTail,
    /// Watch the file, or stop watching it.
    Watch(bool),
    Take(Box<TakeOrder>),
    Takes(TakesCommand),
    Live(LiveCommand),
    Search(SearchRequest),
    Count(Counting),
    Sift(Sifting),
    /// Count what a session of a document took.
    Total(Arc<Document>, usize),
    /// Look for sub-agents with logs of their own.
    FindSubAgents,
    /// Read what has happened in the proxy whose journal the file is.
    ReadProxyLog,
    /// Say what a path can be completed to; an empty one: which agent's file lies beside the recording.
    Complete(String),
    /// Drop what may take a while to drop.
    Discard(Arc<Document>),
}

/// Where effects are done.
pub trait Perform {
    fn perform(&mut self, effects: Vec<Effect>);
}

/// A take to be made.
#[derive(Debug, Clone)]
pub struct TakeOrder {
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
    /// Go to the take that was current when the file was closed.
    Reopen,
    Compare(u32, u32),
    NoteTake(u32, String),
    /// Call a take so.
    Rename(u32, String),
    /// List a take no more, nor what branches off it.
    Drop(u32),
    /// List the take again that was dropped last.
    Restore,
    /// Write a note on the item with these bytes.
    NoteItem {
        /// The first byte of the item.
        at: u64,
        bytes: Vec<u8>,
        text: String,
    },
    /// Save the pictures of an item.
    #[cfg(not(feature = "images"))]
    Pictures {
        /// Where the first of them goes.
        path: String,
        /// The kind (`png`) and the bytes of each.
        files: Vec<(&'static str, Vec<u8>)>,
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

/// Something to be done to the live run.
#[derive(Debug, Clone, PartialEq)]
pub enum LiveCommand {
    Engine(engine::RunCommand),
    /// The agent that is known is to run from the beginning.
    Begin {
        agent: String,
    },
    /// A run goes on from a take.
    GoOnFrom {
        /// The file of the agent whose model and tools are used.
        agent: String,
        /// The number of the take; 0 is the recording.
        take: u32,
        session: usize,
    },
    /// Whether what the agent's file names may run.
    ConfirmTrust(bool),
    /// All breakpoints; they hold for this run and those that are begun later.
    SetBreakpoints(Vec<Breakpoint>),
    /// The operator says this; the history was empty.
    Say(String),
}

/// A search for the next place of a text.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    pub counting: Counting,
    pub from: Place,
    /// Which place of the text in that item to begin after or before; `None` before its first.
    pub occurrence: Option<usize>,
    pub direction: Direction,
}

/// A place of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    pub place: Place,
    /// Which of those in the item it is, from 0.
    pub occurrence: usize,
}

/// An item of a recording that holds a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundText {
    /// The number of the recording in the list.
    pub recording: usize,
    pub path: PathBuf,
    pub place: Place,
    /// Whether the recording has several sessions.
    pub is_of_several: bool,
    /// Index of its turn.
    pub turn: usize,
    /// The line with the text.
    pub line: String,
    /// How many places of the recording follow that are not listed.
    pub more: usize,
}

/// A count of all places of a text.
#[derive(Debug, Clone)]
pub struct Counting {
    /// What is searched through.
    pub document: Arc<Document>,
    /// What is searched for.
    pub needle: Arc<Needle>,
    /// The tool in whose calls alone it is searched for.
    pub tool: Option<Arc<str>>,
    /// Index of a session: what is in the same bytes is counted.
    pub session: usize,
    /// Whether the JSON of items is searched through rather than what they say.
    pub is_raw: bool,
    /// The notes on items, which are searched too.
    pub takes: Arc<TakesView>,
}

#[derive(Debug, Clone)]
pub struct Sifting {
    /// The document with the session.
    pub document: Arc<Document>,
    /// Index of the session.
    pub session: usize,
    /// What the rules found, by session.
    pub checked: Vec<Option<Arc<Checked>>>,
    pub takes: Arc<TakesView>,
    pub filter: Filter,
    /// Whether it is still being typed.
    pub is_preview: bool,
}
