//! Heals a recorded history: applies every action that is safe, and writes the text with everything else as it was.
//!
//! `cargo run -p retake-core --example heal < broken.json > healed.json`

#![allow(clippy::print_stdout, clippy::print_stderr)]

use retake_core::actions::{self, ActionInput, Plan, Safety};
use retake_core::formats::{self, Sample};
use retake_core::rules::{Finding, Run, check, of_turn};
use retake_core::session::{Rope, Session, Source, Span};
use std::error::Error;
use std::io::{self, Read, Write};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    let format = formats::recognise(&Sample::new(&bytes, true)).ok_or("no format is recognised")?;
    if !formats::is_written(format) {
        return Err(format!("{} are not written", format.title).into());
    }

    let recorded: Arc<dyn Source> = Arc::new(bytes);
    let mut rope = Arc::new(Rope::new(recorded));
    // A fix moves what comes after it, and a fixed defect may show another: the text is read again after each.
    while let Some(next) = step(format, &rope)? {
        rope = Arc::new(next);
    }
    Ok(io::stdout().write_all(&text(&rope)?)?)
}

/// The text after one more safe fix; `None` where none is left.
fn step(format: &formats::Format, rope: &Arc<Rope>) -> Result<Option<Rope>, Box<dyn Error>> {
    let source: Arc<dyn Source> = rope.clone();
    let contents = formats::read_buffer(format, &source, &text(rope)?)?;
    for session in &contents.sessions {
        let findings = check(&mut Run::new(session, None))?;
        for finding in &findings {
            let Some((action, plan)) = safe_plan(session, &findings, finding) else {
                continue;
            };
            match formats::lower(session, &plan.edits) {
                Ok(splices) => {
                    eprintln!("{}: {action}", finding.message());
                    return Ok(Some(rope.spliced(&splices)));
                }
                Err(error) => eprintln!("{}: left, {error}", finding.message()),
            }
        }
    }
    Ok(None)
}

/// What the first safe offer of a finding would do, if it does something.
fn safe_plan(
    session: &Session,
    findings: &[Finding],
    finding: &Finding,
) -> Option<(&'static str, Plan)> {
    let run = Run::new(session, None);
    let beside = of_turn(session, findings, finding);
    let scene = run.scene(finding.defect(), &beside)?;
    let safe = finding
        .offers
        .iter()
        .filter(|offer| offer.safety == Safety::Safe);
    let mut plans = safe.filter_map(|offer| {
        let action = actions::find(offer.action)?;
        let plan = (action.plan)(&scene, &ActionInput::default()).ok()?;
        Some((action.id, plan))
    });
    plans.find(|(_, plan)| !plan.edits.is_empty())
}

fn text(rope: &Rope) -> Result<Vec<u8>, Box<dyn Error>> {
    let all = Span {
        start: 0,
        end: rope.len(),
    };
    Ok(rope.read(all)?)
}
