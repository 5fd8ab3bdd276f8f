//! Whether an agent survived a fault.

use super::course::{Injection, Reaction};
use super::faults::Silence;
use serde::Serialize;

/// What became of an agent that got a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "lowercase")]
pub enum ChaosOutcome {
    /// It went on, or ended as it may.
    Survived,
    /// It ended with an error.
    Killed,
    /// It did not end in time.
    Hung,
    /// It ended well without asking again, or answered a broken call like a sound one: it has taken the fault for an answer.
    Unnoticed,
    /// It sent nothing more, and nobody saw whether it has ended, has taken the fault for an answer, or
    /// is at work still.
    Silent,
    /// It never came to where the fault fits.
    #[strum(serialize = "not reached")]
    NotReached,
}

impl ChaosOutcome {
    /// What can become of an agent that is started for one trial, in the order of reports.
    pub const OF_TRIALS: &[Self] = &[
        Self::Survived,
        Self::Killed,
        Self::Hung,
        Self::Unnoticed,
        Self::NotReached,
    ];

    /// What can become of a conversation whose agent's end nobody sees, in the order of reports.
    pub const OF_CONVERSATIONS: &[Self] = &[
        Self::Survived,
        Self::Unnoticed,
        Self::Silent,
        Self::NotReached,
    ];

