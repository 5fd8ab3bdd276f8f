//! retake
pub mod dialects;
pub mod formats;
pub mod json;
pub mod safe_text;
pub mod session;
