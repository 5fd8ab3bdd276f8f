//! The columns of the list.

use crate::tui::columns::{self, Column, SpareWidth};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeColumn {
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
    /// How long decisions were awaited.
    Held,
    /// What it is doing.
    State,
    Found,
}

/// Cells that findings have before what matters less has any: `unknown-tool` is read to its end.
const SPARE: usize = 2;

/// Each column in the order in which they stand.
#[rustfmt::skip]
const ALL: [Column<ExchangeColumn>; 13] = [
    Column { is_number: true, ..Column::new(ExchangeColumn::Number, "#", 5, 0) },
    Column { spare: SPARE, ..Column::new(ExchangeColumn::Time, "UTC", 8, 6) },
    Column { spare: SPARE, ..Column::new(ExchangeColumn::Client, "client", 20, 8) },
    Column { spare: SPARE, ..Column::new(ExchangeColumn::Upstream, "upstream", 16, 11) },
    Column { spare: SPARE, ..Column::new(ExchangeColumn::Dialect, "dialect", 9, 10) },
    Column { spare: SPARE, takes: SpareWidth::Share(4, 8), ..Column::new(ExchangeColumn::Model, "model", 12, 5) },
    Column { spare: SPARE, takes: SpareWidth::Share(3, 18), ..Column::new(ExchangeColumn::Path, "path", 12, 4) },
    Column::new(ExchangeColumn::Status, "st", 3, 3),
    Column { spare: SPARE, is_number: true, ..Column::new(ExchangeColumn::Bytes, "bytes", 5, 9) },
    Column { spare: SPARE, is_number: true, ..Column::new(ExchangeColumn::Timing, "first/all", 11, 7) },
    Column { spare: SPARE, is_number: true, ..Column::new(ExchangeColumn::Held, "held", 5, 7) },
    Column::new(ExchangeColumn::State, "state", 16, 1),
    Column { takes: SpareWidth::Rest, ..Column::new(ExchangeColumn::Found, "findings", 12, 2) },
];

/// The columns that fit into this width, with their widths. Upstreams have one where there are several, times of
/// holds where there are any.
pub fn fit(
    width: usize,
    has_upstreams: bool,
    has_holds: bool,
) -> Vec<(Column<ExchangeColumn>, usize)> {
    let mut columns = ALL.to_vec();
    columns.retain(|column| match column.id {
        ExchangeColumn::Upstream => has_upstreams,
        ExchangeColumn::Held => has_holds,
        _ => true,
    });
    columns::fit(&columns, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_list_keeps_what_matters_and_a_wide_one_has_all() {
        let names = |width, several| -> Vec<&str> {
            let columns = fit(width, several, false).into_iter();
            columns.map(|(column, _)| column.title).collect()
        };
        assert_eq!(names(37, true), ["#", "state", "findings"]);
        assert_eq!(names(57, true), ["#", "path", "st", "state", "findings"]);
        assert_eq!(
            names(77, true),
            ["#", "UTC", "model", "path", "st", "state", "findings"]
        );
        assert_eq!(names(160, true).len(), 12);
        assert_eq!(names(160, false).len(), 11);
        assert_eq!(fit(160, true, true).len(), 13);
        for width in 0..200 {
            let used: usize = fit(width, true, true)
                .iter()
                .map(|(_, width)| width + 1)
                .sum();
            assert!(used <= width, "{used} of {width}");
        }
    }
}
