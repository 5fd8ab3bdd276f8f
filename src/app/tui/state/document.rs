//! What is being looked at: a recording, how much of the file it tells, and what the rules found in it.

use retake_core::actions::Safety;
use retake_core::rules::{Finding, IN_TRANSIT, SETTLED, Severity};
use retake_core::session::{Flags, Item, Kind, Session};
use retake_live::Recording;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// How much of the file a document tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Head,
    /// Its end; turns and items cannot be numbered yet.
    Tail,
    Whole,
}

/// A recording, or a part of it.
#[derive(Debug)]
pub struct Document {
    pub recording: Arc<Recording>,
    /// How much of the file it is.
    pub extent: Extent,
}

impl Document {
    /// The session of this number; the last one if there are fewer.
    pub fn session(&self, number: usize) -> Option<&Session> {
        let sessions = &self.recording.sessions;
        sessions.get(number).or_else(|| sessions.last())
    }

    /// Where an item that begins at `start` is. `near` is where it stood in another document
    /// of the same file.
    pub fn find(&self, start: u64, near: Place) -> Option<Place> {
        let starts_at = |place: &Place| {
            self.recording
                .sessions
                .get(place.session)
                .and_then(|session| session.items.get(place.item))
                .is_some_and(|item| item.span.start == start)
        };
        if starts_at(&near) {
            return Some(near);
        }
        let mut sessions = self.recording.sessions.iter().enumerate();
        sessions.find_map(|(number, session)| {
            let item = session
                .items
                .iter()
                .rposition(|item| item.span.start == start)?;
            Some(Place {
                session: number,
                item,
            })
        })
    }

    /// The last item of a session that begins before a byte of the file.
    pub fn last_before(&self, start: u64, session: usize) -> Option<Place> {
        let mut items = self.recording.sessions.get(session)?.items.iter();
        let item = items.rposition(|item| item.span.start < start)?;
        Some(Place { session, item })
    }
}

/// An item of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Place {
    /// Index of the session.
    pub session: usize,
    /// Index of the item in it.
    pub item: usize,
}

/// The rule about calls that wait for their output.
const OPEN_CALL: &str = "pending-call";

/// What the rules found in one session.
#[derive(Debug, Default)]
pub struct Checked {
    findings: Vec<Finding>,
    /// What is not a fault of a live run: its open calls, which wait for their outputs.
    waiting: Vec<Finding>,
    counts: Counts,
    /// The rows of its part of the list of findings.
    listed: Vec<Listed>,
}

/// A row of the list of findings: those of one rule stand together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// The session of the findings below, in a file of several.
    Session,
    /// The rule of the findings below, as the number of the first of them, and how many they are.
    Rule(usize, usize),
    /// A finding by its number, and whether it is below its rule.
    Finding(usize, bool),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that have their output and no finding.
    pub fine: usize,
    pub errors: usize,
    pub warnings: usize,
    pub infos: usize,
    /// What somebody has decided about: it counts as nothing else.
    pub answered: usize,
    /// What of that retake has fixed on its way to the other side.
    pub fixed: usize,
}

impl Counts {
    fn add(&mut self, finding: &Finding) {
        match finding.severity {
            _ if finding.is_settled => {
                self.answered += 1;
                self.fixed += usize::from(finding.get(SETTLED) == Some(IN_TRANSIT));
            }
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Info => self.infos += 1,
        }
    }
}

impl Checked {
    /// Takes the findings of a session in the order of its history; those without an item stand at its head.
    pub fn new(mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| finding.item.map_or(0, |item| u64::from(item) + 1));
        let mut counts = Counts::default();
        findings.iter().for_each(|finding| counts.add(finding));
        Self {
            listed: listed(&findings),
            findings,
            waiting: Vec::new(),
            counts,
        }
    }

    /// The findings that nobody has decided about and a safe fix is offered for.
    pub fn offers_safe(&self) -> impl Iterator<Item = &Finding> {
        let is_safe = |finding: &&Finding| {
            let mut offers = finding.offers.iter();
            !finding.is_settled && offers.any(|offer| offer.safety == Safety::Safe)
        };
        self.findings.iter().filter(is_safe)
    }

    /// Takes the findings of a session that a live run drives: that a call has no output yet is not to be told
    /// there, but what can be done about it is still offered.
    pub fn of_run(findings: Vec<Finding>) -> Self {
        let waits = |finding: &Finding| finding.rule.id == OPEN_CALL;
        let (waiting, findings) = findings.into_iter().partition(waits);
        Self {
            waiting,
            ..Self::new(findings)
        }
    }

    /// The open calls of a live run among the findings about an item.
    pub fn waiting(&self, item: usize) -> impl Iterator<Item = &Finding> {
        let about = move |finding: &&Finding| item_of(finding) == item;
        self.waiting.iter().filter(about)
    }

    /// All findings, in the order of the history.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The numbers of the findings about items of a range.
    pub fn range(&self, items: Range<usize>) -> Range<usize> {
        let before = |limit: usize| {
            self.findings
                .partition_point(|finding| item_of(finding) < limit)
        };
        before(items.start)..before(items.end)
    }

    /// The findings that are about no item, such as a tool that the provider refuses.
    pub fn of_session(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.item.is_none())
    }

    pub fn of_item(&self, item: usize) -> &[Finding] {
        &self.findings[self.range(item..item + 1)]
    }

    pub fn worst(&self, item: usize) -> Option<&Finding> {
        self.findings.get(self.worst_number(item)?)
    }

    /// The number of the worst finding of an item. An output that reports an error is worth a word only where there is
    /// no other finding of its severity.
    pub fn worst_number(&self, item: usize) -> Option<usize> {
        let found = self.range(item..item + 1).rev();
        found.max_by_key(|number| {
            let finding = &self.findings[*number];
            (finding.severity, finding.rule.id != "tool-error")
        })
    }

    /// The number of the next or previous finding, as seen from an item, that is wanted.
    pub fn step(
        &self,
        from: usize,
        forward: bool,
        wanted: impl Fn(&Finding) -> bool,
    ) -> Option<usize> {
        let wanted = |number: &usize| wanted(&self.findings[*number]);
        let here = self.range(from..from + 1);
        if forward {
            (here.end..self.findings.len()).find(wanted)
        } else {
            (0..here.start).rev().find(wanted)
        }
    }

    /// Whether a finding is at least as bad, and not the error in the result of a call that has such a finding of its
    /// own: of one fault the call is the place.
    pub fn is_stop(&self, session: &Session, finding: &Finding, least: Severity) -> bool {
        let output = finding.item.filter(|_| finding.rule.id == "tool-error");
        let call = output.and_then(|output| session.pairing.partner(output as usize));
        let is_said = |call| self.of_item(call).iter().any(|it| it.severity >= least);
        finding.severity >= least && !call.is_some_and(is_said)
    }
}

