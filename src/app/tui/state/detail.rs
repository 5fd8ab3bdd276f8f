//! One item in full: what it is, what is wrong with it, what it says. Lines are made once for an item and
//! wrapped only where they are seen; of a giant item only the beginning is read until the operator scrolls on.

use super::document::has_failed;
use super::pretty::{self, JsonLine, TokenKind};
use super::preview::tool_of;
use crate::tui::render::{
    PICTURE_KEY, Writing, diff_lines, file_of_result, image_words, is_markdown_result, limit_of,
    not_applied, plain_lines, raw_lines, text_lines, with_images, words_about,
};
use crate::tui::text::{Glyph, Line, Remark, Tone};
use retake_core::content::{ResultText, command_of_call, diffs_of_call, display_name, result_text};
use retake_core::json::{complete, display_text, skip_value};
use retake_core::repair::{SyntaxError, first_error};
use retake_core::rules::{Finding, Run, Severity};
use retake_core::safe_text::SafeText;
use retake_core::schema::Violation;
use retake_core::session::{Flags, HttpFacts, Item, Kind, PairStatus, Session};
use retake_core::wire::{Arguments, Body, body_of};

/// The longest line that is laid out as one; longer ones are cut in several.
const LONGEST: usize = 2048;
/// Cells of a level of JSON.
const LEVEL: usize = 2;
/// The rule that finds broken arguments.
const BROKEN_ARGUMENTS: &str = "invalid-arguments";

/// How an item is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Rendered: edits as diffs, Markdown, colours of a terminal, arguments laid out.
    #[default]
    Pretty,
    /// Its text as recorded, arguments laid out.
    Unescaped,
    /// Its bytes as they stand in the file.
    Raw,
}

impl Mode {
    /// How items are shown, in the footer; `is_verbatim` says whether they stand so in the file.
    pub fn words(self, is_verbatim: bool) -> &'static str {
        match self {
            Self::Raw if !is_verbatim => "raw: the JSON that retake reads the file as",
            Self::Pretty => "pretty: diffs, Markdown, colours",
            Self::Unescaped => "unescaped: texts and arguments without rendering",
            Self::Raw => "raw: the JSON of the file",
        }
    }

    pub fn next(self) -> Self {
        match self {
            Self::Pretty => Self::Unescaped,
            Self::Unescaped => Self::Raw,
            Self::Raw => Self::Pretty,
        }
    }
}

/// What the lines of an item are made from.
#[derive(Debug)]
pub struct DetailSubject<'a> {
    pub session: &'a Session,
    /// Index of the item.
    pub index: usize,
    /// What is wrong with it.
    pub findings: &'a [Finding],
    /// Where its arguments break their schema.
    pub violations: &'a [Violation],
    /// What the operator noted about it.
    pub note: Option<&'a str>,
    /// What a policy did about it.
    pub decided: Vec<&'a str>,
    /// How much of it is read.
    pub limit: u64,
    /// How it is shown.
    pub mode: Mode,
    /// Cells of a line.
    pub width: usize,
}

/// The lines of an item.
#[derive(Debug, Default)]
pub struct Composed {
    pub lines: Vec<Line>,
    /// The first line of what it says.
    pub body: usize,
    /// How many lines are its own: the result of a call follows.
    pub own: usize,
    /// How many bytes of it were left out.
    pub left_out: u64,
}

/// The lines of an item; of a call with its result.
pub fn compose(subject: &DetailSubject<'_>) -> Composed {
    let mut composed = compose_item(subject);
    composed.own = composed.lines.len();
    let session = subject.session;
    let item = session.items.get(subject.index);
    let is_call = item.is_some_and(|item| item.kind == Kind::Call);
    let output = session.pairing.partner(subject.index);
    let Some(index) = output.filter(|_| is_call && subject.mode != Mode::Raw) else {
        return composed;
    };
    let result = compose_item(&DetailSubject {
        index,
        findings: &[],
        violations: &[],
        note: None,
        decided: Vec::new(),
        ..*subject
    });
    let output = session.items.get(index);
    let is_error = output.is_some_and(|output| output.flags.has(Flags::ERROR));
    let heading = match is_error {
        true => Line::new(Tone::Warning, SafeText::from_static("result: error")),
        false => Line::new(Tone::Title, SafeText::from_static("result")),
    };
    composed.lines.extend([Line::default(), heading]);
    composed
        .lines
        .extend(result.lines.into_iter().skip(result.body));
    composed.left_out += result.left_out;
    composed
}

