//! How the lab looks.

mod columns;
mod form;
mod samples;
mod table;

use super::form::Field;
use super::form::Row;
use super::state::{Lab, Stage};
use super::words;
use crate::tui::keymap::hints::cells_of_help;
use crate::tui::keymap::{self, Binding, Command};
use crate::tui::layer::Areas;
use crate::tui::popup::{self, rows, split_bottom, split_right, split_top, write};
use crate::tui::stack::Screen as _;
use crate::tui::state::layout::LEAST;
use crate::tui::theme::Theme;
use crate::tui::view::too_small;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use retake_core::lab::words::phase;
use retake_core::lab::{Origin, Phase};
use retake_core::safe_text::SafeText;

impl Lab {
    pub fn view(&self, frame: &mut Frame<'_>, theme: &Theme) {
        let size = frame.area();
        if size.width < LEAST.0 || size.height < LEAST.1 {
            too_small(frame, size);
            return;
        }
        let [header, below] = split_top(size, 1);
        let [middle, footer] = split_bottom(below, 1);
        self.view_header(frame, header, theme);
        match &self.stage {
            Stage::Ordering => self.view_form(frame, middle, theme),
            Stage::Beginning => self.view_beginning(frame, middle, theme),
            Stage::Measuring(table) if table.samples.is_some() => {
                self.view_samples(table, frame, middle, theme);
            }
            Stage::Measuring(table) => self.view_table(table, frame, middle, theme),
        }
        self.view_footer(frame, footer, theme);
        let areas = Areas {
            screen: middle,
            body: middle,
            footer,
        };
        self.layers.view(frame, areas, self, theme);
    }

    fn view_header(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let right = self.standing(theme);
        let right = Line::from(right);
        let used = u16::try_from(right.width()).unwrap_or(area.width);
        let used = used.min(area.width);
        let mut left = vec![Span::styled(" retake lab", theme.title)];
        let mut room = usize::from(area.width - used).saturating_sub(12);
        let mut words = vec![(self.subject.rule.to_owned(), theme.text)];
        if let Some(table) = self.table()
            && let Some(trial) = table.trial()
        {
            let count = table.board.experiment.trials.len();
            if count > 1 {
                words.push((format!("{}/{count}", table.trial + 1), theme.dim));
            }
            words.push((trial.model.clone(), theme.text));
            if trial.is_scripted {
                words.push(("[scripted]".to_owned(), theme.warning));
            }
        }
        for (text, style) in words {
            let text = SafeText::single_line(&text, room.saturating_sub(2));
            if room < text.width() + 2 || text.width() < 3 {
                continue;
            }
            room -= text.width() + 2;
            left.push(Span::raw("  "));
            left.extend(theme.spans(&text, style));
        }
        write(frame, area, left, Style::new());
        let [_, right_area] = split_right(area, used);
        write(frame, right_area, right.spans, Style::new());
    }

