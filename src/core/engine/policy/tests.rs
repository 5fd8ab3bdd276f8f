//! Policies as stories: what is done, how often, what then, and what is wrong with a file.

use super::*;
use crate::rules::Severity;
use crate::session::ledger::Ask;
use crate::wording::recipe::{self, RecoveryCase};
use crate::wording::{self, FailureContext, FailureKind};
use proptest::prelude::*;

/// The example of the design, word for word.
const EXAMPLE: &str = r#"max_turns = 10
[on.unknown-tool]
do = "inject"              # inject | suggest | repair | retry | fallback | drop | release | raise | ask
wording = "nearest"        # a name from the library, or a template of one's own
times = 2                  # then `otherwise`
otherwise = "raise"
[on.invalid-final-output]
do = "fallback"
value = { answer = "unknown" }
include_in_history = true
[breaker]
threshold = 3
cooldown = "30s"
webhook = "http://127.0.0.1:9000/hook"
[retry]                    # tool execution, recoverable failures only
attempts = 3
backoff = "1s"             # doubles
"#;

fn fault(rule: &'static str) -> RunFault {
    RunFault {
        rule,
        severity: Severity::Error,
        item: Some(7),
        call: None,
        tool: None,
        message: String::new(),
    }
}

fn fault_of(rule: &'static str, tool: &str) -> RunFault {
    RunFault {
        call: Some(CallKey {
            ask: Ask(2),
            call_id: "call_1".to_owned(),
        }),
        tool: Some(tool.to_owned()),
        ..fault(rule)
    }
}

fn policy(text: &str) -> Policy {
    Policy::parse(text).unwrap()
}

/// What is done about faults that come one after the other, in a word each.
fn story(policy: &Policy, faults: &[RunFault]) -> Vec<&'static str> {
    let mut counts = PolicyCounts::default();
    let decided = faults.iter().map(|fault| policy.decide(&mut counts, fault));
    let told = decided.map(|verdict| match verdict {
        PolicyVerdict::Act(decision) => decision.action,
        PolicyVerdict::Release => "release",
        PolicyVerdict::Raise => "raise",
        PolicyVerdict::Ask => "ask",
    });
    told.collect()
}

fn complaints(text: &str) -> String {
    Policy::parse(text).unwrap_err().to_string()
}

