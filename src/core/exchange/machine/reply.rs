//! A reply on its way: passing, kept back, judged, over.

use super::{
    BodyShape, Exchange, ExchangeEffect, ExchangeTimer, Judgement, Judging, Millis, Over, REFUSAL,
    ReplyHead, STALL, State, WHOLE, What,
};
use crate::exchange::ExchangeEnding;
use crate::exchange::gate::{Gate, GateStep, StreamEnd, StreamLimits};
use crate::session::Dialect;
use crate::wire::write::calls_of;
use crate::wire::{stop_of, stops_early};
use memchr::memmem;

impl Exchange {
    /// The head of the reply has come.
    pub(crate) fn begins(&mut self, now: Millis, status: u16, shape: BodyShape) {
        self.status = status;
        let is_good = (200..300).contains(&status);
        self.state = match shape {
            _ if self.head.is_some() && !is_good => State::Failed,
            BodyShape::Stream if is_good && self.settings.intercepts => {
                let gate = Gate::new(self.settings.dialect, StreamLimits::default());
                self.gate = Some(match self.settings.holds_text {
                    true => gate.holding_text(),
                    false => gate,
                });
                State::Gated
            }
            BodyShape::Whole if is_good && self.settings.intercepts => State::Keeping,
            BodyShape::Whole if matches!(status, 400 | 422) && self.settings.intercepts => {
                State::Refused
            }
            _ => State::Passing,
        };
        match self.state {
            State::Passing => self.send_head(ReplyHead::Same),
            State::Gated => self.send_head(ReplyHead::Upstream),
            _ => {}
        }
        self.wait(ExchangeTimer::Stall, now + STALL);
        self.beat_at = now;
    }

    /// Whether a stream comes of which the client hears nothing before its end.
    pub(crate) fn keeps_text_back(&self) -> bool {
        self.settings.holds_text && self.state == State::Gated
    }

    /// Bytes of the reply have come.
    pub(crate) fn grows(&mut self, now: Millis, bytes: &[u8]) {
        self.wait(ExchangeTimer::Stall, now + STALL);
        match self.state {
            State::Passing => self.effects.push(ExchangeEffect::Pass),
            State::Gated => self.through_gate(bytes),
            State::Keeping => self.keep(bytes, WHOLE),
            State::Refused | State::Failed => self.keep(bytes, REFUSAL),
            _ => {}
        }
    }

    fn through_gate(&mut self, bytes: &[u8]) {
        let Some(gate) = &mut self.gate else { return };
        let was_over = gate.is_over_bound();
        let mut out = Vec::new();
        let step = gate.push(bytes, &mut out);
        let is_over = gate.is_over_bound();
        if out == bytes {
            self.effects.push(ExchangeEffect::Pass);
        } else {
            self.send(out);
        }
        if is_over && !was_over {
            self.why = None;
            let note = "more was kept back than is kept: the rest of the reply passes unchecked";
            self.effects.push(ExchangeEffect::Note(note.to_owned()));
        }
        if step == GateStep::Complete && self.why.is_none() {
            self.want_judgement();
        }
    }

    fn keep(&mut self, bytes: &[u8], limit: usize) {
        self.kept.extend_from_slice(bytes);
        if self.kept.len() <= limit {
            return;
        }
        let note = "the reply is longer than what is kept: it passes unchecked";
        self.effects.push(ExchangeEffect::Note(note.to_owned()));
        self.state = State::Passing;
        self.send_head(ReplyHead::Upstream);
        let kept = std::mem::take(&mut self.kept);
        self.send(kept);
    }

    fn want_judgement(&mut self) {
        self.judging = match self.judging {
            Judging::No => {
                self.effects.push(ExchangeEffect::Judge);
                Judging::Yes
            }
            Judging::Yes | Judging::Stale => Judging::Stale,
        };
    }

    /// The reply has come to its end.
    pub(crate) fn ended(&mut self, now: Millis) {
        if self.over.is_some() {
            return;
        }
        self.over = Some(Over::Well);
        match self.state {
            State::Passing => self.end_well(),
            State::Gated => self.stream_ended(now),
            State::Keeping => {
                let dialect = self.settings.dialect;
                let looks = self.settings.has_output_schema
                    || self.settings.holds_text
                    || may_hold_calls(dialect, &self.kept)
                    || ends_early(dialect, &self.kept);
                if looks {
                    self.want_judgement();
                } else {
                    self.pass_whole();
                }
            }
            State::Refused if is_about_thread(&self.kept) => self.give_refusal(),
            State::Refused => {
                let what = What::Refusal {
                    status: self.status,
                    body: self.kept.clone(),
                };
                self.hold(now, what, "the provider refuses the request".to_owned());
            }
            State::Failed => self.fail_stream(),
            _ => {}
        }
    }

