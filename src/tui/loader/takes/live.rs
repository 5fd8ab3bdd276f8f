//! The live run behind the screen: the worker of the takes drives it, since a run is a take that grows.

use super::Work;
use super::checking::Check;
use super::view::view_of;
use super::worker::Job;
use crate::engine::agent::By;
use crate::engine::{Breakpoint, Command};
use crate::runtime::agents::AgentFile;
use crate::runtime::live::{Input, News, Options, Phase, Prepared, Run, WorldEvent, prepare};
use crate::runtime::trust::Trust;
use crate::runtime::wordings::{Wordings, usual_files};
use crate::runtime::{NoTake, Workbench, in_background};
use crate::session::index_number;
use crate::session::ledger::LedgerEvent;
use crate::session::takes::TakeId;
use crate::tui::live::trust::TrustRequest;
use crate::tui::state::document::{Document, Extent};
use crate::tui::state::live::AgentInfo;
use crate::tui::update::{LiveCommand, Report, TakesReport};
use std::fmt;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many entries of the ledger the screen is told when a recording is opened.
const TOLD: usize = 1000;

/// A run that was prepared before the screen was taken.
#[derive(Clone, Default)]
pub struct Staged(Arc<Mutex<Option<StagedRun>>>);

/// What was prepared.
pub struct StagedRun {
    /// The agent.
    pub agent: AgentFile,
    /// The run.
    pub prepared: Prepared,
    /// What its world tells.
    pub events: Receiver<WorldEvent>,
}

impl fmt::Debug for Staged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Staged").field(&self.is_there()).finish()
    }
}

impl Staged {
    /// A run that is to begin as soon as its journal is read.
    pub fn new(run: StagedRun) -> Self {
        Self(Arc::new(Mutex::new(Some(run))))
    }

    pub(in crate::tui::loader) fn is_there(&self) -> bool {
        self.held().is_some()
    }

    fn take(&self) -> Option<StagedRun> {
        self.held().take()
    }

    fn held(&self) -> MutexGuard<'_, Option<StagedRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The run of the recording that is open, if there is one.
#[derive(Default)]
pub(in crate::tui::loader) struct Live {
    run: Option<Run>,
    /// The number of the session that it goes on in.
    session: usize,
    /// A command that waits until the agent's file is trusted.
    waiting: Option<LiveCommand>,
    breakpoints: Vec<Breakpoint>,
}

impl Live {
    pub(super) fn is_there(&self) -> bool {
        self.run.is_some()
    }

    /// Whether a run goes on in this session: its open calls wait for nothing but the run.
    fn runs(&self, session: usize) -> bool {
        let is_on = |run: &Run| !matches!(run.phase(), Phase::Idle | Phase::Ended(_));
        self.session == session && self.run.as_ref().is_some_and(is_on)
    }
}

/// Where a run begins.
struct Begin {
    session: u32,
    from: TakeId,
    file: AgentFile,
    prepared: Prepared,
}

impl Work {
    /// Does what the operator wants of the run.
    pub(super) fn command_live(&self, command: LiveCommand) -> Option<Check> {
        match command {
            LiveCommand::Begin { agent } => self.begin(&agent, 0, TakeId::MAIN),
            LiveCommand::GoOnFrom {
                agent,
                take,
                session,
            } => self.begin(&agent, session, TakeId(take)),
            LiveCommand::ConfirmTrust(is_trusted) => self.trusted(is_trusted),
            LiveCommand::SetBreakpoints(breakpoints) => {
                self.live().breakpoints.clone_from(&breakpoints);
                self.hear(Input::Operator(Command::Breakpoints(breakpoints)))
            }
            LiveCommand::Say(text) => self.hear(Input::Say(text)),
            LiveCommand::Engine(command) => self.hear(Input::Operator(command)),
        }
    }

