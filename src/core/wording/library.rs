//! The library: wordings for each kind of failure, along the axes that the lab compares. `library.toml` holds them.

use super::context::FailureKind;
use crate::bundled;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

/// A wording of the library.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wording {
    /// Its name in policies and menus; one kind of failure has a name only once.
    pub name: String,
    /// What menus call it.
    pub title: String,
    #[serde(default)]
    pub axes: Axes,
    pub template: String,
}

/// In what wordings differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Axes {
    /// Whether it says the name of the tool back.
    pub names_tool: bool,
    pub listing: ToolListing,
    /// Whether it says what to do next.
    pub instructs: bool,
    /// Whether it says the arguments back.
    pub echoes: bool,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// As the output of the call.
    Output,
    /// As the output of the call, marked as an error where the dialect can say so.
    #[default]
    ErrorOutput,
    UserMessage,
}

/// The wordings for a kind of failure, the default first.
pub fn library(kind: FailureKind) -> impl Iterator<Item = &'static Wording> {
    static LIBRARY: LazyLock<BTreeMap<FailureKind, Vec<Wording>>> = LazyLock::new(|| {
        #[derive(Default, Deserialize)]
        struct Library {
            fragments: BTreeMap<String, String>,
            wordings: BTreeMap<FailureKind, Vec<Wording>>,
        }
        let mut library: Library = bundled::table(include_str!("library.toml"));
        for wording in library.wordings.values_mut().flatten() {
            for (name, fragment) in &library.fragments {
                wording.template = wording.template.replace(&format!("<{name}>"), fragment);
            }
        }
        library.wordings
    });
    LIBRARY.get(&kind).into_iter().flatten()
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
    static NONE: LazyLock<Wording> = LazyLock::new(Wording::default);
    library(kind).next().unwrap_or(&NONE)
}
