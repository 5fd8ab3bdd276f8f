//! `proxy --chaos` and `replay --chaos`: faults on purpose, and a report of what the agent made of them.

use super::arguments::LineFormat;
use super::exit::{Exit, Failure, LOOK, print_error, refused};
use super::inputs::data_root;
use super::output::{counted, name_of, safe_line};
use super::report::write_line;
use super::style::{Color, Palette};
use regex::Regex;
use retake_core::chaos::{
    AgentEnd, ChaosFault, ChaosOutcome, ChaosSpec, ChaosTrial, FAULTS, Injection, InjectionPlan,
    Reaction, Usual, outcome, outcome_of_conversation,
};
use retake_live::note_ends;
use retake_live::proxy::agent::{AgentStart, Played, TrialError, play};
use retake_live::proxy::recorder::proxies_folder;
use retake_live::proxy::{
    Chaos, ChaosSpecError, Proxy, ProxyNews, ProxyOptions, connect, read_spec,
};
use retake_live::takes::wall_clock;
use serde::{Serialize, Serializer};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The name of the journal of the run without a fault.
const CONTROL: &str = "00-control";
/// How many of the last lines of an agent's standard error a JSON report holds.
const LINES: usize = 10;
/// Most characters of a line of the report that ends with a journal.
const LINE: usize = 80;

/// Variables that an agent gets where retake's own environment does not have them: name and value.
type Defaults = &'static [(&'static str, &'static str)];

/// Options of a proxy that injects faults.
pub(super) struct Wish<'a> {
    pub(super) spec: &'a Path,
    /// The agent that is started anew for each trial; without one whatever connects gets faults.
    pub(super) command: &'a [OsString],
    /// What an agent needs to begin at all.
    pub(super) defaults: Defaults,
    pub(super) format: LineFormat,
    /// The upstream of the proxy, if it is a recording.
    pub(super) recording: Option<&'a dyn ServedRecording>,
}

/// Runs a proxy that injects faults to its end: with a command once for each trial, without one
/// until it is interrupted.
pub(super) fn run(
    wish: &Wish<'_>,
    options: impl FnOnce() -> Result<ProxyOptions, Failure>,
) -> Result<Exit, Failure> {
    let spec = read(wish.spec)?;
    let options = options()?;
    let signal = note_ends();
    let out = &mut io::stdout().lock();
    if wish.command.is_empty() {
        let results = inject_until_signal(&spec, options, &signal)?;
        return conclude(&results, wish.format, out);
    }
    let (results, exit) = try_all(&spec, options, wish, &signal)?;
    let of_results = conclude(&results, wish.format, out)?;
    Ok(exit.unwrap_or(of_results))
}

/// Writes the report, says what was not tested, and gives the exit code that all of it amounts to.
fn conclude(results: &Results, format: LineFormat, out: &mut dyn Write) -> Result<Exit, Failure> {
    match format {
        LineFormat::Text => text(out, Palette::of_stdout(Color::Auto), results)?,
        LineFormat::Json => json(out, results)?,
    }
    out.flush()?;
    let hint = "no reply matched any of the faults; see `turns` and `faults` in the spec";
    let turns = results.turns_not_reached();
    let missed = match results.has_any() {
        false => Some("no fault was reached: nothing was tested".to_owned()),
        true if !turns.is_empty() => {
            let turns = turns.join(", ");
            Some(format!("no fault was reached at turn {turns}"))
        }
        true => None,
    };
    // What was not tried was not missed.
    if let Some(missed) = missed.filter(|_| results.broken_off.is_none()) {
        print_error(&missed, Some(hint));
    }
    Ok(results.exit())
}

fn read(path: &Path) -> Result<ChaosSpec, Failure> {
    read_spec(path).map_err(|error| match error {
        ChaosSpecError::Unreadable(error) => Failure::of_file(path, &error),
        ChaosSpecError::Invalid(errors) => Failure::invalid_file(path, &errors, "chaos"),
    })
}

// The line of an agent's standard error that says what ended it.

