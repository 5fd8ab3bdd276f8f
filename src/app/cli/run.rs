//! `run`: an agent under the debugger, on the screen or without one.

mod operator;

pub use self::operator::markdown_table;
use self::operator::{RunAnswer, Waiting, WaitingFor};
use super::arguments::RunArguments;
use super::confirm::Confirmation;
use super::exit::{Exit, Failure, LOOK, refused};
use super::inputs::data_root;
use super::mistaken::{FileKind, mistaken_file};
use super::output::{name_of, safe_line};
use super::report::{write_finding, write_line};
use crate::tui::loader::takes::conductor::StagedRun;
use retake_core::engine::{Breakpoint, Reason, RunCommand};
use retake_core::rules::{ErrorClass, Finding, OrphanCause};
use retake_core::session::ledger::{Ending, LedgerEvent};
use retake_core::session::takes::{Author, TakeId};
use retake_live::agents::{AgentError, AgentFile};
use retake_live::live::{
    IoEvent, Judged, LiveRun, Phase, PreparedRun, RunInput, RunNews, RunOptions, past_breakpoints,
    prepare,
};
use retake_live::report::FileReport;
use retake_live::takes::{runs_folder, wall_clock};
use retake_live::wordings::{Wordings, usual_files};
use retake_live::{TakeStore, note_ends, read_policy};
use serde::Serialize;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

pub(super) fn run(arguments: &RunArguments) -> Result<Exit, Failure> {
    if let (true, false, Some(journal)) = (arguments.resume, arguments.headless, &arguments.journal)
    {
        let hint = format!(
            "`retake {}` opens the run on the screen, c continues it there",
            name_of(journal)
        );
        return Err(Failure::with_hint("--resume goes with --headless", hint));
    }
    let wordings = Wordings::read(&usual_files(Path::new(".")));
    let file = agent_file(&arguments.agent, &wordings)?;
    if !arguments.headless && !io::stdout().is_terminal() {
        let message = "a run under the debugger needs a terminal";
        return Err(Failure::with_hint(
            message,
            "--headless runs without one, by a policy",
        ));
    }
    for command in &arguments.commands {
        operator::refuse_unknown(command).map_err(Failure::refused)?;
    }
    let mut options = options(arguments, &wordings)?;
    let resumed = match (arguments.resume, &arguments.journal) {
        (true, Some(journal)) => Some(resumed(journal)?),
        _ => None,
    };
    if let Some(store) = resumed.as_ref().filter(|_| options.breakpoints.is_empty()) {
        options.breakpoints = past_breakpoints(store);
    }
    if let Some(confirmation) = Confirmation::of_agent(&file) {
        confirmation.ask(arguments.trust)?;
    }
    let (sender, events) = channel();
    let report = Arc::new(move |event: IoEvent| {
        // Nobody hears it when the run is over.
        let _ = sender.send(event);
    });
    let prepared = prepare(&file, options, report).map_err(refused)?;
    let journal = journal_of(arguments, &file)?;
    let about = prepared.about.clone();
    let store = match resumed {
        Some(store) => store,
        None if journal.exists() => {
            let message = format!("{}: there is a file already", name_of(&journal));
            let hint = "another --journal begins another run; a run without a screen goes on in it with --resume";
            return Err(Failure::with_hint(message, hint));
        }
        None => {
            let begun = TakeStore::begin_run(&journal, about, &prepared.first, wall_clock);
            begun.map_err(refused)?
        }
    };
    if arguments.headless {
        let commands = has_operator(arguments).then(|| arguments.commands.clone().into());
        let operator = commands.map(|commands| Operator {
            is_resuming: arguments.resume,
            commands,
            wordings,
        });
        return run_headless(prepared, store, &events, &journal, operator);
    }
    // The screen opens the journal by itself.
    drop(store);
    let staged = StagedRun {
        agent: file,
        prepared,
        events,
    };
    super::open::open_run(&arguments.look, staged, &journal)
}

