//! The items of a part of a file, in file order. Parts are read independently and then joined.

use super::contract::{Keyed, NameId, Names};
use super::item::{Dialect, Flags, Item, Kind, Record, hash, index_number};
use super::problem::{Problem, ProblemKind};
use super::source::Span;
use super::spelled::SpelledText;
use crate::json::{bad_strings, display_text};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// The usual stop reasons, so that a log of many replies does not copy each.
const STOPS: [&str; 8] = [
    "tool_use",
    "end_turn",
    "stop",
    "tool_calls",
    "stop_sequence",
    "length",
    "max_tokens",
    "STOP",
];

/// What a part of a file holds.
#[derive(Debug, Clone, Default)]
pub struct Fragment {
    /// The records, in file order.
    pub records: Vec<Record>,
    /// The items, in file order; [`Item::record`] points into `records`.
    pub items: Vec<Item>,
    /// The names that the items use.
    pub names: Names,
    pub problems: Vec<Problem>,
    /// Facts about the run, each with the number of items before it.
    pub facts: Vec<(u32, Fact)>,
    /// For formats that are graphs: one link for each record. Empty otherwise.
    pub links: Vec<RecordLink>,
    /// What was spelled anew; where there is any, records and items stand in it and not in the file.
    pub text: SpelledText,
    /// Up to this place of the source a value that leaves its line is known to be broken: lines are
    /// read one by one.
    pub one_line_until: u64,
    /// For each fact the number of records that were begun when it was noted.
    noted_in: Vec<u32>,
    last_model: Vec<u8>,
    /// How many line ends come before `counted_to`.
    lines: u64,
    counted_to: u64,
}

/// A fact about the run as a whole, or from a point on.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    Model(String),
    /// The tools of a new request; they replace what was offered before.
    Tools(Span),
    /// Tools that are offered in addition.
    MoreTools(Span),
    /// The JSON Schema of the final output.
    OutputSchema(Span),
    /// The provider keeps older items.
    ServerState,
    /// The most replies that the run may take.
    TurnLimit(u32),
    /// The text is a request as it goes to the provider, unless it turns out to be a reply.
    Request,
    /// The text is, or ends with, the provider's reply.
    Reply,
    /// A name for the session.
    Label(String),
    /// Why the reply that ends here ended, in the provider's word.
    Stop(Cow<'static, str>),
    /// Another session of the file begins here.
    NextSession,
    /// The items of a new request begin here; it repeats the history so far.
    RequestBegins,
    /// The items of the request end here, the reply follows.
    RequestEnds,
    /// What follows replaces the history so far.
    HistoryReplaced,
    /// A journal's own number of the line that begins at `at`.
    Sequence {
        /// Counts up by one from line to line.
        number: u64,
        /// Byte position in the source.
        at: u64,
    },
    /// An exchange of a proxy's journal begins here: its request, its reply, the reply that replaced it for
    /// the agent.
    Exchange(ExchangeFacts),
    /// The request of that exchange ends here; its reply follows.
    ReplyBegins,
    /// The reply ends here; the one that the agent got instead follows.
    ReplacementBegins,
    /// What the agent got ends here; the request that replaced the agent's follows.
    SentBegins,
}

/// What a proxy's journal records about an exchange, apart from its bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeFacts {
    /// Its number among those of the proxy.
    pub number: u32,
    /// What is spoken there.
    pub dialect: Dialect,
    /// The journal's word for how it ended; `held` or `began` for one without an end.
    pub how: &'static str,
    /// Keyed hash of the id by which the request names what the provider keeps; 0 for none.
    pub earlier: u64,
    /// Keyed hash of the reply's own id; 0 for none.
    pub own: u64,
    /// The recorded request; where it continues another one, the elements that are new of it.
    pub request: Span,
    pub continues: Option<RequestBase>,
}

impl ExchangeFacts {
    /// Whether the journal says how it ended; one that was held when its proxy was stopped has no end.
    pub fn has_ended(&self) -> bool {
        !matches!(self.how, HELD | BEGAN)
    }
}

/// The word for an exchange that waits for a decision.
pub const HELD: &str = "held";
/// The word for one whose reply comes.
pub const BEGAN: &str = "began";
/// The word for one that a decision changed for its agent or for its provider.
pub const MENDED: &str = "mended";
/// The word for one that passed with its request changed as an earlier one was.
pub const MENDED_AGAIN: &str = "mended-again";

/// An exchange of a proxy that a session is put together from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxiedExchange {
    /// Its number among those of the proxy.
    pub number: u32,
    /// The journal's word for how it ended, as in [`ExchangeFacts::how`].
    pub how: &'static str,
}

