//! What specs say, and what they are told when they say it wrong.

use super::{Added, Assertion, Named, Spec, Wanted, Which};
use crate::config::ConfigErrors;
use crate::engine::agent::{AgentModel, Beside, Header, ModelEndpoint};
use crate::lab::{Caps, Stop};
use crate::rules::RULES;
use crate::session::Dialect;
use crate::wording::Channel;
use proptest::prelude::*;
use proptest::{collection, option};

const AGENT: &str = "name = \"desk\"\n[model]\ndialect = \"chat\"\nscript = \"desk.script.toml\"\n";

fn file(name: &str) -> Result<String, String> {
    match name {
        "agents/desk.toml" => Ok(AGENT.to_owned()),
        name if name.ends_with(".script.toml") => Ok("a script".to_owned()),
        "model.toml" => Ok("[[rule]]\ntext = \"Done.\"\n".to_owned()),
        _ => Err("no such file".to_owned()),
    }
}

fn parse(text: &str) -> Result<Spec, ConfigErrors> {
    let beside = Beside {
        file: &mut |name| file(name),
        wording: &|_, _| None,
    };
    Spec::parse(text, beside)
}

/// What is wrong with a text.
fn told(text: &str) -> String {
    parse(text).map_or_else(|faults| faults.to_string(), |spec| panic!("{spec:?}"))
}

const LEAST: &str = r#"name = "flights"
[[finding]]
path = "../unknown-tool.json"
[[model]]
dialect = "chat"
script = "a.script.toml"
"#;

const WHOLE: &str = r#"
name = "flights"
samples = 40
concurrency = 2
max_requests = 500
max_tokens = 200000
seed = 7
stop = "clear"
error_rate = 0.01
[[finding]]
path = "../unknown-tool.json"
session = 1
item = 5
rule = "unknown-tool"
meant = "search_flights"
tools = "x.tools.json"
[wordings]
recorded = false
named = ["nearest", "bare"]
[[wordings.add]]
name = "mine"
text = "There is no {{ tool }}."
channel = "user-message"
[[model]]
agent = "agents/desk.toml"
[[model]]
dialect = "responses"
name = "large"
settings = { temperature = 0.5 }
[[assert]]
wording = "nearest"
at_least = 0.8
better_than = "mine"
model = "large"
"#;

#[test]
fn what_is_not_said_is_as_the_help_tells() {
    let spec = parse(LEAST).unwrap();
    assert_eq!((spec.samples, spec.concurrency, spec.seed), (20, 4, 1));
    assert_eq!((spec.stop, spec.caps), (Stop::Never, Caps::default()));
    assert!(spec.wordings.recorded && spec.wordings.named == Named::All);
    assert_eq!(spec.findings[0].path, "../unknown-tool.json");
    assert_eq!(spec.models[0].name, "scripted");
    assert_eq!(spec.assertions, []);
}

#[test]
fn everything_that_can_be_said_is_read() {
    let spec = parse(WHOLE).unwrap();
    assert_eq!((spec.samples, spec.concurrency, spec.seed), (40, 2, 7));
    assert_eq!(spec.stop, Stop::Clear { error_rate: 0.01 });
    assert_eq!(
        spec.caps.requests.zip(spec.caps.tokens),
        Some((500, 200_000))
    );
    let which = &spec.findings[0];
    assert_eq!((which.session, which.item), (Some(1), Some(5)));
    assert_eq!(which.meant.as_deref(), Some("search_flights"));
    assert_eq!(which.tools.as_deref(), Some("x.tools.json"));
    let names = ["nearest", "bare"].map(str::to_owned).to_vec();
    assert_eq!(spec.wordings.named, Named::These(names));
    assert_eq!(spec.wordings.added[0].channel, Channel::UserMessage);
    assert_eq!(spec.models[1].name, "large");
    assert_eq!(spec.assertions[0].at_least, Some(0.8));
    assert_eq!(spec.assertions[0].better_than.as_deref(), Some("mine"));
}

#[test]
fn the_script_of_an_agent_file_is_looked_for_beside_that_file() {
    let spec = parse(WHOLE).unwrap();
    let ModelEndpoint::Script { file, text } = &spec.models[0].at else {
        panic!("{:?}", spec.models[0])
    };
    assert_eq!(
        (file.as_str(), text.as_str()),
        ("agents/desk.script.toml", "a script")
    );
}

