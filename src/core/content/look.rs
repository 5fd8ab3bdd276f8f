//! How contents look: a few looks of our own, never the codes of a terminal.

/// How a piece of content looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Look {
    #[default]
    Plain,
    Faint,
    Strong,
    Emphasis,
    Heading,
    Code,
    Quote,
    /// Of source code, as the next ones.
    Keyword,
    Text,
    Number,
    Comment,
    Added,
    Removed,
    /// The position of a part of a diff in its file.
    Place,
    /// A colour of terminal output.
    Colour(Colour),
    /// Terminal output on a background of this colour.
    Background(Colour),
}

/// The colours that terminal output is shown in. Which shade of them it was is not kept, and neither are black and
/// the colour of letters on a background: they are unreadable on somebody's screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
    /// White and greys, of backgrounds only.
    Grey,
}

/// A line of pieces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StyledLine {
    pub pieces: Vec<(Look, String)>,
}

impl StyledLine {
    pub fn new(look: Look, text: &str) -> Self {
        Self {
            pieces: vec![(look, text.to_owned())],
        }
    }

    /// Appends text; what looks like the last piece joins it.
    pub(super) fn push(&mut self, look: Look, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some((last, before)) if *last == look => before.push_str(text),
            _ => self.pieces.push((look, text.to_owned())),
        }
    }

    /// Code and bold words of a line of Markdown.
    pub(super) fn inline(line: &str) -> Self {
        let mut styled = Self::default();
        let mut rest = line;
        while let Some(at) = rest.find(['`', '*']) {
            let found = code(&rest[at..]).or_else(|| strong(&rest[at..]));
            let plain = match found {
                Some(_) => at,
                None => at + 1,
            };
            styled.push(Look::Plain, &rest[..plain]);
            rest = &rest[plain..];
            if let Some((look, shown, length)) = found {
                styled.push(look, shown);
                rest = &rest[length..];
            }
        }
        styled.push(Look::Plain, rest);
        styled
    }
}

fn code(text: &str) -> Option<(Look, &str, usize)> {
    let inside = text.strip_prefix('`')?;
    let end = inside.find('`').filter(|end| *end > 0)? + 2;
    Some((Look::Code, &text[..end], end))
}

fn strong(text: &str) -> Option<(Look, &str, usize)> {
    let inside = text.strip_prefix("**")?;
    let end = inside.find("**")?;
    let words = &inside[..end];
    let is_word = !words.is_empty() && !words.starts_with(' ') && !words.ends_with(' ');
    is_word.then_some((Look::Strong, words, end + 4))
}
