//! Records of formats that spell messages in their own way: what an edit changes in them, and nothing else.

use super::*;
use crate::wire::write::{rename, replace_arguments, replace_output, set_call_id};

const HEAD: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"t0","cwd":"/p"}"#;

/// The text after edits, which change the records of the file.
fn edited(text: &str, edits: &[Edit]) -> String {
    let mut session = read(text);
    let file: Arc<dyn Source> = Arc::new(text.as_bytes().to_vec());
    session.file = Some(file.clone());
    let splices = lower(&session, edits).unwrap();
    let rope = Rope::new(file).spliced(&splices);
    let (start, end) = (0, rope.len());
    String::from_utf8(rope.read(Span { start, end }).unwrap()).unwrap()
}

fn pi(id: &str, parent: &str, message: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"t1", "message":{message}}}"#
    )
}

fn pi_log() -> Vec<String> {
    let call = r#"{"role":"assistant","api":"x","stopReason":"toolUse","content":[{"type":"text","text":"so"},{"type":"toolCall","id":"c1|fc","name":"ls","arguments":{"a": 1}}],"timestamp":7}"#;
    let result = |id: &str| {
        format!(
            r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"ls","content":[],"isError":false,"timestamp":8}}"#
        )
    };
    vec![
        HEAD.to_owned(),
        pi("a", "null", r#"{"role":"user","content":"hi"}"#),
        pi("b", "\"a\"", call),
        r#"{"type":"custom","id":"x","parentId":"b","customType":"note"}"#.to_owned(),
        pi("c", "\"x\"", &result("c9")),
        pi("d", "\"c\"", r#"{"role":"user","content":"and?"}"#),
    ]
}

fn values(text: &str) -> Vec<serde_json::Value> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn an_entry_of_pi_that_leaves_is_closed_over_and_one_that_comes_joins_the_chain() {
    let log = pi_log().join("\n") + "\n";
    let (call, output) = (2, 3);
    let dropped = edited(&log, &[Edit::Drop { item: output }]);
    let without = log.replace(&(pi_log()[4].clone() + "\n"), "");
    assert_eq!(
        dropped,
        without.replace(r#""parentId":"c""#, r#""parentId":"x""#)
    );
    let both = edited(
        &log,
        &[answer(call, "no \"ls\""), Edit::Drop { item: output }],
    );
    let lines = values(&both);
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[3]["parentId"], "b");
    assert_eq!(lines[3]["message"]["toolCallId"], "c1|fc");
    assert_eq!(lines[3]["message"]["isError"], true);
    assert_eq!(lines[3]["message"]["timestamp"], 7);
    assert_eq!(lines[4]["parentId"], lines[3]["id"]);
    assert_eq!(lines[5]["parentId"], "x");
    assert_eq!(read(&both).pairing.partner(2), Some(3));
    // The lines in which nothing changed are there as they were.
    for line in [0, 1, 2] {
        assert!(both.contains(&pi_log()[line]), "{both}");
    }
}

#[test]
fn a_call_of_pi_leaves_its_message_and_an_output_becomes_a_text() {
    let log = pi_log().join("\n") + "\n";
    let call = r#",{"type":"toolCall","id":"c1|fc","name":"ls","arguments":{"a": 1}}"#;
    assert_eq!(
        edited(&log, &[Edit::Drop { item: 2 }]),
        log.replace(call, "")
    );
    let degrade = Edit::Degrade {
        item: 3,
        text: "lost".to_owned(),
    };
    let line = &values(&edited(&log, &[degrade]))[4];
    assert_eq!(line["id"], "c");
    let message = serde_json::json!({"role": "user", "content": [{"type": "text", "text": "lost"}], "timestamp": 8});
    assert_eq!(line["message"], message);
}

#[test]
fn a_line_of_pi_that_was_cut_off_is_left_and_the_chain_goes_on_before_it() {
    let mut log = pi_log();
    log[2].truncate(40);
    let log = log.join("\n") + "\n";
    let session = read(&log);
    let broken = session
        .items
        .iter()
        .position(|item| item.flags.has(crate::session::Flags::BROKEN_CHAIN));
    let item = crate::session::index_number(broken.unwrap());
    let joined = edited(&log, &[Edit::Relink { item }]);
    assert_eq!(
        joined,
        log.replace(r#""parentId":"b""#, r#""parentId":"a""#)
    );
    assert_eq!(read(&joined).items.len(), 3);
}

#[test]
fn calls_of_gemini_cli_and_opencode_hold_their_outputs() {
    let chat = [
        r#"{"sessionId":"s","projectHash":"h","startTime":"t"}"#,
        r#"{"id":"m1","timestamp":"t","type":"user","content":"hi"}"#,
        r#"{"id":"m2","timestamp":"t","type":"gemini","content":"", "toolCalls":[{"id":"c1","name":"ls","args":{},"status":"executing"}]}"#,
        r#"{"id":"m3","timestamp":"t","type":"user","content":"go on"}"#,
    ];
    let chat = chat.join("\n") + "\n";
    let answered = edited(&chat, &[answer(1, "no")]);
    let result = r#""status":"error","result":[{"functionResponse":{"id":"c1","name":"ls","response":{"error":"no"}}}]"#;
    assert_eq!(answered, chat.replace(r#""status":"executing""#, result));
    let tool = |state: &str| {
        format!(
            r#"{{"info":{{"id":"ses_1"}},"messages":[{{"info":{{"id":"msg_1","sessionID":"ses_1","role":"assistant"}},"parts":[{{"id":"p","type":"tool","tool":"ls","callID":"c1","state":{state}}}]}},{{"info":{{"id":"msg_2","sessionID":"ses_1","role":"user"}},"parts":[{{"type":"text","text":"go on"}}]}}]}}"#
        )
    };
    let open = tool(r#"{"status":"running","input":{"a":1},"time":{"start":5}}"#);
    let closed =
        tool(r#"{"status":"error","error":"no","input":{"a":1},"time":{"start":5,"end":5}}"#);
    assert_eq!(edited(&open, &[answer(0, "no")]), closed);
}

/// A call and its output in the spelling of a format, both by what stands in them: the id, the name, the arguments
/// and the text.
type Spelling = fn(&str, &str, &str, &str) -> String;

const SPELLINGS: [(&str, Spelling); 9] = [
    ("pi", |id, name, arguments, text| {
        let call = format!(
            r#"{{"role":"assistant","content":[{{"type":"toolCall", "id":"{id}|fc_1","name":"{name}","arguments":{arguments}}}],"stopReason":"toolUse","api":"x"}}"#
        );
        let result = format!(
            r#"{{"role":"toolResult","toolCallId":"{id}|fc_1","toolName":"{name}","content":[{{"type":"text","text":"{text}"}}], "details":{{"a":1}},"isError":false}}"#
        );
        let lines = [
            HEAD.to_owned(),
            pi("a", "null", &call),
            pi("b", "\"a\"", &result),
        ];
        lines.join("\n")
    }),
    ("copilot-cli", |id, name, arguments, text| {
        let event = |kind: &str, data: String| {
            format!(
                r#"{{"type":"{kind}", "data":{data},"id":"e","timestamp":"t","parentId":null}}"#
            )
        };
        let lines = [
            event(
                "assistant.message",
                format!(
                    r#"{{"content":"","toolRequests":[{{"toolCallId":"{id}","name":"{name}","arguments": {arguments}}}]}}"#
                ),
            ),
            event(
                "tool.execution_complete",
                format!(
                    r#"{{"toolCallId":"{id}","success":true,"result":{{"content":"{text}","detailedContent":"d"}}}}"#
                ),
            ),
        ];
        lines.join("\n")
    }),
    ("gemini-cli", |id, name, arguments, text| {
        let head = r#"{"sessionId":"s","projectHash":"h","startTime":"t"}"#;
        format!(
            r#"{head}
{{"id":"m2","timestamp":"t","type":"gemini","content":"", "toolCalls":[{{"id":"{id}","name":"{name}","args":{arguments},"status":"success","result":[{{"functionResponse":{{"id":"{id}","name":"{name}","response":{{"output":"{text}"}}}}}}],"resultDisplay":"d"}}]}}"#
        )
    }),
    ("opencode", |id, name, arguments, text| {
        format!(
            r#"{{"info":{{"id":"ses_1"}},
 "messages":[{{"info":{{"id":"msg_1","sessionID":"ses_1","role":"assistant"}},"parts":[
   {{"id":"p", "type":"tool","tool":"{name}","callID":"{id}","state":{{"status":"completed","input":{arguments},"output":"{text}","title":"t"}}}}]}}]}}"#
        )
    }),
    ("goose", |id, name, arguments, text| {
        format!(
            r#"{{"description":"d","working_dir":"/p"}}
{{"role":"assistant","created":1,"content":[{{"type":"toolRequest", "id":"{id}","toolCall":{{"status":"success","value":{{"name":"{name}","arguments":{arguments}}}}}}}]}}
{{"role":"user","created":2,"content":[{{"type":"toolResponse","id":"{id}","toolResult":{{"status":"success","value":[{{"type":"text","text":"{text}"}}]}}}}]}}"#
        )
    }),
    ("hermes-sqlite", |id, name, arguments, text| {
        let arguments = quoted(&unquoted(arguments));
        format!(
            r#"{{"id":1,"session_id":"s","role":"assistant","content":null, "tool_calls":[{{"id":"{id}","call_id":"{id}","type":"function","function":{{"name":"{name}","arguments":{arguments}}}}}]}}
{{"id":2,"session_id":"s","role":"tool","content":"{text}", "tool_call_id":"{id}"}}"#
        )
    }),
    ("langchain", |id, name, arguments, text| {
        format!(
            r#"[{{"type":"ai","data":{{"content":"","type":"ai","id":null,"tool_calls":[{{"name":"{name}","args":{arguments},"id":"{id}","type":"tool_call"}}]}}}},{{"type":"tool","data":{{"content":"{text}","type":"tool","tool_call_id":"{id}","status":"success"}}}}]"#
        )
    }),
    ("pydantic-ai", |id, name, arguments, text| {
        format!(
            r#"[{{"kind":"response","parts":[{{"part_kind":"tool-call","tool_name":"{name}","args":{arguments},"tool_call_id":"{id}"}}]}},{{"kind":"request","parts":[{{"part_kind":"tool-return","tool_name":"t","content":"{text}","tool_call_id":"{id}"}}]}}]"#
        )
    }),
    ("ai-sdk", |id, name, arguments, text| {
        format!(
            r#"[{{"role":"assistant","content":[{{"type":"tool-call","toolCallId":"{id}","toolName":"{name}","input":{arguments}}}]}},{{"role":"tool","content":[{{"type":"tool-result","toolCallId":"{id}","toolName":"t","output":{{"type":"text","value":"{text}"}}}}]}}]"#
        )
    }),
];

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn unquoted(json: &str) -> String {
    match serde_json::from_str(json) {
        Ok(serde_json::Value::String(text)) => text,
        _ => json.to_owned(),
    }
}

/// A recording whose records edits change; the text of a database is the rows of its messages.
fn recording(format: &str, text: &str) -> Session {
    let mut session = match format {
        "hermes-sqlite" => {
            let rows = text.lines().map(|row| {
                let mut row: serde_json::Value = serde_json::from_str(row).unwrap();
                if row["tool_calls"].is_array() {
                    row["tool_calls"] = row["tool_calls"].to_string().into();
                }
                row.to_string()
            });
            let rows = [vec![r#"{"id":"s","model":"m"}"#.to_owned()], rows.collect()];
            let hermes = crate::formats::FORMATS.iter().find(|it| it.id == format);
            let crate::formats::Reading::Tables(tables) = hermes.unwrap().reading else {
                panic!("{format} is a database");
            };
            (tables.read)(&Arc::new(rows.to_vec().into()))
                .unwrap()
                .sessions
                .remove(0)
        }
        _ => read(text),
    };
    assert_eq!(session.format, format);
    session.file = Some(Arc::new(text.as_bytes().to_vec()));
    session
}

/// The patches that rewrite an item.
type Rewriting<'a> = &'a dyn Fn(&Item, &[u8]) -> Vec<Patch>;

/// The text after rewritings of a call (0) and its output (1).
fn rewritten(session: &Session, all: &[(u32, Rewriting<'_>)]) -> Result<String, CannotWrite> {
    let edit = |(item, patches): &(u32, Rewriting<'_>)| {
        let own = &session.items[*item as usize];
        let patches = patches(own, &session.bytes(own).unwrap());
        Edit::Rewrite {
            item: *item,
            patches,
        }
    };
    let edits = all.iter().map(edit).collect::<Vec<_>>();
    let splices = lower(session, &edits)?;
    let rope = Rope::new(session.file.clone().unwrap()).spliced(&splices);
    let (start, end) = (0, rope.len());
    Ok(String::from_utf8(rope.read(Span { start, end }).unwrap()).unwrap())
}

#[test]
fn calls_and_outputs_change_where_each_format_has_them_and_nothing_else_does() {
    for (format, spelling) in SPELLINGS {
        let before = spelling("c1", "lss", r#"{"a": 1}"#, "gone");
        let session = recording(format, &before);
        let kinds = session.items.iter().map(|item| item.kind);
        assert_eq!(
            kinds.collect::<Vec<_>>(),
            [Kind::Call, Kind::Output],
            "{format}"
        );
        let call = |patches| rewritten(&session, &[(0, patches)]);
        let output = |patches| rewritten(&session, &[(1, patches)]);
        let renamed = call(&|item, bytes| rename(item, bytes, "ls").unwrap()).unwrap();
        let only_in_call = before.replacen("\"lss\"", "\"ls\"", 1);
        assert_eq!(renamed, only_in_call, "{format}");
        let arguments = r#"{"b": "x\"y"}"#;
        let repaired =
            call(&|item, bytes| vec![replace_arguments(item, bytes, arguments).unwrap()]);
        let expected = spelling("c1", "lss", arguments, "gone");
        assert_eq!(repaired.unwrap(), expected, "{format}");
        let said = output(&|item, bytes| {
            let patches = replace_output(item, bytes, "try \"ls\"", false);
            patches.unwrap().unwrap()
        });
        let expected = spelling("c1", "lss", r#"{"a": 1}"#, r#"try \"ls\""#);
        assert_eq!(said.unwrap(), expected, "{format}");
        let renew: &dyn Fn(&Item, &[u8]) -> Vec<Patch> =
            &|item, bytes| set_call_id(item, bytes, "c2").unwrap();
        let renewed = rewritten(&session, &[(0, renew), (1, renew)]).unwrap();
        let expected = spelling("c2", "lss", r#"{"a": 1}"#, "gone");
        assert_eq!(renewed, expected, "{format}");
    }
}

#[test]
fn arguments_that_were_a_text_become_an_object() {
    for (format, spelling) in SPELLINGS {
        let before = spelling("c1", "ls", r#""{\"a\": 1,}""#, "no");
        let session = recording(format, &before);
        let repair: &dyn Fn(&Item, &[u8]) -> Vec<Patch> =
            &|item, bytes| vec![replace_arguments(item, bytes, r#"{"a": 1}"#).unwrap()];
        let expected = spelling("c1", "ls", r#"{"a": 1}"#, "no");
        assert_eq!(
            rewritten(&session, &[(0, repair)]).unwrap(),
            expected,
            "{format}"
        );
    }
}

#[test]
fn a_call_that_the_agent_could_not_read_has_no_name_or_arguments_to_change() {
    let invalid = r#"{"info":{"id":"ses_1"},"messages":[{"info":{"id":"msg_1","sessionID":"ses_1","role":"assistant"},"parts":[{"type":"tool","tool":"invalid","callID":"c1","state":{"status":"completed","input":{"tool":"lss","error":"unknown"},"output":"no"}}]}]}"#;
    let failed = r#"{"description":"d","working_dir":"/p"}
{"role":"assistant","created":1,"content":[{"type":"toolRequest","id":"c1","toolCall":{"status":"error","error":"not JSON"}}]}
{"role":"user","created":2,"content":[{"type":"toolResponse","id":"c1","toolResult":{"status":"error","error":"no"}}]}"#;
    for (format, text) in [("opencode", invalid), ("goose", failed)] {
        let session = recording(format, text);
        let rename: &dyn Fn(&Item, &[u8]) -> Vec<Patch> =
            &|item, bytes| rename(item, bytes, "ls").unwrap();
        let refused = rewritten(&session, &[(0, rename)]);
        assert_eq!(refused, Err(CannotWrite::NotHeld(0)), "{format}");
    }
}

#[test]
fn what_is_no_pair_is_not_changed_and_other_edits_are_refused() {
    let log = pi_log().join("\n") + "\n";
    let mut session = read(&log);
    session.file = Some(Arc::new(log.into_bytes()));
    let say = Edit::Say {
        after: 0,
        voice: MessageRole::User,
        text: "more".to_owned(),
    };
    assert_eq!(lower(&session, &[say]), Err(CannotWrite::OnlyPairs));
    let text = [Edit::Drop { item: 0 }];
    assert_eq!(lower(&session, &text), Err(CannotWrite::NoCallId(0)));
}

#[test]
fn a_line_that_comes_into_a_log_of_qwen_code_has_an_id_of_its_own() {
    let line = |id: &str, parent: &str, role: &str, part: &str| {
        format!(
            r#"{{"uuid":"{id}","parentUuid":{parent},"sessionId":"s","type":"user","timestamp":"t","message":{{"role":"{role}","parts":[{part}]}}}}"#
        )
    };
    let call = r#"{"functionCall":{"id":"c1","name":"ls","args":{}}}"#;
    let log = [
        line("1", "null", "user", r#"{"text":"hi"}"#),
        line("2", "\"1\"", "model", call),
        line("3", "\"2\"", "user", r#"{"text":"go on"}"#),
    ];
    let lines = values(&super::edited(&(log.join("\n") + "\n"), &[answer(1, "no")]));
    assert_eq!(lines.len(), 4);
    assert_eq!(
        (&lines[2]["parentUuid"], &lines[2]["type"]),
        (&"2".into(), &"tool_result".into())
    );
    assert_eq!(lines[3]["parentUuid"], lines[2]["uuid"]);
    assert_ne!(lines[2]["uuid"], lines[1]["uuid"]);
    assert_eq!(
        lines[2]["message"]["parts"][0]["functionResponse"]["id"],
        "c1"
    );
}

/// A call that nobody answered, with what its framework's messages begin and end with, all on one line.
const OPEN_CALLS: [(&str, [&str; 3], &str); 5] = [
    (
        "langchain",
        [
            r#"{"content":"hi","type":"human"}"#,
            r#"{"content":"so","type":"ai","tool_calls":[{"name":"ls","args":{},"id":"c1","type":"tool_call"}]}"#,
            r#"{"content":"go on","type":"human"}"#,
        ],
        r#"{"type":"tool","content":"no","tool_call_id":"c1","name":"ls","status":"error"}"#,
    ),
    (
        "langchain",
        [
            r#"{"type":"human","data":{"content":"hi","type":"human"}}"#,
            r#"{"type":"ai","data":{"content":"so","type":"ai","tool_calls":[{"name":"ls","args":{},"id":"c1","type":"tool_call"}]}}"#,
            r#"{"type":"human","data":{"content":"go on","type":"human"}}"#,
        ],
        r#"{"type":"tool","data":{"content":"no","tool_call_id":"c1","name":"ls","status":"error","type":"tool"}}"#,
    ),
    (
        "langchain",
        [
            r#"{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"hi","type":"human"}}"#,
            r#"{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"so","type":"ai","tool_calls":[{"name":"ls","args":{},"id":"c1","type":"tool_call"}]}}"#,
            r#"{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"go on","type":"human"}}"#,
        ],
        r#"{"lc":1,"type":"constructor","id":["langchain","schema","messages","ToolMessage"],"kwargs":{"content":"no","tool_call_id":"c1","name":"ls","status":"error","type":"tool"}}"#,
    ),
    (
        "pydantic-ai",
        [
            r#"{"kind":"request","parts":[{"part_kind":"user-prompt","content":"hi"}]}"#,
            r#"{"kind":"response","timestamp":"t1","model_name":"m","parts":[{"part_kind":"tool-call","tool_name":"ls","args":"{}","tool_call_id":"c1"}]}"#,
            r#"{"kind":"request","parts":[{"part_kind":"user-prompt","content":"go on"}]}"#,
        ],
        r#"{"parts":[{"tool_name":"ls","content":"no","tool_call_id":"c1","outcome":"failed","part_kind":"tool-return"}],"timestamp":"t1","kind":"request"}"#,
    ),
    (
        "ai-sdk",
        [
            r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool-call","toolCallId":"c1","toolName":"ls","input":{}}]}"#,
            r#"{"role":"user","content":"go on"}"#,
        ],
        r#"{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","toolName":"ls","output":{"type":"error-text","value":"no"}}]}"#,
    ),
];

#[test]
fn an_output_comes_after_its_call_among_messages_on_one_line_and_leaves_them_again() {
    for (format, messages, output) in OPEN_CALLS {
        let [user, call, next] = messages;
        for (opens, closes) in [("[", "]"), (r#"{"messages":["#, r#"],"next":[]}"#)] {
            let open = format!("{opens}{user}, {call}, {next}{closes}");
            let at = |kind| {
                let session = read(&open);
                assert_eq!(session.format, format, "{open}");
                let place = session.items.iter().position(|item| item.kind == kind);
                crate::session::index_number(place.unwrap())
            };
            let call_at = at(Kind::Call);
            let answered = edited(&open, &[answer(call_at, "no")]);
            let expected = format!("{opens}{user}, {call}, {output}, {next}{closes}");
            assert_eq!(answered.replace(",{", ", {"), expected.replace(",{", ", {"));
            let item = call_at + 1;
            assert_eq!(read(&answered).items[item as usize].kind, Kind::Output);
            let dropped = edited(&answered, &[Edit::Drop { item }]);
            assert_eq!(dropped.replace(",{", ", {"), open.replace(",{", ", {"));
        }
    }
}

#[test]
fn a_call_of_langchain_leaves_every_place_that_says_it() {
    let call = r#"{"name":"ls","args":{},"id":"c1","type":"tool_call"}"#;
    let block = r#"{"type":"tool_use","id":"c1","name":"ls","input":{}}"#;
    let text = r#"{"type":"text","text":"so"}"#;
    let message = |blocks: &str, calls: &str| {
        format!(
            r#"[{{"type":"human","content":"hi"}},{{"type":"ai","content":[{text}{blocks}],"tool_calls":[{calls}]}}]"#
        )
    };
    let both = message(&format!(",{block}"), call);
    let session = read(&both);
    assert_eq!(session.items[2].kind, Kind::Call);
    let dropped = edited(&both, &[Edit::Drop { item: 2 }]);
    assert_eq!(dropped, message("", ""));
}

#[test]
fn states_that_hold_messages_get_no_message_beside_them() {
    let call = r#"{"type":"ai","content":"","tool_calls":[{"name":"ls","args":{},"id":"c1"}]}"#;
    let state = |id: &str| {
        let messages = format!(r#"[{{"type":"human","content":"hi"}},{call}]"#);
        format!(r#"{{"values":{{"messages":{messages}}},"checkpoint":{{"checkpoint_id":"{id}"}}}}"#)
    };
    let states = format!("[{}, {}]", state("k2"), state("k1"));
    let mut session = read(&states);
    assert_eq!(session.items[1].kind, Kind::Call);
    session.file = Some(Arc::new(states.into_bytes()));
    assert_eq!(
        lower(&session, &[answer(1, "no")]),
        Err(CannotWrite::NoPlace(1))
    );
}

#[test]
fn messages_of_an_interface_get_no_message_of_a_tool() {
    let part = r#"{"type":"tool-ls","toolCallId":"c1","state":"input-available","input":{"a": 1}}"#;
    let text = format!(
        r#"[{{"id":"1","role":"user","parts":[{{"type":"text","text":"hi"}}]}},{{"id":"2","role":"assistant","parts":[{part}]}}]"#
    );
    let mut session = read(&text);
    assert_eq!(
        (session.format, session.items[1].kind),
        ("ai-sdk", Kind::Call)
    );
    session.file = Some(Arc::new(text.clone().into_bytes()));
    assert_eq!(
        lower(&session, &[answer(1, "no")]),
        Err(CannotWrite::NoPlace(1))
    );
    let changed: Rewriting<'_> =
        &|item, bytes| vec![replace_arguments(item, bytes, r#"{"a": 2}"#).unwrap()];
    let expected = text.replace(r#"{"a": 1}"#, r#"{"a": 2}"#);
    assert_eq!(rewritten(&session, &[(1, changed)]), Ok(expected));
}

#[test]
fn an_output_on_one_line_with_others_becomes_a_text_of_the_user() {
    let texts = [
        [
            r#"[{"type":"human","content":"hi"},{"type":"tool","content":"no","tool_call_id":"c9"}]"#,
            r#"[{"type":"human","content":"hi"},{"type":"human","content":"lost"}]"#,
        ],
        [
            r#"[{"role":"user","content":"hi"},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c9","toolName":"ls","output":{"type":"text","value":"no"}}]}]"#,
            r#"[{"role":"user","content":"hi"},{"role":"user","content":[{"type":"text","text":"lost"}]}]"#,
        ],
        [
            r#"[{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c9","toolName":"ls","output":{"type":"text","value":"no"}}]},{"role":"user","content":[{"type":"text","text":"go on"}]}]"#,
            r#"[{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"user","content":[{"type":"text","text":"lost"}]},{"role":"user","content":[{"type":"text","text":"go on"}]}]"#,
        ],
        [
            r#"[{"kind":"request","parts":[{"part_kind":"user-prompt","content":"hi"},{"part_kind":"tool-return","tool_name":"ls","content":"no","tool_call_id":"c9"}]}]"#,
            r#"[{"kind":"request","parts":[{"part_kind":"user-prompt","content":"hi"},{"content":"lost","part_kind":"user-prompt"}]}]"#,
        ],
    ];
    for [before, after] in texts {
        let text = "lost".to_owned();
        assert_eq!(edited(before, &[Edit::Degrade { item: 1, text }]), after);
    }
}
