//! The keys of the list of exchanges, the home screen of `retake proxy`.
//!
//! Moving and what concerns the program is the same as everywhere (rows of [`super::KEYMAP`]) and
//! is not repeated here.

use super::Direction::{Backward, Forward};
use super::{Binding, Command as C, Context, Group, row};

const HERE: &[Context] = &[Context::Exchanges];

/// Every key that the list has of its own.
#[rustfmt::skip]
pub const EXCHANGES: &[Binding] = &[
    row("enter l right", C::Open, HERE, Group::Exchanges, "open the exchange; decide a held one").in_footer(90, "open"),
    row("a", C::Release, HERE, Group::Exchanges, "release the exchange unchanged")
        .in_footer(85, "release").alias(&["release", "continue", "c"]),
    row("A", C::ReleaseAll, HERE, Group::Exchanges, "release all held exchanges")
        .in_footer(60, "release all").destructive(),
    row("X", C::Cut, HERE, Group::Exchanges, "cut the connection to the agent")
        .in_footer(45, "cut").alias(&["kill"]).destructive(),
    row("r", C::Replay, HERE, Group::Exchanges,
        "send the request of a finished exchange again, as an exchange of its own")
        .in_footer(42, "replay").alias(&["replay", "resend", "repeat"]),
    row("I", C::Intercept, HERE, Group::Exchanges, "interception on or off").in_footer(65, "intercept"),
    row("}", C::Held(Forward), HERE, Group::Exchanges, "next held exchange").in_footer(80, "held"),
    row("{", C::Held(Backward), HERE, Group::Exchanges, "previous one"),
    row("]", C::Finding(Forward), HERE, Group::Exchanges, "next exchange with findings")
        .in_footer(70, "finding").alias(&["next"]),
    row("[", C::Finding(Backward), HERE, Group::Exchanges, "previous one"),
    row("/", C::Find, HERE, Group::Exchanges, "find a text in the list").in_footer(40, "find"),
    row("n", C::Hit(Forward), HERE, Group::Exchanges, "next hit"),
    row("N", C::Hit(Backward), HERE, Group::Exchanges, "previous hit"),
    row("f", C::Filter, HERE, Group::Exchanges, "filter the exchanges: ? in it shows the words and fields")
        .in_footer(50, "filter"),
    row("F", C::Follow, HERE, Group::Exchanges, "keep the newest exchange in sight").in_footer(30, "follow"),
    row("b", C::Break, HERE, Group::Exchanges, "set a breakpoint on the exchange: tool, rule, arguments")
        .alias(&["break", "b", "tbreak"]),
    row("B", C::Breakpoints, HERE, Group::Exchanges, "all breakpoints: on or off, once, delete, add")
        .alias(&["info breakpoints", "info b", "delete", "disable", "enable"]),
    row("c", C::Connect, HERE, Group::Exchanges, "how to connect an agent to the proxy").in_footer(55, "connect"),
    row("o", C::Child, HERE, Group::Exchanges, "output of the agent that the proxy started").in_footer(35, "output"),
    row("U", C::Usage, HERE, Group::Exchanges, "tokens, money and time so far of all conversations")
        .alias(&["tokens", "totals", "usage", "cost"]),
    row("Z", C::Timeline, HERE, Group::Exchanges, "its conversation so far as bars over time")
        .alias(&["timeline", "latency", "time"]),
    row("L", C::Log, HERE, Group::Exchanges, "event log").in_footer(20, "log").alias(&["info log"]),
    row("y", C::Copy, HERE, Group::Exchanges, "copy: how to connect, the request as curl, paths").in_footer(25, "copy"),
    row(": ^p", C::Palette, HERE, Group::Exchanges, "all commands by name"),
];
