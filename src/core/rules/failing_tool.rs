//! failing-tool: one tool fails several times in a row.

use super::health::LEAST;
use super::{ErrorClass, Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::{Flags, Kind, NameId};
use std::collections::HashMap;

pub(crate) static RULE: Rule = Rule {
    id: "failing-tool",
    severity: Severity::Warning,
    summary: "one tool fails three times or more in a row",
    message: "{tool} failed {count} times in a row[; last: {text}]",
    page: RulePage {
        what: "Three or more outputs of one tool in a row are errors, whatever its arguments were.",
        why: "It is the tool that does not work, not the call: the model goes on trying, and each try costs a turn.",
        example: "start_print fails with other arguments each time: printer offline.",
        what_to_do: "Switch the tool off until it works (the breaker does so in a live run), supply its output \
            by hand, or accept a fallback.",
        limits: "Calls that were rejected or interrupted, and calls that their tool would refuse, count neither \
            way; a tool that does not exist is unknown-tool.",
    },
    offers: &[
        Offer::manual("supply-output"),
        Offer::unsafe_("fallback"),
        Offer::unsafe_("retry"),
    ],
    scope: Scope::Session(check),
};

/// Errors in a row.
#[derive(Clone, Copy)]
struct Streak {
    first: usize,
    last: usize,
    count: u32,
}

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let mut streaks: HashMap<NameId, Streak> = HashMap::new();
    for (index, item) in run.session.items.iter().enumerate() {
        if item.kind != Kind::Output {
            continue;
        }
        let call = run.session.pairing.partner(index);
        let call = call
            .and_then(|call| run.session.items.get(call))
            .unwrap_or(item);
        if call.name.is_none() || call.flags.has(Flags::FOREIGN_CALLER) {
            continue;
        }
        let error = run.digests.error(index);
        let is_counted = error.map_or(streaks.contains_key(&call.name), ErrorClass::is_of_the_tool);
        if !is_counted || is_not_run(run, index) {
            continue;
        }
        match error {
            None => {
                let ended = streaks.remove(&call.name);
                ended
                    .iter()
                    .for_each(|streak| report(run, call.name, streak, findings));
            }
            Some(_) => {
                let streak = streaks.entry(call.name).or_insert(Streak {
                    first: index,
                    last: index,
                    count: 0,
                });
                streak.last = index;
                streak.count += 1;
            }
        }
    }
    let mut rest = streaks.into_iter().collect::<Vec<_>>();
    rest.sort_unstable_by_key(|(_, streak)| streak.last);
    rest.iter()
        .for_each(|(name, streak)| report(run, *name, streak, findings));
}

/// Whether an output answers a call that its tool would refuse, or that is not a tool's: it says nothing about the
/// tool, however it is marked.
fn is_not_run(run: &Run<'_>, output: usize) -> bool {
    let Some(call) = run.session.pairing.partner(output) else {
        return false;
    };
    if run
        .digests
        .get(call)
        .is_some_and(|digest| digest.is_malformed)
    {
        return true;
    }
    let (Some(offered), Some(item)) = (run.offered(call), run.session.items.get(call)) else {
        return false;
    };
    let Some(Ok(validator)) = offered.validator(item.name) else {
        return offered.tool(item.name).is_none();
    };
    let violations = run
        .arguments(call)
        .map(|arguments| validator.violations(&arguments));
    violations.is_some_and(|found| found.is_ok_and(|found| !found.is_empty()))
}

fn report(run: &Run<'_>, name: NameId, streak: &Streak, findings: &mut Vec<Finding>) {
    if streak.count < LEAST {
        return;
    }
    let last = run.digests.error(streak.last);
    let text = last.map(|class| run.failure(streak.last, class, &run.text(streak.last)));
    findings.push(
        Finding::new(&RULE, streak.last)
            .fact("tool", run.session.names.text(name))
            .fact("count", streak.count.to_string())
            .fact("text", text.unwrap_or_default())
            .beside(Some(streak.first)),
    );
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::fixture::{Fixture, fixture};
    use serde_json::{Value, json};

    /// Outputs of calls with ever new arguments: `("print", "Error: offline")`.
    fn run(steps: &[(&str, &str)]) -> Fixture {
        let messages = steps
            .iter()
            .enumerate()
            .flat_map(|(number, (name, output))| {
                let id = format!("call_{}", number + 1);
                let arguments = json!({"page": number}).to_string();
                [
                    json!({"role": "assistant", "tool_calls": [{"id": id, "type": "function",
                    "function": {"name": name, "arguments": arguments}}]}),
                    json!({"role": "tool", "tool_call_id": id, "content": output}),
                ]
            });
        fixture(&messages.collect::<Value>().to_string())
    }

    #[test]
    fn three_errors_in_a_row_are_the_tools_own_matter() {
        let story = run(&[
            ("print", "Error: offline"),
            ("list", "two printers"),
            ("print", "Error: offline"),
            ("print", "Error: no paper"),
        ]);
        story.expect(&RULE, &["call_4"]);
        assert_eq!(
            story.finding(&RULE).message(),
            "print failed 3 times in a row; last: Error: no paper"
        );
    }

    #[test]
    fn the_last_line_of_a_traceback_is_quoted_however_long_it_is() {
        let frames = "  File \"/srv/app/printers.py\", line 120, in start\n    raise find(name)\n"
            .repeat(30);
        let traceback =
            format!("Traceback (most recent call last):\n{frames}ValueError: no paper\n");
        let last = ("print", traceback.as_str());
        let story = run(&[("print", "Error: a"), ("print", "Error: b"), last]);
        assert_eq!(
            story.finding(&RULE).message(),
            "print failed 3 times in a row; last: ValueError: no paper"
        );
    }

    #[test]
    fn a_success_in_between_breaks_the_row() {
        run(&[
            ("print", "Error: a"),
            ("print", "Error: b"),
            ("print", "done"),
            ("print", "Error: c"),
        ])
        .expect(&RULE, &[]);
        run(&[
            ("print", "Error: a"),
            ("scan", "Error: b"),
            ("copy", "Error: c"),
        ])
        .expect(&RULE, &[]);
    }

    #[test]
    fn a_finished_series_is_reported_and_refused_calls_do_not_count() {
        run(&[
            ("print", "Error: a"),
            ("print", "Error: b"),
            ("print", "Error: c"),
            ("print", "done"),
        ])
        .expect(&RULE, &["call_3"]);
        let refused = ("print", "Tool execution was not approved.");
        run(&[refused, refused, refused]).expect(&RULE, &[]);
        let unknown = ("print", "Tool 'print' not found.");
        run(&[unknown, unknown, unknown]).expect(&RULE, &[]);
    }
}
