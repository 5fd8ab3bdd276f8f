//! Circuit breakers: a tool that only fails is switched off for a while.
//!
//! | state | a call | an error | a success |
//! |---|---|---|---|
//! | closed | runs | opens it, if it is one too many in a row | begins the row anew |
//! | open, until its time | is refused | is only counted | is only counted |
//! | half-open, from then on | the first one runs as the trial, others are refused | of the trial: open again | of the trial: closed |
//!
//! Calls that were under way when it opened end later: they count as calls and errors, and
//! only the trial decides.

use super::policy::{BreakerSettings, Millis};
use crate::actions::quote;
use crate::session::ledger::CallKey;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// Most characters of a tool's name in a message about it.
const NAME: usize = 200;

/// The breakers of a run, by tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Breakers(BTreeMap<String, Breaker>);

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Breaker {
    calls: u64,
    errors: u64,
    /// Errors in a row; it begins anew when it is closed.
    consecutive: u32,
    /// The text of the last error, shortened.
    #[serde(default)]
    last_error: String,
    state: BreakerPhase,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
enum BreakerPhase {
    #[default]
    Closed,
    Open {
        until: Millis,
        for_ms: Millis,
    },
    Trial {
        call: CallKey,
        for_ms: Millis,
    },
}

/// Whether a tool may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum BreakerState {
    Closed,
    Open,
    /// One call may run, or runs, to see whether the tool works again.
    HalfOpen,
}

impl BreakerState {
    /// The word for it in reports.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BreakerAdmission {
    Run,
    /// It runs, and what comes of it decides about the tool.
    Trial,
    /// It is answered at once.
    Refused {
        /// What the model will read.
        text: String,
    },
}

/// The state of a breaker changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakerChange {
    pub tool: String,
    pub state: BreakerState,
    /// Calls that ended so far.
    pub calls: u64,
    /// Those of them that ended in an error.
    pub errors: u64,
    /// Errors in a row.
    pub consecutive: u32,
    /// How many errors in a row open it.
    pub threshold: u32,
    /// How long nothing is tried; 0 where it is closed.
    pub cooldown_ms: Millis,
    /// The text of the last error, shortened; empty if there was none.
    pub last_error: String,
}

/// Where and when a breaker changed, for its webhook.
#[derive(Debug, Clone, Copy)]
pub struct BreakerEvent<'a> {
    pub agent: &'a str,
    /// The journal of the run.
    pub run: &'a str,
    /// The moment, as RFC 3339 writes it.
    pub time: &'a str,
}

impl BreakerChange {
    /// The change as the JSON object that goes to a webhook. The name of the tool and the error are
    /// text of the run.
    pub fn webhook_body(&self, happening: BreakerEvent<'_>) -> String {
        json!({
            "type": "breaker",
            "agent": happening.agent,
            "run": happening.run,
            "time": happening.time,
            "tool": shortened(&self.tool),
            "state": self.state.word(),
            "calls": self.calls,
            "errors": self.errors,
            "consecutive": self.consecutive,
            "threshold": self.threshold,
            "cooldown_ms": self.cooldown_ms,
            "last_error": self.last_error,
        })
        .to_string()
    }
}

/// The record of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolState {
    pub tool: String,
    pub calls: u64,
    /// Those of them that ended in an error.
    pub errors: u64,
    /// Errors in a row.
    pub consecutive: u32,
    /// The state of its breaker in a word.
    pub breaker: &'static str,
    /// In how many milliseconds it may be tried again, where it is open.
    pub again_in_ms: Option<Millis>,
}

impl Breakers {
    /// Whether a call of a tool may run now. The same call can be admitted again, for another attempt.
    pub fn admit(&mut self, tool: &str, call: &CallKey, now: Millis) -> BreakerAdmission {
        let Some(breaker) = self.0.get_mut(tool) else {
            return BreakerAdmission::Run;
        };
        match &breaker.state {
            BreakerPhase::Closed => BreakerAdmission::Run,
            BreakerPhase::Trial { call: trial, .. } if trial == call => BreakerAdmission::Trial,
            BreakerPhase::Open { until, for_ms } if *until <= now => {
                breaker.state = BreakerPhase::Trial {
                    call: call.clone(),
                    for_ms: *for_ms,
                };
                BreakerAdmission::Trial
            }
            BreakerPhase::Open { .. } | BreakerPhase::Trial { .. } => BreakerAdmission::Refused {
                text: refusal(tool, breaker.consecutive, &breaker.last_error),
            },
        }
    }

