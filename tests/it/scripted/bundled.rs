//! The bundled scripts: each is read, each of its rules is reached, and each story goes as its comments say.

use super::dialogue::{answered, calls, opening, read, text, told};
use retake_core::script::{Script, ScriptRequest, ScriptedFault};
use retake_core::session::{Dialect, Session};
use retake_live::scripted::read_script;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn bundled(name: &str) -> Script {
    read_script(Path::new(&format!("sessions/agents/{name}.script.toml"))).unwrap()
}

/// A conversation with a script, without sockets.
struct Play {
    script: Script,
    request: Value,
    reached: BTreeSet<usize>,
    attempts: BTreeMap<u64, u32>,
}

impl Play {
    fn new(name: &str) -> Self {
        Self {
            script: bundled(name),
            request: opening(
                Dialect::Chat,
                "From New York to Lisbon on 11 May, please.",
                false,
            ),
            reached: BTreeSet::new(),
            attempts: BTreeMap::new(),
        }
    }

    /// Begins anew; what was reached counts.
    fn again(&mut self) -> &mut Self {
        self.request = opening(
            Dialect::Chat,
            "From New York to Lisbon on 11 May, please.",
            false,
        );
        self
    }

    /// The next reply, or what went wrong instead.
    fn ask(&mut self) -> Result<Session, ScriptedFault> {
        let asked =
            ScriptRequest::read(Dialect::Chat, self.request.to_string().as_bytes()).unwrap();
        let attempt = self.attempts.entry(asked.fingerprint()).or_default();
        *attempt += 1;
        let chosen = self.script.choose(&asked, *attempt);
        let (index, rule) =
            chosen.unwrap_or_else(|| panic!("{}", self.script.nothing_fits(&asked)));
        self.reached.insert(index);
        if let Some(fault) = &rule.answer.fault {
            return Err(fault.clone());
        }
        let reply = self.script.answer(rule, &asked).unwrap();
        Ok(read(reply.spell(Dialect::Chat).as_bytes()))
    }

    /// The tools that the next reply calls; each gets this output.
    fn calls(&mut self, output: &str) -> Vec<String> {
        let reply = self.ask().unwrap();
        self.request = answered(&self.request, Dialect::Chat, &reply, output);
        calls(&reply).into_iter().map(|(_, name, _)| name).collect()
    }

    /// What the next reply says.
    fn says(&mut self) -> String {
        let reply = self.ask().unwrap();
        assert!(calls(&reply).is_empty());
        text(&reply)
    }

    #[track_caller]
    fn reached_all(&self) {
        let missed = self.script.rules.iter().enumerate();
        let missed = missed.filter(|(index, _)| !self.reached.contains(index));
        let missed = missed.map(|(_, rule)| rule.line).collect::<Vec<_>>();
        assert!(
            missed.is_empty(),
            "{}: no story reaches the rules in lines {missed:?}",
            self.script.name
        );
    }
}

const BARE: &str = "There is no tool named \"serch_flights\".";
const NEAREST: &str = "There is no tool named \"serch_flights\". Did you mean search_flights?";

#[test]
fn a_misspelled_tool_is_set_right_only_by_an_error_that_names_the_right_one() {
    let mut play = Play::new("flights");
    assert_eq!(play.calls(NEAREST), ["serch_flights"]);
    assert_eq!(play.calls("Error: timed out"), ["search_flights"]);
    assert_eq!(play.calls("TP 204 at 18:25"), ["search_flights"]);
    assert!(
        play.says()
            .ends_with("This is what there is:\nTP 204 at 18:25")
    );

    play.again();
    for _ in 0..4 {
        assert_eq!(play.calls(BARE), ["serch_flights"]);
    }
    assert!(play.says().starts_with("I am sorry"));
    play.reached_all();
}

