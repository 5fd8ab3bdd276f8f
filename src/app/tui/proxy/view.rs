//! How the list of exchanges looks.

use crate::tui::columns::titles;
use crate::tui::keymap::hints::{cells, cells_of_help};
use crate::tui::keymap::{self, Command, Context};
use crate::tui::layer::Areas;
use crate::tui::popup::{self, centred, framed, rows, split_bottom, split_right, split_top, write};
use crate::tui::proxy::board::ExchangeBoard;
use crate::tui::proxy::columns::fit;
use crate::tui::proxy::words;
use crate::tui::state::layout::{LEAST, WIDE};
use crate::tui::texts::{self, PageText};
use crate::tui::theme::Theme;
use crate::tui::view::{message_above, message_lines, too_small};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use retake_core::safe_text::SafeText;
use std::borrow::Cow;

mod row;

/// Least rows of the screen for a row of titles over the columns.
const TITLED: u16 = 12;
/// Least columns for how many exchanges there are, and for how many have findings: what is held matters more,
/// and whether anything is.
const SMALL: u16 = 60;
const MEDIUM: u16 = 72;
/// Most cells of a notice.
const LONGEST: usize = 1000;
/// Most cells of a listener's name.
const NAME: usize = 48;

impl ExchangeBoard {
    pub fn view(&self, frame: &mut Frame<'_>, theme: &Theme) {
        let size = frame.area();
        if size.width < LEAST.0 || size.height < LEAST.1 {
            too_small(frame, size);
            return;
        }
        let banner = self.banner();
        let above = 1 + u16::from(banner.is_some());
        let [head, below] = split_top(size, above);
        let [header, banner_row] = split_top(head, 1);
        let [middle, footer] = split_bottom(below, 1);
        // What is long hides no row of the list.
        let rows = self.long_status(size.width);
        let rows = rows.map_or(0, |notice| message_lines(&notice, size.width).count());
        let [middle, _] = split_bottom(middle, u16::try_from(rows).unwrap_or(0));
        self.view_header(frame, header, theme);
        if let Some(banner) = banner {
            let text = banner.truncated(usize::from(size.width).saturating_sub(1));
            let mut spans = vec![Span::raw(" ")];
            spans.extend(theme.spans(&text, theme.error));
            write(frame, banner_row, spans, Style::new(), theme);
        }
        match self.child.is_shown {
            false => self.view_list(frame, middle, theme),
            true if size.width < WIDE => self.view_child(frame, middle, theme),
            true => {
                let low = (middle.height / 3).max(4).min(middle.height);
                let [list, child] = split_bottom(middle, low);
                self.view_list(frame, list, theme);
                self.view_child(frame, child, theme);
            }
        }
        self.view_footer(frame, footer, theme);
        // What must be seen stays in sight.
        self.layers
            .view(frame, Areas::below(above, size), self, theme);
    }

    /// What must be seen for as long as it is so.
    fn banner(&self) -> Option<SafeText> {
        if self.about.unverified.is_empty() {
            return None;
        }
        let names = self.about.unverified.join(", ");
        let words = format!("TLS of {names} is NOT VERIFIED: anyone could impersonate it");
        Some(SafeText::single_line(&words, 400))
    }

    fn view_header(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let right = self.counted(area.width, theme);
        let used: usize = right.iter().map(Span::width).sum();
        let mut room = usize::from(area.width).saturating_sub(used + 1);
        let title = match area.width < SMALL {
            true => " retake",
            false => " retake proxy",
        };
        let mut left = vec![Span::styled(title, theme.title)];
        room = room.saturating_sub(title.len());
        let mut parts = Vec::new();
        parts.push(match self.is_intercepting {
            true => vec![Span::styled("intercepting", theme.ok)],
            false => vec![Span::styled("NOT INTERCEPTING", theme.warning)],
        });
        let listeners = self.listeners.iter().map(|(address, upstream)| {
            let words = format!("{address} -> {upstream}");
            theme.spans(&SafeText::single_line(&words, NAME), theme.text)
        });
        parts.extend(listeners);
        if self.follows && !self.rows.is_empty() {
            parts.push(vec![Span::styled("follow", theme.dim)]);
        }
        for part in parts {
            let width = 2 + part.iter().map(Span::width).sum::<usize>();
            if width <= room {
                room -= width;
                left.push(Span::raw("  "));
                left.extend(part);
            }
        }
        write(frame, area, left, Style::new(), theme);
        let used = u16::try_from(used).unwrap_or(area.width).min(area.width);
        let [_, right_area] = split_right(area, used);
        write(frame, right_area, right, Style::new(), theme);
    }

