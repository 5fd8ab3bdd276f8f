//! `split`: where a recording can be cut, and what a cut has broken.

use super::{CLEAN, folder, told};
use serde_json::{Value, json};
use std::path::Path;

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "find", "arguments": "{}"})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": format!("hit of {id}")})
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": format!("secret of {id}")})
}

/// A history with a reasoned pair: system, user, reasoning, call, output, user.
fn history() -> Vec<Value> {
    let system = json!({"role": "system", "content": "Be brief."});
    vec![
        system,
        user("find it"),
        reasoning("rs_1"),
        call("call_1"),
        output("call_1"),
        user("thanks"),
    ]
}

/// Exit code and the one JSON line.
fn answer(folder: &Path, arguments: &[&str]) -> (i32, Value) {
    let (code, out, err) = told(
        folder,
        &[&["split"], arguments, &["--format", "json"]].concat(),
    );
    assert_eq!(out.lines().count(), 1, "{out}{err}");
    (code, serde_json::from_str(&out).unwrap())
}

#[test]
fn without_a_wish_it_says_what_can_be_wished_for_with_an_example() {
    let here = folder(&[("run.json", &json!(history()).to_string())]);
    let (code, out, err) = told(here.path(), &["split", "run.json"]);
    assert_eq!((code, &*out), (2, ""), "{err}");
    assert!(
        err.starts_with("retake: split: say how much to keep\n"),
        "{err}"
    );
    assert!(err.contains("`retake split run.json --keep 20`"), "{err}");
    for option in ["--keep-turns", "--at", "--against"] {
        assert!(err.contains(option), "{option}: {err}");
    }
}

#[test]
fn the_cut_goes_back_to_where_nothing_is_split_and_says_why() {
    let here = folder(&[("run.json", &json!(history()).to_string())]);
    let (code, cut) = answer(here.path(), &["run.json", "--keep", "2"]);
    assert_eq!(
        (code, &cut["verdict"], &cut["asked"]),
        (0, &json!("moved"), &json!(5))
    );
    assert_eq!((&cut["boundary"], &cut["behind"]), (&json!(3), &json!(6)));
    let split = &cut["splits"][0];
    assert_eq!(
        (&split["kind"], &split["call_id"]),
        (&json!("pair"), &json!("call_1"))
    );
    assert_eq!((&split["item"], &split["other"]), (&json!(4), &json!(5)));
    let (_, cut) = answer(here.path(), &["run.json", "--keep-turns", "1"]);
    assert_eq!(
        (&cut["verdict"], &cut["boundary"]),
        (&json!("clean"), &json!(6))
    );
    let text = told(here.path(), &["split", "run.json", "--keep", "2"]).1;
    insta::assert_snapshot!("split", text);
}

#[test]
fn story_11_no_cut_is_said_and_is_not_the_same_as_nothing_to_cut() {
    // One call of the very beginning is answered at the very end.
    let long = vec![
        call("call_1"),
        user("well?"),
        user("still there?"),
        output("call_1"),
    ];
    let here = folder(&[
        ("long.json", &json!(long).to_string()),
        ("short.json", CLEAN),
    ]);
    let (code, none) = answer(here.path(), &["long.json", "--keep", "2"]);
    assert_eq!(
        (code, &none["verdict"], &none["boundary"]),
        (1, &json!("none"), &Value::Null)
    );
    let (code, enough) = answer(here.path(), &["short.json", "--keep", "2"]);
    assert_eq!((code, &enough["verdict"]), (0, &json!("nothing-to-cut")));
    let (code, enough) = answer(here.path(), &["long.json", "--keep", "9"]);
    assert_eq!((code, &enough["verdict"]), (0, &json!("nothing-to-cut")));
}

#[test]
fn a_given_cut_is_judged() {
    let here = folder(&[("run.json", &json!(history()).to_string())]);
    for (item, code, kinds) in [
        ("2", 0, &[][..]),
        ("3", 0, &[]),
        ("4", 1, &["reasoning"]),
        ("5", 1, &["pair"]),
        ("6", 0, &[]),
        ("7", 2, &[]),
    ] {
        let (ended, judged) = answer(here.path(), &["run.json", "--at", item]);
        let found = judged["splits"].as_array().unwrap().iter();
        let found = found.map(|split| split["kind"].as_str().unwrap());
        assert_eq!(
            (ended, &found.collect::<Vec<_>>()[..]),
            (code, kinds),
            "{item}"
        );
    }
    // What only the instructions stand before cuts nothing.
    let (_, judged) = answer(here.path(), &["run.json", "--at", "2"]);
    assert_eq!(judged["verdict"], "nothing-to-cut");
    let (code, _, err) = told(
        here.path(),
        &["split", "run.json", "--keep", "2", "--at", "2"],
    );
    assert!(code == 2 && err.contains("cannot be used with"), "{err}");
}

