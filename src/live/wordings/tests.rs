//! Stories of wordings that operators write.

use super::*;
use std::fs;
use tempfile::TempDir;

struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
        }
    }

    fn file(&self, origin: WordingOrigin) -> WordingFile {
        let name = if origin == WordingOrigin::Config {
            "config.toml"
        } else {
            "project.toml"
        };
        let path = self.folder.path().join(name);
        WordingFile { path, origin }
    }

    fn with(self, origin: WordingOrigin, text: impl AsRef<[u8]>) -> Self {
        fs::write(self.file(origin).path, text).unwrap();
        self
    }

    fn read(&self) -> Wordings {
        Wordings::read(&[
            self.file(WordingOrigin::Config),
            self.file(WordingOrigin::Project),
        ])
    }

    /// The faults, without the folder.
    fn faults(&self) -> String {
        let folder = format!("{}/", self.folder.path().display());
        let faults = self.read().faults;
        let faults = faults
            .iter()
            .map(|fault| fault.to_string().replace(&folder, ""));
        faults.collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn without_files_there_is_the_library() {
    let desk = Desk::new();
    let wordings = desk.read();
    assert_eq!(wordings.faults, []);
    let names = |choices: Vec<WordingChoice<'_>>| {
        let names = choices.iter().map(|choice| choice.name.to_owned());
        names.collect::<Vec<_>>()
    };
    let library = wording::library(FailureKind::UnknownTool).map(|wording| wording.name.to_owned());
    assert_eq!(
        names(wordings.of(FailureKind::UnknownTool)),
        library.collect::<Vec<_>>()
    );
}

#[test]
fn the_project_wins_over_the_config_folder_and_both_over_the_library() {
    let config = "[bare]\ntemplate = 'config'\n[mine]\ntitle = 'My own'\ntemplate = 'mine'\n";
    let project = "[bare]\nkinds = ['unknown-tool']\ntemplate = '''\nproject\n'''\n";
    let desk = Desk::new()
        .with(WordingOrigin::Config, config)
        .with(WordingOrigin::Project, project);
    let wordings = desk.read();
    assert_eq!(wordings.faults, []);
    let found = |kind, name: &str| {
        let choice = wordings.find(kind, name).unwrap();
        (choice.template.to_owned(), choice.origin)
    };
    assert_eq!(
        found(FailureKind::UnknownTool, "bare"),
        ("project\n".to_owned(), WordingOrigin::Project)
    );
    assert_eq!(
        found(FailureKind::ToolError, "bare"),
        ("config".to_owned(), WordingOrigin::Config)
    );
    assert_eq!(
        found(FailureKind::ToolError, "reason").1,
        WordingOrigin::Library
    );
    let choices = wordings.of(FailureKind::UnknownTool);
    let first = choices
        .iter()
        .take(2)
        .map(|choice| (choice.name, choice.title));
    assert_eq!(
        first.collect::<Vec<_>>(),
        [("bare", "bare"), ("mine", "My own")]
    );
    assert_eq!(
        choices
            .iter()
            .filter(|choice| choice.name == "bare")
            .count(),
        1
    );
}

#[test]
fn what_cannot_be_used_costs_itself_and_is_told_with_its_line() {
    let text = r#"
stray = 1
[good]
template = "{{ tool }}"
colour = "red"

[typo]
template = """
one
{{ tol }}"""
[nothing]
title = "no template"
[number]
template = 5
[kind]
kinds = ["unknown-tool", "sundry"]
template = "x"
[set]
template = "{% set x = 1 %}"
["a\nb"]
template = "x"
[title]
title = 7
template = "still usable"
"#;
    let desk = Desk::new().with(WordingOrigin::Project, text);
    insta::assert_snapshot!(desk.faults(), @r#"
    project.toml:2: `stray` is not a wording: write `[stray]` and `template = "..."` below it
    project.toml:5: `colour` is not known in a wording; there are template, kinds, title
    project.toml:10: the template, line 2: unknown name `tol`; available: tool, tools, nearest, arguments, error, violations, call_id, schema, agent, error_class, suggestion, recoverable
    project.toml:11: a wording has no `template`
    project.toml:14: `template` is a template, not 5
    project.toml:16: each of `kinds` is a kind of failure, not "sundry"; there are unknown-tool, malformed-arguments, invalid-arguments, missing-output, tool-error, repeated-call, leaked-call, cut-off, invalid-final-output, missing-final-output
    project.toml:19: the template, line 1: `set` is not for wordings; there are `if`, `elif`, `else`, `endif`, `for`, `endfor` and `raw`
    project.toml:20: a name has 1 to 100 characters on one line
    project.toml:23: `title` is a text, not 7
    "#);
    let wordings = desk.read();
    let usable = wordings.of(FailureKind::UnknownTool);
    let usable = usable
        .iter()
        .filter(|choice| choice.origin == WordingOrigin::Project);
    let usable = usable.map(|choice| choice.name).collect::<Vec<_>>();
    assert_eq!(usable, ["good", "title"]);
}

#[test]
fn a_broken_line_leaves_the_rest() {
    let desk = Desk::new().with(
        WordingOrigin::Config,
        "[a]\ntemplate = 'x'\n[b]\ntemplate = = 'y'\n[c]\ntemplate = 'z'\n",
    );
    insta::assert_snapshot!(desk.faults(), @r"
    config.toml:4: extra `=`, expected nothing
    config.toml:4: unexpected key or value, expected newline, `#`
    ");
    let wordings = desk.read();
    assert!(wordings.find(FailureKind::CutOff, "a").is_some());
    assert!(wordings.find(FailureKind::CutOff, "c").is_some());
}

#[test]
fn files_that_are_none_are_told() {
    let desk = Desk::new().with(WordingOrigin::Project, b"[a]\ntemplate = '\xff'\n");
    assert_eq!(desk.faults(), "project.toml: this is not UTF-8");
    let desk = Desk::new().with(WordingOrigin::Project, vec![b'#'; 1024 * 1024 + 1]);
    assert_eq!(desk.faults(), "project.toml: more than 1024 KB");
    let desk = Desk::new();
    fs::create_dir(desk.file(WordingOrigin::Config).path).unwrap();
    assert_eq!(desk.faults(), "config.toml: not a file");
    let many = (0..600).map(|number| format!("[w{number}]\ntemplate = 'x'\n"));
    let desk = Desk::new().with(WordingOrigin::Config, many.collect::<String>());
    assert_eq!(
        desk.faults(),
        "config.toml:1001: more than 500 wordings; the rest is left out"
    );
    let bad = (0..100).map(|number| format!("w{number} = 1\n"));
    let desk = Desk::new().with(WordingOrigin::Config, bad.collect::<String>());
    let faults = desk.read().faults;
    assert_eq!(
        (faults.len(), faults[50].message.as_str()),
        (51, "and 50 more")
    );
}
