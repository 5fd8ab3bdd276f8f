//! The operator's face.

pub mod fuzzy;
pub mod list;
pub mod palette;
pub mod prompt;
pub mod theme;
