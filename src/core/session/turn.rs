//! Turns: one model reply and everything done about it, and the messages between the replies.

use super::item::{Flags, Item, Kind, Record};

/// A run of items that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    pub speaker: Speaker,
    /// Index of its first item.
    pub first: u32,
    /// Index after its last item.
    pub end: u32,
}

/// Who speaks in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// System or developer messages.
    System,
    User,
    /// The model; the outputs of its calls belong to its turn.
    Model,
    /// Nobody: a compaction mark, records that are not understood, outputs whose reply is not in the file.
    File,
}

impl Turn {
    /// What the screen calls it: who speaks, or what it begins with where nobody does.
    pub fn word(self, items: &[Item]) -> &'static str {
        match self.speaker {
            Speaker::System => Kind::System.word(),
            Speaker::User => Kind::User.word(),
            Speaker::Model => Kind::Assistant.word(),
            Speaker::File => items
                .get(self.first as usize)
                .map_or("", |item| item.kind.word()),
        }
    }

    /// The indices of its items.
    pub fn items(self) -> std::ops::Range<usize> {
        self.first as usize..self.end as usize
    }
}

/// Groups items into turns and writes the turn's index into each.
///
/// A reply starts where the format says so ([`Flags::STARTS_REPLY`]); where it does not (Responses items), with
/// the first item of the model after an output or a message.
pub fn number_turns(items: &mut [Item], records: &[Record]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut answered = false;
    for index in 0..items.len() {
        let item = items[index];
        let last = turns.last().map(|turn| turn.speaker);
        let opens = match opens_turn(&item, last, answered) {
            Opening::Joins => None,
            Opening::Starts(Speaker::User) if same_message(items, records, index) => None,
            Opening::Starts(speaker) => Some(speaker),
        };
        let position = u32::try_from(index).unwrap_or(u32::MAX);
        if let Some(speaker) = opens {
            turns.push(Turn {
                speaker,
                first: position,
                end: position,
            });
            answered = false;
        }
        answered |= matches!(item.kind, Kind::Output | Kind::ApprovalResponse);
        items[index].turn = u32::try_from(turns.len().saturating_sub(1)).unwrap_or(u32::MAX);
        if let Some(turn) = turns.last_mut() {
            turn.end = position + 1;
        }
    }
    turns
}

enum Opening {
    Joins,
    Starts(Speaker),
}

fn opens_turn(item: &Item, last: Option<Speaker>, answered: bool) -> Opening {
    let model_speaks = last == Some(Speaker::Model);
    match item.kind {
        Kind::System => Opening::Starts(Speaker::System),
        Kind::User => Opening::Starts(Speaker::User),
        Kind::Compaction => Opening::Starts(Speaker::File),
        Kind::Assistant
        | Kind::Reasoning
        | Kind::Call
        | Kind::HostedCall
        | Kind::HostedOutput
        | Kind::ApprovalRequest => {
            let continues = item.flags.has(Flags::CONTINUES_REPLY);
            let starts = item.flags.has(Flags::STARTS_REPLY) || (answered && !continues);
            if model_speaks && !starts {
                Opening::Joins
            } else {
                Opening::Starts(Speaker::Model)
            }
        }
        Kind::Output | Kind::ApprovalResponse if model_speaks => Opening::Joins,
        Kind::Output
        | Kind::ApprovalResponse
        | Kind::ToolDefinitions
        | Kind::Notice
        | Kind::Other
        | Kind::Unreadable => match last {
            Some(Speaker::File | Speaker::Model) => Opening::Joins,
            Some(Speaker::System | Speaker::User) if item.kind != Kind::Output => Opening::Joins,
            _ => Opening::Starts(Speaker::File),
        },
    }
}

/// Whether the item before is a part of the same user message (several content blocks).
fn same_message(items: &[Item], records: &[Record], index: usize) -> bool {
    let Some(previous) = index.checked_sub(1).map(|before| items[before]) else {
        return false;
    };
    let record = |item: &Item| records.get(item.record as usize).map(|record| record.span);
    previous.kind == Kind::User && record(&previous) == record(&items[index])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Dialect, Span};

    fn speak(kinds: &[(Kind, Flags)]) -> Vec<(Speaker, u32)> {
        let mut items = kinds
            .iter()
            .enumerate()
            .map(|(index, (kind, flags))| Item {
                record: index as u32,
                flags: *flags,
                ..Item::new(*kind, Some(Dialect::Responses), Span::default())
            })
            .collect::<Vec<_>>();
        let records = (0..items.len() as u64)
            .map(|number| Record {
                span: Span::new(number, number + 1),
                number,
            })
            .collect::<Vec<_>>();
        number_turns(&mut items, &records)
            .iter()
            .map(|turn| (turn.speaker, turn.end - turn.first))
            .collect()
    }

    #[test]
    fn a_reply_and_its_outputs_are_one_turn() {
        let none = Flags::default();
        let turns = speak(&[
            (Kind::System, none),
            (Kind::User, none),
            (Kind::Reasoning, none),
            (Kind::Call, none),
            (Kind::Call, none),
            (Kind::Output, none),
            (Kind::Output, none),
            (Kind::Assistant, none),
            (Kind::User, none),
        ]);
        let expected = [
            (Speaker::System, 1),
            (Speaker::User, 1),
            (Speaker::Model, 5),
            (Speaker::Model, 1),
            (Speaker::User, 1),
        ];
        assert_eq!(turns, expected);
    }

    #[test]
    fn a_message_over_many_lines_stays_one_reply_although_results_stand_between() {
        let (start, more) = (Flags::STARTS_REPLY, Flags::CONTINUES_REPLY);
        let turns = speak(&[
            (Kind::Call, start),
            (Kind::Output, Flags::default()),
            (Kind::Call, more),
            (Kind::Output, Flags::default()),
            (Kind::Assistant, start),
        ]);
        assert_eq!(turns, [(Speaker::Model, 4), (Speaker::Model, 1)]);
    }

    #[test]
    fn an_output_without_a_reply_stands_apart() {
        let none = Flags::default();
        assert_eq!(
            speak(&[(Kind::Output, none), (Kind::User, none)]),
            [(Speaker::File, 1), (Speaker::User, 1)]
        );
    }
}
