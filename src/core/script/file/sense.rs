//! Whether what a script says makes sense together.

use super::members::Reader;
use crate::script::{Rule, ScriptFault, When};
use toml::de::DeTable;

impl Reader<'_> {
    /// Whether what a rule says makes sense together.
    pub(super) fn sense(&mut self, rule: &Rule, members: &DeTable<'_>, at: usize) {
        let has = |name: &str| members.contains_key(name);
        let speaks = ["text", "reasoning", "refusal", "calls"]
            .into_iter()
            .any(has);
        let fails_at_once = has("status") || (has("hang") && !has("cut_after"));
        if !speaks && !fails_at_once {
            let hint = "give it `text`, `calls`, `refusal`, `status` or `hang`".to_owned();
            self.fault(at, "this rule answers nothing".to_owned(), Some(hint));
        }
        if speaks && has("status") {
            let message = "an error reply says nothing but `error`".to_owned();
            self.fault(
                at,
                message,
                Some("take `text`, `calls` and the like out".to_owned()),
            );
        }
        if rule.answer.fault.is_some() && rule.when.times.is_some() {
            let message = "`times` counts replies of the history, and what fails leaves none there";
            let hint = "use `attempt`, which counts how often exactly this was asked".to_owned();
            self.fault(at, message.to_owned(), Some(hint));
        }
    }

    /// Rules behind one that fits always.
    pub(super) fn unreachable(&mut self, rules: &[Rule]) {
        let is_open = |rule: &Rule| {
            let When {
                turn,
                last,
                last_contains,
                last_matches,
                last_is_error,
                called,
                offers,
                lacks,
                times,
                attempt,
                chance,
            } = &rule.when;
            let tools = offers.is_empty() && lacks.is_empty();
            let history = turn.is_none() && last.is_none() && called.is_none();
            let texts =
                last_contains.is_none() && last_matches.is_none() && last_is_error.is_none();
            tools && history && texts && times.is_none() && attempt.is_none() && chance.is_none()
        };
        let Some(place) = rules.iter().position(is_open) else {
            return;
        };
        let Some(next) = rules.get(place + 1) else {
            return;
        };
        self.faults.push(ScriptFault {
            line: next.line,
            message: format!(
                "no rule from here on is ever asked: the one in line {} fits always",
                rules[place].line
            ),
            hint: Some("give that one a condition, or put it last".to_owned()),
        });
    }
}
