//! Tools whose answers stand in the agent file: the first one that fits is given.

use retake_core::engine::Outcome;
use retake_core::engine::agent::Canned;
use retake_core::engine::arguments::parsed;
use retake_core::session::ledger::Failure;
use serde_json::Value;

/// The answer to a call of `tool` with these arguments; an error where none fits. Arguments that are no
/// JSON have no members.
pub(super) fn answer(tool: &str, answers: &[Canned], arguments: &str) -> Outcome {
    let arguments = parsed(arguments).unwrap_or(Value::Null);
    match answers.iter().find(|answer| answer.fits(&arguments)) {
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
fn spoken(tool: &str, answer: &Canned) -> String {
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

    fn when(when: &Value, output: &str, is_error: bool) -> Canned {
        Canned {
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
