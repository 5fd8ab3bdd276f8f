//! The one who conducts an experiment: hears the operator and the models, asks the machine who
//! is next, and asks.

use super::error::LabError;
use super::history::TrialInput;
use super::prepare::PreparedLab;
use super::trial::{Answered, JournalPlace, TrialStore};
use crate::live::{Gathered, Thread, model_of};
use crate::model::Model;
use crate::scripted::ScriptedServer;
use retake_core::engine::{ModelDelay, ModelFault, model_delay};
use retake_core::lab::{
    Board, Class, Experiment, LabCommand, LabEffect, LabMachine, LabPhase, LabSample, Question,
    TokenCount, TrialEnd, leader_of,
};
use retake_core::redact::Redactor;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How often the progress of the experiment is reported.
const OFTEN: Duration = Duration::from_millis(100);

/// Notice if a cap on tokens is set and a reply reports no usage.
const UNCOUNTED: &str = "the model's provider tells no tokens: for the cap on tokens they are estimated, one \
    for every 4 bytes that are sent or answered";

#[derive(Debug, Clone)]
pub enum LabNews {
    /// The current state; at most some ten times a second, and once when it is over.
    Board(Arc<Board>),
    /// Something for the operator to read; it holds text from outside.
    Notice(String),
}

/// The receiver of news, called on a thread of the lab.
pub type Report = Arc<dyn Fn(LabNews) + Send + Sync>;

/// An experiment that runs. It ends when this is dropped; what has come is kept.
#[derive(Debug)]
pub struct LabRun {
    inputs: Sender<Input>,
    thread: Option<JoinHandle<()>>,
}

/// What the conductor hears.
enum Input {
    Command(LabCommand),
    /// A request was answered, or failed.
    Answered(Question, Box<Answered>),
    /// A question whose request failed may be sent again now.
    Due(Question, Box<ModelFault>),
    /// Nobody waits for a question any more.
    CalledOff(Question),
    Dropped,
}

/// Something that is done about a question elsewhere: whatever ends it, the conductor hears of it.
struct PendingRequest {
    question: Question,
    inputs: Sender<Input>,
    is_done: bool,
}

impl PendingRequest {
    fn tell(mut self, input: Input) {
        self.is_done = true;
        let _over = self.inputs.send(input);
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if !self.is_done {
            let _over = self.inputs.send(Input::CalledOff(self.question));
        }
    }
}

impl LabRun {
    /// Opens the journals and begins. `report` hears of it on threads of the lab.
    pub fn start(prepared: PreparedLab, report: Report) -> Result<Self, LabError> {
        let (inputs, heard) = channel();
        let driver = LabDriver::new(prepared, report, inputs.clone())?;
        let thread = std::thread::Builder::new()
            .name("lab".to_owned())
            .spawn(move || driver.run(&heard))
            .map_err(LabError::NoThread)?;
        Ok(Self {
            inputs,
            thread: Some(thread),
        })
    }

    pub fn command(&self, command: LabCommand) {
        // An experiment that is over hears nothing.
        let _over = self.inputs.send(Input::Command(command));
    }
}

impl Drop for LabRun {
    fn drop(&mut self) {
        let _over = self.inputs.send(Input::Dropped);
        if let Some(thread) = self.thread.take() {
            // The panic hook has reported a panic in it.
            let _ = thread.join();
        }
    }
}

/// A model that trials ask.
struct Reached {
    model: Arc<Model>,
    /// The script that answers for it listens until this is dropped.
    _script: Option<ScriptedServer>,
}

struct LabDriver {
    machine: LabMachine,
    /// The journals, by trial; none once all requested replies have come, so that others can write to them.
    stores: Vec<TrialStore>,
    opener: Opener,
    models: Vec<Arc<Reached>>,
    inputs: Sender<Input>,
    report: Report,
    thread: Thread,
    /// Calls off what is on its way.
    all: CancellationToken,
    /// Time of the last report.
    last_report: Instant,
    /// Whether anything has changed since.
    is_news: bool,
    trouble: Option<String>,
    /// Whether the estimate of tokens was reported.
    has_estimated: bool,
}

struct Opener {
    trials: Vec<TrialInput>,
    redactor: Arc<Redactor>,
    /// Where they are to be.
    places: Vec<JournalPlace>,
}

