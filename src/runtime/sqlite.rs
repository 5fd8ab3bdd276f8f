//! Reads the rows of an openai-agents session database, without ever writing to it.
//!
//! The SDK lets its users name the tables, so they are found by their columns. A live writer (WAL) does not disturb: a read-only
//! connection sees its last commit. Where the folder cannot be written, SQLite cannot open a WAL database as usual; it is then read
//! as it lies, which is right as long as nobody writes.

use crate::formats::Contents;
use crate::formats::agents_sqlite::{Row, sessions_of};
use crate::session::SourceError;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// How long to wait for a writer that holds the database.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why a database could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// No table looks like one of the SDK.
    #[error(
        "an SQLite database, but none of an openai-agents session: no table has the columns session_id and message_data"
    )]
    NoMessages,
    /// SQLite refused.
    #[error("cannot read the database: {0}")]
    Refused(#[from] rusqlite::Error),
    /// The rows could not be read back from the buffer they were put in.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Reads the sessions of a database file.
pub fn read_database(path: &Path) -> Result<Contents, DatabaseError> {
    Ok(sessions_of(&rows_of(path)?)?)
}

/// Reads the rows of a database file, session after session.
pub(super) fn rows_of(path: &Path) -> Result<Vec<Row>, DatabaseError> {
    match open(path, false).and_then(|connection| read_rows(&connection)) {
        Err(DatabaseError::Refused(error)) if is_about_writing(&error) => {
            read_rows(&open(path, true)?)
        }
        other => other,
    }
}

/// Whether SQLite wanted to create the files of the write-ahead log and could not.
fn is_about_writing(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
    )
}

pub(super) fn open(path: &Path, immutable: bool) -> Result<Connection, DatabaseError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri_of(path, immutable), flags)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

/// `file:...?mode=ro`; every byte that could mean something in a URI is written as a number.
fn uri_of(path: &Path, immutable: bool) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri.push_str(if immutable {
        "?mode=ro&immutable=1"
    } else {
        "?mode=ro"
    });
    uri
}

fn read_rows(connection: &Connection) -> Result<Vec<Row>, DatabaseError> {
    let tables = tables_with(connection, &["session_id", "message_data"])?;
    if tables.is_empty() {
        return Err(DatabaseError::NoMessages);
    }
    let structures = tables_with(connection, &["session_id", "message_id", "branch_id"])?;
    let mut rows = Vec::new();
    for table in &tables {
        match structures.first() {
            Some(structure) => read_branches(connection, table, structure, &mut rows)?,
            None => read_table(connection, table, &mut rows)?,
        }
    }
    Ok(rows)
}

/// The tables that have all of these columns, by name.
pub(super) fn tables_with(
    connection: &Connection,
    columns: &[&str],
) -> rusqlite::Result<Vec<String>> {
    let mut tables =
        connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")?;
    let names = tables
        .query_map([], |row| row.get::<_, String>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let mut found = Vec::new();
    for name in names {
        let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let present = statement
            .query_map([&name], |row| row.get::<_, String>(0))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        if columns
            .iter()
            .all(|column| present.iter().any(|name| name == column))
        {
            found.push(name);
        }
    }
    Ok(found)
}

/// `SQLiteSession`: sessions in the order in which they began.
fn read_table(connection: &Connection, table: &str, rows: &mut Vec<Row>) -> rusqlite::Result<()> {
    let table = quoted(table);
    collect(
        connection,
        &format!(
            "SELECT m.session_id, '', m.rowid, m.message_data FROM {table} m
             JOIN (SELECT session_id AS id, MIN(rowid) AS began FROM {table} GROUP BY session_id) s
             ON m.session_id IS s.id ORDER BY s.began, m.rowid"
        ),
        rows,
    )
}

/// `AdvancedSQLiteSession`: a branch lists its messages by id, so the ones before the fork are listed in several branches.
/// Messages that no branch lists belong to the main one.
fn read_branches(
    connection: &Connection,
    table: &str,
    structure: &str,
    rows: &mut Vec<Row>,
) -> rusqlite::Result<()> {
    let (table, structure) = (quoted(table), quoted(structure));
    collect(
        connection,
        &format!(
            "WITH listed AS (
               SELECT session_id, CASE branch_id WHEN 'main' THEN '' ELSE branch_id END AS branch, message_id, rowid AS place
               FROM {structure}
               UNION ALL
               SELECT m.session_id, '', m.rowid, 0 FROM {table} m
               WHERE NOT EXISTS (SELECT 1 FROM {structure} s WHERE s.message_id = m.rowid)
             )
             SELECT m.session_id, l.branch, m.rowid, m.message_data FROM {table} m
             JOIN listed l ON l.message_id = m.rowid AND l.session_id IS m.session_id
             JOIN (SELECT session_id AS id, MIN(rowid) AS began FROM {table} GROUP BY session_id) s ON m.session_id IS s.id
             ORDER BY s.began, l.branch, m.rowid, l.place"
        ),
        rows,
    )
}

