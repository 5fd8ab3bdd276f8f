//! What the rules find in a take that is shown, and the note of that in the tree. It takes long: nobody waits
//! for it, and it is called off when another take is shown.

use super::view::view_of;
use crate::tui::loader::work::Work;
use crate::tui::report::Report;
use crate::tui::state::document::{Checked, Document};
use retake_core::rules::{Finding, Severity};
use retake_core::session::takes::{FindingCounts, TakeId, TakeOutcome};
use retake_core::session::{Rope, Session};
use retake_live::{TakeError, TakeStore, add_refusal, check_session, mark_resolved};
use std::sync::Arc;

/// A take that was shown and is to be checked.
pub(in super::super) struct Check {
    /// The number that [`super::bench::Bench::showing`] had.
    pub(super) showing: u32,
    /// The number that [`super::bench::Bench::opened`] had: takes of another opening are others.
    pub(super) opened: u32,
    pub(super) id: TakeId,
    pub(super) parent: Option<TakeId>,
    pub(super) document: Arc<Document>,
    pub(super) rope: Option<Arc<Rope>>,
    /// The provider's message, where it refused the request of the take.
    pub(super) refusal: Option<String>,
}

impl Work {
    /// Checks a take and notes what it came to, unless another one is shown before the end.
    pub(in super::super) fn check_take(&self, check: &Check) {
        let checked = self.findings_of(check).and_then(|tally| match tally {
            Some(tally) => self.note_outcome(check, tally),
            None => Ok(()),
        });
        self.report(checked);
    }

    /// What the rules find; `None` where it was called off.
    fn findings_of(&self, check: &Check) -> Result<Option<FindingCounts>, TakeError> {
        let document = &check.document;
        let mut tally = FindingCounts::default();
        for (number, session) in document.recording.sessions.iter().enumerate() {
            if !self.bench.is_showing(check.showing) {
                return Ok(None);
            }
            let mut findings = check_session(session, self.knowledge.target)?;
            if let Some(rope) = &check.rope {
                mark_resolved(session, rope, &mut findings);
            }
            if let Some(refusal) = &check.refusal {
                add_refusal(&document.recording, refusal, &mut findings)?;
            }
            add(&mut tally, &findings);
            self.tell(Report::Checked {
                document: document.clone(),
                session: number,
                checked: Arc::new(match self.runs(number) {
                    true => Checked::of_run(findings),
                    false => Checked::new(findings),
                }),
            });
        }
        self.tell(Report::Finished(document.clone()));
        Ok(Some(tally))
    }

    fn note_outcome(&self, check: &Check, tally: FindingCounts) -> Result<(), TakeError> {
        if check.parent == Some(TakeId::MAIN) {
            // It is known then, and does not take long where the takes are held.
            self.tally_of_main()?;
        }
        let mut open = self.bench.open();
        let bench = open.as_mut().map(|(_, bench)| bench);
        let Some(bench) = bench.filter(|_| self.bench.opened() == check.opened) else {
            return Ok(());
        };
        self.judge(bench, check.id, tally)?;
        if bench.is_behind() {
            self.retry_journal();
        }
        Ok(())
    }

    /// Notes what a take came to, where that is not known yet and it is known what there was before.
    pub(super) fn judge(
        &self,
        bench: &mut TakeStore,
        id: TakeId,
        after: FindingCounts,
    ) -> Result<(), TakeError> {
        let Some(take) = bench.takes().get(id) else {
            return Ok(());
        };
        let (outcome, parent) = (take.outcome.clone(), take.parent);
        self.bench.set_unchecked(id, false);
        let is_known = outcome.checked && outcome.after == after;
        if is_known || self.bench.is_unchecked(parent) {
            return Ok(());
        }
        let before = match bench.takes().get(parent) {
            Some(parent) => parent.outcome.after,
            None => self.tally_of_main()?,
        };
        let outcome = TakeOutcome {
            before,
            after,
            checked: true,
            ..outcome
        };
        bench.judge(id, outcome)?;
        let view = view_of(bench, self.bench.shown());
        self.tell(Report::TakeTree(view));
        Ok(())
    }

    /// What there is in the recording itself.
    fn tally_of_main(&self) -> Result<FindingCounts, TakeError> {
        let Some(main) = self.bench.main() else {
            return Ok(FindingCounts::default());
        };
        if let Some(tally) = self.bench.tally_of(&main) {
            return Ok(tally);
        }
        let tally = self.tally_of(&main.recording.sessions)?;
        self.bench.set_tally(&main, tally);
        Ok(tally)
    }

    pub(super) fn tally_of(&self, sessions: &[Session]) -> Result<FindingCounts, TakeError> {
        let mut tally = FindingCounts::default();
        for session in sessions {
            add(&mut tally, &check_session(session, self.knowledge.target)?);
        }
        Ok(tally)
    }
}

/// Adds the findings that nobody has decided about.
pub(in super::super) fn add(tally: &mut FindingCounts, findings: &[Finding]) {
    for finding in findings.iter().filter(|finding| !finding.is_settled) {
        match finding.severity {
            Severity::Error => tally.errors += 1,
            Severity::Warning => tally.warnings += 1,
            Severity::Info => tally.infos += 1,
        }
    }
}
