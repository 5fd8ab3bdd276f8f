//! Terminal output as styled lines: colours become looks, carriage returns overwrite, everything else that is
//! no text stays as it is and is spelled out when it is drawn.

use super::look::{Colour, Look, StyledLine};
use std::borrow::Cow;

/// Whether a text holds a sequence that [`terminal_lines`] understands.
pub fn has_colours(text: &str) -> bool {
    let mut escapes = text.match_indices('\u{1b}');
    escapes.any(|(at, _)| {
        let text = &text[at..];
        sequence(text).is_some() || hyperlink(text).is_some()
    })
}

/// The lines of terminal output. Only plain CSI sequences (`ESC [ 1;31 m`, cursor and erase) are taken out, and the
/// marks of hyperlinks, whose target follows the words. What could hide text, as another operating system command, stays.
pub fn terminal_lines(text: &str) -> Vec<StyledLine> {
    let mut pen = Pen::default();
    text.lines()
        .map(|line| pen.line(last_written(line)))
        .collect()
}

/// A text without the codes of colours in it.
pub fn without_colours(text: &str) -> Cow<'_, str> {
    if !has_colours(text) {
        return Cow::Borrowed(text);
    }
    let lines = terminal_lines(text).into_iter();
    let lines = lines.map(|line| line.pieces.into_iter().map(|(_, text)| text));
    let lines: Vec<String> = lines.map(Iterator::collect).collect();
    Cow::Owned(lines.join("\n"))
}

/// What is left of a line that a progress bar wrote again and again.
fn last_written(line: &str) -> &str {
    let mut parts = line.trim_end_matches('\r').rsplit('\r');
    parts.find(|part| !part.is_empty()).unwrap_or_default()
}

/// A CSI sequence at the beginning of a text: its parameters, its last letter, its length.
fn sequence(text: &str) -> Option<(&str, char, usize)> {
    let inside = text.strip_prefix("\u{1b}[")?;
    let end = inside.find(|letter: char| !matches!(letter, '0'..='9' | ';' | ':' | '?'))?;
    let letter = inside[end..].chars().next()?;
    letter
        .is_ascii_alphabetic()
        .then_some((&inside[..end], letter, 2 + end + 1))
}

/// Most bytes of the target of a hyperlink: terminals take no longer one.
const TARGET: usize = 2083;
/// Most bytes of its parameters, which are not shown.
const PARAMETERS: usize = 64;

/// The mark at the beginning of a text that begins or ends a hyperlink (OSC 8): its target, empty where it ends one, and
/// its length. `None` where it is not closed or could hide text.
fn hyperlink(text: &str) -> Option<(&str, usize)> {
    const START: &str = "\u{1b}]8;";
    let inside = text.strip_prefix(START)?;
    let most = inside.floor_char_boundary(PARAMETERS + 1 + TARGET + 1);
    let end = inside[..most].find(char::is_control)?;
    let mut terminators = ["\u{1b}\\", "\u{7}"].into_iter();
    let terminator = terminators.find(|it| inside[end..].starts_with(it))?;
    let (parameters, target) = inside[..end].split_once(';')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"=:._-".contains(&byte);
    let is_link =
        parameters.len() <= PARAMETERS && parameters.bytes().all(is_name) && target.len() <= TARGET;
    is_link.then_some((target, START.len() + end + terminator.len()))
}

#[derive(Debug, Default)]
struct Pen {
    colour: Option<Colour>,
    background: Option<Colour>,
    is_reversed: bool,
    is_strong: bool,
    is_faint: bool,
}

impl Pen {
    fn look(&self) -> Look {
        let background = match self.is_reversed {
            true => Some(self.colour.unwrap_or(Colour::Grey)),
            false => self.background,
        };
        if let Some(background) = background {
            return Look::Background(background);
        }
        match (self.colour, self.is_strong, self.is_faint) {
            (Some(colour), _, _) => Look::Colour(colour),
            (None, true, _) => Look::Strong,
            (None, false, true) => Look::Faint,
            (None, false, false) => Look::Plain,
        }
    }

