//! The wording lab: the same failing call told in several wordings, each sent several times, and what the model
//! does next is counted.
//!
//! ```text
//! finding ─▶ Trial: variants of the words x a model ─▶ machine: who is asked next ─▶ runtime::lab: the history with those words is sent
//!                 ▲                                          │ ▲                                   │
//!  spec (TOML) ───┘                                    Board ◀┘ └── Sample: class, tokens, time ◀───┘
//!                                                        └─▶ standings: rates, intervals, differences ─▶ screen, reports, the winner
//! ```
//!
//! Nothing here knows a clock, a socket or a file. What is random is drawn from a seed.

mod board;
#[cfg(test)]
mod boards;
#[cfg(test)]
mod dice;
mod experiment;
mod interval;
mod machine;
mod outcome;
mod sample;
mod sequential;
mod spec;
mod standing;
mod verdict;
mod winner;
pub mod words;

pub use board::{Board, End, Phase, Spent};
pub use experiment::{
    Caps, Experiment, LeftOut, MOST_CONCURRENCY, Meant, Origin, PLAIN, RECORDED, RESERVED,
    Reserved, Stop, Subject, Trial, USUAL_CONCURRENCY, USUAL_SAMPLES, Variant, baseline_of,
};
pub use interval::{Difference, Interval, Proportion, answers_for, widest_half};
pub use machine::{Earlier, Effect, Event, Leader, Machine, OutOfPlace};
pub use outcome::{FailedCall, Reply, classify};
pub use sample::{CLASSES, Class, Sample, Tokens};
pub use sequential::{Race, leader_of, race_of};
pub use spec::{Added, Assertion, Named, SPEC_TABLES, Spec, Wanted, Which};
pub use standing::{Measured, Merged, Overall, Standing, highest, overall, standings};
pub use verdict::{AssertionFault, Claim, Judged, Verdict, judge, together};
pub use winner::{NoTest, Winner, regression, winner};
