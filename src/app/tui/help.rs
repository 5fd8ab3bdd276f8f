//! The help: the keys that work where it was opened, and on demand all others, grouped, in as many columns
//! as fit. `/` finds one.
//!
//! It is made from the same rows as the palette, so it cannot differ from what the keys do.

use super::keymap::KeyEntry;
use super::layer::{Input, Layer, Step};
use super::list::moved;
use super::prompt::{Prompt, Typing};
use super::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEventKind};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;
use retake_core::safe_text::SafeText;
use std::cell::Cell;

/// The widest that the names of keys stand beside their texts; longer ones have a row of their own.
const KEYS: usize = 14;
/// The narrowest that a column is beside another one.
const COLUMN: usize = 46;
const GAP: usize = 3;

#[derive(Debug, Clone)]
pub struct Help {
    /// The keys that work where the help was opened.
    here: Vec<KeyEntry>,
    all: Vec<KeyEntry>,
    shows_all: bool,
    notes: Vec<&'static str>,
    find: Prompt,
    is_finding: bool,
    top: usize,
    /// Rows seen and rows in all, as they were drawn last.
    seen: Cell<(usize, usize)>,
}

impl Help {
    /// The help for a place with these keys, among all keys there are; commands without a key are left to the
    /// palette. The notes stand below them.
    pub fn new(here: &[KeyEntry], all: &[KeyEntry], notes: &[&'static str]) -> Self {
        let with_key = |commands: &[KeyEntry]| {
            let commands = commands.iter().filter(|command| !command.key.is_empty());
            commands.copied().collect()
        };
        Self {
            here: with_key(here),
            all: with_key(all),
            shows_all: false,
            notes: notes.to_vec(),
            find: Prompt::new("/", "in all keys").without_help(),
            is_finding: false,
            top: 0,
            seen: Cell::new((1, 0)),
        }
    }

    /// Takes a key; true if the help is to be closed.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        if self.is_finding && key.code != KeyCode::F(1) {
            match self.find.key(key) {
                Typing::Pending => {}
                Typing::Changed => self.top = 0,
                Typing::Submitted(_) => self.is_finding = false,
                Typing::Cancelled => {
                    self.is_finding = false;
                    self.find.open("");
                }
            }
            return false;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let (page, rows) = self.seen.get();
        let last = rows.saturating_sub(page);
        if let Some(to) = moved(key, self.top, page, last) {
            self.top = to;
            return false;
        }
        self.top = match key.code {
            KeyCode::Char('c') if control => return true,
            KeyCode::Char(' ') => self.top + page,
            KeyCode::Char('/') => {
                self.is_finding = true;
                return false;
            }
            KeyCode::Tab | KeyCode::Char('a') => {
                self.shows_all = !self.shows_all;
                self.top = 0;
                return false;
            }
            KeyCode::Esc if !self.find.text().is_empty() => {
                self.find.open("");
                0
            }
            KeyCode::Esc | KeyCode::Enter | KeyCode::F(1) | KeyCode::Char('q' | '?') => {
                return true;
            }
            _ => self.top,
        }
        .min(last);
        false
    }

    /// The commands that are shown, by group, the groups in the order in which they first appear.
    fn groups(&self) -> Vec<(&'static str, Vec<KeyEntry>)> {
        let text = self.find.text().to_lowercase();
        let commands = match self.shows_all || !text.is_empty() {
            true => &self.all,
            false => &self.here,
        };
        let is_meant = |command: &&KeyEntry| {
            let mut keys = command.key.split(' ');
            text.is_empty()
                || keys.any(|key| key.eq_ignore_ascii_case(&text))
                || command.title.to_lowercase().contains(&text)
                || command.group.to_lowercase().contains(&text)
        };
        let mut groups: Vec<(&'static str, Vec<KeyEntry>)> = Vec::new();
        for command in commands.iter().filter(is_meant) {
            match groups.iter_mut().find(|(name, _)| *name == command.group) {
                Some((_, members)) => members.push(*command),
                None => groups.push((command.group, vec![*command])),
            }
        }
        groups
    }

    fn lines(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let width = width.max(1);
        let groups = self.groups();
        let count = ((width + GAP) / (COLUMN + GAP)).clamp(1, groups.len().max(1));
        let column = ((width + GAP) / count).saturating_sub(GAP).max(1);
        let keys = groups.iter().flat_map(|(_, members)| members);
        let keys = keys.map(|command| command.key.len()).max().unwrap_or(0);
        let keys = keys.min(KEYS).min(column / 2);
        let blocks = groups.iter().map(|group| block(group, keys, column, theme));
        let columns = shared_out(blocks.collect(), count);
        let height = columns.iter().map(Vec::len).max().unwrap_or(0);
        let mut lines: Vec<Line<'static>> = Vec::new();
        for row in 0..height {
            let mut line = Line::default();
            for (index, cells) in columns.iter().enumerate() {
                let start = index * (column + GAP);
                let Some(cell) = cells.get(row) else { continue };
                line.push_span(Span::raw(" ".repeat(start.saturating_sub(line.width()))));
                line.spans.extend(cell.spans.iter().cloned());
            }
            lines.push(line);
        }
        if lines.is_empty() {
            lines.push(Line::styled("no such key; : lists all commands", theme.dim));
        }
        for note in &self.notes {
            lines.push(Line::default());
            let rows = SafeText::from_static(note);
            lines.extend(rows.wrapped(width).map(|row| theme.line(&row, theme.dim)));
        }
        lines
    }
}

impl<S> Layer<S> for Help {
    type Output = ();

