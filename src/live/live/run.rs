//! The conductor: hears the operator and the world, asks the machine what is to be done, and does it.
//!
//! It owns no take. Each time it is handed the store of the recording; what it does to the takes is in the
//! journal before it goes on. Secrets are taken out of what the model and the tools say before it enters the
//! history, and put back on the wire.

use super::act::{Acted, act};
use super::io::{IoEvent, RunIo};
use super::news::{Judged, RunNews, ToolState};
use super::snapshot::{self, ExchangeBaseline, ModelBinding, TakeSnapshot};
use crate::model::Answer;
use crate::tools::ToolResponse;
use crate::{TakeError, TakeStore};
use retake_core::engine::{
    Breakpoint, Decision, Machine, Millis, Phase, Reason, RunCommand, RunEffect, RunEvent, Tail,
};
use retake_core::redact::{Redactor, Vault};
use retake_core::session::ledger::{Ask, CallKey, CallOutcome, LedgerEvent, ReplySummary};
use retake_core::session::takes::{Author, TakeId};
use retake_core::session::{Edit, MessageRole, Tool, index_number};
use retake_core::wire::write::{calls_of, history_of, quoted};
use retake_core::wire::{body_of, stop_of};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// What the conductor hears.
#[derive(Debug)]
pub enum RunInput {
    /// The operator wants something of the run.
    Operator(RunCommand),
    /// The operator made a take out of the one that the run drives, to mend it: the run goes on there.
    Edited(TakeId),
    /// The operator went to another take: the run is held there.
    Went(TakeId),
    /// The user says something more, at the end of the history.
    Say(String),
    /// Something happened in the world.
    Io(IoEvent),
}

/// What the operator changes by himself, and not to answer what holds a run.
const BY_HAND: &[&str] = &["edit", "drop-item", "drop-pair"];

/// Whether a run in this phase goes on by itself in a take that this action makes of it, `None` being a
/// fork. It does where the action answers what the run was paused for; elsewhere nothing asks the model or runs
/// a tool but the operator's word.
pub fn goes_on(phase: &Phase, action: Option<&str>) -> bool {
    let is_answer = action.is_some_and(|action| !BY_HAND.contains(&action));
    let is_question = |reason: &Reason| {
        !matches!(
            reason,
            Reason::Stepped | Reason::Breakpoint { .. } | Reason::NothingSaid
        )
    };
    is_answer
        && match phase {
            Phase::Paused { reasons } => reasons.iter().any(is_question),
            Phase::Asking { .. } | Phase::Running { .. } | Phase::Waiting { .. } => true,
            Phase::Idle | Phase::Ended(_) => false,
        }
}

/// The breakpoints of the runs that a journal holds, as they were last.
pub fn past_breakpoints(store: &TakeStore) -> Vec<Breakpoint> {
    let mut happened = store.happened().iter().rev();
    let last = happened.find_map(|happened| match &happened.event {
        LedgerEvent::Breakpoints { places, off } => Some((places, off)),
        _ => None,
    });
    let Some((places, off)) = last else {
        return Vec::new();
    };
    let on = places.iter().map(|place| (place, true));
    let all = on.chain(off.iter().map(|place| (place, false)));
    let read = all.zip(1..).filter_map(|((place, is_enabled), number)| {
        let breakpoint = Breakpoint::parse(number, place).ok()?;
        Some(Breakpoint {
            is_enabled,
            ..breakpoint
        })
    });
    read.collect()
}

