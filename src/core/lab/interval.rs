//! How far a rate that was counted may lie from the true one: Wilson's interval, and Newcombe's for the
//! difference of two rates.

/// The point below which 97.5 % of the standard normal distribution lie.
const Z: f64 = 1.959_963_984_540_054;
const Z_SQUARED: f64 = Z * Z;

/// Where a true value lies, with 95 % confidence. Both ends belong to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Whether the value lies in it.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// From one end to the other.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }
}

/// So many of so many: a rate that was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Proportion {
    hits: u32,
    of: u32,
}

impl Proportion {
    /// `hits` of `of`; there are never more hits than there are answers.
    pub fn new(hits: u32, of: u32) -> Self {
        Self {
            hits: hits.min(of),
            of,
        }
    }

    pub fn hits(self) -> u32 {
        self.hits
    }

    /// Out of how many.
    pub fn of(self) -> u32 {
        self.of
    }

    /// The rate, from 0 to 1; `None` of nothing.
    pub fn rate(self) -> Option<f64> {
        (self.of > 0).then(|| f64::from(self.hits) / f64::from(self.of))
    }

    /// The score interval of the true rate at 95 %: E. B. Wilson, "Probable inference, the law of succession,
    /// and statistical inference", Journal of the American Statistical Association 22 (1927), 209-212. Of
    /// nothing it is everything.
    pub fn interval(self) -> Interval {
        let Some(rate) = self.rate() else {
            return Interval {
                low: 0.0,
                high: 1.0,
            };
        };
        let of = f64::from(self.of);
        let shrink = 1.0 + Z_SQUARED / of;
        let centre = (rate + Z_SQUARED / (2.0 * of)) / shrink;
        let spread = rate * (1.0 - rate) / of + Z_SQUARED / (4.0 * of * of);
        let half = Z * spread.sqrt() / shrink;
        // Where none or all were hits, one end is the rate itself, which rounding would miss by a hair.
        Interval {
            low: if self.hits == 0 { 0.0 } else { centre - half },
            high: if self.hits == self.of {
                1.0
            } else {
                centre + half
            },
        }
    }

    /// How much higher this rate is than the other, with the hybrid score interval at 95 %: R. G. Newcombe,
    /// "Interval estimation for the difference between independent proportions: comparison of eleven methods",
    /// Statistics in Medicine 17 (1998), 873-890, method 10. `None` where one of them is of nothing.
    pub fn minus(self, other: Self) -> Option<Difference> {
        let (mine, theirs) = (self.rate()?, other.rate()?);
        let (my_interval, their_interval) = (self.interval(), other.interval());
        let value = mine - theirs;
        let below = (mine - my_interval.low).hypot(their_interval.high - theirs);
        let above = (my_interval.high - mine).hypot(theirs - their_interval.low);
        Some(Difference {
            value,
            interval: Interval {
                low: (value - below).max(-1.0),
                high: (value + above).min(1.0),
            },
        })
    }
}

/// How much higher one rate is than another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// As counted, from -1 to 1.
    pub value: f64,
    /// Where the true difference lies, with 95 % confidence.
    pub interval: Interval,
}

impl Difference {
    /// Whether it tells the two apart: no difference at all is outside of its interval.
    pub fn tells_apart(&self) -> bool {
        !self.interval.contains(0.0)
    }
}

/// From how many answers on an interval reaches no farther than `half_width` to each side, whatever the rate:
/// where it is widest, at one half, Wilson's reaches Z / (2 sqrt(n + Z^2)).
pub fn answers_for(half_width: f64) -> u32 {
    let answers = Z_SQUARED / (4.0 * half_width * half_width) - Z_SQUARED;
    answers.ceil().max(0.0) as u32
}

/// How far the interval of so many answers reaches to each side at most.
pub fn widest_half(answers: u32) -> f64 {
    Z / (2.0 * (f64::from(answers) + Z_SQUARED).sqrt())
}

#[cfg(test)]
mod tests;
