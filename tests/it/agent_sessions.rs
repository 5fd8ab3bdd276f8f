//! Sessions of agents: every recording becomes one of each agent, and is read again as that.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::convert::files_below;
use retake_core::formats::convert::{AgentProgram, Converted, LossKind, NewSession};
use retake_core::rules::reports_error;
use retake_core::session::{Flags, Item, Kind, PairStatus, Session, SourceError};
use retake_core::wire::body_of;
use retake_live::{
    Input, ReadOptions, Recording, new_session, read_input, read_path, session_path, write_session,
};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn new() -> NewSession {
    NewSession {
        id: "01a208c2-c369-7587-8568-42f270a80ccd".to_owned(),
        folder: "/work/boats".to_owned(),
        at: 1_795_443_733_000,
    }
}

fn written(session: &Session, to: AgentProgram) -> (String, Converted) {
    let mut text = Vec::new();
    let converted = write_session::<SourceError>(session, to, &new(), &mut |piece| {
        text.extend_from_slice(piece);
        Ok(())
    });
    (String::from_utf8(text).unwrap(), converted.unwrap())
}

fn read(text: &str) -> Recording {
    let bytes = Arc::new(text.as_bytes().to_vec());
    let input = Input {
        buffer: Some(bytes.clone()),
        ..Input::of("written", bytes)
    };
    read_input(input, &ReadOptions::default()).unwrap()
}

fn pairs(session: &Session) -> usize {
    let is_visible = |index: usize| !session.items[index].flags.has(Flags::COMPACTED);
    let is_pair = |index: &usize| {
        session.items[*index].kind == Kind::Call
            && is_visible(*index)
            && matches!(session.pairing.standing(*index), PairStatus::Paired(output) if is_visible(output as usize))
    };
    (0..session.items.len()).filter(is_pair).count()
}

/// Every record is valid JSON on one line, but for opencode, whose sessions are one document.
fn assert_is_json(text: &str, to: AgentProgram, place: &str) {
    let records: Vec<&str> = match to {
        AgentProgram::Opencode => vec![text],
        _ => text.lines().collect(),
    };
    for record in records {
        let parsed = serde_json::from_str::<Value>(record);
        assert!(parsed.is_ok(), "{place} to {to:?}: {record}");
    }
}

#[test]
fn errors_of_tools_are_marked_where_the_agent_has_marks_and_listed_where_it_has_none() {
    for name in ["broken-json.json", "failing-tool.json", "schema-break.json"] {
        let recording = read_path(&Path::new("sessions").join(name), &ReadOptions::default());
        let session = &recording.unwrap().sessions[0];
        let is_error = |item: &&Item| {
            let body = body_of(item, &session.bytes(item).unwrap()).unwrap();
            item.kind == Kind::Output && reports_error(session, item, &body.text)
        };
        let count = session.items.iter().filter(is_error).count();
        assert!(count > 0, "{name}");
        for to in AgentProgram::ALL {
            let (text, converted) = written(session, to);
            let lost = converted.losses.iter();
            let lost = lost.filter(|loss| loss.kind == LossKind::ErrorMark).count();
            let items = read(&text).sessions.remove(0).items;
            let is_marked =
                |item: &&Item| item.kind == Kind::Output && item.flags.has(Flags::ERROR);
            let marked = items.iter().filter(is_marked).count();
            match to {
                AgentProgram::Codex => assert!(lost > 0 || name != "failing-tool.json", "{name}"),
                _ => assert_eq!((marked, lost), (count, 0), "{name} to {to:?}"),
            }
        }
    }
}

