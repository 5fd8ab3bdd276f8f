//! Results of the Berkeley Function Calling Leaderboard, an entry a line: `{"id", "result", ...}`.
//!
//! An entry of one turn has what the model answered in `result`. One of several has its run in `inference_log`: turns
//! with the messages of the user and numbered steps, each a reply and what the tools gave. Calls have no ids: their
//! places are used as ids. A model that is asked without native tools calls in Python; such calls are kept as text.

use super::messages::{each_value, list, member, text, text_of};
use super::transcript::{Head, Spent, Transcript, call, content, result};
use super::{Contents, Document, Format, Reading};
use crate::session::{Source, SourceResult};
use crate::wire::{Input, Part, Role, ToolCall};
use serde_json::Value;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "bfcl",
    title: "BFCL results (Berkeley Function Calling Leaderboard)",
    sniff: |sample| {
        let is_entry = |entry: &Document<'_>| {
            let beside = ["inference_log", "input_token_count", "traceback"];
            entry.has("id") && entry.has("result") && beside.iter().any(|key| entry.has(key))
        };
        if sample.any(is_entry) { 96 } else { 0 }
    },
    reading: Reading::Whole(read),
};

/// How a result begins that says why a tool failed.
const FAILED: [&str; 2] = ["Error during execution", r#"{"error":"#];

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect());
    each_value(bytes, |value, place| match value {
        Ok(entry) => Entry::new(&mut out, place.line, &entry).add(&entry),
        Err(kind) => out.report(place.at, kind),
    });
    out.finish()
}

struct Entry<'a> {
    out: &'a mut Transcript,
    line: u64,
    /// What was offered last.
    tools: String,
    /// The calls of the last reply, each with its id and name.
    calls: Vec<(String, String)>,
}

impl<'a> Entry<'a> {
    fn new(out: &'a mut Transcript, line: u64, entry: &Value) -> Self {
        out.begin_session(&text_of(&entry["id"]), true);
        Self {
            out,
            line,
            tools: String::new(),
            calls: Vec::new(),
        }
    }

    fn add(&mut self, entry: &Value) {
        let log = list(entry, "inference_log");
        let turns = log.iter().filter(|one| one.is_object());
        let turns: Vec<&Value> = turns.filter(|turn| turn.get("role").is_none()).collect();
        if turns.is_empty() {
            log.iter().for_each(|one| self.input(one, true));
            let cost = [entry, &Value::Null, &Value::Null];
            self.reply("call", &entry["result"], &entry["reasoning_content"], cost);
        }
        for (place, turn) in turns.into_iter().enumerate() {
            for message in list(turn, "begin_of_turn_query") {
                self.message(message);
            }
            let steps = (0..).map_while(|step| Some((step, turn.get(format!("step_{step}"))?)));
            for (step, log) in steps {
                let cost = [entry, &Value::from(place), &Value::from(step)];
                let id = format!("call_{place}_{step}");
                self.step(&id, log, cost);
            }
        }
    }

    fn message(&mut self, message: &Value) {
        let role = match text(message, &["role"]) {
            "system" | "developer" => Role::System,
            "assistant" => Role::Model,
            _ => Role::User,
        };
        let message_parts = member(message, &["content"]).map(Value::to_string);
        let head = Head::new(self.line);
        self.out.say(&head, role, content(message_parts.as_deref()));
    }

    /// What was sent, which is logged on demand.
    fn input(&mut self, one: &Value, with_messages: bool) {
        let sent = &one["content"];
        let tools = sent["tools"].to_string();
        if sent["tools"].is_array() && tools != self.tools {
            self.out.offer(&tools);
            self.tools = tools;
        }
        match member(sent, &["message", "messages"]) {
            Some(Value::Array(messages)) if with_messages => {
                messages.iter().for_each(|message| self.message(message));
            }
            // As Python prints it.
            Some(Value::String(printed)) if with_messages => {
                let message_parts = vec![Part::Text(printed.clone())];
                self.out
                    .say(&Head::new(self.line), Role::User, message_parts);
            }
            _ => {}
        }
    }

    fn step(&mut self, id: &str, log: &Value, cost: [&Value; 3]) {
        let mut results = 0;
        for one in log.as_array().into_iter().flatten() {
            match text(one, &["role"]) {
                "inference_input" => self.input(one, false),
                "assistant" => self.reply(id, &one["content"], &one["reasoning_content"], cost),
                "handler_log" => self.decoded(id, &one["model_response_decoded"]),
                "tool" => {
                    let head = Head::new(self.line);
                    let message_parts = vec![Part::Text(text_of(&one["content"]))];
                    let (id, name) = self.calls.get(results).cloned().unwrap_or_default();
                    let is_error = FAILED
                        .iter()
                        .any(|mark| text(one, &["content"]).starts_with(mark));
                    let message_parts = vec![result(&id, &name, message_parts, is_error)];
                    self.out.say(&head, Role::Tool, message_parts);
                    results += 1;
                }
                _ => {}
            }
        }
    }

