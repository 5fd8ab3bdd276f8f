//! The journal of a run that is over, read by every other command.

use super::{Stage, Told, bundled};

const POLICY: &str = r#"
[on.unknown-tool]
do = "inject"
wording = "nearest"
times = 2
[on.malformed-arguments]
do = "inject"
times = 2
[on.invalid-arguments]
do = "inject"
times = 3
[on.invalid-final-output]
do = "retry"
wording = "violations"
times = 2
"#;

fn ended(stage: &Stage, name: &str) -> Told {
    let told = stage.run_by(&bundled(name), POLICY);
    assert_eq!(
        (told.code, told.how()),
        (0, "final"),
        "{name}: {}{}",
        told.out,
        told.err
    );
    told
}

#[test]
fn every_command_reads_the_journal_of_a_run_that_ended_well() {
    for name in ["flights", "parallel", "broken-json", "final"] {
        let stage = Stage::new();
        let told = ended(&stage, name);
        let journal = told.journal();
        let path = journal.to_str().unwrap();
        let before = std::fs::read(&journal).unwrap();
        let (code, out, err) = stage.told(&["check", path]);
        assert!(code <= 1 && err.is_empty(), "{name}: {out}{err}");
        let (code, out, err) = stage.told(&["show", path]);
        assert!(code <= 1, "{name}: {err}");
        let last = told.output().lines().last().unwrap();
        // JSON is laid out over lines: its longest word says as much.
        let words = last.split(|letter: char| !letter.is_alphanumeric());
        let last = words.max_by_key(|word| word.len()).unwrap();
        assert!(
            last.len() > 3 && out.contains(last),
            "{name}: {last} in {out}"
        );
        let (code, out, err) = stage.told(&["health", path]);
        assert!(
            code <= 1 && (name == "final" || out.contains("flights")),
            "{name}: {out}{err}"
        );
        let fixed = stage.path("fixed.json");
        let (code, _, err) = stage.told(&["fix", path, "-o", fixed.to_str().unwrap()]);
        assert!(code <= 1, "{name}: {err}");
        for to in ["responses", "chat", "anthropic"] {
            let words = ["convert", path, "--to", to, "--request"];
            let (code, out, err) = stage.told(&words);
            assert!(code <= 1, "{name} as {to}: {err}");
            let request = stage.write(&format!("{to}.json"), &out);
            let words = ["check", request.to_str().unwrap(), "--format", "json"];
            let (_, out, err) = stage.told(&words);
            let errors = out.lines().filter(|line| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                // What the model did wrong on the way stays in its history; it was answered.
                let is_answered = ["unknown-tool", "malformed-arguments", "invalid-arguments"];
                line["type"] == "finding"
                    && line["severity"] == "error"
                    && !is_answered.contains(&line["rule"].as_str().unwrap())
            });
            assert_eq!(errors.count(), 0, "{name} as {to}: {out}{err}");
        }
        assert_eq!(
            std::fs::read(&journal).unwrap(),
            before,
            "reading writes nothing"
        );
    }
}
