//! Applies what the rules offer until nothing is left to apply: round by round, because one fixed
//! defect may show another.

use crate::checking::leave_out_repeated;
use crate::{Base, InputError, Progress, Recording, check_run};
use retake_core::actions::{self, ActionError, ActionInput, Defect, Offer, Plan, Safety};
use retake_core::formats::{CannotWrite, lower};
use retake_core::rules::{CleanCache, Finding, RULES, Run, Severity, mending_rules, of_turn};
use retake_core::session::{
    Dialect, Edit, PairStatus, Rope, Session, Splice, index_number, recorded,
};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

pub(crate) mod chosen;
mod text;

pub struct FixRun<'a> {
    pub base: &'a Base,
    /// How unsafe an action may be: `Safe`, or for errors `Unsafe` as well. What needs words is never applied.
    pub up_to: Safety,
    /// The dialect that the result must satisfy; that of the recording if `None`.
    pub target: Option<Dialect>,
    /// Whether anything is done to the session of this index.
    pub wants: &'a dyn Fn(usize) -> bool,
    /// Adds what is known from outside of the file to a recording that was read.
    pub complete: &'a dyn Fn(&mut Recording),
    /// Told how far reading has come.
    pub progress: Progress<'a>,
    /// Told each text before it is looked at whether anything is left in it: it may be the last.
    pub before_check: &'a dyn Fn(&Arc<Rope>),
    /// Whether a last line that was not written to its end goes: what is appended to it is lost with it.
    pub cuts_torn_line: bool,
    /// Whether the operator named the format: a fixed text need not show it.
    pub names_format: bool,
}

#[derive(Debug)]
pub struct FixReport {
    pub rope: Arc<Rope>,
    pub applied: Vec<Applied>,
    /// How many strings were spelled anew because JSON does not allow them as they were.
    pub respelled: usize,
    /// The bytes of the last line, where it was not written to its end.
    pub torn: u64,
    /// Whether that line was cut.
    pub is_cut: bool,
    /// What was found at first, and what is left: the check of the fixed text.
    pub found: [Tally; 2],
    /// For how many of the errors that are left an unsafe action is offered, by rule.
    pub unsafe_offers: BTreeMap<&'static str, usize>,
    /// The sessions as they read now.
    pub recording: Arc<Recording>,
    /// What was to be applied and could not be: offers that the file has no place for, and safe ones
    /// that their actions refuse.
    pub refused: Vec<FixRefusal>,
}

/// The warnings that are left, as `check` finds them in the text that is written: it knows nothing of who wrote
/// what. Mending looks only for what can be mended: here all rules look.
pub fn warnings_left(
    report: &FixReport,
    target: Option<Dialect>,
) -> Result<BTreeMap<&'static str, usize>, InputError> {
    let mut left = BTreeMap::new();
    let sessions = &report.recording.sessions;
    let found = sessions
        .iter()
        .map(|session| check_run(&mut Run::new(session, target), RULES));
    let mut found = found.collect::<Result<Vec<_>, _>>()?;
    leave_out_repeated(sessions, &mut found);
    for finding in found.iter().flatten() {
        if finding.severity == Severity::Warning {
            *left.entry(finding.rule.id).or_default() += 1;
        }
    }
    Ok(left)
}

