//! What planned edits would make of each item, before any of it is done.

use super::proposal::{Fate, ProposedChange};
use retake_core::actions::with_open_arguments;
use retake_core::formats::{lower, new_message};
use retake_core::session::{Edit, Item, Kind, MessageRole, Patch, Session};
use retake_core::wire::write::draft_output;

/// Most items that are shown of those that leave the history together.
const READ: u32 = 3;

/// The items that edits touch, and how many more leave the history than are listed.
pub fn changes_of(session: &Session, edits: &[Edit]) -> (Vec<ProposedChange>, usize) {
    let (mut changes, mut more) = (Vec::new(), 0);
    for edit in edits {
        match edit {
            Edit::Rewrite { item, patches } => changes.extend(rewritten(session, *item, patches)),
            Edit::Drop { item } => changes.extend(change(session, *item, Fate::Removed, "")),
            Edit::Move { output, call } => {
                let fate = Fate::Moved(*call as usize + 2);
                changes.extend(change(session, *output, fate, ""));
            }
            Edit::Degrade { item, text } => {
                let own = session.items.get(*item as usize);
                changes.extend(own.and_then(|own| {
                    let after = new_message(session, own, MessageRole::User, text);
                    change(session, *item, Fate::Changed, &after)
                }));
            }
            Edit::Answer {
                call,
                text,
                is_error,
            } => {
                changes.extend(answered(session, *call, text, *is_error));
            }
            Edit::Say { after, voice, text } => {
                let kind = match voice {
                    MessageRole::User => Kind::User,
                    MessageRole::Assistant => Kind::Assistant,
                };
                let beside = session.items.get(*after as usize);
                changes.extend(
                    beside
                        .map(|beside| added(kind, "", new_message(session, beside, *voice, text))),
                );
            }
            Edit::Insert { element, .. } => changes.push(added(Kind::Call, "", element.clone())),
            Edit::Extend { items } => {
                let kind = Kind::Other;
                changes.extend(items.iter().map(|item| added(kind, "", item.clone())));
            }
            Edit::Relink { item } => changes.extend(relinked(session, *item)),
            Edit::Cut { from } => {
                let end = retake_core::session::index_number(session.items.len());
                let listed = end.min(from.saturating_add(READ));
                changes.extend(
                    (*from..listed).filter_map(|item| change(session, item, Fate::Removed, "")),
                );
                more += (end - listed) as usize;
            }
        }
    }
    // What comes or changes is looked at first; much may leave.
    changes.sort_by_key(|change| change.fate == Fate::Removed);
    (changes, more)
}

/// The JSON of the items that edits make or change, for a look at what the provider will get.
pub fn result_of(session: &Session, edits: &[Edit]) -> String {
    let (changes, _) = changes_of(session, edits);
    let made = changes.into_iter().map(|change| change.after);
    let made: Vec<String> = made.filter(|text| !text.is_empty()).collect();
    made.join("\n")
}

/// Opens the arguments of calls that are a text inside JSON, to be compared line by line. Where only one side
/// can be opened, both stay as they are.
pub fn open_arguments(session: &Session, changes: &mut [ProposedChange]) {
    for change in changes {
        let index = change.number.and_then(|number| number.checked_sub(1));
        let Some(item) = index.and_then(|index| session.items.get(index)) else {
            continue;
        };
        let open = |text: &str| match text {
            "" => Some(String::new()),
            text => with_open_arguments(item, text),
        };
        if let (Some(before), Some(after)) = (open(&change.before), open(&change.after)) {
            (change.before, change.after) = (before, after);
        }
    }
}

fn text_of(session: &Session, item: &Item) -> String {
    match session.bytes(item) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => error.to_string(),
    }
}

fn change(session: &Session, index: u32, fate: Fate, after: &str) -> Option<ProposedChange> {
    let item = session.items.get(index as usize)?;
    Some(ProposedChange {
        fate,
        number: Some(index as usize + 1),
        kind: item.kind,
        tool: session.name(item).to_owned(),
        before: text_of(session, item),
        after: after.to_owned(),
    })
}

fn rewritten(session: &Session, index: u32, patches: &[Patch]) -> Option<ProposedChange> {
    let item = session.items.get(index as usize)?;
    let before = session.bytes(item).ok()?;
    let mut after = before.clone();
    for patch in patches.iter().rev() {
        if patch.at.end <= after.len() {
            after.splice(patch.at.clone(), patch.with.iter().copied());
        }
    }
    let after = String::from_utf8_lossy(&after).into_owned();
    change(session, index, Fate::Changed, &after)
}

/// The entry that gets another parent: the line around the item, or the one before it.
fn relinked(session: &Session, index: u32) -> Option<ProposedChange> {
    let splices = lower(session, &[Edit::Relink { item: index }]).ok()?;
    let splice = splices.first()?;
    let mut records = session.records.iter();
    let span = records
        .find(|record| record.span.contains(splice.at.start))?
        .span;
    let before = session.source.read(span).ok()?;
    let [from, to] = [splice.at.start, splice.at.end].map(|at| (at - span.start) as usize);
    let mut after = before.clone();
    after.splice(from..to, splice.with.iter().copied());
    let [before, after] = [before, after].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let changed = change(session, index, Fate::Changed, &after)?;
    Some(ProposedChange { before, ..changed })
}

fn answered(session: &Session, call: u32, text: &str, is_error: bool) -> Option<ProposedChange> {
    let item = session.items.get(call as usize)?;
    let name = session.name(item);
    let id = item
        .call_id
        .span(item.span)
        .and_then(|span| session.source.read(span).ok());
    let id = String::from_utf8_lossy(&id.unwrap_or_default()).into_owned();
    let output = draft_output(item, &id, name, text, is_error)?;
    Some(added(Kind::Output, name, output))
}

fn added(kind: Kind, tool: &str, after: String) -> ProposedChange {
    ProposedChange {
        fate: Fate::Added,
        number: None,
        kind,
        tool: tool.to_owned(),
        before: String::new(),
        after,
    }
}
