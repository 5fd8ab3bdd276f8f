//! What can be done about a finding, by name: the vocabulary in which rules make offers and menus and reports
//! tell them, and one file per recovery that says which edits it takes.
//!
//! An action is given a [`ActionContext`] and a [`ActionInput`] and gives back what it would do, or the reason
//! why it does not apply. It changes nothing: `formats` turns its edits into bytes.

pub use edit::with_open_arguments;
pub use evidence::{context, lines, ordinal, quote, wording_kind};
pub use plan::{ActionContext, ActionError, ActionInput, Defect, Plan};
pub use session_index::{OfferedTools, SessionIndex};
pub use values::{ItemValue, OpenItem, types_of};

mod answer;
mod belonging;
mod close_turn;
mod drop_item;
mod drop_pair;
mod edit;
mod evidence;
mod fallback;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
pub mod fixture;
mod inject_error;
mod move_output;
mod output_to_text;
mod plan;
mod raise_limit;
mod relink;
mod renew_id;
mod repair_arguments;
mod retry;
mod salvage_call;
mod sanitise_name;
mod session_index;
mod supply_output;
mod take_suggestion;
mod values;

#[derive(Debug, Clone, Copy)]
pub struct Action {
    /// Its id in reports and policies.
    pub id: &'static str,
    /// What the menus call it.
    pub title: &'static str,
    /// What it does, in one line.
    pub what: &'static str,
    /// What it would do here, or why it does not apply.
    pub plan: fn(&ActionContext<'_>, &ActionInput<'_>) -> Result<Plan, ActionError>,
}

/// Whether an action keeps what the model meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Safety {
    /// It keeps what the model meant.
    Safe,
    /// It changes what the model saw or did.
    Unsafe,
    /// It needs the operator's words.
    Manual,
}

impl Safety {
    /// The word for it in reports.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// An action that applies to a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Offer {
    /// Id of the action.
    pub action: &'static str,
    /// How safe it is for this finding.
    pub safety: Safety,
}

impl Offer {
    /// An offer that keeps what the model meant.
    pub const fn safe(action: &'static str) -> Self {
        Self {
            action,
            safety: Safety::Safe,
        }
    }

    /// An offer that changes what the model saw or did.
    pub const fn unsafe_(action: &'static str) -> Self {
        Self {
            action,
            safety: Safety::Unsafe,
        }
    }

    /// An offer that needs the operator's words.
    pub const fn manual(action: &'static str) -> Self {
        Self {
            action,
            safety: Safety::Manual,
        }
    }
}

/// Every action, in the order of the menus.
pub const ACTIONS: &[Action] = &[
    Action {
        id: "inject-error",
        title: "inject error",
        what: "answer the call with an error for the model",
        plan: inject_error::plan,
    },
    Action {
        id: "retry",
        title: "retry turn",
        what: "ask the model again, plain or with feedback",
        plan: retry::plan,
    },
    Action {
        id: "fallback",
        title: "accept fallback",
        what: "set the final message or the tool's output",
        plan: fallback::plan,
    },
    Action {
        id: "take-suggestion",
        title: "take the suggestion",
        what: "give the call the name that was meant",
        plan: take_suggestion::plan,
    },
    Action {
        id: "repair-arguments",
        title: "repair arguments",
        what: "take what the broken arguments probably meant",
        plan: repair_arguments::plan,
    },
    Action {
        id: "supply-output",
        title: "supply output",
        what: "write the output that is missing",
        plan: supply_output::plan,
    },
    Action {
        id: "salvage-call",
        title: "make it a call",
        what: "make the call that the model wrote as text",
        plan: salvage_call::plan,
    },
    Action {
        id: "edit",
        title: "edit",
        what: "change the item by hand",
        plan: edit::plan,
    },
    Action {
        id: "drop-item",
        title: "drop item",
        what: "leave the item out of the history",
        plan: drop_item::plan,
    },
    Action {
        id: "drop-pair",
        title: "drop pair",
        what: "leave out call, output and their reasoning",
        plan: drop_pair::plan,
    },
    Action {
        id: "move-output",
        title: "move output",
        what: "put the output where the provider wants it",
        plan: move_output::plan,
    },
    Action {
        id: "renew-id",
        title: "new id",
        what: "give the call and its output an id of their own",
        plan: renew_id::plan,
    },
    Action {
        id: "close-turn",
        title: "end the turn",
        what: "answer the open calls with the warning that they may have run",
        plan: close_turn::plan,
    },
    Action {
        id: "output-to-text",
        title: "output to text",
        what: "turn an output without a call into plain text",
        plan: output_to_text::plan,
    },
    Action {
        id: "sanitise-name",
        title: "sanitise name",
        what: "rename the tool as the provider accepts it",
        plan: sanitise_name::plan,
    },
    Action {
        id: "relink",
        title: "relink",
        what: "link the entry to the one before it",
        plan: relink::plan,
    },
    Action {
        id: "raise-limit",
        title: "raise the limit",
        what: "ask again with more room for the reply",
        plan: raise_limit::plan,
    },
];

pub fn find(id: &str) -> Option<&'static Action> {
    ACTIONS.iter().find(|action| action.id == id)
}

// What each offer of a finding would do, or why it does not apply.

/// An offer with what came of it.
#[derive(Debug, Clone)]
pub struct OfferPreview {
    pub action: &'static Action,
    /// How safe it is for this finding.
    pub safety: Safety,
    /// What it would do with what was chosen so far, or why it does not apply.
    pub outcome: Result<Plan, ActionError>,
}

/// Tries every offer of a finding; nothing is changed.
pub fn offers_of(
    scene: &ActionContext<'_>,
    offers: &[Offer],
    choice: &ActionInput<'_>,
) -> Vec<OfferPreview> {
    let known = offers
        .iter()
        .filter_map(|offer| Some((find(offer.action)?, offer.safety)));
    known
        .map(|(action, safety)| OfferPreview {
            action,
            safety,
            outcome: (action.plan)(scene, choice),
        })
        .collect()
}
