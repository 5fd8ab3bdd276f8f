//! Histories that are spelled in no dialect: each message is written in one, a line of a buffer of its own.
//!
//! A line is `{"timestamp", "model", "usage", "message"}`: what the file says beside a message is beside it
//! here as well, so that times, models and usage are found as in any log. The numbers of the records are those of
//! the lines or rows of the file, and problems keep their places in it.

use super::assemble::assemble_plain;
use super::format::Contents;
use super::sample::{Layout, Sample, is_cut_document};
use crate::json::{Cursor, JsonError, JsonErrorKind, complete, respelled, skip_value};
use crate::session::{
    Dialect, Fact, Flags, Fragment, Item, Kind, ProblemKind, Source, SourceError, Span,
};
use crate::wire::write::{Object, elements, quoted, text_of};
use crate::wire::{Element, Input, Part, Role, ToolCall, ToolResult};
use std::collections::HashSet;
use std::sync::Arc;

/// What a file says beside a message.
#[derive(Debug, Clone, Default)]
pub(super) struct Head {
    /// The line or the row that holds it; 0 where that is not known.
    number: u64,
    time: String,
    model: String,
    usage: String,
}

/// The tokens of a request and its reply.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    /// What was sent, without what the cache held or took.
    pub(super) input: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) output: u64,
}

