//! A world for a machine: histories as trees of takes, a ledger, tools that end when the test says so. It carries effects out as the
//! runtime promises, writes down what happens, and checks after every event that no call runs twice or is answered twice.

use super::history::{History, Reply, Slot, TOOLS, faults};
use super::transcript::told;
use crate::engine::{
    Approval, Config, Decision, Machine, Nature, Phase, Policy, Reason, RunCall, RunEffect,
    RunEvent, RunStatus, Tail, Timer, ToolConfig,
};
use crate::session::Kind;
use crate::session::ledger::{
    Ask, CallFailure, CallKey, CallOutcome, Ending, ExecutionStatus, Ledger, LedgerEvent,
    ReplySummary,
};
use crate::session::takes::TakeId;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
pub(crate) struct Running {
    pub(crate) key: CallKey,
    pub(crate) tool: String,
    pub(crate) arguments: String,
}

pub(crate) struct World {
    pub(crate) config: Config,
    pub(crate) machine: Machine,
    pub(crate) now: u64,
    pub(crate) takes: Vec<History>,
    pub(crate) current: u32,
    pub(crate) ledger: Ledger,
    pub(crate) journal: Vec<LedgerEvent>,
    pub(crate) asking: Option<(Ask, u32)>,
    pub(crate) called_off: Vec<Ask>,
    pub(crate) running: Vec<Running>,
    pub(crate) timers: Vec<(u64, Timer)>,
    pub(crate) paused: Vec<Reason>,
    pub(crate) ended: Option<Ending>,
    pub(crate) is_stopping: bool,
    has_begun: bool,
    events: u32,
    /// After how many events the state is written and read: that takes longer than all else.
    pub(crate) checks_state_every: u32,
    /// What started, by call and arguments, with how its last attempt ended and whether the operator allowed another run.
    starts: BTreeMap<(CallKey, [String; 2]), Last>,
    pub(crate) log: Vec<String>,
    /// Every third action of a policy is refused, where this is set.
    pub(crate) refuses: bool,
    /// Each one is.
    pub(crate) refuses_all: bool,
    acts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Runs,
    MayRunAgain,
    Over,
}

pub(crate) fn config(policy: &str) -> Config {
    let tool = |(name, approval, nature): &(&str, Approval, Nature)| {
        let (approval, nature) = (*approval, *nature);
        ((*name).to_owned(), ToolConfig { approval, nature })
    };
    Config {
        has_operator: true,
        max_turns: Some(10),
        tools: TOOLS.iter().map(tool).collect(),
        policy: Policy::parse(policy).unwrap(),
        ..Config::default()
    }
}

impl World {
    pub(crate) fn new(config: Config) -> Self {
        let first = History {
            asks: true,
            ..History::default()
        };
        Self {
            machine: Machine::new(config.clone()),
            config,
            now: 0,
            takes: vec![History::default(), first],
            current: 1,
            ledger: Ledger::default(),
            journal: Vec::new(),
            asking: None,
            called_off: Vec::new(),
            running: Vec::new(),
            timers: Vec::new(),
            paused: Vec::new(),
            ended: None,
            is_stopping: false,
            has_begun: false,
            events: 0,
            checks_state_every: 1,
            starts: BTreeMap::new(),
            log: Vec::new(),
            refuses: false,
            refuses_all: false,
            acts: 0,
        }
    }

    pub(crate) fn history(&mut self) -> &mut History {
        &mut self.takes[self.current as usize]
    }

