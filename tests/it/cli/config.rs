//! `config`: what holds, where it came from, and what is wrong with a file of settings.

use super::{CLEAN, STORY, folder, told};

#[test]
fn what_holds_is_printed_with_the_line_that_says_so() {
    let here = folder(&[(
        "mine.toml",
        "theme = \"dark\"\n[keys.find]\nmark = \"m backspace\"\n",
    )]);
    let (code, out, err) = told(here.path(), &["config", "--config", "mine.toml"]);
    assert_eq!((code, &*err), (0, ""));
    for (value, from) in [
        ("# read from mine.toml", "mine.toml"),
        ("theme = \"dark\"", "# line 1"),
        ("mark = \"m backspace\"", "# line 3"),
        ("view = \"flow\"", "# default"),
    ] {
        let line = out.lines().find(|line| line.starts_with(value)).unwrap();
        assert!(line.ends_with(from), "{line}");
    }
}

#[test]
fn all_faults_are_told_at_once_by_config() {
    let here = folder(&[
        (
            "mine.toml",
            "them = \"dark\"\n[keys.find]\nmark = \"ctl-m\"\n",
        ),
        ("two.toml", "[keys.find]\nmark = \"zz top\"\n"),
        ("story.json", STORY),
    ]);
    let (_, _, err) = told(here.path(), &["--config", "two.toml", "config"]);
    assert!(
        err.contains("two.toml:2: `zz` and `top` are not keys: "),
        "{err}"
    );
    let (code, out, err) = told(here.path(), &["config", "--config", "mine.toml"]);
    assert_eq!((code, &*out), (2, ""));
    assert!(err.contains("mine.toml:1: `them` is not known"), "{err}");
    assert!(err.contains("mine.toml:3: `ctl-m` is not a key"), "{err}");
    assert!(err.contains("--config /dev/null"), "{err}");
    let (code, _, err) = told(here.path(), &["config", "--config", "none.toml"]);
    assert_eq!(code, 2);
    assert!(err.contains("none.toml: No such file"), "{err}");
}

#[test]
fn a_fault_stops_no_command_without_a_screen() {
    let here = folder(&[("mine.toml", "theme = 7\n"), ("clean.json", CLEAN)]);
    for arguments in [&["show", "clean.json"][..], &["usage", "clean.json"]] {
        let mut command = super::retake();
        let command = command.current_dir(here.path()).args(arguments);
        let output = command.env("RETAKE_CONFIG", "mine.toml").output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{err}");
        assert!(err.contains("mine.toml:1: `theme` is \"auto\", "), "{err}");
        assert!(!output.stdout.is_empty());
    }
}
