//! Spans of OpenTelemetry about generative models: OTLP as JSON (one document, or one a line as the collector writes
//! them) or protobuf, and lists of spans as SDKs and frameworks print them.
//!
//! The conventions changed often, so a span is read by any of them: the messages of `gen_ai.*` as JSON or text of it,
//! events, numbered attributes (OpenInference, Traceloop), the AI SDK's and Logfire's own. Each span that asks a model
//! is an exchange; one without its input goes on from the spans before it. What an agent asks inside of another agent's
//! span is a sub-agent's conversation. Texts that an exporter cut are reported as cut.

use super::http_exchanges::{Exchanges, moment};
use super::messages::{
    ChatElement, ModelCall, Place, chat_elements, each_value, list, member, placed_mut, text,
    text_of, unquoted,
};
use super::transcript::result;
use super::{Contents, Document, Format, Reading, otlp_protobuf};
use crate::session::{ProblemKind, Source, SourceResult};
use crate::wire::{Part, Role};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "otel",
    title: "OpenTelemetry spans of models and tools (OTLP as JSON or protobuf, span lists)",
    sniff: |sample| {
        let is_span = |span: &Document<'_>| {
            let has_ids = span.has("context") || span.has("traceId") || span.has("trace_id");
            span.has("attributes") && span.has("name") && has_ids
        };
        let is_trace = sample.any(|document| {
            let holders = ["resourceSpans", "resource_spans", "resourceLogs"];
            holders.iter().any(|holder| document.has(holder))
                || document.array("spans").iter().any(is_span)
                || is_span(document)
        });
        let is_protobuf = otlp_protobuf::may_be(sample.bytes) && sample.mentions("gen_ai.");
        if is_trace || is_protobuf { 96 } else { 0 }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut trace = Trace::default();
    if let Some(spans) = otlp_protobuf::spans(bytes) {
        for mut span in spans {
            trace.span(&mut span, None);
        }
        return trace.finish();
    }
    each_value(bytes, |value, place| match value {
        Ok(mut value) => trace.take(&mut value, place),
        Err(kind) => trace.exchanges.report(place.at, kind),
    });
    trace.finish()
}

#[derive(Debug, Default)]
struct Span {
    trace: String,
    parent: String,
    name: String,
    attributes: Map<String, Value>,
    events: Vec<Value>,
    /// Its status, where that says that it failed.
    failure: Option<String>,
    /// Nanoseconds since 1970, or a time as text.
    start: Value,
    end: Value,
    place: (u64, u64),
}

impl Span {
    fn get(&self, names: &[&str]) -> &Value {
        let mut found = names.iter().filter_map(|name| self.attributes.get(*name));
        found.find(|value| !value.is_null()).unwrap_or(&Value::Null)
    }

    fn text(&self, names: &[&str]) -> String {
        text_of(self.get(names))
    }

    /// Attributes with numbers in their names (`llm.input_messages.0.message.role`) as the value that they spell.
    fn nested(&self, prefix: &str) -> Value {
        let mut root = Value::Null;
        for (name, value) in &self.attributes {
            if let Some(path) = name
                .strip_prefix(prefix)
                .and_then(|rest| rest.strip_prefix('.'))
            {
                let steps: Vec<&str> = path.split('.').collect();
                put(&mut root, &steps, value);
            }
        }
        root
    }

    /// An attribute that holds JSON, as a value or as its text; an error says that its text is cut.
    fn json(&self, names: &[&str]) -> Result<Value, String> {
        let value = self.get(names);
        let Some(recorded) = value.as_str() else {
            return Ok(value.clone());
        };
        let opens = recorded.trim_start().starts_with(['[', '{']);
        match serde_json::from_str(recorded) {
            Ok(value) => Ok(value),
            Err(error) if opens && error.is_eof() => Err(format!(
                "an attribute of the span \"{}\" was cut by its exporter ({} bytes are left)",
                self.name,
                recorded.len()
            )),
            Err(_) => Ok(value.clone()),
        }
    }

    /// Why its request failed: what it says of its exception, or its status.
    fn error(&self) -> Option<String> {
        let of_event = |event: &Value| {
            let message = text(&event["attributes"], &["exception.message"]);
            (!message.is_empty()).then(|| message.to_owned())
        };
        let failure = self.failure.as_ref()?;
        let sent_before = self.events.iter().rev().find_map(of_event);
        let named = || self.text(&["error.message", "error.type"]);
        Some(match (failure.as_str(), sent_before) {
            ("", Some(sent_before)) => sent_before,
            ("", None) => named(),
            (status, _) => status.to_owned(),
        })
    }

    fn is_tool(&self) -> bool {
        self.text(&["gen_ai.operation.name"]) == "execute_tool"
            || self.text(&["openinference.span.kind"]) == "TOOL"
            || self.text(&["traceloop.span.kind"]) == "tool"
            || self.attributes.contains_key("ai.toolCall.name")
            || self.attributes.contains_key("gen_ai.tool.call.id")
    }

    fn operation(&self) -> String {
        self.text(&["gen_ai.operation.name", "operation.name"])
    }

    fn is_agent(&self) -> bool {
        self.operation() == "invoke_agent" || self.text(&["openinference.span.kind"]) == "AGENT"
    }

