//! The faults that there are.

use super::reply::ChaosReply;
use super::request::ChaosRequest;
use crate::dice::Dice;
use crate::schema::Validator;
use crate::suggest::nearest;
use serde_json::{Map, Value, json};

/// One kind of fault.
#[derive(Debug)]
pub struct ChaosFault {
    /// Its name in specs and reports.
    pub id: &'static str,
    /// What the agent receives.
    pub does: &'static str,
    /// What an agent does that handles it.
    pub expected: &'static str,
    /// The rule that finds it in a recording; `None` where the history shows nothing.
    pub rule: Option<&'static str>,
    /// How it is made.
    pub kind: FaultKind,
    /// What it means when the agent asks nothing after it.
    pub silence: Silence,
    /// Whether an agent that ends with an error after it has handled it.
    pub may_fail: bool,
    /// Whether it makes a call that no agent can execute as it is: the output of the call is to be an error.
    pub is_of_call: bool,
}

/// How a fault is made.
#[derive(Debug, Clone, Copy)]
pub enum FaultKind {
    Change(fn(&ChaosRequest, &mut ChaosReply, &mut Dice) -> Result<(), NotHere>),
    /// The upstream gets no request; the agent gets an error with this status.
    Status(u16),
    /// The stream ends in the middle.
    Cut,
    /// The stream comes with pauses.
    Slow,
}

/// What it means when an agent asks nothing after a fault, and ends well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// It has taken the fault for an answer.
    Unnoticed,
    /// It has given up, which its caller can see.
    GaveUp,
    /// Nothing was wrong with what it received.
    Fine,
}

/// What most faults have in common.
const FAULT: ChaosFault = ChaosFault {
    id: "",
    does: "",
    expected: "",
    rule: None,
    kind: FaultKind::Cut,
    silence: Silence::Unnoticed,
    may_fail: false,
    is_of_call: false,
};

/// All faults, in the order of reports.
pub static FAULTS: &[ChaosFault] = &[
    ChaosFault {
        id: "unknown-tool-near",
        does: "a call names a tool that is nearly one of those offered: letters swapped, a plural, another case",
        expected: "tells the model which tools there are, and goes on",
        rule: Some("unknown-tool"),
        kind: FaultKind::Change(near),
        is_of_call: true,
        ..FAULT
    },
    ChaosFault {
        id: "unknown-tool-far",
        does: "a call names a tool that is not offered at all",
        expected: "tells the model which tools there are, and goes on",
        rule: Some("unknown-tool"),
        kind: FaultKind::Change(far),
        is_of_call: true,
        ..FAULT
    },
    ChaosFault {
        id: "malformed-arguments",
        does: "the arguments of a call are no JSON",
        expected: "tells the model what is wrong with them, and goes on",
        rule: Some("malformed-arguments"),
        kind: FaultKind::Change(malformed),
        is_of_call: true,
        ..FAULT
    },
    ChaosFault {
        id: "cut-arguments",
        does: "the arguments of a call end in the middle",
        expected: "tells the model what is wrong with them, and goes on",
        rule: Some("malformed-arguments"),
        kind: FaultKind::Change(cut),
        is_of_call: true,
        ..FAULT
    },
    ChaosFault {
        id: "schema-break",
        does: "a required argument is missing, or one has another type than the tool's schema says",
        expected: "checks arguments before the tool runs, tells the model what is wrong, and goes on",
        rule: Some("invalid-arguments"),
        kind: FaultKind::Change(break_schema),
        is_of_call: true,
        ..FAULT
    },
    ChaosFault {
        id: "duplicate-call-id",
        does: "two calls of one reply have the same id",
        expected: "answers both under ids of its own, or asks the model again",
        rule: Some("duplicate-call-id"),
        kind: FaultKind::Change(duplicate_id),
        ..FAULT
    },
    ChaosFault {
        id: "call-as-text",
        does: "the call is in the text of the reply, and no call is made",
        expected: "notices that nothing ran, and asks the model to call the tool",
        rule: Some("leaked-tool-call"),
        kind: FaultKind::Change(as_text),
        ..FAULT
    },
    ChaosFault {
        id: "empty-final-output",
        does: "the last reply says nothing",
        expected: "asks the model again, or ends with an error",
        rule: Some("missing-final-output"),
        kind: FaultKind::Change(empty),
        may_fail: true,
        ..FAULT
    },
    ChaosFault {
        id: "wrong-final-output",
        does: "the last reply breaks the output schema, or is prose where JSON is required",
        expected: "checks the output, and asks the model again or ends with an error",
        rule: Some("invalid-final-output"),
        kind: FaultKind::Change(wrong),
        may_fail: true,
        ..FAULT
    },
    ChaosFault {
        id: "http-429",
        does: "the provider answers with status 429 and Retry-After: 1",
        expected: "waits as long as the header demands, and asks again",
        kind: FaultKind::Status(429),
        silence: Silence::GaveUp,
        ..FAULT
    },
    ChaosFault {
        id: "http-500",
        does: "the provider answers with status 500",
        expected: "asks again, a few times",
        kind: FaultKind::Status(500),
        silence: Silence::GaveUp,
        ..FAULT
    },
    ChaosFault {
        id: "http-503",
        does: "the provider answers with status 503",
        expected: "asks again, a few times",
        kind: FaultKind::Status(503),
        silence: Silence::GaveUp,
        ..FAULT
    },
    ChaosFault {
        id: "cut-stream",
        does: "the connection ends in the middle of the stream",
        expected: "throws the half of the reply away, and asks again",
        kind: FaultKind::Cut,
        silence: Silence::GaveUp,
        ..FAULT
    },
    ChaosFault {
        id: "slow-stream",
        does: "the stream comes with pauses",
        expected: "waits",
        kind: FaultKind::Slow,
        silence: Silence::Fine,
        ..FAULT
    },
];

