//! Statuses that are no success, and what is where a reply should be.

use super::server::{head, whole};
use super::*;
use retake_core::wire::provider_errors::decode;

async fn refused(dialect: Dialect, status: &str, lines: &str, body: &str) -> ModelFault {
    let (outcome, shown) = ask_sent(dialect, whole(status, lines, body)).await;
    assert_eq!(shown.firsts, 0);
    let fault = outcome.unwrap_err();
    assert!(!fault.was_streaming);
    fault
}

#[tokio::test]
async fn a14_a_429_says_how_long_to_wait_in_every_spelling() {
    let body = r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#;
    for (lines, wait) in [
        ("retry-after: 7\r\n", Some(7_000)),
        ("retry-after-ms: 1500\r\nretry-after: 2\r\n", Some(1_500)),
        ("retry-after: 1000000000\r\n", Some(1_000_000_000_000)),
        ("retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n", Some(0)),
        ("retry-after: soon\r\n", None),
        ("", None),
    ] {
        let fault = refused(Dialect::Chat, "429 Too Many Requests", lines, body).await;
        assert_eq!(
            (fault.status, fault.retry_after_ms),
            (Some(429), wait),
            "{lines}"
        );
        assert!(fault.is_recoverable);
        let why =
            "429 Too Many Requests: Rate limit reached (type: requests, code: rate_limit_exceeded)";
        assert_eq!(fault.why, why);
    }
    let used_up =
        r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#;
    let fault = refused(Dialect::Chat, "429 Too Many Requests", "", used_up).await;
    assert!(!fault.is_recoverable);
}

#[tokio::test]
async fn a15_faults_of_the_server_may_pass_and_name_the_request() {
    for status in [
        "500 Internal Server Error",
        "502 Bad Gateway",
        "503 X",
        "504 X",
        "529 Overloaded",
    ] {
        let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        let fault = refused(Dialect::Anthropic, status, "request-id: req_9\r\n", body).await;
        assert!(fault.is_recoverable, "{fault:?}");
        assert!(
            fault
                .why
                .ends_with(": Overloaded (type: overloaded_error) [request req_9]"),
            "{fault:?}"
        );
    }
    let fault = refused(Dialect::Chat, "500 X", "x-should-retry: false\r\n", "").await;
    assert!(!fault.is_recoverable && fault.why == "500 Internal Server Error");
    let detail = "the pool is exhausted ".repeat(30);
    let page = format!("<html><head><title>502 Bad Gateway</title></head>\n<p>{detail}</p></html>");
    let fault = refused(Dialect::Chat, "502 X", "", &page).await;
    let said = format!("502 Bad Gateway: a page with the title \"502 Bad Gateway\": {page}");
    assert_eq!(fault.why, said);
    let fault = refused(Dialect::Chat, "503 X", "", &detail).await;
    assert_eq!(
        fault.why,
        format!("503 Service Unavailable: {}", detail.trim())
    );
}

#[tokio::test]
async fn a16_a_refused_key_is_not_shown_and_not_tried_again() {
    let body = r#"{"error":{"message":"Incorrect API key provided: sk-hi**********et42. You can find it. Or sk-hidden-secret42, or hidden-secret","type":"invalid_request_error","code":"invalid_api_key"}}"#;
    for status in ["401 Unauthorized", "403 Forbidden"] {
        let server = Server::start(vec![Act::Send(whole(status, "", body))]).await;
        let model = model(Dialect::Chat, &server.url, |endpoint| {
            endpoint.key = ApiKey::new("sk-hidden-secret42");
        });
        let fault = ask_model(&model).await.0.unwrap_err();
        assert!(!fault.is_recoverable && server.requests().len() == 1);
        let shown = format!("{fault:?} {model:?}");
        for part in ["et42", "sk-hi", "hidden", "secret42"] {
            assert!(!shown.contains(part), "{part} in {shown}");
        }
        assert!(
            fault.why.contains("[secret]. You can find it."),
            "{fault:?}"
        );
    }
}

