//! Recordings as the command line asks for them: read, with tools and an output schema laid under them
//! where they are given.

use super::arguments::{OpenArguments, ReadingArguments};
use super::config;
use super::exit::{Exit, Failure, print_error};
use super::mistaken::mistaken_for_recording;
use super::output::{name_of, safe_line, shell_word};
use crate::tui::OpenRequest;
use crate::tui::keymap;
use crate::tui::loader::Knowledge;
use crate::tui::loader::takes::conductor::Staged;
use crate::tui::theme::ThemeOptions;
use crate::words::{MAIN_HISTORY, label_for_people};
use retake_core::session::takes::TakeId;
use retake_core::session::{OutputSchema, Tool};
use retake_live::discover::endings_text;
use retake_live::replace::{Backup, replace};
use retake_live::takes::{usual_root, wall_clock};
use retake_live::{
    InputError, Inputs, Opened, ReadOptions, Recording, TakeStore, is_same_file, read_definitions,
    read_tools_file, tools_beside, tools_path,
};
use serde_json::Value;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How the arguments say that recordings are read and judged; the tools and the schema must be usable.
pub(super) fn inputs_of(arguments: &ReadingArguments) -> Result<Inputs, Failure> {
    let tools = arguments.tools.as_deref().map(tools_of).transpose();
    let schema = arguments
        .output_schema
        .as_deref()
        .map(schema_of)
        .transpose();
    Ok(Inputs {
        options: ReadOptions {
            format: arguments.read_as.clone(),
            ..ReadOptions::default()
        },
        tools: tools.map_err(Failure::refused)?,
        output_schema: schema.map_err(Failure::refused)?,
        target: arguments.target.0,
        redacts: false,
    })
}

/// Reads a recording; `-` is standard input. Files of tools beside it that cannot be used are
/// reported on standard error.
pub fn read(inputs: &Inputs, path: &Path) -> Result<Opened, InputError> {
    let opened = inputs.read(path)?;
    report_unusable(&opened.unusable);
    Ok(opened)
}

/// Reads the recording of a command that takes one.
pub(super) fn read_one(inputs: &Inputs, path: &Path, command: &str) -> Result<Opened, Failure> {
    let opened = match path.is_dir() {
        true => Err(InputError::Refused(format!(
            "a folder; `retake {command}` takes one recording"
        ))),
        false => read(inputs, path),
    };
    opened.map_err(|error| Failure::unreadable(path, &error))
}

/// The same for the debugger, which reads by itself.
pub(super) fn open_request(
    inputs: Inputs,
    arguments: &OpenArguments,
) -> Result<OpenRequest, Failure> {
    let (settings, fault) = config::settings(&arguments.look)?;
    keymap::choose(settings.bindings());
    let mut knowledge = Knowledge::new(
        inputs.tools,
        |path| Some(tools_beside(path)?.1),
        inputs.output_schema,
        inputs.target,
    );
    knowledge.prices = config::prices(arguments.look.prices.as_deref(), &settings)?;
    Ok(OpenRequest {
        paths: arguments.paths.clone(),
        options: inputs.options,
        knowledge,
        wish: ThemeOptions {
            variant: settings.theme,
            ascii: settings.ascii,
        },
        picker: settings.picker,
        view: settings.view,
        layout: settings.layout,
        without_mouse: settings.without_mouse,
        fault,
        staged: Staged::default(),
        kept: Arc::default(),
    })
}

/// Adds what is known from outside of a file to a recording that was made of it.
pub(super) fn complete(inputs: &Inputs, path: &Path, recording: &mut Recording) {
    report_unusable(&inputs.complete(path, recording));
}

/// How a command ends that showed or wrote what could be read of a recording.
pub(super) fn exit_of(recording: &Recording) -> Exit {
    let mut problems = recording.problems.iter();
    match problems.any(|problem| problem.kind.is_unread()) {
        true => Exit::Unreadable,
        false => Exit::Clean,
    }
}

