//! What a run may do. Unknown is a value: a transcript without tool definitions says
//! nothing about its calls.

use serde_json::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

/// The tools, schemas and limits of a run.
#[derive(Debug, Clone, Default)]
pub struct Contract {
    /// Tool lists in the order of the history. Unless one of them replaces what was before, the tools
    /// are not known: additions alone (`tool_search`, the dynamic tools of Codex) stand beside tools
    /// that are not recorded.
    pub tool_sets: Vec<ToolSet>,
    /// The schema that the final output must satisfy.
    pub output_schema: Option<OutputSchema>,
    /// The most replies that the run may take.
    pub turn_limit: Option<u32>,
    /// Older items are kept by the provider (`previous_response_id`, `conversation`), so that a partner may
    /// be out of sight.
    pub server_state: bool,
    /// The file is a request as it goes to the provider: a call at its end is not waiting, it is unanswered.
    pub is_request: bool,
    /// A run goes on from the end of the history: what is open there waits, also in a request.
    pub goes_on: bool,
}

/// The pseudo tool in which LiteLLM lets models write a structured output. openai-agents runs it under an
/// output schema as a tool that gives back its arguments.
pub const JSON_TOOL_CALL: &str = "json_tool_call";

/// What Pydantic AI and its like write into the description of an output tool, and OpenHands into that of `finish`.
const ENDINGS: [&str; 2] = [
    "final response which ends this conversation",
    "Signals the completion of the current task or conversation",
];

/// Whether a value is a schema and no setting that names one.
fn is_schema(value: &Value) -> bool {
    const TYPES: [&str; 7] = [
        "object", "array", "string", "number", "integer", "boolean", "null",
    ];
    let kind = value
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let is_type = TYPES.iter().any(|known| kind.eq_ignore_ascii_case(known));
    is_type
        || ["properties", "$ref", "anyOf"]
            .iter()
            .any(|key| value.get(*key).is_some())
}

impl Contract {
    /// The schema of the arguments of a call that carries a structured output; `None` for any other call.
    pub fn json_output(&self, tool: &str) -> Option<&OutputSchema> {
        self.output_schema
            .as_ref()
            .filter(|_| tool == JSON_TOOL_CALL)
    }

    /// Whether a call of this tool ends the run and gets no output, as the description of the tool says.
    pub fn ends_run(&self, index: u32, tool: &str) -> bool {
        let tools = self.tools_at(index);
        let is_last = |tool: &Tool| ENDINGS.iter().any(|words| tool.description.contains(words));
        tools.iter().any(|it| it.name == tool && is_last(it))
    }

    /// Whether the last turn may be unfinished: nothing marks the history as complete.
    pub fn may_go_on(&self) -> bool {
        self.goes_on || !self.is_request
    }
}

/// Tools that are offered from an item on.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    /// Index of the first item that could use them.
    pub from: u32,
    /// Whether they replace what was offered before (a new request) or add
    /// to it (`tool_search`, `additional_tools`).
    pub replaces: bool,
    pub tools: Vec<Tool>,
}

/// One tool as it was offered.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name, qualified as `namespace.name` where it has a namespace.
    pub name: String,
    /// Who runs it and how its input looks.
    pub kind: ToolKind,
    /// Its description for the model.
    pub description: String,
    /// The schema of its arguments as it was recorded; `None` where there is none.
    pub parameters: Option<Value>,
    /// The schema of its output where it declares one.
    pub output_schema: Option<Value>,
}

/// Who runs a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// The client, with JSON arguments.
    Function,
    /// The client, with free-form input.
    Custom,
    /// The provider; the name is its type, as `web_search`.
    Hosted,
}

/// The schema of the final output.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    /// Its name where the request gives one.
    pub name: String,
    pub schema: Value,
}

