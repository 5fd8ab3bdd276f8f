//! OTLP as protobuf (`opentelemetry/proto/trace/v1/trace.proto`), as far as spans of models need it: bare, or each
//! message after its length in four bytes as the collector's file exporter writes them.

use serde_json::{Map, Value, json};

/// The spans of a text in protobuf; `None` where it is none.
pub(super) fn spans(bytes: &[u8]) -> Option<Vec<Value>> {
    spans_of_message(bytes).or_else(|| {
        let (mut spans, mut rest) = (Vec::new(), bytes);
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = u32::from_be_bytes(*length) as usize;
            let (message, after) = after.split_at_checked(length)?;
            spans.extend(spans_of_message(message)?);
            rest = after;
        }
        (rest.is_empty() && !spans.is_empty()).then_some(spans)
    })
}

/// Whether bytes may be such a text, by how it begins: a field of resource spans, after a length or not.
pub(super) fn may_be(bytes: &[u8]) -> bool {
    matches!(bytes, [0x0a, ..] | [_, _, _, _, 0x0a, ..]) && bytes.first() != Some(&b'{')
}

fn spans_of_message(message: &[u8]) -> Option<Vec<Value>> {
    let mut spans = Vec::new();
    for resource in children(message, 1)? {
        for scope in children(resource, 2)? {
            for span in children(scope, 2)? {
                spans.push(span_of(span)?);
            }
        }
    }
    (!spans.is_empty()).then_some(spans)
}

/// The value of a field.
#[derive(Clone, Copy)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message with their numbers; `None` where it is none.
fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, Field<'_>)>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (tag, rest) = varint(bytes)?;
        let (field, rest) = match tag & 7 {
            0 => varint(rest).map(|(number, rest)| (Field::Number(number), rest))?,
            1 => {
                let (number, rest) = rest.split_first_chunk::<8>()?;
                (Field::Number(u64::from_le_bytes(*number)), rest)
            }
            2 => {
                let (length, rest) = varint(rest)?;
                let (inside, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                (Field::Bytes(inside), rest)
            }
            5 => {
                let (number, rest) = rest.split_first_chunk::<4>()?;
                (Field::Number(u64::from(u32::from_le_bytes(*number))), rest)
            }
            _ => return None,
        };
        found.push((tag >> 3, field));
        bytes = rest;
    }
    Some(found)
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (place, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((number, &bytes[place + 1..]));
        }
    }
    None
}

/// The messages in the fields of a number.
fn children(message: &[u8], number: u64) -> Option<Vec<&[u8]>> {
    let of_number =
        |(found, field): (u64, Field<'_>)| found == number && matches!(field, Field::Bytes(_));
    let found = fields(message)?.into_iter().filter(|one| of_number(*one));
    let inside = found.map(|(_, field)| match field {
        Field::Bytes(inside) => inside,
        Field::Number(_) => &[],
    });
    Some(inside.collect())
}

fn span_of(span: &[u8]) -> Option<Value> {
    let mut found = json!({ "attributes": attributes(span, 9)? });
    let mut events = Vec::new();
    for (number, field) in fields(span)? {
        let name = match number {
            1 => "traceId",
            2 => "spanId",
            4 => "parentSpanId",
            5 => "name",
            7 => "startTimeUnixNano",
            8 => "endTimeUnixNano",
            11 => {
                if let Field::Bytes(event) = field {
                    let name = children(event, 2)?.first().map(|name| text(name));
                    events.push(json!({ "name": name, "attributes": attributes(event, 3)? }));
                }
                continue;
            }
            _ => continue,
        };
        found[name] = match field {
            Field::Number(number) => json!(number),
            Field::Bytes(inside) if number == 5 => json!(text(inside)),
            Field::Bytes(id) => json!(
                id.iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect::<String>()
            ),
        };
    }
    found["events"] = Value::Array(events);
    Some(found)
}

fn attributes(message: &[u8], number: u64) -> Option<Map<String, Value>> {
    let pairs = children(message, number)?.into_iter();
    pairs.map(|pair| attribute(pair, 0)).collect()
}

/// How deep a value may be nested.
const DEPTH: usize = 32;

fn attribute(pair: &[u8], depth: usize) -> Option<(String, Value)> {
    let (mut key, mut found) = (String::new(), Value::Null);
    for field in fields(pair)? {
        match field {
            (1, Field::Bytes(name)) => key = text(name),
            (2, Field::Bytes(inside)) => found = value(inside, depth)?,
            _ => {}
        }
    }
    Some((key, found))
}

fn value(message: &[u8], depth: usize) -> Option<Value> {
    let found = fields(message)?;
    Some(match found.first() {
        Some((1 | 7, Field::Bytes(inside))) => json!(text(inside)),
        Some((2, Field::Number(number))) => json!(*number != 0),
        Some((3, Field::Number(number))) => json!(number.cast_signed()),
        Some((4, Field::Number(number))) => json!(f64::from_bits(*number)),
        Some((5, Field::Bytes(list))) if depth < DEPTH => {
            let values = children(list, 1)?.into_iter();
            Value::Array(
                values
                    .map(|one| value(one, depth + 1))
                    .collect::<Option<_>>()?,
            )
        }
        Some((6, Field::Bytes(list))) if depth < DEPTH => {
            let pairs = children(list, 1)?.into_iter();
            Value::Object(
                pairs
                    .map(|one| attribute(one, depth + 1))
                    .collect::<Option<_>>()?,
            )
        }
        _ => Value::Null,
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
