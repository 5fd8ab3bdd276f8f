//! The histories of a trial: the recording up to the failing turn, once for each wording, as requests in the
//! dialect of the model.

use super::error::HistoryError;
use crate::{Input, InputError, Recording, TakeError, TakeStore, check_session, read_written};
use retake_core::actions::{self, ActionInput, context};
use retake_core::engine::agent::AgentModel;
use retake_core::lab::{FailedCall, Origin, PLAIN, RECORDED, WordingVariant};
use retake_core::rules::{Finding, Run, beside};
use retake_core::session::takes::{Take, TakeId};
use retake_core::session::{Dialect, Edit, Kind as ItemKind, Session, Span, index_number};
use retake_core::wire::body_of;
use retake_core::wording::{self, Channel, FailureKind};
use std::sync::Arc;

/// The action that gives a call an error to read.
const INJECT: &str = "inject-error";
/// The action that asks for a turn again.
const RETRY: &str = "retry";

/// A history that ends on a question to the model.
#[derive(Debug, Clone)]
pub(super) struct RenderedWording {
    pub(super) variant: WordingVariant,
    /// Id of the action that put its words there.
    pub(super) action: &'static str,
    /// The request, without the settings of a model.
    pub(super) text: Vec<u8>,
}

/// What is sent in a trial.
#[derive(Debug, Clone)]
pub(super) struct Histories {
    /// Id of the format of the requests.
    pub(super) format: String,
    /// The history as it was recorded, up to the end of the failing turn.
    pub(super) base: Vec<u8>,
    /// The item of the finding there.
    pub(super) item: u32,
    /// The call of the finding.
    pub(super) failed: Option<FailedCall>,
    pub(super) rendered: Vec<RenderedWording>,
    /// What cannot be rendered, and what was left out; it holds text from outside.
    pub(super) notes: Vec<String>,
}

/// What is sent in a trial, and to whom.
#[derive(Debug)]
pub(super) struct TrialInput {
    pub(super) histories: Histories,
    pub(super) model: AgentModel,
}

/// The finding of a recording that a trial is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedFinding<'a> {
    pub(super) recording: &'a Arc<Recording>,
    pub(super) session: u32,
    pub(super) finding: &'a Finding,
}

/// The failing turn, in a request in the dialect of the model.
struct Stage {
    store: TakeStore,
    request: TakeId,
    recording: Recording,
    findings: Vec<Finding>,
    /// Index of the finding.
    own: usize,
}

/// Writes the histories of a trial with a model of this dialect: first that of the baseline,
/// where it is wanted.
pub(super) fn histories(
    found: RecordedFinding<'_>,
    dialect: Dialect,
    wordings: &[WordingVariant],
    has_baseline: bool,
) -> Result<Histories, HistoryError> {
    let mut stage = Stage::set(found, dialect)?;
    let mut notes = Vec::new();
    let base = stage.cut(&mut notes)?;
    let base = stage.text_with(&base)?;
    let mut rendered = Vec::new();
    let first = stage.recorded().or_else(|| stage.plain());
    let first = first.filter(|_| has_baseline);
    for words in first.iter().chain(wordings) {
        match stage.tell(words) {
            Ok(history) => rendered.push(history),
            Err(error) => notes.push(format!("{} is left out: {error}", words.name)),
        }
    }
    if rendered.is_empty() {
        let none = || "none of those that are named is for this kind of failure".to_owned();
        return Err(HistoryError::Nothing(notes.pop().unwrap_or_else(none)));
    }
    Ok(Histories {
        format: dialect.facts().format.to_owned(),
        base,
        item: stage.finding().item.unwrap_or_default(),
        failed: FailedCall::of(stage.session()?, stage.finding()).map_err(TakeError::from)?,
        rendered,
        notes,
    })
}

impl Stage {
    /// Writes the recording as a request and finds the finding there again.
    fn set(found: RecordedFinding<'_>, dialect: Dialect) -> Result<Self, HistoryError> {
        let (mut store, _) = TakeStore::open(
            found.recording.clone(),
            None,
            None,
            crate::takes::wall_clock,
        );
        let request = store.as_request(found.session, dialect, &[])?;
        let recording = store.read(request, &|_, _| ())?;
        let session = recording.sessions.first().ok_or(TakeError::NoSession(0))?;
        let findings = check_session(session, None).map_err(TakeError::from)?;
        let before = found.recording.sessions.get(found.session as usize);
        let before = before.ok_or(TakeError::NoSession(found.session))?;
        let own = counterpart((before, found.finding), (session, &findings));
        let own = own.ok_or(HistoryError::NotInDialect(dialect))?;
        Ok(Self {
            store,
            request,
            recording,
            findings,
            own,
        })
    }

