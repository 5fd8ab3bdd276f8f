//! What happened in a run: the source, the contract, the items in the order of the history, and
//! how they belong together.
//!
//! Bytes are the truth. An [`Item`] is a small head (kind, call id, name, turn) and the place of its bytes in
//! the [`Source`]; what an item says is read from there when it is shown or checked. So a session of a gigabyte
//! is a few megabytes of heads, and an untouched item can always be written back byte for byte.
//!
//! Recorded items never change. What the operator does is laid over them as edits; each result is a take, a
//! branch of the tree in [`takes`].

pub mod boundary;
mod compare;
mod contract;
mod fragment;
mod item;
pub mod ledger;
pub mod pairing;
mod problem;
mod rope;
mod source;
pub mod takes;
mod turn;

pub use compare::{HistoryChange, compare, operations, operations_of, recorded};
pub use contract::Keyed;
pub use contract::{Contract, JSON_TOOL_CALL, OutputSchema, Tool, ToolKind, ToolSet};
pub use contract::{NameId, Names};
pub use fragment::{Checkpoint, ExchangeFacts, Fact, Fragment, LinkFlags, MovedText, RecordLink};
pub use item::{CallId, Family, Flags, Item, Kind, Record, Shape};
pub use item::{Edit, MessageRole, Patch};
pub use item::{hash, index_number};
pub use pairing::{PairStatus, Pairing};
pub use problem::{Problem, ProblemKind};
pub use rope::{Growth, Rope, RopePiece, Splice, TextOrigin};
pub use source::{Source, SourceError, Span};
pub use turn::{Speaker, Turn, number_turns};

use std::collections::BTreeMap;
use std::sync::Arc;

/// How a provider spells requests, replies and streams. What is known of each is in [`crate::wire`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// OpenAI Responses API; meant where nothing says which.
    #[default]
    Responses,
    /// OpenAI Chat Completions API, and the many servers that speak it.
    Chat,
    Anthropic,
    Gemini,
}

impl Dialect {
    pub const ALL: [Self; 4] = [Self::Responses, Self::Chat, Self::Anthropic, Self::Gemini];
}

/// One run, or one branch of it, as a file holds it.
#[derive(Debug, Clone)]
pub struct Session {
    /// Where the bytes of the items are.
    pub source: Arc<dyn Source>,
    /// Id of the format that read it, as `openai-chat`.
    pub format: &'static str,
    /// How the recorded provider spells things.
    pub dialect: Dialect,
    /// What tells this session from the others of its file: a session id, a task, "side chain 2". Empty where
    /// a file holds one.
    pub label: String,
    /// The model's name where it is recorded.
    pub model: Option<String>,
    /// What the run may do.
    pub contract: Contract,
    /// The tool and function names that items refer to; the sessions of one file share them.
    pub names: Arc<Names>,
    /// The records (lines, array elements) that hold the items, in file order; the sessions of
    /// one file share them.
    pub records: Arc<[Record]>,
    /// What happened, in the order of the history (which may differ from the order in the file).
    pub items: Vec<Item>,
    /// The replies and the messages between them.
    pub turns: Vec<Turn>,
    /// Which output answers which call.
    pub pairing: Pairing,
    /// Whether this is the history that the run would go on from; side chains and abandoned branches are not.
    pub active: bool,
    /// Whether its last reply was repaired in transit: the client got another one, which is the history that
    /// the run continues from.
    pub was_repaired: bool,
    /// Why the last reply ended, in the provider's words: `length`, `max_tokens`, `refusal`, ... by item index.
    pub stops: Vec<Stop>,
    /// Why calls failed, by the index of the output that says so, where a run of retake itself knows.
    pub failures: BTreeMap<u32, ledger::Failure>,
    /// How the run stood that it is the history of, where it was read from the run's journal.
    pub run: Option<ledger::RunState>,
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// Index of the last item of the reply.
    pub item: u32,
    /// The provider's word, as `max_tokens`.
    pub reason: std::borrow::Cow<'static, str>,
}

impl Stop {
    /// Whether a token limit cut the reply: Chat, Anthropic (two), Responses, Gemini, Bedrock and Vercel
    /// (as Anthropic and Chat).
    pub fn is_token_limit(&self) -> bool {
        matches!(
            &*self.reason,
            "length"
                | "max_tokens"
                | "max_output_tokens"
                | "model_context_window_exceeded"
                | "MAX_TOKENS"
                | "model_length"
        )
    }
}

impl Session {
    /// A session without items.
    pub fn empty(source: Arc<dyn Source>, format: &'static str, dialect: Dialect) -> Self {
        Self {
            source,
            format,
            dialect,
            label: String::new(),
            model: None,
            contract: Contract::default(),
            names: Arc::default(),
            records: Arc::default(),
            items: Vec::new(),
            turns: Vec::new(),
            pairing: Pairing::default(),
            active: true,
            was_repaired: false,
            stops: Vec::new(),
            failures: BTreeMap::new(),
            run: None,
        }
    }

    /// Numbers the turns and pairs calls with outputs; to be called once the items stand in the
    /// order of the history.
    pub fn link(&mut self) {
        self.turns = number_turns(&mut self.items, &self.records);
        self.pairing = pairing::pair(self);
    }

    /// The last turn in which the model or the user speaks: a recording may end in the middle of it.
    pub fn last_spoken_turn(&self) -> Option<usize> {
        let speaks = |turn: &Turn| matches!(turn.speaker, Speaker::Model | Speaker::User);
        self.turns.iter().rposition(speaks)
    }

    /// Whether its items stand in `source`: those of a captured stream and of a database stand in a buffer that
    /// was made for them.
    pub fn stands_in(&self, source: &Arc<dyn Source>) -> bool {
        let address = |source: &Arc<dyn Source>| Arc::as_ptr(source).cast::<()>();
        address(&self.source) == address(source)
    }

    pub fn bytes(&self, item: &Item) -> Result<Vec<u8>, SourceError> {
        self.source.read(item.span)
    }

    /// The call id of an item as text; empty where there is none.
    pub fn call_id(&self, item: &Item) -> Result<String, SourceError> {
        let Some(span) = item.call_id.span(item.span) else {
            return Ok(String::new());
        };
        let inside = self.source.read(span)?;
        Ok(crate::json::display_text(&inside).into_owned())
    }

    /// The tool name of an item; empty where there is none.
    pub fn name(&self, item: &Item) -> &str {
        self.names.text(item.name)
    }

    /// How many items of a kind the session holds.
    pub fn count(&self, kind: Kind) -> usize {
        self.items.iter().filter(|item| item.kind == kind).count()
    }
}
