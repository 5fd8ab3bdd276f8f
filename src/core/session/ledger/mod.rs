//! The ledger: the side effects of a run. Which requests went to the model, which calls were started, their
//! results, and who decided what.
//!
//! Takes hold the history; the ledger holds what was done. A call is identified by its id and the request whose
//! reply made it, whatever take it is seen from: a call that ran in one take never runs again by itself from
//! another one. Everything is one [`LedgerEvent`]; the events of a journal, applied in order, give the ledger.

use super::item::ToolRun;
use super::takes::{Author, ContentDigest, TakeId, Takes};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

/// Decisions of the operator that give a call its output.
const GIVES_AN_OUTPUT: &[&str] = &["reject", "supply-output"];

/// Characters of a failed output that are kept to class it.
const MOST_OF_A_FAILURE: usize = 400;

/// The statuses of a provider that refuses a request for what it holds.
const REFUSALS: &[u16] = &[400, 422];

/// Whether a call was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(tag = "ran", rename_all = "kebab-case")]
pub enum ExecutionStatus {
    #[default]
    No,
    /// It started, and nobody knows what came of it: retake was ended meanwhile, or its end
    /// could not be recorded.
    MayHave,
    /// It ran to its end.
    Yes(CallOutcome),
}

/// What came of carrying out a call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CallOutcome {
    /// What the model will read; never empty where it is an error.
    pub output: String,
    /// Whether that reports an error.
    pub is_error: bool,
    /// Why the tool did not do what it was called for, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<CallFailure>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub ms: u64,
}

impl CallOutcome {
    /// An error, at once.
    pub fn failed(failure: CallFailure, output: String) -> Self {
        Self {
            output,
            is_error: true,
            failure: Some(failure),
            ms: 0,
        }
    }
}

/// A complete reply of the model, without its items.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReplySummary {
    /// The ids of its calls, in order.
    pub calls: Vec<String>,
    #[serde(default)]
    pub usage: Usage,
    /// Milliseconds until its first byte.
    pub first_ms: u64,
    /// Milliseconds until it was whole.
    pub total_ms: u64,
    /// Whether the stream reached its end.
    pub ended: bool,
    /// Why it ended, in the provider's word: `length`, `refusal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
}

/// The side effects of a run, by request and by call.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    asks: BTreeMap<Ask, ModelRequest>,
    runs: HashMap<CallKey, Vec<Execution>>,
    usage: Usage,
    endings: BTreeMap<TakeId, Ending>,
    approved: Vec<String>,
    begun: BTreeSet<TakeId>,
    growths: HashMap<(TakeId, u32), GrowthSource>,
    breakers: BTreeMap<String, String>,
    failed: HashMap<CallKey, (Option<CallFailure>, String)>,
    supplied: HashSet<CallKey>,
    rejected: HashSet<CallKey>,
    began: Option<u64>,
    /// When tools ran; those that have not ended have no end.
    tool_times: HashMap<CallKey, (u64, Option<u64>)>,
}

/// The state of a run when its journal was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunState {
    /// How it ended; `None` where it has not, or went on.
    pub ending: Option<Ending>,
    /// The state of each breaker that ever changed, by tool: `closed`, `open`, `half-open`.
    pub breakers: BTreeMap<String, String>,
    /// What came of each call of its replies, by call id. What the operator answered in person is left out.
    pub results: BTreeMap<String, CallResult>,
    /// What its replies took, by the index of their last item; of those that a take has changed nothing is known.
    pub replies: BTreeMap<u32, ReplyCost>,
    /// The calls that were rejected, or whose output a take wrote, by call id.
    pub answered: BTreeSet<String>,
    /// When it began, in milliseconds since 1970.
    pub began: Option<u64>,
    /// When tools ran, by call id.
    pub tool_runs: BTreeMap<String, ToolRun>,
}

