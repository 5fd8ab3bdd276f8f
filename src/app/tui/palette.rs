//! The command palette: type the name of what you want, in retake's words or gdb's, and press enter.
//!
//! The rows come from the caller's one table of commands; what was chosen comes back as its index in that
//! table. What is typed has to begin words of a title or of an alias, in their order, or to stand in one as it
//! is: letters that are merely there in some order choose nothing. A number goes to what is counted.

use super::keymap::{self, Command, Context, Direction, KeyEntry, command};
use super::layer::{Layer, Step};
use super::list::ListCursor;
use super::popup::{centred, split_top};
use super::prompt::{Prompt, Typing};
use super::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;
use retake_core::safe_text::SafeText;

/// Fewest cells that aliases are shown in, with the gap before them.
const LEAST_ALIASES: usize = 8;
/// Fewest letters that are looked for within words.
const INSIDE: usize = 3;

/// What the operator wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The command with this index.
    Chosen(usize),
    /// To go to what has this number, counted from 1: a turn, an exchange.
    Number(usize),
    /// To go to the item with this number.
    Item(usize),
}

/// How well a command answers to what was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Mentioned,
    /// It is made of the beginnings of the words of the title.
    Initials,
    /// An alias begins so.
    Alias,
    /// The title begins so.
    Title,
    Key,
    /// It is the name as a whole.
    Exact,
}

#[derive(Debug, Clone)]
pub struct CommandPalette {
    commands: Vec<KeyEntry>,
    /// What a number goes to.
    counted: &'static str,
    has_items: bool,
    prompt: Prompt,
    /// Places in `commands` of the rows that match, the best first.
    matching: Vec<usize>,
    cursor: ListCursor,
    /// Whether enter runs the row with the cursor.
    is_chosen: bool,
}

impl CommandPalette {
    /// A palette over these commands, with everything listed. A number goes to what `counted` names: `a turn`.
    pub fn new(commands: &[KeyEntry], counted: &'static str) -> Self {
        let mut palette = Self {
            commands: commands.to_vec(),
            counted,
            has_items: false,
            prompt: Prompt::new(":", "enter run  esc cancel"),
            matching: Vec::new(),
            cursor: ListCursor::default(),
            is_chosen: true,
        };
        palette.rank();
        palette
    }

    /// A number after `#`, `i` or `item` goes to an item.
    pub fn with_items(self) -> Self {
        Self {
            has_items: true,
            prompt: Prompt::new(":", "12 turn  #40 item  enter run  esc cancel"),
            ..self
        }
    }

    fn submit(&mut self, text: &str) -> Step<Choice> {
        if let Some(number) = self.number(text) {
            return Step::Done(number);
        }
        let row = self.matching.get(self.cursor.get());
        match row {
            Some(row) if self.is_chosen => return Step::Done(Choice::Chosen(*row)),
            Some(_) => {
                let words = SafeText::from_static("no exact match; down selects one of these");
                self.prompt.complain(words);
            }
            None => {}
        }
        Step::Stay
    }

    /// The number that is gone to: `12`, `turn 12`, `goto 12`, and of an item `#40`, `i40`, `item 40`.
    fn number(&self, text: &str) -> Option<Choice> {
        let text = text.trim();
        let begins = |word: &&str| {
            text.get(..word.len())
                .is_some_and(|it| it.eq_ignore_ascii_case(word))
        };
        let prefix = ["item", "i", "#"].into_iter().find(begins);
        if let Some(prefix) = prefix.filter(|_| self.has_items) {
            let number = text[prefix.len()..].trim_start().trim_start_matches('#');
            return number.parse().ok().map(Choice::Item);
        }
        let (words, number) = text.rsplit_once(' ').unwrap_or(("", text));
        let palette = keymap::rows().filter(|row| row.command == Command::Palette);
        let mut names = palette
            .flat_map(|row| row.aliases.iter().copied())
            .chain(self.counted.split(' ').next_back())
            .chain([""]);
        let words = words.trim();
        let number = number.parse().ok()?;
        names
            .any(|name| name == words)
            .then_some(Choice::Number(number))
    }

