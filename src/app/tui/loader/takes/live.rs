//! The live run of the screen: the worker of the takes drives it, since a run is a take that grows.

use super::bench::{Job, OpenRun};
use super::checking::Check;
use super::conductor::{Begins, Conductor, Seated, StagedRun, Stir};
use super::view::view_of;
use crate::tui::effect::LiveCommand;
use crate::tui::live::approval::BY_OPERATOR;
use crate::tui::loader::work::Work;
use crate::tui::report::Report;
use crate::tui::state::live::{AgentInfo, TrustRequest};
use retake_core::engine::agent::By;
use retake_core::engine::{Breakpoint, RunCommand};
use retake_core::session::index_number;
use retake_core::session::ledger::LedgerEvent;
use retake_core::session::takes::TakeId;
use retake_live::agents::AgentFile;
use retake_live::live::{
    Phase, PreparedRun, RunInput, RunNews, RunOptions, past_breakpoints, prepare,
};
use retake_live::trust::Trust;
use retake_live::wordings::{Wordings, usual_files};
use retake_live::{TakeError, TakeStore, in_background};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, MutexGuard};

/// How many entries of the ledger the screen gets when a recording is opened.
const TOLD: usize = 1000;

/// Where a run begins.
struct Begin {
    session: u32,
    from: TakeId,
    agent: AgentInfo,
    conductor: Box<dyn Conductor>,
    breakpoints: Vec<Breakpoint>,
    notes: Vec<String>,
}

impl Begin {
    fn of(file: &AgentFile, prepared: PreparedRun, session: u32, from: TakeId) -> Self {
        Self {
            session,
            from,
            agent: info(file),
            conductor: Box::new(prepared.run),
            breakpoints: prepared.breakpoints,
            notes: prepared.notes,
        }
    }
}

impl Work {
    /// Does what the operator wants of the run.
    pub(super) fn command_live(&self, command: LiveCommand) -> Option<Check> {
        match command {
            LiveCommand::Begin { agent } => self.start(&agent, 0, TakeId::MAIN),
            LiveCommand::GoOnFrom {
                agent,
                take,
                session,
            } => self.start(&agent, session, TakeId(take)),
            LiveCommand::ConfirmTrust(is_trusted) => self.trusted(is_trusted),
            LiveCommand::SetBreakpoints(breakpoints) => {
                self.live().breakpoints.clone_from(&breakpoints);
                self.handle(RunInput::Operator(RunCommand::Breakpoints(breakpoints)))
            }
            LiveCommand::Say(text) => self.handle(RunInput::Say(text)),
            LiveCommand::Engine(command) => self.handle(RunInput::Operator(command)),
        }
    }

    /// Tells what happened in the runs of this recording before, and which agent ran last.
    pub(super) fn tell_past(&self, bench: &TakeStore) {
        let happened = bench.happened();
        let last = happened
            .iter()
            .rev()
            .find_map(|happened| match &happened.event {
                LedgerEvent::Began { file, .. } if !file.is_empty() => Some(file),
                _ => None,
            });
        if let Some(file) = last {
            self.tell(Report::PastAgent(file.clone()));
            self.keep_breakpoints(past_breakpoints(bench));
        }
        for happened in happened.iter().skip(happened.len().saturating_sub(TOLD)) {
            let event = Box::new(happened.event.clone());
            self.tell(Report::Past(event, happened.time));
        }
    }

    /// The breakpoints of the last run hold for one that goes on, unless there are others already.
    fn keep_breakpoints(&self, breakpoints: Vec<Breakpoint>) {
        let mut live = self.live();
        if live.breakpoints.is_empty() && !live.is_there() && !breakpoints.is_empty() {
            live.breakpoints.clone_from(&breakpoints);
            self.tell(Report::Breakpoints(breakpoints));
        }
    }

    /// The run hears something.
    pub(super) fn handle(&self, input: RunInput) -> Option<Check> {
        self.on_run(|run, bench| Ok(run.handle(bench, input)))
    }

    /// Tells the run where the operator went, if it is elsewhere.
    pub(super) fn lead(&self, is_mended: bool) -> Option<Check> {
        self.on_run(|run, bench| {
            let current = bench.takes().current();
            if run.take() == current {
                return Ok(Vec::new());
            }
            let input = match is_mended {
                true => RunInput::Edited(current),
                false => RunInput::Went(current),
            };
            Ok(run.handle(bench, input))
        })
    }

