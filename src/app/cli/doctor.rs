//! `doctor`: from which of the sessions on this machine their agents cannot go on, why, and their healing.

use super::arguments::{DoctorArguments, LineFormat, ReadingArguments};
use super::exit::{Exit, Failure, print_error};
use super::fix::{applied_lines, first_of, refusals, torn_lines};
use super::inputs::{self, inputs_of, report_unreadable};
use super::output::{Output, counted, name_of, safe_line};
use super::report::write_line;
use super::style::Palette;
use super::walk::read_all;
use retake_core::actions::Safety;
use retake_core::formats::{Reading, is_fixed};
use retake_core::rules::Finding;
use retake_core::session::{Dialect, ProblemKind, Session, SourceError};
use retake_core::wire::provider_errors::refusal_of;
use retake_live::discover::{Candidate, Discovery, Origin, agent_places, walk};
use retake_live::doctor::{OPEN, Resume, as_sent, in_use, obstacles_in, resume_with};
use retake_live::replace::{Backup, Replaced};
use retake_live::report::{FileReport, FindingReport};
use retake_live::stores::Agent;
use retake_live::{
    Applied, Base, FixReport, FixRun, InputError, Inputs, Recording, exit_on_interrupt, save_take,
};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Most cells of the table, where columns can be left out.
const TABLE: usize = 80;
/// How many obstacles of a session are shown one by one.
const MOST_SHOWN: usize = 3;

pub(super) fn run(arguments: &DoctorArguments) -> Result<Exit, Failure> {
    let inputs = inputs_of(&ReadingArguments::default())?;
    exit_on_interrupt();
    let (found, mut unreadable) = match arguments.paths.is_empty() {
        true => find_stores(arguments.home.as_deref()),
        false => (HashMap::new(), 0),
    };
    let mut paths = arguments.paths.clone();
    paths.extend(found.keys().cloned());
    paths.sort_unstable();
    let doctor = Doctor {
        arguments,
        inputs,
        found,
    };
    let mut report = Report::new(arguments);
    let (unread, done) = read_all(
        &paths,
        |path| doctor.examine(path),
        |case| case.map_or(Ok(()), |case| report.take(&case)),
    );
    unreadable += unread;
    let ended = done.and_then(|()| report.finish());
    let total = report.total();
    let is_unread = unreadable > 0 || total.unreadable > 0;
    let exit = match (total.sessions, is_unread, total.left) {
        (0, false, _) => {
            let hint =
                "`retake help doctor` says where it looks; --home DIR, or PATH, looks elsewhere";
            print_error("no agent sessions found", Some(hint));
            Exit::Usage
        }
        (_, true, _) => Exit::Unreadable,
        (_, false, 0) => Exit::Clean,
        (_, false, _) => Exit::Findings,
    };
    exit.after(ended)
}

/// A session file by the agent that keeps it, and its path within the store.
struct Kept {
    agent: &'static Agent,
    inside: PathBuf,
}

/// The files in the stores of the agents, and how many folders could not be read.
fn find_stores(home: Option<&Path>) -> (HashMap<PathBuf, Kept>, usize) {
    let variable = |name: &str| match home {
        Some(home) => (name == "HOME").then(|| home.as_os_str().to_owned()),
        None => std::env::var_os(name),
    };
    let places = agent_places(&variable, home.unwrap_or(Path::new(".")));
    let (mut found, mut unreadable) = (HashMap::new(), 0);
    walk(
        &places,
        &AtomicBool::new(false),
        &mut |discovery| match discovery {
            Discovery::Found(batch) => {
                for Candidate {
                    path,
                    place,
                    origin,
                    ..
                } in batch
                {
                    let Origin::Agent(agent) = origin else {
                        continue;
                    };
                    let root = places.get(place).map(|place| &place.path);
                    let inside = root.and_then(|root| path.strip_prefix(root).ok());
                    let inside = inside.filter(|inside| *inside != Path::new(""));
                    let name = path.file_name().map(Path::new);
                    let inside = inside.or(name).unwrap_or(&path).to_owned();
                    found.insert(path, Kept { agent, inside });
                }
            }
            Discovery::Refused(path, reason) => {
                unreadable += 1;
                report_unreadable(&path, &InputError::Refused(reason));
            }
            Discovery::Finished => {}
        },
    );
    (found, unreadable)
}

