//! What single events mean, and which call of a reply a part is.

use super::*;

fn of(dialect: Dialect, data: &str) -> EventSummary<'_> {
    classify(dialect, data.as_bytes()).unwrap_or_default()
}

#[test]
fn words_about_calls_are_no_calls() {
    for data in [
        r#"{"choices":[{"index":0,"delta":{"content":"\"tool_calls\":[{"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[],"function_call":null}}]}"#,
        r#"{"choices":[],"usage":{"total_tokens":1}}"#,
    ] {
        assert_eq!(of(Dialect::Chat, data), EventSummary::default(), "{data}");
    }
    let hosted = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"web_search_call","id":"ws"}}"#;
    assert_eq!(of(Dialect::Responses, hosted), EventSummary::default());
    let hosted = r#"{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s"}}"#;
    assert_eq!(of(Dialect::Anthropic, hosted), EventSummary::default());
}

#[test]
fn every_type_of_call_that_a_client_answers_is_one() {
    for kind in [
        "function_call",
        "custom_tool_call",
        "computer_call",
        "shell_call",
        "local_shell_call",
        "apply_patch_call",
        "tool_search_call",
    ] {
        let data = format!(
            r#"{{"type":"response.output_item.done","output_index":null,"item":{{"type":"{kind}","id":"x"}},"sequence_number":7}}"#
        );
        let look = of(Dialect::Responses, &data);
        let part = CallPart {
            key: b"x",
            is_call: true,
            ends: true,
        };
        assert_eq!((look.part, look.number), (Some(part), Some(7)), "{kind}");
    }
}

#[test]
fn what_is_no_json_is_none() {
    for data in ["{\"broken", "{} {}", "<html>", "{\"a\":1,}"] {
        for dialect in [Dialect::Responses, Dialect::Chat, Dialect::Anthropic] {
            assert_eq!(classify(dialect, data.as_bytes()), None, "{data}");
        }
    }
    assert_eq!(
        classify(Dialect::Chat, b" [DONE]").map(|look| look.ends),
        Some(true)
    );
    assert_eq!(
        classify(Dialect::Responses, b"[DONE]").map(|look| look.ends),
        Some(false)
    );
}

#[test]
fn counting_goes_on_from_the_last_answer_and_back_from_the_start() {
    let parts = [true, false, true, true];
    let mut number = CallNumber::default();
    let told = [0, 2, 2, 3, 1, 3].map(|place| number.of(&parts, place, |is_call| *is_call));
    assert_eq!(told, [0, 1, 1, 2, 1, 2]);
}
