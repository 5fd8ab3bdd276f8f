//! Logs of Inspect: one document of samples, or the samples of an `.eval` archive one after another. What a sub-agent
//! asked is in the events alone, which share their messages in newer logs.

use super::foreign::any_message;
use super::http_exchanges::moment;
use super::messages::{Message, Place, each_value, list, placed, text, text_of};
use super::tool_runs::{RecordedRun, note_tool_runs};
use super::transcript::{Head, Transcript};
use super::{Contents, Document, Format, Reading};
use crate::session::{Flags, Kind, Source, SourceResult, ToolRun};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "inspect",
    title: "Inspect logs (.eval, .json)",
    sniff: |sample| {
        let is_log = sample.any(|document| {
            document.has("eval") && (document.has("samples") || document.has("plan"))
                || document.has("epoch") && document.has("target") && document.has("messages")
        });
        let is_call = |call: &Document<'_>| {
            let name = call.raw("function");
            name.is_some_and(|name| name.starts_with(b"\"")) && call.has("arguments")
        };
        let has_calls = any_message(sample, |message| {
            message.array("tool_calls").iter().any(is_call)
        });
        if is_log || has_calls { 97 } else { 0 }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect());
    let mut tool_runs = HashMap::new();
    let mut add = |out: &mut Transcript, (sample, place): (&Value, Place<'_>)| {
        let runs = tool_runs_of(sample);
        let labels = add_sample(out, sample, place).into_iter();
        tool_runs.extend(labels.map(|label| (label, runs.clone())));
    };
    each_value(bytes, |value, place| match value {
        Ok(value) if value.get("samples").is_some() => {
            placed(&value, place, "samples").for_each(|sample| add(&mut out, sample));
        }
        Ok(value) if value.get("messages").is_some() => add(&mut out, (&value, place)),
        Ok(value) => Message::add(&mut out, place.line, &value),
        Err(kind) => out.report(place.at, kind),
    });
    let mut contents = out.finish()?;
    for session in &mut contents.sessions {
        if let Some(runs) = tool_runs.remove(&session.label) {
            note_tool_runs(std::slice::from_mut(session), runs, &[]);
        }
    }
    Ok(contents)
}

/// When the tools of a sample ran. Older logs say only when each began: the next event begins when it has ended.
fn tool_runs_of(sample: &Value) -> Vec<RecordedRun> {
    let events = list(sample, "events");
    let run = |(place, event): (usize, &Value)| {
        if event["event"] != "tool" {
            return None;
        }
        let next = events.get(place + 1).map(|next| &next["timestamp"]);
        let run = ToolRun {
            start: moment(&event["timestamp"])?,
            end: moment(&event["completed"]).or_else(|| moment(next?))?,
        };
        let [id, name] = ["id", "function"].map(|key| text(event, &[key]).to_owned());
        Some(RecordedRun { id, name, run })
    };
    events.iter().enumerate().filter_map(run).collect()
}

/// Adds the sessions of a sample; gives their labels.
fn add_sample(out: &mut Transcript, sample: &Value, place: Place<'_>) -> Vec<String> {
    let word = |key: &str| text_of(&sample[key]);
    let label = format!("sample {}, epoch {}", word("id"), word("epoch"));
    let scores: String = scores_of(sample)
        .map(|(scorer, score)| format!(", {scorer}: {score}"))
        .collect();
    let scored = format!("{label}{scores}");
    out.begin_session(&scored, true);
    let sample = Sample::new(sample);
    let messages = list(sample.value, "messages");
    let listed: HashSet<&str> = messages.iter().map(|it| text(it, &["id"])).collect();
    let is_own = |event: &&&Value| {
        let id = text(reply_of(event), &["id"]);
        id.is_empty() || listed.contains(id)
    };
    let own: Vec<&Value> = sample.requests.iter().filter(is_own).copied().collect();
    let lines = place.elements("messages").map(|place| place.line);
    let lines: Vec<u64> = lines.collect();
    sample.add_conversation(out, messages, &lines, &own);
    let error = text(&sample.value["error"], &["message"]);
    if !error.is_empty() {
        let head = Head::new(place.member("error").line);
        out.mark(&head, Kind::Notice, error).flags = Flags::ERROR;
    }
    let ended = list(sample.value, "events").last();
    let ended = ended.map(|event| event["timestamp"].to_string());
    for (key, note) in grades_of(sample.value) {
        let head = Head::new(place.member(key).line).at(ended.as_deref());
        out.mark(&head, Kind::Notice, &note);
    }
    let mut labels = vec![scored];
    // What a sub-agent said is in the requests of its span alone.
    let mut agents: BTreeMap<usize, Vec<&Value>> = BTreeMap::new();
    for event in sample.requests.iter().filter(|event| !is_own(event)) {
        if let Some(agent) = sample.agent_of(event) {
            agents.entry(agent).or_default().push(event);
        }
    }
    for (number, (agent, requests)) in (1..).zip(agents) {
        let Some(last) = requests.last() else {
            continue;
        };
        let name = text(sample.spans[agent], &["name"]);
        let side = format!("side chain {number} of {label}: {name}");
        out.begin_session(&side, false);
        labels.push(side);
        let mut messages = sample.input_of(last);
        messages.push(reply_of(last).clone());
        let in_events = vec![place.member("events").line; messages.len()];
        sample.add_conversation(out, &messages, &in_events, &requests);
    }
    labels
}

