//! Hostile strings through every printed surface: nothing that a terminal obeys or hides leaves the program.

use super::retake;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

const CORPUS: &str = include_str!("../hostile/escape_corpus.json");

#[derive(Deserialize)]
struct Corpus {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    text: Option<String>,
    text_rle: Option<Vec<(String, usize)>>,
    json_literal: Option<String>,
    bytes_b64: Option<String>,
}

impl Item {
    /// The string as a file would hold it: a JSON string literal, of bytes that need not be UTF-8.
    fn literal(&self) -> Vec<u8> {
        if let Some(units) = &self.text_rle {
            let text = units
                .iter()
                .map(|(unit, count)| unit.repeat((*count).min(5000)));
            return serde_json::to_vec(&text.collect::<String>()).unwrap();
        }
        if let Some(text) = &self.text {
            return serde_json::to_vec(text).unwrap();
        }
        if let Some(base64) = &self.bytes_b64 {
            return quoted(&BASE64_STANDARD.decode(base64).unwrap());
        }
        let literal = self.json_literal.as_deref().unwrap();
        if literal.starts_with('"') {
            return literal.as_bytes().to_vec();
        }
        serde_json::to_vec(literal).unwrap()
    }
}

fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut literal = vec![b'"'];
    for byte in bytes {
        match byte {
            b'"' | b'\\' => literal.extend([b'\\', *byte]),
            0..=0x1f => literal.extend(format!("\\u{byte:04x}").bytes()),
            _ => literal.push(*byte),
        }
    }
    literal.push(b'"');
    literal
}

/// A chat request in which each string is a tool's name, a call id, an argument and an output.
fn transcript() -> Vec<u8> {
    let corpus: Corpus = serde_json::from_str(CORPUS).unwrap();
    let mut text = br#"{"model":"m","tools":[{"type":"function","function":{"name":"read_file","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"go"}"#.to_vec();
    for (number, item) in corpus.items.iter().enumerate() {
        let literal = item.literal();
        let id = [
            &literal[..literal.len() - 1],
            format!("{number}\"").as_bytes(),
        ]
        .concat();
        let arguments =
            serde_json::to_vec(&format!("{{\"x\":{}}}", String::from_utf8_lossy(&literal)))
                .unwrap();
        let parts: [&[u8]; 13] = [
            b",\n{\"role\":\"assistant\",\"content\":",
            &literal,
            b",\"tool_calls\":[{\"id\":",
            &id,
            b",\"type\":\"function\",\"function\":{\"name\":",
            &literal,
            b",\"arguments\":",
            &arguments,
            b"}}]},\n{\"role\":\"tool\",\"tool_call_id\":",
            &id,
            b",\"content\":",
            &literal,
            b"}",
        ];
        text.extend(parts.concat());
    }
    text.extend(b"]}");
    text
}

/// Controls other than LF, and the bidirectional controls.
fn is_forbidden(character: char) -> bool {
    (character.is_control() && character != '\n')
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[track_caller]
fn assert_harmless(what: &str, bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    if let Some((at, found)) = text.char_indices().find(|(_, found)| is_forbidden(*found)) {
        let around = &text
            [text.floor_char_boundary(at.saturating_sub(80))..text.floor_char_boundary(at + 80)];
        panic!("{what}: {found:?} at byte {at}: {around:?}");
    }
}

#[test]
fn every_printed_surface_shows_hostile_text_and_obeys_none() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hostile.json"), transcript()).unwrap();
    let surfaces: &[&[&str]] = &[
        &["check", "--format", "text"],
        &["check", "--format", "json"],
        &["check", "--format", "github"],
        &["check", "--format", "junit"],
        &["check", "--format", "sarif"],
        &["show"],
        &["show", "--full"],
        &[
            "explain",
            "--error",
            "No tool output found for function call \u{1b}[2Jx\u{202e}. No tool output found for function call call_a.",
        ],
    ];
    for surface in surfaces {
        let output = retake()
            .current_dir(folder.path())
            .args(*surface)
            .arg("hostile.json")
            .output()
            .unwrap();
        let what = surface.join(" ");
        assert!(
            output.stdout.len() > 200,
            "{what} printed nothing: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_harmless(&what, &output.stdout);
        assert_harmless(&what, &output.stderr);
    }
}

#[test]
fn json_reports_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hostile.json"), transcript()).unwrap();
    let arguments = ["check", "--format", "json", "hostile.json"];
    let output = retake()
        .current_dir(folder.path())
        .args(arguments)
        .output()
        .unwrap();
    let corpus: Corpus = serde_json::from_str(CORPUS).unwrap();
    let tools = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["rule"] == "unknown-tool")
        .map(|line| line["tool"].as_str().unwrap_or_default().to_owned())
        .collect::<Vec<_>>();
    let texts = corpus.items.iter().filter_map(|item| item.text.as_ref());
    let mut compared = 0;
    for text in texts.filter(|text| !text.is_empty()) {
        assert!(tools.contains(text), "{text:?}");
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn hostile_names_of_files_are_shown_too() {
    let folder = tempfile::tempdir().unwrap();
    let name = "a\u{1b}[31m\u{202e}b\n.json";
    std::fs::write(
        folder.path().join(name),
        "[{\"role\":\"user\",\"content\":\"x\"},{\"role\":",
    )
    .unwrap();
    std::fs::write(folder.path().join("x.json"), "").unwrap();
    for format in ["text", "json", "github", "junit", "sarif"] {
        let paths = [Path::new(name), Path::new("missing\u{9b}2J")];
        let output = retake()
            .current_dir(folder.path())
            .args(["check", "--format", format])
            .args(paths)
            .output()
            .unwrap();
        assert_harmless(format, &output.stdout);
        assert_harmless(format, &output.stderr);
    }
    let shown = retake()
        .current_dir(folder.path())
        .args(["show", name])
        .output()
        .unwrap();
    assert_harmless("show", &shown.stdout);
}
