//! The tools of a server that a model can use.

use super::connect::ServerConnection;
use super::fault::{ServerFault, shortened};
use retake_core::session::{Tool, ToolKind};
use rmcp::model::{ListToolsRequest, PaginatedRequestParams};
use rmcp::service::ServiceError;
use serde_json::Value;
use std::collections::HashSet;
use std::time::Duration;

/// How long a server may take to list its tools.
const LIMIT: Duration = Duration::from_secs(30);
/// How many tools are taken over.
const TOOLS: usize = 1000;
/// How many pages are requested.
const PAGES: usize = 200;

/// What a server offers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    /// The tools, each name once.
    pub tools: Vec<Tool>,
    /// What was left out, and why; it holds text of the server.
    pub notes: Vec<String>,
}

/// Asks for all pages of the list.
pub(crate) async fn list(
    connection: &ServerConnection,
    only: Option<&[String]>,
) -> Result<Listing, ServerFault> {
    let silent = |_| ServerFault::Silent {
        what: "tools/list",
        within: LIMIT,
    };
    tokio::time::timeout(LIMIT, pages(connection, only))
        .await
        .map_err(silent)?
        .map_err(|error| ServerFault::Refused(shortened(&error.to_string())))
}

async fn pages(
    connection: &ServerConnection,
    only: Option<&[String]>,
) -> Result<Listing, ServiceError> {
    let mut listing = Listing::default();
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES {
        let page = page(connection, cursor.clone()).await?;
        for definition in page.tools {
            listing.read(definition, only, &mut seen);
        }
        let next = page.next_cursor;
        // A server that names the same page again would be queried for ever.
        if next.is_none() || next == cursor || listing.tools.len() >= TOOLS {
            break;
        }
        cursor = next;
    }
    let missing = only
        .unwrap_or_default()
        .iter()
        .filter(|name| !seen.contains(*name));
    let missing = missing.map(|name| format!("the server offers no tool {name}"));
    listing.notes.extend(missing);
    Ok(listing)
}

/// A page of the list whose tools are read one by one, so that one that cannot be read costs itself only.
#[derive(serde::Deserialize)]
struct Page {
    tools: Vec<Value>,
    #[serde(default, rename = "nextCursor")]
    next_cursor: Option<String>,
}

async fn page(connection: &ServerConnection, cursor: Option<String>) -> Result<Page, ServiceError> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ListToolsRequest::with_param(params);
    let reply = connection.peer().send_request(request.into()).await?;
    // The reply of rmcp is a list only where every tool of it is sound; otherwise it is whatever else it
    // may be taken for.
    let reply = serde_json::to_value(reply).map_err(|_| ServiceError::UnexpectedResponse)?;
    serde_json::from_value(reply).map_err(|_| ServiceError::UnexpectedResponse)
}

impl Listing {
    /// Adds a tool by its definition if it is wanted, or a note why it cannot be.
    fn read(&mut self, definition: Value, only: Option<&[String]>, seen: &mut HashSet<String>) {
        let name = definition.get("name").and_then(Value::as_str);
        let name = name.unwrap_or("a tool without a name").to_owned();
        if only.is_some_and(|only| !only.contains(&name)) {
            return;
        }
        match serde_json::from_value(definition) {
            Ok(tool) => self.add(tool, seen),
            Err(error) => {
                let note = format!("{name} is left out: its definition cannot be read: {error}");
                self.notes.push(shortened(&note));
            }
        }
    }

    fn add(&mut self, tool: rmcp::model::Tool, seen: &mut HashSet<String>) {
        let name = tool.name.into_owned();
        if !is_speakable(&name) {
            let note = format!("a tool is left out: no provider takes the name {name:?}");
            self.notes.push(shortened(&note));
        } else if !seen.insert(name.clone()) {
            self.notes
                .push(format!("{name} is offered twice; the first one counts"));
        } else if self.tools.len() == TOOLS {
            let note = format!("only the first {TOOLS} tools are taken over");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        } else if self.tools.len() < TOOLS {
            let object = |schema: &serde_json::Map<String, Value>| Value::Object(schema.clone());
            self.tools.push(Tool {
                name,
                kind: ToolKind::Function,
                description: tool.description.unwrap_or_default().into_owned(),
                parameters: Some(object(&tool.input_schema)),
                output_schema: tool.output_schema.as_deref().map(object),
            });
        }
    }
}

/// Whether every provider takes the name: letters, digits, `_` and `-`, at most 64 (wire-formats: the
/// pattern of function names).
fn is_speakable(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
}
