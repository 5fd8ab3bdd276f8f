//! `export`: a recovery as a recipe, as an entry of a policy, as a fixture that `check` reads.

use super::{CLEAN, STORY, folder, retake, told};
use serde_json::{Value, json};
use std::path::Path;

/// A call of a tool that is not offered, without an output: an error.
fn unanswered() -> String {
    let lines = STORY.lines();
    let kept = lines.filter(|line| !line.contains("\"tool_call_id\"") && !line.contains("KS 218"));
    let text = kept.collect::<Vec<_>>().join("\n");
    text.replace("]}\n    \n", "]}\n")
        .replace("    ]},\n  ]", "    ]}\n  ]")
}

fn export(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    told(folder, &[&["export"], arguments].concat())
}

#[test]
fn a_recovery_becomes_a_recipe_a_policy_entry_or_a_fixture() {
    let here = folder(&[("run.json", &unanswered())]);
    let run = |more: &[&str]| export(here.path(), &[&["run.json"], more].concat());
    let (code, recipe, err) = run(&["--to", "openai-agents"]);
    assert_eq!(code, 0, "{err}");
    assert!(recipe.contains("tool_not_found_behavior"), "{recipe}");
    assert_eq!(
        err,
        "retake: unknown-tool at item 2: inject-error, wording nearest-and-list\n"
    );
    let policy = run(&[
        "--to",
        "policy",
        "--action",
        "inject-error",
        "--wording",
        "bare",
    ])
    .1;
    assert_eq!(
        policy,
        "[on.unknown-tool]\ndo = \"inject\"\nwording = \"bare\"\ntimes = 2\notherwise = \"raise\"\n"
    );
    // Words are for an action that tells something.
    let words = ["--words", "No {{ tool }} here."];
    let policy = run(&[&["--to", "policy"], &words[..]].concat()).1;
    assert!(
        policy.contains("wording = \"No {{ tool }} here.\""),
        "{policy}"
    );
    let fixture = run(&[&["--to", "fixture"], &words[..]].concat()).1;
    let fixture: Value = serde_json::from_str(&fixture).unwrap();
    assert_eq!(
        fixture["messages"].as_array().unwrap().last().unwrap()["content"],
        "No serch_flights here."
    );
}

#[test]
fn a_fixture_says_what_check_finds_in_it_and_ends_behind_the_recovery() {
    let here = folder(&[("run.json", STORY)]);
    let path = here.path();
    for (action, left) in [("take-suggestion", 0), ("inject-error", 1)] {
        let (code, _, err) = export(
            path,
            &[
                "run.json",
                "--to",
                "fixture",
                "--rule",
                "unknown-tool",
                "--action",
                action,
                "-o",
                "fixture.json",
                "--force",
            ],
        );
        assert_eq!(code, 0, "{err}");
        let text = std::fs::read_to_string(path.join("fixture.json")).unwrap();
        let fixture: Value = serde_json::from_str(&text).unwrap();
        let expected = &fixture["expect"];
        assert_eq!(
            (
                &expected["rule"],
                &expected["findings"],
                &expected["call_id"]
            ),
            (&json!("unknown-tool"), &json!(left), &json!("call_1"))
        );
        assert_eq!(fixture["tools"][0]["function"]["name"], "search_flights");
        // What the model said about the output of that time is not part of it.
        assert!(!text.contains("leaves at nine"), "{text}");
        let (_, found, _) = told(path, &["check", "fixture.json", "--format", "json"]);
        let found = found
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let found = found.filter(|line| line["rule"] == "unknown-tool");
        assert_eq!(found.count(), left, "{action}");
    }
}

