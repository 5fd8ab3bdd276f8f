//! The save dialog: where to, in which format, and what that format cannot say. Whether a file is there already
//! is checked when it is written; [`SaveDialog::ask_to_overwrite`] brings the answer back.

use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::popup::{Popup, centred, rows, split_right, write};
use crate::tui::textbox::TextBox;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::KeyEvent;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;

/// The widest that the dialog grows.
const WIDEST: u16 = 96;
/// Endings of recordings that a new name leaves out.
pub const ENDINGS: [&str; 11] = [
    ".jsonl", ".json", ".zst", ".gz", ".db", ".sqlite", ".yaml", ".yml", ".har", ".flow", ".mitm",
];

/// What tells a copy from its recording.
pub const COPY: &str = ".copy";

/// A format that a take can be saved in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaveFormat {
    pub id: &'static str,
    /// What it is called: `as recorded (openai-responses)`.
    pub title: String,
    /// How files of it end: `.jsonl`.
    pub ending: String,
    /// Where it is looked for, where that is in one place.
    pub path: Option<String>,
    /// What it cannot say, a sentence each.
    pub losses: Vec<String>,
    /// Where its tools are, where they are in a file of their own.
    pub tools: String,
}

/// How a take is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Save {
    /// Where to, as it was typed.
    pub path: String,
    /// Id of the format.
    pub format: &'static str,
    /// Whether a file that is there already may be replaced.
    pub force: bool,
}

#[derive(Debug, Clone)]
pub struct SaveDialog {
    /// The recording, which is never written to.
    recording: String,
    path: TextBox,
    proposed: String,
    stem: String,
    formats: Vec<SaveFormat>,
    chosen: usize,
    asks_to_overwrite: bool,
    complaint: Option<SafeText>,
}

/// The name of a take's file: beside the recording, `airline-12.take-2`, or `airline-12.copy` of the recording
/// itself, without its ending.
pub fn stem(recording: &str, take: u32) -> String {
    let mut stem = recording;
    while let Some(shorter) = ENDINGS.iter().find_map(|ending| stem.strip_suffix(ending)) {
        stem = shorter;
    }
    let name = stem.rsplit('/').next().unwrap_or_default();
    let stem = match (recording, name) {
        ("-" | "", _) => "session",
        (_, "") => recording,
        _ => stem,
    };
    match take {
        0 => format!("{stem}{COPY}"),
        take => format!("{stem}.take-{take}"),
    }
}

impl SaveDialog {
    /// Opens the dialog for a take of this recording. The first format is the recording's own.
    pub fn new(recording: &str, take: u32, formats: Vec<SaveFormat>) -> Self {
        let mut dialog = Self {
            recording: recording.to_owned(),
            path: TextBox::single(""),
            proposed: String::new(),
            stem: stem(recording, take),
            formats,
            chosen: 0,
            asks_to_overwrite: false,
            complaint: None,
        };
        dialog.propose();
        dialog
    }

    fn propose(&mut self) {
        let format = self.formats.get(self.chosen);
        let ending = format.map_or(".jsonl", |format| &format.ending);
        let own = format.and_then(|format| format.path.clone());
        let is_recording = ENDINGS.contains(&ending);
        self.proposed = own.unwrap_or_else(|| match is_recording {
            true => format!("{}{ending}", self.stem),
            // No recording has such a name.
            false => format!("{}{ending}", self.stem.trim_end_matches(COPY)),
        });
        self.path.set_text(&self.proposed);
    }

    /// Asks whether the file that is there already is to be replaced.
    pub fn ask_to_overwrite(&mut self) {
        self.asks_to_overwrite = true;
    }

    /// Says why the take could not be written.
    pub fn complain(&mut self, complaint: &str) {
        self.complaint = Some(SafeText::from_str(complaint));
    }

    /// The table whose keys hold.
    fn context(&self) -> Context {
        match self.asks_to_overwrite {
            true => Context::Question,
            false => Context::Saving,
        }
    }

    fn save(&mut self, force: bool) -> Step<Save> {
        self.asks_to_overwrite = false;
        let path = self.path.text();
        let complaint = match self.formats.get(self.chosen) {
            None => "no format to save in",
            Some(_) if path.trim().is_empty() => "enter a path",
            Some(_) if path == self.recording => {
                "this is the recording itself, which is never changed; choose another name"
            }
            Some(format) => {
                return Step::Done(Save {
                    path,
                    format: format.id,
                    force,
                });
            }
        };
        self.complaint = Some(SafeText::from_static(complaint));
        Step::Stay
    }

