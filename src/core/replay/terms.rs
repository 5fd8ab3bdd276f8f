//! What a recording knows of the requests beside their messages, and whether a request agrees with it.

use super::history::{HistoryEntry, content, equal, name_for_all, words};
use crate::redact::without_tags;
use crate::session::{
    Contract, Kind, Session, SourceResult, Tool, ToolKind, ToolSet, index_number, operations_of,
};
use serde::Serialize;
use serde_json::{Value, json};
use similar::{DiffOp, DiffTag, group_diff_ops};
use std::collections::BTreeMap;
use std::fmt;

/// Instructions, tools and output schema of a request, as they are compared.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestTerms {
    /// The texts of the system, in groups of what is together; `None` where they are not known.
    instructions: Option<Vec<Vec<String>>>,
    /// The tools by name; `None` where they are not known.
    tools: Option<BTreeMap<String, Value>>,
    /// The output schema. Only the last one of a session is known.
    output_schema: Option<Value>,
    /// Whether a request without a schema is one that asks for none.
    knows_schema: bool,
}

impl RequestTerms {
    /// The terms under which the reply was given whose first item has the index `at`, after these items.
    pub(super) fn of_recording(
        session: &Session,
        items: &[usize],
        at: usize,
    ) -> SourceResult<Self> {
        let known = session.contract.tools_known();
        let instructions = instructions(session, items)?;
        let is_known = known || !instructions.is_empty();
        Ok(Self {
            instructions: is_known.then_some(instructions),
            tools: known.then(|| tools(&without_tools_of_reply(session, at), at)),
            output_schema: schema(session),
            knows_schema: known,
        })
    }

    /// The terms of a request.
    pub(super) fn of_request(session: &Session) -> SourceResult<Self> {
        let items = (0..session.items.len()).collect::<Vec<_>>();
        Ok(Self {
            instructions: Some(instructions(session, &items)?),
            tools: Some(tools(&session.contract, session.items.len())),
            output_schema: schema(session),
            knows_schema: true,
        })
    }

    /// What of a request is not as it was recorded here.
    pub(super) fn differing(&self, request: &Self) -> Vec<Differing> {
        let mut all = Vec::new();
        let words = joined(request.instructions.iter().flatten().flatten());
        if let Some(recorded) = &self.instructions
            && !is_made_of(&words, recorded)
        {
            let recorded = nearest_instructions(recorded, &words);
            all.push(Differing::words(
                TermPart::of("instructions"),
                &recorded,
                &words,
            ));
        }
        if let (Some(recorded), Some(tools)) = (&self.tools, &request.tools) {
            all.extend(differing_tools(recorded, tools));
        }
        let is_other = match (&self.output_schema, &request.output_schema) {
            (Some(recorded), Some(request)) => !equal(recorded, request),
            (None, Some(_)) => self.knows_schema,
            (_, None) => false,
        };
        if is_other {
            let text = |schema: &Option<Value>| schema.as_ref().map(Value::to_string);
            let [one, other] = [self, request].map(|terms| text(&terms.output_schema));
            let (one, other) = (one.unwrap_or_default(), other.unwrap_or_default());
            all.push(Differing::words(
                TermPart::of("output-schema"),
                &one,
                &other,
            ));
        }
        all
    }
}

fn joined<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    texts.map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// The texts of the system among these items, those in a row as one group.
fn instructions(session: &Session, items: &[usize]) -> SourceResult<Vec<Vec<String>>> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    let mut last = None;
    for (place, index) in items.iter().enumerate() {
        let item = &session.items[*index];
        if item.kind != Kind::System {
            continue;
        }
        let text = words(&content(session, item)?);
        let text = without_tags(&text).into_owned();
        if text.is_empty() {
            continue;
        }
        match groups.last_mut() {
            Some(group) if last.is_some_and(|last| last + 1 == place) => group.push(text),
            _ => groups.push(vec![text]),
        }
        last = Some(place);
    }
    Ok(groups)
}

/// Whether the words of a request are those of a recording: all of them; where they changed on the way, some of
/// them in their order.
fn is_made_of(words: &str, groups: &[Vec<String>]) -> bool {
    if words == joined(groups.iter().flatten()) {
        return true;
    }
    if groups.len() < 2 {
        return false;
    }
    let mut rest = words;
    for text in groups.iter().flatten() {
        if rest == text {
            return true;
        }
        let after = rest.strip_prefix(text.as_str());
        rest = after
            .and_then(|after| after.strip_prefix('\n'))
            .unwrap_or(rest);
    }
    false
}

