//! A recovery, carried out of the debugger: as code for the agent's framework, as an entry of a policy, as a
//! fixture for a test.

use super::context::{FailureKind, VARIABLES, Variable};
use super::library::{find, reads_as_name};
use super::render::{TemplateError, TemplatePart, check, pieces, uses_name};
use super::verbs::{in_vain, verb_of};
use crate::session::{Dialect, Family, OutputSchema, Session, Tool, ToolKind};
use crate::wire::write::request::{Offered, tool_definition};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use toml::Table;

/// A recovery that helped.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecoveryCase<'a> {
    /// Id of the rule whose finding it resolved.
    pub rule: &'a str,
    /// Id of the action.
    pub action: &'a str,
    /// The faulty item, by its number from 0.
    pub item: u32,
    /// The name of the wording in the library; empty for words of one's own.
    pub wording: &'a str,
    /// The template of what the model reads; empty where the action has none.
    pub template: &'a str,
    /// The tool of the call; empty where there is none.
    pub tool: &'a str,
    /// Whether the tool takes free-form input.
    pub is_custom: bool,
    /// The value of a fallback.
    pub value: Option<&'a Value>,
    /// Whether the fallback enters the history that the model sees later.
    pub include_in_history: bool,
}

impl<'a> RecoveryCase<'a> {
    /// Adds the tool of the call that the item is, or that it answers.
    pub fn with_tool(mut self, session: &'a Session) -> Self {
        let index = self.item as usize;
        let places = [Some(index), session.pairing.partner(index)];
        let items = places.into_iter().flatten();
        let mut items = items.filter_map(|place| session.items.get(place));
        if let Some(item) = items.find(|item| !session.name(item).is_empty()) {
            self.tool = session.name(item);
            self.is_custom = item.family == Family::Custom;
        }
        self
    }

    /// The line that says what was exported.
    pub fn what(&self) -> String {
        let wording = match self.wording {
            "" => String::new(),
            name => format!(", wording {name}"),
        };
        let number = u64::from(self.item) + 1;
        format!("{} at item {number}: {}{wording}", self.rule, self.action)
    }
}

/// Why a recovery cannot be exported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    /// The target has no counterpart.
    #[error("{0}")]
    NoCounterpart(&'static str),
    /// Something is missing or does not fit.
    #[error("{0}")]
    Unfit(String),
    /// The template cannot be used.
    #[error("the template, {0}")]
    Template(#[from] TemplateError),
}

// A recovery as a regression fixture: the request after the recovery, with what must hold for it.
//
// The file is a request body of its dialect, so `retake check` reads it as it reads any other, and it can be
// sent to the provider. `expect` names the rule, the call that it found something in, and how many findings of
// it are left there: a fault that was answered stays on record. Whatever the model adds to the history must
// not add to them.

/// The history after the recovery.
#[derive(Debug, Clone, Copy)]
pub struct History<'a> {
    /// How it is spelled.
    pub dialect: Dialect,
    /// The model of the request; empty if unknown.
    pub model: &'a str,
    /// `instructions` of Responses or `system` of Anthropic, where they do not stand in the history.
    pub instructions: Option<&'a Value>,
    /// The elements of `input` (Responses) or `messages` (Chat, Anthropic), up to and with the recovery,
    /// each as its JSON.
    pub elements: &'a [&'a [u8]],
    /// The tools on offer, as the contract knows them; `None` where they are not known.
    pub tools: Option<&'a [&'a Tool]>,
    /// What the final message must satisfy, if anything.
    pub output_schema: Option<&'a OutputSchema>,
    /// The call that was fixed; empty if there was none.
    pub call_id: &'a str,
    /// How many findings of the rule the history has about that call, or at all where there was none.
    pub findings: usize,
}

