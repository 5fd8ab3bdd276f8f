//! When the model, the tools and the user were busy: a session in cells of the same length.

use std::cmp::Reverse;
use std::ops::Range;

/// What somebody did for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    Model,
    /// A proxy awaited a decision.
    Held,
    /// A tool of this name ran.
    Tool(String),
    /// The user was waited for.
    Waiting,
}

/// One activity over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    pub activity: Activity,
    /// Milliseconds by cell; calls that ran side by side may add up to more than a cell has.
    pub busy: Vec<u64>,
    /// Milliseconds in all.
    pub took: u64,
}

/// One stretch of an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    /// Index of its lane.
    pub lane: usize,
    /// When it begins, in milliseconds since the session did.
    pub start: u64,
    /// Milliseconds.
    pub took: u64,
    /// The item: the call, or the first one of the turn.
    pub item: usize,
}

/// A session over time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timeline {
    /// When it begins, in milliseconds since 1970.
    pub start: u64,
    /// How long it is, in milliseconds.
    pub span: u64,
    /// The model, then holds, then tools, those that took longest first, then the user.
    pub lanes: Vec<Lane>,
    /// In the order in which they begin; of very many the longest.
    pub bars: Vec<Bar>,
    /// How many bars are left out.
    pub left_out: usize,
}

/// How many cells a session has: more than a wide screen.
const CELLS: usize = 240;
/// Most bars that are kept.
const BARS: usize = 20_000;

impl Timeline {
    pub(super) fn new(start: u64, span: u64) -> Self {
        Self {
            start,
            span,
            ..Self::default()
        }
    }

    /// Notes that something went on until a moment, for so long, which an item tells of.
    pub(super) fn add(&mut self, activity: Activity, end: u64, took: u64, item: usize) {
        if self.span == 0 || took == 0 {
            return;
        }
        let known = self.lanes.iter().position(|lane| lane.activity == activity);
        let number = known.unwrap_or_else(|| {
            self.lanes.push(Lane {
                activity,
                busy: vec![0; CELLS],
                took: 0,
            });
            self.lanes.len() - 1
        });
        self.lanes[number].took += took;
        let end = end.saturating_sub(self.start).min(self.span);
        let start = end.saturating_sub(took);
        self.bars.push(Bar {
            lane: number,
            start,
            took,
            item,
        });
        if self.bars.len() >= 2 * BARS {
            self.keep_longest();
        }
        let lane = &mut self.lanes[number];
        let edge = |cell: usize| self.span.saturating_mul(cell as u64) / CELLS as u64;
        let cell = |at: u64| (u128::from(at) * CELLS as u128 / u128::from(self.span)) as usize;
        for number in cell(start)..=cell(end).min(CELLS - 1) {
            let (from, until) = (edge(number).max(start), edge(number + 1).min(end));
            lane.busy[number] += until.saturating_sub(from);
        }
    }

    fn keep_longest(&mut self) {
        self.bars.sort_by_key(|bar| Reverse(bar.took));
        self.left_out += self.bars.len().saturating_sub(BARS);
        self.bars.truncate(BARS);
    }

    /// Puts the model and holds first and the user last, and the bars in the order in which they begin.
    pub(super) fn sort(&mut self) {
        self.keep_longest();
        let mut order: Vec<usize> = (0..self.lanes.len()).collect();
        order.sort_by_key(|lane| {
            let lane = &self.lanes[*lane];
            let place = match lane.activity {
                Activity::Model => 0,
                Activity::Held => 1,
                Activity::Tool(_) => 2,
                Activity::Waiting => 3,
            };
            (place, Reverse(lane.took))
        });
        for bar in &mut self.bars {
            let place = order.iter().position(|lane| *lane == bar.lane);
            bar.lane = place.unwrap_or(bar.lane);
        }
        self.bars.sort_by_key(|bar| (bar.start, bar.item));
        self.lanes = order.iter().map(|lane| self.lanes[*lane].clone()).collect();
    }
}

