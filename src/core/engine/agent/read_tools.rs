//! Reads an agent file: tools, and the servers that bring some along.

use super::fault::Wrong;
use super::keys::Place;
use super::read::Reader;
use super::section::{At, Section};
use super::{AgentTool, By, Canned, Command, McpServer, Recorded, Via, values};
use crate::dialects::tools::name_fault;
use crate::dialects::write::request::Offered;
use crate::engine::Approval;
use crate::session::{Dialect, Tool, ToolKind};
use serde_json::Map;
use std::collections::HashMap;
use toml::de::{DeTable, DeValue};

/// Most tools of one file.
const TOOLS: usize = 500;
/// Most servers of one file.
const SERVERS: usize = 100;
/// How long a program may take.
const COMMAND_TIMEOUT: u64 = 30_000;
/// How long a call of a server's tool may take.
const SERVER_TIMEOUT: u64 = 60_000;
/// What can carry out a tool.
const BY: [&str; 4] = ["command", "canned", "ask", "recorded"];
/// How a server can be reached.
const VIA: [&str; 2] = ["command", "url"];

impl Reader<'_, '_> {
    pub(super) fn tools(
        &mut self,
        agent: &Section<'_>,
        dialect: Option<Dialect>,
    ) -> Vec<AgentTool> {
        let mut tools = Vec::new();
        let mut known = HashMap::new();
        for (number, table) in agent.tables("tools").enumerate() {
            if number == TOOLS {
                self.too_many("tools", TOOLS, table.at);
                break;
            }
            let section = Section::open(Place::Tool, table.at, table.value, &mut self.notes);
            let name = self.tool_name(&section, dialect);
            self.once("the tool", name.as_deref(), &section, &mut known);
            tools.extend(self.tool(&section, name));
        }
        tools
    }

    fn tool(&mut self, section: &Section<'_>, name: Option<String>) -> Option<AgentTool> {
        let parameters = self.schema(section, ["parameters", "parameters_file"]);
        let of = match &name {
            Some(name) => format!("the tool `{name}`"),
            None => "the tool".to_owned(),
        };
        section.at_most_one(&BY, &mut self.notes);
        self.only_with(section, &["cwd", "env", "timeout"], &["command"]);
        let by = if section.has("command") {
            self.command(section, COMMAND_TIMEOUT).map(By::Command)
        } else if section.has("canned") {
            self.canned(section).map(By::Canned)
        } else if section.has("ask") {
            Some(By::Operator)
        } else if let Some(recorded) = section.get("recorded") {
            Some(By::Recorded(match recorded.value {
                DeValue::String(file) => Recorded::File(file.to_string()),
                _ => Recorded::AtHand,
            }))
        } else {
            if !section.has("recorded") {
                let wrong = Wrong::NoneOf { of, keys: &BY };
                self.notes.note(section.at, wrong);
            }
            None
        };
        let by = by?;
        let usual = match by {
            By::Command(_) => Approval::Ask,
            By::Canned(_) | By::Operator | By::Recorded(_) => Approval::Never,
        };
        let description = section
            .text("description")
            .map(|text| text.value.to_owned());
        let tool = Tool {
            name: name?,
            kind: ToolKind::Function,
            description: description.unwrap_or_default(),
            parameters,
            output_schema: None,
        };
        let strict = section.flag("strict");
        Some(AgentTool {
            offered: Offered { tool, strict },
            by,
            approval: section.approval().unwrap_or(usual),
        })
    }

    fn tool_name(&mut self, section: &Section<'_>, dialect: Option<Dialect>) -> Option<String> {
        let Some(name) = section.text("name") else {
            self.missing(section, "the tool", "name");
            return None;
        };
        // Where nobody knows who is asked, the strictest pattern would tell what may be no fault.
        let dialect = dialect.unwrap_or_default();
        if let Some(why) = name_fault(dialect, name.value, false) {
            let name_told = name.value.chars().take(100).collect();
            let wrong = Wrong::ToolName {
                name: name_told,
                why,
            };
            self.notes.note(name.at, wrong);
            return None;
        }
        Some(name.value.to_owned())
    }

    fn canned(&mut self, section: &Section<'_>) -> Option<Vec<Canned>> {
        let answers = match section.get("canned")?.value {
            DeValue::String(output) => {
                return Some(vec![Canned {
                    when: Map::new(),
                    output: output.to_string(),
                    is_error: false,
                }]);
            }
            _ => section.tables("canned"),
        };
        let mut canned: Vec<Canned> = Vec::new();
        let mut is_whole = true;
        for table in answers {
            let answer = self.answer(&table);
            if canned.iter().any(|before| before.when.is_empty()) {
                self.notes.note(table.at, Wrong::Unreachable);
            }
            is_whole &= answer.is_some();
            canned.extend(answer);
        }
        is_whole.then_some(canned)
    }