fn compose_item(subject: &DetailSubject<'_>) -> Composed {
    let Some(item) = subject.session.items.get(subject.index) else {
        return Composed::default();
    };
    let mut lines = heading(subject, item);
    let body_at = lines.len();
    let composed = |lines, left_out| Composed {
        lines,
        body: body_at,
        own: 0,
        left_out,
    };
    let limit = match subject.mode {
        Mode::Raw => subject.limit,
        Mode::Pretty | Mode::Unescaped => limit_of(subject.session, item, subject.limit, || {
            !image_words(subject.session, item, None).is_empty()
        }),
    };
    let head = item.span.head(limit);
    let left_out = item.span.len() - head.len();
    let bytes = match subject.session.source.read(head) {
        Ok(bytes) => bytes,
        Err(error) => {
            lines.push(Line::new(
                Tone::Error,
                SafeText::from_str(&error.to_string()),
            ));
            return composed(lines, 0);
        }
    };
    let body = match subject.mode {
        Mode::Raw => None,
        Mode::Pretty | Mode::Unescaped if left_out > 0 => body_of(item, &complete(&bytes)).ok(),
        Mode::Pretty | Mode::Unescaped => body_of(item, &bytes).ok(),
    };
    match body {
        Some(body) => say(subject, item, &body, &bytes, &mut lines),
        None => lines.extend(raw_lines(&bytes)),
    }
    if left_out > 0 {
        let more = format!("{left_out} more bytes: scroll down, or ^e opens all of it");
        lines.push(Line::new(Tone::Dim, SafeText::from_str(&more)));
    }
    composed(lines, left_out)
}

/// Where an item is, as the screen names it: `see turn 3, Bash call (item 18)`.
fn item_words(session: &Session, index: usize) -> String {
    let Some(item) = session.items.get(index) else {
        return String::new();
    };
    let tool = display_name(tool_of(session, index));
    let what = format!("{tool} {}", item.kind.word());
    let (turn, what) = (item.turn + 1, what.trim_start());
    format!("see turn {turn}, {what} (item {})", index + 1)
}

/// The lines above the body: the tool, the id, the findings, the partner.
fn heading(subject: &DetailSubject<'_>, item: &Item) -> Vec<Line> {
    let mut lines = Vec::new();
    let tool = tool_of(subject.session, subject.index);
    let id = subject.session.call_id(item).unwrap_or_default();
    if !tool.is_empty() || !id.is_empty() {
        let mut pieces = vec![(Tone::Title, SafeText::single_line(tool, 200))];
        if !id.is_empty() {
            let mut spaced = SafeText::from_static(if tool.is_empty() { "" } else { "   " });
            spaced.push(&SafeText::single_line(&id, 100));
            pieces.push((Tone::Dim, spaced));
        }
        lines.push(Line {
            pieces,
            ..Line::default()
        });
    }
    for finding in subject.findings {
        push_finding(subject.session, finding, &mut lines);
    }
    for words in &subject.decided {
        let words = SafeText::single_line(words, LONGEST);
        lines.push(Line::new(Tone::Title, words));
    }
    if let Some(note) = subject.note {
        let mut line = Line::new(Tone::Title, SafeText::from_static("note: "));
        line.pieces
            .push((Tone::Plain, SafeText::single_line(note, LONGEST)));
        lines.push(line);
    }
    if let Some(facts) = HttpFacts::of(subject.session, subject.index) {
        let facts = facts.lines().into_iter();
        lines.extend(facts.map(|fact| Line::new(Tone::Dim, SafeText::single_line(&fact, LONGEST))));
    }
    let notes = notes(subject, item);
    if !notes.is_empty() {
        lines.push(Line::new(Tone::Dim, SafeText::from_str(&notes.join(", "))));
    }
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    lines
}