    /// Tells what happened in the runs of this recording before, and which agent ran last.
    pub(super) fn tell_past(&self, bench: &Workbench) {
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
        }
        for happened in happened.iter().skip(happened.len().saturating_sub(TOLD)) {
            self.tell(Report::Live(News::Recorded(happened.event.clone())));
        }
    }

    /// The run hears something.
    pub(super) fn hear(&self, input: Input) -> Option<Check> {
        self.on_run(|run, bench| Ok(run.hear(bench, input)))
    }

    /// Tells the run where the operator went, if it is elsewhere.
    pub(super) fn lead(&self, is_mended: bool) -> Option<Check> {
        self.on_run(|run, bench| {
            let current = bench.takes().current();
            if run.take() == current {
                return Ok(Vec::new());
            }
            let input = match is_mended {
                true => Input::Mended(current),
                false => Input::Went(current),
            };
            Ok(run.hear(bench, input))
        })
    }

    /// Whether a run goes on in a session.
    pub(super) fn runs(&self, session: usize) -> bool {
        self.live().runs(session)
    }

    /// Ends the run: what is under way is stopped.
    pub(super) fn close(&self) {
        let run = self.live().run.take();
        drop(run);
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.bench.live()
    }

    /// Begins a run with this agent, unless it has to be trusted first.
    fn begin(&self, agent: &str, session: usize, from: TakeId) -> Option<Check> {
        let begin = match self.staged.take() {
            Some(staged) => self.staged(staged),
            None => self.prepare(agent, session, from),
        };
        match begin {
            Ok(begin) => self.go(begin?),
            Err(error) => {
                self.refuse(&error);
                None
            }
        }
    }

    /// A run that the command line has prepared.
    fn staged(&self, staged: StagedRun) -> Result<Option<Begin>, String> {
        let StagedRun {
            agent,
            prepared,
            events,
        } = staged;
        if let Some(jobs) = self.bench.jobs() {
            std::thread::spawn(move || forward(&events, &jobs));
        }
        Ok(Some(Begin {
            session: 0,
            from: TakeId::MAIN,
            file: agent,
            prepared,
        }))
    }

    /// Reads the agent's file; `None` where it has to be trusted before anything of it runs.
    fn prepare(&self, agent: &str, session: usize, from: TakeId) -> Result<Option<Begin>, String> {
        let wordings = Wordings::read(&usual_files(Path::new(".")));
        let file = AgentFile::read(Path::new(agent), &wordings);
        let file = file.map_err(|error| error.to_string())?;
        let trust = Trust::open(self.bench.root.as_deref());
        if file.agent.needs_confirmation() && !trust.is_confirmed(&file.path, &file.content) {
            let powers = file.agent.powers();
            let powers = powers.iter().filter(|power| power.needs_confirmation());
            self.live().waiting = Some(LiveCommand::GoOnFrom {
                agent: agent.to_owned(),
                take: from.0,
                session,
            });
            self.tell(Report::Trust(TrustRequest {
                agent: file.path.to_string_lossy().into_owned(),
                why: "this file, as it is now, was not run before".to_owned(),
                powers: powers.map(ToString::to_string).collect(),
            }));
            return Ok(None);
        }
        let jobs = self.bench.jobs();
        let report = Arc::new(move |event| {
            if let Some(jobs) = &jobs {
                // Nobody hears it when the file is closed.
                let _ = jobs.send(Job::World(event));
            }
        });
        let at_hand = self.bench.main();
        let at_hand = at_hand.and_then(|main| main.recording.sessions.get(session).cloned());
        let options = Options {
            has_operator: true,
            breakpoints: self.live().breakpoints.clone(),
            at_hand,
            ..Options::default()
        };
        // The old run ends before the new one begins: they may use the same servers.
        self.close();
        let prepared = prepare(&file, options, report).map_err(|error| error.to_string())?;
        Ok(Some(Begin {
            session: index_number(session),
            from,
            file,
            prepared,
        }))
    }

