//! One line that asks for something: a [`Prompt`] with a title, a hint and a history.
//!
//! It is kept as long as the program runs and opened again and again:
//!
//! ```text
//! prompt.open("");  ...  match prompt.key(key) { Typing::Submitted(text) => find(text), Typing::Changed => ..., ... }
//! ```

use super::keymap::{Command, Context, KeyEntry, command};
use super::layer::{Input, Layer, Placement, Step};
use super::textbox::TextBox;
use super::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Constraint::{Fill, Length};
use ratatui::layout::{Layout, Rect};
use retake_core::safe_text::SafeText;
use retake_live::search::{Needle, NeedleError};

/// The key that shows the keys of a prompt, where `?` is text.
const HELP: &str = "F1 help";
/// Cells that what is typed has at least, whatever follows it.
const SHORTEST: usize = 8;
/// The longest text that is pasted into a prompt, in bytes.
const LONGEST: usize = 16 * 1024;
/// How many entries a history keeps.
const HISTORY: usize = 100;

/// A prompt for what is searched for: `/expression/`, or a text.
pub fn search_prompt(title: &'static str, hint: &'static str) -> Prompt {
    Prompt::new(title, hint).with_check(|text| match Needle::parse(text) {
        Ok(_) | Err(NeedleError::Empty) => None,
        Err(fault) => Some(fault.to_string()),
    })
}

/// What a key did to a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typing {
    /// Nothing that concerns others.
    Pending,
    /// The text is another one now.
    Changed,
    /// The operator wants this.
    Submitted(String),
    /// The operator wants nothing.
    Cancelled,
}

/// One line that asks for something.
#[derive(Debug, Clone)]
pub struct Prompt {
    title: &'static str,
    hint: &'static str,
    help: &'static str,
    /// What can be written, where that is not any text; the help shows it.
    terms: Vec<KeyEntry>,
    textbox: TextBox,
    history: Vec<String>,
    /// Which entry of the history is shown, and what was typed before.
    recalled: Option<(usize, String)>,
    complaint: Option<SafeText>,
    /// Reports a fault of the text while it is typed; a text with one cannot be submitted.
    check: fn(&str) -> Option<String>,
    /// Whether the text is proposed: the first letter that is typed replaces it.
    is_proposed: bool,
    /// What the last word, after a comma, can be completed to.
    completions: Option<fn(&str) -> Vec<String>>,
    /// The texts that the completion key puts in turn, where several are possible, and how often it did.
    cycle: (Vec<String>, usize),
}

/// How many completions are named where there are several.
const NAMED: usize = 8;

impl Prompt {
    /// A prompt with an empty history. The title precedes the text, the hint follows it.
    pub fn new(title: &'static str, hint: &'static str) -> Self {
        Self {
            title,
            hint,
            help: HELP,
            terms: Vec::new(),
            textbox: TextBox::single(""),
            history: Vec::new(),
            recalled: None,
            complaint: None,
            check: |_| None,
            is_proposed: false,
            completions: None,
            cycle: (Vec::new(), 0),
        }
    }

    /// With completion of what follows the last comma.
    pub fn with_completions(mut self, completions: fn(&str) -> Vec<String>) -> Self {
        self.completions = Some(completions);
        self
    }

    /// With a check of what is typed.
    pub fn with_check(mut self, check: fn(&str) -> Option<String>) -> Self {
        self.check = check;
        self
    }

    /// Without the key of the help, where there is none.
    pub fn without_help(mut self) -> Self {
        self.help = "";
        self
    }

    /// With what can be written in it.
    pub fn with_terms(mut self, terms: Vec<KeyEntry>) -> Self {
        self.terms = terms;
        self.help = "? help";
        self
    }

    pub fn terms(&self) -> &[KeyEntry] {
        &self.terms
    }

    /// Whether a key shows the help: `?` does where the text is not any, and a word is to begin.
    pub fn asks_for_help(&self, key: &KeyEvent) -> bool {
        let is_asked = key.code == KeyCode::Char('?') && self.begins_word();
        is_asked || command(Context::Line, key) == Some(Command::Help)
    }

    /// Whether a word is to begin, of which `?` is none.
    fn begins_word(&self) -> bool {
        let last = self.text().chars().next_back();
        !self.terms.is_empty() && matches!(last, None | Some(' '))
    }

    /// Begins anew with this text.
    pub fn open(&mut self, text: &str) {
        self.textbox.set_text(text);
        self.recalled = None;
        self.complaint = None;
        self.is_proposed = false;
        self.cycle = (Vec::new(), 0);
    }

