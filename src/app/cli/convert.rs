//! `convert`: a recording as the items or messages of a provider on stdout or in a file, and on
//! stderr what that lost.

use super::arguments::{ConvertArguments, ConvertTarget, LineFormat};
use super::exit::{Exit, Failure, print_error};
use super::inputs::{self, describe, inputs_of, refuse_to_overwrite, save, session_named};
use super::output::{JsonOutput, counted, name_of, safe_line, shell_word};
use super::report::write_line;
use retake_core::actions::Safety;
use retake_core::formats::convert::{
    AgentProgram, ConvertOptions, Converted, Loss, LossKind, NewSession, convert,
};
use retake_core::repair::likely;
use retake_core::rules::Finding;
use retake_core::session::{Dialect, Item, Kind, Problem, Session, SourceError, is_sub_agent};
use retake_live::doctor::{obstacles, refusals};
use retake_live::report::session_names;
use retake_live::{
    InputError, Inputs, Opened, exit_on_interrupt, new_session, prepare_store, session_path,
    write_session,
};
use serde::Serialize;
use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How many problems of the recording are listed.
const FEW: usize = 5;

pub(super) fn run(arguments: &ConvertArguments) -> Result<Exit, Failure> {
    let inputs = inputs_of(&arguments.reading())?.redacting(arguments.redact);
    exit_on_interrupt();
    if let Some(output) = &arguments.output {
        refuse_to_overwrite(output, arguments.force, &arguments.path)?;
    }
    let opened = inputs::read_one(&inputs, &arguments.path, "convert")?;
    let session = choose(arguments, &opened)?;
    report_problems(arguments, &opened.recording.problems);
    if !session.items.iter().any(is_of_conversation) {
        let path = name_of(&arguments.path);
        let message = format!("{path}: no message, call or result of it could be read");
        return Err(Failure::refused(message));
    }
    let target = Target::new(arguments)?;
    warn_of_obstacles(arguments, &inputs, &target, session)?;
    let converted = write(arguments, &target, session)?;
    let has_sub_agents = opened.recording.sessions.iter().any(is_sub_agent);
    report(arguments, &target, &converted, has_sub_agents);
    if let Some(output) = &arguments.output {
        inputs::copy_tools(&inputs, &arguments.path, output)?;
    }
    Ok(inputs::exit_of(&opened.recording))
}

/// Whether an item is a part of a conversation, and not only bytes that were found in it.
fn is_of_conversation(item: &Item) -> bool {
    !matches!(item.kind, Kind::Unreadable | Kind::Other | Kind::Notice)
}

/// Says that the provider will not take what is written, and which command fixes that.
fn warn_of_obstacles(
    arguments: &ConvertArguments,
    inputs: &Inputs,
    target: &Target,
    session: &Session,
) -> Result<(), Failure> {
    let unreadable =
        |error| Failure::refused(describe(&arguments.path, &InputError::Source(error)));
    let path = name_of(&arguments.path);
    let (found, to) = match target.what {
        What::Session(..) => (obstacles(session).map_err(unreadable)?, None),
        What::History(to) => {
            let recorded = refusals(session, Some(to)).map_err(unreadable)?;
            // Of what stands in it converting settles some.
            let found = match recorded.is_empty() {
                true => recorded,
                false => refused(arguments, inputs, target, (session, to)).map_err(unreadable)?,
            };
            (found, Some(to))
        }
    };
    if found.is_empty() {
        return Ok(());
    }
    let errors = counted(found.len(), "error");
    let Some(to) = to.map(Dialect::word) else {
        let message = format!("{path}: {errors} in it that providers refuse");
        let hint = "`retake check` lists them; a fixed recording (`retake fix`) converts to a session that resumes";
        print_error(&message, Some(hint));
        return Ok(());
    };
    let mut rules: Vec<_> = found.iter().map(|finding| finding.rule.id).collect();
    rules.sort_unstable();
    rules.dedup();
    let is_safe = |finding: &Finding| {
        let mut offers = finding.offers.iter();
        offers.any(|offer| offer.safety == Safety::Safe)
    };
    let option = match found.iter().all(is_safe) {
        true => "",
        false => " --unsafe",
    };
    let file = shell_word(&arguments.path.to_string_lossy());
    let fix = format!("retake fix{option} --target {to} {file} -o FILE");
    if let LineFormat::Json = arguments.format {
        let line = Line::Refused {
            path: &arguments.path.to_string_lossy(),
            to,
            rules,
            fix,
        };
        // Without stderr there is nobody to tell.
        let _ = write_line(&mut io::stderr(), &line);
        return Ok(());
    }
    let rules = rules.join(", ");
    print_error(
        &format!("{path}: {errors} in it that the target, {to}, refuses: {rules}"),
        Some(&format!(
            "`{fix}` fixes what can be fixed; convert that FILE"
        )),
    );
    Ok(())
}

