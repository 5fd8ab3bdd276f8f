//! A trial with its journal: the base, a take for each wording, and below it a take for each reply.

use super::error::LabError;
use super::history::{RenderedWording, TrialInput, read_request};
use crate::model::Answer;
use crate::takes::{About, wall_clock};
use crate::{Recording, TakeError, TakeStore, check_session};
use retake_core::engine::ModelFault;
use retake_core::engine::agent::{AgentModel, ModelEndpoint};
use retake_core::lab::{
    Class, Earlier, FailedCall, JudgedReply, LabSample, Question, Subject, TokenCount, classify,
};
use retake_core::redact::{Redactor, Vault};
use retake_core::rules::{Finding, Severity};
use retake_core::session::ledger::{LedgerEvent, ModelRequest, ReplySummary, Usage};
use retake_core::session::takes::{
    ContentDigest, FindingCounts, OwnText, Take, TakeCause, TakeId, TakeOutcome,
};
use retake_core::session::{Dialect, Edit, Session};
use retake_core::wire::stop_of;
use retake_core::wire::write::{calls_of, history_of};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A trial whose journal is open.
pub(super) struct TrialStore {
    store: TakeStore,
    subject: Subject,
    failed: Option<FailedCall>,
    model: AgentModel,
    variants: Vec<Ground>,
    redactor: Arc<Redactor>,
    vault: Vault,
}

/// What the replies to a wording are laid over.
struct Ground {
    take: TakeId,
    recording: Recording,
    before: FindingCounts,
    /// The request as it is sent, with its secrets.
    wire: Vec<u8>,
}

/// A question that was answered, or not.
pub(super) type Answered = Result<Answer, ModelFault>;

impl TrialStore {
    /// Opens the journal of a trial, or begins it.
    pub(super) fn open(
        sent: &TrialInput,
        subject: &Subject,
        redactor: &Arc<Redactor>,
        place: &JournalPlace,
    ) -> Result<Self, LabError> {
        let (histories, model) = (&sent.histories, sent.model.clone());
        let mut vault = Vault::default();
        let base = redactor.json(&histories.base, &mut vault).into_owned();
        let name = journal_name(subject, &model.name, identity(sent, subject, &base));
        let about = About {
            agent: "lab".to_owned(),
            format: histories.format.clone(),
            model: model.name.clone(),
            scripted: model.is_scripted(),
        };
        let store = open_journal(place, &name, &base, about)?;
        let mut store = Self {
            store,
            subject: Subject {
                item: histories.item,
                ..subject.clone()
            },
            failed: histories.failed.clone(),
            model,
            variants: Vec::new(),
            redactor: redactor.clone(),
            vault,
        };
        for wording in &histories.rendered {
            store.add(&histories.format, wording)?;
        }
        Ok(store)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.store.journal_path().unwrap_or_default()
    }

    pub(super) fn takes(&self) -> impl Iterator<Item = TakeId> {
        self.variants.iter().map(|ground| ground.take)
    }

    /// The take of a wording: the one that is there, or a new one.
    fn add(&mut self, format: &str, wording: &RenderedWording) -> Result<(), LabError> {
        let text = self
            .redactor
            .json(&wording.text, &mut self.vault)
            .into_owned();
        let takes = self.store.takes();
        let is_it = |id: &&TakeId| {
            let take = takes.get(**id);
            take.is_some_and(|take| {
                take.wording.as_deref() == Some(&wording.variant.name)
                    && take.own.as_ref().is_some_and(|own| own.text == text)
            })
        };
        let known = takes.children(TakeId::MAIN).iter().find(is_it).copied();
        let take = match known {
            Some(take) => take,
            None => self.begin(format, wording, text.clone())?,
        };
        let recording = read_request(format, text.clone()).map_err(TakeError::from)?;
        let session = recording.sessions.first().ok_or(TakeError::NoSession(0))?;
        let before = tally(&check_session(session, None).map_err(TakeError::from)?);
        let wire = self.model.wire_request(&text)?;
        self.variants.push(Ground {
            take,
            before,
            wire: self.vault.restored(&wire).into_owned(),
            recording,
        });
        Ok(())
    }

