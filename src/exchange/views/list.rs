//! The list of a request while turns are put back into it.

use super::element::{Element, Side};
use super::surgery::elements;
use crate::exchange::asked::Asked;
use crate::session::Dialect;
use std::ops::Range;

/// A request, cut at the elements of its list.
#[derive(Debug)]
pub(super) struct List<'a> {
    pub(super) dialect: Dialect,
    /// Whether the provider keeps what came before this list.
    pub(super) has_server_state: bool,
    body: &'a str,
    /// From the first element to the last.
    inside: Range<usize>,
    slots: Vec<Slot>,
    is_changed: bool,
}

/// An element, and where it stands in the request if it is one of the agent's as it was.
#[derive(Debug)]
struct Slot {
    element: Element,
    origin: Option<Range<usize>>,
}

impl<'a> List<'a> {
    /// Cuts a request; `None` where it has no list with an element.
    pub(super) fn read(dialect: Dialect, body: &'a [u8]) -> Option<Self> {
        let asked = Asked::read(dialect, body)?;
        let list = asked.history?;
        let body = std::str::from_utf8(body).ok()?;
        let places = elements(body, &list);
        let inside = places.first()?.start..places.last()?.end;
        let slots = places.into_iter().map(|at| Slot {
            element: Element::read(dialect, &body[at.clone()]),
            origin: Some(at),
        });
        Some(Self {
            dialect,
            has_server_state: asked.has_server_state,
            body,
            inside,
            slots: slots.collect(),
            is_changed: false,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&Element> {
        self.slots.get(index).map(|slot| &slot.element)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Element> {
        self.slots.iter().map(|slot| &slot.element)
    }

    /// What the model said in a row around an element.
    pub(super) fn turn_around(&self, index: usize) -> Range<usize> {
        let is_model = |slot: &Slot| slot.element.side == Side::Model;
        let before = self.slots[..index]
            .iter()
            .rev()
            .take_while(|slot| is_model(slot));
        let behind = self.slots[index..].iter().take_while(|slot| is_model(slot));
        index - before.count()..index + behind.count()
    }

    /// Puts elements before the one at `index`.
    pub(super) fn insert(&mut self, index: usize, texts: impl IntoIterator<Item = String>) {
        let dialect = self.dialect;
        let slots = texts.into_iter().map(|text| Slot {
            element: Element::read(dialect, &text),
            origin: None,
        });
        let before = self.slots.len();
        self.slots.splice(index..index, slots);
        self.is_changed |= self.slots.len() != before;
    }

    /// Exchanges an element; nothing happens where it stays the same.
    pub(super) fn replace(&mut self, index: usize, text: &str) {
        let dialect = self.dialect;
        if let Some(slot) = self.slots.get_mut(index)
            && slot.element.text != text
        {
            *slot = Slot {
                element: Element::read(dialect, text),
                origin: None,
            };
            self.is_changed = true;
        }
    }

    /// Takes an element out.
    pub(super) fn remove(&mut self, index: usize) {
        self.slots.remove(index);
        self.is_changed = true;
    }

    /// The request with its list as it now is; `None` where nothing has changed. What separates two elements that were neighbours before
    /// stays as it is.
    pub(super) fn write(&self) -> Option<Vec<u8>> {
        if !self.is_changed {
            return None;
        }
        let mut text = self.body[..self.inside.start].to_owned();
        let mut end = None;
        for (index, slot) in self.slots.iter().enumerate() {
            match (&slot.origin, end) {
                (Some(at), Some(end)) if self.is_next(end, at) => {
                    text.push_str(&self.body[end..at.start])
                }
                _ if index > 0 => text.push(','),
                _ => {}
            }
            text.push_str(&slot.element.text);
            end = slot.origin.as_ref().map(|at| at.end);
        }
        text.push_str(&self.body[self.inside.end..]);
        Some(text.into_bytes())
    }

    /// Whether between two places of the request stands nothing but a comma and white space.
    fn is_next(&self, end: usize, at: &Range<usize>) -> bool {
        self.body
            .get(end..at.start)
            .is_some_and(|between| between.trim() == ",")
    }
}
