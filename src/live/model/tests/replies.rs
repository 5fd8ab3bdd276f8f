//! Replies that are as they should be, in every dialect and in every cut.

use super::server::{chunk, events, named, stream, stream_head, whole};
use super::*;
use retake_core::wire::write::{calls_of, history_of};

fn assert_is_the_example(dialect: Dialect, outcome: Result<Answer, ModelFault>, streamed: bool) {
    let answer = outcome.unwrap();
    assert_eq!(value(&answer), example(dialect).1, "{dialect:?}");
    assert!(answer.is_whole() && answer.ended && answer.late == 0);
    assert_eq!((answer.usage.input, answer.usage.output), (11, 7));
    assert_eq!(answer.was_streamed, streamed);
    assert!(answer.first_ms <= answer.total_ms);
    assert_eq!(calls_of(dialect, &answer.json).unwrap(), ["call_1"]);
    assert!(!history_of(dialect, &answer.json).unwrap().is_empty());
}

#[tokio::test]
async fn a_streamed_reply_is_shown_as_it_comes_and_handed_over_in_one_piece() {
    for dialect in DIALECTS {
        let (outcome, shown) = ask_sent(dialect, stream(example(dialect).0)).await;
        assert_is_the_example(dialect, outcome, true);
        assert_eq!(
            (shown.firsts, &*shown.text, &*shown.reasoning),
            (1, "Let me look.", "hm")
        );
        let call = ("call_1", "find", "{\"q\":1}", true);
        let shown = shown.calls.iter().map(|(id, name, arguments, complete)| {
            (id.as_str(), name.as_str(), arguments.as_str(), *complete)
        });
        assert_eq!(shown.collect::<Vec<_>>(), [call], "{dialect:?}");
    }
}

#[tokio::test]
async fn a_stream_in_single_bytes_is_the_same_stream() {
    for dialect in DIALECTS {
        let bytes = example(dialect).0.into_bytes();
        let dripped = bytes.iter().flat_map(|byte| chunk([*byte])).collect();
        let script = vec![
            Act::Send(stream_head()),
            Act::Drip(dripped),
            Act::Send(b"0\r\n\r\n".to_vec()),
        ];
        let (outcome, _) = ask(dialect, script).await;
        assert_is_the_example(dialect, outcome, true);
    }
}

#[tokio::test]
async fn a_whole_reply_keeps_the_spelling_of_its_bytes() {
    for dialect in DIALECTS {
        let spelled = example(dialect)
            .1
            .to_string()
            .replacen("look", "l\\u006fok", 1);
        let lines = "content-type: application/json\r\nx-request-id: req_7\r\n";
        // Proxies keep a connection open with spaces before the body.
        let reply = whole("200 OK", lines, &format!("  \r\n {spelled}\n"));
        let (outcome, shown) = ask_sent(dialect, reply).await;
        let answer = outcome.clone().unwrap();
        assert_eq!(answer.json, spelled);
        assert_eq!(answer.request_id.as_deref(), Some("req_7"));
        assert_is_the_example(dialect, outcome, false);
        assert_eq!((shown.firsts, &*shown.text), (1, ""));
    }
}

#[tokio::test]
async fn the_request_is_sent_as_it_is_with_the_headers_of_its_dialect() {
    for (dialect, line, auth) in [
        (
            Dialect::Responses,
            "POST /v1/responses ",
            "authorization: Bearer sk-hidden-1",
        ),
        (
            Dialect::Chat,
            "POST /v1/chat/completions ",
            "authorization: Bearer sk-hidden-1",
        ),
        (
            Dialect::Anthropic,
            "POST /v1/messages ",
            "x-api-key: sk-hidden-1",
        ),
    ] {
        let server = Server::start(vec![Act::Send(stream(example(dialect).0))]).await;
        let model = model(dialect, &server.url, |endpoint| {
            endpoint.key = ApiKey::new("sk-hidden-1");
            endpoint.headers = vec![("X-Team".to_owned(), "blue".to_owned())];
        });
        let body = br#"{ "stream" : true, "n": 1e2, "n": "\u0041" }"#.to_vec();
        let mut nothing = |_: ReplyProgress<'_>| {};
        let asked = model.ask(body.clone(), &mut nothing, CancellationToken::new());
        asked.await.unwrap();
        let requests = server.requests();
        let [request] = &requests[..] else {
            panic!("{requests:?}")
        };
        let (head, sent) = request.split_once("\r\n\r\n").unwrap();
        assert_eq!(sent.as_bytes(), body);
        assert!(head.starts_with(line), "{head}");
        let agent = concat!("user-agent: retake/", env!("CARGO_PKG_VERSION"));
        for expected in [
            auth,
            agent,
            "x-team: blue",
            "accept: text/event-stream, application/json",
            "accept-encoding: identity",
        ] {
            assert!(head.contains(expected), "{expected} in {head}");
        }
        let is_anthropic = dialect == Dialect::Anthropic;
        assert_eq!(head.contains("anthropic-version: 2023-06-01"), is_anthropic);
    }
}

