//! The faces of a live run: what it does in words, approvals, breakpoints, tools.
//!
//! Each face is data that takes keys and draws itself; what its answers lead to is decided in
//! [`super::update`]. Nothing here knows the conductor: news come in as [`retake_live::live::RunNews`], decisions
//! go out as [`super::effect::LiveCommand`].
//!
//! | face | question |
//! |---|---|
//! | [`approval`] | may this call run, may what an agent's file names run at all? |
//! | [`breakpoints`] | where is the run to stop? |
//! | [`tools`] | how do the tools fare, which is switched off? |

pub mod agent_prompt;
pub mod approval;
pub mod breakpoints;
pub mod reply;
pub mod tools;
pub mod words;
