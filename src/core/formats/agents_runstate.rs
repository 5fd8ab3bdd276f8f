//! The RunState of the openai-agents SDK as JSON: a run that was stopped, mostly because
//! a call awaits approval.
//!
//! The same items stand in many places of it (`model_responses`, `generated_items`, `session_items`,
//! `last_model_response`, `last_processed_response`, `current_step`). The history is `original_input` and then
//! `session_items`, which a hand-off does not trim, or `generated_items` where there are none. The tools in
//! `last_processed_response` are those of its own calls, no tool list.

use super::{Contents, Format, Layout, Reading, Sample, assemble_plain};
use crate::json::{Cursor, JsonError, JsonErrorKind, Result};
use crate::session::{
    CallId, Fact, Flags, Fragment, Kind, ProblemKind, Source, SourceResult, Span,
};
use crate::wire::{Fields, responses};
use std::collections::HashSet;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "agents-runstate",
    title: "openai-agents RunState",
    sniff,
    reading: Reading::Whole(read),
};

fn sniff(sample: &Sample<'_>) -> u8 {
    let claims = sample.first().is_some_and(|document| {
        document.has("$schemaVersion")
            && ["current_turn", "original_input", "generated_items"]
                .iter()
                .any(|key| document.has(key))
    });
    if claims && matches!(sample.layout, Layout::Object(_)) {
        98
    } else {
        0
    }
}

/// Where the parts of the state stand: the position of each value.
#[derive(Default)]
struct Outline {
    original_input: Option<usize>,
    generated_items: Option<usize>,
    session_items: Option<usize>,
    current_step: Option<usize>,
}

fn read(source: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut out = Fragment::default();
    let start = Sample::new(bytes, true).skipped;
    let mut outline = Outline::default();
    let walked = Cursor::at(bytes, start)
        .object(|cursor, key| read_member(key, cursor, &mut outline, &mut out));
    match walked {
        Ok(_) => out.report_bad_strings(bytes, start..bytes.len(), 0),
        Err(fault) => report(fault, &mut out),
    }
    let mut waiting = HashSet::new();
    // Faults inside of the parts are those of the walk above; what is before them is still read.
    let _ = outline
        .current_step
        .map(|at| read_interruptions(&mut Cursor::at(bytes, at), &mut waiting));
    let _ = outline
        .original_input
        .map(|at| read_input(&mut Cursor::at(bytes, at), &mut out));
    let items = [outline.session_items, outline.generated_items]
        .into_iter()
        .flatten()
        .find(|at| !is_empty(bytes, *at));
    let _ = items.map(|at| read_items(&mut Cursor::at(bytes, at), &mut out));
    for item in &mut out.items {
        let waits = item.kind == Kind::Call && waiting.contains(&item.call_id.hash);
        item.flags.set_if(Flags::AWAITS_APPROVAL, waits);
    }
    let problems = std::mem::take(&mut out.problems);
    let contents = assemble_plain(FORMAT.id, FORMAT.dialect(), out, source)?;
    Ok(contents.after(problems))
}

fn report(fault: JsonError, out: &mut Fragment) {
    let kind = match fault.kind {
        JsonErrorKind::End => ProblemKind::Unclosed,
        kind => ProblemKind::NotJson(kind),
    };
    out.report(fault.at as u64, kind);
}