    fn input(&self) -> Result<Value, String> {
        let recorded = self.json(&[
            "gen_ai.input.messages",
            "ai.prompt.messages",
            "gen_ai.prompt",
        ])?;
        if !recorded.is_null() {
            let instructions = self.json(&["gen_ai.system_instructions"])?;
            return Ok(with_instructions(recorded, instructions));
        }
        let numbered = [
            self.nested("llm.input_messages"),
            self.nested("gen_ai.prompt"),
        ];
        let numbered = numbered.into_iter().find(Value::is_array);
        let events = self.messages_of_events(false);
        Ok(numbered.or(events).unwrap_or_default())
    }

    fn output(&self) -> Result<Value, String> {
        let recorded = self.json(&[
            "gen_ai.output.messages",
            "gen_ai.output",
            "gen_ai.completion",
        ])?;
        if !recorded.is_null() {
            return Ok(recorded);
        }
        let (words, calls) = (
            self.get(&["ai.response.text"]),
            self.json(&["ai.response.toolCalls"])?,
        );
        if !words.is_null() || !calls.is_null() {
            return Ok(json!({ "role": "assistant", "content": words, "tool_calls": calls }));
        }
        let numbered = [
            self.nested("llm.output_messages"),
            self.nested("gen_ai.completion"),
        ];
        let numbered = numbered.into_iter().find(Value::is_array);
        Ok(numbered
            .or(self.messages_of_events(true))
            .unwrap_or_default())
    }

    /// Messages that are events of the span, or events in an attribute of Logfire.
    fn messages_of_events(&self, is_output: bool) -> Option<Value> {
        let attribute = unquoted(self.get(&["events", "all_messages_events"]));
        let events = attribute.as_array().unwrap_or(&self.events);
        let message = |event: &Value| {
            let name = text(event, &["event.name", "name"]);
            let role = name.strip_prefix("gen_ai.")?.strip_suffix(".message");
            let body = member(event, &["body", "attributes"]).unwrap_or(event);
            let recorded = match (name, role, is_output) {
                ("gen_ai.choice", _, true) => unquoted(member(body, &["message"]).unwrap_or(body)),
                (_, Some(_), false) => body.clone(),
                _ => return None,
            };
            let mut recorded = recorded.as_object()?.clone();
            recorded
                .entry("role")
                .or_insert_with(|| json!(role.unwrap_or("assistant")));
            if let Some(calls) = recorded.get("tool_calls").map(unquoted) {
                recorded.insert("tool_calls".to_owned(), calls);
            }
            // A result names its call in `id`.
            if let Some(id) = recorded.get("id").filter(|_| role == Some("tool")).cloned() {
                recorded.insert("tool_call_id".to_owned(), id);
            }
            Some(Value::Object(recorded))
        };
        let found: Vec<Value> = events.iter().filter_map(message).collect();
        (!found.is_empty()).then_some(Value::Array(found))
    }

    fn tools(&self) -> Result<Value, String> {
        let recorded = self.json(&[
            "gen_ai.tool.definitions",
            "ai.prompt.tools",
            "gen_ai.request.tools",
        ])?;
        let numbered = || {
            let found = [
                self.nested("llm.tools"),
                self.nested("llm.request.functions"),
            ];
            found.into_iter().find(Value::is_array).unwrap_or_default()
        };
        let tools = if recorded.is_null() {
            numbered()
        } else {
            recorded
        };
        let Value::Array(tools) = tools else {
            return Ok(Value::Null);
        };
        let tool = |tool: &Value| {
            let inner = tool
                .pointer("/tool/json_schema")
                .or(tool.get("json_schema"));
            let mut tool = unquoted(inner.unwrap_or(tool));
            if let Some(schema) = tool.get("parameters").map(unquoted) {
                tool["parameters"] = schema;
            }
            match tool.get("function") {
                Some(_) => tool,
                None => json!({ "type": "function", "function": tool }),
            }
        };
        Ok(Value::Array(tools.iter().map(tool).collect()))
    }

    fn usage(&self) -> Value {
        let count = |names: &[&str]| self.get(names).clone();
        json!({
            "prompt_tokens": count(&["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.promptTokens", "ai.usage.inputTokens"]),
            "completion_tokens": count(&["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion", "ai.usage.completionTokens", "ai.usage.outputTokens"]),
            "prompt_tokens_details": { "cached_tokens": count(&["gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read", "ai.usage.cachedInputTokens"]) },
        })
    }

    fn cost(&self) -> Value {
        json!({
            "total": self.get(&["gen_ai.usage.total_cost", "gen_ai.usage.cost", "llm.cost.total", "operation.cost"]),
            "input": self.get(&["gen_ai.usage.input_cost", "llm.cost.prompt"]),
            "output": self.get(&["gen_ai.usage.output_cost", "llm.cost.completion"]),
        })
    }

    /// A time in milliseconds since 1970.
    fn milliseconds(time: &Value) -> Option<u64> {
        let nanoseconds = time.as_u64().or_else(|| time.as_str()?.parse().ok());
        let milliseconds = nanoseconds.map(|nanoseconds| nanoseconds / 1_000_000);
        milliseconds.or_else(|| moment(time))
    }
}

/// The words of a status that is an error; empty where it has none.
fn failure_of(status: &Value) -> Option<String> {
    let code = member(status, &["code", "status_code"]).map(text_of)?;
    let has_failed = ["2", "ERROR", "STATUS_CODE_ERROR"].contains(&&*code);
    has_failed.then(|| text(status, &["message", "description"]).to_owned())
}