fn push_finding(session: &Session, finding: &Finding, lines: &mut Vec<Line>) {
    let severity = finding.severity;
    let mut text = SafeText::from_static(finding.rule.id);
    text.push(&SafeText::from_static("  "));
    let message = finding.message();
    text.push(&SafeText::from_str(&message));
    let tone = Tone::of(severity);
    for (number, line) in text.lines().enumerate() {
        let sign = if number == 0 {
            vec![(Tone::Sign(severity), SafeText::from_static("  "))]
        } else {
            Vec::new()
        };
        lines.push(Line {
            pieces: sign.into_iter().chain([(tone, line)]).collect(),
            ..Line::default()
        });
    }
    // Most sentences name the cause themselves.
    let cause = finding
        .cause
        .map(|cause| format!("cause: {}", cause.words()))
        .filter(|cause| !message.contains(cause.as_str()));
    let related = finding
        .related
        .filter(|item| finding.item != Some(*item))
        .map(|item| item_words(session, item as usize));
    let story: Vec<String> = cause.into_iter().chain(related).collect();
    if !story.is_empty() {
        lines.push(Line {
            indent: 2,
            ..Line::new(Tone::Dim, SafeText::from_str(&story.join(", ")))
        });
    }
}

/// Short facts about an item that its text does not tell.
fn notes(subject: &DetailSubject<'_>, item: &Item) -> Vec<String> {
    let number = |index: u32| u64::from(index) + 1;
    let answers = matches!(item.kind, Kind::Output | Kind::HostedOutput);
    let standing = match subject.session.pairing.standing(subject.index) {
        PairStatus::Paired(call) if answers => Some(format!("result of item {}", number(call))),
        PairStatus::Paired(output) => Some(format!("result: item {}", number(output))),
        PairStatus::Duplicate(call) => Some(format!(
            "another result of item {}, which already has one",
            number(call)
        )),
        PairStatus::Severed(partner) => Some(format!(
            "its counterpart, item {}, is across a compaction",
            number(partner)
        )),
        PairStatus::Pending => Some("no result yet".to_owned()),
        PairStatus::Orphan if answers => Some("its call is not in the history".to_owned()),
        PairStatus::Orphan => Some("its result is not in the history".to_owned()),
        PairStatus::Alone => None,
    };
    let remarks = [
        (Flags::ERROR, "is_error"),
        (Flags::INCOMPLETE, "cut off"),
        (Flags::REFUSAL, "a refusal"),
        (Flags::INTERRUPT, "the user interrupted here"),
        (Flags::REJECTED, "the user rejected the call"),
        (
            Flags::COMPACTED,
            "before a compaction: no longer sent to the provider",
        ),
        (Flags::AWAITS_APPROVAL, "awaiting approval"),
        (Flags::SYNTHETIC, "written by the runtime"),
        (Flags::FOREIGN_CALLER, "a call of the simulated user"),
    ];
    let remarks = remarks
        .into_iter()
        .filter(|(flag, _)| item.flags.has(*flag))
        .map(|(_, words)| words.to_owned());
    standing.into_iter().chain(remarks).collect()
}

