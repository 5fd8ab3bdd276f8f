//! The items that notes and bookmarks are on. They are found again where a reader makes other text from the same file,
//! in which every item begins elsewhere.

use super::{Recording, TakeError, TakeStore};
use retake_core::session::takes::{ContentDigest, ItemMark, TakeId};
use std::collections::HashMap;
use std::sync::Arc;

/// How an item was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FoundBy {
    Place,
    Content,
    Number,
}

/// The items of a recording by where they begin and by what they hold.
#[derive(Debug)]
pub(crate) struct ItemIndex {
    recording: Arc<Recording>,
    starts: HashMap<u64, Vec<(u32, u32)>>,
    /// Made when an item is not where it was.
    contents: Option<HashMap<ContentDigest, Vec<(u32, u32)>>>,
}

impl ItemIndex {
    pub(crate) fn of(recording: Arc<Recording>) -> Self {
        let mut starts: HashMap<u64, Vec<(u32, u32)>> = HashMap::new();
        for (session, one) in (0..).zip(&recording.sessions) {
            for (number, item) in (0..).zip(&one.items) {
                let here = starts.entry(item.span.start).or_default();
                here.push((session, number));
            }
        }
        Self {
            recording,
            starts,
            contents: None,
        }
    }

    fn start(&self, (session, item): (u32, u32)) -> Option<u64> {
        let session = self.recording.sessions.get(session as usize)?;
        Some(session.items.get(item as usize)?.span.start)
    }

    fn digest(&self, (session, item): (u32, u32)) -> Option<ContentDigest> {
        let session = self.recording.sessions.get(session as usize)?;
        let bytes = session.bytes(session.items.get(item as usize)?).ok()?;
        Some(ContentDigest::of(&bytes))
    }

    /// The mark of the item that begins at `at` and holds these bytes.
    fn mark(&self, at: u64, bytes: &[u8]) -> ItemMark {
        let mark = ItemMark::new(at, bytes);
        let mut here = self.starts.get(&at).into_iter().flatten().copied();
        let place = here.find(|place| self.digest(*place) == Some(mark.digest));
        ItemMark { place, ..mark }
    }

    /// Where the item of a mark begins, and how it was found.
    fn find(&mut self, mark: &ItemMark) -> Option<(u64, FoundBy)> {
        let here = self.starts.get(&mark.at).map_or(&[][..], Vec::as_slice);
        let is_same = |place: &(u32, u32)| self.digest(*place) == Some(mark.digest);
        // An item that is being written keeps its place and its number.
        let is_here = |place: &(u32, u32)| Some(*place) == mark.place || is_same(place);
        if here.iter().any(is_here) {
            return Some((mark.at, FoundBy::Place));
        }
        let has_item = !here.is_empty();
        let alike = self.contents().get(&mark.digest).cloned();
        let starts = alike.into_iter().flatten();
        let starts = starts.filter_map(|place| Some((place, self.start(place)?)));
        let is_far = |(place, start): &((u32, u32), u64)| {
            (Some(*place) != mark.place, start.abs_diff(mark.at))
        };
        if let Some((_, start)) = starts.min_by_key(is_far) {
            return Some((start, FoundBy::Content));
        }
        match mark.place {
            Some(place) => Some((self.start(place)?, FoundBy::Number)),
            // Older journals have no numbers.
            None => has_item.then_some((mark.at, FoundBy::Place)),
        }
    }

    fn contents(&mut self) -> &HashMap<ContentDigest, Vec<(u32, u32)>> {
        if self.contents.is_none() {
            let mut contents: HashMap<_, Vec<_>> = HashMap::new();
            for place in self.starts.values().flatten() {
                if let Some(digest) = self.digest(*place) {
                    contents.entry(digest).or_default().push(*place);
                }
            }
            self.contents = Some(contents);
        }
        self.contents.get_or_insert_default()
    }
}

impl TakeStore {
    /// Writes a note on an item of a take, which begins at `at`; an empty one takes it away.
    pub fn note_item(
        &mut self,
        id: TakeId,
        at: u64,
        bytes: &[u8],
        text: String,
    ) -> Result<(), TakeError> {
        let (home, at) = self.home_of(id, at);
        let notes: Vec<_> = self.takes().notes(home).map(|(mark, _)| mark).collect();
        for mark in notes {
            if self.place_of(home, &mark) == Some(at) {
                self.note(home, mark, String::new())?;
            }
        }
        match text.is_empty() {
            true => Ok(()),
            false => {
                let mark = self.mark_of(home, at, bytes);
                self.note(home, mark, text)
            }
        }
    }

