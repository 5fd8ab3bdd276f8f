//! What the model did in its next turn, judged by what the rules find in it.
//!
//! The first of these that holds, in this order:
//!
//! 1. **looped**: a call of the new turn appears with the same tool and the same arguments at least twice
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
//! An empty reply, without text and call, is the same mistake where missing-final-output was reported. How a
//! dialect spells nothing, and whether its provider would take that back, does not matter.
//!
//! That the new calls have no output yet is not a fault. Where a call was meant, a final message of the
//! wrong form is a model that asks or gives up, not another mistake: the form says nothing that the
//! missing call does not say.

use super::board::Class;
use super::experiment::{Meant, Subject};
use crate::engine::arguments::says_the_same;
use crate::rules::{ErrorClass, Finding, Severity};
use crate::session::{Flags, Item, Kind, Session, SourceError};
use crate::suggest::{self, SuggestionReason};
use crate::wire::body_of;

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

#[derive(Debug, Clone, Copy)]
pub struct JudgedReply<'a> {
    /// The take with the reply at its end.
    pub session: &'a Session,
    /// Index of the first item of the reply; the number of items where it is empty.
    pub first: usize,
    /// What the rules find in the session.
    pub findings: &'a [Finding],
}

/// What the model did, and why, in a few words that hold text from outside. `failed` is the call
/// of the finding, where it is about one. Fails where the source cannot be read.
pub fn classify(
    reply: &JudgedReply<'_>,
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
        return Ok((Class::OtherMistake, reply.reason_of(worst)));
    }
    match reply.judge_calls(subject, &calls) {
        Some(judged) => Ok(judged),
        None => Ok(reply.judge_text(subject, &text)),
    }
}

impl<'a> JudgedReply<'a> {
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

    fn reason_of(&self, finding: &Finding) -> String {
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
        match question(text) {
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
            // What is no JSON was reported when it was read; it says nothing here.
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

// Calls as they are compared: a tool with what it was called with.

/// The call that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedCall {
    /// The tool, as the model spelled it, with its namespace.
    pub tool: String,
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
    fn is_made_by(&self, call: &Called<'_>) -> bool {
        call.tool == self.tool && says_the_same(&call.arguments, &self.arguments)
    }
}

#[derive(Debug)]
struct Called<'a> {
    /// The tool, with its namespace.
    tool: &'a str,
    arguments: String,
    /// Whether the provider runs it.
    is_hosted: bool,
}

fn called(session: &Session, index: usize) -> Result<Called<'_>, SourceError> {
    let item = &session.items[index];
    let bytes = session.bytes(item)?;
    // A call that is no JSON at all has no arguments that could be compared; the reader has reported it.
    let body = body_of(item, &bytes).unwrap_or_default();
    Ok(Called {
        tool: session.name(item),
        arguments: body.arguments.as_written().to_owned(),
        is_hosted: item.kind != Kind::Call,
    })
}

/// Whether the item at `index` is the same call, in the part of the history that the model still sees.
fn same_call(session: &Session, index: usize, call: &Called<'_>) -> Result<bool, SourceError> {
    let item = &session.items[index];
    let is_of_the_tool = item.kind == Kind::Call
        && !item.flags.has(Flags::COMPACTED)
        && session.name(item) == call.tool;
    Ok(is_of_the_tool && says_the_same(&called(session, index)?.arguments, &call.arguments))
}

// Whether a text ends by asking its reader something.

/// Marks that end a question: of Latin and most scripts, full-width, Arabic, Greek, Armenian, Ethiopic, Vai,
/// and marks that hold one.
const MARKS: &[char] = &[
    '?', '\u{ff1f}', '\u{61f}', '\u{37e}', '\u{55e}', '\u{1367}', '\u{a60f}', '\u{2047}',
    '\u{2048}', '\u{2049}', '\u{203d}',
];
/// What may follow the mark of a question: exclamation, emphasis and closing brackets. A closing
/// quotation mark may not: then the question is somebody else's.
const BEHIND: &[char] = &['!', '\u{ff01}', '*', '_', ')', ']', '\u{ff09}'];
/// What begins an item of a list, beside numbers.
const BULLETS: &[char] = &['-', '*', '•', '+', '–'];
/// What ends a sentence, beside the marks of questions.
const ENDS: &[char] = &['.', '!', '。', '！', '\n', ':', '：'];