impl OutputSchema {
    /// The schema that a setting of a request carries: `text.format {type, name, schema}` of Responses,
    /// `response_format {type, json_schema: {name, schema}}` of Chat, the schema itself of Gemini.
    pub fn carried_by(setting: &Value) -> Option<Self> {
        let carrier = setting.get("json_schema").unwrap_or(setting);
        let bare = || Some(setting).filter(|setting| is_schema(setting));
        let schema = carrier.get("schema").filter(|schema| schema.is_object());
        let schema = schema.or_else(bare)?;
        let name = carrier.get("name").and_then(Value::as_str);
        Some(Self {
            name: name.unwrap_or_default().to_owned(),
            schema: schema.clone(),
        })
    }
}

impl Contract {
    /// Takes what is known from outside of the file: tools that were `given` hold whatever the file says, those
    /// that were found `beside` it only where it says none. Gives whether the latter hold.
    pub fn supplement(
        &mut self,
        given: Option<&[Tool]>,
        beside: Option<&[Tool]>,
        output_schema: Option<&OutputSchema>,
    ) -> bool {
        if let Some(schema) = output_schema {
            self.output_schema = Some(schema.clone());
        }
        let beside = beside.filter(|_| given.is_none() && !self.tools_known());
        if let Some(tools) = given.or(beside) {
            self.tool_sets.retain(|set| !set.replaces);
            let set = ToolSet {
                from: 0,
                replaces: true,
                tools: tools.to_vec(),
            };
            self.tool_sets.insert(0, set);
        }
        beside.is_some()
    }

    /// Whether a whole tool list is known, so that a name which is not in it was not offered.
    pub fn tools_known(&self) -> bool {
        self.tool_sets.iter().any(|set| set.replaces)
    }

    /// The tools that are offered to the reply that holds the item at `index`; a later definition
    /// of a name wins.
    pub fn tools_at(&self, index: u32) -> Vec<&Tool> {
        let places = self.places_at(index).into_iter();
        places
            .map(|(set, place)| &self.tool_sets[set].tools[place])
            .collect()
    }

    /// Where those tools stand: the number of the set, and the place in it.
    pub fn places_at(&self, index: u32) -> Vec<(usize, usize)> {
        let known = &self.tool_sets[..self.epoch(index)];
        let first = known.iter().rposition(|set| set.replaces).unwrap_or(0);
        let mut tools = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (number, set) in known.iter().enumerate().skip(first) {
            for (place, tool) in set.tools.iter().enumerate() {
                match places.entry(&tool.name) {
                    Entry::Occupied(known) => tools[*known.get()] = (number, place),
                    Entry::Vacant(new) => {
                        new.insert(tools.len());
                        tools.push((number, place));
                    }
                }
            }
        }
        tools
    }

    /// The number of tool sets that are in force at an item: items with the same number see the same tools.
    pub fn epoch(&self, index: u32) -> usize {
        self.tool_sets.partition_point(|set| set.from <= index)
    }
}

// Each tool name once; items hold its number.

/// The number of a name in [`Names`]; 0 is "no name".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, PartialOrd, Ord)]
pub struct NameId(pub u32);

impl NameId {
    /// Whether it means "no name".
    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// The distinct names of a session.
#[derive(Debug, Clone, Default)]
pub struct Names {
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Names {
    /// The number of a name, new or known. The empty name is [`NameId::default`].
    pub fn intern(&mut self, name: &str) -> NameId {
        if name.is_empty() {
            return NameId::default();
        }
        if let Some(number) = self.numbers.get(name) {
            return NameId(*number);
        }
        self.texts.push(name.to_owned());
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.numbers.insert(name.to_owned(), number);
        NameId(number)
    }

    /// The name of a number; empty for "no name".
    pub fn text(&self, id: NameId) -> &str {
        id.0.checked_sub(1)
            .and_then(|index| self.texts.get(index as usize))
            .map_or("", String::as_str)
    }

    /// The number of a name that is already known.
    pub fn find(&self, name: &str) -> Option<NameId> {
        self.numbers.get(name).map(|number| NameId(*number))
    }

    /// All names with their numbers, in the order in which they were first seen.
    pub fn iter(&self) -> impl Iterator<Item = (NameId, &str)> {
        (1..).map(NameId).zip(self.texts.iter().map(String::as_str))
    }
}

// A hasher for keys that are keyed hashes already: ids are hashed once with a secret key when they are read,
// so that hashing them again in every table would buy nothing.

/// Builds the hasher; for tables whose keys are made of ids from [`super::CallId`],
/// [`super::RecordLink`] or small numbers.
pub type Keyed = BuildHasherDefault<KeyedHasher>;

/// Folds the parts of a key together.
#[derive(Debug, Default, Clone, Copy)]
pub struct KeyedHasher(u64);

impl Hasher for KeyedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u8(&mut self, part: u8) {
        self.write_u64(u64::from(part));
    }

