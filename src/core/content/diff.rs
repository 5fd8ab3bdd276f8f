//! Edits as diffs: what `Edit`, `MultiEdit`, `apply_patch` and a unified diff change, line by line.

use crate::json::complete;
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

/// What happens to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Same,
    Added,
    Removed,
    /// It says where the next lines stand.
    Place,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    pub change: Change,
    pub text: String,
}

/// What changes in one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileDiff {
    /// Empty where it is not known.
    pub path: String,
    /// What becomes of the file beside its lines: `new file`.
    pub fate: String,
    pub lines: Vec<DiffLine>,
}

impl FileDiff {
    fn push(&mut self, change: Change, text: &str) {
        self.lines.push(DiffLine {
            change,
            text: text.to_owned(),
        });
    }

    fn count(&self, change: Change) -> usize {
        self.lines
            .iter()
            .filter(|line| line.change == change)
            .count()
    }

    /// Its path with what becomes of it: `a.rs (new file)`.
    pub fn heading(&self) -> String {
        match self.fate.is_empty() {
            true => self.path.clone(),
            false => format!("{} ({})", self.path, self.fate),
        }
    }

    /// How many lines are added and removed.
    pub fn counts(&self) -> (usize, usize) {
        (self.count(Change::Added), self.count(Change::Removed))
    }
}

/// Lines that are shown around a change.
const CONTEXT: usize = 2;
/// Longest texts that are compared; longer ones are shown one after the other.
const COMPARED: usize = 256 * 1024;

/// The names that agents give to the text before, the text after, and the file.
const OLD: &[&str] = &["old_string", "old_str", "oldText", "old_text", "old"];
const NEW: &[&str] = &["new_string", "new_str", "newText", "new_text", "new"];
/// The names of the text of a whole file, or of a cell of a notebook.
const WHOLE: &[&str] = &["content", "file_text", "contents", "new_source"];
const PATH: &[&str] = &[
    "file_path",
    "path",
    "target_file",
    "filename",
    "file",
    "notebook_path",
];

/// What the arguments of a call change, a file that is written whole as added lines; nothing where it edits
/// nothing. They may break off.
pub fn diffs_of_call(arguments: &str) -> Vec<FileDiff> {
    if let Some(patch) = patch_in(arguments) {
        return diffs_of_patch(&patch);
    }
    let value: Value = match serde_json::from_str(arguments)
        .or_else(|_| serde_json::from_slice(&complete(arguments.as_bytes())))
    {
        Ok(value) => value,
        Err(_) => return Vec::new(),
    };
    let mut diff = FileDiff {
        path: text_of(&value, PATH).unwrap_or_default().to_owned(),
        ..FileDiff::default()
    };
    let edits = value.get("edits").and_then(Value::as_array);
    for edit in edits.map_or(std::slice::from_ref(&value), Vec::as_slice) {
        if let (Some(old), Some(new)) = (text_of(edit, OLD), text_of(edit, NEW)) {
            if !diff.lines.is_empty() {
                diff.push(Change::Place, "");
            }
            compare(old, new, &mut diff);
        }
    }
    if let Some(whole) = text_of(&value, WHOLE).filter(|_| !diff.path.is_empty()) {
        let lines = whole.lines();
        lines.for_each(|line| diff.push(Change::Added, line));
    }
    if diff.lines.is_empty() {
        Vec::new()
    } else {
        vec![diff]
    }
}

/// What the arguments of a call say beside its diffs, as JSON: which cell, whether all places, what a shell runs before
/// and after the patch.
pub fn beside_diffs(arguments: &str) -> Option<String> {
    let mut members: Map<String, Value> = serde_json::from_str(arguments).ok()?;
    match arguments.contains(BEGIN_PATCH) {
        true => members.values_mut().for_each(without_patch),
        false => {
            let is_file = PATH.iter().any(|key| members.contains_key(*key));
            let is_shown = |key: &str| PATH.contains(&key) || is_file && WHOLE.contains(&key);
            members.retain(|key, _| !is_shown(key));
            without_texts(&mut members);
            let edits = members.get_mut("edits").and_then(Value::as_array_mut);
            for edit in edits.into_iter().flatten() {
                edit.as_object_mut().map(without_texts);
            }
        }
    }
    members.retain(|_, value| !is_nothing(value));
    (!members.is_empty()).then(|| Value::Object(members).to_string())
}

