//! What can lie over the panes.

use crate::tui::copy::CopyMenu;
use crate::tui::help::Help;
use crate::tui::keymap::{Command, Context};
use crate::tui::list::ListCursor;
use crate::tui::live::answer::{Answer, Answering};
use crate::tui::live::approval::Approval;
use crate::tui::live::breakpoints::Breakpoints;
use crate::tui::live::places::Places;
use crate::tui::live::trust::Trust;
use crate::tui::palette::Palette;
use crate::tui::prompt::Prompt;
use crate::tui::recovery::comparison::Comparison;
use crate::tui::recovery::forms::{Confirmation, Readings, WordsForm};
use crate::tui::recovery::offers::OffersMenu;
use crate::tui::recovery::proposal::Proposal;
use crate::tui::recovery::saving::SaveDialog;
use crate::tui::recovery::takes::TakeTree;
use crate::tui::recovery::wording::WordingEditor;
use crate::tui::update::LiveCommand;
use retake_core::actions::Planned;
use retake_core::rules::Health;

/// What lies over the panes.
#[derive(Debug)]
pub enum Overlay {
    Help(Box<Help>),
    /// All commands by name.
    Palette(Box<Palette>),
    /// What can be copied.
    Copy(CopyMenu),
    /// A text is asked for, to find it.
    Find,
    /// A filter is asked for.
    Filter,
    /// What could not be read.
    Log,
    /// What can be done about the findings here.
    Offers(Box<OffersMenu>),
    /// The wording of an error.
    Wording(Box<WordingEditor>),
    /// Words that an action needs.
    Words(Box<WordsForm>),
    /// Something to be confirmed.
    Question(Box<Confirmation>),
    /// Whether to leave, and by which command, where that loses takes.
    Leaving(Box<Confirmation>, Command),
    /// Two readings of broken arguments.
    Readings(Box<Readings>),
    /// What an action would change, and its plan.
    Proposal(Box<(Proposal, Planned)>),
    Takes(Box<TakeTree>),
    /// Two takes beside each other.
    Comparison(Box<Comparison>),
    /// Where a take is to be saved.
    Saving(Box<SaveDialog>),
    /// A note on the item is asked for.
    Note,
    /// A call that awaits the operator's approval.
    Approval(Box<Approval>),
    /// What an agent's file would run.
    Trust(Box<Trust>),
    /// A text that the run asks for, and what it is for.
    Answer(Box<Answer>, Answering),
    /// What of the run is to be confirmed.
    Sure(Box<Confirmation>, LiveCommand),
    /// Whether the connection to the agent is to be cut.
    Cutting(Box<Confirmation>),
    /// A line that the run needs, and what it is for.
    Line(Box<Prompt>, Asked),
    /// What a breakpoint may be set on.
    Places(Box<Places>),
    Breakpoints(Box<Breakpoints>),
    /// The tools of the run.
    Tools(ListCursor),
    /// How the tools fare in the sessions that are checked, and how many sessions there are.
    Health(Box<Health>, usize),
}

/// What a line is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The file of the agent that goes on.
    Agent,
    /// How many more replies the model may give.
    MoreTurns,
    /// A breakpoint in words.
    Breakpoint,
}

impl Overlay {
    /// The places whose keys work in it, where it has keys of its own.
    pub fn places(&self) -> &'static [Context] {
        match self {
            Self::Wording(_) => &[Context::Wording, Context::Library],
            Self::Words(_) => &[Context::Words],
            Self::Answer(..) => &[Context::Answer],
            Self::Offers(_) => &[Context::Offers],
            Self::Readings(_) => &[Context::Readings],
            Self::Proposal(_) => &[Context::Proposal],
            Self::Comparison(_) => &[Context::Comparison],
            Self::Takes(tree) if tree.is_typing() => &[Context::Line],
            Self::Takes(_) => &[Context::Takes],
            Self::Saving(dialog) => dialog.places(),
            Self::Find | Self::Filter | Self::Note | Self::Line(..) => &[Context::Line],
            Self::Palette(_) => &[Context::Palette],
            Self::Copy(_) => &[Context::Copying],
            Self::Question(_) | Self::Leaving(..) | Self::Sure(..) | Self::Cutting(_) => {
                &[Context::Question]
            }
            Self::Places(_) => &[Context::Places],
            Self::Breakpoints(_) => &[Context::Breakpoints],
            Self::Tools(_) => &[Context::Tools],
            Self::Approval(_) => &[Context::Approval],
            Self::Trust(_) => &[Context::Trust],
            Self::Help(_) | Self::Log | Self::Health(..) => &[],
        }
    }
}
