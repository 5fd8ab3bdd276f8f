//! An agent as `AGENT.toml` describes it: the model, what it is told, the tools with what carries
//! them out, the limits.
//!
//! Nothing is read or run here. [`Agent::parse`] reports everything that is wrong at once. Keys to models never stand in the file: it names the environment
//! variables that hold them.

mod keys;
mod powers;
mod read;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

pub use keys::AGENT_TABLES;
pub use powers::Power;

pub(crate) use keys::MODEL_KEYS;

use super::arguments::is_same;
use super::{Approval, Millis, Policy};
use crate::config::{self, Checker, ConfigErrors, Section};
use crate::dialects::write::request::{
    NoRequest, Offered, Opening, RequestSettings, first_request, wire_request,
};
use crate::session::{Dialect, OutputSchema};
use crate::wording::FailureKind;
use keys::AGENT_KEYS;
use read::Reader;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

/// Longest agent file, in bytes.
const LONGEST: usize = 1024 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// What it is called.
    pub name: String,
    /// What the model is told before all else; empty where there is nothing.
    pub instructions: String,
    /// The first message of the user; without it the operator begins.
    pub input: Option<String>,
    /// The most replies that a run may take.
    pub max_turns: Option<u32>,
    /// What the final output must look like.
    pub output_schema: Option<OutputSchema>,
    /// What is done about faults without asking. It also has a say in turns and approvals.
    pub policy: Policy,
    pub model: Model,
    /// Tools that the file defines.
    pub tools: Vec<AgentTool>,
    /// Servers that bring tools along.
    pub servers: Vec<McpServer>,
}

/// What an agent file is read with.
pub struct Beside<'a> {
    /// The text of a file that it names, or why there is none.
    pub file: &'a mut dyn FnMut(&str) -> Result<String, String>,
    /// The template of a wording of the operator's own, which a policy may name.
    pub wording: &'a dyn Fn(FailureKind, &str) -> Option<String>,
}

/// It is written as the `[model]` that it was read from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Model {
    /// How its API spells things.
    pub dialect: Dialect,
    /// Its name in requests.
    pub name: String,
    #[serde(flatten)]
    pub at: Endpoint,
    /// Whether replies come as a stream.
    pub stream: bool,
    /// How long a reply may take without a byte, in milliseconds.
    #[serde(rename = "timeout", serialize_with = "write_millis")]
    pub timeout_ms: Millis,
    /// The most tokens of a reply.
    pub max_tokens: Option<u32>,
    /// Further members of every request.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
}

/// Who answers for a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Endpoint {
    Http {
        /// Where its API begins, without a slash at the end.
        base_url: String,
        /// The environment variable of the key.
        key_env: Option<String>,
        #[serde(
            serialize_with = "write_headers",
            skip_serializing_if = "Vec::is_empty"
        )]
        headers: Vec<Header>,
    },
    Script {
        #[serde(rename = "script")]
        file: String,
        #[serde(skip)]
        text: String,
    },
}

/// A header: a text, followed by the value of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub name: String,
    /// The text, as `Bearer ` with its space.
    pub text: String,
    pub env: Option<String>,
}

/// A tool that the file defines.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentTool {
    /// As the model is offered it.
    pub offered: Offered,
    /// What carries it out.
    pub by: By,
    /// Whether the operator is asked before.
    pub approval: Approval,
}

/// What carries out a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum By {
    /// A program gets the arguments on its standard input.
    Command(Command),
    /// Outputs that stand in the file.
    Canned(Vec<Canned>),
    /// The operator types the output.
    Operator,
    Recorded(Recorded),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments; never empty. No shell reads them.
    pub argv: Vec<String>,
    /// The folder it runs in, relative to that of the agent file.
    pub cwd: Option<String>,
    /// The environment variables that it sees besides those that every program needs.
    pub env: Vec<String>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: Millis,
}

