//! `query`: what SQL finds in recordings is what `check` reports of them.

use super::{CLEAN, STORY, folder, told};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// The rows of an answer.
fn rows(here: &Path, words: &[&str]) -> Vec<Value> {
    let words = [&["query", "--format", "json"], words].concat();
    let (code, out, err) = told(here, &words);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    lines(&out)
}

fn lines(out: &str) -> Vec<Value> {
    let lines = out.lines().map(serde_json::from_str);
    lines.map(Result::unwrap).collect()
}

#[test]
fn sql_counts_what_check_reports_of_the_bundled_sessions() {
    let here = Path::new(".");
    let (code, out, _) = told(here, &["check", "sessions", "--format", "json"]);
    assert_eq!(code, 1);
    let (mut by_rule, mut sessions, mut items, mut calls) = (BTreeMap::new(), 0, 0, 0);
    for line in lines(&out) {
        match line["type"].as_str().unwrap() {
            "finding" => *by_rule.entry(line["rule"].clone().to_string()).or_insert(0) += 1,
            "session" => {
                sessions += 1;
                items += line["items"].as_i64().unwrap();
                calls += line["calls"].as_i64().unwrap();
            }
            _ => {}
        }
    }
    assert!(by_rule.len() > 5);
    let sql = "SELECT rule, count(*) AS found FROM findings GROUP BY rule";
    let found = rows(here, &[sql, "sessions"]).into_iter();
    let found = found.map(|row| (row["rule"].to_string(), row["found"].as_i64().unwrap()));
    assert_eq!(found.collect::<BTreeMap<_, _>>(), by_rule);
    let sql = "SELECT (SELECT count(*) FROM sessions) AS sessions, (SELECT count(*) FROM items) AS items,
        (SELECT count(*) FROM calls WHERE kind = 'call') AS calls, (SELECT sum(calls) FROM sessions) AS counted";
    let wanted = json!({"sessions": sessions, "items": items, "calls": calls, "counted": calls});
    assert_eq!(rows(here, &[sql, "sessions"]), [wanted]);
}

#[test]
fn findings_are_joined_with_the_calls_that_they_are_about() {
    let here = folder(&[("a.json", STORY), ("b.json", CLEAN), ("c.json", STORY)]);
    let sql = "SELECT f.path, f.rule, c.tool, c.status, c.arguments_bytes FROM findings f
        JOIN calls c ON c.path = f.path AND c.session = f.session AND c.item = f.item
        WHERE f.rule = 'unknown-tool' ORDER BY f.path";
    let row = |path: &str| json!({"path": path, "rule": "unknown-tool", "tool": "serch_flights", "status": "paired", "arguments_bytes": 13});
    let paths = ["a.json", "b.json", "c.json"];
    let words = [&[sql][..], &paths].concat();
    assert_eq!(rows(here.path(), &words), [row("a.json"), row("c.json")]);
    // Standard input can be read once: the join still has both of its tables.
    let output = super::retake()
        .args(["query", sql, "-", "--format", "json"])
        .write_stdin(STORY)
        .output()
        .unwrap();
    assert_eq!(
        lines(&String::from_utf8(output.stdout).unwrap()),
        [row("-")]
    );
}

#[test]
fn a_query_that_reads_its_rows_again_has_the_same_rows() {
    let here = folder(&[("a.json", STORY)]);
    let sql = "WITH RECURSIVE reached(item) AS (
            SELECT 1::BIGINT UNION ALL SELECT i.item + 1 FROM items i JOIN reached r ON i.item = r.item
        ) SELECT max(item) AS last FROM reached";
    assert_eq!(rows(here.path(), &[sql, "a.json"]), [json!({"last": 5})]);
}

