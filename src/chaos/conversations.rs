//! Which requests belong to one conversation: each repeats what was said before it.

use super::request::Request;
use foldhash::fast::FixedState;
use serde::Serialize;
use serde_json::Value;
use std::hash::BuildHasher;

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
    /// It began another conversation.
    BeganAnew,
}

impl How {
    /// In words.
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

/// One conversation.
#[derive(Debug, Default)]
struct Conversation {
    /// The elements of its latest request, each by its hash.
    elements: Vec<u64>,
    /// How many its first request had.
    opening: usize,
    /// How many replies it has asked for; a request that is sent again counts once.
    turn: u32,
    /// When it was heard of last.
    heard: u64,
}

/// What a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heard {
    /// Its conversation.
    pub(super) conversation: usize,
    /// Which reply of it is asked for, from 1.
    pub(super) turn: u32,
    /// How it goes on; `None` where the conversation begins.
    pub(super) how: Option<How>,
}

/// The conversations so far.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    all: Vec<Conversation>,
    requests: u64,
}

impl Conversations {
    /// Takes the next request. `is_retry` is what the client says of it; `is_open` whether a conversation has just got a fault, so that the
    /// same request is a retry, and a changed history still its own.
    pub(super) fn hear(
        &mut self,
        request: &Request,
        is_retry: bool,
        is_open: impl Fn(usize) -> bool,
    ) -> Heard {
        let elements: Vec<u64> = request.elements.iter().map(hash_of).collect();
        self.requests += 1;
        let found = self.all.iter().enumerate();
        let found = found.filter_map(|(number, one)| {
            let how = one.goes_on(request, &elements, is_retry, is_open(number))?;
            Some((rank(how), one.heard, number, how))
        });
        let found = found.max_by_key(|(rank, heard, ..)| (*rank, *heard));
        let (number, how) = match found {
            Some((_, _, number, how)) => (number, Some(how)),
            None => {
                self.all.push(Conversation {
                    opening: elements.len(),
                    ..Conversation::default()
                });
                (self.all.len() - 1, None)
            }
        };
        let one = &mut self.all[number];
        if how != Some(How::Retried) {
            one.turn += 1;
        }
        one.heard = self.requests;
        one.elements = elements;
        Heard {
            conversation: number,
            turn: one.turn,
            how,
        }
    }
}

/// The surest first.
fn rank(how: How) -> u8 {
    match how {
        How::Answered | How::Told | How::WentOn => 2,
        How::Retried => 1,
        How::Rewrote | How::BeganAnew => 0,
    }
}

impl Conversation {
    /// How a request goes on with this conversation; `None` where it does not.
    fn goes_on(
        &self,
        request: &Request,
        elements: &[u64],
        is_retry: bool,
        is_open: bool,
    ) -> Option<How> {
        if elements == self.elements {
            return (is_retry || is_open).then_some(How::Retried);
        }
        if elements.starts_with(&self.elements) {
            return Some(how_with(&request.elements[self.elements.len()..]));
        }
        if request.has_server_state {
            return Some(how_with(&request.elements));
        }
        let same = elements.iter().zip(&self.elements);
        let same = same.take_while(|(new, old)| new == old).count();
        (is_open && self.opening > 0 && same >= self.opening).then_some(How::Rewrote)
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
    kind.ends_with("_output")
        || matches!(element["role"].as_str(), Some("tool" | "function"))
        || blocks.any(|kind| kind == "tool_result")
}

/// The hash of an element; marks of a cache, which move from request to request, do not count.
fn hash_of(element: &Value) -> u64 {
    let mut element = element.clone();
    without_cache_marks(&mut element);
    FixedState::default().hash_one(element.to_string())
}

fn without_cache_marks(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.shift_remove("cache_control");
            members.values_mut().for_each(without_cache_marks);
        }
        Value::Array(values) => values.iter_mut().for_each(without_cache_marks),
        _ => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::session::Dialect;
    use serde_json::json;

    fn chat(messages: &[Value]) -> Request {
        let body = json!({"model": "m", "messages": messages});
        Request::read(Dialect::Chat, body.to_string().as_bytes()).unwrap()
    }

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": text})
    }

    #[test]
    fn a_request_that_repeats_what_was_said_goes_on_and_says_how() {
        let mut conversations = Conversations::default();
        let mut hear = |messages: &[Value], is_open: bool| {
            let heard = conversations.hear(&chat(messages), false, |_| is_open);
            (heard.conversation, heard.turn, heard.how)
        };
        let call = json!({"role": "assistant", "tool_calls": [{"id": "c"}]});
        let output = json!({"role": "tool", "tool_call_id": "c", "content": "error"});
        let system = json!({"role": "system", "content": "Be short."});
        assert_eq!(hear(&[user("a")], false), (0, 1, None));
        let answered = [user("a"), call.clone(), output];
        assert_eq!(hear(&answered, false), (0, 2, Some(How::Answered)));
        assert_eq!(hear(&answered, true), (0, 2, Some(How::Retried)));
        assert_eq!(hear(&[user("b")], false), (1, 1, None), "another");
        let told = [system, user("b"), call.clone(), user("no")];
        assert_eq!(hear(&told, false), (1, 2, Some(How::Told)));
        let rewritten = [user("b"), user("again")];
        assert_eq!(hear(&rewritten, true), (1, 3, Some(How::Rewrote)));
        assert_eq!(hear(&[user("b"), call], false), (2, 1, None), "too late");
    }

    #[test]
    fn marks_of_a_cache_do_not_count() {
        let plain = json!([{"type": "text", "text": "a"}]);
        let marked = json!([{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]);
        assert_eq!(hash_of(&plain), hash_of(&marked));
    }
}
