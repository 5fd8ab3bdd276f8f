//! A policy decides: what the agent sees, what the provider sees, and that both keep one sound conversation.

use super::speech::{Agent, BAD, GOOD, THEN, calls_stop, complaints, http, stop, turn, ways};
use super::stage::{PATIENCE, Stage, upstream};
use retake_core::exchange::ExchangeEnding;
use retake_core::session::Dialect;
use serde_json::{Value, json};

const INJECT: &str = "[on.unknown-tool]\ndo = \"inject\"\n";

/// How often a text stands in a request.
fn count(request: &Value, what: &str) -> usize {
    request.to_string().matches(what).count()
}

#[test]
fn the_agent_sees_only_the_corrected_turn_and_the_provider_keeps_the_hidden_one() {
    for (dialect, streams) in ways() {
        let replies = [
            turn("1", "Let me look.", &[BAD]),
            turn("2", "Once more.", &[THEN]),
            turn("3", "It is warm.", &[]),
        ];
        let replies = replies
            .iter()
            .map(|reply| http(dialect, streams, reply))
            .collect();
        let stage = Stage::by(upstream(replies), INJECT);
        let mut agent = Agent::new((dialect, streams));
        let got = stage
            .send(&agent, "Authorization: Bearer key\r\nX-Own: a\r\n")
            .receive(PATIENCE);
        assert!(
            !got.text().contains(BAD.0),
            "{dialect:?} {streams}: {}",
            got.text()
        );
        assert_eq!(
            agent.reads(&got),
            [(THEN.0.to_owned(), "search".to_owned())]
        );
        assert_eq!(stage.ending(1), ExchangeEnding::Mended);
        assert_eq!(stage.decided(), ["inject-error"]);
        let requests = stage.upstream.requests();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[1].header("authorization"), Some("Bearer key"));
        assert_eq!(requests[1].header("x-own"), Some("a"));
        assert!(requests[1].line.contains("beta=1"), "{}", requests[1].line);
        // The conversation goes on: the provider is told what it said itself.
        agent.answers(THEN.0, "34 degrees");
        assert!(stage.turn(&mut agent).is_empty());
        let third = stage.asked().remove(2);
        assert_eq!(count(&third, BAD.0), 2, "{dialect:?} {streams}: {third:#}");
        assert_eq!(count(&third, THEN.0), 2, "{dialect:?} {streams}: {third:#}");
        assert_eq!(
            complaints(third.to_string().as_bytes()),
            [""; 0],
            "{third:#}"
        );
        assert_eq!(stage.ending(2), ExchangeEnding::Passed);
        // And so in every later request.
        agent.says("Thanks.");
        stage.turn(&mut agent);
        let fourth = stage.asked().remove(3);
        assert_eq!(
            count(&fourth, BAD.0),
            2,
            "{dialect:?} {streams}: {fourth:#}"
        );
        assert_eq!(
            complaints(fourth.to_string().as_bytes()),
            [""; 0],
            "{fourth:#}"
        );
    }
}

#[test]
fn a_name_that_the_provider_refuses_is_spelled_anew_with_the_answer() {
    for (dialect, streams) in ways() {
        for name in ["functions.foo", "get balance", "search:0", "web/search"] {
            let bad = (BAD.0, name, BAD.2);
            let replies = [
                turn("1", "Let me look.", &[bad]),
                turn("2", "It is warm.", &[]),
            ];
            let replies = replies
                .iter()
                .map(|reply| http(dialect, streams, reply))
                .collect();
            let stage = Stage::by(upstream(replies), INJECT);
            let mut agent = Agent::new((dialect, streams));
            let got = stage.ask(&agent);
            let what = format!("{dialect:?} {streams} {name}: {}", got.text());
            assert!(!got.text().contains(BAD.0), "{what}");
            assert!(agent.reads(&got).is_empty(), "{what}");
            assert_eq!(stage.ending(1), ExchangeEnding::Mended, "{what}");
            assert_eq!(stage.decided(), ["inject-error"]);
            let second = stage.asked().remove(1);
            assert_eq!(count(&second, BAD.0), 2, "{what}{second:#}");
            assert_eq!(
                complaints(second.to_string().as_bytes()),
                [""; 0],
                "{what}{second:#}"
            );
        }
    }
}

