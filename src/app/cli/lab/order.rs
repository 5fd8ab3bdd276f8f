//! What an experiment is ordered with: a spec file, or a recording with what the command line says about it.

use crate::cli::arguments::{LabArguments, LabLimits, StopWhen, TrialWish};
use crate::cli::confirm::Confirmation;
use crate::cli::exit::{Failure, refused};
use crate::cli::mistaken::{FileKind, mistaken};
use crate::cli::output::{name_of, safe_line};
use retake_core::engine::agent::{AgentModel, Beside, ModelEndpoint};
use retake_core::lab::{Named, Spec, Stop, USUAL_ERROR_RATE, Wanted, Which};
use retake_core::script::Script;
use retake_core::session::Dialect;
use retake_live::agents::{AgentFile, in_words, read_named};
use retake_live::trust::AgentContent;
use retake_live::wordings::Wordings;
use retake_live::{ReadOptions, read_path};
use serde_json::Map;
use std::path::{Path, PathBuf};

/// How long a scripted reply may take without a byte, in milliseconds.
const PATIENCE: u64 = 120_000;
/// Most bytes of all files that one spec names.
const NAMED_FILES: u64 = 16 * 1024 * 1024;
/// Most characters of a name that becomes a folder.
const NAME: usize = 60;

#[derive(Debug)]
pub(super) struct LabOrder {
    pub(super) spec: Spec,
    /// Where the files that it names are looked for.
    pub(super) folder: PathBuf,
    /// What the operator confirms before a model is asked: where the recordings, and keys with them, are sent.
    pub(super) confirmations: Vec<Confirmation>,
}

/// Reads the spec, or makes one of the arguments.
pub(super) fn order(arguments: &LabArguments, wordings: &Wordings) -> Result<LabOrder, Failure> {
    let path = &arguments.path;
    let mut order = match is_spec(path) {
        true => of_file(path, &arguments.trial, wordings)?,
        false => of_recording(path, &arguments.trial, wordings)?,
    };
    limit(&mut order.spec, &arguments.limits);
    if arguments.assert && order.spec.assertions.is_empty() {
        return Err(Failure::with_hint(
            format!("{}: asserts nothing", name_of(path)),
            "--assert judges what [[assert]] in a spec says",
        ));
    }
    Ok(order)
}

/// Whether a path is that of a spec: no recording is TOML.
fn is_spec(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "toml")
}

fn of_file(path: &Path, wish: &TrialWish, wordings: &Wordings) -> Result<LabOrder, Failure> {
    if let Some(given) = wish.first_given() {
        return Err(Failure::with_hint(
            format!("{given} does not go with a spec, which has a setting of its own for it"),
            "a recording in place of the spec takes it",
        ));
    }
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let text = text_of(path)?;
    let mut content = AgentContent::of(&text);
    let mut rest = NAMED_FILES;
    let beside = Beside {
        file: &mut |name| {
            let text = read_named(&folder, name, rest)?;
            rest -= text.len() as u64;
            content.add(name, text.as_bytes());
            Ok(text)
        },
        wording: &|kind, name| {
            let found = wordings.find(kind, name);
            found.map(|choice| choice.template.to_owned())
        },
    };
    let spec = Spec::parse(&text, beside);
    let spec = spec.map_err(|errors| {
        let other = mistaken(path, &text, &[FileKind::Spec]);
        other.unwrap_or_else(|| Failure::invalid_file(path, &errors, "lab"))
    })?;
    if let Some(failure) = missing_recording(path, &text, &spec, &folder) {
        return Err(failure);
    }
    let found = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let confirmation = Confirmation::new(&found, content, powers(&spec, &folder));
    Ok(LabOrder {
        spec,
        folder,
        confirmations: confirmation.into_iter().collect(),
    })
}

