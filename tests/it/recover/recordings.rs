//! The recordings on which actions are tried.

use super::stories::TOLD;
use retake_core::session::{Dialect, OutputSchema, Tool};
use retake_core::wire::tools::read_tools;
use retake_live::{ReadOptions, Recording, read_path};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One recording with what is known beside it.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) path: Option<PathBuf>,
    pub(crate) recording: Arc<Recording>,
    pub(crate) target: Option<Dialect>,
    /// A final message that fits the run.
    pub(crate) fallback: Option<String>,
    tools: Option<Vec<Tool>>,
    output_schema: Option<OutputSchema>,
    /// Holds the file that the case was written to.
    _folder: Option<Arc<tempfile::TempDir>>,
}

impl Case {
    fn open(path: &Path, tools: Option<Vec<Tool>>) -> Option<Self> {
        Self::open_as(path, None, tools, None)
    }

    fn open_as(
        path: &Path,
        format: Option<&str>,
        tools: Option<Vec<Tool>>,
        output_schema: Option<OutputSchema>,
    ) -> Option<Self> {
        let format = format.map(str::to_owned);
        let mut recording = read_path(
            path,
            &ReadOptions {
                format,
                ..ReadOptions::default()
            },
        )
        .ok()?;
        let mut case = Self {
            name: path.display().to_string(),
            path: Some(path.to_owned()),
            recording: Arc::new(recording.clone()),
            target: None,
            fallback: Some("It is noon.".to_owned()),
            tools,
            output_schema,
            _folder: None,
        };
        case.complete(&mut recording);
        case.fallback =
            recording
                .sessions
                .first()
                .map(|session| match &session.contract.output_schema {
                    Some(schema) => example_of(&schema.schema).to_string(),
                    None => "It is noon.".to_owned(),
                });
        case.recording = Arc::new(recording);
        Some(case)
    }

    /// Adds what is known beside the recording.
    pub(crate) fn complete(&self, recording: &mut Recording) {
        for session in &mut recording.sessions {
            session
                .contract
                .supplement(self.tools.as_deref(), None, self.output_schema.as_ref());
        }
    }
}

/// A value that satisfies a plain schema.
fn example_of(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    let kind = schema["type"]
        .as_str()
        .or_else(|| schema["type"][0].as_str());
    match kind {
        Some("object") | None => {
            let members = schema["properties"].as_object().into_iter().flatten();
            members
                .map(|(key, schema)| (key.clone(), example_of(schema)))
                .collect()
        }
        Some("array") => Value::Array(Vec::new()),
        Some("integer" | "number") => 1.into(),
        Some("boolean") => true.into(),
        Some(_) => "noon".into(),
    }
}

fn tools_of(path: &Path) -> Option<Vec<Tool>> {
    let text = std::fs::read(path).ok()?;
    Some(read_tools(&serde_json::from_slice(&text).ok()?).0)
}

/// The bundled sessions.
pub(crate) fn bundled() -> Vec<Case> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir("sessions")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let cases = paths
        .iter()
        .filter(|path| !path.to_string_lossy().ends_with(".tools.json"));
    cases
        .filter_map(|path| Case::open(path, tools_of(&path.with_extension("tools.json"))))
        .collect()
}

/// The requests of `hostile/wire_cases.json`, each as a file.
pub(crate) fn wire_cases() -> Vec<Case> {
    let cases: Value = serde_json::from_str(include_str!("../hostile/wire_cases.json")).unwrap();
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let cases = cases["cases"].as_array().unwrap().iter();
    let written = cases.map(|case| {
        let (format, target) = match case["dialect"].as_str().unwrap() {
            "chat" => ("openai-chat", Dialect::Chat),
            "responses" => ("openai-responses", Dialect::Responses),
            _ => ("anthropic-messages", Dialect::Anthropic),
        };
        let name = case["id"].as_str().unwrap().to_owned();
        let path = folder.path().join(format!("{name}.json"));
        std::fs::write(&path, serde_json::to_string_pretty(&case["body"]).unwrap()).unwrap();
        Case {
            name,
            target: Some(target),
            _folder: Some(folder.clone()),
            ..Case::open_as(&path, Some(format), None, None).unwrap()
        }
    });
    written.collect()
}

/// The stories of [`TOLD`], each as a file.
pub(crate) fn told() -> Vec<Case> {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let euros =
        json!({"type": "object", "required": ["eur"], "properties": {"eur": {"type": "integer"}}});
    let written = TOLD.iter().enumerate().map(|(number, (text, in_euros))| {
        let path = folder.path().join(format!("story-{number}.json"));
        std::fs::write(&path, text).unwrap();
        let schema = in_euros.then(|| OutputSchema {
            name: "euros".to_owned(),
            schema: euros.clone(),
        });
        Case {
            name: format!("story {number}"),
            _folder: Some(folder.clone()),
            ..Case::open_as(&path, None, None, schema).unwrap()
        }
    });
    written.collect()
}

/// The real recordings; `None` where there are none.
pub(crate) fn corpus() -> Option<Vec<Case>> {
    let mut found = Vec::new();
    walk(Path::new("../shared/corpus"), &mut found).ok()?;
    found.sort();
    Some(
        found
            .iter()
            .filter_map(|path| Case::open(path, None))
            .collect(),
    )
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}
