//! Faults on purpose: what of them the exchanges of a proxy share.

use crate::chaos::{
    Course, Injection, LONGEST_SPEC, Order, Plan, Request, Spec, SpecFaults, Trial,
};
use crate::runtime::InputError;
use crate::runtime::files::read_text;
use crate::session::Dialect;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Why a spec cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NoSpec {
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] InputError),
    /// Something is wrong with what it says.
    #[error(transparent)]
    Faulty(#[from] SpecFaults),
}

/// Reads the file of a spec.
pub fn read_spec(path: &Path) -> Result<Spec, NoSpec> {
    let text = read_text(path, LONGEST_SPEC as u64)?;
    Ok(Spec::parse(&text)?)
}

/// The faults that a proxy injects. With it nothing is held: what is wrong goes to the agent as it is.
#[derive(Debug)]
pub struct Chaos {
    course: Mutex<Course>,
    pause: Duration,
}

impl Chaos {
    /// Faults by a plan, with the settings of a spec.
    pub fn new(spec: &Spec, plan: Plan) -> Self {
        Self {
            course: Mutex::new(Course::new(spec.seed, plan)),
            pause: Duration::from_millis(spec.pause_ms),
        }
    }

    /// What was injected so far, in its order.
    pub fn injections(&self) -> Vec<Injection> {
        self.course().injections().to_vec()
    }

    /// The trials of conversations that never got their fault.
    pub fn not_reached(&self) -> Vec<Trial> {
        self.course().not_reached().into_iter().copied().collect()
    }

    /// How many requests there were.
    pub fn requests(&self) -> u32 {
        self.course().requests()
    }

    /// How many conversations there were.
    pub fn conversations(&self) -> usize {
        self.course().conversations()
    }

    /// Takes a request; gives what its reply is to get, if anything.
    pub(super) fn asked(
        &self,
        dialect: Dialect,
        body: &[u8],
        is_retry: bool,
    ) -> Option<(Order, Request)> {
        let request = Request::read(dialect, body)?;
        let order = self.course().asked(&request, is_retry)?;
        Some((order, request))
    }

    pub(super) fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn pause(&self) -> Duration {
        self.pause
    }
}
