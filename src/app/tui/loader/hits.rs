//! From a hit in the bytes to the item that holds it.

use crate::tui::effect::{Counting, Hit, SearchRequest};
use crate::tui::state::document::{Document, Place};
use retake_core::content::{diffs_of_call, display_name, result_text};
use retake_core::session::{Item, Kind, NameId, Session, Source, Span};
use retake_core::wire::{Arguments, body_of};
use retake_live::search::{Needle, Search as ByteSearch, SearchError, SearchFrom as Where, cores};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The next place of the text, in what is recorded or in a note, and whether the search wrapped around.
pub(super) fn find(
    search: &SearchRequest,
    cancel: &AtomicBool,
) -> Result<Option<(Hit, bool)>, SearchError> {
    let recorded = find_recorded(search, cancel)?;
    let from = search.from;
    if matches!(recorded, Some((hit, false)) if hit.place == from) {
        return Ok(recorded);
    }
    let document = &search.counting.document;
    let forward = search.direction.is_forward();
    let start = span_start(document, from);
    let beside = beside_bytes(&search.counting, source_of(document, from.session));
    let beside = beside.into_iter().map(|(_, place)| {
        let is_before = match place.session == from.session {
            // To the item itself only all the way around.
            _ if place == from => forward,
            true => span_start(document, place) < start,
            false => place.session < from.session,
        };
        let occurrence = 0;
        (Hit { place, occurrence }, is_before == forward)
    });
    // How far it is: what a search comes to by its wrap is farther than all others.
    let distance = |(hit, wraps): &(Hit, bool)| {
        let place = hit.place;
        let is_elsewhere = (place.session != from.session) != *wraps;
        let at = i128::from(span_start(document, place));
        let order = (place.session, if forward { at } else { -at });
        (*wraps, is_elsewhere, order)
    };
    let mut beside = beside.min_by_key(&distance);
    if let Some((hit, _)) = beside.as_mut().filter(|_| !forward) {
        hit.occurrence = occurrences(&search.counting, hit.place).saturating_sub(1);
    }
    Ok(beside.into_iter().chain(recorded).min_by_key(distance))
}

/// The bytes that a session stands in.
fn source_of(document: &Document, session: usize) -> &Arc<dyn Source> {
    let recording = &document.recording;
    let session = recording.sessions.get(session);
    session.map_or(&recording.source, |session| &session.source)
}

/// The items of these bytes that have the text in a note, or in the name of their tool as it is shown and not as it is
/// recorded; each with where it begins, in this order.
fn beside_bytes(counting: &Counting, source: &Arc<dyn Source>) -> Vec<(u64, Place)> {
    let notes = counting.takes.notes.iter();
    let notes = notes.filter(|(_, text)| !counting.needle.ranges_in(text).is_empty());
    let noted: &HashSet<u64> = &notes.map(|(at, _)| *at).collect();
    if counting.tool.is_some() {
        return Vec::new();
    }
    let needle = &counting.needle;
    let is_in = |name: &str| !needle.ranges_in(name).is_empty();
    let is_shown = |name: &str| !counting.is_raw && !is_in(name) && is_in(&display_name(name));
    let sessions = counting.document.recording.sessions.iter().enumerate();
    let sessions = sessions.filter(|(_, session)| session.stands_in(source));
    let mut found: Vec<_> = sessions
        .flat_map(|(session, recorded)| {
            let names = recorded.names.iter();
            let names = names.filter(|(_, name)| is_shown(name)).map(|(id, _)| id);
            let names: HashSet<NameId> = names.collect();
            let items = match noted.is_empty() && names.is_empty() {
                true => &[][..],
                false => &recorded.items,
            };
            let items = items.iter().enumerate().filter(move |(_, item)| {
                noted.contains(&item.span.start) || (is_call(item) && names.contains(&item.name))
            });
            items.map(move |(item, head)| (head.span.start, Place { session, item }))
        })
        .collect();
    found.sort_by_key(|(start, _)| *start);
    found
}

