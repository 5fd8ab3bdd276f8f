//! Every real recording is read or named, and what is read of it agrees with the counts of an independent reader.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use retake_core::session::{Kind, PairStatus, Session};
use retake_live::{InputError, ReadOptions, Recording, read_database, read_path};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    ("adk_session/", Read("adk-session", 5, 1)),
    (
        "anthropic_messages/bfcl-claude-base_0.json",
        Read("anthropic-messages", 20, 14),
    ),
    ("atif_trajectory/openhands", Read("atif", 6, 1)),
    (
        "atif_trajectory/terminus_2_hello-world-context-summarization-linear-history.trajectory.cont-1",
        Read("atif", 12, 0),
    ),
    ("atif_trajectory/", Read("atif", 8, 0)),
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
    ("codex_exec_stream/", Read("codex-exec", 2, 1)),
    ("codex_rollout_jsonl/", Read("codex", 37, 34)),
    ("gemini_cli_session/", Read("gemini-cli", 5, 3)),
    (
        "http_anthropic_messages/test_anthropic_mcp_servers_stream.yaml",
        Read("vcr", 2, 0),
    ),
    (
        "http_anthropic_messages/test_anthropic_text_parts_ahead_of_built_in_tool_call.yaml",
        Read("vcr", 12, 0),
    ),
    (
        "http_anthropic_messages/test_in_flight_mcp_call_history_is_accepted.yaml",
        Read("vcr", 3, 1),
    ),
    (
        "http_anthropic_messages/test_multiple_parallel_tool_calls.yaml",
        Read("vcr", 4, 4),
    ),
    (
        "http_anthropic_messages/test_tool_search_eval_anthropic.yaml",
        Read("vcr", 15, 7),
    ),
    (
        "http_bedrock_converse/test_bedrock_model_with_code_execution_tool.yaml",
        Read("vcr", 5, 1),
    ),
    (
        "http_gemini/test_google_streaming_tool_call_thought_signature.yaml",
        Read("vcr", 3, 1),
    ),
    (
        "http_gemini/test_multimodal_tool_return_matrix_direct-uploaded_file-video-google_vertex.yaml",
        Read("vcr", 6, 3),
    ),
    (
        "http_openai_chat/llm_streaming_variant_d.yaml",
        Read("vcr", 3, 1),
    ),
    (
        "http_openai_chat/mistral_stream_no_index.yaml",
        Read("vcr", 2, 0),
    ),
    (
        "http_openai_chat/test_compatible_api_with_tool_calls_without_id.yaml",
        Read("vcr", 5, 1),
    ),
    (
        "http_openai_chat/test_complex_agent_run.yaml",
        Read("vcr", 4, 3),
    ),
    (
        "http_openai_chat/test_tool_use_failed_error.yaml",
        Read("vcr", 9, 3),
    ),
    (
        "http_openai_chat/test_tool_use_failed_error_streaming.yaml",
        Read("vcr", 11, 3),
    ),
    (
        "http_openai_responses/ellmer-chat-tools-dangling.yml",
        Read("vcr", 9, 3),
    ),
    (
        "http_openai_responses/test_deepseek_responses_rejects_interleaved_function_calls.yaml",
        Read("vcr", 2, 2),
    ),
    (
        "http_openai_responses/test_openai_conversation_id_tool_call_continuation.yaml",
        Read("vcr", 4, 1),
    ),
    (
        "http_openai_responses/test_openai_native_tool_search_streaming.yaml",
        Read("vcr", 3, 1),
    ),
    (
        "http_openai_responses/test_openai_responses_stream.yaml",
        Read("vcr", 4, 1),
    ),
    (
        "http_openai_responses/test_reused_tool_call_ids_gpt_5_5.yaml",
        Read("vcr", 14, 3),
    ),
    (
        "inspect_eval_log/docent-ctf.eval",
        Read("inspect", 212, 120),
    ),
    (
        "inspect_eval_log/log_tool_call_error.json",
        Read("inspect", 1, 11),
    ),
    ("langfuse_trace/", Read("langfuse", 3, 1)),
    (
        "llama_stack_recording/095b37e65a5a7890.json",
        Read("llama-stack", 4, 1),
    ),
    (
        "llama_stack_recording/09bea0a3a8171cde.json",
        Read("llama-stack", 2, 0),
    ),
    (
        "llama_stack_recording/1067b5553e9d4e95.json",
        Read("llama-stack", 2, 0),
    ),
    (
        "llama_stack_recording/12b4c92fd0d85cf1.json",
        Read("llama-stack", 2, 0),
    ),
    (
        "llama_stack_recording/1d82e9439ae3.jso.json",
        Read("llama-stack", 4, 1),
    ),
    (
        "llama_stack_recording/1e9f5ce2b5bb9d8a.json",
        Read("llama-stack", 6, 1),
    ),
    (
        "llama_stack_recording/95be86b56c9f5f68.json",
        Read("llama-stack", 2, 0),
    ),
    (
        "llama_stack_recording/f3bbb5229763f689.json",
        Read("llama-stack", 2, 0),
    ),
    ("mcp_stdio/everything", Read("mcp", 5, 5)),
    ("mcp_stdio/", Read("mcp", 1, 1)),
    ("mini_swe_agent/", Read("mini-swe-agent-text", 12, 10)),
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
    ("openhands_events/basic.json", Read("openhands", 3, 1)),
    ("openhands_events/", Read("openhands", 5, 3)),
    (
        "otel_genai_spans/any-agent-google-adk.json",
        Read("otel", 5, 3),
    ),
    ("otel_genai_spans/", Read("otel", 5, 2)),
    ("pi_session_jsonl/", Read("pi", 527, 373)),
    ("reported_cases/", Unknown),
    ("sse_text/", Read("sse", 1, 0)),
    (
        "stream_chunks/llamacpp-qwen3.5-9b-weather.request.json",
        Read("openai-responses", 2, 0),
    ),
    (
        "stream_chunks/llamacpp-qwen3.5-9b-weather.result.json",
        Read("fast-agent", 1, 0),
    ),
    ("stream_chunks/", Read("sse", 1, 0)),
    (
        "swe_agent_traj/function_calling_simple.traj",
        Read("swe-agent", 7, 5),
    ),
    ("swe_agent_traj/", Read("swe-agent", 13, 11)),
    (
        "tau2_simulation/tau2-airline-tools.json",
        Named("a list of tool definitions"),
    ),
    ("tau2_simulation/", Read("tau-bench", 96, 78)),
    ("toolbench/G1_69.json", Read("toolbench", 49, 40)),
    ("toolbench/", Read("toolbench", 5, 4)),
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

