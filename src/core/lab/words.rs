//! What screen and reports say about measurements, and how they write numbers: one place, so that every
//! face says the same.
//!
//! Names of tools and wordings stand in these sentences as they came; whoever shows them makes them safe.

use super::board::{Board, Class, LabPhase, TrialEnd};
use super::experiment::{Experiment, Meant, Origin, Stop, Trial};
use super::interval::{Difference, Interval, answers_for, widest_half};
use super::report::{Measured, WordingRow, highest, standings};
use super::sequential::leader_of;

/// What is shown wherever results of a script are shown.
pub const SCRIPTED: &str =
    "[scripted] the model is a script: these rates say nothing about a real model";

/// The half-width of an interval beyond which it is called wide.
const WIDE: f64 = 0.15;

pub fn meant(meant: &Meant) -> String {
    match meant {
        Meant::Tool(name) => format!("corrected means: a sound call of {name}"),
        Meant::AnyTool => "corrected means: a sound call of any tool on offer".to_owned(),
        Meant::Message => {
            "corrected means: a final message in which the rules find nothing".to_owned()
        }
        Meant::Otherwise => {
            "corrected means: a sound turn, call or message, that is not this one again".to_owned()
        }
    }
}

/// How the columns of a table are to be read.
pub fn legend(experiment: &Experiment) -> Vec<String> {
    let mut lines = vec![
        "rate: corrected turns of all answers, with Wilson's score interval at 95 %".to_owned(),
        "difference: to the baseline, with Newcombe's hybrid score interval at 95 % (method 10)"
            .to_owned(),
    ];
    if let Stop::Clear { error_rate } = experiment.stop {
        lines.push(format!(
            "clear leader: by the sequential test of Turner, Ly and Gruenwald (2024) on each pair; chance of a \
            false leader at most {}",
            chance(error_rate)
        ));
    }
    lines
}

/// What is happening to the whole experiment.
pub fn phase(board: &Board) -> String {
    let because = |end| ended(&board.experiment, None, end);
    match board.phase {
        LabPhase::Running => "running".to_owned(),
        LabPhase::Paused => "paused".to_owned(),
        LabPhase::Ending(end) => format!("ending: {}", because(end)),
        LabPhase::Ended(end) => format!("ended: {}", because(end)),
    }
}

/// Why something is over: a trial, or without one the whole experiment.
pub fn ended(experiment: &Experiment, trial: Option<&Trial>, end: TrialEnd) -> String {
    match end {
        TrialEnd::Complete => "every wording was tried as often as requested".to_owned(),
        TrialEnd::Clear { leader } => match trial {
            Some(trial) => format!("{} is clearly the best", name(trial, leader)),
            None => "the leader is clear".to_owned(),
        },
        TrialEnd::Requests => cap(experiment.caps.requests.map(u64::from), "requests"),
        TrialEnd::Tokens => cap(experiment.caps.tokens, "tokens"),
        TrialEnd::Stopped => "stopped before the last sample".to_owned(),
        TrialEnd::ModelFailed => "several requests to the model in a row failed".to_owned(),
    }
}

fn cap(most: Option<u64>, what: &str) -> String {
    match most {
        Some(most) => format!("the cap of {} {what} is reached", thousands(most)),
        None => format!("the cap on {what} is reached"),
    }
}

/// What has to be shown about a trial beside its table, the weightiest first. What a corrected
/// turn is says [`meant`].
pub fn remarks(board: &Board, trial: usize) -> Vec<String> {
    let Some(of_trial) = board.experiment.trials.get(trial) else {
        return Vec::new();
    };
    let standings = standings(board, trial);
    let leader = leader_of(board, trial);
    let end = board.ended.get(trial).copied().flatten();
    let remarks = [
        of_trial.is_scripted.then(|| SCRIPTED.to_owned()),
        clear(board, of_trial, leader, end),
        leader
            .is_none()
            .then(|| best(of_trial, &standings))
            .flatten(),
        small(&standings),
        compared_with(of_trial),
        failed(&standings, last_failure(board, trial)),
        earlier(board.samples_of(trial)),
        end.map(|end| format!("ended: {}", ended(&board.experiment, Some(of_trial), end))),
        early(end),
    ];
    remarks.into_iter().flatten().collect()
}

fn name(trial: &Trial, variant: usize) -> &str {
    let variant = trial.variants.get(variant);
    variant.map_or("", |variant| &variant.name)
}

/// What the others are compared with, where that is no wording of the recording.
fn compared_with(trial: &Trial) -> Option<String> {
    let baseline = trial.variants.get(trial.baseline())?;
    if trial.variants.len() == 1 {
        return Some("there is only one wording: nothing is compared".to_owned());
    }
    (baseline.origin != Origin::Recorded).then(|| {
        format!(
            "no wording of the recording is among these: compared with {} instead",
            baseline.name
        )
    })
}

/// That there are few answers, and how many would be enough.
fn small(standings: &[WordingRow]) -> Option<String> {
    let answered = standings
        .iter()
        .map(|standing| standing.measured.answered());
    let (fewest, most) = (answered.clone().min()?, answered.max()?);
    if most == 0 {
        return Some("no answers yet".to_owned());
    }
    let half = widest_half(fewest);
    if half <= WIDE {
        return None;
    }
    let answers = match (fewest, most) {
        (1, 1) => "1 answer each".to_owned(),
        _ if fewest == most => format!("{fewest} answers each"),
        _ => format!("{fewest} to {most} answers each"),
    };
    if fewest == 0 {
        return Some(format!("{answers}: of some wordings nothing is known yet"));
    }
    Some(format!(
        "{answers}: the intervals are wide, up to {:.0} points to each side; {} would halve them",
        half * 100.0,
        answers_for(half / 2.0)
    ))
}

