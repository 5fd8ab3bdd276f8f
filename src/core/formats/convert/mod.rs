//! A session in another dialect, or in its own without the envelope of its file.
//!
//! What has the target's spelling already is copied byte for byte, signatures and encrypted reasoning with it;
//! the rest is spelled anew from what it says. Nothing is invented: an orphan stays an orphan. What cannot go
//! over is a [`Loss`].
//!
//! The text is written message by message, so that memory goes with the number of items.

mod agent;
mod element;
mod history;
mod ids;
mod losses;
mod records;
mod request;

pub use agent::{AgentProgram, NewSession};
pub(crate) use ids::sanitised;
pub use losses::{Loss, LossKind};

use crate::json::{Cursor, display_text, respelled};
use crate::session::{Dialect, Flags, Item, Kind, Session, SourceError, SourceResult};
use crate::wire::write::with_plain_call_id;
use crate::wire::{Fields, IdsNeeded};
use ids::{TargetIds, TargetNames};
use records::records;

/// How a session is converted.
#[derive(Debug, Clone, Copy)]
pub struct ConvertOptions {
    /// Whether a request body is written, with model and tools where they are known, and not the history alone.
    pub as_request: bool,
    /// What arguments that are not JSON probably meant, as JSON; `None` where nobody can tell.
    pub repair: fn(&str) -> Option<String>,
}

/// What became of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Converted {
    /// How many items the history has that was converted.
    pub items: usize,
    /// What did not go over as it was recorded, in the order of the history.
    pub losses: Vec<Loss>,
}

/// Converts a session to a list of items of Responses, of messages of Chat, or to the prompt and the messages of
/// Anthropic or Gemini; `write` gets the text piece by piece.
pub fn convert<E: From<SourceError>>(
    session: &Session,
    to: Dialect,
    options: ConvertOptions,
    write: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<Converted, E> {
    let mut conversion = Conversion::new(session, to, None, options)?;
    history::write(&mut conversion, &mut Out { write })?;
    Ok(conversion.finish())
}

/// Writes a session as one of an agent; `times` are when its items were recorded, in milliseconds since 1970, as far as
/// that is known. `write` gets the text piece by piece.
pub fn write_session<E: From<SourceError>>(
    session: &Session,
    to: AgentProgram,
    new: &NewSession,
    times: &[Option<u64>],
    repair: fn(&str) -> Option<String>,
    write: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<Converted, E> {
    let options = ConvertOptions {
        as_request: false,
        repair,
    };
    let mut conversion = Conversion::new(session, to.dialect(), Some(to), options)?;
    let times = conversion.times(times);
    let at = |index: usize| times.get(index).copied();
    let mut out = Out { write };
    let mut records = records(to, new, session.model.as_deref(), at(0));
    out.put(records.open())?;
    if to.keeps_wire() {
        history::messages(&mut conversion, &mut |items, message| {
            let message = respelled(&message);
            let times: Vec<u64> = items.iter().filter_map(|item| at(*item)).collect();
            out.put(records.message(&String::from_utf8_lossy(&message), &times))
        })?;
    } else {
        history::elements(&mut conversion, &mut |index, element| {
            out.put(records.element(element, at(index)))
        })?;
    }
    out.put(records.close())?;
    Ok(conversion.finish())
}

/// Where the text goes, in pieces that hold whole strings.
struct Out<'a, E> {
    write: &'a mut dyn FnMut(&[u8]) -> Result<(), E>,
}

impl<E> Out<'_, E> {
    fn put(&mut self, text: impl AsRef<[u8]>) -> Result<(), E> {
        // What is copied may hold strings that this reader understands and JSON does not allow.
        (self.write)(&respelled(text.as_ref()))
    }

    /// One element of a list, on a line of its own.
    fn element(&mut self, is_first: &mut bool, text: impl AsRef<[u8]>) -> Result<(), E> {
        let is_first = std::mem::replace(is_first, false);
        self.put(if is_first { "\n" } else { ",\n" })?;
        self.put(text)
    }
}

