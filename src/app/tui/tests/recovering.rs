//! Each recovery from its key to the take, as the operator sees it.

use super::desk::Desk;
use crate::tui::effect::Effect;
use crate::tui::layer::Input;
use crate::tui::report::Report;
use crate::tui::stack::Screen as _;
use crate::tui::tests::messages::Message;
use serde_json::Value;

/// A request of the Responses API with these items after the user's words.
fn request(items: &[&str]) -> String {
    let tool = r#"{"type":"function","name":"find","parameters":{"type":"object"}}"#;
    let user = r#"{"role":"user","content":"hi"}"#;
    let items = [&[user], items].concat().join(",\n");
    format!("{{\"model\":\"m\",\"tools\":[{tool}],\"input\":[\n{items}\n]}}\n")
}

fn call(id: &str, name: &str, arguments: &str) -> String {
    serde_json::json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments}).to_string()
}

#[test]
fn an_error_is_injected_with_words_of_ones_own() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("i").press("home `Stop. `");
    insta::assert_snapshot!("inject_editor", desk.screen());
    desk.press("^s");
    insta::assert_snapshot!("inject_proposal", desk.screen());
    desk.press("enter");
    insta::assert_snapshot!("inject_taken", desk.screen());
    assert!(desk.text(9).contains("Stop. There is no tool named"));
    assert_eq!(
        desk.rules(),
        ["unknown-tool answered", "pending-call"],
        "the model was told"
    );
    desk.press("4");
    insta::assert_snapshot!("inject_settled", desk.screen());
}

#[test]
fn a_take_shows_the_words_that_the_model_reads() {
    let call = call("c", "find", "{");
    let answered = r#"{"type":"function_call_output","call_id":"c","output":"no"}"#;
    let mut desk = Desk::with("a.json", &request(&[&call, answered]));
    desk.press("i ^s enter").sees("take 1").press("T");
    desk.sees("are not a JSON object: ").misses("{{ tool }}");
}

#[test]
fn what_cannot_be_fixed_at_once_is_not_offered_so() {
    for name in ["endless-repeat.jsonl", "too-many-pictures.json"] {
        let mut desk = Desk::of(name);
        desk.send(Message::Resize(140, 40));
        desk.press("]").misses("Y fix all");
        desk.press("!").misses("Y: apply all");
        desk.press("esc enter").misses("Y fix all");
        let shown = desk.screen();
        let outputs = shown.matches("supply output").count();
        assert!(outputs < 2, "{shown}");
    }
}

#[test]
fn a_finding_without_suggestion_leads_to_the_fixes_that_it_has() {
    let mut desk = Desk::of("misplaced-results.json");
    desk.press("] s");
    desk.sees("No suggestion for misplaced-output: enter lists its fixes");
}

#[test]
fn the_last_try_is_one_of_the_same_action() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("s enter u i").misses("last try");
}

#[test]
fn the_lab_stands_once_in_the_menu_of_an_item_with_several_findings() {
    let call = call("c", "fnd", "{");
    let text = request(&[
        &call,
        r#"{"type":"function_call_output","call_id":"c","output":"no"}"#,
    ]);
    let mut desk = Desk::with("a.json", &text);
    desk.press("] enter")
        .sees("unknown-tool")
        .sees("malformed-arguments");
    assert_eq!(desk.screen().matches("wording lab").count(), 1);
}

#[test]
fn all_safe_fixes_are_shown_first_and_become_one_take() {
    let call = |id: &str, arguments: &str| {
        serde_json::json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "find", "arguments": arguments}}]})
    };
    let user = |text: &str| serde_json::json!({"role": "user", "content": text});
    let text = serde_json::json!([
        user("go"), call("a", "{}"), user("and?"), call("b", "{}"), user("hm"),
        {"role": "tool", "tool_call_id": "lost", "content": "nobody asked"},
        call("c", "{\"x\": }"), {"role": "tool", "tool_call_id": "c", "content": "no JSON"},
        {"role": "assistant", "content": "done"},
    ]);
    let mut desk = Desk::with("a.json", &text.to_string());
    let (before, items) = (desk.rules(), desk.items());
    desk.send(Message::Resize(80, 24));
    desk.press("]")
        .sees("Y fix all")
        .press("!")
        .sees("Y: apply all safe fixes");
    desk.press("esc enter enter")
        .sees("Fixes")
        .sees("Y fix all")
        .press("Y");
    desk.sees("fix all: 3 safe fixes")
        .sees("2 orphan-call: ")
        .sees("(items 2, 4)")
        .sees("1 orphan-output: ")
        .sees("malformed-arguments stays: ")
        .sees("u undoes");
    desk.press("esc esc");
    assert_eq!(
        (desk.rules(), desk.items()),
        (before.clone(), items.clone())
    );
    desk.press("1 Y enter")
        .sees("take 1: 3 safe fixes; u undoes it");
    let left = desk.rules();
    assert!(
        left.iter().all(|rule| !rule.starts_with("orphan")),
        "{left:?}"
    );
    desk.press("Y").sees("no safe fix in this session");
    desk.press("T").sees("3 safe fixes").press("esc");
    desk.press("u").sees("4 errors");
    assert_eq!((desk.rules(), desk.items()), (before, items));
}

