//! The help: every command with its key, grouped, in as many columns as fit.
//!
//! It is made from the same rows as the palette, so it cannot differ from what the keys do.

use super::palette::Command;
use super::theme::Theme;
use crate::safe_text::SafeText;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;
use std::cell::Cell;

/// Cells for the name of a key.
const KEY_WIDTH: usize = 8;
/// The widest that a column grows.
const COLUMN: usize = 40;
/// Between two columns.
const GAP: usize = 2;

/// The open help.
#[derive(Debug, Clone)]
pub struct Help {
    /// The groups in the order in which they first appear.
    groups: Vec<(&'static str, Vec<Command>)>,
    notes: Vec<&'static str>,
    top: usize,
    /// Rows seen and rows in all, as they were drawn last.
    seen: Cell<(usize, usize)>,
}

impl Help {
    /// The help for these commands; those without a key are left to the palette. The notes stand below them.
    pub fn new(commands: &[Command], notes: &[&'static str]) -> Self {
        let mut groups: Vec<(&'static str, Vec<Command>)> = Vec::new();
        for command in commands.iter().filter(|command| !command.key.is_empty()) {
            match groups.iter_mut().find(|(name, _)| *name == command.group) {
                Some((_, members)) => members.push(*command),
                None => groups.push((command.group, vec![*command])),
            }
        }
        Self {
            groups,
            notes: notes.to_vec(),
            top: 0,
            seen: Cell::new((1, 0)),
        }
    }

    /// Takes a key; true if the help is to be closed.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let (page, rows) = self.seen.get();
        let last = rows.saturating_sub(page);
        self.top = match key.code {
            KeyCode::Char('d') if control => self.top + page / 2,
            KeyCode::Char('u') if control => self.top.saturating_sub(page / 2),
            KeyCode::Char('c') if control => return true,
            KeyCode::Down | KeyCode::Char('j') => self.top + 1,
            KeyCode::Up | KeyCode::Char('k') => self.top.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top + page,
            KeyCode::PageUp => self.top.saturating_sub(page),
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => last,
            KeyCode::Esc | KeyCode::Enter | KeyCode::F(1) | KeyCode::Char('q' | '?') => {
                return true;
            }
            _ => self.top,
        }
        .min(last);
        false
    }

    /// Takes the wheel.
    pub fn mouse(&mut self, event: MouseEvent) {
        let (page, rows) = self.seen.get();
        let last = rows.saturating_sub(page);
        match event.kind {
            MouseEventKind::ScrollDown => self.top = (self.top + 3).min(last),
            MouseEventKind::ScrollUp => self.top = self.top.saturating_sub(3),
            _ => {}
        }
    }

    /// Draws the help over `area`.
    pub fn view(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
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
        let mut pane = theme.pane(Line::from(" help "), true);
        if page < lines.len() {
            let more = format!(
                " {}-{} of {}  {}{} ",
                top + 1,
                (top + page).min(lines.len()),
                lines.len(),
                theme.glyphs.up,
                theme.glyphs.down
            );
            pane = pane.title_bottom(Line::styled(more, theme.dim).right_aligned());
        }
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
    }

    /// All rows of the help for this width.
    fn lines(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let titles = self.groups.iter().flat_map(|(_, members)| members);
        let long = |command: &Command| command.title.len();
        let widest = titles.map(long).max().unwrap_or(0);
        let column = (KEY_WIDTH + widest).min(COLUMN).min(width.max(1));
        let count = ((width + GAP) / (column + GAP)).clamp(1, self.groups.len().max(1));
        // What is over is shared out.
        let longest = (width + GAP) / count - GAP;
        let column = column.max(longest.min(KEY_WIDTH + widest));
        let columns = self.columns(count, column, theme);
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
        for note in &self.notes {
            lines.push(Line::default());
            let rows = SafeText::from_static(note);
            lines.extend(
                rows.wrapped(width.max(1))
                    .map(|row| theme.line(&row, theme.dim)),
            );
        }
        lines
    }

    /// Fills the columns, group by group, so that they are about equally long.
    fn columns(&self, count: usize, width: usize, theme: &Theme) -> Vec<Vec<Line<'static>>> {
        let total: usize = self
            .groups
            .iter()
            .map(|(_, members)| members.len() + 2)
            .sum();
        let target = total.div_ceil(count);
        let mut columns: Vec<Vec<Line<'static>>> = vec![Vec::new()];
        for (name, members) in &self.groups {
            let used = columns.last().map_or(0, Vec::len);
            // A group goes where more than half of it fits.
            if used > 0 && used + members.len() / 2 + 1 > target && columns.len() < count {
                columns.push(Vec::new());
            }
            let Some(column) = columns.last_mut() else {
                break;
            };
            if !column.is_empty() {
                column.push(Line::default());
            }
            column.push(Line::styled(*name, theme.title));
            for command in members {
                let room = width.saturating_sub(KEY_WIDTH);
                let title = SafeText::from_static(command.title);
                let key = format!("{:<KEY_WIDTH$}", command.key);
                let mut line = Line::from(Span::styled(key, theme.key));
                line.spans
                    .extend(theme.spans(&title.truncated(room), theme.text));
                column.push(line);
            }
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::super::theme::{Glyphs, Variant};
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn command(group: &'static str, key: &'static str, title: &'static str) -> Command {
        Command {
            title,
            key,
            group,
            aliases: &[],
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
        Help::new(
            &commands,
            &["In tmux, copying needs: set -g set-clipboard on"],
        )
    }

    fn screen(help: &Help, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let theme = Theme::new(Variant::Mono, Glyphs::UNICODE);
        terminal
            .draw(|frame| help.view(frame, frame.area(), &theme))
            .unwrap();
        terminal.backend().to_string().replace('"', "")
    }

    #[test]
    fn groups_stand_beside_each_other_where_there_is_room() {
        let wide = screen(&help(), 80, 12);
        assert!(
            wide.lines()
                .any(|line| line.contains("move ") && line.contains("find")),
            "{wide}"
        );
        assert!(wide.contains("] [     next and previous finding"), "{wide}");
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
    fn every_size_can_be_drawn() {
        for (width, height) in [(1, 1), (2, 2), (3, 3), (9, 4), (200, 60)] {
            screen(&help(), width, height);
            screen(&Help::new(&[], &[]), width, height);
        }
    }
}
