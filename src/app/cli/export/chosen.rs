//! A recovery from a finding: the first finding that fits, with the first of its offers that can be exported.

use super::path_of;
use super::recovered::{Change, ExportError, Exported, Recovered};
use crate::cli::arguments::{ExportArguments, RecoveryForm};
use crate::cli::exit::{Failure, print_error};
use crate::cli::flatten::session_names;
use crate::cli::inputs::{Inputs, as_request_first, describe, name_of, session_named};
use crate::cli::output::safe_line;
use retake_core::actions::{self, Action, ActionError, ActionInput, Plan};
use retake_core::formats::lower;
use retake_core::rules::{Finding, Run, beside};
use retake_core::session::Session;
use retake_core::wording::{FailureKind, default_of};
use retake_live::wordings::{Wordings, usual_files};
use retake_live::{Base, InputError, Recording, check_session};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Exports a recovery from a finding.
pub(super) fn export(
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
        for finding in findings.iter().filter(|finding| desk.is_wanted(finding)) {
            offered.push((finding.rule.id, finding.item));
            for action in desk.actions_of(finding) {
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

/// What is exported, and from what.
struct Desk<'a> {
    arguments: &'a ExportArguments,
    form: RecoveryForm,
    inputs: &'a Inputs,
    wordings: Wordings,
    /// Where the history is written.
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

    fn is_wanted(&self, finding: &Finding) -> bool {
        let wish = &self.arguments.finding;
        let is_there = |item: u32| wish.item.is_none_or(|wanted| wanted - 1 == item);
        wish.rule
            .as_deref()
            .is_none_or(|rule| rule == finding.rule.id)
            && finding.item.is_some_and(is_there)
    }

    /// The requested offers of a finding: by their name, or by what was given for them.
    fn actions_of(&self, finding: &Finding) -> Vec<&'static Action> {
        let wish = &self.arguments.recovery;
        let takes_words = ["inject-error", "retry", "supply-output", "close-turn"];
        let is_wanted = |action: &&str| match &wish.action {
            Some(wanted) => wanted == action,
            None if wish.value.is_some() => *action == "fallback",
            None if wish.wording.is_some() || wish.words.is_some() => takes_words.contains(action),
            None => true,
        };
        let offers = finding.offers.iter().map(|offer| offer.action);
        offers.filter(is_wanted).filter_map(actions::find).collect()
    }

    /// Why there is nothing to export: no finding, no offer, or what spoke against the first attempt.
    fn nothing(
        &self,
        found: &[(&'static str, Option<u32>)],
        refused: Vec<(String, ExportError)>,
    ) -> Failure {
        let path = name_of(&self.arguments.path);
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
        let wish = &self.arguments.finding;
        match (found.first(), &self.arguments.recovery.action) {
            (Some((rule, item)), Some(action)) => {
                let place = item.map_or(0, |item| u64::from(item) + 1);
                Failure::with_hint(
                    format!("{path}: {rule} at item {place} does not offer {action}"),
                    format!("`retake check {path} --format json` lists what is offered"),
                )
            }
            (Some((rule, _)), None) => Failure::refused(format!(
                "{path}: nothing of the kind can be done about {rule}"
            )),
            (None, _) => {
                let rule = wish.rule.as_deref().map(|rule| format!(" of {rule}"));
                let item = wish.item.map(|item| format!(" at item {item}"));
                let [rule, item] = [rule, item].map(Option::unwrap_or_default);
                Failure::with_hint(
                    format!("{path}: no finding{rule}{item}"),
                    format!("`retake check {path}` lists the findings"),
                )
            }
        }
    }

    /// The name and the template of what the model reads.
    fn words(&self, rule: &str, action: &str) -> Result<(String, String), ExportError> {
        let wish = &self.arguments.recovery;
        if let Some(words) = &wish.words {
            return Ok((String::new(), words.clone()));
        }
        let kind = FailureKind::of_rule(rule);
        if let Some(name) = &wish.wording {
            let known = kind.map(|kind| self.wordings.of(kind)).unwrap_or_default();
            if let Some(found) = known.iter().find(|known| known.name == name) {
                return Ok((name.clone(), found.template.to_owned()));
            }
            let names = known.iter().map(|known| known.name);
            let names = names.collect::<Vec<_>>().join(", ");
            return Err(ExportError::Words(match &names[..] {
                "" => format!("there are no wordings for {rule}; --words gives one"),
                _ => format!("there is no wording {name} for {rule}; there are {names}"),
            }));
        }
        Ok(match kind.filter(|_| action == "inject-error") {
            Some(kind) => {
                let wording = default_of(kind);
                (wording.name.to_owned(), wording.template.to_owned())
            }
            None => Default::default(),
        })
    }
}

/// The library and the operator's own; unusable entries are reported.
fn wordings() -> Wordings {
    let wordings = Wordings::read(&usual_files(Path::new(".")));
    for fault in &wordings.faults {
        print_error(&safe_line(&fault.to_string()), None);
    }
    wordings
}

/// One offer of one finding.
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
        let recovered = Recovered {
            rule: self.finding.rule.id.to_owned(),
            action: self.action.id.to_owned(),
            item: self.finding.item.unwrap_or_default(),
            value: wish.value.clone(),
            include_in_history: wish.include_in_history,
            ..Recovered::default()
        };
        let mut recovered = recovered.with_tool(self.session);
        match self.recover(&mut recovered) {
            Ok((text, notes)) => Ok(Exported {
                text,
                what: recovered.what(),
                notes,
            }),
            Err(reason) => Err((recovered.what(), reason)),
        }
    }

    fn recover(&self, recovered: &mut Recovered) -> Result<(String, Vec<String>), ExportError> {
        let arguments = self.desk.arguments;
        let (name, template) = self.desk.words(&recovered.rule, &recovered.action)?;
        (recovered.wording, recovered.template) = (name, template);
        let planned = self.plan(recovered)?;
        let Some(base) = &self.desk.base else {
            let text = recovered.form(self.desk.form, || Err(ActionError::NothingToDo.into()))?;
            return Ok((text, planned.notes));
        };
        let splices = lower(self.session, &planned.edits)?;
        let complete = |recording: &mut Recording| {
            self.desk.inputs.complete(&arguments.path, recording);
        };
        let change = Change {
            base,
            number: self.number,
            before: (self.session, base.rope()),
            rope: &Arc::new(base.rope().spliced(&splices)),
            target: self.desk.inputs.target,
            complete: &complete,
            keeps_secrets: arguments.keep_secrets,
        };
        let text = recovered.form(self.desk.form, || Ok(change))?;
        Ok((text, planned.notes))
    }

    /// What the action would do here: a recovery that does not apply to its own finding is not carried on.
    fn plan(&self, recovered: &Recovered) -> Result<Plan, ActionError> {
        let run = Run::new(self.session, self.desk.inputs.target);
        let beside = beside(self.session, self.findings, self.finding);
        let scene = run.scene(self.finding.defect(), &beside);
        let scene = scene.ok_or(ActionError::NoItem)?;
        let has_schema = self.session.contract.output_schema.is_some();
        let value = recovered.value.as_ref().map(|value| match value {
            Value::String(text) if !has_schema => text.clone(),
            value => value.to_string(),
        });
        let words = match self.action.id {
            "fallback" => value.as_deref(),
            _ => Some(&recovered.template[..]).filter(|words| !words.is_empty()),
        };
        let choice = ActionInput {
            words,
            whole_turn: false,
            include_in_history: recovered.include_in_history,
            // No tool runs here; an action that is named is taken with its guesses.
            confirmed: self.desk.arguments.recovery.action.is_some(),
            keeps_schema: false,
            never_ran: &[],
        };
        (self.action.plan)(&scene, &choice)
    }
}

/// Why a recovery cannot be exported, with what would help.
pub(super) fn failure(arguments: &ExportArguments, what: &str, reason: &ExportError) -> Failure {
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
