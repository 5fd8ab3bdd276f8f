//! From a spec to trials: recordings are read, findings chosen, wordings gathered, histories written. Nothing is sent and nothing kept.

use super::NoLab;
use super::history::{Found, Histories, RECORDED, Words, histories};
use crate::engine::agent::Model;
use crate::lab::{
    Experiment, MOST_CONCURRENCY, Meant, Named, Origin, Spec, Subject, Trial, Variant, Wanted,
    Which,
};
use crate::rules::{Finding, Run, Severity, nearest_of};
use crate::runtime::wordings::{self, Wordings};
use crate::runtime::{
    ReadOptions, Recording, check_session, read_path, read_tools_file, tools_beside,
};
use crate::session::Session;
use crate::session::takes::TakeId;
use crate::wording::{self, Channel, Kind};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a spec does not say itself.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a> {
    /// Where the files that the spec names are looked for.
    pub folder: &'a Path,
    /// The library with the operator's own wordings.
    pub wordings: &'a Wordings,
    /// The folder of the journals of the trials.
    pub journals: &'a Path,
    /// Whether journals of the same trials that are there already are left alone, and new ones begun.
    pub is_fresh: bool,
}

/// An experiment that can begin.
#[derive(Debug)]
pub struct Prepared {
    /// What is measured; the takes of its variants are known once it has begun.
    pub experiment: Experiment,
    /// What the operator should know; it holds text from outside.
    pub notes: Vec<String>,
    pub(super) trials: Vec<Sent>,
    pub(super) journals: PathBuf,
    pub(super) is_fresh: bool,
}

/// What is sent in a trial, and to whom.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) histories: Histories,
    pub(super) model: Model,
}

/// Prepares an experiment.
pub fn prepare(spec: &Spec, beside: Beside<'_>) -> Result<Prepared, NoLab> {
    let mut notes = Vec::new();
    let mut trials = Vec::new();
    let mut sent = Vec::new();
    let mut left_out = Vec::new();
    let mut recordings = HashMap::new();
    for which in &spec.findings {
        let recording = recording_of(which, beside.folder, &mut recordings)?;
        let subjects = subjects(which, &recording)?;
        for (session, finding, subject) in &subjects {
            let found = Found {
                recording: &recording,
                session: *session,
                finding,
            };
            let words = words_for(subject.kind, &spec.wordings, beside.wordings);
            for model in &spec.models {
                let mut histories = match histories(found, model.dialect, &words) {
                    Ok(histories) => histories,
                    Err(error) => {
                        left_out.push(NoLab::NoHistory {
                            path: which.path.clone(),
                            item: subject.item + 1,
                            error,
                        });
                        continue;
                    }
                };
                if !spec.wordings.recorded {
                    histories
                        .told
                        .retain(|told| told.words.origin != Origin::Recorded);
                }
                notes.append(&mut histories.notes);
                trials.push(trial(subject, model, &histories));
                sent.push(Sent {
                    histories,
                    model: model.clone(),
                });
            }
        }
    }
    if trials.is_empty() {
        return Err(left_out.pop().unwrap_or(NoLab::Nothing));
    }
    notes.extend(left_out.iter().map(|why| format!("left out: {why}")));
    notes.dedup();
    Ok(Prepared {
        experiment: Experiment {
            name: spec.name.clone(),
            trials,
            samples: spec.samples,
            stop: spec.stop,
            caps: spec.caps,
            concurrency: concurrency(spec.concurrency, &mut notes),
            seed: spec.seed,
        },
        notes,
        trials: sent,
        journals: beside.journals.to_owned(),
        is_fresh: beside.is_fresh,
    })
}

/// How many requests are on their way at once.
fn concurrency(wanted: u32, notes: &mut Vec<String>) -> u32 {
    if wanted > MOST_CONCURRENCY {
        notes.push(format!(
            "{MOST_CONCURRENCY} requests are on their way at once at most, not {wanted}"
        ));
    }
    wanted.clamp(1, MOST_CONCURRENCY)
}

fn trial(subject: &Subject, model: &Model, histories: &Histories) -> Trial {
    let variants = histories.told.iter().map(|told| Variant {
        name: told.words.name.clone(),
        title: told.words.title.clone(),
        origin: told.words.origin,
        template: told.words.template.clone(),
        channel: told.words.channel,
        axes: told.words.axes,
        words: told.rendered.clone(),
        take: TakeId::MAIN,
    });
    Trial {
        subject: subject.clone(),
        model: model.name.clone(),
        is_scripted: model.is_scripted(),
        variants: variants.collect(),
    }
}

/// The recording, with its tools.
fn recording_of(
    which: &Which,
    folder: &Path,
    known: &mut HashMap<(String, Option<String>), Arc<Recording>>,
) -> Result<Arc<Recording>, NoLab> {
    let key = (which.path.clone(), which.tools.clone());
    if let Some(recording) = known.get(&key) {
        return Ok(recording.clone());
    }
    let path = folder.join(&which.path);
    let recording = read_path(&path, &ReadOptions::default());
    let mut recording = recording.map_err(|error| NoLab::NoRecording {
        path: which.path.clone(),
        error,
    })?;
    let given = match &which.tools {
        Some(tools) => {
            let read = read_tools_file(&folder.join(tools));
            Some(read.map_err(|reason| NoLab::NoTools {
                path: tools.clone(),
                reason,
            })?)
        }
        None => None,
    };
    let found = match given {
        Some(_) => None,
        None => tools_beside(&path).map(|(_, tools)| tools),
    };
    for session in &mut recording.sessions {
        let contract = &mut session.contract;
        contract.supplement(given.as_deref(), found.as_deref(), None);
    }
    let recording = Arc::new(recording);
    known.insert(key, recording.clone());
    Ok(recording)
}

