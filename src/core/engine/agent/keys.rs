//! The keys of an agent file: one table, from which reading, messages and help come.

use crate::engine::Approval;
use crate::session::Dialect;
use crate::wire::SPOKEN;
use std::fmt::{self, Write};

/// A table of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Agent,
    Model,
    Tool,
    /// One answer of `canned`.
    Canned,
    Mcp,
}

impl Place {
    /// Every place, in the order of the help.
    pub const ALL: [Self; 5] = [
        Self::Agent,
        Self::Model,
        Self::Tool,
        Self::Canned,
        Self::Mcp,
    ];
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agent => "the file",
            Self::Model => "[model]",
            Self::Tool => "[[tools]]",
            Self::Canned => "canned",
            Self::Mcp => "[[mcp]]",
        })
    }
}

/// What a key wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A text that is not empty.
    Text,
    Flag,
    /// A whole number above 0.
    Count,
    Time,
    Texts,
    /// A table of any content.
    Table,
    TableOfTexts,
    /// A table with keys of its own.
    Section,
    /// Tables with keys of their own.
    Sections,
    Dialect,
    Approval,
    /// A text, or tables.
    Canned,
    /// A text, or `true`.
    TextOrTrue,
    True,
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("a text"),
            Self::Flag => f.write_str("true or false"),
            Self::Count => f.write_str("a whole number above 0"),
            Self::Time => f.write_str("a time such as \"500ms\", \"30s\" or \"2m\", a day at most"),
            Self::Texts => f.write_str("a list of texts"),
            Self::Table => f.write_str("a table"),
            Self::TableOfTexts => f.write_str("a table of texts"),
            Self::Section => f.write_str("a table with keys of its own"),
            Self::Sections => f.write_str("tables with keys of their own"),
            Self::Dialect => words(f, SPOKEN.map(Dialect::word)),
            Self::Approval => words(f, Approval::ALL.map(|(_, word, _)| word)),
            Self::Canned => f.write_str("a text, or a list of tables with an `output` each"),
            Self::TextOrTrue => f.write_str("a text or true"),
            Self::True => f.write_str("true"),
        }
    }
}

fn words(f: &mut fmt::Formatter<'_>, words: [&str; 3]) -> fmt::Result {
    let [one, other, last] = words;
    write!(f, "\"{one}\", \"{other}\" or \"{last}\"")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub place: Place,
    pub name: &'static str,
    pub wanted: Wanted,
    /// What it means, for the help.
    pub meaning: &'static str,
}

const fn key(place: Place, name: &'static str, wanted: Wanted, meaning: &'static str) -> Key {
    Key {
        place,
        name,
        wanted,
        meaning,
    }
}

use Place::{Agent, Canned, Mcp, Model, Tool};

#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key(Agent, "name", Wanted::Text, "what the agent is called; needed"),
    key(Agent, "instructions", Wanted::Text, "what the model is told before all else"),
    key(Agent, "input", Wanted::Text, "the first message of the user; without it the operator begins"),
    key(Agent, "max_turns", Wanted::Count, "the most questions to the model, whatever becomes of the replies; 100 where nothing says otherwise"),
    key(Agent, "output_schema", Wanted::Table, "the JSON Schema of the final output"),
    key(Agent, "output_schema_file", Wanted::Text, "a JSON file with it"),
    key(Agent, "policy", Wanted::Table, "what is done about faults without asking"),
    key(Agent, "policy_file", Wanted::Text, "a TOML file with it"),
    key(Agent, "model", Wanted::Section, "the model; needed"),
    key(Agent, "tools", Wanted::Sections, "tools"),
    key(Agent, "mcp", Wanted::Sections, "MCP servers, which bring tools along"),

    key(Model, "dialect", Wanted::Dialect, "which API it speaks; needed"),
    key(Model, "name", Wanted::Text, "its name in requests; needed without a script"),
    key(Model, "base_url", Wanted::Text, "where the API begins; without it the provider's own"),
    key(Model, "key_env", Wanted::Text, "the environment variable that holds the key; without `base_url` the provider's usual one"),
    key(Model, "headers", Wanted::TableOfTexts, "further headers; `env:NAME` at the end of a value stands for a variable"),
    key(Model, "script", Wanted::Text, "a file with a scripted model, in the place of a server"),
    key(Model, "stream", Wanted::Flag, "whether replies come as a stream; true without it"),
    key(Model, "timeout", Wanted::Time, "how long a reply may take without a byte; 120s without it"),
    key(Model, "max_tokens", Wanted::Count, "the most tokens of a reply"),
    key(Model, "settings", Wanted::Table, "further members of every request, as `temperature`"),

    key(Tool, "name", Wanted::Text, "what the model calls it; needed"),
    key(Tool, "description", Wanted::Text, "what the model is told about it"),
    key(Tool, "parameters", Wanted::Table, "the JSON Schema of its arguments"),
    key(Tool, "parameters_file", Wanted::Text, "a JSON file with it"),
    key(Tool, "strict", Wanted::Flag, "whether the provider keeps the model to the schema"),
    key(Tool, "command", Wanted::Texts, "a program and its arguments; it reads the call's arguments as JSON on its standard input"),
    key(Tool, "cwd", Wanted::Text, "the folder the program runs in; without it that of the agent file"),
    key(Tool, "env", Wanted::Texts, "environment variables that the program sees besides the usual few"),
    key(Tool, "timeout", Wanted::Time, "how long the program may take; 30s without it"),
    key(Tool, "canned", Wanted::Canned, "outputs that stand in the file; the first that fits is given"),
    key(Tool, "ask", Wanted::True, "the operator types the output"),
    key(Tool, "recorded", Wanted::TextOrTrue, "a recording that answers as long as name and arguments are the same; true for the one at hand"),
    key(Tool, "approval", Wanted::Approval, "whether the operator is asked before it runs: never, until they approve for good, every time; \"ask\" for programs, \"never\" for the others"),

    key(Canned, "when", Wanted::Table, "arguments with the values that they must have"),
    key(Canned, "output", Wanted::Text, "what the model reads; needed"),
    key(Canned, "error", Wanted::Flag, "whether it reports an error"),

    key(Mcp, "name", Wanted::Text, "what the server is called; needed"),
    key(Mcp, "command", Wanted::Texts, "a server that is started, and its arguments"),
    key(Mcp, "cwd", Wanted::Text, "the folder it runs in; without it that of the agent file"),
    key(Mcp, "env", Wanted::Texts, "environment variables that it sees besides the usual few"),
    key(Mcp, "url", Wanted::Text, "a server that speaks streamable HTTP"),
    key(Mcp, "headers", Wanted::TableOfTexts, "headers of every request to it; `env:NAME` at the end of a value stands for a variable"),
    key(Mcp, "tools", Wanted::Texts, "the tools that the model is offered; all without it"),
    key(Mcp, "approval", Wanted::Approval, "whether the operator is asked before its tools run; \"ask\" without it"),
    key(Mcp, "timeout", Wanted::Time, "how long a call may take; 60s without it"),
];

pub(super) fn keys_of(place: Place) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| key.place == place)
}

/// The keys of one place as a table in Markdown.
pub fn keys_table(place: Place) -> String {
    let mut table = "| key | value | meaning |\n|---|---|---|\n".to_owned();
    for key in keys_of(place) {
        let (name, wanted, meaning) = (key.name, key.wanted, key.meaning);
        // Writing to a text cannot fail.
        let _ = writeln!(table, "| `{name}` | {wanted} | {meaning} |");
    }
    table
}
