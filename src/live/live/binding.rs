//! Whom a run asks, as far as its requests depend on it.

use retake_core::dialects::write::request::NoRequest;
use retake_core::engine::agent::Model;
use retake_core::session::Dialect;
use std::borrow::Cow;

/// The model of a run.
#[derive(Debug, Clone)]
pub enum ModelBinding {
    /// That of an agent file, whose settings are laid over each history.
    Described(Model),
    /// That of an agent elsewhere: its own request says everything, and is sent as it is.
    OfClient { dialect: Dialect, name: String },
}

impl ModelBinding {
    pub(super) fn dialect(&self) -> Dialect {
        match self {
            Self::Described(model) => model.dialect,
            Self::OfClient { dialect, .. } => *dialect,
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Described(model) => &model.name,
            Self::OfClient { name, .. } => name,
        }
    }

    /// Whether a script answers.
    pub(super) fn is_scripted(&self) -> bool {
        match self {
            Self::Described(model) => model.is_scripted(),
            Self::OfClient { .. } => false,
        }
    }

    /// Whether the run is about an exchange of an agent elsewhere.
    pub(super) fn is_of_client(&self) -> bool {
        matches!(self, Self::OfClient { .. })
    }

    /// A history as it is sent.
    pub(super) fn wire_request<'b>(&self, body: &'b [u8]) -> Result<Cow<'b, [u8]>, NoRequest> {
        match self {
            Self::Described(model) => model.wire_request(body).map(Cow::Owned),
            Self::OfClient { .. } => Ok(Cow::Borrowed(body)),
        }
    }
}
