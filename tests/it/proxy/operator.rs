//! An operator is there: what is held waits for him, and its client hears that it is waited for.

use super::speech::{Agent, BAD, GOOD, body, http, turn, ways};
use super::stage::{PATIENCE, Stage, upstream};
use retake_core::actions::{self, ActionContext, ActionError, ActionInput, Plan};
use retake_core::exchange::{ExchangeEnding, ExchangeId, ExchangePhase};
use retake_core::rules::{Finding, Run, beside};
use retake_core::session::Dialect;
use retake_core::session::takes::{Take, TakeCause};
use retake_live::TakeStore;
use retake_live::live::{RunInput, RunNews};
use retake_live::proxy::holds::HoldHandle;
use retake_live::proxy::{Proxy, ProxyCommand};
use retake_live::takes::wall_clock;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The lines of a client that waits for a second only.
const SHORT: &str = "User-Agent: OpenAI/Python 3.52.0\r\nX-Stainless-Lang: python\r\nX-Stainless-Read-Timeout: 1\r\n";

/// Sits down at a held exchange and mends the finding of a rule, as the screen does it; gives the finding.
#[track_caller]
pub(super) fn mends(stage: &Stage, id: u32, rule: &str, action: &str) -> Finding {
    mends_at(&mut sits(stage, id), rule, action)
}

/// The same at a seat that is taken already, and stays taken.
#[track_caller]
pub(super) fn mends_at(seat: &mut HoldHandle, rule: &str, action: &str) -> Finding {
    let choice = ActionInput {
        words: (action != "take-suggestion").then_some("it is not known what came of it"),
        confirmed: true,
        ..ActionInput::default()
    };
    let plan = actions::find(action).unwrap().plan;
    let mended = mends_by(seat, rule, action, |scene| plan(scene, &choice));
    mended.unwrap()
}

