//! Lines that name the line before them: a new line of a Claude Code log joins the chain, and the chain closes
//! over a line that leaves.

use super::list::ListEdits;
use super::place::{CannotWrite, Ground};
use crate::json::{Cursor, JsonErrorKind};
use crate::session::{Span, Splice};
use crate::wire::write::quoted;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Lines that were added, to be joined with those that are there.
#[derive(Debug, Default)]
pub(super) struct AddedLines {
    /// By the record after which they stand: the id of the line that was added last, and the one that follows
    /// it in the chain.
    added: BTreeMap<u32, Added>,
    /// Items at whose lines the chain breaks, to be joined with the line before.
    broken: Vec<u32>,
}

/// The members by which a record names itself and the one before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Links {
    pub(super) id: &'static str,
    pub(super) parent: &'static str,
}

const LINKS: Links = Links {
    id: "uuid",
    parent: "parentUuid",
};

#[derive(Debug)]
struct Added {
    id: String,
    next: Option<u32>,
}

/// What an envelope says of the session; a new line says it, too.
const SHARED: [&str; 8] = [
    "isSidechain",
    "userType",
    "cwd",
    "sessionId",
    "version",
    "gitBranch",
    "agentId",
    "slug",
];

impl AddedLines {
    /// The line for a message that comes after the line of an item.
    pub(super) fn put(
        &mut self,
        ground: &mut Ground<'_>,
        anchor: u32,
        answers: Option<u32>,
        message: &str,
        dropped: &BTreeSet<u32>,
    ) -> Result<String, CannotWrite> {
        let record = ground.item(anchor)?.record;
        if !stays(ground, anchor, dropped)? {
            return Err(CannotWrite::Conflict(anchor));
        }
        let bytes = ground.record(record)?;
        let parent = match self.added.get(&record) {
            Some(added) => added.id.clone(),
            None => link_of(&bytes, 0, &LINKS)?.id,
        };
        let caller = match answers {
            Some(call) => {
                let bytes = ground.record(ground.item(call)?.record)?;
                Some(link_of(&bytes, 0, &LINKS)?.id)
            }
            None => None,
        };
        let id = new_id(&format!("{parent} {message}"));
        let next = next_record(ground, anchor, dropped)?;
        self.added.insert(
            record,
            Added {
                id: id.clone(),
                next,
            },
        );
        let is_qwen = ground.session.format == "qwen-code";
        let (kind, caller) = match (is_qwen, &caller) {
            (true, Some(_)) => (Some("tool_result"), None),
            (true, None) => (Some("user"), None),
            (false, caller) => (None, caller.as_deref()),
        };
        line(&bytes, (&parent, &id), kind, caller, message)
    }

    /// Notes that the chain is to be joined at an item.
    pub(super) fn relink(&mut self, item: u32) {
        self.broken.push(item);
    }

    /// Joins what was added and what was broken, and closes the chain over the lines that leave.
    pub(super) fn link(
        &self,
        ground: &mut Ground<'_>,
        gone: Option<&ListEdits>,
        out: &mut Vec<Splice>,
    ) -> Result<(), CannotWrite> {
        let mut joined = BTreeSet::new();
        for (record, added) in &self.added {
            let Some(next) = added.next else {
                continue;
            };
            let own = link_of(&ground.record(*record)?, 0, &LINKS)?.id;
            if self.hang(ground, next, &own, &added.id, out)? {
                joined.insert(next);
            }
        }
        let has_gone = gone.is_some_and(|edits| edits.at.values().any(|edit| edit.is_dropped));
        if has_gone {
            close_over(ground, gone, &joined, out)?;
        }
        if self.broken.is_empty() {
            return Ok(());
        }
        let (mut links, mut bytes) = (Vec::new(), Vec::new());
        for record in ground.session.records.iter() {
            ground.session.source.read_into(record.span, &mut bytes)?;
            // A line that is not JSON hangs on nothing.
            links.push(link_of(&bytes, 0, &LINKS).unwrap_or_default());
        }
        let broken = self.broken.iter();
        let broken = broken.map(|item| Ok((*item, ground.item(*item)?.record)));
        let broken = broken.collect::<Result<Vec<_>, CannotWrite>>()?;
        join_broken(ground, &links, &broken, out)
    }

    /// Makes a line name another line before it, if it named `old`.
    fn hang(
        &self,
        ground: &mut Ground<'_>,
        record: u32,
        old: &str,
        new: &str,
        out: &mut Vec<Splice>,
    ) -> Result<bool, CannotWrite> {
        let link = link_of(&ground.record(record)?, 0, &LINKS)?;
        let Some(at) = link
            .parent_at
            .filter(|_| link.parent == old && !old.is_empty())
        else {
            return Ok(false);
        };
        let base = ground.record_span(record).unwrap_or_default().start;
        out.push(Splice::new(
            Span::within(base, at),
            Value::from(new).to_string().into_bytes(),
        ));
        Ok(true)
    }
}

