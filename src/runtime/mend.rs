//! Applies what the rules offer until nothing is left to apply: round by round, because one mended defect may show another.

use super::{Base, InputError, Progress, Recording, check_run, settle};
use crate::actions::{self, Choice, Planned, Safety};
use crate::formats::{CannotWrite, lower};
use crate::rules::{Faultless, Finding, RULES, Run, beside, mending_rules};
use crate::session::{Dialect, Edit, Rope, Session, Splice};
use std::collections::HashSet;
use std::sync::Arc;

/// How a recording is mended.
pub struct Mending<'a> {
    /// The recording.
    pub base: &'a Base,
    /// How unsafe an action may be: `Safe`, or `Unsafe` as well. What needs words is never applied.
    pub up_to: Safety,
    /// The dialect that the result must satisfy; that of the recording if `None`.
    pub target: Option<Dialect>,
    /// Adds what is known from outside of the file to a recording that was read.
    pub complete: &'a dyn Fn(&mut Recording),
    /// Told how far reading has come.
    pub progress: Progress<'a>,
    /// Told each text before it is looked at whether anything is left in it: it may be the last.
    pub mended: &'a dyn Fn(&Arc<Rope>),
}

/// What mending did.
#[derive(Debug)]
pub struct Mended {
    /// The mended text.
    pub rope: Arc<Rope>,
    /// What was applied, in order.
    pub applied: Vec<Applied>,
    /// What was found at first, and what is left, by session.
    pub findings: [Vec<Vec<Finding>>; 2],
    /// The sessions as they read now.
    pub recording: Arc<Recording>,
    /// Why offers could not be carried out.
    pub refused: Vec<CannotWrite>,
}

/// One action that was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The round, from 1; item numbers are those of its beginning.
    pub round: usize,
    /// Index of the session.
    pub session: usize,
    /// Index of the item in it.
    pub item: u32,
    /// Id of the rule.
    pub rule: &'static str,
    /// Id of the action.
    pub action: &'static str,
    /// What the action has to say.
    pub notes: Vec<String>,
}

/// Mending ends after so many rounds: two actions that undo each other would go on for ever.
const MOST_ROUNDS: usize = 8;

/// A plan of one finding.
struct Plan {
    applied: Applied,
    edits: Vec<Edit>,
}

impl Mending<'_> {
    /// Mends the recording.
    pub fn run(&self) -> Result<Mended, InputError> {
        let mut rope = self.base.rope().clone();
        let mut recording = self.base.recording().clone();
        let mut faultless = Vec::new();
        let mut findings = self.check(&recording, &rope, &mut faultless)?;
        let first = findings.clone();
        let (mut applied, mut refused) = (Vec::new(), Vec::new());
        for round in 1..=MOST_ROUNDS {
            let (mut splices, mut done) = (Vec::new(), Vec::new());
            refused.clear();
            for (number, session) in recording.sessions.iter().enumerate() {
                let plans = self.plans(round, number, session, &findings[number]);
                carry_out(session, plans, &mut splices, &mut done, &mut refused);
            }
            if done.is_empty() {
                break;
            }
            let next = Arc::new(rope.spliced(&splices));
            (self.mended)(&next);
            let mut read = self
                .base
                .read_again(&recording, &splices, &next, self.progress)?;
            (self.complete)(&mut read);
            let found = self.check(&read, &next, &mut faultless)?;
            applied.append(&mut done);
            (rope, recording, findings) = (next, Arc::new(read), found);
        }
        Ok(Mended {
            rope,
            applied,
            findings: [first, findings],
            recording,
            refused,
        })
    }

    /// The findings by session. `faultless` is what the check before knows of the items of each, and is told what this one knows.
    fn check(
        &self,
        recording: &Recording,
        rope: &Rope,
        faultless: &mut Vec<Faultless>,
    ) -> Result<Vec<Vec<Finding>>, InputError> {
        let rules = match self.up_to {
            Safety::Safe => mending_rules(),
            Safety::Unsafe | Safety::Manual => RULES.to_vec(),
        };
        faultless.resize_with(recording.sessions.len(), Faultless::default);
        let sessions = recording.sessions.iter().zip(faultless);
        let found = sessions.map(|(session, faultless)| {
            let run = Run::new(session, self.target);
            let known = faultless.among(&run, rope);
            let run = run.knowing(known);
            let (mut findings, digests) = check_run(&run, &rules)?;
            *faultless = Faultless::of(&run, rope, &findings, &digests);
            settle(session, rope, &mut findings);
            Ok(findings)
        });
        found.collect()
    }

    /// What is to be done in one round: at most one plan for an item.
    fn plans(
        &self,
        round: usize,
        number: usize,
        session: &Session,
        findings: &[Finding],
    ) -> Vec<Plan> {
        let run = Run::new(session, self.target);
        let mut touched = HashSet::new();
        let mut plans = Vec::new();
        for finding in findings {
            let Some(item) = finding.item.filter(|item| !touched.contains(item)) else {
                continue;
            };
            let Some((action, planned)) = self.plan(&run, finding, findings) else {
                continue;
            };
            let items: Vec<u32> = planned.edits.iter().flat_map(items_of).collect();
            if items.iter().any(|item| touched.contains(item)) {
                continue;
            }
            touched.extend(items);
            touched.insert(item);
            plans.push(Plan {
                applied: Applied {
                    round,
                    session: number,
                    item,
                    rule: finding.rule.id,
                    action,
                    notes: planned.notes,
                },
                edits: planned.edits,
            });
        }
        plans
    }

    /// The first offer of a finding that changes something by itself.
    fn plan(
        &self,
        run: &Run<'_>,
        finding: &Finding,
        findings: &[Finding],
    ) -> Option<(&'static str, Planned)> {
        let beside = beside(run.session, findings, finding);
        let scene = run.scene(finding.defect(), &beside)?;
        let offers = finding
            .offers
            .iter()
            .filter(|offer| offer.safety <= self.up_to);
        offers
            .filter_map(|offer| {
                let action = actions::find(offer.action)?;
                let planned = (action.plan)(&scene, &Choice::default()).ok()?;
                Some((action.id, planned))
            })
            .find(|(_, planned)| changes_by_itself(planned))
    }
}

