//! What a policy can do about a finding without asking: the one table of its words. The engine reads policies
//! by it, recipes write them by it, and help and README tell it.

/// A value of `do` and `otherwise` in a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verb {
    pub word: &'static str,
    /// What it comes to.
    pub deed: PolicyAction,
    /// Whether it sends the model a text, given by `wording`.
    pub has_wording: bool,
    /// Whether it needs a `value`, and takes `include_in_history`.
    pub has_value: bool,
    /// How often it is done where the policy does not say; `None`: as often as it comes. Only what asks the
    /// model again without using up a turn needs an end of its own.
    pub times: Option<u32>,
    /// What it does, in one line.
    pub what: &'static str,
}

/// What a verb of a policy does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyAction {
    /// One of these actions is carried out, by their ids: the one that the rule offers.
    Act(&'static [&'static str]),
    Release,
    Raise,
    Ask,
}

const PLAIN: Verb = Verb {
    word: "",
    deed: PolicyAction::Ask,
    has_wording: false,
    has_value: false,
    times: None,
    what: "",
};

/// Every word, in the order in which help lists them.
pub const VERBS: &[Verb] = &[
    Verb {
        word: "inject",
        deed: PolicyAction::Act(&["inject-error"]),
        has_wording: true,
        what: "answer the call with an error for the model",
        ..PLAIN
    },
    Verb {
        word: "suggest",
        deed: PolicyAction::Act(&["take-suggestion"]),
        what: "give the call the name that was meant",
        ..PLAIN
    },
    Verb {
        word: "repair",
        deed: PolicyAction::Act(&["repair-arguments", "sanitise-name"]),
        what: "take what the broken arguments probably meant; spell a name so that the provider takes it",
        ..PLAIN
    },
    Verb {
        word: "retry",
        deed: PolicyAction::Act(&["retry"]),
        has_wording: true,
        times: Some(2),
        what: "ask the model again from this turn, with the wording as feedback; twice unless `times` says otherwise",
        ..PLAIN
    },
    Verb {
        word: "fallback",
        deed: PolicyAction::Act(&["fallback"]),
        has_value: true,
        what: "take `value` as the final message or as the tool's output",
        ..PLAIN
    },
    Verb {
        word: "drop",
        deed: PolicyAction::Act(&["drop-pair", "drop-item"]),
        what: "leave the call with its output, or the item, out of the history",
        ..PLAIN
    },
    Verb {
        word: "release",
        deed: PolicyAction::Release,
        what: "let it pass as it is",
        ..PLAIN
    },
    Verb {
        word: "raise",
        deed: PolicyAction::Raise,
        what: "end the run as failed",
        ..PLAIN
    },
    Verb {
        word: "ask",
        deed: PolicyAction::Ask,
        what: "let the operator decide",
        ..PLAIN
    },
];

/// The entry of a word.
pub fn verb(word: &str) -> Option<&'static Verb> {
    VERBS.iter().find(|verb| verb.word == word)
}

/// The word by which a policy does what an action does; `None` where it cannot by itself.
pub fn verb_of(action: &str) -> Option<&'static Verb> {
    VERBS.iter().find(|verb| match verb.deed {
        PolicyAction::Act(actions) => actions.contains(&action),
        PolicyAction::Release | PolicyAction::Raise | PolicyAction::Ask => false,
    })
}

/// What a policy can never do about findings of a rule, each with the reason: it would be refused every time.
const IN_VAIN: &[(&str, &str, &str)] = &[
    ("tool-error", "retry", ALWAYS_RAN),
    ("failing-tool", "retry", ALWAYS_RAN),
];

const ALWAYS_RAN: &str = "the tool has run by then and would run again; `[retry]` tries a tool again after a \
    failure that may pass";

/// Rules that hold neither a run nor an exchange, each with the reason.
const NEVER_DECIDED: &[(&str, &str)] = &[
    ("run-failed", "is found when the run is over"),
    (
        "provider-error",
        "is about a request that has failed already",
    ),
    ("pending-call", "is about a call that waits for its output"),
    (
        "invalid-tool-definition",
        "is about the tools, which stay as the agent defines them",
    ),
];

/// Why no policy can act about findings of a rule; `None` where it can.
pub fn never_decided(rule: &str) -> Option<&'static str> {
    let mut known = NEVER_DECIDED.iter();
    known.find(|(of, _)| *of == rule).map(|(_, why)| *why)
}

/// Why a policy can never do what a word says about findings of a rule; `None` where it may succeed.
pub fn in_vain(rule: &str, word: &str) -> Option<&'static str> {
    let mut known = IN_VAIN.iter();
    let found = known.find(|(of, verb, _)| *of == rule && *verb == word);
    found.map(|(.., why)| *why).or_else(|| never_decided(rule))
}
