//! Before and after, in the spelling of each format.

mod extending;
mod native;

use super::*;
use crate::formats::{Sample, read_buffer, recognise};
use crate::session::{Rope, Source};
use std::sync::Arc;

fn read(text: &str) -> Session {
    let format = recognise(&Sample::new(text.as_bytes(), true)).unwrap();
    let source: Arc<dyn Source> = Arc::new(text.as_bytes().to_vec());
    read_buffer(format, &source, text.as_bytes())
        .unwrap()
        .sessions
        .remove(0)
}

fn edited(text: &str, edits: &[Edit]) -> String {
    let session = read(text);
    let splices = lower(&session, edits).unwrap();
    let rope = Rope::new(session.source.clone()).spliced(&splices);
    let all = Span {
        start: 0,
        end: rope.len(),
    };
    let text = String::from_utf8(rope.read(all).unwrap()).unwrap();
    for line in text.lines() {
        if text.starts_with('[') || text.starts_with("{\n") || text.starts_with("{\r\n") {
            break;
        }
        serde_json::from_str::<serde_json::Value>(line)
            .unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    text
}

fn answer(call: u32, text: &str) -> Edit {
    Edit::Answer {
        call,
        text: text.to_owned(),
        is_error: true,
    }
}

#[test]
fn responses_lines_gain_and_lose_items() {
    let text = concat!(
        "{\"role\":\"user\",\"content\":\"hi\"}\n",
        "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"}\n",
        "{\"type\":\"function_call\",\"call_id\":\"b\",\"name\":\"g\",\"arguments\":\"{}\"}\n",
        "{\"type\":\"function_call_output\",\"call_id\":\"b\",\"output\":\"1\"}\n",
    );
    assert_eq!(
        edited(text, &[answer(1, "no \"f\"")]),
        format!(
            "{text}{{\"type\":\"function_call_output\",\"call_id\":\"a\",\"output\":\"no \\\"f\\\"\"}}\n"
        )
    );
    let dropped = edited(text, &[Edit::Drop { item: 1 }]);
    assert_eq!(dropped.lines().count(), 3);
    let cut = edited(
        text,
        &[
            Edit::Cut { from: 1 },
            Edit::Say {
                after: 0,
                voice: MessageRole::User,
                text: "again".to_owned(),
            },
        ],
    );
    assert_eq!(
        cut,
        "{\"role\":\"user\",\"content\":\"hi\"}\n{\"type\":\"message\",\"role\":\"user\",\"content\":\"again\"}\n"
    );
}

#[test]
fn arrays_keep_their_commas_and_their_indentation() {
    let text = "[\n  {\"role\":\"user\",\"content\":\"hi\"},\n  {\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"}\n]\n";
    let answered = edited(text, &[answer(1, "no")]);
    assert_eq!(
        answered,
        text.replace(
            "\"{}\"}\n",
            "\"{}\"},\n  {\"type\":\"function_call_output\",\"call_id\":\"a\",\"output\":\"no\"}\n"
        )
    );
    assert_eq!(
        edited(text, &[Edit::Drop { item: 1 }]),
        "[\n  {\"role\":\"user\",\"content\":\"hi\"}\n]\n"
    );
    assert_eq!(
        edited(text, &[Edit::Drop { item: 0 }]),
        "[\n  {\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"}\n]\n"
    );
}

#[test]
fn a_moved_output_and_a_new_one_are_indented_as_their_neighbours() {
    let text = serde_json::json!({"model": "m", "messages": [
        {"role": "user", "content": "hi, {\"you\": [1]}"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\": [1, {}]}"}},
            {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        ]},
        {"role": "user", "content": "well?"},
        {"role": "tool", "tool_call_id": "a", "content": "o\"k, [1]"},
    ]});
    let text = serde_json::to_string_pretty(&text).unwrap();
    let moved = edited(&text, &[Edit::Move { output: 4, call: 1 }, answer(2, "no")]);
    let value: serde_json::Value = serde_json::from_str(&moved).unwrap();
    assert_eq!(value["messages"].as_array().unwrap().len(), 5);
    assert_eq!(moved, serde_json::to_string_pretty(&value).unwrap());
    for line_end in ["\r\n", "\n\t"] {
        let text = text.replace("\n", line_end);
        let moved = edited(&text, &[Edit::Move { output: 4, call: 1 }]);
        assert_eq!(
            moved.matches(line_end).count(),
            text.matches(line_end).count()
        );
    }
}

const CHAT: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"so","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},{"role":"tool","tool_call_id":"b","content":"1"},{"role":"user","content":"and?"}],"tools":[]}"#;

#[test]
fn chat_outputs_come_behind_the_others_of_their_message() {
    assert_eq!(
        edited(CHAT, &[answer(2, "no")]),
        CHAT.replace(
            r#""content":"1"},"#,
            r#""content":"1"},{"role":"tool","tool_call_id":"a","content":"no"},"#
        )
    );
}