    /// Records the output of a failed call; call it before [`Self::ended`].
    pub fn failed(&mut self, tool: &str, output: &str) {
        let breaker = self.0.entry(tool.to_owned()).or_default();
        breaker.last_error = quote(output);
    }

    /// The text of a tool's last error, shortened.
    pub fn last_error(&self, tool: &str) -> &str {
        let breaker = self.0.get(tool);
        breaker.map_or("", |breaker| breaker.last_error.as_str())
    }

    /// A call that was admitted ended; gives the change, where it made one.
    pub fn ended(
        &mut self,
        settings: &BreakerSettings,
        tool: &str,
        call: &CallKey,
        is_error: bool,
        now: Millis,
    ) -> Option<BreakerChange> {
        let breaker = self.0.entry(tool.to_owned()).or_default();
        let before = breaker.state.clone();
        breaker.calls += 1;
        breaker.errors += u64::from(is_error);
        let in_a_row = match is_error {
            true => breaker.consecutive.saturating_add(1),
            false => 0,
        };
        let opens = match &before {
            BreakerPhase::Closed => settings.threshold > 0 && in_a_row >= settings.threshold,
            BreakerPhase::Trial { call: trial, .. } if trial == call => is_error,
            BreakerPhase::Open { .. } | BreakerPhase::Trial { .. } => return None,
        };
        breaker.consecutive = in_a_row;
        let cooldown_ms = if opens { settings.cooldown_ms } else { 0 };
        breaker.state = match opens {
            true => BreakerPhase::Open {
                until: now.saturating_add(cooldown_ms),
                for_ms: cooldown_ms,
            },
            false => BreakerPhase::Closed,
        };
        (before != breaker.state).then(|| BreakerChange {
            tool: tool.to_owned(),
            state: breaker.state(now),
            calls: breaker.calls,
            errors: breaker.errors,
            consecutive: breaker.consecutive,
            threshold: settings.threshold,
            cooldown_ms,
            last_error: breaker.last_error.clone(),
        })
    }

    /// A call that was admitted ended in a way that says nothing about its tool: the operator stopped it. A
    /// trial may be made anew.
    pub fn called_off(&mut self, tool: &str, call: &CallKey, now: Millis) {
        if let Some(breaker) = self.0.get_mut(tool) {
            breaker.free_trial(Some(call), now);
        }
    }

    /// The operator wants a tool to be used again; whether it was switched off.
    pub fn enable(&mut self, tool: &str) -> bool {
        let Some(breaker) = self.0.get_mut(tool) else {
            return false;
        };
        breaker.consecutive = 0;
        std::mem::take(&mut breaker.state) != BreakerPhase::Closed
    }

    /// Every tool that was used, by name.
    pub fn states(&self, now: Millis) -> impl Iterator<Item = ToolState> {
        self.0.iter().map(move |(tool, breaker)| ToolState {
            tool: tool.clone(),
            calls: breaker.calls,
            errors: breaker.errors,
            consecutive: breaker.consecutive,
            breaker: breaker.state(now).word(),
            again_in_ms: match &breaker.state {
                BreakerPhase::Open { until, .. } => Some(until.saturating_sub(now)),
                BreakerPhase::Closed | BreakerPhase::Trial { .. } => None,
            },
        })
    }
}

impl Breaker {
    fn state(&self, now: Millis) -> BreakerState {
        match &self.state {
            BreakerPhase::Closed => BreakerState::Closed,
            BreakerPhase::Open { until, .. } if now < *until => BreakerState::Open,
            BreakerPhase::Open { .. } | BreakerPhase::Trial { .. } => BreakerState::HalfOpen,
        }
    }

    /// Makes room for another trial, if this call, or any, is the one under way.
    fn free_trial(&mut self, call: Option<&CallKey>, now: Millis) {
        if let BreakerPhase::Trial {
            call: trial,
            for_ms,
        } = &self.state
            && call.is_none_or(|call| call == trial)
        {
            self.state = BreakerPhase::Open {
                until: now,
                for_ms: *for_ms,
            };
        }
    }
}

fn refusal(tool: &str, errors: u32, last: &str) -> String {
    let tool = shortened(tool);
    let times = match errors {
        1 => "the last time".to_owned(),
        _ => format!("{errors} times in a row"),
    };
    let last = match last {
        "" => String::new(),
        last => format!(", the last time with \"{last}\""),
    };
    format!(
        "The tool \"{tool}\" is switched off for now: it failed {times}{last}. This call was not run. Do not \
        call it again yet; go on with another tool, or answer without it and say what is missing."
    )
}

fn shortened(name: &str) -> &str {
    let end = name.char_indices().nth(NAME).map(|(end, _)| end);
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
