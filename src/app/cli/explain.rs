//! `explain`: the page of a rule, the list of rules, or (in `explain_error`) a provider's error decoded.

use super::arguments::ExplainArguments;
use super::exit::{Exit, Failure};
use super::inputs::{self, describe, inputs_of};
use super::output::{Output, counted, name_of, safe_line};
use super::report::details;
use super::style::Palette;
use retake_core::rules::{self, Finding, Rule};
use retake_core::safe_text::SafeText;
use retake_core::session::SourceError;
use retake_core::wire::provider_errors::{Decoded, decode};
use retake_core::{actions, suggest};
use retake_live::blame::{Suspect, SuspectReason, suspects};
use retake_live::report::{FindingReport, lined_records, position_of, session_names};
use retake_live::{
    FilePlace, InputError, Inputs, Opened, check_recording, exit_on_interrupt, file_places,
};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::Path;

/// Width of the pages.
const WIDTH: usize = 88;

/// Explains a rule or an error.
pub(super) fn run(arguments: &ExplainArguments) -> Result<Exit, Failure> {
    if let Some(text) = &arguments.error {
        return decode_error(arguments, text, arguments.subject.as_deref());
    }
    let palette = Palette::of_stdout(arguments.color);
    let Some(subject) = &arguments.subject else {
        let mut output = Output::stdout();
        list(&mut output, palette)?;
        output.finish()?;
        return Ok(Exit::Clean);
    };
    let id = subject.to_string_lossy();
    let mut output = Output::stdout();
    match rules::find(&id) {
        Some(rule) => page(&mut output, rule, palette)?,
        None if subject.exists() || id == "-" => recording(&mut output, arguments, palette)?,
        // No rule has blanks in its name: this is what a provider said.
        None if id.trim().contains(char::is_whitespace) => {
            return decode_error(arguments, &id, None);
        }
        None => return Err(unknown(&id)),
    }
    output.finish()?;
    Ok(Exit::Clean)
}

/// The pages of the rules that find something in a recording.
fn recording(
    out: &mut impl Write,
    arguments: &ExplainArguments,
    palette: Palette,
) -> Result<(), Failure> {
    let path = arguments.subject.as_deref().unwrap_or(Path::new("-"));
    exit_on_interrupt();
    let inputs = inputs_of(&arguments.reading)?;
    let found = inputs::read(&inputs, path)
        .and_then(|opened| Ok(check_recording(&opened.recording, inputs.target)?));
    let found = found.map_err(|error| Failure::unreadable(path, &error))?;
    let mut counts: Vec<(&Rule, usize)> = Vec::new();
    for finding in found.iter().flatten() {
        match counts
            .iter_mut()
            .find(|(rule, _)| rule.id == finding.rule.id)
        {
            Some((_, count)) => *count += 1,
            None => counts.push((finding.rule, 1)),
        }
    }
    counts.sort_by_key(|(rule, _)| std::cmp::Reverse(rule.severity));
    if counts.is_empty() {
        writeln!(out, "{}: no findings", name_of(path))?;
    }
    for (number, (rule, count)) in counts.into_iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", palette.dim(counted(count, "finding")))?;
        page(out, rule, palette)?;
    }
    Ok(())
}

