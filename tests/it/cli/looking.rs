//! `show` and `explain`.

use super::{CLEAN, STORY, folder, retake, told};

#[test]
fn the_transcript_is_as_reviewed() {
    let here = folder(&[("story.json", STORY)]);
    insta::assert_snapshot!("show", told(here.path(), &["show", "story.json"]).1);
}

#[test]
fn a_transcript_is_cut_to_a_turn_and_long_texts_to_their_beginning() {
    let long = format!(
        r#"[{{"role":"user","content":"{}"}},{{"role":"assistant","content":"yes"}}]"#,
        "word ".repeat(9000)
    );
    let here = folder(&[("long.json", &long)]);
    let show = |more: &[&str]| told(here.path(), &[&["show", "long.json"], more].concat()).1;
    let cut = show(&[]);
    assert!(cut.len() < 4000 && cut.contains(" more of "), "{cut}");
    assert!(show(&["--full"]).len() > 45_000);
    let turn = show(&["--turn", "2"]);
    assert!(turn.contains("yes") && !turn.contains("word"), "{turn}");
    assert!(
        told(here.path(), &["show", "long.json", "--turn", "3"])
            .2
            .contains("no turn 3")
    );
}

#[test]
fn a_session_is_chosen_by_name_or_number() {
    let line = STORY.lines().collect::<String>();
    let trajectory = format!("{{\"task_id\": \"seven\", \"traj\": {CLEAN}}}");
    let here = folder(&[
        (
            "many.jsonl",
            &format!("{trajectory}\n{}\n", trajectory.replace("seven", "nine")),
        ),
        ("one.jsonl", &line),
    ]);
    let names = told(here.path(), &["check", "many.jsonl", "--format", "json"]).1;
    let names = names
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["session"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect::<Vec<_>>();
    assert_eq!(names.len(), 2);
    for (name, number) in names.iter().zip(["1", "2"]) {
        let by_name = told(here.path(), &["show", "many.jsonl", "--session", name]);
        assert_eq!(by_name.0, 0);
        assert_eq!(
            by_name,
            told(here.path(), &["show", "many.jsonl", "--session", number])
        );
    }
    let (code, _, err) = told(here.path(), &["show", "many.jsonl", "--session", "none"]);
    assert!(
        code == 2 && err.contains("no session none") && err.contains(&names[1]),
        "{err}"
    );
}

#[test]
fn every_rule_has_its_page_and_a_near_name_is_offered() {
    let here = folder(&[]);
    let (_, list, _) = told(here.path(), &["explain"]);
    assert_eq!(list.lines().count(), retake_core::rules::all().count());
    for rule in retake_core::rules::all() {
        assert!(list.contains(rule.id) && list.contains(rule.summary));
        let (code, page, _) = told(here.path(), &["explain", rule.id]);
        assert_eq!(code, 0);
        for heading in [
            "What it finds",
            "Why it matters",
            "Example",
            "What to do",
            "Limits",
        ] {
            assert!(page.contains(heading), "{page}");
        }
    }
    let (_, _, err) = told(here.path(), &["explain", "unknown_tol"]);
    assert_eq!(
        err,
        "retake: unknown rule unknown_tol\n  hint: did you mean unknown-tool?\n"
    );
}

#[test]
fn the_rules_that_find_something_in_a_recording_are_explained() {
    let here = folder(&[("story.json", STORY), ("clean.json", super::CLEAN)]);
    let (code, out, _) = told(here.path(), &["explain", "story.json"]);
    assert_eq!(code, 0);
    assert!(
        out.starts_with("1 finding\nunknown-tool (error): ") && out.contains("What to do"),
        "{out}"
    );
    let (_, out, _) = told(here.path(), &["explain", "clean.json"]);
    assert_eq!(out, "clean.json: no findings\n");
}

#[test]
fn an_agent_file_is_named_as_one_by_commands_for_recordings() {
    let agents = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions/agents");
    for arguments in [
        &["check", "flights.toml"][..],
        &["fix", "flights.toml"],
        &["show", "flights.toml"],
        &["explain", "flights.toml"],
    ] {
        let (code, _, err) = told(&agents, arguments);
        let said = "retake: flights.toml: this is an agent file, not a recording\n  \
            hint: `retake run flights.toml` runs it\n";
        assert!(code > 0 && err.contains(said), "{arguments:?}: {err}");
    }
}

#[test]
fn what_is_no_number_and_no_address_and_no_file_is_said_in_plain_words() {
    let here = folder(&[("story.json", STORY)]);
    for (arguments, words) in [
        (
            &["show", "story.json", "--turn", "x"][..],
            "invalid value 'x' for '--turn <N>': not a whole number from 0",
        ),
        (
            &["replay", "story.json", "--listen", "here"],
            "'--listen <ADDR>': not an address such as 127.0.0.1:8484",
        ),
        (
            &["check", "story.json", "--baseline", "none.jsonl"],
            "retake: none.jsonl: no such file or folder",
        ),
        (
            &["lab", "none.toml"],
            "retake: none.toml: no such file or folder",
        ),
        (
            &["mcp-serve", "--root", "none"],
            "none: no such file or folder",
        ),
    ] {
        let (code, _, err) = told(here.path(), arguments);
        assert!(code == 2 && err.contains(words), "{arguments:?}: {err}");
    }
}

#[test]
fn words_that_are_no_rule_are_what_a_provider_said() {
    let here = folder(&[]);
    let text = "No tool output found for function call call_abc";
    let (code, out, _) = told(here.path(), &["explain", text]);
    assert_eq!(code, 0);
    assert_eq!(out, told(here.path(), &["explain", "--error", text]).1);
}

#[test]
fn a_status_alone_names_no_gateway() {
    let here = folder(&[]);
    let (_, out, _) = told(
        here.path(),
        &["explain", "--error", "429 Too Many Requests"],
    );
    assert!(
        out.starts_with("HTTP: The account has sent too many requests"),
        "{out}"
    );
}

#[test]
fn a_refusal_is_traced_by_its_call_id_or_by_its_place() {
    let here = folder(&[("story.json", STORY)]);
    let by_id = "No tool call found for function call output with call_id call_1.";
    let (code, out, _) = told(here.path(), &["explain", "--error", by_id, "story.json"]);
    assert_eq!(code, 0);
    assert!(
        out.contains("story.json:9: turn 2, item 3: output call_1\n    named by its call id"),
        "{out}"
    );
    let by_place = r#"Error code: 400 - {'error': {'message': "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", 'type': 'invalid_request_error', 'param': 'messages[1].tool_calls[0].function.name', 'code': 'invalid_value'}}"#;
    let (_, out, _) = told(here.path(), &["explain", "--error", by_place, "story.json"]);
    assert!(out.contains("story.json:7: turn 2, item 2: call serch_flights call_1\n    at the place that the error names\n"), "{out}");
    assert!(
        out.contains("warning unknown-tool: serch_flights is not offered"),
        "{out}"
    );
}

#[test]
fn a_place_in_a_recording_that_is_no_request_is_an_estimate() {
    let messages = STORY[STORY.find('[').unwrap()..]
        .split_once("\"messages\": ")
        .unwrap()
        .1;
    let list = messages.trim_end().strip_suffix('}').unwrap();
    let here = folder(&[("list.json", list)]);
    let error = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. param: messages.[2].role";
    let (_, out, _) = told(here.path(), &["explain", "--error", error, "list.json"]);
    assert!(
        out.contains("item 3: output call_1") && out.contains("estimated"),
        "{out}"
    );
}

#[test]
fn where_an_estimated_place_is_sound_the_items_with_the_fault_are_named_too() {
    let list = r#"[
{"role": "user", "content": "Find a flight"},
{"role": "assistant", "content": "I looked."},
{"role": "tool", "tool_call_id": "call_1", "content": "LH1172"}
]"#;
    let here = folder(&[("list.json", list)]);
    let error = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. param: messages.[1].role";
    let (_, out, _) = told(here.path(), &["explain", "--error", error, "list.json"]);
    let estimate = out.find("item 2: assistant").unwrap();
    let fault = out.find("item 3: output call_1").unwrap();
    assert!(estimate < fault, "{out}");
    assert!(
        out.contains("not named by the error, but it has this fault"),
        "{out}"
    );
}