    fn begin(
        &mut self,
        format: &str,
        wording: &RenderedWording,
        text: Vec<u8>,
    ) -> Result<TakeId, LabError> {
        self.store.go_to(TakeId::MAIN)?;
        let words = self.redactor.text(&wording.variant.words, &mut self.vault);
        let about = Take {
            title: format!("wording {}", wording.variant.name),
            cause: TakeCause {
                rule: Some(self.subject.rule.clone()),
                item: Some(self.subject.item),
                action: Some(wording.action.to_owned()),
                ..TakeCause::default()
            },
            wording: Some(wording.variant.name.clone()),
            words: Some(words.into_owned()),
            outcome: TakeOutcome {
                asks_model: true,
                ..TakeOutcome::default()
            },
            own: Some(OwnText {
                format: format.to_owned(),
                text,
            }),
            ..Take::default()
        };
        let take = self.store.take_text(about)?;
        let began = LedgerEvent::Began {
            take,
            agent: "lab".to_owned(),
            file: String::new(),
            model: self.model.name.clone(),
            scripted: self.model.is_scripted(),
        };
        self.record(&began);
        Ok(take)
    }

    /// What cannot be written stays in memory and is tried again; [`Self::trouble`] tells it.
    fn record(&mut self, event: &LedgerEvent) {
        let _ = self.store.record(event);
    }

    /// Why samples are only in memory, while that is so.
    pub(super) fn trouble(&self) -> Option<String> {
        self.store.not_recording().map(ToString::to_string)
    }

    /// What the journal holds already, by wording.
    pub(super) fn earlier(&self) -> Vec<Earlier> {
        let mut asks: HashMap<TakeId, Vec<&ModelRequest>> = HashMap::new();
        for (_, request) in self.store.ledger().asks() {
            asks.entry(request.take).or_default().push(request);
        }
        let of_variant = |ground: &Ground| {
            let replies = self.store.takes().children(ground.take);
            let samples = replies.iter().filter_map(|take| {
                let request = asks.get(take).and_then(|asks| asks.first());
                self.sample_of(*take, ground, request.copied())
            });
            // A question without a reply is one of the wording's take.
            let takes = replies.iter().chain([&ground.take]);
            let questions = takes.filter_map(|take| asks.get(take)).flatten();
            Earlier {
                samples: samples.collect(),
                requests: questions
                    .map(|request| request.attempts)
                    .fold(0, u32::saturating_add),
            }
        };
        self.variants.iter().map(of_variant).collect()
    }

    /// The sample that a take holds.
    fn sample_of(
        &self,
        take: TakeId,
        ground: &Ground,
        request: Option<&ModelRequest>,
    ) -> Option<LabSample> {
        let kept = self.store.takes().get(take)?;
        let (class, why) = kept.outcome.live.as_deref()?.split_once(": ")?;
        let reply = request.and_then(|request| request.reply.as_ref());
        let usage = reply.map(|reply| reply.usage).unwrap_or_default();
        Some(LabSample {
            class: Class::named(class)?,
            why: why.to_owned(),
            number: kept.sample?,
            tokens: TokenCount::of(usage, ground.wire.len(), self.length_of(take)),
            ms: reply.map(|reply| reply.total_ms).unwrap_or_default(),
            take: Some(take),
            is_earlier: true,
        })
    }

    /// The bytes of a reply.
    fn length_of(&self, reply: TakeId) -> usize {
        let steps = self.store.takes().steps(reply).flatten();
        steps.map(|step| step.splice().with.len()).sum()
    }

    /// What a request that failed may have cost: where a part of the reply had come, the request was read.
    pub(super) fn cost_of(&self, variant: usize, fault: &ModelFault) -> TokenCount {
        match fault.was_streaming {
            true => TokenCount::of(Usage::default(), self.variants[variant].wire.len(), 0),
            false => TokenCount::none(),
        }
    }

    /// The body of a request. A script tells samples of one history apart by `seed`.
    pub(super) fn body(&self, question: Question) -> Vec<u8> {
        let Question {
            variant, number, ..
        } = question;
        let wire = self.variants[variant].wire.clone();
        if !self.model.is_scripted() {
            return wire;
        }
        let seeded = serde_json::from_slice::<serde_json::Value>(&wire);
        let seeded = seeded.ok().and_then(|mut body| {
            body.as_object_mut()?
                .insert("seed".to_owned(), number.into());
            serde_json::to_vec(&body).ok()
        });
        seeded.unwrap_or(wire)
    }

    /// Keeps what came of a question, and says what it is.
    pub(super) fn keep(&mut self, question: Question, answered: Answered) -> LabSample {
        self.store.gather();
        let kept = match answered {
            Ok(answer) => self.reply(question, &answer),
            Err(fault) => Err(fault),
        };
        let sample = kept.unwrap_or_else(|fault| self.failed(question, &fault));
        self.store.write_gathered();
        sample
    }

    /// Keeps that a question was sent and is not waited for any more: it was spent.
    pub(super) fn called_off(&mut self, question: Question) {
        self.store.gather();
        self.not_replied(question, None, "called off".to_owned());
        self.store.write_gathered();
    }

