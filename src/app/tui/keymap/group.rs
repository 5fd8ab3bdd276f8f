//! The titles under which keys stand on the screen and in `retake help keys`.

/// The title of a key in the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Move,
    /// The list of recordings.
    Recordings,
    Tree,
    Findings,
    Totals,
    Timeline,
    Find,
    Panes,
    Recover,
    Wording,
    /// Offers, and what an action asks.
    Asking,
    /// What an action would change, and how takes differ.
    Differences,
    /// The tree of takes.
    Takes,
    Saving,
    /// What a filter takes.
    Filters,
    /// A prompt of one line.
    Lines,
    Live,
    /// What a live run asks before something runs.
    Deciding,
    /// Breakpoints, and the tools of a run.
    Breaking,
    /// The list of exchanges of a proxy.
    Exchanges,
    Lab,
    Files,
    Program,
}

impl Group {
    /// Every group with its title, in the order of the help.
    pub const ALL: [(Self, &'static str); 23] = [
        (Self::Recordings, "Recordings"),
        (Self::Tree, "Turns"),
        (Self::Findings, "Findings"),
        (Self::Totals, "Totals"),
        (Self::Timeline, "Timeline"),
        (Self::Find, "Find"),
        (Self::Panes, "Panes"),
        (Self::Recover, "Recover"),
        (Self::Wording, "Wording editor"),
        (Self::Asking, "Offers and questions"),
        (Self::Differences, "Differences"),
        (Self::Takes, "Takes"),
        (Self::Saving, "Save as"),
        (Self::Filters, "Filter"),
        (Self::Lines, "Prompts of one line"),
        (Self::Live, "Live"),
        (Self::Deciding, "Approval and trust"),
        (Self::Breaking, "Breakpoints and tools"),
        (Self::Exchanges, "Exchanges of a proxy"),
        (Self::Lab, "Wording lab"),
        (Self::Files, "Files"),
        (Self::Move, "Move"),
        (Self::Program, "Program"),
    ];

    pub fn title(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(group, _)| *group == self)
            .map_or("", |(_, title)| title)
    }
}
