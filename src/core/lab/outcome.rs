//! What the model did in its next turn, judged by what the rules find in it.
//!
//! The first of these that holds, in this order:
//!
//! 1. **looped**: a call of the new turn stands with the same tool and the same arguments at least twice
//!    before it, the last times in vain (it was faulty, or was answered with an error); or repeated-call
//!    fires on it.
//! 2. **same mistake**: the rule of the subject fires on the new turn again, for the same tool where it is
//!    about a tool. A fault that shows in an output (tool-error, failing-tool) is made again by the same call
//!    with the same arguments, unless it timed out or was interrupted.
//! 3. **other mistake**: another error or warning about the new turn, a reply that was cut off among them; or
//!    sound calls of which none is the one that was meant.
//! 4. **corrected**: what was meant is done; sound calls beside it do not matter.
//! 5. **asked the user**: no call, and the text ends with a question. A heuristic, see [`question`].
//! 6. **gave up**: all else, so text of any other kind, a refusal, an empty reply.
//!
//! An empty reply, without text and call, is the same mistake where missing-final-output was told about. How a
//! dialect spells nothing, and whether its provider would take that back, does not matter.
//!
//! That the new calls have no output yet is no fault. Where a call was meant, a final message of the
//! wrong form is a model that asks or gives up, not another mistake: the form says nothing that the
//! missing call does not say.

mod call;
mod question;

pub use call::FailedCall;

use super::{Class, Meant, Subject};
use crate::dialects::body_of;
use crate::rules::{Finding, Severity};
use crate::session::{Item, Kind, Session, SourceError};
use crate::suggest::{self, SuggestionReason};
use call::{Called, called, same_call};

/// A call that is open has not been answered yet, and what a hosted tool answers is not the model's doing.
const NOT_OF_THE_REPLY: &[&str] = &["pending-call", "orphan-call", "tool-error", "failing-tool"];
/// Rules about the form of the final message.
const FINAL_OUTPUT: &[&str] = &["invalid-final-output", MISSING];
/// What the rules say of an empty reply as well, depending on how it is spelled.
const OF_NOTHING: &[&str] = &["malformed-message", "invalid-final-output", MISSING];
/// Rules about what the output of a call says.
const OF_OUTPUTS: &[&str] = &["tool-error", "failing-tool"];
const MISSING: &str = "missing-final-output";
const REFUSED: &str = "refused";
const REPEATED: &str = "repeated-call";
const UNKNOWN: &str = "unknown-tool";
/// From how many calls in vain on the next one is a loop.
const IN_VAIN: usize = 2;
/// Longest text that a reason quotes, in characters.
const EXCERPT: usize = 100;

/// A reply that is to be judged.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// The take with the reply at its end.
    pub session: &'a Session,
    /// Index of the first item of the reply; the number of items where it is empty.
    pub first: usize,
    /// What the rules find in the session.
    pub findings: &'a [Finding],
}

/// What the model did, and why that is said, in a few words that hold text from outside. `failed` is the call
/// of the finding, where it is about one. Fails where the source cannot be read.
pub fn classify(
    reply: &Reply<'_>,
    subject: &Subject,
    failed: Option<&FailedCall>,
) -> Result<(Class, String), SourceError> {
    let calls = reply.calls()?;
    if let Some(why) = reply.looped(&calls)? {
        return Ok((Class::Looped, why));
    }
    let text = reply.text()?;
    let mistakes = reply.mistakes(subject, !calls.is_empty(), text.trim().is_empty());
    if let Some(why) = reply.same_mistake(subject, failed, &mistakes, &calls) {
        return Ok((Class::SameMistake, why));
    }
    let worst = { mistakes.iter() }.reduce(|worst, next| {
        if next.severity > worst.severity {
            next
        } else {
            worst
        }
    });
    if let Some(worst) = worst {
        return Ok((Class::OtherMistake, reply.told(worst)));
    }
    match reply.judge_calls(subject, &calls) {
        Some(judged) => Ok(judged),
        None => Ok(reply.judge_text(subject, &text)),
    }
}