/// How many findings there are of each severity and rule.
pub type Tally = BTreeMap<(Severity, &'static str), usize>;

impl FixReport {
    /// Whether the text is another than before.
    pub fn is_changed(&self) -> bool {
        !self.applied.is_empty() || self.respelled > 0 || self.is_cut
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The round, from 1; item numbers are those of its beginning.
    pub round: usize,
    pub session: usize,
    pub item: u32,
    pub rule: &'static str,
    pub action: &'static str,
    pub notes: Vec<String>,
}

#[derive(Debug)]
pub struct FixRefusal {
    pub session: usize,
    /// Index of the item in it, as it is now.
    pub item: u32,
    pub rule: &'static str,
    pub action: &'static str,
    pub reason: FixRefusalReason,
}

#[derive(Debug, thiserror::Error)]
pub enum FixRefusalReason {
    #[error(transparent)]
    Action(ActionError),
    #[error(transparent)]
    Writing(CannotWrite),
    /// The round that it was part of left no fewer findings than there were before.
    #[error("it was taken back: it mends nothing here")]
    NoGain,
}

/// Mending ends after so many rounds without gain: two actions that undo each other would go on for ever.
const MOST_IDLE: usize = 8;

/// The action that answers a call with an error.
const ANSWER: &str = "inject-error";

/// What the safe offers of a session would do to it at once. What that leaves to fix is seen once it is checked again.
#[derive(Debug, Default)]
pub struct SafeFixes {
    pub edits: Vec<Edit>,
    pub applied: Vec<Applied>,
    pub refused: Vec<FixRefusal>,
}

/// Plans everything that is safe about the findings of a session, and changes nothing.
pub fn safe_fixes(session: &Session, findings: &[Finding], target: Option<Dialect>) -> SafeFixes {
    let planner = Planner {
        up_to: Safety::Safe,
        target,
    };
    let (round, refused) = planner.round(1, std::iter::once((0, session, findings)));
    let mut fixes = SafeFixes {
        refused,
        ..SafeFixes::default()
    };
    for plan in round.done {
        fixes.edits.extend(plan.edits);
        fixes.applied.push(plan.applied);
    }
    fixes
}

/// How plans are chosen.
#[derive(Clone, Copy)]
struct Planner {
    up_to: Safety,
    target: Option<Dialect>,
}

struct PlannedFix {
    applied: Applied,
    edits: Vec<Edit>,
}

impl PlannedFix {
    fn refused(&self, reason: FixRefusalReason) -> FixRefusal {
        FixRefusal {
            session: self.applied.session,
            item: self.applied.item,
            rule: self.applied.rule,
            action: self.applied.action,
            reason,
        }
    }
}

impl FixRefusal {
    /// What was applied and taken back.
    fn without_gain(applied: &Applied) -> Self {
        Self {
            session: applied.session,
            item: applied.item,
            rule: applied.rule,
            action: applied.action,
            reason: FixRefusalReason::NoGain,
        }
    }
}

/// The result of a check, and what of it is still to be fixed.
struct Checked {
    /// By session.
    findings: Vec<Vec<Finding>>,
    tally: Tally,
}

/// What came of one round.
#[derive(Default)]
struct Round {
    /// In the order of their places.
    splices: Vec<Splice>,
    done: Vec<PlannedFix>,
    /// Plans that cannot be written.
    unwritten: Vec<(PlannedFix, CannotWrite)>,
    /// Safe offers that their actions refused.
    refused: Vec<FixRefusal>,
}

/// How many errors of each rule offer an unsafe action.
fn unsafe_offers(findings: &[Vec<Finding>]) -> BTreeMap<&'static str, usize> {
    let errors = findings.iter().flatten();
    let errors = errors.filter(|finding| finding.severity == Severity::Error);
    let mut offers = BTreeMap::new();
    for finding in errors {
        let mut safeties = finding.offers.iter().map(|offer| offer.safety);
        if safeties.any(|safety| safety == Safety::Unsafe) {
            *offers.entry(finding.rule.id).or_default() += 1;
        }
    }
    offers
}

/// The offers that cannot be written in a text as it is: session, item, rule, action.
type Barred = HashSet<(usize, u32, &'static str, &'static str)>;

/// A text on the way, and what a check says of it.
#[derive(Clone)]
struct State {
    rope: Arc<Rope>,
    recording: Arc<Recording>,
    checked: Arc<Checked>,
}

impl State {
    /// How many errors, warnings and notes are left; the fewer of the worst, the better.
    fn left(&self) -> [usize; 3] {
        let all = || self.checked.findings.iter().flatten();
        [Severity::Error, Severity::Warning, Severity::Info]
            .map(|severity| all().filter(|finding| finding.severity == severity).count())
    }
}

impl FixRun<'_> {
    /// Mends the recording. What comes out is the best of the texts on the way: rounds that left it no
    /// better are taken back.
    pub fn run(&self) -> Result<FixReport, InputError> {
        let mut faultless = Vec::new();
        let (rope, recording) = (self.base.rope().clone(), self.base.recording().clone());
        let checked = Arc::new(self.check(&recording, &rope, &mut faultless)?);
        let first = checked.tally.clone();
        let mut state = State {
            rope,
            recording,
            checked,
        };
        let torn = text::torn_line(&state.rope, &state.recording)?;
        let mut splices = text::spelling(&state.rope, &state.recording)?;
        splices.retain(|splice| torn.is_none_or(|torn| splice.at.end <= torn.start));
        let respelled = splices.len();
        let cut = torn.filter(|_| self.cuts_torn_line);
        splices.extend(cut.map(|at| Splice {
            at,
            with: Vec::new(),
        }));
        if !splices.is_empty() {
            state = self.follow(&state, &splices, &mut faultless)?;
        }
        let (mut best, mut kept, mut idle) = (state.clone(), 0, 0);
        let mut applied = Vec::new();
        let mut refused = loop {
            let number = applied
                .last()
                .map_or(1, |applied: &Applied| applied.round + 1);
            let planner = Planner {
                up_to: self.up_to,
                target: self.target,
            };
            let sessions = state.recording.sessions.iter();
            let sessions = sessions.zip(&state.checked.findings).enumerate();
            let sessions = sessions.filter(|(index, _)| (self.wants)(*index));
            let sessions = sessions.map(|(index, (session, found))| (index, session, &found[..]));
            let (round, refused) = planner.round(number, sessions);
            if round.done.is_empty() {
                break refused;
            }
            state = self.follow(&state, &round.splices, &mut faultless)?;
            applied.extend(round.done.into_iter().map(|plan| plan.applied));
            if !self.names_format
                && !text::is_read_alike(self.base.rope(), &state.rope, &state.recording)?
            {
                break Vec::new();
            }
            idle += 1;
            if state.left() < best.left() {
                (best, kept, idle) = (state.clone(), applied.len(), 0);
            }
            if idle == MOST_IDLE {
                break Vec::new();
            }
        };
        let lost = applied.split_off(kept);
        if let Some(first) = lost.first() {
            // Later rounds stand on what this one did.
            let of_round = lost.iter().filter(|one| one.round == first.round);
            refused = of_round.map(FixRefusal::without_gain).collect();
        }
        let State {
            rope,
            recording,
            checked,
        } = best;
        Ok(FixReport {
            unsafe_offers: unsafe_offers(&checked.findings),
            rope,
            applied,
            respelled,
            torn: torn.map_or(0, |line| line.len()),
            is_cut: cut.is_some(),
            found: [first, checked.tally.clone()],
            recording,
            refused,
        })
    }

    /// The text with splices, read and checked.
    fn follow(
        &self,
        before: &State,
        splices: &[Splice],
        faultless: &mut Vec<CleanCache>,
    ) -> Result<State, InputError> {
        let rope = Arc::new(before.rope.spliced(splices));
        (self.before_check)(&rope);
        let read = self
            .base
            .read_again(&before.recording, splices, &rope, self.progress);
        let mut recording = read?;
        (self.complete)(&mut recording);
        let checked = Arc::new(self.check(&recording, &rope, faultless)?);
        Ok(State {
            rope,
            recording: Arc::new(recording),
            checked,
        })
    }

    /// The findings by session. `faultless` is what the check before knows of the items of each; it gets
    /// what this one knows.
    fn check(
        &self,
        recording: &Recording,
        rope: &Rope,
        faultless: &mut Vec<CleanCache>,
    ) -> Result<Checked, InputError> {
        let mut tally = Tally::new();
        let rules = match self.up_to {
            Safety::Safe => mending_rules(),
            Safety::Unsafe | Safety::Manual => RULES.to_vec(),
        };
        faultless.resize_with(recording.sessions.len(), CleanCache::default);
        let sessions = recording.sessions.iter().zip(faultless);
        let found = sessions.map(|(session, faultless)| {
            let run = Run::new(session, self.target);
            // Spans of items that were made of records are none of the text.
            let is_in_text = session.file.is_none();
            let place = |span| recorded(rope, span).filter(|_| is_in_text);
            let known = faultless.among(&run, place);
            let mut run = run.knowing(known);
            let findings = check_run(&mut run, &rules)?;
            *faultless = CleanCache::of(&run, place, &findings);
            count(&findings, &mut tally);
            Ok(findings)
        });
        let findings = found.collect::<Result<_, InputError>>()?;
        Ok(Checked { findings, tally })
    }
}