fn say(subject: &DetailSubject<'_>, item: &Item, body: &Body, bytes: &[u8], lines: &mut Vec<Line>) {
    let is_pretty = subject.mode == Mode::Pretty;
    let has_arguments = !matches!(body.arguments, Arguments::None);
    let diffs = match is_pretty && has_arguments && subject.violations.is_empty() {
        true => diffs_of_call(body.arguments.as_written()),
        false => Vec::new(),
    };
    for diff in &diffs {
        lines.push(Line::new(
            Tone::Title,
            SafeText::single_line(&diff.heading(), LONGEST),
        ));
        let changed = diff_lines(diff);
        lines.extend(match has_failed(subject.session, None, subject.index) {
            true => not_applied(changed),
            false => changed,
        });
    }
    match &body.arguments {
        _ if !diffs.is_empty() => {}
        Arguments::None => {}
        Arguments::Text(text) | Arguments::Value(text) => {
            let is_whole = item.span.len() <= subject.limit;
            let is_shown = is_pretty && is_whole && subject.violations.is_empty();
            let tool = subject.session.name(item);
            match command_lines(tool, text, subject.mode).filter(|_| is_shown) {
                Some(command) => lines.extend(command),
                None => push_arguments(text, is_whole, subject, lines),
            }
        }
        Arguments::FreeForm(text) => lines.extend(plain_lines(&SafeText::from_str(text))),
    }
    let is_result = matches!(
        item.kind,
        Kind::Output | Kind::HostedOutput | Kind::HostedCall
    );
    let result = match is_result && is_pretty {
        true => result_text(&body.text),
        false => ResultText::of(body.text.as_str().into()),
    };
    let about = words_about(&result).map(|words| Line::new(Tone::Dim, SafeText::from_str(&words)));
    lines.extend(about);
    let result = result.text;
    let text = match is_pretty {
        true => with_images(result.trim_end_matches('\n'), || {
            image_words(subject.session, item, Some(PICTURE_KEY))
        }),
        false => result.trim_end_matches('\n').into(),
    };
    let text = &*text;
    if !text.is_empty() {
        if has_arguments {
            lines.push(Line::default());
        }
        let is_error = item.flags.has(Flags::ERROR);
        let call = subject.session.pairing.partner(subject.index);
        let call = call.filter(|_| is_result && is_pretty && !is_error);
        let file = call.and_then(|call| file_of_result(subject.session, call));
        let writing = match (&file, is_result) {
            (Some(file), _) => Writing::File(file),
            (None, true) if call.is_some_and(|call| is_markdown_result(subject.session, call)) => {
                Writing::Markdown(subject.width)
            }
            (None, true) => Writing::Output,
            (None, false) => Writing::Markdown(subject.width),
        };
        match is_pretty {
            _ if is_result || item.kind == Kind::Assistant => {
                let is_whole = item.span.len() <= subject.limit;
                let text_lines = || match is_pretty {
                    true => text_lines(text, writing),
                    false => plain_lines(&SafeText::from_str(text)),
                };
                lines.extend(
                    json_text_lines(text, is_whole, subject.mode).unwrap_or_else(text_lines),
                );
            }
            true => lines.extend(text_lines(text, writing)),
            false => lines.extend(plain_lines(&SafeText::from_str(text))),
        }
    } else if !has_arguments && item.kind != Kind::Call {
        let raw = String::from_utf8_lossy(bytes);
        if is_container(&raw) {
            lines.extend(json_lines(&raw, subject.mode));
        } else {
            lines.extend(plain_lines(&SafeText::from_bytes(bytes)));
        }
    }
}

/// Whether a text is a JSON object or array with something in it.
pub fn is_container(text: &str) -> bool {
    let starts = text.trim_start().starts_with(['{', '[']);
    starts
        && skip_value(text.as_bytes(), 0).is_ok_and(|end| text[end..].trim().is_empty() && end > 2)
}

/// Longest remark of a producer about what it cut, in bytes.
const REMARK: usize = 200;

/// The lines of a text that is JSON; `None` where it is none. Where its producer cut it, what there is of it is
/// laid out and a note says so. `is_whole` says that all of the text was read.
pub fn json_text_lines(text: &str, is_whole: bool, mode: Mode) -> Option<Vec<Line>> {
    if is_container(text) {
        return Some(json_lines(text, mode));
    }
    let end = end_of_cut_json(text)?;
    let mut lines = json_lines(&text[..end], mode);
    let remark = text[end..].trim();
    let note = match (remark, is_whole) {
        ("", false) => return Some(lines),
        ("", true) => "truncated: the JSON ends here",
        (remark, _) => remark,
    };
    lines.push(Line::new(Tone::Marked, SafeText::single_line(note, REMARK)));
    Some(lines)
}

/// Where JSON ends that its producer cut: at the end of the text, or before a remark about what is left out.
fn end_of_cut_json(text: &str) -> Option<usize> {
    let inside = text.trim_start().strip_prefix(['{', '['])?;
    if !inside.trim_start().starts_with(['"', '{', '[']) {
        return None;
    }
    let fault = skip_value(text.as_bytes(), 0).err()?;
    let end = fault.at.min(text.len());
    let remark = text.get(end..)?.trim();
    let words = remark.to_lowercase();
    let says_so = ["truncat", "omitted", "...", "…"]
        .iter()
        .any(|word| words.contains(word));
    let is_remark = remark.is_empty() || remark.len() <= REMARK && says_so;
    is_remark.then_some(end)
}

