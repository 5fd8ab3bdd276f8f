//! Cassettes of VCR and its kin in YAML or JSON: vcrpy, pytest-recording, Ruby's and R's vcr, go-vcr.
//!
//! Each interaction is a request and a response. Bodies are text, packed bytes, or what a serialiser parsed from
//! them (`parsed_body`).

use super::http_exchanges::{ExchangeBody, Exchanges, HttpExchange};
use super::messages::{Place, document};
use super::{Contents, Format, Layout, Reading, Sample};
use crate::json::{bad_strings, display_text, lossy_text, string_end};
use crate::session::{ProblemKind, Source, SourceResult, Span};
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The row of this format. The dialect is that of the recorded provider.
pub(super) const FORMAT: Format = Format {
    id: "vcr",
    title: "VCR cassettes (YAML or JSON)",
    sniff,
    reading: Reading::Whole(read),
};

/// The members that hold the interactions: of Python and Go, of Ruby and R.
const HOLDERS: [&str; 2] = ["interactions", "http_interactions"];

fn sniff(sample: &Sample<'_>) -> u8 {
    let is_cassette = match sample.layout {
        Layout::Text => {
            let head = String::from_utf8_lossy(&sample.bytes[..sample.bytes.len().min(4096)]);
            let is_holder = |line: &str| {
                HOLDERS
                    .iter()
                    .any(|key| line.strip_suffix(':') == Some(key))
            };
            head.lines().any(is_holder)
        }
        _ => sample.first().is_some_and(|document| {
            let mut held = HOLDERS.iter().flat_map(|key| document.array(key));
            held.any(|one| one.has("request") && one.has("response"))
        }),
    };
    if is_cassette { 97 } else { 0 }
}

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut exchanges = Exchanges::default();
    let text = lossy_text(bytes);
    let mut bodies = LongBodies::default();
    let (cassette, lines) = match text.trim_start().starts_with('{') {
        true => {
            let cassette = document(text.as_bytes(), |at, kind| exchanges.report(at, kind));
            let held = HOLDERS.iter().find(|key| cassette[**key].is_array());
            let places = held.map(|key| Place::whole(bytes).elements(key));
            let lines = places.into_iter().flatten();
            (cassette, lines.map(|place| place.line as usize).collect())
        }
        false => {
            let mut reader = YamlReader::default();
            let short = bodies.take_from(&text);
            let ending = reader.read(&short, &bodies);
            let (cassette, lines) = reader.finish();
            if let Err((line, reason)) = ending {
                let reason = format!("YAML: {reason}; what comes before it is shown");
                exchanges.report(start_of_line(bytes, line), ProblemKind::Undecodable(reason));
            } else if let Some(missing) = missing_at_end(&cassette) {
                let reason = format!("the YAML ends in the middle: {missing}");
                exchanges.report(bytes.len() as u64, ProblemKind::Undecodable(reason));
            }
            (cassette, lines)
        }
    };
    let held = HOLDERS.iter().find_map(|key| cassette.get(key)?.as_array());
    let (mut start, mut reached) = (0, 1);
    for (index, interaction) in held.into_iter().flatten().enumerate() {
        let (request, response) = (&interaction["request"], &interaction["response"]);
        let url = ["uri", "url"]
            .iter()
            .find_map(|key| request.get(key)?.as_str());
        let line = lines.get(index).copied();
        if let Some(ahead) = line.and_then(|line| line.checked_sub(reached)) {
            start += start_of_line(&bytes[start..], ahead + 1) as usize;
            reached += ahead;
        }
        exchanges.push(&HttpExchange {
            url: url.unwrap_or_default(),
            request: bodies.body(request),
            response: bodies.body(response),
            status: status_of(response),
            headers: [&request["headers"], &response["headers"]],
            sent: Value::Null,
            took: None,
            place: (
                line.map_or(0, |_| start as u64),
                line.unwrap_or(index + 1) as u64,
            ),
            continues: None,
        });
    }
    exchanges.finish(FORMAT.id)
}

/// What every recorder writes and a cassette does not have because its end is cut off. YAML itself cannot tell where a
/// plain or a block scalar is cut. vcrpy and the libraries of Ruby and R end with the version; go-vcr begins with it,
/// but ends each exchange with its status.
fn missing_at_end(cassette: &Value) -> Option<String> {
    let of_ruby = cassette.get("http_interactions");
    let held = of_ruby.or(cassette.get("interactions"))?.as_array()?;
    let number = held.len();
    let last = held.last()?;
    let response = &last["response"];
    let statuses = ["status", "code", "status_code"];
    let version = match of_ruby {
        Some(_) => "recorded_with",
        None => "version",
    };
    if response.is_null() {
        Some(format!("exchange {number} has no response"))
    } else if !statuses.iter().any(|key| response.get(key).is_some()) {
        Some(format!("exchange {number} has no status"))
    } else if cassette.get(version).is_none() {
        Some(format!("it has no `{version}`"))
    } else {
        None
    }
}

