//! What a call does, in one line: that of a coding agent's own tool as its program would say it, `Bash(npm run dev)`,
//! `Read(src/app/page.tsx)`; any other with its arguments, `search_flights(from: JFK, to: LIS)`.

use super::diff::patched_paths;
use crate::bundled;
use crate::json::complete;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// A call in one line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallSummary {
    /// The tool as people call it.
    pub name: String,
    /// The argument that matters, or those that the tool was called with; a line of text from outside.
    pub argument: String,
    /// Whether the argument is a path, whose end says most.
    pub is_path: bool,
    /// Whether it is complete: there is one argument, and it fits.
    pub is_all: bool,
    /// How many lines it has below the one that is named.
    pub more_lines: usize,
}

impl CallSummary {
    /// The same with paths as seen from a folder, with a slash at its end; from everywhere if it is empty.
    #[must_use]
    pub fn seen_from(mut self, folder: &str) -> Self {
        if !folder.is_empty() {
            self.argument = self.argument.replace(folder, "");
        }
        self
    }
}

/// Most bytes of an argument that are looked at: more than a row shows.
const LONGEST: usize = 400;
/// Most arguments of a call of an unknown tool, and most bytes of each.
const VALUES: usize = 6;
const VALUE: usize = 60;

/// The words of `summary.toml`, which says what each list is.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    telling: Vec<String>,
    paths: Vec<String>,
    writers: Vec<String>,
    readers: Vec<String>,
    program: Vec<String>,
    commands: ToolArguments,
    by_tool: Vec<ToolArguments>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolArguments {
    tools: Vec<String>,
    arguments: Vec<String>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| bundled::table(include_str!("summary.toml")));

fn is_among(tools: &[String], name: &str) -> bool {
    tools.iter().any(|tool| tool == name)
}

