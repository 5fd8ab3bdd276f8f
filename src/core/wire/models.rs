//! What is known of single model families: each fact with the day it was last seen and where. Nothing is said
//! of a model that is not in the table, since providers change these facts from one model to the next.

use crate::session::Dialect;

/// What providers do with the requests of one family of models.
#[derive(Debug, PartialEq, Eq)]
pub struct ModelFamily {
    /// How its names begin, after whatever a gateway puts before them.
    pub name: &'static str,
    /// Whether a request may end on an assistant message, which the model then continues.
    pub continues_assistant: bool,
    /// Whether its thinking comes with its text unless a request asks otherwise; the others send a signature
    /// with an empty text (`thinking.display` is `omitted` by default).
    pub shows_thinking: bool,
    /// The day when the facts were last seen, as `2026-09-23`.
    pub seen: &'static str,
    /// Where they were seen.
    pub source: &'static str,
}

const fn family(
    name: &'static str,
    (continues_assistant, shows_thinking): (bool, bool),
    seen: &'static str,
    source: &'static str,
) -> ModelFamily {
    ModelFamily {
        name,
        continues_assistant,
        shows_thinking,
        seen,
        source,
    }
}

/// Families by name. That thinking is omitted by default from Opus 4.7 on: claude-code#49268, qwen-code#8039.
pub const FAMILIES: &[ModelFamily] = &[
    family(
        "claude-sonnet-4-5",
        (true, true),
        "2026-02-17",
        "strands sdk-python#1694",
    ),
    family(
        "claude-haiku-4-5",
        (true, true),
        "2026-09-23",
        "CLIProxyAPI#5319",
    ),
    family(
        "claude-opus-4-6",
        (false, true),
        "2026-04-02",
        "opencode#13768, Anthropic's notes on 4.6",
    ),
    family(
        "claude-sonnet-4-6",
        (false, true),
        "2026-09-23",
        "CLIProxyAPI#5319, agno#7015",
    ),
    family(
        "claude-opus-4-7",
        (false, false),
        "2026-09-23",
        "qwen-code#8039",
    ),
    family(
        "claude-opus-4-8",
        (false, false),
        "2026-06-16",
        "Vibe-Trading#246",
    ),
    family(
        "claude-fable-5",
        (false, false),
        "2026-09-23",
        "qwen-code#8039",
    ),
    family(
        "claude-mythos-5",
        (false, false),
        "2026-09-23",
        "qwen-code#8039",
    ),
    family(
        "claude-sonnet-5",
        (false, false),
        "2026-09-23",
        "qwen-code#8039",
    ),
    family(
        "claude-opus-5",
        (false, false),
        "2026-09-23",
        "CLIProxyAPI#5319",
    ),
];

/// The family of a model by its name, in the spelling of any gateway: `us.anthropic.claude-opus-4-6-v1`,
/// `anthropic/claude-opus-4.6`.
pub fn family_of(model: &str) -> Option<&'static ModelFamily> {
    let model = model.to_ascii_lowercase().replace('.', "-");
    FAMILIES.iter().find(|family| {
        let after = model
            .find(family.name)
            .map(|at| &model[at + family.name.len()..]);
        after.is_some_and(|after| !goes_on(after))
    })
}

/// Whether the version goes on: `claude-opus-5-5` is no `claude-opus-5`, while `claude-opus-4-6-20260205` has
/// a date after it.
fn goes_on(after: &str) -> bool {
    let number = after.strip_prefix('-').unwrap_or(after);
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && (digits < 3 || number.len() == after.len())
}

impl Dialect {
    /// The dialect of the vendor whose model this is, where the name says it.
    pub fn of_model(model: &str) -> Option<Self> {
        let model = model.to_ascii_lowercase();
        let mut all = Self::ALL.into_iter();
        all.find(|dialect| {
            let word = dialect.facts().model_word;
            word.is_some_and(|word| model.contains(word))
        })
    }
}

/// Whether the service of a model parses the arguments of calls in a Chat history: Qwen's coder models refuse
/// those that are not JSON (the row `input-not-object` of the provider's errors).
pub fn parses_arguments(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    model.contains("qwen") && model.contains("coder")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_name_leads_to_its_family() {
        for name in [
            "claude-opus-4-6",
            "us.anthropic.claude-opus-4-6-v1",
            "anthropic/claude-opus-4.6",
            "claude-opus-4-6-20260205",
            "claude-opus-4-6[1m]",
            "Claude-Opus-4-6@latest",
        ] {
            assert_eq!(family_of(name).unwrap().name, "claude-opus-4-6", "{name}");
        }
    }

    #[test]
    fn of_other_versions_nothing_is_said() {
        for name in [
            "claude-opus-5-5",
            "claude-opus-4",
            "claude-opus-4-20250514",
            "claude-opus-4-60",
            "claude-3-7-sonnet",
            "gpt-5",
            "",
        ] {
            assert_eq!(family_of(name), None, "{name}");
        }
    }

    #[test]
    fn every_fact_has_its_day_and_its_source() {
        for family in FAMILIES {
            assert!(
                family.seen.len() == 10 && !family.source.is_empty(),
                "{}",
                family.name
            );
        }
    }
}