fn body(side: &Value) -> &Value {
    side.get("parsed_body").unwrap_or(&side["body"])
}

/// Long bodies in double quotes, each on the line of its key: they are left out of what is read as YAML. A body that
/// is spelled as JSON does not allow stays.
#[derive(Default)]
struct LongBodies<'a> {
    text: &'a str,
    /// Their insides.
    places: Vec<Span>,
}

/// How long such bodies are.
const LONG: usize = 512;
/// What stands around the number of a body that was left out: a character that no text has (of the private use area).
const MARK: char = '\u{f8ff}';

impl<'a> LongBodies<'a> {
    /// Notes those of a text, and gives the text without them.
    fn take_from(&mut self, text: &'a str) -> Cow<'a, str> {
        self.text = text;
        let mut mark = [0; 4];
        if memchr::memmem::find(text.as_bytes(), MARK.encode_utf8(&mut mark).as_bytes()).is_some() {
            return Cow::Borrowed(text);
        }
        let (mut short, mut copied, mut start) = (String::new(), 0, 0);
        for end in memchr::memchr_iter(b'\n', text.as_bytes()) {
            let line = &text[start..end];
            if let Some(inside) = long_body(line) {
                let inside = start + inside.start..start + inside.end;
                short.push_str(&text[copied..inside.start]);
                short.push_str(&format!("{MARK}{}{MARK}", self.places.len()));
                copied = inside.end;
                self.places.push(Span::within(0, inside));
            }
            start = end + 1;
        }
        short.push_str(&text[copied..]);
        Cow::Owned(short)
    }

    /// The body of a request or of a response.
    fn body<'v>(&self, side: &'v Value) -> ExchangeBody<'v>
    where
        'a: 'v,
    {
        let body = body(side);
        let text = body.get("string").unwrap_or(body);
        let Some(at) = text.as_str().and_then(|text| self.place(text)) else {
            return body.into();
        };
        if body.get("encoding").is_some() {
            let text = display_text(self.inside(at).as_bytes());
            return ExchangeBody::Parsed(Cow::Owned(
                json!({ "string": text, "encoding": body["encoding"] }),
            ));
        }
        ExchangeBody::Quoted {
            text: self.text.as_bytes(),
            at,
        }
    }

    fn inside(&self, at: Span) -> &'a str {
        &self.text[at.start as usize..at.end as usize]
    }

    /// The place of a body that a text is nothing but the mark of.
    fn place(&self, text: &str) -> Option<Span> {
        let number = text.strip_prefix(MARK)?.strip_suffix(MARK)?;
        self.places.get(number.parse::<usize>().ok()?).copied()
    }

    /// A scalar as it is without marks: what looks like a body may be a line of a text, or stand elsewhere.
    fn whole<'t>(&self, text: &'t str, style: ScalarStyle, is_body: bool) -> Cow<'t, str> {
        if self.places.is_empty() || !text.contains(MARK) {
            return Cow::Borrowed(text);
        }
        if style == ScalarStyle::DoubleQuoted
            && let Some(at) = self.place(text)
        {
            return match is_body {
                true => Cow::Borrowed(text),
                false => Cow::Owned(display_text(self.inside(at).as_bytes()).into_owned()),
            };
        }
        let mut whole = String::new();
        for piece in text.split_inclusive(MARK) {
            let number = piece
                .strip_suffix(MARK)
                .and_then(|number| number.parse::<usize>().ok());
            match number.and_then(|number| self.places.get(number)) {
                Some(at) => {
                    let spelled = self.inside(*at);
                    match style {
                        ScalarStyle::SingleQuoted => whole.push_str(&spelled.replace("''", "'")),
                        _ => whole.push_str(spelled),
                    }
                }
                None => whole.push_str(piece.trim_end_matches(MARK)),
            }
        }
        Cow::Owned(whole)
    }
}

/// The inside of the quotes after `body: ` or `string: ` on a line, where it is long.
fn long_body(line: &str) -> Option<Range<usize>> {
    let line = line.trim_end_matches('\r');
    if line.len() < LONG {
        return None;
    }
    let key = line.trim_start_matches([' ', '-']);
    let value = key
        .strip_prefix("body: \"")
        .or(key.strip_prefix("string: \""))?;
    let start = line.len() - value.len();
    let inside = start..line.len() - 1;
    let is_whole = string_end(line.as_bytes(), start - 1) == Ok(line.len());
    (is_whole && bad_strings(&line.as_bytes()[start - 1..]).is_empty()).then_some(inside)
}

