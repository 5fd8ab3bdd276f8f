//! Where the arguments of a call break their schema: asked only for items that have such a finding, with the schema compiled once.

use crate::dialects::body_of;
use crate::rules::Finding;
use crate::schema::{Validator, Violation};
use crate::session::{NameId, Session};
use std::collections::HashMap;

/// The rule that finds broken arguments.
const RULE: &str = "invalid-arguments";

/// Compiled schemas by tool list and tool.
#[derive(Debug, Default)]
pub struct Validators {
    compiled: HashMap<(usize, NameId), Option<Validator>>,
}

impl Validators {
    /// Forgets everything: the document is another one.
    pub fn clear(&mut self) {
        self.compiled.clear();
    }

    /// The violations of an item in the order of its text; none unless a finding says that there are some.
    pub fn violations(
        &mut self,
        session: &Session,
        index: usize,
        findings: &[Finding],
    ) -> Vec<Violation> {
        if !findings.iter().any(|finding| finding.rule.id == RULE) {
            return Vec::new();
        }
        self.find(session, index).unwrap_or_default()
    }

    fn find(&mut self, session: &Session, index: usize) -> Option<Vec<Violation>> {
        let item = session.items.get(index)?;
        let body = body_of(item, &session.bytes(item).ok()?).ok()?;
        let arguments = serde_json::from_str(body.arguments.json()?).ok()?;
        let reply = session.turns.get(item.turn as usize)?.first;
        let epoch = session.contract.epoch(reply);
        let validator = self.compiled.entry((epoch, item.name)).or_insert_with(|| {
            let name = session.name(item);
            let offered = session.contract.tools_at(reply);
            let tool = offered.into_iter().find(|tool| tool.name == name)?;
            Validator::compile(tool.parameters.as_ref()?).ok()
        });
        validator.as_ref()?.violations(&arguments).ok()
    }
}