    /// Hands an event in, carries out what comes of it, and goes on until nothing follows by itself.
    pub(crate) fn handle(&mut self, event: RunEvent) {
        self.has_begun |= matches!(event, RunEvent::StatusChanged(_));
        let is_growing = matches!(event, RunEvent::Replied { .. });
        let mut queue = vec![event];
        while !queue.is_empty() {
            let event = queue.remove(0);
            let event = match event {
                RunEvent::StatusChanged(_) => RunEvent::StatusChanged(self.standing().into()),
                other => other,
            };
            if matches!(event, RunEvent::Operator(_)) {
                self.paused.clear();
            }
            let effects = self.machine.handle(self.now, event);
            self.events += 1;
            if self.events.is_multiple_of(self.checks_state_every) {
                self.check_state();
            }
            let mut grows = false;
            for effect in effects {
                grows |= self.carry_out(effect, &mut queue);
            }
            if grows {
                queue.push(RunEvent::StatusChanged(self.standing().into()));
            }
        }
        if !matches!(self.machine.phase(self.now), Phase::Ended(_)) {
            self.ended = None;
        }
        if self.has_begun && !is_growing {
            self.check();
        }
    }

    /// A state that is written and read is the same state.
    fn check_state(&self) {
        let state = self.machine.state();
        let text = serde_json::to_string(state).unwrap();
        let read: super::super::MachineState = serde_json::from_str(&text).unwrap();
        assert_eq!(&read, state);
    }

    pub(crate) fn standing(&self) -> RunStatus {
        let history = &self.takes[self.current as usize];
        let last = history.replies.last().filter(|_| !history.asks);
        let calls = last.map_or(&[][..], |reply| &reply.calls);
        let calls = (0_u32..).zip(calls).map(|(item, slot)| RunCall {
            item,
            key: slot.key.clone(),
            tool: slot.tool.clone(),
            arguments: slot.arguments.clone(),
            is_open: slot.output.is_none(),
            ran: self
                .ledger
                .ran(&slot.key, LedgerEvent::digest(&slot.tool, &slot.arguments)),
        });
        let calls = calls.collect::<Vec<_>>();
        let tail = match last {
            None => Tail::AsksModel,
            Some(reply) if calls.iter().any(|call| call.is_open) => {
                assert!(!reply.calls.is_empty());
                Tail::OpenCalls
            }
            Some(reply) if reply.text.is_some() => Tail::Final { item: Some(0) },
            Some(_) => Tail::AsksModel,
        };
        RunStatus {
            take: TakeId(self.current),
            turn: u32::try_from(history.replies.len()).unwrap(),
            turns: u32::try_from(history.replies.len()).unwrap(),
            tail,
            items: calls.iter().map(|call| (call.item, Kind::Call)).collect(),
            faults: faults(&calls, last),
            calls,
        }
    }

    /// Does what an effect says; gives whether the history grew.
    fn carry_out(&mut self, effect: RunEffect, queue: &mut Vec<RunEvent>) -> bool {
        let line = told(&effect);
        self.log.extend(line.map(|line| format!("    {line}")));
        match effect {
            RunEffect::Record(event) => {
                self.ledger.apply(&event);
                if let LedgerEvent::Finished { call, outcome, .. } = &event {
                    self.note_end(call, outcome.failure);
                }
                if let LedgerEvent::Decided {
                    call: Some(call),
                    action,
                    ..
                } = &event
                    && action == "run-again"
                {
                    self.allow_again(call);
                }
                self.journal.push(event);
            }
            RunEffect::Ask { ask, attempt } => {
                assert_eq!(self.asking, None, "two questions at once");
                assert_eq!(self.standing().tail, Tail::AsksModel);
                assert!(
                    self.ledger.request(ask).is_some(),
                    "asked before it was recorded"
                );
                self.asking = Some((ask, attempt));
            }
            RunEffect::CancelAsk(ask) => {
                assert_eq!(self.asking.take().map(|(asked, _)| asked), Some(ask));
                self.called_off.push(ask);
            }
            RunEffect::Run {
                call,
                tool,
                arguments,
                ..
            } => self.start(call, tool, arguments),
            RunEffect::StopTools => self.is_stopping = true,
            RunEffect::Answer {
                call,
                output,
                is_error,
            } => {
                self.answer(&call, output, is_error);
                return true;
            }
            RunEffect::Act(decision) => queue.push(self.act(&decision)),
            RunEffect::Close => {
                for slot in self
                    .history()
                    .replies
                    .iter_mut()
                    .flat_map(|reply| &mut reply.calls)
                {
                    slot.output.get_or_insert(("aborted".to_owned(), true));
                }
                return true;
            }
            RunEffect::Pause(reasons) => self.paused = reasons,
            RunEffect::Wait { timer, for_ms } => self.timers.push((self.now + for_ms, timer)),
            RunEffect::Finish(ending) => {
                assert!(self.running.is_empty(), "the run ended while tools run");
                assert_eq!(self.asking, None, "the run ended while the model is asked");
                if matches!(ending, Ending::Final | Ending::Aborted) {
                    self.check_answered();
                }
                self.ended = Some(ending);
            }
            RunEffect::Webhook { .. } | RunEffect::Note(_) => {}
        }
        false
    }