/// The scorers of a sample with what each gave, its grades as words.
fn scores_of(sample: &Value) -> impl Iterator<Item = (&String, String)> {
    let scores = sample["scores"].as_object().into_iter().flatten();
    scores.map(|(scorer, score)| {
        let value = match score["value"].as_str() {
            Some("C") => "correct".to_owned(),
            Some("I") => "incorrect".to_owned(),
            Some("P") => "partially correct".to_owned(),
            Some("N") => "no answer".to_owned(),
            _ => text_of(&score["value"]).to_string(),
        };
        (scorer, value)
    })
}

/// What the scorers of a sample compared its answer with, and what they gave it.
fn grades_of(sample: &Value) -> Vec<(&'static str, String)> {
    let note = |(scorer, value): (&String, String)| {
        let mut lines = vec![format!("score {scorer}: {value}")];
        for name in ["answer", "explanation"] {
            let words = text(&sample["scores"][scorer], &[name]);
            let line = format!("{name}: {words}");
            lines.extend((!words.is_empty()).then_some(line));
        }
        ("scores", lines.join("\n"))
    };
    let target = text_of(&sample["target"]);
    let target = (!target.is_empty()).then(|| ("target", format!("target: {target}")));
    target
        .into_iter()
        .chain(scores_of(sample).map(note))
        .collect()
}

/// A sample, with its requests to models and what they refer to.
struct Sample<'a> {
    value: &'a Value,
    requests: Vec<&'a Value>,
    /// The beginnings of spans.
    spans: Vec<&'a Value>,
    spans_by_id: HashMap<&'a str, usize>,
}

impl<'a> Sample<'a> {
    fn new(value: &'a Value) -> Self {
        let of_kind = |kind: &str| {
            let events = list(value, "events").iter();
            events.filter(|event| event["event"] == kind).collect()
        };
        let spans: Vec<&Value> = of_kind("span_begin");
        let ids = (0..).zip(&spans);
        Self {
            value,
            requests: of_kind("model"),
            spans_by_id: ids
                .map(|(place, span)| (text(span, &["id"]), place))
                .collect(),
            spans,
        }
    }

    fn add_conversation(
        &self,
        out: &mut Transcript,
        messages: &[Value],
        lines: &[u64],
        requests: &[&Value],
    ) {
        let attachments = &self.value["attachments"];
        if let Some(tools) = requests.iter().find_map(|event| event.get("tools")) {
            out.offer(&resolved(tools, attachments).to_string());
        }
        let mut replies = requests.iter();
        let mut has_begun = false;
        let began = list(self.value, "events").first();
        let lines = lines.iter().copied().chain(std::iter::repeat(0));
        for (line, message) in lines.zip(messages) {
            let mut message = resolved(message, attachments);
            has_begun |= message["role"] == "assistant";
            if let Some(began) = began.filter(|_| !has_begun && message.is_object()) {
                message["timestamp"] = began["timestamp"].clone();
            }
            // A reply says in the event of its request when, by which model and at what cost it was made.
            if message["role"] == "assistant" && message["source"] != "input" {
                let same = |event: &&&Value| {
                    let id = &reply_of(event)["id"];
                    !id.is_null() && *id == message["id"]
                };
                let known = requests.iter().find(same);
                if let Some(event) = known.or_else(|| replies.next()) {
                    // A call that ends the run is taken out of the messages, and would be missed.
                    let calls = |message: &Value| list(message, "tool_calls").len();
                    if calls(reply_of(event)) <= calls(&message) {
                        let stop = &event["output"]["choices"][0]["stop_reason"];
                        message["stop_reason"] = stop.clone();
                    }
                    message["model"] = event["model"].clone();
                    message["timestamp"] = event["timestamp"].clone();
                    message["replied_in_ms"] = json!(replied_in(event));
                    message["usage"] = event["output"]["usage"].clone();
                }
            }
            Message::add(out, line, &message);
        }
    }

