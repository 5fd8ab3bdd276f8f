//! The status of a take: read, judged, and given to the engine. And which take a run can drive at all.

use crate::{Recording, TakeError, TakeStore, add_refusal, as_sent, check_session};
use retake_core::engine::agent::AgentModel;
use retake_core::engine::{RunStatus, Tail, request_status, run_status};
use retake_core::formats::{CannotWrite, lower};
use retake_core::redact::Vault;
use retake_core::rules::Finding;
use retake_core::session::ledger::CallKey;
use retake_core::session::takes::{ContentDigest, Take, TakeCause, TakeId};
use retake_core::session::{Dialect, Edit, MessageRole, Session, Source, Span, Tool};
use retake_core::wire::write::request::NoRequest;
use std::borrow::Cow;
use std::sync::Arc;

/// The action of a take in which a run goes on from another one.
pub const CONTINUE: &str = "continue";

/// What came of an exchange, to compare with in the end.
#[derive(Debug, Default)]
pub(crate) struct ExchangeBaseline {
    /// The text of the history when it was complete for the first time.
    pub(crate) first: Option<ContentDigest>,
    /// The replies that entered the history, with their takes, as the provider sent them.
    pub(crate) replies: Vec<(TakeId, String)>,
}

/// A take as it was read last.
pub(crate) struct TakeSnapshot {
    pub(crate) recording: Arc<Recording>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) standing: Arc<RunStatus>,
}

impl TakeSnapshot {
    /// Reads a take and judges it. What a take has answered counts for nothing. Of a request that is about to
    /// be sent counts what its provider would refuse, or has refused.
    pub(crate) fn read(
        store: &mut TakeStore,
        number: u32,
        take: TakeId,
        (is_request, is_of_client): (bool, bool),
    ) -> Result<Self, TakeError> {
        let mut recording = store.read(take, &|_, _| ())?;
        if is_request {
            as_sent(&mut recording.sessions);
        }
        let session = session_of(&recording, number).ok_or(TakeError::NoSession(number))?;
        let mut findings = check_session(session, None)?;
        let line = store.line(take);
        let ledger = store.ledger();
        if let Some(refusal) = ledger.refusal(take).filter(|_| is_request) {
            add_refusal(&recording, refusal, &mut findings)?;
        }
        let mut standing = match is_request {
            true => request_status(session, &findings, ledger, take, &line)?,
            false => run_status(session, &findings, ledger, take, &line)?,
        };
        // What is left of a reply is no final message: the model goes on with it. The agent of a client gets
        // what is left of the reply that it waits for.
        let about = store.takes().get(take);
        let is_cut = about.is_some_and(|about| {
            about.outcome.asks_model && (about.cause.action.is_none() || !is_of_client)
        });
        if is_cut
            && ledger.grown_by(take, 0).is_none()
            && matches!(standing.tail, Tail::Final { .. })
        {
            standing.tail = Tail::AsksModel;
        }
        Ok(Self {
            recording: Arc::new(recording),
            findings,
            standing: Arc::new(standing),
        })
    }

    pub(crate) fn session(&self, number: u32) -> Option<&Session> {
        session_of(&self.recording, number)
    }

    /// The item of an open call.
    pub(crate) fn item_of(&self, call: &CallKey) -> Option<u32> {
        let mut open = self.standing.calls.iter().filter(|known| known.is_open);
        open.find(|known| known.key == *call)
            .map(|known| known.item)
    }

    /// The arguments of the calls of a tool that were answered before this one, in the order of the history.
    pub(crate) fn earlier(&self, number: u32, tool: &str, before: u32) -> Vec<String> {
        let Some(session) = self.session(number) else {
            return Vec::new();
        };
        let items = session.items.iter().enumerate().take(before as usize);
        let answered = items.filter(|(index, item)| {
            item.kind == retake_core::session::Kind::Call
                && session.name(item) == tool
                && session.pairing.partner(*index).is_some()
        });
        let arguments = answered.filter_map(|(_, item)| {
            let bytes = session.bytes(item).ok()?;
            let body = retake_core::wire::body_of(item, &bytes).ok()?;
            Some(body.arguments.as_written().to_owned())
        });
        arguments.collect()
    }
}

