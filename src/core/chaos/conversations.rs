//! Which requests belong to one conversation: each repeats what was said before it, or names the reply that
//! it goes on behind.

use super::faults::Deed;
use super::request::{Kept, Request};
use foldhash::fast::FixedState;
use serde::Serialize;
use serde_json::Value;
use std::hash::BuildHasher;

/// How long the same request is taken for a retry by a client that does not say what it is, in milliseconds:
/// longer than clients wait before they ask again.
const RETRIES_WITHIN: u64 = 60_000;

/// How an agent went on behind a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// It asked the same again.
    Retried,
    /// It answered the call: the model hears what was wrong.
    Answered,
    /// It told the model something as a user.
    Told,
    /// It went on as if nothing had happened.
    WentOn,
    /// It changed what was said before.
    Rewrote,
    /// It began another conversation with the same words.
    BeganAnew,
}

impl How {
    pub fn words(self) -> &'static str {
        match self {
            Self::Retried => "retried",
            Self::Answered => "sent an output back",
            Self::Told => "told the model",
            Self::WentOn => "went on",
            Self::Rewrote => "rewrote the history",
            Self::BeganAnew => "began anew",
        }
    }
}

/// How a request was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Whether its client says that it is a retry.
    pub is_retry: bool,
    /// When, in milliseconds from any beginning.
    pub at_ms: u64,
}

#[derive(Debug)]
struct Conversation {
    /// The elements of its first request, each by its hash.
    opening: Vec<u64>,
    /// Those of its latest request.
    elements: Vec<u64>,
    /// Where the provider keeps what stands before these.
    kept: Option<Kept>,
    /// The ids of the replies that it got.
    replies: Vec<String>,
    /// How many replies it has asked for; a request that is sent again counts once.
    turn: u32,
    /// The place of its latest request among all.
    heard: u64,
    /// The fault that its latest request got.
    fault: Option<Got>,
}

/// A fault that a request got.
#[derive(Debug, Clone, Copy)]
struct Got {
    at_ms: u64,
    /// Whether it came as a whole reply, which no client asks for again by itself.
    is_reply: bool,
}

/// What a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) conversation: usize,
    /// Which reply of it is asked for, from 1.
    pub(super) turn: u32,
    /// How it goes on; `None` where the conversation begins.
    pub(super) how: Option<How>,
    /// Whether the request of the conversation before it got a fault.
    pub(super) follows_fault: bool,
    /// The hash of its newest element.
    pub(super) newest: u64,
}

/// The conversations so far.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    all: Vec<Conversation>,
    requests: u64,
    /// Whether one agent alone asks, once: the same again behind a fault is then always a retry.
    is_one_agent: bool,
}

impl Conversations {
    pub(super) fn new(is_one_agent: bool) -> Self {
        Self {
            is_one_agent,
            ..Self::default()
        }
    }

    /// Takes the next request.
    pub(super) fn hear(&mut self, request: &Request, sent: Sent) -> Heard {
        let elements: Vec<u64> = request.elements.iter().map(hash_of).collect();
        self.requests += 1;
        let found = self.all.iter().enumerate();
        let found = found.filter_map(|(number, one)| {
            let is_retry = || one.would_retry(sent, self.is_one_agent);
            let how = one.goes_on(request, &elements, is_retry)?;
            Some((rank(how), one.heard, number, how))
        });
        let found = found.max_by_key(|(rank, heard, ..)| (*rank, *heard));
        let (number, how) = match found {
            Some((_, _, number, how)) => (number, Some(how)),
            None => {
                self.all.push(Conversation::new(&elements));
                (self.all.len() - 1, None)
            }
        };
        let newest = elements.last().copied().unwrap_or_default();
        let one = &mut self.all[number];
        if how != Some(How::Retried) {
            one.turn += 1;
        }
        one.heard = self.requests;
        one.elements = elements;
        one.kept.clone_from(&request.kept);
        Heard {
            conversation: number,
            turn: one.turn,
            how,
            follows_fault: one.fault.take().is_some(),
            newest,
        }
    }

    /// The latest request of a conversation gets a fault.
    pub(super) fn get_fault(&mut self, conversation: usize, deed: Deed, at_ms: u64) {
        if let Some(one) = self.all.get_mut(conversation) {
            let is_reply = matches!(deed, Deed::Change(_));
            one.fault = Some(Got { at_ms, is_reply });
        }
    }

    /// What was slow has come to its end all the same.
    pub(super) fn came_whole(&mut self, conversation: usize) {
        let one = self.all.get_mut(conversation);
        if let Some(fault) = one.and_then(|one| one.fault.as_mut()) {
            fault.is_reply = true;
        }
    }

    /// A conversation gets a reply of this id.
    pub(super) fn reply(&mut self, conversation: usize, id: String) {
        if let Some(one) = self.all.get_mut(conversation) {
            one.replies.push(id);
        }
    }

    /// Whether one conversation begins with what another one began with.
    pub(super) fn repeats(&self, one: usize, other: usize) -> bool {
        let opening = |number: usize| self.all.get(number).map(|one| &one.opening);
        let openings = opening(one).zip(opening(other));
        openings.is_some_and(|(one, other)| one.starts_with(other))
    }
}