#[test]
fn a_bad_call_among_good_ones_is_made_again_alone() {
    let mut play = Play::new("parallel");
    assert_eq!(
        play.calls(NEAREST),
        ["get_weather", "serch_flights", "get_weather"]
    );
    assert_eq!(play.calls("TP 204"), ["search_flights"]);
    assert!(play.says().starts_with("It will be fine"));

    play.again();
    assert_eq!(play.calls(BARE).len(), 3);
    assert_eq!(play.calls(BARE), ["serch_flights"]);
    assert_eq!(play.calls(BARE), ["serch_flights"]);
    assert!(play.says().contains("cannot search"));
    play.reached_all();
}

#[test]
fn broken_arguments_are_corrected_field_by_field() {
    let mut play = Play::new("broken-json");
    let cut = play.ask().unwrap();
    let arguments = calls(&cut).remove(0).2;
    assert!(
        serde_json::from_str::<Value>(&arguments).is_err(),
        "{arguments}"
    );
    play.calls("The arguments of \"search_flights\" are not a JSON object.");
    let number = calls(&play.ask().unwrap()).remove(0).2;
    assert!(number.contains("20260511"), "{number}");
    play.calls(
        "The arguments of \"search_flights\" break its schema:\n- /date: 20260511 is not a string",
    );
    let right = calls(&play.ask().unwrap()).remove(0).2;
    assert!(right.contains("\"2026-05-11\""), "{right}");
    play.calls("TP 204 at 18:25");
    assert!(play.says().starts_with("Found it"));

    play.again();
    for _ in 0..3 {
        assert_eq!(
            play.calls("The arguments of \"search_flights\" break its schema."),
            ["search_flights"]
        );
    }
    assert!(play.says().starts_with("I cannot"));
    play.reached_all();
}

#[test]
fn a_wrong_answer_is_corrected_when_the_field_is_named() {
    let mut play = Play::new("final");
    let wrong = serde_json::from_str::<Value>(&play.says()).unwrap();
    assert!(wrong["price"].is_string() && wrong["currency"].is_null());
    let bare = told(
        &play.request,
        Dialect::Chat,
        &wrong.to_string(),
        "Your answer does not have the required form.",
    );
    let named = told(
        &play.request,
        Dialect::Chat,
        &wrong.to_string(),
        "Your answer does not have the required form:\n- /price: is not a number",
    );
    play.request = bare;
    assert_eq!(serde_json::from_str::<Value>(&play.says()).unwrap(), wrong);
    play.request = named;
    let right = serde_json::from_str::<Value>(&play.says()).unwrap();
    assert!(right["price"].is_number() && right["currency"] == "EUR");
    play.reached_all();
}

#[test]
fn a_bad_line_becomes_good_when_it_is_asked_often_enough() {
    let mut play = Play::new("flaky");
    let status = |fault: ScriptedFault| match fault {
        ScriptedFault::Status { status, .. } => status,
        ScriptedFault::Cut { .. } | ScriptedFault::Hang { .. } => 0,
    };
    assert_eq!(
        [(); 3].map(|()| status(play.ask().unwrap_err())),
        [429, 500, 0]
    );
    assert_eq!(play.calls("Sunny, 24 degrees"), ["get_weather"]);
    assert_eq!(
        play.ask().unwrap_err(),
        ScriptedFault::Cut {
            after: 4,
            error: None
        }
    );
    assert_eq!(play.says(), "This is what I found:\nSunny, 24 degrees");
    play.reached_all();
}

#[test]
fn every_bundled_script_is_named_after_its_file_and_has_a_story_here() {
    let told = ["broken-json", "final", "flaky", "flights", "parallel"];
    let mut found = Vec::new();
    for entry in std::fs::read_dir("sessions/agents").unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        if let Some(name) = file.strip_suffix(".script.toml") {
            assert_eq!(bundled(name).name, name);
            found.push(name.to_owned());
        }
    }
    found.sort();
    assert_eq!(found, told);
}
