//! From histories to the faces: what a take changes, item by item, for the proposal and for the comparison.

use super::comparison::ItemText;
use super::proposal::{Change, Fate};
use crate::json::complete;
use crate::session::{self, Session};
use crate::tui::state::preview::tool_of;

/// Bytes of an item that are read; what stands behind them is not compared.
const LOOK: u64 = 256 * 1024;
/// Most items that are shown one by one.
const SHOWN: usize = 100;

/// An item of a session as it is compared.
pub fn item_text(session: &Session, index: usize) -> Option<ItemText> {
    let item = session.items.get(index)?;
    let head = item.span.head(LOOK);
    let text = match session.source.read(head) {
        Ok(bytes) if head.len() < item.span.len() => complete(&bytes),
        Ok(bytes) => bytes,
        // A text that says why stands where the item cannot be read.
        Err(error) => error.to_string().into_bytes(),
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    Some(ItemText {
        kind: item.kind,
        tool: tool_of(session, index).to_owned(),
        text,
    })
}

/// What leads from one history to the other, for the proposal: the changes, and how many more there are. `compared` is
/// what [`session::compare`] says. An item that goes here and comes there as it was has moved.
pub fn changes(
    before: &Session,
    after: &Session,
    compared: &[session::Change],
) -> (Vec<Change>, usize) {
    let mut changes = Vec::new();
    let mut more = 0;
    for change in compared {
        let (old, new) = match change {
            session::Change::Same { .. } => continue,
            session::Change::Changed { before, after } => (Some(*before), Some(*after)),
            _ if changes.len() >= SHOWN => {
                more += 1;
                continue;
            }
            session::Change::Removed { before } => (Some(*before), None),
            session::Change::Added { after } => (None, Some(*after)),
        };
        let read = |session, at: Option<usize>| at.and_then(|at| item_text(session, at));
        let (was, is) = (read(before, old), read(after, new));
        let fate = match (&was, &is) {
            (Some(_), Some(_)) => Fate::Changed,
            (Some(_), None) => Fate::Removed,
            _ => Fate::Added,
        };
        let text = |side: &Option<ItemText>| side.as_ref().map_or("", |item| &item.text).to_owned();
        let (before_text, after_text) = (text(&was), text(&is));
        let Some(item) = was.or(is) else { continue };
        changes.push(Change {
            fate,
            number: old.or(new).map(|at| at + 1),
            kind: item.kind,
            tool: item.tool,
            before: before_text,
            after: after_text,
        });
    }
    join_moves(&mut changes);
    (changes, more)
}

/// Makes one change of an item that goes here and comes there.
fn join_moves(changes: &mut Vec<Change>) {
    let mut at = 0;
    while at < changes.len() {
        let comes = changes[at].fate == Fate::Removed;
        let to = changes.iter().position(|other| {
            comes && other.fate == Fate::Added && other.after == changes[at].before
        });
        let place = to.and_then(|to| changes[to].number);
        if let (Some(to), Some(place)) = (to, place) {
            changes[at].fate = Fate::Moved(place);
            changes[at].after = changes[at].before.clone();
            changes.remove(to);
            at -= usize::from(to < at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Change as Compared;
    use crate::session::Kind;
    use crate::tui::state::testing::session;

    const CALL: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"serch","arguments":"{}"}}]}"#;
    const OUTPUT: &str = r#"{"role":"tool","tool_call_id":"c1","content":"no such tool"}"#;
    const USER: &str = r#"{"role":"user","content":"hello"}"#;

    #[test]
    fn changed_added_and_moved_items_are_told_apart() {
        let before = session(&format!("[{USER},{CALL},{USER},{OUTPUT}]"));
        let renamed = CALL.replace("serch", "search");
        let after = session(&format!("[{USER},{renamed},{OUTPUT},{USER}]"));
        let compared = [
            Compared::Same {
                before: 0..1,
                after: 0..1,
            },
            Compared::Changed {
                before: 1,
                after: 1,
            },
            Compared::Added { after: 2 },
            Compared::Same {
                before: 2..3,
                after: 3..4,
            },
            Compared::Removed { before: 3 },
        ];
        let (changes, more) = changes(&before, &after, &compared);
        let told: Vec<_> = changes
            .iter()
            .map(|change| (change.fate, change.number, change.kind, &change.tool[..]))
            .collect();
        let expected = [
            (Fate::Changed, Some(2), Kind::Call, "serch"),
            (Fate::Moved(3), Some(4), Kind::Output, "serch"),
        ];
        assert_eq!((&told[..], more), (&expected[..], 0));
        assert!(changes[0].after.contains("search"));
    }

    #[test]
    fn of_very_many_that_leave_only_some_are_read() {
        let before = session(&format!("[{}]", vec![USER; 300].join(",")));
        let after = session(&format!("[{USER}]"));
        let compared: Vec<_> = (0..300)
            .map(|before| Compared::Removed { before })
            .collect();
        let (changes, more) = changes(&before, &after, &compared);
        assert_eq!((changes.len(), more), (SHOWN, 300 - SHOWN));
    }
}