/// The question that a text ends with.
///
/// A heuristic: the last sentence ends with a question mark of some script, or a list of answers follows such
/// a sentence. Code, quoted lines and the question mark of an address do not count. A request without a
/// question mark ("Tell me the date.") is not seen, and a question for the sake of speech ("Anything else?")
/// is taken for one.
fn question(text: &str) -> Option<&str> {
    let lines = spoken(text);
    let last = *lines.last()?;
    if let Some(question) = question_in(last) {
        return Some(question);
    }
    let before = lines.iter().rev().find(|line| !is_of_list(line))?;
    question_in(before).filter(|_| is_of_list(last))
}

/// The lines that say something: none of code, none that quotes.
fn spoken(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let lines = text.lines().map(str::trim).filter(|line| {
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        is_code ^= is_fence;
        !is_fence && !is_code && !line.is_empty() && !line.starts_with('>')
    });
    lines.collect()
}

fn is_of_list(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    let is_numbered = line.len() - number.len() <= 2
        && number.len() < line.len()
        && number.starts_with(['.', ')'])
        && number[1..].starts_with(char::is_whitespace);
    let rest = line.strip_prefix(BULLETS);
    is_numbered || rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
}

/// The last sentence of a line, if it is a question.
fn question_in(line: &str) -> Option<&str> {
    let trimmed = |c: char| BEHIND.contains(&c) || is_picture(c) || c.is_whitespace();
    let end = line.trim_end_matches(trimmed);
    let before = end.strip_suffix(MARKS)?;
    if is_in_code(end) || is_end_of_address(before) {
        return None;
    }
    let mut inside = before.trim_end_matches(MARKS);
    // A mark inside a word (an address, a number) ends no sentence.
    loop {
        let Some(at) = inside.rfind(|c| ENDS.contains(&c) || MARKS.contains(&c)) else {
            return Some(end.trim_start());
        };
        let after = at + inside[at..].chars().next().map_or(0, char::len_utf8);
        let is_wide = inside[at..].chars().next().is_some_and(|c| !c.is_ascii());
        if is_wide || end[after..].starts_with(char::is_whitespace) {
            return Some(end[after..].trim_start());
        }
        inside = &inside[..at];
    }
}

/// Whether the end of a line is between backticks.
fn is_in_code(line: &str) -> bool {
    line.matches('`').count() % 2 == 1
}

/// Whether a question mark after this text belongs to an address: `https://example.org/?`.
fn is_end_of_address(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next();
    word.is_some_and(|word| word.contains("://") && word.ends_with(|c: char| "/=&?".contains(c)))
}

/// Emoji and their joiners.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}' | '\u{fe0f}' | '\u{200d}')
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;

#[cfg(test)]
mod question_tests {
    use super::question;

    #[test]
    fn the_last_sentence_counts_in_every_script() {
        for (text, asked) in [
            ("Which date?", "Which date?"),
            (
                "I found two. Which one do you want?",
                "Which one do you want?",
            ),
            (
                "One.\n\n**Shall I book QX 4.5 for you?** 🙂",
                "**Shall I book QX 4.5 for you?",
            ),
            ("Really?!", "Really?"),
            ("日付はいつですか？", "日付はいつですか？"),
            ("見つかりました。どれにしますか？", "どれにしますか？"),
            ("متى تريد السفر؟", "متى تريد السفر؟"),
            ("Did you mean \"JFK\"?", "Did you mean \"JFK\"?"),
            ("Did you mean `find`?", "Did you mean `find`?"),
            (
                "Is it https://example.org/a?",
                "Is it https://example.org/a?",
            ),
        ] {
            assert_eq!(question(text), Some(asked), "{text}");
        }
    }

    #[test]
    fn a_list_of_answers_belongs_to_its_question() {
        assert_eq!(
            question("Which one?\n\n- KS 218\n- KS 220"),
            Some("Which one?")
        );
        assert_eq!(
            question("I need two things:\n1. Which date?\n2. Which airport?"),
            Some("Which airport?")
        );
        assert_eq!(question("What I did?\n- searched\nThat is all."), None);
    }

    #[test]
    fn code_addresses_quotations_and_earlier_questions_are_not_asked() {
        for text in [
            "",
            "I could not find it.",
            "Which date? I take the 10th.",
            "See https://example.org/search/?",
            "See https://example.org/search?q=1",
            "The user asked: \"Which date?\"",
            "> Which date?",
            "I ran this:\n```\nis_open?\n```",
            "The name is `open?`",
            "Use `a ?",
        ] {
            assert_eq!(question(text), None, "{text}");
        }
    }
}
