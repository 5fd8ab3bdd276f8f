//! provider-error: a request was answered by an error in place of a reply.

use super::finding::REFUSES_HISTORY;
use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::{ordinal, quote};
use crate::session::{CallId, Flags, HttpFacts, Item, Kind, Span, index_number};
use crate::wire::Refusal;
use crate::wire::provider_errors::{Decoded, decode};
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

pub(crate) static RULE: Rule = Rule {
    id: "provider-error",
    severity: Severity::Error,
    summary: "a request got an error in place of a reply",
    message: "the request {what}[ {times} times][ with {status}]: {text}[; {meaning}][ ({rule})][; {otherwise}][; it names {named}]",
    page: RulePage {
        what: "The provider, or what is between it and the agent, answered a request with an error: the history \
            was refused, the account or the key was, the service was overloaded, the connection broke. What the \
            text is known to mean is words with it, and which item it names.",
        why: "Where nothing came after it, the run ended there. A history that was refused once is refused again \
            with every request that repeats it.",
        example: "400 invalid_request_error: No tool output found for function call call_1.",
        what_to_do: "Correct the item that it names, or what the rule in brackets finds; `retake explain --error \
            TEXT FILE` says more. An overload or a rate limit passes: ask again.",
        limits: "Error where no reply of the model follows; a warning where one follows and the error words that \
            the request was wrong; else a note. Retries of a request that failed alike are one finding. Errors of \
            a runtime that stand where a reply would be are not told from those of a provider. A recording \
            keeps its errors: none is fixed in it.",
    },
    offers: &[],
    scope: Scope::Findings(check),
};

/// An error that no reply of the model follows, with those before it that were retried.
struct Failure {
    index: usize,
    times: usize,
    text: String,
    decoded: Option<Decoded>,
}

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let items = &run.session.items;
    let mut open: Vec<Failure> = Vec::new();
    let mut failed: Vec<(Failure, bool)> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if is_error(item) {
            if let Some(failure) = Failure::read(run, index) {
                failure.join(&mut open);
            }
        } else if item.kind.is_from_model() && !open.is_empty() && !is_dropped(&items[index..]) {
            failed.extend(open.drain(..).map(|failure| (failure, true)));
        }
    }
    failed.extend(open.into_iter().map(|failure| (failure, false)));
    for (failure, went_on) in failed {
        let found = failure.finding(run, went_on, findings);
        findings.push(found);
    }
}

fn is_error(item: &Item) -> bool {
    item.kind == Kind::Notice && item.flags.has(Flags::ERROR)
}

/// Whether the items begin with a part of a reply that its agent has dropped because it failed.
fn is_dropped(items: &[Item]) -> bool {
    let is_part = |item: &&Item| item.kind.is_from_model() && item.flags.has(Flags::COMPACTED);
    let next = items.iter().find(|item| !is_part(item));
    items.first().is_some_and(|first| is_part(&first))
        && next.is_some_and(|next| {
            next.kind == Kind::Notice && (is_error(next) || next.flags.has(Flags::INTERRUPT))
        })
}

impl Failure {
    /// `None` for the end at a limit that the agent has set itself.
    fn read(run: &Run<'_>, index: usize) -> Option<Self> {
        let whole = whole_text(run, index)?;
        // The text itself is enough about a service or an account.
        let mut refusals = decode(&whole).into_iter();
        let decoded = refusals.find(|refusal| !refusal.fault.is_of_service());
        Some(Self {
            index,
            times: 1,
            text: quote(&sentence(&whole)),
            decoded,
        })
    }

