//! The OpenAI Responses API (OpenAI API reference, `responses`).

use super::chat;
use super::facts::{
    CallIds, Facts, IdsNeeded, Names, Placement, Repeats, RequestUnit, ServerState, ToolSpelling,
};
use crate::session::{Dialect, Shape};

pub(super) const FACTS: Facts = Facts {
    dialect: Dialect::Responses,
    word: "responses",
    title: "OpenAI Responses",
    history_title: "Responses items",
    shape: Shape::Responses,
    format: "openai-responses",
    path: "responses",
    history_key: "input",
    holders: &["input", "items", "output"],
    instructions_key: Some("instructions"),
    calls_key: None,
    tool: ToolSpelling::Flat,
    own_members: &["model", "input", "instructions", "tools", "stream"],
    limit_keys: &["max_output_tokens"],
    tells_usage_last: false,
    formats: &[&["text", "format"]],
    has_status: true,
    repeats_tools: true,
    numbers_events: true,
    server_state: ServerState::Replies,
    unit: RequestUnit::Item,
    call_marks: &["_call\"", "\"program\""],
    early_end_marks: &["\"incomplete_details\"", "\"refusal\""],
    // `FunctionToolParam`
    names: Names {
        longest: 128,
        extra: b"",
    },
    call_ids: CallIds {
        longest: 64,
        plain: false,
        // `call_id` of outputs is nullable since 2026.
        needed: IdsNeeded::Call,
        repeats: Repeats::AnsweredOrSame,
    },
    placement: Placement::Behind,
    images_in_outputs: true,
    marks_refusals: false,
    made_custom_calls: true,
    namespaces: true,
    keeps_reasoning: true,
    item_ids: true,
    is_common: false,
    ..chat::FACTS
};
