//! What is written is read back, and damage is said.

use super::*;
use crate::formats::{read_buffer, recognise};

fn read(text: &str) -> Contents {
    let format = recognise(&Sample::new(text.as_bytes(), true)).unwrap();
    assert_eq!(format.id, "retake-journal");
    let source: Arc<dyn Source> = Arc::new(text.as_bytes().to_vec());
    read_buffer(format, &source, text.as_bytes()).unwrap()
}

fn journal() -> Vec<String> {
    let items = [
        r#"{"type":"session","path":"a.jsonl","format":"openai-chat","label":"one"}"#,
        r#"{"type":"item","dialect":"chat","item":{"role":"user","content":"hi"}}"#,
        r#"{"type":"exchange","later":true}"#,
        r#"{"type":"item","dialect":"chat","item":{"role":"assistant","content":"yo"}}"#,
    ];
    let lines = (1..).zip(items).map(|(seq, entry)| encode_line(seq, entry));
    std::iter::once(encode_header()).chain(lines).collect()
}

#[test]
fn what_is_written_is_read_back() {
    let contents = read(&journal().concat());
    assert_eq!(contents.problems, []);
    let session = &contents.sessions[0];
    let kinds = session.items.iter().map(|item| item.kind);
    assert_eq!(kinds.collect::<Vec<_>>(), [Kind::User, Kind::Assistant]);
    assert_eq!(
        (session.label.as_str(), session.dialect),
        ("one", Dialect::Chat)
    );
}

#[test]
fn a_torn_tail_costs_its_line() {
    let text = journal().concat();
    let contents = read(&text[..text.len() - 20]);
    assert_eq!(contents.problems[0].kind, ProblemKind::Torn);
    let kinds = contents.sessions[0].items.iter().map(|item| item.kind);
    assert_eq!(kinds.collect::<Vec<_>>(), [Kind::User, Kind::Unreadable]);
}

#[test]
fn a_changed_line_and_a_lost_line_are_said() {
    let changed = read(&journal().concat().replace("\"hi\"", "\"ho\""));
    assert!(changed.problems[0].kind.to_string().contains("checksum"));
    assert_eq!(changed.sessions[0].items[0].kind, Kind::Unreadable);
    let mut lines = journal();
    lines.remove(2);
    let lost = read(&lines.concat());
    assert!(lost.problems[0].kind.to_string().contains("line 3"));
}

#[test]
fn a_newer_journal_is_refused() {
    let newer = journal().concat().replace("\"version\":1", "\"version\":3");
    let contents = read(&newer);
    assert_eq!(contents.sessions.len(), 0);
    assert!(contents.problems[0].kind.to_string().contains("version 3"));
}

