//! Tables that the program carries: TOML beside the code that uses it. A test reads each of them, so their texts are
//! in order; one that is not would be empty.

use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// The whole of a table.
pub fn table<T: DeserializeOwned + Default>(text: &str) -> T {
    toml::from_str(text).unwrap_or_default()
}

/// The rows of a table that has one list, `[[name]]`.
pub fn rows<T: DeserializeOwned>(text: &str) -> Vec<T> {
    let lists: Option<BTreeMap<String, Vec<T>>> = toml::from_str(text).ok();
    lists
        .into_iter()
        .flatten()
        .flat_map(|(_, rows)| rows)
        .collect()
}
