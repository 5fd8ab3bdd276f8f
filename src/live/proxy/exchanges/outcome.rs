//! From the end of a hold to what goes over the wire, and what is remembered of it for
//! the agent's next requests.

use super::pump::Pump;
use super::state::lock;
use crate::proxy::holds::{Mended, Outcome};
use retake_core::dialects::write::behind::behind;
use retake_core::dialects::write::quoted;
use retake_core::exchange::machine::Decision;
use retake_core::exchange::views::told;
use retake_core::session::Dialect;
use std::sync::Arc;

/// What a hold's end means on the wire.
pub(super) fn decision_of(pump: &mut Pump, outcome: Outcome) -> Decision {
    let dialect = pump.question.dialect;
    match outcome {
        Outcome::Release { by } => Decision::AsItCame { by },
        Outcome::Cut { .. } | Outcome::ClientLeft => Decision::Cut,
        Outcome::Refused { why } => Decision::Refused { why },
        Outcome::Request(mended) => {
            let asked = pump.asked();
            let mut views = lock(&pump.watcher.views);
            Arc::make_mut(&mut views).remember_repair(dialect, &asked, &mended.take);
            Decision::Request(mended.take)
        }
        Outcome::Value { text, mended } => {
            let elements = vec![dialect.codec().final_message(&text)];
            let template = template(pump, &mended);
            if let Some(keeping) = &mut pump.keeping {
                keeping.tell(elements.clone(), &template);
            }
            Decision::Reply {
                elements,
                template,
                usage: mended.usage,
                let_pass_by: None,
            }
        }
        Outcome::Reply(mended) => reply(pump, dialect, *mended),
    }
}

/// The agent gets another turn, and the provider is told in the agent's next requests what it said itself.
fn reply(pump: &mut Pump, dialect: Dialect, mended: Mended) -> Decision {
    let told = match told(dialect, &mended.base, &mended.take) {
        Ok(told) => told,
        Err(error) => {
            let by = format!("what was decided cannot be told to the agent: {error}");
            pump.seen.notes.push(by.clone());
            return Decision::AsItCame { by };
        }
    };
    let sent = pump.machine.sent_turn();
    // Whatever was decided: a call that the agent has stays in its turn.
    let lacks = |id: &String| {
        !told
            .agent
            .iter()
            .any(|element| element.contains(&quoted(id)))
    };
    if pump.machine.sent_calls().iter().any(lacks) {
        let by = "the agent has calls already that what was decided lacks".to_owned();
        pump.seen.notes.push(by.clone());
        return Decision::AsItCame { by };
    }
    let is_first_turn = pump.held_reply().as_deref() == Some(mended.last_reply.as_str());
    let elements = match is_first_turn {
        true => behind(dialect, &sent, &told.agent),
        false => told.agent.clone(),
    };
    let before = if is_first_turn { &[] } else { sent.as_slice() };
    Arc::make_mut(&mut lock(&pump.watcher.views)).remember(dialect, &told, before);
    let template = template(pump, &mended);
    if let Some(keeping) = &mut pump.keeping {
        keeping.tell(told.provider, &template);
    }
    Decision::Reply {
        elements,
        template,
        usage: mended.usage,
        let_pass_by: mended.let_pass_by,
    }
}

/// A reply of the provider whose other members count; the held one where there is no later one.
fn template(pump: &Pump, mended: &Mended) -> String {
    match mended.last_reply.is_empty() {
        true => pump.held_reply().unwrap_or_default(),
        false => mended.last_reply.clone(),
    }
}
