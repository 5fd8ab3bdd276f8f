//! From an agent file to a run that can begin: its model can be called, the servers of its tools are started,
//! its secrets are known.

use super::io::{Report, RunIo, Thread};
use super::run::{LiveRun, RunInfo};
use super::snapshot::ModelBinding;
use crate::agents::AgentFile;
use crate::model::{self, ApiKey, Model, ModelError, Timeouts};
use crate::scripted;
use crate::takes::About;
use crate::tools::command::environment;
use crate::tools::mcp::{Listener, McpReach, Server, ServerSpec};
use crate::tools::{Means, Supervisor, Toolbox, ToolboxError};
use retake_core::config::ConfigErrors;
use retake_core::engine::agent::{self, By, Header, ModelEndpoint, Via};
use retake_core::engine::{
    Approval, Breakpoint, Config, Machine, Nature, Policy, ToolConfig, ToolOwner,
};
use retake_core::redact::{Redactor, Vault};
use retake_core::script::Script;
use retake_core::session::{JSON_TOOL_CALL, Session, Tool};
use retake_core::wire::write::request::{NoRequest, Offered};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use std::{env, io};

/// What is decided about a run outside of its agent file.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Whether somebody is there to decide.
    pub has_operator: bool,
    /// The first message of the user, in place of that of the file.
    pub input: Option<String>,
    /// What is done without asking, in place of what the file says.
    pub policy: Option<Policy>,
    /// Where the run stops although nothing is wrong.
    pub breakpoints: Vec<Breakpoint>,
    /// Whether it stops before each step.
    pub is_stepping: bool,
    /// The session at hand, which recorded tools answer from.
    pub at_hand: Option<Session>,
    /// The `retake` that keeps command tools, where this program is none itself.
    pub supervisor: Option<Supervisor>,
}

