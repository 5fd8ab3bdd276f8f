//! One agent, started anew before a proxy that injects one fault: how it ends, and what it
//! did after the fault.

use super::agent::{AgentCommand, AgentProcess};
use super::chaos::Chaos;
use super::news::{News, Report};
use super::options::ProxyOptions;
use super::running::{Proxy, ProxyError};
use retake_core::chaos::{End, Injection, Usual};
use retake_core::exchange::{Ending, Phase};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How many of the last lines of its standard error are kept.
const LINES: usize = 40;

/// How an agent is started, again and again.
#[derive(Debug, Clone, Copy)]
pub struct AgentStart<'a> {
    pub argv: &'a [OsString],
    /// Variables that it gets where retake's own environment does not have them: name and value.
    pub defaults: &'static [(&'static str, &'static str)],
    /// How long it may take.
    pub patience: Duration,
}

/// An agent that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    pub end: End,
    /// What was injected, in its order.
    pub injections: Vec<Injection>,
    /// The requests that it made.
    pub requests: Usual,
    /// The last lines of its standard error.
    pub stderr: Vec<String>,
    /// Why the upstream gave no reply, where it gave none.
    pub no_reply: Option<String>,
    /// The journal with its conversations.
    pub journal: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    #[error("the agent cannot be started: {0}")]
    AgentProcess(#[from] io::Error),
    #[error("interrupted")]
    Interrupted(i32),
    #[error("the proxy ended by itself")]
    Over,
}

/// Starts a proxy and an agent before it, and waits until the agent has ended. One that takes too long is
/// ended; `signal` tells the number of one that came, and then both are.
pub fn play(
    options: ProxyOptions,
    chaos: &Arc<Chaos>,
    start: AgentStart<'_>,
    signal: &dyn Fn() -> Option<i32>,
) -> Result<Played, TrialError> {
    let (sender, news) = channel();
    let report: Report = Arc::new(move |one: News| {
        // Nobody hears it when the agent is over.
        let _over = sender.send(one);
    });
    let proxy = Proxy::start_with_chaos(options, chaos.clone(), report.clone())?;
    let order = AgentCommand {
        argv: start.argv.to_vec(),
        inherits_input: false,
        output: None,
        defaults: start.defaults,
    };
    let mut agent = AgentProcess::start(order, proxy.reaches(), &report)?;
    let mut heard = Heard::default();
    let end = wait(&news, start.patience, signal, &mut heard);
    agent.end();
    drop(agent);
    let journal = proxy.journal().to_owned();
    drop(proxy);
    news.try_iter().for_each(|one| heard.take(one));
    Ok(Played {
        end: end?,
        injections: chaos.injections(),
        requests: chaos.requests(),
        stderr: heard.stderr.into(),
        no_reply: heard.no_reply,
        journal,
    })
}

/// Reports from the time while an agent ran.
#[derive(Default)]
struct Heard {
    stderr: VecDeque<String>,
    no_reply: Option<String>,
    end: Option<End>,
}

impl Heard {
    fn take(&mut self, news: News) {
        match news {
            News::Output {
                text,
                is_error: true,
            } => {
                self.stderr.push_back(text);
                if self.stderr.len() > LINES {
                    self.stderr.pop_front();
                }
            }
            News::Exchange(seen) => {
                if let Phase::Ended(Ending::NoReply { why }) = &seen.phase {
                    self.no_reply.get_or_insert_with(|| why.clone());
                }
            }
            News::AgentEnded(status) => self.end = Some(End::Exit(status.code())),
            _ => {}
        }
    }
}

fn wait(
    news: &Receiver<News>,
    patience: Duration,
    signal: &dyn Fn() -> Option<i32>,
    heard: &mut Heard,
) -> Result<End, TrialError> {
    let since = Instant::now();
    loop {
        if let Some(number) = signal() {
            return Err(TrialError::Interrupted(number));
        }
        let left = patience.saturating_sub(since.elapsed());
        if left.is_zero() {
            return Ok(End::TimedOut);
        }
        match news.recv_timeout(left.min(LOOK)) {
            Ok(one) => heard.take(one),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(TrialError::Over),
        }
        if let Some(end) = heard.end {
            return Ok(end);
        }
    }
}
