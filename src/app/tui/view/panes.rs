//! The panes that list: turns with the items below those that are unfolded, the items of one turn, findings,
//! sessions. Rows are made of what is in sight, and all foreign text is made drawable here.

use super::{Row, cells, counts, row_style};
use crate::tui::filter::FilterBar;
use crate::tui::proxy::words::recorded;
use crate::tui::state::document::{
    Checked, Counts, Extent, Listed, Place, count_turn, has_failed, is_answered_by_hand,
    is_failure, list_findings,
};
use crate::tui::state::layout::Pane;
use crate::tui::state::preview::{is_call, speaks_for, tool_of};
use crate::tui::state::tree;
use crate::tui::state::{Stage, State};
use crate::tui::theme::Theme;
use crate::usage::UsageSummary;
use crate::words::{MAIN_HISTORY, session_label, shortened_label};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use retake_core::content::display_name;
use retake_core::safe_text::SafeText;
use retake_core::session::{Kind, PairStatus, Session, Speaker, is_sub_agent};
use retake_core::usage::SessionUsage;
use retake_live::SubAgent;
use retake_live::inspect::first_words;

/// Most cells of a text in a row.
const WIDEST: usize = 240;
/// Most cells of the name of a tool.
const TOOL: usize = 60;
/// Cells of the words around a filter.
const FILTER: usize = 11;
/// Cells of the column of rules.
const RULE: usize = 20;

/// Draws the frame of a pane; gives what is inside.
fn framed(
    frame: &mut Frame<'_>,
    area: Rect,
    name: String,
    (state, pane): (&State, Pane),
    theme: &Theme,
) -> Rect {
    let block = theme.pane(Line::from(name), state.focus == pane);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    inside
}

/// How many items are shown of what filter, in about so many cells; `None` where all are.
pub(super) fn filter_words(state: &State, room: usize) -> Option<String> {
    let bar = state.layers.top::<FilterBar>();
    if bar.is_some_and(FilterBar::is_pending) {
        return Some("filter: enter applies".to_owned());
    }
    let mut items = match state.shown.as_ref()?.items.len() {
        1 => "1 item".to_owned(),
        items => format!("{items} items"),
    };
    let written = if bar.is_some() {
        ""
    } else {
        state.filter_bar.applied()
    };
    // The end of it matters less than the filter.
    let elsewhere = state.words_elsewhere();
    let least = FILTER + written.len();
    if let Some(words) = elsewhere.filter(|words| items.len() + words.len() + least <= room) {
        items += &format!(", {words}");
    }
    Some(match (state.only_marked, written.is_empty()) {
        (true, _) if state.recovery.takes.notes.is_empty() => format!("{items} marked"),
        (true, _) => format!("{items} marked/noted"),
        (false, true) => format!("{items} shown"),
        (false, false) => {
            let room = room.saturating_sub(items.len() + 9).max(4);
            let written = SafeText::single_line(written, room);
            format!("filter {}: {items}", written.as_plain())
        }
    })
}

/// Says that a filter leaves nothing, or why nothing was read, where that is so.
pub(super) fn no_match(frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
    let words = match state.has_no_match() {
        true => Some(state.no_match()),
        false => state.nothing_read(),
    };
    if let Some(words) = words {
        let text = SafeText::from_str(&words);
        let lines = text.wrapped(usize::from(area.width).max(1)).enumerate();
        for (at, line) in lines {
            let row = Row {
                left: theme.spans(&line, theme.dim),
                right: Vec::new(),
                style: Style::new(),
            };
            row.draw(frame, area, at, theme);
        }
    }
}

pub(super) fn turns(frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
    let mut name = " Turns ".to_owned();
    if let Some(filter) = filter_words(state, usize::from(area.width).saturating_sub(4)) {
        name = format!(" {filter} ");
    }
    let inside = framed(frame, area, name, (state, Pane::Turns), theme);
    no_match(frame, inside, state, theme);
    let reply = state.reply();
    if let (Some(painter), Some(tree)) = (Painter::of(state, theme), state.tree()) {
        let height = usize::from(inside.height).saturating_sub(usize::from(!reply.is_empty()));
        let rows = (state.tops.turns..tree.rows()).take(height);
        for (at, row) in rows.map(|row| tree.row(row)).enumerate() {
            let mut drawn = match row {
                tree::TreeRow::Turn(turn) => painter.turn(turn),
                tree::TreeRow::Item(item) => painter.item_of_tree(item),
            };
            let has_cursor = row == state.tree_row();
            drawn.style = row_style(theme, has_cursor, state.focus == Pane::Turns);
            drawn.draw(frame, inside, at, theme);
        }
    }
    super::live::coming(frame, inside, &reply, 1, theme);
}