/// The fault of a name.
pub fn find(id: &str) -> Option<&'static ChaosFault> {
    FAULTS.iter().find(|fault| fault.id == id)
}

impl PartialEq for ChaosFault {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for ChaosFault {}

fn duplicate_id(_: &ChaosRequest, reply: &mut ChaosReply, dice: &mut Dice) -> Result<(), NotHere> {
    let count = reply.calls().len();
    match count {
        0 => Err(NotHere::NoCall),
        1 => {
            reply.repeat_call(0);
            Ok(())
        }
        _ => {
            let place = 1 + dice.below(count - 1);
            reply.share_id(0, place);
            Ok(())
        }
    }
}

fn as_text(request: &ChaosRequest, reply: &mut ChaosReply, _: &mut Dice) -> Result<(), NotHere> {
    let calls = reply.calls();
    if calls.is_empty() {
        return Err(NotHere::NoCall);
    }
    let mut blocks = Vec::new();
    for call in &calls {
        let is_whole = serde_json::from_str::<serde_json::Value>(&call.arguments).is_ok();
        if !is_whole || request.tool(&call.name).is_none() {
            return Err(NotHere::BrokenAlready);
        }
        let name = crate::wire::write::quoted(&call.name);
        let arguments = call.arguments.replace('\n', " ");
        blocks.push(format!(
            "<tool_call>\n{{\"name\": {name}, \"arguments\": {arguments}}}\n</tool_call>"
        ));
    }
    reply.remove_calls();
    let text_before = reply.text();
    let text = match text_before.trim().is_empty() {
        true => blocks.join("\n"),
        false => format!("{text_before}\n\n{}", blocks.join("\n")),
    };
    reply.say(&text);
    Ok(())
}

// One fault, made of one reply.

/// How a reply is delivered so that it has the fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultyReply {
    /// As another whole reply of the dialect, delivered as the client requested: whole, or as a stream.
    Changed(String),
    /// The stream up to this byte, and then the connection is cut.
    CutAt(usize),
    /// The stream with a pause before each of these bytes.
    Paused(Vec<usize>),
}

/// Why a fault does not fit a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotHere {
    /// It needs a call of a function tool.
    #[error("the reply calls no tool")]
    NoCall,
    /// What is wrong already cannot be distinguished from the fault.
    #[error("the reply is broken already")]
    BrokenAlready,
    /// No other name is left.
    #[error("every such name is offered")]
    NoName,
    /// Nothing breaks the schema, or it cannot be used.
    #[error("the tool has no schema that could be broken")]
    NoSchema,
    /// It needs a reply that ends the run.
    #[error("the reply does not end the run")]
    NotFinal,
    /// It needs a request that says what its final output must look like.
    #[error("the request asks for no JSON")]
    NoOutputSchema,
    /// A whole reply of this dialect has no room for it.
    #[error("a whole reply holds the arguments as an object")]
    HoldsObject,
    /// It needs a stream.
    #[error("the reply is not a stream")]
    NoStream,
    /// The reply cannot be read.
    #[error("the reply cannot be read")]
    Unreadable,
}