/// `{"code": 400, ..}`, or the code alone; in YAML a number, in some libraries' JSON a text.
fn status_of(response: &Value) -> u64 {
    let status = &response["status"];
    let code = status.get("code").unwrap_or(status);
    let code = code.as_u64().or_else(|| code.as_str()?.parse().ok());
    code.or_else(|| response["status_code"].as_u64())
        .unwrap_or_default()
}

fn start_of_line(text: &[u8], line: usize) -> u64 {
    let mut ends = memchr::memchr_iter(b'\n', text);
    let end = line.checked_sub(2).and_then(|before| ends.nth(before));
    end.map_or(0, |end| end as u64 + 1)
}

// YAML as JSON values, by the core schema.

/// How deep a document may be nested.
const DEPTH: usize = 256;
/// How many values may be repeated by aliases: a few of them may expand to billions.
const REPEATED: usize = 1_000_000;

#[derive(Default)]
struct YamlReader {
    /// The lists and maps that are open.
    open: Vec<Open>,
    anchors: HashMap<usize, Value>,
    repeated: usize,
    root: Value,
    /// The line of each element of a list in the root.
    lines: Vec<usize>,
}

struct Open {
    value: Value,
    /// The key whose value comes next.
    key: Option<String>,
    anchor: usize,
}

impl YamlReader {
    /// Reads the first document; an error has its line.
    fn read(&mut self, text: &str, bodies: &LongBodies<'_>) -> Result<(), (usize, String)> {
        let mut parser = Parser::new_from_str(text);
        while let Some(event) = parser.next_event() {
            let (event, span) =
                event.map_err(|error| (error.marker().line(), error.info().to_owned()))?;
            let line = span.start.line();
            match event {
                Event::DocumentEnd => break,
                Event::MappingStart(anchor, _) => self.begin(json!({}), anchor, line)?,
                Event::SequenceStart(anchor, _) => self.begin(json!([]), anchor, line)?,
                Event::MappingEnd | Event::SequenceEnd => self.end(),
                Event::Scalar(text, style, anchor, tag) => {
                    let text = bodies.whole(&text, style, self.is_at_body());
                    let value = scalar(&text, style, tag.as_deref());
                    self.put(value, anchor);
                }
                Event::Alias(anchor) => {
                    let value = self.anchors.get(&anchor).cloned().unwrap_or_default();
                    self.repeated += count(&value);
                    if self.repeated > REPEATED {
                        return Err((line, "too many repeated values".to_owned()));
                    }
                    self.put(value, 0);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether the next value is the body of a request or a response, or its text.
    fn is_at_body(&self) -> bool {
        let keys = self.open.iter().skip(3).map(|open| open.key.as_deref());
        let keys: Vec<_> = keys.collect();
        matches!(keys[..], [Some("body")] | [Some("body"), Some("string")])
    }

    fn begin(&mut self, value: Value, anchor: usize, line: usize) -> Result<(), (usize, String)> {
        if self.open.len() == DEPTH {
            return Err((line, format!("nested deeper than {DEPTH}")));
        }
        if self.open.len() == 2 && self.open[1].value.is_array() {
            self.lines.push(line);
        }
        let key = None;
        self.open.push(Open { value, key, anchor });
        Ok(())
    }

    fn end(&mut self) {
        if let Some(Open { value, anchor, .. }) = self.open.pop() {
            self.put(value, anchor);
        }
    }

    fn put(&mut self, value: Value, anchor: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        match self.open.last_mut() {
            None => self.root = value,
            Some(Open {
                value: holder, key, ..
            }) => match holder {
                Value::Object(members) => match key.take() {
                    Some(key) => {
                        members.insert(key, value);
                    }
                    None => {
                        *key = Some(match value {
                            Value::String(text) => text,
                            other => other.to_string(),
                        });
                    }
                },
                Value::Array(values) => values.push(value),
                _ => {}
            },
        }
    }

    /// The document, where what is still open ends here, and the lines of its elements.
    fn finish(mut self) -> (Value, Vec<usize>) {
        while !self.open.is_empty() {
            self.end();
        }
        (self.root, self.lines)
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    if tag.is_some_and(|tag| tag.suffix == "binary") {
        return json!({ "base64_string": text });
    }
    if style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix == "str") {
        return json!(text);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => json!(true),
        "false" | "False" | "FALSE" => json!(false),
        text => match serde_json::from_str(text) {
            Ok(Value::Number(number)) => Value::Number(number),
            _ => json!(text),
        },
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(values) => values.iter().map(count).sum(),
        Value::Object(members) => Map::values(members).map(count).sum(),
        _ => 0,
    }
}
