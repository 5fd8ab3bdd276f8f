//! Whatever a recording, a model or a file says: nothing of it moves the terminal's cursor or changes its colours.

use super::*;
use proptest::prelude::*;

/// What a terminal would obey, or hide.
const HOSTILE: &str =
    "\u{1b}[31mred\u{1b}]0;title\u{7}\ttab\r\n\u{9b}2Jline \u{202e}back\u{200b}\0\u{fffe}e\u{301}";

/// A board in which everything from outside is hostile.
fn hostile() -> Arc<Board> {
    let text = HOSTILE;
    let mut experiment = experiment();
    for trial in &mut experiment.trials {
        trial.model = text.to_owned();
        trial.subject.tool = text.to_owned();
        for variant in &mut trial.variants {
            variant.name = text.to_owned();
            variant.title = text.to_owned();
            variant.words = text.to_owned();
        }
    }
    let known = halfway(LabPhase::Running);
    let mut board = Board {
        experiment: Arc::new(experiment),
        ..(*known).clone()
    };
    for sample in board.samples.iter_mut().flatten().flatten() {
        sample.why = text.to_owned();
    }
    Arc::new(board)
}

fn assert_is_drawable(lab: &Lab, size: (u16, u16)) {
    let theme = Theme::new(Looks::Dark, Glyphs::UNICODE);
    let backend = drawn(lab, size, &theme);
    for cell in backend.buffer().content() {
        let mut letters = cell.symbol().chars();
        let is_drawable = |letter: char| {
            !letter.is_control() && !matches!(letter, '\u{202e}' | '\u{200b}' | '\u{fffe}')
        };
        assert!(letters.all(is_drawable), "{:?}", cell.symbol());
    }
}

#[test]
fn hostile_texts_are_shown_and_not_obeyed() {
    let mut lab = lab();
    press(&mut lab, "enter");
    lab.hear(hostile());
    lab.tell(HOSTILE);
    assert_is_drawable(&lab, (100, 30));
    for keys in ["j", "enter", "t", "esc esc y"] {
        press(&mut lab, keys);
        assert_is_drawable(&lab, (100, 30));
        assert_is_drawable(&lab, (60, 15));
    }
    let mut subject = subject();
    subject.message = HOSTILE.to_owned();
    for candidate in &mut subject.candidates {
        candidate.name = HOSTILE.to_owned();
        candidate.template = HOSTILE.to_owned();
    }
    let mut lab = Lab::new(subject, HOSTILE.to_owned(), Err(HOSTILE.to_owned()), 1);
    for keys in ["", "t", "esc G", "k k k k k k e"] {
        press(&mut lab, keys);
        assert_is_drawable(&lab, (100, 30));
        assert_is_drawable(&lab, (60, 15));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the size and whatever is pressed: no panic.
    #[test]
    fn no_size_and_no_key_can_break_it(
        width in 1_u16..130,
        height in 1_u16..40,
        keys in prop::collection::vec(prop_oneof![any::<char>(), prop::sample::select(vec!['j', 'G', 's', 'p', '+', 't', 'y', 'w', 'a', 'q', 'X'])], 0..8),
        runs in any::<bool>(),
    ) {
        let mut lab = if runs { measuring(LabPhase::Running) } else { lab() };
        for key in keys {
            lab.key(KeyCode::Char(key).into());
            screen(&lab, (width, height));
            lab.key(KeyCode::Enter.into());
            screen(&lab, (width, height));
        }
    }
}
