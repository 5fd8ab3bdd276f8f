//! `proxy`: between any agent and its model, on the screen or without one.

use super::arguments::ProxyArguments;
use super::chaos::Wish;
use super::exit::{Exit, Failure};
use super::output::safe_line;
use headless::{Watched, watch};
use jsonl::is_silent;
use retake_core::engine::Policy;
use retake_live::proxy::agent::{self, AgentCommand, AgentProcess};
use retake_live::proxy::connect::Reach;
use retake_live::proxy::{News, Ports, Proxy, ProxyError, ProxyOptions, Report};
use retake_live::wordings::{Wordings, usual_files};
use retake_live::{note_ends, read_policy};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

mod headless;
mod jsonl;
mod screen;
#[cfg(test)]
mod tests;

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

// How many news wait to be written: where nobody reads the lines, memory is bounded.

/// So many news wait at most, not counting those that decide how the proxy goes on.
const MOST: usize = 10_000;

/// Counts news that wait, and those that were dropped.
#[derive(Debug, Default)]
struct Backlog {
    waiting: AtomicUsize,
    dropped: AtomicUsize,
}

impl Backlog {
    /// Whether there is room for these news. What happens to exchanges is in the journal as well, so
    /// it can be dropped.
    fn admits(&self, news: &News) -> bool {
        let is_dropped = matches!(news, News::Exchange(_) | News::Found { .. })
            && self.waiting.load(Ordering::Relaxed) >= MOST;
        let count = if is_dropped {
            &self.dropped
        } else {
            &self.waiting
        };
        count.fetch_add(1, Ordering::Relaxed);
        !is_dropped
    }

    /// One that was admitted waits no longer.
    fn take(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many were dropped since this was asked last, in words.
    fn dropped(&self) -> Option<String> {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        (dropped > 0).then(|| {
            format!(
                "{dropped} lines about exchanges were dropped because the output was not read; the journal has \
                the exchanges"
            )
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod backlog_tests {
    use super::headless::{Watched, watch};
    use super::*;
    use crate::cli::exit::Exit;
    use retake_core::exchange::Seen;
    use retake_live::proxy::Report;
    use std::cell::Cell;
    use std::io::{self, Write};
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};

    /// More lines than anybody waits for.
    const TOO_MANY: usize = 20_000;

    /// An output with which news come as fast as they are written.
    struct Echoing {
        sender: Sender<News>,
        is_over: Arc<std::sync::atomic::AtomicBool>,
        writes: usize,
        flushes: usize,
    }

    impl Write for Echoing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            if self.writes < TOO_MANY && !self.is_over.load(Ordering::Relaxed) {
                self.sender.send(News::Notice("again".to_owned())).unwrap();
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.flushes += 1;
            Ok(())
        }
    }

    #[test]
    fn a_signal_is_heard_although_lines_keep_coming() {
        let (sender, news) = channel();
        let again = News::Notice("again".to_owned());
        let listening = News::Listening {
            address: ([127, 0, 0, 1], 8484).into(),
            base: "http://127.0.0.1:8484".to_owned(),
            upstream: "a".to_owned(),
        };
        (0..600).for_each(|_| sender.send(again.clone()).unwrap());
        sender.send(listening).unwrap();
        sender.send(again).unwrap();
        let is_over = Arc::default();
        let mut out = Echoing {
            sender,
            is_over: Arc::clone(&is_over),
            writes: 0,
            flushes: 0,
        };
        let report: Report = Arc::new(|_| ());
        let watched = Watched {
            reaches: &[],
            journal: Path::new("proxy.jsonl"),
            news: &news,
            backlog: &Backlog::default(),
            report: &report,
            order: None,
        };
        let asked = Cell::new(0);
        let signal = || {
            asked.set(asked.get() + 1);
            (asked.get() > 5).then_some(15)
        };
        let stop = || is_over.store(true, Ordering::Relaxed);
        let exit = watch(watched, signal, stop, &mut out, io::sink());
        assert!(matches!(exit, Ok(Exit::Signal(15))));
        let (writes, flushes) = (out.writes, out.flushes);
        assert!((600..TOO_MANY).contains(&writes), "{writes}");
        assert!(flushes < 20, "{flushes} of {writes}");
    }

    #[test]
    fn exchanges_that_nobody_reads_of_are_dropped_and_counted() {
        let backlog = Backlog::default();
        let exchange = News::Exchange(Arc::new(Seen::default()));
        let admitted = (0..MOST + 7).filter(|_| backlog.admits(&exchange)).count();
        assert_eq!(admitted, MOST);
        assert!(backlog.admits(&News::Notice(String::new())));
        let words = backlog.dropped().unwrap();
        assert!(words.starts_with("7 lines"), "{words}");
        assert_eq!(backlog.dropped(), None);
        (0..2).for_each(|_| backlog.take());
        assert!(backlog.admits(&exchange));
    }
}
