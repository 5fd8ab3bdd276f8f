//! A transcript as a page that can be shared.

use super::to_output;
use crate::cli::arguments::{ExportArguments, PageForm};
use crate::cli::exit::{Exit, Failure};
use crate::cli::flatten::{FindingReport, session_names};
use crate::cli::inputs::{Inputs, Opened, name_of, session_named};
use crate::cli::output::counted;
use crate::page::{HtmlPage, MarkdownPage, PageError, PageFinding, PageSession, PageWriter};
use crate::tui::state::document::Checked;
use retake_live::{InputError, check_session};
use std::io;
use std::path::Path;

/// Writes the sessions of a recording, or the one that was chosen.
pub(super) fn export(arguments: &ExportArguments, form: PageForm) -> Result<Exit, Failure> {
    if let Some(option) = only_for_recoveries(arguments) {
        return Err(Failure::with_hint(
            format!("{option} is about a recovery, and a page is a transcript"),
            "--session chooses one of several sessions",
        ));
    }
    let inputs = Inputs::new(&arguments.reading)?.redacting(!arguments.keep_secrets);
    let opened = inputs.read_one(&arguments.path, "export` takes one recording")?;
    let names = session_names(&opened.recording.sessions);
    let chosen = match &arguments.finding.session {
        Some(wanted) => vec![session_named(&arguments.path, &names, wanted)?],
        None => (0..names.len()).collect(),
    };
    let mut failed = None;
    to_output(arguments, |out| {
        let mut page: Box<dyn PageWriter> = match form {
            PageForm::Html => Box::new(HtmlPage::new(out)),
            PageForm::Markdown => Box::new(MarkdownPage::new(out)),
        };
        match write(&mut *page, arguments, &inputs, &opened, &names, &chosen) {
            Ok(()) => Ok(()),
            Err(PageError::Output(error)) => Err(error),
            Err(PageError::Source(error)) => {
                failed = Some(InputError::Source(error));
                Err(io::Error::other("the recording cannot be read any more"))
            }
        }
    })
    .map_err(|failure| match failed {
        Some(error) => Failure::unreadable(&arguments.path, &error),
        None => failure,
    })?;
    Ok(Exit::Clean)
}

/// The first option that was given though it says what to do about a finding.
fn only_for_recoveries(arguments: &ExportArguments) -> Option<&'static str> {
    let (finding, recovery) = (&arguments.finding, &arguments.recovery);
    let given = [
        ("--item", finding.item.is_some()),
        ("--rule", finding.rule.is_some()),
        ("--action", recovery.action.is_some()),
        ("--wording", recovery.wording.is_some()),
        ("--words", recovery.words.is_some()),
        ("--value", recovery.value.is_some()),
        ("--include-in-history", recovery.include_in_history),
        ("--take", arguments.take.is_some()),
    ];
    let mut given = given.into_iter().filter(|(_, is_given)| *is_given);
    given.next().map(|(option, _)| option)
}

fn write(
    page: &mut dyn PageWriter,
    arguments: &ExportArguments,
    inputs: &Inputs,
    opened: &Opened,
    names: &[String],
    chosen: &[usize],
) -> Result<(), PageError> {
    let recording = &opened.recording;
    let mut facts = vec![recording.format.id.to_owned()];
    if let [only] = chosen {
        facts.extend(recording.sessions[*only].model.clone());
        facts.push(counted(recording.sessions[*only].turns.len(), "turn"));
    } else {
        facts.push(counted(chosen.len(), "session"));
    }
    // Folders are nobody's business.
    let path = Path::new(&recording.name);
    let title = path.file_name().map_or(path, Path::new);
    page.begin(&name_of(title), &facts)?;
    for number in chosen {
        let session = &recording.sessions[*number];
        let found = check_session(session, inputs.target)?;
        let in_words = |finding| {
            let report = FindingReport::new(session, finding, None)?;
            Ok(PageFinding {
                severity: finding.severity,
                rule: finding.rule.id,
                message: report.message,
                item: finding.item,
            })
        };
        let findings = found
            .iter()
            .map(in_words)
            .collect::<Result<_, PageError>>()?;
        page.session(&PageSession {
            name: match chosen {
                [_] => String::new(),
                _ => names[*number].clone(),
            },
            sessions: &recording.sessions,
            number: *number,
            checked: &Checked::new(found),
            findings,
        })?;
    }
    page.end(!arguments.keep_secrets)
}