    fn line(&mut self, line: &str) -> StyledLine {
        let mut styled = StyledLine::default();
        let mut rest = line;
        // The target of the open hyperlink, and its words.
        let mut link: Option<(&str, String)> = None;
        while let Some(escape) = rest.find('\u{1b}') {
            let words = &rest[..escape];
            styled.push(self.look(), words);
            if let Some((_, linked)) = &mut link {
                linked.push_str(words);
            }
            rest = &rest[escape..];
            let length = match (sequence(rest), hyperlink(rest)) {
                (Some((parameters, letter, length)), _) => {
                    if letter == 'm' {
                        self.select(parameters);
                    }
                    length
                }
                (None, Some((target, length))) => {
                    let begun = (!target.is_empty()).then(|| (target, String::new()));
                    show_target(&mut styled, std::mem::replace(&mut link, begun));
                    length
                }
                (None, None) => {
                    styled.push(self.look(), "\u{1b}");
                    1
                }
            };
            rest = &rest[length..];
        }
        styled.push(self.look(), rest);
        if let Some((_, linked)) = &mut link {
            linked.push_str(rest);
        }
        show_target(&mut styled, link);
        styled
    }

    /// Select Graphic Rendition (ECMA-48).
    fn select(&mut self, parameters: &str) {
        let mut codes = parameters
            .split([';', ':'])
            .map(|code| code.parse::<u16>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Self::default(),
                1 => self.is_strong = true,
                2 => self.is_faint = true,
                7 => self.is_reversed = true,
                27 => self.is_reversed = false,
                22 => (self.is_strong, self.is_faint) = (false, false),
                39 => self.colour = None,
                30..=37 => self.colour = of_letters(basic(code - 30)),
                90..=97 => self.colour = of_letters(basic(code - 90)),
                38 => self.colour = of_letters(extended(&mut codes)),
                49 => self.background = None,
                40..=47 => self.background = basic(code - 40),
                100..=107 => self.background = basic(code - 100),
                48 => self.background = extended(&mut codes),
                _ => {}
            }
        }
    }
}

/// Shows where a hyperlink leads, after its words, unless they say it.
fn show_target(styled: &mut StyledLine, link: Option<(&str, String)>) {
    if let Some((target, _)) = link.filter(|(target, words)| target != words) {
        styled.push(Look::Faint, &format!(" ({target})"));
    }
}

/// A colour for letters: those in grey look plain.
fn of_letters(colour: Option<Colour>) -> Option<Colour> {
    colour.filter(|colour| *colour != Colour::Grey)
}

/// `None` for black.
fn basic(number: u16) -> Option<Colour> {
    match number {
        1 => Some(Colour::Red),
        2 => Some(Colour::Green),
        3 => Some(Colour::Yellow),
        4 => Some(Colour::Blue),
        5 => Some(Colour::Magenta),
        6 => Some(Colour::Cyan),
        7 => Some(Colour::Grey),
        _ => None,
    }
}

/// `5;n` of a palette of 256, or `2;r;g;b`.
fn extended(codes: &mut impl Iterator<Item = u16>) -> Option<Colour> {
    match codes.next()? {
        5 => match codes.next()? {
            number @ 0..=7 => basic(number),
            number @ 8..=15 => basic(number - 8),
            number @ 16..=231 => {
                let number = number - 16;
                nearest([number / 36 * 51, number / 6 % 6 * 51, number % 6 * 51])
            }
            number @ 232.. => nearest([(number - 232) * 10 + 8; 3]),
        },
        2 => nearest([codes.next()?, codes.next()?, codes.next()?]),
        _ => None,
    }
}

/// Below this, a channel counts for nothing.
const DARK: u16 = 48;