struct Doctor<'a> {
    arguments: &'a DoctorArguments,
    inputs: Inputs,
    found: HashMap<PathBuf, Kept>,
}

/// What was found out about a file.
struct Case {
    agent: &'static str,
    /// The agent's name for people.
    title: &'static str,
    path: PathBuf,
    format: &'static str,
    sessions: Vec<SessionCase>,
    /// Why the file, or a part of it, could not be read.
    unread: Vec<String>,
    /// Whether records of it are missing: of a session whose beginning or end nobody can read, nobody can say
    /// that it goes on.
    is_broken: bool,
    /// Whether its last line was not written to its end: its agent still writes it, or was killed.
    is_torn: bool,
    /// Why somebody may be at work on it.
    in_use: Option<&'static str>,
    healing: Option<Healing>,
}

impl Case {
    /// Notes what of a recording could not be read.
    fn note_unread(&mut self, recording: &Recording) {
        use ProblemKind::{BadString, Torn, UnknownType};
        let unread = recording.problems.iter().map(|problem| &problem.kind);
        let unread = unread.filter(|kind| kind.is_unread());
        self.is_torn = unread.clone().any(|kind| *kind == Torn);
        let others = unread.clone().filter(|kind| **kind != Torn);
        self.unread = others.map(ProblemKind::to_string).collect();
        let is_read = |kind| matches!(kind, &UnknownType { .. } | &BadString(_) | &Torn);
        self.is_broken = !unread.clone().all(is_read);
    }
}

struct SessionCase {
    /// Its number in the file, from 0.
    index: usize,
    name: String,
    resume: Resume,
    obstacles: Vec<Obstacle>,
}

/// A finding that keeps an agent from going on, and what its provider or the agent makes of it.
#[derive(Serialize)]
struct Obstacle {
    #[serde(flatten)]
    finding: FindingReport,
    /// How the provider refuses such a request.
    provider_text: Option<&'static str>,
    /// What the agent does about it by itself.
    repair: Option<&'static str>,
    #[serde(skip)]
    provider: &'static str,
}

/// What healing a file came to.
#[derive(Default)]
struct Healing {
    report: Option<FixReport>,
    /// How many sessions can go on after it that could not before.
    healed: usize,
    /// What becomes of each session of the healed file.
    after: Vec<Resume>,
    written: Option<Replaced>,
    /// Why nothing was written.
    refused: Option<String>,
}

