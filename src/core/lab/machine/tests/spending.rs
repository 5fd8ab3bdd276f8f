//! What is on its way, in which order it counts, and what it costs.

use super::*;
use crate::session::ledger::Usage;

#[test]
fn a_slow_answer_holds_one_place_only_and_what_came_before_it_is_on_the_board() {
    let mut machine = machine(Experiment {
        concurrency: 2,
        ..experiment(&[1], 5)
    });
    let mut asks = begun(&mut machine);
    let slow = asks.remove(0);
    let mut quick = asks;
    for number in 1..5 {
        assert_eq!(quick.len(), 1, "{number}");
        quick = answer(&mut machine, &quick[0], Class::GaveUp);
        assert_eq!(machine.board().samples[0][0].len(), number);
    }
    assert_eq!(machine.board().in_flight, [[[0]]]);
    let last = answer(&mut machine, &slow, Class::Corrected);
    assert_eq!(last, [LabEffect::Ended(TrialEnd::Complete)]);
    let samples = machine.board().samples[0][0].iter();
    let numbers: Vec<u32> = samples.map(|sample| sample.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
}

#[test]
fn a_sequential_test_hears_answers_in_the_order_in_which_they_were_asked_for() {
    let three: Leader = |board, trial| (board.in_order(trial, 0).count() >= 3).then_some(0);
    let mut machine = led(
        Experiment {
            concurrency: 4,
            stop: Stop::Clear { error_rate: 0.05 },
            ..experiment(&[1], 9)
        },
        three,
    );
    let asks = begun(&mut machine);
    for ask in &asks[1..] {
        answer(&mut machine, ask, Class::Corrected);
        assert_eq!(machine.board().ended, [None]);
        assert_eq!(machine.board().in_order(0, 0).count(), 0);
    }
    answer(&mut machine, &asks[0], Class::Corrected);
    assert_eq!(machine.board().ended, [Some(TrialEnd::Clear { leader: 0 })]);
}

#[test]
fn what_is_sent_again_counts_and_nothing_is_above_the_cap() {
    let mut machine = capped(Some(3), None, experiment(&[1], 5));
    let question = |number| Question {
        trial: 0,
        variant: 0,
        number,
        attempts: 1,
    };
    let cut = TokenCount::of(Usage::default(), 400, 0);
    let first = begun(&mut machine);
    assert!(machine.may_ask_again(question(0), cut));
    assert!(
        !machine.may_ask_again(question(1), cut),
        "nobody asked that"
    );
    let second = answer(&mut machine, &first[0], Class::Corrected);
    assert!(!machine.may_ask_again(question(1), cut));
    let last = answer(&mut machine, &second[0], Class::Failed);
    assert_eq!(last, [LabEffect::Ended(TrialEnd::Requests)]);
    let spent = machine.board().spent;
    assert_eq!((spent.requests, spent.estimated_tokens()), (3, 100));
}

#[test]
fn tokens_that_nobody_counted_are_estimated_for_the_cap() {
    let mut machine = capped(None, Some(250), experiment(&[1], 10));
    let mut next = begun(&mut machine);
    for number in 0..3 {
        let sample = LabSample {
            number,
            tokens: TokenCount::of(Usage::default(), 320, 77),
            ..sample(Class::GaveUp)
        };
        let (trial, variant) = (0, 0);
        next = machine.sampled(trial, variant, sample);
    }
    assert_eq!(next, [LabEffect::Ended(TrialEnd::Tokens)]);
    let spent = machine.board().spent;
    assert_eq!(spent.usage, Usage::default());
    assert_eq!((spent.estimated_tokens(), spent.tokens()), (300, 300));
}

#[test]
fn what_an_earlier_run_was_not_answered_is_asked_first_and_failed_requests_count() {
    let mut before = earlier(Class::Corrected, &[3, 0]);
    before.requests = 9;
    let earlier = vec![vec![before]];
    let mut machine = LabMachine::new(Arc::new(experiment(&[1], 6)), Vec::new(), earlier, NOBODY);
    assert_eq!(machine.board().spent.requests, 9);
    assert_eq!(machine.board().in_order(0, 0).count(), 1);
    let mut next = begun(&mut machine);
    let mut numbers = Vec::new();
    while let Some(ask @ LabEffect::Ask(Question { number, .. })) = next.first().cloned() {
        numbers.push(number);
        next = answer(&mut machine, &ask, Class::Corrected);
    }
    assert_eq!(numbers, [1, 2, 4, 5]);
    assert_eq!(machine.board().in_order(0, 0).count(), 6);
}
