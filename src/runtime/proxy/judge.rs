//! Judges requests and replies by the rules, as recordings are judged.

use crate::dialects::write::history_of;
use crate::engine::{
    Breakpoint, Fault, Policy, REFUSED_BY_PROVIDERS, Ready, Standing, hits, holds, standing_of,
    standing_of_request,
};
use crate::exchange::machine::Judgement;
use crate::formats::lower;
use crate::redact::{Redactor, Vault};
use crate::rules::{Finding, RULES, Rule, Run};
use crate::runtime::reading::read_as;
use crate::runtime::{Input, Recording, check_run, check_session, target_of};
use crate::session::ledger::Ledger;
use crate::session::takes::TakeId;
use crate::session::{Dialect, Edit, Rope, Session, Source, Span};
use std::sync::{Arc, Mutex, PoisonError};

/// Secrets by value, each with what its placeholder calls it.
type Secrets = [(String, String)];

/// By what is judged. Breakpoints come and go while a proxy runs.
#[derive(Debug, Default)]
pub(super) struct Judge {
    pub(super) has_operator: bool,
    pub(super) policy: Policy,
    breakpoints: Mutex<Vec<Breakpoint>>,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) judgement: Judgement,
    pub(super) findings: Vec<Finding>,
    /// What it was found in; `None` where that could not be read.
    pub(super) recording: Option<Recording>,
}

impl Verdict {
    /// Nothing was found.
    pub(super) fn sound() -> Self {
        Self {
            judgement: Judgement::Sound,
            findings: Vec::new(),
            recording: None,
        }
    }
}

impl Judge {
    pub(super) fn new(has_operator: bool, policy: Policy, breakpoints: Vec<Breakpoint>) -> Self {
        Self {
            has_operator,
            policy,
            breakpoints: Mutex::new(breakpoints),
        }
    }

    /// Whether anything can be decided at all.
    pub(super) fn decides(&self) -> bool {
        self.has_operator || !self.policy.is_empty()
    }

