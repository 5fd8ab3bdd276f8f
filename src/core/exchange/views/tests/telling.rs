//! The view of an agent, and why there sometimes is none.

use super::*;

fn asked(dialect: Dialect, behind: &[Vec<String>]) -> Result<HoldViews, HoldViewsError> {
    let base = request(dialect, &[vec![user("go")]]);
    let elements = [&[vec![user("go")]], behind].concat();
    hold_views(
        dialect,
        base.as_bytes(),
        request(dialect, &elements).as_bytes(),
    )
}

#[test]
fn the_agent_sees_the_last_turn_without_the_calls_that_were_answered_for_it() {
    for dialect in DIALECTS {
        let error = outputs(dialect, &[(BAD, "No.")]);
        let both = turn(dialect, "1", Some("So: "), &[GOOD, BAD]);
        let beside = asked(dialect, &[both.clone(), error.clone()]).unwrap();
        assert_eq!(beside.agent, turn(dialect, "1", Some("So: "), &[GOOD]));
        assert_eq!(beside.provider, [both, error.clone()].concat());
        let then = turn(dialect, "2", None, &[THEN]);
        let first = turn(dialect, "1", None, &[BAD]);
        let again = asked(dialect, &[first.clone(), error.clone(), then.clone()]).unwrap();
        assert_eq!(again.agent, then);
        assert_eq!(again.provider, [first, error, then.clone()].concat());
        let plain = asked(dialect, std::slice::from_ref(&then)).unwrap();
        assert!(!plain.hides() && plain.agent == then);
    }
}

#[test]
fn reasoning_that_led_to_a_hidden_call_is_not_told() {
    let dialect = Dialect::Responses;
    let (good, bad) = (
        turn(dialect, "1", None, &[GOOD]),
        turn(dialect, "2", None, &[BAD]),
    );
    let held = asked(
        dialect,
        &[good.clone(), bad, outputs(dialect, &[(BAD, "No.")])],
    )
    .unwrap();
    assert_eq!(held.agent, good);
}

#[test]
fn there_is_nothing_to_tell_before_the_model_has_spoken_last() {
    for dialect in DIALECTS {
        let (bad, error) = (
            turn(dialect, "1", None, &[BAD]),
            outputs(dialect, &[(BAD, "No.")]),
        );
        assert_eq!(asked(dialect, &[]), Err(HoldViewsError::NoTurn));
        assert_eq!(
            asked(dialect, &[bad.clone(), error.clone()]),
            Err(HoldViewsError::GoesOn)
        );
        let said = [bad.clone(), error, vec![user("try again")]];
        assert_eq!(asked(dialect, &said), Err(HoldViewsError::GoesOn));
        let base = request(dialect, &[vec![user("go")], bad.clone()]);
        let take = request(dialect, &[vec![user("went")], bad]);
        let changed = hold_views(dialect, base.as_bytes(), take.as_bytes());
        assert_eq!(changed, Err(HoldViewsError::Changed));
        let unread = hold_views(dialect, b"{", take.as_bytes());
        assert_eq!(unread, Err(HoldViewsError::NoList));
    }
}

#[test]
fn a_text_as_input_counts_as_the_message_that_it_is() {
    let take = format!(
        r#"{{"model":"m","input":[{{"role":"user","content":"go"}},{}]}}"#,
        turn(Dialect::Responses, "1", None, &[GOOD]).join(",")
    );
    let held = hold_views(
        Dialect::Responses,
        br#"{"model":"m","input":"go"}"#,
        take.as_bytes(),
    )
    .unwrap();
    assert_eq!(held.agent.len(), 2);
}

#[test]
fn what_the_provider_keeps_itself_cannot_be_told_otherwise() {
    let dialect = Dialect::Responses;
    let error = outputs(dialect, &[(BAD, "No.")]);
    let (bad, then) = (
        turn(dialect, "1", None, &[BAD]),
        turn(dialect, "2", None, &[THEN]),
    );
    for key in ["previous_response_id", "conversation"] {
        let kept = |elements: &[Vec<String>]| {
            request(dialect, elements).replacen("{ ", &format!("{{ \"{key}\":\"resp_1\", "), 1)
        };
        let base = kept(&[vec![user("go")]]);
        let again = kept(&[vec![user("go")], bad.clone(), error.clone(), then.clone()]);
        let refused = hold_views(dialect, base.as_bytes(), again.as_bytes()).unwrap_err();
        assert_eq!(refused, HoldViewsError::ServerState);
        assert!(
            refused
                .to_string()
                .contains("keeps this conversation itself")
        );
        let plain = kept(&[vec![user("go")], then.clone()]);
        assert!(hold_views(dialect, base.as_bytes(), plain.as_bytes()).is_ok());
        let both = turn(dialect, "1", None, &[GOOD, BAD]);
        let beside = kept(&[vec![user("go")], both, error.clone()]);
        assert!(hold_views(dialect, base.as_bytes(), beside.as_bytes()).is_ok());
    }
}

#[test]
fn an_output_without_an_id_hides_no_call_for_certain() {
    let call = r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"},"tool_calls":[{"id":"a","function":{"name":"g","arguments":"{}"}}]}"#;
    let output = r#"{"role":"function","name":"f","content":"No."}"#;
    let held = asked(Dialect::Chat, &[vec![call.to_owned(), output.to_owned()]]);
    assert_eq!(held, Err(HoldViewsError::NoId));
}
