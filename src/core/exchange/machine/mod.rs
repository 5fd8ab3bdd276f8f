//! The machine of one exchange: events of the wire in, what to send on it out.
//!
//! | while | an event | what is done |
//! |---|---|---|
//! | the request is looked at | it is sound | the request goes to the upstream |
//! | | it holds | a hold begins; the upstream hears nothing |
//! | the upstream has the request | a stream begins | the head goes on, and what is not a call |
//! | | a whole reply begins | it is kept until it was judged |
//! | | the provider refuses the request | a hold begins, to fix it and send it again |
//! | | anything else | it passes as it comes |
//! | the reply comes | a call is complete | the reply so far is judged; sound, the call flows on; otherwise everything after it is kept |
//! | | it ends, and something holds | a hold begins |
//! | | it breaks off | what was kept goes on, and the client's connection is broken off as well |
//! | it is held | a beat is due | the client hears what its SDK ignores |
//! | | the client will give up soon | it passes as it came |
//! | | the client leaves | a retry of it is waited for, a while |
//! | | it is decided | the client gets what was decided |
//! | anything else | the operator cuts it | the client's connection is broken off |
//!
//! Whoever drives it keeps three promises: effects are carried out in their order before the next event; each
//! [`ExchangeEffect::Judge`] is followed by one [`Event::Judged`], each [`ExchangeEffect::Hold`] by one
//! [`Event::Decided`] at most (a cut may come at any time); nothing is handed in after [`ExchangeEffect::Ended`].
//! It keeps one: the client's stream never ends well unless its reply did, or somebody decided so.

use super::client::Client;
use super::gate::Gate;
use super::{AgentHas, ExchangeEnding, ExchangePhase, Holding};
use crate::session::Dialect;
use crate::session::ledger::Usage;
use crate::wire::stream::rejoin;
use crate::wire::write::history_of;

mod held;
mod reply;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;

/// The most bytes of a whole reply that are kept to be judged; a longer one passes as it comes.
const WHOLE: usize = 16 * 1024 * 1024;
/// The most bytes of a refusal.
const REFUSAL: usize = 1024 * 1024;
/// After so long without a byte a reply counts as stalled.
pub const STALL: Millis = 15_000;

/// The note about it.
pub fn stalled() -> String {
    format!("nothing has come for {} s", STALL / 1000)
}

/// What an exchange is about.
#[derive(Debug, Clone)]
pub struct ExchangeSettings {
    pub dialect: Dialect,
    pub client: Client,
    /// Whether the request asks for a stream.
    pub streams: bool,
    /// Whether the request says what shape the final message has: a reply without calls is judged, too.
    pub has_output_schema: bool,
    /// Whether words are judged like calls, for which those of a stream are kept back to its end:
    /// they may be replaced.
    pub holds_text: bool,
    /// Whether the client wants a Chat stream to report the tokens.
    pub tells_usage: bool,
    /// Whether anything is held at all.
    pub intercepts: bool,
}

#[derive(Debug)]
pub struct Exchange {
    settings: ExchangeSettings,
    state: State,
    status: u16,
    /// Whether a head has gone to the client.
    head: Option<ReplyHead>,
    /// A streamed reply whose calls are kept back.
    gate: Option<Gate>,
    /// A reply that is kept whole.
    kept: Vec<u8>,
    judging: Judging,
    /// How the reply ended, where it has.
    over: Option<Over>,
    /// Why the reply is to be held at its end.
    why: Option<String>,
    /// How it will have ended: by a decision, where there was one.
    so_far: ExchangeEnding,
    /// Since when the client is gone, where a retry of it may come.
    gone_since: Option<Millis>,
    /// Since when the client that is there waits for what is held.
    waits_since: Millis,
    /// What the agent has of the reply that is held.
    has: AgentHas,
    /// When the client that is there heard of what is held last, or began to wait for it.
    beat_at: Millis,
    /// When the timers of a hold are set to fire.
    armed: [Option<Millis>; 2],
    effects: Vec<ExchangeEffect>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The request is looked at.
    Asking,
    /// The request is at the upstream.
    Waiting,
    Passing,
    /// A stream passes through the gate.
    Gated,
    /// A whole reply is kept.
    Keeping,
    /// A refusal of the request is kept.
    Refused,
    /// An error came although a stream was begun.
    Failed,
    /// A decision is awaited.
    Held {
        since: Millis,
        is_request: bool,
        /// Whether the hold asks the upstream again meanwhile.
        asks_again: bool,
    },
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judging {
    No,
    Yes,
    /// More has come since its judgement was requested.
    Stale,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Well,
    /// In order, but before the reply was complete.
    Short,
    Broken,
}

impl Exchange {
    /// An exchange whose request has come, and is being judged.
    pub fn new(settings: ExchangeSettings) -> Self {
        Self {
            settings,
            state: State::Asking,
            status: 0,
            head: None,
            gate: None,
            kept: Vec::new(),
            judging: Judging::No,
            over: None,
            why: None,
            so_far: ExchangeEnding::Passed,
            gone_since: None,
            waits_since: 0,
            has: AgentHas::default(),
            beat_at: 0,
            armed: [None; 2],
            effects: Vec::new(),
        }
    }

