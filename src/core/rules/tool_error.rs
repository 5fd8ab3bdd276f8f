//! tool-error: the output of a call reports an error.

use super::error_class::{TRACEBACK, is_own, return_code};
use super::{CheckedItem, ErrorClass, Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::{Offer, quote};
use crate::content::{has_colours, result_text, terminal_lines};
use crate::session::Kind;
use std::borrow::Cow;

pub(crate) static RULE: Rule = Rule {
    id: "tool-error",
    severity: Severity::Warning,
    summary: "the output of a call is an error",
    message: "[{tool} ]failed[: {failure}]",
    page: RulePage {
        what: "The output says that the call failed: unknown tool, bad arguments, exception, timeout, \
            connection, permission, rejected, interrupted, switched off.",
        why: "The model has to recover from what it reads there; a text that does not say what was wrong is how \
            loops begin.",
        example: "Error: user not found",
        what_to_do: "Often nothing. If the model did not recover, inject another text, or try other wordings of \
            it in the lab.",
        limits: "Recognised by the recording's own mark, by what a run of retake saw, by how the texts of known \
            runtimes begin, by a status of HTTP, or by an output that is nothing but a shell's complaint or a \
            traceback. An error that a tool tells in its own words is not seen; a command that ended with an \
            exit code is one where Claude Code, Codex or mini-swe-agent ran it. In Codex, exit code 1 without \
            any output is none: a search found nothing. Nor is what retake itself answered about a call.",
    },
    offers: &[
        Offer::manual("inject-error"),
        Offer::manual("edit"),
        Offer::manual("supply-output"),
        Offer::unsafe_("retry"),
        Offer::unsafe_("fallback"),
    ],
    scope: Scope::Item {
        kinds: &[Kind::Output, Kind::HostedOutput],
        glance: |_| true,
        check,
    },
};

fn check(run: &Run<'_>, subject: &CheckedItem<'_>, findings: &mut Vec<Finding>) {
    let Some(class) = subject.error.filter(|_| !is_own(&subject.body.text)) else {
        return;
    };
    let call = run.session.pairing.partner(subject.index);
    let named = call.and_then(|call| run.session.items.get(call));
    let can_recover = if class.is_recoverable() { "yes" } else { "no" };
    let text = message(&subject.body.text);
    let failure = run.failure(subject.index, class, &subject.body.text);
    findings.push(
        Finding::new(&RULE, subject.index)
            .fact("tool", run.session.name(named.unwrap_or(subject.item)))
            .fact("class", class.words())
            .fact("recoverable", can_recover)
            .fact("advice", class.advice())
            .fact("text", quote(&result_text(&text).text))
            .fact("failure", failure)
            .beside(call)
            .offering(|offer| class != ErrorClass::Rejected || offer.action == "edit")
            .offering(|offer| {
                let is_client_s = subject.item.kind == Kind::Output;
                let is_paired = call.is_some();
                match offer.action {
                    "inject-error" | "fallback" => is_client_s && is_paired,
                    "supply-output" => is_client_s,
                    _ => true,
                }
            }),
    );
}

/// Lines that are searched for the one that says what failed.
const SEARCHED: usize = 40;
/// Words of a line that says what failed.
const TELLING: [&str; 9] = [
    "error",
    "failed",
    "failure",
    "panicked",
    "exception",
    "cannot",
    "denied",
    "not found",
    "no such",
];

/// Beginnings of lines that runtimes and package managers print whatever happens, in small letters.
const NOISE: [&str; 8] = [
    "debugger attached",
    "debugger listening",
    "waiting for the debugger",
    "for help, see: https://nodejs.org",
    "npm notice",
    "npm warn",
    "(node:",
    "(use `node --trace",
];

impl Run<'_> {
    /// What failed at an output, in a line. Of its text only the beginning may be given: the end of a traceback is
    /// read where it is missing.
    pub(super) fn failure(&self, output: usize, class: ErrorClass, text: &str) -> String {
        // What Codex writes about a command follows what it printed.
        let is_wrapped = text.starts_with("{\"output\":");
        match is_wrapped || text.lines().any(|line| line.trim() == TRACEBACK) {
            true => failure(class, &message(&self.long_text(output))),
            false => failure(class, &message(text)),
        }
    }
}

