//! Recipes for openai-agents (Python), 0.22 or newer: `tool_not_found_behavior` and `tool_error_formatter` of
//! `RunConfig`, `failure_error_function` of a function tool, `error_handlers` of `Runner.run`. Facts: the
//! source of openai-agents 0.22.0 and 0.24.0 (`run_config.py`, `run_error_handlers.py`, `tool.py`).

use super::python::{literal, quoted};
use super::{RecipeError, RecoveryCase};
use crate::wording::grammar::{self, TemplatePart};
use crate::wording::{FailureKind, VARIABLES, Variable, check};
use std::fmt::Write as _;

/// The recipe: a Python module.
pub fn openai_agents(recovery: &RecoveryCase<'_>) -> Result<String, RecipeError> {
    let kind = FailureKind::of_rule(recovery.rule);
    match (recovery.action, recovery.rule, kind) {
        ("inject-error", _, Some(FailureKind::UnknownTool)) if recovery.is_custom => {
            Err(RecipeError::NoCounterpart(
                "openai-agents raises for an unknown tool with free-form input; its tool_not_found_behavior \
                covers function calls only",
            ))
        }
        ("inject-error", "duplicate-argument-key", _) => Err(RecipeError::NoCounterpart(
            "openai-agents takes the last of two equal keys without a word: there is nothing to hook into",
        )),
        ("inject-error", _, Some(FailureKind::UnknownTool)) => tool_not_found(recovery),
        (
            "inject-error",
            _,
            Some(
                kind @ (FailureKind::MalformedArguments
                | FailureKind::InvalidArguments
                | FailureKind::ToolError),
            ),
        ) => {
            if recovery.is_custom {
                return Err(RecipeError::NoCounterpart(
                    "a tool with free-form input has no failure_error_function in openai-agents: return the \
                    text from the tool itself",
                ));
            }
            failure(recovery, kind)
        }
        ("fallback", "invalid-final-output" | "missing-final-output", _) => {
            handler(recovery, "invalid_final_output")
        }
        ("fallback", "refused", _) => handler(recovery, "model_refusal"),
        ("fallback", "turn-limit", _) => handler(recovery, "max_turns"),
        _ => Err(RecipeError::NoCounterpart(without_counterpart(
            recovery.action,
            kind,
        ))),
    }
}

/// Why there is nothing in the framework to carry the recovery to.
fn without_counterpart(action: &str, kind: Option<FailureKind>) -> &'static str {
    match (action, kind) {
        ("inject-error" | "supply-output", Some(FailureKind::MissingOutput)) => {
            "openai-agents drops calls without an output when it prepares a request, and has no option to answer them"
        }
        ("inject-error", _) => {
            "openai-agents can put a text of one's own in place of an unknown tool, of faulty arguments and of \
            a failure of a tool only"
        }
        ("retry", _) => {
            "openai-agents does not ask again for a reply that came: ModelSettings.retry is for failures of the \
            connection, and error_handlers only end the run"
        }
        ("fallback", _) => {
            "error_handlers of openai-agents know max_turns, model_refusal and invalid_final_output only"
        }
        ("take-suggestion" | "repair-arguments", _) => {
            "openai-agents runs a call as the model made it: it cannot change the name or the arguments"
        }
        ("raise-limit", _) => {
            "set ModelSettings(max_tokens=...) on the agent: there is nothing else to it"
        }
        _ => "it mends one recording; openai-agents has no setting that would do it in a run",
    }
}

/// Where a variable's value comes from, in Python; `None` where the framework does not hand it over.
type VariableSource = fn(&str) -> Option<&'static str>;

/// The variables of `tool_error_formatter`, inside a function that knows the agent.
fn in_formatter(name: &str) -> Option<&'static str> {
    match name {
        "tool" => Some("args.tool_name"),
        "tools" => Some("tools"),
        "nearest" => Some("difflib.get_close_matches(args.tool_name, tools, n=3)"),
        "error" => Some("args.default_message"),
        "call_id" => Some("args.call_id"),
        "agent" => Some("agent.name"),
        _ => None,
    }
}

/// The variables of `failure_error_function`.
fn in_failure(name: &str) -> Option<&'static str> {
    match name {
        "tool" => Some("ctx.tool_name"),
        "tools" => Some("[tool.name for tool in ctx.agent.tools] if ctx.agent else []"),
        "nearest" => Some("[]"),
        "arguments" => Some("ctx.tool_arguments"),
        "error" => Some("why"),
        "violations" => Some("violations_of(ctx)"),
        "call_id" => Some("ctx.tool_call_id"),
        "schema" => Some("schema_of(ctx)"),
        "agent" => Some("ctx.agent.name if ctx.agent else \"\""),
        _ => None,
    }
}

fn empty(name: &str) -> &'static str {
    match name {
        "tools" | "nearest" | "violations" => "[]",
        "schema" => "None",
        _ => "\"\"",
    }
}

