//! What the model reads when something went wrong: templates with placeholders, a library of them for each kind
//! of failure, their rendering, and recipes that carry a recovery out of the debugger.
//!
//! A template is written for [minijinja](https://docs.rs/minijinja): `{{ tool }}`, `{% if nearest %}...{%
//! endif %}`, `{% for violation in violations %}...{% endfor %}`. Nothing is escaped, every name must be one
//! of [`VARIABLES`], and what could grow without end is refused before it runs, since a project may bring
//! wordings of its own.

mod context;
mod library;
pub mod recipe;
mod render;
mod verbs;

pub use context::{FailureContext, FailureKind, VARIABLES, Variable, ViolationText, recorded};
pub use library::{Axes, Channel, ToolListing, Wording, default_of, find, library, reads_as_name};
pub use render::{OUTPUT, TEMPLATE, TemplateError, check, render};
pub use verbs::{PolicyAction, VERBS, Verb, in_vain, never_decided, verb, verb_of};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
