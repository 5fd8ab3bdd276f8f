//! Reports of `check`, one file per format.

use super::arguments::{FailOn, ReportFormat};
use super::exit::Exit;
use super::output::{counted, safe_line};
use super::style::{Color, Palette};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use retake_core::exchange::ExchangeId;
use retake_core::json::pointer::readable;
use retake_core::rules::{self, Rule, Severity};
use retake_core::safe_text::SafeText;
use retake_live::FilePlace;
use retake_live::report::{FileReport, FindingReport, ProblemReport, SessionReport};
use serde::{Deserialize, Serialize};
use serde_json::ser::Formatter;
use serde_json::{Value, json};
use serde_sarif::sarif::{
    ArtifactLocation, Invocation, Location, LogicalLocation, Message, MultiformatMessageString,
    Notification, PhysicalLocation, PropertyBag, Region, ReportingConfiguration,
    ReportingDescriptor, Result as Finding, ResultLevel, SCHEMA_URL, ToolComponent,
};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Writes what was found, file by file.
pub(super) trait Report {
    /// Writes one file, or keeps it for the end.
    fn file(&mut self, out: &mut dyn Write, file: &FileReport) -> io::Result<()>;

    /// Writes a path that cannot be read, or keeps it for the end.
    fn unreadable(&mut self, out: &mut dyn Write, path: &str, message: &str) -> io::Result<()>;