/// What a reply of a run took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplyCost {
    pub usage: Usage,
    /// Milliseconds until it was whole.
    pub took: u64,
    /// When that was, in milliseconds since 1970.
    pub at: Option<u64>,
}

/// What came of a call of a run, whatever the history says since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallResult {
    /// The tool was never called: an answer in the history is a policy's or an action's.
    NotRun,
    /// The tool ran, and reported no error.
    Ran,
    Failed {
        /// Why, where that is known.
        failure: Option<CallFailure>,
        /// How its output began.
        text: String,
    },
}

/// What a take grew by in one step, where that makes a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrowthSource {
    /// A reply of the model.
    Reply {
        /// Whether its stream reached the end.
        ended: bool,
        /// Why it ended, in the provider's word.
        stop: Option<String>,
        cost: ReplyCost,
    },
    /// The output that the operator gave a call, or with which he rejected it.
    Operator,
    /// An output that reports an error.
    Error {
        call_id: String,
        /// Why the call failed, where that is known.
        failure: Option<CallFailure>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelRequest {
    /// The take that sent it.
    pub take: TakeId,
    /// How often it was tried.
    pub attempts: u32,
    /// `None` while there is no reply.
    pub reply: Option<ReplySummary>,
    /// The provider's message, where it refused the request for its contents.
    pub refusal: Option<String>,
    /// The ids of the calls, to look one up.
    ids: HashSet<String>,
}

/// One execution of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Execution {
    arguments: ContentDigest,
    ran: ExecutionStatus,
}

impl Ledger {
    pub fn apply(&mut self, event: &LedgerEvent) {
        match event {
            LedgerEvent::Asked {
                ask, take, attempt, ..
            } => {
                self.endings.remove(take);
                let request = self.asks.entry(*ask).or_insert_with(|| ModelRequest {
                    take: *take,
                    ..ModelRequest::default()
                });
                request.attempts = request.attempts.max(*attempt);
            }
            LedgerEvent::Replied { ask, reply, .. } => {
                self.usage.add(&reply.usage);
                if let Some(request) = self.asks.get_mut(ask) {
                    request.ids = reply.calls.iter().cloned().collect();
                    request.reply = Some(reply.clone());
                    request.refusal = None;
                }
            }
            LedgerEvent::NotReplied {
                ask, status, why, ..
            } => {
                let is_refusal = status.is_some_and(|status| REFUSALS.contains(&status));
                if let Some(request) = self.asks.get_mut(ask) {
                    request.refusal = is_refusal.then(|| why.clone());
                }
            }
            LedgerEvent::Started {
                call, arguments, ..
            } => self.note_run(call, *arguments, ExecutionStatus::MayHave),
            LedgerEvent::Finished {
                call,
                arguments,
                outcome,
                ..
            } => self.note_run(call, *arguments, ExecutionStatus::Yes(outcome.clone())),
            LedgerEvent::Ended { take, how } => {
                self.endings.insert(*take, how.clone());
            }
            LedgerEvent::ApprovedAlways { tool } => self.approved.push(tool.clone()),
            LedgerEvent::Began { take, .. } => {
                self.begun.insert(*take);
            }
            LedgerEvent::Breaker { tool, state, .. } => {
                self.breakers.insert(tool.clone(), state.clone());
            }
            LedgerEvent::Failed {
                call,
                failure,
                text,
                ..
            } => {
                self.failed.insert(call.clone(), (*failure, text.clone()));
            }
            LedgerEvent::Decided {
                call: Some(call),
                action,
                by: Author::Operator,
                ..
            } if GIVES_AN_OUTPUT.contains(&action.as_str()) => {
                self.supplied.insert(call.clone());
                if action == "reject" {
                    self.rejected.insert(call.clone());
                }
            }
            LedgerEvent::Decided { .. }
            | LedgerEvent::Refused { .. }
            | LedgerEvent::Breakpoints { .. }
            | LedgerEvent::Paused { .. } => {}
        }
    }