impl Doctor<'_> {
    /// Reads a file of a store, and heals it where that is wanted. What is not a session of an agent is a case
    /// without sessions.
    fn examine(&self, path: &Path) -> Result<Case, InputError> {
        let kept = self.found.get(path);
        let mut inputs = self.inputs.clone();
        inputs.options.as_file = true;
        let opened = match (inputs.read(path), kept) {
            (Ok(opened), _) => opened,
            (Err(error), None) => return Err(error),
            (Err(error), Some(kept)) => return Ok(unreadable(kept.agent, path, &error)),
        };
        let recording = opened.recording;
        let agent = kept.map(|kept| kept.agent);
        let agent = agent.or_else(|| Agent::of_format(recording.format.id));
        let obstacles = obstacles_of(&recording)?;
        let resumes = resumes(&obstacles, agent);
        let mut case = Case {
            agent: agent.map_or(recording.format.id, |agent| &agent.id),
            title: agent.map_or(recording.format.id, |agent| &agent.title),
            path: path.to_owned(),
            format: recording.format.id,
            sessions: sessions_of(&recording, &obstacles, &resumes, agent)?,
            unread: Vec::new(),
            is_broken: false,
            is_torn: false,
            in_use: None,
            healing: None,
        };
        case.note_unread(&recording);
        let is_cut = case.is_torn && is_fixed(recording.format);
        if is_cut || resumes.iter().any(|resume| *resume != Resume::GoesOn) {
            case.in_use = in_use(path);
            let healing = self.heal(path, recording, &resumes, agent, case.in_use)?;
            let report = healing.report.as_ref().filter(|report| report.is_cut);
            if let Some(report) = report.filter(|_| self.arguments.in_place)
                && healing.written.is_some()
            {
                case.note_unread(&report.recording);
            }
            case.healing = Some(healing);
        }
        Ok(case)
    }

    fn heal(
        &self,
        path: &Path,
        recording: Recording,
        resumes: &[Resume],
        agent: Option<&'static Agent>,
        in_use: Option<&str>,
    ) -> Result<Healing, InputError> {
        if !is_fixed(recording.format) {
            let title = recording.format.title;
            return Ok(Healing::refused(format!(
                "retake does not edit {title}; `retake convert FILE --to responses --request | retake fix -` makes a \
                healed request"
            )));
        }
        let is_sick = |index: usize| resumes.get(index).is_some_and(|it| *it != Resume::GoesOn);
        let base = match Base::of_records(recording, Some(path)) {
            Ok(base) => base,
            Err(error) => return Ok(Healing::refused(error.to_string())),
        };
        let run = FixRun {
            base: &base,
            wants: &is_sick,
            up_to: match self.arguments.unsafe_too {
                true => Safety::Unsafe,
                false => Safety::Safe,
            },
            target: None,
            complete: &|recording| inputs::complete(&self.inputs, path, recording),
            progress: &|_, _| (),
            before_check: &|_| (),
            cuts_torn_line: true,
            names_format: false,
        };
        let report = run.run()?;
        let after = self::resumes(&obstacles_of(&report.recording)?, agent);
        let healed = resumes.iter().zip(&after);
        let mut healing = Healing {
            healed: healed
                .filter(|(before, after)| **after == Resume::GoesOn && before != after)
                .count()
                .max(usize::from(report.is_cut)),
            after,
            ..Healing::default()
        };
        if report.is_changed() {
            self.write(path, &base, &report, in_use, &mut healing);
        }
        healing.report = Some(report);
        Ok(healing)
    }

    /// Writes what was healed where the operator wants it.
    fn write(
        &self,
        path: &Path,
        base: &Base,
        report: &FixReport,
        in_use: Option<&str>,
        healing: &mut Healing,
    ) {
        let written = match (&self.arguments.copy_to, self.arguments.in_place) {
            (Some(folder), _) => self.copy(folder, path, base, report),
            (None, true) => match in_use.filter(|_| !self.arguments.force) {
                Some(why) => Err(format!("{why}: end its agent first, or use --force")),
                None => replace(path, base, report),
            },
            (None, false) => return,
        };
        match written {
            Ok(written) => healing.written = Some(written),
            Err(why) => {
                healing.refused = Some(why);
                healing.healed = 0;
            }
        }
    }

    fn copy(
        &self,
        folder: &Path,
        path: &Path,
        base: &Base,
        report: &FixReport,
    ) -> Result<Replaced, String> {
        let inside = match self.found.get(path) {
            Some(kept) => Path::new(&kept.agent.id).join(&kept.inside),
            None => {
                let names = path.components();
                let names = names.filter(|part| matches!(part, Component::Normal(_)));
                names.collect()
            }
        };
        let copy = folder.join(inside);
        if copy.exists() && !self.arguments.force {
            let name = name_of(&copy);
            return Err(format!("{name} already exists: --force replaces it"));
        }
        if let Some(parent) = copy.parent() {
            let made = std::fs::create_dir_all(parent);
            made.map_err(|error| format!("cannot create {}: {error}", name_of(parent)))?;
        }
        save_take(base, &report.rope, &copy, Backup::None).map_err(|error| error.to_string())
    }
}

