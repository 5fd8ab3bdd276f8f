//! A rule, and one defect that it finds: where, how bad, on what evidence, made by what.

use super::run::{CheckedItem, Run};
use crate::actions::{Defect, Offer, Safety, ordinal};
use crate::json::pointer::readable;
use crate::session::{Kind, Session, index_number};
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Debug)]
pub struct Rule {
    /// Its id, stable for ever.
    pub id: &'static str,
    /// How bad a finding is unless it says otherwise.
    pub severity: Severity,
    /// When it fires, in one line.
    pub summary: &'static str,
    /// The sentence of a finding; see [`fill`] for its placeholders.
    pub message: &'static str,
    pub page: RulePage,
    /// The actions that may apply, the first one first.
    pub offers: &'static [Offer],
    /// What it looks at.
    pub scope: Scope,
}

/// What `explain` prints about a rule.
#[derive(Debug)]
pub struct RulePage {
    pub what: &'static str,
    /// Why that is bad for a run.
    pub why: &'static str,
    pub example: &'static str,
    /// What to do about it.
    pub what_to_do: &'static str,
    /// What it does not see, or cannot judge.
    pub limits: &'static str,
}

impl RulePage {
    /// Its parts, each with a heading.
    pub fn sections(&self) -> [(&'static str, &'static str); 5] {
        [
            ("What it finds", self.what),
            ("Why it matters", self.why),
            ("Example", self.example),
            ("What to do", self.what_to_do),
            ("Limits", self.limits),
        ]
    }
}

/// What a rule looks at.
#[derive(Debug)]
pub enum Scope {
    /// Each item of these kinds, with its body.
    Item {
        kinds: &'static [Kind],
        /// Whether the bytes of an item, as they stand, are worth a look; most are not, and are not decoded.
        glance: fn(&[u8]) -> bool,
        check: fn(&Run<'_>, &CheckedItem<'_>, &mut Vec<Finding>),
    },
    /// The session as a whole: heads, pairing, contract, [`Run::digests`].
    Session(fn(&Run<'_>, &mut Vec<Finding>)),
    /// The session, with what all other rules found in it.
    Findings(fn(&Run<'_>, &mut Vec<Finding>)),
}

/// How bad a finding is.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; nothing is broken.
    Info,
    /// It hurts the run, or will.
    Warning,
    /// It broke the run, or the provider will refuse it.
    Error,
}

impl Severity {
    /// Every severity, the mildest first.
    pub const ALL: &[Self] = <Self as strum::VariantArray>::VARIANTS;

    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// What made the defect, where the history tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
pub enum OrphanCause {
    /// A compaction cut the pair.
    #[strum(serialize = "compaction")]
    Compaction,
    /// The user interrupted the run.
    #[strum(serialize = "interrupt")]
    Interrupt,
    /// A user message came before the output.
    #[strum(serialize = "user message")]
    UserMessage,
    /// The reply was broken off or failed.
    #[strum(serialize = "failed reply")]
    FailedReply,
    /// An entry was never written, or its parent is missing.
    #[strum(serialize = "lost write")]
    LostWrite,
    /// The recording starts in the middle: the call is in an earlier file.
    #[strum(serialize = "recording starts late")]
    StartsLate,
    /// The file ends here.
    #[strum(serialize = "end of file")]
    EndOfFile,
    /// The run broke off while the tool ran.
    #[strum(serialize = "run broke off")]
    BrokenOff,
    /// It awaits a decision.
    #[strum(serialize = "approval")]
    Approval,
    /// The history was pruned or trimmed.
    #[strum(serialize = "pruned")]
    Pruned,
    /// The token limit cut the reply.
    #[strum(serialize = "token limit")]
    TokenLimit,
    /// The call itself was faulty, and the run ended on it.
    #[strum(serialize = "faulty call")]
    FaultyCall,
}

impl OrphanCause {
    /// The words for it in reports.
    pub fn words(self) -> &'static str {
        self.into()
    }
}

/// The other findings about the turn of a finding, for actions that settle all of its calls at once. `findings`
/// are in the order of the history.
pub fn beside<'f>(session: &Session, findings: &'f [Finding], own: &Finding) -> Vec<Defect<'f>> {
    let mut defects = of_turn(session, findings, own);
    defects.retain(|defect| defect.rule != own.rule.id || defect.item != own.item);
    defects
}

/// All findings about the turn of a finding, itself among them. `findings` are in the order of the history.
pub fn of_turn<'f>(session: &Session, findings: &'f [Finding], own: &Finding) -> Vec<Defect<'f>> {
    let item = own.item.and_then(|item| session.items.get(item as usize));
    let Some(turn) = item.and_then(|item| session.turns.get(item.turn as usize)) else {
        return Vec::new();
    };
    let before = |limit: u32| {
        findings.partition_point(|finding| finding.item.is_some_and(|item| item < limit))
    };
    findings[before(turn.first)..before(turn.end)]
        .iter()
        .map(Finding::defect)
        .collect()
}

