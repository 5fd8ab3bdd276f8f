//! retake: arguments, then a command, then an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1);
    if let Some(exit) = retake::runtime::tools::keep_if_asked(first.as_deref()) {
        return exit;
    }
    retake::cli::run(std::env::args_os())
}
