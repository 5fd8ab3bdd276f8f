//! malformed-arguments: the arguments of a call are not JSON, or no object.

use super::{CheckedItem, Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::{Offer, Safety};
use crate::repair::{Repair, SyntaxDefect, certain, decoded_twice, defects, first_error, repair};
use crate::session::{Family, Kind};
use crate::wire::Body;
use crate::wire::models::parses_arguments;
use crate::wire::tools::type_word;
use serde::de::IgnoredAny;
use serde_json::Value;

pub(crate) static RULE: Rule = Rule {
    id: "malformed-arguments",
    severity: Severity::Error,
    summary: "the arguments of a call are not JSON, or JSON that is not an object",
    message: "the arguments of {tool} are {fault}[: {error}][; {defects}][; {replay}]",
    page: RulePage {
        what: "The model wrote arguments that cannot be read as JSON, or JSON that is not an object.",
        why: "The tool cannot run. Runtimes raise, or answer with a parser's message; and providers that take \
            arguments as JSON in place refuse every later request that holds such a call.",
        example: r#"{"principal": 1000, "rate": 4.1/100/12}"#,
        what_to_do: "Look at the repair as a diff and take it if it says what the model meant; or inject an \
            error that shows the place. The repair is safe only where two readers agree, nothing was cut off, \
            and the tool would take it; else the error is, unless the model has seen an answer already.",
        limits: "Arithmetic (25*12) is not computed: edit it. Empty arguments count as {}. Free-form input of custom tools is never checked. Arguments that \
            a token limit cut off are truncated-response. JSON that is nested deeper than 128 levels is not \
            judged. A call that was answered with an error is only a warning, unless the provider refuses it.",
    },
    offers: &[
        Offer::unsafe_("repair-arguments"),
        Offer::safe("inject-error"),
        Offer::unsafe_("retry"),
        Offer::manual("edit"),
        Offer::unsafe_("drop-pair"),
    ],
    scope: Scope::Item {
        kinds: &[Kind::Call],
        glance: |_| true,
        check,
    },
};

/// Up to how many bytes of arguments are tried to be repaired here; of longer ones the repair is
/// offered as unsafe, untried.
const MOST_TRIED: usize = 4 * 1024;

/// What is wrong, in the words of the message.
#[derive(Default)]
struct Fault {
    fault: String,
    error: String,
    defects: String,
}

fn check(run: &Run<'_>, subject: &CheckedItem<'_>, findings: &mut Vec<Finding>) {
    if !matches!(subject.item.family, Family::Function | Family::Legacy) {
        return;
    }
    let Some(text) = subject.body.arguments.json() else {
        return;
    };
    let found = match subject.arguments {
        Some(value) if value.is_object() => quoted_in_place(subject),
        Some(value) => Some(not_an_object(text, value)),
        None => not_json(text),
    };
    let Some(found) = found.filter(|_| !run.is_cut(subject.index)) else {
        return;
    };
    let finding = Finding::new(&RULE, subject.index)
        .fact("tool", run.session.name(subject.item))
        .fact("fault", found.fault)
        .fact("error", found.error)
        .fact("defects", found.defects)
        .fact("replay", replay(run, subject));
    let finding = with_repair(finding, run, subject, text);
    let is_refused = run.target.facts().object_arguments || finding.get("replay").is_some();
    findings.push(match is_refused {
        true => finding,
        false => finding.answered_in(run),
    });
}

/// A JSON object in a string where the dialect wants the object itself.
fn quoted_in_place(subject: &CheckedItem<'_>) -> Option<Fault> {
    let Body { arguments, .. } = subject.body;
    let is_quoted = subject.item.is_block()
        && matches!(arguments, crate::wire::Arguments::Text(text) if !text.trim().is_empty());
    is_quoted.then(|| Fault {
        fault: format!(
            "a string where {} wants an object",
            subject.item.facts().map_or("", |facts| facts.vendor)
        ),
        ..Fault::default()
    })
}

fn not_an_object(text: &str, value: &Value) -> Fault {
    Fault {
        fault: format!("{}, not an object", type_word(value)),
        defects: match decoded_twice(text) {
            Some(_) => SyntaxDefect::DoubleEncoded.to_string(),
            None => String::new(),
        },
        ..Fault::default()
    }
}

/// `None` for text that is JSON although the reader gave up on it: nested too deeply, numbers or
/// characters out of range.
fn not_json(text: &str) -> Option<Fault> {
    serde_json::from_str::<IgnoredAny>(text).err()?;
    let error = first_error(text)?;
    let is_tried = text.len() <= MOST_TRIED;
    Some(Fault {
        fault: "not JSON".to_owned(),
        error: error.to_string(),
        defects: if is_tried {
            known_defects(text)
        } else {
            String::new()
        },
    })
}

/// What breaks a text that is no JSON, as far as it is a known defect.
pub(crate) fn known_defects(text: &str) -> String {
    let mut found = defects(text);
    found.retain(|defect| *defect != SyntaxDefect::Other);
    let words = found.iter().map(SyntaxDefect::to_string);
    words.collect::<Vec<_>>().join(", ")
}

/// Providers that take arguments as JSON in place cannot be sent text that is none (vercel/ai #14280), and some
/// read the text.
fn replay(run: &Run<'_>, subject: &CheckedItem<'_>) -> String {
    let facts = run.target.facts();
    let is_text = subject
        .item
        .facts()
        .is_some_and(|own| !own.object_arguments);
    let model = run.session.model.as_deref().unwrap_or_default();
    if facts.object_arguments && is_text {
        let vendor = facts.vendor;
        format!("{vendor} takes only an object and would refuse the history")
    } else if !facts.object_arguments && subject.arguments.is_none() && parses_arguments(model) {
        format!("{model} takes only JSON and would refuse the history")
    } else {
        String::new()
    }
}

/// Offers the repair as far as the text can be repaired. An unsafe repair comes after the error, where that is
/// safe; one that the tool would still refuse comes last.
fn with_repair(finding: Finding, run: &Run<'_>, subject: &CheckedItem<'_>, text: &str) -> Finding {
    let finding = finding.of_call(run.session);
    let (safety, is_refused) = if text.len() <= MOST_TRIED {
        safety_of_repair(run, subject, text)
    } else {
        (Some(Safety::Unsafe), false)
    };
    let mut finding = match safety {
        Some(safety) => finding.with_safety("repair-arguments", safety),
        None => finding.offering(|offer| offer.action != "repair-arguments"),
    };
    if safety != Some(Safety::Safe) {
        finding.offers.sort_by_key(|offer| {
            let is_last = is_refused && offer.action == "repair-arguments";
            (is_last, offer.safety != Safety::Safe)
        });
    }
    finding
}

/// How safe the repair is, `None` where there is none: what two readers agree on is safe, if nothing was cut
/// off and the tool would take it. And whether the tool would refuse what was repaired.
fn safety_of_repair(
    run: &Run<'_>,
    subject: &CheckedItem<'_>,
    text: &str,
) -> (Option<Safety>, bool) {
    let is_refused = |meant: &str| !is_taken(run, subject, meant);
    let meant = match repair(text) {
        Repair::Likely { text: likely } => match certain(text) {
            Some(certain) => Some(certain),
            None => return (Some(Safety::Unsafe), is_refused(&likely)),
        },
        Repair::OneOpinion { text } => return (Some(Safety::Unsafe), is_refused(&text)),
        Repair::Disagree { a, b } => {
            return (Some(Safety::Manual), is_refused(&a) && is_refused(&b));
        }
        // JSON in a string: taking off the quotes changes nothing that was meant.
        Repair::Valid if is_object_in_string(text) => {
            Some(decoded_twice(text).unwrap_or_else(|| text.to_owned()))
        }
        Repair::Valid | Repair::None => return (None, false),
    };
    match meant.is_some_and(|meant| is_taken(run, subject, &meant)) {
        true => (Some(Safety::Safe), false),
        false => (Some(Safety::Unsafe), true),
    }
}

/// Whether the tool takes these arguments, as far as its schema is known.
fn is_taken(run: &Run<'_>, subject: &CheckedItem<'_>, json: &str) -> bool {
    let value = serde_json::from_str::<Value>(json).ok();
    let Some(value) = value.filter(Value::is_object) else {
        return false;
    };
    let offered = run.offered(subject.index);
    let validator = offered.and_then(|offered| offered.validator(subject.item.name));
    match validator {
        Some(Ok(validator)) => validator
            .violations(&value)
            .is_ok_and(|violations| violations.is_empty()),
        Some(Err(_)) | None => true,
    }
}

fn is_object_in_string(text: &str) -> bool {
    let inner = decoded_twice(text);
    inner
        .as_deref()
        .unwrap_or(text)
        .trim_start()
        .starts_with('{')
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::actions::Safety;
    use crate::rules::fixture::{Fixture, fixture};
    use crate::rules::{Finding, Severity, malformed_arguments, truncated_response};
    use crate::session::Dialect;
    use serde_json::json;

    fn call(arguments: &str) -> Fixture {
        let call = json!([{"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function",
            "function": {"name": "pay", "arguments": arguments}}]}]);
        fixture(&call.to_string())
    }

    fn repairing(finding: &Finding) -> Option<Safety> {
        let offer = finding
            .offers
            .iter()
            .find(|offer| offer.action == "repair-arguments");
        offer.map(|offer| offer.safety)
    }

    #[test]
    fn invalid_json_is_reported_with_its_place_and_a_repair() {
        let story = call(r#"{"amount": 5, }"#);
        let finding = story.finding(&RULE);
        assert_eq!(
            finding.message(),
            "the arguments of pay are not JSON: key must be a string at line 1 column 15; trailing comma"
        );
        assert_eq!(repairing(&finding), Some(Safety::Safe));
        call("import os\nos.remove('x')").expect(&RULE, &["call_1"]);
        call("{\"a\":1} {\"b\":2}").expect(&RULE, &["call_1"]);
    }

    #[test]
    fn what_was_cut_off_is_never_closed_safely() {
        for cut in [
            r#"{"path":"/etc/x","old":"half of a te"#,
            r#"{"path":"/etc/x","limi"#,
            r#"{"path":"/etc/x","limit":"#,
            r#"{"path":"/etc/x""#,
            r#"{"path":"/etc/x","lines":[1, 2"#,
            r#"{"path":"/etc/x", "limit"}"#,
        ] {
            let finding = call(cut).finding(&RULE);
            assert_ne!(repairing(&finding), Some(Safety::Safe), "{cut}");
            let first = finding.offers[0];
            assert_eq!((first.action, first.safety), ("inject-error", Safety::Safe));
        }
    }

    #[test]
    fn a_repair_that_the_tool_would_refuse_is_not_safe() {
        let story = |parameters: serde_json::Value| {
            let story = call(r#"{"amount": 5, }"#);
            story
                .tools(json!([{"name": "pay", "parameters": parameters}]))
                .finding(&RULE)
        };
        let taken = story(json!({"type": "object", "properties": {"amount": {"type": "integer"}}}));
        assert_eq!(repairing(&taken), Some(Safety::Safe));
        let refused = story(json!({"type": "object", "required": ["to"]}));
        assert_eq!(repairing(&refused), Some(Safety::Unsafe));
        let last = refused.offers.last().map(|offer| offer.action);
        assert_eq!(last, Some("repair-arguments"));
        assert_eq!(refused.offers[0].action, "inject-error");
    }

    #[test]
    fn json_that_is_no_object_is_a_fault_too() {
        let finding = call("[1,2]").finding(&RULE);
        assert_eq!(
            finding.message(),
            "the arguments of pay are an array, not an object"
        );
        assert_eq!(repairing(&finding), None);
        let twice = call(r#""{\"amount\":5}""#).finding(&RULE);
        assert_eq!(repairing(&twice), Some(Safety::Safe));
        assert_eq!(
            twice.message(),
            "the arguments of pay are a string, not an object; encoded twice: a JSON string that holds JSON"
        );
    }

    #[test]
    fn empty_arguments_are_an_empty_object() {
        for empty in ["", "  ", "{}", " { } "] {
            call(empty).expect(&RULE, &[]);
        }
    }

    #[test]
    fn deep_or_extreme_json_is_still_json() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(300), "]".repeat(300));
        call(&deep).expect(&RULE, &[]);
        call(r#"{"a":1e999}"#).expect(&RULE, &[]);
        call(r#"{"a":"\ud800"}"#).expect(&RULE, &[]);
        let broken = format!("{{\"a\":{}}}", "[".repeat(300));
        call(&broken).expect(&RULE, &["call_1"]);
    }

    #[test]
    fn free_form_input_of_custom_tools_is_no_json() {
        fixture(
            r#"{"type":"custom_tool_call","call_id":"call_1","name":"apply_patch","input":"*** Begin Patch"}
            {"type":"custom_tool_call_output","call_id":"call_1","output":"Done!"}"#,
        )
        .expect(&RULE, &[]);
    }

    #[test]
    fn story_7_arguments_cut_by_the_token_limit_are_a_truncation() {
        let story = fixture(
            r#"{"request":{"model":"m","messages":[{"role":"user","content":"pay"}],
                    "tools":[{"type":"function","function":{"name":"pay"}}]},
                "response":{"choices":[{"finish_reason":"length","message":{"role":"assistant","tool_calls":[
                // a whole call before the one that was cut
                {"id":"call_1","type":"function","function":{"name":"pay","arguments":"{,}"}},
                {"id":"call_2","type":"function","function":{"name":"pay","arguments":"{\"amo"}}]}}]}}"#,
        );
        story.expect(&RULE, &["call_1"]);
        story.expect(&truncated_response::RULE, &["call_2"]);
    }

    #[test]
    fn a_call_that_was_answered_with_an_error_is_a_warning_where_its_provider_takes_it() {
        let answered = |model: &str, arguments: &str, output: &str| {
            let request = json!({"model": model, "messages": [{"role": "assistant", "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "pay", "arguments": arguments}}]},
                {"role": "tool", "tool_call_id": "call_1", "content": output}]});
            fixture(&request.to_string())
        };
        let error = "Error: bad arguments";
        let judged = |story: Fixture| {
            let finding = story.finding(&RULE);
            (finding.severity, finding.message())
        };
        let (severity, message) = judged(answered("gpt-4.1", "{,}", error));
        assert_eq!(severity, Severity::Warning);
        assert!(message.ends_with(" (answered by item 2)"), "{message}");
        let (severity, _) = judged(answered("qwen3-coder-plus", "[]", error));
        assert_eq!(severity, Severity::Warning);
        let (severity, message) = judged(answered("qwen3-coder-plus", "{,}", error));
        assert_eq!(severity, Severity::Error);
        let told = "; qwen3-coder-plus takes only JSON and would refuse the history";
        assert!(message.ends_with(told), "{message}");
        let (severity, _) = judged(answered("gpt-4.1", "{,}", "paid"));
        assert_eq!(severity, Severity::Error);
        let elsewhere = answered("gpt-4.1", "{,}", error).target(Dialect::Anthropic);
        assert_eq!(judged(elsewhere).0, Severity::Error);
        let in_place = r#"[{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"pay","input":"{,}"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"no"}]}]"#;
        assert_eq!(judged(fixture(in_place)).0, Severity::Error);
    }

    #[test]
    fn story_9_broken_arguments_would_be_refused_by_a_provider_that_wants_objects() {
        let finding = call("{'a': 1}")
            .target(Dialect::Anthropic)
            .finding(&malformed_arguments::RULE);
        assert!(
            finding
                .message()
                .ends_with("Anthropic takes only an object and would refuse the history")
        );
        // Anthropic's own: input is JSON in place, and text there is refused, even if the text is JSON.
        fixture(
            r#"[{"role":"assistant","content":[
                {"type":"tool_use","id":"toolu_1","name":"pay","input":"{\"a\":1}"},
                {"type":"tool_use","id":"toolu_2","name":"pay","input":{"a":1}}]}]"#,
        )
        .expect(&RULE, &["toolu_1"]);
    }
}
