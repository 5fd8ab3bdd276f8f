//! A run driven through the library, as the screen drives it.

use super::PATIENCE;
use retake_core::actions::{self, ActionContext, ActionError, ActionInput, Plan};
use retake_core::engine::RunCommand;
use retake_core::rules;
use retake_core::session::takes::{Take, TakeCause, TakeId, TakeOutcome};
use retake_core::session::{HistoryChange, compare};
use retake_live::agents::AgentFile;
use retake_live::live::{
    IoEvent, LiveRun, Phase, PreparedRun, RunInput, RunNews, RunOptions, prepare,
};
use retake_live::takes::wall_clock;
use retake_live::tools::Supervisor;
use retake_live::wordings::Wordings;
use retake_live::{Recording, TakeStore};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// A run, its takes, and all that it told.
pub(crate) struct HeldRun {
    pub(crate) run: LiveRun,
    pub(crate) bench: TakeStore,
    events: Receiver<IoEvent>,
    pub(crate) news: Vec<RunNews>,
}

/// Options of a run with an operator.
pub(crate) fn attended() -> RunOptions {
    RunOptions {
        has_operator: true,
        supervisor: Some(Supervisor::at(env!("CARGO_BIN_EXE_retake"))),
        ..RunOptions::default()
    }
}

fn prepared(agent: &Path, options: RunOptions) -> (PreparedRun, Receiver<IoEvent>) {
    let file = AgentFile::read(agent, &Wordings::default()).unwrap();
    let (sender, events) = channel();
    let report = Arc::new(move |event| {
        // Nobody hears it when the test is over.
        let _ = sender.send(event);
    });
    (prepare(&file, options, report).unwrap(), events)
}

impl HeldRun {
    /// A new run with a journal of its own.
    pub(crate) fn new(agent: &Path, journal: &Path, options: RunOptions) -> Self {
        let (prepared, events) = prepared(agent, options);
        let bench =
            TakeStore::begin_run(journal, prepared.about.clone(), &prepared.first, wall_clock);
        Self::begun(prepared, events, bench.unwrap(), TakeId::MAIN)
    }

    /// A run goes on from its journal, in the take that was looked at last.
    pub(crate) fn again(agent: &Path, journal: &Path, options: RunOptions) -> Self {
        let (prepared, events) = prepared(agent, options);
        let (bench, _) = TakeStore::open_run(journal, wall_clock).unwrap();
        let from = bench.takes().current();
        Self::begun(prepared, events, bench, from)
    }

    /// A recording goes on.
    pub(crate) fn of_recording(agent: &Path, bench: TakeStore, options: RunOptions) -> Self {
        let (prepared, events) = prepared(agent, options);
        let from = bench.takes().current();
        Self::begun(prepared, events, bench, from)
    }

    fn begun(
        prepared: PreparedRun,
        events: Receiver<IoEvent>,
        mut bench: TakeStore,
        from: TakeId,
    ) -> Self {
        let mut run = prepared.run;
        let news = run.start(&mut bench, 0, from).unwrap();
        Self {
            run,
            bench,
            events,
            news,
        }
    }

    pub(crate) fn handle(&mut self, input: RunInput) {
        let news = self.run.handle(&mut self.bench, input);
        self.news.extend(news);
    }

    pub(crate) fn command(&mut self, command: RunCommand) {
        self.handle(RunInput::Operator(command));
    }

    /// Goes on until the run waits for somebody, or ended.
    pub(crate) fn rest(&mut self) -> Phase {
        let begun = Instant::now();
        loop {
            let phase = self.run.phase();
            if matches!(phase, Phase::Paused { .. } | Phase::Ended(_)) {
                return phase;
            }
            let left = PATIENCE.saturating_sub(begun.elapsed());
            match self.events.recv_timeout(left) {
                Ok(event) => self.handle(RunInput::Io(event)),
                Err(error) => panic!("{error} in {phase:?}; {:#?}", self.news),
            }
        }
    }

    /// The operator mends the fault of a rule with an action of these words, as the screen does it: a take, in which the run goes on.
    pub(crate) fn mend(&mut self, rule: &str, action: &str, words: Option<&str>) -> TakeId {
        let choice = ActionInput {
            words,
            ..ActionInput::default()
        };
        let plan = actions::find(action).unwrap().plan;
        let mended = self.mend_by(rule, action, |scene| plan(scene, &choice));
        mended.unwrap()
    }

    /// The same as it is planned, or why it is not done.
    pub(crate) fn mend_by(
        &mut self,
        rule: &str,
        action: &str,
        plan: impl FnOnce(&ActionContext<'_>) -> Result<Plan, ActionError>,
    ) -> Result<TakeId, String> {
        let judged = self.news.iter().rev().find_map(|news| match news {
            RunNews::Judged(judged) => Some(judged.clone()),
            _ => None,
        });
        let judged = judged.unwrap();
        let (recording, findings) = (judged.recording(), judged.findings());
        let finding = findings.iter().find(|finding| finding.rule.id == rule);
        let finding = finding.ok_or("it is not found")?;
        let session = &recording.sessions[0];
        let beside = rules::beside(session, findings, finding);
        let judged = rules::Run::new(session, None);
        let scene = judged.scene(finding.defect(), &beside).unwrap();
        let planned = plan(&scene).map_err(|refusal| refusal.to_string())?;
        let about = Take {
            title: action.to_owned(),
            cause: TakeCause {
                rule: Some(rule.to_owned()),
                item: finding.item,
                action: Some(action.to_owned()),
                ..TakeCause::default()
            },
            outcome: TakeOutcome {
                asks_model: planned.asks_model,
                ..TakeOutcome::default()
            },
            fallback: planned.result.clone(),
            ..Take::default()
        };
        self.bench.go_to(self.run.take()).unwrap();
        let take = self.bench.take(0, session, &planned.edits, about).unwrap();
        self.handle(RunInput::Edited(take));
        Ok(take)
    }

    /// The operator goes to a take.
    pub(crate) fn go_to(&mut self, take: TakeId) {
        self.bench.go_to(take).unwrap();
        self.handle(RunInput::Went(take));
    }

    pub(crate) fn read(&mut self, take: TakeId) -> Recording {
        self.bench.read(take, &|_, _| ()).unwrap()
    }

    /// What differs between two takes.
    pub(crate) fn compared(&mut self, one: TakeId, other: TakeId) -> Vec<HistoryChange> {
        let [left, right] =
            [one, other].map(|take| (self.read(take), self.bench.rope(take).unwrap()));
        compare(
            (&left.0.sessions[0], &left.1),
            (&right.0.sessions[0], &right.1),
        )
        .unwrap()
    }

    /// How often a tool was started, by the ledger.
    pub(crate) fn starts(&self, name: &str) -> usize {
        use retake_core::session::ledger::LedgerEvent::Started;
        let happened = self.bench.happened().iter();
        let started =
            happened.filter(|one| matches!(&one.event, Started { tool, .. } if tool == name));
        started.count()
    }
}

/// Why a run waits, in words; nothing where it does not.
pub(crate) fn reasons(phase: &Phase) -> String {
    match phase {
        Phase::Paused { reasons, .. } => {
            let words = reasons.iter().map(retake_core::engine::Reason::words);
            words.collect::<Vec<_>>().join("; ")
        }
        _ => String::new(),
    }
}
