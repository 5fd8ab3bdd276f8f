//! `skill`: every command that it names is one that retake has.

use super::{STORY, folder, told};
use clap::Parser;
use retake_app::cli::Arguments;

#[test]
fn every_command_of_the_skill_is_understood() {
    let here = folder(&[]);
    let (code, skill, err) = told(here.path(), &["skill"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        skill.starts_with("---\nname: retake\ndescription: "),
        "{skill}"
    );
    let commands: Vec<_> = skill
        .lines()
        .filter(|line| line.starts_with("retake "))
        .collect();
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        // Words in quotes are one word of the shell.
        let mut words = Vec::new();
        for (number, part) in command.split('\'').enumerate() {
            match number % 2 {
                0 => words.extend(part.split_whitespace()),
                _ => words.push(part),
            }
        }
        let parsed = Arguments::try_parse_from(&words);
        assert!(parsed.is_ok(), "{command}: {}", parsed.unwrap_err());
    }
}

#[test]
fn what_the_skill_says_of_check_and_fix_is_so() {
    let here = folder(&[("run.json", STORY)]);
    let recovery = [
        "fix",
        "run.json",
        "--item",
        "2",
        "--action",
        "inject-error",
        "--words",
        "There is no tool {{ tool }}.",
        "-o",
        "fixed.json",
    ];
    told(here.path(), &recovery);
    let fixed = std::fs::read_to_string(here.path().join("fixed.json")).unwrap();
    assert!(fixed.contains("There is no tool serch_flights."), "{fixed}");
    let (_, lines, _) = told(here.path(), &["skill", "agents-md"]);
    assert!(lines.starts_with("## Debugging agent runs"), "{lines}");
}
