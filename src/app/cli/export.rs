//! `export`: a recovery as code for the agent's framework, as an entry of a policy, or as a fixture for a test; a
//! transcript as a page.

use super::arguments::{ExportArguments, ExportForm, RecoveryForm};
use super::config;
use super::exit::{Exit, Failure, print_error};
use super::inputs::{
    self, as_request_first, describe, inputs_of, refuse_to_overwrite, save, session_named, takes_of,
};
use super::output::{Output, name_of, safe_line};
use super::recovery::{no_offer, value_text, wordings};
use crate::page::{PageError, PageForm, PageSource};
use crate::words::session_titles;
use retake_core::actions::{self, Action, ActionError, ActionInput, Plan};
use retake_core::formats::{CannotWrite, lower};
use retake_core::redact::shareable;
use retake_core::rules::{Finding, Run, beside};
use retake_core::session::Session;
use retake_core::session::takes::{Take, TakeId};
use retake_core::wording::recipe::{RecipeError, RecoveryCase, openai_agents, policy};
use retake_core::wording::{FailureKind, recorded, render};
use retake_live::report::session_names;
use retake_live::wordings::{Wordings, usual_files};
use retake_live::{
    Base, BaseError, FixtureError, InputError, Inputs, Recording, RecoveryFixture, TakeError,
    TakeStore, check_session, exit_on_interrupt,
};
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Carries a recovery out of the debugger.
pub(super) fn run(arguments: &ExportArguments) -> Result<Exit, Failure> {
    exit_on_interrupt();
    if let Some(output) = &arguments.output {
        refuse_to_overwrite(output, arguments.force, &arguments.path)?;
    }
    match arguments.to {
        ExportForm::Recovery(form) => recovery(arguments, form),
        ExportForm::Page(form) => export_page(arguments, form),
    }
}

fn recovery(arguments: &ExportArguments, form: RecoveryForm) -> Result<Exit, Failure> {
    let inputs = inputs_of(&arguments.reading)?;
    let opened = inputs::read_one(&inputs, &arguments.path, "export")?;
    let recording = Arc::new(opened.recording);
    let exported = match arguments.take {
        Some(number) => export_take(arguments, form, &inputs, recording, number)?,
        None => export_recovery(arguments, form, &inputs, recording)?,
    };
    let text = match arguments.redact {
        true => shareable(&exported.text),
        false => exported.text,
    };
    write(arguments, &text)?;
    print_error(&safe_line(&exported.what), None);
    for note in &exported.notes {
        // CI keeps stderr and sends it around.
        print_error(&safe_line(&shareable(note)), None);
    }
    Ok(Exit::Clean)
}

/// Where the recording is, if it is a file.
fn path_of(arguments: &ExportArguments) -> Option<&Path> {
    Some(arguments.path.as_path()).filter(|path| *path != Path::new("-"))
}

fn write(arguments: &ExportArguments, text: &str) -> Result<(), Failure> {
    to_output(arguments, |out| out.write_all(text.as_bytes()))
}

/// Writes to the file that was named, or to standard output.
fn to_output(
    arguments: &ExportArguments,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if let Some(path) = &arguments.output {
        return save(path, write);
    }
    let mut output = Output::stdout();
    write(&mut output)?;
    Ok(output.finish()?)
}

// A recovery that is to be exported, and the forms that it can take.

