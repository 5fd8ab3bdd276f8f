//! How the lab looks.

use super::form::{FIELDS, Field, FormRow};
use super::state::{Lab, LabStage, WordingTable, counted, short};
use crate::tui::columns::{Column, SpareWidth, fit, titles};
use crate::tui::keymap::hints::cells_of_help;
use crate::tui::keymap::{self, Binding, Command};
use crate::tui::layer::Areas;
use crate::tui::popup::{self, rows, split_bottom, split_right, split_top, write};
use crate::tui::stack::Screen as _;
use crate::tui::state::layout::{LEAST, WIDE};
use crate::tui::theme::Theme;
use crate::tui::view::too_small;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use retake_core::lab::words::{interval, phase, points_between, rate};
use retake_core::lab::{
    Class, Interval, LabPhase, LabSample, Origin, Proportion, WordingRow, WordingVariant,
};
use retake_core::safe_text::SafeText;
use retake_core::wording::Channel;

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
            LabStage::Ordering => self.view_form(frame, middle, theme),
            LabStage::Beginning => self.view_beginning(frame, middle, theme),
            LabStage::Measuring(table) if table.samples.is_some() => {
                self.view_samples(table, frame, middle, theme);
            }
            LabStage::Measuring(table) => self.view_table(table, frame, middle, theme),
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
        write(frame, area, left, Style::new(), theme);
        let [_, right_area] = split_right(area, used);
        write(frame, right_area, right.spans, Style::new(), theme);
    }

    /// What was spent, what is on its way, and its state.
    fn standing(&self, theme: &Theme) -> Vec<Span<'static>> {
        let Some(table) = self.table() else {
            return match self.stage {
                LabStage::Beginning => vec![Span::styled("preparing ", theme.info)],
                _ => Vec::new(),
            };
        };
        let spent = table.board.spent;
        let requests = counted(u64::from(spent.requests), "request");
        let about = if spent.estimated_tokens() > 0 {
            "~"
        } else {
            ""
        };
        let mut spans = vec![Span::styled(
            format!("{requests}  {about}{} tokens  ", short(spent.tokens())),
            theme.dim,
        )];
        let in_flight = table.in_flight();
        if in_flight > 0 {
            spans.push(Span::styled(
                format!("{} {in_flight} asked  ", theme.glyphs.run),
                theme.info,
            ));
        }
        let style = match table.board.phase {
            LabPhase::Running => theme.ok,
            LabPhase::Paused | LabPhase::Ending(_) => theme.warning,
            LabPhase::Ended(_) => theme.title,
        };
        let phase = match table.board.phase {
            // The reason for the end is below.
            LabPhase::Ended(_) => "finished".to_owned(),
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
        let words = SafeText::from_static("writing the histories, one for each wording");
        write(
            frame,
            inside,
            theme.spans(&words, theme.dim),
            Style::new(),
            theme,
        );
    }

    fn view_footer(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let width = usize::from(area.width);
        let hints = self.hints();
        let (words, style) = match &self.notice {
            Some(notice) => (SafeText::single_line(notice, width), theme.warning),
            None => (self.words(width), theme.text),
        };
        let most = match self.notice {
            Some(_) => width.saturating_sub(2 + cells_of_help(&hints)),
            None => width / 2,
        };
        let words = words.truncated(most);
        let mut left = vec![Span::raw(" ")];
        left.extend(theme.spans(&words, style));
        popup::footer(frame, area, left, hints, theme);
    }

    /// What is in the footer while nothing was reported: what would be asked.
    fn words(&self, width: usize) -> SafeText {
        match self.stage {
            LabStage::Ordering => SafeText::single_line(&self.asks_in_words(), width),
            LabStage::Beginning | LabStage::Measuring(_) => SafeText::default(),
        }
    }

    /// The keys that have a use now, what matters most first.
    fn hints(&self) -> Vec<(&'static str, &'static str)> {
        let own = self.form.here();
        let is_own = own.is_some_and(|(candidate, _)| candidate.origin == Origin::Spec);
        let is_field =
            matches!(self.form.row(), Some(FormRow::Field(field)) if field != Field::Stop);
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
            Command::SaveAs | Command::Words => !matches!(self.stage, LabStage::Beginning),
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
            .is_some_and(|table| table.board.phase == LabPhase::Paused)
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
        write(frame, row, spans, Style::new(), theme);
    }
}