/// The session of this number; of a history that was written as one request the only one.
fn session_of(recording: &Recording, number: u32) -> Option<&Session> {
    match recording.sessions.as_slice() {
        [only] => Some(only),
        sessions => sessions.get(number as usize),
    }
}

/// The take that a run can drive from another one on: itself, or a new one. A run drives what grows and is sent
/// unchanged, a request in the dialect of its model; any other history is written as one first, with `tools`
/// where it does not tell its own.
pub(crate) fn drivable(
    store: &mut TakeStore,
    number: u32,
    from: TakeId,
    model: &ModelBinding,
    tools: &[Tool],
) -> Result<TakeId, TakeError> {
    if store.takes().current() != from {
        store.go_to(from)?;
    }
    let recording = store.read(from, &|_, _| ())?;
    let session = session_of(&recording, number).ok_or(TakeError::NoSession(number))?;
    let tells_tools = session.contract.tools_known() || tools.is_empty();
    let dialect = model.dialect();
    let grows = can_grow(session);
    // What another program sends again and again must stay what it is.
    if model.is_of_client() {
        let is_request = session.contract.is_request && session.dialect == dialect;
        let may = is_request.then_some(()).ok_or(CannotWrite::NotAppended);
        may.and_then(|()| grows.clone())?;
    }
    if session.dialect != dialect || !tells_tools || grows.is_err() {
        return store.as_request(number, dialect, tools);
    }
    let is_leaf = from != TakeId::MAIN && store.takes().children(from).is_empty();
    if is_leaf {
        return Ok(from);
    }
    let about = Take {
        title: "the run".to_owned(),
        cause: TakeCause {
            action: Some(CONTINUE.to_owned()),
            ..TakeCause::default()
        },
        ..Take::default()
    };
    store.take(number, session, &[], about)
}

/// Whether a history is a request to which elements can be appended; if not, why.
fn can_grow(session: &Session) -> Result<(), CannotWrite> {
    let codec = session.dialect.codec();
    let probe = Edit::Extend {
        items: vec![codec.message(MessageRole::User, "")],
    };
    if !session.contract.is_request && !session.contract.goes_on {
        return Err(CannotWrite::NotAppended);
    }
    lower(session, &[probe]).map(|_| ())
}

/// The request that asks the model to go on from a take, with its secrets in their places.
pub(crate) fn request(
    store: &mut TakeStore,
    take: TakeId,
    model: &ModelBinding,
    vault: &Vault,
) -> Result<Vec<u8>, String> {
    let text = text(store, take).map_err(|error| error.to_string())?;
    let body = model.wire_request(&text);
    let body = body.map_err(|error| error.to_string())?;
    // Neither changes most requests, and a request may be long.
    if let Cow::Owned(restored) = vault.restored(&body) {
        return Ok(restored);
    }
    Ok(match body {
        Cow::Owned(body) => body,
        Cow::Borrowed(_) => text,
    })
}

pub(crate) fn text(store: &mut TakeStore, take: TakeId) -> Result<Vec<u8>, TakeError> {
    let rope = store.rope(take)?;
    let (start, end) = (0, rope.len());
    Ok(rope.read(Span { start, end })?)
}

/// The model of a run.
#[derive(Debug, Clone)]
pub enum ModelBinding {
    /// That of an agent file, whose settings are laid over each history.
    Described(AgentModel),
    /// That of an agent elsewhere: its own request says everything, and is sent as it is.
    OfClient { dialect: Dialect, name: String },
}

impl ModelBinding {
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Described(model) => model.dialect,
            Self::OfClient { dialect, .. } => *dialect,
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Described(model) => &model.name,
            Self::OfClient { name, .. } => name,
        }
    }

    /// Whether a script answers.
    pub(crate) fn is_scripted(&self) -> bool {
        match self {
            Self::Described(model) => model.is_scripted(),
            Self::OfClient { .. } => false,
        }
    }

    /// Whether the run is about an exchange of an agent elsewhere.
    pub(crate) fn is_of_client(&self) -> bool {
        matches!(self, Self::OfClient { .. })
    }

    /// A history as it is sent.
    pub(crate) fn wire_request<'b>(&self, body: &'b [u8]) -> Result<Cow<'b, [u8]>, NoRequest> {
        match self {
            Self::Described(model) => model.wire_request(body).map(Cow::Owned),
            Self::OfClient { .. } => Ok(Cow::Borrowed(body)),
        }
    }
}