#[test]
fn every_bundled_session_that_can_be_changed_has_fixtures_that_say_the_truth() {
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    let here = folder(&[]);
    let mut made = 0;
    for rule in retake_core::rules::RULES {
        for entry in std::fs::read_dir(&sessions).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_str().unwrap();
            if name.ends_with(".tools.json") || name.ends_with(".md") {
                continue;
            }
            let arguments = ["--to", "fixture", "--rule", rule.id];
            let (code, text, _) = export(here.path(), &[&[name], &arguments[..]].concat());
            if code != 0 {
                continue;
            }
            made += 1;
            std::fs::write(here.path().join("fixture.json"), &text).unwrap();
            let fixture: Value = serde_json::from_str(&text).unwrap();
            let (_, found, err) = told(here.path(), &["check", "fixture.json", "--format", "json"]);
            assert_eq!(err, "", "{name} {}", rule.id);
            let found = found
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap());
            let id = &fixture["expect"]["call_id"];
            let found = found.filter(|line| {
                line["type"] == "finding"
                    && line["rule"] == rule.id
                    && (id.is_null() || line["call_id"] == *id)
            });
            let expected = fixture["expect"]["findings"].as_u64().unwrap();
            assert_eq!(found.count() as u64, expected, "{name} {}", rule.id);
        }
    }
    assert!(made >= 12, "{made}");
}

