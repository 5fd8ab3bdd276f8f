//! How things look, by meaning: styles, glyphs, and the way foreign text becomes a line on the screen.
//!
//! Views ask for `theme.error` or `theme.glyphs.error`, never for a colour or a character. The words keep the
//! terminal's own foreground, colours are ANSI names only, and neither white, black nor yellow colours a text,
//! since one of them is unreadable on somebody's background. Colour never carries a meaning alone: a glyph or a
//! word stands beside it.
//!
//! [`Theme::choose`] decides from flags and environment. It asks the terminal nothing, because no
//! answer may stand before the first paint; a caller that learns the background later draws on with
//! [`Theme::new`]. Crossterm drops colours itself under `NO_COLOR`: whoever lets `--theme dark` win
//! over it calls `crossterm::style::force_color_output(true)`.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;
use ratatui::text::{Line, Span};
use ratatui::widgets::Block;
use retake_core::content::{Colour, Look};
use retake_core::rules::Severity;
use retake_core::safe_text::{SafeText, TextMark};
use retake_core::session::Kind;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What colours the terminal has, and on which background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Bright colours for a dark background.
    Dark,
    /// Deep colours for a light background.
    Light,
    /// Only the eight base colours, chosen to be readable on any background.
    Ansi16,
    /// No colour: bold, reverse and underline.
    Mono,
}

impl Variant {
    /// Every variant with its word on the command line.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Dark, "dark"),
        (Self::Light, "light"),
        (Self::Ansi16, "ansi16"),
        (Self::Mono, "mono"),
    ];

    /// The variant that the environment speaks for. `variable` looks a variable up.
    fn choose(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let term = variable("TERM").unwrap_or_default();
        let no_color = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        if no_color || term == "dumb" || term.starts_with("vt") {
            return Self::Mono;
        }
        let colorterm = variable("COLORTERM").unwrap_or_default();
        if colorterm.is_empty() && !term.contains("256color") && !term.contains("direct") {
            return Self::Ansi16;
        }
        // `foreground;background`, rxvt puts a word between; 0-6 and 8 are the dark colours.
        let background = variable("COLORFGBG")
            .and_then(|value| value.rsplit(';').next().and_then(|last| last.parse().ok()));
        match background {
            Some(0_u8..=6 | 8) => Self::Dark,
            Some(7 | 9..=15) => Self::Light,
            _ => Self::Ansi16,
        }
    }
}

/// The characters of the frame and of the signs, each one cell wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    pub error: &'static str,
    pub warning: &'static str,
    /// A finding of the mildest sort.
    pub info: &'static str,
    pub ok: &'static str,
    /// A call and its output.
    pub pair: &'static str,
    /// The row with the cursor, and a branch that is folded.
    pub cursor: &'static str,
    /// A branch that is unfolded.
    pub unfolded: &'static str,
    /// Something was left out.
    pub more: &'static str,
    /// A row that the operator marked.
    pub marked: &'static str,
    /// A row that the operator wrote a note on.
    pub note: &'static str,
    pub vertical: &'static str,
    pub horizontal: &'static str,
    /// Between short facts in one row.
    pub dot: &'static str,
    pub up: &'static str,
    pub down: &'static str,
    /// A branch of a tree with others below it.
    pub branch: &'static str,
    /// The left edge of what has the cursor.
    pub edge: &'static str,
    /// The part of the whole that is seen.
    pub thumb: &'static str,
    /// How a live run stands.
    pub run: &'static str,
    /// The frame of a pane.
    pub border: border::Set<'static>,
    /// Whether only ASCII may be drawn.
    pub ascii: bool,
}

impl Glyphs {
    /// For terminals that take UTF-8.
    pub const UNICODE: Self = Self {
        error: "●",
        warning: "▲",
        info: "○",
        ok: "✓",
        pair: "⇄",
        cursor: "▸",
        unfolded: "▾",
        more: "…",
        marked: "◆",
        note: "¶",
        vertical: "│",
        horizontal: "─",
        dot: "·",
        up: "↑",
        down: "↓",
        branch: "├",
        edge: "▌",
        thumb: "█",
        run: "●",
        border: border::PLAIN,
        ascii: false,
    };