/// The same as it is planned, or why it is not done.
pub(super) fn mends_by(
    seat: &mut HoldHandle,
    rule: &str,
    action: &str,
    plan: impl FnOnce(&ActionContext<'_>) -> Result<Plan, ActionError>,
) -> Result<Finding, String> {
    let (mut bench, _) = TakeStore::open_run(seat.journal().unwrap(), wall_clock).unwrap();
    let news = seat.start(&mut bench).unwrap();
    let judged = news.into_iter().rev().find_map(|news| match news {
        RunNews::Judged(judged) => Some(judged),
        _ => None,
    });
    let judged = judged.unwrap();
    let (session, findings) = (&judged.recording().sessions[0], judged.findings());
    let finding = findings.iter().find(|one| one.rule.id == rule);
    let finding = finding.ok_or("it is not found")?;
    let beside = beside(session, findings, finding);
    let scene = Run::new(session, None);
    let scene = scene.scene(finding.defect(), &beside).unwrap();
    let planned = plan(&scene).map_err(|refusal| refusal.to_string())?;
    let about = Take {
        title: action.to_owned(),
        cause: TakeCause {
            rule: Some(rule.to_owned()),
            item: finding.item,
            action: Some(action.to_owned()),
            ..TakeCause::default()
        },
        ..Take::default()
    };
    bench.go_to(seat.take()).unwrap();
    let take = bench.take(0, session, &planned.edits, about).unwrap();
    seat.handle(&mut bench, RunInput::Edited(take));
    Ok(finding.clone())
}

/// The seat of a held exchange, as soon as it is free.
#[track_caller]
pub(super) fn sits(stage: &Stage, id: u32) -> HoldHandle {
    seat_of(stage.proxy.as_ref().unwrap(), id)
}

/// The same at a proxy.
#[track_caller]
pub(super) fn seat_of(proxy: &Proxy, id: u32) -> HoldHandle {
    let since = Instant::now();
    loop {
        if let Some(seat) = proxy.take_over(ExchangeId(id), Arc::new(|| ())) {
            return seat;
        }
        assert!(since.elapsed() < PATIENCE, "the seat is never free");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn released() -> ExchangeEnding {
    ExchangeEnding::Released {
        by: "operator".to_owned(),
    }
}

#[test]
fn a_finished_request_is_sent_again_as_an_exchange_of_its_own() {
    for (dialect, streams) in ways() {
        let answers = [turn("1", "Hello.", &[]), turn("2", "I look.", &[BAD])];
        let answers = answers.iter().map(|answer| http(dialect, streams, answer));
        let stage = Stage::attended(upstream(answers.collect()));
        let mut client = stage.send(&Agent::new((dialect, streams)), "X-Api-Key: key-1\r\n");
        client.receive(PATIENCE);
        stage.over(1);
        stage.command(&ProxyCommand::Replay(ExchangeId(1)));
        let seen = stage.over(2);
        assert_eq!(seen.client, "replay of 1");
        assert_eq!(seen.phase, ExchangePhase::Ended(ExchangeEnding::Passed));
        let is_marked = |note: &String| note.contains("the operator sent exchange 1 again");
        assert!(seen.notes.iter().any(is_marked), "{:?}", seen.notes);
        assert_eq!(stage.found(), ["unknown-tool"]);
        let asked = stage.upstream.requests();
        assert_eq!(asked[0].body, asked[1].body);
        assert_eq!(asked[1].header("x-api-key"), Some("key-1"));
        stage.command(&ProxyCommand::Replay(ExchangeId(9)));
        let words = "exchange 9 cannot be sent again";
        let is_said = || stage.notices().iter().any(|notice| notice.contains(words));
        let since = Instant::now();
        while !is_said() {
            assert!(since.elapsed() < PATIENCE, "{:?}", stage.notices());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_reply_that_is_released_is_what_came() {
    for (dialect, streams) in ways() {
        let answer = turn("1", "Let me look.", &[GOOD, BAD]);
        let stage = Stage::attended(upstream(vec![http(dialect, streams, &answer)]));
        let mut client = stage.send(&Agent::new((dialect, streams)), "");
        let why = stage.held(1);
        assert!(why.contains("serch"), "{why}");
        stage.command(&ProxyCommand::Release(ExchangeId(1)));
        let got = client.receive(PATIENCE);
        assert!(got.is_whole);
        let whole = body(dialect, streams, &answer);
        assert_eq!(got.body.trim_ascii_start(), whole, "{dialect:?} {streams}");
        assert_eq!(stage.ending(1), released());
        assert_eq!(stage.upstream.requests().len(), 1);
        assert_eq!(stage.over(1).found[0].rule, "unknown-tool");
    }
}

#[test]
fn what_is_cut_ends_without_an_end() {
    for (dialect, streams) in ways() {
        let stage = Stage::attended(upstream(vec![http(
            dialect,
            streams,
            &turn("1", "I look.", &[BAD]),
        )]));
        let mut client = stage.send(&Agent::new((dialect, streams)), "");
        stage.held(1);
        stage.command(&ProxyCommand::Cut(ExchangeId(1)));
        let got = client.receive(PATIENCE);
        assert!(
            !got.is_whole && got.is_closed,
            "{dialect:?} {streams}: {got:?}"
        );
        assert!(!got.text().contains("serch"));
        assert_eq!(stage.ending(1), ExchangeEnding::Cut);
    }
}

#[test]
fn interception_that_is_switched_off_lets_everything_go_and_holds_nothing_more() {
    let (dialect, streams) = (Dialect::Anthropic, true);
    let stage = Stage::attended(upstream(vec![http(
        dialect,
        streams,
        &turn("1", "", &[BAD]),
    )]));
    let agent = Agent::new((dialect, streams));
    let mut clients = vec![stage.send(&agent, "")];
    stage.held(1);
    clients.push(stage.send(&agent, ""));
    stage.held(2);
    stage.command(&ProxyCommand::Intercept(false));
    for client in &mut clients {
        assert!(client.receive(PATIENCE).text().contains("serch"));
    }
    assert!(stage.ask(&agent).text().contains("serch"));
    assert_eq!(stage.ending(3), ExchangeEnding::Passed);
    stage.command(&ProxyCommand::Intercept(true));
    let mut client = stage.send(&agent, "");
    stage.held(4);
    stage.command(&ProxyCommand::ReleaseAll);
    assert!(client.receive(PATIENCE).is_whole);
}

#[test]
fn b03_b04_a_client_hears_that_it_is_waited_for_and_reads_the_reply_all_the_same() {
    for (dialect, streams) in ways() {
        let answer = turn("1", "Let me look.", &[BAD]);
        let stage = Stage::attended(upstream(vec![http(dialect, streams, &answer)]));
        let mut agent = Agent::new((dialect, streams));
        let mut client = stage.send(&agent, SHORT);
        stage.held(1);
        // Longer than the client waits in silence.
        let since = Instant::now();
        let beat = match (dialect, streams) {
            (Dialect::Anthropic, true) => "event: ping",
            (Dialect::Converse, true) => "ping",
            (_, true) => ": held by retake",
            (_, false) => "\r\n \r\n",
        };
        client.until_comes(beat);
        std::thread::sleep(Duration::from_millis(1_500).saturating_sub(since.elapsed()));
        assert!(matches!(
            stage.seen(1).unwrap().phase,
            ExchangePhase::Held(_)
        ));
        stage.command(&ProxyCommand::ReleaseAll);
        let got = client.receive(PATIENCE);
        let sends_pings = matches!(dialect, Dialect::Anthropic | Dialect::Converse);
        assert!(sends_pings || !got.text().contains("ping"));
        assert_eq!(agent.reads(&got).len(), 1);
        if !streams {
            assert!(got.text().starts_with("   "), "{:?}", got.text());
        }
        assert_eq!(stage.ending(1), released());
    }
}

#[test]
fn who_hears_nothing_is_answered_before_he_gives_up() {
    // A whole reply has no head before its status is known, so a held request is waited for in silence.
    let stage = Stage::attended(upstream(vec![http(
        Dialect::Chat,
        false,
        &turn("1", "Warm.", &[]),
    )]));
    let mut agent = Agent::new((Dialect::Chat, false));
    agent
        .history
        .push(super::speech::output(Dialect::Chat, GOOD.0, "9 degrees"));
    let since = Instant::now();
    let got = stage.send(&agent, SHORT).receive(PATIENCE);
    assert_eq!(got.status, Some(200));
    assert!(since.elapsed() >= Duration::from_millis(800));
    let ExchangeEnding::Released { by } = stage.ending(1) else {
        panic!("released");
    };
    assert!(by.contains("given up"), "{by}");
}
