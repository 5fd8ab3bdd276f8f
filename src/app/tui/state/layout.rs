//! Where the panes are: plain arithmetic, so that the mouse and the views agree.

/// A part of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// Turns, and items below those that are unfolded.
    Turns,
    /// Items of one turn.
    Items,
    Detail,
    /// All findings of the session.
    Findings,
    /// The sessions of the file.
    Sessions,
}

impl Pane {
    /// Every pane, in the order of the keys `1` to `5`.
    pub const ALL: [Self; 5] = [
        Self::Turns,
        Self::Items,
        Self::Detail,
        Self::Findings,
        Self::Sessions,
    ];

    /// Its name in titles and in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Turns => "Turns",
            Self::Items => "Items",
            Self::Detail => "Detail",
            Self::Findings => "Findings",
            Self::Sessions => "Sessions",
        }
    }
}

/// A rectangle in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Area {
    /// Column of its left edge.
    pub x: u16,
    /// Row of its upper edge.
    pub y: u16,
    pub width: u16,
    pub height: u16,
}

impl Area {
    /// Whether a cell lies in it.
    pub fn contains(self, column: u16, row: u16) -> bool {
        (self.x..self.x + self.width).contains(&column)
            && (self.y..self.y + self.height).contains(&row)
    }

    /// Its first rows, and the rest.
    fn split(self, rows: u16) -> (Self, Self) {
        let upper = Self {
            height: rows,
            ..self
        };
        let lower = Self {
            y: self.y + rows,
            height: self.height - rows,
            ..self
        };
        (upper, lower)
    }

    /// What a frame of one cell leaves.
    pub fn inside(self) -> Self {
        Self {
            x: self.x + 1,
            y: self.y + 1,
            width: self.width.saturating_sub(2),
            height: self.height.saturating_sub(2),
        }
    }
}

/// Least columns for three panes side by side.
pub const WIDE: u16 = 100;
/// Least columns for turns that are wider than the items.
const ROOMY: u16 = 130;
/// Least rows for turns over the items.
const TALL: u16 = 24;
/// Percent of the height that the turns have there.
const UPPER: u16 = 60;
/// Least size for anything.
pub const LEAST: (u16, u16) = (40, 10);

/// Percent of the width that the detail has beside the transcript, and beside the columns.
const HALF: u16 = 50;
const COLUMN: u16 = 42;
/// The least and the most that the operator can give it, and by how much a key changes that.
pub const DETAIL: (u16, u16) = (20, 80);
pub const DETAIL_STEP: u16 = 5;

/// What the operator set for recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LayoutSettings {
    /// Percent of the screen that the detail has.
    pub detail: Option<u16>,
    pub detail_place: DetailPlace,
    /// Most rows of a folded result.
    pub result_rows: Option<usize>,
}

/// Where the detail is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DetailPlace {
    /// Beside the list where the screen is wide, else over it.
    #[default]
    Beside,
    /// Below the list.
    Below,
}