    /// A stream has ended, as far as HTTP is concerned: its own words say whether it was whole.
    fn stream_ended(&mut self, now: Millis) {
        let Some(gate) = &mut self.gate else { return };
        let mut out = Vec::new();
        let end = gate.end(&mut out);
        let oddities = gate.oddities();
        let awaits_check = gate.awaits_check();
        self.send(out);
        self.over = Some(match end {
            StreamEnd::InEvent | StreamEnd::InCharacter => Over::Broken,
            StreamEnd::Short => Over::Short,
            StreamEnd::Whole
            | StreamEnd::Unmarked
            | StreamEnd::Failed
            | StreamEnd::Foreign
            | StreamEnd::Unseen => Over::Well,
        });
        let odd = [
            (oddities.malformed, "events whose data is no JSON"),
            (oddities.late, "events after the end mark"),
        ];
        let odd = odd.iter().filter(|(count, _)| *count > 0);
        let odd = odd.map(|(count, what)| format!("{count} {what}"));
        for note in odd.chain(end.words().map(str::to_owned)) {
            self.effects.push(ExchangeEffect::Note(note));
        }
        if awaits_check && self.why.is_none() && self.over == Some(Over::Well) {
            self.want_judgement();
        }
        self.hold_or_end(now);
    }

    /// A stream has ended: holds, waits for the judgement, or ends the client's as well.
    fn hold_or_end(&mut self, now: Millis) {
        if self.judging != Judging::No {
            return;
        }
        match (self.why.take(), self.over) {
            (Some(why), Some(Over::Well)) => {
                let json = self.reply().unwrap_or_default();
                let what = What::Reply {
                    json,
                    is_whole: true,
                };
                self.hold(now, what, why);
            }
            (_, Some(over)) => self.release_stream(over),
            (why, None) => self.why = why,
        }
    }

    /// Everything that was kept of a stream goes on as it came, and the client's stream ends
    /// as the provider's did.
    pub(super) fn release_stream(&mut self, over: Over) {
        let mut out = Vec::new();
        if let Some(gate) = &mut self.gate {
            gate.release(&mut out);
        }
        self.send(out);
        match over {
            Over::Well => self.end_well(),
            // The provider's own stream ended so, and only its words say that it was cut.
            Over::Short => {
                self.effects.push(ExchangeEffect::End);
                self.end(ExchangeEnding::Truncated);
            }
            Over::Broken => self.abort(ExchangeEnding::Truncated),
        }
    }

    /// A whole reply goes on as it came.
    pub(crate) fn pass_whole(&mut self) {
        let body = std::mem::take(&mut self.kept);
        self.give_whole(body);
        self.end(self.so_far.clone());
    }

    /// The client gets this body under the head of the upstream.
    pub(crate) fn give_whole(&mut self, body: Vec<u8>) {
        if self.head.is_some() {
            self.send(body);
            self.effects.push(ExchangeEffect::End);
        } else {
            let head = ReplyHead::Upstream;
            self.head = Some(head);
            self.effects.push(ExchangeEffect::Whole { head, body });
        }
    }

    /// The provider refuses, and the client has the head of a stream already.
    pub(crate) fn fail_stream(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        let reason = String::from_utf8_lossy(&kept);
        let words = format!("the provider answers with status {}: {reason}", self.status);
        let failure = self.settings.dialect.codec().failure(&words);
        self.send(failure.to_wire().into_bytes());
        self.end_well();
    }

    /// The reply broke off.
    pub(crate) fn broke(&mut self, why: &str) {
        if self.over.is_some() || self.state == State::Over {
            return;
        }
        self.over = Some(Over::Broken);
        self.effects
            .push(ExchangeEffect::Note(format!("the reply broke off: {why}")));
        match self.state {
            State::Gated => {
                self.judging = Judging::No;
                self.release_stream(Over::Broken);
            }
            State::Keeping | State::Refused => {
                self.send_head(ReplyHead::Upstream);
                let kept = std::mem::take(&mut self.kept);
                self.send(kept);
                self.abort(ExchangeEnding::Truncated);
            }
            _ => self.abort(ExchangeEnding::Truncated),
        }
    }

    /// The reply so far was judged.
    pub(crate) fn judged(&mut self, now: Millis, judgement: Judgement) {
        let was = std::mem::replace(&mut self.judging, Judging::No);
        if was == Judging::No {
            return;
        }
        match (judgement, self.state) {
            // What the reply lacks to be judged comes at its end; nothing of the call passes before.
            (Judgement::Unclear, State::Gated) if self.over.is_none() => match was {
                Judging::Stale => self.want_judgement(),
                Judging::No | Judging::Yes => {}
            },
            (Judgement::Sound | Judgement::Unclear, State::Keeping) => self.pass_whole(),
            (Judgement::Holds { why }, State::Keeping) => {
                let what = What::Reply {
                    json: self.reply().unwrap_or_default(),
                    is_whole: true,
                };
                self.hold(now, what, why);
            }
            (Judgement::Sound | Judgement::Unclear, State::Gated) => {
                // Calls that were complete only after the judgement was requested are not covered by it.
                if was == Judging::Stale {
                    self.want_judgement();
                    return;
                }
                let mut out = Vec::new();
                if let Some(gate) = &mut self.gate {
                    gate.sound(&mut out);
                }
                self.send(out);
                if self.over.is_some() {
                    self.hold_or_end(now);
                }
            }
            (Judgement::Holds { why }, State::Gated) => {
                let is_over_bound = self.gate.as_ref().is_some_and(Gate::is_over_bound);
                if !is_over_bound {
                    self.why = Some(why);
                    if let Some(gate) = &mut self.gate {
                        gate.hold();
                    }
                }
                if self.over.is_some() {
                    self.hold_or_end(now);
                }
            }
            _ => {}
        }
    }
}

