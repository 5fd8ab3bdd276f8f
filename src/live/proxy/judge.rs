//! Judges requests and replies by the rules, as recordings are judged. What was read and found sound of a
//! conversation is not read and judged again with its next request.

mod reading;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub(crate) use reading::{Continuation, REPEATED, RequestReading};

use crate::lock::lock;
use crate::replies::mark_last_reply;
use crate::{Recording, check_run, check_session};
use bytes::Bytes;
use reading::{Memory, read_anew};
use retake_core::engine::{
    ABOUT_RESULTS, Breakpoint, BreakpointCache, Policy, REFUSED_BY_PROVIDERS, RunFault, RunStatus,
    hits, holds, request_status, run_status,
};
use retake_core::exchange::machine::Judgement;
use retake_core::formats::lower;
use retake_core::redact::{Redactor, Vault};
use retake_core::rules::{CleanItem, Finding, RULES, Rule, Run};
use retake_core::schema::SchemaCache;
use retake_core::session::ledger::Ledger;
use retake_core::session::takes::TakeId;
use retake_core::session::{Dialect, Edit, Rope, Session, Source, Span};
use retake_core::wire::write::history_of;
use retake_core::wire::{stop_of, stops_early};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// Secrets by value, each with what its placeholder calls it.
type Secrets = [(String, String)];

/// The rule about a reason for the end of a reply that the reply contradicts.
const STOP_MISMATCH: &str = "stop-reason-mismatch";

/// By what is judged. Breakpoints come and go while a proxy runs.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    pub(crate) has_operator: bool,
    pub(crate) policy: Policy,
    breakpoints: Mutex<Vec<Breakpoint>>,
    memory: Memory,
    /// The schemas of the tools that are offered again and again.
    compiled: Arc<SchemaCache>,
}

#[derive(Debug)]
pub(crate) struct ExchangeVerdict {
    pub(crate) judgement: Judgement,
    pub(crate) findings: Vec<Finding>,
    /// What it was found in; `None` where that could not be read.
    pub(crate) recording: Option<Recording>,
}

/// Does something about an exchange that must not end with it: `None` where that panics. What cannot be judged
/// passes, as it would have without retake; the panic hook has reported it.
pub(crate) fn shielded<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

impl ExchangeVerdict {
    pub(crate) fn sound() -> Self {
        Self {
            judgement: Judgement::Sound,
            findings: Vec::new(),
            recording: None,
        }
    }
}

impl Judge {
    pub(crate) fn new(has_operator: bool, policy: Policy, breakpoints: Vec<Breakpoint>) -> Self {
        Self {
            has_operator,
            policy,
            breakpoints: Mutex::new(breakpoints),
            memory: Memory::default(),
            compiled: Arc::default(),
        }
    }

    /// Whether anything can be decided at all.
    pub(crate) fn decides(&self) -> bool {
        self.has_operator || !self.policy.is_empty()
    }

    /// Whether the words of a stream are kept back until they were judged: the policy says what is done about
    /// what can only be found in them.
    pub(crate) fn holds_text(&self, request: &RequestReading) -> bool {
        let Some(head) = request.request_head() else {
            return false;
        };
        let names = |rules: &[&str]| rules.iter().any(|rule| self.policy.names(rule));
        (head.has_output_schema && names(&["invalid-final-output", "missing-final-output"]))
            || (head.has_tools && names(&["leaked-tool-call", STOP_MISMATCH]))
    }

    pub(crate) fn set_breakpoints(&self, breakpoints: Vec<Breakpoint>) {
        *lock(&self.breakpoints) = breakpoints;
    }

    /// A request that is to be judged, by what is known of those before it.
    pub(crate) fn recall(&self, dialect: Dialect, body: Bytes) -> Arc<RequestReading> {
        #[cfg(test)]
        tests::fail_on_purpose("look", &body);
        self.memory.recall(dialect, body)
    }

    /// Judges a request before it leaves: what its provider would refuse.
    pub(crate) fn request(
        &self,
        request: &Arc<RequestReading>,
        secrets: &Secrets,
    ) -> ExchangeVerdict {
        #[cfg(test)]
        tests::fail_on_purpose("request", request.body());
        let Some((text, standing)) = self.refused(request) else {
            return ExchangeVerdict::sound();
        };
        let judgement = self.judgement(&standing.faults);
        let found_in = (text, request.dialect(), false, None);
        let secrets = (secrets, tools_of(request));
        reportable(found_in, judgement, secrets, &standing, |session| {
            self.request_findings(session, |_| Vec::new())
        })
    }

