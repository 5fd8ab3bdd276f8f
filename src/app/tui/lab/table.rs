//! The wordings of an experiment with what came of each, and the samples of one of them.

use crate::tui::list::ListCursor;
use retake_core::lab::words::{meant, remarks};
use retake_core::lab::{Board, End, Phase, Row, Sample, Trial, Variant, standings};
use retake_core::session::index_number;
use std::sync::Arc;

/// The wordings of an experiment.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) board: Arc<Board>,
    /// The trial that is shown.
    pub(super) trial: usize,
    pub(super) cursor: ListCursor,
    /// Whether the best stand first.
    pub(super) is_sorted: bool,
    pub(super) samples: Option<(usize, ListCursor)>,
}

impl Table {
    /// The table of an experiment.
    pub(super) fn new(board: Arc<Board>) -> Self {
        Self {
            board,
            trial: 0,
            cursor: ListCursor::default(),
            is_sorted: false,
            samples: None,
        }
    }

    /// Takes over where the experiment stands; the cursor stays on its wording.
    pub(super) fn learn(&mut self, board: Arc<Board>) {
        let variant = self.variant();
        self.board = board;
        self.go_to(variant);
    }

    /// The next or previous trial; false where there is only one.
    pub(super) fn turn(&mut self, forward: bool) -> bool {
        let count = self.board.experiment.trials.len();
        if count < 2 {
            return false;
        }
        let step = if forward { 1 } else { count - 1 };
        self.trial = (self.trial + step) % count;
        self.cursor.set(0);
        if let Some((_, cursor)) = &mut self.samples {
            cursor.set(0);
        }
        true
    }

    /// In the other order; the cursor stays on its wording.
    pub(super) fn sort(&mut self) {
        let variant = self.variant();
        self.is_sorted = !self.is_sorted;
        self.go_to(variant);
    }

    fn go_to(&mut self, variant: Option<usize>) {
        let order = self.order();
        let row = order.iter().position(|one| Some(*one) == variant);
        self.cursor.set(row.unwrap_or(0));
    }

    /// The trial that is shown.
    pub(super) fn trial(&self) -> Option<&Trial> {
        self.board.experiment.trials.get(self.trial)
    }

    /// The variants in the order in which they stand.
    pub(super) fn order(&self) -> Vec<usize> {
        let count = self.trial().map_or(0, |trial| trial.variants.len());
        let mut order: Vec<usize> = (0..count).collect();
        if self.is_sorted {
            let standings = self.standings();
            let rate = |variant: usize| {
                let standing = standings.get(variant);
                let rate = standing.and_then(|standing| standing.measured.rate());
                rate.unwrap_or(-1.0)
            };
            order.sort_by(|one, other| rate(*other).total_cmp(&rate(*one)));
        }
        order
    }

    /// The variant with the cursor.
    pub(super) fn variant(&self) -> Option<usize> {
        self.order().get(self.cursor.get()).copied()
    }

    /// The wording with the cursor, or whose samples are listed.
    pub(super) fn wording(&self) -> Option<&Variant> {
        let listed = self.samples.as_ref().map(|(variant, _)| *variant);
        let variant = listed.or_else(|| self.variant())?;
        self.trial()?.variants.get(variant)
    }

    pub(super) fn samples_of(&self, variant: usize) -> &[Sample] {
        self.board.samples(self.trial, variant)
    }

    /// What came of each wording of the trial so far, in the order of the experiment.
    pub(super) fn standings(&self) -> Vec<Row> {
        standings(&self.board, self.trial)
    }

    /// How many questions with a wording are on their way.
    pub(super) fn asked(&self, variant: usize) -> u32 {
        let asked = self.board.asked.get(self.trial);
        let asked = asked.and_then(|asked| asked.get(variant));
        index_number(asked.map_or(0, Vec::len))
    }

    /// What is to be said of the trial: of small samples, of intervals that overlap.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut said = remarks(&self.board, self.trial);
        said.extend(self.trial().map(|trial| meant(&trial.subject.meant)));
        said
    }

    /// How many questions are on their way in all trials.
    pub(super) fn in_flight(&self) -> u32 {
        let asked = self.board.asked.iter().flatten();
        index_number(asked.map(Vec::len).sum())
    }

    /// Whether anything is still to come by itself.
    pub(super) fn is_running(&self) -> bool {
        !matches!(self.board.phase, Phase::Ended(_))
    }

    /// Why it is over.
    pub(super) fn ended(&self) -> Option<End> {
        match self.board.phase {
            Phase::Ended(end) => Some(end),
            _ => None,
        }
    }
}
