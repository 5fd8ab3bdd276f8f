//! What several wordings share: axes and sentences.

use super::{Axes, Channel, ToolListing};

/// The fact only, as the output of a call.
pub(crate) const BARE: Axes = Axes {
    names_tool: false,
    listing: ToolListing::Nothing,
    instructs: false,
    echoes: false,
    shows_schema: false,
    warns: false,
    channel: Channel::ErrorOutput,
};
/// The fact with the name of the tool.
pub(crate) const NAMED: Axes = Axes {
    names_tool: true,
    ..BARE
};
/// That, and what to do next.
pub(crate) const INSTRUCTS: Axes = Axes {
    instructs: true,
    ..NAMED
};
/// The fact only, as a message of the user.
pub(crate) const MESSAGE: Axes = Axes {
    channel: Channel::UserMessage,
    ..BARE
};

/// That there is no such tool.
macro_rules! unknown {
    () => {
        r#"There is no tool named "{{ tool }}"."#
    };
}
pub(crate) use unknown;

/// The tools on offer, 30 of them at most.
macro_rules! offered {
    () => {
        r#"{% if tools %} The tools on offer: {{ tools[:30]|join(", ") }}{% if tools|length > 30 %} and {{ tools|length - 30 }} more{% endif %}.{% endif %}"#
    };
}
pub(crate) use offered;

/// What was probably meant, if anything.
macro_rules! near {
    () => {
        r#"{% if nearest %} The nearest on offer: {{ nearest|join(", ") }}.{% endif %}"#
    };
}
pub(crate) use near;

/// The error text, cut at 2000 characters.
macro_rules! reason {
    () => {
        "{% if error %}: {{ error[:2000] }}{% if error|length > 2000 %} ... (cut){% endif %}{% else %}.{% endif %}"
    };
}
pub(crate) use reason;

/// The arguments on a line of their own, cut at 1000 characters.
macro_rules! echo {
    () => {
        "{% if arguments %}\nThe arguments were: {{ arguments[:1000] }}{% if arguments|length > 1000 %} ... \
        (cut){% endif %}{% endif %}"
    };
}
pub(crate) use echo;

/// One line for each violation, 20 at most.
macro_rules! violations {
    () => {
        "{% for violation in violations[:20] %}\n- {% if violation.pointer %}{{ violation.pointer }}: {% endif \
        %}{{ violation.message }}{% endfor %}{% if violations|length > 20 %}\n- and {{ violations|length - 20 \
        }} more{% endif %}"
    };
}
pub(crate) use violations;

/// The schema on a line of its own, after a title.
macro_rules! schema {
    ($title:literal) => {
        concat!("{% if schema %}\n", $title, ": {{ schema }}{% endif %}")
    };
}
pub(crate) use schema;