    /// Begins with a text that the first letter replaces, unless it is edited.
    pub fn propose(&mut self, text: &str) {
        self.open(text);
        self.is_proposed = true;
    }

    pub fn text(&self) -> String {
        self.textbox.text()
    }

    /// What is wrong with the text; shown in the place of the hint until the text changes.
    pub fn complain(&mut self, complaint: SafeText) {
        self.complaint = Some(complaint);
    }

    /// What was submitted before, the newest last.
    pub fn history(&self) -> &[String] {
        &self.history
    }

    pub fn key(&mut self, key: KeyEvent) -> Typing {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if command(Context::Line, &key) != Some(Command::Complete) {
            self.cycle = (Vec::new(), 0);
        }
        match (command(Context::Line, &key), key.code) {
            (Some(Command::Complete), _) if self.completions.is_some() => self.complete(),
            (Some(Command::Leave), _) => Typing::Cancelled,
            (Some(Command::Accept), _) => self.submit(),
            // So some terminals send enter.
            (None, KeyCode::Char('m' | 'j')) if control => self.submit(),
            (Some(Command::Value(direction)), _) => self.recall(!direction.is_forward()),
            (None, KeyCode::Backspace) if self.textbox.is_empty() => Typing::Cancelled,
            _ => {
                let is_letter = matches!(key.code, KeyCode::Char(_)) && !control;
                if std::mem::take(&mut self.is_proposed) && is_letter {
                    self.textbox.set_text("");
                }
                let is_changed = self.textbox.key(key);
                self.changed(is_changed)
            }
        }
    }

    fn complete(&mut self) -> Typing {
        if self.complete_again() {
            return Typing::Changed;
        }
        let text = self.text();
        let begun = text.rsplit(',').next().unwrap_or_default().trim_start();
        let found = self.completions.map(|find| find(begun));
        let before = &text[..text.len() - begun.len()];
        self.complete_to(before, &found.unwrap_or_default());
        Typing::Changed
    }

    /// Puts the next of several completions, which stay named; false where there are none.
    pub fn complete_again(&mut self) -> bool {
        let (texts, turn) = &mut self.cycle;
        let Some(text) = texts.get(*turn % texts.len().max(1)) else {
            return false;
        };
        *turn += 1;
        self.textbox.set_text(text);
        true
    }

    /// Completes what follows `before` as far as that is certain; says what it may be where there are several.
    pub fn complete_to(&mut self, before: &str, found: &[String]) {
        let Some(first) = found.first() else {
            return self.complain(SafeText::from_static("no matching folder or .toml file"));
        };
        let same = |one: &str, other: &str| {
            let letters = one.char_indices().zip(other.chars());
            let shared = letters.take_while(|((_, one), other)| one == other);
            shared
                .last()
                .map_or(0, |((at, letter), _)| at + letter.len_utf8())
        };
        let common = found
            .iter()
            .fold(first.len(), |most, path| most.min(same(first, path)));
        self.open(&format!("{before}{}", &first[..common]));
        if found.len() > 1 {
            let name = |path: &String| {
                let path = path.trim_end_matches('/');
                path.rsplit('/').next().unwrap_or_default().to_owned()
            };
            let names: Vec<String> = found.iter().take(NAMED).map(name).collect();
            let texts = found.iter().map(|path| format!("{before}{path}"));
            self.cycle = (texts.collect(), 0);
            let words = format!("{}: {}", found.len(), names.join("  "));
            self.complain(SafeText::single_line(&words, 200));
        }
    }

    pub fn paste(&mut self, text: &str) -> Typing {
        if text.len() > LONGEST {
            // What is that long was pasted by mistake, and every frame would lay it out.
            let words = format!("{} bytes pasted; a prompt takes {LONGEST}", text.len());
            self.complain(SafeText::from_str(&words));
            return Typing::Pending;
        }
        let is_changed = self.textbox.paste(text);
        self.changed(is_changed)
    }

    fn changed(&mut self, is_changed: bool) -> Typing {
        if !is_changed {
            return Typing::Pending;
        }
        self.check();
        self.recalled = None;
        Typing::Changed
    }

    /// Whether the text has no fault.
    fn check(&mut self) -> bool {
        let fault = (self.check)(&self.text());
        self.complaint = fault.map(|fault| SafeText::from_str(&fault));
        self.complaint.is_none()
    }

    fn submit(&mut self) -> Typing {
        if !self.check() {
            return Typing::Pending;
        }
        let text = self.text();
        if !text.is_empty() {
            self.history.retain(|entry| *entry != text);
            self.history.push(text.clone());
            let surplus = self.history.len().saturating_sub(HISTORY);
            self.history.drain(..surplus);
        }
        self.recalled = None;
        Typing::Submitted(text)
    }

