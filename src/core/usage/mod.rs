//! When things happened and what they took, from what a recording holds: times, durations, tokens.
//!
//! Nothing is estimated: what a recording does not say is `None`. Times are milliseconds since 1970.

mod codex;
mod moment;
mod record;
mod tokens;
mod totals;
mod turn;

pub use moment::milliseconds;
pub use record::working_folder;
pub use tokens::Tokens;
pub use totals::{ResultUsage, SessionUsage, ToolUsage};
pub use turn::{TurnUsage, call_duration, item_time, turn_usage};
