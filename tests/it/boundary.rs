//! Boundaries of random transcripts against an oracle that knows how each transcript was made and tries everything, and the time that
//! a million items take.

use proptest::prelude::*;
use retake_core::session::boundary::{Boundaries, BoundaryChoice};
use retake_core::session::{CallId, Dialect, Family, Flags, Item, Kind, NameId, Session, Span};
use retake_live::{Input, ReadOptions, read_input};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One step of a run, as the model and the world take it.
#[derive(Debug, Clone)]
enum Step {
    User,
    /// A reply: whether it reasons, whether it says something, how many calls it makes, and in which order they are answered.
    Reply {
        reasons: bool,
        says: bool,
        calls: usize,
        backwards: bool,
        /// Text of the user beside the outputs.
        adds: bool,
    },
}

fn steps(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    let reply = (
        any::<bool>(),
        any::<bool>(),
        0_usize..4,
        any::<bool>(),
        any::<bool>(),
    );
    let reply = reply.prop_map(|(reasons, says, calls, backwards, adds)| Step::Reply {
        reasons,
        says: says || calls == 0,
        calls,
        backwards,
        adds,
    });
    prop::collection::vec(prop_oneof![1 => Just(Step::User), 3 => reply], count)
}

/// An item as the oracle knows it: two items with a name in common must not be parted.
#[derive(Debug, Default, Clone)]
struct Known {
    names: Vec<String>,
    waits: bool,
}

/// A transcript in a dialect, and what the oracle knows of its items.
struct Transcript {
    text: String,
    known: Vec<Known>,
}

fn transcript(steps: &[Step], dialect: Dialect, waits: bool) -> Transcript {
    let mut values = vec![];
    let mut known = vec![];
    let mut ids = 0;
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::User => {
                values.push(json!({"role": "user", "content": format!("question {number}")}));
                known.push(Known::default());
            }
            Step::Reply { .. } => {
                let is_last = waits && number + 1 == steps.len();
                reply(step, dialect, is_last, &mut ids, &mut values, &mut known);
                // Without outputs or a message of the user in between, two replies of Responses items look like one.
                if matches!(step, Step::Reply { calls: 0, .. }) {
                    values.push(json!({"role": "user", "content": "go on"}));
                    known.push(Known::default());
                }
            }
        }
    }
    Transcript {
        text: Value::Array(values).to_string(),
        known,
    }
}

