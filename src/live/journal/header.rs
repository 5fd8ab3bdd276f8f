//! The first line of a journal: what it is about. A recording is known again by it, also when it was moved or
//! has grown.

use memchr::memchr;
use retake_core::formats::retake_journal::{PROXY_VERSION, VERSION, seal_header, unsealed};
use retake_core::session::takes::{ContentDigest, spelling};
use retake_core::session::{Source, SourceError, Span};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How long a first line may be, in bytes.
pub(crate) const HEAD: usize = 64 * 1024;
/// How much of each end of a recording is digested, in bytes.
const ENDS: u64 = 4096;
/// What closes a recording (brackets, a line feed) moves when it grows: so many bytes at its end are left out.
const CLOSING: u64 = 64;
/// How long a name is in a journal's name, in bytes.
const NAME: usize = 80;

/// By what a recording is known again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    #[serde(with = "spelling::bytes")]
    path: Vec<u8>,
    /// Its length in bytes.
    size: u64,
    /// Digest of its first 4 KiB.
    head: ContentDigest,
    /// Digest of its last 4 KiB.
    tail: ContentDigest,
}

impl Identity {
    pub(crate) fn of(path: &Path, source: &dyn Source) -> Result<Self, SourceError> {
        let size = source.len();
        Ok(Self {
            path: path.as_os_str().as_bytes().to_vec(),
            size,
            head: ContentDigest::of_span(source, head(size))?,
            tail: ContentDigest::of_span(source, tail(size))?,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }

    /// Whether a recording begins like the one that this was made of.
    pub(crate) fn begins(&self, source: &dyn Source) -> bool {
        self.size <= source.len()
            && ContentDigest::of_span(source, head(self.size)) == Ok(self.head)
    }

    /// Whether a recording is, as far as one can tell, the one that this was made of: many begin with the same
    /// instructions, so that the end counts, too, and a few bytes say nothing.
    pub(crate) fn is_of(&self, source: &dyn Source) -> bool {
        self.size >= 2 * CLOSING
            && self.begins(source)
            && ContentDigest::of_span(source, tail(self.size)) == Ok(self.tail)
    }

    /// The name of the journal, without its ending.
    pub(crate) fn stem(&self) -> String {
        let name = self.path().file_name().unwrap_or_default();
        format!(
            "{}-{}",
            ContentDigest::of(&self.path),
            plain_name(name.as_bytes())
        )
    }
}

/// The letters and digits of a name, shortened.
pub(crate) fn plain_name(name: &[u8]) -> String {
    let letter = |byte: &u8| match byte {
        b'-' | b'.' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(*byte),
        _ => '_',
    };
    name.iter().take(NAME).map(letter).collect()
}

fn head(size: u64) -> Span {
    let all = Span {
        start: 0,
        end: size.saturating_sub(CLOSING),
    };
    all.head(ENDS)
}

fn tail(size: u64) -> Span {
    let end = size.saturating_sub(CLOSING);
    Span {
        start: end.saturating_sub(ENDS),
        end,
    }
}

/// What a run's journal says of the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct About {
    pub agent: String,
    /// Id of the format of its requests.
    pub format: String,
    pub model: String,
    pub scripted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalHeader {
    pub(crate) version: u64,
    #[serde(flatten)]
    pub(crate) subject: JournalSubject,
}

/// What a journal is about; other kinds are none of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub(crate) enum JournalSubject {
    /// The takes of a recording, which is a file of its own.
    Takes {
        /// The recording; `None` where a newer version says it in another way.
        of: Option<Identity>,
    },
    /// A run, which is recorded in the journal itself.
    Run {
        #[serde(default)]
        run: About,
    },
    /// What passed through a proxy.
    Proxy {
        /// Host and port of each.
        upstreams: Vec<String>,
        /// When it began, in milliseconds since 1970.
        began: u64,
    },
}

impl JournalHeader {
    /// Of the version that is written.
    pub(crate) fn new(subject: JournalSubject) -> Self {
        let version = match subject {
            JournalSubject::Proxy { .. } => PROXY_VERSION,
            JournalSubject::Takes { .. } | JournalSubject::Run { .. } => VERSION,
        };
        Self { version, subject }
    }

    /// Reads a first line, without its line feed. One whose checksum does not fit is none; a newer
    /// version may do without.
    pub(crate) fn decode(line: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(line).ok()?;
        let is_sound = unsealed(text);
        if is_sound == Some(false) {
            return None;
        }
        let header: Self = serde_json::from_str(text).ok()?;
        (is_sound.is_some() || header.version > PROXY_VERSION).then_some(header)
    }

    /// The first line of a file that may be a journal.
    pub(crate) fn of(file: &File) -> Option<Self> {
        let mut head = vec![0; HEAD];
        let length = file.read_at(&mut head, 0).ok()?;
        let head = &head[..length];
        Self::decode(&head[..memchr(b'\n', head).unwrap_or(length)])
    }

    pub(crate) fn line(&self) -> serde_json::Result<String> {
        let members = serde_json::to_string(self)?;
        Ok(seal_header(&format!(
            "{{\"retake\":\"journal\",{}\n",
            &members[1..]
        )))
    }

    /// The recording that it names.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        match &self.subject {
            JournalSubject::Takes { of } => of.as_ref(),
            JournalSubject::Run { .. } | JournalSubject::Proxy { .. } => None,
        }
    }
}