/// Copies the tools beside `source` beside `written`, where nothing else is in their place: `check` finds them there.
pub(super) fn copy_tools(inputs: &Inputs, source: &Path, written: &Path) -> Result<(), Failure> {
    let Some(tools) = inputs.tools_beside(source) else {
        return Ok(());
    };
    let path = tools_path(written);
    if tools_beside(written).is_some() || !written.is_file() {
        return Ok(());
    }
    if path.symlink_metadata().is_ok() {
        let message = format!("the tools in {} are not part of it", name_of(&tools));
        let words = [&tools, written].map(|path| shell_word(&path.to_string_lossy()));
        let hint = format!("retake check --tools {} {}", words[0], words[1]);
        print_error(&message, Some(&hint));
        return Ok(());
    }
    let copied = std::fs::read(&tools)
        .map_err(|error| format!("{}: {error}", name_of(&tools)))
        .and_then(|text| {
            let written = replace(&path, Backup::None, |out| out.write_all(&text));
            written.map_err(|error| safe_line(&error.to_string()))
        });
    copied.map_err(Failure::refused)?;
    print_error(&format!("its tools: {}", name_of(&path)), None);
    Ok(())
}

fn report_unusable(unusable: &[String]) {
    for note in unusable {
        print_error(&safe_line(note), None);
    }
}

/// The tools of a file, or what is wrong with it.
fn tools_of(path: &Path) -> Result<Vec<Tool>, String> {
    read_tools_file(path).map_err(|error| format!("{}: {}", name_of(path), safe_line(&error)))
}

/// A schema by itself, or as requests carry it: `{name, schema}`, within `json_schema` or not.
fn schema_of(path: &Path) -> Result<OutputSchema, String> {
    let value = json_of(path)?;
    if let Some(schema) = OutputSchema::carried_by(&value) {
        return Ok(schema);
    }
    if !(value.is_object() || value.is_boolean()) {
        return Err(format!("{}: not a JSON Schema", name_of(path)));
    }
    Ok(OutputSchema {
        name: String::new(),
        schema: value,
    })
}

fn json_of(path: &Path) -> Result<Value, String> {
    read_definitions(path).map_err(|error| format!("{}: {}", name_of(path), safe_line(&error)))
}

/// The session of this name or number, counted from 1, among those of these names; a sub-agent has the name that the
/// screen shows, too.
pub(super) fn session_named(path: &Path, names: &[String], wanted: &str) -> Result<usize, Failure> {
    let number = wanted.parse::<usize>().ok();
    let by_number = number.and_then(|number| number.checked_sub(1));
    let by_name = names
        .iter()
        .position(|name| name == wanted || label_for_people(name) == wanted);
    let is_unnamed = |(place, name): &(usize, &String)| **name == (place + 1).to_string();
    let main = || names.iter().enumerate().find(is_unnamed);
    let main = || Some(main()?.0).filter(|_| wanted == MAIN_HISTORY);
    let place = by_name.or(by_number).or_else(main);
    let place = place.filter(|place| *place < names.len());
    place.ok_or_else(|| {
        let known = names
            .iter()
            .map(|name| format!("\"{}\"", safe_line(&label_for_people(name))));
        Failure::with_hint(
            format!("{}: no session {}", name_of(path), safe_line(wanted)),
            format!("its sessions: {}", known.collect::<Vec<_>>().join(", ")),
        )
    })
}

/// What to do about an input that cannot be read.
pub(super) fn hint_for(path: &Path, error: &InputError) -> Option<String> {
    if let Some(Failure::Refused { hint, .. }) = mistaken_for_recording(path, error) {
        return hint;
    }
    match error {
        InputError::EmptyFolder => Some(format!(
            "recordings are {} files; `retake list` lists those of agents, `retake help doctor` says where they are",
            endings_text()
        )),
        InputError::Unrecognised => Some(
            "`retake help formats` lists what retake reads; `--as FORMAT` forces a format"
                .to_owned(),
        ),
        InputError::Alike { format, .. } => Some(format!("`--as {format}` reads it all the same")),
        InputError::Foreign { hint, .. } if !hint.is_empty() => Some((*hint).to_owned()),
        _ => None,
    }
}

