//! How things look, by meaning: styles, glyphs, and the way foreign text becomes a line on the screen.
//!
//! Views ask for `theme.error` or `theme.glyphs.error`, never for a colour or a character. Words keep the
//! terminal's own foreground and background. A terminal of true colour gets the [`Palette`] of its theme, whose
//! contrast is tested; one of 16 colours the ANSI names, among which neither white, black nor yellow colours a text,
//! since one of them is unreadable on somebody's background; with `NO_COLOR` there is bold, reverse and underline.
//! Colour never carries a meaning alone: a glyph or a word is beside it.
//!
//! [`Theme::choose`] decides from flags and environment. It asks the terminal nothing, because no
//! answer may stand before the first paint. Crossterm drops colours itself under `NO_COLOR`, so no theme wins over it.

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
    /// The same with a contrast of 7 to 1 at least.
    DarkContrast,
    LightContrast,
    /// Only the eight base colours, chosen to be readable on any background.
    Ansi16,
    /// No colour: bold, reverse and underline.
    Mono,
}

impl Variant {
    /// Every variant with its word on the command line.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Dark, "dark"),
        (Self::Light, "light"),
        (Self::DarkContrast, "dark-contrast"),
        (Self::LightContrast, "light-contrast"),
        (Self::Ansi16, "ansi16"),
        (Self::Mono, "mono"),
    ];

    /// The variant that the environment speaks for. `variable` looks a variable up.
    fn choose(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let term = variable("TERM").unwrap_or_default();
        if forbids_colours(variable) || term == "dumb" || term.starts_with("vt") {
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

/// Whether the environment wants no colours.
fn forbids_colours(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    variable("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// The colours of a theme on a terminal of true colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Palette {
    red: Color,
    amber: Color,
    green: Color,
    /// What can be acted on.
    accent: Color,
    blue: Color,
    purple: Color,
    dim: Color,
    /// The letters and the background of the row with the cursor, and its background in a pane without the keys.
    row: (Color, Color),
    row_elsewhere: Color,
}

const fn rgb(hex: u32) -> Color {
    Color::Rgb((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

impl Palette {
    const DARK: Self = Self {
        red: rgb(0xff8a95),
        amber: rgb(0xe5b567),
        green: rgb(0x9fd08a),
        accent: rgb(0x7cc7f5),
        blue: rgb(0x8fb4ff),
        purple: rgb(0xc8a6ff),
        dim: rgb(0x9aa3b5),
        row: (rgb(0xf2f5fa), rgb(0x35507a)),
        row_elsewhere: rgb(0x2c3442),
    };
    const LIGHT: Self = Self {
        red: rgb(0xb00020),
        amber: rgb(0x7d4a00),
        green: rgb(0x1b6330),
        accent: rgb(0x00558f),
        blue: rgb(0x2a4fb5),
        purple: rgb(0x7429a0),
        dim: rgb(0x595f69),
        row: (rgb(0x10131a), rgb(0xbfd8ff)),
        row_elsewhere: rgb(0xe3e7ee),
    };
    const DARK_CONTRAST: Self = Self {
        red: rgb(0xffa3a3),
        amber: rgb(0xffd75f),
        green: rgb(0x8dff8d),
        accent: rgb(0x7fe8ff),
        blue: rgb(0xb0ccff),
        purple: rgb(0xffb8ff),
        dim: rgb(0xd0d0d0),
        row: (rgb(0x000000), rgb(0xffd700)),
        row_elsewhere: rgb(0x303030),
    };
    const LIGHT_CONTRAST: Self = Self {
        red: rgb(0x8b0000),
        amber: rgb(0x5c3300),
        green: rgb(0x0b4d0b),
        accent: rgb(0x003c71),
        blue: rgb(0x0b2a8a),
        purple: rgb(0x5a0a6a),
        dim: rgb(0x3a3a3a),
        row: (rgb(0xffffff), rgb(0x003c9e)),
        row_elsewhere: rgb(0xdcdcdc),
    };

    fn of(variant: Variant) -> Option<Self> {
        match variant {
            Variant::Dark => Some(Self::DARK),
            Variant::Light => Some(Self::LIGHT),
            Variant::DarkContrast => Some(Self::DARK_CONTRAST),
            Variant::LightContrast => Some(Self::LIGHT_CONTRAST),
            Variant::Ansi16 | Variant::Mono => None,
        }
    }
}

/// The row with the cursor where the background of the terminal is not known: it is seen on any.
const ROW_ANYWHERE: (Color, Color) = (rgb(0xffffff), rgb(0x3d5a80));

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
    /// The state of a live run.
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
        more: "...",
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
pub struct ThemeOptions {
    /// The theme that the operator chose; of the environment only `NO_COLOR` wins over it.
    pub variant: Option<Variant>,
    pub ascii: bool,
}

/// Styles by meaning, and the glyphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Whether frames say which keys work.
    pub shows_keys: bool,
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
    /// Text of the user or the system.
    pub user: Style,
    /// Text of the model.
    pub assistant: Style,
    /// What the model thought.
    pub reasoning: Style,
    /// Characters shown in place of those that a terminal cannot show.
    pub escaped: Style,
    /// The place of the text that was searched for and that `n` went to.
    pub matched: Style,
    pub matched_elsewhere: Style,
    /// A row that the operator marked.
    pub marked: Style,
    pub json_key: Style,
    pub json_string: Style,
    /// A number, `true`, `false` or `null` in JSON.
    pub json_scalar: Style,
}

impl Theme {
    /// The theme for these flags and this environment; `variable` looks a variable up.
    pub fn choose(wish: ThemeOptions, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let wished = wish.variant.filter(|_| !forbids_colours(variable));
        let variant = wished.unwrap_or_else(|| Variant::choose(variable));
        let glyphs = if wish.ascii {
            Glyphs::ASCII
        } else {
            Glyphs::choose(variable)
        };
        let colours = variable("COLORTERM").unwrap_or_default();
        let has_true_colour = matches!(&*colours, "truecolor" | "24bit");
        match has_true_colour {
            true => Self::true_colour(variant, glyphs),
            false => Self::new(variant, glyphs),
        }
    }

    /// Its word on the command line.
    pub fn word(&self) -> &'static str {
        let own = Variant::ALL.iter().find(|(it, _)| *it == self.variant);
        own.map_or("", |(_, word)| word)
    }

    /// Says which theme it is, and how it stays.
    pub fn choice(&self, variable: &dyn Fn(&str) -> Option<String>) -> String {
        let word = self.word();
        match forbids_colours(variable) {
            true => format!("theme {word}: NO_COLOR is set, so there are no colours"),
            false => format!("theme {word}; theme = \"{word}\" in config.toml keeps it"),
        }
    }

    /// What chooses the theme after this one.
    pub fn next(&self, wish: ThemeOptions) -> ThemeOptions {
        let mut variants = Variant::ALL.iter().cycle();
        variants.find(|(it, _)| *it == self.variant);
        ThemeOptions {
            variant: variants.next().map(|(it, _)| *it),
            ..wish
        }
    }

    /// The theme on a terminal of true colour.
    pub fn true_colour(variant: Variant, glyphs: Glyphs) -> Self {
        let base = Self::new(variant, glyphs);
        let Some(palette) = Palette::of(variant) else {
            let (letters, row) = ROW_ANYWHERE;
            return match variant {
                Variant::Mono => base,
                _ => Self {
                    selected: Style::reset().fg(letters).bg(row),
                    ..base
                },
            };
        };
        let colour = |colour: Color| Style::new().fg(colour);
        let bold = |colour: Color| Style::new().fg(colour).add_modifier(Modifier::BOLD);
        let dim = colour(palette.dim);
        let (letters, row) = palette.row;
        Self {
            error: bold(palette.red),
            warning: bold(palette.amber),
            info: colour(palette.accent),
            ok: colour(palette.green),
            removed: colour(palette.red),
            dim,
            selected: Style::reset().fg(letters).bg(row),
            selected_elsewhere: Style::reset().bg(palette.row_elsewhere),
            border: dim,
            border_focused: bold(palette.accent),
            key: bold(palette.accent),
            call: colour(palette.accent),
            output: colour(palette.green),
            reasoning: dim.add_modifier(Modifier::ITALIC),
            escaped: colour(palette.purple),
            marked: colour(palette.purple),
            json_key: colour(palette.blue),
            json_string: colour(palette.green),
            json_scalar: colour(palette.purple),
            ..base
        }
    }

    /// The theme in the 16 colours that every terminal has.
    pub fn new(variant: Variant, glyphs: Glyphs) -> Self {
        let color = |dark: Color, light: Color, base: Color| match variant {
            Variant::Dark | Variant::DarkContrast => Style::new().fg(dark),
            Variant::Light | Variant::LightContrast => Style::new().fg(light),
            Variant::Ansi16 => Style::new().fg(base),
            Variant::Mono => Style::new(),
        };
        let plain = Style::new();
        // The Linux console and other 16-colour terminals draw dim and italic in odd ways or not at all.
        let (dim, italic) = match variant {
            Variant::Dark | Variant::Light => (plain.add_modifier(Modifier::DIM), Modifier::ITALIC),
            Variant::Ansi16 => (plain.add_modifier(Modifier::DIM), Modifier::empty()),
            Variant::DarkContrast | Variant::LightContrast | Variant::Mono => {
                (plain, Modifier::empty())
            }
        };
        let bold = plain.add_modifier(Modifier::BOLD);
        let row = Style::reset();
        let red = color(Color::LightRed, Color::Red, Color::Red);
        let magenta = color(Color::LightMagenta, Color::Magenta, Color::Magenta);
        let green = color(Color::LightGreen, Color::Green, Color::Green);
        let cyan = color(Color::LightCyan, Color::Blue, Color::Cyan);
        let blue = color(Color::LightBlue, Color::Blue, Color::Cyan);
        Self {
            shows_keys: true,
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
            matched_elsewhere: plain.add_modifier(Modifier::UNDERLINED | Modifier::BOLD),
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

    /// Spans for one line of foreign text. Characters in place of others get
    /// the style of [`Theme::escaped`].
    pub fn spans(&self, text: &SafeText, style: Style) -> Vec<Span<'static>> {
        let runs = text.runs().map(|(mark, run)| {
            let style = match mark {
                TextMark::Plain => style,
                TextMark::Escaped => style.patch(self.escaped),
            };
            Span::styled(self.letters(mark, run).into_owned(), style)
        });
        let mut spans: Vec<_> = runs.collect();
        let closed = text.as_plain().strip_suffix(')');
        if self.glyphs.ascii && closed.unwrap_or(text.as_plain()).ends_with('…') {
            widen_end(&mut spans, closed.is_some());
        }
        spans
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
            Look::Link => self.text.add_modifier(Modifier::UNDERLINED),
            Look::Code => self.call,
            Look::Keyword => self.json_key,
            Look::Text => self.json_string,
            Look::Number => self.json_scalar,
            Look::Comment => self.dim,
            Look::Added => self.ok,
            Look::Removed => self.removed,
            Look::Place => self.info.patch(self.dim),
            Look::Colour(Colour::Red) => self.removed,
            Look::Colour(Colour::Green) => self.ok,
            Look::Colour(Colour::Blue | Colour::Cyan) => self.info,
            // Yellow is unreadable on light backgrounds.
            Look::Colour(Colour::Yellow | Colour::Magenta) => self.marked,
            Look::Colour(Colour::Grey) => self.text,
            Look::Background(_) if self.variant == Variant::Mono => self.text,
            // The letters take the colour of the screen, so they are as readable as letters in the colour.
            Look::Background(colour) => {
                let style = self.look(Look::Colour(colour));
                style.add_modifier(Modifier::REVERSED)
            }
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

    /// The letters as this terminal can draw them, of unchanged width but for `≥`. A terminal without UTF-8 may take
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
                (_, Some('≥'), None) => {
                    // In a column it takes the place of a space.
                    if out.ends_with("  ") || out == " " {
                        out.pop();
                    }
                    out.push_str(">=");
                }
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

/// Writes `...` for the sign at the end, or before a bracket there, as many letters as it takes: the width stays.
fn widen_end(spans: &mut [Span<'static>], is_closed: bool) {
    let bracket = spans.last_mut().filter(|_| is_closed);
    let bracket = bracket.and_then(|span| span.content.to_mut().pop());
    let letters: usize = spans.iter().map(|span| span.content.len()).sum();
    let mut missing = letters.min(3);
    for span in spans.iter_mut().rev() {
        let content = span.content.to_mut();
        let dots = missing.min(content.len());
        content.truncate(content.len() - dots);
        content.push_str(&".".repeat(dots));
        missing -= dots;
    }
    if let Some(last) = spans.last_mut() {
        last.content.to_mut().extend(bracket);
    }
}

/// The letter for a picture of a control character: that of its caret notation, `[` for ESC.
fn control_letter(picture: char) -> Option<char> {
    match picture {
        '\u{2400}'..='\u{241f}' => char::from_u32(u32::from(picture) - 0x2400 + 0x40),
        '⏎' => Some('$'),
        '…' => Some('.'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(wish: ThemeOptions, variables: &[(&str, &str)]) -> Theme {
        Theme::choose(wish, &|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_next_theme_leads_through_all_of_them() {
        let mut theme = Theme::new(Variant::Dark, Glyphs::ASCII);
        let mut words = Vec::new();
        for _ in Variant::ALL {
            let wish = ThemeOptions {
                variant: None,
                ascii: true,
            };
            words.push(theme.word());
            theme = chosen(theme.next(wish), &[]);
        }
        assert_eq!(words, Variant::ALL.map(|(_, word)| word));
        assert_eq!(theme.word(), "dark");
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
            let theme = chosen(ThemeOptions::default(), variables);
            assert_eq!(theme.variant, *expected, "{variables:?}");
        }
        let wish = ThemeOptions {
            variant: Some(Variant::Light),
            ascii: false,
        };
        assert_eq!(chosen(wish, &[]).variant, Variant::Light);
        let without = [("NO_COLOR", "1"), ("COLORTERM", "truecolor")];
        let theme = chosen(wish, &without);
        assert_eq!(theme, Theme::new(Variant::Mono, Glyphs::UNICODE));
        let said = |variables: &[(&str, &str)]| {
            let variables = variables.to_vec();
            theme.choice(&move |name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(said(&without).contains("NO_COLOR is set"));
        assert!(said(&[]).contains("theme = \"mono\" in config.toml keeps it"));
    }

    #[test]
    fn the_locale_chooses_the_glyphs() {
        let ascii = |variables| chosen(ThemeOptions::default(), variables).glyphs.ascii;
        assert!(!ascii(&[]));
        assert!(!ascii(&[("LANG", "de_DE.UTF-8")]));
        assert!(!ascii(&[("LANG", "C.utf8")]));
        assert!(ascii(&[("LANG", "de_DE.ISO-8859-1")]));
        assert!(ascii(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]));
        assert!(!ascii(&[("LC_ALL", ""), ("LANG", "de_DE.UTF-8")]));
        let wish = ThemeOptions {
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

    /// The contrast of two colours as WCAG 2.2 defines it.
    fn contrast(one: Color, other: Color) -> f64 {
        let luminance = |colour| {
            let Color::Rgb(red, green, blue) = colour else {
                panic!("{colour:?} is no true colour");
            };
            let linear = |channel: u8| match f64::from(channel) / 255.0 {
                dark @ ..=0.04045 => dark / 12.92,
                bright => ((bright + 0.055) / 1.055).powf(2.4),
            };
            0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
        };
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// On the backgrounds that terminals come with, every colour of a text reaches level AA of WCAG, those of the
    /// themes of high contrast level AAA.
    #[test]
    fn true_colours_are_told_from_their_backgrounds() {
        let dark = [0x000000, 0x1e1e1e, 0x282c34].map(rgb);
        let light = [0xffffff, 0xfafafa, 0xfdf6e3].map(rgb);
        let table = [
            (Variant::Dark, dark, 4.5),
            (Variant::Light, light, 4.5),
            (Variant::DarkContrast, dark, 7.0),
            (Variant::LightContrast, light, 7.0),
        ];
        for (variant, backgrounds, least) in table {
            let theme = Theme::true_colour(variant, Glyphs::UNICODE);
            let styles = [
                ("error", theme.error),
                ("warning", theme.warning),
                ("info", theme.info),
                ("ok", theme.ok),
                ("removed", theme.removed),
                ("dim", theme.dim),
                ("border", theme.border_focused),
                ("key", theme.key),
                ("call", theme.call),
                ("output", theme.output),
                ("reasoning", theme.reasoning),
                ("escaped", theme.escaped),
                ("marked", theme.marked),
                ("json key", theme.json_key),
                ("json string", theme.json_string),
                ("json scalar", theme.json_scalar),
            ];
            for (name, style) in styles {
                for background in backgrounds {
                    let found = contrast(style.fg.unwrap(), background);
                    assert!(
                        found >= least,
                        "{variant:?} {name} {background:?}: {found:.1}"
                    );
                }
            }
            let row = contrast(theme.selected.fg.unwrap(), theme.selected.bg.unwrap());
            assert!(row >= 7.0, "{variant:?} row: {row:.1}");
        }
        let (letters, row) = ROW_ANYWHERE;
        assert!(contrast(letters, row) >= 4.5);
    }

    #[test]
    fn true_colours_are_used_where_the_terminal_has_them() {
        let with = |variables: &[(&str, &str)], variant| {
            let wish = ThemeOptions {
                variant,
                ascii: false,
            };
            format!("{:?}", chosen(wish, variables)).contains("Rgb")
        };
        let dark = Some(Variant::Dark);
        assert!(with(&[("COLORTERM", "truecolor")], dark));
        assert!(with(
            &[("COLORTERM", "24bit")],
            Some(Variant::LightContrast)
        ));
        assert!(!with(&[("TERM", "xterm-256color")], dark));
        assert!(!with(
            &[("COLORTERM", "truecolor"), ("NO_COLOR", "1")],
            None
        ));
        assert!(!with(&[("COLORTERM", "truecolor")], Some(Variant::Mono)));
    }

    #[test]
    fn backgrounds_of_terminal_output_are_seen_in_each_theme_with_colours() {
        let is_seen = |variant| {
            let theme = Theme::new(variant, Glyphs::UNICODE);
            [Colour::Red, Colour::Grey].map(|colour| {
                let style = theme.look(Look::Background(colour));
                style.add_modifier.contains(Modifier::REVERSED)
            })
        };
        for (variant, word) in Variant::ALL {
            assert_eq!(is_seen(variant), [variant != Variant::Mono; 2], "{word}");
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
        assert_eq!(line.to_string(), "a[[m$b????? a...");
        let cut = theme.line(&SafeText::from_str("Bash(cargo 2>&1 …)"), Style::new());
        assert_eq!(cut.to_string(), "Bash(cargo 2>&...)");
        assert_eq!(line.width(), text.width());
        assert_eq!(
            line.spans[1].style.add_modifier,
            Modifier::UNDERLINED,
            "the escape is told from a bracket"
        );
    }

    #[test]
    fn at_least_is_two_letters_in_ascii_and_takes_the_place_of_a_space_in_a_column() {
        let theme = Theme::new(Variant::Mono, Glyphs::ASCII);
        for (text, expected) in [
            ("≥$0.60", ">=$0.60"),
            ("in, ≥3 out", "in, >=3 out"),
            ("   ≥3 out", "  >=3 out"),
            (" ≥$0.02", ">=$0.02"),
        ] {
            let line = theme.line(&SafeText::from_str(text), theme.text);
            assert_eq!(line.to_string(), expected);
        }
    }
}
