//! What the agent repeats becomes what the provider knows, in this request and in every later one.

use super::spelling::{echo, respelled};
use super::*;
use std::slice::from_ref;

/// How a hold went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The only call was answered with an error, and the model asked again.
    AskedAgain,
    /// The same twice.
    AskedTwice,
    /// The bad call followed a good one, which the agent got.
    Beside,
    /// The bad call stood before it.
    Before,
    /// Both: the second turn held a good and a bad call.
    AgainAndBeside,
}

const WAYS: [Way; 5] = [
    Way::AskedAgain,
    Way::AskedTwice,
    Way::Beside,
    Way::Before,
    Way::AgainAndBeside,
];

const WORSE: Call = Call("call_worse_0123456789", "raed", "{}");

/// What follows the request in the take, the part of its first turn that flows before the hold, and the agent's call.
fn take(dialect: Dialect, way: Way) -> (Vec<String>, Vec<String>, Call) {
    let turn = |mark, text, calls: &[Call]| turn(dialect, mark, text, calls);
    let told = |call| outputs(dialect, &[(call, "Tool not found.")]);
    let first = turn("1", Some("Let me see. "), &[BAD]);
    let flowed = turn("1", Some("Let me see. "), &[]);
    match way {
        Way::AskedAgain => {
            let then = turn("2", Some("Once more."), &[THEN]);
            ([first, told(BAD), then].concat(), flowed, THEN)
        }
        Way::AskedTwice => {
            let again = turn("2", None, &[WORSE]);
            let then = turn("3", None, &[THEN]);
            (
                [first, told(BAD), again, told(WORSE), then].concat(),
                flowed,
                THEN,
            )
        }
        Way::Beside => {
            let both = turn("1", Some("Let me see. "), &[GOOD, BAD]);
            ([both, told(BAD)].concat(), vec![], GOOD)
        }
        Way::Before => {
            let both = turn("1", None, &[BAD, GOOD]);
            ([both, told(BAD)].concat(), vec![], GOOD)
        }
        Way::AgainAndBeside => {
            let both = turn("2", Some("Once more."), &[GOOD, WORSE]);
            ([first, told(BAD), both, told(WORSE)].concat(), flowed, GOOD)
        }
    }
}

/// The history that the provider would have if the agent's output came through it: its output beside those of retake.
fn with_output(dialect: Dialect, taken: &[String], call: Call) -> Vec<String> {
    let mut taken = taken.to_vec();
    let output = outputs(dialect, &[(call, "fn main() {}")]);
    let is_behind = taken
        .last()
        .is_some_and(|last| last.contains("Tool not found."));
    if dialect == Dialect::Anthropic && is_behind {
        let last = taken.pop().unwrap();
        let result = output[0].split_once("[").unwrap().1;
        taken.push(last.replace("]}", &format!(",{result}")));
        return taken;
    }
    [taken, output].concat()
}

#[test]
fn what_the_agent_repeats_becomes_what_the_provider_knows() {
    let mut count = 0;
    for dialect in DIALECTS {
        for way in WAYS {
            for has_flowed in [false, true] {
                for is_respelled in [false, true] {
                    let what = format!("{way:?}, flowed {has_flowed}, respelled {is_respelled}");
                    let base = request(dialect, &[vec![user("go")]]);
                    let (taken, flowed, call) = take(dialect, way);
                    let whole = request(dialect, &[vec![user("go")], taken.clone()]);
                    let held = hold_views(dialect, base.as_bytes(), whole.as_bytes()).unwrap();
                    let released = if has_flowed { flowed } else { vec![] };
                    let mut views = Views::default();
                    views.remember(dialect, &held, &released);

                    let mut repeated = echo(dialect, &released, &held.agent);
                    if is_respelled {
                        repeated = repeated.iter().map(|element| respelled(element)).collect();
                    }
                    let output = outputs(dialect, &[(call, "fn main() {}")]);
                    let mut agent = vec![vec![user("go")], repeated, output];
                    let mut provider = vec![vec![user("go")], with_output(dialect, &taken, call)];
                    for later in 0..5 {
                        let asked = request(dialect, &agent);
                        let sent = restored(&views, dialect, &asked);
                        assert_ne!(sent, asked, "{what}");
                        let expected = request(dialect, &provider);
                        assert_same(dialect, &sent, &expected, &what);
                        if later == 0 {
                            assert_eq!(complaints(&sent), [""; 0], "{dialect:?}, {what}: {sent}");
                        }
                        let twice = views.restore(dialect, sent.as_bytes());
                        assert_eq!(twice, None, "{dialect:?}, {what}: what is whole stays so");
                        let reply = turn(dialect, &format!("later{later}"), Some("Done."), &[]);
                        let more = [reply, vec![user(&format!("and {later}?"))]].concat();
                        agent.push(more.clone());
                        provider.push(more);
                        count += 1;
                    }
                }
            }
        }
    }
    assert_eq!(count, 3 * 5 * 2 * 2 * 5);
}