/// Makes a fault of a reply. `whole` is the reply as one document of its dialect; `stream` are its bytes where
/// it came as a stream. A fault that is made without the upstream ([`Deed::Status`]) does not fit any reply.
pub fn inject(
    fault: &ChaosFault,
    request: &ChaosRequest,
    whole: Option<&str>,
    stream: Option<&[u8]>,
    dice: &mut Dice,
) -> Result<FaultyReply, NotHere> {
    match fault.kind {
        FaultKind::Change(change) => {
            let reply = whole.and_then(|whole| ChaosReply::read(request.dialect, whole));
            let mut reply = reply.ok_or(NotHere::Unreadable)?;
            change(request, &mut reply, dice)?;
            Ok(FaultyReply::Changed(reply.into_json()))
        }
        FaultKind::Cut => {
            let ends = ends_of(stream.ok_or(NotHere::NoStream)?);
            // The first event is there, the last one is not, and one is torn.
            let [first, .., before_last, _] = ends[..] else {
                return Err(NotHere::NoStream);
            };
            let room = before_last - first;
            let at = first + 1 + dice.below(room.saturating_sub(1));
            let is_whole = ends.contains(&at);
            Ok(FaultyReply::CutAt(if is_whole { at - 3 } else { at }))
        }
        FaultKind::Slow => {
            let ends = ends_of(stream.ok_or(NotHere::NoStream)?);
            let middle = ends.get(ends.len() / 2).copied();
            let mut pauses = vec![0];
            pauses.extend(middle.filter(|at| Some(at) != ends.last()));
            Ok(FaultyReply::Paused(pauses))
        }
        FaultKind::Status(_) => Err(NotHere::Unreadable),
    }
}

/// Where each event of a stream ends.
fn ends_of(stream: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut blank = true;
    for (at, line) in lines(stream) {
        let is_blank = line.is_empty() || line == b"\r";
        if is_blank && !blank {
            ends.push(at);
        }
        blank = is_blank;
    }
    ends
}

/// The lines of a stream, each with where it ends.
fn lines(stream: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut begin = 0;
    memchr::memchr_iter(b'\n', stream).map(move |end| {
        let line = &stream[begin..end];
        begin = end + 1;
        (begin, line)
    })
}

// Names of tools that are not offered.

/// The longest name that every provider takes.
const LONGEST: usize = 64;

/// Names that a model may come up with.
const PLAUSIBLE: &[&str] = &[
    "query_knowledge_base",
    "send_notification",
    "list_calendar_events",
    "translate_text",
    "create_ticket",
    "run_sql",
    "upload_attachment",
    "summarize_document",
    "convert_currency",
    "archive_project",
];

/// A call names a tool that is nearly the one that was meant.
pub(super) fn near(
    request: &ChaosRequest,
    reply: &mut ChaosReply,
    dice: &mut Dice,
) -> Result<(), NotHere> {
    let (place, name) = called(request, reply, dice)?;
    let mut edits = edits(&name, dice);
    dice.shuffle(&mut edits);
    let fits =
        |edit: &String| !edit.is_empty() && edit.len() <= LONGEST && !request.names.contains(edit);
    let edit = edits.into_iter().find(fits).ok_or(NotHere::NoName)?;
    reply.rename(place, &edit);
    Ok(())
}

/// A call names a tool that is like none that is offered.
pub(super) fn far(
    request: &ChaosRequest,
    reply: &mut ChaosReply,
    dice: &mut Dice,
) -> Result<(), NotHere> {
    let (place, _) = called(request, reply, dice)?;
    let offered: Vec<&str> = request.names.iter().map(String::as_str).collect();
    let names = PLAUSIBLE
        .iter()
        .filter(|name| nearest(name, &offered).is_empty());
    let names: Vec<&&str> = names.collect();
    let name = dice.pick(&names).ok_or(NotHere::NoName)?;
    reply.rename(place, name);
    Ok(())
}

