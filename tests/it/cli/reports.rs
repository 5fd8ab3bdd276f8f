//! The reports of `check`: reviewed texts, the JSON contract, order, and where tools come from.

use super::{CLEAN, STORY, folder, retake, told};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn sessions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions")
}

#[test]
fn the_report_for_people_is_as_reviewed() {
    let here = folder(&[("story.json", STORY), ("clean.json", CLEAN)]);
    let (_, out, err) = told(here.path(), &["check", "."]);
    insta::assert_snapshot!("check_text", out);
    assert_eq!(err, "");
}

#[test]
fn the_reports_for_ci_are_as_reviewed() {
    let here = folder(&[("story.json", STORY), ("clean.json", CLEAN)]);
    let report = |format| {
        told(
            here.path(),
            &[
                "check",
                "clean.json",
                "story.json",
                "--format",
                format,
                "--fail-on",
                "warning",
            ],
        )
        .1
    };
    insta::assert_snapshot!("check_github", report("github"));
    insta::assert_snapshot!("check_junit", report("junit"));
    insta::assert_snapshot!("check_json", report("json"));
}

#[test]
fn tables_need_a_build_with_them_and_a_folder() {
    let here = folder(&[("a.json", STORY)]);
    for format in ["parquet", "arrow"] {
        let words = ["check", "a.json", "--format", format];
        let (code, out, err) = told(here.path(), &words);
        let hint = match cfg!(feature = "tables") {
            true => "-o FOLDER",
            false => "--features tables",
        };
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.contains(hint), "{err}");
    }
    let words = ["check", "a.json", "--format", "json", "-o", "x"];
    let (code, _, err) = told(here.path(), &words);
    assert_eq!(code, 2);
    assert!(err.contains("standard output"), "{err}");
    assert!(!here.path().join("x").exists());
}

#[cfg(not(feature = "query"))]
#[test]
fn query_needs_a_build_with_it() {
    let here = folder(&[("a.json", STORY)]);
    let words = ["query", "SELECT * FROM findings", "a.json"];
    let (code, out, err) = told(here.path(), &words);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("--features query"), "{err}");
    assert!(
        told(here.path(), &["help", "query"])
            .1
            .contains("--features query")
    );
}

#[test]
fn sarif_is_a_log_with_rules_results_and_places() {
    let here = folder(&[
        ("a b.json", STORY),
        ("c.json", STORY),
        (
            "broken.jsonl",
            "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\n{\"role\":\"user\",\"content\":\"b\"}\n",
        ),
    ]);
    let (_, out, _) = told(here.path(), &["check", ".", "--format", "sarif"]);
    let log: serde_sarif::sarif::Sarif = serde_json::from_str(&out).unwrap();
    let run = &log.runs[0];
    let rules = run.tool.driver.rules.as_ref().unwrap();
    assert!(rules.iter().any(|rule| rule.id == "unknown-tool"));
    let uris = run
        .results
        .as_ref()
        .unwrap()
        .iter()
        .filter(|result| result.rule_id.as_deref() == Some("unknown-tool"))
        .map(|result| {
            let place = result.locations.as_ref().unwrap()[0]
                .physical_location
                .as_ref()
                .unwrap();
            let line = place.region.as_ref().unwrap().start_line.unwrap();
            (
                place
                    .artifact_location
                    .as_ref()
                    .unwrap()
                    .uri
                    .clone()
                    .unwrap(),
                line,
            )
        })
        .collect::<Vec<_>>();
    assert_eq!(
        uris,
        [("a%20b.json".to_owned(), 7), ("c.json".to_owned(), 7)]
    );
    let invocation = &run.invocations.as_ref().unwrap()[0];
    assert_eq!(
        invocation
            .tool_execution_notifications
            .as_ref()
            .unwrap()
            .len(),
        1
    );
    let (_, none, _) = told(here.path(), &["check", "missing.json", "--format", "sarif"]);
    serde_json::from_str::<serde_sarif::sarif::Sarif>(&none).unwrap();
}