#[test]
fn every_bundled_recording_becomes_a_session_of_each_agent() {
    let mut files = Vec::new();
    files_below(Path::new("sessions"), &mut files);
    let mut count = 0;
    for path in files {
        let Ok(recording) = read_path(&path, &ReadOptions::default()) else {
            continue;
        };
        for session in recording.sessions.iter().filter(|session| session.active) {
            for to in AgentProgram::ALL {
                let place = path.display().to_string();
                let (text, _) = written(session, to);
                assert_is_json(&text, to, &place);
                if pairs(session) == 0 {
                    continue;
                }
                let again = read(&text);
                assert_eq!(again.format.id, to.word(), "{place}");
                assert_eq!(again.problems, [], "{place} to {to:?}");
                let kept: usize = again.sessions.iter().map(pairs).sum();
                assert_eq!(kept, pairs(session), "{place} to {to:?}");
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
}

const CLAUDE_CODE: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"How many boats?"}}
{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","message":{"id":"m1","role":"assistant","content":[{"type":"thinking","thinking":"Look.","signature":"c2ln"}]}}
{"type":"assistant","uuid":"u3","parentUuid":"u2","sessionId":"s","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls boats","description":"List"}}]}}
{"type":"user","uuid":"u4","parentUuid":"u3","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"17 kayaks"}]}}
{"type":"assistant","uuid":"u5","parentUuid":"u4","sessionId":"s","message":{"id":"m2","role":"assistant","content":[{"type":"tool_use","id":"toolu_2","name":"Read","input":{"file_path":"a.txt","limit":1.50}}]}}
{"type":"user","uuid":"u6","parentUuid":"u5","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"gone","is_error":true}]}}
{"type":"assistant","uuid":"u7","parentUuid":"u6","sessionId":"s","message":{"id":"m3","role":"assistant","content":[{"type":"text","text":"17."}]}}
"#;

#[test]
fn tools_and_arguments_have_the_names_of_the_agent() {
    let session = &read(CLAUDE_CODE).sessions[0];
    for (to, call, arguments, file) in [
        (
            AgentProgram::ClaudeCode,
            "Bash",
            r#""command":"ls boats""#,
            r#""file_path":"a.txt""#,
        ),
        (
            AgentProgram::Codex,
            "exec_command",
            r#"\"cmd\":\"ls boats\""#,
            r#"\"file_path\":\"a.txt\""#,
        ),
        (
            AgentProgram::GeminiCli,
            "run_shell_command",
            r#""command":"ls boats""#,
            r#""file_path":"a.txt""#,
        ),
        (
            AgentProgram::Opencode,
            "bash",
            r#""command":"ls boats""#,
            r#""filePath":"a.txt""#,
        ),
        (
            AgentProgram::Pi,
            "bash",
            r#""command":"ls boats""#,
            r#""path":"a.txt""#,
        ),
    ] {
        let (text, converted) = written(session, to);
        for wanted in [&format!("\"{call}\""), arguments, file, "17 kayaks", "1.50"] {
            assert!(text.contains(wanted), "{to:?}: {wanted} in {text}");
        }
        let again = &read(&text).sessions[0];
        assert_eq!(pairs(again), 2, "{to:?}");
        let is_error = |item: &&retake_core::session::Item| item.flags.has(Flags::ERROR);
        let errors = again.items.iter().filter(is_error).count();
        assert_eq!(errors, usize::from(to != AgentProgram::Codex), "{to:?}");
        let lost = |kind: &LossKind| converted.losses.iter().any(|loss| loss.kind == *kind);
        // What the provider signed goes back to Claude Code alone.
        assert_eq!(text.contains("c2ln"), to == AgentProgram::ClaudeCode);
        assert_eq!(
            lost(&LossKind::Reasoning),
            to != AgentProgram::ClaudeCode,
            "{to:?}"
        );
    }
}

/// [`CLAUDE_CODE`] with a time for each line that `has_time`: one second after the other.
fn timed(has_time: fn(usize) -> bool) -> Recording {
    let lines = CLAUDE_CODE.lines().enumerate().map(|(number, line)| {
        let time = format!(r#"{{"timestamp":"2026-01-01T00:00:{number:02}.000Z","#);
        let line = if has_time(number) {
            line.replacen('{', &time, 1)
        } else {
            line.to_owned()
        };
        line + "\n"
    });
    read(&lines.collect::<String>())
}

#[test]
fn recorded_times_are_kept_and_missing_ones_are_between_their_neighbours() {
    let moments = |text: &str| {
        let seconds = (0..7).filter(|second| {
            let ms = 1_767_225_600_000_u64 + second * 1000;
            text.contains(&format!("2026-01-01T00:00:{second:02}.000Z"))
                || text.contains(&ms.to_string())
        });
        seconds.collect::<Vec<u64>>()
    };
    let losses = |converted: &Converted| {
        let losses = converted.losses.iter().map(|loss| loss.kind.clone());
        let losses =
            losses.filter(|kind| matches!(kind, LossKind::Times | LossKind::SomeTimes { .. }));
        losses.collect::<Vec<_>>()
    };
    for to in AgentProgram::ALL {
        // The thoughts are not taken over, but by Claude Code, where they begin the reply.
        let reply = if to == AgentProgram::ClaudeCode { 1 } else { 2 };
        let (text, converted) = written(&timed(|_| true).sessions[0], to);
        assert_eq!(moments(&text), [0, reply, 3, 4, 5, 6], "{to:?}: {text}");
        assert_eq!(losses(&converted), [], "{to:?}");
        let (text, converted) = written(&timed(|line| line % 2 == 0).sessions[0], to);
        assert_eq!(moments(&text), [0, reply, 3, 4, 5, 6], "{to:?}: {text}");
        assert_eq!(
            losses(&converted),
            [LossKind::SomeTimes { count: 3 }],
            "{to:?}"
        );
        let (text, converted) = written(&timed(|_| false).sessions[0], to);
        assert!(moments(&text).is_empty(), "{to:?}: {text}");
        assert_eq!(losses(&converted), [LossKind::Times], "{to:?}");
    }
}

/// A session of Gemini CLI with one call.
fn gemini(tool: &str, arguments: &str) -> Recording {
    read(&format!(
        r#"{{"sessionId":"s","projectHash":"p","startTime":"2025-10-29T10:36:00.000Z","lastUpdated":"2025-10-29T10:37:00.000Z","messages":[{{"id":"1","timestamp":"2025-10-29T10:36:01.000Z","type":"user","content":"Look."}},{{"id":"2","timestamp":"2025-10-29T10:36:02.000Z","type":"gemini","content":"","toolCalls":[{{"id":"c1","name":"{tool}","args":{arguments},"result":[{{"functionResponse":{{"id":"c1","name":"{tool}","response":{{"output":"17"}}}}}}],"status":"success","timestamp":"2025-10-29T10:36:03.000Z"}}]}}]}}"#
    ))
}

#[test]
fn arguments_of_every_version_of_a_tool_get_the_names_of_the_target_or_are_listed() {
    use AgentProgram::{ClaudeCode, Opencode, Pi};
    for (tool, arguments, to, wanted, unknown) in [
        (
            "read_file",
            r#"{"absolute_path":"/a","limit":3}"#,
            Pi,
            r#""name":"read","arguments":{"path":"/a","limit":3}"#,
            None,
        ),
        (
            "read_file",
            r#"{"file_path":"a","start_line":3}"#,
            ClaudeCode,
            r#""name":"Read","input":{"file_path":"a","offset":3}"#,
            None,
        ),
        (
            "search_file_content",
            r#"{"pattern":"x","path":"src","include":"*.rs"}"#,
            ClaudeCode,
            r#""name":"Grep","input":{"pattern":"x","path":"src","glob":"*.rs"}"#,
            None,
        ),
        (
            "list_directory",
            r#"{"path":"src"}"#,
            Pi,
            r#""name":"ls","arguments":{"path":"src"}"#,
            None,
        ),
        (
            "replace",
            r#"{"file_path":"a","instruction":"why","old_string":"x","new_string":"y"}"#,
            Pi,
            r#"{"path":"a","instruction":"why","oldText":"x","newText":"y"}"#,
            Some("instruction"),
        ),
        (
            "run_shell_command",
            r#"{"command":"ls","description":"List"}"#,
            Opencode,
            r#"{"command":"ls","description":"List"}"#,
            None,
        ),
        (
            "run_shell_command",
            r#"{"command":"ls","description":"List"}"#,
            Pi,
            r#"{"command":"ls","description":"List"}"#,
            Some("description"),
        ),
        (
            "my_own_tool",
            r#"{"absolute_path":"/a"}"#,
            Pi,
            r#""name":"my_own_tool","arguments":{"absolute_path":"/a"}"#,
            None,
        ),
    ] {
        let (text, converted) = written(&gemini(tool, arguments).sessions[0], to);
        assert!(text.contains(wanted), "{tool} to {to:?}: {text}");
        let names = converted.losses.iter().find_map(|loss| match &loss.kind {
            LossKind::UnknownArguments { names } => Some(names.as_str()),
            _ => None,
        });
        assert_eq!(names, unknown, "{tool} to {to:?}");
    }
}

#[test]
fn a_command_that_is_a_list_of_words_becomes_a_text() {
    let codex = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"1"}}
{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"ls boats\"]}","call_id":"call_1"}}
{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"call_1","output":"17"}}
"#;
    let (text, _) = written(&read(codex).sessions[0], AgentProgram::ClaudeCode);
    assert!(
        text.contains(r#""name":"Bash","input":{"command":"ls boats"}"#),
        "{text}"
    );
}

