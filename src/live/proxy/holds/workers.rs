//! A few threads that do what is to be done about holds, one thing after the other for each hold.

use super::hold::Hold;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// More threads than this do not help: a hold is run for a moment, and then waits.
const MOST: usize = 4;

/// What is to be done.
enum Work {
    Drive(Arc<Hold>),
    Stop,
}

pub(super) struct Workers {
    queue: Sender<Work>,
    /// For holds that take long.
    large: Sender<Work>,
    threads: Vec<JoinHandle<()>>,
}

/// Where holds stand in line.
#[derive(Clone)]
pub(super) struct Line(Sender<Work>);

impl Line {
    /// A hold has something to do.
    pub(super) fn push(&self, hold: Arc<Hold>) {
        // Nobody drives it when the proxy ends.
        let _ = self.0.send(Work::Drive(hold));
    }
}

impl Workers {
    /// Starts them. `drive` does everything that a hold has to do, and gives nothing back.
    pub(super) fn start(drive: impl Fn(&Arc<Hold>) + Send + Sync + 'static) -> io::Result<Self> {
        let (queue, line) = channel();
        let (large, large_line) = channel();
        let (line, drive) = (Arc::new(Mutex::new(line)), Arc::new(drive));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let lines = std::iter::repeat_n(line, cores.clamp(2, MOST));
        let mut threads = Vec::new();
        for line in lines.chain([Arc::new(Mutex::new(large_line))]) {
            let drive = drive.clone();
            let builder = std::thread::Builder::new().name("holds".to_owned());
            threads.push(builder.spawn(move || {
                while let Some(Work::Drive(hold)) = next(&line) {
                    drive(&hold);
                }
            })?);
        }
        Ok(Self {
            queue,
            large,
            threads,
        })
    }

    /// Where holds stand in line; large ones have a thread of their own.
    pub(super) fn line(&self, is_large: bool) -> Line {
        Line(match is_large {
            true => self.large.clone(),
            false => self.queue.clone(),
        })
    }
}

fn next(line: &Mutex<Receiver<Work>>) -> Option<Work> {
    super::hold::lock(line).recv().ok()
}

impl Drop for Workers {
    fn drop(&mut self) {
        for _ in &self.threads {
            // A thread that is gone needs no word.
            let _ = self.queue.send(Work::Stop);
        }
        let _ = self.large.send(Work::Stop);
        for thread in self.threads.drain(..) {
            // The panic hook has reported a panic in it.
            let _ = thread.join();
        }
    }
}
