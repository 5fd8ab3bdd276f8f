//! Histories that are spelled in no dialect: each message is written in one, a line of a buffer of its own.
//!
//! A line is `{"timestamp", "model", "usage", "message"}`: what the file says beside a message is beside it
//! here as well, so that times, models and usage are found as in any log. The numbers of the records are those of
//! the lines or rows of the file, and problems keep their places in it.
//!
//! A file that is read entry by entry ([`read_entry`]) is spelled anew without its long strings: in their place
//! stand marks, and in the end stretches of the file. So neither time nor memory go into texts that are only passed
//! on.

use super::assemble::assemble_plain;
use super::format::{Contents, Format};
use super::sample::{Layout, Sample, is_cut_document};
use crate::json::{
    Cursor, JsonError, JsonErrorKind, Result, bad_strings, complete, display_text, lossy_text,
    respelled, skip_value, skip_whitespace, string_end,
};
use crate::session::{
    Dialect, Fact, Flags, Fragment, Item, Kind, ProblemKind, RecordLink, Source, SourceResult,
    Span, SpelledText,
};
use crate::wire::images::may_hold_pictures;
use crate::wire::write::{Object, elements, quoted, text_of};
use crate::wire::{Element, Input, Part, Role, ToolCall, ToolResult};
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// What a file says beside a message.
#[derive(Debug, Clone, Default)]
pub(super) struct Head {
    /// The line or the row that holds it; 0 where that is not known.
    number: u64,
    time: String,
    took: String,
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
    /// What they cost in US dollars; 0 where that is not recorded.
    pub(super) cost: f64,
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

