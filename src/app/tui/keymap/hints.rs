//! Which keys a footer names: those that fit, what matters most first.

/// A key with its words.
pub type Hint = (&'static str, &'static str);

/// Cells between two hints, and between a key and its words.
const GAPS: usize = 3;

/// Cells that a hint takes with the space around it.
pub fn cells(hint: &Hint) -> usize {
    hint.0.len() + hint.1.len() + GAPS
}

/// Cells of the way to all other keys, which is named as long as anything is.
pub fn cells_of_help(hints: &[Hint]) -> usize {
    hints.iter().find(|hint| is_help(hint)).map_or(0, cells)
}

/// The hints that have room in so many cells: the key of the help before all others, then in the order of their weight.
pub fn fitting(hints: Vec<Hint>, room: usize) -> Vec<Hint> {
    let help = cells_of_help(&hints);
    let has_help = help <= room;
    let mut left = room.saturating_sub(help);
    let fits = |hint: &Hint| {
        if is_help(hint) {
            return has_help;
        }
        let fits = cells(hint) <= left;
        left -= if fits { cells(hint) } else { 0 };
        fits
    };
    let mut hints = hints;
    hints.retain(fits);
    hints
}

fn is_help(hint: &Hint) -> bool {
    matches!(hint.0, "?" | "F1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_the_help_is_the_last_to_go() {
        let hints = vec![("enter", "open"), ("q", "quit"), ("?", "help")];
        let keys = |room| -> Vec<&str> {
            let fitting = fitting(hints.clone(), room);
            fitting.iter().map(|hint| hint.0).collect()
        };
        assert_eq!(keys(80), ["enter", "q", "?"]);
        assert_eq!(keys(27), ["enter", "?"]);
        assert_eq!(keys(16), ["q", "?"]);
        assert_eq!(keys(8), ["?"]);
        assert_eq!(keys(7), [""; 0]);
    }
}
