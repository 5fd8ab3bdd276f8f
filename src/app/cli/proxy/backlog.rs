//! How many news wait to be written: where nobody reads the lines, memory is bounded.

use retake_live::proxy::News;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many news wait at most, not counting those that decide how the proxy goes on.
const MOST: usize = 10_000;

/// Counts news that wait, and those that were dropped.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    waiting: AtomicUsize,
    dropped: AtomicUsize,
}

impl Backlog {
    /// Whether there is room for these news. What happens to exchanges is in the journal as well, so
    /// it can be dropped.
    pub(super) fn admits(&self, news: &News) -> bool {
        let is_dropped = matches!(news, News::Exchange(_) | News::Found { .. })
            && self.waiting.load(Ordering::Relaxed) >= MOST;
        let count = if is_dropped {
            &self.dropped
        } else {
            &self.waiting
        };
        count.fetch_add(1, Ordering::Relaxed);
        !is_dropped
    }

    /// One that was admitted waits no longer.
    pub(super) fn take(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many were dropped since this was asked last, in words.
    pub(super) fn dropped(&self) -> Option<String> {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        (dropped > 0).then(|| {
            format!(
                "{dropped} lines about exchanges were dropped because the output was not read; the journal has \
                the exchanges"
            )
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::headless::{Watched, watch};
    use super::*;
    use crate::cli::exit::Exit;
    use retake_core::exchange::Seen;
    use retake_live::proxy::Report;
    use std::cell::Cell;
    use std::io::{self, Write};
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};

    /// More lines than anybody waits for.
    const TOO_MANY: usize = 20_000;

    /// An output with which news come as fast as they are written.
    struct Echoing {
        sender: Sender<News>,
        is_over: Arc<std::sync::atomic::AtomicBool>,
        writes: usize,
        flushes: usize,
    }

    impl Write for Echoing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            if self.writes < TOO_MANY && !self.is_over.load(Ordering::Relaxed) {
                self.sender.send(News::Notice("again".to_owned())).unwrap();
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.flushes += 1;
            Ok(())
        }
    }

    #[test]
    fn a_signal_is_heard_although_lines_keep_coming() {
        let (sender, news) = channel();
        let again = News::Notice("again".to_owned());
        let listening = News::Listening {
            address: ([127, 0, 0, 1], 8484).into(),
            base: "http://127.0.0.1:8484".to_owned(),
            upstream: "a".to_owned(),
        };
        (0..600).for_each(|_| sender.send(again.clone()).unwrap());
        sender.send(listening).unwrap();
        sender.send(again).unwrap();
        let is_over = Arc::default();
        let mut out = Echoing {
            sender,
            is_over: Arc::clone(&is_over),
            writes: 0,
            flushes: 0,
        };
        let report: Report = Arc::new(|_| ());
        let watched = Watched {
            reaches: &[],
            journal: Path::new("proxy.jsonl"),
            news: &news,
            backlog: &Backlog::default(),
            report: &report,
            order: None,
        };
        let asked = Cell::new(0);
        let signal = || {
            asked.set(asked.get() + 1);
            (asked.get() > 5).then_some(15)
        };
        let stop = || is_over.store(true, Ordering::Relaxed);
        let exit = watch(watched, signal, stop, &mut out, io::sink());
        assert!(matches!(exit, Ok(Exit::Signal(15))));
        let (writes, flushes) = (out.writes, out.flushes);
        assert!((600..TOO_MANY).contains(&writes), "{writes}");
        assert!(flushes < 20, "{flushes} of {writes}");
    }

    #[test]
    fn exchanges_that_nobody_reads_of_are_dropped_and_counted() {
        let backlog = Backlog::default();
        let exchange = News::Exchange(Arc::new(Seen::default()));
        let admitted = (0..MOST + 7).filter(|_| backlog.admits(&exchange)).count();
        assert_eq!(admitted, MOST);
        assert!(backlog.admits(&News::Notice(String::new())));
        let words = backlog.dropped().unwrap();
        assert!(words.starts_with("7 lines"), "{words}");
        assert_eq!(backlog.dropped(), None);
        (0..2).for_each(|_| backlog.take());
        assert!(backlog.admits(&exchange));
    }
}
