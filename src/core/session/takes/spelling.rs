//! How places and bytes stand in a journal that people can read.

use crate::session::source::Span;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// A span as `[start, end]`.
pub mod span {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Span};

    pub fn serialize<S: Serializer>(span: &Span, to: S) -> Result<S::Ok, S::Error> {
        (span.start, span.end).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Span, D::Error> {
        let (start, end) = Deserialize::deserialize(from)?;
        Ok(Span { start, end })
    }
}

/// Bytes as text, or as `{"base64": ...}` where they are not UTF-8.
pub mod bytes {
    use super::{Deserialize, Deserializer, Serialize, Serializer};
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use std::borrow::Cow;

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Spelled<'a> {
        Text(Cow<'a, str>),
        Packed { base64: String },
    }

    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        let spelled = match std::str::from_utf8(bytes) {
            Ok(text) => Spelled::Text(text.into()),
            Err(_) => Spelled::Packed {
                base64: STANDARD.encode(bytes),
            },
        };
        spelled.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        match Spelled::deserialize(from)? {
            Spelled::Text(text) => Ok(text.into_owned().into_bytes()),
            Spelled::Packed { base64 } => STANDARD.decode(base64).map_err(serde::de::Error::custom),
        }
    }
}

/// Bytes that several hold, spelled as [`bytes`] are.
pub mod shared {
    use super::{Arc, Deserializer, Serializer, bytes};

    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        bytes::serialize(bytes, to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<Vec<u8>>, D::Error> {
        bytes::deserialize(from).map(Arc::new)
    }
}