#[test]
fn an_id_that_no_item_has_is_reported_before_the_estimate() {
    let here = folder(&[("story.json", STORY)]);
    let error = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_9. Each `tool_use` block must have a corresponding `tool_result` block in the next message.";
    let (_, out, _) = told(here.path(), &["explain", "--error", error, "story.json"]);
    let note =
        "  no item of story.json has the id toolu_9: is this the refused run?\n  story.json:";
    assert!(out.contains(note), "{out}");
    let overloaded = "API Error: 529 Overloaded";
    let (_, out, _) = told(
        here.path(),
        &["explain", "--error", overloaded, "story.json"],
    );
    assert!(
        out.contains("nothing in the history causes it\n\nWhat to do\n  Wait"),
        "{out}"
    );
}

#[test]
fn a_refusal_may_come_from_standard_input_and_need_no_recording() {
    let text = "No tool output found for function call call_a.";
    let output = retake()
        .args(["explain", "--error", "-"])
        .write_stdin(text)
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.contains("call_a") && out.contains("name the recording"),
        "{out}"
    );
    let prose = retake()
        .args(["explain", "--error", "the weather is fine"])
        .output()
        .unwrap();
    assert_eq!(prose.status.code(), Some(2));
    let both = retake()
        .args(["explain", "--error", "-", "-"])
        .output()
        .unwrap();
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn a_place_leads_to_the_block_of_a_message() {
    let request = r#"{"model": "claude", "max_tokens": 9, "system": "Be brief.", "messages": [
{"role": "user", "content": "Read a and b."},
{"role": "assistant", "content": [
 {"type": "text", "text": "Reading."},
 {"type": "tool_use", "id": "toolu_a", "name": "read.file", "input": {}}]},
{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_a", "content": "A"}]}]}"#;
    let here = folder(&[("request.json", request)]);
    let error =
        "messages.1.content.1.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'";
    let (_, out, _) = told(here.path(), &["explain", "--error", error, "request.json"]);
    let place = "request.json:5: turn 3, item 4: call read.file toolu_a\n    at the place that the error names\n";
    assert!(out.contains(place), "{out}");
    assert!(!out.contains("item 3:"), "only the block: {out}");
}

#[test]
fn a_named_item_id_leads_to_its_item() {
    let items = r#"{"type":"message","role":"user","content":"hi"}
{"type":"reasoning","id":"rs_68af4030592c81938ec0a5fbab4a3e9f05438e46b5f69a3b","summary":[]}
{"type":"message","role":"user","content":"and?"}"#;
    let here = folder(&[("items.jsonl", items)]);
    let error = "Item 'rs_68af4030592c81938ec0a5fbab4a3e9f05438e46b5f69a3b' of type 'reasoning' was provided without its required following item.";
    let (_, out, _) = told(here.path(), &["explain", "--error", error, "items.jsonl"]);
    let place = "items.jsonl:2: turn 2, item 2: reasoning\n    named by its id\n";
    assert!(out.contains(place), "{out}");
    assert!(out.contains("error orphan-reasoning"), "{out}");
}

#[test]
fn a_refusal_that_names_nothing_is_traced_by_its_rule() {
    let cut = STORY.replace(
        r#"    {"role": "tool", "tool_call_id": "call_1", "content": "KS 218 at nine"},"#,
        r#"    {"role": "user", "content": "hello?"},"#,
    );
    let here = folder(&[("cut.json", &cut)]);
    let error = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    let (_, out, _) = told(here.path(), &["explain", "--error", error, "cut.json"]);
    assert!(out.contains("item 2: call serch_flights call_1"), "{out}");
    assert!(out.contains("not named by the error"), "{out}");
}
