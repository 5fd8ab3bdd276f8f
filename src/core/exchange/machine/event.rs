//! What an exchange is told, and what it asks for.

use crate::exchange::Ending;
use crate::session::ledger::Usage;

/// Milliseconds; moments count from 1970.
pub type Millis = u64;

#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// The request was judged.
    Asked(Judgement),
    /// The head of the upstream's reply has come.
    Head {
        status: u16,
        shape: Shape,
    },
    /// Bytes of the reply.
    Bytes(&'a [u8]),
    /// The reply has ended, as far as HTTP is concerned.
    Ended,
    /// The reply broke off.
    Broke(String),
    /// There is no reply.
    NoReply(String),
    /// The reply so far was judged, as [`Effect::Judge`] wanted.
    Judged(Judgement),
    /// The hold has ended.
    Decided(Decision),
    /// The upstream is asked again, by the hold.
    AskedAgain,
    /// A decision is awaited again, after the upstream was asked again: why, in a few words.
    WaitsAgain(String),
    ClientLeft,
    /// The client has closed its sending side: it may be gone, or wait. What is written next tells.
    ClientDoubted,
    /// A retry of the same request takes the client's place: nothing was sent to it yet.
    ClientJoined,
    /// A time is up.
    Rang(Timer),
}

/// What the body of a reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
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
pub enum Decision {
    /// It passes as it came.
    AsItCame {
        /// Who said so, or why nobody was waited for.
        by: String,
    },
    /// The upstream is asked this, in place of what the agent asked.
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
pub enum Effect {
    /// The upstream is asked: with the agent's request, or with another one.
    Ask(Option<Vec<u8>>),
    /// The reply so far ([`super::Exchange::reply`]) is to be judged; [`Event::Judged`] follows.
    Judge,
    /// The head goes to the client; the body follows piece by piece.
    Head(Head),
    /// The bytes of this event go to the client as they came.
    Pass,
    /// Bytes go to the client.
    Send(Vec<u8>),
    /// The whole reply goes to the client, with its head and its length.
    Whole { head: Head, body: Vec<u8> },
    /// The reply to the client ends well.
    End,
    /// The connection to the client is broken off.
    Abort,
    /// A hold begins; [`Event::Decided`] follows.
    Hold(Held),
    /// The hold has lost its client or its time: it is to be closed.
    LeaveHold { why: String },
    /// [`Event::Rang`] is to come at this moment; a timer that was set before is set anew.
    Wait { timer: Timer, at: Millis },
    /// The operator should know this.
    Note(String),
    /// The exchange is over.
    Ended(Ending),
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
pub enum Head {
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
pub enum Timer {
    /// The client is to hear something.
    Beat,
    /// The client will give up soon.
    Deadline,
    /// Nothing has come from the upstream for long.
    Stall,
}