/// What the provider would refuse of what is written.
fn refused(
    arguments: &ConvertArguments,
    inputs: &Inputs,
    target: &Target,
    (session, to): (&Session, Dialect),
) -> Result<Vec<Finding>, SourceError> {
    let mut written = Vec::new();
    match write_to(&mut written, arguments, target, session) {
        Ok(_) => {}
        Err(Stopped::Source(error)) => return Err(error),
        // There is always room in memory.
        Err(Stopped::Output(_)) => return Ok(Vec::new()),
    }
    let Ok(opened) = inputs.read_bytes("converted.json", written) else {
        return refusals(session, Some(to));
    };
    let mut found = Vec::new();
    for session in &opened.recording.sessions {
        found.extend(refusals(session, Some(to))?);
    }
    Ok(found)
}

/// What is written, and where to.
struct Target {
    what: What,
    path: Option<PathBuf>,
}

enum What {
    History(Dialect),
    Session(AgentProgram, NewSession),
}

impl Target {
    fn new(arguments: &ConvertArguments) -> Result<Self, Failure> {
        let path = match (&arguments.output, &arguments.cwd) {
            // The command that resumes it runs in another folder.
            (Some(path), Some(_)) => Some(std::path::absolute(path)?),
            (path, _) => path.clone(),
        };
        let agent = match arguments.to {
            ConvertTarget::Agent(agent) => agent,
            ConvertTarget::Dialect(_) if arguments.install || arguments.cwd.is_some() => {
                let option = if arguments.install {
                    "--install"
                } else {
                    "--cwd"
                };
                let message = format!("{option} needs an agent");
                let hint = "--to names an agent, as in --to claude-code";
                return Err(Failure::with_hint(message, hint));
            }
            ConvertTarget::Dialect(to) => {
                let what = What::History(to);
                return Ok(Self { what, path });
            }
        };
        let folder = match &arguments.cwd {
            Some(folder) => folder
                .canonicalize()
                .map_err(|error| Failure::refused(format!("{}: {error}", name_of(folder))))?,
            None => env::current_dir()?,
        };
        let new = new_session(&folder);
        if !arguments.install {
            let what = What::Session(agent, new);
            return Ok(Self { what, path });
        }
        let Some(path) = session_path(agent, &new, &|name| env::var_os(name)) else {
            let message = format!("{}: none of its files can take a session", agent.word());
            let command = agent.resume(&new.id, None).unwrap_or_default();
            let hint = format!("write it with -o FILE, then {command}");
            return Err(Failure::with_hint(message, hint));
        };
        prepare_store(agent, &new, &path)?;
        Ok(Self {
            what: What::Session(agent, new),
            path: Some(path),
        })
    }

