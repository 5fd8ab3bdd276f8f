//! A trial with its journal: the base, a take for each wording, and below it a take for each reply.

use super::journal::{self, Place, identity};
use super::prepare::Sent;
use super::{NoLab, read_request};
use crate::dialects::stop_of;
use crate::dialects::write::{calls_of, history_of};
use crate::engine::ModelFault;
use crate::engine::agent;
use crate::lab::{Class, FailedCall, Reply, Sample, Subject, classify};
use crate::redact::{Redactor, Vault};
use crate::rules::{Finding, Severity};
use crate::runtime::model::Answer;
use crate::runtime::takes::About;
use crate::runtime::{NoTake, Recording, Workbench, check_session};
use crate::session::ledger::{Ask, Asked, LedgerEvent};
use crate::session::takes::{Cause, Outcome, OwnText, Take, TakeId, Tally};
use crate::session::{Dialect, Edit, Session};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// A trial whose journal is open.
pub(super) struct Bench {
    bench: Workbench,
    subject: Subject,
    failed: Option<FailedCall>,
    model: agent::Model,
    variants: Vec<Ground>,
    /// The samples that the journal held when it was opened, by variant and number.
    kept: Vec<BTreeMap<u32, Sample>>,
    redactor: Arc<Redactor>,
    vault: Vault,
}

/// What the replies to a wording are laid over.
struct Ground {
    take: TakeId,
    recording: Recording,
    before: Tally,
    /// The request as it is sent, with its secrets.
    wire: Vec<u8>,
}

/// A question that was answered, or not.
pub(super) type Answered = Result<Answer, ModelFault>;

impl Bench {
    /// Opens the journal of a trial, or begins it.
    pub(super) fn open(
        sent: &Sent,
        subject: &Subject,
        redactor: &Arc<Redactor>,
        place: &Place,
    ) -> Result<Self, NoLab> {
        let (histories, model) = (&sent.histories, sent.model.clone());
        let mut vault = Vault::default();
        let base = redactor.json(&histories.base, &mut vault).into_owned();
        let name = journal::name(subject, &model.name, identity(sent, subject, &base));
        let about = About {
            agent: "lab".to_owned(),
            format: histories.format.clone(),
            model: model.name.clone(),
            scripted: model.is_scripted(),
        };
        let bench = journal::open(place, &name, &base, about)?;
        let mut bench = Self {
            bench,
            subject: Subject {
                item: histories.item,
                ..subject.clone()
            },
            failed: histories.failed.clone(),
            model,
            variants: Vec::new(),
            kept: Vec::new(),
            redactor: redactor.clone(),
            vault,
        };
        for told in &histories.told {
            bench.add(&histories.format, told)?;
        }
        bench.kept = bench.samples();
        Ok(bench)
    }

    /// Where the journal is.
    pub(super) fn path(&self) -> PathBuf {
        self.bench.journal_path().unwrap_or_default()
    }

    /// The takes of the wordings.
    pub(super) fn takes(&self) -> impl Iterator<Item = TakeId> {
        self.variants.iter().map(|ground| ground.take)
    }

    /// The take of a wording: the one that is there, or a new one.
    fn add(&mut self, format: &str, told: &super::history::Told) -> Result<(), NoLab> {
        let text = self.redactor.json(&told.text, &mut self.vault).into_owned();
        let takes = self.bench.takes();
        let is_it = |id: &&TakeId| {
            let take = takes.get(**id);
            take.is_some_and(|take| {
                take.wording.as_deref() == Some(&told.words.name)
                    && take.own.as_ref().is_some_and(|own| own.text == text)
            })
        };
        let known = takes.children(TakeId::MAIN).iter().find(is_it).copied();
        let take = match known {
            Some(take) => take,
            None => self.begin(format, told, text.clone())?,
        };
        let recording = read_request(format, text.clone()).map_err(NoTake::from)?;
        let session = recording.sessions.first().ok_or(NoTake::NoSession(0))?;
        let before = tally(&check_session(session, None).map_err(NoTake::from)?);
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
        told: &super::history::Told,
        text: Vec<u8>,
    ) -> Result<TakeId, NoLab> {
        self.bench.go_to(TakeId::MAIN)?;
        let words = self.redactor.text(&told.rendered, &mut self.vault);
        let about = Take {
            title: format!("wording {}", told.words.name),
            cause: Cause {
                rule: Some(self.subject.rule.clone()),
                item: Some(self.subject.item),
                action: Some(told.action.to_owned()),
                ..Cause::default()
            },
            wording: Some(told.words.name.clone()),
            words: Some(words.into_owned()),
            outcome: Outcome {
                asks_model: true,
                ..Outcome::default()
            },
            own: Some(OwnText {
                format: format.to_owned(),
                text,
            }),
            ..Take::default()
        };
        let take = self.bench.take_text(about)?;
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
        let _ = self.bench.record(event);
    }

