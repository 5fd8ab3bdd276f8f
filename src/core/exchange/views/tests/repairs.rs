//! What was repaired once before it left is repaired again in every later request, as long as it fits.

use super::spelling::respelled;
use super::*;
use std::slice::from_ref;

/// A conversation with an open call, and the same with its output put in.
fn orphan(dialect: Dialect) -> (Vec<String>, Vec<String>) {
    let call = turn(dialect, "1", None, &[GOOD]);
    let before = [vec![user("go")], call.clone()].concat();
    let next = user("and?");
    let mended = match dialect {
        Dialect::Anthropic => {
            let result = outputs(dialect, &[(GOOD, "Aborted.")]);
            let text = r#",{"type":"text","text":"and?"}]"#;
            vec![result[0].replace(']', text)]
        }
        _ => [outputs(dialect, &[(GOOD, "Aborted.")]), vec![next.clone()]].concat(),
    };
    (
        [before.clone(), vec![next]].concat(),
        [before, mended].concat(),
    )
}

#[test]
fn a_repair_is_made_again_in_every_later_request() {
    for dialect in DIALECTS {
        let (was, now) = orphan(dialect);
        let mut views = Views::default();
        let (was_body, now_body) = (
            request(dialect, from_ref(&was)),
            request(dialect, from_ref(&now)),
        );
        views.remember_repair(dialect, was_body.as_bytes(), now_body.as_bytes());
        let (mut agent, mut provider) = (was, now);
        for later in 0..5 {
            let sent = restored(&views, dialect, &request(dialect, &[agent.clone()]));
            assert_same(
                dialect,
                &sent,
                &request(dialect, &[provider.clone()]),
                "repair",
            );
            assert_eq!(complaints(&sent), [""; 0], "{sent}");
            let more = [
                turn(dialect, &format!("later{later}"), Some("Ok."), &[]),
                vec![user("on")],
            ];
            agent.extend(more.concat());
            provider.extend(more.concat());
        }
    }
}

