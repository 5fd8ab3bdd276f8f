//! `lab`: wordings compared on a model, without a screen.

use super::arguments::{LabArguments, WinnerForm};
use super::exit::{Exit, Failure, LOOK, print_error, refused};
use super::inputs::data_root;
use super::output::{Output, safe_line};
use super::style::Palette;
use crate::tui::terminal::columns_of;
use crate::tui::theme::{Theme, ThemeOptions};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use order::{LabOrder, folder_name, order};
use report::{Looks, ReportLines};
use retake_core::lab::{
    Board, Claim, Class, Experiment, JudgedClaim, LabCommand, LabPhase, Results, Spec, Stop,
    TrialEnd, TrialResults, Verdict, highest, judge, leader_of, left_out, place, standings, winner,
    words,
};
use retake_live::lab::{LabContext, LabNews, LabRun, PreparedLab, labs_folder, prepare};
use retake_live::wordings::{Wordings, usual_files};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

mod order;
mod report;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

/// Cells of a line where no terminal says how many it has.
const USUAL_WIDTH: usize = 80;

pub(super) fn run(arguments: &LabArguments) -> Result<Exit, Failure> {
    let wordings = Wordings::read(&usual_files(Path::new(".")));
    let LabOrder {
        spec,
        folder,
        confirmations,
    } = order(arguments, &wordings)?;
    let journals = journals_of(arguments, &spec)?;
    let beside = LabContext {
        folder: &folder,
        wordings: &wordings,
        journals: &journals,
        is_fresh: arguments.fresh,
    };
    let prepared = prepare(&spec, beside).map_err(refused)?;
    let board = Board::new(Arc::new(prepared.experiment.clone()), Vec::new());
    // Before anything is spent: what the assertions and `--trial` name has to be there.
    judge(&board, &spec.assertions).map_err(refused)?;
    let trial = arguments.trial_number as usize - 1;
    if arguments.winner.is_some() {
        is_there(&board.experiment, trial)?;
    }
    if arguments.dry_run {
        // A real run tells them itself.
        for note in &prepared.notes {
            print_error(&safe_line(note), None);
        }
        let plan = plan(&Results::of(&board), looks(arguments));
        return write(Exit::Clean, |out| out.write_all(plan.as_bytes()));
    }
    for confirmation in &confirmations {
        confirmation.ask(arguments.trust)?;
    }
    let conducted = experiment(prepared)?;
    let mut results = Results::of(&conducted.board);
    results.assertions = judge(&conducted.board, &spec.assertions).map_err(refused)?;
    let fails = arguments.assert && assertions_fail(&results, arguments.strict);
    let exit = conducted.exit(fails);
    if let Some(form) = arguments.winner {
        let won = winning(&conducted.board, &spec, form, trial)?;
        return write(exit, |out| out.write_all(won.as_bytes()));
    }
    write(exit, |out| {
        report::write(out, arguments.format, looks(arguments), &results)
    })
}

/// Whether the assertions fail, or nothing can be asserted of what the spec names; tells what is not
/// seen from their verdicts.
fn assertions_fail(results: &Results<'_>, is_strict: bool) -> bool {
    if let Some(earlier) = words::earlier(results.earlier()) {
        print_error(&earlier, Some("--fresh starts anew"));
    }
    let every = &results.experiment().left_out;
    let all = every.iter().filter(|one| one.is_all);
    let counts = all.chain(every.iter().filter(|one| is_strict && !one.is_all));
    let mut fails = false;
    for one in counts {
        fails = true;
        let one = left_out(one);
        print_error(
            &safe_line(&format!("nothing is asserted about {one}")),
            None,
        );
    }
    fails || { results.assertions.iter() }.any(|judged| is_failure(judged, is_strict))
}

/// Whether what came of a claim makes the command fail: what is undecided does where the figures do not even
/// reach it, or the operator is strict.
fn is_failure(judged: &JudgedClaim, is_strict: bool) -> bool {
    let reaches = match &judged.claim {
        Claim::AtLeast(rate) => judged
            .corrected
            .rate()
            .is_some_and(|counted| counted >= *rate),
        Claim::BetterThan { difference, .. } => difference.is_some_and(|one| one.value > 0.0),
    };
    match judged.verdict {
        Verdict::Holds => false,
        Verdict::Undecided => is_strict || !reaches,
        Verdict::Fails => true,
    }
}

/// Where the journals go: where the operator says, or among the operator's own data.
fn journals_of(arguments: &LabArguments, spec: &Spec) -> Result<PathBuf, Failure> {
    if let Some(folder) = &arguments.journals {
        return Ok(folder.clone());
    }
    let root = data_root("journals", "--journals FOLDER names one")?;
    Ok(labs_folder(&root).join(folder_name(&spec.name)))
}

