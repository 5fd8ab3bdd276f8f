//! What a panic does while the screen is open.
//!
//! | thread | |
//! |---|---|
//! | the screen's | the terminal is restored, the message goes to stderr, everything is closed in order, the exit code is 101 |
//! | one whose panics end a single exchange of a proxy | the program goes on; the message goes to stderr when the screen is closed |
//! | any other | as for the screen's, as soon as its loop hears of it |

use super::request::{Left, OpenError};
use super::terminal;
use retake_live::lock::lock;
use std::cell::Cell;
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once};
use std::thread;
use tokio::sync::Notify;

/// Threads that catch the panics of a single exchange: those of listeners, of judges, and of what drives holds.
const CONTAINED: &[&str] = &["proxy", "holds", "tokio-rt-worker"];

/// The messages of panics in other threads, until they can be written.
static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Whether one of them ends the program.
static IS_FATAL: AtomicBool = AtomicBool::new(false);
/// Wakes the loop of the screen for that.
static WAKE: Notify = Notify::const_new();

thread_local! {
    static IS_SCREEN: Cell<bool> = const { Cell::new(false) };
}

/// Runs the screen on this thread; a panic ends it like a key would, with everything closed in order.
pub(super) fn contain(screen: impl FnOnce() -> Result<Left, OpenError>) -> Result<Left, OpenError> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| hear(panic, &before)));
    });
    IS_SCREEN.set(true);
    // What the closure leaves after is dropped with it.
    let left = catch_unwind(AssertUnwindSafe(screen));
    IS_SCREEN.set(false);
    let mut messages = lock(&MESSAGES);
    for message in messages.drain(..) {
        // Without stderr there is nobody to tell.
        let _ = writeln!(io::stderr(), "{message}");
    }
    left.unwrap_or(Ok(Left::Panicked))
}

/// Comes back when a panic of another thread ends the program.
pub(super) async fn fatal() {
    while !IS_FATAL.load(Ordering::Acquire) {
        WAKE.notified().await;
    }
}

fn hear(panic: &PanicHookInfo<'_>, before: &dyn Fn(&PanicHookInfo<'_>)) {
    if IS_SCREEN.get() || !terminal::is_taken() {
        terminal::leave();
        return before(panic);
    }
    let thread = thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    let message = format!("thread '{name}' {panic}");
    let mut messages = lock(&MESSAGES);
    messages.push(message);
    if !CONTAINED.contains(&name) {
        IS_FATAL.store(true, Ordering::Release);
        WAKE.notify_one();
    }
}

/// Debug builds panic at F12, on the thread that `RETAKE_PANIC` names, `screen` or `worker`, so that tests can
/// see what becomes of it.
#[cfg(debug_assertions)]
#[expect(clippy::panic, reason = "what is tested is a panic")]
pub(super) fn on_demand(event: &crossterm::event::Event) {
    use crossterm::event::{Event, KeyCode};
    let is_key = matches!(event, Event::Key(key) if key.code == KeyCode::F(12));
    let wanted = std::env::var_os("RETAKE_PANIC").filter(|_| is_key);
    match wanted.as_ref().and_then(|wanted| wanted.to_str()) {
        Some("screen") => panic!("asked for on the screen"),
        Some("worker") => drop(thread::spawn(|| panic!("asked for on another thread"))),
        _ => {}
    }
}
