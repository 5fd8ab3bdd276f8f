//! The tools of the MCP server: each is a command of retake, with the arguments that an agent may give it.

use retake_core::{actions, suggest};
use serde_json::{Map, Value, json};
use std::ffi::OsString;

/// A tool, and the command line that it stands for.
pub(super) struct ServedCommand {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// The words that the command line begins with.
    pub(super) command: &'static [&'static str],
    pub(super) parameters: &'static [Parameter],
    pub(super) access: Access,
    /// The tool that shows what this one would write.
    pub(super) preview: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Reads,
    /// Writes a new file.
    Writes,
    /// Runs an agent or asks its model, and writes what happens.
    Runs,
}

pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: ParameterKind,
    /// The option of the command; an operand if empty.
    option: &'static str,
    is_required: bool,
    about: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterKind {
    /// A file or a folder below a root.
    Path,
    /// A file to write.
    NewFile,
    Text,
    Number,
    /// An option without a value.
    Switch,
    /// What the command reads from standard input: JSON, or the text of it.
    Input,
    /// A file of an agent or of an experiment, which may be run.
    Runnable,
    /// A file that was written for the client.
    OwnFile,
    /// Which part of the output is wanted.
    Page,
}

use ParameterKind::{Input, NewFile, Number, OwnFile, Page, Path, Runnable, Switch, Text};

const fn required(name: &'static str, kind: ParameterKind, about: &'static str) -> Parameter {
    Parameter {
        name,
        kind,
        option: "",
        is_required: true,
        about,
    }
}

const fn optional(
    name: &'static str,
    kind: ParameterKind,
    option: &'static str,
    about: &'static str,
) -> Parameter {
    Parameter {
        name,
        kind,
        option,
        is_required: false,
        about,
    }
}

const RECORDING: Parameter = required("path", Path, "The recording.");
const RECORDINGS: Parameter = required("path", Path, "A recording, or a folder of recordings.");
const SESSION: Parameter = optional(
    "session",
    Text,
    "--session",
    "Only this session of the file: its label, or its number from 1.",
);
const TARGET: Parameter = optional(
    "target",
    Text,
    "--target",
    "Judge for this provider's dialect: responses, chat, anthropic, gemini or converse.",
);
const TOOLS_FILE: Parameter = optional(
    "tools_file",
    Path,
    "--tools",
    "A file with the tools that the agent was offered, where the recording has none.",
);
const UNSAFE: Parameter = optional(
    "unsafe",
    Switch,
    "--unsafe",
    "Also apply fixes that change what the model saw or did.",
);
const ITEM: Parameter = optional(
    "item",
    Number,
    "--item",
    "Carry out one recovery, for the finding at this item, instead of everything that is safe.",
);
const RULE: Parameter = optional(
    "rule",
    Text,
    "--rule",
    "The same for a finding of this rule.",
);
const ACTION: Parameter = optional(
    "action",
    Text,
    "--action",
    "The action: one of the offers of the finding, such as inject-error.",
);
const WORDS: Parameter = optional(
    "words",
    Text,
    "--words",
    "What the model reads: an error text (a template), the output of a call; for edit the whole item.",
);
const VALUE: Parameter = optional(
    "value",
    Text,
    "--value",
    "The value of the action fallback, as JSON text; for edit the new arguments of a call, or the new text of a result.",
);
const OUTPUT: Parameter = Parameter {
    name: "output",
    kind: NewFile,
    option: "--output",
    is_required: true,
    about: "The new file, in the folder that the operator allowed. An existing file is never overwritten.",
};

/// What every tool takes.
const PAGING: [Parameter; 2] = [
    optional(
        "cursor",
        Page,
        "",
        "Where to go on, as the answer before says.",
    ),
    optional(
        "max_tokens",
        Page,
        "",
        "The size of the answer, 4000 by default and 25000 at most.",
    ),
];