impl Head {
    pub(super) fn new(number: u64) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }

    /// With its time: the JSON of a moment in the spelling of ISO 8601, or of the seconds or milliseconds since 1970.
    pub(super) fn at(mut self, time: Option<&str>) -> Self {
        let time = time.unwrap_or_default();
        self.time = match time.strip_prefix('"') {
            Some(text) => utc(text.trim_end_matches('"')).map_or_else(String::new, |time| {
                format!(r#""timestamp":{},"#, quoted(&time))
            }),
            None => milliseconds(time).map_or_else(String::new, |at| format!(r#""at":{at},"#)),
        };
        self
    }

    pub(super) fn of_model(mut self, model: &str) -> Self {
        self.model = model.to_owned();
        self
    }

    pub(super) fn spent(mut self, spent: Spent) -> Self {
        let Spent {
            input,
            cache_read,
            cache_write,
            output,
        } = spent;
        if input + cache_read + cache_write + output > 0 {
            self.usage = format!(
                r#""usage":{{"input_tokens":{input},"cache_read_input_tokens":{cache_read},"cache_creation_input_tokens":{cache_write},"output_tokens":{output}}},"#
            );
        }
        self
    }
}

/// A time of ISO 8601; `None` for an empty one. One without a zone is of the machine that wrote it, which is not
/// known, and is taken for UTC.
pub(super) fn utc(time: &str) -> Option<String> {
    let time = time.trim_end_matches("+00:00").trim_end_matches('Z');
    (!time.is_empty()).then(|| format!("{}Z", time.replacen(' ', "T", 1)))
}

/// A number of seconds or milliseconds since 1970 as milliseconds.
fn milliseconds(number: &str) -> Option<u64> {
    /// Seconds of the year 5138, milliseconds of 1973.
    const LARGEST_SECOND: f64 = 1e11;
    let number = number.parse::<f64>().ok().filter(|number| *number > 0.0)?;
    let factor = if number < LARGEST_SECOND { 1000.0 } else { 1.0 };
    Some((number * factor).round() as u64)
}

/// The sessions of a file, message by message.
pub(super) struct Transcript {
    format: &'static str,
    dialect: Dialect,
    buffer: Vec<u8>,
    fragment: Fragment,
    /// The labels of sessions that no run would go on from.
    inactive: HashSet<String>,
    starts_reply: bool,
    /// Whether the file says where replies begin; else each message of the model is one.
    knows_replies: bool,
    /// The model that was noted last in the session at hand.
    model: String,
}

impl Transcript {
    pub(super) fn new(format: &'static str, dialect: Dialect) -> Self {
        Self {
            format,
            dialect,
            buffer: Vec::new(),
            fragment: Fragment::default(),
            inactive: HashSet::new(),
            starts_reply: false,
            knows_replies: false,
            model: String::new(),
        }
    }

    /// Begins a session of a file that holds several.
    pub(super) fn begin_session(&mut self, label: &str, is_active: bool) {
        self.model.clear();
        self.note(Fact::NextSession);
        self.note(Fact::Label(label.to_owned()));
        if !is_active {
            self.inactive.insert(label.to_owned());
        }
    }

    pub(super) fn note(&mut self, fact: Fact) {
        self.fragment.note(fact);
    }

    /// Notes something that could not be read; `at` is its place in the file.
    pub(super) fn report(&mut self, at: u64, kind: ProblemKind) {
        self.fragment.report(at, kind);
    }

    /// Notes why the reply that ends here ended, in the provider's word.
    pub(super) fn stop(&mut self, reason: &str) {
        self.fragment.note_stop(reason.as_bytes());
    }

    /// Notes the model that answers from here on.
    pub(super) fn note_model(&mut self, model: &str) {
        if !model.is_empty() && self.model != model {
            model.clone_into(&mut self.model);
            self.note(Fact::Model(model.to_owned()));
        }
    }

    /// Notes that these tools are offered: the JSON of a list of definitions or of names; `null` where they are not
    /// recorded.
    pub(super) fn offer(&mut self, tools: &str) {
        if tools == "null" {
            return;
        }
        let start = self.begin_line("", tools, "");
        let span = Span::within(0, start..start + tools.len());
        self.fragment.note(Fact::Tools(span));
    }

    /// The next thing that the model says or calls begins a reply.
    pub(super) fn begin_reply(&mut self) {
        self.starts_reply = true;
        self.knows_replies = true;
    }

    /// Adds a message of which nothing more is known.
    pub(super) fn say(&mut self, head: &Head, role: Role, parts: Vec<Part>) {
        self.add(head, role, parts);
    }

    /// Adds a message with the calls or the results in it. Texts that say nothing are left out.
    pub(super) fn add(&mut self, head: &Head, role: Role, parts: Vec<Part>) -> &mut [Item] {
        let says = |part: &Part| !matches!(part, Part::Text(text) if text.is_empty());
        let element = Element::new(role, parts.into_iter().filter(says).collect());
        let first = self.fragment.items.len();
        if !element.parts.is_empty() {
            self.write(head, &element);
        }
        let results = element.parts.iter().filter_map(|part| match part {
            Part::Result(result) => Some(result.is_error),
            _ => None,
        });
        let items = &mut self.fragment.items[first..];
        let outputs = items.iter_mut().filter(|item| item.kind == Kind::Output);
        for (output, is_error) in outputs.zip(results) {
            output.flags.set_if(Flags::ERROR, is_error);
        }
        items
    }

    fn write(&mut self, head: &Head, element: &Element) {
        let codec = self.dialect.codec();
        let facts = codec.facts();
        if element.role == Role::Model {
            self.note_model(&head.model);
        }
        let mut elements = codec.write_element(element);
        if facts.has_blocks {
            let role = match element.role {
                Role::Model => facts.model_role,
                Role::System | Role::Developer => "system",
                Role::User | Role::Tool => "user",
            };
            elements = vec![facts.message_of(role, &elements.join(","))];
        }
        for json in &elements {
            self.add_element(head, json);
        }
    }

    /// Adds an element of the dialect, as it is spelled.
    pub(super) fn add_element(&mut self, head: &Head, json: &str) -> &mut [Item] {
        let first = self.fragment.items.len();
        let start = self.line_of(head, json);
        let cursor = &mut Cursor::at(&self.buffer, start);
        let codec = self.dialect.codec();
        // What holds it was walked without a fault.
        if let Err(fault) = codec.read_element(cursor, 0, &mut self.fragment) {
            self.report(0, ProblemKind::NotJson(fault.kind));
        }
        let items = &mut self.fragment.items[first..];
        if self.knows_replies {
            for item in items.iter_mut() {
                item.flags = item.flags.without(Flags::STARTS_REPLY);
            }
        }
        Self::mark_reply(&mut self.starts_reply, items);
        items
    }

    /// The line or the row of what was added last.
    pub(super) fn last_number(&self) -> u64 {
        let last = self.fragment.records.last();
        last.map_or(0, |record| record.number)
    }

    /// Adds what the model thought before it said or called something.
    pub(super) fn think(&mut self, head: &Head, text: &str) {
        if !text.is_empty() {
            self.mark(head, Kind::Reasoning, text);
        }
    }

    /// Adds what belongs to no dialect: a compaction, a note of the agent, a thought.
    pub(super) fn mark(&mut self, head: &Head, kind: Kind, text: &str) -> &mut Item {
        let json = format!(r#"{{"content":{}}}"#, quoted(text));
        let start = self.line_of(head, &json);
        let span = Span::within(0, start..start + json.len());
        self.fragment.push(kind, None, span);
        let place = self.fragment.items.len() - 1;
        Self::mark_reply(&mut self.starts_reply, &mut self.fragment.items[place..]);
        &mut self.fragment.items[place]
    }

    fn mark_reply(starts: &mut bool, items: &mut [Item]) {
        let mut items = items.iter_mut();
        if *starts && let Some(item) = items.find(|item| item.kind.is_from_model()) {
            item.flags = item.flags.with(Flags::STARTS_REPLY);
            *starts = false;
        }
    }

    /// Adds a line around the JSON of a message, and gives where that begins.
    fn line_of(&mut self, head: &Head, json: &str) -> usize {
        let model = match head.model.is_empty() {
            true => String::new(),
            false => format!(r#""model":{},"#, quoted(&head.model)),
        };
        let before = format!(r#"{{{}{model}{}"message":"#, head.time, head.usage);
        let start = self.begin_line(&before, json, "}");
        if let Some(record) = self.fragment.records.last_mut() {
            record.number = head.number;
        }
        start
    }

    fn begin_line(&mut self, before: &str, json: &str, after: &str) -> usize {
        let first = self.buffer.len();
        self.buffer.extend_from_slice(before.as_bytes());
        let start = self.buffer.len();
        self.buffer.extend_from_slice(json.as_bytes());
        self.buffer.extend_from_slice(after.as_bytes());
        let span = Span::within(0, first..self.buffer.len());
        self.fragment.begin_record(span);
        self.buffer.push(b'\n');
        start
    }

    /// The items of the session at hand and of those before it.
    pub(super) fn items(&mut self) -> &mut [Item] {
        &mut self.fragment.items
    }

    pub(super) fn finish(mut self) -> Result<Contents, SourceError> {
        let problems = std::mem::take(&mut self.fragment.problems);
        let source: Arc<dyn Source> = Arc::new(self.buffer);
        let mut contents = assemble_plain(self.format, self.dialect, self.fragment, &source)?;
        for session in &mut contents.sessions {
            session.active = !self.inactive.contains(&session.label);
        }
        Ok(contents.after(problems))
    }

    /// Reads the JSON objects of a text, one after another or in an array; `take` gets each as it is spelled. What is
    /// none is reported.
    pub(super) fn read_objects(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(&mut Self, &Object<'_>, &mut Lines<'_>),
    ) {
        let sample = Sample::new(bytes, true);
        let inside = match sample.layout {
            Layout::Array(inside) => inside,
            Layout::Lines | Layout::Object(_) | Layout::Text => 0,
        };
        let (mut line, mut counted) = (1, 0);
        read_values(bytes, sample.skipped + inside, |value, at| {
            line += memchr::memchr_iter(b'\n', &bytes[counted..at]).count() as u64;
            counted = at;
            match value {
                Ok(text) if text.starts_with(b"{") => {
                    let text = respelled(text);
                    let text = String::from_utf8_lossy(&text);
                    take(self, &Object::read(&text), &mut Lines::new(&text, line));
                }
                Ok(_) => self.report(at as u64, ProblemKind::NotARecord),
                Err(Fault { at, kind }) => self.report(at as u64, kind),
            }
        });
    }
}

/// Counts the lines of a text up to parts of it.
pub(super) struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: u64,
    first: u64,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str, first: u64) -> Self {
        Self {
            text,
            at: 0,
            line: first,
            first,
        }
    }

    /// The line on which the text begins.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The line on which a part begins that comes after the last one.
    pub(super) fn of(&mut self, part: &str) -> u64 {
        // The part is a slice of the text, so that the distance of their addresses is its place in it.
        let at = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        if let Some(passed) = self.text.as_bytes().get(self.at..at) {
            self.line += memchr::memchr_iter(b'\n', passed).count() as u64;
            self.at = at;
        }
        self.line
    }
}

/// Why a value of a text cannot be read.
#[derive(Debug)]
pub(super) struct Fault {
    /// The byte that cannot be read.
    pub(super) at: usize,
    pub(super) kind: ProblemKind,
}

/// Walks JSON values one after another, in lines or in an array; `take` gets each, with where it begins. A value that
/// is broken ends with its line.
pub(super) fn read_values(
    bytes: &[u8],
    from: usize,
    mut take: impl FnMut(Result<&[u8], Fault>, usize),
) {
    let mut at = from;
    loop {
        while let Some(b' ' | b'\n' | b'\r' | b'\t' | b',' | 0x1e) = bytes.get(at) {
            at += 1;
        }
        if matches!(bytes.get(at), None | Some(b']')) {
            return;
        }
        match skip_value(bytes, at) {
            Ok(end) => {
                take(Ok(&bytes[at..end]), at);
                at = end;
            }
            Err(fault) if is_cut(&bytes[at..], at, from, bytes, fault) => {
                take(Ok(&complete(&bytes[at..])), at);
                let (at, kind) = (bytes.len(), ProblemKind::Unclosed);
                return take(Err(Fault { at, kind }), at);
            }
            Err(fault) => {
                let line_end = memchr::memchr(b'\n', &bytes[at..]).map(|length| at + length);
                let kind = match (fault.kind, line_end) {
                    (JsonErrorKind::End, None) => ProblemKind::Torn,
                    (kind, _) => ProblemKind::NotJson(kind),
                };
                let line_end = line_end.unwrap_or(bytes.len());
                if bytes[at..line_end].trim_ascii().ends_with(b"[DONE]") {
                    take(Ok(b"[DONE]"), at);
                } else {
                    let fault = Fault {
                        at: fault.at.clamp(at, line_end),
                        kind,
                    };
                    take(Err(fault), at);
                }
                at = line_end;
            }
        }
    }
}

/// Whether a value is cut by the end of its text and is not a line: a document of its own, or the element of an array.
fn is_cut(value: &[u8], at: usize, from: usize, bytes: &[u8], fault: JsonError) -> bool {
    let is_first = bytes[..at].trim_ascii().is_empty();
    let is_element = from > 0 && bytes.get(from - 1) == Some(&b'[');
    let is_object = value.starts_with(b"{") && fault.kind == JsonErrorKind::End;
    is_object
        && (is_cut_document(value, fault) || ((is_first || is_element) && !value.contains(&b'\n')))
}

/// A call; `input` is the JSON of its arguments as it is spelled, or a string that holds such JSON.
pub(super) fn call(id: &str, name: &str, input: Option<&str>) -> Part {
    let input = input.unwrap_or("{}");
    let input = match input.starts_with('"') {
        true => text_of(input),
        false => input.to_owned(),
    };
    Part::Call(ToolCall {
        id: Some(id.to_owned()).filter(|id| !id.is_empty()),
        name: name.to_owned(),
        input: Input::Json(input),
    })
}

/// The result of a call.
pub(super) fn result(id: &str, name: &str, content: Vec<Part>, is_error: bool) -> Part {
    Part::Result(ToolResult {
        id: Some(id.to_owned()).filter(|id| !id.is_empty()),
        name: name.to_owned(),
        content,
        is_error,
        is_custom: false,
    })
}

/// A content: a text, a list of texts and pictures, or another value, which is kept as it is spelled.
pub(super) fn content(json: Option<&str>) -> Vec<Part> {
    let Some(json) = json else {
        return Vec::new();
    };
    match json.as_bytes() {
        [b'"', ..] => vec![Part::Text(text_of(json))],
        [b'[', ..] => elements(json).into_iter().map(content_part).collect(),
        _ => vec![Part::Json(json.to_owned())],
    }
}

fn content_part(json: &str) -> Part {
    if json.starts_with('"') {
        return Part::Text(text_of(json));
    }
    let part = Object::read(json);
    if part.has("text") {
        return Part::Text(part.text("text"));
    }
    match (part.text("mimeType"), part.text("data")) {
        (media_type, data) if !media_type.is_empty() && !data.is_empty() => {
            Part::Image(format!("data:{media_type};base64,{data}"))
        }
        _ => Part::Json(json.to_owned()),
    }
}
