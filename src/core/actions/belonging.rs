//! What belongs together: reasoning stays with the item that it led to, and goes with it; of two halves of
//! which one has lost its id, one is the other's.
//!
//! OpenAI refuses reasoning "without its required following item"; openai-agents drops every reasoning item
//! whose next item that is no reasoning was dropped. Anthropic wants the thinking of a reply as it was, so a
//! call leaves such a reply only when all of it does.

use super::evidence::named;
use super::plan::{ActionContext, ActionError, Plan, Result};
use crate::session::{Edit, Item, Kind, PairStatus, Turn, index_number};
use std::collections::BTreeSet;

/// Drops items with the reasoning that belongs to them.
pub(crate) fn drop_all(scene: &ActionContext<'_>, items: &[u32]) -> Result<Plan> {
    let mut going = BTreeSet::new();
    for index in items {
        scene.may_touch(*index)?;
        going.insert(*index);
    }
    let mut turns = BTreeSet::new();
    for index in items {
        let turn = scene.turn(*index)?;
        if turns.insert(turn.first) {
            take_reasoning(scene, turn, &mut going)?;
        }
    }
    if !says_anything_without(&scene.session().items, &going) {
        let reason = "nothing would be left of the history";
        return Err(ActionError::WouldBreak(reason.to_owned()));
    }
    let mut planned = Plan::default();
    let more = going.iter().filter(|index| !items.contains(index));
    let reasoning = more.map(|index| named(scene, *index)).collect::<Vec<_>>();
    if !reasoning.is_empty() {
        planned.note(format!(
            "{} led to it and goes as well",
            reasoning.join(", ")
        ));
    }
    planned.edits = going.into_iter().map(|item| Edit::Drop { item }).collect();
    Ok(planned)
}

/// Whether somebody still speaks once these items are gone.
fn says_anything_without(items: &[Item], going: &BTreeSet<u32>) -> bool {
    let mut left = items.iter().enumerate();
    left.any(|(index, item)| {
        let speaks = matches!(item.kind, Kind::User | Kind::Assistant | Kind::Call);
        speaks && !going.contains(&index_number(index))
    })
}

/// The item of the same reply that reasoning led to.
pub(crate) fn follower(items: &[Item], turn: Turn, reasoning: u32) -> Option<u32> {
    let mut later = reasoning + 1..turn.end;
    later.find(|index| speaks(items, *index))
}

/// Whether an item is text or a call of the model rather than its reasoning.
fn speaks(items: &[Item], index: u32) -> bool {
    let item = items.get(index as usize);
    item.is_some_and(|item| item.kind.is_from_model() && item.kind != Kind::Reasoning)
}

/// In turns of more items no partner is looked for: a file with so many halves in one turn was made to be slow.
const LONGEST_TURN: usize = 4096;

/// The other half of a half that is open, where just one of the two has an id and nothing else pairs them: of
/// the halves of the turn the first with an id belongs to the first without, the second to the second.
pub(crate) fn open_partner(scene: &ActionContext<'_>, half: u32) -> Result<Option<u32>> {
    let item = scene.at(half)?;
    let is_open = |index: &u32| {
        matches!(
            scene.standing(*index),
            PairStatus::Orphan | PairStatus::Pending
        )
    };
    let turn = scene.turn(half)?;
    if !is_open(&half) || turn.items().len() > LONGEST_TURN {
        return Ok(None);
    }
    let wanted = if item.kind == Kind::Call {
        Kind::Output
    } else {
        Kind::Call
    };
    let is_named = !item.call_id.is_none();
    let of_turn = |kind: Kind, named: bool| {
        (turn.first..turn.end).filter(move |index| {
            scene.at(*index).is_ok_and(|other| {
                other.kind == kind
                    && other.family == item.family
                    && other.call_id.is_none() != named
                    && is_open(index)
            })
        })
    };
    let place = of_turn(item.kind, is_named).position(|index| index == half);
    let partner = place.and_then(|place| of_turn(wanted, !is_named).nth(place));
    Ok(partner.filter(|partner| !scene.awaits_approval(*partner)))
}

fn take_reasoning(scene: &ActionContext<'_>, turn: Turn, going: &mut BTreeSet<u32>) -> Result<()> {
    let items = &scene.session().items;
    let is_reasoning = |index: &u32| items[*index as usize].kind == Kind::Reasoning;
    let reasoning = (turn.first..turn.end).filter(is_reasoning);
    let reasoning = reasoning.collect::<Vec<_>>();
    let Some(first) = reasoning.first() else {
        return Ok(());
    };
    if items[*first as usize].is_block() {
        return take_thinking(items, turn, &reasoning, going);
    }
    // From the end, so that what reasoning led to is known when it comes.
    let (mut next, mut lost) = (None, Vec::new());
    for index in (*first..turn.end).rev() {
        if speaks(items, index) {
            next = Some(index);
        } else if is_reasoning(&index) && next.is_some_and(|next| going.contains(&next)) {
            lost.push(index);
        }
    }
    going.extend(lost);
    Ok(())
}

fn take_thinking(
    items: &[Item],
    turn: Turn,
    thinking: &[u32],
    going: &mut BTreeSet<u32>,
) -> Result<()> {
    let mut spoken = (turn.first..turn.end).filter(|index| speaks(items, *index));
    let stays = spoken.any(|index| !going.contains(&index));
    let is_call = |index: &u32| {
        let kind = items[*index as usize].kind;
        turn.items().contains(&(*index as usize))
            && matches!(kind, Kind::Call | Kind::HostedCall | Kind::HostedOutput)
    };
    if !stays {
        going.extend(thinking);
    } else if going.iter().any(is_call) {
        let reason = "the reply has thinking, which Anthropic wants together with all that followed it: answer \
            the call, or retry the turn";
        return Err(ActionError::WouldBreak(reason.to_owned()));
    }
    Ok(())
}
