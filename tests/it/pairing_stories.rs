//! Stories of broken pairs as they were reported against real agents, told again with made-up transcripts.
#![allow(clippy::unwrap_used, clippy::panic)]

use retake_core::actions::Safety;
use retake_core::formats::{Contents, Sample, read_buffer, recognise};
use retake_core::rules::{Finding, OrphanCause, Run, Severity, check};
use retake_core::session::{Dialect, Source};
use std::fmt::Write;
use std::sync::Arc;

fn read(text: &str) -> Contents {
    let format = recognise(&Sample::new(text.as_bytes(), true)).unwrap();
    let source: Arc<dyn Source> = Arc::new(text.as_bytes().to_vec());
    read_buffer(format, &source, text.as_bytes()).unwrap()
}

/// The findings of each session of a file.
fn examine(text: &str, target: Option<Dialect>) -> Vec<Vec<Finding>> {
    let sessions = read(text).sessions;
    let findings = sessions
        .iter()
        .map(|session| check(&mut Run::new(session, target)).unwrap());
    findings.collect()
}

fn ids(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.rule.id).collect()
}

/// A log of Claude Code that grows line by line.
#[derive(Default)]
struct Log {
    text: String,
    lines: usize,
}

impl Log {
    /// Adds a line that hangs on `parent` and gives its number.
    fn push(&mut self, parent: Option<usize>, kind: &str, content: &str) -> usize {
        self.lines += 1;
        let number = self.lines;
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"u{parent}\""));
        writeln!(
            self.text,
            r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{kind}","message":{{"role":"{kind}","id":"m{number}","content":[{content}]}},"uuid":"u{number}","sessionId":"s"}}"#
        )
        .unwrap();
        number
    }

    fn call(&mut self, parent: usize, id: &str) -> usize {
        let block = format!(
            r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"echo {id}"}}}}"#
        );
        self.push(Some(parent), "assistant", &block)
    }

    fn output(&mut self, parent: usize, id: &str) -> usize {
        let block = format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"ok"}}"#);
        self.push(Some(parent), "user", &block)
    }

    fn boundary(&mut self, parent: usize) -> usize {
        self.lines += 1;
        let number = self.lines;
        writeln!(
            self.text,
            r#"{{"parentUuid":null,"logicalParentUuid":"u{parent}","type":"system","subtype":"compact_boundary","content":"","uuid":"u{number}","sessionId":"s"}}"#
        )
        .unwrap();
        number
    }

    fn say(&mut self, parent: Option<usize>, kind: &str) -> usize {
        self.push(parent, kind, r#"{"type":"text","text":"go on"}"#)
    }
}

#[test]
fn story_2_of_eleven_orphans_the_one_in_the_live_chain_is_fatal() {
    let mut log = Log::default();
    let mut at = log.say(None, "user");
    for turn in 0..2_500 {
        let call = log.call(at, &format!("toolu_{turn}"));
        at = log.output(call, &format!("toolu_{turn}"));
        if turn % 250 == 249 {
            // The user went back from here, and the result in the dead branch has lost its call.
            let dead = log.say(Some(at), "user");
            let dead = log.say(Some(dead), "assistant");
            log.output(dead, &format!("toolu_dead_{turn}"));
        }
        if turn == 1_300 {
            let said = log.say(Some(at), "assistant");
            at = log.output(said, "toolu_lost");
        }
    }
    log.say(Some(at), "assistant");
    let contents = read(&log.text);
    let active = contents.sessions.iter().filter(|session| session.active);
    assert_eq!(active.count(), 1);
    let findings = examine(&log.text, None).concat();
    let orphans = findings
        .iter()
        .filter(|finding| finding.rule.id == "orphan-output");
    let severities = orphans.map(|finding| finding.severity).collect::<Vec<_>>();
    let fatal = severities
        .iter()
        .filter(|severity| **severity == Severity::Error);
    assert_eq!((severities.len(), fatal.count()), (11, 1));
    let mended = findings.iter().filter(|finding| {
        finding
            .offers
            .iter()
            .any(|offer| offer.safety == Safety::Safe)
    });
    assert_eq!(
        mended.count(),
        1,
        "a repair of all that is safe touches one entry"
    );
}