/// A run that can begin.
pub struct PreparedRun {
    pub run: LiveRun,
    /// The request that it begins with, unless it goes on from a recording.
    pub first: Vec<u8>,
    /// What its journal says of it.
    pub about: About,
    /// Where it stops although nothing is wrong.
    pub breakpoints: Vec<Breakpoint>,
    /// What the operator should know; it holds text from outside.
    pub notes: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The system gives no thread, or no program to keep tools with.
    #[error("the world of the run cannot be set up: {0}")]
    NoWorld(#[from] io::Error),
    #[error("model: {0}")]
    Model(#[from] ModelError),
    #[error("{}", errors.in_file(file))]
    Script { file: String, errors: ConfigErrors },
    #[error(transparent)]
    Tools(#[from] ToolboxError),
    #[error("{0}")]
    NoRequest(#[from] NoRequest),
}

/// Prepares a run. `report` hears of the world, in a thread of its own.
pub fn prepare(
    file: &AgentFile,
    options: RunOptions,
    report: Report,
) -> Result<PreparedRun, PrepareError> {
    let mut agent = file.agent.clone();
    agent.input = options.input.or(agent.input);
    let thread = Thread::start()?;
    let supervisor = options
        .supervisor
        .map_or_else(Supervisor::this_program, Ok)?;
    let toolbox = Toolbox::of_agent(file, options.at_hand.as_ref(), supervisor)?;
    let mut cast = Cast::new(toolbox);
    for tool in &agent.tools {
        cast.offer_own(tool);
    }
    for server in &agent.servers {
        cast.start(file, server, &thread, &report);
    }
    if agent.output_schema.is_some() {
        cast.answer_json_output();
    }
    let (model, script) = model_of(&agent.model, &mut cast.gathered)?;
    let breakpoints = options.breakpoints.clone();
    let policy = options.policy.unwrap_or_else(|| agent.policy.clone());
    let config = Config {
        agent: agent.name.clone(),
        has_operator: options.has_operator,
        max_turns: policy.max_turns().or(agent.max_turns),
        tools_are: ToolOwner::Own,
        tools: cast.config,
        policy,
        breakpoints: options.breakpoints,
        is_stepping: options.is_stepping,
        seed: crate::takes::wall_clock(),
    };
    let words = cast.offered.iter().map(|offered| &*offered.tool.name);
    let words = words.chain([&*agent.model.name]);
    let redactor = Redactor::sparing(cast.gathered.secrets, words);
    let mut vault = Vault::default();
    let first = agent.first_request(&cast.offered)?;
    let first = redactor.json(&first, &mut vault).into_owned();
    let offered = cast.offered.into_iter().map(|offered| offered.tool);
    let who = RunInfo {
        name: agent.name.clone(),
        file: file.path.to_string_lossy().into_owned(),
        model: ModelBinding::Described(agent.model.clone()),
        tools: offered.collect(),
        redactor,
        vault,
    };
    let io = RunIo::start(model, script, cast.toolbox, thread, report);
    let about = About {
        agent: agent.name,
        format: agent.model.dialect.facts().format.to_owned(),
        scripted: agent.model.is_scripted(),
        model: agent.model.name,
    };
    let mut run = LiveRun::new(Machine::new(config), who, io);
    Ok(PreparedRun {
        first: run.hide(&first),
        run,
        about,
        breakpoints,
        notes: cast.gathered.notes,
    })
}

/// What comes up while it is looked up who answers.
#[derive(Default)]
pub(crate) struct Gathered {
    /// Secrets by value, each with what its placeholder calls it.
    pub(crate) secrets: Vec<(String, String)>,
    /// What the operator should know; it holds text from outside.
    pub(crate) notes: Vec<String>,
}

impl Gathered {
    /// Knows the value of a variable as a secret.
    fn secret(&mut self, variable: &str) {
        if let Ok(value) = env::var(variable) {
            self.secrets.push((variable.to_owned(), value));
        }
    }

    fn header(&mut self, header: &Header) -> (String, String) {
        let value = header.env.as_deref().map(|name| {
            self.secret(name);
            env::var(name).unwrap_or_default()
        });
        let value = format!("{}{}", header.text, value.unwrap_or_default());
        (header.name.clone(), value)
    }
}

/// Who answers for the model; a script is started as an endpoint of its own.
pub(crate) fn model_of(
    described: &agent::AgentModel,
    gathered: &mut Gathered,
) -> Result<(Model, Option<scripted::ScriptedServer>), PrepareError> {
    let timeout = Duration::from_millis(described.timeout_ms);
    let timeouts = Timeouts {
        first: timeout,
        idle: timeout,
        ..Timeouts::default()
    };
    let dialect = described.dialect;
    let endpoint = |base_url, headers, key| model::Endpoint {
        dialect,
        base_url,
        headers,
        key,
        timeouts,
    };
    match &described.at {
        ModelEndpoint::Http {
            base_url,
            key_env,
            headers,
        } => {
            let key = key_env.as_deref().and_then(|name| {
                gathered.secret(name);
                let key = ApiKey::from_env(name);
                if key.is_none() {
                    gathered.notes.push(format!(
                        "{name} is not set: the model is called without a key"
                    ));
                }
                key
            });
            let headers = headers
                .iter()
                .map(|header| gathered.header(header))
                .collect();
            Ok((Model::new(endpoint(base_url.clone(), headers, key))?, None))
        }
        ModelEndpoint::Script { file, text } => {
            let script = Script::parse(file, text);
            let script = script.map_err(|errors| PrepareError::Script {
                file: file.clone(),
                errors,
            })?;
            let served = scripted::ScriptedServer::start(script, scripted::ANY_PORT)?;
            let base_url = served.base_url(dialect);
            Ok((
                Model::new(endpoint(base_url, Vec::new(), None))?,
                Some(served),
            ))
        }
    }
}

/// The tools of a run as they are put together.
struct Cast {
    toolbox: Toolbox,
    offered: Vec<Offered>,
    config: BTreeMap<String, ToolConfig>,
    gathered: Gathered,
}

impl Cast {
    fn new(toolbox: Toolbox) -> Self {
        Self {
            toolbox,
            offered: Vec::new(),
            config: BTreeMap::new(),
            gathered: Gathered::default(),
        }
    }

    /// Offers a tool that the file defines.
    fn offer_own(&mut self, tool: &agent::AgentTool) {
        let nature = match &tool.by {
            By::Command(command) => {
                for name in &command.env {
                    self.secret_by_name(name);
                }
                Nature::Acts
            }
            By::Canned(_) | By::Recorded(_) => Nature::Answers,
            By::Operator => Nature::Operator,
        };
        let config = ToolConfig {
            approval: tool.approval,
            nature,
        };
        self.config.insert(tool.offered.tool.name.clone(), config);
        self.offered.push(tool.offered.clone());
    }

    /// A structured output that the model writes as a call is its own output, as in openai-agents;
    /// nobody offers that tool.
    fn answer_json_output(&mut self) {
        if self.config.contains_key(JSON_TOOL_CALL) {
            return;
        }
        let config = ToolConfig {
            approval: Approval::Never,
            nature: Nature::Answers,
        };
        self.config.insert(JSON_TOOL_CALL.to_owned(), config);
        self.toolbox.put(JSON_TOOL_CALL, Means::Echo);
    }

    /// Knows the value of a variable as a secret if its name says that it is one: a tool may print it.
    fn secret_by_name(&mut self, name: &str) {
        if retake_core::redact::names_a_secret(name) {
            self.gathered.secret(name);
        }
    }

    /// Starts a server and offers its tools. A server that does not start costs its tools.
    fn start(
        &mut self,
        file: &AgentFile,
        described: &agent::McpServer,
        thread: &Thread,
        report: &Report,
    ) {
        let reach = match &described.via {
            Via::Command(command) => {
                for name in &command.env {
                    self.secret_by_name(name);
                }
                McpReach::Command {
                    command: command.argv.clone(),
                    folder: Some(file.folder_for(command)),
                    environment: environment_of(command),
                }
            }
            Via::Http { url, headers } => McpReach::Url {
                url: url.clone(),
                headers: headers
                    .iter()
                    .map(|header| self.gathered.header(header))
                    .collect(),
            },
        };
        let spec = ServerSpec {
            name: described.name.clone(),
            reach,
            timeout: Duration::from_millis(described.timeout_ms),
            only: described.tools.clone(),
        };
        let report = report.clone();
        let listener: Listener = Arc::new(move |server, line| {
            report(super::io::IoEvent::Notice(format!("{server}: {line}")));
        });
        let server = Arc::new(Server::new(spec, listener));
        let listed = server.clone();
        let listing = thread.wait_for(async move { listed.list().await });
        let listing = match listing {
            Some(Ok(listing)) => listing,
            Some(Err(fault)) => {
                let note = format!("the MCP server {} is left out: {fault}", described.name);
                return self.gathered.notes.push(note);
            }
            None => return,
        };
        let notes = listing.notes.iter();
        self.gathered
            .notes
            .extend(notes.map(|note| format!("{}: {note}", described.name)));
        for tool in listing.tools {
            self.offer(&server, described, tool);
        }
    }

    fn offer(&mut self, server: &Arc<Server>, described: &agent::McpServer, tool: Tool) {
        let name = tool.name.clone();
        if self.config.contains_key(&name) {
            let note = format!(
                "{}: there is another tool {name}; that one counts",
                described.name
            );
            return self.gathered.notes.push(note);
        }
        let config = ToolConfig {
            approval: described.approval,
            nature: Nature::Acts,
        };
        self.config.insert(name.clone(), config);
        self.toolbox.put(name, Means::Mcp(server.clone()));
        self.offered.push(Offered { tool, strict: None });
    }
}

/// What the program of a server sees: what every tool sees, and what its description names.
fn environment_of(command: &agent::ToolProgram) -> BTreeMap<String, String> {
    let passed = environment(env::vars_os(), &command.env);
    let passed = passed
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    passed.collect()
}