    /// How many exchanges there are, are held, have findings.
    fn counted(&self, width: u16, theme: &Theme) -> Vec<Span<'static>> {
        let totals = self.rows.totals();
        let mut spans = Vec::new();
        if totals.held > 0 {
            let words = format!("{} {} held  ", theme.glyphs.run, totals.held);
            spans.push(Span::styled(words, theme.warning));
        }
        if totals.found > 0 && width >= MEDIUM {
            spans.push(Span::styled(theme.glyphs.error, theme.error));
            spans.push(Span::raw(format!(
                " {}  ",
                words::count(totals.found, "finding")
            )));
        }
        if width >= SMALL {
            let words = words::count(totals.all, "exchange");
            spans.push(Span::styled(format!("{words} "), theme.dim));
        }
        spans
    }

    fn view_list(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let (shown, listed) = (self.rows.len(), self.rows.listed());
        let mut title = match shown == listed {
            true => SafeText::from_str(&format!(" Exchanges {listed} ")),
            false => SafeText::from_str(&format!(" Exchanges {shown} of {listed} ")),
        };
        if !self.applied.is_empty() {
            title.push(&SafeText::from_static("filter: "));
            title.push(&SafeText::single_line(&self.applied, 60));
            title.push(&SafeText::from_static(" "));
        }
        let room = usize::from(area.width).saturating_sub(4);
        let mut pane = theme.pane(
            theme.line(&title.truncated(room), theme.title),
            !self.child.is_shown,
        );
        if let Some(path) = &self.about.recording {
            let words = format!(" recording {} ", path.to_string_lossy());
            let words = SafeText::single_line(&words, room);
            pane = pane.title_bottom(theme.line(&words, theme.dim).right_aligned());
        } else {
            let words = Line::styled(" NOT RECORDING ", theme.warning);
            pane = pane.title_bottom(words.right_aligned());
        }
        let mut inner = pane.inner(area);
        frame.render_widget(pane, area);
        if listed == 0 {
            return self.view_nothing(frame, inner, theme);
        }
        let has_upstreams = self.about.upstreams.len() > 1;
        let columns = fit(
            usize::from(inner.width).saturating_sub(1),
            has_upstreams,
            self.rows.totals().has_holds,
        );
        if area.height >= TITLED && inner.height > 1 {
            write(
                frame,
                inner,
                titles(&columns, None, theme),
                Style::new(),
                theme,
            );
            [_, inner] = split_top(inner, 1);
        }
        if self.rows.is_empty() {
            let none = SafeText::from_static("no matches; esc clears the filter");
            write(
                frame,
                inner,
                theme.spans(&none, theme.dim),
                Style::new(),
                theme,
            );
        }
        let selected = match self.child.is_shown {
            false => theme.selected,
            true => theme.selected_elsewhere,
        };
        let draw = |index: usize, _: Rect| match self.rows.get(index) {
            Some(seen) => self.row(seen, index == self.cursor.get(), &columns, theme),
            None => Vec::new(),
        };
        self.cursor
            .draw(frame, inner, self.rows.len(), selected, theme, draw);
    }

    /// How agents are pointed at the proxy, while none has come.
    fn view_nothing(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let mut lines = vec![(SafeText::from_static("no exchange yet"), theme.dim)];
        match &self.about.child {
            // It knows already where the proxy is.
            Some(_) => {
                let words = format!("{}; o shows its output", self.child_words());
                lines.push((SafeText::single_line(&words, 400), theme.text));
            }
            None => {
                lines.push((SafeText::default(), theme.dim));
                let shown = self.about.connect.iter();
                lines.extend(shown.map(|line| (SafeText::from_str(line), theme.text)));
            }
        }
        let inside = Rect {
            x: area.x + 1.min(area.width),
            width: area.width.saturating_sub(2),
            ..area
        };
        let width = usize::from(inside.width).max(1);
        let wrapped = lines.iter().flat_map(|(line, style)| {
            let rows: Vec<_> = match line.is_empty() {
                true => vec![SafeText::default()],
                false => line.wrapped(width).collect(),
            };
            rows.into_iter().map(|row| (row, *style))
        });
        for (area, (line, style)) in rows(inside).zip(wrapped) {
            write(frame, area, theme.spans(&line, style), Style::new(), theme);
        }
    }

    /// What the agent says, its end in sight.
    fn view_child(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let room = usize::from(area.width).saturating_sub(6);
        let title = format!(" {} ", self.child_words());
        let title = SafeText::single_line(&title, room);
        let style = match self.child.ended {
            None => theme.ok,
            Some(Some(0)) => theme.title,
            Some(_) => theme.error,
        };
        let pane = theme.pane(theme.line(&title, style), true);
        let inner = pane.inner(area);
        frame.render_widget(pane, area);
        let lines = &self.child.lines;
        let first = lines.len().saturating_sub(usize::from(inner.height));
        for (row, line) in rows(inner).zip(lines.range(first..)) {
            let text = SafeText::single_line(&plain(line), usize::from(row.width));
            write(
                frame,
                row,
                theme.spans(&text, theme.text),
                Style::new(),
                theme,
            );
        }
    }

    fn view_footer(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let width = usize::from(area.width);
        let hints = self.hints();
        let help = cells_of_help(&hints);
        let (status, style) = match (&self.notice, self.status()) {
            (Some(notice), _) => (SafeText::single_line(notice, LONGEST), theme.warning),
            (None, Some(status)) => (status, theme.text),
            (None, None) => (SafeText::default(), theme.text),
        };
        let most = match self.notice.is_some() || hints.iter().any(|hint| hint.0 == "a") {
            true => width.saturating_sub(2 + help),
            false => width / 2,
        };
        let status = match self.long_status(area.width) {
            Some(said) => {
                message_above(frame, area, &said, style, theme);
                SafeText::default()
            }
            None => status.truncated(most),
        };
        let mut left = vec![Span::raw(" ")];
        left.extend(theme.spans(&status, style));
        popup::footer(frame, area, left, hints, theme);
    }

    /// What is said in the footer where it has no room there: a notice beside the key of the help, why an exchange
    /// is held beside the keys that decide.
    fn long_status(&self, width: u16) -> Option<SafeText> {
        let (hints, width) = (self.hints(), usize::from(width));
        let (said, keys) = match self.notice.as_deref() {
            Some(notice) => (SafeText::single_line(notice, LONGEST), 0),
            None if self
                .seen_here()
                .is_some_and(|seen| super::rows::is_held(seen)) =>
            {
                let decides = hints.iter().filter(|hint| matches!(hint.0, "enter" | "a"));
                (self.status()?, decides.map(cells).sum())
            }
            None => return None,
        };
        let room = width.saturating_sub(2 + cells_of_help(&hints) + keys);
        (said.width() > room).then_some(said)
    }

    /// The keys that have a use now, what matters most first.
    fn hints(&self) -> Vec<(&'static str, &'static str)> {
        let totals = self.rows.totals();
        let is_held = self
            .seen_here()
            .is_some_and(|seen| super::rows::is_held(seen));
        let is_open = self
            .seen_here()
            .is_some_and(|seen| !super::rows::is_over(seen));
        let has_use = |command: Command| match command {
            Command::Open | Command::Find | Command::Filter | Command::Follow => {
                self.rows.listed() > 0
            }
            Command::Release => is_held,
            Command::ReleaseAll => totals.held > usize::from(is_held),
            Command::Held(_) => totals.held > usize::from(is_held),
            Command::Cut => is_open,
            Command::Replay => self.seen_here().is_some() && !is_open,
            Command::Finding(_) => totals.found > 0,
            Command::Child => self.about.child.is_some(),
            _ => true,
        };
        let rows = keymap::footer(Context::Exchanges).into_iter();
        let useful = rows.filter(|row| has_use(row.command));
        let mut all: Vec<_> = useful.map(|row| (row.first_key(), row.footer.1)).collect();
        if is_held {
            // What waits for a decision is what matters.
            all.sort_by_key(|(key, _)| !matches!(*key, "enter" | "a"));
        }
        all
    }
}

