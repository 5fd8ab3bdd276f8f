//! `fix` says what `check` says of the file that it wrote, and a second `fix` finds nothing more to do: for the bundled sessions, for inputs that
//! once made it go on for ever, and for damaged copies of all of them.

use super::told;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Inputs that were made worse, with the journal of a hold among them.
const REPRODUCED: &str = "tests/it/hostile/repro";

fn inputs() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<PathBuf> = ["sessions", REPRODUCED]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.to_string_lossy();
            path.is_file()
                && [".json", ".jsonl", ".sse", ".db"]
                    .iter()
                    .any(|end| name.ends_with(end))
        })
        .collect();
    files.sort();
    let read = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read(path).unwrap())
    };
    files.iter().map(read).collect()
}

/// Copies with a piece missing, a line twice or in another place, a byte that is no UTF-8, a control character, an escape that is none.
fn damaged(bytes: &[u8]) -> Vec<Vec<u8>> {
    let at = |share: usize| bytes.len() * share / 10;
    let without = |from: usize, length: usize| {
        [&bytes[..from], &bytes[(from + length).min(bytes.len())..]].concat()
    };
    let with = |at: usize, piece: &[u8]| [&bytes[..at], piece, &bytes[at..]].concat();
    let quote = |share: usize| {
        let from = at(share);
        let colon = bytes[from..]
            .windows(3)
            .position(|three| three == b":\"c" || three == b": \"");
        from + colon.map_or(0, |place| place + 3)
    };
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let (middle, last) = (lines.len() / 2, lines.len() - 1);
    let mut swapped = lines.clone();
    swapped.swap(middle, last);
    let mut twice = lines.clone();
    twice.insert(middle, lines[middle]);
    let mut missing = lines.clone();
    missing.remove(middle);
    vec![
        bytes[..at(6)].to_vec(),
        without(at(4), 40),
        without(at(7), 3),
        with(quote(3), b"\xff"),
        with(quote(5), b"\x1b[31m"),
        with(quote(7), b"\\x41"),
        swapped.concat(),
        twice.concat(),
        missing.concat(),
    ]
}

/// The errors that `fix` says are left.
fn errors_told(err: &str) -> usize {
    let line = err
        .lines()
        .find(|line| line.contains(" applied, "))
        .unwrap_or_else(|| panic!("{err}"));
    let left = line.split(" applied, ").nth(1).unwrap();
    left.split(' ').next().unwrap().parse().unwrap()
}

/// Exit code of `check`, and the errors that it names.
fn checked(folder: &Path, name: &str) -> (i32, usize) {
    let (code, out, _) = told(folder, &["check", "--format", "json", name]);
    let lines = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let errors = lines.filter(|line| line["type"] == "finding" && line["severity"] == "error");
    (code, errors.count())
}

fn agrees(label: &str, name: &str, bytes: &[u8]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let ending = name.rsplit('.').next().unwrap();
    let [input, output, again] = ["in", "out", "again"].map(|stem| format!("{stem}.{ending}"));
    fs::write(path.join(&input), bytes).unwrap();
    let (code, _, err) = told(path, &["fix", &input, "-o", &output]);
    if code == 2 {
        // What is not a recording, or one that no changed session can be written in.
        return false;
    }
    let (seen, errors) = checked(path, &output);
    assert_eq!(errors_told(&err), errors, "{label}: {err}");
    // Lines of a journal that could not be read are not in the history that is written of it.
    let lost_lines = name.starts_with("hold-journal") && code == 3 && seen == 0;
    assert!(code == seen || lost_lines, "{label}: {code}, {seen}: {err}");
    let (_, before) = checked(path, &input);
    // What no parser took may have hidden something.
    assert!(
        errors <= before || err.contains("spelled as JSON allows"),
        "{label}: {before} errors became {errors}: {err}"
    );
    let (second, _, err) = told(path, &["fix", &output, "-o", &again]);
    assert_eq!(second, seen, "{label}, again: {err}");
    assert!(err.contains("0 actions applied"), "{label}, again: {err}");
    if ending != "db" {
        let [output, again] = [&output, &again].map(|name| fs::read(path.join(name)).unwrap());
        assert!(
            output == again,
            "{label}: {}",
            String::from_utf8_lossy(&again)
        );
    }
    true
}

#[test]
fn what_fix_says_is_what_check_says_of_the_file_and_twice_is_once() {
    let inputs = inputs();
    assert!(inputs.len() > 20);
    let agreed = inputs
        .iter()
        .filter(|(name, bytes)| agrees(name, name, bytes));
    assert!(agreed.count() > 20);
}

#[test]
fn damage_changes_nothing_about_that() {
    let inputs = inputs();
    let texts = inputs
        .iter()
        .filter(|(name, bytes)| !name.ends_with(".db") && bytes.len() < 20_000);
    let cases: Vec<(String, &str, Vec<u8>)> = texts
        .flat_map(|(name, bytes)| {
            let damaged = damaged(bytes).into_iter().enumerate();
            damaged.map(move |(number, bytes)| {
                (format!("{name}, damage {number}"), name.as_str(), bytes)
            })
        })
        .collect();
    let agreed = cases
        .iter()
        .filter(|(label, name, bytes)| agrees(label, name, bytes));
    assert!(agreed.count() > 50);
}
