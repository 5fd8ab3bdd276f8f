//! Boards for tests: trials of one failing call, and samples that are handed to them.

use super::{
    Board, Caps, Class, Experiment, LabSample, Meant, Origin, Stop, Subject, TokenCount, Trial,
    WordingVariant,
};
use crate::session::index_number;
use crate::session::ledger::Usage;
use crate::wording::{Channel, FailureKind};
use std::sync::Arc;

/// A board on which nothing has happened: each trial with wordings of these names; `recorded` is
/// that of the recording.
pub(super) fn board(trials: &[&[&str]], stop: Stop) -> Board {
    let experiment = Experiment {
        name: "flights".to_owned(),
        trials: trials.iter().map(|names| trial(names)).collect(),
        left_out: Vec::new(),
        samples: 40,
        stop,
        caps: Caps {
            requests: Some(1_200),
            tokens: None,
        },
        concurrency: 1,
        seed: 7,
    };
    Board::new(Arc::new(experiment), Vec::new())
}

pub(super) fn trial(names: &[&str]) -> Trial {
    Trial {
        subject: Subject {
            finding: 0,
            path: "unknown-tool.json".to_owned(),
            session: 0,
            item: 4,
            rule: "unknown-tool".to_owned(),
            kind: FailureKind::UnknownTool,
            tool: "serch_flights".to_owned(),
            meant: Meant::Tool("search_flights".to_owned()),
        },
        model: "one".to_owned(),
        is_scripted: false,
        variants: names.iter().map(|name| variant(name)).collect(),
    }
}

fn variant(name: &str) -> WordingVariant {
    let origin = match name {
        "recorded" => Origin::Recorded,
        _ => Origin::Library,
    };
    let title = format!("the words of {name}");
    WordingVariant {
        channel: Channel::Output,
        ..WordingVariant::new(name, &title, origin, "There is no {{ tool }}.".to_owned())
    }
}

pub(super) fn experiment(board: &mut Board) -> &mut Experiment {
    Arc::make_mut(&mut board.experiment)
}

/// A sample with its milliseconds and its tokens, sent and answered.
pub(super) fn sample(class: Class, ms: u64, input: u64, output: u64) -> LabSample {
    LabSample {
        class,
        why: String::new(),
        number: 0,
        tokens: TokenCount::Counted(Usage { input, output }),
        ms,
        take: None,
        is_earlier: false,
    }
}

pub(super) fn add(board: &mut Board, trial: usize, variant: usize, sample: LabSample) {
    let samples = &mut board.samples[trial][variant];
    let number = index_number(samples.len());
    samples.push(LabSample { number, ..sample });
}

/// So many samples of a class for a variant.
pub(super) fn answer(board: &mut Board, trial: usize, variant: usize, class: Class, times: usize) {
    for _ in 0..times {
        add(board, trial, variant, sample(class, 800, 100, 20));
    }
}

/// So many corrected turns of so many answers, corrected ones first.
pub(super) fn corrected(board: &mut Board, trial: usize, variant: usize, hits: usize, of: usize) {
    answer(board, trial, variant, Class::Corrected, hits);
    answer(board, trial, variant, Class::SameMistake, of - hits);
}