/// Says that there is no such rule.
pub(super) fn unknown(id: &str) -> Failure {
    let message = format!("unknown rule {}", safe_line(id));
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
    for (title, text) in rule.page.sections() {
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
fn section(out: &mut impl Write, palette: Palette, title: &str, text: &str) -> io::Result<()> {
    writeln!(out, "\n{}", palette.bold(title))?;
    for line in SafeText::from_str(text).wrapped(WIDTH) {
        writeln!(out, "  {}", line.as_plain().trim_end())?;
    }
    Ok(())
}

// `explain --error`: what a provider's refusal means, which item of a recording caused it, and what to do.

/// A text names this many items at most before the rest is only counted.
const MOST_SUSPECTS: usize = 20;

/// Decodes a refusal; with a recording, finds the items that caused it.
fn decode_error(
    arguments: &ExplainArguments,
    text: &str,
    path: Option<&Path>,
) -> Result<Exit, Failure> {
    exit_on_interrupt();
    let text = text_of(text, path)?;
    let decoded = decode(&text);
    if decoded.is_empty() {
        return Err(Failure::with_hint(
            "this text does not match any known provider error",
            "`retake check PATH` checks a recording without an error text",
        ));
    }
    let palette = Palette::of_stdout(arguments.color);
    let case = match path {
        Some(path) => Some(Case::read(arguments, path, &decoded)?),
        None => None,
    };
    let mut output = Output::stdout();
    for (index, refusal) in decoded.iter().enumerate() {
        if index > 0 {
            writeln!(output)?;
        }
        head(&mut output, refusal, palette)?;
        match &case {
            Some(case) => case.write(&mut output, index, refusal, palette)?,
            None if refusal.place.is_some() || !refusal.call_ids.is_empty() => {
                let hint = "hint: name the recording to find the item that caused it";
                writeln!(output, "\n{}", palette.dim(hint))?;
            }
            None => {}
        }
        section(&mut output, palette, "What to do", refusal.remedy)?;
    }
    output.finish()?;
    Ok(Exit::Clean)
}

/// The text itself, or standard input for `-`, which can then not be the recording as well.
fn text_of(text: &str, path: Option<&Path>) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    if path == Some(Path::new("-")) {
        return Err(Failure::refused(
            "standard input can be the error or the recording, not both",
        ));
    }
    let mut bytes = Vec::new();
    io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::refused(format!("standard input: {error}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn head(out: &mut impl Write, refusal: &Decoded, palette: Palette) -> io::Result<()> {
    let provider = palette.bold(refusal.provider.name());
    writeln!(out, "{provider}: {}", refusal.meaning)?;
    let limits = refusal.limits.map(|limits| {
        let number =
            |number: Option<u64>| number.map_or("?".to_owned(), |number| number.to_string());
        format!(
            "{} where {} are allowed",
            number(limits.actual),
            number(limits.limit)
        )
    });
    let named = [
        (
            "place",
            refusal.place.as_ref().map(|place| place.text.clone()),
        ),
        ("call", joined(&refusal.call_ids)),
        ("id", joined(&refusal.item_ids)),
        ("tool", refusal.tool.clone()),
        ("value", refusal.value.clone()),
        ("expected", refusal.expected.clone()),
        ("length", limits),
        ("rule", refusal.rule.map(str::to_owned)),
    ];
    for (name, value) in named {
        if let Some(value) = value {
            writeln!(out, "  {:<9} {}", name, safe_line(&value))?;
        }
    }
    if let Some(misleading) = refusal.misleading {
        section(out, palette, "The text misleads", misleading)?;
    }
    Ok(())
}

fn joined(ids: &[String]) -> Option<String> {
    (!ids.is_empty()).then(|| ids.join(", "))
}

/// A recording that was refused, with the suspects for each refusal of the text.
struct Case {
    opened: Opened,
    findings: Vec<Vec<Finding>>,
    suspects: Vec<Vec<Suspect>>,
    lines: HashMap<u64, FilePlace>,
}

impl Case {
    fn read(
        arguments: &ExplainArguments,
        path: &Path,
        decoded: &[Decoded],
    ) -> Result<Self, Failure> {
        let inputs = inputs_of(&arguments.reading)?;
        let build = || {
            let opened = inputs::read(&inputs, path)?;
            Ok(Self::new(opened, &inputs, decoded)?)
        };
        build().map_err(|error: InputError| Failure::unreadable(path, &error))
    }

    fn new(opened: Opened, inputs: &Inputs, decoded: &[Decoded]) -> Result<Self, SourceError> {
        let recording = &opened.recording;
        let findings = check_recording(recording, inputs.target)?;
        let suspects = decoded
            .iter()
            .map(|refusal| suspects(recording, &findings, refusal))
            .collect::<Result<Vec<_>, _>>()?;
        let positions = suspects
            .iter()
            .flatten()
            .take(MOST_SUSPECTS * decoded.len());
        let positions = positions
            .filter_map(|suspect| {
                position_of(
                    recording,
                    &recording.sessions[suspect.session],
                    suspect.item,
                )
            })
            .collect();
        let lines = file_places(&*recording.source, lined_records(recording), positions)?;
        Ok(Self {
            opened,
            findings,
            suspects,
            lines,
        })
    }

    fn write(
        &self,
        out: &mut impl Write,
        index: usize,
        refusal: &Decoded,
        palette: Palette,
    ) -> Result<(), Failure> {
        let suspects = &self.suspects[index];
        writeln!(out, "\n{}", palette.bold("Where it comes from"))?;
        if refusal.fault.is_of_service() {
            writeln!(out, "  nothing in the history causes it")?;
            return Ok(());
        }
        self.tool_definition(out, refusal)?;
        let name = name_of(Path::new(&self.opened.recording.name));
        let ids = [refusal.call_ids.as_slice(), &refusal.item_ids].concat();
        let by_id = |suspect: &Suspect| {
            matches!(suspect.why, SuspectReason::CallId | SuspectReason::ItemId)
        };
        if !ids.is_empty() && !suspects.iter().any(by_id) {
            let ids = safe_line(&ids.join(", "));
            writeln!(
                out,
                "  no item of {name} has the id {ids}: is this the refused run?"
            )?;
        } else if suspects.is_empty() {
            writeln!(out, "  no item of {name} matches: is this the refused run?")?;
        }
        for suspect in suspects.iter().take(MOST_SUSPECTS) {
            self.suspect(out, suspect, palette)?;
        }
        if suspects.len() > MOST_SUSPECTS {
            writeln!(out, "  and {} more", suspects.len() - MOST_SUSPECTS)?;
        }
        Ok(())
    }

    /// A place in the tool list is not an item, but it has a name.
    fn tool_definition(&self, out: &mut impl Write, refusal: &Decoded) -> io::Result<()> {
        let place = refusal.place.as_ref().filter(|place| place.path == "tools");
        let Some(number) = place.and_then(|place| place.indices.first()) else {
            return Ok(());
        };
        let session = self.opened.recording.sessions.last();
        let set = session.and_then(|session| session.contract.tool_sets.last());
        match set.and_then(|set| set.tools.get(*number)) {
            Some(tool) => writeln!(
                out,
                "  tool definition {}: {}",
                number + 1,
                safe_line(&tool.name)
            ),
            None => Ok(()),
        }
    }

    fn suspect(
        &self,
        out: &mut impl Write,
        suspect: &Suspect,
        palette: Palette,
    ) -> Result<(), Failure> {
        let recording = &self.opened.recording;
        let session = &recording.sessions[suspect.session];
        let item = &session.items[suspect.item];
        let position = position_of(recording, session, suspect.item);
        let line = position.and_then(|at| self.lines.get(&at));
        let line = line.copied().unwrap_or_default();
        let unreadable = |error: SourceError| {
            Failure::refused(describe(Path::new(&recording.name), &error.into()))
        };
        let names = session_names(&recording.sessions);
        let session_name = match names.len() {
            0 | 1 => String::new(),
            _ => format!("session {}, ", safe_line(&names[suspect.session])),
        };
        let path = name_of(Path::new(&recording.name));
        let place = format!(
            "{session_name}turn {}, item {}",
            item.turn + 1,
            suspect.item + 1
        );
        let name = safe_line(session.name(item));
        let id = safe_line(&session.call_id(item).map_err(unreadable)?);
        let words = [item.kind.word(), &name, &id]
            .into_iter()
            .filter(|word| !word.is_empty());
        let words = words.collect::<Vec<_>>().join(" ");
        writeln!(
            out,
            "  {}",
            palette.bold(format!("{path}{line}: {place}: {words}"))
        )?;
        writeln!(out, "    {}", palette.dim(suspect.why.words()))?;
        let findings = self.findings_about(suspect);
        for finding in &findings {
            let report =
                FindingReport::new(session, finding, FilePlace::default()).map_err(unreadable)?;
            let severity = palette.severity(finding.severity);
            writeln!(
                out,
                "    {severity} {}: {}",
                finding.rule.id,
                safe_line(&report.message)
            )?;
            for line in details(&report) {
                writeln!(out, "      {}", palette.dim(line))?;
            }
        }
        if findings.is_empty() {
            writeln!(out, "    no rule has a finding in it")?;
        }
        Ok(())
    }

    /// The findings about an item or its partner, and those in whose story it is.
    fn findings_about(&self, suspect: &Suspect) -> Vec<&Finding> {
        let session = &self.opened.recording.sessions[suspect.session];
        let partner = session.pairing.partner(suspect.item);
        let concerns = |index: Option<u32>| {
            index.is_some_and(|index| {
                index as usize == suspect.item || Some(index as usize) == partner
            })
        };
        let findings = self.findings[suspect.session].iter();
        findings
            .filter(|finding| {
                concerns(finding.item)
                    || finding
                        .related
                        .is_some_and(|item| item as usize == suspect.item)
            })
            .collect()
    }
}
