//! What an interrupt does to a command without a screen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// The exit code of a command that was interrupted: 128 and the number of SIGINT, as shells count.
const INTERRUPTED: i32 = 130;

/// Whether an interrupt ends the process.
static ENDS: AtomicBool = AtomicBool::new(true);

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
        while runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            if ENDS.load(Ordering::Relaxed) {
                std::process::exit(INTERRUPTED);
            }
        }
    });
}

/// From here on an interrupt is noted and nothing more; the function that is given tells whether there was one. A second one ends the
/// process.
pub fn note_interrupts() -> impl Fn() -> bool {
    let noted = Arc::new(AtomicBool::new(false));
    let notes = noted.clone();
    let (listens, begun) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let Ok(runtime) = Builder::new_current_thread().enable_all().build() else {
            return;
        };
        runtime.block_on(async move {
            let Ok(mut interrupts) = signal(SignalKind::interrupt()) else {
                return;
            };
            // Whoever asked is waiting for it.
            let _ = listens.send(());
            while interrupts.recv().await.is_some() {
                if notes.swap(true, Ordering::Relaxed) {
                    std::process::exit(INTERRUPTED);
                }
            }
        });
    });
    // A system that refuses the handler leaves the default, which ends the process.
    let _ = begun.recv();
    move || noted.load(Ordering::Relaxed)
}

/// From here on interrupts are for the program in front, such as a pager, which outlives them.
pub fn leave_interrupts() {
    ENDS.store(false, Ordering::Relaxed);
}
