//! Calls as they are compared: a tool with what it was called with.

use crate::dialects::body_of;
use crate::engine::arguments::says_the_same;
use crate::rules::{ErrorClass, Finding};
use crate::session::{Flags, Kind, Session, SourceError};

/// The call that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedCall {
    /// The tool, as the model spelled it, with its namespace.
    pub tool: String,
    /// The arguments as they are written.
    pub arguments: String,
    /// Whether the same call may well succeed: it timed out or was interrupted.
    pub may_work_again: bool,
}

impl FailedCall {
    /// The call of a finding: the item itself, or the one that it answers. `None` where it is about no call.
    pub fn of(session: &Session, finding: &Finding) -> Result<Option<Self>, SourceError> {
        let Some(item) = finding.item.map(|item| item as usize) else {
            return Ok(None);
        };
        let is_call = |index: &usize| {
            let item = session.items.get(*index);
            item.is_some_and(|item| item.kind == Kind::Call)
        };
        let call = Some(item).filter(is_call);
        let call = call.or_else(|| session.pairing.partner(item).filter(is_call));
        let Some(call) = call else { return Ok(None) };
        let called = called(session, call)?;
        let class = finding.get("class").and_then(ErrorClass::of_words);
        Ok(Some(Self {
            tool: called.tool.to_owned(),
            arguments: called.arguments,
            may_work_again: matches!(class, Some(ErrorClass::Timeout | ErrorClass::Interrupted)),
        }))
    }

    /// Whether a call says the same to the same tool.
    pub(super) fn is_made_by(&self, call: &Called<'_>) -> bool {
        call.tool == self.tool && says_the_same(&call.arguments, &self.arguments)
    }
}

/// A call of the history.
#[derive(Debug)]
pub(super) struct Called<'a> {
    /// The tool, with its namespace.
    pub(super) tool: &'a str,
    /// The arguments as they are written.
    pub(super) arguments: String,
    /// Whether the provider runs it.
    pub(super) is_hosted: bool,
}

/// The call at `index`.
pub(super) fn called(session: &Session, index: usize) -> Result<Called<'_>, SourceError> {
    let item = &session.items[index];
    let bytes = session.bytes(item)?;
    // A call that is no JSON at all has no arguments that could be compared; the reader has told of it.
    let body = body_of(item, &bytes).unwrap_or_default();
    Ok(Called {
        tool: session.name(item),
        arguments: body.arguments.as_written().to_owned(),
        is_hosted: item.kind != Kind::Call,
    })
}

/// Whether the item at `index` is the same call, in the part of the history that the model still sees.
pub(super) fn same_call(
    session: &Session,
    index: usize,
    call: &Called<'_>,
) -> Result<bool, SourceError> {
    let item = &session.items[index];
    let is_of_the_tool = item.kind == Kind::Call
        && !item.flags.has(Flags::COMPACTED)
        && session.name(item) == call.tool;
    Ok(is_of_the_tool && says_the_same(&called(session, index)?.arguments, &call.arguments))
}
