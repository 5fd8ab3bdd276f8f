//! Which of the findings of a recording count: those of the rules that were chosen, without those of a baseline.

use super::arguments::CheckArguments;
use super::baseline::Baseline;
use retake_live::report::{FileReport, FindingReport};

/// Which findings count.
pub(super) struct FindingChoice<'a> {
    pub(super) arguments: &'a CheckArguments,
    pub(super) baseline: Baseline,
}

impl FindingChoice<'_> {
    /// Keeps the findings that count: of the chosen rules, and not in the baseline. Gives how many the baseline holds.
    pub(super) fn apply(&mut self, report: &mut FileReport) -> usize {
        let CheckArguments { only, ignore, .. } = self.arguments;
        let is_in = |rules: &[String], finding: &FindingReport| {
            rules.iter().any(|rule| rule == finding.rule.id)
        };
        let mut all_known = 0;
        for session in &mut report.sessions {
            let name = &session.name;
            session.findings.retain(|finding| {
                let is_chosen = only.is_empty() || is_in(only, finding);
                if !is_chosen || is_in(ignore, finding) {
                    return false;
                }
                let is_known = self.baseline.take(&report.path, name, finding);
                all_known += usize::from(is_known);
                !is_known
            });
        }
        all_known
    }
}