impl<'a> Reply<'a> {
    /// The items of the reply, with their indices.
    fn items(&self) -> impl Iterator<Item = (usize, &'a Item)> + use<'a> {
        let items = self.session.items.iter().enumerate();
        items.skip(self.first)
    }

    fn calls(&self) -> Result<Vec<Called<'a>>, SourceError> {
        let calls = self.items().filter(|(_, item)| {
            let kind = item.kind;
            matches!(kind, Kind::Call | Kind::HostedCall | Kind::ApprovalRequest)
        });
        calls
            .map(|(index, _)| called(self.session, index))
            .collect()
    }

    /// Whether a finding is about the reply.
    fn is_about(&self, finding: &Finding) -> bool {
        let item = finding.item.map(|item| item as usize);
        let item = item.filter(|item| *item >= self.first);
        let item = item.and_then(|item| self.session.items.get(item));
        item.is_some_and(|item| item.kind.is_from_model() && item.kind != Kind::HostedOutput)
    }

    fn looped(&self, calls: &[Called<'a>]) -> Result<Option<String>, SourceError> {
        let again = |tool: &str| Some(format!("calls {tool} again, in vain before"));
        let fired = { self.findings.iter() }
            .find(|finding| finding.rule.id == REPEATED && self.is_about(finding));
        if let Some(fired) = fired {
            return Ok(again(fired.tool(self.session).unwrap_or_default()));
        }
        for call in calls.iter().filter(|call| !call.is_hosted) {
            if self.times_in_vain(call)? >= IN_VAIN {
                return Ok(again(call.tool));
            }
        }
        Ok(None)
    }

    /// How often in a row a call was made in vain, up to the new turn.
    fn times_in_vain(&self, call: &Called<'_>) -> Result<usize, SourceError> {
        let mut times = 0;
        for index in (0..self.first).rev() {
            if same_call(self.session, index, call)? {
                if !self.was_in_vain(index) {
                    break;
                }
                times += 1;
            }
        }
        Ok(times)
    }

    /// Whether the call at `index` was faulty, or was answered with an error.
    fn was_in_vain(&self, index: usize) -> bool {
        let output = self.session.pairing.partner(index);
        self.findings.iter().any(|finding| {
            let item = finding.item.map(|item| item as usize);
            let is_faulty = item == Some(index)
                && finding.severity > Severity::Info
                && !NOT_OF_THE_REPLY.contains(&finding.rule.id);
            is_faulty || (finding.rule.id == "tool-error" && output.is_some() && item == output)
        })
    }

    /// The faults of the reply. A refusal is one only beside calls, and the form of the final message only
    /// where one was meant. That a reply is empty is judged by itself.
    fn mistakes(&self, subject: &Subject, has_calls: bool, is_blank: bool) -> Vec<&'a Finding> {
        let counts = |finding: &&Finding| {
            let rule = finding.rule.id;
            if is_blank && !has_calls && OF_NOTHING.contains(&rule) {
                return false;
            }
            if rule == subject.rule {
                return true;
            }
            let is_form = FINAL_OUTPUT.contains(&rule) && subject.meant != Meant::Message;
            has_calls || (!is_form && rule != REFUSED)
        };
        let about = { self.findings.iter() }.filter(|finding| {
            finding.severity > Severity::Info
                && !NOT_OF_THE_REPLY.contains(&finding.rule.id)
                && self.is_about(finding)
        });
        about.filter(counts).collect()
    }

