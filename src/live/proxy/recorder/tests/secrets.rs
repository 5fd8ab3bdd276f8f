//! Made-up secrets in requests, replies, streams and headers: none of them is in any file.

use super::*;
use crate::proxy::judge::Continuation;
use serde_json::{Value, json};
use std::process::Command;

fn cases(folder: &Path) -> Option<Vec<Value>> {
    let out = folder.join("cases.json");
    let program = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/it/hostile/gen_redaction.py"
    );
    // Without python3 there are none; the test of the redactor says so.
    let made = Command::new("python3")
        .arg(program)
        .arg(&out)
        .output()
        .ok()?;
    assert!(made.status.success());
    let cases: Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    Some(cases["cases"].as_array().unwrap().clone())
}

/// A text as a stream of replies in deltas of a few letters.
fn deltas(text: &str, is_whole: bool) -> String {
    let letters: Vec<char> = text.chars().collect();
    let pieces = letters
        .chunks(9)
        .map(|piece| piece.iter().collect::<String>());
    let events = pieces.map(|piece| {
        let event = json!({"id": "1", "choices": [{"index": 0, "delta": {"content": piece}}]});
        format!("data: {event}\n\n")
    });
    let end = "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let mut stream: String = events.collect();
    if is_whole {
        stream.push_str(end);
    }
    stream
}

/// Everything that the text may pass through.
fn everywhere(id: u32, place: &str, carrier: &str) -> Vec<RecordedExchange> {
    let request =
        json!({"model": "m", "messages": [{"role": "user", "content": carrier}]}).to_string();
    let reply =
        json!({"choices": [{"message": {"role": "assistant", "content": carrier}}]}).to_string();
    let as_it_is = chat(id, carrier, carrier);
    let mut in_places = chat(id, &request, &reply);
    if place == "url" {
        in_places.seen.path = carrier.to_owned();
    }
    in_places.seen.notes = vec![carrier.to_owned()];
    in_places.seen.client = carrier.to_owned();
    in_places.told = Some(RecordedBody::whole(reply.clone().into()));
    in_places.sent = Some(request.clone().into());
    let streamed = chat(id, &request, &deltas(carrier, true));
    let torn = chat(id, &request, &deltas(carrier, false));
    let malformed = chat(
        id,
        &request[..request.len() - 2],
        &format!("data: {carrier}\n\n"),
    );
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, carrier.as_bytes()).unwrap();
    let mut zipped = chat(id, "", &reply);
    zipped.request = RecordedBody::whole(packed.finish().unwrap().into());
    zipped.request_head = head(&[("content-encoding", "gzip")]);
    vec![as_it_is, in_places, streamed, torn, malformed, zipped]
}

