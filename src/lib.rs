//! retake
pub mod dialects;
pub mod formats;
pub mod json;
pub mod session;