/// System instructions that stand beside the messages, before them.
fn with_instructions(recorded: Value, instructions: Value) -> Value {
    match (recorded, instructions) {
        (recorded, Value::Null) => recorded,
        (Value::Array(mut messages), Value::Array(parts)) => {
            messages.insert(0, json!({ "role": "system", "parts": parts }));
            Value::Array(messages)
        }
        (Value::Array(mut messages), text) => {
            messages.insert(0, json!({ "role": "system", "content": text }));
            Value::Array(messages)
        }
        (recorded, _) => recorded,
    }
}

/// How many elements a numbered list may have, and how deep it may be nested: a name may claim any number.
const ELEMENTS: usize = 100_000;
const DEPTH: usize = 32;

/// Puts a value at a path of keys and numbers.
fn put(place: &mut Value, steps: &[&str], value: &Value) {
    let Some((step, rest)) = steps.split_first().filter(|_| steps.len() < DEPTH) else {
        *place = value.clone();
        return;
    };
    match step.parse::<usize>() {
        Ok(number) if number < ELEMENTS && !place.is_object() => {
            if !place.is_array() {
                *place = json!([]);
            }
            if let Some(elements) = place.as_array_mut() {
                if elements.len() <= number {
                    elements.resize(number + 1, Value::Null);
                }
                put(&mut elements[number], rest, value);
            }
        }
        _ => {
            if !place.is_object() {
                *place = json!({});
            }
            if let Some(members) = place.as_object_mut() {
                put(members.entry(*step).or_insert(Value::Null), rest, value);
            }
        }
    }
}

/// The spans of a file.
#[derive(Default)]
struct Trace {
    spans: Vec<Span>,
    /// Events that were logged apart from their spans, by the ids of these.
    logged: HashMap<String, Vec<Value>>,
    ids: HashMap<String, usize>,
    exchanges: Exchanges,
}

impl Trace {
    fn take(&mut self, document: &mut Value, place: Place<'_>) {
        for record in list(document, "resourceLogs")
            .iter()
            .flat_map(|one| list(one, "scopeLogs"))
            .flat_map(|one| list(one, "logRecords"))
        {
            let name = member(record, &["eventName"]).cloned();
            let attributes = attributes_of(record["attributes"].clone());
            let name = name.or_else(|| attributes.get("event.name").cloned());
            let event = json!({ "name": name, "body": plain(record["body"].clone()) });
            let span = text(record, &["spanId"]).to_owned();
            self.logged.entry(span).or_default().push(event);
        }
        let mut has_spans = false;
        for resources in ["resourceSpans", "resource_spans"] {
            for (resource, place) in placed_mut(document, place, resources) {
                for scopes in ["scopeSpans", "scope_spans"] {
                    for (scope, place) in placed_mut(resource, place, scopes) {
                        for (span, place) in placed_mut(scope, place, "spans") {
                            self.span(span, Some(place));
                            has_spans = true;
                        }
                    }
                }
            }
        }
        if has_spans {
            return;
        }
        if document.get("spans").is_some() {
            for (span, place) in placed_mut(document, place, "spans") {
                self.span(span, Some(place));
            }
        } else if document.get("attributes").is_some() {
            self.span(document, Some(place));
        }
    }

    /// Adds a span, whose attributes and events are taken out of it.
    fn span(&mut self, span: &mut Value, place: Option<Place<'_>>) {
        let attributes = attributes_of(taken(span, "attributes"));
        let events = elements_of(taken(span, "events"));
        let span = &*span;
        let context = span.get("context").unwrap_or(span);
        let id = member(context, &["spanId", "span_id"])
            .map(text_of)
            .unwrap_or_default();
        let trace = match member(context, &["traceId", "trace_id"]) {
            // Some exporters spell its 128 bits as a number, of which a float keeps 53.
            Some(Value::Number(number)) if number.is_f64() => place
                .map(|place| place.member("context").member("traceId").member("trace_id"))
                .map_or_else(|| number.to_string(), Place::digits),
            trace => trace.map(text_of).unwrap_or_default(),
        };
        let event = |mut event: Value| {
            let attributes = attributes_of(taken(&mut event, "attributes"));
            json!({ "name": text(&event, &["name"]), "attributes": attributes })
        };
        let parent = member(span, &["parentSpanId", "parent_span_id", "parent_id"]);
        let parent = parent.or(member(&span["parent"], &["span_id"]));
        self.ids.insert(id, self.spans.len());
        self.spans.push(Span {
            trace,
            parent: parent.map(text_of).unwrap_or_default(),
            name: text(span, &["name"]).to_owned(),
            attributes,
            events: events.into_iter().map(event).collect(),
            failure: failure_of(&span["status"]),
            start: member(
                span,
                &["startTimeUnixNano", "start_time_unix_nano", "start_time"],
            )
            .cloned()
            .unwrap_or_default(),
            end: member(span, &["endTimeUnixNano", "end_time_unix_nano", "end_time"])
                .cloned()
                .unwrap_or_default(),
            place: place.map_or((0, 0), Place::pair),
        });
    }