    /// Orders the rows by how well they answer, then as they stand in the table.
    fn rank(&mut self) {
        let typed = self.prompt.text().trim().to_lowercase();
        let commands = self.commands.iter().enumerate();
        let mut ranked: Vec<(Fit, usize)> = commands
            .filter_map(|(place, command)| Some((fit(command, &typed)?, place)))
            .collect();
        ranked.sort_by_key(|(fit, place)| (std::cmp::Reverse(*fit), *place));
        let first = ranked.first();
        let is_risky = first.is_some_and(|(fit, place)| {
            *fit == Fit::Mentioned && self.commands[*place].is_destructive
        });
        self.is_chosen = !is_risky;
        self.matching = ranked.into_iter().map(|(_, place)| place).collect();
        self.cursor.set(0);
    }
}

impl<S> Layer<S> for CommandPalette {
    type Output = Choice;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Palette]
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step<Choice> {
        let moves = match (command(Context::Palette, &key), key.code) {
            (Some(Command::Value(Direction::Forward)), _) => Some(KeyCode::Down.into()),
            (Some(Command::Value(Direction::Backward)), _) => Some(KeyCode::Up.into()),
            (_, KeyCode::PageUp | KeyCode::PageDown) => Some(key),
            _ => None,
        };
        if let Some(key) = moves {
            // The first key only puts the cursor on the first row.
            if std::mem::replace(&mut self.is_chosen, true) {
                self.cursor.key(key, self.matching.len());
            }
            return Step::Stay;
        }
        match self.prompt.key(key) {
            Typing::Pending => Step::Stay,
            Typing::Changed => {
                self.rank();
                Step::Stay
            }
            Typing::Submitted(text) => self.submit(&text),
            Typing::Cancelled => Step::Leave,
        }
    }

    fn mouse(&mut self, _: MouseEvent, _: &mut S) -> Step<Choice> {
        Step::Pass
    }

    fn paste(&mut self, text: &str, _: &mut S) {
        self.prompt.paste(text);
        self.rank();
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let area = area.intersection(frame.area());
        let rows = u16::try_from(self.commands.len()).unwrap_or(u16::MAX);
        let height = rows.saturating_add(3).min(area.height).min(20);
        let popup = Rect {
            y: area.y + (area.height - height) / 6,
            ..centred(area, 76, height)
        };
        let pane = theme.pane(Line::from(" commands "), true);
        let inner = pane.inner(popup);
        frame.render_widget(Clear, popup);
        frame.render_widget(pane, popup);
        if inner.is_empty() {
            return;
        }
        self.prompt.draw(frame, inner, theme);
        let [_, list] = split_top(inner, 1);
        if self.matching.is_empty() {
            let text = self.prompt.text();
            let message = match self.number(&text) {
                Some(Choice::Item(number)) => format!("enter goes to item {number}"),
                Some(Choice::Number(number)) => {
                    format!("enter goes to {} by its number: {number}", self.counted)
                }
                Some(Choice::Chosen(_)) | None => format!("no command \"{}\"", text.trim()),
            };
            let message = SafeText::single_line(&message, list.width.into());
            frame.render_widget(theme.line(&message, theme.dim), list);
        }
        let selected = match self.is_chosen {
            true => theme.selected,
            false => Style::new(),
        };
        let draw = |row: usize, area: Rect| {
            let command = &self.commands[self.matching[row]];
            command_line(command, area.width.into(), theme)
        };
        let count = self.matching.len();
        self.cursor.draw(frame, list, count, selected, theme, draw);
    }
}

/// How well a command answers to what was typed in small letters; `None` if it does not.
fn fit(command: &KeyEntry, typed: &str) -> Option<Fit> {
    let names = || command.aliases.iter().chain([&command.title]);
    let mut keys = command.key.split(' ');
    let begins = |name: &str| name.to_lowercase().starts_with(typed);
    if typed.is_empty() {
        Some(Fit::Mentioned)
    } else if names().any(|name| *name == typed) {
        Some(Fit::Exact)
    } else if keys.any(|key| key.to_lowercase() == typed) {
        Some(Fit::Key)
    } else if begins(command.title) {
        Some(Fit::Title)
    } else if command.aliases.iter().any(|name| begins(name)) {
        Some(Fit::Alias)
    } else if begins_words(command.title, typed) {
        Some(Fit::Initials)
    } else if names().any(|name| mentions(name, typed)) {
        Some(Fit::Mentioned)
    } else {
        None
    }
}

