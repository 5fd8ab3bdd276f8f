//! What can be done about the findings under the cursor: every action with its key and its safety, and the
//! reason of those that do not apply here.

use super::proposal::safety_words;
use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Placement, Step};
use crate::tui::list::ListCursor;
use crate::tui::popup::{Popup, centred, rows, split_bottom, write};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEvent};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::actions::{self, Offer};
use retake_core::rules::{Rule, Severity};
use retake_core::safe_text::SafeText;

/// Rows below the list that tell of the offer under the cursor.
const TOLD: u16 = 3;
/// The widest that the menu grows.
const WIDEST: u16 = 96;

/// The keys of the panes that start actions.
const KEYS: &[(&str, char)] = &[
    ("inject-error", 'i'),
    ("retry", 'r'),
    ("fallback", 'a'),
    ("take-suggestion", 's'),
    ("repair-arguments", 'R'),
    ("edit", 'e'),
    ("supply-output", 'o'),
    ("drop-pair", 'x'),
];

/// The key of the wording lab.
const LAB: char = 'W';
const LAB_WORDS: &str = "try several wordings on a model, count what works";

/// Cells of a row of a sentence, as in a terminal of 80 columns, and most rows of it.
const LINE: usize = 76;
const MOST_LINES: usize = 6;
/// The end of a sentence that has more of them.
const REST: &str = " ! shows all";

/// An offer, and why it does not apply where it does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferRow {
    pub offer: Offer,
    /// What it does here.
    pub what: &'static str,
    /// Why it does not apply here.
    pub refusal: Option<String>,
}

/// A finding with its offers.
#[derive(Debug, Clone)]
pub struct OfferGroup {
    pub rule: &'static Rule,
    pub severity: Severity,
    /// What is wrong, in a sentence.
    pub message: String,
    pub offers: Vec<OfferRow>,
    /// Whether the model reads a wording about it, which the lab can compare.
    pub has_words: bool,
}

impl OfferGroup {
    /// The rows of the sentence below the rule; none where it has room beside it.
    fn lines(&self) -> Vec<SafeText> {
        let message = SafeText::single_line(&self.message, 4 * MOST_LINES * LINE);
        if self.rule.id.len() + 4 + message.width() <= LINE {
            return Vec::new();
        }
        let mut lines: Vec<SafeText> = message.wrapped(LINE - 2).take(MOST_LINES + 1).collect();
        if lines.len() > MOST_LINES {
            lines.truncate(MOST_LINES);
            if let Some(last) = lines.last_mut() {
                let room = (LINE - 2).saturating_sub(REST.chars().count());
                *last = last.truncated(room);
                last.push(&SafeText::from_static(REST));
            }
        }
        lines
    }
}

/// What is chosen about a finding, by its index among those that were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chosen {
    /// The action of this id.
    Action(usize, &'static str),
    Lab(usize),
    /// The explanation of all of them.
    Explain,
    /// Everything that is safe in the session.
    FixAll,
}

/// A row of the menu.
#[derive(Debug, Clone)]
enum Row {
    /// The finding, and which row of its sentence; 0 is the one with the rule.
    Heading(usize, usize),
    /// An offer of the finding.
    Offer(usize, usize, Option<char>),
    /// The wording lab for the finding.
    Lab(usize),
}

#[derive(Debug, Clone)]
pub struct OffersMenu {
    groups: Vec<OfferGroup>,
    rows: Vec<Row>,
    cursor: ListCursor,
    /// Whether everything that is safe can be applied at once.
    fixes_all: bool,
}