    /// With how long its reply took, in milliseconds: its time is that of the request.
    pub(super) fn replied_in(mut self, took: u64) -> Self {
        self.took = format!(r#""ms":[{took}],"#);
        self
    }

    pub(super) fn of_model(mut self, model: &str) -> Self {
        self.model = model.to_owned();
        self
    }

    /// With what the run had cost once the reply was there: the JSON of US dollars.
    pub(super) fn accumulated_cost(mut self, cost: Option<&str>) -> Self {
        if let Some(cost) = cost {
            self.usage += &format!(r#""accumulated_cost":{cost},"#);
        }
        self
    }

    pub(super) fn spent(mut self, spent: Spent) -> Self {
        let Spent {
            input,
            cache_read,
            cache_write,
            output,
            cost,
        } = spent;
        if input + cache_read + cache_write + output > 0 {
            let cost = match cost > 0.0 {
                true => format!(r#","cost":{cost}"#),
                false => String::new(),
            };
            self.usage += &format!(
                r#""usage":{{"input_tokens":{input},"cache_read_input_tokens":{cache_read},"cache_creation_input_tokens":{cache_write},"output_tokens":{output}{cost}}},"#
            );
        }
        self
    }
}

/// A time of ISO 8601; `None` for an empty one. One without a zone is of the machine that wrote it, which is not
/// known, and is taken for UTC.
pub(super) fn utc(time: &str) -> Option<String> {
    let time = time.trim_end_matches("+00:00").trim_end_matches('Z');
    let has_zone = matches!(time.as_bytes(), [.., b'+' | b'-', _, _, b':', _, _]);
    let zone = if has_zone { "" } else { "Z" };
    (!time.is_empty()).then(|| format!("{}{zone}", time.replacen(' ', "T", 1)))
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
    fragment: Fragment,
    /// The strings that were left out of the entry at hand.
    long: Vec<LongString>,
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
            fragment: Fragment::default(),
            long: Vec::new(),
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
        let line = self.begin_line("", tools, "");
        self.fragment.note(Fact::Tools(line.span));
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
        let line = self.line_of(head, json);
        let (cursor, codec) = (&mut Cursor::new(json.as_bytes()), self.dialect.codec());
        // What holds it was walked without a fault.
        if let Err(fault) = codec.read_element(cursor, line.span.start, &mut self.fragment) {
            self.report(0, ProblemKind::NotJson(fault.kind));
        }
        let items = &mut self.fragment.items[first..];
        let has_none = !may_hold_pictures(json.as_bytes());
        for item in items.iter_mut() {
            line.lengthen(item);
            item.flags.set_if(Flags::NO_PICTURE, has_none);
        }
        if self.knows_replies {
            for item in items.iter_mut() {
                item.flags = item.flags.without(Flags::STARTS_REPLY);
            }
        }
        Self::mark_reply(&mut self.starts_reply, items);
        items
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
        let line = self.line_of(head, &json);
        self.fragment.push(kind, None, line.span);
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

    /// Adds a line around the JSON of a message, and gives where that is.
    fn line_of(&mut self, head: &Head, json: &str) -> Line {
        let model = match head.model.is_empty() {
            true => String::new(),
            false => format!(r#""model":{},"#, quoted(&head.model)),
        };
        let Head {
            time, took, usage, ..
        } = head;
        let before = format!(r#"{{{time}{took}{model}{usage}"message":"#);
        let line = self.begin_line(&before, json, "}");
        if let Some(record) = self.fragment.records.last_mut() {
            record.number = head.number;
        }
        line
    }

    fn begin_line(&mut self, before: &str, json: &str, after: &str) -> Line {
        let text = &mut self.fragment.text;
        let first = text.len();
        push_whole(text, before, &self.long);
        let start = text.len();
        let growths = push_whole(text, json, &self.long);
        let end = text.len();
        text.push(after.as_bytes());
        let record = Span::new(first, text.len());
        text.push(b"\n");
        self.fragment.begin_record(record);
        let span = Span { start, end };
        Line { span, growths }
    }

    /// The items of the session at hand and of those before it.
    pub(super) fn items(&mut self) -> &mut [Item] {
        &mut self.fragment.items
    }

    pub(super) fn finish(self) -> SourceResult<Contents> {
        self.finish_from(no_file())
    }

    /// The sessions, whose long texts are in `file`.
    pub(super) fn finish_from(mut self, file: Arc<dyn Source>) -> SourceResult<Contents> {
        let source = std::mem::take(&mut self.fragment.text).into_source(&file);
        self.finish_in(&source)
    }

    /// What was added so far as the entries that it was begun with; long texts are in `file`.
    pub(super) fn into_entries(self, file: Arc<dyn Source>) -> Entries {
        Entries::new(self.fragment, &file)
    }

    fn finish_in(mut self, source: &Arc<dyn Source>) -> SourceResult<Contents> {
        let problems = std::mem::take(&mut self.fragment.problems);
        let mut contents = assemble_plain(self.format, self.dialect, self.fragment, source)?;
        for session in &mut contents.sessions {
            session.active = !self.inactive.contains(&session.label);
        }
        Ok(contents.after(problems))
    }

    /// JSON without its long strings, which are put back where it is written. `place` is where the file has it.
    pub(super) fn shorten<'a>(&mut self, json: &'a str, place: Option<u64>) -> Cow<'a, str> {
        if json.len() < LONG || !bad_strings(json.as_bytes()).is_empty() {
            return Cow::Borrowed(json);
        }
        match shortened(json.as_bytes(), place, self.long.len()) {
            (Cow::Owned(short), long) => {
                self.long.extend(long);
                Cow::Owned(lossy_text(&short).into_owned())
            }
            (Cow::Borrowed(_), _) => Cow::Borrowed(json),
        }
    }

    /// Forgets the strings that were left out so far: what they were left out of is written.
    pub(super) fn forget(&mut self) {
        self.long.clear();
    }

    /// Begins an entry of a file: what follows, up to the next one, is made of it. `label` is kept with it.
    pub(super) fn begin_entry(&mut self, link: RecordLink, label: &str) {
        self.fragment.begin_entry(link, label);
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
                    let text = lossy_text(&text);
                    take(self, &Object::read(&text), &mut Lines::new(&text, line));
                }
                Ok(_) => self.report(at as u64, ProblemKind::NotARecord),
                Err(UnreadValue { at, kind }) => self.report(at as u64, kind),
            }
        });
    }
}