/// Whether a run without a screen is led by commands, instead of a policy alone.
fn has_operator(arguments: &RunArguments) -> bool {
    let stops = arguments.step || !arguments.breakpoints.is_empty();
    arguments.resume || stops || !arguments.commands.is_empty()
}

/// The run that a journal holds.
fn resumed(journal: &Path) -> Result<TakeStore, Failure> {
    if !journal.exists() {
        let message = format!("{}: no such file or folder", name_of(journal));
        return Err(Failure::with_hint(
            message,
            "without --resume a run begins there",
        ));
    }
    let (store, _) = TakeStore::open_run(journal, wall_clock).map_err(refused)?;
    match store.not_recording() {
        Some(trouble) => Err(refused(trouble.to_string())),
        None => Ok(store),
    }
}

/// Reads the agent file; everything that is wrong with it is in the refusal.
fn agent_file(path: &Path, wordings: &Wordings) -> Result<AgentFile, Failure> {
    AgentFile::read(path, wordings).map_err(|error| match error {
        AgentError::Invalid { .. } => {
            mistaken_file(path, &[FileKind::Agent]).unwrap_or_else(|| {
                refused(error).hinting("`retake help agent-file` lists what an agent file can say")
            })
        }
        AgentError::Unreadable { .. } => refused(error),
    })
}

fn options(arguments: &RunArguments, wordings: &Wordings) -> Result<RunOptions, Failure> {
    let policy = arguments.policy.as_deref();
    let policy = policy.map(|path| read_policy(path, wordings)).transpose();
    Ok(RunOptions {
        has_operator: !arguments.headless || has_operator(arguments),
        input: arguments.input.clone(),
        policy: policy.map_err(refused)?,
        breakpoints: breakpoints(&arguments.breakpoints)?,
        is_stepping: arguments.step,
        at_hand: None,
        supervisor: None,
    })
}

/// Places to stop at, as `--break` names them.
pub(super) fn breakpoints(places: &[String]) -> Result<Vec<Breakpoint>, Failure> {
    let breakpoints = places.iter().zip(1..);
    let breakpoints = breakpoints.map(|(text, number)| {
        Breakpoint::parse(number, text).map_err(|error| {
            let message = format!(
                "--break {}: {}",
                safe_line(text),
                safe_line(&error.to_string())
            );
            Failure::with_hint(
                message,
                "as `tool pay`, `turn 3`, `rule tool-error`, `arg .amount > 100`",
            )
        })
    });
    breakpoints.collect()
}

/// Where the run's journal goes: where the operator says, or among the operator's own data.
fn journal_of(arguments: &RunArguments, file: &AgentFile) -> Result<PathBuf, Failure> {
    if let Some(path) = &arguments.journal {
        return Ok(path.clone());
    }
    let root = data_root("the run", "--journal FILE names a file")?;
    let plain = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '-' => letter,
        _ => '-',
    };
    let name: String = file.agent.name.chars().take(40).map(plain).collect();
    Ok(runs_folder(&root).join(format!("{name}-{}.jsonl", wall_clock())))
}

// A run without a screen: what happens is one JSON object a line, and the policy decides.
//
// The first line is the run (`run`), the last one its end (`end`). Between them stand the findings as `check`
// writes them, decisions (`decision`), actions of the policy that could not be done (`refused`), and the
// entries of the ledger under their own names (`asked`, `replied`, `started`, `finished`, ...).

