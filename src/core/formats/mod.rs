//! How files hold sessions: one file per format, recognised by content, read record by record.
//!
//! A format is a row of [`FORMATS`]: how sure it is that a text is its own, how it reads one record, and how it
//! puts the records of a whole file in the order of the history. Reading one record needs no other record, so
//! parts of a file can be read side by side; `split` says where records begin and end. Reading never fails as a
//! whole: a broken record costs that record.

mod adk_session;
mod agents_runstate;
pub mod agents_sqlite;
mod ai_sdk;
mod anthropic_messages;
mod assemble;
mod atif;
mod bedrock_converse;
mod bfcl;
mod body;
mod claude_code;
mod claude_stream;
mod cline;
mod codex;
mod codex_exec;
pub mod convert;
mod copilot;
mod fast_agent;
mod foreign;
mod format;
mod gemini_cli;
mod gemini_contents;
mod goose;
mod har;
mod hermes;
mod http_exchanges;
mod inspect_log;
mod langchain;
mod langfuse;
mod letta;
mod litellm;
mod llama_stack;
mod lower;
mod mcp_transcript;
mod messages;
mod mini_swe_agent;
mod mitmproxy;
mod openai_chat;
mod openai_responses;
mod opencode;
mod openhands;
mod otel;
mod otlp_protobuf;
mod pi;
mod pydantic_ai;
mod qwen_code;
pub mod retake_journal;
mod sample;
pub mod split;
mod sse;
mod swe_agent;
mod tables;
mod tau2;
mod tool_runs;
mod toolbench;
mod transcript;
mod unknown;
mod vcr;

pub use assemble::assemble_plain;
pub use foreign::{FOREIGN, Foreign, recognise_foreign};
pub use format::{
    Assemble, Contents, Format, ReadMember, ReadRecord, ReadTables, ReadWhole, Reading, Records,
    Tables,
};
pub use lower::{CannotWrite, EditedRows, NativeEdits, lower, native_edits, new_message};
pub use sample::{Document, Layout, Sample};
pub use tables::{Query, RowWriter, Rows};
pub use unknown::{another_format, unknown_types};

use crate::session::{Dialect, Session, Source, SourceError};
use crate::wire::RequestHead;
use serde::de::IgnoredAny;
use std::sync::Arc;

/// Every format, the one that is asked first on equal terms first.
pub const FORMATS: &[Format] = &[
    claude_code::FORMAT,
    codex::FORMAT,
    agents_sqlite::FORMAT,
    agents_runstate::FORMAT,
    sse::FORMAT,
    retake_journal::FORMAT,
    pi::FORMAT,
    pi::DATABASE,
    gemini_cli::FORMAT,
    qwen_code::FORMAT,
    claude_stream::FORMAT,
    codex_exec::FORMAT,
    opencode::FORMAT,
    opencode::DATABASE,
    copilot::FORMAT,
    cline::FORMAT,
    cline::XML,
    goose::FORMAT,
    goose::DATABASE,
    hermes::FORMAT,
    openhands::FORMAT,
    swe_agent::FORMAT,
    mini_swe_agent::FORMAT,
    mini_swe_agent::TEXT,
    atif::FORMAT,
    vcr::FORMAT,
    har::FORMAT,
    mitmproxy::FORMAT,
    llama_stack::FORMAT,
    ai_sdk::FORMAT,
    langchain::FORMAT,
    langchain::RUNS,
    pydantic_ai::FORMAT,
    adk_session::FORMAT,
    tau2::FORMAT,
    inspect_log::FORMAT,
    otel::FORMAT,
    langfuse::FORMAT,
    litellm::FORMAT,
    toolbench::FORMAT,
    bfcl::FORMAT,
    fast_agent::FORMAT,
    letta::FORMAT,
    mcp_transcript::FORMAT,
    openai_responses::FORMAT,
    anthropic_messages::FORMAT,
    openai_chat::FORMAT,
    gemini_contents::FORMAT,
    bedrock_converse::FORMAT,
];

/// Whether a changed session can be written in the format that it was read from: not where its items do not stand
/// in the file as they are (a captured stream, a history that is spelled in no dialect), where the file says the
/// same items in several places (a RunState), or where its lines are never changed (a journal).
pub fn is_written(format: &Format) -> bool {
    match format.reading {
        Reading::Records(_) | Reading::Database => format.id != retake_journal::FORMAT.id,
        Reading::Spelled(_) | Reading::Whole(_) | Reading::Tables(_) => false,
    }
}

/// Whether items stand in files of a format as they are read, and not spelled anew.
pub fn is_verbatim(format: &Format) -> bool {
    matches!(format.reading, Reading::Records(_))
}

/// Whether `fix` and `doctor` change files of a format: where its items stand in the file, and where edits of its
/// records are known.
pub fn is_fixed(format: &Format) -> bool {
    is_written(format) || native_edits(format.id).is_some()
}