/// The findings about an item and about the other half of its pair.
pub fn of_pair<'f>(
    session: &Session,
    findings: &'f [Finding],
    item: usize,
) -> impl Iterator<Item = &'f Finding> + use<'f> {
    let partner = session.pairing.partner(item);
    findings.iter().filter(move |finding| {
        let index = finding.item.map(|index| index as usize);
        index == Some(item) || (index.is_some() && index == partner)
    })
}

/// The tools that may have been meant by the call of a finding, the nearest first: as the finding says itself,
/// else as another one says of the call or of its output.
pub fn nearest_of<'f>(
    session: &Session,
    findings: &'f [Finding],
    own: &'f Finding,
) -> Option<&'f str> {
    let beside = of_pair(session, findings, own.item? as usize);
    std::iter::once(own)
        .chain(beside)
        .find_map(|finding| finding.get("nearest"))
}

/// The evidence that holds a provider's refusal of the request, at the item that it names.
pub const REFUSAL: &str = "refusal";

/// The evidence that holds the number of the output that answers a faulty call with an error.
const ANSWER: &str = "answer";
/// What was done about one that is settled.
pub const SETTLED: &str = "settled";
pub const IN_TRANSIT: &str = "fixed in transit";

/// The evidence that an agent does not send the item any more.
pub(super) const UNSENT: &str = "unsent";

#[derive(Clone)]
pub struct Finding {
    /// The rule that found it.
    pub rule: &'static Rule,
    /// How bad it is here.
    pub severity: Severity,
    /// Index of the item it is about; `None` where it is about the session.
    pub item: Option<u32>,
    /// Index of another item that belongs to the story: the partner, the first use of an
    /// id, the compaction mark.
    pub related: Option<u32>,
    /// JSON pointer into the arguments or the output, where the defect has a place in them.
    pub pointer: Option<String>,
    pub cause: Option<OrphanCause>,
    /// Evidence by name, for the message and for wordings: `tool`, `nearest`, `count`, ...
    pub facts: Vec<(&'static str, String)>,
    /// What can be done about it.
    pub offers: Vec<Offer>,
    /// Whether a take has resolved it: the fact stays in the history, and the model got the report.
    pub is_settled: bool,
}

impl fmt::Debug for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {}", self.rule.id, self.item, self.message())
    }
}

/// The fact of a provider's error that says that the history is invalid: it is refused each time it is sent.
pub(super) const REFUSES_HISTORY: &str = "history";

impl Finding {
    /// Whether it is a refusal of the history as it was sent. Its fact `rule` names the rule that finds the same
    /// fault, where there is one.
    pub fn refuses_history(&self) -> bool {
        self.get(REFUSES_HISTORY).is_some()
    }

    /// A finding of a rule about an item, with the rule's severity and all its offers.
    pub fn new(rule: &'static Rule, item: usize) -> Self {
        Self {
            rule,
            severity: rule.severity,
            item: u32::try_from(item).ok(),
            related: None,
            pointer: None,
            cause: None,
            facts: Vec::new(),
            offers: rule.offers.to_vec(),
            is_settled: false,
        }
    }

    /// Sets the item that it is about.
    pub fn about(mut self, item: usize) -> Self {
        self.item = u32::try_from(item).ok();
        self
    }

    /// Adds evidence; empty text is no evidence.
    pub fn fact(mut self, name: &'static str, value: impl Into<String>) -> Self {
        let value = value.into();
        if !value.is_empty() {
            self.facts.push((name, value));
        }
        self
    }

    pub fn because(mut self, cause: Option<OrphanCause>) -> Self {
        self.cause = cause;
        self
    }

    /// Sets the other item of the story.
    pub fn beside(mut self, item: Option<usize>) -> Self {
        self.related = item.and_then(|item| u32::try_from(item).ok());
        self
    }

    pub fn as_bad_as(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Of an error makes a warning, where that is all it is.
    pub fn warning_if(mut self, is_milder: bool) -> Self {
        if is_milder {
            self.severity = self.severity.min(Severity::Warning);
        }
        self
    }

    /// In a branch that the run has left (or a side chain) nothing is fatal: an error is a warning there, and
    /// nothing is offered as safe, so that a repair of all that is safe leaves dead branches alone.
    pub fn in_branch_of(self, session: &Session) -> Self {
        self.warning_if(!session.active)
            .offering(|offer| session.active || offer.safety != Safety::Safe)
    }

    /// Sets how safe an action is here.
    pub fn with_safety(mut self, action: &str, safety: Safety) -> Self {
        let offers = self.offers.iter_mut();
        offers
            .filter(|offer| offer.action == action)
            .for_each(|offer| offer.safety = safety);
        self
    }

    /// Of a faulty call: an error that replaces the answer which the model saw is not safe, and in a branch
    /// that the run has left nothing is.
    pub fn of_call(self, session: &Session) -> Self {
        let call = self.item.map_or(usize::MAX, |item| item as usize);
        let is_answered = session.pairing.partner(call).is_some();
        let finding = match is_answered {
            true => self.with_safety("inject-error", Safety::Unsafe),
            false => self,
        };
        finding.offering(|offer| session.active || offer.safety != Safety::Safe)
    }

    /// Of a faulty call: where an output reports an error, the model knows and the run goes on, so it is a
    /// warning. What a provider refuses whatever answers it stays an error.
    pub(super) fn answered_in(self, run: &Run<'_>) -> Self {
        let call = self.item.map_or(usize::MAX, |item| item as usize);
        match run.answer(call) {
            Some((output, true)) => self
                .fact(ANSWER, ordinal(index_number(output)))
                .warning_if(true),
            _ => self,
        }
    }

    /// Keeps only the offers that meet a condition.
    pub fn offering(mut self, keep: impl Fn(&Offer) -> bool) -> Self {
        self.offers.retain(keep);
        self
    }

    /// The evidence of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.facts
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The finding as actions see it.
    pub fn defect(&self) -> Defect<'_> {
        Defect {
            rule: self.rule.id,
            item: self.item,
            facts: &self.facts,
        }
    }