    fn finish(mut self) -> SourceResult<Contents> {
        for (id, events) in std::mem::take(&mut self.logged) {
            if let Some(span) = self
                .ids
                .get(&id)
                .and_then(|place| self.spans.get_mut(*place))
            {
                span.events.extend(events);
            }
        }
        // Traces in the order of the file, their spans in that of time.
        let mut order: HashMap<String, usize> = HashMap::new();
        for span in &self.spans {
            let next = order.len();
            order.entry(span.trace.clone()).or_insert(next);
        }
        let agents: Vec<Option<usize>> = (0..self.spans.len())
            .map(|place| self.sub_agent(place))
            .collect();
        let names = agents.iter().flatten();
        let names: BTreeMap<usize, String> = names
            .map(|agent| {
                (
                    *agent,
                    self.spans[*agent].text(&["gen_ai.agent.name", "agent.name"]),
                )
            })
            .collect();
        let mut groups: BTreeMap<Option<usize>, Vec<Span>> = BTreeMap::from([(None, Vec::new())]);
        for (span, agent) in self.spans.into_iter().zip(agents) {
            groups.entry(agent).or_default().push(span);
        }
        let mut contents = Contents::default();
        let mut exchanges = self.exchanges;
        let mut number = 0;
        for (agent, mut spans) in groups {
            spans.sort_by_cached_key(|span| {
                (
                    order.get(&span.trace).copied(),
                    Span::milliseconds(&span.start),
                    text_of(&span.start),
                )
            });
            if !push_calls(&mut exchanges, &mut spans) {
                continue;
            }
            let found = std::mem::take(&mut exchanges).finish(FORMAT.id)?;
            contents.problems.extend(found.problems);
            for mut session in found.sessions {
                if let Some(agent) = agent.filter(|_| !contents.sessions.is_empty()) {
                    number += 1;
                    let name = &names[&agent];
                    session.label = match name.is_empty() {
                        true => format!("side chain {number}"),
                        false => format!("side chain {number}: {name}"),
                    };
                    session.active = false;
                }
                contents.sessions.push(session);
            }
        }
        if contents.sessions.is_empty() {
            contents
                .problems
                .extend(exchanges.finish(FORMAT.id)?.problems);
        }
        Ok(contents)
    }

    /// The span of the sub-agent that a span belongs to: the nearest agent around it, if that was called by another.
    fn sub_agent(&self, place: usize) -> Option<usize> {
        let (mut agent, mut is_called) = (None, false);
        let mut place = place;
        for _ in 0..NESTED {
            let span = &self.spans[place];
            match agent {
                Some(agent) if is_called && span.is_agent() => return Some(agent),
                // Some frameworks have several spans for what one agent does.
                Some(_) => is_called |= span.is_tool(),
                None if span.is_agent() => {
                    agent = Some(place);
                    is_called = span.operation() == "invoke_agent";
                }
                None => {}
            }
            place = *self
                .ids
                .get(&span.parent)
                .filter(|_| !span.parent.is_empty())?;
        }
        None
    }
}

/// How deep spans are followed to those around them.
const NESTED: usize = 256;

/// What was said in a trace so far.
#[derive(Default)]
struct History {
    /// In the JSON of OpenAI's Chat.
    messages: Vec<String>,
    /// The places of the last messages with the calls of these ids, and with their results.
    asked: HashMap<String, usize>,
    answered: HashMap<String, usize>,
}

impl History {
    fn push(&mut self, said: &ChatElement) {
        let place = self.messages.len();
        for part in &said.element.parts {
            let (places, id) = match part {
                Part::Call(call) => (&mut self.asked, &call.id),
                Part::Result(result) => (&mut self.answered, &result.id),
                _ => continue,
            };
            places.insert(id.clone().unwrap_or_default(), place);
        }
        self.messages.extend(said.messages());
    }

    /// Whether a call was asked for that has no result.
    fn awaits(&self, id: &str) -> bool {
        let answered = self.answered.get(id);
        let asked = self.asked.get(id);
        asked.is_some_and(|asked| answered.is_none_or(|answered| answered < asked))
    }
}

/// Adds what the spans asked and got; whether they asked anything. What they hold is freed on the way.
fn push_calls(exchanges: &mut Exchanges, mut spans: &mut [Span]) -> bool {
    let mut history = History::default();
    let (mut trace, mut sent_before, mut place) = (None, 0, (0, 0));
    let mut has_calls = false;
    while let Some((span, later)) = spans.split_first_mut() {
        spans = later;
        if span.is_tool() {
            let run = [&span.start, &span.end].map(Span::milliseconds);
            exchanges.push_tool_run(&tool_id(span), &tool_name(span), run);
        }
        if trace.as_ref() != Some(&span.trace) {
            trace = Some(span.trace.clone());
            tell_rest(exchanges, &history.messages, sent_before, place);
            history = History::default();
            sent_before = 0;
        }
        place = span.place;
        match model_call(span, spans, &mut history) {
            Ok(Some(SpanCall {
                call,
                replied,
                response,
                goes_on,
            })) => {
                let messages = &history.messages;
                let input = &messages[..messages.len() - replied];
                exchanges.push_chat(&call, input, response, goes_on && sent_before > 0);
                sent_before = messages.len();
                has_calls = true;
            }
            Ok(None) => {}
            Err(reason) => {
                exchanges.report(place.0, ProblemKind::Undecodable(reason));
                has_calls = true;
            }
        }
        (span.attributes, span.events) = (Map::new(), Vec::new());
    }
    tell_rest(exchanges, &history.messages, sent_before, place);
    has_calls
}

/// Adds what tools gave after the last reply, as a request that nobody answered.
fn tell_rest(exchanges: &mut Exchanges, history: &[String], sent_before: usize, place: (u64, u64)) {
    if sent_before > 0 && sent_before < history.len() {
        let call = ModelCall {
            place,
            ..ModelCall::default()
        };
        exchanges.push_chat(&call, history, String::new(), true);
    }
}

/// The call of a model that a span is.
struct SpanCall {
    call: ModelCall,
    /// How many messages of the history are its reply.
    replied: usize,
    /// The body of the reply.
    response: String,
    /// Whether it names no input: it goes on from the history.
    goes_on: bool,
}

