//! The line of an agent's standard error that says what ended it.

use regex::Regex;
use std::sync::LazyLock;

/// The last line that names an exception, as Python, Node and others print them; the last one that says
/// anything where none does.
pub(super) fn exception_line(stderr: &[String]) -> Option<&str> {
    static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let name = r"^(Uncaught |Caused by: |\[?error\]?:? )?[A-Za-z_][\w.:]*(Error|Exception|Exceeded|Timeout|Interrupt|Panic)\b|panicked at";
        Regex::new(name).ok()
    });
    let named = |line: &&String| NAMED.as_ref().is_some_and(|named| named.is_match(line));
    let last = || stderr.iter().rev();
    let line = last().find(named);
    let line = line.or_else(|| last().find(|line| !line.trim().is_empty()));
    line.map(|line| line.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_names_the_exception_is_found_among_others() {
        let of = |lines: &[&str]| {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            exception_line(&lines).map(str::to_owned)
        };
        let python = [
            "Traceback (most recent call last):",
            "  File \"agent.py\", line 3, in <module>",
            "agents.exceptions.ModelBehaviorError: Tool serch not found in agent a",
        ];
        assert_eq!(of(&python).as_deref(), Some(python[2]));
        let node = [
            "    throw error;",
            "TypeError: x is not a function",
            "    at main (a.js:1:1)",
            "",
            "Node.js v22",
        ];
        assert_eq!(of(&node).as_deref(), Some(node[1]));
        assert_eq!(
            of(&["it went wrong", " "]).as_deref(),
            Some("it went wrong")
        );
        assert_eq!(of(&[]), None);
    }
}
