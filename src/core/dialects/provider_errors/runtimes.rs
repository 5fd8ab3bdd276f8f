//! Sentences of agent runtimes: what stands in their exceptions, and in the outputs they hand to the model.

use super::Provider::{AgentsSdk, Codex, LangGraph, Mcp, OpenAiNode, PydanticAi, VercelAi};
use super::{Fault, Row};

pub(super) const ROWS: &[Row] = &[
    // OpenAI Agents SDK
    Row::new(
        AgentsSdk,
        Fault::UnknownTool,
        "openai-agents turn_resolution.py",
        r"tool (?<tool>[^ ]+) not found in agent (?<value>[^,}\n]{1,80}?)(?:[.,}]|$| \()",
        "agents.exceptions.ModelBehaviorError: Tool serch_flights not found in agent Airline Agent",
    )
    .tool("serch_flights")
    .value("Airline Agent"),
    Row::new(
        AgentsSdk,
        Fault::UnknownTool,
        "openai-agents tool_execution.py",
        r"tool (?<tool>[^ ]+) is currently disabled for agent (?<value>[^.,}]{1,80})",
        "Tool refund is currently disabled for agent Support.",
    )
    .tool("refund")
    .value("Support"),
    Row::new(
        AgentsSdk,
        Fault::UnknownTool,
        "openai-agents turn_resolution.py",
        r"model produced (?<tool>[a-z_ ]+?) (?:call|action|item) without an? (?:[a-z_]+ )+(?:tool|executor)\b",
        "Model produced apply_patch call without an apply_patch tool.",
    )
    .tool("apply_patch"),
    Row::new(
        AgentsSdk,
        Fault::UnknownTool,
        "openai-agents turn_resolution.py",
        r"mcp server label (?<tool>[^ ]+) not found",
        "MCP server label github not found",
    )
    .tool("github"),
    Row::new(
        AgentsSdk,
        Fault::MaxTurns,
        "openai-agents run loop",
        r"max turns \((?<limit>[0-9]+)\) exceeded",
        "agents.exceptions.MaxTurnsExceeded: Max turns (10) exceeded",
    )
    .limit(Some(10), None)
    .misleading("With an output schema and no handler for invalid output, an empty final answer also ends here, \
        after idle turns."),
    Row::new(
        AgentsSdk,
        Fault::DuplicateCallId,
        "openai-agents tool_planning.py",
        r"(?:model reused an? [a-z -]*tool call id|run history reused a tool call id|run state reused a [a-z ]*tool call id)",
        "Model reused a tool call ID for a different invocation. Use a unique call ID for each tool invocation.",
    ),
    Row::new(
        AgentsSdk,
        Fault::DuplicateCallId,
        "openai-agents-js turnResolution.ts",
        r"tool call id (?<ids>[^ ]+) was reused for (?:a )?different",
        "Tool call ID call_7 was reused for different tool invocations in the same model response.",
    )
    .calls(&["call_7"]),
    Row::new(
        AgentsSdk,
        Fault::MissingCallId,
        "openai-agents tool_planning.py",
        r"require a non-empty (?:string )?call id|is missing (?:a non-empty )?call[_ ]id|stream ended without a tool call id|item without a valid call_id",
        "Tool invocations require a non-empty string call ID before execution.",
    ),
    Row::new(
        AgentsSdk,
        Fault::OutputNotCommitted,
        "openai-agents tool_planning.py",
        r"already (?:executed|ran), but its (?:output|response) was not committed",
        "A tool call already executed, but its output was not committed. Start a new run instead of retrying \
        the invocation.",
    ),
    Row::new(
        AgentsSdk,
        Fault::ApprovalMismatch,
        "openai-agents run_context.py",
        r"approval decision call id does not match|persisted tool identity .{1,200}? does not match raw tool call|does not match its source tool invocation",
        "Approval decision call ID does not match its canonical invocation ID.",
    ),
    Row::new(
        AgentsSdk,
        Fault::InputNotObject,
        "openai-agents tool.py",
        r"invalid json input for tool (?<tool>[^ ]+): expected a json object",
        "Invalid JSON input for tool get_weather: expected a JSON object",
    )
    .tool("get_weather"),
    Row::new(
        AgentsSdk,
        Fault::MalformedCallRefused,
        "openai-agents tool.py",
        r"invalid json input for tool (?<tool>[^ :]+)",
        "Invalid JSON input for tool get_weather: Expecting ',' delimiter: line 1 column 9 (char 8)",
    )
    .tool("get_weather"),
    Row::new(
        AgentsSdk,
        Fault::MalformedCallRefused,
        "openai-agents tool.py",
        r"an error occurred while parsing tool arguments\.",
        "An error occurred while parsing tool arguments. Please try again with valid JSON. Error: Expecting value",
    ),
    Row::new(
        AgentsSdk,
        Fault::InvalidArgumentsRefused,
        "openai-agents handoffs",
        r"handoff function expected non[- ](?:null|empty) input|agent tool called with invalid input",
        "Handoff function expected non-null input, but got None",
    ),
    Row::new(
        AgentsSdk,
        Fault::MissingFinalOutput,
        "openai-agents run_loop.py",
        r"model returned no final output for the structured output type|model did not produce a final response!",
        "Model returned no final output for the structured output type.",
    ),
    Row::new(
        AgentsSdk,
        Fault::InvalidFinalOutput,
        "openai-agents util/_json.py",
        r"invalid json when parsing (?:model output|.{1,2000}? for typeadapter)",
        "ModelBehaviorError: Invalid JSON when parsing {\"answer\": for TypeAdapter(Answer); 1 validation error \
        for Answer",
    ),
    Row::new(
        AgentsSdk,
        Fault::Truncated,
        "openai-agents openai_chatcompletions.py",
        r"terminated with finish_reason=length but produced no",
        "Chat Completions response terminated with finish_reason='length' but produced no assistant text, tool \
        call, or refusal.",
    ),
    Row::new(
        AgentsSdk,
        Fault::Refused,
        "openai-agents error handlers",
        r"model refused to produce output: (?<value>[^}]{1,300}?)(?:[.}]|$)|response withheld by the providers content filter",
        "Model refused to produce output: I can't help with that.",
    )
    .value("I cant help with that"),
    // Codex
    Row::new(
        Codex,
        Fault::UnknownTool,
        "openai/codex source",
        r"unsupported (?:custom tool )?call: (?<tool>[^ ,]+)",
        "unsupported call: multi_tool_use.parallel",
    )
    .tool("multi_tool_use.parallel"),
    // openai-node
    Row::new(
        OpenAiNode,
        Fault::UnknownTool,
        "openai-node runner",
        r"invalid tool_call: (?<tool>[^ ]+)\. available options are: ",
        r#"Invalid tool_call: "serch". Available options are: "search", "fetch". Please try again"#,
    )
    .tool("serch"),
    // Vercel AI SDK
    Row::new(
        VercelAi,
        Fault::UnknownTool,
        "vercel/ai source",
        r"model tried to call unavailable tool (?<tool>[^ ]+)",
        "AI_NoSuchToolError: Model tried to call unavailable tool 'serch'. Available tools: search, fetch.",
    )
    .tool("serch"),
    Row::new(
        VercelAi,
        Fault::InvalidArgumentsRefused,
        "vercel/ai source",
        r"invalid input for tool (?<tool>[^ :]+):",
        "AI_InvalidToolInputError: Invalid input for tool search: Type validation failed",
    )
    .tool("search"),
    Row::new(
        VercelAi,
        Fault::CallWithoutOutput,
        "vercel/ai source",
        r"tool results? (?:is|are) missing for tool calls? (?<ids>[^ ,]+(?:, [^ ,]+)*)",
        "AI_MissingToolResultsError: Tool results are missing for tool calls call_a, call_b.",
    )
    .calls(&["call_a", "call_b"]),
    // LangGraph
    Row::new(
        LangGraph,
        Fault::UnknownTool,
        "LangGraph prebuilt",
        r"error: (?<tool>[^ ]+) is not a valid tool, try one of \[",
        "Error: serch is not a valid tool, try one of [search, fetch].",
    )
    .tool("serch"),
    Row::new(
        LangGraph,
        Fault::InvalidArgumentsRefused,
        "LangGraph prebuilt",
        r"error invoking tool (?<tool>[^ ]+) with kwargs ",
        "Error invoking tool 'search' with kwargs {'q': 1} with error:\n q: str type expected\n Please fix the \
        error and try again.",
    )
    .tool("search"),
    Row::new(
        LangGraph,
        Fault::CallWithoutOutput,
        "LangGraph prebuilt",
        r"found aimessages with tool_calls that do not have a corresponding toolmessage",
        "Found AIMessages with tool_calls that do not have a corresponding ToolMessage. Here are the first few \
        of those tool calls",
    ),
    Row::new(
        LangGraph,
        Fault::MaxTurns,
        "LangGraph prebuilt",
        r"recursion limit of (?<limit>[0-9]+) reached without hitting a stop condition",
        "Recursion limit of 25 reached without hitting a stop condition.",
    )
    .limit(Some(25), None),
    // Pydantic AI
    Row::new(
        PydanticAi,
        Fault::UnknownTool,
        "not re-checked",
        r"unknown tool name: (?<tool>[^ ]+?)[.,]? (?:available tools:|no tools available)",
        "Unknown tool name: 'serch'. Available tools: 'search'",
    )
    .tool("serch"),
    // MCP servers
    Row::new(
        Mcp,
        Fault::UnknownTool,
        "PyPI mcp 2.3.0, run",
        r"(?:^|: |text:|error:)unknown tool: (?<tool>[^ ,}]+)(?:$|[,}])",
        r#"{"content":[{"type":"text","text":"Unknown tool: ad"}],"isError":true}"#,
    )
    .tool("ad"),
    Row::new(
        Mcp,
        Fault::InvalidArgumentsRefused,
        "PyPI mcp 2.3.0, run",
        r"error executing tool (?<tool>[^ :]+): (?<value>[0-9]+ validation errors? for [^ ]+)",
        "Error executing tool add: 2 validation errors for addArguments\na\n  Input should be a valid integer",
    )
    .tool("add")
    .value("2 validation errors for addArguments"),
];