/// The last line that names an exception, as Python, Node and others print them; the last one that says
/// anything where none does.
fn exception_line(stderr: &[String]) -> Option<&str> {
    static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let name = r"^(Uncaught |Caused by: |\[?error\]?:? )?[A-Za-z_][\w.:]*(Error|Exception|Exceeded|Timeout|Interrupt|Panic)\b|panicked at";
        Regex::new(name).ok()
    });
    let named = |line: &&String| NAMED.as_ref().is_some_and(|named| named.is_match(line));
    let last = || stderr.iter().rev();
    let line = last().find(named);
    let line = line.or_else(|| last().find(|line| !line.trim().is_empty()));
    line.map(|line| line.trim())
}

// A recording as the model of an agent that gets faults.

/// A recording that is served, as far as trials know it.
pub(super) trait ServedRecording {
    /// An agent begins anew.
    fn rewind(&self);

    /// How far the requests since then differ from the recorded ones.
    fn strayed(&self) -> Strayed;
}

/// Requests that are not as they were recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub(super) struct Strayed {
    /// How many the nearest turn answered.
    pub(super) nearest: usize,
    /// How many were refused.
    pub(super) refused: usize,
    /// What differs in the first of them. May hold text from outside.
    pub(super) first: Option<String>,
}

impl Strayed {
    /// It in words; `None` where nothing differs.
    fn words(&self) -> Option<String> {
        let first = self.first.as_deref()?;
        let count = |count: usize, what: &str| match count {
            0 => None,
            count => Some(format!("{count} {what}")),
        };
        let counts = [
            count(self.nearest, "answered by the nearest turn"),
            count(self.refused, "refused"),
        ];
        let counts = counts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        Some(format!(
            "its requests differ from the recording: {counts}; the first: {first}"
        ))
    }
}

// Faults for whatever agents connect, one in each conversation, until the proxy is interrupted.

fn inject_until_signal(
    spec: &ChaosSpec,
    options: ProxyOptions,
    signal: &dyn Fn() -> Option<i32>,
) -> Result<Results, Failure> {
    let chaos = Arc::new(Chaos::new(spec, InjectionPlan::InTurn(spec.trials())));
    let (sender, news) = channel();
    let heard = Arc::new(move |one: ProxyNews| {
        // Nobody hears it when the proxy is over.
        let _over = sender.send(one);
    });
    let proxy = Proxy::start_with_chaos(options, chaos.clone(), heard);
    let proxy = proxy.map_err(super::proxy::not_started)?;
    let journal = proxy.journal().to_string_lossy().into_owned();
    say(&connect::hint(proxy.reaches()));
    wait(&news, signal)?;
    drop(proxy);
    Ok(Results {
        seed: spec.seed,
        trials: trials_of(&chaos, &journal),
        journals: journal,
        outcomes: ChaosOutcome::OF_CONVERSATIONS,
        ..Results::default()
    })
}

/// Waits for a signal, and tells on stderr what the operator should know.
fn wait(news: &Receiver<ProxyNews>, signal: &dyn Fn() -> Option<i32>) -> Result<(), Failure> {
    while signal().is_none() {
        match news.recv_timeout(LOOK) {
            Ok(ProxyNews::Notice(words)) => say(&format!("{}\n", safe_line(&words))),
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::refused("the proxy ended by itself"));
            }
        }
    }
    Ok(())
}

fn say(words: &str) {
    // Without stderr there is nobody to tell.
    let _unread = std::io::stderr().write_all(words.as_bytes());
}

fn trials_of(chaos: &Chaos, journal: &str) -> Vec<TrialReport> {
    let now = chaos.now_ms();
    let injected = chaos.injections().into_iter().map(|injection| {
        let outcome = outcome_of_conversation(&injection);
        let is_silent = outcome == ChaosOutcome::Silent;
        TrialReport {
            silent_ms: is_silent.then(|| now.saturating_sub(injection.at_ms)),
            ..TrialReport::new(
                injection.trial,
                outcome,
                Some(injection),
                journal.to_owned(),
            )
        }
    });
    let missed = chaos.not_reached().into_iter();
    let missed = missed.map(|(trial, why)| TrialReport {
        why_not_reached: Some(why),
        ..TrialReport::new(trial, ChaosOutcome::NotReached, None, journal.to_owned())
    });
    injected.chain(missed).collect()
}