/// Lines that are not entries of the ledger.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line<'a> {
    Run {
        agent: &'a str,
        model: &'a str,
        scripted: bool,
        journal: &'a str,
    },
    Decision {
        take: TakeId,
        rule: Option<&'a str>,
        call_id: Option<&'a str>,
        action: &'a str,
        by: Author,
        wording: Option<&'a str>,
    },
    Refused {
        take: TakeId,
        rule: &'a str,
        call_id: Option<&'a str>,
        action: &'a str,
        why: &'a str,
    },
    Notice {
        message: &'a str,
    },
    /// No command is left, and the run waits for one.
    Waiting {
        take: TakeId,
        turns: u32,
        waits_for: Vec<WaitingFor<'a>>,
    },
    End {
        #[serde(flatten)]
        how: &'a Ending,
        take: TakeId,
        /// Absent where the end itself says how many there were.
        #[serde(skip_serializing_if = "Option::is_none")]
        turns: Option<u32>,
        input_tokens: u64,
        output_tokens: u64,
        /// The calls that the model made, in all takes.
        calls: usize,
        /// The outputs that reported an error, in their order.
        errors: Vec<ToolFault<'a>>,
        output: Option<String>,
    },
}

#[derive(Serialize)]
struct ToolFault<'a> {
    tool: &'a str,
    call_id: &'a str,
    /// What kind of error it is, in the words of `health` and of `tool-error`.
    class: &'static str,
    /// Its first line, shortened.
    text: &'a str,
}

fn run_headless(
    prepared: PreparedRun,
    mut store: TakeStore,
    events: &Receiver<IoEvent>,
    journal: &Path,
    mut operator: Option<Operator>,
) -> Result<Exit, Failure> {
    let signal = note_ends();
    let PreparedRun {
        mut run,
        about,
        notes,
        ..
    } = prepared;
    let mut teller = Teller::new(io::stdout().lock());
    teller.write(&Line::Run {
        agent: &about.agent,
        model: &about.model,
        scripted: about.scripted,
        journal: &journal.to_string_lossy(),
    })?;
    for note in &notes {
        teller.write(&Line::Notice { message: note })?;
    }
    if operator
        .as_ref()
        .is_some_and(|operator| operator.is_resuming)
    {
        run.wait_at_start();
    }
    let from = store.takes().current();
    let begun = run.start(&mut store, 0, from);
    let mut news = begun.map_err(|error| Failure::refused(error.to_string()))?;
    let mut ended_by = None;
    let mut unheard = None;
    let left_of = |operator: &Option<Operator>| operator.as_ref().map_or(0, |it| it.commands.len());
    let commands = left_of(&operator);
    loop {
        if unheard.is_none()
            && let Err(failure) = teller.tell(&news)
        {
            // Nobody hears it any more, but its tools and its journal are still brought to an end.
            unheard = Some(failure);
            news = run.handle(&mut store, RunInput::Operator(RunCommand::Abort));
            continue;
        }
        if let Phase::Ended(how) = run.phase() {
            let may_say = unheard.is_none() && ended_by.is_none();
            let message = operator.as_mut().filter(|_| may_say);
            if let Some(text) = message.and_then(Operator::message) {
                news = run.handle(&mut store, RunInput::Say(text));
                continue;
            }
            return match (unheard, ended_by) {
                (_, Some(number)) => {
                    // A terminal that is gone hears nothing of the end.
                    let _unheard = teller.end(&run, &store, &how);
                    Ok(Exit::Signal(number))
                }
                (Some(failure), None) => Err(failure),
                (None, None) => {
                    if let Some(left) = operator.as_ref().and_then(|it| it.commands.front()) {
                        let message = format!("the run had ended before: {left}");
                        teller.write(&Line::Notice { message: &message })?;
                    }
                    teller.end(&run, &store, &how)?;
                    let is_resuming = operator.as_ref().is_some_and(|it| it.is_resuming);
                    if is_resuming && commands > 0 && left_of(&operator) == commands {
                        return Err(Failure::with_hint(
                            "the run has ended already: nothing of --do was done",
                            "--do 'say TEXT' goes on with it; another --journal begins another run",
                        ));
                    }
                    Ok(exit_of(&how))
                }
            };
        }
        if let (Some(operator), None, Phase::Paused { reasons }) =
            (&mut operator, ended_by, run.phase())
            && unheard.is_none()
        {
            if let Some(command) = operator.commands.pop_front() {
                let run = (&mut run, &mut store);
                news = operator.obey(&command, &reasons, &mut teller, run)?;
                continue;
            }
            // What runs meanwhile belongs into the journal.
            if !run.is_busy() {
                teller.waiting(&run, &reasons)?;
                return Ok(Exit::Findings);
            }
        }
        news = match events.recv_timeout(LOOK) {
            Ok(event) => run.handle(&mut store, RunInput::Io(event)),
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::refused(
                    "the world of the run ended before the run".to_owned(),
                ));
            }
        };
        if ended_by.is_none() {
            ended_by = signal();
            if ended_by.is_some() {
                news.extend(run.handle(&mut store, RunInput::Operator(RunCommand::Abort)));
            }
        }
    }
}