pub(super) const TOOLS: &[ServedCommand] = &[
    ServedCommand {
        name: "list_recordings",
        about: "List recorded agent sessions, the newest first: path, agent, model, turns, tokens, errors, first \
            words. Start here.",
        command: &["list"],
        parameters: &[
            optional("path", Path, "", "Only below this folder."),
            optional(
                "filter",
                Text,
                "--filter",
                "Words, and fields such as rule:orphan-call, tool:search, model:gpt, agent:codex, since:7d, \
                    turns:>9, error.",
            ),
            optional("limit", Number, "--limit", "The most recordings."),
        ],
        access: Access::Reads,
        preview: None,
    },
    ServedCommand {
        name: "find_defects",
        about: "Check recordings: unknown tool calls, arguments that are not JSON or break the schema, orphaned \
            calls and outputs, and what else a provider refuses. Each finding has its place, why it is wrong, and \
            the actions that fix it.",
        command: &["check", "--color", "never"],
        parameters: &[
            RECORDINGS,
            optional(
                "rule",
                Text,
                "--only",
                "Only findings of these rules, with commas between them.",
            ),
            TARGET,
            TOOLS_FILE,
        ],
        access: Access::Reads,
        preview: None,
    },
    ServedCommand {
        name: "check_request",
        about: "Check the body of a request, or a history as JSON, before it is sent: will the provider take it?",
        command: &["check", "--color", "never"],
        parameters: &[
            required("request", Input, "The body of the request, as JSON text."),
            TARGET,
            TOOLS_FILE,
        ],
        access: Access::Reads,
        preview: None,
    },
    ServedCommand {
        name: "show_transcript",
        about: "Read the transcript of a recording: turns, messages, calls with their arguments and results, \
            findings. Long results are folded unless `full` is set.",
        command: &["show", "--color", "never", "--no-pager", "--redact"],
        parameters: &[
            RECORDING,
            SESSION,
            optional("turn", Number, "--turn", "Only this turn, counted from 1."),
            optional(
                "take",
                Number,
                "--take",
                "A take, as list_takes numbers them.",
            ),
            optional("full", Switch, "--full", "Texts in full."),
        ],
        access: Access::Reads,
        preview: None,
    },
    ServedCommand {
        name: "list_takes",
        about: "List the takes of a recording or of a run: what was tried at which item, with which words, and how \
            many errors are left.",
        command: &["takes", "--color", "never"],
        parameters: &[RECORDING],
        access: Access::Reads,
        preview: None,
    },
    ServedCommand {
        name: "explain_rule",
        about: "Explain a rule of find_defects: what it means, what causes it, how to fix it. Without a rule, \
            list the rules.",
        command: &["explain", "--color", "never"],
        parameters: &[optional("rule", Text, "", "The id of the rule.")],
        access: Access::Reads,
        preview: None,
    },
    ServedCommand {
        name: "explain_error",
        about: "Decode the error of a provider (the text of a 400, for example) to the item of the recording that \
            caused it.",
        command: &["explain", "--color", "never"],
        parameters: &[
            Parameter {
                name: "error",
                kind: Text,
                option: "--error",
                is_required: true,
                about: "The text of the error.",
            },
            optional(
                "path",
                Path,
                "",
                "The recording of the run that was refused.",
            ),
        ],
        access: Access::Reads,
        preview: None,
    },
    ServedCommand {
        name: "report_usage",
        about: "Report where tokens, money and time went: by tool, by turn, the largest results, sub-agents.",
        command: &["usage", "--color", "never"],
        parameters: &[
            RECORDINGS,
            SESSION,
            optional("sort", Text, "--sort", "cost, time or size."),
        ],
        access: Access::Reads,
        preview: None,
    },
    ServedCommand {
        name: "report_tool_health",
        about: "Report calls and error rates of each tool.",
        command: &["health", "--color", "never"],
        parameters: &[RECORDINGS],
        access: Access::Reads,
        preview: None,
    },
    ServedCommand {
        name: "find_safe_cut",
        about: "Find where a history can be shortened without separating a call from its output.",
        command: &["split", "--color", "never"],
        parameters: &[
            RECORDING,
            Parameter {
                name: "keep",
                kind: Number,
                option: "--keep",
                is_required: true,
                about: "Keep at least this many of the last items.",
            },
        ],
        access: Access::Reads,
        preview: None,
    },
    ServedCommand {
        name: "propose_fix",
        about: "Show what a fix would change, as a diff. Nothing is written. Without item, rule and action \
            everything that is safe is done.",
        command: &["fix", "--color", "never", "--diff"],
        parameters: &[
            RECORDING, UNSAFE, SESSION, ITEM, RULE, ACTION, WORDS, VALUE, TARGET, TOOLS_FILE,
        ],
        access: Access::Reads,
        preview: None,
    },
    ServedCommand {
        name: "apply_fix",
        about: "Write a fixed copy of a recording. The recording itself stays as it is.",
        command: &["fix", "--color", "never"],
        parameters: &[
            RECORDING, OUTPUT, UNSAFE, SESSION, ITEM, RULE, ACTION, WORDS, VALUE, TARGET,
            TOOLS_FILE,
        ],
        access: Access::Writes,
        preview: Some("propose_fix"),
    },
    ServedCommand {
        name: "convert_recording",
        about: "Write a recording as the history of another provider, or as a session that another agent resumes; \
            what is lost is listed.",
        command: &["convert"],
        parameters: &[
            RECORDING,
            Parameter {
                name: "to",
                kind: Text,
                option: "--to",
                is_required: true,
                about: "responses, chat, anthropic, gemini, converse, claude-code, codex, opencode, gemini-cli or pi.",
            },
            OUTPUT,
        ],
        access: Access::Writes,
        preview: None,
    },
    ServedCommand {
        name: "start_run",
        about: "Start an agent under the debugger and stop before its first step, unless `command` says more. The \
            last line says what the run waits for and which commands answer it; go on with continue_run.",
        command: &["run", "--headless", "--trust", "--step"],
        parameters: &[
            AGENT,
            Parameter {
                about: "The new file of the run's journal, in the folder that the operator allowed.",
                option: "--journal",
                name: "journal",
                ..OUTPUT
            },
            optional("input", Text, "--input", "The user's first message."),
            BREAK,
            optional("command", Text, "--do", DO),
        ],
        access: Access::Runs,
        preview: None,
    },
    ServedCommand {
        name: "continue_run",
        about: "Go on with a run that waits: step, continue, an answer, or a recovery for the fault that holds it. \
            What ran does not run again. list_takes and show_transcript read its journal.",
        command: &["run", "--headless", "--trust", "--resume"],
        parameters: &[
            AGENT,
            Parameter {
                option: "--journal",
                ..required("journal", OwnFile, "The file of the run's journal.")
            },
            Parameter {
                option: "--do",
                ..required("command", Text, DO)
            },
            BREAK,
        ],
        access: Access::Runs,
        preview: None,
    },
    ServedCommand {
        name: "run_lab",
        about: "Compare wordings of an error message by what the model does next: each is sent several times, which \
            costs requests to the model. Called again it goes on with the same experiment.",
        command: &["lab", "--trust", "--color", "never"],
        parameters: &[
            required(
                "spec",
                Runnable,
                "The spec of the experiment, a file that ends in .toml.",
            ),
            optional(
                "samples",
                Number,
                "--samples",
                "The most samples of each wording.",
            ),
            optional(
                "max_requests",
                Number,
                "--max-requests",
                "The most requests in all.",
            ),
        ],
        access: Access::Runs,
        preview: None,
    },
];

