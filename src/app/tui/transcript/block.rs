//! What an item looks like in the transcript: the head of its turn where it begins one, a line for a call, a few
//! lines of a result, text as text. Made for what is seen, and only from the beginning of giant items.

use super::nested::{Nested, NestedFacts, nested_of};
use super::order::Order;
use crate::tui::render::{
    Writing, diff_lines, file_of_result, image_facts, image_words, is_markdown_result, limit_of,
    not_applied, plain_lines, raw_lines, text_lines, with_images, words_about,
};
use crate::tui::state::detail::{Mode, command_lines, is_container, json_lines, json_text_lines};
use crate::tui::state::document::{Checked, has_failed, is_answered_by_hand};
use crate::tui::state::pretty::compact;
use crate::tui::state::preview::tool_of;
use crate::tui::state::takes::TakesView;
use crate::tui::state::tree::Folds;
use crate::tui::text::{DetailRow, Glyph, Line, Tone};
use crate::usage::{at_least, summary};
use crate::words::{clock, count, day, duration, local, model_name};
use jiff::tz::TimeZone;
use retake_core::content::{
    FileDiff, PlanStep, ResultText, Size, StepState, beside_diffs, diff_of_text, diffs_of_call,
    display_name, exit_of_failure, is_from_program, is_reader, plan_of, result_text,
    summarize_call,
};
use retake_core::rules::{Finding, Severity};
use retake_core::safe_text::SafeText;
use retake_core::session::{Flags, Item, Kind, PairStatus, Session, Speaker};
use retake_core::usage::{Prices, TurnUsage, UsageReader};
use retake_core::wire::{Body, body_of, body_within};
use std::borrow::Cow;
use std::cell::OnceCell;

/// What a block is made from.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockContext<'a> {
    pub(super) order: Order<'a>,
    pub(super) checked: Option<&'a Checked>,
    pub(super) prices: &'a Prices,
    pub(super) zone: &'a TimeZone,
    pub(super) nested: NestedFacts<'a>,
    /// The notes of the operator.
    pub(super) takes: Option<&'a TakesView>,
    /// Items that are shown in full.
    pub(super) unfolded: &'a Folds,
    /// How items are shown.
    pub(super) mode: Mode,
    /// Cells of a row.
    pub(super) width: usize,
    /// How many turns come before the first one, where that is known.
    pub(super) turns_before: Option<usize>,
    /// What the key of pictures does, where there are keys.
    pub(super) picture_key: Option<&'static str>,
    /// Whether the recording says when things happened.
    pub(super) has_times: bool,
    /// The folder in which the agent worked, with a slash at its end.
    pub(super) folder: &'a str,
    /// The sessions of the file.
    pub(super) sessions: &'a [Session],
    /// The index of the one that is shown.
    pub(super) number: usize,
    /// Most rows of a folded result.
    pub(super) result_rows: usize,
}

/// What a row of a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// The space above a turn, or what sets a result apart from the arguments of its call.
    Gap,
    Head,
    /// The first row of the item itself.
    Title,
    Body,
}

/// A row of the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockRow {
    pub(crate) kind: RowKind,
    /// Columns that stay free on the left.
    pub(crate) indent: usize,
    pub(crate) left: Vec<(Tone, SafeText)>,
    /// What ends at the right edge.
    pub(crate) right: Vec<(Tone, SafeText)>,
}

impl BlockRow {
    /// Whether it says that something is left out.
    pub(super) fn leaves_out(&self) -> bool {
        let mut tones = self.left.iter().map(|(tone, _)| *tone);
        tones.any(|tone| tone == Tone::Glyph(Glyph::More))
    }
}

/// Columns from which wide screens show the clock beside the text.
const WIDE: usize = 92;
/// Columns of the clock with the space around it.
const CLOCK: usize = 10;
/// How much of an item is read while it is folded.
const HEAD: u64 = 8 * 1024;
/// How much of a result is read to count its lines.
const COUNTED: u64 = 64 * 1024;
/// How much of an item is read where it is unfolded; the detail shows more.
pub(super) const UNFOLDED: u64 = 512 * 1024;

/// Cells that the argument of a call has in any case.
const ARGUMENT: usize = 16;

/// How many items without a time are passed over for the day before a turn.
const LOOKED_BACK: usize = 8;
/// Longest item that holds no text.
const EMPTY: u64 = 256;

/// Most rows of what is folded.
pub(super) const RESULT: usize = 3;
const ERROR: usize = 6;
const DIFF: usize = 10;
const REASONING: usize = 2;
const SAID: usize = 40;
const ASKED: usize = 16;
const SYSTEM: usize = 3;
/// Most rows that are shown rather than left out at the end.
const TAIL: usize = 2;
/// Most rows of what is unfolded.
const MOST: usize = 20_000;

type Pieces = Vec<(Tone, SafeText)>;

/// The rows of an item. `is_current` is the item with the cursor: of a result that has no rows while it is folded
/// some are shown then.
pub(super) fn rows(page: &BlockContext<'_>, index: usize, is_current: bool) -> Vec<BlockRow> {
    let session = page.order.session;
    let Some(item) = session.items.get(index) else {
        return Vec::new();
    };
    let mut block = Block {
        page,
        index,
        item,
        reader: UsageReader::new(session, page.prices),
        rows: Vec::new(),
        images: OnceCell::new(),
    };
    if index == 0 {
        block.of_session();
    }
    if page.order.begins_turn(index) {
        block.head();
    }
    match item.kind {
        _ if page.mode == Mode::Raw => block.raw(),
        Kind::Call | Kind::HostedCall | Kind::ApprovalRequest => block.call(),
        Kind::Output | Kind::HostedOutput => block.result(is_current),
        Kind::User if item.flags.has(Flags::INTERRUPT) => block.mark("interrupted"),
        Kind::User => block.message_body(ASKED),
        Kind::Assistant => block.message_body(SAID),
        Kind::System => block.message_body(SYSTEM),
        Kind::Reasoning => block.reasoning(),
        Kind::Compaction => block.mark("compacted"),
        Kind::Notice if item.flags.has(Flags::INTERRUPT) => block.mark("interrupted"),
        Kind::Notice if item.flags.has(Flags::ERROR) => block.failure(),
        Kind::Notice
        | Kind::ApprovalResponse
        | Kind::ToolDefinitions
        | Kind::Other
        | Kind::Unreadable => block.aside(),
    }
    block.note();
    block.rows
}

/// The first line that says something, as much as a row holds of it, with a sign where there is more.
fn brief(lines: Vec<Line>, room: usize) -> Vec<Line> {
    let count = lines.iter().filter(|line| !line.is_blank()).count();
    let Some(mut first) = lines.into_iter().find(|line| !line.is_blank()) else {
        return Vec::new();
    };
    let mut left = room.saturating_sub(first.indent + if count > 1 { 2 } else { 0 });
    for (_, text) in &mut first.pieces {
        *text = text.truncated(left);
        left -= text.width();
    }
    if count > 1 && left > 0 {
        first.pieces.push(plain(Tone::Dim, " …"));
    }
    vec![first]
}

