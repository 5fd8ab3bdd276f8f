//! The wordings of an experiment with what came of each, and the samples of one of them.

use crate::lab::{
    Board, CLASSES, Class, Difference, End, Phase, Proportion, Sample, Trial, Variant,
};
use crate::tui::list::ListCursor;
use std::cmp::Ordering;
use std::sync::Arc;

/// How many classes there are.
const KINDS: usize = CLASSES.len();

/// What came of a wording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Standing {
    /// The variant.
    pub variant: usize,
    /// Corrected turns among those with a reply.
    pub rate: Proportion,
    /// How much better it is than the wording that the others are compared with; none for that one itself.
    pub difference: Option<Difference>,
    /// How many samples are of each class, in the order of [`CLASSES`].
    pub classes: [u32; KINDS],
    /// Tokens of a sample, on average.
    pub tokens: Option<u64>,
    /// Milliseconds of a sample, on average.
    pub ms: Option<u64>,
    /// Questions on their way.
    pub asked: u32,
}

/// The wordings of an experiment.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) board: Arc<Board>,
    /// The trial that is shown.
    pub(super) trial: usize,
    pub(super) cursor: ListCursor,
    /// Whether the best stand first.
    pub(super) is_sorted: bool,
    /// The samples that are listed, of which variant.
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
            let rate = |variant: usize| self.standing(variant).rate;
            order.sort_by(|one, other| by_rate(rate(*other), rate(*one)));
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

    /// The samples of a variant.
    pub(super) fn samples_of(&self, variant: usize) -> &[Sample] {
        let of_trial = self.board.samples.get(self.trial);
        let samples = of_trial.and_then(|trial| trial.get(variant));
        samples.map_or(&[], Vec::as_slice)
    }

    /// What came of a wording so far.
    pub(super) fn standing(&self, variant: usize) -> Standing {
        let baseline = self.trial().map_or(0, Trial::baseline);
        let samples = self.samples_of(variant);
        let of_class = |class: Class| samples.iter().filter(|it| it.class == class).count() as u32;
        let answered = samples.iter().filter(|it| it.class != Class::Failed);
        let count = answered.clone().count() as u64;
        let mean = |sum: u64| sum.checked_div(count);
        let tokens = answered.clone().map(|it| it.usage.input + it.usage.output);
        let rate = self.rate(variant);
        Standing {
            variant,
            rate,
            difference: match variant == baseline {
                true => None,
                false => rate.minus(self.rate(baseline)),
            },
            classes: std::array::from_fn(|number| {
                CLASSES
                    .get(number)
                    .map_or(0, |(class, ..)| of_class(*class))
            }),
            tokens: mean(tokens.sum()),
            ms: mean(answered.map(|it| it.ms).sum()),
            asked: self.asked(variant),
        }
    }

    fn rate(&self, variant: usize) -> Proportion {
        let answered = self.board.answered(self.trial, variant);
        let (mut hits, mut of) = (0, 0);
        for sample in answered {
            of += 1;
            hits += u32::from(sample.class == Class::Corrected);
        }
        Proportion::new(hits, of)
    }

    fn asked(&self, variant: usize) -> u32 {
        let asked = self.board.asked.get(self.trial);
        asked
            .and_then(|asked| asked.get(variant))
            .copied()
            .unwrap_or(0)
    }

    /// What is to be said of the trial: of small samples, of intervals that overlap.
    pub(super) fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// How many questions are on their way in all trials.
    pub(super) fn in_flight(&self) -> u32 {
        self.board.asked.iter().flatten().sum()
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

fn by_rate(one: Proportion, other: Proportion) -> Ordering {
    let rate = |it: Proportion| it.rate().unwrap_or(-1.0);
    rate(one).total_cmp(&rate(other))
}
