//! The process that keeps a tool: `retake` itself, started again with one hidden word.
//!
//! A tool needs a session of its own, so that it has no terminal, and everything that it starts has to fall to
//! somebody who ends it. Both are properties of a process that a program can give only to itself, so the tool
//! is started by a process of retake's between the run and the tool. Its standard input is a socket that leads
//! to the run: the [`Order`] comes in, what happened goes out. When the socket closes, because the run stops
//! the tool or is gone itself, the tool is ended. Its standard output and standard error are those of the tool;
//! it writes nothing there itself.

use super::tree;
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// The word that makes `retake` the keeper of a tool.
pub(super) const WORD: &str = "--keep-tool";

/// The longest order, in bytes.
const LONGEST_ORDER: u64 = 128 << 20;
/// Grace period for processes that a tool leaves running.
const GRACE_OF_THE_LEFT: Duration = Duration::from_secs(1);
/// How long killed processes may take until they are gone.
pub(super) const UNTIL_GONE: Duration = Duration::from_secs(2);
/// How often the processes below are looked at while they are to end.
pub(super) const LOOK: Duration = Duration::from_millis(10);

/// Keeps a tool, if that is what this process was started for; `argument` is the first one of the command line.
/// `None`: it was not.
///
/// To be called before the program does anything else: files that were inherited are closed without
/// asking whose they are.
pub fn keep_if_asked(argument: Option<&OsStr>) -> Option<ExitCode> {
    if argument? != WORD {
        return None;
    }
    Some(match keep() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The run reads this in place of a report; without a reader there
            // is nobody to tell.
            let _ignored = writeln!(io::stderr(), "retake {WORD}: {error}");
            ExitCode::FAILURE
        }
    })
}

fn keep() -> io::Result<()> {
    close_inherited()?;
    let mut line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    rustix::process::setsid()?;
    tree::adopt_orphans()?;
    let order = read_order(&line)?;
    let (sender, news) = channel();
    let watched = line.try_clone()?;
    let hung_up = sender.clone();
    Builder::new().spawn(move || watch(watched, &hung_up))?;
    let mut child = match start(&order) {
        Ok(child) => child,
        Err(error) => {
            let not_started = NotStarted {
                errno: error.raw_os_error(),
                words: error.to_string(),
            };
            return send(&mut line, &Err(not_started));
        }
    };
    let group = Pid::from_child(&child);
    let mut kept = Kept {
        group,
        news,
        status: None,
    };
    if let Err(error) = hand_over(&mut child, order.input, sender) {
        kept.end(Duration::ZERO);
        return Err(error);
    }
    let ended = kept.until_the_end(
        Duration::from_millis(order.timeout_ms),
        Duration::from_millis(order.grace_ms),
    );
    send(&mut line, &Ok(ended))
}

/// Closes every file that this process was started with, but for its standard ones: nothing of them is
/// meant for a tool.
fn close_inherited() -> io::Result<()> {
    let names = std::fs::read_dir("/dev/fd")?;
    let open = names.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<RawFd>().ok());
    let open = open.filter(|file| *file > 2).collect::<Vec<_>>();
    for file in open {
        // One of them was the folder that was just read, and is closed already.
        let _closed = nix::unistd::close(file);
    }
    Ok(())
}

fn read_order(line: &UnixStream) -> io::Result<ToolOrder> {
    let mut order = Vec::new();
    BufReader::new(line)
        .take(LONGEST_ORDER)
        .read_until(b'\n', &mut order)?;
    Ok(serde_json::from_slice(&order)?)
}

fn send(line: &mut UnixStream, reply: &SupervisorReply) -> io::Result<()> {
    let mut reply = serde_json::to_vec(reply)?;
    reply.push(b'\n');
    line.write_all(&reply)
}

fn start(order: &ToolOrder) -> io::Result<Child> {
    let Some((program, arguments)) = order.argv.split_first() else {
        return Err(io::ErrorKind::NotFound.into());
    };
    // A group of its own, so that it can be signalled without this process.
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn()
}

/// Something that the keeper waits for.
enum News {
    Ended(ExitStatus),
    /// The run wants no more of it.
    HungUp,
}

/// Waits until the run closes its end.
fn watch(mut line: UnixStream, news: &Sender<News>) {
    // The run says nothing after the order, so whatever comes, an error as well, is its end; the keeper
    // may have ended before.
    let _said = line.read(&mut [0; 1]);
    let _gone = news.send(News::HungUp);
}

