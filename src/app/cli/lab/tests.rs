//! Every report of an experiment with known figures and hostile texts.

use super::plan;
use super::report::{Looks, csv, html, json, text};
use crate::cli::style::{Color, Palette};
use retake_core::lab::{
    Assertion, Board, Caps, Class, Experiment, LabPhase, LabSample, Meant, Origin, Results,
    Spending, Stop, Subject, TokenCount, Trial, TrialEnd, WordingVariant, judge,
};
use retake_core::safe_text::SafeText;
use retake_core::session::ledger::Usage;
use retake_core::session::takes::TakeId;
use retake_core::wording::FailureKind;
use std::path::PathBuf;
use std::sync::Arc;
use unicode_width::UnicodeWidthStr;

fn variant(name: &str, origin: Origin, words: &str) -> WordingVariant {
    WordingVariant {
        words: words.to_owned(),
        ..WordingVariant::new(
            name,
            &format!("the title of {name}"),
            origin,
            words.to_owned(),
        )
    }
}

fn samples(classes: &[(Class, usize, &str)], first_take: u32) -> Vec<LabSample> {
    let each = classes
        .iter()
        .flat_map(|(class, times, why)| std::iter::repeat_n((*class, *why), *times));
    let samples = each
        .zip(first_take..)
        .map(|((class, why), take)| LabSample {
            class,
            why: why.to_owned(),
            number: take - first_take,
            tokens: match class {
                Class::Failed => TokenCount::none(),
                _ => TokenCount::Counted(Usage {
                    input: 400 + u64::from(take),
                    output: 40,
                }),
            },
            ms: 100 + u64::from(take) * 10,
            take: (class != Class::Failed).then_some(TakeId(take)),
            is_earlier: false,
        });
    samples.collect()
}

fn subject() -> Subject {
    Subject {
        finding: 0,
        path: "sessions/unknown-tool.json".to_owned(),
        session: 0,
        item: 4,
        rule: "unknown-tool".to_owned(),
        kind: FailureKind::UnknownTool,
        tool: "serch_flights".to_owned(),
        meant: Meant::Tool("search_flights".to_owned()),
    }
}

/// Two trials: one that is complete, and one whose texts attack terminal, page, spreadsheet and log, and which was cut short.
pub(super) fn board() -> Board {
    let calm = Trial {
        subject: subject(),
        model: "flights".to_owned(),
        is_scripted: true,
        variants: vec![
            variant("recorded", Origin::Recorded, "Error: no such tool"),
            variant(
                "nearest",
                Origin::Library,
                "There is no serch_flights. Nearest: search_flights.",
            ),
            variant("bare", Origin::Library, "Unknown tool."),
        ],
    };
    let hostile = Trial {
        subject: Subject {
            path: "=cmd|'/c calc'!A1,\"x\".json".to_owned(),
            session: 2,
            tool: "</td><script>alert(1)</script>\u{1b}[2J".to_owned(),
            meant: Meant::AnyTool,
            ..subject()
        },
        model: "@evil\u{202e}ledom".to_owned(),
        is_scripted: false,
        variants: vec![
            variant(
                "-own & very long name of a wording, longer than its column",
                Origin::Spec,
                "<img src=x onerror='a'>\n\u{1b}]0;t\u{7}",
            ),
            variant("漢字", Origin::Own, "漢字"),
        ],
    };
    let experiment = Experiment {
        name: "wordings of </title> flights".to_owned(),
        trials: vec![calm, hostile],
        left_out: Vec::new(),
        samples: 20,
        stop: Stop::Never,
        caps: Caps::default(),
        concurrency: 4,
        seed: 7,
    };
    let journals = vec![
        PathBuf::from("labs/flights/1.jsonl"),
        PathBuf::from("labs/it's/2.jsonl"),
    ];
    let mut board = Board::new(Arc::new(experiment), journals);
    board.samples[0][0] = samples(
        &[
            (Class::SameMistake, 18, "calls serch_flights again"),
            (Class::GaveUp, 2, "text only"),
        ],
        10,
    );
    board.samples[0][1] = samples(
        &[
            (Class::Corrected, 18, "calls search_flights"),
            (Class::OtherMistake, 1, "calls book_flight"),
            (Class::Failed, 1, "HTTP 500"),
        ],
        30,
    );
    board.samples[0][2] = samples(
        &[
            (Class::Corrected, 3, "calls search_flights"),
            (Class::Looped, 17, "the same call for the third time"),
        ],
        50,
    );
    board.samples[1][0] = samples(&[(Class::AskedUser, 1, "asks: <b>which?</b>\u{9b}2J")], 70);
    board.spent = Spending {
        requests: 61,
        usage: Usage {
            input: 25_000,
            output: 2_440,
        },
        ..Spending::default()
    };
    board.ended = vec![Some(TrialEnd::Complete), Some(TrialEnd::Stopped)];
    board.phase = LabPhase::Ended(TrialEnd::Stopped);
    board
}

