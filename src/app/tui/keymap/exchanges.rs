//! The keys of the list of exchanges, the home screen of `retake proxy`.
//!
//! Moving and what concerns the program is the same as everywhere (rows of [`super::KEYMAP`]) and
//! is not repeated here.

use super::Direction::{self, Backward, Forward};
use super::{Binding, Context, Group, KEYMAP, bound, in_footer, palette, row};
use crossterm::event::KeyEvent;

/// What a key does in the list of exchanges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Open the exchange in the debugger.
    Open,
    /// What is held of the exchange passes as it came.
    Release,
    /// All that is held passes as it came.
    ReleaseAll,
    /// Cut the connection to the agent.
    Cut,
    /// Interception on or off.
    Intercept,
    /// The next or previous exchange in which something was found.
    Finding(Direction),
    /// The next or previous exchange that is held.
    Held(Direction),
    /// Ask for a text to find.
    Find,
    /// The next or previous exchange with that text.
    Hit(Direction),
    /// Ask for a filter.
    Filter,
    /// Keep the newest exchange in sight.
    Follow,
    /// A breakpoint on what the exchange holds.
    Break,
    Breakpoints,
    /// How agents are pointed at the proxy.
    Connect,
    /// What the agent that was started says.
    Child,
    Log,
    Copy,
    /// All commands by name.
    Palette,
    /// What stands in the shared table.
    Shared(super::Command),
}

use Deed as D;

const HERE: &[Context] = &[Context::Exchanges];

/// Every key that the list has of its own.
#[rustfmt::skip]
pub const EXCHANGES: &[Binding<Deed>] = &[
    row("enter l right", D::Open, HERE, Group::Exchanges, "open the exchange; one that is held is decided there").in_footer(90, "open"),
    row("a", D::Release, HERE, Group::Exchanges, "release what is held of the exchange, as it came").in_footer(85, "release").alias(&["release", "continue", "c"]),
    row("A", D::ReleaseAll, HERE, Group::Exchanges, "release everything that is held").in_footer(60, "release all").destructive(),
    row("X", D::Cut, HERE, Group::Exchanges, "cut the connection to the agent").in_footer(45, "cut").alias(&["kill"]).destructive(),
    row("I", D::Intercept, HERE, Group::Exchanges, "interception on or off").in_footer(65, "intercept"),
    row("}", D::Held(Forward), HERE, Group::Exchanges, "next exchange that is held").in_footer(80, "held"),
    row("{", D::Held(Backward), HERE, Group::Exchanges, "previous one"),
    row("]", D::Finding(Forward), HERE, Group::Exchanges, "next exchange with findings").in_footer(70, "finding").alias(&["next"]),
    row("[", D::Finding(Backward), HERE, Group::Exchanges, "previous one"),
    row("/", D::Find, HERE, Group::Exchanges, "find a text in the list").in_footer(40, "find"),
    row("n", D::Hit(Forward), HERE, Group::Exchanges, "next hit"),
    row("N", D::Hit(Backward), HERE, Group::Exchanges, "previous hit"),
    row("f", D::Filter, HERE, Group::Exchanges, "filter: held, error, rule:unknown-*, tool:pay, model:gpt*, status:4*, !text").in_footer(50, "filter"),
    row("F", D::Follow, HERE, Group::Exchanges, "keep the newest exchange in sight").in_footer(30, "follow"),
    row("b", D::Break, HERE, Group::Exchanges, "breakpoint on what the exchange holds: tool, rule, arguments").alias(&["break", "b", "tbreak"]),
    row("B", D::Breakpoints, HERE, Group::Exchanges, "all breakpoints: on or off, once, delete, add").alias(&["info breakpoints", "info b", "delete", "disable", "enable"]),
    row("c", D::Connect, HERE, Group::Exchanges, "how agents are pointed at the proxy").in_footer(55, "connect"),
    row("o", D::Child, HERE, Group::Exchanges, "what the agent says that the proxy has started").in_footer(35, "output"),
    row("L", D::Log, HERE, Group::Exchanges, "what has happened").in_footer(20, "log").alias(&["info log"]),
    row("y", D::Copy, HERE, Group::Exchanges, "copy: how to connect, the request as curl, paths").in_footer(25, "copy"),
    row(": ^p", D::Palette, HERE, Group::Exchanges, "all commands by name"),
];

/// What a key does in the list.
pub fn deed(event: &KeyEvent) -> Option<Deed> {
    let own = bound(EXCHANGES, Context::Exchanges, event).copied();
    own.or_else(|| super::command(Context::Exchanges, event).map(D::Shared))
}

/// What the list can do, for the palette and the help, with the deed of each row.
pub fn deeds() -> Vec<(palette::Command, Deed)> {
    let own = EXCHANGES.iter().map(|row| (row.described(), row.command));
    let shared = KEYMAP
        .iter()
        .filter(|row| row.contexts.contains(&Context::Exchanges));
    own.chain(shared.map(|row| (row.described(), D::Shared(row.command))))
        .collect()
}

/// The keys that the footer may name, what matters most first.
pub fn hints() -> Vec<(&'static str, &'static str, Deed)> {
    let own = in_footer(EXCHANGES, Context::Exchanges).into_iter();
    let own = own.map(|row| (row.footer.0, (row.first_key(), row.footer.1, row.command)));
    let shared = super::footer(Context::Exchanges).into_iter();
    let shared = shared.map(|row| {
        let hint = (row.first_key(), row.footer.1, D::Shared(row.command));
        (row.footer.0, hint)
    });
    let mut all: Vec<_> = own.chain(shared).collect();
    all.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    all.into_iter().map(|(_, hint)| hint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_in_the_list() {
        super::super::tests::assert_unambiguous(EXCHANGES);
        let shared = KEYMAP
            .iter()
            .filter(|row| row.contexts.contains(&Context::Exchanges));
        for (shared, own) in shared.flat_map(|row| EXCHANGES.iter().map(move |own| (row, own))) {
            let mut keys = shared.keys.split(' ');
            assert!(
                !keys.any(|key| own.keys.split(' ').any(|other| other == key)),
                "{shared:?} {own:?}"
            );
        }
    }
}
