//! Reuses what an earlier reading found where the same bytes have only moved.

use super::{Checkpoint, Fact, Fragment};
use crate::session::item::index_number;
use crate::session::{Item, Problem, Record, RecordLink, Span};

/// Where a stretch of text was, and where it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovedText {
    /// Its first byte in the text that was read.
    pub was: u64,
    /// The same byte in the text as it is now.
    pub is: u64,
}

impl MovedText {
    /// Where a position is now.
    pub fn of(self, position: u64) -> u64 {
        self.is.wrapping_add(position.wrapping_sub(self.was))
    }

    fn of_span(self, span: Span) -> Span {
        Span {
            start: self.of(span.start),
            end: self.of(span.end),
        }
    }

    fn of_fact(self, fact: &Fact) -> Fact {
        match fact {
            Fact::Tools(span) => Fact::Tools(self.of_span(*span)),
            Fact::MoreTools(span) => Fact::MoreTools(self.of_span(*span)),
            Fact::OutputSchema(span) => Fact::OutputSchema(self.of_span(*span)),
            Fact::Sequence { number, at } => Fact::Sequence {
                number: *number,
                at: self.of(*at),
            },
            fact => fact.clone(),
        }
    }
}

impl Fragment {
    /// A fragment without records that knows the names of another, under the same numbers.
    pub fn with_names_of(other: &Self) -> Self {
        Self {
            names: other.names.clone(),
            ..Self::default()
        }
    }

    /// The place before a record.
    pub fn mark_before(&self, record: usize) -> Checkpoint {
        let number = index_number(record);
        let (start, lines) = match self.records.get(record) {
            Some(record) => (record.span.start, record.number.saturating_sub(1)),
            None => (u64::MAX, self.lines),
        };
        let is_before = |problem: &Problem| problem.at < start;
        Checkpoint {
            records: record,
            items: self.items.partition_point(|item| item.record < number),
            facts: self.noted_in.partition_point(|begun| *begun <= number),
            links: record.min(self.links.len()),
            problems: self.problems.partition_point(is_before),
            lines,
        }
    }

    /// The model that was noted last in a part of the records.
    pub fn model_within(&self, from: Checkpoint, to: Checkpoint) -> Option<&str> {
        let noted = self.facts.get(from.facts..to.facts)?;
        noted.iter().rev().find_map(|(_, fact)| match fact {
            Fact::Model(model) => Some(&**model),
            _ => None,
        })
    }

    /// Knows which model was noted before.
    pub fn behind_model(mut self, model: Option<&str>) -> Self {
        self.last_model = model.unwrap_or_default().as_bytes().to_vec();
        self
    }

    /// Takes over what `other`, whose names it has, found between two places; its bytes stand at `place` now.
    pub fn take_over(&mut self, other: &Self, from: Checkpoint, to: Checkpoint, place: MovedText) {
        let begun = self.records.len();
        let now = |number: u32, from: usize, begun: usize| {
            index_number((number as usize).saturating_sub(from) + begun)
        };
        let taken = &other.records[from.records..to.records];
        if to.links > from.links {
            self.links.resize(begun, RecordLink::default());
            self.links
                .extend_from_slice(&other.links[from.links..to.links]);
        }
        self.records.extend(taken.iter().map(|record| Record {
            span: place.of_span(record.span),
            number: record.number.saturating_sub(from.lines) + self.lines,
        }));
        self.lines += to.lines.saturating_sub(from.lines);
        let items = self.items.len();
        let taken = &other.items[from.items..to.items];
        self.items.extend(taken.iter().map(|item| Item {
            span: place.of_span(item.span),
            record: now(item.record, from.records, begun),
            ..*item
        }));
        let facts = &other.facts[from.facts..to.facts];
        self.facts.extend(
            facts
                .iter()
                .map(|(at, fact)| (now(*at, from.items, items), place.of_fact(fact))),
        );
        let noted_in = &other.noted_in[from.facts..to.facts];
        self.noted_in
            .extend(noted_in.iter().map(|was| now(*was, from.records, begun)));
        let problems = &other.problems[from.problems..to.problems];
        self.problems.extend(problems.iter().map(|problem| Problem {
            at: place.of(problem.at),
            kind: problem.kind.clone(),
        }));
    }
}
