//! What a proxy without a screen says: one JSON object a line.
//!
//! The first lines are the listeners (`listening`), the last one the end (`end`). Between them stands what was
//! found, as `check` writes it with the `exchange` before (`finding`), what is held (`held`) and where that is
//! kept (`journal`), what was decided (`decision`), each exchange when it is over (`exchange`), the lines of
//! the agent that was started (`output`), and what the operator should know (`notice`).

use crate::cli::exit::{Failure, Why};
use crate::cli::flatten::FileReport;
use crate::cli::report::{write_finding, write_line};
use foldhash::quality::RandomState;
use retake_core::exchange::{Ending, ExchangeId, Phase, Seen};
use retake_core::redact::{Redactor, Vault};
use retake_core::rules::Finding;
use retake_live::Recording;
use retake_live::proxy::News;
use retake_live::proxy::connect::Reach;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::hash::BuildHasher;
use std::io::Write;
use std::path::Path;

/// In how many of the latest exchanges it is remembered which findings were told.
const REMEMBERED: usize = 256;

/// The lines that say more than what happened; see [`News`] for the others, and [`write_finding`].
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line<'a> {
    Listening {
        address: &'a str,
        upstream: &'a str,
        journal: &'a str,
    },
    Exchange {
        #[serde(flatten)]
        seen: &'a Seen,
        upstream: &'a str,
        #[serde(flatten)]
        how: &'a Ending,
    },
    Held {
        exchange: ExchangeId,
        of: &'static str,
        since_ms: u64,
        until_ms: Option<u64>,
        why: &'a str,
    },
    End {
        #[serde(flatten)]
        why: Why,
        exchanges: u32,
        held: u32,
        #[serde(flatten)]
        counts: &'a Counts,
        decisions: u32,
        findings: u32,
    },
}

/// How many exchanges ended how.
#[derive(Debug, Default, Serialize)]
struct Counts {
    passed: u32,
    released: u32,
    mended: u32,
    refused: u32,
    cut: u32,
    no_reply: u32,
    truncated: u32,
    client_left: u32,
    interrupted: u32,
}

impl Counts {
    fn add(&mut self, how: &Ending) {
        *match how {
            Ending::Passed => &mut self.passed,
            Ending::Released { .. } => &mut self.released,
            Ending::Mended => &mut self.mended,
            Ending::Refused { .. } => &mut self.refused,
            Ending::Cut => &mut self.cut,
            Ending::NoReply { .. } => &mut self.no_reply,
            Ending::Truncated => &mut self.truncated,
            Ending::ClientLeft => &mut self.client_left,
            Ending::Interrupted => &mut self.interrupted,
        } += 1;
    }
}

/// Which exchanges are over. They end in another order than they begin, but not by much.
#[derive(Debug, Default)]
struct Over {
    /// All up to here are.
    all_to: u32,
    beyond: HashSet<u32>,
}

impl Over {
    /// Notes that one is; tells whether that is new.
    fn note(&mut self, id: ExchangeId) -> bool {
        if id.0 <= self.all_to || !self.beyond.insert(id.0) {
            return false;
        }
        while self.beyond.remove(&(self.all_to + 1)) {
            self.all_to += 1;
        }
        true
    }
}

/// Whether there is nothing to say of this: an exchange that goes its way.
pub(super) fn is_silent(news: &News) -> bool {
    match news {
        News::Exchange(seen) => matches!(seen.phase, Phase::Waiting | Phase::Replying),
        _ => false,
    }
}

/// Writes what happens, and each thing once.
pub(super) struct Teller<'a, W> {
    out: W,
    reaches: &'a [Reach],
    journal: &'a Path,
    hasher: RandomState,
    /// Findings that were told: digests of rule, place and sentence.
    told: BTreeMap<ExchangeId, HashSet<u64>>,
    /// What is held, and since when.
    held: BTreeMap<ExchangeId, u64>,
    over: Over,
    /// What the operator should know, until the first listener is told: its address is the first line.
    early: Option<Vec<News>>,
    tokens: Vec<(String, String)>,
    redactor: Redactor,
    begun: u32,
    holds: u32,
    decisions: u32,
    findings: u32,
    counts: Counts,
}

impl<'a, W: Write> Teller<'a, W> {
    pub(super) fn new(out: W, reaches: &'a [Reach], journal: &'a Path) -> Self {
        Self {
            out,
            reaches,
            journal,
            hasher: RandomState::default(),
            told: BTreeMap::new(),
            held: BTreeMap::new(),
            over: Over::default(),
            early: Some(Vec::new()),
            tokens: Vec::new(),
            redactor: Redactor::default(),
            begun: 0,
            holds: 0,
            decisions: 0,
            findings: 0,
            counts: Counts::default(),
        }
    }