fn read_member(
    key: &[u8],
    cursor: &mut Cursor<'_>,
    outline: &mut Outline,
    out: &mut Fragment,
) -> Result<()> {
    let opens = cursor.peek();
    let at = Some(cursor.position());
    match key {
        b"original_input" => outline.original_input = at,
        b"generated_items" => outline.generated_items = at,
        b"session_items" => outline.session_items = at,
        b"current_step" => outline.current_step = at,
        b"previous_response_id" | b"conversation_id" if opens == Some(b'"') => {
            out.note(Fact::ServerState);
        }
        b"max_turns" => {
            if let Ok(limit) = String::from_utf8_lossy(cursor.raw()?).parse() {
                out.note(Fact::TurnLimit(limit));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether the value is not a list, or one without elements.
fn is_empty(bytes: &[u8], at: usize) -> bool {
    let mut cursor = Cursor::at(bytes, at + 1);
    bytes.get(at) != Some(&b'[') || cursor.peek() == Some(b']')
}

/// `{type: next_step_interruption, data: {interruptions: [approval items]}}`: the ids of the calls that wait.
fn read_interruptions(cursor: &mut Cursor<'_>, waiting: &mut HashSet<u64>) -> Result<()> {
    let mut approval = |cursor: &mut Cursor<'_>| {
        cursor.object(|cursor, key| {
            if key == b"raw_item" {
                let id = Fields::read(cursor)?.call_id.unwrap_or_default();
                waiting.insert(CallId::new(id, 0).hash);
            }
            Ok(())
        })?;
        Ok(())
    };
    cursor.object(|cursor, key| {
        if key == b"data" {
            cursor.object(|cursor, key| {
                if key == b"interruptions" {
                    cursor.array(&mut approval)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    })?;
    Ok(())
}

/// The first input: one text of the user, or a list of items.
fn read_input(cursor: &mut Cursor<'_>, out: &mut Fragment) -> Result<()> {
    if cursor.peek() == Some(b'"') {
        let span = Span::within(0, cursor.skip()?);
        out.begin_record(span);
        out.push(Kind::User, Some(FORMAT.dialect()), span);
        return Ok(());
    }
    cursor.array(|cursor| {
        if cursor.peek() != Some(b'{') {
            return Ok(());
        }
        let mark = out.mark();
        let at = cursor.position();
        out.begin_record(Span::within(0, at..at));
        responses::read_item(cursor, 0, out).inspect_err(|_| out.rewind(mark))?;
        out.end_record(cursor.position() as u64);
        Ok(())
    })?;
    Ok(())
}

fn read_items(cursor: &mut Cursor<'_>, out: &mut Fragment) -> Result<()> {
    let mut known = HashSet::new();
    cursor.array(|cursor| {
        cursor.peek();
        let mark = out.mark();
        let at = cursor.position();
        out.begin_record(Span::within(0, at..at));
        read_run_item(cursor, &mut known, out).inspect_err(|_| out.rewind(mark))?;
        out.end_record(cursor.position() as u64);
        Ok(())
    })?;
    Ok(())
}

/// `{type, raw_item, agent, ...}`. An approval item repeats its call; only where the call itself is missing
/// does it replace it.
fn read_run_item(
    cursor: &mut Cursor<'_>,
    known: &mut HashSet<u64>,
    out: &mut Fragment,
) -> Result<()> {
    let first = out.items.len();
    let mut kind = None;
    cursor.object(|cursor, key| match key {
        b"type" => {
            kind = cursor.string()?;
            Ok(())
        }
        b"raw_item" if cursor.peek() == Some(b'{') => responses::read_item(cursor, 0, out),
        _ => Ok(()),
    })?;
    let is_approval = kind == Some(b"tool_approval_item");
    let read = out.items[first..]
        .iter()
        .filter(|item| item.kind == Kind::Call);
    let mut repeats = false;
    for call in read {
        repeats |= !known.insert(call.call_id.hash);
    }
    if is_approval && repeats {
        out.items.truncate(first);
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::session::{PairStatus, Session};

    const STATE: &str = r#"{"$schemaVersion":"1.21","current_turn":1,"original_input":"hi","max_turns":4,
        "generated_items":[{"type":"tool_call_item","raw_item":{"type":"function_call","name":"refund","arguments":"{}","call_id":"c1"}},
        {"type":"tool_approval_item","raw_item":{"type":"function_call","name":"refund","arguments":"{}","call_id":"c1"}}],
        "session_items":[],"current_step":{"type":"next_step_interruption","data":{"interruptions":[
        {"type":"tool_approval_item","raw_item":{"type":"function_call","call_id":"c1"}}]}}}"#;

    fn read_text(text: &str) -> (Contents, Option<Session>) {
        let source: Arc<dyn Source> = Arc::new(text.as_bytes().to_vec());
        let mut contents = read(&source, text.as_bytes()).unwrap();
        let session = contents.sessions.pop();
        (contents, session)
    }

    #[test]
    fn a_call_that_waits_stands_once_and_waits() {
        let session = read_text(STATE).1.unwrap();
        assert_eq!(session.items.len(), 2);
        assert!(session.items[1].flags.has(Flags::AWAITS_APPROVAL));
        assert_eq!(session.pairing.standing(1), PairStatus::Pending);
        assert_eq!(session.contract.turn_limit, Some(4));
        assert!(!session.contract.tools_known());
    }

    #[test]
    fn a_cut_state_shows_what_it_has() {
        let cut = &STATE[..STATE.find("{\"type\":\"tool_approval_item\"").unwrap()];
        let (contents, session) = read_text(cut);
        assert_eq!(contents.problems[0].kind, ProblemKind::Unclosed);
        assert_eq!(session.unwrap().items.len(), 2);
    }
}