#[test]
fn what_nothing_was_told_about_stays_byte_for_byte() {
    for dialect in DIALECTS {
        let (taken, _, call) = take(dialect, Way::Before);
        let odd = r#"{"role":"user", "content":"1e2 \u0041 \/" }"#.to_owned();
        let before = vec![odd.clone(), user("go")];
        let base = request(dialect, from_ref(&before));
        let whole = request(dialect, &[before, taken]);
        let held = hold_views(dialect, base.as_bytes(), whole.as_bytes()).unwrap();
        let mut views = Views::default();
        views.remember(dialect, &held, &[]);
        let output = outputs(dialect, &[(call, "x")]);
        let agent = [
            vec![odd.clone(), user("go")],
            held.agent.clone(),
            output,
            vec![odd.clone()],
        ];
        let asked = request(dialect, &agent);
        let sent = restored(&views, dialect, &asked);
        let (head, tail) = asked.split_once(&held.agent[held.agent.len() - 1]).unwrap();
        let head = &head[..head.find("go").unwrap()];
        assert!(sent.starts_with(head), "{sent}");
        assert!(
            sent.ends_with(&tail[tail.rfind("1e2").unwrap()..]),
            "{sent}"
        );
        assert!(
            sent.contains(&format!("{odd} ,\n  {}", user("go"))),
            "{sent}"
        );
        let other = request(dialect, &[vec![odd, user("something else")]]);
        assert_eq!(views.restore(dialect, other.as_bytes()), None);
    }
}

#[test]
fn two_holds_in_one_conversation_are_both_put_back() {
    for dialect in DIALECTS {
        let mut views = Views::default();
        let (first, _, call) = take(dialect, Way::Beside);
        let base = request(dialect, &[vec![user("go")]]);
        let whole = request(dialect, &[vec![user("go")], first.clone()]);
        let told_first = hold_views(dialect, base.as_bytes(), whole.as_bytes()).unwrap();
        views.remember(dialect, &told_first, &[]);

        let output = outputs(dialect, &[(call, "fn main() {}")]);
        let agent = [vec![user("go")], told_first.agent.clone(), output.clone()];
        let second_base = restored(&views, dialect, &request(dialect, &agent));
        let second = [
            turn(dialect, "8", Some("Now this."), &[WORSE]),
            outputs(dialect, &[(WORSE, "Tool not found.")]),
            turn(dialect, "9", None, &[THEN]),
        ]
        .concat();
        let known = with_output(dialect, &first, call);
        let whole = request(dialect, &[vec![user("go")], known.clone(), second.clone()]);
        // A take grows after its request, whose bytes stay.
        let place = whole.find(&second[0]).unwrap();
        let behind = second.join(" , ");
        let list_end = second_base.rfind("\n ],\n").unwrap();
        let taken = format!(
            "{} ,{behind}{}",
            &second_base[..list_end],
            &second_base[list_end..]
        );
        assert!(place > 0);
        let told_second = hold_views(dialect, second_base.as_bytes(), taken.as_bytes()).unwrap();
        views.remember(dialect, &told_second, &[]);

        let then = outputs(dialect, &[(THEN, "fn b() {}")]);
        let agent = [agent.concat(), told_second.agent.clone(), then.clone()];
        let sent = restored(&views, dialect, &request(dialect, &agent));
        let expected = request(dialect, &[vec![user("go")], known, second, then]);
        assert_same(dialect, &sent, &expected, "two holds");
        assert_eq!(complaints(&sent), [""; 0]);
    }
}

#[test]
fn servers_that_count_their_ids_do_not_mix_up_conversations() {
    let (bad, good) = (Call("call_0", "reed", "{}"), Call("call_1", "read", "{}"));
    for dialect in DIALECTS {
        let mut views = Views::default();
        let taken = [
            turn(dialect, "1", None, &[good, bad]),
            outputs(dialect, &[(bad, "Tool not found.")]),
        ]
        .concat();
        let base = request(dialect, &[vec![user("go")]]);
        let whole = request(dialect, &[vec![user("go")], taken]);
        let held = hold_views(dialect, base.as_bytes(), whole.as_bytes()).unwrap();
        views.remember(dialect, &held, &[]);
        let plain = turn(dialect, "1", None, &[good]);
        let output = outputs(dialect, &[(good, "x")]);
        let same = request(dialect, &[vec![user("go")], plain.clone(), output.clone()]);
        assert!(views.restore(dialect, same.as_bytes()).is_some());
        let reply = turn(dialect, "7", Some("So?"), &[]);
        let other = [vec![user("another")], plain, output, reply];
        let other = request(dialect, &other);
        assert_eq!(views.restore(dialect, other.as_bytes()), None);
    }
}

