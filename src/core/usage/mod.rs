//! When things happened and what they took, from what a recording holds: times, durations, tokens, and what they
//! cost.
//!
//! Nothing is estimated but what says so: what a recording does not say is `None`. Times are milliseconds since
//! 1970.

mod counted;
mod order;
mod prices;
mod record;
mod timeline;
mod tokens;
mod totals;
mod turn;

pub use order::UsageOrder;
pub use prices::{Cost, ModelPrice, PriceError, Prices, RequestCost, model_name};
pub use record::working_folder;
pub use timeline::{Activity, Bar, Lane, Timeline};
pub use tokens::Tokens;
pub use totals::{CacheMiss, KindUsage, ResultUsage, SessionUsage, ToolUsage};
pub use turn::{TurnUsage, UsageReader};
