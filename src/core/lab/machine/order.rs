//! The order of a round, drawn from a seed.

/// Shuffles what is tried in a round. The same seed and round give the same order on every machine.
pub(super) fn shuffle<T>(items: &mut [T], seed: u64, round: u32) {
    let mut random = SplitMix(seed ^ u64::from(round).wrapping_mul(STEP).rotate_left(17));
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// `SplitMix64` (Steele, Lea and Flood 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`. For the few dozen places of a round what the remainder favours is far below
    /// what could be seen.
    fn below(&mut self, limit: usize) -> usize {
        let limit = limit.max(1) as u64;
        usize::try_from(self.next() % limit).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::shuffle;

    fn shuffled(seed: u64, round: u32) -> Vec<usize> {
        let mut items: Vec<usize> = (0..6).collect();
        shuffle(&mut items, seed, round);
        items
    }

    #[test]
    fn an_order_holds_each_once_and_is_that_of_its_seed_and_round() {
        let mut sorted = shuffled(1, 0);
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
        assert_eq!(shuffled(1, 0), shuffled(1, 0));
        assert_ne!(shuffled(1, 0), shuffled(2, 0));
        assert_ne!(shuffled(1, 0), shuffled(1, 1));
    }

    #[test]
    fn each_is_first_about_equally_often() {
        let mut first = [0_u32; 6];
        for seed in 0..6000 {
            first[shuffled(seed, 3)[0]] += 1;
        }
        assert!(
            first.iter().all(|count| (850..1150).contains(count)),
            "{first:?}"
        );
    }
}