/// Whether what was typed is made of the beginnings of the first words of a name, one after the other: `nf`,
/// `nefi` for `next finding`.
fn begins_words(name: &str, typed: &str) -> bool {
    let typed: Vec<char> = typed.chars().collect();
    // From which letters on the words so far leave something to be explained.
    let mut left = vec![0];
    for word in name.to_lowercase().split(|it: char| !it.is_alphanumeric()) {
        let word: Vec<char> = word.chars().collect();
        let mut next = Vec::new();
        for from in left {
            let rest = &typed[from..];
            let shared = rest
                .iter()
                .zip(&word)
                .take_while(|(one, other)| one == other);
            next.extend((1..=shared.count()).map(|taken| from + taken));
        }
        if next.contains(&typed.len()) {
            return true;
        }
        if next.is_empty() {
            return false;
        }
        next.sort_unstable();
        next.dedup();
        left = next;
    }
    false
}

/// Whether each word that was typed begins one of the name, or the whole is in it.
fn mentions(name: &str, typed: &str) -> bool {
    let name = name.to_lowercase();
    let words = || name.split(|it: char| !it.is_alphanumeric());
    let mut wanted = typed.split_whitespace();
    let begins = wanted.all(|wanted| words().any(|word| word.starts_with(wanted)));
    begins || (typed.chars().count() >= INSIDE && name.contains(typed))
}