/// The words that a request most likely meant to repeat: all of them, or those of the group that begins alike.
fn nearest_instructions(groups: &[Vec<String>], words: &str) -> String {
    let alike = |text: &str| {
        let pairs = text.chars().zip(words.chars());
        pairs.take_while(|(one, other)| one == other).count()
    };
    let of_groups = groups.iter().map(|group| joined(group.iter()));
    let all = joined(groups.iter().flatten());
    let nearest = [all.clone()].into_iter().chain(of_groups);
    nearest.max_by_key(|text| alike(text)).unwrap_or(all)
}

/// The contract of a session without the tools that the reply at `at` says it had: a Response repeats those of
/// its request, with what the provider added to them.
fn without_tools_of_reply(session: &Session, at: usize) -> Contract {
    let at = index_number(at);
    let mut contract = session.contract.clone();
    let is_known = |set: &ToolSet| set.replaces && (set.from < at || at == 0);
    if contract.tool_sets.iter().any(is_known) {
        contract
            .tool_sets
            .retain(|set| !set.replaces || set.from < at || at == 0);
    }
    contract
}

/// The tools on offer, but for those that the provider runs.
fn tools(contract: &Contract, at: usize) -> BTreeMap<String, Value> {
    let tools = contract.tools_at(index_number(at));
    let tools = tools
        .into_iter()
        .filter(|tool| tool.kind != ToolKind::Hosted);
    tools
        .map(|tool| (name_for_all(&tool.name), spelled(tool)))
        .collect()
}

fn spelled(tool: &Tool) -> Value {
    let nothing = || json!({"type": "object", "properties": {}});
    let parameters = match tool.kind {
        // A dialect without free-form tools has a text in their place.
        ToolKind::Custom => json!(INPUT),
        _ if tool.parameters.as_ref().is_some_and(is_one_input) => json!(INPUT),
        _ => tool.parameters.clone().unwrap_or_else(nothing),
    };
    json!({"description": tool.description, "parameters": parameters})
}

/// What replaces the schema of a free-form tool.
const INPUT: &str = "a text";

/// The schema that `wire::request` gives a free-form tool where the dialect has none.
fn is_one_input(schema: &Value) -> bool {
    *schema
        == json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]})
}

fn schema(session: &Session) -> Option<Value> {
    let known = session.contract.output_schema.as_ref();
    known.map(|known| known.schema.clone())
}

fn differing_tools(
    recorded: &BTreeMap<String, Value>,
    request: &BTreeMap<String, Value>,
) -> Vec<Differing> {
    let names = recorded.keys().chain(request.keys());
    let names = names.collect::<std::collections::BTreeSet<_>>();
    let differing = names.into_iter().filter_map(|name| {
        let (one, other) = (recorded.get(name), request.get(name));
        if let (Some(one), Some(other)) = (one, other)
            && equal(one, other)
        {
            return None;
        }
        let text = |tool: Option<&Value>| tool.map_or_else(String::new, Value::to_string);
        let part = TermPart {
            tool: Some(name.clone()),
            ..TermPart::of("tool")
        };
        Some(Differing::words(part, &text(one), &text(other)))
    });
    differing.collect()
}

// What differs between a request and a recorded history, in words.

/// Most differences that are reported one by one.
const LISTED: usize = 12;
/// Unchanged words around changed ones.
const AROUND: usize = 4;
/// Longest text of one difference, in characters.
const LONGEST: usize = 600;

/// Something of a request that is not as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Differing {
    #[serde(flatten)]
    pub part: TermPart,
    pub how: TermChange,
    /// The words around the change: those that only the recording has as `[-words-]`, those that only the
    /// request has as `{+words+}`.
    pub words: String,
}

/// What of a request differs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TermPart {
    /// `instructions`, `output-schema` (that of the final output), `item` or `tool` (one on offer).
    #[serde(rename = "part")]
    pub what: &'static str,
    /// The number of the recorded item, from 1; of what only the request has, that of the item of the request.
    pub item: Option<usize>,
    /// What the item is, as `user`.
    pub kind: Option<&'static str>,
    pub tool: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum TermChange {
    Changed,
    /// The request does not have it.
    Missing,
    /// The recording does not have it.
    Added,
}

impl TermChange {
    pub fn word(self) -> &'static str {
        self.into()
    }
}

impl TermPart {
    pub(super) fn of(what: &'static str) -> Self {
        Self {
            what,
            ..Self::default()
        }
    }
}

impl fmt::Display for TermPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what.replace('-', " "))?;
        let Self {
            item, kind, tool, ..
        } = self;
        item.map_or(Ok(()), |item| write!(f, " {item}"))?;
        kind.map_or(Ok(()), |kind| write!(f, ", {kind}"))?;
        tool.as_ref().map_or(Ok(()), |tool| write!(f, " {tool}"))
    }
}

