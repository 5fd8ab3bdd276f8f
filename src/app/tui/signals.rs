//! Signals that ask the program to end, also while the terminal takes no output.

use super::terminal::is_taken;
use rustix::process::Signal;
use rustix::termios::{Action, QueueSelector, tcflow, tcflush};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

/// How long the loop has to answer a signal before its output is discarded.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often output is discarded then.
const DISCARD: Duration = Duration::from_millis(20);

/// Whether the loop has answered a signal that asks it to end.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// The signals that ask the program to end.
pub(super) struct Endings([Signals; 4]);

impl Endings {
    /// Hears the signals that come from now on.
    pub(super) fn new() -> io::Result<Self> {
        let [term, hangup, interrupt, quit] = endings().map(signal);
        Ok(Self([term?, hangup?, interrupt?, quit?]))
    }

    /// Forgets the interrupts that came while another program had the terminal: they were for that one.
    pub(super) fn forget_interrupts(&mut self) -> io::Result<()> {
        let [_, _, interrupt, quit] = endings();
        self.0[2] = signal(interrupt)?;
        self.0[3] = signal(quit)?;
        Ok(())
    }

    /// The number of the next one, of which the loop takes note.
    pub(super) async fn next(&mut self) -> i32 {
        let number = self.any().await;
        begin_to_end();
        number
    }

    async fn any(&mut self) -> i32 {
        let [term, hangup, interrupt, quit] = &mut self.0;
        tokio::select! {
            biased;
            _ = term.recv() => Signal::TERM.as_raw(),
            _ = hangup.recv() => Signal::HUP.as_raw(),
            _ = interrupt.recv() => Signal::INT.as_raw(),
            _ = quit.recv() => Signal::QUIT.as_raw(),
        }
    }
}

/// The loop has seen that the program ends.
pub(super) fn begin_to_end() {
    IS_ENDING.store(true, Ordering::Release);
}

/// Whether the loop is at the end of the program.
pub(super) fn is_ending() -> bool {
    IS_ENDING.load(Ordering::Acquire)
}

/// What asks the program to end. `^c` is a key here: an interrupt comes from outside.
fn endings() -> [SignalKind; 4] {
    [
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::interrupt(),
        SignalKind::quit(),
    ]
}

/// Discards what waits to be written when the loop does not answer a signal: it is writing to a terminal that
/// nobody reads, and would wait for as long as that lasts.
pub(super) fn end_without_reader() {
    std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        // Without it the signals are left to the loop alone.
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            let Ok(mut signals) = Endings::new() else {
                return;
            };
            let interrupts = [Signal::INT, Signal::QUIT].map(Signal::as_raw);
            // An interrupt while another program has the terminal is for that one.
            while interrupts.contains(&signals.any().await) && !is_taken() {}
        });
        std::thread::sleep(PATIENCE);
        while !is_ending() {
            discard_output();
        }
        // The way back to the shell is short, and is discarded only where even that finds no room.
        std::thread::sleep(PATIENCE);
        while is_taken() {
            discard_output();
        }
    });
}

/// Discards what waits for the terminal, if it is ours. Stopping and starting wakes whoever waits for room.
fn discard_output() {
    if is_taken() {
        let out = io::stdout();
        // A terminal that cannot do it is one that is gone.
        let _ = tcflush(&out, QueueSelector::OFlush);
        let _ = tcflow(&out, Action::OOff);
        let _ = tcflow(&out, Action::OOn);
    }
    std::thread::sleep(DISCARD);
}