    fn may_pass(&self) -> bool {
        static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(
                r"(?xi) overloaded | rate.?limit | too\ many\ requests | throttl | unavailable | time(d\ |-)?out
                | connection | network | socket | econn | fetch\ failed | stream\ (disconnected|closed|error)
                | ^terminated$ | internal\ server\ error | api_error | reconnecting | try\ again\ later
                | (error|status|code|http)\W*(code\W*)?(408|409|429|5\d\d)\b | ^\W*(408|429|5\d\d)\b",
            )
            .ok()
        });
        let fits = |words: &Regex| words.is_match(&self.text);
        self.decoded.is_none() && WORDS.as_ref().is_some_and(fits)
    }

    /// Adds it to those that no reply has followed yet; one that was retried and failed alike, or
    /// might have passed, is counted in it.
    fn join(mut self, open: &mut Vec<Self>) {
        if let Some(last) = open.last()
            && (last.text == self.text || last.may_pass())
        {
            self.times += last.times;
            open.pop();
        }
        open.push(self);
    }

    fn finding(&self, run: &Run<'_>, went_on: bool, findings: &[Finding]) -> Finding {
        let decoded = self.decoded.as_ref();
        let named = decoded.and_then(|decoded| named(run, self.index, decoded, findings));
        let name = |index: usize| {
            let item = &run.session.items[index];
            let words = [item.kind.word(), run.session.name(item)].join(" ");
            format!(
                "item {}, {}",
                ordinal(index_number(index)),
                words.trim_end()
            )
        };
        let is_refused = decoded.is_some_and(|decoded| !decoded.fault.is_of_reply());
        let of_history = decoded.filter(|decoded| decoded.is_of_history());
        let rule = decoded.and_then(|decoded| decoded.rule).unwrap_or_default();
        // Where no rule finds what the text says, it may mean something else.
        let is_found = findings.iter().any(|finding| finding.rule.id == rule);
        let misleading = decoded.and_then(|decoded| decoded.misleading);
        let misleading = misleading.filter(|_| !is_found);
        let times = if self.times > 1 {
            self.times.to_string()
        } else {
            String::new()
        };
        Finding::new(&RULE, self.index)
            .fact("what", if is_refused { "was refused" } else { "failed" })
            .fact("times", times)
            .fact("status", status_of(run, self.index).unwrap_or_default())
            .fact("text", self.text.trim_end_matches('.'))
            .fact(
                "meaning",
                decoded.map(|it| clause(it.meaning)).unwrap_or_default(),
            )
            .fact("rule", rule)
            .fact("otherwise", misleading.map(clause).unwrap_or_default())
            .fact("named", named.map(name).unwrap_or_default())
            .fact(REFUSES_HISTORY, of_history.map_or("", |_| "invalid"))
            .beside(named)
            .as_bad_as(match (went_on, decoded) {
                (false, _) => Severity::Error,
                (true, Some(_)) => Severity::Warning,
                (true, None) => Severity::Info,
            })
            .in_branch_of(run.session)
    }
}

