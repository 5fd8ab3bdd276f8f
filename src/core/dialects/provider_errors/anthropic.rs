//! Sentences of Anthropic's Messages API, which are also heard through Bedrock, Vertex and proxies.

use super::Provider::{Anthropic, ClaudeCode};
use super::{Fault, Row};

const TEXT_AFTER_CALL: &str = "This also appears when the output is there: when a text block follows the \
    `tool_use` in its message, when text stands before the `tool_result`, or when the outputs of one turn are \
    spread over two messages.";

pub(super) const ROWS: &[Row] = &[
    Row::new(
        Anthropic,
        Fault::CallWithoutOutput,
        "claude-code#3512",
        r"tool_use ids were found without tool_result blocks immediately after(?:: (?<ids>[^ ,]+(?:, [^ ,]+)*))?",
        "messages.5: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01A, \
        toolu_01B. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
    )
    .calls(&["toolu_01A", "toolu_01B"])
    .at("messages", &[5])
    .misleading(TEXT_AFTER_CALL),
    Row::new(
        Anthropic,
        Fault::CallWithoutOutput,
        "language-servers#1235",
        r"did not find (?<limit>[0-9]+) tool_result block\(?s?\)? at the beginning of this message",
        "messages.54: Did not find 2 `tool_result` block(s) at the beginning of this message. Messages \
        following `tool_use` blocks must begin with a matching number of `tool_result` blocks.",
    )
    .at("messages", &[54])
    .limit(Some(2), None)
    .misleading(TEXT_AFTER_CALL),
    Row::new(
        Anthropic,
        Fault::ServerPairBroken,
        "claude-code#64383",
        r"unexpected tool_use_id found in (?<value>[a-z_]+_tool_result) blocks(?:: (?<ids>[^ ,]+(?:, [^ ,]+)*))?",
        "messages.7.content.0: unexpected `tool_use_id` found in `advisor_tool_result` blocks: srvtoolu_01X. \
        Each `advisor_tool_result` block must have a corresponding `server_tool_use` block before it.",
    )
    .calls(&["srvtoolu_01X"])
    .at("messages", &[7, 0])
    .value("advisor_tool_result"),
    Row::new(
        Anthropic,
        Fault::ServerPairBroken,
        "several public repositories",
        r"(?<value>[a-z_]+) tool use with id (?<ids>[^ ,]+) was found without a corresponding [a-z_]+_tool_result block",
        "messages.3: `web_search` tool use with id `srvtoolu_01X` was found without a corresponding \
        `web_search_tool_result` block",
    )
    .calls(&["srvtoolu_01X"])
    .at("messages", &[3])
    .value("web_search"),
    Row::new(
        Anthropic,
        Fault::OutputWithoutCall,
        "claude-code#13460",
        r"unexpected tool_use_id found in tool_result blocks(?:: (?<ids>[^ ,]+(?:, [^ ,]+)*))?",
        "messages.48.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01C. Each \
        `tool_result` block must have a corresponding `tool_use` block in the previous message.",
    )
    .calls(&["toolu_01C"])
    .at("messages", &[48, 1])
    .misleading("This also appears when the call is in the history but another message stands between it and \
        the output."),
    Row::new(
        Anthropic,
        Fault::DuplicateCallId,
        "litellm#23510",
        r"tool_use ids must be unique",
        "messages.1.content.1: `tool_use` ids must be unique",
    )
    .at("messages", &[1, 1]),
    Row::new(
        Anthropic,
        Fault::DuplicateOutput,
        "hindsight#4250",
        r"each tool_use must have a single result\.(?: found multiple tool_result blocks with id: (?<ids>[^ ,]+))?",
        "messages.4.content.5: each tool_use must have a single result. Found multiple `tool_result` blocks \
        with id: toolu_01D",
    )
    .calls(&["toolu_01D"])
    .at("messages", &[4, 5]),
    Row::new(
        Anthropic,
        Fault::IdCharacters,
        "several public repositories",
        r"(?:server_)?(?:tool_use|tool_result)(?:\.id|\.tool_use_id): string should (?:match pattern (?<expected>\^[^ ]*?\$)|have at (?:most|least) (?<limit>[0-9]+) character)",
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    )
    .at("messages", &[1, 0])
    .accepts("^[a-zA-Z0-9_-]+$"),
    Row::new(
        Anthropic,
        Fault::InvalidToolName,
        "several public repositories",
        r"\.name: string should (?:match pattern (?<expected>\^[^ ]*?\$)|have at (?:most|least) (?<limit>[0-9]+) character)",
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    )
    .at("tools", &[0])
    .accepts("^[a-zA-Z0-9_-]{1,128}$"),
    Row::new(
        Anthropic,
        Fault::MissingCallId,
        "several public repositories",
        r"(?:tool_use\.id|tool_result\.tool_use_id): field required",
        "messages.2.content.0.tool_result.tool_use_id: Field required",
    )
    .at("messages", &[2, 0]),
    Row::new(
        Anthropic,
        Fault::InputNotObject,
        "greger.el#60",
        r"tool_use\.input: (?:input should be a valid dictionary|field required)",
        "messages.2.content.0.tool_use.input: Input should be a valid dictionary",
    )
    .at("messages", &[2, 0]),
    Row::new(
        Anthropic,
        Fault::EmptyErrorContent,
        "inspect_ai#169",
        r"tool_result: content cannot be empty if is_error is true",
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
    )
    .at("messages", &[2, 0]),
    Row::new(
        Anthropic,
        Fault::EmptyContent,
        "claude-code#59812",
        r"text content blocks must (?:be non-empty|contain non-whitespace text)",
        "messages: text content blocks must be non-empty",
    )
    .at("messages", &[]),
    Row::new(
        Anthropic,
        Fault::EmptyContent,
        "claude-code#4416",
        r"all messages must have non-empty content",
        "messages.3: all messages must have non-empty content except for the optional final assistant message",
    )
    .at("messages", &[3]),
    Row::new(
        Anthropic,
        Fault::ThinkingModified,
        "claude-code#63203",
        r"thinking or redacted_thinking blocks in the latest assistant message cannot be modified",
        "messages.3.content.11: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot \
        be modified. These blocks must remain as they were in the original response.",
    )
    .at("messages", &[3, 11])
    .misleading("This also appears when the block itself is untouched but its neighbours were merged, reordered \
        or dropped."),
    Row::new(
        Anthropic,
        Fault::BadSignature,
        "several public repositories",
        r"invalid signature in thinking block",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    )
    .at("messages", &[1, 0]),
    Row::new(
        Anthropic,
        Fault::BadSignature,
        "several public repositories",
        r"thinking\.signature: (?:field required|input should be)",
        "messages.1.content.0.thinking.signature: Field required",
    )
    .at("messages", &[1, 0]),
    Row::new(
        Anthropic,
        Fault::ThinkingMissing,
        "Antigravity-Manager#139",
        r"expected thinking or redacted_thinking, but found (?<value>[a-z_]+)",
        "messages.129.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When \
        `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the \
        lastmost set of `tool_use` and `tool_result` blocks).",
    )
    .at("messages", &[129, 0])
    .value("text"),
    Row::new(
        Anthropic,
        Fault::DuplicateToolNames,
        "several public repositories",
        r"tool names must be unique",
        "tools: Tool names must be unique.",
    )
    .at("tools", &[]),
    Row::new(
        Anthropic,
        Fault::ToolSchemaInvalid,
        "several public repositories",
        r"input_schema: json schema is invalid",
        "tools.3.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12.",
    )
    .at("tools", &[3]),
    Row::new(
        Anthropic,
        Fault::ToolSchemaInvalid,
        "not re-checked",
        r"input_schema(?:\.type)?: (?:field required|input (?:should be|does not))",
        "tools.0.custom.input_schema.type: Field required",
    )
    .at("tools", &[0]),
    Row::new(
        Anthropic,
        Fault::ToolSchemaInvalid,
        "several public repositories",
        r"input_schema does not support (?<value>oneof, allof, or anyof) at the top level",
        "tools.5.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    )
    .at("tools", &[5])
    .value("oneOf, allOf, or anyOf"),
    Row::new(
        Anthropic,
        Fault::AssistantPrefill,
        "agno#7015",
        r"does not support assistant message prefill|prefilling assistant messages is no longer supported",
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    Row::new(
        Anthropic,
        Fault::ImageTooLarge,
        "claude-code#49537",
        r"(?:at least one of the )?image dimensions exceeds? max allowed size(?: for many-images? requests)?: (?<limit>[0-9]+) pixels",
        "messages.108.content.3.image.source.base64.data: At least one of the image dimensions exceed max \
        allowed size for many-image requests: 2000 pixels",
    )
    .at("messages", &[108, 3])
    .limit(Some(2000), None),
    Row::new(
        ClaudeCode,
        Fault::ImageTooLarge,
        "claude-code#49720",
        r"(?:an )?image in the conversation exceeds the dimension limit for many-image requests(?: \((?<limit>[0-9]+) ?px\))?",
        "An image in the conversation exceeds the dimension limit for many-image requests (2000px). Run \
        /compact to remove old images from context, or start a new session.",
    )
    .limit(Some(2000), None),
    Row::new(
        Anthropic,
        Fault::TooManyImages,
        "not re-checked",
        r"too many images(?: and documents)?: (?<actual>[0-9]+)(?: \+ [0-9]+)? > (?<limit>[0-9]+)",
        "messages: Too many images and documents: 101 > 100",
    )
    .at("messages", &[])
    .limit(Some(100), Some(101)),
    Row::new(
        Anthropic,
        Fault::RequestTooLarge,
        "pi#401",
        r"request_too_large|request exceeds the maximum (?:allowed )?(?:size|number of bytes)",
        r#"Error: 413 {"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
    ),
    Row::new(
        Anthropic,
        Fault::ToolsNotOffered,
        "several public repositories",
        r"requests which include tool_use or tool_result blocks must define tools",
        "Requests which include `tool_use` or `tool_result` blocks must define tools",
    ),
    Row::new(
        Anthropic,
        Fault::TurnOrder,
        "several public repositories",
        r"(?:tool_result blocks can only be in user|tool_use blocks can only be in assistant) messages",
        "messages.2: `tool_result` blocks can only be in `user` messages",
    )
    .at("messages", &[2]),
    Row::new(
        Anthropic,
        Fault::TurnOrder,
        "litellm#3474",
        r"roles must alternate between user and assistant",
        r#"messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row"#,
    )
    .at("messages", &[]),
    Row::new(
        Anthropic,
        Fault::UnknownRole,
        "several public repositories",
        r"(?<place>messages[.0-9]*): unexpected role (?<value>[a-z_]+)",
        r#"messages: Unexpected role "tool". The Messages API accepts a top-level `system` parameter, not "system" as an input message role."#,
    )
    .at("messages", &[])
    .value("tool"),
    Row::new(
        Anthropic,
        Fault::UnknownItemType,
        "several public repositories",
        r"(?<place>(?:messages|tools)[a-z0-9_.]*): input tag (?<value>[^ ]+) found using (?:type|[^ ]+\(\)|[^ ]+ \| [^ ]+) does not match any of the expected tags",
        "messages.1.content.0: Input tag 'function_call' found using 'type' does not match any of the expected \
        tags: 'text', 'image', 'tool_use'",
    )
    .at("messages", &[1, 0])
    .value("function_call"),
    Row::new(
        Anthropic,
        Fault::ContextTooLong,
        "coday#26",
        r"prompt is too long(?:: (?<actual>[0-9,]+) tokens > (?<limit>[0-9,]+) maximum)?",
        r#"Anthropic error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 207791 tokens > 200000 maximum"}}"#,
    )
    .limit(Some(200_000), Some(207_791)),
    Row::new(
        Anthropic,
        Fault::ContextTooLong,
        "docker-agent#569",
        r"input length and max_tokens exceed context limit(?:: (?<actual>[0-9]+) \+ [0-9]+ > (?<limit>[0-9]+))?",
        "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or \
        `max_tokens` and try again",
    )
    .limit(Some(200_000), Some(178_959)),
    Row::new(
        ClaudeCode,
        Fault::CallWithoutOutput,
        "several public repositories",
        r"due to tool use concurrency issues",
        "API Error: 400 due to tool use concurrency issues. Run /rewind to recover the conversation.",
    )
    .misleading("Claude Code says this for every pairing error of the provider; the provider's own text is in \
        its log."),
    Row::new(
        ClaudeCode,
        Fault::WrongIdPrefix,
        "claude-code#58427",
        r"(?<place>diagnostics\.previous_message_id): must be the id from a prior",
        "diagnostics.previous_message_id: must be the id from a prior /v1/messages response",
    )
    .at("diagnostics", &[]),
    Row::new(
        ClaudeCode,
        Fault::UnknownTool,
        "several public repositories",
        r"no such tool available: (?<tool>[^ ,<]+)",
        "<tool_use_error>Error: No such tool available: serch_files</tool_use_error>",
    )
    .tool("serch_files"),
];