/// The next place of the text in what is recorded, and whether the search wrapped around.
fn find_recorded(
    search: &SearchRequest,
    cancel: &AtomicBool,
) -> Result<Option<(Hit, bool)>, SearchError> {
    let counting = &search.counting;
    let document = &*counting.document;
    let source = source_of(document, search.from.session);
    let bytes = ByteSearch {
        source: &**source,
        needle: &counting.needle,
        cancel,
    };
    let forward = search.direction.is_forward();
    let own = occurrences(counting, search.from);
    let next = match (search.occurrence, forward) {
        (None, _) => Some(0),
        (Some(last), true) => Some(last + 1),
        (Some(last), false) => last.checked_sub(1),
    };
    if let Some(occurrence) = next.filter(|next| *next < own) {
        let place = search.from;
        return Ok(Some((Hit { place, occurrence }, false)));
    }
    let first = |(place, count): (Place, usize)| Hit {
        place,
        occurrence: if forward { 0 } else { count - 1 },
    };
    let here = span_start(document, search.from);
    let start = if forward {
        Where::AtOrAfter(here)
    } else {
        Where::Before(here)
    };
    let around = |offset| around(document, source, offset, search.from.session);
    let counted = |place: Place| {
        let counted = Some((place, occurrences(counting, place)));
        counted.filter(|it| place.session == search.from.session && it.1 > 0)
    };
    let beyond = |place| counted(place).filter(|_| place != search.from);
    if let Some(found) = find_from(&bytes, &around, start, &beyond)? {
        return Ok(Some((first(found), false)));
    }
    if let Some((place, count)) = in_other_sessions(&bytes, search, source)? {
        let wraps = (place.session > search.from.session) != forward;
        return Ok(Some((first((place, count)), wraps)));
    }
    let other_end = if forward {
        Where::AtOrAfter(0)
    } else {
        Where::Before(source.len())
    };
    let found = find_from(&bytes, &around, other_end, &counted)?;
    Ok(found.map(|found| (first(found), true)))
}

/// The nearest item with the text in the sessions after this one, or before it: their records may lie between those of
/// this one.
fn in_other_sessions(
    bytes: &ByteSearch<'_>,
    search: &SearchRequest,
    source: &Arc<dyn Source>,
) -> Result<Option<(Place, usize)>, SearchError> {
    let document = &*search.counting.document;
    let sessions = &document.recording.sessions;
    let others = sessions
        .iter()
        .filter(|session| session.stands_in(source))
        .count();
    if others < 2 {
        return Ok(None);
    }
    let from = search.from.session;
    let mut items = Items::new(document, source);
    let mut places = HashSet::new();
    bytes.each(cores(), &mut |hits, _| {
        let found = hits.iter().filter_map(|hit| items.at(*hit));
        places.extend(found.filter(|place| place.session != from));
    })?;
    let mut places: Vec<Place> = places.into_iter().collect();
    // Those before this session come after all others.
    places.sort_unstable_by_key(|place| (place.session < from, place.session, place.item));
    if !search.direction.is_forward() {
        places.reverse();
    }
    let counted = |place| (place, occurrences(&search.counting, place));
    Ok(places.into_iter().map(counted).find(|found| found.1 > 0))
}

/// How often a text is in what is shown of an item and in the note on it.
fn occurrences(counting: &Counting, place: Place) -> usize {
    let start = span_start(&counting.document, place);
    let note = counting.takes.note(start).unwrap_or_default();
    let noted = match counting.tool {
        None => counting.needle.ranges_in(note).len(),
        Some(_) => 0,
    };
    recorded_occurrences(counting, place) + noted
}

/// How often a text is in what is shown of an item; its JSON has it in keys and ids as well.
fn recorded_occurrences(counting: &Counting, place: Place) -> usize {
    let needle = &counting.needle;
    let session = counting.document.session(place.session);
    let item = session.and_then(|session| session.items.get(place.item));
    let (Some(session), Some(item)) = (session, item) else {
        return 0;
    };
    let Ok(bytes) = session.bytes(item) else {
        return 0;
    };
    if counting.is_raw {
        return needle.ranges_in(&String::from_utf8_lossy(&bytes)).len();
    }
    match (&counting.tool, body_of(item, &bytes)) {
        (Some(tool), Ok(body)) => {
            if !is_call(item) || session.name(item) != &**tool {
                return 0;
            }
            let own = in_arguments(needle, body.arguments.as_written());
            own.max(needle.ranges_in(tool).len())
        }
        _ => in_item(needle, session, item, &bytes),
    }
}

fn is_call(item: &Item) -> bool {
    matches!(item.kind, Kind::Call | Kind::HostedCall)
}

