//! Records of formats that spell messages in their own way: what an edit changes in them, and nothing else.

use super::*;

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