/// Who decides where the run waits.
struct Operator {
    /// Whether the run began in an earlier process.
    is_resuming: bool,
    /// What is left of the commands.
    commands: VecDeque<String>,
    wordings: Wordings,
}

impl Operator {
    /// The user's next message, where that is what comes next.
    fn message(&mut self) -> Option<String> {
        let text = operator::message(self.commands.front()?)?.to_owned();
        self.commands.pop_front();
        Some(text)
    }

    /// Does what a command says.
    fn obey<W: Write>(
        &self,
        command: &str,
        reasons: &[Reason],
        teller: &mut Teller<W>,
        (run, store): (&mut LiveRun, &mut TakeStore),
    ) -> Result<Vec<RunNews>, Failure> {
        let judged = teller.judged.clone();
        let waiting = Waiting {
            reasons,
            judged: judged.as_ref(),
            wordings: &self.wordings,
        };
        let refused = |why: String| {
            let hint = "the run waits in its journal as before";
            Failure::with_hint(safe_line(&why), hint)
        };
        let decision = match waiting.answer(command).map_err(refused)? {
            RunAnswer::Input(input) => return Ok(run.handle(store, input)),
            RunAnswer::Decision(decision) => decision,
        };
        let done = run.decide(store, &decision);
        let news = done.map_err(|why| refused(format!("{}: {why}", decision.action)))?;
        let call_id = waiting.call_id_of(&decision);
        teller.write(&Line::Decision {
            take: run.take(),
            rule: Some(&decision.rule),
            call_id: call_id.as_deref(),
            action: decision.action,
            by: Author::Operator,
            wording: decision.words().as_deref(),
        })?;
        Ok(news)
    }
}

fn exit_of(how: &Ending) -> Exit {
    match how {
        Ending::Final | Ending::Fallback | Ending::HandedOver => Exit::Clean,
        Ending::ModelFailed { .. } => Exit::Upstream,
        Ending::TurnLimit { .. }
        | Ending::Aborted
        | Ending::Raised { .. }
        | Ending::Unattended { .. } => Exit::Findings,
    }
}

/// Writes what happens, each finding once.
struct Teller<W> {
    out: W,
    /// Findings that were reported: rule, place, sentence.
    reported: HashSet<(&'static str, Option<u32>, String)>,
    /// What kinds of errors outputs were found to be, by their calls.
    classes: HashMap<String, ErrorClass>,
    /// The history as it was judged last.
    judged: Option<Judged>,
}

impl<W: Write> Teller<W> {
    fn new(out: W) -> Self {
        Self {
            out,
            reported: HashSet::new(),
            classes: HashMap::new(),
            judged: None,
        }
    }

    fn write(&mut self, line: &Line<'_>) -> Result<(), Failure> {
        write_line(&mut self.out, line)?;
        // Whoever reads it wants to know it now.
        self.out.flush()?;
        Ok(())
    }

