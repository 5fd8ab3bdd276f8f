//! From what the machine wants held to a hold that can begin.

use super::pump::Pump;
use crate::http::{Headers, Target};
use crate::live::Came;
use crate::model::Answer;
use crate::proxy::holds::Order;
use retake_core::dialects::{Refusal, usage_of};
use retake_core::engine::ModelFault;
use retake_core::exchange::machine::{Held, What};
use retake_core::exchange::views::NoTold;

/// Why the model is not asked again for a reply of which the agent has calls.
const HANDED: &str =
    "the agent has calls of this reply already, so the model cannot be asked again";

/// Why nothing can be held of an exchange.
#[derive(Debug, thiserror::Error)]
#[error("the upstream cannot be asked again: its URL cannot be written")]
pub(super) struct NoOrder;

/// What is to be held of an exchange.
pub(super) fn order(pump: &Pump, held: Held) -> Result<Order, NoOrder> {
    let question = &pump.question;
    let url = pump.watcher.upstream.base().join(&question.asked);
    let url = url.map_err(|_| NoOrder)?.to_string();
    let came = match held.what {
        What::Request => Came::Nothing,
        What::Refusal { status, body } => Came::Refusal(refusal(status, &body)),
        What::Reply { json, is_whole } => Came::Reply(Answer {
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
    Ok(Order {
        id: pump.seen.id,
        dialect: question.dialect,
        model: pump.seen.model.clone(),
        target: Target::parse(&url).map_err(|_| NoOrder)?,
        is_verified: pump.watcher.upstream.is_verified(),
        headers: Headers::passed_on(&question.lines),
        request: pump.asked().to_vec(),
        came,
        closed: closed(pump),
        text_sent: pump.machine.agent_has().text,
        journal: pump.watcher.state.journal_of(pump.seen.id),
    })
}

/// Why another reply could not be told to the agent.
fn closed(pump: &Pump) -> Option<String> {
    if !pump.machine.sent_calls().is_empty() {
        return Some(HANDED.to_owned());
    }
    let keeps = pump
        .reading
        .asked()
        .is_some_and(|asked| asked.has_server_state);
    keeps.then(|| NoTold::ServerState.to_string())
}

fn refusal(status: u16, body: &[u8]) -> ModelFault {
    let said = serde_json::from_slice(body).ok();
    let said = said.as_ref().and_then(Refusal::of);
    let why = match said {
        Some(said) => said.line(),
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
