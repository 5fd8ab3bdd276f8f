//! What is tried: a TOML file.

mod reader;

use super::faults::{FAULTS, Fault};
use reader::Reader;
use std::fmt;
use toml::de::DeTable;

/// Longest spec, in bytes.
pub const LONGEST_SPEC: usize = 64 * 1024;
/// Most turns that can be named, and the latest one.
const MOST_TURNS: u32 = 100;
/// How often a trial can be made.
const MOST_REPEATS: u32 = 1000;
/// How often in a row a conversation can get a fault.
const MOST_TIMES: u32 = 100;

/// A key of a spec.
#[derive(Debug)]
pub struct Key {
    /// The section; empty at the top.
    pub section: &'static str,
    pub name: &'static str,
    pub what: &'static str,
    /// What holds without it, as it would stand in the file.
    pub usual: &'static str,
}

/// All keys of a spec.
pub const KEYS: &[Key] = &[
    Key {
        section: "",
        name: "seed",
        what: "what is drawn follows from it",
        usual: "1",
    },
    Key {
        section: "",
        name: "faults",
        what: "\"all\", or a list of names",
        usual: "\"all\"",
    },
    Key {
        section: "",
        name: "turns",
        what: "which replies of a conversation, from 1; \"any\" is the first that fits",
        usual: "\"any\"",
    },
    Key {
        section: "",
        name: "repeat",
        what: "how many times each trial is made",
        usual: "1",
    },
    Key {
        section: "",
        name: "times",
        what: "how often in a row a conversation gets the fault",
        usual: "1",
    },
    Key {
        section: "",
        name: "timeout",
        what: "how long an agent may take",
        usual: "\"60s\"",
    },
    Key {
        section: "slow",
        name: "pause",
        what: "how long a slow stream pauses, each time",
        usual: "\"2s\"",
    },
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// What is drawn follows from it.
    pub seed: u64,
    /// The faults, in the order of the table.
    pub faults: Vec<&'static Fault>,
    /// At which replies of a conversation.
    pub turns: Vec<Turn>,
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
pub enum Turn {
    /// The first one that the fault fits.
    Any,
    Nth(u32),
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Nth(turn) => turn.fmt(f),
        }
    }
}

/// One fault at one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    pub fault: &'static Fault,
    pub turn: Turn,
    /// Which time it is tried, from 1: each time something else is drawn.
    pub number: u32,
    /// How often in a row the conversation gets it.
    pub times: u32,
}

/// One thing that is wrong with a spec. The message quotes the file: draw it through
/// [`crate::safe_text::SafeText`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecFault {
    pub line: usize,
    /// What is wrong, what is allowed, and what was probably meant.
    pub message: String,
}

/// All that is wrong with a spec, in the order of its lines; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct SpecFaults(pub Vec<SpecFault>);

impl fmt::Display for SpecFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}line {}: {}", fault.line, fault.message)?;
        }
        Ok(())
    }
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            seed: 1,
            faults: FAULTS.iter().collect(),
            turns: vec![Turn::Any],
            repeat: 1,
            times: 1,
            timeout_ms: 60_000,
            pause_ms: 2_000,
        }
    }
}

impl Spec {
    /// Reads a spec.
    ///
    /// # Errors
    /// All that is wrong with it, each with its line.
    pub fn parse(text: &str) -> Result<Self, SpecFaults> {
        let mut reader = Reader::new(text);
        let mut spec = Self::default();
        if text.len() > LONGEST_SPEC {
            reader.tell(0, format!("more than {} KB", LONGEST_SPEC / 1024));
            return reader.finish(spec);
        }
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let at = error.span().map_or(0, |span| span.start);
            reader.tell(at, error.message().to_owned());
        }
        let table = table.get_ref();
        let sections = KEYS.iter().map(|key| key.section);
        let sections = sections.filter(|section| !section.is_empty());
        let known = names_of("").into_iter().chain(sections);
        reader.only(table, &known.collect::<Vec<_>>());
        spec.seed = reader.seed(table, "seed").unwrap_or(spec.seed);
        spec.faults = reader.faults(table, "faults").unwrap_or(spec.faults);
        spec.turns = reader
            .turns(table, "turns", MOST_TURNS)
            .unwrap_or(spec.turns);
        let repeat = reader.whole(table, "repeat", 1..=MOST_REPEATS);
        spec.repeat = repeat.unwrap_or(spec.repeat);
        let times = reader.whole(table, "times", 1..=MOST_TIMES);
        spec.times = times.unwrap_or(spec.times);
        let timeout = reader.duration(table, "timeout", 1);
        spec.timeout_ms = timeout.unwrap_or(spec.timeout_ms);
        if let Some(slow) = reader.table(table, "slow") {
            reader.only(slow, &names_of("slow"));
            spec.pause_ms = reader.duration(slow, "pause", 0).unwrap_or(spec.pause_ms);
        }
        reader.finish(spec)
    }

    /// Each fault at each turn, as often as it is tried.
    pub fn trials(&self) -> Vec<Trial> {
        let mut trials = Vec::new();
        for fault in &self.faults {
            for turn in &self.turns {
                trials.extend((1..=self.repeat).map(|number| Trial {
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

fn names_of(section: &str) -> Vec<&'static str> {
    let keys = KEYS.iter().filter(|key| key.section == section);
    keys.map(|key| key.name).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_spec_is_the_usual_one_and_so_is_one_that_says_what_is_usual() {
        let mut said = String::new();
        for key in KEYS {
            if !key.section.is_empty() {
                said += &format!("[{}]\n", key.section);
            }
            said += &format!("{} = {}\n", key.name, key.usual);
        }
        assert_eq!(Spec::parse("").unwrap(), Spec::default());
        assert_eq!(Spec::parse(&said).unwrap(), Spec::default());
    }

    #[test]
    fn a_spec_says_what_is_tried_where_and_how_often() {
        let text = "seed = 7\nfaults = [\"http-500\", \"unknown-tool-far\"]\nturns = [1, 3]\nrepeat = 2\ntimes = 4\ntimeout = \"5s\"\n[slow]\npause = \"10ms\"\n";
        let spec = Spec::parse(text).unwrap();
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
        let faults = Spec::parse(text).unwrap_err().to_string();
        let told: Vec<&str> = faults.lines().collect();
        assert_eq!(told.len(), 8, "{faults}");
        for (line, words) in [
            (0, "line 1: `sed` is not known here (did you mean `seed`?)"),
            (1, "line 2: `http-50` is no fault (did you mean `http-500`"),
            (2, "line 2: `faults` is \"all\" or a list of names, not 3"),
            (
                3,
                "line 3: `turns` is \"any\" or a list of whole numbers from 1 to 100, not 0",
            ),
            (
                4,
                "line 4: `repeat` is a whole number from 1 to 1000, not 0",
            ),
            (
                5,
                "line 5: `times` is a whole number from 1 to 100, not \"two\"",
            ),
            (6, "line 6: `timeout` is a duration"),
            (
                7,
                "line 8: `pauses` is not known here (did you mean `pause`?)",
            ),
        ] {
            assert!(told[line].starts_with(words), "{}", told[line]);
        }
        let never = Spec::parse("timeout = \"0s\"").unwrap_err().to_string();
        assert!(
            never.starts_with("line 1: `timeout` is a duration above zero"),
            "{never}"
        );
        assert!(Spec::parse("[slow]\npause = \"0s\"").is_ok());
        let empty = Spec::parse("faults = []\nturns = []").unwrap_err();
        assert_eq!(empty.0.len(), 2, "{empty}");
        assert!(Spec::parse("seed = ").is_err());
    }
}
