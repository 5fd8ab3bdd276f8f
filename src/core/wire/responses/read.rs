//! Reads items of Responses, and tells which of them the provider refuses.

use crate::json::{Cursor, Result};
use crate::session::{CallId, Dialect, Fact, Family, Flags, Fragment, Item, Kind, NameId, Span};
use crate::wire::faults::{self, ShapeFault, first_byte, has_unknown_part, is_id_byte, is_longer};
use crate::wire::fields::{Fields, call_id_within, role_kind};

/// Reads the item at the cursor; `base` is where the walked text begins in the source.
pub fn read_item(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let bytes = cursor.bytes();
    let fields = Fields::read(cursor)?;
    push_item(bytes, base, &fields, out);
    Ok(())
}

/// Adds the item whose members were walked.
pub fn push_item(bytes: &[u8], base: u64, fields: &Fields<'_>, out: &mut Fragment) {
    let (kind, family) = classify(fields);
    let id = match family {
        Family::Approval if kind == Kind::ApprovalRequest => fields.id,
        Family::Approval => fields.approval_request_id,
        Family::LocalShell | Family::Hosted => fields.call_id.or(fields.id),
        _ => fields.call_id,
    };
    let is_call = matches!(
        kind,
        Kind::Call | Kind::HostedCall | Kind::ApprovalRequest | Kind::Output
    );
    let name = if is_call {
        intern_name(kind, fields, out)
    } else {
        NameId::default()
    };
    let mut flags = faults::mark(fault_of_item(bytes, fields, kind, family));
    flags.set_if(Flags::OWN_ID, fields.id.is_some_and(|id| !id.is_empty()));
    flags.set_if(Flags::INCOMPLETE, fields.status == Some(b"incomplete"));
    flags.set_if(
        Flags::ERROR,
        kind == Kind::Output && fields.status == Some(b"failed"),
    );
    flags.set_if(
        Flags::REFUSAL,
        kind == Kind::Assistant && says_refusal(bytes, fields),
    );
    flags.set_if(Flags::UNKNOWN, is_unknown_item(bytes, fields, kind));
    let carries_tools = matches!(
        fields.kind,
        Some(b"additional_tools" | b"tool_search_output" | b"mcp_list_tools")
    );
    out.items.push(Item {
        span: fields.span(base),
        call_id: match id {
            Some(id) => call_id_within(bytes, fields.range.start, Some(id)),
            None => CallId::default(),
        },
        record: out.record(),
        turn: 0,
        name,
        kind,
        family,
        dialect: Some(Dialect::Responses),
        flags,
    });
    if let (true, Some(tools)) = (carries_tools, fields.tools.clone()) {
        out.note(Fact::MoreTools(Span::within(base, tools)));
    }
}

fn intern_name(kind: Kind, fields: &Fields<'_>, out: &mut Fragment) -> NameId {
    if fields.name.is_some() {
        return out.names.intern(&fields.qualified_name());
    }
    match (kind, fields.kind) {
        (Kind::Call | Kind::HostedCall, Some(kind)) => {
            let kind = String::from_utf8_lossy(kind);
            out.names
                .intern(kind.strip_suffix("_call").unwrap_or(&kind))
        }
        _ => NameId::default(),
    }
}