/// Replaces a session in its store. Agents list their sessions by the time of their files: that stays.
fn replace(path: &Path, base: &Base, report: &FixReport) -> Result<Replaced, String> {
    let modified = path.metadata().and_then(|file| file.modified());
    let replaced = save_take(base, &report.rope, path, Backup::Numbered);
    let replaced = replaced.map_err(|error| error.to_string())?;
    if let Ok(modified) = modified {
        let file = File::options().append(true).open(&replaced.path);
        // A newer time does no harm but that.
        let _ = file.and_then(|file| file.set_modified(modified));
    }
    Ok(replaced)
}

/// Why the agent cannot go on from each session; nothing of those that no agent goes on from.
fn obstacles_of(recording: &Recording) -> Result<Vec<Vec<Finding>>, SourceError> {
    let sessions = recording.sessions.iter();
    let obstacles = sessions.map(|session| match session.active {
        true => obstacles_in(recording, session),
        false => Ok(Vec::new()),
    });
    obstacles.collect()
}

fn resumes(obstacles: &[Vec<Finding>], agent: Option<&Agent>) -> Vec<Resume> {
    let sessions = obstacles.iter();
    sessions.map(|found| resume_with(found, agent)).collect()
}

/// The sessions of a file that its agent goes on from.
fn sessions_of(
    recording: &Recording,
    obstacles: &[Vec<Finding>],
    resumes: &[Resume],
    agent: Option<&'static Agent>,
) -> Result<Vec<SessionCase>, SourceError> {
    let report = FileReport::of(recording, obstacles, None, true)?;
    let cases = report.sessions.into_iter().zip(resumes);
    let cases = cases.zip(&recording.sessions).enumerate();
    let cases = cases.filter(|(_, (_, session))| session.active && !session.items.is_empty());
    let cases = cases.map(|(index, ((report, resume), session))| SessionCase {
        index,
        name: report.name,
        resume: *resume,
        obstacles: report
            .findings
            .into_iter()
            .map(|finding| Obstacle::new(finding, provider_of(session, recording), agent))
            .collect(),
    });
    Ok(cases.collect())
}

/// The dialect of the provider that a session goes on with. A format that spells messages in its own way does
/// not say it; there the model does.
fn provider_of(session: &Session, recording: &Recording) -> Dialect {
    let model = session.model.as_deref().unwrap_or_default();
    match recording.format.reading {
        Reading::Records(_) | Reading::Database => session.dialect,
        Reading::Spelled(_) | Reading::Whole(_) | Reading::Tables(_) => {
            Dialect::of_model(model).unwrap_or(session.dialect)
        }
    }
}

impl Obstacle {
    fn new(finding: FindingReport, dialect: Dialect, agent: Option<&'static Agent>) -> Self {
        let rule = as_sent(finding.rule.id);
        let repair = agent.and_then(|agent| agent.repair(rule));
        let sentence = refusal_of(rule, dialect).filter(|_| repair.is_none());
        Self {
            provider_text: sentence.map(|sentence| &*sentence.example),
            provider: sentence.map_or("", |sentence| sentence.provider.name()),
            repair,
            finding,
        }
    }
}

impl Healing {
    fn refused(reason: String) -> Self {
        Self {
            refused: Some(reason),
            ..Self::default()
        }
    }
}

/// A file of a store that cannot be read: the agent cannot either. Among files of other programs it is one
/// of those.
fn unreadable(agent: &'static Agent, path: &Path, error: &InputError) -> Case {
    let reasons = (!agent.is_among_others()).then(|| safe_line(&error.to_string()));
    Case {
        agent: &agent.id,
        title: &agent.title,
        path: path.to_owned(),
        format: "",
        sessions: Vec::new(),
        unread: reasons.into_iter().collect(),
        is_broken: true,
        is_torn: false,
        in_use: None,
        healing: None,
    }
}