    /// The take of a run that goes on.
    pub(super) fn driven_take(&self) -> Option<TakeId> {
        let live = self.live();
        let run = live.run.as_ref()?;
        let is_on = !matches!(run.phase(), Phase::Idle | Phase::Ended(_));
        is_on.then(|| run.take())
    }

    pub(super) fn runs(&self, session: usize) -> bool {
        self.live().runs(session)
    }

    /// Ends the run: what is under way is stopped.
    fn end_run(&self) {
        let run = self.live().run.take();
        drop(run);
    }

    /// The file is closed. A hold that is given back opens its journal again: the takes let go of it first.
    pub(super) fn close(&self) {
        self.bench.close();
        self.end_run();
    }

    fn live(&self) -> MutexGuard<'_, OpenRun> {
        self.bench.live()
    }

    /// Begins a run with this agent, unless it has to be trusted first.
    fn start(&self, agent: &str, session: usize, from: TakeId) -> Option<Check> {
        let start = match self.staged.take() {
            Some(Begins::Run(staged)) => Ok(Some(self.staged(*staged))),
            Some(Begins::Hold(seat)) => Ok(Some(self.seated(seat))),
            None => self.prepare(agent, session, from),
        };
        match start {
            Ok(start) => self.go(start?),
            Err(error) => {
                self.refuse(&error);
                None
            }
        }
    }

    /// A run that the command line has prepared.
    fn staged(&self, staged: StagedRun) -> Begin {
        self.listen(staged.events, Stir::Io);
        Begin::of(&staged.agent, staged.prepared, 0, TakeId::MAIN)
    }

    /// A held exchange goes on in the take in which it was left.
    fn seated(&self, seat: Seated) -> Begin {
        self.listen(seat.events, |stir| stir);
        Begin {
            session: 0,
            from: self.bench.shown(),
            agent: seat.agent,
            conductor: seat.conductor,
            breakpoints: seat.breakpoints,
            notes: Vec::new(),
        }
    }

    /// Hears what a world tells.
    fn listen<T: Send + 'static>(&self, events: Receiver<T>, stir: fn(T) -> Stir) {
        if let Some(jobs) = self.bench.jobs() {
            std::thread::spawn(move || forward(&events, &jobs, stir));
        }
    }

    /// Reads the agent's file; `None` where it has to be trusted before anything of it runs.
    fn prepare(&self, agent: &str, session: usize, from: TakeId) -> Result<Option<Begin>, String> {
        let wordings = Wordings::read(&usual_files(Path::new(".")));
        let file = AgentFile::read(Path::new(agent), &wordings);
        let file = file.map_err(|error| error.to_string())?;
        let trust = Trust::open(self.bench.root.as_deref());
        let powers = file.powers();
        if !powers.is_empty() && !trust.is_confirmed(&file.path, &file.content) {
            self.live().waiting = Some(LiveCommand::GoOnFrom {
                agent: agent.to_owned(),
                take: from.0,
                session,
            });
            self.tell(Report::Trust(TrustRequest {
                agent: file.path.to_string_lossy().into_owned(),
                why: "first run of this version of the file".to_owned(),
                powers,
            }));
            return Ok(None);
        }
        let jobs = self.bench.jobs();
        let report = Arc::new(move |event| {
            if let Some(jobs) = &jobs {
                // Nobody hears it when the file is closed.
                let _ = jobs.send(Job::Stir(Stir::Io(event)));
            }
        });
        let at_hand = self.bench.main();
        let at_hand = at_hand.and_then(|main| main.recording.sessions.get(session).cloned());
        let options = RunOptions {
            has_operator: true,
            breakpoints: self.live().breakpoints.clone(),
            at_hand,
            ..RunOptions::default()
        };
        // The old run ends before the new one begins: they may use the same servers.
        self.end_run();
        let prepared = prepare(&file, options, report).map_err(|error| error.to_string())?;
        let session = index_number(session);
        Ok(Some(Begin::of(&file, prepared, session, from)))
    }

    fn go(&self, start: Begin) -> Option<Check> {
        let (session, from) = (start.session, start.from);
        self.tell(Report::Agent(Box::new(start.agent)));
        for note in start.notes {
            self.tell(Report::Live(RunNews::Notice(note)));
        }
        self.tell(Report::Breakpoints(start.breakpoints.clone()));
        {
            let mut live = self.live();
            live.breakpoints = start.breakpoints;
            live.run = Some(start.conductor);
            live.session = session as usize;
        }
        self.on_run(|run, bench| {
            let count = bench.recording().sessions.get(session as usize);
            let count = count.map_or(0, |session| session.items.len());
            self.tell(Report::Asked(count));
            run.start(bench, session, from)
        })
    }

    /// The operator has read what the agent's file would run.
    fn trusted(&self, is_trusted: bool) -> Option<Check> {
        let waiting = self.live().waiting.take();
        let Some(LiveCommand::GoOnFrom { agent, .. }) = &waiting else {
            return None;
        };
        if !is_trusted {
            self.refuse("the agent is not trusted: nothing runs");
            return None;
        }
        let wordings = Wordings::read(&usual_files(Path::new(".")));
        let confirmed = AgentFile::read(Path::new(agent), &wordings);
        let confirmed = confirmed
            .map_err(|error| error.to_string())
            .and_then(|file| {
                let trust = Trust::open(self.bench.root.as_deref());
                let confirmed = trust.confirm(&file.path, &file.content);
                confirmed.map_err(|error| format!("cannot store the confirmation: {error}"))
            });
        match confirmed {
            Ok(()) => self.command_live(waiting?),
            Err(error) => {
                self.refuse(&error);
                None
            }
        }
    }

    /// Something comes from outside of the screen.
    pub(super) fn stirred(&self, stir: Stir) -> Option<Check> {
        match stir {
            Stir::Io(event) => self.handle(RunInput::Io(event)),
            Stir::Wake => self.on_run(|run, bench| Ok(run.wake(bench))),
        }
    }

    /// Does something with the run and the takes, and tells what came of it.
    fn on_run(
        &self,
        work: impl FnOnce(&mut dyn Conductor, &mut TakeStore) -> Result<Vec<RunNews>, TakeError> + Send,
    ) -> Option<Check> {
        let done = in_background(|| {
            self.with_bench(|this, bench| {
                let mut live = this.live();
                let Some(run) = &mut live.run else {
                    return Ok(None);
                };
                let news = work(run.as_mut(), bench)?;
                drop(live);
                this.tell_news(bench, news)
            })
        });
        done.unwrap_or_else(|error| {
            self.refuse(&error.to_string());
            None
        })
    }

    /// What has grown is shown first, so that the news about it find their place.
    fn tell_news(
        &self,
        bench: &mut TakeStore,
        news: Vec<RunNews>,
    ) -> Result<Option<Check>, TakeError> {
        let grown = news.iter().rev().find_map(|news| match news {
            RunNews::Grown(take) => Some(*take),
            _ => None,
        });
        let check = grown.map(|take| self.show_grown(bench, take)).transpose()?;
        for news in news {
            self.tell(Report::Live(news));
        }
        Ok(check)
    }

    fn show_grown(&self, bench: &mut TakeStore, id: TakeId) -> Result<Check, TakeError> {
        let document = self.document_of(bench, id)?;
        let showing = self.bench.set_shown(id, &document);
        self.tell(Report::TakeGrown {
            document: document.clone(),
            view: view_of(bench, id),
        });
        Ok(Check {
            showing,
            opened: self.bench.opened(),
            id,
            parent: bench.takes().parent(id),
            rope: Some(bench.rope(id)?),
            refusal: bench.ledger().refusal(id).map(str::to_owned),
            document,
        })
    }
}

/// What the screen says of an agent.
pub(in super::super) fn info(file: &AgentFile) -> AgentInfo {
    let agent = &file.agent;
    let tools = agent.tools.iter().map(|tool| {
        let what = match &tool.by {
            By::Command(command) => command.argv.join(" "),
            By::Canned(_) => "canned answers".to_owned(),
            By::Operator => BY_OPERATOR.to_owned(),
            By::Recorded(_) => "a recording".to_owned(),
        };
        (tool.offered.tool.name.clone(), what)
    });
    AgentInfo {
        path: file.path.to_string_lossy().into_owned(),
        name: agent.name.clone(),
        model: agent.model.name.clone(),
        is_scripted: agent.model.is_scripted(),
        max_turns: agent.turn_limit(),
        tools: tools.collect(),
    }
}

/// Hands on what a world tells until it ends, or nobody hears it any more.
fn forward<T>(events: &Receiver<T>, jobs: &Sender<Job>, stir: fn(T) -> Stir) {
    for event in events {
        if jobs.send(Job::Stir(stir(event))).is_err() {
            return;
        }
    }
}
