//! Other keys for the rows of the table: how a file names them, and what is wrong with those that it sets.

use super::{Binding, Command, Context, Direction, Group, event, is_same_key};
use crossterm::event::KeyModifiers;
use retake_core::config::{Checker, Section};
use std::sync::LazyLock;

/// Where letters are text.
const TYPED: [Context; 6] = [
    Context::Wording,
    Context::Words,
    Context::Line,
    Context::Palette,
    Context::Saving,
    Context::Library,
];
const HOW: &str = "keys are written `a`, `A`, `^a`, `space`, `enter`, `esc`, `tab`, `S-tab`, `up`, `PgDn`, `home`, \
    `del`, `F1`, with spaces between several";

/// A row of the table that has other keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebound {
    /// Its index among the defaults.
    pub row: usize,
    pub keys: String,
    /// The line that says so, and its byte.
    pub line: usize,
    at: usize,
}

/// The group and the name of each row that can be given other keys, with its index.
pub fn names() -> impl Iterator<Item = (usize, (&'static str, &'static str))> {
    NAMES
        .iter()
        .map(|(row, group, name)| (*row, (*group, &**name)))
}

/// Of rows with one command in one group, all but the first are named with their place.
static NAMES: LazyLock<Vec<(usize, &'static str, String)>> = LazyLock::new(|| {
    let rows = super::defaults();
    let mut names: Vec<(usize, &'static str, String)> = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        // What a line does with its letters is no command.
        if row.command == Command::Type {
            continue;
        }
        let group = word(row.group);
        let name = name(row.command);
        let is_taken = names
            .iter()
            .any(|(_, other, taken)| *other == group && *taken == name);
        let name = match (is_taken, row.contexts.first()) {
            (true, Some(context)) => format!("{name}-{}", kebab(&format!("{context:?}"))),
            _ => name,
        };
        names.push((number, group, name));
    }
    names.sort_by_key(|(number, group, _)| {
        let place = Group::ALL.iter().position(|(it, _)| word(*it) == *group);
        (place, *number)
    });
    names
});

/// The word for a group in a file.
fn word(group: Group) -> &'static str {
    match group {
        Group::Move => "move",
        Group::Recordings => "recordings",
        Group::Tree => "turns",
        Group::Findings | Group::Totals | Group::Timeline => "findings",
        Group::Find => "find",
        Group::Panes => "panes",
        Group::Recover => "recover",
        Group::Wording => "wording",
        Group::Asking => "asking",
        Group::Differences => "differences",
        Group::Takes => "takes",
        Group::Saving => "saving",
        Group::Filters => "filters",
        Group::Lines => "lines",
        Group::Live => "live",
        Group::Deciding => "deciding",
        Group::Breaking => "breaking",
        Group::Exchanges => "exchanges",
        Group::Lab => "lab",
        Group::Files => "files",
        Group::Program => "program",
    }
}

/// The name of a command in a file: its own in small letters, or the one that says more.
fn name(command: Command) -> String {
    let either = |direction: Direction, forward: &str, backward: &str| match direction {
        Direction::Forward => forward.to_owned(),
        Direction::Backward => backward.to_owned(),
    };
    let step = |direction, what: &str| {
        either(
            direction,
            &format!("next-{what}"),
            &format!("previous-{what}"),
        )
    };
    match command {
        Command::Step(direction) => either(direction, "down", "up"),
        Command::HalfPage(direction) => either(direction, "half-page-down", "half-page-up"),
        Command::Page(direction) => either(direction, "page-down", "page-up"),
        Command::Edge(direction) => either(direction, "last", "first"),
        Command::Preview(direction) => either(direction, "scroll-down", "scroll-up"),
        Command::Turn(direction) => step(direction, "turn"),
        Command::Finding(direction) => step(direction, "finding"),
        Command::Error(direction) => step(direction, "error"),
        Command::Hit(direction) => step(direction, "hit"),
        Command::NextPane(direction) => step(direction, "pane"),
        Command::Difference(direction) => step(direction, "difference"),
        Command::Value(direction) => step(direction, "value"),
        Command::Held(direction) => step(direction, "held"),
        Command::Trial(direction) => step(direction, "trial"),
        Command::Zoom(direction) => either(direction, "zoom-in", "zoom-out"),
        Command::Resize(direction) => either(direction, "wider-detail", "narrower-detail"),
        Command::Pan(direction) => either(direction, "later", "earlier"),
        Command::FoldAll(true) => "unfold-all".to_owned(),
        Command::FoldAll(false) => "fold-all".to_owned(),
        Command::Pane(number) => format!("pane-{}", number + 1),
        Command::Recover(action) => action.to_owned(),
        other => kebab(&format!("{other:?}")),
    }
}