/// The letters of a tool's name without case, underscores and the namespace.
fn plain_name(tool: &str) -> String {
    let last = tool.rsplit(['.', ':', '/']).next().unwrap_or(tool);
    let letters = last.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Whether a tool reads or lists what is there.
pub fn is_reader(tool: &str) -> bool {
    is_among(&WORDS.readers, &plain_name(tool))
}

/// The file whose text is the result of a call, if it is one: a tool that reads, or a shell that prints it.
pub fn file_read(tool: &str, arguments: &str) -> Option<String> {
    let summary = summarize_call(tool, arguments);
    if summary.is_path && is_reader(tool) {
        return Some(summary.argument);
    }
    let mut words = summary.argument.split_whitespace();
    let prints = ["cat", "head", "tail", "sed", "nl", "bat"].contains(&words.next()?);
    let is_single = !summary.argument.contains(['|', ';', '&', '>', '<', '…']);
    let file = words.next_back().filter(|_| prints && is_single)?;
    Some(file.trim_matches(['"', '\'']).to_owned())
}

/// Whether the results of a tool are Markdown: what a sub-agent reports, and what is said of pages.
pub fn answers_in_markdown(tool: &str) -> bool {
    ["Task", "Agent", "WebFetch", "WebSearch"].contains(&tool)
}

/// Whether an agent's program, not its user, wrote a message of the user.
pub fn is_from_program(text: &str) -> bool {
    WORDS.program.iter().any(|head| text.starts_with(head))
}

/// The tool as people call it: `mcp__github__create_issue` is `github.create_issue`.
pub fn display_name(tool: &str) -> String {
    match tool
        .strip_prefix("mcp__")
        .and_then(|rest| rest.split_once("__"))
    {
        Some((server, tool)) => format!("{server}.{tool}"),
        None => tool.to_owned(),
    }
}

/// Whether the name of a tool fits, as it is recorded or as it is shown.
pub fn any_name_of(tool: &str, fits: &dyn Fn(&str) -> bool) -> bool {
    fits(tool) || (tool.starts_with("mcp__") && fits(&display_name(tool)))
}

/// Says what a call does. `arguments` are JSON or, of a free-form tool, its input; they may break off.
pub fn summarize_call(tool: &str, arguments: &str) -> CallSummary {
    let (argument, is_path) = argument_of(tool, arguments);
    let line = one_line(&argument);
    let single = serde_json::from_str::<Map<String, Value>>(arguments).is_ok_and(|members| {
        let is_said = |value: &Value| match value {
            Value::Object(_) | Value::Array(_) => false,
            value => words_of(value).is_none_or(|words| line.contains(&words)),
        };
        members.len() <= 1 && members.values().all(is_said)
    });
    CallSummary {
        name: display_name(tool),
        is_all: single,
        more_lines: argument.trim().lines().count().saturating_sub(1),
        argument: line,
        is_path,
    }
}

/// The command that a call runs, and its other arguments as JSON.
pub fn command_of_call(tool: &str, arguments: &str) -> Option<(String, Option<String>)> {
    let ToolArguments {
        tools,
        arguments: keys,
    } = &WORDS.commands;
    if !is_among(tools, &plain_name(tool)) {
        return None;
    }
    let mut members: Map<String, Value> = serde_json::from_str(arguments).ok()?;
    let said = |key| Some((key, words_of(members.get(key)?)?));
    let (key, command) = keys.iter().find_map(said)?;
    members.retain(|other, _| other != key);
    let rest = (!members.is_empty()).then(|| Value::Object(members).to_string());
    Some((command, rest))
}

fn argument_of(tool: &str, arguments: &str) -> (String, bool) {
    if let Some(paths) = patched_paths(arguments) {
        let name = plain_name(tool);
        return match is_among(&WORDS.commands.tools, &name) {
            true => (format!("apply_patch {paths}"), false),
            // Of several files the first says as much as the last.
            false => {
                let is_single = !paths.contains(", ");
                (paths, is_single)
            }
        };
    }
    let value = serde_json::from_str(arguments)
        .or_else(|_| serde_json::from_slice(&complete(arguments.as_bytes())));
    let members = match value {
        Ok(Value::Object(members)) => members,
        Ok(Value::Null) => return Default::default(),
        _ => return (arguments.to_owned(), false),
    };
    let name = plain_name(tool);
    match name.as_str() {
        "grep" | "glob" | "searchfilecontent" | "search" if members.contains_key("pattern") => {
            return (searched(&members), false);
        }
        name if is_plan(name) => return (plan(&members), false),
        _ => {}
    }
    let mut known = std::iter::once(&WORDS.commands).chain(&WORDS.by_tool);
    let own = known.find(|known| is_among(&known.tools, &name));
    let own = own.map_or(&[][..], |known| &known.arguments);
    let telling = own.iter().chain(&WORDS.telling).find_map(|key| {
        let text = words_of(members.get(key)?)?;
        Some((key.as_str(), text))
    });
    let is_known =
        !own.is_empty() || is_among(&WORDS.readers, &name) || is_among(&WORDS.writers, &name);
    match telling {
        Some((key, text)) if is_known || members.len() == 1 => (text, is_among(&WORDS.paths, key)),
        telling => (named(&members, telling.map(|(key, _)| key)), false),
    }
}

/// `"pattern" in path`
fn searched(members: &Map<String, Value>) -> String {
    let text = |key: &str| members.get(key).and_then(Value::as_str);
    let pattern = text("pattern").unwrap_or_default();
    let place = text("path")
        .or_else(|| text("glob"))
        .or_else(|| text("include"));
    match place {
        Some(place) => format!("\"{pattern}\" in {place}"),
        None => format!("\"{pattern}\""),
    }
}

/// The plan that an agent keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPlan {
    /// Why it has changed, where the agent says so; of a plan in words all of it, as Markdown.
    pub words: String,
    pub steps: Vec<PlanStep>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    pub words: String,
    pub state: StepState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    Open,
    Active,
    Done,
}

/// The plan that a call writes down; `None` for other calls.
pub fn plan_of(tool: &str, arguments: &str) -> Option<AgentPlan> {
    if !is_plan(&plain_name(tool)) {
        return None;
    }
    let members: Map<String, Value> = serde_json::from_str(arguments).ok()?;
    let words = ["explanation", "plan"]
        .iter()
        .find_map(|key| members.get(*key)?.as_str());
    let (words, steps) = (words.unwrap_or_default(), steps_of(&members));
    (steps.is_some() || !words.is_empty()).then(|| AgentPlan {
        words: words.to_owned(),
        steps: steps.unwrap_or_default(),
    })
}

/// Claude Code, opencode and Codex.
fn is_plan(name: &str) -> bool {
    matches!(name, "todowrite" | "updateplan" | "exitplanmode")
}

fn steps_of(members: &Map<String, Value>) -> Option<Vec<PlanStep>> {
    let steps = ["todos", "plan"]
        .iter()
        .find_map(|key| members.get(*key)?.as_array())?;
    let step_of = |step: &Value| {
        let text = |key: &str| step.get(key).and_then(Value::as_str);
        let state = match text("status") {
            Some("completed") => StepState::Done,
            Some("in_progress") => StepState::Active,
            _ => StepState::Open,
        };
        let active = text("activeForm").filter(|_| state == StepState::Active);
        let words = active.or(text("content")).or(text("step"));
        let words = words.unwrap_or_default().to_owned();
        PlanStep { words, state }
    };
    Some(steps.iter().map(step_of).collect())
}

