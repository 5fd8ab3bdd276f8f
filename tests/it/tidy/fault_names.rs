//! The faults that a proxy meets have numbers (A1 to A28 of upstreams, B1 to B16 of clients, C1 to C16 of attackers), and each has a test
//! that is named after it.

use regex::Regex;
use std::collections::BTreeSet;
use std::path::Path;

/// The groups of faults, and how many each has.
const FAULTS: &[(char, u32)] = &[('a', 28), ('b', 16), ('c', 16)];

/// The faults that a test is named after: `a07_a08_...` is two, `c01_to_c06_...` is six.
fn named(name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut until = None;
    let words: Vec<&str> = name.split('_').collect();
    for (place, word) in words.iter().enumerate() {
        let number = |word: &str| {
            let (group, number) = word.split_at_checked(1)?;
            let is_fault =
                number.len() == 2 && FAULTS.iter().any(|(one, _)| group.starts_with(*one));
            Some((group.to_owned(), number.parse::<u32>().ok()?)).filter(|_| is_fault)
        };
        match number(word) {
            Some((group, last)) => {
                let first = until.take().unwrap_or(last);
                found.extend((first..=last).map(|number| format!("{group}{number:02}")));
                if words.get(place + 1) == Some(&"to") {
                    until = Some(last);
                }
            }
            None if *word == "to" && until.is_some() => {}
            // What else the name says is not a number of ours (`u018`), or the story begins.
            None if word.starts_with('u') && word[1..].parse::<u32>().is_ok() => {}
            None => break,
        }
    }
    found
}

/// The faults after which the tests of a text are named; of Python its stories count.
fn in_text(text: &str, is_rust: bool) -> BTreeSet<String> {
    let test = match is_rust {
        true => {
            r"#\[(?:tokio::)?test[^\]]*\]\s*(?:#\[[^\n]*\]\s*)*(?:async )?fn ([abc][0-9]{2}_\w+)"
        }
        false => r"(?m)^def ([abc][0-9]{2}_\w+)\(bench\)",
    };
    let tests = Regex::new(test).unwrap();
    let names = tests.captures_iter(text).map(|found| named(&found[1]));
    names.flatten().collect()
}

fn in_folder(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let ends = |end: &str| path.extension().is_some_and(|known| known == end);
        if path.is_dir() && !path.ends_with("node_modules") {
            in_folder(&path, found);
        } else if ends("rs") || ends("py") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.extend(in_text(&text, ends("rs")));
        }
    }
}

#[test]
fn every_fault_has_a_test_that_is_named_after_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    for folder in ["src", "tests"] {
        in_folder(&root.join(folder), &mut found);
    }
    let all = FAULTS
        .iter()
        .flat_map(|(group, count)| (1..=*count).map(move |number| format!("{group}{number:02}")));
    let lacking: Vec<String> = all.filter(|fault| !found.contains(fault)).collect();
    assert!(lacking.is_empty(), "no test is named after {lacking:?}");
}

#[test]
fn names_of_tests_are_read_and_those_of_other_functions_are_not() {
    let text = "#[test]\nfn a07_u018_a09_one() {}\n#[tokio::test]\n#[ignore = \"x\"]\nasync fn c01_to_c03_a20_s() {}\nfn b01_none() {}\n";
    let found = in_text(text, true).into_iter().collect::<Vec<_>>();
    assert_eq!(found, ["a07", "a09", "a20", "c01", "c02", "c03"]);
    let stories = "def b16_two(bench):\n    pass\ndef b15_no(other):\n    pass\n";
    assert_eq!(in_text(stories, false).len(), 1);
}
