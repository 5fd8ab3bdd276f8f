//! Programs as tools of a run, and the faults that they have: rows E1 to E9 of the list of faults.

mod rows;
mod survivors;
mod toolbox;

use retake_live::tools::Supervisor;
use retake_live::tools::command::{CommandTool, Ran, run};
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// No test waits longer for something that has to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A shell script as a tool, in a folder of its own, that may take long and gets little grace.
pub(crate) struct Script {
    pub(crate) tool: CommandTool,
    folder: TempDir,
}

pub(crate) fn script(text: &str) -> Script {
    program(&["sh", "-c", text])
}

pub(crate) fn program(argv: &[&str]) -> Script {
    let folder = tempfile::tempdir().unwrap();
    let tool = CommandTool {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        folder: folder.path().to_owned(),
        variables: Vec::new(),
        timeout: PATIENCE,
        grace: Duration::from_millis(300),
    };
    Script { tool, folder }
}

impl Script {
    pub(crate) fn within(mut self, milliseconds: u64) -> Self {
        self.tool.timeout = Duration::from_millis(milliseconds);
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn run(&self) -> Ran {
        self.call("{}", &CancellationToken::new())
    }

    pub(crate) fn call(&self, arguments: &str, cancel: &CancellationToken) -> Ran {
        block_on(run(&self.tool, &keeper(), arguments, cancel))
    }

    /// The text of a file that the script writes, once it is there.
    pub(crate) fn written(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        let mut text = String::new();
        wait_until(&format!("{name} is written"), || {
            text = std::fs::read_to_string(&path).unwrap_or_default();
            text.ends_with('\n')
        });
        text
    }
}

pub(crate) fn keeper() -> Supervisor {
    Supervisor::at(env!("CARGO_BIN_EXE_retake"))
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future)
}

#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "still waiting until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process is there and has not ended.
pub(crate) fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
}
