//! What earlier proxies left held: exchanges without an end, in journals that no process writes to. Nothing of
//! them is sent again.

use crate::journal::{Folder, Header, Subfolder, Subject, lock, unlock, wall_clock};
use retake_core::exchange::entry::Entry;
use retake_core::exchange::{Ending, ExchangeId};
use retake_core::formats::retake_journal::{decode_line, encode_line};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How much of the end of a journal tells whether it was closed, in bytes.
const TAIL: u64 = 256;
/// The longest line that is looked at, in bytes: a request and a reply as they are recorded at most,
/// and what escaping adds.
const LINE: u64 = 512 << 20;

/// An exchange that was held when its proxy was stopped. Texts are from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupted {
    pub journal: PathBuf,
    /// The number of the exchange in it.
    pub id: ExchangeId,
    /// Since when it was held, in milliseconds since 1970.
    pub since: u64,
    pub why: String,
    /// What its client called itself.
    pub client: String,
    /// The path that was asked.
    pub path: String,
    /// The model that was asked.
    pub model: String,
    /// The file of the run that the hold was.
    pub run: Option<PathBuf>,
}

/// What is read of an entry.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    id: ExchangeId,
    #[serde(default)]
    at: u64,
    #[serde(default)]
    client: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    model: String,
    holding: Option<Holding>,
}

#[derive(Debug, Default, Deserialize)]
struct Holding {
    since: u64,
    why: String,
    journal: Option<PathBuf>,
}

/// The proxies' journals of a folder that no process writes to, and what was held in them. A journal that
/// cannot be read is left out; the error is that of the folder. A journal in which nothing was held is marked
/// as closed, so that it is not read again.
pub fn interrupted(folder: &Path) -> io::Result<Vec<Interrupted>> {
    interrupted_until(folder, &|| false)
}

/// The same, until somebody says that it is not wanted any more.
pub fn interrupted_until(
    folder: &Path,
    is_over: &dyn Fn() -> bool,
) -> io::Result<Vec<Interrupted>> {
    let Some(open) = Folder::open(folder, Subfolder::None)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for name in open.journals()? {
        if is_over() {
            break;
        }
        let Ok(Some((mut file, _))) = open.file(&name) else {
            continue;
        };
        let header = Header::of(&file);
        let is_of_proxy = header.is_some_and(|one| matches!(one.subject, Subject::Proxy { .. }));
        if !is_of_proxy || !lock(&file).unwrap_or(false) {
            continue;
        }
        let read = read_one(&mut file, &folder.join(&name), is_over);
        unlock(&file);
        // What cannot be read is said when it is opened.
        found.extend(read.unwrap_or_default());
    }
    Ok(found)
}

fn read_one(
    file: &mut File,
    path: &Path,
    is_over: &dyn Fn() -> bool,
) -> io::Result<Vec<Interrupted>> {
    if is_closed(file)? {
        return Ok(Vec::new());
    }
    let read = HeldExchanges::of(file, path, is_over)?;
    if is_over() {
        return Ok(Vec::new());
    }
    if read.held.is_empty() {
        read.append_ends(file, &[], wall_clock())?;
    }
    Ok(read.held.into_values().collect())
}

/// Notes in their journals that these exchanges are over, so that they are not listed again. Says how many
/// journals could not be written to.
pub fn close(interrupted: &[Interrupted], now: u64) -> usize {
    let mut journals: BTreeMap<&Path, Vec<ExchangeId>> = BTreeMap::new();
    for one in interrupted {
        journals.entry(&one.journal).or_default().push(one.id);
    }
    let failed = journals
        .into_iter()
        .filter(|(path, ids)| close_in(path, ids, now).is_err());
    failed.count()
}

fn is_closed(file: &mut File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    file.seek(SeekFrom::Start(0))?;
    let tail = tail.strip_suffix(b"\n").unwrap_or_default();
    let last = tail
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    Ok(line_of(last).is_some_and(|line| line.kind == "closed"))
}

/// The entry of a line that can be trusted.
fn line_of(bytes: &[u8]) -> Option<Line> {
    let sound = decode_line(bytes)?;
    serde_json::from_slice(&bytes[sound.entry]).ok()
}

/// What was held when a journal ends, and where it ends.
#[derive(Default)]
struct HeldExchanges {
    held: BTreeMap<ExchangeId, Interrupted>,
    /// The number of the last line.
    last: u64,
    is_torn: bool,
}

impl HeldExchanges {
    fn of(file: &File, path: &Path, is_over: &dyn Fn() -> bool) -> io::Result<Self> {
        let mut lines = BufReader::new(file.try_clone()?);
        let (mut line, mut read) = (Vec::new(), Self::default());
        lines.seek(SeekFrom::Start(0))?;
        loop {
            line.clear();
            if is_over() || lines.by_ref().take(LINE).read_until(b'\n', &mut line)? == 0 {
                return Ok(read);
            }
            read.is_torn = !line.ends_with(b"\n");
            if let Some(sound) = decode_line(&line) {
                read.last = sound.seq;
                if let Ok(entry) = serde_json::from_slice(&line[sound.entry]) {
                    read.entry(entry, path);
                }
            }
        }
    }

    fn entry(&mut self, entry: Line, path: &Path) {
        match entry.kind.as_str() {
            "held" => {
                let holding = entry.holding.unwrap_or(Holding {
                    since: entry.at,
                    ..Holding::default()
                });
                let held = Interrupted {
                    journal: path.to_owned(),
                    id: entry.id,
                    since: holding.since,
                    why: holding.why,
                    run: holding.journal,
                    client: entry.client,
                    path: entry.path,
                    model: entry.model,
                };
                self.held.insert(entry.id, held);
            }
            "exchange" | "ended" => {
                self.held.remove(&entry.id);
            }
            _ => {}
        }
    }

    /// Appends the ends. A torn line stays what it is, on a line of its own.
    fn append_ends(&self, file: &mut File, ids: &[ExchangeId], now: u64) -> io::Result<()> {
        let ends = ids.iter().map(|id| Entry::Ended {
            id: *id,
            at: now,
            ending: Ending::Interrupted,
        });
        let entries = ends.chain(std::iter::once(Entry::Closed { at: now }));
        let mut text = String::from(if self.is_torn { "\n" } else { "" });
        for (seq, entry) in (self.last + 1..).zip(entries) {
            text.push_str(&encode_line(seq, &serde_json::to_string(&entry)?));
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }
}

fn close_in(path: &Path, ids: &[ExchangeId], now: u64) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or(io::ErrorKind::InvalidFilename)?;
    let open = Folder::open(folder, Subfolder::None)?.ok_or(io::ErrorKind::NotFound)?;
    let (mut file, _) = open.file(name)?.ok_or(io::ErrorKind::NotFound)?;
    if !lock(&file)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let read = HeldExchanges::of(&file, path, &|| false);
    let closed = read.and_then(|read| read.append_ends(&mut file, ids, now));
    unlock(&file);
    closed
}
