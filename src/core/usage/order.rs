//! By what turns, tools and results are sorted.

use super::prices::Cost;

/// What the largest is looked for by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UsageOrder {
    /// US dollars; without prices the new tokens of turns and the size of results.
    #[default]
    Cost,
    /// How long the model answered, or the tool ran.
    Time,
    /// The tokens of turns, the bytes of results.
    Size,
}

impl UsageOrder {
    pub const ALL: [Self; 3] = [Self::Cost, Self::Time, Self::Size];

    /// The place of something that has results: the larger the earlier.
    pub(super) fn rank(self, cost: Option<Cost>, took: Option<u64>, bytes: u64) -> (u64, u64) {
        match self {
            Self::Cost => (cost.map_or(0, Cost::raw), bytes),
            Self::Time => (took.unwrap_or(0), bytes),
            Self::Size => (bytes, 0),
        }
    }
}