    /// What is to be done about an event.
    pub fn handle(&mut self, now: Millis, event: Event<'_>) -> Vec<ExchangeEffect> {
        match event {
            Event::Asked(judgement) => self.request_judged(now, judgement),
            Event::Head { status, shape } => self.begins(now, status, shape),
            Event::Bytes(bytes) => self.grows(now, bytes),
            Event::Ended => self.ended(now),
            Event::Broke(why) => self.broke(&why),
            Event::NoReply(why) => self.no_reply(why),
            Event::Judged(judgement) => self.judged(now, judgement),
            Event::Decided(decision) => self.decided(now, decision),
            Event::AskedAgain => {
                if let State::Held { asks_again, .. } = &mut self.state {
                    *asks_again = true;
                }
            }
            Event::WaitsAgain(why) => {
                if let State::Held { asks_again, .. } = &mut self.state {
                    *asks_again = false;
                    self.why = Some(why);
                }
            }
            Event::ClientLeft => self.client_left(now),
            Event::ClientDoubted => self.client_doubted(),
            Event::ClientJoined => self.client_joined(now),
            Event::Rang(timer) => self.rang(now, timer),
        }
        self.arm();
        std::mem::take(&mut self.effects)
    }

    /// The reply so far as one JSON document of its dialect; `None` where there is nothing to be judged.
    pub fn reply(&self) -> Option<String> {
        match &self.gate {
            Some(gate) => gate.reply(),
            None => String::from_utf8(self.kept.clone()).ok(),
        }
    }

    /// What it is doing. What holds, and since when, is reported with [`ExchangeEffect::Hold`].
    pub fn phase(&self) -> ExchangePhase {
        match self.state {
            State::Asking => ExchangePhase::Asking,
            State::Waiting => ExchangePhase::Waiting,
            State::Passing | State::Gated | State::Keeping | State::Refused | State::Failed => {
                ExchangePhase::Replying
            }
            State::Held {
                since,
                is_request,
                asks_again,
            } => {
                let holding = Holding {
                    is_request,
                    since_ms: since,
                    until_ms: self.until(is_request),
                    why: self.why.clone().unwrap_or_default(),
                    is_gone: self.is_gone(),
                    has: self.has.clone(),
                };
                match asks_again {
                    true => ExchangePhase::AskingAgain(holding),
                    false => ExchangePhase::Held(holding),
                }
            }
            State::Over => ExchangePhase::Ended(self.so_far.clone()),
        }
    }

    /// Whether a decision is awaited, and the upstream is not called meanwhile.
    pub fn awaits_decision(&self) -> bool {
        matches!(
            self.state,
            State::Held {
                asks_again: false,
                ..
            }
        )
    }

    /// Whether the upstream is still to be read.
    pub fn wants_upstream(&self) -> bool {
        self.over.is_none()
            && matches!(
                self.state,
                State::Passing | State::Gated | State::Keeping | State::Refused | State::Failed
            )
    }

    /// Whether the reply has come to its end, or to its end mark.
    pub fn has_ended(&self) -> bool {
        self.over.is_some() || self.gate.as_ref().is_some_and(Gate::is_marked)
    }

    /// Whether the client of what is held has left.
    pub fn is_gone(&self) -> bool {
        self.gone_since.is_some()
    }

