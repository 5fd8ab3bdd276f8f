//! Stand-ins.
use super::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default)]
pub struct Policy {
    pub on: BTreeMap<&'static str, &'static str>,
    pub attempts: u32,
    pub threshold: u32,
    pub webhook: Option<String>,
}
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Act(Decision),
    Release,
    Raise,
    Ask,
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts(BTreeMap<String, u32>);
impl Policy {
    pub fn decide(&self, counts: &mut Counts, fault: &Fault) -> Verdict {
        *counts.0.entry(fault.rule.to_owned()).or_default() += 1;
        match self.on.get(fault.rule) {
            None | Some(&"ask") => Verdict::Ask,
            Some(&"raise") => Verdict::Raise,
            Some(&"release") => Verdict::Release,
            Some(action) => Verdict::Act(Decision {
                rule: fault.rule.to_owned(),
                item: fault.item,
                call: fault.call.clone(),
                action,
                wording: None,
                value: None,
                include_in_history: false,
            }),
        }
    }
    pub fn names(&self, rule: &str) -> bool {
        self.on.contains_key(rule)
    }
    pub fn retry(&self, _tool: &str) -> Retry {
        Retry {
            attempts: self.attempts,
            backoff_ms: 1000,
        }
    }
}
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    pub attempts: u32,
    pub backoff_ms: u64,
}
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Breakers(BTreeMap<String, u32>);
pub enum Admission {
    Run,
    Trial,
    Refused { text: String },
}
pub struct Change {
    pub tool: String,
    pub state: &'static str,
    pub errors: u32,
}
impl Breakers {
    pub fn admit(&mut self, policy: &Policy, tool: &str, _now: u64) -> Admission {
        if policy.threshold > 0 && self.0.get(tool).is_some_and(|n| *n >= policy.threshold) {
            Admission::Refused {
                text: format!("{tool} is switched off"),
            }
        } else {
            Admission::Run
        }
    }
    pub fn ended(
        &mut self,
        policy: &Policy,
        tool: &str,
        is_error: bool,
        _now: u64,
    ) -> Option<Change> {
        let n = self.0.entry(tool.to_owned()).or_default();
        if is_error {
            *n += 1
        } else {
            *n = 0
        }
        (*n == policy.threshold && *n > 0).then(|| Change {
            tool: tool.to_owned(),
            state: "open",
            errors: *n,
        })
    }
    pub fn enable(&mut self, tool: &str) -> Option<Change> {
        self.0.remove(tool).map(|_| Change {
            tool: tool.to_owned(),
            state: "closed",
            errors: 0,
        })
    }
}
pub fn hits(breakpoints: &[Breakpoint], standing: &Standing) -> Vec<(u32, Option<u32>)> {
    breakpoints
        .iter()
        .filter(|b| b.is_enabled)
        .filter_map(|b| match &b.on {
            Place::Tool(t) => standing
                .calls
                .iter()
                .find(|c| &c.tool == t)
                .map(|c| (b.number, Some(c.item))),
            Place::Turn(t) => (*t == standing.turns).then_some((b.number, None)),
            _ => None,
        })
        .collect()
}
pub mod backoff {
    use super::*;
    pub enum ModelDelay {
        After(u64),
        Ask(String),
    }
    pub fn delay(base: u64, attempt: u32, cap: u64, _seed: u64) -> u64 {
        base.saturating_mul(1 << attempt.min(10)).min(cap)
    }
    pub fn model_delay(fault: &ModelFault, attempt: u32, _seed: u64) -> ModelDelay {
        if !fault.is_recoverable || attempt > 2 {
            return ModelDelay::Ask(fault.why.clone());
        }
        ModelDelay::After(fault.retry_after_ms.unwrap_or(500))
    }
}
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Tool(t) => write!(f, "tool {t}"),
            Place::Turn(t) => write!(f, "turn {t}"),
            _ => f.write_str("other"),
        }
    }
}