    fn write_u32(&mut self, part: u32) {
        self.write_u64(u64::from(part));
    }

    fn write_u64(&mut self, part: u64) {
        self.0 = (self.0.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, part: usize) {
        self.write_u64(part as u64);
    }

    fn write_isize(&mut self, part: isize) {
        self.write_u64(part as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(from: u32, replaces: bool, names: &[&str]) -> ToolSet {
        let tools = names
            .iter()
            .map(|name| Tool {
                name: (*name).to_owned(),
                kind: ToolKind::Function,
                description: String::new(),
                parameters: None,
                output_schema: None,
            })
            .collect();
        ToolSet {
            from,
            replaces,
            tools,
        }
    }

    fn offered(contract: &Contract, index: u32) -> Vec<String> {
        contract
            .tools_at(index)
            .iter()
            .map(|tool| tool.name.clone())
            .collect()
    }

    #[test]
    fn tools_arrive_and_are_replaced_as_the_history_goes_on() {
        let contract = Contract {
            tool_sets: vec![
                set(0, true, &["a"]),
                set(5, false, &["b"]),
                set(9, true, &["c"]),
            ],
            ..Contract::default()
        };
        assert_eq!(offered(&contract, 4), ["a"]);
        assert_eq!(offered(&contract, 5), ["a", "b"]);
        assert_eq!(offered(&contract, 9), ["c"]);
        assert_eq!(
            [contract.epoch(0), contract.epoch(8), contract.epoch(9)],
            [1, 2, 3]
        );
    }

    #[test]
    fn given_tools_hold_whatever_the_file_says_and_found_ones_only_where_it_says_none() {
        let [given, beside] = ["given", "beside"].map(|name| set(0, true, &[name]).tools);
        let recorded = || Contract {
            tool_sets: vec![set(0, true, &["recorded"]), set(3, false, &["added"])],
            ..Contract::default()
        };
        let mut contract = recorded();
        assert!(!contract.supplement(None, Some(&beside), None));
        assert_eq!(offered(&contract, 3), ["recorded", "added"]);
        assert!(!contract.supplement(Some(&given), Some(&beside), None));
        assert_eq!(offered(&contract, 3), ["given", "added"]);
        let mut unknown = Contract::default();
        assert!(unknown.supplement(None, Some(&beside), None));
        assert_eq!(offered(&unknown, 0), ["beside"]);
    }

    #[test]
    fn no_list_means_not_known_and_an_empty_list_means_no_tools() {
        assert!(!Contract::default().tools_known());
        let mut contract = Contract {
            tool_sets: vec![set(0, true, &[])],
            ..Contract::default()
        };
        assert!(contract.tools_known());
        contract.tool_sets = vec![set(0, false, &["a"])];
        assert!(!contract.tools_known());
        assert_eq!(offered(&contract, 0), ["a"]);
    }
}

#[cfg(test)]
mod names_tests {
    use super::*;

    #[test]
    fn a_name_has_one_number() {
        let mut names = Names::default();
        let read = names.intern("read");
        assert_eq!(names.intern("read"), read);
        assert_ne!(names.intern("write"), read);
        assert_eq!(names.text(read), "read");
        assert_eq!(
            (names.intern(""), names.text(NameId(9))),
            (NameId::default(), "")
        );
    }
}

#[cfg(test)]
mod keyed_tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_and_ids_spread_over_the_table() {
        let hash = |number: u64| {
            let mut hasher = KeyedHasher::default();
            hasher.write_u64(number);
            hasher.finish() >> 57
        };
        let seen = (0..1000).map(hash).collect::<HashSet<_>>();
        assert!(seen.len() > 100, "{}", seen.len());
    }
}
