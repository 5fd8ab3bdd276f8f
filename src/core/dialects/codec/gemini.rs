//! Gemini.

use super::{Codec, Said};
use crate::dialects::gemini;
use crate::dialects::stream::gemini::{Gemini as ChunkDecoder, first_candidate};
use crate::dialects::stream::{Decoder, Look, look, text};
use crate::dialects::write::rewrite::{self, Begun};
use crate::dialects::write::{
    NewEvent, NewReply, NoReply, behind, draft_message, element, reply, spell_reply,
};
use crate::json::{Cursor, JsonError};
use crate::session::ledger::Usage;
use crate::session::{Fragment, MessageRole, Shape};
use crate::wire::Element;
use serde_json::Value;

pub(super) struct Gemini;

impl Codec for Gemini {
    fn read_element(
        &self,
        cursor: &mut Cursor<'_>,
        base: u64,
        out: &mut Fragment,
    ) -> Result<(), JsonError> {
        gemini::read_content(cursor, base, out).map(|_| ())
    }

    fn history_of(&self, reply: &str) -> Result<Vec<String>, NoReply> {
        reply::contents(reply)
    }

    fn write_element(&self, element: &Element) -> Vec<String> {
        element::gemini(element)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(ChunkDecoder::default())
    }

    fn owns_event(&self, event: &Value) -> bool {
        event.get("candidates").is_some_and(Value::is_array)
            || event.get("promptFeedback").is_some()
            || event.get("usageMetadata").is_some()
    }

    /// Of several texts of a chunk the last one of each sort: providers send one.
    fn said<'e>(&self, event: &'e Value) -> Said<'e> {
        let parts = first_candidate(event).and_then(|one| one.pointer("/content/parts"));
        let mut said = Said::default();
        for part in parts.and_then(Value::as_array).into_iter().flatten() {
            match part.get("thought").and_then(Value::as_bool) {
                Some(true) => said.reasoning = text(part, "text"),
                _ if part.get("text").is_some() => said.text = text(part, "text"),
                _ => {}
            }
        }
        said
    }

    fn look<'e>(&self, event: &mut Cursor<'e>) -> Result<Look<'e>, JsonError> {
        look::candidates(event)
    }

    fn whole(&self, reply: &NewReply) -> String {
        spell_reply::gemini::whole(reply)
    }

    fn events(&self, reply: &NewReply, piece: usize, _: bool) -> Vec<NewEvent> {
        spell_reply::gemini::events(reply, piece)
    }

    fn error(&self, status: u16, message: &str, code: Option<&str>, _: &str) -> Value {
        spell_reply::error::google(status, message, code)
    }

    fn final_message(&self, text: &str) -> String {
        draft_message(Shape::Gemini, MessageRole::Assistant, text)
    }

    fn behind(&self, sent: &[String], turn: &[String]) -> Vec<String> {
        behind::of_message(sent, turn, behind::gemini)
    }

    fn reply_with(&self, template: &str, elements: &[String], usage: Usage) -> String {
        rewrite::gemini::reply_with(template, elements, usage)
    }

    fn continuation(&self, begun: &Begun, reply: &str, usage: Usage, _: bool) -> Vec<u8> {
        rewrite::gemini::continuation(begun, reply, usage)
    }
}