#[test]
fn a_hidden_turn_stays_in_its_conversation_whatever_ids_another_one_has() {
    for ids in [
        ["call_0", "call_1"],
        ["functions.reed:0", "functions.read:1"],
        ["call_search_0001a", "call_search_0002a"],
        [
            "call_aB3dE5fG7hI9jK1lM3nO5pQ7",
            "call_qW1eR2tY3uI4oP5aS6dF7gH8",
        ],
    ] {
        let (bad, good) = (Call(ids[0], "reed", "{}"), Call(ids[1], "read", "{}"));
        for dialect in DIALECTS {
            let mut views = Views::default();
            let taken = [
                turn(dialect, "1", None, &[bad]),
                outputs(dialect, &[(bad, "Tool not found.")]),
                turn(dialect, "2", None, &[good]),
            ]
            .concat();
            let before = vec![user("first"), user("go on")];
            let base = request(dialect, from_ref(&before));
            let whole = request(dialect, &[before.clone(), taken]);
            let held = hold_views(dialect, base.as_bytes(), whole.as_bytes()).unwrap();
            views.remember(dialect, &held, &[]);
            let behind = [held.agent, outputs(dialect, &[(good, "x")])].concat();
            let own = request(dialect, &[before, behind.clone()]);
            assert!(views.restore(dialect, own.as_bytes()).is_some(), "{ids:?}");
            for before in [
                vec![user("go on")],
                vec![user("earlier"), user("go on")],
                vec![user("first"), user("else"), user("go on")],
            ] {
                let other = request(dialect, &[before, behind.clone()]);
                let restored = views.restore(dialect, other.as_bytes());
                assert_eq!(restored, None, "{dialect:?} {ids:?}");
            }
        }
    }
}

#[test]
fn a_final_text_stands_for_itself_unless_its_reasoning_has_flowed() {
    for dialect in DIALECTS {
        for has_flowed in [false, true] {
            let first = turn(dialect, "1", None, &[BAD]);
            let flowed = if has_flowed {
                turn(dialect, "1", None, &[])
            } else {
                vec![]
            };
            let told_error = outputs(dialect, &[(BAD, "Tool not found.")]);
            let end = turn(dialect, "2", Some("I cannot."), &[]);
            let taken = [first, told_error, end.clone()].concat();
            let base = request(dialect, &[vec![user("go")]]);
            let whole = request(dialect, &[vec![user("go")], taken.clone()]);
            let held = hold_views(dialect, base.as_bytes(), whole.as_bytes()).unwrap();
            assert_eq!(held.agent, end);
            let mut views = Views::default();
            views.remember(dialect, &held, &flowed);
            let repeated = echo(dialect, &flowed, &held.agent);
            let asked = request(dialect, &[vec![user("go")], repeated, vec![user("thanks")]]);
            let sent = restored(&views, dialect, &asked);
            match dialect {
                Dialect::Responses => {
                    let expected =
                        request(dialect, &[vec![user("go")], taken, vec![user("thanks")]]);
                    assert_same(dialect, &sent, &expected, "reasoning");
                }
                _ => assert_eq!(sent, asked),
            }
            assert_eq!(complaints(&sent), [""; 0], "{sent}");
        }
    }
}

#[test]
fn an_agent_that_leaves_reasoning_away_keeps_its_calls_whole() {
    let dialect = Dialect::Responses;
    let (taken, flowed, call) = take(dialect, Way::AskedAgain);
    let base = request(dialect, &[vec![user("go")]]);
    let whole = request(dialect, &[vec![user("go")], taken]);
    let held = hold_views(dialect, base.as_bytes(), whole.as_bytes()).unwrap();
    let mut views = Views::default();
    views.remember(dialect, &held, &flowed);
    let calls = held.agent.iter().filter(|item| item.contains("call_id"));
    let agent = [
        vec![user("go")],
        calls.cloned().collect(),
        outputs(dialect, &[(call, "x")]),
    ];
    let sent = restored(&views, dialect, &request(dialect, &agent));
    assert_eq!(complaints(&sent), [""; 0], "{sent}");
    assert!(
        sent.contains(BAD.0) && sent.contains("Tool not found."),
        "{sent}"
    );
}