#[tokio::test]
async fn a17_a_400_still_leads_to_the_guilty_item() {
    let body = r#"{"error":{"message":"No tool output found for function call call_7.","type":"invalid_request_error","param":"input","code":null}}"#;
    let fault = refused(Dialect::Responses, "400 Bad Request", "", body).await;
    assert!(!fault.is_recoverable);
    let decoded = decode(&fault.why);
    assert_eq!(decoded[0].call_ids, ["call_7"]);
    assert!(decoded[0].rule.is_some());
}

#[tokio::test]
async fn an_error_text_without_end_is_cut() {
    let long = format!(
        r#"{{"error":{{"message":"{}"}}}}"#,
        "é\\u001b[31m".repeat(5_000)
    );
    let fault = refused(Dialect::Chat, "400 Bad Request", "", &long).await;
    assert_eq!(fault.why.chars().count(), 16_001);
    let script = vec![Act::Send(head("500 X", "")), Act::Flood(vec![b'x'; 8192])];
    let (outcome, _) = ask(Dialect::Chat, script).await;
    assert!(outcome.unwrap_err().why.ends_with("x…"));
}

#[tokio::test]
async fn a18_a_page_where_a_reply_should_be_is_said_so() {
    let page = "\n<!DOCTYPE html><html><title>Sign in to Wi-Fi</title>";
    let (outcome, _) = ask_sent(
        Dialect::Chat,
        whole("200 OK", "content-type: text/event-stream\r\n", page),
    )
    .await;
    let fault = outcome.unwrap_err();
    assert!(
        fault
            .why
            .contains("a page with the title \"Sign in to Wi-Fi\""),
        "{fault:?}"
    );
    assert!(!fault.is_recoverable);
}

#[tokio::test]
async fn a18_what_is_neither_json_nor_a_stream_is_said_so() {
    for (body, why) in [
        ("upstream says no", "it begins \"upstream says no\""),
        (r#"{"ok":true}"#, "not of the dialect chat"),
        ("[1,2]", "not of the dialect chat"),
        ("data: hello\n\n", "it begins \"data: hello\""),
        (
            "data: {\"type\":\"message_start\",\"message\":{}}\n\n",
            "nor a stream of the dialect chat",
        ),
        (
            r#"{"error":{"message":"No credits"}}"#,
            "reports in its reply: No credits",
        ),
        (r#"{"choices":[{"#, "stops in the middle"),
        (": waiting\n\n", "stops in the middle"),
        ("", "is empty"),
        (" \n", "is empty"),
        ("\u{fffd}", "it begins"),
    ] {
        let (outcome, _) = ask_sent(Dialect::Chat, whole("200 OK", "", body)).await;
        let fault = outcome.unwrap_err();
        assert!(fault.why.contains(why), "{body}: {fault:?}");
    }
}

#[tokio::test]
async fn a19_an_encoding_that_was_not_asked_for_is_refused_and_a_bomb_stays_folded() {
    for encoding in ["gzip", "br", "zstd", "deflate, gzip"] {
        let lines = format!("content-encoding: {encoding}\r\n");
        let (outcome, _) = ask_sent(Dialect::Chat, whole("200 OK", &lines, "\u{1f}\u{8b}")).await;
        let fault = outcome.unwrap_err();
        assert!(
            fault.why.contains(&format!("is encoded ({encoding})")),
            "{fault:?}"
        );
    }
    let lines = "content-encoding: identity\r\n";
    let (outcome, _) = ask_sent(Dialect::Chat, whole("200 OK", lines, &chat().1.to_string())).await;
    assert!(outcome.is_ok());
}

#[tokio::test]
async fn a24_a_redirect_is_not_followed_and_the_key_stays_here() {
    let other = Server::start(vec![Act::Send(whole("200 OK", "", &chat().1.to_string()))]).await;
    for status in ["301 X", "302 X", "307 X", "308 X"] {
        let lines = format!("location: {}/v1?key=hunter2\r\n", other.url);
        let fault = refused(Dialect::Chat, status, &lines, "").await;
        assert!(
            !fault.is_recoverable && fault.why.contains("not followed"),
            "{fault:?}"
        );
        assert!(!fault.why.contains("hunter2"));
    }
    assert!(other.requests().is_empty());
}
