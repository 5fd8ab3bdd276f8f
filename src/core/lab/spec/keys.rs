//! The keys of a spec.

use crate::config::{Keys, keys};
use crate::rules::RULES;

/// The tables of a spec, for the help. Those of `[[model]]` are the keys of `[model]` in an agent file.
pub static SPEC_TABLES: [&Keys; 5] = [
    &SPEC_KEYS,
    &FINDING_KEYS,
    &WORDINGS_KEYS,
    &ADDED_KEYS,
    &ASSERT_KEYS,
];

keys! {
    pub(super) static SPEC_KEYS = "the file" {
        name [required]: Text, "what reports call the experiment";
        samples: COUNT, "how often each wording is tried with each finding and model", or "20";
        concurrency: COUNT, "how many requests are on their way at once, 64 at most", or "4";
        max_requests: COUNT,
            "the most requests of the whole experiment, earlier runs of it and repeated requests included";
        max_tokens: Whole(1, u64::MAX),
            "the most tokens of the whole experiment, sent and answered; estimated where the provider tells none";
        seed: Whole(0, u64::MAX), "where the order comes from in which wordings are tried", or "1";
        stop: Word(None, || vec!["never", "clear"]),
            "whether a finding is done with once one wording is better than each of the others", or "\"never\"";
        error_rate: Rate, "how often, at most, such an end may name a wording that is not better", or "0.05";
        finding [required]: Tables(&FINDING_KEYS), "findings of recordings";
        wordings: Table(&WORDINGS_KEYS),
            "the wordings that are compared; that of the recording and all of the library without it";
        model [required]: OtherTables,
            "models, each with the keys of [model] in an agent file, or `agent`: an agent file whose model it is";
        assert: Tables(&ASSERT_KEYS), "what has to come out, for --assert";
    }
}

keys! {
    static FINDING_KEYS = "[[finding]]" {
        path [required]: Text, "the recording, beside the spec";
        session: COUNT, "the session of the file, from 1";
        item: COUNT, "the item, from 1, as `check` counts";
        rule: Word(Some("the name of a rule"), rule_ids), "the rule";
        meant: Text, "the tool that was meant; the nearest name on offer without it";
        tools: Text, "a file with the tools that were on offer, where the recording does not tell";
    }
}

keys! {
    static WORDINGS_KEYS = "[wordings]" {
        recorded: Flag,
            "whether what the others are compared with is among them: the words that the model read, or `plain`, \
             no words, where a turn is asked for again", or "true";
        named: Either(&[Word(None, || vec!["all"]), AnyList("names", &Text)]),
            "wordings of the library and of your own", or "\"all\"";
        add: Tables(&ADDED_KEYS), "words that stand in the spec";
    }
}

keys! {
    static ADDED_KEYS = "[[wordings.add]]" {
        name [required]: Text, "their name";
        text [required]: Template, "the template";
        channel: Word(None, || vec!["error-output", "output", "user-message"]),
            "how they reach the model", or "\"error-output\"";
    }
    rules [Unique("name")]
}

keys! {
    static ASSERT_KEYS = "[[assert]]" {
        wording [required]: Text, "the wording that it is about";
        at_least: Rate, "the rate of corrected turns that it has to reach";
        better_than: Text, "the wording that it has to be better than";
        model: Text, "the model that it is about; all without it";
    }
    rules [AtLeastOne(&["at_least", "better_than"])]
}

fn rule_ids() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.id).collect()
}
