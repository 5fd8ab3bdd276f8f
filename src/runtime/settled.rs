//! What an operator decided is settled: a fault of a call whose output a take wrote is still told, but no longer counts.

use crate::rules::{Finding, Severity};
use crate::session::{Item, Origin, Rope, Session, Span};

/// Rules about what a call or its output says, whatever the provider makes of it: an answer settles them.
const ANSWERED: &[&str] = &[
    "unknown-tool",
    "malformed-arguments",
    "invalid-arguments",
    "duplicate-argument-key",
    "repeated-call",
    "tool-error",
];

/// Marks the findings that a take has settled, and gives the rest as they are.
pub fn settle(session: &Session, rope: &Rope, findings: &mut [Finding]) {
    for finding in findings
        .iter_mut()
        .filter(|finding| ANSWERED.contains(&finding.rule.id))
    {
        let Some(index) = finding.item.map(|item| item as usize) else {
            continue;
        };
        let own = session.items.get(index);
        let output = match finding.rule.id {
            "tool-error" => own,
            _ => session
                .pairing
                .partner(index)
                .and_then(|output| session.items.get(output)),
        };
        if output.is_some_and(|output| is_by_take(rope, output)) {
            finding.severity = Severity::Info;
            finding.is_settled = true;
            finding
                .offers
                .retain(|offer| offer.safety != crate::actions::Safety::Safe);
        }
    }
}

/// Whether a take wrote an output, or changed what it says; another call id is no other answer.
fn is_by_take(rope: &Rope, output: &Item) -> bool {
    let span = output.span;
    let id = output.call_id.span(span);
    let is_id = |piece: Span| {
        let is_inside = span.start < piece.start && piece.end < span.end;
        is_inside && id.is_some_and(|id| piece.start <= id.start && id.end <= piece.end)
    };
    let pieces = rope.pieces();
    let first = pieces.partition_point(|piece| piece.start + piece.from.span().len() <= span.start);
    let own = pieces[first..].iter();
    // Where the recorded bytes go on, if nothing was taken out.
    let mut expected = None;
    for piece in own.take_while(|piece| piece.start < span.end) {
        match piece.from {
            Origin::Recorded(recorded) => {
                if expected.is_some_and(|expected| expected != recorded.start) {
                    return true;
                }
                expected = Some(recorded.end);
            }
            Origin::Written(written) => {
                let end = piece.start + written.len();
                let start = piece.start;
                if !is_id(Span { start, end }) {
                    return true;
                }
                expected = None;
            }
        }
    }
    false
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::actions::Safety;
    use crate::rules::Severity;
    use crate::runtime::replace::Backup;
    use crate::runtime::{Base, Mending, ReadOptions, check_session, read_path, save_take};
    use std::sync::Arc;

    #[test]
    fn a_new_id_settles_nothing_that_the_saved_file_still_says() {
        let text = concat!(
            r#"{"model":"m","tools":[{"type":"function","function":{"name":"search"}}],"messages":[{"role":"user","content":"hi"},"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"search","arguments":"{}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"c","content":"ok"},{"role":"user","content":"and?"},"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"serch","arguments":"{}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"c","content":"Error: no such tool"},{"role":"user","content":"so?"}]}"#
        );
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a.json"), folder.path().join("b.json"));
        std::fs::write(&from, text).unwrap();
        let read = |path| read_path(path, &ReadOptions::default()).unwrap();
        let base = Base::new(Arc::new(read(&from)), Some(&from)).unwrap();
        let mending = Mending {
            base: &base,
            up_to: Safety::Safe,
            target: None,
            complete: &|_| (),
            progress: &|_, _| (),
            mended: &|_| (),
        };
        let mended = mending.run().unwrap();
        let actions: Vec<_> = mended.applied.iter().map(|one| one.action).collect();
        assert_eq!(actions, ["renew-id"]);
        save_take(&base, &mended.rope, &to, Backup::None).unwrap();
        let errors = check_session(&read(&to).sessions[0], None).unwrap();
        let errors = errors.iter().filter(|one| one.severity == Severity::Error);
        let errors: Vec<_> = errors.map(|one| one.rule.id).collect();
        assert_eq!(errors, ["unknown-tool"]);
        let left = mended.found[1].get(&(Severity::Error, "unknown-tool"));
        assert_eq!(left, Some(&1));
    }
}
