//! How a take stands: read, judged, and told in the words of the engine. And which take a run can drive at all.

use crate::dialects::write::draft_message;
use crate::engine::agent::Model;
use crate::engine::{Standing, standing_of};
use crate::formats::lower;
use crate::redact::Vault;
use crate::rules::Finding;
use crate::runtime::{NoTake, Recording, Workbench, check_session};
use crate::session::ledger::CallKey;
use crate::session::takes::{Cause, Take, TakeId};
use crate::session::{Dialect, Edit, Session, Shape, Source, Span, Tool, Voice};

/// The action of a take in which a run goes on from another one.
pub const CONTINUE: &str = "continue";

/// A take as it was read last.
pub(super) struct Stood {
    pub(super) recording: Recording,
    pub(super) findings: Vec<Finding>,
    pub(super) standing: Standing,
}

impl Stood {
    /// Reads a take and judges it. What a take has answered counts for nothing.
    pub(super) fn read(bench: &mut Workbench, number: u32, take: TakeId) -> Result<Self, NoTake> {
        let recording = bench.read(take, &|_, _| ())?;
        let session = session_of(&recording, number).ok_or(NoTake::NoSession(number))?;
        let findings = check_session(session, None)?;
        let line = bench.line(take);
        let standing = standing_of(session, &findings, bench.ledger(), take, &line)?;
        Ok(Self {
            recording,
            findings,
            standing,
        })
    }

    /// The session.
    pub(super) fn session(&self, number: u32) -> Option<&Session> {
        session_of(&self.recording, number)
    }

    /// The item of an open call.
    pub(super) fn item_of(&self, call: &CallKey) -> Option<u32> {
        let mut open = self.standing.calls.iter().filter(|known| known.is_open);
        open.find(|known| known.key == *call)
            .map(|known| known.item)
    }

    /// The arguments of the calls of a tool that were answered before this one, in the order of the history.
    pub(super) fn earlier(&self, number: u32, tool: &str, before: u32) -> Vec<String> {
        let Some(session) = self.session(number) else {
            return Vec::new();
        };
        let items = session.items.iter().enumerate().take(before as usize);
        let answered = items.filter(|(index, item)| {
            item.kind == crate::session::Kind::Call
                && session.name(item) == tool
                && session.pairing.partner(*index).is_some()
        });
        let arguments = answered.filter_map(|(_, item)| {
            let bytes = session.bytes(item).ok()?;
            let body = crate::dialects::body_of(item, &bytes).ok()?;
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

/// The take that a run can drive from another one on: itself, or a new one. A run drives what grows and is sent as it stands, a request
/// in the dialect of its model; any other history is written as one first, with `tools` where it does not tell its own.
pub(super) fn drivable(
    bench: &mut Workbench,
    number: u32,
    from: TakeId,
    model: &Model,
    tools: &[Tool],
) -> Result<TakeId, NoTake> {
    if bench.takes().current() != from {
        bench.go_to(from)?;
    }
    let recording = bench.read(from, &|_, _| ())?;
    let session = session_of(&recording, number).ok_or(NoTake::NoSession(number))?;
    let tells_tools = session.contract.tools_known() || tools.is_empty();
    if session.dialect != model.dialect || !tells_tools || !can_grow(session) {
        return bench.as_request(number, crate::runtime::target_of(model.dialect), tools);
    }
    let is_leaf = from != TakeId::MAIN && bench.takes().children(from).is_empty();
    if is_leaf {
        return Ok(from);
    }
    let about = Take {
        title: "the run".to_owned(),
        cause: Cause {
            action: Some(CONTINUE.to_owned()),
            ..Cause::default()
        },
        ..Take::default()
    };
    bench.take(number, session, &[], about)
}

/// Whether a history is a request to which elements can be appended.
fn can_grow(session: &Session) -> bool {
    let shape = match session.dialect {
        Dialect::Responses => Shape::Responses,
        Dialect::Chat | Dialect::Gemini => Shape::Chat,
        Dialect::Anthropic => Shape::Anthropic,
    };
    let probe = Edit::Extend {
        items: vec![draft_message(shape, Voice::User, "")],
    };
    (session.contract.is_request || session.contract.goes_on) && lower(session, &[probe]).is_ok()
}

/// The request that asks the model to go on from a take, with its secrets in their places.
pub(super) fn request(
    bench: &mut Workbench,
    take: TakeId,
    model: &Model,
    vault: &Vault,
) -> Result<Vec<u8>, String> {
    let rope = bench.rope(take).map_err(|error| error.to_string())?;
    let (start, end) = (0, rope.len());
    let body = rope
        .read(Span { start, end })
        .map_err(|error| error.to_string())?;
    let body = model
        .wire_request(&body)
        .map_err(|error| error.to_string())?;
    Ok(vault.restored(&body).into_owned())
}
