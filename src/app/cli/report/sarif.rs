//! SARIF 2.1.0 for code scanning (OASIS standard, 2020). Results are written as they come, between the head and
//! the tail of the log.

use super::json::Harmless;
use super::{FileReport, FindingReport, Report, SessionReport, Totals, placed_message, safe_line};
use crate::cli::flatten::ProblemReport;
use retake_core::rules::{self, Rule, Severity};
use serde::Serialize;
use serde_json::{Value, json};
use serde_sarif::sarif::{
    ArtifactLocation, Invocation, Location, LogicalLocation, Message, MultiformatMessageString,
    Notification, PhysicalLocation, PropertyBag, Region, ReportingConfiguration,
    ReportingDescriptor, Result as Finding, ResultLevel, SCHEMA_URL, ToolComponent,
};
use std::io::{self, Write};

#[derive(Default)]
pub(super) struct Sarif {
    results: usize,
    notifications: Vec<Notification>,
}

impl Report for Sarif {
    fn file(&mut self, out: &mut dyn Write, file: &FileReport) -> io::Result<()> {
        let in_sessions = file.sessions.iter().flat_map(|session| &session.problems);
        let problems = file.problems.iter().chain(in_sessions);
        self.notifications
            .extend(problems.map(|problem| notification(file, problem)));
        for session in &file.sessions {
            for finding in &session.findings {
                self.separate(out)?;
                write_value(out, &result(file, session, finding))?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write, _totals: &Totals) -> io::Result<()> {
        if self.results == 0 {
            write_head(out)?;
        }
        let notifications = std::mem::take(&mut self.notifications);
        let invocation = Invocation::builder()
            .execution_successful(true)
            .tool_execution_notifications(notifications)
            .build();
        write!(out, "\n],\"invocations\":")?;
        write_value(out, &[invocation])?;
        writeln!(out, "}}]}}")
    }
}

impl Sarif {
    /// The head before the first result, a comma before the others.
    fn separate(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.results += 1;
        if self.results == 1 {
            write_head(out)?;
            writeln!(out)
        } else {
            writeln!(out, ",")
        }
    }
}

fn write_head(out: &mut dyn Write) -> io::Result<()> {
    let driver = ToolComponent::builder()
        .name("retake")
        .version(env!("CARGO_PKG_VERSION"))
        .semantic_version(env!("CARGO_PKG_VERSION"))
        .rules(rules::all().map(descriptor).collect::<Vec<_>>())
        .build();
    write!(
        out,
        "{{\"$schema\":\"{SCHEMA_URL}\",\"version\":\"2.1.0\",\"runs\":[{{\"tool\":{{\"driver\":"
    )?;
    write_value(out, &driver)?;
    write!(out, "}},\"columnKind\":\"unicodeCodePoints\",\"results\":[")
}

fn descriptor(rule: &Rule) -> ReportingDescriptor {
    let text = |text: &str| MultiformatMessageString::builder().text(text).build();
    let page = &rule.page;
    let level = ReportingConfiguration::builder()
        .level(json!(level(rule.severity)))
        .build();
    ReportingDescriptor::builder()
        .id(rule.id)
        .short_description(text(rule.summary))
        .full_description(text(&format!("{} {}", page.what, page.why)))
        .help(text(&format!(
            "{}\n\nLimits: {}",
            page.what_to_do, page.limits
        )))
        .default_configuration(level)
        .build()
}

fn result(file: &FileReport, session: &SessionReport, finding: &FindingReport) -> Finding {
    let offers = finding
        .offers
        .iter()
        .map(|offer| json!({"action": offer.action, "safety": offer.safety.word()}))
        .collect::<Vec<_>>();
    let properties = [
        ("session", json!(session.name)),
        ("turn", json!(finding.turn)),
        ("item", json!(finding.item)),
        ("tool", json!(finding.tool)),
        ("call_id", json!(finding.call_id)),
        ("pointer", json!(finding.pointer)),
        ("cause", json!(finding.cause)),
        ("offers", Value::Array(offers)),
    ];
    let properties = properties
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.to_owned(), value))
        .collect::<std::collections::BTreeMap<_, _>>();
    let place = super::place(file, session, finding);
    let logical = LogicalLocation::builder()
        .fully_qualified_name(place)
        .build();
    let location = Location::builder()
        .physical_location(physical(file, finding.line))
        .logical_locations(vec![logical])
        .build();
    Finding::builder()
        .rule_id(finding.rule.id)
        .level(level(finding.severity))
        .message(message(&placed_message(file, session, finding)))
        .locations(vec![location])
        .properties(
            PropertyBag::builder()
                .additional_properties(properties)
                .build(),
        )
        .build()
}

fn notification(file: &FileReport, problem: &ProblemReport) -> Notification {
    let location = Location::builder()
        .physical_location(physical(file, problem.line))
        .build();
    Notification::builder()
        .level(json!("warning"))
        .message(message(&safe_line(&problem.message)))
        .locations(vec![location])
        .build()
}

fn message(text: &str) -> Message {
    Message::builder().text(text).build()
}

fn physical(file: &FileReport, line: Option<u64>) -> PhysicalLocation {
    let artifact = ArtifactLocation::builder().uri(uri(&file.path)).build();
    let region = line.and_then(|line| i64::try_from(line).ok());
    match region {
        Some(line) => PhysicalLocation::builder()
            .artifact_location(artifact)
            .region(Region::builder().start_line(line).build())
            .build(),
        None => PhysicalLocation::builder()
            .artifact_location(artifact)
            .build(),
    }
}

/// SARIF's words for severities (§3.27.10).
fn level(severity: Severity) -> ResultLevel {
    match severity {
        Severity::Error => ResultLevel::Error,
        Severity::Warning => ResultLevel::Warning,
        Severity::Info => ResultLevel::Note,
    }
}

/// A path as a URI reference: what RFC 3986 does not allow in a path is percent-encoded.
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    let mut uri = scheme.to_owned();
    for byte in path.trim_start_matches("./").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte as char);
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

fn write_value(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(out, Harmless))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("./a b/ü%.json"), "a%20b/%C3%BC%25.json");
        assert_eq!(uri("/tmp/x:y.json"), "file:///tmp/x%3Ay.json");
    }
}
