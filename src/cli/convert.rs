//! `convert`: a recording as the items or messages of a provider on stdout or in a file, and on stderr what that lost.

use super::arguments::{ConvertArguments, LossFormat};
use super::exit::{Exit, Failure, complain};
use super::flatten::session_names;
use super::inputs::{Inputs, Opened, describe, hint_for, name_of};
use super::output::{Output, counted, safe_line};
use super::report::write_line;
use crate::formats::convert::{Converted, Loss, LossKind, Options, To, convert};
use crate::repair::{Repair, repair};
use crate::runtime::replace::{Backup, replace};
use crate::runtime::{InputError, exit_on_interrupt};
use crate::session::{Problem, Session, SourceError};
use serde_json::{Map, Value};
use std::io::{self, Write};
use std::path::Path;

/// How many problems of the recording are listed.
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
    tell_problems(arguments, &opened.recording.problems);
    let options = Options {
        as_request: arguments.request,
        repair: likely,
    };
    let converted = write(arguments, session, options).map_err(|stopped| match stopped {
        Stopped::Refused(failure) => failure,
        Stopped::Source(error) => unreadable(&InputError::Source(error)),
        Stopped::Output(error) => Failure::from(error),
    })?;
    tell(arguments, &converted);
    Ok(Exit::Clean)
}

/// Says what of the recording could not be read.
fn tell_problems(arguments: &ConvertArguments, problems: &[Problem]) {
    let place = name_of(&arguments.path);
    for problem in problems.iter().take(FEW) {
        let message = safe_line(&problem.kind.to_string());
        complain(&format!("{place}: byte {}: {message}", problem.at), None);
    }
    if problems.len() > FEW {
        let more = counted(problems.len() - FEW, "more problem");
        complain(
            &format!("{place}: {more}"),
            Some("`retake check` lists them"),
        );
    }
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

impl Stopped {
    /// The same for a writer of files, which knows errors of input and output only.
    fn as_io(&self) -> io::Error {
        match self {
            Self::Output(error) => match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(error.kind(), error.to_string()),
            },
            Self::Source(error) => io::Error::other(error.clone()),
            Self::Refused(_) => io::ErrorKind::Other.into(),
        }
    }
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
    may_write(arguments, path).map_err(Stopped::Refused)?;
    let mut ended = Ok(Converted::default());
    let replaced = replace(path, Backup::None, |output| {
        ended = write_to(output, session, arguments.to, options);
        match &ended {
            Ok(_) => Ok(()),
            Err(stopped) => Err(stopped.as_io()),
        }
    });
    match (ended, replaced) {
        (Err(Stopped::Source(error)), _) => Err(Stopped::Source(error)),
        (_, Err(error)) => {
            let message = safe_line(&error.to_string());
            Err(Stopped::Refused(Failure::refused(message)))
        }
        (ended, Ok(_)) => ended,
    }
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

/// Whether the output file may be written: it is never the recording itself, and a file that is there only with `--force`.
fn may_write(arguments: &ConvertArguments, path: &Path) -> Result<(), Failure> {
    let name = name_of(path);
    if is_same_file(&arguments.path, path) {
        return Err(Failure::refused(format!(
            "{name}: the recording itself is never overwritten"
        )));
    }
    if !arguments.force && path.symlink_metadata().is_ok() {
        let message = format!("{name}: is there already");
        return Err(Failure::with_hint(message, "--force replaces it"));
    }
    Ok(())
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
