//! Tasks of Cline and Roo Code (`api_conversation_history.json`): a list of messages of Anthropic. Newer
//! versions have blocks for calls and results; in older ones the model writes a call as XML into its text, and
//! the result is text of the next message.

use super::transcript::{self, Head, Transcript};
use super::{Contents, Document, Format, Layout, Reading, Records, Sample, assemble_plain};
use crate::json::{Cursor, Result};
use crate::session::{Fragment, Source, SourceResult};
use crate::wire::write::{Object, quoted};
use crate::wire::{Part, Role, anthropic};
use std::sync::Arc;

/// The row of tasks whose calls are blocks.
pub(super) const FORMAT: Format = Format {
    id: "cline",
    title: "tasks of Cline and Roo Code",
    sniff: |sample: &Sample<'_>| match is_task(sample) {
        true => 95,
        false => 0,
    },
    reading: Reading::Records(Records {
        spells: false,
        line: read_message,
        element: read_message,
        member: |_, _, _, _| Ok(()),
        arrays: &["messages"],
        assemble: |fragment: Fragment, source: &Arc<dyn Source>| {
            assemble_plain(FORMAT.id, FORMAT.dialect(), fragment, source)
        },
    }),
};

/// The row of tasks whose calls are XML.
pub(super) const XML: Format = Format {
    id: "cline-xml",
    title: "tasks of Cline and Roo Code with calls as XML",
    sniff: |sample: &Sample<'_>| {
        let has_blocks = sample.mentions("\"tool_use\"") || sample.mentions("\"tool_result\"");
        let is_answered = sample.mentions("] Result:");
        match is_task(sample) && is_answered && !has_blocks {
            true => 96,
            false => 0,
        }
    },
    reading: Reading::Whole(read),
};

/// How the first message of a task begins, and one with which it was taken up again.
const OPENINGS: [&str; 4] = [
    "<task>",
    "<user_message>",
    "<feedback>",
    "[TASK RESUMPTION]",
];

/// A list of messages, or a document that holds one, that begins with what the user wants.
fn is_task(sample: &Sample<'_>) -> bool {
    let opens = |message: &Document<'_>| {
        let mut blocks = message.array("content").into_iter();
        let opens = |text: &str| OPENINGS.iter().any(|opening| text.starts_with(opening));
        message.says("role", "user")
            && blocks.any(|block| block.text("text").is_some_and(|text| opens(&text)))
    };
    let first = sample.first();
    first.is_some_and(|first| match sample.layout {
        Layout::Array(_) => opens(first),
        Layout::Object(_) => first.array("messages").first().is_some_and(opens),
        Layout::Lines | Layout::Text => false,
    })
}

fn read_message(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    anthropic::read_message(cursor, base, out).map(|_| ())
}

/// A message of a task whose calls are XML.
struct Message {
    head: Head,
    role: Role,
    parts: Vec<Part>,
}

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut out = Transcript::new(XML.id, XML.dialect());
    let mut messages = Vec::new();
    let read = |message: &Object<'_>, line| Message {
        head: Head::new(line).at(message.get("ts")),
        role: match &*message.text("role") {
            "assistant" => Role::Model,
            _ => Role::User,
        },
        parts: transcript::content(message.get("content")),
    };
    out.read_objects(bytes, |_, document, lines| {
        if !document.has("messages") {
            messages.push(read(document, lines.first()));
        }
        for json in document.list("messages") {
            let line = lines.of(json);
            messages.push(read(&Object::read(json), line));
        }
    });
    let mut called = None;
    for (index, message) in messages.iter().enumerate() {
        let id = format!("call_{index}");
        called = match message.role {
            Role::Model => write_reply(&mut out, message, messages.get(index + 1), id),
            Role::System | Role::Developer | Role::User | Role::Tool => {
                write_input(&mut out, message, called);
                None
            }
        };
    }
    out.finish()
}

/// A call that the next message answers, by its id and its tool.
type PendingCall = (String, String);

/// Writes what the model said, and the call in it where the next message says what came of it: one that nobody
/// answered is no more than text for the provider.
fn write_reply(
    out: &mut Transcript,
    message: &Message,
    next: Option<&Message>,
    id: String,
) -> Option<PendingCall> {
    let mut called = None;
    out.begin_reply();
    for part in &message.parts {
        let call = match part {
            Part::Text(text) if called.is_none() => XmlCall::find(text),
            _ => None,
        };
        let is_answered = |call: &XmlCall<'_>| {
            next.is_some_and(|next| next.parts.iter().any(|part| is_result(part, call.name)))
        };
        let Some(call) = call.filter(is_answered) else {
            out.say(&message.head, Role::Model, vec![part.clone()]);
            continue;
        };
        let spoken = Part::Text(call.before.trim_end().to_owned());
        out.say(&message.head, Role::Model, vec![spoken]);
        let input = call.input();
        let call_part = transcript::call(&id, call.name, Some(&input));
        out.add(&message.head, Role::Model, vec![call_part]);
        called = Some((id.clone(), call.name.to_owned()));
    }
    called
}

/// The heading of a result: `[read_file for 'boats.txt'] Result:`.
const RESULT: &str = "] Result:";
/// What a result says that is an error.
const FAILED: &str = "The tool execution failed with the following error";

fn is_result(part: &Part, tool: &str) -> bool {
    let Part::Text(text) = part else {
        return false;
    };
    let named = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_prefix(tool));
    named.is_some_and(|rest| rest.contains(RESULT))
}

