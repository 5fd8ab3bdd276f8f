//! What other threads tell the screens.

use super::effect::{Counting, FoundText, Hit};
use super::recovery::comparison::Comparison;
use super::recovery::saving::SaveFormat;
use super::state::document::{Checked, Document, Place};
use super::state::live::{AgentInfo, LogEntry, TrustRequest};
use super::state::takes::TakesView;
use super::state::tree::Shown;
use retake_core::engine::Breakpoint;
use retake_core::session::ledger::LedgerEvent;
use retake_core::usage::SessionUsage;
use retake_live::discover::Discovery;
use retake_live::inspect::Summary;
use retake_live::live;
use retake_live::{FilePlace, SubAgent};
use std::collections::HashMap;
use std::sync::Arc;

/// News from other threads.
#[derive(Debug)]
pub enum News {
    /// News of the proxy wait to be collected.
    Proxy,
    /// The same of the experiment of a lab.
    Lab,
    /// Of the file that is open; the number tells it from those that were open before.
    Report(u32, Report),
    Found(Discovery),
    /// It is time to look for new files.
    Renew,
    /// Items of recordings with the text that the picker searches for: the number of the search, and how many
    /// recordings are searched.
    FoundText(u64, Vec<FoundText>, usize),
    /// What a file holds.
    Inspected(usize, Result<Summary, String>),
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
    Checked {
        /// The document with the session; news of one that is no longer shown are ignored.
        document: Arc<Document>,
        /// Index of the session.
        session: usize,
        checked: Arc<Checked>,
    },
    /// The rules have seen everything in this document.
    Finished(Arc<Document>),
    /// What was made before, when the recording is opened.
    TakesFound(Arc<TakesView>),
    TakeTree(Arc<TakesView>),
    /// Another take is shown from now on.
    TakeShown {
        /// What it reads like.
        document: Arc<Document>,
        /// Where the cursor belongs; `None` leaves it.
        at: Option<Place>,
        view: Arc<TakesView>,
        /// A line for the operator.
        notice: String,
    },
    /// The take that a live run drives has grown, or the run drives another one.
    TakeGrown {
        /// What it reads like.
        document: Arc<Document>,
        view: Arc<TakesView>,
    },
    Compared(Box<Comparison>),
    /// The formats that a take can be saved in, and the name of the recording.
    Formats(String, Vec<SaveFormat>),
    /// A take was saved; the line says where.
    Saved(String),
    /// There is a file of this name.
    Exists,
    /// The request cannot be carried out.
    TakesRefused(String),
    /// What the screen waits for is done, or was refused: the next request may follow.
    TakesDone,
    Live(live::RunNews),
    /// What happened in a run before the file was opened, and when, in milliseconds since 1970; 0 where
    /// that was not told.
    Past(Box<LedgerEvent>, u64),
    /// The agent that runs, or is to run.
    Agent(Box<AgentInfo>),
    /// So many items has the request that a live run begins with.
    Asked(usize),
    /// The breakpoints that a run begins with.
    Breakpoints(Vec<Breakpoint>),
    /// The file of the agent that ran here last.
    PastAgent(String),
    /// An agent's file has to be trusted before anything of it runs.
    Trust(TrustRequest),
    /// The file has grown; what is shown from now on. Its numbers are right, its findings are not known yet.
    Grown(Arc<Document>),
    /// Where problems stand, by their byte.
    Lines(HashMap<u64, FilePlace>),
    Notice(String),
    /// The file cannot be followed.
    NotFollowed,
    Failed(String),
    /// Which items the filter lets through.
    Sifted {
        /// The document of the request; news of one that is no longer shown are ignored.
        document: Arc<Document>,
        /// Index of the session.
        session: usize,
        shown: Arc<Shown>,
        /// Whether the filter is still being typed.
        is_preview: bool,
    },
    /// How many items of which other sessions of the document the filter lets through, where there are any.
    SiftedElsewhere {
        document: Arc<Document>,
        items: Vec<(usize, usize)>,
    },
    /// A search ended; where the text is, and whether the search wrapped around.
    Found(Option<(Hit, bool)>),
    /// More items with the text that is searched for, in the order of their bytes, each with its number of places;
    /// whether there are no others.
    Counted(Counting, Vec<(Place, usize)>, bool),
    /// What a session took.
    Totalled(Arc<Document>, usize, Arc<SessionUsage>),
    /// The sub-agents with logs of their own.
    SubAgents(Vec<SubAgent>),
    /// What has happened in the proxy whose journal the file is.
    ProxyLog(Vec<LogEntry>),
    /// What a path can be completed to.
    Paths(Paths),
}

/// What the path of an agent's file can be completed to.
#[derive(Debug)]
pub struct Paths {
    /// What was typed so far; empty where a file is to be proposed.
    pub typed: String,
    /// The paths that begin so: folders end with a slash.
    pub found: Vec<String>,
}
