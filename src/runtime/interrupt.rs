//! What an interrupt does to a command without a screen.

/// The exit code of a command that was interrupted: 128 and the number of SIGINT, as shells count.
const INTERRUPTED: i32 = 130;

/// From here on an interrupt (SIGINT) ends the process with exit code 130.
///
/// A system that refuses the handler leaves the default, which ends the process as well.
pub fn exit_on_interrupt() {
    std::thread::spawn(|| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
        else {
            return;
        };
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            std::process::exit(INTERRUPTED);
        }
    });
}
