//! Reads the rows of an openai-agents session database, without ever writing to it.
//!
//! The SDK lets its users name the tables, so they are found by their columns. A live writer (WAL) does not
//! disturb: a read-only connection sees its last commit. Where the folder cannot be written, SQLite cannot open
//! a WAL database as usual; it is then read as it lies, which is right as long as nobody writes.

use retake_core::formats::agents_sqlite::{MessageRow, sessions_of};
use retake_core::formats::{Contents, EditedRows, Query, Rows, Tables};
use retake_core::session::{Problem, ProblemKind, SourceError};
use retake_core::wire::write::{Object, quoted as json_text};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long to wait for a writer that holds the database.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error(
        "an SQLite database, but none of an agent that is known: no table has the columns session_id and message_data"
    )]
    NoMessages,
    #[error("cannot read the database: {0}")]
    Refused(#[from] rusqlite::Error),
    /// The rows could not be read back from the buffer they were put in.
    #[error(transparent)]
    Source(#[from] SourceError),
}

pub fn read_database(path: &Path) -> Result<Contents, DatabaseError> {
    let found = found_in(path)?;
    let mut contents = sessions_of(&found.rows)?;
    if let (Some(first), count) = (found.left_out.first(), found.left_out.len()) {
        let more = match count {
            1 => String::new(),
            _ => format!(" and {} more", count - 1),
        };
        let limit = REPEATED >> 20;
        let reason = format!(
            "{first}{more}: not read, the messages are {limit} MB longer than the database"
        );
        contents.problems.push(Problem {
            at: 0,
            kind: ProblemKind::Undecodable(reason),
        });
    }
    Ok(contents)
}

/// Reads the tables of a database as its format asks for them.
pub(crate) fn read_tables(tables: Tables, path: &Path) -> Result<Contents, DatabaseError> {
    Ok((tables.read)(&Arc::new(rows_of_queries(tables, path)?))?)
}

fn rows_of_queries(tables: Tables, path: &Path) -> Result<Rows, DatabaseError> {
    reading(path, |connection| {
        // All is read as of one moment.
        let moment = connection.unchecked_transaction()?;
        let mut rows = Rows::default();
        for query in tables.queries {
            add_rows(&moment, query, &mut rows)?;
        }
        Ok(rows)
    })
}

/// The rows of a table as a text that edits change: one a line, and what is JSON in a column as it is spelled.
#[derive(Debug)]
pub(crate) struct TableText {
    pub(crate) path: PathBuf,
    pub(crate) edited: &'static EditedRows,
    pub(crate) text: String,
    tables: Tables,
    /// The rows of all queries.
    rows: Rows,
}

impl TableText {
    pub(crate) fn read(
        path: &Path,
        tables: Tables,
        edited: &'static EditedRows,
    ) -> Result<Self, DatabaseError> {
        let rows = rows_of_queries(tables, path)?;
        let lines = rows.of(edited.query);
        let lines = lines.map(|row| row.replace(['\n', '\r'], " ") + "\n");
        Ok(Self {
            path: path.to_owned(),
            edited,
            text: lines.collect(),
            tables,
            rows,
        })
    }

    /// The same of the database as it is now.
    pub(crate) fn read_again(&self) -> Result<Self, DatabaseError> {
        Self::read(&self.path, self.tables, self.edited)
    }

    /// The sessions that a text with changes holds.
    pub(crate) fn read_take(&self, text: &str) -> Result<Contents, SourceError> {
        let rows = self.rows.with(self.edited.query, text.lines());
        (self.tables.read)(&Arc::new(rows))
    }

    /// The rows of a text, with their columns as the database holds them.
    pub(crate) fn rows_of<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Object<'a>> {
        let json = self.tables.queries.get(self.edited.query);
        let json = json.map_or(&[][..], |query| query.json);
        text.lines().map(move |line| {
            let mut row = Object::read(line);
            for key in json {
                let json = row.get(key).filter(|json| json.starts_with(['{', '[']));
                if let Some(text) = json.map(json_text) {
                    row.set(key, text);
                }
            }
            row
        })
    }
}

/// Adds the rows of a query.
fn add_rows(connection: &Connection, query: &Query, found: &mut Rows) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(query.sql)?;
    let columns = statement.column_names();
    let columns: Vec<_> = columns
        .map(|name| (json_text(name), query.json.contains(&name)))
        .collect();
    let order = query.order.iter().map(|name| statement.column_index(name));
    let order = order.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut keys = Vec::new();
    found.begin_query();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let key = order.iter().map(|place| Ok(Key(row.get(*place)?)));
        keys.push(key.collect::<rusqlite::Result<Vec<_>>>()?);
        found.push(|out| {
            for (place, (name, is_json)) in columns.iter().enumerate() {
                match row.get_ref(place)? {
                    ValueRef::Null => {}
                    ValueRef::Integer(number) => out.number(name, number),
                    ValueRef::Real(number) => out.decimal(name, number),
                    ValueRef::Text(text) | ValueRef::Blob(text) if *is_json => out.json(name, text),
                    ValueRef::Text(text) | ValueRef::Blob(text) => out.text(name, text),
                }
            }
            Ok::<_, rusqlite::Error>(())
        })?;
    }
    found.order_by(&keys);
    Ok(())
}