pub(super) fn items(frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
    let painter = Painter::of(state, theme);
    let name = match painter
        .as_ref()
        .map(|painter| painter.number_of_turn(state.turn()))
    {
        Some(Some(number)) => format!(" Turn {number} "),
        Some(None) => " Turn ".to_owned(),
        None => " Items ".to_owned(),
    };
    let inside = framed(frame, area, name, (state, Pane::Items), theme);
    let (reply, most) = (state.reply_in_items(), usize::from(inside.height / 2));
    if let (Some(painter), Some(tree)) = (painter, state.tree()) {
        let height = usize::from(inside.height).saturating_sub(reply.len().min(most));
        let places = tree.places_in(state.turn());
        let seen = places.skip(state.tops.items).take(height);
        let seen: Vec<usize> = seen.map(|place| tree.item(place)).collect();
        let kind = |item: &usize| painter.session.items[*item].kind.word().len();
        let kinds = seen.iter().map(kind).max().unwrap_or(0);
        for (at, item) in seen.into_iter().enumerate() {
            let mut row = painter.item(item, kinds, inside.width);
            row.style = row_style(theme, item == state.item, state.focus == Pane::Items);
            row.draw(frame, inside, at, theme);
        }
    }
    super::live::coming(frame, inside, &reply, most, theme);
}

/// What the rows of a session are made from.
struct Painter<'a> {
    state: &'a State,
    theme: &'a Theme,
    session: &'a Session,
    checked: Option<&'a Checked>,
}

impl<'a> Painter<'a> {
    fn of(state: &'a State, theme: &'a Theme) -> Option<Self> {
        Some(Self {
            state,
            theme,
            session: state.session()?,
            checked: state.checked(),
        })
    }

    /// The number of a turn, counted from 1, where it is known already.
    fn number_of_turn(&self, turn: usize) -> Option<usize> {
        Some(self.state.turns_before? + turn + 1)
    }

    /// The number of an item, counted from 1, where it is known already.
    fn number(&self, index: usize) -> Option<usize> {
        let document = self.state.document.as_ref()?;
        (document.extent != Extent::Tail).then_some(index + 1)
    }

    fn turn(&self, turn: usize) -> Row {
        let (theme, about) = (self.theme, &self.session.turns[turn]);
        let glyphs = &theme.glyphs;
        let is_current = self.state.turn() == turn;
        let fold = match (self.state.folds.is_unfolded(turn), is_current) {
            (true, _) => glyphs.unfolded,
            (false, true) => glyphs.cursor,
            (false, false) => " ",
        };
        let number = self.number_of_turn(turn);
        let number = number.map_or(String::new(), |number| number.to_string());
        let digits = self.session.turns.len().to_string().len();
        let style = match about.speaker {
            Speaker::System | Speaker::User => theme.user,
            Speaker::Model => theme.assistant,
            Speaker::File => theme.dim,
        };
        let mut left = vec![
            Span::raw(fold),
            Span::styled(format!("{number:>digits$} "), theme.dim),
        ];
        // Most turns are the model's: only others say whose they are.
        if about.speaker != Speaker::Model {
            let word = about.word(&self.session.items);
            left.push(Span::styled(format!("{word} "), style));
        }
        let speaks = speaks_for(self.session, turn).unwrap_or_default();
        left.extend(theme.spans(&self.one_line(speaks), theme.dim));
        let mut right = self.policy(about.items());
        right.extend(counts(theme, count_turn(self.session, self.checked, turn)));
        Row {
            left,
            right,
            style: Style::new(),
        }
    }

