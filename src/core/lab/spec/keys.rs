//! The keys of a spec: one table, from which reading, messages and help come.

use crate::wording::Channel;
use std::fmt::{self, Write};

/// A table of a spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecPlace {
    Spec,
    Finding,
    Wordings,
    Added,
    Assert,
}

impl SpecPlace {
    /// Every place, in the order of the help.
    pub const ALL: [Self; 5] = [
        Self::Spec,
        Self::Finding,
        Self::Wordings,
        Self::Added,
        Self::Assert,
    ];
}

impl fmt::Display for SpecPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Spec => "the file",
            Self::Finding => "[[finding]]",
            Self::Wordings => "[wordings]",
            Self::Added => "[[wordings.add]]",
            Self::Assert => "[[assert]]",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecKey {
    pub place: SpecPlace,
    pub name: &'static str,
    /// What it wants, in words.
    pub wanted: &'static str,
    /// What it means, for the help.
    pub meaning: &'static str,
}

const fn key(
    place: SpecPlace,
    name: &'static str,
    wanted: &'static str,
    meaning: &'static str,
) -> SpecKey {
    SpecKey {
        place,
        name,
        wanted,
        meaning,
    }
}

pub(super) const TEXT: &str = "a text that is not empty";
pub(super) const FLAG: &str = "true or false";
pub(super) const COUNT: &str = "a whole number above 0";
pub(super) const WHOLE: &str = "a whole number";
pub(super) const RATE: &str = "a number above 0 and not above 1";
pub(super) const STOP: &str = "\"never\" or \"clear\"";
pub(super) const NAMES: &str = "\"all\" or a list of names";
pub(super) const CHANNEL: &str = "\"error-output\", \"output\" or \"user-message\"";
pub(super) const TABLE: &str = "a table with keys of its own";
pub(super) const TABLES: &str = "tables with keys of their own";

use SpecPlace::{Added, Assert, Finding, Spec, Wordings};

/// Every key. Those of `[[model]]` are the keys of `[model]` in an agent file.
#[rustfmt::skip]
pub const SPEC_KEYS: &[SpecKey] = &[
    key(Spec, "name", TEXT, "what reports call the experiment; needed"),
    key(Spec, "samples", COUNT, "how often each wording is tried with each finding and model; 20 without it"),
    key(Spec, "concurrency", COUNT, "how many requests are on their way at once, 64 at most; 4 without it"),
    key(Spec, "max_requests", COUNT, "the most requests of the whole experiment, earlier runs of it and repeated requests included"),
    key(Spec, "max_tokens", COUNT, "the most tokens of the whole experiment, sent and answered; estimated where the provider tells none"),
    key(Spec, "seed", WHOLE, "where the order comes from in which wordings are tried; 1 without it"),
    key(Spec, "stop", STOP, "whether a finding is done with once one wording is better than each of the others; \"never\" without it"),
    key(Spec, "error_rate", RATE, "how often, at most, such an end may name a wording that is not better; 0.05 without it"),
    key(Spec, "finding", TABLES, "findings of recordings; needed"),
    key(Spec, "wordings", TABLE, "the wordings that are compared; that of the recording and all of the library without it"),
    key(Spec, "model", TABLES, "models, each with the keys of [model] in an agent file, or `agent`: an agent file whose model it is; needed"),
    key(Spec, "assert", TABLES, "what has to come out, for --assert"),

    key(Finding, "path", TEXT, "the recording, beside the spec; needed"),
    key(Finding, "session", COUNT, "the session of the file, from 1"),
    key(Finding, "item", COUNT, "the item, from 1, as `check` counts"),
    key(Finding, "rule", TEXT, "the rule"),
    key(Finding, "meant", TEXT, "the tool that was meant; the nearest name on offer without it"),
    key(Finding, "tools", TEXT, "a file with the tools that were on offer, where the recording does not tell"),

    key(Wordings, "recorded", FLAG, "whether what the others are compared with is among them: the words that the model read, or `plain`, no words, where a turn is asked for again; true without it"),
    key(Wordings, "named", NAMES, "wordings of the library and of your own; \"all\" without it"),
    key(Wordings, "add", TABLES, "words that stand in the spec"),

    key(Added, "name", TEXT, "their name; needed"),
    key(Added, "text", TEXT, "the template; needed"),
    key(Added, "channel", CHANNEL, "how they reach the model; \"error-output\" without it"),

    key(Assert, "wording", TEXT, "the wording that it is about; needed"),
    key(Assert, "at_least", RATE, "the rate of corrected turns that it has to reach"),
    key(Assert, "better_than", TEXT, "the wording that it has to be better than"),
    key(Assert, "model", TEXT, "the model that it is about; all without it"),
];

/// How a wording reaches the model, with the word for it in specs.
pub(super) const CHANNELS: [(Channel, &str); 3] = [
    (Channel::ErrorOutput, "error-output"),
    (Channel::Output, "output"),
    (Channel::UserMessage, "user-message"),
];

pub(super) fn keys_of(place: SpecPlace) -> impl Iterator<Item = &'static SpecKey> {
    SPEC_KEYS.iter().filter(move |key| key.place == place)
}

/// The keys of one place as a table in Markdown.
pub fn spec_keys_table(place: SpecPlace) -> String {
    let mut table = "| key | value | meaning |\n|---|---|---|\n".to_owned();
    for key in keys_of(place) {
        let (name, wanted, meaning) = (key.name, key.wanted, key.meaning);
        // Writing to a text cannot fail.
        let _ = writeln!(table, "| `{name}` | {wanted} | {meaning} |");
    }
    table
}
