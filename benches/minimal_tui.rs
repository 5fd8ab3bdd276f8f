//! The smallest honest ratatui program: what a key press and a start cost before retake adds anything.
//!
//! It draws a list of 1,000 rows with a cursor. `j k J g G` and PgDn move, `q` quits.
//! `benches/measure.py` stands it beside retake in rows 6 and 15.

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind};
use ratatui::style::Style;
use ratatui::widgets::{Block, List, ListState};

const ROWS: usize = 1_000;
const PAGE: usize = 50;

fn main() -> std::io::Result<()> {
    ratatui::run(show)
}

fn show(terminal: &mut DefaultTerminal) -> std::io::Result<()> {
    let rows: Vec<String> = (0..ROWS).map(row).collect();
    let mut cursor = ListState::default().with_selected(Some(0));
    loop {
        terminal.draw(|frame| {
            // Borrowed rows: List makes one item of each, as every simple list program does.
            let list = List::new(rows.iter().map(String::as_str))
                .block(Block::bordered().title("minimal"))
                .highlight_style(Style::new().reversed());
            frame.render_stateful_widget(list, frame.area(), &mut cursor);
        })?;
        let Event::Key(key) = event::read()? else {
            continue;
        };
        if key.kind != KeyEventKind::Press {
            continue;
        }
        let at = cursor.selected().unwrap_or(0);
        let next = match key.code {
            KeyCode::Char('q') => return Ok(()),
            KeyCode::Char('j') => at + 1,
            KeyCode::Char('k') => at.saturating_sub(1),
            KeyCode::Char('J') => at + 5,
            KeyCode::PageDown => at + PAGE,
            KeyCode::Char('g') => 0,
            KeyCode::Char('G') => ROWS - 1,
            _ => at,
        };
        cursor.select(Some(next.min(ROWS - 1)));
    }
}

/// A line of about the width that a list of turns and items has.
fn row(number: usize) -> String {
    let kind = ["assistant", "call", "output", "user"][number % 4];
    format!(
        "{number:>6}  {kind:<10} search_flights  call_{number:08x}  {{\"origin\": \"JFK\", \"date\": \"2024-05-11\"}}"
    )
}