/// Reads the value at the cursor as an entry of a file; `write` adds what it is made into, with the lines of its parts.
pub(super) fn read_entry(
    cursor: &mut Cursor<'_>,
    base: u64,
    out: &mut Fragment,
    dialect: Dialect,
    write: impl FnOnce(&mut Transcript, &Object<'_>, &mut Lines<'_>),
) -> Result<()> {
    let range = cursor.skip()?;
    let entry = respelled(&cursor.bytes()[range.clone()]);
    let place = matches!(entry, Cow::Borrowed(_)).then(|| base + range.start as u64);
    let (short, long) = shortened(&entry, place, 0);
    let short = lossy_text(&short);
    let mut transcript = Transcript::new("", dialect);
    transcript.knows_replies = true;
    transcript.long = long;
    transcript.fragment = std::mem::take(out);
    let line = transcript.fragment.line();
    write(
        &mut transcript,
        &Object::read(&short),
        &mut Lines::new(&short, line),
    );
    *out = transcript.fragment;
    Ok(())
}

/// The entries of a file, from which its sessions are made in the order of the history.
pub(super) struct Entries {
    read: Fragment,
    source: Arc<dyn Source>,
    pub(super) all: Vec<Entry>,
}

/// An entry of a file.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) link: RecordLink,
    /// The first one holds its label.
    records: Range<usize>,
}

impl Entries {
    pub(super) fn new(mut read: Fragment, file: &Arc<dyn Source>) -> Self {
        let all = read.entries().map(|(link, records)| Entry {
            link: *link,
            records,
        });
        Self {
            all: all.collect(),
            source: std::mem::take(&mut read.text).into_source(file),
            read,
        }
    }

    /// An empty transcript that entries are added to.
    pub(super) fn transcript(&self, format: &Format) -> Transcript {
        Transcript {
            fragment: Fragment::with_names_of(&self.read),
            ..Transcript::new(format.id, format.dialect())
        }
    }

    /// The items that an entry was made into.
    pub(super) fn items(&self, entry: &Entry) -> &[Item] {
        let place = |record: usize| {
            let items = &self.read.items;
            items.partition_point(|item| (item.record as usize) < record)
        };
        &self.read.items[place(entry.records.start)..place(entry.records.end)]
    }

    /// Adds an entry without the first messages of it; gives the items.
    pub(super) fn add<'a>(
        &self,
        entry: &Entry,
        without: usize,
        out: &'a mut Transcript,
    ) -> &'a mut [Item] {
        let first = out.fragment.items.len();
        let records = entry.records.clone();
        out.fragment.take_entry(&self.read, records, without);
        &mut out.fragment.items[first..]
    }

    pub(super) fn label(&self, entry: &Entry) -> SourceResult<String> {
        let label = self
            .source
            .read(self.read.records[entry.records.start].span)?;
        Ok(String::from_utf8_lossy(&label).into_owned())
    }

    pub(super) fn finish(self, out: Transcript) -> SourceResult<Contents> {
        out.finish_in(&self.source)
    }
}

/// A message in the text that is spelled anew.
struct Line {
    span: Span,
    /// How much longer it became behind each of its marks, by their places.
    growths: Vec<(u64, u64)>,
}

impl Line {
    /// Moves the span of an item to where it is with the long strings.
    fn lengthen(&self, item: &mut Item) {
        if self.growths.is_empty() {
            return;
        }
        let moved = |place: u64| {
            let before = self.growths.partition_point(|(mark, _)| *mark < place);
            let growth = before
                .checked_sub(1)
                .and_then(|last| self.growths.get(last));
            place + growth.map_or(0, |(_, growth)| *growth)
        };
        let id = item.span.start + u64::from(item.call_id.offset);
        item.span = Span::new(moved(item.span.start), moved(item.span.end));
        let offset = u32::try_from(moved(id) - item.span.start);
        item.call_id.offset = offset.unwrap_or(u32::MAX);
    }
}

/// A string that was left out of an entry.
struct LongString {
    /// What of it is left out, as it is spelled.
    text: Box<[u8]>,
    /// Where the file has it, spelled so.
    place: Option<Span>,
}

