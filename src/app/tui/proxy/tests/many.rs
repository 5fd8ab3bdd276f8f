//! Many exchanges: bounded memory, few wakes.

use super::super::inbox::{Inbox, PAUSE};
use super::super::rows::KEPT;
use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Instant;

#[test]
fn ten_thousand_news_wake_the_screen_a_few_times_and_none_is_lost() {
    let (sender, receiver) = channel();
    let inbox = Arc::new(Inbox::default());
    let wakes = Arc::new(AtomicUsize::new(0));
    let (filled, counted) = (inbox.clone(), wakes.clone());
    let began = Instant::now();
    let worker = std::thread::spawn(move || {
        filled.fill(&receiver, || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
    });
    let mut board = board(0);
    for round in 0..2 {
        for id in 1..=5000 {
            let phase = match round {
                0 => ExchangePhase::Waiting,
                _ => ExchangePhase::Ended(ExchangeEnding::Passed),
            };
            sender.send(news(exchange(id, phase))).unwrap();
            if id % 100 == 0 {
                board.hear(inbox.take());
            }
        }
    }
    drop(sender);
    worker.join().unwrap();
    board.hear(inbox.take());
    let most = began.elapsed().as_millis() / PAUSE.as_millis() + 2;
    let wakes = wakes.load(Ordering::Relaxed);
    assert!(wakes >= 1 && wakes as u128 <= most, "{wakes} of {most}");
    assert!(wakes < 1000, "{wakes}");
    let totals = board.rows.totals();
    assert_eq!((totals.all, totals.open), (5000, 0));
}

#[test]
fn what_waits_while_nobody_looks_is_bounded() {
    let (sender, receiver) = channel();
    for id in 1..=u32::try_from(3 * KEPT).unwrap() {
        sender
            .send(news(exchange(id, ExchangePhase::Waiting)))
            .unwrap();
        sender
            .send(ProxyNews::Output {
                text: "x".to_owned(),
                is_error: false,
            })
            .unwrap();
    }
    drop(sender);
    let inbox = Inbox::default();
    inbox.fill(&receiver, || {});
    assert!(inbox.take().len() <= 2 * KEPT + 4000);
}

#[test]
fn the_list_keeps_the_newest_and_whatever_is_held() {
    let mut board = board(0);
    board.hear(vec![news(held(1, None))]);
    let count = u32::try_from(2 * KEPT).unwrap();
    let ids: Vec<u32> = (2..=count).collect();
    for some in ids.chunks(500) {
        let seen = some
            .iter()
            .map(|id| exchange(*id, ExchangePhase::Ended(ExchangeEnding::Passed)));
        board.hear(seen.map(news).collect());
    }
    assert_eq!(board.rows.listed(), KEPT);
    assert_eq!(board.rows.totals().all, 2 * KEPT);
    press(&mut board, "g");
    assert_eq!(board.here(), Some(ExchangeId(1)));
    press(&mut board, "j");
    assert_eq!(board.here(), Some(ExchangeId(count - 9998)));
    // What fell out does not come back.
    board.hear(vec![news(exchange(
        2,
        ExchangePhase::Ended(ExchangeEnding::Passed),
    ))]);
    assert!(board.of(ExchangeId(2)).is_none());
    assert!(screen(&board, (100, 14)).contains("20000 exchanges"));
}

#[test]
fn long_texts_are_cut_before_they_are_kept() {
    let mut board = board(0);
    let long = "x".repeat(1 << 20);
    let mut seen = held(1, None);
    seen.model = long.clone();
    seen.found[0].message = long;
    board.hear(vec![news(seen)]);
    let kept = board.of(ExchangeId(1)).unwrap();
    assert!(kept.model.len() <= 400 && kept.found[0].message.len() <= 400);
}
