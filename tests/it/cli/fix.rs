//! `fix`: a copy with everything safe applied; what it writes, where, and what it never does.

use super::{CLEAN, STORY, folder, retake, told};
use retake_live::read_database;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

/// An output before its call, which OpenAI Chat refuses: moving it is safe.
const MISPLACED: &str = r#"[
  {"role": "user",   "content": "hi\u0021"},
  {"role": "tool", "tool_call_id": "a", "content": "1"},
  {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
  {"role": "user", "content": "thanks"}
]
"#;

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn files(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap();
    let mut files = files
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect::<Vec<_>>();
    files.sort();
    files
}

#[test]
fn the_warnings_that_stay_are_counted_by_rule() {
    let failed = MISPLACED.replace(
        r#"{"role": "user", "content": "thanks"}"#,
        r#"{"role": "assistant", "content": null, "tool_calls": [{"id": "b", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1, \"x\": 2}"}}]},
  {"role": "tool", "tool_call_id": "b", "content": "Error: no such file"}"#,
    );
    let here = folder(&[("run.json", &failed)]);
    let (code, _, err) = told(here.path(), &["fix", "run.json", "-o", "fixed.json"]);
    assert_eq!(code, 0, "{err}");
    let (_, found, _) = told(here.path(), &["check", "fixed.json", "--format", "json"]);
    let warnings = found.matches(r#""severity":"warning""#).count();
    let rules = [
        format!("{warnings} warnings stay ("),
        "1 warning stays (".to_owned(),
    ];
    assert!(warnings > 0, "{found}");
    assert!(
        err.contains(&rules[usize::from(warnings == 1)]),
        "{err}{found}"
    );
    assert!(err.contains("duplicate-argument-key 1"), "{err}");
}

#[test]
fn the_copy_goes_to_standard_output_or_a_file_and_the_recording_stays() {
    let here = folder(&[("run.json", MISPLACED)]);
    let path = here.path();
    let (code, fixed, err) = told(path, &["fix", "run.json"]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("1 action applied, 0 errors"), "{err}");
    assert!(
        fixed.contains(r#"{"role": "user",   "content": "hi\u0021"}"#),
        "{fixed}"
    );
    assert_eq!(told(path, &["fix", "run.json", "-o", "fixed.json"]).0, 0);
    assert_eq!(read(path, "fixed.json"), fixed);
    assert_eq!(read(path, "run.json"), MISPLACED);
    assert_eq!(told(path, &["check", "fixed.json"]).0, 0);
    let (code, again, err) = told(path, &["fix", "fixed.json"]);
    assert_eq!((code, again), (0, fixed), "{err}");
    assert!(err.contains("0 actions applied"), "{err}");
}

#[test]
fn the_tools_beside_a_recording_stand_beside_its_copy_too() {
    let broken = MISPLACED.replace("{\"name\": \"f\"", "{\"name\": \"h\"");
    let tools = r#"[{"name": "f", "input_schema": {"type": "object"}}]"#;
    let here = folder(&[("run.json", &broken), ("run.tools.json", tools)]);
    let path = here.path();
    let (_, _, err) = told(path, &["fix", "run.json", "-o", "fixed.json"]);
    assert!(err.contains("its tools: fixed.tools.json"), "{err}");
    assert_eq!(read(path, "fixed.tools.json"), tools);
    let (_, out, _) = told(path, &["check", "fixed.json"]);
    assert!(out.contains("h is not offered"), "{out}");
    // Other tools that are there already stay.
    std::fs::write(path.join("other.tools.json"), "[]").unwrap();
    told(path, &["fix", "run.json", "-o", "other.json"]);
    assert_eq!(read(path, "other.tools.json"), "[]");
    told(path, &["fix", "run.json", "-o", "/dev/null", "--force"]);
    assert!(!Path::new("/dev/null.tools.json").exists() && !Path::new("/dev/.tools.json").exists());
}

#[test]
fn a_last_line_that_was_not_written_to_its_end_is_cut_where_that_is_wanted() {
    let whole = "{\"role\":\"user\",\"content\":\"hi\"}\n";
    let torn = format!("{whole}{{\"role\":\"assis");
    let here = folder(&[("run.jsonl", &torn)]);
    let (_, kept, err) = told(here.path(), &["fix", "run.jsonl"]);
    assert_eq!(kept, torn);
    assert!(
        err.contains("half-written: --unsafe cuts it, which loses 14 bytes"),
        "{err}"
    );
    let (code, cut, err) = told(here.path(), &["fix", "run.jsonl", "--unsafe"]);
    assert_eq!((code, &*cut), (0, whole), "{err}");
    assert!(err.contains("line is cut: 14 bytes lost"), "{err}");
}

#[test]
fn nothing_is_overwritten_unasked_and_the_recording_not_even_then() {
    let here = folder(&[("run.json", MISPLACED), ("there.json", CLEAN)]);
    let path = here.path();
    let (code, _, err) = told(path, &["fix", "run.json", "-o", "there.json"]);
    assert!(code == 2 && err.contains("already exists"), "{err}");
    assert_eq!(read(path, "there.json"), CLEAN);
    let forced = told(path, &["fix", "run.json", "-o", "there.json", "--force"]);
    assert_eq!(forced.0, 0, "{}", forced.2);
    assert!(read(path, "there.json").contains("thanks"));
    std::os::unix::fs::symlink("run.json", path.join("link.json")).unwrap();
    for own in ["run.json", "./run.json", "link.json"] {
        let (code, _, err) = told(path, &["fix", "run.json", "-o", own, "--force"]);
        assert!(code == 2 && err.contains("--in-place"), "{err}");
    }
    assert_eq!(read(path, "run.json"), MISPLACED);
    let (code, _, err) = told(path, &["fix", "run.json", "-o", "no/such/folder.json"]);
    assert!(code == 2 && err.contains("nothing was changed"), "{err}");
    assert_eq!(files(path), ["link.json", "run.json", "there.json"]);
}

#[test]
fn in_place_keeps_the_recording_as_it_was_beside_it() {
    use std::os::unix::fs::PermissionsExt;
    let here = folder(&[("run.json", MISPLACED), ("clean.json", CLEAN)]);
    let path = here.path();
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path.join("run.json"), private).unwrap();
    let (code, out, err) = told(path, &["fix", "run.json", "--in-place"]);
    assert_eq!((code, &out[..]), (0, ""));
    assert!(err.contains("run.json.bak"), "{err}");
    assert_eq!(read(path, "run.json.bak"), MISPLACED);
    assert_ne!(read(path, "run.json"), MISPLACED);
    let mode = path
        .join("run.json")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // Where there is nothing to fix, nothing is written.
    assert_eq!(told(path, &["fix", "run.json", "--in-place"]).0, 0);
    assert_eq!(told(path, &["fix", "clean.json", "--in-place"]).0, 0);
    assert_eq!(files(path), ["clean.json", "run.json", "run.json.bak"]);
    let (code, _, err) = told(path, &["fix", "-", "--in-place"]);
    assert!(code == 2 && err.contains("standard input"), "{err}");
}

#[test]
fn a_diff_shows_what_would_change_and_writes_nothing() {
    let here = folder(&[("run.json", STORY)]);
    let path = here.path();
    let (code, diff, _) = told(path, &["fix", "run.json", "--diff", "--unsafe"]);
    assert_eq!(
        (code, &diff[..]),
        (0, ""),
        "an answered call is only a warning"
    );
    let unanswered = STORY.replace(r#""tool_call_id": "call_1""#, r#""tool_call_id": "call_2""#);
    std::fs::write(path.join("other.json"), &unanswered).unwrap();
    let (code, diff, err) = told(path, &["fix", "other.json", "--diff", "--unsafe"]);
    assert!(code < 2, "{err}");
    assert!(
        diff.starts_with(
            "--- other.json\n+++ other.json (fixed)\n@@ line 7 @@ item 2, changed: call "
        ),
        "{diff}"
    );
    assert!(diff.contains("\n- ") && diff.contains("\n+ "), "{diff}");
    let dry = ["fix", "other.json", "--dry-run", "--diff", "--unsafe"];
    assert_eq!(told(path, &dry).1, diff);
    let one_line: serde_json::Value = serde_json::from_str(&unanswered).unwrap();
    std::fs::write(path.join("other.json"), one_line.to_string()).unwrap();
    let (_, diff, _) = told(path, &["fix", "other.json", "--diff", "--unsafe"]);
    let column = diff.split("@@ line 1, column ").nth(1).unwrap();
    let column: usize = column.split(' ').next().unwrap().parse().unwrap();
    let place = &one_line.to_string()[column - 1..];
    assert!(
        place.starts_with('{') && place.contains("serch_flights"),
        "{diff}"
    );
    std::fs::write(path.join("other.json"), &unanswered).unwrap();
    assert_eq!(read(path, "other.json"), unanswered);
    assert_eq!(files(path), ["other.json", "run.json"]);
}

#[test]
fn a_diff_of_a_long_line_shows_its_difference() {
    let cut = format!(r#"{{\"text\":\"{}"#, "word-".repeat(1000));
    let run = format!(
        r#"[{{"role":"user","content":"hi"}},
{{"role":"assistant","content":null,"tool_calls":[{{"id":"a","type":"function","function":{{"name":"f","arguments":"{cut}"}}}}]}},
{{"role":"tool","tool_call_id":"a","content":"1"}}]"#
    );
    let here = folder(&[("run.json", &run)]);
    let (_, diff, err) = told(here.path(), &["fix", "run.json", "--diff", "--unsafe"]);
    let changes = || diff.lines().skip_while(|line| !line.starts_with("@@"));
    let line = |mark: &str| changes().find_map(|line| line.strip_prefix(mark));
    let (old, new) = (line("- ").unwrap(), line("+ ").unwrap());
    assert!(new.ends_with(r#"\"}""#) && old != new, "{diff}{err}");
    assert!(
        old.contains(r#""arguments":"#) && old.contains(" … "),
        "{old}"
    );
    assert!(old.len() < 400, "{old}");
}

#[test]
fn what_is_left_is_named_also_a_call_that_waits() {
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    let (code, _, err) = told(&sessions, &["fix", "broken-json.json", "--diff"]);
    let said = "0 actions would be applied, 0 errors would be left\n";
    assert!(code == 0 && err.contains(said), "{err}");
    let (code, _, err) = told(&sessions, &["fix", "unknown-tool.json"]);
    let said = "0 errors left\n  item 7  unknown-tool  inject-error\n  1 call still waits for its output\n";
    assert!(code == 0 && err.contains(said), "{err}");
}

#[test]
fn what_fix_says_is_left_is_what_check_says_of_its_copy_and_once_is_enough() {
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    for name in ["schema-break.json", "broken-json.json"] {
        let text = std::fs::read_to_string(sessions.join(name)).unwrap();
        let here = folder(&[("run.json", &text)]);
        let fix = |from, to| told(here.path(), &["fix", from, "--unsafe", "-o", to]);
        let (code, _, err) = fix("run.json", "once.json");
        assert!(err.contains("0 errors left"), "{err}");
        let (checked, _, _) = told(here.path(), &["check", "once.json"]);
        assert_eq!(code, checked, "{name} {err}");
        let (code, _, err) = fix("once.json", "twice.json");
        assert!(
            code == checked && err.contains("0 actions applied"),
            "{err}"
        );
        assert_eq!(
            read(here.path(), "twice.json"),
            read(here.path(), "once.json")
        );
    }
}

#[test]
fn any_number_of_outputs_without_calls_becomes_text_in_one_go_and_in_their_order() {
    let user = r#"{"role":"user","content":"hi"}"#;
    let chat = |id| format!(r#"{{"role":"tool","tool_call_id":"c{id}","content":"no {id}."}}"#);
    let chat = (0..11).map(chat).collect::<Vec<_>>().join(",\n");
    let chat = format!(r#"{{"model":"gpt-4.1","messages":[{user},{chat},{user}]}}"#);
    let block = |id: &str| {
        format!(r#"{{"type":"tool_result","tool_use_id":"toolu_{id}","content":"no {id}."}}"#)
    };
    let lost = (0..12).map(|id| block(&id.to_string()));
    let lost = lost.collect::<Vec<_>>().join(",\n");
    let claude = |call: &str, blocks: &str| {
        let model = r#""model":"claude-sonnet-4","max_tokens":9"#;
        format!(
            r#"{{{model},"messages":[{user},{{"role":"assistant","content":[{call}]}},{{"role":"user","content":[{blocks}]}}]}}"#
        )
    };
    let (text, call) = (
        r#"{"type":"text","text":"ok"}"#,
        r#"{"type":"tool_use","id":"toolu_x","name":"f","input":{}}"#,
    );
    let before_answer = format!("{lost},{}", block("x").replace("no x.", "yes"));
    let here = folder(&[
        ("chat.json", &chat),
        ("claude.json", &claude(text, &lost)),
        ("answer.json", &claude(call, &before_answer)),
    ]);
    for (name, count) in [("chat.json", 11), ("claude.json", 12), ("answer.json", 12)] {
        let (code, fixed, err) = told(here.path(), &["fix", name]);
        let said = format!("{count} actions applied, 0 errors left\n  item");
        assert!(code == 0 && err.contains(&said), "{name}: {err}");
        let places = (0..count).map(|id| fixed.find(&format!("no {id}.")));
        let places = places.collect::<Option<Vec<_>>>().unwrap();
        assert!(places.is_sorted(), "{name}: {fixed}");
    }
}

#[test]
fn an_answer_of_retake_is_no_failure_of_the_tool() {
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    let text = std::fs::read_to_string(sessions.join("orphan-at-compaction.jsonl")).unwrap();
    let here = folder(&[("run.jsonl", &text)]);
    let (code, _, err) = told(here.path(), &["fix", "run.jsonl", "-o", "fixed.jsonl"]);
    assert!(code == 0 && !err.contains("stay"), "{err}");
    let (_, out, _) = told(here.path(), &["check", "fixed.jsonl"]);
    assert!(out.contains("no findings"), "{out}");
}

#[test]
fn the_warnings_that_stay_are_those_that_check_finds_in_the_copy() {
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    for name in ["unknown-tool.json", "misplaced-results.json"] {
        let here = tempfile::tempdir().unwrap();
        let copy = here.path().join("run.json").display().to_string();
        let (_, _, err) = told(&sessions, &["fix", name, "-o", &copy]);
        assert!(err.contains("1 warning stays"), "{name}: {err}");
        let (_, out, _) = told(here.path(), &["check", "run.json"]);
        assert!(out.contains("\n1 warning"), "{name}: {out}");
    }
}

#[test]
fn standard_input_is_fixed_to_standard_output() {
    let output = retake().args(["fix", "-"]).write_stdin(MISPLACED).output();
    let output = output.unwrap();
    assert!(output.status.success());
    let here = folder(&[("run.json", MISPLACED)]);
    let (_, fixed, _) = told(here.path(), &["fix", "run.json"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), fixed);
}

#[test]
fn a_database_is_fixed_as_a_database() {
    let here = folder(&[]);
    let database = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions/library-desk.db");
    let recorded = std::fs::read(&database).unwrap();
    std::fs::write(here.path().join("desk.db"), &recorded).unwrap();
    let errors = |name: &str| {
        let (_, out, _) = told(here.path(), &["check", name, "--format", "json"]);
        out.matches(r#""severity":"error""#).count()
    };
    assert!(errors("desk.db") > 0);
    let fix = ["fix", "desk.db", "--unsafe", "-o", "fixed.db"];
    let (code, _, err) = told(here.path(), &fix);
    assert_eq!(code, 0, "{err}");
    assert_eq!(errors("fixed.db"), 0);
    assert_eq!(
        std::fs::read(here.path().join("desk.db")).unwrap(),
        recorded
    );
    let [before, after] = ["desk.db", "fixed.db"].map(|name| {
        let contents = read_database(&here.path().join(name)).unwrap();
        contents
            .sessions
            .iter()
            .map(|session| session.items.len())
            .sum::<usize>()
    });
    assert_eq!(after, before + 1);
    let piped = retake()
        .current_dir(here.path())
        .args(["fix", "desk.db", "--unsafe"])
        .output()
        .unwrap();
    assert!(piped.stdout.starts_with(b"SQLite format 3\0"));
}

#[test]
fn logs_and_streams_are_refused_and_the_hint_leads_to_their_history() {
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    for name in ["cut-at-limit.sse", "endless-repeat.jsonl"] {
        let path = sessions.join(name);
        let path = path.to_str().unwrap();
        let (code, out, err) = told(&sessions, &["fix", path, "--unsafe"]);
        if code == 0 {
            // Nothing in it is broken.
            assert!(err.contains("0 actions applied"), "{err}");
            continue;
        }
        assert_eq!((code, &out[..]), (2, ""), "{err}");
        assert!(
            err.contains("--to DIALECT --request | retake fix -`"),
            "{err}"
        );
        let (_, request, _) = told(&sessions, &["convert", path, "--to", "chat", "--request"]);
        let output = retake()
            .args(["fix", "-", "--unsafe"])
            .write_stdin(request)
            .output();
        assert!(output.unwrap().status.code().is_some_and(|code| code < 2));
    }
}

#[test]
fn exit_codes_tell_what_is_left() {
    let said = r#"{"role": "assistant", "content": "ten"}"#;
    let schema =
        r#"{"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}"#;
    let unfit = format!(
        r#"{{"model": "m", "messages": [{{"role": "user", "content": "hi"}}, {said}], "response_format": {schema}}}"#
    );
    let here = folder(&[
        ("clean.json", CLEAN),
        ("misplaced.json", MISPLACED),
        ("unfit.json", &unfit),
        ("prose.txt", "Dear diary."),
    ]);
    let table: &[(&[&str], i32)] = &[
        (&["clean.json"], 0),
        (&["misplaced.json"], 0),
        (&["unfit.json"], 1),
        (&["unfit.json", "--diff", "--unsafe"], 1),
        (&["prose.txt"], 2),
        (&["missing.json"], 2),
        (&["."], 2),
        (&["clean.json", "--force"], 2),
        (&["clean.json", "--diff", "--in-place"], 2),
        (&["clean.json", "--diff", "-o", "x.json"], 2),
        (&[], 2),
    ];
    for (arguments, code) in table {
        let (ended, _, err) = told(here.path(), &[&["fix"], *arguments].concat());
        assert_eq!(ended, *code, "{arguments:?} {err}");
    }
}

#[test]
fn a_closed_pipe_is_quiet() {
    let line = format!(
        "{{\"role\":\"user\",\"content\":\"{}\"}}\n",
        "word ".repeat(40)
    );
    let here = folder(&[("long.jsonl", &line.repeat(20_000))]);
    let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_retake"))
        .args(["fix", "long.jsonl"])
        .current_dir(here.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut out = BufReader::new(process.stdout.take().unwrap());
    out.read_line(&mut first).unwrap();
    drop(out);
    let mut complaints = String::new();
    let mut err = process.stderr.take().unwrap();
    err.read_to_string(&mut complaints).unwrap();
    assert_eq!(complaints, "");
    assert!(process.wait().unwrap().code().is_some_and(|code| code < 2));
}

#[test]
fn what_is_safe_and_could_not_be_done_is_told_with_the_reason() {
    let lost = "  {\"role\": \"user\", \"content\": \"so\"},\n  {\"role\": \"tool\", \"content\": \"2\"},\n";
    let recording = |count| {
        let tail = "  {\"role\": \"user\", \"content\": \"thanks\"}\n";
        MISPLACED.replace(tail, &(lost.repeat(count) + tail))
    };
    let here = folder(&[("two.json", &recording(2)), ("many.json", &recording(25))]);
    let (code, fixed, err) = told(here.path(), &["fix", "two.json"]);
    assert_eq!(code, 1, "{err}");
    assert_eq!(fixed.matches("\"content\": \"2\"").count(), 2);
    let reason = "missing-call-id  renew-id: it answers no call whose id it could take: turn it into text, or drop it";
    let wanted = format!(
        "retake: 1 action applied, 2 errors left\n  item 2  misplaced-output  move-output\n  left: missing-call-id 2\n  --unsafe applies fixes that change what the model saw or did: missing-call-id 2\nretake: could not be done:\n  item 5  {reason}\n  item 7  {reason}\n"
    );
    assert_eq!(err, wanted);
    let err = told(here.path(), &["fix", "many.json"]).2;
    assert_eq!(err.matches(reason).count(), 20, "{err}");
    assert!(err.ends_with("  and 5 more\n"), "{err}");
}

/// A copy that was being written when a process was killed is removed by the next run; one that is being written is not.
#[test]
fn what_a_killed_fix_left_is_removed_by_the_next_one() {
    let here = folder(&[("run.json", MISPLACED)]);
    let path = here.path();
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let stale = format!(".run.json.{}-0.tmp", gone.id());
    let alive = format!(".run.json.{}-0.tmp", std::process::id());
    for name in [&stale, &alive, ".other.json.1-0.tmp"] {
        std::fs::write(path.join(name), "half").unwrap();
    }
    assert_eq!(told(path, &["fix", "--in-place", "run.json"]).0, 0);
    let left = files(path);
    assert!(!left.contains(&stale) && left.contains(&alive), "{left:?}");
    assert_eq!(left.len(), 4, "{left:?}");
}

/// A signal that asks the process to end leaves nothing behind; where it comes between two steps does not matter.
#[test]
fn a_fix_that_is_ended_leaves_no_half_file() {
    let message = format!(r#"{{"role": "user", "content": "{}"}},"#, "x".repeat(2000));
    let text = MISPLACED.replacen('[', &format!("[{}", message.repeat(20_000)), 1);
    for (round, signal) in ["INT", "TERM"].iter().cycle().take(12).enumerate() {
        let here = folder(&[("run.json", &text)]);
        let path = here.path();
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_retake"))
            .args(["fix", "--in-place", "run.json"])
            .current_dir(path)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let is_writing = || files(path).len() > 1;
        let mut is_over = false;
        while !is_writing() && !is_over {
            is_over = child.try_wait().unwrap().is_some();
        }
        std::thread::sleep(std::time::Duration::from_millis(round as u64));
        let pid = child.id().to_string();
        // It may be over already.
        let _ = std::process::Command::new("kill")
            .args(["-s", signal, &pid])
            .stderr(Stdio::null())
            .status();
        child.wait().unwrap();
        let left = files(path);
        assert!(
            left.iter().all(|name| !name.ends_with(".tmp")),
            "{signal}: {left:?}"
        );
    }
}

/// A call without an output that a text of the user follows, beside an output before its call.
const TWO_DEFECTS: &str = r#"[
  {"role": "tool", "tool_call_id": "a", "content": "1"},
  {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
  {"role": "assistant", "content": null, "tool_calls": [{"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}]},
  {"role": "user", "content": "And?"}
]
"#;

#[test]
fn one_recovery_is_carried_out_with_words_of_ones_own_and_nothing_else() {
    let here = folder(&[("run.json", TWO_DEFECTS)]);
    let path = here.path();
    let chosen = [
        "fix",
        "run.json",
        "--rule",
        "orphan-call",
        "--action",
        "supply-output",
        "--words",
        "seat 4",
    ];
    let (code, fixed, err) = told(path, &chosen);
    assert!(
        err.contains("1 action applied, 1 error left") && code == 1,
        "{err}"
    );
    let (before, after) = fixed.split_once(r#""name": "g""#).unwrap();
    assert!(after.contains(r#""content":"seat 4""#), "{fixed}");
    // The other defect is where it was.
    assert!(
        before.find(r#""role": "tool""#) < before.find(r#""name": "f""#),
        "{fixed}"
    );
    assert_eq!(read(path, "run.json"), TWO_DEFECTS);
}

#[test]
fn an_edit_takes_the_arguments_of_a_call_or_the_text_of_a_result() {
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    let edit = |more: &[&str]| {
        let edit = ["fix", "broken-json.json", "--action", "edit", "--item"];
        told(&sessions, &[&edit, more].concat())
    };
    for nothing in [&["5"][..], &["5", "--words", r#"{"principal":1}"#]] {
        let (code, _, err) = edit(nothing);
        let hint = "hint: --value gives a call other arguments, or a result another text";
        assert!(code == 2 && err.contains(hint), "{err}");
    }
    let (_, fixed, err) = edit(&["5", "--value", r#"{"principal": 1}"#]);
    assert!(err.contains("1 action applied"), "{err}");
    assert!(fixed.contains(r#"{\"principal\":1}"#), "{fixed}");
    let (_, fixed, err) = edit(&["6", "--value", r#""It is 12 %.""#]);
    assert!(err.contains("1 action applied"), "{err}");
    assert!(fixed.contains(r#""It is 12 %.""#), "{fixed}");
}

#[test]
fn a_recovery_that_cannot_be_carried_out_says_why() {
    let here = folder(&[("run.json", TWO_DEFECTS)]);
    for (arguments, why) in [
        (&["--item", "4"][..], "no finding at item 4"),
        (
            &["--item", "3", "--action", "supply-output"],
            "write the output first",
        ),
        (
            &["--item", "3", "--action", "fallback"],
            "does not offer fallback",
        ),
        (
            &["--rule", "orphan-call", "--wording", "none"],
            "no wording none for orphan-call",
        ),
        (&["--session", "9"], "session"),
        (
            &["--action", "supply-output", "--words", "x", "--unsafe"],
            "cannot be used with",
        ),
    ] {
        let arguments = [&["fix", "run.json"], arguments].concat();
        let (code, out, err) = told(here.path(), &arguments);
        assert!(
            code == 2 && out.is_empty() && err.contains(why),
            "{arguments:?}: {err}"
        );
    }
}
