//! Experiments as conversations: an event, and what is to be done.

mod spending;

use super::{Earlier, LabCommand, LabEffect, LabMachine, Leader, OutOfPlace, Question, shuffle};
use crate::lab::{
    Board, Caps, Class, Experiment, LabPhase, LabSample, Stop, TokenCount, TrialEnd, boards,
};
use std::sync::Arc;

/// Trials with these numbers of variants; one question at a time.
fn experiment(trials: &[usize], samples: u32) -> Experiment {
    let names = ["w0", "w1", "w2", "w3"];
    let names: Vec<&[&str]> = trials.iter().map(|variants| &names[..*variants]).collect();
    let board = boards::board(&names, Stop::Never);
    Experiment {
        samples,
        caps: Caps::default(),
        ..Experiment::clone(&board.experiment)
    }
}

const NOBODY: Leader = |_, _| None;

fn machine(experiment: Experiment) -> LabMachine {
    led(experiment, NOBODY)
}

/// An experiment that may cost so many requests and tokens.
fn capped(requests: Option<u32>, tokens: Option<u64>, experiment: Experiment) -> LabMachine {
    machine(Experiment {
        caps: Caps { requests, tokens },
        ..experiment
    })
}

fn led(experiment: Experiment, leader: Leader) -> LabMachine {
    LabMachine::new(Arc::new(experiment), Vec::new(), Vec::new(), leader)
}

fn sample(class: Class) -> LabSample {
    boards::sample(class, 5, 90, 10)
}

/// What an earlier run was answered to questions of these numbers.
fn earlier(class: Class, numbers: &[u32]) -> Earlier {
    let samples = numbers.iter().map(|number| LabSample {
        number: *number,
        ..sample(class)
    });
    Earlier {
        samples: samples.collect(),
        requests: u32::try_from(numbers.len()).unwrap(),
    }
}

fn answer(machine: &mut LabMachine, ask: &LabEffect, class: Class) -> Vec<LabEffect> {
    let LabEffect::Ask(Question {
        trial,
        variant,
        number,
        ..
    }) = *ask
    else {
        panic!("{ask:?}")
    };
    machine.sampled(
        trial,
        variant,
        LabSample {
            number,
            ..sample(class)
        },
    )
}

/// Answers every question in the order in which they come, until nothing is on its way; gives the questions and what came besides.
fn run(
    machine: &mut LabMachine,
    first: Vec<LabEffect>,
    class: Class,
) -> (Vec<(usize, usize)>, Vec<LabEffect>) {
    let mut waiting = first;
    let (mut asked, mut told) = (Vec::new(), Vec::new());
    while !waiting.is_empty() {
        let effect = waiting.remove(0);
        if let LabEffect::Ask(Question { trial, variant, .. }) = effect {
            asked.push((trial, variant));
            waiting.extend(answer(machine, &effect, class));
        } else {
            told.push(effect);
        }
    }
    (asked, told)
}

fn begun(machine: &mut LabMachine) -> Vec<LabEffect> {
    machine.begin()
}

fn only(why: OutOfPlace) -> Vec<LabEffect> {
    vec![LabEffect::OutOfPlace(why)]
}

#[test]
fn every_round_tries_each_wording_of_each_trial_once_in_an_order_of_its_own() {
    let mut machine = machine(experiment(&[3, 2], 4));
    let first = begun(&mut machine);
    let (asked, told) = run(&mut machine, first, Class::Corrected);
    assert_eq!(told, [LabEffect::Ended(TrialEnd::Complete)]);
    let rounds: Vec<Vec<_>> = asked.chunks(5).map(<[_]>::to_vec).collect();
    assert_eq!(rounds.len(), 4);
    for round in &rounds {
        let mut sorted = round.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]);
    }
    assert!(rounds.iter().any(|round| *round != rounds[0]));
    assert_eq!(machine.board().spent.requests, 20);
    assert_eq!(machine.board().phase, LabPhase::Ended(TrialEnd::Complete));
    assert_eq!(machine.board().ended, [Some(TrialEnd::Complete); 2]);
}