    /// A reply: a text, a list of texts, or a list of calls, `{NAME: ARGUMENTS}` each.
    fn reply(
        &mut self,
        id: &str,
        message_parts: &Value,
        thought: &Value,
        [entry, turn, step]: [&Value; 3],
    ) {
        let count = |key: &str| {
            let of_turn = turn
                .as_u64()
                .map_or(&entry[key], |turn| &entry[key][turn as usize]);
            let count = step
                .as_u64()
                .map_or(of_turn, |step| &of_turn[step as usize]);
            count.as_f64().unwrap_or_default() as u64
        };
        let head = Head::new(self.line).spent(Spent {
            input: count("input_token_count"),
            output: count("output_token_count"),
            ..Spent::default()
        });
        self.calls.clear();
        self.out.begin_reply();
        self.out.think(&head, &text_of(thought));
        let answers = match message_parts {
            Value::Array(answers) => answers.as_slice(),
            Value::Null => &[],
            one => std::slice::from_ref(one),
        };
        let mut parts = Vec::new();
        for answer in answers {
            let named = answer.as_object().filter(|members| members.len() == 1);
            match named.and_then(|members| members.iter().next()) {
                Some((name, arguments)) => {
                    let id = format!("{id}_{}", self.calls.len());
                    parts.push(call(&id, name, Some(&arguments.to_string())));
                    self.calls.push((id, name.clone()));
                }
                None => parts.push(Part::Text(text_of(answer))),
            }
        }
        self.out.say(&head, Role::Model, parts);
    }

    /// Calls that were found in the text of a reply.
    fn decoded(&mut self, id: &str, calls: &Value) {
        let calls = calls.as_array().map_or(&[][..], Vec::as_slice);
        if !self.calls.is_empty() {
            return;
        }
        let mut parts = Vec::new();
        for one in calls {
            let source = text_of(one);
            let name = source.split('(').next().unwrap_or_default().to_owned();
            let id = format!("{id}_{}", self.calls.len());
            parts.push(Part::Call(ToolCall {
                id: Some(id.clone()),
                name: name.clone(),
                namespace: None,
                input: Input::Free(source),
            }));
            self.calls.push((id, name));
        }
        self.out.say(&Head::new(self.line), Role::Model, parts);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::{outline, outlines, read};
    use serde_json::json;

    #[test]
    fn a_run_of_several_turns_is_in_its_log() {
        let state = json!([{"role": "state_info", "class_name": "Files", "content": {}}]);
        let input = json!({"role": "inference_input", "content": {"message": "[]", "tools": [
            {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}]}});
        let turn = json!({
            "begin_of_turn_query": [{"role": "user", "content": "List."}],
            "step_0": [input,
                {"role": "assistant", "content": [{"ls": "{}"}, {"pwd": "{}"}], "reasoning_content": "Look."},
                {"role": "handler_log", "content": "", "model_response_decoded": ["ls()", "pwd()"]},
                {"role": "tool", "content": "a"}, {"role": "tool", "content": "Error during execution: no"}],
            "step_1": [{"role": "assistant", "content": "Done."},
                {"role": "handler_log", "content": "", "error": "no call"}]});
        let cut = json!({
            "begin_of_turn_query": [{"role": "user", "content": "Go on."}],
            "step_0": [{"role": "assistant", "content": [{"ls": "{\"a\": "}]}, {"role": "handler_log", "content": "", "error": "no JSON"}]});
        let entry = json!({"id": "multi_turn_base_1", "result": [[[], "Done."], [[]]],
            "input_token_count": [[10, 20], [30]], "output_token_count": [[1, 2], [3]], "latency": [[1, 1], [1]],
            "inference_log": [state, turn, cut]});
        let contents = read("bfcl", &entry.to_string());
        let session = &contents.sessions[0];
        assert_eq!(
            (outline(session).as_str(), session.label.as_str()),
            ("u r c c o o! a u c?", "multi_turn_base_1")
        );
        assert!(session.contract.tools_known());
        assert_eq!(session.turns.len(), 5);
    }

    #[test]
    fn calls_in_python_are_kept_as_text() {
        let turn = json!({
            "begin_of_turn_query": [{"role": "system", "content": "Call in Python."}, {"role": "user", "content": "Copy it."}],
            "step_0": [{"role": "assistant", "content": "[cp(source='a', destination='b')]"},
                {"role": "handler_log", "content": "", "model_response_decoded": ["cp(source='a', destination='b')"]},
                {"role": "tool", "content": "None"}]});
        let several = json!({"id": "multi_turn_base_2", "result": [], "inference_log": [turn]});
        let one = json!({"id": "simple_0", "result": [{"area": "{\"base\": 3}"}], "input_token_count": 4, "output_token_count": 2, "latency": 0.5});
        let failed =
            json!({"id": "simple_1", "result": "Error during inference: no", "traceback": ""});
        let text = format!("{several}\n{one}\n{failed}\n");
        assert_eq!(outlines("bfcl", &text), ["s u a c o", "c?", "a"]);
    }
}