/// A value by which rows are ordered, as SQLite orders them (Datatypes in SQLite, section 4.1).
struct Key(Value);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let class = |key: &Self| match key.0 {
            Value::Null => 0,
            Value::Integer(_) | Value::Real(_) => 1,
            Value::Text(_) => 2,
            Value::Blob(_) => 3,
        };
        match (&self.0, &other.0) {
            (Value::Integer(one), Value::Integer(other)) => one.cmp(other),
            (Value::Integer(one), Value::Real(other)) => (*one as f64).total_cmp(other),
            (Value::Real(one), Value::Integer(other)) => one.total_cmp(&(*other as f64)),
            (Value::Real(one), Value::Real(other)) => one.total_cmp(other),
            (Value::Text(one), Value::Text(other)) => one.cmp(other),
            (Value::Blob(one), Value::Blob(other)) => one.cmp(other),
            _ => class(self).cmp(&class(other)),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

/// Reads the rows of a database file, session after session.
pub(crate) fn rows_of(path: &Path) -> Result<Vec<MessageRow>, DatabaseError> {
    Ok(found_in(path)?.rows)
}

fn found_in(path: &Path) -> Result<FoundRows, DatabaseError> {
    reading(path, read_rows)
}

/// Reads a database without disturbing who writes to it.
fn reading<T>(
    path: &Path,
    read: impl Fn(&Connection) -> Result<T, DatabaseError>,
) -> Result<T, DatabaseError> {
    match open(path, false).and_then(|connection| read(&connection)) {
        Err(DatabaseError::Refused(error)) if is_about_writing(&error) => read(&open(path, true)?),
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

pub(crate) fn open(path: &Path, immutable: bool) -> Result<Connection, DatabaseError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri_of(path, immutable), flags)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

/// A file that SQLite keeps beside a database.
pub(crate) fn log_of(database: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(ending);
    name.into()
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

/// How many bytes of messages are read beyond the size of the database: branches repeat messages of others.
const REPEATED: u64 = 64 << 20;

/// What was read of a database.
#[derive(Debug, Default)]
pub(crate) struct FoundRows {
    /// Its rows, session after session.
    pub(crate) rows: Vec<MessageRow>,
    /// Sessions and branches that were left out, because their messages would take too much memory.
    left_out: Vec<String>,
}

fn read_rows(connection: &Connection) -> Result<FoundRows, DatabaseError> {
    let tables = tables_with(connection, &["session_id", "message_data"])?;
    if tables.is_empty() {
        return Err(DatabaseError::NoMessages);
    }
    let structures = tables_with(connection, &["session_id", "message_id", "branch_id"])?;
    // All is read as of one moment.
    let moment = connection.unchecked_transaction()?;
    let size = |name: &str| moment.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let size = size("page_count")?.saturating_mul(size("page_size")?);
    let mut room = u64::try_from(size).unwrap_or_default() + REPEATED;
    let mut found = FoundRows::default();
    for table in &tables {
        let messages = Messages::read(&moment, table)?;
        let structure = structures.first().map(String::as_str);
        let places = messages.places(&moment, structure)?;
        messages.fetch(&moment, table, &places, &mut room, &mut found)?;
    }
    Ok(found)
}

/// The tables that have all of these columns, by name.
pub(crate) fn tables_with(
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

/// The messages of a table without their text, by the ids of their rows.
struct Messages {
    /// The row's id, the place of its session in `sessions`, the length of its text.
    all: Vec<(i64, usize, u64)>,
    /// The sessions in the order in which they began.
    sessions: Vec<String>,
}

/// The place of a message: session, branch (empty for the main one), id of its row, and the place in the
/// list of the branch.
type Place = (usize, String, i64, i64);

impl Messages {
    fn read(connection: &Connection, table: &str) -> rusqlite::Result<Self> {
        let table = quoted(table);
        let query = format!(
            "SELECT rowid, session_id, octet_length(message_data) FROM {table} ORDER BY rowid"
        );
        let (mut all, mut sessions, mut known) = (Vec::new(), Vec::new(), HashMap::new());
        let mut statement = connection.prepare(&query)?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let session = text_of(row.get_ref(1)?);
            let place = *known.entry(session).or_insert_with_key(|session| {
                sessions.push(session.clone());
                sessions.len() - 1
            });
            let length: Option<i64> = row.get(2)?;
            let length = length.and_then(|length| u64::try_from(length).ok());
            all.push((row.get(0)?, place, length.unwrap_or_default()));
        }
        Ok(Self { all, sessions })
    }

    fn get(&self, id: i64) -> Option<&(i64, usize, u64)> {
        let place = self.all.binary_search_by_key(&id, |(id, _, _)| *id);
        place.ok().and_then(|place| self.all.get(place))
    }

    /// Where the messages stand. `SQLiteSession` has one list for a session. In `AdvancedSQLiteSession` a
    /// branch lists its messages by id, so that those before the fork are listed in several branches; messages
    /// that no branch lists belong to the main one.
    fn places(
        &self,
        connection: &Connection,
        structure: Option<&str>,
    ) -> rusqlite::Result<Vec<Place>> {
        let (mut places, mut listed) = (Vec::new(), HashSet::new());
        if let Some(structure) = structure {
            let structure = quoted(structure);
            let query = format!("SELECT session_id, branch_id, message_id, rowid FROM {structure}");
            let mut statement = connection.prepare(&query)?;
            let mut found = statement.query([])?;
            while let Some(row) = found.next()? {
                let Some(id) = number_of(row.get_ref(2)?) else {
                    continue;
                };
                listed.insert(id);
                let owner = text_of(row.get_ref(0)?);
                let message = self
                    .get(id)
                    .filter(|(_, session, _)| self.sessions[*session] == owner);
                let Some((_, session, _)) = message else {
                    continue;
                };
                let branch = match text_of(row.get_ref(1)?) {
                    main if main == "main" => String::new(),
                    branch => branch,
                };
                places.push((*session, branch, id, row.get(3)?));
            }
        }
        let unlisted = self.all.iter().filter(|(id, _, _)| !listed.contains(id));
        places.extend(unlisted.map(|(id, session, _)| (*session, String::new(), *id, 0)));
        places.sort_unstable();
        Ok(places)
    }

    /// Reads the texts, branch by branch. A branch for which there is no room is left out.
    fn fetch(
        &self,
        connection: &Connection,
        table: &str,
        places: &[Place],
        room: &mut u64,
        found: &mut FoundRows,
    ) -> rusqlite::Result<()> {
        let table = quoted(table);
        let query = format!("SELECT message_data FROM {table} WHERE rowid = ?1");
        let mut statement = connection.prepare(&query)?;
        for branch in places.chunk_by(|one, next| (one.0, &one.1) == (next.0, &next.1)) {
            let Some((session, name, _, _)) = branch.first() else {
                continue;
            };
            let session = &self.sessions[*session];
            let lengths = branch.iter().filter_map(|place| self.get(place.2));
            let length: u64 = lengths.map(|(_, _, length)| length).sum();
            if length > *room {
                found.left_out.push(match name.as_str() {
                    "" => session.clone(),
                    name => format!("{session}, branch {name}"),
                });
                continue;
            }
            *room -= length;
            for (_, name, id, _) in branch {
                found.rows.push(MessageRow {
                    session: session.clone(),
                    branch: name.clone(),
                    id: *id,
                    data: statement.query_row([id], |row| Ok(bytes_of(row.get_ref(0)?)))?,
                });
            }
        }
        Ok(())
    }
}

/// The id that a column of any type holds.
fn number_of(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => None,
    }
}

fn text_of(value: ValueRef<'_>) -> String {
    String::from_utf8_lossy(&bytes_of(value)).into_owned()
}

/// SQLite columns hold any type; what is not text is kept as it would be printed.
fn bytes_of(value: ValueRef<'_>) -> Vec<u8> {
    match value {
        ValueRef::Null => Vec::new(),
        ValueRef::Integer(number) => number.to_string().into_bytes(),
        ValueRef::Real(number) => number.to_string().into_bytes(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
    }
}

pub(crate) fn quoted(name: &str) -> String {
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

    #[test]
    fn rows_come_in_the_order_that_sqlite_would_give_them() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE t (id INTEGER PRIMARY KEY, at, data TEXT);
                 INSERT INTO t (at, data) VALUES ('b', '{\"a\": 1}'), (2.5, '[1'), (NULL, 'x\"'), (2, '{}'), (3, ''), ('a', NULL), (2, '[]');",
            )
            .unwrap();
        let query = |sql| Query {
            sql,
            order: &["at", "id"],
            json: &["data"],
        };
        let mut rows = Rows::default();
        add_rows(&connection, &query("SELECT * FROM t"), &mut rows).unwrap();
        add_rows(
            &connection,
            &query("SELECT * FROM t ORDER BY at, id"),
            &mut rows,
        )
        .unwrap();
        assert!(rows.of(0).eq(rows.of(1)));
        let first: Vec<&str> = rows.of(0).take(3).collect();
        let expected = [
            r#"{"id":3,"data":"x\""}"#,
            r#"{"id":4,"at":2,"data":{}}"#,
            r#"{"id":7,"at":2,"data":[]}"#,
        ];
        assert_eq!(first, expected);
        assert_eq!(
            rows.of(0).last(),
            Some(r#"{"id":1,"at":"b","data":{"a": 1}}"#)
        );
    }
}
