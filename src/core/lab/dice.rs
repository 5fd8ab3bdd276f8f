//! Dice for tests: the same seed throws the same everywhere.

pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// A number from 0 to below 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether something happened that happens at this rate.
    pub(super) fn throws(&mut self, rate: f64) -> bool {
        self.next() < rate
    }
}