pub struct LiveRun {
    pub(crate) machine: Machine,
    pub(crate) model: ModelBinding,
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) io: RunIo,
    pub(crate) redactor: Redactor,
    pub(crate) vault: Vault,
    /// What the agent's tools look like to a model.
    pub(crate) tools: Vec<Tool>,
    pub(crate) session: u32,
    pub(crate) take: TakeId,
    pub(crate) snapshot: Option<Arc<TakeSnapshot>>,
    /// A call whose start could not be recorded, and why: it does not run.
    pub(crate) unrecorded: Option<(CallKey, String)>,
    /// What came of an exchange that it is about.
    pub(crate) entered: ExchangeBaseline,
    pub(crate) clock: Instant,
    pub(crate) reported: Option<Phase>,
    /// The breakpoints that the journal knows of.
    breakpoints: Vec<Breakpoint>,
    pub(crate) news: Vec<RunNews>,
}

pub struct RunInfo {
    pub name: String,
    pub file: String,
    pub model: ModelBinding,
    /// Its tools, as a model is offered them.
    pub tools: Vec<Tool>,
    /// What must not be written down.
    pub redactor: Redactor,
    /// What was taken out of the first request.
    pub vault: Vault,
}

impl LiveRun {
    /// A run that is not begun yet.
    pub fn new(machine: Machine, who: RunInfo, io: RunIo) -> Self {
        Self {
            machine,
            model: who.model,
            tools: who.tools,
            name: who.name,
            file: who.file,
            io,
            redactor: who.redactor,
            vault: who.vault,
            session: 0,
            take: TakeId::MAIN,
            snapshot: None,
            unrecorded: None,
            entered: ExchangeBaseline::default(),
            clock: Instant::now(),
            reported: None,
            breakpoints: Vec::new(),
            news: Vec::new(),
        }
    }

    /// A text of JSON as it may be written down; what is hidden comes back where it is sent.
    pub(crate) fn hide(&mut self, json: &[u8]) -> Vec<u8> {
        self.redactor.json(json, &mut self.vault).into_owned()
    }

    pub fn take(&self) -> TakeId {
        self.take
    }

    /// How many replies the history holds.
    pub fn turns(&self) -> u32 {
        self.snapshot
            .as_ref()
            .map_or(0, |snapshot| snapshot.standing.turns)
    }

    /// The text of the final message, where the history ends on one.
    pub fn final_text(&self) -> Option<String> {
        let snapshot = self.snapshot.as_ref()?;
        let Tail::Final { item: Some(item) } = snapshot.standing.tail else {
            return None;
        };
        let session = snapshot.session(self.session)?;
        let item = session.items.get(item as usize)?;
        let bytes = session.bytes(item).ok()?;
        Some(body_of(item, &bytes).ok()?.text)
    }

    /// Whether a request or a call is under way, also while the run waits for the operator.
    pub fn is_busy(&self) -> bool {
        self.machine.is_busy()
    }

    pub fn phase(&self) -> Phase {
        self.machine.phase(self.now())
    }

    /// Has the run wait for its operator once it starts, whatever it could do.
    pub fn wait_at_start(&mut self) {
        self.machine.look();
    }

    /// Begins to drive a take, or goes on with it: what the journal knows of it counts.
    pub fn start(
        &mut self,
        store: &mut TakeStore,
        session: u32,
        from: TakeId,
    ) -> Result<Vec<RunNews>, TakeError> {
        self.session = session;
        self.take = snapshot::drivable(store, session, from, &self.model, &self.tools)?;
        for happened in store.happened() {
            self.machine.recall(&happened.event);
        }
        self.breakpoints = past_breakpoints(store);
        let began = LedgerEvent::Began {
            take: self.take,
            agent: self.name.clone(),
            file: self.file.clone(),
            model: self.model.name().to_owned(),
            scripted: self.model.is_scripted(),
        };
        self.record(store, began);
        self.news.push(RunNews::Grown(self.take));
        let standing = self.stand(store)?;
        self.drive(store, standing);
        Ok(std::mem::take(&mut self.news))
    }

