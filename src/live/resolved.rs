//! A fault that somebody decided about is resolved: that of a call whose output a take wrote is no error, and
//! holds no run. The output of a tool in a run, as of one that failed, is nobody's decision.

use retake_core::rules::{Finding, IN_TRANSIT, SETTLED, Severity};
use retake_core::session::ledger::Ending;
use retake_core::session::{Item, Kind, Rope, Session, Source, Span, TextOrigin};
use serde_json::value::RawValue;
use std::cell::OnceCell;
use std::ops::Range;

/// Rules about what a call or its output says, whatever the provider makes of it: an answer settles them.
const ANSWERED: &[&str] = &[
    "unknown-tool",
    "malformed-arguments",
    "invalid-arguments",
    "duplicate-argument-key",
    "truncated-response",
    "repeated-call",
    "tool-error",
];

/// Rules that hold a run before the call is carried out: where it has an output all the same,
/// somebody let it pass.
const LET_PASS: &[&str] = &[
    "unknown-tool",
    "malformed-arguments",
    "invalid-arguments",
    "truncated-response",
];

/// In longer parts that a take has left out nothing is looked for, in bytes: outputs that move are shorter.
const LONGEST_GAP: u64 = 16 << 20;

/// Marks the findings that a take has settled, and gives the rest as they are.
pub fn mark_resolved(session: &Session, rope: &Rope, findings: &mut [Finding]) {
    if session.file.is_some() {
        // Its items were made of the text and stand in no piece of it.
        return;
    }
    let left_out = OnceCell::new();
    for finding in findings
        .iter_mut()
        .filter(|finding| ANSWERED.contains(&finding.rule.id))
    {
        let Some(index) = finding.item.map(|item| item as usize) else {
            continue;
        };
        let Some(own) = session.items.get(index) else {
            continue;
        };
        let output = match finding.rule.id {
            "tool-error" => Some(own),
            _ if own.kind != Kind::Call => None,
            _ => session
                .pairing
                .partner(index)
                .and_then(|output| session.items.get(output)),
        };
        let Some(output) = output else {
            continue;
        };
        // A loop that went on until the run had used up its turns was answered in vain.
        let is_in_vain = finding.rule.id == "repeated-call" && ended_at_its_limit(session);
        let may_pass = LET_PASS.contains(&finding.rule.id);
        let is_answered =
            (may_pass && is_grown(rope, output)) || is_by_take(session, rope, output, &left_out);
        if is_answered && !is_in_vain {
            // The journal of a run says who decided. A take is saved as a file that says what is in it, no more.
            finding.severity = match rope.growths().is_empty() {
                true => finding.severity.min(Severity::Warning),
                false => Severity::Info,
            };
            finding.is_settled = true;
            let output = session
                .pairing
                .partner(index)
                .filter(|_| own.kind == Kind::Call);
            finding.facts.extend(output.map(|output| {
                let words = format!("answered by item {} of this take", output + 1);
                (SETTLED, words)
            }));
            // That it was answered says nothing about the tools, where the answer is known to be no tool's.
            finding.facts.retain(|(name, _)| *name != "note");
            finding
                .offers
                .retain(|offer| offer.safety != retake_core::actions::Safety::Safe);
        }
    }
}

/// Marks the faults of a reply that was fixed in transit, and with the history before it: the client got
/// another reply, and the history is judged where it goes on.
pub fn mark_repaired(findings: &mut [Finding]) {
    for finding in findings {
        finding.severity = Severity::Info;
        finding.is_settled = true;
        finding.facts.push((SETTLED, IN_TRANSIT.to_owned()));
        finding.offers.clear();
    }
}

fn ended_at_its_limit(session: &Session) -> bool {
    let run = session.run.as_ref();
    let ending = run.and_then(|run| run.ending.as_ref());
    matches!(ending, Some(Ending::TurnLimit { .. }))
}

/// Whether a run grew by an output.
fn is_grown(rope: &Rope, output: &Item) -> bool {
    let mut pieces = rope.pieces_of(output.span);
    pieces.any(|piece| matches!(piece.from, TextOrigin::Grown(_)))
}

/// Whether a take wrote what an output says. Another call id is no other answer, nor is another place.
fn is_by_take(session: &Session, rope: &Rope, output: &Item, left_out: &OnceCell<LeftOut>) -> bool {
    let Ok(bytes) = session.source.read(output.span) else {
        return false;
    };
    let Some(value) = value_span(&bytes) else {
        return false;
    };
    let mut own = rope.pieces_of(Span {
        start: output.span.start + value.start as u64,
        end: output.span.start + value.end as u64,
    });
    let is_written = own.any(|piece| matches!(piece.from, TextOrigin::Written(_)));
    let left_out = left_out.get_or_init(|| LeftOut::of(rope));
    is_written && !left_out.holds(rope, &bytes[value])
}

/// The span of the value in an output that the model reads.
fn value_span(output: &[u8]) -> Option<Range<usize>> {
    #[derive(serde::Deserialize)]
    struct Output<'a> {
        #[serde(borrow)]
        content: Option<&'a RawValue>,
        #[serde(borrow)]
        output: Option<&'a RawValue>,
    }
    let read: Output<'_> = serde_json::from_slice(output).ok()?;
    let value = read.output.or(read.content)?.get();
    let start = value.as_ptr().addr().checked_sub(output.as_ptr().addr())?;
    Some(start..start + value.len())
}