#[test]
fn rows_are_printed_as_a_table_as_csv_or_as_json() {
    let here = folder(&[("a.json", STORY)]);
    let sql =
        "SELECT item, kind, tool, call_id = 'x,\"y' AS \"=odd\" FROM items ORDER BY item LIMIT 3";
    let (code, out, err) = told(here.path(), &["query", sql, "a.json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!(out, @r"
    item  kind    tool           =odd
       1  user    null           null
       2  call    serch_flights  false
       3  output  null           false
    ");
    let (code, out, err) = told(here.path(), &["query", sql, "a.json", "--format", "csv"]);
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!(out, @r"
    item,kind,tool,'=odd
    1,user,,
    2,call,serch_flights,false
    3,output,,false
    ");
    let words = ["query", sql, "a.json", "--format", "json"];
    let (_, out, _) = told(here.path(), &words);
    insta::assert_snapshot!(out, @r#"
    {"item":1,"kind":"user","tool":null,"=odd":null}
    {"item":2,"kind":"call","tool":"serch_flights","=odd":false}
    {"item":3,"kind":"output","tool":null,"=odd":false}
    "#);
    let sql = "SELECT i.item, c.item FROM items i JOIN calls c ON i.item = c.item";
    let (code, out, err) = told(here.path(), &["query", sql, "--format", "json"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("two columns are called item"), "{err}");
}

#[test]
fn what_a_recording_says_does_not_command_the_terminal() {
    let here = folder(&[(
        "a.json",
        &STORY.replace("serch_flights", "serch\\u001b[31m"),
    )]);
    let (_, out, _) = told(here.path(), &["query", "SELECT tool FROM calls", "a.json"]);
    assert!(out.contains("serch") && !out.contains('\u{1b}'), "{out:?}");
    let words = [
        "query",
        "SELECT tool FROM calls",
        "a.json",
        "--format",
        "csv",
    ];
    let (_, out, _) = told(here.path(), &words);
    assert!(out.contains("serch") && !out.contains('\u{1b}'), "{out:?}");
}

#[test]
fn what_is_wrong_with_a_query_is_said_with_its_place() {
    let here = folder(&[("a.json", STORY)]);
    for (sql, place, what) in [
        ("SELECT rule,\n  ruel FROM findings", "query:2:3: ", "ruel"),
        ("SELECT * FROM finding", "query:1:15: ", "finding"),
        ("SELEC 1", "query: ", "Line: 1, Column: 1"),
        (
            "SELECT no_such_function(rule) FROM findings",
            "query:1:8: ",
            "no_such_function",
        ),
    ] {
        let (code, out, err) = told(here.path(), &["query", sql, "a.json"]);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.starts_with(&format!("retake: {place}")), "{err}");
        assert!(err.contains(what), "{err}");
        assert!(err.contains("hint: `retake help query`"), "{err}");
    }
    assert!(told(here.path(), &["help", "query"]).1.contains("findings"));
}

#[test]
fn sql_reads_no_other_files_and_writes_none() {
    let here = folder(&[("a.json", STORY), ("other.csv", "a,b\n1,2\n")]);
    for sql in [
        "CREATE EXTERNAL TABLE other STORED AS CSV LOCATION 'other.csv'",
        "CREATE TABLE other AS SELECT * FROM findings",
        "COPY findings TO 'findings.csv'",
        "SELECT * FROM 'other.csv'",
        "INSERT INTO findings SELECT * FROM findings",
        "SET datafusion.execution.batch_size = 1",
    ] {
        let (code, out, err) = told(here.path(), &["query", sql, "a.json"]);
        assert_eq!((code, out.as_str()), (2, ""), "{sql}: {err}");
    }
    assert!(!here.path().join("findings.csv").exists());
}

#[test]
fn what_cannot_be_read_decides_the_exit_code_as_that_of_check() {
    let broken = "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\n{\"role\":\"user\",\"content\":\"b\"}\n";
    let here = folder(&[
        ("a.json", STORY),
        ("part.jsonl", broken),
        ("other.json", "{}"),
        ("runs/a.json", STORY),
        ("runs/package.toml", "x"),
    ]);
    let count = "SELECT count(*) AS n FROM findings WHERE rule = 'unknown-tool'";
    for paths in [
        &["a.json", "missing.json"][..],
        &["a.json", "other.json"],
        &["part.jsonl"],
        &["missing.json"],
        &["runs"],
    ] {
        let words = [&["check", "--fail-on", "never"][..], paths].concat();
        let (wanted, _, of_check) = told(here.path(), &words);
        let words = [&["query", count, "--format", "csv"][..], paths].concat();
        let (code, out, err) = told(here.path(), &words);
        assert_eq!((code, &err), (wanted, &of_check), "{paths:?}");
        // A count of nothing would look like a clean one.
        let wanted = match code {
            2 => "",
            _ if paths[0] == "part.jsonl" => "n\n0\n",
            _ => "n\n1\n",
        };
        assert_eq!(out, wanted, "{paths:?}");
    }
    // What a query does not need is not read.
    let words = [
        "query",
        "DESCRIBE findings",
        "missing.json",
        "--format",
        "csv",
    ];
    let (code, out, err) = told(here.path(), &words);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("rule,Utf8,NO"), "{out}");
}
