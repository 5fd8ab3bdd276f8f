//! What differs from one provider's wire to the next: the facts of each dialect, one file each.
//!
//! Whoever asks what a dialect does reads its [`Facts`]. Nothing outside these files and the formats names a
//! dialect to find out.

mod anthropic;
mod chat;
mod facts;
mod gemini;
mod head;
mod output;
mod responses;
mod route;
mod turn;

pub use facts::{
    CallIds, Facts, Family, IdsNeeded, Methods, Names, Placement, Repeats, RequestUnit, Schemas,
    ServerState, ToolSpelling,
};

pub use head::RequestHead;
pub use route::{Route, dialect_at, route, streams_events};
pub use turn::{Element, Input, Part, Role, ToolCall, ToolResult, inline_data};

use crate::session::{Dialect, Shape};

/// The dialect whose requests can come over a WebSocket as well.
pub const WEBSOCKET: Dialect = Dialect::Responses;

impl Dialect {
    pub fn facts(self) -> &'static Facts {
        match self {
            Self::Responses => &responses::FACTS,
            Self::Chat => &chat::FACTS,
            Self::Anthropic => &anthropic::FACTS,
            Self::Gemini => &gemini::FACTS,
        }
    }

    /// The word for it on the command line, in files and in reports.
    pub fn word(self) -> &'static str {
        self.facts().word
    }

    /// The dialect that a word of the command line or of a file means.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.word() == word)
    }

    /// The dialect whose elements have this spelling; `None` for what belongs to a file format.
    pub fn of_shape(shape: Shape) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|dialect| dialect.facts().shape == shape)
    }
}
