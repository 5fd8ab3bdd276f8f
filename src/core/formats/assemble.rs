//! From records in file order to sessions: the part that all formats without a graph share.

use super::{Contents, of_dialect, read_buffer};
use crate::session::{
    Dialect, Fact, Flags, Fragment, Item, Kind, Names, OutputSchema, Problem, ProblemKind, Record,
    Session, Source, SourceError, Span, Stop, ToolSet, index_number,
};
use crate::wire::RequestHead;
use crate::wire::tools::read_tools;
use requests::{Conversations, Entry, Request};
pub(super) use requests::{chained, outputs_first};
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

mod requests;

/// Builds the sessions of a file whose records stand in the order of the history.
///
/// Requests that repeat the history so far are folded into it, so that a log of exchanges reads as one run.
pub fn assemble_plain(
    format: &'static str,
    dialect: Dialect,
    fragment: Fragment,
    source: &Arc<dyn Source>,
) -> Result<Contents, SourceError> {
    let Fragment {
        items,
        facts,
        names,
        records,
        ..
    } = fragment;
    let mut builder = Builder::new(format, dialect, source, records.into());
    builder.take(items, &facts)?;
    builder.finish(&Arc::new(names))
}

/// A history whose repetitions were taken out already: one of several in a file.
pub(super) struct Folded {
    pub(super) dialect: Dialect,
    pub(super) label: String,
    pub(super) items: Vec<Item>,
    /// What was said about it, each with the number of items before it.
    pub(super) facts: Vec<(u32, Fact)>,
}

/// Builds the session of such a history; `None` where there is nothing of it.
pub(super) fn assemble_folded(
    format: &'static str,
    folded: Folded,
    (records, names): (&Arc<[Record]>, &Arc<Names>),
    source: &Arc<dyn Source>,
) -> Result<Contents, SourceError> {
    let mut builder = Builder::new(format, folded.dialect, source, records.clone());
    builder.is_folded = true;
    builder.take(folded.items, &folded.facts)?;
    builder.current.label = folded.label;
    builder.finish(names)
}

/// Gives a session whose file holds several dialects the one of its first item that has any.
pub(super) fn take_dialect_of_items(session: &mut Session) {
    let mut items = session.items.iter();
    let dialect = items.find_map(|item| item.dialect);
    session.dialect = dialect.unwrap_or(session.dialect);
}

struct Builder<'a> {
    source: &'a Arc<dyn Source>,
    records: Arc<[Record]>,
    format: &'static str,
    dialect: Dialect,
    done: Vec<Session>,
    problems: Vec<Problem>,
    current: Session,
    /// The request that is being read, where one is.
    request: Option<Request>,
    /// The conversations that the requests of the file belong to.
    conversations: Conversations,
    /// Whether the body that is read now is a reply.
    replied: bool,
    /// The model that was named last.
    model: Option<String>,
    /// System prompts of the session at hand that stand behind its messages.
    late_system: Vec<Item>,
    last_tools: u64,
    /// Whether requests hold nothing that stands before them.
    is_folded: bool,
}

impl<'a> Builder<'a> {
    fn new(
        format: &'static str,
        dialect: Dialect,
        source: &'a Arc<dyn Source>,
        records: Arc<[Record]>,
    ) -> Self {
        Self {
            source,
            records,
            format,
            dialect,
            done: Vec::new(),
            problems: Vec::new(),
            current: Session::empty(source.clone(), format, dialect),
            request: None,
            conversations: Conversations::default(),
            replied: false,
            model: None,
            late_system: Vec::new(),
            last_tools: 0,
            is_folded: false,
        }
    }

    /// Takes the items with what was said between them.
    fn take(&mut self, items: Vec<Item>, facts: &[(u32, Fact)]) -> Result<(), SourceError> {
        let (before, during) = facts.split_at(facts.partition_point(|(at, _)| *at == 0));
        for (_, fact) in before {
            self.fact(fact)?;
        }
        let mut during = during.iter().peekable();
        let is_interrupted = during
            .peek()
            .is_some_and(|(at, _)| (*at as usize) < items.len());
        if self.takes_all(&items) && !is_interrupted {
            // A list without anything between its items: they are a session as they are, and
            // need not be copied.
            self.current.items = items;
        } else {
            for (index, item) in items.iter().enumerate() {
                while let Some((_, fact)) = during.next_if(|(at, _)| *at as usize <= index) {
                    self.fact(fact)?;
                }
                self.item(*item)?;
            }
        }
        for (_, fact) in during {
            self.fact(fact)?;
        }
        match self.request.take() {
            Some(request) => self.join(request),
            None => Ok(()),
        }
    }

    /// Whether each of these items would be taken as it is.
    fn takes_all(&self, items: &[Item]) -> bool {
        !self.conversations.has_begun() && !items.iter().skip(1).any(|item| self.is_apart(item))
    }

    fn item(&mut self, item: Item) -> Result<(), SourceError> {
        if let Some(request) = &mut self.request {
            request.entries.push(Entry::Item(item));
            return Ok(());
        }
        if self.conversations.has_begun() {
            let meaning = self.meaning(&item)?;
            self.conversations.reply_with(meaning);
        } else if self.is_late_system(&item) {
            self.late_system.push(item);
            return Ok(());
        }
        self.current.items.push(item);
        Ok(())
    }

    /// Whether it is the system prompt of a document that stands behind the messages: a member of its own,
    /// whose order means nothing.
    fn is_late_system(&self, item: &Item) -> bool {
        !self.current.items.is_empty() && self.is_apart(item)
    }

    /// Whether it is a system prompt that is a member of its own and no message.
    fn is_apart(&self, item: &Item) -> bool {
        let record = self.records.get(item.record as usize);
        item.kind == Kind::System
            && item.is_block()
            && record.is_some_and(|record| record.span == item.span)
    }

