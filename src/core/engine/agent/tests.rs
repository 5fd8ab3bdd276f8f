//! Agent files as their authors write them, and what is told about those that cannot be used.

use super::*;
use crate::session::Tool;
use serde_json::json;
use std::cell::RefCell;

const EXAMPLE: &str = include_str!("example.toml");

/// The files beside an agent file.
fn beside(name: &str) -> Result<String, String> {
    match name {
        "policy.toml" => {
            Ok("max_turns = 8\n[breaker]\nwebhook = \"https://ops.example.org/hook\"".to_owned())
        }
        "seat_map.json" => {
            Ok(r#"{"type":"object","properties":{"flight":{"type":"string"}}}"#.to_owned())
        }
        "list.json" => Ok("[]".to_owned()),
        "broken.json" => Ok("{\"type\":".to_owned()),
        "broken.toml" => Ok("[on.unknwon-tool]\ndo = \"inject\"".to_owned()),
        "model.toml" => Ok("a script".to_owned()),
        _ => Err("no such file or folder".to_owned()),
    }
}

fn parse(text: &str) -> Result<Agent, ConfigErrors> {
    let (mut file, wording) = (beside, |_, _: &str| None);
    Agent::parse(
        text,
        Beside {
            file: &mut file,
            wording: &wording,
        },
    )
}

fn faults(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

/// A sound beginning of a file, five lines of it.
fn begun(rest: &str) -> String {
    format!("name = \"a\"\ninput = \"hi\"\n[model]\ndialect = \"chat\"\nname = \"m\"\n{rest}")
}

#[test]
fn every_key_of_an_agent_file_is_read() {
    let agent = parse(EXAMPLE).unwrap();
    assert_eq!(agent.turn_limit(), Some(8));
    insta::assert_debug_snapshot!((&agent.name, &agent.model, &agent.tools, &agent.servers));
}

#[test]
fn the_example_holds_every_key_but_those_that_exclude_others() {
    let excluded = ["policy", "output_schema_file", "script"];
    for table in AGENT_TABLES {
        for key in table.keys {
            let is_there = [" = ", "]", "."].iter().any(|end| {
                let with = format!("{}{end}", key.name);
                EXAMPLE.contains(&with)
            });
            let is_excluded = excluded.contains(&key.name);
            assert!(is_there || is_excluded, "{} {}", table.place, key.name);
        }
    }
}

#[test]
fn what_an_agent_may_do_is_told_in_plain_lines() {
    let agent = parse(EXAMPLE).unwrap();
    let lines = agent.powers().into_iter();
    let lines = lines.map(|power| power.to_string()).collect::<Vec<_>>();
    insta::assert_snapshot!(lines.join("\n"));
    let asks = agent.model.power().unwrap();
    let asks = asks.marking_unset(|name| name == "TRAVEL_KEY").to_string();
    assert!(
        asks.ends_with("$TRAVEL_KEY, $TRAVEL_TOKEN (not set)"),
        "{asks}"
    );
    assert!(agent.needs_confirmation());
}

#[test]
fn an_agent_of_script_and_canned_answers_needs_no_confirmation() {
    let agent = parse(
        "name = \"demo\"\ninput = \"hi\"\n[model]\ndialect = \"anthropic\"\nscript = \"model.toml\"\n\
         [[tools]]\nname = \"look\"\ncanned = \"nothing\"\n[[tools]]\nname = \"boss\"\nask = true\n\
         [[tools]]\nname = \"before\"\nrecorded = \"monday.jsonl\"\n",
    );
    let agent = agent.unwrap();
    assert!(!agent.needs_confirmation());
    assert!(agent.model.is_scripted());
    assert_eq!(agent.model.name, "scripted");
    let powers = agent.powers();
    let [only] = &powers[..] else {
        panic!("{powers:?}");
    };
    assert_eq!(
        only.to_string(),
        "answers calls of the tool before from the recording monday.jsonl"
    );
}

#[test]
fn a_model_without_an_address_is_the_providers_own_with_its_usual_key() {
    let agent = parse(&begun("")).unwrap();
    let ModelEndpoint::Http {
        base_url, key_env, ..
    } = &agent.model.at
    else {
        panic!("{:?}", agent.model);
    };
    assert_eq!(base_url, "https://api.openai.com/v1");
    assert_eq!(key_env.as_deref(), Some("OPENAI_API_KEY"));
    // A key goes nowhere by itself.
    let local = parse(&begun("base_url = \"http://127.0.0.1:8080/v1/\"")).unwrap();
    let ModelEndpoint::Http {
        base_url, key_env, ..
    } = &local.model.at
    else {
        panic!("{:?}", local.model);
    };
    assert_eq!(
        (base_url.as_str(), key_env),
        ("http://127.0.0.1:8080/v1", &None)
    );
}

#[test]
fn all_that_is_wrong_is_told_at_once_with_its_line() {
    insta::assert_snapshot!(faults(
        r#"
name = ""
max_turn = 3
max_turns = 0
output_schema = "yes"
policy_file = "broken.toml"

[model]
dialect = "gemini"
timeout = "1 minute"
stream = "yes"
settings = { temperature = nan }

[[tools]]
name = "get weather"
canned = "sun"

[[tools]]
name = "look"

[[tools]]
name = "look"
command = []
ask = true
env = ["HOME"]

[[tools]]
name = "answers"
parameters = { type = "string" }
canned = [{ output = "a" }, { when = { a = 2026-01-01 }, output = "b" }, { error = true }]

[[tools]]
name = "files"
parameters_file = "missing.json"
cwd = "x"
recorded = false

[[mcp]]
name = "neither"
headers = { a = "b" }

[[mcp]]
name = "both"
command = ["uvx"]
url = "https://example.org"
"#
    ));
}

#[test]
fn a_file_that_is_no_toml_is_told_with_the_line() {
    insta::assert_snapshot!(faults("name = \"a\"\nmodel = \n[[tools]\n"));
}

#[test]
fn a_policy_in_the_file_is_told_with_the_lines_of_the_file() {
    let text = begun("[policy]\nmax_turns = 4\n[policy.on.unknown-tool]\ndo = \"injct\"\n");
    insta::assert_snapshot!(faults(&text));
    let sound = begun("[policy]\nmax_turns = 4\n[policy.on.unknown-tool]\ndo = \"inject\"\n");
    assert_eq!(parse(&sound).unwrap().turn_limit(), Some(4));
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let tool = |file| {
        format!("[[tools]]\nname = \"{file}\"\nask = true\nparameters_file = \"{file}.json\"\n")
    };
    let tools = ["list", "broken", "missing"].map(tool).concat();
    insta::assert_snapshot!(faults(&begun(&tools)));
}

#[test]
fn a_key_in_the_file_is_refused_and_never_shown() {
    let secret = "sk-proj-abcdefghijklmnopqrstuvwx0123";
    let places = [
        format!("key_env = \"{secret}\""),
        "key_env = \"aB3dE6gH9jK2mN5pQ8sT1vW4\"".to_owned(),
        "key_env = \"MY KEY\"".to_owned(),
        format!("headers = {{ x-token = \"{secret}\" }}"),
        "headers = { Authorization = \"Bearer hunter2\" }".to_owned(),
        "headers = \"Authorization: Bearer hunter2\"".to_owned(),
        format!("base_url = \"https://example.org/{secret}\""),
        "base_url = \"https://me:hunter2@example.org\"".to_owned(),
        format!("[[mcp]]\nname = \"s\"\nurl = \"https://example.org/?key={secret}\""),
        format!("[[tools]]\nname = \"t\"\ncommand = [\"t\", \"--key={secret}\"]"),
        format!("[[tools]]\nname = \"t\"\ncommand = [\"t\"]\nenv = [\"{secret}\"]"),
    ];
    let told = places.map(|place| faults(&begun(&place)));
    let all = told.join("\n");
    for hidden in [secret, "hunter2", "aB3dE6gH9jK2mN5pQ8sT1vW4"] {
        assert!(!all.contains(hidden), "{all}");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn addresses_that_lead_nowhere_are_refused() {
    let urls = [
        "example.org/v1",
        "ftp://example.org",
        "https://",
        "https://:80/",
        "https://a b",
        "https://a/?q",
        "https://a/#x",
    ];
    let told = urls.map(|url| faults(&begun(&format!("base_url = \"{url}\""))));
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn settings_leave_the_members_of_the_run_alone() {
    let told = faults(&begun(
        "max_tokens = 5\nsettings = { messages = [], stream = true, max_completion_tokens = 3, seed = 1 }",
    ));
    insta::assert_snapshot!(told);
}

#[test]
fn what_is_confirmed_fits_on_one_line() {
    let told = faults(&begun(
        "[[tools]]\nname = \"t\"\ncommand = [\"ls\\n\\u001b[8m\", \"-l\"]\ncwd = \"a\\nb\"",
    ));
    insta::assert_snapshot!(told);
}

#[test]
fn a_tool_has_a_name_that_the_models_provider_takes() {
    let long = "n".repeat(65);
    let tool = format!("[[tools]]\nname = \"{long}\"\nask = true\n");
    assert!(faults(&begun(&tool)).contains("is longer than 64 characters"));
    let responses = begun(&tool).replace("\"chat\"", "\"responses\"");
    assert_eq!(parse(&responses).unwrap().tools.len(), 1);
}

#[test]
fn a_flood_of_faults_is_counted_and_not_told() {
    let keys = (0..5000).map(|number| format!("k{number} = 1\n"));
    let errors = parse(&keys.collect::<String>()).unwrap_err();
    assert_eq!(errors.errors.len(), 50);
    // The missing name and model.
    assert_eq!(errors.more, 5000 + 2 - 50);
}

#[test]
fn a_file_is_read_once_and_only_where_it_is_named() {
    let named = RefCell::new(Vec::new());
    let mut file = |name: &str| {
        named.borrow_mut().push(name.to_owned());
        beside(name)
    };
    let wording = |_, _: &str| None;
    let beside = Beside {
        file: &mut file,
        wording: &wording,
    };
    Agent::parse(EXAMPLE, beside).unwrap();
    assert_eq!(*named.borrow(), ["policy.toml", "seat_map.json"]);
}

#[test]
fn a_canned_answer_fits_where_every_argument_it_names_has_its_value() {
    let canned = Canned {
        when: json!({"row": 12, "flight": "SK1"})
            .as_object()
            .unwrap()
            .clone(),
        output: String::new(),
        is_error: false,
    };
    assert!(canned.fits(&json!({"flight": "SK1", "row": 12.0, "more": true})));
    assert!(!canned.fits(&json!({"flight": "SK1"})));
    assert!(!canned.fits(&json!({"flight": "SK1", "row": "12"})));
    assert!(!canned.fits(&json!(["SK1", 12])));
}

#[test]
fn the_first_request_offers_the_tools_of_the_file_and_of_its_servers() {
    let agent = parse(EXAMPLE).unwrap();
    let mut tools = agent.offered();
    let mut of_server: Tool = tools[0].tool.clone();
    of_server.name = "find_event".to_owned();
    tools.push(Offered {
        tool: of_server,
        strict: None,
    });
    let body = agent.first_request(&tools).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let names = body["tools"].as_array().unwrap().iter();
    let names = names.map(|tool| tool["name"].as_str().unwrap());
    let expected = [
        "search_flights",
        "seat_map",
        "ask_manager",
        "rates",
        "find_event",
    ];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    assert_eq!(body["max_output_tokens"], 2000);
    assert_eq!(body["text"]["verbosity"], "low");
    assert_eq!(body["text"]["format"]["schema"]["required"][0], "booking");
    // Laid over it once more, nothing changes but that the reply comes as a stream.
    let first = agent.first_request(&tools).unwrap();
    let sent = agent.model.wire_request(&first).unwrap();
    let expected = String::from_utf8(first).unwrap();
    let before = expected.strip_suffix("}\n").unwrap();
    let sent = String::from_utf8(sent).unwrap();
    assert_eq!(sent, format!("{before},\n\"stream\":true}}\n"));
}

#[test]
fn openai_itself_is_told_the_limit_under_its_newer_name() {
    let limited = |rest: &str| {
        let agent = parse(&begun(&format!("max_tokens = 7\n{rest}"))).unwrap();
        let body = agent.first_request(&[]).unwrap();
        String::from_utf8(body).unwrap()
    };
    assert!(limited("").contains("\"max_completion_tokens\":7"));
    let local = "base_url = \"http://127.0.0.1/v1\"";
    assert!(limited(local).contains("\"max_tokens\":7"));
}

#[test]
fn the_tables_of_keys_are_written_from_the_keys() {
    let tables = AGENT_TABLES.map(|keys| format!("{}\n\n{}", keys.place, keys.markdown()));
    insta::assert_snapshot!(tables.join("\n"));
}

#[test]
fn the_base_url_of_gemini_tells_whether_chat_is_spoken_there() {
    let spoken = |base_url: &str| {
        let text = begun(base_url).replace("\"chat\"", "\"gemini\"");
        parse(&text).unwrap().model.dialect.word()
    };
    assert_eq!(spoken(""), "gemini");
    assert_eq!(spoken("base_url = \"https://host/v1beta\"\n"), "gemini");
    assert_eq!(
        spoken("base_url = \"https://host/v1beta/openai\"\n"),
        "chat"
    );
}