    /// An item below its turn.
    fn item_of_tree(&self, index: usize) -> Row {
        let kind = self.session.items[index].kind;
        let digits = self.session.turns.len().to_string().len();
        let mut left = vec![Span::raw(" ".repeat(digits + 1))];
        left.extend(self.signs(index));
        let words = format!(" {:<9} ", kind.word());
        left.push(Span::styled(words, self.theme.kind(kind)));
        left.extend(self.note(index));
        left.extend(self.theme.spans(&self.one_line(index), self.theme.text));
        Row {
            left,
            right: Vec::new(),
            style: Style::new(),
        }
    }

    /// A row of the items of one turn; `kinds` is the width of the column of kinds.
    fn item(&self, index: usize, kinds: usize, width: u16) -> Row {
        let (theme, kind) = (self.theme, self.session.items[index].kind);
        let mut left = self.signs(index);
        let words = format!(" {:<kinds$} ", kind.word());
        left.push(Span::styled(words, theme.kind(kind)));
        let partner = match self.session.pairing.standing(index) {
            PairStatus::Paired(partner) if kind == Kind::Call => self.number(partner as usize),
            _ => None,
        };
        let mut right = self.policy(index..index + 1);
        let worst = self.checked.and_then(|checked| checked.worst(index));
        right.extend(match (worst, partner) {
            (Some(finding), _) if finding.is_settled => {
                Some(Span::styled(finding.resolution(), theme.dim))
            }
            (Some(finding), _) => {
                let (_, style) = theme.severity(finding.severity);
                Some(Span::styled(finding.rule.id, style))
            }
            (None, Some(output)) => {
                let words = format!("{} output {output}", theme.glyphs.pair);
                Some(Span::styled(words, theme.dim))
            }
            (None, None) => None,
        });
        let tool = self.tool(index);
        if !tool.is_empty() {
            let column = usize::from(width / 3).clamp(8, 24);
            let room = usize::from(width).saturating_sub(cells(&left) + cells(&right) + 1);
            let tool = tool.truncated(column.min(room));
            let rest = column.saturating_sub(tool.width());
            left.extend(theme.spans(&tool, theme.text));
            left.push(Span::raw(" ".repeat(rest + 1)));
        }
        left.extend(self.note(index));
        left.extend(theme.spans(&self.preview(index), theme.dim));
        Row {
            left,
            right,
            style: Style::new(),
        }
    }

    /// What the operator left on an item, a mark or a note, and how the item is.
    fn signs(&self, index: usize) -> Vec<Span<'static>> {
        let (theme, item) = (self.theme, self.session.items[index]);
        let at = item.span.start;
        let has_note = self.state.recovery.takes.note(at).is_some();
        let left = match (self.state.marks.contains(&at), has_note) {
            (true, _) => theme.glyphs.marked,
            (false, true) => theme.glyphs.note,
            (false, false) => " ",
        };
        let has_faulty_result = || {
            let output = self.session.pairing.partner(index);
            let found = self.checked.zip(output);
            let found = found.and_then(|(checked, output)| checked.worst(output));
            found.is_some_and(|finding| !finding.is_settled)
        };
        let is_answered = || {
            matches!(item.kind, Kind::Call | Kind::Output)
                && matches!(self.session.pairing.standing(index), PairStatus::Paired(_))
                && !is_failure(self.session, self.checked, index)
                && !has_failed(self.session, self.checked, index)
                && !(item.kind == Kind::Call && has_faulty_result())
        };
        let standing = match self.checked.and_then(|checked| checked.worst(index)) {
            Some(finding) if finding.is_settled => theme.sign(finding.severity).style(theme.dim),
            Some(finding) => theme.sign(finding.severity),
            None if is_answered_by_hand(self.session, index) => Span::styled("-", theme.dim),
            None if is_answered() => Span::styled(theme.glyphs.ok, theme.ok),
            None => Span::raw(" "),
        };
        vec![Span::styled(left, theme.marked), standing]
    }

    /// What the operator noted about an item.
    fn note(&self, index: usize) -> Vec<Span<'static>> {
        let at = self.session.items[index].span.start;
        let note = self.state.recovery.takes.note(at);
        note.map_or_else(Vec::new, |note| {
            let mut spans = vec![Span::styled("note: ", self.theme.marked)];
            let words = SafeText::single_line(note, WIDEST);
            spans.extend(self.theme.spans(&words, self.theme.text));
            spans.push(Span::raw("  "));
            spans
        })
    }

    /// What says that a policy did something about one of these items; what it did is in the item.
    fn policy(&self, mut items: std::ops::Range<usize>) -> Vec<Span<'static>> {
        let session = self.state.session;
        let is_decided = |item| {
            let mut decided = self.state.recovery.takes.decided(Place { session, item });
            decided.next().is_some()
        };
        match items.any(is_decided) {
            true => vec![Span::styled("policy", self.theme.marked), Span::raw(" ")],
            false => Vec::new(),
        }
    }

    fn tool(&self, index: usize) -> SafeText {
        SafeText::single_line(&display_name(tool_of(self.session, index)), TOOL)
    }

    /// What an item says in one line: `Read(src/lib.rs)`, the beginning of a message.
    fn one_line(&self, index: usize) -> SafeText {
        let (tool, preview) = (tool_of(self.session, index), self.preview(index));
        let is_call = self.session.items.get(index).is_some_and(is_call);
        if tool.is_empty() {
            return preview;
        }
        let mut one_line = SafeText::single_line(&display_name(tool), TOOL);
        let (before, after) = if is_call { ("(", ")") } else { (" ", "") };
        one_line.push(&SafeText::from_static(before));
        one_line.push(&preview);
        one_line.push(&SafeText::from_static(after));
        one_line
    }

    /// The beginning of what an item says.
    fn preview(&self, item: usize) -> SafeText {
        let session = self.state.session;
        let mut previews = self.state.previews.borrow_mut();
        SafeText::single_line(previews.of(self.session, Place { session, item }), WIDEST)
    }
}

