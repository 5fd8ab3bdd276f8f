//! The wording lab: the same failing call reported in several wordings, each sent several times, and what the model
//! does next is counted.
//!
//! ```text
//! finding ─▶ Trial: variants of the words x a model ─▶ machine: which request comes next ─▶ runtime::lab: the history with those words is sent
//!                 ▲                                          │ ▲                                   │
//!  spec (TOML) ───┘                                    Board ◀┘ └── Sample: class, tokens, time ◀───┘
//!                                                        └─▶ standings: rates, intervals, differences ─▶ screen, reports, the winner
//! ```
//!
//! Nothing here knows a clock, a socket or a file. What is random is drawn from a seed.

mod board;
#[cfg(test)]
mod boards;
mod experiment;
mod interval;
mod machine;
mod outcome;
mod report;
mod results;
mod sequential;
mod spec;
mod verdict;
mod winner;
pub mod words;

pub use board::{Board, CLASSES, Class, LabPhase, LabSample, Spending, TokenCount, TrialEnd};
pub use experiment::{
    Caps, Experiment, LeftOut, MOST_CONCURRENCY, Meant, Origin, PLAIN, RECORDED, RESERVED,
    Reserved, Stop, Subject, Trial, USUAL_CONCURRENCY, USUAL_ERROR_RATE, WordingVariant,
    baseline_of, is_reserved,
};
pub use interval::{Difference, Interval, Proportion, answers_for, widest_half};
pub use machine::{Earlier, LabCommand, LabEffect, LabMachine, Leader, OutOfPlace, Question};
pub use outcome::{FailedCall, JudgedReply, classify};
pub use report::{Measured, Overall, WordingRow, highest, overall, standings};
pub use results::{Results, TrialResults, baseline_name, left_out, place};
pub use sequential::{Race, leader_of, race_of};
pub use spec::{Added, Assertion, Named, SPEC_TABLES, Spec, Wanted, Which, is_script};
pub use verdict::{AssertionFault, Claim, JudgedClaim, Verdict, judge, together};
pub use winner::{NoTest, Winner, regression, winner};
