//! Wordings for what came of a call, and for replies that are not what they should be.

use super::sentences::{
    BARE, INSTRUCTS, MESSAGE, NAMED, echo, offered, reason, schema, violations,
};
use super::{Axes, ToolListing, Wording};
use crate::wording::context::FailureKind;

/// The wordings; within a kind, the default first.
pub(crate) const WORDINGS: &[Wording] = &[
    // A call without its output.
    Wording {
        name: "may-have-run",
        title: "the outcome is not known",
        kinds: &[FailureKind::MissingOutput],
        axes: INSTRUCTS,
        template: "The call of \"{{ tool }}\" was interrupted and its output was lost. It may have taken \
            effect: find out before you call it again.",
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[FailureKind::MissingOutput],
        axes: BARE,
        template: "The output of this call was lost.",
    },
    Wording {
        name: "not-run",
        title: "it did not run",
        kinds: &[FailureKind::MissingOutput],
        axes: INSTRUCTS,
        template: "\"{{ tool }}\" was not run, and nothing was changed. Call it again if it is still needed.",
    },
    Wording {
        name: "no-repeat",
        title: "go on without it",
        kinds: &[FailureKind::MissingOutput],
        axes: Axes {
            warns: true,
            ..INSTRUCTS
        },
        template: "The output of \"{{ tool }}\" was lost. Do not call it again: go on with what you know, and \
            say what is missing.",
    },
    // A tool that failed.
    Wording {
        name: "reason",
        title: "what the tool said",
        kinds: &[FailureKind::ToolError],
        axes: NAMED,
        template: concat!("\"{{ tool }}\" failed", reason!()),
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[FailureKind::ToolError],
        axes: NAMED,
        template: "\"{{ tool }}\" failed.",
    },
    Wording {
        name: "with-arguments",
        title: "what the tool said and your arguments",
        kinds: &[FailureKind::ToolError],
        axes: Axes {
            echoes: true,
            ..INSTRUCTS
        },
        template: concat!(
            "\"{{ tool }}\" failed",
            reason!(),
            echo!(),
            "\nIf the arguments are the cause, call it again with others."
        ),
    },
    Wording {
        name: "list-all",
        title: "what the tool said and the other tools",
        kinds: &[FailureKind::ToolError],
        axes: Axes {
            listing: ToolListing::All,
            ..INSTRUCTS
        },
        template: concat!(
            "\"{{ tool }}\" failed",
            reason!(),
            "\nTry another way.",
            offered!()
        ),
    },
    Wording {
        name: "no-repeat",
        title: "and no second try",
        kinds: &[FailureKind::ToolError],
        axes: Axes {
            warns: true,
            ..INSTRUCTS
        },
        template: concat!(
            "\"{{ tool }}\" failed",
            reason!(),
            "\nDo not call it again with the same arguments. Find another way, or tell the user what you could not do."
        ),
    },
    // The same call again and again.
    Wording {
        name: "no-repeat",
        title: "it will not come out differently",
        kinds: &[FailureKind::RepeatedCall],
        axes: Axes {
            warns: true,
            ..INSTRUCTS
        },
        template: "You have called \"{{ tool }}\" with the same arguments before, and the outcome is the same. \
            Do not call it so again: change the arguments, use another tool, or answer with what you have.",
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[FailureKind::RepeatedCall],
        axes: NAMED,
        template: "This call of \"{{ tool }}\" was made before, with the same outcome.",
    },
    Wording {
        name: "reason",
        title: "what it said each time",
        kinds: &[FailureKind::RepeatedCall],
        axes: Axes {
            warns: true,
            ..INSTRUCTS
        },
        template: concat!(
            "You have called \"{{ tool }}\" with the same arguments before. It said each time",
            reason!(),
            "\nRead that, and do something else."
        ),
    },
    Wording {
        name: "list-all",
        title: "the other tools",
        kinds: &[FailureKind::RepeatedCall],
        axes: Axes {
            listing: ToolListing::All,
            warns: true,
            ..INSTRUCTS
        },
        template: concat!(
            "Calling \"{{ tool }}\" again with the same arguments changes nothing. Use another tool or other \
            arguments.",
            offered!()
        ),
    },
    // A call written as text.
    Wording {
        name: "call-it",
        title: "how to call",
        kinds: &[FailureKind::LeakedCall],
        axes: Axes {
            instructs: true,
            ..MESSAGE
        },
        template: "Your last message holds a tool call{% if tool %} of \"{{ tool }}\"{% endif %} as text, so \
            nothing was run. Make the call through the tool interface, not in the text of a message.",
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[FailureKind::LeakedCall],
        axes: MESSAGE,
        template: "The tool call in your last message was text; nothing was run.",
    },
    // A reply that was cut off.
    Wording {
        name: "shorter",
        title: "say it shorter",
        kinds: &[FailureKind::CutOff],
        axes: Axes {
            instructs: true,
            ..MESSAGE
        },
        template: "Your reply was cut off at the length limit{% if tool %}, in a call of \"{{ tool }}\" that \
            was not run{% endif %}. Do it again in less space, in several steps if need be.",
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[FailureKind::CutOff],
        axes: MESSAGE,
        template: "Your reply was cut off at the length limit.",
    },
    // A final message that breaks its schema.
    Wording {
        name: "violations",
        title: "each violation",
        kinds: &[FailureKind::InvalidFinalOutput],
        axes: Axes {
            instructs: true,
            ..MESSAGE
        },
        template: concat!(
            "Your answer does not have the required form",
            "{% if violations %}:",
            violations!(),
            "{% else %}",
            reason!(),
            "{% endif %}",
            "\nSend the whole answer again, corrected, as JSON and nothing else."
        ),
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[FailureKind::InvalidFinalOutput],
        axes: MESSAGE,
        template: "Your answer does not have the required form.",
    },
    Wording {
        name: "with-schema",
        title: "each violation and the schema",
        kinds: &[FailureKind::InvalidFinalOutput],
        axes: Axes {
            instructs: true,
            shows_schema: true,
            ..MESSAGE
        },
        template: concat!(
            "Your answer does not have the required form.",
            violations!(),
            schema!("The required form, as a JSON Schema"),
            "\nSend the whole answer again as JSON that satisfies it, and nothing else."
        ),
    },
    // No final message.
    Wording {
        name: "answer",
        title: "answer now",
        kinds: &[FailureKind::MissingFinalOutput],
        axes: Axes {
            instructs: true,
            ..MESSAGE
        },
        template: "Your last message was empty. Give the final answer now, in the required form.",
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[FailureKind::MissingFinalOutput],
        axes: MESSAGE,
        template: "Your last message was empty.",
    },
    Wording {
        name: "with-schema",
        title: "answer now, with the schema",
        kinds: &[FailureKind::MissingFinalOutput],
        axes: Axes {
            instructs: true,
            shows_schema: true,
            ..MESSAGE
        },
        template: concat!(
            "Your last message was empty. Give the final answer now, as JSON and nothing else.",
            schema!("The required form, as a JSON Schema")
        ),
    },
];