/// The call of a model that a span is, whose messages it adds to the history; a span of a tool adds its result.
fn model_call(
    span: &Span,
    later: &[Span],
    history: &mut History,
) -> Result<Option<SpanCall>, String> {
    if span.is_tool() {
        add_result(span, history);
        return Ok(None);
    }
    let operation = span.operation();
    let is_agent = span.is_agent()
        || ["create_agent", "invoke_workflow"].contains(&&*operation)
        || span.text(&["openinference.span.kind"]) == "CHAIN";
    // What the AI SDK does in several steps has a span for each.
    let is_whole = operation.starts_with("ai.") && !operation.contains(".do");
    if is_agent || is_whole {
        return Ok(None);
    }
    let (input, output) = (span.input()?, span.output()?);
    if input.is_null() && output.is_null() {
        return Ok(None);
    }
    let goes_on = input.is_null();
    if !goes_on {
        *history = History::default();
        for said in chat_elements(&input, Role::User) {
            history.push(&said);
        }
    }
    let error = span.error().filter(|_| output.is_null());
    let mut output = chat_elements(&named_calls(output), Role::Model);
    give_ids(&mut output, later);
    let stop = span.json(&[
        "gen_ai.response.finish_reasons",
        "ai.response.finishReason",
        "gen_ai.completion.0.finish_reason",
    ])?;
    let sent = Span::milliseconds(&span.start);
    let ended = Span::milliseconds(&span.end);
    let call = ModelCall {
        model: span.text(&[
            "gen_ai.response.model",
            "gen_ai.request.model",
            "llm.model_name",
            "ai.model.id",
        ]),
        tools: span.tools()?,
        usage: span.usage(),
        cost: span.cost(),
        stop: text_of(stop.get(0).unwrap_or(&stop)),
        sent: json!(sent),
        took: ended
            .zip(sent)
            .and_then(|(ended, sent)| ended.checked_sub(sent)),
        place: span.place,
        ..ModelCall::default()
    };
    let sent = history.messages.len();
    for said in &output {
        history.push(said);
    }
    let response = match error {
        Some(error) => call.response_of(&json!({ "error": error })),
        None => call.reply_of(output),
    };
    Ok(Some(SpanCall {
        call,
        replied: history.messages.len() - sent,
        response,
        goes_on,
    }))
}

/// any-agent spells calls as a list of `{"tool.name", "tool.args"}`.
fn named_calls(output: Value) -> Value {
    let is_call = |one: &Value| one.get("tool.name").is_some();
    match &output {
        Value::Array(calls) if calls.iter().any(is_call) => {
            json!({ "role": "assistant", "tool_calls": calls })
        }
        Value::Array(_) | Value::String(_) | Value::Null => output,
        message if message.get("role").is_some() || message.get("message").is_some() => output,
        other => Value::String(other.to_string()),
    }
}

/// Calls without an id have that of the span that ran them.
fn give_ids(output: &mut [ChatElement], later: &[Span]) {
    let mut ran = later.iter().take_while(|span| span.is_tool());
    for call in output.iter_mut().flat_map(ChatElement::calls) {
        if call.id.as_ref().is_none_or(String::is_empty)
            && let Some(span) = ran.find(|span| tool_name(span) == call.name)
        {
            call.id = Some(tool_id(span));
        }
    }
}

fn tool_name(span: &Span) -> String {
    let named = span.text(&[
        "gen_ai.tool.name",
        "tool.name",
        "ai.toolCall.name",
        "traceloop.entity.name",
    ]);
    match named.is_empty() {
        true => span.name.clone(),
        false => named,
    }
}

fn tool_id(span: &Span) -> String {
    match span.text(&["gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id"]) {
        id if id.is_empty() => format!("span_{}", text_of(&span.start)),
        id => id,
    }
}

/// Adds what a tool gave to a history whose spans do not say it.
fn add_result(span: &Span, history: &mut History) {
    let id = tool_id(span);
    if history.awaits(&id) {
        let recorded = span.text(&[
            "gen_ai.tool.call.result",
            "gen_ai.output",
            "output.value",
            "ai.toolCall.result",
            "traceloop.entity.output",
            "tool_response",
        ]);
        let result = result(&id, "", vec![Part::Text(recorded)], false);
        history.push(&ChatElement::new(Role::Tool, vec![result]));
    }
}

/// Attributes as an object: OTLP lists them with their types.
fn attributes_of(attributes: Value) -> Map<String, Value> {
    match attributes {
        Value::Object(members) => members,
        Value::Array(pairs) => pairs.into_iter().filter_map(pair).collect(),
        _ => Map::new(),
    }
}

/// A member, taken out of its object; null where there is none.
fn taken(value: &mut Value, key: &str) -> Value {
    value.get_mut(key).map(Value::take).unwrap_or_default()
}

fn elements_of(value: Value) -> Vec<Value> {
    match value {
        Value::Array(elements) => elements,
        _ => Vec::new(),
    }
}

fn pair(mut pair: Value) -> Option<(String, Value)> {
    let value = taken(&mut pair, "value");
    Some((pair["key"].as_str()?.to_owned(), plain(value)))
}

