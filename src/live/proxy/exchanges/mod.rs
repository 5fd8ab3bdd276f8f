//! Exchanges that are looked at, any number at once. One that may be held is driven by a task of its own; one that
//! is only watched passes in the task of its connection.
//!
//! What reaches an exchange from outside of its wire (the end of its hold, the operator, a retry of its client)
//! is a message in its inbox, so that nobody waits for anybody.

mod ended;
mod injected;
mod inspect_request;
mod pump;
mod replayed;
mod state;
mod turns;
mod watched;

pub(crate) use replayed::replay_all;
pub(crate) use state::{ProxyState, UpstreamWatcher};

use super::body::{Body, framed};
use super::chaos::{Chaos, ReplyId};
use super::client_side::{ClientBody, ClientSide};
use super::headers::{ask_for_plain, content_encoding};
use super::judge::{ExchangeVerdict, RequestReading, shielded};
use super::news::{Observer, OpenedSocket, Passed, ProxyRequest, TurnedAway, Watch};
use super::recorder::RecordedExchange;
use crate::http::secrets_shown;
use http_body_util::BodyExt;
use hyper::Response;
use injected::Injected;
use inspect_request::{InspectInput, InspectedRequest};
use pump::Pump;
use retake_core::chaos;
use retake_core::exchange::client::Client;
use retake_core::exchange::machine::ExchangeSettings;
use retake_core::exchange::{ExchangeId, ExchangePhase, ExchangeSummary};
use retake_core::redact::HeaderSecret;
use retake_core::session::Dialect;
use retake_core::wire::stream::FRAMES;
use retake_core::wire::write::request::with_route;
use retake_core::wire::{RequestHead, route};
use state::{ActiveExchange, ExchangeMessage, RequestKey, ms, ms_of};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::unbounded_channel;
use turns::WebSocketRecorder;
use watched::WatchedExchange;

/// An exchange that takes longer is written down before its end.
const WHILE: Duration = Duration::from_millis(200);

/// What becomes of an exchange where faults are injected.
#[derive(Default)]
struct Chance {
    /// The fault that its reply is to get, and its request.
    fault: Option<(Arc<Chaos>, chaos::InjectionOrder, chaos::ChaosRequest)>,
    /// Learns the id of its reply.
    reply_id: Option<ReplyId>,
}

impl UpstreamWatcher {
    /// A request, to be looked at.
    fn to_inspect(&self, question: &ProxyRequest) -> InspectInput {
        InspectInput {
            judge: self.state.judge.clone(),
            views: self.views.clone(),
            conversations: self.conversations.clone(),
            dialect: question.dialect,
            encoding: Some(content_encoding(&question.lines)).filter(|it| !it.is_empty()),
            body: question.body.clone(),
        }
    }

    /// What is known of an exchange before it begins; its header lines have `shown` these secrets.
    fn seen(
        &self,
        id: ExchangeId,
        question: &ProxyRequest,
        shown: &[HeaderSecret],
        (client, request_head): (&Client, &RequestHead),
    ) -> ExchangeSummary {
        ExchangeSummary {
            id,
            at_ms: ms_of(question.at),
            upstream: self.place,
            client: client.name.clone(),
            method: question.method.to_string(),
            path: self.state.clean(question.path_and_query.path(), shown),
            dialect: Some(question.dialect),
            model: self.state.clean(&request_head.model, shown),
            streams: request_head.streams,
            sent: question.body.len() as u64,
            ..ExchangeSummary::default()
        }
    }

    /// Whether nothing of an exchange is ever held, mended or changed: it passes as it comes.
    fn only_watches(&self, dialect: Dialect) -> bool {
        let is_framed = dialect.facts().stream_type == FRAMES;
        self.chaos.is_none() && !self.state.judge.decides() && !is_framed
    }

    /// What a request means to the faults that are injected.
    async fn chance(
        &self,
        chaos: &Arc<Chaos>,
        (dialect, body, reading): (Dialect, &[u8], &Arc<RequestReading>),
        is_retry: bool,
    ) -> Chance {
        let Some((scheduled, request)) = chaos.schedule(dialect, body, is_retry) else {
            return Chance::default();
        };
        if scheduled.follows_change {
            // Which rule it is holds no secret.
            let verdict = judged(&self.state, (reading.clone(), Vec::new())).await;
            if let Some(finding) = verdict.findings.first() {
                let mut course = chaos.course();
                course.refused(scheduled.conversation, finding.rule.id);
            }
        }
        let fault = scheduled.order.map(|order| (chaos.clone(), order, request));
        Chance {
            fault,
            reply_id: ReplyId::of(chaos, dialect, scheduled.conversation),
        }
    }

    /// Begins an exchange in a task of its own.
    fn begin(&self, pump: Pump, looks: bool) {
        let state = self.state.clone();
        let to_judge = looks.then(|| (pump.reading.clone(), pump.secrets()));
        tokio::spawn(async move {
            let verdict = match to_judge {
                Some(to_judge) => judged(&state, to_judge).await,
                None => ExchangeVerdict::sound(),
            };
            pump.run(verdict).await;
        });
    }
}