impl OffersMenu {
    /// The menu of these findings; the cursor is on the first offer that applies.
    pub fn new(groups: Vec<OfferGroup>) -> Self {
        let mut rows = Vec::new();
        let mut taken = Vec::new();
        for (finding, group) in groups.iter().enumerate() {
            rows.extend((0..=group.lines().len()).map(|line| Row::Heading(finding, line)));
            for (number, offered) in group.offers.iter().enumerate() {
                // What the operator writes is the same for each finding about an item.
                let is_written = matches!(offered.offer.action, "supply-output" | "edit");
                let mut before = groups[..finding].iter();
                if is_written && before.any(|group| group.offers.contains(offered)) {
                    continue;
                }
                let key = key_of(offered.offer.action, &taken);
                taken.extend(key);
                rows.push(Row::Offer(finding, number, key));
            }
            let is_listed = rows.iter().any(|row| matches!(row, Row::Lab(_)));
            if group.has_words && !is_listed {
                rows.push(Row::Lab(finding));
            }
        }
        let mut menu = Self {
            groups,
            rows,
            cursor: ListCursor::default(),
            fixes_all: true,
        };
        let applies = |row: &Row| menu.offered(row).is_some_and(|it| it.refusal.is_none());
        let first = menu.rows.iter().position(applies);
        menu.cursor.set(first.unwrap_or(0));
        menu
    }

    /// A menu that has no key for all safe fixes where there are none.
    pub fn with_fix_all(self, fixes_all: bool) -> Self {
        Self { fixes_all, ..self }
    }

    fn offered(&self, row: &Row) -> Option<&OfferRow> {
        match row {
            Row::Heading(..) | Row::Lab(_) => None,
            Row::Offer(finding, number, _) => self.groups.get(*finding)?.offers.get(*number),
        }
    }

    /// Moves the cursor from a finding to an offer, up where there is one above.
    fn leave_heading(&mut self, up: bool) {
        let at = self.cursor.get();
        if !matches!(self.rows.get(at), Some(Row::Heading(..))) {
            return;
        }
        let is_offer = |row: &&Row| !matches!(row, Row::Heading(..));
        let above = self.rows[..at].iter().rev().position(|row| is_offer(&row));
        let below = self.rows[at..].iter().position(|row| is_offer(&row));
        let above = above.map(|steps| at - 1 - steps);
        let below = below.map(|steps| at + steps);
        let next = if up { above.or(below) } else { below.or(above) };
        self.cursor.set(next.unwrap_or(at));
    }

    /// What is under the cursor, unless it does not apply: then its reason is below anyway.
    fn choose(&self) -> Step<Chosen> {
        let row = self.rows.get(self.cursor.get());
        match (row, row.and_then(|row| self.offered(row))) {
            (Some(Row::Offer(finding, ..)), Some(offered)) if offered.refusal.is_none() => {
                Step::Done(Chosen::Action(*finding, offered.offer.action))
            }
            (Some(Row::Lab(finding)), _) => Step::Done(Chosen::Lab(*finding)),
            _ => Step::Stay,
        }
    }

    fn row(&self, frame: &mut Frame<'_>, area: Rect, number: usize, theme: &Theme) {
        let width = usize::from(area.width);
        match self.rows.get(number) {
            Some(Row::Heading(finding, line)) => {
                let Some(group) = self.groups.get(*finding) else {
                    return;
                };
                let lines = group.lines();
                let mut spans = match line {
                    0 => vec![
                        theme.sign(group.severity),
                        Span::styled(format!(" {}  ", group.rule.id), theme.title),
                    ],
                    _ => vec![Span::raw("  ")],
                };
                let words = match line.checked_sub(1) {
                    Some(line) => lines.into_iter().nth(line).unwrap_or_default(),
                    None if lines.is_empty() => SafeText::single_line(&group.message, LINE),
                    None => SafeText::default(),
                };
                let room = width.saturating_sub(spans.iter().map(Span::width).sum());
                spans.extend(theme.spans(&words.truncated(room), theme.text));
                write(frame, area, spans, Style::new(), theme);
            }
            Some(row) => {
                let spans = match (row, self.offered(row)) {
                    (Row::Offer(.., key), Some(offered)) => {
                        offer_spans(offered, *key, width, theme)
                    }
                    _ => lab_spans(width, theme),
                };
                let has_cursor = number == self.cursor.get();
                let style = if has_cursor {
                    theme.selected
                } else {
                    Style::new()
                };
                write(frame, area, spans, style, theme);
            }
            None => {}
        }
    }

