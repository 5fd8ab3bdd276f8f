//! The wording lab over the debugger that it was opened from: into it, from a sample back to it, and out again.

use super::debugger::{Debugger, Opened};
use super::lab::{Desk, Subject, World};
use super::loader::Staged;
use super::update::Report;
use super::{Face, Left, News, Next};
use crossterm::event::EventStream;
use retake_core::session::takes::TakeId;
use retake_live::takes::usual_root;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The lab, and the debugger below it.
pub(super) struct Labbing {
    pub(super) desk: Desk,
    pub(super) below: Debugger,
}

impl Labbing {
    /// News of the file below: it is read, and its run goes on, while the lab has the screen. What the operator
    /// would have to decide waits there.
    pub(super) fn hear(&mut self, number: u32, report: Report) {
        if self.below.number == number {
            drop(self.below.hear(report));
        }
    }
}

impl Face<'_> {
    /// Opens the lab for a finding of the file that is shown.
    pub(super) fn open_lab(&mut self, subject: Subject) {
        let Some(mut below) = self.debugger.take() else {
            return;
        };
        if self.labbing.is_some() {
            below.state.notice = Some("this is a sample of the lab: q goes back to it".to_owned());
            self.debugger = Some(below);
            return;
        }
        let wordings = below.state.recovery.wordings.clone();
        let bench = Arc::new(World::new(wordings.clone(), usual_root()));
        let news = self.news.clone();
        // Nobody hears the news once the program ends.
        let desk = Desk::new(subject, bench, wordings, move || drop(news.send(News::Lab)));
        self.labbing = Some(Labbing { desk, below });
    }

    /// Opens a sample in a debugger of its own.
    pub(super) fn open_sample(&mut self, journal: &Path, take: TakeId) -> io::Result<()> {
        match Opened::new(journal, self.request) {
            Ok(opened) => {
                self.debug(opened, Staged::default(), None)?;
                if let Some(debugger) = &mut self.debugger {
                    debugger.go_to_take(take);
                }
            }
            Err(error) => {
                if let Some(labbing) = &mut self.labbing {
                    let words = format!("the sample cannot be opened: {error}");
                    labbing.desk.lab.say(words);
                }
            }
        }
        Ok(())
    }

    /// Quits from a sample: an experiment that runs would end by that.
    pub(super) fn quit_sample(
        &mut self,
        events: &mut Option<EventStream>,
    ) -> io::Result<Option<Left>> {
        if self.debugger.is_some() {
            self.close_in_lab();
        }
        let labbing = self.labbing.as_mut();
        let nexts = labbing.map_or_else(Vec::new, |labbing| labbing.desk.quit());
        self.perform_all(nexts, events)
    }

    /// Quits from the lab: what the debugger below would lose is asked for there.
    pub(super) fn quit_lab(
        &mut self,
        events: &mut Option<EventStream>,
    ) -> io::Result<Option<Left>> {
        self.close_in_lab();
        let below = self.debugger.as_mut();
        let nexts = below.map_or_else(Vec::new, Debugger::quit);
        self.perform_all(nexts, events)
    }

    fn perform_all(
        &mut self,
        nexts: Vec<Next>,
        events: &mut Option<EventStream>,
    ) -> io::Result<Option<Left>> {
        for next in nexts {
            if let Some(left) = self.perform(next, events)? {
                return Ok(Some(left));
            }
        }
        Ok(None)
    }

    /// Closes the sample that is open, else the lab itself.
    pub(super) fn close_in_lab(&mut self) {
        // A large session takes a while to drop, and an experiment to end.
        if let Some(sample) = self.debugger.take() {
            std::thread::spawn(move || drop(sample));
            return;
        }
        let Some(Labbing { desk, mut below }) = self.labbing.take() else {
            return;
        };
        std::thread::spawn(move || drop(desk));
        let gone_on = self
            .watching
            .as_mut()
            .map(|watching| watching.collect(Some(&mut below.state)));
        self.debugger = Some(below);
        if gone_on.is_some_and(|nexts| !nexts.is_empty()) {
            // The exchange was decided meanwhile: its list has the screen again.
            let closed = self.debugger.take();
            if let (Some(watching), Some(closed)) = (&mut self.watching, &closed) {
                watching.closed(&closed.state);
            }
            std::thread::spawn(move || drop(closed));
        }
    }
}
