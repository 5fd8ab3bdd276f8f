//! Whether an agent survived a fault.

use super::course::Injection;
use super::faults::Silence;
use serde::Serialize;

/// What became of an agent that got a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It went on, or ended as it may.
    Survived,
    /// It ended with an error.
    Killed,
    /// It did not end in time.
    Hung,
    /// It ended well without asking again: it has taken the fault for an answer.
    Unnoticed,
    /// It never came to where the fault fits.
    NotReached,
}

impl Outcome {
    /// All, in the order of reports.
    pub const ALL: [Self; 5] = [
        Self::Survived,
        Self::Killed,
        Self::Hung,
        Self::Unnoticed,
        Self::NotReached,
    ];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Survived => "survived",
            Self::Killed => "killed",
            Self::Hung => "hung",
            Self::Unnoticed => "unnoticed",
            Self::NotReached => "not reached",
        }
    }

    /// Whether it speaks against the agent.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Killed | Self::Hung | Self::Unnoticed)
    }
}

/// How an agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code; `None` where a signal ended it.
    Exit(Option<i32>),
    /// It was ended, because it did not in time.
    TimedOut,
}

/// What became of an agent that was started for one trial.
pub fn outcome(injection: Option<&Injection>, end: End) -> Outcome {
    let Some(injection) = injection else {
        return Outcome::NotReached;
    };
    match end {
        End::TimedOut => Outcome::Hung,
        End::Exit(Some(0)) if injection.how.is_some() => Outcome::Survived,
        End::Exit(Some(0)) => match injection.fault.silence {
            Silence::Unnoticed => Outcome::Unnoticed,
            Silence::GaveUp | Silence::Fine => Outcome::Survived,
        },
        End::Exit(_) => Outcome::Killed,
    }
}

/// What became of a conversation of an agent whose end nobody sees: it went on, or it did not.
pub fn outcome_of_conversation(injection: &Injection) -> Outcome {
    let is_fine = injection.fault.silence == Silence::Fine && injection.was_read;
    match injection.how.is_some() || is_fine {
        true => Outcome::Survived,
        false => Outcome::Killed,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{How, find};
    use super::*;

    fn injection(fault: &str, how: Option<How>) -> Injection {
        Injection {
            fault: find(fault).unwrap(),
            conversation: 1,
            turn: 1,
            times: 1,
            requests_after: u32::from(how.is_some()),
            how,
            was_read: true,
        }
    }

    #[test]
    fn an_agent_survives_where_it_goes_on_or_may_end_and_ends_well() {
        let (well, badly) = (End::Exit(Some(0)), End::Exit(Some(1)));
        for (fault, how, end, wanted) in [
            (
                "unknown-tool-far",
                Some(How::Answered),
                well,
                Outcome::Survived,
            ),
            (
                "unknown-tool-far",
                Some(How::Answered),
                badly,
                Outcome::Killed,
            ),
            ("unknown-tool-far", None, badly, Outcome::Killed),
            ("unknown-tool-far", None, End::Exit(None), Outcome::Killed),
            ("call-as-text", None, well, Outcome::Unnoticed),
            ("http-500", None, well, Outcome::Survived),
            ("slow-stream", None, well, Outcome::Survived),
            ("slow-stream", None, End::TimedOut, Outcome::Hung),
        ] {
            let found = outcome(Some(&injection(fault, how)), end);
            assert_eq!(found, wanted, "{fault} {how:?} {end:?}");
        }
        assert_eq!(outcome(None, badly), Outcome::NotReached);
    }

    #[test]
    fn a_conversation_survives_where_it_goes_on() {
        let of = |fault, how| outcome_of_conversation(&injection(fault, how));
        assert_eq!(of("http-500", Some(How::Retried)), Outcome::Survived);
        assert_eq!(of("http-500", None), Outcome::Killed);
        assert_eq!(of("slow-stream", None), Outcome::Survived);
    }
}
