//! Which call of a reply a part of it is, counted on from the last answer: events mostly speak of the newest
//! part, and a reply may hold tens of thousands of calls.

/// The number of calls before a part.
#[derive(Debug, Default)]
pub(super) struct CallNumber {
    /// The part that was asked for last.
    place: usize,
    /// How many calls stand before it.
    before: usize,
}

impl CallNumber {
    /// How many of the parts before `place` are calls.
    pub(super) fn of<Part>(
        &mut self,
        parts: &[Part],
        place: usize,
        is_call: impl Fn(&Part) -> bool,
    ) -> usize {
        if place < self.place {
            *self = Self::default();
        }
        let passed = &parts[self.place..place];
        self.before += passed.iter().filter(|part| is_call(part)).count();
        self.place = place;
        self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_goes_on_from_the_last_answer_and_back_from_the_start() {
        let parts = [true, false, true, true];
        let mut number = CallNumber::default();
        let told = [0, 2, 2, 3, 1, 3].map(|place| number.of(&parts, place, |is_call| *is_call));
        assert_eq!(told, [0, 1, 1, 2, 1, 2]);
    }
}
