//! A live run: the engine's effects carried out in the world, on a take that grows.

mod act;
mod held;
mod news;
mod partner;
mod perform;
mod prepare;
mod run;
mod stood;
mod world;

pub use held::{Came, NotHeld};
pub use news::{Judged, News, Phase, StreamedCall, Streaming, ToolState};
pub use partner::Partner;
pub(crate) use prepare::{Gathered, model_of};
pub use prepare::{NotPrepared, Options, Prepared, prepare};
pub use run::{Input, Run, Who, goes_on};
pub use stood::CONTINUE;
pub use world::{Report, Room, Thread, World, WorldEvent};
