//! From a spec to trials: recordings are read, findings chosen, wordings gathered, histories written. Nothing
//! is sent and nothing kept.

use super::error::{HistoryError, LabError};
use super::history::{RecordedFinding, TrialInput, histories};
use super::trial::identity;
use crate::wordings::{self, Wordings};
use crate::{ReadOptions, Recording, check_session, read_path, read_tools_file, tools_beside};
use retake_core::lab::{
    Experiment, LeftOut, MOST_CONCURRENCY, Meant, Named, Origin, RESERVED, Spec, Subject, Trial,
    Wanted, Which, WordingVariant, baseline_of, is_reserved,
};
use retake_core::rules::{Finding, Run, Severity, nearest_of};
use retake_core::session::Session;
use retake_core::session::takes::ContentDigest;
use retake_core::suggest::{self, SuggestionReason};
use retake_core::wording::{self, Channel, FailureKind};
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
        let wordings = sent.histories.rendered.iter();
        self.trials.push(Trial {
            subject: subject.clone(),
            model: label.to_owned(),
            is_scripted: sent.model.is_scripted(),
            variants: wordings.map(|wording| wording.variant.clone()).collect(),
        });
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
    check_names(&spec.wordings, beside.wordings)?;
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
    for (finding, subject) in &subjects(numbered, recording)? {
        let of_recording = RecordedFinding {
            recording,
            session: subject.session,
            finding,
        };
        let of_session = recording.sessions.get(subject.session as usize);
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

/// The findings that are meant, one for each call or message: of several faults of one, the most telling.
fn subjects(
    numbered: (usize, &Which),
    recording: &Recording,
) -> Result<Vec<(Finding, Subject)>, LabError> {
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
) -> Vec<(Finding, Subject)> {
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
        Some((finding, subject))
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

// The names in a spec, and what they name: the wordings for a kind of failure, and whether the tool that was
// meant is on offer.

/// Refuses names that no wording has, whatever the kind of failure, and words of the spec with a name that is
/// taken for every kind.
fn check_names(wanted: &Wanted, known: &Wordings) -> Result<(), LabError> {
    let mut names: Vec<&str> = { FailureKind::all().flat_map(|kind| known.of(kind)) }
        .map(|choice| choice.name)
        .chain(RESERVED.map(|reserved| reserved.name))
        .collect();
    names.sort_unstable();
    names.dedup();
    if let Named::These(wanted) = &wanted.named
        && let Some(name) = wanted.iter().find(|name| !names.contains(&name.as_str()))
    {
        let near = suggest::nearest(name, &names);
        let hint = near.first();
        let hint = hint.map(|near| format!("; did you mean `{}`?", near.name));
        return Err(LabError::NoWording {
            name: name.clone(),
            hint: hint.unwrap_or_default(),
        });
    }
    match wanted.added.iter().find(|added| is_reserved(&added.name)) {
        Some(added) => Err(LabError::NameTaken {
            name: added.name.clone(),
        }),
        None => Ok(()),
    }
}

/// Whether what the others are compared with is among the wordings for a kind of failure.
fn has_baseline(kind: FailureKind, wanted: &Wanted) -> bool {
    let baseline = baseline_of(kind).name;
    let is_named = match &wanted.named {
        Named::All => false,
        Named::These(names) => names.iter().any(|name| name == baseline),
    };
    wanted.recorded || is_named
}

/// The wordings for a kind of failure, besides the baseline. `notes` learns what is left out.
fn words_for(
    kind: FailureKind,
    wanted: &Wanted,
    known: &Wordings,
    notes: &mut Vec<String>,
) -> Result<Vec<WordingVariant>, LabError> {
    let mut note = |text: String| {
        if !notes.contains(&text) {
            notes.push(text);
        }
    };
    let choices = known.of(kind);
    let named: Vec<wordings::WordingChoice<'_>> = match &wanted.named {
        Named::All => choices,
        Named::These(names) => {
            for name in names.iter().filter(|name| !is_reserved(name)) {
                if choices.iter().all(|choice| choice.name != name) {
                    let kind = kind.name();
                    note(format!(
                        "{name} is not a wording for {kind}: it is left out there"
                    ));
                }
            }
            let found = names.iter().filter_map(|name| known.find(kind, name));
            found.collect()
        }
    };
    let mut words: Vec<WordingVariant> = Vec::new();
    for choice in named {
        if is_reserved(choice.name) {
            note(format!(
                "your own wording {} is left out: the name is taken",
                choice.name
            ));
        } else if words.iter().all(|known| known.name != choice.name) {
            words.push(variant_of(kind, &choice));
        }
    }
    for added in &wanted.added {
        if words.iter().any(|known| known.name == added.name) {
            let name = added.name.clone();
            return Err(LabError::NameTaken { name });
        }
        words.push(WordingVariant {
            channel: added.channel,
            ..WordingVariant::new(&added.name, &added.name, Origin::Spec, added.text.clone())
        });
    }
    Ok(words)
}

/// A wording of the library or of the operator's own, before it is put into a history.
pub fn variant_of(kind: FailureKind, choice: &wordings::WordingChoice<'_>) -> WordingVariant {
    let of_library = wording::find(kind, choice.name);
    let of_library = of_library.filter(|wording| wording.template == choice.template);
    let axes = of_library.map(|wording| wording.axes);
    let origin = match of_library {
        Some(_) => Origin::Library,
        None => Origin::Own,
    };
    WordingVariant {
        channel: axes.map_or(Channel::ErrorOutput, |axes| axes.channel),
        axes,
        ..WordingVariant::new(
            choice.name,
            choice.title,
            origin,
            choice.template.to_owned(),
        )
    }
}

/// That the tool that is meant is not on offer, so that no turn can count as corrected.
fn not_offered(which: &Which, session: &Session, finding: &Finding) -> Option<String> {
    let meant = which.meant.as_deref()?;
    let item = finding.item?;
    let run = Run::new(session, None);
    let offered = run.offered(item as usize)?.callable();
    let near = suggest::nearest(meant, &offered);
    let is_same = near
        .iter()
        .any(|near| near.why == SuggestionReason::SameTool);
    if is_same || offered.contains(&meant) {
        return None;
    }
    let hint = match near.first() {
        Some(near) => format!("did you mean {}?", near.name),
        None => format!("there are {}", offered.join(", ")),
    };
    let (path, item) = (&which.path, item + 1);
    Some(format!(
        "{path}: item {item}: {meant}, which is meant, is not on offer; {hint}"
    ))
}
