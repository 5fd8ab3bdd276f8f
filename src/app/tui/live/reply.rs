//! A reply that is on its way, as rows and as lines. It is drawn dim: nothing of it is in the history yet.

use crate::tui::text::{Line, Tone};
use retake_core::safe_text::SafeText;
use retake_core::session::Kind;
use retake_live::live::{StreamedCall, Streaming};

/// How much of the end of a part is shown in a row, in bytes.
const TAIL: usize = 400;

/// A part of the reply in a row.
#[derive(Debug, Clone)]
pub struct ReplyPart {
    pub kind: Kind,
    /// The tool, of a call.
    pub tool: SafeText,
    /// The end of its text.
    pub tail: SafeText,
}

/// The parts of a reply.
pub fn parts(streaming: &Streaming) -> Vec<ReplyPart> {
    let text = |kind, text: &str| ReplyPart {
        kind,
        tool: SafeText::default(),
        tail: tail(text),
    };
    let mut parts = Vec::new();
    if !streaming.reasoning.is_empty() {
        parts.push(text(Kind::Reasoning, &streaming.reasoning));
    }
    if !streaming.text.is_empty() {
        parts.push(text(Kind::Assistant, &streaming.text));
    }
    parts.extend(streaming.calls.iter().map(|call| ReplyPart {
        kind: Kind::Call,
        tool: SafeText::single_line(&call.name, 60),
        tail: tail(&call.arguments),
    }));
    parts
}

fn tail(text: &str) -> SafeText {
    let from = text.ceil_char_boundary(text.len().saturating_sub(TAIL));
    SafeText::single_line(text[from..].trim(), TAIL)
}

/// The reply in full, as far as it has come.
pub fn lines(streaming: &Streaming) -> Vec<Line> {
    let mut lines = Vec::new();
    if !streaming.reasoning.is_empty() {
        push(Kind::Reasoning.word(), &streaming.reasoning, &mut lines);
    }
    if !streaming.text.is_empty() {
        push(Kind::Assistant.word(), &streaming.text, &mut lines);
    }
    for call in &streaming.calls {
        push_call(call, &mut lines);
    }
    lines
}

fn push(what: &'static str, text: &str, lines: &mut Vec<Line>) {
    lines.push(Line::new(Tone::Title, SafeText::from_static(what)));
    let text = SafeText::from_str(text);
    lines.extend(text.lines().map(|line| Line::new(Tone::Dim, line)));
    lines.push(Line::default());
}

fn push_call(call: &StreamedCall, lines: &mut Vec<Line>) {
    let mut heading = Line::new(Tone::Title, SafeText::from_static("call "));
    heading
        .pieces
        .push((Tone::Title, SafeText::single_line(&call.name, 200)));
    let mut id = SafeText::from_static("   ");
    id.push(&SafeText::single_line(&call.call_id, 100));
    heading.pieces.push((Tone::Dim, id));
    lines.push(heading);
    let arguments = SafeText::from_str(&call.arguments);
    lines.extend(arguments.lines().map(|line| Line::new(Tone::Dim, line)));
    lines.push(Line::default());
}
