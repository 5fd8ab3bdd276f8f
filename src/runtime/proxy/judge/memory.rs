//! The requests that were read last: an agent's next one repeats most of one of them.

use super::reading::{Basis, Reading};
use crate::exchange::asked::Asked;
use crate::session::Dialect;
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many requests are remembered: of so many conversations at a time.
const COUNT: usize = 8;
/// Most bytes of them.
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
            false => self.lock().iter().cloned().collect::<Vec<_>>(),
        };
        let of_dialect = |reading: &&Arc<Reading>| reading.dialect() == dialect;
        let mut best = None;
        for reading in known.iter().filter(of_dialect) {
            if *reading.body() == body {
                return reading.clone();
            }
            let found = reading.basis_of(&body);
            let (Some(found), before) = (found, best.as_ref().map(before)) else {
                continue;
            };
            let is_better = before.is_none_or(|before| before < found.0.before());
            let is_whole = reading.is_whole_before(found.0.before());
            if is_better {
                best = Some(found);
            }
            if is_whole {
                break;
            }
        }
        Arc::new(match best {
            Some(found) => Reading::on(body, found),
            None => Reading::new(dialect, body),
        })
    }

    /// Remembers a request that was read, in the place of one that it repeats.
    pub(super) fn keep(&self, reading: &Arc<Reading>) {
        let length = reading.body().len();
        if !(LEAST..=MOST).contains(&length) || !reading.is_ground() {
            return;
        }
        let mut kept = self.lock();
        kept.retain(|other| !Arc::ptr_eq(other, reading) && !other.is_repeated_by(reading));
        kept.push_front(reading.clone());
        let mut bytes = 0;
        let fits = |reading: &Arc<Reading>| {
            bytes += reading.body().len();
            bytes <= MOST
        };
        let count = kept.iter().map(fits).take_while(|fits| *fits).count();
        kept.truncate(count.min(COUNT));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Reading>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn before((basis, _): &(Basis, Asked)) -> usize {
    basis.before()
}