fn reply(
    step: &Step,
    dialect: Dialect,
    waits: bool,
    ids: &mut usize,
    values: &mut Vec<Value>,
    known: &mut Vec<Known>,
) {
    let Step::Reply {
        reasons,
        says,
        calls,
        backwards,
        adds,
    } = *step
    else {
        return;
    };
    let first = *ids;
    *ids += calls.max(1);
    let names = (first..first + calls)
        .map(|id| format!("call_{id}"))
        .collect::<Vec<_>>();
    let whole = |what: &str| format!("{what} {first}");
    let mut note = |names: &[String], waits: bool| {
        known.push(Known {
            names: names.to_vec(),
            waits,
        });
    };
    let answered = !waits;
    let mut order = names.clone();
    if backwards {
        order.reverse();
    }
    match dialect {
        Dialect::Responses => {
            let group: Vec<_> = reasons.then(|| whole("reasoning")).into_iter().collect();
            if reasons {
                values
                    .push(json!({"type": "reasoning", "id": format!("rs_{first}"), "summary": []}));
                note(&group, false);
            }
            if says {
                values.push(json!({"type": "message", "role": "assistant", "content": "well"}));
                note(&group, false);
            }
            for name in &names {
                values.push(json!({"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"}));
                note(&[&group[..], std::slice::from_ref(name)].concat(), waits);
            }
            for name in order.iter().filter(|_| answered) {
                values
                    .push(json!({"type": "function_call_output", "call_id": name, "output": "1"}));
                note(std::slice::from_ref(name), false);
            }
        }
        Dialect::Chat | Dialect::Gemini | Dialect::Converse => {
            let calls = names.iter().map(|name| {
                json!({"id": name, "type": "function",
                "function": {"name": "f", "arguments": "{}"}})
            });
            let mut message = json!({"role": "assistant", "content": says.then_some("well")});
            if !names.is_empty() {
                message["tool_calls"] = calls.collect();
            }
            values.push(message);
            if says {
                note(&[whole("message")], false);
            }
            for name in &names {
                note(&[whole("message"), name.clone()], waits);
            }
            for name in order.iter().filter(|_| answered) {
                values.push(json!({"role": "tool", "tool_call_id": name, "content": "1"}));
                note(std::slice::from_ref(name), false);
            }
        }
        Dialect::Anthropic => {
            let mut blocks = vec![];
            if reasons {
                blocks.push(json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"}));
                note(&[whole("message")], false);
            }
            if says {
                blocks.push(json!({"type": "text", "text": "well"}));
                note(&[whole("message")], false);
            }
            for name in &names {
                blocks.push(json!({"type": "tool_use", "id": name, "name": "f", "input": {}}));
                note(&[whole("message"), name.clone()], waits);
            }
            values.push(json!({"role": "assistant", "content": blocks}));
            if answered && !names.is_empty() {
                let mut blocks = vec![];
                for name in &order {
                    blocks
                        .push(json!({"type": "tool_result", "tool_use_id": name, "content": "1"}));
                    note(&[whole("answer"), name.clone()], false);
                }
                if adds {
                    blocks.push(json!({"type": "text", "text": "and be quick"}));
                    note(&[whole("answer")], false);
                }
                values.push(json!({"role": "user", "content": blocks}));
            }
        }
    }
}

fn read(text: &str, format: &str) -> Session {
    let bytes = Arc::new(text.as_bytes().to_vec());
    let input = Input {
        buffer: Some(bytes.clone()),
        ..Input::of("text", bytes)
    };
    let options = ReadOptions {
        format: Some(format.to_owned()),
        ..ReadOptions::default()
    };
    read_input(input, &options).unwrap().sessions.remove(0)
}

/// Whether a boundary parts two items with a name in common, or leaves out what waits: every pair of items is tried.
fn is_clean(known: &[Known], boundary: usize) -> bool {
    let (cut, kept) = known.split_at(boundary);
    let parts = |name: &String| kept.iter().any(|item| item.names.contains(name));
    !cut.iter()
        .any(|item| item.waits || item.names.iter().any(parts))
}

const DIALECTS: [(Dialect, &str); 3] = [
    (Dialect::Responses, "openai-responses"),
    (Dialect::Chat, "openai-chat"),
    (Dialect::Anthropic, "anthropic-messages"),
];

/// Judges every cut and every wish of one transcript in every dialect twice.
fn judge(steps: &[Step], waits: bool) -> Result<(), TestCaseError> {
    for (dialect, format) in DIALECTS {
        let Transcript { text, known } = transcript(steps, dialect, waits);
        let session = read(&text, format);
        let count = known.len();
        prop_assert_eq!(session.items.len(), count, "{}", text);
        let boundaries = Boundaries::of(&session);
        let clean = (0..=count).map(|boundary| is_clean(&known, boundary));
        let clean = clean.collect::<Vec<_>>();
        for (boundary, clean) in clean.iter().enumerate() {
            let place = format!("{text} at {boundary}");
            prop_assert_eq!(boundaries.is_clean(boundary), *clean, "{}", place);
            prop_assert_eq!(
                boundaries.split_at(boundary).is_empty(),
                *clean,
                "{}",
                place
            );
        }
        for wished in 0..=count {
            let nearest = (1..=wished).rev().find(|boundary| clean[*boundary]);
            let expected = match (wished, nearest) {
                (0, _) => BoundaryChoice::Nothing,
                (_, Some(nearest)) => BoundaryChoice::Before(nearest),
                (_, None) => BoundaryChoice::Nowhere,
            };
            prop_assert_eq!(boundaries.at_or_before(wished), expected, "{}", text);
            let behind = (wished + 1..count).find(|boundary| clean[*boundary]);
            prop_assert_eq!(boundaries.after(wished), behind, "{}", text);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_cut_of_a_random_transcript_is_judged_as_the_oracle_does(steps in steps(1..14), waits in any::<bool>()) {
        judge(&steps, waits)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.div_ceil(20), ..ProptestConfig::default() })]

    #[test]
    fn every_cut_of_a_long_transcript_is_judged_as_the_oracle_does(steps in steps(60..120), waits in any::<bool>()) {
        judge(&steps, waits)?;
    }
}

/// A session of heads without bytes: each call has its output, and one call of the very beginning is answered at the very end, so
/// that no boundary is clean and every one is looked at.
fn heads(count: usize) -> Session {
    let mut session = Session::empty(Arc::new(Vec::new()), "openai-responses", Dialect::Responses);
    for index in 0..count {
        let number = if index + 1 == count {
            0
        } else {
            index.div_ceil(2)
        };
        let kind = match index {
            0 => Kind::Call,
            _ if index + 1 == count || index % 2 == 0 => Kind::Output,
            _ => Kind::Call,
        };
        session.items.push(Item {
            span: Span::default(),
            call_id: CallId::new(number.to_string().as_bytes(), 0),
            record: u32::try_from(index).unwrap(),
            turn: 0,
            name: NameId::default(),
            kind,
            family: Family::Function,
            dialect: Some(Dialect::Responses),
            flags: Flags::default(),
        });
    }
    session.link();
    session
}

#[test]
#[ignore = "measures time: runs with RETAKE_LONG=1"]
fn ten_times_the_items_take_about_ten_times_as_long() {
    let fastest = |session: &Session| {
        let once = || {
            let started = Instant::now();
            let boundaries = Boundaries::of(session);
            let wished = session.items.len() - 10;
            assert_eq!(boundaries.at_or_before(wished), BoundaryChoice::Nowhere);
            assert_eq!(boundaries.after(wished), None);
            started.elapsed()
        };
        (0..5).map(|_| once()).min().unwrap_or(Duration::ZERO)
    };
    let (small, large) = (heads(100_000), heads(1_000_000));
    let (small, large) = (fastest(&small), fastest(&large));
    let ratio = large.as_secs_f64() / small.as_secs_f64();
    eprintln!("boundaries of 100,000 items: {small:?}, of a million: {large:?}, {ratio:.1} times");
    assert!(ratio < 30.0, "{small:?} {large:?}");
}