pub(super) fn findings(frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
    let known = state.checked.iter().flatten();
    let total: usize = known.map(|checked| checked.findings().len()).sum();
    let name = match state.problems() {
        0 => format!(" Findings {total} "),
        problems => format!(" Findings {total}  read errors {problems}: L "),
    };
    let inside = framed(frame, area, name, (state, Pane::Findings), theme);
    // Logs of their own, which this file knows the counts of.
    let files = state.sub_agents.iter();
    let files = files.filter(|agent| agent.errors + agent.warnings > 0);
    let files: Vec<Row> = files.map(|agent| findings_of_file(agent, theme)).collect();
    if total == 0 {
        let words = match (state.stage == Stage::Ready, state.checked.len()) {
            (true, 0 | 1) => "no findings in this session",
            (true, _) => "no findings in this file",
            (false, _) => "not known yet",
        };
        Row::of(Span::styled(words, theme.dim)).draw(frame, inside, 0, theme);
    }
    let height = usize::from(inside.height);
    let mut next = usize::from(total == 0);
    let seen = list_findings(&state.checked).skip(state.tops.findings);
    for (session, listed) in seen.take(height) {
        let row = finding_row(state, session, listed, inside.width, theme);
        row.draw(frame, inside, next, theme);
        next += 1;
    }
    for (at, row) in (next..height).zip(files) {
        row.draw(frame, inside, at, theme);
    }
}

/// What the log of a sub-agent holds, and the way there.
fn findings_of_file(agent: &SubAgent, theme: &Theme) -> Row {
    let found = Counts {
        errors: agent.errors,
        warnings: agent.warnings,
        ..Counts::default()
    };
    let mut left = counts(theme, found);
    left.push(Span::raw("  "));
    left.extend(theme.spans(&SafeText::single_line(&agent.prompt, WIDEST), theme.text));
    let way = Span::styled("sub-agent: enter on its call", theme.dim);
    Row {
        left,
        right: vec![way],
        style: Style::new(),
    }
}

