//! `lab` as a process: an experiment on a scripted model, its reports, its assertions, its exit codes.

use super::{STORY, folder, told};
use serde_json::Value;
use tempfile::TempDir;

/// Sets itself right where somebody names the tool, and repeats its mistake elsewhere.
const SCRIPT: &str = r#"
name = "story"

[[rule]]
last_contains = "search_flights"
calls = [{ name = "search_flights", arguments = { to = "LIS" } }]

[[rule]]
calls = [{ name = "serch_flights", arguments = { to = "LIS" } }]
"#;

fn spec(more: &str) -> String {
    format!(
        "name = \"story\"\nsamples = 3\n[[finding]]\npath = \"story.json\"\nrule = \"unknown-tool\"\n[wordings]\n\
         named = [\"nearest\", \"bare\"]\n[[model]]\ndialect = \"chat\"\nscript = \"s.script.toml\"\n{more}"
    )
}

fn here(more: &str) -> TempDir {
    let spec = spec(more);
    folder(&[
        ("story.json", STORY),
        ("s.script.toml", SCRIPT),
        ("lab.toml", spec.as_str()),
    ])
}

fn lab(here: &TempDir, arguments: &[&str]) -> (i32, String, String) {
    let mut words = vec!["lab"];
    words.extend(arguments);
    words.extend(["--journals", "journals"]);
    told(here.path(), &words)
}

