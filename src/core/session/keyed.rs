//! A hasher for keys that are keyed hashes already: ids are hashed once with a secret key when they are read,
//! so that hashing them again in every table would buy nothing.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds the hasher; for tables whose keys are made of ids from [`super::CallId`],
/// [`super::RecordLink`] or small numbers.
pub type Keyed = BuildHasherDefault<KeyedHasher>;

/// Folds the parts of a key together.
#[derive(Debug, Default, Clone, Copy)]
pub struct KeyedHasher(u64);

impl Hasher for KeyedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u8(&mut self, part: u8) {
        self.write_u64(u64::from(part));
    }

    fn write_u32(&mut self, part: u32) {
        self.write_u64(u64::from(part));
    }

    fn write_u64(&mut self, part: u64) {
        self.0 = (self.0.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, part: usize) {
        self.write_u64(part as u64);
    }

    fn write_isize(&mut self, part: isize) {
        self.write_u64(part as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_and_ids_spread_over_the_table() {
        let hash = |number: u64| {
            let mut hasher = KeyedHasher::default();
            hasher.write_u64(number);
            hasher.finish() >> 57
        };
        let seen = (0..1000).map(hash).collect::<HashSet<_>>();
        assert!(seen.len() > 100, "{}", seen.len());
    }
}