/// A recording of a spec that is not there, with its place in the spec.
fn missing_recording(path: &Path, text: &str, spec: &Spec, folder: &Path) -> Option<Failure> {
    let is_missing = |which: &&Which| !folder.join(&which.path).exists();
    let missing = &spec.findings.iter().find(is_missing)?.path;
    let names_it = |line: &str| {
        let (key, value) = line.split_once('=').unwrap_or_default();
        key.trim() == "path" && value.contains(missing.as_str())
    };
    let line = text.lines().position(names_it);
    let line = line.map_or_else(String::new, |line| format!(":{}", line + 1));
    let (spec, missing) = (name_of(path), safe_line(missing));
    let message = format!("{spec}{line}: `path`: {missing}: no such file or folder");
    let hint = "paths of a spec begin at the folder of the spec";
    Some(Failure::with_hint(message, hint))
}

/// What a spec sends where; nothing where all its models are scripts.
fn powers(spec: &Spec, folder: &Path) -> Vec<String> {
    let each = spec.models.iter().filter_map(AgentModel::power);
    let mut powers: Vec<String> = each.map(in_words).collect();
    if powers.is_empty() {
        return powers;
    }
    let files = spec.findings.iter();
    let files = files.flat_map(|which| [Some(&which.path), which.tools.as_ref()]);
    for file in files.flatten() {
        let sends = format!("sends {file}, which is outside the folder of this file");
        if !is_below(folder, file) && !powers.contains(&sends) {
            powers.push(sends);
        }
    }
    powers
}

/// Whether a file that is named in a folder lies in it, links followed. What is not there
/// is found missing later.
fn is_below(folder: &Path, file: &str) -> bool {
    let here = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    match (here.canonicalize(), folder.join(file).canonicalize()) {
        (Ok(here), Ok(file)) => file.starts_with(here),
        _ => true,
    }
}

fn of_recording(path: &Path, wish: &TrialWish, wordings: &Wordings) -> Result<LabOrder, Failure> {
    if path == Path::new("-") {
        return Err(Failure::refused(
            "the lab reads a recording from its file only",
        ));
    }
    if wish.models.is_empty() {
        return Err(Failure::with_hint(
            format!("{}: no model is given", name_of(path)),
            "--model FILE names an agent file or a script",
        ));
    }
    let dialect = dialect_of(path)?;
    let mut confirmations = Vec::new();
    let models = wish.models.iter();
    let models = models.map(|file| model(file, dialect, wordings, &mut confirmations));
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let tools = wish.tools.as_ref();
    let spec = Spec {
        name: name.into_owned(),
        findings: vec![Which {
            path: path.to_string_lossy().into_owned(),
            session: wish.session,
            item: wish.item,
            rule: wish.rule.clone(),
            meant: wish.meant.clone(),
            tools: tools.map(|tools| tools.to_string_lossy().into_owned()),
        }],
        wordings: Wanted {
            recorded: true,
            named: match wish.wordings.is_empty() {
                true => Named::All,
                false => Named::These(wish.wordings.clone()),
            },
            added: Vec::new(),
        },
        models: models.collect::<Result<_, _>>()?,
        seed: 0,
        ..Spec::default()
    };
    Ok(LabOrder {
        spec,
        folder: PathBuf::new(),
        confirmations,
    })
}

/// The dialect that a script answers in: that of the recording, so that its history is sent as it was.
fn dialect_of(path: &Path) -> Result<Dialect, Failure> {
    let recording = read_path(path, &ReadOptions::default());
    let recording = recording.map_err(|error| Failure::unreadable(path, &error))?;
    let first = recording.sessions.first();
    let dialect = first.map(|session| session.dialect);
    Ok(dialect.unwrap_or_default())
}

/// The model of an agent file, or a script.
fn model(
    path: &Path,
    dialect: Dialect,
    wordings: &Wordings,
    confirmations: &mut Vec<Confirmation>,
) -> Result<AgentModel, Failure> {
    let text = text_of(path)?;
    let wanted = [FileKind::Agent, FileKind::Script];
    if let Some(failure) = mistaken(path, &text, &wanted) {
        return Err(failure);
    }
    if FileKind::of(&text) != Some(FileKind::Script) {
        let file = AgentFile::read(path, wordings).map_err(refused)?;
        if !file.agent.model.is_scripted() {
            confirmations.extend(Confirmation::of_agent(&file));
        }
        return Ok(file.model_beside(path));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let script = Script::parse(&name, &text);
    let script = script.map_err(|errors| Failure::invalid_file(path, &errors, "scripted"))?;
    Ok(AgentModel {
        dialect,
        name: script.model(),
        at: ModelEndpoint::Script {
            file: path.to_string_lossy().into_owned(),
            text,
        },
        stream: false,
        timeout_ms: PATIENCE,
        max_tokens: None,
        settings: Map::new(),
    })
}

fn text_of(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::of_file(path, &error))
}