    /// What the offer under the cursor does, and what its safety means, or why it does not apply; wrapped.
    fn description(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let row = self.rows.get(self.cursor.get());
        let words = match (row, row.and_then(|row| self.offered(row))) {
            (_, Some(offered)) => description(offered),
            (Some(Row::Lab(_)), None) => LAB_WORDS.to_owned(),
            _ => return,
        };
        let words = SafeText::from_str(&words);
        let lines = words.wrapped(usize::from(area.width).max(1));
        for (row, line) in rows(area).skip(1).zip(lines) {
            write(
                frame,
                row,
                theme.spans(&line, theme.dim),
                Style::new(),
                theme,
            );
        }
    }
}

impl<S> Layer<S> for OffersMenu {
    type Output = Chosen;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Offers]
    }

    fn placement(&self) -> Placement {
        Placement::Body
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step<Chosen> {
        match command(Context::Offers, &key) {
            Some(Command::Leave) => return Step::Leave,
            Some(Command::Choose) => return self.choose(),
            Some(Command::Explain) => return Step::Done(Chosen::Explain),
            Some(Command::FixAll) => return Step::Done(Chosen::FixAll),
            _ => {}
        }
        let plain = !key.modifiers.contains(KeyModifiers::CONTROL);
        if let (KeyCode::Char(letter), true) = (key.code, plain) {
            let is_meant = |row: &Row| match row {
                Row::Offer(.., key) => *key == Some(letter),
                Row::Lab(_) => letter == LAB,
                Row::Heading(..) => false,
            };
            if let Some(row) = self.rows.iter().position(is_meant) {
                self.cursor.set(row);
                return self.choose();
            }
        }
        let before = self.cursor.get();
        self.cursor.key(key, self.rows.len());
        self.leave_heading(self.cursor.get() < before);
        Step::Stay
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut S) -> Step<Chosen> {
        self.cursor.mouse(event, self.rows.len());
        self.leave_heading(false);
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let area = area.intersection(frame.area());
        let wanted = u16::try_from(self.rows.len()).unwrap_or(u16::MAX);
        let high = wanted.saturating_add(TOLD + 3);
        let title = SafeText::from_static("Fixes");
        let popup = Popup {
            title: &title,
            context: Context::Offers,
            without: if self.fixes_all {
                &[]
            } else {
                &[Command::FixAll]
            },
        };
        let inside = popup.view(frame, centred(area, WIDEST, high), theme);
        let description = (TOLD + 1).min(inside.height / 3);
        let [list, below] = split_bottom(inside, description);
        let window = self.cursor.window(list, self.rows.len());
        for (area, number) in rows(list).zip(window) {
            self.row(frame, area, number, theme);
        }
        self.description(frame, below, theme);
    }
}

/// What an offer does, and what its safety means, or why it does not apply.
fn description(offered: &OfferRow) -> String {
    match (&offered.refusal, actions::find(offered.offer.action)) {
        (Some(refusal), _) => format!("not possible: {refusal}"),
        (None, Some(_)) => {
            let safety = offered.offer.safety;
            format!(
                "{}; {}: {}",
                offered.what,
                safety.word(),
                safety_words(safety)
            )
        }
        (None, None) => String::new(),
    }
}

/// `W  wording lab           try ...`: it has no safety, and so all of the room.
fn lab_spans(width: usize, theme: &Theme) -> Vec<Span<'static>> {
    let mut spans = vec![
        Span::styled(format!(" {LAB}  "), theme.key),
        Span::styled(format!("{:<20} ", "wording lab"), theme.text),
    ];
    let what = SafeText::from_static(LAB_WORDS).truncated(width.saturating_sub(25));
    spans.extend(theme.spans(&what, theme.text));
    spans
}