fn lines(out: &str) -> Vec<Value> {
    let lines = out.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[test]
fn an_experiment_counts_what_the_script_does() {
    let here = here("");
    let (code, out, err) = lab(&here, &["lab.toml", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let lines = lines(&out);
    let of = |kind: &str| {
        lines
            .iter()
            .filter(move |line| line["type"] == kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(of("sample").len(), 9);
    assert_eq!(of("trial")[0]["scripted"], true);
    let rate = |wording: &str| {
        let standings = of("standing");
        let found = standings.iter().find(|line| line["wording"] == wording);
        found.unwrap_or_else(|| panic!("no {wording}: {out}"))["rate"].clone()
    };
    assert_eq!(rate("nearest"), 1.0);
    assert_eq!(rate("bare"), 0.0);
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["type"], &last["end"]),
        (&"experiment".into(), &"complete".into())
    );
    assert!(err.contains("trial 1"), "{err}");
    // The journal opens like any recording.
    let journal = of("trial")[0]["journal"].as_str().unwrap();
    let (code, shown, err) = told(here.path(), &["show", journal]);
    assert_eq!(code, 0, "{err}");
    assert!(shown.contains("Lisbon"), "{shown}");
}

#[test]
fn an_experiment_that_is_complete_is_reported_again_without_a_question() {
    let here = here("");
    let kept = || {
        let journals = std::fs::read_dir(here.path().join("journals")).unwrap();
        let texts = journals.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let texts = texts.collect::<Vec<_>>().join("\n");
        texts.matches("\"type\":\"asked\"").count()
    };
    let (_, first, _) = lab(&here, &["lab.toml"]);
    assert_eq!(kept(), 9);
    assert!(!first.contains("earlier run"), "{first}");
    let (code, again, err) = lab(&here, &["lab.toml"]);
    assert_eq!((code, kept()), (0, 9), "{err}");
    assert!(
        again.contains("9 of 9 samples, 9 from an earlier run"),
        "{again}"
    );
    assert!(again.contains("9 of 9 samples are from an earlier run of the same experiment"));
    let (_, json, _) = lab(&here, &["lab.toml", "--samples", "4", "--format", "json"]);
    let lines = lines(&json);
    let mut samples = lines.iter().filter(|line| line["type"] == "sample");
    assert!(samples.all(|line| line["earlier"] == (line["number"].as_u64() < Some(4))));
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["samples"], &last["earlier"]),
        (&12.into(), &9.into())
    );
    let (_, csv, _) = lab(&here, &["lab.toml", "--samples", "4", "--format", "csv"]);
    assert!(
        csv.lines().next().unwrap().contains(",answered,earlier,"),
        "{csv}"
    );
    assert_eq!(kept(), 12);
}

#[test]
fn an_assertion_about_a_script_that_was_rewritten_is_not_judged_by_the_old_one() {
    let here = here("[[assert]]\nwording = \"nearest\"\nat_least = 0.9\n");
    let (code, _, err) = lab(&here, &["lab.toml", "--assert"]);
    assert_eq!((code, err.contains("earlier run")), (0, false), "{err}");
    let (code, _, err) = lab(&here, &["lab.toml", "--assert"]);
    assert_eq!(code, 0);
    let said = err
        .lines()
        .filter(|line| line.contains("9 of 9 samples are from an earlier run"));
    assert_eq!(said.count(), 1, "{err}");
    let silent = "name = \"story\"\n[[rule]]\ntext = \"I cannot.\"\n";
    std::fs::write(here.path().join("s.script.toml"), silent).unwrap();
    let (code, _, err) = lab(&here, &["lab.toml", "--assert"]);
    assert_eq!((code, err.contains("earlier run")), (1, false), "{err}");
}

#[test]
fn a_finding_that_cannot_be_tried_is_reported_and_nothing_is_asserted_of_it() {
    let two = "[[model]]\ndialect = \"anthropic\"\nname = \"other\"\nscript = \"s.script.toml\"\n\
        [[assert]]\nwording = \"nearest\"\nat_least = 0.3\n";
    // A call of a tool on offer, whose arguments are no JSON: Anthropic cannot be told of it.
    let broken = STORY.replacen("serch_flights", "search_flights", 1);
    let broken = broken.replacen("\\\"LIS\\\"}", "", 1);
    let here = here(two);
    std::fs::write(here.path().join("broken.json"), &broken).unwrap();
    let spec = spec(two);
    let with = |more: &str| {
        let more = format!("rule = \"unknown-tool\"\n[[finding]]\npath = \"broken.json\"\n{more}");
        spec.replacen("rule = \"unknown-tool\"\n", &more, 1)
    };
    std::fs::write(here.path().join("more.toml"), with("")).unwrap();
    let (code, json, err) = lab(&here, &["more.toml", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(err.matches("left out: broken.json").count(), 1, "{err}");
    let lines = lines(&json);
    let left_out: Vec<_> = lines
        .iter()
        .filter(|line| line["type"] == "left-out")
        .collect();
    assert_eq!(left_out.len(), 1, "{json}");
    let of = |key: &str| left_out[0][key].as_str().unwrap();
    assert_eq!((of("path"), of("model")), ("broken.json", "other"));
    for format in ["text", "html", "csv"] {
        let (_, report, _) = lab(&here, &["more.toml", "--format", format]);
        assert!(
            report.contains("left") && report.contains("broken.json"),
            "{report}"
        );
    }
    // Another model is asked about it: only the strict miss it.
    assert_eq!(lab(&here, &["more.toml", "--assert"]).0, 0);
    // Nobody is asked about it.
    let only = with("").replace("dialect = \"chat\"", "dialect = \"anthropic\"");
    std::fs::write(here.path().join("only.toml"), only).unwrap();
    let (code, _, err) = lab(&here, &["only.toml", "--assert"]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("nothing is asserted about"), "{err}");
}

#[test]
fn assertions_decide_the_exit_code() {
    let holds = "[[assert]]\nwording = \"nearest\"\nat_least = 0.3\n";
    assert_eq!(lab(&here(holds), &["lab.toml", "--assert"]).0, 0);
    let reached = "[[assert]]\nwording = \"nearest\"\nat_least = 0.9\n";
    let reached = here(reached);
    assert_eq!(lab(&reached, &["lab.toml", "--assert"]).0, 0);
    assert_eq!(lab(&reached, &["lab.toml", "--assert", "--strict"]).0, 1);
    let fails = "[[assert]]\nwording = \"bare\"\nat_least = 0.9\n";
    let fails = here(fails);
    let (code, out, _) = lab(&fails, &["lab.toml", "--assert", "--color", "never"]);
    assert_eq!(code, 1);
    assert!(out.contains("fails"), "{out}");
    assert_eq!(
        lab(&fails, &["lab.toml"]).0,
        0,
        "only told without --assert"
    );
}

#[test]
fn a_spec_that_cannot_be_used_costs_no_question() {
    for more in [
        "nonsense = 1\n",
        "[[assert]]\nwording = \"neerest\"\nat_least = 0.5\n",
    ] {
        let here = here(more);
        let (code, out, err) = lab(&here, &["lab.toml", "--assert"]);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(!here.path().join("journals").exists());
    }
}

#[test]
fn a_model_that_cannot_be_asked_is_the_model_s_failure() {
    let here = here("");
    let script = here.path().join("s.script.toml");
    std::fs::write(
        script,
        "name = \"story\"\n[[rule]]\nstatus = 401\nerror = \"no key\"\n",
    )
    .unwrap();
    let (code, _, err) = lab(&here, &["lab.toml"]);
    assert_eq!(code, 4, "{err}");
}

#[test]
fn a_plan_asks_nobody() {
    let here = here("");
    let (code, out, err) = lab(&here, &["lab.toml", "--dry-run"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("9 requests at most"), "{out}");
    assert!(out.contains("serch_flights"), "{out}");
    assert!(!here.path().join("journals").exists());
}

#[test]
fn a_recording_and_a_model_are_an_experiment_too() {
    let here = here("");
    let words = [
        "story.json",
        "--model",
        "s.script.toml",
        "--wording",
        "nearest",
        "--samples",
        "2",
    ];
    let (code, out, err) = lab(&here, &words);
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("[scripted]") && out.contains("nearest"),
        "{out}"
    );
}

#[test]
fn the_winner_becomes_a_policy_a_recipe_and_a_spec() {
    let here = here("");
    for (form, part) in [
        ("policy", "[on.unknown-tool]"),
        ("openai-agents", "import"),
        ("spec", "[[assert]]"),
    ] {
        let (code, out, err) = lab(&here, &["lab.toml", "--winner", form]);
        assert_eq!(code, 0, "{err}");
        assert!(out.contains(part), "{form}: {out}");
    }
}

/// A spec that wants these wordings.
fn wanting(here: &TempDir, wordings: &str) {
    let spec = spec("").replace("named = [\"nearest\", \"bare\"]", wordings);
    std::fs::write(here.path().join("lab.toml"), spec).unwrap();
}

#[test]
fn names_that_nothing_has_and_names_of_others_are_refused_before_anything_is_sent() {
    let here = here("");
    let add = |name: &str| format!("[[wordings.add]]\nname = \"{name}\"\ntext = \"No.\"");
    for (wordings, told) in [
        (
            "named = [\"nearst\", \"nearest\"]".to_owned(),
            "no wording `nearst` is known; did you mean `nearest`?",
        ),
        (
            "recorded = false\nnamed = [\"only-json\"]".to_owned(),
            "no wording `only-json` is known",
        ),
        (
            add("recorded"),
            "`recorded` in [[wordings.add]] is the name of another wording",
        ),
        (
            add("nearest"),
            "`nearest` in [[wordings.add]] is the name of another wording",
        ),
    ] {
        wanting(&here, &wordings);
        for more in [&["lab.toml", "--dry-run"][..], &["lab.toml"]] {
            let (code, out, err) = lab(&here, more);
            assert_eq!((code, out.as_str()), (2, ""), "{wordings}: {err}");
            assert!(err.contains(told), "{wordings}: {err}");
        }
    }
    wanting(&here, &format!("named = [\"bare\"]\n{}", add("nearest")));
    let (code, out, err) = lab(&here, &["lab.toml", "--dry-run"]);
    assert_eq!(code, 0, "the nearest of the library is not tried: {err}");
    assert!(out.contains("nearest (spec)"), "{out}");
}

#[test]
fn a_finding_for_which_no_wording_is_left_is_no_trial() {
    let here = here("");
    // It is one for arguments.
    let other = "named = [\"with-schema\"]";
    wanting(&here, other);
    let (code, out, err) = lab(&here, &["lab.toml", "--dry-run"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains("with-schema is not a wording for unknown-tool"),
        "{err}"
    );
    assert!(out.contains("1 wordings in all"), "{out}");
    wanting(&here, &format!("recorded = false\n{other}"));
    let (code, out, err) = lab(&here, &["lab.toml"]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("no wording can be tried"), "{err}");
    assert!(!here.path().join("journals").exists());
}

#[test]
fn a_tool_that_is_meant_and_not_on_offer_is_told() {
    let here = here("");
    let spec = spec("").replace("[wordings]", "meant = \"serch_flight\"\n[wordings]");
    std::fs::write(here.path().join("lab.toml"), &spec).unwrap();
    let (code, _, err) = lab(&here, &["lab.toml", "--dry-run"]);
    assert_eq!(code, 0, "{err}");
    let told = "serch_flight, which is meant, is not on offer; did you mean search_flights?";
    assert!(err.contains(told), "{err}");
    let spec = spec.replace("serch_flight\"", "search_flights\"");
    std::fs::write(here.path().join("lab.toml"), spec).unwrap();
    let (_, _, err) = lab(&here, &["lab.toml", "--dry-run"]);
    assert!(!err.contains("not on offer"), "{err}");
}

#[test]
fn where_nothing_was_corrected_nothing_won_and_a_trial_that_is_not_there_costs_nothing() {
    let here = here("");
    let script = "name = \"story\"\n[[rule]]\ntext = \"I give up.\"\n";
    std::fs::write(here.path().join("s.script.toml"), script).unwrap();
    let absent = ["lab.toml", "--winner", "policy", "--trial", "9"];
    let (code, out, err) = lab(&here, &absent);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("there is no trial 9; there are 1"), "{err}");
    assert!(!here.path().join("journals").exists(), "nobody was asked");
    for form in ["policy", "openai-agents", "spec"] {
        let (code, out, err) = lab(&here, &["lab.toml", "--winner", form]);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains("so nothing won"), "{err}");
    }
    let (_, out, _) = lab(&here, &["lab.toml"]);
    assert!(out.contains("no answer was corrected"), "{out}");
    assert!(!out.contains("has the highest rate"), "{out}");
}

#[test]
fn a_test_of_the_winner_is_of_the_recording_of_its_trial() {
    let here = here("");
    let other = STORY.replace("A flight to", "Any flight to");
    std::fs::write(here.path().join("b-story.json"), other).unwrap();
    let other = "[[finding]]\npath = \"b-story.json\"\nrule = \"unknown-tool\"\n[wordings]";
    let spec = spec("").replace("[wordings]", other);
    std::fs::write(here.path().join("lab.toml"), spec).unwrap();
    let words = ["lab.toml", "--trial", "2", "--winner", "spec"];
    let (code, out, err) = lab(&here, &words);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("path = \"b-story.json\""), "{out}");
}

#[test]
fn with_fewer_samples_than_before_only_as_many_are_reported() {
    let here = here("");
    lab(&here, &["lab.toml"]);
    let (code, out, err) = lab(&here, &["lab.toml", "--samples", "2"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("6 of 6 samples"), "{out}");
}