/// A session on its way into a dialect.
struct Conversion<'a> {
    session: &'a Session,
    to: Dialect,
    /// Whose session is written; `None` for a history alone.
    agent: Option<AgentProgram>,
    options: ConvertOptions,
    names: TargetNames,
    ids: TargetIds,
    losses: Vec<Loss>,
}

impl<'a> Conversion<'a> {
    fn new(
        session: &'a Session,
        to: Dialect,
        agent: Option<AgentProgram>,
        options: ConvertOptions,
    ) -> SourceResult<Self> {
        let mut conversion = Self {
            session,
            to,
            agent,
            options,
            names: TargetNames::of(session, to, agent),
            ids: TargetIds::of(session, to, agent)?,
            losses: Vec::new(),
        };
        let is_compacted = |item: &&Item| item.flags.has(Flags::COMPACTED);
        let count = session.items.iter().filter(is_compacted).count();
        if count > 0 {
            conversion.lose_of_all(LossKind::Earlier { count });
        }
        if session.contract.server_state {
            conversion.lose_of_all(LossKind::ServerState);
        }
        Ok(conversion)
    }

    fn finish(self) -> Converted {
        let mut losses = self.losses;
        losses.sort_by_key(|loss| loss.item);
        let is_visible = |item: &&Item| !item.flags.has(Flags::COMPACTED);
        Converted {
            items: self.session.items.iter().filter(is_visible).count(),
            losses,
        }
    }

    /// When each item was: as it is recorded, else between its neighbours. Empty where nothing is recorded.
    fn times(&mut self, recorded: &[Option<u64>]) -> Vec<u64> {
        let count = self.session.items.len();
        let is_known = |index: &usize| recorded.get(*index).is_some_and(Option::is_some);
        let known: Vec<usize> = (0..count).filter(is_known).collect();
        let (Some(first), Some(last)) = (known.first(), known.last()) else {
            self.lose_of_all(LossKind::Times);
            return Vec::new();
        };
        let unknown = (0..count).filter(|index| !is_known(index) && self.is_visible(*index));
        match unknown.count() {
            0 => {}
            count => self.lose_of_all(LossKind::SomeTimes { count }),
        }
        let at = |index: usize| recorded[index].unwrap_or_default();
        let mut times = vec![at(*first); *first];
        for pair in known.windows(2) {
            let (from, to) = (at(pair[0]), at(pair[1]));
            let steps = (pair[1] - pair[0]) as u64;
            let step = to.saturating_sub(from);
            times.extend((0..steps).map(|number| from + step * number / steps));
        }
        times.resize(count, at(*last));
        times
    }

    /// Whether an item is a text of the system that the agent has one of its own for.
    pub(super) fn is_prompt_of_agent(&self, index: usize) -> bool {
        let is_own = |agent: AgentProgram| agent.word() == self.session.format;
        self.item(index).kind == Kind::System && self.agent.is_some_and(|agent| !is_own(agent))
    }