/// Of the first trial: one that holds, one that fails, one that is undecided.
fn assertions() -> Vec<Assertion> {
    let about = |wording: &str| Assertion {
        wording: wording.to_owned(),
        at_least: None,
        better_than: None,
        model: None,
    };
    vec![
        Assertion {
            at_least: Some(0.7),
            better_than: Some("recorded".to_owned()),
            ..about("nearest")
        },
        Assertion {
            at_least: Some(0.5),
            ..about("bare")
        },
        Assertion {
            better_than: Some("recorded".to_owned()),
            ..about("bare")
        },
    ]
}

fn results(board: &Board) -> Results<'_> {
    let mut results = Results::of(board);
    results.trials[0].remarks = vec![
        "`nearest` is better than the recorded wording, which is told apart from it by a wide margin that needs more than one line.".to_owned(),
    ];
    results.trials[1].remarks = vec!["hostile \u{1b}[31mremark\u{1b}[0m <i>".to_owned()];
    results.assertions = judge(board, &assertions()).unwrap();
    results
}

fn looks(width: usize, ascii: bool, color: Color) -> Looks {
    Looks {
        width,
        palette: Palette::of_stdout(color),
        ascii,
    }
}

fn json_of(board: &Board) -> String {
    let mut out = Vec::new();
    json(&mut out, &results(board)).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_report_for_people_is_as_reviewed() {
    let board = board();
    let narrow = text(&results(&board), looks(80, false, Color::Never));
    insta::assert_snapshot!("text", narrow);
    insta::assert_snapshot!(
        "text_ascii_wide",
        text(&results(&board), looks(120, true, Color::Never))
    );
}

#[test]
fn the_plan_is_as_reviewed() {
    let mut experiment = (*board().experiment).clone();
    experiment.caps = Caps {
        requests: Some(50),
        tokens: Some(10_000),
    };
    experiment.stop = Stop::Clear { error_rate: 0.05 };
    let board = Board::new(Arc::new(experiment), Vec::new());
    let plan = plan(&Results::of(&board), looks(80, false, Color::Never));
    assert_eq!(SafeText::from_str(&plan).as_plain(), plan);
    insta::assert_snapshot!("plan", plan);
}

#[test]
fn no_line_for_people_is_wider_than_the_terminal() {
    let board = board();
    for width in [64, 80, 100, 140] {
        for line in text(&results(&board), looks(width, false, Color::Never)).lines() {
            // A journal is named in whole, so that it can be copied.
            if !line.starts_with("  retake ") {
                assert!(line.width() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn the_report_for_people_obeys_nothing_from_outside() {
    let board = board();
    let plain = text(&results(&board), looks(80, false, Color::Never));
    assert_eq!(SafeText::from_str(&plain).as_plain(), plain);
    let painted = text(&results(&board), looks(80, false, Color::Always));
    assert!(painted.contains("\u{1b}[1m"), "headings are bold");
    assert!(!painted.contains("\u{1b}[2J") && !painted.contains('\u{9b}'));
    assert!(painted.contains("\u{1b}[32m+95"), "{painted}");
}

#[test]
fn with_ascii_everything_that_retake_draws_is_ascii() {
    let mut board = board();
    let experiment = Arc::make_mut(&mut board.experiment);
    experiment.trials.truncate(1);
    assert!(text(&Results::of(&board), looks(80, true, Color::Never)).is_ascii());
}

#[test]
fn the_report_for_programs_is_as_reviewed() {
    insta::assert_snapshot!("json", json_of(&board()));
}

#[test]
fn the_report_for_programs_is_whole_and_harmless() {
    let board = board();
    let report = json_of(&board);
    let lines: Vec<serde_json::Value> = report
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!(
        (of("trial"), of("sample"), of("standing"), of("experiment")),
        (2, 61, 5, 1)
    );
    assert_eq!(lines.last().unwrap()["type"], "experiment");
    assert!(report.chars().all(|c| c == '\n' || !c.is_control()));
    let tool = lines.iter().find(|line| line["trial"] == 2).unwrap();
    assert_eq!(tool["tool"], "</td><script>alert(1)</script>\u{1b}[2J");
}

#[test]
fn the_report_for_spreadsheets_is_as_reviewed() {
    insta::assert_snapshot!("csv", csv(&results(&board())));
}

#[test]
fn every_row_for_spreadsheets_has_every_column() {
    let report = csv(&results(&board()));
    let count = |line: &str| {
        let mut is_quoted = false;
        let commas = line.chars().filter(|c| {
            is_quoted ^= *c == '"';
            *c == ',' && !is_quoted
        });
        commas.count()
    };
    let counts: Vec<usize> = report.split_terminator("\r\n").map(count).collect();
    assert_eq!(counts, [counts[0]; 6]);
}

#[test]
fn the_page_is_as_reviewed() {
    insta::assert_snapshot!("html", html(&results(&board())));
}

#[test]
fn the_page_fetches_and_runs_nothing() {
    let page = html(&results(&board()));
    for forbidden in [
        "<script", "<img", "<link", "<i>", "<b>which", "src=", "href=", "url(", "@import", "http:",
        "https:",
    ] {
        let allowed =
            page.contains(forbidden) && forbidden == "src=" && page.contains("&lt;img src=x");
        assert!(allowed || !page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("&lt;script&gt;"));
}

#[test]
fn rates_over_fewer_trials_than_others_are_said_to_be_in_every_report() {
    let mut board = board();
    let experiment = Arc::make_mut(&mut board.experiment);
    experiment.trials[1].model = "flights".to_owned();
    experiment.trials[1].variants[0].name = "nearest".to_owned();
    experiment.trials[1].variants.truncate(1);
    board.samples[1].truncate(1);
    let said =
        "not every wording was tried in each of the 2 trials: recorded in 1, bare in 1; their";
    let shown = text(&Results::of(&board), looks(140, false, Color::Never));
    assert!(shown.contains(said), "{shown}");
    assert!(html(&Results::of(&board)).contains(said));
    let report = json_of(&board);
    let lines = report.lines().map(|line| line.parse().unwrap());
    let overall = lines.filter(|line: &serde_json::Value| line["type"] == "overall");
    let tried = overall.map(|line| (line["wording"].clone(), line["tried"].clone()));
    let expected = [
        ("recorded", vec![1]),
        ("nearest", vec![1, 2]),
        ("bare", vec![1]),
    ];
    let expected = expected.map(|(name, tried)| (name.into(), tried.into()));
    assert_eq!(tried.collect::<Vec<_>>(), expected);
    let experiment = Arc::make_mut(&mut board.experiment);
    experiment.trials[0].variants.swap(0, 1);
    experiment.trials[0].variants.truncate(1);
    board.samples[0].truncate(1);
    let alike = text(&Results::of(&board), looks(140, false, Color::Never));
    assert!(alike.contains("trials 1, 2 together") && !alike.contains("not every wording"));
}

#[test]
fn an_experiment_without_an_answer_is_reported_too() {
    let board = Board::new(board().experiment, Vec::new());
    let report = text(&Results::of(&board), looks(80, false, Color::Never));
    assert!(report.contains("0 of 100 samples; running"), "{report}");
    assert!(report.contains("not answered yet"), "{report}");
    assert!(!report.contains("NaN"), "{report}");
    assert!(!html(&Results::of(&board)).contains("NaN"));
}
