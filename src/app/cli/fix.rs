//! `fix`: a copy of a recording to which everything safe that the rules offer was applied.

use super::arguments::FixArguments;
use super::exit::{Exit, Failure, print_error, refused};
use super::inputs::{self, as_request_first, inputs_of, refuse_to_overwrite, session_named};
use super::output::{JsonOutput, Output, counted, name_of, safe_line};
use super::recovery::{item_with, no_offer, value_text, wordings};
use super::style::Palette;
use crate::tui::state::pretty::lay_out;
use retake_core::actions::{ActionError, Safety};
use retake_core::formats::{CannotWrite, is_fixed};
use retake_core::rules::Severity;
use retake_core::session::{Dialect, HistoryChange, Rope, Session, Source, compare, operations_of};
use retake_live::replace::Backup;
use retake_live::report::{LinesByPosition, session_names};
use retake_live::{
    Applied, Base, BaseError, ChosenError, ChosenFix, FixRefusal, FixRefusalReason, FixReport,
    FixRun, InputError, Opened, Recording, SaveError, SpeculativeWrite, WriteError,
    exit_on_interrupt, is_same_file, save_take, warnings_left, write_take,
};
use similar::{DiffTag, group_diff_ops};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

pub(super) fn run(arguments: &FixArguments) -> Result<Exit, Failure> {
    let mut inputs = inputs_of(&arguments.reading)?.redacting(arguments.redact);
    inputs.options.keeps = true;
    inputs.options.as_file = true;
    exit_on_interrupt();
    check_output(arguments)?;
    // What was read without its secrets is no longer the file.
    let is_file = arguments.path != Path::new("-") && !arguments.redact;
    let path = Some(arguments.path.as_path()).filter(|_| is_file);
    let unreadable = |error: InputError| Failure::unreadable(&arguments.path, &error);
    let Opened { recording, .. } = inputs::read_one(&inputs, &arguments.path, "fix")?;
    let base = Base::of_records(recording, path).map_err(|error| no_base(arguments, &error))?;
    if base.is_database() && arguments.writes_to_stdout() && std::io::stdout().is_terminal() {
        return Err(Failure::with_hint(
            "a database cannot be printed to a terminal",
            "name a file with -o",
        ));
    }
    let ahead = written_ahead(arguments, &base);
    let mending = FixRun {
        base: &base,
        wants: &|_| true,
        up_to: match arguments.unsafe_too || is_chosen(arguments) {
            true => Safety::Unsafe,
            false => Safety::Safe,
        },
        target: inputs.target,
        complete: &|recording: &mut Recording| {
            inputs::complete(&inputs, &arguments.path, recording)
        },
        progress: &|_, _| (),
        before_check: &|rope: &Arc<Rope>| {
            if let Some(ahead) = &ahead {
                ahead.begin(rope);
            }
        },
        cuts_torn_line: arguments.unsafe_too,
        names_format: inputs.options.format.is_some(),
    };
    let report = match is_chosen(arguments) {
        true => fix_chosen(arguments, &mending)?,
        false => mending.run().map_err(unreadable)?,
    };
    if report.applied.is_empty() {
        let never = report.refused.iter().find_map(never_written);
        if let Some(reason) = never {
            let message = format!("{}: {reason}", name_of(&arguments.path));
            return Err(Failure::with_hint(message, convert_first(arguments)));
        }
    }
    write(arguments, &base, &report, ahead.as_ref())?;
    print_report(&report, arguments);
    if report.rope.len() <= MOST_CHECKED {
        print_warnings(&report, inputs.target).map_err(unreadable)?;
    }
    if let Some(output) = &arguments.output
        && !arguments.writes_to_stdout()
    {
        inputs::copy_tools(&inputs, &arguments.path, output)?;
    }
    let errors = left(&report, Severity::Error);
    Ok(match errors {
        _ if inputs::exit_of(&report.recording) == Exit::Unreadable => Exit::Unreadable,
        0 => Exit::Clean,
        _ => Exit::Findings,
    })
}

/// Whether one recovery is chosen, instead of everything that is safe.
fn is_chosen(arguments: &FixArguments) -> bool {
    let (finding, recovery) = (&arguments.finding, &arguments.recovery);
    let finding = finding.session.is_some() || finding.item.is_some() || finding.rule.is_some();
    let words = recovery.wording.is_some() || recovery.words.is_some();
    finding || words || recovery.action.is_some() || recovery.value.is_some()
}

