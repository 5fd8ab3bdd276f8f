//! Runs the rules over a session: the items first (in parts, side by side if the caller
//! wishes), then the session.

use super::error_class::classify;
use super::{CheckedItem, Digest, Digests, ErrorClass, Finding, RULES, Rule, Run, Scope, digest};
use crate::actions::quote;
use crate::dialects::{Body, body_of};
use crate::json::complete;
use crate::session::{Flags, Item, Kind, SourceError};
use std::ops::Range;

/// How much of an output is read: error texts stand at its beginning.
pub(super) const OUTPUT_HEAD: u64 = 768;

/// Rules that compare each call and output with those before it: they need the digests of all.
const NEED_ALL_DIGESTS: &[&str] = &["repeated-call", "failing-tool"];

/// Runs every rule, one after the other.
pub fn check(run: &Run<'_>) -> Result<Vec<Finding>, SourceError> {
    Ok(check_by(run, RULES)?.0)
}

/// Runs some rules, one after the other; gives what they found and what the item pass remembers.
pub fn check_by(
    run: &Run<'_>,
    rules: &[&'static Rule],
) -> Result<(Vec<Finding>, Digests), SourceError> {
    let (mut findings, digests) = check_items(run, 0..run.session.items.len(), rules)?;
    let digests = Digests::new(digests);
    for rule in rules {
        check_rule(rule, run, &digests, &mut findings);
    }
    check_findings(run, rules, &mut findings);
    sort(&mut findings);
    Ok((findings, digests))
}

/// Runs the rules of items among `rules` over a part of the items.
pub fn check_items(
    run: &Run<'_>,
    part: Range<usize>,
    rules: &[&'static Rule],
) -> Result<(Vec<Finding>, Vec<Digest>), SourceError> {
    let mut findings = Vec::new();
    let mut digests = Vec::new();
    let mut bytes = Vec::new();
    let wanted = Kind::ALL
        .map(|(kind, _)| kind)
        .into_iter()
        .filter(|kind| rules.iter().any(|rule| wants(&rule.scope, *kind)));
    let wanted = wanted.collect::<Vec<_>>();
    let keeps_digests = rules.iter().any(|rule| NEED_ALL_DIGESTS.contains(&rule.id));
    for index in part {
        let Some(item) = run.session.items.get(index) else {
            break;
        };
        let leaves_digest = keeps_digests && matches!(item.kind, Kind::Call | Kind::Output);
        if !leaves_digest && !wanted.contains(&item.kind) {
            continue;
        }
        if let Some(known) = run.known(index) {
            digests.extend(known.digest);
            continue;
        }
        let is_partial = read_bytes(run, item, &mut bytes)?;
        if !leaves_digest && !is_worth_a_look(item.kind, &bytes, rules) {
            continue;
        }
        let Some(body) = decode(item, is_partial, &bytes) else {
            continue;
        };
        examine(run, index, item, &body, rules, &mut findings, &mut digests);
    }
    Ok((findings, digests))
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
    let number = u32::try_from(index).unwrap_or(u32::MAX);
    let mut error = None;
    match item.kind {
        Kind::Call => digests.push(digest::of_call(number, body, arguments.as_ref())),
        Kind::HostedOutput if !item.flags.has(Flags::ERROR) => {}
        Kind::Output | Kind::HostedOutput => {
            let known = run.session.failures.get(&number);
            let known = known.and_then(|failure| ErrorClass::of_failure(*failure));
            error = classify(run.session, item, &body.text).map(|found| known.unwrap_or(found));
            digests.push(digest::of_output(number, item, body, error));
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

/// The digest of a call or output that the item pass left out.
pub(super) fn read_digest(run: &Run<'_>, index: usize) -> Option<Digest> {
    let item = run.session.items.get(index)?;
    let body = read_body(run, item, &mut Vec::new()).ok().flatten()?;
    let mut digests = Vec::new();
    examine(run, index, item, &body, &[], &mut Vec::new(), &mut digests);
    digests.pop()
}

/// The body of an item; of an output only its beginning. `None` where the bytes are not JSON, which
/// the reader has reported.
fn read_body(run: &Run<'_>, item: &Item, bytes: &mut Vec<u8>) -> Result<Option<Body>, SourceError> {
    let is_partial = read_bytes(run, item, bytes)?;
    Ok(decode(item, is_partial, bytes))
}

/// Reads the bytes of an item; says whether they are only its beginning.
fn read_bytes(run: &Run<'_>, item: &Item, bytes: &mut Vec<u8>) -> Result<bool, SourceError> {
    let is_output = matches!(item.kind, Kind::Output | Kind::HostedOutput);
    let span = if is_output {
        item.span.head(OUTPUT_HEAD)
    } else {
        item.span
    };
    run.session.source.read_into(span, bytes)?;
    Ok(span != item.span)
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

/// The text of an item, for rules of the session; empty where it cannot be read.
pub(super) fn text_of(run: &Run<'_>, index: usize) -> String {
    let item = run.session.items.get(index);
    let body = item.and_then(|item| read_body(run, item, &mut Vec::new()).ok().flatten());
    body.map(|body| body.text).unwrap_or_default()
}

/// The arguments of a call, for rules of the session; `None` where they are no JSON.
pub(super) fn arguments_of(run: &Run<'_>, index: usize) -> Option<serde_json::Value> {
    let item = run.session.items.get(index)?;
    let body = read_body(run, item, &mut Vec::new()).ok().flatten()?;
    serde_json::from_str(body.arguments.json()?).ok()
}

/// The first line of an item that says something, for rules of the session that quote it; empty where
/// it cannot be read.
pub(super) fn quote_item(run: &Run<'_>, index: usize) -> String {
    quote(&text_of(run, index))
}

fn wants(scope: &Scope, kind: Kind) -> bool {
    matches!(scope, Scope::Item { kinds, .. } if kinds.contains(&kind))
}

/// Runs one rule if it is a rule of the session; such rules need not know of each other.
pub fn check_rule(rule: &Rule, run: &Run<'_>, digests: &Digests, findings: &mut Vec<Finding>) {
    if let Scope::Session(check) = &rule.scope {
        check(run, digests, findings);
    }
}

/// Runs those of the rules that look at what all others found.
pub fn check_findings(run: &Run<'_>, rules: &[&'static Rule], findings: &mut Vec<Finding>) {
    for rule in rules {
        if let Scope::Findings(check) = &rule.scope {
            check(run, findings);
        }
    }
}

/// Puts findings in the order of the history, those of one item in the order of the rules.
pub fn sort(findings: &mut [Finding]) {
    let rank = |finding: &Finding| RULES.iter().position(|rule| rule.id == finding.rule.id);
    findings.sort_by_key(|finding| (finding.item.unwrap_or(u32::MAX), rank(finding)));
}
