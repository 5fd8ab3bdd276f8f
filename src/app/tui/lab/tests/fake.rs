//! A bench that asks nobody: it tells what it is told to tell.

use super::super::subject::{ExperimentOrder, LabBench, Running};
use retake_core::lab::{LabCommand, Spec};
use retake_live::lab::Report;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// What was done to a bench.
#[derive(Debug, PartialEq)]
pub(super) enum Done {
    Begun(String),
    Commanded(LabCommand),
    Dropped,
}

/// The bench.
pub(super) struct Fake {
    done: Mutex<Sender<Done>>,
    /// Who is told; there once an experiment has begun.
    pub(super) report: Mutex<Option<Report>>,
    /// Why nothing begins.
    refusal: Option<String>,
}

impl Fake {
    pub(super) fn new(refusal: Option<&str>) -> (Arc<Self>, Receiver<Done>) {
        let (done, heard) = channel();
        let fake = Self {
            done: Mutex::new(done),
            report: Mutex::default(),
            refusal: refusal.map(str::to_owned),
        };
        (Arc::new(fake), heard)
    }
}

impl LabBench for Fake {
    fn begin(&self, order: &ExperimentOrder, report: Report) -> Result<Running, String> {
        let done = self.done.lock().unwrap().clone();
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        *self.report.lock().unwrap() = Some(report);
        done.send(Done::Begun(order.spec.name.clone())).unwrap();
        let experiment = Experiment(done);
        Ok(Box::new(move |command| {
            let experiment = &experiment;
            experiment.0.send(Done::Commanded(command)).unwrap();
        }))
    }

    fn spec(&self, order: &ExperimentOrder, folder: &Path) -> Result<Spec, String> {
        Ok(Spec {
            name: format!("{} in {}", order.spec.name, folder.display()),
            ..order.spec.clone()
        })
    }
}

struct Experiment(Sender<Done>);

impl Drop for Experiment {
    fn drop(&mut self) {
        // Nobody hears it where the test is over.
        let _ = self.0.send(Done::Dropped);
    }
}
