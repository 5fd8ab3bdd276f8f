//! The columns of the tables, declared once for the writer and for `retake help tables`.

use std::fmt::Write;

/// The version of the columns. It grows where a column is renamed, removed or gets another meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// What the cells of a column hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellType {
    Text,
    /// 64 bits with a sign: Spark has no others.
    Integer,
    Number,
    Boolean,
    /// Milliseconds of UTC.
    Time,
}

impl CellType {
    fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Time => "time",
        }
    }
}

pub(super) struct TableColumn {
    pub(super) name: &'static str,
    pub(super) holds: CellType,
    pub(super) is_nullable: bool,
    meaning: &'static str,
}

pub(super) struct Table {
    pub(super) name: &'static str,
    about: &'static str,
    pub(super) columns: Vec<TableColumn>,
}

/// A cell on its way into a column; `None` is null.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Text(Option<&'a str>),
    Integer(Option<i64>),
    Number(Option<f64>),
    Boolean(Option<bool>),
    Time(Option<i64>),
}

/// What a field of a row can be.
trait Cell<'a> {
    const HOLDS: CellType;
    const IS_NULLABLE: bool;

    fn value(self) -> Value<'a>;
}

macro_rules! cell {
    ($of:ty, $kind:ident, $convert:expr) => {
        impl<'a> Cell<'a> for $of {
            const HOLDS: CellType = CellType::$kind;
            const IS_NULLABLE: bool = false;

            fn value(self) -> Value<'a> {
                Value::$kind(Some($convert(self)))
            }
        }

        impl<'a> Cell<'a> for Option<$of> {
            const HOLDS: CellType = CellType::$kind;
            const IS_NULLABLE: bool = true;

            fn value(self) -> Value<'a> {
                Value::$kind(self.map($convert))
            }
        }
    };
}

/// Milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Time(pub(super) u64);

cell!(&'a str, Text, |text| text);
cell!(usize, Integer, |count| i64::try_from(count)
    .unwrap_or(i64::MAX));
cell!(u64, Integer, |count| i64::try_from(count)
    .unwrap_or(i64::MAX));
cell!(u32, Integer, i64::from);
cell!(f64, Number, |number| number);
cell!(bool, Boolean, |flag| flag);
cell!(Time, Time, |Time(at)| i64::try_from(at).unwrap_or(i64::MAX));

/// A row of one of the tables.
pub(super) trait Row<'a> {
    /// The number of its table in [`tables`].
    const TABLE: usize;

    fn values(self) -> impl Iterator<Item = Value<'a>>;
}

/// Declares the tables: for each its name, what a row is, and the columns with what they mean.
macro_rules! tables {
    ($($name:ident: $row:ident, $about:literal { $($column:ident: $cell:ty, $meaning:literal;)+ })+) => {
        $(
            pub(super) struct $row<'a> {
                $(pub(super) $column: $cell,)+
            }

            impl<'a> Row<'a> for $row<'a> {
                const TABLE: usize = Number::$name as usize;

                fn values(self) -> impl Iterator<Item = Value<'a>> {
                    [$(self.$column.value()),+].into_iter()
                }
            }

            #[allow(clippy::extra_unused_lifetimes, reason = "some tables have no column that borrows")]
            fn $name<'a>() -> Table {
                Table {
                    name: stringify!($name),
                    about: $about,
                    columns: vec![$(TableColumn {
                        name: stringify!($column),
                        holds: <$cell as Cell<'a>>::HOLDS,
                        is_nullable: <$cell as Cell<'a>>::IS_NULLABLE,
                        meaning: $meaning,
                    }),+],
                }
            }
        )+

        #[allow(non_camel_case_types, reason = "named as the tables are")]
        enum Number {
            $($name),+
        }

        /// The tables, in the order in which they are described.
        pub(super) fn tables() -> Vec<Table> {
            vec![$($name()),+]
        }
    };
}