impl Timeline {
    /// How busy a lane was in each of so many columns of a part of the session, in eighths. A part is counted by the
    /// bars that are kept.
    pub fn columns(&self, lane: usize, columns: usize, part: &Range<u64>) -> Vec<u8> {
        if part.start == 0 && part.end >= self.span {
            let lane = self.lanes.get(lane);
            return lane.map_or_else(Vec::new, |lane| lane.columns(columns, self.span));
        }
        let length = part.end.saturating_sub(part.start).max(1);
        let edge = |column: usize| part.start + length * column as u64 / columns.max(1) as u64;
        let mut busy = vec![0; columns];
        let bars = self.bars.iter().take_while(|bar| bar.start < part.end);
        for bar in bars.filter(|bar| bar.lane == lane && bar.start + bar.took > part.start) {
            let column = |at: u64| {
                let at = u128::from(at.saturating_sub(part.start));
                usize::try_from(at * columns as u128 / u128::from(length)).unwrap_or(columns)
            };
            let end = bar.start + bar.took;
            let last = column(end).min(columns.saturating_sub(1));
            let within = busy.iter_mut().enumerate().take(last + 1);
            for (number, busy) in within.skip(column(bar.start)) {
                let (from, until) = (edge(number).max(bar.start), edge(number + 1).min(end));
                *busy += until.saturating_sub(from);
            }
        }
        let eighths = |(number, busy): (usize, u64)| {
            let length = (edge(number + 1) - edge(number)).max(1);
            u8::try_from((busy * 8).div_ceil(length).min(8)).unwrap_or(8)
        };
        busy.into_iter().enumerate().map(eighths).collect()
    }
}

impl Lane {
    /// How busy it was in each of so many columns, in eighths.
    fn columns(&self, columns: usize, span: u64) -> Vec<u8> {
        let columns = columns.clamp(1, CELLS);
        (0..columns)
            .map(|column| {
                let cells = column * CELLS / columns..(column + 1) * CELLS / columns;
                let length = span.saturating_mul(cells.len() as u64) / CELLS as u64;
                let length = length.max(1);
                let busy: u64 = self.busy[cells].iter().sum();
                let eighths = (busy * 8).div_ceil(length).min(8);
                u8::try_from(eighths).unwrap_or(8)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_half_of_the_time_fills_half_of_the_columns() {
        let mut timeline = Timeline::new(1_000, 24_000);
        timeline.add(Activity::Waiting, 25_000, 6_000, 9);
        timeline.add(Activity::Tool("Read".to_owned()), 20_000, 1, 7);
        timeline.add(Activity::Tool("Bash".to_owned()), 13_000, 12_000, 3);
        timeline.add(Activity::Model, 1_050, 50, 1);
        timeline.sort();
        let bars = timeline.bars.iter();
        let bars: Vec<_> = bars.map(|bar| (bar.lane, bar.start, bar.item)).collect();
        assert_eq!(bars, [(0, 0, 1), (1, 0, 3), (3, 18_000, 9), (2, 18_999, 7)]);
        let columns: Vec<_> = timeline
            .lanes
            .iter()
            .map(|lane| lane.columns(8, 24_000))
            .collect();
        assert_eq!(columns[0], [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(columns[1], [8, 8, 8, 8, 0, 0, 0, 0]);
        assert_eq!(columns[3], [0, 0, 0, 0, 0, 0, 8, 8]);
        assert_eq!(timeline.lanes[1].took, 12_000);
        let part = |part| timeline.columns(1, 4, &part);
        assert_eq!(part(0..24_000), [8, 8, 0, 0]);
        assert_eq!(part(9_000..13_000), [8, 8, 8, 0]);
        assert_eq!(part(11_500..13_500), [8, 0, 0, 0]);
        assert_eq!(part(13_000..14_000), [0, 0, 0, 0]);
        let mut nothing = Timeline::default();
        nothing.add(Activity::Model, 5, 5, 0);
        assert_eq!(nothing.lanes, []);
    }
}
