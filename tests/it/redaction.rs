//! Made-up secrets in every place where a run can hold one: none is left in what would be written, and all of them come back on the wire.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use retake_core::redact::{Redactor, Vault};
use serde_json::Value;
use std::process::Command;

fn cases() -> Option<Vec<Value>> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("cases.json");
    let made = Command::new("python3")
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/it/hostile/gen_redaction.py"
        ))
        .arg(&out)
        .output();
    match made {
        Ok(made) if made.status.success() => {
            let cases: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
            Some(cases["cases"].as_array().unwrap().clone())
        }
        Ok(made) => panic!("{}", String::from_utf8_lossy(&made.stderr)),
        Err(error) => {
            eprintln!(
                "skipped: the secrets are made up by a Python program, and python3 does not run: {error}"
            );
            None
        }
    }
}

/// What retake would write of it: JSON where it is JSON, pieces of a stream put together first, anything else as text.
fn written(carrier: &str, place: &str, vault: &mut Vault) -> (String, String) {
    let redactor = Redactor::default();
    let whole = match place {
        "sse_deltas" | "chunks" => {
            let pieces: Vec<String> = serde_json::from_str(carrier).unwrap();
            pieces.concat()
        }
        _ => carrier.to_owned(),
    };
    let is_json = whole.starts_with(['{', '[']) && place != "sse_deltas";
    let redacted = if is_json {
        String::from_utf8(redactor.json(whole.as_bytes(), vault).into_owned()).unwrap()
    } else {
        redactor.text(&whole, vault).into_owned()
    };
    (whole, redacted)
}

#[test]
fn no_made_up_secret_is_written_and_each_comes_back_on_the_wire() {
    let Some(cases) = cases() else { return };
    let mut wrong = Vec::new();
    for case in &cases {
        let text = |key: &str| case[key].as_str().unwrap_or_default();
        let mut vault = Vault::default();
        let (whole, redacted) = written(text("carrier"), text("place"), &mut vault);
        assert_eq!(
            vault.restored(redacted.as_bytes()),
            whole.as_bytes(),
            "{}",
            text("id")
        );
        let decoded = serde_json::from_str::<Value>(&redacted).map(|value| value.to_string());
        let decoded = decoded.unwrap_or_default();
        let secret = text("secret");
        let is_right = match text("must") {
            "kept" => redacted == whole,
            "body_gone" => {
                redacted.len() < whole.len() && redacted.contains("[redacted private key")
            }
            _ => {
                !redacted.contains(secret)
                    && !decoded.contains(secret)
                    && text("also").is_empty() | !redacted.contains(text("also"))
            }
        };
        if !is_right {
            wrong.push(format!("{} {}: {redacted}", text("id"), text("name")));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}