/// The key that chooses an action: that of the panes, else a letter that does nothing there, from its title where that
/// has one.
fn key_of(action: &str, taken: &[char]) -> Option<char> {
    let of_panes = KEYS.iter().find(|(known, _)| *known == action);
    let is_free = |letter: &char| {
        let event = KeyCode::Char(*letter).into();
        [Context::Browse, Context::Offers]
            .iter()
            .all(|context| command(*context, &event).is_none())
    };
    let title = actions::find(action).map_or("", |action| action.title);
    let letters = title
        .chars()
        .flat_map(|letter| [letter, letter.to_ascii_uppercase()]);
    let letters = letters.filter(char::is_ascii_alphabetic);
    let letters = letters.chain('a'..='z').chain('A'..='Z').chain('6'..='9');
    let of_panes = of_panes.map(|(_, key)| *key).into_iter();
    let mut keys = of_panes.chain(letters.filter(is_free));
    keys.find(|key| !taken.contains(key))
}

/// `i  inject error   unsafe  answer the call with ...`; the reason in the place of what it does where
/// it does not apply.
fn offer_spans(
    offered: &OfferRow,
    key: Option<char>,
    width: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let Some(action) = actions::find(offered.offer.action) else {
        return Vec::new();
    };
    let applies = offered.refusal.is_none();
    let style = if applies { theme.text } else { theme.dim };
    let key = key.filter(|_| applies).unwrap_or(' ');
    let mut spans = vec![
        Span::styled(format!(" {key}  "), theme.key),
        Span::styled(format!("{:<20} ", action.title), style),
    ];
    let room = width.saturating_sub(25);
    match &offered.refusal {
        None => {
            let safety = format!("{:<7} ", offered.offer.safety.word());
            spans.push(Span::styled(safety, theme.dim));
            let what = SafeText::from_static(offered.what).truncated(room.saturating_sub(8));
            spans.extend(theme.spans(&what, style));
        }
        Some(refusal) => {
            let words = SafeText::single_line(&format!("not possible: {refusal}"), room);
            spans.extend(theme.spans(&words, theme.dim));
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::keymap::{Command, KEYMAP};
    use crate::tui::recovery::tests::fixture::{
        assert_draws_at_any_size, event, plain_screen, screen,
    };
    use retake_core::rules::RULES;

    fn group(rule: &str, message: &str, offers: Vec<OfferRow>) -> OfferGroup {
        let rule = RULES.iter().find(|known| known.id == rule).unwrap();
        OfferGroup {
            rule,
            severity: Severity::Error,
            message: message.to_owned(),
            has_words: rule.id == "unknown-tool",
            offers,
        }
    }

    fn offered(offer: Offer, refusal: Option<&str>) -> OfferRow {
        OfferRow {
            what: actions::find(offer.action).unwrap().what,
            offer,
            refusal: refusal.map(str::to_owned),
        }
    }

    fn menu() -> OffersMenu {
        OffersMenu::new(vec![
            group(
                "unknown-tool",
                "serch_\u{1b}flights is not offered; nearest: search_flights",
                vec![
                    offered(
                        Offer::unsafe_("take-suggestion"),
                        Some("search_flights has its call already"),
                    ),
                    offered(Offer::manual("inject-error"), None),
                    offered(
                        Offer::unsafe_("retry"),
                        Some("book_flight ran in this turn and may run again; confirm it first"),
                    ),
                    offered(Offer::unsafe_("drop-pair"), None),
                ],
            ),
            group(
                "orphan-call",
                "call_2 has no output",
                vec![
                    offered(Offer::manual("supply-output"), None),
                    offered(Offer::unsafe_("drop-pair"), None),
                ],
            ),
        ])
    }

    fn shown(menu: &OffersMenu, size: (u16, u16)) -> String {
        screen(size, |frame, area, theme| {
            menu.view(frame, area, &(), theme)
        })
    }

    fn chosen(finding: usize, action: &'static str) -> Step<Chosen> {
        Step::Done(Chosen::Action(finding, action))
    }

    #[test]
    fn offers_are_chosen_by_cursor_or_letter_and_say_why_they_do_not_apply() {
        let mut menu = menu();
        insta::assert_snapshot!("offers", shown(&menu, (80, 24)));
        assert_eq!(menu.key(event("enter"), &mut ()), chosen(0, "inject-error"));
        menu.key(event("j"), &mut ());
        insta::assert_snapshot!("offers_refused", shown(&menu, (60, 16)));
        assert_eq!(menu.key(event("enter"), &mut ()), Step::Stay);
        assert_eq!(
            menu.key(event("s"), &mut ()),
            Step::Stay,
            "it does not apply"
        );
        assert_eq!(menu.key(event("x"), &mut ()), chosen(0, "drop-pair"));
        assert_eq!(menu.key(event("o"), &mut ()), chosen(1, "supply-output"));
        menu.key(event("j"), &mut ());
        assert_eq!(menu.key(event("enter"), &mut ()), chosen(1, "drop-pair"));
        assert_eq!(menu.key(event("W"), &mut ()), Step::Done(Chosen::Lab(0)));
        assert_eq!(
            menu.key(event("enter"), &mut ()),
            Step::Done(Chosen::Lab(0))
        );
        insta::assert_snapshot!("offers_lab", shown(&menu, (80, 24)));
        assert_eq!(menu.key(event("esc"), &mut ()), Step::Leave);
    }

    #[test]
    fn a_long_sentence_is_shown_in_rows_and_says_where_the_rest_is() {
        let violations = "a/b: expected a number, got \"x\"; ";
        let long = OffersMenu::new(vec![group(
            "invalid-arguments",
            &violations.repeat(30),
            vec![],
        )]);
        let shown = shown(&long, (100, 20));
        assert!(shown.matches("expected a").count() > 10, "{shown}");
        assert!(shown.contains("… ! shows all"), "{shown}");
        let short = OffersMenu::new(vec![group(
            "invalid-arguments",
            &violations.repeat(3),
            vec![],
        )]);
        assert!(!self::shown(&short, (100, 20)).contains("shows all"));
    }

    #[test]
    fn the_cursor_passes_over_headings() {
        let mut menu = menu();
        for _ in 0..9 {
            menu.key(event("k"), &mut ());
        }
        assert_eq!(menu.cursor.get(), 1);
        for _ in 0..4 {
            menu.key(event("j"), &mut ());
        }
        assert_eq!(menu.cursor.get(), 5, "the lab");
        menu.key(event("j"), &mut ());
        assert_eq!(menu.cursor.get(), 7, "over the second heading");
        menu.key(event("k"), &mut ());
        assert_eq!(menu.cursor.get(), 5);
    }

    #[test]
    fn it_is_drawn_without_colour_and_utf_8_and_at_any_size() {
        let menu = menu();
        let view =
            |frame: &mut Frame<'_>, area: Rect, theme: &Theme| menu.view(frame, area, &(), theme);
        insta::assert_snapshot!("offers_plain", plain_screen((100, 16), view));
        assert_draws_at_any_size(view);
        let nothing = OffersMenu::new(Vec::new());
        assert_draws_at_any_size(|frame, area, theme| nothing.view(frame, area, &(), theme));
    }

    #[test]
    fn letters_are_those_of_the_panes_and_no_letter_moves() {
        for (action, key) in KEYS {
            assert!(actions::find(action).is_some(), "{action}");
            let event = KeyCode::Char(*key).into();
            let command = crate::tui::keymap::command(Context::Browse, &event);
            let group = KEYMAP.iter().find(|row| Some(row.command) == command);
            let group = group.map(|row| row.group);
            assert_eq!(group, Some(crate::tui::keymap::Group::Recover), "{key}");
            assert!(!matches!(command, Some(Command::Step(_))));
        }
    }

    #[test]
    fn c_continues_a_run_and_chooses_nothing() {
        let offers = actions::ACTIONS.iter();
        let offers = offers.map(|action| offered(Offer::manual(action.id), None));
        let mut menu = OffersMenu::new(vec![group("unknown-tool", "?", offers.collect())]);
        assert_eq!(menu.key(event("c"), &mut ()), Step::Stay);
        let drawn = shown(&menu, (96, 60));
        assert!(
            drawn.contains(" i  inject error") && !drawn.contains(" c  "),
            "{drawn}"
        );
    }
}