impl DetailPlace {
    /// Every place with the word for it.
    pub const ALL: [(Self, &'static str); 2] = [(Self::Beside, "beside"), (Self::Below, "below")];
}

/// How the operator wants the screen to be divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrangement {
    /// Rows between the panes and the footer.
    pub message: u16,
    /// What is left of the detail.
    pub left: Pane,
    /// The pane that is shown where there is room for one only.
    pub focus: Pane,
    pub is_flowing: bool,
    /// Whether the focused pane has the whole screen.
    pub is_zoomed: bool,
    /// Percent of the screen that the detail has, where the operator chose it.
    pub detail: Option<u16>,
    pub detail_place: DetailPlace,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    pub header: Area,
    /// The panes that are shown.
    pub panes: Vec<(Pane, Area)>,
    pub footer: Area,
    /// Whether the turns are the transcript, which has no frame.
    is_flowing: bool,
}

impl Layout {
    /// Divides a screen. No panes: the screen is too small.
    pub fn new((width, height): (u16, u16), arrangement: Arrangement) -> Self {
        let Arrangement {
            message,
            left,
            focus,
            is_flowing,
            is_zoomed,
            detail,
            detail_place,
        } = arrangement;
        if width < LEAST.0 || height < LEAST.1 {
            return Self::default();
        }
        let row = |y| Area {
            x: 0,
            y,
            width,
            height: 1,
        };
        let column = |x, width| Area {
            x,
            y: 1,
            width,
            height: (height - 2).saturating_sub(message).max(1),
        };
        let all = column(0, width);
        let has_detail = !is_flowing
            || focus == Pane::Detail
            || left == Pane::Findings
            || left == Pane::Sessions;
        if detail_place == DetailPlace::Below && has_detail && !is_zoomed {
            let below = share(all.height, detail.unwrap_or(HALF));
            let list = match left {
                Pane::Turns | Pane::Items | Pane::Detail if focus == Pane::Items => Pane::Items,
                Pane::Turns | Pane::Items | Pane::Detail => Pane::Turns,
                Pane::Findings | Pane::Sessions => left,
            };
            let (upper, lower) = all.split(all.height - below);
            return Self {
                header: row(0),
                panes: vec![(list, upper), (Pane::Detail, lower)],
                footer: row(height - 1),
                is_flowing,
            };
        }
        let is_stacked = is_stacked((width, height), is_flowing);
        let half = usual_share((width, height), is_flowing);
        let detail = share(width, detail.unwrap_or(half));
        // The rows of the turns say what is called; those of the items are short.
        let rest = width - detail;
        let turns = match width < ROOMY {
            true => share(width, 24),
            false => share(width, 32).min(72),
        };
        let turns = turns.min(rest / 2);
        let panes = match left {
            _ if width < WIDE || is_zoomed => vec![(focus, column(0, width))],
            Pane::Findings | Pane::Sessions => {
                vec![
                    (left, column(0, rest)),
                    (Pane::Detail, column(rest, detail)),
                ]
            }
            Pane::Turns | Pane::Items | Pane::Detail if is_flowing => match focus {
                Pane::Detail => vec![
                    (Pane::Turns, column(0, rest)),
                    (Pane::Detail, column(rest, detail)),
                ],
                Pane::Turns | Pane::Items | Pane::Findings | Pane::Sessions => {
                    vec![(Pane::Turns, column(0, width))]
                }
            },
            Pane::Turns | Pane::Items | Pane::Detail if is_stacked => {
                let left = column(0, rest);
                let (upper, lower) = left.split(share(left.height, UPPER));
                vec![
                    (Pane::Turns, upper),
                    (Pane::Items, lower),
                    (Pane::Detail, column(rest, detail)),
                ]
            }
            Pane::Turns | Pane::Items | Pane::Detail => vec![
                (Pane::Turns, column(0, turns)),
                (Pane::Items, column(turns, rest - turns)),
                (Pane::Detail, column(rest, detail)),
            ],
        };
        Self {
            header: row(0),
            panes,
            footer: row(height - 1),
            is_flowing,
        }
    }

    /// Where a pane is; `None` where it is not shown.
    pub fn area(&self, pane: Pane) -> Option<Area> {
        self.panes
            .iter()
            .find(|(shown, _)| *shown == pane)
            .map(|(_, area)| *area)
    }

    /// How many rows a pane has for its content.
    pub fn height(&self, pane: Pane) -> usize {
        self.inside(pane).map_or(0, |area| usize::from(area.height))
    }

    /// What the frame of a pane leaves.
    pub fn inside(&self, pane: Pane) -> Option<Area> {
        let area = self.area(pane)?;
        let has_frame = !(self.is_flowing && pane == Pane::Turns);
        Some(if has_frame { area.inside() } else { area })
    }
}

/// Whether the items are below the turns: three panes side by side would say little each.
fn is_stacked((width, height): (u16, u16), is_flowing: bool) -> bool {
    !is_flowing && width < ROOMY && height >= TALL
}

/// Percent of the width that the detail has, where the operator chose nothing else.
pub fn usual_share(size: (u16, u16), is_flowing: bool) -> u16 {
    match is_flowing || is_stacked(size, is_flowing) {
        true => HALF,
        false => COLUMN,
    }
}

fn share(width: u16, percent: u16) -> u16 {
    u16::try_from(u32::from(width) * u32::from(percent) / 100).unwrap_or(width)
}
