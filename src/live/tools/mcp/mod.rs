//! Servers that speak the Model Context Protocol, over the pipes of a process of ours or over streamable HTTP.
//!
//! A server is started when the run begins, and again when it went away, though not for ever: [`RESTARTS`]
//! times in [`WINDOW`]. A call that was under way when it went away ends with an error; it is not made again,
//! since nobody knows how far it came.

mod answer;
mod connect;
mod fault;
mod listing;
mod spec;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

pub use connect::Listener;
pub use fault::ServerFault;
pub use listing::Listing;
pub use spec::{RESTARTS, Reach, ServerSpec, WINDOW};

use answer::{answered, failed};
use connect::{ServerConnection, connect};
use fault::{never_arrived, transport};
use retake_core::engine::Outcome;
use retake_core::session::ledger::Failure;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// A server with its connection, which may be lost and made again.
pub struct Server {
    spec: ServerSpec,
    listener: Listener,
    link: Mutex<Link>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Server").field(&self.spec.name).finish()
    }
}

#[derive(Default)]
struct Link {
    connection: Option<Arc<ServerConnection>>,
    /// When it was started, the oldest first.
    starts: VecDeque<Instant>,
}

impl Server {
    /// A server that is started when it is needed. `listener` hears what it writes to its standard error.
    pub fn new(spec: ServerSpec, listener: Listener) -> Self {
        Self {
            spec,
            listener,
            link: Mutex::default(),
        }
    }

    pub fn name(&self) -> &str {
        &self.spec.name
    }

    pub async fn list(&self) -> Result<Listing, ServerFault> {
        let connection = self.connection().await?;
        listing::list(&connection, self.spec.only.as_deref()).await
    }

    /// Carries out one call. The arguments are the text of a JSON object.
    pub async fn call(&self, tool: &str, arguments: &str, cancel: &CancellationToken) -> Outcome {
        let started = Instant::now();
        let object: Map<String, Value> = match serde_json::from_str(arguments) {
            Ok(object) => object,
            Err(error) => {
                let why = format!("the arguments are no JSON object: {error}");
                return failed(Failure::Reported, why, started);
            }
        };
        let connection = tokio::select! {
            connection = self.connection() => connection,
            () = cancel.cancelled() => {
                return failed(Failure::Stopped, "stopped by the operator".to_owned(), started);
            }
        };
        let connection = match connection {
            Ok(connection) => connection,
            Err(fault) => {
                let why = format!("the MCP server {} cannot be used: {fault}", self.spec.name);
                return failed(Failure::Connection, why, started);
            }
        };
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(object);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(request));
        let options = PeerRequestOptions::with_timeout(self.spec.timeout);
        let handle = connection.peer().send_cancellable_request(request, options);
        match handle.await {
            Ok(handle) => self.answer(handle, cancel, started).await,
            Err(error) => self.fault(error, started),
        }
    }

    async fn answer(
        &self,
        handle: RequestHandle<RoleClient>,
        cancel: &CancellationToken,
        started: Instant,
    ) -> Outcome {
        let (peer, id) = (handle.peer.clone(), handle.id.clone());
        tokio::select! {
            answer = handle.await_response() => match answer {
                Ok(ServerResult::CallToolResult(result)) => answered(result, started),
                Ok(_) => failed(
                    Failure::Unknown,
                    format!("the MCP server {} answered something else", self.spec.name),
                    started,
                ),
                Err(error) => self.fault(error, started),
            },
            () = cancel.cancelled() => {
                let reason = Some("the operator stopped it".to_owned());
                let cancelled = rmcp::model::CancelledNotificationParam::new(Some(id), reason);
                // A server that is gone needs no notice.
                let _ = tokio::time::timeout(Duration::from_secs(1), peer.notify_cancelled(cancelled)).await;
                failed(Failure::Stopped, "stopped by the operator".to_owned(), started)
            }
        }
    }

    fn fault(&self, error: ServiceError, started: Instant) -> Outcome {
        let name = &self.spec.name;
        match error {
            ServiceError::McpError(error) => {
                let why = format!("the MCP server {name} refused the call: {}", error.message);
                failed(Failure::Reported, why, started)
            }
            ServiceError::Timeout { .. } => {
                let limit = self.spec.timeout.as_secs_f64();
                let why = format!("the tool gave no answer within {limit} s");
                failed(Failure::Timeout, why, started)
            }
            ServiceError::TransportSend(error) if never_arrived(&error) => {
                let why = format!(
                    "the MCP server {name} cannot be used: {}",
                    transport(&error)
                );
                failed(Failure::Connection, why, started)
            }
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                let why = format!(
                    "the MCP server {name} went away while the tool ran; it may or may not have done its work"
                );
                failed(Failure::Unknown, why, started)
            }
            other => failed(
                Failure::Unknown,
                format!("the MCP server {name}: {other}"),
                started,
            ),
        }
    }

    /// The connection; a new one where there is none any more.
    async fn connection(&self) -> Result<Arc<ServerConnection>, ServerFault> {
        let mut link = self.link.lock().await;
        if let Some(connection) = link.connection.as_ref().filter(|known| known.is_open()) {
            return Ok(connection.clone());
        }
        // What is left of the old one goes first.
        link.connection = None;
        let now = Instant::now();
        link.starts
            .retain(|start| now.duration_since(*start) < WINDOW);
        if link.starts.len() > RESTARTS {
            return Err(ServerFault::GoneTooOften);
        }
        link.starts.push_back(now);
        let connection = Arc::new(connect(&self.spec, &self.listener).await?);
        link.connection = Some(connection.clone());
        Ok(connection)
    }

    /// Ends the server: closes its input, then sends SIGTERM, then kills it.
    pub async fn stop(&self) {
        let connection = self.link.lock().await.connection.take();
        if let Some(connection) = connection.and_then(Arc::into_inner) {
            connection.close().await;
        }
    }
}
