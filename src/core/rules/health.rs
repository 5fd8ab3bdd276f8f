//! How the tools of a run fare: a tally for each tool over one or many sessions, made of what the rules found.

use super::error_class::{ErrorClass, class_of_error};
use super::finding::Finding;
use crate::session::ledger::CallResult;
use crate::session::{Flags, Item, Kind, PairStatus, Session};
use std::collections::{BTreeMap, HashMap};

/// From how many errors in a row on a tool counts as failing: the threshold of the breaker.
pub(crate) const LEAST: u32 = 3;

/// The tally of many sessions.
#[derive(Debug, Clone, Default)]
pub struct Health {
    tools: BTreeMap<String, ToolHealth>,
    pub sessions: usize,
    /// Number of sessions that do not tell which tools were offered.
    pub without_tools: usize,
}

/// The tally of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolHealth {
    /// Its name; empty for outputs whose call is not known.
    pub name: String,
    /// How often it was called.
    pub calls: usize,
    /// How many of the calls have an output.
    pub answered: usize,
    /// How many outputs there are, those without call and second ones among them. In the journal of a run,
    /// what a policy or an action answered in the place of the tool is none.
    pub outputs: usize,
    /// How many outputs are errors, by class in the order of [`ErrorClass::ALL`].
    pub classes: [usize; ErrorClass::ALL.len()],
    /// Calls at whose turn it was not offered.
    pub unknown: usize,
    /// Calls whose arguments are not JSON.
    pub malformed: usize,
    /// Calls whose arguments break its schema.
    pub invalid: usize,
    /// Calls without output and outputs without call.
    pub orphans: usize,
    /// Calls that repeat one before although nothing had changed.
    pub repeated: usize,
    /// Most errors in a row within one session. What does not exist, was rejected or
    /// interrupted counts neither way.
    pub longest_run: u32,
    /// Sessions at whose end a circuit breaker with the default threshold would be open; of the journal of a
    /// run, where it is open.
    pub open: usize,
    /// Those of them that are the journal of a run which says so.
    pub open_in_run: usize,
}

impl ToolHealth {
    /// How many outputs are errors. What was answered while the tool was switched off says
    /// nothing about the tool.
    pub fn errors(&self) -> usize {
        let classes = ErrorClass::ALL.iter().zip(self.classes);
        let counted = classes.filter(|(class, _)| **class != ErrorClass::SwitchedOff);
        counted.map(|(_, count)| count).sum()
    }

    /// The share of outputs that are errors, with its 95 % interval (Wilson score); `None` without outputs.
    pub fn error_rate(&self) -> Option<Rate> {
        Rate::of(self.errors(), self.outputs)
    }

    /// Whether it was offered at none of its calls.
    pub fn is_not_offered(&self) -> bool {
        self.calls > 0 && self.unknown == self.calls
    }

    /// How many calls are faulty in themselves.
    fn faults(&self) -> usize {
        self.unknown + self.malformed + self.invalid + self.orphans + self.repeated
    }

    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.answered += other.answered;
        self.outputs += other.outputs;
        for (mine, others) in self.classes.iter_mut().zip(other.classes) {
            *mine += others;
        }
        self.unknown += other.unknown;
        self.malformed += other.malformed;
        self.invalid += other.invalid;
        self.orphans += other.orphans;
        self.repeated += other.repeated;
        self.longest_run = self.longest_run.max(other.longest_run);
        self.open += other.open;
        self.open_in_run += other.open_in_run;
    }
}

/// A share with its interval, each between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    pub share: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Rate {
    /// The share of `hits` in `tries` with its 95 % interval (Wilson, "Probable inference",
    /// 1927); `None` without tries.
    pub fn of(hits: usize, tries: usize) -> Option<Self> {
        /// The 97.5 % quantile of the normal distribution.
        const Z: f64 = 1.959_963_984_540_054;
        if tries == 0 {
            return None;
        }
        let (hits, tries) = (hits as f64, tries as f64);
        let share = hits / tries;
        let spread = Z * Z / tries;
        let middle = (share + spread / 2.0) / (1.0 + spread);
        let variance = share * (1.0 - share) / tries + spread / (4.0 * tries);
        let half = Z * variance.sqrt() / (1.0 + spread);
        Some(Self {
            share,
            low: (middle - half).clamp(0.0, share),
            high: (middle + half).clamp(share, 1.0),
        })
    }
}

