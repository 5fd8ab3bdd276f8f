//! The source as the house rules look at it: code without comments, strings and tests, and what it names.

use regex::Regex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// One source file: its path under `src/`, its text, and its code without comments, strings and tests.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) text: String,
    pub(super) code: String,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        // An example is a program of its own.
        let is_apart = path.contains("/tests/") || path.contains("/examples/");
        let code = if path.ends_with("tests.rs") || is_apart {
            String::new()
        } else {
            without_tests(&blank(text))
        };
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
        }
    }

    /// The room of the core that it belongs to; `None` for other crates and for `lib.rs`.
    pub(super) fn room(&self) -> Option<&str> {
        let first = self.path.strip_prefix("core/")?.split('/').next()?;
        match first.strip_suffix(".rs") {
            Some("lib") => None,
            None if first == "examples" => None,
            Some(room) => Some(room),
            None => Some(first),
        }
    }

    pub(super) fn line_of(&self, at: usize) -> usize {
        1 + self.code[..at].matches('\n').count()
    }
}

pub(super) fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = Vec::new();
        collect(&root, &mut files);
        files.sort();
        let read = |path: &PathBuf| {
            let name = path.strip_prefix(&root).unwrap().to_string_lossy();
            Source::new(
                &name.replace('\\', "/"),
                &std::fs::read_to_string(path).unwrap(),
            )
        };
        let mut sources = files.iter().map(read).collect::<Vec<_>>();
        let for_tests = sources.iter().flat_map(modules_for_tests);
        let for_tests = for_tests.collect::<BTreeSet<_>>();
        for source in &mut sources {
            if for_tests.contains(source.path.trim_end_matches(".rs").trim_end_matches("/mod")) {
                source.code.clear();
            }
        }
        sources
    });
    &SOURCES
}

/// The modules that a file declares for tests only (`#[cfg(test)] mod fixture;`), by their path without its ending.
fn modules_for_tests(source: &Source) -> Vec<String> {
    static MODULE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\S*\s+)?mod (\w+);").unwrap()
    });
    let folder = source.path.trim_end_matches(".rs");
    let folder = folder.trim_end_matches("mod").trim_end_matches("lib");
    let declared = MODULE.captures_iter(&source.text);
    declared
        .map(|found| format!("{}/{}", folder.trim_end_matches('/'), &found[1]))
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// The source with comments, strings and character literals blanked; line breaks stay.
fn blank(text: &str) -> String {
    static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r##"(?sx) //[^\n]* | /\*.*?\*/
        | b?r\#\#\#".*?"\#\#\# | b?r\#\#".*?"\#\# | b?r\#".*?"\# | \bb?r"[^"]*"
        | b?"(?:\\.|[^"\\])*"
        | b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[0-9a-fA-F_]+\}|.)|[^'\\\n])' "##,
        )
        .unwrap()
    });
    let blanked = TOKEN.replace_all(text, |found: &regex::Captures<'_>| {
        found[0]
            .chars()
            .map(|c| if c == '\n' { '\n' } else { ' ' })
            .collect::<String>()
    });
    blanked.into_owned()
}

/// The code without what is compiled for tests only.
fn without_tests(code: &str) -> String {
    let mut code = code.to_owned();
    while let Some(start) = code.find("#[cfg(test)]") {
        let opens = code[start..]
            .find(['{', ';'])
            .map_or(code.len(), |at| start + at);
        let end = if code[opens..].starts_with('{') {
            closing(&code, opens)
        } else {
            opens
        };
        let blanked: String = code[start..end]
            .chars()
            .map(|c| if c == '\n' { '\n' } else { ' ' })
            .collect();
        code.replace_range(start..end, &blanked);
    }
    code
}

/// The position behind the brace that closes the one at `open`.
fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open + at + 1;
        }
    }
    code.len()
}

/// The rooms that a file names, each with the line: `crate::x`, `crate::{x, y::Z}`, and `super::` that leads to the top.
pub(super) fn rooms_used(source: &Source) -> Vec<(String, usize)> {
    static PATH: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b(crate|super(?:::super)*)::(\{|[a-z_0-9]+)").unwrap());
    let mut used = Vec::new();
    for found in PATH.captures_iter(&source.code) {
        let whole = found.get(0).unwrap();
        let line = source.line_of(whole.start());
        if &found[1] != "crate" && found[1].matches("super").count() < depth(&source.path) {
            continue;
        }
        if &found[2] == "{" {
            let open = whole.end() - 1;
            let group = &source.code[open + 1..closing(&source.code, open) - 1];
            used.extend(heads(group).into_iter().map(|room| (room, line)));
        } else if &found[2] != "super" {
            used.push((found[2].to_owned(), line));
        }
    }
    used
}

/// How many `super::` lead from a file to the top of its crate.
fn depth(path: &str) -> usize {
    // The first folder is the crate.
    let folders = path.matches('/').count() - 1;
    if path.ends_with("/mod.rs") {
        folders
    } else {
        folders + 1
    }
}

/// The first word of each entry of a `use` group.
fn heads(group: &str) -> BTreeSet<String> {
    let (mut depth, mut entry, mut heads) = (0, String::new(), Vec::new());
    for c in group.chars().chain([',']) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.push(std::mem::take(&mut entry)),
            _ if depth == 0 => entry.push(c),
            _ => {}
        }
    }
    let word = |entry: String| {
        entry
            .trim()
            .split("::")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    heads
        .into_iter()
        .map(word)
        .filter(|word| !word.is_empty())
        .collect()
}

/// Finds paths into a crate or a module of `std`, with groups (`std::{fs, io}`) taken apart.
pub(super) struct Finder<'a> {
    path: &'a str,
    direct: Regex,
}

impl<'a> Finder<'a> {
    pub(super) fn new(path: &'a str) -> Self {
        let direct = format!(r"(?:^|[^:\w]){path}\b(?:::|\s*;|\s+as\b|!)");
        Self {
            path,
            direct: Regex::new(&direct).unwrap(),
        }
    }

    /// The lines that name the path.
    pub(super) fn lines(&self, source: &Source) -> Vec<usize> {
        let direct = self.direct.find_iter(&source.code);
        let mut lines = direct
            .map(|found| source.line_of(found.end()))
            .collect::<Vec<_>>();
        let module = self.path.strip_prefix("std::");
        for (open, _) in source.code.match_indices("std::{") {
            let open = open + "std::".len();
            let group = &source.code[open + 1..closing(&source.code, open) - 1];
            if module.is_some_and(|module| heads(group).contains(module)) {
                lines.push(source.line_of(open));
            }
        }
        lines
    }
}

/// The functions of a file: name, first line, number of lines.
pub(super) fn functions(source: &Source) -> Vec<(String, usize, usize)> {
    static SIGNATURE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\bfn\s+([a-z_0-9]+)").unwrap());
    let mut found = Vec::new();
    for captures in SIGNATURE.captures_iter(&source.code) {
        let start = captures.get(0).unwrap();
        let Some(opens) = source.code[start.end()..]
            .find(['{', ';'])
            .map(|at| start.end() + at)
        else {
            continue;
        };
        if source.code[opens..].starts_with('{') {
            let end = closing(&source.code, opens);
            let (first, last) = (source.line_of(start.start()), source.line_of(end));
            found.push((captures[1].to_owned(), first, last - first + 1));
        }
    }
    found
}
