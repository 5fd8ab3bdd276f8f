//! What an agent asks without a fault: what it asks behind one all the same is no reaction to it.

use std::collections::HashMap;

/// The requests of one run of an agent, told apart by what is newest in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usual {
    requests: u32,
    /// How many had this as their newest element.
    newest: HashMap<u64, u32>,
}

impl Usual {
    /// How many requests there were.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Takes a request by the hash of its newest element; gives how many had the same one by now.
    pub(super) fn take(&mut self, newest: u64) -> u32 {
        self.requests += 1;
        let count = self.newest.entry(newest).or_default();
        *count += 1;
        *count
    }

    /// Whether this element was the newest of so many requests.
    pub(super) fn has(&self, newest: u64, count: u32) -> bool {
        self.newest.get(&newest).is_some_and(|had| *had >= count)
    }
}
