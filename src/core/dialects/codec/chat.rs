//! OpenAI Chat Completions.

use super::{Codec, Said};
use crate::dialects::chat;
use crate::dialects::stream::chat::{Chat as ChatDecoder, first_choice};
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

pub(super) struct Chat;

impl Codec for Chat {
    fn read_element(
        &self,
        cursor: &mut Cursor<'_>,
        base: u64,
        out: &mut Fragment,
    ) -> Result<(), JsonError> {
        chat::read_message(cursor, base, out)
    }

    fn write_element(&self, element: &Element) -> Vec<String> {
        element::chat(element)
    }

    fn history_of(&self, reply: &str) -> Result<Vec<String>, NoReply> {
        reply::message(reply).map(|message| vec![message])
    }

    fn holds_refusal(&self, reply: &Value) -> bool {
        reply["choices"][0]["message"]["refusal"].is_string()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(ChatDecoder::default())
    }

    fn owns_event(&self, event: &Value) -> bool {
        event.get("choices").is_some_and(Value::is_array)
    }

    fn said<'e>(&self, event: &'e Value) -> Said<'e> {
        let choice = first_choice(event);
        let delta = choice.and_then(|one| one.get("delta").or_else(|| one.get("message")));
        let first = |keys: [&str; 2]| {
            let mut found = keys
                .map(|key| delta.map_or("", |delta| text(delta, key)))
                .into_iter();
            found.find(|text| !text.is_empty()).unwrap_or_default()
        };
        Said {
            text: first(["content", "refusal"]),
            reasoning: first(["reasoning_content", "reasoning"]),
        }
    }

    fn look<'e>(&self, event: &mut Cursor<'e>) -> Result<Look<'e>, JsonError> {
        look::chunk(event)
    }

    fn drops_calls(&self, event: &mut Value) -> bool {
        let choices = event.get_mut("choices").and_then(Value::as_array_mut);
        for choice in choices.into_iter().flatten() {
            for key in ["delta", "message"] {
                if let Some(delta) = choice.get_mut(key).and_then(Value::as_object_mut) {
                    delta.remove("tool_calls");
                    delta.remove("function_call");
                }
            }
        }
        true
    }

    fn whole(&self, reply: &NewReply) -> String {
        spell_reply::chat::whole(reply).to_string()
    }

    fn events(&self, reply: &NewReply, piece: usize, tells_usage: bool) -> Vec<NewEvent> {
        spell_reply::chat::events(reply, piece, tells_usage)
    }

    fn final_message(&self, text: &str) -> String {
        draft_message(Shape::Chat, MessageRole::Assistant, text)
    }

    fn behind(&self, sent: &[String], turn: &[String]) -> Vec<String> {
        behind::of_message(sent, turn, behind::chat)
    }

    fn reply_with(&self, template: &str, elements: &[String], usage: Usage) -> String {
        rewrite::chat::reply_with(template, elements, usage)
    }

    fn continuation(&self, begun: &Begun, reply: &str, usage: Usage, tells_usage: bool) -> Vec<u8> {
        rewrite::chat::continuation(begun, reply, usage, tells_usage)
    }
}
