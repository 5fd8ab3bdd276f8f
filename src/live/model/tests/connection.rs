//! Connections that are refused, reset, silent, cut or called off.

use super::server::{chunk, events, stream, stream_head, whole};
use super::*;
use base64::prelude::{BASE64_STANDARD, Engine};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;

fn assert_hides_the_url(fault: &ModelFault) {
    assert!(
        !fault.why.contains("hunter2") && !fault.why.contains("/v1"),
        "{fault:?}"
    );
}

async fn fault_of_url(url: &str) -> ModelFault {
    let model = model(Dialect::Chat, url, |_| {});
    let fault = ask_model(&model).await.0.unwrap_err();
    assert_hides_the_url(&fault);
    assert!(!fault.was_streaming && fault.status.is_none());
    fault
}

#[tokio::test]
async fn a1_a_closed_port_is_a_fault_that_may_pass() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let fault = fault_of_url(&format!("http://127.0.0.1:{port}/v1?key=hunter2")).await;
    assert_eq!(
        fault.why,
        format!("127.0.0.1:{port}: the connection is refused")
    );
    assert!(fault.is_recoverable);
}

#[tokio::test]
async fn a1_a_name_without_an_address_is_a_fault_that_names_the_host_only() {
    let fault = fault_of_url("http://no-such-host.invalid/v1?key=hunter2").await;
    assert!(
        fault.why.starts_with("no-such-host.invalid:80: "),
        "{fault:?}"
    );
    assert!(fault.is_recoverable);
}

#[tokio::test]
async fn a2_a_server_that_speaks_no_tls_is_refused_for_good() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let answer = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        tokio::io::AsyncWriteExt::write_all(&mut client, answer)
            .await
            .unwrap();
        let mut rest = [0; 1024];
        while tokio::io::AsyncReadExt::read(&mut client, &mut rest)
            .await
            .is_ok_and(|count| count > 0)
        {}
    });
    let fault = fault_of_url(&url).await;
    assert!(fault.why.contains("no safe connection"), "{fault:?}");
    assert!(!fault.is_recoverable);
}

/// A certificate for localhost and 127.0.0.1 that signed itself, with its key; they are good for nothing but this test.
const CERTIFICATE: &str = "MIIBmzCCAUGgAwIBAgIUGWimpFjl7aFYcTP0VFYOj1oNCZswCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTIzNTUyNloYDzIxMjYxMDI4MjM1NTI2WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARpyewB8ze77rx2D3AG48YPm74R96UB9fswsBTCPKRZT2XTPuV0NnqNqqbvLBUPApwaafN4oex/WNenLd6h3sxro28wbTAdBgNVHQ4EFgQURCl5tPMg1kbcyzGr3vS+uKR90gswHwYDVR0jBBgwFoAURCl5tPMg1kbcyzGr3vS+uKR90gswDwYDVR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZIzj0EAwIDSAAwRQIgJNyRgWlpFVT1mRB7T6JGUOFqdMuZNb04yFU7NC/oaZYCIQDECEB0yVdpudBbsVb53O/Kk2OQQYE84PdN9LkwhIAGSg==";
const CERTIFICATE_KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg1hn4RvuWpdWu9MhCu8em+h7auQk8Z1C5oFgCfwykLAShRANCAARpyewB8ze77rx2D3AG48YPm74R96UB9fswsBTCPKRZT2XTPuV0NnqNqqbvLBUPApwaafN4oex/WNenLd6h3sxr";

#[tokio::test]
async fn a2_a_certificate_that_signed_itself_is_not_trusted() {
    let certificate = CertificateDer::from(BASE64_STANDARD.decode(CERTIFICATE).unwrap());
    let key = PrivateKeyDer::try_from(BASE64_STANDARD.decode(CERTIFICATE_KEY).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut connection = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        // The client ends the handshake.
        connection.complete_io(&mut client).unwrap_err()
    });
    let fault = fault_of_url(&url).await;
    assert!(fault.why.contains("no safe connection"), "{fault:?}");
    assert!(!fault.is_recoverable);
    server.join().unwrap();
}

