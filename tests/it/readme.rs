//! The tables of the README are the tables of the program. `UPDATE=1 cargo test readme` writes them.

use retake_core::engine::PLACES;
use retake_core::engine::agent::{Place, keys_table};
use retake_core::formats::FORMATS;
use retake_core::lab::{CLASSES, SpecPlace, spec_keys_table};
use retake_core::rules;
use retake_core::wording::VERBS;
use std::fmt::Write as _;

fn formats() -> String {
    let mut table = "| format | what it is |\n|---|---|\n".to_owned();
    for format in FORMATS {
        writeln!(table, "| `{}` | {} |", format.id, format.title).unwrap();
    }
    table
}

fn rules() -> String {
    let mut table = "| rule | severity | fires when |\n|---|---|---|\n".to_owned();
    for rule in rules::all() {
        writeln!(
            table,
            "| `{}` | {} | {} |",
            rule.id,
            rule.severity.word(),
            rule.summary
        )
        .unwrap();
    }
    table
}

fn verbs() -> String {
    let mut table = "| `do` | what is done |\n|---|---|\n".to_owned();
    for verb in VERBS {
        writeln!(table, "| `{}` | {} |", verb.word, verb.what).unwrap();
    }
    table
}

fn places() -> String {
    let mut table = "| written | stops at |\n|---|---|\n".to_owned();
    for (word, example, what) in PLACES {
        writeln!(table, "| `{word} {example}` | {what} |").unwrap();
    }
    table
}

fn classes() -> String {
    let mut table = "| class | what the turn is |\n|---|---|\n".to_owned();
    for (_, word, _, meaning) in CLASSES {
        writeln!(table, "| `{word}` | {meaning} |").unwrap();
    }
    table
}

fn spec_keys() -> String {
    let tables = SpecPlace::ALL.map(|place| format!("In {place}:\n\n{}", spec_keys_table(place)));
    tables.join("\n")
}

fn chaos_keys() -> String {
    let mut table = "| key | says | without it |\n|---|---|---|\n".to_owned();
    for key in retake_core::chaos::KEYS {
        let name = match key.section {
            "" => format!("`{}`", key.name),
            section => format!("`{}` in `[{section}]`", key.name),
        };
        writeln!(table, "| {name} | {} | `{}` |", key.what, key.usual).unwrap();
    }
    table
}

fn chaos_faults() -> String {
    let mut table =
        "| fault | the agent receives | one that handles it |\n|---|---|---|\n".to_owned();
    for fault in retake_core::chaos::FAULTS {
        writeln!(
            table,
            "| `{}` | {} | {} |",
            fault.id, fault.does, fault.expected
        )
        .unwrap();
    }
    table
}

/// The README with the part between the marks of `name` replaced.
fn with_block(readme: &str, name: &str, block: &str) -> String {
    let (start, end) = (
        format!("<!-- {name}:start -->\n"),
        format!("<!-- {name}:end -->"),
    );
    let from = readme.find(&start).unwrap_or_else(|| panic!("no {start}")) + start.len();
    let to = from
        + readme[from..]
            .find(&end)
            .unwrap_or_else(|| panic!("no {end}"));
    format!("{}{block}{}", &readme[..from], &readme[to..])
}

#[test]
fn readme_tables_are_true() {
    let readme = std::fs::read_to_string("README.md").unwrap();
    let mut wanted = readme.clone();
    let tables = [
        ("formats", formats()),
        ("rules", rules()),
        ("keys", retake_app::tui::keymap::markdown_table()),
        ("scripted", retake_core::script::markdown_table()),
        ("compared", retake_core::replay::markdown_table()),
        ("agent-file", keys_table(Place::Agent)),
        ("agent-model", keys_table(Place::Model)),
        ("agent-tools", keys_table(Place::Tool)),
        ("agent-canned", keys_table(Place::Canned)),
        ("agent-mcp", keys_table(Place::Mcp)),
        ("verbs", verbs()),
        ("places", places()),
        ("lab-classes", classes()),
        ("lab-spec", spec_keys()),
        ("agents", retake_live::proxy::connect::markdown_table()),
        ("chaos-keys", chaos_keys()),
        ("chaos-faults", chaos_faults()),
    ];
    for (name, block) in tables {
        wanted = with_block(&wanted, name, &block);
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write("README.md", &wanted).unwrap();
    } else {
        assert!(
            readme == wanted,
            "README.md is behind the tables: UPDATE=1 cargo test readme"
        );
    }
}