/// The variables that a template uses.
fn used(pieces: &[TemplatePart<'_>]) -> Vec<&'static Variable> {
    let used = VARIABLES
        .iter()
        .filter(|variable| grammar::names(pieces, variable.name));
    used.collect()
}

fn needs_words(recovery: &RecoveryCase<'_>) -> Result<(), RecipeError> {
    if recovery.template.is_empty() {
        let reason = "write what the model should read first".to_owned();
        return Err(RecipeError::Unfit(reason));
    }
    Ok(check(recovery.template)?)
}

/// The function that returns the text, the call with the available variables, and the variables that are
/// missing.
struct FormatterCode {
    function: String,
    call: String,
    missing: Vec<&'static str>,
    names: Vec<&'static str>,
}

fn words(template: &str, origin: VariableSource) -> Result<FormatterCode, RecipeError> {
    let pieces = grammar::pieces(template)?;
    let names = used(&pieces)
        .iter()
        .map(|variable| variable.name)
        .collect::<Vec<_>>();
    let parameters = match names.join(", ") {
        names if names.is_empty() => names,
        names => format!("*, {names}"),
    };
    let given = names.iter().map(|name| format!("{name}={name}"));
    let given = given.collect::<Vec<_>>().join(", ");
    let function = format!(
        r#"{TEMPLATE}

def wording({parameters}) -> str:
    """The text that the model reads."""
    return TEMPLATE.render({given})
"#
    )
    .replace("WORDING", &quoted(template));
    let call = names.iter().map(|name| {
        let value = origin(name).unwrap_or(empty(name));
        format!("{name}={value}")
    });
    let call = call.collect::<Vec<_>>().join(", ");
    let missing = names.iter().copied().filter(|name| origin(name).is_none());
    Ok(FormatterCode {
        function,
        call: format!("wording({call})"),
        missing: missing.collect(),
        names,
    })
}

/// The template for jinja2, which shows values as retake does.
const TEMPLATE: &str = r#"def compact(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def shown(value):
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return compact(value) if isinstance(value, (dict, list)) else value


ENVIRONMENT = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, finalize=shown)
ENVIRONMENT.filters["tojson"] = compact
TEMPLATE = ENVIRONMENT.from_string(WORDING)
"#;

/// The head of the module: what it does, what it cannot do, imports.
fn head(
    what: &str,
    recovery: &RecoveryCase<'_>,
    words: Option<&FormatterCode>,
    imports: &[&str],
) -> String {
    let mut head = format!("# {what}\n# For openai-agents 0.22 or newer; made by retake");
    if !recovery.wording.is_empty() {
        let _ = write!(head, " from the wording {}", quoted(recovery.wording));
    }
    head.push_str(".\n");
    if let Some(words) = words.filter(|words| !words.missing.is_empty()) {
        let missing = words.missing.join(", ");
        let _ = writeln!(
            head,
            "# openai-agents does not hand over {missing} here: left empty."
        );
    }
    let own = match words {
        Some(_) => &["import json", "import jinja2  # pip install jinja2"][..],
        None => &[],
    };
    let mut imports = imports.iter().chain(own).copied().collect::<Vec<_>>();
    imports.sort_by_key(|import| (group(import), *import));
    imports.dedup();
    for group in imports.chunk_by(|one, next| group(one) == group(next)) {
        head.push('\n');
        head.push_str(&group.join("\n"));
        head.push('\n');
    }
    head.push_str("\n\n");
    head
}

/// The group of an import: Python's own, packages, the SDK.
fn group(import: &str) -> u8 {
    match import.split(' ').nth(1) {
        Some("jinja2" | "jsonschema") => 1,
        Some(name) if name.starts_with("agents") => 2,
        _ => 0,
    }
}

fn tool_not_found(recovery: &RecoveryCase<'_>) -> Result<String, RecipeError> {
    needs_words(recovery)?;
    let words = words(recovery.template, in_formatter)?;
    let uses = |name: &str| words.names.contains(&name);
    let mut imports = vec!["from agents import Agent, Handoff, RunConfig, ToolErrorFormatterArgs"];
    if !uses("tools") && !uses("nearest") {
        imports = vec!["from agents import Agent, RunConfig, ToolErrorFormatterArgs"];
    }
    if uses("nearest") {
        imports.push("import difflib");
    }
    let what = "Answers a call of an unknown tool with a text, instead of ending the run.";
    let mut text = head(what, recovery, Some(&words), &imports);
    text.push_str(&words.function);
    let tools = if uses("tools") || uses("nearest") {
        text.push_str(TOOLS_OF);
        "        tools = await tools_of(agent, args)\n"
    } else {
        ""
    };
    let _ = write!(
        text,
        r#"

def run_config(agent: Agent) -> RunConfig:
    """For Runner.run(agent, ..., run_config=run_config(agent)). After a handoff the tools named are still those of this agent."""

    async def formatter(args: ToolErrorFormatterArgs) -> str | None:
        if args.kind != "tool_not_found":
            return None  # the SDK's own text
{tools}        return {}

    return RunConfig(tool_not_found_behavior="return_error_to_model", tool_error_formatter=formatter)
"#,
        words.call
    );
    Ok(text)
}

fn failure(recovery: &RecoveryCase<'_>, kind: FailureKind) -> Result<String, RecipeError> {
    needs_words(recovery)?;
    let words = words(recovery.template, in_failure)?;
    let uses = |name: &str| words.names.contains(&name);
    let mut imports = vec![
        "import json",
        "from agents import ModelBehaviorError, default_tool_error_function",
        "from agents.tool_context import ToolContext",
    ];
    if uses("violations") {
        imports.push("import jsonschema  # openai-agents brings it along");
    }
    let what =
        "Tells the model what was wrong with a call; everything else keeps the SDK's own text.";
    let mut text = head(what, recovery, Some(&words), &imports);
    text.push_str(&words.function);
    text.push_str(KIND_OF);
    if uses("schema") || uses("violations") {
        text.push_str(SCHEMA_OF);
    }
    if uses("violations") {
        text.push_str(VIOLATIONS_OF);
    }
    let usage = if recovery.tool.is_empty() {
        String::new()
    } else {
        format!("  Of the tool {}.", quoted(recovery.tool))
    };
    let _ = write!(
        text,
        r#"

# Use: @function_tool(failure_error_function=tell){usage}
def tell(ctx: ToolContext, error: Exception) -> str:
    kind, why = kind_of(ctx.tool_arguments, error)
    if kind != {}:
        return default_tool_error_function(ctx, error)
    return {}
"#,
        quoted(kind.name()),
        words.call
    );
    Ok(text)
}

const TOOLS_OF: &str = r#"

async def tools_of(agent: Agent, args: ToolErrorFormatterArgs) -> list[str]:
    found = await agent.get_all_tools(args.run_context)
    tools = [getattr(tool, "qualified_name", tool.name) for tool in found]
    for handoff in agent.handoffs:
        is_handoff = isinstance(handoff, Handoff)
        tools.append(handoff.tool_name if is_handoff else Handoff.default_tool_name(handoff))
    return tools
"#;

const KIND_OF: &str = r#"

def kind_of(arguments: str, error: Exception) -> tuple[str, str]:
    """What kind of failure it is, and what was said about it."""
    try:
        if not isinstance(json.loads(arguments or "{}"), dict):
            return "malformed-arguments", "this is JSON, but not an object"
    except ValueError as parser:
        return "malformed-arguments", str(parser)
    if isinstance(error, ModelBehaviorError) and str(error).startswith("Invalid JSON input for tool"):
        return "invalid-arguments", str(error)
    return "tool-error", str(error)
"#;

const VIOLATIONS_OF: &str = r#"

def violations_of(ctx: ToolContext) -> list[dict[str, str]]:
    """Where the arguments break the tool's schema: the error holds that only where the SDK may log tool data."""
    try:
        arguments = json.loads(ctx.tool_arguments or "{}")
    except ValueError:
        return []
    found = jsonschema.Draft202012Validator(schema_of(ctx) or {}).iter_errors(arguments)
    return [
        {"pointer": "".join(f"/{part}" for part in each.absolute_path), "message": each.message}
        for each in found
    ]
"#;

const SCHEMA_OF: &str = r#"

def schema_of(ctx: ToolContext) -> dict | None:
    for tool in ctx.agent.tools if ctx.agent else []:
        if tool.name == ctx.tool_name:
            return getattr(tool, "params_json_schema", None)
    return None
"#;

fn handler(recovery: &RecoveryCase<'_>, key: &str) -> Result<String, RecipeError> {
    let Some(value) = recovery.value else {
        let reason = "choose the value of the fallback first".to_owned();
        return Err(RecipeError::Unfit(reason));
    };
    let what = match key {
        "max_turns" => "Ends a run that reached its turn limit with a value.",
        "model_refusal" => "Ends a run that the model refused with a value.",
        _ => "Ends a run whose final message breaks the output type with a value.",
    };
    let imports = ["from agents import RunErrorHandlerInput, RunErrorHandlerResult"];
    let mut text = head(what, recovery, None, &imports);
    let include = if recovery.include_in_history {
        "True"
    } else {
        "False"
    };
    let _ = write!(
        text,
        r#"def fallback(data: RunErrorHandlerInput) -> RunErrorHandlerResult:
    """The value must satisfy the output type of the agent; the SDK checks it."""
    return RunErrorHandlerResult(
        final_output={},
        include_in_history={include},
    )


# Use: await Runner.run(agent, ..., error_handlers=ERROR_HANDLERS)
ERROR_HANDLERS = {{"{key}": fallback}}
"#,
        literal(value)
    );
    Ok(text)
}
