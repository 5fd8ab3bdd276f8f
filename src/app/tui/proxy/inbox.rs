//! News on their way to the screen: however many come, the screen is woken at most once in a while, and what
//! waits takes a bounded amount of memory, also while nobody looks.

use super::board::EVENTS;
use super::rows::KEPT;
use retake_core::exchange::{ExchangeId, ExchangeSummary};
use retake_live::lock::lock;
use retake_live::proxy::ProxyNews;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Least time between two wakes.
pub const PAUSE: Duration = Duration::from_millis(25);

/// What waits for the screen.
#[derive(Debug, Default)]
pub struct Inbox {
    waiting: Mutex<Waiting>,
    is_woken: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The last that is known of each exchange.
    seen: BTreeMap<ExchangeId, Arc<ExchangeSummary>>,
    rest: VecDeque<ProxyNews>,
}

impl Waiting {
    fn put(&mut self, news: ProxyNews) {
        match news {
            ProxyNews::Exchange(seen) => {
                self.seen.insert(seen.id, seen);
                // The list would drop them too.
                while self.seen.len() > 2 * KEPT {
                    self.seen.pop_first();
                }
            }
            // The exchange holds the findings as well; its session is large.
            ProxyNews::Found { .. } => {}
            other => {
                if self.rest.len() >= 2 * EVENTS {
                    self.rest.pop_front();
                }
                self.rest.push_back(other);
            }
        }
    }
}

impl Inbox {
    /// Takes in what comes until nobody tells anything any more; `wake` is called when something waits.
    pub fn fill(&self, news: &Receiver<ProxyNews>, wake: impl Fn()) {
        while let Ok(first) = news.recv() {
            {
                let mut waiting = self.waiting();
                waiting.put(first);
                news.try_iter().for_each(|more| waiting.put(more));
            }
            if !self.is_woken.swap(true, Ordering::AcqRel) {
                wake();
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Everything that waits; exchanges follow what was decided about them.
    pub fn take(&self) -> Vec<ProxyNews> {
        // Before it is looked at: what comes from now on wakes again.
        self.is_woken.store(false, Ordering::Release);
        let Waiting { seen, rest } = std::mem::take(&mut *self.waiting());
        let mut news: Vec<ProxyNews> = rest.into();
        news.extend(seen.into_values().map(ProxyNews::Exchange));
        news
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }
}
