//! The demo and the other bundled agents, each with policies that bring it to an end.

use super::{Stage, Told, bundled};
use retake_core::session::Kind;
use retake_live::{ReadOptions, read_path};
use serde_json::Value;

fn inject(wording: &str) -> String {
    format!(
        "[on.unknown-tool]\ndo = \"inject\"\nwording = \"{wording}\"\ntimes = 2\notherwise = \"raise\"\n"
    )
}

/// The tools whose calls have an output in the last take of the journal, in the order of the outputs.
fn outputs(told: &Told) -> Vec<String> {
    let recording = read_path(&told.journal(), &ReadOptions::default()).unwrap();
    let session = &recording.sessions[0];
    let outputs = session.items.iter().enumerate();
    let outputs = outputs.filter(|(_, item)| item.kind == Kind::Output);
    let tools = outputs.map(|(index, _)| {
        let call = session.pairing.partner(index).unwrap();
        session.name(&session.items[call]).to_owned()
    });
    tools.collect()
}

#[test]
fn the_demo_recovers_where_the_error_names_the_nearest_tool() {
    let stage = Stage::new();
    let told = stage.run_by(&bundled("flights"), &inject("nearest"));
    assert_eq!(
        (told.code, told.how()),
        (0, "final"),
        "{}{}",
        told.out,
        told.err
    );
    assert!(told.output().contains("TP 204"), "{}", told.output());
    assert_eq!(told.decided(), ["inject-error"]);
    assert_eq!(told.of_type("decision")[0]["wording"], "nearest");
    let names = outputs(&told);
    assert_eq!(names, ["serch_flights", "search_flights"]);
    assert_eq!(told.end()["turns"], 3);
}

#[test]
fn the_demo_repeats_its_mistake_where_the_error_is_bare_until_the_policy_raises() {
    let stage = Stage::new();
    let told = stage.run_by(&bundled("flights"), &inject("bare"));
    assert_eq!((told.code, told.how()), (1, "raised"), "{}", told.out);
    assert_eq!(told.decided(), ["inject-error", "inject-error", "raise"]);
    assert_eq!(told.end()["rule"], "unknown-tool");
    let found = told.of_type("finding").into_iter();
    let unknown =
        found.filter(|line| line["rule"] == "unknown-tool" && line["severity"] == "error");
    assert_eq!(unknown.count(), 3, "{}", told.out);
}

#[test]
fn nobody_decides_where_there_is_no_policy() {
    for name in ["flights", "parallel", "broken-json"] {
        let told = Stage::new().run(&bundled(name), &[]);
        assert_eq!(
            (told.code, told.how()),
            (1, "unattended"),
            "{name}: {}",
            told.out
        );
        let rule = told.end()["why"]
            .as_str()
            .unwrap()
            .split(':')
            .next()
            .unwrap();
        assert!(told.found().contains(&rule), "{name}: {}", told.out);
        assert!(told.of_type("finished").is_empty() && told.of_type("started").is_empty());
    }
}

#[test]
fn of_three_calls_at_once_the_bad_one_is_settled_first_and_the_good_ones_are_answered_once() {
    let stage = Stage::new();
    let told = stage.run_by(&bundled("parallel"), &inject("nearest"));
    assert_eq!((told.code, told.how()), (0, "final"), "{}", told.out);
    assert!(told.output().contains("TP 204"));
    let names = outputs(&told);
    let count = |wanted: &str| names.iter().filter(|name| *name == wanted).count();
    assert_eq!(
        (
            count("get_weather"),
            count("serch_flights"),
            count("search_flights")
        ),
        (2, 1, 1)
    );
    let place = |wanted: &str, id: &str| {
        told.lines.iter().position(|line| {
            line["type"] == wanted && (id.is_empty() || line["call"]["call_id"] == id)
        })
    };
    let decision = place("decision", "").unwrap();
    for finished in told.of_type("finished") {
        let id = finished["call"]["call_id"].as_str().unwrap();
        assert!(place("finished", id).unwrap() > decision, "{}", told.out);
    }
}

#[test]
fn broken_arguments_are_repaired_or_told_until_they_are_right() {
    for first in ["inject", "repair"] {
        let stage = Stage::new();
        let policy = format!(
            "[on.malformed-arguments]\ndo = \"{first}\"\ntimes = 2\n[on.invalid-arguments]\ndo = \"inject\"\ntimes = 3\n"
        );
        let told = stage.run_by(&bundled("broken-json"), &policy);
        assert_eq!(
            (told.code, told.how()),
            (0, "final"),
            "{first}: {}{}",
            told.out,
            told.err
        );
    }
}

#[test]
fn a_final_output_against_its_schema_is_replaced_by_a_fallback_or_corrected_by_feedback() {
    let fallback = "[on.invalid-final-output]\ndo = \"fallback\"\nvalue = { flight = \"none\", price = 0, currency = \"EUR\" }\n";
    let told = Stage::new().run_by(&bundled("final"), fallback);
    assert_eq!((told.code, told.how()), (0, "fallback"), "{}", told.out);
    let value: Value = serde_json::from_str(told.output()).unwrap();
    assert_eq!(value["flight"], "none");
    assert_eq!(told.decided(), ["fallback"]);
    assert!(
        told.found().contains(&"invalid-final-output"),
        "{}",
        told.out
    );

    let feedback = "[on.invalid-final-output]\ndo = \"retry\"\nwording = \"violations\"\n";
    let told = Stage::new().run_by(&bundled("final"), feedback);
    assert_eq!(
        (told.code, told.how()),
        (0, "final"),
        "{}{}",
        told.out,
        told.err
    );
    assert!(told.output().contains("489.5"), "{}", told.output());
}

#[test]
fn the_policy_that_comes_with_the_final_agent_brings_it_to_its_end() {
    let told = Stage::new().run(&bundled("final"), &[]);
    assert_eq!((told.code, told.how()), (0, "final"), "{}", told.out);
    assert_eq!(told.decided(), ["retry"]);
}

#[test]
fn a_busy_model_is_asked_again_after_the_time_it_names_and_a_cut_stream_is_left() {
    let told = Stage::new().run(&bundled("flaky"), &[]);
    assert_eq!((told.code, told.how()), (4, "model-failed"), "{}", told.out);
    let failed = told.of_type("not-replied");
    assert_eq!(failed.len(), 3, "{}", told.out);
    assert_eq!(
        (&failed[0]["status"], &failed[1]["status"]),
        (&429.into(), &500.into())
    );
    assert!(failed[0]["again_in_ms"].as_u64().unwrap() >= 1000);
    assert!(failed[1]["again_in_ms"].as_u64().is_some());
    assert!(
        failed[2]["again_in_ms"].is_null(),
        "a part had come: asking again is somebody's to decide"
    );
    assert!(told.end()["why"].as_str().unwrap().contains("broke off"));
}
