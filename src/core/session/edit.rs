//! Changes that are laid over a session: what an action asks for, in the words of the history. `formats`
//! turns them into bytes.

use std::ops::Range;

/// One change. Items are numbers in the session that the change was made for; the edits of one list never touch
/// each other's items in contrary ways (an item is dropped or rewritten, not both).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Other bytes for parts of an item; everything else of it stays as it is.
    Rewrite {
        item: u32,
        /// The parts, in order, none overlapping another.
        patches: Vec<Patch>,
    },
    /// The item leaves the history.
    Drop { item: u32 },
    /// A call gets an output, where the dialect wants it.
    Answer {
        call: u32,
        /// What the model will read.
        text: String,
        /// Whether the output says of itself that it is an error, where the dialect can say so.
        is_error: bool,
    },
    /// An output goes to where the dialect wants it, as it is.
    Move {
        output: u32,
        /// The call that it answers.
        call: u32,
    },
    /// The item becomes a plain message of the user, in its place.
    Degrade {
        item: u32,
        /// What the message says.
        text: String,
    },
    /// A new message after an item and what belongs to it. In a history without items it is the first one.
    Say {
        after: u32,
        voice: MessageRole,
        text: String,
    },
    /// A new element right after an item, in the same reply.
    Insert {
        after: u32,
        /// The JSON of one object as the dialect's list holds it.
        element: String,
    },
    /// New elements at the end of the history.
    Extend {
        /// Each the JSON of one object as the dialect's list holds it: an item of Responses, a message
        /// of Chat or Anthropic.
        items: Vec<String>,
    },
    /// The entry of an item, whose parent is not in the file, gets the one before it as
    /// its parent (Claude Code).
    Relink { item: u32 },
    /// Everything from an item on leaves the history.
    Cut {
        /// The first item that goes.
        from: u32,
    },
}

/// Other bytes for a part of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The part, counted from the start of the item; an empty range inserts.
    pub at: Range<usize>,
    /// The replacement.
    pub with: Vec<u8>,
}

/// Who speaks in a message that is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageRole {
    User,
    Assistant,
}
