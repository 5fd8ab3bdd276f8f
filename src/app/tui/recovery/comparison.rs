//! How two takes differ: items beside each other where there is room, else one below the other. What both share
//! is counted, not shown.

mod draw;
mod items;

pub use items::{ItemText, Which};

use super::difference::Row;
use crate::tui::keymap::{Command, Context, Direction, command};
use crate::tui::layer::{Layer, Step};
use crate::tui::list::moved;
use crate::tui::theme::Theme;
use draw::Drawn;
use items::{Stretch, align};
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use retake_core::safe_text::SafeText;
use std::cell::{Cell, RefCell};

#[derive(Debug, Clone)]
pub struct Comparison {
    names: [SafeText; 2],
    stretches: Vec<Stretch>,
    /// How many items are the same, and how many stand on one side only or differ.
    same: usize,
    different: usize,
    top: usize,
    /// The rows for the width that they were made for.
    drawn: RefCell<Option<Drawn>>,
    height: Cell<usize>,
}

impl Comparison {
    /// Compares two takes by the digests of their items; `read` is asked only for items that differ, and not
    /// for all of them where they are very many.
    pub fn new(
        names: [&str; 2],
        digests: [&[u64]; 2],
        read: impl Fn(Which, usize) -> ItemText,
    ) -> Self {
        let stretches = align(digests, &read);
        let (mut same, mut different) = (0, 0);
        for stretch in &stretches {
            match stretch {
                Stretch::Same { count, .. } => same += count,
                Stretch::Pair(_) => different += 1,
                Stretch::Unread(left, right) => different += left.max(right),
            }
        }
        Self {
            names: names.map(|name| SafeText::single_line(name, 100)),
            stretches,
            same,
            different,
            top: 0,
            drawn: RefCell::new(None),
            height: Cell::new(1),
        }
    }

    fn scroll(&mut self, key: KeyEvent) {
        let page = self.height.get().max(2);
        let to = moved(key, self.top, page, self.last_top());
        self.top = to.unwrap_or(self.top).min(self.last_top());
    }

    fn last_top(&self) -> usize {
        let drawn = self.drawn.borrow();
        let rows = drawn.as_ref().map_or(0, |drawn| drawn.rows.len());
        rows.saturating_sub(self.height.get())
    }

    /// Puts the next or previous difference at the top.
    fn jump(&mut self, direction: Direction) {
        let drawn = self.drawn.borrow();
        let starts = drawn.as_ref().map_or(&[][..], |drawn| &drawn.starts);
        let next = if direction.is_forward() {
            starts.iter().find(|start| **start > self.top)
        } else {
            starts.iter().rfind(|start| **start < self.top)
        };
        let next = next.copied();
        drop(drawn);
        // The last difference may not reach the top.
        self.top = next.unwrap_or(self.top).min(self.last_top());
    }
}

impl<S> Layer<S> for Comparison {
    type Output = ();

    fn contexts(&self) -> &'static [Context] {
        &[Context::Comparison]
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step {
        match command(Context::Comparison, &key) {
            Some(Command::Leave) => return Step::Leave,
            Some(Command::Difference(direction)) => self.jump(direction),
            _ => self.scroll(key),
        }
        Step::Stay
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut S) -> Step {
        match event.kind {
            MouseEventKind::ScrollDown => self.top = (self.top + 3).min(self.last_top()),
            MouseEventKind::ScrollUp => self.top = self.top.saturating_sub(3),
            _ => {}
        }
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        self.draw(frame, area, theme);
    }
}

/// Two items that stand beside each other, or one alone.
#[derive(Debug, Clone)]
struct Pair {
    left: Option<Heading>,
    right: Option<Heading>,
    rows: Vec<Row>,
}

/// What stands above an item.
#[derive(Debug, Clone)]
struct Heading {
    number: usize,
    kind: &'static str,
    tool: SafeText,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::recovery::tests::fixture::{
        assert_draws_at_any_size, emphasis, event, plain_screen, screen,
    };
    use ratatui::Frame;
    use ratatui::layout::Rect;
    use retake_core::session::Kind;

    fn item(kind: Kind, tool: &str, text: &str) -> ItemText {
        ItemText {
            kind,
            tool: tool.to_owned(),
            text: text.to_owned(),
            open: None,
        }
    }

