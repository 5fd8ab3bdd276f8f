//! The rules of the house, read off the source: who uses whom, what pure rooms leave alone, how large things get.
//!
//! Each failure names the place and the reason. The tables below are the rules; `src/lib.rs` tells them in words.

mod fault_names;
mod source;

use regex::Regex;
use source::{Finder, Source, functions, rooms_used, sources};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Each room with the rooms that it may use. `json` and nothing else is ground for all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("json", &[]),
    ("session", &["json"]),
    ("schema", &["json"]),
    ("repair", &["json"]),
    ("suggest", &["json"]),
    ("safe_text", &["json"]),
    ("jq", &["json"]),
    ("pattern", &["json"]),
    ("redact", &["json"]),
    ("dialects", &["json", "session"]),
    ("wording", &["json", "session"]),
    ("formats", &["json", "session", "dialects"]),
    (
        "actions",
        &[
            "json", "session", "dialects", "schema", "repair", "suggest", "wording",
        ],
    ),
    (
        "rules",
        &[
            "json", "session", "dialects", "schema", "repair", "suggest", "wording", "actions",
            "redact",
        ],
    ),
    // Of the guards, the engine knows jq and patterns (breakpoints, tools of a policy), and near names: whoever writes a policy
    // is told what was meant.
    (
        "engine",
        &[
            "json", "session", "dialects", "schema", "rules", "actions", "wording", "suggest",
            "jq", "pattern",
        ],
    ),
    (
        "exchange",
        &["json", "session", "dialects", "rules", "actions", "wording"],
    ),
    // A turn is classed by what the rules find in it.
    (
        "lab",
        &[
            "json", "session", "dialects", "rules", "suggest", "wording", "engine",
        ],
    ),
    (
        "replay",
        &["json", "session", "dialects", "formats", "redact"],
    ),
    (
        "chaos",
        // Of the engine, how files write durations.
        &["json", "session", "dialects", "schema", "suggest", "engine"],
    ),
    (
        "script",
        &["json", "session", "dialects", "formats", "rules", "suggest"],
    ),
    ("runtime", PURE),
    (
        "tui",
        &[
            "json",
            "session",
            "formats",
            "dialects",
            "rules",
            "actions",
            "wording",
            "schema",
            "repair",
            "suggest",
            "safe_text",
            "jq",
            "pattern",
            "redact",
            "engine",
            "exchange",
            "lab",
            "replay",
            "chaos",
            "script",
            "runtime",
        ],
    ),
    (
        "cli",
        &[
            "json",
            "session",
            "formats",
            "dialects",
            "rules",
            "actions",
            "wording",
            "schema",
            "repair",
            "suggest",
            "safe_text",
            "jq",
            "pattern",
            "redact",
            "engine",
            "exchange",
            "lab",
            "replay",
            "chaos",
            "script",
            "runtime",
            "tui",
        ],
    ),
];

/// Rooms without input, output, clock, threads or terminal.
const PURE: &[&str] = &[
    "session",
    "json",
    "formats",
    "dialects",
    "rules",
    "actions",
    "wording",
    "schema",
    "repair",
    "suggest",
    "safe_text",
    "jq",
    "pattern",
    "redact",
    "engine",
    "exchange",
    "lab",
    "replay",
    "chaos",
    "script",
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
    "tokio",
    "ratatui",
    "crossterm",
    "rusqlite",
    "rustix",
    "rayon",
    "reqwest",
    "hyper",
    "axum",
    "indicatif",
    "clap",
    "etcetera",
    "zstd",
    "flate2",
];

/// Crates with one home, by file or folder under `src/`.
const HOMES: &[(&str, &[&str])] = &[
    (
        "tokio",
        &["runtime/", "tui/mod.rs", "tui/signals.rs", "tui/panics.rs"],
    ),
    ("crossterm", &["tui/"]),
    ("ratatui", &["tui/"]),
    ("rusqlite", &["runtime/"]),
    ("clap", &["cli/"]),
    ("jaq_core", &["jq.rs"]),
    ("jaq_json", &["jq.rs"]),
    ("indicatif", &["cli/"]),
    ("serde_sarif", &["cli/report/sarif.rs"]),
    ("quick_junit", &["cli/report/junit.rs"]),
];

/// Crates that one file knows, whichever it is.
const ONE_FILE: &[&str] = &["tui_textarea", "reqwest"];

const LINES_OF_A_FILE: usize = 500;
const LINES_OF_A_FUNCTION: usize = 100;
const NINE_IN_TEN: usize = 35;

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
    let reason = "pure rooms have no input, output, clock, threads or terminal";
    let is_pure = |source: &&Source| source.room().is_some_and(|room| PURE.contains(&room));
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

fn sizes_and_names(sources: &[Source]) -> Vec<String> {
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
        let lines = source.text.lines().count();
        if lines > LINES_OF_A_FILE {
            complaints.push(format!(
                "src/{path}: {lines} lines, more than {LINES_OF_A_FILE}; split it"
            ));
        }
        for (name, line, length) in functions(source) {
            if length > LINES_OF_A_FUNCTION {
                complaints.push(format!(
                    "src/{path}:{line}: {name} has {length} lines, more than {LINES_OF_A_FUNCTION}"
                ));
            }
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
fn files_say_what_they_are_for_and_stay_small() {
    assert_none(&sizes_and_names(sources()));
}

#[test]
fn nine_functions_in_ten_fit_half_a_screen() {
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
    let mut report = format!(
        "{} functions, nine in ten have at most {ninth} lines; the longest:\n",
        functions.len()
    );
    for (length, place) in functions.iter().rev().take(5) {
        writeln!(report, "  {length:>4}  {place}").unwrap();
    }
    eprint!("{report}");
    assert!(ninth <= NINE_IN_TEN, "{report}");
}

#[test]
fn this_test_sees_what_it_looks_for() {
    let offender = Source::new(
        "session/names.rs",
        "use crate::{json, rules::{Rule, Run}};\nuse super::super::cli;\nuse std::{fs, sync::Arc};\nfn f() { crate::tui::run(); let s = \"std::env::var\"; }\n\
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
            "src/session/names.rs:1: session uses rules",
            "src/session/names.rs:2: session uses cli",
            "src/session/names.rs:4: session uses tui",
        ]
    );
    let impure = purity(&offenders);
    assert!(
        impure.len() == 1 && impure[0].starts_with("src/session/names.rs:3: std::fs"),
        "{impure:?}"
    );
    let shape = sizes_and_names(&offenders).join("\n");
    assert!(
        shape.contains("begins without //!") && shape.contains("NameManager says nothing"),
        "{shape}"
    );
}
