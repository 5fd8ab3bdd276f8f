//! Logs told as short lines: `id parent who message content`, written out as Claude Code writes them.

use super::FORMAT;
use crate::formats::{Contents, Sample, read_buffer, recognise};
use crate::session::{Flags, Kind, PairStatus, ProblemKind, Session, Source, Speaker};
use std::sync::Arc;

/// One line: `uuid parent content`. Content: `user text`, `say m1 text`, `think m1`, `call m1 id`, `out id`, `cut`, `meta text`, `side ...`.
fn line(told: &str) -> String {
    let words = told.split(' ').collect::<Vec<_>>();
    let (side, words) = match words[..] {
        ["side", ref rest @ ..] => (true, rest.to_vec()),
        _ => (false, words),
    };
    let (uuid, parent, verb, rest) = (words[0], words[1], words[2], &words[3..]);
    let parent = match parent {
        "-" => "null".to_owned(),
        parent => format!("\"{parent}\""),
    };
    let head =
        format!(r#"{{"parentUuid":{parent},"isSidechain":{side},"sessionId":"s","uuid":"{uuid}","#);
    let assistant = |block: &str| {
        format!(
            r#"{head}"type":"assistant","message":{{"model":"claude","id":"{}","role":"assistant","content":[{block}],"stop_reason":null}}}}"#,
            rest[0]
        )
    };
    let user = |content: &str, more: &str| {
        format!(r#"{head}"type":"user",{more}"message":{{"role":"user","content":{content}}}}}"#)
    };
    let text = |words: &[&str]| format!("\"{}\"", words.join(" "));
    match verb {
        "user" => user(&text(rest), ""),
        "meta" => user(&text(rest), r#""isMeta":true,"#),
        "summary" => user(&text(rest), r#""isCompactSummary":true,"#),
        "say" => assistant(&format!(r#"{{"type":"text","text":{}}}"#, text(&rest[1..]))),
        "think" => assistant(r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#),
        "call" => assistant(&format!(
            r#"{{"type":"tool_use","id":"{}","name":"Bash","input":{{}}}}"#,
            rest[1]
        )),
        "out" => user(
            &format!(
                r#"[{{"tool_use_id":"{}","type":"tool_result","content":"ok"}}]"#,
                rest[0]
            ),
            "",
        ),
        "denied" => user(
            &format!(
                r#"[{{"tool_use_id":"{}","type":"tool_result","is_error":true,"content":"The user doesn't want to proceed with this tool use."}}]"#,
                rest[0]
            ),
            r#""toolDenialKind":"user","#,
        ),
        "cut" => {
            let logical = rest
                .first()
                .map(|id| format!(r#","logicalParentUuid":"{id}""#));
            format!(
                r#"{head}"type":"system","subtype":"compact_boundary","content":"Conversation compacted"{}}}"#,
                logical.unwrap_or_default()
            )
        }
        "progress" => format!(r#"{head}"type":"progress","data":{{}}}}"#),
        other => panic!("{other}"),
    }
}

fn read_text(text: &str) -> Contents {
    let format = recognise(&Sample::new(text.as_bytes(), true)).unwrap();
    assert_eq!(format.id, "claude-code");
    let source: Arc<dyn Source> = Arc::new(text.as_bytes().to_vec());
    read_buffer(&FORMAT, &source, text.as_bytes()).unwrap()
}

fn read(lines: &[&str]) -> Contents {
    let lines = lines.iter().map(|told| line(told));
    read_text(&lines.collect::<Vec<_>>().join("\n"))
}

/// The items of a session as words: `user`, `call t1`, `output t1`.
fn told(session: &Session) -> Vec<String> {
    let words = session.items.iter().map(|item| {
        let id = session.call_id(item).unwrap();
        format!("{} {id}", item.kind.word()).trim_end().to_owned()
    });
    words.collect()
}

/// The only session of a file without problems.
fn only(lines: &[&str]) -> Session {
    let contents = read(lines);
    assert_eq!(contents.problems, []);
    assert_eq!(contents.sessions.len(), 1);
    contents.sessions.into_iter().next().unwrap()
}

fn is_whole(session: &Session) -> bool {
    (0..session.items.len()).all(|index| {
        matches!(
            session.pairing.standing(index),
            PairStatus::Alone | PairStatus::Paired(_)
        )
    })
}

#[test]
fn a_result_that_was_written_before_its_call_comes_behind_it() {
    let session = only(&[
        "u1 - user hi",
        "a1 u1 call m1 t1",
        "r2 a2 out t2",
        "a2 a1 call m1 t2",
        "r1 r2 out t1",
        "a3 r1 say m2 done",
    ]);
    let expected = [
        "user",
        "call t1",
        "call t2",
        "output t2",
        "output t1",
        "assistant",
    ];
    assert_eq!(told(&session), expected);
    assert!(is_whole(&session));
}

#[test]
fn two_objects_on_a_line_are_two_lines() {
    let text = format!(
        "{}{}\n{}\n",
        line("u1 - user hi"),
        line("a1 u1 call m1 t1"),
        line("r1 a1 out t1")
    );
    let contents = read_text(&text);
    assert_eq!(contents.problems[0].kind, ProblemKind::SharedLine);
    assert_eq!(
        told(&contents.sessions[0]),
        ["user", "call t1", "output t1"]
    );
}

#[test]
fn one_message_over_many_lines_is_one_reply_with_all_its_results() {
    // The results of parallel calls hang on their own line of the message; only the last one is on the chain.
    let session = only(&[
        "u1 - user hi",
        "a1 u1 think m1",
        "a2 a1 call m1 t1",
        "r1 a2 out t1",
        "a3 a2 call m1 t2",
        "r2 a3 out t2",
        "a4 r2 say m2 done",
    ]);
    let expected = [
        "user",
        "reasoning",
        "call t1",
        "output t1",
        "call t2",
        "output t2",
        "assistant",
    ];
    assert_eq!(told(&session), expected);
    assert!(is_whole(&session));
    let speakers = session
        .turns
        .iter()
        .map(|turn| turn.speaker)
        .collect::<Vec<_>>();
    assert_eq!(speakers, [Speaker::User, Speaker::Model, Speaker::Model]);
}

#[test]
fn each_sub_agent_has_a_session_of_its_own() {
    let contents = read(&[
        "u1 - user hi",
        "a1 u1 call m1 t1",
        "side s1 - user search",
        "side z1 - user search too",
        "side s2 s1 call m8 t8",
        "side z2 z1 say m9 none",
        "side s3 s2 out t8",
        "r1 a1 out t1",
        "a2 r1 say m2 done",
    ]);
    let sessions = contents.sessions.iter();
    let labels = sessions.map(|session| {
        (
            session.label.as_str(),
            session.active,
            told(session).join(", "),
        )
    });
    let expected = [
        ("", true, "user, call t1, output t1, assistant".to_owned()),
        ("side chain 1", false, "user, call t8, output t8".to_owned()),
        ("side chain 2", false, "user, assistant".to_owned()),
    ];
    assert_eq!(labels.collect::<Vec<_>>(), expected);
}

#[test]
fn sub_agents_are_numbered_in_the_order_of_the_calls_that_began_them() {
    let entry =
        |uuid: &str, parent: Option<&str>, side: bool, role: &str, content: serde_json::Value| {
            serde_json::json!({"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "s",
            "isSidechain": side, "message": {"id": uuid, "role": role, "content": content}})
            .to_string()
        };
    let task = |id: &str, prompt: &str| serde_json::json!([{"type": "tool_use", "id": id, "name": "Task", "input": {"prompt": prompt}}]);
    let lines = [
        entry("1", None, false, "user", "go".into()),
        entry("2", Some("1"), false, "assistant", task("a", "first one")),
        entry("3", Some("2"), false, "assistant", task("b", "second one")),
        entry("11", None, true, "user", "second one".into()),
        entry("21", None, true, "user", "first one".into()),
        entry("12", Some("11"), true, "assistant", "done".into()),
    ];
    let contents = read_text(&lines.join("\n"));
    let sessions = contents.sessions[1..].iter();
    let told: Vec<_> = sessions
        .map(|it| (it.label.as_str(), it.items.len()))
        .collect();
    assert_eq!(told, [("side chain 1", 1), ("side chain 2", 2)]);
}

#[test]
fn a_file_of_one_sub_agent_is_its_conversation() {
    let session = only(&[
        "side s1 - user search",
        "side s2 s1 call m1 t1",
        "side s3 s2 out t1",
    ]);
    assert!(session.active && is_whole(&session));
}

#[test]
fn what_the_user_went_back_from_is_an_abandoned_branch() {
    let contents = read(&[
        "u1 - user hi",
        "a1 u1 say m1 hello",
        "u2 a1 user left",
        "a2 u2 call m2 t2",
        "u3 a1 user right",
        "a3 u3 say m3 done",
    ]);
    let [active, left] = &contents.sessions[..] else {
        panic!("{:?}", contents.sessions.len());
    };
    assert_eq!(told(active), ["user", "assistant", "user", "assistant"]);
    assert_eq!(
        (left.label.as_str(), left.active),
        ("abandoned branch 1", false)
    );
    assert_eq!(told(left), ["user", "call t2"]);
}

#[test]
fn a_compaction_cuts_what_it_stands_on() {
    let session = only(&[
        "u1 - user hi",
        "a1 u1 call m1 t1",
        "p1 a1 progress",
        "c1 - cut a1",
        "u2 c1 summary so far",
        "a2 u2 call m2 t2",
        "r2 a2 out t2",
    ]);
    assert_eq!(
        told(&session),
        [
            "user",
            "call t1",
            "compaction",
            "user",
            "call t2",
            "output t2"
        ]
    );
    assert_eq!(session.pairing.standing(1), PairStatus::Orphan);
    let sent = session
        .items
        .iter()
        .map(|item| !item.flags.has(Flags::COMPACTED));
    assert_eq!(
        sent.collect::<Vec<_>>(),
        [false, false, true, true, true, true]
    );
}

#[test]
fn a_compaction_whose_logical_parent_is_gone_goes_on_from_the_line_before() {
    for cut in ["c1 - cut gone", "c1 - cut"] {
        let session = only(&["u1 - user hi", "a1 u1 say m1 hello", cut, "u2 c1 user more"]);
        assert_eq!(
            told(&session),
            ["user", "assistant", "compaction", "user"],
            "{cut}"
        );
    }
}

#[test]
fn a_missing_parent_is_told_and_the_story_goes_on() {
    let contents = read(&[
        "u1 - user hi",
        "a1 u1 say m1 hello",
        "side s1 - user search",
        "u2 lost user more",
        "a2 u2 say m2 done",
    ]);
    let items = contents.sessions[0].items.iter();
    let broken = items.map(|item| item.flags.has(Flags::BROKEN_CHAIN));
    assert_eq!(broken.collect::<Vec<_>>(), [false, false, true, false]);
    assert_eq!(
        told(&contents.sessions[0]),
        ["user", "assistant", "user", "assistant"]
    );
}

#[test]
fn a_circle_of_parents_loses_nothing() {
    let contents = read(&["u1 a1 user hi", "a1 u1 say m1 hello", "u2 a1 user more"]);
    let kinds = contents.problems.iter().map(|problem| &problem.kind);
    assert_eq!(kinds.collect::<Vec<_>>(), [&ProblemKind::ParentCycle]);
    assert_eq!(told(&contents.sessions[0]), ["user", "assistant", "user"]);
}

#[test]
fn a_circle_of_side_lines_loses_nothing() {
    let contents = read(&[
        "u1 - user hi",
        "side s1 s3 user search",
        "side s2 s1 say m1 a",
        "side s3 s2 say m2 b",
    ]);
    let items = contents.sessions.iter().map(|session| session.items.len());
    assert_eq!(items.collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn an_interrupt_and_a_rejection_leave_their_marks() {
    let session = only(&[
        "u1 - user hi",
        "a1 u1 call m1 t1",
        "r1 a1 denied t1",
        "i1 r1 user [Request interrupted by user for tool use]",
    ]);
    assert!(
        session.items[2]
            .flags
            .has(Flags::REJECTED.with(Flags::ERROR))
    );
    assert_eq!(session.items[3].kind, Kind::User);
    assert!(session.items[3].flags.has(Flags::INTERRUPT));
}

#[test]
fn what_the_runtime_said_in_the_name_of_the_user_is_marked() {
    let session = only(&["u1 - meta caveat", "u2 u1 user hi", "a1 u2 say m1 hello"]);
    let synthetic = session
        .items
        .iter()
        .map(|item| item.flags.has(Flags::SYNTHETIC));
    assert_eq!(synthetic.collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn lines_that_were_written_twice_are_told_once() {
    let contents = read(&[
        "u1 - user hi",
        "a1 u1 call m1 t1",
        "r1 a1 out t1",
        "u1 - user hi",
        "a1 u1 call m1 t1",
        "r1 a1 out t1",
        "a2 r1 say m2 done",
    ]);
    let [active, repeated] = &contents.sessions[..] else {
        panic!("{:?}", contents.sessions.len());
    };
    assert_eq!(told(active), ["user", "call t1", "output t1", "assistant"]);
    assert_eq!(
        (repeated.label.as_str(), repeated.active),
        ("repeated lines", false)
    );
}

#[test]
fn a_broken_line_costs_itself_only() {
    let text = [
        line("u1 - user hi"),
        r#"{"parentUuid":"u1","uuid":"x","#.to_owned(),
        line("a1 u1 call m1 t1"),
        line("r1 a1 out t1"),
    ];
    let contents = read_text(&text.join("\n"));
    assert_eq!(contents.problems.len(), 1);
    let session = &contents.sessions[0];
    assert_eq!(
        told(session),
        ["user", "unreadable", "call t1", "output t1"]
    );
    assert_eq!(session.label, "");
}

#[test]
fn a_long_log_takes_time_in_proportion_to_its_lines() {
    // Each shape was quadratic in some reader: a chain of progress lines, dead ends, a deep branch, a comb of branches.
    let mut lines = vec!["u0 - user hi".to_owned()];
    for number in 1..20_000 {
        let before = number - 1;
        lines.push(format!("u{number} u{before} progress"));
        lines.push(format!("side s{number} s{before} say m{number} a"));
        lines.push(format!("d{number} u{before} user {number}"));
    }
    let started = std::time::Instant::now();
    let contents = read(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    let items = contents.sessions.iter().map(|session| session.items.len());
    assert_eq!(items.sum::<usize>(), 1 + 2 * 19_999);
}
