//! The columns of the table.

use crate::tui::columns::{Column, Takes};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Id {
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

/// Each column in the order in which they stand.
#[rustfmt::skip]
pub(super) const COLUMNS: [Column<Id>; 9] = [
    Column { takes: Takes::Share(3, 14), ..Column::new(Id::Name, "wording", 16, 0) },
    Column { takes: Takes::Rest, ..Column::new(Id::Bar, "0 to 100 %", 12, 3) },
    Column { is_number: true, ..Column::new(Id::Rate, "rate", 5, 1) },
    Column { is_number: true, ..Column::new(Id::Interval, "95 %", 9, 4) },
    Column::new(Id::Difference, "better by", 14, 5),
    Column { is_number: true, ..Column::new(Id::Samples, "n", 5, 2) },
    Column { takes: Takes::Share(3, 12), ..Column::new(Id::Classes, "turned out", 13, 6) },
    Column { is_number: true, ..Column::new(Id::Tokens, "tok", 5, 7) },
    Column { is_number: true, ..Column::new(Id::Time, "ms", 5, 8) },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::columns::fit;

    #[test]
    fn a_narrow_table_keeps_what_matters_and_a_wide_one_has_all() {
        let titles = |width| -> Vec<&str> {
            let columns = fit(&COLUMNS, width).into_iter();
            columns.map(|(column, _)| column.title).collect()
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
            let used: usize = fit(&COLUMNS, width)
                .iter()
                .map(|(_, width)| width + 1)
                .sum();
            assert!(used <= width, "{used} of {width}");
        }
    }
}
