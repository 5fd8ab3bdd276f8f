//! Files checked against a table of keys.

use super::*;

keys! {
    static TOOL = "[[tool]]" {
        name [required]: Text, "its name";
        command: TEXTS, "a program";
        ask: True, "somebody answers";
        cwd: AnyText, "a folder";
    }
    rules [
        AtMostOne(&["command", "ask"]),
        AtLeastOne(&["command", "ask"]),
        Needs(&["cwd"], &["command"]),
        Unique("name"),
        AtMost(4),
    ]
}

keys! {
    static FILE = "the file" {
        title [required]: CheckedText(no_spaces), "a title";
        mood: Word(None, || vec!["calm", "eager"]), "a word", or "\"calm\"";
        wait: Duration(1), "a time", or "\"5s\"";
        count: COUNT, "a number";
        rate: Rate, "a share";
        settings: JsonTable, "anything";
        texts: Either(&[Text, TEXTS]), "texts";
        tool: Tables(&TOOL), "tools";
        limits: Named(&TOOL), "tools by name";
    }
}

fn no_spaces(text: &str) -> Result<(), String> {
    match text.contains(' ') {
        true => Err("has a space in it".to_owned()),
        false => Ok(()),
    }
}

fn errors(text: &str) -> String {
    let read = read(text, 10_000, &FILE, |_, _| Some(()));
    read.unwrap_err().to_string()
}

#[test]
fn every_error_of_a_file_is_reported_at_once_with_its_line() {
    insta::assert_snapshot!(errors(
        r#"title = "two words"
mod = "calm"
mood = "eagre"
wait = "0s"
count = 0
rate = 2
settings = { a = [nan], b = 1979-05-27 }
texts = ["a", ""]
[[tool]]
name = "a"
[[tool]]
name = "a"
cwd = ""
ask = false
[[tool]]
command = []
ask = true
[limits.x]
name = 3
ask = true
"#
    ));
}

#[test]
fn what_is_missing_is_not_reported_where_the_syntax_is_broken() {
    insta::assert_snapshot!(errors("[[tool]]\nnmae = \"x\"\ncount = \n"));
}

#[test]
fn lists_and_files_have_limits_and_a_flood_of_errors_is_counted() {
    let many = format!("title = \"t\"\n{}", "[[tool]]\nask = true\n".repeat(5));
    assert!(errors(&many).ends_with("line 10: more than 4 tables [[tool]]"));
    assert_eq!(errors(&"#".repeat(10_001)), "line 1: more than 9 KB");
    let flood: String = (0..1_500).map(|number| format!("k{number}=1\n")).collect();
    let flood = read(&flood, 100_000, &FILE, |_, _| Some(())).unwrap_err();
    assert_eq!((flood.errors.len(), flood.more), (50, 1_501 - 50));
    assert!(flood.in_file("a.toml").ends_with("\na.toml: and 1451 more"));
}

#[test]
fn keys_to_apis_are_never_quoted() {
    let told = errors("title = \"t\"\nwait = \"sk-abcdefghijklmnopqrstuvwx\"\n");
    assert!(told.ends_with("at most a day, not this text"), "{told}");
}

#[test]
fn values_are_read_with_serde() {
    let text = "title = \"t\"\nwait = \"2m\"\ncount = 1_000\nrate = 0.000_5\nlimits.x = { name = \"n\", ask = true }\n";
    let values = read(text, 10_000, &FILE, |file, _| {
        let limits = file.table("limits")?.table("x")?.get::<String>("name");
        Some((file.millis("wait"), file.get::<u32>("count"), limits))
    });
    let expected = (Some(120_000), Some(1_000), Some("n".to_owned()));
    assert_eq!(values.unwrap(), expected);
}

#[test]
fn durations_are_whole_numbers_with_a_unit() {
    let read = ["500ms", "30s", "2m", "1h", "24h", "0s"].map(duration);
    let millis = [500, 30_000, 120_000, 3_600_000, 86_400_000, 0].map(Some);
    assert_eq!(read, millis);
    for wrong in [
        "",
        "30",
        "s",
        "1.5s",
        "-1s",
        "25h",
        "1 s",
        "99999999999999999999s",
        "1d",
    ] {
        assert_eq!(duration(wrong), None, "{wrong}");
    }
}

#[test]
fn the_help_is_written_from_the_keys() {
    insta::assert_snapshot!(FILE.markdown());
}
