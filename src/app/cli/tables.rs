//! The tables that `check` writes for data engines, and that `query` reads.

mod folder;
mod part;
mod reading;
mod run;
#[cfg(feature = "query")]
mod sql;

pub(super) use part::TableFormat;
#[cfg(feature = "query")]
pub(super) use reading::TableReader;
pub(super) use run::run;
#[cfg(feature = "query")]
pub(super) use sql::Recordings;