/// A sentence as a part of another one.
fn clause(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut chars = sentence.chars();
    let first = chars.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

/// The item before `end` that an error means: by its call id or its tool, else by the rule that finds the same
/// fault.
fn named(run: &Run<'_>, end: usize, decoded: &Decoded, findings: &[Finding]) -> Option<usize> {
    let session = run.session;
    let before = || session.items[..end].iter().enumerate().rev();
    let ids = decoded.call_ids.iter();
    let ids = ids.map(|id| CallId::new(id.as_bytes(), 0).hash);
    let ids = ids.filter(|id| *id != 0).collect::<Vec<_>>();
    let by_id = |is_wanted: &dyn Fn(&Item) -> bool| {
        let mut items = before();
        let found = items.find(|(_, item)| ids.contains(&item.call_id.hash) && is_wanted(item));
        found.map(|(index, _)| index)
    };
    let by_tool = || {
        let tool = decoded.tool.as_ref()?;
        let is_called = |item: &Item| item.kind == Kind::Call && session.name(item) == tool;
        before()
            .find(|(_, item)| is_called(item))
            .map(|(index, _)| index)
    };
    let by_rule = || {
        let mut found = findings.iter().filter_map(|finding| {
            let item = finding.item? as usize;
            (Some(finding.rule.id) == decoded.rule && item < end).then_some(item)
        });
        found.next_back()
    };
    by_id(&|item| item.kind == decoded.fault.half())
        .or_else(|| by_id(&|_| true))
        .or_else(by_tool)
        .or_else(by_rule)
}

/// The status of the exchange that an error is the reply of, where that is recorded, and how long its provider asks
/// to wait: `HTTP 429, retry after 20s`.
fn status_of(run: &Run<'_>, index: usize) -> Option<String> {
    let facts = HttpFacts::of(run.session, index)?;
    let wait = facts.header("retry-after");
    let wait = wait.map_or_else(String::new, |wait| {
        let is_number = !wait.is_empty() && wait.bytes().all(|byte| byte.is_ascii_digit());
        let unit = if is_number { "s" } else { "" };
        format!(", retry after {wait}{unit}")
    });
    let status = facts.status;
    (400..600)
        .contains(&status)
        .then(|| format!("HTTP {status}{wait}"))
}

/// Of a longer error so many bytes are read.
const LONGEST: u64 = 64 * 1024;

/// What an error says, with all that it says beside its sentence. `None` for the end at a limit of the agent's own.
fn whole_text(run: &Run<'_>, index: usize) -> Option<String> {
    let item = run.session.items.get(index)?;
    let span: Span = item.span.head(LONGEST);
    let bytes = run.session.source.read(span).ok()?;
    let raw = String::from_utf8_lossy(&bytes).into_owned();
    let Ok(value) = serde_json::from_str::<Value>(&raw) else {
        return Some(raw);
    };
    let word = |key: &str| value.get(key).and_then(Value::as_str);
    if word("type") == Some("result") && word("subtype")?.starts_with("error_max") {
        return None;
    }
    let known = ["text", "result", "content"]
        .iter()
        .find_map(|key| word(key));
    Some(known.map_or(raw, str::to_owned))
}

/// The sentence of an error for people: that of the body in it, and in the message of that, after the words before
/// the body.
fn sentence(text: &str) -> String {
    let start = match text.starts_with(['[', '"']) {
        true => 0,
        false => text.find('{').unwrap_or(text.len()),
    };
    let mut bodies = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    let body = bodies.next().and_then(Result::ok);
    let refusal = body.as_ref().and_then(|body| Refusal::of(innermost(body)));
    let Some(refusal) = refusal else {
        return text.to_owned();
    };
    let words = match refusal.message.trim() {
        "" => refusal.line(),
        message if refusal.kind.contains("overloaded") => format!("{message} ({})", refusal.kind),
        message => sentence(message),
    };
    let before = text[..start].trim();
    match before.is_empty() {
        true => words,
        false => format!("{before} {words}"),
    }
}

/// The error inside errors: a client reports a reply's body inside its own.
fn innermost(body: &Value) -> &Value {
    match body.get("error") {
        Some(error @ Value::Object(_)) => innermost(error),
        _ => body,
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::Severity;
    use crate::rules::fixture::{Fixture, fixture};
    use serde_json::{Value, json};

    const OVERLOADED: &str =
        r#"529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    const UNANSWERED: &str = r#"API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message."}}"#;

    /// A session of Claude Code: `!` begins an error of its API, `>` a question, anything else is a reply; `call` is
    /// one that calls a tool.
    fn story(steps: &[&str]) -> Fixture {
        let entries = steps.iter().enumerate().map(|(number, step)| {
            let parent = number.checked_sub(1).map(|before| before.to_string());
            let mut entry = json!({"uuid": number.to_string(), "parentUuid": parent, "sessionId": "s",
                "version": "2.0.1", "timestamp": "2026-03-02T09:00:00Z"});
            let text = |text: &str| json!([{"type": "text", "text": text}]);
            let (kind, content) = match (step.strip_prefix('>'), step.strip_prefix('!')) {
                (Some(asked), _) => ("user", text(asked)),
                (None, Some(error)) => {
                    entry["isApiErrorMessage"] = json!(true);
                    ("assistant", text(error))
                }
                (None, None) if *step == "call" => (
                    "assistant",
                    json!([{"type": "tool_use", "id": "toolu_1", "name": "knock", "input": {}}]),
                ),
                (None, None) => ("assistant", text(step)),
            };
            entry["type"] = json!(kind);
            entry["message"] = json!({"id": format!("m{number}"), "role": kind, "content": content});
            entry.to_string()
        });
        fixture(&entries.collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn a_refusal_is_decoded_and_points_to_the_item_that_it_names() {
        let unanswered = format!("!{UNANSWERED}");
        let finding = story(&[">Knock.", "call", ">Well?", &unanswered]).finding(&RULE);
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!((finding.item, finding.related), (Some(3), Some(1)));
        assert_eq!(finding.get("rule"), Some("orphan-call"));
        assert!(finding.refuses_history() && finding.offers.is_empty());
        let message = finding.message();
        for part in [
            "the request was refused: API Error: 400 messages.1: `tool_use` ids were found without",
            "; the history holds a tool call whose output is missing",
            "(orphan-call); it names item 2, call knock",
        ] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn what_came_after_says_how_bad_it_is() {
        let [overloaded, unanswered] = [OVERLOADED, UNANSWERED].map(|text| format!("!{text}"));
        let (overloaded, unanswered) = (overloaded.as_str(), unanswered.as_str());
        let limit = "!Your credit balance is too low";
        for (steps, expected) in [
            (vec![">Hi", overloaded], vec!["error 1"]),
            (
                vec![">Hi", overloaded, overloaded, overloaded],
                vec!["error 3"],
            ),
            (
                vec![">Hi", overloaded, overloaded, "Hello."],
                vec!["info 2"],
            ),
            (
                vec![">Hi", overloaded, limit, ">Now?", "Hello."],
                vec!["info 2"],
            ),
            (
                vec![">Hi", unanswered, ">Well?", "Hello."],
                vec!["warning 1"],
            ),
            (
                vec![">Hi", unanswered, overloaded],
                vec!["error 1", "error 1"],
            ),
            (
                vec![">Hi", overloaded, "Hello.", ">And?", unanswered],
                vec!["info 1", "error 1"],
            ),
            (vec![">Hi", "Hello."], vec![]),
        ] {
            let found = story(&steps).findings(&RULE).into_iter().map(|finding| {
                let times = finding.get("times").unwrap_or("1").to_owned();
                format!("{} {times}", finding.severity.word())
            });
            assert_eq!(found.collect::<Vec<_>>(), expected, "{steps:?}");
        }
    }

    /// The text of the only finding in a file, and whether it says that the history is invalid.
    fn told(text: &str) -> (String, bool) {
        let finding = fixture(text).finding(&RULE);
        (
            finding.get("text").unwrap().to_owned(),
            finding.refuses_history(),
        )
    }

    #[test]
    fn every_recording_of_a_refusal_tells_it() {
        let no_output = "No tool output found for function call call_1";
        let body =
            json!({"error": {"message": format!("{no_output}."), "type": "invalid_request_error"}});
        let request = json!({"model": "m", "input": [
            {"type": "function_call", "call_id": "call_1", "name": "knock", "arguments": "{}"},
            {"type": "message", "role": "user", "content": "Well?"}]});
        let url = "https://api.example.com/v1/responses";
        let lines = |lines: &[Value]| {
            let lines = lines.iter().map(Value::to_string);
            lines.collect::<Vec<_>>().join("\n")
        };
        let interaction = json!({"request": {"uri": url, "body": request.to_string(), "method": "POST"},
            "response": {"body": {"string": body.to_string()}, "status": {"code": 400}}});
        let refused = [
            ("cassette", json!({"interactions": [interaction], "version": 1}).to_string()),
            (
                "archive",
                json!({"log": {"entries": [{"request": {"url": url, "postData": {"text": request.to_string()}},
                    "response": {"status": 400, "content": {"text": body.to_string()}}}]}})
                .to_string(),
            ),
            (
                "codex",
                lines(&[
                    json!({"timestamp": "2026-03-02T09:00:00Z", "type": "session_meta", "payload": {"id": "s"}}),
                    json!({"timestamp": "2026-03-02T09:00:01Z", "type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}}),
                    json!({"timestamp": "2026-03-02T09:00:02Z", "type": "event_msg", "payload": {"type": "error", "message": body.to_string()}}),
                ]),
            ),
            (
                "pi",
                lines(&[
                    json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-03-02T09:00:00Z", "cwd": "/"}),
                    json!({"type": "message", "id": "a", "parentId": null, "timestamp": "2026-03-02T09:00:01Z", "message": {"role": "user", "content": [{"type": "text", "text": "Hi"}]}}),
                    json!({"type": "message", "id": "b", "parentId": "a", "timestamp": "2026-03-02T09:00:02Z", "message": {"role": "assistant", "content": [], "stopReason": "error", "errorMessage": format!("400 {body}")}}),
                ]),
            ),
            (
                "spans",
                json!({"spans": [{"trace_id": "t", "span_id": "s", "name": "chat m", "start_time": "2026-03-02T09:00:00Z",
                    "status": {"status_code": "ERROR", "description": body.to_string()},
                    "attributes": {"gen_ai.operation.name": "chat", "gen_ai.input.messages": "[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"Hi\"}]}]"}}]})
                .to_string(),
            ),
            (
                "litellm",
                json!({"id": "1", "call_type": "acompletion", "custom_llm_provider": "x", "response_cost": 0, "model": "m",
                    "messages": [{"role": "user", "content": "Hi"}], "response": {}, "error_str": body.to_string()})
                .to_string(),
            ),
        ];
        for (name, text) in refused {
            let (words, is_of_history) = told(&text);
            assert!(
                words.ends_with(no_output) && is_of_history,
                "{name}: {words}"
            );
        }
    }

    #[test]
    fn a_status_tells_an_error_where_its_body_does_not() {
        let cassette = |status: u16, body: &str| {
            let request = json!({"messages": [{"role": "user", "content": [{"text": "Hi"}]}]});
            let interaction = json!({"request": {"uri": "https://x.example/model/m/converse", "body": request.to_string()},
                "response": {"body": {"string": body}, "status": {"code": status}}});
            json!({"interactions": [interaction], "version": 1}).to_string()
        };
        let refused = json!({"message": "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_1"});
        let (words, is_of_history) = told(&cassette(400, &refused.to_string()));
        assert!(
            words.starts_with("Expected toolResult blocks") && is_of_history,
            "{words}"
        );
        let page = "upstream connect error or disconnect/reset before headers";
        assert_eq!(told(&cassette(503, page)), (page.to_owned(), false));
    }

    #[test]
    fn a_failed_exchange_names_its_status_and_how_long_to_wait() {
        let request = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
        let body = json!({"error": {"message": "Slow down."}});
        let url = "https://api.example.com/v1/chat/completions";
        let archive = |status: u16, headers: Value| {
            json!({"log": {"entries": [{"request": {"url": url, "postData": {"text": request.to_string()}},
                "response": {"status": status, "headers": headers, "content": {"text": body.to_string()}}}]}})
            .to_string()
        };
        let cassette = json!({"version": 1, "interactions": [{"request": {"uri": url, "body": request},
            "response": {"body": body, "headers": {"retry-after": ["Mon, 02 Mar 2026 09:00:00 GMT"]}, "status": {"code": 503}}}]});
        let entry = json!({"type": "exchange", "id": 1, "at": 1, "dialect": "chat", "status": 429,
            "headers": {"response": [["Retry-After", "20"]]}, "request": request, "response": body});
        let journal = crate::formats::retake_journal::encode_line(1, &entry.to_string());
        let journal = crate::formats::retake_journal::encode_header() + &journal;
        let waits = json!([{"name": "Retry-After", "value": "20"}]);
        for (text, expected) in [
            (
                archive(429, waits),
                "failed with HTTP 429, retry after 20s: Slow down",
            ),
            (archive(500, Value::Null), "failed with HTTP 500: Slow down"),
            (
                cassette.to_string(),
                "failed with HTTP 503, retry after Mon, 02 Mar 2026 09:00:00 GMT: Slow down",
            ),
            (journal, "failed with HTTP 429, retry after 20s: Slow down"),
        ] {
            let message = fixture(&text).finding(&RULE).message();
            assert_eq!(message, format!("the request {expected}"));
        }
    }

    #[test]
    fn the_end_at_a_limit_of_the_agent_is_no_error_of_a_provider() {
        let head = json!({"type": "system", "subtype": "init", "session_id": "s", "tools": []});
        let result = |subtype: &str, words: &str| {
            let result = json!({"type": "result", "subtype": subtype, "is_error": true, "session_id": "s", "num_turns": 2, "result": words});
            format!("{head}\n{result}")
        };
        fixture(&result("error_max_turns", "")).expect(&RULE, &[]);
        let (words, _) = told(&result("success", "API Error: Connection error."));
        assert_eq!(words, "API Error: Connection error");
    }
}