#[test]
fn what_waits_for_approval_stays_in_the_kept_part_and_unknown_ids_are_named() {
    let request = json!({"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "pay", "arguments": "{}"});
    let items = vec![
        user("pay"),
        request,
        user("and?"),
        output("call_9"),
        user("hello?"),
    ];
    let here = folder(&[("waits.json", &json!(items).to_string())]);
    let (code, cut) = answer(here.path(), &["waits.json", "--keep", "1"]);
    assert_eq!((code, &cut["boundary"]), (0, &json!(2)));
    assert_eq!(
        (&cut["splits"][0]["kind"], &cut["splits"][0]["tool"]),
        (&json!("waiting"), &json!("pay"))
    );
    let unknown = &cut["unpaired"][0];
    assert_eq!(
        (&unknown["call_id"], &unknown["missing"]),
        (&json!("call_9"), &json!("call"))
    );
    assert_eq!(unknown["kept"], true);
}

#[test]
fn blocks_of_one_anthropic_message_stay_together() {
    let items = json!([
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "both"},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"},
            {"type": "text", "text": "and now?"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]}]);
    let here = folder(&[("blocks.json", &items.to_string())]);
    let boundaries = (1..=6).map(|keep| {
        let (_, cut) = answer(here.path(), &["blocks.json", "--keep", &keep.to_string()]);
        cut["boundary"].as_u64()
    });
    assert_eq!(
        boundaries.collect::<Vec<_>>(),
        [Some(7), Some(2), Some(2), Some(2), Some(2), Some(2)]
    );
}

#[test]
fn a_trimmed_copy_is_judged_by_what_it_lost() {
    let before = history();
    let summary = user("<summary of what was>");
    let mut shortened = before[2..].to_vec();
    shortened[2]["output"] = json!("[cleared]");
    let of = |items: &[Value]| json!([std::slice::from_ref(&summary), items].concat()).to_string();
    let request =
        json!({"model": "m", "input": [summary.clone(), call("call_1"), output("call_1")]});
    let here = folder(&[
        ("before.json", &json!(before).to_string()),
        ("whole.json", &of(&before[2..])),
        ("shortened.json", &of(&shortened)),
        ("no_call.json", &of(&before[4..])),
        ("no_reasoning.json", &request.to_string()),
        ("other.json", CLEAN),
        ("stranger.json", &of(&[before[5].clone(), output("call_7")])),
    ]);
    let judge = |after: &str| answer(here.path(), &["before.json", "--against", after]);
    for (after, code, verdict, kinds, kept) in [
        ("whole.json", 0, "clean", &[][..], 4),
        ("shortened.json", 0, "clean", &[], 4),
        ("no_call.json", 1, "splits", &["pair"], 2),
        ("no_reasoning.json", 1, "splits", &["reasoning"], 2),
        ("other.json", 2, "unrelated", &[], 0),
        ("stranger.json", 0, "clean", &[], 1),
    ] {
        let (ended, judged) = judge(after);
        let found = judged["splits"].as_array().unwrap().iter();
        let found = found.map(|split| split["kind"].as_str().unwrap());
        let found = found.collect::<Vec<_>>();
        assert_eq!(
            (ended, &judged["verdict"], &found[..]),
            (code, &json!(verdict), kinds),
            "{after}"
        );
        assert_eq!(judged["kept"], kept, "{after}");
    }
    assert_eq!(judge("stranger.json").1["unpaired"][0]["call_id"], "call_7");
}

#[test]
fn every_session_of_a_file_has_its_line() {
    let line = |task: &str| format!("{{\"task_id\": \"{task}\", \"traj\": {CLEAN}}}");
    let here = folder(&[("many.jsonl", &[line("one"), line("two")].join("\n"))]);
    let (code, out, _) = told(here.path(), &["split", "many.jsonl", "--keep", "1"]);
    assert_eq!((code, out.lines().count()), (0, 2), "{out}");
    assert!(out.contains("session task one: cut before item 2"), "{out}");
}
