//! Who drives the take of a recording that grows: a live run, or whoever has taken a held exchange over.

use crate::tui::state::live::AgentInfo;
use retake_core::engine::Breakpoint;
use retake_core::session::takes::TakeId;
use retake_live::agents::AgentFile;
use retake_live::live::{IoEvent, LiveRun, Phase, PreparedRun, RunInput, RunNews};
use retake_live::lock::lock;
use retake_live::proxy::holds::HoldHandle;
use retake_live::{TakeError, TakeStore};
use std::fmt;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard};

/// Drives a take. It owns none: each time it is handed the workbench of the recording.
pub trait Conductor: Send {
    /// Begins to drive a take, or goes on with it.
    fn start(
        &mut self,
        bench: &mut TakeStore,
        session: u32,
        from: TakeId,
    ) -> Result<Vec<RunNews>, TakeError>;

    /// Hears something, and does what follows from it.
    fn handle(&mut self, bench: &mut TakeStore, input: RunInput) -> Vec<RunNews>;

    /// The take that it drives.
    fn take(&self) -> TakeId;

    /// What it is doing.
    fn phase(&self) -> Phase;

    /// Hears what has happened where it was woken from.
    fn wake(&mut self, _bench: &mut TakeStore) -> Vec<RunNews> {
        Vec::new()
    }
}

/// What comes from outside of the screen for whoever drives a take.
#[derive(Debug)]
pub enum Stir {
    /// Something happened in the world of a run.
    Io(IoEvent),
    /// Something waits to be heard ([`Conductor::wake`]).
    Wake,
}

impl Conductor for LiveRun {
    fn start(
        &mut self,
        bench: &mut TakeStore,
        session: u32,
        from: TakeId,
    ) -> Result<Vec<RunNews>, TakeError> {
        LiveRun::start(self, bench, session, from)
    }

    fn handle(&mut self, bench: &mut TakeStore, input: RunInput) -> Vec<RunNews> {
        LiveRun::handle(self, bench, input)
    }

    fn take(&self) -> TakeId {
        LiveRun::take(self)
    }

    fn phase(&self) -> Phase {
        LiveRun::phase(self)
    }
}

impl Conductor for HoldHandle {
    fn start(
        &mut self,
        bench: &mut TakeStore,
        _: u32,
        _: TakeId,
    ) -> Result<Vec<RunNews>, TakeError> {
        HoldHandle::start(self, bench)
    }

    fn handle(&mut self, bench: &mut TakeStore, input: RunInput) -> Vec<RunNews> {
        HoldHandle::handle(self, bench, input)
    }

    fn take(&self) -> TakeId {
        HoldHandle::take(self)
    }

    fn phase(&self) -> Phase {
        HoldHandle::phase(self)
    }

    fn wake(&mut self, bench: &mut TakeStore) -> Vec<RunNews> {
        self.handle_io(bench)
    }
}

/// A run that was prepared before the screen was taken.
pub struct StagedRun {
    pub agent: AgentFile,
    pub prepared: PreparedRun,
    /// What its world tells.
    pub events: Receiver<IoEvent>,
}

/// A held exchange that the screen takes over. It is given back when the conductor is dropped, once nobody
/// has its journal open.
pub struct Seated {
    /// Who drives its take.
    pub conductor: Box<dyn Conductor>,
    /// What comes for it: replies to retake's own requests, timers, decisions elsewhere.
    pub events: Receiver<Stir>,
    /// Whose calls are held.
    pub agent: AgentInfo,
    /// Where it stops although nothing is wrong.
    pub breakpoints: Vec<Breakpoint>,
}

/// What begins as soon as the recording is read.
pub(super) enum Begins {
    Run(Box<StagedRun>),
    Hold(Seated),
}

/// What is to begin in the recording that is opened first; it begins once.
#[derive(Clone, Default)]
pub struct Staged(Arc<Mutex<Option<Begins>>>);

impl fmt::Debug for Staged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Staged").field(&self.is_there()).finish()
    }
}

impl Staged {
    /// A run that is to begin as soon as its journal is read.
    pub fn new(run: StagedRun) -> Self {
        Self::of(Begins::Run(Box::new(run)))
    }

    /// A held exchange that is driven from here as soon as its journal is read.
    pub fn seated(seat: Seated) -> Self {
        Self::of(Begins::Hold(seat))
    }

    fn of(begins: Begins) -> Self {
        Self(Arc::new(Mutex::new(Some(begins))))
    }

    pub(in crate::tui) fn is_there(&self) -> bool {
        self.held().is_some()
    }

    pub(super) fn take(&self) -> Option<Begins> {
        self.held().take()
    }

    fn held(&self) -> MutexGuard<'_, Option<Begins>> {
        lock(&self.0)
    }
}
