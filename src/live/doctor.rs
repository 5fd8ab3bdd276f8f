//! Whether an agent can go on from a session that it stored: what the provider refuses in the part that the
//! agent sends again, and what the agent loses when it loads it.

use super::Recording;
use super::checking::check_run;
use super::files::is_open_elsewhere;
use super::sqlite::log_of;
use super::stores::Agent;
use retake_core::formats::is_written;
use retake_core::rules::{Finding, RULES, Rule, Run, Severity};
use retake_core::session::{Dialect, Flags, Session, SourceError};
use retake_core::wire::provider_errors::Fault;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What becomes of a session when its agent goes on from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resume {
    GoesOn,
    /// The agent goes on without a part of it.
    Loses,
    /// The provider refuses the next request.
    Refused,
}

/// Rules about what the agent cannot find any more.
const LOST: &[&str] = &["broken-chain"];
/// Rules about a request as a whole: the next one ends otherwise and offers its own tools.
const OF_REQUESTS: &[&str] = &["assistant-prefill", "invalid-tool-definition"];
/// The rule about what a provider refused.
const REFUSED: &str = "provider-error";
/// So long after it was written to, somebody may still be at work on a session.
const FRESH: Duration = Duration::from_secs(60);

fn rules() -> Vec<&'static Rule> {
    let matters = |id| Fault::is_refused(as_sent(id)) || LOST.contains(&id);
    let mut rules = RULES.to_vec();
    rules.retain(|rule| matters(rule.id) && !OF_REQUESTS.contains(&rule.id));
    rules
}

/// The rule that finds the same in what the agent sends: without the call that a compaction cut off, its output
/// is one without a call.
pub fn as_sent(rule: &str) -> &str {
    match rule {
        "split-pair" => "orphan-output",
        rule => rule,
    }
}

/// Why an agent cannot go on from a session as it is, in the order of the history.
pub fn obstacles(session: &Session) -> Result<Vec<Finding>, SourceError> {
    let mut findings = check_run(&mut Run::new(session, None), &rules())?;
    findings.retain(|finding| stops(session, finding));
    Ok(findings)
}

/// Whether a session cannot go on for what was found.
fn stops(session: &Session, finding: &Finding) -> bool {
    let is_read = match finding.rule.id {
        // Only where arguments stand in the request as JSON does a provider read them.
        "malformed-arguments" => finding.get("replay").is_some_and(|it| !it.is_empty()),
        _ => true,
    };
    // What a compaction took out is sent no more.
    let item = finding
        .item
        .and_then(|item| session.items.get(item as usize));
    let is_sent = item.is_none_or(|item| !item.flags.has(Flags::COMPACTED));
    finding.severity == Severity::Error && is_read && is_sent
}

/// What a provider would refuse a request for that holds this session and is about to be sent.
pub fn refusals(session: &Session, target: Option<Dialect>) -> Result<Vec<Finding>, SourceError> {
    let mut rules = RULES.to_vec();
    rules.retain(|rule| Fault::is_refused(as_sent(rule.id)));
    let mut findings = check_run(&mut Run::new(session, target), &rules)?;
    findings.retain(|finding| stops(session, finding));
    Ok(findings)
}

/// The same with what the provider refused last, where nothing came after it. Of a file that agents change, the
/// rules judge what they can: it may have been fixed since; others hold the request as it was sent.
pub fn obstacles_in(recording: &Recording, session: &Session) -> Result<Vec<Finding>, SourceError> {
    let mut found = obstacles(session)?;
    let rules = RULES.iter().filter(|rule| rule.id == REFUSED);
    let rules = rules.copied().collect::<Vec<_>>();
    let refused = check_run(&mut Run::new(session, None), &rules)?;
    let is_obstacle = |refusal: &Finding| {
        let is_known = match refusal.get("rule") {
            Some(rule) => is_written(recording.format) || found.iter().any(|it| it.rule.id == rule),
            None => false,
        };
        refusal.severity == Severity::Error && refusal.refuses_history() && !is_known
    };
    let refused = refused.into_iter().filter(is_obstacle).collect::<Vec<_>>();
    found.extend(refused);
    Ok(found)
}

/// What the agent makes of a session with these obstacles.
pub fn resume_with(obstacles: &[Finding], agent: Option<&Agent>) -> Resume {
    let of_one = |finding: &Finding| {
        let id = as_sent(finding.get("rule").unwrap_or(finding.rule.id));
        match LOST.contains(&id) || agent.is_some_and(|agent| agent.repair(id).is_some()) {
            true => Resume::Loses,
            false => Resume::Refused,
        }
    };
    obstacles.iter().map(of_one).max().unwrap_or(Resume::GoesOn)
}

/// Why a session is left alone that another process has open.
pub const OPEN: &str = "another process has it open";

/// Why a session should be left alone for now: somebody is at work on it.
pub fn in_use(path: &Path) -> Option<&'static str> {
    let with_log = [path.to_owned(), log_of(path, "-wal")];
    let is_fresh = |path: &PathBuf| {
        let modified = path.metadata().and_then(|file| file.modified());
        // A time that is still to come is fresh, too.
        modified.is_ok_and(|time| time.elapsed().unwrap_or_default() < FRESH)
    };
    if with_log.iter().any(is_fresh) {
        return Some("it was written to within the last minute");
    }
    is_open_elsewhere(path).then_some(OPEN)
}
