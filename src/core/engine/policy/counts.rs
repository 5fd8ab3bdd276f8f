//! How often a policy acted in a run.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The rule whose faults name tools that there are not: the model invents another name each time.
const INVENTED: &str = "unknown-tool";

/// How often a policy acted in a run, by rule and tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counts(BTreeMap<String, BTreeMap<String, u32>>);

impl Counts {
    /// How often it acted about a fault of this rule and tool. Tools that there are not are counted together,
    /// or a model that invents a new one each time would never come to the end of `times`.
    pub fn of(&self, rule: &str, tool: Option<&str>) -> u32 {
        let tools = self.0.get(rule);
        let count = tools.and_then(|tools| tools.get(counted(rule, tool)));
        count.copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, rule: &str, tool: Option<&str>) {
        let tools = self.0.entry(rule.to_owned()).or_default();
        let count = tools.entry(counted(rule, tool).to_owned()).or_default();
        *count = count.saturating_add(1);
    }
}

fn counted<'a>(rule: &str, tool: Option<&'a str>) -> &'a str {
    match tool {
        Some(tool) if rule != INVENTED => tool,
        _ => "",
    }
}
