//! A client that is stricter than any: it puts a stream together and refuses what no provider would send.

use super::*;
use crate::wire::stream::{Splitter, event_value, rejoin};
use std::collections::BTreeSet;

/// Reads a whole stream, event by event. Gives the reply.
pub(crate) fn read(dialect: Dialect, stream: &[u8]) -> String {
    let (mut reply, mut splitter) = (dialect.codec().decoder(), Splitter::default());
    let mut events = Vec::new();
    splitter.push(stream, |event| events.push(event));
    assert!(!splitter.is_within_line());
    let mut strict = Strict::default();
    for event in &events {
        assert!(!strict.is_over, "behind the end: {}", event.data);
        if event.data == "[DONE]" {
            assert_eq!(dialect, Dialect::Chat);
            strict.is_over = true;
            reply.push_done();
            continue;
        }
        let value = event_value(&event.data).unwrap();
        match dialect {
            Dialect::Responses => strict.response(&event.name, &value),
            Dialect::Chat => strict.chunk(&value),
            Dialect::Converse => strict.converse(&value),
            _ => strict.message(&event.name, &value),
        }
        reply.push(&value);
    }
    assert!(strict.is_over, "{}", String::from_utf8_lossy(stream));
    assert_eq!(strict.open, BTreeSet::new());
    assert_eq!(strict.finished, usize::from(dialect != Dialect::Responses));
    let reply = reply.finish();
    assert!(reply.ended && reply.failures.is_empty());
    rejoin(&reply.json).into_owned()
}

#[derive(Default)]
struct Strict {
    is_over: bool,
    started: bool,
    finished: usize,
    id: Value,
    number: Option<u64>,
    /// Items or blocks that have begun and not ended.
    open: BTreeSet<u64>,
    /// The next index.
    next: u64,
}

impl Strict {
    fn begins(&mut self, index: &Value) {
        assert_eq!(index.as_u64(), Some(self.next), "an index was left out");
        self.open.insert(self.next);
        self.next += 1;
    }

    fn ends(&mut self, index: &Value) {
        assert!(
            self.open.remove(&index.as_u64().unwrap()),
            "{index} is not open"
        );
    }

    fn response(&mut self, name: &str, event: &Value) {
        let number = event["sequence_number"].as_u64();
        assert!(number > self.number, "{number:?} behind {:?}", self.number);
        self.number = number;
        let kind = event["type"].as_str().unwrap();
        assert_eq!(name, kind);
        match kind {
            "response.created" => {
                assert!(!std::mem::replace(&mut self.started, true));
                self.id = event["response"]["id"].clone();
            }
            "response.output_item.added" => self.begins(&event["output_index"]),
            "response.output_item.done" => self.ends(&event["output_index"]),
            "response.completed" | "response.incomplete" => {
                assert_eq!(event["response"]["id"], self.id);
                let output = event["response"]["output"].as_array().unwrap();
                assert_eq!(output.len() as u64, self.next);
                self.is_over = true;
            }
            _ => {}
        }
        if let Some(index) = event["output_index"].as_u64()
            && kind != "response.output_item.done"
        {
            assert!(self.open.contains(&index), "{kind} about {index}");
        }
        assert!(self.started);
    }

    fn message(&mut self, name: &str, event: &Value) {
        let kind = event["type"].as_str().unwrap();
        assert_eq!(name, kind);
        match kind {
            "message_start" => assert!(!std::mem::replace(&mut self.started, true)),
            "content_block_start" => {
                assert!(self.open.is_empty(), "two blocks at a time");
                self.begins(&event["index"]);
            }
            "content_block_delta" => {
                assert!(self.open.contains(&event["index"].as_u64().unwrap()));
            }
            "content_block_stop" => self.ends(&event["index"]),
            "message_delta" => {
                self.finished += 1;
                assert!(event["delta"]["stop_reason"].is_string());
            }
            "message_stop" => self.is_over = true,
            _ => {}
        }
        assert!(self.started);
    }

    fn converse(&mut self, event: &Value) {
        let (kind, value) = event.as_object().unwrap().iter().next().unwrap();
        let index = &value["contentBlockIndex"];
        match kind.as_str() {
            "messageStart" => assert!(!std::mem::replace(&mut self.started, true)),
            "contentBlockStart" => {
                assert!(self.open.is_empty(), "two blocks at a time");
                self.begins(index);
            }
            // Only calls, results and images say that they begin.
            "contentBlockDelta" if self.open.is_empty() => self.begins(index),
            "contentBlockDelta" => assert!(self.open.contains(&index.as_u64().unwrap())),
            "contentBlockStop" => self.ends(index),
            "messageStop" => {
                self.finished += 1;
                assert!(value["stopReason"].is_string());
            }
            "metadata" => self.is_over = true,
            _ => {}
        }
        assert!(self.started);
    }

    fn chunk(&mut self, event: &Value) {
        assert_eq!(event["object"], "chat.completion.chunk");
        if !std::mem::replace(&mut self.started, true) {
            self.id = event["id"].clone();
        }
        assert_eq!(event["id"], self.id);
        let Some(choice) = event["choices"].get(0) else {
            assert_eq!(self.finished, 1, "the usage comes behind the last choice");
            assert!(event["usage"].is_object());
            return;
        };
        assert_eq!(self.finished, 0, "a choice behind its end");
        self.finished += usize::from(choice["finish_reason"].is_string());
    }
}