/// How long strings are that are left out.
const LONG: usize = 512;
/// How much of them stays: what a reader looks at to tell what a text is.
const SHOWN: usize = 256;
/// What stands around the number of a string that was left out: a character that no text has (of the private use area).
/// The backslashes before the number say how often the string around it was quoted.
const MARK: &str = "\u{f8ff}";
static MARKS: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(MARK));
static ESCAPES: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\\u"));

/// An entry without its long strings; `place` is where it begins in the file, where it is as it is spelled there,
/// `first` the number of its first long string. What is compared, names and ids, stays whole.
fn shortened(entry: &[u8], place: Option<u64>, first: usize) -> (Cow<'_, [u8]>, Vec<LongString>) {
    let (mut short, mut long) = (Vec::new(), Vec::new());
    let (mut at, mut copied, mut key) = (0, 0, &entry[..0]);
    while let Some(open) = memchr::memchr(b'"', &entry[at..]).map(|found| at + found) {
        let Ok(end) = string_end(entry, open) else {
            break;
        };
        at = end;
        let inside = open + 1..end - 1;
        if entry.get(skip_whitespace(entry, end)) == Some(&b':') {
            key = &entry[inside];
        } else if inside.len() >= LONG && !is_compared(key) {
            let from = inside.start + shown(&entry[inside.clone()]);
            short.extend_from_slice(&entry[copied..from]);
            short.extend_from_slice(format!("{MARK}\\\\{}{MARK}", first + long.len()).as_bytes());
            let text = from..inside.end;
            long.push(LongString {
                text: entry[text.clone()].into(),
                place: place.map(|place| Span::within(place, text)),
            });
            copied = inside.end;
        }
    }
    if long.is_empty() {
        return (Cow::Borrowed(entry), long);
    }
    short.extend_from_slice(&entry[copied..]);
    let marks = MARKS.find_iter(&short).count();
    let escapes = ESCAPES.find_iter(&short);
    let mut escapes = escapes.filter_map(|at| short.get(at + 2..at + 6));
    let is_own = !escapes.any(|digits| digits.eq_ignore_ascii_case(b"f8ff"));
    match is_own && marks == 2 * long.len() {
        true => (Cow::Owned(short), long),
        // The file has such characters itself.
        false => (Cow::Borrowed(entry), Vec::new()),
    }
}

fn is_compared(key: &[u8]) -> bool {
    let words: [&[u8]; 6] = [b"id", b"ame", b"odel", b"ool", b"type", b"role"];
    let key = key.to_ascii_lowercase();
    words.iter().any(|word| key.ends_with(word))
}

/// Where the rest of a long string begins: not within a character or an escape.
fn shown(inside: &[u8]) -> usize {
    let mut at = 0;
    while at < SHOWN {
        at += match inside[at..] {
            [
                b'\\',
                b'u',
                b'd' | b'D',
                b'8' | b'9' | b'a' | b'b' | b'A' | b'B',
                ..,
            ] => 12,
            [b'\\', b'u', ..] => 6,
            [b'\\', ..] => 2,
            _ => 1,
        };
    }
    while inside.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
        at += 1;
    }
    at
}

/// Adds JSON with the strings that were left out of it. Gives for each the place of its mark and how much longer the
/// text became up to its end.
fn push_whole(text: &mut SpelledText, json: &str, long: &[LongString]) -> Vec<(u64, u64)> {
    let (base, mut growths) = (text.len(), Vec::new());
    let mut rest = json;
    let split = |text| {
        let at = (!long.is_empty()).then(|| MARKS.find(str::as_bytes(text)))??;
        Some((&text[..at], &text[at + MARK.len()..]))
    };
    while let Some((before, mark)) = split(rest) {
        let Some((number, after)) = split(mark) else {
            break;
        };
        let digits = number.trim_start_matches('\\');
        let Some(string) = digits
            .parse()
            .ok()
            .and_then(|number: usize| long.get(number))
        else {
            break;
        };
        text.push(before.as_bytes());
        let quotings = (number.len() - digits.len()).max(1).ilog2();
        match (quotings, string.place) {
            (1, Some(place)) => text.take(place),
            (quotings, _) => {
                let mut spelled = lossy_text(&string.text);
                if quotings == 0 {
                    spelled = Cow::Owned(display_text(&string.text).into_owned());
                }
                for _ in 1..quotings {
                    let quoted = quoted(&spelled);
                    spelled = Cow::Owned(quoted[1..quoted.len() - 1].to_owned());
                }
                text.push(spelled.as_bytes());
            }
        }
        let place = base + (json.len() - rest.len() + before.len()) as u64;
        let end = base + (json.len() - after.len()) as u64;
        growths.push((place, text.len() - end));
        rest = after;
    }
    text.push(rest.as_bytes());
    growths
}