    /// For those that do not, and for `--ascii`.
    pub const ASCII: Self = Self {
        error: "x",
        warning: "!",
        info: "i",
        ok: "+",
        pair: "=",
        cursor: ">",
        unfolded: "v",
        more: "~",
        marked: "*",
        note: "n",
        vertical: "|",
        horizontal: "-",
        dot: "-",
        up: "^",
        down: "v",
        branch: "+",
        edge: ">",
        thumb: "#",
        run: "*",
        border: border::Set {
            top_left: "+",
            top_right: "+",
            bottom_left: "+",
            bottom_right: "+",
            vertical_left: "|",
            vertical_right: "|",
            horizontal_top: "-",
            horizontal_bottom: "-",
        },
        ascii: true,
    };

    /// The set that the locale speaks for. Where no locale is set at all, as in many
    /// containers, UTF-8 is assumed.
    fn choose(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .find_map(|name| variable(name).filter(|value| !value.is_empty()));
        let utf8 = locale.is_none_or(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        if utf8 { Self::UNICODE } else { Self::ASCII }
    }
}

/// What the command line says about the looks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wish {
    /// `--theme`; it wins over the environment.
    pub variant: Option<Variant>,
    pub ascii: bool,
}

/// Styles by meaning, and the glyphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    pub variant: Variant,
    /// The characters to draw with.
    pub glyphs: Glyphs,
    /// Words without a meaning of their own.
    pub text: Style,
    /// An error, its glyph and its rule.
    pub error: Style,
    pub warning: Style,
    pub info: Style,
    /// Nothing is wrong; something succeeded.
    pub ok: Style,
    pub removed: Style,
    /// What matters less: numbers, hints, ages.
    pub dim: Style,
    /// The row with the cursor, in the pane that has the keys; set on the whole row once it is drawn.
    pub selected: Style,
    /// The row with the cursor in the other panes.
    pub selected_elsewhere: Style,
    /// A changed part of a line.
    pub changed: Style,
    /// The title of a pane or popup.
    pub title: Style,
    /// The frame of a pane.
    pub border: Style,
    /// The frame of the pane that has the keys.
    pub border_focused: Style,
    /// The name of a key.
    pub key: Style,
    pub call: Style,
    pub output: Style,
    /// What the user or the system said.
    pub user: Style,
    /// What the model said.
    pub assistant: Style,
    /// What the model thought.
    pub reasoning: Style,
    /// Characters that stand for some which cannot be shown as they are.
    pub escaped: Style,
    /// A text that was searched for.
    pub matched: Style,
    /// A row that the operator marked.
    pub marked: Style,
    pub json_key: Style,
    pub json_string: Style,
    /// A number, `true`, `false` or `null` in JSON.
    pub json_scalar: Style,
}

impl Theme {
    /// The theme for these flags and this environment; `variable` looks a variable up.
    pub fn choose(wish: Wish, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let variant = wish.variant.unwrap_or_else(|| Variant::choose(variable));
        let glyphs = if wish.ascii {
            Glyphs::ASCII
        } else {
            Glyphs::choose(variable)
        };
        Self::new(variant, glyphs)
    }

    pub fn new(variant: Variant, glyphs: Glyphs) -> Self {
        let color = |dark: Color, light: Color, base: Color| match variant {
            Variant::Dark => Style::new().fg(dark),
            Variant::Light => Style::new().fg(light),
            Variant::Ansi16 => Style::new().fg(base),
            Variant::Mono => Style::new(),
        };
        let plain = Style::new();
        // The Linux console and other 16-colour terminals draw dim and italic in odd ways or not at all.
        let (dim, italic) = match variant {
            Variant::Dark | Variant::Light => (plain.add_modifier(Modifier::DIM), Modifier::ITALIC),
            Variant::Ansi16 => (plain.add_modifier(Modifier::DIM), Modifier::empty()),
            Variant::Mono => (plain, Modifier::empty()),
        };
        let bold = plain.add_modifier(Modifier::BOLD);
        let row = Style::reset();
        let red = color(Color::LightRed, Color::Red, Color::Red);
        let magenta = color(Color::LightMagenta, Color::Magenta, Color::Magenta);
        let green = color(Color::LightGreen, Color::Green, Color::Green);
        let cyan = color(Color::LightCyan, Color::Blue, Color::Cyan);
        let blue = color(Color::LightBlue, Color::Blue, Color::Cyan);
        Self {
            variant,
            glyphs,
            text: plain,
            error: red.add_modifier(Modifier::BOLD),
            warning: magenta.add_modifier(Modifier::BOLD),
            info: cyan,
            ok: green,
            removed: red,
            dim,
            selected: row.add_modifier(Modifier::REVERSED),
            selected_elsewhere: row.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            changed: plain.add_modifier(Modifier::REVERSED),
            title: bold,
            border: dim,
            border_focused: cyan.add_modifier(Modifier::BOLD),
            key: cyan.add_modifier(Modifier::BOLD),
            call: cyan,
            output: green,
            user: bold,
            assistant: plain,
            reasoning: dim.add_modifier(italic),
            escaped: match variant {
                Variant::Mono => plain.add_modifier(Modifier::UNDERLINED),
                _ => magenta.patch(dim),
            },
            matched: plain.add_modifier(Modifier::REVERSED | Modifier::BOLD),
            marked: magenta,
            json_key: blue,
            json_string: green,
            json_scalar: magenta,
        }
    }