#[test]
fn an_orphan_stays_one_or_becomes_a_text_where_calls_hold_their_outputs() {
    let lines: Vec<&str> = CLAUDE_CODE.lines().collect();
    let orphaned = [lines[0], &lines[3].replace("u3", "u1"), lines[6]].join("\n");
    let session = &read(&orphaned).sessions[0];
    for to in AgentProgram::ALL {
        let (text, converted) = written(session, to);
        let is_text = matches!(to, AgentProgram::GeminiCli | AgentProgram::Opencode);
        let lost = |loss: &retake_core::formats::convert::Loss| loss.kind == LossKind::OutputAsText;
        assert_eq!(converted.losses.iter().any(lost), is_text, "{to:?}");
        assert!(text.contains("17 kayaks"), "{to:?}");
    }
}

#[test]
fn a_new_session_has_an_id_and_a_path_of_its_own() {
    let new = new_session(Path::new("/work/a.b"));
    assert_eq!(new.id.len(), 36);
    assert_ne!(new.id, new_session(Path::new("/work/a.b")).id);
    let home = |name: &str| (name == "HOME").then(|| OsString::from("/home/o"));
    let path = |agent| session_path(agent, &self::new(), &home);
    let file = |path: &str| Some(PathBuf::from(format!("/home/o/{path}")));
    let id = "01a208c2-c369-7587-8568-42f270a80ccd";
    assert_eq!(
        path(AgentProgram::ClaudeCode),
        file(&format!(".claude/projects/-work-boats/{id}.jsonl"))
    );
    let rollout = format!(".codex/sessions/2026/11/23/rollout-2026-11-23T14-22-13-{id}.jsonl");
    assert_eq!(path(AgentProgram::Codex), file(&rollout));
    let entries = format!(".pi/agent/sessions/--work-boats--/2026-11-23T14-22-13Z_{id}.jsonl");
    assert_eq!(path(AgentProgram::Pi), file(&entries));
    assert_eq!(path(AgentProgram::Opencode), None);
    let claude = |name: &str| (name == "CLAUDE_CONFIG_DIR").then(|| OsString::from("/c"));
    let own = session_path(AgentProgram::ClaudeCode, &self::new(), &claude);
    assert_eq!(
        own,
        Some(PathBuf::from(format!("/c/projects/-work-boats/{id}.jsonl")))
    );
}