    /// Applies an event that happened with these takes at a time in milliseconds since 1970, 0 where none is known:
    /// what it brings is the next growth of its take.
    pub fn apply_beside(&mut self, event: &LedgerEvent, takes: &Takes, time: u64) {
        self.apply(event);
        let at = Some(time).filter(|time| *time > 0);
        self.note_time(event, at);
        let (take, by) = match event {
            LedgerEvent::Replied { take, reply, .. } => {
                let (ended, stop) = (reply.ended, reply.stop.clone());
                let cost = ReplyCost {
                    usage: reply.usage,
                    took: reply.total_ms,
                    at,
                };
                (*take, GrowthSource::Reply { ended, stop, cost })
            }
            LedgerEvent::Failed {
                take,
                call,
                failure,
                ..
            } => {
                let call_id = call.call_id.clone();
                let failure = *failure;
                (*take, GrowthSource::Error { call_id, failure })
            }
            LedgerEvent::Decided {
                take,
                call: Some(_),
                action,
                by: Author::Operator,
                ..
            } if GIVES_AN_OUTPUT.contains(&action.as_str()) => (*take, GrowthSource::Operator),
            _ => return,
        };
        self.growths.insert((take, takes.growth(take)), by);
    }

    fn note_time(&mut self, event: &LedgerEvent, at: Option<u64>) {
        match (event, at) {
            (LedgerEvent::Began { .. }, _) => self.began = self.began.or(at),
            (LedgerEvent::Started { call, .. }, Some(at)) => {
                self.tool_times.insert(call.clone(), (at, None));
            }
            (LedgerEvent::Finished { call, .. }, Some(_)) => {
                if let Some((_, end)) = self.tool_times.get_mut(call) {
                    *end = at;
                }
            }
            _ => {}
        }
    }

    /// What a take grew by in a step, from 0; `None` where that is an output of a tool, or nothing
    /// is known of it.
    pub fn grown_by(&self, take: TakeId, step: u32) -> Option<&GrowthSource> {
        self.growths.get(&(take, step))
    }

    fn note_run(&mut self, call: &CallKey, arguments: ContentDigest, ran: ExecutionStatus) {
        let runs = self.runs.entry(call.clone()).or_default();
        match runs.iter_mut().find(|run| run.arguments == arguments) {
            Some(run) => run.ran = ran,
            None => runs.push(Execution { arguments, ran }),
        }
    }

    /// The number for the next request.
    pub fn next_ask(&self) -> Ask {
        let last = self.asks.keys().next_back();
        last.map_or(Ask(1), |Ask(number)| Ask(number.saturating_add(1)))
    }

    pub fn request(&self, ask: Ask) -> Option<&ModelRequest> {
        self.asks.get(&ask)
    }

    /// Every request with its number, in order.
    pub fn asks(&self) -> impl Iterator<Item = (Ask, &ModelRequest)> {
        self.asks.iter().map(|(ask, request)| (*ask, request))
    }

    /// The provider's message to the last request of a take, where it refused that for its contents.
    pub fn refusal(&self, take: TakeId) -> Option<&str> {
        let mut asks = self.asks.values().rev();
        asks.find(|request| request.take == take)?
            .refusal
            .as_deref()
    }

    /// How a call of this id, seen from a take, is known: by the last request of the takes that lead there
    /// whose reply has such a call. `line` is those takes ([`super::takes::Takes::line`]).
    pub fn key(&self, call_id: &str, line: &[TakeId]) -> CallKey {
        let made =
            |request: &ModelRequest| request.ids.contains(call_id) && line.contains(&request.take);
        let ask = self.asks.iter().rev().find(|(_, request)| made(request));
        CallKey {
            ask: ask.map_or(Ask::default(), |(ask, _)| *ask),
            call_id: call_id.to_owned(),
        }
    }

