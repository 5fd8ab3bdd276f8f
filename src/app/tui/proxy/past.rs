//! The log of a proxy whose journal is opened again: the words that its screen had for the same news.

use super::board::push_event;
use super::words;
use crate::tui::state::live::LogEntry;
use retake_core::exchange::{ExchangeEnding, ExchangeId, ExchangePhase};
use retake_live::proxy::ProxyNews;
use std::collections::{HashMap, VecDeque};

/// The newest of what has happened.
#[derive(Debug, Default)]
pub struct PastLog {
    pub entries: VecDeque<LogEntry>,
    /// Exchanges that were held and have not ended.
    held: HashMap<ExchangeId, ExchangePhase>,
}

impl PastLog {
    pub fn hear(&mut self, at: u64, news: ProxyNews) {
        let (is_trouble, words) = match news {
            ProxyNews::Exchange(seen) => {
                let was = self.held.remove(&seen.id);
                let is_passed = seen.phase == ExchangePhase::Ended(ExchangeEnding::Passed);
                let change = match is_passed && seen.rewritten.again {
                    true => Some((false, words::outcome(&seen, None))),
                    false => words::change(&seen, was.as_ref()),
                };
                if seen.phase.hold().is_some() {
                    self.held.insert(seen.id, seen.phase.clone());
                }
                let Some(change) = change else { return };
                change
            }
            ProxyNews::Decided {
                id,
                rule,
                action,
                by,
                wording,
                ..
            } => {
                let words = words::decision(by, &action, rule.as_deref(), wording.as_deref());
                (false, format!("exchange {id}: {words}"))
            }
            ProxyNews::Notice(words) => (true, words),
            _ => return,
        };
        let entry = LogEntry {
            at: 0,
            past: Some(at),
            is_trouble,
            words,
        };
        push_event(&mut self.entries, entry);
    }
}
