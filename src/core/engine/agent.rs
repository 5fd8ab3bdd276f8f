//! An agent as `AGENT.toml` describes it: the model, its instructions, the tools with what carries
//! them out, the limits.
//!
//! Nothing is read or run here. [`Agent::parse`] reports everything that is wrong at once. Keys to models
//! never stand in the file: it names the environment variables that hold them.

use super::arguments::is_same;
use super::policy::{Approval, Millis, Policy};
use crate::config::{self, Checker, ConfigErrors, Section, looks_like_key, quoted};
use crate::json::not_json;
use crate::schema::Validator;
use crate::session::{Dialect, OutputSchema, Tool, ToolKind};
use crate::wire::tools::name_fault;
use crate::wire::write::request::{
    NoRequest, Offered, Opening, RequestSettings, first_request, wire_request,
};
use crate::wording::FailureKind;
pub use keys::AGENT_TABLES;
pub(crate) use keys::MODEL_KEYS;
use keys::{AGENT_KEYS, check_variable};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::fmt;

mod keys;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

/// Longest agent file, in bytes.
const LONGEST: usize = 1024 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// What it is called.
    pub name: String,
    /// The instructions of the model; empty where there are none.
    pub instructions: String,
    /// The first message of the user; without it the operator begins.
    pub input: Option<String>,
    /// The most replies that a run may take.
    pub max_turns: Option<u32>,
    /// What the final output must look like.
    pub output_schema: Option<OutputSchema>,
    /// What is done about faults without asking. It also has a say in turns and approvals.
    pub policy: Policy,
    pub model: AgentModel,
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
pub struct AgentModel {
    /// How its API spells things.
    pub dialect: Dialect,
    /// Its name in requests.
    pub name: String,
    #[serde(flatten)]
    pub at: ModelEndpoint,
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
pub enum ModelEndpoint {
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
    /// Whether a call needs an approval.
    pub approval: Approval,
}

/// What carries out a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum By {
    /// A program gets the arguments on its standard input.
    Command(ToolProgram),
    /// Outputs that stand in the file.
    Canned(Vec<Canned>),
    /// The operator types the output.
    Operator,
    Recorded(RecordedAnswers),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolProgram {
    /// The program and its arguments; never empty. No shell reads them.
    pub argv: Vec<String>,
    /// The folder it runs in, relative to that of the agent file.
    pub cwd: Option<String>,
    /// The environment variables that it sees besides those that every program needs.
    pub env: Vec<String>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: Millis,
}

/// An output from the file.
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
pub enum RecordedAnswers {
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
    /// Whether its calls need an approval.
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
    Command(ToolProgram),
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

impl AgentModel {
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
        matches!(self.at, ModelEndpoint::Script { .. })
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
            ModelEndpoint::Http { base_url, .. } => {
                let host = base_url.split("://").nth(1).unwrap_or_default();
                let host = host.split(['/', ':']).next().unwrap_or_default();
                host == "api.openai.com" || host.ends_with(".openai.azure.com")
            }
            ModelEndpoint::Script { .. } => false,
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

// What an agent may do in the world: what the operator is shown before its first command runs.

/// Something that an agent may do. Its text is one line and holds text of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Power {
    /// It asks a model, and sends it the conversation.
    Model {
        name: String,
        url: String,
        /// Variables whose values are sent along.
        variables: Vec<String>,
    },
    /// It runs a program for a tool.
    Tool { tool: String, command: ToolProgram },
    /// It starts an MCP server.
    Server {
        server: String,
        command: ToolProgram,
    },
    /// It connects to an MCP server.
    Connects {
        server: String,
        url: String,
        /// Variables whose values are sent along.
        variables: Vec<String>,
    },
    /// It tells somebody that a tool was switched off.
    Webhook { url: String },
    /// It gives the model outputs of another recording.
    Recording { tool: String, file: String },
}

impl Power {
    /// Whether it reaches beyond this program, so that it has to be confirmed.
    pub fn needs_confirmation(&self) -> bool {
        !matches!(self, Self::Recording { .. })
    }