    fn start(&mut self, key: CallKey, tool: String, arguments: String) {
        let what = [tool.clone(), arguments.clone()];
        let known = self.starts.insert((key.clone(), what), Last::Runs);
        let nature = self.config.tools.get(&tool).map(|tool| tool.nature);
        // What only answers may be asked twice: nothing happens in the world.
        let may_run = matches!(known, None | Some(Last::MayRunAgain));
        assert!(
            may_run || nature == Some(Nature::Answers),
            "{key} with {arguments} runs twice"
        );
        assert!(
            self.running.iter().all(|run| run.key != key),
            "{key} runs beside itself"
        );
        if nature == Some(Nature::Acts) {
            let ran = self
                .ledger
                .ran(&key, LedgerEvent::digest(&tool, &arguments));
            assert_eq!(
                ran,
                ExecutionStatus::MayHave,
                "{key} starts before that is recorded"
            );
        }
        self.running.push(Running {
            key,
            tool,
            arguments,
        });
    }

    fn note_end(&mut self, call: &CallKey, failure: Option<CallFailure>) {
        for ((key, _), last) in &mut self.starts {
            if key == call && *last == Last::Runs {
                let recovers = failure.is_some_and(CallFailure::is_recoverable);
                *last = if recovers {
                    Last::MayRunAgain
                } else {
                    Last::Over
                };
            }
        }
    }

    fn allow_again(&mut self, call: &CallKey) {
        for ((key, _), last) in &mut self.starts {
            if key == call {
                *last = Last::MayRunAgain;
            }
        }
    }

    fn answer(&mut self, call: &CallKey, output: String, is_error: bool) {
        assert!(!self.history().has_children, "a take with children grows");
        let mut calls = self.history().replies.last_mut().unwrap().calls.iter_mut();
        let slot = calls.find(|slot| slot.key == *call && slot.output.is_none());
        let slot = slot.unwrap_or_else(|| panic!("{call} is answered and not open"));
        slot.output = Some((output, is_error));
    }

    /// A child of the take at hand with something changed; the run goes on there.
    pub(crate) fn fork(&mut self, change: impl FnOnce(&mut History)) {
        let mut child = self.history().clone();
        child.parent = self.current;
        child.has_children = false;
        self.history().has_children = true;
        change(&mut child);
        self.takes.push(child);
        self.current = u32::try_from(self.takes.len() - 1).unwrap();
        self.log.push(format!("    take {}", self.current));
    }

    fn act(&mut self, decision: &Decision) -> RunEvent {
        self.acts += 1;
        if self.refuses_all || self.refuses && self.acts.is_multiple_of(3) {
            return RunEvent::Refused {
                rule: decision.rule.clone(),
                item: decision.item,
                why: "it does not fit".to_owned(),
            };
        }
        self.recover(decision.action, decision.call.clone());
        RunEvent::StatusChanged(self.standing().into())
    }