    pub fn handle(&mut self, store: &mut TakeStore, input: RunInput) -> Vec<RunNews> {
        match input {
            RunInput::Operator(command) => self.operator(store, command),
            RunInput::Edited(take) => self.edited(store, take),
            RunInput::Say(text) => self.user_message(store, &text),
            RunInput::Went(take) => self.go_to(store, take),
            RunInput::Io(event) => self.io(store, event),
        }
        std::mem::take(&mut self.news)
    }

    /// Carries out what the operator decided about a fault, and goes on in the take that this makes. The error says why
    /// it cannot be done.
    pub fn decide(
        &mut self,
        store: &mut TakeStore,
        decision: &Decision,
    ) -> Result<Vec<RunNews>, String> {
        let snapshot = self.snapshot.clone().ok_or("the history is not read")?;
        let place = (self.session, self.take);
        let (Acted::All(take) | Acted::Alone(take)) =
            act(store, place, &snapshot, decision, Author::Operator)?;
        self.edited(store, take);
        Ok(std::mem::take(&mut self.news))
    }

    /// The operator made a take to mend the one that the run drives.
    fn edited(&mut self, store: &mut TakeStore, take: TakeId) {
        let made = store.takes().get(take);
        let action = made.and_then(|take| take.cause.action.as_deref());
        let is_fallback = made.is_some_and(|take| take.fallback.is_some());
        let goes_on = match self.model.is_of_client() {
            true => action.is_some(),
            false => goes_on(&self.phase(), action),
        };
        self.machine.lead(goes_on);
        self.go_to(store, take);
        if is_fallback {
            self.drive(store, RunEvent::Operator(RunCommand::AcceptFallback));
        }
    }

    fn operator(&mut self, store: &mut TakeStore, command: RunCommand) {
        let goes_on = matches!(
            command,
            RunCommand::Continue | RunCommand::Step | RunCommand::Now
        );
        if goes_on && !self.may_grow(store) {
            return;
        }
        let command = match command {
            RunCommand::Supply {
                call,
                output,
                is_error,
            } => RunCommand::Supply {
                call,
                output: self.clean_for_history(&output),
                is_error,
            },
            RunCommand::Reject { call, words } => RunCommand::Reject {
                call,
                words: self.clean_for_history(&words),
            },
            command => command,
        };
        self.drive(store, RunEvent::Operator(command));
    }

    /// The user's next message.
    fn user_message(&mut self, store: &mut TakeStore, text: &str) {
        let text = self.clean_for_history(text);
        if !self.may_grow(store) {
            return;
        }
        let snapshot = self.snapshot.as_ref();
        let session = snapshot.and_then(|snapshot| snapshot.session(self.session));
        let items = session.map_or(0, |session| session.items.len());
        let say = Edit::Say {
            after: index_number(items.saturating_sub(1)),
            voice: MessageRole::User,
            text,
        };
        let standing = self.grow(store, vec![say]);
        self.drive_or_say(store, standing);
        if let Phase::Ended(_) = self.phase() {
            self.drive(store, RunEvent::Operator(RunCommand::Continue));
        }
    }

    /// Makes sure that the run drives a take that may grow: one that others branch off stays as it is, and the
    /// run goes on in one of its own.
    fn may_grow(&mut self, store: &mut TakeStore) -> bool {
        if store.takes().children(self.take).is_empty() {
            return true;
        }
        match snapshot::drivable(store, self.session, self.take, &self.model, &self.tools) {
            Ok(take) => {
                self.go_to(store, take);
                true
            }
            Err(error) => {
                self.notice(error.to_string());
                false
            }
        }
    }

    fn go_to(&mut self, store: &mut TakeStore, take: TakeId) {
        self.take = take;
        self.news.push(RunNews::Grown(take));
        match self.stand(store) {
            Ok(standing) => self.drive(store, standing),
            Err(error) => self.notice(error.to_string()),
        }
    }

