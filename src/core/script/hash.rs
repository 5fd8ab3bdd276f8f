//! Hashes that are the same in every process and version: what a script draws and the ids that it
//! gives hang on them.

/// FNV-1a in 64 bits, over parts that cannot run into each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// With a part more.
    pub(crate) fn and(self, part: &[u8]) -> Self {
        let length = (part.len() as u64).to_le_bytes();
        let bytes = part.iter().chain(&length);
        Self(bytes.fold(self.0, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    /// With a number more.
    pub(crate) fn and_number(self, number: u64) -> Self {
        self.and(&number.to_le_bytes())
    }

    /// All bits stirred (the finaliser of SplitMix64): neighbouring histories have nothing in common.
    pub(crate) fn number(self) -> u64 {
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// From 0 to 1, never 1.
    pub(crate) fn fraction(self) -> f64 {
        // 53 bits are what a double holds exactly.
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// 24 letters and digits for an id.
    pub(crate) fn word(self) -> String {
        let (high, low) = (self.number(), self.and_number(1).number());
        format!("{high:016x}{:08x}", low >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_never_change() {
        let hash = Fingerprint::default().and(b"user").and(b"hello");
        assert_eq!(hash.word(), "43c0db1aea5ca789af5866d5");
        assert_ne!(
            hash,
            Fingerprint::default().and(b"userh").and(b"ello"),
            "parts do not run into each other"
        );
        assert!((0.0..1.0).contains(&hash.fraction()));
    }
}