/// A value of OTLP without its type.
fn plain(mut value: Value) -> Value {
    let Some((kind, inside)) = value
        .as_object_mut()
        .and_then(|members| members.iter_mut().next())
    else {
        return value;
    };
    let elements = |inside| elements_of(taken(inside, "values")).into_iter();
    match kind.as_str() {
        "intValue" => match inside.as_str().and_then(|text| text.parse::<i64>().ok()) {
            Some(number) => json!(number),
            None => inside.take(),
        },
        "arrayValue" => elements(inside).map(plain).collect(),
        "kvlistValue" => Value::Object(elements(inside).filter_map(pair).collect()),
        "stringValue" | "doubleValue" | "boolValue" | "bytesValue" => inside.take(),
        _ => value,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::{outline, outlines, read};
    use serde_json::json;

    fn attribute(key: &str, value: serde_json::Value) -> serde_json::Value {
        let value = match value {
            serde_json::Value::Number(number) => json!({"intValue": number.to_string()}),
            text => json!({"stringValue": text}),
        };
        json!({"key": key, "value": value})
    }

    fn span(start: u64, attributes: &[(&str, serde_json::Value)]) -> serde_json::Value {
        let attributes = attributes
            .iter()
            .map(|(key, value)| attribute(key, value.clone()));
        json!({"traceId": "t", "spanId": start.to_string(), "name": "span", "attributes": attributes.collect::<Vec<_>>(),
            "startTimeUnixNano": (start * 1_000_000).to_string(), "endTimeUnixNano": ((start + 5) * 1_000_000).to_string()})
    }

    fn document(spans: &[serde_json::Value]) -> String {
        json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string()
    }

    const USER: &str = r#"[{"role":"user","parts":[{"type":"text","content":"Ring the bell."}]}]"#;
    const CALL: &str = r#"[{"role":"assistant","finish_reason":"tool_call","parts":[{"type":"tool_call","id":"c1","name":"ring","arguments":{"times":2}}]}]"#;
    const BOTH: &str = r#"[{"role":"user","parts":[{"type":"text","content":"Ring the bell."}]},{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"ring","arguments":{"times":2}}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":"rung"}]}]"#;
    const DONE: &str = r#"[{"role":"assistant","parts":[{"type":"text","content":"Done."}]}]"#;

    fn conventional() -> [serde_json::Value; 2] {
        let tools = r#"[{"type":"function","name":"ring","parameters":{"type":"object"}}]"#;
        [
            span(
                10,
                &[
                    ("gen_ai.operation.name", json!("chat")),
                    ("gen_ai.input.messages", json!(USER)),
                    ("gen_ai.output.messages", json!(CALL)),
                    ("gen_ai.tool.definitions", json!(tools)),
                    ("gen_ai.response.model", json!("m-1")),
                    ("gen_ai.usage.input_tokens", json!(12)),
                    ("gen_ai.usage.output_tokens", json!(3)),
                    ("gen_ai.usage.input_cost", json!("0.25")),
                    ("gen_ai.usage.output_cost", json!("0.5")),
                ],
            ),
            span(
                30,
                &[
                    ("gen_ai.operation.name", json!("chat")),
                    ("gen_ai.input.messages", json!(BOTH)),
                    ("gen_ai.output.messages", json!(DONE)),
                ],
            ),
        ]
    }

    #[test]
    fn spans_of_a_model_are_exchanges_of_one_conversation() {
        let contents = read("otel", &document(&conventional()));
        assert_eq!(contents.problems, []);
        let session = &contents.sessions[0];
        assert_eq!(
            (contents.sessions.len(), outline(session).as_str()),
            (1, "u c o a")
        );
        assert!(session.contract.tools_known());
        assert_eq!(session.model.as_deref(), Some("m-1"));
        let prices = crate::usage::Prices::default();
        let reply = crate::usage::UsageReader::new(session, &prices)
            .turn(1)
            .unwrap();
        let cost = reply.cost.unwrap();
        assert_eq!((cost.input.dollars(), cost.all.dollars()), (0.25, 0.75));
    }

    #[test]
    fn older_spellings_are_read_alike() {
        let open_inference = [span(
            10,
            &[
                ("openinference.span.kind", json!("LLM")),
                ("llm.input_messages.0.message.role", json!("user")),
                (
                    "llm.input_messages.0.message.content",
                    json!("Ring the bell."),
                ),
                ("llm.output_messages.0.message.role", json!("assistant")),
                (
                    "llm.output_messages.0.message.tool_calls.0.tool_call.id",
                    json!("c1"),
                ),
                (
                    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name",
                    json!("ring"),
                ),
                (
                    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments",
                    json!("{\"times\":2}"),
                ),
                (
                    "llm.tools.0.tool.json_schema",
                    json!(r#"{"type":"function","function":{"name":"ring","parameters":{}}}"#),
                ),
            ],
        )];
        let traceloop = [span(
            10,
            &[
                ("gen_ai.prompt.0.role", json!("user")),
                ("gen_ai.prompt.0.content", json!("Ring the bell.")),
                ("gen_ai.completion.0.role", json!("assistant")),
                ("gen_ai.completion.0.tool_calls.0.id", json!("c1")),
                ("gen_ai.completion.0.tool_calls.0.name", json!("ring")),
                ("gen_ai.completion.0.tool_calls.0.arguments", json!("{}")),
                ("llm.request.functions.0.name", json!("ring")),
                ("llm.request.functions.0.parameters", json!("{}")),
            ],
        )];
        let vercel = [span(
            10,
            &[
                ("operation.name", json!("ai.generateText.doGenerate")),
                (
                    "ai.prompt.messages",
                    json!(
                        r#"[{"role":"user","content":[{"type":"text","text":"Ring the bell."}]}]"#
                    ),
                ),
                (
                    "ai.prompt.tools",
                    json!(r#"[{"type":"function","name":"ring","parameters":{}}]"#),
                ),
                (
                    "ai.response.toolCalls",
                    json!(r#"[{"toolCallId":"c1","toolName":"ring","args":"{}"}]"#),
                ),
            ],
        )];
        let mut with_events = span(10, &[("gen_ai.operation.name", json!("chat"))]);
        with_events["events"] = json!([
            {"name": "gen_ai.user.message", "attributes": [attribute("content", json!("Ring the bell."))]},
            {"name": "gen_ai.choice", "attributes": [attribute("message",
                json!(r#"{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"ring","arguments":"{}"}}]}"#))]},
        ]);
        let logfire = [span(
            10,
            &[
                ("gen_ai.operation.name", json!("chat")),
                ("gen_ai.request.tools", json!("[]")),
                (
                    "events",
                    json!(
                        r#"[{"event.name":"gen_ai.user.message","content":"Ring the bell."},{"event.name":"gen_ai.choice","message":{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"ring","arguments":"{}"}}]}}]"#
                    ),
                ),
            ],
        )];
        for spans in [
            &open_inference[..],
            &traceloop,
            &vercel,
            &[with_events],
            &logfire,
        ] {
            assert_eq!(outlines("otel", &document(spans)), ["u c?"], "{spans:?}");
        }
    }

    #[test]
    fn spans_without_input_go_on_from_those_before() {
        let [first, _] = conventional();
        let tool = span(
            20,
            &[
                ("gen_ai.operation.name", json!("execute_tool")),
                ("gen_ai.tool.name", json!("ring")),
                ("gen_ai.tool.call.id", json!("c1")),
                ("gen_ai.tool.call.result", json!("rung")),
            ],
        );
        let last = span(
            30,
            &[
                ("gen_ai.operation.name", json!("chat")),
                ("gen_ai.output.messages", json!(DONE)),
            ],
        );
        // One span a line, as the collector writes them, in the order of their ends.
        let lines = [last, tool, first].map(|span| document(&[span]));
        assert_eq!(outlines("otel", &lines.join("\n")), ["u c o a"]);
    }

    #[test]
    fn many_spans_without_input_are_one_conversation_also_where_the_model_changes() {
        let [first, _] = conventional();
        let rounds = (0..6).flat_map(|round: u64| {
            let (at, id) = (100 + round * 20, format!("c{}", round + 1));
            let call = CALL.replace("c1", &format!("c{}", round + 2));
            let model = if round < 3 { "m-1" } else { "m-2" };
            let tool = span(
                at,
                &[
                    ("gen_ai.operation.name", json!("execute_tool")),
                    ("gen_ai.tool.call.id", json!(id)),
                    ("gen_ai.tool.call.result", json!("rung")),
                ],
            );
            let chat = span(
                at + 10,
                &[
                    ("gen_ai.operation.name", json!("chat")),
                    ("gen_ai.output.messages", json!(call)),
                    ("gen_ai.response.model", json!(model)),
                ],
            );
            [tool, chat]
        });
        let spans = [first].into_iter().chain(rounds).collect::<Vec<_>>();
        let contents = read("otel", &document(&spans));
        assert_eq!(contents.problems, []);
        let expected = format!("u {}c?", "c o ".repeat(6));
        assert_eq!(outlines("otel", &document(&spans)), [expected]);
    }

    #[test]
    fn a_call_took_what_the_span_of_its_tool_took() {
        let call = |id: &str, name: &str| json!({"type": "tool_call", "id": id, "name": name, "arguments": {}});
        let calls = [call("c1", "ring"), call("c2", "pull"), call("c3", "pull")];
        let at = json!([{"role": "assistant", "parts": calls}]).to_string();
        let answer = |id: &str| json!({"type": "tool_call_response", "id": id, "response": "done"});
        let answers = ["c1", "c2", "c3"].map(answer);
        let mut history: Vec<serde_json::Value> = serde_json::from_str(USER).unwrap();
        history.extend([
            json!({"role": "assistant", "parts": calls}),
            json!({"role": "tool", "parts": answers}),
        ]);
        let tool = |start: u64, took: u64, name: &str, id: Option<&str>| {
            let mut attributes = vec![
                ("gen_ai.operation.name", json!("execute_tool")),
                ("gen_ai.tool.name", json!(name)),
            ];
            attributes.extend(id.map(|id| ("gen_ai.tool.call.id", json!(id))));
            let mut span = span(start, &attributes);
            span["endTimeUnixNano"] = json!(((start + took) * 1_000_000).to_string());
            span
        };
        let spans = [
            span(
                10,
                &[
                    ("gen_ai.operation.name", json!("chat")),
                    ("gen_ai.input.messages", json!(USER)),
                    ("gen_ai.output.messages", json!(at)),
                ],
            ),
            // Of another conversation, and before the calls.
            tool(5, 1, "pull", None),
            tool(21, 7, "pull", None),
            tool(20, 9, "pull", None),
            tool(30, 40, "ring", Some("c1")),
            span(
                90,
                &[
                    ("gen_ai.operation.name", json!("chat")),
                    (
                        "gen_ai.input.messages",
                        json!(serde_json::Value::from(history).to_string()),
                    ),
                    ("gen_ai.output.messages", json!(DONE)),
                ],
            ),
        ];
        let contents = read("otel", &document(&spans));
        let session = &contents.sessions[0];
        assert_eq!(outline(session), "u c c c o o o a");
        let prices = crate::usage::Prices::default();
        let mut usage = crate::usage::UsageReader::new(session, &prices);
        let mut run = |call| {
            let start = usage.call_start(call).unwrap().unwrap();
            (start, usage.call_duration(call).unwrap().unwrap())
        };
        assert_eq!([run(1), run(2), run(3)], [(30, 40), (20, 9), (21, 7)]);
        let totals = crate::usage::SessionUsage::of(session, &prices, &|| false, &mut |_, _| ());
        let totals = totals.unwrap().unwrap();
        assert_eq!((totals.tools, totals.parallel), (56, 2));
    }

    #[test]
    fn what_an_agent_calls_inside_of_another_is_a_sub_agent() {
        let within = |parent: u64, mut span: serde_json::Value| {
            span["parentSpanId"] = json!(parent.to_string());
            span
        };
        let agent = |name: &str| {
            [
                ("gen_ai.operation.name", json!("invoke_agent")),
                ("gen_ai.agent.name", json!(name)),
            ]
        };
        let asks = |input: &str, output: &str| {
            [
                ("gen_ai.operation.name", json!("chat")),
                ("gen_ai.input.messages", json!(input)),
                ("gen_ai.output.messages", json!(output)),
            ]
        };
        let tool = [
            ("gen_ai.operation.name", json!("execute_tool")),
            ("gen_ai.tool.name", json!("ring")),
            ("gen_ai.tool.call.id", json!("c1")),
            ("gen_ai.tool.call.result", json!("rung")),
        ];
        let task = USER.replace("Ring the bell.", "Find the bell.");
        let last = [
            ("gen_ai.operation.name", json!("chat")),
            ("gen_ai.output.messages", json!(DONE)),
        ];
        let trace = [
            span(10, &agent("ringer")),
            within(10, span(11, &asks(USER, CALL))),
            within(10, span(20, &tool)),
            within(20, span(21, &agent("finder"))),
            within(21, span(22, &asks(&task, DONE))),
            within(10, span(30, &last)),
        ];
        let contents = read("otel", &document(&trace));
        let found = contents.sessions.iter();
        let found = found.map(|it| (outline(it), it.label.as_str(), it.active));
        let expected = [
            ("u c o a".to_owned(), "conversation 1", true),
            ("u a".to_owned(), "side chain 1: finder", false),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        // Spans that are their own parents end somewhere.
        let looped = [
            within(10, span(10, &agent("a"))),
            within(10, span(11, &asks(USER, DONE))),
        ];
        assert_eq!(read("otel", &document(&looped)).sessions.len(), 1);
    }

    #[test]
    fn protobuf_says_the_same() {
        fn field(number: u8, inside: &[u8]) -> Vec<u8> {
            let mut bytes = vec![number << 3 | 2];
            let length = inside.len();
            bytes.extend([(length & 0x7f) as u8 | 0x80, (length >> 7) as u8]);
            bytes.extend(inside);
            bytes
        }
        let pair = |key: &str, text: &str| {
            let value = field(2, &field(1, text.as_bytes()));
            field(9, &[field(1, key.as_bytes()), value].concat())
        };
        let span = [
            field(1, &[1; 16]),
            field(2, &[2; 8]),
            field(5, b"chat m-1"),
            [&[7 << 3 | 1][..], &1_000_000_u64.to_le_bytes()].concat(),
            pair("gen_ai.operation.name", "chat"),
            pair("gen_ai.input.messages", USER),
            pair("gen_ai.output.messages", CALL),
        ];
        let bare = field(1, &field(2, &field(2, &span.concat())));
        let length = u32::try_from(bare.len()).unwrap().to_be_bytes();
        let framed = [&length[..], &bare].concat();
        for bytes in [bare, framed] {
            assert_eq!(outlines("otel", &bytes), ["u c?"]);
        }
    }

    #[test]
    fn what_an_exporter_cut_is_reported_as_cut() {
        let cut = span(
            10,
            &[
                ("gen_ai.operation.name", json!("chat")),
                ("gen_ai.input.messages", json!(USER[..40])),
            ],
        );
        let contents = read("otel", &document(&[cut]));
        assert!(
            contents.problems[0]
                .kind
                .to_string()
                .contains("cut by its exporter")
        );
    }

    #[test]
    fn numbers_in_names_are_bounded() {
        let wild = span(
            10,
            &[
                ("gen_ai.prompt.99999999999.role", json!("user")),
                ("gen_ai.prompt.5000000.role", json!("user")),
            ],
        );
        assert_eq!(read("otel", &document(&[wild])).sessions.len(), 0);
    }

    #[test]
    fn ids_of_traces_that_are_numbers_of_128_bits_are_told_apart() {
        let span = |trace: &str, said: &str| {
            let said = format!(r#"[{{\"role\":\"user\",\"content\":\"{said}\"}}]"#);
            format!(
                r#"{{"name":"call_llm","context":{{"trace_id":{trace},"span_id":7}},"start_time":1,"attributes":{{"gen_ai.input.messages":"{said}","gen_ai.output":"Yes."}}}}"#
            )
        };
        let [one, other] =
            ["1", "2"].map(|end| format!("10092742960927626764675644894327998{end}"));
        let text = format!(
            r#"{{"spans":[{},{},{}]}}"#,
            span(&one, "a"),
            span(&other, "b"),
            span(&one, "c")
        );
        let mut trace = super::Trace::default();
        super::each_value(text.as_bytes(), |value, place| {
            trace.take(&mut value.unwrap(), place);
        });
        let ids = trace.spans.iter().map(|span| span.trace.as_str());
        assert_eq!(ids.collect::<Vec<_>>(), [&one, &other, &one]);
    }
}
