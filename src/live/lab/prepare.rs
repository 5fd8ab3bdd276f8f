//! From a spec to trials: recordings are read, findings chosen, wordings gathered, histories written. Nothing
//! is sent and nothing kept.

use super::history::{RecordedFinding, TrialInput, histories};
use super::journal::identity;
use super::messages::{HistoryError, LabError};
use super::wanted::{check, has_baseline, not_offered, words_for};
use crate::wordings::Wordings;
use crate::{ReadOptions, Recording, check_session, read_path, read_tools_file, tools_beside};
use retake_core::lab::{
    Experiment, LeftOut, MOST_CONCURRENCY, Meant, Spec, Subject, Trial, Variant, Which,
};
use retake_core::rules::{Finding, Run, Severity, nearest_of};
use retake_core::session::Session;
use retake_core::session::takes::{ContentDigest, TakeId};
use retake_core::wording::FailureKind;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a spec does not say itself.
#[derive(Debug, Clone, Copy)]
pub struct LabContext<'a> {
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
pub struct PreparedLab {
    /// What is measured; the takes of its variants are known once it has begun.
    pub experiment: Experiment,
    /// What the operator should know; it holds text from outside.
    pub notes: Vec<String>,
    pub(super) trials: Vec<TrialInput>,
    pub(super) journals: PathBuf,
    pub(super) is_fresh: bool,
}

/// What was found for an experiment so far.
#[derive(Default)]
struct FoundTrials {
    trials: Vec<Trial>,
    sent: Vec<TrialInput>,
    /// By what the answers of each trial mean: a spec may name the same finding twice.
    known: HashSet<ContentDigest>,
    left_out: Vec<LeftOut>,
    /// Why something was left out, the last time.
    reason: Option<LabError>,
    notes: Vec<String>,
}

impl FoundTrials {
    /// Adds a trial, unless the spec has it already.
    fn add(&mut self, subject: &Subject, label: &str, mut sent: TrialInput) {
        if !self
            .known
            .insert(identity(&sent, subject, &sent.histories.base))
        {
            let (path, item) = (&subject.path, subject.item + 1);
            let note = format!(
                "{path}: item {item} with {label} is in the spec already: it is tried once"
            );
            return self.notes.push(note);
        }
        self.notes.append(&mut sent.histories.notes);
        self.trials.push(trial(subject, label, &sent));
        self.sent.push(sent);
    }

    fn leave_out(&mut self, subject: &Subject, label: &str, error: HistoryError) {
        let (path, item, why) = (&subject.path, subject.item + 1, error.to_string());
        self.notes
            .push(format!("left out: {path}: item {item} with {label}: {why}"));
        self.left_out.push(LeftOut {
            subject: subject.clone(),
            model: label.to_owned(),
            why,
            is_all: false,
        });
        self.reason = Some(LabError::History {
            path: path.clone(),
            item,
            error,
        });
    }
}