/// The rows of the list of findings, each with the index of its session.
pub fn list_findings(
    checked: &[Option<Arc<Checked>>],
) -> impl Iterator<Item = (usize, Listed)> + '_ {
    let has_heads = checked.len() > 1;
    let known = checked.iter().enumerate();
    let known = known.filter_map(|(session, checked)| Some((session, checked.as_deref()?)));
    let found = known.filter(|(_, checked)| !checked.listed.is_empty());
    found.flat_map(move |(session, checked)| {
        let head = has_heads.then_some(Listed::Session);
        let rows = head.into_iter().chain(checked.listed.iter().copied());
        rows.map(move |row| (session, row))
    })
}

/// The findings by rule: the worst first, then those of which there are most, then as they come.
fn listed(findings: &[Finding]) -> Vec<Listed> {
    let mut groups: Vec<(Severity, Vec<usize>)> = Vec::new();
    let mut places: HashMap<&'static str, usize> = HashMap::new();
    for (number, finding) in findings.iter().enumerate() {
        let place = *places.entry(finding.rule.id).or_insert_with(|| {
            groups.push((finding.severity, Vec::new()));
            groups.len() - 1
        });
        let (worst, numbers) = &mut groups[place];
        *worst = finding.severity.max(*worst);
        numbers.push(number);
    }
    groups.sort_by_key(|(worst, numbers)| Reverse((*worst, numbers.len())));
    let mut rows = Vec::new();
    for (_, numbers) in groups {
        let is_group = numbers.len() > 1;
        rows.extend(is_group.then(|| Listed::Rule(numbers[0], numbers.len())));
        rows.extend(
            numbers
                .into_iter()
                .map(|number| Listed::Finding(number, is_group)),
        );
    }
    rows
}

/// The item at which a finding is shown: the first one where it is about the whole session.
pub fn item_of(finding: &Finding) -> usize {
    finding.item.map_or(0, |item| item as usize)
}

/// Whether a result says that its call failed: by its mark, or as the rule `tool-error` reads it.
pub fn is_failure(session: &Session, checked: Option<&Checked>, output: usize) -> bool {
    let item = session.items.get(output);
    let found = checked.map_or(&[][..], |checked| checked.of_item(output));
    item.is_some_and(|item| item.flags.has(Flags::ERROR))
        || found.iter().any(|finding| finding.rule.id == "tool-error")
}

/// Whether the result of a call says that it failed.
pub fn has_failed(session: &Session, checked: Option<&Checked>, call: usize) -> bool {
    let output = session.pairing.partner(call);
    output.is_some_and(|output| is_failure(session, checked, output))
}

/// Whether the output of a call is no tool's: the call was rejected, or a take wrote it.
pub fn is_answered_by_hand(session: &Session, item: usize) -> bool {
    let run = session.run.as_ref().filter(|run| !run.answered.is_empty());
    run.zip(session.items.get(item)).is_some_and(|(run, item)| {
        session
            .call_id(item)
            .is_ok_and(|id| run.answered.contains(&id))
    })
}

/// How many items of a turn are looked at for its counts: a turn may be the whole file.
const COUNTED: usize = 512;

/// What is beside a turn: calls that are fine, findings by severity.
pub fn count_turn(session: &Session, checked: Option<&Checked>, turn: usize) -> Counts {
    let mut counts = Counts::default();
    let Some(items) = session.turns.get(turn).map(|turn| turn.items()) else {
        return counts;
    };
    let range = checked.map(|checked| checked.range(items.clone()));
    if let (Some(checked), Some(range)) = (checked, range) {
        for finding in &checked.findings()[range.start..range.end.min(range.start + COUNTED)] {
            counts.add(finding);
        }
    }
    let answered = |index: &usize| {
        let item: &Item = &session.items[*index];
        item.kind == Kind::Call
            && session.pairing.partner(*index).is_some()
            && !has_failed(session, checked, *index)
    };
    let clean = |index: &usize| {
        let output = session.pairing.partner(*index);
        let mut pair = std::iter::once(*index).chain(output);
        checked.is_none_or(|checked| pair.all(|item| checked.of_item(item).is_empty()))
    };
    counts.fine = items.take(COUNTED).filter(answered).filter(clean).count();
    counts
}
