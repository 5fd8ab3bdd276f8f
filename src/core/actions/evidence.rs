//! The facts of a failure, as wordings use them, and what schemas say about a value.

use super::plan::{ActionContext, ActionError, Defect, Result};
use crate::content::without_colours;
use crate::json::not_json;
use crate::json::pointer::readable;
use crate::repair::first_error;
use crate::schema::{Validator, Violation};
use crate::session::{Family, Item, Kind};
use crate::wording::{self, FailureContext, FailureKind as Failure};
use serde_json::Value;

/// The variables of a wording about the current item.
pub fn context(scene: &ActionContext<'_>) -> Result<FailureContext> {
    context_of(scene, &scene.defect, scene.item)
}

/// The kind of failure at hand, which decides what wordings there are for it.
pub fn wording_kind(scene: &ActionContext<'_>) -> Failure {
    failure(scene, &scene.defect, scene.item)
}

/// The kind of failure that a defect is; for the operator's own error about a call, that it has no output, or
/// that the tool failed.
pub(crate) fn failure(scene: &ActionContext<'_>, defect: &Defect<'_>, index: u32) -> Failure {
    let known = Failure::of_rule(defect.rule);
    let failure = known.unwrap_or(if scene.is_unanswered(index) {
        Failure::MissingOutput
    } else {
        Failure::ToolError
    });
    match failure {
        // It cannot have taken effect.
        Failure::MissingOutput if is_unreadable(scene, index) => Failure::MalformedArguments,
        failure => failure,
    }
}

/// Whether no tool could have run on the arguments of a call: they are no JSON, for one because
/// they were cut off.
pub(crate) fn is_unreadable(scene: &ActionContext<'_>, call: u32) -> bool {
    let is_of_function = |item: &Item| {
        item.kind == Kind::Call && matches!(item.family, Family::Function | Family::Legacy)
    };
    let Ok(body) = scene.at(call).map(is_of_function).and_then(|is_call| {
        let body = scene.body(call)?;
        Ok(is_call.then_some(body))
    }) else {
        return false;
    };
    let arguments = body.as_ref().and_then(|body| body.arguments.json());
    arguments.is_some_and(|text| first_error(text).is_some())
}

/// The text that reports a defect to the model, from the operator's template or the library's.
pub(crate) fn render(
    scene: &ActionContext<'_>,
    defect: &Defect<'_>,
    index: u32,
    words: Option<&str>,
) -> Result<String> {
    let own = words.filter(|words| !words.trim().is_empty());
    let template =
        own.unwrap_or_else(|| &wording::default_of(failure(scene, defect, index)).template);
    let text = wording::render(template, &context_of(scene, defect, index)?)?;
    if text.trim().is_empty() {
        return Err(ActionError::BadWords(
            "the wording is empty here".to_owned(),
        ));
    }
    Ok(text)
}

fn context_of(
    scene: &ActionContext<'_>,
    defect: &Defect<'_>,
    index: u32,
) -> Result<FailureContext> {
    let mut context = FailureContext {
        error: defect.fact("error").unwrap_or_default().to_owned(),
        error_class: defect.fact("class").unwrap_or_default().to_owned(),
        suggestion: defect.fact("advice").unwrap_or_default().to_owned(),
        recoverable: defect.fact("recoverable") == Some("yes"),
        ..FailureContext::default()
    };
    let item = scene.at(index)?;
    let call = call_of(scene, index, item.kind);
    match call {
        Some(call) => add_call(scene, defect, call, &mut context)?,
        None => add_message(scene, index, &mut context),
    }
    add_tools(scene, defect, call.unwrap_or(index), &mut context);
    if let Some(output) = output_of(scene, index, item)
        && context.error.is_empty()
    {
        context.error = without_colours(&scene.body(output)?.text).into_owned();
    }
    Ok(context)
}

fn call_of(scene: &ActionContext<'_>, index: u32, kind: Kind) -> Option<u32> {
    let partner = || scene.session().pairing.partner(index as usize);
    match kind {
        Kind::Call | Kind::HostedCall => Some(index),
        Kind::Output | Kind::HostedOutput => partner().and_then(|call| u32::try_from(call).ok()),
        _ => None,
    }
}