struct Block<'a> {
    page: &'a BlockContext<'a>,
    index: usize,
    item: &'a Item,
    reader: UsageReader<'a>,
    rows: Vec<BlockRow>,
    /// Read whole to be measured, and asked for several times.
    images: OnceCell<Vec<String>>,
}

impl<'a> Block<'a> {
    fn session(&self) -> &'a Session {
        self.page.order.session
    }

    fn is_wide(&self) -> bool {
        self.page.width >= WIDE && self.page.has_times
    }

    /// Where the signs of items stand.
    fn margin(&self) -> usize {
        if self.is_wide() { CLOCK } else { 1 }
    }

    /// Where the text of messages is.
    fn text_margin(&self) -> usize {
        self.margin() + 2
    }

    fn is_unfolded(&self) -> bool {
        let own = self.page.order.call_of(self.index).unwrap_or(self.index);
        self.page.unfolded.is_unfolded(own)
    }

    /// How many lines of a text are shown: all while it is unfolded, else so many.
    fn most(&self, folded: usize) -> usize {
        match self.is_unfolded() {
            true => MOST,
            false if self.is_brief() => 1,
            false => folded,
        }
    }

    /// Whether it is the answer with which the session ends.
    fn is_answer(&self) -> bool {
        let after = self.session().items.get(self.index + 1..);
        let mut after = after.unwrap_or_default().iter();
        self.item.kind == Kind::Assistant
            && after.all(|item| matches!(item.kind, Kind::Notice | Kind::Other))
    }

    /// Whether a text takes one row.
    fn is_brief(&self) -> bool {
        self.page.unfolded.is_brief() && !self.is_unfolded()
    }

    fn push(&mut self, kind: RowKind, indent: usize, left: Pieces, right: Pieces) {
        self.rows.push(BlockRow {
            kind,
            indent,
            left,
            right,
        });
    }

    /// The worst finding about the item.
    fn worst(&self) -> Option<&'a Finding> {
        let found = self.page.checked?.of_item(self.index).iter().rev();
        let own = found.filter(|finding| finding.item.is_some());
        own.max_by_key(|finding| finding.severity)
    }

    /// What is wrong with the whole session, such as a tool that the provider refuses.
    fn of_session(&mut self) {
        let found = self
            .page
            .checked
            .map_or(&[][..], |it| it.of_item(self.index));
        for finding in found.iter().filter(|finding| finding.item.is_none()) {
            let sign = (Tone::Sign(finding.severity), SafeText::from_static("  "));
            let rule = (
                Tone::of(finding.severity),
                SafeText::from_static(finding.rule.id),
            );
            let mut left = vec![sign, rule, plain(Tone::Plain, "  ")];
            let room = self.page.width.saturating_sub(self.margin() + cells(&left));
            left.push((Tone::Plain, SafeText::single_line(&finding.message(), room)));
            self.push(RowKind::Body, self.margin(), left, Vec::new());
        }
        if !self.rows.is_empty() {
            self.push(RowKind::Gap, 0, Vec::new(), Vec::new());
        }
    }

    /// What colours something that went wrong: the severity of its finding.
    fn severity(&self) -> Severity {
        self.worst()
            .map_or(Severity::Warning, |finding| finding.severity)
    }

    /// What the operator noted about the item.
    fn note(&mut self) {
        let at = self.item.span.start;
        let Some(note) = self.page.takes.and_then(|takes| takes.note(at)) else {
            return;
        };
        let indent = self.text_margin();
        let label = "note: ";
        let room = self.page.width.saturating_sub(indent + label.len() + 1);
        let words = (Tone::Dim, SafeText::single_line(note, room));
        self.push(
            RowKind::Body,
            indent,
            vec![plain(Tone::Marked, label), words],
            Vec::new(),
        );
    }

    /// What the item says, as much of it as `limit` bytes hold.
    fn body(&self, limit: u64) -> Option<Body> {
        body_within(self.session(), self.item, limit)
    }

    fn limit(&self) -> u64 {
        let wanted = match self.is_unfolded() || self.is_answer() {
            true => UNFOLDED,
            false => HEAD,
        };
        limit_of(self.session(), self.item, wanted, || {
            !self.images().is_empty()
        })
    }

    /// The pictures of the item in words.
    fn images(&self) -> &[String] {
        let images = || image_words(self.session(), self.item, self.page.picture_key);
        self.images.get_or_init(images)
    }

    fn with_images<'t>(&self, text: &'t str) -> Cow<'t, str> {
        with_images(text, || self.images().to_vec())
    }

    /// The first rows of lines, and how much is left out.
    fn first_rows(&self, lines: Vec<Line>, room: usize, most: usize) -> (Vec<DetailRow>, LeftOut) {
        match self.is_brief() {
            true => first_rows(&brief(lines, room), room, most),
            false => first_rows(&lines, room, most),
        }
    }

    /// Who speaks, when, and what it took.
    fn head(&mut self) {
        let session = self.session();
        let turn = self.item.turn as usize;
        let Some(found) = session.turns.get(turn).copied() else {
            return;
        };
        if self.page.order.previous(self.index).is_some() && !self.page.unfolded.is_brief() {
            self.push(RowKind::Gap, 0, Vec::new(), Vec::new());
        }
        if matches!(self.item.kind, Kind::Compaction) {
            return;
        }
        let usage = self.reader.turn(turn).unwrap_or_default();
        self.model_switch(turn, &usage);
        // A reply is dated when it was there, as in the timeline.
        let at = usage.ended.or(usage.at);
        let at = at.map(|at| local(at, self.page.zone));
        let mut left = Pieces::new();
        if self.page.has_times {
            let time = at.map_or_else(String::new, clock);
            left.push(plain(Tone::Dim, &format!("{time:<8}  ")));
        }
        let (word, tone) = match found.speaker {
            Speaker::User if self.is_noise() => ("program", Tone::Dim),
            Speaker::User => ("you", Tone::Kind(Kind::User)),
            Speaker::System | Speaker::Model | Speaker::File => {
                (found.word(&session.items), Tone::Title)
            }
        };
        left.push(plain(tone, word));
        if let Some(before) = self.page.turns_before {
            left.push(plain(Tone::Dim, &format!("  turn {}", before + turn + 1)));
        }
        // The first turn of a day names it.
        let mut before = (0..found.items().start).rev().take(LOOKED_BACK);
        let before = before.find_map(|it| self.reader.item_time(it).ok().flatten());
        let before = before.map(|at| local(at, self.page.zone).date());
        if let Some(at) = at.filter(|at| before != Some(at.date())) {
            left.push(plain(Tone::Dim, &format!("  {}", day(at))));
        }
        let used = 1 + cells(&left) + 2;
        let right = self.facts(&usage, self.page.width.saturating_sub(used));
        self.push(RowKind::Head, 1, left, right);
    }

    /// A mark where another model answers than before.
    fn model_switch(&mut self, turn: usize, usage: &TurnUsage) {
        let turns = &self.session().turns[..turn];
        let earlier = turns
            .iter()
            .rposition(|turn| turn.speaker == Speaker::Model);
        let (Some(model), Some(earlier)) = (usage.model.as_deref(), earlier) else {
            return;
        };
        let before = self.reader.turn(earlier).unwrap_or_default().model;
        if before.is_some_and(|before| &*before != model) {
            let words = format!("from here on {}", model_name(model));
            self.across(vec![plain(Tone::Marked, &words)]);
            self.push(RowKind::Gap, 0, Vec::new(), Vec::new());
        }
    }

    /// Words in a line across the page.
    fn across(&mut self, words: Pieces) {
        let across = || (Tone::Glyph(Glyph::Across), SafeText::from_static("      "));
        let mut left = vec![across(), plain(Tone::Plain, " ")];
        left.extend(words);
        left.extend([plain(Tone::Plain, " "), across()]);
        self.push(RowKind::Head, 1, left, Vec::new());
    }

    /// Whether the agent's program speaks in the place of its user.
    fn is_noise(&self) -> bool {
        let body = self.body(HEAD).unwrap_or_default();
        self.item.kind == Kind::User && is_from_program(body.text.trim())
    }

    /// What a turn took, at the right of its head: the facts that are worth most of those that fit into `room` cells.
    fn facts(&self, usage: &TurnUsage, room: usize) -> Pieces {
        // Columns: what is to be compared is below each other. Each has its worth before it.
        let mut facts: Vec<(u8, String)> = Vec::new();
        let gap = usage.gap.filter(|gap| *gap >= 1_000);
        let gap = gap.map(|gap| format!("+{}", duration(gap)));
        facts.extend(usage.took.map(duration).or(gap).map(|words| (5, words)));
        if let Some(tokens) = usage.tokens {
            let sent = tokens.sent().map(|sent| format!("{:>6} in", count(sent)));
            facts.extend(sent.map(|sent| (3, sent)));
            if self.is_wide() {
                let cached = tokens.cached_percent();
                let cached = cached.map(|cached| format!("{cached:>3}% cached"));
                facts.push((1, format!("{:11}", cached.unwrap_or_default())));
            }
            let mark = at_least(usage.is_undercounted);
            let out = format!("{mark}{}", count(tokens.output));
            facts.push((2, format!("{out:>5} out")));
            if self.is_wide() && tokens.reasoning > 0 {
                facts.push((0, format!("{} reasoning", count(tokens.reasoning))));
            }
            let cost = usage.cost.map(|cost| format!("{mark}{}", cost.all));
            facts.extend(cost.map(|cost| (6, format!("{cost:>7}"))));
            let share = usage.fullness();
            facts.extend(share.map(|share| (4, format!("ctx {share:>2}%"))));
        }
        let width = |facts: &[(u8, String)]| {
            facts
                .iter()
                .map(|(_, words)| words.chars().count() + 2)
                .sum()
        };
        loop {
            let needed: usize = width(&facts);
            if needed <= room + 2 {
                break;
            }
            let least = (0..facts.len()).min_by_key(|at| facts[*at].0);
            least.map(|at| facts.remove(at));
        }
        let words: Vec<String> = facts.into_iter().map(|(_, words)| words).collect();
        match words.is_empty() {
            true => Pieces::new(),
            false => vec![plain(Tone::Dim, &words.join("  "))],
        }
    }

    /// The sign before an item.
    fn sign(&self) -> (Tone, SafeText) {
        if let Some(finding) = self.worst_of_pair() {
            let severity = finding.severity;
            return match finding.is_settled {
                true => plain(Tone::Dim, "- "),
                false => (Tone::Sign(severity), SafeText::from_static("  ")),
            };
        }
        let glyph = match self.session().pairing.partner(self.index) {
            Some(_) if has_failed(self.session(), self.page.checked, self.index) => {
                return (Tone::Sign(Severity::Warning), SafeText::from_static("  "));
            }
            Some(_) if is_answered_by_hand(self.session(), self.index) => {
                return plain(Tone::Dim, "- ");
            }
            Some(_) => Tone::Glyph(Glyph::Ok),
            None => Tone::Glyph(Glyph::Dot),
        };
        (glyph, SafeText::from_static(" "))
    }

    /// The sign with the space after it.
    fn marked(&self) -> Pieces {
        let sign = self.sign();
        let space = match sign.0 {
            Tone::Sign(_) | Tone::Dim => None,
            _ => Some(plain(Tone::Plain, " ")),
        };
        std::iter::once(sign).chain(space).collect()
    }

    /// `✓ Read(src/backoff.rs)   0.1s · 82 lines`
    fn call(&mut self) {
        let body = self.body(self.limit());
        let body = body.unwrap_or_default();
        let arguments = body.arguments.as_written();
        let tool = self.session().name(self.item).to_owned();
        let summary = summarize_call(&tool, arguments).seen_from(self.page.folder);
        let diffs = match self.page.mode {
            Mode::Pretty => diffs_of_call(arguments),
            Mode::Unescaped | Mode::Raw => Vec::new(),
        };
        let mut facts = self.outcome(&diffs);
        let exit = self.exit();
        // An exit code says what is wrong with the result.
        let fault = match exit {
            Some(_) => self.worst(),
            None => self.worst_of_pair(),
        };
        facts.splice(0..0, exit);
        let mut left = self.marked();
        let name = match tool.is_empty() {
            true => self.item.kind.word().to_owned(),
            false => display_name(&tool),
        };
        left.push((Tone::Kind(Kind::Call), SafeText::single_line(&name, 48)));
        left.push(plain(Tone::Dim, "("));
        let fault = fault.map(named);
        let used = self.margin() + cells(&left) + 1 + 2;
        let room = self.page.width.saturating_sub(used);
        let right = self.fitting(
            facts,
            room.saturating_sub(summary.argument.len().min(ARGUMENT)),
        );
        let room = room.saturating_sub(cells(&right));
        let reserved = fault
            .as_ref()
            .map_or(0, |(_, text)| (text.width() + 2).min(room / 2));
        let is_whole = self.item.span.len() <= self.limit();
        let below = match summary.more_lines {
            0 => String::new(),
            _ if !is_whole || self.is_unfolded() => " …".to_owned(),
            1 => " … +1 line".to_owned(),
            lines => format!(" … +{lines} lines"),
        };
        let below = SafeText::single_line(&below, room - reserved);
        let room = room - below.width();
        let argument = match summary.more_lines {
            0 => &summary.argument,
            _ => summary.argument.trim_end_matches([' ', '…']),
        };
        let argument = match summary.is_path {
            true => end_of(argument, room - reserved),
            false => SafeText::single_line(argument, room - reserved),
        };
        let left_over = room - argument.width();
        let is_told = summary.is_all && argument.as_plain() == summary.argument;
        let is_cut = argument.as_plain().ends_with('…');
        let below = match is_cut && below.as_plain().contains('+') {
            true => below.part(" …".len()..below.as_plain().len()),
            false => below,
        };
        left.push((Tone::Plain, argument));
        left.push((Tone::Dim, below));
        left.push(plain(Tone::Dim, ")"));
        if let Some((tone, text)) = fault.filter(|_| left_over > 8) {
            left.push(plain(Tone::Plain, "  "));
            left.push((tone, text.truncated(left_over - 2)));
        }
        let margin = self.margin();
        self.push(RowKind::Title, margin, left, right);
        if self.is_brief() {
            return;
        }
        let lines = self.arguments(&body, &diffs, is_told);
        let most = self.most(DIFF);
        let is_cut = self.item.span.len() > self.limit() && !lines.is_empty();
        let size = is_cut.then(|| match diffs.is_empty() {
            true => Size::Bytes(self.item.span.len()).to_string(),
            false => self.changed(&diffs),
        });
        self.hanging(lines, most, 0, size);
    }

    /// What is shown of the arguments below the call: what it changes, and all of them where it is unfolded.
    fn arguments(&self, body: &Body, diffs: &[FileDiff], is_told: bool) -> Vec<Line> {
        let arguments = body.arguments.as_written();
        let several = diffs.len() > 1;
        let mut lines = Vec::new();
        for diff in diffs {
            if several {
                let heading = match self.page.folder {
                    "" => diff.heading(),
                    folder => diff.heading().replace(folder, ""),
                };
                lines.push(Line::new(Tone::Title, SafeText::single_line(&heading, 200)));
            }
            // What becomes of a file without a changed line is in its heading.
            if !several || diff.counts() != (0, 0) {
                lines.extend(diff_lines(diff));
            }
        }
        if !lines.is_empty() && has_failed(self.session(), self.page.checked, self.index) {
            lines = not_applied(lines);
        }
        if !lines.is_empty() && self.is_unfolded() {
            let rest = beside_diffs(arguments).into_iter();
            lines.splice(
                0..0,
                rest.flat_map(|rest| json_lines(&rest, self.page.mode)),
            );
        }
        let is_pretty = self.page.mode == Mode::Pretty;
        let plan = plan_of(self.session().name(self.item), arguments).filter(|_| is_pretty);
        if lines.is_empty() && !is_told && (self.is_unfolded() || plan.is_some()) {
            let json = body.arguments.json();
            let tool = self.session().name(self.item);
            let command = json.filter(|_| is_pretty);
            let command = command.and_then(|json| command_lines(tool, json, self.page.mode));
            lines = match (command, plan, json) {
                (Some(command), ..) => command,
                (None, Some(plan), _) => {
                    let words = text_lines(&plan.words, self.markdown()).into_iter();
                    words.chain(plan.steps.iter().map(plan_line)).collect()
                }
                (None, None, Some(json)) if is_container(json) => json_lines(json, self.page.mode),
                _ => plain_lines(&SafeText::from_str(arguments)),
            };
            lines.extend(text_lines(&body.text, Writing::Output));
        }
        lines
    }

    /// The facts about a call that fit into `room` cells: what is said in passing goes first.
    fn fitting(&self, mut facts: Vec<(Tone, String)>, room: usize) -> Pieces {
        loop {
            let pieces = joined(facts.iter().map(|(tone, words)| (*tone, words.as_str())));
            if facts.is_empty() || cells(&pieces) <= room {
                return pieces;
            }
            let least = facts.iter().position(|(tone, _)| *tone == Tone::Dim);
            facts.remove(least.unwrap_or(facts.len() - 1));
        }
    }

    /// How much of a file a call changes; in bytes where it is too large to be read for its row.
    fn changed(&self, diffs: &[FileDiff]) -> String {
        if self.item.span.len() > COUNTED {
            return Size::Bytes(self.item.span.len()).to_string();
        }
        let whole = match self.item.span.len() > self.limit() {
            true => self
                .body(COUNTED)
                .map(|body| diffs_of_call(body.arguments.as_written())),
            false => None,
        };
        let counts = whole
            .as_deref()
            .unwrap_or(diffs)
            .iter()
            .map(FileDiff::counts);
        let (added, removed) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        match removed {
            0 => format!("+{added}"),
            removed => format!("+{added} -{removed}"),
        }
    }

    /// What came of a call, at its right: how long it took, how large its result is.
    fn outcome(&mut self, diffs: &[FileDiff]) -> Vec<(Tone, String)> {
        let session = self.session();
        let mut facts: Vec<(Tone, String)> = Vec::new();
        let took = self.reader.call_duration(self.index).ok().flatten();
        let took = took.filter(|took| *took > 0);
        facts.extend(took.map(|took| (Tone::Dim, duration(took))));
        let nested = self.sub_agent().unwrap_or_default().into_iter();
        // It takes as long as its call.
        let nested: Vec<_> = nested.filter(|fact| !facts.contains(fact)).collect();
        facts.extend(nested);
        let output = session.pairing.partner(self.index);
        match output.and_then(|output| session.items.get(output)) {
            Some(output) if diffs.is_empty() || output.flags.has(Flags::ERROR) => {
                let images = image_facts(session, output);
                let is_text = match size_of(session, output) {
                    size @ Size::Lines(lines) => (lines > images.len()).then_some(size),
                    size @ Size::Bytes(_) => images.is_empty().then_some(size),
                };
                facts.extend(images.into_iter().map(|image| (Tone::Info, image)));
                facts.extend(is_text.map(|size| (Tone::Dim, size.to_string())));
            }
            Some(_) => facts.push((Tone::Dim, self.changed(diffs))),
            None => facts.extend(self.missing().map(|words| (Tone::Dim, words.to_owned()))),
        }
        facts
    }

    /// The exit code of a command that failed.
    fn exit(&self) -> Option<(Tone, String)> {
        let session = self.session();
        let output = session.pairing.partner(self.index)?;
        let body = body_within(session, session.items.get(output)?, COUNTED)?;
        let code = exit_of_failure(&body.text)?;
        match has_failed(session, self.page.checked, self.index) {
            true => Some((Tone::Warning, format!("exit {code}"))),
            // Claude Code marks what failed; a text that only begins so is one that was read.
            false if session.format == "codex" => Some((Tone::Dim, format!("exit {code}"))),
            false => None,
        }
    }

    /// What is known of the sub-agent that a call began.
    fn sub_agent(&self) -> Option<Vec<(Tone, String)>> {
        let known = self.page.nested;
        let page = self.page;
        let nested = nested_of(page.sessions, known.files, page.number, self.index)?;
        let (turns, usage, errors, warnings) = match nested {
            Nested::Session(index) => {
                let checked = known.checked.get(index).and_then(Option::as_deref);
                let counts = checked.map(Checked::counts).unwrap_or_default();
                let usage = known.totals.and_then(|totals| totals.get(&index));
                let usage = usage.map(|it| &**it);
                let turns = self.page.sessions.get(index)?.turns.len();
                (turns, usage, counts.errors, counts.warnings)
            }
            Nested::File(file) => {
                let usage = &file.usage;
                (usage.turns, Some(usage), file.errors, file.warnings)
            }
        };
        let mut facts = vec![(Tone::Info, format!("sub-agent, {turns} turns"))];
        let usage = usage.map(summary).unwrap_or_default();
        facts.extend(usage.into_iter().map(|fact| (Tone::Dim, fact)));
        let counted = [
            (errors, "error", Severity::Error),
            (warnings, "warning", Severity::Warning),
        ];
        for (count, word, severity) in counted {
            match count {
                0 => {}
                1 => facts.push((Tone::of(severity), format!("1 {word}"))),
                count => facts.push((Tone::of(severity), format!("{count} {word}s"))),
            }
        }
        Some(facts)
    }

    /// Why a call has no result.
    fn missing(&self) -> Option<&'static str> {
        match self.session().pairing.standing(self.index) {
            PairStatus::Pending => Some("no result yet"),
            PairStatus::Orphan if self.item.kind == Kind::Call => Some("no result"),
            _ => None,
        }
    }

    /// What is wrong with the result of a call.
    fn fault_of_result(&self) -> Option<&'a Finding> {
        let output = self.session().pairing.partner(self.index)?;
        let found = self.page.checked?.of_item(output).iter();
        let open = found.filter(|finding| !finding.is_settled);
        open.max_by_key(|finding| finding.severity)
    }

    /// The worst finding of an item, or of the result of a call where that is worse.
    fn worst_of_pair(&self) -> Option<&'a Finding> {
        let is_call = matches!(self.item.kind, Kind::Call | Kind::HostedCall);
        let of_result = self.fault_of_result().filter(|_| is_call);
        let both = of_result.into_iter().chain(self.worst());
        both.max_by_key(|finding| (!finding.is_settled, finding.severity))
    }

    fn result(&mut self, is_current: bool) {
        let call = self.page.order.call_of(self.index);
        let is_error = self.item.flags.has(Flags::ERROR);
        let is_faulty = is_error || self.worst().is_some();
        if call.is_none() {
            self.stray_result();
        }
        let most = match call {
            _ if self.is_unfolded() => MOST,
            _ if self.is_brief() && !is_current => 0,
            _ if is_faulty => ERROR.max(self.page.result_rows),
            Some(call) if self.says_enough(call) && !is_current => 0,
            _ => self.page.result_rows,
        };
        if most == 0 {
            return;
        }
        let body = self.body(self.limit());
        let text = body.map(|body| body.text).unwrap_or_default();
        let result = match self.page.mode {
            Mode::Pretty => result_text(&text),
            Mode::Unescaped | Mode::Raw => ResultText::of(text.as_str().into()),
        };
        let about = words_about(&result);
        let text = self.with_images(result.text.trim_end());
        let text = &*text;
        let file = call.and_then(|call| file_of_result(self.session(), call));
        let writing = match &file {
            Some(file) if !is_error => Writing::File(file),
            None if !is_error
                && call.is_some_and(|call| is_markdown_result(self.session(), call)) =>
            {
                self.markdown()
            }
            _ => Writing::Output,
        };
        let is_whole = self.item.span.len() <= self.limit();
        let json = json_text_lines(text, is_whole, self.page.mode);
        let is_json = json.is_some();
        let mut is_cut = !is_whole;
        let is_folded = !self.is_unfolded() && self.page.mode == Mode::Pretty;
        let (mut lines, most) = match json {
            Some(lines) if is_folded => (self.brief_json(lines, text, most, is_whole), most),
            Some(lines) => (lines, most),
            None => match Some(text).filter(|_| is_folded && writing == Writing::Output) {
                Some(text) => match diff_of_text(text) {
                    Some(diff) if !self.is_brief() => (diff_lines(&diff.changes()), most.max(DIFF)),
                    _ => (self.lines(text, writing), most),
                },
                None => (self.lines(text, writing), most),
            },
        };
        if is_error && let Some(first) = lines.first_mut() {
            for (tone, _) in &mut first.pieces {
                *tone = Tone::of(self.severity());
            }
        }
        let is_unfolded = self.is_unfolded();
        lines.retain(|line| is_unfolded || !line.is_blank());
        // The row of the call counts blank lines, too, and those that are not read.
        let all = match is_whole {
            true => Size::of(text),
            false => size_of(self.session(), self.item),
        };
        let unseen = match all {
            Size::Lines(all) if !is_json => {
                is_cut = false;
                all.saturating_sub(lines.len())
            }
            Size::Lines(_) | Size::Bytes(_) => 0,
        };
        let apart = call.filter(|call| is_unfolded && self.shows_arguments(*call));
        let size = Some(all.to_string()).filter(|_| !lines.is_empty() || about.is_some());
        if size.is_none() {
            let words = if apart.is_some() {
                "empty"
            } else {
                "empty result"
            };
            lines.push(Line::new(Tone::Dim, SafeText::from_static(words)));
        }
        if let Some(call) = apart {
            self.between(call, size.as_deref());
        }
        let most = most + usize::from(about.is_some());
        let about = about.map(|words| Line::new(Tone::Dim, SafeText::from_str(&words)));
        lines.splice(0..0, about);
        self.hanging(lines, most, unseen, is_cut.then(|| all.to_string()));
    }

    /// Whether there are arguments in rows of their own between the row of a call and its result.
    fn shows_arguments(&self, call: usize) -> bool {
        let rows = rows(self.page, call, false);
        rows.iter().any(|row| row.kind == RowKind::Body)
    }

    /// A row that sets a result apart from the arguments above it.
    fn between(&mut self, call: usize, size: Option<&str>) {
        let call = Block {
            page: self.page,
            index: call,
            item: &self.session().items[call],
            reader: UsageReader::new(self.session(), self.page.prices),
            rows: Vec::new(),
            images: OnceCell::new(),
        };
        let mut left = bar();
        let exit = call.exit();
        let facts = exit.iter().map(|(tone, words)| (*tone, words.as_str()));
        let facts = [(Tone::Dim, "result")].into_iter().chain(facts);
        let size = size.map(|size| (Tone::Dim, size));
        left.extend(joined(facts.chain(size)));
        self.push(RowKind::Gap, self.margin() + 2, left, Vec::new());
    }

    /// The lines of JSON while it is folded: in one where that takes two rows at most, else the first that hold a value, without
    /// the brackets around them.
    fn brief_json(&self, lines: Vec<Line>, text: &str, most: usize, is_whole: bool) -> Vec<Line> {
        let room = self.page.width.saturating_sub(self.margin() + 4).max(1);
        let row = SafeText::single_line(&compact(text), room * most);
        if is_whole && row.width() < room * most.min(2) || self.is_brief() {
            return plain_lines(&row);
        }
        let is_bracket = |line: &&Line| {
            let mut pieces = line.pieces.iter();
            pieces.all(|(_, text)| matches!(text.as_plain(), "{" | "["))
        };
        let brackets = lines.iter().take_while(is_bracket).count();
        let outer = lines.get(brackets).map_or(0, |line| line.indent);
        let mut lines: Vec<Line> = lines.into_iter().skip(brackets).collect();
        for line in &mut lines {
            line.indent = line.indent.saturating_sub(outer);
        }
        lines
    }

    /// Whether the line of a call tells what its result says: it reads what was there, or changes what is shown.
    fn says_enough(&self, call: usize) -> bool {
        let session = self.session();
        let Some(item) = session.items.get(call) else {
            return false;
        };
        is_reader(session.name(item)) || writes_files(session, call)
    }

    /// The title of a result that is under no call.
    fn stray_result(&mut self) {
        let tool = display_name(tool_of(self.session(), self.index));
        let mut left = vec![
            (Tone::Glyph(Glyph::Dot), SafeText::from_static(" ")),
            plain(Tone::Plain, " "),
        ];
        if let Some(finding) = self.worst() {
            left = vec![(Tone::Sign(finding.severity), SafeText::from_static("  "))];
        }
        left.push(plain(Tone::Kind(Kind::Output), "result "));
        if tool.is_empty() {
            let id = self.session().call_id(self.item).unwrap_or_default();
            left.push((Tone::Dim, SafeText::single_line(&id, 48)));
        }
        left.push((Tone::Plain, SafeText::single_line(&tool, 48)));
        if let Some((tone, text)) = self.worst().map(named) {
            left.push(plain(Tone::Plain, "  "));
            left.push((tone, text));
        }
        let size = size_of(self.session(), self.item).to_string();
        let margin = self.margin();
        self.push(RowKind::Title, margin, left, vec![plain(Tone::Dim, &size)]);
    }

    /// Lines that hang on the row above by a bar. `unseen` lines are not among them and count where some are left out;
    /// `size` is that of all, where it is not known how many lines are left out.
    fn hanging(&mut self, lines: Vec<Line>, most: usize, unseen: usize, size: Option<String>) {
        let indent = self.margin() + 2;
        let room = self.page.width.saturating_sub(indent + 2).max(1);
        let (rows, left_out) = self.first_rows(lines, room, most);
        for row in rows {
            let mut left = bar();
            left.push(plain(Tone::Plain, &" ".repeat(row.indent)));
            left.extend(row.pieces);
            self.push(RowKind::Body, indent, left, Vec::new());
        }
        let left_out = match left_out {
            LeftOut::Lines(lines @ 1..) => LeftOut::Lines(lines + unseen),
            LeftOut::Rows(_) if unseen > 0 => LeftOut::Lines(1 + unseen),
            left_out => left_out,
        };
        if let Some(words) = more(left_out, size) {
            let left = bar().into_iter().chain(words).collect();
            self.push(RowKind::Body, indent, left, Vec::new());
        }
    }

    /// A message: its text as text.
    fn message_body(&mut self, most: usize) {
        let body = self.body(self.limit()).unwrap_or_default();
        let (thought, text) = body.text.split_at(body.thought);
        let (thought, text) = (thought.trim(), text.trim());
        if !thought.is_empty() {
            self.thought(thought);
        }
        if text.is_empty() {
            if thought.is_empty() && !self.says_nothing() {
                self.aside();
            }
            return;
        }
        let text = &*match self.page.mode {
            Mode::Pretty => self.with_images(text),
            Mode::Unescaped | Mode::Raw => text.into(),
        };
        let is_noise = self.is_noise();
        let most = match self.is_unfolded() {
            true => MOST,
            false if is_noise => 1,
            false if self.is_answer() && !self.is_brief() => MOST,
            false => self.most(most),
        };
        let mut lines = match is_container(text) && self.item.kind == Kind::Assistant {
            true => json_lines(text, self.page.mode),
            false => self.lines(text, self.markdown()),
        };
        if is_noise && !self.is_unfolded() {
            let room = self.page.width.saturating_sub(self.text_margin() + 1);
            lines = brief(lines, room);
        }
        if is_noise || self.item.kind == Kind::System {
            for (tone, _) in lines.iter_mut().flat_map(|line| &mut line.pieces) {
                *tone = Tone::Dim;
            }
        }
        if text.starts_with(THINKS) {
            dim_thoughts(&mut lines);
        }
        let is_cut = self.item.span.len() > self.limit();
        self.text(lines, most, is_cut);
    }

    /// Whether it is a text of the model without a letter, beside others of its turn.
    fn says_nothing(&self) -> bool {
        let turn = self.session().turns.get(self.item.turn as usize);
        let is_alone = turn.is_none_or(|turn| turn.items().len() < 2);
        let is_empty = self.item.kind == Kind::Assistant && self.item.span.len() <= EMPTY;
        is_empty && !is_alone && self.worst().is_none() && self.images().is_empty()
    }

    /// What a provider or the program said in place of a reply, in full.
    fn failure(&mut self) {
        let body = self.body(self.limit()).unwrap_or_default();
        let text = match body.text.trim() {
            "" => {
                let head = self
                    .session()
                    .source
                    .read(self.item.span.head(self.limit()));
                String::from_utf8_lossy(&head.unwrap_or_default()).into_owned()
            }
            text => text.to_owned(),
        };
        let severity = self.severity();
        let mut left = vec![(Tone::Sign(severity), SafeText::from_static("  "))];
        left.push(plain(Tone::of(severity), "error"));
        self.push(RowKind::Title, self.margin(), left, Vec::new());
        let text = error_message(&text);
        let mut lines = plain_lines(&SafeText::from_str(&text));
        if let Some(first) = lines.first_mut() {
            first
                .pieces
                .iter_mut()
                .for_each(|(tone, _)| *tone = Tone::of(severity));
        }
        let most = self.most(SAID);
        self.hanging(lines, most, 0, None);
    }

    /// How messages are written.
    fn markdown(&self) -> Writing<'static> {
        let room = self.page.width.saturating_sub(self.text_margin() + 1);
        Writing::Markdown(room)
    }

    /// The lines of a text, rendered or as it is.
    fn lines(&self, text: &str, writing: Writing<'_>) -> Vec<Line> {
        match self.page.mode {
            Mode::Pretty => text_lines(text, writing),
            Mode::Unescaped | Mode::Raw => plain_lines(&SafeText::from_str(text)),
        }
    }

    /// What stands before the size of an item that is shown raw: the call with its argument, the tool of a result.
    fn raw_title(&self) -> Pieces {
        let word = self.item.kind.word();
        let tool = tool_of(self.session(), self.index);
        let name = SafeText::single_line(&display_name(tool), 48);
        let is_call = matches!(self.item.kind, Kind::Call | Kind::HostedCall);
        if tool.is_empty() {
            return vec![plain(Tone::Dim, word)];
        }
        if !is_call {
            let word = plain(Tone::Dim, &format!("{word} "));
            return vec![word, (Tone::Dim, name)];
        }
        let body = self.body(self.limit()).unwrap_or_default();
        let summary = summarize_call(tool, body.arguments.as_written());
        let argument = summary.seen_from(self.page.folder).argument;
        let room = self.page.width.saturating_sub(self.margin() + name.width());
        let room = room / 2;
        vec![
            (Tone::Kind(Kind::Call), name),
            plain(Tone::Dim, "("),
            (Tone::Plain, SafeText::single_line(&argument, room)),
            plain(Tone::Dim, ")"),
        ]
    }

    /// The JSON of the item as it is in the file.
    fn raw(&mut self) {
        let mut left = self.marked();
        left.extend(self.raw_title());
        left.extend(
            self.worst()
                .map(named)
                .into_iter()
                .flat_map(|(tone, text)| [plain(Tone::Plain, "  "), (tone, text)]),
        );
        let size = Size::Bytes(self.item.span.len()).to_string();
        self.push(
            RowKind::Title,
            self.margin(),
            left,
            vec![plain(Tone::Dim, &size)],
        );
        let head = self.item.span.head(self.limit());
        let lines = match self.session().source.read(head) {
            Ok(bytes) => raw_lines(&bytes),
            Err(error) => plain_lines(&SafeText::from_str(&error.to_string())),
        };
        let most = self.most(RESULT);
        let is_cut = self.item.span.len() > self.limit();
        self.hanging(lines, most, 0, is_cut.then_some(size));
    }

    /// Lines of a text without a frame.
    fn text(&mut self, lines: Vec<Line>, most: usize, is_cut: bool) {
        let indent = self.text_margin();
        let room = self.page.width.saturating_sub(indent + 1).max(1);
        if let Some((tone, text)) = self.worst().map(named) {
            let sign = match self.worst() {
                Some(finding) => (Tone::Sign(finding.severity), SafeText::from_static("  ")),
                None => plain(Tone::Plain, "  "),
            };
            let margin = self.margin();
            self.push(RowKind::Title, margin, vec![sign, (tone, text)], Vec::new());
        }
        let (rows, left_out) = self.first_rows(lines, room, most);
        let mut kind = match self.rows.iter().any(|row| row.kind == RowKind::Title) {
            true => RowKind::Body,
            false => RowKind::Title,
        };
        for row in rows {
            self.push(kind, indent + row.indent, row.pieces, Vec::new());
            kind = RowKind::Body;
        }
        let size = is_cut.then(|| size_of(self.session(), self.item).to_string());
        if let Some(words) = more(left_out, size) {
            self.push(RowKind::Body, indent, words, Vec::new());
        }
    }

    /// What the model thought, dimmed.
    fn reasoning(&mut self) {
        let body = self.body(self.limit()).unwrap_or_default();
        let text = body.text.trim();
        let text = match text.is_empty() || text.starts_with('{') {
            true => "(encrypted by the provider)",
            false => text,
        };
        self.thought(text);
    }

    fn thought(&mut self, text: &str) {
        let mut lines = self.lines(text, self.markdown());
        lines.retain(|line| self.is_unfolded() || !line.is_blank());
        for (tone, _) in lines.iter_mut().flat_map(|line| &mut line.pieces) {
            *tone = Tone::Kind(Kind::Reasoning);
        }
        // Without colours nothing else tells it from the answer.
        if let Some(first) = lines.iter_mut().find(|line| !line.is_blank()) {
            first.pieces.insert(0, plain(Tone::Dim, "thinking  "));
        }
        let most = self.most(REASONING);
        self.text(lines, most, false);
    }

    /// A line across the page.
    fn mark(&mut self, word: &str) {
        let body = self.body(self.limit()).unwrap_or_default();
        // Claude Code writes the type of its mark before the words.
        let text = body
            .text
            .trim()
            .trim_start_matches("compact_boundary")
            .trim();
        let across = || (Tone::Glyph(Glyph::Across), SafeText::from_static("      "));
        let mut left = vec![across(), plain(Tone::Plain, " ")];
        let says_more = !self.is_unfolded() && !text.is_empty() && !text.starts_with('{');
        if !text.to_lowercase().contains(word) {
            let colon = if says_more { ":" } else { "" };
            left.push(plain(Tone::Marked, &format!("{word}{colon} ")));
        }
        let room = self.page.width.saturating_sub(word.len() + 17);
        if says_more {
            left.push((Tone::Marked, SafeText::single_line(text, room)));
            left.push(plain(Tone::Plain, " "));
        }
        left.push(across());
        self.push(RowKind::Title, 1, left, Vec::new());
        if self.is_unfolded() {
            self.text(text_lines(text, self.markdown()), MOST, false);
        }
    }

    /// What nobody said: one dim row.
    fn aside(&mut self) {
        let images = self.images();
        if !images.is_empty() {
            let size = Size::Bytes(self.item.span.len());
            let words = format!("{}  {size}", images.join(" "));
            let words = Line::new(Tone::Dim, SafeText::single_line(&words, self.page.width));
            return self.text(vec![words], 1, false);
        }
        let body = self.body(HEAD).unwrap_or_default();
        let text = match body.text.trim() {
            "" => {
                let head = self.session().source.read(self.item.span.head(HEAD));
                match &*String::from_utf8_lossy(&head.unwrap_or_default()) {
                    "\"\"" => "(empty)".to_owned(),
                    raw => attachment(raw).unwrap_or_else(|| raw.to_owned()),
                }
            }
            text => text.to_owned(),
        };
        let mut left = Pieces::new();
        if let Some(finding) = self.worst() {
            left.push((Tone::Sign(finding.severity), SafeText::from_static("  ")));
        }
        left.push(plain(Tone::Dim, &format!("{}  ", self.item.kind.word())));
        if let Some((tone, text)) = self.worst().map(named) {
            left.push((tone, text));
            left.push(plain(Tone::Plain, "  "));
        }
        let margin = self.text_margin();
        let room = self.page.width.saturating_sub(margin + cells(&left) + 1);
        let row = SafeText::single_line(&text, room);
        let is_all = row.as_plain() == text;
        left.push((Tone::Dim, row));
        self.push(RowKind::Title, margin, left, Vec::new());
        if self.is_unfolded() && !is_all {
            let lines = match is_container(&text) {
                true => json_lines(&text, self.page.mode),
                false => plain_lines(&SafeText::from_str(&text)),
            };
            self.hanging(lines, MOST, 0, None);
        }
    }
}

