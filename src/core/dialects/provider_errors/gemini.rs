//! Sentences of Gemini's API, and the words of its finish reasons.

use super::Provider::{Gemini, GeminiCli};
use super::{Fault, Row};

pub(super) const ROWS: &[Row] = &[
    Row::new(
        Gemini,
        Fault::CountMismatch,
        "gemini-cli#5443",
        r"please ensure that the number of function response parts is equal to the number of function call parts",
        r#"[{"error":{"code":400,"message":"Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.","status":"INVALID_ARGUMENT"}}]"#,
    )
    .misleading("This also appears when no part is missing but the responses of one turn are spread over \
        several contents."),
    Row::new(
        Gemini,
        Fault::TurnOrder,
        "gemini-cli#26486",
        r"please ensure that function call turn comes immediately after a user turn or after a function response turn",
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    )
    .misleading("This often means that a trimmed history now begins with the model's turn."),
    Row::new(
        Gemini,
        Fault::OutputWithoutCall,
        "langchain#27799",
        r"please ensure that function response turn comes immediately after a function call turn",
        "Please ensure that function response turn comes immediately after a function call turn.",
    ),
    Row::new(
        Gemini,
        Fault::TurnOrder,
        "several public repositories",
        r"please ensure that multiturn requests alternate between user and model",
        "Please ensure that multiturn requests alternate between user and model.",
    ),
    Row::new(
        Gemini,
        Fault::MissingThoughtSignature,
        "Antigravity-Manager#139",
        r"function call is missing a thought_signature in functioncall parts\.(?:[^{}]{0,300}?function call (?:[a-z_]+:)?(?<tool>[^ ,]+) ?, position (?<value>[0-9]+))?",
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work \
        correctly, and missing thought_signature may lead to degraded model performance. Additional data, \
        function call `default_api:Task` , position 2. Please refer to the docs.",
    )
    .tool("Task")
    .value("2"),
    Row::new(
        Gemini,
        Fault::BadSignature,
        "several public repositories",
        r"(?:corrupted thought signature|thought signature is not valid)",
        "Corrupted thought signature.",
    ),
    Row::new(
        Gemini,
        Fault::InvalidToolName,
        "gemini-cli#7878",
        r"(?:\[field_invalid\] )?invalid function name\. must start with a letter or an underscore",
        r#"[{"error":{"code":400,"message":"The GenerateContentRequest proto is invalid:\n  * tools[0].function_declarations[12].name: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore.","status":"INVALID_ARGUMENT"}}]"#,
    )
    .at("tools", &[0, 12]),
    Row::new(
        Gemini,
        Fault::InvalidToolName,
        "several public repositories",
        r"function_(?:response|call)\.name: (?:\[[a-z_]+\] )?name cannot be empty",
        "* GenerateContentRequest.contents[3].parts[0].function_response.name: Name cannot be empty.",
    )
    .at("contents", &[3, 0]),
    Row::new(
        Gemini,
        Fault::DuplicateToolNames,
        "several public repositories",
        r"duplicate function declaration found: (?<tool>[^ ,]+)",
        "Duplicate function declaration found: read_file",
    )
    .tool("read_file"),
    Row::new(
        Gemini,
        Fault::ToolSchemaInvalid,
        "not re-checked",
        r"invalid json payload received\. unknown name (?<value>[^ ]+) at (?<place>tools[a-z0-9_.\[\]]*): cannot find field",
        "Invalid JSON payload received. Unknown name \"additionalProperties\" at \
        'tools[0].function_declarations[2].parameters': Cannot find field.",
    )
    .at("tools", &[0, 2])
    .value("additionalProperties"),
    Row::new(
        Gemini,
        Fault::ToolSchemaInvalid,
        "several public repositories",
        r"parameters[^ ]*: (?:should be non-empty for object type|missing field)",
        "* GenerateContentRequest.tools[0].function_declarations[4].parameters.properties: should be non-empty \
        for OBJECT type",
    )
    .at("tools", &[0, 4]),
    Row::new(
        Gemini,
        Fault::EmptyContent,
        "several public repositories",
        r"unable to submit request because it must include at least one parts field|(?:contents\.parts|parts) must not be empty",
        "* GenerateContentRequest.contents[2].parts must not be empty.",
    )
    .at("contents", &[2]),
    Row::new(
        Gemini,
        Fault::UnknownRole,
        "dart_agent_core#34",
        r"(?:role (?<value>[a-z_]+) is not supported\. )?please use a valid role: ",
        "Role 'function' is not supported. Please use a valid role: USER, MODEL.",
    )
    .value("function"),
    Row::new(
        Gemini,
        Fault::ContextTooLong,
        "several public repositories",
        r"the input token count \(?(?<actual>[0-9]+)\)? exceeds the maximum number of tokens allowed \(?(?<limit>[0-9]+)\)?",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    )
    .limit(Some(1_048_576), Some(1_200_000)),
    Row::new(
        Gemini,
        Fault::UnknownToolRefused,
        "pydantic-ai, recorded Gemini replies",
        r"model tried to call an undeclared function: (?:default_api[:.])?(?<tool>[^ ,]+)",
        "Unexpected tool call: Model tried to call an undeclared function: list_files",
    )
    .tool("list_files"),
    Row::new(
        Gemini,
        Fault::MalformedCallRefused,
        "python-genai types.py (finishReason)",
        r"malformed function call: |\bfinish_?reason: ?(?:finishreason\.)?malformed_function_call",
        r#"{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#,
    ),
    Row::new(
        Gemini,
        Fault::UnknownToolRefused,
        "python-genai types.py (finishReason)",
        r"\bfinish_?reason: ?(?:finishreason\.)?unexpected_tool_call",
        r#"{"candidates":[{"finishReason":"UNEXPECTED_TOOL_CALL","index":0}]}"#,
    ),
    Row::new(
        GeminiCli,
        Fault::UnknownTool,
        "gemini-cli source",
        r"tool (?<tool>[^ ]+) not found(?:\. did you mean one of|\. did you mean| in registry)",
        r#"Tool "read_fil" not found. Did you mean one of: "read_file", "read_many_files"?"#,
    )
    .tool("read_fil"),
];
