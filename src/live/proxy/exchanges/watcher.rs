//! What all exchanges with one upstream share.

use super::state::ProxyState;
use crate::proxy::chaos::Chaos;
use crate::proxy::origin::Origin;
use retake_core::exchange::views::{Conversations, Views};
use std::sync::{Arc, Mutex};

/// Watches the exchanges with one upstream.
#[derive(Clone)]
pub(in crate::proxy) struct Watcher {
    pub(super) state: Arc<ProxyState>,
    pub(super) upstream: Arc<Origin>,
    /// Its place on the command line.
    pub(super) place: usize,
    /// Faults on purpose, if any.
    pub(super) chaos: Option<Arc<Chaos>>,
    /// What agents and this provider see of the same histories.
    pub(super) views: Arc<Mutex<Arc<Views>>>,
    /// The replies of this provider that its agents can continue.
    pub(super) conversations: Arc<Conversations>,
}

impl Watcher {
    pub(in crate::proxy) fn new(
        state: Arc<ProxyState>,
        upstream: Arc<Origin>,
        place: usize,
        chaos: Option<Arc<Chaos>>,
    ) -> Self {
        Self {
            state,
            upstream,
            place,
            chaos,
            views: Arc::default(),
            conversations: Arc::default(),
        }
    }
}
