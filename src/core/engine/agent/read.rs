//! Reads an agent file: the agent and its model.

use super::fault::{AgentFaults, Notes, Wrong};
use super::keys::Place;
use super::section::{At, Section};
use super::{Agent, Beside, Endpoint, Header, Model, values};
use crate::config::ConfigError;
use crate::engine::Policy;
use crate::schema::Validator;
use crate::session::{Dialect, OutputSchema};
use serde_json::{Map, Value};
use toml::de::DeTable;

/// Longest name, in characters.
const NAME: usize = 100;
/// How long a reply may take without a byte.
const MODEL_TIMEOUT: u64 = 120_000;
/// What a scripted model is called where it has no name.
const SCRIPTED: &str = "scripted";
/// Members that limit a reply, in every API.
const LIMITS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

pub(super) fn read_agent(text: &str, beside: Beside<'_>) -> Result<Agent, AgentFaults> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut notes = Notes::of(text);
    for error in errors {
        let at = error.span().map_or(0, |span| span.start);
        notes.note(at, Wrong::Syntax(error.message().to_owned()));
    }
    // What is missing from half a table may stand in the other half.
    if let Some(faults) = notes.told() {
        return Err(faults);
    }
    let mut reader = Reader { notes, beside };
    let agent = reader.agent(table.get_ref());
    match (reader.notes.told(), agent) {
        (None, Some(agent)) => Ok(agent),
        (Some(faults), _) => Err(faults),
        (None, None) => Err(AgentFaults::unreadable()),
    }
}

/// Reads a table with the keys of `[model]`, which begins at a byte of a text.
pub(super) fn read_model(
    text: &str,
    table: &DeTable<'_>,
    at: usize,
    beside: Beside<'_>,
) -> Result<Model, AgentFaults> {
    let mut reader = Reader {
        notes: Notes::of(text),
        beside,
    };
    let model = reader.model(&At { at, value: table });
    match (reader.notes.told(), model) {
        (None, Some(model)) => Ok(model),
        (Some(faults), _) => Err(faults),
        (None, None) => Err(AgentFaults::unreadable()),
    }
}

/// Reads tables and notes what is wrong in them.
pub(super) struct Reader<'a, 't> {
    pub(super) notes: Notes<'t>,
    beside: Beside<'a>,
}

