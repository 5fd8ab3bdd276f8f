//! duplicate-argument-key: a key occurs twice in one object of the arguments.

use super::{CheckedItem, Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::json::pointer::{child, readable};
use crate::json::{Cursor, Result, display_text};
use crate::session::Kind;
use std::borrow::Cow;
use std::collections::HashSet;

pub(crate) static RULE: Rule = Rule {
    id: "duplicate-argument-key",
    severity: Severity::Warning,
    summary: "a key occurs twice in the arguments of a call",
    message: "\"{key}\" occurs twice in the arguments of {tool}[; so do {others}]",
    page: RulePage {
        what: "One object of the arguments has two members of the same name.",
        why: "Readers disagree: most take the last one, some the first, strict ones refuse the call.",
        example: r#"{"path": "a.txt", "yield_time_ms": 1000, "yield_time_ms": 5000}"#,
        what_to_do: "Edit the arguments, or inject an error that names the key.",
        limits: "Says nothing about arguments that are not JSON.",
    },
    offers: &[
        Offer::safe("inject-error"),
        Offer::manual("edit"),
        Offer::unsafe_("retry"),
    ],
    scope: Scope::Item {
        kinds: &[Kind::Call],
        glance: |_| true,
        check,
    },
};

/// How many places are reported.
const MOST: usize = 16;

/// Up to how many keys are compared one by one.
const FEW: usize = 16;

fn check(run: &Run<'_>, subject: &CheckedItem<'_>, findings: &mut Vec<Finding>) {
    let is_json = subject.arguments.is_some();
    let Some(text) = subject.body.arguments.json().filter(|_| is_json) else {
        return;
    };
    let twice = keys_twice(text);
    let Some((first, others)) = twice.split_first() else {
        return;
    };
    let key = first.rsplit('/').next().unwrap_or_default();
    let mut finding = Finding::new(&RULE, subject.index)
        .fact("tool", run.session.name(subject.item))
        .fact("key", readable(key))
        .fact("others", readable(&others.join(", ")));
    finding.pointer = Some(first.clone());
    findings.push(finding.of_call(run.session));
}

/// The JSON pointers of keys that stand a second time, in the order of the text. The text was read by a parser
/// that limits nesting, so the walk may recurse.
fn keys_twice(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // The text is known to be JSON; a fault could only shorten the answer.
    let _ = walk(&mut Cursor::new(text.as_bytes()), &Path::Root, &mut found);
    found
}

/// The way to a value, as links on the stack: most walks find nothing, and need no text.
enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl Path<'_> {
    fn pointer(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Key(parent, key) => child(&parent.pointer(), key),
            Self::Index(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }
}

fn walk(cursor: &mut Cursor<'_>, path: &Path<'_>, found: &mut Vec<String>) -> Result<()> {
    match cursor.peek() {
        Some(b'{') => {
            let mut keys = Keys::default();
            cursor.object(|cursor, raw| {
                let key = display_text(raw);
                let place = Path::Key(path, &key);
                if is_container(cursor) {
                    walk(cursor, &place, found)?;
                }
                let pointer = keys.insert_or_else(key.clone(), || place.pointer());
                let is_new = |pointer: &String| found.len() < MOST && !found.contains(pointer);
                found.extend(pointer.filter(is_new));
                Ok(())
            })?;
        }
        Some(b'[') => {
            let mut index = 0;
            cursor.array(|cursor| {
                if is_container(cursor) {
                    walk(cursor, &Path::Index(path, index), found)?;
                }
                index += 1;
                Ok(())
            })?;
        }
        _ => {}
    }
    Ok(())
}

fn is_container(cursor: &mut Cursor<'_>) -> bool {
    matches!(cursor.peek(), Some(b'{' | b'['))
}

/// The keys of one object.
#[derive(Default)]
struct Keys<'a> {
    few: Vec<Cow<'a, str>>,
    many: HashSet<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    /// Takes a key; the answer of `twice` if it was there already.
    fn insert_or_else<T>(&mut self, key: Cow<'a, str>, twice: impl FnOnce() -> T) -> Option<T> {
        if self.few.contains(&key) || self.many.contains(&key) {
            return Some(twice());
        }
        if self.few.len() < FEW {
            self.few.push(key);
        } else {
            self.many.insert(key);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixture::fixture;

    #[test]
    fn a_key_twice_in_one_object_is_found_at_any_depth() {
        assert_eq!(keys_twice(r#"{"a":1,"a":2,"a":3}"#), ["/a"]);
        assert_eq!(
            keys_twice(r#"{"a":[{"x/y":1,"x\/y":2}],"b":{"c":1,"c":1}}"#),
            ["/a/0/x~1y", "/b/c"]
        );
    }

    #[test]
    fn the_same_key_in_two_objects_is_no_duplicate() {
        assert!(
            keys_twice(r#"{"a":{"a":1},"b":[{"a":1},{"a":"a"}],"c":"\"a\":1,\"a\":2"}"#).is_empty()
        );
    }

    #[test]
    fn many_keys_stay_cheap() {
        let members = (0..50_000).map(|number| format!("\"k{number}\":0"));
        let text = format!("{{{},\"k49999\":1}}", members.collect::<Vec<_>>().join(","));
        assert_eq!(keys_twice(&text), ["/k49999"]);
    }

    #[test]
    fn codex_refused_a_duplicate_field() {
        let story = fixture(
            r#"{"type":"function_call","call_id":"call_1","name":"exec","arguments":"{\"cmd\":\"ls\",\"wait\":1,\"wait\":2}"}
            {"type":"function_call_output","call_id":"call_1","output":"failed to parse function arguments: duplicate field"}"#,
        );
        story.expect_all(&["duplicate-argument-key call_1", "tool-error call_1"]);
        assert_eq!(
            story.finding(&RULE).message(),
            "\"wait\" occurs twice in the arguments of exec"
        );
        fixture(r#"{"type":"custom_tool_call","call_id":"c","name":"patch","input":"{\"a\":1,\"a\":1}"}"#)
            .expect(&RULE, &[]);
    }
}