    /// What the actions of recordings do, as far as a machine can see it.
    pub(crate) fn recover(&mut self, action: &str, call: Option<CallKey>) {
        let value = "{}".to_owned();
        self.fork(|history| {
            let Some(last) = history.replies.last_mut() else {
                return;
            };
            let is_it = |slot: &Slot| Some(&slot.key) == call.as_ref() && slot.output.is_none();
            let slot = last.calls.iter_mut().find(|slot| is_it(slot));
            match (action, slot) {
                ("retry", _) => {
                    history.replies.pop();
                    history.asks = true;
                }
                ("inject-error", Some(slot)) => {
                    slot.output = Some(("no such tool".to_owned(), true))
                }
                ("take-suggestion", Some(slot)) => slot.tool = "search".to_owned(),
                ("repair-arguments", Some(slot)) => slot.arguments = value,
                ("drop-pair", Some(slot)) => {
                    let key = slot.key.clone();
                    last.calls.retain(|slot| slot.key != key);
                    if last.calls.is_empty() {
                        history.replies.pop();
                        history.asks = true;
                    }
                }
                _ => {}
            }
        });
    }

    /// The model replies to the question at hand with these calls, or a text.
    pub(crate) fn reply(
        &mut self,
        calls: Vec<(String, String, String)>,
        text: Option<String>,
        ended: bool,
    ) {
        let (ask, _) = self.asking.take().expect("nobody asks");
        let ids = calls.iter().map(|(id, ..)| id.clone()).collect();
        let slots = calls.into_iter().map(|(id, tool, arguments)| Slot {
            key: CallKey { ask, call_id: id },
            tool,
            arguments,
            output: None,
        });
        let calls = slots.collect();
        let history = self.history();
        history.asks = false;
        history.replies.push(Reply { calls, text });
        self.handle_reply(ask, ids, ended);
        self.handle(RunEvent::StatusChanged(self.standing().into()));
    }

    pub(crate) fn handle_reply(&mut self, ask: Ask, calls: Vec<String>, ended: bool) {
        let reply = ReplySummary {
            calls,
            ended,
            ..ReplySummary::default()
        };
        self.handle(RunEvent::Replied { ask, reply });
    }

    /// What runs under this id ends.
    pub(crate) fn end(&mut self, place: usize, failure: Option<CallFailure>, is_error: bool) {
        let run = self.running.remove(place);
        let output = match failure {
            Some(failure) => format!("failed: {}", failure.word()),
            None => format!("{} did {}", run.tool, run.arguments),
        };
        let outcome = CallOutcome {
            output,
            is_error: is_error || failure.is_some(),
            failure,
            ms: 5,
        };
        let call = run.key;
        self.handle(RunEvent::Finished { call, outcome });
    }

    /// The soonest timer rings.
    pub(crate) fn ring(&mut self) {
        self.timers.sort_by_key(|(at, _)| *at);
        let (at, timer) = self.timers.remove(0);
        self.now = self.now.max(at);
        self.handle(RunEvent::TimerFired(timer));
    }

    /// The process is gone, and another one goes on with what is on the disk.
    pub(crate) fn crash(&mut self) {
        let mut machine = Machine::new(self.config.clone());
        for event in &self.journal {
            machine.recall(event);
        }
        self.begin_anew(machine);
    }

    fn begin_anew(&mut self, machine: Machine) {
        self.machine = machine;
        self.asking = None;
        self.called_off.clear();
        self.running.clear();
        self.timers.clear();
        self.paused.clear();
        self.is_stopping = false;
        self.handle(RunEvent::StatusChanged(self.standing().into()));
    }

    /// What must hold after every event.
    fn check(&self) {
        let phase = self.machine.phase(self.now);
        assert_ne!(
            phase,
            Phase::Idle,
            "nothing is under way and nobody is asked"
        );
    }

    /// What must hold at the end of a run that came to its final message or was aborted: every call of the history has its output.
    fn check_answered(&self) {
        for slot in self.takes[self.current as usize]
            .replies
            .iter()
            .flat_map(|reply| &reply.calls)
        {
            assert!(slot.output.is_some(), "{} was never answered", slot.key);
        }
    }
}
