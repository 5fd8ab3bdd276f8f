//! Session databases of the openai-agents SDK (`SQLiteSession`, `AdvancedSQLiteSession`): rows of Responses
//! items as JSON text.
//!
//! Here is what rows mean; `runtime` reads them. Items stand in a buffer of their own, one row a line, because
//! a database has no bytes that a span could point to; the number of a record is the id of its row.

use super::{Contents, Format, Reading, Sample, assemble_plain};
use crate::json::{Cursor, skip_whitespace};
use crate::session::{Fact, Fragment, Kind, ProblemKind, Source, SourceResult, Span};
use crate::wire::{Fields, responses};
use std::collections::HashSet;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "agents-sqlite",
    title: "openai-agents session database",
    sniff: |sample| {
        if sample.bytes.starts_with(MAGIC) {
            99
        } else {
            0
        }
    },
    reading: Reading::Database,
};

/// Whether a text is a database that declares a table of this name, as far as its head tells.
pub(super) fn declares(sample: &Sample<'_>, table: &str) -> bool {
    let quotes = ["", "\"", "`", "'"];
    let spelled = |quote: &&str| {
        let declared = format!("{quote}{table}{quote}");
        let begins = [format!("TABLE {declared}"), format!("EXISTS {declared}")];
        begins.iter().any(|begin| sample.mentions(begin))
    };
    sample.bytes.starts_with(MAGIC) && quotes.iter().any(spelled)
}

/// What every SQLite database begins with (SQLite file format, section 1.3).
pub const MAGIC: &[u8] = b"SQLite format 3\0";

/// One row of the table of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// The session that it belongs to.
    pub session: String,
    /// The branch of the session; empty for the main one.
    pub branch: String,
    pub id: i64,
    /// What is in it: JSON of one item.
    pub data: Vec<u8>,
}

/// Builds the sessions of a database from its rows, which stand in the order of the
/// history, session after session.
pub fn sessions_of(rows: &[MessageRow]) -> SourceResult<Contents> {
    let mut out = Fragment::default();
    let mut buffer: Vec<u8> = Vec::new();
    let mut starts = Vec::with_capacity(rows.len());
    for row in rows {
        starts.push(buffer.len());
        buffer.extend_from_slice(&row.data);
        buffer.push(b'\n');
    }
    let mut inactive = HashSet::new();
    let mut current = None;
    for (row, start) in rows.iter().zip(starts) {
        let owner = (&row.session, &row.branch);
        if current.replace(owner) != Some(owner) {
            let label = label_of(row);
            if !row.branch.is_empty() {
                inactive.insert(label.clone());
            }
            out.note(Fact::NextSession);
            out.note(Fact::Label(label));
        }
        read_row(row, &buffer, start..start + row.data.len(), &mut out);
    }
    let problems = std::mem::take(&mut out.problems);
    let source: Arc<dyn Source> = Arc::new(buffer);
    let mut contents = assemble_plain(FORMAT.id, FORMAT.dialect(), out, &source)?;
    for session in &mut contents.sessions {
        session.active = !inactive.contains(&session.label);
    }
    Ok(contents.after(problems))
}

fn label_of(row: &MessageRow) -> String {
    if row.branch.is_empty() {
        row.session.clone()
    } else {
        format!("{}, branch {}", row.session, row.branch)
    }
}

fn read_row(row: &MessageRow, buffer: &[u8], range: std::ops::Range<usize>, out: &mut Fragment) {
    let span = Span::within(0, range.clone());
    out.begin_record(span);
    if let Some(last) = out.records.last_mut() {
        last.number = u64::try_from(row.id).unwrap_or_default();
    }
    let reason = match read_item(&buffer[..range.end], range.start, out) {
        Ok(()) => return out.report_bad_strings(buffer, range, 0),
        Err(reason) => reason,
    };
    let place = format!("row {} of session {}: {reason}", row.id, label_of(row));
    out.report(span.start, ProblemKind::Undecodable(place));
    out.push(Kind::Unreadable, None, span);
}

/// Reads the item of a row, or says why it is none.
fn read_item(bytes: &[u8], at: usize, out: &mut Fragment) -> Result<(), String> {
    let mut cursor = Cursor::at(bytes, at);
    if cursor.peek() != Some(b'{') {
        return Err("no JSON object".to_owned());
    }
    let mut is_encrypted = false;
    cursor
        .clone()
        .object(|_, key| {
            is_encrypted |= key == b"__enc__";
            Ok(())
        })
        .map_err(|fault| format!("not JSON: {}", fault.kind))?;
    if is_encrypted {
        return Err("encrypted by EncryptedSession; its key is not in the file".to_owned());
    }
    let fields = Fields::read(&mut cursor).map_err(|fault| format!("not JSON: {}", fault.kind))?;
    if skip_whitespace(bytes, cursor.position()) < bytes.len() {
        return Err("text after the JSON object".to_owned());
    }
    responses::push_item(bytes, 0, &fields, out);
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn row(session: &str, branch: &str, id: i64, data: &str) -> MessageRow {
        MessageRow {
            session: session.to_owned(),
            branch: branch.to_owned(),
            id,
            data: data.as_bytes().to_vec(),
        }
    }

    #[test]
    fn each_session_has_its_items_and_its_branches() {
        let rows = [
            row("anna", "", 1, r#"{"role":"user","content":"hi"}"#),
            row(
                "anna",
                "",
                4,
                r#"{"type":"message","role":"assistant","content":[]}"#,
            ),
            row("anna", "b2", 1, r#"{"role":"user","content":"hi"}"#),
            row("ben", "", 2, r#"{"role":"user","content":"ho"}"#),
        ];
        let contents = sessions_of(&rows).unwrap();
        let told = contents
            .sessions
            .iter()
            .map(|session| (session.label.as_str(), session.items.len(), session.active))
            .collect::<Vec<_>>();
        let expected = [
            ("anna", 2, true),
            ("anna, branch b2", 1, false),
            ("ben", 1, true),
        ];
        assert_eq!(told, expected);
        let item = contents.sessions[0].items[1];
        assert_eq!(contents.sessions[0].records[item.record as usize].number, 4);
    }

    #[test]
    fn a_row_that_is_no_item_costs_itself() {
        let rows = [
            row(
                "a",
                "",
                1,
                r#"{"__enc__":1,"v":1,"kid":"x","payload":"gAAA"}"#,
            ),
            row("a", "", 2, r#"{"role":"us"#),
            row("a", "", 3, r#"{"role":"user","content":"hi"} {}"#),
            row("a", "", 4, r#"{"role":"user","content":"hi"}"#),
        ];
        let contents = sessions_of(&rows).unwrap();
        let kinds = contents.sessions[0].items.iter().map(|item| item.kind);
        let unreadable = Kind::Unreadable;
        assert_eq!(
            kinds.collect::<Vec<_>>(),
            [unreadable, unreadable, unreadable, Kind::User]
        );
        assert_eq!(contents.problems.len(), 3);
        assert!(contents.problems[0].kind.to_string().contains("row 1"));
    }
}
