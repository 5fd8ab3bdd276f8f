//! Writes the rows of a take into a copy of the database that they come from. The database itself is only read.
//!
//! Rows that stay keep their ids; a row that comes in the middle makes the rows after it new ones, because the
//! SDK reads them in the order of their ids. Where a table of branches lists rows by their ids, nothing can
//! come in or go.

use super::sqlite::{open, quoted, rows_of, tables_with};
use super::{Base, DatabaseError};
use retake_core::formats::agents_sqlite::Row;
use retake_core::session::{Rope, SourceError};
use rusqlite::backup::Backup;
use rusqlite::{Connection, Transaction, params};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// Why a take of a database could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveDatabaseError {
    #[error("the recording is no database")]
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
    #[error("cannot write the database: {0}")]
    Refused(#[from] rusqlite::Error),
    #[error(transparent)]
    Read(#[from] DatabaseError),
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// The bytes of the database file that holds a take.
pub(crate) fn database_of(base: &Base, rope: &Rope) -> Result<Vec<u8>, SaveDatabaseError> {
    let Some((from, rows)) = base.rows(rope)? else {
        return Err(SaveDatabaseError::NoDatabase);
    };
    let recorded = rows_of(from)?;
    let source = open(from, false)?;
    let mut copy = Connection::open_in_memory()?;
    Backup::new(&source, &mut copy)?.run_to_completion(1024, Duration::ZERO, None)?;
    let transaction = copy.transaction()?;
    write_rows(&transaction, &recorded, &rows)?;
    transaction.commit()?;
    Ok(copy.serialize("main")?.to_vec())
}

type Owner<'a> = (&'a str, &'a str);

fn write_rows(
    transaction: &Transaction<'_>,
    recorded: &[Row],
    rows: &[Row],
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
    let mut sessions: Vec<&[Row]> = rows
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

/// A row of a session that was there before: it supplies owner and time if nothing is there
/// before a new row.
fn kept_row(session: &[Row]) -> Option<i64> {
    session.iter().map(|row| row.id).find(|id| *id != 0)
}

/// The table of messages.
struct Table<'a> {
    transaction: &'a Transaction<'a>,
    name: String,
    /// The columns that a copy of a row takes over as they are.
    columns: Vec<String>,
}

impl<'a> Table<'a> {
    fn new(transaction: &'a Transaction<'a>, name: &str) -> rusqlite::Result<Self> {
        let mut statement = transaction.prepare(
            "SELECT name FROM pragma_table_info(?1) WHERE pk = 0 AND name <> 'message_data'",
        )?;
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

    /// A new row with other data and everything else from a row that is there; gives its id.
    fn copy_as(&self, id: i64, data: &[u8]) -> rusqlite::Result<i64> {
        let columns = self.columns.join(", ");
        let sql = format!(
            "INSERT INTO {name} ({columns}, message_data) SELECT {columns}, ?2 FROM {name} WHERE rowid = ?1",
            name = self.name
        );
        let data = String::from_utf8_lossy(data);
        self.transaction.execute(&sql, params![id, data])?;
        Ok(self.transaction.last_insert_rowid())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read_path};
    use retake_core::formats::lower;
    use retake_core::session::{Edit, Kind};
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
}
