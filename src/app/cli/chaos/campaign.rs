//! An agent that is started anew for each trial, with one fault each time, and once without any before.

use super::report::{Control, Report, Results, Tried};
use super::{Wish, conclude};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::safe_line;
use crate::cli::proxy::not_running;
use retake_core::chaos::{End, Outcome, Plan, Spec, Trial, Usual, outcome};
use retake_live::proxy::recorder::proxies_folder;
use retake_live::proxy::trial::{AgentStart, Played, TrialError, play};
use retake_live::proxy::{Chaos, ProxyOptions};
use retake_live::takes::{usual_root, wall_clock};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The name of the journal of the run without a fault.
const CONTROL: &str = "00-control";

/// Tries every fault of a spec on the agent that a command starts.
pub(super) fn run(
    spec: &Spec,
    mut options: ProxyOptions,
    wish: &Wish<'_>,
    signal: &dyn Fn() -> Option<i32>,
    report: &Report,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let folder = folder(options.journal.take())?;
    let campaign = Campaign {
        spec,
        options,
        start: AgentStart {
            argv: wish.command,
            defaults: wish.defaults,
            patience: Duration::from_millis(spec.timeout_ms),
        },
        wish,
        signal,
        folder: &folder,
    };
    let mut results = Results {
        seed: spec.seed,
        journals: folder.to_string_lossy().into_owned(),
        outcomes: Outcome::OF_TRIALS,
        ..Results::default()
    };
    let exit = campaign.try_all(&mut results)?;
    let of_results = conclude(&results, report, out)?;
    Ok(exit.unwrap_or(of_results))
}

struct Campaign<'a> {
    spec: &'a Spec,
    options: ProxyOptions,
    start: AgentStart<'a>,
    wish: &'a Wish<'a>,
    signal: &'a dyn Fn() -> Option<i32>,
    folder: &'a Path,
}

impl Campaign<'_> {
    /// Gives the exit code where it does not follow from the results.
    fn try_all(&self, results: &mut Results) -> Result<Option<Exit>, Failure> {
        match self.try_each(results) {
            Ok(None) => Ok(None),
            Ok(Some(why)) => {
                results.broken_off = Some(why);
                Ok(Some(Exit::Upstream))
            }
            Err(TrialError::Interrupted(number)) => {
                results.broken_off = Some("interrupted".to_owned());
                Ok(Some(Exit::Signal(number)))
            }
            Err(TrialError::Proxy(error)) => Err(not_running(error)),
            Err(error) => Err(Failure::refused(safe_line(&error.to_string()))),
        }
    }

    /// Gives why it is broken off, where it is.
    fn try_each(&self, results: &mut Results) -> Result<Option<String>, TrialError> {
        let played = self.play(Plan::Nothing, CONTROL)?;
        let why = played.no_reply.clone().or_else(|| unsound(&played));
        let usual = played.requests;
        results.control = Some(Control {
            end: played.end,
            requests: usual.requests(),
            journal: file_name(&played.journal),
            stderr: played.stderr,
            strayed: self.wish.recording.map(|recording| recording.strayed()),
        });
        if why.is_some() {
            return Ok(why);
        }
        let trials = self.spec.trials();
        let count = trials.len();
        for (place, trial) in trials.into_iter().enumerate() {
            let plan = Plan::One(trial, usual.clone());
            let played = self.play(plan, &name_of(place + 1, &trial))?;
            if let Some(why) = played.no_reply {
                return Ok(Some(format!("{}: {why}", trial.fault.id)));
            }
            let tried = tried(&trial, played, &usual);
            progress(place + 1, count, &tried);
            results.tried.push(tried);
        }
        Ok(None)
    }

    fn play(&self, plan: Plan, name: &str) -> Result<Played, TrialError> {
        if let Some(recording) = self.wish.recording {
            recording.rewind();
        }
        let chaos = Arc::new(Chaos::new(self.spec, plan));
        let mut options = self.options.clone();
        options.journal = Some(self.folder.join(format!("{name}.jsonl")));
        play(options, &chaos, self.start, self.signal)
    }
}

/// Why there is nothing to compare with.
fn unsound(played: &Played) -> Option<String> {
    let why = match played.end {
        End::Exit(Some(0)) => return None,
        End::Exit(_) => "the agent fails without a fault, too: there is nothing to compare with",
        End::TimedOut => "the agent does not end in time without a fault, either; see `timeout`",
    };
    Some(why.to_owned())
}

fn tried(trial: &Trial, played: Played, usual: &Usual) -> Tried {
    let injection = played.injections.into_iter().next();
    let asked_more = played.requests.requests() > usual.requests();
    Tried {
        fault: trial.fault,
        turn: trial.turn.to_string(),
        number: trial.number,
        outcome: outcome(injection.as_ref(), played.end, asked_more),
        injection,
        silent_ms: None,
        end: Some(played.end),
        stderr: played.stderr,
        journal: file_name(&played.journal),
    }
}

fn name_of(place: usize, trial: &Trial) -> String {
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
fn progress(place: usize, count: usize, tried: &Tried) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let (fault, outcome) = (tried.fault.id, tried.outcome.words());
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
            let root = usual_root().ok_or_else(|| {
                let message = "there is no home folder to keep the journals in";
                Failure::with_hint(message, "--journal FOLDER names a folder")
            })?;
            proxies_folder(&root).join(format!("chaos-{}", wall_clock()))
        }
    };
    let name = safe_line(&folder.to_string_lossy());
    if folder.join(format!("{CONTROL}.jsonl")).exists() {
        let message = format!("{name} holds another campaign already");
        return Err(Failure::with_hint(
            message,
            "--journal FOLDER names another folder",
        ));
    }
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::refused(format!("{name}: {error}")))?;
    Ok(folder)
}