    /// Sets a bookmark on an item of a take, which begins at `at`, or takes it away.
    pub fn bookmark_item(
        &mut self,
        id: TakeId,
        at: u64,
        bytes: &[u8],
        set: bool,
    ) -> Result<(), TakeError> {
        let (home, at) = self.home_of(id, at);
        let marks: Vec<_> = self.takes().bookmarks(home).collect();
        for mark in marks {
            if self.place_of(home, &mark) == Some(at) {
                self.bookmark(home, mark, false)?;
            }
        }
        match set {
            true => {
                let mark = self.mark_of(home, at, bytes);
                self.bookmark(home, mark, true)
            }
            false => Ok(()),
        }
    }

    /// The first bytes of the items of a take that have a bookmark.
    pub fn bookmarks(&mut self, id: TakeId) -> Vec<u64> {
        let mut found = Vec::new();
        for home in self.homes(id) {
            let marks: Vec<_> = self.takes().bookmarks(home).collect();
            found.extend(marks.iter().filter_map(|mark| {
                let at = self.place_of(home, mark)?;
                self.carried((home, at), id)
            }));
        }
        found
    }

    /// The notes on items of a take, by their first byte.
    pub fn item_notes(&mut self, id: TakeId) -> Vec<(u64, String)> {
        let mut found = Vec::new();
        for home in self.homes(id) {
            let notes = self.takes().notes(home);
            let notes: Vec<_> = notes.map(|(mark, text)| (mark, text.to_owned())).collect();
            found.extend(notes.into_iter().filter_map(|(mark, text)| {
                let at = self.place_of(home, &mark)?;
                Some((self.carried((home, at), id)?, text))
            }));
        }
        found
    }

