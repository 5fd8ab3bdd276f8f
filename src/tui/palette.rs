//! The command palette: type a few letters of what you want, in retake's words or gdb's, and press enter.
//!
//! The rows come from the caller's one table of commands. A row is found by its title, its aliases and its group; what was chosen
//! comes back as its index in that table.

use super::fuzzy::Fuzzy;
use super::list::ListCursor;
use super::prompt::{Prompt, Typing};
use super::theme::Theme;
use crate::safe_text::SafeText;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

/// A command, for the palette and for the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// What it does: `next finding`.
    pub title: &'static str,
    /// Its key as the operator reads it: `]`, `^d`, `enter`. Empty where it has none.
    pub key: &'static str,
    /// Under which heading it stands in the help: `move`, `recover`.
    pub group: &'static str,
    /// Other names, as gdb's: `next`, `finish`.
    pub aliases: &'static [&'static str],
}

/// What a key did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Nothing yet.
    Pending,
    /// The command with this index was chosen.
    Chosen(usize),
    /// None of them.
    Left,
}

/// The open palette.
#[derive(Debug, Clone)]
pub struct Palette {
    commands: Vec<Command>,
    prompt: Prompt,
    /// Indices of the rows that match, the best first.
    matching: Vec<usize>,
    cursor: ListCursor,
}

