//! Tools that are programs: the arguments as JSON on standard input, the answer on standard output.
//!
//! A tool runs without a shell, without a terminal, with an environment of named variables, in a folder of its
//! own choice, and for a limited time. [`supervisor`] is the process between the run and the tool and
//! ends whatever the tool started.

pub use capture::CapturedText;
use capture::{Capture, HALF};
use retake_core::engine::agent;
use retake_core::session::ledger::{CallFailure, CallOutcome};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
pub use supervisor::keep_if_asked;
use supervisor::{NotStarted, SupervisorReply, ToolOrder};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tool_output::ToolOutput;

mod capture;
mod supervisor;
mod tool_output;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub outcome: CallOutcome,
    /// What the system says of it.
    pub facts: ProgramFacts,
}

/// Runs a command until it ends, its time is up, or `cancel` says that nobody wants it any longer. When the
/// future is dropped, the tool is ended as well.
pub async fn run(
    tool: &CommandTool,
    supervisor: &Supervisor,
    arguments: &str,
    cancel: &CancellationToken,
) -> Ran {
    let begun = Instant::now();
    let mut facts = ProgramFacts::default();
    let words = if cancel.is_cancelled() {
        tool_output::stopped()
    } else {
        match begin(tool, supervisor) {
            Err(words) => words,
            Ok(running) => running.carry_out(tool, arguments, cancel, &mut facts).await,
        }
    };
    Ran {
        outcome: CallOutcome {
            output: words.output,
            is_error: words.failure.is_some(),
            failure: words.failure,
            ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        },
        facts,
    }
}

// A tool that is a program, and what is known of one that ran.

/// Grace period of a tool between SIGTERM and the kill.
pub const GRACE: Duration = Duration::from_secs(5);

/// Variables that every tool gets, where they are set; beside them those whose name begins
/// with `LC_`, and `TERM=dumb`.
pub(crate) const PASSED_ON: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandTool {
    /// The program and its arguments. A program with a slash is looked for in the folder,
    /// another one in `PATH`.
    pub argv: Vec<String>,
    pub folder: PathBuf,
    /// The variables that it gets beside the usual ones, by their names; what they hold is read
    /// when it is started.
    pub variables: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// Grace period before the kill: [`GRACE`], except in tests.
    pub grace: Duration,
}

impl CommandTool {
    /// The program that an agent file names, in its folder.
    pub fn of(command: &agent::ToolProgram, folder: PathBuf) -> Self {
        Self {
            argv: command.argv.clone(),
            folder,
            variables: command.env.clone(),
            timeout: Duration::from_millis(command.timeout_ms),
            grace: GRACE,
        }
    }
}

/// The program that keeps tools: a `retake`.
#[derive(Debug, Clone)]
pub struct Supervisor(pub(crate) PathBuf);

impl Supervisor {
    /// This program itself, whatever became of its file since it was started.
    pub fn this_program() -> io::Result<Self> {
        if cfg!(target_os = "linux") {
            return Ok(Self("/proc/self/exe".into()));
        }
        std::env::current_exe().map(Self)
    }

    /// The `retake` at this path: for programs that are none themselves, such as tests.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramFacts {
    /// Its exit code, where it ended by itself.
    pub exit: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: CapturedText,
    /// What it wrote to standard error; the model reads it only where the tool failed.
    pub stderr: CapturedText,
    /// Processes that it left running, by name and number; they were ended.
    pub left: String,
    /// Processes that could not be ended.
    pub remain: String,
}

/// How much of a standard error a note quotes, in characters.
const QUOTED: usize = 500;

impl ProgramFacts {
    /// What the operator should know beside the output that the model reads.
    pub fn notes(&self, outcome: &CallOutcome) -> Vec<String> {
        let mut notes = Vec::new();
        let unread = self.stderr.text.trim();
        if !outcome.is_error && !unread.is_empty() {
            let quoted = unread.chars().take(QUOTED).collect::<String>();
            notes.push(format!(
                "on standard error, which the model does not read: {quoted}"
            ));
        }
        for (name, stream) in [("output", &self.stdout), ("error", &self.stderr)] {
            if stream.dropped > 0 {
                let dropped = stream.dropped;
                notes.push(format!(
                    "{dropped} bytes of its standard {name} were dropped"
                ));
            }
        }
        if !self.left.is_empty() {
            notes.push(format!(
                "it left processes running, which were ended: {}",
                self.left
            ));
        }
        if !self.remain.is_empty() {
            notes.push(format!(
                "processes of it could not be ended: {}",
                self.remain
            ));
        }
        notes
    }
}