    /// The span of the agent that asked.
    fn agent_of(&self, event: &Value) -> Option<usize> {
        let mut id = text(event, &["span_id"]);
        // Each span is left once at most, whatever they say of each other.
        for _ in &self.spans {
            let place = *self.spans_by_id.get(id)?;
            if self.spans[place]["type"] == "agent" {
                return Some(place);
            }
            id = text(self.spans[place], &["parent_id"]);
        }
        None
    }

    /// What was sent: in newer logs ranges of the messages that all requests of the sample share.
    fn input_of(&self, event: &Value) -> Vec<Value> {
        let pool = list(&self.value["events_data"], "messages");
        let ranges = list(event, "input_refs").iter().filter_map(|range| {
            let place = |index: usize| usize::try_from(range[index].as_u64()?).ok();
            pool.get(place(0)?..place(1)?)
        });
        match list(event, "input") {
            [] => ranges.flatten().cloned().collect(),
            messages => messages.to_vec(),
        }
    }
}

/// How long a reply took, in milliseconds.
fn replied_in(event: &Value) -> Option<u64> {
    let seconds = event["output"]["time"].as_f64();
    let took = seconds.map(|seconds| (seconds * 1000.0) as u64);
    took.or_else(|| moment(&event["completed"])?.checked_sub(moment(&event["timestamp"])?))
}

fn reply_of(event: &Value) -> &Value {
    &event["output"]["choices"][0]["message"]
}

