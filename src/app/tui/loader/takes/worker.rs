//! The two threads for takes: one carries out the requests, in order; the other checks what is shown, and
//! leaves off when another take is.

use super::bench::Job;
use super::checking::Check;
use crate::tui::loader::work::Work;
use retake_live::in_background;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Starts the threads; they end when nobody can ask for anything any more.
pub(in super::super) fn start(work: Work) -> Sender<Job> {
    let (jobs, queue) = channel::<Job>();
    let (checks, shown) = channel::<Check>();
    let checker = work.clone();
    std::thread::spawn(move || check(&checker, &shown));
    std::thread::spawn(move || {
        for job in queue {
            if let Job::Close(closed) = job {
                work.close();
                // Whoever waited may have given up.
                let _ = closed.send(());
                break;
            }
            if let Some(check) = work.perform(job) {
                // The other thread lives as long as this one.
                let _ = checks.send(check);
            }
        }
        work.bench.call_off();
    });
    jobs
}

fn check(work: &Work, shown: &Receiver<Check>) {
    for check in shown {
        in_background(|| work.check_take(&check));
    }
}

impl Work {
    /// Carries out the requests; returns what is to be checked then.
    pub(in super::super) fn perform(&self, job: Job) -> Option<Check> {
        match job {
            Job::Make(order) => {
                let check = self.make_take(*order);
                self.lead(true).or(check)
            }
            Job::Obey(command, shown) => {
                let check = self.command_takes(command, shown.as_ref());
                self.lead(false).or(check)
            }
            Job::Live(command) => self.command_live(command),
            Job::Stir(stir) => self.stirred(stir),
            Job::Close(_) => None,
        }
    }
}
