//! The operator's face.

pub mod prompt;
pub mod theme;
