//! Anthropic Messages.

use super::{Codec, Said};
use crate::dialects::anthropic;
use crate::dialects::stream::anthropic::Anthropic as MessageDecoder;
use crate::dialects::stream::{Decoder, Look, look, text};
use crate::dialects::write::rewrite::{self, Begun};
use crate::dialects::write::{
    NewEvent, NewReply, NoReply, behind, element, reply, spell_reply, text_block,
};
use crate::json::{Cursor, JsonError};
use crate::session::ledger::Usage;
use crate::session::{Fragment, Shape};
use crate::wire::Element;
use serde_json::{Value, json};

pub(super) struct Anthropic;

impl Codec for Anthropic {
    fn read_element(
        &self,
        cursor: &mut Cursor<'_>,
        base: u64,
        out: &mut Fragment,
    ) -> Result<(), JsonError> {
        anthropic::read_message(cursor, base, out).map(|_| ())
    }

    fn write_element(&self, element: &Element) -> Vec<String> {
        element::anthropic(element)
    }

    fn history_of(&self, reply: &str) -> Result<Vec<String>, NoReply> {
        let content = reply::list(reply, b"content", "content")?;
        Ok(vec![format!(
            "{{\"role\":\"assistant\",\"content\":{content}}}"
        )])
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(MessageDecoder::default())
    }

    fn owns_event(&self, event: &Value) -> bool {
        matches!(
            text(event, "type"),
            "message_start"
                | "content_block_start"
                | "content_block_delta"
                | "content_block_stop"
                | "message_delta"
                | "message_stop"
        )
    }

    fn said<'e>(&self, event: &'e Value) -> Said<'e> {
        let mut said = Said::default();
        let delta = match text(event, "type") {
            "content_block_delta" => event.get("delta"),
            "content_block_start" => event.get("content_block"),
            _ => None,
        };
        let Some(delta) = delta else { return said };
        match text(delta, "type") {
            "text" | "text_delta" => said.text = text(delta, "text"),
            "thinking" | "thinking_delta" => said.reasoning = text(delta, "thinking"),
            _ => {}
        }
        said
    }

    fn look<'e>(&self, event: &mut Cursor<'e>) -> Result<Look<'e>, JsonError> {
        look::anthropic(event)
    }

    fn whole(&self, reply: &NewReply) -> String {
        spell_reply::anthropic::whole(reply)
    }

    fn events(&self, reply: &NewReply, piece: usize, _: bool) -> Vec<NewEvent> {
        spell_reply::anthropic::events(reply, piece)
    }

    fn error(&self, status: u16, message: &str, code: Option<&str>, tag: &str) -> Value {
        spell_reply::error::anthropic(status, message, code, tag)
    }

    fn failure(&self, message: &str) -> NewEvent {
        NewEvent::named(&json!({
            "type": "error",
            "error": {"type": "overloaded_error", "message": message},
        }))
    }

    fn final_message(&self, text: &str) -> String {
        format!(
            r#"{{"role":"assistant","content":[{}]}}"#,
            text_block(Shape::Anthropic, text)
        )
    }

    fn behind(&self, sent: &[String], turn: &[String]) -> Vec<String> {
        behind::of_message(sent, turn, behind::anthropic)
    }

    fn reply_with(&self, template: &str, elements: &[String], usage: Usage) -> String {
        rewrite::anthropic::reply_with(template, elements, usage)
    }

    fn continuation(&self, begun: &Begun, reply: &str, usage: Usage, _: bool) -> Vec<u8> {
        rewrite::anthropic::continuation(begun, reply, usage)
    }
}