/// What the command line says wins over the spec.
fn limit(spec: &mut Spec, limits: &LabLimits) {
    spec.samples = limits.samples.unwrap_or(spec.samples);
    spec.concurrency = limits.concurrency.unwrap_or(spec.concurrency);
    spec.seed = limits.seed.unwrap_or(spec.seed);
    spec.caps.requests = limits.max_requests.or(spec.caps.requests);
    spec.caps.tokens = limits.max_tokens.or(spec.caps.tokens);
    spec.stop = match (limits.stop, spec.stop) {
        (Some(StopWhen::Never), _) => Stop::Never,
        (Some(StopWhen::Clear), Stop::Never) => Stop::Clear {
            error_rate: USUAL_ERROR_RATE,
        },
        (_, stop) => stop,
    };
}

/// The name of an experiment as that of a folder.
pub(super) fn folder_name(name: &str) -> String {
    let kept = name.chars().take(NAME).map(|character| match character {
        character if character.is_alphanumeric() => character,
        '-' | '_' => character,
        _ => '-',
    });
    match kept.collect::<String>() {
        name if name.is_empty() => "experiment".to_owned(),
        name => name,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::cli::arguments::{self, Task};
    use std::ffi::OsString;

    fn arguments(words: &[&str]) -> LabArguments {
        let words = ["retake", "lab"].iter().chain(words).map(OsString::from);
        match arguments::parse(words).unwrap().command {
            Some(Task::Lab(arguments)) => arguments,
            other => panic!("{other:?}"),
        }
    }

    fn ordered(words: &[&str]) -> Result<LabOrder, String> {
        let wordings = Wordings::read(&[]);
        order(&arguments(words), &wordings).map_err(|failure| format!("{failure:?}"))
    }

    const RECORDING: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../sessions/unknown-tool.json"
    );
    const SCRIPT: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../sessions/agents/flights.script.toml"
    );

    #[test]
    fn a_recording_and_a_script_make_an_experiment() {
        let order = ordered(&[
            RECORDING,
            "--model",
            SCRIPT,
            "--item",
            "7",
            "--rule",
            "unknown-tool",
            "--meant",
            "search_flights",
            "--wording",
            "bare",
            "--wording",
            "nearest",
            "--samples",
            "9",
            "--stop",
            "clear",
            "--max-requests",
            "50",
            "--seed",
            "3",
        ]);
        let spec = order.unwrap().spec;
        assert_eq!(spec.name, "unknown-tool");
        assert_eq!((spec.samples, spec.seed), (9, 3));
        assert_eq!(spec.caps.requests, Some(50));
        assert_eq!(spec.caps.tokens, None);
        assert_eq!(
            spec.stop,
            Stop::Clear {
                error_rate: USUAL_ERROR_RATE
            }
        );
        let which = &spec.findings[0];
        assert_eq!(
            (which.item, which.rule.as_deref()),
            (Some(7), Some("unknown-tool"))
        );
        assert_eq!(which.meant.as_deref(), Some("search_flights"));
        let names = ["bare", "nearest"].map(str::to_owned).to_vec();
        assert_eq!(spec.wordings.named, Named::These(names));
        assert!(spec.wordings.recorded);
        assert!(spec.models[0].is_scripted());
        assert_eq!(spec.models[0].name, "scripted:flights");
    }

    #[test]
    fn the_model_of_an_agent_file_is_asked_as_the_file_says() {
        let spec = ordered(&[
            RECORDING,
            "--model",
            concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../sessions/agents/flights.toml"
            ),
        ])
        .unwrap()
        .spec;
        assert!(spec.models[0].is_scripted());
        assert_eq!(spec.models[0].dialect, Dialect::Responses);
        let ModelEndpoint::Script { file, .. } = &spec.models[0].at else {
            panic!("{:?}", spec.models[0]);
        };
        assert_eq!(file, SCRIPT, "a spec of it names it from here");
        assert_eq!(spec.samples, Spec::default().samples);
    }

    #[test]
    fn a_recording_without_a_model_is_refused_with_the_way_out() {
        let refusal = ordered(&[RECORDING]).unwrap_err();
        assert!(refusal.contains("--model FILE"), "{refusal}");
    }

    #[test]
    fn without_assertions_there_is_nothing_to_assert() {
        let refusal = ordered(&[RECORDING, "--model", SCRIPT, "--assert"]).unwrap_err();
        assert!(refusal.contains("asserts nothing"), "{refusal}");
    }

    #[test]
    fn a_spec_says_itself_what_is_tried() {
        let refusal = ordered(&["x.toml", "--rule", "unknown-tool"]).unwrap_err();
        assert!(
            refusal.contains("--rule does not go with a spec"),
            "{refusal}"
        );
    }

    #[test]
    fn a_spec_is_read_with_what_it_names_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let script = std::fs::read_to_string(SCRIPT).unwrap();
        std::fs::write(folder.path().join("s.script.toml"), script).unwrap();
        let path = folder.path().join("lab.toml");
        let text = "name = \"n\"\n[[finding]]\npath = \"a.json\"\n[[model]]\ndialect = \"chat\"\nscript = \"s.script.toml\"\n";
        std::fs::write(&path, text).unwrap();
        std::fs::write(folder.path().join("a.json"), "[]").unwrap();
        let order = ordered(&[path.to_str().unwrap(), "--samples", "3"]).unwrap();
        assert_eq!(order.folder, folder.path());
        assert_eq!((order.spec.name.as_str(), order.spec.samples), ("n", 3));
        std::fs::write(&path, "nome = 1\n").unwrap();
        let refusal = ordered(&[path.to_str().unwrap()]).unwrap_err();
        assert!(refusal.contains("lab.toml:1: "), "{refusal}");
    }

    #[test]
    fn a_script_with_faults_is_told_as_a_script() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "name = \"x\"\n[[rule]]\nsays = 1\n").unwrap();
        let path = file.path().to_str().unwrap();
        let refusal = ordered(&[RECORDING, "--model", path]).unwrap_err();
        assert!(refusal.contains("retake help scripted"), "{refusal}");
    }

    #[test]
    fn a_model_that_is_no_file_is_refused() {
        let refusal = ordered(&[RECORDING, "--model", "nowhere.toml"]).unwrap_err();
        assert!(refusal.contains("nowhere.toml"), "{refusal}");
    }

    #[test]
    fn what_the_command_line_says_wins() {
        let mut spec = ordered(&[RECORDING, "--model", SCRIPT]).unwrap().spec;
        spec.stop = Stop::Clear { error_rate: 0.01 };
        let wish = arguments(&[
            "x.toml",
            "--stop",
            "clear",
            "--concurrency",
            "2",
            "--max-tokens",
            "7",
        ]);
        limit(&mut spec, &wish.limits);
        // The error rate of the spec stays.
        assert_eq!(spec.stop, Stop::Clear { error_rate: 0.01 });
        assert_eq!((spec.concurrency, spec.caps.tokens), (2, Some(7)));
        limit(&mut spec, &arguments(&["x.toml", "--stop", "never"]).limits);
        assert_eq!(spec.stop, Stop::Never);
    }

    #[test]
    fn no_name_leads_out_of_the_folder_of_journals() {
        assert_eq!(folder_name("../a b/é"), "---a-b-é");
        assert_eq!(folder_name(""), "experiment");
        assert_eq!(folder_name(&"x".repeat(500)).len(), NAME);
    }

    #[test]
    fn arguments_that_contradict_each_other_are_refused() {
        for words in [
            &["a.toml", "--dry-run", "--winner", "policy"][..],
            &["a.toml", "--strict"],
            &["a.toml", "--samples", "0"],
            &["a.toml", "--dry-run", "--format", "csv"],
        ] {
            let words = ["retake", "lab"].iter().chain(words).map(OsString::from);
            assert!(arguments::parse(words).is_err());
        }
    }
}
