//! `replay`: the model turns of recordings as an endpoint, for an agent that runs again.

mod chaos;
mod report;

use super::arguments::{Delay, ReplayArguments};
use super::exit::{Exit, Failure, Why, print_error};
use super::inputs::name_of;
use super::output::{counted, safe_line};
use super::proxy::start_agent;
use report::Teller;
use retake_core::replay::{Matching, Tape};
use retake_core::session::Session;
use retake_core::session::takes::TakeId;
use retake_live::proxy::agent::{AgentCommand, AgentProcess};
use retake_live::proxy::connect::{self, Reach};
use retake_live::proxy::{News, Report, Upstream};
use retake_live::replay::{Endpoint, Event, ReplayOptions};
use retake_live::takes::{usual_root, wall_clock};
use retake_live::{
    ReadOptions, Recording, TakeStore, note_ends, read_input, read_path, read_stdin,
};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// What an agent finds where it looks for a key and has none: no SDK begins without one, and none
/// is asked for here.
const KEYS: &[(&str, &str)] = &[
    ("OPENAI_API_KEY", "retake-replay"),
    ("ANTHROPIC_API_KEY", "retake-replay"),
];

/// What is heard while a recording is served.
enum Heard {
    Asked(Event),
    /// Of the agent that was started.
    Agent(News),
}

/// Serves until it is interrupted, or the agent that was started has ended. Its first line is the address.
pub(super) fn run(arguments: &ReplayArguments) -> Result<Exit, Failure> {
    let tape = tape(arguments)?;
    if let Some(spec) = &arguments.chaos {
        return chaos::run(spec, arguments, tape);
    }
    let signal = note_ends();
    let (sender, heard) = channel();
    let asked = sender.clone();
    let listen = arguments.listen;
    let report = move |event| {
        // Nobody hears it when the replay is over.
        let _over = asked.send(Heard::Asked(event));
    };
    let endpoint = Endpoint::start(tape, options(arguments), listen, report).map_err(|error| {
        let message = format!("cannot listen on {listen}: {error}");
        Failure::with_hint(message, "--listen 127.0.0.1:0 takes any free port")
    })?;
    let reaches = reaches(&endpoint)?;
    let mut teller = Teller::new(io::stdout().lock(), arguments.format, endpoint.tape());
    teller.begin(&reaches[0].base)?;
    let agent = match arguments.command.is_empty() {
        true => {
            // Without stderr there is nobody to tell.
            let _unread = io::stderr().write_all(connect::text(&reaches).as_bytes());
            None
        }
        false => {
            let report: Report = Arc::new(move |news| {
                // Nobody hears it when the replay is over.
                let _over = sender.send(Heard::Agent(news));
            });
            Some(started(arguments, &reaches, &report)?)
        }
    };
    let why = watch(&heard, signal, &mut teller)?;
    // What it still asks would only be refused.
    drop(agent);
    teller.end(why)?;
    Ok(match why {
        Why::Signal { signal } => Exit::Signal(signal),
        Why::Agent { .. } if teller.refused() > 0 => Exit::Findings,
        Why::Agent { code: Some(0), .. } => Exit::Clean,
        Why::Agent { .. } => Exit::Upstream,
    })
}

fn watch(
    heard: &Receiver<Heard>,
    signal: impl Fn() -> Option<i32>,
    teller: &mut Teller<'_, impl Write>,
) -> Result<Why, Failure> {
    loop {
        if let Some(signal) = signal() {
            return Ok(Why::Signal { signal });
        }
        match heard.recv_timeout(LOOK) {
            Ok(Heard::Asked(event)) => teller.asked(&event)?,
            Ok(Heard::Agent(news @ News::Output { .. })) => teller.output(&news)?,
            Ok(Heard::Agent(News::AgentEnded(status))) => {
                // What it asked last may stand behind its end.
                for event in heard.try_iter() {
                    if let Heard::Asked(event) = event {
                        teller.asked(&event)?;
                    }
                }
                return Ok(status.into());
            }
            Ok(Heard::Agent(_)) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::refused("the replay ended by itself"));
            }
        }
    }
}