/// The rule of a finding, and what became of it, for the row of its item.
fn named(finding: &Finding) -> (Tone, SafeText) {
    let mut text = SafeText::from_static(finding.rule.id);
    if finding.is_settled {
        text.push(&SafeText::from_static(", "));
        text.push(&SafeText::from_static(finding.resolution()));
        return (Tone::Dim, text);
    }
    (Tone::of(finding.severity), text)
}

/// What some models write before and after what they think, within their text.
const THINKS: &str = "<think>";
const THOUGHT: &str = "</think>";

/// Gives the lines of what a model thinks the look of reasoning.
fn dim_thoughts(lines: &mut [Line]) {
    for line in lines {
        for (tone, _) in &mut line.pieces {
            *tone = Tone::Kind(Kind::Reasoning);
        }
        let mut pieces = line.pieces.iter();
        if pieces.any(|(_, text)| text.as_plain().contains(THOUGHT)) {
            return;
        }
    }
}

/// A file that a part of a message of Gemini names: `[video/mp4 small_video.mp4]`.
fn attachment(part: &str) -> Option<String> {
    let part: serde_json::Value = serde_json::from_str(part).ok()?;
    let file = part.get("file_data").or(part.get("fileData"))?;
    let word = |keys: [&str; 2]| keys.iter().find_map(|key| file.get(*key)?.as_str());
    let address = word(["file_uri", "fileUri"])?;
    let name = address.rsplit('/').next().unwrap_or(address);
    let words = [word(["mime_type", "mimeType"]), Some(name)];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    Some(format!("[{}]", words.join(" ")))
}

