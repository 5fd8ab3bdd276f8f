//! Reads a spec.

use super::keys::{CHANNELS, SpecPlace};
use super::reader::{Reader, Section, SpecFaults, names};
use super::{Added, Assertion, Named, Spec, Wanted, Which};
use crate::config::{self, ConfigError};
use crate::engine::agent::{Agent, Beside, Endpoint, MODEL_KEYS, Model};
use crate::lab::{Caps, Stop, USUAL_CONCURRENCY, USUAL_SAMPLES};
use crate::rules::RULES;
use crate::wording::{Channel, check};
use toml::de::DeTable;

/// How often an early end may be wrong where nothing else is said.
const ERROR_RATE: f64 = 0.05;
/// Where the order comes from where nothing else is said.
const SEED: u64 = 1;

pub(super) fn parse(text: &str, mut beside: Beside<'_>) -> Result<Spec, SpecFaults> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader {
        text,
        faults: Vec::new(),
    };
    for error in errors {
        let at = error.span().map_or(0, |span| span.start);
        reader.tell(at, error.message().to_owned(), None);
    }
    if reader.faults.is_empty() {
        let file = Section {
            place: SpecPlace::Spec,
            at: 0,
            table: table.get_ref(),
        };
        let spec = spec(&mut reader, file, &mut beside);
        if let (Some(spec), true) = (spec, reader.faults.is_empty()) {
            return Ok(spec);
        }
    }
    Err(reader.told().unwrap_or_else(SpecFaults::unreadable))
}

fn spec(reader: &mut Reader<'_>, file: Section<'_>, beside: &mut Beside<'_>) -> Option<Spec> {
    reader.only(file);
    for key in ["name", "finding", "model"] {
        reader.missing(file, key);
    }
    Some(Spec {
        findings: {
            reader
                .sections(file, "finding", SpecPlace::Finding)
                .into_iter()
        }
        .filter_map(|section| which(reader, section))
        .collect(),
        wordings: wanted(reader, file),
        models: { reader.sections(file, "model", SpecPlace::Spec).into_iter() }
            .filter_map(|section| model(reader, section, beside))
            .collect(),
        samples: reader.count(file, "samples").unwrap_or(USUAL_SAMPLES),
        stop: stop(reader, file),
        caps: Caps {
            requests: reader.count(file, "max_requests"),
            tokens: reader.amount(file, "max_tokens"),
        },
        concurrency: { reader.count(file, "concurrency") }.unwrap_or(USUAL_CONCURRENCY),
        seed: reader.whole(file, "seed").unwrap_or(SEED),
        assertions: {
            reader
                .sections(file, "assert", SpecPlace::Assert)
                .into_iter()
        }
        .filter_map(|section| assertion(reader, section))
        .collect(),
        name: reader.text(file, "name")?,
    })
}

fn stop(reader: &mut Reader<'_>, file: Section<'_>) -> Stop {
    let is_clear = reader.one_of(file, "stop", |value| match value.as_str()? {
        "never" => Some(false),
        "clear" => Some(true),
        _ => None,
    });
    let error_rate = reader.rate(file, "error_rate");
    if is_clear == Some(true) {
        let error_rate = error_rate.unwrap_or(ERROR_RATE);
        return Stop::Clear { error_rate };
    }
    let is_told = is_clear.is_none() && file.table.contains_key("stop");
    if let Some(node) = file.table.get("error_rate").filter(|_| !is_told) {
        let what = "`error_rate` means nothing without stop = \"clear\"".to_owned();
        reader.tell(node.span().start, what, None);
    }
    Stop::Never
}

fn which(reader: &mut Reader<'_>, section: Section<'_>) -> Option<Which> {
    reader.only(section);
    reader.missing(section, "path");
    let rule = reader.text_at(section, "rule");
    if let Some((rule, at)) = rule {
        let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        if !ids.contains(&rule) {
            let what = format!("`{rule}` is no rule");
            reader.unknown(at, what, rule, &ids);
        }
    }
    Some(Which {
        session: reader.count(section, "session"),
        item: reader.count(section, "item"),
        rule: rule.map(|(rule, _)| rule.to_owned()),
        meant: reader.text(section, "meant"),
        tools: reader.text(section, "tools"),
        path: reader.text(section, "path")?,
    })
}

