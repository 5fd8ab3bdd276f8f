//! What the operator sets in `config.toml`: theme, view, keys, the list of recordings.
//!
//! [`Settings::read`] reports all that is wrong with a file at once, with lines; [`Settings::effective`] writes
//! what holds as such a file, and where each value came from.

use super::keymap::settings::{Rebound, key_faults, rebound};
use super::keymap::{self, Binding};
use super::picker::rows::{COLUMN_NAMES, Grouping, Id, PickerSettings, Sort};
use super::request::View;
use super::state::layout::{DETAIL, DetailPlace, LayoutSettings};
use super::theme::Variant;
use super::transcript;
use retake_core::config::{self, Checker, ConfigErrors, Key, Keys, Section, Shape};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The least and the most rows of a folded result.
const RESULT_ROWS: (u64, u64) = (1, 50);
/// How often faulty lines are left out before the file is.
const ROUNDS: usize = 20;
/// Longest file, in bytes.
const LONGEST: usize = 1 << 20;

/// The keys of the file, for its check and for the help.
pub static FILE: Keys = Keys {
    place: "the file",
    keys: &[
        key("theme", Shape::Word(None, themes), "colours", "\"auto\""),
        key(
            "view",
            Shape::Word(None, views),
            "initial view of a recording",
            "\"flow\"",
        ),
        key(
            "detail",
            Shape::Whole(DETAIL.0 as u64, DETAIL.1 as u64),
            "width, or height, of the detail in percent of the screen, instead of 50 at the transcript and 42 in the columns",
            "",
        ),
        key(
            "layout",
            Shape::Word(None, places),
            "where the detail is shown: beside the list (below 100 columns over it), or below it",
            "\"beside\"",
        ),
        key(
            "result-rows",
            Shape::Whole(RESULT_ROWS.0, RESULT_ROWS.1),
            "most rows of a folded result in the transcript",
            "3",
        ),
        key(
            "ascii",
            Shape::Flag,
            "only ASCII characters on the screen",
            "false",
        ),
        key(
            "mouse",
            Shape::Flag,
            "whether retake uses the mouse",
            "true",
        ),
        key(
            "prices",
            Shape::Text,
            "a file with model prices; its path is relative to the folder of this file",
            "",
        ),
        key("picker", Shape::Table(&PICKER), "the recordings list", ""),
        key(
            "keys",
            Shape::JsonTable,
            "key bindings, one table per group",
            "",
        ),
    ],
    rules: &[],
};

/// The keys of its table for the list of recordings.
pub static PICKER: Keys = Keys {
    place: "[picker]",
    keys: &[
        key(
            "columns",
            Shape::List("columns", &Shape::Word(None, columns)),
            "columns in order, as many as fit",
            "[\"when\", \"findings\", \"turns\", \"size\", \"tokens\", \"cost\", \"agent\", \"model\", \"file\", \"title\"]",
        ),
        key("sort", Shape::Word(None, sorts), "sort order", "\"time\""),
        key(
            "group",
            Shape::Word(None, groupings),
            "grouping",
            "\"folder\"",
        ),
        key(
            "preview",
            Shape::Flag,
            "whether the preview is shown",
            "true",
        ),
    ],
    rules: &[],
};

const fn key(
    name: &'static str,
    shape: Shape,
    meaning: &'static str,
    default: &'static str,
) -> Key {
    Key {
        name,
        shape,
        meaning,
        default: match default.is_empty() {
            true => None,
            false => Some(default),
        },
        is_required: false,
    }
}

fn words<T>(all: &[(T, &'static str)]) -> Vec<&'static str> {
    all.iter().map(|(_, word)| *word).collect()
}

fn themes() -> Vec<&'static str> {
    [vec!["auto"], words(&Variant::ALL)].concat()
}

fn places() -> Vec<&'static str> {
    words(&DetailPlace::ALL)
}

fn views() -> Vec<&'static str> {
    words(&View::ALL)
}

fn columns() -> Vec<&'static str> {
    words(&COLUMN_NAMES)
}

fn sorts() -> Vec<&'static str> {
    words(&Sort::ALL)
}

fn groupings() -> Vec<&'static str> {
    words(&Grouping::ALL)
}