/// An output that stands in the file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Canned {
    /// Arguments with the values that they must have.
    #[serde(default)]
    pub when: Map<String, Value>,
    /// What the model will read.
    pub output: String,
    /// Whether it reports an error.
    #[serde(default, rename = "error")]
    pub is_error: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    AtHand,
    /// The one in this file, relative to the agent file.
    File(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// What it is called.
    pub name: String,
    /// How it is reached.
    pub via: Via,
    /// Whether the operator is asked before its tools run.
    pub approval: Approval,
    /// The tools that the model is offered; `None` for all.
    pub tools: Option<Vec<String>>,
    /// How long a call may take, in milliseconds.
    pub timeout_ms: Millis,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Via {
    /// It is started, and spoken to over its standard input and output.
    Command(Command),
    /// It is a server somewhere.
    Http {
        url: String,
        /// Headers of every request.
        headers: Vec<Header>,
    },
}

impl Agent {
    /// Reads an agent file. All that is wrong with it is reported at once.
    pub fn parse(text: &str, mut beside: Beside<'_>) -> Result<Self, ConfigErrors> {
        config::read(text, LONGEST, &AGENT_KEYS, |file, checker| {
            let beside = &mut beside;
            Reader { checker, beside }.agent(file)
        })
    }

    /// The most replies of a run: what the file says or its policy, whichever is less.
    pub fn turn_limit(&self) -> Option<u32> {
        let limits = [self.max_turns, self.policy.max_turns()];
        limits.into_iter().flatten().min()
    }

    /// The tools that the file defines, as the model is offered them; those of MCP servers are
    /// known once these run.
    pub fn offered(&self) -> Vec<Offered> {
        let tools = self.tools.iter();
        tools.map(|tool| tool.offered.clone()).collect()
    }

    /// The request that begins a run, with these tools: [`Agent::offered`], and those of the servers.
    pub fn first_request(&self, tools: &[Offered]) -> Result<Vec<u8>, NoRequest> {
        let opening = Opening {
            instructions: &self.instructions,
            input: self.input.as_deref(),
            tools,
            output_schema: self.output_schema.as_ref(),
        };
        first_request(&opening, &self.model.request_settings())
    }
}

impl Model {
    /// Reads a table of a larger file, checked against [`MODEL_KEYS`].
    pub(crate) fn of_section(
        section: Section<'_>,
        checker: &mut Checker<'_>,
        beside: &mut Beside<'_>,
    ) -> Option<Self> {
        Reader { checker, beside }.model(section)
    }

    /// A history, as a request body in the model's dialect, as it is sent.
    pub fn wire_request(&self, body: &[u8]) -> Result<Vec<u8>, NoRequest> {
        wire_request(body, &self.request_settings(), self.stream)
    }

    /// Whether a script answers.
    pub fn is_scripted(&self) -> bool {
        matches!(self.at, Endpoint::Script { .. })
    }

    fn request_settings(&self) -> RequestSettings<'_> {
        RequestSettings {
            dialect: self.dialect,
            model: &self.name,
            max_tokens: self.max_tokens,
            max_tokens_key: self.max_tokens_key(),
            members: &self.settings,
        }
    }

    /// OpenAI's newer models refuse `max_tokens` (API reference: deprecated); the other servers that speak Chat
    /// all know it, and some of them nothing else.
    fn max_tokens_key(&self) -> &'static str {
        let is_openai = match &self.at {
            Endpoint::Http { base_url, .. } => {
                let host = base_url.split("://").nth(1).unwrap_or_default();
                let host = host.split(['/', ':']).next().unwrap_or_default();
                host == "api.openai.com" || host.ends_with(".openai.azure.com")
            }
            Endpoint::Script { .. } => false,
        };
        if is_openai {
            "max_completion_tokens"
        } else {
            "max_tokens"
        }
    }
}

fn write_millis<S: Serializer>(millis: &Millis, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{millis}ms"))
}

fn write_headers<S: Serializer>(headers: &[Header], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(headers.iter().map(|header| {
        let variable = header.env.as_ref().map(|name| format!("env:{name}"));
        let value = format!("{}{}", header.text, variable.unwrap_or_default());
        (&header.name, value)
    }))
}

impl Canned {
    /// Whether it answers a call with these arguments: every one that it names has the value that it names.
    /// Numbers are equal by value.
    pub fn fits(&self, arguments: &Value) -> bool {
        self.when.iter().all(|(name, value)| {
            let given = arguments.get(name);
            given.is_some_and(|given| is_same(given, value))
        })
    }
}