    /// The same with a word at each variable that is not set, and whose value is not sent therefore.
    pub fn marking_unset(mut self, is_set: impl Fn(&str) -> bool) -> Self {
        if let Self::Model { variables, .. } | Self::Connects { variables, .. } = &mut self {
            let unset = variables.iter_mut().filter(|name| !is_set(name));
            unset.for_each(|name| name.push_str(" (not set)"));
        }
        self
    }
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model {
                name,
                url,
                variables,
            } => {
                write!(f, "asks the model {name} at {url}")?;
                sent(f, url, variables)
            }
            Self::Tool { tool, command } => {
                write!(f, "runs {} for the tool {tool}", Program(command))
            }
            Self::Server { server, command } => {
                write!(f, "starts {} as the MCP server {server}", Program(command))
            }
            Self::Connects {
                server,
                url,
                variables,
            } => {
                write!(f, "connects to the MCP server {server} at {url}")?;
                sent(f, url, variables)
            }
            Self::Webhook { url } => write!(f, "tells {url} when a tool is switched off"),
            Self::Recording { tool, file } => {
                write!(
                    f,
                    "answers calls of the tool {tool} from the recording {file}"
                )
            }
        }
    }
}

fn sent(f: &mut fmt::Formatter<'_>, url: &str, variables: &[String]) -> fmt::Result {
    if variables.is_empty() {
        return Ok(());
    }
    write!(f, ", sending along {}", dollars(variables))?;
    if url.starts_with("http://") {
        f.write_str(" without encryption")?;
    }
    Ok(())
}

fn dollars(variables: &[String]) -> String {
    let variables = variables.iter().map(|name| format!("${name}"));
    variables.collect::<Vec<_>>().join(", ")
}

/// A program as the operator would type it, with its folder and its environment.
struct Program<'a>(&'a ToolProgram);

impl fmt::Display for Program<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = self.0;
        write!(f, "`{}`", shell_words::join(&command.argv))?;
        if let Some(cwd) = &command.cwd {
            write!(f, " in {cwd}")?;
        }
        if !command.env.is_empty() {
            write!(f, " with {}", dollars(&command.env))?;
        }
        Ok(())
    }
}

impl AgentModel {
    /// What asking it does; `None` for a script, which nothing is sent to.
    pub fn power(&self) -> Option<Power> {
        match &self.at {
            ModelEndpoint::Http {
                base_url,
                key_env,
                headers,
            } => Some(Power::Model {
                name: self.name.clone(),
                url: base_url.clone(),
                variables: key_env.iter().cloned().chain(variables(headers)).collect(),
            }),
            ModelEndpoint::Script { .. } => None,
        }
    }
}

impl Agent {
    /// What it may do in the world, in the order of the file.
    pub fn powers(&self) -> Vec<Power> {
        let mut powers = Vec::from_iter(self.model.power());
        powers.extend(self.tools.iter().filter_map(|tool| {
            let name = tool.offered.tool.name.clone();
            match &tool.by {
                By::Command(command) => Some(Power::Tool {
                    tool: name,
                    command: command.clone(),
                }),
                By::Recorded(RecordedAnswers::File(file)) => Some(Power::Recording {
                    tool: name,
                    file: file.clone(),
                }),
                By::Canned(_) | By::Operator | By::Recorded(RecordedAnswers::AtHand) => None,
            }
        }));
        powers.extend(self.servers.iter().map(|server| match &server.via {
            Via::Command(command) => Power::Server {
                server: server.name.clone(),
                command: command.clone(),
            },
            Via::Http { url, headers } => Power::Connects {
                server: server.name.clone(),
                url: url.clone(),
                variables: variables(headers).collect(),
            },
        }));
        let webhooks = self.policy.webhooks().into_iter();
        powers.extend(webhooks.map(|url| Power::Webhook {
            url: url.to_owned(),
        }));
        powers
    }

    /// Whether the operator has to confirm the file before it is run.
    pub fn needs_confirmation(&self) -> bool {
        self.powers().iter().any(Power::needs_confirmation)
    }
}