/// A call of a tool that is offered: its place, and the tool.
pub(super) fn called(
    request: &ChaosRequest,
    reply: &mut ChaosReply,
    dice: &mut Dice,
) -> Result<(usize, String), NotHere> {
    let calls = reply.calls();
    if calls.is_empty() {
        return Err(NotHere::NoCall);
    }
    let calls = calls.into_iter().enumerate();
    let calls = calls.filter(|(_, call)| request.tool(&call.name).is_some());
    let calls: Vec<(usize, String)> = calls.map(|(place, call)| (place, call.name)).collect();
    dice.pick(&calls).cloned().ok_or(NotHere::BrokenAlready)
}

/// The name with one edit each: two letters swapped, one lost, one doubled, a plural, another case.
fn edits(name: &str, dice: &mut Dice) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut edits = Vec::new();
    if letters.len() > 2 {
        let differs = |at: &usize| letters[*at] != letters[at + 1];
        let places: Vec<usize> = (1..letters.len() - 1).filter(differs).collect();
        if let Some(at) = dice.pick(&places) {
            let mut swapped = letters.clone();
            swapped.swap(*at, at + 1);
            edits.push(swapped.iter().collect());
        }
        let at = 1 + dice.below(letters.len() - 1);
        let mut lost = letters.clone();
        lost.remove(at);
        edits.push(lost.iter().collect());
        let mut doubled = letters.clone();
        doubled.insert(at, letters[at]);
        edits.push(doubled.iter().collect());
    }
    edits.push(match name.strip_suffix('s') {
        Some(single) => single.to_owned(),
        None => format!("{name}s"),
    });
    edits.push(other_case(name));
    edits
}

/// `search_flights` as `searchFlights`, any other name with another first letter.
fn other_case(name: &str) -> String {
    let mut words = name.split('_').filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default().to_owned();
    let camel = words.fold(first, |camel, word| camel + &capital(word));
    match camel == name {
        true => capital(name),
        false => camel,
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| match first.is_uppercase() {
        true => first.to_ascii_lowercase(),
        false => first.to_ascii_uppercase(),
    });
    first.into_iter().chain(letters).collect()
}

// Arguments that are no JSON, that end in the middle, that break their schema.