fn classify(fields: &Fields<'_>) -> (Kind, Family) {
    let by_server = fields.execution == Some(b"server");
    match fields.kind.unwrap_or(b"message") {
        b"message" => (role_kind(fields.role), Family::None),
        b"agent_message" => (Kind::Assistant, Family::None),
        b"reasoning" => (Kind::Reasoning, Family::None),
        b"function_call" => (Kind::Call, Family::Function),
        b"function_call_output" => (Kind::Output, Family::Function),
        b"custom_tool_call" if is_run_by_xai(fields.name) => (Kind::HostedCall, Family::Hosted),
        b"custom_tool_call" => (Kind::Call, Family::Custom),
        b"custom_tool_call_output" => (Kind::Output, Family::Custom),
        b"computer_call" => (Kind::Call, Family::Computer),
        b"computer_call_output" => (Kind::Output, Family::Computer),
        b"shell_call" => (Kind::Call, Family::Shell),
        b"shell_call_output" => (Kind::Output, Family::Shell),
        b"local_shell_call" => (Kind::Call, Family::LocalShell),
        b"local_shell_call_output" => (Kind::Output, Family::LocalShell),
        b"apply_patch_call" => (Kind::Call, Family::ApplyPatch),
        b"apply_patch_call_output" => (Kind::Output, Family::ApplyPatch),
        b"tool_search_call" if by_server => (Kind::HostedCall, Family::Hosted),
        b"tool_search_output" if by_server => (Kind::HostedOutput, Family::Hosted),
        b"tool_search_call" => (Kind::Call, Family::ToolSearch),
        b"tool_search_output" => (Kind::Output, Family::ToolSearch),
        b"program" => (Kind::Call, Family::Program),
        b"program_output" => (Kind::Output, Family::Program),
        b"mcp_approval_request" => (Kind::ApprovalRequest, Family::Approval),
        b"mcp_approval_response" => (Kind::ApprovalResponse, Family::Approval),
        b"mcp_list_tools" | b"additional_tools" => (Kind::ToolDefinitions, Family::None),
        b"compaction" | b"compaction_summary" | b"context_compaction" => {
            (Kind::Compaction, Family::None)
        }
        b"compaction_trigger" | b"configuration_update" => (Kind::Notice, Family::None),
        // Hosted calls hold their own results; providers add types faster than anyone lists them.
        other if other.ends_with(b"_call") => (Kind::HostedCall, Family::Hosted),
        _ => (Kind::Other, Family::None),
    }
}

/// Whether a custom call is one that xAI runs itself for its `x_search`: its Responses API spells them so.
fn is_run_by_xai(name: Option<&[u8]>) -> bool {
    matches!(
        name,
        Some(b"x_keyword_search" | b"x_semantic_search" | b"x_user_search" | b"x_thread_fetch")
    )
}

/// Whether the message holds a refusal part.
fn says_refusal(bytes: &[u8], fields: &Fields<'_>) -> bool {
    let Some(content) = fields.content.clone() else {
        return fields.refusal;
    };
    let mut found = fields.refusal;
    // A content that is not a list of parts holds no refusal; its faults were reported when the item was walked.
    let _ = Cursor::at(&bytes[..content.end], content.start).array(|cursor| {
        found |= Fields::read(cursor)?.kind == Some(b"refusal");
        Ok(())
    });
    found
}

/// The longest call id and item id of Responses, in characters (OpenAI API reference).
const RESPONSES_ID: usize = 64;

/// An item of Responses.
pub(crate) fn fault_of_item(
    bytes: &[u8],
    fields: &Fields<'_>,
    kind: Kind,
    family: Family,
) -> Option<ShapeFault> {
    let is_text = |value| matches!(first_byte(bytes, value), Some(b'"' | b'['));
    let is_plain = matches!(family, Family::Function | Family::Custom);
    let limit = RESPONSES_ID;
    match kind {
        Kind::Call
            if is_plain && !matches!(first_byte(bytes, &fields.arguments), None | Some(b'"')) =>
        {
            Some(ShapeFault::ArgumentsNotString)
        }
        Kind::Call if is_longer(fields.call_id, limit) => Some(ShapeFault::LongCallId { limit }),
        Kind::Output if is_plain && !is_text(&fields.output) => Some(ShapeFault::ContentType),
        Kind::System | Kind::User | Kind::Assistant
            if is_message(fields) && !is_text(&fields.content) =>
        {
            Some(ShapeFault::ContentType)
        }
        _ => fault_of_item_id(fields),
    }
}

fn fault_of_item_id(fields: &Fields<'_>) -> Option<ShapeFault> {
    let id = fields.id?;
    let prefix = match fields.kind {
        Some(b"function_call") => "fc",
        Some(b"custom_tool_call") => "ctc",
        Some(b"reasoning") => "rs",
        Some(b"message") => "msg",
        _ => "",
    };
    if id.is_empty() || !id.iter().all(|byte| is_id_byte(*byte)) {
        Some(ShapeFault::ItemIdCharacters)
    } else if !id.starts_with(prefix.as_bytes()) {
        Some(ShapeFault::ItemIdPrefix { prefix })
    } else {
        (id.len() > RESPONSES_ID).then_some(ShapeFault::LongItemId)
    }
}

