//! Where the arguments of a call break their schema: asked only for items that have such a finding.

use retake_core::dialects::body_of;
use retake_core::rules::{Finding, Run};
use retake_core::schema::Violation;
use retake_core::session::Session;

/// The rule that finds broken arguments.
const RULE: &str = "invalid-arguments";

/// The violations of an item in the order of its text; none unless a finding says that there are some.
pub fn violations(session: &Session, index: usize, findings: &[Finding]) -> Vec<Violation> {
    if !findings.iter().any(|finding| finding.rule.id == RULE) {
        return Vec::new();
    }
    find(session, index).unwrap_or_default()
}

/// Asks for the schema as the rule does, so that the screen shows what the rule found.
fn find(session: &Session, index: usize) -> Option<Vec<Violation>> {
    let item = session.items.get(index)?;
    let body = body_of(item, &session.bytes(item).ok()?).ok()?;
    let arguments = serde_json::from_str(body.arguments.json()?).ok()?;
    let run = Run::new(session, None);
    let validator = run.offered(index)?.validator(item.name)?.ok()?;
    validator.violations(&arguments).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::tui::state::testing::opened;

    #[test]
    fn violations_of_a_schema_in_gemini_s_spelling_are_shown_as_they_are_found() {
        let text = r#"{"model":"m","tools":[{"type":"function","function":{"name":"book","parameters":
            {"type":"OBJECT","properties":{"seats":{"type":"INTEGER"}}}}}],"messages":[
            {"role":"user","content":"two"},
            {"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"book","arguments":"{\"seats\":\"two\"}"}}]}]}"#;
        let state = opened(text, (100, 30));
        let session = state.session().unwrap();
        let findings = retake_live::check_session(session, None).unwrap();
        let found = super::violations(session, 1, &findings);
        let pointers = found.iter().map(|violation| violation.pointer.as_str());
        assert_eq!(pointers.collect::<Vec<_>>(), ["/seats"]);
    }
}