/// Where nothing is taken from a file.
fn no_file() -> Arc<dyn Source> {
    Arc::new(Vec::new())
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
pub(super) struct UnreadValue {
    /// The byte that cannot be read.
    pub(super) at: usize,
    pub(super) kind: ProblemKind,
}

/// Walks JSON values one after another, in lines or in an array; `take` gets each, with where it begins. A value that
/// is broken ends with its line.
pub(super) fn read_values(
    bytes: &[u8],
    from: usize,
    mut take: impl FnMut(Result<&[u8], UnreadValue>, usize),
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
                return take(Err(UnreadValue { at, kind }), at);
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
                    let fault = UnreadValue {
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
        namespace: None,
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::read;
    use super::*;
    use crate::session::Session;
    use serde_json::{Value, json};

    fn log(text: &str) -> String {
        let message = |message: Value| {
            let entry = json!({"type": "message", "message": message});
            entry.to_string() + "\n"
        };
        let call = json!({"type": "toolCall", "id": "c1", "name": "write", "arguments": {"text": text, "n": 1}});
        let said = json!({"type": "text", "text": text});
        let reply =
            json!({"role": "assistant", "api": "x", "stopReason": "stop", "content": [said, call]});
        let result = json!({"role": "toolResult", "toolCallId": "c1", "toolName": "write", "content": [said, said]});
        let ran = json!({"role": "bashExecution", "command": "ls", "output": text});
        [reply, result, ran].map(message).concat()
    }

    fn item(session: &Session, index: usize) -> Value {
        let bytes = session.source.read(session.items[index].span).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn long_strings_are_passed_on_as_they_are() {
        let plain = "a\"\\\n\u{1}é🦀".repeat(300);
        let own = format!("{plain}{MARK}\\0{MARK}");
        for text in ["short", &plain, &own] {
            let contents = read("pi", &log(text));
            assert_eq!(contents.problems, []);
            let session = &contents.sessions[0];
            assert_eq!(item(session, 0)["content"], json!(text));
            let arguments = item(session, 1)["arguments"].clone();
            let arguments: Value = serde_json::from_str(arguments.as_str().unwrap()).unwrap();
            assert_eq!(arguments, json!({"text": text, "n": 1}));
            let output = item(session, 2);
            assert_eq!(output["output"][1]["text"], json!(text));
            let id = session.items[2].call_id;
            let at = session.items[2].span.start + u64::from(id.offset);
            let id = Span::new(at, at + u64::from(id.length));
            assert_eq!(session.source.read(id).unwrap(), b"c1");
            assert_eq!(
                item(session, 3)["content"],
                json!(format!("Ran `ls`\n{text}"))
            );
            assert_eq!(session.items.len(), 4);
        }
    }

    #[test]
    fn what_is_long_stays_in_the_file() {
        let file: Arc<dyn Source> = Arc::new(log(&"x".repeat(1 << 20)).into_bytes());
        let bytes = file.read(Span::new(0, file.len())).unwrap();
        let (mut cursor, mut out) = (Cursor::new(&bytes), Fragment::default());
        let write = |out: &mut Transcript, entry: &Object<'_>, lines: &mut Lines<'_>| {
            let text = entry.object("message").list("content")[0].to_owned();
            out.say(
                &Head::new(lines.first()),
                Role::User,
                content(Some(&format!("[{text}]"))),
            );
        };
        read_entry(&mut cursor, 0, &mut out, Dialect::Responses, write).unwrap();
        assert!(out.text.len() > 1 << 20);
        assert!(out.text.held() < 1 << 10);
    }
}
