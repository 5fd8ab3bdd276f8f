//! OpenAI Responses.

use super::{Codec, Said};
use crate::dialects::responses;
use crate::dialects::stream::responses::Responses as ResponseDecoder;
use crate::dialects::stream::{Decoder, Look, look, text};
use crate::dialects::write::rewrite::{self, Begun};
use crate::dialects::write::{NewEvent, NewReply, NoReply, element, quoted, reply, spell_reply};
use crate::json::{Cursor, JsonError};
use crate::session::Fragment;
use crate::session::ledger::Usage;
use crate::wire::Element;
use serde_json::{Value, json};

pub(super) struct Responses;

impl Codec for Responses {
    fn read_element(
        &self,
        cursor: &mut Cursor<'_>,
        base: u64,
        out: &mut Fragment,
    ) -> Result<(), JsonError> {
        responses::read_item(cursor, base, out)
    }

    fn write_element(&self, element: &Element) -> Vec<String> {
        element::responses(element)
    }

    fn history_of(&self, reply: &str) -> Result<Vec<String>, NoReply> {
        reply::items(reply)
    }

    fn holds_refusal(&self, reply: &Value) -> bool {
        let items = reply["output"].as_array().into_iter().flatten();
        let parts = items.filter_map(|item| item["content"].as_array());
        parts.flatten().any(|part| part["type"] == "refusal")
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(ResponseDecoder::default())
    }

    fn owns_event(&self, event: &Value) -> bool {
        text(event, "type").starts_with("response.")
    }

    fn said<'e>(&self, event: &'e Value) -> Said<'e> {
        let mut said = Said::default();
        match text(event, "type") {
            "response.output_text.delta" | "response.refusal.delta" => {
                said.text = text(event, "delta");
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                said.reasoning = text(event, "delta");
            }
            _ => {}
        }
        said
    }

    fn look<'e>(&self, event: &mut Cursor<'e>) -> Result<Look<'e>, JsonError> {
        look::response(event)
    }

    fn whole(&self, reply: &NewReply) -> String {
        spell_reply::responses::whole(reply).to_string()
    }

    fn events(&self, reply: &NewReply, piece: usize, _: bool) -> Vec<NewEvent> {
        spell_reply::responses::events(reply, piece)
    }

    fn failure(&self, message: &str) -> NewEvent {
        NewEvent::named(&json!({
            "type": "error", "code": "server_error", "message": message, "param": null,
        }))
    }

    fn final_message(&self, text: &str) -> String {
        let text = quoted(text);
        let part = format!(r#"{{"type":"output_text","text":{text},"annotations":[]}}"#);
        format!(
            r#"{{"id":"msg_retake","type":"message","status":"completed","role":"assistant","content":[{part}]}}"#
        )
    }

    fn behind(&self, sent: &[String], turn: &[String]) -> Vec<String> {
        turn.get(sent.len()..).unwrap_or_default().to_vec()
    }

    fn reply_with(&self, template: &str, elements: &[String], usage: Usage) -> String {
        rewrite::responses::reply_with(template, elements, usage)
    }

    fn continuation(&self, begun: &Begun, reply: &str, usage: Usage, _: bool) -> Vec<u8> {
        rewrite::responses::continuation(begun, reply, usage)
    }
}
