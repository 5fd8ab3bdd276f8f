//! What the load client asks: requests of a size, as an agent with one tool sends them.

use bytes::Bytes;
use clap::ValueEnum;
use serde_json::{Value, json};

/// How the API is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialect {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/responses`.
    Responses,
}

impl Dialect {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
        }
    }
}

/// What the upstream is to answer. The client asks for it in the header [`ANSWER`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Answer {
    /// One JSON text of 1 KB.
    Text,
    /// The same with a sound tool call.
    Call,
    /// 200 text deltas, one each millisecond.
    Stream,
}

/// Names the [`Answer`]; not a name that a provider or a proxy knows.
pub(crate) const ANSWER: &str = "x-load-answer";

impl Answer {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Call => "call",
            Self::Stream => "stream",
        }
    }
}

/// The tool that requests offer and replies call.
pub(crate) const TOOL: &str = "search_flights";
/// Stands where each request has a number of its own, so that no two bodies are the same.
const NUMBER: &str = "REQUEST-00000000";
/// About how long the output of one call is.
const OUTPUT_BYTES: usize = 2_000;

/// Stands in the id of each call where the number of a request that repeats no other one stands, too.
const FRESH: &str = "FRESH-00000000";

/// A request of a size, written once.
pub(crate) struct Ask {
    body: Vec<u8>,
    /// Where its number stands.
    digits: Vec<usize>,
}

impl Ask {
    /// A request of exactly so many bytes, if it does not need more. It repeats the one before it but for the last word, or, where it is
    /// `fresh`, is of a conversation of its own.
    pub(crate) fn new(dialect: Dialect, streams: bool, bytes: usize, fresh: bool) -> Self {
        let id = |round| match fresh {
            true => format!("call_{FRESH}_{round:04}"),
            false => format!("call_{round:08}"),
        };
        let write = |rounds, filler: &str| body(dialect, streams, rounds, filler, id).to_string();
        let (bare, one) = (write(0, "").len(), write(1, "").len());
        let rounds = bytes.saturating_sub(bare) / (one - bare);
        let filler = "x".repeat(bytes.saturating_sub(write(rounds, "").len()));
        let body = write(rounds, &filler).into_bytes();
        let digits = [NUMBER, FRESH].iter().flat_map(|word| {
            let found = memchr::memmem::find_iter(&body, word.as_bytes());
            found.map(|at| at + word.len() - 8)
        });
        let digits = digits.collect();
        Self { body, digits }
    }

    /// The request with its number.
    pub(crate) fn numbered(&self, number: u32) -> Bytes {
        let mut body = self.body.clone();
        let digits = format!("{:08}", number % 100_000_000);
        for at in &self.digits {
            body[*at..at + 8].copy_from_slice(digits.as_bytes());
        }
        Bytes::from(body)
    }
}

/// A history of answered calls between a first and a last word of the user.
fn body(
    dialect: Dialect,
    streams: bool,
    rounds: usize,
    filler: &str,
    call_id: impl Fn(usize) -> String,
) -> Value {
    let first = "Find me a flight from JFK to LIS, not too early.";
    let last = format!("{NUMBER} Which is the cheapest? {filler}");
    match dialect {
        Dialect::Chat => {
            let mut messages = vec![
                json!({"role": "system", "content": "You book flights."}),
                json!({"role": "user", "content": first}),
            ];
            for round in 0..rounds {
                let id = call_id(round);
                let function = json!({"name": TOOL, "arguments": arguments(round + 2, "")});
                let call = json!({"id": id, "type": "function", "function": function});
                messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
                messages
                    .push(json!({"role": "tool", "tool_call_id": id, "content": output(round)}));
            }
            messages.push(json!({"role": "user", "content": last}));
            let tool =
                json!({"name": TOOL, "description": "Finds flights", "parameters": parameters()});
            let tools = json!([{"type": "function", "function": tool}]);
            json!({"model": "bench", "stream": streams, "messages": messages, "tools": tools})
        }
        Dialect::Responses => {
            let mut input = vec![json!({"role": "user", "content": first})];
            for round in 0..rounds {
                let id = call_id(round);
                input.push(json!({"type": "function_call", "call_id": id, "name": TOOL, "arguments": arguments(round + 2, "")}));
                input.push(
                    json!({"type": "function_call_output", "call_id": id, "output": output(round)}),
                );
            }
            input.push(json!({"role": "user", "content": last}));
            let tools = json!([{"type": "function", "name": TOOL, "description": "Finds flights",
                "parameters": parameters(), "strict": false}]);
            json!({"model": "bench", "stream": streams, "instructions": "You book flights.", "input": input, "tools": tools})
        }
    }
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "origin": {"type": "string"},
            "date": {"type": "string"},
            "seats": {"type": "integer", "minimum": 1},
            "note": {"type": "string"},
        },
        "required": ["origin", "date"],
        "additionalProperties": false,
    })
}

/// Sound arguments of the tool: the seats make each call another one, a note makes it longer.
pub(crate) fn arguments(seats: usize, note: &str) -> String {
    json!({"origin": "JFK", "date": "2026-05-11", "seats": seats, "note": note}).to_string()
}

/// JSON in a text, as tools give it.
fn output(round: usize) -> String {
    let flight = format!(
        r#"{{"flight":"TP 208","from":"JFK","to":"LIS","price":{}.5,"stops":0}}"#,
        1000 + round
    );
    let mut lines = format!("{flight}\n").repeat(OUTPUT_BYTES / (flight.len() + 1));
    lines.pop();
    lines
}
