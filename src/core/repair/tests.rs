//! Broken texts of models and what is said about them.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;

#[test]
fn valid_text_stays_as_it_is() {
    for text in ["{}", " [1, 2] ", "\"a\"", "1e400", r#""\ud83d""#, "null"] {
        assert_eq!(
            (repair(text), defects(text), first_error(text)),
            (Repair::Valid, vec![], None),
            "{text}"
        );
    }
}

#[test]
fn each_defect_is_named_and_what_was_meant_is_likely() {
    use SyntaxDefect::*;
    let cases: &[(&str, &[SyntaxDefect], &str)] = &[
        (r#"{"a": 1,}"#, &[TrailingComma], r#"{"a":1}"#),
        ("{'a': 'b'}", &[SingleQuotes], r#"{"a":"b"}"#),
        ("{a: 1}", &[Unquoted], r#"{"a":1}"#),
        (
            r#"{"a": True, "b": None}"#,
            &[ForeignLiterals],
            r#"{"a":true,"b":null}"#,
        ),
        ("{\"a\": 1 // one\n}", &[Comments], r#"{"a":1}"#),
        ("```json\n{\"a\": 1}\n```", &[CodeFence], r#"{"a":1}"#),
        (r#"{"a": [1, 2"#, &[Truncated], r#"{"a":[1,2]}"#),
        (r#"{"city": "Par"#, &[Truncated], r#"{"city":"Par"}"#),
        ("{\"a\": \"x\ny\"}", &[ControlCharacters], r#"{"a":"x\ny"}"#),
        (r#"{"a": "x" + "y"}"#, &[JoinedStrings], r#"{"a":"xy"}"#),
    ];
    for (text, expected, meant) in cases {
        assert_eq!(&defects(text), expected, "{text}");
        let Repair::Likely { text: repaired } = repair(text) else {
            panic!("{text}: {:?}", repair(text))
        };
        let value: Value = serde_json::from_str(&repaired).unwrap();
        assert_eq!(value.to_string(), *meant, "{text}");
    }
}

#[test]
fn a_text_that_ends_too_early_is_said_to_in_plain_words() {
    for (text, words) in [
        (
            r#"{"city": "Par"#,
            "it ends within a string at line 1 column 14",
        ),
        (
            r#"{"city":"#,
            "it ends where a value is missing at line 1 column 9",
        ),
        ("[1", "it ends within a list at line 1 column 3"),
    ] {
        assert_eq!(first_error(text).unwrap().to_string(), words);
    }
}

#[test]
fn arguments_written_twice_in_a_row_are_several_values() {
    assert_eq!(
        defects(r#"{"a": 1}{"a": 1}"#),
        [SyntaxDefect::SeveralValues]
    );
}

#[test]
fn arguments_encoded_twice_are_named_and_unwrapped() {
    let text = r#""{\"a\": 1}""#;
    assert_eq!(
        (defects(text), decoded_twice(text)),
        (
            vec![SyntaxDefect::DoubleEncoded],
            Some(r#"{"a": 1}"#.to_owned())
        )
    );
    assert_eq!(decoded_twice(r#""just text""#), None);
}

#[test]
fn json_among_words_is_found_by_its_outermost_braces_and_stays_a_guess() {
    for (text, meant) in [
        ("Here is your JSON: {\"key\": \"val", r#"{"key":"val"}"#),
        (" - { \"a\": [1, 2] }", r#"{"a":[1,2]}"#),
        ("**Call**: (now)\n```json\n{\"a\": 1,}\n```\n", r#"{"a":1}"#),
        ("````{ \"a\": 1 }```", r#"{"a":1}"#),
        ("it's {'a': {'b': 1}} of course", r#"{"a":{"b":1}}"#),
    ] {
        let (Repair::OneOpinion { text: found } | Repair::Disagree { a: found, .. }) = repair(text)
        else {
            panic!("{text}: {:?}", repair(text))
        };
        let value: Value = serde_json::from_str(&found).unwrap();
        assert_eq!(value.to_string(), meant, "{text}");
    }
}

#[test]
fn the_ladder_of_a_course_is_climbed() {
    // Trailing comma, single quotes, unquoted keys, words around the braces, a fence, a string that holds JSON.
    for text in [
        r#"{"city": "Paris",}"#,
        "{'city': 'Paris'}",
        "{city: \"Paris\"}",
        "I will call it with {\"city\": \"Paris\"}.",
        "```\n{\"city\": \"Paris\"}\n```",
        "```json\n{\"city\": \"Paris\"}",
    ] {
        let told = match repair(text) {
            Repair::Likely { text } | Repair::OneOpinion { text } => vec![text],
            Repair::Disagree { a, b } => vec![a, b],
            told => panic!("{text}: {told:?}"),
        };
        let is_meant = |told: &String| {
            let value = serde_json::from_str::<Value>(told).unwrap();
            value == serde_json::json!({"city": "Paris"})
        };
        assert!(told.iter().any(is_meant), "{text}: {told:?}");
    }
    let twice = r#""{\"city\": \"Paris\"}""#;
    assert_eq!(decoded_twice(twice).unwrap(), r#"{"city": "Paris"}"#);
}

#[test]
fn keys_made_of_words_are_no_repair() {
    for text in [
        r#"{"b": "xxxxx" true}"#,
        r#"{"key": 1/3, "foo": "bar"}"#,
        r#"{"path": src/1/2}"#,
        r#"{"a": "x".join("y")}"#,
    ] {
        assert_eq!(repair(text), Repair::None, "{text}");
    }
    // The colon is what is missing.
    let repaired = Repair::Likely {
        text: r#"{"a": 1, "b": 2}"#.to_owned(),
    };
    assert_eq!(repair(r#"{"a": 1 "b": 2}"#), repaired);
}

#[test]
fn arithmetic_is_neither_computed_nor_made_a_text_or_a_key() {
    for text in [
        r#"{"principal": 310000, "monthly_rate": 4.1/100/12, "months": 25*12}"#,
        r#"{"amount": 1100*1.2}"#,
        r#"{"amount": 1100 * 1.2, "b": 2}"#,
        r#"{"amount": (1100+1.2)*2}"#,
        r#"{"amount": 1100-2}"#,
        r#"{"amount": [1, 2**10]}"#,
        r#"{"amount": total*2}"#,
    ] {
        assert_eq!(repair(text), Repair::None, "{text}");
        assert!(
            defects(text).contains(&SyntaxDefect::Arithmetic),
            "{text}: {:?}",
            defects(text)
        );
    }
    for text in [
        r#"{"date": 2024-01-02}"#,
        r#"{"url": http://x.y/z}"#,
        r#"{"share": 50%}"#,
        r#"{"share": 2.3e-3, "of": 'x'}"#,
        r#"{"sum": "1100*1.2",}"#,
        "{'sum': '1100*1.2'}",
        "{\"sum\": 1100 // 2*3\n}",
    ] {
        let found = repair(text);
        assert!(
            matches!(found, Repair::Likely { .. } | Repair::OneOpinion { .. }),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn plain_text_is_not_turned_into_json() {
    for (text, defect) in [
        ("I will search for it now.", SyntaxDefect::PlainText),
        ("  ", SyntaxDefect::Empty),
        ("", SyntaxDefect::Empty),
    ] {
        assert_eq!((repair(text), defects(text)), (Repair::None, vec![defect]));
    }
    assert!(defects("Sure, here it is: {\"a\": 1}").contains(&SyntaxDefect::Prose));
}

#[test]
fn the_first_error_has_its_place_in_characters_and_bytes() {
    let error = first_error("{\n  \"é\": 1,\n  \"ü\" 2}").unwrap();
    assert_eq!((error.line, error.column, error.byte), (3, 7, 20));
    assert_eq!(error.to_string(), "expected `:` at line 3 column 7");
    let error = first_error("{\"a\": [1, 2").unwrap();
    assert_eq!((error.line, error.column, error.byte), (1, 12, 11));
}

#[test]
fn huge_nesting_is_refused_by_name() {
    for text in [
        "[".repeat(1_000_000),
        "{\"a\":".repeat(1_000_000),
        format!("{}{}", "[".repeat(129), "]".repeat(129)),
    ] {
        assert_eq!(
            (repair(&text), defects(&text)),
            (Repair::None, vec![SyntaxDefect::TooDeep])
        );
        assert_eq!(
            first_error(&text).unwrap().message,
            "nested deeper than 128 levels"
        );
    }
    let brackets = format!("\"{}\"", "[".repeat(1000));
    assert_eq!(repair(&brackets), Repair::Valid);
}