#[test]
fn chat_calls_leave_their_message_and_take_it_along_when_nothing_is_left() {
    let call = r#"{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},"#;
    assert_eq!(
        edited(CHAT, &[Edit::Drop { item: 2 }]),
        CHAT.replace(call, "")
    );
    let both = edited(
        CHAT,
        &[
            Edit::Drop { item: 2 },
            Edit::Drop { item: 3 },
            Edit::Drop { item: 4 },
        ],
    );
    assert_eq!(
        both,
        r#"{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"so"},{"role":"user","content":"and?"}],"tools":[]}"#
    );
    let all = (1..5).map(|item| Edit::Drop { item }).collect::<Vec<_>>();
    assert_eq!(
        edited(CHAT, &all),
        r#"{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"user","content":"and?"}],"tools":[]}"#
    );
    let silent = edited(CHAT, &[Edit::Drop { item: 1 }]);
    assert!(
        silent.contains(r#""content":null,"tool_calls""#),
        "{silent}"
    );
}

const ANTHROPIC: &str = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"g","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"1"},{"type":"text","text":"go on"}]}]"#;

#[test]
fn anthropic_results_stand_first_in_the_next_message() {
    assert_eq!(
        edited(ANTHROPIC, &[answer(2, "no")]),
        ANTHROPIC.replace(
            r#"{"type":"tool_result","tool_use_id":"b""#,
            r#"{"type":"tool_result","tool_use_id":"a","content":"no","is_error":true},{"type":"tool_result","tool_use_id":"b""#
        )
    );
    let plain = r#"[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]},{"role":"user","content":"go \"on\""}]"#;
    assert_eq!(
        edited(plain, &[answer(0, "no"), answer(1, "nor this")]),
        plain.replace(
            r#""go \"on\"""#,
            r#"[{"type":"tool_result","tool_use_id":"a","content":"no","is_error":true},{"type":"tool_result","tool_use_id":"b","content":"nor this","is_error":true},{"type":"text","text":"go \"on\""}]"#
        )
    );
    let last = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}]"#;
    let answered = edited(last, &[answer(1, "no")]);
    assert!(answered.ends_with(r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"no","is_error":true}]}]"#));
}

#[test]
fn anthropic_results_fill_a_message_that_says_nothing() {
    for content in ["[]", "[ ]", "null", "\"\""] {
        let text = format!(
            r#"[{{"role":"user","content":"hi"}},{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"f","input":{{}}}},{{"type":"tool_use","id":"b","name":"f","input":{{}}}}]}},{{"role":"user","content":{content},"x":1}},{{"role":"assistant","content":"so"}}]"#
        );
        let filled = edited(&text, &[answer(1, "no"), answer(2, "nor this")]);
        let results = r#"[{"type":"tool_result","tool_use_id":"a","content":"no","is_error":true},{"type":"tool_result","tool_use_id":"b","content":"nor this","is_error":true}]"#;
        let last = text.rfind(&format!("\"content\":{content},")).unwrap();
        let wanted = text[last..].replacen(content, results, 1);
        assert_eq!(filled, text[..last].to_owned() + &wanted);
    }
}

/// Every way to hold instructions or the first input beside the history, with the items that stand in no list.
const BESIDE: &[(&str, &[u32])] = &[
    (
        r#"{"$schemaVersion":"1.21","current_turn":1,"original_input":"hi","generated_items":[{"type":"tool_call_item","raw_item":{"type":"function_call","name":"f","arguments":"{}","call_id":"c"}}]}"#,
        &[0],
    ),
    (
        r#"{"model":"m","instructions":"be kind","input":"hi","tools":[{"type":"function","name":"f"}]}"#,
        &[0, 1],
    ),
    (
        "{\n  \"model\": \"m\",\n  \"input\" :\n    \"hi\",\n  \"previous_response_id\": \"r\"\n}",
        &[0],
    ),
    (
        r#"{"input":[{"type":"message","role":"user","content":"hi"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}],"instructions":"be kind","model":"m"}"#,
        &[0],
    ),
    (
        r#"{"model":"claude","max_tokens":9,"system":"be kind","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"so"}]}]}"#,
        &[0],
    ),
    (
        r#"{"model":"claude","max_tokens":9,"system":[{"type":"text","text":"be kind"}],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"so"}]}]}"#,
        &[0],
    ),
    (
        r#"{"model":"m","messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hi"},{"role":"assistant","content":"so"}]}"#,
        &[],
    ),
    (
        concat!(
            r#"{"model":"m","instructions":"be kind","input":"hi","store":false}"#,
            "\n",
            r#"{"model":"m","instructions":"be kind","input":"ho","store":false}"#,
            "\n"
        ),
        &[0, 1, 2],
    ),
];

/// The text that an edit leads to, which is JSON; nothing where the item is in no list.
fn carried_out(session: &Session, edit: &Edit) -> Option<String> {
    let splices = match lower(session, std::slice::from_ref(edit)) {
        Ok(splices) => splices,
        Err(CannotWrite::NoPlace(_)) => return None,
        Err(error) => panic!("{edit:?}: {error}"),
    };
    let rope = Rope::new(session.source.clone()).spliced(&splices);
    let (start, end) = (0, rope.len());
    let text = String::from_utf8(rope.read(Span { start, end }).unwrap()).unwrap();
    let values = serde_json::Deserializer::from_str(&text);
    let mut values = values.into_iter::<serde_json::Value>();
    assert!(values.all(|value| value.is_ok()), "{edit:?}: {text}");
    Some(text)
}