/// Whether a plan leads somewhere without a model: one that cuts the history waits for a new reply.
fn changes_by_itself(planned: &Planned) -> bool {
    let cuts = |edit: &Edit| matches!(edit, Edit::Cut { .. });
    !planned.edits.is_empty() && !planned.edits.iter().any(cuts)
}

/// The items that an edit changes.
fn items_of(edit: &Edit) -> Vec<u32> {
    match edit {
        Edit::Rewrite { item, .. } | Edit::Drop { item } | Edit::Degrade { item, .. } => {
            vec![*item]
        }
        Edit::Answer { call, .. } => vec![*call],
        Edit::Move { output, call } => vec![*output, *call],
        Edit::Say { after, .. } => vec![*after],
        Edit::Cut { from } => vec![*from],
    }
}

/// Turns plans into splices. Where they meet in one place, some wait for the next round.
fn carry_out(
    session: &Session,
    plans: Vec<Plan>,
    splices: &mut Vec<Splice>,
    done: &mut Vec<Applied>,
    refused: &mut Vec<CannotWrite>,
) {
    if plans.is_empty() {
        return;
    }
    let edits: Vec<Edit> = plans
        .iter()
        .flat_map(|plan| plan.edits.iter().cloned())
        .collect();
    match lower(session, &edits) {
        Ok(found) if !meets(splices, &found) => {
            splices.extend(found);
            splices.sort_by_key(|splice| (splice.at.start, splice.at.end));
            done.extend(plans.into_iter().map(|plan| plan.applied));
        }
        Ok(_) | Err(CannotWrite::Conflict(_)) if plans.len() == 1 => {}
        Err(error) if plans.len() == 1 => refused.push(error),
        Ok(_) | Err(_) => {
            let mut plans = plans;
            let rest = plans.split_off(plans.len() / 2);
            carry_out(session, plans, splices, done, refused);
            carry_out(session, rest, splices, done, refused);
        }
    }
}

/// Whether splices touch each other; both lists are in order.
fn meets(known: &[Splice], new: &[Splice]) -> bool {
    new.iter().any(|splice| {
        let after = known.partition_point(|other| other.at.end < splice.at.start);
        known[after..]
            .iter()
            .take_while(|other| other.at.start <= splice.at.end)
            .next()
            .is_some()
    })
}
