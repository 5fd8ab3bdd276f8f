//! Faults on purpose: what of them the exchanges of a proxy share.

use crate::InputError;
use crate::files::read_text;
use crate::lock::lock;
use retake_core::chaos::{
    ChaosRequest, ChaosSpec, ChaosTrial, Course, Injection, InjectionOrder, InjectionPlan,
    LONGEST_SPEC, RequestPlan, RequestTiming, Usual,
};
use retake_core::config::ConfigErrors;
use retake_core::session::Dialect;
use retake_core::wire::ServerState;
use retake_core::wire::stream::{Splitter, event_value};
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// As long a reply is looked through for its id, in bytes.
const LOOKED_THROUGH: usize = 16 << 20;

#[derive(Debug, thiserror::Error)]
pub enum ChaosSpecError {
    #[error(transparent)]
    Unreadable(#[from] InputError),
    #[error(transparent)]
    Invalid(#[from] ConfigErrors),
}

pub fn read_spec(path: &Path) -> Result<ChaosSpec, ChaosSpecError> {
    let text = read_text(path, LONGEST_SPEC as u64)?;
    Ok(ChaosSpec::parse(&text)?)
}

/// The faults that a proxy injects. With it nothing is held: what is wrong goes to the agent as it is.
#[derive(Debug)]
pub struct Chaos {
    course: Mutex<Course>,
    pause: Duration,
    /// The beginning of its clock.
    began: Instant,
}

impl Chaos {
    /// Faults by a plan, with the settings of a spec.
    pub fn new(spec: &ChaosSpec, plan: InjectionPlan) -> Self {
        Self {
            course: Mutex::new(Course::new(spec.seed, plan)),
            pause: Duration::from_millis(spec.pause_ms),
            began: Instant::now(),
        }
    }

    /// What was injected so far, in its order.
    pub fn injections(&self) -> Vec<Injection> {
        self.course().injections().to_vec()
    }

    /// The trials of conversations that never got their fault, and why not.
    pub fn not_reached(&self) -> Vec<(ChaosTrial, String)> {
        let course = self.course();
        let missed = course.not_reached().into_iter();
        missed.map(|(trial, why)| (*trial, why)).collect()
    }

    /// The requests that there were.
    pub fn requests(&self) -> Usual {
        self.course().requests().clone()
    }

    pub fn conversations(&self) -> usize {
        self.course().conversations()
    }

    /// How long it is since it was made, in milliseconds: the clock of its injections.
    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Takes a request; gives what it is, and what its reply is to get, if anything.
    pub(crate) fn schedule(
        &self,
        dialect: Dialect,
        body: &[u8],
        is_retry: bool,
    ) -> Option<(RequestPlan, ChaosRequest)> {
        let request = ChaosRequest::read(dialect, body)?;
        let at_ms = self.now_ms();
        let scheduled = self
            .course()
            .requested(&request, RequestTiming { is_retry, at_ms });
        Some((scheduled, request))
    }

    /// The agent gets the fault from now on.
    pub(crate) fn injected(&self, order: &InjectionOrder) {
        self.course().injected(order, self.now_ms());
    }

    pub(crate) fn course(&self) -> MutexGuard<'_, Course> {
        lock(&self.course)
    }

    pub(crate) fn pause(&self) -> Duration {
        self.pause
    }
}

/// Reads along in the reply to a request until it knows the id by which its client can continue it.
pub(crate) struct ReplyId {
    chaos: Arc<Chaos>,
    conversation: usize,
    /// Whether it is one document, and no stream; not known before it begins.
    is_whole: Option<bool>,
    /// What came so far of a document.
    document: Vec<u8>,
    /// What came so far of a stream.
    stream: Splitter,
    came: usize,
    is_known: bool,
}

impl ReplyId {
    /// The reply to a request; `None` in a dialect without such ids.
    pub(crate) fn of(chaos: &Arc<Chaos>, dialect: Dialect, conversation: usize) -> Option<Self> {
        (dialect.facts().server_state == ServerState::Replies).then(|| Self {
            chaos: chaos.clone(),
            conversation,
            is_whole: None,
            document: Vec::new(),
            stream: Splitter::default(),
            came: 0,
            is_known: false,
        })
    }

    /// Takes the next bytes, before the client has them.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.came += bytes.len();
        if self.is_known || self.came > LOOKED_THROUGH {
            return;
        }
        if self.is_whole.is_none() {
            let first = bytes.trim_ascii_start().first();
            self.is_whole = first.map(|first| *first == b'{');
        }
        let id = match self.is_whole {
            Some(true) => self.in_document(bytes),
            Some(false) => self.in_stream(bytes),
            None => None,
        };
        if let Some(id) = id {
            self.is_known = true;
            self.document = Vec::new();
            self.chaos.course().replied(self.conversation, id);
        }
    }

    /// The id in the first event that has one.
    fn in_stream(&mut self, bytes: &[u8]) -> Option<String> {
        let mut found = None;
        self.stream.push(bytes, |event| {
            if found.is_none() {
                found = event_value(&event.data).and_then(|event| id_of(&event["response"]));
            }
        });
        found
    }

    fn in_document(&mut self, bytes: &[u8]) -> Option<String> {
        self.document.extend_from_slice(bytes);
        let text = self.document.trim_ascii();
        let is_over = text.ends_with(b"}");
        let reply = is_over.then(|| serde_json::from_slice::<Value>(text).ok())??;
        id_of(&reply)
    }
}

fn id_of(reply: &Value) -> Option<String> {
    reply.get("id")?.as_str().map(str::to_owned)
}
