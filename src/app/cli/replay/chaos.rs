//! A recording as the model behind a proxy that injects faults: no key, no network, and the agent's own
//! error handling is tested.

use super::KEYS;
use crate::cli::arguments::{Delay, ReplayArguments};
use crate::cli::chaos::{self, Recording, Strayed, Wish};
use crate::cli::exit::{Exit, Failure};
use retake_core::engine::Policy;
use retake_core::replay::{Matching, Tape};
use retake_live::proxy::{Ports, ProxyOptions, USUAL_ASKS, Upstream};
use retake_live::replay::{self, ANY_PORT, Endpoint, Event};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Serves the tape leniently, for a fault changes what the agent asks behind it, and its last turn again where
/// the agent goes on, for one that asks again asks more often than the recording; injects faults before it.
pub(super) fn run(spec: &Path, arguments: &ReplayArguments, tape: Tape) -> Result<Exit, Failure> {
    let session = arguments.session.map(|number| number as usize - 1);
    let options = replay::ReplayOptions {
        matching: Matching {
            is_lenient: true,
            repeats_last: true,
            session,
        },
        keeps_pace: arguments.delay == Delay::Recorded,
    };
    let heard = Arc::<Heard>::default();
    let hearing = heard.clone();
    let report = move |event| hearing.hear(&event);
    let endpoint = Endpoint::start(tape, options, ANY_PORT, report)
        .map_err(|error| Failure::refused(format!("the recording cannot be served: {error}")))?;
    let served = Served { endpoint, heard };
    let wish = Wish {
        spec,
        command: &arguments.command,
        defaults: KEYS,
        format: arguments.format,
        recording: Some(&served),
    };
    chaos::run(&wish, || proxy(arguments, &served.endpoint))
}

/// What the endpoint tells of its requests.
#[derive(Debug, Default)]
struct Heard(Mutex<Strayed>);

impl Heard {
    fn lock(&self) -> MutexGuard<'_, Strayed> {
        // A thread that panicked while it counted leaves counts that can be used.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, event: &Event) {
        let mut strayed = self.lock();
        let words = match event {
            Event::Served {
                differences: None, ..
            } => return,
            Event::Served {
                turn,
                differences: Some(differences),
                ..
            } => {
                strayed.nearest += 1;
                let first = differences.told.first();
                format!(
                    "{turn}, {}",
                    first.map(ToString::to_string).unwrap_or_default()
                )
            }
            Event::Refused { why, .. } => {
                strayed.refused += 1;
                why.clone()
            }
        };
        strayed.first.get_or_insert(words);
    }
}

/// The recording as it is served.
struct Served {
    endpoint: Endpoint,
    heard: Arc<Heard>,
}

impl Recording for Served {
    fn rewind(&self) {
        self.endpoint.rewind();
        *self.heard.lock() = Strayed::default();
    }

    fn strayed(&self) -> Strayed {
        self.heard.lock().clone()
    }
}

/// The proxy before the recording; it listens where the replay would.
fn proxy(arguments: &ReplayArguments, endpoint: &Endpoint) -> Result<ProxyOptions, Failure> {
    let url = format!("http://{}", endpoint.address());
    let upstream = Upstream::parse(&url);
    let upstream = upstream.map_err(|error| Failure::refused(format!("{url}: {error}")))?;
    Ok(ProxyOptions {
        upstreams: vec![upstream],
        ports: Ports {
            first: arguments.listen,
            are_fixed: true,
        },
        allow_remote: false,
        host_names: Vec::new(),
        insecure: Vec::new(),
        policy: Policy::default(),
        breakpoints: Vec::new(),
        has_operator: false,
        journal: arguments.journal.clone(),
        intercepts: false,
        holds_requests: false,
        max_asks: USUAL_ASKS,
    })
}
