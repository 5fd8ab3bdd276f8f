//! From what the machine wants held to a hold that can begin.

use super::Pump;
use crate::http::{Headers, HttpTarget};
use crate::live::UpstreamResult;
use crate::lock::lock;
use crate::model::Answer;
use crate::proxy::holds::{EditedExchange, HoldOrder, HoldOutcome};
use retake_core::engine::ModelFault;
use retake_core::exchange::machine::{Held, HoldDecision, What};
use retake_core::exchange::views::{HoldViewsError, hold_views};
use retake_core::session::Dialect;
use retake_core::wire::write::quoted;
use retake_core::wire::{Refusal, usage_of};
use std::sync::Arc;

/// Why a reply whose calls the agent already has is not requested again.
const HANDED: &str =
    "the agent has calls of this reply already, so the model cannot be called again";

/// Why nothing can be held of an exchange.
#[derive(Debug, thiserror::Error)]
#[error("the upstream cannot be called again: its URL cannot be written")]
pub(crate) struct HoldOrderError;

/// What is to be held of an exchange.
pub(crate) fn order(pump: &Pump, held: Held) -> Result<HoldOrder, HoldOrderError> {
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
            total_ms: pump.ms_of_upstream(),
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
        target: HttpTarget::parse(&url).map_err(|_| HoldOrderError)?,
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
    keeps.then(|| HoldViewsError::ServerState.to_string())
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

impl Pump {
    /// What a hold's end means on the wire.
    pub(crate) fn decision_of(&mut self, outcome: HoldOutcome) -> HoldDecision {
        let dialect = self.question.dialect;
        match outcome {
            HoldOutcome::Release { by } => HoldDecision::AsItCame { by },
            HoldOutcome::Cut { .. } | HoldOutcome::ClientLeft => HoldDecision::Cut,
            HoldOutcome::Refused { why } => HoldDecision::Refused { why },
            HoldOutcome::Request(edited) => {
                let request = self.upstream_request();
                let mut views = lock(&self.watcher.views);
                Arc::make_mut(&mut views).remember_repair(dialect, &request, &edited.take);
                HoldDecision::Request(edited.take)
            }
            HoldOutcome::Value { text, edited } => {
                let elements = vec![dialect.codec().final_message(&text)];
                let template = template(self, &edited);
                if let Some(keeping) = &mut self.keeping {
                    keeping.tell(elements.clone(), &template);
                }
                HoldDecision::Reply {
                    elements,
                    template,
                    usage: edited.usage,
                    let_pass_by: None,
                }
            }
            HoldOutcome::Reply(edited) => self.edited_reply(dialect, *edited),
        }
    }

    /// The agent gets another turn; in the agent's next requests the provider sees its own.
    fn edited_reply(&mut self, dialect: Dialect, edited: EditedExchange) -> HoldDecision {
        let views = match hold_views(dialect, &edited.base, &edited.take) {
            Ok(views) => views,
            Err(error) => {
                let by = format!("the decision cannot be spelled for the agent: {error}");
                self.seen.notes.push(by.clone());
                return HoldDecision::AsItCame { by };
            }
        };
        let sent = self.machine.sent_turn();
        // Whatever was decided: a call that the agent has stays in its turn.
        let lacks = |id: &String| {
            !views
                .agent
                .iter()
                .any(|element| element.contains(&quoted(id)))
        };
        if self.machine.sent_calls().iter().any(lacks) {
            let by = "the agent has calls already that what was decided lacks".to_owned();
            self.seen.notes.push(by.clone());
            return HoldDecision::AsItCame { by };
        }
        let is_first_turn = self.held_reply().as_deref() == Some(edited.last_reply.as_str());
        let elements = match is_first_turn {
            true => dialect.codec().unsent(&sent, &views.agent),
            false => views.agent.clone(),
        };
        let before = if is_first_turn { &[] } else { sent.as_slice() };
        Arc::make_mut(&mut lock(&self.watcher.views)).remember(dialect, &views, before);
        let template = template(self, &edited);
        if let Some(keeping) = &mut self.keeping {
            keeping.tell(views.provider, &template);
        }
        HoldDecision::Reply {
            elements,
            template,
            usage: edited.usage,
            let_pass_by: edited.let_pass_by,
        }
    }
}

/// A reply of the provider whose other members count; the held one where there is no later one.
fn template(pump: &Pump, edited: &EditedExchange) -> String {
    match edited.last_reply.is_empty() {
        true => pump.held_reply().unwrap_or_default(),
        false => edited.last_reply.clone(),
    }
}
