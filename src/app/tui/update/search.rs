//! What is asked of the loader about the texts of items: to find one, to count those with a
//! text, to filter them.

use crate::tui::filter::Filter;
use crate::tui::keymap::Direction;
use crate::tui::state::document::{Checked, Document, Place};
use retake_live::search::Needle;
use std::sync::Arc;

/// A search for an item that holds a text.
#[derive(Debug, Clone)]
pub struct Search {
    /// What is searched through.
    pub document: Arc<Document>,
    /// What is searched for.
    pub needle: Arc<Needle>,
    /// The item to begin behind, or before.
    pub from: Place,
    pub direction: Direction,
}

/// A count of all items that hold a text.
#[derive(Debug, Clone)]
pub struct Counting {
    /// What is searched through.
    pub document: Arc<Document>,
    /// What is searched for.
    pub needle: Arc<Needle>,
    /// Index of a session: what stands in the same bytes is counted.
    pub session: usize,
}

/// A filter to be applied to a session.
#[derive(Debug)]
pub struct Sifting {
    /// The document with the session.
    pub document: Arc<Document>,
    /// Index of the session.
    pub session: usize,
    /// What was found in it.
    pub checked: Option<Arc<Checked>>,
    /// What is to be shown.
    pub filter: Filter,
    /// Whether it is still being typed.
    pub is_preview: bool,
}

/// What the path of an agent's file can be completed to.
#[derive(Debug)]
pub struct Paths {
    /// What was typed so far; empty where a file is to be proposed.
    pub typed: String,
    /// The paths that begin so: folders end with a slash.
    pub found: Vec<String>,
}