fn is_message(fields: &Fields<'_>) -> bool {
    matches!(fields.kind, None | Some(b"message"))
}

/// Types of content parts of Responses (OpenAI API reference: `InputContent`, `OutputContent`,
/// `ReasoningTextContent`, `SummaryTextContent`).
pub(crate) const CONTENT_TYPES: &[&[u8]] = &[
    b"input_text",
    b"output_text",
    b"input_image",
    b"input_file",
    b"input_audio",
    b"refusal",
    b"text",
    b"reasoning_text",
    b"summary_text",
    b"computer_screenshot",
    b"encrypted_content",
];

/// Types of items of Responses that are not a message, call or output and known all the same: a reference to a
/// kept item, and what Codex notes of the work tree.
const REFERENCES: &[&[u8]] = &[b"item_reference", b"ghost_snapshot"];

/// Whether an item of Responses, or a part of a message, is of an unknown type.
fn is_unknown_item(bytes: &[u8], fields: &Fields<'_>, kind: Kind) -> bool {
    match kind {
        Kind::Other => !fields.kind.is_some_and(|kind| REFERENCES.contains(&kind)),
        Kind::System | Kind::User | Kind::Assistant => {
            has_unknown_part(bytes, &fields.content, CONTENT_TYPES)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Fragment {
        let mut out = Fragment::default();
        out.begin_record(Span::default());
        read_item(&mut Cursor::new(text.as_bytes()), 0, &mut out).unwrap();
        out
    }

    fn kind(text: &str) -> (Kind, Family) {
        let item = read(text).items[0];
        (item.kind, item.family)
    }

    #[test]
    fn every_pair_of_the_reference_is_a_call_and_an_output_of_one_family() {
        for family in [
            "function_call",
            "custom_tool_call",
            "computer_call",
            "shell_call",
            "local_shell_call",
            "apply_patch_call",
        ] {
            let call = kind(&format!(r#"{{"type":"{family}","call_id":"c"}}"#));
            let output = kind(&format!(r#"{{"type":"{family}_output","call_id":"c"}}"#));
            assert_eq!((call.0, output.0), (Kind::Call, Kind::Output), "{family}");
            assert_eq!(call.1, output.1, "{family}");
        }
    }

    #[test]
    fn a_message_needs_no_type() {
        assert_eq!(kind(r#"{"role":"user","content":"hi"}"#).0, Kind::User);
        assert_eq!(
            kind(r#"{"role":"developer","content":"be kind"}"#).0,
            Kind::System
        );
    }

    #[test]
    fn hosted_calls_answer_themselves_and_unknown_types_are_kept() {
        assert_eq!(
            kind(r#"{"type":"web_search_call","id":"ws_1"}"#).0,
            Kind::HostedCall
        );
        assert_eq!(
            kind(r#"{"type":"telepathy_call","id":"x"}"#).0,
            Kind::HostedCall
        );
        assert_eq!(kind(r#"{"type":"holo","id":"x"}"#).0, Kind::Other);
    }

    #[test]
    fn the_call_id_pairs_and_the_item_id_does_not() {
        let text = r#"{"type":"function_call","id":"fc_1","call_id":"call_9","namespace":"files","name":"read"}"#;
        let read = read(text);
        let item = read.items[0];
        let span = item.call_id.span(item.span).unwrap();
        assert_eq!(&text[span.start as usize..span.end as usize], "call_9");
        assert_eq!(read.names.text(item.name), "files.read");
    }

    #[test]
    fn tools_that_arrive_on_the_way_are_noted_where_they_arrive() {
        let read =
            read(r#"{"type":"tool_search_output","execution":"client","tools":[{"name":"x"}]}"#);
        assert!(matches!(read.facts[..], [(1, Fact::MoreTools(_))]));
    }

    #[test]
    fn a_refusal_is_seen() {
        let refused = r#"{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}"#;
        assert!(read(refused).items[0].flags.has(Flags::REFUSAL));
        let plain = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"refusal"}]}"#;
        assert!(!read(plain).items[0].flags.has(Flags::REFUSAL));
    }
}