// An agent that is started anew for each trial, with one fault each time, and once without any before.

/// Tries every fault of a spec on the agent that a command starts; gives the exit code where it does not follow
/// from the results.
fn try_all(
    spec: &ChaosSpec,
    mut options: ProxyOptions,
    wish: &Wish<'_>,
    signal: &dyn Fn() -> Option<i32>,
) -> Result<(Results, Option<Exit>), Failure> {
    let folder = folder(options.journal.take())?;
    let mut results = Results {
        seed: spec.seed,
        journals: folder.to_string_lossy().into_owned(),
        outcomes: ChaosOutcome::OF_TRIALS,
        ..Results::default()
    };
    let campaign = Campaign {
        spec,
        options,
        wish,
        signal,
        folder: &folder,
    };
    let exit = match campaign.try_each(&mut results) {
        Ok(None) => None,
        Ok(Some(why)) => {
            results.broken_off = Some(why);
            Some(Exit::Upstream)
        }
        Err(TrialError::Interrupted(number)) => {
            results.broken_off = Some("interrupted".to_owned());
            Some(Exit::Signal(number))
        }
        Err(TrialError::Proxy(error)) => return Err(refused(error)),
        Err(error) => return Err(refused(error)),
    };
    Ok((results, exit))
}

struct Campaign<'a> {
    spec: &'a ChaosSpec,
    options: ProxyOptions,
    wish: &'a Wish<'a>,
    signal: &'a dyn Fn() -> Option<i32>,
    folder: &'a Path,
}

impl Campaign<'_> {
    /// Gives why it is broken off, where it is.
    fn try_each(&self, results: &mut Results) -> Result<Option<String>, TrialError> {
        let played = self.play(InjectionPlan::Nothing, CONTROL)?;
        let why = played.no_reply.clone().or_else(|| unsound(&played));
        let usual = played.requests;
        let is_sound = played.end == AgentEnd::Exit(Some(0));
        let error = exception_line(&played.stderr).map(str::to_owned);
        results.control = Some(Control {
            is_sound,
            exit: played.end.code(),
            end: played.end,
            requests: usual.requests(),
            error: error.filter(|_| !is_sound),
            journal: file_name(&played.journal),
            recording: self.wish.recording.map(|recording| recording.strayed()),
        });
        if why.is_some() {
            return Ok(why);
        }
        let trials = self.spec.trials();
        let count = trials.len();
        for (place, trial) in trials.into_iter().enumerate() {
            let plan = InjectionPlan::One(trial, usual.clone());
            let played = self.play(plan, &journal_name(place + 1, &trial))?;
            if let Some(why) = played.no_reply {
                return Ok(Some(format!("{}: {why}", trial.fault.id)));
            }
            let report = trial_report(trial, played, &usual);
            progress(place + 1, count, &report);
            results.trials.push(report);
        }
        Ok(None)
    }

    fn play(&self, plan: InjectionPlan, name: &str) -> Result<Played, TrialError> {
        if let Some(recording) = self.wish.recording {
            recording.rewind();
        }
        let chaos = Arc::new(Chaos::new(self.spec, plan));
        let mut options = self.options.clone();
        options.journal = Some(self.folder.join(format!("{name}.jsonl")));
        let start = AgentStart {
            argv: self.wish.command,
            defaults: self.wish.defaults,
            patience: Duration::from_millis(self.spec.timeout_ms),
        };
        play(options, &chaos, start, self.signal)
    }
}