/// Whether a refusal is about the thread that its provider keeps: SDKs answer it by sending the whole
/// conversation (Anthropic, beta `message-threads-2026-08-12`, `error.details.error_code`).
fn is_about_thread(refusal: &[u8]) -> bool {
    let refusal = serde_json::from_slice::<serde_json::Value>(refusal).unwrap_or_default();
    let code = refusal["error"]["details"]["error_code"].as_str();
    code.is_some_and(|code| code.starts_with("thread_"))
}

/// Whether a whole reply may hold calls that its client answers, so that it is to be checked before it passes.
/// What is not a reply of the dialect holds none.
fn may_hold_calls(dialect: Dialect, reply: &[u8]) -> bool {
    let text = marked(reply, dialect.facts().call_marks);
    text.is_some_and(|text| calls_of(dialect, &text).is_ok_and(|calls| !calls.is_empty()))
}

/// Whether a whole reply was cut off, withheld, or refused in the model's own words, which have a place of their own
/// (OpenAI API reference).
fn ends_early(dialect: Dialect, reply: &[u8]) -> bool {
    let words = dialect.facts().early_stops.iter().chain(&["refusal"]);
    let marks = words.map(|word| format!("\"{word}\""));
    let Some(text) = marked(reply, &marks.collect::<Vec<_>>()) else {
        return false;
    };
    let refuses = || {
        dialect
            .codec()
            .holds_refusal(&serde_json::from_str(&text).unwrap_or_default())
    };
    stop_of(&text).is_some_and(|word| stops_early(&word)) || refuses()
}

/// The text of a reply that holds one of these marks. Most hold none, and this is the speed of memory.
fn marked<Mark: AsRef<[u8]>>(reply: &[u8], marks: &[Mark]) -> Option<String> {
    let holds = |mark: &Mark| memmem::find(reply, mark.as_ref()).is_some();
    let text = marks
        .iter()
        .any(holds)
        .then(|| String::from_utf8_lossy(reply))?;
    Some(text.trim_start_matches('\u{feff}').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_that_was_cut_off_refused_or_withheld_is_known() {
        for (dialect, reply, expected) in [
            (
                Dialect::Chat,
                r#"{"choices":[{"message":{"content":"a"},"finish_reason":"length"}]}"#,
                true,
            ),
            (
                Dialect::Chat,
                r#"{"choices":[{"message":{"content":"\"length\"","refusal":null},"finish_reason":"stop"}]}"#,
                false,
            ),
            (
                Dialect::Chat,
                r#"{"choices":[{"message":{"refusal":"No."},"finish_reason":"stop"}]}"#,
                true,
            ),
            (
                Dialect::Anthropic,
                r#"{"content":[],"stop_reason":"refusal"}"#,
                true,
            ),
            (
                Dialect::Anthropic,
                r#"{"content":[{"type":"text","text":"\"refusal\""}],"stop_reason":"end_turn"}"#,
                false,
            ),
            (
                Dialect::Responses,
                r#"{"incomplete_details":{"reason":"content_filter"},"output":[]}"#,
                true,
            ),
            (
                Dialect::Responses,
                r#"{"incomplete_details":null,"output":[]}"#,
                false,
            ),
            (
                Dialect::Responses,
                r#"{"output":[{"type":"message","content":[{"type":"refusal","refusal":"No."}]}]}"#,
                true,
            ),
        ] {
            assert_eq!(ends_early(dialect, reply.as_bytes()), expected, "{reply}");
        }
    }

    #[test]
    fn calls_are_found_and_words_about_them_are_not() {
        for (dialect, reply, expected) in [
            (
                Dialect::Responses,
                r#"{"output":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}"#,
                true,
            ),
            (
                Dialect::Responses,
                r#"{"output":[{"type":"web_search_call","id":"ws"},{"type":"message","content":[]}]}"#,
                false,
            ),
            (
                Dialect::Chat,
                r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}"#,
                true,
            ),
            (
                Dialect::Chat,
                r#"{"choices":[{"message":{"content":"hi","tool_calls":[],"function_call":null}}]}"#,
                false,
            ),
            (
                Dialect::Chat,
                r#"{"choices":[{"message":{"content":null,"function_call":{"name":"f","arguments":"{}"}}}]}"#,
                true,
            ),
            (
                Dialect::Anthropic,
                r#"{"content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}"#,
                true,
            ),
            (
                Dialect::Anthropic,
                r#"{"content":[{"type":"text","text":"\"tool_use\""},{"type":"server_tool_use"}]}"#,
                false,
            ),
            (Dialect::Anthropic, "<html>\"tool_use\"", false),
        ] {
            assert_eq!(
                may_hold_calls(dialect, reply.as_bytes()),
                expected,
                "{reply}"
            );
        }
    }
}