fn rank(how: How) -> u8 {
    match how {
        How::Answered | How::Told | How::WentOn => 2,
        How::Retried => 1,
        How::Rewrote | How::BeganAnew => 0,
    }
}

impl Conversation {
    fn new(opening: &[u64]) -> Self {
        Self {
            opening: opening.to_vec(),
            elements: Vec::new(),
            kept: None,
            replies: Vec::new(),
            turn: 0,
            heard: 0,
            fault: None,
        }
    }

    /// Whether the same request once more is a retry, and no other run of the agent that asks
    /// what this one did.
    fn would_retry(&self, sent: Sent, is_one_agent: bool) -> bool {
        let Some(fault) = self.fault else {
            return sent.is_retry;
        };
        let is_soon = sent.at_ms.saturating_sub(fault.at_ms) <= RETRIES_WITHIN;
        // Another run begins with the first request.
        let is_expected = match fault.is_reply {
            true => self.turn > 1,
            false => is_soon,
        };
        sent.is_retry || is_one_agent || is_expected
    }

    /// How a request goes on with this conversation; `None` where it does not.
    fn goes_on(
        &self,
        request: &Request,
        elements: &[u64],
        is_retry: impl Fn() -> bool,
    ) -> Option<How> {
        let is_same = request.kept == self.kept && elements == self.elements;
        if is_same && is_retry() {
            return Some(How::Retried);
        }
        let may_rewrite = self.fault.is_some();
        match &request.kept {
            Some(Kept::In(_)) => (request.kept == self.kept).then(|| how_with(&request.elements)),
            Some(Kept::Behind(id)) if self.replies.last() == Some(id) => {
                Some(how_with(&request.elements))
            }
            Some(Kept::Behind(id)) => {
                (may_rewrite && self.replies.contains(id)).then_some(How::Rewrote)
            }
            None if is_same || self.kept.is_some() => None,
            None if elements.starts_with(&self.elements) => {
                Some(how_with(&request.elements[self.elements.len()..]))
            }
            None => {
                // The opening alone is another beginning.
                let is_longer = elements.len() > self.opening.len() && !self.opening.is_empty();
                let has_opening = elements.starts_with(&self.opening);
                (may_rewrite && is_longer && has_opening).then_some(How::Rewrote)
            }
        }
    }
}

/// How a conversation goes on that these elements are new in.
fn how_with(new: &[Value]) -> How {
    if new.iter().any(is_output) {
        How::Answered
    } else if new.iter().any(|element| element["role"] == "user") {
        How::Told
    } else {
        How::WentOn
    }
}

fn is_output(element: &Value) -> bool {
    let kind = element["type"].as_str().unwrap_or_default();
    let blocks = element["content"].as_array().into_iter().flatten();
    let mut blocks = blocks.map(|block| &block["type"]);
    let parts = element["parts"].as_array().into_iter().flatten();
    let answers = |part: &Value| {
        part.get("functionResponse")
            .or(part.get("function_response"))
            .is_some()
    };
    kind.ends_with("_output")
        || matches!(element["role"].as_str(), Some("tool" | "function"))
        || blocks.any(|kind| kind == "tool_result")
        || parts.into_iter().any(answers)
}

/// The hash of what an element says, however it is spelled.
fn hash_of(element: &Value) -> u64 {
    let mut element = element.clone();
    spell_plainly(&mut element);
    element.sort_all_objects();
    FixedState::default().hash_one(element.to_string())
}

/// Clients spell one element in several ways, from one request to the next: with a mark for the cache or
/// without, as a text or as a block that holds it, with members that say what holds anyway.
fn spell_plainly(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|key, value| !value.is_null() && key != "cache_control");
            if members.get("type").is_some_and(|kind| kind == "message") {
                members.shift_remove("type");
            }
            members.values_mut().for_each(spell_plainly);
            if let Some(text) = members.get("content").and_then(only_text) {
                members.insert("content".to_owned(), text);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(spell_plainly),
        _ => {}
    }
}

/// The text of content that is one block of text.
fn only_text(content: &Value) -> Option<Value> {
    let [block] = content.as_array()?.as_slice() else {
        return None;
    };
    let kind = block.get("type").and_then(Value::as_str);
    let is_text = matches!(kind, Some("text" | "input_text" | "output_text"));
    block.get("text").filter(|_| is_text).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_element_is_the_same_however_it_is_spelled() {
        let plain = hash_of(&json!({"role": "user", "content": "a"}));
        let marked = json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}});
        for same in [
            json!({"content": "a", "role": "user"}),
            json!({"type": "message", "role": "user", "content": "a", "name": null}),
            json!({"role": "user", "content": [marked]}),
            json!({"role": "user", "content": [{"type": "input_text", "text": "a"}]}),
        ] {
            assert_eq!(hash_of(&same), plain, "{same}");
        }
        for other in [
            json!({"role": "user", "content": "b"}),
            json!({"role": "assistant", "content": "a"}),
            json!({"role": "user", "content": [marked, marked]}),
        ] {
            assert_ne!(hash_of(&other), plain, "{other}");
        }
    }
}
