//! Takes that grow, and what is done in the world meanwhile: what a live run writes.

use super::{TakeError, TakeStore, read_text};
use crate::InputError;
use crate::takes::{About, Clock, Damage, Happened, Journal, NotRecording};
use retake_core::formats::lower;
use retake_core::session::ledger::{Ledger, LedgerEvent};
use retake_core::session::takes::{AnchoredSplice, TakeId, anchor};
use retake_core::session::{Edit, Session};
use std::path::Path;
use std::sync::Arc;

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("{0}")]
    NotRecording(#[from] NotRecording),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("the journal does not tell the request that the run began with")]
    NoBase,
}

impl TakeStore {
    /// Begins a run: makes its journal, with the first request in it. The file must not be there yet.
    pub fn begin_run(
        path: &Path,
        about: About,
        base: &[u8],
        clock: Clock,
    ) -> Result<Self, RunError> {
        // What cannot be read is not begun.
        read_text(&path.to_string_lossy(), &about.format, base, true)?;
        Journal::begin_run(path, about, base, clock)?;
        let (workbench, _) = Self::open_run(path, clock)?;
        Ok(workbench)
    }

    /// Opens a run. [`Self::not_recording`] has the error if it cannot be written: another process may have it.
    pub fn open_run(path: &Path, clock: Clock) -> Result<(Self, Vec<Damage>), RunError> {
        let opened = Journal::open_run(path, clock);
        let Some(base) = &opened.base else {
            return Err(RunError::NoBase);
        };
        let recording = read_text(&path.to_string_lossy(), &base.format, &base.text, true)?;
        Ok(Self::of(Arc::new(recording), Some(path), opened))
    }

    /// Appends to a take: edits to a session of it, which was read since it grew last. With `Ok` it has
    /// grown; [`Self::not_recording`] has the error if it is not on the disk. A take that others branch
    /// off does not grow.
    pub fn grow(&mut self, id: TakeId, session: &Session, edits: &[Edit]) -> Result<(), TakeError> {
        let rope = self.rope(id)?;
        let splices = lower(session, edits)?;
        let anchored = anchor(&*rope, splices, false)?;
        let shared: Vec<_> = anchored.iter().map(AnchoredSplice::shared).collect();
        let step = self.takes.growth(id);
        let event = self.takes.grow(id, anchored)?;
        let by = self.ledger.grown_by(id, step).cloned();
        self.ropes.insert(id, Arc::new(rope.grown_by(&shared, by)));
        self.keep(&event);
        Ok(())
    }

    /// Enters what happened. With `Ok` it is on the disk. Otherwise it is in memory and is written when that
    /// works again ([`Self::catch_up`]): nothing must be started before.
    pub fn record(&mut self, event: &LedgerEvent) -> Result<(), &NotRecording> {
        self.record_all(std::slice::from_ref(event))
    }

    /// The same for events that happened at once: in one write to the disk.
    pub fn record_all(&mut self, events: &[LedgerEvent]) -> Result<(), &NotRecording> {
        for event in events {
            self.ledger.apply_beside(event, &self.takes);
            self.happened.push(Happened {
                event: event.clone(),
                current: self.takes.current(),
                time: self.journal.now(),
            });
        }
        match self.journal.append_all(events) {
            Ok(()) => {
                self.in_memory = 0;
                Ok(())
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// From now on what happens to the takes and the ledger is in memory only, until [`Self::write_gathered`]:
    /// in one write to the disk.
    pub fn gather(&mut self) {
        self.journal.gather();
    }

    /// Writes what was gathered; [`Self::not_recording`] says what came of it.
    pub fn write_gathered(&mut self) {
        if self.journal.write_gathered().is_ok() {
            self.in_memory = 0;
        }
    }

    /// What was done in the world.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The same, entry by entry.
    pub fn happened(&self) -> &[Happened] {
        &self.happened
    }

    /// The takes that lead to this one, which is the last.
    pub fn line(&self, id: TakeId) -> Vec<TakeId> {
        self.takes.line(id)
    }
}
