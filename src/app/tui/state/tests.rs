//! Sessions for the tests of this room.

use crate::tui::state::State;
use crate::tui::state::document::{Checked, Document, Extent};
use retake_core::session::Session;
use retake_live::{OpenedInput, ReadOptions, Recording};
use std::sync::Arc;

pub(crate) fn recording(text: &str) -> Recording {
    let buffer = Arc::new(text.as_bytes().to_vec());
    let input = retake_live::Input {
        name: "test.json".to_owned(),
        path: None,
        source: buffer.clone(),
        buffer: Some(buffer),
        has_lines: true,
        notices: Vec::new(),
        run: None,
    };
    OpenedInput::begin(input, &ReadOptions::default())
        .unwrap()
        .read(&|_, _| ())
        .unwrap()
}

/// The first session in a text.
pub(crate) fn session(text: &str) -> Session {
    recording(text).sessions.remove(0)
}

/// A debugger on a text that is read and checked.
pub(crate) fn opened(text: &str, size: (u16, u16)) -> State {
    let recording = Arc::new(recording(text));
    let mut state = State::new("test.json".to_owned(), size);
    let checked: Vec<_> = recording
        .sessions
        .iter()
        .map(|session| retake_live::check_session(session, None).unwrap())
        .collect();
    state.show(Arc::new(Document {
        recording,
        extent: Extent::Whole,
    }));
    for (number, findings) in checked.into_iter().enumerate() {
        state.check(number, Arc::new(Checked::new(findings)));
    }
    state.stage = super::Stage::Ready;
    state.prepare();
    state
}