/// A row of the list of findings.
fn finding_row(state: &State, number: usize, listed: Listed, width: u16, theme: &Theme) -> Row {
    let document = state.document.as_ref();
    let session = document.and_then(|document| document.session(number));
    let checked = state.checked.get(number).and_then(Option::as_deref);
    let (Some(session), Some(checked)) = (session, checked) else {
        return Row::of(Span::raw(""));
    };
    let about = |finding: usize| &checked.findings()[finding];
    let (index, is_below) = match listed {
        Listed::Session => {
            let words = format!("session {}  ", number + 1);
            let mut left = vec![Span::styled(words, theme.title)];
            let right = counts(theme, checked.counts());
            let room = usize::from(width).saturating_sub(cells(&left) + cells(&right) + 1);
            let label = shortened_label(&session_label(session), room, theme.glyphs.more);
            left.extend(theme.spans(&label, theme.title));
            return Row {
                left,
                right,
                style: Style::new(),
            };
        }
        Listed::Rule(first, count) => {
            let sign = theme.sign(about(first).severity);
            let rule = Span::styled(format!(" {}", about(first).rule.id), theme.title);
            return Row {
                left: vec![sign, rule],
                right: vec![Span::styled(count.to_string(), theme.dim)],
                style: Style::new(),
            };
        }
        Listed::Finding(index, is_below) => (index, is_below),
    };
    let finding = about(index);
    let item = finding
        .item
        .and_then(|item| session.items.get(item as usize));
    let is_numbered = document.is_some_and(|document| document.extent != Extent::Tail);
    let turn = item.filter(|_| is_numbered);
    let turn = turn.map_or(String::new(), |item| format!("turn {}", item.turn + 1));
    let (sign, style, settled) = match theme.sign(finding.severity) {
        sign if finding.is_settled => {
            let settled = format!("{}  ", finding.resolution());
            (sign.style(theme.dim), theme.dim, settled)
        }
        sign => (sign, theme.text, String::new()),
    };
    let mut left = match is_below {
        true => vec![Span::raw("  ")],
        false => {
            let rule = format!(" {:<RULE$} ", finding.rule.id);
            vec![sign, Span::styled(rule, style)]
        }
    };
    let right = vec![Span::styled(format!("{settled}{turn}"), theme.dim)];
    let room = usize::from(width).saturating_sub(cells(&left) + cells(&right) + 1);
    let message = SafeText::single_line(&finding.message(), room);
    left.extend(theme.spans(&message, style));
    let has_cursor = (number, index) == (state.session, state.finding);
    Row {
        left,
        right,
        style: row_style(theme, has_cursor, state.focus == Pane::Findings),
    }
}

/// How the exchanges of a session ended that did not pass as they came: `2 fixed  cut`.
fn outcomes(session: &Session, theme: &Theme) -> Vec<Span<'static>> {
    let mut outcomes: Vec<(String, bool, usize)> = Vec::new();
    let ends = session.exchanges.iter().filter_map(|one| recorded(one.how));
    for (words, is_trouble) in ends {
        match outcomes.iter_mut().find(|(known, ..)| *known == words) {
            Some((.., count)) => *count += 1,
            None => outcomes.push((words, is_trouble, 1)),
        }
    }
    let spans = outcomes.into_iter().map(|(words, is_trouble, count)| {
        let words = match count {
            1 => format!("{words}  "),
            _ => format!("{count} {words}  "),
        };
        let style = if is_trouble {
            theme.warning
        } else {
            theme.info
        };
        Span::styled(words, style)
    });
    spans.collect()
}

