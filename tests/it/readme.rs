//! The tables of the README and of `src/help` are the tables of the program. `UPDATE=1 cargo test readme` writes them.

use crate::convert::files_below;
use retake_app::tui::picker::rows::PickerRow;
use retake_app::tui::{filter, settings};
use retake_core::chaos::SPEC_TABLES;
use retake_core::config::{self, Keys};
use retake_core::engine::agent::AGENT_TABLES;
use retake_core::engine::{PLACES, POLICY_TABLES};
use retake_core::exchange::ExchangeSummary;
use retake_core::formats::convert::AgentProgram;
use retake_core::formats::{FOREIGN, FORMATS, is_fixed, of_dialect};
use retake_core::lab::{self, CLASSES};
use retake_core::rules;
use retake_core::script::SCRIPT_TABLES;
use retake_core::wire::IdsNeeded;
use retake_core::wording::VERBS;
use retake_live::stores::AGENTS;
use retake_live::{ReadOptions, read_path};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// The formats whose recordings can hold the definitions of the tools that were offered.
const WITH_TOOLS: [&str; 22] = [
    "anthropic-messages",
    "atif",
    "bedrock-converse",
    "bfcl",
    "claude-stream",
    "gemini-contents",
    "har",
    "inspect",
    "langfuse",
    "langsmith",
    "litellm",
    "llama-stack",
    "mcp",
    "mitmproxy",
    "openai-chat",
    "openai-responses",
    "openhands",
    "otel",
    "retake-journal",
    "sse",
    "toolbench",
    "vcr",
];

fn formats() -> String {
    let heads = "| format | what it is | pairs by | tools | fixed | written by `convert` |";
    let mut table = format!("{heads}\n|---|---|---|---|---|---|\n");
    for format in FORMATS {
        let pairs = match format.dialect().facts().call_ids.needed {
            IdsNeeded::Neither => "name",
            _ => "id",
        };
        let tools = if WITH_TOOLS.contains(&format.id) {
            "in it"
        } else {
            ""
        };
        let fixed = match is_fixed(format) {
            true => "in place",
            false => "as a request",
        };
        let agent = AgentProgram::named(format.id);
        let of_dialect = of_dialect(format.dialect()).id == format.id;
        let written = match agent.map(AgentProgram::proven_with) {
            Some((package, version)) => format!("resumed by {package} {version}"),
            None if of_dialect => "yes".to_owned(),
            None => String::new(),
        };
        let (id, title) = (format.id, format.title);
        writeln!(
            table,
            "| `{id}` | {title} | {pairs} | {tools} | {fixed} | {written} |"
        )
        .unwrap();
    }
    table
}