    /// Judges a reply after its request. One that is not whole may still say why it ends.
    pub(crate) fn reply(
        &self,
        request: &Arc<RequestReading>,
        (reply, is_whole): (&str, bool),
        secrets: &Secrets,
    ) -> ExchangeVerdict {
        #[cfg(test)]
        tests::fail_on_purpose("reply", request.body());
        let Some((text, findings, standing)) = self.stand(request, reply) else {
            return ExchangeVerdict::sound();
        };
        let mut judgement = self.judgement(&standing.faults);
        if judgement == Judgement::Sound
            && let Some(why) = self.stops(&standing)
        {
            judgement = Judgement::Holds { why };
        }
        // Anthropic reports only after a call that the token limit cut it off.
        let may_be_cut = |fault: &RunFault| fault.rule == "malformed-arguments";
        if !is_whole
            && request.dialect().facts().tells_cut_late
            && standing.faults.iter().any(may_be_cut)
        {
            return ExchangeVerdict {
                judgement: Judgement::Unclear,
                ..ExchangeVerdict::sound()
            };
        }
        let findings = of_turn(findings, &standing);
        if findings.is_empty() {
            return ExchangeVerdict {
                judgement,
                ..ExchangeVerdict::sound()
            };
        }
        let stop = self.stop_of(reply);
        let found_in = (text, request.dialect(), true, stop.as_deref());
        let secrets = (secrets, tools_of(request));
        reportable(found_in, judgement, secrets, &standing, |session| {
            check_session(session, None).ok()
        })
    }

    /// Why a reply ended, where that is judged: early, or in any way where the policy says what is done about a
    /// reason that the reply contradicts.
    fn stop_of(&self, reply: &str) -> Option<String> {
        let is_judged = |word: &String| stops_early(word) || self.policy.names(STOP_MISMATCH);
        stop_of(reply).filter(is_judged)
    }

