//! Hostile text in every place that a recording has for text: none of it reaches a cell as it is.

use super::{press, terminal};
use crate::tui::state::tests::opened;
use crate::tui::theme::{Glyphs, Theme, Variant};
use serde_json::{Value, json};

const CORPUS: &str = include_str!("../../../../tests/it/hostile/escape_corpus.json");

/// How many texts stand in one transcript.
const BATCH: usize = 16;

/// A transcript with the texts as messages, tools, keys, arguments, call ids, outputs and models.
fn transcript(texts: &[&str]) -> String {
    let call = |text: &&str| {
        let arguments = json!({*text: [text]}).to_string();
        json!({"id": text, "type": "function", "function": {"name": text, "arguments": arguments}})
    };
    let output = |text: &&str| json!({"role": "tool", "tool_call_id": text, "content": text});
    let calls: Vec<_> = texts.iter().map(call).collect();
    let mut messages = vec![
        json!({"role": "user", "content": texts.join("\n")}),
        json!({"role": "assistant", "content": null, "tool_calls": calls}),
    ];
    messages.extend(texts.iter().map(output));
    let broken = json!({"id": "last", "type": "function", "function": {"name": "last", "arguments": texts.concat()}});
    messages.push(json!({"role": "assistant", "content": texts[0], "tool_calls": [broken]}));
    json!({"model": texts[0], "messages": messages}).to_string()
}

/// The hostile texts.
pub(in crate::tui) fn texts() -> Vec<String> {
    let corpus: Value = serde_json::from_str(CORPUS).unwrap();
    let items = corpus["items"].as_array().unwrap();
    let texts = items.iter().filter_map(|item| item["text"].as_str());
    let texts: Vec<String> = texts.map(str::to_owned).collect();
    assert!(texts.len() > 300, "{} texts", texts.len());
    texts
}

/// Whether a cell may hold this.
pub(in crate::tui) fn is_harmless(symbol: &str) -> bool {
    let is_control = |character: char| {
        character.is_control()
            || matches!(character, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}')
            || ('\u{202a}'..='\u{202e}').contains(&character)
            || ('\u{2066}'..='\u{2069}').contains(&character)
            || ('\u{e0000}'..='\u{e007f}').contains(&character)
    };
    symbol.len() <= 64 && !symbol.chars().any(is_control)
}

#[test]
fn hostile_text_is_shown_and_never_obeyed() {
    let theme = Theme::new(Variant::Dark, Glyphs::UNICODE);
    let texts = texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let walk = std::iter::repeat_n("j", BATCH);
    let looks = ["", "=", "4", "5", "esc 3", "t", "t esc J 2"];
    for batch in texts.chunks(BATCH) {
        let mut state = opened(&transcript(batch), (120, 30));
        for keys in looks.into_iter().chain(walk.clone()) {
            press(&mut state, keys);
            let terminal = terminal(&state, &theme);
            for cell in terminal.backend().buffer().content() {
                let symbol = cell.symbol();
                assert!(is_harmless(symbol), "{symbol:?} after {keys:?}: {batch:?}");
            }
        }
    }
}
