//! `proxy`: between any agent and its model, on the screen or without one.

mod backlog;
mod headless;
mod jsonl;
mod screen;
#[cfg(test)]
mod tests;

use super::arguments::ProxyArguments;
use super::chaos::Wish;
use super::exit::{Exit, Failure};
use super::output::safe_line;
use backlog::Backlog;
use headless::{Watched, watch};
use jsonl::is_silent;
use retake_core::engine::Policy;
use retake_live::note_ends;
use retake_live::proxy::agent::{self, AgentCommand, AgentProcess};
use retake_live::proxy::connect::Reach;
use retake_live::proxy::{News, Ports, Proxy, ProxyError, ProxyOptions, Report};
use retake_live::read_policy;
use retake_live::wordings::{Wordings, usual_files};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;

/// Runs a proxy to its end.
pub(super) fn run(arguments: &ProxyArguments) -> Result<Exit, Failure> {
    if let Some(spec) = &arguments.chaos {
        let wish = Wish {
            spec,
            command: &arguments.command,
            defaults: &[],
            format: arguments.format,
            recording: None,
        };
        return super::chaos::run(&wish, || options(arguments));
    }
    if !arguments.headless && !io::stdout().is_terminal() {
        let message = "the screen of a proxy needs a terminal";
        return Err(Failure::with_hint(
            message,
            "--headless runs without one, by a policy",
        ));
    }
    let options = options(arguments)?;
    let order = order(arguments)?;
    if !arguments.headless {
        return screen::show(&arguments.look, options, order);
    }
    let signal = note_ends();
    let (sender, news) = channel();
    let backlog = Arc::new(Backlog::default());
    let bound = backlog.clone();
    let report: Report = Arc::new(move |one: News| {
        // Whoever is told wakes up for it.
        if !is_silent(&one) && bound.admits(&one) {
            // Nobody hears it when the proxy is over.
            let _over = sender.send(one);
        }
    });
    let proxy = Proxy::start(options, report.clone());
    let proxy = proxy.map_err(not_running)?;
    let (journal, reaches) = (proxy.journal().to_owned(), proxy.reaches().to_vec());
    let watched = Watched {
        reaches: &reaches,
        journal: &journal,
        news: &news,
        backlog: &backlog,
        report: &report,
        order,
    };
    let (out, hints) = (io::stdout().lock(), io::stderr());
    watch(watched, signal, move || drop(proxy), out, hints)
}

/// Starts the agent of a command line.
pub(super) fn start_agent(
    order: AgentCommand,
    reaches: &[Reach],
    report: &Report,
) -> Result<AgentProcess, Failure> {
    let name = order
        .argv
        .first()
        .map(|name| safe_line(&name.to_string_lossy()));
    let name = name.unwrap_or_default();
    AgentProcess::start(order, reaches, report)
        .map_err(|error| Failure::refused(format!("{name} cannot be started: {error}")))
}

pub(super) fn not_running(error: ProxyError) -> Failure {
    Failure::refused(safe_line(&error.to_string()))
}

/// What the arguments ask for.
fn options(arguments: &ProxyArguments) -> Result<ProxyOptions, Failure> {
    let ports = match arguments.listen {
        Some(first) => Ports {
            first,
            are_fixed: true,
        },
        None => Ports::default(),
    };
    if !ports.first.ip().to_canonical().is_loopback() && !arguments.allow_remote {
        let ip = ports.first.ip();
        return Err(Failure::with_hint(
            format!("others could reach {ip} and use the agent's model"),
            "--listen 127.0.0.1:8484, or --allow-remote, which wants a token of each",
        ));
    }
    Ok(ProxyOptions {
        upstreams: arguments.upstream.clone(),
        ports,
        allow_remote: arguments.allow_remote,
        host_names: arguments.host_names.clone(),
        insecure: arguments.insecure.clone(),
        policy: policy(arguments)?,
        breakpoints: super::run::breakpoints(&arguments.breakpoints)?,
        has_operator: !arguments.headless && arguments.chaos.is_none(),
        journal: arguments.journal.clone(),
        intercepts: !arguments.no_intercept,
        holds_requests: !arguments.pass_requests,
        max_asks: arguments.max_asks,
    })
}

fn policy(arguments: &ProxyArguments) -> Result<Policy, Failure> {
    let Some(path) = &arguments.policy else {
        return Ok(Policy::default());
    };
    let wordings = Wordings::read(&usual_files(Path::new(".")));
    read_policy(path, &wordings).map_err(super::run::refused)
}

/// The agent to start, if one is named.
fn order(arguments: &ProxyArguments) -> Result<Option<AgentCommand>, Failure> {
    if arguments.command.is_empty() {
        return Ok(None);
    }
    let output = arguments.output.as_ref().map(|path| {
        agent::output_file(path).map_err(|error| {
            let name = safe_line(&path.to_string_lossy());
            Failure::refused(format!("{name}: {error}"))
        })
    });
    Ok(Some(AgentCommand {
        argv: arguments.command.clone(),
        // A terminal is for whoever is in front, and the agent is in no session that has one.
        inherits_input: arguments.headless && !io::stdin().is_terminal(),
        output: output.transpose()?,
        defaults: &[],
    }))
}
