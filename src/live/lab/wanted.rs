//! The names in a spec, and what they stand for: the wordings for a kind of failure, and whether the tool that
//! was meant is on offer.

use super::history::WordingText;
use super::messages::LabError;
use crate::wordings::{self, Wordings};
use retake_core::lab::{Named, Origin, RESERVED, Wanted, Which, baseline_of};
use retake_core::rules::{Finding, Run};
use retake_core::session::Session;
use retake_core::suggest::{self, SuggestionReason};
use retake_core::wording::{self, Channel, FailureKind};

/// Refuses names that no wording has, whatever the kind of failure, and words of the spec with a name that is
/// taken for every kind.
pub(super) fn check(wanted: &Wanted, known: &Wordings) -> Result<(), LabError> {
    let mut names: Vec<&str> = { FailureKind::all().flat_map(|kind| known.of(kind)) }
        .map(|choice| choice.name)
        .chain(RESERVED.map(|reserved| reserved.name))
        .collect();
    names.sort_unstable();
    names.dedup();
    if let Named::These(wanted) = &wanted.named
        && let Some(name) = wanted.iter().find(|name| !names.contains(&name.as_str()))
    {
        let near = suggest::nearest(name, &names);
        let hint = near.first();
        let hint = hint.map(|near| format!("; did you mean `{}`?", near.name));
        return Err(LabError::NoWording {
            name: name.clone(),
            hint: hint.unwrap_or_default(),
        });
    }
    match wanted.added.iter().find(|added| is_reserved(&added.name)) {
        Some(added) => Err(LabError::NameTaken {
            name: added.name.clone(),
        }),
        None => Ok(()),
    }
}

fn is_reserved(name: &str) -> bool {
    RESERVED.iter().any(|reserved| reserved.name == name)
}

/// Whether what the others are compared with is among the wordings for a kind of failure.
pub(super) fn has_baseline(kind: FailureKind, wanted: &Wanted) -> bool {
    let baseline = baseline_of(kind).name;
    let is_named = match &wanted.named {
        Named::All => false,
        Named::These(names) => names.iter().any(|name| name == baseline),
    };
    wanted.recorded || is_named
}

/// The wordings for a kind of failure, besides the baseline. `notes` learns what is left out.
pub(super) fn words_for(
    kind: FailureKind,
    wanted: &Wanted,
    known: &Wordings,
    notes: &mut Vec<String>,
) -> Result<Vec<WordingText>, LabError> {
    let mut note = |text: String| {
        if !notes.contains(&text) {
            notes.push(text);
        }
    };
    let choices = known.of(kind);
    let named: Vec<wordings::Choice<'_>> = match &wanted.named {
        Named::All => choices,
        Named::These(names) => {
            for name in names.iter().filter(|name| !is_reserved(name)) {
                if choices.iter().all(|choice| choice.name != name) {
                    let kind = kind.name();
                    note(format!(
                        "{name} is no wording for {kind}: it is left out there"
                    ));
                }
            }
            let found = names.iter().filter_map(|name| known.find(kind, name));
            found.collect()
        }
    };
    let mut words: Vec<WordingText> = Vec::new();
    for choice in named {
        if is_reserved(choice.name) {
            note(format!(
                "your own wording {} is left out: the name is taken",
                choice.name
            ));
        } else if words.iter().all(|known| known.name != choice.name) {
            words.push(words_of(kind, choice));
        }
    }
    for added in &wanted.added {
        if words.iter().any(|known| known.name == added.name) {
            let name = added.name.clone();
            return Err(LabError::NameTaken { name });
        }
        words.push(WordingText {
            name: added.name.clone(),
            title: added.name.clone(),
            origin: Origin::Spec,
            template: added.text.clone(),
            channel: added.channel,
            axes: None,
        });
    }
    Ok(words)
}

fn words_of(kind: FailureKind, choice: wordings::Choice<'_>) -> WordingText {
    let of_library = wording::find(kind, choice.name);
    let of_library = of_library.filter(|wording| wording.template == choice.template);
    let axes = of_library.map(|wording| wording.axes);
    WordingText {
        name: choice.name.to_owned(),
        title: choice.title.to_owned(),
        origin: match of_library {
            Some(_) => Origin::Library,
            None => Origin::Own,
        },
        template: choice.template.to_owned(),
        channel: axes.map_or(Channel::ErrorOutput, |axes| axes.channel),
        axes,
    }
}

/// That the tool that is meant is not on offer, so that no turn can count as corrected.
pub(super) fn not_offered(which: &Which, session: &Session, finding: &Finding) -> Option<String> {
    let meant = which.meant.as_deref()?;
    let item = finding.item?;
    let run = Run::new(session, None);
    let offered = run.offered(item as usize)?.callable();
    let near = suggest::nearest(meant, &offered);
    let is_same = near
        .iter()
        .any(|near| near.why == SuggestionReason::SameTool);
    if is_same || offered.contains(&meant) {
        return None;
    }
    let hint = match near.first() {
        Some(near) => format!("did you mean {}?", near.name),
        None => format!("there are {}", offered.join(", ")),
    };
    let (path, item) = (&which.path, item + 1);
    Some(format!(
        "{path}: item {item}: {meant}, which is meant, is not on offer; {hint}"
    ))
}
