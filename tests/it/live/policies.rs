//! What a policy says is done in live runs: every word about every rule, in every dialect, and never without end.

use super::{Stage, Told};
use retake_core::rules::RULES;
use retake_core::wording::VERBS;
use std::fmt::Write;

const DIALECTS: [&str; 3] = ["responses", "chat", "anthropic"];

const TOOLS: &str = r#"
[[tools]]
name = "look"
canned = [{ when = { id = 13 }, output = "db down", error = true }, { output = "Ann" }]
[tools.parameters]
type = "object"
required = ["id"]
properties.id = { type = "integer" }
"#;

const SCHEMA: &str = "output_schema = { type = \"object\", required = [\"name\"], properties = { name = { type = \"string\" } } }\n";

/// How a rule comes up in a run: what the first reply says, how often it is said again, and what stands at the top of the agent file.
struct Fault {
    rule: &'static str,
    says: &'static str,
    replies: u32,
    head: &'static str,
}

const fn fault(rule: &'static str, says: &'static str) -> Fault {
    Fault {
        rule,
        says,
        replies: 1,
        head: "",
    }
}

const FAULTS: &[Fault] = &[
    fault(
        "unknown-tool",
        "calls = [{ name = \"loook\", arguments = { id = 7 } }]",
    ),
    fault(
        "malformed-arguments",
        "calls = [{ name = \"look\", arguments = '{\"id\": 7,}' }]",
    ),
    fault(
        "invalid-arguments",
        "calls = [{ name = \"look\", arguments = { id = \"x\" } }]",
    ),
    fault(
        "duplicate-argument-key",
        "calls = [{ name = \"look\", arguments = '{\"id\": 7, \"id\": 8}' }]",
    ),
    fault(
        "duplicate-call-id",
        "calls = [{ name = \"look\", id = \"c1\", arguments = { id = 7 } }, { name = \"look\", id = \"c1\", arguments = { id = 8 } }]",
    ),
    fault(
        "invalid-tool-name",
        "calls = [{ name = \"look up\", arguments = { id = 7 } }]",
    ),
    fault(
        "truncated-response",
        "finish = \"length\"\ncalls = [{ name = \"look\", arguments = '{\"id\": ' }]",
    ),
    fault("refused", "refusal = \"No.\""),
    fault(
        "leaked-tool-call",
        "text = '<tool_call>{\"name\": \"look\", \"arguments\": {\"id\": 7}}</tool_call>'",
    ),
    Fault {
        rule: "invalid-final-output",
        says: "text = 'Ann'",
        replies: 1,
        head: SCHEMA,
    },
    Fault {
        rule: "missing-final-output",
        says: "text = ''",
        replies: 1,
        head: SCHEMA,
    },
    fault(
        "tool-error",
        "calls = [{ name = \"look\", arguments = { id = 13 } }]",
    ),
    Fault {
        rule: "failing-tool",
        says: "calls = [{ name = \"look\", arguments = { id = 13 } }]",
        replies: 3,
        head: "",
    },
    Fault {
        rule: "repeated-call",
        says: "calls = [{ name = \"look\", arguments = { id = 7 } }]",
        replies: 3,
        head: "",
    },
    Fault {
        rule: "turn-limit",
        says: "calls = [{ name = \"look\", arguments = { id = 7 } }]",
        replies: 1,
        head: "max_turns = 1\n",
    },
];

/// Rules that no reply of a model breaks: they come up in requests, which the proxy holds, and in histories that a run goes on from.
const OF_REQUESTS: &[&str] = &[
    "orphan-call",
    "pending-call",
    "orphan-output",
    "misplaced-output",
    "duplicate-output",
    "missing-call-id",
    "malformed-message",
    "orphan-reasoning",
    "split-pair",
    "assistant-prefill",
    "missing-signature",
    "image-limits",
    "invalid-tool-definition",
    "provider-error",
    "orphan-hosted-result",
    "stop-reason-mismatch",
    "broken-chain",
];

/// The words that a policy takes about a rule, as it tells them itself.
fn words(rule: &str) -> Vec<&'static str> {
    let takes = |word: &&str| {
        let value = if *word == "fallback" {
            "value = '{\"name\":\"nobody\"}'\n"
        } else {
            ""
        };
        let text = format!("[on.{rule}]\ndo = \"{word}\"\n{value}");
        retake_core::engine::Policy::parse(&text).is_ok()
    };
    VERBS.iter().map(|verb| verb.word).filter(takes).collect()
}