#[tokio::test]
async fn a3_a_connection_that_is_reset_before_any_byte_is_asked_once_only() {
    let server = Server::start(vec![Act::Reset]).await;
    let (outcome, shown) = ask_model(&model(Dialect::Chat, &server.url, |_| {})).await;
    let fault = outcome.unwrap_err();
    assert!(
        fault.is_recoverable && fault.why.contains("may have got the question"),
        "{fault:?}"
    );
    assert_eq!((server.requests().len(), shown.firsts), (1, 0));
}

#[tokio::test]
async fn a4_a_kept_connection_that_the_server_closed_is_replaced_by_a_new_one() {
    let reply = whole("200 OK", "", &chat().1.to_string());
    let server = Server::start(vec![Act::Send(reply)]).await;
    let model = model(Dialect::Chat, &server.url, |_| {});
    for asked in 1..=3 {
        // The server closes after each reply without saying so; the client may notice before it writes or while it does.
        let (outcome, _) = ask_model(&model).await;
        match outcome {
            Ok(_) => assert!(server.requests().len() <= asked),
            Err(fault) => assert!(
                fault.is_recoverable && fault.why.contains("may have got"),
                "{fault:?}"
            ),
        }
    }
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let reply = Act::Send(stream(chat().0));
    let server = Server::start(vec![reply.clone(), Act::Listen, reply, Act::Hang]).await;
    let model = model(Dialect::Chat, &server.url, |_| {});
    ask_model(&model).await.0.unwrap();
    ask_model(&model).await.0.unwrap();
    assert_eq!(server.requests().len(), 2);
    drop(model);
    server.until_gone().await;
}

#[tokio::test]
async fn a5_without_any_head_the_question_ends_when_its_time_is_up() {
    let server = Server::start(vec![Act::Hang]).await;
    let model = model(Dialect::Chat, &server.url, |endpoint| {
        endpoint.timeouts.first = BRIEF
    });
    let (outcome, shown) = ask_model(&model).await;
    let fault = outcome.unwrap_err();
    assert!(
        fault.is_recoverable && fault.why.contains("no answer within 150ms"),
        "{fault:?}"
    );
    assert_eq!(shown.firsts, 0);
    server.until_gone().await;
}

#[tokio::test]
async fn a5_a_question_that_is_called_off_ends_at_once_with_its_connection() {
    for sent in [
        vec![],
        stream_head(),
        [stream_head(), chunk(&chat().0.as_bytes()[..300])].concat(),
    ] {
        let server = Server::start(vec![Act::Send(sent), Act::Hang]).await;
        let model = model(Dialect::Chat, &server.url, |_| {});
        let cancel = CancellationToken::new();
        let mut nothing = |_: ReplyProgress<'_>| {};
        let asked = model.ask(b"{}".to_vec(), &mut nothing, cancel.clone());
        let (outcome, ()) = tokio::join!(asked, async {
            while server.requests().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        });
        let fault = outcome.unwrap_err();
        assert!(
            fault.why == "called off" && !fault.is_recoverable,
            "{fault:?}"
        );
        server.until_gone().await;
    }
}

