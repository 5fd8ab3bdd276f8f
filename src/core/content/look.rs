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
    Added,
    Removed,
    /// Where a part of a diff stands in its file.
    Place,
    /// A colour of terminal output.
    Colour(Colour),
}

/// The colours that terminal output is shown in. Which shade of them it was is not kept, and neither are
/// black, white and backgrounds: they are unreadable on somebody's screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
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

    /// Adds text behind; what looks like the last piece joins it.
    pub(super) fn push(&mut self, look: Look, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some((last, before)) if *last == look => before.push_str(text),
            _ => self.pieces.push((look, text.to_owned())),
        }
    }
}