    fn item(&self, index: usize) -> &'a Item {
        &self.session.items[index]
    }

    /// Whether the target's history holds the item.
    fn is_visible(&self, index: usize) -> bool {
        !self.item(index).flags.has(Flags::COMPACTED)
    }

    fn lose(&mut self, index: usize, kind: LossKind) {
        let item = Some(crate::session::index_number(index));
        self.losses.push(Loss { item, kind });
    }

    fn lose_of_all(&mut self, kind: LossKind) {
        self.losses.push(Loss { item: None, kind });
    }

    /// The bytes of an item that has the target's spelling; `None` where it must be spelled anew.
    fn copied(&self, index: usize) -> SourceResult<Option<Vec<u8>>> {
        let item = self.item(index);
        if self
            .agent
            .is_some_and(|agent| !agent.copies(self.session.format))
        {
            return Ok(None);
        }
        // A client's note of a failed request is spelled as a message of the model, and was none.
        let is_note = item.kind == Kind::Notice && item.is_block();
        if item.dialect != Some(self.to) || item.kind == Kind::Unreadable || is_note {
            return Ok(None);
        }
        if item.flags.has(Flags::UNKNOWN)
            && item.kind == Kind::Other
            && !self.keeps_unknown(item)?
        {
            return Ok(None);
        }
        let bytes = self.session.bytes(item)?;
        // The input or the instructions of a request, a string, are not an item by themselves.
        let is_item = self.to.facts().has_blocks || bytes.first() == Some(&b'{');
        Ok(is_item.then(|| with_plain_call_id(item, bytes)))
    }

    /// Whether an item that nobody knows is one of the target all the same.
    fn keeps_unknown(&self, item: &Item) -> SourceResult<bool> {
        let bytes = self.session.bytes(item)?;
        let fields = Fields::read(&mut Cursor::new(&bytes)).unwrap_or_default();
        Ok(self.to.codec().takes_unknown(&fields))
    }

    /// The name of a call in the target, and what changed about it.
    fn name(&mut self, index: usize) -> String {
        let name = self.session.name(self.item(index));
        let target = self.names.target(name);
        if target != name {
            let from = name.to_owned();
            let to = target.clone();
            self.lose(index, LossKind::Renamed { from, to });
        }
        target
    }

    /// The call id of a call or an output in the target; `None` where there is none.
    fn id(&mut self, index: usize) -> SourceResult<Option<String>> {
        let is_call = self.item(index).kind == Kind::Call;
        let needs_none = self.to.facts().call_ids.needed == IdsNeeded::Neither;
        if needs_none && self.ids.is_simple(self.session, index) {
            if is_call && !self.item(index).call_id.is_none() {
                self.lose(index, LossKind::CallId);
            }
            return Ok(None);
        }
        if is_call && let Some(loss) = self.ids.loss(self.session, index)? {
            self.lose(index, loss);
        }
        let id = self.ids.target(self.session, self.to, index)?;
        Ok(Some(id).filter(|id| !id.is_empty()))
    }

    /// Notes that an item has no place in the target.
    fn leave_out(&mut self, index: usize) -> SourceResult<()> {
        let item = self.item(index);
        let kind = match item.kind {
            Kind::Reasoning => LossKind::Reasoning,
            Kind::HostedCall | Kind::HostedOutput => LossKind::Hosted {
                tool: self.hosted_tool(index)?,
            },
            Kind::ApprovalRequest | Kind::ApprovalResponse => LossKind::Approval,
            Kind::ToolDefinitions => LossKind::ToolDefinitions,
            Kind::Compaction => LossKind::Compaction,
            Kind::Notice => LossKind::Notice,
            Kind::Unreadable => LossKind::Unreadable,
            Kind::System
            | Kind::User
            | Kind::Assistant
            | Kind::Call
            | Kind::Output
            | Kind::Other => match self.of_type(index)? {
                of_type if of_type == "item_reference" => LossKind::Reference,
                of_type => LossKind::Unknown { of_type },
            },
        };
        self.lose(index, kind);
        Ok(())
    }

    fn hosted_tool(&self, index: usize) -> SourceResult<String> {
        match self.session.name(self.item(index)) {
            "" => self.of_type(index),
            name => Ok(name.to_owned()),
        }
    }

    /// The `type` of an item, or its `role`.
    fn of_type(&self, index: usize) -> SourceResult<String> {
        let bytes = self.session.bytes(self.item(index))?;
        // What cannot be walked has no type.
        let fields = Fields::read(&mut Cursor::new(&bytes)).unwrap_or_default();
        let word = fields.kind.or(fields.role).unwrap_or(b"item without type");
        Ok(display_text(word).into_owned())
    }
}

/// Whether the bytes are a message of the model by themselves.
fn is_message_of_model(bytes: &[u8]) -> bool {
    let fields = Fields::read(&mut Cursor::new(bytes));
    fields.is_ok_and(|fields| fields.role == Some(b"assistant"))
}

/// Whether the bytes are a whole message, and no block of one.
fn is_with_role(bytes: &[u8]) -> bool {
    let fields = Fields::read(&mut Cursor::new(bytes));
    fields.is_ok_and(|fields| fields.role.is_some())
}
