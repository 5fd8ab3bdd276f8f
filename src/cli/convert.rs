//! `convert`: a recording as the items or messages of a provider on stdout or in a file, and on stderr what that lost.

use super::arguments::{ConvertArguments, LossFormat};
use super::exit::{Exit, Failure, complain};
use super::flatten::session_names;
use super::inputs::{Inputs, Opened, describe, hint_for, name_of};
use super::output::{Output, counted, safe_line};
use super::report::write_line;
use crate::formats::convert::{Converted, Loss, LossKind, Options, To, convert};
use crate::repair::{Repair, repair};
use crate::runtime::{InputError, exit_on_interrupt};
use crate::session::{Session, SourceError};
use serde_json::{Map, Value};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// How many losses are listed unless all are asked for.
const FEW: usize = 5;

/// Converts one session of a recording.
pub(super) fn run(arguments: &ConvertArguments) -> Result<Exit, Failure> {
    let inputs = Inputs::new(&arguments.reading())?;
    exit_on_interrupt();
    let unreadable = |error: &InputError| Failure::Refused {
        message: describe(&arguments.path, error),
        hint: hint_for(error),
    };
    if arguments.path.is_dir() {
        let reason = "a folder; `retake convert` takes one recording".to_owned();
        return Err(unreadable(&InputError::Refused(reason)));
    }
    let opened = inputs
        .read(&arguments.path)
        .map_err(|error| unreadable(&error))?;
    let session = choose(arguments, &opened)?;
    for problem in &opened.recording.problems {
        let message = safe_line(&problem.kind.to_string());
        let place = name_of(&arguments.path);
        complain(&format!("{place}: byte {}: {message}", problem.at), None);
    }
    let options = Options {
        as_request: arguments.request,
        repair: likely,
    };
    let converted = write(arguments, session, options).map_err(|stopped| match stopped {
        Stopped::Refused(failure) => failure,
        Stopped::Source(error) => unreadable(&InputError::Source(error)),
        Stopped::Output(error) => in_file(arguments, error),
    })?;
    tell(arguments, &converted);
    Ok(if opened.recording.problems.is_empty() {
        Exit::Clean
    } else {
        Exit::Unreadable
    })
}

/// What broken arguments probably meant, where two readers agree.
fn likely(text: &str) -> Option<String> {
    match repair(text) {
        Repair::Likely { text } => Some(text),
        Repair::Valid | Repair::OneOpinion { .. } | Repair::Disagree { .. } | Repair::None => None,
    }
}

/// The session that was asked for, or the first active one.
fn choose<'a>(arguments: &ConvertArguments, opened: &'a Opened) -> Result<&'a Session, Failure> {
    let sessions = &opened.recording.sessions;
    let names = session_names(sessions);
    let place = match &arguments.session {
        None => sessions
            .iter()
            .position(|session| session.active)
            .unwrap_or(0),
        Some(wanted) => {
            let number = wanted.parse::<usize>().ok();
            let by_number = number.and_then(|number| number.checked_sub(1));
            let by_name = names.iter().position(|name| name == wanted);
            by_name.or(by_number).unwrap_or(usize::MAX)
        }
    };
    let path = name_of(&arguments.path);
    let Some(session) = sessions.get(place) else {
        let wanted = arguments.session.as_deref().map(safe_line);
        let message = match wanted {
            Some(wanted) => format!("{path}: no session {wanted}"),
            None => format!("{path}: no session in it"),
        };
        let known = names.iter().map(|name| format!("\"{}\"", safe_line(name)));
        let known = known.collect::<Vec<_>>().join(", ");
        return Err(Failure::with_hint(
            message,
            format!("its sessions: {known}"),
        ));
    };
    if arguments.session.is_none() && sessions.len() > 1 {
        let (number, count) = (place + 1, sessions.len());
        let message = format!("{path}: session {number} of {count} is converted");
        complain(&message, Some("--session N takes another one"));
    }
    Ok(session)
}

/// Why a conversion stopped.
enum Stopped {
    Refused(Failure),
    Source(SourceError),
    Output(io::Error),
}