/// The fixture: a JSON text.
pub fn fixture(recovery: &RecoveryCase<'_>, history: &History<'_>) -> Result<String, RecipeError> {
    let facts = history.dialect.facts();
    let instructions = facts.instructions_key.unwrap_or("instructions");
    let mut body = Map::new();
    body.insert("expect".to_owned(), expectation(recovery, history));
    if !history.model.is_empty() {
        body.insert("model".to_owned(), history.model.into());
    }
    if let Some(text) = history.instructions {
        body.insert(instructions.to_owned(), text.clone());
    }
    if let Some(tools) = history.tools {
        let tools = tools.iter().map(|tool| spelled(tool, history.dialect));
        let tools = tools.map(|tool| tool.to_string()).collect::<Vec<_>>();
        let [opens, closes] = facts.tools_member;
        let member = format!("{{{opens}{}{closes}}}", tools.join(","));
        body.extend(serde_json::from_str::<Map<_, _>>(&member).map_err(unfit)?);
    }
    if let Some(output) = history.output_schema {
        let (key, value) = history.dialect.codec().output_setting(output);
        body.insert(key.to_owned(), value);
    }
    let mut text = serde_json::to_string_pretty(&body).map_err(unfit)?;
    // The elements stand as they were recorded, one a line.
    text.truncate(text.len() - "\n}".len());
    text.push_str(&format!(",\n  \"{}\": [", facts.history_key));
    for (index, element) in history.elements.iter().enumerate() {
        let element = std::str::from_utf8(element).map_err(unfit)?;
        serde_json::from_str::<&serde_json::value::RawValue>(element).map_err(unfit)?;
        text.push_str(if index == 0 { "\n    " } else { ",\n    " });
        text.push_str(element);
    }
    text.push_str("\n  ]\n}\n");
    Ok(text)
}

fn unfit(error: impl std::fmt::Display) -> RecipeError {
    RecipeError::Unfit(format!("an item of the history cannot be read: {error}"))
}

fn expectation(recovery: &RecoveryCase<'_>, history: &History<'_>) -> Value {
    let absent = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    json!({
        "rule": recovery.rule,
        "findings": history.findings,
        "call_id": absent(history.call_id),
        "tool": absent(recovery.tool),
        "action": recovery.action,
        "wording": absent(recovery.wording),
    })
}

/// A tool as its dialect writes it; a name `namespace.name` is nested in its namespace
/// (`{"type":"namespace","name","tools"}`, OpenAI API reference).
fn spelled(tool: &Tool, dialect: Dialect) -> Value {
    if tool.kind == ToolKind::Hosted {
        return json!({"type": tool.name});
    }
    let mut tool = tool.clone();
    let namespace = match tool.name.rsplit_once('.') {
        Some((namespace, name)) if dialect.facts().namespaces => {
            let namespace = namespace.to_owned();
            tool.name = name.to_owned();
            Some(namespace)
        }
        _ => None,
    };
    let definition = tool_definition(dialect, &Offered { tool, strict: None });
    match namespace {
        Some(name) => json!({"type": "namespace", "name": name, "tools": [definition]}),
        None => definition,
    }
}

// Texts and JSON values as literals of Python.

/// A text as a literal of Python. What is neither ASCII nor a letter or digit is escaped, so that nothing in it
/// can hide in an editor.
fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for character in text.chars() {
        match character {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            ' '..='~' => literal.push(character),
            _ if character.is_alphanumeric() => literal.push(character),
            _ => literal.push_str(&escaped(character)),
        }
    }
    literal.push('"');
    literal
}

fn escaped(character: char) -> String {
    match u32::from(character) {
        number @ ..=0xffff => format!("\\u{number:04x}"),
        number => format!("\\U{number:08x}"),
    }
}

/// A JSON value as a literal of Python.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items = items.iter().map(literal).collect::<Vec<_>>();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let member =
                |(key, value): (&String, &Value)| format!("{}: {}", quoted(key), literal(value));
            let members = members.iter().map(member).collect::<Vec<_>>();
            format!("{{{}}}", members.join(", "))
        }
    }
}

