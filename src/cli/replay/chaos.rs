//! A recording as the model behind a proxy that injects faults: no key, no network, and the agent's own error handling is tested.

use super::KEYS;
use crate::cli::arguments::{Delay, ReplayArguments};
use crate::cli::chaos::{self, Wish};
use crate::cli::exit::{Exit, Failure};
use crate::engine::Policy;
use crate::replay::{Matching, Tape};
use crate::runtime::proxy::{Options, Ports, USUAL_ASKS, Upstream};
use crate::runtime::replay::{self, ANY_PORT, Endpoint};
use std::path::Path;

/// Serves the tape leniently, for a fault changes what the agent asks behind it, and injects faults before it.
pub(super) fn run(spec: &Path, arguments: &ReplayArguments, tape: Tape) -> Result<Exit, Failure> {
    let session = arguments.session.map(|number| number as usize - 1);
    let options = replay::Options {
        matching: Matching {
            is_lenient: true,
            session,
        },
        keeps_pace: arguments.delay == Delay::Recorded,
    };
    let endpoint = Endpoint::start(tape, options, ANY_PORT, |_| {});
    let endpoint = endpoint
        .map_err(|error| Failure::refused(format!("the recording cannot be served: {error}")))?;
    let wish = Wish {
        spec,
        command: &arguments.command,
        defaults: KEYS,
        format: arguments.format,
    };
    chaos::run(&wish, || proxy(arguments, &endpoint))
}

/// The proxy before the recording; it listens where the replay would.
fn proxy(arguments: &ReplayArguments, endpoint: &Endpoint) -> Result<Options, Failure> {
    let url = format!("http://{}", endpoint.address());
    let upstream = Upstream::parse(&url);
    let upstream = upstream.map_err(|error| Failure::refused(format!("{url}: {error}")))?;
    Ok(Options {
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