impl Health {
    /// Counts a session with what the rules found in it.
    pub fn add(&mut self, session: &Session, findings: &[Finding]) {
        self.sessions += 1;
        self.without_tools += usize::from(!session.contract.tools_known());
        let mut tally = Tally {
            session,
            tools: HashMap::new(),
        };
        tally.items(&classes(findings));
        tally.findings(findings);
        for (name, tool) in tally.tools {
            let own = self.tools.entry(name.to_owned()).or_default();
            own.add(&tool.tally);
            let is_open = match &session.run {
                Some(run) => run.breakers.get(name).is_some_and(|state| state == "open"),
                None => tool.run >= LEAST,
            };
            own.open += usize::from(is_open);
            own.open_in_run += usize::from(is_open && session.run.is_some());
        }
    }

    /// Counts what was counted elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.without_tools += other.without_tools;
        for (name, tool) in &other.tools {
            self.tools.entry(name.clone()).or_default().add(tool);
        }
    }

    /// The tools, those with most errors first, then those with most faulty calls, then those called most.
    pub fn tools(&self) -> Vec<ToolHealth> {
        let named = |(name, tool): (&String, &ToolHealth)| ToolHealth {
            name: name.clone(),
            ..tool.clone()
        };
        let mut tools = self.tools.iter().map(named).collect::<Vec<_>>();
        tools.sort_by_key(|tool| std::cmp::Reverse((tool.errors(), tool.faults(), tool.calls)));
        tools
    }

    /// The sum over all tools; `open` counts breakers.
    pub fn total(&self) -> ToolHealth {
        let mut total = ToolHealth::default();
        self.tools.values().for_each(|tool| total.add(tool));
        total
    }
}

/// The classes of the outputs that are errors, by item.
fn classes(findings: &[Finding]) -> HashMap<u32, ErrorClass> {
    let errors = findings
        .iter()
        .filter(|finding| finding.rule.id == "tool-error");
    let class = |finding: &Finding| {
        let class = ErrorClass::of_words(finding.get("class")?)?;
        Some((finding.item?, class))
    };
    errors.filter_map(class).collect()
}

/// One session under count.
struct Tally<'a> {
    session: &'a Session,
    tools: HashMap<&'a str, Streak>,
}

/// A tool with its errors in a row so far.
#[derive(Default)]
struct Streak {
    tally: ToolHealth,
    run: u32,
}

impl<'a> Tally<'a> {
    /// The tool of an item: of a call, or of the call that an output answers.
    fn tool(&mut self, index: usize) -> &mut Streak {
        let session = self.session;
        let own = |index: usize| {
            let item = session.items.get(index);
            item.map_or("", |item| session.names.text(item.name))
        };
        let name = match (own(index), session.pairing.partner(index)) {
            ("", Some(partner)) => own(partner),
            (name, _) => name,
        };
        self.tools.entry(name).or_default()
    }

    /// What the journal of a run knows of the call that an output answers.
    fn result(&self, output: &Item) -> Option<&'a CallResult> {
        let results = &self.session.run.as_ref()?.results;
        results.get(&self.session.call_id(output).ok()?)
    }

    fn items(&mut self, classes: &HashMap<u32, ErrorClass>) {
        for (index, item) in self.session.items.iter().enumerate() {
            let partner = self.session.pairing.partner(index);
            let call = partner.and_then(|partner| self.session.items.get(partner));
            if [Some(item), call]
                .into_iter()
                .flatten()
                .any(|item| item.flags.has(Flags::FOREIGN_CALLER))
            {
                continue;
            }
            match item.kind {
                Kind::Call | Kind::HostedCall => {
                    let standing = self.session.pairing.standing(index);
                    // Most hosted calls hold their own result.
                    let holds_result =
                        item.kind == Kind::HostedCall && standing == PairStatus::Alone;
                    let tool = &mut self.tool(index).tally;
                    tool.calls += 1;
                    tool.answered += usize::from(partner.is_some() || holds_result);
                    tool.outputs += usize::from(holds_result);
                }
                Kind::Output | Kind::HostedOutput => {
                    let known = u32::try_from(index).ok();
                    let found = known.and_then(|index| classes.get(&index)).copied();
                    match self.result(item) {
                        // A policy or an action spoke in the place of the tool.
                        Some(CallResult::NotRun) => {}
                        Some(CallResult::Failed { failure, text }) => {
                            let seen = failure.and_then(ErrorClass::of_failure);
                            let class = seen.unwrap_or_else(|| class_of_error(text));
                            self.tool(index).output(Some(class));
                        }
                        Some(CallResult::Ran) | None => self.tool(index).output(found),
                    }
                }
                _ => {}
            }
        }
    }

    fn findings(&mut self, findings: &[Finding]) {
        let mut last = None;
        for finding in findings {
            let Some(index) = finding.item.map(|item| item as usize) else {
                continue;
            };
            // Each violation of a schema is a finding of its own; the call is one.
            let is_same = last.replace((finding.rule.id, index)) == Some((finding.rule.id, index));
            let slot: fn(&mut ToolHealth) -> &mut usize = match finding.rule.id {
                "unknown-tool" => |tool| &mut tool.unknown,
                "malformed-arguments" => |tool| &mut tool.malformed,
                "invalid-arguments" => |tool| &mut tool.invalid,
                "orphan-call" | "orphan-output" => |tool| &mut tool.orphans,
                "repeated-call" => |tool| &mut tool.repeated,
                _ => continue,
            };
            let count = match finding.get("count").map(str::parse::<usize>) {
                Some(Ok(count)) if finding.rule.id == "repeated-call" => count.saturating_sub(1),
                _ => usize::from(!is_same),
            };
            *slot(&mut self.tool(index).tally) += count;
        }
    }
}

