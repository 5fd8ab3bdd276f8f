//! The table of wordings, and the sentences that several of them share.

use super::{Axes, Channel, Listing, Wording};
use crate::wording::Kind;

const BARE: Axes = Axes {
    names_tool: false,
    listing: Listing::Nothing,
    instructs: false,
    echoes: false,
    shows_schema: false,
    warns: false,
    channel: Channel::ErrorOutput,
};
const NAMED: Axes = Axes {
    names_tool: true,
    ..BARE
};
const INSTRUCTS: Axes = Axes {
    instructs: true,
    ..NAMED
};
const MESSAGE: Axes = Axes {
    channel: Channel::UserMessage,
    ..BARE
};

macro_rules! unknown {
    () => {
        r#"There is no tool named "{{ tool }}"."#
    };
}

/// The tools on offer, 30 of them at most.
macro_rules! offered {
    () => {
        r#"{% if tools %} The tools on offer: {{ tools[:30]|join(", ") }}{% if tools|length > 30 %} and {{ tools|length - 30 }} more{% endif %}.{% endif %}"#
    };
}

macro_rules! near {
    () => {
        r#"{% if nearest %} The nearest on offer: {{ nearest|join(", ") }}.{% endif %}"#
    };
}

/// What was said, cut at 2000 characters.
macro_rules! reason {
    () => {
        "{% if error %}: {{ error[:2000] }}{% if error|length > 2000 %} ... (cut){% endif %}{% else %}.{% endif %}"
    };
}

/// The arguments on a line of their own, cut at 1000 characters.
macro_rules! echo {
    () => {
        "{% if arguments %}\nThe arguments were: {{ arguments[:1000] }}{% if arguments|length > 1000 %} ... (cut){% endif %}{% endif %}"
    };
}

/// One line for each violation, 20 at most.
macro_rules! violations {
    () => {
        "{% for violation in violations[:20] %}\n- {% if violation.pointer %}{{ violation.pointer }}: {% endif %}{{ violation.message }}{% endfor %}{% if violations|length > 20 %}\n- and {{ violations|length - 20 }} more{% endif %}"
    };
}

macro_rules! schema {
    ($title:literal) => {
        concat!("{% if schema %}\n", $title, ": {{ schema }}{% endif %}")
    };
}

