//! What the reports of an experiment tell: its board with the rates, differences and sentences that follow from
//! it, so that every report tells the same.

use retake_core::lab::{
    Board, CLASSES, Class, Difference, End, Experiment, Interval, Judged, LeftOut, Measured,
    Origin, Overall, Phase, Sample, Subject, Trial, Variant, overall, standings, words,
};
use retake_core::wording::FailureKind;

/// An experiment as reports tell it.
pub(super) struct Results<'a> {
    pub(super) board: &'a Board,
    /// Its trials, in order.
    pub(super) trials: Vec<TrialResults<'a>>,
    /// Trials of one kind of failure with one model, taken together.
    pub(super) together: Vec<Together>,
    /// What became of the assertions of the spec; empty where nobody asked.
    pub(super) assertions: Vec<Judged>,
}

/// One finding with one model.
pub(super) struct TrialResults<'a> {
    pub(super) number: usize,
    pub(super) trial: &'a Trial,
    /// Its wordings, in order.
    pub(super) standings: Vec<Standing<'a>>,
    /// What the figures say in words; text from outside is in it.
    pub(super) remarks: Vec<String>,
    /// Why it is over, where it is.
    pub(super) end: Option<End>,
    /// Its journal; empty where there is none.
    pub(super) journal: String,
}

/// How a wording stands in a trial.
pub(super) struct Standing<'a> {
    pub(super) variant: &'a Variant,
    /// What was sampled, in order.
    pub(super) samples: &'a [Sample],
    /// The row of the table.
    pub(super) row: Row,
}

pub(super) struct Together {
    /// The kind of failure.
    pub(super) kind: FailureKind,
    pub(super) model: String,
    /// The numbers of the trials, from 1.
    pub(super) trials: Vec<usize>,
    /// The wordings by name.
    pub(super) rows: Vec<Row>,
    /// By wording, the numbers of the trials that tried it, from 1.
    pub(super) tried: Vec<Vec<usize>>,
}

/// A wording in a table.
pub(super) struct Row {
    pub(super) name: String,
    /// What menus call it.
    pub(super) title: String,
    /// Where it comes from.
    pub(super) origin: Origin,
    /// Whether the others are compared with it.
    pub(super) is_baseline: bool,
    pub(super) measured: Measured,
    /// How much higher its rate is than that of the baseline.
    pub(super) difference: Option<Difference>,
}

impl<'a> Results<'a> {
    /// What the board says.
    pub(super) fn of(board: &'a Board) -> Self {
        let trials = board.experiment.trials.iter().enumerate();
        let trials = trials.map(|(at, trial)| TrialResults::of(board, at, trial));
        let mut models: Vec<&str> = Vec::new();
        for trial in &board.experiment.trials {
            if !models.contains(&trial.model.as_str()) {
                models.push(&trial.model);
            }
        }
        let together = models.into_iter().flat_map(|model| {
            let overall = overall(board, Some(model)).into_iter();
            overall.map(|overall| Together::of(overall, model))
        });
        Self {
            board,
            trials: trials.collect(),
            together: together.collect(),
            assertions: Vec::new(),
        }
    }

    pub(super) fn experiment(&self) -> &'a Experiment {
        &self.board.experiment
    }

    /// Why the experiment is over; `None` while it is not.
    pub(super) fn end(&self) -> Option<End> {
        match self.board.phase {
            Phase::Ended(end) | Phase::Ending(end) => Some(end),
            Phase::Running | Phase::Paused => None,
        }
    }

    /// Samples that are there, and samples that were asked for.
    pub(super) fn samples(&self) -> (usize, usize) {
        let standings = || self.trials.iter().flat_map(|trial| &trial.standings);
        let there = standings().map(|standing| standing.samples.len()).sum();
        let asked = self.experiment().samples as usize;
        (there, standings().count() * asked)
    }

    /// How many samples there are, and how many of them are from an earlier run.
    pub(super) fn earlier(&self) -> (usize, usize) {
        let of_each = (0..self.trials.len()).map(|trial| self.board.samples_of(trial));
        of_each.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    /// What was done and spent, in two sentences without text from outside.
    pub(super) fn opening(&self) -> [String; 2] {
        let (there, asked) = self.samples();
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
                ", {} more by estimate, as no count was told",
                words::thousands(tokens)
            ),
        };
        let seed = self.experiment().seed;
        let earlier = match self.earlier() {
            (_, 0) => String::new(),
            (_, earlier) => format!(", {earlier} from an earlier run"),
        };
        [
            format!("{there} of {asked} samples{earlier}; {phase}"),
            format!("{requests}, {input} tokens sent, {output} answered{estimated}; seed {seed}"),
        ]
    }
}

