//! Session databases that are small and want much: memory and time stay in bounds, and what is left out is told.

use rusqlite::Connection;
use std::path::Path;
use std::time::Duration;

const SCHEMA: &str = "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT);
    CREATE TABLE message_structure (id INTEGER PRIMARY KEY, session_id TEXT, message_id, branch_id TEXT);";

/// `check` with at most four gigabytes of addresses, and with an end.
fn checked(path: &Path) -> (Option<i32>, String) {
    let script = format!(
        "ulimit -v 4000000; exec {} check --format json {}",
        env!("CARGO_BIN_EXE_retake"),
        path.display()
    );
    let output = assert_cmd::Command::new("sh")
        .args(["-c", &script])
        .timeout(Duration::from_secs(240))
        .output()
        .unwrap();
    let told = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(told).unwrap())
}

#[test]
fn branches_that_repeat_a_long_message_do_not_multiply_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.db");
    let database = Connection::open(&path).unwrap();
    database.execute_batch(SCHEMA).unwrap();
    let long = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(1_000_000));
    database
        .execute("INSERT INTO agent_messages VALUES (1, 'a', ?1)", [long])
        .unwrap();
    database
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5999)
             INSERT INTO message_structure (session_id, message_id, branch_id) SELECT 'a', 1, 'b' || i FROM n;",
        )
        .unwrap();
    let (code, told) = checked(&path);
    // Some branches are read; that the others are not is told.
    assert_eq!(code, Some(3), "{told}");
    assert!(
        told.contains("a, branch b0") && told.contains("not read"),
        "{told}"
    );
}

#[test]
fn ids_of_any_type_and_many_sessions_take_no_time_that_grows_with_their_square() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.db");
    let database = Connection::open(&path).unwrap();
    database.execute_batch(SCHEMA).unwrap();
    database
        .execute_batch(
            r#"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
               INSERT INTO agent_messages SELECT i, 's' || (i % 4000), '{"role":"user","content":"x"}' FROM n;
             WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 39999)
               INSERT INTO message_structure (session_id, message_id, branch_id) SELECT 's' || (i % 4000), CAST(i AS TEXT), 'main' FROM n;"#,
        )
        .unwrap();
    let (code, told) = checked(&path);
    assert_eq!(code, Some(0), "{}", &told[..told.len().min(2000)]);
    assert_eq!(
        told.lines()
            .filter(|line| line.contains(r#""items":10"#))
            .count(),
        4000
    );
}
