//! What the envelope of one record says beside its item: when it was written, what its reply took.

use super::moment::milliseconds;
use super::tokens::Tokens;
use crate::json::{Cursor, JsonError, display_text};
use crate::session::{Item, Session, SourceError, Span};

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Envelope {
    pub(super) at: Option<u64>,
    pub(super) tokens: Option<Tokens>,
    /// How long the tool ran whose result it is, in milliseconds.
    pub(super) took: Option<u64>,
}

/// Larger records are not read whole: only where an envelope begins and where it goes on after the item.
const WHOLE: u64 = 64 * 1024;
/// How much is read there.
const WINDOW: u64 = 2048;

impl Envelope {
    /// The envelope of the record that holds an item.
    pub(super) fn of(session: &Session, item: &Item) -> Result<Self, SourceError> {
        let Some(record) = session.records.get(item.record as usize) else {
            return Ok(Self::default());
        };
        if record.span.len() <= WHOLE {
            let bytes = session.source.read(record.span)?;
            return Ok(Self::read(&bytes).unwrap_or_default());
        }
        let rest = Span {
            start: item.span.end.min(record.span.end),
            end: record.span.end,
        };
        let head = session.source.read(record.span.head(WINDOW))?;
        let tail = session.source.read(rest.head(WINDOW))?;
        let (head, tail) = (
            String::from_utf8_lossy(&head),
            String::from_utf8_lossy(&tail),
        );
        let at = [&tail, &head].into_iter().find_map(|text| {
            let start = text.find(TIMESTAMP)? + TIMESTAMP.len();
            milliseconds(text[start..].split('"').next()?)
        });
        Ok(Self {
            at,
            tokens: tail.find(USAGE).and_then(|start| {
                let value = &tail[start + USAGE.len()..];
                let length = Cursor::new(value.as_bytes()).skip().ok()?.end;
                Tokens::of_value(&value[..length])
            }),
            took: None,
        })
    }

    fn read(bytes: &[u8]) -> Result<Self, JsonError> {
        let mut envelope = Self::default();
        Cursor::new(bytes).object(|cursor, key| {
            match key {
                b"timestamp" if envelope.at.is_none() => {
                    let text = cursor.string()?.map(display_text);
                    envelope.at = text.and_then(|text| milliseconds(&text));
                }
                b"usage" => envelope.read_usage(cursor)?,
                b"message" | b"response" if cursor.peek() == Some(b'{') => {
                    cursor.object(|cursor, key| match key {
                        b"usage" => envelope.read_usage(cursor),
                        _ => Ok(()),
                    })?;
                }
                b"toolUseResult" if cursor.peek() == Some(b'{') => {
                    cursor.object(|cursor, key| {
                        if let b"durationMs" | b"totalDurationMs" = key {
                            let number = String::from_utf8_lossy(cursor.raw()?).parse().ok();
                            envelope.took = number.or(envelope.took);
                        }
                        Ok(())
                    })?;
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(envelope)
    }

    fn read_usage(&mut self, cursor: &mut Cursor<'_>) -> Result<(), JsonError> {
        let raw = String::from_utf8_lossy(cursor.raw()?);
        self.tokens = Tokens::of_value(&raw).or(self.tokens);
        Ok(())
    }
}

const TIMESTAMP: &str = "\"timestamp\":\"";
const USAGE: &str = "\"usage\":";

/// The folder in which an agent worked, with a slash at its end, where the beginning of the recording names it.
pub fn working_folder(session: &Session) -> Option<String> {
    let whole = Span {
        start: 0,
        end: session.source.len(),
    };
    let head = session.source.read(whole.head(BEGINNING)).ok()?;
    let text = String::from_utf8_lossy(&head);
    let start = text.find(FOLDER)? + FOLDER.len();
    let inside = text[start..].split('"').next()?;
    let folder = display_text(inside.as_bytes())
        .trim_end_matches('/')
        .to_owned();
    (folder.len() > 1).then(|| format!("{folder}/"))
}

const FOLDER: &str = "\"cwd\":\"";
/// How much of a recording is searched for it.
const BEGINNING: u64 = 32 * 1024;