/// A line of a proxy's journal: who is asked what, and what comes back.
fn exchange(kind: &str, id: u32, more: &str) -> String {
    format!(r#"{{"type":"{kind}","id":{id},"dialect":"chat","model":"m",{more}}}"#)
}

fn of_proxy(entries: &[String]) -> String {
    let lines = (1..)
        .zip(entries)
        .map(|(seq, entry)| encode_line(seq, entry));
    let header = encode_header();
    std::iter::once(seal_header(&header)).chain(lines).collect()
}

fn asks(messages: &[&str]) -> String {
    let tools = r#"[{"type":"function","function":{"name":"f"}}]"#;
    format!(
        r#""request":{{"model":"m","messages":[{}],"tools":{tools}}}"#,
        messages.join(",")
    )
}

fn said(name: &str, message: &str) -> String {
    format!(r#""{name}":{{"choices":[{{"finish_reason":"stop","message":{message}}}]}}"#)
}

/// Each session as its label and the kinds of its items.
fn told(contents: &Contents) -> Vec<String> {
    let sessions = contents.sessions.iter();
    let one = |session: &crate::session::Session| {
        let kinds = session.items.iter().map(|item| item.kind.word());
        let kinds: Vec<_> = kinds.collect();
        format!("{}: {}", session.label, kinds.join(" "))
    };
    sessions.map(one).collect()
}

const USER: &str = r#"{"role":"user","content":"hi"}"#;
const OTHER: &str = r#"{"role":"user","content":"other"}"#;
const CALL: &str = r#"{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
const CALL_AGAIN: &str = r#"{"role":"assistant","tool_calls":[{"type":"function","function":{"arguments":"{}","name":"f"},"id":"c"}],"content":null}"#;
const OUTPUT: &str = r#"{"role":"tool","tool_call_id":"c","content":"ok"}"#;
const DONE: &str = r#"{"role":"assistant","content":"done"}"#;

#[test]
fn agents_that_speak_through_one_proxy_are_told_apart_and_what_requests_repeat_is_folded() {
    let text = of_proxy(&[
        exchange(
            "exchange",
            1,
            &format!("{},{}", asks(&[USER]), said("response", CALL)),
        ),
        exchange(
            "exchange",
            2,
            &format!("{},{}", asks(&[OTHER]), said("response", DONE)),
        ),
        exchange(
            "exchange",
            3,
            &format!(
                "{},{}",
                asks(&[USER, CALL_AGAIN, OUTPUT]),
                said("response", DONE)
            ),
        ),
    ]);
    let contents = read(&text);
    assert_eq!(contents.problems, []);
    assert_eq!(
        told(&contents),
        [
            "conversation 1: user call output assistant",
            "conversation 2: user assistant"
        ]
    );
    assert_eq!(contents.sessions[0].contract.tool_sets.len(), 1);
    assert_eq!(contents.sessions[1].model.as_deref(), Some("m"));
    assert_eq!(contents.sessions[0].dialect, Dialect::Chat);
}

#[test]
fn a_reply_is_kept_as_the_provider_said_it_where_the_client_leaves_its_reasoning_out() {
    let thought = DONE.replacen('{', r#"{"reasoning_content":"hm","#, 1);
    let text = of_proxy(&[
        exchange(
            "exchange",
            1,
            &format!("{},{}", asks(&[USER]), said("response", &thought)),
        ),
        exchange(
            "exchange",
            2,
            &format!("{},{}", asks(&[USER, DONE, OTHER]), said("response", CALL)),
        ),
    ]);
    let contents = read(&text);
    assert_eq!(
        told(&contents),
        ["conversation 1: user assistant user call"]
    );
    let session = &contents.sessions[0];
    let reply = session.bytes(&session.items[1]).unwrap();
    assert!(String::from_utf8_lossy(&reply).contains("hm"));
}

#[test]
fn an_exchange_that_was_written_behind_the_one_that_goes_on_from_it_is_put_before_it() {
    let first = format!("{},{}", asks(&[USER]), said("response", CALL));
    let next = asks(&[USER, CALL_AGAIN, OUTPUT]);
    let next = format!("{next},{}", said("response", DONE));
    let text = of_proxy(&[
        exchange("exchange", 2, &next),
        exchange("exchange", 1, &first),
    ]);
    let contents = read(&text);
    assert_eq!(
        told(&contents),
        ["conversation 1: user call output assistant"]
    );
    let session = &contents.sessions[0];
    let as_the_provider_said_it = session.bytes(&session.items[1]).unwrap();
    assert!(as_the_provider_said_it.starts_with(br#"{"id":"c""#));
}

#[test]
fn two_agents_that_ask_the_same_and_got_no_reply_are_told_apart_by_their_instructions() {
    let system = |text: &str| format!(r#"{{"role":"system","content":"{text}"}}"#);
    let (one, two) = (system("one"), system("two"));
    let refused = r#""response":{"error":{"message":"slow down"}}"#;
    let text = of_proxy(&[
        exchange("exchange", 1, &format!("{},{refused}", asks(&[&one, USER]))),
        exchange("exchange", 2, &format!("{},{refused}", asks(&[&two, USER]))),
        exchange(
            "exchange",
            3,
            &format!("{},{}", asks(&[&one, USER]), said("response", DONE)),
        ),
    ]);
    assert_eq!(
        told(&read(&text)),
        [
            "conversation 1: system user notice assistant",
            "conversation 2: system user notice"
        ]
    );
}

#[test]
fn a_reply_that_the_client_asked_for_again_is_a_branch() {
    let text = of_proxy(&[
        exchange(
            "exchange",
            1,
            &format!(
                "{},{},\"incomplete\":true",
                asks(&[USER]),
                said("response", CALL)
            ),
        ),
        exchange(
            "exchange",
            2,
            &format!("{},{}", asks(&[USER]), said("response", DONE)),
        ),
    ]);
    let contents = read(&text);
    assert_eq!(
        told(&contents),
        [
            "conversation 1: user assistant",
            "conversation 1: the provider's reply of exchange 1: user call"
        ]
    );
    let branch = &contents.sessions[1];
    assert!(!branch.active && branch.items[1].flags.has(Flags::INCOMPLETE));
}

#[test]
fn what_the_agent_got_instead_goes_on_and_what_the_provider_said_is_a_branch() {
    let mended = r#"{"role":"assistant","content":"mended"}"#;
    let text = of_proxy(&[
        exchange(
            "held",
            1,
            &format!(
                "{},{},\"notice\":\"held\"",
                asks(&[USER]),
                said("response", CALL)
            ),
        ),
        exchange(
            "exchange",
            1,
            &format!(
                "{},{},{}",
                asks(&[USER]),
                said("response", CALL),
                said("told", mended)
            ),
        ),
        exchange(
            "exchange",
            2,
            &format!(
                "{},{}",
                asks(&[USER, mended, OTHER]),
                said("response", DONE)
            ),
        ),
    ]);
    assert_eq!(
        told(&read(&text)),
        [
            "conversation 1: user assistant user assistant",
            "conversation 1: the provider's reply of exchange 1: user call"
        ]
    );
}

#[test]
fn the_providers_side_has_the_turns_that_the_agent_has_not_seen() {
    let hidden = r#"{"role":"assistant","content":"hidden"}"#;
    let sent = asks(&[USER, hidden, OTHER]).replacen("\"request\"", "\"sent\"", 1);
    let text = of_proxy(&[exchange(
        "exchange",
        1,
        &format!(
            "{},{},{},{sent}",
            asks(&[USER]),
            said("response", CALL),
            said("told", DONE)
        ),
    )]);
    assert_eq!(
        told(&read(&text)),
        [
            "conversation 1: user assistant",
            "conversation 1: what the provider got and answered in exchange 1: user assistant user call"
        ]
    );
}

#[test]
fn a_request_that_was_changed_on_its_way_is_the_providers_side_of_its_last_exchange() {
    let hidden = r#"{"role":"assistant","content":"hidden"}"#;
    let turn = |number, asked: &[&str], got: &[&str]| {
        let sent = asks(got).replacen("\"request\"", "\"sent\"", 1);
        let members = format!("{},{},{sent}", asks(asked), said("response", DONE));
        exchange("exchange", number, &members)
    };
    let first = turn(1, &[USER, OTHER], &[USER, hidden, OTHER]);
    let alone = [
        "conversation 1: user user assistant",
        "conversation 1: the request that the provider got in exchange 1: user assistant user assistant",
    ];
    assert_eq!(told(&read(&of_proxy(std::slice::from_ref(&first)))), alone);
    let done = r#"{"role":"assistant","content":"done"}"#;
    let second = turn(
        2,
        &[USER, OTHER, done, USER],
        &[USER, hidden, OTHER, done, USER],
    );
    let both = told(&read(&of_proxy(&[first, second])));
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(
        both[1].contains("got in exchange 2: user assistant user assistant user"),
        "{both:?}"
    );
}

#[test]
fn an_exchange_that_was_held_and_has_no_end_says_so() {
    let held = r#"{"type":"ended","id":1,"ending":{"how":"interrupted"}}"#.to_owned();
    let text = of_proxy(&[
        exchange(
            "held",
            1,
            &format!(
                "{},{},\"notice\":\"held: no end\"",
                asks(&[USER]),
                said("response", CALL)
            ),
        ),
        held,
    ]);
    let contents = read(&text);
    assert_eq!(told(&contents), ["conversation 1: user call notice"]);
    let session = &contents.sessions[0];
    assert_eq!(
        session.bytes(&session.items[2]).unwrap(),
        b"\"held: no end\""
    );
}

#[test]
fn a_provider_that_keeps_the_history_is_followed_by_its_ids() {
    let line = |id: u32, request: &str, reply: &str| {
        format!(
            r#"{{"type":"exchange","id":{id},"dialect":"responses","model":"m","request":{{"model":"m",{request}}},"response":{{"id":"{reply}","output":[{{"type":"message","role":"assistant","content":[]}}]}}}}"#
        )
    };
    let text = of_proxy(&[
        line(1, r#""input":"a""#, "r1"),
        line(2, r#""input":"b""#, "r2"),
        line(3, r#""input":"c","previous_response_id":"r1""#, "r3"),
        line(4, r#""input":"d","previous_response_id":"r3""#, "r4"),
    ]);
    assert_eq!(
        told(&read(&text)),
        [
            "conversation 1: user assistant user assistant user assistant",
            "conversation 2: user assistant"
        ]
    );
}

#[test]
fn a_request_may_name_a_call_by_the_id_of_its_element() {
    let user = r#"{"role":"user","content":"hi"}"#;
    let line = |id: u32, input: &str, output: &str| {
        format!(
            r#"{{"type":"exchange","id":{id},"dialect":"responses","model":"m","request":{{"model":"m","input":[{input}]}},"response":{{"output":[{output}]}}}}"#
        )
    };
    let call =
        r#"{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}"#;
    let again = r#"{"type":"function_call","call_id":"fc_1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"fc_1","output":"ok"}"#;
    let done =
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}"#;
    let text = of_proxy(&[
        line(1, user, call),
        line(2, &format!("{user},{again}"), done),
    ]);
    let contents = read(&text);
    assert_eq!(
        told(&contents),
        ["conversation 1: user call output assistant"]
    );
    let pairing = &contents.sessions[0].pairing;
    assert_eq!(pairing.standing(1), crate::session::PairStatus::Paired(2));
}

#[test]
fn a_damaged_line_of_a_proxy_costs_its_exchange_and_nothing_else() {
    let text = of_proxy(&[
        exchange(
            "exchange",
            1,
            &format!("{},{}", asks(&[USER]), said("response", DONE)),
        ),
        exchange(
            "exchange",
            2,
            &format!("{},{}", asks(&[OTHER]), said("response", DONE)),
        ),
    ]);
    let contents = read(&text.replace("\"other\"", "\"OTHER\""));
    assert!(contents.problems[0].kind.to_string().contains("checksum"));
    assert_eq!(
        told(&contents)[0],
        "conversation 1: user assistant unreadable"
    );
    let torn = read(&text[..text.len() - 30]);
    assert_eq!(torn.problems[0].kind, ProblemKind::Torn);
    assert_eq!(torn.sessions[0].items.len(), 3);
}

#[test]
fn the_same_question_again_after_a_whole_reply_is_another_conversation() {
    let asked = |id| {
        exchange(
            "exchange",
            id,
            &format!("{},{}", asks(&[USER]), said("response", DONE)),
        )
    };
    let edited = r#"{"role":"assistant","content":"edited by the agent"}"#;
    let goes_on = format!(
        "{},{}",
        asks(&[USER, edited, OTHER]),
        said("response", CALL)
    );
    let text = of_proxy(&[asked(1), asked(2), exchange("exchange", 3, &goes_on)]);
    assert_eq!(
        told(&read(&text)),
        [
            "conversation 1: user assistant",
            "conversation 2: user assistant user call",
            "conversation 2: the provider's reply of exchange 2: user assistant"
        ]
    );
}

#[test]
fn a_reply_that_says_it_had_no_tools_leaves_those_of_its_request() {
    let tool = r#"{"type":"function","name":"f","parameters":{"type":"object"}}"#;
    let asks = |tools: &str| {
        format!(
            r#""request":{{"model":"m","tools":[{tools}],"input":[{{"role":"user","content":"hi"}}]}}"#
        )
    };
    let reply = |tools: &str| {
        let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
        format!(r#""response":{{"object":"response","output":[{call}],"tools":[{tools}]}}"#)
    };
    let offered = |asked: &str, replied: &str| {
        let bodies = format!("{},{}", asks(asked), reply(replied));
        let entry = exchange("exchange", 1, &bodies).replace("chat", "responses");
        let contents = read(&of_proxy(&[entry]));
        let contract = &contents.sessions[0].contract;
        let tools = contract.tools_at(1).into_iter();
        let names = tools.map(|tool| tool.name.clone()).collect::<Vec<_>>();
        (contract.tools_known(), names)
    };
    assert_eq!(offered(tool, ""), (true, vec!["f".to_owned()]));
    let other = tool.replace("\"f\"", "\"g\"");
    assert_eq!(offered(tool, &other), (true, vec!["g".to_owned()]));
    assert_eq!(offered("", ""), (true, Vec::new()));
}

/// The entry of a request that continues the one of another exchange: `body` begins with all of `earlier` up to its
/// element `from`, and ends as it does.
fn continuing(of: u32, earlier: &str, from: &str, body: &str) -> String {
    let start = earlier.find(from).unwrap();
    let bracket = earlier.find("],\"tools\"").unwrap();
    let after = earlier.len() - bracket;
    let new = &body[start..body.len() - after];
    format!(
        r#""continues":{{"exchange":{of},"before":{start},"elements":[{new}],"after":{after}}}"#
    )
}

#[test]
fn a_request_recorded_as_what_is_new_of_it_reads_as_a_whole_one() {
    let again = r#"{"role":"user","content":"again"}"#;
    let requests = [
        asks(&[USER]),
        asks(&[USER, CALL, OUTPUT]),
        asks(&[USER, CALL, OUTPUT, DONE, OTHER]),
        // The last message is said in another way: another reply to the history before it.
        asks(&[USER, CALL, OUTPUT, DONE, again]),
    ];
    let replies = [CALL, DONE, DONE, DONE].map(|reply| said("response", reply));
    let body = |number: usize| requests[number].strip_prefix("\"request\":").unwrap();
    let whole = |number: usize| requests[number].clone();
    let new = |number: usize, of: u32, earlier: usize, from: &str| {
        continuing(of, body(earlier), from, body(number))
    };
    let text = |spelled: [String; 4]| {
        let entries = (1..).zip(spelled).zip(&replies);
        let entries = entries
            .map(|((id, request), reply)| exchange("exchange", id, &format!("{request},{reply}")));
        of_proxy(&entries.collect::<Vec<_>>())
    };
    let expected = read(&text([whole(0), whole(1), whole(2), whole(3)]));
    let found = read(&text([
        whole(0),
        new(1, 1, 0, USER),
        new(2, 2, 1, OUTPUT),
        new(3, 3, 2, OTHER),
    ]));
    assert_eq!(found.problems, []);
    assert_eq!(told(&found), told(&expected));
    assert_eq!(told(&found).len(), 2, "{:?}", told(&found));
    let tools = |contents: &Contents| {
        let sessions = contents.sessions.iter();
        let tools = sessions.map(|session| session.contract.tool_sets.len());
        tools.collect::<Vec<_>>()
    };
    assert_eq!(tools(&found), tools(&expected));

    // The line of the second request is gone: of the third only what is new is left, which is said.
    let lines = text([
        whole(0),
        new(1, 1, 0, USER),
        new(2, 2, 1, OUTPUT),
        new(3, 3, 2, OTHER),
    ]);
    let lines: Vec<&str> = lines.split_inclusive('\n').collect();
    let without = [&lines[..2], &lines[3..]].concat().concat();
    let problems = read(&without).problems;
    let problems: Vec<String> = problems.iter().map(|one| one.kind.to_string()).collect();
    assert!(
        problems
            .iter()
            .any(|one| one.contains("exchange 3 continues the request of exchange 2")),
        "{problems:?}"
    );
}