fn variables(headers: &[Header]) -> impl Iterator<Item = String> {
    headers.iter().filter_map(|header| header.env.clone())
}

// Reads an agent file that was checked against its keys.

/// How long a reply may take without a byte.
const MODEL_TIMEOUT: u64 = 120_000;
/// How long a program may take.
const COMMAND_TIMEOUT: u64 = 30_000;
/// How long a call of a server's tool may take.
const SERVER_TIMEOUT: u64 = 60_000;
/// What a scripted model is called where it has no name.
const SCRIPTED: &str = "scripted";
/// Members that limit a reply, in every API.
const LIMITS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
/// Headers whose values are secrets.
const SECRET_HEADERS: [&str; 6] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
];
/// Headers that belong to the connection (RFC 9110), or to the body.
const OWN_HEADERS: [&str; 6] = [
    "host",
    "connection",
    "content-length",
    "content-type",
    "transfer-encoding",
    "upgrade",
];

/// Builds the parts of an agent, and reports what no key by itself can show to be wrong.
struct Reader<'r, 'b, 't> {
    checker: &'r mut Checker<'t>,
    beside: &'r mut Beside<'b>,
}

impl Reader<'_, '_, '_> {
    fn agent(&mut self, file: Section<'_>) -> Option<Agent> {
        let policy = self.policy(file);
        let output_schema = self.schema(file, ["output_schema", "output_schema_file"]);
        let model = file.table("model").and_then(|model| self.model(model));
        // Where the provider is not known, the strictest pattern would refuse what may be allowed.
        let dialect = model
            .as_ref()
            .map(|model| model.dialect)
            .unwrap_or_default();
        let tools = file.tables("tools");
        let tools = tools.filter_map(|tool| self.tool(tool, dialect)).collect();
        let servers = file.tables("mcp");
        let servers = servers.filter_map(|server| self.server(server)).collect();
        Some(Agent {
            name: file.get("name")?,
            instructions: file.get("instructions").unwrap_or_default(),
            input: file.get("input"),
            max_turns: file.get("max_turns"),
            output_schema: output_schema.map(|schema| OutputSchema {
                name: String::new(),
                schema,
            }),
            policy,
            model: model?,
            tools,
            servers,
        })
    }

    fn policy(&mut self, file: Section<'_>) -> Policy {
        if let Some(table) = file.table("policy") {
            return Policy::of_section(table, self.checker, self.beside.wording);
        }
        let Some((name, text)) = self.file(file, "policy_file") else {
            return Policy::default();
        };
        let policy = Policy::parse_with(&text, self.beside.wording);
        policy.unwrap_or_else(|errors| {
            for error in errors.errors {
                let text = format!("`policy_file`: {name}: {error}");
                self.checker.push(file.at("policy_file"), text);
            }
            Policy::default()
        })
    }

    fn model(&mut self, model: Section<'_>) -> Option<AgentModel> {
        let dialect = model.text("dialect").and_then(Dialect::named);
        let dialect = dialect.map(|dialect| spoken_at(dialect, model.text("base_url")));
        let at = if model.has("script") {
            let script = self.file(model, "script");
            script.map(|(file, text)| ModelEndpoint::Script { file, text })
        } else {
            self.endpoint(model, dialect)
        };
        let settings = self.settings(model, dialect);
        Some(AgentModel {
            dialect: dialect?,
            name: model.get("name").unwrap_or_else(|| SCRIPTED.to_owned()),
            at: at?,
            stream: model.get("stream").unwrap_or(true),
            timeout_ms: model.millis("timeout").unwrap_or(MODEL_TIMEOUT),
            max_tokens: model.get("max_tokens"),
            settings,
        })
    }

    fn endpoint(&mut self, model: Section<'_>, dialect: Option<Dialect>) -> Option<ModelEndpoint> {
        let headers = self.headers(model);
        let key_env = model.get("key_env");
        // A key goes only where its name and the address were written together: the usual variable belongs
        // to the usual address.
        let (base_url, key_env) = match model.text("base_url") {
            Some(url) => (url.trim_end_matches('/'), key_env),
            None => {
                let facts = dialect?.facts();
                let variable = || Some(facts.key_variable.to_owned());
                (facts.base_url, key_env.or_else(variable))
            }
        };
        Some(ModelEndpoint::Http {
            base_url: base_url.to_owned(),
            key_env,
            headers,
        })
    }

    fn settings(&mut self, model: Section<'_>, dialect: Option<Dialect>) -> Map<String, Value> {
        let own = dialect.map_or(&[][..], |dialect| dialect.facts().own_members);
        let has_limit = model.has("max_tokens");
        for (name, at) in model.table("settings").iter().flat_map(Section::keys) {
            if own.contains(&name) || (has_limit && LIMITS.contains(&name)) {
                let hint = "it comes from the run, or from another key of [model]";
                let text = format!("`settings` cannot set `{name}`; {hint}");
                self.checker.push(at, text);
            }
        }
        model.get("settings").unwrap_or_default()
    }

    fn headers(&mut self, section: Section<'_>) -> Vec<Header> {
        let mut headers: Vec<Header> = Vec::new();
        let Some(table) = section.table("headers") else {
            return headers;
        };
        for (name, at) in table.keys() {
            let header = header(name, table.text(name).unwrap_or_default());
            let header = header.map_err(|why| format!("`headers` {why}"));
            let Some(header) = self.checker.ok(at, header) else {
                continue;
            };
            let mut known = headers.iter();
            if known.any(|known| known.name.eq_ignore_ascii_case(&header.name)) {
                let text = format!("`headers` has {} twice", header.name);
                self.checker.push(at, text);
            }
            headers.push(header);
        }
        headers
    }

    /// The name and the text of a file.
    fn file(&mut self, section: Section<'_>, key: &str) -> Option<(String, String)> {
        let name = section.text(key).filter(|name| !name.is_empty())?;
        let text = (self.beside.file)(name).map_err(|why| {
            format!("`{key}`: {name}: {why}; files are looked for beside the one that names them")
        });
        let text = self.checker.ok(section.at(key), text)?;
        Some((name.to_owned(), text))
    }

    /// A JSON Schema under the one key, or in the file that the other names.
    fn schema(&mut self, section: Section<'_>, keys: [&'static str; 2]) -> Option<Value> {
        let [inline, in_file] = keys;
        let (key, schema) = if section.has(inline) {
            (inline, section.table(inline)?.read()?)
        } else {
            let (name, text) = self.file(section, in_file)?;
            let schema = serde_json::from_str(&text);
            let schema =
                schema.map_err(|error| format!("`{in_file}`: {name}: {}", not_json(&error)));
            (in_file, self.checker.ok(section.at(in_file), schema)?)
        };
        let why = if !Value::is_object(&schema) {
            Some("it is not an object".to_owned())
        } else if inline == "parameters" && schema.get("type") != Some(&"object".into()) {
            Some("its `type` is not \"object\"".to_owned())
        } else {
            Validator::compile(&schema).err().map(|why| why.to_string())
        };
        let Some(why) = why else { return Some(schema) };
        let hint = "a schema of arguments begins with type = \"object\"";
        let text = format!("the schema in `{key}` cannot be used: {why}; {hint}");
        self.checker.push(section.at(key), text);
        None
    }

    fn tool(&mut self, tool: Section<'_>, dialect: Dialect) -> Option<AgentTool> {
        let parameters = self.schema(tool, ["parameters", "parameters_file"]);
        let name = tool.text("name").filter(|name| !name.is_empty());
        if let Some(name) = name
            && let Some(why) = name_fault(dialect, name, false)
        {
            let text = format!("the tool name `{}` {why}", quoted(name));
            self.checker.push(tool.at("name"), text);
        }
        let by = if tool.has("command") {
            self.command(tool, COMMAND_TIMEOUT).map(By::Command)
        } else if tool.has("canned") {
            self.canned(tool).map(By::Canned)
        } else if tool.has("ask") {
            Some(By::Operator)
        } else {
            Some(By::Recorded(match tool.text("recorded") {
                Some(file) => RecordedAnswers::File(file.to_owned()),
                None => RecordedAnswers::AtHand,
            }))
        };
        let by = by?;
        let usual = match by {
            By::Command(_) => Approval::Ask,
            By::Canned(_) | By::Operator | By::Recorded(_) => Approval::Never,
        };
        Some(AgentTool {
            offered: Offered {
                tool: Tool {
                    name: name?.to_owned(),
                    kind: ToolKind::Function,
                    description: tool.get("description").unwrap_or_default(),
                    parameters,
                    output_schema: None,
                },
                strict: tool.get("strict"),
            },
            by,
            approval: tool.get("approval").unwrap_or(usual),
        })
    }

    fn canned(&mut self, tool: Section<'_>) -> Option<Vec<Canned>> {
        if let Some(output) = tool.text("canned") {
            return Some(vec![Canned {
                when: Map::new(),
                output: output.to_owned(),
                is_error: false,
            }]);
        }
        let mut canned: Vec<Canned> = Vec::new();
        for answer in tool.tables("canned") {
            if canned.iter().any(|before| before.when.is_empty()) {
                let text = "this answer is never given: one before it fits every call";
                self.checker.push(answer.at, text);
            }
            canned.extend(answer.read::<Canned>());
        }
        Some(canned)
    }

    fn command(&mut self, section: Section<'_>, timeout: u64) -> Option<ToolProgram> {
        let argv: Vec<String> = section.get("command")?;
        if argv.first().is_some_and(String::is_empty) {
            let text = "`command` begins with the name of a program";
            self.checker.push(section.at("command"), text);
        }
        Some(ToolProgram {
            argv,
            cwd: section.get("cwd"),
            env: section.get("env").unwrap_or_default(),
            timeout_ms: section.millis("timeout").unwrap_or(timeout),
        })
    }

    fn server(&mut self, server: Section<'_>) -> Option<McpServer> {
        let via = if server.has("command") {
            self.command(server, SERVER_TIMEOUT).map(Via::Command)
        } else {
            let headers = self.headers(server);
            let url = server.text("url").map(|url| url.trim_end_matches('/'));
            url.map(|url| Via::Http {
                url: url.to_owned(),
                headers,
            })
        };
        Some(McpServer {
            name: server.get("name")?,
            via: via?,
            approval: server.get("approval").unwrap_or(Approval::Ask),
            tools: server.get("tools"),
            timeout_ms: server.millis("timeout").unwrap_or(SERVER_TIMEOUT),
        })
    }
}