/// The recordings among the files of tests and attacks, by the beginnings of their paths.
const AMONG_OTHERS: &[(&str, &str)] = &[
    (
        "hostile/attack/lab_exfil/unknown-tool-recovered.jsonl",
        "openai-responses",
    ),
    (
        "hostile/attack/repro/convert-invalid-json/out.json",
        "openai-responses",
    ),
    ("hostile/attack/repro/convert-invalid-json/", "openai-chat"),
    (
        "hostile/attack/repro/fix-changes-format.json",
        "anthropic-messages",
    ),
    (
        "hostile/attack/repro/fix-loop-damaged-claude-log.jsonl",
        "claude-code",
    ),
    (
        "hostile/attack/repro/fix-loop-invalid-utf8-id.json",
        "openai-chat",
    ),
    ("hostile/attack/repro/fix_loop_", "claude-code"),
    // A journal is read as what it continues.
    (
        "hostile/attack/repro/hold-journal.jsonl",
        "openai-responses",
    ),
    ("hostile/attack/sqlite/branches.db", "agents-sqlite"),
    ("hostile/attack/sqlite/quadratic.db", "agents-sqlite"),
    ("hostile/attack/sqlite/trigger.db", "agents-sqlite"),
];

#[test]
fn nothing_but_recordings_is_claimed_by_a_format() {
    let shared = Path::new("../shared");
    let mut files = files_below(&shared.join("suites"));
    files.extend(files_below(&shared.join("hostile")));
    if files.is_empty() {
        return eprintln!("skipped: {} is absent", shared.display());
    }
    for file in files {
        let name = file.strip_prefix(shared).unwrap().display().to_string();
        let expected = AMONG_OTHERS.iter().find(|(path, _)| name.starts_with(path));
        match (expected, read_path(&file, &ReadOptions::default())) {
            (Some((_, format)), Ok(recording)) => {
                assert_eq!(recording.format.id, *format, "{name}")
            }
            (None, Err(InputError::Unrecognised | InputError::Foreign { .. })) => {}
            (_, Ok(recording)) => panic!("{name} was read as {}", recording.format.id),
            (_, Err(error)) => panic!("{name}: {error}"),
        }
    }
}

