//! `proxy`: between any agent and its model, on the screen or without one.

use super::arguments::ProxyArguments;
use super::chaos::Wish;
use super::exit::{Exit, Failure, LOOK, Why, refused};
use super::output::safe_line;
use super::report::{write_finding, write_line};
use foldhash::quality::RandomState;
use retake_core::engine::Policy;
use retake_core::exchange::{ExchangeEnding, ExchangeId, ExchangePhase, ExchangeSummary};
use retake_core::redact::{Redactor, Vault};
use retake_core::rules::Finding;
use retake_live::proxy::agent::{self, AgentCommand, AgentProcess, PLACEHOLDER_KEYS};
use retake_live::proxy::connect::{self, Reach};
use retake_live::proxy::{Ports, Proxy, ProxyError, ProxyNews, ProxyOptions, Report, Upstream};
use retake_live::report::FileReport;
use retake_live::wordings::{Wordings, usual_files};
use retake_live::{Recording, note_ends, read_policy};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::hash::BuildHasher;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use std::{iter, thread};

mod screen;
#[cfg(test)]
mod tests;

pub(super) fn run(arguments: &ProxyArguments) -> Result<Exit, Failure> {
    if let Some(spec) = &arguments.chaos {
        let wish = Wish {
            spec,
            command: &arguments.command,
            defaults: keys(arguments),
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
    let report: Report = Arc::new(move |one: ProxyNews| {
        // The receiver wakes up for each.
        if !is_silent(&one) && bound.admits(&one) {
            // Nobody hears it when the proxy is over.
            let _over = sender.send(one);
        }
    });
    let proxy = Proxy::start(options, report.clone());
    let proxy = proxy.map_err(not_started)?;
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
            format!("other machines could reach {ip} and use the agent's model"),
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
    read_policy(path, &wordings).map_err(refused)
}

/// The agent to start, if one is named.
fn order(arguments: &ProxyArguments) -> Result<Option<AgentCommand>, Failure> {
    if arguments.command.is_empty() {
        return Ok(None);
    }
    let output = arguments
        .output
        .as_ref()
        .map(|path| agent::output_file(path).map_err(|error| Failure::of_file(path, &error)));
    Ok(Some(AgentCommand {
        argv: arguments.command.clone(),
        // A terminal is for whoever is in front, and the agent is in no session that has one.
        inherits_input: arguments.headless && !io::stdin().is_terminal(),
        output: output.transpose()?,
        defaults: keys(arguments),
    }))
}

/// What the agent finds in place of a key: a provider wants its own, a server on this machine usually none.
fn keys(arguments: &ProxyArguments) -> &'static [(&'static str, &'static str)] {
    match arguments.upstream.iter().all(Upstream::is_local) {
        true => PLACEHOLDER_KEYS,
        false => &[],
    }
}

/// Why a proxy was not started.
pub(super) fn not_started(error: ProxyError) -> Failure {
    let is_taken = error.is_port_taken();
    let failure = refused(error);
    match is_taken {
        true => failure
            .hinting("port 0, as --listen 127.0.0.1:0, takes any free port; so does no --listen"),
        false => failure,
    }
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
    fn admits(&self, news: &ProxyNews) -> bool {
        let is_dropped = matches!(news, ProxyNews::Exchange(_) | ProxyNews::Found { .. })
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

    /// How many were dropped since this was called last, in words.
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

// What a proxy without a screen says: one JSON object a line.
//
// The first lines are the listeners (`listening`), the last one the end (`end`). Between them is what was
// found, as `check` writes it with the `exchange` before (`finding`), what is held (`held`) and where that is
// kept (`journal`), what was decided (`decision`), each exchange when it is over (`exchange`), the lines of
// the agent that was started (`output`), and what the operator should know (`notice`).

/// In how many of the latest exchanges it is remembered which findings were reported.
const REMEMBERED: usize = 256;

/// The lines that say more than what happened; see [`ProxyNews`] for the others, and [`write_finding`].
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line<'a> {
    Listening {
        address: &'a str,
        upstream: &'a str,
        journal: &'a str,
    },
    Exchange {
        #[serde(flatten)]
        seen: &'a ExchangeSummary,
        upstream: &'a str,
        #[serde(flatten)]
        how: &'a ExchangeEnding,
    },
    Held {
        exchange: ExchangeId,
        of: &'static str,
        since_ms: u64,
        until_ms: Option<u64>,
        why: &'a str,
    },
    End {
        #[serde(flatten)]
        why: Why,
        exchanges: u32,
        held: u32,
        #[serde(flatten)]
        counts: &'a Counts,
        decisions: u32,
        findings: u32,
    },
}

/// How many exchanges ended how.
#[derive(Debug, Default, Serialize)]
struct Counts {
    passed: u32,
    released: u32,
    mended: u32,
    refused: u32,
    cut: u32,
    no_reply: u32,
    truncated: u32,
    client_left: u32,
    interrupted: u32,
}

impl Counts {
    fn add(&mut self, how: &ExchangeEnding) {
        *match how {
            ExchangeEnding::Passed => &mut self.passed,
            ExchangeEnding::Released { .. } => &mut self.released,
            ExchangeEnding::Mended => &mut self.mended,
            ExchangeEnding::Refused { .. } => &mut self.refused,
            ExchangeEnding::Cut => &mut self.cut,
            ExchangeEnding::NoReply { .. } => &mut self.no_reply,
            ExchangeEnding::Truncated => &mut self.truncated,
            ExchangeEnding::ClientLeft => &mut self.client_left,
            ExchangeEnding::Interrupted => &mut self.interrupted,
        } += 1;
    }
}

/// Which exchanges are over. They end in another order than they begin, but not by much.
#[derive(Debug, Default)]
struct Over {
    /// All up to here are.
    all_to: u32,
    beyond: HashSet<u32>,
}

impl Over {
    /// Notes that one is; tells whether that is new.
    fn note(&mut self, id: ExchangeId) -> bool {
        if id.0 <= self.all_to || !self.beyond.insert(id.0) {
            return false;
        }
        while self.beyond.remove(&(self.all_to + 1)) {
            self.all_to += 1;
        }
        true
    }
}

/// Whether there is nothing to say of this: an exchange that goes its way.
fn is_silent(news: &ProxyNews) -> bool {
    match news {
        ProxyNews::Exchange(seen) => {
            matches!(seen.phase, ExchangePhase::Waiting | ExchangePhase::Replying)
        }
        _ => false,
    }
}

/// Writes what happens, and each thing once.
struct Teller<'a, W> {
    out: W,
    reaches: &'a [Reach],
    journal: &'a Path,
    hasher: RandomState,
    /// Findings that were reported: digests of rule, place and sentence.
    reported: BTreeMap<ExchangeId, HashSet<u64>>,
    /// What is held, and since when.
    held: BTreeMap<ExchangeId, u64>,
    over: Over,
    /// What the operator should know, until the first listener is reported: its address is the first line.
    early: Option<Vec<ProxyNews>>,
    tokens: Vec<(String, String)>,
    redactor: Redactor,
    begun: u32,
    holds: u32,
    decisions: u32,
    findings: u32,
    counts: Counts,
}

impl<'a, W: Write> Teller<'a, W> {
    fn new(out: W, reaches: &'a [Reach], journal: &'a Path) -> Self {
        Self {
            out,
            reaches,
            journal,
            hasher: RandomState::default(),
            reported: BTreeMap::new(),
            held: BTreeMap::new(),
            over: Over::default(),
            early: Some(Vec::new()),
            tokens: Vec::new(),
            redactor: Redactor::default(),
            begun: 0,
            holds: 0,
            decisions: 0,
            findings: 0,
            counts: Counts::default(),
        }
    }

    fn tell(&mut self, news: &ProxyNews) -> Result<(), Failure> {
        match news {
            ProxyNews::Listening { base, upstream, .. } => {
                self.learn_token(base);
                let journal = self.journal.to_string_lossy();
                let line = Line::Listening {
                    address: base,
                    upstream,
                    journal: &journal,
                };
                // Whoever reads it has to know the token.
                write_line(&mut self.out, &line)?;
                self.out.flush()?;
                let early = self.early.take().unwrap_or_default();
                early.iter().try_for_each(|notice| self.write(notice))
            }
            ProxyNews::Exchange(seen) => self.exchange(seen),
            ProxyNews::Found {
                id,
                findings,
                session,
            } => self.found(*id, findings, session),
            ProxyNews::Decided { .. } => {
                self.decisions += 1;
                self.write(news)
            }
            ProxyNews::Journal { .. } | ProxyNews::Output { .. } => self.write(news),
            ProxyNews::Notice(_) => match &mut self.early {
                Some(early) => {
                    early.push(news.clone());
                    Ok(())
                }
                None => self.write(news),
            },
            ProxyNews::AgentEnded(_) => Ok(()),
        }
    }

    /// Hands over what was reported: whoever reads it wants to know it now.
    fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush()?;
        Ok(())
    }

    fn end(mut self, why: Why) -> Result<(), Failure> {
        let line = Line::End {
            why,
            exchanges: self.begun,
            held: self.holds,
            counts: &self.counts,
            decisions: self.decisions,
            findings: self.findings,
        };
        write_line(&mut self.out, &line)?;
        self.out.flush()?;
        Ok(())
    }

    /// The token of a listener is not reported again.
    fn learn_token(&mut self, base: &str) {
        if let Some((_, token)) = base.split_once("/t/") {
            let token = ("listener token".to_owned(), token.to_owned());
            self.tokens.push(token);
            self.redactor = Redactor::new(self.tokens.iter().cloned());
        }
    }

    /// Writes a line without the secrets that paths, models and an agent's output may hold: what it goes
    /// to is often kept.
    fn write(&mut self, line: &impl Serialize) -> Result<(), Failure> {
        let mut text = Vec::new();
        write_line(&mut text, line)?;
        let clean = self.redactor.json(&text, &mut Vault::default());
        self.out.write_all(&clean)?;
        Ok(())
    }

    fn exchange(&mut self, seen: &ExchangeSummary) -> Result<(), Failure> {
        self.begun = self.begun.max(seen.id.0);
        match &seen.phase {
            ExchangePhase::Held(holding) => {
                let since = self.held.insert(seen.id, holding.since_ms);
                if since == Some(holding.since_ms) {
                    return Ok(());
                }
                self.holds += 1;
                self.write(&Line::Held {
                    exchange: seen.id,
                    of: if holding.is_request {
                        "request"
                    } else {
                        "reply"
                    },
                    since_ms: holding.since_ms,
                    until_ms: holding.until_ms,
                    why: &holding.why,
                })
            }
            ExchangePhase::Ended(how) => {
                self.held.remove(&seen.id);
                if !self.over.note(seen.id) {
                    return Ok(());
                }
                self.counts.add(how);
                self.ended(seen, how)
            }
            ExchangePhase::Asking
            | ExchangePhase::Waiting
            | ExchangePhase::Replying
            | ExchangePhase::AskingAgain(_) => {
                self.held.remove(&seen.id);
                Ok(())
            }
        }
    }

    fn ended(&mut self, seen: &ExchangeSummary, how: &ExchangeEnding) -> Result<(), Failure> {
        let reach = self.reaches.get(seen.upstream);
        self.write(&Line::Exchange {
            seen,
            upstream: reach.map_or("", |reach| reach.upstream.name.as_str()),
            how,
        })
    }

    fn found(
        &mut self,
        id: ExchangeId,
        findings: &[Finding],
        recording: &Recording,
    ) -> Result<(), Failure> {
        let report = FileReport::of(recording, &[findings.to_vec()], None, false);
        let mut report = report.map_err(|error| Failure::refused(error.to_string()))?;
        if report.path.is_empty() {
            // What passes without a hold has no file of its own.
            report.path = self.journal.to_string_lossy().into_owned();
        }
        let reported = self.reported.entry(id).or_default();
        for session in &report.sessions {
            for finding in &session.findings {
                let known = (finding.rule.id, finding.item, &finding.message);
                if reported.insert(self.hasher.hash_one(known)) {
                    self.findings += 1;
                    write_finding(&mut self.out, Some(id), &report, session, finding)?;
                }
            }
        }
        while self.reported.len() > REMEMBERED {
            self.reported.pop_first();
        }
        Ok(())
    }
}

