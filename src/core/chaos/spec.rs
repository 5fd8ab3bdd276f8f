//! What is tried: a TOML file.

use super::faults::{ChaosFault, FAULTS};
use crate::config::{self, ConfigErrors, Keys, Section, Shape, keys};
use std::fmt;

/// Longest spec, in bytes.
pub const LONGEST_SPEC: usize = 64 * 1024;

/// The tables of a spec, for the help.
pub static SPEC_TABLES: [&Keys; 2] = [&SPEC_KEYS, &SLOW_KEYS];

keys! {
    static SPEC_KEYS = "the file" {
        seed: Whole(0, u64::MAX), "what is drawn follows from it", or "1";
        faults: FAULT_NAMES, "which faults are injected", or "\"all\"";
        turns: TURNS, "which replies of a conversation, from 1; \"any\" is the first that fits", or "\"any\"";
        repeat: Whole(1, 1000), "how many times each trial is made", or "1";
        times: Whole(1, 100), "how often in a row a conversation gets the fault", or "1";
        timeout: Duration(1), "how long an agent may take", or "\"60s\"";
        slow: Table(&SLOW_KEYS), "how slow a slow stream is";
    }
}

keys! {
    static SLOW_KEYS = "[slow]" {
        pause: Duration(0), "how long a slow stream pauses, each time", or "\"2s\"";
    }
}

const FAULT_NAMES: Shape = Shape::Either(&[
    Shape::Word(None, || vec!["all"]),
    Shape::List(
        "names of faults",
        &Shape::Word(Some("the name of a fault"), fault_ids),
    ),
]);
const TURNS: Shape = Shape::Either(&[
    Shape::Word(None, || vec!["any"]),
    Shape::List("integers from 1 to 100", &Shape::Whole(1, 100)),
]);

fn fault_ids() -> Vec<&'static str> {
    FAULTS.iter().map(|fault| fault.id).collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChaosSpec {
    /// What is drawn follows from it.
    pub seed: u64,
    /// The faults, in the order of the table.
    pub faults: Vec<&'static ChaosFault>,
    /// At which replies of a conversation.
    pub turns: Vec<TurnChoice>,
    /// How many times each trial is made.
    pub repeat: u32,
    /// How often in a row a conversation gets the fault.
    pub times: u32,
    /// How long an agent may take, in milliseconds.
    pub timeout_ms: u64,
    /// How long a slow stream pauses, each time, in milliseconds.
    pub pause_ms: u64,
}

/// Which reply of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnChoice {
    /// The first one that the fault fits.
    Any,
    Nth(u32),
}

impl fmt::Display for TurnChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Nth(turn) => turn.fmt(f),
        }
    }
}

/// One fault at one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChaosTrial {
    pub fault: &'static ChaosFault,
    pub turn: TurnChoice,
    /// Which time it is tried, from 1: each time something else is drawn.
    pub number: u32,
    /// How often in a row the conversation gets it.
    pub times: u32,
}

impl Default for ChaosSpec {
    fn default() -> Self {
        Self {
            seed: 1,
            faults: FAULTS.iter().collect(),
            turns: vec![TurnChoice::Any],
            repeat: 1,
            times: 1,
            timeout_ms: 60_000,
            pause_ms: 2_000,
        }
    }
}

impl ChaosSpec {
    /// Reads a spec.
    ///
    /// # Errors
    /// All that is wrong with it, each with its line.
    pub fn parse(text: &str) -> Result<Self, ConfigErrors> {
        config::read(text, LONGEST_SPEC, &SPEC_KEYS, |file, _| {
            Some(Self::of(file))
        })
    }

    fn of(file: Section<'_>) -> Self {
        let usual = Self::default();
        let faults = file.get::<Vec<String>>("faults").map(|names| {
            let named = FAULTS
                .iter()
                .filter(|fault| names.iter().any(|name| name == fault.id));
            named.collect()
        });
        let turns = file.get::<Vec<u32>>("turns").map(|numbers| {
            let mut turns: Vec<TurnChoice> = Vec::new();
            for turn in numbers.into_iter().map(TurnChoice::Nth) {
                if !turns.contains(&turn) {
                    turns.push(turn);
                }
            }
            turns
        });
        let pause = file.table("slow").and_then(|slow| slow.millis("pause"));
        Self {
            seed: file.get("seed").unwrap_or(usual.seed),
            faults: faults.unwrap_or(usual.faults),
            turns: turns.unwrap_or(usual.turns),
            repeat: file.get("repeat").unwrap_or(usual.repeat),
            times: file.get("times").unwrap_or(usual.times),
            timeout_ms: file.millis("timeout").unwrap_or(usual.timeout_ms),
            pause_ms: pause.unwrap_or(usual.pause_ms),
        }
    }

