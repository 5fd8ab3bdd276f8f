//! Replacing a file when the process dies in the middle (D10 of `hostile/faults.json`).

use retake_live::replace::{Backup, replace};
use std::env;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Tells the child which file it replaces.
const FILE: &str = "RETAKE_TEST_REPLACE";
/// How many lines a file has.
const LINES: usize = 20_000;

/// Not a test of its own: replaces a file until it is killed.
#[test]
#[ignore = "the child of another test"]
fn child_that_replaces_a_file() {
    let Some(path) = env::var_os(FILE) else {
        return;
    };
    for number in 1_u32.. {
        let written = replace(Path::new(&path), Backup::None, |file| {
            (0..LINES).try_for_each(|_| writeln!(file, "{number}"))
        });
        written.unwrap();
    }
}

#[test]
fn a_kill_at_any_moment_leaves_the_old_file_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    fs::write(&path, "0\n".repeat(LINES)).unwrap();
    let rounds = if env::var_os("RETAKE_LONG").is_some() {
        1000
    } else {
        20
    };
    let mut replaced = false;
    for round in 0..rounds {
        let before = fs::read(&path).unwrap();
        let mut child = Command::new(env::current_exe().unwrap())
            .args([
                "replace::child_that_replaces_a_file",
                "--exact",
                "--ignored",
            ])
            .env(FILE, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Half of the children are killed in their first replacement, the others in a later one.
        let patience = Instant::now() + Duration::from_secs(10);
        while round % 2 == 0 && fs::read(&path).unwrap() == before && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(round * 977 % 20_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap();
        assert_eq!(text.lines().count(), LINES, "round {round}");
        assert!(text.lines().all(|line| line == first), "round {round}");
        replaced |= first != "0";
    }
    assert!(replaced);
}
