//! The agent's and the provider's view of a hold that ended with a reply.

use super::element::{ElementOwner, ListElement};
use crate::session::{Dialect, Meaning};
use crate::wire::RequestHead;
use crate::wire::write::edit::{elements, without_calls};
use std::ops::Range;

/// The two views of how a held exchange went on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldViews {
    /// What the agent gets as its reply: the elements of the model's last turn without the calls that
    /// were answered for it.
    pub agent: Vec<String>,
    /// What the provider knows, or receives with the agent's next request: everything after the request.
    pub provider: Vec<String>,
    /// The position of the model's last turn in `provider`.
    pub(crate) last: Range<usize>,
    /// What the request says, as a number, by which its conversation is known.
    pub(crate) context: Meaning,
}

impl HoldViews {
    /// Whether the provider knows more than the agent, so that something is put back into later requests.
    pub fn hides(&self) -> bool {
        self.agent != self.provider
    }
}

/// Why there is no view for the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HoldViewsError {
    /// The history is not in the request.
    #[error(
        "the provider keeps this conversation itself (previous_response_id or conversation): what the agent \
        does not see cannot be put into its later requests"
    )]
    ServerState,
    /// One of the requests cannot be read, or holds no list.
    #[error("the request has no list of messages that can be read")]
    NoList,
    /// The take is no longer the request with something after it.
    #[error("what stood before the reply was changed as well")]
    Changed,
    /// Nothing of the model follows the request.
    #[error("there is no reply yet")]
    NoTurn,
    /// Something that the model has to read first follows the last turn.
    #[error("the model must be called again before the agent can go on")]
    GoesOn,
    /// An output after the request names no call.
    #[error("an output names no call id, so its call cannot be taken out for the agent")]
    NoId,
}

/// Tells apart what the agent and what the provider see of a take that is the request with elements after it:
/// the model's reply, outputs of its calls, further replies. Both are request bodies; where nothing is taken
/// out, elements are byte for byte those of the take.
///
/// Fails where there is no turn to hand over, or where the two views could not be kept apart later.
pub fn hold_views(dialect: Dialect, base: &[u8], take: &[u8]) -> Result<HoldViews, HoldViewsError> {
    let head = RequestHead::read(dialect, base).ok_or(HoldViewsError::NoList)?;
    let base = history(dialect, base)?;
    let take = history(dialect, take)?;
    let provider = match take.get(..base.len()) {
        Some(head) if head == base => take[base.len()..].to_vec(),
        _ => return Err(HoldViewsError::Changed),
    };
    let read = provider.iter();
    let read = read
        .map(|text| ListElement::read(dialect, text))
        .collect::<Vec<_>>();
    let last = last_turn(dialect, &read).ok_or(HoldViewsError::NoTurn)?;
    if read[last.end..]
        .iter()
        .any(|element| element.side != ElementOwner::Outputs)
    {
        return Err(HoldViewsError::GoesOn);
    }
    let answers = read[last.end..].iter().flat_map(|element| &element.answers);
    let answers = answers.copied().collect::<Vec<_>>();
    let mut calls = read[last.clone()].iter().flat_map(|element| &element.calls);
    if !answers.is_empty() && calls.all(|call| answers.contains(&call.id)) {
        return Err(HoldViewsError::GoesOn);
    }
    if answers.contains(&0) {
        return Err(HoldViewsError::NoId);
    }
    let turn = read[last.clone()].iter();
    let mut agent = turn
        .filter_map(|element| seen_by_agent(dialect, element, &answers))
        .collect::<Vec<_>>();
    // Reasoning at the end led to a call that the agent does not get.
    while agent.len() > 1
        && agent.last().is_some_and(|element| element.is_reasoning)
        && !answers.is_empty()
    {
        agent.pop();
    }
    let views = HoldViews {
        agent: agent.into_iter().map(|element| element.text).collect(),
        provider,
        last,
        context: base
            .iter()
            .filter_map(|text| ListElement::read(dialect, text).repeated())
            .fold(Meaning::NOTHING, Meaning::and),
    };
    // Beside calls that the agent has, the provider keeps the hidden one as well, and only its output is
    // missing. Calls are then known by the ids of their outputs alone, so these must be drawn.
    let mut calls = read[views.last.clone()]
        .iter()
        .flat_map(|element| &element.calls);
    let is_known = views.last.start == 0 && calls.all(|call| call.is_drawn);
    match head.has_server_state && views.hides() && !is_known {
        true => Err(HoldViewsError::ServerState),
        false => Ok(views),
    }
}

/// The elements of a request's list; a text as input counts as a message.
pub(crate) fn history(dialect: Dialect, body: &[u8]) -> Result<Vec<String>, HoldViewsError> {
    let list = RequestHead::read(dialect, body).and_then(|head| head.history);
    let body = std::str::from_utf8(body).map_err(|_| HoldViewsError::NoList)?;
    let list = list.ok_or(HoldViewsError::NoList)?;
    match body.as_bytes().get(list.start) {
        Some(b'[') => Ok(elements(body, &list)
            .into_iter()
            .map(|at| body[at].to_owned())
            .collect()),
        // As a take spells it that has something after a text (OpenAI API reference: a text input
        // with the role `user`).
        Some(b'"') => Ok(vec![format!(
            r#"{{"role":"user","content":{}}}"#,
            &body[list]
        )]),
        _ => Err(HoldViewsError::NoList),
    }
}

/// The position of the model's last turn: items of Responses in a row, elsewhere one message.
fn last_turn(dialect: Dialect, read: &[ListElement]) -> Option<Range<usize>> {
    let end = read
        .iter()
        .rposition(|element| element.side == ElementOwner::Model)?
        + 1;
    let first = match dialect.facts().calls_key {
        Some(_) => end - 1,
        None => read[..end]
            .iter()
            .rposition(|element| element.side != ElementOwner::Model)
            .map_or(0, |at| at + 1),
    };
    Some(first..end)
}

/// An element without the calls that were answered for the agent; `None` where nothing of it remains.
fn seen_by_agent(dialect: Dialect, element: &ListElement, answers: &[u64]) -> Option<ListElement> {
    let calls = element.calls.iter();
    let hidden = calls.filter(|call| answers.contains(&call.id));
    let hidden = hidden.map(|call| call.at.start).collect::<Vec<_>>();
    if hidden.is_empty() {
        return Some(element.clone());
    }
    let text = without_calls(dialect, &element.text, &hidden)?;
    Some(ListElement::read(dialect, &text))
}
