//! What the model reads of a command: its standard output, or what went wrong in a text that is never empty.

use super::capture::CapturedText;
use super::supervisor::{EndReason, Ended};
use retake_core::session::ledger::CallFailure;
use rustix::io::Errno;
use std::fmt::Write;
use std::time::Duration;

/// What came of a command, in words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ToolOutput {
    pub(crate) output: String,
    pub(crate) failure: Option<CallFailure>,
}

impl ToolOutput {
    /// Begins with `Error:`, which is how an output that no provider marks is known as an error.
    pub(crate) fn failed(failure: CallFailure, words: &str) -> Self {
        Self {
            output: format!("Error: {words}"),
            failure: Some(failure),
        }
    }
}

/// Exit code of a shell that found a program which it may not run (POSIX, Shell Command Language 2.8.2).
const NOT_EXECUTABLE: i32 = 126;

/// A command that ended.
pub(crate) fn ended(
    ended: &Ended,
    timeout: Duration,
    stdout: &CapturedText,
    stderr: &CapturedText,
) -> ToolOutput {
    let hint = Hint::read(&stdout.text);
    let mut words = match (ended.why, ended.code, ended.signal) {
        (EndReason::Timeout, ..) => {
            let killed = if ended.was_killed {
                "; it did not end after SIGTERM, and was killed"
            } else {
                ""
            };
            let limit = seconds(timeout);
            ToolOutput::failed(
                CallFailure::Timeout,
                &format!("the tool timed out: it was stopped after {limit}{killed}"),
            )
        }
        (EndReason::Stopped, ..) => stopped(),
        (EndReason::ByItself, Some(0), _) => ToolOutput {
            output: stdout.text.clone(),
            failure: None,
        },
        (EndReason::ByItself, Some(code), _) => {
            let usual = if code == NOT_EXECUTABLE {
                CallFailure::Permission
            } else {
                CallFailure::Reported
            };
            let detail = hint.as_ref().map(|hint| hint.message.as_str());
            let detail = detail.filter(|message| !message.is_empty());
            let detail = detail.map_or_else(String::new, |message| format!(": {message}"));
            ToolOutput::failed(
                hint.as_ref().map_or(usual, |hint| hint.kind),
                &format!("the tool ended with exit code {code}{detail}"),
            )
        }
        (EndReason::ByItself, None, signal) => {
            ToolOutput::failed(CallFailure::Unknown, &by_signal(signal))
        }
    };
    if words.failure.is_some() {
        add_stream(&mut words.output, "stderr", &stderr.text);
        if hint.is_none() || ended.why != EndReason::ByItself {
            add_stream(&mut words.output, "stdout", &stdout.text);
        }
    }
    let shown = if words.failure.is_some() {
        stdout.marks + stderr.marks
    } else {
        stdout.marks
    };
    add_notes(&mut words.output, shown, ended);
    words
}

/// A command that the operator stopped, or called off.
pub(crate) fn stopped() -> ToolOutput {
    ToolOutput::failed(
        CallFailure::Stopped,
        "aborted by user: the tool was stopped before it ended",
    )
}

fn by_signal(signal: Option<i32>) -> String {
    match signal {
        Some(signal) => match name_of_signal(signal) {
            Some(name) => format!("the tool was ended by signal {signal} ({name})"),
            None => format!("the tool was ended by signal {signal}"),
        },
        None => "the tool ended, and the system does not say how".to_owned(),
    }
}

/// A command that the system did not start.
pub(crate) fn not_started(program: &str, errno: Option<i32>, words: &str) -> ToolOutput {
    let errno = errno.map(Errno::from_raw_os_error);
    let (failure, why) = match errno {
        Some(Errno::NOENT) => (
            CallFailure::Unknown,
            "it was not found, or the interpreter that it names was not".to_owned(),
        ),
        Some(Errno::ACCESS | Errno::PERM) => (
            CallFailure::Permission,
            "permission denied: it may not be executed".to_owned(),
        ),
        Some(Errno::TOOBIG) => (
            CallFailure::Unknown,
            "its command line and environment are longer than the system takes".to_owned(),
        ),
        Some(Errno::NOMEM) => (
            CallFailure::Unknown,
            "the system is out of memory".to_owned(),
        ),
        Some(Errno::NOEXEC) => (
            CallFailure::Unknown,
            "it is not a program that the system knows, and has no `#!` line".to_owned(),
        ),
        _ => (CallFailure::Unknown, words.to_owned()),
    };
    ToolOutput::failed(
        failure,
        &format!("the tool could not be started: `{program}`: {why}"),
    )
}

/// What a tool says about its own failure, as JSON on its standard output: `{"error":
/// {"kind": "timeout", "message": "..."}}`.
#[derive(Debug, PartialEq, Eq)]
struct Hint {
    kind: CallFailure,
    message: String,
}

impl Hint {
    const KINDS: [CallFailure; 3] = [
        CallFailure::Timeout,
        CallFailure::Connection,
        CallFailure::Permission,
    ];

