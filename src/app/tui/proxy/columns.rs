//! The columns of the list, and which of them fit.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The number of the exchange.
    Number,
    /// When its request came, in UTC.
    Time,
    /// What the client calls itself.
    Client,
    /// Which upstream it goes to.
    Upstream,
    Dialect,
    Model,
    Path,
    /// The status of the reply.
    Status,
    /// Bytes of the reply.
    Bytes,
    /// Time to the first byte and to the end.
    Timing,
    /// What it is doing.
    State,
    Found,
}

use Column as C;

/// Each column with its title and its least width, in the order in which they stand.
const ALL: [(Column, &str, usize); 12] = [
    (C::Number, "#", 5),
    (C::Time, "UTC", 8),
    (C::Client, "client", 20),
    (C::Upstream, "upstream", 16),
    (C::Dialect, "dialect", 9),
    (C::Model, "model", 12),
    (C::Path, "path", 12),
    (C::Status, "st", 3),
    (C::Bytes, "bytes", 5),
    (C::Timing, "first/all", 11),
    (C::State, "state", 16),
    (C::Found, "findings", 12),
];

/// What has to be seen first.
const RANKS: [Column; 12] = [
    C::Number,
    C::State,
    C::Found,
    C::Status,
    C::Path,
    C::Model,
    C::Time,
    C::Timing,
    C::Client,
    C::Bytes,
    C::Dialect,
    C::Upstream,
];

/// Cells that findings have before what matters less has any: `unknown-tool` is read to its end.
const FINDING: usize = 2;

/// The columns that fit into this width, with their titles and widths; a cell lies between two. Upstreams have
/// a column where there are several.
pub fn fit(width: usize, has_upstreams: bool) -> Vec<(Column, &'static str, usize)> {
    let mut room = width;
    let mut chosen = Vec::new();
    for rank in RANKS {
        let Some((_, _, least)) = ALL.iter().find(|(column, ..)| *column == rank) else {
            continue;
        };
        let is_wanted = rank != C::Upstream || has_upstreams;
        let kept = match rank {
            C::Number | C::State | C::Found | C::Status => 0,
            _ => FINDING,
        };
        if is_wanted && *least + kept < room {
            room -= least + 1;
            chosen.push(rank);
        }
    }
    let mut columns: Vec<_> = ALL
        .into_iter()
        .filter(|(column, ..)| chosen.contains(column))
        .collect();
    // What is over goes to what is longest.
    let share = |column, part: usize, most: usize| match chosen.contains(&column) {
        true => (room / part).min(most),
        false => 0,
    };
    let (path, model) = (share(C::Path, 3, 18), share(C::Model, 4, 8));
    for (column, _, width) in &mut columns {
        match column {
            C::Path => *width += path,
            C::Model => *width += model,
            C::Found => *width += room - path - model,
            _ => {}
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_list_keeps_what_matters_and_a_wide_one_has_all() {
        let names = |width, several| -> Vec<&str> {
            let columns = fit(width, several).into_iter();
            columns.map(|(_, title, _)| title).collect()
        };
        assert_eq!(names(37, true), ["#", "state", "findings"]);
        assert_eq!(names(57, true), ["#", "path", "st", "state", "findings"]);
        assert_eq!(
            names(77, true),
            ["#", "UTC", "model", "path", "st", "state", "findings"]
        );
        assert_eq!(names(160, true).len(), 12);
        assert_eq!(names(160, false).len(), 11);
        for width in 0..200 {
            let used: usize = fit(width, true).iter().map(|(_, _, width)| width + 1).sum();
            assert!(used <= width, "{used} of {width}");
        }
    }
}
