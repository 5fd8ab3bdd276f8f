//! The order in which items stand on the screen: that of the history, but a result under its call.

use crate::tui::state::tree::Shown;
use retake_core::session::{Kind, Session};

/// Items in their order on the screen. Nothing is stored: neighbours are found from the pairs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) session: &'a Session,
    /// What a filter lets through.
    pub(super) shown: Option<&'a Shown>,
}

impl Order<'_> {
    fn len(&self) -> usize {
        let all = self.session.items.len();
        self.shown.map_or(all, |shown| shown.items.len())
    }

    /// The item in a place of the history as it is shown.
    fn item(&self, place: usize) -> usize {
        let of_filter = |shown: &Shown| shown.items.get(place).map_or(0, |item| *item as usize);
        self.shown.map_or(place, of_filter)
    }

    /// The place of an item; of one that is not shown that of the next one.
    fn place(&self, item: usize) -> usize {
        self.shown.map_or(item, |shown| {
            let items = &shown.items;
            items.partition_point(|other| (*other as usize) < item)
        })
    }

    pub(super) fn is_shown(&self, item: usize) -> bool {
        let place = self.place(item);
        place < self.len() && self.item(place) == item
    }

    /// The call under which a result is: one before it in the same turn that is shown, too.
    pub(super) fn call_of(&self, item: usize) -> Option<usize> {
        let items = &self.session.items;
        let output = items.get(item)?;
        if !matches!(output.kind, Kind::Output | Kind::HostedOutput) {
            return None;
        }
        let pairing = &self.session.pairing;
        let call = pairing.partner(item).filter(|call| *call < item)?;
        let is_own = pairing.partner(call) == Some(item) && items.get(call)?.turn == output.turn;
        (is_own && self.is_shown(call)).then_some(call)
    }

    /// The result that is under a call.
    pub(super) fn output_of(&self, item: usize) -> Option<usize> {
        let output = self.session.pairing.partner(item)?;
        let is_below = self.call_of(output) == Some(item) && self.is_shown(output);
        is_below.then_some(output)
    }

    pub(super) fn first(&self) -> Option<usize> {
        self.at_or_behind(0)
    }

    pub(super) fn last(&self) -> Option<usize> {
        self.before_place(self.len())
    }

    /// The item itself, or the next one that is shown, or the last one.
    pub(super) fn nearest(&self, item: usize) -> Option<usize> {
        let own = Some(item).filter(|item| self.is_shown(*item));
        own.or_else(|| self.at_or_behind(self.place(item)))
            .or_else(|| self.last())
    }

    pub(super) fn next(&self, item: usize) -> Option<usize> {
        if let Some(output) = self.output_of(item) {
            return Some(output);
        }
        let item = self.call_of(item).unwrap_or(item);
        self.at_or_behind(self.place(item) + usize::from(self.is_shown(item)))
    }

    pub(super) fn previous(&self, item: usize) -> Option<usize> {
        match self.call_of(item) {
            Some(call) => Some(call),
            None => self.before_place(self.place(item)),
        }
    }

    /// The first item from a place on that has a block of its own.
    fn at_or_behind(&self, place: usize) -> Option<usize> {
        let items = (place..self.len()).map(|place| self.item(place));
        let mut own = items.filter(|item| self.call_of(*item).is_none());
        own.next()
    }

    /// The last item before a place, or the result that is under it.
    fn before_place(&self, place: usize) -> Option<usize> {
        let mut items = (0..place).rev().map(|place| self.item(place));
        let own = items.find(|item| self.call_of(*item).is_none())?;
        self.output_of(own).or(Some(own))
    }

    /// Whether an item is the first of its turn on the screen.
    pub(super) fn begins_turn(&self, item: usize) -> bool {
        let turn = |item: usize| self.session.items.get(item).map(|item| item.turn);
        match self.previous(item) {
            Some(before) => turn(before) != turn(item),
            None => true,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tui::state::tests::session;

    const PARALLEL: &str = r#"[{"role":"user","content":"hi"},
        {"role":"assistant","content":null,"tool_calls":[
            {"id":"a","type":"function","function":{"name":"one","arguments":"{}"}},
            {"id":"b","type":"function","function":{"name":"two","arguments":"{}"}},
            {"id":"c","type":"function","function":{"name":"lost","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"b","content":"2"},
        {"role":"tool","tool_call_id":"a","content":"1"},
        {"role":"tool","tool_call_id":"zzz","content":"stray"},
        {"role":"assistant","content":"done"}]"#;

    fn walked(order: &Order<'_>) -> Vec<usize> {
        let mut items = vec![order.first().unwrap()];
        while let Some(next) = order.next(items[items.len() - 1]) {
            items.push(next);
        }
        items
    }

    #[test]
    fn results_stand_under_their_calls_and_the_way_back_is_the_way_there() {
        let session = session(PARALLEL);
        let kinds: Vec<_> = session.items.iter().map(|item| item.kind.word()).collect();
        let expected = [
            "user",
            "call",
            "call",
            "call",
            "output",
            "output",
            "output",
            "assistant",
        ];
        assert_eq!(kinds, expected);
        let order = Order {
            session: &session,
            shown: None,
        };
        let items = walked(&order);
        assert_eq!(items, [0, 1, 5, 2, 4, 3, 6, 7]);
        assert_eq!(order.last(), Some(7));
        for pair in items.windows(2) {
            assert_eq!(order.previous(pair[1]), Some(pair[0]));
        }
        assert_eq!(
            items
                .iter()
                .filter(|item| order.begins_turn(**item))
                .count(),
            3
        );
    }

    #[test]
    fn a_result_whose_call_is_filtered_away_stands_for_itself() {
        let session = session(PARALLEL);
        let shown = Shown::new(&session, vec![2, 4, 5]);
        let order = Order {
            session: &session,
            shown: Some(&shown),
        };
        assert_eq!(walked(&order), [2, 4, 5]);
        assert_eq!((order.next(0), order.previous(7)), (Some(2), Some(5)));
    }
}