// The report: a block for each file that is not sound, then a table by agent.

#[derive(Default, Serialize)]
struct Counts {
    sessions: usize,
    goes_on: usize,
    loses: usize,
    refused: usize,
    /// Sessions that were healed, or could be where nothing was to be written.
    healed: usize,
    /// Sessions that could be healed if nobody were at work on them.
    #[serde(skip)]
    busy: usize,
    /// Files that somebody may be at work on.
    in_use: usize,
    /// Those of them that another process has open.
    #[serde(skip)]
    open: usize,
    /// Sessions without an obstacle of which parts cannot be read, and files of which nothing can.
    unreadable: usize,
    /// Files of which something could not be read.
    #[serde(skip)]
    unread: usize,
}

impl Counts {
    /// Adds a file: as it is now, where it was healed in its place.
    fn add(&mut self, case: &Case, arguments: &DoctorArguments) {
        let in_place = arguments.in_place;
        let healing = case.healing.as_ref();
        let written = healing.filter(|healing| in_place && healing.written.is_some());
        for session in &case.sessions {
            self.sessions += 1;
            let after = written.and_then(|healing| healing.after.get(session.index));
            match after.unwrap_or(&session.resume) {
                Resume::GoesOn if case.is_broken => self.unreadable += 1,
                // What its agent appends to half a line is lost with it.
                Resume::GoesOn if case.is_torn => self.loses += 1,
                Resume::GoesOn => self.goes_on += 1,
                Resume::Loses => self.loses += 1,
                Resume::Refused => self.refused += 1,
            }
        }
        let healed = healing.map_or(0, |healing| healing.healed);
        // Nothing but a copy or force heals now what somebody is at work on.
        let is_left = arguments.copy_to.is_none() && !arguments.force;
        match case.in_use.is_some() && is_left {
            true => self.busy += healed,
            false => self.healed += healed,
        }
        self.in_use += usize::from(case.in_use.is_some());
        self.open += usize::from(case.in_use == Some(OPEN));
        self.unreadable += usize::from(case.sessions.is_empty() && !case.unread.is_empty());
        self.unread += usize::from(!case.unread.is_empty() || case.is_torn);
    }

    fn numbers(&self) -> [usize; 7] {
        [
            self.sessions,
            self.goes_on,
            self.loses,
            self.refused,
            self.healed,
            self.in_use,
            self.unreadable,
        ]
    }
}

/// All agents together.
#[derive(Default)]
struct Total {
    sessions: usize,
    unreadable: usize,
    /// Sessions from which no agent can go on, in their stores or as copies.
    left: usize,
}

struct Report<'a> {
    arguments: &'a DoctorArguments,
    output: Output,
    palette: Palette,
    /// By the names of the agents.
    agents: BTreeMap<(&'static str, &'static str), Counts>,
}

impl<'a> Report<'a> {
    fn new(arguments: &'a DoctorArguments) -> Self {
        Self {
            arguments,
            output: Output::stdout(),
            palette: Palette::of_stdout(arguments.color),
            agents: BTreeMap::new(),
        }
    }

    fn writes(&self) -> bool {
        self.arguments.in_place || self.arguments.copy_to.is_some()
    }

    fn total(&self) -> Total {
        let mut total = Total::default();
        for counts in self.agents.values() {
            total.sessions += counts.sessions;
            total.unreadable += counts.unread;
            total.left += counts.loses + counts.refused;
            if self.arguments.copy_to.is_some() {
                total.left -= counts.healed;
            }
        }
        total
    }

    fn take(&mut self, case: &Case) -> io::Result<()> {
        if case.sessions.is_empty() && case.unread.is_empty() && !case.is_torn {
            return Ok(());
        }
        self.agents
            .entry((case.title, case.agent))
            .or_default()
            .add(case, self.arguments);
        match self.arguments.format {
            LineFormat::Json => self.write_lines(case)?,
            LineFormat::Text => self.write_block(case)?,
        }
        self.output.flush()
    }