    fn failed(&mut self, question: Question, fault: &ModelFault) -> LabSample {
        let why = self.redactor.text(&fault.why, &mut self.vault).into_owned();
        self.not_replied(question, fault.status, why.clone());
        LabSample {
            class: Class::Failed,
            why,
            number: question.number,
            tokens: self.cost_of(question.variant, fault),
            ms: 0,
            take: None,
            is_earlier: false,
        }
    }

    fn not_replied(&mut self, question: Question, status: Option<u16>, why: String) {
        let ask = self.store.ledger().next_ask();
        let take = self.variants[question.variant].take;
        let attempt = question.attempts;
        self.record(&LedgerEvent::Asked { ask, take, attempt });
        self.record(&LedgerEvent::NotReplied {
            ask,
            attempt,
            status,
            why,
            again_in_ms: None,
        });
    }

    /// A reply becomes a take below its wording and is classed there.
    fn reply(&mut self, question: Question, answer: &Answer) -> Result<LabSample, ModelFault> {
        let unusable = |why: String| ModelFault {
            status: None,
            why,
            is_recoverable: false,
            retry_after_ms: None,
            was_streaming: false,
        };
        let dialect = self.model.dialect;
        let items = self.items_of(dialect, answer).map_err(unusable)?;
        if items.is_empty() && !answer.is_whole() {
            return Err(unusable(
                "the reply broke off before anything came".to_owned(),
            ));
        }
        let calls = calls_of(dialect, &answer.json).map_err(|error| unusable(error.to_string()))?;
        self.enter(question, answer, items, calls)
            .map_err(|error| unusable(format!("the reply cannot be kept: {error}")))
    }

    fn items_of(&mut self, dialect: Dialect, answer: &Answer) -> Result<Vec<String>, String> {
        let items = history_of(dialect, &answer.json).map_err(|error| error.to_string())?;
        let items = items.into_iter().map(|item| {
            let clean = self.redactor.json(item.as_bytes(), &mut self.vault);
            String::from_utf8_lossy(&clean).into_owned()
        });
        Ok(items.collect())
    }

    fn enter(
        &mut self,
        question: Question,
        answer: &Answer,
        items: Vec<String>,
        calls: Vec<String>,
    ) -> Result<LabSample, TakeError> {
        let ground = &self.variants[question.variant];
        let (wording, before, sent) = (ground.take, ground.before, ground.wire.len());
        let history = ground.recording.sessions.first();
        let history = history.ok_or(TakeError::NoSession(0))?.clone();
        self.store.go_to(wording)?;
        let about = Take {
            title: format!("sample {}", u64::from(question.number) + 1),
            sample: Some(question.number),
            cause: TakeCause {
                action: Some(crate::live::CONTINUE.to_owned()),
                ..TakeCause::default()
            },
            ..Take::default()
        };
        let take = self.store.take(0, &history, &[], about)?;
        let ask = self.store.ledger().next_ask();
        let attempt = question.attempts;
        self.record(&LedgerEvent::Asked { ask, take, attempt });
        self.record(&LedgerEvent::Replied {
            ask,
            take,
            reply: ReplySummary {
                calls,
                usage: answer.usage,
                first_ms: answer.first_ms,
                total_ms: answer.total_ms,
                ended: answer.is_whole(),
                stop: stop_of(&answer.json),
            },
        });
        // A reply may be empty.
        if !items.is_empty() {
            self.store.grow(take, &history, &[Edit::Extend { items }])?;
        }
        let read = self.store.read(take, &|_, _| ())?;
        let session = read.sessions.first().ok_or(TakeError::NoSession(0))?;
        let (class, why, after) = self.class(session, history.items.len())?;
        let live = format!("{}: {why}", class.word());
        let outcome = TakeOutcome {
            before,
            after,
            checked: true,
            asks_model: false,
            live: Some(live),
        };
        self.store.judge(take, outcome)?;
        Ok(LabSample {
            class,
            why,
            number: question.number,
            tokens: TokenCount::of(answer.usage, sent, self.length_of(take)),
            ms: answer.total_ms,
            take: Some(take),
            is_earlier: false,
        })
    }

    fn class(
        &self,
        session: &Session,
        first: usize,
    ) -> Result<(Class, String, FindingCounts), TakeError> {
        let findings = check_session(session, None)?;
        let reply = JudgedReply {
            session,
            first,
            findings: &findings,
        };
        let (class, why) = classify(&reply, &self.subject, self.failed.as_ref())?;
        Ok((class, why, tally(&findings)))
    }
}

