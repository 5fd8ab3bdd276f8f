//! One JSON object a line: a contract that scripts rely on.
//!
//! Absent values are null. Turns, items and lines count from 1, bytes from 0. `session` is the session's label
//! where that tells it from the others of its file, else its number counted from 1, always a string; `show
//! --session` takes the same. Texts are whole, and characters that a terminal would obey or hide are spelled
//! `\uXXXX`, so that the text is the same for a parser and harmless for an eye.

use super::{FileReport, FindingReport, Report, SessionReport, Totals};
use crate::cli::flatten::ProblemReport;
use retake_core::exchange::ExchangeId;
use retake_core::safe_text::SafeText;
use serde::Serialize;
use serde_json::ser::Formatter;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The JSON lines report.
pub(super) struct Json;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'a> {
    Finding {
        /// Only where exchanges are watched.
        #[serde(skip_serializing_if = "Option::is_none")]
        exchange: Option<ExchangeId>,
        path: &'a str,
        session: &'a str,
        #[serde(flatten)]
        finding: &'a FindingReport,
    },
    Problem {
        path: &'a str,
        #[serde(flatten)]
        problem: &'a ProblemReport,
    },
    Session {
        path: &'a str,
        session: &'a str,
        format: &'a str,
        #[serde(flatten)]
        report: &'a SessionReport,
        findings: BTreeMap<&'a str, usize>,
        problems: usize,
    },
}

impl Report for Json {
    fn file(&mut self, out: &mut dyn Write, file: &FileReport) -> io::Result<()> {
        let path = &file.path;
        for problem in &file.problems {
            write_line(out, &Line::Problem { path, problem })?;
        }
        for session in &file.sessions {
            for problem in &session.problems {
                write_line(out, &Line::Problem { path, problem })?;
            }
            for finding in &session.findings {
                write_finding(out, None, file, session, finding)?;
            }
            write_line(out, &session_line(file, session))?;
        }
        Ok(())
    }

    fn finish(&mut self, _out: &mut dyn Write, _totals: &Totals) -> io::Result<()> {
        Ok(())
    }
}

/// The line of a finding, as `check` writes it; with the exchange that it was found in, where there is one.
pub(in crate::cli) fn write_finding(
    out: &mut dyn Write,
    exchange: Option<ExchangeId>,
    file: &FileReport,
    session: &SessionReport,
    finding: &FindingReport,
) -> io::Result<()> {
    let line = Line::Finding {
        exchange,
        path: &file.path,
        session: &session.name,
        finding,
    };
    write_line(out, &line)
}

fn session_line<'a>(file: &'a FileReport, session: &'a SessionReport) -> Line<'a> {
    let mut findings = BTreeMap::new();
    for finding in &session.findings {
        *findings.entry(finding.rule.id).or_insert(0) += 1;
    }
    Line::Session {
        path: &file.path,
        session: &session.name,
        format: file.format,
        report: session,
        findings,
        problems: session.problems.len(),
    }
}

/// Writes one object on a line of its own.
pub(in crate::cli) fn write_line(out: &mut dyn Write, line: &impl Serialize) -> io::Result<()> {
    line.serialize(&mut serde_json::Serializer::with_formatter(
        &mut *out, Harmless,
    ))?;
    out.write_all(b"\n")
}

/// Compact JSON whose strings hold nothing that a terminal obeys or hides.
pub(super) struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut buffer = [0; 4];
        for character in fragment.chars() {
            let text = character.encode_utf8(&mut buffer);
            if is_harmless(text) {
                writer.write_all(text.as_bytes())?;
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a character by itself is drawn as it is.
fn is_harmless(character: &str) -> bool {
    character.is_ascii() && character != "\u{7f}"
        || SafeText::from_str(character).as_plain() == character
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        text.serialize(&mut serde_json::Serializer::with_formatter(
            &mut out, Harmless,
        ))
        .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn dangerous_characters_are_spelled_and_nothing_is_lost() {
        let text = "a\u{1b}[2J\u{9b}1m\u{202e}x\u{200b}y\u{7f} \u{feff}\u{e0041}\u{2028}é漢";
        let json = written(text);
        assert_eq!(
            json,
            r#""a\u001b[2J\u009b1m\u202ex\u200by\u007f \ufeff\udb40\udc41\u2028é漢""#
        );
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}
