//! How the samples of a wording look.

use super::super::state::Lab;
use super::super::table::Table;
use super::super::words;
use super::table::class_style;
use super::{pane, paragraphs};
use crate::tui::popup::{split_bottom, write};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::lab::Sample;
use retake_core::safe_text::SafeText;

/// Rows that tell of the sample with the cursor.
const TOLD: u16 = 5;
/// Cells of the word of a class.
const WORD: usize = 13;
/// Cells of the numbers before and behind.
const NUMBERS: usize = 26;

impl Lab {
    pub(super) fn view_samples(
        &self,
        table: &Table,
        frame: &mut Frame<'_>,
        area: Rect,
        theme: &Theme,
    ) {
        let Some((variant, cursor)) = &table.samples else {
            return;
        };
        let samples = table.samples_of(*variant);
        let name = table.wording().map_or("", |variant| &variant.name);
        let title = format!("{name}: {}", words::count(samples.len() as u64, "sample"));
        let told = TOLD.min(area.height / 3);
        let [above, below] = split_bottom(area, told);
        let title = SafeText::single_line(&title, 200);
        let inside = pane(frame, above, &title, true, theme);
        if samples.is_empty() {
            let none = SafeText::from_static("no sample yet");
            write(frame, inside, theme.spans(&none, theme.dim), Style::new());
        }
        let draw = |number: usize, row: Rect| sample_row(&samples[number], row.width.into(), theme);
        cursor.draw(frame, inside, samples.len(), theme.selected, draw);
        if let (Some(sample), true) = (samples.get(cursor.get()), told > 2) {
            let title = SafeText::from_static("why");
            let inside = pane(frame, below, &title, false, theme);
            let texts = [
                (SafeText::from_static(sample.class.meaning()), theme.dim),
                (SafeText::single_line(&sample.why, 2000), theme.text),
            ];
            paragraphs(frame, inside, &texts, theme);
        }
    }
}

/// ` 3 ✓ corrected      calls search_flights                 412 tok   840 ms`
fn sample_row(sample: &Sample, width: usize, theme: &Theme) -> Vec<Span<'static>> {
    let style = class_style(sample.class, theme);
    let mark = sample.class.mark(theme.glyphs.ascii);
    let word = sample.class.word();
    let mut spans = vec![
        Span::styled(format!("{:>4} ", u64::from(sample.number) + 1), theme.dim),
        Span::styled(format!("{mark} {word:<WORD$} "), style),
    ];
    let room = width.saturating_sub(WORD + 3 + NUMBERS);
    let why = SafeText::single_line(&sample.why, room);
    let gap = " ".repeat(room.saturating_sub(why.width()));
    spans.extend(theme.spans(&why, theme.text));
    let tokens = match sample.tokens.told() {
        Some(told) => words::short(told.input.saturating_add(told.output)),
        None => "?".to_owned(),
    };
    let ms = words::short(sample.ms);
    let numbers = format!("{gap} {tokens:>5} tok {ms:>6} ms");
    spans.push(Span::styled(numbers, theme.dim));
    spans
}