#[test]
fn results_find_their_place_before_what_the_user_says() {
    let dialect = Dialect::Anthropic;
    let (taken, _, call) = take(dialect, Way::Beside);
    let base = request(dialect, &[vec![user("go")]]);
    let whole = request(dialect, &[vec![user("go")], taken]);
    let held = hold_views(dialect, base.as_bytes(), whole.as_bytes()).unwrap();
    let mut views = Views::default();
    views.remember(dialect, &held, &[]);
    let result = format!(
        r#"{{"type":"tool_result","tool_use_id":"{}","content":"x"}}"#,
        call.0
    );
    let both =
        format!(r#"{{"role":"user","content":[{result},{{"type":"text","text":"and now?"}}]}}"#);
    let sent = restored(
        &views,
        dialect,
        &request(dialect, &[vec![user("go")], held.agent.clone(), vec![both]]),
    );
    let expected = format!(
        r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{}","content":"Tool not found."}},{result},"#,
        BAD.0
    );
    assert!(sent.contains(&expected), "{sent}");
    assert_eq!(complaints(&sent), [""; 0], "{sent}");
    let words = request(
        dialect,
        &[vec![user("go")], held.agent, vec![user("never \\u006dind")]],
    );
    let sent = restored(&views, dialect, &words);
    assert!(
        sent.contains(r#""content":"Tool not found."},{"type":"text","text":"never mind"}]"#),
        "{sent}"
    );
}

#[test]
fn where_the_provider_keeps_the_conversation_only_the_missing_output_is_sent() {
    let dialect = Dialect::Responses;
    let (taken, _, call) = take(dialect, Way::Beside);
    let base = request(dialect, &[vec![user("go")]]);
    let whole = request(dialect, &[vec![user("go")], taken]);
    let held = hold_views(dialect, base.as_bytes(), whole.as_bytes()).unwrap();
    let mut views = Views::default();
    views.remember(dialect, &held, &[]);
    let kept = |elements: &[Vec<String>]| {
        request(dialect, elements).replacen("{ ", r#"{ "previous_response_id":"resp_1", "#, 1)
    };
    let output = outputs(dialect, &[(call, "x")]);
    let sent = restored(&views, dialect, &kept(std::slice::from_ref(&output)));
    let error = outputs(dialect, &[(BAD, "Tool not found.")]);
    assert_same(dialect, &sent, &kept(&[error, output]), "kept");
    assert_eq!(views.restore(dialect, sent.as_bytes()), None);
    let later = kept(&[vec![user("and now?")]]);
    assert_eq!(views.restore(dialect, later.as_bytes()), None);
}

#[test]
fn the_oldest_turn_is_forgotten_first_and_leaves_nothing_behind() {
    let dialect = Dialect::Chat;
    let mut views = Views::holding(40);
    let base = request(dialect, &[vec![user("go")]]);
    let taken = |number: usize| {
        let (taken, ..) = take(dialect, Way::Beside);
        let taken = taken
            .join("")
            .replace("0123456789", &format!("{number:010}"));
        taken.replace("}{\"role\":\"tool\"", "},{\"role\":\"tool\"")
    };
    for number in 0..43 {
        let whole = request(dialect, &[vec![user("go")], vec![taken(number)]]);
        let held = hold_views(dialect, base.as_bytes(), whole.as_bytes()).unwrap();
        views.remember(dialect, &held, &[]);
    }
    assert_eq!((views.kept.len(), views.by_mark.len()), (40, 40));
    let asked = |number: usize| {
        let agent = turn(dialect, "1", Some("Let me see. "), &[GOOD]);
        let agent = agent[0].replace("0123456789", &format!("{number:010}"));
        request(dialect, &[vec![user("go")], vec![agent]])
    };
    assert_eq!(views.restore(dialect, asked(2).as_bytes()), None);
    assert!(views.restore(dialect, asked(3).as_bytes()).is_some());
    while !views.is_empty() {
        views.forget();
    }
    assert_eq!((views.bytes, views.by_mark.len(), views.repairs), (0, 0, 0));
}

#[test]
fn requests_that_cannot_be_read_pass_as_they_are() {
    let dialect = Dialect::Chat;
    let (taken, ..) = take(dialect, Way::Beside);
    let base = request(dialect, &[vec![user("go")]]);
    let whole = request(dialect, &[vec![user("go")], taken]);
    let mut views = Views::default();
    let held = hold_views(dialect, base.as_bytes(), whole.as_bytes()).unwrap();
    views.remember(dialect, &held, &[]);
    for body in [
        &b""[..],
        b"{",
        b"[]",
        br#"{"messages":"text"}"#,
        br#"{"messages":[]}"#,
        br#"{"messages":[17,null,"x",{}]}"#,
        b"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}",
    ] {
        assert_eq!(views.restore(dialect, body), None, "{body:?}");
    }
}