    fn write_block(&mut self, case: &Case) -> io::Result<()> {
        let sick = || {
            let sessions = case.sessions.iter();
            sessions.filter(|session| session.resume != Resume::GoesOn)
        };
        let is_sound = case.unread.is_empty() && !case.is_torn;
        if sick().next().is_none() && is_sound && case.healing.is_none() {
            return Ok(());
        }
        let (out, palette) = (&mut self.output, self.palette);
        let head = format!("{}  {}", case.title, name_of(&case.path));
        writeln!(out, "{}", palette.bold(head))?;
        for reason in &case.unread {
            writeln!(
                out,
                "  {} {}",
                palette.error("unreadable:"),
                safe_line(reason)
            )?;
        }
        if case.is_torn {
            let why = match case.in_use {
                Some(why) => format!("its agent may still write it ({why})"),
                None => "its agent was ended while it wrote; what it appends is lost".to_owned(),
            };
            let words = palette.warning("half-written last line:");
            writeln!(out, "  {words} {why}")?;
        }
        for session in sick() {
            let name = match case.sessions.len() {
                1 => String::new(),
                _ => format!("session {}: ", safe_line(&session.name)),
            };
            match session.resume {
                Resume::Refused => writeln!(
                    out,
                    "  {name}{}",
                    palette.error("the provider will reject this session")
                )?,
                Resume::Loses | Resume::GoesOn => {
                    writeln!(
                        out,
                        "  {name}{}",
                        palette.warning("resuming loses part of the history")
                    )?;
                }
            }
            write_obstacles(out, palette, case.title, &session.obstacles)?;
        }
        if let Some(healing) = &case.healing {
            write_healing(out, palette, healing, self.arguments)?;
        }
        Ok(())
    }

    fn write_lines(&mut self, case: &Case) -> io::Result<()> {
        let (agent, path) = (case.agent, case.path.to_string_lossy());
        let path = &*path;
        let torn = case.is_torn.then(|| ProblemKind::Torn.to_string());
        for message in case.unread.iter().chain(&torn) {
            let message = message.as_str();
            let line = JsonLine::Unreadable {
                agent,
                path,
                message,
            };
            write_line(&mut self.output, &line)?;
        }
        for session in &case.sessions {
            let line = JsonLine::Session {
                agent,
                path,
                session: &session.name,
                format: case.format,
                resume: session.resume,
                findings: &session.obstacles,
            };
            write_line(&mut self.output, &line)?;
        }
        let Some(healing) = &case.healing else {
            return Ok(());
        };
        let report = healing.report.as_ref();
        let written = healing.written.as_ref();
        let applied = report.map_or(&[][..], |report| &report.applied);
        let line = JsonLine::Healing {
            agent,
            path,
            in_use: case.in_use,
            healed: healing.healed,
            changes: applied.iter().map(Change::of).collect(),
            respelled: report.map_or(0, |report| report.respelled),
            cut: report.map_or(0, |report| report.torn),
            written: written.map(|written| written.path.to_string_lossy().into_owned()),
            backup: written
                .and_then(|written| written.backup.as_ref())
                .map(|backup| backup.to_string_lossy().into_owned()),
            refused: healing.refused.as_deref(),
        };
        write_line(&mut self.output, &line)
    }

    fn finish(&mut self) -> io::Result<()> {
        match self.arguments.format {
            LineFormat::Json => {
                for ((_, agent), counts) in &self.agents {
                    write_line(&mut self.output, &JsonLine::Agent { agent, counts })?;
                }
            }
            LineFormat::Text if !self.agents.is_empty() => self.write_table()?,
            LineFormat::Text => {}
        }
        self.output.flush()
    }