    fn read(stdout: &str) -> Option<Self> {
        let value = serde_json::from_str::<serde_json::Value>(stdout).ok()?;
        let error = value.get("error")?;
        let word = error.get("kind")?.as_str()?;
        let kind = Self::KINDS.into_iter().find(|kind| kind.word() == word)?;
        let message = error.get("message").and_then(serde_json::Value::as_str);
        Some(Self {
            kind,
            message: message.unwrap_or_default().to_owned(),
        })
    }
}

pub(crate) fn add_stream(output: &mut String, name: &str, text: &str) {
    let text = text.trim_end();
    if !text.is_empty() {
        // Writing to a string cannot fail.
        let _infallible = write!(output, "\n{name}:\n{text}");
    }
}

fn add_notes(output: &mut String, marks: u64, ended: &Ended) {
    let mut notes = Vec::new();
    if marks > 0 {
        notes.push(format!(
            "{marks} places that are no UTF-8 text, or NUL, are shown as \u{FFFD}"
        ));
    }
    if !ended.left.is_empty() {
        notes.push(format!(
            "processes that the tool left running were ended: {}",
            ended.left
        ));
    }
    if !ended.remain.is_empty() {
        notes.push(format!(
            "processes of the tool that could not be ended: {}",
            ended.remain
        ));
    }
    for note in notes {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        // Writing to a string cannot fail.
        let _infallible = writeln!(output, "[{note}]");
    }
}

fn seconds(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

/// Signals that have the same number on every system that retake runs on.
fn name_of_signal(signal: i32) -> Option<&'static str> {
    let names = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
    ];
    let found = names.iter().find(|(number, _)| *number == signal)?;
    Some(found.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> CapturedText {
        CapturedText {
            text: text.to_owned(),
            ..CapturedText::default()
        }
    }

    fn by_itself(code: i32) -> Ended {
        Ended {
            code: Some(code),
            ..Ended::default()
        }
    }

    fn output_of(of: &Ended, stdout: &str, stderr: &str) -> ToolOutput {
        ended(of, Duration::from_secs(30), &text(stdout), &text(stderr))
    }

    #[test]
    fn a_success_is_its_standard_output_and_nothing_else() {
        let words = output_of(&by_itself(0), "{\"ok\": true}\n", "a warning");
        assert_eq!(words.output, "{\"ok\": true}\n");
        assert_eq!(words.failure, None);
        assert_eq!(output_of(&by_itself(0), "", "").output, "");
    }

    #[test]
    fn a_failure_tells_its_code_and_both_streams() {
        let words = output_of(&by_itself(3), "half\n", "boom\n");
        assert_eq!(
            words.output,
            "Error: the tool ended with exit code 3\nstderr:\nboom\nstdout:\nhalf"
        );
        assert_eq!(words.failure, Some(CallFailure::Reported));
        assert_eq!(
            output_of(&by_itself(1), "", "").output,
            "Error: the tool ended with exit code 1"
        );
        assert_eq!(
            output_of(&by_itself(126), "", "").failure,
            Some(CallFailure::Permission)
        );
    }

    #[test]
    fn a_failing_tool_may_say_what_kind_of_failure_it_was() {
        for (kind, failure) in [
            ("timeout", CallFailure::Timeout),
            ("connection", CallFailure::Connection),
            ("permission", CallFailure::Permission),
            ("stopped", CallFailure::Reported),
        ] {
            let stdout =
                format!("{{\"error\":{{\"kind\":\"{kind}\",\"message\":\"no route\"}}}}\n");
            let words = output_of(&by_itself(75), &stdout, "");
            assert_eq!(words.failure, Some(failure));
            assert!(words.output.contains("no route"), "{}", words.output);
            assert_eq!(
                output_of(&by_itself(0), &stdout, "").failure,
                None,
                "it succeeded"
            );
        }
    }

    #[test]
    fn what_was_left_running_is_named() {
        let mut ended = by_itself(0);
        ended.left = "sleep (42)".to_owned();
        assert_eq!(
            output_of(&ended, "done", "").output,
            "done\n[processes that the tool left running were ended: sleep (42)]\n"
        );
    }

    #[test]
    fn every_way_to_fail_reads_differently() {
        let signal = Ended {
            signal: Some(9),
            ..Ended::default()
        };
        let why = |why| Ended {
            why,
            ..Ended::default()
        };
        let mut texts = vec![
            output_of(&by_itself(1), "", ""),
            output_of(&signal, "", ""),
            output_of(&why(EndReason::Timeout), "", ""),
            output_of(&why(EndReason::Stopped), "", ""),
        ];
        for errno in [
            Errno::NOENT,
            Errno::ACCESS,
            Errno::TOOBIG,
            Errno::NOMEM,
            Errno::NOEXEC,
        ] {
            texts.push(not_started("tool", Some(errno.raw_os_error()), "words"));
        }
        texts.push(not_started("tool", None, "words"));
        let mut outputs = texts.iter().map(|words| &words.output).collect::<Vec<_>>();
        outputs.sort();
        outputs.dedup();
        assert_eq!(outputs.len(), texts.len());
        assert!(
            texts
                .iter()
                .all(|words| words.output.starts_with("Error: "))
        );
    }
}
