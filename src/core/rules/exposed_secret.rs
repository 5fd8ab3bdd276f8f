//! exposed-secret: an item holds what looks like a key or a password.

use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::redact::kinds_in_json;
use crate::session::ReadAhead;

/// How much of a session is looked at, in bytes of its items: looking for secrets takes longer
/// than all rules together.
const LOOKED_AT: u64 = 16 * 1024 * 1024;

pub(crate) static RULE: Rule = Rule {
    id: "exposed-secret",
    severity: Severity::Info,
    summary: "an item holds what looks like a key or a password (`check` alone looks for it)",
    message: "this item seems to hold a secret: {kinds}",
    page: RulePage {
        what: "A text, argument or output holds what looks like a key of a known service, or a value under \
            a name like password, api_key or token. The finding names its kind, never the secret.",
        why: "Recordings are sent around: with a bug report, into a repository, to a colleague. Whoever has the \
            recording has the key.",
        example: "{\"command\": \"curl -u admin:... https://example.org\"}",
        what_to_do: "Take the secret back where it was given (rotate the key). Share a copy without it: `retake \
            convert FILE --to DIALECT --redact`, or --redact with show, fix and export.",
        limits: "A secret without a known shape and without a telling name is not seen; an example that looks \
            like a key is. Of a session the first 16 MB are looked at. `check` alone reports it; it never \
            changes the exit code.",
    },
    offers: &[],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let mut ahead = ReadAhead::default();
    let mut left = LOOKED_AT;
    let items = &run.session.items;
    for (index, item) in items.iter().enumerate() {
        let Some(rest) = left.checked_sub(item.span.len()) else {
            break;
        };
        left = rest;
        // What cannot be read was reported where it was read first.
        let next = items[index + 1..].iter().map(|item| item.span);
        let Ok(bytes) = ahead.read(&*run.session.source, item.span, next) else {
            continue;
        };
        let kinds = kinds_in_json(bytes);
        if !kinds.is_empty() {
            findings.push(Finding::new(&RULE, index).fact("kinds", kinds.join(", ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::fixture;
    use crate::rules::{HINTS, Run, check, check_by};
    use serde_json::json;

    #[test]
    fn a_secret_is_reported_by_its_kind_and_never_shown() {
        let key = format!("sk-proj-{}", "Ab3dE6gH".repeat(5));
        let arguments = json!({"password": "hunter2-abc"}).to_string();
        let text = json!([
            {"role": "user", "content": format!("my key is {key}")},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "f", "arguments": arguments}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "max_tokens: 12, the password: is required"},
        ]);
        let text = text.to_string();
        let sessions = fixture(&text).sessions();
        let mut run = Run::new(&sessions[0], None);
        let told = check_by(&mut run, HINTS).unwrap();
        let told: Vec<(Option<u32>, String)> =
            told.iter().map(|one| (one.item, one.message())).collect();
        assert_eq!(
            told,
            [
                (
                    Some(0),
                    "this item seems to hold a secret: openai key".to_owned()
                ),
                (
                    Some(1),
                    "this item seems to hold a secret: password".to_owned()
                )
            ]
        );
        // It is not a rule that a run or a proxy judges by.
        let judged = check(&mut run).unwrap();
        assert!(judged.iter().all(|one| one.rule.id != "exposed-secret"));
    }
}