/// How many steps of a plan are done, and the one under way.
fn plan(members: &Map<String, Value>) -> String {
    let Some(steps) = steps_of(members) else {
        return named(members, None);
    };
    let in_state = |state: StepState| steps.iter().filter(move |step| step.state == state);
    let (done, all) = (in_state(StepState::Done).count(), steps.len());
    match in_state(StepState::Active).next() {
        Some(now) => format!("{done}/{all} done, {}", now.words),
        None => format!("{done}/{all} done"),
    }
}

/// Arguments with their names; first and without its name the one that tells most, and so is the only one.
fn named(members: &Map<String, Value>, telling: Option<&str>) -> String {
    let mut words: Vec<String> = Vec::new();
    let first = telling.and_then(|key| members.get_key_value(key));
    let rest = members.iter().filter(|(key, _)| telling != Some(key));
    for (key, value) in first.into_iter().chain(rest).take(VALUES) {
        let value = match value {
            Value::String(text) if text.is_empty() => "\"\"".to_owned(),
            Value::Null => "null".to_owned(),
            value => words_of(value).unwrap_or_else(|| value.to_string()),
        };
        let value = beginning(&one_line(&value), VALUE);
        words.push(match members.len() == 1 || telling == Some(key) {
            true => value,
            false => format!("{key}: {value}"),
        });
    }
    if members.len() > VALUES {
        words.push("…".to_owned());
    }
    words.join(", ")
}

/// A value in words; nothing for what is empty or deep.
fn words_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(word) => Some(word.to_string()),
        Value::Array(parts) if !parts.is_empty() => command(parts).or_else(|| {
            if !parts.iter().any(|it| it.is_object() || it.is_array()) {
                let list: Vec<String> = parts.iter().take(VALUE).map(Value::to_string).collect();
                let list = list.join(", ");
                return Some(format!("[{}]", beginning(&list, VALUE)));
            }
            let first = parts.first().map_or_else(String::new, said);
            Some(match parts.len() {
                1 => format!("[{first}]"),
                _ => format!("[{first}, …]"),
            })
        }),
        Value::Object(members) if !members.is_empty() => {
            let named = members.iter().take(VALUES);
            let named =
                named.map(|(key, value)| format!("{key}: {}", beginning(&said(value), VALUE)));
            let more = (members.len() > VALUES).then(|| "…".to_owned());
            let named: Vec<String> = named.chain(more).collect();
            Some(format!("{{{}}}", named.join(", ")))
        }
        Value::Object(_) | Value::Array(_) | Value::Null => None,
    }
}

/// A value within another one: what is empty is said, too.
fn said(value: &Value) -> String {
    words_of(value).unwrap_or_else(|| value.to_string())
}

/// A command in words; of one that a shell is given, what the shell is to run.
fn command(parts: &[Value]) -> Option<String> {
    let words: Option<Vec<&str>> = parts.iter().map(Value::as_str).collect();
    let words = words?;
    match words[..] {
        [shell, flags, script]
            if flags.starts_with('-')
                && flags.ends_with('c')
                && ["bash", "sh", "zsh"]
                    .iter()
                    .any(|name| shell.ends_with(name)) =>
        {
            Some(script.to_owned())
        }
        _ => Some(words.join(" ")),
    }
}

/// The first line that says something, and a sign where there are others.
fn one_line(text: &str) -> String {
    let text = text.trim();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let mut line = beginning(first, LONGEST);
    if lines.next().is_some() && line.len() == first.len() {
        line.push_str(" …");
    }
    line
}

