//! The agent that is started with the proxy: its own session without a terminal, its environment pointed at the
//! proxy, its end that of the proxy.

use super::chaos::Chaos;
use super::connect::{Reach, arguments_for, variables};
use super::news::{ProxyNews, Report};
use super::options::ProxyOptions;
use super::running::{Proxy, ProxyError};
use crate::lock::lock;
use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};
use retake_core::chaos::{AgentEnd, Injection, Usual};
use retake_core::exchange::{ExchangeEnding, ExchangePhase};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Grace period between SIGTERM and the kill.
pub const GRACE: Duration = Duration::from_secs(5);
/// Grace period between SIGTERM and the kill for processes that it leaves running.
const GRACE_OF_THE_LEFT: Duration = Duration::from_secs(1);
/// How long processes that it leaves running may go on writing after its end.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How often its processes are looked at while they are to end.
const LOOK: Duration = Duration::from_millis(10);
/// The longest line that is reported in one piece, in bytes.
const LINE: u64 = 16 * 1024;

/// The agents of this process, each with what it has started.
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Kills all agents of this process with what they have started: for a process that ends
/// without waiting for them.
pub(crate) fn kill_all() {
    for group in groups().iter() {
        // A group of which nobody is left hears nothing.
        let _nobody = rustix::process::kill_process_group(*group, Signal::KILL);
    }
}

fn groups() -> MutexGuard<'static, Vec<Pid>> {
    lock(&GROUPS)
}

/// What an agent finds in place of a key that is not set, where no provider is asked: no SDK begins without one.
pub const PLACEHOLDER_KEYS: &[(&str, &str)] = &[
    ("OPENAI_API_KEY", "retake-placeholder"),
    ("ANTHROPIC_API_KEY", "retake-placeholder"),
    ("GEMINI_API_KEY", "retake-placeholder"),
];

/// How an agent is started.
#[derive(Debug)]
pub struct AgentCommand {
    pub argv: Vec<OsString>,
    /// Whether it reads what retake's own standard input holds; otherwise it has none.
    pub inherits_input: bool,
    /// Where its output goes as it comes; without a file it is reported line by line.
    pub output: Option<File>,
    /// Variables that it gets where retake's own environment does not have them: name and value.
    pub defaults: &'static [(&'static str, &'static str)],
}

/// A running agent. Dropping it ends it.
#[derive(Debug)]
pub struct AgentProcess {
    group: Pid,
    /// Disconnected once the agent itself has ended.
    ends: Receiver<()>,
    grace: Duration,
}

impl AgentProcess {
    /// Starts an agent whose clients are pointed at the listeners. `report` hears what it writes, and its end.
    pub fn start(order: AgentCommand, reaches: &[Reach], report: &Report) -> io::Result<Self> {
        let Some((program, arguments)) = order.argv.split_first() else {
            let message = "no program is named";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        };
        let mut command = Command::new(program);
        command.args(arguments_for(Path::new(program), reaches));
        command.args(arguments).envs(variables(reaches));
        let missing = order.defaults.iter();
        command.envs(
            missing
                .filter(|(name, _)| std::env::var_os(name).is_none())
                .copied(),
        );
        command.stdin(match order.inherits_input {
            true => Stdio::inherit(),
            false => Stdio::null(),
        });
        match order.output {
            Some(file) => {
                command.stderr(file.try_clone()?).stdout(file);
            }
            None => {
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
            }
        }
        let mut child = CommandWrap::from(command).wrap(ProcessSession).spawn()?;
        let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let group = number.ok_or_else(|| io::Error::other("its process has no number"))?;
        let (ended, ends) = channel();
        groups().push(group);
        // From here on whoever drops it ends the agent.
        let agent = Self {
            group,
            ends,
            grace: GRACE,
        };
        let (open, all_told) = channel();
        if let Some(stdout) = child.stdout().take() {
            report_lines(stdout, false, report, open.clone())?;
        }
        if let Some(stderr) = child.stderr().take() {
            report_lines(stderr, true, report, open.clone())?;
        }
        drop(open);
        let report = report.clone();
        Builder::new()
            .name("agent".to_owned())
            .spawn(move || wait(child, &ended, &all_told, &report))?;
        Ok(agent)
    }

    /// Ends it and what it has started in its session: asks first, and kills what did not go in time.
    pub fn end(&mut self) {
        if self.is_gone() {
            return;
        }
        self.signal(Signal::TERM);
        // A stopped process hears nothing before it goes on.
        self.signal(Signal::CONT);
        let grace = match self.has_ended() {
            true => self.grace.min(GRACE_OF_THE_LEFT),
            false => self.grace,
        };
        let until = Instant::now() + grace;
        while Instant::now() < until {
            if self.is_gone() {
                return;
            }
            std::thread::sleep(LOOK);
        }
        self.signal(Signal::KILL);
    }

