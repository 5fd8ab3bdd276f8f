//! The columns of the table, and which of them fit.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// The name of the wording.
    Name,
    /// The rate with its interval, drawn.
    Bar,
    Rate,
    Interval,
    /// How much better it is than the wording that the others are compared with.
    Difference,
    Samples,
    Classes,
    /// Tokens of a sample.
    Tokens,
    /// Milliseconds of a sample.
    Time,
}

use Column as C;

/// Each column with its title and its least width, in the order in which they stand.
const ALL: [(Column, &str, usize); 9] = [
    (C::Name, "wording", 16),
    (C::Bar, "0 to 100 %", 12),
    (C::Rate, "rate", 5),
    (C::Interval, "95 %", 9),
    (C::Difference, "better by", 14),
    (C::Samples, "n", 5),
    (C::Classes, "turned out", 13),
    (C::Tokens, "tok", 5),
    (C::Time, "ms", 5),
];

/// What has to be seen first.
const RANKS: [Column; 9] = [
    C::Name,
    C::Rate,
    C::Samples,
    C::Bar,
    C::Interval,
    C::Difference,
    C::Classes,
    C::Tokens,
    C::Time,
];

/// The columns that fit into this width, with their titles and widths; a cell lies between two.
pub(super) fn fit(width: usize) -> Vec<(Column, &'static str, usize)> {
    let mut room = width;
    let mut chosen = Vec::new();
    for rank in RANKS {
        let known = ALL.iter().find(|(column, ..)| *column == rank);
        if let Some((_, _, least)) = known.filter(|(_, _, least)| *least < room) {
            room -= least + 1;
            chosen.push(rank);
        }
    }
    let mut columns: Vec<_> = ALL
        .into_iter()
        .filter(|(column, ..)| chosen.contains(column))
        .collect();
    // What is over goes to what is longest.
    let name = (room / 3).min(14);
    let classes = match chosen.contains(&C::Classes) {
        true => (room / 3).min(12),
        false => 0,
    };
    for (column, _, width) in &mut columns {
        match column {
            C::Name if !chosen.contains(&C::Bar) => *width += room,
            C::Name => *width += name,
            C::Classes => *width += classes,
            C::Bar => *width += room - name - classes,
            _ => {}
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_table_keeps_what_matters_and_a_wide_one_has_all() {
        let titles = |width| -> Vec<&str> {
            let columns = fit(width).into_iter();
            columns.map(|(_, title, _)| title).collect()
        };
        assert_eq!(titles(34), ["wording", "rate", "n"]);
        assert_eq!(
            titles(75),
            [
                "wording",
                "0 to 100 %",
                "rate",
                "95 %",
                "better by",
                "n",
                "tok"
            ]
        );
        assert_eq!(titles(95).len(), 9);
        for width in 0..200 {
            let used: usize = fit(width).iter().map(|(_, _, width)| width + 1).sum();
            assert!(used <= width, "{used} of {width}");
        }
    }
}