    /// Writes what comes at the end.
    fn finish(&mut self, out: &mut dyn Write, totals: &Totals) -> io::Result<()>;
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Totals {
    pub(super) files: usize,
    pub(super) sessions: usize,
    /// Sessions with calls whose tools are not known.
    pub(super) without_tools: usize,
    /// Findings by severity: info, warning, error.
    pub(super) findings: [usize; 3],
    /// Findings that the baseline holds; they are not in any report.
    pub(super) known: usize,
    /// Things that could not be read as they stand.
    pub(super) problems: usize,
    /// Whether some of them were not read at all.
    pub(super) is_unread: bool,
    /// The first rule of the worst severity.
    #[serde(skip)]
    pub(super) worst: Option<(Severity, &'static str)>,
    /// Whether a finding is at or above `--fail-on`.
    #[serde(skip)]
    pub(super) failed: bool,
}

impl Totals {
    pub(super) fn add(&mut self, file: &FileReport, fail_on: FailOn) {
        self.files += 1;
        self.sessions += file.sessions.len();
        self.problems += file.problems.len();
        let of_sessions = file.sessions.iter().flat_map(|session| &session.problems);
        self.is_unread |= file
            .problems
            .iter()
            .chain(of_sessions)
            .any(|problem| problem.is_unread);
        for session in &file.sessions {
            self.problems += session.problems.len();
            self.without_tools += usize::from(!session.tools_known && session.calls > 0);
            for finding in &session.findings {
                self.findings[finding.severity as usize] += 1;
                self.failed |= fail_on.includes(finding.severity);
                if self.worst.is_none_or(|(worst, _)| finding.severity > worst) {
                    self.worst = Some((finding.severity, finding.rule.id));
                }
            }
        }
    }

    /// What was found in other files.
    #[cfg(feature = "tables")]
    pub(super) fn merge(&mut self, other: &Self, fail_on: FailOn) {
        self.files += other.files;
        self.sessions += other.sessions;
        self.without_tools += other.without_tools;
        self.known += other.known;
        self.problems += other.problems;
        self.is_unread |= other.is_unread;
        for severity in Severity::ALL {
            let count = other.findings[*severity as usize];
            self.findings[*severity as usize] += count;
            self.failed |= count > 0 && fail_on.includes(*severity);
        }
    }

    /// How the check ends. What could not be read weighs more than what was found: a part of the
    /// question has no answer.
    pub(super) fn exit(&self, unreadable: usize) -> Exit {
        let is_unread = unreadable > 0 || self.is_unread;
        match (self.files, is_unread, self.failed) {
            (0, _, _) => Exit::Usage,
            (_, true, _) => Exit::Unreadable,
            (_, false, true) => Exit::Findings,
            (_, false, false) => Exit::Clean,
        }
    }
}

/// The report of a format that goes to stdout; `None` for tables.
pub(super) fn new(format: ReportFormat, color: Color, fail_on: FailOn) -> Option<Box<dyn Report>> {
    Some(match format {
        ReportFormat::Text => Box::new(Text::new(Palette::of_stdout(color))),
        ReportFormat::Json => Box::new(Json),
        ReportFormat::Sarif => Box::new(Sarif::default()),
        ReportFormat::Junit => Box::new(Junit::new(fail_on)),
        ReportFormat::Github => Box::new(Github),
        ReportFormat::Parquet | ReportFormat::Arrow => return None,
    })
}

/// Where a finding is, in words: "session reader-ben, turn 3, item 9"; the session only
/// where there are several.
fn place(file: &FileReport, session: &SessionReport, finding: &FindingReport) -> String {
    let session =
        (file.sessions.len() > 1).then(|| format!("session {}", safe_line(&session.name)));
    let turn = finding.turn.map(|turn| format!("turn {turn}"));
    let item = finding.item.map(|item| format!("item {item}"));
    let parts = [session, turn, item, finding.record.clone()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The sentence of a finding with its place, for reports that know files and lines only.
fn placed_message(file: &FileReport, session: &SessionReport, finding: &FindingReport) -> String {
    let message = safe_line(&finding.message);
    match place(file, session, finding) {
        place if place.is_empty() => message,
        place => format!("{message} ({place})"),
    }
}

// Workflow commands of GitHub Actions: annotations beside the changed files
// (GitHub Docs, "Workflow commands").

struct Github;

impl Report for Github {
    fn file(&mut self, out: &mut dyn Write, file: &FileReport) -> io::Result<()> {
        let warn = |out: &mut dyn Write, problem: &ProblemReport| {
            let message = safe_line(&problem.message);
            let place = problem.place;
            command(out, "warning", &file.path, place, "problem", &message)
        };
        for problem in &file.problems {
            warn(out, problem)?;
        }
        for session in &file.sessions {
            for problem in &session.problems {
                warn(out, problem)?;
            }
            for finding in &session.findings {
                let level = match finding.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                    Severity::Info => "notice",
                };
                let message = placed_message(file, session, finding);
                command(
                    out,
                    level,
                    &file.path,
                    finding.place,
                    finding.rule.id,
                    &message,
                )?;
            }
        }
        Ok(())
    }

    fn unreadable(&mut self, out: &mut dyn Write, path: &str, message: &str) -> io::Result<()> {
        let (place, message) = (FilePlace::default(), safe_line(message));
        command(out, "error", path, place, "unreadable", &message)
    }

    fn finish(&mut self, _out: &mut dyn Write, _totals: &Totals) -> io::Result<()> {
        Ok(())
    }
}

fn command(
    out: &mut dyn Write,
    level: &str,
    path: &str,
    place: FilePlace,
    title: &str,
    message: &str,
) -> io::Result<()> {
    let path = property(&safe_line(path));
    let number =
        |name, number: Option<u64>| number.map_or_else(String::new, |it| format!(",{name}={it}"));
    let place = number("line", place.line) + &number("col", place.column);
    let (title, message) = (property(&format!("retake {title}")), data(message));
    writeln!(out, "::{level} file={path}{place},title={title}::{message}")
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

// One JSON object a line: a contract that scripts rely on.
//
// Absent values are null. Turns, items and lines count from 1, bytes from 0. `session` is the session's label
// where that tells it from the others of its file, else its number counted from 1, always a string; `show
// --session` takes the same. Texts are whole, and characters that a terminal would obey or hide are spelled
// `\uXXXX`, so that the text is the same for a parser and harmless for an eye.

struct Json;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'a> {
    Finding {
        /// Only where exchanges are watched.
        #[serde(skip_serializing_if = "Option::is_none")]
        exchange: Option<ExchangeId>,
        path: &'a str,
        session: &'a str,
        #[serde(flatten)]
        finding: &'a FindingReport,
    },
    Problem {
        path: &'a str,
        #[serde(flatten)]
        problem: &'a ProblemReport,
    },
    Session {
        path: &'a str,
        session: &'a str,
        format: &'a str,
        #[serde(flatten)]
        report: &'a SessionReport,
        findings: BTreeMap<&'a str, usize>,
        problems: usize,
    },
}

impl Report for Json {
    fn file(&mut self, out: &mut dyn Write, file: &FileReport) -> io::Result<()> {
        let path = &file.path;
        for problem in &file.problems {
            write_line(out, &Line::Problem { path, problem })?;
        }
        for session in &file.sessions {
            for problem in &session.problems {
                write_line(out, &Line::Problem { path, problem })?;
            }
            for finding in &session.findings {
                write_finding(out, None, file, session, finding)?;
            }
            write_line(out, &session_line(file, session))?;
        }
        Ok(())
    }

    fn unreadable(&mut self, out: &mut dyn Write, path: &str, message: &str) -> io::Result<()> {
        let message = message.to_owned();
        let problem = &ProblemReport {
            place: FilePlace::default(),
            byte: 0,
            message,
            is_unread: true,
        };
        write_line(out, &Line::Problem { path, problem })
    }

    fn finish(&mut self, _out: &mut dyn Write, _totals: &Totals) -> io::Result<()> {
        Ok(())
    }
}

/// The line of a finding, as `check` writes it; with the exchange that it was found in, where there is one.
pub(in crate::cli) fn write_finding(
    out: &mut dyn Write,
    exchange: Option<ExchangeId>,
    file: &FileReport,
    session: &SessionReport,
    finding: &FindingReport,
) -> io::Result<()> {
    let line = Line::Finding {
        exchange,
        path: &file.path,
        session: &session.name,
        finding,
    };
    write_line(out, &line)
}

fn session_line<'a>(file: &'a FileReport, session: &'a SessionReport) -> Line<'a> {
    let mut findings = BTreeMap::new();
    for finding in &session.findings {
        *findings.entry(finding.rule.id).or_insert(0) += 1;
    }
    Line::Session {
        path: &file.path,
        session: &session.name,
        format: file.format,
        report: session,
        findings,
        problems: session.problems.len(),
    }
}

/// Writes one object on a line of its own.
pub(in crate::cli) fn write_line(out: &mut dyn Write, line: &impl Serialize) -> io::Result<()> {
    line.serialize(&mut serde_json::Serializer::with_formatter(
        &mut *out, Harmless,
    ))?;
    out.write_all(b"\n")
}

/// Compact JSON whose strings hold nothing that a terminal obeys or hides.
struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut buffer = [0; 4];
        for character in fragment.chars() {
            let text = character.encode_utf8(&mut buffer);
            if is_harmless(text) {
                writer.write_all(text.as_bytes())?;
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a character by itself is drawn as it is.
fn is_harmless(character: &str) -> bool {
    character.is_ascii() && character != "\u{7f}"
        || SafeText::from_str(character).as_plain() == character
}

// The report for people: `path:line: severity rule: message`, with the place in the session and what can
// be done under it.

struct Text {
    palette: Palette,
    /// Whether there is text above the next session.
    begun: bool,
}

impl Text {
    fn new(palette: Palette) -> Self {
        Self {
            palette,
            begun: false,
        }
    }

    fn session(
        &mut self,
        out: &mut dyn Write,
        file: &FileReport,
        session: &SessionReport,
    ) -> io::Result<()> {
        if session.findings.is_empty() && session.problems.is_empty() {
            return Ok(());
        }
        if self.begun {
            writeln!(out)?;
        }
        self.begun = true;
        let path = shown(&file.path);
        writeln!(out, "{}", self.palette.bold(heading(file, session)))?;
        for problem in &session.problems {
            self.problem(out, &path, problem.place, &problem.message)?;
        }
        for finding in &session.findings {
            self.finding(out, &path, finding)?;
        }
        Ok(())
    }

    fn problem(
        &self,
        out: &mut dyn Write,
        path: &str,
        place: FilePlace,
        message: &str,
    ) -> io::Result<()> {
        let word = self.palette.warning("problem");
        writeln!(out, "{path}{place}: {word}: {}", safe_line(message))
    }

    fn finding(&self, out: &mut dyn Write, path: &str, finding: &FindingReport) -> io::Result<()> {
        let place = finding.place;
        let severity = self.palette.severity(finding.severity);
        let rule = self.palette.bold(finding.rule.id);
        let message = safe_line(&finding.message);
        writeln!(out, "{path}{place}: {severity} {rule}: {message}")?;
        for line in details(finding) {
            writeln!(out, "  {}", self.palette.dim(line))?;
        }
        Ok(())
    }
}

/// The lines under a finding: its place in the session with the cause, and its offers.
pub(in crate::cli) fn details(finding: &FindingReport) -> Vec<String> {
    let says_cause = finding.rule.message.contains("{cause}");
    let says_pointer = finding.rule.message.contains("{pointer}");
    let pointer = finding
        .pointer
        .as_deref()
        .filter(|pointer| !pointer.is_empty() && !says_pointer);
    let facts = [
        finding.turn.map(|turn| format!("turn {turn}")),
        finding.item.map(|item| format!("item {item}")),
        finding.record.clone(),
        finding.call_id.as_deref().map(safe_line),
        pointer.map(|pointer| format!("at {}", safe_line(&readable(pointer)))),
        finding
            .cause
            .filter(|_| !says_cause)
            .map(|cause| format!("cause: {cause}")),
    ];
    let facts = facts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let offers = finding
        .offers
        .iter()
        .map(|offer| format!("{} ({})", offer.action, offer.safety.word()))
        .collect::<Vec<_>>();
    let offers = (!offers.is_empty()).then(|| format!("offers: {}", offers.join(", ")));
    let facts = Some(facts).filter(|facts| !facts.is_empty());
    [facts, offers].into_iter().flatten().collect()
}

/// A path as people read it.
fn shown(path: &str) -> String {
    match path {
        "-" => "<stdin>".to_owned(),
        path => safe_line(path),
    }
}

fn heading(file: &FileReport, session: &SessionReport) -> String {
    let mut words = shown(&file.path);
    if file.sessions.len() > 1 {
        words.push_str(&format!(", session {}", safe_line(&session.name)));
    }
    let turns = counted(session.turns, "turn");
    let items = counted(session.items, "item");
    words.push_str(&format!("  {}, {turns}, {items}", file.format));
    if let Some(tools) = &file.tools_from {
        words.push_str(&format!(", tools from {}", safe_line(tools)));
    }
    words
}

impl Report for Text {
    fn file(&mut self, out: &mut dyn Write, file: &FileReport) -> io::Result<()> {
        for problem in &file.problems {
            let path = shown(&file.path);
            self.problem(out, &path, problem.place, &problem.message)?;
        }
        for session in &file.sessions {
            self.session(out, file, session)?;
        }
        Ok(())
    }

    /// Standard error has it.
    fn unreadable(&mut self, _out: &mut dyn Write, _path: &str, _message: &str) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write, totals: &Totals) -> io::Result<()> {
        if self.begun {
            writeln!(out)?;
        }
        writeln!(out, "{}", self.palette.bold(summary(totals)))?;
        if totals.known > 0 {
            let known = counted(totals.known, "finding");
            writeln!(
                out,
                "{}",
                self.palette
                    .dim(format!("{known} of the baseline not counted"))
            )?;
        }
        if totals.without_tools > 0 {
            let of = match totals.sessions {
                1 => "this session".to_owned(),
                all => format!("{} of {all} sessions", totals.without_tools),
            };
            let hint = "hint: the offered tools are not recorded in";
            let remedy = "--tools FILE lets the names and arguments of calls be judged";
            writeln!(
                out,
                "{}",
                self.palette.dim(format!("{hint} {of}; {remedy}"))
            )?;
        }
        if let Some((_, rule)) = totals.worst {
            let hint = format!("hint: `retake explain {rule}` explains a rule and what to do");
            writeln!(out, "{}", self.palette.dim(hint))?;
        }
        Ok(())
    }
}

/// "2 errors, 1 warning in 3 sessions of 2 files".
pub(super) fn summary(totals: &Totals) -> String {
    let found = Severity::ALL.iter().rev().filter_map(|severity| {
        let count = totals.findings[*severity as usize];
        (count > 0).then(|| counted(count, severity.word()))
    });
    let problems = (totals.problems > 0).then(|| counted(totals.problems, "problem"));
    let found = found.chain(problems).collect::<Vec<_>>();
    let found = match found.as_slice() {
        [] => "no findings".to_owned(),
        found => found.join(", "),
    };
    let (sessions, files) = (
        counted(totals.sessions, "session"),
        counted(totals.files, "file"),
    );
    format!("{found} in {sessions} of {files}")
}

// JUnit XML: a suite for each file, a case for each finding; a session without findings is a case that passes.

/// The JUnit report. It is written at the end: its head holds the totals.
struct Junit {
    report: quick_junit::Report,
    fail_on: FailOn,
}

impl Junit {
    /// An empty report; findings that do not make the exit code 1 pass, with their text as the
    /// output of the case.
    fn new(fail_on: FailOn) -> Self {
        Self {
            report: quick_junit::Report::new("retake check"),
            fail_on,
        }
    }

    fn case(
        &self,
        file: &FileReport,
        session: &SessionReport,
        finding: &FindingReport,
    ) -> TestCase {
        let place = place(file, session, finding);
        let message = safe_line(&finding.message);
        let fails = self.fail_on.includes(finding.severity);
        let status = if fails {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status
                .set_type(finding.rule.id)
                .set_message(message.as_str());
            status.set_description(description(file, finding, &message));
            status
        } else {
            TestCaseStatus::success()
        };
        let name = format!("{} ({place})", finding.rule.id);
        let mut case = TestCase::new(name, status);
        case.set_classname(safe_line(&file.path));
        if !fails {
            case.set_system_out(description(file, finding, &message));
        }
        case
    }
}

/// What a reader of the report sees first.
fn description(file: &FileReport, finding: &FindingReport, message: &str) -> String {
    let (path, place) = (safe_line(&file.path), finding.place);
    let word = finding.severity.word();
    let first = format!("{path}{place}: {word} {}: {message}", finding.rule.id);
    std::iter::once(first)
        .chain(details(finding))
        .collect::<Vec<_>>()
        .join("\n")
}

impl Report for Junit {
    fn file(&mut self, _out: &mut dyn Write, file: &FileReport) -> io::Result<()> {
        let mut suite = TestSuite::new(safe_line(&file.path));
        for session in &file.sessions {
            if session.findings.is_empty() {
                let name = format!("session {}", safe_line(&session.name));
                let mut case = TestCase::new(name, TestCaseStatus::success());
                case.set_classname(safe_line(&file.path));
                suite.add_test_case(case);
            }
            let cases = session.findings.iter();
            suite.add_test_cases(cases.map(|finding| self.case(file, session, finding)));
        }
        let problems = file
            .sessions
            .iter()
            .flat_map(|session| &session.problems)
            .chain(&file.problems)
            .map(|problem| {
                let (place, message) = (problem.place, safe_line(&problem.message));
                format!("{}{place}: problem: {message}", safe_line(&file.path))
            })
            .collect::<Vec<_>>();
        if !problems.is_empty() {
            suite.set_system_err(problems.join("\n"));
        }
        self.report.add_test_suite(suite);
        Ok(())
    }

    fn unreadable(&mut self, _out: &mut dyn Write, path: &str, message: &str) -> io::Result<()> {
        let (path, message) = (safe_line(path), safe_line(message));
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type("unreadable").set_message(message.as_str());
        status.set_description(format!("{path}: {message}"));
        let mut case = TestCase::new("unreadable", status);
        case.set_classname(path.as_str());
        let mut suite = TestSuite::new(path);
        suite.add_test_case(case);
        self.report.add_test_suite(suite);
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write, _totals: &Totals) -> io::Result<()> {
        self.report.serialize(out).map_err(io::Error::other)
    }
}

// SARIF 2.1.0 for code scanning (OASIS standard, 2020). Results are written as they come, between the head and
// the tail of the log.

#[derive(Default)]
struct Sarif {
    results: usize,
    notifications: Vec<Notification>,
    /// Whether a path could not be read at all.
    has_unread: bool,
}

impl Report for Sarif {
    fn file(&mut self, out: &mut dyn Write, file: &FileReport) -> io::Result<()> {
        let in_sessions = file.sessions.iter().flat_map(|session| &session.problems);
        let problems = file.problems.iter().chain(in_sessions);
        self.notifications.extend(problems.map(|problem| {
            let message = &problem.message;
            notification(ResultLevel::Warning, &file.path, problem.place, message)
        }));
        for session in &file.sessions {
            for finding in &session.findings {
                self.separate(out)?;
                write_value(out, &result(file, session, finding))?;
            }
        }
        Ok(())
    }

    fn unreadable(&mut self, _out: &mut dyn Write, path: &str, message: &str) -> io::Result<()> {
        let unread = notification(ResultLevel::Error, path, FilePlace::default(), message);
        self.notifications.push(unread);
        self.has_unread = true;
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write, _totals: &Totals) -> io::Result<()> {
        if self.results == 0 {
            write_head(out)?;
        }
        let notifications = std::mem::take(&mut self.notifications);
        let invocation = Invocation::builder()
            .execution_successful(!self.has_unread)
            .tool_execution_notifications(notifications)
            .build();
        write!(out, "\n],\"invocations\":")?;
        write_value(out, &[invocation])?;
        writeln!(out, "}}]}}")
    }
}

impl Sarif {
    /// The head before the first result, a comma before the others.
    fn separate(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.results += 1;
        if self.results == 1 {
            write_head(out)?;
            writeln!(out)
        } else {
            writeln!(out, ",")
        }
    }
}

fn write_head(out: &mut dyn Write) -> io::Result<()> {
    let driver = ToolComponent::builder()
        .name("retake")
        .version(env!("CARGO_PKG_VERSION"))
        .semantic_version(env!("CARGO_PKG_VERSION"))
        .rules(rules::all().map(descriptor).collect::<Vec<_>>())
        .build();
    write!(
        out,
        "{{\"$schema\":\"{SCHEMA_URL}\",\"version\":\"2.1.0\",\"runs\":[{{\"tool\":{{\"driver\":"
    )?;
    write_value(out, &driver)?;
    write!(out, "}},\"columnKind\":\"unicodeCodePoints\",\"results\":[")
}

fn descriptor(rule: &Rule) -> ReportingDescriptor {
    let text = |text: &str| MultiformatMessageString::builder().text(text).build();
    let page = &rule.page;
    let level = ReportingConfiguration::builder()
        .level(json!(level(rule.severity)))
        .build();
    ReportingDescriptor::builder()
        .id(rule.id)
        .short_description(text(rule.summary))
        .full_description(text(&format!("{} {}", page.what, page.why)))
        .help(text(&format!(
            "{}\n\nLimits: {}",
            page.what_to_do, page.limits
        )))
        .default_configuration(level)
        .build()
}

fn result(file: &FileReport, session: &SessionReport, finding: &FindingReport) -> Finding {
    let offers = finding
        .offers
        .iter()
        .map(|offer| json!({"action": offer.action, "safety": offer.safety.word()}))
        .collect::<Vec<_>>();
    let properties = [
        ("session", json!(session.name)),
        ("turn", json!(finding.turn)),
        ("item", json!(finding.item)),
        ("tool", json!(finding.tool)),
        ("call_id", json!(finding.call_id)),
        ("pointer", json!(finding.pointer)),
        ("cause", json!(finding.cause)),
        ("offers", Value::Array(offers)),
    ];
    let properties = properties
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.to_owned(), value))
        .collect::<std::collections::BTreeMap<_, _>>();
    let place = place(file, session, finding);
    let logical = LogicalLocation::builder()
        .fully_qualified_name(place)
        .build();
    let location = Location::builder()
        .physical_location(physical(&file.path, finding.place))
        .logical_locations(vec![logical])
        .build();
    Finding::builder()
        .rule_id(finding.rule.id)
        .level(level(finding.severity))
        .message(message(&placed_message(file, session, finding)))
        .locations(vec![location])
        .properties(
            PropertyBag::builder()
                .additional_properties(properties)
                .build(),
        )
        .build()
}

fn notification(level: ResultLevel, path: &str, place: FilePlace, words: &str) -> Notification {
    let location = Location::builder()
        .physical_location(physical(path, place))
        .build();
    Notification::builder()
        .level(json!(level))
        .message(message(&safe_line(words)))
        .locations(vec![location])
        .build()
}

fn message(text: &str) -> Message {
    Message::builder().text(text).build()
}

fn physical(path: &str, place: FilePlace) -> PhysicalLocation {
    let artifact = ArtifactLocation::builder().uri(uri(path)).build();
    let numbers = [place.line, place.column];
    let [line, column] = numbers.map(|number| number.and_then(|it| i64::try_from(it).ok()));
    let region = |line| match column {
        Some(column) => Region::builder()
            .start_line(line)
            .start_column(column)
            .build(),
        None => Region::builder().start_line(line).build(),
    };
    match line {
        Some(line) => PhysicalLocation::builder()
            .artifact_location(artifact)
            .region(region(line))
            .build(),
        None => PhysicalLocation::builder()
            .artifact_location(artifact)
            .build(),
    }
}

/// SARIF's words for severities (§3.27.10).
fn level(severity: Severity) -> ResultLevel {
    match severity {
        Severity::Error => ResultLevel::Error,
        Severity::Warning => ResultLevel::Warning,
        Severity::Info => ResultLevel::Note,
    }
}

/// A path as a URI reference: what RFC 3986 does not allow in a path is percent-encoded.
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    let mut uri = scheme.to_owned();
    for byte in path.trim_start_matches("./").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte as char);
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

fn write_value(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(out, Harmless))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_can_end_its_command() {
        assert_eq!(data("50%\r\n::error::x"), "50%25%0D%0A::error::x");
        assert_eq!(property("a:b,c=d::e"), "a%3Ab%2Cc=d%3A%3Ae");
    }
}

#[cfg(test)]
mod json_tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        text.serialize(&mut serde_json::Serializer::with_formatter(
            &mut out, Harmless,
        ))
        .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn dangerous_characters_are_spelled_and_nothing_is_lost() {
        let text = "a\u{1b}[2J\u{9b}1m\u{202e}x\u{200b}y\u{7f} \u{feff}\u{e0041}\u{2028}é漢";
        let json = written(text);
        assert_eq!(
            json,
            r#""a\u001b[2J\u009b1m\u202ex\u200by\u007f \ufeff\udb40\udc41\u2028é漢""#
        );
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}

#[cfg(test)]
mod sarif_tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("./a b/ü%.json"), "a%20b/%C3%BC%25.json");
        assert_eq!(uri("/tmp/x:y.json"), "file:///tmp/x%3Ay.json");
    }
}