// The columns of the table.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Id {
    /// The name of the wording.
    Name,
    /// The rate with its interval, drawn.
    Bar,
    Rate,
    Interval,
    /// How much better it is than the wording that the others are compared with.
    Difference,
    Samples,
    Classes,
    /// Tokens of a sample.
    Tokens,
    /// Milliseconds of a sample.
    Time,
}

/// Each column in the order in which they stand.
#[rustfmt::skip]
const COLUMNS: [Column<Id>; 9] = [
    Column { takes: SpareWidth::Share(3, 14), ..Column::new(Id::Name, "wording", 16, 0) },
    Column { takes: SpareWidth::Rest, ..Column::new(Id::Bar, "0 to 100 %", 12, 3) },
    Column { is_number: true, ..Column::new(Id::Rate, "rate", 5, 1) },
    Column { is_number: true, ..Column::new(Id::Interval, "95 %", 9, 4) },
    Column::new(Id::Difference, "vs baseline", 14, 5),
    Column { is_number: true, ..Column::new(Id::Samples, "n", 5, 2) },
    Column { takes: SpareWidth::Share(3, 12), ..Column::new(Id::Classes, "outcomes", 13, 6) },
    Column { is_number: true, ..Column::new(Id::Tokens, "tok", 5, 7) },
    Column { is_number: true, ..Column::new(Id::Time, "ms", 5, 8) },
];

// How the form looks: what can be chosen, and what the row with the cursor means.

/// Cells of the name of a wording.
const NAME: usize = 22;
/// Cells of the name of a value.
const FIELD: usize = 16;
/// Most characters of a text that are looked at.
const LOOKED_AT: usize = 4000;

impl Lab {
    fn view_form(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let [list, details] = match area.width >= WIDE {
            true => split_right(area, area.width * 2 / 5),
            false => split_bottom(area, (area.height / 3).max(3)),
        };
        self.view_choices(frame, list, theme);
        self.view_told(frame, details, theme);
    }

