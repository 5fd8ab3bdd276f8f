//! What is held: kept alive, decided, given up.

use super::{Decision, Effect, Exchange, Head, Held, Millis, Over, STALL, State, Timer, What};
use crate::exchange::Ending;
use crate::exchange::deadline::{Hears, until_ms};
use crate::exchange::heartbeat::{InProgress, counts_events, heartbeat, interval_ms};
use crate::exchange::rewrite::{continuation, reply_with};
use crate::session::Dialect;
use crate::session::ledger::Usage;

/// So long a retry of a client that has left is waited for.
const RETRY: Millis = 30_000;

impl Exchange {
    /// A hold begins.
    pub(super) fn hold(&mut self, now: Millis, what: What, why: String) {
        let is_request = !matches!(what, What::Reply { .. });
        self.state = State::Held {
            since: now,
            is_request,
        };
        self.held_since = now;
        self.why = Some(why.clone());
        let until = self.until(now, is_request);
        self.effects.push(Effect::Hold(Held { what, why, until }));
        self.wait(Timer::Beat, now + interval_ms(&self.settings.client));
        if let Some(at) = until {
            self.wait(Timer::Deadline, at);
        }
    }

    /// When the client would give up, short of which it is released.
    pub(super) fn until(&self, since: Millis, is_request: bool) -> Option<Millis> {
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
        until_ms(client, hears, since)
    }

    fn is_held(&self) -> bool {
        matches!(self.state, State::Held { .. } | State::AskingAgain)
    }

    pub(super) fn rang(&mut self, now: Millis, timer: Timer) {
        match timer {
            Timer::Beat if (self.is_held() || self.keeps_text_back()) && !self.is_gone => {
                self.beat();
                self.wait(Timer::Beat, now + interval_ms(&self.settings.client));
            }
            Timer::Deadline if self.is_held() && self.is_gone => {
                self.leave("the client has left");
                self.end(Ending::ClientLeft);
            }
            Timer::Deadline if self.is_held() => {
                let by = "the client would have given up".to_owned();
                self.leave(&by);
                self.decided(now, Decision::AsItCame { by });
            }
            Timer::Stall if self.wants_upstream() || self.state == State::Waiting => {
                let words = format!("nothing has come for {} s", STALL / 1000);
                self.effects.push(Effect::Note(words));
                // A reply that goes on in silence is told of again, but seldom.
                self.wait(Timer::Stall, now + 4 * STALL);
            }
            _ => {}
        }
    }

    /// The client hears something that means nothing to it.
    fn beat(&mut self) {
        if self.head.is_none() {
            match (&self.state, self.settings.streams) {
                (_, true) => self.send_head(Head::Stream),
                (
                    State::Held {
                        is_request: false, ..
                    }
                    | State::AskingAgain,
                    false,
                ) if self.over.is_some() && (200..300).contains(&self.status) => {
                    self.send_head(Head::Upstream);
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
        let is_numbered = last.is_some() && self.settings.dialect == Dialect::Responses;
        let settings = &self.settings;
        let beat = heartbeat(settings.dialect, &settings.client, settings.streams, last);
        if let (true, Some(gate)) = (is_numbered, &mut self.gate) {
            gate.inserted(1);
        }
        self.send(beat);
    }

    pub(super) fn client_left(&mut self, now: Millis) {
        match self.state {
            State::Over => {}
            _ if self.is_held() => {
                if !self.is_gone {
                    self.is_gone = true;
                    self.effects
                        .push(Effect::Note("the client has left".to_owned()));
                    self.wait(Timer::Deadline, now + RETRY);
                }
            }
            _ => self.end(Ending::ClientLeft),
        }
    }

    /// Before a head was sent the connection asks by itself, with an interim answer.
    pub(super) fn client_doubted(&mut self) {
        if self.is_held() && !self.is_gone && self.head.is_some() {
            self.beat();
        }
    }

    pub(super) fn client_joined(&mut self, now: Millis) {
        self.is_gone = false;
        if let State::Held { is_request, .. } = self.state {
            let until = self.until(now, is_request);
            self.wait(Timer::Deadline, until.unwrap_or(Millis::MAX));
            self.wait(Timer::Beat, now + interval_ms(&self.settings.client));
        }
    }

    fn leave(&mut self, why: &str) {
        let why = why.to_owned();
        self.effects.push(Effect::LeaveHold { why });
    }

    /// The hold has ended.
    pub(super) fn decided(&mut self, now: Millis, decision: Decision) {
        let is_request = match self.state {
            State::Held { is_request, .. } => is_request,
            State::AskingAgain => false,
            _ => return,
        };
        if self.is_gone {
            // There is nobody to get it.
            return self.end(Ending::ClientLeft);
        }
        match decision {
            Decision::AsItCame { by } => {
                self.so_far = Ending::Released { by };
                match (is_request, self.over) {
                    // The provider's refusal goes to the agent as it is.
                    (true, Some(_)) => self.give_refusal(),
                    (true, None) => self.ask(now, None),
                    (false, _) if self.gate.is_some() => self.release_stream(Over::Well),
                    (false, _) => self.pass_whole(),
                }
            }
            Decision::Request(body) => {
                self.so_far = Ending::Mended;
                self.over = None;
                self.kept.clear();
                self.ask(now, Some(body));
            }
            Decision::Reply {
                elements,
                template,
                usage,
                let_pass_by,
            } => {
                self.so_far = let_pass_by.map_or(Ending::Mended, |by| Ending::Released { by });
                self.give(&elements, &template, usage);
            }
            Decision::Refused { why } => {
                self.refuse(422, &why);
                self.end(Ending::Refused { why });
            }
            Decision::Cut => self.abort(Ending::Cut),
        }
    }

    /// The provider refused the request, and so it stays.
    pub(super) fn give_refusal(&mut self) {
        if self.head.is_some() {
            self.fail_stream();
        } else {
            self.pass_whole();
        }
    }

    /// The client gets another turn than the provider's first one.
    fn give(&mut self, elements: &[String], template: &str, usage: Usage) {
        let dialect = self.settings.dialect;
        let json = reply_with(dialect, template, elements, usage);
        if self.settings.streams {
            self.send_head(Head::Stream);
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