impl UpstreamWatcher {
    /// Answers a request, or reads the reply to one that the operator sends again, which `replays` an exchange.
    pub(crate) async fn answer(
        &self,
        mut question: ProxyRequest,
        replays: Option<ExchangeId>,
    ) -> Response<Body> {
        if self.only_watches(question.dialect) {
            return WatchedExchange::pass(self, question).await;
        }
        let dialect = question.dialect;
        let mut client = Client::of(|name| question.lines.get(name)?.to_str().ok());
        if let Some(id) = replays {
            // No try of a client is taken for it.
            client.name = format!("replay of {id}");
        }
        let look = self.to_inspect(&question);
        let InspectedRequest {
            plain,
            reading,
            request_head,
            is_readable,
            restored,
            note,
        } = look.look().await.at(dialect, &question.path_and_query);
        let body = match route(question.path_and_query.path()) {
            Some(route) => with_route(&route, &plain),
            None => (&*plain).into(),
        };
        let request = RequestKey::new(self.place, &client, &question);
        let (side, reply) = ClientSide::new();
        let chance = match &self.chaos {
            Some(chaos) if is_readable => {
                self.chance(chaos, (dialect, &body, &reading), client.retry > 0)
                    .await
            }
            _ => Chance::default(),
        };
        if chance.reply_id.is_some() {
            // Nothing can be read in what is encoded.
            ask_for_plain(&mut question.lines);
        }
        let seen = |id, question: &ProxyRequest, client: &Client| {
            let shown = secrets_shown(&question.lines);
            self.seen(id, question, &shown, (client, &request_head))
        };
        if let Some((chaos, order, heard)) = chance.fault {
            let seen = seen(self.state.number(), &question, &client);
            self.state.begins(&seen, ActiveExchange::default());
            let injected = Injected {
                watcher: self.clone(),
                chaos,
                order,
                reply_id: chance.reply_id,
                request: heard,
                tells_usage: request_head.wants_usage,
                seen,
                question,
                plain,
                client: side,
            };
            tokio::spawn(injected.run());
        } else if let Some(inbox) = self.state.held_like(&request, client.retry) {
            // If it ends at this moment nobody answers; the client is to retry.
            let _ = inbox.send(ExchangeMessage::Joined(side, question.presence));
        } else {
            // Nobody waits for the reply to a replay.
            let intercepts = is_readable && self.state.intercepts() && replays.is_none();
            let seen = seen(self.state.number(), &question, &client);
            let retry = client.retry;
            let settings = ExchangeSettings {
                dialect,
                client,
                streams: request_head.streams,
                has_output_schema: request_head.has_output_schema,
                holds_text: self.state.judge.holds_text(&reading),
                tells_usage: request_head.wants_usage,
                intercepts,
            };
            let (inbox, messages) = unbounded_channel();
            self.state
                .begins(&seen, ActiveExchange::new(inbox, request, retry));
            let mut pump = Pump::new(
                self.clone(),
                settings,
                seen,
                (question, plain, reading),
                side,
                messages,
            );
            pump.seen.notes.extend(note.map(str::to_owned));
            pump.seen.notes.extend(replays.map(|id| {
                format!("the operator sent exchange {id} again: no client gets this reply")
            }));
            if let Some((notes, reading)) = restored {
                pump.seen.notes.extend(notes);
                pump.seen.rewritten.again = true;
                pump.send_what_is_read(reading);
            }
            let looks = intercepts && self.state.holds_requests;
            (pump.is_readable, pump.was_looked_at) = (is_readable, looks);
            pump.reply_id = chance.reply_id;
            self.begin(pump, looks);
        }
        match reply.await {
            Ok(reply) => framed(Some(dialect), reply.map(|body| body.boxed_unsync())),
            // It was cut before its head: nothing of this reaches the client.
            Err(_) => Response::new(ClientBody::broken().boxed_unsync()),
        }
    }
}

impl Watch for UpstreamWatcher {
    async fn exchange(&self, question: ProxyRequest) -> Response<Body> {
        self.answer(question, None).await
    }

    fn passed(&self, passed: Passed) {
        let client = Client::of(|name| (name == "user-agent").then_some(&passed.agent));
        let seen = ExchangeSummary {
            id: self.state.number(),
            at_ms: ms_of(passed.at),
            upstream: self.place,
            client: client.name,
            method: passed.method.to_string(),
            path: self.state.clean(&passed.path, &[]),
            status: passed.status,
            sent: passed.sent,
            received: passed.received,
            first_ms: passed.first.map(|time| ms(time.as_millis())),
            total_ms: Some(ms(passed.total.as_millis())),
            phase: ExchangePhase::Ended(passed.ending),
            ..ExchangeSummary::default()
        };
        self.state.over_and_recorded(
            RecordedExchange {
                seen,
                ..RecordedExchange::default()
            },
            None,
        );
    }

    fn turned_away(&self, turned: TurnedAway) {
        let TurnedAway {
            client,
            method,
            path,
            why,
        } = turned;
        let path = self.state.clean(&path, &[]);
        self.state
            .notice(format!("{client}: {method} {path} was turned away: {why}"));
    }

    fn connected(&self) -> Arc<()> {
        self.state.connected.clone()
    }

    fn spoke_tls(&self, client: std::net::SocketAddr) {
        self.state.notice(format!(
            "{client} speaks TLS to this listener: its base URL has to begin with http://"
        ));
    }

    fn socket(&self, opened: OpenedSocket) -> Option<Box<dyn Observer>> {
        let seen = self.state.observe(self.place, &opened);
        self.state.report_seen(seen.clone());
        let state = self.state.clone();
        Some(Box::new(WebSocketRecorder::new(state, seen, &opened)))
    }
}

/// Judges a request before it leaves.
async fn judged(
    state: &ProxyState,
    (request, secrets): (Arc<RequestReading>, Vec<(String, String)>),
) -> ExchangeVerdict {
    let judge = state.judge.clone();
    let judged = if request.is_small(0) {
        shielded(|| judge.request(&request, &secrets))
    } else {
        let judged = tokio::task::spawn_blocking(move || judge.request(&request, &secrets));
        judged.await.ok()
    };
    judged.unwrap_or_else(ExchangeVerdict::sound)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