/// Runs it to its end.
fn experiment(prepared: PreparedLab) -> Result<Conducted, Failure> {
    let interrupted = retake_live::note_interrupts();
    let (sender, news) = channel::<LabNews>();
    let report = Arc::new(move |news| {
        // Nobody hears it when the experiment is over.
        let _unheard = sender.send(news);
    });
    let lab = LabRun::start(prepared, report).map_err(refused)?;
    conduct(
        &news,
        interrupted,
        |command| lab.command(command),
        Watching::new(),
    )
}

fn looks(arguments: &LabArguments) -> Looks {
    let wish = ThemeOptions {
        variant: None,
        ascii: arguments.ascii,
    };
    let theme = Theme::choose(wish, &|name| std::env::var(name).ok());
    let width = columns_of(std::io::stdout());
    Looks {
        width: width.map_or(USUAL_WIDTH, usize::from),
        palette: Palette::of_stdout(arguments.color),
        ascii: theme.glyphs.ascii,
    }
}

/// Writes to stdout; how the command stood decides its end where that fails.
fn write(
    exit: Exit,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<Exit, Failure> {
    let mut output = Output::stdout();
    let written = write(&mut output).and_then(|()| output.finish());
    exit.after(written)
}

// An experiment from its first question to its end, or to the operator's interrupt.

/// How an experiment ended.
#[derive(Debug)]
struct Conducted {
    board: Arc<Board>,
    /// Whether the operator ended it.
    was_interrupted: bool,
}

/// Watches an experiment until it is over; the first interrupt ends it.
fn conduct(
    news: &Receiver<LabNews>,
    interrupted: impl Fn() -> bool,
    mut tell: impl FnMut(LabCommand),
    mut watching: Watching,
) -> Result<Conducted, Failure> {
    let mut was_interrupted = false;
    loop {
        if !was_interrupted && interrupted() {
            was_interrupted = true;
            tell(LabCommand::Stop);
        }
        match news.recv_timeout(LOOK) {
            Ok(LabNews::Board(board)) => {
                watching.board(&board);
                if matches!(board.phase, LabPhase::Ended(_)) {
                    return Ok(Conducted {
                        board,
                        was_interrupted,
                    });
                }
            }
            Ok(LabNews::Notice(notice)) => watching.notice(&notice),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::refused("the lab ended before the experiment"));
            }
        }
    }
}

impl Conducted {
    /// How the command ends; `fails` says whether an assertion that counts does.
    fn exit(&self, fails: bool) -> Exit {
        let ended = self.board.ended.iter().flatten();
        let model_failed =
            matches!(self.board.phase, LabPhase::Ended(TrialEnd::ModelFailed)) || { ended }
                .any(|end| *end == TrialEnd::ModelFailed);
        match (self.was_interrupted, model_failed, fails) {
            (true, ..) => Exit::Signal(2),
            (_, true, _) => Exit::Upstream,
            (_, _, true) => Exit::Findings,
            _ => Exit::Clean,
        }
    }
}

// Progress of an experiment on stderr: a bar that is hidden without a terminal, and a line for each trial that
// ends.

/// What was reported of an experiment so far.
struct Watching {
    bar: ProgressBar,
    /// Which trials were reported to be over.
    reported: Vec<bool>,
}

impl Watching {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("{spinner} {pos} of {len} samples {wide_bar} {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self {
            bar,
            reported: Vec::new(),
        }
    }

    /// The same without a bar, wherever it runs.
    #[cfg(test)]
    fn hidden() -> Self {
        let watching = Self::new();
        watching.bar.set_draw_target(ProgressDrawTarget::hidden());
        watching
    }

    fn board(&mut self, board: &Board) {
        let (done, expected) = done_and_asked(board);
        self.bar.set_length(expected as u64);
        self.bar.set_position(done as u64);
        let spent = board.spent;
        let about = if spent.estimated_tokens() > 0 {
            "~"
        } else {
            ""
        };
        self.bar
            .set_message(format!("{about}{} tokens", spent.tokens()));
        self.reported.resize(board.ended.len(), false);
        for (at, end) in board.ended.iter().enumerate() {
            if let (Some(_), false) = (end, self.reported[at]) {
                self.reported[at] = true;
                let line = line_of(board, at);
                self.aside(|| {
                    let palette = Palette::of_stderr();
                    // Without stderr there is nobody to tell.
                    let _unread = writeln!(std::io::stderr(), "{}", palette.dim(line));
                });
            }
        }
    }

    /// Tells a notice; text from outside may be in it.
    fn notice(&self, notice: &str) {
        self.aside(|| print_error(&safe_line(notice), None));
    }

    /// Writes while the bar is out of the way.
    fn aside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Samples that are there, and those that there will be. Failed questions are none; what an ended trial did not