/// Carries out the recovery that the command line names, for the first finding that offers it.
fn fix_chosen(arguments: &FixArguments, mending: &FixRun<'_>) -> Result<FixReport, Failure> {
    let (path, wish) = (&arguments.path, &arguments.recovery);
    let wordings = wordings();
    let names = session_names(&mending.base.recording().sessions);
    let only = arguments.finding.session.as_deref();
    let only = only.map(|wanted| session_named(path, &names, wanted));
    let only = only.transpose()?;
    let mut fits = None;
    let mut in_words = None;
    let report = mending.run_chosen(|number, session, finding| {
        let is_wanted = only.is_none_or(|only| only == number) && arguments.finding.fits(finding);
        if !is_wanted || in_words.is_some() {
            return None;
        }
        fits.get_or_insert((finding.rule.id, finding.item));
        let action = *wish.actions_of(finding).first()?;
        let edited = |value| item_with(session, finding.item?, value);
        let words = match (&wish.value, action.id) {
            (Some(value), "fallback") => value_text(session, value),
            (Some(value), "edit") if edited(value).is_some() => edited(value).unwrap_or_default(),
            _ => match wish.template(&wordings, finding.rule.id, action.id) {
                Ok((_, template)) => template,
                Err(reason) => {
                    in_words = Some(reason);
                    return None;
                }
            },
        };
        Some(ChosenFix {
            action,
            words: Some(words).filter(|words| !words.is_empty()),
            include_in_history: wish.include_in_history,
        })
    });
    let name = name_of(path);
    report.map_err(|error| match (error, in_words, fits) {
        (ChosenError::Input(error), ..) => Failure::unreadable(path, &error),
        (_, Some(reason), _) => refused(format!("{name}: {reason}")),
        (ChosenError::NoFinding, _, fits) => no_offer(path, &arguments.finding, wish, fits),
        (error @ ChosenError::Refused { .. }, ..) => {
            let message = format!("{name}: {}", safe_line(&error.to_string()));
            match error {
                ChosenError::Refused {
                    action: "edit",
                    reason:
                        FixRefusalReason::Action(
                            ActionError::NeedsWords(_) | ActionError::BadWords(_),
                        ),
                    ..
                } => Failure::with_hint(message, EDIT),
                ChosenError::Refused {
                    reason: FixRefusalReason::Action(ActionError::NeedsWords(_)),
                    ..
                } => Failure::with_hint(message, "--words gives a text, --value a fallback"),
                _ => Failure::refused(message),
            }
        }
    })
}

/// What `edit` takes.
const EDIT: &str = "--value gives a call other arguments, or a result another text, as JSON; --words takes the whole item";

fn check_output(arguments: &FixArguments) -> Result<(), Failure> {
    if arguments.in_place && arguments.path == Path::new("-") {
        let message = "standard input cannot be fixed in place";
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
        FixRefusalReason::Writing(_) | FixRefusalReason::Action(_) | FixRefusalReason::NoGain => {
            None
        }
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
    let is_text = !base.is_database() && is_fixed(base.recording().format);
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
        print_diff(&mut output, palette, base, report)?;
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
            Err(error) => Err(refused(error)),
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
        _ => refused(error),
    })?;
    if let Some(kept) = replaced.backup {
        print_error(
            &format!("the recording as it was: {}", name_of(&kept)),
            None,
        );
    }
    Ok(())
}

// What a take changes, for a terminal: item by item, as lines of laid-out JSON.

/// How many unchanged lines are shown around a changed one.
const CONTEXT: usize = 3;

/// A longer line is shown from near its first difference on: after the cut, it may be all
/// there is to see.
const LONG: usize = 500;
/// How many characters of a long line are shown at its beginning, and before its first difference.
const KEPT: usize = 60;

