//! The handle of whoever watches a held exchange: its run, as any live run, until the exchange is decided or
//! the handle is dropped.

use super::drive::{HoldStart, Holds, settle};
use super::hold::{Active, Hold, HoldInput, Wake};
use crate::live::{News, Phase, RunInput};
use crate::lock::lock;
use crate::{TakeError, TakeStore};
use retake_core::engine::Command;
use retake_core::exchange::ExchangeId;
use retake_core::session::takes::TakeId;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;

/// A held run that somebody watches. Dropped before anything is decided, it leaves the exchange held behind
/// the screen; the store of its journal is to be dropped before.
pub struct HoldHandle {
    holds: Arc<Holds>,
    hold: Arc<Hold>,
    /// There until the handle is dropped.
    active: Option<Active>,
}

impl HoldHandle {
    /// Takes over the run of a hold that has started and that nobody watches.
    pub(crate) fn of(holds: &Arc<Holds>, hold: Arc<Hold>, wake: Wake) -> Option<Self> {
        if hold.is_decided() || lock(&hold.thread).is_none() || lock(&hold.wake).is_some() {
            return None;
        }
        let (to, active) = channel();
        hold.send(HoldInput::HandOver(to));
        let active = active.recv().ok();
        active.as_ref()?;
        *lock(&hold.wake) = Some(wake.clone());
        // Something may have happened before anybody could be notified.
        wake();
        let holds = holds.clone();
        Some(Self {
            holds,
            hold,
            active,
        })
    }

    pub fn id(&self) -> ExchangeId {
        self.hold.id
    }

    /// The journal of the run.
    pub fn journal(&self) -> Option<&Path> {
        self.active.as_ref().map(|active| active.run.journal())
    }

    /// Goes on with the run, in a store of its takes; everything is reported again.
    pub fn start(&mut self, store: &mut TakeStore) -> Result<Vec<News>, TakeError> {
        let Some(Active { run, .. }) = &mut self.active else {
            return Ok(Vec::new());
        };
        let news = run.start_again(store)?;
        settle(run, store, &news, &self.hold);
        Ok(news)
    }

    /// Handles an input. Of an exchange that was decided nothing goes on.
    pub fn handle(&mut self, store: &mut TakeStore, input: RunInput) -> Vec<News> {
        let Some(Active { run, .. }) = &mut self.active else {
            return Vec::new();
        };
        let news = match (self.hold.closing(), run.has_ended()) {
            (Some(closing), false) => {
                let mut news = vec![News::Notice(closing.words.clone())];
                let end = RunInput::Operator(Command::End(closing.ending.clone()));
                news.extend(run.handle(store, end));
                news
            }
            // Going about its takes asks for nothing.
            (_, true) if matches!(input, RunInput::Went(_) | RunInput::Io(_)) => Vec::new(),
            (_, true) => {
                let text = "the exchange is decided: nothing goes on here any more";
                vec![News::Notice(text.to_owned())]
            }
            (None, false) => run.handle(store, input),
        };
        settle(run, store, &news, &self.hold);
        news
    }

    /// Handles what has happened meanwhile: to its model, and to its exchange.
    pub fn handle_io(&mut self, store: &mut TakeStore) -> Vec<News> {
        let mut news = Vec::new();
        while let Some(Ok(input)) = self.active.as_ref().map(|active| active.inputs.try_recv()) {
            match input {
                HoldInput::Io(event) => news.extend(self.handle(store, RunInput::Io(event))),
                HoldInput::Close => {
                    let current = self.take();
                    news.extend(self.handle(store, RunInput::Went(current)));
                }
                // It is in somebody's hands; the proxy ends with the screen.
                HoldInput::HandOver(_) | HoldInput::Stop => {}
            }
        }
        news
    }

    /// The take that the run drives.
    pub fn take(&self) -> TakeId {
        let active = self.active.as_ref();
        active.map_or(TakeId::MAIN, |active| active.run.run().take())
    }

    /// What it is doing.
    pub fn phase(&self) -> Phase {
        let active = self.active.as_ref();
        active.map_or(Phase::Idle, |active| active.run.run().phase())
    }
}

impl Drop for HoldHandle {
    fn drop(&mut self) {
        *lock(&self.hold.wake) = None;
        if let Some(active) = self.active.take()
            && !self.holds.has_stopped()
        {
            self.holds.spawn(&self.hold, HoldStart::GivenBack(active));
        }
    }
}
