//! Every rule, and how they run over a session: the items first (in parts, side by side if the caller wishes), then
//! the session.

use super::error_class::{ErrorClass, classify, reports_error};
use super::finding::{Finding, Rule, Scope, Severity, UNSENT};
use super::run::{
    CheckedItem, Digest, Digests, OUTPUT_HEAD, Run, digest_of_call, digest_of_output,
};
use crate::actions::{Safety, quote};
use crate::json::complete;
use crate::session::{Flags, Item, Kind, ReadAhead, Session, SourceError, Span, index_number};
use crate::wire::provider_errors::Fault;
use crate::wire::{Body, body_of};
use std::ops::Range;

/// Every rule, in the order in which they are listed and explained. Those of a session run in this order, too:
/// turn-limit looks at what the rules before it found.
pub const RULES: &[&Rule] = &[
    &super::unknown_tool::RULE,
    &super::malformed_arguments::RULE,
    &super::invalid_arguments::RULE,
    &super::duplicate_argument_key::RULE,
    &super::orphan_call::RULE,
    &super::pending_call::RULE,
    &super::orphan_output::RULE,
    &super::misplaced_output::RULE,
    &super::duplicate_call_id::RULE,
    &super::duplicate_output::RULE,
    &super::missing_call_id::RULE,
    &super::invalid_tool_name::RULE,
    &super::malformed_message::RULE,
    &super::orphan_reasoning::RULE,
    &super::invalid_final_output::RULE,
    &super::missing_final_output::RULE,
    &super::truncated_response::RULE,
    &super::refused::RULE,
    &super::leaked_tool_call::RULE,
    &super::tool_error::RULE,
    &super::repeated_call::RULE,
    &super::failing_tool::RULE,
    &super::split_pair::RULE,
    &super::turn_limit::RULE,
    &super::assistant_prefill::RULE,
    &super::missing_signature::RULE,
    &super::image_limits::RULE,
    &super::invalid_tool_definition::RULE,
    &super::orphan_hosted_result::RULE,
    &super::stop_reason_mismatch::RULE,
    &super::broken_chain::RULE,
    &super::provider_error::RULE,
    &super::run_failed::RULE,
];

/// What `check` alone says beside the rules: nothing that breaks a run, and nothing that a run, a proxy or
/// `fix` has to decide about.
pub const HINTS: &[&Rule] = &[&super::exposed_secret::RULE];

/// Every rule; hints come last.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().chain(HINTS).copied()
}

/// The rules whose findings `fix` may mend or that leave a history broken: errors, calls that wait, and whatever
/// offers something safe.
pub fn mending_rules() -> Vec<&'static Rule> {
    let offers_safe = |rule: &&Rule| rule.offers.iter().any(|offer| offer.safety == Safety::Safe);
    let rules = RULES.iter().copied();
    rules
        .filter(|rule| {
            let is_open = rule.id == super::pending_call::RULE.id;
            rule.severity == Severity::Error || is_open || offers_safe(rule)
        })
        .collect()
}

pub fn find(id: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.id == id)
}

/// Rules that compare each call and output with those before it: they need the digests of all.
const NEED_ALL_DIGESTS: &[&str] = &["repeated-call", "failing-tool"];

/// Runs every rule, one after the other.
pub fn check(run: &mut Run<'_>) -> Result<Vec<Finding>, SourceError> {
    check_by(run, RULES)
}

/// Runs some rules, one after the other.
pub fn check_by(run: &mut Run<'_>, rules: &[&'static Rule]) -> Result<Vec<Finding>, SourceError> {
    let (mut findings, digests) = check_items(run, 0..run.session.items.len(), rules)?;
    run.digests = Digests::new(digests);
    for rule in rules {
        check_rule(rule, run, &mut findings);
    }
    check_findings(run, rules, &mut findings);
    sort(&mut findings);
    Ok(findings)
}