/// What the numbers of the records of a format count, where its files have no lines.
pub fn record_word(format: &Format) -> Option<&'static str> {
    match format.reading {
        Reading::Database | Reading::Tables(_) => Some("row"),
        _ if format.id == mitmproxy::FORMAT.id => Some("exchange"),
        Reading::Records(_) | Reading::Spelled(_) | Reading::Whole(_) => None,
    }
}

impl Format {
    /// The dialect of its items.
    pub fn dialect(&self) -> Dialect {
        match self.id {
            "ai-sdk"
            | "bfcl"
            | "fast-agent"
            | "har"
            | "hermes-sqlite"
            | "inspect"
            | "langchain"
            | "langfuse"
            | "langsmith"
            | "letta"
            | "litellm"
            | "llama-stack"
            | "mcp"
            | "mini-swe-agent"
            | "mini-swe-agent-text"
            | "mitmproxy"
            | "openai-chat"
            | "otel"
            | "pydantic-ai"
            | "swe-agent"
            | "tau-bench"
            | "toolbench"
            | "vcr" => Dialect::Chat,
            "anthropic-messages" | "claude-code" | "claude-stream" | "cline" | "cline-xml" => {
                Dialect::Anthropic
            }
            "adk-session" | "gemini-cli" | "gemini-contents" | "qwen-code" => Dialect::Gemini,
            "bedrock-converse" => Dialect::Converse,
            _ => Dialect::Responses,
        }
    }
}

/// The format that reads the requests and replies of a dialect.
pub fn of_dialect(dialect: Dialect) -> &'static Format {
    find(dialect.facts().format).unwrap_or(&openai_responses::FORMAT)
}

pub fn find(id: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.id == id)
}

/// The format that claims a text most surely.
pub fn recognise(sample: &Sample<'_>) -> Option<&'static Format> {
    if foreign::is_rather_foreign(sample) {
        return None;
    }
    let scored = FORMATS
        .iter()
        .map(|format| ((format.sniff)(sample), format))
        .filter(|(score, _)| *score > 0);
    scored
        .rev()
        .max_by_key(|(score, _)| *score)
        .map(|(_, format)| format)
}

/// Reads a text that is in memory.
pub fn read_buffer(
    format: &Format,
    source: &Arc<dyn Source>,
    bytes: &[u8],
) -> Result<Contents, SourceError> {
    match format.reading {
        Reading::Whole(read) => read(source, bytes),
        Reading::Database | Reading::Tables(_) => Ok(Contents::default()),
        Reading::Records(records) | Reading::Spelled(records) => {
            let sample = Sample::new(bytes, true);
            let mut fragment = split::read_all(&records, &sample, bytes);
            let problems = std::mem::take(&mut fragment.problems);
            Ok((records.assemble)(fragment, source)?.after(problems))
        }
    }
}

// A request to a model, read like any file of its dialect.

/// Why a request cannot be answered, whatever is recorded or scripted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("the request is not a JSON object: {0}")]
    NotJson(String),
    #[error("the request cannot be read: {0}")]
    Unreadable(String),
    /// Older items are not in it.
    #[error(
        "the request goes on from what is kept elsewhere (previous_response_id, conversation): send the whole history"
    )]
    ServerState,
}

impl From<SourceError> for RequestError {
    fn from(error: SourceError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// The history of a request with what is asked for beside it.
pub fn read_request(dialect: Dialect, body: &[u8]) -> Result<(RequestHead, Session), RequestError> {
    match read_request_part(dialect, body)? {
        (_, session) if session.contract.server_state => Err(RequestError::ServerState),
        read => Ok(read),
    }
}

/// The same of a request before whose history the provider may keep more.
pub fn read_request_part(
    dialect: Dialect,
    body: &[u8],
) -> Result<(RequestHead, Session), RequestError> {
    let not_json = || match serde_json::from_slice::<IgnoredAny>(body) {
        Err(error) => RequestError::NotJson(error.to_string()),
        Ok(_) => RequestError::NotJson("it is another value".to_owned()),
    };
    let head = RequestHead::read(dialect, body).ok_or_else(not_json)?;
    let format = of_dialect(dialect);
    let source: Arc<dyn Source> = Arc::new(body.to_vec());
    let session = read_buffer(format, &source, body)?
        .sessions
        .into_iter()
        .next();
    let session = session.unwrap_or_else(|| Session::empty(source, format.id, dialect));
    Ok((head, session))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_spelled_alike() {
        for (index, format) in FORMATS.iter().enumerate() {
            assert!(
                format
                    .id
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'-'),
                "{}",
                format.id
            );
            assert!(
                FORMATS[..index].iter().all(|other| other.id != format.id),
                "{}",
                format.id
            );
        }
    }
}
