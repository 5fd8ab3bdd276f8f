//! A proxy without a screen: the policy decides, and what happens is told line by line.

use super::jsonl::Teller;
use super::{Backlog, start_agent};
use crate::cli::exit::{Exit, Failure, Why};
use retake_live::proxy::agent::AgentCommand;
use retake_live::proxy::connect::{self, Reach};
use retake_live::proxy::{News, Report};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use std::{iter, thread};

/// So long news gather once some were told: nobody who reports has to wake a thread meanwhile, which costs
/// more than the report.
const REST: Duration = Duration::from_millis(5);
/// So many news are told until the output is flushed and a signal is looked for.
const BATCH: usize = 256;
/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// A proxy that was started, as far as its news tell of it.
pub(super) struct Watched<'a> {
    pub(super) reaches: &'a [Reach],
    pub(super) journal: &'a Path,
    pub(super) news: &'a Receiver<News>,
    /// Counts what it tells.
    pub(super) backlog: &'a Backlog,
    /// Who hears the news; the agent tells its own there.
    pub(super) report: &'a Report,
    /// The agent to start once all listeners are ready.
    pub(super) order: Option<AgentCommand>,
}

/// Watches a proxy until a signal comes (`signal` tells its number) or the agent that was started has ended,
/// stops it, and says how it ended. What is told goes to `out`, how agents are pointed at it to `hints`.
pub(super) fn watch(
    watched: Watched<'_>,
    signal: impl Fn() -> Option<i32>,
    stop: impl FnOnce(),
    out: impl Write,
    mut hints: impl Write,
) -> Result<Exit, Failure> {
    let mut teller = Teller::new(out, watched.reaches, watched.journal);
    let (mut ready, mut agent, mut order) = (0, None, watched.order);
    let why = 'told: loop {
        if let Some(signal) = signal() {
            break 'told Why::Signal { signal };
        }
        match watched.news.recv_timeout(LOOK) {
            Ok(first) => {
                let more = watched.news.try_iter().take(BATCH - 1);
                for news in iter::once(first).chain(more) {
                    watched.backlog.take();
                    teller.tell(&news)?;
                    match news {
                        News::Listening { .. } => {
                            ready += 1;
                            let is_last = ready == watched.reaches.len();
                            if let Some(order) = order.take_if(|_| is_last) {
                                agent = Some(start_agent(order, watched.reaches, watched.report)?);
                            } else if is_last {
                                // Without stderr there is nobody to tell.
                                let text = connect::text(watched.reaches);
                                let _unread = hints.write_all(text.as_bytes());
                            }
                        }
                        News::AgentEnded(status) => {
                            break 'told status.into();
                        }
                        _ => {}
                    }
                }
                if let Some(words) = watched.backlog.dropped() {
                    teller.tell(&News::Notice(words))?;
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
