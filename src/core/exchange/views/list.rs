//! The list of a request while turns are put back into it.

use super::element::{ElementOwner, ListElement, MARKS};
use crate::session::{Dialect, Meaning};
use crate::wire::RequestHead;
use crate::wire::write::edit::elements;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;

/// A request, cut at the elements of its list.
#[derive(Debug)]
pub(crate) struct RequestList<'a> {
    pub(crate) dialect: Dialect,
    /// Whether the provider keeps what came before this list.
    pub(crate) has_server_state: bool,
    body: &'a str,
    /// From the first element to the last.
    inside: Range<usize>,
    slots: Vec<Slot>,
    is_changed: bool,
    /// What is found out when somebody asks, until the list is changed.
    keys: OnceCell<Vec<Meaning>>,
    contexts: OnceCell<Vec<Meaning>>,
}

/// An element, and its position in the request if it is one of the agent's as it was.
#[derive(Debug)]
struct Slot {
    element: ListElement,
    origin: Option<Range<usize>>,
    /// What it says, once that was needed: all of it, and what of it is repeated.
    meaning: OnceCell<Meaning>,
    repeated: OnceCell<Option<Meaning>>,
}

impl Slot {
    fn of(dialect: Dialect, text: &str, origin: Option<Range<usize>>) -> Self {
        Self {
            element: ListElement::read(dialect, text),
            origin,
            meaning: OnceCell::new(),
            repeated: OnceCell::new(),
        }
    }
}

impl<'a> RequestList<'a> {
    /// Cuts a request; `None` where it has no list with an element.
    pub(crate) fn read(dialect: Dialect, body: &'a [u8]) -> Option<Self> {
        let head = RequestHead::read(dialect, body)?;
        let list = head.history?;
        let body = std::str::from_utf8(body).ok()?;
        let places = elements(body, &list);
        let inside = places.first()?.start..places.last()?.end;
        let slots = places.into_iter();
        let slots = slots.map(|at| Slot::of(dialect, &body[at.clone()], Some(at)));
        Some(Self {
            dialect,
            has_server_state: head.has_server_state,
            body,
            inside,
            slots: slots.collect(),
            is_changed: false,
            keys: OnceCell::new(),
            contexts: OnceCell::new(),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&ListElement> {
        self.slots.get(index).map(|slot| &slot.element)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &ListElement> {
        self.slots.iter().map(|slot| &slot.element)
    }

    /// The run of the model's elements around an element.
    pub(crate) fn turn_around(&self, index: usize) -> Range<usize> {
        let is_model = |slot: &Slot| slot.element.side == ElementOwner::Model;
        let before = self.slots[..index]
            .iter()
            .rev()
            .take_while(|slot| is_model(slot));
        let after = self.slots[index..].iter().take_while(|slot| is_model(slot));
        index - before.count()..index + after.count()
    }

    /// What is said up to each element: the same element elsewhere, or in another
    /// conversation, is another one. Instructions do not count: they hold dates.
    pub(crate) fn keys(&self) -> &[Meaning] {
        self.keys.get_or_init(|| {
            let mut before = Meaning::NOTHING;
            let keys = self.slots.iter().map(|slot| {
                let element = &slot.element;
                let key = before.and(*slot.meaning.get_or_init(|| element.meaning(&MARKS)));
                if !(element.has_role("system") || element.has_role("developer")) {
                    before = key;
                }
                key
            });
            keys.collect()
        })
    }

    /// What was said before the element at `index`.
    pub(crate) fn context(&self, index: usize) -> Option<Meaning> {
        let contexts = self.contexts.get_or_init(|| {
            let mut before = Meaning::NOTHING;
            let contexts = self.slots.iter().map(|slot| {
                let repeated = *slot.repeated.get_or_init(|| slot.element.repeated());
                let after = repeated.map_or(before, |repeated| before.and(repeated));
                std::mem::replace(&mut before, after)
            });
            contexts.collect()
        });
        contexts.get(index).copied()
    }

    fn change(&mut self) {
        self.is_changed = true;
        (self.keys, self.contexts) = (OnceCell::new(), OnceCell::new());
    }

    /// Puts elements before the one at `index`.
    pub(crate) fn insert(&mut self, index: usize, texts: impl IntoIterator<Item = String>) {
        let dialect = self.dialect;
        let slots = texts.into_iter();
        let slots = slots.map(|text| Slot::of(dialect, &text, None));
        let before = self.slots.len();
        self.slots.splice(index..index, slots);
        if self.slots.len() != before {
            self.change();
        }
    }

    /// Exchanges an element; nothing happens where it stays the same.
    pub(crate) fn replace(&mut self, index: usize, text: &str) {
        let dialect = self.dialect;
        if let Some(slot) = self.slots.get_mut(index)
            && slot.element.text != text
        {
            *slot = Slot::of(dialect, text, None);
            self.change();
        }
    }

    /// Puts others in the places of elements, all at once.
    pub(crate) fn replace_all(&mut self, mut now: BTreeMap<usize, Vec<String>>) {
        let dialect = self.dialect;
        let mut slots = Vec::with_capacity(self.slots.len());
        for (place, slot) in std::mem::take(&mut self.slots).into_iter().enumerate() {
            match now.remove(&place) {
                None => slots.push(slot),
                Some(texts) => {
                    slots.extend(texts.iter().map(|text| Slot::of(dialect, text, None)));
                }
            }
        }
        self.slots = slots;
        self.change();
    }

    /// The request with its list as it now is; `None` where nothing has changed. What separates two elements
    /// that were neighbours before stays as it is.
    pub(crate) fn write(&self) -> Option<Vec<u8>> {
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

    /// Whether only a comma and white space separate two places of the request.
    fn is_next(&self, end: usize, at: &Range<usize>) -> bool {
        self.body
            .get(end..at.start)
            .is_some_and(|between| between.trim() == ",")
    }
}