/// How often a text is in what is shown of an item with these bytes.
pub(super) fn in_item(needle: &Needle, session: &Session, item: &Item, bytes: &[u8]) -> usize {
    let of_json = || needle.ranges_in(&String::from_utf8_lossy(bytes)).len();
    let Ok(body) = body_of(item, bytes) else {
        return of_json();
    };
    let is_call = is_call(item);
    let name = match is_call {
        true => {
            let recorded = session.name(item);
            let shown = needle.ranges_in(&display_name(recorded)).len();
            shown.max(needle.ranges_in(recorded).len())
        }
        false => 0,
    };
    let text = result_text(&body.text);
    let text = needle.ranges_in(&text.text).len();
    let arguments = match &body.arguments {
        Arguments::None if !is_call && body.text.is_empty() => of_json(),
        Arguments::None => 0,
        arguments => in_arguments(needle, arguments.as_written()),
    };
    match name + text + arguments {
        0 => {
            let id = session.call_id(item).unwrap_or_default();
            usize::from(!needle.ranges_in(&id).is_empty())
        }
        count => count,
    }
}

/// How often a text is in arguments as they are shown: of what they change in files, the lines of the differences.
fn in_arguments(needle: &Needle, arguments: &str) -> usize {
    let diffs = diffs_of_call(arguments);
    if diffs.is_empty() && needle.is_expression() {
        let values = serde_json::from_str(arguments).map_or_else(|_| Vec::new(), texts_in);
        let in_values: usize = values.iter().map(|it| needle.ranges_in(it).len()).sum();
        return match in_values {
            0 => needle.ranges_in(arguments).len(),
            count => count,
        };
    }
    if diffs.is_empty() {
        return needle.find_all(arguments.as_bytes(), 0).count();
    }
    let lines = diffs.iter().flat_map(|diff| &diff.lines);
    let lines = lines.map(|line| &line.text);
    let texts = diffs.iter().map(|diff| &diff.path).chain(lines);
    texts.map(|text| needle.ranges_in(text).len()).sum()
}

