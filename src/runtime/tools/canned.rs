//! Tools whose answers stand in the agent file: the first one that fits is given.

use super::equal::{is_same, parsed};
use crate::engine::Outcome;
use crate::session::ledger::Failure;
use serde_json::{Map, Value};

/// An answer, and the arguments that it is for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Members that the arguments must have, with these values; further ones they may have. None: it fits everything.
    pub when: Map<String, Value>,
    /// What the model reads.
    pub output: String,
    /// Whether that reports an error.
    pub is_error: bool,
}

/// The answer to a call of `tool` with these arguments; an error where none fits.
pub(super) fn answer(tool: &str, answers: &[Answer], arguments: &str) -> Outcome {
    let arguments = parsed(arguments);
    let fits = |answer: &&Answer| {
        answer.when.iter().all(|(name, wanted)| {
            let given = arguments.as_ref().and_then(|given| given.get(name));
            given.is_some_and(|given| is_same(given, wanted))
        })
    };
    match answers.iter().find(fits) {
        Some(answer) => Outcome {
            output: spoken(tool, answer),
            is_error: answer.is_error,
            failure: answer.is_error.then_some(Failure::Reported),
            ms: 0,
        },
        None => Outcome {
            output: format!(
                "Error: no answer of the tool \"{tool}\" is written for these arguments"
            ),
            is_error: true,
            failure: Some(Failure::Unknown),
            ms: 0,
        },
    }
}

/// An error is never empty: providers refuse one that is.
fn spoken(tool: &str, answer: &Answer) -> String {
    if answer.is_error && answer.output.trim().is_empty() {
        format!("Error: the tool \"{tool}\" failed")
    } else {
        answer.output.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn when(when: &Value, output: &str, is_error: bool) -> Answer {
        Answer {
            when: when.as_object().unwrap().clone(),
            output: output.to_owned(),
            is_error,
        }
    }

    #[test]
    fn the_first_answer_whose_members_are_all_there_is_given() {
        let answers = [
            when(&json!({"city": "Oslo", "days": 2}), "snow", false),
            when(&json!({"city": "Oslo"}), "sun", false),
            when(&json!({"city": "Atlantis"}), "", true),
        ];
        let said = |arguments: &str| answer("weather", &answers, arguments);
        assert_eq!(said("{\"days\":2.0,\"city\":\"Oslo\"}").output, "snow");
        assert_eq!(said("{\"city\":\"Oslo\",\"unit\":\"C\"}").output, "sun");
        let failed = said("{\"city\":\"Atlantis\"}");
        assert_eq!(failed.output, "Error: the tool \"weather\" failed");
        assert_eq!(failed.failure, Some(Failure::Reported));
        for arguments in ["{\"city\":\"Rome\"}", "{}", "", "not JSON", "[1]"] {
            let none = said(arguments);
            assert!(
                none.is_error && none.output.contains("no answer"),
                "{arguments}"
            );
        }
    }

    #[test]
    fn an_answer_without_conditions_fits_everything() {
        let answers = [when(&json!({}), "ok", false)];
        for arguments in ["", "{\"a\":1}", "free text"] {
            assert_eq!(answer("note", &answers, arguments).output, "ok");
        }
    }
}