#[test]
fn all_safe_fixes_are_applied_to_the_request_that_a_history_is_rebuilt_as() {
    let output = |id: u32| serde_json::json!({"role": "tool", "tool_call_id": format!("b{id}"), "function": "bash", "content": "x"});
    // The error at the end is no part of the request.
    let text = serde_json::json!({"version": 2, "status": "success", "eval": {"task": "t", "model": "m"},
        "samples": [{"id": 1, "epoch": 1, "input": "x", "target": "", "error": {"message": "boom"},
            "messages": [output(0), output(1), {"role": "user", "content": "so?"}]}]});
    let mut desk = Desk::with("a.json", &text.to_string());
    desk.press("Y").sees("fix all: 2 safe fixes").press("enter");
    desk.sees("take 2: 2 safe fixes; needs take 1");
    assert_eq!(desk.items(), ["user"; 3]);
    assert!(desk.rules().is_empty(), "{:?}", desk.rules());
    desk.press("u");
    assert_eq!(desk.items().len(), 4);
}

#[test]
fn what_words_fix_is_not_said_to_have_an_unsafe_fix_only() {
    let asked = call("c", "find", "{}");
    let answer = r#"{"role":"tool","tool_call_id":"c","content":"Error: no such file"}"#;
    let mut desk = Desk::with("a.json", &request(&[&asked, answer]));
    desk.press("Y")
        .sees("1 tool-error stays: the fixes need your words or are unsafe")
        .misses("only fix");
}

