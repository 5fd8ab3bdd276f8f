//! The keys of what lies over the panes: the wording editor, the offers and what they ask, differences,
//! takes, the save dialog.
//!
//! Moving through lists and texts is the same everywhere (the rows of [`super::KEYMAP`] under "Move") and
//! is not repeated here.

use super::Context::{
    Approval, Breakpoints, Comparison, Copying, Library, Line, Offers, Palette, Places, Proposal,
    Question, Readings, Saving, Takes, Tools, Trust, Values, Winner, Wording, Words,
};
use super::Direction::{Backward, Forward};
use super::{Binding, Command as C, Context, Group, row};

const TEXTS: &[Context] = &[Wording, Library, Words];
const EDITOR: &[Context] = &[Wording, Library];
/// Where `?` is a letter.
const TYPED: &[Context] = &[Wording, Library, Words];
const LINES: &[Context] = &[Line, Palette, Saving];
const SHOWN: &[Context] = &[
    Offers,
    Values,
    Readings,
    Question,
    Proposal,
    Comparison,
    Takes,
    Approval,
    Trust,
    Places,
    Breakpoints,
    Tools,
    Winner,
    Copying,
];

/// Every key of what lies over the panes.
#[rustfmt::skip]
pub const LAYERS: &[Binding] = &[
    row("^s F2", C::Accept, TEXTS, Group::Wording, "accept the text").in_footer(100, "accept"),
    row("enter", C::Choose, &[Words], Group::Wording, "accept a value of one line; else a new line")
        .in_footer(99, "accept"),
    row("tab", C::NextChoice, &[Words], Group::Wording, "the next of the values that the schema allows")
        .in_footer(98, "next choice"),
    row("^j", C::LineBreak, &[Words], Group::Wording, "a new line, also in a value of one line (as alt-enter)")
        .in_footer(63, "new line"),
    row("enter", C::Choose, &[Library], Group::Wording, "copy the wording of the library into the text")
        .in_footer(105, "use it"),
    row("tab S-tab", C::OtherPart, EDITOR, Group::Wording, "switch between the text and the library")
        .in_footer(90, "text/library"),
    row("^t", C::OtherAnswer, TEXTS, Group::Wording,
        "one call or all faulty calls of the turn; a fallback: into the history or not; an output: an error or not")
        .in_footer(80, "toggle"),
    row("^n", C::Value(Forward), &[Words], Group::Wording,
        "keep the value and open the next one; one take has all changes").in_footer(75, "next value"),
    row("^p", C::Value(Backward), &[Words], Group::Wording, "keep the value and open the previous one"),
    row("^u", C::Type, &[Wording, Words], Group::Wording, "clear the line before the cursor")
        .in_footer(65, "clear line"),
    row("^x", C::Type, &[Wording, Words], Group::Wording, "clear all of it").in_footer(66, "clear all"),
    row("^k", C::Type, &[Wording, Words], Group::Wording, "clear the line after the cursor"),
    row("^z", C::Undo, &[Wording, Words], Group::Wording, "undo the last change of the text").in_footer(60, "undo"),
    row("^r", C::Redo, &[Wording, Words], Group::Wording, "redo the change"),
    row("^e", C::Editor, TEXTS, Group::Wording, "edit the text in $EDITOR").in_footer(70, "$EDITOR"),
    row("PgDn", C::Preview(Forward), &[Wording, Words], Group::Wording, "scroll the preview down"),
    row("PgUp", C::Preview(Backward), &[Wording, Words], Group::Wording, "scroll it up"),
    row("esc ^c", C::Leave, TEXTS, Group::Wording, "close; the text is kept as a draft").in_footer(95, "close"),
    row("F1", C::Help, TYPED, Group::Wording, "the keys of the editor").in_footer(1, "help"),
    row("enter", C::Choose, &[Offers, Values, Readings], Group::Asking, "select the entry under the cursor")
        .in_footer(100, "select"),
    row("!", C::Explain, &[Offers], Group::Asking, "explain the findings").in_footer(70, "explain"),
    row("Y", C::FixAll, &[Offers], Group::Asking, "apply all safe fixes of the session, also those of other items")
        .in_footer(75, "fix all"),
    row("2 j down", C::Value(Forward), &[Readings], Group::Asking, "the second reading of broken arguments")
        .in_footer(80, "second"),
    row("1 k up", C::Value(Backward), &[Readings], Group::Asking, "the first one").in_footer(85, "first"),
    row("y", C::Yes, &[Question], Group::Asking, "yes").in_footer(100, "yes"),
    row("n", C::No, &[Question], Group::Asking, "no").in_footer(95, "no"),
    row("esc q ^c", C::Leave, &[Offers, Question, Readings], Group::Asking, "cancel; nothing is changed")
        .in_footer(90, "cancel"),
    row("^s F2", C::Accept, &[Values], Group::Asking, "accept all changed values").in_footer(95, "accept all"),
    row("d x", C::Delete, &[Values], Group::Asking, "remove the value").in_footer(70, "remove"),
    row("^n", C::Value(Forward), &[Values], Group::Asking, "next invalid value").in_footer(80, "next invalid"),
    row("esc q ^c", C::Leave, &[Values], Group::Asking, "close; changed values are kept as a draft")
        .in_footer(90, "close"),
    row("? F1", C::Help, SHOWN, Group::Asking, "the keys of what is shown").in_footer(1, "help"),
    row("enter", C::Accept, &[Proposal], Group::Differences, "accept the change that is shown")
        .in_footer(100, "accept"),
    row("e", C::Reword, &[Proposal], Group::Differences, "change the wording").in_footer(80, "reword"),
    row("]", C::Difference(Forward), &[Proposal, Comparison], Group::Differences, "next difference")
        .in_footer(70, "next"),
    row("[", C::Difference(Backward), &[Proposal, Comparison], Group::Differences, "previous difference")
        .in_footer(65, "previous"),
    row("esc q ^c", C::Leave, &[Proposal, Comparison], Group::Differences, "cancel; nothing is changed")
        .in_footer(90, "cancel"),
    row("enter", C::Choose, &[Takes], Group::Takes, "go to the take").in_footer(100, "go to"),
    row("d", C::Compare, &[Takes], Group::Takes,
        "compare with the marked take; without a mark, with the current take; the current take with its parent")
        .in_footer(90, "compare"),
    row("m", C::Mark, &[Takes], Group::Takes, "mark for a comparison").in_footer(60, "mark"),
    row("n", C::Note, &[Takes], Group::Takes, "write a note").in_footer(80, "note"),
    row("r", C::Rename, &[Takes], Group::Takes, "give it a name").in_footer(70, "rename"),
    row("x del", C::Delete, &[Takes], Group::Takes, "drop the take and all that came of it from the list")
        .in_footer(50, "drop"),
    row("u", C::Undo, &[Takes], Group::Takes, "list the take again that was dropped last").in_footer(40, "restore"),
    row("esc q ^c", C::Leave, &[Takes], Group::Takes, "close").in_footer(95, "close"),
    row("Q", C::Quit, &[Takes], Group::Takes, "quit"),
    row("enter", C::Accept, &[Saving], Group::Saving, "save").in_footer(100, "save"),
    row("tab down", C::Value(Forward), &[Saving], Group::Saving, "next format").in_footer(80, "format"),
    row("S-tab up", C::Value(Backward), &[Saving], Group::Saving, "previous format"),
    row("esc ^c", C::Leave, &[Saving], Group::Saving, "cancel; nothing is written").in_footer(90, "cancel"),
    row("enter", C::Accept, &[Line], Group::Lines, "accept the line"),
    row("up ^p", C::Value(Backward), &[Line], Group::Lines, "previous entry of the prompt's history"),
    row("down ^n", C::Value(Forward), &[Line], Group::Lines, "next entry of the prompt's history"),
    row("enter", C::Choose, &[Palette], Group::Lines,
        "palette: run the command; a number goes to that turn, exchange or row"),
    row("down tab ^n", C::Value(Forward), &[Palette], Group::Lines, "palette: the next command"),
    row("up S-tab ^p", C::Value(Backward), &[Palette], Group::Lines, "palette: the previous command"),
    row("tab", C::Complete, &[Line], Group::Lines, "complete the path of a file"),
    row("^u", C::Type, LINES, Group::Lines, "clear the line"),
    row("^w", C::Type, LINES, Group::Lines, "delete the word before the cursor"),
    row("^a home", C::Type, LINES, Group::Lines, "to the start of the line"),
    row("^e end", C::Type, LINES, Group::Lines, "to its end"),
    row("esc ^c ^g", C::Leave, &[Line, Palette], Group::Lines, "cancel; nothing is changed"),
    row("F1", C::Help, LINES, Group::Lines, "the keys of the prompt").in_footer(1, "help"),
    row("enter", C::Choose, &[Copying], Group::Files, "copy the first of the list"),
    row("esc q ^c", C::Leave, &[Copying], Group::Files, "cancel; nothing is copied"),
    row("y", C::Yes, &[Approval], Group::Deciding, "run the call, once all of it has been shown")
        .in_footer(100, "run it"),
    row("n i", C::No, &[Approval], Group::Deciding, "reject the call, with words for the model")
        .in_footer(95, "reject"),
    row("A", C::Always, &[Approval], Group::Deciding, "run it and all later calls of the tool").in_footer(80, "always"),
    row("e", C::Change, &[Approval], Group::Deciding, "edit the arguments first").in_footer(85, "edit"),
    row("y", C::Yes, &[Trust], Group::Deciding, "trust the agent's file, once all of it has been shown")
        .in_footer(100, "trust it"),
    row("n", C::No, &[Trust], Group::Deciding, "do not trust it; nothing of it runs").in_footer(95, "no"),
    row("esc q ^c", C::Leave, &[Approval, Trust], Group::Deciding, "close; nothing runs").in_footer(70, "close"),
    row("enter", C::Choose, &[Places], Group::Breaking, "set the breakpoint").in_footer(100, "set"),
    row("o", C::Once, &[Places, Breakpoints], Group::Breaking, "once only, or lasting").in_footer(80, "once"),
    row("space enter", C::Enable, &[Breakpoints], Group::Breaking, "on or off").in_footer(100, "on/off"),
    row("a", C::Add, &[Breakpoints], Group::Breaking, "add one by words: tool search_*, arg .amount > 100, once turn 5")
        .in_footer(90, "add"),
    row("d x", C::Delete, &[Breakpoints], Group::Breaking, "delete").in_footer(85, "delete"),
    row("esc q ^c B", C::Leave, &[Breakpoints], Group::Breaking, "close").in_footer(70, "close"),
    row("esc q ^c", C::Leave, &[Places], Group::Breaking, "close").in_footer(70, "close"),
    row("e enter", C::Enable, &[Tools], Group::Breaking, "enable a tool that its breaker switched off")
        .in_footer(100, "enable"),
    row("H", C::Health, &[Tools], Group::Breaking, "tool health of the history").in_footer(80, "history"),
    row("esc q ^c", C::Leave, &[Tools], Group::Breaking, "close").in_footer(90, "close"),
    row("y enter", C::Choose, &[Winner], Group::Lab, "copy the wording in this form").in_footer(100, "copy"),
    row("w", C::Accept, &[Winner], Group::Lab, "save it to a file").in_footer(95, "save"),
    row("tab", C::Value(Forward), &[Winner], Group::Lab, "next form").in_footer(90, "next"),
    row("S-tab", C::Value(Backward), &[Winner], Group::Lab, "the previous one"),
    row("esc q ^c", C::Leave, &[Winner], Group::Lab, "close").in_footer(80, "close"),
];