impl Streak {
    fn output(&mut self, class: Option<ErrorClass>) {
        self.tally.outputs += usize::from(class != Some(ErrorClass::SwitchedOff));
        let place = ErrorClass::ALL
            .iter()
            .position(|known| Some(*known) == class);
        if let Some(count) = place.and_then(|place| self.tally.classes.get_mut(place)) {
            *count += 1;
        }
        match class {
            None => self.run = 0,
            Some(class) if class.is_of_the_tool() => {
                self.run += 1;
                self.tally.longest_run = self.tally.longest_run.max(self.run);
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixture::fixture;
    use crate::rules::{Run, check};
    use serde_json::{Value, json};

    /// The health of one session: a call and its output each, `("print", "{}", Some("Error: offline"))`.
    fn health(steps: &[(&str, &str, Option<&str>)]) -> Health {
        let messages = steps
            .iter()
            .enumerate()
            .flat_map(|(number, (name, arguments, output))| {
                let id = format!("call_{number}");
                let call = json!({"role": "assistant", "tool_calls": [{"id": id, "type": "function",
                "function": {"name": name, "arguments": arguments}}]});
                let output = output
                    .map(|output| json!({"role": "tool", "tool_call_id": id, "content": output}));
                [Some(call), output].into_iter().flatten()
            });
        let messages = messages.chain([json!({"role": "user", "content": "well?"})]);
        let schema = json!({"type": "object", "properties": {"page": {"type": "integer"}}});
        let tools = json!([{"name": "print", "parameters": schema}, {"name": "scan"}]);
        let mut health = Health::default();
        for session in fixture(&messages.collect::<Value>().to_string())
            .tools(tools)
            .sessions()
        {
            let findings = check(&mut Run::new(&session, None)).unwrap();
            health.add(&session, &findings);
        }
        health
    }

    #[test]
    fn what_goes_wrong_is_counted_by_tool_and_the_worst_comes_first() {
        let health = health(&[
            ("scan", "{}", Some("done")),
            ("print", r#"{"page": 1}"#, Some("Error: offline")),
            ("print", r#"{"page": "one"}"#, Some("Error: no paper")),
            (
                "print",
                "{page",
                Some("Tool 'print' timed out after 3 seconds."),
            ),
            ("skan", "{}", Some("Tool 'skan' not found.")),
            ("print", r#"{"page": 2}"#, None),
        ]);
        let tools = health.tools();
        let names = tools.iter().map(|tool| tool.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["print", "skan", "scan"]);
        let print = &tools[0];
        assert_eq!((print.calls, print.answered, print.errors()), (4, 3, 3));
        assert_eq!((print.malformed, print.invalid, print.orphans), (1, 1, 1));
        assert_eq!((print.longest_run, print.open), (3, 1));
        let skan = &tools[1];
        assert!(skan.is_not_offered() && !print.is_not_offered());
        assert_eq!((skan.errors(), skan.longest_run), (1, 0));
        let total = health.total();
        assert_eq!((total.calls, total.errors(), total.open), (6, 4, 1));
    }

    #[test]
    fn a_success_closes_the_breaker_and_another_session_begins_anew() {
        let failed = ("print", "{}", Some("Error: offline"));
        let fine = ("print", "{}", Some("done"));
        let mut twice = health(&[failed, failed]);
        twice.merge(&health(&[failed, failed]));
        assert_eq!((twice.total().longest_run, twice.total().open), (2, 0));
        let mended = health(&[failed, failed, failed, fine]).total();
        assert_eq!((mended.longest_run, mended.open), (3, 0));
        let repeated = health(&[failed, failed, failed]).total();
        assert_eq!(repeated.repeated, 2);
    }

    #[test]
    fn the_interval_is_wilsons() {
        assert_eq!(Rate::of(0, 0), None);
        // Figures of Newcombe, "Two-sided confidence intervals for the single proportion" (1998), table I, method 3.
        for (hits, tries, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let rate = Rate::of(hits, tries).unwrap();
            let near = |one: f64, other: f64| (one - other).abs() < 0.0001;
            assert!(near(rate.low, low) && near(rate.high, high), "{rate:?}");
        }
    }
}
