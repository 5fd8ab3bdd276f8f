//! The loader without threads of its own: what it is asked to do is done, and what it reports is handed back.

use super::{Hear, Knowledge, Work, takes};
use crate::runtime::{self, Opening, ReadOptions};
use crate::tui::state::State;
use crate::tui::update::{Effect, Message, Report, update};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

/// A file and the loader that reads it.
pub(crate) struct Direct {
    work: Work,
    heard: Arc<Mutex<Vec<Report>>>,
}

impl Direct {
    /// Opens a file; journals are kept below `root`, and it is always the first second of 1970.
    pub(crate) fn open(path: &Path, root: &Path, knowledge: &Knowledge) -> Self {
        let input = runtime::open(path).unwrap();
        let opening = Arc::new(Opening::begin(input, &ReadOptions::default()).unwrap());
        let heard: Arc<Mutex<Vec<Report>>> = Arc::default();
        let hear = heard.clone();
        let reports: Hear = Arc::new(move |report| hear.lock().unwrap().push(report));
        let work = Work {
            read_to: Arc::new(AtomicU64::new(opening.length())),
            opening,
            knowledge: Arc::new(knowledge.of_file(path)),
            bench: Arc::new(takes::Bench::new(Some(root.to_owned()), || 0)),
            reports,
        };
        Self { work, heard }
    }

    /// Reads the file and tells the state what is in it.
    pub(crate) fn read(&self, state: &mut State) {
        self.work.read().unwrap();
        self.tell(state);
    }

    /// Does what effects ask for; gives back what is not the loader's to do.
    pub(crate) fn perform(&self, state: &mut State, effects: Vec<Effect>) -> Vec<Effect> {
        let mut left = Vec::new();
        for effect in effects {
            match effect {
                Effect::Take(order) => self.work.make_take(*order),
                Effect::Takes(command) => {
                    self.work.command_takes(command, state.document.as_ref());
                }
                Effect::Discard(_) => {}
                other => left.push(other),
            }
            left.extend(self.tell(state));
        }
        left
    }

    /// Waits until the loader has something to tell by itself.
    pub(crate) fn wait(&self, state: &mut State) {
        let tries = 0..200;
        for _ in tries {
            if !self.heard.lock().unwrap().is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        self.tell(state);
    }

    fn tell(&self, state: &mut State) -> Vec<Effect> {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap());
        let mut effects = Vec::new();
        for report in heard {
            effects.extend(update(state, Message::Report(report)));
        }
        state.prepare();
        effects.retain(|effect| !matches!(effect, Effect::Discard(_)));
        effects
    }
}