/// A value with the texts that stand among the attachments of its sample.
fn resolved(value: &Value, attachments: &Value) -> Value {
    match value {
        Value::String(text) => {
            let named = text
                .strip_prefix("attachment://")
                .and_then(|name| attachments.get(name));
            named.unwrap_or(value).clone()
        }
        Value::Array(values) => values
            .iter()
            .map(|one| resolved(one, attachments))
            .collect(),
        Value::Object(members) => {
            let members = members.iter();
            let resolved = members.map(|(key, one)| (key.clone(), resolved(one, attachments)));
            Value::Object(resolved.collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::{outline, read};
    use serde_json::json;

    #[test]
    fn samples_are_sessions_with_their_attachments_and_tools() {
        let sample = json!({"id": 7, "epoch": 1, "target": "x",
            "attachments": {"aa": "Find the flag."},
            "messages": [
                {"role": "user", "content": "attachment://aa", "source": "input"},
                {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "Looking."}], "source": "generate",
                 "tool_calls": [{"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}}]},
                {"role": "tool", "function": "bash", "tool_call_id": "c1", "content": "", "error": {"type": "approval", "message": "no"}}],
            "scores": {"includes": {"value": "I", "answer": "y", "explanation": "not in it"}},
            "events": [{"event": "sample_init", "timestamp": "2026-03-02T01:00:00-08:00"},
                {"event": "model", "model": "m-1", "timestamp": "2026-03-02T09:00:01+00:00",
                "tools": [{"name": "bash", "parameters": {"type": "object"}}],
                "output": {"usage": {"input_tokens": 4, "output_tokens": 2}, "time": 1.5, "choices": [{"stop_reason": "tool_calls"}]}},
                {"event": "tool", "id": "c1", "function": "bash", "timestamp": "2026-03-02T09:00:03+00:00"},
                {"event": "score", "timestamp": "2026-03-02T09:00:07+00:00"}]});
        let log =
            json!({"version": 2, "status": "success", "eval": {}, "plan": {}, "samples": [sample]});
        for text in [
            log.to_string(),
            format!("{}\n{sample}", json!({"eval": {}, "plan": {}})),
        ] {
            let contents = read("inspect", &text);
            let session = &contents.sessions[0];
            assert_eq!(outline(session), "u r a c o!x n n");
            assert!(session.label.ends_with(", includes: incorrect"));
            assert!(session.contract.tools_known());
            assert_eq!(session.model.as_deref(), Some("m-1"));
            let item = |index: usize| session.bytes(&session.items[index]).unwrap();
            let says = |index, words: &str| String::from_utf8(item(index)).unwrap().contains(words);
            assert!(says(0, "Find the flag.") && says(5, "target: x"));
            assert!(says(6, "score includes: incorrect"));
            let prices = crate::usage::Prices::default();
            let mut usage = crate::usage::UsageReader::new(session, &prices);
            let reply = usage.turn(1).unwrap();
            assert_eq!(
                (reply.took, reply.tokens.map(|it| it.input)),
                (Some(1_500), Some(4))
            );
            assert_eq!(usage.call_duration(3).unwrap(), Some(4_000));
            let totals =
                crate::usage::SessionUsage::of(session, &prices, &|| false, &mut |_, _| ());
            let totals = totals.unwrap().unwrap();
            assert_eq!((totals.span, totals.tools), (Some(7_000), 4_000));
        }
    }

    #[test]
    fn what_a_sub_agent_asked_is_put_together_from_events() {
        let call = |id: &str, name: &str| json!([{"id": id, "function": name, "arguments": {"input": "Count the boats."}}]);
        let reply = |id: &str, calls: serde_json::Value| json!({"id": id, "role": "assistant", "content": "", "source": "generate", "tool_calls": calls});
        let requests = |span: &str,
                        model: &str,
                        refs: serde_json::Value,
                        message: serde_json::Value| {
            json!({"event": "model", "span_id": span, "model": model, "input": [], "input_refs": refs,
                "tools": [{"name": "ls", "parameters": {"type": "object"}}],
                "output": {"usage": {"input_tokens": 4, "output_tokens": 2}, "choices": [{"message": message, "stop_reason": "stop"}]}})
        };
        let span = |id: &str, parent: &str, kind: &str, name: &str| json!({"event": "span_begin", "id": id, "parent_id": parent, "type": kind, "name": name});
        let user = json!({"id": "u1", "role": "user", "content": "How many?", "source": "input"});
        let first = reply("r1", call("c1", "counter"));
        let last =
            json!({"id": "r2", "role": "assistant", "content": "Two.", "source": "generate"});
        let result = |call: &str| json!({"id": "t", "role": "tool", "tool_call_id": call, "content": "attachment://aa"});
        let inner = reply("s1", call("c2", "ls"));
        let sample = json!({"id": 1, "epoch": 1, "target": "2", "attachments": {"aa": "two"},
            "messages": [user, first, result("c1"), last],
            "events_data": {"calls": [], "messages": [user, {"role": "user", "content": "Count the boats."}, inner, result("c2"), first]},
            "events": [span("main", "", "agent", "main"), requests("main", "m-1", json!([[0, 1]]), first),
                span("tool", "main", "tool", "counter"), span("sub", "tool", "agent", "counter"),
                requests("sub", "m-2", json!([[1, 2]]), inner),
                requests("sub", "m-2", json!([[1, 4]]), json!({"id": "s2", "role": "assistant", "content": "Two."})),
                requests("main", "m-1", json!([[0, 1], [4, 5]]), last)]});
        let log = json!({"version": 2, "status": "success", "eval": {}, "samples": [sample]});
        let contents = read("inspect", &log.to_string());
        let found = contents.sessions.iter();
        let found = found.map(|it| (outline(it), &*it.label, it.active, it.model.as_deref()));
        let expected = [
            (
                "u c o a n".to_owned(),
                "sample 1, epoch 1",
                true,
                Some("m-1"),
            ),
            (
                "u c o a".to_owned(),
                "side chain 1 of sample 1, epoch 1: counter",
                false,
                Some("m-2"),
            ),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