// The run's side of a command: starts the keeper, gives it the order, reads what the tool writes, and
// hears how it ended.

/// How long output is waited for once nothing of the tool runs: somebody else may hold its pipes.
const UNTIL_READ: Duration = Duration::from_secs(1);
/// How much longer than agreed the keeper may take before it counts as lost.
const UNTIL_LOST: Duration = Duration::from_secs(5);
/// The longest line that a keeper says, in bytes.
const LONGEST_WORD: u64 = 64 * 1024;

/// A keeper that was started, and the line to it.
pub(crate) struct SupervisedTool {
    supervisor: Child,
    line: UnixStream,
}

/// Starts the keeper of a tool; or what the model reads where that cannot be done.
pub(crate) fn begin(
    tool: &CommandTool,
    supervisor: &Supervisor,
) -> Result<SupervisedTool, ToolOutput> {
    let folder = tool.folder.display();
    if !tool.folder.is_dir() {
        let why = format!("the tool could not be started: its folder `{folder}` is not there");
        return Err(ToolOutput::failed(CallFailure::Unknown, &why));
    }
    start(tool, supervisor).map_err(|error| {
        let failure = match error.kind() {
            io::ErrorKind::PermissionDenied => CallFailure::Permission,
            _ => CallFailure::Unknown,
        };
        let why = format!("the tool could not be started in `{folder}`: {error}");
        ToolOutput::failed(failure, &why)
    })
}

fn start(tool: &CommandTool, supervisor: &Supervisor) -> io::Result<SupervisedTool> {
    let (ours, its) = Socket::pair()?;
    ours.set_nonblocking(true)?;
    let supervisor = Command::new(&supervisor.0)
        .arg0("retake")
        .arg(supervisor::WORD)
        .env_clear()
        .envs(environment(std::env::vars_os(), &tool.variables))
        .current_dir(&tool.folder)
        .stdin(Stdio::from(OwnedFd::from(its)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let line = UnixStream::from_std(ours)?;
    Ok(SupervisedTool { supervisor, line })
}

/// What a tool may know of our own environment: the usual variables, and those that it names.
pub(crate) fn environment(
    ours: impl Iterator<Item = (OsString, OsString)>,
    named: &[String],
) -> impl Iterator<Item = (OsString, OsString)> {
    let is_passed_on = |name: &str| {
        PASSED_ON.contains(&name)
            || name.starts_with("LC_")
            || named.iter().any(|known| known == name)
    };
    let passed = ours.filter(move |(name, _)| name.to_str().is_some_and(is_passed_on));
    passed.chain([("TERM".into(), "dumb".into())])
}

impl SupervisedTool {
    /// Has the tool started, and waits until it ended. `facts` learns what the system says of it.
    pub(crate) async fn carry_out(
        mut self,
        tool: &CommandTool,
        arguments: &str,
        cancel: &CancellationToken,
        facts: &mut ProgramFacts,
    ) -> ToolOutput {
        let (mut out, mut err) = (Capture::default(), Capture::default());
        let report = {
            let (stdout, stderr) = (self.supervisor.stdout.take(), self.supervisor.stderr.take());
            let reading = async { tokio::join!(read(stdout, &mut out), read(stderr, &mut err)) };
            tokio::pin!(reading);
            let watching = watch(&mut self.line, order(tool, arguments), tool, cancel);
            tokio::pin!(watching);
            let mut is_read = false;
            let report = loop {
                tokio::select! {
                    report = &mut watching => break report,
                    _ = &mut reading, if !is_read => is_read = true,
                }
            };
            if !is_read {
                // What comes after this time is not the tool's: nothing of it runs any longer.
                let _late = timeout(UNTIL_READ, &mut reading).await;
            }
            report
        };
        facts.stdout = out.into_text();
        facts.stderr = err.into_text();
        if report.is_none() {
            self.end_session().await;
        }
        self.bury().await;
        put(report, tool, facts)
    }

    /// Kills what a lost keeper leaves. What has gone into another session cannot be known without it.
    async fn end_session(&self) {
        let Some(leader) = self.supervisor.id().and_then(|id| i32::try_from(id).ok()) else {
            return;
        };
        let until = Instant::now() + supervisor::UNTIL_GONE;
        while supervisor::kill_session(leader) > 0 && Instant::now() < until {
            tokio::time::sleep(supervisor::LOOK).await;
        }
    }

    /// Waits for the keeper, and kills one that does not end by itself.
    async fn bury(mut self) {
        drop(self.line);
        if timeout(UNTIL_READ, self.supervisor.wait()).await.is_err() {
            // Its report is complete; if it cannot be killed, nothing more can be done.
            let _ignored = self.supervisor.kill().await;
        }
    }
}

fn order(tool: &CommandTool, arguments: &str) -> ToolOrder {
    let whole = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let mut argv = tool.argv.clone();
    if let Some(program) = argv.first_mut()
        && program.contains('/')
        && let Some(path) = absolute(&tool.folder, program)
    {
        *program = path;
    }
    ToolOrder {
        argv,
        input: arguments.to_owned(),
        timeout_ms: whole(tool.timeout),
        grace_ms: whole(tool.grace),
    }
}

/// The path of a program that is named beside the folder; `None` leaves the name as it is, as the folder's
/// name is not text.
fn absolute(folder: &Path, program: &str) -> Option<String> {
    let folder = std::path::absolute(folder).ok()?;
    Some(folder.join(program).to_str()?.to_owned())
}

async fn read(stream: Option<impl AsyncRead + Unpin>, kept: &mut Capture) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; HALF];
    // A pipe that cannot be read has ended.
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        kept.push(buffer.get(..length).unwrap_or_default());
    }
}