/// The message of an error of a provider with its type; another text as it is.
fn error_message(text: &str) -> String {
    let Ok(json) = serde_json::from_str::<serde_json::Value>(text) else {
        return text.to_owned();
    };
    if let Some(text) = json.get("text").and_then(|it| it.as_str()) {
        return text.to_owned();
    }
    let error = json.get("error").unwrap_or(&json);
    let word = |key: &str| error.get(key).and_then(|it| it.as_str());
    let Some(message) = word("message").or(error.as_str()) else {
        return text.to_owned();
    };
    let rest = ["type", "code", "status"].into_iter().filter_map(word);
    let mut rest: Vec<&str> = rest.filter(|it| !message.contains(it)).collect();
    rest.dedup();
    match rest.is_empty() {
        true => message.to_owned(),
        false => format!("{message} ({})", rest.join(", ")),
    }
}

/// Whether a call writes to files what its arguments hold.
pub(super) fn writes_files(session: &Session, call: usize) -> bool {
    let item = session.items.get(call);
    let body = item.and_then(|item| body_within(session, item, HEAD));
    body.is_some_and(|body| !diffs_of_call(body.arguments.as_written()).is_empty())
}

/// Words of our own.
fn plain(tone: Tone, words: &str) -> (Tone, SafeText) {
    (tone, SafeText::from_str(words))
}

