//! The process that keeps a tool: `retake` itself, started again with one hidden word.
//!
//! A tool needs a session of its own, so that it has no terminal, and everything that it starts has to fall to
//! somebody who ends it. Both are properties of a process that a program can give only to itself, so the tool
//! is started by a process of retake's between the run and the tool. Its standard input is a socket that leads
//! to the run: the [`Order`] comes in, what happened goes out. When the socket closes, because the run stops
//! the tool or is gone itself, the tool is ended. Its standard output and standard error are those of the tool;
//! it writes nothing there itself.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
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
pub(crate) const WORD: &str = "--keep-tool";

/// The longest order, in bytes.
const LONGEST_ORDER: u64 = 128 << 20;
/// Grace period for processes that a tool leaves running.
const GRACE_OF_THE_LEFT: Duration = Duration::from_secs(1);
/// How long killed processes may take until they are gone.
pub(crate) const UNTIL_GONE: Duration = Duration::from_secs(2);
/// How often the processes below are looked at while they are to end.
pub(crate) const LOOK: Duration = Duration::from_millis(10);

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
    adopt_orphans()?;
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
            (living(self.group), grace.min(GRACE_OF_THE_LEFT))
        } else {
            (Vec::new(), grace)
        };
        let was_killed = self.end(grace);
        Ended {
            why,
            code: self.status.and_then(|status| status.code()),
            signal: self.status.and_then(|status| status.signal()),
            was_killed,
            left: names(&left),
            remain: names(&living(self.group)),
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
        let living = living(self.group);
        signal_tree(self.group, self.status.is_none(), signal, &living);
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
        self.status.is_some() && living(self.group).is_empty()
    }
}

/// The order: what to start, and for how long.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ToolOrder {
    pub(crate) argv: Vec<String>,
    /// What it reads on its standard input.
    pub(crate) input: String,
    pub(crate) timeout_ms: u64,
    pub(crate) grace_ms: u64,
}

/// The reply of the supervisor: it ended, and so did everything that it had started, but for what is named.
pub(crate) type SupervisorReply = Result<Ended, NotStarted>;

/// The system did not start it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NotStarted {
    /// The system's number for the reason; `None` where it has none.
    pub(crate) errno: Option<i32>,
    pub(crate) words: String,
}

/// How a tool ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) why: EndReason,
    pub(crate) code: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    /// Whether it had to be killed, as it did not end in the grace period.
    pub(crate) was_killed: bool,
    /// Processes that it left running when it ended by itself, by name and number: they were ended too. The
    /// names hold text from outside.
    pub(crate) left: String,
    /// Processes that could not be ended.
    pub(crate) remain: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EndReason {
    /// By itself, or by a signal that did not come from here.
    #[default]
    ByItself,
    Timeout,
    /// Nobody wants its output any longer: the operator stopped it, or the run is gone.
    Stopped,
}

// The processes below this one: what a tool started, wherever it put it.
//
// On Linux a process can be made the one that orphans below it fall to (`PR_SET_CHILD_SUBREAPER`, prctl(2)),
// so that neither `setsid` nor a double fork leads out of its tree, and the tree can be read from `/proc`.
// Elsewhere only the group of the tool is known.

/// How many processes a report names.
const NAMED: usize = 16;

/// Makes orphans fall to this process, where the system can.
fn adopt_orphans() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// A process below this one that has not ended.
#[derive(Debug, Clone)]
pub(crate) struct Living {
    pid: Pid,
    group: i32,
    #[cfg(target_os = "linux")]
    session: i32,
    name: String,
}

/// Processes in a row, for a report.
fn names(living: &[Living]) -> String {
    let named = living.iter().take(NAMED);
    let named = named.map(|one| format!("{} ({})", one.name, one.pid.as_raw_nonzero()));
    named.collect::<Vec<_>>().join(", ")
}