#[test]
fn a_fallback_is_a_value_that_is_checked_first() {
    let text = json!({"model": "m", "input": [
        {"role": "user", "content": "How much?"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ten"}]}],
        "text": {"format": {"type": "json_schema", "name": "price", "schema":
            {"type": "object", "properties": {"eur": {"type": "number"}}, "required": ["eur"]}}}});
    let here = folder(&[("run.json", &text.to_string())]);
    let run = |more: &[&str]| {
        export(
            here.path(),
            &[&["run.json", "--action", "fallback"], more].concat(),
        )
    };
    let (code, _, err) = run(&["--to", "policy"]);
    assert!(code == 2 && err.contains("--value"), "{err}");
    let (code, _, err) = run(&["--to", "policy", "--value", "{\"eur\": \"ten\"}"]);
    assert!(code == 2 && err.contains("/eur"), "{err}");
    let (code, _, err) = run(&["--to", "policy", "--value", "ten"]);
    assert!(code == 2 && err.contains("a text needs quotes"), "{err}");
    let (code, recipe, _) = run(&["--to", "openai-agents", "--value", "{\"eur\": 10}"]);
    assert!(
        code == 0 && recipe.contains("\"invalid_final_output\""),
        "{recipe}"
    );
    let (code, _, err) = run(&["--to", "fixture", "--value", "{\"eur\": 10}"]);
    assert!(code == 2 && err.contains("--include-in-history"), "{err}");
    let fixture = [
        "--to",
        "fixture",
        "--value",
        "{\"eur\": 10}",
        "--include-in-history",
    ];
    let (code, fixture, err) = run(&fixture);
    assert_eq!(code, 0, "{err}");
    let fixture: Value = serde_json::from_str(&fixture).unwrap();
    assert_eq!(fixture["expect"]["findings"], 0);
    let (code, policy, _) = run(&["--to", "policy", "--value", "{\"eur\": 10}"]);
    assert!(
        code == 0 && policy.contains("include_in_history = false"),
        "{policy}"
    );
}

#[test]
fn what_has_no_counterpart_is_refused_with_the_reason() {
    let log = json!({"request": {"model": "m", "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "find"}}]},
        "response": {"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "fnd", "arguments": "{}"}}]}}]}});
    let here = folder(&[
        ("run.json", STORY),
        ("clean.json", CLEAN),
        ("log.jsonl", &format!("{log}\n")),
    ]);
    let table: &[(&[&str], &str)] = &[
        (
            &[
                "run.json",
                "--to",
                "openai-agents",
                "--action",
                "take-suggestion",
            ],
            "it cannot change the name or the arguments",
        ),
        (
            &["run.json", "--to", "policy", "--wording", "none"],
            "no wording none for unknown-tool; available: ",
        ),
        (
            &["run.json", "--to", "policy", "--action", "move-output"],
            "unknown-tool at item 2 does not offer move-output",
        ),
        (
            &["run.json", "--to", "policy", "--item", "1"],
            "no finding at item 1",
        ),
        (
            &["run.json", "--to", "policy", "--session", "x"],
            "no session x",
        ),
        (&["clean.json", "--to", "policy"], "no finding"),
        (
            &["run.json", "--to", "policy", "--take", "1"],
            "there is no take 1",
        ),
        (
            &["log.jsonl", "--to", "fixture"],
            "retake export -` exports",
        ),
        (
            &["run.json", "--to", "fixture", "-o", "run.json", "--force"],
            "never overwritten",
        ),
        (
            &["run.json", "--to", "policy", "-o", "clean.json"],
            "already exists",
        ),
        (&[".", "--to", "policy"], "takes one recording"),
        (&["run.json"], "--to <FORM>"),
        (
            &[
                "run.json", "--to", "policy", "--take", "1", "--rule", "refused",
            ],
            "cannot be used",
        ),
    ];
    for (arguments, reason) in table {
        let (code, out, err) = export(here.path(), arguments);
        assert_eq!((code, &out[..]), (2, ""), "{arguments:?} {err}");
        assert!(err.contains(reason), "{arguments:?} {err}");
    }
    assert_eq!(
        std::fs::read_to_string(here.path().join("clean.json")).unwrap(),
        CLEAN
    );
}

#[test]
fn a_faulty_template_is_refused_and_never_exported_as_it_stands() {
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    for words in ["There is no {{ tol }}.", "{% if %}", "{{ tool"] {
        for form in ["fixture", "policy"] {
            let arguments = [
                "export",
                "unknown-tool.json",
                "--to",
                form,
                "--words",
                words,
            ];
            let (code, out, err) = told(&sessions, &arguments);
            assert_eq!((code, &out[..]), (2, ""), "{form} {words}: {err}");
            assert!(err.contains("line 1: "), "{form} {words}: {err}");
        }
    }
}

#[test]
fn a_take_of_the_debugger_is_exported_with_its_words() {
    use retake_core::session::Edit;
    use retake_core::session::takes::{Take, TakeCause};
    use retake_live::takes::wall_clock;
    use retake_live::{ReadOptions, TakeStore, read_path};
    let here = folder(&[("run.json", STORY)]);
    let path = here.path().join("run.json");
    let state = here.path().join("state");
    let recording = std::sync::Arc::new(read_path(&path, &ReadOptions::default()).unwrap());
    let (mut workbench, _) =
        TakeStore::open(recording.clone(), Some(&path), Some(&state), wall_clock);
    let output = &recording.sessions[0].items[2];
    let bytes = recording.sessions[0].bytes(output).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let at = text.find("KS 218 at nine").unwrap();
    let words = "There is no tool named {{ of that name }}.";
    let edit = Edit::Rewrite {
        item: 2,
        patches: vec![retake_core::session::Patch {
            at: at..at + "KS 218 at nine".len(),
            with: words.into(),
        }],
    };
    let about = Take {
        cause: TakeCause {
            rule: Some("unknown-tool".to_owned()),
            item: Some(1),
            action: Some("inject-error".to_owned()),
            ..TakeCause::default()
        },
        words: Some(words.to_owned()),
        ..Take::default()
    };
    let id = workbench
        .take(0, &recording.sessions[0], &[edit], about)
        .unwrap();
    assert!(workbench.not_recording().is_none());
    drop(workbench);
    let run = |to: &str| {
        let output = retake()
            .env("XDG_STATE_HOME", &state)
            .current_dir(here.path())
            .args([
                "export",
                "run.json",
                "--take",
                &id.0.to_string(),
                "--to",
                to,
            ])
            .output()
            .unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{err}");
        String::from_utf8(output.stdout).unwrap()
    };
    // The words were written by hand: they say exactly this, whatever stands in them.
    let policy: toml::Table = toml::from_str(&run("policy")).unwrap();
    let template = policy["on"]["unknown-tool"]["wording"].as_str().unwrap();
    assert_eq!(
        retake_core::wording::render(template, &Default::default()).unwrap(),
        words
    );
    let fixture: Value = serde_json::from_str(&run("fixture")).unwrap();
    assert_eq!(fixture["messages"][2]["content"], words);
    assert_eq!(fixture["expect"]["action"], "inject-error");
}