    fn view_choices(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let title = SafeText::single_line(&self.subject.message, 400);
        let inside = pane(frame, area, &title, true, theme);
        let all = self.form.rows();
        let draw = |number: usize, row: Rect| {
            let width = usize::from(row.width);
            match all.get(number) {
                Some(FormRow::Wording(number)) => match self.form.wordings.get(*number) {
                    Some((candidate, is_in)) => wording(candidate, *is_in, width, theme),
                    None => Vec::new(),
                },
                Some(FormRow::Field(field)) => self.field(*field, width, theme),
                None => Vec::new(),
            }
        };
        let cursor = &self.form.cursor;
        cursor.draw(frame, inside, all.len(), theme.selected, theme, draw);
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
        let title = SafeText::from_static("models");
        let inside = pane(frame, area, &title, false, theme);
        let mut texts = Vec::new();
        match &self.form.models {
            Err(missing) => texts.push((SafeText::single_line(missing, 400), theme.warning)),
            Ok(models) => {
                for model in models {
                    let style = match model.is_untrusted {
                        true => theme.warning,
                        false => theme.text,
                    };
                    texts.push((SafeText::single_line(&model.does, 400), style));
                    let unset = model.unset.iter();
                    texts.extend(unset.map(|it| (SafeText::from_str(it), theme.warning)));
                    if model.is_untrusted {
                        let words = "the agent's file is not trusted yet: retake will ask first";
                        texts.push((SafeText::from_static(words), theme.warning));
                    }
                }
            }
        }
        texts.push((SafeText::single_line(&self.asks_in_words(), 200), theme.dim));
        if self.subject.file.is_none() {
            let words = "This history is not a file yet: it is saved next to the experiment's journals first.";
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
fn wording(
    candidate: &WordingVariant,
    is_in: bool,
    width: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
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
    let about = SafeText::single_line(&candidate.title, room);
    spans.extend(theme.spans(&about, theme.dim));
    spans
}

// How the samples of a wording look.

/// Rows that tell of the sample with the cursor.
const TOLD: u16 = 5;
/// Cells of the word of a class.
const WORD: usize = 13;
/// Cells of the numbers before and after.
const NUMBERS: usize = 26;

impl Lab {
    fn view_samples(&self, table: &WordingTable, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let Some((variant, cursor)) = &table.samples else {
            return;
        };
        let samples = table.samples_of(*variant);
        let name = table.wording().map_or("", |variant| &variant.name);
        let title = format!("{name}: {}", counted(samples.len() as u64, "sample"));
        let details = TOLD.min(area.height / 3);
        let [above, below] = split_bottom(area, details);
        let title = SafeText::single_line(&title, 200);
        let inside = pane(frame, above, &title, true, theme);
        if samples.is_empty() {
            let none = SafeText::from_static("no sample yet");
            write(
                frame,
                inside,
                theme.spans(&none, theme.dim),
                Style::new(),
                theme,
            );
        }
        let draw = |number: usize, row: Rect| sample_row(&samples[number], row.width.into(), theme);
        cursor.draw(frame, inside, samples.len(), theme.selected, theme, draw);
        if let (Some(sample), true) = (samples.get(cursor.get()), details > 2) {
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
fn sample_row(sample: &LabSample, width: usize, theme: &Theme) -> Vec<Span<'static>> {
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
    let tokens = match sample.tokens.counted() {
        Some(details) => short(details.input.saturating_add(details.output)),
        None => "?".to_owned(),
    };
    let ms = short(sample.ms);
    let numbers = format!("{gap} {tokens:>5} tok {ms:>6} ms");
    spans.push(Span::styled(numbers, theme.dim));
    spans
}

// How the table looks: a row for each wording, and below it the words of the one with the cursor and what is
// to be remarked on it all.

/// Rows of the table besides those of wordings: its frame, and its titles.
const AROUND: u16 = 3;
/// Rows of remarks where they stand above the words.
const REMARKS: u16 = 7;

impl Lab {
    fn view_table(&self, table: &WordingTable, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let count = table.order().len();
        let wanted = u16::try_from(count)
            .unwrap_or(u16::MAX)
            .saturating_add(AROUND);
        let high = wanted.min((area.height * 3 / 5).max(5)).min(area.height);
        let [above, below] = split_top(area, high);
        self.view_wordings(table, frame, above, theme);
        if below.height < 3 {
            return;
        }
        let [left, right] = match area.width >= WIDE {
            true => split_right(below, area.width / 2),
            false => {
                let high = REMARKS.min(below.height.saturating_sub(3));
                let [remarks, words] = split_top(below, high);
                [words, remarks]
            }
        };
        if right.height > 2 {
            self.view_remarks(table, frame, right, theme);
        }
        self.view_words(table, frame, left, theme);
    }

    fn view_wordings(
        &self,
        table: &WordingTable,
        frame: &mut Frame<'_>,
        area: Rect,
        theme: &Theme,
    ) {
        let order = table.order();
        let experiment = &table.board.experiment;
        let sorted = if table.is_sorted {
            ", the best first"
        } else {
            ""
        };
        let title = format!(
            "{} to {}{sorted}",
            counted(order.len() as u64, "wording"),
            counted(u64::from(experiment.samples), "sample")
        );
        let mut inside = pane(frame, area, &SafeText::from_str(&title), true, theme);
        let columns = fit(&COLUMNS, usize::from(inside.width).saturating_sub(1));
        if inside.height > 2 {
            write(
                frame,
                inside,
                titles(&columns, None, theme),
                Style::new(),
                theme,
            );
            [_, inside] = split_top(inside, 1);
        }
        let standings = table.standings();
        let draw = |number: usize, _: Rect| {
            let variant = order.get(number).copied().unwrap_or_default();
            let Some(standing) = standings.get(variant) else {
                return Vec::new();
            };
            let in_flight = table.in_flight_of(variant);
            let mut spans = vec![Span::raw(match number == table.cursor.get() {
                true => theme.glyphs.cursor,
                false => " ",
            })];
            for (column, width) in &columns {
                let cell = cell(column.id, standing, in_flight, *width, theme);
                spans.extend(column.cell(cell, *width));
            }
            spans
        };
        let cursor = &table.cursor;
        cursor.draw(frame, inside, order.len(), theme.selected, theme, draw);
    }

    fn view_remarks(&self, table: &WordingTable, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let inside = pane(
            frame,
            area,
            &SafeText::from_static("its text"),
            false,
            theme,
        );
        let mut texts = Vec::new();
        let standings = table.standings();
        if let Some(standing) = table.variant().and_then(|it| standings.get(it)) {
            texts.push((classes_in_words(standing, theme), theme.dim));
        }
        let remarks = table
            .remarks()
            .into_iter()
            .chain(self.notes.iter().cloned());
        texts.extend(remarks.map(|remark| (SafeText::single_line(&remark, 600), theme.text)));
        paragraphs(frame, inside, &texts, theme);
    }

    fn view_words(&self, table: &WordingTable, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let Some(variant) = table.wording() else {
            return;
        };
        let title = format!("{} as the model reads it", variant.name);
        let inside = pane(
            frame,
            area,
            &SafeText::single_line(&title, 100),
            false,
            theme,
        );
        let about = (SafeText::single_line(&about(variant), 400), theme.dim);
        let text = (SafeText::from_str(&variant.words), theme.text);
        paragraphs(frame, inside, &[about, text], theme);
    }
}

/// Where a wording comes from, and where it is on the axes.
fn about(variant: &WordingVariant) -> String {
    match variant.axes {
        Some(axes) => format!("{}: {axes}", variant.origin.word()),
        None if variant.title == variant.name => variant.origin.word().to_owned(),
        None => format!("{}: {}", variant.origin.word(), variant.title),
    }
}

/// `13 corrected, 4 same-mistake`: what became of the samples of a wording.
fn classes_in_words(standing: &WordingRow, theme: &Theme) -> SafeText {
    let parts = standing.measured.occurred().map(|(class, count)| {
        let mark = class.mark(theme.glyphs.ascii);
        format!("{mark} {count} {}", class.word())
    });
    let parts: Vec<String> = parts.collect();
    match parts.is_empty() {
        true => SafeText::from_static("no sample yet"),
        false => SafeText::from_str(&parts.join("  ")),
    }
}

fn cell(
    column: Id,
    standing: &WordingRow,
    in_flight: u32,
    width: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let plain = |text: String, style| vec![Span::styled(text, style)];
    let measured = &standing.measured;
    let number = |number: Option<u64>| plain(number.map_or_else(String::new, short), theme.dim);
    let is_baseline = standing.is_baseline;
    match column {
        Id::Name => {
            let style = if is_baseline { theme.info } else { theme.text };
            theme.spans(&SafeText::single_line(&standing.name, width), style)
        }
        Id::Bar => bar(measured.corrected, width, theme),
        Id::Rate => plain(rate(measured.rate()), theme.title),
        Id::Interval if measured.answered() == 0 => Vec::new(),
        Id::Interval => plain(interval(measured.interval()), theme.text),
        Id::Difference if is_baseline => plain("baseline".to_owned(), theme.dim),
        Id::Difference => {
            let Some(difference) = standing.difference else {
                return Vec::new();
            };
            let style = match standing.is_better() {
                Some(true) => theme.ok,
                Some(false) => theme.error,
                None => theme.dim,
            };
            plain(points_between(difference), style)
        }
        Id::Samples => {
            let mut spans = plain(measured.answered().to_string(), theme.text);
            if in_flight > 0 {
                spans.push(Span::styled(format!("+{in_flight}"), theme.info));
            }
            spans
        }
        Id::Classes => classes(standing, width, theme),
        Id::Tokens => {
            let both = measured.input.zip(measured.output);
            number(both.map(|(sent, answered)| sent + answered))
        }
        Id::Time => number(measured.ms),
    }
}

/// The mark of each class with how many samples are of it, as far as they fit.
fn classes(standing: &WordingRow, width: usize, theme: &Theme) -> Vec<Span<'static>> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut room = width;
    for (class, count) in standing.measured.occurred() {
        let gap = if spans.is_empty() { "" } else { " " };
        let text = format!("{gap}{}{count}", class.mark(theme.glyphs.ascii));
        let cells = text.chars().count();
        if cells > room {
            continue;
        }
        room -= cells;
        spans.push(Span::styled(text, class_style(class, theme)));
    }
    spans
}

fn class_style(class: Class, theme: &Theme) -> Style {
    match class {
        Class::Corrected => theme.ok,
        Class::SameMistake | Class::Looped | Class::Failed => theme.error,
        Class::OtherMistake => theme.warning,
        Class::GaveUp | Class::AskedUser => theme.dim,
    }
}

/// What a cell of the bar shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    /// Below the interval: reached in all likelihood.
    Solid,
    /// The lower end of the interval.
    Low,
    Within,
    /// The rate as counted.
    Rate,
    High,
    Empty,
}

/// The bar: solid up to where the interval begins, the interval as a line with its ends, the rate
/// a point on it.
fn bar(rate: Proportion, width: usize, theme: &Theme) -> Vec<Span<'static>> {
    let (solid, low, within, point, high, empty) = match theme.glyphs.ascii {
        true => ("#", "[", "-", "o", "]", "."),
        false => ("█", "├", "─", "●", "┤", "·"),
    };
    let cells = cells(rate, width).into_iter();
    let spans = cells.map(|cell| match cell {
        Cell::Solid => Span::styled(solid, theme.ok),
        Cell::Low => Span::styled(low, theme.info),
        Cell::Within => Span::styled(within, theme.info),
        Cell::Rate => Span::styled(point, theme.title),
        Cell::High => Span::styled(high, theme.info),
        Cell::Empty => Span::styled(empty, theme.dim),
    });
    spans.collect()
}

fn cells(rate: Proportion, width: usize) -> Vec<Cell> {
    let Some(counted) = rate.rate() else {
        return vec![Cell::Empty; width];
    };
    let Interval { low, high } = rate.interval();
    let last = width.saturating_sub(1);
    // Rates lie between 0 and 1, so that this is a cell.
    let place = |value: f64| ((value * width as f64) as usize).min(last);
    let (low, point, high) = (place(low), place(counted), place(high));
    let cells = (0..width).map(|cell| match cell {
        _ if cell == point => Cell::Rate,
        _ if cell < low => Cell::Solid,
        _ if cell == low => Cell::Low,
        _ if cell == high => Cell::High,
        _ if cell < high => Cell::Within,
        _ => Cell::Empty,
    });
    cells.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::columns::fit;

    #[test]
    fn a_narrow_table_keeps_what_matters_and_a_wide_one_has_all() {
        let titles = |width| -> Vec<&str> {
            let columns = fit(&COLUMNS, width).into_iter();
            columns.map(|(column, _)| column.title).collect()
        };
        assert_eq!(titles(34), ["wording", "rate", "n"]);
        assert_eq!(
            titles(75),
            [
                "wording",
                "0 to 100 %",
                "rate",
                "95 %",
                "vs baseline",
                "n",
                "tok"
            ]
        );
        assert_eq!(titles(95).len(), 9);
        for width in 0..200 {
            let used: usize = fit(&COLUMNS, width)
                .iter()
                .map(|(_, width)| width + 1)
                .sum();
            assert!(used <= width, "{used} of {width}");
        }
    }
}

#[cfg(test)]
mod table_tests {
    use super::*;
    use crate::tui::theme::{Glyphs, Variant};

    fn drawn(hits: u32, of: u32, width: usize) -> String {
        let theme = Theme::new(Variant::Mono, Glyphs::ASCII);
        let spans = bar(Proportion::new(hits, of), width, &theme);
        spans.iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn the_interval_is_drawn_around_the_rate_and_narrows_as_samples_come() {
        assert_eq!(drawn(0, 0, 20), "....................");
        assert_eq!(drawn(5, 10, 20), "####[-----o----]....");
        assert_eq!(drawn(50, 100, 20), "########[-o]........");
        assert_eq!(drawn(20, 20, 20), "################[--o");
        assert_eq!(drawn(0, 20, 20), "o--]................");
    }

    #[test]
    fn a_bar_is_as_wide_as_its_room() {
        for width in 0..40 {
            for hits in 0..=7 {
                assert_eq!(drawn(hits, 7, width).len(), width);
            }
        }
    }
}
