//! The keys of what lies over the panes: the wording editor, the offers and what they ask, differences,
//! takes, the save dialog.
//!
//! Moving through lists and texts is the same everywhere (the rows of [`super::KEYMAP`] under "Move") and
//! is not repeated here.

use super::Context::{
    Answer, Approval, Breakpoints, Comparison, Copying, Library, Line, Offers, Palette, Places,
    Proposal, Question, Readings, Saving, Takes, Tools, Trust, Winner, Wording, Words,
};
use super::Direction::{self, Backward, Forward};
use super::{Binding, Context, Group, bound, in_footer, row};
use crossterm::event::KeyEvent;

/// What a key does in what lies over the panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Leave; nothing is changed.
    Leave,
    /// Accept what is shown or written.
    Accept,
    /// Take what the cursor is on.
    Choose,
    /// The other part of the overlay.
    Switch,
    /// The other answer to the question beside the text.
    Toggle,
    /// Edit the text in the operator's editor.
    Editor,
    /// Take back the last change of the text.
    Undo,
    Redo,
    Preview(Direction),
    Yes,
    No,
    /// Other words for what is proposed.
    Reword,
    /// The next or previous difference.
    Difference(Direction),
    /// Mark a take for a comparison.
    Mark,
    Compare,
    Note,
    Rename,
    /// The next or previous value of a field.
    Value(Direction),
    /// Yes, and for all that come later.
    Always,
    Edit,
    /// Switch it on or off.
    Switched,
    /// Once only, or lasting.
    Once,
    Delete,
    Add,
    /// The same of the history.
    OfHistory,
    Complete,
    /// Change the line, as the text box does.
    Type,
    Help,
}

use Act as A;

