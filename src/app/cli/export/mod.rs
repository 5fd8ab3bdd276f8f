//! `export`: a recovery as code for the agent's framework, as an entry of a policy, or as a fixture for a test; a
//! transcript as a page.

mod chosen;
mod page;
mod recovered;
mod taken;

use super::arguments::{ExportArguments, ExportForm, RecoveryForm};
use super::exit::{Exit, Failure, print_error};
use super::inputs::Inputs;
use super::output::{Output, safe_line};
use super::saving::{refuse_to_overwrite, save};
use retake_core::redact::shareable;
use retake_live::exit_on_interrupt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Carries a recovery out of the debugger.
pub(super) fn run(arguments: &ExportArguments) -> Result<Exit, Failure> {
    exit_on_interrupt();
    if let Some(output) = &arguments.output {
        refuse_to_overwrite(output, arguments.force, &arguments.path)?;
    }
    match arguments.to {
        ExportForm::Recovery(form) => recovery(arguments, form),
        ExportForm::Page(form) => page::export(arguments, form),
    }
}

fn recovery(arguments: &ExportArguments, form: RecoveryForm) -> Result<Exit, Failure> {
    let inputs = Inputs::new(&arguments.reading)?;
    let opened = inputs.read_one(&arguments.path, "export` takes one recording")?;
    let recording = Arc::new(opened.recording);
    let exported = match arguments.take {
        Some(number) => taken::export(arguments, form, &inputs, recording, number)?,
        None => chosen::export(arguments, form, &inputs, recording)?,
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

/// Where the recording is, if it is a file.
fn path_of(arguments: &ExportArguments) -> Option<&Path> {
    Some(arguments.path.as_path()).filter(|path| *path != Path::new("-"))
}

fn write(arguments: &ExportArguments, text: &str) -> Result<(), Failure> {
    to_output(arguments, |out| out.write_all(text.as_bytes()))
}

/// Writes to the file that was named, or to standard output.
fn to_output(
    arguments: &ExportArguments,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if let Some(path) = &arguments.output {
        return save(path, write);
    }
    let mut output = Output::stdout();
    write(&mut output)?;
    Ok(output.finish()?)
}