    fn is_gone(&self) -> bool {
        self.has_ended() && rustix::process::test_kill_process_group(self.group).is_err()
    }

    /// Whether the agent itself has; what it started may not.
    fn has_ended(&self) -> bool {
        self.ends.try_recv() == Err(TryRecvError::Disconnected)
    }

    fn signal(&self, signal: Signal) {
        // A group of which nobody is left hears nothing.
        let _nobody = rustix::process::kill_process_group(self.group, signal);
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        self.end();
        groups().retain(|group| *group != self.group);
    }
}

/// Waits for the end of the agent and reports it after everything that it wrote. Opens the file that an
/// agent's output goes to, and empties it: for the operator alone, and no link is followed, for what an agent
/// says may hold secrets.
pub fn output_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
    if file.metadata()?.is_file() {
        // One that was there may be open to others; it is closed to them before anything is in it.
        rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?;
        file.set_len(0)?;
    }
    Ok(file)
}

fn wait(
    mut child: Box<dyn ChildWrapper>,
    _ended: &Sender<()>,
    all_told: &Receiver<()>,
    report: &Report,
) {
    // Waiting for one's own child fails only where somebody else buried it.
    let status = child.wait().unwrap_or_else(|_| ExitStatus::default());
    // Processes that it leaves running may keep its output open for ever.
    let until = Instant::now() + LAST_WORDS;
    while !matches!(
        all_told.recv_timeout(until.saturating_duration_since(Instant::now())),
        Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout)
    ) {}
    report(ProxyNews::AgentEnded(status));
}

/// Tells a stream line by line, in a thread of its own, which holds `open` until it ends.
fn report_lines(
    stream: impl Read + Send + 'static,
    is_error: bool,
    report: &Report,
    open: Sender<()>,
) -> io::Result<()> {
    let report: Report = Arc::clone(report);
    Builder::new()
        .name("agent's output".to_owned())
        .spawn(move || {
            let _open = open;
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            loop {
                line.clear();
                match (&mut stream).take(LINE).read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_end_matches(['\n', '\r']).to_owned();
                report(ProxyNews::Output { text, is_error });
            }
        })?;
    Ok(())
}

// One agent, started anew before a proxy that injects one fault: how it ends, and what it
// did after the fault.

