//! What an agent may do in the world: what the operator is shown before its first command runs.

use super::{Agent, By, Command, Endpoint, Header, Model, Via};
use std::fmt;

/// Something that an agent may do. Its text stands on one line and holds text of the file.
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
    Tool { tool: String, command: Command },
    /// It starts an MCP server.
    Server { server: String, command: Command },
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
struct Program<'a>(&'a Command);

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

impl Model {
    /// What asking it does; `None` for a script, which nothing is sent to.
    pub fn power(&self) -> Option<Power> {
        match &self.at {
            Endpoint::Http {
                base_url,
                key_env,
                headers,
            } => Some(Power::Model {
                name: self.name.clone(),
                url: base_url.clone(),
                variables: key_env.iter().cloned().chain(variables(headers)).collect(),
            }),
            Endpoint::Script { .. } => None,
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
                By::Recorded(super::Recorded::File(file)) => Some(Power::Recording {
                    tool: name,
                    file: file.clone(),
                }),
                By::Canned(_) | By::Operator | By::Recorded(super::Recorded::AtHand) => None,
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