// Recipes for openai-agents (Python), 0.22 or newer: `tool_not_found_behavior` and `tool_error_formatter` of
// `RunConfig`, `failure_error_function` of a function tool, `error_handlers` of `Runner.run`. Facts: the
// source of openai-agents 0.22.0 and 0.24.0 (`run_config.py`, `run_error_handlers.py`, `tool.py`).

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
        .filter(|variable| uses_name(pieces, variable.name));
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
    let pieces = pieces(template)?;
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
    """The kind of failure and its message."""
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

// A recovery as an entry of a policy: what to do about findings of its rule without asking.

/// How often a policy asks the model again before it gives up.
const TIMES: i64 = 2;

/// The entry: TOML to add to the other entries of a policy.
pub fn policy(recovery: &RecoveryCase<'_>) -> Result<String, RecipeError> {
    let Some(verb) = verb_of(recovery.action) else {
        return Err(RecipeError::NoCounterpart(
            "a policy cannot do this by itself: it can inject, suggest, repair, retry, fall back, drop and release",
        ));
    };
    if let Some(why) = in_vain(recovery.rule, verb.word) {
        return Err(RecipeError::NoCounterpart(why));
    }
    let mut entry = Table::new();
    entry.insert("do".to_owned(), verb.word.into());
    if verb.has_wording && !recovery.template.is_empty() {
        check(recovery.template)?;
        entry.insert("wording".to_owned(), wording(recovery).into());
    }
    if verb.has_wording {
        entry.insert("times".to_owned(), TIMES.into());
        entry.insert("otherwise".to_owned(), "raise".into());
    }
    if verb.has_value {
        let Some(value) = recovery.value else {
            let reason = "choose the value of the fallback first".to_owned();
            return Err(RecipeError::Unfit(reason));
        };
        entry.insert(
            "include_in_history".to_owned(),
            recovery.include_in_history.into(),
        );
        entry.insert("value".to_owned(), as_toml(value)?);
    }
    let rules = Table::from_iter([(recovery.rule.to_owned(), toml::Value::Table(entry))]);
    let document = Table::from_iter([("on".to_owned(), toml::Value::Table(rules))]);
    toml::to_string(&document).map_err(|error| RecipeError::Unfit(error.to_string()))
}

/// The name where the library has these very words under it, else the words. Words that could be taken for
/// a name are quoted.
fn wording(recovery: &RecoveryCase<'_>) -> String {
    let known = |name: &str| FailureKind::of_rule(recovery.rule).and_then(|kind| find(kind, name));
    if known(recovery.wording).is_some_and(|known| known.template == recovery.template) {
        return recovery.wording.to_owned();
    }
    if reads_as_name(recovery.template) {
        return format!("{{{{ '{}' }}}}", recovery.template);
    }
    recovery.template.to_owned()
}

fn as_toml(value: &Value) -> Result<toml::Value, RecipeError> {
    let unfit = |reason: &str| RecipeError::Unfit(reason.to_owned());
    match value {
        Value::Null => Err(unfit(
            "a policy is TOML, which has no null: leave the member out",
        )),
        Value::Bool(value) => Ok(toml::Value::Boolean(*value)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Ok(toml::Value::Integer(whole)),
            (None, Some(float)) if !number.is_u64() => Ok(toml::Value::Float(float)),
            _ => Err(unfit(
                "a policy is TOML, which has no numbers as large as this",
            )),
        },
        Value::String(text) => Ok(toml::Value::String(text.clone())),
        Value::Array(items) => {
            let items = items.iter().map(as_toml);
            Ok(toml::Value::Array(items.collect::<Result<_, _>>()?))
        }
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| Ok((key.clone(), as_toml(value)?)));
            Ok(toml::Value::Table(
                members.collect::<Result<_, RecipeError>>()?,
            ))
        }
    }
}