/// `key  title  (alias, alias)            group`, as far as it fits.
fn command_line(command: &KeyEntry, width: usize, theme: &Theme) -> Vec<Span<'static>> {
    let key = command.key.split(' ').next().unwrap_or_default();
    let mut spans = vec![Span::styled(format!(" {key:<8}"), theme.key)];
    let group = SafeText::from_static(command.group).width() + 2;
    let room = width.saturating_sub(9);
    let title = SafeText::single_line(command.title, room);
    let has_group = title.width() + group <= room;
    let room = room - title.width() - if has_group { group } else { 0 };
    spans.extend(theme.spans(&title, Style::new()));
    if !command.aliases.is_empty() && room > LEAST_ALIASES {
        let aliases = SafeText::single_line(&command.aliases.join(", "), room - 2);
        spans.push(Span::raw("  "));
        spans.extend(theme.spans(&aliases, theme.dim));
    }
    if has_group {
        let used: usize = spans.iter().map(Span::width).sum();
        let gap = width.saturating_sub(used + group - 1);
        spans.push(Span::raw(" ".repeat(gap)));
        spans.push(Span::styled(command.group, theme.dim));
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::super::theme::{Glyphs, Variant};
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    pub(super) const COMMANDS: &[KeyEntry] = &[
        KeyEntry {
            title: "next finding",
            key: "]",
            group: "findings",
            aliases: &["next"],
            is_destructive: false,
        },
        KeyEntry {
            title: "next turn",
            key: "J",
            group: "move",
            aliases: &["step"],
            is_destructive: false,
        },
        KeyEntry {
            title: "call to output",
            key: "%",
            group: "move",
            aliases: &["finish"],
            is_destructive: false,
        },
        KeyEntry {
            title: "tool health",
            key: "H",
            group: "live",
            aliases: &["info tools"],
            is_destructive: false,
        },
        KeyEntry {
            title: "close; at the top level quit",
            key: "q",
            group: "program",
            aliases: &["exit"],
            is_destructive: true,
        },
    ];

    fn press(palette: &mut CommandPalette, keys: &str) -> Step<Choice> {
        let mut last = Step::Stay;
        for character in keys.chars() {
            last = palette.key(
                match character {
                    '\n' => KeyCode::Enter.into(),
                    '\u{1b}' => KeyCode::Esc.into(),
                    '↓' => KeyCode::Down.into(),
                    _ => KeyCode::Char(character).into(),
                },
                &mut (),
            );
        }
        last
    }

    fn screen(palette: &CommandPalette, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let theme = Theme::new(Variant::Mono, Glyphs::ASCII);
        terminal
            .draw(|frame| palette.view(frame, frame.area(), &(), &theme))
            .unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn letters_choose_and_gdb_words_stand_first() {
        let chosen = |keys| press(&mut CommandPalette::new(COMMANDS, "a turn"), keys);
        assert_eq!(chosen("\n"), Step::Done(Choice::Chosen(0)));
        assert_eq!(chosen("↓\n"), Step::Done(Choice::Chosen(1)));
        assert_eq!(chosen("turn\n"), Step::Done(Choice::Chosen(1)));
        assert_eq!(chosen("step\n"), Step::Done(Choice::Chosen(1)));
        assert_eq!(chosen("finish\n"), Step::Done(Choice::Chosen(2)));
        assert_eq!(chosen("info tools\n"), Step::Done(Choice::Chosen(3)));
        assert_eq!(chosen("%\n"), Step::Done(Choice::Chosen(2)));
        assert_eq!(chosen("nf\n"), Step::Done(Choice::Chosen(0)));
        assert_eq!(chosen("exit\n"), Step::Done(Choice::Chosen(4)));
        assert_eq!(chosen("clo\n"), Step::Done(Choice::Chosen(4)));
        for number in ["123\n", "turn 123\n", "goto 123\n"] {
            assert_eq!(chosen(number), Step::Done(Choice::Number(123)));
        }
        assert_eq!(chosen("exchange 123\n"), Step::Stay);
        assert_eq!(chosen("a\u{1b}"), Step::Leave);
    }

    #[test]
    fn letters_that_are_merely_there_choose_nothing() {
        let chosen = |keys| press(&mut CommandPalette::new(COMMANDS, "a turn"), keys);
        for unrelated in ["zzz\n", "cost\n", "time\n", "bt\n", "sort\n", "theme\n"] {
            assert_eq!(chosen(unrelated), Step::Stay, "{unrelated}");
        }
    }

    #[test]
    fn a_title_that_begins_so_precedes_aliases_and_long_rows_are_cut_with_a_sign() {
        let row = |title, key, aliases| KeyEntry {
            title,
            key,
            group: "recover",
            aliases,
            is_destructive: false,
        };
        let commands = [
            row("read", "r", &["find text", "search"][..]),
            row("find error", "enter l right", &["next bad one"][..]),
        ];
        let mut palette = CommandPalette::new(&commands, "a turn");
        assert_eq!(press(&mut palette, "fin\n"), Step::Done(Choice::Chosen(1)));
        let shown = screen(&palette, 32, 8);
        assert!(shown.contains(" enter   find error"), "{shown}");
        assert!(!shown.contains("right"), "{shown}");
        let narrow = screen(&palette, 20, 8);
        assert!(narrow.contains("..."), "{narrow}");
    }

    #[test]
    fn what_ends_something_is_chosen_by_its_name_only() {
        let mut palette = CommandPalette::new(COMMANDS, "a turn");
        assert_eq!(press(&mut palette, "level\n"), Step::Stay);
        let shown = screen(&palette, 76, 8);
        assert!(shown.contains("close; at the top level quit"), "{shown}");
        assert!(shown.contains("down selects"), "{shown}");
        assert_eq!(press(&mut palette, "↓\n"), Step::Done(Choice::Chosen(4)));
    }

    #[test]
    fn the_rows_show_key_title_aliases_and_group() {
        let mut palette = CommandPalette::new(COMMANDS, "a turn");
        press(&mut palette, "tool");
        let shown = screen(&palette, 44, 8);
        assert!(shown.contains(": tool"), "{shown}");
        assert!(shown.contains("H       tool health  info tools"), "{shown}");
        assert!(!shown.contains("next turn"), "{shown}");
        press(&mut palette, "zz");
        let shown = screen(&palette, 44, 8);
        assert!(shown.contains("no command \"toolzz\""), "{shown}");
        let mut palette = CommandPalette::new(COMMANDS, "a turn");
        press(&mut palette, "12");
        let shown = screen(&palette, 44, 8);
        assert!(
            shown.contains("goes to a turn by its number: 12"),
            "{shown}"
        );
    }

    #[test]
    fn every_size_can_be_drawn() {
        for (width, height) in [(1, 1), (2, 2), (3, 3), (40, 4), (200, 60)] {
            screen(&CommandPalette::new(COMMANDS, "a turn"), width, height);
        }
    }
}
