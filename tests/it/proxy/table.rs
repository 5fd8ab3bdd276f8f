//! One meaning everywhere: each fault of a model's turn with each thing that a policy does about it, in a recording, in a live run and
//! through the proxy, in every dialect, whole and streamed. The table is printed; a cell that does not apply says why.

use super::policies::wants_answer;
use super::speech::{Agent, DIALECTS, calls_in, http_body, ways};
use super::stage::{PATIENCE, addresses, keeping, options};
use crate::proxy_wire::client::Client;
use retake::dialects::write::history_of;
use retake::engine::Policy;
use retake::runtime::proxy::{News, Proxy};
use retake::runtime::scripted::{ANY_PORT, Endpoint};
use retake::script::Script;
use retake::session::Dialect;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// A fault: the rule that finds it, the model that makes it, what the tool answers, and what is done about it.
struct Fault {
    rule: &'static str,
    model: &'static str,
    tool: &'static str,
    /// In how many turns.
    turns: usize,
    has_schema: bool,
    verbs: &'static [&'static str],
}

const WARM: &str = "9 degrees";
const DOWN: &str = "Error: user not found";

const FAULTS: &[Fault] = &[
    Fault {
        rule: "unknown-tool",
        model: "calls = [{ name = \"serch\", arguments = { city = \"Rome\" } }]",
        tool: WARM,
        turns: 1,
        has_schema: false,
        verbs: &["inject", "suggest", "retry", "drop", "release", "raise"],
    },
    Fault {
        rule: "malformed-arguments",
        model: "calls = [{ name = \"search\", arguments = '{\"city\":\"Rome\",}' }]",
        tool: WARM,
        turns: 1,
        has_schema: false,
        verbs: &["inject", "repair", "retry", "drop", "release", "raise"],
    },
    Fault {
        rule: "invalid-arguments",
        model: "calls = [{ name = \"search\", arguments = { town = \"Rome\" } }]",
        tool: WARM,
        turns: 1,
        has_schema: false,
        verbs: &["inject", "retry", "drop", "release", "raise"],
    },
    Fault {
        rule: "truncated-response",
        model: "calls = [{ name = \"search\", arguments = '{\"city\":\"Ro' }]\nfinish = \"length\"",
        tool: WARM,
        turns: 1,
        has_schema: false,
        verbs: &["inject", "retry", "drop", "release", "raise"],
    },
    Fault {
        rule: "refused",
        model: "refusal = \"I cannot help with that.\"",
        tool: WARM,
        turns: 1,
        has_schema: false,
        verbs: &["retry", "fallback", "release", "raise"],
    },
    Fault {
        rule: "invalid-final-output",
        model: "text = '{\"answer\":\"one\"}'",
        tool: WARM,
        turns: 1,
        has_schema: true,
        verbs: &["retry", "fallback", "release", "raise"],
    },
    Fault {
        rule: "missing-final-output",
        model: "text = ''",
        tool: WARM,
        turns: 1,
        has_schema: true,
        verbs: &["retry", "fallback", "release", "raise"],
    },
    Fault {
        rule: "tool-error",
        model: "calls = [{ name = \"search\", arguments = { city = \"Rome\" } }]",
        tool: DOWN,
        turns: 1,
        has_schema: false,
        verbs: &["inject", "fallback", "release", "raise"],
    },
    Fault {
        rule: "failing-tool",
        model: "calls = [{ name = \"search\", arguments = { city = \"Rome {{ turn }}\" } }]",
        tool: DOWN,
        turns: 3,
        has_schema: false,
        verbs: &["fallback", "release", "raise"],
    },
    Fault {
        rule: "repeated-call",
        model: "calls = [{ name = \"search\", arguments = { city = \"Rome\" } }]",
        tool: WARM,
        turns: 3,
        has_schema: false,
        verbs: &["inject", "retry", "release", "raise"],
    },
    Fault {
        rule: "duplicate-argument-key",
        model: "calls = [{ name = \"search\", arguments = '{\"city\":\"Rome\",\"city\":\"Oslo\"}' }]",
        tool: WARM,
        turns: 1,
        has_schema: false,
        verbs: &["inject", "retry", "release", "raise"],
    },
    Fault {
        rule: "leaked-tool-call",
        model: "text = '<tool_call>{\"name\": \"search\", \"arguments\": {\"city\": \"Rome\"}}</tool_call>'",
        tool: WARM,
        turns: 1,
        has_schema: false,
        verbs: &["retry", "release", "raise"],
    },
];

const MODES: [&str; 3] = ["recorded", "live", "proxied"];