#[tokio::test]
async fn a6_a_stream_that_falls_silent_is_shown_as_silent_and_then_given_up() {
    let begun = events(&[r#"{"choices":[{"index":0,"delta":{"content":"so far"}}]}"#]);
    let server = Server::start(vec![
        Act::Send([stream_head(), chunk(&begun)].concat()),
        Act::Hang,
    ])
    .await;
    let model = model(Dialect::Chat, &server.url, |endpoint| {
        endpoint.timeouts.idle = BRIEF * 4;
        endpoint.timeouts.quiet = BRIEF;
    });
    let (outcome, shown) = ask_model(&model).await;
    let fault = outcome.unwrap_err();
    assert!(shown.silences >= 1 && shown.text == "so far", "{shown:?}");
    assert!(fault.was_streaming && fault.is_recoverable);
    assert!(
        fault.why.contains(&format!("after {} bytes", begun.len())),
        "{fault:?}"
    );
    server.until_gone().await;
}

async fn assert_cut(bytes: &[u8]) {
    let sent = [stream_head(), chunk(bytes)].concat();
    let (outcome, shown) = ask_sent(Dialect::Chat, sent).await;
    let fault = outcome.unwrap_err();
    assert!(
        fault.why.contains("broke off: the reply has no end") && fault.is_recoverable,
        "{fault:?}"
    );
    assert!(fault.was_streaming && shown.text == "é", "{shown:?}");
}

#[tokio::test]
async fn a7_a_cut_between_events_is_a_fault_and_not_an_end() {
    assert_cut(events(&[r#"{"choices":[{"delta":{"content":"é"}}]}"#]).as_bytes()).await;
}

#[tokio::test]
async fn a8_a_cut_inside_an_event_is_the_same() {
    let cut = events(&[
        r#"{"choices":[{"delta":{"content":"é"}}]}"#,
        r#"{"choices":[{"delta":{"content":"lost"#,
    ]);
    assert_cut(cut.trim_end().as_bytes()).await;
}

#[tokio::test]
async fn a9_a_cut_inside_a_character_is_the_same_and_shows_no_half_of_it() {
    let mut cut = events(&[r#"{"choices":[{"delta":{"content":"é"}}]}"#]).into_bytes();
    cut.extend_from_slice(b"data: {\"choices\":[{\"delta\":{\"content\":\"\xf0\x9f");
    assert_cut(&cut).await;
}

#[tokio::test]
async fn a10_a_clean_end_without_the_end_event_is_a_part_of_a_reply() {
    for (dialect, end) in [
        (Dialect::Responses, "event: response.completed"),
        (
            Dialect::Chat,
            "data: {\"id\":\"c1\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish",
        ),
        (Dialect::Anthropic, "event: message_stop"),
    ] {
        let body = example(dialect).0;
        let (part, _) = body.split_once(end).unwrap();
        let (outcome, shown) = ask_sent(dialect, stream(part)).await;
        let answer = outcome.unwrap();
        assert!(!answer.ended && !answer.is_whole(), "{dialect:?}");
        assert_eq!(shown.text, "Let me look.");
        assert!(answer.json.contains("Let me look."));
        // In the middle of an event it is the same.
        let (outcome, _) = ask_sent(dialect, stream(&part[..part.len() - 20])).await;
        assert!(!outcome.unwrap().ended);
    }
}

#[tokio::test]
async fn a22_a_slow_drip_keeps_the_question_alive() {
    // Each piece comes within the idle time, all of them do not.
    let (body, whole) = chat();
    let mut script = vec![Act::Send(stream_head())];
    for piece in body.as_bytes().chunks(100) {
        script.push(Act::Send(chunk(piece)));
        script.push(Act::Pause(BRIEF / 3));
    }
    script.push(Act::Send(b"0\r\n\r\n".to_vec()));
    let server = Server::start(script).await;
    let model = model(Dialect::Chat, &server.url, |endpoint| {
        endpoint.timeouts.idle = Duration::from_secs(20);
        endpoint.timeouts.quiet = BRIEF / 10;
    });
    let (outcome, shown) = ask_model(&model).await;
    assert_eq!(value(&outcome.unwrap()), whole);
    assert!(shown.silences > 0);
}

#[tokio::test]
async fn a_reply_that_drips_for_ever_ends_when_its_whole_time_is_up() {
    let begun = events(&[r#"{"choices":[{"index":0,"delta":{"content":"x"}}]}"#]);
    let script = vec![Act::Send([stream_head(), chunk(begun)].concat()), Act::Hang];
    let server = Server::start(script).await;
    let model = model(Dialect::Chat, &server.url, |endpoint| {
        endpoint.timeouts.total = BRIEF * 4
    });
    let fault = ask_model(&model).await.0.unwrap_err();
    assert!(fault.why.contains("not whole within"), "{fault:?}");
    assert!(fault.is_recoverable);
}