#[test]
fn what_stands_in_no_list_is_refused_and_every_file_stays_json() {
    for (text, alone) in BESIDE {
        let session = read(text);
        for item in 0..crate::session::index_number(session.items.len()) {
            let said = || "so it was".to_owned();
            let say = |voice| Edit::Say {
                after: item,
                voice,
                text: said(),
            };
            let edits = [
                Edit::Drop { item },
                Edit::Degrade { item, text: said() },
                say(MessageRole::User),
                say(MessageRole::Assistant),
            ];
            let first = alone.len() == session.items.len() && !text.contains("$schemaVersion");
            for edit in edits {
                // A message comes after an input that is one text: the input becomes a list.
                let begins = first && matches!(edit, Edit::Say { .. }) && text.lines().count() != 2;
                if begins {
                    assert!(carried_out(&session, &edit).is_some(), "{edit:?}: {text}");
                    continue;
                }
                let is_refused = carried_out(&session, &edit).is_none();
                assert_eq!(is_refused, alone.contains(&item), "{edit:?}: {text}");
            }
            carried_out(&session, &Edit::Cut { from: item });
        }
    }
}

#[test]
fn an_anthropic_result_without_call_becomes_text_behind_the_results() {
    let text = r#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"lost"},{"type":"tool_result","tool_use_id":"b","content":"1"}]}]"#;
    let degraded = edited(
        text,
        &[Edit::Degrade {
            item: 0,
            text: "lost result".to_owned(),
        }],
    );
    assert_eq!(
        degraded,
        r#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"1"},{"type":"text","text":"lost result"}]}]"#
    );
    let emptied = edited(ANTHROPIC, &[Edit::Drop { item: 4 }, Edit::Drop { item: 5 }]);
    assert!(emptied.ends_with(r#""input":{}}]}]"#), "{emptied}");
}

#[test]
fn lines_of_claude_code_stay_one_chain() {
    let line = |id: &str, parent: &str, kind: &str, message: &str| {
        format!(
            "{{\"parentUuid\":{parent},\"isSidechain\":false,\"sessionId\":\"s\",\"type\":\"{kind}\",\"message\":{message},\"uuid\":\"{id}\",\"timestamp\":\"t\"}}\n"
        )
    };
    let call = r#"{"id":"m1","role":"assistant","model":"c","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}"#;
    let text = [
        line("1", "null", "user", r#"{"role":"user","content":"hi"}"#),
        line("2", "\"1\"", "assistant", call),
        line("3", "\"2\"", "user", r#"{"role":"user","content":"and?"}"#),
        line(
            "4",
            "\"3\"",
            "assistant",
            r#"{"id":"m2","role":"assistant","content":[{"type":"text","text":"well"}]}"#,
        ),
    ]
    .concat();
    let answered = edited(&text, &[answer(1, "no")]);
    let lines: Vec<serde_json::Value> = answered
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[2]["parentUuid"], "2");
    assert_eq!(lines[2]["sourceToolAssistantUUID"], "2");
    assert_eq!(lines[2]["message"]["content"][0]["tool_use_id"], "a");
    assert_eq!(lines[3]["parentUuid"], lines[2]["uuid"]);
    assert_eq!(read(&answered).pairing.partner(1), Some(2));
    let dropped = edited(&text, &[Edit::Drop { item: 1 }]);
    assert_eq!(dropped.lines().count(), 3);
    assert!(dropped.contains(r#""parentUuid":"1","isSidechain":false,"sessionId":"s","type":"user","message":{"role":"user","content":"and?"}"#));
    assert_eq!(read(&dropped).items.len(), 3);
}

#[test]
fn rollouts_keep_their_envelope() {
    let text = concat!(
        "{\"timestamp\":\"t1\",\"type\":\"session_meta\",\"payload\":{\"id\":\"x\"}}\n",
        "{\"timestamp\":\"t2\",\"type\":\"response_item\",\"payload\":{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"shell\",\"arguments\":\"{}\"}}\n",
    );
    assert_eq!(
        edited(text, &[answer(0, "aborted")]),
        format!(
            "{text}{{\"timestamp\":\"t2\",\"type\":\"response_item\",\"payload\":{{\"type\":\"function_call_output\",\"call_id\":\"a\",\"output\":\"aborted\"}}}}\n"
        )
    );
    let say = Edit::Say {
        after: 0,
        voice: MessageRole::User,
        text: "go on".to_owned(),
    };
    assert!(edited(text, &[say]).ends_with(
        "\"payload\":{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"go on\"}]}}\n"
    ));
}

#[test]
fn a_log_of_exchanges_is_not_changed_in_one_of_its_places() {
    let text = concat!(
        r#"{"request":{"messages":[{"role":"user","content":"hi"}]},"response":{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}}"#,
        "\n"
    );
    assert_eq!(
        lower(&read(text), &[answer(1, "no")]),
        Err(CannotWrite::Exchanges)
    );
}