#[test]
fn the_same_seed_asks_in_the_same_order() {
    let order = |seed| {
        let mut machine = machine(Experiment {
            seed,
            ..experiment(&[4, 4], 3)
        });
        let first = begun(&mut machine);
        run(&mut machine, first, Class::Corrected).0
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

#[test]
fn no_more_questions_are_on_their_way_than_are_allowed() {
    let mut machine = machine(Experiment {
        concurrency: 3,
        ..experiment(&[2], 4)
    });
    let mut waiting = begun(&mut machine);
    assert_eq!(waiting.len(), 3);
    let mut numbers = Vec::new();
    while let Some(ask) = waiting.pop() {
        if let LabEffect::Ask(Question {
            variant, number, ..
        }) = ask
        {
            numbers.push((variant, number));
            waiting.extend(answer(&mut machine, &ask, Class::GaveUp));
            let on_its_way = machine.board().in_flight.iter().flatten().flatten();
            assert!(on_its_way.count() <= 3);
        }
    }
    numbers.sort_unstable();
    let wanted = (0..2).flat_map(|variant| (0..4).map(move |number| (variant, number)));
    assert_eq!(numbers, wanted.collect::<Vec<_>>());
}

#[test]
fn a_failed_request_uses_up_its_sample_and_five_in_a_row_end_their_trial() {
    let mut machine = machine(experiment(&[1, 1], 10));
    let mut next = begun(&mut machine);
    let mut asked = [0, 0];
    let ended = loop {
        let Some(ask @ LabEffect::Ask(Question { trial, .. })) = next.first().cloned() else {
            break next;
        };
        asked[trial] += 1;
        // The fourth question to the first model is answered: a new row begins.
        let fails = trial == 0 && asked[0] != 4;
        let class = if fails {
            Class::Failed
        } else {
            Class::Corrected
        };
        next = answer(&mut machine, &ask, class);
    };
    assert_eq!(asked, [9, 10]);
    assert_eq!(ended, [LabEffect::Ended(TrialEnd::ModelFailed)]);
    let ends = [Some(TrialEnd::ModelFailed), Some(TrialEnd::Complete)];
    assert_eq!(machine.board().ended, ends);
    assert_eq!(machine.board().answered(0, 0).count(), 1);
}

#[test]
fn at_the_cap_on_requests_nobody_is_asked_and_what_is_on_its_way_is_waited_for() {
    let mut machine = machine(Experiment {
        concurrency: 2,
        caps: Caps {
            requests: Some(3),
            tokens: None,
        },
        ..experiment(&[2], 10)
    });
    let asks = begun(&mut machine);
    let third = answer(&mut machine, &asks[0], Class::Corrected);
    assert_eq!(third.len(), 1);
    assert_eq!(answer(&mut machine, &asks[1], Class::Corrected), []);
    assert_eq!(machine.board().phase, LabPhase::Ending(TrialEnd::Requests));
    assert_eq!(machine.obey(LabCommand::More(5)), only(OutOfPlace::IsSpent));
    let last = answer(&mut machine, &third[0], Class::Corrected);
    assert_eq!(last, [LabEffect::Ended(TrialEnd::Requests)]);
    assert_eq!(machine.board().spent.requests, 3);
    assert_eq!(machine.board().ended, [Some(TrialEnd::Requests)]);
}

#[test]
fn at_the_cap_on_tokens_nobody_is_asked() {
    let mut machine = capped(None, Some(250), experiment(&[1], 10));
    let first = begun(&mut machine);
    let (asked, told) = run(&mut machine, first, Class::Corrected);
    assert_eq!(
        (asked.len(), told),
        (3, vec![LabEffect::Ended(TrialEnd::Tokens)])
    );
}

#[test]
fn a_cap_that_is_reached_by_the_last_sample_cuts_nothing() {
    let mut machine = capped(Some(2), Some(200), experiment(&[1], 2));
    let first = begun(&mut machine);
    let (_, told) = run(&mut machine, first, Class::Corrected);
    assert_eq!(told, [LabEffect::Ended(TrialEnd::Complete)]);
}

const AFTER_THREE: Leader = |board: &Board, trial| {
    let is_clear = board.samples[trial]
        .iter()
        .all(|samples| samples.len() >= 3);
    (trial == 0 && is_clear).then_some(1)
};

#[test]
fn a_trial_with_a_clear_leader_ends_and_the_others_go_on() {
    let stop = Stop::Clear { error_rate: 0.05 };
    let mut machine = led(
        Experiment {
            stop,
            ..experiment(&[2, 1], 5)
        },
        AFTER_THREE,
    );
    let first = begun(&mut machine);
    let (asked, told) = run(&mut machine, first, Class::Corrected);
    let of_first = asked.iter().filter(|(trial, _)| *trial == 0).count();
    assert_eq!((of_first, asked.len()), (6, 11));
    assert_eq!(told, [LabEffect::Ended(TrialEnd::Complete)]);
    let ends = [
        Some(TrialEnd::Clear { leader: 1 }),
        Some(TrialEnd::Complete),
    ];
    assert_eq!(machine.board().ended, ends);
    // More are taken of it, too, and it is not ended again.
    let more = machine.obey(LabCommand::More(2));
    let (asked, _) = run(&mut machine, more, Class::Corrected);
    let of_first = asked.iter().filter(|(trial, _)| *trial == 0).count();
    assert_eq!((of_first, asked.len()), (8, 10));
}

#[test]
fn without_the_wish_to_stop_early_nobody_looks_for_a_leader() {
    let mut machine = led(experiment(&[2], 5), AFTER_THREE);
    let first = begun(&mut machine);
    assert_eq!(run(&mut machine, first, Class::Corrected).0.len(), 10);
}

#[test]
fn a_pause_lets_answers_in_and_asks_nobody() {
    let mut machine = machine(experiment(&[1], 3));
    let asks = begun(&mut machine);
    assert_eq!(machine.obey(LabCommand::Pause), []);
    assert_eq!(machine.obey(LabCommand::Pause), only(OutOfPlace::IsPaused));
    assert_eq!(answer(&mut machine, &asks[0], Class::Corrected), []);
    assert_eq!(machine.board().phase, LabPhase::Paused);
    let next = machine.obey(LabCommand::Resume);
    let ask = LabEffect::Ask(Question {
        trial: 0,
        variant: 0,
        number: 1,
        attempts: 1,
    });
    assert_eq!(next, [ask]);
    assert_eq!(
        machine.obey(LabCommand::Resume),
        only(OutOfPlace::NotPaused)
    );
}

#[test]
fn an_experiment_that_lacks_nothing_any_more_ends_in_a_pause_too() {
    let mut machine = machine(experiment(&[1], 1));
    let asks = begun(&mut machine);
    machine.obey(LabCommand::Pause);
    let last = answer(&mut machine, &asks[0], Class::Corrected);
    assert_eq!(last, [LabEffect::Ended(TrialEnd::Complete)]);
}

#[test]
fn a_stop_calls_off_what_is_on_its_way_and_an_answer_that_crosses_it_counts() {
    let mut machine = machine(Experiment {
        concurrency: 2,
        ..experiment(&[2], 3)
    });
    let asks = begun(&mut machine);
    let stopped = machine.obey(LabCommand::Stop);
    assert_eq!(
        stopped,
        [LabEffect::CallOff, LabEffect::Ended(TrialEnd::Stopped)]
    );
    assert!(
        machine
            .board()
            .in_flight
            .iter()
            .flatten()
            .all(Vec::is_empty)
    );
    assert_eq!(answer(&mut machine, &asks[0], Class::Corrected), []);
    assert_eq!(machine.board().samples[0].iter().flatten().count(), 1);
    assert_eq!(machine.board().phase, LabPhase::Ended(TrialEnd::Stopped));
    for event in [LabCommand::Stop, LabCommand::Pause, LabCommand::Resume] {
        assert_eq!(machine.obey(event), only(OutOfPlace::IsOver));
    }
    assert_eq!(machine.obey(LabCommand::More(1)), only(OutOfPlace::IsSpent));
}

#[test]
fn an_interrupted_experiment_catches_up_first_and_what_it_spent_counts() {
    let earlier = vec![vec![
        earlier(Class::Corrected, &[0, 1, 2]),
        earlier(Class::GaveUp, &[0]),
    ]];
    let mut machine = LabMachine::new(Arc::new(experiment(&[2], 4)), Vec::new(), earlier, NOBODY);
    assert_eq!(machine.board().spent.requests, 4);
    assert_eq!(machine.board().spent.usage.input, 360);
    let first = begun(&mut machine);
    let (asked, told) = run(&mut machine, first, Class::Corrected);
    assert_eq!(asked[..2], [(0, 1), (0, 1)]);
    assert_eq!(
        (asked.len(), told),
        (4, vec![LabEffect::Ended(TrialEnd::Complete)])
    );
}

#[test]
fn an_experiment_that_was_complete_asks_nobody_until_more_is_wanted() {
    let earlier = vec![vec![earlier(Class::Corrected, &[0, 1])]];
    let mut machine = LabMachine::new(Arc::new(experiment(&[1], 2)), Vec::new(), earlier, NOBODY);
    assert_eq!(begun(&mut machine), [LabEffect::Ended(TrialEnd::Complete)]);
    let ask = LabEffect::Ask(Question {
        trial: 0,
        variant: 0,
        number: 2,
        attempts: 1,
    });
    assert_eq!(machine.obey(LabCommand::More(1)), [ask]);
    assert_eq!(machine.board().experiment.samples, 3);
    assert_eq!(machine.board().phase, LabPhase::Running);
}

#[test]
fn of_earlier_samples_no_more_than_are_wanted_are_taken_in_and_all_were_spent() {
    let of_two = earlier(Class::Corrected, &[3, 1, 0, 2]);
    let mut machine = LabMachine::new(
        Arc::new(experiment(&[2], 2)),
        Vec::new(),
        vec![vec![of_two]],
        NOBODY,
    );
    let numbers = machine.board().samples[0][0].iter();
    assert_eq!(
        numbers.map(|sample| sample.number).collect::<Vec<_>>(),
        [0, 1]
    );
    assert_eq!(machine.board().spent.requests, 4);
    let first = begun(&mut machine);
    let (asked, told) = run(&mut machine, first, Class::Corrected);
    assert_eq!(asked, [(0, 1), (0, 1)]);
    assert_eq!(told, [LabEffect::Ended(TrialEnd::Complete)]);
}

#[test]
fn an_experiment_without_trials_is_over_at_once() {
    let mut machine = machine(experiment(&[], 2));
    assert_eq!(begun(&mut machine), [LabEffect::Ended(TrialEnd::Complete)]);
}

#[test]
fn events_that_do_not_belong_are_told_and_change_nothing() {
    let mut machine = machine(experiment(&[1], 1));
    for event in [LabCommand::Pause, LabCommand::Resume, LabCommand::More(1)] {
        assert_eq!(machine.obey(event), only(OutOfPlace::NotBegun));
    }
    let asks = begun(&mut machine);
    assert_eq!(begun(&mut machine), only(OutOfPlace::HasBegun));
    let before = machine.board().clone();
    for (trial, variant) in [(0, 1), (1, 0)] {
        let stray = machine.sampled(trial, variant, sample(Class::Corrected));
        assert_eq!(stray, only(OutOfPlace::NotAsked { trial, variant }));
    }
    assert_eq!(*machine.board(), before);
    answer(&mut machine, &asks[0], Class::Corrected);
    let again = OutOfPlace::NotAsked {
        trial: 0,
        variant: 0,
    };
    assert_eq!(
        answer(&mut machine, &asks[0], Class::Corrected),
        only(again)
    );
}

fn shuffled(seed: u64, round: u32) -> Vec<usize> {
    let mut items: Vec<usize> = (0..6).collect();
    shuffle(&mut items, seed, round);
    items
}

#[test]
fn an_order_holds_each_once_and_is_that_of_its_seed_and_round() {
    let mut sorted = shuffled(1, 0);
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
    assert_eq!(shuffled(1, 0), shuffled(1, 0));
    assert_ne!(shuffled(1, 0), shuffled(2, 0));
    assert_ne!(shuffled(1, 0), shuffled(1, 1));
}

#[test]
fn each_is_first_about_equally_often() {
    let mut first = [0_u32; 6];
    for seed in 0..6000 {
        first[shuffled(seed, 3)[0]] += 1;
    }
    assert!(
        first.iter().all(|count| (850..1150).contains(count)),
        "{first:?}"
    );
}