fn without_texts(edit: &mut Map<String, Value>) {
    edit.retain(|key, _| !OLD.contains(&&**key) && !NEW.contains(&&**key));
}

fn without_patch(value: &mut Value) {
    match value {
        Value::Array(parts) => parts.iter_mut().for_each(without_patch),
        Value::String(text) => {
            let Some(start) = text.find(BEGIN_PATCH) else {
                return;
            };
            let end = text
                .find(END_PATCH)
                .map_or(text.len(), |it| it + END_PATCH.len());
            let (before, after) = (&text[..start], text.get(end..).unwrap_or_default());
            *text = match before.trim().is_empty() && after.trim().is_empty() {
                true => String::new(),
                false => format!("{before}…{after}"),
            };
        }
        _ => {}
    }
}

/// Whether a value has nothing in it.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Array(parts) => parts.iter().all(is_nothing),
        Value::Object(members) => members.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// The text of the file that a call writes whole.
pub(super) fn written_file(arguments: &str) -> Option<String> {
    let value: Value = serde_json::from_str(arguments).ok()?;
    text_of(&value, PATH)?;
    text_of(&value, WHOLE).map(str::to_owned)
}

fn text_of<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| value.get(*key)?.as_str())
}

/// The lines that differ with a few around them.
fn compare(old: &str, new: &str, diff: &mut FileDiff) {
    if old.len().max(new.len()) > COMPARED {
        old.lines()
            .for_each(|line| diff.push(Change::Removed, line));
        new.lines().for_each(|line| diff.push(Change::Added, line));
        return;
    }
    // The last line of an edited part has no end: with more lines after it, it is the same line.
    let [before, after] = [old, new].map(|text| {
        let lines = text.split_inclusive('\n');
        let lines = lines.map(|line| line.strip_suffix('\n').unwrap_or(line));
        lines.collect::<Vec<_>>()
    });
    let compared = TextDiff::from_slices(&before, &after);
    for (number, group) in compared.grouped_ops(CONTEXT).iter().enumerate() {
        if number > 0 {
            diff.push(Change::Place, "");
        }
        for change in group
            .iter()
            .flat_map(|operation| compared.iter_changes(operation))
        {
            let what = match change.tag() {
                ChangeTag::Equal => Change::Same,
                ChangeTag::Delete => Change::Removed,
                ChangeTag::Insert => Change::Added,
            };
            diff.push(what, change.value().trim_end_matches('\r'));
        }
    }
}

const BEGIN_PATCH: &str = "*** Begin Patch";
const END_PATCH: &str = "*** End Patch";

/// The patch of `apply_patch` in free-form input, in an argument, or in a command that is given to a shell.
fn patch_in(arguments: &str) -> Option<String> {
    if arguments.trim_start().starts_with(BEGIN_PATCH) {
        return Some(arguments.to_owned());
    }
    // Cheap for all others: the words stand in JSON text as they are.
    if !arguments.contains(BEGIN_PATCH) {
        return None;
    }
    let value: Value = serde_json::from_str(arguments)
        .or_else(|_| serde_json::from_slice(&complete(arguments.as_bytes())))
        .ok()?;
    let members = value.as_object()?.values();
    let mut texts = members.flat_map(|value| match value {
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect(),
        _ => value.as_str().into_iter().collect::<Vec<_>>(),
    });
    let text = texts.find(|text| text.contains(BEGIN_PATCH))?;
    text.find(BEGIN_PATCH).map(|start| text[start..].to_owned())
}

/// The files of the patch that arguments hold, for the line of the call.
pub(super) fn patched_paths(arguments: &str) -> Option<String> {
    let files = diffs_of_patch(&patch_in(arguments)?);
    let headings: Vec<String> = files.iter().map(FileDiff::heading).collect();
    let files = headings.join(", ");
    Some(match headings.len() {
        0 | 1 => files,
        count => format!("{count} files: {files}"),
    })
}