fn agents() -> String {
    let mut table = "| agent | folder or file | override |\n|---|---|---|\n".to_owned();
    for agent in AGENTS.iter() {
        for store in &agent.stores {
            let path = match store.usual.as_str() {
                "" => "databases in the current folder, or in that of `--home`".to_owned(),
                usual => format!("`~/{usual}`"),
            };
            let moved = store
                .moved_by
                .iter()
                .map(|(name, below)| match below.as_str() {
                    "" => format!("`{name}`"),
                    below => format!("`{name}/{below}`"),
                });
            let moved = moved.collect::<Vec<_>>().join(", ");
            writeln!(table, "| {} | {path} | {moved} |", agent.title).unwrap();
        }
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

fn key_tables(tables: &[&Keys]) -> String {
    let tables = tables.iter();
    let tables = tables.map(|keys| format!("In {}:\n\n{}", keys.place, keys.markdown()));
    tables.collect::<Vec<_>>().join("\n")
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

fn foreign() -> String {
    let recordings = FOREIGN.iter().filter_map(|foreign| foreign.recordings);
    let recordings = recordings.collect::<Vec<_>>().join(", ");
    format!("- Recognised by name but not read yet: {recordings}.\n")
}

/// `text` with the part between the marks of `name` replaced.
fn with_block(text: &str, name: &str, block: &str) -> String {
    let (start, end) = (
        format!("<!-- {name}:start -->\n"),
        format!("<!-- {name}:end -->"),
    );
    let from = text.find(&start).unwrap_or_else(|| panic!("no {start}")) + start.len();
    let to = from
        + text[from..]
            .find(&end)
            .unwrap_or_else(|| panic!("no {end}"));
    format!("{}{block}{}", &text[..from], &text[to..])
}

#[test]
fn readme_and_help_tables_are_true() {
    let [agent, model, tools, canned, mcp] = AGENT_TABLES;
    let tables = [
        ("README.md", "rules", rules()),
        ("src/help/formats.md", "formats", formats()),
        ("src/help/limits.md", "foreign", foreign()),
        (
            "src/help/keys.md",
            "keys",
            retake_app::tui::keymap::markdown_table(),
        ),
        (
            "src/help/filters.md",
            "filter-syntax",
            filter::markdown_table(filter::SYNTAX.iter().copied()),
        ),
        (
            "src/help/filters.md",
            "filter-items",
            filter::markdown_of::<filter::ItemHead<'_>>(),
        ),
        (
            "src/help/filters.md",
            "filter-recordings",
            filter::markdown_of::<PickerRow>(),
        ),
        (
            "src/help/filters.md",
            "filter-exchanges",
            filter::markdown_of::<ExchangeSummary>(),
        ),
        (
            "src/help/config.md",
            "config",
            key_tables(&[&settings::FILE, &settings::PICKER]),
        ),
        (
            "src/help/config.md",
            "config-keys",
            retake_app::tui::keymap::settings::markdown(),
        ),
        (
            "src/help/scripted.md",
            "scripted",
            key_tables(&SCRIPT_TABLES),
        ),
        ("src/help/agent-file.md", "agent-file", agent.markdown()),
        ("src/help/agent-file.md", "agent-model", model.markdown()),
        ("src/help/agent-file.md", "agent-tools", tools.markdown()),
        ("src/help/agent-file.md", "agent-canned", canned.markdown()),
        ("src/help/agent-file.md", "agent-mcp", mcp.markdown()),
        ("src/help/policy.md", "policy", key_tables(&POLICY_TABLES)),
        ("src/help/policy.md", "verbs", verbs()),
        ("src/help/run.md", "places", places()),
        (
            "src/help/run.md",
            "commands",
            retake_app::cli::operator_commands_table(),
        ),
        ("src/help/lab.md", "lab-classes", classes()),
        ("src/help/lab.md", "lab-spec", key_tables(&lab::SPEC_TABLES)),
        (
            "src/help/proxy.md",
            "agents",
            retake_live::proxy::connect::markdown_table(),
        ),
        ("src/help/doctor.md", "agents", agents()),
        (
            "src/help/mcp.md",
            "tools",
            retake_app::cli::mcp_tools_table(),
        ),
        (
            "src/help/tables.md",
            "tables",
            retake_live::tables::markdown_tables(),
        ),
        (
            "src/help/query.md",
            "columns",
            retake_live::tables::markdown_columns(),
        ),
        ("src/help/chaos.md", "chaos-keys", key_tables(&SPEC_TABLES)),
        ("src/help/chaos.md", "chaos-faults", chaos_faults()),
    ];
    for (file, name, block) in tables {
        let text = std::fs::read_to_string(file).unwrap();
        let wanted = with_block(&text, name, &block);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(file, &wanted).unwrap();
        } else {
            assert!(
                text == wanted,
                "{file}: the table {name} is out of date: UPDATE=1 cargo test readme"
            );
        }
    }
}

#[test]
fn what_the_help_says_holds_without_a_key_is_a_value_of_the_key() {
    let tables = { AGENT_TABLES.into_iter() }
        .chain(POLICY_TABLES)
        .chain(lab::SPEC_TABLES)
        .chain(SPEC_TABLES)
        .chain(SCRIPT_TABLES);
    for keys in tables {
        for key in keys.keys {
            let Some(default) = key.default else { continue };
            let text = format!("{} = {default}\n", key.name);
            let read = config::read(&text, text.len(), keys, |_, _| Some(()));
            // Other keys are missing.
            let errors = read.map_or_else(|errors| errors.to_string(), |()| String::new());
            let about = format!("`{}` is ", key.name);
            assert!(!errors.contains(&about), "{}: {errors}", keys.place);
        }
    }
}

/// Output of `retake help` with these words, and its exit code.
fn help(words: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_retake"))
        .arg("help")
        .args(words)
        .output()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn every_help_file_is_a_listed_topic_in_plain_text() {
    let (code, list) = help(&[]);
    assert_eq!(code, Some(0));
    for entry in std::fs::read_dir("src/help").unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            list.contains(&format!("\n  {name} ")),
            "{name} is not listed"
        );
        let (code, page) = help(&[name]);
        assert_eq!(code, Some(0), "{name}");
        for mark in ["<!--", "<br>", "**", "```", "|---"] {
            assert!(!page.contains(mark), "{name} shows {mark}");
        }
        assert!(!page.contains('\u{1b}'), "{name} is coloured in a pipe");
    }
}

#[test]
fn help_of_a_command_is_that_of_clap() {
    let (code, check) = help(&["check"]);
    assert_eq!(code, Some(0));
    assert!(check.contains("Usage: retake check"), "{check}");
    let (code, proxy) = help(&["proxy"]);
    assert_eq!(code, Some(0));
    assert!(proxy.contains("retake proxy --help"), "{proxy}");
    assert_eq!(help(&["chek"]).0, Some(2));
}

#[test]
fn the_versions_that_went_on_are_those_of_the_real_agents() {
    let list = std::fs::read_to_string("tests/agents_real/package.json").unwrap();
    let list: Value = serde_json::from_str(&list).unwrap();
    for (package, version) in AgentProgram::ALL.map(AgentProgram::proven_with) {
        assert_eq!(list["dependencies"][package], version, "{package}");
    }
}

#[test]
fn recordings_with_tools_are_in_formats_that_can_hold_them() {
    let mut files = Vec::new();
    for folder in ["sessions", "../shared/corpus"] {
        files_below(Path::new(folder), &mut files);
    }
    for path in files {
        let Ok(recording) = read_path(&path, &ReadOptions::default()) else {
            continue;
        };
        let mut sessions = recording.sessions.iter();
        if sessions.any(|session| session.contract.tools_known()) {
            assert!(
                WITH_TOOLS.contains(&recording.format.id),
                "{}",
                path.display()
            );
        }
    }
}
