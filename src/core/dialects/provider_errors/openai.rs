//! Sentences of OpenAI's Responses and Chat APIs, which compatible servers repeat word for word.

use super::Provider::{OpenAi, OpenAiChat, OpenAiResponses};
use super::{Fault, Row};

pub(super) const ROWS: &[Row] = &[
    // Pairs, Responses
    Row::new(
        OpenAiResponses,
        Fault::CallWithoutOutput,
        "CLIProxyAPI#2368",
        r"no tool output found(?: for (?:[a-z_]+ ){0,3}call (?<ids>[^ ,]+))?",
        r#"Error code: 400 - {'error': {'message': "No tool output found for function call call_abc.", 'type': 'invalid_request_error', 'param': 'input', 'code': None}}"#,
    )
    .calls(&["call_abc"])
    .at("input", &[])
    .misleading("This also appears when the output is there with the type of another call: a `custom_tool_call` \
        needs a `custom_tool_call_output`."),
    Row::new(
        OpenAiResponses,
        Fault::OutputWithoutCall,
        "continue#10092",
        r"no tool call found(?: for (?:[a-z_]+ ){0,5}with call_id (?<ids>[^ ,]+))?",
        "No tool call found for function call output with call_id call_abc.",
    )
    .calls(&["call_abc"])
    .misleading("This also appears when the call lives in an earlier response and `previous_response_id` was \
        not sent."),
    // Reasoning
    Row::new(
        OpenAiResponses,
        Fault::ReasoningWithoutFollower,
        "continue#8933",
        r"item (?<item>[^ ]+) of type reasoning was provided without its required following item",
        "Item 'rs_0a1' of type 'reasoning' was provided without its required following item.",
    )
    .items(&["rs_0a1"]),
    Row::new(
        OpenAiResponses,
        Fault::CallWithoutReasoning,
        "cline#12242",
        r"item (?<item>[^ ]+) of type (?<value>[a-z_]+) was provided without its required reasoning item(?:: (?<other>[^ ,]+))?",
        "Item 'fc_0a1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_0a2'.",
    )
    .items(&["fc_0a1", "rs_0a2"])
    .value("function_call"),
    Row::new(
        OpenAiResponses,
        Fault::ReasoningNotAccepted,
        "issue threads of agent programs",
        r"reasoning input items can only be provided to a reasoning or computer use model",
        "Reasoning input items can only be provided to a reasoning or computer use model. Remove reasoning \
        items from your input and try again.",
    ),
    Row::new(
        OpenAiResponses,
        Fault::ItemNotStored,
        "oh-my-pi#41",
        r"item with id (?<item>[^ ]+) not found|previous response with id (?<other>[^ ]+) not found",
        "404 Item with id 'rs_04962823' not found. Items are not persisted when `store` is set to false. Try \
        again with `store` set to true, or remove this item from your input.",
    )
    .items(&["rs_04962823"]),
    Row::new(
        OpenAiResponses,
        Fault::DuplicateItemId,
        "vercel/ai#7883",
        r"duplicate item found with id (?<item>[^ ]+)",
        "Duplicate item found with id rs_6895db0d. Remove duplicate items from your input and try again.",
    )
    .items(&["rs_6895db0d"]),
    // Pairs, Chat
    Row::new(
        OpenAiChat,
        Fault::CallWithoutOutput,
        "sdcb/chats#132",
        r"an assistant message with tool_calls must be followed by tool messages(?: responding to each tool_call_id\.?)?(?: the following tool_call_ids did not have response messages: (?<ids>[^ ,]+(?:, [^ ,]+)*))?",
        r#"{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_a, call_b","type":"invalid_request_error","param":"messages.[57].role","code":null}}"#,
    )
    .calls(&["call_a", "call_b"])
    .at("messages", &[57])
    .misleading("This also appears when the output is there but another message stands between it and its call."),
    Row::new(
        OpenAiChat,
        Fault::OutputWithoutCall,
        "morphic#136",
        r"messages with role tool must be a response to a prece{1,2}ding message with tool_calls",
        "{'error': {'message': \"Invalid parameter: messages with role 'tool' must be a response to a \
        preceeding message with 'tool_calls'.\", 'param': 'messages.[3].role'}}",
    )
    .at("messages", &[3])
    .misleading("This also appears when the call is in the history but not in the message before."),
    Row::new(
        OpenAiChat,
        Fault::DuplicateOutput,
        "search2ai#30",
        r"duplicate value for tool_call_id of (?<ids>[^ ,]+),?(?: in message\[[0-9]+\] and (?<place>message\[[0-9]+\]))?",
        "Invalid parameter: Duplicate value for 'tool_call_id' of 'call_3CUu' in message[4] and message[5]",
    )
    .calls(&["call_3CUu"])
    .at("messages", &[5]),
    Row::new(
        OpenAi,
        Fault::MissingCallId,
        "langchain#22600",
        r"missing parameter tool_call_id|missing required parameter: (?<place>[a-z0-9_.\[\]]*(?:call_id|tool_calls\[[0-9]+\]\.id))",
        "Missing required parameter: 'messages[2].tool_call_id'.",
    )
    .at("messages", &[2]),
    // Ids
    Row::new(
        OpenAiResponses,
        Fault::WrongIdPrefix,
        "sub2api#3785",
        r"(?:invalid (?<place>[a-z0-9_.\[\]]+): (?<item>[^ ]*?)\.? )?expected an id that begins with (?<expected>[^ ,]+)",
        "Invalid 'input[1].id': 'item_7'. Expected an ID that begins with 'fc'.",
    )
    .items(&["item_7"])
    .at("input", &[1])
    .accepts("fc"),
    Row::new(
        OpenAi,
        Fault::IdCharacters,
        "langchainjs#11044",
        r"(?:invalid (?<place>[a-z0-9_.\[\]]+): (?<item>[^ ]*?)\.? )?expected an id that contains letters, numbers, underscores, or dashes",
        "Invalid 'input[2].id': ''. Expected an ID that contains letters, numbers, underscores, or dashes, but \
        this value contained additional characters.",
    )
    .at("input", &[2]),
    Row::new(
        OpenAi,
        Fault::IdTooLong,
        "pi#1022",
        r"invalid (?<place>[a-z0-9_.\[\]]*id): string too long\.(?: expected a string with maximum length (?<limit>[0-9]+)(?:, but got a string with length (?<actual>[0-9]+))?)?",
        "Invalid 'input[2].call_id': string too long. Expected a string with maximum length 64, but got a \
        string with length 446 instead.",
    )
    .at("input", &[2])
    .limit(Some(64), Some(446)),
    Row::new(
        OpenAi,
        Fault::MissingCallId,
        "not re-checked",
        r"invalid (?<place>[a-z0-9_.\[\]]*id): empty string",
        "Invalid 'messages[3].tool_call_id': empty string. Expected a string with minimum length 1, but got an \
        empty string instead.",
    )
    .at("messages", &[3]),
    Row::new(
        OpenAi,
        Fault::IdCharacters,
        "not re-checked",
        r"invalid (?<place>[a-z0-9_.\[\]]*id): string does not match pattern(?:.{0,60}?(?<expected>\^[^ ]*?\$))?",
        "Invalid 'messages[3].tool_call_id': string does not match pattern. Expected a string that matches the \
        pattern '^[a-zA-Z0-9_-]+$'.",
    )
    .at("messages", &[3])
    .accepts("^[a-zA-Z0-9_-]+$"),
    // Tools
    Row::new(
        OpenAi,
        Fault::InvalidToolName,
        "mcp-use#94",
        r"invalid (?<place>[a-z0-9_.\[\]]*name): (?:string does not match pattern(?:.{0,60}?(?<expected>\^[^ ]*?\$))?|string too long\.(?: expected a string with maximum length (?<limit>[0-9]+)(?:, but got a string with length (?<actual>[0-9]+))?)?|empty string)",
        "Invalid 'messages[9].tool_calls[0].function.name': string does not match pattern. Expected a string \
        that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    )
    .at("messages", &[9, 0])
    .accepts("^[a-zA-Z0-9_-]+$")
    .misleading("In `messages` or `input` the name is one that the model made up: the tool list may be in order."),
    Row::new(
        OpenAi,
        Fault::ToolSchemaInvalid,
        "aichat#1049",
        r"invalid schema for function (?<tool>[^ ]+): (?<value>[^}]{0,300}?)\.(?: |,|\}|$)",
        "Invalid schema for function 'filesystem_read_multiple_files': In context=('properties', 'paths'), \
        array schema missing items.",
    )
    .tool("filesystem_read_multiple_files")
    .value("In context=(properties, paths), array schema missing items"),
    Row::new(
        OpenAi,
        Fault::TooManyTools,
        "not re-checked",
        r"invalid (?<place>tools|functions): array too long\.(?: expected an array with maximum length (?<limit>[0-9]+)(?:, but got an array with length (?<actual>[0-9]+))?)?",
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with \
        length 200 instead.",
    )
    .at("tools", &[])
    .limit(Some(128), Some(200)),
    // Shapes
    Row::new(
        OpenAiChat,
        Fault::EmptyToolCalls,
        "openai-node#1341",
        r"invalid (?<place>messages[a-z0-9_.\[\]]*tool_calls): empty array",
        "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got an \
        empty array instead.",
    )
    .at("messages", &[1]),
    Row::new(
        OpenAiChat,
        Fault::EmptyToolCalls,
        "not re-checked",
        r"\[\] is too short - (?<place>[a-z0-9_.\[\]]*tool_calls)",
        "[] is too short - 'messages.1.tool_calls'",
    )
    .at("messages", &[1]),
    Row::new(
        OpenAi,
        Fault::ArgumentsNotString,
        "goose-mobile#20",
        r"invalid type for (?<place>[a-z0-9_.\[\]]*arguments)\b",
        "Invalid type for 'messages[2].tool_calls[0].function.arguments': expected a string, but got an object \
        instead.",
    )
    .at("messages", &[2, 0]),
    Row::new(
        OpenAi,
        Fault::WrongFieldType,
        "pydantic-ai#2653",
        r"invalid type for (?<place>(?:messages|input|tools)[a-z0-9_.\[\]]+)(?:: expected (?<expected>[^,}]{1,80}))?",
        "Invalid type for 'messages[1].content': expected one of a string or array of objects, but got an \
        object instead.",
    )
    .at("messages", &[1])
    .accepts("one of a string or array of objects"),
    Row::new(
        OpenAiChat,
        Fault::EmptyContent,
        "not re-checked",
        r"(?:invalid value for (?<place>[a-z0-9_.\[\]]+): )?expected a string, got null",
        "{'error': {'message': \"Invalid value for 'content': expected a string, got null.\", 'param': \
        'messages.[2].content'}}",
    )
    .at("content", &[]),
    Row::new(
        OpenAiResponses,
        Fault::UnknownItemType,
        "not re-checked",
        r"invalid value: (?<value>[a-z0-9_.-]+)\. supported values are: [a-z0-9_, ]{0,4000}?(?:function_call|input_text|output_text|item_reference)",
        "{'error': {'message': \"Invalid value: 'tool_search_call'. Supported values are: 'apply_patch_call', \
        'computer_call', 'function_call', and 'reasoning'.\", 'param': 'input[3]', 'code': 'invalid_value'}}",
    )
    .at("input", &[3])
    .value("tool_search_call"),
    Row::new(
        OpenAi,
        Fault::UnknownRole,
        "not re-checked",
        r"invalid value: (?<value>[a-z0-9_.-]+)\. supported values are: [a-z0-9_, ]{0,200}?assistant",
        "{'error': {'message': \"Invalid value: 'tool'. Supported values are: 'assistant', 'system', \
        'developer', and 'user'.\", 'param': 'input[2]'}}",
    )
    .at("input", &[2])
    .value("tool"),
    // Length and refusal
    Row::new(
        OpenAi,
        Fault::ContextTooLong,
        "ChatGPT#17",
        r"this models maximum context length is (?<limit>[0-9,]+) tokens(?:\. however,? (?:your messages resulted in|you requested(?: about)?) (?<actual>[0-9,]+) tokens)?",
        "This model's maximum context length is 4097 tokens. However, your messages resulted in 192871 tokens. \
        Please reduce the length of the messages.",
    )
    .limit(Some(4097), Some(192_871)),
    Row::new(
        OpenAiResponses,
        Fault::ContextTooLong,
        "several public repositories",
        r"your input exceeds the context window of this model|code: ?context_length_exceeded",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
    Row::new(
        OpenAiChat,
        Fault::Truncated,
        "several public repositories",
        r"could not finish the message because max_tokens or model output limit was reached",
        "Could not finish the message because max_tokens or model output limit was reached. Please try again \
        with higher max_tokens.",
    ),
    Row::new(
        OpenAi,
        Fault::Refused,
        "not re-checked",
        r"the response was filtered due to the prompt triggering",
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    ),
];
