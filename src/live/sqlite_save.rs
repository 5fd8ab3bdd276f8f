//! Writes the rows of a take into a copy of the database that they come from. The database itself is only read.
//!
//! Rows that stay keep their ids, and new text takes the row in whose place it is; a row that comes in the middle
//! makes the rows after it new ones, because the SDK reads them in the order of their ids. Where a table of branches
//! lists rows by their ids, nothing can come in or go.

use super::files::is_open_elsewhere;
use super::sqlite::{TableText, log_of, open, quoted, rows_of, tables_with};
use super::{Base, DatabaseError};
use retake_core::formats::agents_sqlite::MessageRow;
use retake_core::session::{Rope, SourceError};
use retake_core::wire::write::Object;
use rusqlite::backup::Backup;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Transaction, params};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

/// Why a take of a database could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveDatabaseError {
    #[error("the recording is not a database")]
    NoDatabase,
    #[error(
        "rows of this database are listed by branches ({0}): none can come in or go; save the take as items"
    )]
    Branches(String),
    #[error("the rows stand in {0} tables; save the take as items")]
    ManyTables(usize),
    /// A new row takes its owner and time from a row of its session.
    #[error("nothing is left of a session but new rows; save the take as items")]
    NoNeighbour,
    #[error("another process has the database open: end it first; nothing was changed")]
    Open,
    #[error("the database has changed since it was read: do it again; nothing was changed")]
    Changed,
    #[error("cannot write the database: {0}")]
    Refused(#[from] rusqlite::Error),
    #[error(transparent)]
    Read(#[from] DatabaseError),
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// The bytes of the database file that holds a take.
pub(crate) fn database_of(base: &Base, rope: &Rope) -> Result<Vec<u8>, SaveDatabaseError> {
    if let Some((tables, text)) = base.tables(rope)? {
        return copy_of(&tables.path, |copy| write_tables(copy, tables, &text));
    }
    let Some((from, rows)) = base.rows(rope)? else {
        return Err(SaveDatabaseError::NoDatabase);
    };
    let recorded = rows_of(from)?;
    copy_of(from, |copy| write_rows(copy, &recorded, &rows))
}

/// The bytes of a copy of a database with changes.
fn copy_of(
    from: &Path,
    write: impl FnOnce(&Transaction<'_>) -> Result<(), SaveDatabaseError>,
) -> Result<Vec<u8>, SaveDatabaseError> {
    let source = open(from, false)?;
    let mut copy = Connection::open_in_memory()?;
    Backup::new(&source, &mut copy)?.run_to_completion(1024, Duration::ZERO, None)?;
    let transaction = copy.transaction()?;
    write(&transaction)?;
    transaction.commit()?;
    Ok(copy.serialize("main")?.to_vec())
}

/// Keeps all others from writing to a database while a file with a take takes its place.
pub(crate) struct DatabaseLock {
    /// Ends its transaction when it is dropped.
    _connection: Connection,
}

impl DatabaseLock {
    /// Locks the database of a recording that was not written to since it was read. What a process that is gone
    /// left in the write-ahead log is moved into the database first: that log fits no other file.
    pub(crate) fn new(base: &Base, path: &Path) -> Result<Self, SaveDatabaseError> {
        // It would go on with the file whose place is taken, and what it writes would be lost.
        if is_open_elsewhere(path) {
            return Err(SaveDatabaseError::Open);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::ZERO)?;
        let log = log_of(path, "-wal").metadata();
        // Where the system does not say who has it open, a log that holds something is the only sign of life.
        let knows_others = Path::new("/proc/self/fd").exists();
        if knows_others && log.is_ok_and(|log| log.len() > 0) {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let is_same = match base.tables(base.rope())? {
            Some((tables, text)) => tables.read_again()?.text == text,
            None => base.rows(base.rope())?.map(|(_, rows)| rows) == Some(rows_of(path)?),
        };
        if !is_same {
            return Err(SaveDatabaseError::Changed);
        }
        Ok(Self {
            _connection: connection,
        })
    }
}

type Owner<'a> = (&'a str, &'a str);

fn write_rows(
    transaction: &Transaction<'_>,
    recorded: &[MessageRow],
    rows: &[MessageRow],
) -> Result<(), SaveDatabaseError> {
    let tables = tables_with(transaction, &["session_id", "message_data"])?;
    let [table] = &tables[..] else {
        return Err(SaveDatabaseError::ManyTables(tables.len()));
    };
    let branches = tables_with(transaction, &["session_id", "message_id", "branch_id"])?;
    let before: HashMap<(Owner<'_>, i64), &[u8]> = recorded
        .iter()
        .map(|row| (((&*row.session, &*row.branch), row.id), &row.data[..]))
        .collect();
    let kept: HashSet<(Owner<'_>, i64)> = rows
        .iter()
        .map(|row| ((&*row.session, &*row.branch), row.id))
        .collect();
    let comes_or_goes =
        rows.iter().any(|row| row.id == 0) || before.keys().any(|key| !kept.contains(key));
    if let (true, Some(branches)) = (comes_or_goes, branches.first()) {
        return Err(SaveDatabaseError::Branches(branches.clone()));
    }
    let table = Table::new(transaction, table)?;
    for (_, id) in before.keys().filter(|key| !kept.contains(*key)) {
        table.delete(*id)?;
    }
    let mut sessions: Vec<&[MessageRow]> = rows
        .chunk_by(|a, b| (&a.session, &a.branch) == (&b.session, &b.branch))
        .collect();
    sessions.sort_by_key(|session| session.first().map(|row| row.id));
    for session in sessions {
        let mut is_shifted = false;
        let mut last = None;
        for row in session {
            let owner = (&*row.session, &*row.branch);
            match row.id {
                0 => {
                    is_shifted = true;
                    let neighbour = last.or_else(|| kept_row(session));
                    let neighbour = neighbour.ok_or(SaveDatabaseError::NoNeighbour)?;
                    last = Some(table.copy_as(neighbour, &row.data)?);
                }
                id if is_shifted => {
                    let new = table.copy_as(id, &row.data)?;
                    table.delete(id)?;
                    last = Some(new);
                }
                id => {
                    if before
                        .get(&(owner, id))
                        .is_some_and(|data| *data != row.data)
                    {
                        table.update(id, &row.data)?;
                    }
                    last = Some(id);
                }
            }
        }
    }
    Ok(())
}

/// Writes the rows of a text that differ from those that were read.
fn write_tables(
    transaction: &Transaction<'_>,
    tables: &TableText,
    text: &str,
) -> Result<(), SaveDatabaseError> {
    let edited = tables.edited;
    let before: Vec<Object<'_>> = tables.rows_of(&tables.text).collect();
    let after: Vec<Object<'_>> = tables.rows_of(text).collect();
    let number = |row: &Object<'_>| row.number(edited.number);
    let kept: HashSet<u64> = after.iter().filter_map(number).collect();
    let table = Table::new(transaction, edited.table)?;
    let mut recorded = HashMap::new();
    for row in &before {
        let id = number(row).ok_or(SaveDatabaseError::NoDatabase)?;
        match kept.contains(&id) {
            true => drop(recorded.insert(id, row)),
            false => table.delete(row_id(id))?,
        }
    }
    let is_order = |key: &str| Some(key) == edited.order || key == "session_id";
    let place = |row: &Object<'_>| {
        let members = row.members().filter(|(key, _)| is_order(key));
        let members = members.map(|(key, value)| (key.to_owned(), value.to_owned()));
        members.collect::<Vec<_>>()
    };
    // Places in the order at which a row came in: those that follow there come after it by a new id.
    let mut shifted = Vec::new();
    for row in &after {
        let Some(id) = number(row) else {
            table.insert(row)?;
            shifted.push(place(row));
            continue;
        };
        let id_now = match shifted.contains(&place(row)) {
            true => {
                let new = table.copy(row_id(id))?;
                table.delete(row_id(id))?;
                new
            }
            false => row_id(id),
        };
        if let Some(old) = recorded.get(&id) {
            table.set(id_now, old, row)?;
        }
    }
    Ok(())
}

fn row_id(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

/// What a column holds of which this is the JSON.
fn value_of(json: Option<&str>) -> Value {
    let Some(json) = json else {
        return Value::Null;
    };
    match serde_json::from_str(json) {
        Ok(serde_json::Value::String(text)) => Value::Text(text),
        Ok(serde_json::Value::Number(number)) => match number.as_i64() {
            Some(number) => Value::Integer(number),
            None => number.as_f64().map_or(Value::Null, Value::Real),
        },
        _ => Value::Text(json.to_owned()),
    }
}

/// A row of a session that was there before: it supplies owner and time if nothing is there
/// before a new row.
fn kept_row(session: &[MessageRow]) -> Option<i64> {
    session.iter().map(|row| row.id).find(|id| *id != 0)
}

/// The table of messages.
struct Table<'a> {
    transaction: &'a Transaction<'a>,
    name: String,
    /// The columns without the primary key: a copy of a row takes them over.
    columns: Vec<String>,
}

impl<'a> Table<'a> {
    fn new(transaction: &'a Transaction<'a>, name: &str) -> rusqlite::Result<Self> {
        let mut statement =
            transaction.prepare("SELECT name FROM pragma_table_info(?1) WHERE pk = 0")?;
        let columns = statement
            .query_map([name], |row| row.get::<_, String>(0))?
            .map(|column| column.map(|column| quoted(&column)))
            .collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(Self {
            transaction,
            name: quoted(name),
            columns,
        })
    }

    fn delete(&self, id: i64) -> rusqlite::Result<()> {
        let sql = format!("DELETE FROM {} WHERE rowid = ?1", self.name);
        self.transaction.execute(&sql, params![id]).map(|_| ())
    }

    fn update(&self, id: i64, data: &[u8]) -> rusqlite::Result<()> {
        let sql = format!(
            "UPDATE {} SET message_data = ?2 WHERE rowid = ?1",
            self.name
        );
        let data = String::from_utf8_lossy(data);
        self.transaction
            .execute(&sql, params![id, data])
            .map(|_| ())
    }

    /// Changes the columns in which two states of a row differ.
    fn set(&self, id: i64, old: &Object<'_>, new: &Object<'_>) -> rusqlite::Result<()> {
        let gone = old.members().filter(|(key, _)| !new.has(key));
        let keys = gone.chain(new.members()).map(|(key, _)| key);
        for key in keys.filter(|key| old.get(key) != new.get(key)) {
            let sql = format!(
                "UPDATE {} SET {} = ?2 WHERE rowid = ?1",
                self.name,
                quoted(key)
            );
            let value = value_of(new.get(key));
            self.transaction.execute(&sql, params![id, value])?;
        }
        Ok(())
    }

    /// A new row; what is no column of the table is left out.
    fn insert(&self, row: &Object<'_>) -> rusqlite::Result<()> {
        let own = |key: &str| self.columns.contains(&quoted(key));
        let (keys, values): (Vec<String>, Vec<Value>) = row
            .members()
            .filter(|(key, _)| own(key))
            .map(|(key, value)| (quoted(key), value_of(Some(value))))
            .unzip();
        let marks = vec!["?"; keys.len()].join(", ");
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({marks})",
            self.name,
            keys.join(", ")
        );
        let values = rusqlite::params_from_iter(values);
        self.transaction.execute(&sql, values).map(|_| ())
    }

    /// A copy of a row; gives its id.
    fn copy(&self, id: i64) -> rusqlite::Result<i64> {
        let columns = self.columns.join(", ");
        let name = &self.name;
        let sql =
            format!("INSERT INTO {name} ({columns}) SELECT {columns} FROM {name} WHERE rowid = ?1");
        self.transaction.execute(&sql, params![id])?;
        Ok(self.transaction.last_insert_rowid())
    }

    /// A copy of a row with other data; gives its id.
    fn copy_as(&self, id: i64, data: &[u8]) -> rusqlite::Result<i64> {
        let new = self.copy(id)?;
        self.update(new, data)?;
        Ok(new)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read_path};
    use retake_core::formats::lower;
    use retake_core::session::{Edit, Kind, Span, Splice};
    use std::path::Path;
    use std::sync::Arc;

    const ROWS: &str = r#"
        CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_data TEXT NOT NULL, created_at TEXT);
        INSERT INTO agent_messages (session_id, message_data, created_at) VALUES
        ('anna', '{"role":"user","content":"hi"}', 't1'),
        ('anna', '{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}', 't2'),
        ('bert', '{"role":"user","content":"hello"}', 't2'),
        ('anna', '{"role":"user",
"content":"and?"}', 't3');
    "#;

    fn kinds(path: &Path) -> Vec<(String, Vec<Kind>)> {
        let recording = read_path(path, &ReadOptions::default()).unwrap();
        let sessions = recording.sessions.iter();
        sessions
            .map(|session| {
                (
                    session.label.clone(),
                    session.items.iter().map(|item| item.kind).collect(),
                )
            })
            .collect()
    }

    fn saved(edits: &[Edit]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a.db"), folder.path().join("b.db"));
        Connection::open(&from)
            .unwrap()
            .execute_batch(ROWS)
            .unwrap();
        let recording = Arc::new(read_path(&from, &ReadOptions::default()).unwrap());
        let base = Base::new(recording.clone(), Some(&from)).unwrap();
        let splices = lower(&recording.sessions[0], edits).unwrap();
        let rope = Arc::new(base.rope().spliced(&splices));
        let read = base.read(&rope, &|_, _| ()).unwrap();
        std::fs::write(&to, database_of(&base, &rope).unwrap()).unwrap();
        let own = read.sessions.iter();
        let read: Vec<(String, Vec<Kind>)> = own
            .map(|session| {
                (
                    session.label.clone(),
                    session.items.iter().map(|item| item.kind).collect(),
                )
            })
            .collect();
        assert_eq!(
            read,
            kinds(&to),
            "a take reads like the file that it is saved as"
        );
        (folder, to)
    }

    #[test]
    fn an_answer_comes_in_behind_its_call() {
        let answer = Edit::Answer {
            call: 1,
            text: "no".to_owned(),
            is_error: true,
        };
        let (_folder, to) = saved(&[answer]);
        let anna = vec![Kind::User, Kind::Call, Kind::Output, Kind::User];
        assert_eq!(
            kinds(&to),
            [
                ("anna".to_owned(), anna),
                ("bert".to_owned(), vec![Kind::User])
            ]
        );
        let times: Vec<String> = Connection::open(&to)
            .unwrap()
            .prepare("SELECT created_at FROM agent_messages WHERE session_id = 'anna' ORDER BY id")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        assert_eq!(times, ["t1", "t2", "t2", "t3"]);
    }

    #[test]
    fn untouched_rows_keep_every_byte_also_line_ends_and_rows_that_say_nothing() {
        let odd = |path: &Path| -> Vec<(i64, Vec<u8>)> {
            let rows = rows_of(path).unwrap();
            rows.into_iter().map(|row| (row.id, row.data)).collect()
        };
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a.db"), folder.path().join("b.db"));
        let database = Connection::open(&from).unwrap();
        database.execute_batch(ROWS).unwrap();
        let texts = [
            "{\"role\":\"user\",\"content\":\"a line end behind it\"}\n",
            "",
            "{\"role\":\"user\",\n\n\"content\":\"a blank line in it\"}",
            "\n",
        ];
        for text in texts {
            let sql = "INSERT INTO agent_messages (session_id, message_data) VALUES ('carl', ?1)";
            database.execute(sql, [text]).unwrap();
        }
        let recording = Arc::new(read_path(&from, &ReadOptions::default()).unwrap());
        let base = Base::new(recording.clone(), Some(&from)).unwrap();
        let saved = |session: usize, edits: &[Edit]| {
            let splices = lower(&recording.sessions[session], edits).unwrap();
            let rope = Arc::new(base.rope().spliced(&splices));
            std::fs::write(&to, database_of(&base, &rope).unwrap()).unwrap();
            odd(&to)
        };
        let before = odd(&from);
        assert_eq!(saved(1, &[]), before);
        let without = saved(0, &[Edit::Drop { item: 1 }]);
        let rest = before.iter().filter(|(id, _)| *id != 2).cloned();
        assert_eq!(without, rest.collect::<Vec<_>>());
        // A row that goes leaves nothing of itself to the row before it.
        let without = saved(2, &[Edit::Drop { item: 0 }]);
        let rest = before.iter().filter(|(id, _)| *id != 5).cloned();
        assert_eq!(without, rest.collect::<Vec<_>>());
    }

    #[test]
    fn rows_go_and_the_others_keep_their_ids() {
        let (_folder, to) = saved(&[Edit::Drop { item: 1 }]);
        let ids: Vec<i64> = Connection::open(&to)
            .unwrap()
            .prepare("SELECT id FROM agent_messages ORDER BY id")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        assert_eq!(ids, [1, 3, 4]);
    }

    #[test]
    fn new_text_takes_the_row_of_the_item_in_whose_place_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a.db"), folder.path().join("b.db"));
        Connection::open(&from)
            .unwrap()
            .execute_batch(ROWS)
            .unwrap();
        let recording = Arc::new(read_path(&from, &ReadOptions::default()).unwrap());
        let base = Base::new(recording.clone(), Some(&from)).unwrap();
        let message = br#"{"role":"user","content":"another"}"#;
        for session in 0..2 {
            let items = &recording.sessions[session].items;
            let (first, last) = (items.first().unwrap(), items.last().unwrap());
            let at = Span {
                start: first.span.start,
                end: last.span.end,
            };
            let with = message.to_vec();
            let rope = Arc::new(base.rope().spliced(&[Splice { at, with }]));
            std::fs::write(&to, database_of(&base, &rope).unwrap()).unwrap();
            let mut expected = kinds(&from);
            expected[session].1 = vec![Kind::User];
            assert_eq!(kinds(&to), expected);
            let rows = rows_of(&to).unwrap();
            let row = rows.iter().find(|row| row.data == message).unwrap();
            assert_eq!(row.id, [1, 3][session]);
        }
    }
}
