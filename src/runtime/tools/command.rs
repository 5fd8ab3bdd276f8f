//! Tools that are programs: the arguments as JSON on standard input, the answer on standard output.
//!
//! A tool runs without a shell, without a terminal, with an environment of named variables, in a folder of its own choice, and for a
//! limited time. [`keeper`] is the process that stands between the run and the tool and ends whatever the tool started.

mod keeper;
mod kept;
mod order;
mod tree;
mod words;

pub use keeper::keep_if_asked;
pub use kept::Text;

use crate::engine::Outcome;
use crate::session::ledger::Failure;
use kept::{HALF, Kept};
use order::{Ended, Order, Told};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use words::Words;

/// How long a tool has to end once it was asked to (SIGTERM) before it is killed.
pub const GRACE: Duration = Duration::from_secs(5);

/// How long output is waited for once nothing of the tool runs: somebody else may hold its pipes.
const UNTIL_READ: Duration = Duration::from_secs(1);
/// How much longer than agreed the keeper may take before it counts as lost.
const UNTIL_LOST: Duration = Duration::from_secs(5);
/// The longest line that a keeper says, in bytes.
const LONGEST_WORD: u64 = 64 * 1024;

/// Variables that every tool gets, where they are set; beside them those whose name begins with `LC_`, and `TERM=dumb`.
pub const PASSED_ON: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];

/// A tool that is a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandTool {
    /// The program and its arguments. A program with a slash is looked for in the folder, another one in `PATH`.
    pub argv: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
    /// Variables that it gets beside the usual ones, with their values; they win.
    pub environment: Vec<(OsString, OsString)>,
    /// How long it may take.
    pub timeout: Duration,
    /// How long it has to end once it was asked to: [`GRACE`], but for tests.
    pub grace: Duration,
}

/// The program that keeps tools: a `retake`.
#[derive(Debug, Clone)]
pub struct Keeper(PathBuf);

impl Keeper {
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

/// A command that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// What came of it.
    pub outcome: Outcome,
    /// What the system says of it.
    pub facts: Facts,
}

/// What the system says of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its exit code, where it ended by itself.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: Text,
    /// What it wrote to standard error; the model reads it only where the tool failed.
    pub stderr: Text,
    /// Processes that it left behind, by name and number; they were ended.
    pub left: String,
    /// Processes that could not be ended.
    pub remain: String,
}

/// How much of a standard error a note quotes, in characters.
const QUOTED: usize = 500;

