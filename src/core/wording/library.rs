//! The library: wordings for each kind of failure, along the axes that the lab compares.
//!
//! Every text is written for retake. A template copes with whatever is missing (nothing near, no schema, no
//! tools) and cuts what could be long; the first wording of a kind is its default.

mod calls;
mod outcomes;
mod sentences;

use super::context::FailureKind;
use std::fmt;

/// A wording of the library.
#[derive(Debug, Clone, Copy)]
pub struct Wording {
    /// Its name in policies and menus; one kind of failure has a name only once.
    pub name: &'static str,
    /// What menus call it.
    pub title: &'static str,
    /// The kinds of failure that it is for.
    pub kinds: &'static [FailureKind],
    /// Its position on the axes.
    pub axes: Axes,
    pub template: &'static str,
}

/// In what wordings differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Axes {
    /// Whether it says the name of the tool back.
    pub names_tool: bool,
    /// Which tools it lists.
    pub listing: ToolListing,
    /// Whether it says what to do next.
    pub instructs: bool,
    /// Whether it says the arguments back.
    pub echoes: bool,
    /// Whether it shows the schema.
    pub shows_schema: bool,
    /// Whether it warns against the same call again.
    pub warns: bool,
    /// How it reaches the model.
    pub channel: Channel,
}

/// In a few words, for menus: what it holds and how it reaches the model.
impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = match self.listing {
            ToolListing::Nothing => "",
            ToolListing::Nearest => "nearest names",
            ToolListing::All => "all tools",
            ToolListing::NearestAndAll => "nearest and all",
        };
        let holds = [
            (self.names_tool, "the name"),
            (!lists.is_empty(), lists),
            (self.echoes, "the arguments"),
            (self.shows_schema, "the schema"),
            (self.instructs, "what to do"),
            (self.warns, "a warning"),
        ];
        let held = holds.into_iter().filter(|(is_held, _)| *is_held);
        let held: Vec<&str> = held.map(|(_, what)| what).collect();
        let channel = match self.channel {
            Channel::Output => "as the output",
            Channel::ErrorOutput => "as an error",
            Channel::UserMessage => "as a user message",
        };
        match held.is_empty() {
            true => f.write_str(channel),
            false => write!(f, "{}; {channel}", held.join(", ")),
        }
    }
}

/// Which tools a wording lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolListing {
    #[default]
    Nothing,
    /// Those that were probably meant.
    Nearest,
    /// All, or the first of very many.
    All,
    /// Those that were probably meant, then all.
    NearestAndAll,
}

/// How a wording reaches the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// As the output of the call.
    Output,
    /// As the output of the call, marked as an error where the dialect can say so.
    #[default]
    ErrorOutput,
    UserMessage,
}

/// Every wording: kinds in the order of [`FailureKind::all`].
const LIBRARY: [&[Wording]; 2] = [calls::WORDINGS, outcomes::WORDINGS];

/// The wordings for a kind of failure, the default first.
pub fn library(kind: FailureKind) -> impl Iterator<Item = &'static Wording> {
    LIBRARY
        .into_iter()
        .flatten()
        .filter(move |wording| wording.kinds.contains(&kind))
}

/// The wording of this name for a kind of failure.
pub fn find(kind: FailureKind, name: &str) -> Option<&'static Wording> {
    library(kind).find(|wording| wording.name == name)
}

/// Whether a policy means the name of a wording by a text: one word without a tag. A template
/// has more than one.
pub fn reads_as_name(text: &str) -> bool {
    !text.contains(|c: char| c.is_whitespace() || c == '{')
}

/// The wording that is offered first for a kind of failure.
pub fn default_of(kind: FailureKind) -> &'static Wording {
    library(kind).next().unwrap_or(&calls::WORDINGS[0])
}
