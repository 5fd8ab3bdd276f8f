//! The library: wordings for each kind of failure, along the axes that the lab compares.
//!
//! Every text is written for retake. A template copes with whatever is missing (nothing near, no schema, no
//! tools) and cuts what could be long; the first wording of a kind is its default.

use super::context::FailureKind;
use std::fmt;

/// A wording of the library.
#[derive(Debug, Clone, Copy)]
pub struct Wording {
    /// Its name in policies and menus; one kind of failure has a name only once.
    pub name: &'static str,
    /// What menus call it.
    pub title: &'static str,
    /// The kinds of failure that it is for.
    pub kinds: &'static [FailureKind],
    /// Its position on the axes.
    pub axes: Axes,
    pub template: &'static str,
}

/// In what wordings differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Axes {
    /// Whether it says the name of the tool back.
    pub names_tool: bool,
    /// Which tools it lists.
    pub listing: ToolListing,
    /// Whether it says what to do next.
    pub instructs: bool,
    /// Whether it says the arguments back.
    pub echoes: bool,
    /// Whether it shows the schema.
    pub shows_schema: bool,
    /// Whether it warns against the same call again.
    pub warns: bool,
    /// How it reaches the model.
    pub channel: Channel,
}

/// In a few words, for menus: what it holds and how it reaches the model.
impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = match self.listing {
            ToolListing::Nothing => "",
            ToolListing::Nearest => "nearest names",
            ToolListing::All => "all tools",
            ToolListing::NearestAndAll => "nearest and all",
        };
        let holds = [
            (self.names_tool, "the name"),
            (!lists.is_empty(), lists),
            (self.echoes, "the arguments"),
            (self.shows_schema, "the schema"),
            (self.instructs, "what to do"),
            (self.warns, "a warning"),
        ];
        let held = holds.into_iter().filter(|(is_held, _)| *is_held);
        let held: Vec<&str> = held.map(|(_, what)| what).collect();
        let channel = match self.channel {
            Channel::Output => "as the output",
            Channel::ErrorOutput => "as an error",
            Channel::UserMessage => "as a user message",
        };
        match held.is_empty() {
            true => f.write_str(channel),
            false => write!(f, "{}; {channel}", held.join(", ")),
        }
    }
}

/// Which tools a wording lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolListing {
    #[default]
    Nothing,
    /// Those that were probably meant.
    Nearest,
    /// All, or the first of very many.
    All,
    /// Those that were probably meant, then all.
    NearestAndAll,
}

/// How a wording reaches the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// As the output of the call.
    Output,
    /// As the output of the call, marked as an error where the dialect can say so.
    #[default]
    ErrorOutput,
    UserMessage,
}

/// Every wording: kinds in the order of [`FailureKind::all`].
const LIBRARY: [&[Wording]; 2] = [CALLS, OUTCOMES];

/// The wordings for a kind of failure, the default first.
pub fn library(kind: FailureKind) -> impl Iterator<Item = &'static Wording> {
    LIBRARY
        .into_iter()
        .flatten()
        .filter(move |wording| wording.kinds.contains(&kind))
}

/// The wording of this name for a kind of failure.
pub fn find(kind: FailureKind, name: &str) -> Option<&'static Wording> {
    library(kind).find(|wording| wording.name == name)
}

/// Whether a policy means the name of a wording by a text: one word without a tag. A template
/// has more than one.
pub fn reads_as_name(text: &str) -> bool {
    !text.contains(|c: char| c.is_whitespace() || c == '{')
}

/// The wording that is offered first for a kind of failure.
pub fn default_of(kind: FailureKind) -> &'static Wording {
    library(kind).next().unwrap_or(&CALLS[0])
}

// What several wordings share: axes and sentences.

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

/// The tools on offer, 30 of them at most.
macro_rules! offered {
    () => {
        r#"{% if tools %} The tools on offer: {{ tools[:30]|join(", ") }}{% if tools|length > 30 %} and {{ tools|length - 30 }} more{% endif %}.{% endif %}"#
    };
}

/// What was probably meant, if anything.
macro_rules! near {
    () => {
        r#"{% if nearest %} The nearest on offer: {{ nearest|join(", ") }}.{% endif %}"#
    };
}

/// The error text, cut at 2000 characters.
macro_rules! reason {
    () => {
        "{% if error %}: {{ error[:2000] }}{% if error|length > 2000 %} ... (cut){% endif %}{% else %}.{% endif %}"
    };
}

/// The arguments on a line of their own, cut at 1000 characters.
macro_rules! echo {
    () => {
        "{% if arguments %}\nThe arguments were: {{ arguments[:1000] }}{% if arguments|length > 1000 %} ... \
        (cut){% endif %}{% endif %}"
    };
}

/// One line for each violation, 20 at most.
macro_rules! violations {
    () => {
        "{% for violation in violations[:20] %}\n- {% if violation.pointer %}{{ violation.pointer }}: {% endif \
        %}{{ violation.message }}{% endfor %}{% if violations|length > 20 %}\n- and {{ violations|length - 20 \
        }} more{% endif %}"
    };
}

/// The schema on a line of its own, after a title.
macro_rules! schema {
    ($title:literal) => {
        concat!("{% if schema %}\n", $title, ": {{ schema }}{% endif %}")
    };
}

// Wordings for calls that cannot be run: the tool, or its arguments.

/// The wordings; within a kind, the default first.
const CALLS: &[Wording] = &[
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
        title: "the message of the parser",
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

// Wordings for what came of a call, and for replies that are not what they should be.

/// The wordings; within a kind, the default first.
const OUTCOMES: &[Wording] = &[
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
        name: "next-step",
        title: "how it began, and what to do",
        kinds: &[FailureKind::ToolError],
        axes: INSTRUCTS,
        template: concat!(
            "\"{{ tool }}\" failed",
            "{% if error %}: {{ error[:200] }}{% if error|length > 200 %} ... (cut){% endif %}{% else %}.{% endif %}",
            "\nCorrect the cause before you call it again, or try another way."
        ),
    },
    Wording {
        name: "reason",
        title: "what the tool reported",
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
        title: "the message of the tool and your arguments",
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
        title: "the message of the tool and the other tools",
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
        title: "its message each time",
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
