//! The findings of an earlier `check --format json`, which do not count again. A finding is known by its file, session,
//! rule and item, not by its line: files grow.

use super::exit::Failure;
use super::output::name_of;
use retake_live::report::FindingReport;
use serde::Deserialize;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Findings, and how often each is known.
#[derive(Debug, Default)]
pub(super) struct Baseline(HashMap<Known, usize>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Known {
    path: PathBuf,
    session: String,
    rule: String,
    item: KnownItem,
    pointer: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum KnownItem {
    Call(String),
    /// Its number, where it has no call id; `None` for the session.
    Number(Option<u32>),
}

impl KnownItem {
    fn new(call_id: Option<String>, number: Option<u32>) -> Self {
        call_id.map_or(Self::Number(number), Self::Call)
    }
}

/// A line of the report.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line {
    Finding {
        path: String,
        session: String,
        rule: String,
        item: Option<u32>,
        call_id: Option<String>,
        pointer: Option<String>,
    },
    Problem {},
    Session {},
}

impl Baseline {
    /// Reads the report. Fails where a line is not one of `check --format json`.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let name = name_of(path);
        let text = std::fs::read_to_string(path).map_err(|error| Failure::of_file(path, &error))?;
        let mut known: HashMap<Known, usize> = HashMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = serde_json::from_str::<Line>(line).map_err(|_| {
                let message = format!("{name}:{}: not a line of a report", number + 1);
                // The file that was named may be a recording.
                let hint = "`retake check PATH --format json > baseline.jsonl` writes a baseline";
                Failure::with_hint(message, hint)
            })?;
            if let Line::Finding {
                path,
                session,
                rule,
                item,
                call_id,
                pointer,
            } = line
            {
                let finding = Known {
                    path: plain(&path),
                    session,
                    rule,
                    item: KnownItem::new(call_id, item),
                    pointer,
                };
                *known.entry(finding).or_default() += 1;
            }
        }
        Ok(Self(known))
    }

    /// Whether a finding is known. Each one of the report stands for one finding.
    pub(super) fn take(&mut self, path: &str, session: &str, finding: &FindingReport) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let finding = Known {
            path: plain(path),
            session: session.to_owned(),
            rule: finding.rule.id.to_owned(),
            item: KnownItem::new(finding.call_id.clone(), finding.item),
            pointer: finding.pointer.clone(),
        };
        match self.0.get_mut(&finding) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}

/// A path without what does not matter in it.
fn plain(path: &str) -> PathBuf {
    let parts = Path::new(path).components();
    parts.filter(|part| *part != Component::CurDir).collect()
}
