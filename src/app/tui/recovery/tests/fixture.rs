//! Keys in, screens out, for one face at a time.

use crate::tui::keymap;
use crate::tui::theme::{Glyphs, Theme, Variant};
use ratatui::Frame;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyEvent;
use ratatui::layout::Rect;
use ratatui::style::Color;

/// The event of the key that the table calls by this name.
pub(in crate::tui) fn event(name: &str) -> KeyEvent {
    keymap::event(name).unwrap_or_else(|| panic!("no key {name}"))
}

/// The events of keys, written as in the table of keys with spaces between; what is in quotes is typed.
pub(in crate::tui) fn events(keys: &str) -> Vec<KeyEvent> {
    let mut events = Vec::new();
    for (number, part) in keys.split('"').enumerate() {
        if number % 2 == 1 {
            events
                .extend(part.chars().map(|letter| {
                    KeyEvent::from(ratatui::crossterm::event::KeyCode::Char(letter))
                }));
        } else {
            let names = part.split(' ').filter(|name| !name.is_empty());
            events.extend(names.map(event));
        }
    }
    events
}

fn terminal(
    (width, height): (u16, u16),
    theme: &Theme,
    view: impl Fn(&mut Frame<'_>, Rect, &Theme),
) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| view(frame, frame.area(), theme))
        .unwrap();
    terminal
}

/// What is seen, without the spaces at the end of rows.
pub(in crate::tui) fn screen(
    size: (u16, u16),
    view: impl Fn(&mut Frame<'_>, Rect, &Theme),
) -> String {
    let theme = Theme::new(Variant::Dark, Glyphs::UNICODE);
    let shown = terminal(size, &theme, view).backend().to_string();
    let rows: Vec<&str> = shown
        .lines()
        .map(|row| row.trim_matches('"').trim_end())
        .collect();
    rows.join("\n")
}

/// What a terminal without colour and UTF-8 shows. Every cell is looked at.
pub(in crate::tui) fn plain_screen(
    size: (u16, u16),
    view: impl Fn(&mut Frame<'_>, Rect, &Theme),
) -> String {
    let theme = Theme::new(Variant::Mono, Glyphs::ASCII);
    let terminal = terminal(size, &theme, view);
    for cell in terminal.backend().buffer().content() {
        assert!(cell.symbol().is_ascii(), "{:?}", cell.symbol());
        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
    }
    let shown = terminal.backend().to_string();
    let rows: Vec<&str> = shown
        .lines()
        .map(|row| row.trim_matches('"').trim_end())
        .collect();
    rows.join("\n")
}

/// Every cell, with colours and UTF-8.
pub(in crate::tui) fn cells(
    size: (u16, u16),
    view: impl Fn(&mut Frame<'_>, Rect, &Theme),
) -> Vec<String> {
    let theme = Theme::new(Variant::Dark, Glyphs::UNICODE);
    let terminal = terminal(size, &theme, view);
    let cells = terminal.backend().buffer().content().iter();
    cells.map(|cell| cell.symbol().to_owned()).collect()
}

/// The words that are drawn reversed, by row.
pub(in crate::tui) fn emphasis(
    size: (u16, u16),
    view: impl Fn(&mut Frame<'_>, Rect, &Theme),
) -> Vec<String> {
    use ratatui::style::Modifier;
    let theme = Theme::new(Variant::Mono, Glyphs::UNICODE);
    let terminal = terminal(size, &theme, view);
    let buffer = terminal.backend().buffer();
    let width = usize::from(size.0);
    let mut words = Vec::new();
    for row in buffer.content().chunks(width) {
        let mut word = String::new();
        for cell in row {
            if cell.modifier.contains(Modifier::REVERSED) {
                word.push_str(cell.symbol());
            } else if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
        }
        words.extend(Some(word).filter(|word| !word.is_empty()));
    }
    words
}

/// Draws at every small size and some large ones: nothing may panic.
pub(in crate::tui) fn assert_draws_at_any_size(view: impl Fn(&mut Frame<'_>, Rect, &Theme)) {
    let sizes = (0..24)
        .flat_map(|width| (0..10).map(move |height| (width, height)))
        .chain([(40, 10), (60, 20), (80, 24), (200, 60)]);
    for size in sizes.filter(|(width, height)| width * height > 0) {
        screen(size, &view);
        plain_screen(size, &view);
    }
}