impl<'a> TrialResults<'a> {
    fn of(board: &'a Board, at: usize, trial: &'a Trial) -> Self {
        let samples = board.samples.get(at);
        let baseline = trial.baseline();
        let standings = standings(board, at).into_iter();
        let standings = standings.filter_map(|standing| {
            let variant = trial.variants.get(standing.variant)?;
            Some(Standing {
                variant,
                samples: samples.and_then(|samples| samples.get(standing.variant))?,
                row: Row {
                    name: variant.name.clone(),
                    title: variant.title.clone(),
                    origin: variant.origin,
                    is_baseline: standing.variant == baseline,
                    measured: standing.measured,
                    difference: standing.difference,
                },
            })
        });
        let journal = board.journals.get(at);
        Self {
            number: at + 1,
            trial,
            standings: standings.collect(),
            remarks: words::remarks(board, at),
            end: board.ended.get(at).copied().flatten(),
            journal: journal.map_or_else(String::new, |path| path.display().to_string()),
        }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> + Clone {
        self.standings.iter().map(|standing| &standing.row)
    }
}

impl Together {
    fn of(overall: Overall, model: &str) -> Self {
        let baseline = overall.baseline;
        let numbers = |trials: &[usize]| trials.iter().map(|at| at + 1).collect::<Vec<_>>();
        let tried = overall.wordings.iter();
        let tried = tried.map(|merged| numbers(&merged.trials)).collect();
        let rows = overall.wordings.into_iter().enumerate();
        let rows = rows.map(|(at, merged)| Row {
            name: merged.name,
            title: merged.title,
            origin: merged.origin,
            is_baseline: at == baseline,
            measured: merged.measured,
            difference: merged.difference,
        });
        Self {
            kind: overall.kind,
            model: model.to_owned(),
            trials: numbers(&overall.trials),
            rows: rows.collect(),
            tried,
        }
    }

    /// The rows, each with the trials that tried it.
    pub(super) fn rows_with_trials(&self) -> impl Iterator<Item = (&Row, &[usize])> {
        let tried = self.tried.iter().map(Vec::as_slice);
        self.rows.iter().zip(tried)
    }

    /// That some rates are over fewer trials than others, so that they say nothing about each other; text from
    /// outside is in it.
    pub(super) fn remark(&self) -> Option<String> {
        let all = self.trials.len();
        let rows = self.rows_with_trials();
        let fewer = rows.filter(|(_, tried)| tried.len() < all);
        let fewer = fewer.map(|(row, tried)| format!("{} in {}", row.name, tried.len()));
        let fewer = fewer.collect::<Vec<_>>().join(", ");
        (!fewer.is_empty()).then(|| {
            format!(
                "not every wording was tried in each of the {all} trials: {fewer}; their rates are no measure \
                against the others. A difference counts only the trials that have both"
            )
        })
    }

    /// What it is: "unknown-tool with flights: trials 1, 2 and 5 together". Text from outside is in it.
    pub(super) fn title(&self) -> String {
        let numbers = self.trials.iter().map(usize::to_string);
        let numbers = numbers.collect::<Vec<_>>().join(", ");
        let (kind, model) = (self.kind.name(), &self.model);
        format!("{kind} with {model}: trials {numbers} together")
    }
}

impl Row {
    /// Where the true rate lies, with 95 % confidence; `None` where nothing was answered.
    pub(super) fn interval(&self) -> Option<Interval> {
        self.measured.rate().map(|_| self.measured.interval())
    }

    /// The classes that occurred, with how often.
    pub(super) fn occurred(&self) -> impl Iterator<Item = (Class, u32)> {
        let counts = CLASSES.iter().zip(self.measured.counts);
        let counts = counts.map(|((class, ..), count)| (*class, count));
        counts.filter(|(_, count)| *count > 0)
    }

    /// Whether it is clearly better than the baseline, or clearly worse; `None` where the two
    /// are not told apart.
    pub(super) fn is_better(&self) -> Option<bool> {
        let difference = self.difference?;
        difference.tells_apart().then_some(difference.value > 0.0)
    }

    /// How it differs from the baseline, in points, as `+45 (+12..+66)`.
    pub(super) fn points(&self) -> String {
        let Some(difference) = self.difference else {
            return if self.is_baseline { "" } else { "-" }.to_owned();
        };
        let [value, interval] = [
            words::difference(difference.value),
            words::difference_interval(difference.interval),
        ]
        .map(|points| points.trim_end_matches(" pts").to_owned());
        format!("{value} ({interval})")
    }
}

/// What cannot be tried: "unknown-tool at item 5 of run.json with flights: why". Text from outside is in it.
pub(super) fn left_out(one: &LeftOut) -> String {
    let (rule, place) = (&one.subject.rule, place(&one.subject));
    format!("{rule} at {place} with {}: {}", one.model, one.why)
}

/// Where the finding is: "item 5 of run.json", with the session where it is not the first.
pub(super) fn place(subject: &Subject) -> String {
    let (item, path) = (subject.item + 1, &subject.path);
    match subject.session {
        0 => format!("item {item} of {path}"),
        session => format!("item {item} of session {} of {path}", session + 1),
    }
}

/// Why something is over: its word in reports for programs.
pub(super) fn end_word(end: End) -> &'static str {
    match end {
        End::Complete => "complete",
        End::Clear { .. } => "clear",
        End::Requests => "requests",
        End::Tokens => "tokens",
        End::Stopped => "stopped",
        End::ModelFailed => "model-failed",
    }
}

/// The label of what the others are compared with.
pub(super) fn baseline_name<'a>(mut rows: impl Iterator<Item = &'a Row>) -> &'a str {
    match rows.find(|row| row.is_baseline) {
        Some(row) if row.origin == Origin::Recorded => Origin::Recorded.word(),
        Some(row) => &row.name,
        None => "",
    }
}
