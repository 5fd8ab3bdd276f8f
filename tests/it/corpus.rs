//! Every real recording is read or named, and what is read of it agrees with the counts of an independent reader.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use retake_core::session::{Kind, PairStatus, Session};
use retake_live::{InputError, ReadOptions, Recording, read_database, read_path};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

const CORPUS: &str = "../shared/corpus";

/// What a recording is: the id of a format with turns and outputs over all of its sessions, or the name of what is not read.
enum Expected {
    Read(&'static str, usize, usize),
    Named(&'static str),
    /// No recording at all.
    Unknown,
}

use Expected::{Named, Read, Unknown};

/// By file, or by folder where all of its files are alike.
const EXPECTED: &[(&str, Expected)] = &[
    ("adk_session/", Named("an ADK session")),
    (
        "anthropic_messages/bfcl-claude-base_0.json",
        Read("anthropic-messages", 20, 14),
    ),
    ("atif_trajectory/", Named("an ATIF trajectory")),
    (
        "claude_code_jsonl/agentcmd-askuserquestion.jsonl",
        Read("claude-code", 7, 2),
    ),
    (
        "claude_code_jsonl/agentcmd-full-session-four.jsonl",
        Read("claude-code", 36, 27),
    ),
    (
        "claude_code_jsonl/agentcmd-full-session-three.jsonl",
        Read("claude-code", 12, 20),
    ),
    (
        "claude_code_jsonl/ccv-sidechains.jsonl",
        Read("claude-code", 178, 167),
    ),
    ("codex_exec_stream/", Named("a codex exec --json stream")),
    ("codex_rollout_jsonl/", Read("codex", 37, 34)),
    ("gemini_cli_session/", Named("a Gemini CLI session")),
    ("http_", Named("a VCR cassette (YAML)")),
    (
        "inspect_eval_log/docent-ctf.eval",
        Named("an Inspect eval log (zip)"),
    ),
    (
        "inspect_eval_log/log_tool_call_error.json",
        Named("an Inspect eval log"),
    ),
    ("langfuse_trace/", Named("a Langfuse trace")),
    ("llama_stack_recording/", Named("a llama-stack recording")),
    ("mcp_stdio/", Named("an MCP transcript")),
    ("mini_swe_agent/", Read("openai-chat", 22, 0)),
    (
        "openai_chat/bfcl-deepseek-v3.1-long_context_0.json",
        Read("openai-chat", 33, 26),
    ),
    (
        "openai_chat/bfcl-deepseek-v3.1-miss_func_0.json",
        Read("openai-chat", 43, 34),
    ),
    (
        "openai_chat/tau-airline-tools.json",
        Named("a list of tool definitions"),
    ),
    (
        "openai_chat/tau-bench-gpt4o-airline-12.json",
        Read("openai-chat", 359, 165),
    ),
    (
        "openai_chat/toolbench-G1_69-deepest-branch.json",
        Read("openai-chat", 6, 5),
    ),
    ("openhands_events/", Named("OpenHands events")),
    ("otel_genai_spans/", Named("OpenTelemetry spans")),
    ("pi_session_jsonl/", Named("a pi session log")),
    ("reported_cases/", Unknown),
    ("sse_text/", Read("sse", 1, 0)),
    (
        "stream_chunks/llamacpp-qwen3.5-9b-weather.request.json",
        Read("openai-responses", 2, 0),
    ),
    (
        "stream_chunks/llamacpp-qwen3.5-9b-weather.result.json",
        Named("a fast-agent message"),
    ),
    ("stream_chunks/", Read("sse", 1, 0)),
    ("swe_agent_traj/", Named("a SWE-agent trajectory")),
    (
        "tau2_simulation/tau2-airline-tools.json",
        Named("a list of tool definitions"),
    ),
    ("tau2_simulation/", Named("a tau2 simulation file")),
    ("toolbench/", Named("a ToolBench answer")),
];

#[test]
fn every_recording_is_read_or_named() {
    let files = files_below(Path::new(CORPUS));
    if files.is_empty() {
        return eprintln!("skipped: {CORPUS} is absent");
    }
    let counts = independent_counts();
    // SOURCES.md itself is the one file more.
    assert_eq!(files.len(), counts.len() + 1);
    for file in files {
        let name = file.strip_prefix(CORPUS).unwrap().display().to_string();
        let Some(counts) = counts.get(&name) else {
            assert_eq!(name, "SOURCES.md");
            continue;
        };
        let expected = EXPECTED.iter().find(|(prefix, _)| name.starts_with(prefix));
        let (_, expected) = expected.unwrap_or_else(|| panic!("{name} is not in the table"));
        match (expected, read_path(&file, &ReadOptions::default())) {
            (Read(format, turns, outputs), Ok(recording)) => {
                assert_eq!(recording.format.id, *format, "{name}");
                let found = (sum(&recording, turns_of), sum(&recording, outputs_of));
                assert_eq!(found, (*turns, *outputs), "{name}: turns, outputs");
                compare(&name, &recording, counts);
                check_spans(&name, &recording);
            }
            (Named(title), Err(InputError::Foreign { title: found, .. })) => {
                assert_eq!(found, *title, "{name}");
            }
            (Unknown, Err(InputError::Unrecognised)) => {}
            (_, Ok(recording)) => panic!("{name} was read as {}", recording.format.id),
            (_, Err(error)) => panic!("{name}: {error}"),
        }
    }
}

/// Compares with the counts of SOURCES.md as far as it has some; absent counts are zero there.
fn compare(name: &str, recording: &Recording, counts: &HashMap<String, usize>) {
    let count = |key: &str| counts.get(key).copied().unwrap_or(0);
    // Extracts of requests, text-mode agents and single requests were not counted.
    if count("calls") > 0 {
        assert_eq!(sum(recording, calls_of), count("calls"), "{name}: calls");
        assert_eq!(
            sum(recording, unanswered_of),
            count("orphan_call"),
            "{name}: orphan_call"
        );
        let parallel = sum(recording, parallel_turns_of);
        assert_eq!(parallel, count("parallel_turns"), "{name}: parallel_turns");
    }
    if let Some(sessions) = counts.get("sessions").filter(|sessions| **sessions > 0) {
        assert_eq!(recording.sessions.len(), *sessions, "{name}: sessions");
    }
}

fn sum(recording: &Recording, count: fn(&Session) -> usize) -> usize {
    recording.sessions.iter().map(count).sum()
}

fn turns_of(session: &Session) -> usize {
    session.turns.len()
}

fn calls_of(session: &Session) -> usize {
    session.count(Kind::Call)
}

fn outputs_of(session: &Session) -> usize {
    session.count(Kind::Output)
}

fn unanswered_of(session: &Session) -> usize {
    let answered =
        |index: &usize| matches!(session.pairing.standing(*index), PairStatus::Paired(_));
    let calls = (0..session.items.len()).filter(|index| session.items[*index].kind == Kind::Call);
    calls.filter(|index| !answered(index)).count()
}

fn parallel_turns_of(session: &Session) -> usize {
    let calls = |turn: &retake_core::session::Turn| {
        let items = &session.items[turn.items()];
        items.iter().filter(|item| item.kind == Kind::Call).count()
    };
    session.turns.iter().filter(|turn| calls(turn) > 1).count()
}

/// The numbers in the last column of the table in SOURCES.md: `calls 27, orphan_call 1; 12 session(s)`.
fn independent_counts() -> HashMap<String, HashMap<String, usize>> {
    let text = fs::read_to_string(format!("{CORPUS}/SOURCES.md")).unwrap();
    let rows = text
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('/'));
    rows.map(|row| {
        let cells = row.trim_matches('|').split(" | ").collect::<Vec<_>>();
        let words = cells[6..].join(" ");
        let words = words.split_whitespace().collect::<Vec<_>>();
        let numbers = words.windows(2).filter_map(|pair| {
            let number = |word: &str| word.trim_end_matches([',', ';']).parse();
            match (number(pair[0]), number(pair[1])) {
                (Err(_), Ok(number)) => Some((pair[0].to_owned(), number)),
                (Ok(number), Err(_)) if pair[1].starts_with("session(s)") => {
                    Some(("sessions".to_owned(), number))
                }
                _ => None,
            }
        });
        (cells[0].trim().to_owned(), numbers.collect())
    })
    .collect()
}

/// Records stand in order, apart, inside of the source; items stand inside of their records and are JSON.
fn check_spans(name: &str, recording: &Recording) {
    for session in &recording.sessions {
        let mut end = 0;
        for record in session.records.iter() {
            assert!(
                record.span.start >= end,
                "{name}: {record:?} begins before {end}"
            );
            end = record.span.end;
        }
        assert!(end <= session.source.len(), "{name}");
        for item in session
            .items
            .iter()
            .filter(|item| item.kind != Kind::Unreadable)
        {
            let record = session.records[item.record as usize].span;
            let is_inside = record.start <= item.span.start && item.span.end <= record.end;
            assert!(is_inside, "{name}: {item:?} is not in {record:?}");
            let bytes = session.bytes(item).unwrap();
            let parsed = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes);
            assert!(
                parsed.is_ok(),
                "{name}: {:?}",
                String::from_utf8_lossy(&bytes)
            );
        }
    }
}

