//! What the reports of an experiment tell: its board with the rates, differences and sentences that follow from it,
//! so that every report tells the same.

use super::board::{Board, LabPhase, LabSample, TrialEnd};
use super::experiment::{Experiment, LeftOut, Origin, Subject, Trial, WordingVariant};
use super::report::{Overall, WordingRow, overall, standings};
use super::verdict::JudgedClaim;
use super::words;

/// An experiment as reports tell it.
pub struct Results<'a> {
    pub board: &'a Board,
    /// Its trials, in order.
    pub trials: Vec<TrialResults<'a>>,
    /// Trials of one kind of failure with one model, taken together.
    pub together: Vec<Overall>,
    /// What became of the assertions of the spec; empty where there are none.
    pub assertions: Vec<JudgedClaim>,
}

/// One finding with one model.
pub struct TrialResults<'a> {
    pub number: usize,
    pub trial: &'a Trial,
    /// Its wordings, in order.
    pub rows: Vec<WordingRow>,
    /// What was sampled of each, in order.
    pub samples: &'a [Vec<LabSample>],
    /// What the figures say in words; text from outside is in it.
    pub remarks: Vec<String>,
    /// Why it is over, where it is.
    pub end: Option<TrialEnd>,
    /// Its journal; empty where there is none.
    pub journal: String,
}

impl<'a> Results<'a> {
    pub fn of(board: &'a Board) -> Self {
        let trials = board.experiment.trials.iter().enumerate();
        let trials = trials.map(|(at, trial)| TrialResults::of(board, at, trial));
        let mut models: Vec<&str> = Vec::new();
        for trial in &board.experiment.trials {
            if !models.contains(&trial.model.as_str()) {
                models.push(&trial.model);
            }
        }
        let together = models.into_iter();
        let together = together.flat_map(|model| overall(board, Some(model)));
        Self {
            board,
            trials: trials.collect(),
            together: together.collect(),
            assertions: Vec::new(),
        }
    }

    pub fn experiment(&self) -> &'a Experiment {
        &self.board.experiment
    }

    /// Why the experiment is over; `None` while it is not.
    pub fn end(&self) -> Option<TrialEnd> {
        match self.board.phase {
            LabPhase::Ended(end) | LabPhase::Ending(end) => Some(end),
            LabPhase::Running | LabPhase::Paused => None,
        }
    }

    /// Samples that are there, and samples that were requested.
    pub fn samples(&self) -> (usize, usize) {
        let there = self.trials.iter().flat_map(|trial| trial.samples);
        let rows = self.trials.iter().map(|trial| trial.rows.len());
        let wanted = self.experiment().samples as usize;
        (there.map(Vec::len).sum(), rows.sum::<usize>() * wanted)
    }

    /// How many samples there are, and how many of them are from an earlier run.
    pub fn earlier(&self) -> (usize, usize) {
        let of_each = (0..self.trials.len()).map(|trial| self.board.samples_of(trial));
        of_each.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    /// What was done and spent, in two sentences without text from outside.
    pub fn opening(&self) -> [String; 2] {
        let (there, wanted) = self.samples();
        let phase = words::phase(self.board);
        let spent = self.board.spent;
        let [requests, input, output] = [
            u64::from(spent.requests),
            spent.usage.input,
            spent.usage.output,
        ]
        .map(words::thousands);
        let requests = match spent.requests {
            1 => "1 request".to_owned(),
            _ => format!("{requests} requests"),
        };
        let estimated = match spent.estimated_tokens() {
            0 => String::new(),
            tokens => format!(
                ", {} more by estimate, as no count was reported",
                words::thousands(tokens)
            ),
        };
        let seed = self.experiment().seed;
        let earlier = match self.earlier() {
            (_, 0) => String::new(),
            (_, earlier) => format!(", {earlier} from an earlier run"),
        };
        [
            format!("{there} of {wanted} samples{earlier}; {phase}"),
            format!("{requests}, {input} tokens sent, {output} answered{estimated}; seed {seed}"),
        ]
    }
}

impl<'a> TrialResults<'a> {
    fn of(board: &'a Board, at: usize, trial: &'a Trial) -> Self {
        let journal = board.journals.get(at);
        Self {
            number: at + 1,
            trial,
            rows: standings(board, at),
            samples: board.samples.get(at).map_or(&[], Vec::as_slice),
            remarks: words::remarks(board, at),
            end: board.ended.get(at).copied().flatten(),
            journal: journal.map_or_else(String::new, |path| path.display().to_string()),
        }
    }

    /// The wordings with their rows and samples.
    pub fn wordings(
        &self,
    ) -> impl Iterator<Item = (&'a WordingVariant, &WordingRow, &'a [LabSample])> {
        let wordings = self.trial.variants.iter().zip(&self.rows);
        let wordings = wordings.zip(self.samples);
        wordings.map(|((variant, row), samples)| (variant, row, samples.as_slice()))
    }
}

/// What cannot be tried: "unknown-tool at item 5 of run.json with flights: why". Text from outside is in it.
pub fn left_out(one: &LeftOut) -> String {
    let (rule, place) = (&one.subject.rule, place(&one.subject));
    format!("{rule} at {place} with {}: {}", one.model, one.why)
}

/// Where the finding is: "item 5 of run.json", with the session where it is not the first.
pub fn place(subject: &Subject) -> String {
    let (item, path) = (subject.item + 1, &subject.path);
    match subject.session {
        0 => format!("item {item} of {path}"),
        session => format!("item {item} of session {} of {path}", session + 1),
    }
}

/// The label of what the others are compared with.
pub fn baseline_name(rows: &[WordingRow]) -> &str {
    match rows.iter().find(|row| row.is_baseline) {
        Some(row) if row.origin == Origin::Recorded => Origin::Recorded.word(),
        Some(row) => &row.name,
        None => "",
    }
}
