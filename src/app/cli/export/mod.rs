//! `export`: a recovery as code for the agent's framework, as an entry of a policy, or as a fixture for a test.

mod chosen;
mod recovered;
mod taken;

use super::arguments::ExportArguments;
use super::exit::{Exit, Failure, print_error};
use super::inputs::{Inputs, describe, hint_for};
use super::output::{Output, safe_line};
use super::saving::{refuse_to_overwrite, save};
use retake_core::redact::shareable;
use retake_live::{InputError, Recording, exit_on_interrupt};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Carries a recovery out of the debugger.
pub(super) fn run(arguments: &ExportArguments) -> Result<Exit, Failure> {
    let inputs = Inputs::new(&arguments.reading)?;
    exit_on_interrupt();
    if let Some(output) = &arguments.output {
        refuse_to_overwrite(output, arguments.force, &arguments.path)?;
    }
    let recording = read(arguments, &inputs)?;
    let exported = match arguments.take {
        Some(number) => taken::export(arguments, &inputs, recording, number)?,
        None => chosen::export(arguments, &inputs, recording)?,
    };
    let text = match arguments.redact {
        true => shareable(&exported.text),
        false => exported.text,
    };
    write(arguments, &text)?;
    print_error(&safe_line(&exported.what), None);
    for note in &exported.notes {
        // CI keeps stderr and sends it around.
        print_error(&safe_line(&shareable(note)), None);
    }
    Ok(Exit::Clean)
}

fn read(arguments: &ExportArguments, inputs: &Inputs) -> Result<Arc<Recording>, Failure> {
    let unreadable = |error: &InputError| Failure::Refused {
        message: describe(&arguments.path, error),
        hint: hint_for(error),
    };
    if arguments.path.is_dir() {
        let reason = "a folder; `retake export` takes one recording".to_owned();
        return Err(unreadable(&InputError::Refused(reason)));
    }
    let opened = inputs.read(&arguments.path);
    Ok(Arc::new(
        opened.map_err(|error| unreadable(&error))?.recording,
    ))
}

/// Where the recording is, if it is a file.
fn path_of(arguments: &ExportArguments) -> Option<&Path> {
    Some(arguments.path.as_path()).filter(|path| *path != Path::new("-"))
}

fn write(arguments: &ExportArguments, text: &str) -> Result<(), Failure> {
    if let Some(path) = &arguments.output {
        return save(path, |out| out.write_all(text.as_bytes()));
    }
    let mut output = Output::stdout();
    output.write_all(text.as_bytes())?;
    Ok(output.finish()?)
}
