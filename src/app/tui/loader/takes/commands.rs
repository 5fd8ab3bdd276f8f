//! What the operator asks for about takes that there are.

use super::checking::Check;
use super::view::{take_rows, view_of};
use crate::page::PageForm;
use crate::tui::effect::TakesCommand;
use crate::tui::keymap::{Command, with_ways};
use crate::tui::loader::work::Work;
use crate::tui::report::Report;
use crate::tui::state::document::{Document, Place};
use retake_core::session::takes::{ItemMark, TakeId};
use retake_live::{AS_REQUEST, TakeError, TakeStore, in_background};
use std::sync::Arc;

impl Work {
    /// Does something to the takes; `shown` is what the screen shows.
    pub(super) fn command_takes(
        &self,
        command: TakesCommand,
        shown: Option<&Arc<Document>>,
    ) -> Option<Check> {
        let is_awaited = !matches!(command, TakesCommand::Mark { .. });
        let check = match command {
            TakesCommand::Reopen => self.reopen(shown),
            command => self.on_takes(|work, bench| work.obey(bench, command, shown)),
        };
        if is_awaited {
            self.tell(Report::TakesDone);
        }
        check
    }

    fn obey(
        &self,
        bench: &mut TakeStore,
        command: TakesCommand,
        shown: Option<&Arc<Document>>,
    ) -> Result<Option<Check>, TakeError> {
        let before = bench.takes().current();
        match command {
            TakesCommand::Undo => return self.undo(bench, shown),
            TakesCommand::Redo => match bench.redo() {
                Some(id) => {
                    let id = match is_rebuilt(bench, id) {
                        true => bench.redo().unwrap_or(id),
                        false => id,
                    };
                    let message = format!("redone: {}", named(bench, id));
                    return self.show(bench, before, shown, None, message);
                }
                None => self.refuse("nothing to redo"),
            },
            // What is current is left as it is: see [`Self::reopen`].
            TakesCommand::Reopen => {}
            TakesCommand::GoTo(id) => {
                let is_back = bench.takes().parent(before) == Some(TakeId(id));
                let at = begun_at(bench, before).filter(|_| is_back);
                bench.go_to(TakeId(id))?;
                let message = named(bench, TakeId(id));
                return self.show(bench, before, shown, at, message);
            }
            TakesCommand::Compare(left, right) => {
                let comparison = self.comparison(bench, TakeId(left), TakeId(right))?;
                self.tell(Report::Compared(Box::new(comparison)));
            }
            TakesCommand::NoteTake(id, text) => {
                bench.note(TakeId(id), ItemMark::whole(), text)?;
                self.tell_tree(bench);
            }
            TakesCommand::Rename(id, name) => {
                bench.rename(TakeId(id), name)?;
                self.tell_tree(bench);
            }
            TakesCommand::Drop(id) => return self.drop_take(bench, TakeId(id), shown),
            TakesCommand::Restore => match bench.restore() {
                Some(id) => {
                    self.tell(Report::Notice(format!("{} is back", named(bench, id))));
                    self.tell_tree(bench);
                }
                None => self.refuse("no take was dropped"),
            },
            TakesCommand::NoteItem { at, bytes, text } => {
                bench.note_item(before, at, &bytes, text)?;
                self.tell_tree(bench);
            }
            TakesCommand::Mark { at, bytes, set } => {
                bench.bookmark_item(before, at, &bytes, set)?;
                self.tell_tree(bench);
            }
            #[cfg(not(feature = "images"))]
            TakesCommand::Pictures { path, files } => {
                self.tell(Self::save_pictures(&path, &files));
            }
            TakesCommand::Formats(session) => self.tell_formats(bench, shown, session),
            TakesCommand::Save {
                session,
                path,
                format,
                force,
            } => {
                let report = self.save(bench, shown, session, &path, format, force);
                // A page cannot be opened again as what it shows.
                let is_page = PageForm::ALL.iter().any(|form| form.word() == format);
                if matches!(report, Report::Saved(_)) && !is_page {
                    bench.note_saved(bench.takes().current());
                    self.tell_tree(bench);
                }
                self.tell(report);
            }
        }
        Ok(None)
    }