impl Palette {
    /// A palette over these commands, with everything listed.
    pub fn new(commands: &[Command]) -> Self {
        let mut palette = Self {
            commands: commands.to_vec(),
            prompt: Prompt::new(":", "enter runs  esc leaves"),
            matching: Vec::new(),
            cursor: ListCursor::default(),
        };
        palette.rank();
        palette
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Choice {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let moves = match key.code {
            KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => Some(key),
            KeyCode::Tab => Some(KeyCode::Down.into()),
            KeyCode::BackTab => Some(KeyCode::Up.into()),
            KeyCode::Char('n') if control => Some(KeyCode::Down.into()),
            KeyCode::Char('p') if control => Some(KeyCode::Up.into()),
            _ => None,
        };
        if let Some(key) = moves {
            self.cursor.key(key, self.matching.len());
            return Choice::Pending;
        }
        match self.prompt.key(key) {
            Typing::Pending => Choice::Pending,
            Typing::Changed => {
                self.rank();
                Choice::Pending
            }
            Typing::Submitted(_) => match self.matching.get(self.cursor.get()) {
                Some(index) => Choice::Chosen(*index),
                None => Choice::Pending,
            },
            Typing::Cancelled => Choice::Left,
        }
    }

    /// Takes a pasted text.
    pub fn paste(&mut self, text: &str) {
        self.prompt.paste(text);
        self.rank();
    }

    /// Orders the rows by how well they match. An alias that is typed out stands first, then a key.
    fn rank(&mut self) {
        let typed = self.prompt.text();
        let typed = typed.trim();
        let mut fuzzy = Fuzzy::new(typed);
        let mut ranked: Vec<(u32, usize)> = Vec::new();
        for (index, command) in self.commands.iter().enumerate() {
            let mut best = fuzzy.score(command.title).map(|score| score * 2);
            for other in command.aliases.iter().chain([&command.group]) {
                best = best.max(fuzzy.score(other));
            }
            if !typed.is_empty() && command.aliases.contains(&typed) {
                best = Some(u32::MAX);
            } else if command.key == typed {
                best = best.max(Some(u32::MAX - 1));
            }
            ranked.extend(best.map(|score| (score, index)));
        }
        ranked.sort_by_key(|(score, index)| (std::cmp::Reverse(*score), *index));
        self.matching = ranked.into_iter().map(|(_, index)| index).collect();
        self.cursor.set(0);
    }

    /// Draws the palette as a popup at the top of `area`.
    pub fn view(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let area = area.intersection(frame.area());
        let width = area.width.saturating_sub(2).min(76);
        let rows = u16::try_from(self.commands.len()).unwrap_or(u16::MAX);
        let height = rows.saturating_add(3).min(area.height).min(20);
        let popup = Rect {
            x: area.x + (area.width - width) / 2,
            y: area.y + (area.height - height) / 6,
            width,
            height,
        };
        let pane = theme.pane(Line::from(" commands "), true);
        let inner = pane.inner(popup);
        frame.render_widget(Clear, popup);
        frame.render_widget(pane, popup);
        if inner.is_empty() {
            return;
        }
        self.prompt.view(frame, inner, theme);
        let list = Rect {
            y: inner.y + 1,
            height: inner.height - 1,
            ..inner
        };
        if self.matching.is_empty() {
            let none =
                SafeText::from_static("no command of this name").truncated(list.width.into());
            frame.render_widget(theme.line(&none, theme.dim), list);
        }
        let window = self.cursor.window(list, self.matching.len());
        for (y, row) in (list.y..).zip(window) {
            let Some(command) = self.matching.get(row).map(|index| &self.commands[*index]) else {
                break;
            };
            let line = command_line(command, list.width.into(), theme);
            let area = Rect {
                y,
                height: 1,
                ..list
            };
            let style = if row == self.cursor.get() {
                theme.selected
            } else {
                theme.text
            };
            frame.render_widget(line.style(style), area);
        }
    }
}

/// `key  title  (alias, alias)            group`, as far as it fits.
fn command_line(command: &Command, width: usize, theme: &Theme) -> Line<'static> {
    let fixed = SafeText::from_static;
    let mut spans = vec![
        Span::styled(format!(" {:<8}", command.key), theme.key),
        Span::raw(command.title),
    ];
    if !command.aliases.is_empty() {
        spans.push(Span::styled(
            format!("  {}", command.aliases.join(", ")),
            theme.dim,
        ));
    }
    let used: usize = spans.iter().map(Span::width).sum();
    let group = fixed(command.group);
    if used + group.width() + 2 <= width {
        spans.push(Span::raw(" ".repeat(width - used - group.width() - 1)));
        spans.push(Span::styled(command.group, theme.dim));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::super::theme::{Glyphs, Variant};
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    pub(super) const COMMANDS: &[Command] = &[
        Command {
            title: "next finding",
            key: "]",
            group: "findings",
            aliases: &["next"],
        },
        Command {
            title: "next turn",
            key: "J",
            group: "move",
            aliases: &["step"],
        },
        Command {
            title: "call to output",
            key: "%",
            group: "move",
            aliases: &["finish"],
        },
        Command {
            title: "tool health",
            key: "H",
            group: "live",
            aliases: &["info tools"],
        },
    ];

    fn press(palette: &mut Palette, keys: &str) -> Choice {
        let mut last = Choice::Pending;
        for character in keys.chars() {
            last = palette.key(match character {
                '\n' => KeyCode::Enter.into(),
                '\u{1b}' => KeyCode::Esc.into(),
                '↓' => KeyCode::Down.into(),
                _ => KeyCode::Char(character).into(),
            });
        }
        last
    }

    fn screen(palette: &Palette, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let theme = Theme::new(Variant::Mono, Glyphs::ASCII);
        terminal
            .draw(|frame| palette.view(frame, frame.area(), &theme))
            .unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn letters_choose_and_gdb_words_stand_first() {
        let chosen = |keys| press(&mut Palette::new(COMMANDS), keys);
        assert_eq!(chosen("\n"), Choice::Chosen(0));
        assert_eq!(chosen("↓\n"), Choice::Chosen(1));
        assert_eq!(chosen("turn\n"), Choice::Chosen(1));
        assert_eq!(chosen("step\n"), Choice::Chosen(1));
        assert_eq!(chosen("finish\n"), Choice::Chosen(2));
        assert_eq!(chosen("info tools\n"), Choice::Chosen(3));
        assert_eq!(chosen("%\n"), Choice::Chosen(2));
        assert_eq!(chosen("zzz\n"), Choice::Pending);
        assert_eq!(chosen("a\u{1b}"), Choice::Left);
    }

    #[test]
    fn the_rows_show_key_title_aliases_and_group() {
        let mut palette = Palette::new(COMMANDS);
        press(&mut palette, "tool");
        let shown = screen(&palette, 44, 8);
        assert!(shown.contains(": tool"), "{shown}");
        assert!(shown.contains("H       tool health  info tools"), "{shown}");
        assert!(!shown.contains("next turn"), "{shown}");
        press(&mut palette, "zz");
        assert!(screen(&palette, 44, 8).contains("no command of this name"));
    }

    #[test]
    fn every_size_can_be_drawn() {
        for (width, height) in [(1, 1), (2, 2), (3, 3), (40, 4), (200, 60)] {
            screen(&Palette::new(COMMANDS), width, height);
        }
    }
}
