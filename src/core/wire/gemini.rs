//! Gemini: histories are judged for it; it is asked through its endpoint that speaks Chat.

use super::chat;
use super::facts::{CallIds, Facts, IdsNeeded, Names, Placement, Repeats, RequestUnit, Schemas};
use crate::session::Dialect;

pub(super) const FACTS: Facts = Facts {
    dialect: Dialect::Gemini,
    word: "gemini",
    vendor: "Gemini",
    title: "Gemini",
    base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
    key_variable: "GEMINI_API_KEY",
    sdk_base: "",
    unit: RequestUnit::Role,
    names: Names {
        longest: 64,
        extra: b".:",
    },
    schemas: Schemas {
        barred: &[],
        needs_items: true,
        is_checked: false,
        needs_type: false,
        takes_empty: true,
        limits_keys: false,
        is_needed: false,
    },
    call_ids: CallIds {
        longest: 64,
        plain: false,
        needed: IdsNeeded::Neither,
        repeats: Repeats::All,
    },
    placement: Placement::NextTurn,
    refuses_repeated_tools: true,
    object_arguments: true,
    opens_with_user: true,
    is_common: false,
    ..chat::FACTS
};
