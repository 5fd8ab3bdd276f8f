//! Effects of the machine: sends, judges, holds and waits.

use super::order::order;
use super::{DISK, Pump, place_of};
use crate::http::{Headers, strip_lines_of_a_body};
use crate::proxy::body::Outgoing;
use crate::proxy::client_side::Gone;
use crate::proxy::exchanges::ended::see_verdict;
use crate::proxy::exchanges::state::ExchangeMessage;
use crate::proxy::headers::{
    ask_for_plain, error_head, provider_error_head, reply_head, same_head, stream_head,
};
use crate::proxy::judge::{ExchangeVerdict, RequestReading, shielded};
use crate::takes::wall_clock;
use bytes::Bytes;
use hyper::http::response::Parts;
use retake_core::exchange::machine::{
    Event, ExchangeEffect, ExchangeTimer, Held, HoldDecision, Judgement, ReplyHead, What,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Notice for a reply over which the judge has failed.
pub(crate) const NOT_JUDGED: &str = "the reply could not be judged";

impl Pump {
    /// Tells the machine, and does what it says.
    pub(crate) async fn drive(&mut self, event: Event<'_>) {
        let mut effects = VecDeque::from(self.handle(event));
        while let Some(effect) = effects.pop_front() {
            if self.perform(effect).await == Err(Gone) {
                self.client.abort();
                // What was decided has not reached it.
                self.is_lost = true;
                effects.retain(|effect| {
                    !matches!(
                        effect,
                        ExchangeEffect::Send(_) | ExchangeEffect::End | ExchangeEffect::Head(_)
                    )
                });
                effects.extend(self.handle(self.gone()));
            }
        }
        self.report();
    }

    /// What is to be done about an event; a hold that begins or ends with it is counted.
    fn handle(&mut self, event: Event<'_>) -> Vec<ExchangeEffect> {
        let now = wall_clock();
        let effects = self.machine.handle(now, event);
        self.count_hold(now);
        effects
    }

    /// Why nothing reaches the client any more.
    pub(crate) fn gone(&self) -> Event<'static> {
        match self.is_cut {
            true => Event::Decided(HoldDecision::Cut),
            false => Event::ClientLeft,
        }
    }

    async fn perform(&mut self, effect: ExchangeEffect) -> Result<(), Gone> {
        match effect {
            ExchangeEffect::Ask(body) => self.ask(body),
            ExchangeEffect::Judge => self.judge(),
            ExchangeEffect::Head(head) => {
                self.begun_with = Some(head);
                let head = self.head_for(head, None);
                return self.client.begin(head);
            }
            ExchangeEffect::Pass => {
                let bytes = std::mem::take(&mut self.latest);
                self.given.pass(&bytes);
                return self.send(bytes).await;
            }
            ExchangeEffect::Send(bytes) => {
                let bytes = Bytes::from(bytes);
                self.given.send(&bytes);
                return self.send(bytes).await;
            }
            ExchangeEffect::Whole { head, body } => {
                let body = Bytes::from(body);
                self.given.send(&body);
                let head = self.head_for(head, Some(body.len()));
                return self.client.give(head, body);
            }
            ExchangeEffect::End => {
                self.client_reads().await?;
                return self.client.end().await;
            }
            ExchangeEffect::Abort => self.client.abort(),
            ExchangeEffect::Hold(held) => self.hold(held).await,
            ExchangeEffect::LeaveHold { why } => self.leave_hold(&why),
            ExchangeEffect::Wait { timer, at } => self.wait(timer, at),
            ExchangeEffect::Note(note) => self.note(note),
            ExchangeEffect::Ended(_) => self.is_over = true,
        }
        Ok(())
    }

    /// Sends a piece to the client.
    pub(crate) async fn send(&mut self, bytes: Bytes) -> Result<(), Gone> {
        self.client_reads().await?;
        self.client.send(bytes).await
    }

    /// Waits until the client takes more. A client that does not read keeps nobody from cutting it, or from
    /// ending what is held.
    async fn client_reads(&mut self) -> Result<(), Gone> {
        loop {
            let message = tokio::select! {
                biased;
                ready = self.client.ready() => return ready,
                Some(message) = self.inbox.recv() => message,
            };
            match message {
                ExchangeMessage::Cut => {
                    self.watcher.state.holds.cut(self.seen.id, "operator");
                    self.is_cut = true;
                    return Err(Gone);
                }
                ExchangeMessage::Release(by) => {
                    self.watcher.state.holds.release(self.seen.id, &by);
                    self.waiting.push_back(ExchangeMessage::Release(by));
                }
                // Its client has given up on the connection that nobody reads.
                joined @ ExchangeMessage::Joined(..) => {
                    self.waiting.push_back(joined);
                    return Err(Gone);
                }
                other => self.waiting.push_back(other),
            }
        }
    }

    pub(crate) fn head_for(&self, head: ReplyHead, length: Option<usize>) -> Parts {
        match (head, &self.head) {
            (ReplyHead::Same, Some(upstream)) => same_head(upstream),
            (ReplyHead::Upstream, Some(upstream)) => reply_head(upstream, length),
            (ReplyHead::Error(status), _) if self.may_be_retried => provider_error_head(status),
            (ReplyHead::Error(status), _) => error_head(status),
            (ReplyHead::Stream | ReplyHead::Upstream | ReplyHead::Same, _) => stream_head(),
        }
    }

    fn ask(&mut self, body: Option<Vec<u8>>) {
        if let Some(body) = body {
            self.send_instead(Bytes::from(body));
        }
        self.asks_again();
        let mut lines = self.question.lines.clone();
        let body = match &self.sent {
            Some(body) => {
                strip_lines_of_a_body(&mut lines);
                body.clone()
            }
            None => self.question.body.clone(),
        };
        if self.machine.reads_reply() {
            ask_for_plain(&mut lines);
        }
        let upstream = self.watcher.upstream.clone();
        let (method, path_and_query) = (
            self.question.method.clone(),
            self.question.path_and_query.clone(),
        );
        self.asking = Some(Box::pin(async move {
            upstream
                .send(method, &path_and_query, lines, Outgoing::whole(body))
                .await
        }));
    }

    fn judge(&mut self) {
        self.was_judged = true;
        let reply = self.machine.reply();
        let (judge, request) = (self.watcher.state.judge.clone(), self.reading.clone());
        let secrets = self.secrets();
        let is_whole = self.machine.has_ended();
        if let Some(reply) = reply.as_ref().filter(|one| request.is_small(one.len())) {
            let verdict = shielded(|| judge.reply(&request, (reply, is_whole), &secrets));
            if verdict.is_none() {
                self.note(NOT_JUDGED.to_owned());
            }
            self.judged = Some(verdict.unwrap_or_else(ExchangeVerdict::sound));
            return;
        }
        self.judging = Some(tokio::task::spawn_blocking(move || match reply {
            Some(reply) => judge.reply(&request, (&reply, is_whole), &secrets),
            None => ExchangeVerdict::sound(),
        }));
    }

    /// Secrets that only the upstream may see.
    pub(crate) fn secrets(&self) -> Vec<(String, String)> {
        let tokens = self.watcher.state.tokens().iter().cloned();
        let shown = Headers::passed_on(&self.question.lines).secrets();
        tokens.chain(shown).collect()
    }

    /// The reply that is held, if it is one.
    pub(crate) fn held_reply(&self) -> Option<String> {
        self.machine.reply().filter(|_| self.holds_reply)
    }

    /// The decoded request to the upstream.
    pub(crate) fn upstream_request(&self) -> Bytes {
        self.reading.body().clone()
    }

    /// Sends this request to the upstream in place of the agent's.
    fn send_instead(&mut self, body: Bytes) {
        let reading = self.watcher.state.judge.recall(self.question.dialect, body);
        self.send_what_is_read(reading);
    }

    /// The same, where it is read already.
    pub(crate) fn send_what_is_read(&mut self, reading: Arc<RequestReading>) {
        self.sent = Some(reading.body().clone());
        self.reading = reading;
    }

    /// Takes the findings; those of a held exchange are reported by its hold.
    pub(crate) fn found(&mut self, verdict: ExchangeVerdict) -> Judgement {
        see_verdict(&mut self.seen, self.found, &verdict);
        if verdict.judgement == Judgement::Sound
            && let Some(recording) = verdict.recording
            && !verdict.findings.is_empty()
        {
            let id = self.seen.id;
            self.keep_found();
            self.watcher
                .state
                .report_found(id, verdict.findings, recording);
        }
        verdict.judgement
    }

    /// Findings so far were reported, and stay.
    pub(crate) fn keep_found(&mut self) {
        self.found = self.seen.found.len();
    }

    /// A hold begins, once it is on the disk that it does; what it waits for and how it ends
    /// comes back as messages.
    async fn hold(&mut self, held: Held) {
        self.holds_reply = matches!(held.what, What::Reply { .. });
        self.seen.phase = self.machine.phase();
        self.refusals += u32::from(matches!(held.what, What::Refusal { .. }));
        if self.refusals > self.watcher.state.holds.asks().max(1) {
            // Who mends it does not find what is wrong with it.
            let by = format!("the provider has refused it {} times", self.refusals);
            return self.watcher.state.release(self.seen.id, by);
        }
        match order(self, held) {
            Ok(order) => {
                self.is_written = true;
                let on_disk = self
                    .watcher
                    .state
                    .recorder
                    .held(self.recorded(), Some(order.journal.clone()));
                // A full disk keeps nobody waiting; the recorder says that nothing is recorded.
                let _ = tokio::time::timeout(DISK, on_disk).await;
                self.watcher.state.begin_hold(order);
            }
            Err(error) => {
                self.note(error.to_string());
                let by = error.to_string();
                self.watcher.state.release(self.seen.id, by);
            }
        }
    }

    /// The hold is closed from outside of its run.
    fn leave_hold(&self, why: &str) {
        match self.machine.is_gone() {
            true => self.watcher.state.holds.gone(self.seen.id),
            false => self.watcher.state.holds.release(self.seen.id, why),
        };
    }

    fn wait(&mut self, timer: ExchangeTimer, at: u64) {
        let left = Duration::from_millis(at.saturating_sub(wall_clock()).min(86_400_000));
        let at = Instant::now() + left;
        self.timers[place_of(timer)] = Some(at);
        if at < self.clock.deadline() {
            self.clock.as_mut().reset(at);
        }
    }
}
