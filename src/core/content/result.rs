//! What a result says, without what its runtime wraps it in.

use crate::json::complete;
use serde_json::Value;
use std::borrow::Cow;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultText<'a> {
    pub text: Cow<'a, str>,
    /// The exit status of a program, where the wrapping says it.
    pub exit: Option<i64>,
    /// The session of a program that still runs, as Codex names it.
    pub session: Option<&'a str>,
    /// How long the program ran, in milliseconds, where lines before the output say it.
    pub took: Option<u64>,
}

impl<'a> ResultText<'a> {
    /// A text that nothing is wrapped around.
    pub fn of(text: Cow<'a, str>) -> Self {
        Self {
            text,
            exit: None,
            session: None,
            took: None,
        }
    }
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

/// What Codex writes about a command before its output, a line each.
const ABOUT: [&str; 7] = [
    "Chunk ID: ",
    "Exit code: ",
    "Original token count: ",
    "Process exited with code ",
    RUNNING,
    "Total output lines: ",
    "Wall time: ",
];

/// What it writes of one that has not ended.
const RUNNING: &str = "Process running with session ID ";

/// The result of a command of Codex: lines about it, then `Output:` and what it printed.
fn after_heading(text: &str) -> Option<ResultText<'_>> {
    let (mut rest, mut result) = (text, ResultText::of(Cow::Borrowed("")));
    loop {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        if line == "Output:" {
            result.text = Cow::Borrowed(after);
            let is_known = result.exit.is_some() || result.session.is_some();
            return is_known.then_some(result);
        }
        let about = ABOUT.iter().find(|about| line.starts_with(**about))?;
        let value = line[about.len()..].trim();
        match *about {
            RUNNING => result.session = Some(value),
            "Exit code: " | "Process exited with code " => result.exit = value.parse().ok(),
            "Wall time: " => {
                let seconds: Option<f64> = value.split(' ').next().and_then(|it| it.parse().ok());
                result.took = seconds.map(|seconds| (seconds * 1e3) as u64);
            }
            _ => {}
        }
        rest = after;
    }
}

/// Takes a result out of `{"output": "...", "metadata": {"exit_code": 0}}`, as Codex and others write it, or from below
/// the lines that Codex writes about a command. The text may break off.
pub fn result_text(text: &str) -> ResultText<'_> {
    if let Some(result) = after_heading(text) {
        return result;
    }
    let whole = ResultText::of(Cow::Borrowed(text));
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
        exit: exits.into_iter().flatten().find_map(Value::as_i64),
        ..ResultText::of(match stderr {
            Some(stderr) => Cow::Owned(format!("{printed}\n{stderr}")),
            None => Cow::Owned(printed.to_owned()),
        })
    }
}

/// The exit code of a command whose call failed, as its runtime writes it: Claude Code before what was printed.
pub fn exit_of_failure(text: &str) -> Option<i64> {
    let code = || {
        let rest = text.trim_start().strip_prefix("Exit code ")?;
        rest.lines().next()?.trim().parse().ok()
    };
    result_text(text)
        .exit
        .or_else(code)
        .filter(|code| *code != 0)
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
            (
                "Chunk ID: 7\nWall time: 0.5 seconds\nProcess exited with code 1\nOriginal token count: 1\nOutput:\nOutput:\nx",
                "Output:\nx",
                Some(1),
            ),
            ("Exit code: 0\nWall time: 0 seconds\nOutput:\n", "", Some(0)),
            (
                "Chunk ID: 7\nWall time: 10.0 seconds\nProcess running with session ID 5\nOutput:\nx",
                "x",
                None,
            ),
            (
                "Exit code: 0\nx\nOutput:\n",
                "Exit code: 0\nx\nOutput:\n",
                None,
            ),
            ("Output:\nx", "Output:\nx", None),
            ("plain", "plain", None),
            (r#"{"output":{"a":1}}"#, r#"{"output":{"a":1}}"#, None),
        ];
        for (text, expected, exit) in table {
            let result = result_text(text);
            assert_eq!((&*result.text, result.exit), (expected, exit), "{text}");
        }
    }
}