fn tally(findings: &[Finding]) -> FindingCounts {
    let mut tally = FindingCounts::default();
    for finding in findings.iter().filter(|finding| !finding.is_settled) {
        match finding.severity {
            Severity::Error => tally.errors += 1,
            Severity::Warning => tally.warnings += 1,
            Severity::Info => tally.infos += 1,
        }
    }
    tally
}

// The journal of a trial: where it is, and its name, which tells everything that decides what an answer in it means.

/// Longest part of a journal's name that tells the tool or the model.
const PART: usize = 32;
const ENDING: &str = ".jsonl";

/// Where the journal of a trial is to be.
#[derive(Debug, Clone)]
pub(super) enum JournalPlace {
    /// In this folder: the newest of the same trial, or the first.
    In(PathBuf),
    /// In this folder, a new one.
    New(PathBuf),
    At(PathBuf),
}

/// What is the same for trials whose answers mean the same: the history, the finding in it, what counts as
/// corrected, and the model with all parameters of its requests. How long a reply may take and where its key comes
/// from are not part of it.
pub(super) fn identity(sent: &TrialInput, subject: &Subject, base: &[u8]) -> ContentDigest {
    let histories = &sent.histories;
    let parts = json!([
        histories.format,
        String::from_utf8_lossy(base),
        histories.item,
        subject.rule,
        subject.tool,
        subject.meant.words(),
        model_identity(&sent.model),
    ]);
    ContentDigest::of(parts.to_string().as_bytes())
}

fn model_identity(model: &AgentModel) -> Value {
    let at = match &model.at {
        ModelEndpoint::Http {
            base_url, headers, ..
        } => {
            let headers = headers.iter();
            let headers = headers.map(|header| json!([header.name, header.text, header.env]));
            json!([base_url, headers.collect::<Vec<_>>()])
        }
        ModelEndpoint::Script { text, .. } => json!([text]),
    };
    json!([
        model.dialect.word(),
        model.name,
        at,
        model.stream,
        model.max_tokens,
        model.settings,
    ])
}

/// The name of a journal without its number: the finding and the model for people, the identity of the
/// trial for the lab.
fn journal_name(subject: &Subject, model: &str, identity: ContentDigest) -> String {
    format!(
        "{}-{identity}",
        slug(&[&subject.rule, &subject.tool, model])
    )
}

/// Opens the newest journal of this name, or begins one.
fn open_journal(
    place: &JournalPlace,
    name: &str,
    base: &[u8],
    about: About,
) -> Result<TakeStore, LabError> {
    let (folder, number) = match place {
        JournalPlace::At(path) => return reopen(path),
        JournalPlace::In(folder) => match newest(folder, name) {
            Some(number) => return reopen(&path(folder, name, number)),
            None => (folder, 1),
        },
        JournalPlace::New(folder) => (folder, newest(folder, name).map_or(1, |last| last + 1)),
    };
    let path = path(folder, name, number);
    Ok(TakeStore::begin_run(&path, about, base, wall_clock)?)
}

fn reopen(path: &Path) -> Result<TakeStore, LabError> {
    let (store, _) = TakeStore::open_run(path, wall_clock)?;
    match store.not_recording() {
        Some(trouble) => Err(LabError::NotRecording(trouble.to_string())),
        None => Ok(store),
    }
}

/// The highest number that a journal of this name has in the folder.
fn newest(folder: &Path, name: &str) -> Option<u64> {
    // An unreadable folder is reported when a journal is made in it.
    let files = std::fs::read_dir(folder).ok()?.flatten();
    let number = |file: std::fs::DirEntry| {
        let file = file.file_name();
        let rest = file.to_str()?.strip_prefix(name)?.strip_suffix(ENDING)?;
        match rest.strip_prefix('-') {
            None => rest.is_empty().then_some(1),
            Some(number) => number.parse::<u32>().ok().map(u64::from),
        }
    };
    files.filter_map(number).max()
}

/// The first journal of a name has no number.
fn path(folder: &Path, name: &str, number: u64) -> PathBuf {
    folder.join(match number {
        1 => format!("{name}{ENDING}"),
        number => format!("{name}-{number}{ENDING}"),
    })
}

/// A name for a file, of what is known.
fn slug(parts: &[&str]) -> String {
    let plain = |part: &&str| {
        let letters = part.chars().take(PART);
        let letters = letters.map(|letter| match letter {
            letter if letter.is_ascii_alphanumeric() || letter == '_' => letter,
            _ => '-',
        });
        letters.collect::<String>()
    };
    let parts = parts.iter().map(plain).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-")
}