    /// What became of notes and bookmarks whose items are not where they were, in a sentence; `None` where all are.
    pub fn moved_marks(&mut self) -> Option<String> {
        let marks = self.takes().bookmarks(TakeId::MAIN).map(|mark| (mark, ""));
        let all = marks.chain(self.takes().notes(TakeId::MAIN));
        let all: Vec<_> = all
            .filter(|(mark, _)| *mark != ItemMark::whole())
            .map(|(mark, text)| (mark, text.to_owned()))
            .collect();
        let (mut by_content, mut by_number, mut lost) = (0, 0, Vec::new());
        for (mark, text) in all {
            match self.items().find(&mark) {
                Some((_, FoundBy::Place)) => {}
                Some((_, FoundBy::Content)) => by_content += 1,
                Some((_, FoundBy::Number)) => by_number += 1,
                None => lost.push(text),
            }
        }
        let counts = [
            (by_content, "found by content"),
            (by_number, "found by item number only"),
            (lost.len(), "not found"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let words: Vec<_> = counts
            .map(|(count, words)| format!("{count} {words}"))
            .collect();
        let texts: Vec<_> = lost.iter().filter(|text| !text.is_empty()).collect();
        let texts = texts.iter().map(|text| format!(" \"{text}\""));
        (!words.is_empty()).then(|| {
            let words = words.join(", ");
            let texts: String = texts.collect();
            let colon = if texts.is_empty() { "" } else { ":" };
            format!("notes and marks whose items moved: {words}{colon}{texts}")
        })
    }

    fn mark_of(&mut self, home: TakeId, at: u64, bytes: &[u8]) -> ItemMark {
        match home {
            TakeId::MAIN => self.items().mark(at, bytes),
            _ => ItemMark::new(at, bytes),
        }
    }

    /// Where the item of a mark begins in the take that it was set in: the text of a take is in the journal, that of
    /// the recording may be made anew.
    fn place_of(&mut self, home: TakeId, mark: &ItemMark) -> Option<u64> {
        match home {
            _ if *mark == ItemMark::whole() => None,
            TakeId::MAIN => self.items().find(mark).map(|(at, _)| at),
            _ => Some(mark.at),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read_path};
    use retake_core::session::Span;
    use std::fs;
    use std::path::PathBuf;

    const HAR: &str = concat!(
        r#"{"log":{"version":"1.2","creator":{"name":"test","version":"1"},"entries":[{"startedDateTime":"#,
        r#""2026-01-01T00:00:00Z","request":{"method":"POST","url":"https://api.openai.com/v1/chat/completions","#,
        r#""headers":[],"postData":{"mimeType":"application/json","text":"{\"model\":\"m\",\"messages\":[{\"role\":"#,
        r#"\"user\",\"content\":\"one\"},{\"role\":\"user\",\"content\":\"two\"}]}"}},"response":{"status":200,"#,
        r#""headers":[],"content":{"mimeType":"application/json","text":"{\"id\":\"r\",\"object\":"#,
        r#"\"chat.completion\",\"model\":\"m\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","#,
        r#"\"content\":\"yes\"},\"finish_reason\":\"stop\"}]}"}}}]}}"#,
    );

    struct Desk {
        folder: tempfile::TempDir,
    }

    impl Desk {
        fn new(text: &str) -> Self {
            let desk = Self {
                folder: tempfile::tempdir().unwrap(),
            };
            fs::write(desk.path(), text).unwrap();
            desk
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("run.har")
        }

        fn read(&self) -> Recording {
            read_path(&self.path(), &ReadOptions::default()).unwrap()
        }

        fn open(&self, recording: Recording) -> TakeStore {
            let root = self.folder.path().join("state");
            let path = self.path();
            TakeStore::open(Arc::new(recording), Some(&path), Some(&root), || 0).0
        }
    }

    /// What a reader gives that puts `before` in front of each text that it makes from the file.
    fn made_otherwise(mut recording: Recording, before: &str) -> Recording {
        for session in &mut recording.sessions {
            let end = session.source.len();
            let text = session.source.read(Span { start: 0, end }).unwrap();
            session.source = Arc::new([before.as_bytes(), &text].concat());
            for item in &mut session.items {
                item.span.start += before.len() as u64;
                item.span.end += before.len() as u64;
            }
        }
        recording
    }

    fn item(recording: &Recording, number: usize) -> (u64, Vec<u8>) {
        let session = &recording.sessions[0];
        let item = &session.items[number];
        (item.span.start, session.bytes(item).unwrap())
    }

    #[test]
    fn notes_and_marks_are_on_their_items_in_other_text_made_from_the_same_file() {
        let desk = Desk::new(HAR);
        let recording = desk.read();
        assert!(!recording.sessions[0].stands_in(&recording.source));
        let (at, bytes) = item(&recording, 1);
        let mut store = desk.open(recording);
        let main = TakeId::MAIN;
        store
            .note_item(main, at, &bytes, "here".to_owned())
            .unwrap();
        store.bookmark_item(main, at, &bytes, true).unwrap();
        assert_eq!(
            (store.bookmarks(main), store.moved_marks()),
            (vec![at], None)
        );
        drop(store);

        let other = made_otherwise(desk.read(), "  \n");
        let (moved, bytes) = item(&other, 1);
        assert_eq!(moved, at + 3);
        let mut store = desk.open(other);
        assert_eq!(store.bookmarks(main), [moved]);
        assert_eq!(store.item_notes(main), [(moved, "here".to_owned())]);
        let said = store.moved_marks().unwrap();
        assert!(said.ends_with("2 found by content"), "{said}");
        // What is changed there goes to the mark that there is.
        store
            .note_item(main, moved, &bytes, "there".to_owned())
            .unwrap();
        store.bookmark_item(main, moved, &bytes, false).unwrap();
        assert_eq!(store.item_notes(main), [(moved, "there".to_owned())]);
        assert_eq!((store.bookmarks(main), store.moved_marks()), (vec![], None));
    }

    #[test]
    fn an_item_with_other_bytes_is_found_by_its_number_and_one_that_is_gone_is_reported() {
        let desk = Desk::new(HAR);
        let recording = desk.read();
        let (first, last) = (item(&recording, 0), item(&recording, 2));
        let mut store = desk.open(recording);
        let main = TakeId::MAIN;
        let note = |store: &mut TakeStore, (at, bytes): &(u64, Vec<u8>), text: &str| {
            store.note_item(main, *at, bytes, text.to_owned()).unwrap();
        };
        note(&mut store, &first, "a");
        note(&mut store, &last, "b");
        drop(store);

        let mut other = made_otherwise(desk.read(), "  ");
        let session = &mut other.sessions[0];
        session.items.truncate(2);
        session.items[0].span.end -= 1;
        let start = session.items[0].span.start;
        let mut store = desk.open(other);
        assert_eq!(store.item_notes(main), [(start, "a".to_owned())]);
        let said = store.moved_marks().unwrap();
        let expected = "1 found by item number only, 1 not found: \"b\"";
        assert!(said.ends_with(expected), "{said}");
    }

    #[test]
    fn another_file_of_that_name_has_none_of_the_marks() {
        let desk = Desk::new(HAR);
        let recording = desk.read();
        let (at, bytes) = item(&recording, 1);
        let mut store = desk.open(recording);
        store.bookmark_item(TakeId::MAIN, at, &bytes, true).unwrap();
        drop(store);
        fs::write(desk.path(), HAR.replacen("2026", "2025", 1)).unwrap();
        let mut store = desk.open(desk.read());
        assert!(store.bookmarks(TakeId::MAIN).is_empty());
        assert_eq!(store.moved_marks(), None);
    }

    #[test]
    fn marks_of_older_journals_have_no_number() {
        let desk = Desk::new(HAR);
        let recording = desk.read();
        let (at, bytes) = item(&recording, 1);
        let mut store = desk.open(recording);
        let mark = ItemMark::new(at, &bytes);
        assert!(!serde_json::to_string(&mark).unwrap().contains("place"));
        store.bookmark(TakeId::MAIN, mark, true).unwrap();
        drop(store);
        assert_eq!(desk.open(desk.read()).bookmarks(TakeId::MAIN), [at]);
        let mut moved = desk.open(made_otherwise(desk.read(), " "));
        assert_eq!(moved.bookmarks(TakeId::MAIN), [at + 1]);
    }
}