fn beginning(text: &str, bytes: usize) -> String {
    let end = text.floor_char_boundary(bytes);
    let cut = if end < text.len() { "…" } else { "" };
    format!("{}{cut}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_of_a_plan_have_a_state() {
        let plan = plan_of(
            "update_plan",
            r#"{"explanation":"found it","plan":[{"step":"a","status":"completed"},{"step":"b","status":"in_progress"},{"step":"c","status":"pending"}]}"#,
        );
        let plan = plan.unwrap();
        assert_eq!(plan.words, "found it");
        let steps: Vec<_> = plan.steps.iter().map(|it| (&*it.words, it.state)).collect();
        let expected = [
            ("a", StepState::Done),
            ("b", StepState::Active),
            ("c", StepState::Open),
        ];
        assert_eq!(steps, expected);
        assert_eq!(plan_of("Bash", r#"{"plan":[]}"#), None);
        let plan = plan_of("ExitPlanMode", r###"{"plan":"## Plan\n- one"}"###).unwrap();
        assert_eq!((&*plan.words, &plan.steps[..]), ("## Plan\n- one", &[][..]));
    }

    #[test]
    fn a_line_that_leaves_something_out_is_not_all_of_the_arguments() {
        let long = "long ".repeat(20);
        let table = [
            (r#"{"path":"a b"}"#.to_owned(), true),
            (r#"{"by":null}"#.to_owned(), true),
            ("{}".to_owned(), true),
            (r#"{"plan":"first\nsecond"}"#.to_owned(), false),
            (format!(r#"{{"plan":"{long}"}}"#), false),
            (r#"{"plan":[1]}"#.to_owned(), false),
            (r#"{"a":1,"b":2}"#.to_owned(), false),
        ];
        for (arguments, is_all) in table {
            assert_eq!(
                summarize_call("q", &arguments).is_all,
                is_all,
                "{arguments}"
            );
        }
    }

    #[test]
    fn calls_are_told_as_their_programs_tell_them() {
        let table = [
            (
                "Bash",
                r#"{"command":"npm run dev","description":"Start"}"#,
                "Bash(npm run dev)",
            ),
            (
                "Bash",
                "{\"command\":\"cat <<EOF\\nx\\nEOF\"}",
                "Bash(cat <<EOF …)",
            ),
            (
                "Read",
                r#"{"file_path":"src/app/page.tsx","limit":3}"#,
                "Read(src/app/page.tsx)",
            ),
            (
                "Write",
                r#"{"file_path":"a.ts","content":"x"}"#,
                "Write(a.ts)",
            ),
            (
                "Grep",
                r#"{"pattern":"retry","path":"tests/"}"#,
                r#"Grep("retry" in tests/)"#,
            ),
            (
                "Task",
                r#"{"subagent_type":"x","description":"find callers","prompt":"p"}"#,
                "Task(find callers)",
            ),
            (
                "TodoWrite",
                r#"{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress","activeForm":"Doing b"}]}"#,
                "TodoWrite(1/2 done, Doing b)",
            ),
            (
                "shell",
                r#"{"command":["bash","-lc","ls -la"],"timeout_ms":1000}"#,
                "shell(ls -la)",
            ),
            (
                "shell",
                r#"{"command":["git","status"]}"#,
                "shell(git status)",
            ),
            (
                "exec_command",
                r#"{"cmd":"ls","yield_time_ms":1}"#,
                "exec_command(ls)",
            ),
            (
                "search_flights",
                r#"{"from":"JFK","to":"LIS","seats":2,"direct":true}"#,
                "search_flights(from: JFK, to: LIS, seats: 2, direct: true)",
            ),
            (
                "mcp__github__create_issue",
                r#"{"title":"Bug"}"#,
                "github.create_issue(Bug)",
            ),
            (
                "book",
                r#"{"trip":{"from":"JFK","to":"LIS"},"legs":[{"day":1,"by":"air"},{"day":2}]}"#,
                "book(trip: {from: JFK, to: LIS}, legs: [{day: 1, by: air}, …])",
            ),
            ("get_weather", "{}", "get_weather()"),
            (
                "start_print",
                r#"{"file":"bracket-v4","printer":"ender"}"#,
                "start_print(bracket-v4, printer: ender)",
            ),
            (
                "send",
                r#"{"host":"db1","command":"restart","note":"","by":null}"#,
                "send(restart, host: db1, note: \"\", by: null)",
            ),
            (
                "many",
                r#"{"a":1,"b":2,"c":3,"d":[],"e":{},"f":6,"g":7}"#,
                "many(a: 1, b: 2, c: 3, d: [], e: {}, f: 6, …)",
            ),
            (
                "q1",
                r#"{"p":{"l":[1,2,3]},"q":["a",1]}"#,
                r#"q1(p: {l: [1, 2, 3]}, q: ["a", 1])"#,
            ),
            ("rate", r#"{"loans": 4.1/100"#, r#"rate({"loans": 4.1/100)"#),
            (
                "Write",
                r#"{"file_path":"a.ts","content":"breaks o"#,
                "Write(a.ts)",
            ),
            (
                "apply_patch",
                "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** Add File: b.rs\n+z\n*** End Patch",
                "apply_patch(2 files: a.rs, b.rs (new file))",
            ),
            (
                "shell",
                r#"{"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: old.rs\n*** End Patch\nEOF"]}"#,
                "shell(apply_patch old.rs (deleted))",
            ),
        ];
        for (tool, arguments, expected) in table {
            let summary = summarize_call(tool, arguments);
            assert_eq!(
                format!("{}({})", summary.name, summary.argument),
                expected,
                "{arguments}"
            );
        }
    }

    #[test]
    fn a_giant_argument_is_cut() {
        let arguments = serde_json::json!({"command": "x".repeat(100_000)}).to_string();
        let summary = summarize_call("Bash", &arguments);
        assert_eq!(summary.argument.len(), LONGEST + "…".len());
    }
}
