//! Turns of very many calls.

use super::*;
use std::time::{Duration, Instant};

/// How long it takes at best to put back what an agent has not seen of a turn with so many calls of each kind.
fn restoring(count: usize) -> Duration {
    let dialect = Dialect::Responses;
    let calls = |kind: &str| -> Vec<Call> {
        let ids = (0..count).map(|number| format!("call_{kind}_a1b2c3d4{number:06}"));
        ids.map(|id| Call(id.leak(), "read", "{}")).collect()
    };
    let (good, bad) = (calls("good"), calls("bad"));
    let both = turn(dialect, "1", None, &[&good[..], &bad[..]].concat());
    let answered = |calls: &[Call]| -> Vec<String> {
        let answered: Vec<_> = calls.iter().map(|call| (*call, "none")).collect();
        outputs(dialect, &answered)
    };
    let base = request(dialect, &[vec![user("go")]]);
    let taken = [both, answered(&bad)].concat();
    let whole = request(dialect, &[vec![user("go")], taken]);
    let held = hold_views(dialect, base.as_bytes(), whole.as_bytes()).unwrap();
    let mut views = Views::default();
    views.remember(dialect, &held, &[]);
    let history = [vec![user("go")], held.agent, answered(&good)];
    let asked = request(dialect, &history);
    let times = (0..9).map(|_| {
        let since = Instant::now();
        let sent = restored(&views, dialect, &asked);
        let took = since.elapsed();
        assert_eq!(sent.matches("call_bad").count(), 3 * count, "{count}");
        took
    });
    times.min().unwrap()
}

#[test]
fn the_time_for_a_turn_goes_with_the_number_of_its_calls() {
    // Eight times as many; 64 times as long if each call were compared with each. Another process may disturb
    // one measurement, but not each of them.
    let mut measured = (0..5).map(|_| (restoring(100), restoring(800)));
    assert!(measured.any(|(few, many)| many < few * 24));
}