fn wanted(reader: &mut Reader<'_>, file: Section<'_>) -> Wanted {
    let Some(section) = reader.section(file, "wordings", SpecPlace::Wordings) else {
        return Wanted {
            recorded: true,
            named: Named::All,
            added: Vec::new(),
        };
    };
    reader.only(section);
    let mut added: Vec<Added> = Vec::new();
    for table in reader.sections(section, "add", SpecPlace::Added) {
        let Some(words) = own_words(reader, table) else {
            continue;
        };
        if added.iter().any(|known| known.name == words.name) {
            let what = format!("a wording `{}` stands here twice", words.name);
            reader.tell(
                table.at,
                what,
                Some("give each a name of its own".to_owned()),
            );
        }
        added.push(words);
    }
    Wanted {
        recorded: reader.flag(section, "recorded").unwrap_or(true),
        named: reader.one_of(section, "named", names).unwrap_or(Named::All),
        added,
    }
}

fn own_words(reader: &mut Reader<'_>, section: Section<'_>) -> Option<Added> {
    reader.only(section);
    for key in ["name", "text"] {
        reader.missing(section, key);
    }
    let text = reader.text_at(section, "text");
    if let Some((text, at)) = text
        && let Err(fault) = check(text)
    {
        let line = fault.line_in_toml(reader.text, at);
        let what = format!("the template, {fault}");
        let hint = None;
        reader.faults.push(super::SpecFault { line, what, hint });
    }
    let channel = reader.one_of(section, "channel", |value| {
        let word = value.as_str()?;
        let known = CHANNELS.iter().find(|(_, known)| *known == word)?;
        Some(known.0)
    });
    Some(Added {
        name: reader.text(section, "name")?,
        text: text?.0.to_owned(),
        channel: channel.unwrap_or(Channel::ErrorOutput),
    })
}

fn assertion(reader: &mut Reader<'_>, section: Section<'_>) -> Option<Assertion> {
    reader.only(section);
    reader.missing(section, "wording");
    let asks = ["at_least", "better_than"];
    if !asks.iter().any(|key| section.table.contains_key(*key)) {
        let what = "[[assert]] asks for nothing".to_owned();
        let hint = "write `at_least` or `better_than`".to_owned();
        reader.tell(section.at, what, Some(hint));
    }
    Some(Assertion {
        at_least: reader.rate(section, "at_least"),
        better_than: reader.text(section, "better_than"),
        model: reader.text(section, "model"),
        wording: reader.text(section, "wording")?,
    })
}

/// A model with the keys of `[model]`, or that of an agent file.
fn model(reader: &mut Reader<'_>, section: Section<'_>, beside: &mut Beside<'_>) -> Option<Model> {
    if section.table.contains_key("agent") {
        return model_of_agent(reader, section, beside);
    }
    let model = config::read_table(
        reader.text,
        section.at,
        section.table,
        &MODEL_KEYS,
        |table, checker| Model::of_section(table, checker, beside),
    );
    match model {
        Ok(model) => Some(model),
        Err(errors) => {
            for ConfigError { line, text } in errors.errors {
                let (what, hint) = (text, None);
                reader.faults.push(super::SpecFault { line, what, hint });
            }
            None
        }
    }
}

fn model_of_agent(
    reader: &mut Reader<'_>,
    section: Section<'_>,
    beside: &mut Beside<'_>,
) -> Option<Model> {
    for (key, _) in { section.table.iter() }.filter(|(key, _)| key.get_ref() != "agent") {
        let what = format!("`agent` and `{}` exclude each other", key.get_ref());
        reader.tell(key.span().start, what, None);
    }
    let node = section.table.get("agent")?;
    let at = node.span().start;
    let Some(path) = node.get_ref().as_str().filter(|path| !path.is_empty()) else {
        let what = "`agent` wants the name of an agent file".to_owned();
        reader.tell(at, what, None);
        return None;
    };
    let text = match (beside.file)(path) {
        Ok(text) => text,
        Err(why) => {
            let hint = "files are looked for beside the spec".to_owned();
            reader.tell(at, format!("`agent`: {path}: {why}"), Some(hint));
            return None;
        }
    };
    let mut file = |name: &str| (beside.file)(&beside_of(path, name));
    let parsed = Agent::parse(
        &text,
        Beside {
            file: &mut file,
            wording: beside.wording,
        },
    );
    match parsed {
        Ok(agent) => Some(moved(agent.model, path)),
        Err(faults) => {
            for fault in faults.errors {
                reader.tell(at, format!("`agent`: {path}: {fault}"), None);
            }
            None
        }
    }
}

/// A model of an agent file, as seen from the spec.
fn moved(mut model: Model, agent: &str) -> Model {
    if let Endpoint::Script { file, .. } = &mut model.at {
        *file = beside_of(agent, file);
    }
    model
}

/// A file beside an agent file, as seen from the spec.
fn beside_of(agent: &str, name: &str) -> String {
    let is_absolute = name.starts_with(['/', '\\']) || name.get(1..2) == Some(":");
    match agent.rfind(['/', '\\']) {
        Some(end) if !is_absolute => format!("{}{name}", &agent[..=end]),
        _ => name.to_owned(),
    }
}