/// The request that another one of the same journal continues: byte for byte the same at its beginning and at
/// its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestBase {
    /// The number of its exchange.
    pub exchange: u32,
    /// How many bytes both begin with, up to an element of the list.
    pub before: u64,
    /// How many bytes both end with.
    pub after: u64,
}

/// How a record refers to others (Claude Code: `uuid`, `parentUuid`, `message.id`). Ids are keyed
/// hashes, 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordLink {
    pub id: u64,
    /// The record before it.
    pub parent: u64,
    /// The message that it is a part of.
    pub message: u64,
    /// The record whose call it answers.
    pub answers: u64,
    /// What kind of record it is.
    pub flags: LinkFlags,
}

/// What a reader saw of a linked record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkFlags(u8);

impl LinkFlags {
    pub const ASSISTANT: Self = Self(1);
    pub const USER: Self = Self(1 << 1);
    /// A record of a sub-agent or another side chain.
    pub const SIDE: Self = Self(1 << 2);
    /// Hidden from the user, not a leaf of the conversation.
    pub const META: Self = Self(1 << 3);
    pub const BOUNDARY: Self = Self(1 << 4);
    /// The parent is the logical one across a compaction.
    pub const LOGICAL_PARENT: Self = Self(1 << 5);
    /// The first record of an entry of the file, which is its label; those that were made of the entry follow.
    pub const ENTRY: Self = Self(1 << 6);

    /// Adds the flags of `other` where `condition` holds.
    pub fn set_if(&mut self, other: Self, condition: bool) {
        if condition {
            self.0 |= other.0;
        }
    }

    /// Whether all flags of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl RecordLink {
    /// The hash under which an id is kept; the empty text is no id.
    pub fn key(raw: &[u8]) -> u64 {
        if raw.is_empty() { 0 } else { hash(raw).max(1) }
    }

    /// Marks an item of one message over many records: only its first record starts the reply. `messages` holds
    /// those that were seen.
    pub fn mark_reply(&self, mut item: Item, messages: &mut HashSet<u64, Keyed>) -> Item {
        let is_reply = self.flags.has(LinkFlags::ASSISTANT) && item.kind.is_from_model();
        if is_reply && self.message != 0 && !messages.insert(self.message) {
            item.flags = item
                .flags
                .without(Flags::STARTS_REPLY)
                .with(Flags::CONTINUES_REPLY);
        }
        item
    }
}

/// A position between records to rewind to when a record turns out to be broken.
#[derive(Debug, Clone, Copy)]
pub struct Checkpoint {
    records: usize,
    items: usize,
    facts: usize,
    links: usize,
    problems: usize,
    lines: u64,
}

impl Fragment {
    /// Starts an entry of a file that is spelled anew: what follows, up to the next one, is made of it.
    /// `label` is the text of its first record.
    pub fn begin_entry(&mut self, mut link: RecordLink, label: &str) {
        link.flags.set_if(LinkFlags::ENTRY, true);
        let start = self.text.len();
        self.text.push(label.as_bytes());
        let end = self.text.len();
        let record = self.begin_record(Span { start, end });
        self.links.resize(record as usize, RecordLink::default());
        self.links.push(link);
    }

    /// The entries of a file, each with its records.
    pub fn entries(&self) -> impl Iterator<Item = (&RecordLink, Range<usize>)> {
        let is_entry = |(_, link): &(usize, &RecordLink)| link.flags.has(LinkFlags::ENTRY);
        let mut firsts = self.links.iter().enumerate().filter(is_entry).peekable();
        std::iter::from_fn(move || {
            let (first, link) = firsts.next()?;
            let end = firsts.peek().map_or(self.records.len(), |(next, _)| *next);
            Some((link, first..end))
        })
    }

    /// Adds what an entry of `other`, whose names it has, was made into, without its first messages.
    pub fn take_entry(&mut self, other: &Self, records: Range<usize>, without: usize) {
        let before = |record| Checkpoint {
            lines: 0,
            problems: 0,
            ..other.mark_before(record)
        };
        let from = Checkpoint {
            facts: before(records.start).facts,
            ..before(records.end.min(records.start + 1 + without))
        };
        let to = Checkpoint {
            links: from.links,
            ..before(records.end)
        };
        self.take_over(other, from, to, MovedText { was: 0, is: 0 });
    }

    /// The line on which the next record begins.
    pub fn line(&self) -> u64 {
        self.lines + 1
    }

