//! The lab in the world: what is shown is a file or becomes one, and an experiment on it begins.

use super::subject::{Bench, Order, Running, Subject};
use retake_core::engine::agent::Endpoint;
use retake_core::lab::Command;
use retake_core::lab::Spec;
use retake_core::session::{Span, Tool, ToolKind};
use retake_live::lab::{Lab, LabContext, Report, labs_folder, prepare};
use retake_live::replace::{Backup, replace};
use retake_live::wordings::Wordings;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

/// How the file with the tools of a recording ends.
const TOOLS: &str = ".tools.json";
/// Most characters of a recording's name in that of its copy.
const NAME: usize = 40;

pub struct World {
    wordings: Arc<Wordings>,
    /// The operator's folder for what programs remember.
    root: Option<PathBuf>,
}

impl World {
    /// The machine with the operator's wordings, and with `root` as the folder for what programs remember.
    pub fn new(wordings: Arc<Wordings>, root: Option<PathBuf>) -> Self {
        Self { wordings, root }
    }

    fn folder(&self) -> Result<PathBuf, String> {
        let root = self.root.as_deref();
        let root = root.ok_or("there is no home folder to keep samples in")?;
        Ok(labs_folder(root))
    }

    /// The spec with the file that holds what is shown.
    fn on_file(&self, order: &Order) -> Result<Spec, String> {
        let path = match &order.subject.file {
            Some(path) => path.clone(),
            None => copy_of(&order.subject, &self.folder()?.join("recordings"))?,
        };
        let mut spec = order.spec.clone();
        for which in &mut spec.findings {
            which.path = path.to_string_lossy().into_owned();
        }
        Ok(spec)
    }
}

impl Bench for World {
    fn begin(&self, order: &Order, report: Report) -> Result<Box<dyn Running>, String> {
        let spec = self.on_file(order)?;
        let beside = LabContext {
            folder: Path::new("."),
            wordings: &self.wordings,
            journals: &self.folder()?,
            is_fresh: order.is_fresh,
        };
        let prepared = prepare(&spec, beside).map_err(|error| error.to_string())?;
        let lab = Lab::start(prepared, report).map_err(|error| error.to_string())?;
        Ok(Box::new(lab))
    }

    fn spec(&self, order: &Order, folder: &Path) -> Result<Spec, String> {
        let mut spec = self.on_file(order)?;
        // Files of a spec are looked for beside it.
        if folder.as_os_str().is_empty() || folder == Path::new(".") {
            return Ok(spec);
        }
        let findings = spec.findings.iter_mut().map(|which| &mut which.path);
        let models = spec.models.iter_mut();
        let scripts = models.filter_map(|model| match &mut model.at {
            Endpoint::Script { file, .. } => Some(file),
            Endpoint::Http { .. } => None,
        });
        for file in findings.chain(scripts) {
            let path = absolute(&*file).map_err(|error| error.to_string())?;
            *file = path.to_string_lossy().into_owned();
        }
        Ok(spec)
    }
}

impl Running for Lab {
    fn command(&self, command: Command) {
        Self::command(self, command);
    }
}

/// Writes what is shown to a file of its own, with its tools beside it. The same is written only once.
fn copy_of(subject: &Subject, folder: &Path) -> Result<PathBuf, String> {
    let failed = |error: &dyn std::fmt::Display| format!("what is shown cannot be saved: {error}");
    let recording = &subject.document.recording;
    let all = Span {
        start: 0,
        end: recording.source.len(),
    };
    let bytes = recording.source.read(all).map_err(|error| failed(&error))?;
    let session = subject.document.session(subject.place.session);
    let item = u32::try_from(subject.place.item).unwrap_or(u32::MAX);
    let contract = session.map(|session| &session.contract);
    let contract = contract.filter(|contract| contract.tools_known());
    let tools = contract.map(|contract| tools_text(&contract.tools_at(item)));
    let mut digest = Sha256::new();
    digest.update(&bytes);
    digest.update(tools.as_deref().unwrap_or_default());
    let digest: String = digest
        .finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let stem = format!("{}-{digest}", plain_name(&subject.name));
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(folder);
    made.map_err(|error| failed(&error))?;
    let write = |path: &Path, bytes: &[u8]| {
        let written = replace(path, Backup::None, |out| {
            std::io::Write::write_all(out, bytes)
        });
        written.map(drop).map_err(|error| failed(&error))
    };
    if let Some(tools) = tools {
        write(&folder.join(format!("{stem}{TOOLS}")), tools.as_bytes())?;
    }
    let path = folder.join(format!("{stem}.json"));
    write(&path, &bytes)?;
    Ok(path)
}

/// The letters and digits of a recording's name.
fn plain_name(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or_default();
    let letters = name.chars().map(|letter| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => letter,
        _ => '-',
    });
    letters.take(NAME).collect()
}

/// Tools as a file defines them.
fn tools_text(tools: &[&Tool]) -> String {
    let tools = tools.iter().map(|tool| match tool.kind {
        ToolKind::Hosted => json!({ "type": tool.name }),
        ToolKind::Custom => json!({
            "type": "custom",
            "name": tool.name,
            "description": tool.description,
        }),
        ToolKind::Function => json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        }),
    });
    Value::Array(tools.collect()).to_string()
}
