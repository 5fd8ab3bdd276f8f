//! What each format writes.

use super::rewrite::{Members, RecordChange, members};
use crate::wire::write::{Object, quoted};

/// The way to a member.
type Keys = &'static [&'static str];

/// Writes what comes into a file.
pub(super) trait WriteNative {
    /// Answers a call. Where calls hold their outputs, `target` is the call; else it is a copy of the entry that
    /// holds the call, and becomes that of the output.
    fn answer(&self, target: &mut Object<'_>, answer: &OutputTexts<'_>);

    /// Whether a record is a message, and not a document that holds messages.
    fn is_entry(&self, _record: &Object<'_>) -> bool {
        true
    }

    /// Makes an entry that is an output one of a text of the user.
    fn say(&self, _entry: &mut Object<'_>, _text: &str) {}

    /// A text of the user in place of an output that is one of several in its entry; `None` where entries of
    /// outputs hold nothing else.
    fn text_part(&self, text: &str) -> Option<String> {
        Some(text_part(text))
    }

    /// Where the object of a call has its name and its arguments; `None` where the format cannot hold what changes.
    fn call_keys(&self, _call: &Object<'_>, _change: &RecordChange) -> Option<[Keys; 2]> {
        Some([&["name"], &["arguments"]])
    }

    /// The members of the object of a call that hold what changes; `None` where the format cannot hold it.
    fn call(&self, call: &Object<'_>, change: &RecordChange) -> Option<Members> {
        let [name, arguments] = self.call_keys(call, change)?;
        Some(members([
            (name, change.name.clone()),
            (arguments, change.arguments.clone()),
        ]))
    }

    /// The same of the object of an output; of the call where that holds the output.
    fn output(&self, output: &Object<'_>, change: &RecordChange) -> Option<Members>;

    fn calls_hold_outputs(&self) -> bool {
        false
    }

    /// Whether an object with the id of a call is of its output; `None` where records tell it.
    fn is_output(&self, object: &Object<'_>) -> Option<bool> {
        // Where calls hold their outputs, further ones are responses of their own.
        self.calls_hold_outputs().then(|| object.has("response"))
    }

    /// Whether the agent answers open calls by itself when it loads a session.
    fn leaves_open_calls(&self) -> bool {
        false
    }
}

/// A text as most formats spell a part of a message.
fn text_part(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, quoted(text))
}

/// The output of a call, its texts as JSON.
pub(super) struct OutputTexts<'a> {
    pub(super) id: &'a str,
    pub(super) name: String,
    pub(super) text: String,
    pub(super) is_error: bool,
}

pub(super) struct Pi;

