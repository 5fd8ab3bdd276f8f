//! Anthropic Messages (Anthropic API reference, and the provider's own error texts).

use super::chat;
use super::facts::{
    CallIds, Facts, Family, IdsNeeded, Names, Placement, Repeats, RequestUnit, Schemas,
    ServerState, ToolSpelling,
};
use crate::session::{Dialect, Shape};

pub(super) const FACTS: Facts = Facts {
    dialect: Dialect::Anthropic,
    word: "anthropic",
    vendor: "Anthropic",
    title: "Anthropic",
    history_title: "Anthropic messages",
    shape: Shape::Anthropic,
    format: "anthropic-messages",
    family: Family::Anthropic,
    base_url: "https://api.anthropic.com",
    key_variable: "ANTHROPIC_API_KEY",
    path: "messages",
    sdk_base: "",
    key_header: ("x-api-key", ""),
    // Later versions refuse members that recorded requests hold (`temperature`).
    headers: &[("anthropic-version", "2023-06-01")],
    instructions_key: Some("system"),
    calls_key: Some("content"),
    tool: ToolSpelling::Untyped,
    own_members: &["model", "messages", "system", "tools", "stream"],
    limit_keys: &["max_tokens"],
    default_limit: Some(4096),
    tells_usage_last: false,
    formats: &[&["output_config", "format"], &["output_format"]],
    heartbeat: "event: ping\ndata: {\"type\":\"ping\"}\n\n",
    has_blocks: true,
    server_state: ServerState::Threads,
    call_prefix: "toolu_",
    unit: RequestUnit::Role,
    call_marks: &["\"tool_use\""],
    early_end_marks: &["\"max_tokens\"", "_window_exceeded\"", "\"refusal\""],
    names: Names {
        longest: 128,
        extra: b"",
    },
    schemas: Schemas {
        barred: &["oneOf", "anyOf", "allOf"],
        needs_items: false,
        is_checked: true,
        needs_type: true,
        takes_empty: false,
        limits_keys: true,
        is_needed: true,
    },
    call_ids: CallIds {
        // It names no limit; nothing that is longer than the longest of the others comes from a provider.
        longest: 64,
        plain: true,
        needed: IdsNeeded::Both,
        repeats: Repeats::None,
    },
    placement: Placement::FirstInNextMessage,
    refuses_repeated_tools: true,
    object_arguments: true,
    images_in_outputs: true,
    marks_errors: true,
    marks_refusals: false,
    blank_texts: false,
    custom_tools: false,
    keeps_reasoning: true,
    signs_reasoning: true,
    pairs_hosted_results: true,
    opens_with_user: true,
    refuses_tool_role: true,
    caps_many_images: true,
    is_common: false,
    tells_cut_late: true,
    ..chat::FACTS
};