    fn handle(&mut self, input: Input<'_>, _: &mut S) -> Step {
        match input {
            Input::Key(key) if self.key(key) => return Step::Leave,
            Input::Paste(text) if self.is_finding && self.find.paste(text) == Typing::Changed => {
                self.top = 0;
            }
            Input::Mouse(event) => {
                let (page, rows) = self.seen.get();
                match event.kind {
                    MouseEventKind::ScrollDown => {
                        self.top = (self.top + 3).min(rows.saturating_sub(page));
                    }
                    MouseEventKind::ScrollUp => self.top = self.top.saturating_sub(3),
                    _ => return Step::Pass,
                }
            }
            Input::Key(_) | Input::Paste(_) | Input::Edited(_) => {}
        }
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let area = area.intersection(frame.area());
        let lines = self.lines(usize::from(area.width).saturating_sub(4), theme);
        let height = u16::try_from(lines.len() + 2)
            .unwrap_or(u16::MAX)
            .min(area.height);
        let popup = Rect {
            y: area.y + (area.height - height) / 2,
            height,
            ..area
        };
        let page = usize::from(height.saturating_sub(2));
        self.seen.set((page.max(1), lines.len()));
        let top = self.top.min(lines.len().saturating_sub(page));
        let title = match (self.find.text(), self.shows_all) {
            (text, _) if !text.is_empty() => " help: results ",
            (_, true) => " help: all keys ",
            (_, false) => " help: the keys of this screen ",
        };
        let other = if self.shows_all {
            "this screen"
        } else {
            "all keys"
        };
        let mut below = format!(" tab {other}  / find  esc close ");
        if page < lines.len() {
            let last = (top + page).min(lines.len());
            let (up, down) = (theme.glyphs.up, theme.glyphs.down);
            let rows = format!(" {}-{last} of {} {up}{down} ", top + 1, lines.len());
            let room = usize::from(area.width).saturating_sub(2);
            below = match rows.chars().count() + below.len() <= room {
                true => rows + &below,
                false => rows,
            };
        }
        let below = Line::styled(below, theme.dim).right_aligned();
        let pane = theme.pane(Line::from(title), true).title_bottom(below);
        let inner = pane.inner(popup);
        frame.render_widget(Clear, popup);
        frame.render_widget(pane, popup);
        for (y, line) in (inner.y..inner.bottom()).zip(lines.into_iter().skip(top)) {
            let row = Rect {
                x: inner.x + 1.min(inner.width),
                y,
                width: inner.width.saturating_sub(2),
                height: 1,
            };
            frame.render_widget(line, row);
        }
        if self.is_finding && popup.height > 0 {
            let row = Rect {
                x: popup.x + 1.min(popup.width),
                y: popup.bottom() - 1,
                width: popup.width.saturating_sub(2),
                height: 1,
            };
            frame.render_widget(Clear, row);
            self.find.draw(frame, row, theme);
        }
    }
}

/// A group with its title: keys, at least a blank, and the whole text, wrapped.
fn block(
    (name, members): &(&'static str, Vec<KeyEntry>),
    keys: usize,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(*name, theme.title)];
    let room = width.saturating_sub(keys + 2).max(1);
    for command in members {
        let title = SafeText::from_static(command.title);
        let mut key = format!("{:<keys$}", command.key);
        if command.key.len() > keys {
            lines.push(Line::styled(command.key, theme.key));
            key = " ".repeat(keys);
        }
        for row in title.wrapped(room) {
            let head = Span::styled(format!("{key}  "), theme.key);
            let mut line = Line::from(head);
            line.spans.extend(theme.spans(&row, theme.text));
            lines.push(line);
            key = " ".repeat(keys);
        }
    }
    lines
}

/// Fills the columns, block by block, so that they are about equally long.
fn shared_out(blocks: Vec<Vec<Line<'static>>>, count: usize) -> Vec<Vec<Line<'static>>> {
    let total: usize = blocks.iter().map(|block| block.len() + 1).sum();
    let target = total.div_ceil(count);
    let mut columns: Vec<Vec<Line<'static>>> = vec![Vec::new()];
    for block in blocks {
        let used = columns.last().map_or(0, Vec::len);
        // A block goes where more than half of it fits.
        if used > 0 && used + block.len() / 2 > target && columns.len() < count {
            columns.push(Vec::new());
        }
        let Some(column) = columns.last_mut() else {
            break;
        };
        if !column.is_empty() {
            column.push(Line::default());
        }
        column.extend(block);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::super::theme::{Glyphs, Variant};
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn command(group: &'static str, key: &'static str, title: &'static str) -> KeyEntry {
        KeyEntry {
            title,
            key,
            group,
            aliases: &[],
            is_destructive: false,
        }
    }

    fn help() -> Help {
        let commands = [
            command("move", "j k", "up and down"),
            command("move", "g G", "first and last"),
            command("findings", "] [", "next and previous finding"),
            command("move", "J K", "next and previous turn"),
            command("find", "/", "find a text"),
            command("find", "", "a command without a key"),
            command("find", "n N", "next and previous hit"),
        ];
        let others = command("elsewhere", "X", "what is done on another screen");
        let all = [&commands[..], &[others]].concat();
        Help::new(
            &commands,
            &all,
            &["In tmux, copying needs: set -g set-clipboard on"],
        )
    }

    fn screen(help: &Help, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let theme = Theme::new(Variant::Mono, Glyphs::UNICODE);
        terminal
            .draw(|frame| help.view(frame, frame.area(), &(), &theme))
            .unwrap();
        terminal.backend().to_string().replace('"', "")
    }

    #[test]
    fn groups_stand_beside_each_other_where_there_is_room() {
        let wide = screen(&help(), 110, 12);
        assert!(
            wide.lines()
                .any(|line| line.contains("move ") && line.contains("find")),
            "{wide}"
        );
        assert!(wide.contains("] [  next and previous finding"), "{wide}");
        assert!(!wide.contains("without a key"), "{wide}");
        assert!(wide.contains("set-clipboard on"), "{wide}");
        let narrow = screen(&help(), 40, 20);
        let column = narrow.lines().filter(|line| line.starts_with("│ j k"));
        assert_eq!(column.count(), 1, "{narrow}");
    }

    #[test]
    fn what_does_not_fit_is_scrolled_to() {
        let mut help = help();
        let first = screen(&help, 40, 10);
        assert!(
            first.contains("1-8 of 14") && first.contains("move"),
            "{first}"
        );
        assert!(!help.key(KeyCode::Char('G').into()));
        let last = screen(&help, 40, 10);
        assert!(
            last.contains("7-14 of 14") && last.contains("set-clipboard"),
            "{last}"
        );
        help.key(KeyCode::Char('j').into());
        assert_eq!(screen(&help, 40, 10), last);
        assert!(help.key(KeyCode::Esc.into()));
        assert!(help.key(KeyCode::Char('?').into()));
    }

    #[test]
    fn what_works_elsewhere_is_shown_on_demand_and_found() {
        let mut help = help();
        assert!(!screen(&help, 60, 20).contains("another screen"));
        help.key(KeyCode::Tab.into());
        assert!(screen(&help, 60, 20).contains("X    what is done on another screen"));
        help.key(KeyCode::Tab.into());
        for key in "/another".chars() {
            assert!(!help.key(KeyCode::Char(key).into()));
        }
        let found = screen(&help, 60, 20);
        assert!(found.contains("what is done on another screen"), "{found}");
        assert!(!found.contains("up and down"), "{found}");
        help.key(KeyCode::Enter.into());
        assert!(!help.key(KeyCode::Esc.into()), "it shows all again");
        assert!(screen(&help, 60, 20).contains("up and down"));
    }

    #[test]
    fn a_text_that_is_longer_than_its_column_is_wrapped_and_keys_stand_apart() {
        let long = "one call or all faulty calls of the turn; a fallback: into the history";
        let commands = [
            command("text", "esc q ^c", long),
            command("text", "tab S-tab", "to"),
        ];
        let shown = screen(&Help::new(&commands, &commands, &[]), 40, 12);
        assert!(shown.contains("tab S-tab  to"), "{shown}");
        assert!(!shown.contains('…'), "{shown}");
        let words = shown.replace(['│', '\n'], " ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(long), "{shown}");
    }

    #[test]
    fn every_size_can_be_drawn() {
        for (width, height) in [(1, 1), (2, 2), (3, 3), (9, 4), (200, 60)] {
            screen(&help(), width, height);
            screen(&Help::new(&[], &[], &[]), width, height);
        }
    }
}