/// Gives the order and waits for the report; closes the line when `cancel` says so.
async fn watch(
    line: &mut UnixStream,
    order: ToolOrder,
    tool: &CommandTool,
    cancel: &CancellationToken,
) -> Option<SupervisorReply> {
    let limit = tool.timeout + tool.grace + supervisor::UNTIL_GONE + UNTIL_LOST;
    match timeout(limit, talk(line, order, cancel)).await {
        Ok(Ok(reply)) => Some(reply),
        // A keeper that hangs, that was killed, or that says what no keeper says.
        Err(_) | Ok(Err(_)) => None,
    }
}

async fn talk(
    line: &mut UnixStream,
    order: ToolOrder,
    cancel: &CancellationToken,
) -> io::Result<SupervisorReply> {
    let mut written = serde_json::to_vec(&order)?;
    written.push(b'\n');
    let (hears, mut says) = line.split();
    says.write_all(&written).await?;
    let mut hears = BufReader::new(hears.take(LONGEST_WORD));
    let mut line = Vec::new();
    let reading = hears.read_until(b'\n', &mut line);
    tokio::pin!(reading);
    tokio::select! {
        read = &mut reading => read?,
        () = cancel.cancelled() => {
            says.shutdown().await?;
            reading.await?
        }
    };
    Ok(serde_json::from_slice(&line)?)
}

fn put(
    report: Option<SupervisorReply>,
    tool: &CommandTool,
    facts: &mut ProgramFacts,
) -> ToolOutput {
    let program = tool.argv.first().map_or("", String::as_str);
    match report {
        Some(Err(NotStarted { errno, words })) => tool_output::not_started(program, errno, &words),
        Some(Ok(ended)) => {
            facts.exit = ended.code;
            facts.signal = ended.signal;
            let words = tool_output::ended(&ended, tool.timeout, &facts.stdout, &facts.stderr);
            (facts.left, facts.remain) = (ended.left, ended.remain);
            words
        }
        None => {
            let mut words = ToolOutput::failed(
                CallFailure::Unknown,
                "what watches over the tool was lost; the tool may have done its work, and may have left \
                processes behind",
            );
            tool_output::add_stream(&mut words.output, "stderr", &facts.stderr.text);
            words
        }
    }
}

#[cfg(test)]
mod tests {
    use super::environment;

    #[test]
    fn keys_are_passed_on_only_where_the_tool_names_them() {
        let ours = [
            ("PATH", "/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("TERM", "xterm"),
            ("MODEL_API_KEY", "secret"),
            ("DATABASE", "library"),
            ("LD_PRELOAD", "/tmp/x.so"),
        ];
        let ours = || {
            let ours = ours.iter();
            ours.map(|(name, value)| ((*name).into(), (*value).into()))
        };
        let names = |named: &[String]| {
            let passed = environment(ours(), named);
            let passed =
                passed.map(|(name, value)| format!("{}={}", name.display(), value.display()));
            passed.collect::<Vec<_>>()
        };
        let usual = ["PATH=/bin", "LC_ALL=C.UTF-8", "TERM=dumb"];
        assert_eq!(names(&[]), usual);
        let named = names(&["DATABASE".to_owned(), "MODEL_API_KEY".to_owned()]);
        assert_eq!(named.len(), 5);
        assert!(
            named.contains(&"MODEL_API_KEY=secret".to_owned()),
            "it was confirmed"
        );
    }
}
