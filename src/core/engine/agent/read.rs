//! Reads an agent file that was checked against its keys.

use super::keys::check_variable;
use super::{
    Agent, AgentTool, Beside, By, Canned, Command, Endpoint, Header, McpServer, Model, Recorded,
    Via,
};
use crate::config::{Checker, Section, looks_like_key, quoted};
use crate::dialects::tools::name_fault;
use crate::dialects::write::request::Offered;
use crate::engine::policy::{Approval, Policy};
use crate::schema::Validator;
use crate::session::{Dialect, OutputSchema, Tool, ToolKind};
use serde_json::{Map, Value};

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
pub(super) struct Reader<'r, 'b, 't> {
    pub(super) checker: &'r mut Checker<'t>,
    pub(super) beside: &'r mut Beside<'b>,
}

impl Reader<'_, '_, '_> {
    pub(super) fn agent(&mut self, file: Section<'_>) -> Option<Agent> {
        let policy = self.policy(file);
        let output_schema = self.schema(file, ["output_schema", "output_schema_file"]);
        let model = file.table("model").and_then(|model| self.model(model));
        // Where nobody knows who is asked, the strictest pattern would refuse what may be allowed.
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

    pub(super) fn model(&mut self, model: Section<'_>) -> Option<Model> {
        let dialect = model.text("dialect").and_then(Dialect::named);
        let dialect = dialect.map(|dialect| spoken_at(dialect, model.text("base_url")));
        let at = if model.has("script") {
            let script = self.file(model, "script");
            script.map(|(file, text)| Endpoint::Script { file, text })
        } else {
            self.endpoint(model, dialect)
        };
        let settings = self.settings(model, dialect);
        Some(Model {
            dialect: dialect?,
            name: model.get("name").unwrap_or_else(|| SCRIPTED.to_owned()),
            at: at?,
            stream: model.get("stream").unwrap_or(true),
            timeout_ms: model.millis("timeout").unwrap_or(MODEL_TIMEOUT),
            max_tokens: model.get("max_tokens"),
            settings,
        })
    }

    fn endpoint(&mut self, model: Section<'_>, dialect: Option<Dialect>) -> Option<Endpoint> {
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
        Some(Endpoint::Http {
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

    /// A JSON Schema that stands under the one key, or in the file under the other.
    fn schema(&mut self, section: Section<'_>, keys: [&'static str; 2]) -> Option<Value> {
        let [inline, in_file] = keys;
        let (key, schema) = if section.has(inline) {
            (inline, section.table(inline)?.read()?)
        } else {
            let (name, text) = self.file(section, in_file)?;
            let schema = serde_json::from_str(&text);
            let schema = schema.map_err(|error| format!("`{in_file}`: {name}: {error}"));
            (in_file, self.checker.ok(section.at(in_file), schema)?)
        };
        let why = if !Value::is_object(&schema) {
            Some("it is no object".to_owned())
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
                Some(file) => Recorded::File(file.to_owned()),
                None => Recorded::AtHand,
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

    fn command(&mut self, section: Section<'_>, timeout: u64) -> Option<Command> {
        let argv: Vec<String> = section.get("command")?;
        if argv.first().is_some_and(String::is_empty) {
            let text = "`command` begins with the name of a program";
            self.checker.push(section.at("command"), text);
        }
        Some(Command {
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

/// A header: its value may end with `env:NAME`, at its beginning or behind a space.
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
