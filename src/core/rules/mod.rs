//! What is wrong with a session: one rule per file, with its page, its message and what it offers.
//!
//! Rules of an item see one item and its body; rules of a session see all heads and the digests that the
//! item pass produced, so that no body is read twice. Both kinds judge for a target dialect. A rule
//! states facts; the sentence is made from [`Rule::message`] in one place, and what to do about a finding
//! is named by its offers.

mod assistant_prefill;
mod broken_chain;
mod check;
mod clean_cache;
mod digest;
mod duplicate_argument_key;
mod duplicate_call_id;
mod duplicate_output;
mod error_class;
mod exposed_secret;
mod failing_tool;
mod finding;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod fixture;
mod health;
mod image_limits;
mod invalid_arguments;
mod invalid_final_output;
mod invalid_tool_definition;
mod invalid_tool_name;
mod leaked_tool_call;
mod malformed_arguments;
mod malformed_message;
mod message;
mod misplaced_output;
mod missing_call_id;
mod missing_final_output;
mod missing_signature;
mod orphan_call;
mod orphan_hosted_result;
mod orphan_output;
mod orphan_reasoning;
mod pairs;
mod pending_call;
mod refused;
mod repeated_call;
mod run;
mod run_failed;
mod split_pair;
mod stop_reason_mismatch;
mod tool_error;
mod truncated_response;
mod turn_limit;
mod unknown_tool;

pub use check::{check, check_by, check_findings, check_items, check_rule, sort};
pub use clean_cache::{CleanCache, CleanItem};
pub use digest::{Digest, Digests};
pub use error_class::{ErrorClass, reports_error};
pub use finding::{Finding, OrphanCause, REFUSAL, Severity, beside, nearest_of, of_pair, of_turn};
pub use health::{Health, Rate, ToolHealth};
pub use message::fill;
pub use run::{CheckedItem, Run};

use crate::actions::{Offer, Safety};
use crate::session::Kind;

#[derive(Debug)]
pub struct Rule {
    /// Its id, stable for ever.
    pub id: &'static str,
    /// How bad a finding is unless it says otherwise.
    pub severity: Severity,
    /// When it fires, in one line.
    pub summary: &'static str,
    /// The sentence of a finding; see [`fill`] for its placeholders.
    pub message: &'static str,
    pub page: RulePage,
    /// The actions that may apply, the first one first.
    pub offers: &'static [Offer],
    /// What it looks at.
    pub scope: Scope,
}

/// What `explain` prints about a rule.
#[derive(Debug)]
pub struct RulePage {
    pub what: &'static str,
    /// Why that is bad for a run.
    pub why: &'static str,
    pub example: &'static str,
    /// What to do about it.
    pub what_to_do: &'static str,
    /// What it does not see, or cannot judge.
    pub limits: &'static str,
}

/// What a rule looks at.
#[derive(Debug)]
pub enum Scope {
    /// Each item of these kinds, with its body.
    Item {
        kinds: &'static [Kind],
        /// Whether the bytes of an item, as they stand, are worth a look; most are not, and are not decoded.
        glance: fn(&[u8]) -> bool,
        check: fn(&Run<'_>, &CheckedItem<'_>, &mut Vec<Finding>),
    },
    /// The session as a whole: heads, pairing, contract, digests.
    Session(fn(&Run<'_>, &Digests, &mut Vec<Finding>)),
    /// The session, with what all other rules found in it.
    Findings(fn(&Run<'_>, &mut Vec<Finding>)),
}

/// Every rule, in the order in which they are listed and explained. Those of a session run in this order, too:
/// turn-limit looks at what the rules before it found.
pub const RULES: &[&Rule] = &[
    &unknown_tool::RULE,
    &malformed_arguments::RULE,
    &invalid_arguments::RULE,
    &duplicate_argument_key::RULE,
    &orphan_call::RULE,
    &pending_call::RULE,
    &orphan_output::RULE,
    &misplaced_output::RULE,
    &duplicate_call_id::RULE,
    &duplicate_output::RULE,
    &missing_call_id::RULE,
    &invalid_tool_name::RULE,
    &malformed_message::RULE,
    &orphan_reasoning::RULE,
    &invalid_final_output::RULE,
    &missing_final_output::RULE,
    &truncated_response::RULE,
    &refused::RULE,
    &leaked_tool_call::RULE,
    &tool_error::RULE,
    &repeated_call::RULE,
    &failing_tool::RULE,
    &split_pair::RULE,
    &turn_limit::RULE,
    &assistant_prefill::RULE,
    &missing_signature::RULE,
    &image_limits::RULE,
    &invalid_tool_definition::RULE,
    &orphan_hosted_result::RULE,
    &stop_reason_mismatch::RULE,
    &broken_chain::RULE,
    &run_failed::RULE,
];

/// What `check` alone says beside the rules: nothing that breaks a run, and nothing that a run, a proxy or
/// `fix` has to decide about.
pub const HINTS: &[&Rule] = &[&exposed_secret::RULE];

/// Every rule; hints come last.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().chain(HINTS).copied()
}

/// The rules whose findings `fix` may mend or that leave a history broken: errors, and
/// whatever offers something safe.
pub fn mending_rules() -> Vec<&'static Rule> {
    let offers_safe = |rule: &&Rule| rule.offers.iter().any(|offer| offer.safety == Safety::Safe);
    let rules = RULES.iter().copied();
    rules
        .filter(|rule| rule.severity == Severity::Error || offers_safe(rule))
        .collect()
}

pub fn find(id: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_complete() {
        for (index, rule) in all().enumerate() {
            let page = [
                rule.page.what,
                rule.page.why,
                rule.page.example,
                rule.page.what_to_do,
                rule.page.limits,
            ];
            assert!(
                page.iter().all(|text| !text.trim().is_empty()),
                "{}",
                rule.id
            );
            assert!(
                rule.offers
                    .iter()
                    .all(|offer| crate::actions::find(offer.action).is_some()),
                "{}",
                rule.id
            );
            assert!(
                all().take(index).all(|other| other.id != rule.id),
                "{}",
                rule.id
            );
            assert!(
                !rule.summary.ends_with('.') && !rule.message.ends_with('.'),
                "{}",
                rule.id
            );
        }
    }
}