// A proxy without a screen: the policy decides, and what happens is reported line by line.

/// So long news gather once some were reported: nobody who reports has to wake a thread meanwhile, which costs
/// more than the report.
const REST: Duration = Duration::from_millis(5);
/// So many news are reported until the output is flushed and a signal is looked for.
const BATCH: usize = 256;

/// A proxy that was started, as far as its news tell of it.
struct Watched<'a> {
    reaches: &'a [Reach],
    journal: &'a Path,
    news: &'a Receiver<ProxyNews>,
    /// Counts what it tells.
    backlog: &'a Backlog,
    /// Who hears the news; the agent tells its own there.
    report: &'a Report,
    /// The agent to start once all listeners are ready.
    order: Option<AgentCommand>,
}

/// Watches a proxy until a signal comes (`signal` tells its number) or the agent that was started has ended,
/// stops it, and says how it ended. What is reported goes to `out`, how agents are pointed at it to `hints`.
fn watch(
    watched: Watched<'_>,
    signal: impl Fn() -> Option<i32>,
    stop: impl FnOnce(),
    out: impl Write,
    mut hints: impl Write,
) -> Result<Exit, Failure> {
    let mut teller = Teller::new(out, watched.reaches, watched.journal);
    let (mut ready, mut agent, mut order) = (0, None, watched.order);
    let why = 'reported: loop {
        if let Some(signal) = signal() {
            break 'reported Why::Signal { signal };
        }
        match watched.news.recv_timeout(LOOK) {
            Ok(first) => {
                let more = watched.news.try_iter().take(BATCH - 1);
                for news in iter::once(first).chain(more) {
                    watched.backlog.take();
                    teller.tell(&news)?;
                    match news {
                        ProxyNews::Listening { .. } => {
                            ready += 1;
                            let is_last = ready == watched.reaches.len();
                            if let Some(order) = order.take_if(|_| is_last) {
                                agent = Some(start_agent(order, watched.reaches, watched.report)?);
                            } else if is_last {
                                // Without stderr there is nobody to tell.
                                let text = connect::hint(watched.reaches);
                                let _unread = hints.write_all(text.as_bytes());
                            }
                        }
                        ProxyNews::AgentEnded(status) => {
                            break 'reported status.into();
                        }
                        _ => {}
                    }
                }
                if let Some(words) = watched.backlog.dropped() {
                    teller.tell(&ProxyNews::Notice(words))?;
                }
                teller.flush()?;
                thread::sleep(REST);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::refused("the proxy ended by itself"));
            }
        }
    };
    // The agent first: what it still asks would only be refused.
    drop(agent);
    stop();
    for news in watched.news.try_iter() {
        teller.tell(&news)?;
    }
    teller.end(why)?;
    Ok(match why {
        Why::Signal { signal } => Exit::Signal(signal),
        Why::Agent { code, signal } => exit_of(code, signal),
    })
}

