//! Breakpoints of the proxy: set on what an exchange holds, listed, written.

use super::board::{Board, Over, Wish};
use crate::tui::live::{breakpoints, places};
use crate::tui::prompt::{Prompt, Typing};
use crossterm::event::KeyEvent;
use retake_core::engine::{Breakpoint, Place};
use retake_core::safe_text::SafeText;
use retake_core::session::Kind;
use retake_live::proxy::Command;

impl Board {
    /// The menu of what a breakpoint may be set on here.
    pub(super) fn break_here(&mut self) {
        let found = self.seen_here().map_or(&[][..], |seen| &seen.found[..]);
        let mut choices = Vec::new();
        for found in found {
            let tool = found.tool.as_ref().filter(|tool| !tool.is_empty());
            choices.extend(tool.map(|tool| Place::Tool(tool.clone())));
            choices.push(Place::Rule(found.rule.to_owned()));
        }
        choices.push(Place::Kind(Kind::Call.word().to_owned()));
        choices.dedup();
        let has_tool = choices.iter().any(|place| matches!(place, Place::Tool(_)));
        let mut choices: Vec<_> = choices.into_iter().map(places::Choice::Place).collect();
        // Where a tool stands in the menu, it is its arguments that are left to be written.
        let begun = if has_tool { "arg ." } else { "tool " };
        choices.push(places::Choice::Written(begun.to_owned()));
        let menu = places::Places::new(choices);
        self.over.push(Over::Places(Box::new(menu)));
    }

    fn set_breakpoint(&mut self, on: Place, is_one_shot: bool) -> Vec<Wish> {
        let number = self.next_breakpoint();
        self.tell(format!("breakpoint {number}: {on}"));
        let mut rows = self.breakpoints.clone();
        rows.push(Breakpoint {
            number,
            on,
            is_one_shot,
            is_enabled: true,
        });
        if let Some(Over::Breakpoints(list)) = self.over.last_mut() {
            list.set_rows(rows.clone());
        }
        self.set_breakpoints(rows)
    }

    fn set_breakpoints(&mut self, rows: Vec<Breakpoint>) -> Vec<Wish> {
        self.breakpoints.clone_from(&rows);
        vec![Wish::Tell(Command::Breakpoints(rows))]
    }

    fn next_breakpoint(&self) -> u32 {
        let last = self.breakpoints.iter().map(|it| it.number).max();
        last.unwrap_or(0).saturating_add(1)
    }

    fn write_breakpoint(&mut self, begun: &str) {
        let mut prompt = Prompt::new("break", "tool search_*, arg .n > 9, rule tool-error");
        prompt.open(begun);
        self.over.push(Over::Break(Box::new(prompt)));
    }

    pub(super) fn key_breaks(&mut self, key: KeyEvent) -> Vec<Wish> {
        match self.over.last_mut() {
            Some(Over::Places(menu)) => match menu.key(key) {
                places::Outcome::Pending => {}
                places::Outcome::Leave => drop(self.over.pop()),
                places::Outcome::Set {
                    choice,
                    is_one_shot,
                } => {
                    self.over.pop();
                    match choice {
                        places::Choice::Place(on) => return self.set_breakpoint(on, is_one_shot),
                        places::Choice::Written(begun) => {
                            let once = if is_one_shot { "once " } else { "" };
                            self.write_breakpoint(&format!("{once}{begun}"));
                        }
                    }
                }
            },
            Some(Over::Breakpoints(list)) => match list.key(key) {
                breakpoints::Outcome::Pending => {}
                breakpoints::Outcome::Leave => drop(self.over.pop()),
                breakpoints::Outcome::Changed => {
                    let rows = list.rows().to_vec();
                    return self.set_breakpoints(rows);
                }
                breakpoints::Outcome::Add => self.write_breakpoint(""),
            },
            Some(Over::Break(prompt)) => match prompt.key(key) {
                Typing::Pending | Typing::Changed => {}
                Typing::Cancelled => drop(self.over.pop()),
                Typing::Submitted(text) => return self.written(&text),
            },
            _ => {}
        }
        Vec::new()
    }

    /// A breakpoint in words.
    fn written(&mut self, text: &str) -> Vec<Wish> {
        match Breakpoint::parse(self.next_breakpoint(), text) {
            Ok(breakpoint) => {
                self.over.pop();
                self.set_breakpoint(breakpoint.on, breakpoint.is_one_shot)
            }
            Err(fault) => {
                let complaint = SafeText::single_line(&fault.to_string(), 200);
                if let Some(Over::Break(prompt)) = self.over.last_mut() {
                    prompt.complain(complaint);
                }
                Vec::new()
            }
        }
    }
}
