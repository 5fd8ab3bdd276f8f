//! `convert`: a recording as the items or messages of a provider on stdout or in a file, and on
//! stderr what that lost.

use super::arguments::{ConvertArguments, LineFormat};
use super::exit::{Exit, Failure, print_error};
use super::flatten::session_names;
use super::inputs::{Inputs, Opened, describe, name_of, refuse_to_overwrite, save, session_named};
use super::output::{JsonOutput, counted, safe_line};
use super::report::write_line;
use retake_core::formats::convert::{Converted, Loss, LossKind, Options, convert};
use retake_core::repair::likely;
use retake_core::session::{Dialect, Problem, Session, SourceError};
use retake_live::{InputError, exit_on_interrupt};
use serde::Serialize;
use std::io::{self, Write};

/// How many problems of the recording are listed.
const FEW: usize = 5;

pub(super) fn run(arguments: &ConvertArguments) -> Result<Exit, Failure> {
    let inputs = Inputs::new(&arguments.reading())?.redacting(arguments.redact);
    exit_on_interrupt();
    if let Some(output) = &arguments.output {
        refuse_to_overwrite(output, arguments.force, &arguments.path)?;
    }
    let opened = inputs.read_one(&arguments.path, "convert` takes one recording")?;
    let session = choose(arguments, &opened)?;
    report_problems(arguments, &opened.recording.problems);
    let options = Options {
        as_request: arguments.request,
        repair: likely,
    };
    let converted = write(arguments, session, options)?;
    report(arguments, &converted);
    Ok(Exit::Clean)
}

/// Says what of the recording could not be read.
fn report_problems(arguments: &ConvertArguments, problems: &[Problem]) {
    let place = name_of(&arguments.path);
    for problem in problems.iter().take(FEW) {
        let message = safe_line(&problem.kind.to_string());
        print_error(&format!("{place}: byte {}: {message}", problem.at), None);
    }
    if problems.len() > FEW {
        let more = counted(problems.len() - FEW, "more problem");
        print_error(
            &format!("{place}: {more}"),
            Some("`retake check` lists them"),
        );
    }
}

/// The requested session, or the first active one.
fn choose<'a>(arguments: &ConvertArguments, opened: &'a Opened) -> Result<&'a Session, Failure> {
    let sessions = &opened.recording.sessions;
    let names = session_names(sessions);
    let place = match &arguments.session {
        None => sessions
            .iter()
            .position(|session| session.active)
            .unwrap_or(0),
        Some(wanted) => session_named(&arguments.path, &names, wanted)?,
    };
    let path = name_of(&arguments.path);
    let Some(session) = sessions.get(place) else {
        return Err(Failure::refused(format!("{path}: no session in it")));
    };
    if arguments.session.is_none() && sessions.len() > 1 {
        let (number, count) = (place + 1, sessions.len());
        let message = format!("{path}: session {number} of {count} is converted");
        print_error(&message, Some("--session N takes another one"));
    }
    Ok(session)
}

enum Stopped {
    Source(SourceError),
    Output(io::Error),
}

impl From<SourceError> for Stopped {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl From<Stopped> for io::Error {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Source(error) => Self::other(error),
            Stopped::Output(error) => error,
        }
    }
}

fn write(
    arguments: &ConvertArguments,
    session: &Session,
    options: Options,
) -> Result<Converted, Failure> {
    let mut converted = Converted::default();
    let mut write = |out: &mut dyn Write| {
        converted = write_to(out, session, arguments.to, options)?;
        Ok::<(), Stopped>(())
    };
    if let Some(path) = &arguments.output {
        save(path, |out| Ok(write(out)?))?;
        return Ok(converted);
    }
    let mut output = JsonOutput::stdout();
    match write(&mut output) {
        Ok(()) => output.finish()?,
        Err(Stopped::Output(error)) => return Err(error.into()),
        Err(Stopped::Source(error)) => {
            let message = describe(&arguments.path, &InputError::Source(error));
            return Err(Failure::refused(message));
        }
    }
    Ok(converted)
}