fn collect(connection: &Connection, query: &str, rows: &mut Vec<Row>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(query)?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        rows.push(Row {
            session: text_of(row.get_ref(0)?),
            branch: text_of(row.get_ref(1)?),
            id: row.get(2)?,
            data: bytes_of(row.get_ref(3)?),
        });
    }
    Ok(())
}

fn text_of(value: ValueRef<'_>) -> String {
    String::from_utf8_lossy(&bytes_of(value)).into_owned()
}

/// SQLite columns hold any type; what is no text is kept as it would be printed.
fn bytes_of(value: ValueRef<'_>) -> Vec<u8> {
    match value {
        ValueRef::Null => Vec::new(),
        ValueRef::Integer(number) => number.to_string().into_bytes(),
        ValueRef::Real(number) => number.to_string().into_bytes(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
    }
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    const SCHEMA: &str = "CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, message_data TEXT NOT NULL);
        INSERT INTO notes (session_id, message_data) VALUES
        ('z', '{\"role\":\"user\",\"content\":\"a\"}'), ('b', '{\"role\":\"user\",\"content\":\"b\"}'),
        ('z', '{\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}');";

    fn told(path: &Path) -> Vec<(String, usize)> {
        let contents = read_database(path).unwrap();
        let sessions = contents.sessions.iter();
        sessions
            .map(|session| (session.label.clone(), session.items.len()))
            .collect()
    }

    fn pairs(expected: &[(&str, usize)]) -> Vec<(String, usize)> {
        let own = |(label, count): &(&str, usize)| ((*label).to_owned(), *count);
        expected.iter().map(own).collect()
    }

    #[test]
    fn tables_are_found_by_their_columns_even_while_someone_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("odd name?#%.db");
        let writer = Connection::open(&path).unwrap();
        writer.pragma_update(None, "journal_mode", "WAL").unwrap();
        writer.execute_batch(SCHEMA).unwrap();
        let expected = pairs(&[("z", 2), ("b", 1)]);
        assert_eq!(told(&path), expected);
        writer
            .execute_batch("BEGIN IMMEDIATE; DELETE FROM notes;")
            .unwrap();
        assert_eq!(told(&path), expected);
    }

    #[test]
    fn branches_are_sessions_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch(SCHEMA).unwrap();
        writer
            .execute_batch(
                "CREATE TABLE message_structure (id INTEGER PRIMARY KEY, session_id TEXT, message_id INTEGER, branch_id TEXT);
                 INSERT INTO message_structure (session_id, message_id, branch_id) VALUES
                 ('z', 1, 'main'), ('z', 1, 'branch_2'), ('z', 3, 'branch_2');",
            )
            .unwrap();
        let expected = pairs(&[("z", 1), ("z, branch branch_2", 2), ("b", 1)]);
        assert_eq!(told(&path), expected);
    }

    #[test]
    fn another_database_is_said_to_be_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("CREATE TABLE t (a)").unwrap();
        assert!(matches!(
            read_database(&path),
            Err(DatabaseError::NoMessages)
        ));
        assert!(read_database(&folder.path().join("none.db")).is_err());
        std::fs::write(&path, b"SQLite format 3\0 and then nothing of the kind").unwrap();
        assert!(matches!(
            read_database(&path),
            Err(DatabaseError::Refused(_))
        ));
    }
}