#[test]
fn good_calls_go_on_and_the_bad_one_beside_them_is_told_to_the_provider_with_its_error() {
    for (dialect, streams) in ways() {
        for calls in [[GOOD, BAD], [BAD, GOOD]] {
            let replies = [
                turn("1", "Let me look.", &calls),
                turn("2", "It is warm.", &[]),
            ];
            let replies = replies
                .iter()
                .map(|reply| http(dialect, streams, reply))
                .collect();
            let stage = Stage::by(upstream(replies), INJECT);
            let mut agent = Agent::new((dialect, streams));
            let got = stage.ask(&agent);
            assert_eq!(
                agent.reads(&got),
                [(GOOD.0.to_owned(), "search".to_owned())]
            );
            assert_eq!(
                stop(dialect, streams, &got).as_deref(),
                calls_stop(dialect),
                "{dialect:?} {streams}"
            );
            assert_eq!(stage.ending(1), ExchangeEnding::Mended);
            assert_eq!(stage.upstream.requests().len(), 1);
            agent.answers(GOOD.0, "9 degrees");
            assert!(stage.turn(&mut agent).is_empty());
            let second = stage.asked().remove(1);
            assert_eq!(
                count(&second, BAD.0),
                2,
                "{dialect:?} {streams}: {second:#}"
            );
            assert_eq!(
                count(&second, GOOD.0),
                2,
                "{dialect:?} {streams}: {second:#}"
            );
            assert_eq!(
                complaints(second.to_string().as_bytes()),
                [""; 0],
                "{second:#}"
            );
        }
    }
}

#[test]
fn a_suggestion_a_repair_and_a_drop_need_no_question() {
    let torn = ("call_torn_0123456789", "search", r#"{"city":"Rome""#);
    for (dialect, streams) in ways() {
        let cases: [(&str, &[_], &[&str]); 3] = [
            ("[on.unknown-tool]\ndo = \"suggest\"\n", &[BAD], &[BAD.0]),
            (
                "[on.malformed-arguments]\ndo = \"repair\"\n",
                &[torn],
                &[torn.0],
            ),
            (
                "[on.unknown-tool]\ndo = \"drop\"\n",
                &[GOOD, BAD],
                &[GOOD.0],
            ),
        ];
        for (policy, calls, expected) in cases {
            // Arguments of Anthropic are JSON where the reply is whole.
            if dialect == Dialect::Anthropic && !streams && policy.contains("repair") {
                continue;
            }
            let replies = [
                turn("1", "Let me look.", calls),
                turn("2", "It is warm.", &[]),
            ];
            let replies = replies
                .iter()
                .map(|reply| http(dialect, streams, reply))
                .collect();
            let stage = Stage::by(upstream(replies), policy);
            let mut agent = Agent::new((dialect, streams));
            let expected: Vec<_> = expected
                .iter()
                .map(|id| ((*id).to_owned(), "search".to_owned()))
                .collect();
            assert_eq!(
                stage.turn(&mut agent),
                expected,
                "{dialect:?} {streams} {policy}"
            );
            assert_eq!(
                stage.ending(1),
                ExchangeEnding::Mended,
                "{dialect:?} {streams} {policy}"
            );
            assert_eq!(stage.upstream.requests().len(), 1);
            agent.answers(&expected[0].0, "warm");
            stage.turn(&mut agent);
            let second = stage.asked().remove(1);
            assert_eq!(
                complaints(second.to_string().as_bytes()),
                [""; 0],
                "{dialect:?} {streams} {policy}: {second:#}"
            );
            if policy.contains("repair") {
                assert!(stage.seen(2).unwrap().found.is_empty());
            }
        }
    }
}

#[test]
fn a_refused_action_goes_on_with_otherwise() {
    let unlike = ("call_far_0123456789", "zzz", r#"{"city":"Rome"}"#);
    let (unreadable, cut) = (
        ("call_torn_0123456789", "search", "<<<"),
        ("call_cut_0123456789", "search", r#"{"city": "#),
    );
    let cases = [
        ("unknown-tool", "suggest", unlike),
        ("malformed-arguments", "repair", unreadable),
        // What can be read of them is null, and the tool wants a string.
        ("malformed-arguments", "repair", cut),
    ];
    for (dialect, streams) in ways() {
        for (rule, word, call) in cases {
            // Arguments of Anthropic are JSON where the reply is whole.
            if dialect == Dialect::Anthropic && !streams && word == "repair" {
                continue;
            }
            let policy = format!("[on.{rule}]\ndo = \"{word}\"\notherwise = \"inject\"\n");
            let replies = [turn("1", "", &[call]), turn("2", "", &[THEN])];
            let replies = replies.iter().map(|reply| http(dialect, streams, reply));
            let stage = Stage::by(upstream(replies.collect()), &policy);
            let mut agent = Agent::new((dialect, streams));
            let what = format!("{dialect:?} {streams} {word} {}", call.2);
            let expected = (THEN.0.to_owned(), "search".to_owned());
            assert_eq!(stage.turn(&mut agent), [expected], "{what}");
            assert_eq!(stage.ending(1), ExchangeEnding::Mended, "{what}");
            assert_eq!(stage.decided(), ["inject-error"], "{what}");
        }
    }
}

/// The members of a request whose final output has to be an object with the number `answer`.
pub(super) fn wants_answer(dialect: Dialect) -> Value {
    let schema = json!({"type": "object", "properties": {"answer": {"type": "number"}}, "required": ["answer"], "additionalProperties": false});
    match dialect {
        Dialect::Chat => {
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}})
        }
        Dialect::Responses => {
            json!({"text": {"format": {"type": "json_schema", "name": "a", "schema": schema}}})
        }
        Dialect::Gemini => json!({"generationConfig": {
            "responseMimeType": "application/json", "responseJsonSchema": schema,
        }}),
        Dialect::Anthropic | Dialect::Converse => {
            json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}})
        }
    }
}