/// Why there is nothing to compare with.
fn unsound(played: &Played) -> Option<String> {
    let why = match played.end {
        AgentEnd::Exit(Some(0)) => return None,
        AgentEnd::Exit(_) => "the agent also fails without a fault: there is no baseline",
        AgentEnd::TimedOut => "the agent also times out without a fault; see `timeout`",
    };
    Some(why.to_owned())
}

fn trial_report(trial: ChaosTrial, played: Played, usual: &Usual) -> TrialReport {
    let injection = played.injections.into_iter().next();
    let asked_more = played.requests.requests() > usual.requests();
    let outcome = outcome(injection.as_ref(), played.end, asked_more);
    let report = TrialReport {
        why_not_reached: played.why_missed,
        ..TrialReport::new(trial, outcome, injection, file_name(&played.journal))
    };
    report.ended(played.end, played.stderr)
}

fn journal_name(place: usize, trial: &ChaosTrial) -> String {
    format!(
        "{place:02}-{}-{}-{}",
        trial.fault.id, trial.turn, trial.number
    )
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Where somebody looks, how far it is.
fn progress(place: usize, count: usize, trial: &TrialReport) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let (fault, outcome) = (trial.fault.id, trial.outcome.words());
        // Without stderr there is nobody to tell.
        let _unread = writeln!(stderr, "{place} of {count}: {fault} {outcome}");
    }
}

/// The folder of the journals, which is made: where the operator says, or a new one among
/// the operator's own data.
fn folder(named: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let folder = match named {
        Some(folder) => folder,
        None => {
            let root = data_root("the journals", "--journal FOLDER names a folder")?;
            proxies_folder(&root).join(format!("chaos-{}", wall_clock()))
        }
    };
    if folder.join(format!("{CONTROL}.jsonl")).exists() {
        let message = format!("{} holds another campaign already", name_of(&folder));
        return Err(Failure::with_hint(
            message,
            "--journal FOLDER names another folder",
        ));
    }
    std::fs::create_dir_all(&folder).map_err(|error| Failure::of_file(&folder, &error))?;
    Ok(folder)
}

// What became of an agent that got faults: a table for people, or one JSON object a line.

/// One trial, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct TrialReport {
    #[serde(serialize_with = "id")]
    fault: &'static ChaosFault,
    /// Which reply was to get it: a number, or `any`.
    turn: String,
    /// Which time it was tried, from 1.
    number: u32,
    outcome: ChaosOutcome,
    /// Why the fault was not injected.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not_reached: Option<String>,
    /// The reply that had the fault first.
    at: Option<u32>,
    conversation: Option<usize>,
    times: u32,
    how: Option<Reaction>,
    /// Whether the first request after it is without a fault as well.
    as_usual: bool,
    /// The rule by which a provider would refuse that request.
    refused_by: Option<&'static str>,
    requests_after: u32,
    /// How long it was silent by the end of the proxy, in milliseconds, if no request followed.
    silent_ms: Option<u64>,
    exit: Option<i32>,
    /// The line of its standard error that tells why it ended, where that matters.
    error: Option<String>,
    /// The last lines of its standard error.
    stderr: Vec<String>,
    expected: &'static str,
    journal: String,
    /// How the agent ended, where it was started for this.
    #[serde(skip)]
    end: Option<AgentEnd>,
}

fn id<S: Serializer>(fault: &ChaosFault, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(fault.id)
}

impl TrialReport {
    fn new(
        trial: ChaosTrial,
        outcome: ChaosOutcome,
        injection: Option<Injection>,
        journal: String,
    ) -> Self {
        let injection = injection.as_ref();
        Self {
            fault: trial.fault,
            turn: trial.turn.to_string(),
            number: trial.number,
            outcome,
            why_not_reached: None,
            at: injection.map(|injection| injection.turn),
            conversation: injection.map(|injection| injection.conversation),
            times: injection.map_or(0, |injection| injection.times),
            how: injection.and_then(|injection| injection.how),
            as_usual: injection.is_some_and(|injection| injection.was_usual),
            refused_by: injection.and_then(|injection| injection.refused_by),
            requests_after: injection.map_or(0, |injection| injection.requests_after),
            silent_ms: None,
            exit: None,
            error: None,
            stderr: Vec::new(),
            expected: trial.fault.expected,
            journal,
            end: None,
        }
    }

