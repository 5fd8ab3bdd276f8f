//! The seat of whoever watches a held exchange: its run, as any live run, until the exchange is decided or
//! the seat is left.

use super::hold::{Hold, Job, Stage, Wake, lock};
use super::run::HeldRun;
use crate::live::{Input, News, Phase};
use crate::{TakeError, TakeStore};
use retake_core::engine::Command;
use retake_core::exchange::ExchangeId;
use retake_core::session::takes::TakeId;
use std::path::Path;
use std::sync::Arc;

/// A run that somebody watches. If it is left before anything is decided, the exchange stays held behind
/// the screen; the workbench of its journal is to be dropped before.
pub struct HoldHandle {
    hold: Arc<Hold>,
    /// There until the seat is left.
    run: Option<Box<HeldRun>>,
}

impl HoldHandle {
    /// Takes the run of a hold that is held here.
    pub(super) fn of(hold: Arc<Hold>, wake: Wake) -> Option<Self> {
        let mut stage = lock(&hold.stage);
        if hold.is_decided() {
            return None;
        }
        let run = match std::mem::replace(&mut *stage, Stage::Away) {
            // The journal is another one's to open now.
            Stage::Here(run, bench) => {
                drop(bench);
                run
            }
            other => {
                *stage = other;
                return None;
            }
        };
        hold.seat(wake);
        drop(stage);
        Some(Self {
            hold,
            run: Some(run),
        })
    }

    pub fn id(&self) -> ExchangeId {
        self.hold.id
    }

    /// The journal of the run.
    pub fn journal(&self) -> Option<&Path> {
        self.run.as_deref().map(HeldRun::journal)
    }

    /// Goes on with the run, in a store of its takes; everything is reported again.
    pub fn start(&mut self, bench: &mut TakeStore) -> Result<Vec<News>, TakeError> {
        let Some(run) = &mut self.run else {
            return Ok(Vec::new());
        };
        let news = run.start_again(bench)?;
        self.settle(bench, &news);
        Ok(news)
    }

    /// Hears something, and does what follows from it. Of an exchange that was decided nothing goes on.
    pub fn handle(&mut self, bench: &mut TakeStore, input: Input) -> Vec<News> {
        let Some(run) = &mut self.run else {
            return Vec::new();
        };
        let closing = self.hold.closing();
        let has_ended = matches!(run.run().phase(), Phase::Ended(_));
        let news = match (closing, has_ended) {
            (Some(closing), false) => {
                let mut news = vec![News::Notice(closing.words)];
                let end = Input::Operator(Command::End(closing.ending));
                news.extend(run.handle(bench, end));
                news
            }
            // Going about its takes asks for nothing.
            (_, true) if matches!(input, Input::Went(_) | Input::Io(_)) => Vec::new(),
            (_, true) => {
                let text = "the exchange is decided: nothing goes on here any more";
                vec![News::Notice(text.to_owned())]
            }
            (None, false) => run.handle(bench, input),
        };
        self.settle(bench, &news);
        news
    }

    /// Hears what has happened meanwhile: in the world of the run, and to its exchange.
    pub fn handle_io(&mut self, bench: &mut TakeStore) -> Vec<News> {
        let mut news = Vec::new();
        while let Some(job) = self.hold.next_in_seat() {
            match job {
                Job::Io(event) => news.extend(self.handle(bench, Input::Io(event))),
                Job::Close => {
                    let current = self.take();
                    news.extend(self.handle(bench, Input::Went(current)));
                }
                // Neither comes while somebody sits here.
                Job::Begin(_) | Job::GivenBack(_) => {}
            }
        }
        news
    }

    /// The take that the run drives.
    pub fn take(&self) -> TakeId {
        let run = self.run.as_deref();
        run.map_or(TakeId::MAIN, |run| run.run().take())
    }

    /// What it is doing.
    pub fn phase(&self) -> Phase {
        let run = self.run.as_deref();
        run.map_or(Phase::Idle, |run| run.run().phase())
    }

    fn settle(&mut self, bench: &mut TakeStore, news: &[News]) {
        let Some(run) = &mut self.run else {
            return;
        };
        self.hold.report(run.report(news));
        if !self.hold.is_decided()
            && let Some(outcome) = run.outcome(bench)
        {
            self.hold.decide(outcome);
        }
    }
}

impl Drop for HoldHandle {
    fn drop(&mut self) {
        if let Some(run) = self.run.take() {
            self.hold.unseat(run);
        }
    }
}