    /// Why samples are only in memory, while that is so.
    pub(super) fn trouble(&self) -> Option<String> {
        self.bench.not_recording().map(ToString::to_string)
    }

    /// The samples that the journal holds, by variant and number. What failed is not among them, and is asked for again.
    fn samples(&self) -> Vec<BTreeMap<u32, Sample>> {
        let asks = self.bench.ledger().asks();
        let asked: HashMap<TakeId, &Asked> = asks.map(|(_, asked)| (asked.take, asked)).collect();
        let of_take = |id: &TakeId| {
            let take = self.bench.takes().get(*id)?;
            let (class, why) = take.outcome.live.as_deref()?.split_once(": ")?;
            let asked = asked.get(id);
            let sample = Sample {
                class: Class::named(class)?,
                why: why.to_owned(),
                usage: asked.map(|asked| asked.usage).unwrap_or_default(),
                ms: asked.map(|asked| asked.total_ms).unwrap_or_default(),
                take: Some(*id),
                is_earlier: true,
            };
            Some((take.sample?, sample))
        };
        let of_variant = |ground: &Ground| {
            let replies = self.bench.takes().children(ground.take).iter();
            replies.filter_map(of_take).collect()
        };
        self.variants.iter().map(of_variant).collect()
    }

    /// The samples of an earlier run up to the first that is missing, by variant. Those behind it are [`Self::kept`] until it is their
    /// turn: a sequential test must not hear first what was answered first.
    pub(super) fn earlier(&self) -> Vec<Vec<Sample>> {
        let in_a_row = |kept: &BTreeMap<u32, Sample>| {
            let samples = (0..).map_while(|number| kept.get(&number).cloned());
            samples.collect()
        };
        self.kept.iter().map(in_a_row).collect()
    }

    /// A sample that an earlier run was answered: nobody needs to be asked.
    pub(super) fn kept(&self, variant: usize, number: u32) -> Option<Sample> {
        self.kept.get(variant)?.get(&number).cloned()
    }

