//! Waits as stories: who is asked again, when, and who is not.

use super::*;
use proptest::prelude::*;

fn fault(status: Option<u16>) -> ModelFault {
    ModelFault {
        status,
        why: "no luck".to_owned(),
        is_recoverable: true,
        retry_after_ms: None,
        was_streaming: false,
    }
}

fn asks(fault: &ModelFault, attempt: u32) -> Option<String> {
    match model_delay(fault, attempt, 1) {
        ModelDelay::Ask(why) => Some(why),
        ModelDelay::After(_) => None,
    }
}

#[test]
fn a_model_is_asked_twice_more_and_then_the_operator() {
    for status in [
        None,
        Some(408),
        Some(409),
        Some(429),
        Some(500),
        Some(503),
        Some(529),
    ] {
        let fault = fault(status);
        assert_eq!(asks(&fault, 1), None, "{status:?}");
        assert_eq!(asks(&fault, 2), None, "{status:?}");
        let why = asks(&fault, 3);
        assert_eq!(why.as_deref(), Some("no luck; it was tried 3 times"));
    }
}

#[test]
fn what_would_fail_again_is_the_operators_at_once() {
    for status in [400, 401, 403, 404, 422] {
        assert_eq!(asks(&fault(Some(status)), 1).as_deref(), Some("no luck"));
    }
    let unknown = ModelFault {
        is_recoverable: false,
        ..fault(None)
    };
    assert!(asks(&unknown, 1).is_some());
    let broken_off = ModelFault {
        was_streaming: true,
        ..fault(None)
    };
    let why = asks(&broken_off, 1);
    assert_eq!(
        why.as_deref(),
        Some("no luck; a part of the reply had come already")
    );
}

#[test]
fn what_the_provider_asks_for_is_kept_up_to_a_minute_and_absurd_waits_are_asked_about() {
    let after = |wait| {
        let fault = ModelFault {
            retry_after_ms: Some(wait),
            ..fault(Some(429))
        };
        model_delay(&fault, 1, 1)
    };
    assert_eq!(after(0), ModelDelay::After(0));
    assert_eq!(after(7_000), ModelDelay::After(7_000));
    assert_eq!(after(90_000), ModelDelay::After(60_000));
    let absurd = "no luck; the provider asks to wait 16666666 minutes";
    assert_eq!(after(1_000_000_000_000), ModelDelay::Ask(absurd.to_owned()));
    assert!(matches!(after(u64::MAX), ModelDelay::Ask(_)));
}

proptest! {
    #[test]
    fn waits_double_up_to_the_cap_with_a_little_more_or_less(
        base in 0_u64..100_000, attempt in 0_u32..100, cap in 0_u64..1_000_000, seed: u64
    ) {
        let exact = (u128::from(base) << attempt.saturating_sub(1).min(64)).min(u128::from(cap));
        let wait = delay(base, attempt, cap, seed);
        prop_assert_eq!(wait, delay(base, attempt, cap, seed), "the same seed, the same wait");
        let thousandths = u128::from(wait) * 1000;
        prop_assert!(thousandths <= exact * 1125 && thousandths + 1000 > exact * 875);
    }

    #[test]
    fn nothing_overflows(base: u64, attempt: u32, cap: u64, seed: u64) {
        let wait = delay(base, attempt, cap, seed);
        prop_assert!(u128::from(wait) <= u128::from(cap) * 1125 / 1000);
    }
}

#[test]
fn those_who_failed_together_do_not_come_back_together() {
    let waits: std::collections::BTreeSet<u64> =
        (0..100).map(|seed| delay(1000, 1, 60_000, seed)).collect();
    assert!(waits.len() > 50, "{waits:?}");
    assert!(waits.first() >= Some(&875) && waits.last() <= Some(&1125));
}