/// Where a text is not JSON, as the finding says it.
fn place_words(error: &SyntaxError) -> String {
    match error.line {
        1 => format!("column {}", error.column),
        line => format!("line {line} column {}", error.column),
    }
}

/// Arguments with what is wrong at its place; where they are no JSON, the place where reading stopped.
fn push_arguments(text: &str, is_whole: bool, subject: &DetailSubject<'_>, lines: &mut Vec<Line>) {
    if text.is_empty() {
        return;
    }
    let layout = pretty::lay_out(text);
    let mut remarks: Vec<(usize, Remark)> = Vec::new();
    let fault = match skip_value(text.as_bytes(), 0) {
        _ if !is_whole => None,
        Ok(end) if text[end..].trim().is_empty() => None,
        Ok(_) => Some("text after the JSON value".to_owned()),
        Err(fault) => Some(fault.kind.to_string()),
    };
    if let Some((what, error)) = fault.zip(first_error(text)) {
        let starts_before = |line: &JsonLine| {
            let first = line.pieces.first();
            first.is_some_and(|(_, range)| range.start <= error.byte)
        };
        let line = layout.iter().rposition(starts_before).unwrap_or(0);
        let text = SafeText::from_str(&format!("{}: {what}", place_words(&error)));
        remarks.push((
            line,
            Remark {
                severity: Severity::Error,
                text,
            },
        ));
    }
    for violation in subject.violations {
        let line_of = |pointer: &str| {
            layout
                .iter()
                .position(|line| line.pointer.as_deref() == Some(pointer))
        };
        let line = line_of(&violation.pointer).or_else(|| line_of(violation.holder()));
        remarks.push((line.unwrap_or(0), remark_of(violation)));
    }
    push_laid_out(text, layout, &remarks, subject.mode, lines);
}

fn remark_of(violation: &Violation) -> Remark {
    let text = match (&violation.property, violation.keyword.as_str()) {
        (Some(property), "required") => format!("missing: {property}"),
        (Some(property), _) => format!("unknown: {property}"),
        (None, _) if violation.expected.is_empty() => violation.message.clone(),
        (None, _) => format!("expected {}", violation.expected),
    };
    Remark {
        severity: Severity::Error,
        text: SafeText::single_line(&text, 160),
    }
}

/// The command that a call runs as a program, and below it the other arguments.
pub fn command_lines(tool: &str, arguments: &str, mode: Mode) -> Option<Vec<Line>> {
    let (command, rest) = command_of_call(tool, arguments)?;
    let mut lines = text_lines(&command, Writing::File("sh"));
    let rest = rest.map_or(Vec::new(), |rest| json_lines(&rest, mode));
    // Fields, without the brackets around them.
    let fields = rest.len().saturating_sub(1);
    lines.extend(rest.into_iter().take(fields).skip(1).map(|line| Line {
        indent: line.indent.saturating_sub(LEVEL),
        ..line
    }));
    Some(lines)
}

/// JSON laid out.
pub fn json_lines(text: &str, mode: Mode) -> Vec<Line> {
    let mut lines = Vec::new();
    push_laid_out(text, pretty::lay_out(text), &[], mode, &mut lines);
    lines
}

