//! Which of two readings of broken arguments was meant: what was written, and below it the readings, one above
//! the other, with what tells them apart emphasised.

use super::super::difference::{DifferenceRow, Pieces, compare, lines_of};
use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::popup::Popup;
use crate::tui::text::TextWindow;
use crate::tui::text::{Line, Tone};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::KeyEvent;
use ratatui::layout::Rect;
use retake_core::safe_text::SafeText;

/// Cells between the edge and the text of a reading.
const INDENT: usize = 4;

/// What broken arguments may have meant.
#[derive(Debug, Clone)]
pub struct ArgumentReading {
    /// Who reads it so: the name of the repair.
    pub by: String,
    pub text: String,
}

#[derive(Debug, Clone)]
pub struct Readings {
    title: SafeText,
    written: String,
    readings: [ArgumentReading; 2],
    chosen: usize,
    page: TextWindow,
}

impl Readings {
    /// Asks which reading of `written` was meant.
    pub fn new(title: &str, written: &str, readings: [ArgumentReading; 2]) -> Self {
        let mut question = Self {
            title: SafeText::single_line(title, 200),
            written: written.to_owned(),
            readings,
            chosen: 0,
            page: TextWindow::default(),
        };
        question.lay_out();
        question
    }

    fn choose(&mut self, reading: usize) {
        self.chosen = reading;
        let start = self.lay_out();
        self.page.go_to(if reading == 0 { 0 } else { start });
    }

    /// Makes the lines; gives the one on which the chosen reading begins.
    fn lay_out(&mut self) -> usize {
        let mut lines = vec![Line::new(
            Tone::Dim,
            SafeText::from_static("the model wrote"),
        )];
        for line in self.written.lines() {
            lines.push(Line {
                indent: INDENT,
                ..Line::new(Tone::Plain, SafeText::from_str(line))
            });
        }
        let rows = compare(&self.readings[0].text, &self.readings[1].text);
        let mut start = 0;
        for (number, reading) in self.readings.iter().enumerate() {
            lines.push(Line::default());
            let is_chosen = number == self.chosen;
            if is_chosen {
                start = lines.len();
            }
            lines.push(heading(number, reading, is_chosen));
            lines.extend(side(&rows, number, &reading.text));
        }
        self.page.set_lines(lines);
        start
    }
}

impl<S> Layer<S> for Readings {
    /// The index of the reading.
    type Output = usize;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Readings]
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step<usize> {
        match command(Context::Readings, &key) {
            Some(Command::Leave) => return Step::Leave,
            Some(Command::Choose) => return Step::Done(self.chosen),
            Some(Command::Value(direction)) => self.choose(usize::from(direction.is_forward())),
            _ => {
                self.page.key(key);
            }
        }
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let popup = Popup {
            title: &self.title,
            context: Context::Readings,
            without: &[],
        };
        let inside = popup.view(frame, area, theme);
        self.page.view(frame, inside, theme);
    }
}

fn heading(number: usize, reading: &ArgumentReading, is_chosen: bool) -> Line {
    let mark = if is_chosen { "[x]" } else { "[ ]" };
    let words = format!("{mark} {}  ", number + 1);
    let tone = if is_chosen { Tone::Title } else { Tone::Plain };
    let mut text = SafeText::from_str(&words);
    text.push(&SafeText::single_line(&reading.by, 60));
    Line::new(tone, text)
}

/// The lines of one reading; `~` marks those that the other one reads otherwise.
fn side(rows: &[DifferenceRow], number: usize, text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let plain = |text: &str| {
        let mut safe = SafeText::from_static("  ");
        safe.push(&SafeText::from_str(text));
        Line::new(Tone::Plain, safe)
    };
    for row in rows {
        match row {
            DifferenceRow::Same(text) => lines.push(plain(text)),
            DifferenceRow::Changed(one, other) => {
                let pieces = if number == 0 { one } else { other };
                lines.extend(pieces.as_ref().map(marked));
            }
            DifferenceRow::Folded(count) => {
                let words = format!("  ... {count} lines the same in both");
                lines.push(Line::new(Tone::Dim, SafeText::from_str(&words)));
            }
            DifferenceRow::Uncompared(..) => {
                let more = format!("  ... of {} lines", lines_of(text).len());
                lines.push(Line::new(Tone::Dim, SafeText::from_str(&more)));
            }
        }
    }
    for line in &mut lines {
        line.indent = INDENT - 2;
    }
    lines
}

fn marked(pieces: &Pieces) -> Line {
    let mut line = Line::new(Tone::Warning, SafeText::from_static("~ "));
    line.pieces.extend(pieces.iter().map(|(differs, text)| {
        let tone = if *differs {
            Tone::AddedPart
        } else {
            Tone::Plain
        };
        (tone, SafeText::from_str(text))
    }));
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::recovery::tests::fixture::{
        assert_draws_at_any_size, emphasis, event, plain_screen, screen,
    };

    fn question() -> Readings {
        Readings::new(
            "repair arguments: the repairs disagree",
            "{\"city\": \"Paris, \"days\": 3, note: 'it\u{1b}s'",
            [
                ArgumentReading {
                    by: "jsonrepair-rs".to_owned(),
                    text: r#"{"city":"Paris","days":3,"note":"its"}"#.to_owned(),
                },
                ArgumentReading {
                    by: "jsonfix".to_owned(),
                    text: r#"{"city":"Paris, ","days":3,"note":"its"}"#.to_owned(),
                },
            ],
        )
    }

    #[test]
    fn both_readings_are_shown_and_one_is_chosen() {
        let mut question = question();
        let view = |question: &Readings| {
            screen((80, 20), |frame, area, theme| {
                question.view(frame, area, &(), theme)
            })
        };
        insta::assert_snapshot!("readings", view(&question));
        let parts = emphasis((80, 20), |frame, area, theme| {
            question.view(frame, area, &(), theme)
        });
        assert_eq!(parts, [", "]);
        assert_eq!(question.key(event("enter"), &mut ()), Step::Done(0));
        question.key(event("j"), &mut ());
        assert!(view(&question).contains("[x] 2  jsonfix"));
        assert_eq!(question.key(event("enter"), &mut ()), Step::Done(1));
        question.key(event("1"), &mut ());
        assert_eq!(question.key(event("enter"), &mut ()), Step::Done(0));
        assert_eq!(question.key(event("esc"), &mut ()), Step::Leave);
    }

    #[test]
    fn it_is_drawn_without_colour_and_utf_8_and_at_any_size() {
        let question = question();
        let view = |frame: &mut Frame<'_>, area: Rect, theme: &Theme| {
            question.view(frame, area, &(), theme)
        };
        assert!(plain_screen((60, 20), view).contains("~   \"city\""));
        assert_draws_at_any_size(view);
    }
}
