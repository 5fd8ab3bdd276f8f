//! The world: files and databases, compression, threads, interrupts, the operator's editor, the journal of
//! takes; agent files and what was confirmed of them, models, tools, live runs.
//!
//! Pure rooms say what bytes mean and what is to be done; this room fetches the bytes, spreads the work over
//! the cores, asks and runs.

pub mod agents;
mod ahead;
mod background;
mod base;
mod beside;
pub mod blame;
mod checking;
pub mod discover;
pub mod editor;
mod files;
mod fixture;
mod follower;
pub mod http;
mod inflate;
pub mod inspect;
mod interrupt;
mod journal;
pub mod lab;
mod lines;
pub mod live;
mod mend;
pub mod model;
mod moment;
mod opening;
mod parts;
mod policies;
pub mod proxy;
mod reading;
mod refusal;
pub mod replace;
pub mod replay;
mod replies;
mod save;
pub mod scripted;
pub mod search;
mod serving;
mod settled;
mod sharing;
mod sqlite;
mod sqlite_save;
pub mod takes;
pub mod tools;
mod transcode;
pub mod trust;
pub mod wordings;
mod workbench;

pub use ahead::Ahead;
pub use background::in_background;
pub use base::{Base, NoBase};
pub use beside::{agent_beside, read_tools_file, tools_beside, unusable_tools_beside};
pub use checking::{check_recording, check_run, check_session, check_with_hints};
pub use files::{FileSource, Input, InputError, is_same_file, open, read_definitions, read_stdin};
pub use fixture::{Fixture, NoFixture};
pub use follower::{Follower, Growth};
pub use interrupt::{exit_on_interrupt, leave_interrupts, note_ends, note_interrupts};
pub use lines::line_numbers;
pub use mend::{Applied, Mended, Mending, Reason, Refused, Tally};
pub use opening::Opening;
pub use parts::Kept;
pub use policies::{PolicyError, read_policy};
pub use reading::{Progress, ReadOptions, Recording, read_input, read_path};
pub use refusal::add_refusal;
pub use save::{SaveError, WriteError, save_take, write_take};
pub use settled::{settle, settle_mended};
pub use sharing::without_secrets;
pub use sqlite::{DatabaseError, read_database};
pub use sqlite_save::SaveDatabaseError;
pub use workbench::{AS_REQUEST, NoRun, NoTake, Workbench};

use reading::{as_sent, going_on, read_written};
