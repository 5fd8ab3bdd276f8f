//! repeated-call: the same call again and again although nothing has changed.

use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::Offer;
use crate::session::{Family, Flags, Item, Keyed, Kind, NameId};
use std::collections::{HashMap, HashSet};

pub(crate) static RULE: Rule = Rule {
    id: "repeated-call",
    severity: Severity::Warning,
    summary: "the same call three times or more, with no change in between",
    message: "{tool} was called {count} times with the same arguments and {outcome}[: {text}]",
    page: RulePage {
        what: "The same tool with the same arguments, three times or more, and nothing new in between: its \
            output was the same or an error, no other call brought anything new, and the user \
            sent no message.",
        why: "The model is in a loop: what it reads does not help it. Loops end at the turn limit, and cost \
            until then.",
        example: "parcel_status {\"id\": \"P-1\"} five times, each time answered: status unknown.",
        what_to_do: "Read the output that failed to help, and try a wording that says what else can be done.",
        limits: "Polling whose output changes is not a loop. Waiting for something that does not change looks like one.",
    },
    offers: &[
        Offer::safe("inject-error"),
        Offer::unsafe_("retry"),
        Offer::unsafe_("fallback"),
        Offer::manual("supply-output"),
    ],
    scope: Scope::Session(check),
};

/// From how many equal calls on it is a loop.
const LEAST: u32 = 3;

/// A tool with its arguments.
type Call = (NameId, u64);

/// Equal calls without a change between them.
struct Series {
    first: usize,
    last: usize,
    /// The one before the last.
    before: usize,
    count: u32,
    /// The state of the world, as [`Changes::count`], when it was called last and its output had been read.
    world: u32,
    /// The last output that failed to help.
    output: Option<usize>,
    /// Whether the outputs are not all the same: errors with different texts.
    differs: bool,
}

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let repeated = repeated_contents(run);
    if repeated.is_empty() {
        return;
    }
    let mut changes = Changes::default();
    let mut series: HashMap<Call, Series, Keyed> = HashMap::default();
    for (index, item) in run.session.items.iter().enumerate() {
        if is_judged(item)
            && let Some(digest) = run.digests.get(index)
        {
            let call = (item.name, digest.content);
            if repeated.contains(&call.1)
                && let Some(ended) = count(&mut series, call, index, changes.count)
            {
                report(run, &ended, findings);
            }
        }
        if item.kind == Kind::Output
            && let Some(call) = run.session.pairing.partner(index)
            && let Some(key) = call_key(run, call)
        {
            changes.output(run, key, index, repeated.contains(&key.1));
            if let Some(series) = series.get_mut(&key).filter(|series| series.last == call) {
                let ended = changes.is_news.then(|| series.start_anew(call));
                series.world = changes.count;
                let content = |output: usize| run.digests.get(output).map(|it| it.content);
                let last = series.output.replace(index);
                series.differs |= last.is_some_and(|last| content(last) != content(index));
                ended.iter().for_each(|ended| report(run, ended, findings));
            }
        }
        changes.message(item);
    }
    let mut rest = series.into_values().collect::<Vec<_>>();
    rest.sort_unstable_by_key(|series| series.last);
    rest.iter().for_each(|series| report(run, series, findings));
}

/// The arguments that are called with more than once. Most calls are not among them, and nothing
/// is remembered of those.
fn repeated_contents(run: &Run<'_>) -> HashSet<u64, Keyed> {
    let items = run.session.items.iter().enumerate();
    let calls = items.filter(|(_, item)| item.kind == Kind::Call);
    let content = |(index, _)| Some(run.digests.get(index)?.content);
    let mut contents = calls.filter_map(content).collect::<Vec<_>>();
    contents.sort_unstable();
    let pairs = contents.windows(2).filter(|pair| pair[0] == pair[1]);
    pairs.map(|pair| pair[0]).collect()
}

impl Series {
    fn new(index: usize, world: u32) -> Self {
        Self {
            first: index,
            last: index,
            before: index,
            count: 1,
            world,
            output: None,
            differs: false,
        }
    }

    /// The last call brought something new: the loop ended before it.
    fn start_anew(&mut self, call: usize) -> Self {
        let ended = std::mem::replace(self, Self::new(call, self.world));
        Self {
            count: ended.count - 1,
            last: ended.before,
            ..ended
        }
    }
}

/// Pictures of a screen are not compared, so calls that act on one are not judged.
fn is_judged(item: &Item) -> bool {
    item.kind == Kind::Call
        && !matches!(item.family, Family::Computer | Family::Program)
        && !item.flags.has(Flags::FOREIGN_CALLER)
}

fn call_key(run: &Run<'_>, call: usize) -> Option<Call> {
    let item = run.session.items.get(call)?;
    Some((item.name, run.digests.get(call)?.content))
}

/// Counts a call; gives the series that ends because something has changed since.
fn count(
    series: &mut HashMap<Call, Series, Keyed>,
    call: Call,
    index: usize,
    world: u32,
) -> Option<Series> {
    let Some(known) = series.get_mut(&call) else {
        series.insert(call, Series::new(index, world));
        return None;
    };
    if known.world == world {
        known.count += 1;
        known.before = std::mem::replace(&mut known.last, index);
        return None;
    }
    Some(std::mem::replace(known, Series::new(index, world)))
}

