//! From a hit in the bytes to the item that it stands in.

use crate::runtime::search::{Place as Where, Search as ByteSearch, SearchError};
use crate::tui::state::document::{Document, Place};
use crate::tui::update::Search;
use std::sync::atomic::AtomicBool;

/// The next item with the text, and whether the search began anew from the other end.
pub(super) fn find(
    search: &Search,
    cancel: &AtomicBool,
) -> Result<Option<(Place, bool)>, SearchError> {
    let document = &*search.document;
    let source = &*document.recording.source;
    let bytes = ByteSearch {
        source,
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
    if let Some(place) = find_from(&bytes, document, start, Some(search.from))? {
        return Ok(Some((place, false)));
    }
    let other_end = if forward {
        Where::AtOrAfter(0)
    } else {
        Where::Before(source.len())
    };
    let found = find_from(&bytes, document, other_end, None)?;
    Ok(found.map(|place| (place, true)))
}

/// The first item with a hit from a place on that is not `except`. Hits outside of all items are passed over.
fn find_from(
    bytes: &ByteSearch<'_>,
    document: &Document,
    mut start: Where,
    except: Option<Place>,
) -> Result<Option<Place>, SearchError> {
    while let Some(offset) = bytes.find(start)? {
        let around = around(document, offset);
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

fn around(document: &Document, offset: u64) -> Around {
    let mut around = Around {
        place: None,
        start: 0,
        end: u64::MAX,
    };
    let mut smallest = u64::MAX;
    for (session, recorded) in document.recording.sessions.iter().enumerate() {
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

fn span_start(document: &Document, place: Place) -> u64 {
    let session = document.recording.sessions.get(place.session);
    session
        .and_then(|session| session.items.get(place.item))
        .map_or(0, |item| item.span.start)
}
