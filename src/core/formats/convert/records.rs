//! The records of each agent's session files, as the programs write and load them (Claude Code 2.1, Codex 0.169,
//! Gemini CLI 0.61, opencode 1.18, pi 0.73).

use super::agent::{AgentProgram, NewSession, opencode_session, tail};
use crate::wire::write::{Object, quoted};
use crate::wire::{Element, Part, Role, ToolCall, ToolResult, inline_data, joined};
use jiff::Timestamp;
use std::collections::HashMap;
use std::iter;

/// Writes the records of a session.
pub(super) trait RecordWriter {
    /// What comes before the first message.
    fn open(&mut self) -> String;

    /// A message as the provider gets it, where the agent keeps these; with the times of its blocks where
    /// it is of blocks.
    fn message(&mut self, _json: &str, _times: &[u64]) -> String {
        String::new()
    }

    /// A message as no dialect spells it, for the other agents.
    fn element(&mut self, _element: Element, _at: Option<u64>) -> String {
        String::new()
    }

    /// What comes after the last message.
    fn close(&mut self) -> String {
        String::new()
    }
}

/// The records of an agent; `model` is the one that answered and `first` when the session began, where they are known.
pub(super) fn records<'a>(
    agent: AgentProgram,
    new: &'a NewSession,
    model: Option<&str>,
    first: Option<u64>,
) -> Box<dyn RecordWriter + 'a> {
    let head = Head {
        new,
        model: quoted(model.unwrap_or("unknown")),
        count: 0,
        began: first.unwrap_or(new.at),
        recorded: first,
        parent: "null".to_owned(),
    };
    match agent {
        AgentProgram::ClaudeCode => Box::new(ClaudeCode(head)),
        AgentProgram::Codex => Box::new(Codex(head)),
        AgentProgram::GeminiCli => Box::new(GeminiCli { head, reply: None }),
        AgentProgram::Opencode => Box::new(Opencode {
            head,
            reply: None,
            title: String::new(),
        }),
        AgentProgram::Pi => Box::new(Pi {
            head,
            names: HashMap::new(),
        }),
    }
}

/// What the records of a session have in common.
struct Head<'a> {
    new: &'a NewSession,
    /// The model, as JSON.
    model: String,
    /// How many records have an id.
    count: u64,
    /// When the session began.
    began: u64,
    /// When what is written was recorded.
    recorded: Option<u64>,
    /// The id of the record before, as JSON.
    parent: String,
}

impl Head<'_> {
    /// Milliseconds since 1970. Where nothing is recorded each record comes one after the record before.
    fn at(&self) -> u64 {
        self.recorded.unwrap_or(self.new.at + self.count)
    }

    fn time(&self) -> String {
        let at = i64::try_from(self.at()).unwrap_or(i64::MAX);
        let moment = Timestamp::from_millisecond(at).unwrap_or(Timestamp::MAX);
        format!("{moment:.3}")
    }

    fn folder(&self) -> String {
        quoted(&self.new.folder)
    }
}

/// A line for each message, linked to the one before; an output has a line of its own.
struct ClaudeCode<'a>(Head<'a>);

impl RecordWriter for ClaudeCode<'_> {
    fn open(&mut self) -> String {
        String::new()
    }

    fn message(&mut self, json: &str, times: &[u64]) -> String {
        let message = Object::read(json);
        let content = message.list("content");
        let first = times.first().copied();
        if message.text("role") == "assistant" {
            self.0.recorded = first;
            let (number, model, content) = (self.0.count, &self.0.model, content.join(","));
            let message = format!(
                r#"{{"id":"msg_{number}","type":"message","role":"assistant","model":{model},"content":[{content}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":0,"output_tokens":0}}}}"#
            );
            return self.line("assistant", &message);
        }
        let is_output = |block: &&str| Object::read(block).text("type") == "tool_result";
        let times = times.iter().copied().map(Some);
        let blocks = content.into_iter().zip(times.chain(iter::repeat(first)));
        let (outputs, others): (Vec<_>, Vec<_>) = blocks.partition(|(block, _)| is_output(block));
        let at = others.first().and_then(|(_, at)| *at);
        let others = others.into_iter().map(|(block, _)| block);
        let others = Some((others.collect::<Vec<_>>().join(","), at));
        let others = others.filter(|(others, _)| !others.is_empty());
        let outputs = outputs.into_iter();
        let outputs = outputs.map(|(block, at)| (block.to_owned(), at));
        let lines = outputs.chain(others).map(|(content, at)| {
            self.0.recorded = at;
            let message = format!(r#"{{"role":"user","content":[{content}]}}"#);
            self.line("user", &message)
        });
        lines.collect()
    }
}