/// How much of lines is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftOut {
    Lines(usize),
    /// What is left of one line that wraps.
    Rows(usize),
}

/// The first rows of lines, and how much is left out. Up to [`TAIL`] rows more than `most` are shown rather
/// than left out.
fn first_rows(lines: &[Line], room: usize, most: usize) -> (Vec<DetailRow>, LeftOut) {
    let limit = most.saturating_add(TAIL);
    let mut rows: Vec<DetailRow> = Vec::new();
    // The first line of which no row is shown where something is left out.
    let mut cut = None;
    for (number, line) in lines.iter().enumerate() {
        if rows.len() >= most {
            cut = cut.or(Some(number));
        }
        let own = line.rows(room);
        let all = rows.len() + own.len();
        let left = limit.saturating_add(1) - rows.len();
        rows.extend(own.into_iter().take(left));
        if rows.len() > limit {
            rows.truncate(most);
            let shown = cut.unwrap_or(number + 1);
            let left_out = match lines.len().saturating_sub(shown).max(1) {
                1 if most > 0 => {
                    let below = lines[number + 1..].iter().map(|line| line.rows(room).len());
                    LeftOut::Rows(all + below.sum::<usize>() - most)
                }
                lines => LeftOut::Lines(lines),
            };
            return (rows, left_out);
        }
    }
    (rows, LeftOut::Lines(0))
}

