//! What a server offers, as far as a model can be told of it.

use super::ServerFault;
use super::connect::{Connection, shortened};
use crate::session::{Tool, ToolKind};
use rmcp::model::PaginatedRequestParams;
use rmcp::service::ServiceError;
use serde_json::Value;
use std::collections::HashSet;
use std::time::Duration;

/// How long a server may take to list its tools.
const LIMIT: Duration = Duration::from_secs(30);
/// How many tools are taken over.
const TOOLS: usize = 1000;
/// How many pages are asked for.
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
pub(super) async fn list(
    connection: &Connection,
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

async fn pages(connection: &Connection, only: Option<&[String]>) -> Result<Listing, ServiceError> {
    let mut listing = Listing::default();
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let page = connection.peer().list_tools(Some(page)).await?;
        for tool in page.tools {
            let is_wanted = only.is_none_or(|only| only.iter().any(|name| *name == tool.name));
            if is_wanted {
                listing.add(tool, &mut seen);
            }
        }
        let next = page.next_cursor;
        // A server that names the same page again would be asked for ever.
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

impl Listing {
    fn add(&mut self, tool: rmcp::model::Tool, seen: &mut HashSet<String>) {
        let name = tool.name.into_owned();
        if !is_speakable(&name) {
            let note = format!("a tool is left out: no provider takes the name {name:?}");
            self.notes.push(shortened(&note));
        } else if !seen.insert(name.clone()) {
            self.notes
                .push(format!("{name} is offered twice; the first one counts"));
        } else if self.tools.len() == TOOLS {
            self.notes
                .push(format!("only the first {TOOLS} tools are taken over"));
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

/// Whether every provider takes the name: letters, digits, `_` and `-`, at most 64 (wire-formats: the pattern of function names).
fn is_speakable(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
}