    /// Shows the entry before or after the one that is shown; after the newest comes what was typed.
    fn recall(&mut self, older: bool) -> Typing {
        let (at, typed) = match self.recalled.take() {
            Some(recalled) => recalled,
            None => (self.history.len(), self.text()),
        };
        let next = if older {
            at.saturating_sub(1)
        } else {
            (at + 1).min(self.history.len())
        };
        match self.history.get(next) {
            Some(entry) => self.textbox.set_text(entry),
            None => self.textbox.set_text(&typed),
        }
        self.recalled = (next < self.history.len()).then_some((next, typed));
        if next == at {
            return Typing::Pending;
        }
        self.check();
        Typing::Changed
    }

    /// Draws the prompt in the first row of `area`.
    pub fn draw(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let row = Rect { height: 1, ..area }.intersection(frame.area());
        if row.is_empty() {
            return;
        }
        let width = usize::from(row.width);
        let title = SafeText::from_static(self.title).truncated(width);
        let typed = SafeText::single_line(&self.text(), width).width() + 1;
        let room = |note: &SafeText| width.saturating_sub(title.width() + 1 + note.width() + 2);
        let help = match self.terms.is_empty() || self.begins_word() {
            true => self.help,
            false => HELP,
        };
        let help = SafeText::from_static(help);
        let (note, style) = match &self.complaint {
            Some(complaint) => (complaint.truncated(width * 2 / 3), theme.error),
            None => {
                let mut note = SafeText::from_static(self.hint);
                if !self.hint.is_empty() && help.width() > 0 {
                    note.push(&SafeText::from_static("  "));
                }
                note.push(&help);
                (note, theme.dim)
            }
        };
        // The text always has room; the hint only where there is plenty. The key of the help is the last to go.
        let least = match self.complaint {
            Some(_) => SHORTEST,
            None => typed.max(20),
        };
        let (note, shows_note) = match room(&note) >= least {
            true => (note, true),
            false => {
                let fits = self.complaint.is_none() && room(&help) >= SHORTEST;
                (help, fits)
            }
        };
        let note_width = if shows_note { note.width() + 1 } else { 0 };
        let [title_area, input_area, note_area] = columns(row, title.width() + 1, note_width);
        frame.render_widget(theme.line(&title, theme.title), title_area);
        self.textbox.view(frame, input_area, theme);
        if shows_note {
            frame.render_widget(theme.line(&note, style).right_aligned(), note_area);
        }
    }
}

impl<S> Layer<S> for Prompt {
    type Output = String;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Line]
    }

    fn terms(&self) -> &[KeyEntry] {
        self.terms()
    }

    fn asks_for_help(&self, key: &KeyEvent) -> bool {
        self.asks_for_help(key)
    }

    fn placement(&self) -> Placement {
        Placement::Footer
    }

    fn handle(&mut self, input: Input<'_>, _: &mut S) -> Step<String> {
        let typing = match input {
            Input::Key(key) => self.key(key),
            // What was pasted is one line: it submits nothing.
            Input::Paste(text) => self.paste(text),
            Input::Mouse(_) | Input::Edited(_) => Typing::Pending,
        };
        match typing {
            Typing::Pending | Typing::Changed => Step::Stay,
            Typing::Submitted(text) => Step::Done(text),
            Typing::Cancelled => Step::Leave,
        }
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        self.draw(frame, area, theme);
    }
}

/// A row as three columns, the outer ones of known width.
fn columns(row: Rect, left: usize, right: usize) -> [Rect; 3] {
    let cells = |cells: usize, most: u16| u16::try_from(cells).unwrap_or(most).min(most);
    let left = cells(left, row.width);
    let right = cells(right, row.width - left);
    Layout::horizontal([Length(left), Fill(1), Length(right)]).areas(row)
}

#[cfg(test)]
mod tests {
    use super::super::theme::{Glyphs, Variant};
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    const THEME: fn() -> Theme = || Theme::new(Variant::Mono, Glyphs::UNICODE);

    fn press(prompt: &mut Prompt, keys: &str) -> Typing {
        let mut last = Typing::Pending;
        for character in keys.chars() {
            last = prompt.key(match character {
                '\n' => KeyCode::Enter.into(),
                '\u{1b}' => KeyCode::Esc.into(),
                '\u{8}' => KeyCode::Backspace.into(),
                '↑' => KeyCode::Up.into(),
                '↓' => KeyCode::Down.into(),
                _ => KeyCode::Char(character).into(),
            });
        }
        last
    }