impl Opener {
    fn open(&self, experiment: &Experiment) -> Result<Vec<TrialStore>, LabError> {
        let trials = self.trials.iter().zip(&experiment.trials).zip(&self.places);
        let stores = trials.map(|((sent, trial), place)| {
            TrialStore::open(sent, &trial.subject, &self.redactor, place)
        });
        stores.collect()
    }
}

impl LabDriver {
    fn new(prepared: PreparedLab, report: Report, inputs: Sender<Input>) -> Result<Self, LabError> {
        let mut gathered = Gathered::default();
        let mut known: Vec<(retake_core::engine::agent::AgentModel, Arc<Reached>)> = Vec::new();
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
            report(LabNews::Notice(note));
        }
        let place = match prepared.is_fresh {
            true => JournalPlace::New(prepared.journals),
            false => JournalPlace::In(prepared.journals),
        };
        let mut opener = Opener {
            places: vec![place; prepared.trials.len()],
            trials: prepared.trials,
            redactor: Arc::new(Redactor::new(gathered.secrets)),
        };
        let mut experiment = prepared.experiment;
        let stores = opener.open(&experiment)?;
        let journals: Vec<PathBuf> = stores.iter().map(TrialStore::path).collect();
        opener.places = journals.iter().cloned().map(JournalPlace::At).collect();
        for (store, trial) in stores.iter().zip(&mut experiment.trials) {
            for (variant, take) in trial.variants.iter_mut().zip(store.takes()) {
                variant.take = take;
            }
        }
        let earlier = stores.iter().map(TrialStore::earlier).collect();
        Ok(Self {
            machine: LabMachine::new(Arc::new(experiment), journals, earlier, leader_of),
            stores,
            opener,
            models,
            inputs,
            report,
            thread: Thread::start().map_err(LabError::NoThread)?,
            all: CancellationToken::new(),
            last_report: Instant::now(),
            is_news: true,
            trouble: None,
            has_estimated: false,
        })
    }

    /// Goes on until the experiment is over and somebody has ended it: one that is over may
    /// be given more samples.
    fn run(mut self, heard: &Receiver<Input>) {
        let effects = self.machine.begin();
        self.perform(effects);
        loop {
            let wait = OFTEN.saturating_sub(self.last_report.elapsed());
            let input = match self.is_news {
                true => heard.recv_timeout(wait),
                false => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match input {
                Ok(Input::Command(command)) => self.obey(command),
                Ok(Input::Answered(question, answered)) => self.answered(question, *answered),
                Ok(Input::Due(question, fault)) => self.due(question, *fault),
                Ok(Input::CalledOff(question)) => called_off(&mut self.stores, question),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Input::Dropped) | Err(RecvTimeoutError::Disconnected) => break,
            }
            let end = match self.machine.board().phase {
                LabPhase::Ended(end) => Some(end),
                _ => None,
            };
            if self.is_news && (end.is_some() || self.last_report.elapsed() >= OFTEN) {
                self.tell();
            }
            // What was called off may still come.
            if end.is_some_and(|end| end != TrialEnd::Stopped) {
                self.stores.clear();
            }
        }
        self.all.cancel();
        self.thread.end();
        // What came in the meantime, and what was called off, was paid for.
        for input in heard.try_iter() {
            match input {
                Input::Answered(question, answered) => {
                    if let Some(store) = self.stores.get_mut(question.trial) {
                        store.keep(question, *answered);
                    }
                }
                Input::Due(question, _) | Input::CalledOff(question) => {
                    called_off(&mut self.stores, question);
                }
                Input::Command(_) | Input::Dropped => {}
            }
        }
    }

    fn obey(&mut self, command: LabCommand) {
        if matches!(command, LabCommand::More(_)) && self.stores.is_empty() {
            match self.opener.open(&self.machine.board().experiment) {
                Ok(stores) => self.stores = stores,
                Err(error) => return (self.report)(LabNews::Notice(error.to_string())),
            }
        }
        let effects = self.machine.obey(command);
        self.perform(effects);
    }

    fn tell(&mut self) {
        self.last_report = Instant::now();
        self.is_news = false;
        (self.report)(LabNews::Board(Arc::new(Board::clone(self.machine.board()))));
    }

    fn answered(&mut self, question: Question, answered: Answered) {
        match answered {
            Err(fault) => match again_in(&fault, question) {
                Some(wait) => self.wait(question, fault, wait),
                None => self.keep(question, Err(fault)),
            },
            Ok(_) => self.keep(question, answered),
        }
    }

    /// Sends a question again after its request failed, where that may be.
    fn due(&mut self, question: Question, fault: ModelFault) {
        let failed = self.stores[question.trial].cost_of(question.variant, &fault);
        if self.machine.may_ask_again(question, failed) {
            self.is_news = true;
            return self.ask(Question {
                attempts: question.attempts + 1,
                ..question
            });
        }
        let why = format!("{}; no more requests may be sent", fault.why);
        self.keep(question, Err(ModelFault { why, ..fault }));
    }

    fn keep(&mut self, question: Question, answered: Answered) {
        let Question { trial, variant, .. } = question;
        let sample = self.stores[trial].keep(question, answered);
        let trouble = self.stores[trial].trouble();
        if trouble.is_some() && trouble != self.trouble {
            (self.report)(LabNews::Notice(trouble.clone().unwrap_or_default()));
        }
        self.trouble = trouble;
        self.tell_estimate(&sample);
        let effects = self.machine.sampled(trial, variant, sample);
        self.perform(effects);
    }

    /// Says once that a cap on tokens has to go by an estimate.
    fn tell_estimate(&mut self, sample: &LabSample) {
        let is_capped = self.machine.board().experiment.caps.tokens.is_some();
        let is_estimated =
            sample.class != Class::Failed && matches!(sample.tokens, TokenCount::Estimated(_));
        if is_capped && is_estimated && !self.has_estimated {
            self.has_estimated = true;
            (self.report)(LabNews::Notice(UNCOUNTED.to_owned()));
        }
    }

    fn perform(&mut self, effects: Vec<LabEffect>) {
        self.is_news = true;
        for effect in effects {
            match effect {
                LabEffect::Ask(question) => self.ask(question),
                LabEffect::CallOff => std::mem::take(&mut self.all).cancel(),
                // What is over is on the board.
                LabEffect::Ended(_) => {}
                LabEffect::OutOfPlace(why) => (self.report)(LabNews::Notice(why.to_string())),
            }
        }
    }

    fn ask(&self, question: Question) {
        let body = self.stores[question.trial].body(question);
        let reached = self.models[question.trial].clone();
        let cancel = self.all.child_token();
        self.send(question, async move {
            let mut on = |_: crate::model::ReplyProgress<'_>| ();
            let answered = reached.model.ask(body, &mut on, cancel).await;
            Input::Answered(question, Box::new(answered))
        });
    }

    fn wait(&self, question: Question, fault: ModelFault, wait: Duration) {
        self.send(question, async move {
            tokio::time::sleep(wait).await;
            Input::Due(question, Box::new(fault))
        });
    }

    /// Begins something about a question, and hears what comes of it.
    fn send(&self, question: Question, work: impl Future<Output = Input> + Send + 'static) {
        let errand = PendingRequest {
            question,
            inputs: self.inputs.clone(),
            is_done: false,
        };
        let cancel = self.all.child_token();
        self.thread.spawn(async move {
            tokio::select! {
                biased;
                // Nobody waits for what was called off.
                () = cancel.cancelled() => drop(errand),
                input = work => errand.tell(input),
            }
        });
    }
}

fn called_off(stores: &mut [TrialStore], question: Question) {
    if let Some(store) = stores.get_mut(question.trial) {
        store.called_off(question);
    }
}

/// How long a question whose request failed waits until it is sent again, as in a live run; `None`
/// where it is not.
fn again_in(fault: &ModelFault, question: Question) -> Option<Duration> {
    // Nobody saw a part of a reply: a stream that broke off may be requested again.
    let unseen = ModelFault {
        was_streaming: false,
        ..fault.clone()
    };
    match model_delay(&unseen, question.attempts, u64::from(question.number)) {
        ModelDelay::After(ms) => Some(Duration::from_millis(ms)),
        ModelDelay::Ask(_) => None,
    }
}
