//! Live runs as stories: the program as a process without a screen, and runs driven through the library.

mod breaker;
mod contract;
mod demo;
pub(crate) mod driven;
mod interrupted;
mod journal;
mod journals;
mod killed;
mod policies;
mod recorded;
mod resumed;
mod secrets;
mod siblings;
mod stepped;
mod tool_errors;
mod wire;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything that comes takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A bundled agent.
fn bundled(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join(format!("sessions/agents/{name}.toml"))
}

/// A folder in which runs take place, with a state folder of its own.
struct Stage {
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    /// A stage with an agent whose scripted model, head and tools are these; the first story of a run needs nothing else.
    fn with_agent(script: &str, rest: &str) -> (Self, PathBuf) {
        let stage = Self::new();
        stage.write("agent.script.toml", script);
        let agent = format!(
            "name = \"story\"\ninput = \"Begin.\"\n{rest}\n[model]\ndialect = \"responses\"\nscript = \"agent.script.toml\"\n"
        );
        let agent = stage.write("agent.toml", &agent);
        (stage, agent)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn retake(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_retake"));
        command
            .current_dir(self.folder.path())
            .env("XDG_STATE_HOME", self.path("state"))
            .env("HOME", self.folder.path())
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null());
        command
    }

    /// `retake run AGENT --headless --trust` with more words.
    fn run_command(&self, agent: &Path, words: &[&str]) -> Command {
        let mut command = self.retake();
        command
            .arg("run")
            .arg(agent)
            .args(["--headless", "--trust"]);
        command.args(words);
        command
    }

    fn run(&self, agent: &Path, words: &[&str]) -> Told {
        Told::of(&mut self.run_command(agent, words))
    }

    /// Runs with a policy.
    fn run_by(&self, agent: &Path, policy: &str) -> Told {
        let policy = self.write("policy.toml", policy);
        self.run(agent, &["--policy", policy.to_str().unwrap()])
    }

    /// Any other command of retake: exit code, stdout, stderr.
    fn told(&self, words: &[&str]) -> (i32, String, String) {
        let output = self.retake().args(words).output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    /// How often a tool of [`marking`] ran for these words.
    fn marks(&self, word: &str) -> usize {
        let Ok(folder) = std::fs::read_dir(self.path("marks")) else {
            return 0;
        };
        let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.starts_with(&format!("word{word}.")))
            .count()
    }
}

/// A command tool that leaves a file for each execution, named after the word that it is given, and then does what `then` says.
fn marking(name: &str, then: &str) -> String {
    let script = format!(
        "word=$(cat | tr -cd 'a-z0-9'); mkdir -p marks; mktemp marks/\\\"$word\\\".XXXXXX >/dev/null; {then}"
    );
    format!(
        "[[tools]]\nname = \"{name}\"\ndescription = \"works\"\napproval = \"never\"\ncommand = [\"sh\", \"-c\", \"{script}\"]\n\
         parameters = {{ type = \"object\", properties = {{ word = {{ type = \"string\" }} }}, required = [\"word\"] }}\n"
    )
}

/// What a run without a screen told.
struct Told {
    code: i32,
    lines: Vec<Value>,
    out: String,
    err: String,
}

impl Told {
    fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        let lines = out.lines().map(|line| serde_json::from_str(line).unwrap());
        Self {
            code: output.status.code().unwrap(),
            lines: lines.collect(),
            err: String::from_utf8(output.stderr).unwrap(),
            out,
        }
    }

    /// The lines of one type.
    fn of_type(&self, wanted: &str) -> Vec<&Value> {
        self.lines
            .iter()
            .filter(|line| line["type"] == wanted)
            .collect()
    }

    fn end(&self) -> &Value {
        let end = self.lines.last().unwrap();
        assert_eq!(end["type"], "end", "{}", self.out);
        end
    }

    fn how(&self) -> &str {
        self.end()["how"].as_str().unwrap()
    }

    fn output(&self) -> &str {
        self.end()["output"].as_str().unwrap_or_default()
    }

    fn journal(&self) -> PathBuf {
        PathBuf::from(self.lines[0]["journal"].as_str().unwrap())
    }

    /// The actions that were decided, in order.
    fn decided(&self) -> Vec<&str> {
        let decisions = self.of_type("decision").into_iter();
        decisions
            .map(|line| line["action"].as_str().unwrap())
            .collect()
    }

    /// The rules of the findings, in order.
    fn found(&self) -> Vec<&str> {
        let findings = self.of_type("finding").into_iter();
        findings
            .map(|line| line["rule"].as_str().unwrap())
            .collect()
    }
}

/// Waits until something holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
