//! The keys of the wording lab: of its form, of the table of wordings, and of the samples of one wording.
//!
//! Moving and what concerns the program is the same as everywhere (rows of [`super::KEYMAP`]) and
//! is not repeated here.

use super::Context::{self, LabForm, LabSamples, LabTable};
use super::Direction::{self, Backward, Forward};
use super::{Binding, Group, KEYMAP, bound, in_footer, palette, row};
use crossterm::event::KeyEvent;

/// What a key does in the lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    Begin,
    /// Take a wording in or leave it out; switch or change a value.
    Switch,
    /// Change a value, or words of one's own.
    Change,
    /// Words of one's own.
    Add,
    /// Take words of one's own away.
    Remove,
    /// How words of one's own reach the model.
    Channel,
    /// Save the experiment as a spec.
    Save,
    /// The words in full.
    Words,
    /// Open the samples, or the take of one.
    Open,
    /// Ask nobody for now, or go on.
    Pause,
    /// More samples of each wording.
    More,
    Stop,
    Sort,
    /// What the wording with the cursor becomes.
    Winner,
    /// The next or previous model.
    Trial(Direction),
    /// All commands by name.
    Palette,
    /// What stands in the shared table.
    Shared(super::Command),
}

use Job as J;

const FORM: &[Context] = &[LabForm];
const TABLE: &[Context] = &[LabTable];
const RESULTS: &[Context] = &[LabTable, LabSamples];
const BOTH: &[Context] = &[LabForm, LabTable];
const ALL: &[Context] = &[LabForm, LabTable, LabSamples];

/// Every key that the lab has of its own.
#[rustfmt::skip]
pub const LAB: &[Binding<Job>] = &[
    row("enter", J::Begin, FORM, Group::Lab, "begin the experiment").in_footer(97, "begin").alias(&["run", "start"]),
    row("space", J::Switch, FORM, Group::Lab, "a wording in or out; a value: change it").in_footer(90, "in/out"),
    row("e", J::Change, FORM, Group::Lab, "change a value, or words of your own").in_footer(85, "change").alias(&["set", "edit"]),
    row("a", J::Add, FORM, Group::Lab, "add words of your own").in_footer(80, "add words"),
    row("x", J::Remove, FORM, Group::Lab, "take words of your own away").in_footer(30, "remove").alias(&["delete"]).destructive(),
    row("c", J::Channel, FORM, Group::Lab, "how words of your own reach the model: output, error, user message"),
    row("enter l right", J::Open, RESULTS, Group::Lab, "the samples of a wording; of a sample: its take in the debugger").in_footer(90, "samples"),
    row("p space", J::Pause, TABLE, Group::Lab, "ask nobody for now; go on").in_footer(75, "pause").alias(&["continue", "c", "interrupt"]),
    row("+", J::More, TABLE, Group::Lab, "10 samples more of each wording").in_footer(65, "10 more"),
    row("X", J::Stop, TABLE, Group::Lab, "end the experiment; its samples are kept").in_footer(55, "stop").alias(&["kill", "abort"]).destructive(),
    row("s", J::Sort, TABLE, Group::Lab, "the best first, or in the order of the form").in_footer(50, "sort"),
    row("y o", J::Winner, TABLE, Group::Lab, "what the wording with the cursor becomes: policy, recipe, regression test").in_footer(85, "winner").alias(&["winner", "policy", "recipe"]),
    row("tab", J::Trial(Forward), RESULTS, Group::Lab, "the next model").in_footer(60, "model"),
    row("S-tab", J::Trial(Backward), RESULTS, Group::Lab, "the previous one"),
    row("t", J::Words, BOTH, Group::Lab, "the words in full").in_footer(35, "words").alias(&["print"]),
    row("w", J::Save, BOTH, Group::Lab, "save the experiment as a spec for retake lab").in_footer(40, "save spec"),
    row(": ^p", J::Palette, ALL, Group::Lab, "all commands by name"),
];

/// What a key does in a place of the lab.
pub fn job(context: Context, event: &KeyEvent) -> Option<Job> {
    let own = bound(LAB, context, event).copied();
    own.or_else(|| super::command(context, event).map(J::Shared))
}

/// What can be done in a place of the lab, for the palette and the help, with the job of each row.
pub fn jobs(context: Context) -> Vec<(palette::Command, Job)> {
    let own = LAB.iter().filter(|row| row.contexts.contains(&context));
    let own = own.map(|row| (row.described(), row.command));
    let shared = KEYMAP
        .iter()
        .filter(|row| row.contexts.contains(&context))
        .map(|row| (row.described(), J::Shared(row.command)));
    own.chain(shared).collect()
}

/// The keys that the footer may name, what matters most first.
pub fn hints(context: Context) -> Vec<(&'static str, &'static str, Job)> {
    let own = in_footer(LAB, context).into_iter();
    let own = own.map(|row| (row.footer.0, (row.first_key(), row.footer.1, row.command)));
    let shared = super::footer(context).into_iter();
    let shared = shared.map(|row| {
        let hint = (row.first_key(), row.footer.1, J::Shared(row.command));
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
    fn no_key_means_two_things_in_one_place_of_the_lab() {
        super::super::tests::assert_unambiguous(LAB);
        for own in LAB {
            let shares = |row: &&Binding| row.contexts.iter().any(|it| own.contexts.contains(it));
            for shared in KEYMAP.iter().filter(shares) {
                let mut keys = shared.keys.split(' ');
                assert!(
                    !keys.any(|key| own.keys.split(' ').any(|other| other == key)),
                    "{shared:?} {own:?}"
                );
            }
        }
    }

    #[test]
    fn every_place_of_the_lab_can_be_left() {
        let esc = super::super::event("esc").unwrap();
        for context in ALL {
            let left = Some(J::Shared(super::super::Command::Back));
            assert_eq!(job(*context, &esc), left, "{context:?}");
        }
    }
}