/// need is not waited for.
fn done_and_asked(board: &Board) -> (usize, usize) {
    let wanted = board.experiment.samples as usize;
    let (mut done, mut expected) = (0, 0);
    for (at, variants) in board.samples.iter().enumerate() {
        let is_over = board.ended.get(at).is_some_and(Option::is_some);
        for samples in variants {
            let answered = samples
                .iter()
                .filter(|one| one.class != Class::Failed)
                .count();
            done += answered;
            expected += if is_over {
                answered
            } else {
                wanted.max(answered)
            };
        }
    }
    (done, expected)
}

/// A trial that is over, in a line.
fn line_of(board: &Board, at: usize) -> String {
    let (Some(trial), Some(Some(end))) = (
        board.experiment.trials.get(at),
        board.ended.get(at).copied(),
    ) else {
        return String::new();
    };
    let (rule, place, model) = (&trial.subject.rule, place(&trial.subject), &trial.model);
    let end = words::ended(&board.experiment, Some(trial), end);
    let number = at + 1;
    safe_line(&format!(
        "trial {number}: {rule} at {place}, {model}: {end}"
    ))
}

// What an experiment would do: findings, wordings as the model would read them, and how
// many questions that is.

/// The plan of an experiment in which no request was sent yet.
fn plan(results: &Results<'_>, looks: Looks) -> String {
    let experiment = results.experiment();
    let mut out = ReportLines::new(looks);
    out.title(&experiment.name);
    out.wrapped("", &questions(results));
    if let Some(tokens) = experiment.caps.tokens {
        let tokens = words::thousands(tokens);
        out.wrapped("", &format!("it ends when {tokens} tokens are spent"));
    }
    if let Stop::Clear { error_rate } = experiment.stop {
        let chance = words::chance(error_rate);
        out.wrapped(
            "",
            &format!("a trial ends before that when one wording is clearly the best; chance of a false leader \
                at most {chance}"),
        );
    }
    for trial in &results.trials {
        out.heading(trial);
        wordings(&mut out, trial);
    }
    out.all_left_out(results);
    out.text
}

/// How many questions it would be.
fn questions(results: &Results<'_>) -> String {
    let (_, expected) = results.samples();
    let experiment = results.experiment();
    let most = experiment
        .caps
        .requests
        .map_or(expected, |most| expected.min(most as usize));
    let samples = experiment.samples;
    let rows = results.trials.iter().map(|trial| trial.rows.len());
    let wordings = rows.sum::<usize>();
    let most = words::thousands(most as u64);
    let trials = match results.trials.len() {
        1 => "1 trial".to_owned(),
        trials => format!("{trials} trials"),
    };
    let capped = match experiment.caps.requests {
        Some(cap) if (cap as usize) < expected => ", which is the cap",
        _ => "",
    };
    format!(
        "{trials}, {wordings} wordings in all, {samples} samples of each: {most} requests at most{capped}"
    )
}

fn wordings(out: &mut ReportLines, trial: &TrialResults<'_>) {
    for variant in &trial.trial.variants {
        let origin = variant.origin.word();
        let axes = variant
            .axes
            .map_or_else(String::new, |axes| format!("; {axes}"));
        out.wrapped("   ", &format!("{} ({origin}{axes})", variant.name));
        for line in variant.words.lines() {
            out.dim_wrapped("     ", line);
        }
    }
}

// What the best wording of a trial becomes: a policy entry, a recipe, or a spec that tests it again.

/// Whether there is a trial of this number, counted from 0.
fn is_there(experiment: &Experiment, trial: usize) -> Result<(), Failure> {
    let (number, trials) = (trial + 1, experiment.trials.len());
    match trial < trials {
        true => Ok(()),
        false => Err(Failure::refused(format!(
            "there is no trial {number}; there are {trials}"
        ))),
    }
}