#[test]
fn marks_for_a_cache_may_have_moved_on() {
    let dialect = Dialect::Anthropic;
    let (was, now) = orphan(dialect);
    let block = |mark: &str| {
        vec![format!(
            r#"{{"role":"user","content":[{{"type":"text","text":"and?"{mark}}}]}}"#
        )]
    };
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let body = |elements: &[Vec<String>]| request(dialect, elements);
    let was = was[..2].to_vec();
    let mended = now[2].replace(r#""and?"}"#, &format!(r#""and?"{mark}}}"#));
    let mut views = Views::default();
    let marked = body(&[was.clone(), block(mark)]);
    let repaired = body(&[was.clone(), vec![mended]]);
    views.remember_repair(dialect, marked.as_bytes(), repaired.as_bytes());
    let later = [turn(dialect, "3", Some("Ok."), &[]), block(mark)].concat();
    let sent = restored(&views, dialect, &body(&[was, block(""), later]));
    assert_eq!(sent.matches("cache_control").count(), 1, "{sent}");
    assert!(sent.contains("Aborted."), "{sent}");
}

#[test]
fn a_repair_is_not_made_where_the_agent_has_made_it_itself() {
    for dialect in [Dialect::Responses, Dialect::Chat] {
        let (was, now) = orphan(dialect);
        let mut views = Views::default();
        views.remember_repair(
            dialect,
            request(dialect, from_ref(&was)).as_bytes(),
            request(dialect, &[now]).as_bytes(),
        );
        let late = outputs(dialect, &[(GOOD, "here it is")]);
        let mended = request(
            dialect,
            &[was[..was.len() - 1].to_vec(), late, vec![user("and?")]],
        );
        assert_eq!(views.restore(dialect, mended.as_bytes()), None);
    }
}

#[test]
fn what_was_dropped_or_changed_is_so_again_and_only_there() {
    for dialect in DIALECTS {
        let error = outputs(dialect, &[(BAD, "lost")]);
        let was = [
            vec![user("go")],
            error.clone(),
            vec![user("go"), user("now")],
        ]
        .concat();
        let now = [user("go"), user("went"), user("now")].to_vec();
        let mut views = Views::default();
        let body = |elements: &[String]| request(dialect, &[elements.to_vec()]);
        views.remember_repair(dialect, body(&was).as_bytes(), body(&now).as_bytes());
        let more = turn(dialect, "1", Some("Ok."), &[]);
        let sent = restored(
            &views,
            dialect,
            &body(&[was.clone(), more.clone(), vec![user("go")]].concat()),
        );
        let expected = [now, more, vec![user("go")]].concat();
        assert_same(dialect, &sent, &body(&expected), "dropped");
        let other = body(&[vec![user("another conversation")], was].concat());
        assert_eq!(views.restore(dialect, other.as_bytes()), None);
    }
}

#[test]
fn a_call_that_was_dropped_stays_once_its_output_has_come() {
    for dialect in DIALECTS {
        let call = turn(dialect, "1", Some("So."), &[GOOD]);
        let mended = turn(dialect, "1", Some("So."), &[]);
        let body = |elements: &[Vec<String>]| request(dialect, elements);
        let was = body(&[vec![user("go")], call.clone(), vec![user("and?")]]);
        let now = body(&[vec![user("go")], mended, vec![user("and?")]]);
        let mut views = Views::default();
        views.remember_repair(dialect, was.as_bytes(), now.as_bytes());
        assert!(views.restore(dialect, was.as_bytes()).is_some());
        let late = body(&[vec![user("go")], call, outputs(dialect, &[(GOOD, "x")])]);
        assert_eq!(views.restore(dialect, late.as_bytes()), None);
    }
}

#[test]
fn instructions_with_a_date_do_not_hide_what_was_repaired() {
    let dialect = Dialect::Chat;
    let (was, now) = orphan(dialect);
    let dated = |day: &str, list: &[String]| {
        let system = format!(r#"{{"role":"system","content":"Today is {day}."}}"#);
        request(dialect, &[vec![system], list.to_vec()])
    };
    let mut views = Views::default();
    views.remember_repair(
        dialect,
        dated("Monday", &was).as_bytes(),
        dated("Monday", &now).as_bytes(),
    );
    let sent = restored(&views, dialect, &dated("Tuesday", &was));
    assert_same(dialect, &sent, &dated("Tuesday", &now), "dates");
}

#[test]
fn a_told_turn_and_a_repair_behind_it_go_together() {
    for dialect in DIALECTS {
        let mut views = Views::default();
        let base = request(dialect, &[vec![user("go")]]);
        let taken = [
            turn(dialect, "0", None, &[THEN, BAD]),
            outputs(dialect, &[(BAD, "No.")]),
        ];
        let whole = request(dialect, &[vec![user("go")], taken.concat()]);
        let held = hold_views(dialect, base.as_bytes(), whole.as_bytes()).unwrap();
        views.remember(dialect, &held, &[]);
        let (was, now) = orphan(dialect);
        let head = [
            vec![user("go")],
            held.agent,
            outputs(dialect, &[(THEN, "x")]),
            turn(dialect, "5", Some("Ok."), &[]),
        ]
        .concat();
        let body = |tail: &[String]| {
            restored(
                &views,
                dialect,
                &request(dialect, &[head.clone(), tail.to_vec()]),
            )
        };
        let (original, repaired) = (body(&was), body(&now));
        views.remember_repair(dialect, original.as_bytes(), repaired.as_bytes());
        // Agents that leave ids away do so from the first request on.
        let respelled = match dialect {
            Dialect::Responses => was.clone(),
            _ => was.iter().map(|element| respelled(element)).collect(),
        };
        for tail in [was, respelled] {
            let sent = restored(&views, dialect, &request(dialect, &[head.clone(), tail]));
            assert_eq!(complaints(&sent), [""; 0], "{sent}");
            assert!(sent.contains("Aborted.") && sent.contains("No."), "{sent}");
        }
    }
}

#[test]
fn a_turn_that_was_told_behind_a_repair_is_put_back_behind_it() {
    for dialect in DIALECTS {
        let (was, now) = orphan(dialect);
        let body = |elements: &[Vec<String>]| request(dialect, elements);
        let mut views = Views::default();
        let repaired = body(from_ref(&now));
        views.remember_repair(
            dialect,
            body(from_ref(&was)).as_bytes(),
            repaired.as_bytes(),
        );
        let hidden = [
            turn(dialect, "8", Some("Let me see. "), &[BAD]),
            outputs(dialect, &[(BAD, "Tool not found.")]),
            turn(dialect, "9", None, &[THEN]),
        ]
        .concat();
        let whole = body(&[now.clone(), hidden.clone()]);
        let held = hold_views(dialect, repaired.as_bytes(), whole.as_bytes()).unwrap();
        views.remember(dialect, &held, &[]);
        let output = outputs(dialect, &[(THEN, "fn b() {}")]);
        let sent = restored(&views, dialect, &body(&[was, held.agent, output.clone()]));
        let expected = body(&[now, hidden, output]);
        assert_same(dialect, &sent, &expected, "a turn behind a repair");
        assert_eq!(complaints(&sent), [""; 0], "{sent}");
        assert_eq!(views.restore(dialect, sent.as_bytes()), None);
    }
}
