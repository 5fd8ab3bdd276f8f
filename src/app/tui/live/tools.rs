//! The tools of a live run: calls, errors, the breaker, and the key that switches one on again.

use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Placement, Step};
use crate::tui::list::ListCursor;
use crate::tui::popup::{Popup, centred, split_top, write};
use crate::tui::state::State;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;
use retake_live::live::ToolState;

/// The widest that the table grows.
const WIDEST: u16 = 80;
/// Cells of the figures after the name.
const FIGURES: u16 = 42;

#[derive(Debug, Default)]
pub struct Tools(ListCursor);

impl Layer<State> for Tools {
    /// The tool that is to be used again, by its number; `None` asks for the health of all in the history.
    type Output = Option<usize>;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Tools]
    }

    fn placement(&self) -> Placement {
        Placement::Body
    }

    fn key(&mut self, key: KeyEvent, state: &mut State) -> Step<Option<usize>> {
        match command(Context::Tools, &key) {
            Some(Command::Leave) => return Step::Leave,
            Some(Command::Enable) => return Step::Done(Some(self.0.get())),
            Some(Command::Health) => return Step::Done(None),
            _ => drop(self.0.key(key, state.live.tools.len())),
        }
        Step::Stay
    }

    fn mouse(&mut self, event: MouseEvent, state: &mut State) -> Step<Option<usize>> {
        self.0.mouse(event, state.live.tools.len());
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
        let tools = &state.live.tools;
        let popup = Popup {
            title: &SafeText::from_static("tools of the run"),
            context: Context::Tools,
            without: &[],
        };
        let high = u16::try_from(tools.len() + 3).unwrap_or(u16::MAX);
        let inside = popup.view(frame, centred(area, WIDEST, high), theme);
        if inside.is_empty() {
            return;
        }
        let names = usize::from(inside.width.saturating_sub(FIGURES).max(8));
        let heading = format!(
            "{:<names$} {:>6} {:>6} {:>5} {:>6}  breaker",
            "tool", "calls", "errors", "rate", "in row"
        );
        write(
            frame,
            inside,
            vec![Span::styled(heading, theme.title)],
            Style::new(),
            theme,
        );
        let [_, body] = split_top(inside, 1);
        let draw = |number: usize, _: Rect| line(&tools[number], names, theme);
        self.0
            .draw(frame, body, tools.len(), theme.selected, theme, draw);
    }
}

fn line(tool: &ToolState, names: usize, theme: &Theme) -> Vec<Span<'static>> {
    let style = match tool.breaker {
        "closed" => theme.text,
        "open" => theme.error,
        _ => theme.warning,
    };
    let name = SafeText::single_line(&tool.tool, names);
    let gap = names.saturating_sub(name.width());
    let rate = match tool.calls {
        0 => "-".to_owned(),
        calls => format!("{}%", u128::from(tool.errors) * 100 / u128::from(calls)),
    };
    let mut spans = theme.spans(&name, style);
    spans.push(Span::styled(
        format!(
            "{:gap$} {:>6} {:>6} {rate:>5} {:>6}  {}",
            "", tool.calls, tool.errors, tool.consecutive, tool.breaker
        ),
        style,
    ));
    spans
}