    /// Each fault at each turn, as often as it is tried.
    pub fn trials(&self) -> Vec<ChaosTrial> {
        let mut trials = Vec::new();
        for fault in &self.faults {
            for turn in &self.turns {
                trials.extend((1..=self.repeat).map(|number| ChaosTrial {
                    fault,
                    turn: *turn,
                    number,
                    times: self.times,
                }));
            }
        }
        trials
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::Key;

    #[test]
    fn an_empty_spec_is_the_usual_one_and_so_is_one_that_says_what_is_usual() {
        let line = |key: &Key| Some(format!("{} = {}\n", key.name, key.default?));
        let lines = |keys: &Keys| keys.keys.iter().filter_map(line).collect::<String>();
        let said = format!("{}[slow]\n{}", lines(&SPEC_KEYS), lines(&SLOW_KEYS));
        assert_eq!(ChaosSpec::parse("").unwrap(), ChaosSpec::default());
        assert_eq!(ChaosSpec::parse(&said).unwrap(), ChaosSpec::default());
    }

    #[test]
    fn a_spec_says_what_is_tried_where_and_how_often() {
        let text = "seed = 7\nfaults = [\"http-500\", \"unknown-tool-far\"]\nturns = [1, 3]\nrepeat = 2\ntimes = 4\ntimeout = \"5s\"\n[slow]\npause = \"10ms\"\n";
        let spec = ChaosSpec::parse(text).unwrap();
        assert_eq!((spec.seed, spec.timeout_ms, spec.pause_ms), (7, 5_000, 10));
        let trials = spec.trials();
        let told: Vec<String> = trials
            .iter()
            .map(|trial| format!("{} {} {}", trial.fault.id, trial.turn, trial.number))
            .collect();
        let wanted = "unknown-tool-far 1 1, unknown-tool-far 1 2, unknown-tool-far 3 1, unknown-tool-far 3 2, http-500 1 1, http-500 1 2, http-500 3 1, http-500 3 2";
        assert_eq!(told.join(", "), wanted);
        assert!(trials.iter().all(|trial| trial.times == 4));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_what_was_meant() {
        let text = "sed = 1\nfaults = [\"http-50\", 3]\nturns = [0]\nrepeat = 0\ntimes = \"two\"\ntimeout = 5\n[slow]\npauses = \"1s\"\n";
        let faults = ChaosSpec::parse(text).unwrap_err().to_string();
        let told: Vec<&str> = faults.lines().collect();
        assert_eq!(told.len(), 8, "{faults}");
        for (line, words) in [
            (
                0,
                "line 1: `sed` is not known in the file (did you mean `seed`?)",
            ),
            (
                1,
                "line 2: each of `faults` is the name of a fault, not \"http-50\" (did you mean `http-500`?)",
            ),
            (2, "line 2: each of `faults` is the name of a fault, not 3"),
            (
                3,
                "line 3: each of `turns` is an integer from 1 to 100, not 0",
            ),
            (4, "line 4: `repeat` is an integer from 1 to 1000, not 0"),
            (
                5,
                "line 5: `times` is an integer from 1 to 100, not \"two\"",
            ),
            (6, "line 6: `timeout` is a positive duration such as"),
            (
                7,
                "line 8: `pauses` is not known in [slow] (did you mean `pause`?)",
            ),
        ] {
            assert!(told[line].starts_with(words), "{}", told[line]);
        }
        let never = ChaosSpec::parse("timeout = \"0s\"")
            .unwrap_err()
            .to_string();
        assert!(
            never.starts_with("line 1: `timeout` is a positive duration"),
            "{never}"
        );
        assert!(ChaosSpec::parse("[slow]\npause = \"0s\"").is_ok());
        let empty = ChaosSpec::parse("faults = []\nturns = []").unwrap_err();
        assert_eq!(empty.errors.len(), 2, "{empty}");
        assert!(ChaosSpec::parse("seed = ").is_err());
    }
}
