//! Keys and news in, screens and wishes out.

mod asking;
mod fake;
mod hostile;
mod measuring;
mod ordering;

use super::form::read_models;
use super::state::Lab;
use super::subject::LabSubject;
use crate::tui::effect::Effect;
use crate::tui::keymap;
use crate::tui::state::tests::opened;
use crate::tui::tests::messages::{Message, update};
use crate::tui::theme::{Glyphs, Theme, Variant as Looks};
use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use retake_core::lab::{
    Board, Caps, Class, Experiment, LabPhase, LabSample, Meant, Origin, Stop, TokenCount, Trial,
    WordingVariant,
};
use retake_core::session::ledger::Usage;
use retake_core::session::takes::TakeId;
use retake_core::wording::FailureKind;
use retake_live::wordings::Wordings;
use std::sync::Arc;

/// A request with the tools that were offered, and a call of one that was not.
const UNKNOWN_TOOL: &str = r#"{"model": "gpt-5.2", "tools": [
    {"type": "function", "function": {"name": "search_flights", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "book_flight", "parameters": {"type": "object"}}}
], "messages": [
    {"role": "user", "content": "Flights from New York to Lisbon?"},
    {"role": "assistant", "content": null, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "serch_flights", "arguments": "{\"from\": \"JFK\"}"}}
    ]},
    {"role": "tool", "tool_call_id": "call_1", "content": "Tool not found."},
    {"role": "assistant", "content": "I cannot search for flights."}
]}"#;
const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../sessions/agents/flights.script.toml"
);

fn subject() -> LabSubject {
    subject_in(UNKNOWN_TOOL)
}

/// What `W` opens the lab for in a recording, at its first finding.
fn subject_in(recording: &str) -> LabSubject {
    subject_after(recording, &["]", "W"])
}

/// What these keys open the lab for in a recording.
fn subject_after(recording: &str, keys: &[&str]) -> LabSubject {
    let mut state = opened(recording, (100, 30));
    for key in keys {
        let key = keymap::event(key).unwrap();
        for effect in update(&mut state, Message::Key(key)) {
            if let Effect::Lab(subject) = effect {
                return *subject;
            }
        }
    }
    panic!("{:?}", state.notice);
}

fn lab() -> Lab {
    lab_on(subject())
}

/// The lab with a scripted model.
fn lab_on(subject: LabSubject) -> Lab {
    let wordings = Wordings::default();
    let mut models = read_models(SCRIPT, subject.dialect, &wordings);
    for asked in models.iter_mut().flatten() {
        // Where these sources lie is nobody's business.
        asked.does = asked
            .does
            .replace(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."), "");
    }
    Lab::new(
        subject,
        "sessions/flights.script.toml".to_owned(),
        models,
        1,
    )
}

fn variant(name: &str, origin: Origin, words: &str) -> WordingVariant {
    let axes =
        retake_core::wording::find(FailureKind::UnknownTool, name).map(|wording| wording.axes);
    WordingVariant {
        axes,
        words: words.to_owned(),
        ..WordingVariant::new(name, name, origin, words.to_owned())
    }
}

fn experiment() -> Experiment {
    let subject = retake_core::lab::Subject {
        finding: 0,
        path: "sessions/unknown-tool.json".to_owned(),
        session: 0,
        item: 2,
        rule: "unknown-tool".to_owned(),
        kind: FailureKind::UnknownTool,
        tool: "serch_flights".to_owned(),
        meant: Meant::Tool("search_flights".to_owned()),
    };
    let guidance = "There is no tool serch_flights. Did you mean search_flights?\nCall it with the same arguments.";
    Experiment {
        name: "unknown-tool serch_flights".to_owned(),
        trials: vec![Trial {
            subject,
            model: "gpt-5.2".to_owned(),
            is_scripted: false,
            variants: vec![
                variant("recorded", Origin::Recorded, "Tool not found."),
                variant("nearest", Origin::Library, guidance),
                variant("own-1", Origin::Spec, "No."),
            ],
        }],
        left_out: Vec::new(),
        samples: 20,
        stop: Stop::Never,
        caps: Caps::default(),
        concurrency: 4,
        seed: 1,
    }
}

fn sample(class: Class, take: u32) -> LabSample {
    let why = match class {
        Class::Corrected => "calls search_flights",
        Class::SameMistake => "unknown-tool serch_flights",
        Class::Failed => "503 overloaded",
        _ => "says that it cannot",
    };
    LabSample {
        class,
        why: why.to_owned(),
        number: 0,
        tokens: TokenCount::Counted(Usage {
            input: 300,
            output: u64::from(take),
        }),
        ms: 800 + u64::from(take),
        take: (class != Class::Failed).then_some(TakeId(take)),
        is_earlier: false,
    }
}

/// Where an experiment is after so many samples of each class, by wording.
fn board(counts: &[&[(Class, u32)]], phase: LabPhase) -> Arc<Board> {
    let journals = vec!["/state/labs/trial-1.jsonl".into()];
    let mut board = Board::new(Arc::new(experiment()), journals);
    board.phase = phase;
    let mut take = 10;
    for (variant, counts) in counts.iter().enumerate() {
        for (class, count) in *counts {
            for _ in 0..*count {
                take += 1;
                let samples = &mut board.samples[0][variant];
                let number = u32::try_from(samples.len()).unwrap();
                let sample = LabSample {
                    number,
                    ..sample(*class, take)
                };
                board.spent.requests += 1;
                board.spent.add(sample.tokens);
                samples.push(sample);
            }
        }
    }
    if phase == LabPhase::Running {
        board.in_flight[0][1] = vec![10, 11, 12];
        board.in_flight[0][2] = vec![5];
    }
    Arc::new(board)
}

/// Half way.
fn halfway(phase: LabPhase) -> Arc<Board> {
    let counts: [&[(Class, u32)]; 3] = [
        &[(Class::Corrected, 2), (Class::SameMistake, 8)],
        &[(Class::Corrected, 9), (Class::GaveUp, 1)],
        &[(Class::OtherMistake, 4), (Class::Failed, 1)],
    ];
    board(&counts, phase)
}

/// The lab in the middle of an experiment.
fn measuring(phase: LabPhase) -> Lab {
    let mut lab = lab();
    press(&mut lab, "enter");
    lab.hear(halfway(LabPhase::Running));
    lab.hear(halfway(phase));
    lab
}

/// Presses keys, written as in the table of keys; what is in quotes is typed.
fn press(lab: &mut Lab, keys: &str) -> Vec<Effect> {
    let mut wishes = Vec::new();
    for (number, part) in keys.split('`').enumerate() {
        if number % 2 == 1 {
            let letters = part.chars().map(|letter| KeyCode::Char(letter).into());
            wishes.extend(letters.flat_map(|key| lab.key(key)));
        } else {
            let names = part.split(' ').filter(|name| !name.is_empty());
            let keys = names.map(|name| keymap::event(name).unwrap());
            wishes.extend(keys.flat_map(|key| lab.key(key)));
        }
    }
    wishes
}

fn drawn(lab: &Lab, (width, height): (u16, u16), theme: &Theme) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| lab.view(frame, theme)).unwrap();
    terminal.backend().clone()
}

fn screen(lab: &Lab, size: (u16, u16)) -> String {
    let theme = Theme::new(Looks::Dark, Glyphs::UNICODE);
    let shown = drawn(lab, size, &theme).to_string().replace('"', "");
    let rows: Vec<&str> = shown.lines().map(str::trim_end).collect();
    rows.join("\n")
}