/// Every dialect whose requests hold the schema of the final output; that of Converse is a text, which is not read.
pub(super) fn ways_with_schema() -> impl Iterator<Item = (Dialect, bool)> {
    ways().filter(|(dialect, _)| *dialect != Dialect::Converse)
}

#[test]
fn a_fallback_is_what_the_agent_reads() {
    for (dialect, streams) in ways_with_schema() {
        let policy = "[on.invalid-final-output]\ndo = \"fallback\"\nvalue = { answer = 1 }\n";
        let replies = vec![http(dialect, streams, &turn("1", "One.", &[]))];
        let stage = Stage::by(upstream(replies), policy);
        let mut agent = Agent::new((dialect, streams));
        agent.members = wants_answer(dialect);
        let got = stage.ask(&agent);
        agent.reads(&got);
        let turn = Value::from(agent.history[1..].to_vec()).to_string();
        assert!(
            turn.replace("\\", "").contains(r#"{"answer":1}"#),
            "{dialect:?} {streams}: {turn}"
        );
        assert_eq!(stage.ending(1), ExchangeEnding::Mended);
    }
}

#[test]
fn b14_what_is_refused_is_an_error_that_no_sdk_tries_again() {
    for (dialect, streams) in ways() {
        let replies = vec![http(dialect, streams, &turn("1", "", &[BAD]))];
        let stage = Stage::by(upstream(replies), "[on.unknown-tool]\ndo = \"raise\"\n");
        let got = stage.ask(&Agent::new((dialect, streams)));
        assert!(got.is_whole);
        if streams {
            // The head of the stream was there already: it ends with the failure in the words of its dialect.
            assert_eq!(got.status, Some(200));
            assert!(
                got.text().contains("serch") && got.text().to_lowercase().contains("error"),
                "{}",
                got.text()
            );
        } else {
            assert_eq!(got.status, Some(422), "{}", got.text());
            assert_eq!(got.header("x-should-retry"), Some("false"));
            assert!(got.text().contains("unknown-tool"), "{}", got.text());
        }
        assert!(matches!(stage.ending(1), ExchangeEnding::Refused { .. }));
        assert_eq!(stage.upstream.requests().len(), 1);
    }
}

#[test]
fn what_was_tried_often_enough_is_decided_otherwise() {
    for (dialect, streams) in ways() {
        let again = ("call_again_0123456789", "serch", "{}");
        let replies = [
            turn("1", "", &[BAD]),
            turn("2", "", &[again]),
            turn("3", "", &[BAD]),
        ];
        let replies = replies
            .iter()
            .map(|reply| http(dialect, streams, reply))
            .collect();
        let policy = format!("{INJECT}times = 2\notherwise = \"raise\"\n");
        let stage = Stage::by(upstream(replies), &policy);
        let got = stage.ask(&Agent::new((dialect, streams)));
        assert!(got.status == Some(422) || streams, "{}", got.text());
        assert!(matches!(stage.ending(1), ExchangeEnding::Refused { .. }));
        assert_eq!(stage.upstream.requests().len(), 3);
        assert_eq!(stage.decided()[..2], ["inject-error", "inject-error"]);
    }
}

#[test]
fn a_reply_that_is_wrong_to_the_last_and_let_pass_is_not_called_mended() {
    for (dialect, streams) in ways() {
        let again = ("call_again_0123456789", "serch", "{}");
        let replies = [turn("1", "", &[BAD]), turn("2", "", &[again])];
        let replies = replies.iter().map(|reply| http(dialect, streams, reply));
        let policy = "[on.unknown-tool]\ndo = \"retry\"\ntimes = 1\notherwise = \"release\"\n";
        let stage = Stage::by(upstream(replies.collect()), policy);
        let mut agent = Agent::new((dialect, streams));
        assert_eq!(
            stage.turn(&mut agent),
            [(again.0.to_owned(), "serch".to_owned())]
        );
        let by = "policy".to_owned();
        assert_eq!(
            stage.ending(1),
            ExchangeEnding::Released { by },
            "{dialect:?} {streams}"
        );
    }
}

#[test]
fn a_secret_in_sound_arguments_is_no_fault_and_comes_to_the_agent_as_it_is() {
    let key = format!("sk-{}", "proj-Abc123".repeat(4));
    let policy = "[on.unknown-tool]\ndo = \"suggest\"\n[on.malformed-arguments]\ndo = \"raise\"\n";
    for said in [
        format!("Authorization: Bearer {key}"),
        "Cookie: session=hunter2-abcdefgh".to_owned(),
    ] {
        for (dialect, streams) in ways() {
            let arguments = json!({"city": said, "w": "last"}).to_string();
            let answer = turn("1", "", &[("call_open_0123456789", "serch", &arguments)]);
            let stage = Stage::by(upstream(vec![http(dialect, streams, &answer)]), policy);
            let mut agent = Agent::new((dialect, streams));
            assert_eq!(stage.turn(&mut agent)[0].1, "search");
            assert_eq!(stage.found(), ["unknown-tool"]);
            // What the agent repeats has the arguments in it.
            agent.answers("call_open_0123456789", "9 degrees");
            let request: Value = serde_json::from_str(&agent.request()).unwrap();
            let arguments = match dialect {
                Dialect::Responses => &request["input"][1]["arguments"],
                Dialect::Gemini => &request["contents"][1]["parts"][0]["functionCall"]["args"],
                Dialect::Anthropic => &request["messages"][1]["content"][0]["input"],
                Dialect::Converse => &request["messages"][1]["content"][0]["toolUse"]["input"],
                Dialect::Chat => &request["messages"][1]["tool_calls"][0]["function"]["arguments"],
            };
            let arguments = match arguments.as_str() {
                Some(text) => serde_json::from_str(text).unwrap(),
                None => arguments.clone(),
            };
            assert_eq!(
                arguments,
                json!({"city": said, "w": "last"}),
                "{dialect:?} {streams}"
            );
        }
    }
}

#[test]
fn arguments_that_are_no_json_are_malformed_in_every_dialect() {
    let policy =
        "[on.malformed-arguments]\ndo = \"raise\"\n[on.invalid-arguments]\ndo = \"release\"\n";
    for (dialect, streams) in ways() {
        for written in [
            r#"{"city":"Ro"#,
            "{\"city\":\"Ro\nme\"}",
            "{\"city\":\"Ro\tme\"}",
            "{'city':'Rome'}",
            "Rome",
            "[]",
        ] {
            let call = ("call_torn_0123456789", "search", written);
            let replies = vec![http(dialect, streams, &turn("1", "", &[call]))];
            let stage = Stage::by(upstream(replies), policy);
            stage.ask(&Agent::new((dialect, streams)));
            let ending = stage.ending(1);
            assert!(
                matches!(ending, ExchangeEnding::Refused { .. }),
                "{dialect:?} {streams} {written:?}: {ending:?} {:?}",
                stage.found()
            );
        }
    }
}