/// A finding with its session.
type Chosen = (u32, Finding, Subject);

/// The findings that are meant, one for each call or message: of several faults of one, the most telling.
fn subjects(which: &Which, recording: &Recording) -> Result<Vec<Chosen>, NoLab> {
    let mut chosen = Vec::new();
    for (number, session) in (1..).zip(&recording.sessions) {
        if which.session.is_some_and(|wanted| wanted != number) {
            continue;
        }
        let findings = check_session(session, None).map_err(|error| NoLab::NoRecording {
            path: which.path.clone(),
            error: error.into(),
        })?;
        chosen.extend(of_session(which, session, number - 1, findings));
    }
    match chosen.is_empty() {
        true => Err(NoLab::NoFinding {
            path: which.path.clone(),
            item: which.item,
            rule: which.rule.clone(),
        }),
        false => Ok(chosen),
    }
}

fn of_session(
    which: &Which,
    session: &Session,
    number: u32,
    findings: Vec<Finding>,
) -> Vec<Chosen> {
    let run = Run::new(session, None);
    let is_meant = |finding: &Finding| {
        let item = finding.item.map(|item| item + 1);
        let rank = Kind::of_rule(finding.rule.id);
        rank.is_some()
            && finding.severity >= Severity::Warning
            && item.is_some()
            && which.item.is_none_or(|wanted| item == Some(wanted))
            && which
                .rule
                .as_deref()
                .is_none_or(|wanted| wanted == finding.rule.id)
    };
    let mut meant: Vec<Finding> = findings
        .iter()
        .filter(|one| is_meant(one))
        .cloned()
        .collect();
    meant.sort_by_key(|finding| Kind::of_rule(finding.rule.id));
    let mut taken = BTreeSet::new();
    meant.retain(|finding| {
        let item = finding.item.unwrap_or_default() as usize;
        let partner = session.pairing.partner(item).unwrap_or(item);
        taken.insert(item.min(partner))
    });
    meant.sort_by_key(|finding| finding.item);
    let chosen = meant.into_iter().filter_map(|finding| {
        let kind = Kind::of_rule(finding.rule.id)?;
        let item = finding.item?;
        let subject = Subject {
            path: which.path.clone(),
            session: number,
            item,
            rule: finding.rule.id.to_owned(),
            kind,
            tool: finding.tool(session).unwrap_or_default().to_owned(),
            meant: meant_by(which, &run, (&finding, kind), &findings),
        };
        Some((number, finding, subject))
    });
    chosen.collect()
}

/// What a corrected turn does.
fn meant_by(
    which: &Which,
    run: &Run<'_>,
    (finding, kind): (&Finding, Kind),
    findings: &[Finding],
) -> Meant {
    let session = run.session;
    if let Some(tool) = &which.meant {
        return Meant::Tool(tool.clone());
    }
    let tool = || finding.tool(session).unwrap_or_default().to_owned();
    let offers = |name: &str| {
        let item = finding.item.unwrap_or_default() as usize;
        run.offered(item)
            .is_none_or(|offered| offered.callable().contains(&name))
    };
    let nearest = || match nearest_of(session, findings, finding) {
        // The nearest stands first.
        Some(nearest) => Meant::Tool(nearest.split(", ").next().unwrap_or(nearest).to_owned()),
        None => Meant::AnyTool,
    };
    match kind {
        Kind::UnknownTool => nearest(),
        Kind::MalformedArguments
        | Kind::InvalidArguments
        | Kind::MissingOutput
        | Kind::ToolError
        | Kind::LeakedCall => match tool() {
            tool if !tool.is_empty() && offers(&tool) => Meant::Tool(tool),
            _ => nearest(),
        },
        Kind::RepeatedCall | Kind::CutOff => Meant::Otherwise,
        Kind::InvalidFinalOutput | Kind::MissingFinalOutput => Meant::Message,
    }
}

/// The wordings for a kind of failure, besides that of the recording.
fn words_for(kind: Kind, wanted: &Wanted, known: &Wordings) -> Vec<Words> {
    let of = |choice: wordings::Choice<'_>| {
        let of_library = wording::find(kind, choice.name);
        let of_library = of_library.filter(|wording| wording.template == choice.template);
        let axes = of_library.map(|wording| wording.axes);
        Words {
            name: choice.name.to_owned(),
            title: choice.title.to_owned(),
            origin: match of_library {
                Some(_) => Origin::Library,
                None => Origin::Own,
            },
            template: choice.template.to_owned(),
            channel: axes.map_or(Channel::ErrorOutput, |axes| axes.channel),
            axes,
        }
    };
    let named: Vec<Words> = match &wanted.named {
        Named::All => known.of(kind).into_iter().map(of).collect(),
        Named::These(names) => {
            let found = names.iter().filter_map(|name| known.find(kind, name));
            found.map(of).collect()
        }
    };
    let added = wanted.added.iter().map(|added| Words {
        name: added.name.clone(),
        title: added.name.clone(),
        origin: Origin::Spec,
        template: added.text.clone(),
        channel: added.channel,
        axes: None,
    });
    let mut words: Vec<Words> = Vec::new();
    for one in named.into_iter().chain(added) {
        if words.iter().all(|known| known.name != one.name) && one.name != RECORDED {
            words.push(one);
        }
    }
    words
}