    fn session(&self) -> Result<&Session, HistoryError> {
        let session = self.recording.sessions.first();
        session.ok_or(HistoryError::Take(TakeError::NoSession(0)))
    }

    fn finding(&self) -> &Finding {
        &self.findings[self.own]
    }

    /// What leaves the history beside the words: everything after the failing turn, and sound calls of it that
    /// no output was recorded of: no provider takes a history with an open call.
    fn cut(&self, notes: &mut Vec<String>) -> Result<Vec<Edit>, HistoryError> {
        let session = self.session()?;
        let item = self.finding().item.unwrap_or_default() as usize;
        let turn = session.items.get(item).map_or(0, |item| item.turn);
        let Some(turn) = session.turns.get(turn as usize) else {
            return Ok(Vec::new());
        };
        let mut edits = Vec::new();
        for index in turn.items() {
            let Some(open) = session.items.get(index) else {
                continue;
            };
            let is_faulty = || {
                let mut findings = self.findings.iter();
                findings.any(|finding| {
                    finding.item == Some(index_number(index))
                        && wording::FailureKind::of_rule(finding.rule.id).is_some()
                        && finding.rule.id != "orphan-call"
                })
            };
            let is_open = open.kind == ItemKind::Call && session.pairing.partner(index).is_none();
            if is_open && index != item && !is_faulty() {
                notes.push(format!(
                    "no output of {} was recorded: the call is left out of what is sent",
                    session.name(open)
                ));
                edits.push(Edit::Drop {
                    item: index_number(index),
                });
            }
        }
        if (turn.end as usize) < session.items.len() {
            edits.push(Edit::Cut { from: turn.end });
        }
        Ok(edits)
    }

    /// The text of the request with edits.
    fn text_with(&mut self, edits: &[Edit]) -> Result<Vec<u8>, HistoryError> {
        self.store.go_to(self.request)?;
        let session = self.recording.sessions.first();
        let session = session.ok_or(TakeError::NoSession(0))?;
        let id = self.store.take(0, session, edits, Take::default())?;
        text(&mut self.store, id)
    }

    fn recorded(&self) -> Option<WordingVariant> {
        if self.is_asked_again() {
            return None;
        }
        let text = recorded_text(self.session().ok()?, self.finding().item? as usize)?;
        let (name, title) = (RECORDED.name, RECORDED.title);
        let template = wording::recorded(&text);
        Some(WordingVariant::new(name, title, Origin::Recorded, template))
    }

    /// No words at all: a repeated turn may come out better by itself, and feedback
    /// has to beat that.
    fn plain(&self) -> Option<WordingVariant> {
        self.is_asked_again().then(|| WordingVariant {
            channel: Channel::UserMessage,
            ..WordingVariant::new(PLAIN.name, PLAIN.title, Origin::Library, String::new())
        })
    }

    /// Whether what is wrong is not a call that could be answered.
    fn is_asked_again(&self) -> bool {
        !self.kind().is_of_call()
    }

    fn tell(&mut self, words: &WordingVariant) -> Result<RenderedWording, HistoryError> {
        let action = action_for(self.kind(), words.channel);
        let (mut edits, rendered) = match words.origin {
            // They stand there already.
            Origin::Recorded => (Vec::new(), self.render(&words.template)?),
            _ => self.plan(action, &words.template)?,
        };
        if action == INJECT {
            edits.extend(self.cut(&mut Vec::new())?);
        }
        let mut text = self.text_with(&edits)?;
        if words.channel == Channel::Output {
            text = self.unflagged(text)?;
        }
        Ok(RenderedWording {
            variant: WordingVariant {
                words: rendered,
                ..words.clone()
            },
            action,
            text,
        })
    }

    fn kind(&self) -> FailureKind {
        FailureKind::of_rule(self.finding().rule.id).unwrap_or(FailureKind::ToolError)
    }

    fn render(&self, template: &str) -> Result<String, HistoryError> {
        let context = wording::FailureContext::default();
        let rendered = wording::render(template, &context);
        Ok(rendered.map_err(actions::ActionError::from)?)
    }