/// Why a cell does not apply; `None` where it does.
fn excuse((_, streams): (Dialect, bool), mode: &str) -> Option<&'static str> {
    let is_recorded = mode == "recorded";
    (is_recorded && streams).then_some("a recording holds a streamed reply in one piece")
}

/// The model of a fault: it makes it, and then says something sound.
fn script(fault: &Fault) -> String {
    let mut text = "name = \"table\"\n".to_owned();
    for turn in 1..=fault.turns {
        let _ = write!(
            text,
            "[[rule]]\nturn = {turn}\nattempt = 1\n{}\n",
            fault.model
        );
    }
    let sound = match fault.has_schema {
        true => "{\"answer\":1}",
        false => "It is warm.",
    };
    text + &format!("[[rule]]\ntext = '{sound}'\n")
}

fn model(fault: &Fault) -> Endpoint {
    Endpoint::start(Script::parse("table", &script(fault)).unwrap(), ANY_PORT).unwrap()
}

fn policy(fault: &Fault, verb: &str) -> String {
    let value = match (verb, fault.has_schema) {
        ("fallback", true) => "value = { answer = 7 }\n",
        ("fallback", false) => "value = \"seven\"\n",
        _ => "",
    };
    format!("[on.{}]\ndo = \"{verb}\"\n{value}", fault.rule)
}

/// What a policy's word is told as.
fn action(verb: &str) -> &str {
    match verb {
        "inject" => "inject-error",
        "suggest" => "take-suggestion",
        "repair" => "repair-arguments",
        "drop" => "drop-pair",
        other => other,
    }
}

/// What became of a fault: the actions that were told as decided about it.
type Cell = Result<(), String>;

fn expect(decided: &[(String, String)], fault: &Fault, verb: &str) -> Cell {
    let wanted = (fault.rule.to_owned(), action(verb).to_owned());
    match decided.contains(&wanted) {
        true => Ok(()),
        false => Err(format!("decided: {decided:?}")),
    }
}

/// The agent asks through the proxy until nothing is called any more.
fn proxied(fault: &Fault, verb: &str, (dialect, streams): (Dialect, bool)) -> Cell {
    let model = model(fault);
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://{}", model.address());
    let mut options = options(&[url], folder.path().join("proxy.jsonl"));
    options.policy = Policy::parse(&policy(fault, verb)).unwrap();
    let (report, news) = keeping();
    let proxy = Proxy::start(options, report).unwrap();
    let mut agent = Agent::new((dialect, streams));
    if fault.has_schema {
        agent.members = wants_answer(dialect);
    }
    for _ in 0..5 {
        let mut client = Client::connect(addresses(&news)[0]);
        client.send(&http_body(addresses(&news)[0], &agent));
        let got = client.receive(PATIENCE);
        // What was raised in a stream is its last event.
        let failed = ["event: error", "data: {\"error\""];
        if got.status != Some(200) || failed.iter().any(|mark| got.text().contains(mark)) {
            break;
        }
        let calls = agent.reads(&got);
        if calls.is_empty() {
            break;
        }
        calls
            .iter()
            .for_each(|(id, _)| agent.answers(id, fault.tool));
    }
    drop(proxy);
    let news = news.lock().unwrap();
    let decided = news.iter().filter_map(|one| match one {
        News::Decided { rule, action, .. } => Some((rule.clone()?, action.clone())),
        _ => None,
    });
    expect(&decided.collect::<Vec<_>>(), fault, verb)
}

