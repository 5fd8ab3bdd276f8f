//! Splices that can be located again: the recording may have grown or changed by the next time it is
//! opened.
//!
//! Recordings grow at their end, so places stay valid unless the file was replaced. Each splice therefore keeps
//! digests of the bytes it removes and of those before it. A cut to the end of the records extends to the new
//! end, up to the brackets that close the file.

use crate::session::source::{Source, SourceError, Span, Splice};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// How many bytes before a splice are digested.
const BEFORE: u64 = 64;
/// Of a longer span only this many bytes at its start and end are digested: a cut may remove a gigabyte, and
/// changes inside it are removed with it.
const ENDS: u64 = 512 * 1024;
/// How many bytes are read at once.
const BLOCK: usize = 64 * 1024;

/// FNV-1a in 64 bits: the same in every process and on every machine. It guards
/// against files that were changed or mixed up, not against forgery: who can write the recording needs no
/// collision to change what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentDigest(u64);

impl ContentDigest {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    pub fn of(bytes: &[u8]) -> Self {
        Self::EMPTY.with(bytes)
    }

    /// The digest of what was digested before and these bytes.
    fn with(self, bytes: &[u8]) -> Self {
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let step = |digest: u64, byte: &u8| (digest ^ u64::from(*byte)).wrapping_mul(PRIME);
        Self(bytes.iter().fold(self.0, step))
    }

    /// The digest of a span of a source; of a long one both ends.
    pub fn of_span(source: &dyn Source, span: Span) -> Result<Self, SourceError> {
        if span.len() <= 2 * ENDS {
            return Self::EMPTY.with_span(source, span);
        }
        let head = Self::EMPTY.with_span(source, span.head(ENDS))?;
        let start = span.end - ENDS;
        head.with_span(source, Span { start, ..span })
    }

    fn with_span(self, source: &dyn Source, span: Span) -> Result<Self, SourceError> {
        let mut block = vec![0; BLOCK.min(usize::try_from(span.len()).unwrap_or(BLOCK))];
        let (mut digest, mut at) = (self, span.start);
        while at < span.end {
            let left = usize::try_from(span.end - at).unwrap_or(BLOCK);
            let block = &mut block[..left.min(BLOCK)];
            source.fill(at, block)?;
            digest = digest.with(block);
            at += block.len() as u64;
        }
        Ok(digest)
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for ContentDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = u64::from_str_radix(&text, 16).map_err(serde::de::Error::custom)?;
        Ok(Self(number))
    }
}

/// A splice with digests that identify its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchoredSplice {
    /// The place when it was made.
    #[serde(with = "super::spelling::span")]
    at: Span,
    #[serde(with = "super::spelling::shared")]
    with: Arc<Vec<u8>>,
    /// The digest of the bytes that it removes.
    removed: ContentDigest,
    /// The digest of up to 64 bytes before it.
    before: ContentDigest,
    /// What follows a cut to the end of the records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rest: Option<Suffix>,
}

/// The bytes after the last record: closing brackets, a line feed, often nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Suffix {
    length: u64,
    digest: ContentDigest,
}

impl AnchoredSplice {
    /// The splice as it was made.
    pub fn splice(&self) -> Splice {
        Splice::new(self.at, self.with.to_vec())
    }

    /// Where the splice was made, and the replacement.
    pub fn shared(&self) -> (Span, Arc<Vec<u8>>) {
        (self.at, self.with.clone())
    }

    /// Whether it removes everything up to the end of the records, also those that were appended later.
    pub fn cuts_the_rest(&self) -> bool {
        self.rest.is_some()
    }
}