    /// Whether the reply is looked at as it comes, so that it should come as it is.
    pub fn reads_reply(&self) -> bool {
        self.settings.intercepts
    }

    /// What the client has of the turn already, as elements of the dialect's list.
    pub fn sent_turn(&self) -> Vec<String> {
        let dialect = self.settings.dialect;
        let mut reply = dialect.codec().decoder();
        for (_, event) in self.sent_events() {
            reply.push(&event);
        }
        // Where no word of a reply was sent there is no turn to begin with.
        let json = reply.finish().json;
        history_of(dialect, &rejoin(&json)).unwrap_or_default()
    }

    /// What the client has of the turn that is held.
    pub fn agent_has(&self) -> &AgentHas {
        &self.has
    }

    /// The ids of the calls that the client has of the turn already.
    pub fn sent_calls(&self) -> Vec<String> {
        let mut reply = self.settings.dialect.codec().decoder();
        for (_, event) in self.sent_events() {
            reply.push(&event);
        }
        let calls = reply.calls();
        calls.into_iter().map(|call| call.id.to_owned()).collect()
    }

    fn sent_events(&self) -> impl Iterator<Item = (String, serde_json::Value)> {
        self.gate.iter().flat_map(|gate| gate.sent().events())
    }

    fn request_judged(&mut self, now: Millis, judgement: Judgement) {
        match judgement {
            Judgement::Holds { why } if self.settings.intercepts => {
                self.hold(now, What::Request, why);
            }
            _ => self.ask(now, None),
        }
    }

    fn ask(&mut self, now: Millis, body: Option<Vec<u8>>) {
        self.state = State::Waiting;
        self.why = None;
        self.effects.push(ExchangeEffect::Ask(body));
        self.wait(ExchangeTimer::Stall, now + STALL);
    }

    fn no_reply(&mut self, why: String) {
        if self.state == State::Over {
            return;
        }
        self.refuse(502, &why);
        self.end(ExchangeEnding::NoReply { why });
    }

    fn wait(&mut self, timer: ExchangeTimer, at: Millis) {
        self.effects.push(ExchangeEffect::Wait { timer, at });
    }

    fn send(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.effects.push(ExchangeEffect::Send(bytes));
        }
    }

    fn send_head(&mut self, head: ReplyHead) {
        if self.head.is_none() {
            self.head = Some(head);
            self.effects.push(ExchangeEffect::Head(head));
        }
    }

    fn end(&mut self, how: ExchangeEnding) {
        if self.state != State::Over {
            self.state = State::Over;
            self.so_far = how.clone();
            self.effects.push(ExchangeEffect::Ended(how));
        }
    }

    /// The client's reply ends well.
    fn end_well(&mut self) {
        self.effects.push(ExchangeEffect::End);
        self.end(self.so_far.clone());
    }

    fn abort(&mut self, how: ExchangeEnding) {
        self.effects.push(ExchangeEffect::Abort);
        self.end(how);
    }

    /// The client gets an error of ours, as far as that is still possible.
    fn refuse(&mut self, status: u16, why: &str) {
        let dialect = self.settings.dialect;
        match self.head {
            None => {
                let body = dialect
                    .codec()
                    .error(status, why, None, "retake")
                    .to_string();
                let head = ReplyHead::Error(status);
                self.head = Some(head);
                let body = body.into_bytes();
                self.effects.push(ExchangeEffect::Whole { head, body });
            }
            Some(_) if self.settings.streams => {
                let failure = dialect.codec().failure(why);
                self.send(failure.to_wire().into_bytes());
                self.effects.push(ExchangeEffect::End);
            }
            // White space has gone out under a head of success: only a broken connection tells a failure now.
            Some(_) => self.effects.push(ExchangeEffect::Abort),
        }
    }
}

// Events of an exchange, and effects.

/// Milliseconds; moments count from 1970.
pub type Millis = u64;