/// The text for a trial, counted from 0. Remarks on the trial go to stderr.
fn winning(board: &Board, spec: &Spec, form: WinnerForm, trial: usize) -> Result<String, Failure> {
    let trials = board.experiment.trials.len();
    let variant = best(board, trial).ok_or_else(|| {
        let number = trial + 1;
        Failure::refused(format!(
            "trial {number} has no answer that was corrected, so nothing won"
        ))
    })?;
    let won = winner(board, spec, (trial, variant), false);
    let won = won.ok_or_else(|| Failure::refused("there is no such wording"))?;
    let text = match form {
        WinnerForm::Policy => won.policy.map_err(refused),
        WinnerForm::OpenaiAgents => won.recipe.map_err(refused),
        WinnerForm::Spec => won.test.map_err(refused).and_then(|spec| {
            let written = spec.write();
            written.map_err(|error| Failure::refused(error.to_string()))
        }),
    }?;
    if trials > 1 {
        print_error(
            &format!(
                "of trial {}, one of {trials}; --trial N takes another",
                trial + 1
            ),
            None,
        );
    }
    for remark in words::remarks(board, trial) {
        print_error(&safe_line(&remark), None);
    }
    Ok(text)
}

/// The clear leader, or the first with the highest rate; `None` where no answer was corrected.
fn best(board: &Board, trial: usize) -> Option<usize> {
    if let Some(leader) = leader_of(board, trial) {
        return Some(leader);
    }
    highest(&standings(board, trial)).first().copied()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod conduct_tests {
    use super::tests::board;
    use super::*;
    use std::sync::mpsc::channel;

    fn board_in(phase: LabPhase, ended: [Option<TrialEnd>; 2]) -> Arc<Board> {
        let mut board = board();
        board.phase = phase;
        board.ended = ended.to_vec();
        Arc::new(board)
    }

    #[test]
    fn an_experiment_is_watched_until_it_is_over() {
        let (sender, news) = channel();
        sender
            .send(LabNews::Notice("slow \u{1b}[2J".to_owned()))
            .unwrap();
        let complete = Some(TrialEnd::Complete);
        for (phase, ended) in [
            (LabPhase::Running, [None, None]),
            (LabPhase::Ending(TrialEnd::Complete), [complete, None]),
            (LabPhase::Ended(TrialEnd::Complete), [complete; 2]),
        ] {
            sender.send(LabNews::Board(board_in(phase, ended))).unwrap();
        }
        let conducted = conduct(
            &news,
            || false,
            |_| panic!("nobody asked"),
            Watching::hidden(),
        );
        let conducted = conducted.unwrap();
        assert_eq!(conducted.board.phase, LabPhase::Ended(TrialEnd::Complete));
        assert_eq!(conducted.exit(false), Exit::Clean);
        assert_eq!(conducted.exit(true), Exit::Findings);
    }

    #[test]
    fn the_first_interrupt_ends_the_experiment_and_what_is_there_is_kept() {
        let (sender, news) = channel();
        let mut reported = Vec::new();
        let stopped = Some(TrialEnd::Stopped);
        let conducted = conduct(
            &news,
            || true,
            |command| {
                reported.push(command);
                let board = board_in(LabPhase::Ended(TrialEnd::Stopped), [stopped; 2]);
                sender.send(LabNews::Board(board)).unwrap();
            },
            Watching::hidden(),
        );
        assert_eq!(conducted.unwrap().exit(true).code(), 130);
        assert_eq!(reported, [LabCommand::Stop]);
    }

    #[test]
    fn a_model_that_could_not_be_asked_is_told_apart_from_an_assertion_that_fails() {
        let failed = Some(TrialEnd::ModelFailed);
        let board = board_in(
            LabPhase::Ended(TrialEnd::Complete),
            [failed, Some(TrialEnd::Complete)],
        );
        let conducted = Conducted {
            board,
            was_interrupted: false,
        };
        assert_eq!(conducted.exit(true), Exit::Upstream);
    }

    #[test]
    fn a_lab_that_vanishes_is_no_end() {
        let (_, news) = channel();
        assert!(conduct(&news, || false, |_| (), Watching::hidden()).is_err());
    }
}

#[cfg(test)]
mod winning_tests {
    use super::tests::board;
    use super::*;

    #[test]
    fn the_highest_rate_wins_and_without_a_corrected_answer_nobody_does() {
        let mut board = board();
        assert_eq!(best(&board, 0), Some(1));
        board.samples[0][1].clear();
        assert_eq!(best(&board, 0), Some(2));
        board.samples[0][2].clear();
        assert!(board.answered(0, 0).next().is_some());
        assert_eq!(best(&board, 0), None);
        for samples in &mut board.samples[0] {
            samples.clear();
        }
        assert_eq!(best(&board, 0), None);
        assert_eq!(best(&board, 9), None);
        assert!(is_there(&board.experiment, 1).is_ok());
        assert!(is_there(&board.experiment, 2).is_err());
    }
}
