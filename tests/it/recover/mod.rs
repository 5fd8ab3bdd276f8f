//! After every action that is offered: the defect is gone, nothing new is broken, and what was not touched is as it was, byte for byte.

#![allow(clippy::print_stderr)]

mod random;
mod recordings;
mod transcripts;
mod twice;
mod untouched;

use recordings::{Case, bundled, corpus, wire_cases};
use retake::actions::{self, Choice, Planned, Refusal};
use retake::formats::lower;
use retake::rules::{Finding, Run};
use retake::runtime::{Base, check_session, settle};
use retake::session::{Change, Edit, Item, Kind, Rope, Session, compare};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How often one action is tried for one rule in one recording; all of them in long runs.
const TRIED: usize = 3;

/// What came of the offers, by rule and action.
#[derive(Default)]
struct Score {
    done: BTreeMap<String, usize>,
    refused: BTreeMap<String, BTreeMap<String, usize>>,
    wrong: Vec<String>,
}

#[test]
fn every_offer_on_the_bundled_sessions_keeps_its_promise() {
    let mut score = Score::default();
    bundled()
        .iter()
        .for_each(|case| try_offers(case, &mut score));
    score.conclude("bundled sessions", 20);
}

#[test]
fn every_offer_on_the_requests_that_providers_refuse_keeps_its_promise() {
    let mut score = Score::default();
    wire_cases()
        .iter()
        .for_each(|case| try_offers(case, &mut score));
    score.conclude("wire cases", 40);
}

#[test]
fn every_offer_on_real_recordings_keeps_its_promise() {
    let Some(cases) = corpus() else {
        eprintln!("skipped: ../shared/corpus is absent");
        return;
    };
    let mut score = Score::default();
    cases.iter().for_each(|case| try_offers(case, &mut score));
    score.conclude("corpus", 50);
}

impl Score {
    fn conclude(self, name: &str, least: usize) {
        let all: usize = self.done.values().sum();
        eprintln!("{name}: {all} actions carried out: {:?}", self.done);
        for (offer, reasons) in &self.refused {
            eprintln!("  {offer} refused: {reasons:?}");
        }
        assert!(
            self.wrong.is_empty(),
            "{}\n{}",
            self.wrong.len(),
            self.wrong.join("\n")
        );
        assert!(all >= least, "{all}");
    }
}

fn try_offers(case: &Case, score: &mut Score) {
    let Ok(base) = Base::new(case.recording.clone(), case.path.as_deref()) else {
        return;
    };
    let mut tried: BTreeMap<String, usize> = BTreeMap::new();
    for (number, session) in case.recording.sessions.iter().enumerate() {
        let findings = check_session(session, case.target).unwrap();
        for (index, finding) in findings.iter().enumerate() {
            for offer in &finding.offers {
                let name = format!("{}/{}", finding.rule.id, offer.action);
                let count = tried.entry(name.clone()).or_default();
                *count += 1;
                if *count > TRIED && std::env::var_os("RETAKE_LONG").is_none() {
                    continue;
                }
                let attempt = Attempt {
                    case,
                    base: &base,
                    number,
                    session,
                    findings: &findings,
                    finding: index,
                };
                match attempt.plan(offer.action) {
                    Ok(planned) if planned.edits.is_empty() => {}
                    Ok(planned) => attempt.carry_out(offer.action, &name, &planned, score),
                    Err(refusal) => {
                        let reasons = score.refused.entry(name).or_default();
                        *reasons.entry(refusal.to_string()).or_default() += 1;
                    }
                }
            }
        }
    }
}

struct Attempt<'a> {
    case: &'a Case,
    base: &'a Base,
    number: usize,
    session: &'a Session,
    findings: &'a [Finding],
    finding: usize,
}