/// The arguments of a call of a tool that is offered: its place, its tool, the text of an object.
fn sound(
    request: &ChaosRequest,
    reply: &mut ChaosReply,
    dice: &mut Dice,
) -> Result<(usize, String, String), NotHere> {
    let (place, tool) = called(request, reply, dice)?;
    let text = reply.calls().swap_remove(place).arguments;
    let text = text.trim().to_owned();
    let is_object = serde_json::from_str::<Map<String, Value>>(&text).is_ok();
    match is_object {
        true => Ok((place, tool, text)),
        false => Err(NotHere::BrokenAlready),
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

/// The arguments of a call of a tool that is offered, where a text can stand in their place.
fn text(
    request: &ChaosRequest,
    reply: &mut ChaosReply,
    dice: &mut Dice,
) -> Result<(usize, String), NotHere> {
    let (place, _, text) = sound(request, reply, dice)?;
    // Only a stream spells an object out letter by letter.
    let facts = request.dialect.facts();
    match facts.object_arguments && (!request.streams || facts.streams_objects) {
        true => Err(NotHere::HoldsObject),
        false => Ok((place, text)),
    }
}

/// Arguments as models spoil them.
pub(super) fn malformed(
    request: &ChaosRequest,
    reply: &mut ChaosReply,
    dice: &mut Dice,
) -> Result<(), NotHere> {
    let (place, text) = text(request, reply, dice)?;
    let inside = text.trim_start_matches('{').trim_end_matches('}').trim();
    let mut ways = vec![format!("{text}}}"), format!("{{{text}")];
    if !inside.is_empty() {
        ways.push(text.replace('"', "'"));
        ways.push(text.replacen("\":", "\" ", 1));
        ways.push(text.replacen("{\"", "{", 1));
    }
    ways.retain(|way| !is_json(way));
    let way = dice.pick(&ways).ok_or(NotHere::BrokenAlready)?;
    reply.set_arguments(place, way);
    Ok(())
}

/// Arguments that end in the middle.
pub(super) fn cut(
    request: &ChaosRequest,
    reply: &mut ChaosReply,
    dice: &mut Dice,
) -> Result<(), NotHere> {
    let (place, text) = text(request, reply, dice)?;
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    // At least half of them, so that it looks like what it is.
    let later = &ends[ends.len() / 2..];
    let end = dice.pick(later).copied().unwrap_or(1);
    reply.set_arguments(place, &text[..end]);
    Ok(())
}

/// Arguments without one that is required, or with one of another type.
pub(super) fn break_schema(
    request: &ChaosRequest,
    reply: &mut ChaosReply,
    dice: &mut Dice,
) -> Result<(), NotHere> {
    let (place, name, text) = sound(request, reply, dice)?;
    let tool = request.tool(&name).ok_or(NotHere::NoSchema)?;
    let schema = tool.parameters.as_ref().ok_or(NotHere::NoSchema)?;
    let arguments = serde_json::from_str(&text).map_err(|_| NotHere::BrokenAlready)?;
    let broken = broken(schema, &arguments, dice).ok_or(NotHere::NoSchema)?;
    reply.set_arguments(place, &Value::Object(broken).to_string());
    Ok(())
}

/// The object with one change that its schema does not allow; `None` where there is none that could be recognised.
pub(super) fn broken(
    schema: &Value,
    object: &Map<String, Value>,
    dice: &mut Dice,
) -> Option<Map<String, Value>> {
    let validator = Validator::compile_either(schema).ok()?;
    let breaks = |object: &Map<String, Value>| {
        let found = validator.violations(&Value::Object(object.clone()));
        found.is_ok_and(|found| !found.is_empty())
    };
    if breaks(object) {
        // It is broken already: nobody could tell this fault from that one.
        return None;
    }
    let mut ways = Vec::new();
    for key in object.keys() {
        let mut without = object.clone();
        without.shift_remove(key);
        ways.push(without);
        for other in [json!("about two"), json!(7), json!([]), json!({})] {
            let mut with = object.clone();
            with.insert(key.clone(), other);
            ways.push(with);
        }
    }
    dice.shuffle(&mut ways);
    ways.into_iter().find(breaks)
}

// Last replies that say nothing, or not what was requested.

/// What models say where JSON is requested.
const PROSE: &[&str] = &[
    "I have everything that you asked for. Is there anything else?",
    "Done! Here is the result:",
    "Sure, I can help with that.",
];

pub(super) fn empty(_: &ChaosRequest, reply: &mut ChaosReply, _: &mut Dice) -> Result<(), NotHere> {
    if !reply.is_final() || reply.text().is_empty() {
        return Err(NotHere::NotFinal);
    }
    reply.say("");
    Ok(())
}

/// Prose where JSON is requested, or JSON that breaks the schema.
pub(super) fn wrong(
    request: &ChaosRequest,
    reply: &mut ChaosReply,
    dice: &mut Dice,
) -> Result<(), NotHere> {
    let schema = request.output_schema.as_ref();
    if schema.is_none() && !request.wants_json {
        return Err(NotHere::NoOutputSchema);
    }
    if !reply.is_final() {
        return Err(NotHere::NotFinal);
    }
    if schema.is_some_and(|schema| Validator::compile_either(schema).is_err()) {
        return Err(NotHere::NoSchema);
    }
    let value = serde_json::from_str(&reply.text()).ok();
    let object = value
        .as_ref()
        .zip(schema)
        .and_then(|(object, schema)| broken(schema, object, dice));
    let prose = PROSE[dice.below(PROSE.len())];
    let text = match object {
        Some(object) if dice.below(2) == 0 => Value::Object(object).to_string(),
        _ => prose.to_owned(),
    };
    reply.say(&text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_a_name_of_its_own_and_is_found_by_it() {
        for (place, fault) in FAULTS.iter().enumerate() {
            assert_eq!(find(fault.id), Some(fault));
            assert!(!FAULTS[..place].contains(fault), "{} twice", fault.id);
            assert!(!fault.does.is_empty() && !fault.expected.is_empty());
        }
        assert_eq!(find("nothing"), None);
    }
}
