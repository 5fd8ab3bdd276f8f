//! What is handed over is in the journal, and opens.

mod faults;
mod kills;
mod secrets;

use super::*;
use crate::proxy::judge::{Judge, RequestReading};
use crate::{ReadOptions, check_recording, read_path};
use bytes::Bytes;
use hyper::HeaderMap;
use retake_core::exchange::{ExchangeEnding, ExchangePhase, ExchangeSummary, Holding};
use retake_core::session::Dialect;
use retake_core::session::takes::Author;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const NOW: u64 = 1_700_000_000_000;

fn options(folder: &Path) -> RecorderOptions {
    RecorderOptions {
        path: None,
        root: Some(folder.to_owned()),
        upstreams: vec!["api.example:443".to_owned()],
        secrets: Vec::new(),
        clock: || NOW,
        tell: Box::new(|_| {}),
    }
}

fn head(headers: &[(&'static str, &str)]) -> RecordedHead {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, value.parse().unwrap());
    }
    RecordedHead::of(&map)
}

fn seen(id: u32, dialect: Dialect) -> ExchangeSummary {
    ExchangeSummary {
        id: ExchangeId(id),
        at_ms: NOW,
        client: "openai-python 3.52.0".to_owned(),
        method: "POST".to_owned(),
        path: "/v1/chat/completions?key=AIzaSyNotToBeWritten".to_owned(),
        dialect: Some(dialect),
        model: "m".to_owned(),
        status: Some(200),
        phase: ExchangePhase::Ended(ExchangeEnding::Passed),
        ..ExchangeSummary::default()
    }
}

fn chat(id: u32, request: &str, reply: &str) -> RecordedExchange {
    RecordedExchange {
        seen: seen(id, Dialect::Chat),
        request: RecordedBody::whole(Bytes::from(request.to_owned())),
        reply: RecordedBody::whole(Bytes::from(reply.to_owned())),
        ..RecordedExchange::default()
    }
}

/// A request as it is read after those that were read before it.
fn read(judge: &Judge, request: &str) -> Arc<RequestReading> {
    let reading = judge.recall(Dialect::Chat, Bytes::from(request.to_owned()));
    judge.request(&reading, &[]);
    reading
}

fn held(mut recorded: RecordedExchange) -> RecordedExchange {
    recorded.seen.phase = ExchangePhase::Held(Holding {
        is_request: false,
        is_gone: false,
        has: retake_core::exchange::AgentHas::default(),
        since_ms: NOW,
        until_ms: None,
        why: "unknown tool `g`".to_owned(),
    });
    recorded
}

fn decided(action: &str, rule: Option<&str>, wording: Option<&str>) -> ExchangeNote {
    ExchangeNote::Decided {
        id: ExchangeId(1),
        at: NOW,
        rule: rule.map(str::to_owned),
        action: action.to_owned(),
        by: Author::Operator,
        wording: wording.map(str::to_owned),
    }
}

/// What was held in the journals of a folder, which are closed with that.
fn interrupted(folder: &Path) -> Vec<Interrupted> {
    let mut left = Vec::new();
    let failed = close_interrupted(folder, &|| false, |one| left.push(one)).unwrap();
    assert_eq!(failed, 0);
    left
}

const ASKS: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}]}"#;
const CALLS: &str = r#"{"choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"g","arguments":"{}"}}]}}]}"#;

