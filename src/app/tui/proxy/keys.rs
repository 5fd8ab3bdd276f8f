//! Keys, the mouse and pasted text in the list of exchanges, and what lies over it.

use super::board::ExchangeBoard;
use super::rows::is_held;
use super::words;
use crate::tui::copy::CopyMenu;
use crate::tui::effect::Effect;
use crate::tui::filter::Terms;
use crate::tui::keymap::{self, Command, Context};
use crate::tui::layer::{Input, Layer, Placement, Step};
use crate::tui::live::breakpoints::{Breakpoints, Places};
use crate::tui::palette::{Choice, CommandPalette};
use crate::tui::recovery::forms::Confirmation;
use crate::tui::stack::{Flow, Screen as _};
use crate::tui::texts::TextPage;
use crate::tui::theme::Theme;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, MouseEvent, MouseEventKind};
use ratatui::Frame;
use ratatui::layout::Rect;
use retake_core::engine::BreakpointTarget;
use retake_core::exchange::{ExchangeId, ExchangeSummary};
use retake_core::safe_text::SafeText;
use retake_core::session::Kind;
use retake_live::proxy;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

impl ExchangeBoard {
    pub fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind != KeyEventKind::Release {
            self.notice = None;
            if !self.give_to_layers(Input::Key(key))
                && let Some(command) = keymap::command(Context::Exchanges, &key)
            {
                self.obey(command, key);
            }
        }
        std::mem::take(&mut self.effects)
    }

    /// Takes the mouse: the wheel moves, a click chooses, a click on the chosen row opens.
    pub fn mouse(&mut self, event: MouseEvent) -> Vec<Effect> {
        let is_over = self.give_to_layers(Input::Mouse(event)) || !self.layers.is_empty();
        let before = self.cursor.get();
        if !is_over && self.cursor.mouse(event, self.rows.len()) {
            let is_click = matches!(event.kind, MouseEventKind::Down(_));
            let is_second = is_click && !self.follows && self.cursor.get() == before;
            self.has_moved();
            if is_click {
                // What is chosen by hand stays chosen.
                self.follows = false;
            }
            if is_second {
                self.open_here();
            }
        }
        std::mem::take(&mut self.effects)
    }

    /// The newest exchange is followed from its row on, and not from any other.
    fn has_moved(&mut self) {
        self.follows = self.cursor.get() + 1 >= self.rows.len();
    }

    fn obey(&mut self, command: Command, key: KeyEvent) {
        match command {
            Command::Open => self.open_here(),
            Command::Release => self.release(),
            Command::ReleaseAll => self.ask_to_release_all(),
            Command::Cut => self.ask_to_cut(),
            Command::Replay => self.ask_to_replay(),
            Command::Intercept => {
                self.is_intercepting = !self.is_intercepting;
                self.tell(words::interception(self.is_intercepting));
                let command = proxy::ProxyCommand::Intercept(self.is_intercepting);
                self.effects.push(Effect::Proxy(command));
            }
            Command::Finding(direction) => {
                if !self.seek(direction, |seen| !seen.found.is_empty()) {
                    self.tell("no exchange in the list has findings");
                }
            }
            Command::Held(direction) => self.seek_held(direction),
            Command::Find => {
                let mut prompt = self.find.clone();
                prompt.open("");
                self.open(prompt, |board, prompt, text| {
                    board.find = prompt.clone();
                    board.look_for(&text);
                });
            }
            Command::Hit(direction) => self.next_hit(direction),
            Command::Filter => self.ask_for_filter(),
            Command::Follow => {
                self.follows = !self.follows;
                let at = self.here();
                self.put_cursor(at);
            }
            Command::Break => self.break_here(),
            Command::Breakpoints => self.open(Breakpoints::default(), |_, _, ()| ()),
            Command::Connect => self.open(Connect, |_, _, ()| ()),
            Command::Child if self.about.child.is_none() => {
                self.tell("no agent was started: use retake proxy ... -- CMD");
            }
            Command::Child => self.child.is_shown = !self.child.is_shown,
            Command::Usage | Command::Timeline => self.open_conversation(command),
            Command::Log => {
                let page = TextPage::new(Command::Log, Self::log_page);
                self.open(page.at_end(), |_, _, _| ());
            }
            Command::Copy => self.ask_what_to_copy(),
            Command::Palette => {
                let commands = keymap::commands_of(&[Context::Exchanges]);
                let (rows, commands): (Vec<_>, Vec<_>) = commands.into_iter().unzip();
                let palette = CommandPalette::new(&rows, "an exchange");
                self.open(palette, move |board, _, choice| match choice {
                    Choice::Chosen(number) => board.run(commands[number]),
                    Choice::Number(number) | Choice::Item(number) => board.go_to_number(number),
                });
            }
            Command::Help => self.open_help(),
            Command::Back if self.child.is_shown => self.child.is_shown = false,
            Command::Back if !self.applied.is_empty() => self.apply(Terms::default(), ""),
            Command::Close if self.child.is_shown => self.child.is_shown = false,
            Command::Close | Command::Quit => self.ask_to_leave(),
            Command::Suspend => self.ask_to_suspend(),
            Command::Redraw => self.effects.push(Effect::Redraw),
            Command::NextTheme => self.effects.push(Effect::NextTheme),
            _ => {
                if self.cursor.key(key, self.rows.len()) {
                    self.has_moved();
                }
            }
        }
    }

    fn ask_for_filter(&mut self) {
        let mut prompt = self.filter.clone();
        prompt.open(&self.applied);
        self.open(prompt, |board, prompt, text| {
            match Terms::parse::<ExchangeSummary>(&text) {
                Ok(terms) => {
                    board.filter = prompt.clone();
                    board.apply(terms, text.trim());
                    Flow::Close
                }
                Err(error) => {
                    prompt.complain(SafeText::single_line(&error.to_string(), 200));
                    Flow::Stay
                }
            }
        });
    }

    /// The menu of what a breakpoint may be set on here.
    fn break_here(&mut self) {
        let found = self.seen_here().map_or(&[][..], |seen| &seen.found[..]);
        let mut choices = Vec::new();
        for found in found {
            let tool = found.tool.as_ref().filter(|tool| !tool.is_empty());
            choices.extend(tool.map(|tool| BreakpointTarget::Tool(tool.clone())));
            choices.push(BreakpointTarget::Rule(found.rule.to_owned()));
        }
        choices.push(BreakpointTarget::Kind(Kind::Call.word().to_owned()));
        let is_tool = |target: &BreakpointTarget| matches!(target, BreakpointTarget::Tool(_));
        // Where a tool is in the menu, it is its arguments that are left to be written.
        let begun = if choices.iter().any(is_tool) {
            "arg ."
        } else {
            "tool "
        };
        self.open(Places::new(choices, begun), |_, _, ()| ());
    }

    fn open_here(&mut self) {
        let here = self.here();
        self.effects.extend(here.map(Effect::Enter));
    }

    /// Opens what is recorded so far at the exchange with the cursor.
    fn open_conversation(&mut self, command: Command) {
        match (self.here(), self.about.recording.clone()) {
            (None, _) => self.tell("no exchange yet"),
            (_, None) => self.tell("nothing is recorded: there are no totals and no timeline"),
            (Some(id), Some(recording)) => {
                let effect = Effect::OpenConversation(recording, id, command);
                self.effects.push(effect);
            }
        }
    }

    fn release(&mut self) {
        match self.seen_here().map(|seen| (seen.id, is_held(seen))) {
            Some((id, true)) => self
                .effects
                .push(Effect::Proxy(proxy::ProxyCommand::Release(id))),
            Some((id, false)) if self.rows.totals().held > 0 => {
                self.tell(format!(
                    "exchange {id} is not held: }} goes to the next held one"
                ));
            }
            _ => self.tell("nothing is held"),
        }
    }

    fn confirm(&mut self, question: Confirmation, effect: Effect) {
        self.open(question, move |board, _, ()| {
            board.effects.push(effect.clone())
        });
    }

    /// In an exchange the same key releases that one alone, so that several are released after a question only.
    fn ask_to_release_all(&mut self) {
        let release = Effect::Proxy(proxy::ProxyCommand::ReleaseAll);
        match self.rows.totals().held {
            0 => self.tell("nothing is held"),
            1 => self.effects.push(release),
            held => {
                let reason = "Their agents get what is held unchanged.";
                let question = format!("Release all {held} held exchanges?");
                self.confirm(Confirmation::new("release all", reason, &question), release);
            }
        }
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
                self.confirm(question, Effect::Proxy(proxy::ProxyCommand::Cut(id)));
            }
            Some((id, true)) => self.tell(format!("exchange {id} has ended: nothing to cut")),
            None => {}
        }
    }

    /// It asks a model, which may cost money.
    fn ask_to_replay(&mut self) {
        let Some(seen) = self.seen_here().cloned() else {
            return;
        };
        let id = seen.id;
        if !super::rows::is_over(&seen) {
            return self.tell(format!(
                "exchange {id} has not ended: nothing to send again yet"
            ));
        }
        if seen.dialect.is_none() {
            return self.tell(format!(
                "exchange {id} asks no model: only requests to one are sent again"
            ));
        }
        let upstream = self.about.upstreams.get(seen.upstream);
        let reason = format!(
            "It asks {} at {} once more, which may cost money. The reply is a new exchange; no client gets it.",
            seen.model,
            upstream.map_or("the upstream", String::as_str)
        );
        let question = format!("Send the request of exchange {id} again?");
        let question = Confirmation::new("send again", &reason, &question);
        self.confirm(question, Effect::Proxy(proxy::ProxyCommand::Replay(id)));
    }

    /// Leaves, unless somebody would lose something by that: then the operator has to confirm. The list comes back by
    /// itself when an exchange is decided, and what led back to it a moment ago must not end it.
    pub(super) fn ask_to_leave(&mut self) {
        let totals = self.rows.totals();
        let lost = match (totals.held, totals.open) {
            (0, _) if self.is_child_running() => {
                format!("{} and would be stopped", self.child_words())
            }
            (0, 0) if self.clients > 0 => words::connected(self.clients),
            (0, 0) if self.has_just_come_back() => "the list has just come back".to_owned(),
            (0, 0) => return self.effects.push(Effect::Quit),
            (0, open) => words::open(open),
            (held, _) => words::held(held),
        };
        let question = Confirmation::new("quit", &lost, "Quit?");
        self.confirm(question, Effect::Quit);
    }

    /// The shell stops the proxy as well: whoever waits for it is not forgotten.
    fn ask_to_suspend(&mut self) {
        let open = self.rows.totals().open;
        if open == 0 {
            return self.effects.push(Effect::Suspend);
        }
        let reason = format!(
            "{}: nothing is forwarded, and held clients may time out, until you return with fg.",
            match open {
                1 => "1 exchange is in progress".to_owned(),
                _ => format!("{open} exchanges are in progress"),
            }
        );
        let question = Confirmation::new("suspend", &reason, "Suspend the proxy?");
        self.confirm(question, Effect::Suspend);
    }

    /// Does what was chosen by name: motions are done by their keys.
    fn run(&mut self, command: Command) {
        let key = keymap::key_of(command);
        self.obey(command, key.unwrap_or(KeyCode::Null.into()));
    }

    /// Puts the cursor on the exchange of this number.
    fn go_to_number(&mut self, number: usize) {
        let id = u32::try_from(number).map(ExchangeId);
        match id.ok().filter(|id| self.of(*id).is_some()) {
            Some(id) => self.go_to(id),
            None => self.tell(format!("exchange {number} is not in the list")),
        }
    }

    fn ask_what_to_copy(&mut self) {
        let path = |path: &Path| Effect::Copy(path.as_os_str().as_bytes().to_vec());
        let here = self.here();
        let journal = here.and_then(|id| self.journal(id)).map(|it| path(it));
        let recording = self.about.recording.as_deref().map(path);
        let menu = CopyMenu::new(vec![
            ('y', "how to connect", self.copied_lines()),
            ('c', "request as curl", here.map(Effect::CopyRequest)),
            ('j', "path of its journal", journal),
            ('p', "path of the recording", recording),
        ]);
        self.open(menu, |board, _, effect| board.effects.push(effect));
    }

    fn copied_lines(&self) -> Option<Effect> {
        let lines = || Effect::Copy(self.connect_lines().into_bytes());
        (!self.about.connect.is_empty()).then(lines)
    }
}

/// How agents are pointed at the proxy.
#[derive(Debug)]
struct Connect;

impl Layer<ExchangeBoard> for Connect {
    type Output = ();

    fn contexts(&self) -> &'static [Context] {
        &[Context::Copying]
    }

    fn placement(&self) -> Placement {
        Placement::Body
    }

    fn key(&mut self, key: KeyEvent, board: &mut ExchangeBoard) -> Step {
        if key.code == KeyCode::Char('y') {
            board.effects.extend(board.copied_lines());
        }
        Step::Leave
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, board: &ExchangeBoard, theme: &Theme) {
        board.view_connect(frame, area, theme);
    }
}