impl ClaudeCode<'_> {
    fn line(&mut self, kind: &str, message: &str) -> String {
        self.0.count += 1;
        let (id, time, parent) = (&self.0.new.id, self.0.time(), &self.0.parent);
        let (beginning, number) = (&id[..id.len().min(24)], self.0.count);
        let (uuid, folder) = (format!("\"{beginning}{number:012x}\""), self.0.folder());
        let json = format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":{folder},"sessionId":"{id}","version":"2.0.0","type":"{kind}","message":{message},"uuid":{uuid},"timestamp":"{time}"}}"#
        );
        self.0.parent = uuid;
        line(&json)
    }
}

/// A line for each item. What the screen shows are events, and a session without one of the user is not listed.
struct Codex<'a>(Head<'a>);

impl RecordWriter for Codex<'_> {
    fn open(&mut self) -> String {
        let (id, folder, time) = (&self.0.new.id, self.0.folder(), self.0.time());
        let meta = format!(
            r#"{{"id":"{id}","timestamp":"{time}","cwd":{folder},"originator":"retake","cli_version":"0.0.0","source":"cli"}}"#
        );
        self.line("session_meta", &meta)
    }

    fn message(&mut self, json: &str, times: &[u64]) -> String {
        self.0.recorded = times.first().copied();
        let mut item = Object::read(json);
        let role = item.text("role");
        let (event, part) = match &*role {
            "assistant" => (Some("agent_message"), "output_text"),
            "user" => (Some("user_message"), "input_text"),
            _ => (None, "input_text"),
        };
        if let Some(text) = item.get("content").filter(|text| text.starts_with('"')) {
            let content = format!(r#"[{{"type":"{part}","text":{text}}}]"#);
            item.set("content", content);
        }
        item.add("type", r#""message""#);
        let line = self.line("response_item", &item.json());
        let parts = item.list("content").into_iter();
        let texts = parts.map(|part| Object::read(part).text("text"));
        let text = quoted(&texts.collect::<Vec<_>>().join("\n"));
        let event = event.map(|event| format!(r#"{{"type":"{event}","message":{text}}}"#));
        line + &event.map_or_else(String::new, |event| self.line("event_msg", &event))
    }
}

impl Codex<'_> {
    fn line(&mut self, kind: &str, payload: &str) -> String {
        let time = self.0.time();
        self.0.count += 1;
        line(&format!(
            r#"{{"timestamp":"{time}","type":"{kind}","payload":{payload}}}"#
        ))
    }
}

/// Entries that name the one before; an output is an entry of its own.
struct Pi<'a> {
    head: Head<'a>,
    /// The names of the calls, by their ids.
    names: HashMap<String, String>,
}

impl RecordWriter for Pi<'_> {
    fn open(&mut self) -> String {
        let (id, folder, time) = (&self.head.new.id, self.head.folder(), self.head.time());
        line(&format!(
            r#"{{"type":"session","version":3,"id":"{id}","timestamp":"{time}","cwd":{folder}}}"#
        ))
    }

    fn element(&mut self, element: Element, at: Option<u64>) -> String {
        self.head.recorded = at;
        let at = self.head.at();
        match element.role {
            Role::Model => {
                let reason = match calls_of(&element.parts).next() {
                    Some(_) => "toolUse",
                    None => "stop",
                };
                let names = calls_of(&element.parts).map(|call| (id_of(call), call.name.clone()));
                self.names.extend(names);
                let (model, content) = (&self.head.model, pi_content(&element.parts));
                let message = format!(
                    r#"{{"role":"assistant","content":[{content}],"api":"unknown","provider":"unknown","model":{model},"usage":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}},"stopReason":"{reason}","timestamp":{at}}}"#
                );
                self.line(&message)
            }
            Role::Tool => results_of(element.parts)
                .map(|output| {
                    let id = output.id.unwrap_or_default();
                    let name = quoted(self.names.get(&id).unwrap_or(&output.name));
                    let (id, content) = (quoted(&id), pi_content(&output.content));
                    let is_error = output.is_error;
                    let message = format!(
                        r#"{{"role":"toolResult","toolCallId":{id},"toolName":{name},"content":[{content}],"isError":{is_error},"timestamp":{at}}}"#
                    );
                    self.line(&message)
                })
                .collect(),
            Role::User | Role::System | Role::Developer => {
                let content = pi_content(&element.parts);
                self.line(&format!(
                    r#"{{"role":"user","content":[{content}],"timestamp":{at}}}"#
                ))
            }
        }
    }
}

