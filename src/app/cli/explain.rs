//! `explain`: the page of a rule, the list of rules, or (in `explain_error`) a provider's error decoded.

use super::arguments::ExplainArguments;
use super::exit::{Exit, Failure};
use super::explain_error;
use super::output::{Output, safe_line};
use super::style::Palette;
use retake_core::rules::{self, Rule};
use retake_core::safe_text::SafeText;
use retake_core::{actions, suggest};
use std::io::{self, Write};

/// Width of the pages.
const WIDTH: usize = 88;

/// Explains a rule or an error.
pub(super) fn run(arguments: &ExplainArguments) -> Result<Exit, Failure> {
    if let Some(text) = &arguments.error {
        return explain_error::run(arguments, text);
    }
    let palette = Palette::of_stdout(arguments.color);
    let Some(subject) = &arguments.subject else {
        let mut output = Output::stdout();
        list(&mut output, palette)?;
        output.finish()?;
        return Ok(Exit::Clean);
    };
    let id = subject.to_string_lossy();
    let rule = rules::find(&id).ok_or_else(|| unknown(&id))?;
    let mut output = Output::stdout();
    page(&mut output, rule, palette)?;
    output.finish()?;
    Ok(Exit::Clean)
}

fn unknown(id: &str) -> Failure {
    let message = format!("no rule is called {}", safe_line(id));
    let known = rules::all().map(|rule| rule.id).collect::<Vec<_>>();
    match suggest::nearest(id, &known).first() {
        Some(near) => Failure::with_hint(message, format!("did you mean {}?", near.name)),
        None => Failure::with_hint(message, "`retake explain` lists the rules"),
    }
}

fn list(out: &mut impl Write, palette: Palette) -> io::Result<()> {
    let width = rules::all().map(|rule| rule.id.len()).max().unwrap_or(0);
    for rule in rules::all() {
        let severity = palette.severity(rule.severity);
        let gap = " ".repeat("warning".len() - rule.severity.word().len());
        let id = palette.bold(format!("{:width$}", rule.id));
        writeln!(out, "{severity}{gap}  {id}  {}", rule.summary)?;
    }
    Ok(())
}

fn page(out: &mut impl Write, rule: &Rule, palette: Palette) -> io::Result<()> {
    let severity = palette.severity(rule.severity);
    writeln!(
        out,
        "{} ({severity}): {}",
        palette.bold(rule.id),
        rule.summary
    )?;
    let page = &rule.page;
    let sections = [
        ("What it finds", page.what),
        ("Why it matters", page.why),
        ("Example", page.example),
        ("What to do", page.what_to_do),
        ("Limits", page.limits),
    ];
    for (title, text) in sections {
        section(out, palette, title, text)?;
    }
    if !rule.offers.is_empty() {
        writeln!(out, "\n{}", palette.bold("Offers"))?;
    }
    for offer in rule.offers {
        let what = actions::find(offer.action).map_or("", |action| action.what);
        let safety = offer.safety.word();
        writeln!(out, "  {:<16} {safety:<6}  {what}", offer.action)?;
    }
    Ok(())
}

/// A heading with a text under it, wrapped.
pub(super) fn section(
    out: &mut impl Write,
    palette: Palette,
    title: &str,
    text: &str,
) -> io::Result<()> {
    writeln!(out, "\n{}", palette.bold(title))?;
    for line in SafeText::from_str(text).wrapped(WIDTH) {
        writeln!(out, "  {}", line.as_plain().trim_end())?;
    }
    Ok(())
}