/// The lines of `check --format json`, with nothing beside what the contract names.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
#[allow(dead_code, reason = "the fields are the contract")]
enum Line {
    Finding {
        path: String,
        session: String,
        line: Option<u64>,
        column: Option<u64>,
        turn: Option<u32>,
        item: Option<u32>,
        rule: String,
        severity: String,
        tool: Option<String>,
        call_id: Option<String>,
        message: String,
        pointer: Option<String>,
        cause: Option<String>,
        offers: Vec<Offer>,
    },
    Problem {
        path: String,
        line: Option<u64>,
        column: Option<u64>,
        byte: u64,
        message: String,
    },
    Session {
        path: String,
        session: String,
        format: String,
        target: String,
        turns: usize,
        items: usize,
        calls: usize,
        outputs: usize,
        tools_known: bool,
        findings: BTreeMap<String, usize>,
        problems: usize,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the fields are the contract")]
struct Offer {
    action: String,
    safety: String,
}

#[test]
fn json_lines_keep_their_contract_and_sessions_count_what_stands_before_them() {
    let (_, out, _) = told(&sessions(), &["check", ".", "--format", "json"]);
    let (mut found, mut broken) = (BTreeMap::new(), 0);
    let mut names = Vec::new();
    for text in out.lines() {
        let keys = serde_json::from_str::<serde_json::Map<_, _>>(text)
            .unwrap()
            .len();
        match serde_json::from_str::<Line>(text).unwrap_or_else(|error| panic!("{error}: {text}")) {
            Line::Finding {
                rule,
                turn,
                item,
                severity,
                ..
            } => {
                assert_eq!(keys, 15, "absent values are null: {text}");
                assert!(turn != Some(0) && item != Some(0), "{text}");
                assert!(["info", "warning", "error"].contains(&severity.as_str()));
                *found.entry(rule).or_insert(0) += 1;
            }
            Line::Problem { line, .. } => {
                assert_eq!(keys, 6, "{text}");
                assert_ne!(line, Some(0));
                broken += 1;
            }
            Line::Session {
                path,
                session,
                findings,
                problems,
                ..
            } => {
                assert_eq!(keys, 12, "{text}");
                assert_eq!(
                    (findings, problems),
                    (std::mem::take(&mut found), broken),
                    "{text}"
                );
                broken = 0;
                names.push((path, session));
            }
        }
    }
    assert!(names.len() > 15);
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    let paths = names
        .iter()
        .map(|(path, _)| path.clone())
        .collect::<Vec<_>>();
    assert!(paths.is_sorted(), "{paths:?}");
}

#[test]
fn rules_can_be_chosen_and_left_out() {
    let here = folder(&[("story.json", STORY)]);
    let check = |options: &[&str]| {
        let check = ["check", "story.json", "--fail-on", "warning"];
        told(here.path(), &[&check[..], options].concat())
    };
    let has = |out: &str| out.contains("unknown-tool");
    for (options, is_found) in [
        (&["--only", "orphan-call"][..], false),
        (&["--only", "orphan-call,unknown-tool"], true),
        (&["--ignore", "orphan-call"], true),
        (&["--ignore", "orphan-call,unknown-tool"], false),
        (
            &["--only", "unknown-tool", "--ignore", "unknown-tool"],
            false,
        ),
    ] {
        let (code, out, _) = check(options);
        assert_eq!(
            (code, has(&out)),
            (i32::from(is_found), is_found),
            "{options:?}"
        );
    }
    let (code, _, err) = check(&["--ignore", "unknwon-tool"]);
    assert_eq!(code, 2);
    assert!(
        err.contains("unknown rule unknwon-tool") && err.contains("did you mean unknown-tool?"),
        "{err}"
    );
}

/// A JSON value, no object of which has a key twice.
struct Distinct;

impl<'de> serde::Deserialize<'de> for Distinct {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> serde::de::Visitor<'de> for Walk {
            type Value = Distinct;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("JSON")
            }
            fn visit_unit<E>(self) -> Result<Distinct, E> {
                Ok(Distinct)
            }
            fn visit_bool<E>(self, _: bool) -> Result<Distinct, E> {
                Ok(Distinct)
            }
            fn visit_i64<E>(self, _: i64) -> Result<Distinct, E> {
                Ok(Distinct)
            }
            fn visit_u64<E>(self, _: u64) -> Result<Distinct, E> {
                Ok(Distinct)
            }
            fn visit_f64<E>(self, _: f64) -> Result<Distinct, E> {
                Ok(Distinct)
            }
            fn visit_str<E>(self, _: &str) -> Result<Distinct, E> {
                Ok(Distinct)
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<Distinct, A::Error> {
                while list.next_element::<Distinct>()?.is_some() {}
                Ok(Distinct)
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Distinct, A::Error> {
                let mut keys = std::collections::HashSet::new();
                while let Some((key, _)) = map.next_entry::<String, Distinct>()? {
                    if !keys.insert(key.clone()) {
                        let fault = format!("{key} is there twice");
                        return Err(serde::de::Error::custom(fault));
                    }
                }
                Ok(Distinct)
            }
        }
        from.deserialize_any(Walk)
    }
}

#[test]
fn no_report_in_json_has_a_key_twice() {
    let sessions = sessions();
    for arguments in [
        &["check", ".", "--format", "json"][..],
        &["check", ".", "--format", "sarif"],
        &["doctor", ".", "--format", "json"],
        &["health", ".", "--format", "json"],
        &["usage", ".", "--format", "json"],
        &["list", ".", "--format", "json"],
        &["takes", "unknown-tool.json", "--format", "json"],
        &[
            "convert",
            "unknown-tool.json",
            "--to",
            "chat",
            "--losses",
            "--format",
            "json",
        ],
        &[
            "split",
            "turn-limit.json",
            "--keep",
            "1",
            "--format",
            "json",
        ],
    ] {
        let (code, out, err) = told(&sessions, arguments);
        let values = serde_json::Deserializer::from_str(&out).into_iter::<Distinct>();
        for value in values {
            assert!(value.is_ok(), "{arguments:?}: {}", value.err().unwrap());
        }
        assert!(!out.is_empty(), "{arguments:?}: {code} {err}");
    }
}

#[test]
fn findings_of_a_baseline_do_not_count_again_wherever_they_stand_now() {
    let here = folder(&[("story.json", STORY), ("clean.json", CLEAN)]);
    let check = |more: &[&str]| {
        let check = [
            "check",
            "./story.json",
            "clean.json",
            "--fail-on",
            "warning",
        ];
        told(here.path(), &[&check[..], more].concat())
    };
    let write = |name: &str, text: &str| std::fs::write(here.path().join(name), text).unwrap();
    write("base.jsonl", &check(&["--format", "json"]).1);
    let with_baseline = ["--baseline", "base.jsonl"];
    let (code, out, err) = check(&with_baseline);
    assert_eq!((code, &*err), (0, ""), "{out}");
    assert!(
        out.contains("no findings") && out.contains("1 finding of the baseline not counted"),
        "{out}"
    );
    // What comes before it moves the item and its line.
    let moved = STORY.replacen(
        "\"messages\": [",
        "\"messages\": [\n{\"role\": \"user\", \"content\": \"hi\"},",
        1,
    );
    assert_ne!(moved, STORY);
    write("story.json", &moved);
    assert_eq!(check(&with_baseline).0, 0);
    // The same fault in another file is another finding.
    write("clean.json", STORY);
    let (code, out, _) = check(&with_baseline);
    assert_eq!(code, 1);
    assert!(
        out.contains("clean.json:7") && !out.contains("story.json:"),
        "{out}"
    );
    write("base.jsonl", "{\"type\":\"session\"}\nno JSON\n");
    let (code, _, err) = check(&with_baseline);
    assert_eq!(code, 2);
    assert!(
        err.contains("base.jsonl:2: not a line of a report")
            && err.contains("> baseline.jsonl` writes a baseline"),
        "{err}"
    );
}

#[test]
fn what_cannot_be_read_is_in_every_report_for_programs() {
    let here = folder(&[("story.json", STORY)]);
    for (format, wanted) in [
        ("junit", "<error message=\"no such file"),
        (
            "github",
            "::error file=missing.json,title=retake unreadable::",
        ),
        (
            "json",
            "{\"type\":\"problem\",\"path\":\"missing.json\",\"line\":null",
        ),
        ("sarif", "\"executionSuccessful\":false"),
    ] {
        let (code, out, err) = told(
            here.path(),
            &["check", "story.json", "missing.json", "--format", format],
        );
        assert_eq!(code, 3, "{format}");
        assert!(
            out.contains(wanted) && err.contains("missing.json"),
            "{format}: {out}{err}"
        );
    }
}

#[test]
fn reports_come_in_the_order_of_the_arguments() {
    let names = (0..60)
        .map(|number| format!("{number}.json"))
        .collect::<Vec<_>>();
    let files = names
        .iter()
        .map(|name| (name.as_str(), STORY))
        .collect::<Vec<_>>();
    let here = folder(&files);
    let shuffled = names.iter().rev().map(String::as_str);
    let arguments = ["check", "--format", "github"]
        .into_iter()
        .chain(shuffled)
        .collect::<Vec<_>>();
    let (_, out, _) = told(here.path(), &arguments);
    let order = out
        .lines()
        .filter_map(|line| line.split_once("file=")?.1.split_once(','))
        .map(|(file, _)| file.to_owned())
        .collect::<Vec<_>>();
    assert_eq!(order, names.iter().rev().cloned().collect::<Vec<_>>());
}

#[test]
fn standard_input_is_a_recording() {
    let output = retake()
        .args(["check", "-", "--format", "github"])
        .write_stdin(STORY)
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.starts_with("::warning file=-,line=7,title=retake unknown-tool::"),
        "{out}"
    );
}

#[test]
fn tools_are_taken_from_the_option_or_from_the_file_beside() {
    let messages = &STORY[STORY.find("  \"messages\"").unwrap()..];
    let bare = format!("{{\"model\": \"x\",\n{messages}");
    let tools = r#"[{"name": "search_flights", "input_schema": {"type": "object"}}]"#;
    let here = folder(&[("run.json", &bare), ("tools.json", tools)]);
    let lines = |arguments: &[&str]| told(here.path(), arguments).1;
    assert!(lines(&["check", "run.json"]).contains("not recorded in this session"));
    assert!(
        lines(&["check", "run.json", "--tools", "tools.json"]).contains("nearest: search_flights")
    );
    std::fs::rename(
        here.path().join("tools.json"),
        here.path().join("run.json.tools.json"),
    )
    .unwrap();
    let out = lines(&["check", "run.json"]);
    assert!(
        out.contains("nearest: search_flights") && out.contains("tools from run.json.tools.json"),
        "{out}"
    );
}