#[test]
fn the_bundled_sessions_are_what_their_table_says() {
    let truth = fs::read_to_string("sessions/truth.json").unwrap();
    let truth: HashMap<String, serde_json::Value> = serde_json::from_str(&truth).unwrap();
    for (name, told) in truth {
        let path = PathBuf::from(format!("sessions/{name}"));
        let recording = read_path(&path, &ReadOptions::default()).unwrap();
        assert_eq!(recording.format.id, told["format"], "{name}");
        let sessions = match recording.format.id {
            "agents-sqlite" => read_database(&path).unwrap().sessions,
            _ => recording.sessions.clone(),
        };
        let expected = told["sessions"].as_array().unwrap();
        assert_eq!(sessions.len(), expected.len(), "{name}");
        for (session, expected) in sessions.iter().zip(expected) {
            if let Some(label) = expected["session"].as_str() {
                assert_eq!(session.label, label, "{name}");
            }
        }
        check_spans(
            &name,
            &Recording {
                sessions,
                ..recording
            },
        );
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths = entries
        .map(|entry| entry.unwrap().path())
        .collect::<Vec<_>>();
    paths.sort();
    let below = |path: PathBuf| match path.is_dir() {
        true => files_below(&path),
        false => vec![path],
    };
    paths.into_iter().flat_map(below).collect()
}