    fn write_table(&mut self) -> io::Result<()> {
        let healed = if self.writes() { "healed" } else { "fixable" };
        let has_open = self.agents.values().any(|counts| counts.open > 0);
        let in_use = if has_open { "in use" } else { "just written" };
        let heads = [
            "sessions",
            "resumes",
            "loses",
            "rejected",
            healed,
            in_use,
            "unreadable",
        ];
        let names = self.agents.keys().map(|(title, _)| title.chars().count());
        let width = names.max().unwrap_or(0).max("agent".len());
        let all: Vec<_> = self.agents.values().map(Counts::numbers).collect();
        let cells = width + heads.iter().map(|name| name.len() + 2).sum::<usize>();
        // What is the same for all of them need not be counted where there is no room for it.
        let is_shown = |column: usize| {
            let has_any = all.iter().any(|numbers| numbers[column] > 0);
            column < 2 || cells <= TABLE || has_any
        };
        let columns: Vec<usize> = (0..heads.len()).filter(|it| is_shown(*it)).collect();
        let mut head = format!("{:width$}", "agent");
        let names = columns.iter().map(|column| heads[*column]);
        names.for_each(|name| head.push_str(&format!("  {name}")));
        writeln!(self.output, "{}", self.palette.bold(head))?;
        for ((title, _), numbers) in self.agents.keys().zip(&all) {
            let mut line = format!("{title:width$}");
            for column in &columns {
                let width = heads[*column].len();
                line.push_str(&format!("  {:>width$}", numbers[*column]));
            }
            writeln!(self.output, "{line}")?;
        }
        let healed = self.agents.values().map(|counts| counts.healed).sum();
        if healed > 0 && !self.writes() {
            let sessions = counted(healed, "session");
            let words = format!(
                "--in-place heals {sessions} (each is kept as FILE.bak), --copy-to DIR writes healed copies"
            );
            writeln!(self.output, "{}", self.palette.dim(words))?;
        }
        let busy: usize = self.agents.values().map(|counts| counts.busy).sum();
        if busy > 0 && !self.writes() {
            let why = match has_open {
                true => "written to within the last minute or open in another process",
                false => "written to within the last minute",
            };
            let (sessions, verb) = (
                counted(busy, "session"),
                if busy == 1 { "is" } else { "are" },
            );
            let words = format!(
                "{sessions} could be healed but {verb} in use ({why}): end the agent first"
            );
            writeln!(self.output, "{}", self.palette.dim(words))?;
        }
        if self.arguments.in_place && healed > 0 {
            let words = "what resumes may still have findings: `retake check` also lists what does not stop an agent";
            writeln!(self.output, "{}", self.palette.dim(words))?;
        }
        Ok(())
    }
}

fn write_obstacles(
    out: &mut Output,
    palette: Palette,
    agent: &str,
    all: &[Obstacle],
) -> io::Result<()> {
    let mut shown = None;
    for obstacle in all.iter().take(MOST_SHOWN) {
        let finding = &obstacle.finding;
        let line = finding.place.line.map(|line| format!("line {line}, "));
        let item = finding.item.map(|item| format!("item {item}: "));
        let place = [line, item].into_iter().flatten().collect::<String>();
        let message = safe_line(&finding.message);
        writeln!(out, "    {place}{}: {message}", finding.rule.id)?;
        let words = match (obstacle.repair, obstacle.provider_text) {
            (Some(repair), _) => {
                let loss = loss_of(as_sent(finding.rule.id), repair);
                Some(format!(
                    "this does not stop {agent}, which {repair}; {loss}"
                ))
            }
            (None, Some(text)) => Some(format!(
                "{}, for example: {}",
                obstacle.provider,
                safe_line(text)
            )),
            (None, None) => None,
        };
        if let Some(words) = words.filter(|words| shown.as_ref() != Some(words)) {
            writeln!(out, "      {}", palette.dim(&words))?;
            shown = Some(words);
        }
    }
    match all.len().saturating_sub(MOST_SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "    and {more} more"),
    }
}