#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// The request was judged.
    Asked(Judgement),
    /// The head of the upstream's reply has come.
    Head {
        status: u16,
        shape: BodyShape,
    },
    /// Bytes of the reply.
    Bytes(&'a [u8]),
    /// The reply has ended, as far as HTTP is concerned.
    Ended,
    /// The reply broke off.
    Broke(String),
    NoReply(String),
    /// The reply so far was judged, as [`ExchangeEffect::Judge`] wanted.
    Judged(Judgement),
    /// The hold has ended.
    Decided(HoldDecision),
    /// The hold calls the upstream again.
    AskedAgain,
    /// A decision is awaited again, after another call of the upstream: why, in a few words.
    WaitsAgain(String),
    ClientLeft,
    /// The client has closed its sending side: it may be gone, or wait. What is written next tells.
    ClientDoubted,
    /// A retry of the same request takes the client's place: nothing was sent to it yet.
    ClientJoined,
    /// A time is up.
    Rang(ExchangeTimer),
}

/// What the body of a reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyShape {
    Stream,
    Whole,
    /// Anything else, also what cannot be read as it is: another content type, an encoding.
    Opaque,
}

/// What was found in a request or a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// Nothing that anybody is to decide about.
    Sound,
    /// What was found may mean something else once the whole reply has come: a call that a token limit cut off.
    Unclear,
    /// Somebody is to decide.
    Holds {
        /// Why, in a few words.
        why: String,
    },
}

/// What was decided about what is held.
#[derive(Debug, Clone, PartialEq)]
pub enum HoldDecision {
    /// It passes as it came.
    AsItCame {
        /// Who decided, or why nobody was waited for.
        by: String,
    },
    /// This request goes to the upstream in place of the agent's.
    Request(Vec<u8>),
    /// The agent gets this turn.
    Reply {
        /// The elements of the turn, as a list of the dialect holds them.
        elements: Vec<String>,
        /// A whole reply of the provider, whose other members count.
        template: String,
        /// Tokens of all questions.
        usage: Usage,
        /// Who let the turn pass although something is wrong with it; `None` where nothing is.
        let_pass_by: Option<String>,
    },
    /// The agent gets an error.
    Refused { why: String },
    /// The connection to the agent is cut.
    Cut,
}

/// What is to be done, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum ExchangeEffect {
    /// A request goes to the upstream: the agent's, or another one.
    Ask(Option<Vec<u8>>),
    /// The reply so far ([`Exchange::reply`]) is to be judged; [`Event::Judged`] follows.
    Judge,
    /// The head goes to the client; the body follows piece by piece.
    Head(ReplyHead),
    /// The bytes of this event go to the client as they came.
    Pass,
    /// Bytes go to the client.
    Send(Vec<u8>),
    /// The whole reply goes to the client, with its head and its length.
    Whole {
        head: ReplyHead,
        body: Vec<u8>,
    },
    /// The reply to the client ends well.
    End,
    /// The connection to the client is broken off.
    Abort,
    /// A hold begins; [`Event::Decided`] follows.
    Hold(Held),
    /// The hold has lost its client or its time: it is to be closed.
    LeaveHold {
        why: String,
    },
    /// [`Event::Rang`] is to come at this moment; a timer that was set before is set anew.
    Wait {
        timer: ExchangeTimer,
        at: Millis,
    },
    /// The operator should know this.
    Note(String),
    Ended(ExchangeEnding),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// What is to be decided about.
    pub what: What,
    /// Why, in a few words.
    pub why: String,
    /// When it is released without a decision; `None` where the client waits as long as it hears heartbeats.
    pub until: Option<Millis>,
}

/// What is to be decided about.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// The agent's request, which has not left yet.
    Request,
    /// The agent's request, which the provider has refused.
    Refusal {
        status: u16,
        /// The body of the refusal.
        body: Vec<u8>,
    },
    Reply {
        /// The whole reply as one JSON document of its dialect.
        json: String,
        /// Whether it came to its end.
        is_whole: bool,
    },
}

/// The head of a reply to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyHead {
    /// That of the upstream, with the length that it tells: the body passes as it comes.
    Same,
    /// That of the upstream, for a body that may have another length.
    Upstream,
    /// One of ours: 200 and server-sent events, for a client that must not wait any longer in silence.
    Stream,
    /// One of ours, for an error that retake made: JSON with this status, which is not to be tried again.
    Error(u16),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExchangeTimer {
    /// The client is to hear something.
    Beat,
    /// The client will give up soon.
    Deadline,
    /// Nothing has come from the upstream for long.
    Stall,
}
