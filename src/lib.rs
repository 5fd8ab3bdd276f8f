//! retake
pub mod actions;
pub mod dialects;
pub mod formats;
pub mod json;
pub mod repair;
pub mod rules;
pub mod runtime;
pub mod safe_text;
pub mod schema;
pub mod session;
pub mod suggest;
pub mod tui;
