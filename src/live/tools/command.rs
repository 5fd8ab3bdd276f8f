//! Tools that are programs: the arguments as JSON on standard input, the answer on standard output.
//!
//! A tool runs without a shell, without a terminal, with an environment of named variables, in a folder of its
//! own choice, and for a limited time. [`supervisor`] is the process between the run and the tool and
//! ends whatever the tool started.

mod capture;
mod running;
mod supervisor;
mod tool;
mod tool_output;

pub use capture::CapturedText;
pub use supervisor::keep_if_asked;
pub use tool::{CommandTool, Facts, GRACE, Supervisor};

use retake_core::engine::Outcome;
pub(crate) use running::environment;

use running::begin;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub outcome: Outcome,
    /// What the system says of it.
    pub facts: Facts,
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
    let mut facts = Facts::default();
    let words = if cancel.is_cancelled() {
        tool_output::stopped()
    } else {
        match begin(tool, supervisor) {
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