/// Which wordings have the highest rate, and which of the others may be as good; `None` as long as fewer
/// than two have answers.
fn best(trial: &Trial, standings: &[WordingRow]) -> Option<String> {
    let known = (0..standings.len()).filter(|at| standings[*at].measured.answered() > 0);
    if known.clone().count() < 2 {
        return None;
    }
    let best = highest(standings);
    let Some(first) = best.first() else {
        return Some("no answer was corrected, whichever the wording".to_owned());
    };
    let (has, is) = match best.as_slice() {
        [_] => ("has", "is"),
        _ => ("share", "are"),
    };
    let names: Vec<&str> = best.iter().map(|one| name(trial, *one)).collect();
    let summary = format!(
        "{} {has} the highest rate, {}",
        listed(&names),
        rate(standings[*first].measured.rate())
    );
    let others = known.filter(|other| !best.contains(other));
    if others.clone().next().is_none() {
        return Some(summary);
    }
    let may_be_as_good = |other: &usize| {
        let other = standings[*other].measured.corrected;
        let mut differences = best
            .iter()
            .map(|best| standings[*best].measured.corrected.minus(other));
        differences.any(|difference| difference.is_none_or(|it| !it.tells_apart()))
    };
    let as_good = others.filter(may_be_as_good);
    let as_good: Vec<&str> = as_good.map(|other| name(trial, other)).collect();
    Some(match as_good.as_slice() {
        [] => format!(
            "{summary}, and {is} told apart from every other: no interval of a difference holds 0"
        ),
        names => format!(
            "{summary}; not told apart from {}: the interval of the difference holds 0",
            listed(names)
        ),
    })
}

/// That there is a clear leader, or that none was found.
fn clear(
    board: &Board,
    trial: &Trial,
    leader: Option<usize>,
    end: Option<TrialEnd>,
) -> Option<String> {
    let Stop::Clear { error_rate } = board.experiment.stop else {
        return None;
    };
    match leader {
        Some(leader) => Some(format!(
            "{} is better than every other wording; chance of a false leader at most {}",
            name(trial, leader),
            chance(error_rate)
        )),
        None => (end.is_some() && trial.variants.len() > 1)
            .then(|| "no wording is clearly better than every other".to_owned()),
    }
}

/// That rates at the end of a trial that ended early lean.
fn early(end: Option<TrialEnd>) -> Option<String> {
    matches!(end, Some(TrialEnd::Clear { .. })).then(|| {
        "it ended as soon as the leader was clear: the leader's rate may look a little better than it is".to_owned()
    })
}

/// Why the last request of a trial that failed did so. May hold text from outside.
pub fn last_failure(board: &Board, trial: usize) -> Option<&str> {
    let samples = board.samples.get(trial)?.iter().flatten();
    let failed = samples.filter(|sample| sample.class == Class::Failed);
    let last = failed.max_by_key(|sample| sample.number)?;
    Some(last.why.as_str()).filter(|why| !why.is_empty())
}

fn failed(standings: &[WordingRow], why: Option<&str>) -> Option<String> {
    let total = |count: fn(&Measured) -> u32| -> u32 {
        standings
            .iter()
            .map(|standing| count(&standing.measured))
            .sum()
    };
    let failed = total(|measured| measured.count(Class::Failed));
    let requests = failed + total(Measured::answered);
    (failed > 0).then(|| {
        let verb = if failed == 1 { "counts" } else { "count" };
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        format!("{failed} of {requests} requests failed and {verb} for no rate{why}")
    })
}

/// How many samples are from an earlier run; `None` where there are none.
pub fn earlier((samples, earlier): (usize, usize)) -> Option<String> {
    let verb = if earlier == 1 { "is" } else { "are" };
    let [samples, many] = [samples, earlier].map(|count| thousands(count as u64));
    (earlier > 0).then(|| {
        format!("{many} of {samples} samples {verb} from an earlier run of the same experiment")
    })
}

/// "a", "a and b", "a, b and c".
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests;

// How numbers of tables are written.

/// A rate from 0 to 1: "62 %"; "-" where there is none. What is neither none nor all is never written as such.
pub fn rate(rate: Option<f64>) -> String {
    match rate {
        None => "-".to_owned(),
        Some(rate) if rate > 0.0 && rate < 0.005 => "<1 %".to_owned(),
        Some(rate) if (0.995..1.0).contains(&rate) => ">99 %".to_owned(),
        Some(rate) => format!("{} %", points(rate)),
    }
}

/// Where a rate lies: "48..75 %".
pub fn interval(interval: Interval) -> String {
    format!("{}..{} %", points(interval.low), points(interval.high))
}

/// A difference with its interval, in points: "+45 (+12..+66)".
pub fn points_between(difference: Difference) -> String {
    let Interval { low, high } = difference.interval;
    format!(
        "{} ({}..{})",
        signed(difference.value),
        signed(low),
        signed(high)
    )
}

/// A small chance from 0 to 1 with the digits that it needs: "5 %", "0.1 %".
pub fn chance(chance: f64) -> String {
    let percent = (chance * 100.0 * 1e6).round() / 1e6;
    format!("{percent} %")
}

/// How long something took: "850 ms", "1.2 s", "75 s".
pub fn milliseconds(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..9_950 => format!("{:.1} s", ms as f64 / 1_000.0),
        _ => format!("{} s", ms / 1_000 + u64::from(ms % 1_000 >= 500)),
    }
}

/// A large number in groups of three digits: "12,345".
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut written = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written
}

fn points(share: f64) -> i64 {
    (share * 100.0).round() as i64
}

fn signed(share: f64) -> String {
    match points(share) {
        0 => "0".to_owned(),
        points => format!("{points:+}"),
    }
}
