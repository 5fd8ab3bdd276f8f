//! Transcripts for offers that no other recording leads to.

/// Stories for offers that no bundled recording leads to: a transcript, and whether the result is to be in euros.
pub(crate) const TOLD: &[(&str, bool)] = &[
    (
        r#"{"model":"claude-opus-4-8","max_tokens":9,"system":"s","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"so"}]}]}"#,
        false,
    ),
    (
        r#"[{"role":"user","content":[{"type":"text","text":"hi"}]},{"type":"message","role":"assistant","stop_reason":"end_turn","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"1"}]}]"#,
        false,
    ),
    (
        r#"{"model":"claude-opus-4-8","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAH0EAAABA"}},{"type":"text","text":"what is this?"}]}]}"#,
        false,
    ),
    (
        r#"[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1,\"a\":2}"}}]},{"role":"user","content":"well?"}]"#,
        false,
    ),
    (
        r#"[{"type":"message","role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[]}]"#,
        true,
    ),
    (
        r#"[{"type":"message","role":"user","content":"hi"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ten"}]}]"#,
        true,
    ),
    (
        r#"[{"role":"user","content":[{"type":"text","text":"hi"}]},{"type":"message","role":"assistant","stop_reason":"max_tokens","content":[{"type":"text","text":"and then the"}]},{"role":"user","content":[{"type":"text","text":"well?"}]}]"#,
        false,
    ),
    (
        r#"[{"type":"message","role":"user","content":"hi"},{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"I can't help with that."}]}]"#,
        false,
    ),
    (
        r#"[{"type":"message","role":"user","content":"hi"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"compaction","id":"cmp_1","encrypted_content":"x"},{"type":"function_call_output","call_id":"c","output":"1"},{"type":"message","role":"user","content":"well?"}]"#,
        false,
    ),
    (
        r#"[{"type":"message","role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[]},{"type":"compaction","id":"cmp_1","encrypted_content":"x"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}]"#,
        false,
    ),
    (
        r#"[{"type":"message","role":"user","content":"hi"},{"type":"mcp_approval_request","id":"mcpr_1","server_label":"s","name":"pay","arguments":"{}"},{"type":"compaction","id":"cmp_1","encrypted_content":"x"},{"type":"message","role":"user","content":"well?"}]"#,
        false,
    ),
    (
        r#"[{"role":"user","content":[{"type":"text","text":"hi"}]},{"type":"message","role":"assistant","stop_reason":"max_tokens","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},{"role":"user","content":[{"type":"text","text":"well?"}]}]"#,
        false,
    ),
    (
        r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_0","name":"f","input":{"a":0}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_0","content":"no 0","is_error":true}]},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"no 1","is_error":true}]},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_2","name":"f","input":{"a":2}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"no 2","is_error":true}]},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_3","name":"f","input":{"a":3}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_3","content":"no 3","is_error":true}]}]"#,
        false,
    ),
];