tables! {
    sessions: SessionRow, "One row for each session." {
        path: &'a str, "the file, as it was named";
        session: &'a str, "the label of the session, or its number in the file; the other tables name it by `path` and `session`";
        format: &'a str, "the format of the file, as `retake help formats` lists them";
        agent: Option<&'a str>, "the agent that writes this format, where that is only one";
        model: Option<&'a str>, "the model that is recorded; the last one of several";
        target: &'a str, "the dialect that it was judged for";
        is_active: bool, "whether the run would go on from it: no side chain, no abandoned branch";
        turns: usize, "";
        items: usize, "";
        calls: usize, "calls that the client answers";
        outputs: usize, "their outputs";
        tools_known: bool, "whether the offered tools are known";
        errors: usize, "findings of this severity";
        warnings: usize, "findings of this severity";
        infos: usize, "findings of this severity";
        problems: usize, "places that could not be read";
        started: Option<Time>, "the first time that is recorded";
        ended: Option<Time>, "the last time that is recorded";
        model_ms: u64, "while the model answered";
        tools_ms: u64, "while tools ran";
        waiting_ms: u64, "before messages of the user and answers to tools that ask";
        counted: usize, "turns whose tokens are recorded";
        input_tokens: Option<u64>, "what was sent, with what the cache held and took";
        cached_tokens: Option<u64>, "what the cache held of it";
        written_tokens: Option<u64>, "what the cache took of it";
        output_tokens: Option<u64>, "what was answered";
        reasoning_tokens: Option<u64>, "the part of it that was reasoning, where the provider counts it";
        cost_usd: Option<f64>, "as it is recorded, else by the price of the model";
        recorded_costs: usize, "turns whose cost is recorded";
        without_price: usize, "turns whose tokens are recorded and whose model has no price";
    }
    items: ItemRow, "One row for each item, in the order of the history." {
        path: &'a str, "";
        session: &'a str, "";
        item: usize, "counted from 1";
        turn: u32, "counted from 1";
        kind: &'a str, "`system`, `user`, `assistant`, `reasoning`, `call`, `output`, ...: as the filter names it";
        tool: Option<&'a str>, "the name of a call, or of an output that has one";
        call_id: Option<&'a str>, "";
        bytes: u64, "as it is recorded";
        offset: Option<u64>, "the byte at which it begins in the file; null where it does not stand in it as it is";
        time: Option<Time>, "when it was recorded";
        is_error: Option<bool>, "whether an output says that its call failed; null for other items";
    }
    calls: CallRow, "One row for each call." {
        path: &'a str, "";
        session: &'a str, "";
        item: usize, "the item of the call";
        turn: u32, "";
        kind: &'a str, "`call`, or `hosted call` where the provider runs it";
        tool: Option<&'a str>, "";
        call_id: Option<&'a str>, "";
        arguments_bytes: Option<usize>, "null where they cannot be read";
        status: &'a str, "`paired` with an output, `orphan`, `pending`, `severed` from its output by a compaction, `alone` where none belongs to it";
        output_item: Option<usize>, "the item of its output";
        result_bytes: Option<u64>, "those of its output, as it is recorded";
        is_error: Option<bool>, "whether its output says that it failed";
        started: Option<Time>, "";
        took_ms: Option<u64>, "";
    }
    findings: FindingRow, "One row for each finding, as `check --format json` has them." {
        path: &'a str, "";
        session: &'a str, "";
        line: Option<u64>, "null where the file has no lines";
        column: Option<u64>, "where other JSON precedes the item on its line";
        offset: Option<u64>, "that of the item";
        turn: Option<u32>, "";
        item: Option<u32>, "";
        rule: &'a str, "`retake explain RULE` explains it";
        severity: &'a str, "`error`, `warning` or `info`";
        tool: Option<&'a str>, "";
        call_id: Option<&'a str>, "";
        message: &'a str, "";
        pointer: Option<&'a str>, "JSON pointer into the arguments or the output";
        cause: Option<&'a str>, "why a call has no output";
        class: Option<&'a str>, "the kind of error, for `tool-error`";
    }
    problems: ProblemRow, "One row for each place of a file that could not be read." {
        path: &'a str, "";
        session: Option<&'a str>, "null where it belongs to none";
        line: Option<u64>, "";
        column: Option<u64>, "";
        byte: u64, "counted from 0";
        message: &'a str, "";
        is_unread: bool, "whether something was left out for it";
    }
}

/// The tables and their columns as Markdown, for `retake help tables`.
pub fn markdown_tables() -> String {
    let mut text = format!("This is version {SCHEMA_VERSION} of the columns.\n");
    for table in tables() {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "\n## {}\n\n{}\n\n| column | type | meaning |\n|---|---|---|",
            table.name, table.about
        );
        for TableColumn {
            name,
            holds,
            is_nullable,
            meaning,
        } in table.columns
        {
            let holds = holds.word();
            let null = if is_nullable { ", or null" } else { "" };
            let _ = writeln!(text, "| `{name}` | {holds}{null} | {meaning} |");
        }
    }
    text
}

/// The names of the tables and of their columns as Markdown, for `retake help query`.
pub fn markdown_columns() -> String {
    let rows = tables().into_iter().map(|table| {
        let columns = table.columns.iter().map(|it| format!("`{}`", it.name));
        let columns = columns.collect::<Vec<_>>().join(", ");
        format!("| `{}` | {columns} |\n", table.name)
    });
    "| table | columns |\n|---|---|\n".to_owned() + &rows.collect::<String>()
}