/// How often a signal is looked for.
const SIGNAL_LOOK: Duration = Duration::from_millis(50);
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
    pub end: AgentEnd,
    /// What was injected, in its order.
    pub injections: Vec<Injection>,
    /// Why nothing was, where that is so.
    pub why_missed: Option<String>,
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
    let report: Report = Arc::new(move |one: ProxyNews| {
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
    let end = wait_for_end(&news, start.patience, signal, &mut heard);
    agent.end();
    drop(agent);
    let journal = proxy.journal().to_owned();
    drop(proxy);
    news.try_iter().for_each(|one| heard.take(one));
    let injections = chaos.injections();
    Ok(Played {
        end: end?,
        why_missed: injections.is_empty().then(|| chaos.course().why_missed()),
        injections,
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
    end: Option<AgentEnd>,
}

impl Heard {
    fn take(&mut self, news: ProxyNews) {
        match news {
            ProxyNews::Output {
                text,
                is_error: true,
            } => {
                self.stderr.push_back(text);
                if self.stderr.len() > LINES {
                    self.stderr.pop_front();
                }
            }
            ProxyNews::Exchange(seen) => {
                if let ExchangePhase::Ended(ExchangeEnding::NoReply { why }) = &seen.phase {
                    self.no_reply.get_or_insert_with(|| why.clone());
                }
            }
            ProxyNews::AgentEnded(status) => self.end = Some(AgentEnd::Exit(status.code())),
            _ => {}
        }
    }
}

fn wait_for_end(
    news: &Receiver<ProxyNews>,
    patience: Duration,
    signal: &dyn Fn() -> Option<i32>,
    heard: &mut Heard,
) -> Result<AgentEnd, TrialError> {
    let since = Instant::now();
    loop {
        if let Some(number) = signal() {
            return Err(TrialError::Interrupted(number));
        }
        let left = patience.saturating_sub(since.elapsed());
        if left.is_zero() {
            return Ok(AgentEnd::TimedOut);
        }
        match news.recv_timeout(left.min(SIGNAL_LOOK)) {
            Ok(one) => heard.take(one),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(TrialError::Over),
        }
        if let Some(end) = heard.end {
            return Ok(end);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::proxy::options::Upstream;
    use std::os::unix::process::ExitStatusExt;

    /// How long anything may take here at most.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn reaches() -> Vec<Reach> {
        let upstream = Upstream::parse("http://127.0.0.1:9").unwrap();
        let base = "http://127.0.0.1:8484".to_owned();
        vec![Reach { base, upstream }]
    }

    fn shell(script: &str) -> AgentCommand {
        AgentCommand {
            argv: ["sh", "-c", script].map(OsString::from).to_vec(),
            inherits_input: false,
            output: None,
            defaults: &[],
        }
    }

    fn started(order: AgentCommand) -> (AgentProcess, Receiver<ProxyNews>) {
        let (sender, news) = channel();
        let report: Report = Arc::new(move |one| {
            // Nobody hears it when the test is over.
            let _over = sender.send(one);
        });
        (
            AgentProcess::start(order, &reaches(), &report).unwrap(),
            news,
        )
    }

    /// What it wrote until it ended, with the name of the stream before each line, and how it ended.
    fn heard(news: &Receiver<ProxyNews>) -> (Vec<String>, ExitStatus) {
        let mut lines = Vec::new();
        loop {
            match news.recv_timeout(PATIENCE).unwrap() {
                ProxyNews::Output { text, is_error } => {
                    let stream = if is_error { "err" } else { "out" };
                    lines.push(format!("{stream} {text}"));
                }
                ProxyNews::AgentEnded(status) => return (lines, status),
                other => panic!("{other:?}"),
            }
        }
    }

    fn line(news: &Receiver<ProxyNews>) -> String {
        match news.recv_timeout(PATIENCE).unwrap() {
            ProxyNews::Output { text, .. } => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn it_is_pointed_at_the_proxy_and_what_it_writes_is_told() {
        let (_agent, news) = started(shell(
            "echo $OPENAI_BASE_URL $ANTHROPIC_BASE_URL; echo oh >&2; printf last; exit 3",
        ));
        let (mut lines, status) = heard(&news);
        lines.sort();
        assert_eq!(
            lines,
            [
                "err oh",
                "out http://127.0.0.1:8484/v1 http://127.0.0.1:8484",
                "out last"
            ]
        );
        assert_eq!(status.code(), Some(3));
    }

    #[test]
    fn it_has_no_input_and_no_terminal() {
        let (_agent, news) = started(shell("cat; (: </dev/tty) 2>/dev/null || echo none"));
        assert_eq!(heard(&news).0, ["out none"]);
    }

    #[test]
    fn what_it_started_ends_with_it_when_the_proxy_ends() {
        let (agent, news) = started(shell("sleep 600 & echo $!; wait"));
        let sleeping = line(&news).parse::<i32>().unwrap();
        drop(agent);
        assert_eq!(heard(&news).1.signal(), Some(15));
        let sleeping = Pid::from_raw(sleeping).unwrap();
        let until = Instant::now() + PATIENCE;
        // Whoever adopts it buries it in time; a zombie is no running process.
        while rustix::process::test_kill_process(sleeping).is_ok() && !is_zombie(sleeping) {
            assert!(Instant::now() < until, "it is still there");
            std::thread::sleep(LOOK);
        }
    }

    fn is_zombie(pid: Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        stat.is_ok_and(|stat| stat.contains(") Z "))
    }

    #[test]
    fn one_that_does_not_listen_is_killed() {
        let (mut agent, news) =
            started(shell("trap '' TERM; echo ready; while :; do sleep 1; done"));
        assert_eq!(line(&news), "ready");
        agent.grace = Duration::from_millis(100);
        agent.end();
        assert_eq!(heard(&news).1.signal(), Some(9));
    }

    #[test]
    fn its_end_is_told_although_something_it_left_holds_its_output() {
        let (_agent, news) = started(shell("sleep 600 & echo left"));
        let (lines, status) = heard(&news);
        assert_eq!(
            (lines, status.code()),
            (vec!["out left".to_owned()], Some(0))
        );
    }

    #[test]
    fn its_output_goes_to_a_file_as_it_comes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (_agent, news) = started(AgentCommand {
            output: Some(file.reopen().unwrap()),
            ..shell("printf 'a\\377b'; printf c >&2")
        });
        assert_eq!(heard(&news).0, [""; 0]);
        assert_eq!(std::fs::read(file.path()).unwrap(), b"a\xffbc");
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let order = AgentCommand {
            argv: vec!["/nonexistent/agent".into()],
            ..shell("")
        };
        let report: Report = Arc::new(|_| {});
        let error = AgentProcess::start(order, &reaches(), &report).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
