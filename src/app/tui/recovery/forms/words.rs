//! A text that an action or a run asks for: a fallback value, an output, feedback, new arguments, the first
//! message. What it is for, or what it answers, is above it.

use crate::tui::keymap::{Command, Context, Direction, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::popup::{Popup, centred, rows, rule, split_bottom, split_top, write};
use crate::tui::text::{Line, TextWindow, Tone};
use crate::tui::textbox::TextBox;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;
use std::fmt;
use std::sync::Arc;

/// The widest that the form grows.
const WIDEST: u16 = 96;
/// Least rows of the text.
const LEAST: u16 = 4;
/// Most rows of a complaint.
const COMPLAINT: u16 = 4;

/// What the form begins with.
#[derive(Debug, Clone, Default)]
pub struct WordsSetup {
    /// The title: `accept fallback: the final message`.
    pub title: String,
    /// What the text is for and what it has to satisfy, or what it answers.
    pub above: Vec<Line>,
    pub text: String,
    /// A question beside the text, and its answer so far; `None` where there is none.
    pub question: Option<(&'static str, bool)>,
    /// What is wrong with a text, shown at every change.
    pub check: TextCheck,
    /// Whether it is one of several values that can be edited one after the other.
    pub has_others: bool,
    /// Whether it is a value of one line, which enter accepts.
    pub is_line: bool,
    /// The values that are allowed, where they are few.
    pub choices: Vec<String>,
}

/// Says what is wrong with a text.
#[derive(Clone, Default)]
pub struct TextCheck(Option<Arc<CheckText>>);

type CheckText = dyn Fn(&str) -> Option<String> + Send + Sync;

impl TextCheck {
    pub fn new(check: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(check)))
    }
}

impl fmt::Debug for TextCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TextCheck")
    }
}

