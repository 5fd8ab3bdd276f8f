//! Keys for what lies over the lab, and what each of its answers leads to.

use super::Order;
use super::form::Field;
use super::state::{Lab, Over, Saved, Saving, Wish};
use super::winning::{Becomes, Outcome};
use crate::tui::keymap::{self, lab::Job};
use crate::tui::palette::Choice;
use crate::tui::prompt::Typing;
use crate::tui::recovery::forms::ConfirmationOutcome;
use crate::tui::recovery::wording;
use crossterm::event::{KeyCode, KeyEvent};
use retake_core::safe_text::SafeText;

impl Lab {
    /// Gives a key to what lies on top.
    pub(super) fn key_over(&mut self, key: KeyEvent) -> Vec<Wish> {
        let places = self.over.last().map_or(&[][..], Over::places);
        if let Some(help) = keymap::help_of(places, &key) {
            self.over.push(Over::Help(Box::new(help)));
            return Vec::new();
        }
        match self.over.last_mut() {
            Some(Over::Help(help)) => {
                let is_left = help.key(key);
                self.over.pop_if(|_| is_left);
            }
            Some(Over::Words(_, page)) => {
                let stays = page.key(key);
                self.over.pop_if(|_| !stays);
            }
            Some(Over::Palette(palette, jobs)) => match palette.key(key) {
                Choice::Pending => {}
                Choice::Left => drop(self.over.pop()),
                Choice::Chosen(number) => {
                    let chosen = jobs.get(number).copied();
                    self.over.pop();
                    return chosen.map_or_else(Vec::new, |job| self.run(job));
                }
                Choice::Number(number) => {
                    self.over.pop();
                    if let Some((cursor, count)) = self.list() {
                        cursor.set(number.clamp(1, count.max(1)) - 1);
                    }
                }
            },
            Some(Over::Sure(question, wish)) => match question.key(key) {
                ConfirmationOutcome::Pending => {}
                ConfirmationOutcome::No => drop(self.over.pop()),
                ConfirmationOutcome::Yes => {
                    let wish = wish.clone();
                    self.over.pop();
                    return self.granted(wish);
                }
            },
            Some(Over::Value(prompt, field)) => {
                let (typed, field) = (prompt.key(key), *field);
                return self.typed(typed, field);
            }
            Some(Over::SaveAs(prompt, what)) => {
                let (typed, what) = (prompt.key(key), what.clone());
                return self.named(typed, what);
            }
            Some(Over::Editor(editor, is_new)) => {
                let (outcome, is_new) = (editor.key(key), *is_new);
                return self.worded(outcome, is_new);
            }
            Some(Over::Winner(winning)) => {
                let outcome = winning.key(key);
                return self.becomes(outcome);
            }
            None => {}
        }
        Vec::new()
    }

    /// Does what was chosen by name: what moves is done by the key that stands for it.
    fn run(&mut self, job: Job) -> Vec<Wish> {
        let mut rows = keymap::KEYMAP.iter();
        let row = rows.find(|row| job == Job::Shared(row.command));
        let key = row.and_then(|row| keymap::event(row.first_key()));
        self.obey(job, key.unwrap_or(KeyCode::Null.into()))
    }

    fn typed(&mut self, typed: Typing, field: Field) -> Vec<Wish> {
        match typed {
            Typing::Pending | Typing::Changed => {}
            Typing::Cancelled => drop(self.over.pop()),
            Typing::Submitted(text) => match self.form.set(field, &text) {
                Ok(()) => {
                    self.over.pop();
                    if field == Field::Models {
                        return vec![Wish::ReadModels(text)];
                    }
                }
                Err(wrong) => {
                    if let Some(Over::Value(prompt, _)) = self.over.last_mut() {
                        prompt.complain(SafeText::single_line(&wrong, 200));
                    }
                }
            },
        }
        Vec::new()
    }

    fn named(&mut self, typed: Typing, what: Saved) -> Vec<Wish> {
        match typed {
            Typing::Pending | Typing::Changed => {}
            Typing::Cancelled => drop(self.over.pop()),
            Typing::Submitted(path) if path.trim().is_empty() => {}
            Typing::Submitted(path) => {
                self.over.pop();
                return vec![Wish::Save(Saving {
                    path: path.trim().to_owned(),
                    what,
                    force: false,
                })];
            }
        }
        Vec::new()
    }

    fn worded(&mut self, outcome: wording::Outcome, is_new: bool) -> Vec<Wish> {
        match outcome {
            wording::Outcome::Pending => {}
            wording::Outcome::Leave => drop(self.over.pop()),
            wording::Outcome::Editor(text) => return vec![Wish::Editor(text)],
            wording::Outcome::Accept { template, .. } => {
                self.over.pop();
                match self.form.own() {
                    Some(own) if !is_new => own.text = template,
                    _ => self.form.add(template),
                }
            }
        }
        Vec::new()
    }

    fn becomes(&mut self, outcome: Outcome) -> Vec<Wish> {
        match outcome {
            Outcome::Pending => {}
            Outcome::Leave => drop(self.over.pop()),
            Outcome::Copy(text) => {
                self.over.pop();
                return vec![Wish::Copy(text.into_bytes())];
            }
            Outcome::Save { name, what } => {
                self.over.pop();
                let what = match what {
                    Becomes::Text(text) => Saved::Text(text),
                    Becomes::Spec(spec) => Saved::Spec(Box::new(Order {
                        spec: *spec,
                        subject: self.subject.clone(),
                        is_fresh: false,
                    })),
                };
                self.save_as(&name, what);
            }
        }
        Vec::new()
    }
}
