//! The loader without threads of its own: what it is asked to do is done, and what it reports is handed back.

use super::takes::bench::{Bench, Job};
use super::takes::checking::Check;
use super::takes::conductor::{Staged, StagedRun};
use super::takes::worker;
use super::work::{Hear, Knowledge, Work};
use super::{hits, paths, sieve};
use crate::tui::effect::{Effect, TakesCommand};
use crate::tui::report::Report;
use crate::tui::state::State;
use crate::tui::tests::messages::{Message, update};
use retake_core::usage::{SessionUsage, TurnUsage};
use retake_live::agents::AgentFile;
use retake_live::live::{RunOptions, prepare};
use retake_live::wordings::Wordings;
use retake_live::{OpenedInput, ReadOptions, TakeStore};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A file and the loader that reads it.
pub(crate) struct Direct {
    work: Work,
    /// What the world of a live run tells.
    world: Receiver<Job>,
    /// Whether a run goes on; without one its commands are left to the test.
    pub(crate) has_world: bool,
    heard: Arc<Mutex<Vec<Report>>>,
    held: Mutex<Option<Vec<Check>>>,
}

impl Direct {
    /// Opens a file; journals are kept below `root`, and it is always the first second of 1970.
    pub(crate) fn open(path: &Path, root: &Path, knowledge: &Knowledge) -> Self {
        Self::open_staged(path, root, knowledge, Staged::default())
    }

    /// Prepares a run of an agent with its world, and opens its new journal.
    pub(crate) fn run(agent: &Path, journal: &Path, root: &Path, knowledge: &Knowledge) -> Self {
        let agent = AgentFile::read(agent, &Wordings::default()).unwrap();
        let (sender, events) = channel();
        let report = Arc::new(move |event| {
            // The test is over.
            let _ = sender.send(event);
        });
        let options = RunOptions {
            has_operator: true,
            ..RunOptions::default()
        };
        let prepared = prepare(&agent, options, report).unwrap();
        let about = prepared.about.clone();
        drop(TakeStore::begin_run(journal, about, &prepared.first, || 0).unwrap());
        let staged = Staged::new(StagedRun {
            agent,
            prepared,
            events,
        });
        Self::open_staged(journal, root, knowledge, staged)
    }

    pub(crate) fn open_staged(
        path: &Path,
        root: &Path,
        knowledge: &Knowledge,
        staged: Staged,
    ) -> Self {
        let input = retake_live::open(path).unwrap();
        let opening = Arc::new(OpenedInput::begin(input, &ReadOptions::default()).unwrap());
        let heard: Arc<Mutex<Vec<Report>>> = Arc::default();
        let hear = heard.clone();
        let reports: Hear = Arc::new(move |report| hear.lock().unwrap().push(report));
        let work = Work {
            read_to: Arc::new(AtomicU64::new(opening.length())),
            opening,
            knowledge: Arc::new(knowledge.of_file(path)),
            bench: Arc::new(Bench::new(Some(root.to_owned()), || 0)),
            staged,
            reports,
        };
        let has_world = work.staged.is_there();
        let (jobs, world) = channel();
        work.bench.set_jobs(Some(jobs));
        Self {
            work,
            world,
            has_world,
            heard,
            held: Mutex::default(),
        }
    }

    /// Hears what the world of the run has to tell until the state is as wished; gives whether it was in time.
    pub(crate) fn handle_io(&self, state: &mut State, is_done: impl Fn(&State) -> bool) -> bool {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !is_done(state) {
            if Instant::now() > deadline {
                return false;
            }
            if let Ok(job) = self.world.recv_timeout(Duration::from_millis(20)) {
                self.take_up(job);
            }
            let left = self.tell(state);
            self.perform(state, left);
        }
        true
    }

    /// Reads the file and tells the state what is in it.
    pub(crate) fn read(&self, state: &mut State) {
        self.work.read().unwrap();
        let left = self.tell(state);
        self.perform(state, left);
    }