/// Prints what was changed.
fn print_diff(
    output: &mut Output,
    palette: Palette,
    base: &Base,
    report: &FixReport,
) -> io::Result<()> {
    let recording = base.recording();
    let sessions = recording.sessions.iter().zip(&report.recording.sessions);
    let mut is_first = true;
    for (number, (before, after)) in sessions.enumerate() {
        let changes =
            compare((before, base.rope()), (after, &report.rope)).map_err(io::Error::other)?;
        let hunks = hunks_of(&changes);
        if hunks.is_empty() {
            continue;
        }
        if std::mem::take(&mut is_first) {
            let name = name_of(Path::new(&recording.name));
            writeln!(output, "{}", palette.bold(format!("--- {name}")))?;
            writeln!(output, "{}", palette.bold(format!("+++ {name} (fixed)")))?;
        }
        if recording.sessions.len() > 1 {
            let label = safe_line(&before.label);
            writeln!(
                output,
                "{}",
                palette.bold(format!("session {} {label}", number + 1))
            )?;
        }
        let items = hunks.iter().filter_map(|hunk| hunk.old.or(hunk.follows));
        let items = items.filter_map(|item| Some((number, u32::try_from(item).ok()?)));
        let lines = LinesByPosition::new(recording, items).map_err(io::Error::other)?;
        let place = |item: Option<usize>| {
            let item = item.and_then(|item| u32::try_from(item).ok());
            item.map_or_else(String::new, |item| lines.words(recording, before, item))
        };
        for hunk in &hunks {
            let place = match (place(hunk.old), place(hunk.follows)) {
                (own, _) if !own.is_empty() => own,
                (_, before) if !before.is_empty() => format!("after {before}"),
                _ => String::new(),
            };
            let new = hunk.new.map(|new| (after, new));
            let old = hunk.old.map(|old| (before, old));
            write_hunk(output, palette, &place, old, new)?;
        }
    }
    Ok(())
}

/// One item that is changed, removed (no `new`) or added (no `old`).
struct Hunk {
    old: Option<usize>,
    new: Option<usize>,
    /// The item of the recording after which an added one comes.
    follows: Option<usize>,
}

fn hunks_of(changes: &[HistoryChange]) -> Vec<Hunk> {
    let mut follows = None;
    let hunk = |change: &HistoryChange| {
        let (old, new) = match change {
            HistoryChange::Same { before, .. } => {
                follows = before.end.checked_sub(1);
                return None;
            }
            HistoryChange::Changed { before, after } => (Some(*before), Some(*after)),
            HistoryChange::Removed { before } => (Some(*before), None),
            HistoryChange::Added { after } => (None, Some(*after)),
        };
        let hunk = Hunk { old, new, follows };
        follows = old.or(follows);
        Some(hunk)
    };
    changes.iter().filter_map(hunk).collect()
}

fn write_hunk(
    output: &mut Output,
    palette: Palette,
    place: &str,
    old: Option<(&Session, usize)>,
    new: Option<(&Session, usize)>,
) -> io::Result<()> {
    let Some((session, index)) = old.or(new) else {
        return Ok(());
    };
    let item = &session.items[index];
    let name = safe_line(session.name(item));
    let place = match place {
        "" => "@@".to_owned(),
        place => format!("@@ {place} @@"),
    };
    let change = match (old, new) {
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "removed",
        (None, _) => "added",
    };
    let heading = format!(
        "{place} item {}, {change}: {} {name}",
        index + 1,
        item.kind.word()
    );
    writeln!(output, "{}", palette.info(heading.trim_end()))?;
    let texts = [old, new].map(|place| {
        place.map_or(Ok(String::new()), |(session, index)| {
            text_of(session, index)
        })
    });
    let [old, new] = texts;
    let (old, new) = (old?, new?);
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    for operation in group_diff_ops(operations_of(&old, &new), CONTEXT)
        .iter()
        .flatten()
    {
        let (gone, come) = (&old[operation.old_range()], &new[operation.new_range()]);
        if operation.tag() == DiffTag::Equal {
            for line in gone {
                writeln!(output, "  {}", safe_line(line))?;
            }
            continue;
        }
        // Lines that take each other's places are shown from where they differ on.
        let is_same_count = gone.len() == come.len();
        let shown = |line: &str, other: Option<&&str>| match other.filter(|_| is_same_count) {
            Some(other) => safe_line(&around(line, other)),
            None => safe_line(line),
        };
        for (at, line) in gone.iter().enumerate() {
            let line = shown(line, come.get(at));
            writeln!(output, "{}", palette.error(format!("- {line}")))?;
        }
        for (at, line) in come.iter().enumerate() {
            let line = shown(line, gone.get(at));
            writeln!(output, "{}", palette.added(format!("+ {line}")))?;
        }
    }
    Ok(())
}

