//! From what the machine wants held to a hold that can begin.

use super::Pump;
use crate::http::{Headers, Target};
use crate::live::UpstreamResult;
use crate::model::Answer;
use crate::proxy::holds::HoldOrder;
use retake_core::dialects::{Refusal, usage_of};
use retake_core::engine::ModelFault;
use retake_core::exchange::machine::{Held, What};
use retake_core::exchange::views::NoTold;

/// Why a reply whose calls the agent already has is not requested again.
const HANDED: &str =
    "the agent has calls of this reply already, so the model cannot be called again";

/// Why nothing can be held of an exchange.
#[derive(Debug, thiserror::Error)]
#[error("the upstream cannot be called again: its URL cannot be written")]
pub(super) struct HoldOrderError;

/// What is to be held of an exchange.
pub(super) fn order(pump: &Pump, held: Held) -> Result<HoldOrder, HoldOrderError> {
    let question = &pump.question;
    let url = pump.watcher.upstream.base().join(&question.path_and_query);
    let url = url.map_err(|_| HoldOrderError)?.to_string();
    let came = match held.what {
        What::Request => UpstreamResult::Nothing,
        What::Refusal { status, body } => UpstreamResult::Refusal(refusal(status, &body)),
        What::Reply { json, is_whole } => UpstreamResult::Reply(Answer {
            usage: usage_of(&json),
            json,
            first_ms: pump.seen.first_ms.unwrap_or_default(),
            total_ms: pump.ms(),
            ended: is_whole,
            unreadable: 0,
            late: 0,
            was_streamed: pump.seen.streams,
            request_id: None,
        }),
    };
    Ok(HoldOrder {
        id: pump.seen.id,
        dialect: question.dialect,
        model: pump.seen.model.clone(),
        target: Target::parse(&url).map_err(|_| HoldOrderError)?,
        is_verified: pump.watcher.upstream.is_verified(),
        headers: Headers::passed_on(&question.lines),
        request: pump.upstream_request().to_vec(),
        came,
        closed: closed(pump),
        text_sent: pump.machine.agent_has().text,
        journal: pump.watcher.state.journal_of(pump.seen.id),
    })
}

/// Why the agent could not get another reply.
fn closed(pump: &Pump) -> Option<String> {
    if !pump.machine.sent_calls().is_empty() {
        return Some(HANDED.to_owned());
    }
    let keeps = pump
        .reading
        .request_head()
        .is_some_and(|head| head.has_server_state);
    keeps.then(|| NoTold::ServerState.to_string())
}

fn refusal(status: u16, body: &[u8]) -> ModelFault {
    let refusal = serde_json::from_slice(body).ok();
    let refusal = refusal.as_ref().and_then(Refusal::of);
    let why = match refusal {
        Some(refusal) => refusal.line(),
        None => String::from_utf8_lossy(body).into_owned(),
    };
    ModelFault {
        status: Some(status),
        why: format!("status {status}: {why}"),
        is_recoverable: false,
        retry_after_ms: None,
        was_streaming: false,
    }
}