#[test]
fn the_example_of_the_design_is_read_word_for_word() {
    let example = policy(EXAMPLE);
    assert_eq!(example.max_turns(), Some(10));
    let unknown = fault_of("unknown-tool", "serch");
    let injected = Decision {
        rule: "unknown-tool".to_owned(),
        item: Some(7),
        call: unknown.call.clone(),
        action: "inject-error",
        wording: Some(Words {
            name: Some("nearest".to_owned()),
            template: wording::find(FailureKind::UnknownTool, "nearest")
                .unwrap()
                .template
                .to_owned(),
        }),
        value: None,
        include_in_history: false,
        keeps_schema: true,
        also: Vec::new(),
    };
    let nearest = wording::find(FailureKind::UnknownTool, "nearest").unwrap();
    assert_eq!(injected.template(), Some(&*nearest.template));
    let mut counts = PolicyCounts::default();
    for _ in 0..2 {
        let verdict = example.decide(&mut counts, &unknown);
        assert_eq!(verdict, PolicyVerdict::Act(injected.clone()));
    }
    assert_eq!(example.decide(&mut counts, &unknown), PolicyVerdict::Raise);
    let verdict = example.decide(&mut counts, &fault("invalid-final-output"));
    let fallback = Decision {
        rule: "invalid-final-output".to_owned(),
        item: Some(7),
        call: None,
        action: "fallback",
        wording: None,
        value: Some(r#"{"answer":"unknown"}"#.to_owned()),
        include_in_history: true,
        keeps_schema: true,
        also: Vec::new(),
    };
    assert_eq!(verdict, PolicyVerdict::Act(fallback));
    assert_eq!(
        example.breaker("pay"),
        BreakerSettings {
            threshold: 3,
            cooldown_ms: 30_000,
            webhook: Some("http://127.0.0.1:9000/hook".to_owned()),
            wording: None,
        }
    );
    let retry = RetrySettings {
        attempts: 3,
        backoff_ms: 1000,
    };
    assert_eq!(example.retry("pay"), retry);
    assert_eq!(example.approval("pay"), None);
}

#[test]
fn without_a_file_everything_is_the_operators_and_nothing_is_tried_twice() {
    let empty = policy("");
    assert_eq!(empty, Policy::default());
    assert_eq!(story(&empty, &[fault("unknown-tool")]), ["ask"]);
    assert!(!empty.has_entry(&fault("unknown-tool")));
    assert_eq!(empty.retry("pay").attempts, 1);
    assert_eq!(empty.breaker("pay").threshold, 3);
    let asks = policy("on.unknown-tool.do = \"ask\"");
    assert_eq!(story(&asks, &[fault("unknown-tool")]), ["ask"]);
    assert!(
        asks.has_entry(&fault("unknown-tool")),
        "somebody has to come"
    );
}

#[test]
fn times_are_counted_for_each_tool_and_the_operator_comes_behind_them() {
    let twice = policy("[on.tool-error]\ndo = \"inject\"\ntimes = 2\n");
    let (pay, get) = (fault_of("tool-error", "pay"), fault_of("tool-error", "get"));
    let faults = [&pay, &get, &pay, &pay, &get, &get].map(RunFault::clone);
    let told = [
        "inject-error",
        "inject-error",
        "inject-error",
        "ask",
        "inject-error",
        "ask",
    ];
    assert_eq!(story(&twice, &faults), told);
}

#[test]
fn a_model_that_invents_a_new_tool_each_time_comes_to_the_end_of_times() {
    let twice = policy("[on.unknown-tool]\ndo = \"inject\"\ntimes = 2\notherwise = \"raise\"\n");
    let invented = ["a", "b", "c"].map(|name| fault_of("unknown-tool", name));
    assert_eq!(
        story(&twice, &invented),
        ["inject-error", "inject-error", "raise"]
    );
}

#[test]
fn retrying_ends_by_itself_since_it_uses_up_no_turn() {
    let again = policy("on.refused.do = \"retry\"");
    let faults = [fault("refused"), fault("refused"), fault("refused")];
    assert_eq!(story(&again, &faults), ["retry", "retry", "ask"]);
}

#[test]
fn what_comes_behind_times_has_its_own_words_and_value() {
    let text = r#"
        [on.missing-final-output]
        do = "retry"
        wording = "Say your answer."
        times = 1
        otherwise = "fallback"
        value = "nothing found"
        include_in_history = false
    "#;
    let (both, mut counts) = (policy(text), PolicyCounts::default());
    let missing = fault("missing-final-output");
    let mut next = || match both.decide(&mut counts, &missing) {
        PolicyVerdict::Act(decision) => decision,
        other => panic!("{other:?}"),
    };
    let first = next();
    assert_eq!(first.template(), Some("Say your answer."));
    assert_eq!((first.action, first.value), ("retry", None));
    let second = next();
    assert_eq!((second.action, second.template()), ("fallback", None));
    assert_eq!(
        second.value.as_deref(),
        Some("nothing found"),
        "a text as it is"
    );
    assert!(!second.include_in_history);
}

#[test]
fn a_call_is_dropped_with_its_output_and_any_other_item_alone() {
    let text = ["orphan-call", "orphan-output", "truncated-response"]
        .map(|rule| format!("on.{rule}.do = \"drop\"\n"))
        .concat();
    let dropping = policy(&text);
    let faults = [
        fault_of("orphan-call", "pay"),
        fault("orphan-output"),
        fault_of("truncated-response", "pay"),
        fault("truncated-response"),
    ];
    let told = ["drop-pair", "drop-item", "drop-pair", "drop-item"];
    assert_eq!(story(&dropping, &faults), told);
}

#[test]
fn a_tool_may_have_entries_and_limits_of_its_own() {
    let text = r#"
        on.tool-error.do = "inject"
        on.unknown-tool.do = "raise"
        [retry]
        backoff = "2s"
        [breaker]
        threshold = 5
        [tools.pay]
        approval = "always"
        on.tool-error.do = "ask"
        retry.attempts = 1
        [tools."pay*"]
        approval = "ask"
        breaker = { threshold = 1, cooldown = "1h" }
        [tools."get_*"]
        approval = "never"
        retry = { attempts = 4, backoff = "100ms" }
    "#;
    let own = policy(text);
    let tools = ["pay", "payout", "get_user", "Pay"];
    let errors = tools.map(|tool| fault_of("tool-error", tool));
    assert_eq!(
        story(&own, &errors),
        ["ask", "inject-error", "inject-error", "inject-error"]
    );
    assert_eq!(story(&own, &[fault_of("unknown-tool", "pay")]), ["raise"]);
    let approvals = tools.map(|tool| own.approval(tool));
    assert_eq!(
        approvals,
        [
            Some(Approval::Always),
            Some(Approval::Ask),
            Some(Approval::Never),
            None
        ]
    );
    let tried = tools.map(|tool| (own.retry(tool).attempts, own.retry(tool).backoff_ms));
    assert_eq!(tried, [(1, 2000), (3, 2000), (4, 100), (3, 2000)]);
    let off = tools.map(|tool| (own.breaker(tool).threshold, own.breaker(tool).cooldown_ms));
    let hour = 3_600_000;
    assert_eq!(off, [(1, hour), (1, hour), (5, 30_000), (5, 30_000)]);
    // Only the tool that asks for it is tried again.
    let one = policy("tools.get.retry.backoff = \"5ms\"");
    assert_eq!(
        (one.retry("get").attempts, one.retry("pay").attempts),
        (3, 1)
    );
}

#[test]
fn everything_wrong_with_a_file_is_told_at_once_with_its_line() {
    insta::assert_snapshot!(complaints(FAULTY));
}

#[test]
fn broken_toml_is_told_beside_what_is_wrong_elsewhere() {
    insta::assert_snapshot!(complaints(
        "max_turns = \n[on.unknown-tool\ndo = \"inject\"\n[breaker]\nthreshold = \"many\"\n"
    ));
}

/// One fault a line, more or less.
const FAULTY: &str = r#"max_turns = 0
max_truns = 10
on.unknown-tol.do = "inject"
on.quux.do = "inject"
on.unknown-tool = "inject"
on.duplicate-output = {}
[on.malformed-arguments]
do = "inject_error"
[on.invalid-arguments]
do = "fallback"
value = 1
[on.refused]
do = "fallback"
[on.missing-final-output]
do = "retry"
wording = "neerest"
times = 99999
otherwise = 7
include_in_history = "yes"
[on.repeated-call]
do = "inject"
otherwise = "raise"
wording = """
Stop.
{{ tol }}"""
[on.orphan-call]
do = "drop"
wording = "Never said."
value = 2026-01-01
[on.turn-limit]
do = "fallback"
value = { at = 2026-01-01, not = nan }
[breaker]
threshold = -1
cooldown = "soon"
webhook = "ftp://host"
colour = "red"
[retry]
attempts = 100
backoff = 5
[tools.pay]
approval = "sometimes"
retry = 3
on.unknown-tool.do = "explode"
[tools.""]
"#;

#[test]
fn no_text_makes_more_of_the_faults_than_can_be_read() {
    let many: String = (0..1000).map(|n| format!("key{n} = 1\n")).collect();
    let errors = Policy::parse(&many).unwrap_err();
    assert_eq!((errors.errors.len(), errors.more), (50, 950));
    let long = format!("{} = 1", "k".repeat(10_000));
    assert!(complaints(&long).len() < 300);
    let large = "#".repeat(LONGEST_POLICY + 1);
    assert_eq!(complaints(&large), "line 1: more than 256 KB");
}

#[test]
fn each_word_is_told_and_does_what_an_action_does() {
    let words: Vec<&str> = wording::VERBS.iter().map(|verb| verb.word).collect();
    let design = EXAMPLE.lines().find_map(|line| line.split_once("# inject"));
    let design = format!("inject{}", design.unwrap().1);
    assert_eq!(words.join(" | "), design);
    for verb in wording::VERBS {
        assert!(!verb.what.is_empty(), "{}", verb.word);
        let PolicyAction::Act(actions) = verb.deed else {
            continue;
        };
        for action in actions {
            let action = crate::actions::find(action).unwrap();
            assert_eq!(wording::verb_of(action.id), Some(verb));
            let mut offers = RULES.iter().flat_map(|rule| rule.offers);
            assert!(
                offers.any(|offer| offer.action == action.id),
                "{}",
                action.id
            );
        }
    }
}

#[test]
fn what_helped_once_becomes_an_entry_that_does_the_same() {
    let value = serde_json::json!({"answer": [1, 2.5, "x", true]});
    for rule in RULES {
        let kind = FailureKind::of_rule(rule.id);
        for offer in rule.offers {
            let wording = kind.map(wording::default_of);
            for template in [
                "again",
                "{{ 'bare' }}",
                wording.map_or("Do it.", |known| &known.template),
            ] {
                let recovery = RecoveryCase {
                    rule: rule.id,
                    action: offer.action,
                    wording: wording.map_or("", |known| &known.name),
                    template,
                    value: Some(&value),
                    ..RecoveryCase::default()
                };
                let Ok(entry) = recipe::policy(&recovery) else {
                    let verb = wording::verb_of(offer.action);
                    let is_in_vain = |verb: &Verb| wording::in_vain(rule.id, verb.word).is_some();
                    assert!(verb.is_none_or(is_in_vain), "{} {}", rule.id, offer.action);
                    continue;
                };
                let read = Policy::parse(&entry).unwrap_or_else(|faults| panic!("{entry}{faults}"));
                let is_pair = !matches!(offer.action, "drop-item");
                let fault = if is_pair {
                    fault_of(rule.id, "pay")
                } else {
                    fault(rule.id)
                };
                let decided = read.decide(&mut PolicyCounts::default(), &fault);
                let PolicyVerdict::Act(decision) = decided else {
                    panic!("{}: {decided:?}", offer.action);
                };
                assert_eq!(decision.action, offer.action, "{entry}");
                if let Some(read) = decision.template() {
                    let said = |template| wording::render(template, &FailureContext::default());
                    assert_eq!(said(read), said(template), "{entry}");
                }
                if let Some(read) = decision.value {
                    assert_eq!(read, value.to_string());
                }
            }
        }
    }
}

#[test]
fn a_run_that_is_taken_up_again_goes_on_counting() {
    let twice = policy("[on.tool-error]\ndo = \"inject\"\ntimes = 2\n");
    let mut counts = PolicyCounts::default();
    let pay = fault_of("tool-error", "pay");
    twice.decide(&mut counts, &pay);
    let saved = serde_json::to_string(&counts).unwrap();
    assert_eq!(saved, r#"{"tool-error":{"pay":1}}"#);
    let mut counts: PolicyCounts = serde_json::from_str(&saved).unwrap();
    twice.decide(&mut counts, &pay);
    assert_eq!(twice.decide(&mut counts, &pay), PolicyVerdict::Ask);
}

proptest! {
    #[test]
    fn any_text_is_a_policy_or_told_with_lines_that_there_are(
        lines in proptest::collection::vec(
            "(\\[(on|tools|retry|breaker)(\\.(refused|\"?pay\"?|x))?\\]?|(do|times|value|wording|otherwise|threshold|cooldown|on\\.refused\\.do) ?=? ?(\"(retry|fallback|1s|\\PC{0,4})\"|[0-9]{1,3}|\\{ ?a = 1 ?\\}|\"\"\"|true)?|\\PC{0,12})",
            0..12,
        )
    ) {
        let text = lines.join("\n");
        match Policy::parse(&text) {
            Ok(policy) => {
                story(&policy, &[fault("refused"), fault_of("refused", "pay")]);
            }
            Err(errors) => {
                prop_assert!(!errors.errors.is_empty());
                let known = text.split('\n').count();
                for fault in errors.errors {
                    prop_assert!((1..=known).contains(&fault.line), "{}", fault);
                }
            }
        }
    }
}
