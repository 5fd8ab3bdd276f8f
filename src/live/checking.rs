//! Runs the rules on all cores: items in parts side by side, then the session as a whole.

use super::{Recording, mark_repaired, mark_resolved};
use rayon::prelude::*;
use retake_core::rules::{self, Digests, Finding, HINTS, RULES, Rule, Run};
use retake_core::session::{Dialect, Rope, Session, SourceError};
use std::any::Any;
use std::collections::HashSet;
use std::sync::Arc;

/// How many items one task checks.
const PART: usize = 4096;

/// The findings of a session, in the order of the history. What a take has answered is marked so, in a take of
/// it and in a run, and what was fixed on its way to a client.
pub fn check_session(
    session: &Session,
    target: Option<Dialect>,
) -> Result<Vec<Finding>, SourceError> {
    let mut findings = check_run(&mut Run::new(session, target), RULES)?;
    if let Some(rope) = (&*session.source as &dyn Any).downcast_ref::<Rope>() {
        mark_resolved(session, rope, &mut findings);
    }
    if session.was_repaired {
        mark_repaired(&mut findings);
    }
    Ok(findings)
}

/// The findings of some rules in a session that was prepared, in the order of the history.
pub fn check_run(run: &mut Run<'_>, rules: &[&'static Rule]) -> Result<Vec<Finding>, SourceError> {
    let count = run.session.items.len();
    if count <= PART {
        return rules::check_by(run, rules);
    }
    let parts = (0..count)
        .into_par_iter()
        .step_by(PART)
        .map(|from| rules::check_items(&*run, from..(from + PART).min(count), rules))
        .collect::<Result<Vec<_>, _>>()?;
    let (found, digests): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    run.digests = Digests::new(digests.into_iter().flatten().collect());
    let run = &*run;
    let of_session = rules.par_iter().map(|rule| {
        let mut findings = Vec::new();
        rules::check_rule(rule, run, &mut findings);
        findings
    });
    let of_session = of_session.collect::<Vec<_>>();
    let mut findings = found.into_iter().chain(of_session).flatten().collect();
    rules::check_findings(run, rules, &mut findings);
    rules::sort(&mut findings);
    Ok(findings)
}

/// The findings of each session of a recording. What a branch shares with its conversation is reported there alone.
pub fn check_recording(
    recording: &Recording,
    target: Option<Dialect>,
) -> Result<Vec<Vec<Finding>>, SourceError> {
    let sessions = recording.sessions.iter();
    let found = sessions.map(|session| check_session(session, target));
    let mut found = found.collect::<Result<Vec<_>, _>>()?;
    leave_out_repeated(&recording.sessions, &mut found);
    Ok(found)
}

pub(crate) fn leave_out_repeated(sessions: &[Session], found: &mut [Vec<Finding>]) {
    let mut known = HashSet::new();
    for is_active in [true, false] {
        for (session, findings) in sessions.iter().zip(found.iter_mut()) {
            if session.active != is_active {
                continue;
            }
            let source = Arc::as_ptr(&session.source).cast::<()>();
            let place = |finding: &Finding| {
                let item = session.items.get(finding.item? as usize)?;
                Some((finding.rule.id, source, item.kind, item.span))
            };
            if !is_active {
                findings.retain(|it| place(it).is_none_or(|at| !known.contains(&at)));
            }
            known.extend(findings.iter().filter_map(place));
        }
    }
}

/// The same with the hints that no rule gives ([`HINTS`]).
pub fn check_with_hints(
    recording: &Recording,
    target: Option<Dialect>,
) -> Result<Vec<Vec<Finding>>, SourceError> {
    let mut findings = check_recording(recording, target)?;
    for (session, findings) in recording.sessions.iter().zip(&mut findings) {
        findings.extend(check_run(&mut Run::new(session, target), HINTS)?);
        rules::sort(findings);
    }
    Ok(findings)
}
