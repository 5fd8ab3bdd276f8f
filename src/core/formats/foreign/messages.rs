//! Message lists of agent frameworks: each has roles, contents and calls that look like those of a
//! provider, and are none.

use crate::formats::{Document, Sample};

/// How many documents of the head are looked into.
const DOCUMENTS: usize = 16;

/// Bedrock Converse: blocks without a type, each under its own name (`toolUse`, `toolResult` with
/// `toolUseId`), tools in `toolConfig`.
pub(super) fn is_converse(sample: &Sample<'_>) -> bool {
    sample.mentions("\"tool")
        && (holders(sample).iter().any(|holder| {
            holder.has("toolConfig") && (holder.has("messages") || holder.has("modelId"))
        }) || any_part(sample, |part| {
            ["toolUse", "toolResult"]
                .iter()
                .any(|block| part.object(block).has("toolUseId"))
        }))
}

/// AI SDK (Vercel): `tool-call` and `tool-result` parts with a `toolCallId`, or
/// `toolInvocations` beside the content.
pub(super) fn is_ai_sdk(sample: &Sample<'_>) -> bool {
    sample.mentions("toolCallId")
        && (any_message(sample, |message| {
            message
                .array("toolInvocations")
                .iter()
                .any(|call| call.has("toolCallId"))
        }) || any_part(sample, |part| {
            let kind = part.text("type").unwrap_or_default();
            kind.starts_with("tool-") && part.has("toolCallId")
        }))
}

/// Messages of a user interface whose content stands in `parts` (AI SDK, and others after it).
pub(super) fn is_ui_messages(sample: &Sample<'_>) -> bool {
    any_message(sample, |message| {
        message.has("role") && message.array("parts").iter().any(|part| part.has("type"))
    })
}

/// LangChain: messages by `type` (`human`, `ai`), with their members in place, in `data`, or in the
/// `kwargs` of a constructor.
pub(super) fn is_langchain(sample: &Sample<'_>) -> bool {
    any_message(sample, |message| {
        let kind = message.text("type").unwrap_or_default();
        let is_spoken = matches!(
            &*kind,
            "human" | "ai" | "HumanMessage" | "AIMessage" | "HumanMessageChunk" | "AIMessageChunk"
        );
        let holds = message.has("content") || message.object("data").has("content");
        is_spoken && holds && !message.has("role")
            || kind == "constructor" && message.has("lc") && message.has("kwargs")
    })
}

/// tau2: both sides call tools, so that calls and outputs name their `requestor`; a call has its name
/// and arguments in itself.
pub(super) fn is_tau2(sample: &Sample<'_>) -> bool {
    sample.mentions("\"requestor\"")
        && any_message(sample, |message| {
            let is_output = message.says("role", "tool") && message.has("requestor");
            let mut calls = message.array("tool_calls").into_iter();
            is_output || calls.any(|call| call.has("requestor") && !call.has("function"))
        })
}

/// Inspect: calls whose `function` is the name of the tool, and arguments beside it; or a sample of a log.
pub(super) fn is_inspect(sample: &Sample<'_>) -> bool {
    let is_call = |call: &Document<'_>| {
        let is_name = call
            .raw("function")
            .is_some_and(|name| name.starts_with(b"\""));
        is_name && call.has("arguments")
    };
    sample
        .any(|document| document.has("epoch") && document.has("target") && document.has("messages"))
        || any_message(sample, |message| {
            message.array("tool_calls").iter().any(is_call)
        })
}

/// Letta: messages by `message_type`, or the file of an agent.
pub(super) fn is_letta(sample: &Sample<'_>) -> bool {
    let is_agent = |agent: &Document<'_>| {
        agent.has("agent_type")
            && (agent.has("core_memory")
                || agent.has("memory_blocks")
                || agent.has("in_context_message_ids"))
    };
    sample.any(|document| is_agent(document) || document.array("agents").iter().any(is_agent))
        || any_message(sample, |message| {
            let kind = message.text("message_type").unwrap_or_default();
            kind.ends_with("_message") && !message.has("role")
        })
}

/// Pydantic AI: requests and responses of parts by `part_kind`.
pub(super) fn is_pydantic_ai(sample: &Sample<'_>) -> bool {
    sample.any(|document| {
        document.has("kind")
            && document
                .array("parts")
                .iter()
                .any(|part| part.has("part_kind"))
    })
}

/// opencode: `info` and `parts`.
pub(super) fn is_opencode(sample: &Sample<'_>) -> bool {
    any_message(sample, |message| {
        message.object("info").has("role") && message.has("parts")
    })
}

/// ShareGPT: `conversations` of `from` and `value`.
pub(super) fn is_sharegpt(sample: &Sample<'_>) -> bool {
    sample.any(|document| {
        let mut turns = document.array("conversations").into_iter();
        turns.any(|turn| turn.has("from") && turn.has("value"))
    })
}

/// What `claude -p --output-format stream-json` prints.
pub(super) fn is_claude_stream(sample: &Sample<'_>) -> bool {
    sample.any(|document| {
        document.says("type", "system")
            && document.says("subtype", "init")
            && document.has("session_id")
    }) || sample.any(|document| {
        document.has("parent_tool_use_id") && document.has("session_id") && document.has("message")
    })
}

/// The documents, and the bodies of requests in them.
fn holders<'a>(sample: &Sample<'a>) -> Vec<Document<'a>> {
    let documents = sample.documents.iter().take(DOCUMENTS);
    documents
        .flat_map(|document| {
            let request = document.object("request");
            [
                document.object("body"),
                request.object("body"),
                document.clone(),
                request,
            ]
        })
        .collect()
}

fn any_message<'a>(sample: &Sample<'a>, condition: impl Fn(&Document<'a>) -> bool) -> bool {
    holders(sample)
        .iter()
        .any(|holder| condition(holder) || holder.array("messages").iter().any(&condition))
}

fn any_part<'a>(sample: &Sample<'a>, condition: impl Fn(&Document<'a>) -> bool) -> bool {
    any_message(sample, |message| {
        message.array("content").iter().any(&condition)
    })
}
