//! The world: files and databases, compression, threads, interrupts, the operator's editor, the journal of
//! takes; agent files and what was confirmed of them, models, tools, live runs.
//!
//! Pure rooms say what bytes mean and what is to be done; this room fetches the bytes, spreads the work over
//! the cores, asks and runs.

#[cfg(not(unix))]
compile_error!(
    "retake needs Linux or macOS; on Windows, build and run it in WSL. Of its crates only `retake-core` is for Windows."
);

mod agent_store;
pub mod agents;
mod archive;
mod background;
mod base;
mod bindings;
pub mod blame;
mod checking;
pub mod discover;
pub mod doctor;
pub mod editor;
mod expand;
mod files;
mod fix;
mod fixture;
mod follower;
pub mod http;
mod inflate;
mod inputs;
pub mod inspect;
mod interrupt;
mod item_marks;
mod journal;
pub mod lab;
mod lines;
pub mod live;
pub mod lock;
pub mod mcp_server;
pub mod model;
mod opening;
mod parallel_read;
mod policies;
pub mod proxy;
mod reading;
mod refusal;
pub mod replace;
pub mod replay;
mod replies;
pub mod report;
mod resolved;
mod save;
mod saved_take;
pub mod scripted;
pub mod search;
mod serving;
mod session_tree;
mod session_tree_save;
mod sharing;
mod sidecar;
mod speculative_write;
mod sqlite;
mod sqlite_save;
pub mod stores;
mod sub_agents;
pub mod tables;
mod take_store;
pub mod takes;
pub mod tools;
mod transcode;
pub mod trust;
pub mod wordings;

pub use agent_store::{new_session, prepare_store, session_path, write_session};
pub use background::in_background;
pub use base::{Base, BaseError};
pub use bindings::{BindingError, BindingOptions};
pub use checking::{check_recording, check_run, check_session, check_with_hints};
pub use expand::{NamedRecording, Walked, expand, is_no_recording};
pub use files::{FileSource, Input, InputError, is_same_file, open, read_definitions, read_stdin};
pub use fix::chosen::{ChosenError, ChosenFix};
pub use fix::{
    Applied, FixRefusal, FixRefusalReason, FixReport, FixRun, SafeFixes, Tally, safe_fixes,
    warnings_left,
};
pub use fixture::{FixtureError, RecoveryFixture};
pub use follower::{FileGrowth, Follower};
pub use inputs::{FixHistoryError, FixedHistory, Inputs, Opened};
pub use interrupt::{exit_on_interrupt, leave_interrupts, note_ends, note_interrupts};
pub use lines::{FilePlace, file_places};
pub use opening::OpenedInput;
pub use parallel_read::ReadPart;
pub use policies::{PolicyError, read_policy};
pub use reading::{Progress, ReadOptions, Recording, read_input, read_path, recognised};
pub use refusal::add_refusal;
pub use resolved::{mark_repaired, mark_resolved};
pub use save::{SaveError, WriteError, save_take, write_take};
pub use saved_take::through_take;
pub use sharing::without_secrets;
pub use sidecar::{
    agent_beside, read_tools_file, tools_beside, tools_path, tools_text, unusable_tools_beside,
};
pub use speculative_write::SpeculativeWrite;
pub use sqlite::{DatabaseError, read_database};
pub use sqlite_save::SaveDatabaseError;
pub use sub_agents::{SubAgent, is_sub_agent_log, sub_agent_logs, sub_agents};
pub use take_store::{AS_REQUEST, RunError, TakeError, TakeStore};

use reading::{as_sent, going_on, read_written};