struct Exported {
    text: String,
    /// What it was made of, in one line; text from the recording is in it.
    what: String,
    notes: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error(transparent)]
    Refused(#[from] ActionError),
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    #[error(transparent)]
    Fixture(#[from] FixtureError),
    #[error(transparent)]
    Base(#[from] BaseError),
    #[error(transparent)]
    Take(#[from] TakeError),
    #[error(transparent)]
    CannotWrite(#[from] CannotWrite),
    #[error("{0}")]
    Words(String),
}

impl ExportError {
    /// Whether the words that were given are at fault.
    fn is_in_words(&self) -> bool {
        matches!(
            self,
            Self::Refused(ActionError::BadWords(_)) | Self::Recipe(RecipeError::Template(_))
        )
    }

    /// Whether the history can be changed once it is written as one request.
    fn wants_request(&self) -> bool {
        match self {
            Self::CannotWrite(reason) | Self::Fixture(FixtureError::CannotWrite(reason)) => {
                matches!(reason, CannotWrite::Exchanges | CannotWrite::Journal)
            }
            Self::Base(BaseError::Stream) => true,
            Self::Take(reason) => reason.wants_request(),
            _ => false,
        }
    }
}

/// A recovery in a form; `fixture` is called if the form holds the history.
fn written<'f>(
    recovery: &RecoveryCase<'_>,
    form: RecoveryForm,
    fixture: impl FnOnce() -> Result<RecoveryFixture<'f>, ExportError>,
) -> Result<String, ExportError> {
    Ok(match form {
        RecoveryForm::OpenaiAgents => openai_agents(recovery)?,
        RecoveryForm::Policy => policy(recovery)?,
        RecoveryForm::Fixture => fixture()?.text()?,
    })
}

// A recovery from a finding: the first finding that fits, with the first of its offers that can be exported.

fn export_recovery(
    arguments: &ExportArguments,
    form: RecoveryForm,
    inputs: &Inputs,
    recording: Arc<Recording>,
) -> Result<Exported, Failure> {
    let desk = Desk::new(arguments, form, inputs, &recording)?;
    let names = session_names(&recording.sessions);
    let only = match &arguments.finding.session {
        Some(wanted) => Some(session_named(&arguments.path, &names, wanted)?),
        None => None,
    };
    let mut refused = Vec::new();
    let mut offered = Vec::new();
    for (number, session) in recording.sessions.iter().enumerate() {
        if only.is_some_and(|only| only != number) {
            continue;
        }
        let findings = check_session(session, inputs.target);
        let findings = findings.map_err(|error| {
            Failure::refused(describe(&arguments.path, &InputError::from(error)))
        })?;
        for finding in findings
            .iter()
            .filter(|finding| arguments.finding.fits(finding))
        {
            offered.push((finding.rule.id, finding.item));
            for action in arguments.recovery.actions_of(finding) {
                let attempt = Attempt {
                    desk: &desk,
                    number,
                    session,
                    findings: &findings,
                    finding,
                    action,
                };
                match attempt.export() {
                    Ok(exported) => return Ok(exported),
                    // Another recovery might take a faulty template as it is.
                    Err((what, reason)) if reason.is_in_words() => {
                        return Err(failure(arguments, &what, &reason));
                    }
                    Err((what, reason)) => refused.push((what, reason)),
                }
            }
        }
    }
    Err(desk.nothing(&offered, refused))
}

struct Desk<'a> {
    arguments: &'a ExportArguments,
    form: RecoveryForm,
    inputs: &'a Inputs,
    wordings: Wordings,
    base: Option<Base>,
}

impl<'a> Desk<'a> {
    fn new(
        arguments: &'a ExportArguments,
        form: RecoveryForm,
        inputs: &'a Inputs,
        recording: &Arc<Recording>,
    ) -> Result<Self, Failure> {
        let base = if form == RecoveryForm::Fixture {
            let base = Base::new(recording.clone(), path_of(arguments));
            Some(base.map_err(|error| failure(arguments, "", &error.into()))?)
        } else {
            None
        };
        Ok(Self {
            arguments,
            form,
            inputs,
            wordings: wordings(),
            base,
        })
    }

    /// Why there is nothing to export: no finding, no offer, or what spoke against the first attempt.
    fn nothing(
        &self,
        found: &[(&'static str, Option<u32>)],
        refused: Vec<(String, ExportError)>,
    ) -> Failure {
        let attempts = refused.len();
        if let Some((what, reason)) = refused.into_iter().next() {
            let first = failure(self.arguments, &what, &reason);
            return match first {
                Failure::Refused {
                    message,
                    hint: None,
                } if attempts > 1 => {
                    let hint = format!(
                        "none of the {attempts} recoveries that fit can be exported; --item, --rule and \
                        --action choose one"
                    );
                    Failure::with_hint(message, hint)
                }
                first => first,
            };
        }
        let arguments = self.arguments;
        no_offer(
            &arguments.path,
            &arguments.finding,
            &arguments.recovery,
            found.first().copied(),
        )
    }
}

struct Attempt<'a> {
    desk: &'a Desk<'a>,
    number: usize,
    session: &'a Session,
    findings: &'a [Finding],
    finding: &'a Finding,
    action: &'static Action,
}

impl Attempt<'_> {
    fn export(&self) -> Result<Exported, (String, ExportError)> {
        let wish = &self.desk.arguments.recovery;
        let recovery = RecoveryCase {
            rule: self.finding.rule.id,
            action: self.action.id,
            item: self.finding.item.unwrap_or_default(),
            value: wish.value.as_ref(),
            include_in_history: wish.include_in_history,
            ..RecoveryCase::default()
        };
        let words = wish.template(&self.desk.wordings, recovery.rule, recovery.action);
        let words = words.map_err(ExportError::Words);
        let (wording, template) = &words.map_err(|reason| (recovery.what(), reason))?;
        let recovery = RecoveryCase {
            wording,
            template,
            ..recovery.with_tool(self.session)
        };
        let (text, notes) = self
            .recover(recovery)
            .map_err(|reason| (recovery.what(), reason))?;
        Ok(Exported {
            text,
            what: recovery.what(),
            notes,
        })
    }

    fn recover(&self, recovery: RecoveryCase<'_>) -> Result<(String, Vec<String>), ExportError> {
        let arguments = self.desk.arguments;
        let planned = self.plan(&recovery)?;
        let Some(base) = &self.desk.base else {
            let none = || Err(ActionError::NothingToDo.into());
            let text = written(&recovery, self.desk.form, none)?;
            return Ok((text, planned.notes));
        };
        let splices = lower(self.session, &planned.edits)?;
        let complete = |recording: &mut Recording| {
            inputs::complete(self.desk.inputs, &arguments.path, recording);
        };
        let fixture = RecoveryFixture {
            recovery,
            base,
            number: self.number,
            before: (self.session, base.rope()),
            rope: &Arc::new(base.rope().spliced(&splices)),
            target: self.desk.inputs.target,
            complete: &complete,
            keeps_secrets: arguments.keep_secrets,
        };
        let text = written(&recovery, self.desk.form, || Ok(fixture))?;
        Ok((text, planned.notes))
    }

    /// What the action would do here: a recovery that does not apply to its own finding is not carried on.
    fn plan(&self, recovery: &RecoveryCase<'_>) -> Result<Plan, ActionError> {
        let run = Run::new(self.session, self.desk.inputs.target);
        let beside = beside(self.session, self.findings, self.finding);
        let scene = run.scene(self.finding.defect(), &beside);
        let scene = scene.ok_or(ActionError::NoItem)?;
        let value = recovery.value.map(|value| value_text(self.session, value));
        let words = match self.action.id {
            "fallback" => value.as_deref(),
            _ => Some(recovery.template).filter(|words| !words.is_empty()),
        };
        let choice = ActionInput {
            words,
            whole_turn: false,
            include_in_history: recovery.include_in_history,
            // No tool runs here; an action that is named is taken with its guesses.
            confirmed: self.desk.arguments.recovery.action.is_some(),
            keeps_schema: false,
            never_ran: &[],
        };
        (self.action.plan)(&scene, &choice)
    }
}

/// Why a recovery cannot be exported, with what would help.
fn failure(arguments: &ExportArguments, what: &str, reason: &ExportError) -> Failure {
    let path = name_of(&arguments.path);
    let colon = if what.is_empty() { "" } else { ": " };
    let text = safe_line(&format!("{what}{colon}{reason}"));
    let message = format!("{path}: {text}");
    match reason {
        reason if reason.wants_request() => Failure::with_hint(
            message,
            as_request_first(&arguments.path, "export", "exports from its history"),
        ),
        ExportError::Refused(ActionError::NeedsWords(_)) => Failure::with_hint(
            message,
            "--words gives a text, --value the value of a fallback",
        ),
        ExportError::Refused(ActionError::NeedsConfirmation(_)) => {
            Failure::with_hint(message, "--action takes it all the same")
        }
        ExportError::Fixture(retake_live::FixtureError::NothingChanged)
            if arguments.recovery.value.is_some() =>
        {
            Failure::with_hint(message, "--include-in-history lets the value enter it")
        }
        _ => Failure::refused(message),
    }
}

// A recovery from a take of the debugger: what was done in it, with its words.

/// Exports the recovery that a take is.
fn export_take(
    arguments: &ExportArguments,
    form: RecoveryForm,
    inputs: &Inputs,
    recording: Arc<Recording>,
    number: u32,
) -> Result<Exported, Failure> {
    let mut workbench = takes_of(&arguments.path, recording);
    let Some(take) = workbench.takes().get(TakeId(number)).cloned() else {
        return Err(no_such_take(arguments, &workbench, number));
    };
    exported(arguments, form, inputs, &mut workbench, number, &take)
        .map_err(|reason| failure(arguments, &format!("take {number}"), &reason))
}

fn no_such_take(arguments: &ExportArguments, workbench: &TakeStore, number: u32) -> Failure {
    let message = format!("{}: there is no take {number}", name_of(&arguments.path));
    let takes = workbench.takes();
    let known = (1..=u32::MAX)
        .take(takes.count() * 2)
        .filter(|number| takes.get(TakeId(*number)).is_some());
    let known = known.map(|number| number.to_string()).collect::<Vec<_>>();
    match &known[..] {
        [] => Failure::with_hint(message, "it has no takes; the debugger makes them"),
        known => Failure::with_hint(message, format!("there are {}", known.join(", "))),
    }
}

fn exported(
    arguments: &ExportArguments,
    form: RecoveryForm,
    inputs: &Inputs,
    workbench: &mut TakeStore,
    number: u32,
    take: &Take,
) -> Result<Exported, ExportError> {
    let (Some(rule), Some(action)) = (&take.cause.rule, &take.cause.action) else {
        let reason = "it was made without a finding, so it settles nothing";
        return Err(ExportError::Words(reason.to_owned()));
    };
    let complete = |recording: &mut Recording| inputs::complete(inputs, &arguments.path, recording);
    let mut parent = workbench.read(take.parent, &|_, _| ())?;
    complete(&mut parent);
    let session = parent.sessions.get(take.session as usize);
    let session = session.ok_or(TakeError::NoSession(take.session))?;
    let words = take.words.as_deref().unwrap_or_default();
    let is_fallback = action == "fallback";
    let value = is_fallback.then(|| {
        let value = take.fallback.as_deref().unwrap_or(words);
        serde_json::from_str(value).unwrap_or_else(|_| Value::from(value))
    });
    let known = || template_of(take, session, inputs);
    let (wording, template) = match (!is_fallback).then(known) {
        None => Default::default(),
        Some(Some(template)) => (take.wording.clone().unwrap_or_default(), template),
        Some(None) => (String::new(), recorded(words)),
    };
    let recovery = RecoveryCase {
        rule,
        action,
        item: take.cause.item.unwrap_or_default(),
        wording: &wording,
        template: &template,
        value: value.as_ref(),
        include_in_history: is_fallback && take.fallback.is_none(),
        ..RecoveryCase::default()
    }
    .with_tool(session);
    let before = workbench.rope(take.parent)?;
    let rope = workbench.rope(TakeId(number))?;
    let base = workbench.base(TakeId(number))?;
    let fixture = || {
        Ok(RecoveryFixture {
            recovery,
            base,
            number: take.session as usize,
            before: (session, &before),
            rope: &rope,
            target: inputs.target,
            complete: &complete,
            keeps_secrets: arguments.keep_secrets,
        })
    };
    Ok(Exported {
        text: written(&recovery, form, fixture)?,
        what: format!("take {number}, {}", recovery.what()),
        notes: Vec::new(),
    })
}

/// The template of the take's wording, if it still renders the text that the model got; a text that was written
/// by hand has none.
fn template_of(take: &Take, session: &Session, inputs: &Inputs) -> Option<String> {
    let kind = FailureKind::of_rule(take.cause.rule.as_deref()?)?;
    let wordings = Wordings::read(&usual_files(Path::new(".")));
    let known = wordings.find(kind, take.wording.as_deref()?)?;
    let findings = check_session(session, inputs.target).ok()?;
    let is_cause = |finding: &&retake_core::rules::Finding| {
        Some(finding.rule.id) == take.cause.rule.as_deref() && finding.item == take.cause.item
    };
    let finding = findings.iter().find(is_cause)?;
    let run = Run::new(session, inputs.target);
    let beside = beside(session, &findings, finding);
    let scene = run.scene(finding.defect(), &beside)?;
    let context = actions::context(&scene).ok()?;
    let rendered = render(known.template, &context).ok()?;
    (Some(&*rendered) == take.words.as_deref()).then(|| known.template.to_owned())
}

// A transcript as a page that can be shared.

/// Writes the sessions of a recording, or the one that was chosen.
fn export_page(arguments: &ExportArguments, form: PageForm) -> Result<Exit, Failure> {
    if let Some(option) = only_for_recoveries(arguments) {
        return Err(Failure::with_hint(
            format!("{option} applies to a recovery, not to a transcript page"),
            "--session chooses one of several sessions",
        ));
    }
    let inputs = inputs_of(&arguments.reading)?.redacting(!arguments.keep_secrets);
    let opened = inputs::read_one(&inputs, &arguments.path, "export")?;
    let names = session_names(&opened.recording.sessions);
    let only = match &arguments.finding.session {
        Some(wanted) => Some(session_named(&arguments.path, &names, wanted)?),
        None => None,
    };
    let titles = session_titles(&opened.recording.sessions);
    let titles = titles.into_iter().enumerate();
    let chosen = titles.filter(|(number, _)| only.is_none_or(|only| only == *number));
    let chosen = chosen.collect();
    let page = PageSource {
        recording: &opened.recording,
        sessions: chosen,
        target: inputs.target,
        prices: &config::prices(None, &config::load(None)?)?,
        take: None,
        is_redacted: !arguments.keep_secrets,
    };
    let mut unreadable = None;
    let written = to_output(arguments, |out| match page.write(form, out) {
        Ok(()) => Ok(()),
        Err(PageError::Output(error)) => Err(error),
        Err(PageError::Source(error)) => {
            let reason = io::Error::other(error.to_string());
            unreadable = Some(InputError::Source(error));
            Err(reason)
        }
    });
    match (written, unreadable) {
        (Ok(()), _) => Ok(Exit::Clean),
        (Err(failure), None) => Err(failure),
        (Err(_), Some(error)) => Err(Failure::unreadable(&arguments.path, &error)),
    }
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
