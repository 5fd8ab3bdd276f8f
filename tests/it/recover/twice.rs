//! `fix` is done when it is done: a fixed recording has no more errors than before, and fixing it again changes nothing.

use super::recordings::{Case, bundled, corpus, wire_cases};
use retake_core::actions::Safety;
use retake_core::rules::Severity;
use retake_core::session::{Rope, Source, Span};
use retake_live::{Base, FixReport, FixRun, Recording, Tally};
use std::sync::Arc;

/// Larger recordings are for long runs.
const SMALL: u64 = 512 * 1024;

/// One mended defect may show another, but not for ever.
const ROUNDS: usize = 4;

fn text_of(rope: &Rope) -> Vec<u8> {
    let end = rope.len();
    rope.read(Span { start: 0, end }).unwrap()
}

fn mended(case: &Case, base: &Base, up_to: Safety) -> FixReport {
    let mending = FixRun {
        wants: &|_| true,
        base,
        up_to,
        target: case.target,
        complete: &|recording: &mut Recording| case.complete(recording),
        progress: &|_, _| (),
        before_check: &|_| (),
        cuts_torn_line: false,
        names_format: false,
    };
    mending.run().unwrap()
}

fn errors(found: &Tally) -> usize {
    let errors = found
        .iter()
        .filter(|((severity, _), _)| *severity == Severity::Error);
    errors.map(|(_, count)| count).sum()
}

/// How many actions were applied, and what went wrong.
fn fix_twice(case: &Case, up_to: Safety, wrong: &mut Vec<String>) -> usize {
    let Ok(base) = Base::new(case.recording.clone(), case.path.as_deref()) else {
        return 0;
    };
    if base.rope().len() > SMALL && std::env::var_os("RETAKE_LONG").is_none() {
        return 0;
    }
    let first = mended(case, &base, up_to);
    let [before, after] = &first.found;
    if errors(after) > errors(before) {
        let (before, after) = (errors(before), errors(after));
        wrong.push(format!(
            "{} {up_to:?}: {before} errors become {after}",
            case.name
        ));
    }
    if first.recording.problems.len() > case.recording.problems.len() {
        let problems = &first.recording.problems;
        wrong.push(format!("{} {up_to:?}: {problems:?}", case.name));
    }
    if first.applied.iter().any(|applied| applied.round > ROUNDS) {
        let applied = &first.applied;
        wrong.push(format!(
            "{} {up_to:?} does not come to an end: {applied:?}",
            case.name
        ));
    }
    if base.is_database() {
        return first.applied.len();
    }
    // The fixed text as a file of its own: nobody knows any more what was written by whom.
    let fixed = Arc::new(text_of(&first.rope));
    let mut again = base
        .read(&Arc::new(Rope::new(fixed.clone())), &|_, _| ())
        .unwrap();
    case.complete(&mut again);
    let base = Base::new(Arc::new(again), None).unwrap();
    let second = mended(case, &base, up_to);
    if text_of(&second.rope) != *fixed {
        wrong.push(format!(
            "{} {up_to:?}: fixed again by {:?} after {:?}",
            case.name, second.applied, first.applied
        ));
    }
    first.applied.len()
}

fn all_stay_fixed(cases: &[Case]) -> usize {
    let mut wrong = Vec::new();
    let mut applied = 0;
    for case in cases {
        for up_to in [Safety::Safe, Safety::Unsafe] {
            applied += fix_twice(case, up_to, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    applied
}

#[test]
fn bundled_sessions_are_fixed_once() {
    assert!(all_stay_fixed(&bundled()) >= 10);
}

#[test]
fn requests_that_providers_refuse_are_fixed_once() {
    assert!(all_stay_fixed(&wire_cases()) >= 20);
}

#[test]
fn real_recordings_are_fixed_once() {
    match corpus() {
        Some(cases) => assert!(all_stay_fixed(&cases) >= 20),
        None => eprintln!("skipped: ../shared/corpus is absent"),
    }
}
