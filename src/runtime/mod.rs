//! The world: files and databases, compression, threads, interrupts, the operator's editor, the journal
//! of takes.
//!
//! Pure rooms say what bytes mean; this room fetches the bytes and spreads the work over the cores.

mod background;
mod checking;
pub mod discover;
pub mod editor;
mod files;
mod follower;
mod inflate;
pub mod inspect;
mod interrupt;
mod lines;
mod opening;
mod parts;
mod reading;
pub mod replace;
pub mod search;
mod sqlite;
pub mod takes;
mod transcode;

pub use background::in_background;
pub use checking::{check_recording, check_session};
pub use files::{FileSource, Input, InputError, open, read_stdin};
pub use follower::{Follower, Growth};
pub use interrupt::{exit_on_interrupt, leave_interrupts};
pub use lines::line_numbers;
pub use opening::Opening;
pub use reading::{Progress, ReadOptions, Recording, read_input, read_path};
pub use sqlite::{DatabaseError, read_database};
