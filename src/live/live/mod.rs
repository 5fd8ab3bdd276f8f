//! A live run: the engine's effects carried out in the world, on a take that grows.

mod act;
mod hold;
mod io;
mod news;
mod perform;
mod prepare;
mod run;
mod snapshot;

pub use hold::{HoldError, UpstreamResult};
pub use io::{IoEvent, IoThread, Report, RunIo, Thread};
pub use news::{Judged, Phase, RunNews, StreamedCall, Streaming, ToolState};
pub(crate) use prepare::{Gathered, model_of};
pub use prepare::{PrepareError, PreparedRun, RunOptions, prepare};
pub use run::{LiveRun, RunInfo, RunInput, goes_on, past_breakpoints};
pub use snapshot::{CONTINUE, ModelBinding};
