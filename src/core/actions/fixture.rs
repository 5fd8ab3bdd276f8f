//! Short transcripts for the tests of actions: each with its findings, and what an action does
//! about one of them.

use super::find;
use super::plan::{ActionError, ActionInput, Defect, Plan};
use crate::formats::split::{Part, Within};
use crate::formats::{Reading, Sample, read_buffer, recognise};
use crate::rules::{Finding, Run, check};
use crate::session::{Dialect, Edit, Fragment, OutputSchema, Session, Source};
use crate::wire::tools::read_tools;
use serde_json::Value;
use std::sync::Arc;

/// The sessions of a transcript as a file holds it.
pub fn sessions(text: &str) -> Vec<Session> {
    let bytes = text.as_bytes();
    let format = recognise(&Sample::new(bytes, true)).expect("no format claims the transcript");
    let source: Arc<dyn Source> = Arc::new(bytes.to_vec());
    let mut contents = read_buffer(format, &source, bytes).unwrap();
    if let (true, Reading::Records(records)) = (contents.sessions.is_empty(), format.reading) {
        let part = Part {
            bytes,
            base: 0,
            is_last: true,
        };
        let mut fragment = Fragment::default();
        Within::Stream.read(&records, part, 0, bytes.len(), &mut fragment);
        contents = (records.assemble)(fragment, &source).unwrap();
    }
    assert!(contents.problems.is_empty(), "{:?}", contents.problems);
    contents.sessions
}

/// A list of items or messages.
pub fn history(items: &[&str]) -> String {
    format!("[{}]", items.join(","))
}

/// A request to Anthropic.
pub fn anthropic(messages: &[&str]) -> String {
    let messages = messages.join(",");
    format!(r#"{{"model":"m","max_tokens":9,"messages":[{messages}]}}"#)
}

/// What the user says, as Chat and Anthropic spell it.
pub const USER: &str = r#"{"role":"user","content":"hi"}"#;

/// A session on which actions are tried.
pub struct ActionFixture {
    pub session: Session,
    target: Option<Dialect>,
}

/// The first session of a transcript.
pub fn fixture(text: &str) -> ActionFixture {
    ActionFixture {
        session: sessions(text).remove(0),
        target: None,
    }
}

impl ActionFixture {
    /// Tools given from outside, in any spelling.
    pub fn tools(mut self, tools: Value) -> Self {
        let (tools, complaints) = read_tools(&tools);
        assert!(complaints.is_empty(), "{complaints:?}");
        self.session.contract.supplement(Some(&tools), None, None);
        self
    }

    /// The schema of the final output.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.session.contract.output_schema = Some(OutputSchema {
            name: "answer".to_owned(),
            schema,
        });
        self
    }

    /// The dialect to judge for.
    pub fn target(mut self, target: Dialect) -> Self {
        self.target = Some(target);
        self
    }

    pub fn findings(&self) -> Vec<Finding> {
        check(&mut Run::new(&self.session, self.target)).unwrap()
    }

    /// What an action does about the first finding of a rule, which offers it.
    pub fn apply(
        &self,
        rule: &str,
        action: &str,
        choice: &ActionInput<'_>,
    ) -> Result<Plan, ActionError> {
        let findings = self.findings();
        let own = findings
            .iter()
            .find(|finding| finding.rule.id == rule)
            .unwrap_or_else(|| panic!("no {rule} in {findings:?}"));
        assert!(
            own.offers.iter().any(|offer| offer.action == action),
            "{rule} does not offer {action}"
        );
        let beside = findings
            .iter()
            .filter(|finding| !std::ptr::eq(*finding, own))
            .map(Finding::defect)
            .collect::<Vec<_>>();
        let run = Run::new(&self.session, self.target);
        let scene = run
            .scene(own.defect(), &beside)
            .expect("the finding has no item");
        (find(action).unwrap().plan)(&scene, choice)
    }

    /// What an action does about an item without a finding.
    pub fn act(
        &self,
        item: u32,
        action: &str,
        choice: &ActionInput<'_>,
    ) -> Result<Plan, ActionError> {
        let run = Run::new(&self.session, self.target);
        let defect = Defect {
            item: Some(item),
            ..Defect::default()
        };
        let scene = run.scene(defect, &[]).unwrap();
        (find(action).unwrap().plan)(&scene, choice)
    }

    /// The bytes of a session's item after the edits of a plan.
    pub fn after(&self, planned: &Plan, item: u32) -> String {
        let head = &self.session.items[item as usize];
        let mut text = String::from_utf8(self.session.bytes(head).unwrap()).unwrap();
        for edit in &planned.edits {
            if let Edit::Rewrite {
                item: other,
                patches,
            } = edit
                && *other == item
            {
                for patch in patches.iter().rev() {
                    let with = std::str::from_utf8(&patch.with).unwrap();
                    text.replace_range(patch.at.clone(), with);
                }
            }
        }
        text
    }
}

#[track_caller]
pub fn only(planned: &Plan) -> &Edit {
    assert_eq!(planned.edits.len(), 1, "{planned:?}");
    &planned.edits[0]
}

/// The items that a plan drops.
pub fn dropped(planned: &Plan) -> Vec<u32> {
    let dropped = planned.edits.iter().map(|edit| match edit {
        Edit::Drop { item } => *item,
        other => panic!("{other:?}"),
    });
    dropped.collect()
}
