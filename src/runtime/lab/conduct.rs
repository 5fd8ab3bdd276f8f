//! The one who conducts an experiment: hears the operator and the models, asks the machine who is next, and asks.

use super::journal::Place;
use super::prepare::{Prepared, Sent};
use super::trial::{Answered, Bench};
use super::{Command, News, NoLab, Report};
use crate::engine::{ModelDelay, model_delay};
use crate::lab::{Board, Effect, End, Event, Experiment, Machine, Phase, Sample, leader_of};
use crate::redact::Redactor;
use crate::runtime::live::{Gathered, Thread, model_of};
use crate::runtime::model::Model;
use crate::runtime::scripted::Endpoint;
use crate::session::index_number;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How often somebody is told how the experiment stands.
const OFTEN: Duration = Duration::from_millis(100);

/// An experiment that runs. It ends when this is dropped; what has come is kept.
#[derive(Debug)]
pub struct Lab {
    inputs: Sender<Input>,
    thread: Option<JoinHandle<()>>,
    journals: Vec<PathBuf>,
}

/// What the conductor hears.
enum Input {
    Command(Command),
    Answered {
        trial: usize,
        variant: usize,
        number: u32,
        answered: Box<Answered>,
    },
    /// A sample that an earlier run was answered.
    Kept {
        trial: usize,
        variant: usize,
        number: u32,
        sample: Sample,
    },
    Dropped,
}

impl Lab {
    /// Opens the journals and begins. `report` hears of it on threads of the lab.
    pub fn start(prepared: Prepared, report: Report) -> Result<Self, NoLab> {
        let (inputs, heard) = channel();
        let conductor = Conductor::new(prepared, report, inputs.clone())?;
        let journals = conductor.machine.board().journals.clone();
        let thread = std::thread::Builder::new()
            .name("lab".to_owned())
            .spawn(move || conductor.conduct(&heard))
            .map_err(NoLab::NoThread)?;
        Ok(Self {
            inputs,
            thread: Some(thread),
            journals,
        })
    }

    /// Tells it something; what comes of it is reported.
    pub fn command(&self, command: Command) {
        // An experiment that is over hears nothing.
        let _over = self.inputs.send(Input::Command(command));
    }

    /// The journals of its trials.
    pub fn journals(&self) -> &[PathBuf] {
        &self.journals
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _over = self.inputs.send(Input::Dropped);
        if let Some(thread) = self.thread.take() {
            // A panic in it was told by the panic hook.
            let _ = thread.join();
        }
    }
}

/// A model that trials ask.
struct Reached {
    model: Arc<Model>,
    /// The script that answers for it listens until this is dropped.
    _script: Option<Endpoint>,
}

struct Conductor {
    machine: Machine,
    /// The journals, by trial; none where all that was asked for has come, so that others can write to them.
    benches: Vec<Bench>,
    opener: Opener,
    /// Samples that came before one that was asked for earlier, by trial, variant and number. The machine hears of them in the order in
    /// which they were asked for: what is quickly answered would come first otherwise, and a sequential test must not see that.
    early: BTreeMap<(usize, usize, u32), Sample>,
    /// By trial.
    models: Vec<Arc<Reached>>,
    inputs: Sender<Input>,
    report: Report,
    thread: Thread,
    /// Calls off what is on its way.
    all: CancellationToken,
    /// When it was told last how it stands.
    told: Instant,
    /// Whether it stands otherwise since.
    is_news: bool,
    trouble: Option<String>,
}

/// Opens the journals of the trials.
struct Opener {
    trials: Vec<Sent>,
    redactor: Arc<Redactor>,
    /// Where they are to be.
    places: Vec<Place>,
}

impl Opener {
    fn open(&self, experiment: &Experiment) -> Result<Vec<Bench>, NoLab> {
        let trials = self.trials.iter().zip(&experiment.trials).zip(&self.places);
        let benches = trials
            .map(|((sent, trial), place)| Bench::open(sent, &trial.subject, &self.redactor, place));
        benches.collect()
    }
}

impl Conductor {
    fn new(prepared: Prepared, report: Report, inputs: Sender<Input>) -> Result<Self, NoLab> {
        let mut gathered = Gathered::default();
        let mut known: Vec<(crate::engine::agent::Model, Arc<Reached>)> = Vec::new();
        let mut models = Vec::new();
        for sent in &prepared.trials {
            let found = known.iter().find(|(described, _)| *described == sent.model);
            let reached = match found {
                Some((_, reached)) => reached.clone(),
                None => {
                    let (model, script) = model_of(&sent.model, &mut gathered)?;
                    let reached = Arc::new(Reached {
                        model: Arc::new(model),
                        _script: script,
                    });
                    known.push((sent.model.clone(), reached.clone()));
                    reached
                }
            };
            models.push(reached);
        }
        for note in gathered.notes.drain(..).chain(prepared.notes) {
            report(News::Notice(note));
        }
        let place = match prepared.is_fresh {
            true => Place::New(prepared.journals),
            false => Place::In(prepared.journals),
        };
        let mut opener = Opener {
            places: vec![place; prepared.trials.len()],
            trials: prepared.trials,
            redactor: Arc::new(Redactor::new(gathered.secrets)),
        };
        let mut experiment = prepared.experiment;
        let benches = opener.open(&experiment)?;
        let journals: Vec<PathBuf> = benches.iter().map(Bench::path).collect();
        opener.places = journals.iter().cloned().map(Place::At).collect();
        for (bench, trial) in benches.iter().zip(&mut experiment.trials) {
            for (variant, take) in trial.variants.iter_mut().zip(bench.takes()) {
                variant.take = take;
            }
        }
        let earlier = benches.iter().map(Bench::earlier).collect();
        Ok(Self {
            machine: Machine::new(Arc::new(experiment), journals, earlier, leader_of),
            benches,
            opener,
            early: BTreeMap::new(),
            models,
            inputs,
            report,
            thread: Thread::start().map_err(NoLab::NoThread)?,
            all: CancellationToken::new(),
            told: Instant::now(),
            is_news: true,
            trouble: None,
        })
    }