    pub fn severity(&self, severity: Severity) -> (&'static str, Style) {
        match severity {
            Severity::Error => (self.glyphs.error, self.error),
            Severity::Warning => (self.glyphs.warning, self.warning),
            Severity::Info => (self.glyphs.info, self.info),
        }
    }

    pub fn sign(&self, severity: Severity) -> Span<'static> {
        let (glyph, style) = self.severity(severity);
        Span::styled(glyph, style)
    }

    /// Spans for one line of foreign text. Characters that stand for others get
    /// the style of [`Theme::escaped`].
    pub fn spans(&self, text: &SafeText, style: Style) -> Vec<Span<'static>> {
        let runs = text.runs().map(|(mark, run)| {
            let style = match mark {
                TextMark::Plain => style,
                TextMark::Escaped => style.patch(self.escaped),
            };
            Span::styled(self.letters(mark, run).into_owned(), style)
        });
        runs.collect()
    }

    pub fn kind(&self, kind: Kind) -> Style {
        match kind {
            Kind::System | Kind::User => self.user,
            Kind::Assistant => self.assistant,
            Kind::Reasoning => self.reasoning,
            Kind::Call | Kind::HostedCall | Kind::ApprovalRequest => self.call,
            Kind::Output | Kind::HostedOutput | Kind::ApprovalResponse => self.output,
            Kind::Unreadable => self.warning,
            Kind::Compaction | Kind::ToolDefinitions | Kind::Notice | Kind::Other => self.dim,
        }
    }

    /// The style of a content.
    pub fn look(&self, look: Look) -> Style {
        match look {
            Look::Plain => self.text,
            Look::Faint => self.dim,
            Look::Strong | Look::Heading => self.title,
            Look::Emphasis | Look::Quote => self.reasoning,
            Look::Code => self.call,
            Look::Added => self.ok,
            Look::Removed => self.removed,
            Look::Place => self.info.patch(self.dim),
            Look::Colour(Colour::Red) => self.removed,
            Look::Colour(Colour::Green) => self.ok,
            Look::Colour(Colour::Blue | Colour::Cyan) => self.info,
            // Yellow is unreadable on light backgrounds.
            Look::Colour(Colour::Yellow | Colour::Magenta) => self.marked,
        }
    }

    /// A line of foreign text.
    pub fn line(&self, text: &SafeText, style: Style) -> Line<'static> {
        Line::from(self.spans(text, style))
    }

    /// An empty pane: its frame and its title.
    pub fn pane(&self, title: Line<'static>, focused: bool) -> Block<'static> {
        let border = if focused {
            self.border_focused
        } else {
            self.border
        };
        Block::bordered()
            .border_set(self.glyphs.border)
            .border_style(border)
            .title(title.style(self.title))
    }

    /// The letters as this terminal can draw them, of unchanged width. A terminal without UTF-8 may take
    /// a byte of a UTF-8 character as a control (0x9b begins an escape sequence in Latin-1), so nothing
    /// but ASCII reaches it.
    fn letters<'a>(&self, mark: TextMark, run: &'a str) -> Cow<'a, str> {
        if !self.glyphs.ascii || run.is_ascii() {
            return Cow::Borrowed(run);
        }
        let mut out = String::with_capacity(run.len());
        for cluster in run.graphemes(true) {
            let mut characters = cluster.chars();
            match (mark, characters.next(), characters.next()) {
                (_, Some(only), None) if only.is_ascii() => out.push(only),
                (TextMark::Escaped, Some(only), None) => match control_letter(only) {
                    Some(letter) => out.push(letter),
                    None => out.push_str(&"?".repeat(cluster.width())),
                },
                _ => out.push_str(&"?".repeat(cluster.width())),
            }
        }
        Cow::Owned(out)
    }
}