    /// Puts the system prompts that stood behind the messages before them.
    fn put_late_system_first(&mut self) {
        let late = std::mem::take(&mut self.late_system);
        let count = index_number(late.len());
        self.current.items.splice(0..0, late);
        for stop in &mut self.current.stops {
            stop.item += count;
        }
        let sets = &mut self.current.contract.tool_sets;
        for set in sets.iter_mut().filter(|set| set.from > 0) {
            set.from += count;
        }
    }

    fn fact(&mut self, fact: &Fact) -> Result<(), SourceError> {
        let is_border = matches!(
            fact,
            Fact::NextSession | Fact::RequestBegins | Fact::RequestEnds
        );
        if let (Some(request), false) = (&mut self.request, is_border) {
            request.entries.push(Entry::Fact(fact.clone()));
            return Ok(());
        }
        match fact {
            Fact::Model(model) => {
                self.model = Some(model.clone());
                self.current.model.clone_from(&self.model);
            }
            Fact::Tools(span) => self.tools(*span, true)?,
            Fact::MoreTools(span) => self.tools(*span, false)?,
            Fact::OutputSchema(span) => self.output_schema(*span)?,
            Fact::ServerState => self.current.contract.server_state = true,
            Fact::TurnLimit(limit) => self.current.contract.turn_limit = Some(*limit),
            Fact::Request => self.current.contract.is_request = !self.replied,
            Fact::Reply => {
                self.replied = true;
                self.current.contract.is_request = false;
            }
            Fact::Label(label) => self.current.label.clone_from(label),
            Fact::Stop(reason) => self.stop(reason),
            Fact::NextSession => {
                if let Some(request) = self.request.take() {
                    self.join(request)?;
                }
                self.close_conversations();
                self.close();
                self.replied = false;
            }
            Fact::RequestBegins if self.is_folded => self.replied = false,
            // A body within a request is that request.
            Fact::RequestBegins => {
                self.request.get_or_insert_default();
            }
            Fact::RequestEnds => {
                if let Some(request) = self.request.take() {
                    self.join(request)?;
                }
            }
            Fact::Sequence { .. }
            | Fact::Exchange(_)
            | Fact::ReplyBegins
            | Fact::ReplacementBegins
            | Fact::SentBegins => {}
            Fact::HistoryReplaced => {
                for item in &mut self.current.items {
                    item.flags = item.flags.with(Flags::COMPACTED);
                }
            }
        }
        Ok(())
    }

    #[allow(clippy::ptr_arg)] // a word that is static stays so: no copy of it is kept with each reply
    fn stop(&mut self, reason: &Cow<'static, str>) {
        if let Some(last) = self.current.items.len().checked_sub(1) {
            let stop = Stop {
                item: index_number(last),
                reason: reason.clone(),
            };
            self.current.items[last]
                .flags
                .set_if(Flags::INCOMPLETE, stop.is_token_limit());
            self.current.stops.push(stop);
        }
    }

    fn tools(&mut self, span: Span, replaces: bool) -> Result<(), SourceError> {
        let bytes = self.source.read(span)?;
        let digest = hash_of(&bytes);
        if replaces && digest == self.last_tools && self.current.contract.tools_known() {
            return Ok(());
        }
        let value = match serde_json::from_slice(&bytes) {
            Ok(value) => value,
            Err(error) => {
                self.complain(span, error.to_string());
                return Ok(());
            }
        };
        let (tools, complaints) = read_tools(&value);
        complaints
            .into_iter()
            .for_each(|complaint| self.complain(span, complaint));
        // A Response repeats the tools of its request; some servers say there that there were none.
        let is_mute = tools.is_empty() && self.replied && self.current.contract.tools_known();
        if replaces && is_mute {
            return Ok(());
        }
        if replaces {
            self.last_tools = digest;
        }
        // The tools of a request hold for what the model says next; the first ones hold for the
        // history before them, too.
        let first = replaces && !self.current.contract.tools_known();
        let from = if first {
            0
        } else {
            index_number(self.current.items.len())
        };
        let sets = &mut self.current.contract.tool_sets;
        let place = if first { 0 } else { sets.len() };
        let set = ToolSet {
            from,
            replaces,
            tools,
        };
        sets.insert(place, set);
        Ok(())
    }

    fn complain(&mut self, span: Span, reason: String) {
        self.problems.push(Problem {
            at: span.start,
            kind: ProblemKind::BadToolDefinitions(reason),
        });
    }

    fn output_schema(&mut self, span: Span) -> Result<(), SourceError> {
        let bytes = self.source.read(span)?;
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(&bytes) else {
            return Ok(());
        };
        if let Some(schema) = OutputSchema::carried_by(&value) {
            self.current.contract.output_schema = Some(schema);
        }
        Ok(())
    }

    fn close(&mut self) {
        self.put_late_system_first();
        let next = Session::empty(self.source.clone(), self.format, self.dialect);
        let closed = std::mem::replace(&mut self.current, next);
        if !closed.items.is_empty() {
            self.done.push(closed);
        }
    }

    fn finish(mut self, names: &Arc<Names>) -> Result<Contents, SourceError> {
        self.close_conversations();
        if self.done.is_empty() && self.current.items.is_empty() && self.late_system.is_empty() {
            // A request before its first message is a history that may begin.
            let is_request = self.current.contract.is_request;
            self.done.extend(is_request.then(|| self.current.clone()));
        }
        self.close();
        let mut sessions = self.done;
        for session in &mut sessions {
            session.names = names.clone();
            session.records = self.records.clone();
            session.link();
        }
        Ok(Contents {
            sessions,
            problems: self.problems,
        })
    }
}

fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
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