const AGENT: Parameter = required("agent", Runnable, "The agent file, which ends in .toml.");
const BREAK: Parameter = optional(
    "stop_at",
    Text,
    "--break",
    "Also stop here: `tool pay`, `turn 3`, `rule tool-error`, `arg .amount > 100`.",
);
const DO: &str = "`step`, `continue`, `release`, `approve`, `reject TEXT`, `output TEXT`, `error TEXT`, `run-again`, \
    `say TEXT`, `turns N`, `abort`, or an action that the fault offers, with its words: `inject-error nearest`.";

impl ParameterKind {
    /// What a value of it has to be.
    fn wanted(self) -> &'static str {
        match self {
            Path | NewFile | OwnFile | Runnable | Text => "a string",
            Input => "an object, an array or a string",
            Number => "an integer from 1",
            Page => "an integer from 0",
            Switch => "true or false",
        }
    }
}

fn given(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// What a command says on stderr, for a client that has parameters in place of its options. A hint at an option that no
/// tool has goes.
pub(super) fn in_parameters(complaints: &str) -> String {
    let is_of_option = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    let mut lines = String::new();
    for line in complaints.split_inclusive('\n') {
        let (mut written, mut rest, mut is_useful) = (String::new(), line, true);
        while let Some(at) = rest.find("--") {
            let word = &rest[at..];
            let end = word.find(|letter| !is_of_option(letter));
            let (option, after) = word.split_at(end.unwrap_or(word.len()));
            let mut parameters = TOOLS.iter().flat_map(|tool| tool.parameters);
            let known = parameters.find(|parameter| parameter.option == option);
            written.push_str(&rest[..at]);
            match known {
                Some(parameter) => written.push_str(&format!("`{}`", parameter.name)),
                None => written.push_str(option),
            }
            is_useful &= known.is_some() || option == "--";
            rest = after;
        }
        if is_useful || !line.trim_start().starts_with("hint:") {
            lines.push_str(&written);
            lines.push_str(rest);
        }
    }
    lines
}

impl ServedCommand {
    pub(super) fn all_parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().chain(&PAGING)
    }

    /// The JSON Schema of its arguments.
    pub(super) fn schema(&self) -> Map<String, Value> {
        let properties = self.all_parameters().map(|parameter| {
            let kind = match parameter.kind {
                Path | NewFile | OwnFile | Runnable | Text => json!({"type": "string"}),
                Input => json!({"type": ["string", "object", "array"]}),
                Number => json!({"type": "integer", "minimum": 1}),
                Page => json!({"type": "integer", "minimum": 0}),
                Switch => json!({"type": "boolean"}),
            };
            let mut kind = kind;
            kind["description"] = parameter.about.into();
            (parameter.name.to_owned(), kind)
        });
        let required = self
            .parameters
            .iter()
            .filter(|parameter| parameter.is_required);
        let required: Vec<_> = required.map(|parameter| parameter.name).collect();
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), Value::Object(properties.collect()));
        schema.insert("required".to_owned(), required.into());
        schema.insert("additionalProperties".to_owned(), false.into());
        schema
    }

    /// The command line for these arguments; `path` says how a path is spelled, or why it may not be used.
    pub(super) fn words(
        &self,
        arguments: &Map<String, Value>,
        mut path: impl FnMut(&str, ParameterKind) -> Result<OsString, String>,
    ) -> Result<Vec<OsString>, String> {
        self.refuse_unknown(arguments)?;
        let mut words: Vec<OsString> = self.command.iter().map(OsString::from).collect();
        let mut operands = Vec::new();
        for parameter in self.all_parameters() {
            let Some(value) = arguments
                .get(parameter.name)
                .filter(|value| !value.is_null())
            else {
                match parameter.is_required {
                    true => return Err(format!("{}: `{}` is missing", self.name, parameter.name)),
                    false => continue,
                }
            };
            let is_wrong = || {
                let (wanted, given) = (parameter.kind.wanted(), given(value));
                let name = parameter.name;
                format!("{}: `{name}` is {given}, and must be {wanted}", self.name)
            };
            let text = || value.as_str().ok_or_else(is_wrong);
            let word = match parameter.kind {
                Input => continue,
                Page => match value.as_u64() {
                    Some(_) => continue,
                    None => return Err(is_wrong()),
                },
                Switch => match value.as_bool().ok_or_else(is_wrong)? {
                    true => {
                        words.push(parameter.option.into());
                        continue;
                    }
                    false => continue,
                },
                Path | NewFile | OwnFile | Runnable => path(text()?, parameter.kind)?,
                Text if parameter.option == ACTION.option => self.action(text()?)?.into(),
                Text => text()?.into(),
                Number => {
                    let number = value.as_u64().filter(|number| *number > 0);
                    number.ok_or_else(is_wrong)?.to_string().into()
                }
            };
            match parameter.option {
                "" => operands.push(word),
                option => {
                    // In one word, so that a value is never taken for an option.
                    let mut option = OsString::from(format!("{option}="));
                    option.push(word);
                    words.push(option);
                }
            }
        }
        if self.input().is_some() {
            operands.push("-".into());
        }
        words.push("--".into());
        words.extend(operands);
        Ok(words)
    }

    /// The id of an action; an unknown one is answered with those that there are.
    fn action<'a>(&self, id: &'a str) -> Result<&'a str, String> {
        if actions::find(id).is_some() {
            return Ok(id);
        }
        let known: Vec<_> = actions::ACTIONS.iter().map(|action| action.id).collect();
        let nearest = suggest::nearest(id, &known);
        let hint = nearest.first().map_or_else(String::new, |near| {
            format!(" did you mean `{}`?", near.name)
        });
        Err(format!(
            "{}: there is no action `{id}`;{hint} the actions are {}",
            self.name,
            known.join(", ")
        ))
    }

    /// Those of the arguments of another tool that this one takes, too.
    pub(super) fn known(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        let takes = |name: &str| {
            self.parameters
                .iter()
                .any(|parameter| parameter.name == name)
        };
        let known = arguments.iter().filter(|(name, _)| takes(name));
        known
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// The parameter that the command reads from standard input.
    pub(super) fn input(&self) -> Option<&'static str> {
        let input = self
            .parameters
            .iter()
            .find(|parameter| parameter.kind == Input);
        input.map(|parameter| parameter.name)
    }

    fn refuse_unknown(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        let known: Vec<_> = self
            .all_parameters()
            .map(|parameter| parameter.name)
            .collect();
        let Some(unknown) = arguments
            .keys()
            .find(|name| !known.contains(&name.as_str()))
        else {
            return Ok(());
        };
        let hint = match suggest::nearest(unknown, &known).first() {
            Some(near) => format!("did you mean `{}`?", near.name),
            None => format!("it takes {}", known.join(", ")),
        };
        Err(format!("{} takes no `{unknown}`; {hint}", self.name))
    }
}

/// The tools with their commands, for the help.
pub fn markdown_table() -> String {
    let rows = TOOLS.iter().map(|tool| {
        let names: Vec<_> = tool
            .parameters
            .iter()
            .map(|parameter| format!("`{}`", parameter.name))
            .collect();
        let written = match tool.access {
            Access::Reads => "",
            Access::Writes => ", only with `--allow-write`",
            Access::Runs => ", only with `--allow-write` and `--allow-run`",
        };
        format!(
            "| `{}`{written} | `retake {}` | {} |\n",
            tool.name,
            tool.command[0],
            names.join(" ")
        )
    });
    "| tool | command | arguments beside `cursor` and `max_tokens` |\n|---|---|---|\n".to_owned()
        + &rows.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_the_parameters_of_the_tools_and_hints_at_others_go() {
        let said = "retake: write the words first\n  hint: --words gives a text, --value a fallback\n  \
            hint: --force replaces it\n  --unsafe applies fixes: retry 1\n";
        let heard = "retake: write the words first\n  hint: `words` gives a text, `value` a fallback\n  \
            `unsafe` applies fixes: retry 1\n";
        assert_eq!(in_parameters(said), heard);
    }
}