impl WordsSetup {
    /// A form whose text is for this purpose.
    pub fn for_purpose(title: String, purpose: &str, text: String) -> Self {
        let purpose = SafeText::from_str(purpose);
        let lines = purpose.lines().map(|line| Line::new(Tone::Dim, line));
        Self {
            title,
            above: lines.collect(),
            text,
            ..Self::default()
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenWords {
    pub text: String,
    /// The answer to the question beside it; false where there was none.
    pub is_yes: bool,
    /// Towards which other value the editing goes on.
    pub goes_on: Option<Direction>,
}

#[derive(Debug, Clone)]
pub struct WordsForm {
    title: SafeText,
    above: TextWindow,
    text: TextBox,
    question: Option<(&'static str, bool)>,
    complaint: Option<SafeText>,
    check: TextCheck,
    has_others: bool,
    is_line: bool,
    choices: Vec<String>,
}

impl WordsForm {
    pub fn new(setup: WordsSetup) -> Self {
        let mut text = TextBox::multi(&setup.text);
        if setup.text.contains('\n') {
            text.go_to_start();
        }
        let mut form = Self {
            title: SafeText::single_line(&setup.title, 200),
            above: TextWindow::new(setup.above),
            text,
            question: setup.question,
            complaint: None,
            check: setup.check,
            has_others: setup.has_others,
            is_line: setup.is_line,
            choices: setup.choices,
        };
        form.changed();
        form
    }

    /// Checks the text, which is another one now.
    fn changed(&mut self) {
        let check = self.check.0.as_ref();
        let complaint = check.and_then(|check| check(&self.text.text()));
        self.complaint = complaint.as_deref().map(SafeText::from_str);
    }

    pub fn text(&self) -> String {
        self.text.text()
    }

    /// Whether enter accepts the text, and is no line break in it.
    fn is_line(&self) -> bool {
        self.is_line && !self.text().contains('\n')
    }

    /// Puts the allowed value after the one that is there, else the first.
    fn next_choice(&mut self) {
        let text = self.text();
        let at = self.choices.iter().position(|choice| *choice == text);
        let next = at.map_or(0, |at| (at + 1) % self.choices.len());
        if let Some(choice) = self.choices.get(next) {
            self.text.replace(choice);
            self.changed();
        }
    }

    /// Says what is wrong with the text, until it changes: that it breaks the schema, and where.
    pub fn complain(&mut self, complaint: &str) {
        self.complaint = Some(SafeText::from_str(complaint));
    }

    /// `reports an error:  yes [no]  ^t`, and the complaint.
    fn foot(&self, width: usize, theme: &Theme) -> Vec<Vec<Span<'static>>> {
        let mut foot = Vec::new();
        if let Some((question, is_yes)) = self.question {
            let (yes, no) = if is_yes {
                ("[yes]", " no ")
            } else {
                (" yes ", "[no]")
            };
            let style = |is_chosen| if is_chosen { theme.title } else { theme.dim };
            foot.push(vec![
                Span::raw(format!("{question}: ")),
                Span::styled(yes, style(is_yes)),
                Span::styled(no, style(!is_yes)),
                Span::styled("  ^t", theme.key),
            ]);
        }
        let complaint = self.complaint.iter().flat_map(|it| it.wrapped(width));
        let complaint = complaint.take(COMPLAINT.into());
        foot.extend(complaint.map(|line| theme.spans(&line, theme.error)));
        foot
    }
}

impl<S> Layer<S> for WordsForm {
    type Output = WrittenWords;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Words]
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step<WrittenWords> {
        match command(Context::Words, &key) {
            Some(Command::Leave) => return Step::Leave,
            Some(Command::Editor) => return Step::Edit(self.text()),
            Some(command @ (Command::Accept | Command::Value(_)))
                if command == Command::Accept || self.has_others =>
            {
                return Step::Done(WrittenWords {
                    text: self.text(),
                    is_yes: self.question.is_some_and(|(_, is_yes)| is_yes),
                    goes_on: match command {
                        Command::Value(direction) => Some(direction),
                        _ => None,
                    },
                });
            }
            Some(Command::Choose) if self.is_line() => {
                return Step::Done(WrittenWords {
                    text: self.text(),
                    is_yes: self.question.is_some_and(|(_, is_yes)| is_yes),
                    goes_on: None,
                });
            }
            Some(Command::NextChoice) if !self.choices.is_empty() => self.next_choice(),
            Some(Command::LineBreak) if self.text.key(KeyCode::Enter.into()) => self.changed(),
            Some(Command::OtherAnswer) => {
                self.question = self.question.map(|(words, is_yes)| (words, !is_yes));
            }
            Some(Command::Preview(direction)) if self.above.is_cut() => self.above.turn(direction),
            Some(Command::Undo) if self.text.undo() => self.changed(),
            Some(Command::Redo) if self.text.redo() => self.changed(),
            None
            | Some(Command::Preview(_) | Command::Type | Command::Choose | Command::NextChoice)
                if self.text.key(key) =>
            {
                self.changed()
            }
            _ => {}
        }
        Step::Stay
    }

    fn paste(&mut self, text: &str, _: &mut S) {
        if self.text.paste(text) {
            self.changed();
        }
    }

    fn edited(&mut self, text: &str, _: &mut S) {
        // Editors end the last line, too.
        let ended = text.strip_suffix('\n');
        let ended = ended.filter(|_| !self.text().ends_with('\n'));
        self.text.replace(ended.unwrap_or(text));
        self.text.go_to_start();
        self.changed();
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let area = area.intersection(frame.area());
        let mut without = Vec::new();
        if self.question.is_none() {
            without.push(Command::OtherAnswer);
        }
        if !self.has_others {
            without.push(Command::Value(Direction::Forward));
        }
        match self.is_line() {
            // One of the two keys that accept is enough.
            true => without.push(Command::Accept),
            false => without.extend([Command::Choose, Command::LineBreak]),
        }
        if self.choices.is_empty() {
            without.push(Command::NextChoice);
        }
        if !self.above.is_cut() {
            without.extend([Direction::Forward, Direction::Backward].map(Command::Preview));
        }
        let popup = Popup {
            title: &self.title,
            context: Context::Words,
            without: &without,
        };
        let wide = WIDEST.min(area.width).saturating_sub(4);
        let foot = self.foot(usize::from(wide).max(1), theme);
        let foot_rows = u16::try_from(foot.len()).unwrap_or(COMPLAINT);
        let above = self.above.rows(wide.into(), area.height.into());
        let above = u16::try_from(above).unwrap_or(area.height);
        let text = self.text.rows(wide, area.height).max(LEAST);
        let needed = above.saturating_add(text).saturating_add(foot_rows + 4);
        let inside = popup.view(frame, centred(area, WIDEST, needed), theme);
        // The text has its rows before what is above it: that can be scrolled.
        let least = (LEAST + foot_rows + 1).min(inside.height);
        let above = above.min(inside.height - least);
        let [head, mut below] = split_top(inside, above);
        let has_more = self.above.view(frame, head, theme);
        if above > 0 && below.height > 0 {
            let words = match has_more || self.above.top() > 0 {
                true => vec![Span::styled("PgDn PgUp scroll this", theme.dim)],
                false => Vec::new(),
            };
            let bar;
            [bar, below] = split_top(below, 1);
            rule(frame, bar, words, theme);
        }
        let [text, below] = split_bottom(below, foot_rows.min(below.height));
        self.text.view(frame, text, theme);
        for (row, spans) in rows(below).zip(foot) {
            write(frame, row, spans, Style::new(), theme);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::recovery::tests::fixture::{
        assert_draws_at_any_size, events, plain_screen, screen,
    };

    fn press(form: &mut WordsForm, keys: &str) -> Step<WrittenWords> {
        let mut last = Step::Stay;
        for event in events(keys) {
            last = form.key(event, &mut ());
        }
        last
    }

    fn fallback() -> WordsForm {
        WordsForm::new(WordsSetup {
            question: Some(("include in the history that the model sees", false)),
            ..WordsSetup::for_purpose(
                "accept fallback: the final message".to_owned(),
                "The value replaces the final message. It has to satisfy the output schema: an object with answer.",
                "{\"answer\": 1}".to_owned(),
            )
        })
    }

    #[test]
    fn a_fallback_is_written_and_asked_whether_it_enters_the_history() {
        let mut form = fallback();
        form.complain("/answer: 1 is not of type \"string\"");
        let view =
            |frame: &mut Frame<'_>, area: Rect, theme: &Theme| form.view(frame, area, &(), theme);
        insta::assert_snapshot!("fallback", screen((80, 24), view));
        insta::assert_snapshot!("fallback_plain", plain_screen((60, 14), view));
        assert_draws_at_any_size(view);
        press(&mut form, r#""}""#);
        let changed = screen((80, 24), |frame, area, theme| {
            form.view(frame, area, &(), theme)
        });
        assert!(!changed.contains("is not of type"), "{changed}");
        assert!(matches!(
            press(&mut form, "^t ^s"),
            Step::Done(WrittenWords { is_yes: true, .. })
        ));
    }

    #[test]
    fn words_without_a_question_ask_none() {
        let mut form = WordsForm::new(WordsSetup::for_purpose(
            "supply output".to_owned(),
            "The result of the tool.",
            String::new(),
        ));
        let shown = screen((80, 24), |frame, area, theme| {
            form.view(frame, area, &(), theme)
        });
        assert!(
            !shown.contains("history") && !shown.contains("^t"),
            "{shown}"
        );
        press(&mut form, r#""two" enter "lines" ^t"#);
        let text = "two\nlines".to_owned();
        assert_eq!(press(&mut form, "^e"), Step::Edit(text.clone()));
        form.edited("other\n", &mut ());
        assert_eq!(
            press(&mut form, "^z F2"),
            Step::Done(WrittenWords {
                text,
                is_yes: false,
                goes_on: None,
            })
        );
        assert_eq!(press(&mut form, "esc"), Step::Leave);
        form.paste("!", &mut ());
        assert_eq!(form.text(), "two\nlines!");
    }
}
