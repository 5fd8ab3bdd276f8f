//! Carrying out what the machine wants: the ledger, the model, the tools, the history.

use super::act::Acted;
use super::news::RunNews;
use super::run::LiveRun;
use super::{act, snapshot};
use crate::TakeStore;
use crate::takes::wall_clock;
use retake_core::engine::{BreakerEvent, Decision, ModelFault, RunEffect, RunEvent};
use retake_core::json::rfc3339;
use retake_core::session::Edit;
use retake_core::session::ledger::{Ask, CallKey, LedgerEvent};
use retake_core::session::takes::Author;
use std::path::Path;

impl LiveRun {
    /// Carries out one effect; gives the event that follows from it at once.
    pub(crate) fn perform(&mut self, store: &mut TakeStore, effect: RunEffect) -> Option<RunEvent> {
        match effect {
            RunEffect::Record(event) => self.record(store, event),
            RunEffect::Ask { ask, .. } => return self.ask(store, ask),
            RunEffect::CancelAsk(ask) => self.io.cancel_ask(ask),
            RunEffect::Run {
                call,
                tool,
                arguments,
                ..
            } => return self.run(call, tool, &arguments),
            RunEffect::StopTools => self.io.stop_tools(),
            RunEffect::Answer {
                call,
                output,
                is_error,
            } => return self.answer(store, &call, output, is_error),
            RunEffect::Act(decision) => return self.act(store, &decision),
            RunEffect::Close => return self.close(store),
            RunEffect::Wait { timer, for_ms } => self.io.wait(timer, for_ms),
            RunEffect::Webhook { url, change } => {
                let happening = BreakerEvent {
                    agent: &self.name,
                    run: &store.path().map(Path::to_string_lossy).unwrap_or_default(),
                    time: &rfc3339(wall_clock()),
                };
                let body = change.webhook_body(happening);
                let body = self.clean(&body);
                self.io.webhook(url, body);
            }
            RunEffect::Note(text) => self.notice(text),
            // What the run waits for and how it ended is its phase.
            RunEffect::Pause(_) | RunEffect::Finish(_) => {}
        }
        None
    }

    /// Enters something in the ledger. A start that cannot be written is remembered: what is not on the
    /// disk does not run.
    pub(crate) fn record(&mut self, store: &mut TakeStore, event: LedgerEvent) {
        self.news.push(RunNews::Recorded(event.clone()));
        let Some(trouble) = store.record(&event).err().map(ToString::to_string) else {
            return;
        };
        if let LedgerEvent::Started { call, .. } = event {
            self.unrecorded = Some((call, trouble.clone()));
        }
        self.notice(trouble);
    }

    /// Records decisions, in one write to the disk.
    pub(crate) fn record_decisions(&mut self, store: &mut TakeStore, decisions: Vec<LedgerEvent>) {
        if decisions.is_empty() {
            return;
        }
        let trouble = store.record_all(&decisions).err().map(ToString::to_string);
        let recorded = decisions.into_iter().map(RunNews::Recorded);
        self.news.extend(recorded);
        if let Some(trouble) = trouble {
            self.notice(trouble);
        }
    }

    fn run(&mut self, call: CallKey, tool: String, arguments: &str) -> Option<RunEvent> {
        let unrecorded = self
            .unrecorded
            .take_if(|(unrecorded, _)| *unrecorded == call);
        if let Some((call, trouble)) = unrecorded {
            let note = format!("it was not run, since its start cannot be recorded: {trouble}");
            return Some(RunEvent::NeedsOperator { call, note });
        }
        let arguments = self.vault.restored(arguments.as_bytes());
        let arguments = String::from_utf8_lossy(&arguments).into_owned();
        let snapshot = self.snapshot.as_ref();
        let item = snapshot.and_then(|snapshot| snapshot.item_of(&call));
        let earlier = snapshot.zip(item);
        let earlier = earlier.map(|(snapshot, item)| snapshot.earlier(self.session, &tool, item));
        self.io
            .run(call, tool, arguments, earlier.unwrap_or_default());
        None
    }

    fn ask(&mut self, store: &mut TakeStore, ask: Ask) -> Option<RunEvent> {
        match snapshot::request(store, self.take, &self.model, &self.vault) {
            Ok(body) => {
                self.io.ask(ask, body);
                None
            }
            Err(why) => {
                let fault = ModelFault {
                    status: None,
                    why,
                    is_recoverable: false,
                    retry_after_ms: None,
                    was_streaming: false,
                };
                Some(RunEvent::NotReplied { ask, fault })
            }
        }
    }

    fn answer(
        &mut self,
        store: &mut TakeStore,
        call: &CallKey,
        text: String,
        is_error: bool,
    ) -> Option<RunEvent> {
        let item = self
            .snapshot
            .as_ref()
            .and_then(|snapshot| snapshot.item_of(call));
        let Some(item) = item else {
            self.notice(format!(
                "the output of {call} finds no call in {}",
                self.take
            ));
            return None;
        };
        // Its secrets were taken out where it came from: a tool, the operator, the ledger.
        let answer = Edit::Answer {
            call: item,
            text,
            is_error,
        };
        match self.grow(store, vec![answer]) {
            Ok(standing) => Some(standing),
            Err(error) => {
                self.notice(error.to_string());
                None
            }
        }
    }

    /// Carries out what a policy decided, as a take.
    fn act(&mut self, store: &mut TakeStore, decision: &Decision) -> Option<RunEvent> {
        let refused = |why| RunEvent::Refused {
            rule: decision.rule.clone(),
            item: decision.item,
            why,
        };
        let Some(snapshot) = &self.snapshot else {
            return Some(refused("the history is not read".to_owned()));
        };
        let place = (self.session, self.take);
        match act::act(store, place, snapshot, decision, Author::Policy) {
            Ok(acted) => {
                let take = match acted {
                    Acted::All(take) => take,
                    Acted::Alone(take) => {
                        self.machine.act_alone();
                        take
                    }
                };
                self.take = take;
                self.news.push(RunNews::Grown(take));
                Some(
                    self.stand(store)
                        .unwrap_or_else(|error| refused(error.to_string())),
                )
            }
            Err(why) => Some(refused(why)),
        }
    }

    /// Closes what is open, as a take.
    fn close(&mut self, store: &mut TakeStore) -> Option<RunEvent> {
        // What has started since the take was read last may have done its work.
        if let Err(error) = self.stand(store) {
            self.notice(error.to_string());
        }
        let snapshot = self.snapshot.as_ref()?;
        match act::close(store, (self.session, self.take), snapshot) {
            Ok(None) => None,
            Ok(Some(take)) => {
                self.take = take;
                self.news.push(RunNews::Grown(take));
                self.stand(store)
                    .map_err(|error| self.notice(error.to_string()))
                    .ok()
            }
            Err(why) => {
                self.notice(why);
                None
            }
        }
    }
}