    /// The request of a sample, numbered from 0. A script tells samples of one history apart by `seed`.
    pub(super) fn question(&self, variant: usize, number: u32) -> Vec<u8> {
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

    /// Keeps what came of the question for a sample, and says what it is.
    pub(super) fn keep(&mut self, variant: usize, number: u32, answered: Answered) -> Sample {
        self.bench.gather();
        let kept = match answered {
            Ok(answer) => self.reply((variant, number), &answer),
            Err(fault) => Err(fault),
        };
        let sample = kept.unwrap_or_else(|fault| self.failed(variant, &fault));
        self.bench.write_gathered();
        sample
    }

    fn failed(&mut self, variant: usize, fault: &ModelFault) -> Sample {
        let why = self.redactor.text(&fault.why, &mut self.vault).into_owned();
        let ask = self.bench.ledger().next_ask();
        let take = self.variants[variant].take;
        self.record(&asked(ask, take));
        self.record(&LedgerEvent::NotReplied {
            ask,
            attempt: 1,
            status: fault.status,
            why: why.clone(),
            again_in_ms: None,
        });
        Sample {
            class: Class::Failed,
            why,
            usage: Default::default(),
            ms: 0,
            take: None,
            is_earlier: false,
        }
    }

    /// A reply becomes a take below its wording and is classed there.
    fn reply(&mut self, place: (usize, u32), answer: &Answer) -> Result<Sample, ModelFault> {
        let unusable = |why: String| ModelFault {
            status: None,
            why,
            is_recoverable: false,
            retry_after_ms: None,
            was_streaming: false,
        };
        let dialect = self.model.dialect;
        let items = self.items_of(dialect, answer).map_err(unusable)?;
        let calls = calls_of(dialect, &answer.json).map_err(|error| unusable(error.to_string()))?;
        self.enter(place, answer, items, calls)
            .map_err(|error| unusable(format!("the reply cannot be kept: {error}")))
    }

    fn items_of(&mut self, dialect: Dialect, answer: &Answer) -> Result<Vec<String>, String> {
        let items = history_of(dialect, &answer.json).map_err(|error| error.to_string())?;
        if items.is_empty() {
            return Err("the reply holds nothing".to_owned());
        }
        let items = items.into_iter().map(|item| {
            let clean = self.redactor.json(item.as_bytes(), &mut self.vault);
            String::from_utf8_lossy(&clean).into_owned()
        });
        Ok(items.collect())
    }

    fn enter(
        &mut self,
        (variant, number): (usize, u32),
        answer: &Answer,
        items: Vec<String>,
        calls: Vec<String>,
    ) -> Result<Sample, NoTake> {
        let ground = &self.variants[variant];
        let (wording, before) = (ground.take, ground.before);
        let history = ground.recording.sessions.first();
        let history = history.ok_or(NoTake::NoSession(0))?.clone();
        self.bench.go_to(wording)?;
        let about = Take {
            title: format!("sample {}", u64::from(number) + 1),
            sample: Some(number),
            cause: Cause {
                action: Some(crate::runtime::live::CONTINUE.to_owned()),
                ..Cause::default()
            },
            ..Take::default()
        };
        let take = self.bench.take(0, &history, &[], about)?;
        let ask = self.bench.ledger().next_ask();
        self.record(&asked(ask, take));
        self.record(&LedgerEvent::Replied {
            ask,
            take,
            calls,
            usage: answer.usage,
            first_ms: answer.first_ms,
            total_ms: answer.total_ms,
            ended: answer.is_whole(),
            stop: stop_of(&answer.json),
        });
        self.bench.grow(take, &history, &[Edit::Extend { items }])?;
        let read = self.bench.read(take, &|_, _| ())?;
        let session = read.sessions.first().ok_or(NoTake::NoSession(0))?;
        let (class, why, after) = self.class(session, history.items.len())?;
        let live = format!("{}: {why}", class.word());
        let outcome = Outcome {
            before,
            after,
            asks_model: false,
            live: Some(live),
        };
        self.bench.judge(take, outcome)?;
        Ok(Sample {
            class,
            why,
            usage: answer.usage,
            ms: answer.total_ms,
            take: Some(take),
            is_earlier: false,
        })
    }

    fn class(&self, session: &Session, first: usize) -> Result<(Class, String, Tally), NoTake> {
        let findings = check_session(session, None)?;
        let reply = Reply {
            session,
            first,
            findings: &findings,
        };
        let (class, why) = classify(&reply, &self.subject, self.failed.as_ref())?;
        Ok((class, why, tally(&findings)))
    }
}

fn asked(ask: Ask, take: TakeId) -> LedgerEvent {
    LedgerEvent::Asked {
        ask,
        take,
        attempt: 1,
    }
}

fn tally(findings: &[Finding]) -> Tally {
    let mut tally = Tally::default();
    for finding in findings.iter().filter(|finding| !finding.is_settled) {
        match finding.severity {
            Severity::Error => tally.errors += 1,
            Severity::Warning => tally.warnings += 1,
            Severity::Info => tally.infos += 1,
        }
    }
    tally
}