    /// Starts a record and gives its number.
    pub fn begin_record(&mut self, span: Span) -> u32 {
        self.records.push(Record {
            span,
            number: self.lines + 1,
        });
        index_number(self.records.len()) - 1
    }

    /// Adds an item of the record that was started last: no call yet, without name, id and flags.
    #[inline]
    pub fn push(&mut self, kind: Kind, dialect: Option<Dialect>, span: Span) -> &mut Item {
        let (record, at) = (self.record(), self.items.len());
        let item = Item::new(kind, dialect, span);
        self.items.push(Item { record, ..item });
        &mut self.items[at]
    }

    /// Sets where the record that was started last ends.
    pub fn end_record(&mut self, end: u64) {
        if let Some(record) = self.records.last_mut() {
            record.span.end = end;
        }
    }

    /// Counts the line ends up to `at` in bytes that begin at `base`; records that are started next are on
    /// the next line.
    pub fn pass_lines(&mut self, bytes: &[u8], base: u64, at: usize) {
        let from = usize::try_from(self.counted_to.saturating_sub(base)).unwrap_or(usize::MAX);
        if let Some(passed) = bytes.get(from..at) {
            self.lines += memchr::memchr_iter(b'\n', passed).count() as u64;
            self.counted_to = base + at as u64;
        }
    }

    /// Starts to count with `lines` line ends before `at`.
    pub fn count_lines_from(&mut self, at: u64, lines: u64) {
        (self.counted_to, self.lines) = (at, lines);
    }

    /// The number of the record that was started last.
    pub fn record(&self) -> u32 {
        index_number(self.records.len()).saturating_sub(1)
    }

    /// Notes a fact at this point of the file.
    pub fn note(&mut self, fact: Fact) {
        self.facts.push((index_number(self.items.len()), fact));
        self.noted_in.push(index_number(self.records.len()));
    }

    /// Notes the model's name (as the inside of a JSON string) unless it was the last one noted: logs repeat
    /// it with each reply.
    pub fn note_model(&mut self, raw: &[u8]) {
        if self.last_model != raw {
            self.last_model = raw.to_vec();
            self.note(Fact::Model(display_text(raw).into_owned()));
        }
    }

    /// Notes why the reply that ends here ended (as the inside of a JSON string).
    pub fn note_stop(&mut self, raw: &[u8]) {
        let known = STOPS.iter().find(|known| known.as_bytes() == raw);
        let word = known.map_or_else(
            || Cow::Owned(display_text(raw).into_owned()),
            |known| Cow::Borrowed(*known),
        );
        self.note(Fact::Stop(word));
    }

    pub fn report(&mut self, at: u64, kind: ProblemKind) {
        self.problems.push(Problem { at, kind });
    }

    /// Notes the strings in `bytes[range]` that JSON does not allow; `base` is where the bytes
    /// begin in the source.
    pub fn report_bad_strings(&mut self, bytes: &[u8], range: Range<usize>, base: u64) {
        let first = base + range.start as u64;
        for (string, bad) in bad_strings(&bytes[range]) {
            self.report(first + string.start as u64, ProblemKind::BadString(bad));
        }
    }

    pub fn mark(&self) -> Checkpoint {
        Checkpoint {
            records: self.records.len(),
            items: self.items.len(),
            facts: self.facts.len(),
            links: self.links.len(),
            problems: self.problems.len(),
            lines: self.lines,
        }
    }

    /// Forgets everything read since `mark`. Names stay: they do no harm.
    pub fn rewind(&mut self, mark: Checkpoint) {
        self.records.truncate(mark.records);
        self.items.truncate(mark.items);
        self.facts.truncate(mark.facts);
        self.noted_in.truncate(mark.facts);
        // Its note may be among what is forgotten.
        self.last_model.clear();
        self.links.truncate(mark.links);
        self.problems.truncate(mark.problems);
    }

    /// Forgets what was read since `mark` that reaches beyond this place in the source.
    pub fn keep_until(&mut self, mark: Checkpoint, end: u64) {
        let mut index = 0;
        self.items.retain(|item| {
            index += 1;
            index <= mark.items || item.span.end <= end
        });
        let last = index_number(self.items.len());
        let is_kept = |fact: &Fact| match fact {
            Fact::Tools(span) | Fact::MoreTools(span) | Fact::OutputSchema(span) => span.end <= end,
            _ => true,
        };
        let facts = self.facts.split_off(mark.facts);
        let notes = self.noted_in.split_off(mark.facts);
        for ((at, fact), note) in facts.into_iter().zip(notes) {
            if is_kept(&fact) {
                self.facts.push((at.min(last), fact));
                self.noted_in.push(note);
            }
        }
        self.problems.retain(|problem| problem.at <= end);
    }