fn write_to(
    output: &mut dyn Write,
    session: &Session,
    to: Dialect,
    options: Options,
) -> Result<Converted, Stopped> {
    convert(session, to, options, &mut |piece| {
        output.write_all(piece).map_err(Stopped::Output)
    })
}

fn report(arguments: &ConvertArguments, converted: &Converted) {
    let mut stderr = io::stderr().lock();
    // Without stderr there is nobody to tell.
    let _ = match arguments.format {
        LineFormat::Text => report_people(&mut stderr, arguments, converted),
        LineFormat::Json => report_programs(&mut stderr, arguments, converted),
    };
}

fn report_people(
    out: &mut dyn Write,
    arguments: &ConvertArguments,
    converted: &Converted,
) -> io::Result<()> {
    let items = counted(converted.items, "item");
    let to = arguments.to.word();
    let losses = match converted.losses.len() {
        0 => "nothing lost".to_owned(),
        1 => "1 loss or change".to_owned(),
        count => format!("{count} losses and changes"),
    };
    writeln!(out, "{items} to {to}: {losses}")?;
    if arguments.losses {
        for loss in &converted.losses {
            writeln!(out, "  {}{}", place_of(loss, 0), words_of(loss))?;
        }
        return Ok(());
    }
    let kinds = by_kind(&converted.losses);
    for (first, more) in &kinds {
        writeln!(out, "  {}{}", place_of(first, *more), words_of(first))?;
    }
    if kinds.len() < converted.losses.len() {
        writeln!(out, "  --losses lists each")?;
    }
    Ok(())
}

/// The first loss of each kind, and how many more there are of it.
fn by_kind(losses: &[Loss]) -> Vec<(&Loss, usize)> {
    let mut kinds: Vec<(&Loss, usize)> = Vec::new();
    for loss in losses {
        let known = kinds
            .iter_mut()
            .find(|(first, _)| first.kind.id() == loss.kind.id());
        match known {
            Some((_, more)) => *more += 1,
            None => kinds.push((loss, 0)),
        }
    }
    kinds
}

fn place_of(loss: &Loss, more: usize) -> String {
    let item = loss
        .item
        .map(|item| format!("item {}", u64::from(item) + 1));
    match (item, more) {
        (Some(item), 0) => format!("{item}: "),
        (Some(item), more) => format!("{item} and {more} more: "),
        (None, 0) => String::new(),
        (None, more) => format!("{} times: ", more + 1),
    }
}

fn words_of(loss: &Loss) -> String {
    safe_line(&loss.kind.to_string())
}

fn report_programs(
    out: &mut dyn Write,
    arguments: &ConvertArguments,
    converted: &Converted,
) -> io::Result<()> {
    for loss in &converted.losses {
        let (from, to) = match &loss.kind {
            LossKind::Renamed { from, to } | LossKind::NewId { from, to } => {
                (Some(&**from), Some(&**to))
            }
            _ => (None, None),
        };
        let line = Line::Loss {
            item: loss.item.map(|item| u64::from(item) + 1),
            kind: loss.kind.id(),
            from,
            to,
            message: loss.kind.to_string(),
        };
        write_line(out, &line)?;
    }
    let summary = Line::Conversion {
        path: &arguments.path.to_string_lossy(),
        to: arguments.to.word(),
        items: converted.items,
        losses: converted.losses.len(),
    };
    write_line(out, &summary)
}

/// A line of the losses as JSON; items count from 1, absent members are null.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'a> {
    Loss {
        item: Option<u64>,
        kind: &'a str,
        from: Option<&'a str>,
        to: Option<&'a str>,
        message: String,
    },
    Conversion {
        path: &'a str,
        to: &'a str,
        items: usize,
        losses: usize,
    },
}