    /// What an action with these words would change, and the words as they read.
    fn plan(&self, action: &str, template: &str) -> Result<(Vec<Edit>, String), HistoryError> {
        let session = self.session()?;
        let run = Run::new(session, None);
        let finding = self.finding();
        let others = beside(session, &self.findings, finding);
        let scene = run.scene(finding.defect(), &others);
        let (scene, action) = scene
            .zip(actions::find(action))
            .ok_or(HistoryError::NoPlace)?;
        let choice = ActionInput {
            words: Some(template).filter(|template| !template.is_empty()),
            whole_turn: true,
            confirmed: true,
            ..ActionInput::default()
        };
        let planned = (action.plan)(&scene, &choice)?;
        let rendered = wording::render(template, &context(&scene)?);
        Ok((planned.edits, rendered.map_err(actions::ActionError::from)?))
    }

    /// The request, its last outputs without the mark of an error.
    fn unflagged(&mut self, text: Vec<u8>) -> Result<Vec<u8>, HistoryError> {
        let format = self.recording.sessions[0].dialect.facts().format;
        let recording = read_request(format, text.clone()).map_err(TakeError::from)?;
        let Some(session) = recording.sessions.first() else {
            return Ok(text);
        };
        let mut text = text;
        for item in session.items.iter().rev() {
            if item.kind != ItemKind::Output {
                break;
            }
            let span = item.span;
            let bytes = session.bytes(item).map_err(TakeError::from)?;
            if let Some(plain) = without_flag(&bytes) {
                let (start, end) = (at(span.start), at(span.end));
                text.splice(start..end, plain);
            }
        }
        Ok(text)
    }
}

/// What the model read about a call when it was recorded: the output of the call, or the output itself that the
/// finding is about.
pub fn recorded_text(session: &Session, item: usize) -> Option<String> {
    let mut output = session.items.get(item)?;
    if output.kind != ItemKind::Output {
        output = session.items.get(session.pairing.partner(item)?)?;
    }
    let body = body_of(output, &session.bytes(output).ok()?).ok()?;
    Some(body.text)
}

fn at(byte: u64) -> usize {
    usize::try_from(byte).unwrap_or(usize::MAX)
}

/// An output that does not say of itself that it is an error; `None` where it says nothing of the kind.
fn without_flag(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    value.as_object_mut()?.shift_remove("is_error")?;
    serde_json::to_vec(&value).ok()
}

/// The action that informs the model: the user reports on a message, an output on its call,
/// unless it is to come from the user as well.
fn action_for(kind: FailureKind, channel: Channel) -> &'static str {
    let is_output = matches!(channel, Channel::Output | Channel::ErrorOutput);
    if is_output && kind.is_of_call() {
        INJECT
    } else {
        RETRY
    }
}

/// The finding of the request that matches one of the recording: of the same rule, of the same call; else as
/// many places from the end.
fn counterpart(
    (before, finding): (&Session, &Finding),
    (session, findings): (&Session, &[Finding]),
) -> Option<usize> {
    let call_id = |session: &Session, finding: &Finding| {
        let item = session.items.get(finding.item? as usize)?;
        let id = session.call_id(item).ok()?;
        (!id.is_empty()).then_some(id)
    };
    let wanted = call_id(before, finding);
    let same_rule = |other: &Finding| other.rule.id == finding.rule.id;
    let of_call = findings.iter().position(|other| {
        same_rule(other) && wanted.is_some() && call_id(session, other) == wanted
    });
    let from_end = |session: &Session, finding: &Finding| {
        finding.item.map(|item| session.items.len() - item as usize)
    };
    of_call.or_else(|| {
        findings.iter().position(|other| {
            same_rule(other) && from_end(session, other) == from_end(before, finding)
        })
    })
}

fn text(store: &mut TakeStore, take: TakeId) -> Result<Vec<u8>, HistoryError> {
    use retake_core::session::Source as _;
    let rope = store.rope(take)?;
    let (start, end) = (0, rope.len());
    Ok(rope.read(Span { start, end }).map_err(TakeError::from)?)
}

pub(super) fn read_request(format: &str, text: Vec<u8>) -> Result<Recording, InputError> {
    read_written(Input::of("request", Arc::new(text)), format)
}
