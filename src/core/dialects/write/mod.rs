//! How a dialect spells what is new: an output, a message, another id, name or arguments in an item that is
//! there; a request, a whole reply.
//!
//! What an item said stays byte for byte beside the part that changes.

pub mod behind;
mod draft;
pub mod edit;
pub(in crate::dialects) mod element;
mod made_call;
mod patch;
pub(in crate::dialects) mod reply;
pub mod request;
pub mod rewrite;
pub(in crate::dialects) mod spell_reply;

pub use draft::{draft_message, draft_output, draft_parts, message_of, text_block};
pub use made_call::{Made, MadeCall, make_call, texts_of};
pub use patch::{call_id_key, rename, replace_arguments, replace_output, set_call_id, set_member};
pub use reply::{NoReply, calls_of, history_of};
pub use spell_reply::{End, NewCall, NewEvent, NewReply};

/// A text as a JSON string.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