    /// What is below the formats: the question, the complaint, or what the format cannot say.
    fn status(&self, width: usize, theme: &Theme) -> Vec<Vec<Span<'static>>> {
        let wrapped = |text: &SafeText, style| -> Vec<_> {
            let lines = text.wrapped(width);
            lines.map(|line| theme.spans(&line, style)).collect()
        };
        if self.asks_to_overwrite {
            let words = SafeText::from_static("File exists. Overwrite?");
            return wrapped(&words, theme.warning);
        }
        if let Some(complaint) = &self.complaint {
            return wrapped(complaint, theme.error);
        }
        let losses = match self.formats.get(self.chosen) {
            Some(format) if format.losses.is_empty() => {
                let words = match &*format.tools {
                    "" => "nothing is lost".to_owned(),
                    tools => format!("nothing is lost; {tools}"),
                };
                return wrapped(&SafeText::from_str(&words), theme.dim);
            }
            Some(format) => &format.losses,
            None => return Vec::new(),
        };
        let lines = losses.iter().flat_map(|loss| {
            let mut text = SafeText::from_static("lost: ");
            text.push(&SafeText::from_str(loss));
            wrapped(&text, theme.warning)
        });
        lines.collect()
    }
}

impl<S> Layer<S> for SaveDialog {
    type Output = Save;

    fn contexts(&self) -> &'static [Context] {
        match self.asks_to_overwrite {
            true => &[Context::Question],
            false => &[Context::Saving],
        }
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step<Save> {
        match command(self.context(), &key) {
            Some(Command::Yes) => return self.save(true),
            Some(Command::No) => self.asks_to_overwrite = false,
            Some(Command::Leave) if self.asks_to_overwrite => self.asks_to_overwrite = false,
            Some(Command::Leave) => return Step::Leave,
            Some(Command::Accept) => return self.save(false),
            Some(Command::Value(direction)) => {
                let count = self.formats.len().max(1);
                let step = if direction.is_forward() { 1 } else { count - 1 };
                self.chosen = (self.chosen + step) % count;
                // A path of the operator's own stays as it is.
                if self.path.text() == self.proposed {
                    self.propose();
                }
                self.complaint = None;
            }
            None | Some(Command::Type) if self.asks_to_overwrite => {}
            None | Some(Command::Type) if self.path.key(key) => self.complaint = None,
            _ => {}
        }
        Step::Stay
    }

