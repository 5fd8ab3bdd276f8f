//! How long to wait before something is tried again.

use super::event::ModelFault;
use super::policy::Millis;

/// How often a question to the model is tried in all.
pub const ATTEMPTS: u32 = 3;
/// The first wait before another request; it doubles.
const BASE: Millis = 1000;
/// The longest wait for a model.
const CAP: Millis = 60_000;
/// A provider that wants more than this is not waited for without asking.
const ABSURD: Millis = 10 * 60_000;

/// What is to be done after a model did not reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelDelay {
    /// Another request follows after so many milliseconds.
    After(Millis),
    /// The operator decides; the text says why.
    Ask(String),
}

/// The wait before the next attempt when `attempt`, from 1, has failed: `base_ms` doubled with each attempt,
/// `cap_ms` at most, times something from 0.875 to 1.125, so that not all who failed together come back
/// together. The same seed gives the same wait.
pub fn delay(base_ms: Millis, attempt: u32, cap_ms: Millis, seed: u64) -> Millis {
    let doubled = 1_u64
        .checked_shl(attempt.saturating_sub(1))
        .and_then(|factor| base_ms.checked_mul(factor));
    let wait = doubled.map_or(cap_ms, |wait| wait.min(cap_ms));
    let thousandths = 875 + mixed(seed ^ u64::from(attempt)) % 251;
    let whole = u128::from(wait) * u128::from(thousandths) / 1000;
    Millis::try_from(whole).unwrap_or(Millis::MAX)
}

/// What is to be done after an attempt to ask the model, from 1, has failed: two more for faults that may pass,
/// none for others, and none where a part of the reply was seen already. A wait that the provider asks for is
/// kept up to a minute.
pub fn model_delay(fault: &ModelFault, attempt: u32, seed: u64) -> ModelDelay {
    let is_recoverable = fault.is_recoverable && fault.status.is_none_or(is_recoverable_status);
    if !is_recoverable {
        return ModelDelay::Ask(fault.why.clone());
    }
    if fault.was_streaming {
        let why = format!("{}; a part of the reply had come already", fault.why);
        return ModelDelay::Ask(why);
    }
    if attempt >= ATTEMPTS {
        let why = format!("{}; it was tried {attempt} times", fault.why);
        return ModelDelay::Ask(why);
    }
    match fault.retry_after_ms {
        Some(wait) if wait > ABSURD => {
            let minutes = wait / 60_000;
            let why = format!("{}; the provider asks to wait {minutes} minutes", fault.why);
            ModelDelay::Ask(why)
        }
        Some(wait) => ModelDelay::After(wait.min(CAP)),
        None => ModelDelay::After(delay(BASE, attempt, CAP, seed)),
    }
}

/// Whether a request with this HTTP status may succeed a moment later.
pub fn is_recoverable_status(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500..=599)
}

/// Spreads a seed over all bits (the finaliser of SplitMix64).
fn mixed(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests;