    /// The request as it was read, now or before.
    fn read<'r>(&self, request: &'r Arc<RequestReading>) -> Option<&'r Session> {
        let recording = request.read()?;
        self.memory.keep(request);
        recording.sessions.first()
    }

    /// A request that its provider would refuse, and for what; `None` where it would not.
    fn refused(&self, request: &Arc<RequestReading>) -> Option<(Arc<dyn Source>, RunStatus)> {
        let session = self.read(request)?;
        if request.is_sound() {
            return None;
        }
        let findings = self.request_findings(session, |run| request.known_of_itself(run))?;
        if findings.is_empty() {
            request.was_found_sound();
            return None;
        }
        let standing = request_standing(session, &findings)?;
        (!standing.faults.is_empty()).then(|| (request.source(), standing))
    }

    /// A request and its reply as one history: its text and its standing.
    fn stand(
        &self,
        request: &Arc<RequestReading>,
        reply: &str,
    ) -> Option<(Arc<dyn Source>, Vec<Finding>, RunStatus)> {
        let items = history_of(request.dialect(), reply).ok()?;
        if items.is_empty() {
            return None;
        }
        let splices = lower(self.read(request)?, &[Edit::Extend { items }]).ok()?;
        let rope = Arc::new(Rope::new(request.source()).grown(&splices, None));
        let stop = self.stop_of(reply);
        let Some(mut recording) = request.with_reply(&rope, &splices) else {
            let text = whole(&*rope)?;
            let mut recording = read_anew(request.dialect(), text.clone(), &text, true)?;
            mark(&mut recording, stop.as_deref());
            let (findings, standing) = findings_and_standing(recording.sessions.first()?)?;
            return Some((text, findings, standing));
        };
        mark(&mut recording, stop.as_deref());
        let run = Run::new(recording.sessions.first()?, None).compiling(&self.compiled);
        let known = request.known(&run, &rope);
        let knows = known.len();
        let mut run = run.knowing(known);
        let findings = check_run(&mut run, RULES).ok()?;
        request.learn(&run, (&rope, knows), &findings);
        let standing = standing(run.session, &findings)?;
        Some((rope, findings, standing))
    }

    /// What the provider would refuse the request for, and what is wrong with the outputs that it brings, where
    /// the policy says what is done about that: reading all outputs of a long history takes a while.
    fn request_findings(
        &self,
        session: &Session,
        known: impl FnOnce(&Run<'_>) -> Vec<CleanItem>,
    ) -> Option<Vec<Finding>> {
        let is_asked = |rule: &&Rule| {
            REFUSED_BY_PROVIDERS.contains(&rule.id)
                || (ABOUT_RESULTS.contains(&rule.id) && self.policy.names(rule.id))
        };
        let rules: Vec<&'static Rule> = RULES.iter().copied().filter(is_asked).collect();
        let run = Run::new(session, None).compiling(&self.compiled);
        let known = known(&run);
        check_run(&mut run.knowing(known), &rules).ok()
    }

    fn judgement(&self, faults: &[RunFault]) -> Judgement {
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
    fn stops(&self, standing: &RunStatus) -> Option<String> {
        if !self.has_operator {
            return None;
        }
        let breakpoints = lock(&self.breakpoints);
        let hit = hits(&breakpoints, standing, &mut BreakpointCache::default());
        let hit = hit.first()?;
        let of = breakpoints.iter().find(|one| one.number == hit.number)?;
        Some(format!("breakpoint {}: {}", hit.number, of.on))
    }
}

/// What of a verdict may be reported: the same findings in a text without secrets. What only a placeholder breaks,
/// by its length or its letters, is none.
fn reportable(
    (found_in, dialect, goes_on, stop): (Arc<dyn Source>, Dialect, bool, Option<&str>),
    mut judgement: Judgement,
    (secrets, tools): (&Secrets, Vec<&str>),
    standing: &RunStatus,
    find: impl Fn(&Session) -> Option<Vec<Finding>>,
) -> ExchangeVerdict {
    let redactor = Redactor::sparing(secrets.iter().cloned(), tools);
    let clean = || {
        let text = whole(&*found_in)?;
        // What is hidden here is never put back: this is for reports only.
        let clean = redactor.json(&text, &mut Vault::default()).into_owned();
        let clean = Arc::new(clean);
        let mut recording = read_anew(dialect, clean.clone(), &clean, goes_on)?;
        mark(&mut recording, stop);
        let findings = find(recording.sessions.first()?)?;
        Some((recording, of_turn(findings, standing)))
    };
    let (recording, findings) = clean().unzip();
    if let Judgement::Holds { why } = &mut judgement {
        *why = redactor.growing(why).into_owned();
    }
    ExchangeVerdict {
        judgement,
        findings: findings.unwrap_or_default(),
        recording,
    }
}

/// The names of the tools that a request offers: whatever key equals one, it stays.
fn tools_of(request: &Arc<RequestReading>) -> Vec<&str> {
    let session = request.read().and_then(|read| read.sessions.first());
    let sets = session.map_or(&[][..], |session| &session.contract.tool_sets);
    let tools = sets.iter().flat_map(|set| &set.tools);
    tools.map(|tool| &*tool.name).collect()
}

/// All bytes of a text.
fn whole(source: &dyn Source) -> Option<Arc<Vec<u8>>> {
    let (start, end) = (0, source.len());
    source.read(Span { start, end }).ok().map(Arc::new)
}

/// The findings of the last turn.
fn of_turn(findings: Vec<Finding>, standing: &RunStatus) -> Vec<Finding> {
    let places = standing.faults.iter();
    let places: HashSet<_> = places.map(|fault| (fault.rule, fault.item)).collect();
    let findings = findings.into_iter();
    let of_turn = findings.filter(|finding| places.contains(&(finding.rule.id, finding.item)));
    of_turn.collect()
}

fn findings_and_standing(session: &Session) -> Option<(Vec<Finding>, RunStatus)> {
    let findings = check_session(session, None).ok()?;
    let standing = standing(session, &findings)?;
    Some((findings, standing))
}

fn standing(session: &Session, findings: &[Finding]) -> Option<RunStatus> {
    let (take, ledger) = (TakeId::MAIN, Ledger::default());
    run_status(session, findings, &ledger, take, &[take]).ok()
}

fn request_standing(session: &Session, findings: &[Finding]) -> Option<RunStatus> {
    let (take, ledger) = (TakeId::MAIN, Ledger::default());
    request_status(session, findings, &ledger, take, &[take]).ok()
}

/// Marks the last reply with why it ended early, where it did.
fn mark(recording: &mut Recording, stop: Option<&str>) {
    if let Some(stop) = stop {
        let sessions = recording.sessions.iter_mut();
        sessions.for_each(|session| mark_last_reply(session, stop));
    }
}
