//! The rules of the house, read off the source: who uses whom, what the core leaves alone; and a report of sizes.
//!
//! Each failure names the place and the reason. The tables below are the rules; `src/core/lib.rs` has them in words.

mod circles;
mod fault_names;
mod source;

use regex::Regex;
use source::{Finder, Source, functions, rooms_used, sources};
use std::collections::BTreeMap;

/// Each room of the core with the rooms that it may use. What the crates may use stands in their Cargo.toml.
const MAY_USE: &[(&str, &[&str])] = &[
    ("json", &[]),
    ("bundled", &[]),
    ("session", &["json"]),
    ("schema", &["json"]),
    ("repair", &["json"]),
    ("suggest", &["json", "bundled"]),
    ("safe_text", &["json"]),
    ("jq", &["json"]),
    ("pattern", &["json"]),
    ("redact", &["json", "bundled"]),
    ("content", &["json", "bundled"]),
    ("dice", &[]),
    ("wire", &["json", "session", "bundled"]),
    ("wording", &["json", "session", "wire", "bundled"]),
    ("config", &["suggest", "wording"]),
    ("formats", &["json", "session", "wire", "schema", "content"]),
    (
        "actions",
        &[
            "json", "session", "wire", "schema", "repair", "suggest", "wording", "content",
        ],
    ),
    (
        "rules",
        &[
            "json", "session", "wire", "schema", "repair", "suggest", "wording", "actions",
            "redact", "content",
        ],
    ),
    // Of the guards, the engine knows jq and patterns: breakpoints, tools of a policy.
    (
        "engine",
        &[
            "json", "session", "wire", "schema", "rules", "actions", "wording", "suggest", "jq",
            "pattern", "config",
        ],
    ),
    (
        "exchange",
        &["json", "session", "wire", "rules", "actions", "wording"],
    ),
    // A turn is classed by what the rules find in it.
    (
        "lab",
        &[
            "json", "session", "wire", "rules", "suggest", "wording", "engine", "config", "dice",
        ],
    ),
    // A failed call is what a rule finds; the tools that ask a person are known by name.
    ("usage", &["json", "session", "wire", "rules", "suggest"]),
    (
        "replay",
        &["json", "session", "wire", "formats", "redact", "usage"],
    ),
    (
        "chaos",
        &[
            "json", "session", "wire", "formats", "rules", "schema", "suggest", "config", "dice",
        ],
    ),
    (
        "script",
        &["json", "session", "wire", "formats", "rules", "config"],
    ),
];

/// What pure rooms leave alone.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::io",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time",
    "std::env",
];

/// Who names dialects.
const OF_DIALECTS: &[&str] = &["core/wire/", "core/formats/"];

/// Crates, and the names of dialects, with one home, by file or folder under `src/`.
const HOMES: &[(&str, &[&str])] = &[
    (
        "tokio",
        &[
            "live/",
            "app/tui/app.rs",
            "app/tui/signals.rs",
            "app/tui/panics.rs",
        ],
    ),
    ("crossterm", &["app/tui/"]),
    ("ratatui", &["app/tui/"]),
    ("clap", &["app/cli/"]),
    ("jaq_core", &["core/jq.rs"]),
    ("jaq_json", &["core/jq.rs"]),
    ("indicatif", &["app/cli/"]),
    ("serde_sarif", &["app/cli/report.rs"]),
    ("quick_junit", &["app/cli/report.rs"]),
    // Elsewhere what a dialect does is looked up in its facts, or asked of its codec.
    ("Dialect::Responses", OF_DIALECTS),
    ("Dialect::Chat", OF_DIALECTS),
    ("Dialect::Anthropic", OF_DIALECTS),
    ("Dialect::Gemini", OF_DIALECTS),
    ("Dialect::Converse", OF_DIALECTS),
];

/// Crates that one file knows, whichever it is.
const ONE_FILE: &[&str] = &["tui_textarea", "reqwest"];

fn who_uses_whom(sources: &[Source]) -> Vec<String> {
    let allowed: BTreeMap<_, _> = MAY_USE.iter().copied().collect();
    let mut complaints = Vec::new();
    for source in sources {
        let Some(room) = source.room() else { continue };
        let Some(rooms) = allowed.get(room) else {
            complaints.push(format!(
                "src/{}: the room {room} is not in the table MAY_USE of this test",
                source.path
            ));
            continue;
        };
        for (used, line) in rooms_used(source) {
            if used != room
                && allowed.contains_key(used.as_str())
                && !rooms.contains(&used.as_str())
            {
                let allowed = if rooms.is_empty() {
                    "nothing".to_owned()
                } else {
                    rooms.join(", ")
                };
                complaints.push(format!(
                    "src/{}:{line}: {room} uses {used}; it may use {allowed}",
                    source.path
                ));
            }
        }
    }
    complaints
}

