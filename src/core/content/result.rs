//! What a result says, without what its runtime wraps it in.

use crate::json::complete;
use serde_json::Value;
use std::borrow::Cow;

/// The text of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultText<'a> {
    pub text: Cow<'a, str>,
    /// The exit status of a program, where the wrapping says it.
    pub exit: Option<i64>,
}

/// Members that may stand beside the output: more of them, and the object is the result itself.
const BESIDE: &[&str] = &[
    "metadata",
    "exit_code",
    "exitCode",
    "stderr",
    "stdout",
    "output",
    "success",
    "status",
    "duration_seconds",
];

/// Takes a result out of `{"output": "...", "metadata": {"exit_code": 0}}`, as Codex and others write it. The text
/// may break off.
pub fn result_text(text: &str) -> ResultText<'_> {
    let whole = ResultText {
        text: Cow::Borrowed(text),
        exit: None,
    };
    if !text.trim_start().starts_with('{') {
        return whole;
    }
    let value =
        serde_json::from_str(text).or_else(|_| serde_json::from_slice(&complete(text.as_bytes())));
    let Ok(Value::Object(members)) = value else {
        return whole;
    };
    if !members.keys().all(|key| BESIDE.contains(&key.as_str())) {
        return whole;
    }
    let member = |key: &str| members.get(key).and_then(Value::as_str);
    let printed = member("output").or_else(|| member("stdout"));
    let Some(printed) = printed else {
        return whole;
    };
    let stderr = member("stderr").filter(|text| !text.is_empty());
    let exits = [
        Some(&members).and_then(|it| it.get("metadata")?.get("exit_code")),
        members.get("exit_code"),
        members.get("exitCode"),
    ];
    ResultText {
        text: match stderr {
            Some(stderr) => Cow::Owned(format!("{printed}\n{stderr}")),
            None => Cow::Owned(printed.to_owned()),
        },
        exit: exits.into_iter().flatten().find_map(Value::as_i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_taken_out_of_its_wrapping() {
        let table = [
            (
                r#"{"output":"a\nb","metadata":{"exit_code":1,"duration_seconds":0.1}}"#,
                "a\nb",
                Some(1),
            ),
            (
                r#"{"stdout":"x","stderr":"y","exitCode":0}"#,
                "x\ny",
                Some(0),
            ),
            (r#"{"output":"breaks o"#, "breaks o", None),
            (
                r#"{"output":"x","flights":[]}"#,
                r#"{"output":"x","flights":[]}"#,
                None,
            ),
            ("plain", "plain", None),
            (r#"{"output":{"a":1}}"#, r#"{"output":{"a":1}}"#, None),
        ];
        for (text, expected, exit) in table {
            let result = result_text(text);
            assert_eq!((&*result.text, result.exit), (expected, exit), "{text}");
        }
    }
}