/// What a take left out, of the recording and of what a run grew by.
struct LeftOut {
    of_recording: Vec<Span>,
    of_growth: Vec<Span>,
}

impl LeftOut {
    fn of(rope: &Rope) -> Self {
        let (mut of_recording, mut of_growth) = (Vec::new(), Vec::new());
        for piece in rope.pieces() {
            match piece.from {
                TextOrigin::Recorded(span) => of_recording.push(span),
                TextOrigin::Grown(span) => of_growth.push(span),
                TextOrigin::Written(_) => {}
            }
        }
        let whole = Span {
            start: 0,
            end: rope.recorded().len(),
        };
        let growths = rope.growths().iter();
        Self {
            of_recording: gaps(whole, &of_recording).collect(),
            of_growth: growths
                .flat_map(|growth| gaps(growth.span, &of_growth))
                .collect(),
        }
    }

    /// Whether a text is found there: then it has moved.
    fn holds(&self, rope: &Rope, text: &[u8]) -> bool {
        let least = text.len() as u64;
        let fits = |gap: &&Span| (least..=LONGEST_GAP).contains(&gap.len());
        let in_growth = |gap: &Span| {
            let bytes = rope.written(*gap);
            bytes.is_some_and(|bytes| memchr::memmem::find(bytes, text).is_some())
        };
        let mut of_recording = self.of_recording.iter().filter(fits);
        of_recording.any(|gap| holds(&**rope.recorded(), *gap, text))
            || self.of_growth.iter().filter(fits).any(in_growth)
    }
}

/// The parts of a span that are not kept. What is kept is in order.
fn gaps(whole: Span, kept: &[Span]) -> impl Iterator<Item = Span> {
    let end = Span {
        start: whole.end,
        end: whole.end,
    };
    let inside = kept
        .iter()
        .filter(move |kept| whole.start <= kept.start && kept.end <= whole.end);
    let mut from = whole.start;
    inside.copied().chain([end]).filter_map(move |kept| {
        let gap = Span {
            start: from,
            end: kept.start,
        };
        from = kept.end;
        (gap.start < gap.end).then_some(gap)
    })
}

/// Whether a span of a source holds a text; line ends become spaces where an item moves.
fn holds(source: &dyn Source, span: Span, text: &[u8]) -> bool {
    let Ok(mut bytes) = source.read(span) else {
        return false;
    };
    let line_ends = bytes
        .iter_mut()
        .filter(|byte| matches!(byte, b'\n' | b'\r'));
    line_ends.for_each(|byte| *byte = b' ');
    memchr::memmem::find(&bytes, text).is_some()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::{Base, FixRun, ReadOptions, check_session, mark_resolved, read_path};
    use retake_core::actions::Safety;
    use retake_core::rules::Severity;
    use std::sync::Arc;

    /// What mending did to a recording, and the rules of the findings that it settled. None of them is an error.
    fn settled_by_mending(text: &str, up_to: Safety) -> (Vec<&'static str>, Vec<&'static str>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::write(&path, text).unwrap();
        let recording = read_path(&path, &ReadOptions::default()).unwrap();
        let base = Base::new(Arc::new(recording), Some(&path)).unwrap();
        let mending = FixRun {
            base: &base,
            wants: &|_| true,
            up_to,
            target: None,
            complete: &|_| (),
            progress: &|_, _| (),
            before_check: &|_| (),
            cuts_torn_line: false,
            names_format: false,
        };
        let mended = mending.run().unwrap();
        let session = &mended.recording.sessions[0];
        let mut findings = check_session(session, None).unwrap();
        mark_resolved(session, &mended.rope, &mut findings);
        let settled = findings.iter().filter(|finding| finding.is_settled);
        let settled = settled.inspect(|it| assert_eq!(it.severity, Severity::Warning));
        let actions = mended.applied.iter().map(|one| one.action);
        (actions.collect(), settled.map(|it| it.rule.id).collect())
    }

    #[test]
    fn a_new_id_settles_nothing() {
        let text = concat!(
            r#"{"model":"m","tools":[{"type":"function","function":{"name":"search"}}],"messages":[{"role":"user","content":"hi"},"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"search","arguments":"{}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"c","content":"ok"},{"role":"user","content":"and?"},"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"serch","arguments":"{}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"c","content":"Error: no such tool"},{"role":"user","content":"so?"}]}"#
        );
        let done = settled_by_mending(text, Safety::Safe);
        assert_eq!(done, (vec!["renew-id"], vec![]));
    }

    #[test]
    fn an_output_that_only_moved_settles_nothing() {
        let unanswered = r#"{"model":"m","tools":[{"type":"function","function":{"name":"search"}}],"messages":[{"role":"user","content":"hi"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"serch","arguments":"{}"}}]},
            {"role":"user","content":"so?"}]}"#;
        let output = r#"
            {"role":"tool","tool_call_id":"c",
             "content":"Error: no such tool"},"#;
        let early = unanswered.replacen("\n", output, 1);
        let done = settled_by_mending(&early, Safety::Safe);
        assert_eq!(done, (vec!["move-output"], vec![]));
        let done = settled_by_mending(unanswered, Safety::Safe);
        assert_eq!(done, (vec!["inject-error"], vec!["unknown-tool"]));
    }
}
