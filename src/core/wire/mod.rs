//! How providers spell a conversation: what can be said of a dialect without code ([`Facts`]), and what takes code
//! ([`Codec`]). Each dialect is a folder here and a line in the table below; nobody else names one to find out what
//! it does.

pub mod anthropic;
mod blocks;
mod body;
pub mod chat;
mod codec;
mod content;
pub mod converse;
pub mod edit;
mod facts;
mod faults;
mod fields;
pub mod gemini;
mod head;
mod history;
pub mod images;
pub mod leaked;
pub mod models;
mod new_reply;
mod object;
mod outcome;
mod places;
pub mod provider_errors;
mod refusal;
pub mod request;
pub mod responses;
mod route;
pub mod stream;
mod survivors;
pub mod tools;
mod turn;

pub use body::{
    Arguments, Body, body_of, body_within, body_without_reasoning, with_parsed_arguments,
};
pub use codec::{Codec, InsertedCalls, TextDelta};
pub use content::Content;
pub use facts::{
    CallIds, Facts, Family, IdsNeeded, Methods, NameRules, OutputPlacement, Repeats, RequestUnit,
    Schemas, ServerState,
};
pub use faults::{ShapeFault, shape_fault, unknown_in};
pub use fields::Fields;
pub use head::RequestHead;
pub(crate) use outcome::stop_in;
pub use outcome::{stop_of, stops_early, usage_of};
pub use places::{Misplaced, Misplacement, misplaced};
pub use refusal::Refusal;
pub use route::{Route, dialect_at, route, streams_events};
pub use survivors::{Survivors, survivors};
pub use turn::{Element, Input, Part, Role, ToolCall, ToolResult, inline_data, joined};

use crate::session::{Dialect, Item};

/// What is written: edits of items, replies and requests.
pub mod write {
    pub use super::edit::{
        self, call_id_key, draft_output, rename, replace_arguments, replace_output, set_call_id,
        set_member, texts_of, with_plain_call_id,
    };
    pub use super::history::{NoReply, calls_of, history_of};
    pub use super::new_reply::{End, NewEvent, NewReply, SentStream, StreamRest, push_event};
    pub use super::object::{Member, Object, members_at, push_quoted, quoted};
    pub(crate) use super::object::{elements, text_of};
    pub use super::request;
}

/// The dialect whose requests can come over a WebSocket as well.
pub const WEBSOCKET: Dialect = Dialect::Responses;

impl Dialect {
    /// What reads and writes it.
    pub fn codec(self) -> &'static dyn Codec {
        match self {
            Self::Responses => &responses::Responses,
            Self::Chat => &chat::Chat,
            Self::Anthropic => &anthropic::Anthropic,
            Self::Gemini => &gemini::Gemini,
            Self::Converse => &converse::Converse,
        }
    }

    pub fn facts(self) -> &'static Facts {
        self.codec().facts()
    }

    /// The word for it on the command line, in files and in reports.
    pub fn word(self) -> &'static str {
        self.facts().word
    }

    /// The dialect that a word of the command line or of a file means.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.word() == word)
    }
}

impl Item {
    /// What reads and writes it; `None` for what belongs to a file format.
    pub fn codec(&self) -> Option<&'static dyn Codec> {
        self.dialect.map(Dialect::codec)
    }

    pub fn facts(&self) -> Option<&'static Facts> {
        self.dialect.map(Dialect::facts)
    }

    /// Whether it is a message that may hold calls, or a call of one, or the message of an output.
    pub fn is_message_with_calls(&self) -> bool {
        self.facts()
            .is_some_and(|facts| facts.calls_key.is_some() && !facts.has_blocks)
    }

    /// Whether it is one of the parts in the list of a message: texts, calls and outputs side by side.
    pub fn is_block(&self) -> bool {
        self.facts().is_some_and(|facts| facts.has_blocks)
    }
}
