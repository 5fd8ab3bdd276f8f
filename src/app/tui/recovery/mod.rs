//! The faces of recoveries: what can be done about a finding, the words it needs, what it would change, the
//! takes that came of it.
//!
//! [`changes`] says what planned edits would make of each item. The others are faces: data that takes keys and
//! draws itself. None knows takes, actions or files: the caller hands in rows and texts, and does what a key
//! asked for. Keys come from [`super::keymap::overlays`], moving from [`super::list`] and [`super::text`].
//!
//! | face | question |
//! |---|---|
//! | [`offers`] | what can be done? |
//! | [`wording`] | what shall the model read? |
//! | [`forms`] | which words, which reading, really? |
//! | [`proposal`] | what would change? |
//! | [`takes`] | which takes are there? |
//! | [`comparison`] | how do two takes differ? |
//! | [`saving`] | where to, and how is it spelled there? |

pub mod changes;
pub mod comparison;
pub mod difference;
pub mod forms;
pub mod offers;
pub mod proposal;
pub mod saving;
pub mod takes;
#[cfg(test)]
pub(in crate::tui) mod tests;
pub mod wording;
