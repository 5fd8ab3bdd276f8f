//! Conversations about an agent's exchange with its model: nothing runs here, and what is sound goes to the agent.

use super::conversations::play;
use super::world::config;
use crate::engine::{Breakpoint, Config, ToolOwner};

fn held(policy: &str, asks: u32) -> Config {
    Config {
        tools_are: ToolOwner::Agents { asks },
        max_turns: None,
        ..config(policy)
    }
}

fn alone(policy: &str) -> Config {
    Config {
        has_operator: false,
        ..held(policy, 2)
    }
}

/// Stories: a name, a policy, a script.
const STORIES: &[(&str, &str, &str)] = &[
    (
        "sound calls are handed over, whatever their tools need",
        "",
        "agent-asks\n calls a search, b pay, c wire, d human",
    ),
    (
        "an error is injected, and the corrected turn is handed over",
        "",
        "agent-asks\n calls a serch\n continue\n inject-error a\n calls b search",
    ),
    (
        "the good call beside a bad one is handed over, and nobody is asked",
        "",
        "agent-asks\n calls a search, b serch\n inject-error b",
    ),
    (
        "corrected calls are handed over as they are",
        "",
        "agent-asks\n calls a serch, b search bad\n take-suggestion a\n repair-arguments b",
    ),
    (
        "what is taken back is asked again",
        "",
        "agent-asks\n calls a serch\n retry\n says done",
    ),
    (
        "released faults pass as they are",
        "",
        "agent-asks\n calls a serch, b search bad\n release\n release",
    ),
    (
        "while the model is asked again everything can be released",
        "",
        "agent-asks\n calls a serch\n inject-error a\n release\n late-reply 2",
    ),
    (
        "the model is asked again only so often",
        "[on.unknown-tool]\ndo = \"inject\"\n",
        "agent-asks\n calls a serch\n calls b serch\n calls c serch\n more-turns 1\n calls d search",
    ),
    (
        "a policy that has acted often enough raises",
        "[on.unknown-tool]\ndo = \"retry\"\ntimes = 1\notherwise = \"raise\"\n",
        "agent-asks\n calls a serch\n calls b serch",
    ),
    (
        "a breakpoint holds sound calls",
        "",
        "break tool pay\n agent-asks\n calls a pay\n continue",
    ),
    (
        "an older take is looked at and not handed over",
        "",
        "agent-asks\n calls a serch\n edit a 1\n go 0\n go 1\n inject-error a\n calls b search",
    ),
    (
        "steps stop before calls are handed over",
        "",
        "pause\n agent-asks\n calls a search\n step",
    ),
    (
        "a refused request is the operator's to mend",
        "",
        "agent-asks\n fails 400\n stands\n edit nobody 1",
    ),
    (
        "a refusal is released",
        "",
        "agent-asks\n fails 400\n stands\n release",
    ),
    (
        "a request that is sound goes on to its provider",
        "",
        "stands",
    ),
    (
        "a fallback ends it",
        "[on.invalid-final-output]\ndo = \"fallback\"\nvalue = { answer = 1 }\n",
        "agent-asks\n says wrong",
    ),
    (
        "a cut exchange closes nothing and asks nobody",
        "",
        "agent-asks\n calls a serch\n inject-error a\n abort\n late-reply 2",
    ),
    (
        "a model that fails is asked again, and then the operator is asked",
        "",
        "agent-asks\n calls a serch\n inject-error a\n fails 503\n rings\n fails 401\n now\n calls b search",
    ),
];

#[test]
fn what_is_held_and_what_is_handed_over() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    for (name, policy, script) in STORIES {
        let told = play(held(policy, 2), script);
        let name = format!("agents__{}", name.replace([' ', ',', '\''], "_"));
        settings.bind(|| insta::assert_snapshot!(name, told));
    }
}

#[test]
fn without_an_operator_everything_passes_that_no_policy_settles() {
    let inject = "[on.unknown-tool]\ndo = \"inject\"\n";
    let endings = [
        ("", "agent-asks\n calls a serch, b search bad", "HandedOver"),
        (
            inject,
            "agent-asks\n calls a serch, b search bad",
            "HandedOver",
        ),
        (
            inject,
            "agent-asks\n calls a serch\n calls b serch\n calls c serch",
            "TurnLimit { turns: 2 }",
        ),
        (
            inject,
            "agent-asks\n calls a serch\n fails 401",
            "ModelFailed { why: \"the provider says 401\" }",
        ),
        (
            "[on.unknown-tool]\ndo = \"raise\"\n",
            "agent-asks\n calls a serch",
            "Raised { rule: \"unknown-tool\" }",
        ),
        ("", "agent-asks\n says cut", "Final"),
        ("", "agent-asks\n says wrong", "HandedOver"),
        (
            "",
            "agent-asks\n fails 400\n stands",
            "ModelFailed { why: \"the provider says 400\" }",
        ),
    ];
    for (policy, script, ending) in endings {
        let told = play(alone(policy), script);
        assert!(told.ends_with(&format!("finish: {ending}")), "{told}");
    }
}

#[test]
fn no_breakpoint_holds_where_nobody_is() {
    let config = Config {
        breakpoints: vec![Breakpoint::parse(1, "tool *").unwrap()],
        is_stepping: true,
        ..alone("")
    };
    let told = play(config, "agent-asks\n calls a search");
    assert!(told.ends_with("finish: HandedOver"), "{told}");
}
