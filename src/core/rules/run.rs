//! What rules are given: the session, the target, what was offered where, prepared once; and what the item pass
//! remembers of each call and output, so that rules of the session need no body.

use super::error_class::ErrorClass;
use crate::actions::{ActionContext, Defect, OfferedTools, SessionIndex};
use crate::schema::{SchemaCache, SchemaError, Validator};
use crate::session::{Dialect, Flags, Item, Session};
use crate::wire::Body;
use foldhash::fast::FixedState;
use serde_json::Value;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

/// A session under examination.
#[derive(Debug)]
pub struct Run<'a> {
    pub session: &'a Session,
    /// The dialect that it is judged for.
    pub target: Dialect,
    around: SessionIndex<'a>,
    /// The items right after which a token limit stopped their reply, in order.
    cut: Vec<u32>,
    /// The items that need no judging, in order.
    known: Vec<CleanItem>,
    /// What the item pass remembers; empty before it.
    pub digests: Digests,
}

/// One item with its body.
#[derive(Debug)]
pub struct CheckedItem<'a> {
    /// Its index in the session.
    pub index: usize,
    pub item: &'a Item,
    /// Its body; of outputs only the beginning.
    pub body: &'a Body,
    /// The strictly parsed arguments of a call: `None` where they are not JSON, or for items that have none.
    pub arguments: Option<&'a serde_json::Value>,
    /// What kind of error an output reports.
    pub error: Option<ErrorClass>,
}

impl<'a> Run<'a> {
    /// Prepares a session; `target` is the dialect to judge for, the recorded one if `None`.
    pub fn new(session: &'a Session, target: Option<Dialect>) -> Self {
        let limits = session.stops.iter().filter(|stop| stop.is_token_limit());
        let mut cut = limits.map(|stop| stop.item).collect::<Vec<_>>();
        cut.sort_unstable();
        Self {
            session,
            target: target.unwrap_or(session.dialect),
            around: SessionIndex::new(session),
            cut,
            known: Vec::new(),
            digests: Digests::default(),
        }
    }

    /// The same for a session of which some items were judged before; they are given in order.
    pub fn knowing(mut self, known: Vec<CleanItem>) -> Self {
        self.known = known;
        self
    }

    /// The same, where the schemas of tools may have been compiled before.
    pub fn compiling(mut self, compiled: &Arc<SchemaCache>) -> Self {
        self.around = self.around.compiling(compiled);
        self
    }

    /// The validator of a schema, in either spelling.
    pub(crate) fn validator(&self, schema: &Value) -> Arc<Result<Validator, SchemaError>> {
        self.around.validator(schema)
    }

    /// What is known of the item at `index` from an earlier check.
    pub(crate) fn known(&self, index: usize) -> Option<&CleanItem> {
        let index = u32::try_from(index).ok()?;
        let place = self.known.binary_search_by_key(&index, |known| known.item);
        self.known.get(place.ok()?)
    }

    /// Whether the reply was broken off in this item: by a token limit, or a stream that ended early.
    pub fn is_cut(&self, index: usize) -> bool {
        let item = self.session.items.get(index);
        item.is_some_and(|item| item.flags.has(Flags::INCOMPLETE))
            || u32::try_from(index).is_ok_and(|index| self.cut.binary_search(&index).is_ok())
    }

    /// The number of tool sets in force for the item at `index`.
    pub fn epoch(&self, index: usize) -> usize {
        self.around.epoch(index)
    }

    /// What is offered to the reply that holds the item at `index`; `None` where no tool list is known.
    pub fn offered(&self, index: usize) -> Option<OfferedTools<'_>> {
        self.around.offered(index)
    }

    /// Where an action for a defect is to be applied; `beside` are the other findings of the same turn. `None`
    /// where the defect is about no item.
    pub fn scene<'r>(
        &'r self,
        defect: Defect<'r>,
        beside: &'r [Defect<'r>],
    ) -> Option<ActionContext<'r>> {
        Some(ActionContext {
            around: &self.around,
            target: self.target,
            item: defect.item?,
            defect,
            beside,
        })
    }
}

/// An item that needs no check.
#[derive(Debug, Clone, Copy)]
pub struct CleanItem {
    pub item: u32,
    /// What the item pass remembers of it.
    pub digest: Option<Digest>,
}

/// How much of an output is read: error texts stand at its beginning.
pub(crate) const OUTPUT_HEAD: u64 = 768;

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

    /// What kind of error the output at `item` reports.
    pub fn error(&self, item: usize) -> Option<ErrorClass> {
        self.get(item)?.error
    }
}

/// The digest of a call: its arguments without regard to white space and key order.
pub(crate) fn digest_of_call(index: u32, body: &Body, arguments: Option<&Value>) -> Digest {
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
pub(crate) fn digest_of_output(
    index: u32,
    item: &Item,
    body: &Body,
    error: Option<ErrorClass>,
) -> Digest {
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
