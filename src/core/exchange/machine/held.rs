//! What is held: kept alive, decided, given up.

use super::{
    Exchange, ExchangeEffect, ExchangeTimer, Held, HoldDecision, Millis, Over, ReplyHead, STALL,
    State, What, stalled,
};
use crate::exchange::client::{Hears, InProgress, counts_events, heartbeat, interval_ms, until_ms};
use crate::exchange::rewrite::continuation;
use crate::exchange::{AgentHas, ExchangeEnding};
use crate::session::ledger::Usage;
use serde_json::Value;

/// So long a retry of a client that has left is waited for.
const RETRY: Millis = 30_000;

impl Exchange {
    pub(crate) fn hold(&mut self, now: Millis, what: What, why: String) {
        let is_request = !matches!(what, What::Reply { .. });
        self.state = State::Held {
            since: now,
            is_request,
            asks_again: false,
        };
        (self.waits_since, self.beat_at) = (now, now);
        let turn = self.sent_turn();
        self.has = AgentHas {
            is_begun: !turn.is_empty(),
            text: turn.iter().any(|element| has_text(element)),
            calls: self.sent_calls(),
        };
        self.why = Some(why.clone());
        let until = self.until(is_request);
        self.effects
            .push(ExchangeEffect::Hold(Held { what, why, until }));
    }

    /// When the timers of a hold, or of words that are kept back, are to ring: they follow from its state,
    /// whatever has happened before.
    fn timers(&self) -> [(ExchangeTimer, Option<Millis>); 2] {
        let (beat, deadline) = match (self.state, self.gone_since) {
            (State::Held { .. }, Some(since)) => (None, Some(since + RETRY)),
            (State::Held { is_request, .. }, None) => {
                let beat = self.beat_at + interval_ms(&self.settings.client);
                (Some(beat), self.until(is_request))
            }
            _ if self.keeps_text_back() => {
                let beat = self.beat_at + interval_ms(&self.settings.client);
                (Some(beat), None)
            }
            _ => (None, None),
        };
        [
            (ExchangeTimer::Beat, beat),
            (ExchangeTimer::Deadline, deadline),
        ]
    }

    /// Says when the timers are to ring, where that has changed. One that is set and no longer
    /// wanted rings in vain.
    pub(crate) fn arm(&mut self) {
        for (place, (timer, at)) in self.timers().into_iter().enumerate() {
            if let Some(at) = at.filter(|_| at != self.armed[place]) {
                self.wait(timer, at);
            }
            self.armed[place] = at;
        }
    }

    /// When the client would give up, short of which it is released.
    pub(crate) fn until(&self, is_request: bool) -> Option<Millis> {
        let client = &self.settings.client;
        let has_event = self
            .gate
            .as_ref()
            .is_some_and(|gate| gate.in_progress().is_some());
        let hears = match (is_request, self.settings.streams) {
            // A whole reply has no head before its status is known.
            (true, false) => Hears::NoHead,
            (_, true) if counts_events(client) && !has_event => Hears::Silence,
            _ => Hears::Heartbeats,
        };
        until_ms(client, hears, self.waits_since)
    }

    fn is_held(&self) -> bool {
        matches!(self.state, State::Held { .. })
    }

    /// A timer fired: what is due follows from the current state.
    pub(crate) fn rang(&mut self, now: Millis, timer: ExchangeTimer) {
        let [(_, beat), (_, deadline)] = self.timers();
        let is_up = |at: Option<Millis>| at.is_some_and(|at| at <= now);
        match timer {
            ExchangeTimer::Beat if is_up(beat) => {
                self.beat();
                self.beat_at = now;
            }
            ExchangeTimer::Deadline if is_up(deadline) && self.is_gone() => {
                self.leave("the client has left");
                self.end(ExchangeEnding::ClientLeft);
            }
            ExchangeTimer::Deadline if is_up(deadline) => {
                let by = "the client would have given up".to_owned();
                self.leave(&by);
                self.decided(now, HoldDecision::AsItCame { by });
            }
            // It rang early: the clock that it was set by is another one.
            ExchangeTimer::Beat => self.armed[0] = None,
            ExchangeTimer::Deadline => self.armed[1] = None,
            ExchangeTimer::Stall if self.wants_upstream() || self.state == State::Waiting => {
                self.effects.push(ExchangeEffect::Note(stalled()));
                // A reply that goes on in silence is reported again, but seldom.
                self.wait(ExchangeTimer::Stall, now + 4 * STALL);
            }
            _ => {}
        }
    }