    fn io(&mut self, store: &mut TakeStore, event: IoEvent) {
        match event {
            IoEvent::Growing(mut streaming) => {
                streaming.text = self.redactor.growing(&streaming.text).into_owned();
                streaming.reasoning = self.redactor.growing(&streaming.reasoning).into_owned();
                for call in &mut streaming.calls {
                    call.arguments = self.redactor.growing(&call.arguments).into_owned();
                }
                self.news.push(RunNews::Streaming(streaming));
            }
            IoEvent::Answered { ask, answer } => match *answer {
                Ok(answer) => self.answered(store, ask, answer),
                Err(mut fault) => {
                    fault.why = self.clean(&fault.why);
                    self.drive(store, RunEvent::NotReplied { ask, fault });
                }
            },
            IoEvent::Called { call, called } => {
                let event = match called {
                    ToolResponse::Ended { outcome, notes } => {
                        for note in notes {
                            let note = self.clean(&note);
                            self.notice(note);
                        }
                        let output = self.clean_for_history(&outcome.output);
                        let outcome = CallOutcome { output, ..outcome };
                        RunEvent::Finished { call, outcome }
                    }
                    ToolResponse::NeedsOperator(note) => RunEvent::NeedsOperator { call, note },
                };
                self.drive(store, event);
            }
            IoEvent::Rang(timer) => self.drive(store, RunEvent::TimerFired(timer)),
            IoEvent::Notice(text) => {
                let text = self.clean(&text);
                self.notice(text);
            }
        }
    }

    /// A reply enters the history.
    pub(crate) fn answered(&mut self, store: &mut TakeStore, ask: Ask, answer: Answer) {
        let dialect = self.model.dialect();
        let history = history_of(dialect, &answer.json);
        let items = match history {
            Ok(items) if !items.is_empty() => items,
            Ok(_) => return self.not_usable(store, ask, "the reply holds nothing".to_owned()),
            Err(error) => return self.not_usable(store, ask, error.to_string()),
        };
        let calls = match calls_of(dialect, &answer.json) {
            Ok(calls) => calls,
            Err(error) => return self.not_usable(store, ask, error.to_string()),
        };
        let reply = ReplySummary {
            calls,
            usage: answer.usage,
            first_ms: answer.first_ms,
            total_ms: answer.total_ms,
            ended: answer.is_whole(),
            stop: stop_of(&answer.json).map(|stop| self.clean(&stop)),
        };
        let take = store.ledger().request(ask).map(|request| request.take);
        self.drive(store, RunEvent::Replied { ask, reply });
        // The reply to a cancelled request is reported and recorded nowhere.
        if take != Some(self.take) {
            return;
        }
        let items = items.into_iter().map(|item| {
            let clean = self.redactor.json(item.as_bytes(), &mut self.vault);
            String::from_utf8_lossy(&clean).into_owned()
        });
        let extend = Edit::Extend {
            items: items.collect(),
        };
        match self.grow(store, vec![extend]) {
            Ok(standing) => {
                self.note_reply(store, answer);
                self.drive(store, standing);
            }
            Err(error) => {
                // The machine waits for the reply in the history, and would for ever.
                self.notice(error.to_string());
                self.drive(store, RunEvent::Operator(RunCommand::Pause));
                let standing = self.stand(store);
                self.drive_or_say(store, standing);
            }
        }
    }

    fn not_usable(&mut self, store: &mut TakeStore, ask: Ask, why: String) {
        let fault = retake_core::engine::ModelFault {
            status: None,
            why: self.clean(&why),
            is_recoverable: true,
            retry_after_ms: None,
            was_streaming: false,
        };
        self.drive(store, RunEvent::NotReplied { ask, fault });
    }