fn report(run: &Run<'_>, series: &Series, findings: &mut Vec<Finding>) {
    if series.count < LEAST {
        return;
    }
    let text = series.output.map(|output| run.quote(output));
    let text = text.filter(|text| !text.is_empty());
    let outcome = match (&text, series.differs) {
        (None, false) => "nothing changed",
        (None, true) => "brought nothing new",
        (Some(_), false) => "nothing changed; it read each time",
        (Some(_), true) => "brought nothing new; its last output",
    };
    findings.push(
        Finding::new(&RULE, series.last)
            .fact("tool", run.session.name(&run.session.items[series.last]))
            .fact("count", series.count.to_string())
            .fact("outcome", outcome)
            .fact("text", text.unwrap_or_default())
            .beside(Some(series.first))
            .of_call(run.session),
    );
}

/// What has changed so far: outputs that brought something new, and messages of the user.
#[derive(Default)]
struct Changes {
    count: u32,
    /// Whether the last output brought something new.
    is_news: bool,
    seen: HashSet<(Call, u64), Keyed>,
}

impl Changes {
    /// What a call brings that is made only once is always news.
    fn output(&mut self, run: &Run<'_>, call: Call, output: usize, is_repeated: bool) {
        let digest = run.digests.get(output);
        self.is_news = digest.is_some_and(|digest| {
            digest.error.is_none() && (!is_repeated || self.seen.insert((call, digest.content)))
        });
        self.count += u32::from(self.is_news);
    }

    fn message(&mut self, item: &Item) {
        let speaks = match item.kind {
            Kind::User => !item.flags.has(Flags::SYNTHETIC),
            Kind::Compaction | Kind::ToolDefinitions | Kind::ApprovalResponse => true,
            _ => false,
        };
        self.count += u32::from(speaks);
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::fixture::{Fixture, fixture};
    use serde_json::{Value, json};

    /// Calls with their outputs, one after the other: `("status 7", "late")`; `"user"` is a message.
    fn run(steps: &[(&str, &str)]) -> Fixture {
        let mut messages = Vec::<Value>::new();
        for (number, (call, output)) in steps.iter().enumerate() {
            if *call == "user" {
                messages.push(json!({"role": "user", "content": output}));
                continue;
            }
            let (name, arguments) = call.split_once(' ').unwrap_or((call, ""));
            let id = format!("call_{}", number + 1);
            messages.push(
                json!({"role": "assistant", "tool_calls": [{"id": id, "type": "function",
                "function": {"name": name, "arguments": json!({"x": arguments}).to_string()}}]}),
            );
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
        }
        fixture(&Value::from(messages).to_string())
    }

    #[test]
    fn story_10_the_same_call_three_times_is_a_loop_with_the_text_that_failed_to_help() {
        let story = run(&[
            ("status 7", "late"),
            ("status 7", "late"),
            ("status 7", "late"),
        ]);
        story.expect(&RULE, &["call_3"]);
        let finding = story.finding(&RULE);
        assert_eq!(
            finding.message(),
            "status was called 3 times with the same arguments and nothing changed; it read each time: late"
        );
        assert_eq!(finding.related, Some(0));
        let silent = [("think 7", ""); 3];
        assert_eq!(
            run(&silent).finding(&RULE).message(),
            "think was called 3 times with the same arguments and nothing changed"
        );
    }

    #[test]
    fn key_order_and_white_space_make_no_other_call() {
        fixture(
            r#"[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1,\"y\":2}"}}]},
            {"role":"assistant","tool_calls":[{"id":"b","type":"function","function":{"name":"f","arguments":"{\"y\": 2, \"x\": 1}"}}]},
            {"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{ \"x\":1, \"y\":2 }"}}]}]"#,
        )
        .expect(&RULE, &["c"]);
    }

    #[test]
    fn errors_are_no_change_whatever_they_say() {
        let story = run(&[
            ("read a", "Error: at 10:01"),
            ("list", "Error: no"),
            ("read a", "Error: at 10:02"),
            ("read a", "Error: at 10:03"),
        ]);
        story.expect(&RULE, &["call_4"]);
        assert_eq!(
            story.finding(&RULE).message(),
            "read was called 3 times with the same arguments and brought nothing new; its last output: Error: at 10:03"
        );
    }

    #[test]
    fn two_calls_in_turn_are_a_loop_too() {
        let round = [("a", "1"), ("b", "2")];
        run(&[round, round, round, round].concat()).expect(&RULE, &["call_7", "call_8"]);
    }

    #[test]
    fn polling_whose_output_changes_is_no_loop() {
        run(&[
            ("status 7", "10 %"),
            ("status 7", "20 %"),
            ("status 7", "30 %"),
            ("status 7", "30 %"),
        ])
        .expect(&RULE, &[]);
    }

    #[test]
    fn an_edit_between_two_test_runs_is_a_change() {
        run(&[
            ("test", "1 failed"),
            ("edit a", "ok"),
            ("test", "1 failed"),
            ("edit b", "ok"),
            ("test", "1 failed"),
        ])
        .expect(&RULE, &[]);
    }

    #[test]
    fn the_user_is_a_change_and_other_arguments_are_another_call() {
        run(&[
            ("status 7", "late"),
            ("status 7", "late"),
            ("user", "again!"),
            ("status 7", "late"),
            ("status 7", "late"),
        ])
        .expect(&RULE, &[]);
        run(&[
            ("status 7", "late"),
            ("status 8", "late"),
            ("status 9", "late"),
        ])
        .expect(&RULE, &[]);
    }

    #[test]
    fn two_loops_of_one_call_are_two_findings() {
        run(&[
            ("a", "x"),
            ("a", "x"),
            ("a", "x"),
            ("user", "stop"),
            ("a", "x"),
            ("a", "x"),
            ("a", "x"),
            ("a", "x"),
        ])
        .expect(&RULE, &["call_3", "call_8"]);
        // The fourth call brought something new.
        run(&[("a", "x"), ("a", "x"), ("a", "x"), ("a", "y")]).expect(&RULE, &["call_3"]);
    }
}