/// The letter for a picture of a control character: that of its caret notation, `[` for ESC.
fn control_letter(picture: char) -> Option<char> {
    match picture {
        '\u{2400}'..='\u{241f}' => char::from_u32(u32::from(picture) - 0x2400 + 0x40),
        '⏎' => Some('$'),
        '…' => Some('~'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(wish: Wish, variables: &[(&str, &str)]) -> Theme {
        Theme::choose(wish, &|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_chooses_the_variant() {
        let table: &[(&[(&str, &str)], Variant)] = &[
            (&[("TERM", "xterm")], Variant::Ansi16),
            (&[("TERM", "xterm-256color")], Variant::Ansi16),
            (
                &[("TERM", "xterm-256color"), ("COLORFGBG", "15;0")],
                Variant::Dark,
            ),
            (
                &[("COLORTERM", "truecolor"), ("COLORFGBG", "0;default;15")],
                Variant::Light,
            ),
            (
                &[("COLORTERM", "truecolor"), ("COLORFGBG", "what")],
                Variant::Ansi16,
            ),
            (
                &[("COLORTERM", "truecolor"), ("NO_COLOR", "1")],
                Variant::Mono,
            ),
            (
                &[
                    ("COLORTERM", "truecolor"),
                    ("NO_COLOR", ""),
                    ("COLORFGBG", "15;8"),
                ],
                Variant::Dark,
            ),
            (&[("TERM", "dumb")], Variant::Mono),
        ];
        for (variables, expected) in table {
            let theme = chosen(Wish::default(), variables);
            assert_eq!(theme.variant, *expected, "{variables:?}");
        }
        let wish = Wish {
            variant: Some(Variant::Light),
            ascii: false,
        };
        assert_eq!(chosen(wish, &[("NO_COLOR", "1")]).variant, Variant::Light);
    }

    #[test]
    fn the_locale_chooses_the_glyphs() {
        let ascii = |variables| chosen(Wish::default(), variables).glyphs.ascii;
        assert!(!ascii(&[]));
        assert!(!ascii(&[("LANG", "de_DE.UTF-8")]));
        assert!(!ascii(&[("LANG", "C.utf8")]));
        assert!(ascii(&[("LANG", "de_DE.ISO-8859-1")]));
        assert!(ascii(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]));
        assert!(!ascii(&[("LC_ALL", ""), ("LANG", "de_DE.UTF-8")]));
        let wish = Wish {
            variant: None,
            ascii: true,
        };
        assert!(
            chosen(wish, &[("LANG", "de_DE.UTF-8")])
                .glyphs
                .error
                .is_ascii()
        );
    }

    #[test]
    fn no_text_is_white_black_or_yellow_and_mono_has_no_colour() {
        for (variant, word) in Variant::ALL {
            let theme = format!("{:?}", Theme::new(variant, Glyphs::UNICODE)).to_lowercase();
            for colour in ["white", "black", "yellow", "rgb", "indexed", ").on_"] {
                assert!(!theme.contains(colour), "{colour} in {word}");
            }
            let coloured = theme.contains("red()") && theme.contains("magenta()");
            assert_eq!(coloured, variant != Variant::Mono, "{theme}");
        }
    }

    #[test]
    fn glyphs_take_one_cell() {
        for glyphs in [Glyphs::UNICODE, Glyphs::ASCII] {
            for glyph in [
                glyphs.error,
                glyphs.warning,
                glyphs.info,
                glyphs.ok,
                glyphs.pair,
                glyphs.cursor,
                glyphs.unfolded,
                glyphs.more,
                glyphs.marked,
                glyphs.vertical,
                glyphs.horizontal,
                glyphs.dot,
                glyphs.up,
                glyphs.down,
                glyphs.branch,
                glyphs.border.top_left,
            ] {
                assert_eq!(glyph.width(), 1, "{glyph}");
                assert_eq!(glyph.is_ascii(), glyphs.ascii, "{glyph}");
            }
        }
    }

    #[test]
    fn foreign_text_keeps_its_width_in_ascii() {
        let theme = Theme::new(Variant::Mono, Glyphs::ASCII);
        let text = SafeText::single_line("a\u{1b}[m\nb漢é👩 and so on and on", 16);
        let line = theme.line(&text, theme.text);
        assert_eq!(line.to_string(), "a[[m$b????? and~");
        assert_eq!(line.width(), text.width());
        assert_eq!(
            line.spans[1].style.add_modifier,
            Modifier::UNDERLINED,
            "the escape is told from a bracket"
        );
    }
}