#[test]
fn every_fault_has_its_line_and_what_to_do() {
    for (wrong, with) in [
        ("name = \"flights\"", "nam = \"flights\""),
        ("[[finding]]", "sample = 3\n[[finding]]"),
        (
            "[[finding]]",
            "samples = 0\nstop = \"soon\"\nerror_rate = 2\n[[finding]]",
        ),
        ("[[finding]]", "error_rate = 0.05\n[[finding]]"),
        ("[[model]]", "rule = \"unknown-tol\"\n[[model]]"),
        ("[[model]]", "item = -1\n[[model]]"),
        ("[[model]]", "[wordings]\nnamed = \"some\"\n[[model]]"),
        (
            "[[model]]",
            "[[wordings.add]]\nname = \"a\"\ntext = \"{{ tol }}\"\n[[model]]",
        ),
        (
            "[[model]]",
            "[[wordings.add]]\ntext = \"a\"\nchannel = \"eror-output\"\n[[model]]",
        ),
        (
            "[[model]]",
            "[[assert]]\nmodel = 3\nwording = \"a\"\n[[model]]",
        ),
        ("[[model]]", "[[assert]]\natleast = 0.5\n[[model]]"),
        ("dialect = \"chat\"", "dialect = \"chatt\"\nmodell = \"m\""),
        ("a.script.toml", "missing"),
        ("dialect = \"chat\"\nscript", "agent"),
        ("dialect = \"chat\"", "agent = \"agents/desk.toml\""),
        ("[[model]]", "[model]"),
        ("name = \"flights\"", "name = "),
    ] {
        let text = LEAST.replace(wrong, with);
        assert_ne!(text, LEAST);
        insta::with_settings!({description => with, omit_expression => true}, {
            insta::assert_snapshot!(told(&text));
        });
    }
}

#[test]
fn a_script_in_place_of_an_agent_file_is_named_as_one() {
    let (from, _) = LEAST.split_once("dialect").unwrap();
    assert_eq!(
        told(&format!("{from}agent = \"model.toml\"\n")),
        "line 5: `agent`: model.toml is a script of a model, not an agent file: `script = \"model.toml\"` and a \
         `dialect` use it"
    );
}

#[test]
fn an_empty_file_lacks_what_is_needed() {
    let lacks = ["name", "finding", "model"].map(|key| format!("line 1: the file has no `{key}`"));
    assert_eq!(told(""), lacks.join("\n"));
}

#[test]
fn two_wordings_of_one_name_are_told() {
    let twice = "[[wordings.add]]\nname = \"a\"\ntext = \"x\"\n".repeat(2);
    let text = LEAST.replace("[[model]]", &format!("{twice}[[model]]"));
    assert!(told(&text).starts_with("line 8: the name `a` is there already, on line 5"));
}

#[test]
fn a_file_that_is_full_of_faults_tells_fifty() {
    let text = format!("{LEAST}{}", "[[assert]]\n".repeat(60));
    let faults = parse(&text).unwrap_err();
    assert_eq!((faults.errors.len(), faults.more), (50, 70));
}

#[test]
fn a_written_spec_is_readable() {
    insta::assert_snapshot!(parse(WHOLE).unwrap().write().unwrap());
}

#[test]
fn a_spec_that_is_written_is_read_as_the_same() {
    for text in [LEAST, WHOLE] {
        let spec = parse(text).unwrap();
        let written = spec.write().unwrap();
        assert_eq!(parse(&written).unwrap(), spec, "{written}");
    }
}

/// Texts of every kind that a file may hold, quotes and control characters with them.
fn text() -> impl Strategy<Value = String> {
    let awkward = prop_oneof![
        Just("\"\"\" '''\n\\ \t#".to_owned()),
        Just("\n\nfirst".to_owned()),
        Just("\u{7f}\u{1b}[0m\r\n".to_owned()),
        Just("true".to_owned()),
    ];
    prop_oneof!["\\PC{1,20}", awkward]
}