fn push_laid_out(
    text: &str,
    layout: Vec<JsonLine>,
    remarks: &[(usize, Remark)],
    mode: Mode,
    lines: &mut Vec<Line>,
) {
    for (number, json) in layout.into_iter().enumerate() {
        let indent = json.depth * LEVEL;
        let mut own = remarks.iter().filter(|(line, _)| *line == number);
        let mut line = Line {
            indent,
            remark: own.next().map(|(_, remark)| remark.clone()),
            ..Line::default()
        };
        let mut block = Vec::new();
        for (token, range) in &json.pieces {
            let written = &text[range.clone()];
            match token {
                TokenKind::Punctuation if written == ":" => {
                    line.pieces.push((Tone::Plain, SafeText::from_static(": ")));
                }
                TokenKind::Punctuation if block.is_empty() => {
                    line.pieces.push((Tone::Plain, SafeText::from_str(written)));
                }
                TokenKind::Punctuation => {}
                TokenKind::Key => line.pieces.push((Tone::Key, SafeText::from_str(written))),
                TokenKind::String => match (nested_json(written, mode), string_lines(written)) {
                    (Some(nested), _) => {
                        line.pieces.push((Tone::Dim, SafeText::from_static(NESTED)));
                        block = nested;
                    }
                    (None, Ok(string)) => line.pieces.push((Tone::String, string)),
                    (None, Err(lines)) => {
                        let lines = lines.into_iter();
                        block = lines.map(|text| Line::new(Tone::String, text)).collect();
                    }
                },
                TokenKind::Scalar => line
                    .pieces
                    .push((Tone::Scalar, SafeText::from_str(written))),
            }
        }
        lines.push(line);
        lines.extend(block.into_iter().map(|line| {
            let bar = [
                (Tone::Glyph(Glyph::Bar), SafeText::from_static(" ")),
                (Tone::Plain, SafeText::from_static(" ")),
                (Tone::Plain, SafeText::from_str(&" ".repeat(line.indent))),
            ];
            Line {
                indent: indent + LEVEL,
                pieces: bar.into_iter().chain(line.pieces).collect(),
                ..Line::default()
            }
        }));
        lines.extend(own.map(|(_, remark)| Line {
            indent,
            remark: Some(remark.clone()),
            ..Line::default()
        }));
    }
}

/// In the place of a string whose JSON is laid out below.
const NESTED: &str = "JSON in a string";

/// The JSON in a string laid out, where pretty is asked for.
fn nested_json(written: &str, mode: Mode) -> Option<Vec<Line>> {
    // Most strings are something else, and not worth a copy.
    let begins = written
        .trim_start_matches(['"', ' '])
        .starts_with(['{', '[']);
    if mode != Mode::Pretty || !begins {
        return None;
    }
    let text: String = serde_json::from_str(written).ok()?;
    is_container(&text).then(|| json_lines(&text, mode))
}

/// A string of JSON without its escapes, in its quotes; one of several lines as these.
fn string_lines(written: &str) -> Result<SafeText, Vec<SafeText>> {
    let inside = written.strip_prefix('"').unwrap_or(written);
    let (inside, end) = match inside.strip_suffix('"') {
        Some(inside) => (inside, "\""),
        None => (inside, ""),
    };
    let text = display_text(inside.as_bytes());
    if text.trim_end().contains('\n') {
        return Err(SafeText::from_str(&text).lines().collect());
    }
    Ok(SafeText::from_str(&format!(
        "\"{}{end}",
        text.replace('\n', "⏎")
    )))
}

/// The violations of an item in the order of its text; none unless a finding says that there are some.
pub fn violations(session: &Session, index: usize, findings: &[Finding]) -> Vec<Violation> {
    if !findings
        .iter()
        .any(|finding| finding.rule.id == BROKEN_ARGUMENTS)
    {
        return Vec::new();
    }
    let found = || {
        let item = session.items.get(index)?;
        let body = body_of(item, &session.bytes(item).ok()?).ok()?;
        let arguments = serde_json::from_str(body.arguments.json()?).ok()?;
        // The schema is looked up as the rule does: the screen shows what the rule found.
        let run = Run::new(session, None);
        let validator = run.offered(index)?.validator(item.name)?.ok()?;
        validator.violations(&arguments).ok()
    };
    found().unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::tui::state::tests::opened;

    #[test]
    fn violations_of_a_schema_in_gemini_s_spelling_are_shown_as_they_are_found() {
        let text = r#"{"model":"m","tools":[{"type":"function","function":{"name":"book","parameters":
            {"type":"OBJECT","properties":{"seats":{"type":"INTEGER"}}}}}],"messages":[
            {"role":"user","content":"two"},
            {"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"book","arguments":"{\"seats\":\"two\"}"}}]}]}"#;
        let state = opened(text, (100, 30));
        let session = state.session().unwrap();
        let findings = retake_live::check_session(session, None).unwrap();
        let found = super::violations(session, 1, &findings);
        let pointers = found.iter().map(|violation| violation.pointer.as_str());
        assert_eq!(pointers.collect::<Vec<_>>(), ["/seats"]);
    }
}