fn output_of(scene: &ActionContext<'_>, index: u32, item: &Item) -> Option<u32> {
    match item.kind {
        Kind::Output => Some(index),
        Kind::Call => {
            let output = scene.session().pairing.partner(index as usize)?;
            u32::try_from(output).ok()
        }
        _ => None,
    }
}

fn add_call(
    scene: &ActionContext<'_>,
    defect: &Defect<'_>,
    call: u32,
    context: &mut FailureContext,
) -> Result<()> {
    let item = scene.at(call)?;
    let arguments = scene.body(call)?.arguments;
    context.tool = scene.session().name(item).to_owned();
    context.call_id = scene.session().call_id(item)?;
    context.arguments = arguments.as_written().to_owned();
    let offered = scene.around.offered(call as usize);
    let tool = offered.and_then(|offered| offered.tool(item.name));
    let output = scene.session().contract.json_output(&context.tool);
    let of_output = output.map(|output| output.schema.clone());
    context.schema = tool.and_then(|tool| tool.parameters.clone()).or(of_output);
    let Some(text) = arguments.json() else {
        return Ok(());
    };
    match serde_json::from_str::<Value>(text) {
        Ok(value) => {
            let validator = offered
                .as_ref()
                .and_then(|offered| offered.validator(item.name));
            let of_output = output.map(|output| Validator::compile_either(&output.schema));
            let validator = validator.or(of_output.as_ref().map(Result::as_ref));
            if let Some(Ok(validator)) = validator.filter(|_| value.is_object()) {
                context.violations = violation_texts(&violations(validator, &value));
            }
            if let Some(fault) = defect.fact("fault").filter(|_| context.error.is_empty()) {
                fault.clone_into(&mut context.error);
            }
            if let Some(key) = defect.fact("key").filter(|_| context.error.is_empty()) {
                context.error = format!("the key \"{key}\" appears twice");
            }
        }
        Err(_) if context.error.is_empty() => {
            context.error = first_error(text).map_or_else(String::new, |error| error.to_string());
        }
        Err(_) => {}
    }
    Ok(())
}

/// A message that was to satisfy the output schema.
fn add_message(scene: &ActionContext<'_>, index: u32, context: &mut FailureContext) {
    let Some(schema) = &scene.session().contract.output_schema else {
        return;
    };
    context.schema = Some(schema.schema.clone());
    // A message that cannot be read is reported without its violations.
    let Ok(body) = scene.body(index) else {
        return;
    };
    match serde_json::from_str::<Value>(&body.text) {
        Ok(value) => {
            let validator = Validator::compile_either(&schema.schema);
            let found = validator.map(|validator| violations(&validator, &value));
            context.violations = violation_texts(&found.unwrap_or_default());
        }
        Err(_) if context.error.is_empty() => {
            let error = first_error(&body.text);
            context.error = error.map_or_else(String::new, |error| error.to_string());
        }
        Err(_) => {}
    }
}

fn add_tools(
    scene: &ActionContext<'_>,
    defect: &Defect<'_>,
    index: u32,
    context: &mut FailureContext,
) {
    let offered = scene.around.offered(index as usize);
    let names = offered
        .map(|offered| offered.callable())
        .unwrap_or_default();
    context.tools = names.into_iter().map(str::to_owned).collect();
    let own = defect.fact("tool").unwrap_or_default();
    if context.tool.is_empty() {
        own.clone_into(&mut context.tool);
    }
    context.nearest = nearest(scene, defect, index);
}

/// The offered names that the name of a call was probably meant for, the best first; none for a
/// name that is offered.
pub(crate) fn nearest(scene: &ActionContext<'_>, defect: &Defect<'_>, call: u32) -> Vec<String> {
    if let Some(known) = defect.fact("nearest") {
        return known.split(", ").map(str::to_owned).collect();
    }
    let offered = scene.around.offered(call as usize);
    let (Some(offered), Ok(item)) = (offered, scene.at(call)) else {
        return Vec::new();
    };
    let name = scene.session().name(item);
    if name.is_empty() || offered.tool(item.name).is_some() {
        return Vec::new();
    }
    let near = offered.catalogue().nearest(name).into_iter();
    near.map(|suggestion| suggestion.name).collect()
}

