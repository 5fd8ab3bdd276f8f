//! Secrets made up here, in the places where they stand.

use super::*;
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
        "Redactor { known: 4 } Vault { secrets: 2, .. }"
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
        format!(r#"{{"signature":"{signature}","encrypted_content":"{signature}"}}"#),
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
