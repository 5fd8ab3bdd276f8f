//! A text in the contents of many recordings: their bytes are searched, and those that hold it are read for the places.

use super::hits::{self, texts_in};
use crate::tui::effect::{Counting, FoundText};
use crate::tui::state::document::{Document, Extent, Place};
use retake_core::content::result_text;
use retake_core::session::{Item, Session};
use retake_core::wire::body_within;
use retake_live::search::{Needle, Search, SearchError, SearchFrom};
use retake_live::{InputError, ReadOptions, open, read_input};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Places that are listed of one recording, and of all.
const OF_FILE: usize = 20;
const MOST: usize = 2_000;
/// How many recordings without the text are searched between two reports.
const STEP: usize = 64;
/// How much of an item is read for the line with the text.
const READ: u64 = 1 << 20;
/// Letters before the text in its line.
const BEFORE: usize = 24;

/// Searches these recordings, each with its number, one after the other; `tell` gets what was found since it was
/// called last, and how many are searched. Recordings that cannot be read are passed over: the list says which.
pub(in crate::tui) fn search(
    recordings: &[(usize, PathBuf)],
    needle: &Arc<Needle>,
    options: &ReadOptions,
    cancel: &AtomicBool,
    tell: &dyn Fn(Vec<FoundText>, usize),
) {
    let mut total = 0;
    for (done, (number, path)) in recordings.iter().enumerate() {
        if cancel.load(Ordering::Relaxed) {
            return;
        }
        let found = search_one(*number, path, needle, options, cancel).unwrap_or_default();
        total += found.len();
        if !found.is_empty() || done % STEP == 0 {
            tell(found, done + 1);
        }
        if total >= MOST {
            return tell(Vec::new(), done + 1);
        }
    }
    tell(Vec::new(), recordings.len());
}

#[derive(Debug, thiserror::Error)]
enum ContentsError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Search(#[from] SearchError),
}

fn search_one(
    number: usize,
    path: &Path,
    needle: &Arc<Needle>,
    options: &ReadOptions,
    cancel: &AtomicBool,
) -> Result<Vec<FoundText>, ContentsError> {
    let input = open(path)?;
    let bytes = Search {
        source: &*input.source,
        needle,
        cancel,
    };
    if bytes.find(SearchFrom::AtOrAfter(0))?.is_none() {
        return Ok(Vec::new());
    }
    let recording = Arc::new(read_input(input, options)?);
    let document = Arc::new(Document {
        recording,
        extent: Extent::Whole,
    });
    let sessions = &document.recording.sessions;
    let mut places: Vec<Place> = Vec::new();
    for (session, recorded) in sessions.iter().enumerate() {
        // A count is of all sessions in the same bytes.
        let mut earlier = sessions[..session].iter();
        if earlier.any(|other| Arc::ptr_eq(&other.source, &recorded.source)) {
            continue;
        }
        let counting = Counting {
            document: document.clone(),
            needle: needle.clone(),
            tool: None,
            session,
            is_raw: false,
            takes: Arc::default(),
        };
        hits::count(&counting, cancel, &mut |batch, _| {
            places.extend(batch.into_iter().map(|(place, _)| place));
        })?;
    }
    places.sort_unstable_by_key(|place| (place.session, place.item));
    places.dedup();
    let more = places.len().saturating_sub(OF_FILE);
    let listed = places.into_iter().take(OF_FILE);
    let mut found: Vec<FoundText> = listed
        .filter_map(|place| {
            let session = sessions.get(place.session)?;
            let item = session.items.get(place.item)?;
            Some(FoundText {
                recording: number,
                path: path.to_owned(),
                place,
                is_of_several: sessions.len() > 1,
                turn: item.turn as usize,
                line: line_of(session, item, needle),
                more: 0,
            })
        })
        .collect();
    if let Some(last) = found.last_mut() {
        last.more = more;
    }
    Ok(found)
}

/// The first line of an item with the text, from a little before it.
fn line_of(session: &Session, item: &Item, needle: &Needle) -> String {
    let body = body_within(session, item, READ).unwrap_or_default();
    let text = result_text(&body.text);
    let arguments = body.arguments.as_written();
    let values = serde_json::from_str(arguments).map_or_else(|_| Vec::new(), texts_in);
    let values = values.iter().flat_map(|value| value.lines());
    let lines = text.text.lines().chain(values).chain(arguments.lines());
    let found = lines.chain([session.name(item)]).find_map(|line| {
        let place = needle.ranges_in(line).into_iter().next()?;
        let start = line[..place.start].char_indices().rev();
        let start = start.map(|(at, _)| at).nth(BEFORE).unwrap_or(0);
        Some(line[start..].trim().to_owned())
    });
    found.unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn a_text_is_found_in_the_turns_of_all_recordings_that_say_it() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["a.json", "b.json", "c.json", "d.json"];
        let texts = [
            r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"first\nthe zebra \"crosses\""}]"#,
            r#"[{"role":"user","content":"nothing here"}]"#,
            r#"[{"role":"user","content":"A Zebra"},{"role":"assistant","content":"a zebra"}]"#,
            "no recording of a zebra",
        ];
        let paths = names.iter().zip(texts).enumerate().map(|(number, it)| {
            let path = folder.path().join(it.0);
            std::fs::write(&path, it.1).unwrap();
            (number, path)
        });
        let paths: Vec<_> = paths.collect();
        for needle in ["zebra", r"/\bz[a-f]bra\b/"] {
            let needle = Arc::new(Needle::parse(needle).unwrap());
            let told = Mutex::new((Vec::new(), 0));
            let cancel = AtomicBool::new(false);
            let options = ReadOptions::default();
            search(&paths, &needle, &options, &cancel, &|found, done| {
                let mut told = told.lock().unwrap();
                told.0.extend(found);
                told.1 = done;
            });
            let (found, done) = told.into_inner().unwrap();
            assert_eq!(done, 4);
            let found: Vec<_> = found
                .iter()
                .map(|it| (it.recording, it.turn, it.line.as_str()))
                .collect();
            let expected = [
                (0, 1, "the zebra \"crosses\""),
                (2, 0, "A Zebra"),
                (2, 1, "a zebra"),
            ];
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_search_that_is_called_off_tells_nothing() {
        let needle = Arc::new(Needle::new("x").unwrap());
        let recordings = [(0, PathBuf::from("/nowhere"))];
        let cancel = AtomicBool::new(true);
        let tell = |_: Vec<FoundText>, _: usize| panic!("it was called off");
        search(
            &recordings,
            &needle,
            &ReadOptions::default(),
            &cancel,
            &tell,
        );
    }
}
