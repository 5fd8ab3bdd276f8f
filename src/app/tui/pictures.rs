//! The pictures of an item, where the terminal draws some.
//!
//! The environment says what the terminal draws: a question to it could stay without an answer, or be answered
//! among the keys.

use crate::tui::keymap::{Command, Context, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::list::motion;
use crate::tui::popup::{Popup, rows, write};
use crate::tui::theme::Theme;
use image::{DynamicImage, ImageReader, Limits};
use ratatui::Frame;
use ratatui::crossterm::event::KeyEvent;
use ratatui::crossterm::terminal;
use ratatui::layout::{Rect, Size};
use ratatui::style::Style;
use ratatui_image::picker::{Picker, ProtocolType};
use ratatui_image::protocol::Protocol;
use ratatui_image::{FontSize, Image, Resize};
use retake_core::safe_text::SafeText;
use std::cell::RefCell;
use std::io::Cursor;

/// Sets the protocol where the environment does not say it, or `none`.
const VARIABLE: &str = "RETAKE_IMAGES";
/// Most pixels of a side, and most bytes of memory that decoding takes.
const SIDE: u32 = 16_384;
const MEMORY: u64 = 256 << 20;
/// Pixels of a cell where the terminal does not say.
const CELL: FontSize = FontSize::new(10, 20);

/// What draws pictures on this terminal; `None` where nothing does. A multiplexer draws none.
pub(super) fn picker(variable: &dyn Fn(&str) -> Option<String>) -> Option<Picker> {
    let protocol = protocol(variable)?;
    let cell = terminal::window_size().ok().and_then(|size| {
        let width = size.width.checked_div(size.columns)?;
        let height = size.height.checked_div(size.rows)?;
        (width > 0 && height > 0).then(|| FontSize::new(width, height))
    });
    // The other ways to make one ask the terminal.
    #[allow(deprecated)]
    let mut picker = Picker::from_fontsize(cell.unwrap_or(CELL));
    picker.set_protocol_type(protocol);
    Some(picker)
}

fn protocol(variable: &dyn Fn(&str) -> Option<String>) -> Option<ProtocolType> {
    let value = |name: &str| variable(name).filter(|value| !value.is_empty());
    let term = value("TERM").unwrap_or_default();
    let program = value("TERM_PROGRAM")
        .or_else(|| value("LC_TERMINAL"))
        .unwrap_or_default();
    let is_multiplexed = ["tmux", "screen", "dumb"]
        .iter()
        .any(|it| term.starts_with(it));
    if value("NO_COLOR").is_some() || value("TMUX").is_some() || is_multiplexed {
        return None;
    }
    match value(VARIABLE).as_deref() {
        Some("kitty") => return Some(ProtocolType::Kitty),
        Some("iterm2") => return Some(ProtocolType::Iterm2),
        Some("sixel") => return Some(ProtocolType::Sixel),
        Some(_) => return None,
        None => {}
    }
    match (&*program, &*term) {
        ("ghostty", _) | (_, "xterm-kitty" | "xterm-ghostty") => Some(ProtocolType::Kitty),
        ("iTerm.app" | "iTerm2" | "WezTerm", _) => Some(ProtocolType::Iterm2),
        (_, "foot" | "foot-extra" | "mlterm" | "contour") => Some(ProtocolType::Sixel),
        _ => None,
    }
}

/// The pictures of an item over the screen, one at a time.
pub(super) struct PictureView {
    picker: Picker,
    files: Vec<Vec<u8>>,
    shown: usize,
    picture: Result<DynamicImage, String>,
    /// The picture as it is drawn in an area of this size.
    drawn: RefCell<Option<(Size, Result<Protocol, String>)>>,
}

impl PictureView {
    /// The first of some files.
    pub(super) fn new(picker: Picker, files: Vec<Vec<u8>>) -> Self {
        let mut view = Self {
            picker,
            files,
            shown: 0,
            picture: Err(String::new()),
            drawn: RefCell::new(None),
        };
        view.show(0);
        view
    }

    fn show(&mut self, number: usize) {
        let file = self.files.get(number).map_or(&[][..], Vec::as_slice);
        self.picture = decode(file);
        self.shown = number;
        self.drawn.replace(None);
    }
}

fn decode(file: &[u8]) -> Result<DynamicImage, String> {
    let mut limits = Limits::default();
    limits.max_image_width = Some(SIDE);
    limits.max_image_height = Some(SIDE);
    limits.max_alloc = Some(MEMORY);
    let reader = ImageReader::new(Cursor::new(file)).with_guessed_format();
    let mut reader = reader.map_err(|error| error.to_string())?;
    reader.limits(limits);
    reader.decode().map_err(|error| error.to_string())
}

impl<S> Layer<S> for PictureView {
    type Output = ();

    fn contexts(&self) -> &'static [Context] {
        &[Context::Offers]
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step {
        if command(Context::Offers, &key) == Some(Command::Leave) {
            return Step::Leave;
        }
        if let Some((_, direction)) = motion(key, 1) {
            let next = match direction.is_forward() {
                true => (self.shown + 1).min(self.files.len().saturating_sub(1)),
                false => self.shown.saturating_sub(1),
            };
            if next != self.shown {
                self.show(next);
            }
        }
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let title = format!("picture {}/{}", self.shown + 1, self.files.len());
        let popup = Popup {
            title: &SafeText::from_str(&title),
            context: Context::Offers,
            without: &[Command::Choose],
        };
        let inside = popup.view(frame, area, theme);
        if inside.is_empty() {
            return;
        }
        let mut drawn = self.drawn.borrow_mut();
        if drawn
            .as_ref()
            .is_none_or(|(size, _)| *size != inside.as_size())
        {
            let picture = self.picture.clone().and_then(|picture| {
                let made = self
                    .picker
                    .new_protocol(picture, inside.as_size(), Resize::Fit(None));
                made.map_err(|error| error.to_string())
            });
            *drawn = Some((inside.as_size(), picture));
        }
        match drawn.as_ref().map(|(_, picture)| picture) {
            Some(Ok(picture)) => frame.render_widget(Image::new(picture), inside),
            Some(Err(reason)) => {
                let words = format!("cannot read the image: {reason}");
                let words = SafeText::single_line(&words, inside.width.into());
                if let Some(row) = rows(inside).next() {
                    write(
                        frame,
                        row,
                        theme.spans(&words, theme.error),
                        Style::new(),
                        theme,
                    );
                }
            }
            None => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tui::recovery::tests::fixture::{event, screen};
    use image::ImageFormat;

    fn png() -> Vec<u8> {
        let mut file = Cursor::new(Vec::new());
        let picture = DynamicImage::new_rgb8(40, 20);
        picture.write_to(&mut file, ImageFormat::Png).unwrap();
        file.into_inner()
    }

    fn view(protocol: ProtocolType, files: Vec<Vec<u8>>) -> PictureView {
        let mut picker = Picker::halfblocks();
        picker.set_protocol_type(protocol);
        PictureView::new(picker, files)
    }

    fn shown(view: &PictureView) -> String {
        screen((40, 12), |frame, area, theme| {
            view.view(frame, area, &(), theme)
        })
    }

    #[test]
    fn the_environment_says_what_the_terminal_draws_with() {
        let with = |variables: &[(&str, &str)]| {
            protocol(&|name| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(with(&[("TERM", "xterm-kitty")]), Some(ProtocolType::Kitty));
        let iterm = [("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")];
        assert_eq!(with(&iterm), Some(ProtocolType::Iterm2));
        assert_eq!(with(&[("TERM", "foot")]), Some(ProtocolType::Sixel));
        assert_eq!(
            with(&[("TERM", "xterm"), (VARIABLE, "sixel")]),
            Some(ProtocolType::Sixel)
        );
        for without in [("TMUX", "/tmp/x"), ("NO_COLOR", "1"), (VARIABLE, "none")] {
            assert_eq!(
                with(&[("TERM", "xterm-kitty"), without]),
                None,
                "{without:?}"
            );
        }
        for term in ["tmux-256color", "screen", "dumb", "xterm", ""] {
            assert_eq!(with(&[("TERM", term)]), None, "{term}");
        }
    }

    #[test]
    fn each_protocol_draws_the_picture_and_what_is_none_says_so() {
        let begins = [
            (ProtocolType::Kitty, "\u{1b}_Gq=2,"),
            (ProtocolType::Iterm2, "\u{1b}]1337;File="),
            (ProtocolType::Sixel, "\u{1b}P"),
        ];
        for (protocol, begin) in begins {
            let mut view = view(protocol, vec![png(), b"\x89PNG\r\n\x1a\n\x1b[31m".to_vec()]);
            assert!(shown(&view).contains(begin), "{protocol:?}");
            Layer::<()>::key(&mut view, event("j"), &mut ());
            let broken = shown(&view);
            assert!(
                broken.contains("picture 2/2") && broken.contains("cannot read the image"),
                "{broken}"
            );
            assert!(!broken.contains('\u{1b}'));
            Layer::<()>::key(&mut view, event("k"), &mut ());
            assert!(shown(&view).contains(begin));
            assert_eq!(
                Layer::<()>::key(&mut view, event("esc"), &mut ()),
                Step::Leave
            );
            for size in [(1, 1), (2, 5), (5, 2), (6, 3), (200, 4), (4, 60)] {
                screen(size, |frame, area, theme| {
                    view.view(frame, area, &(), theme)
                });
            }
        }
    }
}
