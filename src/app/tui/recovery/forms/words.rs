//! A text that an action asks for: a fallback value, an output, feedback, new arguments.

use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::popup::{Popup, centred, rows, rule, write};
use crate::tui::textbox::TextBox;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::KeyEvent;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;

/// The widest that the form grows.
const WIDEST: u16 = 96;
/// Most rows of words above the text, and of a complaint below it.
const TOLD: u16 = 4;

/// What the form begins with.
#[derive(Debug, Clone, Default)]
pub struct WordsSetup {
    /// What is asked for: `accept fallback: the final message`.
    pub title: String,
    /// What the text is for and what it has to satisfy.
    pub purpose: String,
    /// The text that stands there already.
    pub text: String,
    /// Whether the value enters the history that the model sees later; `None` where that is no question.
    pub in_history: Option<bool>,
}

/// The words that were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub text: String,
    /// Whether the value enters the history; false where that was no question.
    pub in_history: bool,
}

#[derive(Debug, Clone)]
pub struct WordsForm {
    title: SafeText,
    purpose: SafeText,
    text: TextBox,
    in_history: Option<bool>,
    complaint: Option<SafeText>,
}

impl WordsForm {
    pub fn new(setup: &WordsSetup) -> Self {
        let mut text = TextBox::multi(&setup.text);
        text.go_to_start();
        Self {
            title: SafeText::single_line(&setup.title, 200),
            purpose: SafeText::from_str(&setup.purpose),
            text,
            in_history: setup.in_history,
            complaint: None,
        }
    }

    /// The text so far.
    pub fn text(&self) -> String {
        self.text.text()
    }

    /// Says what is wrong with the text, until it changes: that it breaks the schema, and where.
    pub fn complain(&mut self, complaint: &str) {
        self.complaint = Some(SafeText::from_str(complaint));
    }
}

impl<S> Layer<S> for WordsForm {
    type Output = Written;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Words]
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step<Written> {
        match command(Context::Words, &key) {
            Some(Command::Leave) => return Step::Leave,
            Some(Command::Editor) => return Step::Edit(self.text()),
            Some(Command::Accept) => {
                return Step::Done(Written {
                    text: self.text(),
                    in_history: self.in_history.unwrap_or(false),
                });
            }
            Some(Command::OtherAnswer) => self.in_history = self.in_history.map(|answer| !answer),
            Some(Command::Undo) if self.text.undo() => self.complaint = None,
            Some(Command::Redo) if self.text.redo() => self.complaint = None,
            Some(_) => {}
            None if self.text.key(key) => self.complaint = None,
            None => {}
        }
        Step::Stay
    }

    fn paste(&mut self, text: &str, _: &mut S) {
        if self.text.paste(text) {
            self.complaint = None;
        }
    }

    fn edited(&mut self, text: &str, _: &mut S) {
        self.text.replace(text.strip_suffix('\n').unwrap_or(text));
        self.text.go_to_start();
        self.complaint = None;
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let area = area.intersection(frame.area());
        let without: &[Command] = if self.in_history.is_some() {
            &[]
        } else {
            &[Command::OtherAnswer]
        };
        let popup = Popup {
            title: &self.title,
            context: Context::Words,
            without,
        };
        let wide = WIDEST.min(area.width).saturating_sub(4);
        let high = self
            .text
            .rows(wide, area.height)
            .saturating_add(2 * TOLD + 6);
        let high = high.clamp(14, area.height.saturating_mul(3) / 4 + 14);
        let inside = popup.view(frame, centred(area, WIDEST, high), theme);
        let width = usize::from(inside.width).max(1);
        let purpose: Vec<_> = self.purpose.wrapped(width).take(TOLD.into()).collect();
        let above = u16::try_from(purpose.len())
            .unwrap_or(TOLD)
            .min(inside.height / 3);
        for (row, line) in rows(inside).take(above.into()).zip(purpose) {
            write(frame, row, theme.spans(&line, theme.dim), Style::new());
        }
        let bar = Rect {
            y: inside.y + above,
            height: 1.min(inside.height - above),
            ..inside
        };
        rule(frame, bar, Vec::new(), theme);
        let above = above + bar.height;
        let said: Vec<_> = self
            .complaint
            .iter()
            .flat_map(|it| it.wrapped(width))
            .collect();
        let said_high = u16::try_from(said.len()).unwrap_or(TOLD).min(TOLD);
        let asks = u16::from(self.in_history.is_some());
        let below = (said_high + asks).min(inside.height - above);
        let text = Rect {
            y: inside.y + above,
            height: inside.height - above - below,
            ..inside
        };
        self.text.view(frame, text, theme);
        let foot = Rect {
            y: text.bottom(),
            height: below,
            ..inside
        };
        let mut foot = rows(foot);
        if let Some((in_history, row)) = self.in_history.and_then(|it| Some((it, foot.next()?))) {
            write(frame, row, answer(in_history, theme), Style::new());
        }
        for (row, line) in foot.zip(said) {
            write(frame, row, theme.spans(&line, theme.error), Style::new());
        }
    }
}

/// `into the history that the model sees: [yes] no   ^t`.
fn answer(in_history: bool, theme: &Theme) -> Vec<Span<'static>> {
    let (yes, no) = if in_history {
        ("[yes]", " no ")
    } else {
        (" yes ", "[no]")
    };
    let style = |is_chosen| if is_chosen { theme.title } else { theme.dim };
    vec![
        Span::raw("into the history that the model sees: "),
        Span::styled(yes, style(in_history)),
        Span::styled(no, style(!in_history)),
        Span::styled("  ^t", theme.key),
    ]
}

#[cfg(test)]
mod tests {
    use crate::tui::recovery::tests::fixture::{assert_draws_at_any_size, events, plain_screen, screen};
    use super::*;

    fn press(form: &mut WordsForm, keys: &str) -> Step<Written> {
        let mut last = Step::Stay;
        for event in events(keys) {
            last = form.key(event, &mut ());
        }
        last
    }

    fn fallback() -> WordsForm {
        WordsForm::new(&WordsSetup {
            title: "accept fallback: the final message".to_owned(),
            purpose: "The value stands in the place of the final message. It has to satisfy the output schema: an object with answer."
                .to_owned(),
            text: "{\"answer\": 1}".to_owned(),
            in_history: Some(false),
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
            Step::Done(Written {
                in_history: true,
                ..
            })
        ));
    }

    #[test]
    fn words_without_a_question_ask_none() {
        let mut form = WordsForm::new(&WordsSetup {
            title: "supply output".to_owned(),
            purpose: "What the tool would have said.".to_owned(),
            ..WordsSetup::default()
        });
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
            press(&mut form, "^u F2"),
            Step::Done(Written {
                text,
                in_history: false
            })
        );
        assert_eq!(press(&mut form, "esc"), Step::Leave);
        form.paste("!", &mut ());
        assert_eq!(form.text(), "two\nlines!");
    }
}