    /// The sentence. It holds text from the recording: draw it through [`crate::safe_text::SafeText`].
    pub fn message(&self) -> String {
        if let Some(refusal) = self.get(REFUSAL) {
            return format!("the provider refuses this: {refusal}");
        }
        let cause = self.cause.map(OrphanCause::words);
        let settled = self.get(SETTLED).unwrap_or("its output is of this take");
        let mut message = fill(self.rule.message, |name| match name {
            "cause" => cause.map(str::to_owned),
            "pointer" => self.pointer.as_deref().map(|it| readable(it).into_owned()),
            _ => self.get(name).map(str::to_owned),
        });
        if self.get(UNSENT).is_some() {
            message.push_str("; it is before a compaction, so the agent does not send it any more");
        }
        match self.get(ANSWER) {
            Some(output) => message.push_str(&format!(" (answered by item {output})")),
            None if self.is_settled => message.push_str(&format!(" ({settled})")),
            None => {}
        }
        message
    }

    /// What was done about one that is settled: its call was answered and stays in the history as it is, or
    /// another reply went out in its place.
    pub fn resolution(&self) -> &'static str {
        match self.get(SETTLED) {
            Some(IN_TRANSIT) => "fixed",
            Some(_) | None => "answered",
        }
    }

    /// The tool it is about: that of its item, that of the call which its item answers, or the one
    /// that its evidence names.
    pub fn tool<'a>(&'a self, session: &'a Session) -> Option<&'a str> {
        let index = self.item.map(|item| item as usize);
        let item = index.and_then(|index| session.items.get(index));
        let answered = index
            .filter(|_| item.is_some_and(|item| item.kind == Kind::Output))
            .and_then(|index| session.pairing.partner(index))
            .and_then(|call| session.items.get(call));
        let name = answered.or(item).map(|item| session.name(item));
        name.filter(|name| !name.is_empty()).or(self.get("tool"))
    }
}

/// Fills a message: `{name}` is the fact of that name; a part in square brackets stays only if all
/// its facts are known.
///
/// `"{tool} is not offered[; nearest: {nearest}]"` reads "serch is not offered; nearest: search", or
/// "serch is not offered".
fn fill(message: &str, fact: impl Fn(&str) -> Option<String>) -> String {
    let mut sentence = String::new();
    let mut rest = message;
    while let Some(open) = rest.find('[') {
        let Some(length) = rest[open..].find(']') else {
            break;
        };
        sentence.push_str(&fill_part(&rest[..open], &fact).0);
        let (part, complete) = fill_part(&rest[open + 1..open + length], &fact);
        if complete {
            sentence.push_str(&part);
        }
        rest = &rest[open + length + 1..];
    }
    sentence.push_str(&fill_part(rest, &fact).0);
    sentence
}

/// The part with its facts, and whether all of them are known.
fn fill_part(part: &str, fact: &impl Fn(&str) -> Option<String>) -> (String, bool) {
    let mut text = String::new();
    let mut complete = true;
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let (name, remainder) = after.split_once('}').unwrap_or((after, ""));
        match fact(name) {
            Some(value) => text.push_str(&value),
            None => complete = false,
        }
        rest = remainder;
    }
    text.push_str(rest);
    (text, complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_without_their_facts_are_left_out() {
        let message = "{tool} is not offered[; nearest: {nearest}][; {home}]";
        let told = |known: &[(&str, &str)]| {
            fill(message, |name| {
                known
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(
            told(&[("tool", "serch"), ("nearest", "search")]),
            "serch is not offered; nearest: search"
        );
        assert_eq!(told(&[("tool", "serch")]), "serch is not offered");
    }

    #[test]
    fn a_fact_with_brackets_is_only_text() {
        assert_eq!(
            fill("{tool} fails", |_| Some("[{tool}]".to_owned())),
            "[{tool}] fails"
        );
    }
}