/// Runs the rules of items among `rules` over a part of the items.
pub fn check_items(
    run: &Run<'_>,
    part: Range<usize>,
    rules: &[&'static Rule],
) -> Result<(Vec<Finding>, Vec<Digest>), SourceError> {
    let mut findings = Vec::new();
    let mut digests = Vec::new();
    let mut ahead = ReadAhead::default();
    let mut wanted = Kind::ALL.to_vec();
    wanted.retain(|kind| rules.iter().any(|rule| wants(&rule.scope, *kind)));
    let keeps_digests = rules.iter().any(|rule| NEED_ALL_DIGESTS.contains(&rule.id));
    let leaves_digest =
        |item: &Item| keeps_digests && matches!(item.kind, Kind::Call | Kind::Output);
    let is_read = |item: &Item| leaves_digest(item) || wanted.contains(&item.kind);
    let items = run.session.items.get(part.clone()).unwrap_or_default();
    for (index, (place, item)) in part.zip(items.iter().enumerate()) {
        if !is_read(item) {
            continue;
        }
        if let Some(known) = run.known(index) {
            digests.extend(known.digest);
            continue;
        }
        let span = span_to_read(item, OUTPUT_HEAD);
        let next = (index + 1..).zip(&items[place + 1..]);
        let next = next.filter(|(index, item)| is_read(item) && run.known(*index).is_none());
        let next = next.map(|(_, item)| span_to_read(item, OUTPUT_HEAD));
        let bytes = ahead.read(&*run.session.source, span, next)?;
        if !leaves_digest(item) && !is_worth_a_look(item.kind, bytes, rules) {
            continue;
        }
        let Some(body) = decode(item, span != item.span, bytes) else {
            continue;
        };
        examine(run, index, item, &body, rules, &mut findings, &mut digests);
    }
    Ok((findings, digests))
}

/// What would be wrong with the arguments of a call that was written like this, in the words of its findings.
pub fn argument_faults(run: &Run<'_>, index: usize, bytes: &[u8]) -> Vec<String> {
    let judges = |rule: &&Rule| ["malformed-arguments", "invalid-arguments"].contains(&rule.id);
    let rules: Vec<_> = RULES.iter().copied().filter(judges).collect();
    let item = run.session.items.get(index);
    let Some((item, Ok(body))) = item.map(|item| (item, body_of(item, bytes))) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    examine(
        run,
        index,
        item,
        &body,
        &rules,
        &mut findings,
        &mut Vec::new(),
    );
    findings.iter().map(Finding::message).collect()
}

fn examine(
    run: &Run<'_>,
    index: usize,
    item: &Item,
    body: &Body,
    rules: &[&'static Rule],
    findings: &mut Vec<Finding>,
    digests: &mut Vec<Digest>,
) {
    let arguments = match item.kind {
        Kind::Call => body
            .arguments
            .json()
            .and_then(|text| serde_json::from_str(text).ok()),
        _ => None,
    };
    let number = index_number(index);
    let mut error = None;
    match item.kind {
        Kind::Call => digests.push(digest_of_call(number, body, arguments.as_ref())),
        Kind::HostedOutput if !item.flags.has(Flags::ERROR) => {}
        Kind::Output | Kind::HostedOutput => {
            let known = run.session.failures.get(&number);
            let known = known.and_then(|failure| ErrorClass::of_failure(*failure));
            error = classify(run.session, item, &body.text).map(|found| known.unwrap_or(found));
            digests.push(digest_of_output(number, item, body, error));
        }
        _ => {}
    }
    let subject = CheckedItem {
        index,
        item,
        body,
        arguments: arguments.as_ref(),
        error,
    };
    for rule in rules {
        if let Scope::Item { kinds, check, .. } = &rule.scope
            && kinds.contains(&item.kind)
        {
            check(run, &subject, findings);
        }
    }
}

/// What rules of the session read of single items.
impl Run<'_> {
    /// The digest of a call or output, read where the item pass kept none.
    pub(crate) fn digest(&self, index: usize) -> Option<Digest> {
        if let Some(known) = self.digests.get(index) {
            return Some(*known);
        }
        let body = self.body(index)?;
        let item = self.session.items.get(index)?;
        let mut digests = Vec::new();
        examine(self, index, item, &body, &[], &mut Vec::new(), &mut digests);
        digests.pop()
    }

    /// The body of an item; of an output only its beginning. `None` where the bytes cannot be read or are not JSON,
    /// which the reader has reported.
    pub(super) fn body(&self, index: usize) -> Option<Body> {
        self.body_up_to(index, OUTPUT_HEAD)
    }

    /// The same, with so many bytes of an output.
    fn body_up_to(&self, index: usize, most: u64) -> Option<Body> {
        let item = self.session.items.get(index)?;
        let span = span_to_read(item, most);
        let bytes = self.session.source.read(span).ok()?;
        decode(item, span != item.span, &bytes)
    }

    /// The text of an item, with more of an output than findings are made from.
    pub(super) fn long_text(&self, index: usize) -> String {
        let body = self.body_up_to(index, LONG_OUTPUT);
        body.map(|body| body.text).unwrap_or_default()
    }

    /// The output that follows the call at `index`, and whether it reports an error to the model.
    pub(crate) fn answer(&self, index: usize) -> Option<(usize, bool)> {
        let output = self.session.pairing.partner(index)?;
        let item = self.session.items.get(output).filter(|_| output > index)?;
        let reports = reports_error(self.session, item, &self.body(output)?.text);
        Some((output, reports))
    }

    /// The text of an item; empty where it cannot be read.
    pub(crate) fn text(&self, index: usize) -> String {
        self.body(index).map(|body| body.text).unwrap_or_default()
    }

    /// The arguments of a call; `None` where they are no JSON.
    pub(crate) fn arguments(&self, index: usize) -> Option<serde_json::Value> {
        serde_json::from_str(self.body(index)?.arguments.json()?).ok()
    }

    /// The first line of an item that says something; empty where it cannot be read.
    pub(crate) fn quote(&self, index: usize) -> String {
        quote(&self.text(index))
    }
}

/// Bytes that are read of an output where its end matters.
const LONG_OUTPUT: u64 = 64 * 1024;

/// What of an item is read: of an output at most so many bytes.
fn span_to_read(item: &Item, most: u64) -> Span {
    match item.kind {
        Kind::Output | Kind::HostedOutput => item.span.head(most),
        _ => item.span,
    }
}

/// Whether an output says that its call failed: what the rule `tool-error` finds.
pub fn reports_failure(session: &Session, output: &Item) -> Result<bool, SourceError> {
    if output.kind == Kind::HostedOutput || output.flags.has(Flags::ERROR) {
        return Ok(output.flags.has(Flags::ERROR));
    }
    let span = span_to_read(output, OUTPUT_HEAD);
    let bytes = session.source.read(span)?;
    let body = decode(output, span != output.span, &bytes);
    Ok(body.is_some_and(|body| classify(session, output, &body.text).is_some()))
}

fn decode(item: &Item, is_partial: bool, bytes: &[u8]) -> Option<Body> {
    if is_partial {
        body_of(item, &complete(bytes)).ok()
    } else {
        body_of(item, bytes).ok()
    }
}

/// Whether a rule wants more than a glance at an item of this kind.
fn is_worth_a_look(kind: Kind, bytes: &[u8], rules: &[&'static Rule]) -> bool {
    rules.iter().any(|rule| match &rule.scope {
        Scope::Item { kinds, glance, .. } => kinds.contains(&kind) && glance(bytes),
        Scope::Session(_) | Scope::Findings(_) => false,
    })
}

fn wants(scope: &Scope, kind: Kind) -> bool {
    matches!(scope, Scope::Item { kinds, .. } if kinds.contains(&kind))
}

/// Runs one rule if it is a rule of the session; such rules need not know of each other.
pub fn check_rule(rule: &Rule, run: &Run<'_>, findings: &mut Vec<Finding>) {
    if let Scope::Session(check) = &rule.scope {
        check(run, findings);
    }
}

/// Runs those of the rules that look at what all others found.
pub fn check_findings(run: &Run<'_>, rules: &[&'static Rule], findings: &mut Vec<Finding>) {
    for rule in rules {
        if let Scope::Findings(check) = &rule.scope {
            check(run, findings);
        }
    }
    for finding in findings {
        let item = finding
            .item
            .and_then(|item| run.session.items.get(item as usize));
        let is_sent = item.is_none_or(|item| !item.flags.has(Flags::COMPACTED));
        if !is_sent && finding.severity == Severity::Error && Fault::is_refused(finding.rule.id) {
            finding.facts.push((UNSENT, "yes".to_owned()));
            finding.severity = Severity::Warning;
        }
    }
}

/// Puts findings in the order of the history, those of one item in the order of the rules.
pub fn sort(findings: &mut [Finding]) {
    let rank = |finding: &Finding| RULES.iter().position(|rule| rule.id == finding.rule.id);
    findings.sort_by_key(|finding| (finding.item.unwrap_or(u32::MAX), rank(finding)));
}
