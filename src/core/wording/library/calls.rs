//! Wordings for calls that cannot be run: the tool, or its arguments.

use super::sentences::{
    INSTRUCTS, NAMED, echo, near, offered, reason, schema, unknown, violations,
};
use super::{Axes, ToolListing, Wording};
use crate::wording::context::FailureKind;

/// The wordings; within a kind, the default first.
pub(crate) const WORDINGS: &[Wording] = &[
    // A tool that is not offered.
    Wording {
        name: "nearest-and-list",
        title: "nearest names and all tools",
        kinds: &[FailureKind::UnknownTool],
        axes: Axes {
            listing: ToolListing::NearestAndAll,
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
        kinds: &[FailureKind::UnknownTool],
        axes: NAMED,
        template: unknown!(),
    },
    Wording {
        name: "nearest",
        title: "nearest names",
        kinds: &[FailureKind::UnknownTool],
        axes: Axes {
            listing: ToolListing::Nearest,
            ..INSTRUCTS
        },
        template: concat!(
            unknown!(),
            "{% if nearest %} Did you mean {{ nearest|join(\" or \") }}?{% endif %} Call a tool by the exact \
            name under which it is offered."
        ),
    },
    Wording {
        name: "list-all",
        title: "all tools",
        kinds: &[FailureKind::UnknownTool],
        axes: Axes {
            listing: ToolListing::All,
            ..NAMED
        },
        template: concat!(unknown!(), offered!()),
    },
    Wording {
        name: "with-arguments",
        title: "nearest names and your arguments",
        kinds: &[FailureKind::UnknownTool],
        axes: Axes {
            listing: ToolListing::Nearest,
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
        kinds: &[FailureKind::UnknownTool],
        axes: Axes {
            listing: ToolListing::NearestAndAll,
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
        kinds: &[FailureKind::MalformedArguments],
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
        kinds: &[FailureKind::MalformedArguments],
        axes: NAMED,
        template: "The arguments of \"{{ tool }}\" are not a JSON object.",
    },
    Wording {
        name: "with-arguments",
        title: "the parser's words and your arguments",
        kinds: &[FailureKind::MalformedArguments],
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
        kinds: &[FailureKind::MalformedArguments],
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
        kinds: &[FailureKind::MalformedArguments],
        axes: Axes {
            warns: true,
            ..INSTRUCTS
        },
        template: concat!(
            "The arguments of \"{{ tool }}\" are not a JSON object",
            reason!(),
            "\nDo not send the same text again: write the arguments anew, as one valid JSON object without \
            comments or text around it."
        ),
    },
    // Arguments that break the schema.
    Wording {
        name: "violations",
        title: "each violation",
        kinds: &[FailureKind::InvalidArguments],
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
        kinds: &[FailureKind::InvalidArguments],
        axes: NAMED,
        template: "The arguments of \"{{ tool }}\" break its schema.",
    },
    Wording {
        name: "with-arguments",
        title: "each violation and your arguments",
        kinds: &[FailureKind::InvalidArguments],
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
        kinds: &[FailureKind::InvalidArguments],
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
        kinds: &[FailureKind::InvalidArguments],
        axes: Axes {
            warns: true,
            ..INSTRUCTS
        },
        template: concat!(
            "The arguments of \"{{ tool }}\" break its schema.",
            violations!(),
            "\nThe same arguments will be refused each time. Correct them; if a value is not known to you, ask \
            the user for it."
        ),
    },
];