    /// Goes on until the experiment is over and somebody has ended it: one that is over may be given more samples.
    fn conduct(mut self, heard: &Receiver<Input>) {
        self.handle(Event::Begin);
        loop {
            let wait = OFTEN.saturating_sub(self.told.elapsed());
            let input = match self.is_news {
                true => heard.recv_timeout(wait),
                false => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match input {
                Ok(Input::Command(command)) => self.obey(command),
                Ok(Input::Answered {
                    trial,
                    variant,
                    number,
                    answered,
                }) => self.answered((trial, variant, number), *answered),
                Ok(Input::Kept {
                    trial,
                    variant,
                    number,
                    sample,
                }) => self.sampled((trial, variant, number), sample),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Input::Dropped) | Err(RecvTimeoutError::Disconnected) => break,
            }
            let end = match self.machine.board().phase {
                Phase::Ended(end) => Some(end),
                _ => None,
            };
            if self.is_news && (end.is_some() || self.told.elapsed() >= OFTEN) {
                self.tell();
            }
            // What was called off may still come.
            if end.is_some_and(|end| end != End::Stopped) {
                self.benches.clear();
            }
        }
        self.all.cancel();
        self.thread.end();
    }

    fn obey(&mut self, command: Command) {
        if matches!(command, Command::More(_)) && self.benches.is_empty() {
            match self.opener.open(&self.machine.board().experiment) {
                Ok(benches) => self.benches = benches,
                Err(error) => return (self.report)(News::Notice(error.to_string())),
            }
        }
        self.handle(match command {
            Command::Pause => Event::Pause,
            Command::Resume => Event::Resume,
            Command::More(samples) => Event::More(samples),
            Command::Stop => Event::Stop,
        });
    }

    fn tell(&mut self) {
        self.told = Instant::now();
        self.is_news = false;
        (self.report)(News::Board(Arc::new(Board::clone(self.machine.board()))));
    }

    fn answered(&mut self, place: (usize, usize, u32), answered: Answered) {
        let (trial, variant, number) = place;
        let sample = self.benches[trial].keep(variant, number, answered);
        let trouble = self.benches[trial].trouble();
        if trouble.is_some() && trouble != self.trouble {
            (self.report)(News::Notice(trouble.clone().unwrap_or_default()));
        }
        self.trouble = trouble;
        self.sampled(place, sample);
    }

    /// Takes in a sample, once it is its turn.
    fn sampled(&mut self, place: (usize, usize, u32), sample: Sample) {
        let (trial, variant, _) = place;
        self.early.insert(place, sample);
        loop {
            let there = self.machine.board().samples[trial][variant].len();
            let next = (trial, variant, index_number(there));
            let Some(sample) = self.early.remove(&next) else {
                break;
            };
            self.handle(Event::Sampled {
                trial,
                variant,
                sample,
            });
        }
    }

    fn handle(&mut self, event: Event) {
        self.is_news = true;
        for effect in self.machine.handle(event) {
            match effect {
                Effect::Ask {
                    trial,
                    variant,
                    number,
                } => self.ask(trial, variant, number),
                Effect::CallOff => {
                    std::mem::take(&mut self.all).cancel();
                    self.count_early();
                }
                // What is over is on the board.
                Effect::Ended(_) => {}
                Effect::OutOfPlace(why) => (self.report)(News::Notice(why.to_string())),
            }
        }
    }

    /// What had come before all was called off counts.
    fn count_early(&mut self) {
        for ((trial, variant, _), sample) in std::mem::take(&mut self.early) {
            self.handle(Event::Sampled {
                trial,
                variant,
                sample,
            });
        }
    }

    fn ask(&self, trial: usize, variant: usize, number: u32) {
        if let Some(sample) = self.benches[trial].kept(variant, number) {
            let _over = self.inputs.send(Input::Kept {
                trial,
                variant,
                number,
                sample,
            });
            return;
        }
        let body = self.benches[trial].question(variant, number);
        let (reached, inputs) = (self.models[trial].clone(), self.inputs.clone());
        let cancel = self.all.child_token();
        self.thread.begin(async move {
            let answered = tokio::select! {
                biased;
                // Nobody waits for what was called off.
                () = cancel.cancelled() => return,
                answered = patiently(&reached.model, body, cancel.clone(), u64::from(number)) => answered,
            };
            let answered = Box::new(answered);
            let _over = inputs.send(Input::Answered {
                trial,
                variant,
                number,
                answered,
            });
        });
    }
}

/// Asks a model, and again where it may answer a moment later, as a live run does.
async fn patiently(model: &Model, body: Vec<u8>, cancel: CancellationToken, seed: u64) -> Answered {
    let mut attempt = 1;
    loop {
        let mut on = |_: crate::runtime::model::Progress<'_>| ();
        let fault = match model.ask(body.clone(), &mut on, cancel.clone()).await {
            Ok(answer) => return Ok(answer),
            Err(fault) => fault,
        };
        // Nobody saw a part of a reply: a stream that broke off may be asked for again.
        let unseen = crate::engine::ModelFault {
            was_streaming: false,
            ..fault.clone()
        };
        match model_delay(&unseen, attempt, seed) {
            ModelDelay::After(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            ModelDelay::Ask(_) => return Err(fault),
        }
        attempt += 1;
    }
}