fn options(arguments: &ReplayArguments) -> ReplayOptions {
    let session = arguments.session.map(|number| number as usize - 1);
    ReplayOptions {
        matching: Matching {
            is_lenient: arguments.lenient,
            repeats_last: false,
            session,
        },
        keeps_pace: arguments.delay == Delay::Recorded,
    }
}

/// How agents reach it: as any provider.
fn reaches(endpoint: &Endpoint) -> Result<[Reach; 1], Failure> {
    let base = format!("http://{}", endpoint.address());
    let upstream = Upstream::parse(&base);
    let upstream = upstream.map_err(|error| Failure::refused(format!("{base}: {error}")))?;
    Ok([Reach { base, upstream }])
}

fn started(
    arguments: &ReplayArguments,
    reaches: &[Reach],
    report: &Report,
) -> Result<AgentProcess, Failure> {
    let order = AgentCommand {
        argv: arguments.command.clone(),
        // A terminal is for whoever is in front, and the agent is in no session that has one.
        inherits_input: !io::stdin().is_terminal() && !reads_stdin(arguments),
        output: None,
        defaults: KEYS,
    };
    start_agent(order, reaches, report)
}

fn reads_stdin(arguments: &ReplayArguments) -> bool {
    arguments.paths.iter().any(|path| path == Path::new("-"))
}

/// The sessions that are asked for, as a tape.
fn tape(arguments: &ReplayArguments) -> Result<Tape, Failure> {
    let mut sessions = Vec::new();
    for path in &arguments.paths {
        sessions.extend(sessions_of(path, arguments)?);
    }
    let unreadable = |error: retake_core::session::SourceError| Failure::refused(error.to_string());
    let tape = Tape::of(sessions).map_err(unreadable)?;
    let count = tape.sessions().count();
    if let Some(number) = arguments.session.filter(|number| *number as usize > count) {
        let message = format!("there is no session {number}");
        return Err(Failure::with_hint(
            message,
            format!("there are {}", counted(count, "session")),
        ));
    }
    if tape.places().next().is_none() {
        let message = "nothing that a model said is recorded, so that nothing can be served";
        return Err(Failure::refused(message));
    }
    Ok(tape)
}

fn sessions_of(path: &Path, arguments: &ReplayArguments) -> Result<Vec<Session>, Failure> {
    let options = ReadOptions {
        format: arguments.read_as.clone(),
        ..ReadOptions::default()
    };
    let recording = match path == Path::new("-") {
        true => read_stdin().and_then(|input| read_input(input, &options)),
        false => read_path(path, &options),
    };
    let recording = recording.map_err(|error| Failure::unreadable(path, &error))?;
    match arguments.takes || arguments.take.is_some() {
        true => take_of(path, recording, arguments.take.map(TakeId)),
        false => Ok(recording.sessions),
    }
}

/// The sessions of a take; without a number of the one that is at hand.
fn take_of(
    path: &Path,
    recording: Recording,
    wanted: Option<TakeId>,
) -> Result<Vec<Session>, Failure> {
    let (root, recording) = (usual_root(), Arc::new(recording));
    let path_of_journal = Some(path).filter(|path| *path != Path::new("-"));
    let (mut workbench, damages) =
        TakeStore::open(recording, path_of_journal, root.as_deref(), wall_clock);
    for damage in &damages {
        print_error(&safe_line(&damage.to_string()), None);
    }
    let take = wanted.unwrap_or_else(|| workbench.takes().current());
    if !workbench.takes().contains(take) {
        let message = format!("{}: there is no take {take}", name_of(path));
        let hint = "`retake PATH` and `T` show its takes";
        return Err(Failure::with_hint(message, hint));
    }
    let read = workbench.read(take, &|_, _| ()).map_err(|error| {
        let reason = safe_line(&error.to_string());
        Failure::refused(format!("{}: take {take}: {reason}", name_of(path)))
    })?;
    Ok(read.sessions)
}