    /// The trial of an agent that was started for it.
    fn ended(mut self, end: AgentEnd, mut stderr: Vec<String>) -> Self {
        self.end = Some(end);
        self.exit = end.code();
        if self.shows_error() {
            self.error = exception_line(&stderr).map(str::to_owned);
        }
        self.stderr = stderr.split_off(stderr.len().saturating_sub(LINES));
        self
    }

    /// Whether what it wrote tells why it ended.
    fn shows_error(&self) -> bool {
        let failed = matches!(self.end, Some(AgentEnd::Exit(code)) if code != Some(0));
        let counts = self.outcome != ChaosOutcome::NotReached;
        self.outcome.is_bad() || failed && counts
    }
}

/// The run without a fault.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Control {
    is_sound: bool,
    exit: Option<i32>,
    requests: u32,
    /// The line of its standard error that tells why it failed.
    error: Option<String>,
    journal: String,
    /// How far its requests were from the recording, where that is the model.
    recording: Option<Strayed>,
    #[serde(skip)]
    end: AgentEnd,
}

#[derive(Debug, Default)]
struct Results {
    seed: u64,
    /// The folder of the journals, or the journal.
    journals: String,
    control: Option<Control>,
    trials: Vec<TrialReport>,
    /// What can become of a trial, in the order of reports.
    outcomes: &'static [ChaosOutcome],
    /// Why not everything was tried, where that is so.
    broken_off: Option<String>,
}

impl Results {
    fn count(&self, outcome: ChaosOutcome) -> usize {
        let of = self.trials.iter();
        of.filter(|trial| trial.outcome == outcome).count()
    }

    fn has_any(&self) -> bool {
        self.count(ChaosOutcome::NotReached) < self.trials.len()
    }

    /// The turns that the spec names and at which no fault was injected.
    fn turns_not_reached(&self) -> Vec<&str> {
        let mut turns: Vec<&str> = Vec::new();
        let is_missed = |trial: &&TrialReport| trial.outcome == ChaosOutcome::NotReached;
        for missed in self.trials.iter().filter(is_missed) {
            let turn = missed.turn.as_str();
            let mut of_turn = self.trials.iter().filter(|trial| trial.turn == turn);
            if turn != "any" && of_turn.all(|one| is_missed(&one)) && !turns.contains(&turn) {
                turns.push(turn);
            }
        }
        turns
    }

    /// The exit code that they amount to; a report without a fault that was injected, at all or at a turn that
    /// the spec names, proves nothing.
    fn exit(&self) -> Exit {
        if self.trials.iter().any(|trial| trial.outcome.is_bad()) {
            return Exit::Findings;
        }
        match self.has_any() && self.turns_not_reached().is_empty() {
            true => Exit::Clean,
            false => Exit::Usage,
        }
    }
}

fn text(out: &mut dyn Write, palette: Palette, results: &Results) -> io::Result<()> {
    let journals = safe_line(&results.journals);
    writeln!(out, "seed {}, journals in {journals}", results.seed)?;
    if let Some(control) = &results.control {
        let how = match control.is_sound {
            true => "ends well".to_owned(),
            false => format!(
                "{}: {}",
                ended(control.end),
                error_line(control.error.as_deref())
            ),
        };
        let requests = counted(control.requests as usize, "request");
        writeln!(out, "without a fault the agent {how} ({requests})")?;
        if let Some(words) = control.recording.as_ref().and_then(Strayed::words) {
            writeln!(out, "{}", palette.warning(safe_line(&words)))?;
        }
    }
    if !results.trials.is_empty() {
        table(out, palette, results)?;
    }
    let counts = results.outcomes.iter();
    let counts = counts.map(|outcome| format!("{} {}", results.count(*outcome), outcome.words()));
    let counts: Vec<String> = counts.collect();
    let trials = counted(results.trials.len(), "trial");
    writeln!(out, "\n{trials}: {}", counts.join(", "))?;
    if let Some(why) = &results.broken_off {
        writeln!(out, "{}", palette.warning(safe_line(why)))?;
    }
    Ok(())
}