/// Every process below this one that has not ended. What has ended and fell to this process is buried; `own`,
/// the tool itself, is not: somebody else waits for it.
#[cfg(target_os = "linux")]
fn living(own: Pid) -> Vec<Living> {
    use rustix::process::{WaitOptions, getpid, waitpid};
    let all = all_processes();
    let root = getpid().as_raw_nonzero().get();
    let mut below = vec![root];
    let mut living = Vec::new();
    let mut at = 0;
    while let Some(parent) = below.get(at).copied() {
        at += 1;
        for entry in all.iter().filter(|entry| entry.parent == parent) {
            let number = entry.living.pid.as_raw_nonzero().get();
            if !below.contains(&number) {
                below.push(number);
            }
            if !entry.has_ended {
                living.push(entry.living.clone());
            } else if parent == root && entry.living.pid != own {
                // Nothing is to be learnt from how an orphan ended.
                let _status = waitpid(Some(entry.living.pid), WaitOptions::NOHANG);
            }
        }
    }
    living
}

/// Elsewhere nothing is known of them.
#[cfg(not(target_os = "linux"))]
fn living(_own: Pid) -> Vec<Living> {
    Vec::new()
}

/// Kills every process of the session that `leader` began, as far as they can be known, and tells how many
/// there were. The leader is a child that nobody waited for yet, so that its number cannot be another's.
#[cfg(target_os = "linux")]
pub(crate) fn kill_session(leader: i32) -> usize {
    let all = all_processes();
    let members = all
        .iter()
        .filter(|entry| entry.living.session == leader && !entry.has_ended);
    let mut count = 0;
    for entry in members {
        // One that is gone meanwhile need not be killed.
        let _gone = kill_process(entry.living.pid, Signal::KILL);
        count += 1;
    }
    count
}

/// Elsewhere nothing is known of them.
#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_session(_leader: i32) -> usize {
    0
}

/// Sends a signal to the group of the tool, and to everything below that left it. `is_held` says that nobody
/// waited for the tool yet: its number, and so that of its group, cannot be another's by now.
fn signal_tree(group: Pid, is_held: bool, signal: Signal, living: &[Living]) {
    let number = group.as_raw_nonzero().get();
    let is_there = is_held || living.iter().any(|process| process.group == number);
    // A process that is gone, or that belongs to somebody else, is left: what still
    // lives afterwards is reported.
    if is_there || cfg!(not(target_os = "linux")) {
        let _gone = kill_process_group(group, signal);
    }
    for process in living.iter().filter(|process| process.group != number) {
        let _gone = kill_process(process.pid, signal);
    }
}

#[cfg(target_os = "linux")]
struct Entry {
    living: Living,
    parent: i32,
    has_ended: bool,
}

#[cfg(target_os = "linux")]
fn all_processes() -> Vec<Entry> {
    let Ok(folder) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let entries = numbers.filter_map(|number| {
        // One that went meanwhile is none.
        let stat = std::fs::read(format!("/proc/{number}/stat")).ok()?;
        entry(&String::from_utf8_lossy(&stat))
    });
    entries.collect()
}

/// Reads a line of `/proc/PID/stat` (proc_pid_stat(5)): `pid (name) state parent group session ...`; a
/// name may hold anything.
#[cfg(target_os = "linux")]
fn entry(stat: &str) -> Option<Entry> {
    let (number, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    Some(Entry {
        living: Living {
            pid: Pid::from_raw(number.parse().ok()?)?,
            group,
            session,
            name: name.to_owned(),
        },
        parent,
        has_ended: matches!(state, "Z" | "X"),
    })
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_call_itself_anything() {
        let entry = entry("12 (a) S 1 (b) R 7 12 11 0").unwrap();
        assert_eq!(entry.living.name, "a) S 1 (b");
        let Living { group, session, .. } = entry.living;
        assert_eq!((entry.parent, group, session), (7, 12, 11));
        assert!(!entry.has_ended);
    }
}
