//! retake: arguments, then a command, then an exit code.

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// Gives memory back to the system once it is free, whatever the sizes and the threads: a proxy runs for days.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1);
    if let Some(exit) = retake_live::tools::keep_if_asked(first.as_deref()) {
        return exit;
    }
    retake_app::cli::run(std::env::args_os())
}
