//! `fix`: a copy of a recording to which everything safe that the rules offer was applied.

use super::arguments::FixArguments;
use super::exit::{Exit, Failure, complain};
use super::fix_diff;
use super::inputs::{Inputs, Opened, as_request_first, describe, hint_for, name_of};
use super::output::{Output, counted, safe_line};
use super::saving::refuse_to_overwrite;
use super::style::Palette;
use crate::actions::Safety;
use crate::formats::CannotWrite;
use crate::rules::Severity;
use crate::runtime::replace::Backup;
use crate::runtime::{
    Ahead, Base, InputError, Mended, Mending, NoBase, Recording, SaveError, exit_on_interrupt,
    is_same_file, save_take, write_take,
};
use crate::session::Rope;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

/// How many actions are told one by one.
const TOLD: usize = 20;

/// Fixes a recording.
pub(super) fn run(arguments: &FixArguments) -> Result<Exit, Failure> {
    let mut inputs = Inputs::new(&arguments.reading)?;
    inputs.options.keeps = true;
    exit_on_interrupt();
    check_output(arguments)?;
    let path = Some(arguments.path.as_path()).filter(|path| *path != Path::new("-"));
    let unreadable = |error: InputError| Failure::Refused {
        message: describe(&arguments.path, &error),
        hint: hint_for(&error),
    };
    let Opened { recording, .. } = inputs.read(&arguments.path).map_err(unreadable)?;
    let base = Base::new(Arc::new(recording), path).map_err(|error| no_base(arguments, &error))?;
    if base.is_database() && arguments.writes_to_stdout() && std::io::stdout().is_terminal() {
        return Err(Failure::with_hint(
            "a database is no text for a terminal",
            "name a file with -o",
        ));
    }
    let ahead = written_ahead(arguments, &base);
    let mending = Mending {
        base: &base,
        up_to: if arguments.unsafe_too {
            Safety::Unsafe
        } else {
            Safety::Safe
        },
        target: inputs.target,
        complete: &|recording: &mut Recording| inputs.complete(&arguments.path, recording),
        progress: &|_, _| (),
        mended: &|rope: &Arc<Rope>| {
            if let Some(ahead) = &ahead {
                ahead.begin(rope);
            }
        },
    };
    let mended = mending.run().map_err(unreadable)?;
    if mended.applied.is_empty()
        && let Some(reason) = mended.refused.first()
    {
        return Err(cannot_write(arguments, reason));
    }
    write(arguments, &base, &mended, ahead.as_ref())?;
    tell(&mended);
    Ok(exit_of(&mended))
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

fn no_base(arguments: &FixArguments, error: &NoBase) -> Failure {
    let message = format!(
        "{}: {}",
        name_of(&arguments.path),
        safe_line(&error.to_string())
    );
    match error {
        NoBase::Stream => Failure::with_hint(message, convert_first(arguments)),
        NoBase::Changed | NoBase::Database(_) => Failure::refused(message),
    }
}

fn cannot_write(arguments: &FixArguments, reason: &CannotWrite) -> Failure {
    let message = format!(
        "{}: {}",
        name_of(&arguments.path),
        safe_line(&reason.to_string())
    );
    match reason {
        CannotWrite::Exchanges | CannotWrite::Journal => {
            Failure::with_hint(message, convert_first(arguments))
        }
        _ => Failure::refused(message),
    }
}

fn convert_first(arguments: &FixArguments) -> String {
    as_request_first(&arguments.path, "fix", "fixes its history")
}

/// The file that may be written before it is known whether one round is enough: a text under another name.
fn written_ahead(arguments: &FixArguments, base: &Base) -> Option<Ahead> {
    let output = arguments.output.as_deref();
    let output = output.filter(|_| !arguments.diff && !arguments.in_place && !base.is_database());
    let is_other = |to: &&Path| !base.path().is_some_and(|from| is_same_file(from, to));
    output.filter(is_other).map(Ahead::new)
}

fn write(
    arguments: &FixArguments,
    base: &Base,
    mended: &Mended,
    ahead: Option<&Ahead>,
) -> Result<(), Failure> {
    if arguments.diff {
        let palette = Palette::of_stdout(arguments.color);
        let mut output = Output::paged();
        fix_diff::print(&mut output, palette, base, mended)?;
        return Ok(output.finish()?);
    }
    let target = if arguments.in_place {
        Some((arguments.path.as_path(), Backup::Numbered))
    } else {
        arguments.output.as_deref().map(|path| (path, Backup::None))
    };
    let Some((path, backup)) = target else {
        let mut output = Output::stdout();
        let written = write_take(base, &mended.rope, &mut output);
        return match written {
            Ok(()) => Ok(output.flush()?),
            Err(crate::runtime::WriteError::Stream(error)) => Err(error.into()),
            Err(error) => Err(Failure::refused(safe_line(&error.to_string()))),
        };
    };
    if arguments.in_place && mended.applied.is_empty() {
        return Ok(());
    }
    let replaced = match ahead.and_then(|ahead| ahead.finish(&mended.rope)) {
        Some(draft) => draft
            .and_then(|draft| draft.take_place(backup))
            .map_err(SaveError::from),
        None => save_take(base, &mended.rope, path, backup),
    };
    let replaced = replaced.map_err(|error| Failure::refused(safe_line(&error.to_string())))?;
    if let Some(kept) = replaced.backup {
        complain(
            &format!("the recording as it was: {}", name_of(&kept)),
            None,
        );
    }
    Ok(())
}

/// Says on stderr what was done and what is left.
fn tell(mended: &Mended) {
    let sessions = mended.recording.sessions.len();
    let rounds = mended.applied.last().map_or(0, |applied| applied.round);
    let mut lines = Vec::new();
    for applied in mended.applied.iter().take(TOLD) {
        let session = if sessions > 1 {
            format!("session {}, ", applied.session + 1)
        } else {
            String::new()
        };
        let round = if rounds > 1 {
            format!("round {}, ", applied.round)
        } else {
            String::new()
        };
        let notes = applied
            .notes
            .iter()
            .map(|note| format!("; {}", safe_line(note)));
        lines.push(format!(
            "  {round}{session}item {}  {}  {}{}",
            applied.item + 1,
            applied.rule,
            applied.action,
            notes.collect::<String>()
        ));
    }
    if mended.applied.len() > TOLD {
        let mut by_action: BTreeMap<_, usize> = BTreeMap::new();
        for applied in &mended.applied {
            *by_action.entry(applied.action).or_default() += 1;
        }
        let all = by_action
            .iter()
            .map(|(action, count)| format!("{action} {count}"));
        lines.push(format!("  in all: {}", all.collect::<Vec<_>>().join(", ")));
    }
    let left = mended.findings[1].iter().flatten();
    let errors = left.filter(|finding| finding.severity == Severity::Error);
    complain(
        &format!(
            "{} applied, {} left",
            counted(mended.applied.len(), "action"),
            counted(errors.count(), "error")
        ),
        None,
    );
    // Without stderr there is nobody to tell.
    let _ = std::io::stderr()
        .write_all((lines.join("\n") + if lines.is_empty() { "" } else { "\n" }).as_bytes());
}

fn exit_of(mended: &Mended) -> Exit {
    let is_error = |finding: &crate::rules::Finding| finding.severity == Severity::Error;
    if mended.findings[1].iter().flatten().any(is_error) {
        Exit::Findings
    } else {
        Exit::Clean
    }
}