/// `SameTool` as `same-tool`.
fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(letter.to_lowercase());
    }
    kebab
}

/// Reads the tables below `[keys]`.
pub fn rebound(keys: Section<'_>, checker: &mut Checker<'_>) -> Vec<Rebound> {
    let mut found = Vec::new();
    for (group, at) in keys.keys() {
        let Some(section) = keys.table(group) else {
            let of = names().find(|(_, (_, name))| *name == group);
            let text = match of {
                Some((_, (of, _))) => {
                    format!("`{group}` is an action of `[keys.{of}]`: write it below that")
                }
                None => format!(
                    "`{group}` is not a table: write `[keys.{group}]` and its actions below"
                ),
            };
            checker.push(at, text);
            continue;
        };
        let rows: Vec<_> = names().filter(|(_, (of, _))| *of == group).collect();
        if rows.is_empty() {
            let mut groups: Vec<&str> = names().map(|(_, (group, _))| group).collect();
            groups.dedup();
            checker.unknown(at, group, "an unknown group of keys", &groups);
            continue;
        }
        for (name, at) in section.keys() {
            let Some((row, _)) = rows.iter().find(|(_, (_, known))| *known == name) else {
                let known: Vec<&str> = rows.iter().map(|(_, (_, name))| *name).collect();
                checker.unknown(
                    at,
                    name,
                    &format!("an unknown action of [keys.{group}]"),
                    &known,
                );
                continue;
            };
            let Some(keys) = section.text(name) else {
                checker.push(at, format!("`{name}` is a text: {HOW}"));
                continue;
            };
            found.push(Rebound {
                row: *row,
                keys: keys.split_whitespace().collect::<Vec<_>>().join(" "),
                line: checker.line(at),
                at,
            });
        }
    }
    found
}

/// Says what is wrong with keys: those that there are not, those that are text, and those that mean two things in
/// one place.
pub fn key_faults(rebound: &[Rebound], checker: &mut Checker<'_>) {
    let mut rows: Vec<(&str, &Binding)> = super::defaults()
        .iter()
        .map(|row| (row.keys, row))
        .collect();
    for change in rebound {
        rows[change.row].0 = &change.keys;
    }
    for change in rebound {
        let (keys, row) = rows[change.row];
        let is_exit = matches!(row.command, Command::Leave | Command::Back | Command::Quit);
        if keys.is_empty() && is_exit {
            let text = "it needs a key: there is no other way to close this";
            checker.push(change.at, text);
        }
        let (known, unknown): (Vec<&str>, Vec<&str>) = keys
            .split(' ')
            .filter(|key| !key.is_empty())
            .partition(|key| event(key).is_some());
        match &unknown[..] {
            [] => {}
            [key] => checker.push(change.at, format!("`{key}` is not a key: {HOW}")),
            keys => {
                let keys = keys.join("` and `");
                checker.push(change.at, format!("`{keys}` are not keys: {HOW}"));
            }
        }
        for key in known {
            let Some(pressed) = event(key) else {
                continue;
            };
            let is_letter = key.chars().count() == 1 && pressed.modifiers == KeyModifiers::NONE;
            if (is_letter || key == "space") && row.contexts.iter().any(|it| TYPED.contains(it)) {
                checker.push(
                    change.at,
                    format!("`{key}` is text there: take one with ^, or F2"),
                );
            }
            let other = rows.iter().enumerate().find(|(number, (keys, other))| {
                let shares_place = other.contexts.iter().any(|it| row.contexts.contains(it));
                let mut keys = keys.split(' ').filter_map(event);
                let shares_key = shares_place && keys.any(|it| is_same_key(&it, &pressed));
                *number != change.row && shares_key
            });
            if let Some((number, (_, other))) = other {
                let name = names().find(|(row, _)| *row == number);
                let name = name.map_or(other.help.to_owned(), |(_, (group, name))| {
                    format!("`{name}` of [keys.{group}]")
                });
                checker.push(change.at, format!("`{key}` is the key of {name}, too"));
            }
        }
    }
}

/// The actions that a file can give other keys, as a table for the help.
pub fn markdown() -> String {
    let mut table = "| table | action | keys | |\n|---|---|---|---|\n".to_owned();
    let mut last = "";
    for (row, (group, name)) in names() {
        let row = &super::defaults()[row];
        let keys: Vec<String> = row
            .keys
            .split(' ')
            .map(|key| format!("`{}`", key.replace('|', "\\|")))
            .collect();
        let place = if group == last {
            String::new()
        } else {
            format!("`[keys.{group}]`")
        };
        last = group;
        table.push_str(&format!(
            "| {place} | `{name}` | {} | {} |\n",
            keys.join(" "),
            row.help
        ));
    }
    table
}
