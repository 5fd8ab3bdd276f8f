//! What passed without being judged is judged when it is over: nothing can be decided about it any more, but it is told.

use super::Pump;
use crate::runtime::proxy::decode::decode;
use crate::runtime::proxy::judge::Verdict;
use crate::runtime::proxy::recorder::{assemble, looks_streamed};
use crate::session::Dialect;
use hyper::header::CONTENT_ENCODING;

/// A reply as it came, to be read once it is over.
struct Came {
    dialect: Dialect,
    encoding: String,
    bytes: Vec<u8>,
}

impl Pump {
    /// Judges the request and the reply where nobody has; the client has everything already.
    pub(super) async fn look_back(&mut self) {
        let is_good = self
            .head
            .as_ref()
            .is_some_and(|head| head.status.is_success());
        let came = (is_good && !self.was_judged && !self.received.is_cut()).then(|| Came {
            dialect: self.question.dialect,
            encoding: self.encoding(),
            bytes: self.received.bytes(),
        });
        if let Some(came) = &came
            && !came.encoding.is_empty()
            && self.machine.reads_reply()
        {
            let encoding = &came.encoding;
            self.note(format!(
                "the reply is encoded ({encoding}) although no encoding was asked for: it passed unchecked"
            ));
        }
        if !self.is_readable {
            return;
        }
        let (judge, asked) = (self.floor.judge.clone(), self.reading.clone());
        let (secrets, looks) = (self.secrets(), !self.was_looked_at);
        if !looks && came.is_none() {
            return;
        }
        let judged = tokio::task::spawn_blocking(move || {
            let request = looks.then(|| judge.request(&asked, &secrets));
            let (reply, fault) = came.map(plain).unwrap_or_default();
            let reply = reply.map(|reply| judge.reply(&asked, &reply, &secrets));
            (request, reply, fault)
        });
        match judged.await {
            Ok((request, reply, fault)) => {
                if let Some(fault) = fault {
                    self.note(fault);
                }
                for verdict in request.into_iter().chain(reply) {
                    self.found_late(verdict);
                }
            }
            Err(_) => self.note("the exchange could not be judged".to_owned()),
        }
    }

    fn encoding(&self) -> String {
        let lines = self.head.iter();
        let lines = lines.flat_map(|head| head.headers.get_all(CONTENT_ENCODING));
        let lines = lines.filter_map(|line| line.to_str().ok());
        let encoding = lines.collect::<Vec<_>>().join(", ");
        match encoding.trim() {
            "identity" => String::new(),
            encoding => encoding.to_owned(),
        }
    }

    fn found_late(&mut self, verdict: Verdict) {
        self.see(&verdict);
        if let Some(recording) = verdict.recording
            && !verdict.findings.is_empty()
        {
            let id = self.seen.id;
            self.floor.tell_found(id, verdict.findings, recording);
        }
    }
}

/// The reply as one document of its dialect, and why it cannot be decoded.
fn plain(came: Came) -> (Option<String>, Option<String>) {
    let decoded = decode(&came.encoding, &came.bytes);
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
