//! A seat that is left: the journal is free again before the hold gets its exchange back.

use super::fake::{seat, seated};
use crate::tui::loader::takes::conductor::{Conductor, Staged};
use crate::tui::loader::{Knowledge, Loader};
use crate::tui::report::Report;
use retake_core::session::takes::TakeId;
use retake_live::live::{Phase, RunInput, RunNews};
use retake_live::{OpenedInput, ReadOptions, TakeError, TakeStore};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use tempfile::TempDir;

/// Drives nothing; tells whether the journal is free when it is dropped.
struct Patient {
    journal: PathBuf,
    told: Sender<bool>,
}

impl Conductor for Patient {
    fn start(&mut self, _: &mut TakeStore, _: u32, _: TakeId) -> Result<Vec<RunNews>, TakeError> {
        Ok(vec![RunNews::Notice("seated".to_owned())])
    }

    fn handle(&mut self, _: &mut TakeStore, _: RunInput) -> Vec<RunNews> {
        Vec::new()
    }

    fn take(&self) -> TakeId {
        TakeId::MAIN
    }

    fn phase(&self) -> Phase {
        Phase::Idle
    }
}

impl Drop for Patient {
    fn drop(&mut self) {
        // The test fails by its deadline where nobody hears it.
        let _ = self.told.send(is_free(&self.journal));
    }
}

fn is_free(journal: &Path) -> bool {
    let input = retake_live::open(journal).unwrap();
    let opening = OpenedInput::begin(input, &ReadOptions::default()).unwrap();
    let recording = Arc::new(opening.read(&|_, _| ()).unwrap());
    let (bench, _) = TakeStore::open(recording, Some(journal), None, || 0);
    bench.not_recording().is_none()
}

#[test]
fn a_seat_that_is_left_finds_its_journal_free() {
    let folder = TempDir::new().unwrap();
    let (journal, real) = seat(folder.path());
    drop(real);
    assert!(is_free(&journal));
    let (told, free) = channel();
    let patient = Patient {
        journal: journal.clone(),
        told,
    };
    let (_world, events) = channel();
    let staged = Staged::seated(seated(Box::new(patient), events));
    let input = retake_live::open(&journal).unwrap();
    let opening = Arc::new(OpenedInput::begin(input, &ReadOptions::default()).unwrap());
    let (sender, reports) = channel();
    let reports_of = Arc::new(move |report| {
        // The test is over.
        let _ = sender.send(report);
    });
    let knowledge = Arc::new(Knowledge::default());
    let loader = Loader::start(opening, knowledge, staged, reports_of);
    loop {
        let report = reports.recv_timeout(Duration::from_secs(30)).unwrap();
        if matches!(&report, Report::Live(RunNews::Notice(said)) if said == "seated") {
            break;
        }
    }
    assert!(!is_free(&journal), "the screen has it");
    drop(loader);
    assert_eq!(free.recv_timeout(Duration::from_secs(30)), Ok(true));
}
