//! A recovery from a take of the debugger: what was done in it, with its words.

use super::chosen::failure;
use super::path_of;
use super::recovered::{Change, ExportError, Exported, Recovered};
use crate::cli::arguments::{ExportArguments, RecoveryForm};
use crate::cli::exit::{Failure, print_error};
use crate::cli::inputs::{Inputs, name_of};
use crate::cli::output::safe_line;
use retake_core::actions;
use retake_core::rules::{Run, beside};
use retake_core::session::Session;
use retake_core::session::takes::{Take, TakeId};
use retake_core::wording::{FailureKind, recorded, render};
use retake_live::takes::{usual_root, wall_clock};
use retake_live::wordings::{Wordings, usual_files};
use retake_live::{Recording, TakeError, TakeStore, check_session};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Exports the recovery that a take is.
pub(super) fn export(
    arguments: &ExportArguments,
    form: RecoveryForm,
    inputs: &Inputs,
    recording: Arc<Recording>,
    number: u32,
) -> Result<Exported, Failure> {
    let path = path_of(arguments);
    let root = usual_root();
    let (mut workbench, damages) = TakeStore::open(recording, path, root.as_deref(), wall_clock);
    for damage in &damages {
        print_error(&safe_line(&damage.to_string()), None);
    }
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
        [] => Failure::with_hint(message, "no take was made of it; the debugger makes them"),
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
        let reason = "it was made without a finding, so there is nothing that it would settle";
        return Err(ExportError::Words(reason.to_owned()));
    };
    let complete = |recording: &mut Recording| inputs.complete(&arguments.path, recording);
    let mut parent = workbench.read(take.parent, &|_, _| ())?;
    complete(&mut parent);
    let session = parent.sessions.get(take.session as usize);
    let session = session.ok_or(TakeError::NoSession(take.session))?;
    let mut recovered = Recovered {
        rule: rule.clone(),
        action: action.clone(),
        item: take.cause.item.unwrap_or_default(),
        ..Recovered::default()
    }
    .with_tool(session);
    let words = take.words.as_deref().unwrap_or_default();
    if action == "fallback" {
        let value = take.fallback.as_deref().unwrap_or(words);
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        recovered.value = Some(value);
        recovered.include_in_history = take.fallback.is_none();
    } else {
        let template = template_of(take, session, inputs);
        (recovered.wording, recovered.template) = match template {
            Some(template) => (take.wording.clone().unwrap_or_default(), template),
            None => (String::new(), recorded(words)),
        };
    }
    let before = workbench.rope(take.parent)?;
    let rope = workbench.rope(TakeId(number))?;
    let base = workbench.base(TakeId(number))?;
    let text = recovered.form(form, || {
        Ok(Change {
            base,
            number: take.session as usize,
            before: (session, &before),
            rope: &rope,
            target: inputs.target,
            complete: &complete,
            keeps_secrets: arguments.keep_secrets,
        })
    })?;
    Ok(Exported {
        text,
        what: format!("take {number}, {}", recovered.what()),
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