impl Planner {
    /// Carries out what can be done to the text as it is. Where nothing can be, what is refused
    /// comes with the reasons. Sessions come with their numbers and their findings.
    fn round<'a>(
        self,
        number: usize,
        sessions: impl Iterator<Item = (usize, &'a Session, &'a [Finding])> + Clone,
    ) -> (Round, Vec<FixRefusal>) {
        let (mut barred, mut refused) = (Barred::new(), Vec::new());
        loop {
            let mut round = Round::default();
            for (index, session, findings) in sessions.clone() {
                let place = (number, index);
                let plans = self.plans(place, session, findings, &barred, &mut round);
                carry_out(session, plans, &mut round);
            }
            if !round.done.is_empty() || round.unwritten.is_empty() {
                refused.append(&mut round.refused);
                refused.sort_by_key(|refused| (refused.session, refused.item));
                return (round, refused);
            }
            // What stood back for a plan that came to nothing has its turn.
            for (plan, error) in round.unwritten {
                let Applied {
                    session,
                    item,
                    rule,
                    action,
                    ..
                } = plan.applied;
                barred.insert((session, item, rule, action));
                refused.push(plan.refused(FixRefusalReason::Writing(error)));
            }
        }
    }

    /// What is to be done in one round: at most one plan for an item and its partner, since a pair
    /// changes with either half.
    fn plans(
        self,
        (round, number): (usize, usize),
        session: &Session,
        findings: &[Finding],
        barred: &Barred,
        outcome: &mut Round,
    ) -> Vec<PlannedFix> {
        let run = Run::new(session, self.target);
        let (mut touched, mut anchors) = (HashSet::new(), HashSet::new());
        let mut turn = None;
        let mut plans = Vec::new();
        for finding in findings {
            let Some(item) = finding.item.filter(|item| !touched.contains(item)) else {
                continue;
            };
            let rule = finding.rule.id;
            let is_barred = |action| barred.contains(&(number, item, rule, action));
            let offers = Offers {
                place: (number, item),
                finding,
                up_to: self.up_to,
            };
            let own = session.items.get(item as usize).map(|item| item.turn);
            // Findings are in the order of the history: one turn after the other.
            if turn.as_ref().is_none_or(|(known, _)| *known != own) {
                turn = Some((own, of_turn(session, findings, finding)));
            }
            let beside = turn.as_ref().map_or(&[][..], |(_, defects)| defects);
            let Some((offer, planned)) = offers.first(&run, beside, is_barred, outcome) else {
                continue;
            };
            let items = touched_by(session, item, &planned.edits);
            let said_after = said_after(session, &planned.edits);
            let meets = |item: &u32| touched.contains(item) || anchors.contains(item);
            if items.iter().any(meets) || said_after.iter().any(|item| touched.contains(item)) {
                continue;
            }
            touched.extend(items);
            anchors.extend(said_after);
            plans.push(PlannedFix {
                applied: Applied {
                    round,
                    session: number,
                    item,
                    rule,
                    action: offer.action,
                    notes: planned.notes,
                },
                edits: planned.edits,
            });
        }
        plans
    }
}