/// Where a patch moves a file to.
const MOVE: &str = "*** Move to: ";

fn file_of(line: &str) -> Option<&str> {
    let heads = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    heads
        .iter()
        .find_map(|head| line.strip_prefix(head))
        .map(str::trim)
}

/// The patch language of Codex (codex-rs, apply_patch).
fn diffs_of_patch(patch: &str) -> Vec<FileDiff> {
    let mut diffs: Vec<FileDiff> = Vec::new();
    for line in patch.lines().skip(1) {
        if line.starts_with(END_PATCH) {
            break;
        }
        if let Some(path) = file_of(line) {
            let mut diff = FileDiff {
                path: path.to_owned(),
                ..FileDiff::default()
            };
            match line.split(' ').nth(1) {
                Some("Add") => diff.fate = "new file".to_owned(),
                Some("Delete") => {
                    diff.fate = "deleted".to_owned();
                    diff.push(Change::Place, "the file is deleted");
                }
                _ => {}
            }
            diffs.push(diff);
            continue;
        }
        let Some(diff) = diffs.last_mut() else {
            continue;
        };
        match line.strip_prefix(MOVE) {
            Some(path) => {
                diff.fate = format!("moved to {}", path.trim());
                diff.push(Change::Place, &diff.fate.clone());
            }
            None => hunk_line(line, diff),
        }
    }
    diffs
}

fn hunk_line(line: &str, diff: &mut FileDiff) {
    let rest = line.get(1..).unwrap_or_default();
    match line.chars().next() {
        Some('+') => diff.push(Change::Added, rest),
        Some('-') => diff.push(Change::Removed, rest),
        Some('@') if line.trim_matches(['@', ' ']).is_empty() => diff.push(Change::Place, ""),
        Some('@') => diff.push(Change::Place, line),
        Some(' ') => diff.push(Change::Same, rest),
        _ => diff.push(Change::Same, line),
    }
}

/// A text that is a unified diff from its first line on, or from where `git` says so; else nothing.
pub fn diff_of_text(text: &str) -> Option<FileDiff> {
    let mut heads = text.lines().filter(|line| !line.is_empty()).take(8);
    let starts = |line: &str| line.starts_with("diff --git ") || line.starts_with("@@ -");
    let is_diff = heads.clone().any(starts)
        && heads.next().is_some_and(|line| {
            ["diff ", "--- ", "@@ -", "Index: ", "commit "]
                .iter()
                .any(|head| line.starts_with(head))
        });
    if !is_diff {
        return None;
    }
    let mut diff = FileDiff::default();
    let mut is_in_hunk = false;
    for line in text.lines() {
        is_in_hunk = line.starts_with("@@ ") || is_in_hunk && !line.starts_with("diff ");
        match is_in_hunk {
            true if line.starts_with("@@ ") => diff.push(Change::Place, line),
            true => hunk_line(line, &mut diff),
            false => diff.push(Change::Place, line),
        }
    }
    Some(diff)
}

