//! What an interrupt does to a command without a screen.

use super::proxy::agent::kill_all;
use super::replace::exit_without_drafts;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// What shells add to the number of the signal that ended a command.
const SIGNALLED: i32 = 128;
/// The exit code of a command that was interrupted: by SIGINT, which is number 2.
const INTERRUPTED: i32 = SIGNALLED + 2;

/// Whether an interrupt ends the process.
static ENDS: AtomicBool = AtomicBool::new(true);

/// From here on an interrupt (SIGINT) ends the process with exit code 130, SIGTERM with 143, and what it
/// was writing is removed.
///
/// A system that refuses the handlers leaves the default, which ends the process as well.
pub fn exit_on_interrupt() {
    std::thread::spawn(|| {
        let Ok(runtime) = Builder::new_current_thread().enable_all().build() else {
            return;
        };
        runtime.block_on(async {
            let ended = async {
                if let Ok(mut ends) = signal(SignalKind::terminate())
                    && ends.recv().await.is_some()
                {
                    exit_without_drafts(SIGNALLED + SignalKind::terminate().as_raw_value());
                }
            };
            let interrupted = async {
                while tokio::signal::ctrl_c().await.is_ok() {
                    if ENDS.load(Ordering::Relaxed) {
                        exit_without_drafts(INTERRUPTED);
                    }
                }
            };
            tokio::join!(ended, interrupted);
        });
    });
}

/// From here on an interrupt is noted and nothing more; the function that is given tells whether there was one.
/// A second one ends the process.
pub fn note_interrupts() -> impl Fn() -> bool {
    let noted = note(vec![SignalKind::interrupt()]);
    move || noted().is_some()
}

/// From here on what asks the process to end is noted and nothing more: an interrupt, SIGTERM, and the end of
/// its terminal. The function that is given tells the number of the first. A second one ends the process, and
/// the agents that it has started with it.
pub fn note_ends() -> impl Fn() -> Option<i32> {
    let (interrupt, end, hangup) = (
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    );
    note(vec![interrupt, end, hangup])
}

fn note(kinds: Vec<SignalKind>) -> impl Fn() -> Option<i32> {
    let noted = Arc::new(AtomicI32::new(0));
    let notes = noted.clone();
    let (listens, begun) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let Ok(runtime) = Builder::new_current_thread().enable_all().build() else {
            return;
        };
        runtime.block_on(async move {
            let hear = |kind: SignalKind| Some((signal(kind).ok()?, kind.as_raw_value()));
            let Some(heard) = kinds.into_iter().map(hear).collect::<Option<Vec<_>>>() else {
                return;
            };
            // The caller is waiting for it.
            let _ = listens.send(());
            let listeners = heard.into_iter().map(|(mut signals, number)| {
                let notes = notes.clone();
                tokio::spawn(async move {
                    while signals.recv().await.is_some() {
                        if notes.swap(number, Ordering::Relaxed) != 0 {
                            kill_all();
                            std::process::exit(SIGNALLED + number);
                        }
                    }
                })
            });
            for listener in listeners.collect::<Vec<_>>() {
                // A listener ends only when the signals do.
                let _ended = listener.await;
            }
        });
    });
    // A system that refuses the handlers leaves the default, which ends the process.
    let _ = begun.recv();
    move || Some(noted.load(Ordering::Relaxed)).filter(|number| *number != 0)
}

/// From here on interrupts are for the program in front, such as a pager, which outlives them.
pub fn leave_interrupts() {
    ENDS.store(false, Ordering::Relaxed);
}
