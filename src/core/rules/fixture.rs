//! Fixtures for the tests of rules: a short transcript in a format's own spelling, and what the
//! rules say about it.
//!
//! Lines that begin with `//` are notes for the reader of the test and are left out.

use super::{Finding, Rule, Run, check};
use crate::session::{Dialect, OutputSchema, Session};
use crate::wire::tools::read_tools;
use serde_json::Value;

/// A transcript with what is known beside it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fixture {
    text: String,
    tools: Option<Value>,
    output_schema: Option<Value>,
    turn_limit: Option<u32>,
    target: Option<Dialect>,
}

/// A transcript as a file holds it: a request, an exchange, a list of messages, lines.
pub(crate) fn fixture(text: &str) -> Fixture {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    Fixture {
        text: lines.collect::<Vec<_>>().join("\n"),
        ..Fixture::default()
    }
}

impl Fixture {
    /// Tools given from outside, in any spelling.
    pub(crate) fn tools(mut self, tools: Value) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Tools without schemas, by their names.
    pub(crate) fn offering(self, names: &[&str]) -> Self {
        let tools = names.iter().map(|name| serde_json::json!({"name": name}));
        self.tools(tools.collect())
    }

    /// The schema of the final output.
    pub(crate) fn output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// The most replies that the run may take.
    pub(crate) fn turn_limit(mut self, limit: u32) -> Self {
        self.turn_limit = Some(limit);
        self
    }

    /// The dialect to judge for.
    pub(crate) fn target(mut self, target: Dialect) -> Self {
        self.target = Some(target);
        self
    }

    /// The sessions of the transcript.
    pub(crate) fn sessions(&self) -> Vec<Session> {
        let sessions = crate::actions::fixture::sessions(&self.text);
        assert!(!sessions.is_empty(), "the fixture is empty");
        sessions
            .into_iter()
            .map(|session| self.complete(session))
            .collect()
    }

    fn complete(&self, mut session: Session) -> Session {
        if let Some(tools) = &self.tools {
            let (tools, complaints) = read_tools(tools);
            assert!(complaints.is_empty(), "{complaints:?}");
            session.contract.supplement(Some(&tools), None, None);
        }
        if let Some(schema) = &self.output_schema {
            session.contract.output_schema = Some(OutputSchema {
                name: "answer".to_owned(),
                schema: schema.clone(),
            });
        }
        session.contract.turn_limit = self.turn_limit.or(session.contract.turn_limit);
        session
    }

    /// Every finding, each with its place: the call id of its item, `#3` for the third item, or `session`.
    fn reported(&self) -> Vec<(String, Finding)> {
        let mut reported = Vec::new();
        for session in self.sessions() {
            let findings = check(&mut Run::new(&session, self.target)).unwrap();
            reported.extend(
                findings
                    .into_iter()
                    .map(|finding| (place(&session, &finding), finding)),
            );
        }
        reported
    }

    pub(crate) fn findings(&self, rule: &Rule) -> Vec<Finding> {
        let reported = self.reported().into_iter().map(|(_, finding)| finding);
        reported
            .filter(|finding| finding.rule.id == rule.id)
            .collect()
    }

    /// The only finding of a rule.
    pub(crate) fn finding(&self, rule: &Rule) -> Finding {
        let mut findings = self.findings(rule);
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings.remove(0)
    }

    /// Compares the places of the findings of one rule: call ids, or `#3` for the third item, or `session`.
    #[track_caller]
    pub(crate) fn expect(&self, rule: &Rule, expected: &[&str]) {
        let reported = self.reported();
        let reported = reported
            .iter()
            .filter(|(_, finding)| finding.rule.id == rule.id);
        let places = reported
            .map(|(place, _)| place.as_str())
            .collect::<Vec<_>>();
        assert_eq!(places, expected, "{}", rule.id);
    }

    /// Compares all findings of all rules: `unknown-tool call_1`.
    #[track_caller]
    pub(crate) fn expect_all(&self, expected: &[&str]) {
        let reported = self.reported();
        let reported = reported
            .iter()
            .map(|(place, finding)| format!("{} {place}", finding.rule.id));
        assert_eq!(reported.collect::<Vec<_>>(), expected);
    }
}

fn place(session: &Session, finding: &Finding) -> String {
    let Some(index) = finding.item else {
        return "session".to_owned();
    };
    let call_id = session.call_id(&session.items[index as usize]).unwrap();
    if call_id.is_empty() {
        format!("#{}", index + 1)
    } else {
        call_id
    }
}
