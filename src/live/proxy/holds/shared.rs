//! What the runs of all holds share.

use super::order::ASKS;
use crate::http::{Http, Target};
use crate::live::{IoThread, Thread};
use crate::lock::lock;
use crate::model::Timeouts;
use crate::proxy::news::Report;
use retake_core::engine::{Breakpoint, Policy};
use std::collections::HashMap;
use std::io;
use std::sync::Mutex;

/// How exchanges are held.
#[derive(Debug, Clone)]
pub struct HoldSettings {
    /// What is done without asking.
    pub policy: Policy,
    /// Where a hold stops although nothing is wrong, to begin with.
    pub breakpoints: Vec<Breakpoint>,
    /// Whether somebody is there to decide. Where nobody is, everything passes that the policy does not settle.
    pub has_operator: bool,
    /// Secrets to be taken out of what is written, each with its placeholder; those in header
    /// lines are known besides.
    pub secrets: Vec<(String, String)>,
    /// The most calls to the model that retake adds to one exchange.
    pub asks: u32,
}

impl Default for HoldSettings {
    /// Nobody is there, and no policy: everything passes.
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            breakpoints: Vec::new(),
            has_operator: false,
            secrets: Vec::new(),
            asks: ASKS,
        }
    }
}

/// What the runs of all holds share.
pub(crate) struct HoldContext {
    pub(crate) settings: HoldSettings,
    pub(crate) report: Report,
    pub(crate) breakpoints: Mutex<Vec<Breakpoint>>,
    thread: Thread,
    /// The clients by whether they speak TLS, and whether servers must prove who they are. Reading certificates
    /// takes a while.
    clients: Mutex<HashMap<(bool, bool), Http>>,
}

impl HoldContext {
    /// Fails where the system gives no thread.
    pub(crate) fn start(settings: HoldSettings, report: Report) -> io::Result<Self> {
        Ok(Self {
            breakpoints: Mutex::new(settings.breakpoints.clone()),
            settings,
            report,
            thread: Thread::start()?,
            clients: Mutex::default(),
        })
    }

    /// A slot in the thread that calls models.
    pub(crate) fn room(&self) -> IoThread {
        self.thread.room()
    }

    pub(crate) fn breakpoints(&self) -> Vec<Breakpoint> {
        lock(&self.breakpoints).clone()
    }

    /// The client for a target, which is believed as the exchange itself believes it.
    pub(crate) fn http(&self, target: &Target, is_verified: bool) -> Result<Http, String> {
        let kind = (target.is_encrypted(), is_verified);
        let mut clients = lock(&self.clients);
        if let Some(known) = clients.get(&kind) {
            return Ok(known.clone());
        }
        let connect = Timeouts::default().connect;
        let http = Http::trusting(kind.0, kind.1, connect).map_err(|error| error.to_string())?;
        clients.insert(kind, http.clone());
        Ok(http)
    }
}