/// The exception at the end of the last traceback of a text.
fn exception(text: &str) -> Option<&str> {
    let (_, frames) = text.rsplit_once(TRACEBACK)?;
    let mut lines = frames.lines().skip(1);
    let line = lines.find(|line| !line.starts_with([' ', '\t']))?;
    (!line.trim().is_empty()).then_some(line)
}

/// What failed, in a line: `exit 1 — Failed Tests 1`.
fn failure(class: ErrorClass, text: &str) -> String {
    let result = result_text(text);
    let text = &*result.text;
    let decoration =
        |letter: char| !letter.is_alphanumeric() && !"\"'`(){}[]<>/.!?".contains(letter);
    let lines = text
        .lines()
        .take(SEARCHED)
        .map(|line| line.trim_matches(decoration));
    let lines = lines.filter(|line| line.contains(char::is_alphanumeric));
    let wrapped = result.exit.filter(|code| *code != 0);
    let mut exit = return_code(text)
        .map(i64::from)
        .or(wrapped)
        .map(|code| code.to_string());
    let (mut first, mut telling) = (None, None);
    for line in lines {
        let small = line.to_ascii_lowercase();
        if let Some(code) = exit_code(&small) {
            exit = exit.or(Some(code.to_string()));
            continue;
        }
        // `> app@1.0.0 test` is the banner of a script.
        let is_banner = line.starts_with("> ") && line.contains('@');
        if line.starts_with("<returncode>")
            || line == "<output>"
            || is_banner
            || NOISE.iter().any(|noise| small.starts_with(noise))
        {
            continue;
        }
        first = first.or(Some(line));
        if telling.is_none() && TELLING.iter().any(|word| small.contains(word)) {
            telling = Some(line);
        }
    }
    let what = match (class, exit) {
        (_, Some(code)) => format!("exit {code}"),
        (ErrorClass::Exception, None) => String::new(),
        (class, None) => class.words().to_owned(),
    };
    let line_text = exception(text).or(telling).or(first);
    let line = quote(line_text.unwrap_or_default());
    match (what.is_empty(), line.is_empty()) {
        (false, false) => format!("{what} — {line}"),
        (true, _) => line,
        (false, true) => what,
    }
}

/// The code of a line such as `Exit code 1`.
fn exit_code(line: &str) -> Option<u16> {
    let heads = [
        "error: exit code",
        "exit code",
        "exited with code",
        "process exited with code",
        "exit status",
    ];
    let rest = heads.iter().find_map(|head| line.strip_prefix(head))?;
    rest.trim_matches([':', ' ', '.']).parse().ok()
}

/// How much of a text with terminal colours is read for its message.
const COLOURED: usize = 2048;