/// A long line without most of what it begins with like the other one.
fn around<'a>(line: &'a str, other: &str) -> Cow<'a, str> {
    let same = line.chars().zip(other.chars());
    let same = same.take_while(|(one, two)| one == two).count();
    if line.len() <= LONG || same <= 2 * KEPT {
        return line.into();
    }
    let start: String = line.chars().take(KEPT).collect();
    let rest: String = line.chars().skip(same - KEPT).collect();
    format!("{start} … {rest}").into()
}

/// An item as lines of laid-out JSON.
fn text_of(session: &Session, index: usize) -> io::Result<String> {
    let bytes = session
        .bytes(&session.items[index])
        .map_err(io::Error::other)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = lay_out(&text).into_iter().map(|line| {
        let pieces = line.pieces.iter().map(|(_, range)| &text[range.clone()]);
        format!(
            "{}{}\n",
            "  ".repeat(line.depth),
            pieces.collect::<String>()
        )
    });
    Ok(lines.collect())
}

// What `fix` says on stderr: what was done, what is left, and why offers could not be carried out.

/// The largest text that is checked once more for warnings, in bytes: to mend a larger one takes no longer than it must.
const MOST_CHECKED: u64 = 64 << 20;
/// How many actions and how many refusals are listed one by one.
const MOST_LINES: usize = 20;

/// How many findings of a severity are left.
fn left(report: &FixReport, severity: Severity) -> usize {
    let left = report.found[1].iter();
    left.filter(|((of, _), _)| *of == severity)
        .map(|(_, count)| count)
        .sum()
}

/// Says what was done, or with `--diff` would be, what is left, and what was refused.
fn print_report(report: &FixReport, arguments: &FixArguments) {
    let is_trial = arguments.diff;
    let unread = report.recording.problems.iter();
    let unread = unread.filter(|problem| problem.kind.is_unread()).count();
    let applied = match is_trial {
        true => "would be applied",
        false => "applied",
    };
    let left_over = match (is_trial, unread) {
        (true, 0) => "would be left",
        (true, _) => "would be left in what could be read",
        (false, 0) => "left",
        (false, _) => "left in what could be read",
    };
    let errors = left(report, Severity::Error);
    let summary = format!(
        "{} {applied}, {} {left_over}",
        counted(report.applied.len(), "action"),
        counted(errors, "error")
    );
    print_error(&summary, None);
    if report.respelled > 0 {
        let strings = counted(report.respelled, "string");
        print_lines(&[format!("{strings} spelled as JSON allows")]);
    }
    print_lines(&applied_lines(report));
    print_lines(&torn_lines(report));
    if unread > 0 {
        let lines = [format!("{} could not be read", counted(unread, "place"))];
        print_lines(&lines);
    }
    print_lines(&left_lines(report));
    if !arguments.unsafe_too && !report.unsafe_offers.is_empty() {
        let offers = report.unsafe_offers.iter();
        let offers = offers.map(|(rule, count)| format!("{rule} {count}"));
        let offers = offers.collect::<Vec<_>>().join(", ");
        print_lines(&[format!(
            "--unsafe applies fixes that change what the model saw or did: {offers}"
        )]);
    }
    let refused = refusals(report);
    if !refused.is_empty() {
        print_error("could not be done:", None);
        print_lines(&first_of(refused));
    }
}

/// The errors that are left, by rule, and the calls that wait: they are not a fault, but no provider takes a
/// history that ends with them.
fn left_lines(report: &FixReport) -> Vec<String> {
    let found = || report.found[1].iter();
    let errors = found().filter(|((severity, _), _)| *severity == Severity::Error);
    let errors = errors.map(|((_, rule), count)| format!("{rule} {count}"));
    let errors = errors.collect::<Vec<_>>().join(", ");
    let waiting: usize = found()
        .filter(|((_, rule), _)| *rule == "pending-call")
        .map(|(_, count)| count)
        .sum();
    let errors = (!errors.is_empty()).then(|| format!("left: {errors}"));
    let waiting = (waiting > 0).then(|| match waiting {
        1 => "1 call still waits for its output".to_owned(),
        _ => format!("{waiting} calls still wait for their outputs"),
    });
    errors.into_iter().chain(waiting).collect()
}