    /// Whether a call ran with arguments of this digest ([`LedgerEvent::digest`]).
    pub fn ran(&self, call: &CallKey, arguments: ContentDigest) -> ExecutionStatus {
        let runs = self.runs.get(call).into_iter().flatten();
        let mut same = runs.filter(|run| run.arguments == arguments);
        same.next()
            .map_or(ExecutionStatus::No, |run| run.ran.clone())
    }

    /// Whether a call ever started, with whatever arguments.
    pub fn has_started(&self, call: &CallKey) -> bool {
        self.runs.contains_key(call)
    }

    /// Tokens of all replies.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// How a take ended; `None` where the run has not, or went on.
    pub fn ending(&self, take: TakeId) -> Option<&Ending> {
        self.endings.get(&take)
    }

    /// The state of a take's run. `line` is the takes that lead to it ([`super::takes::Takes::line`]).
    pub fn state(&self, line: &[TakeId]) -> RunState {
        let take = line.last().copied().unwrap_or(TakeId::MAIN);
        let asks = self
            .asks
            .iter()
            .filter(|(_, request)| line.contains(&request.take));
        let calls = asks.flat_map(|(ask, request)| {
            let ids = request.reply.iter().flat_map(|reply| &reply.calls);
            ids.map(|id| CallKey {
                ask: *ask,
                call_id: id.clone(),
            })
        });
        let calls: Vec<CallKey> = calls.collect();
        let rejected = calls.iter().filter(|call| self.rejected.contains(call));
        let rejected = rejected.map(|call| call.call_id.clone()).collect();
        let results = calls.iter();
        let results = results.filter_map(|call| Some((call.call_id.clone(), self.result(call)?)));
        let tool_runs = calls.iter().filter_map(|call| {
            let (start, end) = *self.tool_times.get(call)?;
            Some((call.call_id.clone(), ToolRun { start, end: end? }))
        });
        RunState {
            ending: self.ending(take).cloned(),
            breakers: self.breakers.clone(),
            results: results.collect(),
            replies: BTreeMap::new(),
            answered: rejected,
            began: self.began,
            tool_runs: tool_runs.collect(),
        }
    }

    /// What came of a call; `None` where the operator gave its output.
    fn result(&self, call: &CallKey) -> Option<CallResult> {
        if self.supplied.contains(call) {
            return None;
        }
        let Some((failure, text)) = self.failed.get(call) else {
            return Some(match self.has_started(call) {
                true => CallResult::Ran,
                false => CallResult::NotRun,
            });
        };
        let runs = self.runs.get(call).into_iter().flatten();
        let mut outputs = runs.filter_map(|run| match &run.ran {
            ExecutionStatus::Yes(outcome) => {
                Some(outcome.output.chars().take(MOST_OF_A_FAILURE).collect())
            }
            ExecutionStatus::No | ExecutionStatus::MayHave => None,
        });
        Some(CallResult::Failed {
            failure: *failure,
            text: outputs.next_back().unwrap_or_else(|| text.clone()),
        })
    }

    /// Whether a take belongs to a run: one began in it, or in one that it was made of. `line`
    /// is those takes ([`super::takes::Takes::line`]).
    pub fn is_driven(&self, line: &[TakeId]) -> bool {
        line.iter().any(|take| self.begun.contains(take))
    }
}

// What can be entered in the ledger.

/// A request to the model by its number, from 1; 0 means anything recorded before.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Ask(pub u32);

/// A call as the world knows it, in whatever take it is seen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallKey {
    /// The question whose reply made it.
    pub ask: Ask,
    pub call_id: String,
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of reply {}", self.call_id, self.ask.0)
    }
}

/// Tokens, as the provider counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    #[serde(default)]
    pub input: u64,
    /// What was answered, reasoning included.
    #[serde(default)]
    pub output: u64,
}

impl Usage {
    /// Adds the tokens of another reply.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
    }
}

