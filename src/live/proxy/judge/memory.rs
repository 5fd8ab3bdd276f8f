//! The requests that were read last: an agent's next one repeats most of one of them.

use super::reading::{CommonEnds, Reading};
use crate::lock::lock;
use bytes::Bytes;
use retake_core::session::Dialect;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// How many requests are remembered: of so many conversations at a time.
const COUNT: usize = 8;
/// Most bytes that they take.
const MOST: usize = 8 << 20;
/// Shorter ones are read as fast as they are compared.
const LEAST: usize = 2048;

/// The requests that were read last, the latest first.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<VecDeque<Arc<Reading>>>);

impl Memory {
    /// A request, by what is remembered of those before it.
    pub(super) fn recall(&self, dialect: Dialect, body: Bytes) -> Arc<Reading> {
        let known = match body.len() < LEAST {
            true => Vec::new(),
            false => lock(&self.0).iter().cloned().collect::<Vec<_>>(),
        };
        let of_dialect = |reading: &&Arc<Reading>| reading.dialect() == dialect;
        let mut best: Option<(&Arc<Reading>, CommonEnds)> = None;
        for reading in known.iter().filter(of_dialect) {
            if *reading.body() == body {
                return reading.clone();
            }
            let Some(shared) = reading.shared(&body) else {
                continue;
            };
            let is_whole = reading.is_whole_before(shared.before);
            let most = best.map(|(_, best)| best.before);
            if most.is_none_or(|most| most < shared.before) {
                best = Some((reading, shared));
            }
            if is_whole {
                break;
            }
        }
        let best = best.and_then(|(reading, shared)| reading.basis_of(&body, shared));
        Arc::new(match best {
            Some(found) => Reading::on(body, found),
            None => Reading::new(dialect, body),
        })
    }

    /// Remembers a request that was read, in the place of one that it repeats.
    pub(super) fn keep(&self, reading: &Arc<Reading>) {
        if reading.body().len() < LEAST || !reading.is_ground() || reading.cost() > MOST {
            return;
        }
        let mut kept = lock(&self.0);
        kept.retain(|other| !Arc::ptr_eq(other, reading) && !other.is_repeated_by(reading));
        kept.push_front(reading.clone());
        let mut bytes = 0;
        let fits = |reading: &Arc<Reading>| {
            bytes += reading.cost();
            bytes <= MOST
        };
        let count = kept.iter().map(fits).take_while(|fits| *fits).count();
        kept.truncate(count.min(COUNT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_remembered_by_what_they_take_and_not_by_their_bytes_alone() {
        let memory = Memory::default();
        let kept = |elements: usize| {
            let list = vec!["{}"; elements].join(",");
            let body = format!(r#"{{"model":"m{elements}","messages":[{list}]}}"#);
            let reading = memory.recall(Dialect::Chat, Bytes::from(body));
            assert!(reading.read().is_some() && reading.is_ground());
            memory.keep(&reading);
            lock(&memory.0).len()
        };
        // Each has 90 KB; what was read of it takes some 6 MB.
        assert_eq!(kept(30_000), 1);
        assert_eq!(kept(30_001), 1);
        // One that takes too much alone is in nobody's way.
        assert_eq!(kept(60_000), 1);
        assert_eq!(kept(10), 1);
        assert_eq!(kept(1_000), 2);
    }
}