pub fn prepare(spec: &Spec, beside: LabContext<'_>) -> Result<PreparedLab, LabError> {
    check(&spec.wordings, beside.wordings)?;
    let mut found = FoundTrials::default();
    let mut recordings = HashMap::new();
    for (number, which) in spec.findings.iter().enumerate() {
        let recording = recording_of(which, beside.folder, &mut recordings)?;
        let before = found.left_out.len();
        let numbered = (number, which);
        let is_tried = try_all(&mut found, spec, beside.wordings, (numbered, &recording))?;
        for left_out in &mut found.left_out[before..] {
            left_out.is_all = !is_tried;
        }
    }
    if found.trials.is_empty() {
        return Err(found.reason.unwrap_or(LabError::Nothing));
    }
    let concurrency = concurrency(spec.concurrency, &mut found.notes);
    found.notes.dedup();
    Ok(PreparedLab {
        experiment: Experiment {
            name: spec.name.clone(),
            trials: found.trials,
            left_out: found.left_out,
            samples: spec.samples,
            stop: spec.stop,
            caps: spec.caps,
            concurrency,
            seed: spec.seed,
        },
        notes: found.notes,
        trials: found.sent,
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

/// Tries the findings that are meant with each model; says whether one of them can be tried.
fn try_all(
    found: &mut FoundTrials,
    spec: &Spec,
    known: &Wordings,
    (numbered, recording): ((usize, &Which), &Arc<Recording>),
) -> Result<bool, LabError> {
    let mut is_tried = false;
    for (session, finding, subject) in &subjects(numbered, recording)? {
        let of_recording = RecordedFinding {
            recording,
            session: *session,
            finding,
        };
        let of_session = recording.sessions.get(*session as usize);
        let not_offered = of_session.and_then(|session| not_offered(numbered.1, session, finding));
        found.notes.extend(not_offered);
        let words = words_for(subject.kind, &spec.wordings, known, &mut found.notes)?;
        let has_baseline = has_baseline(subject.kind, &spec.wordings);
        for (model, label) in spec.models.iter().zip(spec.model_labels()) {
            let histories = match histories(of_recording, model.dialect, &words, has_baseline) {
                Ok(histories) => histories,
                Err(error) => {
                    found.leave_out(subject, &label, error);
                    continue;
                }
            };
            is_tried = true;
            let model = model.clone();
            found.add(subject, &label, TrialInput { histories, model });
        }
    }
    Ok(is_tried)
}

fn trial(subject: &Subject, label: &str, sent: &TrialInput) -> Trial {
    let variants = sent.histories.rendered.iter().map(|wording| Variant {
        name: wording.words.name.clone(),
        title: wording.words.title.clone(),
        origin: wording.words.origin,
        template: wording.words.template.clone(),
        channel: wording.words.channel,
        axes: wording.words.axes,
        words: wording.rendered.clone(),
        take: TakeId::MAIN,
    });
    Trial {
        subject: subject.clone(),
        model: label.to_owned(),
        is_scripted: sent.model.is_scripted(),
        variants: variants.collect(),
    }
}

/// The recording, with its tools.
fn recording_of(
    which: &Which,
    folder: &Path,
    known: &mut HashMap<(String, Option<String>), Arc<Recording>>,
) -> Result<Arc<Recording>, LabError> {
    let key = (which.path.clone(), which.tools.clone());
    if let Some(recording) = known.get(&key) {
        return Ok(recording.clone());
    }
    let path = folder.join(&which.path);
    let recording = read_path(&path, &ReadOptions::default());
    let mut recording = recording.map_err(|error| LabError::NoRecording {
        path: which.path.clone(),
        error,
    })?;
    let given = match &which.tools {
        Some(tools) => {
            let read = read_tools_file(&folder.join(tools));
            Some(read.map_err(|reason| LabError::NoTools {
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
fn subjects(numbered: (usize, &Which), recording: &Recording) -> Result<Vec<Chosen>, LabError> {
    let (_, which) = numbered;
    let mut chosen = Vec::new();
    for (number, session) in (1..).zip(&recording.sessions) {
        if which.session.is_some_and(|wanted| wanted != number) {
            continue;
        }
        let findings = check_session(session, None).map_err(|error| LabError::NoRecording {
            path: which.path.clone(),
            error: error.into(),
        })?;
        chosen.extend(of_session(numbered, session, number - 1, findings));
    }
    match chosen.is_empty() {
        true => Err(LabError::NoFinding {
            path: which.path.clone(),
            item: which.item,
            rule: which.rule.clone(),
        }),
        false => Ok(chosen),
    }
}

fn of_session(
    (of_spec, which): (usize, &Which),
    session: &Session,
    number: u32,
    findings: Vec<Finding>,
) -> Vec<Chosen> {
    let run = Run::new(session, None);
    let is_meant = |finding: &Finding| {
        let item = finding.item.map(|item| item + 1);
        let rank = FailureKind::of_rule(finding.rule.id);
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
    meant.sort_by_key(|finding| FailureKind::of_rule(finding.rule.id));
    let mut taken = BTreeSet::new();
    meant.retain(|finding| {
        let item = finding.item.unwrap_or_default() as usize;
        let partner = session.pairing.partner(item).unwrap_or(item);
        taken.insert(item.min(partner))
    });
    meant.sort_by_key(|finding| finding.item);
    let chosen = meant.into_iter().filter_map(|finding| {
        let kind = FailureKind::of_rule(finding.rule.id)?;
        let item = finding.item?;
        let subject = Subject {
            finding: of_spec,
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
    (finding, kind): (&Finding, FailureKind),
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
        // The nearest comes first.
        Some(nearest) => Meant::Tool(nearest.split(", ").next().unwrap_or(nearest).to_owned()),
        None => Meant::AnyTool,
    };
    match kind {
        FailureKind::UnknownTool => nearest(),
        FailureKind::MalformedArguments
        | FailureKind::InvalidArguments
        | FailureKind::MissingOutput
        | FailureKind::ToolError
        | FailureKind::LeakedCall => match tool() {
            tool if !tool.is_empty() && offers(&tool) => Meant::Tool(tool),
            _ => nearest(),
        },
        FailureKind::RepeatedCall | FailureKind::CutOff => Meant::Otherwise,
        FailureKind::InvalidFinalOutput | FailureKind::MissingFinalOutput => Meant::Message,
    }
}
