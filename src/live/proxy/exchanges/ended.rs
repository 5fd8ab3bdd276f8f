//! An exchange that is over: it is written down, then judged where nobody has judged it, then reported.
//!
//! Its client has everything already, so nothing can be decided about it any more, but findings are reported.

use super::state::{Judges, ProxyState};
use crate::proxy::decode::decode;
use crate::proxy::judge::{ExchangeVerdict, RequestReading, shielded};
use crate::proxy::recent::StoredRequest;
use crate::proxy::recorder::{RecordedBody, RecordedExchange, assemble, looks_streamed};
use retake_core::exchange::gate::StreamEnd;
use retake_core::exchange::{ExchangeFinding, ExchangeSummary};
use std::sync::Arc;

/// An exchange that has all that it will ever get.
pub(crate) struct EndedExchange {
    pub(crate) state: Arc<ProxyState>,
    pub(crate) recorded: Arc<RecordedExchange>,
    /// The request that can be repeated.
    pub(crate) stored: Option<StoredRequest>,
    pub(crate) unjudged: Unjudged,
}

/// What nobody has judged of an exchange.
#[derive(Default)]
pub(crate) struct Unjudged {
    pub(crate) request: Option<Arc<RequestReading>>,
    pub(crate) reply: Option<UnjudgedReply>,
    /// How many of the findings stay because they were reported.
    pub(crate) kept: usize,
    /// Secrets that only the upstream may see.
    pub(crate) secrets: Vec<(String, String)>,
}

/// A reply as it came, to be read once it is over.
pub(crate) struct UnjudgedReply {
    /// The request that it answers.
    pub(crate) request: Arc<RequestReading>,
    pub(crate) encoding: String,
    pub(crate) body: RecordedBody,
}

impl EndedExchange {
    /// Writes it down, and has judged what nobody has judged. It is recorded before anything is judged, so that
    /// nothing is lost that its client has.
    pub(crate) fn finish(self) {
        self.state.record(self.recorded.clone());
        self.judge();
    }

    /// Has judged what nobody has judged, beside what passes.
    pub(crate) fn judge(mut self) {
        if self.unjudged.request.is_none() && self.unjudged.reply.is_none() {
            return self.state.over(self.recorded, self.stored);
        }
        let bytes = self.recorded.cost();
        let state = self.state.clone();
        let work = move |judges| {
            let mut seen = self.recorded.seen.clone();
            match judges {
                Judges::Yes if shielded(|| self.look_back(&mut seen)).is_some() => {}
                Judges::Yes => note(&mut seen, "the exchange could not be judged"),
                Judges::No => note(
                    &mut seen,
                    "not judged: too much waited, or retake was ended",
                ),
            }
            if seen != self.recorded.seen {
                self.state.record_judged(&seen);
                Arc::make_mut(&mut self.recorded).seen = seen;
            }
            self.state.over(self.recorded, self.stored);
        };
        state.late.judge(bytes, Box::new(work));
    }

    fn look_back(&self, seen: &mut ExchangeSummary) {
        let (judge, unjudged) = (&self.state.judge, &self.unjudged);
        let mut kept = unjudged.kept;
        let mut found = |seen: &mut ExchangeSummary, verdict: ExchangeVerdict| {
            see_verdict(seen, kept, &verdict);
            kept = seen.found.len();
            if let Some(recording) = verdict.recording
                && !verdict.findings.is_empty()
            {
                self.state
                    .report_found(seen.id, verdict.findings, recording);
            }
        };
        if let Some(request) = &unjudged.request {
            found(seen, judge.request(request, &unjudged.secrets));
        }
        let Some(reply) = &unjudged.reply else {
            return;
        };
        match reply.plain() {
            Ok((Some(text), end)) => {
                if let Some(words) = end.words() {
                    note(seen, words);
                }
                let verdict = judge.reply(&reply.request, (&text, true), &unjudged.secrets);
                found(seen, verdict);
            }
            Ok((None, _)) => {}
            Err(fault) => note(seen, &fault),
        }
    }
}

/// What was found is seen with the exchange, in place of what was seen after the first so many findings: those
/// were reported.
pub(crate) fn see_verdict(seen: &mut ExchangeSummary, kept: usize, verdict: &ExchangeVerdict) {
    let recording = verdict.recording.as_ref();
    let session = recording.and_then(|recording| recording.sessions.first());
    let Some(session) = session.filter(|_| !verdict.findings.is_empty()) else {
        return;
    };
    let found = verdict.findings.iter();
    see(
        seen,
        kept,
        found.map(|one| ExchangeFinding::of(one, session)).collect(),
    );
}

/// The same with what was found.
pub(crate) fn see(seen: &mut ExchangeSummary, kept: usize, found: Vec<ExchangeFinding>) {
    seen.found.truncate(kept);
    for one in found {
        if !seen.found.contains(&one) {
            seen.found.push(one);
        }
    }
}

/// Notes something once.
pub(crate) fn note(seen: &mut ExchangeSummary, words: &str) {
    if !seen.notes.iter().any(|note| note == words) {
        seen.notes.push(words.to_owned());
    }
}

impl UnjudgedReply {
    /// The reply as one document of its dialect, if it is one, with the end of its stream, or why it cannot be
    /// decoded.
    fn plain(&self) -> Result<(Option<String>, StreamEnd), String> {
        let bytes = self.body.bytes();
        let decoded = decode(&self.encoding, &bytes);
        if let Some(fault) = decoded.fault {
            return Err(fault.to_string());
        }
        Ok(match looks_streamed(&decoded.bytes) {
            true => {
                let assembled = assemble(Some(self.request.dialect()), &decoded.bytes);
                (assembled.reply, assembled.end)
            }
            false => (
                String::from_utf8(decoded.bytes.into_owned()).ok(),
                StreamEnd::Whole,
            ),
        })
    }
}