impl From<SourceError> for Stopped {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn write(
    arguments: &ConvertArguments,
    session: &Session,
    options: Options,
) -> Result<Converted, Stopped> {
    let Some(path) = &arguments.output else {
        let mut output = Output::stdout();
        let converted = write_to(&mut output, session, arguments.to, options)?;
        output.finish()?;
        return Ok(converted);
    };
    let file = create(arguments, path).map_err(Stopped::Refused)?;
    let mut output = BufWriter::with_capacity(64 * 1024, file);
    let converted = write_to(&mut output, session, arguments.to, options)?;
    output.flush()?;
    Ok(converted)
}

fn write_to(
    output: &mut dyn Write,
    session: &Session,
    to: To,
    options: Options,
) -> Result<Converted, Stopped> {
    convert(session, to, options, &mut |piece| {
        output.write_all(piece).map_err(Stopped::Output)
    })
}

/// The output file, which is never the recording itself, and a file that is there only with `--force`.
fn create(arguments: &ConvertArguments, path: &Path) -> Result<File, Failure> {
    let name = name_of(path);
    if is_same_file(&arguments.path, path) {
        return Err(Failure::refused(format!(
            "{name}: the recording itself is never overwritten"
        )));
    }
    let mut options = OpenOptions::new();
    options.write(true);
    if arguments.force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::with_hint(format!("{name}: is there already"), "--force replaces it")
        }
        _ => Failure::refused(format!("{name}: cannot write: {error}")),
    })
}

/// Whether two names lead to one file. Names that lead nowhere lead to no file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    let one = identity(one);
    one.is_some() && one == identity(other)
}

/// A failed write, with the name of the file where it went to one.
fn in_file(arguments: &ConvertArguments, error: io::Error) -> Failure {
    match &arguments.output {
        Some(path) => Failure::refused(format!("{}: cannot write: {error}", name_of(path))),
        None => Failure::from(error),
    }
}

/// Says on stderr what was lost.
fn tell(arguments: &ConvertArguments, converted: &Converted) {
    let mut stderr = io::stderr().lock();
    // Without stderr there is nobody to tell.
    let _ = match arguments.format {
        LossFormat::Text => tell_people(&mut stderr, arguments, converted),
        LossFormat::Json => tell_programs(&mut stderr, arguments, converted),
    };
}

fn tell_people(
    out: &mut dyn Write,
    arguments: &ConvertArguments,
    converted: &Converted,
) -> io::Result<()> {
    let items = counted(converted.items, "item");
    let to = arguments.to.dialect().word();
    let losses = match converted.losses.len() {
        0 => "nothing lost".to_owned(),
        1 => "1 loss or change".to_owned(),
        count => format!("{count} losses and changes"),
    };
    writeln!(out, "{items} to {to}: {losses}")?;
    let shown = if arguments.losses {
        converted.losses.len()
    } else {
        FEW
    };
    for loss in converted.losses.iter().take(shown) {
        let place = match loss.item {
            Some(item) => format!("item {}: ", u64::from(item) + 1),
            None => String::new(),
        };
        writeln!(out, "  {place}{}", safe_line(&loss.kind.to_string()))?;
    }
    match converted.losses.len().saturating_sub(shown) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more; --losses lists them"),
    }
}

fn tell_programs(
    out: &mut dyn Write,
    arguments: &ConvertArguments,
    converted: &Converted,
) -> io::Result<()> {
    for loss in &converted.losses {
        write_line(out, &loss_object(loss))?;
    }
    let summary = serde_json::json!({
        "type": "conversion",
        "path": arguments.path.to_string_lossy(),
        "to": arguments.to.dialect().word(),
        "items": converted.items,
        "losses": converted.losses.len(),
    });
    write_line(out, &summary)
}

/// `{"type":"loss","item","kind","from","to","message"}`; items count from 1, absent members are null.
fn loss_object(loss: &Loss) -> Value {
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("type", "loss".into());
    put("item", loss.item.map(|item| u64::from(item) + 1).into());
    put("kind", loss.kind.id().into());
    let (from, to) = match &loss.kind {
        LossKind::Renamed { from, to } | LossKind::NewId { from, to } => (Some(from), Some(to)),
        _ => (None, None),
    };
    put("from", from.cloned().into());
    put("to", to.cloned().into());
    put("message", loss.kind.to_string().into());
    Value::Object(object)
}