    /// The client hears something that means nothing to it.
    fn beat(&mut self) {
        if self.head.is_none() {
            match (&self.state, self.settings.streams) {
                (_, true) => self.send_head(ReplyHead::Stream),
                (
                    State::Held {
                        is_request: false, ..
                    },
                    false,
                ) if self.over.is_some() && (200..300).contains(&self.status) => {
                    self.send_head(ReplyHead::Upstream);
                }
                // Before the status is known a whole reply has no head to send.
                _ => return,
            }
        }
        let gate = self.gate.as_ref();
        let gate = gate.filter(|_| counts_events(&self.settings.client));
        let last = gate.and_then(|gate| {
            let data = gate.in_progress()?;
            let sequence = gate.next_number();
            Some(InProgress { data, sequence })
        });
        let is_numbered = last.is_some() && self.settings.dialect.facts().numbers_events;
        let settings = &self.settings;
        let beat = heartbeat(settings.dialect, &settings.client, settings.streams, last);
        if let (true, Some(gate)) = (is_numbered, &mut self.gate) {
            gate.inserted(1);
        }
        self.send(beat);
    }

    pub(crate) fn client_left(&mut self, now: Millis) {
        match self.state {
            State::Over => {}
            _ if self.is_held() => {
                if !self.is_gone() {
                    self.gone_since = Some(now);
                    self.effects
                        .push(ExchangeEffect::Note("the client has left".to_owned()));
                }
            }
            _ => self.end(ExchangeEnding::ClientLeft),
        }
    }

    /// Before a head was sent the connection asks by itself, with an interim answer.
    pub(crate) fn client_doubted(&mut self) {
        if self.is_held() && !self.is_gone() && self.head.is_some() {
            self.beat();
        }
    }

    /// A new client begins to wait.
    pub(crate) fn client_joined(&mut self, now: Millis) {
        self.gone_since = None;
        (self.waits_since, self.beat_at) = (now, now);
    }

    fn leave(&mut self, why: &str) {
        let why = why.to_owned();
        self.effects.push(ExchangeEffect::LeaveHold { why });
    }

    /// The hold has ended.
    pub(crate) fn decided(&mut self, now: Millis, decision: HoldDecision) {
        let is_request = match self.state {
            State::Held { is_request, .. } => is_request,
            State::Over => return,
            _ if decision == HoldDecision::Cut => false,
            _ => return,
        };
        if self.is_gone() {
            // There is nobody to get it.
            return self.end(ExchangeEnding::ClientLeft);
        }
        match decision {
            HoldDecision::AsItCame { by } => {
                self.so_far = ExchangeEnding::Released { by };
                match (is_request, self.over) {
                    // The provider's refusal goes to the agent as it is.
                    (true, Some(_)) => self.give_refusal(),
                    (true, None) => self.ask(now, None),
                    (false, _) if self.gate.is_some() => self.release_stream(Over::Well),
                    (false, _) => self.pass_whole(),
                }
            }
            HoldDecision::Request(body) => {
                self.so_far = ExchangeEnding::Mended;
                self.over = None;
                self.kept.clear();
                self.ask(now, Some(body));
            }
            HoldDecision::Reply {
                elements,
                template,
                usage,
                let_pass_by,
            } => {
                self.so_far = let_pass_by
                    .map_or(ExchangeEnding::Mended, |by| ExchangeEnding::Released { by });
                self.give(&elements, &template, usage);
            }
            HoldDecision::Refused { why } => {
                self.refuse(422, &why);
                self.end(ExchangeEnding::Refused { why });
            }
            HoldDecision::Cut => self.abort(ExchangeEnding::Cut),
        }
    }

    /// The provider refused the request, and so it stays.
    pub(crate) fn give_refusal(&mut self) {
        if self.head.is_some() {
            self.fail_stream();
        } else {
            self.pass_whole();
        }
    }

    /// The client gets another turn than the provider's first one.
    fn give(&mut self, elements: &[String], template: &str, usage: Usage) {
        let dialect = self.settings.dialect;
        let json = dialect.codec().reply_with(template, elements, usage);
        if self.settings.streams {
            self.send_head(ReplyHead::Stream);
            let nothing = crate::exchange::gate::Sent::default();
            let sent = self.gate.as_ref().map_or(&nothing, |gate| gate.sent());
            let rest = continuation(dialect, sent, &json, usage, self.settings.tells_usage);
            self.send(rest);
            self.end_well();
        } else {
            self.give_whole(json.into_bytes());
            self.end(self.so_far.clone());
        }
    }
}

/// Whether an element of a turn holds words of the model: text as its content, or in a part of it.
fn has_text(element: &str) -> bool {
    let Ok(element) = serde_json::from_str::<Value>(element) else {
        return false;
    };
    let is_word = |text: &Value| text.as_str().is_some_and(|text| !text.is_empty());
    let holder = element.get("content").or(element.get("parts"));
    let is_text = match holder.unwrap_or(&Value::Null) {
        Value::Array(parts) => parts
            .iter()
            .any(|part| is_word(&part["text"]) && part["thought"] != true),
        content => is_word(content),
    };
    is_text && element["type"] != "reasoning"
}
