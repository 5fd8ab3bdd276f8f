//! One meaning everywhere: each rule with each recovery that it offers, in a recording, in a live run and through the proxy, in every
//! dialect, whole and streamed. The table is printed; a cell that does not apply says why.

mod histories;
mod live;
mod proxied;
mod recorded;
mod replies;

use super::speech::ways;
use retake_core::engine::Policy;
use retake_core::rules;
use retake_core::session::Dialect;
use retake_core::wording::verb_of;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// A dialect, and whether the reply is streamed.
type Way = (Dialect, bool);

const MODES: [&str; 3] = ["recorded", "live", "proxied"];

/// The dialects in which its histories are spelled.
const SPELLED: [Dialect; 3] = [Dialect::Responses, Dialect::Chat, Dialect::Anthropic];

/// A fault that a rule finds.
struct Fault {
    rule: &'static str,
    /// Tells it from other faults that the same rule finds.
    form: &'static str,
    makes: Makes,
}

impl Fault {
    /// The rule and the form.
    fn name(&self) -> String {
        format!("{} {}", self.rule, self.form).trim_end().to_owned()
    }
}

/// How a fault comes about.
enum Makes {
    /// A model says it.
    Reply(replies::Reply),
    /// An agent sends it; `None` where a dialect has no way to.
    History(histories::History),
    /// It stands in a recording of this repository.
    File(Dialect, &'static str),
}

/// What became of a recovery.
enum Cell {
    Works,
    /// There is no such thing, for this reason.
    Absent(&'static str),
    Wrong(String),
}

impl From<Result<(), String>> for Cell {
    fn from(result: Result<(), String>) -> Self {
        result.map_or_else(Self::Wrong, |()| Self::Works)
    }
}

const IN_ONE_PIECE: &str = "a recording holds a streamed reply in one piece";
const NO_REQUEST: &str = "a run writes its history itself, and writes it soundly";
const OF_THE_FILE: &str = "only the file shows it: it is about the log, about the definitions of tools or about the end of a run";
const NOT_OFFERED: &str =
    "the rule offers it for another form of the fault, which has a row of its own";
const BY_HAND: &str = "an action of no effect here: the limit stands in the agent's settings";

const PASSES: &str = "a warning about a request: its provider takes it, and it passes";
const COUNTED: &str = "the agent counts its turns itself";

/// Faults that a dialect cannot have, with the reason.
const ABSENT: &[(&str, &[Dialect], &str)] = &[
    (
        "provider-error",
        &[Dialect::Chat, Dialect::Anthropic],
        "a recording of a refused request is the same in all dialects: one stands for all",
    ),
    (
        "broken-chain",
        &[Dialect::Responses, Dialect::Chat],
        "only the logs of Claude Code hang each entry on the one before it",
    ),
    (
        "image-limits",
        &[Dialect::Responses],
        "the limits are those of Anthropic's models, which are not asked in this dialect",
    ),
    (
        "malformed-message",
        &[Dialect::Responses],
        "a message of Responses may be empty",
    ),
    (
        "misplaced-output text behind",
        &[Dialect::Responses, Dialect::Chat],
        "text and calls have places of their own",
    ),
    (
        "missing-signature",
        &[Dialect::Responses, Dialect::Chat],
        "only Anthropic signs what a model thinks",
    ),
    (
        "orphan-hosted-result",
        &[Dialect::Responses, Dialect::Chat],
        "the provider's own calls hold their results",
    ),
    (
        "orphan-reasoning",
        &[Dialect::Chat, Dialect::Anthropic],
        "only Responses refuses a request for reasoning that leads to nothing",
    ),
    (
        "split-pair",
        &[Dialect::Chat, Dialect::Anthropic],
        "nothing of this dialect's history can stand on the other side of a compaction",
    ),
    (
        "split-pair reasoning",
        &[Dialect::Chat, Dialect::Anthropic],
        "nothing of this dialect's history can stand on the other side of a compaction",
    ),
    (
        "split-pair approval",
        &[Dialect::Chat, Dialect::Anthropic],
        "nothing of this dialect's history can stand on the other side of a compaction",
    ),
    (
        "stop-reason-mismatch",
        &[Dialect::Responses],
        "a whole reply gives no reason for its end",
    ),
];

/// What is wrong with no reply and no request, so that nothing is decided about it where they pass.
const OF_RECORDINGS: &[&str] = &[
    "pending-call",
    "split-pair",
    "invalid-tool-definition",
    "broken-chain",
    "run-failed",
    "provider-error",
    "exposed-secret",
];

/// The recoveries of a rule: the actions that it offers, and what a policy does beside them. `found` stands for a rule without any.
fn recoveries(rule: &str) -> Vec<&'static str> {
    let mut all: Vec<&'static str> = Vec::new();
    let offers = rules::find(rule).unwrap().offers;
    for action in offers.iter().map(|offer| offer.action) {
        if !all.contains(&action) {
            all.push(action);
        }
    }
    let words = ["release", "raise"].into_iter();
    all.extend(words.filter(|word| policy(rule, word, false).is_some()));
    if all.is_empty() {
        all.push("found");
    }
    all
}

/// The policy that carries out a recovery; `None` where it is the operator's.
fn policy(rule: &str, recovery: &str, has_schema: bool) -> Option<String> {
    let word = match recovery {
        "release" | "raise" => recovery,
        action => verb_of(action)?.word,
    };
    let value = match (word, has_schema) {
        ("fallback", true) => "value = { answer = 7 }\n",
        ("fallback", false) => "value = \"seven\"\n",
        _ => "",
    };
    let text = format!("[on.{rule}]\ndo = \"{word}\"\n{value}");
    Policy::parse(&text).is_ok().then_some(text)
}

/// The cell of a fault and a recovery.
fn cell(
    fault: &Fault,
    recovery: &'static str,
    way: Way,
    mode: &str,
    known: &recorded::Known,
) -> Cell {
    let (dialect, streams) = way;
    let absent = ABSENT
        .iter()
        .find(|(name, dialects, _)| *name == fault.name() && dialects.contains(&dialect));
    let is_found = known.is_found(dialect);
    match (absent, is_found, mode) {
        (Some((.., why)), false, _) => return Cell::Absent(why),
        (Some(_), true, _) => return Cell::Wrong("it has a reason to be absent".to_owned()),
        (None, false, "recorded") if !streams => return Cell::Wrong("not found".to_owned()),
        _ => {}
    }
    if mode == "recorded" && streams {
        return Cell::Absent(IN_ONE_PIECE);
    }
    let is_own = matches!(recovery, "release" | "raise" | "found");
    if !is_own && !known.is_offered(dialect, recovery) {
        return Cell::Absent(NOT_OFFERED);
    }
    if mode == "recorded" {
        return known.recovered(dialect, recovery).into();
    }
    if OF_RECORDINGS.contains(&fault.rule) {
        return Cell::Absent(OF_THE_FILE);
    }
    if recovery == "raise-limit" {
        return Cell::Absent(BY_HAND);
    }
    match (&fault.makes, mode) {
        (Makes::File(..), _) => Cell::Absent(OF_THE_FILE),
        (Makes::History(_), "live") => Cell::Absent(NO_REQUEST),
        (Makes::History(_), _) if fault.name() == "misplaced-output text behind" => {
            Cell::Absent(PASSES)
        }
        (Makes::Reply(_), "proxied") if fault.rule == "turn-limit" => Cell::Absent(COUNTED),
        (Makes::History(history), _) => proxied::request(fault, history, recovery, way).into(),
        (Makes::Reply(reply), "live") => live::reply(fault, reply, recovery, way).into(),
        (Makes::Reply(reply), _) => proxied::reply(fault, reply, recovery, way).into(),
    }
}

/// The rows of a fault, what is wrong in them, the reasons of what is absent, and which recoveries work somewhere.
#[derive(Default)]
struct Rows {
    text: String,
    wrong: Vec<String>,
    reasons: BTreeSet<&'static str>,
    works: BTreeSet<(&'static str, &'static str)>,
}

fn rows(fault: &Fault, folder: &Path) -> Rows {
    let known = recorded::Known::of(fault, folder);
    let (mut rows, name) = (Rows::default(), fault.name());
    for recovery in recoveries(fault.rule) {
        let _ = write!(rows.text, "{name:<34} {recovery:<16}");
        for way in ways().filter(|(dialect, _)| SPELLED.contains(dialect)) {
            for mode in MODES {
                let mark = match cell(fault, recovery, way, mode, &known) {
                    Cell::Works => {
                        rows.works.insert((fault.rule, recovery));
                        "+"
                    }
                    Cell::Absent(why) => {
                        rows.reasons.insert(why);
                        "-"
                    }
                    Cell::Wrong(why) => {
                        let what = format!("{name} {recovery} {way:?} {mode}: {why}");
                        rows.wrong.push(what);
                        "!"
                    }
                };
                let _ = write!(rows.text, " {mark}");
            }
        }
        rows.text.push('\n');
    }
    rows
}

fn faults() -> Vec<Fault> {
    let of_file = |rule, dialect, path| Fault {
        rule,
        form: "",
        makes: Makes::File(dialect, path),
    };
    let files = [
        of_file(
            "broken-chain",
            Dialect::Anthropic,
            "sessions/broken-chain.jsonl",
        ),
        of_file(
            "provider-error",
            Dialect::Responses,
            "tests/it/proxy/table/refused.json",
        ),
    ];
    let all = replies::faults().into_iter().chain(histories::faults());
    all.chain(files).collect()
}

#[test]
fn every_fault_and_every_recovery_mean_the_same_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let faults = faults();
    let all = std::thread::scope(|scope| {
        let threads = faults
            .iter()
            .map(|fault| scope.spawn(|| rows(fault, folder)));
        let threads = threads.collect::<Vec<_>>();
        let rows = threads.into_iter().map(|thread| thread.join().unwrap());
        rows.collect::<Vec<_>>()
    });
    let mut sum = Rows::default();
    for rows in all {
        sum.text += &rows.text;
        sum.wrong.extend(rows.wrong);
        sum.reasons.extend(rows.reasons);
        sum.works.extend(rows.works);
    }
    println!(
        "recorded, live, proxied: Responses, Chat, Anthropic, each whole and streamed\n{}",
        sum.text
    );
    for why in &sum.reasons {
        println!("-: {why}");
    }
    assert!(sum.wrong.is_empty(), "{}{}", sum.text, sum.wrong.join("\n"));
    let rules = faults.iter().map(|fault| fault.rule);
    let all = rules.flat_map(|rule| {
        let recoveries = recoveries(rule).into_iter();
        recoveries.map(move |recovery| (rule, recovery))
    });
    let never = all.filter(|row| !sum.works.contains(row));
    assert_eq!(
        never.collect::<BTreeSet<_>>(),
        BTreeSet::new(),
        "{}",
        sum.text
    );
}

#[test]
fn every_rule_that_explain_lists_has_a_row() {
    let output = Command::new(env!("CARGO_BIN_EXE_retake"))
        .arg("explain")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let listed = said
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1));
    let listed: BTreeSet<&str> = listed.collect();
    let faults = faults();
    let rows: BTreeSet<&str> = faults.iter().map(|fault| fault.rule).collect();
    assert_eq!(rows, listed);
    let mut names = BTreeMap::<_, usize>::new();
    for fault in &faults {
        *names.entry(fault.name()).or_default() += 1;
    }
    assert!(names.values().all(|count| *count == 1), "{names:?}");
    for (name, ..) in ABSENT {
        assert!(names.contains_key(*name), "{name}");
    }
}