/// Every wording; within a kind, the default first.
pub(super) const LIBRARY: &[Wording] = &[
    // A tool that is not offered.
    Wording {
        name: "nearest-and-list",
        title: "nearest names and all tools",
        kinds: &[Kind::UnknownTool],
        axes: Axes {
            listing: Listing::NearestAndAll,
            ..INSTRUCTS
        },
        template: concat!(
            unknown!(),
            near!(),
            offered!(),
            " Call one of the tools on offer by its exact name, or answer without a tool."
        ),
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[Kind::UnknownTool],
        axes: NAMED,
        template: unknown!(),
    },
    Wording {
        name: "nearest",
        title: "nearest names",
        kinds: &[Kind::UnknownTool],
        axes: Axes {
            listing: Listing::Nearest,
            ..INSTRUCTS
        },
        template: concat!(
            unknown!(),
            "{% if nearest %} Did you mean {{ nearest|join(\" or \") }}?{% endif %} Call a tool by the exact name under which it is offered."
        ),
    },
    Wording {
        name: "list-all",
        title: "all tools",
        kinds: &[Kind::UnknownTool],
        axes: Axes {
            listing: Listing::All,
            ..NAMED
        },
        template: concat!(unknown!(), offered!()),
    },
    Wording {
        name: "with-arguments",
        title: "nearest names and your arguments",
        kinds: &[Kind::UnknownTool],
        axes: Axes {
            listing: Listing::Nearest,
            echoes: true,
            ..INSTRUCTS
        },
        template: concat!(
            unknown!(),
            near!(),
            echo!(),
            "\nIf they fit another tool on offer, call that one with them."
        ),
    },
    Wording {
        name: "no-repeat",
        title: "all tools, and never this name again",
        kinds: &[Kind::UnknownTool],
        axes: Axes {
            listing: Listing::NearestAndAll,
            warns: true,
            ..INSTRUCTS
        },
        template: concat!(
            unknown!(),
            near!(),
            offered!(),
            " Do not call \"{{ tool }}\" again: it will fail the same way each time."
        ),
    },
    // Arguments that are no JSON object.
    Wording {
        name: "reason",
        title: "what the parser said",
        kinds: &[Kind::MalformedArguments],
        axes: INSTRUCTS,
        template: concat!(
            "The arguments of \"{{ tool }}\" are not a JSON object",
            reason!(),
            "\nThe tool was not run. Call it again with arguments that are one valid JSON object."
        ),
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[Kind::MalformedArguments],
        axes: NAMED,
        template: "The arguments of \"{{ tool }}\" are not a JSON object.",
    },
    Wording {
        name: "with-arguments",
        title: "the parser's words and your arguments",
        kinds: &[Kind::MalformedArguments],
        axes: Axes {
            echoes: true,
            ..INSTRUCTS
        },
        template: concat!(
            "The arguments of \"{{ tool }}\" are not a JSON object",
            reason!(),
            echo!(),
            "\nSend the same arguments again as one valid JSON object."
        ),
    },
    Wording {
        name: "with-schema",
        title: "the parser's words and the schema",
        kinds: &[Kind::MalformedArguments],
        axes: Axes {
            shows_schema: true,
            ..INSTRUCTS
        },
        template: concat!(
            "The arguments of \"{{ tool }}\" are not a JSON object",
            reason!(),
            schema!("They must satisfy this JSON Schema"),
            "\nCall the tool again with arguments that are one valid JSON object."
        ),
    },
    Wording {
        name: "no-repeat",
        title: "and never these arguments again",
        kinds: &[Kind::MalformedArguments],
        axes: Axes {
            warns: true,
            ..INSTRUCTS
        },
        template: concat!(
            "The arguments of \"{{ tool }}\" are not a JSON object",
            reason!(),
            "\nDo not send the same text again: write the arguments anew, as one valid JSON object without comments or text around it."
        ),
    },
    // Arguments that break the schema.
    Wording {
        name: "violations",
        title: "each violation",
        kinds: &[Kind::InvalidArguments],
        axes: INSTRUCTS,
        template: concat!(
            "The arguments of \"{{ tool }}\" break its schema",
            "{% if violations %}:",
            violations!(),
            "{% else %}",
            reason!(),
            "{% endif %}",
            "\nThe tool was not run. Call it again with these places corrected."
        ),
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[Kind::InvalidArguments],
        axes: NAMED,
        template: "The arguments of \"{{ tool }}\" break its schema.",
    },
    Wording {
        name: "with-arguments",
        title: "each violation and your arguments",
        kinds: &[Kind::InvalidArguments],
        axes: Axes {
            echoes: true,
            ..INSTRUCTS
        },
        template: concat!(
            "The arguments of \"{{ tool }}\" break its schema.",
            violations!(),
            echo!(),
            "\nChange only what is named here and call the tool again."
        ),
    },
    Wording {
        name: "with-schema",
        title: "each violation and the schema",
        kinds: &[Kind::InvalidArguments],
        axes: Axes {
            shows_schema: true,
            ..INSTRUCTS
        },
        template: concat!(
            "The arguments of \"{{ tool }}\" break its schema.",
            violations!(),
            schema!("The schema"),
            "\nCall the tool again with arguments that satisfy it."
        ),
    },
    Wording {
        name: "no-repeat",
        title: "each violation, and never these arguments again",
        kinds: &[Kind::InvalidArguments],
        axes: Axes {
            warns: true,
            ..INSTRUCTS
        },
        template: concat!(
            "The arguments of \"{{ tool }}\" break its schema.",
            violations!(),
            "\nThe same arguments will be refused each time. Correct them; if a value is not known to you, ask the user for it."
        ),
    },
    // A call without its output.
    Wording {
        name: "may-have-run",
        title: "the outcome is not known",
        kinds: &[Kind::MissingOutput],
        axes: INSTRUCTS,
        template: "The call of \"{{ tool }}\" was interrupted and its output was lost. It may have taken effect: find out before you call it again.",
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[Kind::MissingOutput],
        axes: BARE,
        template: "The output of this call was lost.",
    },
    Wording {
        name: "not-run",
        title: "it did not run",
        kinds: &[Kind::MissingOutput],
        axes: INSTRUCTS,
        template: "\"{{ tool }}\" was not run, and nothing was changed. Call it again if it is still needed.",
    },
    Wording {
        name: "no-repeat",
        title: "go on without it",
        kinds: &[Kind::MissingOutput],
        axes: Axes {
            warns: true,
            ..INSTRUCTS
        },
        template: "The output of \"{{ tool }}\" was lost. Do not call it again: go on with what you know, and say what is missing.",
    },
    // A tool that failed.
    Wording {
        name: "reason",
        title: "what the tool said",
        kinds: &[Kind::ToolError],
        axes: NAMED,
        template: concat!("\"{{ tool }}\" failed", reason!()),
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[Kind::ToolError],
        axes: NAMED,
        template: "\"{{ tool }}\" failed.",
    },
    Wording {
        name: "with-arguments",
        title: "what the tool said and your arguments",
        kinds: &[Kind::ToolError],
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
        kinds: &[Kind::ToolError],
        axes: Axes {
            listing: Listing::All,
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
        kinds: &[Kind::ToolError],
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
        kinds: &[Kind::RepeatedCall],
        axes: Axes {
            warns: true,
            ..INSTRUCTS
        },
        template: "You have called \"{{ tool }}\" with the same arguments before, and the outcome is the same. Do not call it so again: change the arguments, use another tool, or answer with what you have.",
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[Kind::RepeatedCall],
        axes: NAMED,
        template: "This call of \"{{ tool }}\" was made before, with the same outcome.",
    },
    Wording {
        name: "reason",
        title: "what it said each time",
        kinds: &[Kind::RepeatedCall],
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
        kinds: &[Kind::RepeatedCall],
        axes: Axes {
            listing: Listing::All,
            warns: true,
            ..INSTRUCTS
        },
        template: concat!(
            "Calling \"{{ tool }}\" again with the same arguments changes nothing. Use another tool or other arguments.",
            offered!()
        ),
    },
    // A call written as text.
    Wording {
        name: "call-it",
        title: "how to call",
        kinds: &[Kind::LeakedCall],
        axes: Axes {
            instructs: true,
            ..MESSAGE
        },
        template: "Your last message holds a tool call{% if tool %} of \"{{ tool }}\"{% endif %} as text, so nothing was run. Make the call through the tool interface, not in the text of a message.",
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[Kind::LeakedCall],
        axes: MESSAGE,
        template: "The tool call in your last message was text; nothing was run.",
    },
    // A reply that was cut off.
    Wording {
        name: "shorter",
        title: "say it shorter",
        kinds: &[Kind::CutOff],
        axes: Axes {
            instructs: true,
            ..MESSAGE
        },
        template: "Your reply was cut off at the length limit{% if tool %}, in a call of \"{{ tool }}\" that was not run{% endif %}. Do it again in less space, in several steps if need be.",
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[Kind::CutOff],
        axes: MESSAGE,
        template: "Your reply was cut off at the length limit.",
    },
    // A final message that breaks its schema.
    Wording {
        name: "violations",
        title: "each violation",
        kinds: &[Kind::InvalidFinalOutput],
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
        kinds: &[Kind::InvalidFinalOutput],
        axes: MESSAGE,
        template: "Your answer does not have the required form.",
    },
    Wording {
        name: "with-schema",
        title: "each violation and the schema",
        kinds: &[Kind::InvalidFinalOutput],
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
        kinds: &[Kind::MissingFinalOutput],
        axes: Axes {
            instructs: true,
            ..MESSAGE
        },
        template: "Your last message was empty. Give the final answer now, in the required form.",
    },
    Wording {
        name: "bare",
        title: "the fact only",
        kinds: &[Kind::MissingFinalOutput],
        axes: MESSAGE,
        template: "Your last message was empty.",
    },
    Wording {
        name: "with-schema",
        title: "answer now, with the schema",
        kinds: &[Kind::MissingFinalOutput],
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
