//! The operator's face.

pub mod copy;
pub mod filter;
pub mod fuzzy;
pub mod help;
pub mod list;
pub mod palette;
pub mod picker;
pub mod prompt;
pub mod theme;