/// What is lost where an agent repairs what a rule found.
fn loss_of(rule: &str, repair: &str) -> &'static str {
    match rule {
        "orphan-call" if repair.starts_with("leaves") => "the model no longer sees the call",
        "orphan-call" => "the model does not see what the call did",
        "orphan-output" => "the model no longer sees the output",
        "duplicate-output" => "the model sees the first output only",
        _ => "nothing is lost",
    }
}

fn write_healing(
    out: &mut Output,
    palette: Palette,
    healing: &Healing,
    arguments: &DoctorArguments,
) -> io::Result<()> {
    let changes = healing.report.as_ref().map_or(0, |report| {
        let others = [report.respelled > 0, report.is_cut].map(usize::from);
        report.applied.len() + others.iter().sum::<usize>()
    });
    let not_enough = match (healing.healed, arguments.unsafe_too) {
        (0, true) => ", but that does not heal it",
        (0, false) => ", but that does not heal it; --unsafe tries other fixes",
        _ => "",
    };
    let words = match (&healing.written, &healing.refused) {
        (Some(written), _) => {
            let backup = written.backup.as_ref();
            let backup = backup.map(|path| format!("; as it was: {}", name_of(path)));
            let path = name_of(&written.path);
            let what = counted(changes, "change");
            let backup = backup.unwrap_or_default();
            format!("{what} written to {path}{backup}{not_enough}")
        }
        (None, Some(reason)) => format!("not healed: {}", safe_line(reason)),
        (None, None) if changes == 0 => match arguments.unsafe_too {
            true => "no fix heals it".to_owned(),
            false => "no safe fix heals it; --unsafe tries the others".to_owned(),
        },
        (None, None) => {
            let (changes, sessions) = (
                counted(changes, "change"),
                counted(healing.healed, "session"),
            );
            match healing.healed {
                0 => format!("{changes} would be written{not_enough}"),
                _ => format!("{changes} would heal {sessions}"),
            }
        }
    };
    writeln!(out, "  {}", palette.info(words))?;
    let Some(report) = &healing.report else {
        return Ok(());
    };
    if report.respelled > 0 {
        let strings = counted(report.respelled, "string");
        writeln!(out, "    {strings} spelled as JSON allows")?;
    }
    for line in applied_lines(report).into_iter().chain(torn_lines(report)) {
        writeln!(out, "    {line}")?;
    }
    for line in first_of(refusals(report)) {
        writeln!(out, "    could not be done: {line}")?;
    }
    Ok(())
}

/// One object a line: what could not be read, each session, what healing a file came to; last, the counts by
/// agent.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum JsonLine<'a> {
    Unreadable {
        agent: &'a str,
        path: &'a str,
        message: &'a str,
    },
    Session {
        agent: &'a str,
        path: &'a str,
        session: &'a str,
        format: &'a str,
        resume: Resume,
        findings: &'a [Obstacle],
    },
    Healing {
        agent: &'a str,
        path: &'a str,
        in_use: Option<&'a str>,
        healed: usize,
        changes: Vec<Change<'a>>,
        respelled: usize,
        /// The bytes of a half-written last line, which goes.
        cut: u64,
        written: Option<String>,
        backup: Option<String>,
        refused: Option<&'a str>,
    },
    Agent {
        agent: &'a str,
        #[serde(flatten)]
        counts: &'a Counts,
    },
}

/// A change that heals.
#[derive(Serialize)]
struct Change<'a> {
    round: usize,
    /// The session in its file and the item in it, counted from 1.
    session: usize,
    item: u32,
    rule: &'a str,
    action: &'a str,
    notes: &'a [String],
}

impl<'a> Change<'a> {
    fn of(applied: &'a Applied) -> Self {
        Self {
            round: applied.round,
            session: applied.session + 1,
            item: applied.item + 1,
            rule: applied.rule,
            action: applied.action,
            notes: &applied.notes,
        }
    }
}