/// The exit code of an agent is passed on.
fn exit_of(code: Option<i32>, signal: Option<i32>) -> Exit {
    match (code.map(u8::try_from), signal) {
        (Some(Ok(code)), _) => Exit::Command(code),
        (_, Some(signal)) => Exit::Signal(signal),
        // Unix has no other codes, and no third way to end.
        _ => Exit::Command(u8::MAX),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod backlog_tests {
    use super::*;
    use super::{Watched, watch};
    use crate::cli::exit::Exit;
    use retake_core::exchange::ExchangeSummary;
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
        sender: Sender<ProxyNews>,
        is_over: Arc<std::sync::atomic::AtomicBool>,
        writes: usize,
        flushes: usize,
    }

    impl Write for Echoing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            if self.writes < TOO_MANY && !self.is_over.load(Ordering::Relaxed) {
                self.sender
                    .send(ProxyNews::Notice("again".to_owned()))
                    .unwrap();
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
        let again = ProxyNews::Notice("again".to_owned());
        let listening = ProxyNews::Listening {
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
        let exchange = ProxyNews::Exchange(Arc::new(ExchangeSummary::default()));
        let admitted = (0..MOST + 7).filter(|_| backlog.admits(&exchange)).count();
        assert_eq!(admitted, MOST);
        assert!(backlog.admits(&ProxyNews::Notice(String::new())));
        let words = backlog.dropped().unwrap();
        assert!(words.starts_with("7 lines"), "{words}");
        assert_eq!(backlog.dropped(), None);
        (0..2).for_each(|_| backlog.take());
        assert!(backlog.admits(&exchange));
    }
}