fn table(out: &mut dyn Write, palette: Palette, results: &Results) -> io::Result<()> {
    let width = FAULTS.iter().map(|fault| fault.id.len()).max();
    let width = width.unwrap_or_default();
    let heads = results.outcomes.iter().map(|outcome| outcome.words());
    let heads = heads.collect::<Vec<_>>().join("  ");
    let head = format!("{:width$}  {heads}", "fault");
    writeln!(out, "\n{}", palette.bold(head))?;
    let faults = FAULTS.iter();
    for fault in faults {
        let of: Vec<&TrialReport> = results
            .trials
            .iter()
            .filter(|trial| trial.fault == fault)
            .collect();
        if of.is_empty() {
            continue;
        }
        let counts = results.outcomes.iter().map(|outcome| {
            let count = of.iter().filter(|trial| trial.outcome == *outcome);
            let count = count.count();
            let count = if count == 0 {
                "·".to_owned()
            } else {
                count.to_string()
            };
            format!("{count:>width$}", width = outcome.words().len())
        });
        let counts = counts.collect::<Vec<_>>().join("  ");
        writeln!(out, "{:width$}  {counts}", fault.id)?;
        for trial in &of {
            writeln!(out, "  {}", line(palette, trial))?;
        }
        if of.iter().any(|trial| trial.outcome.is_bad()) {
            writeln!(out, "  {} {}", palette.dim("expected:"), fault.expected)?;
        }
    }
    Ok(())
}

fn line(palette: Palette, trial: &TrialReport) -> String {
    let word = match trial.outcome {
        ChaosOutcome::Survived => palette.added(trial.outcome.words()),
        ChaosOutcome::NotReached => palette.dim(trial.outcome.words()),
        _ => palette.error(trial.outcome.words()),
    };
    let mut line = match trial.at {
        Some(turn) => format!(" at turn {turn}{}", after_fault(trial)),
        None => match &trial.why_not_reached {
            Some(why) => format!(" (turn {}): {why}", trial.turn),
            None => format!(" (turn {})", trial.turn),
        },
    };
    let is_plain =
        trial.outcome == ChaosOutcome::Survived || trial.outcome == ChaosOutcome::NotReached;
    let shows_end = trial.outcome == ChaosOutcome::Killed
        || is_plain && trial.end != Some(AgentEnd::Exit(Some(0)));
    if let Some(end) = trial.end.filter(|_| shows_end) {
        line += &format!(", {}", ended(end));
    }
    if trial.shows_error() && !trial.stderr.is_empty() {
        line += &format!(": {}", error_line(trial.error.as_deref()));
    }
    if trial.as_usual && trial.outcome != ChaosOutcome::Unnoticed {
        line += "\n    its first request after it is one that it sends without a fault, too";
    }
    if let Some(rule) = trial.refused_by {
        line += &format!("\n    a provider would refuse its first request after it: {rule}");
    }
    let journal = safe_line(&trial.journal);
    let cells = 2 + trial.outcome.words().len() + line.chars().count() + 2 + journal.len();
    // A line that is too long for the usual terminal has its journal below it.
    let is_long = cells > LINE || line.contains('\n');
    let between = if is_long { "\n    " } else { "  " };
    format!("{word}{line}{between}{}", palette.dim(journal))
}

fn after_fault(trial: &TrialReport) -> String {
    let mut line = String::new();
    if trial.times > 1 {
        line += &format!(", {} times", trial.times);
    }
    if let Some(conversation) = trial.conversation.filter(|_| trial.end.is_none()) {
        line += &format!(", conversation {conversation}");
    }
    if let Some(silent_ms) = trial.silent_ms {
        line += &format!(", for {} s", silent_ms / 1000);
    }
    let after = counted(trial.requests_after as usize, "request");
    match trial.how {
        Some(how)
            if trial.outcome == ChaosOutcome::Unnoticed
                && how != Reaction::AnsweredWithoutError =>
        {
            line += &format!(", {after} after it as without a fault");
        }
        Some(how) => {
            line += &format!(", {}, {after} after it", how.words());
        }
        None => {}
    }
    line
}

