//! What happened in a run: the source, the contract, the items in the order of the history, and
//! how they belong together.
//!
//! Bytes are the truth. An [`Item`] is a small head (kind, call id, name, turn) and the place of its bytes in
//! the [`Source`]; what an item says is read from there when it is shown or checked. So a session of a gigabyte
//! is a few megabytes of heads, and an untouched item can always be written back byte for byte.
//!
//! Recorded items never change. What the operator does is laid over them as edits; each result is a take, a
//! branch of the tree in [`takes`].

pub mod boundary;
mod compare;
mod contract;
mod fragment;
mod http;
mod item;
pub mod ledger;
mod meaning;
pub mod pairing;
mod problem;
mod rope;
mod source;
mod spelled;
mod sub_agents;
pub mod takes;
mod turn;

pub use compare::{HistoryChange, compare, operations, operations_of, recorded};
pub use contract::{
    Contract, JSON_TOOL_CALL, Keyed, NameId, Names, OutputSchema, Tool, ToolKind, ToolSet,
};
pub use fragment::{
    BEGAN, Checkpoint, ExchangeFacts, Fact, Fragment, HELD, LinkFlags, MENDED, MENDED_AGAIN,
    MovedText, ProxiedExchange, RecordLink, RequestBase,
};
pub use http::HttpFacts;
pub(crate) use http::{shown_headers, without_query};
pub use item::{
    CallId, Dialect, Edit, Family, Flags, Item, Kind, MessageRole, Patch, Record, ToolRun, hash,
    index_number,
};
pub use meaning::{IgnoredParts, Meaning};
pub use pairing::{PairStatus, Pairing, Session, TurnStop};
pub use problem::{Problem, ProblemKind};
pub use rope::{Growth, Rope, RopePiece, TextOrigin};
pub(crate) use source::ReadAhead;
pub use source::{Source, SourceError, SourceResult, Span, Splice};
pub use spelled::SpelledText;
pub use sub_agents::{SIDE_CHAIN, is_sub_agent, sub_agents_of};
pub use turn::{Speaker, Turn, number_turns};
