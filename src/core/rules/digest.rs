//! What the item pass remembers of each call and output, so that rules of the session need no body.

use super::check::{OUTPUT_HEAD, read_digest};
use super::{ErrorClass, Run};
use crate::dialects::Body;
use crate::session::Item;
use foldhash::fast::FixedState;
use serde_json::Value;
use std::hash::{BuildHasher, Hash, Hasher};

/// What is remembered of one call or output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest {
    /// Index of the item.
    pub item: u32,
    /// Hash of the arguments (canonical where they are JSON), or of the beginning of the output.
    pub content: u64,
    /// For calls: whether the arguments should be JSON and are not.
    pub is_malformed: bool,
    /// For outputs: what kind of error it is, if it is one.
    pub error: Option<ErrorClass>,
}

/// The digests of a session, by item.
#[derive(Debug, Clone, Default)]
pub struct Digests {
    sorted: Vec<Digest>,
    /// For each item the place of its digest, counted from 1; 0 where there is none.
    places: Vec<u32>,
}

impl Digests {
    /// Takes the digests of an item pass, in any order.
    pub fn new(mut digests: Vec<Digest>) -> Self {
        digests.sort_unstable_by_key(|digest| digest.item);
        let items = digests.last().map_or(0, |last| last.item as usize + 1);
        let mut places = vec![0; items];
        for (place, digest) in (1..).zip(&digests) {
            places[digest.item as usize] = place;
        }
        Self {
            sorted: digests,
            places,
        }
    }

    pub fn get(&self, item: usize) -> Option<&Digest> {
        let place = self.places.get(item)?.checked_sub(1)? as usize;
        self.sorted.get(place)
    }

    /// The digest of an item, also where the item pass kept none.
    pub fn get_or_read(&self, run: &Run<'_>, item: usize) -> Option<Digest> {
        self.get(item).copied().or_else(|| read_digest(run, item))
    }

    /// What kind of error the output at `item` reports.
    pub fn error(&self, item: usize) -> Option<ErrorClass> {
        self.get(item)?.error
    }
}

/// The digest of a call: its arguments without regard to white space and key order.
pub(super) fn of_call(index: u32, body: &Body, arguments: Option<&Value>) -> Digest {
    let mut hasher = FixedState::default().build_hasher();
    match arguments {
        Some(value) => hash_value(value, &mut hasher),
        None => body.arguments.as_written().hash(&mut hasher),
    }
    Digest {
        item: index,
        content: hasher.finish(),
        is_malformed: arguments.is_none() && body.arguments.json().is_some(),
        error: None,
    }
}

/// The digest of an output from its beginning; of a longer one the length tells, too.
pub(super) fn of_output(index: u32, item: &Item, body: &Body, error: Option<ErrorClass>) -> Digest {
    let mut hasher = FixedState::default().build_hasher();
    body.text.hash(&mut hasher);
    if item.span.len() > OUTPUT_HEAD {
        (item.span.len() - u64::from(item.call_id.length)).hash(&mut hasher);
    }
    Digest {
        item: index,
        content: hasher.finish(),
        is_malformed: false,
        error,
    }
}

/// The order of members counts for nothing, the type of a value does.
fn hash_value(value: &Value, hasher: &mut impl Hasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(hasher),
        Value::String(text) => text.hash(hasher),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.hash(hasher),
            (None, Some(float)) => float.to_bits().hash(hasher),
            (None, None) => number.to_string().hash(hasher),
        },
        Value::Array(values) => {
            values.len().hash(hasher);
            values.iter().for_each(|value| hash_value(value, hasher));
        }
        Value::Object(members) => {
            let hashes = members.iter().map(|(key, value)| {
                let mut hasher = FixedState::default().build_hasher();
                key.hash(&mut hasher);
                hash_value(value, &mut hasher);
                hasher.finish()
            });
            hashes.fold(0_u64, u64::wrapping_add).hash(hasher);
        }
    }
}
