//! A live run: the engine's effects carried out in the world, on a take that grows.

mod news;

pub use news::{News, Phase, StreamedCall, Streaming, ToolState};
