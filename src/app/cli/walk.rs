//! Recordings that the operator names, read on all cores and handed over in order.

use super::exit::print_error;
use super::inputs::{describe, report_unreadable};
use super::output::{Progress, counted};
use retake_live::discover::is_common_name;
use retake_live::{InputError, NamedRecording, Walked, expand, is_no_recording};
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// A path that cannot be read or walked, and why.
pub(super) type Unreadable<'a> = (&'a Path, &'a InputError);

/// Reads the files that paths name on all cores, and hands them over in order, as soon as they are there.
/// What cannot be read is reported on stderr and counted, with what could not be walked; `take` gets that, too.
pub(super) fn read_all<R: Send>(
    paths: &[PathBuf],
    read: impl Fn(&Path) -> Result<R, InputError> + Sync,
    mut take: impl FnMut(Result<R, Unreadable<'_>>) -> io::Result<()>,
) -> (usize, io::Result<()>) {
    let Walked { files, failures } = expand(paths);
    for (path, error) in &failures {
        report_unreadable(path, error);
        if let Err(error) = take(Err((path, error))) {
            return (failures.len(), Err(error));
        }
    }
    let (mut unreadable, mut skipped) = (failures.len(), Skipped::default());
    let mut taken = 0;
    let progress = RefCell::new(Progress::new(files.len()));
    let done = in_order(
        &files,
        |file| read(&file.path),
        |file, result| {
            progress.borrow().aside(|| match result {
                Ok(one) => {
                    taken += 1;
                    take(Ok(one))
                }
                Err(error) if file.in_folder && is_no_recording(&error) => {
                    skipped.add(file, &error);
                    Ok(())
                }
                Err(error) => {
                    unreadable += 1;
                    report_unreadable(&file.path, &error);
                    take(Err((&file.path, &error)))
                }
            })
        },
        |done| progress.borrow_mut().at(done),
    );
    drop(progress);
    skipped.report(taken);
    (unreadable, done)
}

/// Files of folders that are not recordings; reported once, at the end.
#[derive(Default)]
pub(super) struct Skipped {
    count: usize,
    first: Option<String>,
    /// The first of the files that need no word, because files of their names are mostly something else.
    first_common: Option<String>,
}

impl Skipped {
    pub(super) fn add(&mut self, file: &NamedRecording, error: &InputError) {
        let name = file.path.file_name().unwrap_or_default();
        let text = || describe(&file.path, error);
        if is_common_name(name) && !matches!(error, InputError::Foreign { .. }) {
            self.first_common.get_or_insert_with(text);
            return;
        }
        self.count += 1;
        self.first.get_or_insert_with(text);
    }

    /// Reports on stderr which files were left out; `read` files were not.
    pub(super) fn report(&self, read: usize) {
        if let (None, Some(common), 0) = (&self.first, &self.first_common, read) {
            print_error(&format!("skipped {common}"), None);
        }
        let Some(first) = &self.first else { return };
        let more = match self.count - 1 {
            0 => String::new(),
            more => format!(" (and {})", counted(more, "other file")),
        };
        print_error(&format!("skipped {first}{more}"), None);
    }
}

// Work on all cores, results in the order of the input, as soon as they are there.

/// How many inputs are started before the first of them is handed over: bounds what waits in memory.
const WINDOW: usize = 32;
/// How often `tick` is called while nothing arrives.
const TICK: Duration = Duration::from_millis(100);

type Done<R> = (usize, Result<R, Box<dyn Any + Send>>);

/// Calls `work` for each input on all cores, and `take` with the results in the order of the
/// inputs, on this thread.
///
/// Stops at the first error of `take`. `tick` is called with the number of results so far, ten times
/// a second or so.
pub(super) fn in_order<T: Sync, R: Send, E>(
    inputs: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(&T, R) -> Result<(), E>,
    mut tick: impl FnMut(usize),
) -> Result<(), E> {
    let stopped = AtomicBool::new(false);
    let (work, stopped) = (&work, &stopped);
    rayon::in_place_scope(|scope| {
        let (send, receive) = channel::<Done<R>>();
        let mut waiting = BTreeMap::new();
        let mut started = 0;
        for (next, input) in inputs.iter().enumerate() {
            while started < inputs.len().min(next + WINDOW) {
                let (send, number) = (send.clone(), started);
                scope.spawn(move |_| {
                    if !stopped.load(Ordering::Relaxed) {
                        let result = catch_unwind(AssertUnwindSafe(|| work(&inputs[number])));
                        // The receiver is gone once `take` has failed.
                        let _ = send.send((number, result));
                    }
                });
                started += 1;
            }
            let Some(result) = await_number(next, &mut waiting, &receive, &mut tick) else {
                return Ok(());
            };
            if let Err(error) = take(input, result) {
                stopped.store(true, Ordering::Relaxed);
                return Err(error);
            }
            tick(next + 1);
        }
        Ok(())
    })
}

/// Receives until the result of this number is there; a panic of the work goes on here.
fn await_number<R>(
    number: usize,
    waiting: &mut BTreeMap<usize, R>,
    receive: &Receiver<Done<R>>,
    tick: &mut impl FnMut(usize),
) -> Option<R> {
    loop {
        if let Some(result) = waiting.remove(&number) {
            return Some(result);
        }
        match receive.recv_timeout(TICK) {
            Ok((arrived, Ok(result))) => {
                waiting.insert(arrived, result);
            }
            Ok((_, Err(panic))) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => tick(number),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_with_a_common_ending_are_passed_over() {
        let mut skipped = Skipped::default();
        for name in ["ci.yml", "package.json", "other.yaml"] {
            let file = NamedRecording {
                path: name.into(),
                in_folder: true,
            };
            skipped.add(&file, &InputError::Unrecognised);
        }
        assert_eq!(skipped.count, 1);
        assert_eq!(
            skipped.first.as_deref(),
            Some("package.json: format not recognised")
        );
        assert_eq!(
            skipped.first_common.as_deref(),
            Some("ci.yml: format not recognised")
        );
    }
}

#[cfg(test)]
mod ordered_tests {
    use super::*;

    #[test]
    fn results_arrive_in_the_order_of_the_inputs() {
        let inputs = (0..200_u64).collect::<Vec<_>>();
        let mut taken = Vec::new();
        let slow_first = |number: &u64| {
            std::thread::sleep(Duration::from_micros(200 - number));
            number * 2
        };
        let done: Result<(), ()> = in_order(
            &inputs,
            slow_first,
            |input, result| {
                taken.push((*input, result));
                Ok(())
            },
            |_| (),
        );
        assert_eq!(done, Ok(()));
        assert_eq!(
            taken,
            inputs
                .iter()
                .map(|input| (*input, input * 2))
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn an_error_stops_the_work() {
        let inputs = (0..10_000).collect::<Vec<u32>>();
        let worked = std::sync::atomic::AtomicUsize::new(0);
        let done = in_order(
            &inputs,
            |_| worked.fetch_add(1, Ordering::Relaxed),
            |input, _| if *input == 3 { Err("closed") } else { Ok(()) },
            |_| (),
        );
        assert_eq!(done, Err("closed"));
        assert!(worked.into_inner() <= WINDOW + 4);
    }
}