impl fmt::Display for Differing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, how, words } = self;
        match how {
            TermChange::Changed => write!(f, "{part}: {words}"),
            TermChange::Missing | TermChange::Added => write!(f, "{part}, {}: {words}", how.word()),
        }
    }
}

impl Differing {
    /// Two texts of one part; where one is empty, it is missing or added.
    pub(super) fn words(part: TermPart, recorded: &str, request: &str) -> Self {
        let how = match (recorded.is_empty(), request.is_empty()) {
            (true, false) => TermChange::Added,
            (false, true) => TermChange::Missing,
            _ => TermChange::Changed,
        };
        let words = changed_words(recorded, request);
        Self { part, how, words }
    }
}

/// The differences of two histories, and how many more there are than are reported.
pub(super) fn differing(recorded: &[HistoryEntry], request: &[HistoryEntry]) -> Vec<Differing> {
    let [before, after] = [recorded, request]
        .map(|entries| entries.iter().map(HistoryEntry::key).collect::<Vec<_>>());
    let operations = operations_of(&before, &after);
    let mut all = Vec::new();
    for operation in operations {
        if operation.tag() == DiffTag::Equal {
            continue;
        }
        let (old, new) = (
            &recorded[operation.old_range()],
            &request[operation.new_range()],
        );
        for place in 0..old.len().max(new.len()) {
            all.extend(pair(old.get(place), new.get(place)));
        }
    }
    all
}

fn pair(recorded: Option<&HistoryEntry>, request: Option<&HistoryEntry>) -> Vec<Differing> {
    let part = |entry: &HistoryEntry| TermPart {
        item: Some(entry.item + 1),
        kind: Some(entry.who.word()),
        ..TermPart::of("item")
    };
    match (recorded, request) {
        (Some(one), Some(other)) if one.who == other.who => {
            let (was, is) = (one.words(), other.words());
            if was != is {
                return vec![Differing::words(part(one), &was, &is)];
            }
            // The same words: an output of another call.
            let call = |entry: &HistoryEntry| match entry.answers {
                Some(call) => format!("answers call {}", call + 1),
                None => "answers no call".to_owned(),
            };
            vec![Differing::words(part(one), &call(one), &call(other))]
        }
        _ => {
            let gone = recorded.map(|one| Differing::words(part(one), &one.words(), ""));
            let new = request.map(|one| Differing::words(part(one), "", &one.words()));
            gone.into_iter().chain(new).collect()
        }
    }
}

/// Keeps what is reported one by one, and says how many more there are.
pub(super) fn listed(mut all: Vec<Differing>) -> (Vec<Differing>, usize) {
    let more = all.len().saturating_sub(LISTED);
    all.truncate(LISTED);
    (all, more)
}

/// The changed words of a text with a few unchanged ones around them.
fn changed_words(recorded: &str, request: &str) -> String {
    let [old, new] = [recorded, request].map(words_of);
    let groups = group_diff_ops(operations_of(&old, &new), AROUND);
    let mut out = String::new();
    for (number, group) in groups.iter().enumerate() {
        let starts = group.first().map_or(0, |first| first.old_range().start);
        if number > 0 || starts > 0 {
            out.push_str("… ");
        }
        for operation in group {
            show(operation, &old, &new, &mut out);
        }
        let ends = group.last().map_or(0, |last| last.old_range().end);
        if number + 1 == groups.len() && ends < old.len() {
            out.push_str(" …");
        }
        if out.len() > LONGEST {
            break;
        }
    }
    shortened(out.trim())
}

fn show(operation: &DiffOp, old: &[&str], new: &[&str], out: &mut String) {
    let text = |words: &[&str]| shortened(&words.concat());
    let (gone, come) = (&old[operation.old_range()], &new[operation.new_range()]);
    if operation.tag() == DiffTag::Equal {
        out.push_str(&gone.concat());
        return;
    }
    if !gone.is_empty() {
        out.push_str(&format!("[-{}-]", text(gone)));
    }
    if !come.is_empty() {
        out.push_str(&format!("{{+{}+}}", text(come)));
    }
}

/// A text in words; the space between two is a piece of its own, so that nothing gets lost.
fn words_of(text: &str) -> Vec<&str> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut words = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, character) in text.char_indices() {
        let kind = (is_word(character), character.is_whitespace());
        // Signs stand by themselves.
        if at > start && (last != Some(kind) || kind == (false, false)) {
            words.push(&text[start..at]);
            start = at;
        }
        last = Some(kind);
    }
    words.extend((start < text.len()).then(|| &text[start..]));
    words
}

/// The beginning and the end of a long text.
fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST {
        return text.to_owned();
    }
    let half = LONGEST / 2;
    let begin: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    format!("{begin} … {end}")
}