fn which() -> impl Strategy<Value = Which> {
    let numbers = (option::of(1..9_u32), option::of(1..9_u32));
    let texts = (option::of(text()), option::of(text()));
    let rule = option::of(0..RULES.len());
    (text(), numbers, rule, texts).prop_map(|(path, (session, item), rule, (meant, tools))| Which {
        path,
        session,
        item,
        rule: rule.map(|index| RULES[index].id.to_owned()),
        meant,
        tools,
    })
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let named = prop_oneof![
        Just(Named::All),
        collection::vec(text(), 0..3).prop_map(Named::These),
    ];
    let channel = prop_oneof![
        Just(Channel::Output),
        Just(Channel::ErrorOutput),
        Just(Channel::UserMessage),
    ];
    let added = collection::vec(("[a-z \"'\n]{1,20}", channel), 0..3);
    (any::<bool>(), named, added).prop_map(|(recorded, named, added)| {
        let added = added.into_iter().enumerate();
        let added = added.map(|(number, (text, channel))| Added {
            name: format!("mine \"{number}\""),
            text,
            channel,
        });
        Wanted {
            recorded,
            named,
            added: added.collect(),
        }
    })
}

fn model() -> impl Strategy<Value = AgentModel> {
    let script = Just(ModelEndpoint::Script {
        file: "a.script.toml".to_owned(),
        text: "a script".to_owned(),
    });
    let header = |env: Option<String>| Header {
        name: "X-Desk".to_owned(),
        text: if env.is_some() { "Bearer " } else { "7" }.to_owned(),
        env,
    };
    let http = (
        option::of(Just("DESK_KEY".to_owned())),
        option::of(Just("DESK".to_owned())),
    );
    let http = http.prop_map(move |(key_env, env)| ModelEndpoint::Http {
        base_url: "http://127.0.0.1:9/v1".to_owned(),
        key_env,
        headers: vec![header(env)],
    });
    let dialect = prop_oneof![Just(Dialect::Chat), Just(Dialect::Anthropic)];
    let at = prop_oneof![script, http];
    let settings = (any::<f64>(), any::<i64>(), text(), text());
    let limits = (1..9_999_u64, option::of(1..9_u32), any::<bool>());
    (dialect, text(), at, settings, limits).prop_map(|(dialect, name, at, members, limits)| {
        let (rate, whole, key, word) = members;
        let rate = if rate.is_finite() { rate } else { 0.5 };
        let value = serde_json::json!({"rate": rate, "list": [whole, word, {}], key: {"a": true}});
        AgentModel {
            dialect,
            name,
            at,
            stream: limits.2,
            timeout_ms: limits.0,
            max_tokens: limits.1,
            settings: value.as_object().cloned().unwrap_or_default(),
        }
    })
}

fn assertion() -> impl Strategy<Value = Assertion> {
    let rate = 0.001..=1.0_f64;
    (text(), rate, option::of(text()), option::of(text())).prop_map(
        |(wording, at_least, better_than, model)| Assertion {
            wording,
            at_least: Some(at_least),
            better_than,
            model,
        },
    )
}

fn spec() -> impl Strategy<Value = Spec> {
    let numbers = (
        1..u32::MAX,
        1..99_u32,
        any::<u64>(),
        option::of(1e-9..0.5_f64),
    );
    let caps = (option::of(1..u32::MAX), option::of(1..u64::MAX));
    let parts = (
        collection::vec(which(), 1..3),
        wanted(),
        collection::vec(model(), 1..3),
        collection::vec(assertion(), 0..3),
    );
    (text(), numbers, caps, parts).prop_map(|(name, numbers, caps, parts)| Spec {
        name,
        findings: parts.0,
        wordings: parts.1,
        models: parts.2,
        assertions: parts.3,
        samples: numbers.0,
        stop: numbers
            .3
            .map_or(Stop::Never, |error_rate| Stop::Clear { error_rate }),
        caps: Caps {
            requests: caps.0,
            tokens: caps.1,
        },
        concurrency: numbers.1,
        seed: numbers.2,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_spec_that_is_written_is_read_as_the_same(spec in spec()) {
        let text = spec.write().unwrap();
        let read = parse(&text);
        prop_assert_eq!(read.as_ref().map_err(ToString::to_string), Ok(&spec), "{}", text);
    }

    #[test]
    fn no_text_makes_the_reader_stumble(text in "\\PC{0,80}") {
        let _ = parse(&text);
    }
}