/// The recordings that `tests/readers/count.py` reads.
const COUNTED_LOGS: &[&str] = &[
    "pi_session_jsonl/",
    "atif_trajectory/",
    "gemini_cli_session/",
    "codex_exec_stream/",
    "openhands_events/",
    "swe_agent_traj/",
];

#[test]
fn an_independent_reader_counts_the_same() {
    let is_counted = |file: &PathBuf| {
        let name = file.strip_prefix(CORPUS).unwrap().display().to_string();
        COUNTED_LOGS.iter().any(|folder| name.starts_with(folder))
    };
    let files = files_below(Path::new(CORPUS));
    let files: Vec<PathBuf> = files.into_iter().filter(is_counted).collect();
    let reader = Command::new("python3")
        .arg("tests/readers/count.py")
        .args(&files)
        .output();
    let (Ok(output), false) = (reader, files.is_empty()) else {
        return eprintln!("skipped: {CORPUS} or python3 is absent");
    };
    let counted: HashMap<String, [usize; 3]> = serde_json::from_slice(&output.stdout).unwrap();
    for (file, expected) in counted {
        let recording = read_path(Path::new(&file), &ReadOptions::default()).unwrap();
        let users: usize = sum(&recording, |session| session.count(Kind::User));
        let found = [
            users,
            sum(&recording, calls_of),
            sum(&recording, outputs_of),
        ];
        assert_eq!(found, expected, "{file}: messages, calls, results");
    }
}

/// Compares with the counts of SOURCES.md as far as it has some; absent counts are zero there.
fn compare(name: &str, recording: &Recording, counts: &HashMap<String, usize>) {
    let count = |key: &str| counts.get(key).copied().unwrap_or(0);
    // Extracts of requests, text-mode agents and single requests were not counted; of these formats each request was
    // counted by itself, and a reader in Python counts them again.
    let is_apart = ["vcr", "langfuse", "toolbench"].contains(&recording.format.id);
    if count("calls") > 0 && !is_apart {
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

/// The folders whose files a reader in Python counts.
const COUNTED: &[&str] = &[
    "http_anthropic_messages",
    "http_gemini",
    "http_openai_chat",
    "http_openai_responses",
    "llama_stack_recording",
    "adk_session",
    "inspect_eval_log",
    "tau2_simulation/toolorchestra",
    "otel_genai_spans",
    "langfuse_trace",
    "mcp_stdio",
    "toolbench",
];

/// Its calls are kept by the provider, which the reader knows nothing of.
const KEPT_ELSEWHERE: &str = "test_openai_conversation_id";

#[test]
fn calls_and_results_of_frameworks_are_those_that_python_counts() {
    let is_counted = |path: &PathBuf| {
        let name = path.strip_prefix(CORPUS).unwrap().to_string_lossy();
        COUNTED.iter().any(|prefix| name.starts_with(prefix)) && !name.contains(KEPT_ELSEWHERE)
    };
    let files: Vec<PathBuf> = files_below(Path::new(CORPUS))
        .into_iter()
        .filter(is_counted)
        .collect();
    if files.is_empty() {
        return eprintln!("skipped: {CORPUS} is absent");
    }
    let output = Command::new("python3")
        .arg("tests/readers/frameworks.py")
        .args(&files)
        .output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        return eprintln!("skipped: there is no python3 with PyYAML");
    };
    let counts: HashMap<PathBuf, [usize; 2]> = serde_json::from_slice(&output.stdout).unwrap();
    for file in files {
        let recording = read_path(&file, &ReadOptions::default()).unwrap();
        let active = recording.sessions.iter().filter(|session| session.active);
        let found = active.fold([0, 0], |[calls, outputs], session| {
            [calls + calls_of(session), outputs + outputs_of(session)]
        });
        assert_eq!(found, counts[&file], "{}", file.display());
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
