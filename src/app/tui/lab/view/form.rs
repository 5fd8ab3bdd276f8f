//! How the form looks: what can be chosen, and what the row with the cursor means.

use super::super::form::{FIELDS, Field, Row};
use super::super::state::Lab;
use super::{pane, paragraphs};
use crate::tui::popup::{split_bottom, split_right};
use crate::tui::state::layout::WIDE;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;
use retake_core::lab::{Origin, Variant};
use retake_core::safe_text::SafeText;
use retake_core::wording::Channel;

/// Cells of the name of a wording.
const NAME: usize = 22;
/// Cells of the name of a value.
const FIELD: usize = 16;
/// Most characters of a text that are looked at.
const LOOKED_AT: usize = 4000;

impl Lab {
    pub(super) fn view_form(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let [list, told] = match area.width >= WIDE {
            true => split_right(area, area.width * 2 / 5),
            false => split_bottom(area, (area.height / 3).max(3)),
        };
        self.view_choices(frame, list, theme);
        self.view_told(frame, told, theme);
    }

    fn view_choices(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let title = SafeText::single_line(&self.subject.message, 400);
        let inside = pane(frame, area, &title, true, theme);
        let all = self.form.rows();
        let draw = |number: usize, row: Rect| {
            let width = usize::from(row.width);
            match all.get(number) {
                Some(Row::Wording(number)) => match self.form.wordings.get(*number) {
                    Some((candidate, is_in)) => wording(candidate, *is_in, width, theme),
                    None => Vec::new(),
                },
                Some(Row::Field(field)) => self.field(*field, width, theme),
                None => Vec::new(),
            }
        };
        let cursor = &self.form.cursor;
        cursor.draw(frame, inside, all.len(), theme.selected, draw);
    }

    fn field(&self, field: Field, width: usize, theme: &Theme) -> Vec<Span<'static>> {
        let mut fields = FIELDS.iter();
        let known = fields.find(|(known, ..)| *known == field);
        let Some((_, name, hint)) = known else {
            return Vec::new();
        };
        if let Some(is_on) = self.form.is_on(field) {
            let sign = if is_on { "[x]" } else { "[ ]" };
            let mut spans = vec![Span::raw(format!("{sign} {name}  "))];
            let hint = SafeText::from_static(hint).truncated(width.saturating_sub(name.len() + 6));
            spans.extend(theme.spans(&hint, theme.dim));
            return spans;
        }
        let mut spans = vec![Span::styled(format!("    {name:<FIELD$}"), theme.title)];
        let room = width.saturating_sub(FIELD + 4);
        let written = SafeText::single_line(&self.form.value(field), room);
        let used = written.width();
        spans.extend(theme.spans(&written, theme.text));
        let nearest = self.subject.nearest.as_deref();
        let hint = match (field, nearest) {
            (Field::Meant, Some(nearest)) if used == 0 => {
                SafeText::single_line(&format!("nearest: {nearest}"), room)
            }
            _ => SafeText::from_static(hint).truncated(room.saturating_sub(used + 2)),
        };
        let gap = if used == 0 { "" } else { "  " };
        spans.push(Span::raw(gap));
        spans.extend(theme.spans(&hint, theme.dim));
        spans
    }

    /// The words of the wording with the cursor, else who would be asked.
    fn view_told(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let Some((candidate, _)) = self.form.here() else {
            return self.view_models(frame, area, theme);
        };
        let title = SafeText::single_line(&candidate.name, 60);
        let inside = pane(frame, area, &title, false, theme);
        let about = match (candidate.origin, candidate.axes) {
            (Origin::Spec, _) => format!("{}; {}", candidate.title, channel(candidate.channel)),
            (_, None) => candidate.title.clone(),
            (_, Some(axes)) => format!("{}: {axes}", candidate.title),
        };
        let looked_at = candidate.template.char_indices().nth(LOOKED_AT);
        let text = &candidate.template[..looked_at.map_or(candidate.template.len(), |(at, _)| at)];
        let texts = [
            (SafeText::single_line(&about, 400), theme.dim),
            (SafeText::from_str(text), theme.text),
        ];
        paragraphs(frame, inside, &texts, theme);
    }

    fn view_models(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let title = SafeText::from_static("who is asked");
        let inside = pane(frame, area, &title, false, theme);
        let mut texts = Vec::new();
        match &self.form.models {
            Err(missing) => texts.push((SafeText::single_line(missing, 400), theme.warning)),
            Ok(models) => {
                for asked in models {
                    let style = match asked.is_untrusted {
                        true => theme.warning,
                        false => theme.text,
                    };
                    texts.push((SafeText::single_line(&asked.does, 400), style));
                    if asked.is_untrusted {
                        let words = "the agent's file is not trusted yet: you are asked before";
                        texts.push((SafeText::from_static(words), theme.warning));
                    }
                }
            }
        }
        texts.push((SafeText::single_line(&self.asks_in_words(), 200), theme.dim));
        if self.subject.file.is_none() {
            let words = "What is shown is no file of its own: it is saved beside the journals of the experiment first.";
            texts.push((SafeText::from_static(words), theme.dim));
        }
        paragraphs(frame, inside, &texts, theme);
    }
}

fn channel(channel: Channel) -> &'static str {
    match channel {
        Channel::Output => "they reach the model as the output",
        Channel::ErrorOutput => "they reach the model as an error",
        Channel::UserMessage => "they reach the model as a user message",
    }
}

/// `[x] nearest-and-list      the nearest names, then all   the name, nearest and all; as an error`
fn wording(candidate: &Variant, is_in: bool, width: usize, theme: &Theme) -> Vec<Span<'static>> {
    let sign = if is_in { "[x] " } else { "[ ] " };
    let style = match (is_in, candidate.origin) {
        (true, Origin::Recorded) => theme.info,
        (true, _) => theme.text,
        (false, _) => theme.dim,
    };
    let mut spans = vec![Span::styled(sign, style)];
    let name = SafeText::single_line(&candidate.name, NAME.min(width.saturating_sub(4)));
    let gap = NAME.saturating_sub(name.width()) + 1;
    spans.extend(theme.spans(&name, style));
    spans.push(Span::raw(" ".repeat(gap)));
    let room = width.saturating_sub(NAME + 5);
    let about = match candidate.axes {
        None => candidate.title.clone(),
        Some(axes) => axes.to_string(),
    };
    let about = SafeText::single_line(&about, room);
    spans.extend(theme.spans(&about, theme.dim));
    spans
}