impl Reader<'_, '_> {
    fn agent(&mut self, table: &DeTable<'_>) -> Option<Agent> {
        let section = Section::open(Place::Agent, 0, table, &mut self.notes);
        let name = self.name(&section, "the agent");
        let policy = self.policy(&section);
        let output_schema = self.schema(&section, ["output_schema", "output_schema_file"]);
        let model = match section.table("model") {
            Some(model) => self.model(&model),
            None => {
                self.missing(&section, "the agent", "model");
                None
            }
        };
        let dialect = model.as_ref().map(|model| model.dialect);
        let tools = self.tools(&section, dialect);
        let servers = self.servers(&section);
        let text = |key| section.text(key).map(|text| text.value.to_owned());
        Some(Agent {
            name: name?,
            instructions: text("instructions").unwrap_or_default(),
            input: text("input"),
            max_turns: section.count("max_turns"),
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

    fn policy(&mut self, section: &Section<'_>) -> Policy {
        section.at_most_one(&["policy", "policy_file"], &mut self.notes);
        let wording = self.beside.wording;
        if let Some(table) = section.table("policy") {
            let text = self.notes.text();
            let faults = match Policy::of_table(text, table.value, wording) {
                Ok(policy) => return policy,
                Err(errors) => errors.errors,
            };
            for ConfigError { line, text } in faults {
                self.notes.note_on(line, Wrong::Policy(text));
            }
        } else if let Some((file, text)) = self.file(section, "policy_file") {
            let faults = match Policy::parse_with(&text, wording) {
                Ok(policy) => return policy,
                Err(errors) => errors.errors,
            };
            let (key, at) = ("policy_file", section.place_of("policy_file"));
            for fault in faults {
                let (file, why) = (file.clone(), fault.to_string());
                self.notes.note(at, Wrong::InFile { key, file, why });
            }
        }
        Policy::default()
    }

    fn model(&mut self, table: &At<&DeTable<'_>>) -> Option<Model> {
        let section = Section::open(Place::Model, table.at, table.value, &mut self.notes);
        for key in ["base_url", "key_env", "headers"] {
            section.at_most_one(&["script", key], &mut self.notes);
        }
        let dialect = section.get("dialect").and_then(|word| word.value.as_str());
        let dialect = dialect.and_then(values::dialect);
        if dialect.is_none() {
            self.missing(&section, "[model]", "dialect");
        }
        let is_scripted = section.has("script");
        let name = match section.text("name") {
            Some(name) => Some(name.value.to_owned()),
            None if is_scripted => Some(SCRIPTED.to_owned()),
            None => {
                self.missing(&section, "[model]", "name");
                None
            }
        };
        let at = if is_scripted {
            let script = self.file(&section, "script");
            script.map(|(file, text)| Endpoint::Script { file, text })
        } else {
            self.server(&section, dialect)
        };
        let settings = self.settings(&section, dialect);
        Some(Model {
            dialect: dialect?,
            name: name?,
            at: at?,
            stream: section.flag("stream").unwrap_or(true),
            timeout_ms: section.time("timeout").unwrap_or(MODEL_TIMEOUT),
            max_tokens: section.count("max_tokens"),
            settings,
        })
    }

    fn server(&mut self, section: &Section<'_>, dialect: Option<Dialect>) -> Option<Endpoint> {
        let key_env = section.text("key_env").and_then(|name| {
            let name_or_not = values::variable("key_env", name.value);
            self.taken(name.at, name_or_not)
        });
        let headers = self.headers(section);
        // A key goes only where its name and the address were written together: the usual variable belongs
        // to the usual address.
        let (base_url, key_env) = match section.text("base_url") {
            Some(url) => {
                let base_url = values::address("base_url", url.value);
                (self.taken(url.at, base_url)?, key_env)
            }
            None => {
                let facts = dialect?.facts();
                let variable = || Some(facts.key_variable.to_owned());
                (facts.base_url.to_owned(), key_env.or_else(variable))
            }
        };
        Some(Endpoint::Http {
            base_url,
            key_env,
            headers,
        })
    }

    fn settings(&mut self, section: &Section<'_>, dialect: Option<Dialect>) -> Map<String, Value> {
        let Some(table) = section.table("settings") else {
            return Map::new();
        };
        let own = dialect.map_or(&[][..], |dialect| dialect.facts().own_members);
        let has_limit = section.has("max_tokens");
        for (key, _) in table.value {
            let name = key.get_ref().as_ref();
            if own.contains(&name) || (has_limit && LIMITS.contains(&name)) {
                let wrong = Wrong::OwnMember(name.to_owned());
                self.notes.note(key.span().start, wrong);
            }
        }
        self.object("settings", &table).unwrap_or_default()
    }

    /// A name that menus show.
    pub(super) fn name(&mut self, section: &Section<'_>, of: &str) -> Option<String> {
        let Some(name) = section.text("name") else {
            self.missing(section, of, "name");
            return None;
        };
        if name.value.chars().count() > NAME || name.value.chars().any(char::is_control) {
            self.notes.note(name.at, Wrong::Name("name"));
            return None;
        }
        Some(name.value.to_owned())
    }

    /// Tells that a key is missing, unless its value was told about.
    pub(super) fn missing(&mut self, section: &Section<'_>, of: &str, key: &'static str) {
        if !section.has(key) {
            let of = of.to_owned();
            self.notes.note(section.at, Wrong::Missing { of, key });
        }
    }

    /// A value, or the fault that it is.
    pub(super) fn taken<T>(&mut self, at: usize, value: Result<T, Wrong>) -> Option<T> {
        match value {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.notes.note(at, wrong);
                None
            }
        }
    }

    /// A table as JSON.
    pub(super) fn object(
        &mut self,
        key: &'static str,
        table: &At<&DeTable<'_>>,
    ) -> Option<Map<String, Value>> {
        let object = values::object(table.value);
        self.taken(
            table.at,
            object.map_err(|what| Wrong::NotJson { key, what }),
        )
    }

    pub(super) fn headers(&mut self, section: &Section<'_>) -> Vec<Header> {
        let mut headers: Vec<Header> = Vec::new();
        let table = section.table("headers");
        for (name, value) in table.iter().flat_map(|table| table.value.iter()) {
            let at = name.span().start;
            let text = value.get_ref().as_str().unwrap_or_default();
            let Some(header) = self.taken(at, values::header(name.get_ref(), text)) else {
                continue;
            };
            let known = headers.iter();
            if { known }.any(|known| known.name.eq_ignore_ascii_case(&header.name)) {
                self.notes
                    .note(at, Wrong::Header("one of them stands twice"));
            }
            headers.push(header);
        }
        headers
    }

    /// The name and the text of a file.
    pub(super) fn file(
        &mut self,
        section: &Section<'_>,
        key: &'static str,
    ) -> Option<(String, String)> {
        let name = section.text(key)?;
        let file = name.value.to_owned();
        match (self.beside.file)(&file) {
            Ok(text) => Some((file, text)),
            Err(why) => {
                self.notes.note(name.at, Wrong::File { key, file, why });
                None
            }
        }
    }

    /// A JSON Schema that stands under the one key, or in the file under the other.
    pub(super) fn schema(
        &mut self,
        section: &Section<'_>,
        keys: [&'static str; 2],
    ) -> Option<Value> {
        section.at_most_one(&keys, &mut self.notes);
        let [inline, in_file] = keys;
        let (key, schema) = if let Some(table) = section.table(inline) {
            (inline, Value::Object(self.object(inline, &table)?))
        } else {
            let (file, text) = self.file(section, in_file)?;
            match serde_json::from_str(&text) {
                Ok(schema) => (in_file, schema),
                Err(error) => {
                    let why = error.to_string();
                    let key = in_file;
                    let at = section.place_of(key);
                    self.notes.note(at, Wrong::InFile { key, file, why });
                    return None;
                }
            }
        };
        let why = if !schema.is_object() {
            Some("it is no object".to_owned())
        } else if inline == "parameters" && schema.get("type") != Some(&"object".into()) {
            Some("its `type` is not \"object\"".to_owned())
        } else {
            Validator::compile(&schema).err().map(|why| why.to_string())
        };
        let Some(why) = why else { return Some(schema) };
        let at = section.place_of(key);
        self.notes.note(at, Wrong::Schema { key, why });
        None
    }
}
