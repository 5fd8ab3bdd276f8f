//! Rows of the transcript as lines for standard output.

use super::block::{BlockRow, RowKind};
use crate::tui::terminal::columns_of;
use crate::tui::text::{Tone, spans_of};
use crate::tui::theme::{Theme, ThemeOptions};
use crossterm::style::{Colored, force_color_output};
use ratatui::backend::IntoCrossterm;
use ratatui::style::{Color, Modifier, Style};
use retake_core::session::Kind;

/// Prints rows as the screen shows them.
pub(crate) struct RowPrinter {
    theme: Theme,
    is_coloured: bool,
    /// Columns that rows are made for, without the numbers of items.
    pub(crate) width: usize,
}

/// Columns where there is no terminal and `COLUMNS` names none.
const PIPED: usize = 120;
/// Columns of the number of an item.
const NUMBER: usize = 6;
/// Most columns of a line: longer ones are hard to read.
pub(crate) const MOST: usize = 120;
/// Least columns of rows.
const LEAST: usize = 40;

/// Sets thoughts apart where there are no colours, as a quotation of Markdown.
const THOUGHT: &str = "> ";

/// The columns that `COLUMNS` names, else those of the terminal; `None` where there is neither.
pub(crate) fn columns_of_stdout() -> Option<usize> {
    let named = std::env::var("COLUMNS").ok();
    let columns = named.and_then(|columns| columns.parse().ok());
    // Before a pager standard error is still the terminal.
    let columns = columns.or_else(|| columns_of(std::io::stdout()));
    let columns = columns.or_else(|| columns_of(std::io::stderr()));
    columns.map(usize::from)
}

impl RowPrinter {
    /// For standard output, in colours or without.
    pub(crate) fn of_stdout(is_coloured: bool) -> Self {
        force_color_output(is_coloured);
        let columns = columns_of_stdout()
            .unwrap_or(PIPED)
            .clamp(LEAST + NUMBER, MOST);
        Self {
            theme: Theme::choose(ThemeOptions::default(), &|name| std::env::var(name).ok()),
            is_coloured,
            width: columns - NUMBER,
        }
    }

    /// A row as a line; `number` is that of the item that begins in it.
    pub(crate) fn line(&self, row: &BlockRow, number: Option<usize>) -> String {
        if row.kind == RowKind::Gap && row.left.is_empty() {
            return String::new();
        }
        let number = number.map_or_else(String::new, |number| number.to_string());
        let dim = self.theme.dim;
        let mut line = self.painted(&format!("{number:>width$} ", width = NUMBER - 1), dim);
        let mut used = row.indent;
        let is_thought = matches!(row.left[..], [(Tone::Kind(Kind::Reasoning), _), ..]);
        let indent = match is_thought {
            true => format!("{THOUGHT:>width$}", width = row.indent),
            false => " ".repeat(row.indent),
        };
        line.push_str(&self.painted(&indent, dim));
        let (left, right) = (
            spans_of(&row.left, &self.theme),
            spans_of(&row.right, &self.theme),
        );
        for span in &left {
            used += span.width();
            line.push_str(&self.painted(&span.content, span.style));
        }
        let needed: usize = right.iter().map(ratatui::text::Span::width).sum();
        if needed > 0 {
            let gap = self.width.saturating_sub(used + needed).max(2);
            line.push_str(&" ".repeat(gap));
            for span in &right {
                line.push_str(&self.painted(&span.content, span.style));
            }
        }
        line.truncate(line.trim_end().len());
        line
    }

    fn painted(&self, text: &str, style: Style) -> String {
        let codes = codes(style);
        match self.is_coloured && !codes.is_empty() && !text.trim().is_empty() {
            true => format!("\x1b[{}m{text}\x1b[0m", codes.join(";")),
            false => text.to_owned(),
        }
    }
}

/// A style as the parameters of SGR (ECMA-48, 8.3.117).
fn codes(style: Style) -> Vec<String> {
    let modifiers = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
    ];
    let modifiers = modifiers
        .iter()
        .filter(|(modifier, _)| style.add_modifier.contains(*modifier));
    let mut codes: Vec<String> = modifiers.map(|(_, code)| (*code).to_owned()).collect();
    let colour = style.fg.filter(|colour| *colour != Color::Reset);
    codes.extend(colour.map(|it| Colored::ForegroundColor(it.into_crossterm()).to_string()));
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::{Glyphs, Variant};
    use retake_core::safe_text::SafeText;

    #[test]
    fn a_row_ends_at_the_edge_and_has_colours_only_where_they_are_wanted() {
        let piece = |tone, text: &str| (tone, SafeText::from_str(text));
        let row = BlockRow {
            kind: RowKind::Title,
            indent: 2,
            left: vec![piece(Tone::Plain, "Read(a)")],
            right: vec![piece(Tone::Error, "no result")],
        };
        let printer = |is_coloured| RowPrinter {
            theme: Theme::new(Variant::Ansi16, Glyphs::UNICODE),
            is_coloured,
            width: 24,
        };
        assert_eq!(
            printer(false).line(&row, Some(7)),
            "    7   Read(a)      no result"
        );
        let coloured = printer(true).line(&row, None);
        assert!(coloured.starts_with("        Read(a)"), "{coloured:?}");
        assert!(coloured.ends_with("mno result\x1b[0m"), "{coloured:?}");
    }

    #[test]
    fn thoughts_have_a_margin() {
        let row = BlockRow {
            kind: RowKind::Title,
            indent: 3,
            left: vec![(
                Tone::Kind(Kind::Reasoning),
                SafeText::from_str("I should look."),
            )],
            right: Vec::new(),
        };
        let printer = RowPrinter {
            theme: Theme::new(Variant::Ansi16, Glyphs::UNICODE),
            is_coloured: false,
            width: 24,
        };
        assert_eq!(printer.line(&row, Some(2)), "    2  > I should look.");
    }
}
