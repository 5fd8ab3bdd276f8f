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
mod provider_error;
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

pub use check::{
    HINTS, RULES, all, argument_faults, check, check_by, check_findings, check_items, check_rule,
    find, mending_rules, reports_failure, sort,
};
pub use clean_cache::CleanCache;
pub use error_class::{ErrorClass, reports_error};
pub use finding::{
    Finding, IN_TRANSIT, OrphanCause, REFUSAL, Rule, RulePage, SETTLED, Scope, Severity, beside,
    nearest_of, of_pair, of_turn,
};
pub use health::{Health, Rate, ToolHealth};
pub use run::{CheckedItem, CleanItem, Digest, Digests, Run};

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
