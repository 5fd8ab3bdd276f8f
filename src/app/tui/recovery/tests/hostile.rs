//! Hostile text in every place that the faces have for text: none of it reaches a cell as it is.

use super::fixture::cells;
use crate::tui::layer::Layer as _;
use crate::tui::recovery::comparison::{Comparison, ItemText, TakeSide};
use crate::tui::recovery::forms::{ArgumentReading, Confirmation, Readings, WordsForm, WordsSetup};
use crate::tui::recovery::offers::{OfferGroup, OfferRow, OffersMenu};
use crate::tui::recovery::proposal::{Fate, Proposal, Proposed, ProposedChange};
use crate::tui::recovery::saving::{SaveDialog, SaveFormat};
use crate::tui::recovery::takes::TakeTree;
use crate::tui::recovery::wording::{Previewer, Setup, TemplateFault, WordingEditor, WordingEntry};
use crate::tui::state::takes::TakeRow;
use crate::tui::tests::hostile::{is_harmless, texts};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use retake_core::actions::{Offer, Safety};
use retake_core::rules::{RULES, Severity};
use retake_core::session::Kind;

/// How many texts are drawn at once.
const BATCH: usize = 16;

type View = Box<dyn Fn(&mut Frame<'_>, Rect, &Theme)>;

fn faces(text: &str) -> Vec<View> {
    let own = || text.to_owned();
    let proposal = Proposal::new(&Proposed {
        title: own(),
        safety: Safety::Unsafe,
        faults: vec![own()],
        notes: vec![own()],
        changes: vec![ProposedChange {
            fate: Fate::Changed,
            number: Some(1),
            kind: Kind::Call,
            tool: own(),
            before: own(),
            after: format!("{text}x{text}"),
        }],
        more_removed: 0,
        has_words: true,
    });
    let comparison = Comparison::new([text, text], [&[1, 2], &[1, 3]], |which, _| ItemText {
        kind: Kind::Output,
        tool: own(),
        open: None,
        text: match which {
            TakeSide::Left => own(),
            TakeSide::Right => serde_json::json!({text: [text, 1]}).to_string(),
        },
    });
    let readings = [own(), format!("{text}2")].map(|text| ArgumentReading { by: own(), text });
    let readings = Readings::new(text, text, readings);
    let confirmation = Confirmation::new(text, text, text);
    let mut form = WordsForm::new(WordsSetup {
        question: Some(("a question", true)),
        ..WordsSetup::for_purpose(own(), text, own())
    });
    form.complain(text);
    let menu = OffersMenu::new(vec![OfferGroup {
        rule: RULES[0],
        severity: Severity::Error,
        message: own(),
        has_words: true,
        offers: vec![OfferRow {
            what: "?",
            offer: Offer::safe("retry"),
            refusal: Some(own()),
        }],
    }]);
    let format = SaveFormat {
        id: "own",
        title: own(),
        ending: own(),
        path: None,
        losses: vec![own()],
        tools: String::new(),
    };
    let dialog = SaveDialog::new(text, 1, vec![format]);
    let tree = TakeTree::new(vec![TakeRow {
        id: 1,
        name: own(),
        action: own(),
        rule: own(),
        wording: own(),
        note: own(),
        ..TakeRow::default()
    }]);
    let mut views: Vec<View> = vec![
        Box::new(move |frame, area, theme| proposal.view(frame, area, &(), theme)),
        Box::new(move |frame, area, theme| comparison.view(frame, area, &(), theme)),
        Box::new(move |frame, area, theme| readings.view(frame, area, &(), theme)),
        Box::new(move |frame, area, theme| confirmation.view(frame, area, &(), theme)),
        Box::new(move |frame, area, theme| form.view(frame, area, &(), theme)),
        Box::new(move |frame, area, theme| menu.view(frame, area, &(), theme)),
        Box::new(move |frame, area, theme| dialog.view(frame, area, &(), theme)),
        Box::new(move |frame, area, theme| tree.view(frame, area, &(), theme)),
    ];
    views.extend(editors(text));
    views
}

fn editors(text: &str) -> [View; 2] {
    [true, false].map(|is_good| {
        let own = text.to_owned();
        let previewer = Previewer::new(move |_, _| {
            if is_good {
                Ok(own.clone())
            } else {
                Err(TemplateFault {
                    line: Some(1),
                    message: own.clone(),
                })
            }
        });
        let own = || text.to_owned();
        let editor = WordingEditor::new(Setup {
            title: own(),
            text: own(),
            library: vec![WordingEntry {
                rate: String::new(),
                name: own(),
                title: own(),
                axes: own(),
                text: own(),
            }],
            placeholders: vec![own()],
            faulty: 2,
            whole_turn: true,
            last_try: Some(own()),
            previewer,
        });
        let view: View = Box::new(move |frame, area, theme| editor.view(frame, area, &(), theme));
        view
    })
}

#[test]
fn hostile_text_is_shown_and_never_obeyed() {
    // Several at once: one row shows as many as it has room for, and other faces show them all.
    for batch in texts().chunks(BATCH) {
        for (number, view) in faces(&batch.join(" ")).into_iter().enumerate() {
            for symbol in cells((100, 20), &view) {
                assert!(
                    is_harmless(&symbol),
                    "{symbol:?} in face {number}: {batch:?}"
                );
            }
        }
    }
}

#[test]
fn wide_and_long_text_is_drawn_at_any_size() {
    for text in [
        "漢字👩\u{200d}🚀 ".repeat(30),
        "x".repeat(5000),
        "a\n".repeat(300),
    ] {
        for view in faces(&text) {
            for size in [(1, 1), (9, 3), (22, 5), (40, 10), (60, 14), (130, 20)] {
                cells(size, &view);
            }
        }
    }
}
