//! Why a reply ended: what a token limit cut off, and what was refused or withheld, whole and streamed, in every dialect.

use super::speech::{Agent, GOOD, body, http, turn, ways};
use super::stage::{Stage, upstream};
use retake_core::exchange::ExchangeEnding;
use retake_core::wire::write::{End, NewReply};

/// Replies that did not end by themselves, each with the rule that says so.
fn early() -> [(&'static str, NewReply); 4] {
    let cut = ("call_cut_0123456789", "search", r#"{"city":"Ro"#);
    let cut = NewReply {
        end: End::Length,
        ..turn("1", "Let me look.", &[cut])
    };
    let text = NewReply {
        end: End::Length,
        ..turn("1", "It is warm in", &[])
    };
    let refused = NewReply {
        refusal: Some("I cannot help with that.".to_owned()),
        ..turn("1", "", &[])
    };
    let withheld = NewReply {
        end: End::ContentFilter,
        ..turn("1", "It is", &[])
    };
    [
        ("truncated-response", cut),
        ("truncated-response", text),
        ("refused", refused),
        ("refused", withheld),
    ]
}

#[test]
fn a_policy_acts_on_what_was_cut_off_refused_or_withheld() {
    for (dialect, streams) in ways() {
        for (rule, first) in early() {
            let replies = [first, turn("2", "Rome it is.", &[GOOD])];
            let replies = replies.iter().map(|reply| http(dialect, streams, reply));
            let policy = format!("[on.{rule}]\ndo = \"retry\"\n");
            let stage = Stage::by(upstream(replies.collect()), &policy);
            let mut agent = Agent::new((dialect, streams));
            let calls = stage.turn(&mut agent);
            let calls: Vec<&str> = calls.iter().map(|(id, _)| id.as_str()).collect();
            assert_eq!(calls, [GOOD.0], "{dialect:?} {streams} {rule}");
            assert_eq!(stage.decided(), ["retry"], "{dialect:?} {streams} {rule}");
            assert_eq!(
                stage.ending(1),
                ExchangeEnding::Mended,
                "{dialect:?} {streams} {rule}"
            );
            let found = stage.found();
            assert!(
                found.iter().all(|found| *found == rule),
                "{dialect:?} {streams}: {found:?}"
            );
        }
    }
}

#[test]
fn without_a_policy_it_passes_as_it_came_and_is_told() {
    for (dialect, streams) in ways() {
        for (rule, reply) in early() {
            let stage = Stage::by(upstream(vec![http(dialect, streams, &reply)]), "");
            let got = stage.ask(&Agent::new((dialect, streams)));
            assert_eq!(
                got.body,
                body(dialect, streams, &reply),
                "{dialect:?} {streams}"
            );
            let rules: Vec<_> = stage.over(1).found.iter().map(|found| found.rule).collect();
            assert!(rules.contains(&rule), "{dialect:?} {streams}: {rules:?}");
            assert!(
                !rules.contains(&"malformed-arguments"),
                "{dialect:?} {streams}: {rules:?}"
            );
            assert_eq!(stage.ending(1), ExchangeEnding::Passed);
        }
    }
}

#[test]
fn a_final_output_that_is_sound_passes_as_it_came_although_it_was_kept_back() {
    let policy = "[on.invalid-final-output]\ndo = \"raise\"\n";
    for (dialect, streams) in super::policies::ways_with_schema() {
        let reply = turn("1", r#"{"answer":1}"#, &[]);
        let stage = Stage::by(upstream(vec![http(dialect, streams, &reply)]), policy);
        let mut agent = Agent::new((dialect, streams));
        agent.members = super::policies::wants_answer(dialect);
        let got = stage.ask(&agent);
        assert_eq!(
            got.body,
            body(dialect, streams, &reply),
            "{dialect:?} {streams}"
        );
        assert_eq!(stage.ending(1), ExchangeEnding::Passed);
        // One that is not sound is an error, and none of its words are read.
        let wrong = turn("1", "One.", &[]);
        let stage = Stage::by(upstream(vec![http(dialect, streams, &wrong)]), policy);
        let got = stage.ask(&agent);
        assert!(
            !got.text().contains("One."),
            "{dialect:?} {streams}: {}",
            got.text()
        );
        assert!(
            matches!(stage.ending(1), ExchangeEnding::Refused { .. }),
            "{dialect:?} {streams}"
        );
    }
}
