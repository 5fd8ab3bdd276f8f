//! Secrets made up here, in the places where they stand.

mod planted;

use super::*;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;

/// A key that nobody has, put together so that no scanner takes it for one.
fn key() -> String {
    format!("sk-{}", "proj-Abc123".repeat(4))
}

fn gone_and_back(json: &str) -> String {
    let redactor = Redactor::default();
    let mut vault = Vault::default();
    let redacted = redactor.json(json.as_bytes(), &mut vault).into_owned();
    assert_eq!(&*vault.restored(&redacted), json.as_bytes());
    String::from_utf8(redacted).unwrap()
}

#[test]
fn a_key_in_a_message_is_replaced_and_comes_back_on_the_wire() {
    let key = key();
    let redacted = gone_and_back(&format!(r#"{{"content":"my key is {key} ok"}}"#));
    assert!(!redacted.contains(&key), "{redacted}");
    assert!(redacted.starts_with(r#"{"content":"my key is [redacted openai key "#));
    assert!(redacted.ends_with(r#"] ok"}"#));
}

#[test]
fn arguments_are_json_in_a_string_and_keep_their_spelling() {
    let redacted = gone_and_back(r#"{"arguments":"{\"api_key\":\"s3cr\\u0065t\",\"q\":\"x\"}"}"#);
    assert!(
        redacted.starts_with(r#"{"arguments":"{\"api_key\":\"[redacted api_key "#),
        "{redacted}"
    );
    assert!(redacted.ends_with(r#"]\",\"q\":\"x\"}"}"#), "{redacted}");
}

#[test]
fn a_key_spelled_in_escapes_is_still_a_key() {
    let escaped: String = key()
        .chars()
        .map(|letter| format!("\\u{:04x}", letter as u32))
        .collect();
    let redacted = gone_and_back(&format!(r#"{{"k":"{escaped}"}}"#));
    assert!(!redacted.contains(&escaped));
}

#[test]
fn what_retake_was_given_is_found_by_value_and_in_base64() {
    let redactor = Redactor::new([("API_KEY".to_owned(), "plain words 1".to_owned())]);
    let mut vault = Vault::default();
    let said = format!(
        "it was plain words 1, or {}",
        STANDARD.encode("plain words 1")
    );
    let redacted = redactor.text(&said, &mut vault).into_owned();
    assert!(
        !redacted.contains("plain words 1")
            && !redacted.contains(&STANDARD.encode("plain words 1"))
    );
    assert_eq!(vault.restored(redacted.as_bytes()), said.as_bytes());
    assert_eq!(
        format!("{redactor:?} {vault:?}"),
        "Redactor { known: 1 } Vault { secrets: 2, .. }"
    );
}

#[test]
fn a_text_that_grows_never_shows_the_beginning_of_a_key() {
    let said = format!("here it is: {}", key());
    let redactor = Redactor::new([("PW".to_owned(), "correct horse battery".to_owned())]);
    for end in 0..=said.len() {
        let shown = redactor.growing(&said[..end]);
        assert!(!shown.contains("sk-p"), "{shown}");
    }
    let said = "the words are correct horse battery";
    for end in 0..=said.len() {
        assert!(
            !redactor.growing(&said[..end]).contains("correct horse"),
            "{end}"
        );
    }
}

#[test]
fn signatures_prose_and_placeholders_stay() {
    let signature = "sk-".to_owned() + &"abcdefgh".repeat(20);
    for kept in [
        format!(r#"{{"type":"thinking","signature":"{signature}"}}"#),
        format!(r#"[{{"type":"reasoning","encrypted_content":"{signature}"}}]"#),
        r#"{"t":"sk-learn and task-1 and risk-averse","next_page_token":"abcdefghijklmnop"}"#
            .to_owned(),
        r#"{"id":"123e4567-e89b-12d3-a456-426614174000","password":""}"#.to_owned(),
        r#"{"password":"[redacted password 0badcafe]"}"#.to_owned(),
    ] {
        let mut vault = Vault::default();
        assert_eq!(
            &*Redactor::default().json(kept.as_bytes(), &mut vault),
            kept.as_bytes()
        );
    }
}

#[test]
fn the_same_secret_has_the_same_placeholder() {
    let key = key();
    let redacted = gone_and_back(&format!(r#"["{key}","{key}"]"#));
    let parts: Vec<&str> = redacted.trim_matches(['[', ']']).split(',').collect();
    assert_eq!(
        parts[0].trim_matches(['"', ']']),
        parts[1].trim_matches(['"', ']'])
    );
}

proptest! {
    #[test]
    fn whatever_the_bytes_what_was_taken_out_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..200) {
        let mut bytes = bytes;
        let at = at.min(bytes.len());
        bytes.splice(at..at, format!("\"{}\"", key()).into_bytes());
        let mut vault = Vault::default();
        let redacted = Redactor::default().json(&bytes, &mut vault).into_owned();
        prop_assert_eq!(vault.restored(&redacted).into_owned(), bytes);
    }
}

#[test]
fn what_is_cleaned_twice_comes_back_as_it_was() {
    let key = "sk-proj-".to_owned() + &"a1B2".repeat(12);
    let redactor = Redactor::new([("OPENAI_API_KEY".to_owned(), key.clone())]);
    let mut vault = Vault::default();
    let said = format!("OPENAI_API_KEY={key}");
    let once = redactor.text(&said, &mut vault).into_owned();
    let twice = redactor.text(&once, &mut vault).into_owned();
    assert!(!twice.contains(&key), "{twice}");
    assert_eq!(vault.restored(twice.as_bytes()), said.as_bytes());
}

#[test]
fn texts_of_two_runs_are_alike_without_the_tags_of_their_placeholders() {
    let text = &*format!("the key is {}, keep it", key());
    let [one, other] = [(); 2].map(|()| {
        let mut vault = Vault::default();
        Redactor::default().text(text, &mut vault).into_owned()
    });
    assert_ne!(one, other);
    assert!(holds_placeholder(&one) && !holds_placeholder(text));
    assert_eq!(without_tags(&one), without_tags(&other));
    assert!(without_tags(&one).starts_with("the key is [redacted "));
    for plain in [text, "[redacted ", "[redacted x]", "[redacted x 1234567g]"] {
        assert_eq!(without_tags(plain), plain);
    }
}

/// Texts with a secret, each with the secret, as people write them into the arguments of tools.
fn phrases() -> Vec<(String, String)> {
    let key = key();
    let said = |text: String, secret: &str| (text, secret.to_owned());
    vec![
        said(format!("Authorization: Bearer {key}"), &key),
        said(format!("x-api-key: {key}"), &key),
        said("Cookie: session=hunter2-abcdefgh".to_owned(), "hunter2"),
        said(
            r#"curl -H "Cookie: a=hunter2; b=\"c\"" -H 'X-Api-Key: hunter2-x' http://h"#.to_owned(),
            "hunter2",
        ),
        said(format!("export OPENAI_API_KEY={key}"), &key),
        said(
            r#"curl "https://h/v1?key=hunter2abc""#.to_owned(),
            "hunter2",
        ),
        said("https://user:hunter2abc@h/v1".to_owned(), "hunter2"),
        said(
            "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n".to_owned(),
            "hunter2",
        ),
        said(r#"{"data":"Cookie: hunter2"}"#.to_owned(), "hunter2"),
        said(format!(r#"{{"{key}":1}}"#), &key),
    ]
}

/// A JSON text in as many strings of JSON.
fn wrapped(json: &str, times: usize) -> String {
    (0..times).fold(json.to_owned(), |json, _| {
        serde_json::json!({"arguments": json, "n": 1}).to_string()
    })
}

/// The text that was so wrapped.
fn unwrapped(json: &str, times: usize) -> String {
    (0..times).fold(json.to_owned(), |json, _| {
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["n"], 1, "{json}");
        value["arguments"].as_str().unwrap().to_owned()
    })
}

/// A text without the insides of its strings: its quotes and what is between them.
fn bones(text: &str) -> String {
    let (mut bones, mut done) = (String::new(), 0);
    for string in texts(text.as_bytes()).all {
        bones.push_str(&text[done..string.inside.start]);
        done = string.inside.end;
    }
    bones + &text[done..]
}

proptest! {
    #[test]
    fn json_in_json_stays_json_and_loses_its_secret(
        one in 0..10_usize, other in 0..10_usize, times in 1..4_usize, name in "[a-zA-Z:=\" ]{0,8}", words in ".{0,12}"
    ) {
        let (said, secret) = &phrases()[one];
        let (beside, hidden) = &phrases()[other];
        let json = serde_json::json!({name: [said, words], "w": "last", "x": {"y": beside}}).to_string();
        let redacted = gone_and_back(&wrapped(&json, times));
        let inner = unwrapped(&redacted, times);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&inner).is_ok(), "{inner}");
        prop_assert_eq!(bones(&inner), bones(&json));
        prop_assert!(!redacted.contains(secret.as_str()) && !redacted.contains(hidden.as_str()), "{redacted}");
    }

    #[test]
    fn broken_json_in_json_keeps_every_quote_where_a_repair_looks_for_it(
        one in 0..10_usize, cut in 0..60_usize, fence in "(|```json\n|Here: )"
    ) {
        let (said, secret) = &phrases()[one];
        let json = serde_json::json!({"v": said, "empty": "Cookie: ", "w": "x-api-key:", "z": 12345678}).to_string();
        let cut = json.char_indices().rev().nth(cut).map_or(0, |(at, _)| at);
        let broken = format!("{fence}{}", &json[..cut]);
        let redacted = gone_and_back(&wrapped(&broken, 1));
        let inner = unwrapped(&redacted, 1);
        prop_assert_eq!(bones(&inner), bones(&broken));
        // Half a secret may look like none.
        let is_whole = broken.contains("\"empty\"");
        prop_assert!(!is_whole || !inner.contains(secret.as_str()), "{inner}");
    }
}

#[test]
fn a_secret_ends_where_its_string_does_however_it_is_written() {
    for (text, bare) in [
        (r#"{cookie: "hunter2-ab", "w": 1"#, r#"{cookie: "", "w": 1"#),
        (
            r#"{authorization: "Bearer hunter2-ab", "w": 1"#,
            r#"{authorization: "Bearer ", "w": 1"#,
        ),
        (
            r#"{'v': 'x', "v": "Cookie: hunter2\", \"w\": 1"#,
            r#"{'v': 'x', "v": "Cookie: "#,
        ),
        ("[log] Cookie: hunter2; b=\"hunter2\"", "[log] Cookie: "),
        ("Cookie: p={\"a\":\"hunter2\"}", "Cookie: "),
        ("x-api-key: \"hunter2-ab\", next", "x-api-key: \"\", next"),
    ] {
        let mut vault = Vault::default();
        let redacted = Redactor::default().text(text, &mut vault).into_owned();
        assert_eq!(vault.restored(redacted.as_bytes()), text.as_bytes());
        let opens = redacted.find("[redacted ").unwrap();
        let closes = opens + redacted[opens..].find(']').unwrap() + 1;
        assert_eq!(
            [&redacted[..opens], &redacted[closes..]].concat(),
            bare,
            "{redacted}"
        );
    }
}

#[test]
fn escapes_hide_no_secret() {
    let key = "Ab3dE6gH".repeat(5);
    for (content, kind) in [
        (format!("\\u0073k-proj-{key}"), "openai key"),
        (format!("\\u001b[31;sk-proj-{key}"), "openai key"),
        (
            "pass\\u0077ord\\u003d\\u0022hunter2-abc\\u0022".to_owned(),
            "password",
        ),
        ("\\u001b[32mdone\\u001b[0m \\u2713".to_owned(), ""),
    ] {
        let text = format!(r#"{{"role":"user","content":"{content}"}}"#);
        assert_eq!(kinds_in_json(text.as_bytes()).concat(), kind, "{content}");
    }
}

proptest! {
    /// The first look at a text, whose escapes are not decoded, may suspect too much and never too little.
    #[test]
    fn what_is_surely_clean_holds_no_secret(
        name in pieces(),
        text in pieces(),
        is_known in any::<bool>(),
        depth in 0..3,
    ) {
        let known = ("key".to_owned(), "word-hunter2-abc".to_owned());
        let redactor = Redactor::new(is_known.then_some(known));
        let mut json = serde_json::json!({"type": "text", name: text}).to_string();
        for _ in 0..depth {
            json = serde_json::json!({"text": format!("it says {json}"), "n": [1, json]}).to_string();
        }
        prop_assert_eq!(redactor.hits_of_json(json.as_bytes()), redactor.hits_of_any_json(json.as_bytes()));
    }
}

fn pieces() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 1..12).prop_map(|pieces| pieces.concat())
}

/// What names of secrets, values and the signs between them are made of.
const PIECES: &[&str] = &[
    "password",
    "api_key",
    "TOKEN",
    "auth_token",
    "pin",
    "jwt",
    "MY_SECRET",
    "set-cookie",
    "pass_",
    "dsn",
    "code",
    "authorization",
    "n",
    "u",
    "_",
    "-",
    "--",
    "\"",
    "'",
    "`",
    "\\",
    "\n",
    "\t",
    "\r",
    "\u{8}",
    "/",
    "é",
    "=",
    ":",
    ": ",
    " = ",
    ":=",
    " ",
    ".",
    ",",
    "<",
    ">",
    "$",
    "{",
    "str",
    "hunter2-abc",
    "hunter2secret",
    "a1b2c3d4e5",
    "123456",
    "aB3dE6gH9jK2mN5pQ8sT",
    "word",
    "***",
];