    fn tell(&mut self, news: &[RunNews]) -> Result<(), Failure> {
        for news in news {
            match news {
                RunNews::Recorded(LedgerEvent::Decided {
                    take,
                    call,
                    rule,
                    action,
                    by,
                    wording,
                    ..
                }) => self.write(&Line::Decision {
                    take: *take,
                    rule: rule.as_deref(),
                    call_id: call.as_ref().map(|call| call.call_id.as_str()),
                    action,
                    by: *by,
                    wording: wording.as_deref(),
                })?,
                RunNews::Recorded(LedgerEvent::Refused {
                    take,
                    call,
                    rule,
                    action,
                    why,
                }) => self.write(&Line::Refused {
                    take: *take,
                    rule,
                    call_id: call.as_ref().map(|call| call.call_id.as_str()),
                    action,
                    why,
                })?,
                RunNews::Recorded(LedgerEvent::Ended { .. }) => {}
                RunNews::Recorded(event) => {
                    write_line(&mut self.out, event)?;
                    self.out.flush()?;
                }
                RunNews::Notice(message) => self.write(&Line::Notice { message })?,
                RunNews::Judged(judged) => {
                    self.findings(judged)?;
                    self.judged = Some(judged.clone());
                }
                RunNews::Grown(_)
                | RunNews::Phase(_)
                | RunNews::Streaming(_)
                | RunNews::Tools(_)
                | RunNews::Usage(_) => {}
            }
        }
        Ok(())
    }

    /// Tells what is newly found, as bad as it was found to be. What the run is about to do, a call that waits
    /// for its output, and what its decisions made are no findings.
    fn findings(&mut self, judged: &Judged) -> Result<(), Failure> {
        let waits = |finding: &&Finding| {
            finding.rule.id == "pending-call" && finding.cause != Some(OrphanCause::Approval)
        };
        let findings = judged.findings().iter();
        let new = findings.filter(|one| !one.is_settled && !waits(one));
        let report = FileReport::of(judged.recording(), &[new.cloned().collect()], None, false);
        let report = report.map_err(|error| Failure::refused(error.to_string()))?;
        for session in &report.sessions {
            for finding in &session.findings {
                let class = finding.class.zip(finding.call_id.clone());
                self.classes
                    .extend(class.map(|(class, call)| (call, class)));
                let known = (finding.rule.id, finding.item, finding.message.clone());
                if self.reported.insert(known) {
                    write_finding(&mut self.out, None, &report, session, finding)?;
                }
            }
        }
        self.out.flush()?;
        Ok(())
    }

    fn waiting(&mut self, run: &LiveRun, reasons: &[Reason]) -> Result<(), Failure> {
        let judged = self.judged.clone();
        let waits_for = reasons
            .iter()
            .map(|reason| operator::waiting_for(reason, judged.as_ref()));
        self.write(&Line::Waiting {
            take: run.take(),
            turns: run.turns(),
            waits_for: waits_for.collect(),
        })
    }

    fn end(&mut self, run: &LiveRun, bench: &TakeStore, how: &Ending) -> Result<(), Failure> {
        let usage = bench.ledger().usage();
        let take = run.take();
        let replies = bench.ledger().asks();
        let calls = replies.filter_map(|(_, request)| Some(request.reply.as_ref()?.calls.len()));
        let errors = bench.happened().iter().filter_map(|happened| {
            let LedgerEvent::Failed {
                call,
                tool,
                failure,
                text,
                ..
            } = &happened.event
            else {
                return None;
            };
            let found = self.classes.get(call.call_id.as_str()).copied();
            let seen = failure.and_then(ErrorClass::of_failure);
            let class = seen.or(found).unwrap_or(ErrorClass::Exception);
            Some(ToolFault {
                tool,
                call_id: &call.call_id,
                class: class.words(),
                text,
            })
        });
        let fallback = bench
            .takes()
            .get(take)
            .and_then(|take| take.fallback.clone());
        self.write(&Line::End {
            how,
            take,
            turns: (!matches!(how, Ending::TurnLimit { .. })).then(|| run.turns()),
            input_tokens: usage.input,
            output_tokens: usage.output,
            calls: calls.sum(),
            errors: errors.collect(),
            output: fallback.or_else(|| run.final_text()),
        })
    }
}