/// The widest that what is shown over the list grows.
const WIDEST: u16 = 110;

impl ExchangeBoard {
    pub(in crate::tui::proxy) fn view_connect(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        theme: &Theme,
    ) {
        let width = usize::from(WIDEST.min(area.width).saturating_sub(4)).max(1);
        let lines: Vec<SafeText> = self
            .about
            .connect
            .iter()
            .map(|line| SafeText::from_str(line))
            .flat_map(|line| match line.is_empty() {
                true => vec![line],
                false => line.wrapped(width).collect(),
            })
            .collect();
        let high = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
        let area = centred(area, WIDEST, high);
        let title = SafeText::from_static("connect an agent");
        let inside = framed(frame, area, &title, " y copy  esc close ", theme);
        for (row, line) in rows(inside).zip(lines) {
            write(
                frame,
                row,
                theme.spans(&line, theme.text),
                Style::new(),
                theme,
            );
        }
    }

    /// What has happened, the newest at the end.
    pub(in crate::tui::proxy) fn log_page(&self, theme: &Theme, width: usize) -> PageText {
        let lines = self.log.iter().flat_map(|event| {
            let style = match event.is_trouble {
                true => theme.warning,
                false => theme.text,
            };
            let time = format!("{}  ", words::time(event.at_ms));
            texts::entry(&time, &event.words, style, width, theme)
        });
        PageText {
            title: format!(" Events {} ", self.log.len()),
            lines: lines.collect(),
            targets: Vec::new(),
        }
    }
}

/// A line of a program without the sequences by which it colours its words: they mean nothing here. What else
/// it holds is shown as it is anywhere.
fn plain(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut rest = line;
    let mut plain = String::with_capacity(line.len());
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|letter: char| !matches!(letter, '0'..='9' | ';' | ':'));
        match end {
            Some(end) if after[end..].starts_with('m') => rest = &after[end + 1..],
            // Anything but a colour is shown.
            _ => {
                plain.push_str("\u{1b}[");
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}