#[test]
fn what_may_go_with_a_fix_of_the_same_item_is_not_said_to_stay() {
    let call = call("c", "find", r#"{"q": "unfin"#);
    let mut desk = Desk::with(
        "a.json",
        &request(&[&call, r#"{"role":"user","content":"so?"}"#]),
    );
    desk.press("Y").misses("stays").sees("1 orphan-call may go");
    desk.press("enter").sees("take 1: 1 safe fix");
    let left = desk.rules();
    assert!(!left.iter().any(|rule| rule == "orphan-call"), "{left:?}");
}

#[test]
fn a_call_that_was_written_as_text_is_edited_into_the_call_that_it_is() {
    let mut desk = Desk::of("leaked-call.json");
    desk.press("] e").sees("make it a call");
    desk.press("enter");
    let rules = desk.rules();
    assert!(!rules.contains(&"leaked-tool-call".to_owned()), "{rules:?}");
    assert!(desk.items().contains(&"call open_record".to_owned()));
}

#[test]
fn the_last_try_stands_in_the_editor_and_words_that_were_left_are_there_again() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("i home `Stop. ` ^s enter u i");
    desk.sees("last try: take 1: 0 errors, 1 info, before 1 error, 2 info");
    desk.sees("Stop. There is no tool");
    desk.press("home `Now: ` esc i");
    desk.sees("Now: Stop. There is no tool");
}

#[test]
fn all_faulty_calls_of_a_turn_are_answered_at_once() {
    let calls = [call("a", "fnd", "{}"), call("b", "serch", "{}")];
    let mut desk = Desk::with("run.json", &request(&[&calls[0], &calls[1]]));
    desk.press("i").sees("2 faulty calls in this turn");
    desk.press("^t").sees("[all]");
    desk.press("^s enter");
    assert_eq!(desk.items()[3..], ["output", "output"]);
    assert_eq!(desk.rules(), ["unknown-tool answered"; 2]);
}

#[test]
fn the_model_is_asked_again_plain_or_with_feedback() {
    let mut desk = Desk::of("unknown-tool-recovered.jsonl");
    desk.press("] r").sees("c continues live");
    desk.press("enter");
    assert_eq!(desk.items(), ["user", "call open_orders", "output"]);
    desk.press("u r e")
        .sees("feedback to the model before the retry");
    desk.press("`Use stock_lookup, not {{ tool }}.` ^s");
    desk.sees("Use stock_lookup, not lookup_stock.");
    desk.press("enter");
    assert_eq!(desk.items()[3], "user");
    assert!(desk.text(4).contains("not lookup_stock."));
}

#[test]
fn what_ran_already_is_not_asked_for_again_without_a_word() {
    let mut desk = Desk::of("failing-tool.json");
    let recorded = desk.items();
    let warning = "these calls ran already: the start_print call of turn 3; they may run again";
    desk.press("g ] r").sees(warning).sees("- item 4");
    desk.press("esc");
    assert_eq!(desk.items(), recorded);
    desk.press("r e `Wait.` ^s").sees(warning).sees("Wait.");
    desk.press("esc esc");
    assert_eq!(desk.items(), recorded);
    desk.press("r enter");
    assert_eq!(desk.items(), recorded[..3]);
}

#[test]
fn a_fallback_is_held_to_the_schema_and_enters_the_history_or_not() {
    let mut desk = Desk::of("invalid-final-output.jsonl");
    desk.press("a");
    insta::assert_snapshot!("fallback_form", desk.screen());
    desk.press("^s");
    insta::assert_snapshot!("fallback_invalid", desk.screen());
    let value = r#"{"decision":"ask","amount_eur":420,"reason":"the amount is a guess"}"#;
    desk.press("^z");
    clear(&mut desk);
    desk.press(&format!("`{value}` ^s"))
        .misses("breaks the schema");
    desk.press("enter");
    assert!(desk.text(8).contains("the amount is a guess"));
    assert_eq!(desk.rules(), Vec::<String>::new());

    desk.press("u u a ^t").sees("[no]");
    desk.press("^s enter");
    assert_eq!(desk.items().len(), 7, "it is the result, and no message");
    desk.press("T").sees("accept fallback");
}

/// Takes everything out of the form.
fn clear(desk: &mut Desk) {
    desk.press("^e");
    desk.state.give_to_layers(Input::Edited(""));
}

#[test]
fn a_suggestion_is_taken_at_once() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("s");
    insta::assert_snapshot!("suggestion", desk.screen());
    desk.press("enter");
    assert_eq!(desk.items()[6], "call search_onestop_flight");
    assert!(!desk.rules().contains(&"unknown-tool".to_owned()));
}

#[test]
fn broken_arguments_are_repaired_where_readers_agree_and_asked_about_where_not() {
    let broken = call("a", "find", "{\"a\": 1, \"b\": 'x',}");
    let mut desk = Desk::with("run.json", &request(&[&broken]));
    desk.press("enter").sees("repair arguments");
    desk.press("esc").sees("R repair").press("R");
    desk.sees("~ item 2");
    desk.press("enter");
    assert!(desk.text(2).contains(r#"{\"a\": 1, \"b\": \"x\"}"#));

    let broken = call("a", "find", "{\"a\": NaN}");
    let mut desk = Desk::with("run.json", &request(&[&broken]));
    desk.press("enter j enter");
    insta::assert_snapshot!("readings", desk.screen());
    desk.press("2 enter enter");
    assert_eq!(desk.rules(), ["orphan-call"], "and still unanswered");
}

#[test]
fn the_suggestion_for_broken_arguments_is_their_repair_unless_the_tool_would_refuse_it() {
    let sound = call("c", "find", "{'a': 1,}");
    let mut desk = Desk::with("run.json", &request(&[&sound]));
    desk.go_to(2).press("s").sees("repair arguments");
    desk.press("enter").misses("malformed-arguments");
    // What it would be repaired to, its tool refuses.
    let mut desk = Desk::of("broken-json.json");
    desk.press("] enter").misses("▸ repair arguments");
    desk.press("esc s")
        .sees("No suggestion: the tool's name is right; the arguments are broken. Press e.");
}

#[test]
fn a_missing_output_is_supplied() {
    let mut desk = Desk::of("library-desk.db");
    desk.press("o ^s").sees("write the output first");
    desk.press("`ordered` ^s")
        .sees("+ new item  output  buy_title");
    desk.press("enter");
    assert_eq!(desk.items()[4], "output");
    assert_eq!(desk.rules(), Vec::<String>::new());
}

#[test]
fn an_item_is_edited_and_what_is_not_edited_keeps_its_bytes() {
    let spelled =
        r#"{"role" : "user",  "content": [ {"type":"input_text","text":"hello\n\"you\""} ] }"#;
    let mut desk = Desk::with("run.json", &request(&[spelled, spelled]));
    desk.go_to(2).press("E");
    insta::assert_snapshot!("edit_form", desk.screen());
    desk.press("^s").sees("there is nothing to change");
    desk.press("down down down down down end left")
        .press("` all`");
    desk.press("^s enter");
    let expected = spelled.replace(
        r#""text":"hello\n\"you\"""#,
        r#""text":"hello\n\"you\" all""#,
    );
    assert_eq!(desk.text(2), expected);
    assert_eq!(desk.text(3), spelled);

    // Its text is edited as text.
    desk.go_to(3).press("e");
    desk.sees(r#"│ hello"#).sees(r#"│ "you""#);
    desk.press("^s").sees("there is nothing to change");
    desk.press("end enter `\"new\"` ^s enter");
    let expected = spelled.replace(r#"hello\n"#, r#"hello\n\"new\"\n"#);
    assert_eq!(desk.text(3), expected);
}

/// A request with one call of `find`, whose arguments stand in it as the dialect wants them.
fn flight(dialect: &str, arguments: &str) -> String {
    let text = Value::from(arguments);
    let tool = r#""name": "find", "description": "finds""#;
    match dialect {
        "responses" => format!(
            r#"{{"model": "m", "tools": [{{"type": "function", {tool}}}], "input": [{{"role": "user", "content": "hi"}}, {{"type": "function_call", "call_id": "a", "name": "find", "arguments": {text}}}]}}"#
        ),
        "chat" => format!(
            r#"{{"model": "m", "tools": [{{"type": "function", "function": {{{tool}}}}}], "messages": [{{"role": "user", "content": "hi"}}, {{"role": "assistant", "content": null, "tool_calls": [{{"id": "a", "type": "function", "function": {{"name": "find", "arguments": {text}}}}}]}}]}}"#
        ),
        _ => format!(
            r#"{{"model": "m", "max_tokens": 9, "tools": [{{{tool}, "input_schema": {{"type": "object"}}}}], "messages": [{{"role": "user", "content": "hi"}}, {{"role": "assistant", "content": [{{"type": "tool_use", "id": "a", "name": "find", "input": {arguments}}}]}}]}}"#
        ),
    }
}

/// The debugger on such a request, with the cursor on the call.
fn on_flight(dialect: &str, arguments: &str) -> (Desk, usize) {
    let mut desk = Desk::with("run.json", &flight(dialect, arguments));
    let items = desk.items();
    let call = items.iter().position(|item| item == "call find").unwrap() + 1;
    desk.go_to(call);
    (desk, call)
}

#[test]
fn an_argument_that_nobody_knows_is_removed() {
    let (mut desk, call) = on_flight("responses", r#"{"from":"JFK","to":"LHR","/note":"x"}"#);
    desk.press("e").sees("/note").press("j j");
    desk.press("d")
        .misses(" /note ")
        .sees("accept the changed value");
    desk.press("^s enter");
    assert!(!desk.text(call).contains("note"), "{}", desk.text(call));
}

#[test]
fn an_argument_is_edited_as_the_value_that_it_is_and_written_back_as_the_dialect_wants_it() {
    let spelled = r#"{"from": "JFK",  "to": "L\"HR\"", "seats": 1.0}"#;
    for dialect in ["responses", "chat", "anthropic"] {
        let (mut desk, call) = on_flight(dialect, spelled);
        let recorded = desk.text(call);
        desk.press("e").sees("the whole item as JSON").press("j");
        if dialect == "responses" {
            insta::assert_snapshot!("edit_values", desk.screen());
        }
        desk.press("enter").sees(r#"│ L"HR""#).misses("\\\"");
        desk.press("^s ^s").sees("no value has been changed yet");
        desk.press("enter ` City` ^j `two` ^s ^s");
        if dialect == "responses" {
            insta::assert_snapshot!("edit_argument", desk.screen());
        }
        // Other words, then back to the list and to another value.
        desk.press("e enter down end backspace backspace backspace backspace ^s ^s enter");
        let spelled_out = |text: &str| match dialect {
            "anthropic" => text.to_owned(),
            _ => Value::from(text).to_string().trim_matches('"').to_owned(),
        };
        let old = spelled_out(r#""L\"HR\"""#);
        let new = spelled_out(r#""L\"HR\" City""#);
        assert_eq!(desk.text(call), recorded.replace(&old, &new), "{dialect}");
    }
}

#[test]
fn an_argument_that_breaks_the_schema_says_so_while_it_is_typed_and_may_be_accepted() {
    let mut desk = Desk::of("schema-break.json");
    desk.press("] e");
    insta::assert_snapshot!("edit_faulty_values", desk.screen());
    let call = desk.state.item;
    let recorded = desk.text(call + 1);
    desk.press("enter")
        .sees(r#"does not match the schema: expected one of "DE", "AT", "CH", got "Austria""#);
    desk.press("`!`").sees(r#"got "Austria!""#);
    desk.press("^s")
        .misses("still wrong: ")
        .sees("accept the changed value")
        .sees("^s accept all");
    desk.press("^s")
        .sees("Austria!")
        .sees("still wrong: ")
        .press("esc");
    desk.press("enter ^u `Austria` ^s j j j j enter")
        .sees("parcels/0/weight_kg, as JSON; the schema: number");
    desk.press("end backspace").sees("not JSON: ");
    desk.press("^s").sees("not accepted: not JSON: ");
    desk.press("home del end backspace backspace backspace");
    desk.misses("not JSON").misses("does not match the schema");
    desk.press("^s ^s enter");
    assert_eq!(
        desk.text(call + 1),
        recorded.replace(r#"\"2.5 kg\""#, "2.5")
    );
}

#[test]
fn tab_puts_the_values_that_the_schema_allows_and_enter_accepts_a_value_of_one_line() {
    let mut desk = Desk::of("schema-break.json");
    desk.press("] e enter")
        .sees("tab next choice")
        .sees("enter accept");
    desk.press("tab").misses("does not match the schema");
    desk.press("tab tab tab enter")
        .sees("accept the changed value")
        .press("^s")
        .sees("\"DE\"");
    let (mut desk, _) = on_flight("responses", r#"{"to": "LHR", "seats": 1}"#);
    desk.press("e enter ` City` ^j `two` enter `three`");
    desk.sees("LHR City").sees("three").press("^s");
    desk.sees("accept the changed value");
}

#[test]
fn changed_values_stay_in_the_list_are_kept_as_a_draft_and_accepted_there() {
    let spelled = r#"{"trip": {"from": "JFK", "to": "LHR"}, "seats": 1}"#;
    let (mut desk, call) = on_flight("chat", spelled);
    desk.press("e ^s").sees("no value has been changed yet");
    desk.press("^n").sees("no value is invalid");
    desk.press("j enter ^x `SFO` esc")
        .sees("trip/from: the text is kept as a draft");
    desk.press("enter").sees("SFO").press("^n");
    desk.sees("trip/to (3 of 4)").sees("LHR").press("esc");
    // The object that holds it is not counted, too.
    desk.sees("* trip/from").misses("* trip  ");
    desk.sees("accept the changed value").press("esc");
    desk.sees("1 changed value is kept as a draft: e continues");
    assert!(!desk.state.has_overlay());
    desk.press("e").sees("* trip/from").press("^s");
    desk.sees("accept").press("enter").sees("take 1: edit");
    assert!(desk.text(call).contains("SFO"), "{}", desk.text(call));
    desk.press("u e").sees("trip/from").misses("* trip/from");
}

#[test]
fn the_next_invalid_value_is_gone_to_and_what_is_not_json_is_not_accepted() {
    let mut desk = Desk::of("schema-break.json");
    desk.press("] e enter esc ^n enter")
        .sees("recipient/postcode, as text");
    desk.press("esc ^n enter")
        .sees("parcels/0/weight_kg, as JSON");
    desk.press("end backspace ^s")
        .sees("not accepted: not JSON");
    desk.press("`x` ^n").sees("not accepted: not JSON");
}

#[test]
fn a_text_that_was_left_is_a_draft_of_its_own_value_only() {
    let mut desk = Desk::of("schema-break.json");
    desk.press("] E esc e ^n enter")
        .sees("recipient/postcode, as text")
        .misses("function");
    desk.press("`10115` esc enter").sees("10115");
}

#[test]
fn the_next_invalid_value_follows_an_edited_one_and_only_what_was_edited_counts() {
    let mut desk = Desk::of("schema-break.json");
    desk.press("] e enter ^x `DE` ^n")
        .sees("recipient/postcode, as text");
    desk.press("^x `10115` ^n")
        .sees("parcels/0/weight_kg, as JSON");
    desk.press("esc").sees("accept the 2 changed values");
}

#[test]
fn all_lines_that_are_replaced_are_seen() {
    let text = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine";
    let said = serde_json::json!([{"role": "user", "content": text}]);
    let mut desk = Desk::with("a.json", &said.to_string());
    desk.state.size = (100, 42);
    desk.go_to(1).press("e ^x `new` ^s");
    desk.sees("-       one")
        .sees("-       seven")
        .sees("nine")
        .misses("more lines");
}

#[test]
fn a_message_has_no_result_to_supply() {
    let mut desk = Desk::of("unknown-tool.json");
    for key in ["o", "i"] {
        desk.go_to(1).press(key);
        assert!(!desk.state.has_overlay(), "{key}");
        desk.sees("not possible here; select a call or its result");
    }
}

#[test]
fn arguments_that_are_no_json_are_edited_as_the_text_that_they_are() {
    for dialect in ["responses", "chat"] {
        let (mut desk, call) = on_flight(dialect, "{'to': \"1\"}");
        let recorded = desk.text(call);
        desk.press("e").sees(r#"│ {'to': "1"}"#);
        desk.press("^s").sees("there is nothing to change");
        desk.press("`,` ^s").sees("still wrong: the arguments of");
        desk.sees("not JSON").press("esc");
        desk.state
            .give_to_layers(Input::Edited("{\"to\": \"1\"}\n"));
        desk.press("^s enter");
        assert_eq!(desk.text(call), recorded.replace("'", r#"\""#), "{dialect}");
    }
}

#[test]
fn a_take_of_arguments_that_were_no_json_names_no_member_that_nobody_changed() {
    let (mut desk, _) = on_flight("responses", "{'to': \"1\", \"seats\": 2}");
    desk.press("E");
    let text = desk.screen();
    let broken = r#"{'to': \"1\""#;
    assert!(text.contains(broken), "{text}");
    let json = serde_json::json!({"type": "function_call", "call_id": "a", "name": "find", "arguments": "{\"to\": \"1\", \"seats\": 2}"});
    desk.state.give_to_layers(Input::Edited(&json.to_string()));
    desk.press("^s enter T");
    desk.sees("edited arguments of find")
        .misses("find.to")
        .misses("seats, ");
}

#[test]
fn a_pair_is_dropped_or_stays_with_the_reason() {
    let mut desk = Desk::of("unknown-tool-recovered.jsonl");
    let before = desk.items().len();
    desk.press("] x").sees("is removed");
    desk.press("enter");
    assert_eq!(desk.items().len(), before - 2);
    assert_eq!(desk.rules(), Vec::<String>::new());

    let messages = serde_json::json!({"model": "m", "max_tokens": 9, "tools": [{"name": "g", "input_schema": {"type": "object"}}], "messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "so"},
            {"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]},
    ]});
    let mut desk = Desk::with("run.json", &messages.to_string());
    let before = desk.items();
    desk.press("] x").sees("drop pair: ");
    assert_eq!(desk.items(), before);
    assert!(!desk.state.has_overlay());
}

#[test]
fn what_awaits_an_approval_is_left_alone() {
    let mut desk = Desk::of("waiting-approval.json");
    let items = desk.items();
    let waiting = items.iter().position(|item| item == "call refund");
    desk.go_to(waiting.unwrap() + 1);
    for key in ["i", "o", "x", "e"] {
        desk.press(key).sees("the call awaits an approval");
        assert!(!desk.state.has_overlay(), "{key}");
    }
    desk.press("enter")
        .sees("nothing to fix: the program that requested the decision");
}

#[test]
fn a_log_of_exchanges_and_a_stream_are_changed_as_one_request() {
    let mut desk = Desk::of("endless-repeat.jsonl");
    desk.press("] i ^s enter")
        .sees("take 2: inject error; needs take 1");
    assert_eq!(desk.items()[12], "output");
    desk.press("T")
        .sees("take 1  rebuilt as a request")
        .press("k")
        .sees("only the form changes: times, tokens and costs")
        .press("esc");
    desk.press("u ^r").sees("take 2 of 2").press("u");
    assert_eq!((desk.items().len(), desk.state.item), (12, 11));
    let mut desk = Desk::of("cut-at-limit.sse");
    desk.press("] x enter").sees("as one request");
    assert_eq!(desk.items(), ["assistant", "call get_weather"]);
}

#[test]
fn what_was_begun_is_given_up_when_another_history_is_shown_and_words_are_kept() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("i ^s enter");
    let taken = desk.state.document.clone().unwrap();
    desk.press("u");
    let recorded = desk.state.document.clone().unwrap();
    for keys in ["x", "s", "e", "enter", "i", "i ^s", "r"] {
        desk.press(keys);
        assert!(desk.state.has_overlay(), "{keys}");
        desk.send(Message::Report(Report::Grown(taken.clone())));
        desk.sees("the history has changed: the open dialog was closed");
        assert!(!desk.state.has_overlay(), "{keys}");
        desk.send(Message::Report(Report::Grown(recorded.clone())));
    }
    desk.press("i home `Stop. `");
    let view = desk.state.recovery.takes.clone();
    desk.send(Message::Report(Report::TakeShown {
        document: taken,
        at: None,
        view,
        notice: "take 1".to_owned(),
    }));
    desk.sees("take 1; the open dialog was closed");
    desk.send(Message::Report(Report::Grown(recorded)));
    let draft = desk.state.recovery.drafts.clone();
    assert!(format!("{draft:?}").contains("Stop. There is no tool"));
}

#[test]
fn a_plan_for_another_history_makes_no_take() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("i ^s enter");
    let taken = desk.state.document.clone();
    desk.press("u x");
    desk.state.document = taken;
    desk.press("enter")
        .sees("the history has changed: the open dialog was closed");
    assert!(!desk.state.has_overlay() && desk.state.recovery.takes.count() == 2);
}

#[test]
fn the_footer_names_what_the_finding_offers_before_anything_else() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.send(Message::Resize(160, 30));
    desk.sees("s suggestion  i inject  r retry  x drop  ");
    desk.send(Message::Resize(100, 30));
    desk.sees("nearest: search_onestop_flight,");
    desk.sees("s suggestion  i inject  r retry  x drop  ");
    desk.press("g")
        .misses("s suggestion")
        .sees("? help  q quit");
    let mut desk = Desk::of("library-desk.db");
    desk.send(Message::Resize(160, 30));
    desk.sees("o output");
    let broken = call("a", "find", "{\"a\": 1, \"b\": 'x',}");
    let mut desk = Desk::with("run.json", &request(&[&broken]));
    desk.sees("R repair  i inject");
}

#[test]
fn several_values_are_changed_in_one_take_with_one_difference() {
    let text = r#"{"model":"m","messages":[{"role":"user","content":"hi"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"find","arguments":"{\"from\": \"JFK\", \"to\": \"LHR\", \"day\": 4}"}}]}]}"#;
    for size in [(80, 24), (140, 42)] {
        let mut desk = Desk::with("flight.json", text);
        desk.state.size = size;
        desk.go_to(2).press("e").sees("the whole item as JSON");
        desk.press("enter")
            .sees("^n next value")
            .press("^u `SFO` ^n")
            .sees("to (2 of 3)")
            .press("^p")
            .sees("from (1 of 3)")
            .sees("SFO")
            .press("^n esc");
        desk.sees("* from  SFO").sees("accept the changed value");
        desk.press("j enter ^u `five` ^n").sees("not JSON");
        desk.press("^u `5` ^n")
            .sees("from (1 of 3)")
            .press("esc")
            .sees("* day   5")
            .sees("accept the 2 changed values");
        // By the row of the list, or by ^s in the form of the last value.
        desk.press("G enter");
        let seen = desk.screen();
        for line in [
            "-     \"from\": \"JFK\"",
            "+     \"from\": \"SFO\"",
            "+     \"day\": 5",
        ] {
            let spaces = seen.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(spaces.contains(&line), "{line}: {seen}");
        }
        desk.press("enter").sees("take 1: edit");
        assert!(
            desk.text(2).contains("SFO") && desk.text(2).contains("day\\\": 5"),
            "{}",
            desk.text(2)
        );
        desk.press("u e enter ^x `BOS` ^n ^x `YYZ` ^s ^s enter")
            .sees("take 2: edit");
        assert!(desk.text(2).contains("BOS") && desk.text(2).contains("YYZ"));
    }
}

#[test]
fn the_line_and_all_of_a_value_are_cleared_as_in_shells() {
    let text = r#"[{"role":"user","content":"one two\nthree four"}]"#;
    for size in [(80, 24), (140, 42)] {
        let mut desk = Desk::with("a.json", text);
        desk.state.size = size;
        desk.go_to(1).press("e").sees("three four");
        desk.sees("^s accept").sees("^x clear all").sees("F1 help");
        let rows = |desk: &Desk, text: &str| {
            let screen = desk.screen();
            screen.lines().filter(|row| row.contains(text)).count()
        };
        // The list of turns may have both lines in a row of its own.
        let around = rows(&desk, "three four") - 1;
        desk.press("down end ^u");
        assert_eq!(rows(&desk, "three four"), around, "{}", desk.screen());
        desk.press("^z");
        assert_eq!(rows(&desk, "three four"), around + 1);
        desk.press("^x");
        assert_eq!(rows(&desk, "three four"), around);
        desk.press("^z");
        assert_eq!(rows(&desk, "three four"), around + 1);
        desk.press("F1")
            .sees("clear the line before the cursor")
            .press("esc");
    }
}

#[test]
fn text_with_quotes_stands_in_a_proposal_without_quotes_of_its_own() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("i ^s")
        .sees("\"output\":")
        .sees("There is no tool named \"search_onestop_flights\"")
        .misses("\"There is no tool");
    let broken = call("c", "find", "{'a': 1,}");
    let mut desk = Desk::with("run.json", &request(&[&broken]));
    desk.go_to(2).press("s").sees("\"arguments\":");
    desk.sees("  {\"a\": 1}").misses("\"{\"a\"");
}

#[test]
fn arguments_that_are_not_json_are_said_to_be_so_while_they_are_typed() {
    let mut desk = Desk::of("broken-json.json");
    desk.press("] e")
        .sees("the arguments, as text")
        .sees("not JSON: line 1, column 42");
    desk.press("^x")
        .sees("empty is read as {}, which does not match the schema: ");
    desk.press("`{\"principal\": 1,,`")
        .sees("not JSON: line 1, column 17");
    desk.press("backspace backspace `}`")
        .misses("│ not JSON: ")
        .sees("does not match the schema: ");
    desk.press("esc")
        .sees("Closed. Your draft is kept; e opens it again.");
}

#[test]
fn the_finding_the_detail_and_the_editor_name_one_place_of_broken_arguments() {
    for broken in [
        r#"{"città": "È così", "x": [1, 2"#,
        r#"{"città": "È così", 'x': 2}"#,
    ] {
        let mut desk = Desk::with("run.json", &request(&[&call("c", "find", broken)]));
        desk.go_to(2);
        let found = desk.state.worst_here().unwrap().message();
        let place = found.split("line 1 column ").nth(1).unwrap();
        let column: String = place.chars().take_while(char::is_ascii_digit).collect();
        desk.press("| 3").sees(&format!("column {column}: "));
        desk.press("e").sees(&format!("line 1, column {column}"));
    }
}

#[test]
fn what_cannot_be_checked_is_said_where_it_is_written() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("o")
        .sees("no output schema recorded: not checked");
    let mut desk = Desk::of("invalid-final-output.jsonl");
    desk.press("} a").misses("not checked");
    desk.press("^x `{x` ^s").sees("not JSON: line 1, column 2");
}

#[test]
fn the_menu_of_fixes_explains_the_findings_and_names_what_is_done_to_an_output() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("} enter").sees("! explain").press("!");
    desk.sees("unknown-tool (error)").press("esc").sees("Fixes");
    desk.press("?").sees("explain the findings");
    let mut desk = Desk::of("failing-tool.json");
    desk.press("] enter").sees("replace the output");
}

#[test]
fn a_moved_output_has_the_cursor() {
    let mut desk = Desk::of("misplaced-results.json");
    let finding = desk.rules().iter().position(|it| it == "misplaced-output");
    assert!(finding.is_some(), "{:?}", desk.rules());
    desk.press("enter").sees("move output");
    let menu = desk.screen();
    let row = menu
        .lines()
        .find(|row| row.contains("move output"))
        .unwrap();
    let key = row.split("  move output").next().unwrap().trim_end();
    let key = key.chars().last().unwrap();
    desk.press(&format!("`{key}` enter"))
        .sees("take 1: move output");
    let item = desk.state.item;
    assert!(desk.items()[item].starts_with("output"), "{item}");
    assert_eq!(
        desk.state.session().unwrap().pairing.partner(item),
        Some(item - 1)
    );
}

#[test]
fn an_emptied_wording_says_that_the_default_is_used() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("i ^x").sees("the default wording is used");
}

#[test]
fn the_last_error_says_that_others_are_above() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("G }")
        .sees("no further error below: { goes back");
    desk.press("{ }")
        .sees("no further error")
        .misses("goes back");
}

#[test]
fn the_lab_proposes_the_agent_beside_the_recording_before_the_model_that_was_used_elsewhere() {
    let mut desk = Desk::of("unknown-tool.json");
    let proposed = |desk: &mut Desk| {
        desk.press("} W");
        match desk.left.pop() {
            Some(Effect::Lab(subject)) => subject.agent.unwrap(),
            other => panic!("{other:?}"),
        }
    };
    desk.state.recovery.lab = serde_json::from_str(r#"{"models":"gpt-5.2"}"#).unwrap();
    assert_eq!(proposed(&mut desk), "gpt-5.2");
    desk.state.live.proposed_agent = Some("trip.toml".to_owned());
    assert_eq!(proposed(&mut desk), "trip.toml");
    // What was written in the lab of this recording just now is meant again.
    let lab = &mut desk.state.recovery.lab;
    lab.learn(Some("o5".to_owned()), "unknown-tool", Vec::new(), &[]);
    assert_eq!(proposed(&mut desk), "o5");
}
