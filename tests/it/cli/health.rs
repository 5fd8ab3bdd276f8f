//! `health`: the tally of each tool over recordings.

use super::{STORY, folder, retake, told};
use serde_json::{Value, json};

/// A recording in which one tool fails so often and then works so often.
fn run(failures: usize, successes: usize) -> String {
    let outputs = std::iter::repeat_n("Error: offline", failures);
    let outputs = outputs.chain(std::iter::repeat_n("done", successes));
    let messages = outputs.enumerate().flat_map(|(number, output)| {
        let (id, arguments) = (
            format!("call_{number}"),
            json!({"page": number}).to_string(),
        );
        [
            json!({"role": "assistant", "tool_calls": [{"id": id, "type": "function",
                "function": {"name": "print", "arguments": arguments}}]}),
            json!({"role": "tool", "tool_call_id": id, "content": output}),
        ]
    });
    messages.collect::<Value>().to_string()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_pipe_gets_whole_names_and_outputs_without_calls_are_no_calls() {
    let name = "mcp__happy__change_the_title_of_the_session";
    let named = run(1, 0).replace("print", name);
    let lost = json!([{"role": "user", "content": "hi"},
        {"role": "tool", "tool_call_id": "c", "content": "Error: offline"}, {"role": "user", "content": "so?"}]);
    let here = folder(&[("a.json", &named), ("b.json", &lost.to_string())]);
    let (_, out, _) = told(here.path(), &["health", "."]);
    assert!(out.contains(&format!("{name} ")), "{out}");
    let row = out
        .lines()
        .find(|row| row.starts_with("(1 output, no call)"));
    let cells: Vec<&str> = row.unwrap().split_whitespace().skip(4).take(4).collect();
    assert_eq!(cells, ["-", "-", "1", "100%"], "{out}");
}

#[test]
fn many_recordings_are_one_table_and_streaks_do_not_go_on_from_one_to_the_next() {
    let here = folder(&[
        ("a.json", &run(2, 0)),
        ("b.json", &run(2, 1)),
        ("c.json", &run(4, 0)),
        ("story.json", STORY),
    ]);
    let (code, out, _) = told(here.path(), &["health", ".", "--format", "json"]);
    let here_is_meant = told(here.path(), &["health", "--format", "json"]);
    assert_eq!((here_is_meant.0, &here_is_meant.1), (0, &out));
    assert_eq!(told(here.path(), &["usage"]).0, 0);
    let lines = lines(&out);
    assert_eq!((code, lines.len()), (0, 3));
    let print = &lines[0];
    assert_eq!(
        (&print["tool"], &print["calls"], &print["errors"]),
        (&json!("print"), &json!(9), &json!(8))
    );
    assert_eq!(
        (&print["longest_run"], &print["breaker_open"]),
        (&json!(4), &json!(1))
    );
    assert_eq!(
        (&print["classes"], &print["offered"]),
        (&json!({"exception": 8}), &json!(true))
    );
    let unknown = &lines[1];
    assert_eq!(
        (&unknown["tool"], &unknown["offered"]),
        (&json!("serch_flights"), &json!(false))
    );
    let total = &lines[2];
    assert_eq!(
        (
            &total["type"],
            &total["files"],
            &total["sessions_without_tools"]
        ),
        (&json!("total"), &json!(4), &json!(3))
    );
    insta::assert_snapshot!("health", told(here.path(), &["health", "."]).1);
}

#[test]
fn names_cannot_break_out_of_the_table_and_every_row_fits_eighty_columns() {
    let name = "\u{1b}[2J\u{202e}".repeat(30);
    let hostile = STORY.replace(
        "serch_flights",
        &serde_json::to_string(&name).unwrap().replace('"', ""),
    );
    let here = folder(&[("hostile.json", &hostile)]);
    let output = retake()
        .current_dir(here.path())
        .args(["health", "hostile.json"])
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    let (code, out) = (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
    );
    assert!(
        code == 0 && !out.contains('\u{1b}') && !out.contains('\u{202e}'),
        "{out}"
    );
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let (_, out, _) = told(here.path(), &["health", "hostile.json", "--format", "json"]);
    assert!(!out.contains('\u{1b}'));
    assert_eq!(lines(&out)[0]["tool"], json!(name));
}

#[test]
fn what_cannot_be_read_is_said() {
    let here = folder(&[("story.json", STORY), ("broken.json", "no recording")]);
    assert_eq!(told(here.path(), &["health", "none.json"]).0, 2);
    let (code, out, err) = told(here.path(), &["health", "story.json", "none.json"]);
    assert!(
        code == 3 && out.contains("serch_flights") && err.contains("none.json"),
        "{err}"
    );
    let (code, _, err) = told(here.path(), &["health", "."]);
    assert!(code == 0 && err.contains("skipped broken.json"), "{err}");
}