    pub(super) fn tell(&mut self, news: &News) -> Result<(), Failure> {
        match news {
            News::Listening { base, upstream, .. } => {
                self.learn_token(base);
                let journal = self.journal.to_string_lossy();
                let line = Line::Listening {
                    address: base,
                    upstream,
                    journal: &journal,
                };
                // Whoever reads it has to know the token.
                write_line(&mut self.out, &line)?;
                self.out.flush()?;
                let early = self.early.take().unwrap_or_default();
                early.iter().try_for_each(|notice| self.write(notice))
            }
            News::Exchange(seen) => self.exchange(seen),
            News::Found {
                id,
                findings,
                session,
            } => self.found(*id, findings, session),
            News::Decided { .. } => {
                self.decisions += 1;
                self.write(news)
            }
            News::Journal { .. } | News::Output { .. } => self.write(news),
            News::Notice(_) => match &mut self.early {
                Some(early) => {
                    early.push(news.clone());
                    Ok(())
                }
                None => self.write(news),
            },
            News::AgentEnded(_) => Ok(()),
        }
    }

    /// Hands over what was told: whoever reads it wants to know it now.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush()?;
        Ok(())
    }

    pub(super) fn end(mut self, why: Why) -> Result<(), Failure> {
        let line = Line::End {
            why,
            exchanges: self.begun,
            held: self.holds,
            counts: &self.counts,
            decisions: self.decisions,
            findings: self.findings,
        };
        write_line(&mut self.out, &line)?;
        self.out.flush()?;
        Ok(())
    }

    /// The token of a listener is not told again.
    fn learn_token(&mut self, base: &str) {
        if let Some((_, token)) = base.split_once("/t/") {
            let token = ("listener token".to_owned(), token.to_owned());
            self.tokens.push(token);
            self.redactor = Redactor::new(self.tokens.iter().cloned());
        }
    }

    /// Writes a line without the secrets that paths, models and an agent's output may hold: what it goes
    /// to is often kept.
    fn write(&mut self, line: &impl Serialize) -> Result<(), Failure> {
        let mut text = Vec::new();
        write_line(&mut text, line)?;
        let clean = self.redactor.json(&text, &mut Vault::default());
        self.out.write_all(&clean)?;
        Ok(())
    }

    fn exchange(&mut self, seen: &Seen) -> Result<(), Failure> {
        self.begun = self.begun.max(seen.id.0);
        match &seen.phase {
            Phase::Held(holding) => {
                let since = self.held.insert(seen.id, holding.since_ms);
                if since == Some(holding.since_ms) {
                    return Ok(());
                }
                self.holds += 1;
                self.write(&Line::Held {
                    exchange: seen.id,
                    of: if holding.is_request {
                        "request"
                    } else {
                        "reply"
                    },
                    since_ms: holding.since_ms,
                    until_ms: holding.until_ms,
                    why: &holding.why,
                })
            }
            Phase::Ended(how) => {
                self.held.remove(&seen.id);
                if !self.over.note(seen.id) {
                    return Ok(());
                }
                self.counts.add(how);
                self.ended(seen, how)
            }
            Phase::Asking | Phase::Waiting | Phase::Replying | Phase::AskingAgain(_) => {
                self.held.remove(&seen.id);
                Ok(())
            }
        }
    }

    fn ended(&mut self, seen: &Seen, how: &Ending) -> Result<(), Failure> {
        let reach = self.reaches.get(seen.upstream);
        self.write(&Line::Exchange {
            seen,
            upstream: reach.map_or("", |reach| reach.upstream.name.as_str()),
            how,
        })
    }

    fn found(
        &mut self,
        id: ExchangeId,
        findings: &[Finding],
        recording: &Recording,
    ) -> Result<(), Failure> {
        let report = FileReport::of(recording, &[findings.to_vec()], None, false);
        let mut report = report.map_err(|error| Failure::refused(error.to_string()))?;
        if report.path.is_empty() {
            // What passes without a hold has no file of its own.
            report.path = self.journal.to_string_lossy().into_owned();
        }
        let told = self.told.entry(id).or_default();
        for session in &report.sessions {
            for finding in &session.findings {
                let known = (finding.rule.id, finding.item, &finding.message);
                if told.insert(self.hasher.hash_one(known)) {
                    self.findings += 1;
                    write_finding(&mut self.out, Some(id), &report, session, finding)?;
                }
            }
        }
        while self.told.len() > REMEMBERED {
            self.told.pop_first();
        }
        Ok(())
    }
}
