//! Streams that are odd, broken in the middle, or never end.

use super::server::{chunk, events, head, named, stream, stream_head};
use super::*;
use base64::prelude::{BASE64_STANDARD, Engine};
use retake_core::wire::stream::Splitter;

#[tokio::test]
async fn a11_an_event_that_is_no_json_is_counted_and_later_ones_still_count() {
    let (body, whole) = chat();
    let (first, rest) = body.split_once("\n\n").unwrap();
    let body = format!("{first}\n\ndata: {{\"broken\n\n{rest}");
    let (outcome, _) = ask_sent(Dialect::Chat, stream(body)).await;
    let answer = outcome.unwrap();
    assert!(answer.ended && answer.unreadable == 1 && !answer.is_whole());
    assert_eq!(value(&answer), whole);
}

#[tokio::test]
async fn a12_an_error_in_the_middle_of_a_stream_is_a_fault() {
    for (dialect, error, why, recoverable) in [
        (
            Dialect::Anthropic,
            named(&[
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ]),
            "Overloaded (type: overloaded_error)",
            true,
        ),
        (
            Dialect::Chat,
            events(&[r#"{"error":{"message":"Bad request","type":"invalid_request_error"}}"#]),
            "Bad request (type: invalid_request_error)",
            false,
        ),
        (
            Dialect::Chat,
            events(&[r#"{"error":"CUDA out of memory"}"#]),
            "CUDA out of memory",
            true,
        ),
        (
            Dialect::Responses,
            named(&[
                r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"Sorry"}}}"#,
            ]),
            "Sorry (code: server_error)",
            true,
        ),
        (
            Dialect::Responses,
            named(&[
                r#"{"type":"error","code":"rate_limit_exceeded","message":"Slow down","param":null}"#,
            ]),
            "Slow down (type: error, code: rate_limit_exceeded)",
            true,
        ),
        (
            Dialect::Anthropic,
            events(&[r#"{"error":{"message":"Gateway"}}"#]),
            "Gateway",
            true,
        ),
        (
            Dialect::Responses,
            "event: error\ndata: gone\n\n".to_owned(),
            "gone",
            true,
        ),
    ] {
        let body = example(dialect).0;
        let place = body.find("look.").unwrap();
        let place = place
            + body[place..]
                .find("\n\n")
                .or(body[place..].find("\r\n\r\n"))
                .unwrap();
        let place = place + body[place..].find(['d', 'e']).unwrap();
        let body = format!("{}{error}", &body[..place]);
        let (outcome, shown) = ask(
            dialect,
            vec![Act::Send([stream_head(), chunk(body)].concat()), Act::Hang],
        )
        .await;
        let fault = outcome.unwrap_err();
        assert_eq!(
            fault.why,
            format!("the provider reports in its reply: {why}")
        );
        assert_eq!(
            (fault.was_streaming, fault.is_recoverable),
            (true, recoverable),
            "{why}"
        );
        assert_eq!(shown.text, "Let me look.");
    }
}

#[tokio::test]
async fn a13_spellings_of_streams_give_the_same_events_through_a_socket() {
    let file = include_str!("../../../../tests/it/hostile/sse_cases.json");
    let file: Value = serde_json::from_str(file).unwrap();
    let (body, expected) = chat();
    let mut tried = 0;
    for case in file["cases"].as_array().unwrap() {
        let raw = case["raw_b64"]
            .as_str()
            .map(|raw| BASE64_STANDARD.decode(raw).unwrap());
        let Some(raw) = raw.filter(|raw| raw.len() < 200) else {
            continue;
        };
        let prefix = [&raw[..], b"\n\n"].concat();
        let (mut unreadable, mut usable) = (0, true);
        Splitter::default().push(&prefix, |event| {
            let data = event.data.trim();
            usable &= data != "[DONE]" && event.name != "error" && !data.contains("error");
            let is_object =
                serde_json::from_str::<Value>(data).is_ok_and(|value| value.is_object());
            unreadable += u32::from(!data.is_empty() && !is_object);
        });
        let bytes = [&prefix[..], body.as_bytes()].concat();
        let pieces = bytes.chunks(1 + tried % 3).flat_map(chunk);
        let sent = [stream_head(), pieces.collect(), b"0\r\n\r\n".to_vec()].concat();
        // What begins with a brace is taken for JSON, and with `<` for a page.
        if !usable || raw.starts_with(b"{") || raw.starts_with(b"<") {
            continue;
        }
        tried += 1;
        let (outcome, shown) = ask_sent(Dialect::Chat, sent).await;
        let answer = outcome.unwrap_or_else(|fault| panic!("{}: {fault:?}", case["id"]));
        assert_eq!(answer.unreadable, unreadable, "{}", case["id"]);
        assert_eq!(
            (value(&answer), &*shown.text),
            (expected.clone(), "Let me look."),
            "{}",
            case["id"]
        );
    }
    assert!(tried >= 40, "{tried}");
}

#[tokio::test]
async fn a21_a_stream_without_end_ends_as_a_fault() {
    let event = events(&[&format!(
        r#"{{"choices":[{{"delta":{{"content":"{}"}}}}]}}"#,
        "x".repeat(1 << 20)
    )]);
    let script = vec![Act::Send(stream_head()), Act::Flood(chunk(event))];
    let (outcome, shown) = ask(Dialect::Chat, script).await;
    let fault = outcome.unwrap_err();
    assert!(
        fault.why.contains("more than 64 MiB") && fault.was_streaming,
        "{fault:?}"
    );
    assert!(shown.text.len() <= 64 << 20 && !fault.is_recoverable);
}

#[tokio::test]
async fn a21_one_event_without_end_ends_as_a_fault() {
    let script = vec![
        Act::Send([head("200 OK", ""), b"data: ".to_vec()].concat()),
        Act::Flood(vec![b'x'; 1 << 20]),
    ];
    let (outcome, _) = ask(Dialect::Chat, script).await;
    assert!(outcome.unwrap_err().why.contains("more than 16 MiB"));
}

#[tokio::test]
async fn a21_json_without_end_ends_as_a_fault() {
    let script = vec![
        Act::Send([head("200 OK", ""), b"{\"choices\":\"".to_vec()].concat()),
        Act::Flood(vec![b'x'; 1 << 20]),
    ];
    let (outcome, _) = ask(Dialect::Chat, script).await;
    assert!(outcome.unwrap_err().why.contains("more than 64 MiB"));
}

#[tokio::test]
async fn a21_calls_without_number_end_as_a_fault() {
    let calls = (0..1100).map(|index| format!(r#"{{"index":{index},"id":"c{index}"}}"#));
    let calls = calls.collect::<Vec<_>>().join(",");
    let event = format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{calls}]}}}}]}}"#);
    let (outcome, _) = ask_sent(Dialect::Chat, stream(events(&[&event]))).await;
    assert!(outcome.unwrap_err().why.contains("more than 1024 calls"));
}

#[tokio::test]
async fn a23_events_behind_the_end_belong_to_nothing() {
    let (body, whole) = chat();
    let late = events(&[
        r#"{"choices":[{"index":0,"delta":{"content":"more"}}]}"#,
        "{}",
    ]);
    let (outcome, shown) = ask_sent(Dialect::Chat, stream(format!("{body}{late}"))).await;
    let answer = outcome.unwrap();
    assert_eq!(
        (answer.late, value(&answer), &*shown.text),
        (2, whole, "Let me look.")
    );
    assert!(answer.is_whole());
}

#[tokio::test]
async fn a_server_that_stays_on_the_line_behind_the_end_holds_nobody_up() {
    for dialect in DIALECTS {
        let (body, whole) = example(dialect);
        let script = vec![Act::Send([stream_head(), chunk(body)].concat()), Act::Hang];
        let (outcome, _) = ask(dialect, script).await;
        assert_eq!(value(&outcome.unwrap()), whole);
        // Nor does one that goes on for ever.
        let flood = vec![
            Act::Send([stream_head(), chunk(example(dialect).0)].concat()),
            Act::Flood(chunk(": on and on\n\n")),
        ];
        assert!(ask(dialect, flood).await.0.unwrap().is_whole());
    }
}
