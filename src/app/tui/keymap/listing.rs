//! The table of keys as lists: for the palette, for the help of a place, for `retake help keys`.

use super::{Binding, Command, Context, Group, rows};
use crate::tui::palette;

/// What can be done in these places, for a palette: what is done nowhere else first.
pub fn commands_of(contexts: &[Context]) -> Vec<(palette::Command, Command)> {
    let tables = [super::exchanges::EXCHANGES, super::lab::LAB, super::KEYMAP];
    let rows = tables.into_iter().flatten();
    let rows = rows.filter(|row| row.works_in(contexts));
    rows.map(|row| (row.described(), row.command)).collect()
}

/// The keys that work in one of these places, for the help, by group.
pub fn keys_of(contexts: &[Context], has_use: impl Fn(Command) -> bool) -> Vec<palette::Command> {
    let rows = rows().filter(|row| row.works_in(contexts) && has_use(row.command));
    let mut keys: Vec<_> = rows.map(Binding::described).collect();
    sort_by_group(&mut keys);
    keys
}

fn sort_by_group(keys: &mut [palette::Command]) {
    let place =
        |key: &palette::Command| Group::ALL.iter().position(|(_, title)| *title == key.group);
    keys.sort_by_key(place);
}

/// Every key, for the help: those of the panes and those of what lies over them, by group.
pub fn all_keys() -> Vec<palette::Command> {
    let mut keys: Vec<_> = rows().map(Binding::described).collect();
    sort_by_group(&mut keys);
    keys
}

/// The keys as the table of `retake help keys`.
pub fn markdown_table() -> String {
    let mut table = String::from("| | keys | |\n|---|---|---|\n");
    let mut last = "";
    for binding in all_keys() {
        let keys: Vec<String> = binding
            .key
            .split(' ')
            .map(|key| format!("`{key}`"))
            .collect();
        let title = if binding.group == last {
            ""
        } else {
            binding.group
        };
        last = binding.group;
        table.push_str(&format!(
            "| {title} | {} | {} |\n",
            keys.join(" "),
            binding.title
        ));
    }
    table
}
