//! What is judged when nothing can be decided any more: one exchange after the other, on a thread of its
//! own, beside what passes.
//!
//! What waits is bounded. An exchange beyond the bound is not judged and says so; it was recorded before.

use crate::lock::lock;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Most bytes of bodies that wait to be judged.
const WAITING: usize = 64 << 20;
/// Most exchanges that wait to be judged.
const COUNT: usize = 10_000;
/// How long an exchange that is being judged may take once nothing else is begun.
const END: Duration = Duration::from_secs(1);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Judges an exchange that is over, or hears that it is not to be judged.
pub(crate) type Work = Box<dyn FnOnce(Judges) + Send>;

/// Whether an exchange is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judges {
    Yes,
    /// Too much waits, or the proxy ends.
    No,
}

/// The thread, and what waits for it.
#[derive(Debug)]
pub(crate) struct Late {
    jobs: Mutex<Option<Sender<(usize, Work)>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    load: Arc<Load>,
}

#[derive(Debug, Default)]
struct Load {
    bytes: AtomicUsize,
    count: AtomicUsize,
    ends: AtomicBool,
}

impl Late {
    /// Fails where the system gives no thread.
    pub(crate) fn start() -> io::Result<Self> {
        let load = Arc::new(Load::default());
        let (jobs, received) = channel();
        let inside = load.clone();
        let thread = std::thread::Builder::new().name("late judge".to_owned());
        let thread = thread.spawn(move || run(&received, &inside))?;
        Ok(Self {
            jobs: Mutex::new(Some(jobs)),
            thread: Mutex::new(Some(thread)),
            load,
        })
    }

    /// Has something judged that keeps so many bytes in memory. What comes alone is taken, whatever its length.
    pub(crate) fn judge(&self, bytes: usize, work: Work) {
        let waiting = self.load.bytes.load(Ordering::Relaxed);
        let is_too_much = waiting > 0 && waiting.saturating_add(bytes) > WAITING;
        if is_too_much || self.load.count.load(Ordering::Relaxed) >= COUNT {
            return work(Judges::No);
        }
        let jobs = lock(&self.jobs);
        let Some(jobs) = &*jobs else {
            return work(Judges::No);
        };
        self.load.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.load.count.fetch_add(1, Ordering::Relaxed);
        if let Err(unsent) = jobs.send((bytes, work)) {
            unsent.0.1(Judges::No);
        }
    }

    /// Judges nothing more. An exchange that is being judged is waited for, but not for long.
    pub(crate) fn end(&self) {
        self.load.ends.store(true, Ordering::Relaxed);
        drop(lock(&self.jobs).take());
        let thread = lock(&self.thread).take();
        let since = Instant::now();
        while thread.as_ref().is_some_and(|thread| !thread.is_finished()) && since.elapsed() < END {
            std::thread::sleep(LOOK);
        }
    }
}

fn run(jobs: &Receiver<(usize, Work)>, load: &Load) {
    while let Ok((bytes, work)) = jobs.recv() {
        work(match load.ends.load(Ordering::Relaxed) {
            true => Judges::No,
            false => Judges::Yes,
        });
        load.bytes.fetch_sub(bytes, Ordering::Relaxed);
        load.count.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_and_what_is_beyond_hears_that_it_is_not_judged() {
        let late = Late::start().unwrap();
        let (told, hears) = channel();
        let (frees, waits) = channel::<()>();
        late.judge(
            2 * WAITING,
            Box::new(move |_| waits.recv().unwrap_or_default()),
        );
        for name in ["second", "third"] {
            let told = told.clone();
            late.judge(
                1,
                Box::new(move |judges| told.send((name, judges)).unwrap()),
            );
        }
        assert_eq!(hears.recv().unwrap(), ("second", Judges::No));
        assert_eq!(hears.recv().unwrap(), ("third", Judges::No));
        frees.send(()).unwrap();
        let is_free = || late.load.bytes.load(Ordering::Relaxed) == 0;
        while !is_free() {
            std::thread::sleep(LOOK);
        }
        let again = told.clone();
        late.judge(
            1,
            Box::new(move |judges| again.send(("fourth", judges)).unwrap()),
        );
        assert_eq!(hears.recv().unwrap(), ("fourth", Judges::Yes));
        late.end();
        late.judge(
            1,
            Box::new(move |judges| told.send(("fifth", judges)).unwrap()),
        );
        assert_eq!(hears.recv().unwrap(), ("fifth", Judges::No));
    }
}
