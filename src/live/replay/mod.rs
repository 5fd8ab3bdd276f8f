//! A recording as an endpoint: its model turns are served again, in the dialects of OpenAI Responses, OpenAI
//! Chat and Anthropic Messages, streamed and whole, on loopback.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use retake_core::replay::Tape;
//! use retake_live::replay::{ANY_PORT, Endpoint, Options};
//! use retake_live::{ReadOptions, read_path};
//! let recording = read_path("sessions/failing-tool.json".as_ref(), &ReadOptions::default())?;
//! let tape = Tape::of(recording.sessions)?;
//! let endpoint = Endpoint::start(tape, Options::default(), ANY_PORT, |_| {})?;
//! println!("{}", endpoint.address());
//! # Ok(())
//! # }
//! ```
//!
//! It runs on a thread of its own and stops when its [`Endpoint`] is dropped. Each reply names its turn in the
//! header `x-retake-replay`. A request that no turn answers is refused with status 400, which SDKs do not
//! repeat, and the code `replay_mismatch`.

mod serving;

pub use super::serving::ANY_PORT;

use super::serving::Listening;
use retake_core::formats::convert::LossKind;
use retake_core::replay::{Differences, Matching, Place, Tape};
use retake_core::session::Dialect;
use serving::{Served, Serving};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, Default)]
pub struct ReplayOptions {
    pub matching: Matching,
    /// Whether a reply takes as long as it was recorded to take; otherwise it comes at once.
    pub keeps_pace: bool,
}

/// What became of a request. Texts may hold text from outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A turn was served.
    Served {
        place: Place,
        /// It in words, as `turn 3`.
        turn: String,
        dialect: Dialect,
        streams: bool,
        /// What differs from the request, where only the nearest turn was found.
        differences: Option<Differences>,
        /// What the reply could not hold.
        left_out: Vec<LossKind>,
    },
    Refused {
        dialect: Dialect,
        code: &'static str,
        /// Why, over several lines where something differs.
        why: String,
        /// The nearest turn, and what differs from it.
        nearest: Option<(Place, Differences)>,
    },
}

/// A recording that is served, until this is dropped.
#[derive(Debug)]
pub struct Endpoint {
    listening: Listening,
    tape: Arc<Tape>,
    served: Arc<Served>,
}

impl Endpoint {
    /// Serves a tape. `report` hears of each request on the endpoint's thread, before its reply is sent,
    /// and must not wait.
    ///
    /// Fails where the address is not of the loopback, or cannot be had.
    pub fn start(
        tape: Tape,
        options: ReplayOptions,
        listen: SocketAddr,
        report: impl Fn(Event) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (tape, served) = (Arc::new(tape), Arc::<Served>::default());
        let serving = Serving {
            tape: tape.clone(),
            served: served.clone(),
            options,
            report: Box::new(report),
        };
        let listening = Listening::start(serving, listen)?;
        Ok(Self {
            listening,
            tape,
            served,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// What clients of a dialect call their base URL: those of OpenAI add `/responses` to it,
    /// those of Anthropic `/v1/messages`.
    pub fn base_url(&self, dialect: Dialect) -> String {
        self.listening.base_url(dialect)
    }

    /// An agent begins anew: of several turns after the same history the first comes first again.
    pub fn rewind(&self) {
        self.served.lock().clear();
    }

    pub fn tape(&self) -> &Tape {
        &self.tape
    }
}
