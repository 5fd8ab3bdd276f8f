//! The official JSON Schema test suite: no wrong verdict; what the guard refuses counts as "cannot check".
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use retake_core::schema::Validator;
use serde_json::{Value, json};

/// Files and cases whose verdict differs on purpose.
const DIFFERENT: &[(&str, &str)] = &[];

#[derive(Debug, Default)]
struct Score {
    right: usize,
    cannot_check: usize,
    reasons: std::collections::BTreeMap<String, usize>,
    wrong: Vec<String>,
}

#[test]
fn draft_7_has_no_wrong_verdict() {
    judge(
        "json_schema_draft7.json",
        "http://json-schema.org/draft-07/schema#",
        880,
    );
}

#[test]
fn draft_2020_12_has_no_wrong_verdict() {
    judge(
        "json_schema_draft2020-12.json",
        "https://json-schema.org/draft/2020-12/schema",
        1100,
    );
}

fn judge(file: &str, draft: &str, least_right: usize) {
    let path = format!("../shared/suites/{file}");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {path} is absent");
        return;
    };
    let tests: Vec<Value> = serde_json::from_str(&text).unwrap();
    let mut score = Score::default();
    // `format` is an annotation for us, and optional tests are optional.
    for test in tests
        .iter()
        .filter(|test| test["optional"] == false && test["format"] == false)
    {
        judge_one(test, draft, &mut score);
    }
    let wrong = score.wrong.len();
    eprintln!(
        "{file}: {} right, {} cannot check, {wrong} wrong",
        score.right, score.cannot_check
    );
    eprintln!("{:#?}", score.reasons);
    assert!(score.wrong.is_empty(), "{:#?}", score.wrong);
    assert!(score.right >= least_right, "only {} right", score.right);
}

fn judge_one(test: &Value, draft: &str, score: &mut Score) {
    let mut schema = test["schema"].clone();
    if let Value::Object(object) = &mut schema {
        object.entry("$schema").or_insert_with(|| json!(draft));
    }
    let name = format!("{}: {}: {}", test["file"], test["case"], test["test"]);
    let validator = match Validator::compile(&schema) {
        Ok(validator) => validator,
        Err(refused) => {
            score.cannot_check += 1;
            *score
                .reasons
                .entry(format!("{} {refused}", test["file"]))
                .or_default() += 1;
            return;
        }
    };
    let verdict = validator.is_valid(&test["data"]).unwrap();
    let violations = validator.violations(&test["data"]).unwrap();
    assert_eq!(
        verdict,
        violations.is_empty(),
        "{name}: the two paths disagree"
    );
    let listed = DIFFERENT
        .iter()
        .any(|(file, case)| test["file"] == *file && test["case"] == *case);
    if verdict == test["valid"].as_bool().unwrap() || listed {
        score.right += 1;
    } else {
        score.wrong.push(name);
    }
}