impl Attempt<'_> {
    fn plan(&self, action: &str) -> Result<Planned, Refusal> {
        let finding = &self.findings[self.finding];
        let run = Run::new(self.session, self.case.target);
        let turn = |finding: &Finding| Some(self.session.items.get(finding.item? as usize)?.turn);
        let beside: Vec<_> = self
            .findings
            .iter()
            .filter(|other| !std::ptr::eq(*other, finding) && turn(other) == turn(finding))
            .map(Finding::defect)
            .collect();
        let Some(scene) = run.scene(finding.defect(), &beside) else {
            return Err(Refusal::NoItem);
        };
        let words = match action {
            "fallback" => self.case.fallback.as_deref(),
            "supply-output" => Some("the library opens at nine"),
            _ => None,
        };
        let choice = Choice {
            words,
            confirmed: true,
            include_in_history: true,
            whole_turn: false,
        };
        (actions::find(action).unwrap().plan)(&scene, &choice)
    }

    fn carry_out(&self, action: &str, name: &str, planned: &Planned, score: &mut Score) {
        let splices = match lower(self.session, &planned.edits) {
            Ok(splices) => splices,
            Err(reason) => {
                let reasons = score.refused.entry(name.to_owned()).or_default();
                *reasons.entry(reason.to_string()).or_default() += 1;
                return;
            }
        };
        let rope = Arc::new(self.base.rope().spliced(&splices));
        let mut read = self.base.read(&rope, &|_, _| ()).unwrap();
        self.case.complete(&mut read);
        let own = &self.findings[self.finding];
        let mut complain = |what: String| {
            score.wrong.push(format!(
                "{} {name} on {own:?}: {what}\n   {:?}",
                self.case.name, planned.edits
            ));
        };
        if read.problems.len() > self.case.recording.problems.len() {
            complain(format!("problems: {:?}", read.problems));
        }
        let Some(after) = read.sessions.get(self.number) else {
            complain("the session is gone".to_owned());
            return;
        };
        let mut left = check_session(after, self.case.target).unwrap();
        settle(after, &rope, &mut left);
        let [before, now] = [counts(self.findings), counts(&left)];
        let rule = own.rule.id;
        if now.get(rule) >= before.get(rule) && !stays_a_fact(rule, action) {
            complain("the defect is still there".to_owned());
        }
        for (rule, count) in &now {
            if before.get(rule).unwrap_or(&0) < count && !follows(action, rule) {
                complain(format!("new: {rule}"));
            }
        }
        if let Some(lost) = untouched_but_changed(
            (self.session, self.base.rope()),
            (after, &rope),
            &planned.edits,
        ) {
            complain(format!("item {lost} was not to be touched"));
        }
        *score.done.entry(name.to_owned()).or_default() += 1;
    }
}

/// The first item that differs although no edit names it.
fn untouched_but_changed(
    before: (&Session, &Rope),
    after: (&Session, &Rope),
    edits: &[Edit],
) -> Option<usize> {
    let touched: BTreeSet<usize> = edits
        .iter()
        .flat_map(|edit| touched(before.0, edit))
        .collect();
    let bytes = |session: &Session, index: usize| session.bytes(&session.items[index]).unwrap();
    let changes = compare(before, after).unwrap();
    changes.into_iter().find_map(|change| match change {
        // What was written again may say the same.
        Change::Changed {
            before: old,
            after: new,
        } if bytes(before.0, old) == bytes(after.0, new) => None,
        Change::Changed { before, .. } | Change::Removed { before } => {
            (!touched.contains(&before)).then_some(before + 1)
        }
        Change::Same { .. } | Change::Added { .. } => None,
    })
}

fn touched(session: &Session, edit: &Edit) -> Vec<usize> {
    let items = &session.items;
    match edit {
        Edit::Rewrite { item, .. } | Edit::Drop { item } | Edit::Degrade { item, .. } => {
            // In Chat the words of a message are the whole message, with its calls in it.
            let own = items[*item as usize].span;
            let around = |other: &retake::session::Item| {
                other.span.start <= own.start && own.end <= other.span.end
            };
            items
                .iter()
                .enumerate()
                .filter(|(_, item)| around(item))
                .map(|(index, _)| index)
                .collect()
        }
        Edit::Move { output, call } => {
            let mut touched = vec![*output as usize, *call as usize];
            touched.extend(next_of_user(items, *call));
            touched
        }
        Edit::Answer { call, .. } => next_of_user(items, *call).into_iter().collect(),
        Edit::Say { .. } => Vec::new(),
        Edit::Cut { from } => (*from as usize..items.len()).collect(),
    }
}

/// The message of the user behind a call: its words become a block beside an output that goes there.
fn next_of_user(items: &[Item], call: u32) -> Option<usize> {
    let behind = call as usize + 1..items.len();
    behind
        .into_iter()
        .find(|index| items[*index].kind == Kind::User)
}

/// How many findings of each rule count: what a take has answered does not.
fn counts(findings: &[Finding]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for finding in findings.iter().filter(|finding| !finding.is_settled) {
        *counts.entry(finding.rule.id).or_default() += 1;
    }
    counts
}

/// What no later item undoes: a limit that was reached, a series of calls before the one that is answered differently, words of
/// the model that stay in the history before those that replace them.
fn stays_a_fact(rule: &str, action: &str) -> bool {
    matches!(
        (rule, action),
        ("turn-limit" | "repeated-call" | "failing-tool", _) | ("refused", "fallback")
    )
}

/// Findings that an action brings about by what it is: repaired arguments can be read, and may break the schema; what is written by
/// hand may name any tool and hold any arguments.
fn follows(action: &str, rule: &str) -> bool {
    matches!(
        (action, rule),
        ("repair-arguments", "invalid-arguments")
            | (
                "edit",
                "malformed-arguments" | "invalid-arguments" | "unknown-tool" | "invalid-tool-name"
            )
    )
}