/// The texts in a value, as they read.
pub(super) fn texts_in(value: Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.into_iter().flat_map(texts_in).collect(),
        Value::Object(members) => members
            .into_iter()
            .flat_map(|(_, it)| texts_in(it))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The first item with a hit from a place on that counts. Hits outside of all items are passed over.
fn find_from(
    bytes: &ByteSearch<'_>,
    around: &dyn Fn(u64) -> Around,
    mut start: Where,
    counted: &dyn Fn(Place) -> Option<(Place, usize)>,
) -> Result<Option<(Place, usize)>, SearchError> {
    while let Some(offset) = bytes.find(start)? {
        let around = around(offset);
        if let Some(found) = around.place.and_then(counted) {
            return Ok(Some(found));
        }
        start = match start {
            Where::AtOrAfter(_) => Where::AtOrAfter(around.end.max(offset + 1)),
            Where::Before(_) => Where::Before(around.start.min(offset)),
        };
    }
    Ok(None)
}

/// The stretch of bytes around an offset that belongs to the same item, or to none.
struct Around {
    place: Option<Place>,
    start: u64,
    end: u64,
}

/// Where several sessions share an item, it is that of the one at `here`.
fn around(document: &Document, source: &Arc<dyn Source>, offset: u64, here: usize) -> Around {
    let mut around = Around {
        place: None,
        start: 0,
        end: u64::MAX,
    };
    let mut smallest = u64::MAX;
    let sessions = document.recording.sessions.iter().enumerate();
    for (session, recorded) in sessions.filter(|(_, session)| session.stands_in(source)) {
        for (item, head) in recorded.items.iter().enumerate() {
            let span = head.span;
            for edge in [span.start, span.end] {
                if edge <= offset {
                    around.start = around.start.max(edge);
                } else {
                    around.end = around.end.min(edge);
                }
            }
            let is_nearer = span.len() < smallest || (span.len() == smallest && session == here);
            if span.contains(offset) && is_nearer {
                smallest = span.len();
                around.place = Some(Place { session, item });
            }
        }
    }
    around
}

/// Hands on the items with a text in the order of their bytes and how often each has it, a batch now and then; the
/// last batch says that it is the last.
pub(super) fn count(
    counting: &Counting,
    cancel: &AtomicBool,
    tell: &mut (dyn FnMut(Vec<(Place, usize)>, bool) + Send),
) -> Result<(), SearchError> {
    let document = &*counting.document;
    let source = source_of(document, counting.session);
    let bytes = ByteSearch {
        source: &**source,
        needle: &counting.needle,
        cancel,
    };
    let mut items = Items::new(document, source);
    let mut beside = beside_bytes(counting, source);
    beside.reverse();
    let (mut known, mut batch) = (HashSet::new(), Vec::new());
    let mut reported = 0;
    // One core is left to what the operator does meanwhile.
    bytes.each(cores().saturating_sub(1).max(1), &mut |hits, searched| {
        let mut places = Vec::new();
        for hit in hits {
            places.extend(take_until(&mut beside, *hit));
            places.extend(items.at(*hit));
        }
        let new = places.into_iter().filter(|place| known.insert(*place));
        let new = new.filter(|_| !cancel.load(Ordering::Relaxed));
        let counted = new.map(|place| (place, occurrences(counting, place)));
        batch.extend(counted.filter(|(_, count)| *count > 0));
        if searched >= reported + STEP && !batch.is_empty() {
            reported = searched;
            tell(std::mem::take(&mut batch), false);
        }
    })?;
    let beside = take_until(&mut beside, u64::MAX).into_iter();
    let beside = beside.filter(|place| known.insert(*place));
    batch.extend(beside.map(|place| (place, occurrences(counting, place))));
    tell(batch, true);
    Ok(())
}

/// Takes the places that begin up to an offset from the end of a list.
fn take_until(places: &mut Vec<(u64, Place)>, offset: u64) -> Vec<Place> {
    let next = || places.pop_if(|(start, _)| *start <= offset);
    std::iter::from_fn(next).map(|(_, place)| place).collect()
}

/// How many bytes lie at least between two batches.
const STEP: u64 = 8 << 20;

/// Finds items by offsets that only grow.
struct Items {
    /// The items that begin later, the next one last.
    ahead: Vec<(Span, Place)>,
    /// Those that have begun and not ended.
    open: Vec<(Span, Place)>,
}

impl Items {
    fn new(document: &Document, source: &Arc<dyn Source>) -> Self {
        let sessions = document.recording.sessions.iter().enumerate();
        let sessions = sessions.filter(|(_, session)| session.stands_in(source));
        let items = sessions.flat_map(|(session, recorded)| {
            let items = recorded.items.iter().enumerate();
            items.map(move |(item, head)| (head.span, Place { session, item }))
        });
        let mut ahead: Vec<_> = items.collect();
        // Of items with the same bytes the first one is found, as in a search.
        ahead.sort_by_key(|(span, _)| span.start);
        ahead.reverse();
        Self {
            ahead,
            open: Vec::new(),
        }
    }

    /// The smallest item around an offset.
    fn at(&mut self, offset: u64) -> Option<Place> {
        while let Some(next) = self.ahead.pop_if(|(span, _)| span.start <= offset) {
            self.open.push(next);
        }
        self.open.retain(|(span, _)| span.end > offset);
        let smallest = self.open.iter().min_by_key(|(span, _)| span.len());
        smallest.map(|(_, place)| *place)
    }
}

fn span_start(document: &Document, place: Place) -> u64 {
    let session = document.recording.sessions.get(place.session);
    session
        .and_then(|session| session.items.get(place.item))
        .map_or(0, |item| item.span.start)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tui::keymap::Direction;
    use crate::tui::state::document::Extent;
    use crate::tui::state::tests::recording;

    #[test]
    fn a_hit_in_a_captured_stream_is_the_item_that_was_put_together_there() {
        let chunk = |id: &str, text: &str| {
            format!(
                r#"{{"id":"{id}","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":"stop"}}]}}"#
            )
        };
        let lines = [chunk("1", "one"), chunk("2", "two"), chunk("3", "needle")];
        let document = Arc::new(Document {
            recording: Arc::new(recording(&lines.join("\n"))),
            extent: Extent::Whole,
        });
        let counting = Counting {
            document,
            needle: Arc::new(Needle::new("needle").unwrap()),
            tool: None,
            session: 0,
            is_raw: false,
            takes: Arc::default(),
        };
        let search = SearchRequest {
            counting: counting.clone(),
            from: Place {
                session: 0,
                item: 0,
            },
            occurrence: None,
            direction: Direction::Forward,
        };
        let mut counted = Vec::new();
        let mut tell = |places, is_done| counted.push((places, is_done));
        count(&counting, &AtomicBool::new(false), &mut tell).unwrap();
        let found = find(&search, &AtomicBool::new(false)).unwrap();
        let expected = Place {
            session: 0,
            item: 2,
        };
        let hit = Hit {
            place: expected,
            occurrence: 0,
        };
        assert_eq!(found, Some((hit, false)));
        assert_eq!(counted, [(vec![(expected, 1)], true)]);
    }
}
