//! `replay`: the model turns of recordings as an endpoint, for an agent that runs again.

use super::arguments::{Delay, LineFormat, ReplayArguments};
use super::chaos::{self, ServedRecording, Strayed, Wish};
use super::exit::{Exit, Failure, LOOK, Why, print_error};
use super::inputs::read_take;
use super::output::{counted, safe_line};
use super::proxy::start_agent;
use super::report::write_line;
use retake_core::engine::Policy;
use retake_core::formats::convert::LossKind;
use retake_core::replay::{Differences, Matching, Tape, TapePlace};
use retake_core::session::{Dialect, Session};
use retake_live::lock::lock;
use retake_live::proxy::agent::{AgentCommand, AgentProcess, PLACEHOLDER_KEYS};
use retake_live::proxy::connect::{self, Reach};
use retake_live::proxy::{Ports, ProxyNews, ProxyOptions, Report, USUAL_ASKS, Upstream};
use retake_live::replay::{ANY_PORT, ReplayEvent, ReplayOptions, ReplayServer};
use retake_live::{ReadOptions, note_ends, read_input, read_path, read_stdin};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard};

/// What is heard while a recording is served.
enum Heard {
    Asked(ReplayEvent),
    /// Of the agent that was started.
    Agent(ProxyNews),
}