/// The colour whose channels are the strong ones; `None` for black.
fn nearest(channels: [u16; 3]) -> Option<Colour> {
    let most = channels.into_iter().max()?;
    let least = channels.into_iter().min()?;
    if most.saturating_sub(least) < DARK {
        return (most >= DARK).then_some(Colour::Grey);
    }
    let middle = least + (most - least) / 2;
    basic(
        channels
            .into_iter()
            .enumerate()
            .map(|(bit, channel)| u16::from(channel > middle) << bit)
            .sum(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<(Look, String)> {
        let lines = terminal_lines(text).into_iter();
        lines.flat_map(|line| line.pieces).collect()
    }

    #[test]
    fn colours_become_looks_and_greys_none() {
        let table: &[(&str, &[(Look, &str)])] = &[
            ("plain", &[(Look::Plain, "plain")]),
            (
                "\u{1b}[31m⎯\u{1b}[39m\u{1b}[1m\u{1b}[41m Failed \u{1b}[0m ok",
                &[
                    (Look::Colour(Colour::Red), "⎯"),
                    (Look::Background(Colour::Red), " Failed "),
                    (Look::Plain, " ok"),
                ],
            ),
            (
                "\u{1b}[38;5;208mo\u{1b}[38;2;0;200;0mg\u{1b}[38;5;240mgrey",
                &[
                    (Look::Colour(Colour::Red), "o"),
                    (Look::Colour(Colour::Green), "g"),
                    (Look::Plain, "grey"),
                ],
            ),
            ("10%\r50%\r100%\r\n", &[(Look::Plain, "100%")]),
            ("a\u{1b}[2Kb\u{1b}[?25l", &[(Look::Plain, "ab")]),
        ];
        for (text, expected) in table {
            let expected: Vec<_> = expected.iter().map(|it| (it.0, it.1.to_owned())).collect();
            assert_eq!(pieces(text), expected, "{text:?}");
        }
    }

    #[test]
    fn backgrounds_are_kept_except_black_ones() {
        let table: &[(&str, Look)] = &[
            ("\u{1b}[30;42mPASS", Look::Background(Colour::Green)),
            ("\u{1b}[103mwarn", Look::Background(Colour::Yellow)),
            ("\u{1b}[48;5;196mx", Look::Background(Colour::Red)),
            (
                "\u{1b}[38;2;9;9;9;48;2;0;60;220mx",
                Look::Background(Colour::Blue),
            ),
            ("\u{1b}[48;5;250mx", Look::Background(Colour::Grey)),
            ("\u{1b}[7mx", Look::Background(Colour::Grey)),
            ("\u{1b}[33;7mx", Look::Background(Colour::Yellow)),
            ("\u{1b}[40;1mx", Look::Strong),
            ("\u{1b}[48;5;233mx", Look::Plain),
            ("\u{1b}[41;49mx", Look::Plain),
            ("\u{1b}[31;7;27mx", Look::Colour(Colour::Red)),
        ];
        for (text, look) in table {
            let found = pieces(text);
            assert_eq!(found.len(), 1, "{text:?}");
            assert_eq!(found[0].0, *look, "{text:?}");
        }
    }

    #[test]
    fn hyperlinks_are_their_words_and_where_they_lead() {
        let told = |text: &str| -> String { pieces(text).into_iter().map(|it| it.1).collect() };
        for (text, shown) in [
            (
                "\u{1b}]8;;https://x.y\u{1b}\\link\u{1b}]8;;\u{1b}\\!",
                "link (https://x.y)!",
            ),
            (
                "\u{1b}]8;id=a:b=c;https://x.y\u{7}li\u{1b}[1mnk\u{1b}[0m\u{1b}]8;;\u{7}",
                "link (https://x.y)",
            ),
            ("\u{1b}]8;;http://x\u{7}http://x\u{1b}]8;;\u{7}", "http://x"),
            // A link in a link, and one that no mark ends.
            (
                "\u{1b}]8;;http://a\u{7}one\u{1b}]8;;http://b\u{7}two",
                "one (http://a)two (http://b)",
            ),
            ("one\u{1b}]8;;\u{7}two", "onetwo"),
        ] {
            assert!(has_colours(text), "{text:?}");
            assert_eq!(told(text), shown);
        }
        let linked = pieces("\u{1b}]8;;http://a\u{7}one\u{1b}]8;;\u{7}");
        assert_eq!(linked[1].0, Look::Faint);
    }

    #[test]
    fn what_could_hide_text_stays() {
        let long = format!("\u{1b}]8;;{}\u{7}x", "a".repeat(TARGET + 1));
        let parameters = format!("\u{1b}]8;{};http://x\u{7}x", "a".repeat(PARAMETERS + 1));
        for text in [
            &long,
            &parameters,
            "\u{1b}]8;;http://x",
            "\u{1b}]8;;http://x\u{1b}]8;;y",
            "\u{1b}]8;;http://x\u{1b}",
            "\u{1b}]8;do as I say;http://x\u{7}x",
            "\u{1b}]8\u{7}",
            "\u{1b}]0;title\u{7}x",
            "\u{1b}Pq\u{1b}\\",
            "\u{1b}[3",
            "\u{1b}",
        ] {
            assert_eq!(pieces(text), [(Look::Plain, text.to_owned())]);
            assert!(!has_colours(text));
        }
        assert!(has_colours("\u{1b}x \u{1b}[1m"));
    }
}