/// A step of a plan.
fn plan_line(step: &PlanStep) -> Line {
    let (sign, tone) = match step.state {
        StepState::Open => ("[ ] ", Tone::Plain),
        StepState::Active => ("[>] ", Tone::Title),
        StepState::Done => ("[x] ", Tone::Dim),
    };
    let words = SafeText::single_line(&step.words, usize::from(u16::MAX));
    Line {
        pieces: vec![(tone, SafeText::from_static(sign)), (tone, words)],
        hangs: true,
        ..Line::default()
    }
}

/// Says that something is left out.
fn more(left_out: LeftOut, size: Option<String>) -> Option<Pieces> {
    let words = match (left_out, size) {
        (LeftOut::Lines(0), None) => return None,
        (_, Some(size)) => format!(" more of {size}"),
        (LeftOut::Lines(1) | LeftOut::Rows(1), None) => " 1 more line".to_owned(),
        (LeftOut::Lines(lines) | LeftOut::Rows(lines), None) => format!(" {lines} more lines"),
    };
    let glyph = (Tone::Glyph(Glyph::More), SafeText::from_static(" "));
    Some(vec![glyph, plain(Tone::Dim, &words)])
}

fn bar() -> Pieces {
    vec![
        (Tone::Glyph(Glyph::Bar), SafeText::from_static(" ")),
        (Tone::Plain, SafeText::from_static(" ")),
    ]
}