/// Writes what the model is given: the result of its call, which follows its heading or in the next part,
/// and the rest as the user's.
fn write_input(out: &mut Transcript, message: &Message, called: Option<PendingCall>) {
    let mut rest = message.parts.clone();
    if let Some((id, tool)) = called {
        let place = rest.iter().position(|part| is_result(part, &tool));
        let headed = place.map(|place| (place, rest.remove(place)));
        if let Some((place, Part::Text(text))) = headed {
            let own = text.split_once(RESULT).map_or("", |(_, own)| own.trim());
            let is_elsewhere = own.is_empty() && place < rest.len();
            let content = match is_elsewhere {
                true => rest.remove(place),
                false => Part::Text(own.to_owned()),
            };
            let has_failed = matches!(&content, Part::Text(text) if text.contains(FAILED));
            let result = transcript::result(&id, &tool, vec![content], has_failed);
            out.add(&message.head, Role::Tool, vec![result]);
        }
    }
    out.say(&message.head, Role::User, rest);
}

/// A call as the model writes it: `<read_file>`, its parameters as elements, `</read_file>`.
struct XmlCall<'a> {
    before: &'a str,
    name: &'a str,
    /// Each by its name.
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> XmlCall<'a> {
    /// The first call of a text: an element at the beginning of a line that holds elements and nothing else.
    fn find(text: &'a str) -> Option<Self> {
        let starts = text.match_indices('<').map(|(at, _)| at);
        let mut starts = starts.filter(|at| *at == 0 || text[..*at].ends_with('\n'));
        starts.find_map(|at| {
            let (name, inside, _) = element(&text[at..])?;
            let mut rest = inside.trim();
            let mut parameters = Vec::new();
            while !rest.is_empty() {
                let (parameter, value, after) = element(rest)?;
                parameters.push((parameter, value.trim_matches('\n')));
                rest = after.trim();
            }
            (!parameters.is_empty()).then_some(Self {
                before: &text[..at],
                name,
                parameters,
            })
        })
    }

    fn input(&self) -> String {
        let members = self.parameters.iter();
        let members = members.map(|(name, value)| format!("{}:{}", quoted(name), quoted(value)));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}

/// The element that a text begins with: its name, what it holds, and what comes after it. It ends with the last
/// tag of its name: a file may hold any text.
fn element(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.strip_prefix('<')?.split_once('>')?;
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_name) {
        return None;
    }
    let close = format!("</{name}>");
    let end = rest.rfind(&close)?;
    Some((name, &rest[..end], &rest[end + close.len()..]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::read;
    use crate::session::{Flags, Kind, PairStatus, Session};
    use serde_json::{Value, json};

    fn session(messages: &Value, format: &str) -> Session {
        let mut contents = read(format, &messages.to_string());
        assert_eq!(contents.problems, []);
        contents.sessions.remove(0)
    }

    fn text(role: &str, parts: &[&str]) -> Value {
        let blocks = parts
            .iter()
            .map(|part| json!({"type": "text", "text": part}));
        json!({"role": role, "content": blocks.collect::<Vec<_>>(), "ts": 1_760_000_000_000_u64})
    }

    #[test]
    fn calls_in_blocks_are_those_of_the_provider() {
        let call = json!({"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a"}});
        let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "a"});
        let messages = json!([
            text("user", &["<task>\nCount the boats.\n</task>", "<environment_details>\n</environment_details>"]),
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]);
        for document in [
            messages.clone(),
            json!({"version": 1, "messages": messages}),
        ] {
            let session = session(&document, "cline");
            let call = session
                .items
                .iter()
                .position(|item| item.kind == Kind::Call)
                .unwrap();
            assert_eq!(
                session.pairing.standing(call),
                PairStatus::Paired(call as u32 + 1)
            );
        }
    }

    #[test]
    fn calls_in_the_text_are_paired_with_the_results_in_the_next_message() {
        let write = "I write it.\n\n<write_to_file>\n<path>a.html</path>\n<content>\n<p>\n</content>\n</p>\n</content>\n</write_to_file>";
        let session = session(
            &json!([
                text(
                    "user",
                    &[
                        "<task>\nCount.\n</task>",
                        "<environment_details>x</environment_details>"
                    ]
                ),
                text(
                    "assistant",
                    &[
                        "<thinking>\nWhich?\n</thinking>\n\n<read_file>\n<path>a</path>\n</read_file>"
                    ]
                ),
                text(
                    "user",
                    &[
                        "[read_file for 'a'] Result:",
                        "three boats",
                        "<environment_details>y</environment_details>"
                    ]
                ),
                text("assistant", &[write]),
                text(
                    "user",
                    &[
                        "[write_to_file for 'a.html'] Result:\nThe tool execution failed with the following error: no"
                    ]
                ),
                text(
                    "assistant",
                    &["<attempt_completion>\n<result>\nThree.\n</result>\n</attempt_completion>"]
                ),
            ]),
            "cline-xml",
        );
        let calls = session.items.iter().enumerate();
        let calls = calls.filter(|(_, item)| item.kind == Kind::Call);
        let calls: Vec<usize> = calls.map(|(index, _)| index).collect();
        assert_eq!(calls.len(), 2, "what nobody answered is text");
        for call in &calls {
            let output = *call as u32 + 1;
            assert_eq!(session.pairing.standing(*call), PairStatus::Paired(output));
        }
        assert!(session.items[calls[1] + 1].flags.has(Flags::ERROR));
        let spoken = |index: usize| {
            let bytes = session.bytes(&session.items[index]).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        assert!(spoken(calls[0] + 1).contains("three boats"));
        assert!(
            spoken(calls[1]).contains(r"<p>\n</content>\n</p>"),
            "{}",
            spoken(calls[1])
        );
        assert!(spoken(calls[0] - 1).contains("Which?"));
    }
}
