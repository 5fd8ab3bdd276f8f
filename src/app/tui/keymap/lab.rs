//! The keys of the wording lab: of its form, of the table of wordings, and of the samples of one wording.
//!
//! Moving and what concerns the program is the same as everywhere (rows of [`super::KEYMAP`]) and
//! is not repeated here.

use super::Context::{self, LabForm, LabSamples, LabTable};
use super::Direction::{Backward, Forward};
use super::{Binding, Command as C, Group, row};

const FORM: &[Context] = &[LabForm];
const TABLE: &[Context] = &[LabTable];
const RESULTS: &[Context] = &[LabTable, LabSamples];
const BOTH: &[Context] = &[LabForm, LabTable];
const ALL: &[Context] = &[LabForm, LabTable, LabSamples];

/// Every key that the lab has of its own.
#[rustfmt::skip]
pub const LAB: &[Binding] = &[
    row("enter", C::Begin, FORM, Group::Lab, "start the experiment").in_footer(97, "begin").alias(&["run", "start"]),
    row("space", C::Include, FORM, Group::Lab, "include or exclude a wording; change a value").in_footer(90, "in/out"),
    row("e", C::Change, FORM, Group::Lab, "change a value, or your own wording")
        .in_footer(85, "change").alias(&["set", "edit"]),
    row("a", C::Add, FORM, Group::Lab, "add your own wording").in_footer(80, "add words"),
    row("x", C::Delete, FORM, Group::Lab, "remove your own wording")
        .in_footer(30, "remove").alias(&["delete"]).destructive(),
    row("c", C::Channel, FORM, Group::Lab, "how your own wording reaches the model: output, error, user message"),
    row("enter l right", C::Open, RESULTS, Group::Lab,
        "the samples of a wording; of a sample: its take in the debugger").in_footer(90, "samples"),
    row("p space", C::PauseRun, TABLE, Group::Lab, "pause the requests; resume")
        .in_footer(75, "pause").alias(&["continue", "c", "interrupt"]),
    row("+", C::More, TABLE, Group::Lab, "10 more samples of each wording").in_footer(65, "10 more"),
    row("X", C::Abort, TABLE, Group::Lab, "end the experiment; its samples are kept")
        .in_footer(55, "stop").alias(&["kill", "abort"]).destructive(),
    row("s", C::Sort, TABLE, Group::Lab, "sort: best first, or in the order of the form").in_footer(50, "sort"),
    row("y o", C::Winner, TABLE, Group::Lab, "export the wording under the cursor: policy, recipe, regression test")
        .in_footer(85, "export row").alias(&["winner", "policy", "recipe"]),
    row("i", C::Recover("inject-error"), RESULTS, Group::Lab, "inject the wording under the cursor at the call")
        .in_footer(80, "inject").alias(&["inject", "inject error"]),
    row("tab", C::Trial(Forward), RESULTS, Group::Lab, "the next model").in_footer(60, "model"),
    row("S-tab", C::Trial(Backward), RESULTS, Group::Lab, "the previous one"),
    row("t", C::Words, BOTH, Group::Lab, "the words in full").in_footer(35, "words").alias(&["print"]),
    row("w", C::SaveAs, BOTH, Group::Lab, "save the experiment as a spec for retake lab").in_footer(40, "save spec"),
    row(": ^p", C::Palette, ALL, Group::Lab, "all commands by name"),
];