fn purity(sources: &[Source]) -> Vec<String> {
    let reason = "the core has no input, output, clock, threads or terminal";
    let is_pure = |source: &&Source| source.path.starts_with("core/");
    let mut complaints = Vec::new();
    for word in IMPURE {
        let finder = Finder::new(word);
        for source in sources.iter().filter(is_pure) {
            let lines = finder.lines(source).into_iter();
            complaints.extend(
                lines.map(|line| format!("src/{}:{line}: {word} here; {reason}", source.path)),
            );
        }
    }
    complaints
}

fn homes(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, homes) in HOMES {
        let finder = Finder::new(name);
        let is_home = |source: &&Source| homes.iter().any(|home| source.path.starts_with(home));
        let homes = homes.join(", ");
        for source in sources.iter().filter(|source| !is_home(source)) {
            let lines = finder.lines(source).into_iter();
            complaints.extend(
                lines.map(|line| format!("src/{}:{line}: only {homes} knows {name}", source.path)),
            );
        }
    }
    for name in ONE_FILE {
        let finder = Finder::new(name);
        let files = sources
            .iter()
            .filter(|source| !finder.lines(source).is_empty());
        let files = files.map(|source| source.path.as_str()).collect::<Vec<_>>();
        if files.len() > 1 {
            let files = files.join(", ");
            complaints.push(format!("more than one file knows {name}: {files}"));
        }
    }
    complaints
}

fn names(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    let vague =
        Regex::new(r"\b(?:struct|enum|trait|type)\s+(\w*(?:Manager|Helper|Util|Utils|Utility)\w*)")
            .unwrap();
    for source in sources {
        let path = &source.path;
        if !source.text.starts_with("//!") {
            complaints.push(format!(
                "src/{path}:1: begins without //!; say what the file is for"
            ));
        }
        for found in vague.captures_iter(&source.code) {
            let line = source.line_of(found.get(0).unwrap().start());
            complaints.push(format!(
                "src/{path}:{line}: {} says nothing; name what it does",
                &found[1]
            ));
        }
    }
    complaints
}

#[track_caller]
fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn rooms_use_only_what_stands_below_them() {
    assert_none(&who_uses_whom(sources()));
}

#[test]
fn pure_rooms_are_pure() {
    assert_none(&purity(sources()));
}

#[test]
fn each_great_dependency_has_one_home() {
    assert_none(&homes(sources()));
}

#[test]
fn files_say_what_they_are_for() {
    assert_none(&names(sources()));
}

#[test]
fn report_of_sizes() {
    let mut functions = sources()
        .iter()
        .flat_map(|source| {
            functions(source)
                .into_iter()
                .map(|(name, line, length)| (length, format!("src/{}:{line} {name}", source.path)))
        })
        .collect::<Vec<_>>();
    functions.sort();
    let ninth = functions[functions.len() * 9 / 10].0;
    eprintln!(
        "{} functions, nine in ten have at most {ninth} lines; the longest:",
        functions.len()
    );
    for (length, place) in functions.iter().rev().take(5) {
        eprintln!("  {length:>4}  {place}");
    }
    let mut files = sources()
        .iter()
        .map(|source| (source.text.lines().count(), &source.path))
        .collect::<Vec<_>>();
    files.sort();
    eprintln!("{} files; the longest:", files.len());
    for (lines, path) in files.iter().rev().take(5) {
        eprintln!("  {lines:>4}  src/{path}");
    }
}

#[test]
fn this_test_sees_what_it_looks_for() {
    let offender = Source::new(
        "core/session/names.rs",
        "use crate::{json, rules::{Rule, Run}};\nuse super::super::wording;\nuse std::{fs, sync::Arc};\nfn f() { crate::formats::run(); let s = \"std::env::var\"; }\n\
         // std::net\nstruct NameManager;\n#[cfg(test)]\nmod tests { use crate::cli; use std::time; }\n",
    );
    let offenders = [offender];
    let told = who_uses_whom(&offenders);
    let rooms = told
        .iter()
        .map(|line| line.split(';').next().unwrap())
        .collect::<Vec<_>>();
    assert_eq!(
        rooms,
        [
            "src/core/session/names.rs:1: session uses rules",
            "src/core/session/names.rs:2: session uses wording",
            "src/core/session/names.rs:4: session uses formats",
        ]
    );
    let impure = purity(&offenders);
    assert!(
        impure.len() == 1 && impure[0].starts_with("src/core/session/names.rs:3: std::fs"),
        "{impure:?}"
    );
    let shape = names(&offenders).join("\n");
    assert!(
        shape.contains("begins without //!") && shape.contains("NameManager says nothing"),
        "{shape}"
    );
}