fn count(findings: &[Finding], tally: &mut Tally) {
    for finding in findings {
        *tally
            .entry((finding.severity, finding.rule.id))
            .or_default() += 1;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

// Which offer of a finding is carried out.

/// The offers of one finding.
struct Offers<'a> {
    place: (usize, u32),
    finding: &'a Finding,
    up_to: Safety,
}

impl Offers<'_> {
    /// The first that changes something by itself. If there is none, `round` gets the reasons why the
    /// safe ones are refused.
    fn first(
        &self,
        run: &Run<'_>,
        beside: &[Defect<'_>],
        is_barred: impl Fn(&'static str) -> bool,
        round: &mut Round,
    ) -> Option<(Offer, Plan)> {
        let refused = &mut round.refused;
        // What the provider accepts is no reason to change what the model saw.
        let up_to = match self.finding.severity {
            Severity::Error => self.up_to,
            Severity::Warning | Severity::Info => Safety::Safe,
        };
        let mut offers = self
            .finding
            .offers
            .iter()
            .filter(|offer| offer.safety <= up_to && !is_barred(offer.action))
            .peekable();
        offers.peek()?;
        let scene = run.scene(self.finding.defect(), beside)?;
        let known = refused.len();
        for offer in offers {
            let planned = (actions::find(offer.action)?.plan)(&scene, &ActionInput::default());
            match planned {
                Ok(planned) if changes_by_itself(&planned) => {
                    refused.truncate(known);
                    return Some((*offer, planned));
                }
                // The model has its answer: no other offer may undo that.
                Err(ActionError::NothingToDo) if offer.action == ANSWER => return None,
                Err(refusal) if self.is_worth_telling(*offer, &refusal) => {
                    refused.push(FixRefusal {
                        session: self.place.0,
                        item: self.place.1,
                        rule: self.finding.rule.id,
                        action: offer.action,
                        reason: FixRefusalReason::Action(refusal),
                    })
                }
                Ok(_) | Err(_) => {}
            }
        }
        None
    }

    fn is_worth_telling(&self, offer: Offer, refusal: &ActionError) -> bool {
        offer.safety == Safety::Safe
            && self.finding.severity > Severity::Info
            && !matches!(refusal, ActionError::Elsewhere(_))
    }
}

/// Whether a plan leads somewhere without a model: one that cuts the history waits for a new reply.
fn changes_by_itself(planned: &Plan) -> bool {
    let cuts = |edit: &Edit| matches!(edit, Edit::Cut { .. });
    !planned.edits.is_empty() && !planned.edits.iter().any(cuts)
}

// From plans to splices: which items a plan changes, and which plans go together.

/// The items that a plan for `item` changes, with their partners.
fn touched_by(session: &Session, item: u32, edits: &[Edit]) -> Vec<u32> {
    let mut items = vec![item];
    items.extend(edits.iter().flat_map(items_of));
    let drops = edits.iter().filter_map(|edit| match edit {
        Edit::Drop { item } => Some(*item),
        _ => None,
    });
    let dropped = drops.collect::<HashSet<_>>();
    // Where a further output goes, its call and the first one stay as they are.
    let stays = |item: &u32| {
        let standing = session.pairing.standing(*item as usize);
        dropped.contains(item) && matches!(standing, PairStatus::Duplicate(_))
    };
    let paired = items.iter().filter(|item| !stays(item)).copied();
    items.extend(partners_of(session, paired).collect::<Vec<_>>());
    items
}

/// The items after which a plan says something, with their partners: they stay, and others may say something
/// after them, too.
fn said_after(session: &Session, edits: &[Edit]) -> Vec<u32> {
    let anchors = edits.iter().filter_map(|edit| match edit {
        Edit::Say { after, .. } => Some(*after),
        _ => None,
    });
    anchors
        .clone()
        .chain(partners_of(session, anchors))
        .collect()
}

fn partners_of(session: &Session, items: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
    let partners = items.map(|item| session.pairing.partner(item as usize));
    partners.flatten().map(index_number)
}

/// The items that an edit changes.
fn items_of(edit: &Edit) -> Vec<u32> {
    match edit {
        Edit::Rewrite { item, .. } | Edit::Drop { item } | Edit::Degrade { item, .. } => {
            vec![*item]
        }
        Edit::Answer { call, .. } => vec![*call],
        Edit::Move { output, call } => vec![*output, *call],
        Edit::Insert { after, .. } => vec![*after],
        Edit::Cut { from: item } | Edit::Relink { item } => vec![*item],
        Edit::Say { .. } | Edit::Extend { .. } => Vec::new(),
    }
}

/// Turns plans into splices. Where they meet in one place, some wait for the next round.
fn carry_out(session: &Session, plans: Vec<PlannedFix>, round: &mut Round) {
    if plans.is_empty() {
        return;
    }
    let edits = plans.iter().flat_map(|plan| plan.edits.iter().cloned());
    let edits = edits.collect::<Vec<_>>();
    match lower(session, &edits) {
        Ok(found) if !meets(&round.splices, &found) => {
            round.splices.extend(found);
            round
                .splices
                .sort_by_key(|splice| (splice.at.start, splice.at.end));
            round.done.extend(plans);
        }
        Ok(_) if plans.len() == 1 => {}
        Err(error) if plans.len() == 1 => {
            let plan = plans.into_iter().next();
            round.unwritten.extend(plan.map(|plan| (plan, error)));
        }
        Ok(_) | Err(_) => {
            let mut plans = plans;
            let rest = plans.split_off(plans.len() / 2);
            carry_out(session, plans, round);
            carry_out(session, rest, round);
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
