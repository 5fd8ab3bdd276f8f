//! The operator's face.

pub mod theme;