/// Whether something of the line that holds an item stays: its items are neighbours in the history.
fn stays(ground: &Ground<'_>, anchor: u32, dropped: &BTreeSet<u32>) -> Result<bool, CannotWrite> {
    let record = ground.item(anchor)?.record;
    let is_of_line = |index: &u32| {
        let item = ground.session.items.get(*index as usize);
        item.is_some_and(|item| item.record == record)
    };
    let before = (0..anchor).rev().take_while(is_of_line);
    let mut items = before.chain((anchor..).take_while(is_of_line));
    Ok(items.any(|index| !dropped.contains(&index)))
}

/// The record of the item after those of the anchor's record; `None` where it leaves, or there is none.
fn next_record(
    ground: &Ground<'_>,
    anchor: u32,
    dropped: &BTreeSet<u32>,
) -> Result<Option<u32>, CannotWrite> {
    let own = ground.item(anchor)?.record;
    let items = &ground.session.items;
    let next = (anchor..)
        .zip(&items[anchor as usize..])
        .find(|(_, item)| item.record != own);
    Ok(next
        .filter(|(index, _)| !dropped.contains(index))
        .map(|(_, item)| item.record))
}

/// How many bytes of a line usually hold what it hangs on.
const LINK_HEAD: u64 = 256;

/// What a line hangs on, where its beginning says so.
fn parent_in_head(head: &[u8]) -> Option<Cow<'_, str>> {
    let mut parent = None;
    let walked = Cursor::new(head).object(|cursor, key| {
        if key == LINKS.parent.as_bytes() {
            parent = cursor.string()?;
        }
        Ok(())
    });
    // Most lines go on beyond their beginning.
    let is_line = walked.is_ok_and(|is_object| is_object)
        || walked.is_err_and(|fault| fault.kind == JsonErrorKind::End);
    parent.filter(|_| is_line).map(crate::json::display_text)
}

/// Gives every line whose line before it leaves the nearest one that stays.
fn close_over(
    ground: &mut Ground<'_>,
    gone: Option<&ListEdits>,
    joined: &BTreeSet<u32>,
    out: &mut Vec<Splice>,
) -> Result<(), CannotWrite> {
    let mut parents: HashMap<String, Option<String>> = HashMap::new();
    let count = crate::session::index_number(ground.session.records.len());
    for record in (0..count).filter(|record| gone.is_some_and(|edits| edits.drops(*record))) {
        let link = link_of(&ground.record(record)?, 0, &LINKS)?;
        parents.insert(
            link.id,
            Some(link.parent).filter(|parent| !parent.is_empty()),
        );
    }
    let mut bytes = Vec::new();
    for record in (0..count).filter(|record| {
        !gone.is_some_and(|edits| edits.drops(*record)) && !joined.contains(record)
    }) {
        let Some(span) = ground.record_span(record) else {
            continue;
        };
        ground
            .session
            .source
            .read_into(span.head(LINK_HEAD), &mut bytes)?;
        if parent_in_head(&bytes).is_some_and(|parent| !parents.contains_key(&*parent)) {
            continue;
        }
        ground.session.source.read_into(span, &mut bytes)?;
        if memchr::memmem::find(&bytes, b"\"parentUuid\"").is_none() {
            continue;
        }
        let Ok(link) = link_of(&bytes, 0, &LINKS) else {
            continue;
        };
        let (Some(at), true) = (link.parent_at, parents.contains_key(&link.parent)) else {
            continue;
        };
        let mut parent = Some(link.parent);
        let mut steps = 0;
        while let Some(above) = parent.as_ref().and_then(|parent| parents.get(parent)) {
            parent = above.clone();
            // A damaged log may link in a circle.
            steps += 1;
            if steps > parents.len() {
                parent = None;
            }
        }
        out.push(Splice {
            at: Span::within(span.start, at),
            with: parent
                .map_or(Value::Null, Value::from)
                .to_string()
                .into_bytes(),
        });
    }
    Ok(())
}

/// Gives the lines at which the chain breaks the nearest line before them as their parent. `links` are those of
/// all lines; each item comes with its line.
pub(super) fn join_broken(
    ground: &Ground<'_>,
    links: &[Link],
    items: &[(u32, u32)],
    out: &mut Vec<Splice>,
) -> Result<(), CannotWrite> {
    let parents: HashMap<&str, &str> = links
        .iter()
        .filter(|link| !link.id.is_empty())
        .map(|link| (link.id.as_str(), link.parent.as_str()))
        .collect();
    for (item, last) in items {
        let last = *last as usize;
        // The line that breaks the chain may hold no item.
        let broken = (0..=last).rev().find(|record| {
            let parent = links[*record].parent.as_str();
            !parent.is_empty() && !parents.contains_key(parent)
        });
        let Some((broken, at)) = broken.and_then(|at| Some((at, links[at].parent_at.clone()?)))
        else {
            return Err(CannotWrite::NoPlace(*item));
        };
        let may_lead = |link: &&Link| {
            !link.id.is_empty()
                && link.is_side == links[broken].is_side
                && !leads_to(&parents, &link.id, &links[broken].id)
        };
        let before = links[..broken].iter().rev().find(may_lead);
        let before = before.ok_or(CannotWrite::NoPlace(*item))?;
        let base = ground
            .record_span(crate::session::index_number(broken))
            .unwrap_or_default()
            .start;
        out.push(Splice::new(
            Span::within(base, at),
            quoted(&before.id).into_bytes(),
        ));
    }
    Ok(())
}