/// Facts with dots between them.
fn joined<'a>(facts: impl Iterator<Item = (Tone, &'a str)>) -> Pieces {
    let mut pieces = Pieces::new();
    for (tone, words) in facts {
        if !pieces.is_empty() {
            pieces.push(plain(Tone::Plain, " "));
            pieces.push((Tone::Glyph(Glyph::Dot), SafeText::from_static(" ")));
            pieces.push(plain(Tone::Plain, " "));
        }
        pieces.push(plain(tone, words));
    }
    pieces
}

fn cells(pieces: &Pieces) -> usize {
    pieces.iter().map(|(_, text)| text.width()).sum()
}

/// The end of a path that has no room: what tells it from others is there.
fn end_of(path: &str, room: usize) -> SafeText {
    let whole = SafeText::single_line(path, path.len().max(1));
    if whole.width() <= room {
        return whole;
    }
    let mut parts = path.match_indices('/').map(|(at, _)| &path[at..]);
    let fits = parts.find(|part| SafeText::single_line(part, part.len()).width() < room);
    match fits {
        Some(part) => SafeText::single_line(&format!("…{part}"), room),
        None => SafeText::single_line(path, room),
    }
}

/// How large a result is: its lines, or its bytes where counting them would take long.
fn size_of(session: &Session, item: &Item) -> Size {
    if item.span.len() > COUNTED {
        return Size::Bytes(item.span.len());
    }
    let bytes = session.bytes(item).unwrap_or_default();
    match body_of(item, &bytes) {
        Ok(body) => Size::of(result_text(&body.text).text.trim_end()),
        Err(_) => Size::Bytes(item.span.len()),
    }
}
