//! What passed without being judged is judged when it is over: nothing can be decided about it any more,
//! but findings are reported.

use super::Pump;
use super::given::Given;
use crate::proxy::decode::decode;
use crate::proxy::exchanges::late::Judges;
use crate::proxy::headers::content_encoding;
use crate::proxy::judge::{Verdict, shielded};
use crate::proxy::recent::StoredRequest;
use crate::proxy::recorder::{self, Recorded, RecordedBody, assemble, looks_streamed};
use retake_core::exchange::{Ending, Phase};
use retake_core::session::Dialect;

/// A reply as it came, to be read once it is over.
struct Came {
    dialect: Dialect,
    encoding: String,
    body: RecordedBody,
}

impl Pump {
    /// The exchange is over: what nobody has judged of it is judged, and it is written down, both beside what
    /// passes. The client has everything already.
    pub(crate) fn settle(mut self) {
        // The upstream has nothing more to say.
        (self.reply, self.asking) = (None, None);
        let came = self.came();
        if let Some(came) = &came
            && !came.encoding.is_empty()
            && self.machine.reads_reply()
        {
            let encoding = &came.encoding;
            self.note(format!(
                "the reply is encoded ({encoding}) although no encoding was requested: it passed unchecked"
            ));
        }
        let (recorded, stored) = self.end();
        let state = self.watcher.state.clone();
        // Before anything is judged, so that nothing is lost that its client has.
        state.record(recorded.clone());
        if !self.is_readable || (self.was_looked_at && came.is_none()) {
            return state.over(recorded, stored);
        }
        let bytes = recorded.cost();
        let work = move |judges| {
            let (mut pump, mut recorded) = (self, recorded);
            pump.judge_late(came, judges);
            if pump.seen != recorded.seen {
                pump.watcher.state.record_judged(&pump.seen);
                recorded.seen.clone_from(&pump.seen);
            }
            pump.watcher.state.over(recorded, stored);
        };
        state.late.judge(bytes, Box::new(work));
    }

    /// What is written down of it.
    pub(crate) fn recorded(&self) -> Recorded {
        let (reply_head, reply) = match &self.first {
            Some(first) => first.clone(),
            None => {
                let head = self.head.as_ref();
                let head = head.map(|head| recorder::RecordedHead::of(&head.headers));
                (head.unwrap_or_default(), self.received.clone())
            }
        };
        Recorded {
            seen: self.seen.clone(),
            request: recorder::RecordedBody::whole(self.question.body.clone()),
            continuation: self.continuation.clone(),
            request_head: recorder::RecordedHead::of(&self.question.lines),
            reply,
            reply_head,
            told: None,
            sent: self.sent.clone(),
        }
    }

    /// What is written down of it while its reply comes: the request alone.
    pub(crate) fn recorded_so_far(&self) -> Recorded {
        Recorded {
            reply: recorder::RecordedBody::default(),
            ..self.recorded()
        }
    }

    /// What remains when it is over: the record, and the request that can be repeated.
    fn end(&mut self) -> (Recorded, Option<StoredRequest>) {
        self.seen.total_ms = Some(self.ms());
        self.seen.phase = match (self.is_cut, self.is_lost) {
            (true, _) => Phase::Ended(Ending::Cut),
            (false, true) => Phase::Ended(Ending::ClientLeft),
            (false, false) => self.machine.phase(),
        };
        let differs_for_client = self.first.is_some()
            || self.gets_another_reply
            || matches!(
                self.seen.phase,
                Phase::Ended(Ending::Mended | Ending::Refused { .. } | Ending::NoReply { .. })
            );
        let mut recorded = self.recorded();
        recorded.told = differs_for_client.then(|| self.given.whole(&self.received));
        let plain = std::mem::take(&mut self.plain);
        let stored = StoredRequest::of(&self.question, &self.watcher.upstream, plain);
        self.given = Given::default();
        (recorded, stored)
    }

    fn judge_late(&mut self, came: Option<Came>, judges: Judges) {
        if judges == Judges::No {
            return self.note("not judged: too much waited, or retake was ended".to_owned());
        }
        if shielded(|| self.look_back(came)).is_none() {
            self.note("the exchange could not be judged".to_owned());
        }
    }

    /// The reply, where nobody has judged it.
    fn came(&self) -> Option<Came> {
        let is_good = self
            .head
            .as_ref()
            .is_some_and(|head| head.status.is_success());
        (is_good && !self.was_judged && !self.received.is_cut()).then(|| Came {
            dialect: self.question.dialect,
            encoding: self.encoding(),
            body: self.received.clone(),
        })
    }

    fn look_back(&mut self, came: Option<Came>) {
        let (judge, secrets) = (self.watcher.state.judge.clone(), self.secrets());
        if !self.was_looked_at {
            self.found_late(judge.request(&self.reading, &secrets));
        }
        let (reply, fault) = came.as_ref().map(plain).unwrap_or_default();
        if let Some(fault) = fault {
            self.note(fault);
        }
        if let Some(reply) = reply {
            self.found_late(judge.reply(&self.reading, (&reply, true), &secrets));
        }
    }

    fn encoding(&self) -> String {
        let head = self.head.as_ref();
        head.map_or_else(String::new, |head| content_encoding(&head.headers))
    }

    fn found_late(&mut self, verdict: Verdict) {
        self.see_verdict(&verdict);
        self.keep_found();
        if let Some(recording) = verdict.recording
            && !verdict.findings.is_empty()
        {
            let id = self.seen.id;
            self.watcher
                .state
                .report_found(id, verdict.findings, recording);
        }
    }
}

/// The reply as one document of its dialect, and why it cannot be decoded.
fn plain(came: &Came) -> (Option<String>, Option<String>) {
    let bytes = came.body.bytes();
    let decoded = decode(&came.encoding, &bytes);
    let fault = decoded.fault.map(|fault| fault.to_string());
    if fault.is_some() {
        return (None, fault);
    }
    let reply = match looks_streamed(&decoded.bytes) {
        true => assemble(Some(came.dialect), &decoded.bytes).reply,
        false => String::from_utf8(decoded.bytes.into_owned()).ok(),
    };
    (reply, None)
}