    #[test]
    fn a_proposed_text_is_replaced_by_the_first_letter_or_edited() {
        let mut prompt = Prompt::new("name", "");
        prompt.propose("up to item 18");
        press(&mut prompt, "mine");
        assert_eq!(prompt.text(), "mine");
        prompt.propose("item 18");
        press(&mut prompt, "\u{8}9x");
        assert_eq!(prompt.text(), "item 19x");
    }

    fn screen(prompt: &Prompt, width: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, 1)).unwrap();
        terminal
            .draw(|frame| prompt.draw(frame, frame.area(), &THEME()))
            .unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn what_is_typed_is_shown_and_submitted() {
        let mut prompt = Prompt::new("find", "n next  N previous");
        prompt.open("");
        assert_eq!(press(&mut prompt, "serch"), Typing::Changed);
        assert_eq!(
            screen(&prompt, 60),
            "\"find serch                       n next  N previous  F1 help\"\n"
        );
        assert_eq!(screen(&prompt, 24), "\"find serch       F1 help\"\n");
        assert_eq!(screen(&prompt, 20), "\"find serch          \"\n");
        assert_eq!(
            press(&mut prompt, "\u{8}\u{8}x\n"),
            Typing::Submitted("serx".into())
        );
    }

    #[test]
    fn control_u_clears() {
        let mut prompt = Prompt::new("find", "");
        press(&mut prompt, "abc");
        let clear = KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL);
        assert_eq!(prompt.key(clear), Typing::Changed);
        assert_eq!(prompt.text(), "");
    }

    #[test]
    fn esc_and_backspace_on_nothing_leave() {
        let mut prompt = Prompt::new("find", "");
        assert_eq!(press(&mut prompt, "a\u{1b}"), Typing::Cancelled);
        prompt.open("");
        assert_eq!(press(&mut prompt, "a\u{8}"), Typing::Changed);
        assert_eq!(press(&mut prompt, "\u{8}"), Typing::Cancelled);
    }

    #[test]
    fn the_history_brings_back_what_was_submitted_and_then_what_was_typed() {
        let mut prompt = Prompt::new("find", "");
        for text in ["one\n", "two\n", "one\n"] {
            prompt.open("");
            press(&mut prompt, text);
        }
        assert_eq!(prompt.history(), ["two", "one"]);
        prompt.open("");
        press(&mut prompt, "dra↑");
        assert_eq!(prompt.text(), "one");
        press(&mut prompt, "↑↑");
        assert_eq!(prompt.text(), "two");
        press(&mut prompt, "↓↓");
        assert_eq!(prompt.text(), "dra");
    }

    #[test]
    fn a_complaint_stands_in_place_of_the_hint_until_the_text_changes() {
        let mut prompt = Prompt::new("filter", "esc leaves");
        prompt.open(".a[");
        prompt.complain(SafeText::from_str("no \u{1b}closing bracket"));
        assert_eq!(
            screen(&prompt, 40),
            "\"filter .a[           no ␛closing bracket\"\n"
        );
        press(&mut prompt, "]");
        assert!(screen(&prompt, 50).contains("esc leaves  F1 help"));
    }

    #[test]
    fn pasted_lines_become_one() {
        let mut prompt = Prompt::new("find", "");
        assert_eq!(prompt.paste("one\r\ntwo\n"), Typing::Changed);
        assert_eq!(prompt.text(), "one two");
    }

    #[test]
    fn hostile_text_reaches_the_terminal_without_its_invisible_characters() {
        let mut prompt = Prompt::new("find", "");
        prompt.open("a\u{202e}b\u{1b}[2J\u{200b}c 漢 👩\u{200d}🚀");
        let shown = screen(&prompt, 40);
        assert!(
            shown.contains("漢") && shown.contains("👩\u{200d}🚀"),
            "{shown}"
        );
        for character in ['\u{202e}', '\u{1b}', '\u{200b}'] {
            assert!(!shown.contains(character), "{shown:?}");
        }
        assert!(
            prompt.text().contains('\u{202e}'),
            "the text itself is kept"
        );
    }

    #[test]
    fn every_size_can_be_drawn() {
        let mut prompt = Prompt::new("find", "hint");
        prompt.open(&"漢字 and more ".repeat(20));
        prompt.complain(SafeText::from_str("complaint"));
        for (width, height) in [(1, 1), (2, 1), (3, 2), (7, 3), (200, 2)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal
                .draw(|frame| {
                    prompt.draw(frame, frame.area(), &THEME());
                })
                .unwrap();
        }
    }
}
