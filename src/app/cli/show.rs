//! `show`: the transcript of a recording with its findings, as text.

use super::arguments::ShowArguments;
use super::config;
use super::exit::{Exit, Failure};
use super::inputs::{self, describe, hint_for, inputs_of, read_take, session_named};
use super::output::{Output, counted, name_of, safe_line};
use super::style::Palette;
use super::transcript::Transcript;
use crate::page::totals_of;
use crate::tui::state::document::Checked;
use crate::tui::transcript::page::Page;
use crate::words::session_titles;
use retake_core::session::Session;
use retake_live::report::session_names;
use retake_live::{InputError, Inputs, Opened, check_session, exit_on_interrupt};
use std::io::{self, Write};
use std::path::Path;

pub(super) fn run(arguments: &ShowArguments) -> Result<Exit, Failure> {
    let inputs = inputs_of(&arguments.reading)?.redacting(arguments.redact);
    let prices = config::prices(None, &config::load(None)?)?;
    exit_on_interrupt();
    let unreadable = |error: &InputError| Failure::Refused {
        message: describe(&arguments.path, error),
        hint: hint_for(&arguments.path, error),
    };
    let mut opened = read(&inputs, &arguments.path).map_err(|error| unreadable(&error))?;
    if arguments.take.is_some() {
        opened.recording = read_take(&arguments.path, opened.recording, arguments.take)?;
        inputs.complete(&arguments.path, &mut opened.recording);
    }
    let chosen = choose(arguments, &opened)?;
    let palette = Palette::of_stdout(arguments.color);
    let mut output = match arguments.no_pager {
        true => Output::stdout(),
        false => Output::paged(),
    };
    for problem in &opened.recording.problems {
        let (word, message) = (palette.warning("problem"), problem.kind.to_string());
        writeln!(
            output,
            "{word} at byte {}: {}",
            problem.at,
            safe_line(&message)
        )?;
    }
    for (index, (name, number)) in chosen.iter().enumerate() {
        let session = &opened.recording.sessions[*number];
        let failed = |error| unreadable(&InputError::Source(error));
        let (findings, totals) = rayon::join(
            || check_session(session, inputs.target),
            || totals_of(session, &prices),
        );
        let checked = Checked::new(findings.map_err(failed)?);
        let sessions = &opened.recording.sessions;
        let page = Page::new(sessions, *number, &checked, &prices).map_err(failed)?;
        let transcript = Transcript::new(page, &checked, palette, arguments.full);
        if index > 0 {
            writeln!(output)?;
        }
        let totals = totals.map_err(failed)?;
        let named = NamedRecording {
            name,
            session,
            opened: &opened,
            totals: &totals,
            palette,
        };
        named.heading(&mut output)?;
        writeln!(output)?;
        transcript
            .write(&mut output, arguments.turn)
            .map_err(|error| match error {
                super::transcript::Stopped::Output(error) => Failure::from(error),
                super::transcript::Stopped::Source(error) => failed(error),
            })?;
    }
    output.finish()?;
    Ok(inputs::exit_of(&opened.recording))
}

/// A folder holds many transcripts; one is shown.
fn read(inputs: &Inputs, path: &Path) -> Result<Opened, InputError> {
    if path.is_dir() {
        return Err(InputError::Refused(
            "a folder; `retake show` prints one recording".to_owned(),
        ));
    }
    inputs::read(inputs, path)
}

/// The sessions to show by their names and indexes.
fn choose(arguments: &ShowArguments, opened: &Opened) -> Result<Vec<(String, usize)>, Failure> {
    let sessions = &opened.recording.sessions;
    let named = session_titles(sessions).into_iter().zip(0..);
    let mut named = named.collect::<Vec<_>>();
    if let Some(wanted) = &arguments.session {
        let names = session_names(sessions);
        let place = session_named(&arguments.path, &names, wanted)?;
        named = vec![named.swap_remove(place)];
    }
    let turns = |number: &usize| sessions[*number].turns.len();
    let longest = named.iter().map(|(_, number)| turns(number)).max();
    match (arguments.turn, longest) {
        (Some(turn), Some(turns)) if turn as usize > turns => Err(Failure::refused(format!(
            "{}: no turn {turn}; it has {turns}",
            name_of(&arguments.path)
        ))),
        _ => Ok(named),
    }
}

/// A session with what its heading says.
struct NamedRecording<'a> {
    name: &'a str,
    session: &'a Session,
    opened: &'a Opened,
    /// What it took.
    totals: &'a [String],
    palette: Palette,
}

impl NamedRecording<'_> {
    fn heading(&self, out: &mut impl Write) -> io::Result<()> {
        let recording = &self.opened.recording;
        let mut words = name_of(Path::new(&recording.name));
        if recording.sessions.len() > 1 {
            words.push_str(&format!(", {}", safe_line(self.name)));
        }
        words.push_str(&format!("  {}", recording.format.id));
        if let Some(model) = &self.session.model {
            words.push_str(&format!(", {}", safe_line(model)));
        }
        let turns = counted(self.session.turns.len(), "turn");
        let items = counted(self.session.items.len(), "item");
        words.push_str(&format!(", {turns}, {items}"));
        for total in self.totals {
            words.push_str(&format!(", {total}"));
        }
        if let Some(tools) = &self.opened.tools_from {
            words.push_str(&format!(", tools from {}", name_of(tools)));
        }
        writeln!(out, "{}", self.palette.bold(words))
    }
}