fn named<T: Copy>(all: &[(T, &'static str)], word: &str) -> Option<T> {
    let found = all.iter().find(|(_, known)| *known == word);
    found.map(|(value, _)| *value)
}

/// Empties the value that a line of a file belongs to; of the head of a table all lines of the table, which would be
/// another's.
fn leave_out(lines: &mut [&str], at: usize) {
    let is_head = |line: &str| line.trim_start().starts_with('[');
    let begins = |line: &str| is_head(line) || line.contains('=');
    let is_open = |from: usize| {
        let text = lines[from..at].concat();
        text.matches('[').count() > text.matches(']').count()
    };
    if at >= lines.len() {
        return;
    }
    let above = (0..at).rev().find(|place| begins(lines[*place]));
    let start = match above {
        Some(start) if !begins(lines[at]) && is_open(start) => start,
        _ => at,
    };
    let is_table = is_head(lines[start]);
    let is_next = |line: &str| is_head(line) || !is_table && begins(line);
    let next = (start + 1..lines.len()).find(|place| is_next(lines[*place]));
    let end = next.unwrap_or(lines.len());
    lines[start..end].fill("");
}

/// What a file sets.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The file; `None` where there is none.
    pub file: Option<PathBuf>,
    /// `None` leaves it to the environment.
    pub theme: Option<Variant>,
    pub view: Option<View>,
    pub layout: LayoutSettings,
    /// As it is written.
    pub prices: Option<PathBuf>,
    pub ascii: bool,
    pub without_mouse: bool,
    pub picker: PickerSettings,
    pub keys: Vec<Rebound>,
    /// The lines of the values that the file sets.
    lines: BTreeMap<&'static str, usize>,
}

impl Settings {
    /// Reads a file.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(text: &str) -> Result<Self, ConfigErrors> {
        config::read(text, LONGEST, &FILE, |file, checker| {
            let mut settings = Self::default();
            settings.take(file, checker);
            Some(settings)
        })
    }

    /// Reads what is right in a file: each faulty line leaves the default. Gives all that is wrong with it, too.
    pub fn read_in_part(text: &str) -> (Self, Option<ConfigErrors>) {
        let faults = match Self::read(text) {
            Ok(settings) => return (settings, None),
            Err(faults) => faults,
        };
        let mut lines: Vec<&str> = text.lines().collect();
        let mut left = faults.clone();
        // What is left out may leave a value without its beginning.
        for _ in 0..ROUNDS {
            for error in &left.errors {
                leave_out(&mut lines, error.line.saturating_sub(1));
            }
            match Self::read(&lines.join("\n")) {
                Ok(settings) => return (settings, Some(faults)),
                Err(faults) => left = faults,
            }
        }
        (Self::default(), Some(faults))
    }

    fn take(&mut self, file: Section<'_>, checker: &mut Checker<'_>) {
        for key in FILE.keys.iter().filter(|key| file.has(key.name)) {
            self.lines
                .insert(key.name, checker.line(file.at_key(key.name)));
        }
        let word = |key| file.text(key).unwrap_or_default();
        self.theme = named(&Variant::ALL, word("theme"));
        self.view = named(&View::ALL, word("view"));
        self.layout = LayoutSettings {
            detail: file.get("detail"),
            detail_place: named(&DetailPlace::ALL, word("layout")).unwrap_or_default(),
            result_rows: file.get("result-rows"),
        };
        self.prices = file.text("prices").map(PathBuf::from);
        self.ascii = file.get("ascii").unwrap_or(false);
        self.without_mouse = !file.get("mouse").unwrap_or(true);
        if let Some(picker) = file.table("picker") {
            for key in PICKER.keys.iter().filter(|key| picker.has(key.name)) {
                let line = checker.line(picker.at_key(key.name));
                self.lines.insert(key.name, line);
            }
            let word = |key| picker.text(key).unwrap_or_default();
            let names: Option<Vec<String>> = picker.get("columns");
            let columns = names.into_iter().flatten();
            let columns: Vec<Id> = columns
                .filter_map(|name| named(&COLUMN_NAMES, &name))
                .collect();
            if !columns.is_empty() {
                self.picker.columns = columns;
            }
            self.picker.sort = named(&Sort::ALL, word("sort")).unwrap_or_default();
            self.picker.grouping = named(&Grouping::ALL, word("group")).unwrap_or_default();
            self.picker.has_preview = picker.get("preview").unwrap_or(true);
        }
        if let Some(keys) = file.table("keys") {
            self.keys = rebound(keys, checker);
            key_faults(&self.keys, checker);
        }
    }

    /// The table of keys with those of the file.
    pub fn bindings(&self) -> Vec<Binding> {
        let mut rows: Vec<Binding> = keymap::defaults().to_vec();
        for rebound in &self.keys {
            rows[rebound.row].keys = String::leak(rebound.keys.clone());
        }
        rows
    }

    /// What holds, written as a file; each value is followed by the line that set it, or by `default`.
    pub fn effective(&self) -> String {
        let mut text = match &self.file {
            Some(file) => format!("# read from {}\n", file.display()),
            None => "# no file: these are the defaults\n".to_owned(),
        };
        let from = |line: Option<&usize>| match line {
            Some(line) => format!("line {line}"),
            None => "default".to_owned(),
        };
        let mut put = |name: &str, value: &str, from: &str| {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{:<40} # {from}", format!("{name} = {value}"));
        };
        let quoted = |word: &str| format!("\"{word}\"");
        let word = |found: Option<&'static str>, default| quoted(found.unwrap_or(default));
        let theme = Variant::ALL.iter().find(|(it, _)| Some(*it) == self.theme);
        let view = View::ALL.iter().find(|(it, _)| Some(*it) == self.view);
        let layout = self.layout;
        let place = DetailPlace::ALL.iter();
        let place = place.clone().find(|(it, _)| *it == layout.detail_place);
        let result_rows = layout.result_rows.unwrap_or(transcript::RESULT_ROWS);
        for (name, value) in [
            ("theme", word(theme.map(|(_, word)| *word), "auto")),
            ("view", word(view.map(|(_, word)| *word), "flow")),
            ("layout", word(place.map(|(_, word)| *word), "beside")),
            ("result-rows", result_rows.to_string()),
            ("ascii", self.ascii.to_string()),
            ("mouse", (!self.without_mouse).to_string()),
        ] {
            put(name, &value, &from(self.lines.get(name)));
        }
        if let Some(detail) = layout.detail {
            put(
                "detail",
                &detail.to_string(),
                &from(self.lines.get("detail")),
            );
        }
        if let Some(prices) = &self.prices {
            let prices = toml::Value::String(prices.to_string_lossy().into_owned());
            put(
                "prices",
                &prices.to_string(),
                &from(self.lines.get("prices")),
            );
        }
        text.push_str("\n[picker]\n");
        let picker = &self.picker;
        let names = picker.columns.iter().map(|id| {
            let name = COLUMN_NAMES.iter().find(|(known, _)| known == id);
            quoted(name.map_or("", |(_, name)| name))
        });
        let names: Vec<String> = names.collect();
        let sort = Sort::ALL.iter().find(|(it, _)| *it == picker.sort);
        let grouping = Grouping::ALL.iter().find(|(it, _)| *it == picker.grouping);
        let mut put = |name: &str, value: &str, from: &str| {
            let _ = writeln!(text, "{:<40} # {from}", format!("{name} = {value}"));
        };
        for (name, value) in [
            ("columns", format!("[{}]", names.join(", "))),
            ("sort", word(sort.map(|(_, word)| *word), "time")),
            ("group", word(grouping.map(|(_, word)| *word), "folder")),
            ("preview", picker.has_preview.to_string()),
        ] {
            put(name, &value, &from(self.lines.get(name)));
        }
        let rows = self.bindings();
        let mut last = "";
        for (row, (group, name)) in keymap::settings::names() {
            if group != last {
                let _ = writeln!(text, "\n[keys.{group}]");
            }
            last = group;
            let set = self.keys.iter().find(|rebound| rebound.row == row);
            let from = from(set.map(|rebound| &rebound.line));
            let keys = toml::Value::String(rows[row].keys.to_owned());
            let _ = writeln!(text, "{:<40} # {from}", format!("{name} = {keys}"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::keymap::{Command, Context, event};

    #[test]
    fn the_columns_of_the_help_are_those_of_the_program() {
        let key = PICKER.keys.iter().find(|key| key.name == "columns");
        let names: Vec<String> = words(&COLUMN_NAMES)
            .iter()
            .map(|name| format!("\"{name}\""))
            .collect();
        let all = format!("[{}]", names.join(", "));
        assert_eq!(key.unwrap().default, Some(&*all));
    }

    #[test]
    fn a_file_sets_what_it_names_and_says_where() {
        let text = "theme = \"light-contrast\"\nview = \"columns\"\nmouse = false\n[picker]\ncolumns = \
            [\"when\", \"title\"]\nsort = \"findings\"\n[keys.findings]\nnext-finding = \"^n\"\n[keys.recover]\n\
            note = \"\"\n";
        let text = text.replace(
            "[keys.recover]\nnote = \"\"\n",
            "[keys.find]\nnote = \"\"\n",
        );
        let settings = Settings::read(&text).unwrap();
        assert_eq!(settings.theme, Some(Variant::LightContrast));
        assert_eq!(settings.picker.columns, [Id::When, Id::Title]);
        assert!(settings.without_mouse);
        let rows = settings.bindings();
        let keys = |command| rows.iter().find(|row| row.command == command).unwrap().keys;
        assert_eq!(keys(Command::Finding(keymap::Direction::Forward)), "^n");
        assert_eq!(keys(Command::Note), "");
        let effective = settings.effective();
        for (value, from) in [
            ("theme = \"light-contrast\"", "# line 1"),
            ("ascii = false", "# default"),
            ("sort = \"findings\"", "# line 6"),
            ("next-finding = \"^n\"", "# line 8"),
            ("down = \"j down\"", "# default"),
        ] {
            let mut lines = effective.lines();
            let line = lines.find(|line| line.starts_with(value)).unwrap();
            assert!(line.ends_with(from), "{line}");
        }
        let again = Settings::read(&effective).unwrap();
        assert_eq!(again.bindings().len(), rows.len());
        for (one, other) in again.bindings().iter().zip(&rows) {
            assert_eq!(one.keys, other.keys);
        }
    }

    #[test]
    fn the_layout_of_recordings_is_read_and_printed() {
        let text = "layout = \"below\"\nresult-rows = 8\n";
        let settings = Settings::read(text).unwrap();
        assert_eq!(settings.layout.detail_place, DetailPlace::Below);
        assert_eq!(settings.layout.result_rows, Some(8));
        let effective = settings.effective();
        for (value, from) in [
            ("layout = \"below\"", "# line 1"),
            ("result-rows = 8", "# line 2"),
        ] {
            let line = effective.lines().find(|line| line.starts_with(value));
            assert!(line.is_some_and(|line| line.ends_with(from)), "{effective}");
        }
        let default = Settings::default().effective();
        assert!(default.contains("layout = \"beside\""), "{default}");
        assert!(default.contains("result-rows = 3 "), "{default}");
        let faults = Settings::read("layout = \"left\"\nresult-rows = 0\n").unwrap_err();
        let faults = faults.to_string();
        assert!(
            faults.contains("line 1") && faults.contains("line 2"),
            "{faults}"
        );
    }

    #[test]
    fn all_faults_of_a_file_are_told_at_once_with_their_lines() {
        let faults = Settings::read(
            r#"them = "dark"
view = "rows"
[picker]
columns = ["when", "titel"]
[keys.findings]
next-findng = "n"
next-finding = "ctl-x"
previous-finding = "n"
[keys.panes]
turns = 1
[keys.lines]
leave = "x esc"
[keys.takes]
leave = ""
[keys.pains]
down = "j"
"#,
        );
        insta::assert_snapshot!(faults.unwrap_err().to_string());
    }

    #[test]
    fn a_faulty_key_keeps_its_default_and_the_others_hold() {
        let text = "theme = \"dark\"\nview = \"rows\"\nresult-rows = 900\n[picker]\nsort = \"findings\"\n\
            columns = [\n\"when\",\n\"titel\"]\n[keys.pains]\nnext-finding = \"Z\"\n[keys.find]\nmark = \"m\"\n";
        let (settings, faults) = Settings::read_in_part(text);
        let lines = faults.unwrap().errors;
        let lines: Vec<usize> = lines.iter().map(|error| error.line).collect();
        assert_eq!(lines, [2, 3, 8, 9]);
        assert_eq!((settings.theme, settings.view), (Some(Variant::Dark), None));
        assert_eq!(settings.layout.result_rows, None);
        assert_eq!(settings.picker.sort, Sort::Findings);
        assert_eq!(settings.picker.columns, PickerSettings::default().columns);
        assert_eq!(settings.keys.len(), 1);
        let (settings, faults) = Settings::read_in_part("theme = \"dark\"\nview = flow\n");
        assert_eq!(
            (settings.theme, faults.unwrap().errors[0].line),
            (Some(Variant::Dark), 2)
        );
    }

    #[test]
    fn the_defaults_written_as_a_file_are_the_defaults() {
        let settings = Settings::read(&Settings::default().effective()).unwrap();
        for (one, other) in settings.bindings().iter().zip(keymap::defaults()) {
            assert_eq!(one.keys, other.keys, "{other:?}");
        }
        assert_eq!(settings.picker, PickerSettings::default());
    }

    #[test]
    fn the_names_of_actions_stay_as_files_have_them() {
        let names = keymap::settings::names().map(|(_, (group, name))| format!("{group}.{name}"));
        let names: Vec<String> = names.collect();
        let mut unique = names.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), names.len());
        insta::assert_snapshot!(names.join("\n"));
    }

    #[test]
    fn keys_that_only_a_file_has_are_understood() {
        for name in ["F12", "del", "backspace", "insert", "^x", "ä"] {
            assert!(event(name).is_some(), "{name}");
        }
        for name in ["", "ctl-x", "^", "F0", "F13", "ab"] {
            let is_caret = name == "^";
            assert_eq!(event(name).is_some(), is_caret, "{name}");
        }
        assert!(keymap::command(Context::Picker, &event("s").unwrap()).is_some());
    }
}
