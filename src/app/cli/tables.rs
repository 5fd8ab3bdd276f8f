//! The tables that `check` writes for data engines.

mod columns;
#[cfg(feature = "tables")]
mod folder;
#[cfg(feature = "tables")]
mod part;
#[cfg(feature = "tables")]
mod rows;
#[cfg(feature = "tables")]
mod run;

#[cfg(feature = "tables")]
pub(super) use columns::TableFormat;
pub use columns::markdown_tables;
#[cfg(feature = "tables")]
pub(super) use run::run;