/// Whether the way up from a line passes another one.
fn leads_to(parents: &HashMap<&str, &str>, from: &str, to: &str) -> bool {
    let mut at = Some(from);
    for _ in 0..=parents.len() {
        match at {
            Some(id) if id == to => return true,
            Some(id) => at = parents.get(id).copied(),
            None => return false,
        }
    }
    true
}

/// How a line hangs in the chain.
#[derive(Debug, Default)]
pub(super) struct Link {
    pub(super) id: String,
    pub(super) parent: String,
    pub(super) parent_at: Option<std::ops::Range<usize>>,
    /// Whether it is a sub-agent's.
    is_side: bool,
}

/// How the object at a place hangs in the chain.
pub(super) fn link_of(bytes: &[u8], at: usize, links: &Links) -> Result<Link, CannotWrite> {
    let mut link = Link::default();
    Cursor::at(bytes, at).object(|cursor, key| {
        cursor.peek();
        let text =
            |raw: Option<&[u8]>| crate::json::display_text(raw.unwrap_or_default()).into_owned();
        match key {
            _ if key == links.id.as_bytes() => link.id = text(cursor.string()?),
            b"isSidechain" => link.is_side = cursor.is_true()?,
            _ if key == links.parent.as_bytes() => {
                let start = cursor.position();
                link.parent = text(cursor.string()?);
                link.parent_at = Some(start..cursor.position());
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(link)
}

/// What a new line takes over from its neighbour: members as they stand.
fn shared_members(bytes: &[u8]) -> Result<(Vec<String>, Option<String>), CannotWrite> {
    let (mut shared, mut time) = (vec![None; SHARED.len()], None);
    Cursor::new(bytes).object(|cursor, key| {
        let raw = String::from_utf8_lossy(cursor.raw()?).into_owned();
        if let Some(at) = SHARED.iter().position(|known| known.as_bytes() == key) {
            shared[at] = Some(format!("{}:{raw},", quoted(SHARED[at])));
        } else if key == b"timestamp" {
            time = Some(raw);
        }
        Ok(())
    })?;
    Ok((shared.into_iter().flatten().collect(), time))
}

/// A line of its own for a message.
fn line(
    neighbour: &[u8],
    (parent, id): (&str, &str),
    kind: Option<&str>,
    caller: Option<&str>,
    message: &str,
) -> Result<String, CannotWrite> {
    let (shared, time) = shared_members(neighbour)?;
    let parent = if parent.is_empty() {
        "null".to_owned()
    } else {
        quoted(parent)
    };
    let reply = text_of_reply(message).map(|text| synthetic_reply(&text, id));
    let own_kind = if reply.is_some() { "assistant" } else { "user" };
    let kind = kind.unwrap_or(own_kind);
    let message = reply.as_deref().unwrap_or(message);
    let mut line = format!(r#"{{"parentUuid":{parent},"#) + &shared.concat();
    line += &format!(
        r#""type":"{kind}","message":{message},"uuid":{}"#,
        quoted(id)
    );
    if let Some(time) = time {
        line += &format!(r#","timestamp":{time}"#);
    }
    if let Some(caller) = caller {
        line += &format!(r#","sourceToolAssistantUUID":{}"#, quoted(caller));
    }
    Ok(line + "}")
}

/// The text of a drafted message, if it is the model's.
fn text_of_reply(message: &str) -> Option<String> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_reply = message.get("role")?.as_str()? == "assistant";
    let text = message.get("content")?.as_str()?;
    is_reply.then(|| text.to_owned())
}

/// What Claude Code writes into the replies that it makes up itself: no model, a list of blocks, an end.
fn synthetic_reply(text: &str, id: &str) -> String {
    serde_json::json!({
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
    })
    .to_string()
}

/// An id in the form of a random UUID (RFC 9562, version 4), the same for the same seed: a take reads alike
/// each time it is made.
pub(super) fn new_id(seed: &str) -> String {
    let hash = |start: u64| {
        seed.bytes().fold(start, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    };
    let (high, low) = (hash(0xcbf2_9ce4_8422_2325), hash(0x6c62_272e_07bb_0142));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | ((low >> 48) & 0x3fff),
        low & 0xffff_ffff_ffff
    )
}
