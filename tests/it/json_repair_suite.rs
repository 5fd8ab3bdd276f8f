//! What two repair projects' own tests say about our guesses. The projects disagree with each other, so the score is printed and
//! held above a floor; that nothing panics and that only JSON comes out is required.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::time::{Duration, Instant};

use base64::Engine as _;
use retake::repair::{Repair, decoded_twice, defects, first_error, repair};
use serde_json::Value;

fn suite(file: &str) -> Vec<Value> {
    let path = format!("../shared/suites/{file}");
    match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).unwrap(),
        Err(_) => {
            eprintln!("skipped: {path} is absent");
            Vec::new()
        }
    }
}

/// The value that a text means: for sure, probably, or (of two readings) perhaps.
#[derive(Debug, Default)]
struct Score {
    valid: usize,
    likely_right: usize,
    likely_wrong: Vec<String>,
    one_right: usize,
    one_wrong: usize,
    either_right: usize,
    disagree_wrong: usize,
    none_right: usize,
    none_wrong: usize,
}

impl Score {
    fn add(&mut self, input: &str, expected: Option<&Value>) {
        let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
        let right = |text: &str| expected.is_some() && parsed(text).as_ref() == expected;
        match checked(input) {
            Repair::Valid => self.valid += 1,
            Repair::Likely { text } if right(&text) => self.likely_right += 1,
            Repair::Likely { text } => self
                .likely_wrong
                .push(format!("{input:?} -> {text:?}, wanted {expected:?}")),
            Repair::OneOpinion { text } if right(&text) => self.one_right += 1,
            Repair::OneOpinion { .. } => self.one_wrong += 1,
            Repair::Disagree { a, b } if right(&a) || right(&b) => self.either_right += 1,
            Repair::Disagree { .. } => self.disagree_wrong += 1,
            Repair::None if expected.is_none() => self.none_right += 1,
            Repair::None => self.none_wrong += 1,
        }
    }
}

/// Repairs a text and checks what must hold for every text.
fn checked(input: &str) -> Repair {
    let started = Instant::now();
    let repaired = repair(input);
    let (defects, error) = (defects(input), first_error(input));
    let took = started.elapsed();
    assert!(
        took < Duration::from_secs(2),
        "{took:?} for {} bytes",
        input.len()
    );
    assert_eq!(repaired == Repair::Valid, error.is_none(), "{input:?}");
    assert_eq!(
        error.is_some(),
        !defects.is_empty() && decoded_twice(input).is_none(),
        "{input:?}: {defects:?}"
    );
    if let Some(error) = error {
        assert!(input.is_char_boundary(error.byte), "{input:?}");
    }
    let texts = match &repaired {
        Repair::Likely { text } | Repair::OneOpinion { text } => vec![text],
        Repair::Disagree { a, b } => vec![a, b],
        Repair::Valid | Repair::None => vec![],
    };
    for text in texts {
        assert_eq!(first_error(text), None, "{input:?} became {text:?}");
    }
    repaired
}

#[test]
fn the_javascript_suite_is_never_wrong_where_both_agree() {
    let cases = suite("jsonrepair_js.json");
    if cases.is_empty() {
        return;
    }
    let mut score = Score::default();
    for case in &cases {
        let expected = case["output"]
            .as_str()
            .and_then(|text| serde_json::from_str::<Value>(text).ok());
        score.add(case["input"].as_str().unwrap(), expected.as_ref());
    }
    eprintln!("jsonrepair_js: {} cases, {score:#?}", cases.len());
    // Fifty cases turn plain words into a JSON string, which is refused here: arguments are never that.
    assert!(score.likely_right >= 281, "{}", score.likely_right);
    assert!(score.likely_wrong.is_empty(), "{:#?}", score.likely_wrong);
}

#[test]
fn the_python_suite_is_survived() {
    let cases = suite("json_repair_py.json");
    let mut score = Score::default();
    // Cases with a schema or in strict mode ask for more than a repair.
    let plain = |case: &&Value| {
        ["schema", "strict", "stream_stable", "logging"]
            .iter()
            .all(|name| case["kwargs"].get(name).is_none())
    };
    for case in cases.iter().filter(plain) {
        let expected = match &case["result"] {
            Value::String(text) if case["kwargs"].get("return_objects").is_none() => {
                serde_json::from_str(text).ok()
            }
            other => Some(other.clone()),
        };
        score.add(case["input"].as_str().unwrap(), expected.as_ref());
    }
    let wrong = score.likely_wrong.drain(..).count();
    eprintln!("json_repair_py: {wrong} likely but not what that project wants, {score:?}");
    assert!(
        cases.is_empty() || score.likely_right >= 90,
        "{}",
        score.likely_right
    );
    cases
        .iter()
        .for_each(|case| drop(checked(case["input"].as_str().unwrap())));
}

#[test]
fn the_parsing_suite_is_judged_by_the_grammar() {
    for case in suite("json_test_suite.json") {
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(case["bytes_b64"].as_str().unwrap())
            .unwrap();
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        let valid = checked(&text) == Repair::Valid;
        match case["expect"].as_str().unwrap() {
            "accept" => assert!(valid, "{}", case["name"]),
            "reject" => assert!(!valid, "{}", case["name"]),
            _ => {}
        }
    }
}