pub(super) fn sessions(frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
    let document = state.document.as_ref();
    let sessions = document.map_or(&[][..], |document| &document.recording.sessions[..]);
    let total = state.listed_sessions();
    let name = format!(" Sessions {total} ");
    let inside = framed(frame, area, name, (state, Pane::Sessions), theme);
    let digits = total.to_string().len();
    let cursor = state.listed_session.min(total.saturating_sub(1));
    let seen = (0..total).skip(state.tops.sessions);
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for index in seen.take(inside.height.into()) {
        let open = if index == state.session {
            theme.glyphs.cursor
        } else {
            " "
        };
        let left = vec![
            Span::raw(open),
            Span::styled(format!("{:>digits$}  ", index + 1), theme.dim),
        ];
        let own = sessions.get(index).is_some();
        let totals = state.all_totals().filter(|_| own);
        let mut usage = totals.and_then(|totals| Some(&**totals.get(&index)?));
        let (label, words, row_columns, turns) = match sessions.get(index) {
            Some(session) => {
                let words = first_words(session).map(|(_, words)| words);
                let checked = state.checked.get(index).and_then(Option::as_ref);
                let found = checked.map_or_else(Vec::new, |it| counts(theme, it.counts()));
                let is_inactive = !session.active && !is_sub_agent(session);
                let inactive = is_inactive.then(|| Span::styled("  inactive", theme.dim));
                let columns = [
                    outcomes(session, theme),
                    found,
                    inactive.into_iter().collect(),
                ];
                let words = words.unwrap_or_default();
                (
                    label_of(session, theme),
                    words,
                    columns,
                    session.turns.len(),
                )
            }
            None => {
                let Some(file) = state.sub_agents.get(index - sessions.len()) else {
                    continue;
                };
                usage = Some(&file.usage);
                let label = (format!("sub-agent {}", file.id), theme.dim);
                let found = Counts {
                    errors: file.errors,
                    warnings: file.warnings,
                    ..Counts::default()
                };
                let columns = [Vec::new(), counts(theme, found), Vec::new()];
                (label, file.prompt.clone(), columns, file.usage.turns)
            }
        };
        columns.push(row_columns);
        rows.push((index, left, label, words, turns, usage));
    }
    align(&mut columns);
    let has_usage = rows.iter().any(|(.., usage)| usage.is_some());
    for (at, (row, columns)) in rows.into_iter().zip(columns).enumerate() {
        let (index, mut left, label, words, turns, usage) = row;
        let mut right = columns.concat();
        let hits = state.shown_of(index);
        if let Some(count) = hits.filter(|count| *count > 0) {
            let words = if count == 1 { "item" } else { "items" };
            let words = format!("{count} {words}  ");
            right.insert(0, Span::styled(words, theme.marked));
        }
        // The same for all rows, whose figures are compared.
        let room = usize::from(inside.width) * FIGURES / 100;
        right.push(Span::styled(
            figures(turns, usage, has_usage, room),
            theme.dim,
        ));
        let (label, style) = label;
        let style = if hits == Some(0) { theme.dim } else { style };
        let room = usize::from(inside.width).saturating_sub(cells(&left) + cells(&right) + 1);
        let label = shortened_label(&label, room, theme.glyphs.more);
        left.extend(theme.spans(&label, style));
        left.push(Span::raw("  "));
        let room = usize::from(inside.width).saturating_sub(cells(&left) + cells(&right) + 1);
        left.extend(theme.spans(&SafeText::single_line(&words, room), theme.dim));
        let row = Row {
            left,
            right,
            style: row_style(theme, index == cursor, state.focus == Pane::Sessions),
        };
        row.draw(frame, inside, at, theme);
    }
}

/// Makes columns as wide in each row. What was found is on the right of its own, beside the figures.
fn align(rows: &mut [[Vec<Span<'static>>; 3]]) {
    const FOUND: usize = 1;
    for column in 0..3 {
        let widest = rows.iter().map(|row| cells(&row[column])).max();
        for row in &mut *rows {
            let gap = widest.unwrap_or(0) - cells(&row[column]);
            let at = if column == FOUND {
                0
            } else {
                row[column].len()
            };
            row[column].insert(at, Span::raw(" ".repeat(gap)));
        }
    }
}

/// Percent of a row that the figures of a session have: the rest is for its label, its first words and its findings.
const FIGURES: usize = 45;

/// How many turns a session has and what it took, in columns, as far as they have room; its cost matters most.
/// One whose usage is not known yet leaves room where others `have_usage`.
fn figures(turns: usize, usage: Option<&SessionUsage>, have_usage: bool, room: usize) -> String {
    let turns = format!("  {turns:>3} turns");
    if !have_usage {
        return turns;
    }
    let summary = usage.map(UsageSummary::of);
    let (span, tokens, cost) =
        summary.map_or_else(Default::default, |it| (it.span, it.tokens, it.cost));
    let columns = [(cost, 7, 2), (span, 7, 0), (tokens, 11, 1)];
    let mut left = room.saturating_sub(turns.len());
    let mut kept: Vec<(u8, String)> = Vec::new();
    for (figure, width, place) in columns {
        if width + 2 <= left {
            left -= width + 2;
            kept.push((place, format!("  {:>width$}", figure.unwrap_or_default())));
        }
    }
    kept.sort();
    kept.into_iter().fold(turns, |sum, (_, words)| sum + &words)
}

/// What tells a session from the others; that which the run would go on from is set apart.
fn label_of(session: &Session, theme: &Theme) -> (String, Style) {
    let style = if session.active {
        theme.text
    } else {
        theme.dim
    };
    let label = match session_label(session).as_ref() {
        "" => MAIN_HISTORY.to_owned(),
        label => label.to_owned(),
    };
    (label, style)
}
