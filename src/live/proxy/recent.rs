//! The latest exchanges, kept in memory so that they can be opened and repeated by hand while a proxy runs.
//! The journal has all.

use super::news::ProxyRequest;
use super::origin::UpstreamOrigin;
use super::recorder::{RecordedExchange, as_journal};
use crate::Input;
use bytes::Bytes;
use hyper::HeaderMap;
use hyper::http::uri::PathAndQuery;
use retake_core::exchange::{ExchangeId, ExchangeSummary};
use std::collections::VecDeque;
use std::sync::Arc;

/// Most bytes of bodies that are kept.
const MOST: u64 = 64 << 20;
const COUNT: usize = 1000;

/// A request as its agent sent it.
#[derive(Debug, Clone)]
pub struct StoredRequest {
    pub method: String,
    /// The URL of the upstream.
    pub url: String,
    /// The same as its client spelled it, without a token.
    pub(crate) path_and_query: PathAndQuery,
    /// The lines that go on, the key among them.
    pub lines: HeaderMap,
    pub body: Bytes,
}

impl StoredRequest {
    /// A request with its plain body; `None` where its path leads nowhere at the upstream.
    pub(crate) fn of(
        question: &ProxyRequest,
        upstream: &UpstreamOrigin,
        body: Bytes,
    ) -> Option<Self> {
        let url = upstream.base().join(&question.path_and_query).ok()?;
        Some(Self {
            method: question.method.to_string(),
            url: url.to_string(),
            path_and_query: question.path_and_query.clone(),
            lines: question.lines.clone(),
            body,
        })
    }
}

struct Kept {
    recorded: Arc<RecordedExchange>,
    request: Option<StoredRequest>,
    bytes: u64,
}

#[derive(Default)]
pub(crate) struct Recent {
    kept: VecDeque<Kept>,
    bytes: u64,
}

impl Recent {
    /// Keeps an exchange that is over, in place of the oldest ones.
    pub(crate) fn keep(&mut self, recorded: Arc<RecordedExchange>, request: Option<StoredRequest>) {
        let decoded = request.as_ref().map_or(0, |request| request.body.len());
        let bytes = (recorded.cost() + decoded) as u64;
        self.bytes += bytes;
        self.kept.push_back(Kept {
            recorded,
            request,
            bytes,
        });
        while self.kept.len() > COUNT || (self.bytes > MOST && self.kept.len() > 1) {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes;
        }
    }

    fn find(&self, id: ExchangeId) -> Option<&Kept> {
        self.kept.iter().find(|kept| kept.recorded.seen.id == id)
    }

    /// The request of an exchange; `None` where it is not kept.
    pub(crate) fn request(&self, id: ExchangeId) -> Option<StoredRequest> {
        self.find(id)?.request.clone()
    }

    /// What is known of an exchange whose request can be sent again, and that request.
    pub(crate) fn replayable(&self, id: ExchangeId) -> Option<(ExchangeSummary, StoredRequest)> {
        let kept = self.find(id)?;
        Some((kept.recorded.seen.clone(), kept.request.clone()?))
    }

    /// An exchange to be read like a recording, without its secrets; `None` where it is not kept.
    pub(crate) fn recording(
        &self,
        id: ExchangeId,
        upstreams: &[String],
        secrets: &[(String, String)],
    ) -> Option<serde_json::Result<Input>> {
        let kept = self.find(id)?;
        Some(as_journal(&kept.recorded, upstreams, secrets).map(|text| {
            let text = Arc::new(text);
            Input {
                buffer: Some(text.clone()),
                ..Input::of(format!("exchange {id}"), text)
            }
        }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::proxy::recorder::RecordedBody;

    fn recorded(id: u32, sent: usize) -> RecordedExchange {
        RecordedExchange {
            seen: ExchangeSummary {
                id: ExchangeId(id),
                dialect: Some(retake_core::session::Dialect::Chat),
                ..ExchangeSummary::default()
            },
            request: RecordedBody::whole(Bytes::from_static(
                br#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#,
            )),
            sent: Some(Bytes::from(vec![b' '; sent])),
            ..RecordedExchange::default()
        }
    }

    #[test]
    fn the_oldest_give_way_and_the_latest_opens_like_a_recording() {
        let mut recent = Recent::default();
        for id in 1..=3 {
            recent.keep(recorded(id, 30 << 20).into(), None);
        }
        assert!(recent.recording(ExchangeId(1), &[], &[]).is_none());
        let input = recent.recording(ExchangeId(3), &[], &[]).unwrap().unwrap();
        let read = crate::read_input(input, &crate::ReadOptions::default());
        assert_eq!(read.unwrap().sessions[0].items.len(), 1);
    }
}
