//! From a hit in the bytes to the item that it stands in.

use crate::tui::effect::{Counting, Search};
use crate::tui::state::document::{Document, Place};
use retake_core::session::{Source, Span};
use retake_live::search::{Search as ByteSearch, SearchError, SearchFrom as Where, cores};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The next item with the text, and whether the search began anew from the other end.
pub(super) fn find(
    search: &Search,
    cancel: &AtomicBool,
) -> Result<Option<(Place, bool)>, SearchError> {
    let document = &*search.document;
    let sessions = &document.recording.sessions;
    let source = sessions
        .get(search.from.session)
        .map_or(&document.recording.source, |session| &session.source);
    let bytes = ByteSearch {
        source: &**source,
        needle: &search.needle,
        cancel,
    };
    let forward = search.direction.is_forward();
    let here = span_start(document, search.from);
    let start = if forward {
        Where::AtOrAfter(here)
    } else {
        Where::Before(here)
    };
    let around = |offset| around(document, source, offset);
    if let Some(place) = find_from(&bytes, &around, start, Some(search.from))? {
        return Ok(Some((place, false)));
    }
    let other_end = if forward {
        Where::AtOrAfter(0)
    } else {
        Where::Before(source.len())
    };
    let found = find_from(&bytes, &around, other_end, None)?;
    Ok(found.map(|place| (place, true)))
}

/// The first item with a hit from a place on that is not `except`. Hits outside of all items are passed over.
fn find_from(
    bytes: &ByteSearch<'_>,
    around: &dyn Fn(u64) -> Around,
    mut start: Where,
    except: Option<Place>,
) -> Result<Option<Place>, SearchError> {
    while let Some(offset) = bytes.find(start)? {
        let around = around(offset);
        if let Some(place) = around.place
            && around.place != except
        {
            return Ok(Some(place));
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

fn around(document: &Document, source: &Arc<dyn Source>, offset: u64) -> Around {
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
            if span.contains(offset) && span.len() < smallest {
                smallest = span.len();
                around.place = Some(Place { session, item });
            }
        }
    }
    around
}

/// Hands on the items with a text in the order of their bytes, a batch now and then; the last batch says that
/// it is the last.
pub(super) fn count(
    counting: &Counting,
    cancel: &AtomicBool,
    tell: &mut (dyn FnMut(Vec<Place>, bool) + Send),
) -> Result<(), SearchError> {
    let document = &*counting.document;
    let sessions = &document.recording.sessions;
    let source = sessions
        .get(counting.session)
        .map_or(&document.recording.source, |session| &session.source);
    let bytes = ByteSearch {
        source: &**source,
        needle: &counting.needle,
        cancel,
    };
    let mut items = Items::new(document, source);
    let (mut known, mut batch) = (HashSet::new(), Vec::new());
    let mut told = 0;
    // One core is left to what the operator does meanwhile.
    bytes.each(cores().saturating_sub(1).max(1), &mut |hits, searched| {
        let places = hits.iter().filter_map(|hit| items.at(*hit));
        batch.extend(places.filter(|place| known.insert(*place)));
        if searched >= told + STEP && !batch.is_empty() {
            told = searched;
            tell(std::mem::take(&mut batch), false);
        }
    })?;
    tell(batch, true);
    Ok(())
}

/// How many bytes lie at least between two batches.
const STEP: u64 = 8 << 20;

/// Finds items by offsets that only grow.
struct Items {
    /// The items that begin further behind, the next one last.
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
    use retake_live::search::Needle;

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
        let search = Search {
            document,
            needle: Arc::new(Needle::new("needle").unwrap()),
            from: Place {
                session: 0,
                item: 0,
            },
            direction: Direction::Forward,
        };
        let counting = Counting {
            document: search.document.clone(),
            needle: search.needle.clone(),
            session: 0,
        };
        let mut counted = Vec::new();
        let mut tell = |places, is_done| counted.push((places, is_done));
        count(&counting, &AtomicBool::new(false), &mut tell).unwrap();
        let found = find(&search, &AtomicBool::new(false)).unwrap();
        let expected = Place {
            session: 0,
            item: 2,
        };
        assert_eq!(found, Some((expected, false)));
        assert_eq!(counted, [(vec![expected], true)]);
    }
}
