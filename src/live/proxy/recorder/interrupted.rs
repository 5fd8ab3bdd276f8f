//! What earlier proxies left held: exchanges without an end, in journals that no process writes to. Nothing of
//! them is sent again.

use super::past::LINE;
use crate::journal::{Folder, JournalHeader, JournalSubject, Subfolder, lock, unlock, wall_clock};
use retake_core::exchange::entry::ExchangeNote;
use retake_core::exchange::{ExchangeEnding, ExchangeId};
use retake_core::formats::retake_journal::{decode_line, encode_line};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How much of the end of a journal tells whether it was closed, in bytes.
const TAIL: u64 = 256;

/// An exchange that was held when its proxy was stopped. Texts are from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupted {
    pub journal: PathBuf,
    /// The number of the exchange in it.
    pub id: ExchangeId,
    /// Why it was held.
    pub why: String,
}

/// What is read of an entry.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    id: ExchangeId,
    holding: Option<Holding>,
}

#[derive(Debug, Default, Deserialize)]
struct Holding {
    why: String,
}

/// Reports what was held in the proxies' journals of a folder that no process writes to, and notes in them that
/// it is over, so that it is not reported again. Gives how many of these journals could not be written to. A
/// journal that cannot be read is left out; the error is that of the folder. It ends early once it `is_over`.
pub fn close_interrupted(
    folder: &Path,
    is_over: &dyn Fn() -> bool,
    mut report: impl FnMut(Interrupted),
) -> io::Result<usize> {
    let Some(open) = Folder::open(folder, Subfolder::None)? else {
        return Ok(0);
    };
    let mut failed = 0;
    for name in open.journals()? {
        if is_over() {
            break;
        }
        let Ok(Some((mut file, _))) = open.file(&name) else {
            continue;
        };
        let header = JournalHeader::of(&file);
        let is_of_proxy =
            header.is_some_and(|one| matches!(one.subject, JournalSubject::Proxy { .. }));
        if !is_of_proxy || !lock(&file).unwrap_or(false) {
            continue;
        }
        // What cannot be read is reported when it is opened.
        if let Ok(Some(left)) = Left::read(&mut file, is_over) {
            for (id, why) in &left.held {
                report(Interrupted {
                    journal: folder.join(&name),
                    id: *id,
                    why: why.clone(),
                });
            }
            let closed = left.close(&mut file);
            failed += usize::from(closed.is_err() && !left.held.is_empty());
        }
        unlock(&file);
    }
    Ok(failed)
}

/// What a journal left that was not closed.
#[derive(Default)]
struct Left {
    /// What was held, and why.
    held: BTreeMap<ExchangeId, String>,
    /// The number of the last line.
    last: u64,
    is_torn: bool,
}

impl Left {
    /// `None` where the journal was closed, or nobody wants to know any more.
    fn read(file: &mut File, is_over: &dyn Fn() -> bool) -> io::Result<Option<Self>> {
        if is_closed(file)? {
            return Ok(None);
        }
        let mut lines = BufReader::new(file);
        let (mut line, mut left) = (Vec::new(), Self::default());
        while !is_over() {
            line.clear();
            if lines.by_ref().take(LINE).read_until(b'\n', &mut line)? == 0 {
                return Ok(Some(left));
            }
            left.is_torn = !line.ends_with(b"\n");
            if let Some(sound) = decode_line(&line) {
                left.last = sound.seq;
                // What this version does not know holds nothing.
                if let Ok(entry) = serde_json::from_slice(&line[sound.entry]) {
                    left.apply(entry);
                }
            }
        }
        Ok(None)
    }

    fn apply(&mut self, entry: Line) {
        match entry.kind.as_str() {
            "held" => {
                let holding = entry.holding.unwrap_or_default();
                self.held.insert(entry.id, holding.why);
            }
            "exchange" | "ended" => {
                self.held.remove(&entry.id);
            }
            _ => {}
        }
    }

    /// Appends the ends. A torn line stays what it is, on a line of its own.
    fn close(&self, file: &mut File) -> io::Result<()> {
        let at = wall_clock();
        let ends = self.held.keys().map(|id| ExchangeNote::Ended {
            id: *id,
            at,
            ending: ExchangeEnding::Interrupted,
        });
        let entries = ends.chain(std::iter::once(ExchangeNote::Closed { at }));
        let mut text = String::from(if self.is_torn { "\n" } else { "" });
        for (seq, entry) in (self.last + 1..).zip(entries) {
            text.push_str(&encode_line(seq, &serde_json::to_string(&entry)?));
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }
}

fn is_closed(file: &mut File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    file.seek(SeekFrom::Start(0))?;
    let tail = tail.strip_suffix(b"\n").unwrap_or_default();
    let last = tail.rsplit(|byte| *byte == b'\n').next();
    let last = last.unwrap_or_default();
    let entry = decode_line(last).and_then(|sound| serde_json::from_slice(&last[sound.entry]).ok());
    Ok(entry.is_some_and(|entry: Line| entry.kind == "closed"))
}