const TEXTS: &[Context] = &[Wording, Library, Words, Answer];
const EDITOR: &[Context] = &[Wording, Library];
/// Where `?` is a letter.
const TYPED: &[Context] = &[Wording, Library, Words, Answer];
const LINES: &[Context] = &[Line, Palette, Saving];
const SHOWN: &[Context] = &[
    Offers,
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
pub const OVERLAYS: &[Binding<Act>] = &[
    row("^s F2", A::Accept, TEXTS, Group::Wording, "accept the text").in_footer(100, "accept"),
    row("enter", A::Choose, &[Library], Group::Wording, "take the wording of the library into the text").in_footer(105, "take it"),
    row("tab S-tab", A::Switch, EDITOR, Group::Wording, "from the text to the library and back").in_footer(90, "text/library"),
    row("^t", A::Toggle, TEXTS, Group::Wording, "one call or all faulty calls of the turn; a fallback: into the history or not; an output: an error or not").in_footer(80, "toggle"),
    row("^u", A::Undo, &[Wording, Words, Answer], Group::Wording, "take back the last change of the text").in_footer(60, "undo"),
    row("^r", A::Redo, &[Wording, Words, Answer], Group::Wording, "make the change again that was taken back"),
    row("^e", A::Editor, TEXTS, Group::Wording, "edit the text in $EDITOR").in_footer(70, "$EDITOR"),
    row("PgDn", A::Preview(Forward), &[Wording, Answer], Group::Wording, "scroll what stands beside the text down"),
    row("PgUp", A::Preview(Backward), &[Wording, Answer], Group::Wording, "scroll it up"),
    row("esc ^c", A::Leave, TEXTS, Group::Wording, "leave; the text is kept").in_footer(95, "leave"),
    row("F1", A::Help, TYPED, Group::Wording, "the keys of the editor").in_footer(1, "help"),
    row("enter", A::Choose, &[Offers, Readings], Group::Asking, "take what the cursor is on").in_footer(100, "take it"),
    row("2 j down", A::Value(Forward), &[Readings], Group::Asking, "the second reading of broken arguments").in_footer(80, "second"),
    row("1 k up", A::Value(Backward), &[Readings], Group::Asking, "the first one").in_footer(85, "first"),
    row("y", A::Yes, &[Question], Group::Asking, "yes").in_footer(100, "yes"),
    row("n", A::No, &[Question], Group::Asking, "no").in_footer(95, "no"),
    row("esc q ^c", A::Leave, &[Offers, Question, Readings], Group::Asking, "leave; nothing is changed").in_footer(90, "leave"),
    row("? F1", A::Help, SHOWN, Group::Asking, "the keys of what is shown").in_footer(1, "help"),
    row("enter", A::Accept, &[Proposal], Group::Differences, "take the change that is shown").in_footer(100, "accept"),
    row("e", A::Reword, &[Proposal], Group::Differences, "other words for it").in_footer(80, "other words"),
    row("]", A::Difference(Forward), &[Proposal, Comparison], Group::Differences, "next difference").in_footer(70, "next"),
    row("[", A::Difference(Backward), &[Proposal, Comparison], Group::Differences, "previous difference").in_footer(65, "previous"),
    row("esc q ^c", A::Leave, &[Proposal, Comparison], Group::Differences, "leave; nothing is changed").in_footer(90, "leave"),
    row("enter", A::Choose, &[Takes], Group::Takes, "go to the take").in_footer(100, "go to"),
    row("d", A::Compare, &[Takes], Group::Takes, "compare with the marked take, else with the current one, that with its parent").in_footer(90, "compare"),
    row("m", A::Mark, &[Takes], Group::Takes, "mark for a comparison").in_footer(60, "mark"),
    row("n", A::Note, &[Takes], Group::Takes, "write a note").in_footer(80, "note"),
    row("r", A::Rename, &[Takes], Group::Takes, "give it a name").in_footer(70, "rename"),
    row("esc q ^c", A::Leave, &[Takes], Group::Takes, "leave").in_footer(95, "leave"),
    row("enter", A::Accept, &[Saving], Group::Saving, "save").in_footer(100, "save"),
    row("tab down", A::Value(Forward), &[Saving], Group::Saving, "next format").in_footer(80, "format"),
    row("S-tab up", A::Value(Backward), &[Saving], Group::Saving, "previous format"),
    row("esc ^c", A::Leave, &[Saving], Group::Saving, "leave; nothing is written").in_footer(90, "leave"),
    row("enter", A::Accept, &[Line], Group::Lines, "take the line"),
    row("up ^p", A::Value(Backward), &[Line], Group::Lines, "what was typed before"),
    row("down ^n", A::Value(Forward), &[Line], Group::Lines, "what was typed after it"),
    row("enter", A::Choose, &[Palette], Group::Lines, "palette: run the command; a number goes to that turn, exchange or row"),
    row("down tab ^n", A::Value(Forward), &[Palette], Group::Lines, "palette: the next command"),
    row("up S-tab ^p", A::Value(Backward), &[Palette], Group::Lines, "palette: the previous command"),
    row("tab", A::Complete, &[Line], Group::Lines, "complete the path of an agent's file"),
    row("^u", A::Type, LINES, Group::Lines, "clear the line"),
    row("^w", A::Type, LINES, Group::Lines, "delete the word before the cursor"),
    row("^a home", A::Type, LINES, Group::Lines, "to the start of the line"),
    row("^e end", A::Type, LINES, Group::Lines, "to its end"),
    row("esc ^c ^g", A::Leave, &[Line, Palette], Group::Lines, "leave; nothing is changed"),
    row("F1", A::Help, LINES, Group::Lines, "the keys of the prompt").in_footer(1, "help"),
    row("enter", A::Choose, &[Copying], Group::Files, "copy the first of the list"),
    row("esc q ^c", A::Leave, &[Copying], Group::Files, "leave; nothing is copied"),
    row("y", A::Yes, &[Approval], Group::Deciding, "let the call run, once it was read to its end").in_footer(100, "run it"),
    row("n i", A::No, &[Approval], Group::Deciding, "reject the call, with words for the model").in_footer(95, "reject"),
    row("A", A::Always, &[Approval], Group::Deciding, "let it and all later calls of the tool run").in_footer(80, "always"),
    row("e", A::Edit, &[Approval], Group::Deciding, "edit the arguments first").in_footer(85, "edit"),
    row("y", A::Yes, &[Trust], Group::Deciding, "trust the agent's file, once it was read to its end").in_footer(100, "trust it"),
    row("n", A::No, &[Trust], Group::Deciding, "nothing of it runs").in_footer(95, "no"),
    row("esc q ^c", A::Leave, &[Approval, Trust], Group::Deciding, "leave; nothing runs").in_footer(70, "leave"),
    row("enter", A::Choose, &[Places], Group::Breaking, "set the breakpoint").in_footer(100, "set"),
    row("o", A::Once, &[Places, Breakpoints], Group::Breaking, "once only, or lasting").in_footer(80, "once"),
    row("space enter", A::Switched, &[Breakpoints], Group::Breaking, "on or off").in_footer(100, "on/off"),
    row("a", A::Add, &[Breakpoints], Group::Breaking, "add one by words: tool search_*, arg .amount > 100, once turn 5").in_footer(90, "add"),
    row("d x", A::Delete, &[Breakpoints], Group::Breaking, "delete").in_footer(85, "delete"),
    row("esc q ^c B", A::Leave, &[Breakpoints], Group::Breaking, "leave").in_footer(70, "leave"),
    row("esc q ^c", A::Leave, &[Places], Group::Breaking, "leave").in_footer(70, "leave"),
    row("e enter", A::Switched, &[Tools], Group::Breaking, "use a tool again that an open breaker switched off").in_footer(100, "enable"),
    row("H", A::OfHistory, &[Tools], Group::Breaking, "tool health of the history").in_footer(80, "history"),
    row("esc q ^c", A::Leave, &[Tools], Group::Breaking, "leave").in_footer(90, "leave"),
    row("y enter", A::Choose, &[Winner], Group::Lab, "copy what the wording becomes").in_footer(100, "copy"),
    row("w", A::Accept, &[Winner], Group::Lab, "save it to a file").in_footer(95, "save"),
    row("tab", A::Value(Forward), &[Winner], Group::Lab, "the next thing that it can become").in_footer(90, "next"),
    row("S-tab", A::Value(Backward), &[Winner], Group::Lab, "the previous one"),
    row("esc q ^c", A::Leave, &[Winner], Group::Lab, "leave").in_footer(80, "leave"),
];

/// What a key does there.
pub fn act(context: Context, event: &KeyEvent) -> Option<Act> {
    bound(OVERLAYS, context, event).copied()
}

/// The keys of a place with their words, what matters most first.
pub fn hints(context: Context) -> impl Iterator<Item = (&'static str, &'static str, Act)> {
    let bindings = in_footer(OVERLAYS, context).into_iter();
    bindings.map(|binding| (binding.first_key(), binding.footer.1, binding.command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_in_one_place() {
        super::super::tests::assert_unambiguous(OVERLAYS);
    }

    #[test]
    fn every_place_can_be_left() {
        for binding in OVERLAYS {
            for context in binding.contexts {
                let esc = super::super::event("esc").unwrap();
                assert_eq!(act(*context, &esc), Some(Act::Leave), "{binding:?}");
            }
        }
    }
}