#[test]
fn story_3_text_behind_a_call_offends_anthropic_only() {
    let text = r#"[{"role":"user","content":"hi"},
        {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"a","input":{}},{"type":"text","text":"and"},{"type":"tool_use","id":"toolu_2","name":"b","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"1"},{"type":"tool_result","tool_use_id":"toolu_2","content":"2"}]}]"#;
    let found = examine(text, None).concat();
    assert_eq!(ids(&found), ["misplaced-output"]);
    assert_eq!(found[0].severity, Severity::Warning);
    assert_eq!(found[0].related, Some(2), "the text is named");
    for target in [Dialect::Chat, Dialect::Responses, Dialect::Gemini] {
        assert_eq!(
            ids(&examine(text, Some(target)).concat()),
            Vec::<&str>::new()
        );
    }
}

#[test]
fn story_6_an_approval_that_waits_is_no_orphan() {
    let text = r#"[{"role":"user","content":"refund it"},
        {"type":"mcp_approval_request","id":"mcpr_1","server_label":"shop","name":"refund","arguments":"{}"},
        {"type":"function_call","call_id":"call_1","name":"note","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":"ok"}]"#;
    let found = examine(text, None).concat();
    assert_eq!(ids(&found), ["pending-call"]);
    assert_eq!(found[0].cause, Some(OrphanCause::Approval));
    assert_eq!(found[0].message(), "refund waits for your decision");
}

#[test]
fn story_13_the_inner_of_two_compactions_made_the_orphan() {
    let mut log = Log::default();
    let user = log.say(None, "user");
    let call = log.call(user, "toolu_1");
    let output = log.output(call, "toolu_1");
    let outer = log.boundary(output);
    let at = log.say(Some(outer), "user");
    let kept = log.call(at, "toolu_2");
    let kept = log.output(kept, "toolu_2");
    let cut = log.call(kept, "toolu_3");
    let inner = log.boundary(cut);
    let late = log.output(inner, "toolu_3");
    log.say(Some(late), "assistant");
    let found = examine(&log.text, None).concat();
    assert_eq!(ids(&found), ["split-pair"]);
    assert_eq!(found[0].cause, Some(OrphanCause::Compaction));
    assert_eq!(found[0].get("mark"), Some(format!("u{inner}").as_str()));
}

#[test]
fn a_log_that_was_resumed_begins_with_the_output_of_an_earlier_file() {
    let mut log = Log::default();
    let output = log.output(0, "toolu_0");
    let said = log.say(Some(output), "assistant");
    log.say(Some(said), "user");
    let found = examine(&log.text, None).concat();
    assert_eq!(ids(&found), ["orphan-output"]);
    assert_eq!(found[0].cause, Some(OrphanCause::StartsLate));
}

#[test]
fn an_interrupt_leaves_its_call_alone() {
    let mut log = Log::default();
    let user = log.say(None, "user");
    let call = log.call(user, "toolu_1");
    let block = r#"{"type":"text","text":"[Request interrupted by user for tool use]"}"#;
    let mark = log.push(Some(call), "user", block);
    log.say(Some(mark), "assistant");
    let found = examine(&log.text, None).concat();
    assert_eq!(ids(&found), ["orphan-call"]);
    assert_eq!(found[0].cause, Some(OrphanCause::Interrupt));
}

#[test]
fn a_log_of_requests_repeats_the_history_and_no_id() {
    let first = r#"{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"1"}"#;
    let more = r#"{"role":"assistant","content":"done"},{"role":"user","content":"again"}"#;
    let request = |messages: &str| format!(r#"{{"model":"m","messages":[{messages}]}}"#);
    let log = [request(first), request(&format!("{first},{more}"))].join("\n");
    let sessions = read(&log).sessions;
    assert_eq!((sessions.len(), sessions[0].items.len()), (1, 5));
    assert_eq!(ids(&examine(&log, None).concat()), Vec::<&str>::new());
    let other = first.replace("hi", "something else");
    let unrelated = [request(first), request(&other)].join("\n");
    assert_eq!(read(&unrelated).sessions.len(), 2);
}
