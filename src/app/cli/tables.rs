//! The tables that `check` writes for data engines.

mod folder;
mod part;
mod run;

pub(super) use part::TableFormat;
pub(super) use run::run;