    /// Shows the take in which the file was left, which its journal still is in.
    fn reopen(&self, shown: Option<&Arc<Document>>) -> Option<Check> {
        let done = in_background(|| {
            self.with_bench(|this, bench| {
                let id = bench.takes().current();
                if this.bench.shown() != TakeId::MAIN || id == TakeId::MAIN {
                    return Ok(None);
                }
                let rows = take_rows(bench, id).into_iter();
                let label = rows.filter(|row| row.is_current).map(|row| row.label());
                let way = match bench.takes().parent(id) {
                    Some(TakeId::MAIN) => (Command::Undo, "returns to the recording"),
                    _ => (Command::Takes, "leads to the recording"),
                };
                let message = format!("{} as you left it: ", label.collect::<String>());
                let message = with_ways(&message, &[way]);
                this.show(bench, TakeId::MAIN, shown, None, message)
            })
        });
        done.unwrap_or_else(|error| {
            self.refuse(&error.to_string());
            None
        })
    }

    /// Goes back; the cursor goes to the item that the take was about.
    fn undo(
        &self,
        bench: &mut TakeStore,
        shown: Option<&Arc<Document>>,
    ) -> Result<Option<Check>, TakeError> {
        let before = bench.takes().current();
        let at = begun_at(bench, before);
        match bench.undo() {
            Some(id) => {
                let id = match is_rebuilt(bench, id) {
                    true => bench.undo().unwrap_or(id),
                    false => id,
                };
                let message = format!("undone: back in {}; ", named(bench, id));
                let message = with_ways(&message, &[(Command::Redo, "redoes it")]);
                self.show(bench, before, shown, at, message)
            }
            None => {
                self.refuse("nothing to undo: this is the recording");
                Ok(None)
            }
        }
    }

    /// Drops a take; who is in it, or below it, goes to its parent.
    fn drop_take(
        &self,
        bench: &mut TakeStore,
        id: TakeId,
        shown: Option<&Arc<Document>>,
    ) -> Result<Option<Check>, TakeError> {
        let before = bench.takes().current();
        let holds = |take: TakeId| bench.takes().line(take).contains(&id);
        if self.driven_take().is_some_and(holds) {
            self.refuse("the run is in this take: X aborts it");
            return Ok(None);
        }
        let (is_here, parent) = (holds(before), bench.takes().parent(id));
        let message = format!("{} is dropped: u in the tree restores it", named(bench, id));
        if let Some(parent) = parent.filter(|_| is_here) {
            bench.go_to(parent)?;
        }
        bench.drop_take(id)?;
        let check = match is_here {
            true => self.show(bench, before, shown, begun_at(bench, id), message)?,
            false => {
                self.tell(Report::Notice(message));
                None
            }
        };
        self.tell_tree(bench);
        Ok(check)
    }

    pub(super) fn refuse(&self, reason: &str) {
        self.tell(Report::TakesRefused(reason.to_owned()));
    }

    fn tell_tree(&self, bench: &mut TakeStore) {
        let view = view_of(bench, bench.takes().current());
        self.tell(Report::TakeTree(view));
    }
}

/// Whether a take is only its parent as one request: a step on the way to the change that was asked for.
fn is_rebuilt(bench: &TakeStore, id: TakeId) -> bool {
    let take = bench.takes().get(id);
    take.is_some_and(|take| take.cause.action.as_deref() == Some(AS_REQUEST))
}

/// The item of the parent that a take was about.
fn begun_at(bench: &TakeStore, id: TakeId) -> Option<Place> {
    let take = bench.takes().get(id)?;
    Some(Place {
        session: take.session as usize,
        item: take.forked_at? as usize,
    })
}

/// What a take is called in a sentence; a run has no recording that it began with.
pub(super) fn named(bench: &TakeStore, id: TakeId) -> String {
    match id == TakeId::MAIN && bench.is_run() {
        true => "the first request".to_owned(),
        false => id.to_string(),
    }
}
