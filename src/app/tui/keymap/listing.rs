//! The table of keys as lists: for the palette, for the help of a place, for `retake help keys`.

use super::{Binding, Command as C, Context, Group, KEYMAP, exchanges, lab, overlays};
use crate::tui::help::Help;
use crate::tui::palette;
use crossterm::event::KeyEvent;

/// Whether a command of the table can do anything in a debugger: of an exchange of a proxy, or of a
/// recording or a run.
pub fn is_of_debugger(number: usize, is_exchange: bool) -> bool {
    let command = KEYMAP.get(number).map(|binding| binding.command);
    is_exchange || !matches!(command, Some(C::Intercept | C::Views))
}

/// The table for the palette; a row has the same number in both.
pub fn commands() -> Vec<palette::Command> {
    KEYMAP.iter().map(Binding::described).collect()
}

/// The keys that work in one of these places, for the help, by group.
fn keys_of(places: &[Context]) -> Vec<palette::Command> {
    fn of<C>(table: &[Binding<C>], places: &[Context]) -> Vec<palette::Command> {
        let works = |binding: &&Binding<C>| {
            let mut contexts = binding.contexts.iter();
            contexts.any(|context| places.contains(context))
        };
        table.iter().filter(works).map(Binding::described).collect()
    }
    let mut keys = of(KEYMAP, places);
    keys.extend(of(lab::LAB, places));
    keys.extend(of(overlays::OVERLAYS, places));
    keys.extend(of(exchanges::EXCHANGES, places));
    sort_by_group(&mut keys);
    keys
}

/// The keys of the panes of a debugger: of an exchange of a proxy, or of a recording or a run.
pub fn keys_of_debugger(place: Context, is_exchange: bool) -> Vec<palette::Command> {
    let rows = KEYMAP.iter().enumerate();
    let rows = rows.filter(|(number, binding)| {
        binding.contexts.contains(&place) && is_of_debugger(*number, is_exchange)
    });
    let mut keys: Vec<_> = rows.map(|(_, binding)| binding.described()).collect();
    sort_by_group(&mut keys);
    keys
}

fn sort_by_group(keys: &mut [palette::Command]) {
    let place =
        |key: &palette::Command| Group::ALL.iter().position(|(_, title)| *title == key.group);
    keys.sort_by_key(place);
}

/// The keys of what lies over the screen, where this key asks for them; the first of the places decides that.
pub fn help_of(places: &[Context], key: &KeyEvent) -> Option<Help> {
    let asks = overlays::act(*places.first()?, key) == Some(overlays::Act::Help);
    asks.then(|| Help::new(&keys_of(places), &all_keys(), &[]))
}

/// Every key, for the help: those of the panes and those of what lies over them, by group.
pub fn all_keys() -> Vec<palette::Command> {
    let mut keys = commands();
    keys.extend(lab::LAB.iter().map(Binding::described));
    keys.extend(overlays::OVERLAYS.iter().map(Binding::described));
    keys.extend(exchanges::EXCHANGES.iter().map(Binding::described));
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
