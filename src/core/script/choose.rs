//! Which rule answers.

use super::{Asked, Moment, Rule, Script};

impl Script {
    /// The first rule that fits, with its place. `attempt` says how often exactly this was
    /// asked, this time included.
    ///
    /// How often a rule has answered before (`times`) is counted by asking the rules again for each reply of
    /// the history: faults gave none of them, and at which attempt they came nobody knows any more.
    pub fn choose(&self, asked: &Asked, attempt: u32) -> Option<(usize, &Rule)> {
        let mut used = vec![0_u32; self.rules.len()];
        if self.rules.iter().any(|rule| rule.when.times.is_some()) {
            for moment in &asked.before {
                let mut rules = self.rules.iter().enumerate();
                let fitting = rules.find(|(index, rule)| {
                    rule.answer.fault.is_none()
                        && self.fits((*index, rule), moment, asked.sample, &used)
                });
                if let Some((index, _)) = fitting {
                    used[index] += 1;
                }
            }
        }
        self.rules.iter().enumerate().find(|(index, rule)| {
            rule.when.attempt.is_none_or(|wanted| wanted == attempt)
                && self.fits((*index, rule), &asked.now, asked.sample, &used)
        })
    }

    /// Whether everything holds but the attempt.
    fn fits(
        &self,
        (index, rule): (usize, &Rule),
        moment: &Moment,
        sample: u64,
        used: &[u32],
    ) -> bool {
        let when = &rule.when;
        let is_offered = |tool: &String| moment.offered.contains(tool);
        when.turn.is_none_or(|turn| turn == moment.turn)
            && when.last.is_none_or(|last| last == moment.last)
            && when.last_is_error.is_none_or(|is| is == moment.is_error)
            && (when.called.is_none() || when.called == moment.called)
            && when.offers.iter().all(is_offered)
            && !when.lacks.iter().any(is_offered)
            && when
                .times
                .is_none_or(|times| used.get(index).is_none_or(|used| *used < times))
            && when
                .last_contains
                .as_ref()
                .is_none_or(|text| moment.text.contains(text.as_str()))
            && when
                .last_matches
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(&moment.text))
            && when
                .chance
                .is_none_or(|chance| self.draw(index, moment, sample) < chance)
    }

    /// From 0 to 1, the same for the same history, sample and rule.
    fn draw(&self, index: usize, moment: &Moment, sample: u64) -> f64 {
        let hash = moment.fingerprint.and(b"chance").and_number(self.seed);
        hash.and_number(sample).and_number(index as u64).fraction()
    }

    /// Why no rule fits, for whoever writes the script.
    pub fn nothing_fits(&self, asked: &Asked) -> String {
        let now = &asked.now;
        let cut = now.text.chars().take(200).collect::<String>();
        let called = now.called.as_deref().unwrap_or("nothing");
        let offered = match now.offered.is_empty() {
            true => "no tools".to_owned(),
            false => now.offered.join(", "),
        };
        format!(
            "no rule of {} fits reply {}: the history ends on {}, which says {cut:?}; called last: {called}; on \
            offer: {offered}",
            self.file,
            now.turn,
            now.last.word()
        )
    }
}