impl Pi<'_> {
    fn line(&mut self, message: &str) -> String {
        self.head.count += 1;
        let (time, parent, number) = (self.head.time(), &self.head.parent, self.head.count);
        let id = format!("\"{number:08x}\"");
        let json = format!(
            r#"{{"type":"message","id":{id},"parentId":{parent},"timestamp":"{time}","message":{message}}}"#
        );
        self.head.parent = id;
        line(&json)
    }
}

fn pi_content(parts: &[Part]) -> String {
    let blocks = parts.iter().filter_map(|part| match part {
        Part::Call(call) => {
            let (id, name) = (quoted(&id_of(call)), quoted(&call.name));
            let arguments = call.input.as_object();
            Some(format!(
                r#"{{"type":"toolCall","id":{id},"name":{name},"arguments":{arguments}}}"#
            ))
        }
        Part::Image(url) => inline_data(url).map(|(kind, data)| {
            let (kind, data) = (quoted(kind), quoted(data));
            format!(r#"{{"type":"image","data":{data},"mimeType":{kind}}}"#)
        }),
        part => part.text().map(|text| format!("{{{}}}", text_part(text))),
    });
    blocks.collect::<Vec<_>>().join(",")
}

/// A reply with the outputs of its calls, which follow it.
struct Reply {
    parts: Vec<Part>,
    /// When it was recorded.
    at: Option<u64>,
    /// With when each was recorded.
    outputs: HashMap<String, (ToolResult, Option<u64>)>,
}

impl Reply {
    fn new(parts: Vec<Part>, at: Option<u64>) -> Self {
        Self {
            parts,
            at,
            outputs: HashMap::new(),
        }
    }

    fn answer(&mut self, outputs: impl Iterator<Item = ToolResult>, at: Option<u64>) {
        let outputs = outputs.map(|output| (output.id.clone().unwrap_or_default(), (output, at)));
        self.outputs.extend(outputs);
    }

    /// The output of a call, and when the call was over as far as that is known.
    fn output(&self, id: &str) -> (Option<&ToolResult>, Option<u64>) {
        match self.outputs.get(id) {
            Some((output, at)) => (Some(output), *at),
            None => (None, self.at),
        }
    }
}

/// A line for each message; a reply holds its calls with their outputs.
struct GeminiCli<'a> {
    head: Head<'a>,
    /// The reply whose outputs may follow.
    reply: Option<Reply>,
}