    fn same_mistake(
        &self,
        subject: &Subject,
        failed: Option<&FailedCall>,
        mistakes: &[&Finding],
        calls: &[Called<'_>],
    ) -> Option<String> {
        let is_same = |finding: &&&Finding| {
            let is_of_a_tool = !subject.tool.is_empty() && !FINAL_OUTPUT.contains(&finding.rule.id);
            finding.rule.id == subject.rule
                && (!is_of_a_tool || { finding.tool(self.session) }
                    .is_some_and(|tool| is_same_tool(tool, &subject.tool)))
        };
        if let Some(finding) = mistakes.iter().find(is_same) {
            let tool = finding.tool(self.session).unwrap_or_default();
            return Some(match finding.rule.id {
                UNKNOWN => format!("calls {tool} again"),
                rule => format!("again {rule}: {}", excerpt(&finding.message())),
            });
        }
        let failed = failed.filter(|failed| {
            OF_OUTPUTS.contains(&subject.rule.as_str()) && !failed.may_work_again
        })?;
        let again = calls.iter().find(|call| failed.is_made_by(call))?;
        Some(format!(
            "calls {} again with the same arguments",
            again.tool
        ))
    }

    /// What a finding says, as a reason.
    fn told(&self, finding: &Finding) -> String {
        match (finding.rule.id, finding.tool(self.session)) {
            (UNKNOWN, Some(tool)) => format!("{UNKNOWN}: {tool}"),
            (rule, _) => format!("{rule}: {}", excerpt(&finding.message())),
        }
    }

    /// Judges a reply whose calls are sound; `None` where it has none, or where it ran hosted tools on the
    /// way to its message.
    fn judge_calls(&self, subject: &Subject, calls: &[Called<'_>]) -> Option<(Class, String)> {
        let is_on_the_way = subject.meant == Meant::Message;
        if { calls.iter() }.all(|call| call.is_hosted && is_on_the_way) {
            return None;
        }
        let mut names: Vec<&str> = calls.iter().map(|call| call.tool).collect();
        names.dedup();
        let names = names.join(", ");
        Some(match &subject.meant {
            Meant::AnyTool | Meant::Otherwise => (Class::Corrected, format!("calls {names}")),
            Meant::Tool(meant) if calls.iter().any(|call| self.is_meant(call, meant)) => {
                (Class::Corrected, format!("calls {names}"))
            }
            Meant::Tool(meant) => (
                Class::OtherMistake,
                format!("sound, but calls {names} and not {meant}"),
            ),
            Meant::Message => (
                Class::OtherMistake,
                format!("sound, but calls {names} in place of the final message"),
            ),
        })
    }

    /// Whether a call goes to the tool that was meant. The name counts as it is offered; where it is not
    /// offered so, it may be written with another prefix, namespace, case or separator.
    fn is_meant(&self, call: &Called<'_>, meant: &str) -> bool {
        let first = u32::try_from(self.first).unwrap_or(u32::MAX);
        let offered = self.session.contract.tools_at(first);
        let is_offered = || offered.iter().any(|tool| tool.name == meant);
        call.tool == meant || (!is_offered() && is_same_tool(call.tool, meant))
    }

    /// Judges a reply without calls.
    fn judge_text(&self, subject: &Subject, text: &str) -> (Class, String) {
        let is_refused = { self.findings.iter() }
            .any(|finding| finding.rule.id == REFUSED && self.is_about(finding));
        if is_refused {
            return (Class::GaveUp, format!("refused: {}", excerpt(text)));
        }
        if text.trim().is_empty() {
            let class = match subject.rule == MISSING {
                true => Class::SameMistake,
                false => Class::GaveUp,
            };
            return (class, "an empty reply".to_owned());
        }
        let says = format!("says: {}", excerpt(text));
        if subject.meant == Meant::Message {
            return (Class::Corrected, says);
        }
        match question::question(text) {
            None if subject.meant == Meant::Otherwise => (Class::Corrected, says),
            Some(question) => (Class::AskedUser, format!("asks: {}", excerpt(question))),
            None => (Class::GaveUp, says),
        }
    }

    /// What the messages of the reply say.
    fn text(&self) -> Result<String, SourceError> {
        let mut texts = Vec::new();
        for (_, item) in self
            .items()
            .filter(|(_, item)| item.kind == Kind::Assistant)
        {
            let bytes = self.session.bytes(item)?;
            // What is no JSON was told when it was read; it says nothing here.
            texts.extend(body_of(item, &bytes).ok().map(|body| body.text));
        }
        Ok(texts.join("\n"))
    }
}

/// Whether two names are the same tool, perhaps with another prefix, namespace, case or separator.
fn is_same_tool(one: &str, other: &str) -> bool {
    let is_same = || {
        let near = suggest::nearest(one, &[other]);
        near.iter()
            .any(|near| near.why == SuggestionReason::SameTool)
    };
    one == other || is_same()
}

/// A text on one line, shortened.
fn excerpt(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(EXCERPT).collect();
    let line = words.join(" ");
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
