//! Sentences of single vendors that speak OpenAI's dialect with words of their own, and of Bedrock.

use super::Provider::{
    Bedrock, DeepSeek, Gateway, Groq, LlamaCpp, MiniMax, Mistral, Moonshot, Qwen,
};
use super::{Fault, Row};

pub(super) const ROWS: &[Row] = &[
    // Qwen (DashScope)
    Row::new(
        Qwen,
        Fault::CallWithoutOutput,
        "qwen-code#315",
        r"internalerror\.algo\.invalidparameter: an assistant message with tool_calls must be followed by tool messages responding to each tool_call_id\.(?: the following tool_call_ids did not have response messages: (?<place>[a-z0-9_.\[\]]+))?",
        r#"<400> InternalError.Algo.InvalidParameter: An assistant message with "tool_calls" must be followed by tool messages responding to each "tool_call_id". The following tool_call_ids did not have response messages: message[15].role"#,
    )
    .at("messages", &[15]),
    Row::new(
        Qwen,
        Fault::OutputWithoutCall,
        "not re-checked",
        r"internalerror\.algo\.invalidparameter: messages with role tool must be a response to a prece{1,2}ding message with tool_calls",
        r#"<400> InternalError.Algo.InvalidParameter: messages with role "tool" must be a response to a preceeding message with "tool_calls"."#,
    ),
    Row::new(
        Qwen,
        Fault::InputNotObject,
        "several public repositories",
        r"the function\.arguments parameter of the code model must be in json format",
        r#"<400> InternalError.Algo.InvalidParameter: The "function.arguments" parameter of the code model must be in JSON format."#,
    ),
    Row::new(
        Qwen,
        Fault::EmptyToolCalls,
        "vscode-unify-chat-provider#65",
        r"empty tool_calls is not supported in message",
        "Empty tool_calls is not supported in message",
    ),
    // DeepSeek
    Row::new(
        DeepSeek,
        Fault::CallWithoutOutput,
        "agno#3105",
        r"an assistant message with tool_calls must be followed by tool messages responding to each tool_call_id\. \(insufficient tool messages following tool_calls message\)",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
        'tool_call_id'. (insufficient tool messages following tool_calls message)",
    ),
    Row::new(
        DeepSeek,
        Fault::CallWithoutOutput,
        "pydantic-ai, recorded DeepSeek replies",
        r"no tool output found for tool call (?<ids>[^ ,]+)",
        r#"{"error":{"message":"No tool output found for tool call call-a.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
    )
    .calls(&["call-a"])
    .misleading("This also appears when the outputs exist but calls and outputs are interleaved: all calls of a \
        turn must come first."),
    Row::new(
        DeepSeek,
        Fault::ThinkingMissing,
        "several public repositories",
        r"the reasoning_content in the thinking mode must be passed back to the api",
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
    ),
    // Moonshot (Kimi)
    Row::new(
        Moonshot,
        Fault::ThinkingMissing,
        "mastra#12592",
        r"thinking is enabled but reasoning_content is missing in assistant tool call message(?: at index (?<message>[0-9]+))?",
        "Error code: 400 - {'error': {'message': 'thinking is enabled but reasoning_content is missing in \
        assistant tool call message at index 13', 'type': 'invalid_request_error'}}",
    )
    .at("messages", &[13]),
    Row::new(
        Moonshot,
        Fault::OutputWithoutCall,
        "several public repositories",
        r"invalid request: tool_call_id (?<ids>[^ ]+)? ?is not found",
        "Invalid request: tool_call_id  is not found",
    ),
    // MiniMax
    Row::new(
        MiniMax,
        Fault::TurnOrder,
        "oh-my-pi#2055",
        r"tool call result does not follow tool call",
        "400 invalid params, tool call result does not follow tool call (2013)",
    )
    .misleading("This also appears when two calls share one id, so that one of them stays without output."),
    Row::new(
        MiniMax,
        Fault::DuplicateCallId,
        "GCMP#120",
        r"duplicate tool_call id: (?<ids>[^ ,]+)",
        "status_code=2013, status_msg=invalid params, duplicate tool_call id: call_function_bhjpilv3nd53_1",
    )
    .calls(&["call_function_bhjpilv3nd53_1"]),
    // Mistral
    Row::new(
        Mistral,
        Fault::CountMismatch,
        "camel#1467",
        r"not the same number of function calls and responses",
        r#"{"object":"error","message":"Not the same number of function calls and responses","type":"invalid_request_message_order","param":null,"code":"3230"}"#,
    )
    .misleading("This also appears when an id is used for two calls: outputs are counted per id."),
    Row::new(
        Mistral,
        Fault::TurnOrder,
        "datapizza#98",
        r"unexpected role (?<value>[a-z]+) after role [a-z]+",
        r#"{"message":"Unexpected role 'user' after role 'tool'","type":"invalid_request_message_order","code":"3230"}"#,
    )
    .value("user"),
    Row::new(
        Mistral,
        Fault::IdCharacters,
        "magentic#276",
        r"tool call id was (?<ids>[^ ]+) but must be (?<expected>a-z, a-z, 0-9, with a length of [0-9]+)",
        "Tool call id was call_abc123 but must be a-z, A-Z, 0-9, with a length of 9.",
    )
    .calls(&["call_abc123"])
    .accepts("a-z, A-Z, 0-9, with a length of 9"),
    Row::new(
        Mistral,
        Fault::InvalidToolName,
        "not re-checked",
        r"function name was (?<tool>.{1,200}?) but must be a-z, a-z, 0-9",
        "Function name was files.read but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a \
        maximum length of 64.",
    )
    .tool("files.read"),
    Row::new(
        Mistral,
        Fault::EmptyContent,
        "several public repositories",
        r"assistant message must have either content or tool_calls",
        "Assistant message must have either content or tool_calls, but not none.",
    ),
    // Groq
    Row::new(
        Groq,
        Fault::UnknownToolRefused,
        "mastra#9688",
        r"attempted to call tool (?<tool>.{1,200}?) which was not in request\.tools",
        "tool call validation failed: attempted to call tool 'listFiles' which was not in request.tools",
    )
    .tool("listFiles"),
    Row::new(
        Groq,
        Fault::InvalidArgumentsRefused,
        "ha-groq#20",
        r"parameters for tool (?<tool>.{1,200}?) did not match schema(?:: errors: \[(?<value>[^\]]{0,2000})\])?",
        "tool call validation failed: parameters for tool HassTurnOff did not match schema: errors: [`/domain`: \
        expected array, but got string]",
    )
    .tool("HassTurnOff")
    .value("/domain: expected array, but got string"),
    Row::new(
        Groq,
        Fault::MalformedCallRefused,
        "groq-typescript#28",
        r"failed to call a function\. please adjust your prompt\.(?: see failed_generation for more details)?",
        "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
    ),
    // llama.cpp
    Row::new(
        LlamaCpp,
        Fault::MalformedCallRefused,
        "several public repositories",
        r"failed to parse tool call arguments as json",
        "HTTP 500: Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at \
        line 1, column 20: missing closing quote",
    ),
    // Gateways
    Row::new(
        Gateway,
        Fault::UnknownItemType,
        "command-code#893",
        r"message: ?invalid input,[^}]{0,200}?param: ?(?<place>input)\b",
        r#"400 {"error":{"message":"Invalid input","type":"invalid_request_error","param":"input"}}"#,
    )
    .at("input", &[]),
    // Amazon Bedrock, Converse
    Row::new(
        Bedrock,
        Fault::CallWithoutOutput,
        "camel#3954",
        r"expected toolresult blocks at (?<place>messages[a-z0-9_.\[\]]*) for the following ids: (?<ids>[^ ,]+(?:, [^ ,]+)*)",
        "An error occurred (ValidationException) when calling the Converse operation: Expected toolResult \
        blocks at messages.2.content for the following Ids: tooluse_bRX9ftpYK3xO5tev2x4qtc, tooluse_b",
    )
    .calls(&["tooluse_bRX9ftpYK3xO5tev2x4qtc", "tooluse_b"])
    .at("messages", &[2])
    .misleading("This also appears when each output stands in a user message of its own: all outputs of a turn \
        belong in the one that follows."),
    Row::new(
        Bedrock,
        Fault::OutputWithoutCall,
        "harness-sdk#1435",
        r"the number of toolresult blocks at (?<place>messages[a-z0-9_.\[\]]*) exceeds the number of tooluse blocks of previous turn",
        "The number of toolResult blocks at messages.4.content exceeds the number of toolUse blocks of previous turn.",
    )
    .at("messages", &[4]),
    Row::new(
        Bedrock,
        Fault::EmptyErrorContent,
        "sample-multi-agent-orchestration-chat-on-agentcore#15",
        r"the content field at (?<place>messages[a-z0-9_.\[\]]*) cannot be empty when status value is error",
        "The content field at messages.6.content.0.toolResult cannot be empty when status value is error.",
    )
    .at("messages", &[6, 0]),
    Row::new(
        Bedrock,
        Fault::EmptyContent,
        "not re-checked",
        r"the (?:text|content) field in the (?:contentblock|message) object at (?<place>messages[a-z0-9_.\[\]]*) is (?:blank|empty)",
        "The text field in the ContentBlock object at messages.0.content.0 is blank. Add text to the text \
        field, and try again.",
    )
    .at("messages", &[0, 0]),
    Row::new(
        Bedrock,
        Fault::InputNotObject,
        "several public repositories",
        r"the format of the value at (?<place>messages[a-z0-9_.\[\]]*tooluse\.input) is invalid",
        "The format of the value at messages.1.content.1.toolUse.input is invalid. Provide a json object for \
        the field and try again.",
    )
    .at("messages", &[1, 1]),
    Row::new(
        Bedrock,
        Fault::InvalidToolName,
        "opencode#48750",
        r"value (?<tool>[^ ]*) at (?<place>[a-z0-9_.\[\]]*(?:tooluse|toolspec)\.name) failed to satisfy constraint: member must (?:satisfy regular expression pattern: (?<expected>[^ ,]+)|have length less than or equal to (?<limit>[0-9]+))",
        "1 validation error detected: Value 'files.read' at 'messages.2.member.content.1.member.toolUse.name' \
        failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
    )
    .tool("files.read")
    .at("messages", &[1, 0])
    .accepts("[a-zA-Z0-9_-]+"),
    Row::new(
        Bedrock,
        Fault::IdCharacters,
        "llama_index#22775",
        r"value (?<ids>[^ ]*) at (?<place>[a-z0-9_.\[\]]*tooluseid) failed to satisfy constraint: member must (?:satisfy regular expression pattern: (?<expected>[^ ,]+)|have length (?:less|greater) than or equal to (?<limit>[0-9]+))",
        "1 validation error detected: Value 'call#1' at \
        'messages.3.member.content.1.member.toolResult.toolUseId' failed to satisfy constraint: Member must \
        satisfy regular expression pattern: [a-zA-Z0-9_.:-]+",
    )
    .calls(&["call#1"])
    .at("messages", &[2, 0])
    .accepts("[a-zA-Z0-9_.:-]+"),
    Row::new(
        Bedrock,
        Fault::ToolsNotOffered,
        "several public repositories",
        r"the toolconfig field must be defined when using tooluse and toolresult content blocks",
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
    ),
    Row::new(
        Bedrock,
        Fault::TurnOrder,
        "not re-checked",
        r"a conversation must (?:start with a user message|alternate between user and assistant roles)",
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
    ),
];