impl FileDiff {
    /// The same of a unified diff with one line for the heads of each file, which say its name several times.
    #[must_use]
    pub fn changes(mut self) -> Self {
        const HEADS: [&str; 9] = [
            "diff ",
            "index ",
            "Index: ",
            "====",
            "--- ",
            "new file ",
            "deleted file ",
            "old mode ",
            "new mode ",
        ];
        let mut before = String::new();
        self.lines.retain_mut(|line| {
            if line.change == Change::Place && line.text.starts_with("--- ") {
                before.clone_from(&line.text);
            }
            if line.change == Change::Place && line.text == "+++ /dev/null" {
                line.text.clone_from(&before);
                return true;
            }
            line.change != Change::Place || !HEADS.iter().any(|head| line.text.starts_with(head))
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A diff as text: a sign, then the line.
    fn drawn(diffs: &[FileDiff]) -> String {
        let sign = |change| match change {
            Change::Same => ' ',
            Change::Added => '+',
            Change::Removed => '-',
            Change::Place => '@',
        };
        let mut text = String::new();
        for diff in diffs {
            text.push_str(&format!("{}\n", diff.path));
            for line in &diff.lines {
                text.push_str(&format!("{}{}\n", sign(line.change), line.text));
            }
        }
        text
    }

    #[test]
    fn what_is_appended_after_the_last_line_changes_no_line_before_it() {
        let diffs =
            diffs_of_call(r#"{"file_path":"f","old_string":"a\nb","new_string":"a\nb\nc"}"#);
        assert_eq!(drawn(&diffs), "f\n a\n b\n+c\n");
        assert_eq!(diffs[0].counts(), (1, 0));
    }

    #[test]
    fn edits_of_every_agent_become_diffs() {
        let table = [
            (
                r#"{"file_path":"a.rs","old_string":"one\ntwo\nthree","new_string":"one\n2\nthree"}"#,
                "a.rs\n one\n-two\n+2\n three\n",
            ),
            (
                r#"{"path":"b.rs","edits":[{"old_string":"x","new_string":"y"},{"old_string":"p","new_string":""}]}"#,
                "b.rs\n-x\n+y\n@\n-p\n",
            ),
            (
                "*** Begin Patch\n*** Update File: c.rs\n@@ fn main()\n keep\n-old\n+new\n*** Delete File: d.rs\n*** End Patch",
                "c.rs\n@@@ fn main()\n keep\n-old\n+new\nd.rs\n@the file is deleted\n",
            ),
            (
                r#"{"command":["apply_patch","*** Begin Patch\n*** Add File: e.rs\n+hi\n*** End Patch\n"]}"#,
                "e.rs\n+hi\n",
            ),
            (
                r#"{"file_path":"f","old_string":"cut","new_string":"cut of"#,
                "f\n-cut\n+cut of\n",
            ),
            (
                r#"{"file_path":"g","content":"one\n\ntwo\n"}"#,
                "g\n+one\n+\n+two\n",
            ),
            (
                r#"{"notebook_path":"n.ipynb","cell_id":"c","new_source":"x = 1\ny"}"#,
                "n.ipynb\n+x = 1\n+y\n",
            ),
            (r#"{"content":"a message"}"#, ""),
            (r#"{"command":"ls"}"#, ""),
            ("not json", ""),
        ];
        for (arguments, expected) in table {
            assert_eq!(drawn(&diffs_of_call(arguments)), expected, "{arguments}");
        }
        let counts = diffs_of_call(table[0].0)[0].counts();
        assert_eq!(counts, (1, 1));
    }

    #[test]
    fn what_a_diff_does_not_show_of_a_call_is_left() {
        let table = [
            (
                r#"{"notebook_path":"n.ipynb","cell_id":"c","new_source":"x"}"#,
                Some(r#"{"cell_id":"c"}"#),
            ),
            (
                r#"{"file_path":"a","edits":[{"old_string":"x","new_string":"y","replace_all":true}]}"#,
                Some(r#"{"edits":[{"replace_all":true}]}"#),
            ),
            (
                r#"{"file_path":"a","edits":[{"old_string":"x","new_string":"y"}]}"#,
                None,
            ),
            (r#"{"file_path":"a","content":""}"#, None),
            (
                r#"{"cmd":"cd a\napply_patch <<E\n*** Begin Patch\n*** End Patch\nE"}"#,
                Some(r#"{"cmd":"cd a\napply_patch <<E\n…\nE"}"#),
            ),
            (r#"{"input":"*** Begin Patch\n*** End Patch\n"}"#, None),
            ("*** Begin Patch", None),
        ];
        for (arguments, rest) in table {
            assert_eq!(beside_diffs(arguments).as_deref(), rest, "{arguments}");
        }
    }

    #[test]
    fn a_unified_diff_is_known_by_its_head() {
        let text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n";
        let expected =
            "\n@diff --git a/x b/x\n@--- a/x\n@+++ b/x\n@@@ -1,2 +1,2 @@\n same\n-old\n+new\n";
        assert_eq!(drawn(&[diff_of_text(text).unwrap()]), expected);
        for other in ["", "a list:\n- one\n- two", "the diff is\ndiff --git a b"] {
            assert_eq!(diff_of_text(other), None, "{other}");
        }
    }
}