/// Serves until it is interrupted, or the agent that was started has ended. Its first line is the address.
pub(super) fn run(arguments: &ReplayArguments) -> Result<Exit, Failure> {
    let tape = tape(arguments)?;
    if let Some(spec) = &arguments.chaos {
        return run_with_chaos(spec, arguments, tape);
    }
    let signal = note_ends();
    let (sender, heard) = channel();
    let requested = sender.clone();
    let listen = arguments.listen;
    let report = move |event| {
        // Nobody hears it when the replay is over.
        let _over = requested.send(Heard::Asked(event));
    };
    let endpoint =
        ReplayServer::start(tape, options(arguments), listen, report).map_err(|error| {
            let message = format!("cannot listen on {listen}: {error}");
            Failure::with_hint(message, "--listen 127.0.0.1:0 takes any free port")
        })?;
    let reaches = reaches(&endpoint)?;
    let mut teller = Teller::new(io::stdout().lock(), arguments.format, endpoint.tape());
    teller.begin(&reaches[0].base)?;
    let agent = match arguments.command.is_empty() {
        true => {
            // Without stderr there is nobody to tell.
            let _unread = io::stderr().write_all(connect::hint(&reaches).as_bytes());
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
            Ok(Heard::Asked(event)) => teller.requested(&event)?,
            Ok(Heard::Agent(news @ ProxyNews::Output { .. })) => teller.output(&news)?,
            Ok(Heard::Agent(ProxyNews::AgentEnded(status))) => {
                // What it asked last may stand after its end.
                for event in heard.try_iter() {
                    if let Heard::Asked(event) = event {
                        teller.requested(&event)?;
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
fn reaches(endpoint: &ReplayServer) -> Result<[Reach; 1], Failure> {
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
        defaults: PLACEHOLDER_KEYS,
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
        let message = "the recording has no model reply to serve";
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
        true => Ok(read_take(path, recording, arguments.take)?.sessions),
        false => Ok(recording.sessions),
    }
}

// A recording as the model after a proxy that injects faults: no key, no network, and the agent's own
// error handling is tested.

/// Serves the tape leniently, for a fault changes what the agent asks after it, and its last turn again where
/// the agent goes on, for one that asks again asks more often than the recording; injects faults before it.
fn run_with_chaos(spec: &Path, arguments: &ReplayArguments, tape: Tape) -> Result<Exit, Failure> {
    let session = arguments.session.map(|number| number as usize - 1);
    let options = ReplayOptions {
        matching: Matching {
            is_lenient: true,
            repeats_last: true,
            session,
        },
        keeps_pace: arguments.delay == Delay::Recorded,
    };
    let heard = Arc::<StrayedCount>::default();
    let hearing = heard.clone();
    let report = move |event| hearing.hear(&event);
    let endpoint = ReplayServer::start(tape, options, ANY_PORT, report)
        .map_err(|error| Failure::refused(format!("the recording cannot be served: {error}")))?;
    let served = Served { endpoint, heard };
    let wish = Wish {
        spec,
        command: &arguments.command,
        defaults: PLACEHOLDER_KEYS,
        format: arguments.format,
        recording: Some(&served),
    };
    chaos::run(&wish, || proxy(arguments, &served.endpoint))
}

/// What the endpoint tells of its requests.
#[derive(Debug, Default)]
struct StrayedCount(Mutex<Strayed>);

impl StrayedCount {
    fn lock(&self) -> MutexGuard<'_, Strayed> {
        // A thread that panicked while it counted leaves counts that can be used.
        lock(&self.0)
    }

    fn hear(&self, event: &ReplayEvent) {
        let mut strayed = self.lock();
        let words = match event {
            ReplayEvent::Served {
                differences: None, ..
            } => return,
            ReplayEvent::Served {
                turn,
                differences: Some(differences),
                ..
            } => {
                strayed.nearest += 1;
                let first = differences.listed.first();
                format!(
                    "{turn}, {}",
                    first.map(ToString::to_string).unwrap_or_default()
                )
            }
            ReplayEvent::Refused { why, .. } => {
                strayed.refused += 1;
                why.clone()
            }
        };
        strayed.first.get_or_insert(words);
    }
}

/// The recording as it is served.
struct Served {
    endpoint: ReplayServer,
    heard: Arc<StrayedCount>,
}

impl ServedRecording for Served {
    fn rewind(&self) {
        self.endpoint.rewind();
        *self.heard.lock() = Strayed::default();
    }

    fn strayed(&self) -> Strayed {
        self.heard.lock().clone()
    }
}

/// The proxy before the recording; it listens where the replay would.
fn proxy(arguments: &ReplayArguments, endpoint: &ReplayServer) -> Result<ProxyOptions, Failure> {
    let url = format!("http://{}", endpoint.address());
    let upstream = Upstream::parse(&url);
    let upstream = upstream.map_err(|error| Failure::refused(format!("{url}: {error}")))?;
    Ok(ProxyOptions {
        upstreams: vec![upstream],
        ports: Ports {
            first: arguments.listen,
            are_fixed: true,
        },
        allow_remote: false,
        host_names: Vec::new(),
        insecure: Vec::new(),
        policy: Policy::default(),
        breakpoints: Vec::new(),
        has_operator: false,
        journal: arguments.journal.clone(),
        intercepts: false,
        holds_requests: false,
        max_asks: USUAL_ASKS,
    })
}

// What a replay says: a line for each request, as text or as one JSON object.

/// The lines as JSON.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line<'a> {
    Listening {
        address: &'a str,
        sessions: usize,
        turns: usize,
    },
    Served {
        #[serde(flatten)]
        turn: Turn,
        dialect: &'a str,
        streams: bool,
        lenient: bool,
        #[serde(flatten)]
        differences: &'a Differences,
    },
    Refused {
        dialect: &'a str,
        code: &'a str,
        message: &'a str,
        nearest: Option<Turn>,
        #[serde(flatten)]
        differences: &'a Differences,
    },
    End {
        #[serde(flatten)]
        why: Why,
        served: usize,
        lenient: usize,
        refused: usize,
        never: Vec<Turn>,
    },
}

/// A turn by its numbers, from 1.
#[derive(Serialize)]
struct Turn {
    session: usize,
    turn: usize,
}

const NONE: &Differences = &Differences {
    listed: Vec::new(),
    more: 0,
};

/// Says what happens, and counts it.
struct Teller<'a, W> {
    out: W,
    format: LineFormat,
    tape: &'a Tape,
    served: usize,
    lenient: usize,
    refused: usize,
    asked_for: BTreeSet<TapePlace>,
    left_out: BTreeSet<LossKind>,
}

impl<'a, W: Write> Teller<'a, W> {
    fn new(out: W, format: LineFormat, tape: &'a Tape) -> Self {
        Self {
            out,
            format,
            tape,
            served: 0,
            lenient: 0,
            refused: 0,
            asked_for: BTreeSet::new(),
            left_out: BTreeSet::new(),
        }
    }

    /// How many requests were refused.
    fn refused(&self) -> usize {
        self.refused
    }

    /// Says where it listens.
    fn begin(&mut self, address: &str) -> io::Result<()> {
        let (sessions, turns) = (self.tape.sessions().count(), self.tape.places().count());
        match self.format {
            LineFormat::Text => writeln!(self.out, "{address}")?,
            LineFormat::Json => self.write(&Line::Listening {
                address,
                sessions,
                turns,
            })?,
        }
        self.out.flush()
    }

    /// Says what became of a request.
    fn requested(&mut self, event: &ReplayEvent) -> io::Result<()> {
        match event {
            ReplayEvent::Served {
                place,
                dialect,
                streams,
                differences,
                left_out,
                ..
            } => {
                self.served += 1;
                self.lenient += usize::from(differences.is_some());
                self.asked_for.insert(*place);
                for one in left_out {
                    if self.left_out.insert(one.clone()) {
                        print_error(&safe_line(&one.to_string()), None);
                    }
                }
                self.tell_served(*place, (*dialect, *streams), differences.as_ref())?;
            }
            ReplayEvent::Refused {
                dialect,
                code,
                why,
                nearest,
            } => {
                self.refused += 1;
                self.tell_refused(*dialect, (code, why), nearest.as_ref())?;
            }
        }
        self.out.flush()
    }

    fn tell_served(
        &mut self,
        place: TapePlace,
        (dialect, streams): (Dialect, bool),
        differences: Option<&Differences>,
    ) -> io::Result<()> {
        let dialect = dialect.word();
        if self.format == LineFormat::Json {
            return self.write(&Line::Served {
                turn: self.turn(place),
                dialect,
                streams,
                lenient: differences.is_some(),
                differences: differences.unwrap_or(NONE),
            });
        }
        let turn = self.tape.words(place);
        let how = if streams { "streamed" } else { "whole" };
        match differences {
            None => writeln!(self.out, "{turn}  {dialect}, {how}"),
            Some(differences) => {
                writeln!(self.out, "{turn}  {dialect}, {how}, the nearest:")?;
                self.lines(&differences.to_string())
            }
        }
    }

    fn tell_refused(
        &mut self,
        dialect: Dialect,
        (code, why): (&str, &str),
        nearest: Option<&(TapePlace, Differences)>,
    ) -> io::Result<()> {
        let dialect = dialect.word();
        if self.format == LineFormat::Json {
            return self.write(&Line::Refused {
                dialect,
                code,
                message: why,
                nearest: nearest.map(|(place, _)| self.turn(*place)),
                differences: nearest.map_or(NONE, |(_, all)| all),
            });
        }
        let (first, rest) = why.split_once('\n').unwrap_or((why, ""));
        writeln!(self.out, "refused  {dialect}: {}", safe_line(first))?;
        self.lines(rest)
    }

    /// Says a line of the agent that was started.
    fn output(&mut self, news: &ProxyNews) -> io::Result<()> {
        match (self.format, news) {
            (LineFormat::Text, ProxyNews::Output { text, .. }) => {
                writeln!(self.out, "| {}", safe_line(text))?;
            }
            _ => write_line(&mut self.out, news)?,
        }
        self.out.flush()
    }

    /// Says how it ended, and which turns nobody requested.
    fn end(&mut self, why: Why) -> io::Result<()> {
        let never = self.tape.places();
        let never = never.filter(|place| !self.asked_for.contains(place));
        let never = never.collect::<Vec<_>>();
        let (served, lenient, refused) = (self.served, self.lenient, self.refused);
        if self.format == LineFormat::Json {
            let never = never.iter().map(|place| self.turn(*place)).collect();
            self.write(&Line::End {
                why,
                served,
                lenient,
                refused,
                never,
            })?;
            return self.out.flush();
        }
        let nearest = match lenient {
            0 => String::new(),
            count => format!(" ({count} by the nearest turn)"),
        };
        let served = counted(served, "request");
        writeln!(self.out, "{served} served{nearest}, {refused} refused")?;
        if !never.is_empty() {
            let turns = never.iter().map(|place| self.tape.words(*place));
            let turns = turns.collect::<Vec<_>>().join(", ");
            writeln!(self.out, "not requested: {}", safe_line(&turns))?;
        }
        self.out.flush()
    }

    fn turn(&self, place: TapePlace) -> Turn {
        Turn {
            session: place.session + 1,
            turn: self.tape.turn(place),
        }
    }

    /// Further lines of a request, indented.
    fn lines(&mut self, text: &str) -> io::Result<()> {
        for line in text.lines() {
            writeln!(self.out, "  {}", safe_line(line))?;
        }
        Ok(())
    }

    fn write(&mut self, line: &Line<'_>) -> io::Result<()> {
        write_line(&mut self.out, line)
    }
}