    /// Does what effects ask for; gives back what is not the loader's to do.
    pub(crate) fn perform(&self, state: &mut State, effects: Vec<Effect>) -> Vec<Effect> {
        let mut left = Vec::new();
        for effect in effects {
            match effect {
                Effect::Take(order) => self.take_up(Job::Make(order)),
                Effect::Takes(command) => {
                    self.take_up(Job::Obey(command, state.document.clone()));
                }
                Effect::Live(command) if self.has_world => self.take_up(Job::Live(command)),
                Effect::Discard(_) => {}
                Effect::Search(search) => {
                    let found = hits::find(&search, &AtomicBool::new(false)).unwrap();
                    self.hear(Report::Found(found));
                }
                Effect::Count(counting) => {
                    let heard = self.heard.clone();
                    let mut tell = |places, is_done| {
                        let report = Report::Counted(counting.clone(), places, is_done);
                        heard.lock().unwrap().push(report);
                    };
                    hits::count(&counting, &AtomicBool::new(false), &mut tell).unwrap();
                }
                Effect::Sift(sifting) => {
                    let hear = |report| self.hear(report);
                    sieve::sift_all(&sifting, &AtomicBool::new(false), &hear).unwrap();
                }
                Effect::Total(document, session) => {
                    let shown = document.session(session).unwrap();
                    let mut each = |_: usize, _: &TurnUsage| ();
                    let totals = SessionUsage::of(shown, &state.prices, &|| false, &mut each);
                    let totals = Arc::new(totals.unwrap().unwrap());
                    self.hear(Report::Totalled(document, session, totals));
                }
                Effect::FindSubAgents => {}
                Effect::Complete(typed) => {
                    let recording = self.work.opening.input().path.clone();
                    let paths = paths::complete(typed, recording.as_deref());
                    self.hear(Report::Paths(paths));
                }
                other => left.push(other),
            }
            let more = self.tell(state);
            left.extend(self.perform(state, more));
        }
        left
    }

    fn hear(&self, report: Report) {
        self.heard.lock().unwrap().push(report);
    }

    /// Does what is asked for, and checks what is shown then unless checks are held up.
    fn take_up(&self, job: Job) {
        let check = self.work.perform(job);
        let mut held = self.held.lock().unwrap();
        match &mut *held {
            Some(held) => held.extend(check),
            None => check.iter().for_each(|check| self.work.check_take(check)),
        }
    }

    /// Lets the threads of the loader do all this; ends when they have told so many things.
    pub(crate) fn obey_in_threads(&self, state: &mut State, commands: Vec<TakesCommand>) {
        let (jobs, count) = (worker::start(self.work.clone()), commands.len());
        for command in commands {
            let job = Job::Obey(command, state.document.clone());
            jobs.send(job).unwrap();
        }
        drop(jobs);
        for _ in 0..200 {
            if self.heard.lock().unwrap().len() >= count {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        self.tell(state);
    }

    /// Holds up the checks of takes from now on.
    pub(crate) fn hold_checks(&self) {
        *self.held.lock().unwrap() = Some(Vec::new());
    }

    /// Makes the checks that were held up, and none is any more.
    pub(crate) fn make_checks(&self, state: &mut State) {
        let held = self.held.lock().unwrap().take();
        for check in held.unwrap_or_default() {
            self.work.check_take(&check);
        }
        self.tell(state);
    }

    /// Waits until the loader has something to tell by itself.
    pub(crate) fn wait(&self, state: &mut State) {
        let tries = 0..200;
        for _ in tries {
            if !self.heard.lock().unwrap().is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        self.tell(state);
    }

    fn tell(&self, state: &mut State) -> Vec<Effect> {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap());
        let mut effects = Vec::new();
        for report in heard {
            effects.extend(update(state, Message::Report(report)));
        }
        state.prepare();
        effects.retain(|effect| !matches!(effect, Effect::Discard(_)));
        effects
    }
}