    /// The command that goes on from the session, once it is in a file.
    fn resume(&self, is_installed: bool) -> Option<String> {
        let What::Session(agent, new) = &self.what else {
            return None;
        };
        let path = self.path.as_ref()?;
        let file = shell_word(&path.to_string_lossy());
        let command = agent.resume(&new.id, Some(&*file).filter(|_| !is_installed));
        command.or_else(|| {
            // It goes on from what is in its store alone.
            let stored = session_path(*agent, new, &|name| env::var_os(name))?;
            let word = |path: &Path| shell_word(&path.to_string_lossy());
            let (folder, stored) = (word(stored.parent()?), word(&stored));
            let command = agent.resume(&new.id, None)?;
            Some(format!(
                "mkdir -p {folder} && cp {file} {stored} && {command}"
            ))
        })
    }
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
        let message = format!("{path}: converting only session {number} of {count}");
        print_error(&message, Some("--session N converts another one"));
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
    target: &Target,
    session: &Session,
) -> Result<Converted, Failure> {
    let mut converted = Converted::default();
    let mut write = |out: &mut dyn Write| {
        converted = write_to(out, arguments, target, session)?;
        Ok::<(), Stopped>(())
    };
    if let Some(path) = &target.path {
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
    arguments: &ConvertArguments,
    target: &Target,
    session: &Session,
) -> Result<Converted, Stopped> {
    let mut write = |piece: &[u8]| output.write_all(piece).map_err(Stopped::Output);
    let options = ConvertOptions {
        as_request: arguments.request,
        repair: likely,
    };
    match &target.what {
        What::History(to) => convert(session, *to, options, &mut write),
        What::Session(agent, new) => write_session(session, *agent, new, &mut write),
    }
}

fn report(
    arguments: &ConvertArguments,
    target: &Target,
    converted: &Converted,
    has_sub_agents: bool,
) {
    let mut stderr = io::stderr().lock();
    // Without stderr there is nobody to tell.
    let mut resume = target.resume(arguments.install);
    if let (What::Session(_, new), Some(_)) = (&target.what, &arguments.cwd) {
        resume = resume.map(|command| format!("cd {} && {command}", shell_word(&new.folder)));
    }
    let _ = match arguments.format {
        LineFormat::Text => report_people(
            &mut stderr,
            arguments,
            target,
            converted,
            resume,
            has_sub_agents,
        ),
        LineFormat::Json => report_programs(&mut stderr, arguments, converted, resume),
    };
}

fn report_people(
    out: &mut dyn Write,
    arguments: &ConvertArguments,
    target: &Target,
    converted: &Converted,
    resume: Option<String>,
    has_sub_agents: bool,
) -> io::Result<()> {
    let items = counted(converted.items, "item");
    let to = arguments.to.word();
    let folder = match &target.what {
        What::Session(_, new) => Some(safe_line(&new.folder)),
        What::History(_) => None,
    };
    let is_session = folder.is_some();
    let losses = match converted.losses.len() {
        0 if is_session => "all items kept".to_owned(),
        0 => "nothing lost".to_owned(),
        1 => "1 difference".to_owned(),
        count => format!("{count} differences"),
    };
    writeln!(out, "{items} to {to}: {losses}")?;
    if let Some(folder) = folder {
        let sub_agents = if has_sub_agents {
            ", transcripts of sub-agents"
        } else {
            ""
        };
        writeln!(out, "  left out: token counts{sub_agents}")?;
        match arguments.cwd {
            Some(_) => writeln!(out, "  it resumes in {folder}")?,
            None => writeln!(out, "  it resumes in the current folder, {folder}")?,
        }
    }
    match resume {
        Some(command) => writeln!(out, "  resume it with: {}", safe_line(&command))?,
        None if is_session => writeln!(
            out,
            "  with -o FILE or --install, the command that resumes it is printed"
        )?,
        None => {}
    }
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
    resume: Option<String>,
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
        resume,
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
    /// The provider will not take what is written.
    Refused {
        path: &'a str,
        to: &'a str,
        rules: Vec<&'a str>,
        /// The command that fixes what can be fixed.
        fix: String,
    },
    Conversion {
        path: &'a str,
        to: &'a str,
        items: usize,
        losses: usize,
        /// The command that goes on from the session that was written.
        #[serde(skip_serializing_if = "Option::is_none")]
        resume: Option<String>,
    },
}
