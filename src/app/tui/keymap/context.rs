//! The places in which keys work.

/// Where a key works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// The list of recordings.
    Picker,
    Browse,
    Detail,
    /// Lists that are not the history: findings, sessions.
    List,
    /// A text over the screen: help, log.
    Overlay,
    /// The text of the wording editor.
    Wording,
    /// The library beside it.
    Library,
    /// A text that an action or a live run asks for.
    Words,
    /// A question that an action asks.
    Question,
    /// Two readings of broken arguments.
    Readings,
    /// What can be done about a finding.
    Offers,
    /// The values of an item that is edited.
    Values,
    /// What an action would change.
    Proposal,
    /// How two takes differ.
    Comparison,
    /// The tree of takes.
    Takes,
    Saving,
    /// A prompt of one line.
    Line,
    Palette,
    /// The menu of what can be copied.
    Copying,
    /// A call that awaits approval.
    Approval,
    /// What an agent's file would run.
    Trust,
    /// The list of breakpoints.
    Breakpoints,
    /// What a breakpoint may be set on.
    Places,
    /// The tools of a live run.
    Tools,
    /// The list of exchanges of a proxy.
    Exchanges,
    /// What the wording lab is to measure.
    LabForm,
    /// The wordings of an experiment with their rates.
    LabTable,
    /// The samples of a wording.
    LabSamples,
    /// What a wording becomes.
    Winner,
}