    fn paste(&mut self, text: &str, _: &mut S) {
        if !self.asks_to_overwrite && self.path.paste(text) {
            self.complaint = None;
        }
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let area = area.intersection(frame.area());
        let title = SafeText::from_static("save as");
        let popup = Popup {
            title: &title,
            context: self.context(),
            without: &[],
        };
        let width = usize::from(WIDEST.min(area.width).saturating_sub(4)).max(1);
        let status = self.status(width, theme);
        let high = u16::try_from(self.formats.len() + status.len() + 5).unwrap_or(u16::MAX);
        let inside = popup.view(frame, centred(area, WIDEST, high), theme);
        let mut rows = rows(inside);
        if let Some(row) = rows.next() {
            write(
                frame,
                row,
                vec![Span::styled("path ", theme.title)],
                Style::new(),
                theme,
            );
            let [_, typed] = split_right(row, row.width.saturating_sub(5));
            self.path.view(frame, typed, theme);
        }
        rows.next();
        for (number, format) in self.formats.iter().enumerate() {
            let Some(row) = rows.next() else { return };
            let is_chosen = number == self.chosen;
            let mark = if is_chosen { "(*) " } else { "( ) " };
            let mut spans = vec![Span::raw(mark)];
            let style = if is_chosen { theme.title } else { theme.text };
            spans.extend(theme.spans(&SafeText::single_line(&format.title, width), style));
            write(frame, row, spans, Style::new(), theme);
        }
        rows.next();
        for (row, spans) in rows.zip(status) {
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

    fn dialog() -> SaveDialog {
        let format = |id, title: &str, ending: &str, losses: &[&str]| SaveFormat {
            id,
            title: title.to_owned(),
            ending: ending.to_owned(),
            path: None,
            losses: losses.iter().map(|loss| (*loss).to_owned()).collect(),
            tools: String::new(),
        };
        let formats = vec![
            format("own", "as recorded (openai-responses)", ".jsonl", &[]),
            format("responses", "Responses items", ".json", &[]),
            format(
                "chat",
                "Chat messages",
                ".json",
                &["2 reasoning items: Chat has none", "the ids of 5 items"],
            ),
            format("anthropic", "Anthropic messages", ".json", &[]),
        ];
        SaveDialog::new("runs/airline-12.jsonl.zst", 2, formats)
    }

    fn press(dialog: &mut SaveDialog, keys: &str) -> Step<Save> {
        let mut last = Step::Stay;
        for event in events(keys) {
            last = dialog.key(event, &mut ());
        }
        last
    }

    fn saved(path: &str, format: &'static str, force: bool) -> Step<Save> {
        Step::Done(Save {
            path: path.to_owned(),
            format,
            force,
        })
    }

    fn shown(dialog: &SaveDialog, size: (u16, u16)) -> String {
        screen(size, |frame, area, theme| {
            dialog.view(frame, area, &(), theme)
        })
    }

    #[test]
    fn a_take_is_saved_beside_its_recording_in_a_format_of_choice() {
        let mut dialog = dialog();
        assert_eq!(
            press(&mut dialog, "enter"),
            saved("runs/airline-12.take-2.jsonl", "own", false)
        );
        press(&mut dialog, "tab tab");
        insta::assert_snapshot!("save", shown(&dialog, (80, 16)));
        assert_eq!(
            press(&mut dialog, "enter"),
            saved("runs/airline-12.take-2.json", "chat", false)
        );
        assert_eq!(
            press(&mut dialog, "S-tab S-tab ^u \"x.json\" tab enter"),
            saved("x.json", "responses", false)
        );
        assert_eq!(press(&mut dialog, "esc"), Step::Leave);
    }

    #[test]
    fn a_format_that_is_looked_for_in_one_place_proposes_that() {
        let mut dialog = dialog();
        dialog.formats[1].path = Some("/store/id.jsonl".to_owned());
        assert_eq!(
            press(&mut dialog, "tab enter"),
            saved("/store/id.jsonl", "responses", false)
        );
        press(&mut dialog, "tab");
        assert_eq!(
            press(&mut dialog, "enter"),
            saved("runs/airline-12.take-2.json", "chat", false)
        );
    }

    #[test]
    fn a_file_that_is_there_is_replaced_only_when_asked() {
        let mut dialog = dialog();
        dialog.ask_to_overwrite();
        insta::assert_snapshot!("overwrite", shown(&dialog, (60, 14)));
        assert_eq!(press(&mut dialog, "enter \"z\" n"), Step::Stay);
        assert_eq!(
            press(&mut dialog, "enter"),
            saved("runs/airline-12.take-2.jsonl", "own", false)
        );
        dialog.ask_to_overwrite();
        assert_eq!(
            press(&mut dialog, "y"),
            saved("runs/airline-12.take-2.jsonl", "own", true)
        );
        dialog.complain("permission denied");
        assert!(shown(&dialog, (80, 16)).contains("permission denied"));
    }

    #[test]
    fn the_recording_is_never_written_to() {
        let mut dialog = dialog();
        assert_eq!(
            press(&mut dialog, "^u \"runs/airline-12.jsonl.zst\" enter"),
            Step::Stay
        );
        assert!(shown(&dialog, (80, 16)).contains("which is never changed"));
        assert_eq!(press(&mut dialog, "^u enter"), Step::Stay);
        assert!(shown(&dialog, (80, 16)).contains("enter a path"));
        dialog.paste("a\nb", &mut ());
        assert!(!shown(&dialog, (80, 16)).contains("enter a path"));
    }

    #[test]
    fn names_of_takes_follow_the_recording() {
        assert_eq!(stem("a.jsonl", 1), "a.take-1");
        assert_eq!(stem("dir/b", 12), "dir/b.take-12");
        assert_eq!(stem("a.har", 0), "a.copy");
        assert_eq!(stem("a.yaml.gz", 0), "a.copy");
        assert_eq!(stem("-", 3), "session.take-3");
        assert_eq!(stem("dir/.json", 3), "dir/.json.take-3");
    }

    #[test]
    fn it_is_drawn_without_colour_and_utf_8_and_at_any_size() {
        let mut dialog = dialog();
        press(&mut dialog, "tab tab");
        let view =
            |frame: &mut Frame<'_>, area: Rect, theme: &Theme| dialog.view(frame, area, &(), theme);
        assert!(plain_screen((60, 16), view).contains("(*) Chat messages"));
        assert_draws_at_any_size(view);
    }
}