    fn answer(&mut self, table: &At<&DeTable<'_>>) -> Option<Canned> {
        let section = Section::open(Place::Canned, table.at, table.value, &mut self.notes);
        let output = section.text("output");
        if output.is_none() {
            self.missing(&section, "this answer", "output");
        }
        let when = match section.table("when") {
            Some(when) => self.object("when", &when)?,
            None if section.has("when") => return None,
            None => Map::new(),
        };
        Some(Canned {
            when,
            output: output?.value.to_owned(),
            is_error: section.flag("error").unwrap_or(false),
        })
    }

    fn command(&mut self, section: &Section<'_>, timeout: u64) -> Option<Command> {
        let argv = section.texts("command")?;
        if argv.value.first().is_some_and(String::is_empty) {
            self.notes.note(argv.at, Wrong::Empty("command"));
            return None;
        }
        let cwd = section.text("cwd");
        let words = argv.value.iter().map(String::as_str);
        let words = words.map(|word| ("command", argv.at, word));
        let cwd_word = cwd.map(|cwd| ("cwd", cwd.at, cwd.value));
        for (key, at, word) in words.chain(cwd_word) {
            // What is confirmed is read on one line, and a line break could hide its end.
            if word.chars().any(char::is_control) {
                self.notes.note(at, Wrong::Control(key));
            }
            if values::holds_key(word) {
                self.notes.note(at, Wrong::Secret(key));
            }
        }
        let env = section.texts("env").map(|names| {
            let names_at = names.at;
            let names = names.value.into_iter();
            let names = names.filter_map(|name| {
                let name_or_not = values::variable("env", &name);
                self.taken(names_at, name_or_not)
            });
            names.collect()
        });
        Some(Command {
            argv: argv.value,
            cwd: cwd.map(|cwd| cwd.value.to_owned()),
            env: env.unwrap_or_default(),
            timeout_ms: section.time("timeout").unwrap_or(timeout),
        })
    }

    pub(super) fn servers(&mut self, agent: &Section<'_>) -> Vec<McpServer> {
        let mut servers = Vec::new();
        let mut known = HashMap::new();
        for (number, table) in agent.tables("mcp").enumerate() {
            if number == SERVERS {
                self.too_many("MCP servers", SERVERS, table.at);
                break;
            }
            let section = Section::open(Place::Mcp, table.at, table.value, &mut self.notes);
            let name = self.name(&section, "the MCP server");
            self.once("the MCP server", name.as_deref(), &section, &mut known);
            let via = self.via(&section, name.as_deref());
            let (Some(name), Some(via)) = (name, via) else {
                continue;
            };
            servers.push(McpServer {
                name,
                via,
                approval: section.approval().unwrap_or(Approval::Ask),
                tools: section.texts("tools").map(|names| names.value),
                timeout_ms: section.time("timeout").unwrap_or(SERVER_TIMEOUT),
            });
        }
        servers
    }

    fn via(&mut self, section: &Section<'_>, name: Option<&str>) -> Option<Via> {
        section.at_most_one(&VIA, &mut self.notes);
        self.only_with(section, &["cwd", "env"], &["command"]);
        self.only_with(section, &["headers"], &["url"]);
        if section.has("command") {
            return self.command(section, SERVER_TIMEOUT).map(Via::Command);
        }
        let headers = self.headers(section);
        let Some(url) = section.text("url") else {
            if !section.has("url") {
                let of = format!("the MCP server `{}`", name.unwrap_or_default());
                let wrong = Wrong::NoneOf { of, keys: &VIA };
                self.notes.note(section.at, wrong);
            }
            return None;
        };
        let url = self.taken(url.at, values::address("url", url.value))?;
        Some(Via::Http { url, headers })
    }

    /// Tells keys that mean nothing without others.
    fn only_with(
        &mut self,
        section: &Section<'_>,
        dependent: &[&'static str],
        keys: &'static [&'static str],
    ) {
        if keys.iter().any(|key| section.has(key)) {
            return;
        }
        for key in dependent.iter().filter(|key| section.has(key)) {
            let at = section.place_of(key);
            self.notes.note(at, Wrong::Without { key, keys });
        }
    }

    /// Tells a name that was given before.
    fn once(
        &mut self,
        what: &'static str,
        name: Option<&str>,
        section: &Section<'_>,
        known: &mut HashMap<String, usize>,
    ) {
        let Some(name) = name else { return };
        let at = section.place_of("name");
        let line = self.notes.line(at);
        if let Some(&line) = known.get(name) {
            let name = name.to_owned();
            self.notes.note(at, Wrong::Twice { what, name, line });
            return;
        }
        known.insert(name.to_owned(), line);
    }

    fn too_many(&mut self, what: &'static str, most: usize, at: usize) {
        self.notes.note(at, Wrong::TooMany { what, most });
    }
}
