//! The first line of a journal of takes: which recording it belongs to, also when that was moved or has grown.

use retake_core::formats::retake_journal::{VERSION, encode_header, seal_header, unsealed};
use retake_core::session::takes::{Digest, spelling};
use retake_core::session::{Source, SourceError, Span};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How much of each end of a recording is digested, in bytes.
const ENDS: u64 = 4096;
/// What closes a recording (brackets, a line feed) moves when it grows: so many bytes at its end are left out.
const CLOSING: u64 = 64;
/// How long a name is in a journal's name, in bytes.
const NAME: usize = 80;

/// By what a recording is known again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    #[serde(with = "spelling::bytes")]
    path: Vec<u8>,
    /// Its length in bytes.
    size: u64,
    /// Digest of its first 4 KiB.
    head: Digest,
    /// Digest of its last 4 KiB.
    tail: Digest,
}

impl Identity {
    pub(super) fn of(path: &Path, source: &dyn Source) -> Result<Self, SourceError> {
        let size = source.len();
        Ok(Self {
            path: path.as_os_str().as_bytes().to_vec(),
            size,
            head: Digest::of_span(source, head(size))?,
            tail: Digest::of_span(source, tail(size))?,
        })
    }

    pub(super) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }

    /// Whether a recording begins like the one that this was made of.
    pub(super) fn begins(&self, source: &dyn Source) -> bool {
        self.size <= source.len() && Digest::of_span(source, head(self.size)) == Ok(self.head)
    }

    /// Whether a recording is, as far as one can tell, the one that this was made of: many begin with the same
    /// instructions, so that the end counts, too, and a few bytes say nothing.
    pub(super) fn is_of(&self, source: &dyn Source) -> bool {
        self.size >= 2 * CLOSING
            && self.begins(source)
            && Digest::of_span(source, tail(self.size)) == Ok(self.tail)
    }

    /// The name of the journal, without its ending.
    pub(super) fn stem(&self) -> String {
        let name = self.path().file_name().unwrap_or_default().as_bytes();
        let letter = |byte: &u8| match byte {
            b'-' | b'_' | b'.' => char::from(*byte),
            byte if byte.is_ascii_alphanumeric() => char::from(*byte),
            _ => '_',
        };
        let name: String = name.iter().take(NAME).map(letter).collect();
        format!("{}-{name}", Digest::of(&self.path))
    }
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
    /// What the agent is called.
    pub agent: String,
    /// Id of the format of its requests.
    pub format: String,
    pub model: String,
    /// Whether the model is a script.
    pub scripted: bool,
}

/// The first line of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    /// The version of the journal.
    pub(super) version: u64,
    /// What it is a journal of; other kinds are none of ours.
    kind: Kind,
    /// The recording; `None` where a newer version says it in another way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) of: Option<Identity>,
    /// The run, where it is the journal of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<About>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Takes,
    Run,
}

impl Header {
    /// Reads a first line, without its line feed. One whose checksum does not fit is none; a newer
    /// version may do without.
    pub(super) fn decode(line: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(line).ok()?;
        let is_sound = unsealed(text);
        if is_sound == Some(false) {
            return None;
        }
        let header: Self = serde_json::from_str(text).ok()?;
        (is_sound.is_some() || header.version > VERSION).then_some(header)
    }
}

/// The first line of a journal of takes of this recording, with its line feed.
pub(super) fn first_line_of_takes(identity: &Identity) -> serde_json::Result<String> {
    first_line(&Header {
        version: VERSION,
        kind: Kind::Takes,
        of: Some(identity.clone()),
        run: None,
    })
}

/// The first line of the journal of a run, with its line feed.
pub(super) fn first_line_of_run(about: &About) -> serde_json::Result<String> {
    first_line(&Header {
        version: VERSION,
        kind: Kind::Run,
        of: None,
        run: Some(about.clone()),
    })
}

fn first_line(header: &Header) -> serde_json::Result<String> {
    let mut about = match serde_json::to_value(header)? {
        serde_json::Value::Object(about) => about,
        _ => serde_json::Map::new(),
    };
    about.shift_remove("version");
    Ok(seal_header(&encode_header(&about)))
}