    pub fn words(self) -> &'static str {
        self.into()
    }

    /// Whether it speaks against the agent.
    pub fn is_bad(self) -> bool {
        matches!(
            self,
            Self::Killed | Self::Hung | Self::Unnoticed | Self::Silent
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentEnd {
    /// By itself, with this code; `None` where a signal ended it.
    Exit(Option<i32>),
    /// It was ended, because it did not in time.
    TimedOut,
}

impl AgentEnd {
    /// The code that it ended with by itself.
    pub fn code(self) -> Option<i32> {
        match self {
            Self::Exit(code) => code,
            Self::TimedOut => None,
        }
    }
}

/// What became of an agent that was started for one trial. `asked_more` tells whether it made more requests
/// than without a fault.
pub fn outcome(injection: Option<&Injection>, end: AgentEnd, asked_more: bool) -> ChaosOutcome {
    let Some(injection) = injection else {
        return ChaosOutcome::NotReached;
    };
    let fault = injection.trial.fault;
    let has_reacted = match injection.how {
        None => false,
        Some(Reaction::AnsweredWithoutError) => !fault.is_of_call,
        Some(Reaction::Answered) => true,
        // What it asks without a fault as well is no reaction to one.
        Some(_) => asked_more || !injection.was_usual,
    };
    match end {
        AgentEnd::TimedOut => ChaosOutcome::Hung,
        AgentEnd::Exit(Some(0)) if has_reacted || fault.silence != Silence::Unnoticed => {
            ChaosOutcome::Survived
        }
        AgentEnd::Exit(Some(0)) => ChaosOutcome::Unnoticed,
        AgentEnd::Exit(Some(_)) if fault.may_fail && !has_reacted => ChaosOutcome::Survived,
        AgentEnd::Exit(_) => ChaosOutcome::Killed,
    }
}

/// What became of a conversation of an agent whose end nobody sees: it went on, or it did not.
pub fn outcome_of_conversation(injection: &Injection) -> ChaosOutcome {
    let fault = injection.trial.fault;
    match injection.how {
        Some(Reaction::AnsweredWithoutError) if fault.is_of_call => ChaosOutcome::Unnoticed,
        None if fault.silence != Silence::Fine || !injection.was_read => ChaosOutcome::Silent,
        _ => ChaosOutcome::Survived,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{ChaosTrial, TurnChoice, find};
    use super::*;

    fn injection(fault: &str, how: Option<Reaction>, was_usual: bool) -> Injection {
        Injection {
            trial: ChaosTrial {
                fault: find(fault).unwrap(),
                turn: TurnChoice::Any,
                number: 1,
                times: 1,
            },
            conversation: 1,
            turn: 1,
            times: 1,
            at_ms: 0,
            requests_after: u32::from(how.is_some()),
            how,
            was_usual,
            refused_by: None,
            was_read: true,
        }
    }

    #[test]
    fn an_agent_survives_where_it_goes_on_or_may_end_and_ends_well() {
        let (well, badly) = (AgentEnd::Exit(Some(0)), AgentEnd::Exit(Some(1)));
        let (answered, silent) = (Some(Reaction::Answered), None);
        let executed = Some(Reaction::AnsweredWithoutError);
        for (fault, how, end, wanted) in [
            ("unknown-tool-far", answered, well, ChaosOutcome::Survived),
            ("unknown-tool-far", answered, badly, ChaosOutcome::Killed),
            ("unknown-tool-far", silent, badly, ChaosOutcome::Killed),
            (
                "unknown-tool-far",
                silent,
                AgentEnd::Exit(None),
                ChaosOutcome::Killed,
            ),
            ("unknown-tool-far", executed, well, ChaosOutcome::Unnoticed),
            ("schema-break", executed, well, ChaosOutcome::Unnoticed),
            ("duplicate-call-id", executed, well, ChaosOutcome::Survived),
            ("call-as-text", silent, well, ChaosOutcome::Unnoticed),
            ("http-500", silent, well, ChaosOutcome::Survived),
            ("slow-stream", silent, well, ChaosOutcome::Survived),
            (
                "slow-stream",
                silent,
                AgentEnd::TimedOut,
                ChaosOutcome::Hung,
            ),
        ] {
            let found = outcome(Some(&injection(fault, how, false)), end, false);
            assert_eq!(found, wanted, "{fault} {how:?} {end:?}");
        }
        assert_eq!(outcome(None, badly, false), ChaosOutcome::NotReached);
    }

    #[test]
    fn what_an_agent_asks_without_a_fault_as_well_is_no_reaction_to_one() {
        let well = AgentEnd::Exit(Some(0));
        for (fault, how, was_usual, asked_more, wanted) in [
            (
                "call-as-text",
                Reaction::Told,
                true,
                false,
                ChaosOutcome::Unnoticed,
            ),
            (
                "call-as-text",
                Reaction::BeganAnew,
                true,
                false,
                ChaosOutcome::Unnoticed,
            ),
            (
                "call-as-text",
                Reaction::Told,
                true,
                true,
                ChaosOutcome::Survived,
            ),
            (
                "call-as-text",
                Reaction::Told,
                false,
                false,
                ChaosOutcome::Survived,
            ),
            (
                "duplicate-call-id",
                Reaction::Answered,
                true,
                false,
                ChaosOutcome::Survived,
            ),
            (
                "http-500",
                Reaction::Told,
                true,
                false,
                ChaosOutcome::Survived,
            ),
        ] {
            let injection = injection(fault, Some(how), was_usual);
            let found = outcome(Some(&injection), well, asked_more);
            assert_eq!(found, wanted, "{fault} {how:?} {was_usual} {asked_more}");
        }
    }

    #[test]
    fn an_agent_that_ends_with_an_error_has_handled_a_bad_final_output_unless_it_is_ended() {
        for fault in ["empty-final-output", "wrong-final-output"] {
            let of = |how, end| outcome(Some(&injection(fault, how, false)), end, false);
            assert_eq!(
                of(None, AgentEnd::Exit(Some(1))),
                ChaosOutcome::Survived,
                "{fault}"
            );
            assert_eq!(
                of(None, AgentEnd::Exit(None)),
                ChaosOutcome::Killed,
                "{fault}"
            );
            assert_eq!(
                of(None, AgentEnd::Exit(Some(0))),
                ChaosOutcome::Unnoticed,
                "{fault}"
            );
            let told = Some(Reaction::Told);
            assert_eq!(
                of(told, AgentEnd::Exit(Some(1))),
                ChaosOutcome::Killed,
                "{fault}"
            );
        }
    }

    #[test]
    fn a_conversation_survives_where_it_goes_on() {
        let of = |fault, how| outcome_of_conversation(&injection(fault, how, false));
        assert_eq!(
            of("http-500", Some(Reaction::Retried)),
            ChaosOutcome::Survived
        );
        assert_eq!(of("http-500", None), ChaosOutcome::Silent);
        let executed = Some(Reaction::AnsweredWithoutError);
        assert_eq!(of("cut-arguments", executed), ChaosOutcome::Unnoticed);
        assert_eq!(of("slow-stream", None), ChaosOutcome::Survived);
    }
}
