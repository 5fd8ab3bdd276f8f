//! From the end of a hold to what goes over the wire, and what is remembered of it for
//! the agent's next requests.

use super::Pump;
use crate::lock::lock;
use crate::proxy::holds::{EditedExchange, HoldOutcome};
use retake_core::dialects::write::quoted;
use retake_core::exchange::machine::Decision;
use retake_core::exchange::views::told as views_of;
use retake_core::session::Dialect;
use std::sync::Arc;

impl Pump {
    /// What a hold's end means on the wire.
    pub(super) fn decision_of(&mut self, outcome: HoldOutcome) -> Decision {
        let dialect = self.question.dialect;
        match outcome {
            HoldOutcome::Release { by } => Decision::AsItCame { by },
            HoldOutcome::Cut { .. } | HoldOutcome::ClientLeft => Decision::Cut,
            HoldOutcome::Refused { why } => Decision::Refused { why },
            HoldOutcome::Request(edited) => {
                let request = self.upstream_request();
                let mut views = lock(&self.watcher.views);
                Arc::make_mut(&mut views).remember_repair(dialect, &request, &edited.take);
                Decision::Request(edited.take)
            }
            HoldOutcome::Value { text, edited } => {
                let elements = vec![dialect.codec().final_message(&text)];
                let template = template(self, &edited);
                if let Some(keeping) = &mut self.keeping {
                    keeping.tell(elements.clone(), &template);
                }
                Decision::Reply {
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
    fn edited_reply(&mut self, dialect: Dialect, edited: EditedExchange) -> Decision {
        let views = match views_of(dialect, &edited.base, &edited.take) {
            Ok(views) => views,
            Err(error) => {
                let by = format!("the decision cannot be spelled for the agent: {error}");
                self.seen.notes.push(by.clone());
                return Decision::AsItCame { by };
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
            return Decision::AsItCame { by };
        }
        let is_first_turn = self.held_reply().as_deref() == Some(edited.last_reply.as_str());
        let elements = match is_first_turn {
            true => dialect.codec().behind(&sent, &views.agent),
            false => views.agent.clone(),
        };
        let before = if is_first_turn { &[] } else { sent.as_slice() };
        Arc::make_mut(&mut lock(&self.watcher.views)).remember(dialect, &views, before);
        let template = template(self, &edited);
        if let Some(keeping) = &mut self.keeping {
            keeping.tell(views.provider, &template);
        }
        Decision::Reply {
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