/// A run of its own, without a screen.
fn live(fault: &Fault, verb: &str, (dialect, streams): (Dialect, bool), folder: &Path) -> Cell {
    let name = format!("{}-{verb}-{}-{streams}", fault.rule, dialect.word());
    let file = |end: &str, text: &str| std::fs::write(folder.join(format!("{name}.{end}")), text);
    file("script.toml", &script(fault)).unwrap();
    let schema = "[output_schema]\ntype = \"object\"\nrequired = [\"answer\"]\nproperties.answer = { type = \"number\" }\n";
    let error = if fault.tool == DOWN {
        "Error: user not found"
    } else {
        WARM
    };
    let agent = format!(
        "name = \"table\"\ninput = \"Where is it warm?\"\nmax_turns = 6\n[model]\ndialect = \"{}\"\nscript = \"{name}.script.toml\"\nstream = {streams}\n\
         [[tools]]\nname = \"search\"\ncanned = \"{error}\"\n[tools.parameters]\ntype = \"object\"\nrequired = [\"city\"]\nproperties.city = {{ type = \"string\" }}\n{}",
        dialect.word(),
        if fault.has_schema { schema } else { "" }
    );
    file("toml", &agent).unwrap();
    file("policy.toml", &policy(fault, verb)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_retake"))
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder)
        .args(["run", &format!("{name}.toml"), "--headless", "--trust"])
        .args([
            "--policy",
            &format!("{name}.policy.toml"),
            "--journal",
            &format!("{name}.jsonl"),
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let lines = said
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let decided = lines.filter(|line| line["type"] == "decision").map(|line| {
        let word = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        (word("rule"), word("action"))
    });
    let cell = expect(&decided.collect::<Vec<_>>(), fault, verb);
    cell.map_err(|why| format!("{why}: {said} {}", String::from_utf8_lossy(&output.stderr)))
}

/// What `check` finds by the rule in a recording of the exchange.
fn found(fault: &Fault, dialect: Dialect, folder: &Path) -> Option<Value> {
    let model = model(fault);
    let mut agent = Agent::new((dialect, false));
    if fault.has_schema {
        agent.members = wants_answer(dialect);
    }
    let mut document = String::new();
    for _ in 0..fault.turns {
        let mut client = Client::connect(model.address());
        client.send(&http_body(model.address(), &agent));
        let reply = client.receive(PATIENCE).text();
        let request = agent.request();
        document = format!("{{\"request\":{request},\"response\":{reply}}}");
        let turn = history_of(dialect, &reply).unwrap();
        let turn = turn.iter().map(|text| serde_json::from_str(text).unwrap());
        let turn: Vec<Value> = turn.collect();
        let calls = calls_in(dialect, &turn);
        agent.history.extend(turn);
        calls
            .iter()
            .for_each(|(id, _)| agent.answers(id, fault.tool));
    }
    if fault.tool == DOWN {
        document = agent.request();
    }
    let path = folder.join(format!("{}-{}.json", fault.rule, dialect.word()));
    std::fs::write(&path, document).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_retake"))
        .args(["check", "--format", "json"])
        .arg(&path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let mut lines = said
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.find(|line| line["rule"] == fault.rule)
}

/// The rule finds it, and offers the action.
fn recorded(found: Option<&Value>, verb: &str) -> Cell {
    let Some(line) = found else {
        return Err("not found".to_owned());
    };
    let offers = line["offers"].as_array().cloned().unwrap_or_default();
    let is_offered = offers.iter().any(|offer| {
        let offered = offer["action"].as_str().unwrap_or_default();
        offered == action(verb) || (verb == "drop" && offered == "drop-item")
    });
    match is_offered || matches!(verb, "release" | "raise") {
        true => Ok(()),
        false => Err(format!("not offered: {}", line["offers"])),
    }
}

/// The rows of a fault, and what is wrong in them.
fn rows(fault: &Fault, folder: &Path) -> (String, Vec<String>) {
    let (mut rows, mut wrong) = (String::new(), Vec::new());
    let known = DIALECTS.map(|dialect| (dialect, found(fault, dialect, folder)));
    for verb in fault.verbs {
        let _ = write!(rows, "{:<21} {verb:<9}", fault.rule);
        for way in ways() {
            for mode in MODES {
                let known = known.iter().find(|(dialect, _)| *dialect == way.0);
                let cell = match (excuse(way, mode), mode) {
                    (Some(_), _) => None,
                    (None, "recorded") => {
                        Some(recorded(known.and_then(|(_, found)| found.as_ref()), verb))
                    }
                    (None, "live") => Some(live(fault, verb, way, folder)),
                    (None, _) => Some(proxied(fault, verb, way)),
                };
                rows.push_str(match cell {
                    None => " -",
                    Some(Ok(())) => " +",
                    Some(Err(_)) => " !",
                });
                if let Some(Err(why)) = cell {
                    wrong.push(format!("{} {verb} {way:?} {mode}: {why}", fault.rule));
                }
            }
        }
        rows.push('\n');
    }
    (rows, wrong)
}

#[test]
fn every_fault_and_every_recovery_mean_the_same_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let all = std::thread::scope(|scope| {
        let threads = FAULTS
            .iter()
            .map(|fault| scope.spawn(|| rows(fault, folder)));
        let threads = threads.collect::<Vec<_>>();
        let rows = threads.into_iter().map(|thread| thread.join().unwrap());
        rows.collect::<Vec<_>>()
    });
    let (rows, wrong): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    let (table, wrong) = (rows.concat(), wrong.concat());
    println!(
        "recorded, live, proxied: Responses, Chat, Anthropic, each whole and streamed\n{table}"
    );
    let cells = ways().flat_map(|way| MODES.map(|mode| excuse(way, mode)));
    for why in cells.flatten().collect::<BTreeSet<_>>() {
        println!("-: {why}");
    }
    assert!(wrong.is_empty(), "{table}{}", wrong.join("\n"));
}