    /// What was spent, what is on its way, and how it stands.
    fn standing(&self, theme: &Theme) -> Vec<Span<'static>> {
        let Some(table) = self.table() else {
            return match self.stage {
                Stage::Beginning => vec![Span::styled("preparing ", theme.info)],
                _ => Vec::new(),
            };
        };
        let spent = table.board.spent;
        let requests = words::count(u64::from(spent.requests), "request");
        let about = if spent.estimated_tokens() > 0 {
            "~"
        } else {
            ""
        };
        let mut spans = vec![Span::styled(
            format!(
                "{requests}  {about}{} tokens  ",
                words::short(spent.tokens())
            ),
            theme.dim,
        )];
        let asked = table.in_flight();
        if asked > 0 {
            spans.push(Span::styled(
                format!("{} {asked} asked  ", theme.glyphs.run),
                theme.info,
            ));
        }
        let style = match table.board.phase {
            Phase::Running => theme.ok,
            Phase::Paused | Phase::Ending(_) => theme.warning,
            Phase::Ended(_) => theme.title,
        };
        let phase = match table.board.phase {
            // Why it is over is said below.
            Phase::Ended(_) => "over".to_owned(),
            _ => phase(&table.board),
        };
        let phase = SafeText::single_line(&phase, 40);
        spans.extend(theme.spans(&phase, style));
        spans.push(Span::raw(" "));
        spans
    }

    fn view_beginning(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let pane = theme.pane(Line::styled(" Wordings ", theme.title), true);
        let inside = pane.inner(area);
        frame.render_widget(pane, area);
        let words = SafeText::from_static("the histories are written, one with each wording");
        write(frame, inside, theme.spans(&words, theme.dim), Style::new());
    }

    fn view_footer(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let width = usize::from(area.width);
        let hints = self.hints();
        let (said, style) = match &self.notice {
            Some(notice) => (SafeText::single_line(notice, width), theme.warning),
            None => (self.said(width), theme.text),
        };
        let most = match self.notice {
            Some(_) => width.saturating_sub(2 + cells_of_help(&hints)),
            None => width / 2,
        };
        let said = said.truncated(most);
        let mut left = vec![Span::raw(" ")];
        left.extend(theme.spans(&said, style));
        popup::footer(frame, area, left, hints, theme);
    }

    /// What stands in the footer while nothing was told: what would be asked.
    fn said(&self, width: usize) -> SafeText {
        match self.stage {
            Stage::Ordering => SafeText::single_line(&self.asks_in_words(), width),
            Stage::Beginning | Stage::Measuring(_) => SafeText::default(),
        }
    }

    /// The keys that have a use now, what matters most first.
    fn hints(&self) -> Vec<(&'static str, &'static str)> {
        let own = self.form.here();
        let is_own = own.is_some_and(|(candidate, _)| candidate.origin == Origin::Spec);
        let is_field = matches!(self.form.row(), Some(Row::Field(field)) if field != Field::Stop);
        let table = self.table();
        let has_several = table.is_some_and(|it| it.board.experiment.trials.len() > 1);
        let is_over = table.is_some_and(|it| it.ended().is_some());
        let has_table = table.is_some();
        let has_use = |command: Command| match command {
            Command::Include => !is_field,
            Command::Change => is_own || is_field,
            Command::Delete | Command::Channel => is_own,
            Command::PauseRun | Command::Abort => has_table && !is_over,
            Command::Trial(_) => has_several,
            Command::Begin | Command::Add => true,
            Command::SaveAs | Command::Words => !matches!(self.stage, Stage::Beginning),
            Command::Help | Command::Close => true,
            _ => has_table,
        };
        let words = |row: &Binding| match row.command {
            Command::Close => "back",
            Command::Open if table.is_some_and(|table| table.samples.is_some()) => "take",
            Command::PauseRun if self.is_paused() => "go on",
            _ => row.footer.1,
        };
        let rows = keymap::footer(self.context()).into_iter();
        let useful = rows.filter(|row| has_use(row.command));
        useful.map(|row| (row.first_key(), words(row))).collect()
    }

    fn is_paused(&self) -> bool {
        self.table()
            .is_some_and(|table| table.board.phase == Phase::Paused)
    }
}

/// Draws a frame; gives what is inside, a cell away from both sides.
fn pane(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &SafeText,
    has_keys: bool,
    theme: &Theme,
) -> Rect {
    let room = usize::from(area.width).saturating_sub(4);
    let mut line = vec![Span::raw(" ")];
    line.extend(theme.spans(&title.truncated(room), theme.title));
    line.push(Span::raw(" "));
    let pane = theme.pane(Line::from(line), has_keys);
    let inside = pane.inner(area);
    frame.render_widget(pane, area);
    Rect {
        x: inside.x + 1.min(inside.width),
        width: inside.width.saturating_sub(2),
        ..inside
    }
}

/// Writes texts below each other, each wrapped; what has no room is left out, and the last row says so.
fn paragraphs(frame: &mut Frame<'_>, area: Rect, texts: &[(SafeText, Style)], theme: &Theme) {
    let width = usize::from(area.width).max(1);
    let room = usize::from(area.height);
    let wrapped = texts.iter().flat_map(|(text, style)| {
        // No more is wrapped than can be seen.
        let lines = text.lines().take(room + 1);
        let lines: Vec<_> = lines
            .flat_map(|line| match line.is_empty() {
                true => vec![line],
                false => line.wrapped(width).take(room + 1).collect(),
            })
            .collect();
        lines.into_iter().map(|line| (line, *style))
    });
    let lines: Vec<_> = wrapped.take(room + 1).collect();
    let is_cut = lines.len() > room;
    for (number, (row, (line, style))) in rows(area).zip(lines).enumerate() {
        let mut spans = theme.spans(&line, style);
        if is_cut && number + 1 == room {
            spans = vec![Span::styled(theme.glyphs.more, theme.dim)];
        }
        write(frame, row, spans, Style::new());
    }
}