/// The same reply as a stream of small pieces.
fn streamed() -> String {
    let chunk = |delta: &str, reason: &str| {
        format!(
            "data: {{\"id\":\"1\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n"
        )
    };
    [
        chunk(r#"{"role":"assistant","tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"g","arguments":""}}]}"#, "null"),
        chunk(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}"#, "null"),
        chunk(r#"{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}"#, "null"),
        chunk("{}", "\"tool_calls\""),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat()
}

/// What `check` says of a file: rule by rule, session by session.
fn findings(path: &Path) -> Vec<Vec<&'static str>> {
    let recording = read_path(path, &ReadOptions::default()).unwrap();
    let found = check_recording(&recording, None).unwrap();
    let rules =
        |found: Vec<retake_core::rules::Finding>| found.iter().map(|one| one.rule.id).collect();
    found.into_iter().map(rules).collect()
}

fn text_of(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_recorded_exchange_opens_with_the_findings_of_its_bodies() {
    let home = tempfile::tempdir().unwrap();
    let bodies = home.path().join("bodies.json");
    fs::write(
        &bodies,
        format!("{{\"request\":{ASKS},\"response\":{CALLS}}}"),
    )
    .unwrap();
    let expected = findings(&bodies);
    assert!(expected[0].contains(&"unknown-tool"), "{expected:?}");

    let recorder = Recorder::begin(options(home.path())).unwrap();
    let path = recorder.path();
    assert!(path.starts_with(proxies_folder(home.path())));
    recorder.exchange(chat(1, ASKS, CALLS));
    drop(recorder);
    assert_eq!(findings(&path), expected);

    let recorder = Recorder::begin(options(home.path())).unwrap();
    let second = recorder.path();
    assert_ne!(second, path, "a file is never taken over");
    let mut stream = RecordedBody::default();
    for byte in streamed().as_bytes().chunks(7) {
        stream.push_reply(byte);
    }
    recorder.exchange(RecordedExchange {
        reply: stream,
        reply_head: head(&[("content-type", "text/event-stream")]),
        ..chat(1, ASKS, "")
    });
    drop(recorder);
    assert_eq!(findings(&second), expected);
    let text = text_of(&second);
    assert!(
        !text.contains("\"stream\""),
        "a sound stream is not kept twice: {text}"
    );
    assert!(!text.contains("AIza"), "{text}");
    assert!(text.contains("\"path\":\"/v1/chat/completions\""), "{text}");
}

/// A conversation as its client sends it: each request repeats the one before it and the reply to that.
struct Conversation {
    judge: Judge,
    messages: Vec<String>,
}

impl Conversation {
    /// One whose first message has so many bytes.
    fn new(length: usize) -> Self {
        let first = format!(
            r#"{{"role":"user","content":"{}"}}"#,
            "go on ".repeat(length / 6)
        );
        Self {
            judge: Judge::default(),
            messages: vec![first],
        }
    }

    fn body(&self) -> String {
        let messages = self.messages.join(",");
        format!(
            r#"{{"model":"m","messages":[{messages}],"tools":[{{"type":"function","function":{{"name":"f"}}}}]}}"#
        )
    }

    /// The next exchange.
    fn next(&mut self, id: u32) -> RecordedExchange {
        let body = self.body();
        let message = format!(r#"{{"role":"assistant","content":"step {id}"}}"#);
        let reply = format!(r#"{{"choices":[{{"finish_reason":"stop","message":{message}}}]}}"#);
        let mut recorded = chat(id, &body, &reply);
        recorded.continuation = Some(read(&self.judge, &body).continuation().clone());
        let answer = format!(r#"{{"role":"user","content":"and {id}?"}}"#);
        self.messages.extend([message, answer]);
        recorded
    }
}

/// Each session of a journal as the texts of its items; its problems are none.
fn texts(path: &Path) -> Vec<Vec<String>> {
    let recording = read_path(path, &ReadOptions::default()).unwrap();
    assert_eq!(recording.problems, []);
    let text = |span| String::from_utf8(recording.source.read(span).unwrap()).unwrap();
    let sessions = recording.sessions.iter();
    let texts = sessions.map(|session| session.items.iter().map(|item| text(item.span)).collect());
    texts.collect()
}

#[test]
fn the_journal_of_a_conversation_grows_with_what_is_new_and_reads_as_if_every_request_were_whole() {
    let home = tempfile::tempdir().unwrap();
    let recorder = Recorder::begin(options(home.path())).unwrap();
    let path = recorder.path();
    let mut conversation = Conversation::new(20_000);
    let mut whole = 0;
    for id in 1..=200 {
        let mut recorded = conversation.next(id);
        whole += recorded.request.kept();
        if id % 50 == 0 {
            // Its reply takes a while: it is recorded once more when it is there.
            let reply = std::mem::take(&mut recorded.reply);
            recorder.began(recorded.clone());
            recorded.reply = reply;
        }
        recorder.exchange(recorded);
    }
    drop(recorder);
    let length = fs::metadata(&path).unwrap().len();
    assert!(length < 20 * whole / 100, "{length} of {whole} bytes");
    let [session] = &texts(&path)[..] else {
        panic!("not one conversation");
    };
    let mut expected = conversation.messages.clone();
    // The answer to the last reply was never sent.
    expected.pop();
    assert_eq!(session.len(), expected.len());
    for (found, expected) in session.iter().zip(&expected) {
        assert!(
            expected.contains(found.as_str()),
            "{found} is not {expected}"
        );
    }
}

#[test]
fn an_odd_stream_is_kept_as_it_came_and_is_incomplete() {
    let home = tempfile::tempdir().unwrap();
    let recorder = Recorder::begin(options(home.path())).unwrap();
    let path = recorder.path();
    let torn = &streamed()[..250];
    recorder.exchange(chat(1, ASKS, torn));
    recorder.exchange(chat(2, ASKS, &format!("data: nonsense\n\n{}", streamed())));
    drop(recorder);
    let text = text_of(&path);
    assert_eq!(text.matches("\"incomplete\":true").count(), 1, "{text}");
    assert_eq!(text.matches("\"stream\":").count(), 2, "{text}");
    assert!(text.contains("nonsense"));
}

#[test]
fn bodies_are_decoded_for_the_record_and_what_cannot_be_is_left_out() {
    use std::io::Write;
    let home = tempfile::tempdir().unwrap();
    let recorder = Recorder::begin(options(home.path())).unwrap();
    let path = recorder.path();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(ASKS.as_bytes()).unwrap();
    let mut zipped = chat(1, ASKS, CALLS);
    zipped.request = RecordedBody::whole(packed.finish().unwrap().into());
    zipped.request_head = head(&[("content-encoding", "gzip")]);
    zipped.reply = RecordedBody::whole(zstd::encode_all(CALLS.as_bytes(), 1).unwrap().into());
    zipped.reply_head = head(&[("content-encoding", "zstd")]);
    recorder.exchange(zipped);
    let mut unknown = chat(2, ASKS, CALLS);
    unknown.reply_head = head(&[("content-encoding", "secret-sauce")]);
    recorder.exchange(unknown);
    let mut binary = chat(3, ASKS, "");
    binary.reply = RecordedBody::whole(Bytes::from_static(&[0xff, 0, 1]));
    recorder.exchange(binary);
    drop(recorder);
    let text = text_of(&path);
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[1].contains("\"name\":\"g\"") && lines[1].contains("\"content\":\"hi\""));
    assert!(lines[2].contains("cannot be decoded") && !lines[2].contains("\"name\":\"g\""));
    assert!(
        lines[3].contains("3 bytes that are not text"),
        "{}",
        lines[3]
    );
}

#[test]
fn a_giant_reply_costs_its_cap_and_says_so() {
    let piece = Bytes::from(vec![b'x'; 1 << 20]);
    let mut body = RecordedBody::default();
    for _ in 0..5 * 1024 {
        body.push_reply(&piece);
    }
    assert_eq!(body.total(), 5 << 30);
    assert!(body.is_cut());
    let recorded = RecordedExchange {
        reply: body,
        ..chat(1, ASKS, "")
    };
    assert!(recorded.cost() as u64 <= REPLY_CAP + 1024);
    let mut small = RecordedBody::default();
    for _ in 0..1000 {
        // A short piece is a slice of a long buffer, which must not be kept for it.
        small.push_reply(&piece.slice(..181));
    }
    assert_eq!(small.bytes().len(), 181_000);
    assert!(small.memory() <= 2 * 181_000, "{}", small.memory());
    assert!(piece.is_unique(), "nothing of it is shared");
    let home = tempfile::tempdir().unwrap();
    let mut cut = RecordedBody::default();
    cut.push(b"{\"choices\":[]} and more", 14);
    let recorder = Recorder::begin(options(home.path())).unwrap();
    let path = recorder.path();
    recorder.exchange(RecordedExchange {
        reply: cut,
        ..chat(2, ASKS, "")
    });
    drop(recorder);
    let text = text_of(&path);
    assert!(
        text.contains("14 of 23 bytes of the reply are recorded"),
        "{text}"
    );
}

#[test]
fn pretty_printed_bodies_stand_on_one_line() {
    let home = tempfile::tempdir().unwrap();
    let recorder = Recorder::begin(options(home.path())).unwrap();
    let path = recorder.path();
    let pretty = ASKS.replace(',', ",\r\n  ");
    recorder.exchange(chat(1, &pretty, "<html>\nBad Gateway"));
    drop(recorder);
    assert_eq!(text_of(&path).lines().count(), 3);
    let recording = read_path(&path, &ReadOptions::default()).unwrap();
    assert_eq!(recording.problems, []);
    let kinds = recording.sessions[0]
        .items
        .iter()
        .map(|item| item.kind.word());
    assert_eq!(kinds.collect::<Vec<_>>(), ["user", "notice"]);
}

#[test]
fn a_hold_and_what_was_decided_are_on_the_disk_when_that_is_said() {
    let home = tempfile::tempdir().unwrap();
    let recorder = Recorder::begin(options(home.path())).unwrap();
    let path = recorder.path();
    let on_disk = recorder.held(held(chat(1, ASKS, CALLS)), Some("/tmp/run.jsonl".into()));
    assert_eq!(on_disk.blocking_recv(), Ok(true));
    assert!(text_of(&path).contains("\"type\":\"held\""));
    let decision = decided("inject-error", Some("unknown-tool"), Some("plain"));
    let on_disk = recorder.write(decision);
    assert_eq!(on_disk.blocking_recv(), Ok(true));
    assert!(text_of(&path).contains("\"action\":\"inject-error\""));
    // While a process writes to it nothing of it is interrupted.
    let folder = proxies_folder(home.path());
    assert_eq!(interrupted(&folder), []);
    let mut mended = chat(1, ASKS, CALLS);
    mended.seen.phase = ExchangePhase::Ended(ExchangeEnding::Mended);
    mended.told = Some(RecordedBody::whole(Bytes::from_static(
        br#"{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"mended"}}]}"#,
    )));
    recorder.exchange(mended);
    drop(recorder);
    assert_eq!(interrupted(&folder), []);
    assert!(text_of(&path).ends_with("\"type\":\"closed\",\"at\":1700000000000}}\n"));
    let found = findings(&path);
    assert!(
        found[0].is_empty() && found[1].contains(&"unknown-tool"),
        "{found:?}"
    );
}

#[test]
fn files_that_are_no_journals_of_a_proxy_are_neither_locked_nor_changed() {
    let home = tempfile::tempdir().unwrap();
    let sound = "{\"seq\":1,\"crc\":\"00000000\",\"entry\":{\"type\":\"held\",\"id\":1}}\n";
    let foreign = [
        ("data.jsonl", sound.repeat(3)),
        (
            "run.jsonl",
            format!("{{\"retake\":\"journal\",\"version\":1}}\n{sound}"),
        ),
        ("words.jsonl", "x".repeat(200_000)),
    ];
    let locked = foreign.map(|(name, text)| {
        let path = home.path().join(name);
        fs::write(&path, &text).unwrap();
        (fs::File::open(&path).unwrap(), path, text)
    });
    // Whoever locks a file would be kept from this one.
    for (file, ..) in &locked {
        assert!(crate::journal::lock(file).unwrap());
    }
    let recorder = Recorder::begin(RecorderOptions {
        path: Some(home.path().join("killed.jsonl")),
        ..options(home.path())
    });
    let recorder = recorder.unwrap();
    recorder.exchange(chat(1, ASKS, CALLS));
    let killed = recorder.path();
    drop(recorder);
    // As a proxy leaves it that was killed with nothing held.
    let text = text_of(&killed);
    let text = text.trim_end().rsplit_once('\n').unwrap().0;
    fs::write(&killed, format!("{text}\n")).unwrap();
    assert_eq!(interrupted(home.path()), []);
    for (_, path, text) in &locked {
        assert!(fs::read_to_string(path).unwrap() == *text, "{path:?}");
    }
    assert!(text_of(&killed).contains("\"type\":\"closed\""));
    let recording = read_path(&killed, &ReadOptions::default()).unwrap();
    assert_eq!(recording.problems, []);
}

#[test]
fn a_named_journal_is_never_written_over_and_others_are_kept_out() {
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let named = || RecorderOptions {
        path: Some(home.path().join("mine.jsonl")),
        ..options(home.path())
    };
    let recorder = Recorder::begin(named()).unwrap();
    // There is nothing that the operator would have to do.
    assert_eq!(recorder.warning(), None);
    drop(recorder);
    let first = fs::read(home.path().join("mine.jsonl")).unwrap();
    let recorder = Recorder::begin(named()).unwrap();
    assert!(recorder.path().ends_with("mine-2.jsonl"));
    drop(recorder);
    assert_eq!(fs::read(home.path().join("mine.jsonl")).unwrap(), first);
    let link = home.path().join("link.jsonl");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    let linked = RecorderOptions {
        path: Some(link),
        ..options(home.path())
    };
    assert!(Recorder::begin(linked).is_err());
    let device = RecorderOptions {
        path: Some("/dev/null".into()),
        ..options(home.path())
    };
    let refused = Recorder::begin(device).unwrap_err().to_string();
    assert!(refused.contains("a file of its own"), "{refused}");
    assert!(!Path::new("/dev/null.jsonl").exists());
    let folder = proxies_folder(home.path());
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let recorder = Recorder::begin(options(home.path())).unwrap();
    assert!(recorder.warning().unwrap().contains("0777"));
    assert_eq!(
        fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
        0o700
    );
}