fn run(fault: &Fault, (dialect, stream): (&str, bool), policy: &str, again: &str) -> Told {
    let stage = Stage::new();
    let Fault {
        says,
        replies,
        head,
        ..
    } = fault;
    let mut script = String::new();
    for turn in 1..=*replies {
        write!(script, "[[rule]]\nturn = {turn}\n{again}\n{says}\n").unwrap();
    }
    script.push_str("[[rule]]\ntext = '{\"name\":\"Ann\"}'\n");
    stage.write("agent.script.toml", &script);
    let agent = format!(
        "name = \"story\"\ninput = \"Begin.\"\n{head}[model]\ndialect = \"{dialect}\"\nstream = {stream}\nscript = \"agent.script.toml\"\n{TOOLS}"
    );
    let agent = stage.write("agent.toml", &agent);
    stage.run_by(&agent, policy)
}

/// What a word came to, where it came to something: the action that was decided, or how the run ended.
fn done(told: &Told, rule: &str, word: &str) -> Result<String, String> {
    let decided = told.of_type("decision").into_iter();
    let mut decided = decided.filter(|line| line["rule"] == rule && line["by"] == "policy");
    let action = decided.next().map(|line| line["action"].as_str().unwrap());
    let wanted: &[&str] = match word {
        "inject" => &["inject-error"],
        "suggest" => &["take-suggestion"],
        "repair" => &["repair-arguments", "sanitise-name"],
        "retry" => &["retry"],
        "fallback" => &["fallback"],
        "drop" => &["drop-pair", "drop-item"],
        "release" => &["release"],
        "raise" => &["raise"],
        "ask" => {
            let ending = if rule == "turn-limit" {
                "turn-limit"
            } else {
                "unattended"
            };
            return match (told.how() == ending, told.code) {
                (true, 1) => Ok(ending.to_owned()),
                _ => Err(told.out.clone()),
            };
        }
        word => panic!("{word} is new: say here what it comes to"),
    };
    let ended = (told.how(), told.code);
    let is_done = action.is_some_and(|action| wanted.contains(&action))
        && told.of_type("refused").is_empty()
        && (word != "raise" || ended == ("raised", 1));
    match is_done {
        true => Ok(format!("{}, {}", action.unwrap_or_default(), ended.0)),
        false => Err(told.out.clone()),
    }
}

/// An empty reply of Anthropic holds no block, so nothing that a history could hold; it ends the run as a reply that cannot be used.
fn does_not_apply(rule: &str, dialect: &str) -> bool {
    (rule, dialect) == ("missing-final-output", "anthropic")
}

