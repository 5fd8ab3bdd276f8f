//! A recovery that the command line names: which finding, which action, which words.

use super::arguments::{FindingWish, RecoveryWish};
use super::exit::{Failure, print_error};
use super::output::{name_of, safe_line, shell_word};
use retake_core::actions::{self, Action};
use retake_core::rules::Finding;
use retake_core::session::{Family, Flags, Kind, Session};
use retake_core::wire::write::{replace_arguments, replace_output};
use retake_core::wording::{FailureKind, default_of};
use retake_live::wordings::{Wordings, usual_files};
use serde_json::Value;
use std::path::Path;

/// Actions that are meant by words without an action.
const WITH_WORDS: [&str; 4] = ["inject-error", "retry", "supply-output", "close-turn"];

impl FindingWish {
    /// Whether this finding of a wanted session is meant.
    pub(super) fn fits(&self, finding: &Finding) -> bool {
        let is_there = |item: u32| self.item.is_none_or(|wanted| wanted - 1 == item);
        let is_rule = self
            .rule
            .as_deref()
            .is_none_or(|rule| rule == finding.rule.id);
        is_rule && finding.item.is_some_and(is_there)
    }
}

impl RecoveryWish {
    /// The requested offers of a finding: by their name, or by what was given for them.
    pub(super) fn actions_of(&self, finding: &Finding) -> Vec<&'static Action> {
        let is_wanted = |action: &&str| match &self.action {
            Some(wanted) => wanted == action,
            None if self.value.is_some() => *action == "fallback",
            None if self.wording.is_some() || self.words.is_some() => WITH_WORDS.contains(action),
            None => true,
        };
        let offers = finding.offers.iter().map(|offer| offer.action);
        offers.filter(is_wanted).filter_map(actions::find).collect()
    }

    /// The name and the template of what the model reads. The error says which names there are.
    pub(super) fn template(
        &self,
        wordings: &Wordings,
        rule: &str,
        action: &str,
    ) -> Result<(String, String), String> {
        if let Some(words) = &self.words {
            return Ok((String::new(), words.clone()));
        }
        let kind = FailureKind::of_rule(rule);
        if let Some(name) = &self.wording {
            let known = kind.map(|kind| wordings.of(kind)).unwrap_or_default();
            if let Some(found) = known.iter().find(|known| known.name == name) {
                return Ok((name.clone(), found.template.to_owned()));
            }
            let names = known.iter().map(|known| known.name);
            let names = names.collect::<Vec<_>>().join(", ");
            return Err(match &names[..] {
                "" => format!("no wordings for {rule}; give one with --words"),
                _ => format!("no wording {name} for {rule}; available: {names}"),
            });
        }
        Ok(match kind.filter(|_| action == "inject-error") {
            Some(kind) => {
                let wording = default_of(kind);
                (wording.name.to_owned(), wording.template.to_owned())
            }
            None => Default::default(),
        })
    }
}

/// The value of a fallback as its action takes it: a final output without a schema is a text.
pub(super) fn value_text(session: &Session, value: &Value) -> String {
    match value {
        Value::String(text) if session.contract.output_schema.is_none() => text.clone(),
        value => value.to_string(),
    }
}

/// The JSON of a call with other arguments, or of a result with another text: what the action `edit` takes. `None` for
/// other items.
pub(super) fn item_with(session: &Session, index: u32, value: &Value) -> Option<String> {
    let item = session.items.get(index as usize)?;
    let text = match value {
        Value::String(text) if item.kind == Kind::Output || item.family == Family::Custom => {
            text.clone()
        }
        value => value.to_string(),
    };
    let mut json = session.bytes(item).ok()?;
    let patches = match item.kind {
        Kind::Call => vec![replace_arguments(item, &json, &text).ok()?],
        Kind::Output => replace_output(item, &json, &text, item.flags.has(Flags::ERROR)).ok()??,
        _ => return None,
    };
    for patch in patches.into_iter().rev() {
        json.splice(patch.at, patch.with);
    }
    String::from_utf8(json).ok()
}

/// The library and the operator's own; unusable entries are reported.
pub(super) fn wordings() -> Wordings {
    let wordings = Wordings::read(&usual_files(Path::new(".")));
    for fault in &wordings.faults {
        print_error(&safe_line(&fault.to_string()), None);
    }
    wordings
}

/// Why there is no recovery to carry out: no finding fits, or the first that fits, with its item, has no such offer.
pub(super) fn no_offer(
    path: &Path,
    finding: &FindingWish,
    recovery: &RecoveryWish,
    first: Option<(&'static str, Option<u32>)>,
) -> Failure {
    let name = name_of(path);
    let named = shell_word(&path.to_string_lossy());
    match (first, &recovery.action) {
        (Some((rule, item)), Some(action)) => {
            let place = item.map_or(0, |item| u64::from(item) + 1);
            Failure::with_hint(
                format!("{name}: {rule} at item {place} does not offer {action}"),
                format!("`retake check {named} --format json` lists the offers"),
            )
        }
        (Some((rule, _)), None) => {
            Failure::refused(format!("{name}: this action is not available for {rule}"))
        }
        (None, _) => {
            let rule = finding.rule.as_deref().map(|rule| format!(" of {rule}"));
            let item = finding.item.map(|item| format!(" at item {item}"));
            let [rule, item] = [rule, item].map(Option::unwrap_or_default);
            Failure::with_hint(
                format!("{name}: no finding{rule}{item}"),
                format!("`retake check {named}` lists the findings"),
            )
        }
    }
}
