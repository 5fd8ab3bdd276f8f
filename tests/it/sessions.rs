//! The bundled sessions: each is read in its format, and check finds what its story says, no less and no more.

use retake_core::rules::Finding;
use retake_core::session::Session;
use retake_core::wire::tools::read_tools;
use retake_live::{ReadOptions, Recording, check_recording, read_path};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads a bundled session with its tools and checks it.
fn examine(name: &str, tools: Option<&str>) -> (Recording, Vec<Vec<Finding>>) {
    let folder = Path::new("sessions");
    let mut recording = read_path(&folder.join(name), &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    if let Some(tools) = tools {
        let text = std::fs::read(folder.join(tools)).unwrap();
        let (tools, complaints) = read_tools(&serde_json::from_slice(&text).unwrap());
        assert!(complaints.is_empty(), "{name}: {complaints:?}");
        recording.sessions.iter_mut().for_each(|session| {
            session.contract.supplement(Some(&tools), None, None);
        });
    }
    let findings = check_recording(&recording, None).unwrap();
    (recording, findings)
}

/// What a finding must be, in the words of truth.json.
fn told(session: &Session, finding: &Finding, wanted: &Value) -> BTreeMap<&'static str, Value> {
    let item = finding.item.map(|item| &session.items[item as usize]);
    let mut told = BTreeMap::from([("rule", finding.rule.id.into())]);
    let mut tell = |key: &'static str, value: Option<Value>| {
        if wanted.get(key).is_some() {
            told.insert(key, value.unwrap_or(Value::Null));
        }
    };
    tell("tool", finding.tool(session).map(Value::from));
    tell(
        "call_id",
        item.map(|item| session.call_id(item).unwrap().into()),
    );
    tell("cause", finding.cause.map(|cause| cause.words().into()));
    tell("severity", Some(finding.severity.word().into()));
    tell(
        "suggestion",
        finding
            .get("nearest")
            .map(|nearest| nearest.split(", ").next().into()),
    );
    let pointers = || {
        let violations = finding.get("violations")?;
        Some(
            violations
                .lines()
                .map(|line| line.split(": ").next().unwrap_or_default())
                .collect::<Vec<_>>()
                .into(),
        )
    };
    tell("pointers", pointers());
    told
}

#[test]
fn every_bundled_session_is_what_its_story_says() {
    let truth: BTreeMap<String, Value> =
        serde_json::from_slice(&std::fs::read("sessions/truth.json").unwrap()).unwrap();
    assert!(truth.len() >= 12);
    for (name, story) in &truth {
        let (recording, findings) = examine(name, story["tools"].as_str());
        assert_eq!(recording.format.id, story["format"], "{name}");
        let sessions = story["sessions"].as_array().unwrap();
        let active = recording
            .sessions
            .iter()
            .zip(findings)
            .filter(|(session, _)| session.active)
            .collect::<Vec<_>>();
        assert_eq!(active.len(), sessions.len(), "{name}");
        for ((session, findings), wanted) in active.iter().zip(sessions) {
            let wanted = wanted["findings"].as_array().unwrap();
            let messages = findings
                .iter()
                .map(|finding| format!("{finding:?}"))
                .collect::<Vec<_>>()
                .join("\n");
            assert_eq!(findings.len(), wanted.len(), "{name}:\n{messages}");
            for wanted in wanted {
                let keys: BTreeMap<&str, Value> = wanted
                    .as_object()
                    .unwrap()
                    .iter()
                    .map(|(key, value)| (key.as_str(), value.clone()))
                    .collect();
                let found = findings
                    .iter()
                    .any(|finding| told(session, finding, wanted) == keys);
                assert!(found, "{name}: {wanted} is not among\n{messages}");
            }
        }
    }
}

#[test]
fn every_file_of_the_folder_has_its_story() {
    let truth: BTreeMap<String, Value> =
        serde_json::from_slice(&std::fs::read("sessions/truth.json").unwrap()).unwrap();
    for entry in std::fs::read_dir("sessions").unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_aside = name.starts_with('.')
            || name == "README.md"
            || name == "truth.json"
            || name == "agents"
            || name == "lab"
            || name.ends_with(".tools.json");
        assert!(
            is_aside || truth.contains_key(&name),
            "{name} is in no story"
        );
    }
}