/// Why a tool did not do what it was called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum CallFailure {
    /// It took too long.
    Timeout,
    /// What runs it cannot be reached, or went away.
    Connection,
    /// It is not allowed.
    Permission,
    /// It reported that it failed: an exit code, an error result.
    Reported,
    /// It was stopped by the operator.
    Stopped,
    /// It was not run: its breaker is open.
    SwitchedOff,
    Unknown,
}

impl CallFailure {
    /// Whether the same call may succeed a moment later.
    pub fn is_recoverable(self) -> bool {
        matches!(self, Self::Timeout | Self::Connection)
    }

    /// The word for it in reports.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum Ending {
    /// The model gave its final message.
    Final,
    /// A fallback was accepted as the result.
    Fallback,
    /// What the history ends on went to the agent, or to its provider, which go on with it.
    HandedOver,
    /// It used up its turns.
    TurnLimit { turns: u32 },
    /// The operator ended it.
    Aborted,
    /// A policy failed the run.
    Raised { rule: String },
    /// A request to the model failed.
    ModelFailed { why: String },
    /// Somebody has to decide, and nobody is there.
    Unattended {
        /// What is to be decided.
        why: String,
    },
}

/// One entry of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum LedgerEvent {
    /// A run began, or went on after retake was started again.
    Began {
        /// The take that it drives.
        take: TakeId,
        /// What the agent is called.
        agent: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        file: String,
        model: String,
        /// Whether the model is a script.
        scripted: bool,
    },
    /// A request goes to the model.
    Asked {
        ask: Ask,
        /// The take whose history is sent.
        take: TakeId,
        attempt: u32,
    },
    /// An attempt brought no reply.
    NotReplied {
        ask: Ask,
        attempt: u32,
        /// HTTP status, where there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        why: String,
        /// Milliseconds until it is tried again; `None` where it is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again_in_ms: Option<u64>,
    },
    Replied {
        ask: Ask,
        /// The take that the reply belongs to.
        take: TakeId,
        #[serde(flatten)]
        reply: ReplySummary,
    },
    /// Somebody decided about a call or a finding.
    Decided {
        /// The take in which it was decided.
        take: TakeId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallKey>,
        /// Id of the rule, where a finding was decided about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// What was decided: an action's id, `approve`, `reject`, `release`, `run-again`.
        action: String,
        by: Author,
        /// Name of the wording.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wording: Option<String>,
        /// The arguments as the model proposed them, where other ones run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proposed: Option<String>,
        /// The arguments that run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effective: Option<String>,
    },
    /// What a policy decided could not be done.
    Refused {
        /// The take in which it was decided.
        take: TakeId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallKey>,
        /// Id of the rule.
        rule: String,
        /// Id of the action.
        action: String,
        /// Why it could not be done.
        why: String,
    },
    /// The operator approved every later call of a tool.
    ApprovedAlways { tool: String },
    /// A call is about to be carried out. This is on the disk before anything starts.
    Started {
        call: CallKey,
        /// The take that runs it.
        take: TakeId,
        tool: String,
        /// Digest of the tool and the arguments ([`LedgerEvent::digest`]).
        arguments: ContentDigest,
        attempt: u32,
    },
    /// An attempt to carry out a call ended.
    Finished {
        call: CallKey,
        /// The take that ran it.
        take: TakeId,
        tool: String,
        /// Digest of the tool and the arguments.
        arguments: ContentDigest,
        attempt: u32,
        #[serde(flatten)]
        outcome: CallOutcome,
    },
    /// The output that a call is given next reports an error; not every dialect has a mark for that.
    Failed {
        /// The take that grows by the output.
        take: TakeId,
        call: CallKey,
        tool: String,
        /// Why it failed, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<CallFailure>,
        /// The first line of the output, shortened.
        text: String,
    },
    /// A circuit breaker changed its state.
    Breaker {
        tool: String,
        state: String,
        errors: u32,
    },
    /// Other breakpoints hold from now on, each as the operator writes it.
    Breakpoints {
        places: Vec<String>,
        /// Those that are switched off.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        off: Vec<String>,
    },
    /// The run waits for a decision.
    Paused {
        take: TakeId,
        /// Why, in a few words.
        why: String,
    },
    Ended {
        take: TakeId,
        #[serde(flatten)]
        how: Ending,
    },
}

