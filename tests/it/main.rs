//! One integration binary.

mod safe_text;
