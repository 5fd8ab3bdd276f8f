//! Keys, the mouse and pasted text in the list of exchanges, and what lies over it.

use super::board::{Board, Over, Wish};
use super::rows::is_held;
use super::sift::Sift;
use super::words;
use crate::tui::copy;
use crate::tui::help::Help;
use crate::tui::keymap::exchanges::{Deed, deed, deeds};
use crate::tui::keymap::{self, Command as Shared};
use crate::tui::live::breakpoints::Breakpoints;
use crate::tui::palette::{Choice, Palette};
use crate::tui::prompt::Typing;
use crate::tui::recovery::forms::{Confirmation, ConfirmationOutcome};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent, MouseEventKind};
use retake_core::exchange::ExchangeId;
use retake_core::safe_text::SafeText;
use retake_live::proxy::Command;
use std::os::unix::ffi::OsStrExt as _;

/// How many lines a page of the log is.
const PAGE: usize = 10;

impl Board {
    pub fn key(&mut self, key: KeyEvent) -> Vec<Wish> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        self.notice = None;
        if !self.over.is_empty() {
            return self.key_over(key);
        }
        match deed(&key) {
            Some(deed) => self.obey(deed, key),
            None => Vec::new(),
        }
    }

    pub fn paste(&mut self, text: &str) {
        match self.over.last_mut() {
            Some(Over::Palette(palette, _)) => palette.paste(text),
            Some(Over::Help(help)) => help.paste(text),
            Some(Over::Find) => drop(self.find.paste(text)),
            Some(Over::Filter) => {
                let typed = self.filter.paste(text);
                self.filtering(typed);
            }
            Some(Over::Break(prompt)) => drop(prompt.paste(text)),
            _ => {}
        }
    }

    /// Takes the mouse: the wheel moves, a click chooses, a click on the chosen row opens.
    pub fn mouse(&mut self, event: MouseEvent) -> Vec<Wish> {
        match self.over.last_mut() {
            Some(Over::Help(help)) => help.mouse(event),
            Some(Over::Places(menu)) => menu.mouse(event),
            Some(Over::Breakpoints(list)) => list.mouse(event),
            Some(_) => {}
            None => {
                let before = self.cursor.get();
                if !self.cursor.mouse(event, self.rows.len()) {
                    return Vec::new();
                }
                let is_click = matches!(event.kind, MouseEventKind::Down(_));
                let is_second = is_click && !self.follows && self.cursor.get() == before;
                self.has_moved();
                if is_click {
                    // What is chosen by hand stays chosen.
                    self.follows = false;
                }
                if is_second {
                    return self.open();
                }
            }
        }
        Vec::new()
    }

    /// The newest exchange is followed from its row on, and not from any other.
    fn has_moved(&mut self) {
        self.follows = self.cursor.get() + 1 >= self.rows.len();
    }

    fn obey(&mut self, deed: Deed, key: KeyEvent) -> Vec<Wish> {
        match deed {
            Deed::Open => return self.open(),
            Deed::Release => return self.release(),
            Deed::ReleaseAll => {
                if self.rows.totals().held > 0 {
                    return vec![Wish::Tell(Command::ReleaseAll)];
                }
                self.tell("nothing is held");
            }
            Deed::Cut => self.ask_to_cut(),
            Deed::Intercept => {
                self.is_intercepting = !self.is_intercepting;
                self.tell(words::interception(self.is_intercepting));
                return vec![Wish::Tell(Command::Intercept(self.is_intercepting))];
            }
            Deed::Finding(direction) => {
                if !self.seek(direction, |seen| !seen.found.is_empty()) {
                    self.tell("nothing was found in any exchange of the list");
                }
            }
            Deed::Held(direction) => self.seek_held(direction),
            Deed::Find => {
                self.find.open("");
                self.over.push(Over::Find);
            }
            Deed::Hit(direction) => self.next_hit(direction),
            Deed::Filter => {
                let applied = self.applied.clone();
                self.filter.open(&applied);
                self.over.push(Over::Filter);
            }
            Deed::Follow => {
                self.follows = !self.follows;
                let at = self.here();
                self.put_cursor(at);
            }
            Deed::Break => self.break_here(),
            Deed::Breakpoints => {
                let list = Breakpoints::new(self.breakpoints.clone());
                self.over.push(Over::Breakpoints(Box::new(list)));
            }
            Deed::Connect => self.over.push(Over::Connect),
            Deed::Child if self.about.child.is_none() => {
                self.tell("the proxy has started no agent: retake proxy ... -- CMD does");
            }
            Deed::Child => self.child.is_shown = !self.child.is_shown,
            Deed::Log => self.over.push(Over::Log(0)),
            Deed::Copy => self.over.push(Over::Copy),
            Deed::Palette => {
                let (rows, deeds): (Vec<_>, Vec<_>) =
                    keymap::exchanges::deeds().into_iter().unzip();
                let palette = Palette::new(&rows, "an exchange");
                self.over.push(Over::Palette(Box::new(palette), deeds));
            }
            Deed::Shared(command) => return self.obey_shared(command, key),
        }
        Vec::new()
    }

    fn obey_shared(&mut self, command: Shared, key: KeyEvent) -> Vec<Wish> {
        match command {
            Shared::Help => {
                let rows: Vec<_> = deeds().into_iter().map(|(row, _)| row).collect();
                let help = Help::new(&rows, &keymap::all_keys(), &[copy::NOTE]);
                self.over.push(Over::Help(Box::new(help)));
            }
            Shared::Back if self.child.is_shown => self.child.is_shown = false,
            Shared::Back if !self.applied.is_empty() => self.apply(Sift::default(), ""),
            Shared::Close if self.child.is_shown => self.child.is_shown = false,
            Shared::Close | Shared::Quit => return self.ask_to_leave(),
            Shared::Suspend => return self.ask_to_suspend(),
            Shared::Redraw => return vec![Wish::Redraw],
            _ => {
                if self.cursor.key(key, self.rows.len()) {
                    self.has_moved();
                }
            }
        }
        Vec::new()
    }

    fn open(&self) -> Vec<Wish> {
        self.here().map(Wish::Open).into_iter().collect()
    }

    fn release(&mut self) -> Vec<Wish> {
        match self.seen_here().map(|seen| (seen.id, is_held(seen))) {
            Some((id, true)) => return vec![Wish::Tell(Command::Release(id))],
            Some((id, false)) if self.rows.totals().held > 0 => {
                self.tell(format!("exchange {id} is not held: }} goes to one that is"));
            }
            _ => self.tell("nothing is held"),
        }
        Vec::new()
    }

    fn ask_to_cut(&mut self) {
        let here = self
            .seen_here()
            .map(|seen| (seen.id, super::rows::is_over(seen)));
        match here {
            Some((id, false)) => {
                let reason = "The agent's connection is broken off; its client reads that as an error and may \
                    ask again.";
                let question = format!("Cut the connection of exchange {id}?");
                let question = Confirmation::new("cut", reason, &question);
                let wish = Wish::Tell(Command::Cut(id));
                self.over.push(Over::Sure(Box::new(question), wish));
            }
            Some((id, true)) => {
                self.tell(format!("exchange {id} is over: there is nothing to cut"))
            }
            None => {}
        }
    }

    /// Leaves, unless somebody would lose something by that: then the operator is asked. The list comes back by
    /// itself when an exchange is decided, and what led back to it a moment ago must not end it.
    fn ask_to_leave(&mut self) -> Vec<Wish> {
        let totals = self.rows.totals();
        let lost = match (totals.held, self.is_child_running()) {
            (0, false) if totals.all == 0 => return vec![Wish::Leave],
            (0, false) => words::IN_USE.to_owned(),
            (0, true) => format!("{} and would be stopped", self.child_words()),
            (held, _) => words::held(held),
        };
        let question = Confirmation::new("quit", &lost, "Quit?");
        self.over.push(Over::Sure(Box::new(question), Wish::Leave));
        Vec::new()
    }

    /// The shell stops the proxy as well: whoever waits for it is not forgotten.
    fn ask_to_suspend(&mut self) -> Vec<Wish> {
        let open = self.rows.totals().open;
        if open == 0 {
            return vec![Wish::Suspend];
        }
        let reason = format!(
            "{}: nothing passes and nothing keeps a client alive until the shell calls again.",
            match open {
                1 => "1 exchange is under way".to_owned(),
                _ => format!("{open} exchanges are under way"),
            }
        );
        let question = Confirmation::new("suspend", &reason, "Suspend the proxy?");
        self.over
            .push(Over::Sure(Box::new(question), Wish::Suspend));
        Vec::new()
    }

    fn key_over(&mut self, key: KeyEvent) -> Vec<Wish> {
        let places = self.over.last().map_or(&[][..], Over::places);
        if let Some(help) = keymap::help_of(places, &key) {
            self.over.push(Over::Help(Box::new(help)));
            return Vec::new();
        }
        match self.over.last_mut() {
            Some(Over::Help(help)) => {
                let is_left = help.key(key);
                if is_left {
                    self.over.pop();
                }
            }
            Some(Over::Palette(palette, deeds)) => match palette.key(key) {
                Choice::Pending => {}
                Choice::Left => drop(self.over.pop()),
                Choice::Chosen(number) => {
                    let chosen = deeds.get(number).copied();
                    self.over.pop();
                    return chosen.map_or_else(Vec::new, |deed| self.run(deed));
                }
                Choice::Number(number) => {
                    self.over.pop();
                    self.go_to_number(number);
                }
            },
            Some(Over::Sure(question, wish)) => match question.key(key) {
                ConfirmationOutcome::Pending => {}
                ConfirmationOutcome::No => drop(self.over.pop()),
                ConfirmationOutcome::Yes => {
                    let wish = wish.clone();
                    self.over.pop();
                    return vec![wish];
                }
            },
            Some(Over::Connect) => {
                if matches!(key.code, KeyCode::Char('y')) {
                    self.over.pop();
                    return vec![Wish::Copy(self.connect_lines().into_bytes())];
                }
                self.over.pop();
            }
            Some(Over::Log(_)) => self.key_log(key),
            Some(Over::Copy) => return self.key_copy(key),
            Some(Over::Find) => match self.find.key(key) {
                Typing::Pending | Typing::Changed => {}
                Typing::Cancelled => drop(self.over.pop()),
                Typing::Submitted(text) => {
                    self.over.pop();
                    self.look_for(&text);
                }
            },
            Some(Over::Filter) => {
                let typed = self.filter.key(key);
                self.filtering(typed);
            }
            Some(Over::Places(_) | Over::Breakpoints(_) | Over::Break(_)) => {
                return self.key_breaks(key);
            }
            None => {}
        }
        Vec::new()
    }

    /// Does what was chosen by name: what moves is done by the key that stands for it.
    fn run(&mut self, deed: Deed) -> Vec<Wish> {
        let mut rows = keymap::KEYMAP.iter();
        let row = rows.find(|row| deed == Deed::Shared(row.command));
        let key = row.and_then(|row| keymap::event(row.first_key()));
        self.obey(deed, key.unwrap_or(KeyCode::Null.into()))
    }

    /// Puts the cursor on the exchange of this number.
    fn go_to_number(&mut self, number: usize) {
        let id = u32::try_from(number).map(ExchangeId);
        match id.ok().filter(|id| self.of(*id).is_some()) {
            Some(id) => self.go_to(id),
            None => self.tell(format!("exchange {number} is not in the list")),
        }
    }

    fn filtering(&mut self, typed: Typing) {
        match typed {
            Typing::Pending | Typing::Changed => {}
            Typing::Cancelled => drop(self.over.pop()),
            Typing::Submitted(text) => match Sift::parse(&text) {
                Ok(sift) => {
                    self.over.pop();
                    self.apply(sift, text.trim());
                }
                Err(error) => {
                    let complaint = SafeText::single_line(&error.to_string(), 200);
                    self.filter.complain(complaint);
                }
            },
        }
    }

    fn key_log(&mut self, key: KeyEvent) {
        let most = self.log.len().saturating_sub(1);
        let Some(Over::Log(below)) = self.over.last_mut() else {
            return;
        };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        *below = match (key.code, control) {
            (KeyCode::Down | KeyCode::Char('j'), false) => below.saturating_sub(1),
            (KeyCode::Up | KeyCode::Char('k'), false) => *below + 1,
            (KeyCode::PageDown, _) | (KeyCode::Char('d' | 'f'), true) => below.saturating_sub(PAGE),
            (KeyCode::PageUp, _) | (KeyCode::Char('u' | 'b'), true) => *below + PAGE,
            (KeyCode::Home | KeyCode::Char('g'), false) => most,
            (KeyCode::End | KeyCode::Char('G'), false) => 0,
            _ => {
                self.over.pop();
                return;
            }
        }
        .min(most);
    }

    /// What can be copied here: its key, its name, whether there is any.
    pub(super) fn copies(&self) -> [(char, &'static str, bool); 4] {
        let here = self.here();
        let has_journal = here.is_some_and(|id| self.journal(id).is_some());
        [
            ('y', "how to connect", !self.about.connect.is_empty()),
            ('c', "request as curl", here.is_some()),
            ('j', "path of its journal", has_journal),
            ('p', "path of the recording", self.about.recording.is_some()),
        ]
    }

    fn key_copy(&mut self, key: KeyEvent) -> Vec<Wish> {
        let chosen = match key.code {
            KeyCode::Enter => Some('y'),
            KeyCode::Char(letter) => Some(letter),
            _ => None,
        };
        let copies = self.copies();
        let known = copies.iter().find(|(letter, ..)| Some(*letter) == chosen);
        let Some((letter, _, is_there)) = known else {
            self.over.pop();
            return Vec::new();
        };
        if !is_there {
            return Vec::new();
        }
        self.over.pop();
        let path = |path: &std::path::Path| Wish::Copy(path.as_os_str().as_bytes().to_vec());
        let here: Option<ExchangeId> = self.here();
        let wish = match letter {
            'y' => Some(Wish::Copy(self.connect_lines().into_bytes())),
            'c' => here.map(Wish::CopyRequest),
            'j' => here.and_then(|id| self.journal(id)).map(|it| path(it)),
            _ => self.about.recording.as_deref().map(path),
        };
        wish.into_iter().collect()
    }
}
