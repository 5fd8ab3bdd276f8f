//! Draws that are the same for the same seed, in every process and version.

/// A sequence of draws (SplitMix64).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// The draws that belong to a seed, a name and some numbers; others have nothing in common with them.
    pub fn new(seed: u64, name: &str, numbers: &[u64]) -> Self {
        let bytes = name.bytes().map(u64::from);
        let mut dice = Self { state: seed };
        for number in bytes.chain(numbers.iter().copied()) {
            dice.state = dice.number() ^ number;
        }
        dice
    }

    /// The draws from a state.
    pub fn from_state(state: u64) -> Self {
        Self { state }
    }

    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Whether something happened that happens at this rate.
    #[cfg(test)]
    pub(crate) fn happens(&mut self, rate: f64) -> bool {
        (((self.number() >> 11) as f64) / ((1_u64 << 53) as f64)) < rate
    }

    /// A number below `bound`; 0 where that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let drawn = self.number();
        // The remainder is below `bound`, so it fits.
        usize::try_from(drawn % (bound.max(1) as u64)).unwrap_or(0)
    }

    pub fn pick<'a, T>(&mut self, values: &'a [T]) -> Option<&'a T> {
        let place = self.below(values.len());
        values.get(place)
    }

    /// Values in another order.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for end in (1..values.len()).rev() {
            let other = self.below(end + 1);
            values.swap(end, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_never_change() {
        let mut dice = Dice::new(1, "unknown-tool-near", &[2, 3]);
        let drawn = [dice.below(1000), dice.below(1000), dice.below(1000)];
        let again = Dice::new(1, "unknown-tool-near", &[2, 3]).below(1000);
        assert_eq!(drawn[0], again);
        assert_eq!(drawn, [246, 879, 889]);
        assert_ne!(
            Dice::new(1, "a", &[]),
            Dice::new(2, "a", &[]),
            "the seed counts"
        );
        assert_eq!(Dice::new(1, "a", &[]).pick::<u8>(&[]), None);
    }

    #[test]
    fn a_shuffle_loses_nothing() {
        let mut values: Vec<u32> = (0..20).collect();
        Dice::new(1, "order", &[]).shuffle(&mut values);
        assert_ne!(values, (0..20).collect::<Vec<_>>());
        values.sort_unstable();
        assert_eq!(values, (0..20).collect::<Vec<_>>());
    }
}