impl Pi {
    fn set_message(entry: &mut Object<'_>, members: &str) {
        let time = entry.object("message").get("timestamp").map(str::to_owned);
        let time = time.map_or_else(String::new, |time| format!(r#","timestamp":{time}"#));
        entry.set("message", format!("{{{members}{time}}}"));
    }
}

impl WriteNative for Pi {
    fn answer(&self, entry: &mut Object<'_>, answer: &OutputTexts<'_>) {
        let OutputTexts {
            id,
            name,
            text,
            is_error,
        } = answer;
        let members = format!(
            r#""role":"toolResult","toolCallId":{id},"toolName":{name},"content":[{{"type":"text","text":{text}}}],"isError":{is_error}"#
        );
        Self::set_message(entry, &members);
    }

    fn output(&self, _: &Object<'_>, change: &RecordChange) -> Option<Members> {
        Some(members([
            (&["toolName"], change.name.clone()),
            (&["content"], change.parts()),
        ]))
    }

    fn say(&self, entry: &mut Object<'_>, text: &str) {
        let part = text_part(text);
        Self::set_message(entry, &format!(r#""role":"user","content":[{part}]"#));
    }
}

/// The database of OpenClaw numbers the entries of a session, and it answers open calls itself.
pub(super) struct OpenClaw;

impl WriteNative for OpenClaw {
    fn answer(&self, _: &mut Object<'_>, _: &OutputTexts<'_>) {}

    fn output(&self, output: &Object<'_>, change: &RecordChange) -> Option<Members> {
        Pi.output(output, change)
    }

    fn say(&self, entry: &mut Object<'_>, text: &str) {
        Pi.say(entry, text);
    }

    fn leaves_open_calls(&self) -> bool {
        true
    }
}

pub(super) struct GeminiCli;

impl WriteNative for GeminiCli {
    fn answer(&self, call: &mut Object<'_>, answer: &OutputTexts<'_>) {
        let OutputTexts {
            id,
            name,
            text,
            is_error,
        } = answer;
        let (status, key) = match is_error {
            true => ("\"error\"", "error"),
            false => ("\"success\"", "output"),
        };
        call.set("status", status);
        let result = format!(
            r#"[{{"functionResponse":{{"id":{id},"name":{name},"response":{{"{key}":{text}}}}}}}]"#
        );
        call.set("result", result);
    }

    fn call_keys(&self, _: &Object<'_>, _: &RecordChange) -> Option<[Keys; 2]> {
        Some([&["name"], &["args"]])
    }

    fn output(&self, _: &Object<'_>, change: &RecordChange) -> Option<Members> {
        let (status, key) = match change.is_error {
            true => ("\"error\"", "error"),
            false => ("\"success\"", "output"),
        };
        let response = change.text().map(|text| format!(r#"{{"{key}":{text}}}"#));
        Some(match change.is_part {
            true => members([
                (
                    &["result", "0", "functionResponse", "name"],
                    change.name.clone(),
                ),
                (&["status"], response.as_ref().map(|_| status.to_owned())),
                (&["result", "0", "functionResponse", "response"], response),
            ]),
            false => members([(&["name"], change.name.clone()), (&["response"], response)]),
        })
    }

    fn text_part(&self, text: &str) -> Option<String> {
        Some(format!(r#"{{"text":{}}}"#, quoted(text)))
    }

    fn calls_hold_outputs(&self) -> bool {
        true
    }
}

pub(super) struct Opencode;

impl WriteNative for Opencode {
    fn answer(&self, part: &mut Object<'_>, answer: &OutputTexts<'_>) {
        let text = &answer.text;
        let outcome = match answer.is_error {
            true => format!(r#""status":"error","error":{text}"#),
            false => format!(r#""status":"completed","output":{text},"title":"","metadata":{{}}"#),
        };
        let old = part.object("state");
        let times = old.object("time");
        let start = times.get("start").unwrap_or("0");
        let input = old.get("input").unwrap_or("{}");
        let time = format!(r#""time":{{"start":{start},"end":{start}}}"#);
        let state = format!(r#"{{{outcome},"input":{input},{time}}}"#);
        part.set("state", state);
    }

    fn call(&self, part: &Object<'_>, change: &RecordChange) -> Option<Members> {
        let state = part.object("state");
        // Such a part holds a call of another tool, whose arguments are lost.
        if part.text("tool") == "invalid" && state.object("input").has("tool") {
            return None;
        }
        let arguments = &change.arguments;
        let raw = arguments.as_ref().filter(|_| state.has("raw"));
        Some(members([
            (&["tool"], change.name.clone()),
            (&["state", "input"], arguments.clone()),
            (&["state", "raw"], raw.map(|_| "\"\"".to_owned())),
        ]))
    }

    fn output(&self, part: &Object<'_>, change: &RecordChange) -> Option<Members> {
        let key = match &*part.object("state").text("status") {
            "error" => "error",
            _ => "output",
        };
        Some(members([(&["state", key], change.text())]))
    }

    fn calls_hold_outputs(&self) -> bool {
        true
    }
}

pub(super) struct Copilot;

impl WriteNative for Copilot {
    fn answer(&self, event: &mut Object<'_>, answer: &OutputTexts<'_>) {
        let (id, text) = (answer.id, &answer.text);
        let outcome = match answer.is_error {
            true => format!(r#""success":false,"error":{{"message":{text}}}"#),
            false => format!(r#""success":true,"result":{{"content":{text}}}"#),
        };
        event.set("type", "\"tool.execution_complete\"");
        event.set("data", format!(r#"{{"toolCallId":{id},{outcome}}}"#));
    }

    fn output(&self, data: &Object<'_>, change: &RecordChange) -> Option<Members> {
        let is_object = |key| data.get(key).is_some_and(|value| value.starts_with('{'));
        let keys: &[&str] = match (data.get("result"), data.get("error")) {
            (Some(_), _) if is_object("result") => &["result", "content"],
            (None, Some(_)) if is_object("error") => &["error", "message"],
            (None, Some(_)) => &["error"],
            _ => &["result"],
        };
        let name = change.name.clone().filter(|_| data.has("toolName"));
        Some(members([(&["toolName"], name), (keys, change.text())]))
    }

    fn say(&self, event: &mut Object<'_>, text: &str) {
        event.set("type", "\"user.message\"");
        event.set("data", format!(r#"{{"content":{}}}"#, quoted(text)));
    }
}

/// By the member that holds the parts of a message.
pub(super) struct Goose(pub(super) &'static str);

impl WriteNative for Goose {
    fn answer(&self, message: &mut Object<'_>, answer: &OutputTexts<'_>) {
        let (id, text) = (answer.id, &answer.text);
        let result = match answer.is_error {
            true => format!(r#"{{"status":"error","error":{text}}}"#),
            false => {
                format!(r#"{{"status":"success","value":[{{"type":"text","text":{text}}}]}}"#)
            }
        };
        message.set("role", "\"user\"");
        message.remove("message_id");
        let part = format!(r#"[{{"type":"toolResponse","id":{id},"toolResult":{result}}}]"#);
        message.set(self.0, part);
    }

    fn call_keys(&self, _: &Object<'_>, _: &RecordChange) -> Option<[Keys; 2]> {
        Some([
            &["toolCall", "value", "name"],
            &["toolCall", "value", "arguments"],
        ])
    }

    fn output(&self, part: &Object<'_>, change: &RecordChange) -> Option<Members> {
        let result = part.object("toolResult");
        Some(match result.object("value").has("content") {
            _ if result.has("error") => members([(&["toolResult", "error"], change.text())]),
            true => members([(&["toolResult", "value", "content"], change.parts())]),
            false => members([(&["toolResult", "value"], change.parts())]),
        })
    }
}

pub(super) struct Hermes;

impl Hermes {
    fn set_message(row: &mut Object<'_>, role: &'static str, text: &str) {
        let of_message = [
            "tool_call_id",
            "tool_name",
            "tool_calls",
            "finish_reason",
            "token_count",
            "reasoning",
            "reasoning_content",
            "reasoning_details",
            "codex_reasoning_items",
            "codex_message_items",
        ];
        of_message.iter().for_each(|key| row.remove(key));
        row.set("role", role);
        row.set("content", text.to_owned());
    }
}

impl WriteNative for Hermes {
    fn answer(&self, row: &mut Object<'_>, answer: &OutputTexts<'_>) {
        Self::set_message(row, "\"tool\"", &answer.text);
        row.set("tool_call_id", answer.id.to_owned());
        row.set("tool_name", answer.name.clone());
    }

    fn call(&self, _: &Object<'_>, change: &RecordChange) -> Option<Members> {
        let arguments = change.arguments.as_deref();
        let text = arguments.map(|json| match json.starts_with('"') {
            true => json.to_owned(),
            false => quoted(json),
        });
        Some(members([
            (&["function", "name"], change.name.clone()),
            (&["function", "arguments"], text),
        ]))
    }

    fn output(&self, row: &Object<'_>, change: &RecordChange) -> Option<Members> {
        let name = change.name.clone().filter(|_| row.has("tool_name"));
        Some(members([
            (&["tool_name"], name),
            (&["content"], change.text()),
        ]))
    }

    fn say(&self, row: &mut Object<'_>, text: &str) {
        Self::set_message(row, "\"user\"", &quoted(text));
    }
}

/// Messages, flat or with their members in `data` or `kwargs`.
pub(super) struct LangChain;

impl LangChain {
    /// Makes an entry a message of a kind, spelled as it was.
    fn set_message(entry: &mut Object<'_>, (kind, class): (&str, &str), members: &str) {
        let flat = format!(r#"{{{members},"type":"{kind}"}}"#);
        if entry.has("kwargs") {
            let path = r#"["langchain","schema","messages""#;
            entry.set("id", format!(r#"{path},"{class}"]"#));
            entry.set("kwargs", flat);
        } else if entry.has("data") {
            entry.set("type", format!("\"{kind}\""));
            entry.set("data", flat);
        } else {
            *entry = Object::read("{}");
            for member in ["type", "content", "tool_call_id", "name", "status"] {
                let value = Object::read(&flat).get(member).map(str::to_owned);
                value.into_iter().for_each(|value| entry.set(member, value));
            }
        }
    }
}

impl WriteNative for LangChain {
    fn is_entry(&self, record: &Object<'_>) -> bool {
        record.has("type")
    }

    fn answer(&self, entry: &mut Object<'_>, answer: &OutputTexts<'_>) {
        let OutputTexts {
            id,
            name,
            text,
            is_error,
        } = answer;
        let status = if *is_error { "error" } else { "success" };
        let members =
            format!(r#""content":{text},"tool_call_id":{id},"name":{name},"status":"{status}""#);
        Self::set_message(entry, ("tool", "ToolMessage"), &members);
    }

    fn say(&self, entry: &mut Object<'_>, text: &str) {
        let members = format!(r#""content":{}"#, quoted(text));
        Self::set_message(entry, ("human", "HumanMessage"), &members);
    }

    fn call(&self, call: &Object<'_>, change: &RecordChange) -> Option<Members> {
        let name = change.name.clone();
        if call.has("function") {
            let text = change.arguments.as_ref().map(|json| quoted(json));
            return Some(members([
                (&["function", "name"], name),
                (&["function", "arguments"], text),
            ]));
        }
        let key: Keys = match call.has("input") {
            true => &["input"],
            // It would have to go to the list of the valid ones.
            false if call.text("type") == "invalid_tool_call" => return None,
            false => &["args"],
        };
        Some(members([
            (&["name"], name),
            (key, change.arguments.clone()),
        ]))
    }

    fn output(&self, output: &Object<'_>, change: &RecordChange) -> Option<Members> {
        let name = change.name.clone().filter(|_| output.has("name"));
        let status = change.mark(output, "status", ["success", "error"]);
        Some(members([
            (&["name"], name),
            (&["content"], change.text()),
            (&["status"], status),
        ]))
    }

    fn is_output(&self, object: &Object<'_>) -> Option<bool> {
        Some(object.has("tool_call_id"))
    }
}

pub(super) struct PydanticAi;

impl PydanticAi {
    fn prompt(text: &str) -> String {
        let text = quoted(text);
        format!(r#"{{"content":{text},"part_kind":"user-prompt"}}"#)
    }

    fn set_request(entry: &mut Object<'_>, part: String) {
        let time = entry.get("timestamp").map(str::to_owned);
        *entry = Object::read("{}");
        entry.set("parts", format!("[{part}]"));
        time.into_iter()
            .for_each(|time| entry.set("timestamp", time));
        entry.set("kind", "\"request\"");
    }
}

impl WriteNative for PydanticAi {
    fn is_entry(&self, record: &Object<'_>) -> bool {
        record.has("kind")
    }

    fn answer(&self, entry: &mut Object<'_>, answer: &OutputTexts<'_>) {
        let OutputTexts {
            id,
            name,
            text,
            is_error,
        } = answer;
        let outcome = if *is_error { "failed" } else { "success" };
        Self::set_request(
            entry,
            format!(
                r#"{{"tool_name":{name},"content":{text},"tool_call_id":{id},"outcome":"{outcome}","part_kind":"tool-return"}}"#
            ),
        );
    }

    fn say(&self, entry: &mut Object<'_>, text: &str) {
        Self::set_request(entry, Self::prompt(text));
    }

    fn text_part(&self, text: &str) -> Option<String> {
        Some(Self::prompt(text))
    }

    fn call_keys(&self, _: &Object<'_>, _: &RecordChange) -> Option<[Keys; 2]> {
        Some([&["tool_name"], &["args"]])
    }

    fn output(&self, output: &Object<'_>, change: &RecordChange) -> Option<Members> {
        let outcome = change.mark(output, "outcome", ["success", "failed"]);
        Some(members([
            (&["tool_name"], change.name.clone()),
            (&["content"], change.text()),
            (&["outcome"], outcome),
        ]))
    }

    fn is_output(&self, object: &Object<'_>) -> Option<bool> {
        Some(!object.text("part_kind").ends_with("tool-call"))
    }
}

/// Messages as models get them. Those of an interface hold calls with their outputs by states, so that only what a call
/// says can change in them.
pub(super) struct AiSdk;

impl AiSdk {
    fn set_message(entry: &mut Object<'_>, role: &str, part: String) {
        *entry = Object::read("{}");
        entry.set("role", quoted(role));
        entry.set("content", format!("[{part}]"));
    }

    fn output(text: &str, is_error: bool) -> String {
        let kind = if is_error { "error-text" } else { "text" };
        format!(r#"{{"type":"{kind}","value":{text}}}"#)
    }
}

impl WriteNative for AiSdk {
    fn is_entry(&self, record: &Object<'_>) -> bool {
        record.has("role") && !record.has("parts") && !record.has("toolInvocations")
    }

    fn answer(&self, entry: &mut Object<'_>, answer: &OutputTexts<'_>) {
        let OutputTexts {
            id,
            name,
            text,
            is_error,
        } = answer;
        let output = Self::output(text, *is_error);
        let ids = format!(r#""toolCallId":{id},"toolName":{name}"#);
        let part = format!(r#"{{"type":"tool-result",{ids},"output":{output}}}"#);
        Self::set_message(entry, "tool", part);
    }

    fn say(&self, entry: &mut Object<'_>, text: &str) {
        Self::set_message(entry, "user", text_part(text));
    }

    fn text_part(&self, _: &str) -> Option<String> {
        None
    }

    fn call_keys(&self, call: &Object<'_>, change: &RecordChange) -> Option<[Keys; 2]> {
        if change.name.is_some() && !call.has("toolName") {
            return None;
        }
        let has_args = call.has("args");
        Some([&["toolName"], if has_args { &["args"] } else { &["input"] }])
    }

    fn output(&self, output: &Object<'_>, change: &RecordChange) -> Option<Members> {
        self.is_output(output)?;
        let text = change.text();
        let (key, value) = match output.has("result") {
            true => ("result", text),
            false => (
                "output",
                text.map(|text| Self::output(&text, change.is_error)),
            ),
        };
        Some(members([
            (&["toolName"], change.name.clone()),
            (&[key], value),
        ]))
    }

    fn is_output(&self, object: &Object<'_>) -> Option<bool> {
        match &*object.text("type") {
            "tool-call" => Some(false),
            "tool-result" => Some(true),
            _ => None,
        }
    }
}
