//! Transcripts of MCP servers: JSON-RPC line by line, bare or with the stream that it went over before it. What was
//! listed is offered, what was called is a call with its result.

use super::messages::{member, text, text_of};
use super::transcript::{Head, Transcript, call, content, result};
use super::{Contents, Format, Reading};
use crate::session::{ProblemKind, Source, SourceResult};
use crate::wire::{Part, Role};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "mcp",
    title: "MCP transcripts (JSON-RPC lines)",
    sniff: |sample| {
        let is_prefixed = PREFIXES
            .iter()
            .any(|prefix| sample.bytes.starts_with(prefix.as_bytes()));
        let is_bare = sample.any(|document| document.has("jsonrpc") && document.has("method"));
        if is_prefixed || is_bare { 97 } else { 0 }
    },
    reading: Reading::Whole(read),
};

const PREFIXES: [&str; 3] = ["STDIN:", "STDOUT:", "STDERR:"];

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect());
    let (mut at, mut called) = (0, HashSet::new());
    for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let start = at;
        at += line.len() as u64;
        let line = String::from_utf8_lossy(line);
        if line.starts_with("STDERR:") || line.trim().is_empty() {
            continue;
        }
        let inside = PREFIXES.iter().find_map(|prefix| line.strip_prefix(prefix));
        match serde_json::from_str(inside.unwrap_or(&line)) {
            Ok(message) => add(&mut out, number, &message, &mut called),
            Err(error) => out.report(start, ProblemKind::Undecodable(error.to_string())),
        }
    }
    out.finish()
}

/// `called` are the ids of the calls: replies to other requests may have a content, too.
fn add(out: &mut Transcript, number: u64, message: &Value, called: &mut HashSet<String>) {
    let head = Head::new(number);
    let id = text_of(&message["id"]);
    let params = &message["params"];
    if text(message, &["method"]) == "tools/call" {
        called.insert(id.clone());
        let input = member(params, &["arguments"]).map(Value::to_string);
        out.add(
            &head,
            Role::Model,
            vec![call(&id, text(params, &["name"]), input.as_deref())],
        );
        return;
    }
    let response = &message["result"];
    if let Some(tools) = response.get("tools") {
        out.offer(&tools.to_string());
    } else if !called.remove(&id) {
        // A reply to another request.
    } else if let Some(found) = response.get("content") {
        let parts = content(Some(&found.to_string()));
        let is_error = response["isError"] == true;
        out.add(&head, Role::Tool, vec![result(&id, "", parts, is_error)]);
    } else if let Some(error) = message.get("error") {
        let parts = vec![Part::Text(text(error, &["message"]).to_owned())];
        out.add(&head, Role::Tool, vec![result(&id, "", parts, true)]);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::{outline, outlines, read};
    use serde_json::json;

    #[test]
    fn what_is_called_is_a_call_and_what_is_listed_is_offered() {
        let lines = [
            (
                "STDIN",
                json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}),
            ),
            (
                "STDOUT",
                json!({"jsonrpc": "2.0", "id": 0, "result": {"capabilities": {}}}),
            ),
            (
                "STDIN",
                json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
            ),
            (
                "STDOUT",
                json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "fetch", "inputSchema": {"type": "object"}}]}}),
            ),
            (
                "STDIN",
                json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "fetch", "arguments": {}}}),
            ),
            (
                "STDOUT",
                json!({"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "x"}], "isError": true}}),
            ),
            (
                "STDIN",
                json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "fetch", "arguments": {}}}),
            ),
        ];
        let prefixed = lines
            .iter()
            .map(|(stream, line)| format!("{stream}: {line}\n"));
        let text = format!("STDERR: starting\n{}", prefixed.collect::<String>());
        assert_eq!(
            outlines("mcp", text.strip_prefix("STDERR: starting\n").unwrap()),
            ["c o! c?"]
        );
        let bare: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
        let contents = read("mcp", &bare);
        assert_eq!(outline(&contents.sessions[0]), "c o! c?");
        assert!(contents.sessions[0].contract.tools_known());
    }
}
