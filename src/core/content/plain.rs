//! What a call does as text to be copied: the file that it writes, the lines that it changes, the command that it runs.

use super::diff::{Change, diffs_of_call, written_file};
use super::summary::command_of_call;

/// The text of a call of a coding agent's tool: a file that is written whole as it will be, an edit as a diff, a command
/// as it is run. `None` for all other tools, whose arguments say best what they do.
pub fn call_text(tool: &str, arguments: &str) -> Option<String> {
    written_file(arguments)
        .or_else(|| diff_text(arguments))
        .or_else(|| Some(command_of_call(tool, arguments)?.0))
}

fn diff_text(arguments: &str) -> Option<String> {
    let diffs = diffs_of_call(arguments);
    let mut lines = Vec::new();
    for diff in &diffs {
        lines.push(diff.path.clone());
        lines.extend(diff.lines.iter().map(|line| match line.change {
            Change::Same => format!(" {}", line.text),
            Change::Added => format!("+{}", line.text),
            Change::Removed => format!("-{}", line.text),
            Change::Place if line.text.starts_with("@@") => line.text.clone(),
            Change::Place => format!("@@ {}", line.text).trim_end().to_owned(),
        }));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_call_does_is_copied_and_not_its_json() {
        for (tool, arguments, text) in [
            (
                "Write",
                r#"{"file_path":"a.rs","content":"let a = \"b\";\n"}"#,
                Some("let a = \"b\";\n"),
            ),
            (
                "Edit",
                r#"{"file_path":"a.rs","old_string":"one\n","new_string":"two\n"}"#,
                Some("a.rs\n-one\n+two"),
            ),
            (
                "Bash",
                r#"{"command":"ls \\\n  -l","description":"List"}"#,
                Some("ls \\\n  -l"),
            ),
            (
                "shell",
                r#"{"command":["bash","-lc","rg \"a b\""],"timeout_ms":10}"#,
                Some("rg \"a b\""),
            ),
            ("search_flights", r#"{"from":"JFK"}"#, None),
        ] {
            assert_eq!(call_text(tool, arguments).as_deref(), text, "{tool}");
        }
    }
}