/// Where a value breaks a schema. A check that could take too long says nothing.
pub(crate) fn violations(validator: &Validator, value: &Value) -> Vec<Violation> {
    validator.violations(value).unwrap_or_default()
}

/// Checks the operator's value against a schema, if there is one that can be used: the value is JSON
/// and has no violation.
pub(crate) fn check_value(text: &str, schema: Option<&Value>, what: &str) -> Result<()> {
    let Some(schema) = schema else {
        return Ok(());
    };
    let value = serde_json::from_str(text).map_err(|error| {
        let fault = not_json(&error);
        ActionError::BadWords(format!("{fault}; the schema of {what} asks for JSON"))
    })?;
    let validator = Validator::compile_either(schema);
    let found = validator.map(|validator| violations(&validator, &value));
    match found {
        Ok(found) if !found.is_empty() => Err(ActionError::BadWords(format!(
            "this breaks the schema of {what}: {}",
            one_line(&found)
        ))),
        _ => Ok(()),
    }
}

/// The violations on one line, each with its place.
pub(crate) fn one_line(violations: &[Violation]) -> String {
    lines(violations).join("; ")
}

/// The violations, each with its place.
pub fn lines(violations: &[Violation]) -> Vec<String> {
    let texts = violations.iter().map(|violation| {
        if violation.pointer.is_empty() {
            violation.message.clone()
        } else {
            format!("{}: {}", readable(&violation.pointer), violation.message)
        }
    });
    texts.collect()
}

fn violation_texts(violations: &[Violation]) -> Vec<wording::ViolationText> {
    let texts = violations.iter().map(|violation| wording::ViolationText {
        pointer: readable(&violation.pointer).into_owned(),
        message: violation.message.clone(),
    });
    texts.collect()
}

/// Longest excerpt of a text that a finding or a note quotes, in characters.
const QUOTE: usize = 200;

/// The first line of a text that says something, shortened.
pub fn quote(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    match line.char_indices().nth(QUOTE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// What an item is called in a sentence: `the Bash call of turn 3`; with its number where that names several.
pub(crate) fn named(scene: &ActionContext<'_>, index: u32) -> String {
    let Ok(item) = scene.at(index) else {
        return format!("item {}", ordinal(index));
    };
    let (turn, tool) = (item.turn + 1, scene.tool(index));
    let has_name = tool != item.kind.word();
    let mut name = match item.kind {
        kind if !has_name => format!("the {} of turn {turn}", kind.word()),
        Kind::Call | Kind::HostedCall | Kind::ApprovalRequest => {
            format!("the {tool} call of turn {turn}")
        }
        Kind::Output | Kind::HostedOutput => format!("the output of {tool} in turn {turn}"),
        kind => format!("the {} of turn {turn}", kind.word()),
    };
    let turn = scene
        .turn(index)
        .map_or(index..index, |turn| turn.first..turn.end);
    let is_alike = |other: &u32| {
        let is_same_kind = scene.at(*other).is_ok_and(|other| other.kind == item.kind);
        *other != index && is_same_kind && scene.tool(*other) == tool
    };
    // In a long turn what is alike is not looked for: there is.
    let is_call = !matches!(item.kind, Kind::Reasoning | Kind::User | Kind::Assistant);
    if turn.len() > LONG_TURN
        || (is_call && !has_name)
        || turn.clone().any(|other| is_alike(&other))
    {
        name.push_str(&format!(" (item {})", ordinal(index)));
    }
    name
}

/// Items of a turn in which one is always called by its number, too.
const LONG_TURN: usize = 256;

/// The number by which the screen and reports call an item.
pub fn ordinal(index: u32) -> String {
    (u64::from(index) + 1).to_string()
}
