//! Requests that the operator sends again: each is an exchange of its own, whose reply no client gets.

use super::state::{ProxyState, UpstreamWatcher};
use crate::proxy::body::ClientPresence;
use crate::proxy::news::ProxyRequest;
use http_body_util::BodyExt;
use hyper::Method;
use hyper::header::CONTENT_ENCODING;
use retake_core::exchange::ExchangeId;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::SystemTime;
use tokio_util::sync::CancellationToken;

/// Sends again what the operator wants, until the proxy ends.
pub(crate) async fn replay_all(
    state: Arc<ProxyState>,
    watchers: Vec<Arc<UpstreamWatcher>>,
    stop: CancellationToken,
) {
    let Some(mut wanted) = state.take_replays() else {
        return;
    };
    while let Some(id) = wanted.recv().await {
        match question(&state, id) {
            Some((place, question)) => {
                if let Some(watcher) = watchers.get(place) {
                    tokio::spawn(replay(watcher.clone(), id, question, stop.clone()));
                }
            }
            None => state.tell(format!(
                "exchange {id} cannot be sent again: its request is no longer kept, with its key"
            )),
        }
    }
}

/// The request of an exchange that is over, with the place of its upstream.
fn question(state: &ProxyState, id: ExchangeId) -> Option<(usize, ProxyRequest)> {
    let (seen, stored) = state.recent().replayable(id)?;
    let mut lines = stored.lines;
    // The body is kept as plain text.
    lines.remove(CONTENT_ENCODING);
    let question = ProxyRequest {
        client: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        at: SystemTime::now(),
        dialect: seen.dialect?,
        method: Method::from_bytes(stored.method.as_bytes()).ok()?,
        path_and_query: stored.path_and_query,
        lines,
        body: stored.body,
        presence: ClientPresence::of_nobody(),
    };
    Some((seen.upstream, question))
}

async fn replay(
    watcher: Arc<UpstreamWatcher>,
    id: ExchangeId,
    question: ProxyRequest,
    stop: CancellationToken,
) {
    let read = async {
        let mut body = watcher.answer(question, Some(id)).await.into_body();
        while let Some(Ok(_)) = body.frame().await {}
    };
    tokio::select! {
        () = read => {}
        () = stop.cancelled() => {}
    }
}
