//! News on their way to the screen: however many come, the screen is woken at most once in a while, and what
//! waits takes a bounded amount of memory, also while nobody looks.

use super::board::EVENTS;
use super::rows::KEPT;
use retake_core::exchange::{ExchangeId, Seen};
use retake_live::proxy::News;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    seen: BTreeMap<ExchangeId, Arc<Seen>>,
    rest: VecDeque<News>,
}

impl Waiting {
    fn put(&mut self, news: News) {
        match news {
            News::Exchange(seen) => {
                self.seen.insert(seen.id, seen);
                // The list would drop them too.
                while self.seen.len() > 2 * KEPT {
                    self.seen.pop_first();
                }
            }
            // What was found stands in the exchange as well; its session is large.
            News::Found { .. } => {}
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
    pub fn fill(&self, news: &Receiver<News>, wake: impl Fn()) {
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

    /// Everything that waits; exchanges stand behind what was decided about them.
    pub fn take(&self) -> Vec<News> {
        // Before it is looked at: what comes from now on wakes again.
        self.is_woken.store(false, Ordering::Release);
        let Waiting { seen, rest } = std::mem::take(&mut *self.waiting());
        let mut news: Vec<News> = rest.into();
        news.extend(seen.into_values().map(News::Exchange));
        news
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
