//! retake: arguments, then a command, then an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    retake::cli::run(std::env::args_os())
}