impl Facts {
    /// What the operator should know beside the output that the model reads.
    pub fn notes(&self, outcome: &Outcome) -> Vec<String> {
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

/// Runs a command until it ends, its time is up, or `cancel` says that nobody wants it any longer. When the future is dropped, the tool
/// is ended as well.
pub async fn run(
    tool: &CommandTool,
    keeper: &Keeper,
    arguments: &str,
    cancel: &CancellationToken,
) -> Ran {
    let begun = Instant::now();
    let mut facts = Facts::default();
    let words = if cancel.is_cancelled() {
        words::stopped()
    } else {
        match begin(tool, keeper) {
            Err(words) => words,
            Ok(running) => running.carry_out(tool, arguments, cancel, &mut facts).await,
        }
    };
    Ran {
        outcome: Outcome {
            output: words.output,
            is_error: words.failure.is_some(),
            failure: words.failure,
            ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        },
        facts,
    }
}

/// A keeper that was started, and the line to it.
struct Running {
    keeper: Child,
    line: UnixStream,
}

fn begin(tool: &CommandTool, keeper: &Keeper) -> Result<Running, Words> {
    let program = tool.argv.first().map_or("", String::as_str);
    if !tool.folder.is_dir() {
        let folder = tool.folder.display();
        let why = format!("the tool could not be started: its folder `{folder}` is not there");
        return Err(Words::failed(Failure::Unknown, &why));
    }
    start(tool, keeper).map_err(|error| {
        // What the system refuses here, it would have refused the tool: folder, environment, memory.
        words::not_started(program, error.raw_os_error(), &error.to_string())
    })
}

fn start(tool: &CommandTool, keeper: &Keeper) -> io::Result<Running> {
    let (ours, its) = Socket::pair()?;
    ours.set_nonblocking(true)?;
    let keeper = Command::new(&keeper.0)
        .arg0("retake")
        .arg(keeper::WORD)
        .env_clear()
        .envs(environment(std::env::vars_os()))
        .envs(tool.environment.iter().cloned())
        .current_dir(&tool.folder)
        .stdin(Stdio::from(OwnedFd::from(its)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let line = UnixStream::from_std(ours)?;
    Ok(Running { keeper, line })
}

/// What a tool may know of our own environment.
fn environment(
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    let passed_on = |name: &str| PASSED_ON.contains(&name) || name.starts_with("LC_");
    let passed = ours.filter(move |(name, _)| name.to_str().is_some_and(passed_on));
    passed.chain([("TERM".into(), "dumb".into())])
}

/// What became of a keeper.
enum Report {
    NotStarted { errno: Option<i32>, words: String },
    Ended(Ended),
    Lost { group: Option<i32> },
}

impl Running {
    async fn carry_out(
        mut self,
        tool: &CommandTool,
        arguments: &str,
        cancel: &CancellationToken,
        facts: &mut Facts,
    ) -> Words {
        let (mut out, mut err) = (Kept::default(), Kept::default());
        let report = {
            let (stdout, stderr) = (self.keeper.stdout.take(), self.keeper.stderr.take());
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
        self.bury().await;
        put(report, tool, facts)
    }

    /// Waits for the keeper, and kills one that does not end by itself.
    async fn bury(mut self) {
        drop(self.line);
        if timeout(UNTIL_READ, self.keeper.wait()).await.is_err() {
            // It has said all it has to say; where it cannot be killed, nothing more can be done.
            let _ignored = self.keeper.kill().await;
        }
    }
}

fn order(tool: &CommandTool, arguments: &str) -> Order {
    let whole = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let mut argv = tool.argv.clone();
    if let Some(program) = argv.first_mut()
        && program.contains('/')
        && let Some(path) = absolute(&tool.folder, program)
    {
        *program = path;
    }
    Order {
        argv,
        input: arguments.to_owned(),
        timeout_ms: whole(tool.timeout),
        grace_ms: whole(tool.grace),
    }
}

/// The path of a program that is named beside the folder; `None` leaves the name as it is, as the folder's name is no text.
fn absolute(folder: &Path, program: &str) -> Option<String> {
    let folder = std::path::absolute(folder).ok()?;
    Some(folder.join(program).to_str()?.to_owned())
}

/// Reads a stream to its end.
async fn read(stream: Option<impl AsyncRead + Unpin>, kept: &mut Kept) {
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
    order: Order,
    tool: &CommandTool,
    cancel: &CancellationToken,
) -> Report {
    let limit = tool.timeout + tool.grace + keeper::UNTIL_GONE + UNTIL_LOST;
    let mut group = None;
    let told = timeout(limit, talk(line, order, cancel, &mut group)).await;
    match told {
        Ok(Ok(report)) => report,
        // A keeper that hangs, that was killed, or that says what no keeper says.
        Err(_) | Ok(Err(_)) => Report::Lost { group },
    }
}

async fn talk(
    line: &mut UnixStream,
    order: Order,
    cancel: &CancellationToken,
    group: &mut Option<i32>,
) -> io::Result<Report> {
    let mut written = serde_json::to_vec(&order)?;
    written.push(b'\n');
    let (hears, mut says) = line.split();
    says.write_all(&written).await?;
    let mut hears = BufReader::new(hears.take(2 * LONGEST_WORD));
    let mut is_stopped = false;
    let mut word = Vec::new();
    loop {
        tokio::select! {
            read = hears.read_until(b'\n', &mut word) => {
                if read? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                match serde_json::from_slice(&word)? {
                    Told::Started { group: number } => *group = Some(number),
                    Told::NotStarted { errno, words } => return Ok(Report::NotStarted { errno, words }),
                    Told::Ended(ended) => return Ok(Report::Ended(ended)),
                }
                word.clear();
            }
            () = cancel.cancelled(), if !is_stopped => {
                is_stopped = true;
                says.shutdown().await?;
            }
        }
    }
}

fn put(report: Report, tool: &CommandTool, facts: &mut Facts) -> Words {
    let program = tool.argv.first().map_or("", String::as_str);
    match report {
        Report::NotStarted { errno, words } => words::not_started(program, errno, &words),
        Report::Ended(ended) => {
            facts.exit = ended.code;
            facts.signal = ended.signal;
            facts.left = words::names(&ended.left);
            facts.remain = words::names(&ended.remain);
            words::ended(&ended, tool.timeout, &facts.stdout, &facts.stderr)
        }
        Report::Lost { group } => {
            if let Some(group) = group.and_then(Pid::from_raw) {
                // What is left of the group is ended; what left the group cannot be known without the keeper.
                let _gone = kill_process_group(group, Signal::KILL);
            }
            let mut words = Words::failed(
                Failure::Unknown,
                "what watches over the tool was lost; the tool may have done its work, and may have left processes behind",
            );
            words::add_stream(&mut words.output, "stderr", &facts.stderr.text);
            words
        }
    }
}