fn ended(end: AgentEnd) -> String {
    match end {
        AgentEnd::Exit(Some(code)) => format!("ends with code {code}"),
        AgentEnd::Exit(None) => "is ended by a signal".to_owned(),
        AgentEnd::TimedOut => "does not end in time".to_owned(),
    }
}

fn error_line(error: Option<&str>) -> String {
    safe_line(error.unwrap_or("no message"))
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line<'a> {
    Control(&'a Control),
    Trial(&'a TrialReport),
    Summary {
        seed: u64,
        journals: &'a str,
        trials: usize,
        survived: usize,
        killed: usize,
        hung: usize,
        unnoticed: usize,
        silent: usize,
        not_reached: usize,
        turns_not_reached: Vec<&'a str>,
        broken_off: Option<&'a str>,
    },
}

fn json(out: &mut dyn Write, results: &Results) -> io::Result<()> {
    if let Some(control) = &results.control {
        write_line(out, &Line::Control(control))?;
    }
    for trial in &results.trials {
        write_line(out, &Line::Trial(trial))?;
    }
    let summary = Line::Summary {
        seed: results.seed,
        journals: &results.journals,
        trials: results.trials.len(),
        survived: results.count(ChaosOutcome::Survived),
        killed: results.count(ChaosOutcome::Killed),
        hung: results.count(ChaosOutcome::Hung),
        unnoticed: results.count(ChaosOutcome::Unnoticed),
        silent: results.count(ChaosOutcome::Silent),
        not_reached: results.count(ChaosOutcome::NotReached),
        turns_not_reached: results.turns_not_reached(),
        broken_off: results.broken_off.as_deref(),
    };
    write_line(out, &summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survival_that_looks_like_the_run_without_a_fault_says_so_within_80_columns() {
        let trial = |as_usual| TrialReport {
            fault: &FAULTS[0],
            turn: "any".to_owned(),
            number: 1,
            outcome: ChaosOutcome::Survived,
            why_not_reached: None,
            at: Some(1),
            conversation: None,
            times: 1,
            how: Some(Reaction::Answered),
            as_usual,
            refused_by: None,
            requests_after: 2,
            silent_ms: None,
            exit: Some(0),
            error: None,
            stderr: Vec::new(),
            expected: "",
            journal: "01-unknown-tool-near-any-1.jsonl".to_owned(),
            end: Some(AgentEnd::Exit(Some(0))),
        };
        let lines = |as_usual| line(Palette::of_stdout(Color::Never), &trial(as_usual));
        assert!(
            lines(true).contains("sends without a fault, too"),
            "{}",
            lines(true)
        );
        assert!(
            !lines(false).contains("without a fault, too"),
            "{}",
            lines(false)
        );
        for line in lines(true).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn the_line_that_names_the_exception_is_found_among_others() {
        let of = |lines: &[&str]| {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            exception_line(&lines).map(str::to_owned)
        };
        let python = [
            "Traceback (most recent call last):",
            "  File \"agent.py\", line 3, in <module>",
            "agents.exceptions.ModelBehaviorError: Tool serch not found in agent a",
        ];
        assert_eq!(of(&python).as_deref(), Some(python[2]));
        let node = [
            "    throw error;",
            "TypeError: x is not a function",
            "    at main (a.js:1:1)",
            "",
            "Node.js v22",
        ];
        assert_eq!(of(&node).as_deref(), Some(node[1]));
        assert_eq!(
            of(&["it went wrong", " "]).as_deref(),
            Some("it went wrong")
        );
        assert_eq!(of(&[]), None);
    }
}