#[test]
fn c11_no_made_up_secret_is_in_the_journal_wherever_it_came_by() {
    let home = tempfile::tempdir().unwrap();
    let Some(cases) = cases(home.path()) else {
        return;
    };
    assert_eq!(cases.len(), 51);
    let mut wrong = Vec::new();
    for (id, case) in (1..).zip(&cases) {
        let text = |key: &str| case[key].as_str().unwrap_or_default();
        let carrier = carrier(case);
        for (place, recorded) in everywhere(id, text("place"), &carrier)
            .into_iter()
            .enumerate()
        {
            let recorder = Recorder::begin(options(home.path())).unwrap();
            let path = recorder.path();
            recorder.exchange(recorded);
            drop(recorder);
            let file = text_of(&path);
            // Pieces of a secret show it, too, where they stand one after the other.
            let joined: String = file
                .split(r#"\"content\":\""#)
                .map(|piece| piece.split('\\').next().unwrap_or_default())
                .collect();
            let decoded = file
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap().to_string());
            let all = [file.clone(), joined, decoded.collect()];
            let holds =
                |secret: &str| !secret.is_empty() && all.iter().any(|one| one.contains(secret));
            let is_right = match text("must") {
                "kept" => text("secret").is_empty() || holds(text("secret")),
                "body_gone" => {
                    file.contains("[redacted private key")
                        || file.contains("is not recorded as it came")
                }
                _ => !holds(text("secret")) && !holds(text("also")),
            };
            if !is_right {
                wrong.push(format!(
                    "{} {} at {place}: {file}",
                    text("id"),
                    text("name")
                ));
            }
            fs::remove_file(&path).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The text of a case, in one piece.
fn carrier(case: &Value) -> String {
    let carrier = case["carrier"].as_str().unwrap();
    match case["place"].as_str() {
        Some("sse_deltas" | "chunks") => serde_json::from_str::<Vec<String>>(carrier)
            .unwrap()
            .concat(),
        _ => carrier.to_owned(),
    }
}

#[test]
fn c11_no_made_up_secret_comes_in_with_what_is_new_of_a_request_that_repeats_another() {
    let home = tempfile::tempdir().unwrap();
    let Some(cases) = cases(home.path()) else {
        return;
    };
    let recorder = Recorder::begin(options(home.path())).unwrap();
    let path = recorder.path();
    let long = "nothing secret ".repeat(400);
    let mut wrong = Vec::new();
    for (id, case) in (0..).map(|number| 4 * number + 1).zip(&cases) {
        let said = carrier(case);
        let begun = [
            json!({"role": "user", "content": long}),
            json!({"role": "assistant", "content": "ok"}),
        ];
        let asks = |more: &[Value]| {
            let list = [begun.as_slice(), more].concat();
            json!({"model": case["id"], "messages": list}).to_string()
        };
        let arguments = json!({"v": said}).to_string();
        let grown = [
            asks(&[json!({"role": "user", "content": "and?"})]),
            asks(&[json!({"role": "user", "content": said})]),
            asks(&[
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": "x", "type": "function", "function": {"name": "f", "arguments": arguments}}]}),
                json!({"role": "tool", "tool_call_id": "x", "content": said}),
            ]),
        ];
        // What is new is looked through alone: the first of them is written as it is, and no other that holds a secret.
        let (mut secrets, judge) = (Secrets::new(Vec::new()), Judge::default());
        let first = read(&judge, &asks(&[]));
        secrets.found_none(first.continuation(), first.body());
        let mut stands = grown.iter().map(|request| {
            let body = Bytes::from(request.clone());
            let request = judge.recall(Dialect::Chat, body);
            secrets.stays_clean(request.continuation(), request.body())
        });
        // A key that came with stars in it is none.
        let is_kept = case["must"] == "kept" || case["must"] == "not_reassembled";
        assert_eq!(stands.next(), Some(true), "{case}");
        if !is_kept && stands.any(|stands| stands) {
            wrong.push(format!("{case} is written as it came"));
        }
        for (id, request) in (id..).zip([asks(&[])].iter().chain(&grown)) {
            let mut recorded = chat(id, request, CALLS);
            recorded.continuation = Some(read(&judge, request).continuation().clone());
            recorder.exchange(recorded);
        }
    }
    drop(recorder);
    let file = text_of(&path);
    let written = file.matches("\"type\":\"exchange\"").count();
    assert_eq!(written, 4 * cases.len());
    let decoded = file
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap().to_string());
    let all = [file.clone(), decoded.collect()];
    for case in &cases {
        let secret = case["secret"].as_str().unwrap_or_default();
        let holds = all.iter().any(|one| one.contains(secret));
        if !secret.is_empty() && holds != (case["must"] == "kept") {
            wrong.push(case.to_string());
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_a_client_shows_in_its_headers_is_nowhere() {
    let home = tempfile::tempdir().unwrap();
    let recorder = Recorder::begin(RecorderOptions {
        secrets: vec![(
            "key of the upstream".to_owned(),
            "our-own-upstream-key-1".to_owned(),
        )],
        ..options(home.path())
    })
    .unwrap();
    let path = recorder.path();
    let own = "gateway-key-without-a-shape-77";
    let asks = json!({"messages": [{"role": "user", "content": format!("{own} our-own-upstream-key-1 hunter2-abcd1 cookie-value-9")}]});
    let mut recorded = chat(
        1,
        &asks.to_string(),
        &deltas(&format!("I got {own}, did I?"), true),
    );
    recorded.request_head = head(&[
        ("authorization", &format!("Bearer {own}")),
        ("proxy-authorization", "Basic dTpodW50ZXIyLWFiY2Qx"),
        ("cookie", "session=cookie-value-9; theme=dark"),
        ("user-agent", "agent/1"),
        ("x-stainless-lang", "python"),
        ("x-my-gateway", "another-secret-5"),
    ]);
    recorder.exchange(recorded);
    // A word for a missing key is not a key.
    let mut local = chat(2, ASKS, "{\"choices\":[]}");
    local.request_head = head(&[("authorization", "Bearer ollama")]);
    local.seen.notes = vec!["ollama answers".to_owned()];
    recorder.exchange(local);
    drop(recorder);
    let file = text_of(&path);
    for secret in [
        own,
        "our-own-upstream-key-1",
        "hunter2-abcd1",
        "cookie-value-9",
        "another-secret-5",
        "dTpodW50ZXIyLWFiY2Qx",
    ] {
        assert!(!file.contains(secret), "{secret}: {file}");
    }
    assert!(file.contains("agent/1") && file.contains("python") && file.contains("ollama answers"));
}

#[test]
fn what_a_request_repeats_stands_as_it_came_and_what_is_new_of_it_loses_its_secrets() {
    let home = tempfile::tempdir().unwrap();
    let recorder = Recorder::begin(options(home.path())).unwrap();
    let path = recorder.path();
    let secret = "gateway-key-without-a-shape-77";
    let long = "nothing secret ".repeat(400);
    let says = |text: &str| format!(r#",{{"role":"user","content":"{text}"}}"#);
    let asks = |more: &str| {
        format!(r#"{{"messages":[{{"role":"user","content":"{long}"}}{more}],"model":"m"}}"#)
    };
    let [one, two, three] = ["one", "two", secret].map(says);
    let judge = Judge::default();
    let clean = [asks(&one), asks(&format!("{one}{two}"))];
    let shows = asks(&format!("{one}{two}{three}"));
    for (id, request) in (1..).zip(clean.iter().chain([&shows, &shows])) {
        let mut recorded = chat(id, request, CALLS);
        recorded.continuation = Some(read(&judge, request).continuation().clone());
        recorded.request_head = head(&[("authorization", &format!("Bearer {secret}"))]);
        recorder.exchange(recorded);
    }
    drop(recorder);
    let file = text_of(&path);
    assert!(file.contains(&clean[0]), "{file}");
    let (one, two) = (&one[1..], &two[1..]);
    let new = format!(
        r#""continues":{{"exchange":1,"before":{},"elements":[{one},{two}],"after":14}}"#,
        clean[0].len() - 14 - one.len()
    );
    assert!(file.contains(&new), "{new}: {file}");
    assert!(!file.contains(secret), "{file}");
    assert_eq!(file.matches("[redacted credentials").count(), 2);
}

#[test]
fn header_lines_of_every_gateway_are_known_and_attributes_of_cookies_are_not() {
    let home = tempfile::tempdir().unwrap();
    let recorder = Recorder::begin(options(home.path())).unwrap();
    let path = recorder.path();
    let names = [
        "x-portkey-api-key",
        "helicone-auth",
        "cf-aig-authorization",
        "ocp-apim-subscription-key",
        "x-amz-security-token",
    ];
    let secret = |number: usize| format!("gateway-key-without-a-shape-{number}");
    let said: Vec<String> = (0..names.len()).map(secret).collect();
    let date = "Fri, 01 Nov 2026 10:00:00 GMT";
    let asks = json!({"messages": [{"role": "user", "content": format!("{said:?} on {date} with cookie-value-99")}]});
    let mut recorded = chat(1, &asks.to_string(), CALLS);
    let lines: Vec<(&'static str, &str)> = names
        .iter()
        .zip(&said)
        .map(|(name, secret)| (*name, &**secret))
        .collect();
    recorded.request_head = head(&lines);
    let cookie = format!("__cf_bm=cookie-value-99; Expires={date}; Path=/; HttpOnly");
    recorded.reply_head = head(&[("set-cookie", &cookie)]);
    recorder.exchange(recorded);
    drop(recorder);
    let file = text_of(&path);
    assert!(
        !file.contains("gateway-key") && !file.contains("cookie-value-99"),
        "{file}"
    );
    assert!(file.contains(date), "{file}");
}

#[test]
fn a_fresh_cookie_with_each_reply_leaves_what_is_known_of_a_conversation() {
    let (mut secrets, judge) = (Secrets::new(Vec::new()), Judge::default());
    let long = "nothing secret ".repeat(400);
    let asks = |more: &str| {
        let request = format!(
            r#"{{"messages":[{{"role":"user","content":"{long}"}},{{"role":"assistant","content":"ok"}}{more}],"model":"m"}}"#
        );
        judge.recall(Dialect::Chat, Bytes::from(request))
    };
    let stays_clean = |secrets: &mut Secrets, request: Arc<RequestReading>| {
        secrets.stays_clean(request.continuation(), request.body())
    };
    let first = asks("");
    judge.request(&first, &[]);
    secrets.found_none(first.continuation(), first.body());
    let cookie = |number: usize| {
        head(&[(
            "set-cookie",
            &format!("__cf_bm=cookie-value-{number}9; Path=/"),
        )])
    };
    for number in 0..40 {
        secrets.learn(&cookie(number).secrets);
        let grown = asks(r#",{"role":"user","content":"and?"}"#);
        assert!(stays_clean(&mut secrets, grown), "{number}");
    }
    let shows = asks(r#",{"role":"user","content":"cookie-value-399"}"#);
    assert!(!stays_clean(&mut secrets, shows));
    // A request that holds one is no longer known as clean.
    let body = asks(r#",{"role":"user","content":"in-a-body-77"}"#);
    judge.request(&body, &[]);
    secrets.found_none(body.continuation(), body.body());
    secrets.learn(&head(&[("set-cookie", "a=in-a-body-77")]).secrets);
    let grown = asks(r#",{"role":"user","content":"in-a-body-77"},{"role":"user","content":"x"}"#);
    assert!(!stays_clean(&mut secrets, grown));
}

#[test]
fn a_request_that_goes_on_has_only_new_elements_looked_through() {
    let judge = Judge::default();
    let rest = "x".repeat(4096);
    let asks = |list: &str| {
        let request = format!(r#"{{"messages":[{list}],"model":"{rest}"}}"#);
        let reading = judge.recall(Dialect::Chat, Bytes::from(request));
        judge.request(&reading, &[]);
        let new = reading.continuation().of.clone().map(|(_, new)| new);
        new.map(|new| String::from_utf8(reading.body()[new].to_vec()).unwrap())
    };
    let first = r#"{"role":"user","content":"a"},{"role":"user","content":"b"}"#;
    assert_eq!(asks(first), None);
    let more = format!(r#"{first},{{"role":"user","content":"c"}}"#);
    let new = r#"{"role":"user","content":"b"},{"role":"user","content":"c"}"#;
    assert_eq!(asks(&more).as_deref(), Some(new));
    let last = r#"{"role":"user","content":"c"},[3]"#;
    assert_eq!(asks(&format!("{more},[3]")).as_deref(), Some(last));
}

#[test]
fn what_is_no_json_on_one_line_is_looked_through_as_a_whole() {
    let mut secrets = Secrets::new(Vec::new());
    let begun = r#"{"messages":["#;
    let known = Continuation {
        reading: 1,
        of: None,
    };
    secrets.found_none(&known, &Bytes::from(format!("{begun}]}}")));
    for (new, is_sound) in [
        (r#"{"n":1},[2]"#, true),
        (r#"{"n":1},"#, false),
        (r#"{"n":1}}"#, false),
        ("{\"n\":\n1}", false),
        ("{\"n\":\"\u{1}\"}", false),
        (r#"{"n":"\q"}"#, false),
        ("", false),
    ] {
        let continuation = Continuation {
            reading: 2,
            of: Some((1, begun.len()..begun.len() + new.len())),
        };
        let body = format!("{begun}{new}]}}");
        let stays = secrets.stays_clean(&continuation, body.as_bytes());
        assert_eq!(stays, is_sound, "{new:?}");
    }
}

#[test]
fn a_request_that_two_others_continue_stays_known_as_clean() {
    let mut secrets = Secrets::new(Vec::new());
    let begun = r#"{"messages":[{"n":1}"#;
    let known = |reading, of| Continuation { reading, of };
    secrets.found_none(&known(1, None), &Bytes::from(format!("{begun}]}}")));
    for reading in [2, 3] {
        // The third came before the second was read.
        let body = Bytes::from(format!(r#"{begun},{{"n":{reading}}}]}}"#));
        let new = begun.len() + 1..body.len() - 2;
        let continuation = known(reading, Some((1, new)));
        assert!(secrets.stays_clean(&continuation, &body), "{reading}");
        secrets.found_none(&continuation, &body);
    }
}

#[test]
fn clean_requests_are_remembered_within_a_bound() {
    let mut secrets = Secrets::new(Vec::new());
    let alone = |reading| Continuation { reading, of: None };
    let body = |length: usize| Bytes::from(format!("{{\"x\":\"{}\"}}", "y".repeat(length)));
    let known = |secrets: &mut Secrets, reading: u64| secrets.stays_clean(&alone(reading), b"");
    for reading in 0..20 {
        secrets.found_none(&alone(reading), &body(1 << 20));
        assert!(known(&mut secrets, reading));
    }
    assert!(!known(&mut secrets, 12), "7 MiB and a little are kept");
    assert!(known(&mut secrets, 13));
    secrets.found_none(&alone(20), &body(9 << 20));
    assert!(!known(&mut secrets, 20) && known(&mut secrets, 19));
}