impl LedgerEvent {
    /// The word in `type` of each, by which a journal tells them from the changes of the tree of takes.
    pub const TYPES: [&'static str; 14] = [
        "began",
        "asked",
        "not-replied",
        "replied",
        "decided",
        "refused",
        "approved-always",
        "started",
        "finished",
        "failed",
        "breaker",
        "breakpoints",
        "paused",
        "ended",
    ];

    /// What tells executions of one call apart: the tool and the arguments that ran, which the
    /// operator may have changed.
    pub fn digest(tool: &str, arguments: &str) -> ContentDigest {
        ContentDigest::of(format!("{tool}\n{arguments}").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(ask: u32, call_id: &str) -> CallKey {
        CallKey {
            ask: Ask(ask),
            call_id: call_id.to_owned(),
        }
    }

    fn asked(ask: u32, take: u32, calls: &[&str]) -> [LedgerEvent; 2] {
        let (ask, take) = (Ask(ask), TakeId(take));
        [
            LedgerEvent::Asked {
                ask,
                take,
                attempt: 1,
            },
            LedgerEvent::Replied {
                ask,
                take,
                reply: ReplySummary {
                    calls: calls.iter().map(|id| (*id).to_owned()).collect(),
                    ended: true,
                    ..ReplySummary::default()
                },
            },
        ]
    }

    #[test]
    fn a_call_is_identified_by_its_request_from_every_later_take() {
        let mut ledger = Ledger::default();
        // Take 1 asked; take 2 took the reply back and asked again, and the model used the same id.
        for event in asked(1, 1, &["call_1"])
            .iter()
            .chain(&asked(2, 2, &["call_1"]))
        {
            ledger.apply(event);
        }
        assert_eq!(ledger.key("call_1", &[TakeId(1)]), key(1, "call_1"));
        assert_eq!(
            ledger.key("call_1", &[TakeId(1), TakeId(2)]),
            key(2, "call_1")
        );
        assert_eq!(
            ledger.key("call_1", &[TakeId(1), TakeId(3)]),
            key(1, "call_1")
        );
        assert_eq!(ledger.key("recorded", &[TakeId(1)]), key(0, "recorded"));
        assert_eq!(ledger.next_ask(), Ask(3));
    }

    #[test]
    fn a_call_that_started_and_never_ended_may_have_run() {
        let mut ledger = Ledger::default();
        let call = key(1, "a");
        let arguments = LedgerEvent::digest("pay", "{}");
        assert_eq!(ledger.ran(&call, arguments), ExecutionStatus::No);
        ledger.apply(&LedgerEvent::Started {
            call: call.clone(),
            take: TakeId(1),
            tool: "pay".to_owned(),
            arguments,
            attempt: 1,
        });
        assert_eq!(ledger.ran(&call, arguments), ExecutionStatus::MayHave);
        assert_eq!(
            ledger.ran(&call, LedgerEvent::digest("pay", "{\"n\":1}")),
            ExecutionStatus::No
        );
        let outcome = CallOutcome {
            output: "paid".to_owned(),
            ms: 3,
            ..CallOutcome::default()
        };
        ledger.apply(&LedgerEvent::Finished {
            call: call.clone(),
            take: TakeId(1),
            tool: "pay".to_owned(),
            arguments,
            attempt: 1,
            outcome: outcome.clone(),
        });
        let paid = ExecutionStatus::Yes(outcome);
        assert_eq!(ledger.ran(&call, arguments), paid);
    }
}