    fn call(name: &str) -> ItemText {
        let text = format!(r#"{{"type":"function_call","name":"{name}","arguments":"{{}}"}}"#);
        item(Kind::Call, name, &text)
    }

    fn output(text: &str) -> ItemText {
        let text = serde_json::json!({"type": "function_call_output", "output": text}).to_string();
        item(Kind::Output, "", &text)
    }

    /// 40 items, of which a call is renamed, an output is added and the last message is another one.
    fn sides() -> [Vec<ItemText>; 2] {
        let message = |number: usize| {
            item(
                Kind::User,
                "",
                &format!(r#"{{"role":"user","content":"message {number}"}}"#),
            )
        };
        let mut left: Vec<_> = (0..40).map(message).collect();
        left[34] = call("serch_flights");
        let mut right = left.clone();
        right[34] = call("search_flights");
        right.insert(35, output("two flights \u{1b}found"));
        left.push(item(
            Kind::Assistant,
            "",
            r#"{"role":"assistant","content":"I could not find a flight."}"#,
        ));
        right.push(item(
            Kind::Assistant,
            "",
            r#"{"role":"assistant","content":"I could find a flight at 9."}"#,
        ));
        [left, right]
    }

    fn comparison(sides: &[Vec<ItemText>; 2]) -> Comparison {
        let digest = |item: &ItemText| {
            use std::hash::{DefaultHasher, Hash, Hasher};
            let mut hasher = DefaultHasher::new();
            item.text.hash(&mut hasher);
            hasher.finish()
        };
        let digests = sides
            .each_ref()
            .map(|side| side.iter().map(digest).collect::<Vec<_>>());
        let read = |which, number: usize| match which {
            Which::Left => sides[0][number].clone(),
            Which::Right => sides[1][number].clone(),
        };
        Comparison::new(["recorded", "take 2"], [&digests[0], &digests[1]], read)
    }

    #[test]
    fn two_takes_stand_beside_each_other_and_what_they_share_is_counted() {
        let mut comparison = comparison(&sides());
        let view = |comparison: &Comparison, size| {
            screen(size, |frame, area, theme| {
                comparison.draw(frame, area, theme)
            })
        };
        insta::assert_snapshot!("beside", view(&comparison, (110, 26)));
        let parts = emphasis((110, 26), |frame, area, theme| {
            comparison.draw(frame, area, theme);
        });
        assert!(
            parts.starts_with(&["serch".to_owned(), "search".to_owned()]),
            "{parts:?}"
        );
        view(&comparison, (110, 8));
        comparison.key(event("]"), &mut ());
        comparison.key(event("]"), &mut ());
        let second = view(&comparison, (110, 8));
        assert!(second.contains("+ 36 output"), "{second}");
        comparison.key(event("["), &mut ());
        assert!(view(&comparison, (110, 8)).contains("~ 35 call  serch_flights"));
        comparison.key(event("G"), &mut ());
        comparison.key(event("j"), &mut ());
        assert!(view(&comparison, (110, 8)).contains("at 9"));
        assert_eq!(comparison.key(event("esc"), &mut ()), Step::Leave);
    }

    #[test]
    fn below_a_hundred_columns_they_stand_one_below_the_other() {
        let comparison = comparison(&sides());
        let view =
            |frame: &mut Frame<'_>, area: Rect, theme: &_| comparison.draw(frame, area, theme);
        insta::assert_snapshot!("below", plain_screen((80, 30), view));
        assert_draws_at_any_size(view);
    }

    #[test]
    fn equal_takes_are_said_to_be_equal() {
        let [left, _] = sides();
        let equal = comparison(&[left.clone(), left]);
        let shown = screen((100, 8), |frame, area, theme| {
            equal.draw(frame, area, theme)
        });
        assert!(shown.contains("41 items the same"), "{shown}");
    }

    #[test]
    fn takes_that_share_nothing_and_are_large_are_compared_as_far_as_anybody_reads() {
        let left: Vec<u64> = (0..200_000).collect();
        let right: Vec<u64> = (200_000..300_000).collect();
        let asked = Cell::new(0);
        let comparison = Comparison::new(["a", "b"], [&left, &right], |_, number| {
            asked.set(asked.get() + 1);
            item(Kind::User, "", &format!("message {number}"))
        });
        assert!(asked.get() < 2000, "{}", asked.get());
        let shown = screen((110, 40), |frame, area, theme| {
            comparison.draw(frame, area, theme)
        });
        assert!(shown.contains("0 items the same"), "{shown}");
    }
}