    /// Hands events to the machine until nothing follows from them.
    pub(crate) fn drive(&mut self, store: &mut TakeStore, event: RunEvent) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let mut decisions = Vec::new();
            for effect in self.machine.handle(self.now(), event) {
                if let RunEffect::Record(decided @ LedgerEvent::Decided { .. }) = effect {
                    decisions.push(decided);
                    continue;
                }
                // Nothing else is done before they are on the disk.
                self.record_decisions(store, std::mem::take(&mut decisions));
                events.extend(self.perform(store, effect));
            }
            self.record_decisions(store, decisions);
        }
        self.report(store);
    }

    fn drive_or_say(&mut self, store: &mut TakeStore, standing: Result<RunEvent, TakeError>) {
        match standing {
            Ok(standing) => self.drive(store, standing),
            Err(error) => self.notice(error.to_string()),
        }
    }

    /// Grows the take; returns its status after that.
    pub(crate) fn grow(
        &mut self,
        store: &mut TakeStore,
        edits: Vec<Edit>,
    ) -> Result<RunEvent, TakeError> {
        if self.snapshot.is_none() {
            self.stand(store)?;
        }
        let session = self
            .snapshot
            .as_ref()
            .and_then(|snapshot| snapshot.session(self.session));
        if let Some(session) = session {
            store.grow(self.take, session, &edits)?;
        }
        // They may be long, and the take holds what they say.
        drop(edits);
        self.news.push(RunNews::Grown(self.take));
        self.stand(store)
    }

    /// Reads the take and judges it.
    pub(crate) fn stand(&mut self, store: &mut TakeStore) -> Result<RunEvent, TakeError> {
        let is_request = self.is_before_reply(store);
        let of = (is_request, self.model.is_of_client());
        let snapshot = TakeSnapshot::read(store, self.session, self.take, of)?;
        let snapshot = Arc::new(snapshot);
        let standing = snapshot.standing.clone();
        self.news.push(RunNews::Judged(Judged(snapshot.clone())));
        self.snapshot = Some(snapshot);
        Ok(RunEvent::StatusChanged(standing))
    }

    /// Keeps the breakpoints with the run, which may go on after a restart.
    fn record_breakpoints(&mut self, store: &mut TakeStore) {
        let now = self.machine.breakpoints();
        if now == self.breakpoints || self.model.is_of_client() {
            return;
        }
        self.breakpoints = now.to_vec();
        let (on, off): (Vec<_>, Vec<_>) = now.iter().partition(|it| it.is_enabled);
        let mut written = |places: Vec<&Breakpoint>| {
            let written = places.into_iter().map(ToString::to_string);
            written
                .map(|place| self.redactor.text(&place, &mut self.vault).into_owned())
                .collect()
        };
        let (places, off) = (written(on), written(off));
        self.record(store, LedgerEvent::Breakpoints { places, off });
    }

    fn report(&mut self, store: &mut TakeStore) {
        self.record_breakpoints(store);
        let phase = self.phase();
        // Between a reply and its place in the history nothing is under way, but the run goes on.
        let is_between = phase == Phase::Idle;
        if !is_between && self.reported.as_ref() != Some(&phase) {
            self.reported = Some(phase.clone());
            self.news.push(RunNews::Phase(phase));
            self.news.push(RunNews::Usage(store.ledger().usage()));
            self.news.push(RunNews::Tools(self.tools()));
        }
    }

    fn tools(&self) -> Vec<ToolState> {
        self.machine.tools(self.now()).collect()
    }

    /// A text that enters the history, as a string of JSON: a secret is kept as it is spelled there.
    pub(crate) fn clean_for_history(&mut self, text: &str) -> String {
        let hidden = self.hide(quoted(text).as_bytes());
        serde_json::from_slice(&hidden).unwrap_or_else(|_| self.clean(text))
    }

    pub(crate) fn clean(&mut self, text: &str) -> String {
        self.redactor.text(text, &mut self.vault).into_owned()
    }

    pub(crate) fn notice(&mut self, text: String) {
        self.news.push(RunNews::Notice(text));
    }

    fn now(&self) -> Millis {
        Millis::try_from(self.clock.elapsed().as_millis()).unwrap_or(Millis::MAX)
    }
}
