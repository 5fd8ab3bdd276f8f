//! A live run: the engine's effects carried out in the world, on a take that grows.

mod act;
mod news;
mod perform;
mod prepare;
mod run;
mod stood;
mod world;

pub use news::{Judged, News, Phase, StreamedCall, Streaming, ToolState};
pub use prepare::{NotPrepared, Options, Prepared, prepare};
pub use run::{Input, Run, Who};
pub use stood::CONTINUE;
pub use world::{Report, Thread, World, WorldEvent};