    /// Makes room for a file of which `done` of `total` bytes are read, so that its lists need
    /// not grow by doubling.
    pub fn expect(&mut self, done: u64, total: u64) {
        let rest = |length: usize| {
            let left = u128::from(total.saturating_sub(done));
            let rest = length as u128 * left / u128::from(done.max(1));
            usize::try_from(rest + rest / 32).unwrap_or_default()
        };
        // Too little memory is found out when it is needed.
        let _ = self.items.try_reserve_exact(rest(self.items.len()));
        let _ = self.records.try_reserve_exact(rest(self.records.len()));
    }

    /// Appends the part that follows this one.
    pub fn append(&mut self, other: Self) {
        let (records, items) = (
            index_number(self.records.len()),
            index_number(self.items.len()),
        );
        if !other.links.is_empty() {
            self.links.resize(self.records.len(), RecordLink::default());
        }
        // Records and items of a text that was spelled anew stand in that.
        let place = MovedText {
            was: 0,
            is: self.text.len(),
        };
        self.text.append(other.text);
        let mut renamed = vec![NameId::default()];
        renamed.extend(other.names.iter().map(|(_, name)| self.names.intern(name)));
        let lines = self.lines;
        self.records
            .extend(other.records.into_iter().map(|record| Record {
                number: record.number + lines,
                span: place.of_span(record.span),
            }));
        self.lines += other.lines;
        self.counted_to = other.counted_to;
        self.items.extend(other.items.into_iter().map(|item| {
            Item {
                span: place.of_span(item.span),
                record: item.record + records,
                name: renamed
                    .get(item.name.0 as usize)
                    .copied()
                    .unwrap_or_default(),
                ..item
            }
        }));
        self.problems.extend(other.problems);
        let facts = other.facts.into_iter();
        self.facts
            .extend(facts.map(|(at, fact)| (at + items, place.of_fact(fact))));
        let noted_in = other.noted_in.into_iter();
        self.noted_in.extend(noted_in.map(|begun| begun + records));
        self.links.extend(other.links);
        self.one_line_until = self.one_line_until.max(other.one_line_until);
    }
}

// Reuses what an earlier reading found where the same bytes have only moved.

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
        Span::new(self.of(span.start), self.of(span.end))
    }

    fn of_fact(self, mut fact: Fact) -> Fact {
        match &mut fact {
            Fact::Tools(span) | Fact::MoreTools(span) | Fact::OutputSchema(span) => {
                *span = self.of_span(*span);
            }
            Fact::Sequence { at, .. } => *at = self.of(*at),
            _ => {}
        }
        fact
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

    /// The models, each with the first record that it made.
    pub fn models(&self) -> impl Iterator<Item = (u32, &String)> {
        let noted = self.noted_in.iter().zip(&self.facts);
        noted.filter_map(|(begun, (_, fact))| match fact {
            Fact::Model(model) => Some((begun.saturating_sub(1), model)),
            _ => None,
        })
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
                .map(|(at, fact)| (now(*at, from.items, items), place.of_fact(fact.clone()))),
        );
        let noted_in = &other.noted_in[from.facts..to.facts];
        self.noted_in
            .extend(noted_in.iter().map(|was| now(*was, from.records, begun)));
        let problems = &other.problems[from.problems..to.problems];
        self.problems.extend(
            problems
                .iter()
                .map(|problem| Problem::new(place.of(problem.at), problem.kind.clone())),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str) -> Fragment {
        let mut part = Fragment::default();
        part.begin_record(Span { start: 0, end: 9 });
        let name = part.names.intern(name);
        part.note(Fact::Request);
        part.push(Kind::Call, Some(Dialect::Chat), Span::default())
            .name = name;
        part
    }

    #[test]
    fn joined_parts_are_renumbered() {
        let mut whole = part("read");
        whole.append(part("write"));
        whole.append(part("read"));
        let read = whole
            .items
            .iter()
            .map(|item| (item.record, whole.names.text(item.name)))
            .collect::<Vec<_>>();
        assert_eq!(read, [(0, "read"), (1, "write"), (2, "read")]);
        assert_eq!(
            whole.facts.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            [0, 1, 2]
        );
    }

    #[test]
    fn a_rewind_discards_everything_of_a_broken_record() {
        let mut whole = part("read");
        let mark = whole.mark();
        whole.append(part("write"));
        whole.rewind(mark);
        assert_eq!(
            (whole.records.len(), whole.items.len(), whole.facts.len()),
            (1, 1, 1)
        );
    }
}
