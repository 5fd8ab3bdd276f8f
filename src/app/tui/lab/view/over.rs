//! What lies over the lab.

use super::super::state::{Lab, Over};
use crate::tui::recovery::popup::centred;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;
use retake_core::safe_text::SafeText;

/// The widest that a text over the lab grows.
const WIDEST: u16 = 110;

impl Lab {
    pub(super) fn view_over(
        &self,
        over: &Over,
        frame: &mut Frame<'_>,
        (above, footer): (Rect, Rect),
        theme: &Theme,
    ) {
        match over {
            Over::Help(help) => help.view(frame, above, theme),
            Over::Palette(palette, _) => palette.view(frame, above, theme),
            Over::Sure(question, _) => question.view(frame, above, theme),
            Over::Value(prompt, _) | Over::SaveAs(prompt, _) => {
                frame.render_widget(Clear, footer);
                prompt.view(frame, footer, theme);
            }
            Over::Editor(editor, _) => editor.view(frame, above, theme),
            Over::Words(title, page) => {
                let high = u16::try_from(page.len())
                    .unwrap_or(u16::MAX)
                    .saturating_add(8);
                let area = centred(above, WIDEST, high);
                let inside = framed(frame, area, title, theme);
                page.view(frame, inside, theme);
            }
            Over::Winner(winning) => winning.view(frame, above, theme),
        }
    }
}

fn framed(frame: &mut Frame<'_>, area: Rect, title: &SafeText, theme: &Theme) -> Rect {
    let mut line = vec![Span::raw(" ")];
    line.extend(theme.spans(title, theme.title));
    line.push(Span::raw(" "));
    let keys = Line::styled(" esc leave ", theme.key).right_aligned();
    let pane = theme.pane(Line::from(line), true).title_bottom(keys);
    let inside = pane.inner(area);
    frame.render_widget(Clear, area);
    frame.render_widget(pane, area);
    Rect {
        x: inside.x + 1.min(inside.width),
        width: inside.width.saturating_sub(2),
        ..inside
    }
}