/// Hands the arguments to the tool and waits for its end, both beside.
fn hand_over(child: &mut Child, input: String, news: Sender<News>) -> io::Result<()> {
    if let Some(mut stdin) = child.stdin.take() {
        Builder::new().spawn(move || {
            // A tool need not read its arguments.
            let _unread = stdin.write_all(input.as_bytes());
        })?;
    }
    let pid = Pid::from_child(child);
    Builder::new().spawn(move || {
        // Waiting for one's own child fails only where somebody else buried it; the tree then shows
        // that it is gone.
        let status = wait_for(pid).unwrap_or_default();
        let _gone = news.send(News::Ended(status));
    })?;
    Ok(())
}

fn wait_for(pid: Pid) -> io::Result<ExitStatus> {
    let waited = rustix::io::retry_on_intr(|| {
        rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty())
    })?;
    let status = waited.map_or(0, |(_, status)| status.as_raw());
    Ok(ExitStatus::from_raw(status))
}

/// A tool that was started.
struct Kept {
    group: Pid,
    news: Receiver<News>,
    status: Option<ExitStatus>,
}

impl Kept {
    fn until_the_end(&mut self, timeout: Duration, grace: Duration) -> Ended {
        let why = match self.news.recv_timeout(timeout) {
            Ok(News::Ended(status)) => {
                self.status = Some(status);
                EndReason::ByItself
            }
            Err(RecvTimeoutError::Timeout) => EndReason::Timeout,
            Ok(News::HungUp) | Err(RecvTimeoutError::Disconnected) => EndReason::Stopped,
        };
        let (left, grace) = if why == EndReason::ByItself {
            (tree::living(self.group), grace.min(GRACE_OF_THE_LEFT))
        } else {
            (Vec::new(), grace)
        };
        let was_killed = self.end(grace);
        Ended {
            why,
            code: self.status.and_then(|status| status.code()),
            signal: self.status.and_then(|status| status.signal()),
            was_killed,
            left: tree::names(&left),
            remain: tree::names(&tree::living(self.group)),
        }
    }

    /// Ends the tool and everything below: asks first, and kills what did not go within `grace`. Tells
    /// whether it had to.
    fn end(&mut self, grace: Duration) -> bool {
        if self.is_gone() {
            return false;
        }
        self.signal(Signal::TERM);
        // A stopped process hears nothing before it goes on.
        self.signal(Signal::CONT);
        if self.is_gone_within(grace) {
            return false;
        }
        // What is being killed may still start something: killed until nothing is there.
        let until = Instant::now() + UNTIL_GONE;
        while Instant::now() < until {
            self.signal(Signal::KILL);
            if self.is_gone_within(LOOK) {
                break;
            }
        }
        true
    }

    fn signal(&self, signal: Signal) {
        let living = tree::living(self.group);
        tree::signal(self.group, self.status.is_none(), signal, &living);
    }

    fn is_gone_within(&mut self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            if self.is_gone() {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn is_gone(&mut self) -> bool {
        for news in self.news.try_iter() {
            if let News::Ended(status) = news {
                self.status = Some(status);
            }
        }
        self.status.is_some() && tree::living(self.group).is_empty()
    }
}

/// The order: what to start, and for how long.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ToolOrder {
    pub(super) argv: Vec<String>,
    /// What it reads on its standard input.
    pub(super) input: String,
    pub(super) timeout_ms: u64,
    pub(super) grace_ms: u64,
}

/// The reply of the supervisor: it ended, and so did everything that it had started, but for what is named.
pub(super) type SupervisorReply = Result<Ended, NotStarted>;

/// The system did not start it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NotStarted {
    /// The system's number for the reason; `None` where it has none.
    pub(super) errno: Option<i32>,
    pub(super) words: String,
}

/// How a tool ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) why: EndReason,
    pub(super) code: Option<i32>,
    /// The signal that ended it.
    pub(super) signal: Option<i32>,
    /// Whether it had to be killed, as it did not end in the grace period.
    pub(super) was_killed: bool,
    /// Processes that it left running when it ended by itself, by name and number: they were ended too. The
    /// names hold text from outside.
    pub(super) left: String,
    /// Processes that could not be ended.
    pub(super) remain: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EndReason {
    /// By itself, or by a signal that did not come from here.
    #[default]
    ByItself,
    Timeout,
    /// Nobody wants its output any longer: the operator stopped it, or the run is gone.
    Stopped,
}