    pub(super) fn set_breakpoints(&self, breakpoints: Vec<Breakpoint>) {
        *self.lock() = breakpoints;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Breakpoint>> {
        self.breakpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges a request before it leaves: what its provider would refuse.
    pub(super) fn request(&self, dialect: Dialect, request: &[u8], secrets: &Secrets) -> Verdict {
        let text = Arc::new(request.to_vec());
        let Some((recording, standing)) = refused(dialect, text) else {
            return Verdict::sound();
        };
        let judgement = self.judgement(&standing.faults);
        told(dialect, (recording, false), judgement, secrets, |session| {
            let (findings, standing) = request_stands(session)?;
            Some(of_turn(findings, &standing))
        })
    }

    /// Judges a reply behind its request. `None` where there is nothing that could be judged.
    pub(super) fn reply(
        &self,
        dialect: Dialect,
        request: &[u8],
        reply: &str,
        secrets: &Secrets,
    ) -> Verdict {
        let Some((recording, findings, standing)) = stand(dialect, request, reply) else {
            return Verdict::sound();
        };
        let mut judgement = self.judgement(&standing.faults);
        if judgement == Judgement::Sound
            && let Some(why) = self.stops(&standing)
        {
            judgement = Judgement::Holds { why };
        }
        let findings = of_turn(findings, &standing);
        if findings.is_empty() {
            return Verdict {
                judgement,
                ..Verdict::sound()
            };
        }
        told(dialect, (recording, true), judgement, secrets, |session| {
            let (findings, standing) = stands(session)?;
            Some(of_turn(findings, &standing))
        })
    }

    fn judgement(&self, faults: &[Fault]) -> Judgement {
        let holding = faults.iter().filter(|fault| {
            let is_settled_alone = self.has_operator || self.policy.has_entry(fault);
            is_settled_alone && holds(&self.policy, self.has_operator, fault)
        });
        let words: Vec<String> = holding
            .map(|fault| format!("{}: {}", fault.rule, fault.message))
            .collect();
        if words.is_empty() {
            return Judgement::Sound;
        }
        let why = words.join("; ");
        Judgement::Holds { why }
    }

    /// The breakpoint that hits, in words.
    fn stops(&self, standing: &Standing) -> Option<String> {
        if !self.has_operator {
            return None;
        }
        let breakpoints = self.lock();
        let hit = hits(&breakpoints, standing, &mut Ready::default());
        let hit = hit.first()?;
        let of = breakpoints.iter().find(|one| one.number == hit.number)?;
        Some(format!("breakpoint {}: {}", hit.number, of.on))
    }
}

/// What may be told of a verdict: the same findings in a text without secrets.
fn told(
    dialect: Dialect,
    (found_in, goes_on): (Recording, bool),
    mut judgement: Judgement,
    secrets: &Secrets,
    find: impl Fn(&Session) -> Option<Vec<Finding>>,
) -> Verdict {
    let redactor = Redactor::new(secrets.iter().cloned());
    let clean = |found_in: &Recording| {
        let (start, end) = (0, found_in.source.len());
        let text = found_in.source.read(Span { start, end }).ok()?;
        // What is hidden here is never put back: this is for reports only.
        let clean = redactor.json(&text, &mut Vault::default()).into_owned();
        let recording = read(dialect, Arc::new(clean), goes_on)?;
        let findings = find(recording.sessions.first()?)?;
        Some((recording, findings))
    };
    let (recording, findings) = clean(&found_in).unzip();
    if let Judgement::Holds { why } = &mut judgement {
        *why = redactor.growing(why).into_owned();
    }
    Verdict {
        judgement,
        findings: findings.unwrap_or_default(),
        recording,
    }
}

/// The findings of the last turn.
fn of_turn(findings: Vec<Finding>, standing: &Standing) -> Vec<Finding> {
    let is_of_turn = |finding: &Finding| {
        let found = |fault: &Fault| fault.rule == finding.rule.id && fault.item == finding.item;
        standing.faults.iter().any(found)
    };
    findings.into_iter().filter(is_of_turn).collect()
}

/// A request with a reply behind it, as a history that goes on.
fn stand(
    dialect: Dialect,
    request: &[u8],
    reply: &str,
) -> Option<(Recording, Vec<Finding>, Standing)> {
    let items = history_of(dialect, reply).ok()?;
    if items.is_empty() {
        return None;
    }
    let base = Arc::new(request.to_vec());
    let recording = read(dialect, base.clone(), true)?;
    let splices = lower(recording.sessions.first()?, &[Edit::Extend { items }]).ok()?;
    let rope = Rope::new(base).grown(&splices, None);
    let text = rope
        .read(Span {
            start: 0,
            end: rope.len(),
        })
        .ok()?;
    let recording = read(dialect, Arc::new(text), true)?;
    let (findings, standing) = stands(recording.sessions.first()?)?;
    Some((recording, findings, standing))
}

fn stands(session: &Session) -> Option<(Vec<Finding>, Standing)> {
    let findings = check_session(session, None).ok()?;
    let (take, ledger) = (TakeId::MAIN, Ledger::default());
    let standing = standing_of(session, &findings, &ledger, take, &[take]).ok()?;
    Some((findings, standing))
}

/// A request that its provider would refuse, and for what; `None` where it would not.
fn refused(dialect: Dialect, text: Arc<Vec<u8>>) -> Option<(Recording, Standing)> {
    let recording = read(dialect, text, false)?;
    let session = recording.sessions.first()?;
    let findings = request_findings(session)?;
    if findings.is_empty() {
        return None;
    }
    let standing = request_standing(session, &findings)?;
    (!standing.faults.is_empty()).then_some((recording, standing))
}

fn request_stands(session: &Session) -> Option<(Vec<Finding>, Standing)> {
    let findings = request_findings(session)?;
    let standing = request_standing(session, &findings)?;
    Some((findings, standing))
}

fn request_findings(session: &Session) -> Option<Vec<Finding>> {
    let rules = RULES.iter().copied();
    let rules = rules.filter(|rule| REFUSED_BY_PROVIDERS.contains(&rule.id));
    let rules: Vec<&'static Rule> = rules.collect();
    let (findings, _) = check_run(&Run::new(session, None), &rules).ok()?;
    Some(findings)
}

fn request_standing(session: &Session, findings: &[Finding]) -> Option<Standing> {
    let (take, ledger) = (TakeId::MAIN, Ledger::default());
    standing_of_request(session, findings, &ledger, take, &[take]).ok()
}

/// Reads a request: as what is sent, or as a history that goes on, in which calls at the end wait.
fn read(dialect: Dialect, text: Arc<Vec<u8>>, goes_on: bool) -> Option<Recording> {
    let format = crate::formats::find(target_of(dialect).format())?;
    let input = Input {
        name: String::new(),
        path: None,
        source: text.clone(),
        buffer: Some(text),
        notices: Vec::new(),
        run: Some(format).filter(|_| goes_on),
    };
    // What is in memory and whose format is known needs no head to be known by.
    read_as(format, input, &[], false, &|_, _| ()).ok()
}