    fn go(&self, begin: Begin) -> Option<Check> {
        let Begin {
            session,
            from,
            file,
            prepared,
        } = begin;
        self.tell(Report::Agent(Box::new(info(&file))));
        for note in prepared.notes {
            self.tell(Report::Live(News::Notice(note)));
        }
        self.tell(Report::Breakpoints(prepared.breakpoints.clone()));
        {
            let mut live = self.live();
            live.breakpoints = prepared.breakpoints;
            live.run = Some(prepared.run);
            live.session = session as usize;
        }
        self.on_run(|run, bench| run.begin(bench, session, from))
    }

    /// The operator has read what the agent's file would run.
    fn trusted(&self, is_trusted: bool) -> Option<Check> {
        let waiting = self.live().waiting.take();
        let Some(LiveCommand::GoOnFrom { agent, .. }) = &waiting else {
            return None;
        };
        if !is_trusted {
            self.refuse("the agent is not trusted: nothing of it runs");
            return None;
        }
        let wordings = Wordings::read(&usual_files(Path::new(".")));
        let confirmed = AgentFile::read(Path::new(agent), &wordings);
        let confirmed = confirmed
            .map_err(|error| error.to_string())
            .and_then(|file| {
                let trust = Trust::open(self.bench.root.as_deref());
                let confirmed = trust.confirm(&file.path, &file.content);
                confirmed.map_err(|error| format!("the confirmation cannot be kept: {error}"))
            });
        match confirmed {
            Ok(()) => self.command_live(waiting?),
            Err(error) => {
                self.refuse(&error);
                None
            }
        }
    }

    /// Does something with the run and the takes, and tells what came of it.
    fn on_run(
        &self,
        work: impl FnOnce(&mut Run, &mut Workbench) -> Result<Vec<News>, NoTake> + Send,
    ) -> Option<Check> {
        let done = in_background(|| {
            self.with_bench(|this, bench| {
                let mut live = this.live();
                let Some(run) = &mut live.run else {
                    return Ok(None);
                };
                let news = work(run, bench)?;
                drop(live);
                this.tell_news(bench, news)
            })
        });
        done.unwrap_or_else(|error| {
            self.refuse(&error.to_string());
            None
        })
    }

    /// What has grown is shown first, so that what is said about it finds its place.
    fn tell_news(&self, bench: &mut Workbench, news: Vec<News>) -> Result<Option<Check>, NoTake> {
        let grown = news.iter().rev().find_map(|news| match news {
            News::Grown(take) => Some(*take),
            _ => None,
        });
        let check = grown.map(|take| self.show_grown(bench, take)).transpose()?;
        for news in news {
            self.tell(Report::Live(news));
        }
        Ok(check)
    }

    fn show_grown(&self, bench: &mut Workbench, id: TakeId) -> Result<Check, NoTake> {
        let mut recording = bench.read(id, &|_, _| ())?;
        self.knowledge.apply(&mut recording);
        let document = Arc::new(Document {
            recording: Arc::new(recording),
            extent: Extent::Whole,
        });
        let showing = self.bench.set_shown(id, &document);
        self.tell(Report::Takes(TakesReport::Grown {
            document: document.clone(),
            view: view_of(bench, id),
        }));
        Ok(Check {
            showing,
            opened: self.bench.opened(),
            id,
            parent: bench.takes().parent(id),
            rope: Some(bench.rope(id)?),
            document,
        })
    }
}

/// What the screen says of an agent.
pub(in crate::tui::loader) fn info(file: &AgentFile) -> AgentInfo {
    let agent = &file.agent;
    let tools = agent.tools.iter().map(|tool| {
        let what = match &tool.by {
            By::Command(command) => command.argv.join(" "),
            By::Canned(_) => "canned answers".to_owned(),
            By::Operator => "the operator".to_owned(),
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
fn forward(events: &Receiver<WorldEvent>, jobs: &Sender<Job>) {
    for event in events {
        if jobs.send(Job::World(event)).is_err() {
            return;
        }
    }
}