/// The warnings that stay: nothing is wrong with the result, but `check` lists them.
fn print_warnings(report: &FixReport, target: Option<Dialect>) -> Result<(), InputError> {
    let left = warnings_left(report, target)?;
    let rules = left.iter().map(|(rule, count)| format!("{rule} {count}"));
    let rules = rules.collect::<Vec<_>>().join(", ");
    match left.values().sum() {
        0 => {}
        1 => print_lines(&[format!(
            "1 warning stays ({rules}): `retake check` shows it"
        )]),
        count => print_lines(&[format!(
            "{count} warnings stay ({rules}): `retake check` lists them"
        )]),
    }
    Ok(())
}

fn print_lines(lines: &[String]) {
    let mut stderr = std::io::stderr().lock();
    for line in lines {
        // Without stderr there is nobody to tell.
        let _ = writeln!(stderr, "  {line}");
    }
}

/// What became of a last line that was not written to its end.
pub(super) fn torn_lines(report: &FixReport) -> Vec<String> {
    let bytes = usize::try_from(report.torn).unwrap_or(usize::MAX);
    let bytes = counted(bytes, "byte");
    match (report.torn, report.is_cut) {
        (0, _) => Vec::new(),
        (_, true) => vec![format!("the half-written last line is cut: {bytes} lost")],
        (_, false) => vec![format!(
            "the last line is half-written: --unsafe cuts it, which loses {bytes}"
        )],
    }
}

pub(super) fn applied_lines(report: &FixReport) -> Vec<String> {
    let rounds = report.applied.last().map_or(0, |applied| applied.round);
    let listed = report.applied.iter().take(MOST_LINES);
    let mut lines = listed
        .map(|applied| applied_line(report, rounds, applied))
        .collect::<Vec<_>>();
    if report.applied.len() > MOST_LINES {
        let mut by_action: BTreeMap<_, usize> = BTreeMap::new();
        for applied in &report.applied {
            *by_action.entry(applied.action).or_default() += 1;
        }
        let all = by_action
            .iter()
            .map(|(action, count)| format!("{action} {count}"));
        lines.push(format!("in all: {}", all.collect::<Vec<_>>().join(", ")));
    }
    lines
}

fn applied_line(report: &FixReport, rounds: usize, applied: &Applied) -> String {
    let round = if rounds > 1 {
        format!("round {}, ", applied.round)
    } else {
        String::new()
    };
    let notes = applied.notes.iter();
    let notes = notes.map(|note| format!("; {}", safe_line(note)));
    format!(
        "{round}{}  {}  {}{}",
        place(report, applied.session, applied.item),
        applied.rule,
        applied.action,
        notes.collect::<String>()
    )
}

fn place(report: &FixReport, session: usize, item: u32) -> String {
    if report.recording.sessions.len() > 1 {
        format!("session {}, item {}", session + 1, item + 1)
    } else {
        format!("item {}", item + 1)
    }
}

/// A line for each finding and reason; actions that are refused for the same reason share it.
pub(super) fn refusals(report: &FixReport) -> Vec<String> {
    let line_of = |refused: &FixRefusal| {
        let place = place(report, refused.session, refused.item);
        let reason = safe_line(&refused.reason.to_string());
        (format!("{place}  {}", refused.rule), reason)
    };
    let mut lines: Vec<((String, String), Vec<&str>)> = Vec::new();
    for refused in &report.refused {
        let line = line_of(refused);
        match lines.last_mut() {
            Some((last, actions)) if *last == line => actions.push(refused.action),
            _ => lines.push((line, vec![refused.action])),
        }
    }
    let lines = lines.into_iter();
    lines
        .map(|((place, reason), actions)| format!("{place}  {}: {reason}", actions.join(", ")))
        .collect()
}

pub(super) fn first_of(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(MOST_LINES);
    if more > 0 {
        lines.truncate(MOST_LINES);
        lines.push(format!("and {more} more"));
    }
    lines
}