/// How a command gets at the history of a recording that cannot be changed in place.
pub(super) fn as_request_first(path: &Path, command: &str, does: &str) -> String {
    let path = shell_word(&path.to_string_lossy());
    format!(
        "`retake convert {path} --to DIALECT --request | retake {command} -` {does} as a request"
    )
}

impl Failure {
    /// A file that cannot be used.
    pub(super) fn of_file(path: &Path, error: &(dyn std::error::Error + 'static)) -> Self {
        let words = match error.downcast_ref::<std::io::Error>() {
            Some(error) if error.kind() == ErrorKind::NotFound => InputError::Missing.to_string(),
            _ => safe_line(&error.to_string()),
        };
        Self::refused(format!("{}: {words}", name_of(path)))
    }

    /// The refusal of an input that cannot be read.
    pub(super) fn unreadable(path: &Path, error: &InputError) -> Self {
        Self::Refused {
            message: describe(path, error),
            hint: hint_for(path, error),
        }
    }
}

/// The operator's folder for what programs remember; `what` would be kept there, unless `option` names a place.
pub(super) fn data_root(what: &str, option: &str) -> Result<PathBuf, Failure> {
    usual_root().ok_or_else(|| {
        let message = format!("there is no home folder to keep {what} in");
        Failure::with_hint(message, option)
    })
}

/// The takes of a recording; journals of takes that are damaged are reported on stderr.
pub(super) fn takes_of(path: &Path, recording: Arc<Recording>) -> TakeStore {
    let journal = Some(path).filter(|path| *path != Path::new("-"));
    let root = usual_root();
    let (takes, damages) = TakeStore::open(recording, journal, root.as_deref(), wall_clock);
    for damage in &damages {
        print_error(&safe_line(&damage.to_string()), None);
    }
    takes
}

/// A take as a recording; without a number the one that is at hand.
pub(super) fn read_take(
    path: &Path,
    recording: Recording,
    number: Option<u32>,
) -> Result<Recording, Failure> {
    let mut store = takes_of(path, Arc::new(recording));
    let take = number.map_or_else(|| store.takes().current(), TakeId);
    if !store.takes().contains(take) {
        let message = format!("{}: there is no {take}", name_of(path));
        let hint = "`retake takes PATH` lists its takes";
        return Err(Failure::with_hint(message, hint));
    }
    store.read(take, &|_, _| ()).map_err(|error| {
        let reason = safe_line(&error.to_string());
        Failure::refused(format!("{}: {take}: {reason}", name_of(path)))
    })
}

/// Says on stderr that an input cannot be read.
pub(super) fn report_unreadable(path: &Path, error: &InputError) {
    print_error(&describe(path, error), hint_for(path, error).as_deref());
}

/// What is wrong with an input, in one safe line.
pub(super) fn describe(path: &Path, error: &InputError) -> String {
    if let Some(Failure::Refused { message, .. }) = mistaken_for_recording(path, error) {
        return message;
    }
    format!("{}: {}", name_of(path), safe_line(&error.to_string()))
}

// Files that commands write: never the recording itself, and one that is there only with `--force`.

/// Refuses to write to `output`, where it is the recording or another file that is there.
pub(super) fn refuse_to_overwrite(
    output: &Path,
    force: bool,
    recording: &Path,
) -> Result<(), Failure> {
    let name = name_of(output);
    if is_same_file(recording, output) {
        return Err(Failure::with_hint(
            format!("{name}: the recording itself is never overwritten by -o"),
            "`retake fix --in-place` fixes the recording itself and keeps a backup",
        ));
    }
    if output.exists() && !force {
        return Err(Failure::with_hint(
            format!("{name}: already exists"),
            "--force replaces it",
        ));
    }
    Ok(())
}

/// Writes a file in one step: until it is whole, what was there stays.
pub(super) fn save(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    match replace(path, Backup::None, |file| write(file)) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::refused(safe_line(&error.to_string()))),
    }
}