/// The text without the tag that Claude Code puts around it, and without terminal colours.
fn message(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let inner = text.strip_prefix("<tool_use_error>").unwrap_or(text);
    let inner = inner.strip_suffix("</tool_use_error>").unwrap_or(inner);
    if !has_colours(inner) {
        return Cow::Borrowed(inner);
    }
    let lines = terminal_lines(&inner[..inner.floor_char_boundary(COLOURED)]);
    let lines = lines.iter().map(|line| {
        let words = line.pieces.iter().map(|(_, words)| words.trim());
        words
            .filter(|words| !words.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n").trim().to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::RULE;
    use crate::rules::error_class::class_of_error;
    use crate::rules::fixture::{Fixture, fixture};
    use crate::wording::{FailureContext, FailureKind, library, render};
    use serde_json::json;

    fn chat(output: &str) -> Fixture {
        let messages = json!([
            {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "find", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": output}]);
        fixture(&messages.to_string())
    }

    #[test]
    fn colours_of_a_terminal_are_not_part_of_the_message() {
        let output = "Error: \u{1b}[31m\u{1b}[1mFailed Tests\u{1b}[22m 2\u{1b}[39m\nmore";
        let message = chat(output).finding(&RULE).message();
        assert_eq!(message, "find failed: Error: Failed Tests 2");
    }

    #[test]
    fn the_title_names_the_tool_and_the_line_that_says_what_failed() {
        let log = "Exit code 1\n\n> app@1.0.0 test\n> vitest\n\n⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯\n FAIL a.test.ts";
        for (text, expected) in [
            (log, "exit 1 — Failed Tests 1"),
            ("Exit code 2", "exit 2"),
            (
                r#"{"output":"cargo test\nerror: no","metadata":{"exit_code":101}}"#,
                "exit 101 — error: no",
            ),
            (
                "Wall time: 0.1 seconds\nProcess exited with code 1\nOutput:\nno",
                "exit 1 — no",
            ),
            (
                "<tool_use_error>File has not been read yet.</tool_use_error>",
                "File has not been read yet.",
            ),
            (
                "Tool 'find' not found.",
                "unknown tool — Tool 'find' not found.",
            ),
        ] {
            let messages = json!([
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1",
                    "is_error": true, "content": text}]}]);
            let message = fixture(&messages.to_string()).finding(&RULE).message();
            assert_eq!(message, format!("Bash failed: {expected}"));
        }
    }

    #[test]
    fn what_a_wording_told_the_model_is_no_failure_of_the_tool() {
        for (text, class) in [
            (
                "There is no tool named \"find\". The nearest on offer: find_user.",
                "unknown tool",
            ),
            (
                "The arguments of \"find\" break its schema:\n- /id: expected integer",
                "bad arguments",
            ),
            (
                "The arguments of \"find\" are not a JSON object: EOF",
                "bad arguments",
            ),
            (
                "The call of \"find\" was interrupted and its output was lost.",
                "interrupted",
            ),
            (
                "The run ended before this tool returned a result. It may have run.",
                "interrupted",
            ),
        ] {
            assert_eq!(class_of_error(text).words(), class, "{text}");
        }
        let context = FailureContext {
            tool: "find".to_owned(),
            ..FailureContext::default()
        };
        let kinds =
            FailureKind::all().filter(|kind| kind.is_of_call() && *kind != FailureKind::ToolError);
        for wording in kinds.flat_map(library) {
            let text = render(&wording.template, &context).unwrap();
            let messages = json!([
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1",
                    "is_error": true, "content": text}]}]);
            fixture(&messages.to_string()).expect(&RULE, &[]);
        }
    }

    #[test]
    fn texts_of_known_runtimes_are_classed() {
        let texts = [
            ("Error: user not found", "exception"),
            ("Tool 'find' not found.", "unknown tool"),
            (
                "Error: find is not a valid tool, try one of [search].",
                "unknown tool",
            ),
            ("unsupported call: find", "unknown tool"),
            (
                "Invalid tool_call: \"find\". Available options are: \"search\". Please try again",
                "unknown tool",
            ),
            (
                "An error occurred while parsing tool arguments. Please try again with valid JSON.",
                "bad arguments",
            ),
            (
                "Error executing tool find: 2 validation errors for findArguments",
                "bad arguments",
            ),
            (
                "failed to parse function arguments: missing field",
                "bad arguments",
            ),
            (
                "An error occurred while running the tool. Please try again. Error: boom",
                "exception",
            ),
            ("Tool 'find' timed out after 30s", "timeout"),
            ("Tool execution was not approved.", "rejected"),
            ("aborted", "interrupted"),
            (
                "Tool call find with id call_1 was cancelled - another message came in before it could be completed.",
                "interrupted",
            ),
            (
                "{\"error\": \"Unauthorized\", \"response\": \"\"}",
                "exception",
            ),
            (
                "apply_patch verification failed: Failed to find expected lines in /tmp/c.py:\nx",
                "exception",
            ),
            (
                "apply_patch verification failed: invalid hunk at line 3, '@' is not a valid hunk header",
                "exception",
            ),
            (
                "Failed to find expected lines in /tmp/c.py:\nx",
                "exception",
            ),
            (
                "exec_command failed for `/bin/zsh -lc 'foo'`: CreateProcess { message: \"Rejected(\\\"rejected by user\\\")\" }",
                "rejected",
            ),
            (
                "execution error: Io(Os { code: 2, kind: NotFound, message: \"No such file or directory\" })",
                "exception",
            ),
            ("command timed out after 1000 milliseconds", "timeout"),
            ("write_stdin failed: Unknown process id 7", "exception"),
        ];
        for (text, class) in texts {
            let finding = chat(text).finding(&RULE);
            assert_eq!(finding.get("class"), Some(class), "{text}");
        }
        assert_eq!(
            chat("\nError: user not found\nsee log")
                .finding(&RULE)
                .message(),
            "find failed: Error: user not found"
        );
    }

    #[test]
    fn what_says_that_it_failed_needs_no_mark() {
        let traceback = "Traceback (most recent call last):\n  File \"<stdin>\", line 2, in <module>\nNameError: name 'a' is not defined\n\n";
        for (text, line_text) in [
            (
                "bash: line 1: xxd: command not found\n\n",
                "bash: line 1: xxd: command not found",
            ),
            ("zsh: command not found: xxd", "zsh: command not found: xxd"),
            (
                "2 validation errors:\n```json\n[]\n```\nFix the errors and try again.",
                "bad arguments — 2 validation errors",
            ),
            (
                "cat: a.txt: No such file or directory",
                "cat: a.txt: No such file or directory",
            ),
            (traceback, "NameError: name 'a' is not defined"),
            (
                "<returncode>1</returncode>\n<output>\ncat: a.py: No such file or directory\n</output>",
                "exit 1 — cat: a.py: No such file or directory",
            ),
            (
                "<exception>The command broke off</exception>\n<returncode>-1</returncode>\n<output>\n</output>",
                "exit -1 — <exception>The command broke off</exception>",
            ),
            (
                "<returncode>1</returncode>\n<output>\nDebugger attached.\n> app@1.0.0 test\n\nnpm notice\nnpm warn old lockfile\nTypeError: x is not a function",
                "exit 1 — TypeError: x is not a function",
            ),
            ("status: 401\nbody: Unauthorized", "status: 401"),
            (
                "HTTP/1.1 503 Service Unavailable",
                "HTTP/1.1 503 Service Unavailable",
            ),
            (r#"{"status": 401}"#, r#"{"status": 401}"#),
            (
                r#"{"url": "/users", "statusCode": 404, "message": "no user"}"#,
                r#"{"url": "/users", "statusCode": 404, "message": "no user"}"#,
            ),
            (
                r#"{"data": null, "error": "no user"}"#,
                r#"{"data": null, "error": "no user"}"#,
            ),
        ] {
            let message = chat(text).finding(&RULE).message();
            assert_eq!(message, format!("find failed: {line_text}"), "{text}");
        }
    }

    #[test]
    fn outputs_that_speak_of_errors_are_none() {
        for text in [
            "build.log:bash: line 1: xxd: command not found",
            "make all\nbash: line 1: xxd: command not found",
            "Traceback (most recent call last):\n  File \"a.py\", line 2\nNameError: x\n12:00 the server goes on",
            "<returncode>0</returncode>\n<output>\nError: first line of a log\n</output>",
            "status: 200\nstatus: 404",
            "status: 401\nstatus: 200\nstatus: 404",
            "status: 4012",
            r#"{"id": 5, "status": 404, "path": "/users"}"#,
            r#"{"id": 5, "status": 200, "message": "fine"}"#,
            r#"[{"status": 404}]"#,
            r#"{"lines": 12, "error": 3}"#,
            "{\"error\": \"\", \"response\": \"ok\"}",
            "{\"error\": null, \"response\": \"ok\"}",
            "No errors found.",
            "src/main.rs: Error: this line was found",
            "The request timed out in 3 of 100 runs",
            "Tool results were not found in the catalogue",
            "Permission denied is what it said",
            "aborted missions of the Apollo programme",
            "The log says: apply_patch verification failed",
            r#"{"output":"command timed out after 5 tries\n","metadata":{"exit_code":0}}"#,
            "",
        ] {
            chat(text).expect(&RULE, &[]);
        }
    }

    #[test]
    fn the_mark_of_the_recording_counts_whatever_the_text_says() {
        let story = fixture(
            r#"[{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{}},
                {"type":"tool_use","id":"toolu_2","name":"Read","input":{}}]},
            {"role":"user","content":[
                {"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"<tool_use_error>File does not exist.</tool_use_error>"},
                {"type":"tool_result","tool_use_id":"toolu_2","is_error":false,"content":"The exists."}]}]"#,
        );
        story.expect(&RULE, &["toolu_1"]);
        assert_eq!(
            story.finding(&RULE).message(),
            "Read failed: File does not exist."
        );
    }

    #[test]
    fn claude_code_marks_its_errors_so_a_log_that_was_read_is_none() {
        fixture(
            r#"{"type":"assistant","uuid":"a1","parentUuid":null,"sessionId":"s","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}]}}
            {"type":"user","uuid":"u1","parentUuid":"a1","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"Error: first line of a log"}]}}"#,
        )
        .expect(&RULE, &[]);
    }
}