#[test]
fn every_word_that_a_policy_takes_does_something_in_every_dialect() {
    for rule in RULES.iter().filter(|rule| rule.id != "run-failed") {
        let is_known = FAULTS.iter().any(|fault| fault.rule == rule.id);
        assert!(
            is_known || OF_REQUESTS.contains(&rule.id),
            "{}: say how it comes up in a run, or that it does not",
            rule.id
        );
    }
    let columns = std::thread::scope(|scope| {
        let columns = DIALECTS.map(|dialect| {
            scope.spawn(move || {
                let mut cells = Vec::new();
                for fault in FAULTS {
                    for (number, word) in words(fault.rule).into_iter().enumerate() {
                        if does_not_apply(fault.rule, dialect) {
                            cells.push((fault.rule, word, Ok("no such reply".to_owned())));
                            continue;
                        }
                        let value = match word {
                            "fallback" => "value = '{\"name\":\"nobody\"}'\n",
                            _ => "",
                        };
                        let policy = format!("[on.{}]\ndo = \"{word}\"\n{value}", fault.rule);
                        let stream = number % 2 == 1;
                        let told = run(fault, (dialect, stream), &policy, "attempt = 1");
                        cells.push((fault.rule, word, done(&told, fault.rule, word)));
                    }
                }
                cells
            })
        });
        columns.map(|column| column.join().unwrap())
    });
    let [responses, chat, anthropic] = columns;
    let mut wrong = String::new();
    println!("| rule | do | responses | chat | anthropic |\n|---|---|---|---|---|");
    for ((one, two), three) in responses.iter().zip(&chat).zip(&anthropic) {
        let cell = |cell: &Result<String, String>| match cell {
            Ok(done) => done.clone(),
            Err(_) => "NOTHING".to_owned(),
        };
        let cells = [&one.2, &two.2, &three.2].map(cell).join(" | ");
        println!("| {} | {} | {cells} |", one.0, one.1);
        for out in [one, two, three] {
            if let Err(out) = &out.2 {
                write!(wrong, "{} {}:\n{out}\n", one.0, one.1).unwrap();
            }
        }
    }
    for rule in OF_REQUESTS {
        println!(
            "| {rule} | {} | in requests only |||",
            words(rule).join(", ")
        );
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn no_policy_asks_the_model_more_often_than_the_turns_allow() {
    let loops = [
        ("unknown-tool", "do = \"drop\""),
        ("malformed-arguments", "do = \"drop\""),
        ("invalid-arguments", "do = \"drop\""),
        ("truncated-response", "do = \"drop\""),
        ("duplicate-call-id", "do = \"drop\""),
        ("invalid-tool-name", "do = \"drop\""),
        ("unknown-tool", "do = \"retry\"\ntimes = 9999"),
        ("refused", "do = \"retry\"\ntimes = 9999"),
        (
            "leaked-tool-call",
            "do = \"retry\"\ntimes = 9999\nwording = \"Call it as a tool, please.\"",
        ),
        ("unknown-tool", "do = \"inject\""),
    ];
    for dialect in DIALECTS {
        for (rule, entry) in loops {
            let fault = FAULTS.iter().find(|fault| fault.rule == rule).unwrap();
            let endless = Fault {
                head: "max_turns = 3\n",
                replies: 4,
                ..*fault
            };
            let policy = format!("[on.{rule}]\n{entry}\n");
            let told = run(&endless, (dialect, false), &policy, "");
            let ended = (told.how(), told.of_type("asked").len());
            let what = format!("{dialect} {rule} {entry}: {}", told.out);
            assert_eq!((ended, told.code), (("turn-limit", 3), 1), "{what}");
        }
    }
}

#[test]
fn a_run_without_a_limit_of_its_own_ends_all_the_same() {
    let fault = &FAULTS[0];
    let endless = Fault {
        replies: 1,
        ..*fault
    };
    let told = run(
        &endless,
        ("chat", false),
        "[on.unknown-tool]\ndo = \"drop\"\n",
        "",
    );
    assert_eq!(
        (told.how(), told.of_type("asked").len()),
        ("turn-limit", 100)
    );
}

#[test]
fn at_the_turn_limit_a_fallback_is_the_result_and_retry_grants_turns() {
    for dialect in DIALECTS {
        let limited = |head, replies| Fault {
            rule: "turn-limit",
            says: "calls = [{ name = \"look\", arguments = { id = 7 } }]",
            replies,
            head,
        };
        let fault = limited("max_turns = 2\n", 2);
        let policy = "[on.turn-limit]\ndo = \"fallback\"\nvalue = \"out of time\"\n";
        let told = run(&fault, (dialect, true), policy, "");
        let ended = (told.how(), told.code, told.output());
        assert_eq!(ended, ("fallback", 0, "out of time"), "{}", told.out);
        assert_eq!(told.decided(), ["fallback"]);
        // One that breaks the output schema is refused, and the run ends at its limit.
        let strict = Fault {
            head: "max_turns = 2\noutput_schema = { type = \"object\", required = [\"name\"] }\n",
            ..fault
        };
        let told = run(&strict, (dialect, true), policy, "");
        assert_eq!((told.how(), told.code), ("turn-limit", 1), "{}", told.out);
        assert_eq!(told.of_type("refused").len(), 1);
        let fault = limited("max_turns = 2\n", 3);
        let policy = "[on.turn-limit]\ndo = \"retry\"\ntimes = 2\nwording = \"Come to an end.\"\n";
        let told = run(&fault, (dialect, false), policy, "");
        assert_eq!((told.how(), told.code), ("final", 0), "{}", told.out);
        assert_eq!(told.decided(), ["retry", "retry"]);
        assert_eq!(told.of_type("decision")[0]["wording"], "Come to an end.");
        let fault = limited("max_turns = 2\n", 9);
        let told = run(
            &fault,
            (dialect, false),
            &policy.replace("wording = \"Come to an end.\"\n", ""),
            "",
        );
        assert_eq!(
            (told.how(), told.of_type("asked").len()),
            ("turn-limit", 4),
            "{}",
            told.out
        );
    }
}

#[test]
fn a_refused_action_is_told_as_refused_and_goes_on_with_otherwise() {
    let unlike = Fault {
        says: "calls = [{ name = \"zzz\", arguments = { id = 7 } }]",
        ..FAULTS[0]
    };
    let empty = Fault {
        rule: "malformed-arguments",
        says: "calls = [{ name = \"look\", arguments = '<<<' }]",
        ..FAULTS[0]
    };
    // The tool would not take what can be read of them.
    let cut = Fault {
        says: "calls = [{ name = \"look\", arguments = '{\"id\": ' }]",
        ..empty
    };
    for dialect in DIALECTS {
        for (fault, word, action) in [
            (&unlike, "suggest", "take-suggestion"),
            (&empty, "repair", "repair-arguments"),
            (&cut, "repair", "repair-arguments"),
        ] {
            let rule = fault.rule;
            let policy = |rest: &str| format!("[on.{rule}]\ndo = \"{word}\"\n{rest}\n");
            let told = run(
                fault,
                (dialect, false),
                &policy("otherwise = \"inject\""),
                "",
            );
            assert_eq!(
                (told.how(), told.code),
                ("final", 0),
                "{dialect} {}",
                told.out
            );
            assert_eq!(told.decided(), ["inject-error"]);
            let refused = told.of_type("refused");
            assert_eq!(refused.len(), 1);
            assert_eq!(
                (&refused[0]["rule"], &refused[0]["action"]),
                (&rule.into(), &action.into())
            );
            assert!(!refused[0]["why"].as_str().unwrap().is_empty());
            let told = run(
                fault,
                (dialect, false),
                &policy("otherwise = \"raise\""),
                "",
            );
            assert_eq!((told.how(), told.code), ("raised", 1), "{}", told.out);
            // What comes after it and is refused as well is the operator's.
            let told = run(
                fault,
                (dialect, false),
                &policy(&format!("otherwise = \"{word}\"")),
                "",
            );
            assert_eq!((told.how(), told.code), ("unattended", 1), "{}", told.out);
            assert_eq!(
                (told.of_type("refused").len(), told.decided().len()),
                (2, 0)
            );
        }
    }
}

#[test]
fn a_repair_that_breaks_the_schema_is_made_where_an_entry_says_what_is_done_then() {
    let cut = Fault {
        rule: "malformed-arguments",
        says: "calls = [{ name = \"look\", arguments = '{\"id\": ' }]",
        ..FAULTS[0]
    };
    for dialect in DIALECTS {
        let policy =
            "[on.malformed-arguments]\ndo = \"repair\"\n[on.invalid-arguments]\ndo = \"inject\"\n";
        let told = run(&cut, (dialect, false), policy, "");
        assert_eq!((told.how(), told.code), ("final", 0), "{}", told.out);
        assert_eq!(told.decided(), ["repair-arguments", "inject-error"]);
    }
}

/// Names that providers refuse in a history, as models make them up.
const REFUSED_NAMES: [&str; 4] = ["functions.foo", "get balance", "look:0", "web/search"];

#[test]
fn a_call_whose_name_the_provider_refuses_is_answered_and_the_run_goes_on() {
    for dialect in DIALECTS {
        for (number, name) in REFUSED_NAMES.into_iter().enumerate() {
            let says = format!("calls = [{{ name = \"{name}\", arguments = {{ id = 7 }} }}]");
            let fault = Fault {
                says: says.leak(),
                ..FAULTS[0]
            };
            let way = (dialect, number % 2 == 1);
            let told = run(&fault, way, "[on.unknown-tool]\ndo = \"inject\"\n", "");
            let what = format!("{dialect} {name}: {}", told.out);
            assert_eq!((told.how(), told.code), ("final", 0), "{what}");
            assert_eq!(told.decided(), ["inject-error"], "{what}");
            let found = told.of_type("finding").into_iter();
            let rules: Vec<_> = found.map(|line| line["rule"].clone()).collect();
            assert!(rules.contains(&"unknown-tool".into()), "{what}");
            let (code, out, _) = Stage::new().told(&["check", told.journal().to_str().unwrap()]);
            assert!(!out.contains("invalid-tool-name"), "{what}{code}{out}");
        }
    }
}

#[test]
fn a_call_that_a_policy_answered_is_no_failure_of_its_tool_in_any_dialect() {
    let stage = Stage::new();
    let call = |id: &str| format!("calls = [{{ name = \"look\", arguments = {{ id = {id} }} }}]\n");
    let mut script = String::new();
    for (number, id) in (1..).zip(["13", "13", "'x'", "13", "13"]) {
        write!(script, "[[rule]]\nturn = {number}\n{}", call(id)).unwrap();
    }
    script.push_str("[[rule]]\ntext = \"Done.\"\n");
    stage.write("agent.script.toml", &script);
    let policy = "[breaker]\nthreshold = 0\n[on.invalid-arguments]\ndo = \"inject\"\nwording = \"Not like that.\"\n";
    for dialect in DIALECTS {
        let agent = format!(
            "name = \"story\"\ninput = \"Begin.\"\n[model]\ndialect = \"{dialect}\"\nscript = \"agent.script.toml\"\n{TOOLS}"
        );
        let agent = stage.write("agent.toml", &agent);
        let told = stage.run_by(&agent, policy);
        assert_eq!((told.how(), told.code), ("final", 0), "{}", told.out);
        let failing = told.of_type("finding").into_iter();
        let failing = failing.filter(|line| line["rule"] == "failing-tool");
        let said: Vec<&str> = failing
            .map(|line| line["message"].as_str().unwrap())
            .collect();
        assert_eq!(
            said,
            [
                "look failed 3 times in a row; last: db down",
                "look failed 4 times in a row; last: db down"
            ],
            "{dialect}: {}",
            told.out
        );
    }
}

#[test]
fn the_end_and_health_name_the_same_class_of_an_error() {
    let stage = Stage::new();
    let tools = "[[tools]]\nname = \"look\"\ncanned = [{ when = { id = 1 }, output = \"Error: connection refused\", error = true }, \
                 { when = { id = 2 }, output = \"Error: no row\\nPermission denied\", error = true }]\n\
                 [tools.parameters]\ntype = \"object\"\nproperties.id = { type = \"integer\" }\n";
    stage.write(
        "agent.script.toml",
        "[[rule]]\nturn = 1\ncalls = [{ name = \"look\", arguments = { id = 1 } }, { name = \"look\", arguments = { id = 2 } }]\n[[rule]]\ntext = \"Done.\"\n",
    );
    for dialect in DIALECTS {
        let agent = format!(
            "name = \"story\"\ninput = \"Begin.\"\n[model]\ndialect = \"{dialect}\"\nscript = \"agent.script.toml\"\n{tools}"
        );
        let agent = stage.write("agent.toml", &agent);
        let told = stage.run(&agent, &[]);
        let errors = told.end()["errors"].as_array().unwrap().iter();
        let classes: Vec<&str> = errors
            .map(|error| error["class"].as_str().unwrap())
            .collect();
        assert_eq!(
            classes,
            ["connection", "permission"],
            "{dialect}: {}",
            told.out
        );
        let journal = told.journal();
        let (_, health, _) = stage.told(&["health", journal.to_str().unwrap(), "--format", "json"]);
        let tool: serde_json::Value = serde_json::from_str(health.lines().next().unwrap()).unwrap();
        let expected = serde_json::json!({"connection": 1, "permission": 1});
        assert_eq!(tool["classes"], expected, "{dialect}: {health}");
    }
}

#[test]
fn every_call_of_a_turn_that_uses_an_id_again_is_dropped() {
    let thrice = Fault {
        rule: "duplicate-call-id",
        says: "calls = [{ name = \"look\", id = \"c1\", arguments = { id = 7 } }, { name = \"look\", id = \"c1\", arguments = { id = 7 } }, \
               { name = \"look\", id = \"c1\", arguments = { id = 8 } }]",
        ..FAULTS[0]
    };
    for dialect in DIALECTS {
        let policy = "[on.duplicate-call-id]\ndo = \"drop\"\n";
        let told = run(&thrice, (dialect, false), policy, "");
        assert_eq!(
            (told.how(), told.code),
            ("final", 0),
            "{dialect} {}",
            told.out
        );
        assert_eq!(told.decided(), ["drop-pair", "drop-pair"]);
        assert_eq!(told.of_type("finished").len(), 1, "{dialect} {}", told.out);
    }
}

#[test]
fn what_can_never_be_done_is_refused_with_its_line_when_the_file_is_read() {
    let stage = Stage::new();
    stage.write("agent.script.toml", "[[rule]]\ntext = \"Done.\"\n");
    let head = "name = \"story\"\ninput = \"Begin.\"\n[model]\ndialect = \"chat\"\nscript = \"agent.script.toml\"\n";
    for (rule, word) in [
        ("tool-error", "retry"),
        ("failing-tool", "retry"),
        ("run-failed", "raise"),
    ] {
        let entry = format!("[policy.on.{rule}]\ndo = \"{word}\"\n");
        let agent = stage.write("agent.toml", &format!("{head}{entry}"));
        let told = Told::of(&mut stage.run_command(&agent, &[]));
        assert_eq!(told.code, 2, "{}", told.out);
        let line = if rule == "run-failed" {
            "agent.toml:6:"
        } else {
            "agent.toml:7:"
        };
        assert!(
            told.err.contains(line) && told.err.contains(rule),
            "{}",
            told.err
        );
    }
}

#[test]
fn under_an_output_schema_nothing_but_an_output_ends_a_run_as_final() {
    let replies = [
        "text = ''",
        "refusal = \"No.\"",
        "finish = \"length\"\ntext = '{\"name\":\"An'",
        "finish = \"length\"\ntext = '{\"name\":\"Ann\"}'",
        "finish = \"content_filter\"\ntext = '{\"name\":'",
    ];
    for dialect in DIALECTS {
        for (number, says) in replies.into_iter().enumerate() {
            let fault = Fault {
                rule: "",
                says,
                replies: 1,
                head: SCHEMA,
            };
            let told = run(&fault, (dialect, number % 2 == 0), "", "");
            assert!(
                told.how() != "final" && told.code != 0,
                "{dialect} {says}: {}",
                told.out
            );
        }
    }
}

#[test]
fn errors_of_tools_are_tool_errors_whatever_the_dialect() {
    for dialect in DIALECTS {
        let fault = FAULTS
            .iter()
            .find(|fault| fault.rule == "failing-tool")
            .unwrap();
        let told = run(
            fault,
            (dialect, false),
            "[on.tool-error]\ndo = \"raise\"\n",
            "",
        );
        assert_eq!(
            (told.how(), told.code),
            ("raised", 1),
            "{dialect} {}",
            told.out
        );
        // Three errors, and the breaker that opens refuses the fourth call.
        let longer = Fault {
            replies: 4,
            ..*fault
        };
        let stage = Stage::new();
        let told = run(&longer, (dialect, false), "", "");
        assert_eq!(told.how(), "final", "{}", told.out);
        let found = told.found();
        assert_eq!(
            found.iter().filter(|rule| **rule == "tool-error").count(),
            4,
            "{}",
            told.out
        );
        assert!(found.contains(&"failing-tool"), "{}", told.out);
        let end = told.end();
        assert_eq!(end["calls"], 4);
        let errors = end["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 4);
        assert_eq!(
            (&errors[0]["tool"], &errors[0]["text"]),
            (&"look".into(), &"db down".into())
        );
        assert_eq!(errors[3]["class"], "switched off");
        assert!(
            errors[3]["text"]
                .as_str()
                .unwrap()
                .contains("the last time with \"db down\""),
            "{end}"
        );
        drop(stage);
    }
}

#[test]
fn a_structured_output_that_is_written_as_a_call_is_its_own_output() {
    let schema = "output_schema = { type = \"object\", required = [\"name\"], properties = { name = { type = \"string\" } } }\n";
    for dialect in DIALECTS {
        let fault = |says| Fault {
            rule: "invalid-arguments",
            says,
            replies: 1,
            head: schema,
        };
        let sound =
            fault("calls = [{ name = \"json_tool_call\", arguments = { name = \"Ann\" } }]");
        let told = run(&sound, (dialect, false), "", "");
        assert_eq!(
            (told.how(), told.code),
            ("final", 0),
            "{dialect} {}",
            told.out
        );
        assert_eq!(told.of_type("finished")[0]["output"], "{\"name\":\"Ann\"}");
        let broken = fault("calls = [{ name = \"json_tool_call\", arguments = { name = 7 } }]");
        let told = run(&broken, (dialect, false), "", "");
        assert_eq!(
            (told.how(), told.code),
            ("unattended", 1),
            "{dialect} {}",
            told.out
        );
        let policy = "[on.invalid-arguments]\ndo = \"inject\"\nwording = \"{% for one in violations %}{{ one.pointer }}{% endfor %}\"\n";
        let told = run(&broken, (dialect, false), policy, "");
        assert_eq!(
            (told.how(), told.code),
            ("final", 0),
            "{dialect} {}",
            told.out
        );
    }
}
