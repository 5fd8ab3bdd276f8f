//! The wordings of the program as entries of the library beside the text.

use super::Entry;
use crate::wording::{Axes, Channel, Listing, Wording};

impl From<&Wording> for Entry {
    fn from(wording: &Wording) -> Self {
        Self {
            name: wording.name.to_owned(),
            title: wording.title.to_owned(),
            axes: axes_words(&wording.axes),
            text: wording.template.to_owned(),
        }
    }
}

/// Where a wording stands on the axes, in words.
pub fn axes_words(axes: &Axes) -> String {
    let listing = match axes.listing {
        Listing::Nothing => "lists no tools",
        Listing::Nearest => "lists the nearest tools",
        Listing::All => "lists all tools",
        Listing::NearestAndAll => "lists the nearest tools, then all",
    };
    let says = [
        (axes.names_tool, "names the tool"),
        (true, listing),
        (axes.instructs, "says what to do"),
        (axes.echoes, "echoes the arguments"),
        (axes.shows_schema, "shows the schema"),
        (axes.warns, "warns against repeating"),
    ];
    let channel = match axes.channel {
        Channel::Output => "as an output",
        Channel::ErrorOutput => "as an output marked as error",
        Channel::UserMessage => "as a message of the user",
    };
    let says = says.iter().filter(|(applies, _)| *applies);
    let mut words: Vec<&str> = says.map(|(_, words)| *words).collect();
    words.push(channel);
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wording::{Kind, library};

    #[test]
    fn every_wording_of_the_program_is_told_along_its_axes() {
        let entries: Vec<Entry> = library(Kind::UnknownTool).map(Entry::from).collect();
        let both = entries
            .iter()
            .find(|entry| entry.name == "nearest-and-list");
        let both = both.expect("the library has it");
        assert!(
            both.axes.contains("lists the nearest tools, then all"),
            "{both:?}"
        );
        assert!(entries.iter().all(|entry| !entry.title.is_empty()));
    }
}