/// The dialect that is spoken at a base URL: providers have endpoints of other dialects, too.
fn spoken_at(dialect: Dialect, base_url: Option<&str>) -> Dialect {
    match (dialect.facts().other_at, base_url) {
        (Some((path, other)), Some(url)) if url.contains(path) => other,
        _ => dialect,
    }
}

/// A header: its value may end with `env:NAME`, at its beginning or after a space.
fn header(name: &str, value: &str) -> Result<Header, String> {
    // RFC 9110: a token.
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || name.len() > 100 || !name.bytes().all(is_token) {
        return Err("has a name that is not made of letters, digits and hyphens".to_owned());
    }
    let is_among = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    if is_among(&OWN_HEADERS) {
        return Err(format!("has {name}, which the client itself sets"));
    }
    if value.chars().any(char::is_control) {
        return Err("holds a control character".to_owned());
    }
    let (before, last) = match value.rsplit_once(' ') {
        Some((_, last)) if last.starts_with("env:") => value.split_at(value.len() - last.len()),
        _ => ("", value),
    };
    let (text, env) = match last.strip_prefix("env:") {
        Some(variable) => {
            check_variable(variable)?;
            (before, Some(variable.to_owned()))
        }
        None => (value, None),
    };
    if looks_like_key(text) || (env.is_none() && is_among(&SECRET_HEADERS)) {
        return Err(
            "has a value that is a secret; write \"env:NAME\" for the value of a variable"
                .to_owned(),
        );
    }
    Ok(Header {
        name: name.to_owned(),
        text: text.to_owned(),
        env,
    })
}