#[tokio::test]
async fn a_local_server_needs_no_key_and_its_odd_chunks_are_understood() {
    // As Ollama, llama.cpp and vLLM send: no index, a whole call in one piece, counts in every chunk, an empty reason, no end mark.
    let body = events(&[
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":""}],"usage":{"prompt_tokens":3,"completion_tokens":0}}"#,
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}}},{"id":"b","function":{"name":"f","arguments":"{}"}}]},"finish_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#,
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":5}}"#,
    ]);
    let server = Server::start(vec![Act::Send(stream(body))]).await;
    let (outcome, shown) = ask_model(&model(Dialect::Chat, &server.url, |_| {})).await;
    let answer = outcome.unwrap();
    assert!(answer.is_whole());
    assert_eq!(calls_of(Dialect::Chat, &answer.json).unwrap(), ["a", "b"]);
    assert_eq!(shown.calls.len(), 2);
    assert_eq!((answer.usage.input, answer.usage.output), (3, 5));
    assert!(
        !server.requests()[0]
            .to_ascii_lowercase()
            .contains("authorization")
    );
}

#[tokio::test]
async fn a26_pieces_of_calls_find_their_call_whatever_the_server_makes_of_them() {
    let piece =
        |calls: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":{calls}}}}}]}}"#);
    let body = events(&[
        &piece(
            r#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"index":1,"function":{"name":"g","arguments":"{"}}]"#,
        ),
        &piece(
            r#"[{"index":1,"id":null,"function":{"name":null,"arguments":"\"y\":2}"}},{"index":0,"id":"a","function":{"name":"f","arguments":"\"x\":1}"}}]"#,
        ),
        &piece(r#"[{"index":1,"id":"late"}]"#),
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#,
        "[DONE]",
    ]);
    let (outcome, shown) = ask_sent(Dialect::Chat, stream(body)).await;
    let answer = outcome.unwrap();
    let calls = &value(&answer)["choices"][0]["message"]["tool_calls"];
    assert_eq!(calls[0]["function"]["arguments"], "{\"x\":1}");
    assert_eq!(calls[1]["function"]["arguments"], "{\"y\":2}");
    assert_eq!(
        calls_of(Dialect::Chat, &answer.json).unwrap(),
        ["a", "late"]
    );
    assert!(shown.calls.len() == 2 && shown.calls.iter().all(|call| call.3));
}

#[tokio::test]
async fn a27_a_character_that_is_split_over_deltas_is_joined_and_not_lost() {
    let body = events(&[
        r#"{"choices":[{"index":0,"delta":{"content":"a\ud83d"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"\ude00z\udc00"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ]);
    let (outcome, _) = ask_sent(Dialect::Chat, stream(body)).await;
    let answer = outcome.unwrap();
    assert!(answer.is_whole());
    assert!(
        answer.json.contains("\"a\u{1f600}z\\udc00\""),
        "{}",
        answer.json
    );
    assert_eq!(history_of(Dialect::Chat, &answer.json).unwrap().len(), 1);
}

#[tokio::test]
async fn a28_events_and_members_that_nobody_knows_disturb_nothing() {
    let (body, whole) = anthropic();
    let strange = named(&[
        r#"{"type":"x-debug","weight":1}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"x_delta"}}"#,
    ]);
    let (first, rest) = body.split_once("\r\n\r\n").unwrap();
    let body = format!(": hello\n\n{first}\r\n\r\n{strange}{rest}");
    let (outcome, _) = ask_sent(Dialect::Anthropic, stream(body)).await;
    assert_eq!(value(&outcome.unwrap()), whole);
}
