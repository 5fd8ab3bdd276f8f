//! `fix`: a copy of a recording to which everything safe that the rules offer was applied.

use super::arguments::FixArguments;
use super::exit::{Exit, Failure, print_error};
use super::inputs::{Inputs, Opened, as_request_first, name_of};
use super::output::{JsonOutput, Output, safe_line};
use super::saving::refuse_to_overwrite;
use super::style::Palette;
use super::{fix_diff, fix_report};
use retake_core::actions::Safety;
use retake_core::formats::{CannotWrite, is_written};
use retake_core::rules::Severity;
use retake_core::session::Rope;
use retake_live::replace::Backup;
use retake_live::{
    Base, BaseError, FixRefusal, FixRefusalReason, FixReport, FixRun, InputError, Recording,
    SaveError, SpeculativeWrite, WriteError, exit_on_interrupt, is_same_file, save_take,
    write_take,
};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

pub(super) fn run(arguments: &FixArguments) -> Result<Exit, Failure> {
    let mut inputs = Inputs::new(&arguments.reading)?.redacting(arguments.redact);
    inputs.options.keeps = true;
    inputs.options.as_file = true;
    exit_on_interrupt();
    check_output(arguments)?;
    // What was read without its secrets is no longer the file.
    let is_file = arguments.path != Path::new("-") && !arguments.redact;
    let path = Some(arguments.path.as_path()).filter(|_| is_file);
    let unreadable = |error: InputError| Failure::unreadable(&arguments.path, &error);
    let Opened { recording, .. } = inputs.read(&arguments.path).map_err(unreadable)?;
    let base = Base::new(Arc::new(recording), path).map_err(|error| no_base(arguments, &error))?;
    if base.is_database() && arguments.writes_to_stdout() && std::io::stdout().is_terminal() {
        return Err(Failure::with_hint(
            "a database is no text for a terminal",
            "name a file with -o",
        ));
    }
    let ahead = written_ahead(arguments, &base);
    let mending = FixRun {
        base: &base,
        up_to: if arguments.unsafe_too {
            Safety::Unsafe
        } else {
            Safety::Safe
        },
        target: inputs.target,
        complete: &|recording: &mut Recording| inputs.complete(&arguments.path, recording),
        progress: &|_, _| (),
        before_check: &|rope: &Arc<Rope>| {
            if let Some(ahead) = &ahead {
                ahead.begin(rope);
            }
        },
    };
    let report = mending.run().map_err(unreadable)?;
    if report.applied.is_empty() {
        let never = report.refused.iter().find_map(never_written);
        if let Some(reason) = never {
            let message = format!("{}: {reason}", name_of(&arguments.path));
            return Err(Failure::with_hint(message, convert_first(arguments)));
        }
    }
    write(arguments, &base, &report, ahead.as_ref())?;
    fix_report::print_report(&report, arguments.diff);
    let errors = fix_report::left(&report, Severity::Error);
    let mut problems = report.recording.problems.iter();
    Ok(match errors {
        _ if problems.any(|problem| problem.kind.is_unread()) => Exit::Unreadable,
        0 => Exit::Clean,
        _ => Exit::Findings,
    })
}

fn check_output(arguments: &FixArguments) -> Result<(), Failure> {
    if arguments.in_place && arguments.path == Path::new("-") {
        let message = "standard input cannot be fixed in its place";
        return Err(Failure::refused(message));
    }
    match &arguments.output {
        Some(output) => refuse_to_overwrite(output, arguments.force, &arguments.path),
        None => Ok(()),
    }
}

fn no_base(arguments: &FixArguments, error: &BaseError) -> Failure {
    let message = format!(
        "{}: {}",
        name_of(&arguments.path),
        safe_line(&error.to_string())
    );
    match error {
        BaseError::Stream => Failure::with_hint(message, convert_first(arguments)),
        BaseError::Changed | BaseError::Database(_) => Failure::refused(message),
    }
}

/// Why nothing is ever written into a file of this kind.
fn never_written(refused: &FixRefusal) -> Option<&CannotWrite> {
    match &refused.reason {
        FixRefusalReason::Writing(reason @ (CannotWrite::Exchanges | CannotWrite::Journal)) => {
            Some(reason)
        }
        FixRefusalReason::Writing(_)
        | FixRefusalReason::Action(_)
        | FixRefusalReason::NoEnd
        | FixRefusalReason::NoGain => None,
    }
}

fn convert_first(arguments: &FixArguments) -> String {
    as_request_first(&arguments.path, "fix", "fixes its history")
}

fn not_written(arguments: &FixArguments, error: &dyn std::error::Error) -> Failure {
    Failure::with_hint(safe_line(&error.to_string()), convert_first(arguments))
}

/// The file that may be written before it is known whether one round is enough: a text under another name.
fn written_ahead(arguments: &FixArguments, base: &Base) -> Option<SpeculativeWrite> {
    let output = arguments.output.as_deref();
    let is_text = !base.is_database() && is_written(base.recording().format);
    let output = output.filter(|_| !arguments.diff && !arguments.in_place && is_text);
    let is_other = |to: &&Path| !base.path().is_some_and(|from| is_same_file(from, to));
    output
        .filter(is_other)
        .map(|path| SpeculativeWrite::new(path, base.mode()))
}

fn write(
    arguments: &FixArguments,
    base: &Base,
    report: &FixReport,
    ahead: Option<&SpeculativeWrite>,
) -> Result<(), Failure> {
    if arguments.diff {
        let palette = Palette::of_stdout(arguments.color);
        let mut output = Output::paged();
        fix_diff::print(&mut output, palette, base, report)?;
        return Ok(output.finish()?);
    }
    let target = if arguments.in_place {
        Some((arguments.path.as_path(), Backup::Numbered))
    } else {
        arguments.output.as_deref().map(|path| (path, Backup::None))
    };
    let Some((path, backup)) = target else {
        let mut output = JsonOutput::stdout();
        let written = write_take(base, &report.rope, &mut output);
        return match written {
            Ok(()) => Ok(output.finish()?),
            Err(WriteError::Stream(error)) => Err(error.into()),
            Err(error @ WriteError::NotWritten(_)) => Err(not_written(arguments, &error)),
            Err(error) => Err(Failure::refused(safe_line(&error.to_string()))),
        };
    };
    if arguments.in_place && report.applied.is_empty() && report.respelled == 0 {
        return Ok(());
    }
    let replaced = match ahead.and_then(|ahead| ahead.finish(&report.rope)) {
        Some(draft) => draft
            .and_then(|draft| draft.take_place(backup))
            .map_err(SaveError::from),
        None => save_take(base, &report.rope, path, backup),
    };
    let replaced = replaced.map_err(|error| match error {
        SaveError::NotWritten(_) => not_written(arguments, &error),
        _ => Failure::refused(safe_line(&error.to_string())),
    })?;
    if let Some(kept) = replaced.backup {
        print_error(
            &format!("the recording as it was: {}", name_of(&kept)),
            None,
        );
    }
    Ok(())
}
