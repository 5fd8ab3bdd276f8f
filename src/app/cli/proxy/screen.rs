//! A proxy on the screen: the operator decides.

use crate::cli::arguments::{LookArguments, OpenArguments};
use crate::cli::exit::{Exit, Failure, report_where};
use crate::cli::inputs::{self, inputs_of};
use crate::tui::loader::takes::conductor::{Seated, Stir};
use crate::tui::proxy::{CurlRequest, Exchanges, ProxyInfo, Watched};
use crate::tui::state::live::AgentInfo;
use crate::tui::{self, Left};
use retake_core::engine::Breakpoint;
use retake_core::exchange::ExchangeId;
use retake_live::Input;
use retake_live::lock::lock;
use retake_live::proxy::agent::{AgentCommand, AgentProcess};
use retake_live::proxy::{
    Proxy, ProxyCommand, ProxyNews, ProxyOptions, Report, StoredRequest, connect,
};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// A proxy as the screen sees it.
struct Seen {
    proxy: Proxy,
    /// Where exchanges are held although nothing is wrong.
    breakpoints: Mutex<Vec<Breakpoint>>,
}

impl Exchanges for Seen {
    fn obey(&self, command: ProxyCommand) {
        if let ProxyCommand::Breakpoints(breakpoints) = &command {
            lock(&self.breakpoints).clone_from(breakpoints);
        }
        self.proxy.command(&command);
    }

    fn clients(&self) -> usize {
        self.proxy.clients()
    }

    fn seat(&self, id: ExchangeId) -> Option<(PathBuf, Seated)> {
        let (sender, events) = channel();
        let wake = Arc::new(move || {
            // Nobody sits there any more.
            let _ = sender.send(Stir::Wake);
        });
        let seat = self.proxy.take_over(id, wake)?;
        let journal = seat.journal()?.to_owned();
        let breakpoints = lock(&self.breakpoints).clone();
        let seated = Seated {
            conductor: Box::new(seat),
            events,
            agent: AgentInfo {
                name: format!("exchange {id}"),
                ..AgentInfo::default()
            },
            breakpoints,
        };
        Some((journal, seated))
    }

    fn recording(&self, id: ExchangeId) -> Result<Input, String> {
        match self.proxy.recording(id) {
            Some(input) => input.map_err(|error| error.to_string()),
            None => Err(format!(
                "exchange {id} is no longer at hand; it is in {}",
                self.proxy.journal().display()
            )),
        }
    }

    fn request(&self, id: ExchangeId) -> Option<CurlRequest> {
        let StoredRequest {
            method,
            url,
            lines,
            body,
            ..
        } = self.proxy.stored_request(id)?;
        let headers = lines.iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.to_string(), value)
        });
        Some(CurlRequest {
            method,
            url,
            headers: headers.collect(),
            body: body.to_vec(),
        })
    }
}

/// Starts a proxy, with the agent where one is named, and shows it until the operator leaves.
pub(super) fn show(
    look: &LookArguments,
    options: ProxyOptions,
    order: Option<AgentCommand>,
) -> Result<Exit, Failure> {
    let request = OpenArguments {
        look: look.clone(),
        ..OpenArguments::default()
    };
    let request = inputs::open_request(inputs_of(&request.reading)?, &request)?;
    let (sender, news) = channel();
    let report: Report = Arc::new(move |one: ProxyNews| {
        // Nobody hears it when the screen is closed.
        let _ = sender.send(one);
    });
    let upstreams = options.upstreams.clone();
    let (breakpoints, is_intercepting) = (options.breakpoints.clone(), options.intercepts);
    let unverified = options.insecure.clone();
    let proxy = Proxy::start(options, report.clone());
    let proxy = proxy.map_err(super::not_started)?;
    let child = order.as_ref().map(|order| {
        let words = order.argv.iter().map(|word| word.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    });
    let agent = order.map(|order| AgentProcess::start(order, proxy.reaches(), &report));
    let agent = agent
        .transpose()
        .map_err(|error| Failure::refused(format!("the agent cannot be started: {error}")))?;
    let about = ProxyInfo {
        unverified: upstreams
            .iter()
            .map(|upstream| upstream.base.name())
            .filter(|host| {
                unverified
                    .iter()
                    .any(|name| name.eq_ignore_ascii_case(host))
            })
            .map(str::to_owned)
            .collect(),
        upstreams: upstreams
            .into_iter()
            .map(|upstream| upstream.name)
            .collect(),
        connect: connect::text(proxy.reaches())
            .lines()
            .map(str::to_owned)
            .collect(),
        recording: Some(proxy.journal().to_owned()),
        child,
        is_intercepting,
        breakpoints: breakpoints.clone(),
    };
    let seen = Arc::new(Seen {
        proxy,
        breakpoints: Mutex::new(breakpoints),
    });
    let watched = Watched {
        proxy: seen.clone(),
        news,
        about,
    };
    let left = tui::watch(&request, watched);
    if matches!(left, Ok(Left::Panicked)) {
        // Whoever waits for a decision that nobody can make any more gets what came.
        seen.proxy.release_all();
    }
    // The agent first: what it still asks would only be refused.
    drop(agent);
    report_where("the recording is in", seen.proxy.journal(), "");
    match left {
        Ok(Left::Quit) => Ok(Exit::Clean),
        Ok(Left::Signal(signal)) => Ok(Exit::Signal(signal)),
        Ok(Left::Panicked) => Ok(Exit::Panicked),
        Err(error) => Err(Failure::refused(error.to_string())),
    }
}