/// A splice whose place cannot be located.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("change {} of the take no longer fits the file: at byte {}, {why}", index + 1, at.start)]
pub struct AnchorError {
    /// Which splice, from 0.
    pub index: usize,
    /// Where it was made.
    pub at: Span,
    pub why: AnchorErrorKind,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnchorErrorKind {
    /// The file ends before the place.
    #[error("the file is shorter than it was")]
    Shorter,
    /// Where bytes were removed, the file now holds others.
    #[error("the bytes that it replaces have changed")]
    Removed,
    /// The bytes before the place have changed.
    #[error("the bytes before it have changed")]
    Before,
    /// The bytes after the last record have changed.
    #[error("the file ends differently now")]
    Suffix,
    /// The bytes cannot be read.
    #[error(transparent)]
    Unreadable(#[from] SourceError),
}

/// Anchors splices of `source`. With `cuts_the_rest` the one that removes up to the last place means
/// "everything from here on" (`Edit::Cut`).
pub fn anchor(
    source: &dyn Source,
    splices: Vec<Splice>,
    cuts_the_rest: bool,
) -> Result<Vec<AnchoredSplice>, SourceError> {
    let removing = splices.iter().enumerate();
    let removing = removing.filter(|(_, splice)| !splice.at.is_empty());
    let last = removing.max_by_key(|(_, splice)| splice.at.end);
    let rest = last.map(|(index, _)| index).filter(|_| cuts_the_rest);
    let anchored = |(index, Splice { at, with })| {
        let tail = Span::new(at.end, source.len());
        let suffix = || -> Result<_, SourceError> {
            Ok(Suffix {
                length: tail.len(),
                digest: ContentDigest::of_span(source, tail)?,
            })
        };
        Ok(AnchoredSplice {
            removed: ContentDigest::of_span(source, at)?,
            before: ContentDigest::of_span(source, before(at))?,
            rest: (rest == Some(index)).then(suffix).transpose()?,
            at,
            with: Arc::new(with),
        })
    };
    splices.into_iter().enumerate().map(anchored).collect()
}

/// The splices for `source` as it is now; an error names the first one whose place has changed.
pub fn resolve(
    source: &dyn Source,
    splices: &[AnchoredSplice],
) -> Result<Vec<Splice>, AnchorError> {
    let grown = splices.iter().enumerate().find_map(|(index, anchored)| {
        let lost = |why| lost(index, anchored, why);
        let suffix = anchored.rest?;
        Some(end_of_rest(source, anchored, suffix).map_err(lost))
    });
    let grown = grown.transpose()?;
    let resolve = |(index, anchored): (usize, &AnchoredSplice)| {
        check(source, anchored, grown).map_err(|why| lost(index, anchored, why))?;
        let mut splice = anchored.splice();
        match grown {
            Some(grown) if anchored.rest.is_some() => splice.at.end += grown.by,
            Some(grown) => splice.at = grown.moved(splice.at),
            None => {}
        }
        Ok(splice)
    };
    splices.iter().enumerate().map(resolve).collect()
}

/// How far the records have grown since.
#[derive(Debug, Clone, Copy)]
struct Extension {
    from: u64,
    /// By how many bytes.
    by: u64,
}

impl Extension {
    /// Where a place is now: what followed the records still follows them.
    fn moved(self, at: Span) -> Span {
        let by = if at.start >= self.from { self.by } else { 0 };
        Span::new(at.start.saturating_add(by), at.end.saturating_add(by))
    }
}

fn lost(index: usize, anchored: &AnchoredSplice, why: AnchorErrorKind) -> AnchorError {
    AnchorError {
        index,
        at: anchored.at,
        why,
    }
}

fn end_of_rest(
    source: &dyn Source,
    anchored: &AnchoredSplice,
    suffix: Suffix,
) -> Result<Extension, AnchorErrorKind> {
    let length = source.len();
    let end = length.checked_sub(suffix.length);
    let end = end
        .filter(|end| *end >= anchored.at.end)
        .ok_or(AnchorErrorKind::Shorter)?;
    let tail = Span::new(end, length);
    if ContentDigest::of_span(source, tail)? != suffix.digest {
        return Err(AnchorErrorKind::Suffix);
    }
    Ok(Extension {
        from: anchored.at.end,
        by: end - anchored.at.end,
    })
}

fn check(
    source: &dyn Source,
    anchored: &AnchoredSplice,
    grown: Option<Extension>,
) -> Result<(), AnchorErrorKind> {
    let at = match grown {
        Some(grown) if anchored.rest.is_none() => grown.moved(anchored.at),
        _ => anchored.at,
    };
    if at.start > at.end || at.end > source.len() {
        return Err(AnchorErrorKind::Shorter);
    }
    if ContentDigest::of_span(source, at)? != anchored.removed {
        return Err(AnchorErrorKind::Removed);
    }
    // A place that moved follows other records now; the digest of the suffix identifies it.
    if at == anchored.at && ContentDigest::of_span(source, before(at))? != anchored.before {
        return Err(AnchorErrorKind::Before);
    }
    Ok(())
}

fn before(at: Span) -> Span {
    Span::new(at.start.saturating_sub(BEFORE), at.start)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::session::Rope;

    fn splice(text: &str, what: &str, with: &str) -> Splice {
        let start = text.find(what).unwrap() as u64;
        let end = start + what.len() as u64;
        Splice::new(Span { start, end }, with.into())
    }

    fn source(text: &str) -> Vec<u8> {
        text.as_bytes().to_vec()
    }

    fn spliced(text: &str, splices: &[Splice]) -> String {
        let rope = Rope::new(Arc::new(source(text))).spliced(splices);
        let all = Span::new(0, rope.len());
        String::from_utf8(rope.read(all).unwrap()).unwrap()
    }

    #[test]
    fn a_digest_is_fnv_1a_of_64_bits() {
        assert_eq!(ContentDigest::of(b"").to_string(), "cbf29ce484222325");
        assert_eq!(ContentDigest::of(b"foobar").to_string(), "85944171f73967e8");
        let long: Vec<u8> = (0..200_000_u32).map(|number| number as u8).collect();
        let all = Span::new(0, long.len() as u64);
        assert_eq!(
            ContentDigest::of_span(&long, all),
            Ok(ContentDigest::of(&long))
        );
    }

    #[test]
    fn a_long_span_is_digested_at_both_ends() {
        let mut giant = vec![b'x'; 3 * 1024 * 1024];
        let all = Span::new(0, giant.len() as u64);
        let digest = ContentDigest::of_span(&giant, all).unwrap();
        for (place, counts) in [(9, true), (all.end as usize - 9, true), (1 << 20, false)] {
            giant[place] = b'y';
            let now = ContentDigest::of_span(&giant, all).unwrap();
            assert_eq!(now != digest, counts, "{place}");
            giant[place] = b'x';
        }
    }

    #[test]
    fn a_splice_is_located_in_a_file_that_grew() {
        let text = "one\ntwo\nthree\n";
        let anchored = anchor(&source(text), vec![splice(text, "two", "2")], false).unwrap();
        let grown = "one\ntwo\nthree\nfour\n";
        let resolved = resolve(&source(grown), &anchored).unwrap();
        assert_eq!(spliced(grown, &resolved), "one\n2\nthree\nfour\n");
    }

    #[test]
    fn a_cut_extends_to_the_new_end_and_keeps_the_closing_brackets() {
        let text = "{\"a\":[1,2,3]}";
        let question = Splice::new(Span { start: 11, end: 11 }, b",9".into());
        let splices = vec![splice(text, ",2,3", ""), question];
        let anchored = anchor(&source(text), splices, true).unwrap();
        assert!(anchored[0].cuts_the_rest() && !anchored[1].cuts_the_rest());
        let grown = "{\"a\":[1,2,3,4,5]}";
        let resolved = resolve(&source(grown), &anchored).unwrap();
        assert_eq!(spliced(grown, &resolved), "{\"a\":[1,9]}");
        let other = resolve(&source("{\"a\":[1,2,3,4,5]]"), &anchored);
        assert_eq!(other.unwrap_err().why, AnchorErrorKind::Suffix);
    }

    #[test]
    fn a_place_beyond_the_end_of_the_file_is_an_error() {
        let text = "{\"a\":[1,2,3]}";
        let mut anchored = anchor(&source(text), vec![splice(text, ",2,3", "")], true).unwrap();
        let at = Span::new(u64::MAX, u64::MAX);
        anchored.push(AnchoredSplice {
            at,
            rest: None,
            ..anchored[0].clone()
        });
        let lost = resolve(&source("{\"a\":[1,2,3,4]}"), &anchored).unwrap_err();
        assert_eq!((lost.index, lost.why), (1, AnchorErrorKind::Shorter));
    }

    #[test]
    fn dropping_the_last_item_keeps_later_items() {
        let text = "one\ntwo\n";
        let anchored = anchor(&source(text), vec![splice(text, "two\n", "")], false).unwrap();
        let resolved = resolve(&source("one\ntwo\nthree\n"), &anchored).unwrap();
        assert_eq!(spliced("one\ntwo\nthree\n", &resolved), "one\nthree\n");
    }

    #[test]
    fn a_changed_file_is_reported_with_the_place() {
        let text = "one\ntwo\nthree\n";
        let splices = vec![splice(text, "one", "1"), splice(text, "three", "3")];
        let anchored = anchor(&source(text), splices, false).unwrap();
        let why = |now: &str| {
            let lost = resolve(&source(now), &anchored).unwrap_err();
            (lost.index, lost.why)
        };
        assert_eq!(why("one\ntwo\nthreX\n"), (1, AnchorErrorKind::Removed));
        assert_eq!(why("one\ntwX\nthree\n"), (1, AnchorErrorKind::Before));
        assert_eq!(why("One\ntwo\nthree\n"), (0, AnchorErrorKind::Removed));
        assert_eq!(why("one\ntwo\n"), (1, AnchorErrorKind::Shorter));
        let lost = resolve(&source("x"), &anchored).unwrap_err().to_string();
        assert_eq!(
            lost,
            "change 1 of the take no longer fits the file: at byte 0, the file is shorter than it was"
        );
    }
}