impl RecordWriter for GeminiCli<'_> {
    fn open(&mut self) -> String {
        let (id, time) = (&self.head.new.id, self.head.time());
        let header = line(&format!(
            r#"{{"sessionId":"{id}","projectHash":"{id}","startTime":"{time}","lastUpdated":"{time}","kind":"main"}}"#
        ));
        // The first message is replaced by one about the folder when the session is loaded.
        let context = r#""content":[{"text":"<session_context>\n</session_context>"}]"#;
        header + &self.line("user", context)
    }

    fn element(&mut self, element: Element, at: Option<u64>) -> String {
        if element.role == Role::Tool {
            if let Some(reply) = &mut self.reply {
                reply.answer(results_of(element.parts), at);
            }
            return String::new();
        }
        let last = self.close();
        if element.role == Role::Model {
            self.reply = Some(Reply::new(element.parts, at));
            return last;
        }
        self.head.recorded = at;
        let parts = element.parts.iter().filter_map(|part| match part {
            Part::Image(url) => inline_data(url).map(|(kind, data)| {
                let (kind, data) = (quoted(kind), quoted(data));
                format!(r#"{{"inlineData":{{"mimeType":{kind},"data":{data}}}}}"#)
            }),
            part => part
                .text()
                .map(|text| format!(r#"{{"text":{}}}"#, quoted(text))),
        });
        let parts = parts.collect::<Vec<_>>().join(",");
        last + &self.line("user", &format!(r#""content":[{parts}]"#))
    }

    /// The reply that is open.
    fn close(&mut self) -> String {
        let Some(reply) = self.reply.take() else {
            return String::new();
        };
        let calls = calls_of(&reply.parts).map(|call| {
            let (id, name, arguments) = (id_of(call), quoted(&call.name), call.input.as_object());
            let (output, at) = reply.output(&id);
            self.head.recorded = at;
            let time = self.head.time();
            let (id, is_error) = (quoted(&id), output.is_some_and(|output| output.is_error));
            let status = match output {
                None => "cancelled",
                Some(_) if is_error => "error",
                Some(_) => "success",
            };
            let key = if is_error { "error" } else { "output" };
            let result = output.map(|output| {
                let text = quoted(&joined(&output.content));
                format!(
                    r#""result":[{{"functionResponse":{{"id":{id},"name":{name},"response":{{"{key}":{text}}}}}}}],"#
                )
            });
            let result = result.unwrap_or_default();
            format!(
                r#"{{"id":{id},"name":{name},"args":{arguments},{result}"status":"{status}","timestamp":"{time}"}}"#
            )
        });
        let calls = calls.collect::<Vec<_>>().join(",");
        self.head.recorded = reply.at;
        let (text, model) = (quoted(&joined(&reply.parts)), &self.head.model);
        let members = format!(r#""content":{text},"model":{model},"toolCalls":[{calls}]"#);
        self.line("gemini", &members)
    }
}

impl GeminiCli<'_> {
    fn line(&mut self, kind: &str, members: &str) -> String {
        self.head.count += 1;
        let (id, time) = (self.head.count, self.head.time());
        line(&format!(
            r#"{{"id":"{id}","timestamp":"{time}","type":"{kind}",{members}}}"#
        ))
    }
}

/// One document, as `opencode export` writes it; a call is a part of a reply and holds its output.
struct Opencode<'a> {
    head: Head<'a>,
    /// The reply whose outputs may follow.
    reply: Option<Reply>,
    title: String,
}

/// Longest title of a session, in characters.
const TITLE: usize = 60;

/// What a reply cost: nothing that is known.
const NO_TOKENS: &str =
    r#""cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#;

impl RecordWriter for Opencode<'_> {
    fn open(&mut self) -> String {
        r#"{"messages":["#.to_owned()
    }

    fn element(&mut self, element: Element, at: Option<u64>) -> String {
        if element.role == Role::Tool {
            if let Some(reply) = &mut self.reply {
                reply.answer(results_of(element.parts), at);
            }
            return String::new();
        }
        let last = self.end_reply();
        if element.role == Role::Model {
            self.reply = Some(Reply::new(element.parts, at));
            return last;
        }
        self.head.recorded = at;
        if self.title.is_empty() {
            let text = joined(&element.parts);
            let first = text.lines().next().unwrap_or_default();
            self.title = first.chars().take(TITLE).collect();
        }
        last + &self.user(&element.parts)
    }

    fn close(&mut self) -> String {
        let last = self.end_reply();
        let id = opencode_session(&self.head.new.id);
        let (folder, title) = (self.head.folder(), quoted(&self.title));
        let (created, updated) = (self.head.began, self.head.at());
        let info = format!(
            r#""info":{{"id":"{id}","slug":"{id}","projectID":"global","directory":{folder},"title":{title},"version":"1.0.0","time":{{"created":{created},"updated":{updated}}}}}"#
        );
        format!("{last}\n],\n{info}}}\n")
    }
}

impl Opencode<'_> {
    fn user(&mut self, parts: &[Part]) -> String {
        let (model, at) = (&self.head.model, self.head.at());
        let info = format!(
            r#""role":"user","agent":"build","model":{{"providerID":"unknown","modelID":{model}}},"time":{{"created":{at}}}"#
        );
        let parts = parts.iter().filter_map(|part| match part {
            Part::Image(url) => {
                let kind = inline_data(url).map_or("image/png", |(kind, _)| kind);
                let (kind, url) = (quoted(kind), quoted(url));
                Some(format!(r#""type":"file","mime":{kind},"url":{url}"#))
            }
            part => part.text().map(text_part),
        });
        self.head.parent = quoted(&self.id("msg"));
        self.message(&info, parts.collect())
    }

    fn end_reply(&mut self) -> String {
        let Some(reply) = self.reply.take() else {
            return String::new();
        };
        self.head.recorded = reply.at;
        let (at, folder) = (self.head.at(), self.head.folder());
        let finish = match calls_of(&reply.parts).next() {
            Some(_) => "tool-calls",
            None => "stop",
        };
        let (model, parent) = (&self.head.model, &self.head.parent);
        let info = format!(
            r#""role":"assistant","parentID":{parent},"mode":"build","agent":"build","path":{{"cwd":{folder},"root":"/"}},{NO_TOKENS},"providerID":"unknown","modelID":{model},"time":{{"created":{at},"completed":{at}}},"finish":"{finish}""#
        );
        let reply_texts = reply.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(opencode_call(call, &reply, at)),
            part => part.text().map(text_part),
        });
        let start = r#""type":"step-start""#.to_owned();
        let end = format!(r#""type":"step-finish","reason":"{finish}",{NO_TOKENS}"#);
        let parts = iter::once(start).chain(reply_texts).chain([end]).collect();
        self.message(&info, parts)
    }

    /// A message with its parts, each the members of an object.
    fn message(&mut self, info: &str, parts: Vec<String>) -> String {
        let comma = if self.head.count == 0 { "" } else { "," };
        let session = opencode_session(&self.head.new.id);
        let message = self.id("msg");
        let parts = parts.into_iter().map(|part| {
            self.head.count += 1;
            let id = self.id("prt");
            format!(r#"{{"id":"{id}","sessionID":"{session}","messageID":"{message}",{part}}}"#)
        });
        let parts = parts.collect::<Vec<_>>().join(",");
        self.head.count += 1;
        let info = format!(r#"{{"id":"{message}","sessionID":"{session}",{info}}}"#);
        format!("{comma}\n{{\"info\":{info},\"parts\":[{parts}]}}")
    }

    /// Ids sort by the time in their first half.
    fn id(&self, of: &str) -> String {
        let time = ((self.head.new.at << 12) + self.head.count) & 0xffff_ffff_ffff;
        format!("{of}_{time:012x}{}", tail(&self.head.new.id))
    }
}

fn opencode_call(call: &ToolCall, reply: &Reply, at: u64) -> String {
    let (id, name, input) = (id_of(call), quoted(&call.name), call.input.as_object());
    let (output, end) = reply.output(&id);
    let end = end.map_or(at, |end| end.max(at));
    let state = match output {
        None => format!(r#""status":"running","input":{input},"time":{{"start":{at}}}"#),
        Some(output) => {
            let text = quoted(&joined(&output.content));
            let outcome = match output.is_error {
                true => format!(r#""status":"error","error":{text}"#),
                false => {
                    format!(r#""status":"completed","output":{text},"title":"","metadata":{{}}"#)
                }
            };
            format!(r#"{outcome},"input":{input},"time":{{"start":{at},"end":{end}}}"#)
        }
    };
    let id = quoted(&id);
    format!(r#""type":"tool","tool":{name},"callID":{id},"state":{{{state}}}"#)
}

/// A record on a line of its own: what was copied into it may be on several.
fn line(json: &str) -> String {
    json.replace(['\n', '\r'], " ") + "\n"
}

/// The members of a part that is a text.
fn text_part(text: &str) -> String {
    format!(r#""type":"text","text":{}"#, quoted(text))
}

fn id_of(call: &ToolCall) -> String {
    call.id.clone().unwrap_or_default()
}

fn calls_of(parts: &[Part]) -> impl Iterator<Item = &ToolCall> {
    parts.iter().filter_map(|part| match part {
        Part::Call(call) => Some(call),
        _ => None,
    })
}

fn results_of(parts: Vec<Part>) -> impl Iterator<Item = ToolResult> {
    parts.into_iter().filter_map(|part| match part {
        Part::Result(result) => Some(result),
        _ => None,
    })
}
