//! Who takes whose place, and when an exchange is over.

use super::*;
use crate::proxy::Ports;
use crate::proxy::recorder;
use std::sync::{OnceLock, Weak};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

fn state(folder: &TempDir, report: Report) -> Arc<ProxyState> {
    let recorder = Recorder::begin(recorder::RecorderOptions {
        path: Some(folder.path().join("proxy.jsonl")),
        root: None,
        upstreams: vec!["api.example:443".to_owned()],
        secrets: Vec::new(),
        clock: wall_clock,
        tell: Box::new(|_| {}),
    });
    let options = ProxyOptions {
        upstreams: Vec::new(),
        ports: Ports::default(),
        allow_remote: false,
        host_names: Vec::new(),
        insecure: Vec::new(),
        policy: retake_core::engine::Policy::default(),
        breakpoints: Vec::new(),
        has_operator: false,
        journal: None,
        intercepts: true,
        holds_requests: true,
        max_asks: 1,
    };
    let names = (vec!["api.example:443".to_owned()], Vec::new());
    let state = ProxyState::new(options, recorder.unwrap(), names, report);
    Arc::new(state.unwrap())
}

fn request(place: usize, credentials: u64) -> RequestKey {
    RequestKey {
        place,
        client: "openai-python 3.52.0".to_owned(),
        credentials,
        path_and_query: PathAndQuery::from_static("/v1/responses"),
        body: Bytes::from_static(b"{}"),
    }
}

/// An exchange that is held, whose client has sent its request so often before, and perhaps has left.
fn held(
    state: &ProxyState,
    id: u32,
    (retry, is_gone): (u32, bool),
) -> UnboundedReceiver<ExchangeMessage> {
    let (inbox, messages) = unbounded_channel();
    let mut under = ActiveExchange::new(inbox, request(0, 1), retry);
    (under.is_held, under.is_gone) = (true, is_gone);
    lock(&state.under_way).insert(ExchangeId(id), under);
    messages
}

/// Which of these inboxes is the one that was found.
fn which(
    found: Option<UnboundedSender<ExchangeMessage>>,
    inboxes: &mut [UnboundedReceiver<ExchangeMessage>],
) -> Option<usize> {
    found?.send(ExchangeMessage::Cut).unwrap();
    inboxes.iter_mut().position(|one| one.try_recv().is_ok())
}

#[test]
fn a_retry_takes_the_place_of_who_is_gone_before_that_of_who_waits() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(&folder, Arc::new(|_| {}));
    let like = request(0, 1);
    let mut inboxes = [(0, false), (1, false), (0, true)]
        .into_iter()
        .zip(1..)
        .map(|(who, id)| held(&state, id, who))
        .collect::<Vec<_>>();
    for stranger in [request(1, 1), request(0, 2)] {
        assert!(state.held_like(&stranger, 5).is_none());
    }
    assert_eq!(which(state.held_like(&like, 1), &mut inboxes), Some(2));
    // Now the third has sent it once before, as the second has; the first has not.
    assert_eq!(which(state.held_like(&like, 1), &mut inboxes), Some(0));
    assert_eq!(which(state.held_like(&like, 1), &mut inboxes), None);
    assert_eq!(which(state.held_like(&like, 0), &mut inboxes), None);
    assert_eq!(which(state.held_like(&like, 2), &mut inboxes), Some(0));
}

#[test]
fn an_exchange_is_under_way_until_it_is_handed_over() {
    let folder = tempfile::tempdir().unwrap();
    let stands: Arc<OnceLock<Weak<ProxyState>>> = Arc::default();
    let settled = Arc::new(Mutex::new(Vec::new()));
    let (of, keeps) = (stands.clone(), settled.clone());
    let state = state(
        &folder,
        Arc::new(move |_| {
            let state = of.get().and_then(Weak::upgrade);
            lock(&keeps).extend(state.map(|state| state.is_settled()));
        }),
    );
    stands.set(Arc::downgrade(&state)).unwrap();
    let seen = ExchangeSummary {
        id: state.number(),
        ..ExchangeSummary::default()
    };
    let (inbox, _messages) = unbounded_channel();
    state.begins(&seen, ActiveExchange::new(inbox, request(0, 1), 0));
    let over = RecordedExchange {
        seen: ExchangeSummary {
            phase: ExchangePhase::Ended(retake_core::exchange::ExchangeEnding::Passed),
            ..seen
        },
        ..RecordedExchange::default()
    };
    state.over_and_recorded(over, None);
    assert!(state.is_settled());
    assert_eq!(*lock(&settled), [false, false]);
}

#[test]
fn what_is_not_recorded_when_a_proxy_ends_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let state = state(&folder, Arc::new(|_| {}));
    for _ in 0..2 {
        let seen = ExchangeSummary {
            id: state.number(),
            ..ExchangeSummary::default()
        };
        let (inbox, _messages) = unbounded_channel();
        state.begins(&seen, ActiveExchange::new(inbox, request(0, 1), 0));
        state.recorder.began(RecordedExchange {
            seen,
            ..RecordedExchange::default()
        });
    }
    state.record(RecordedExchange {
        seen: ExchangeSummary {
            id: ExchangeId(1),
            phase: ExchangePhase::Ended(retake_core::exchange::ExchangeEnding::Passed),
            ..ExchangeSummary::default()
        },
        ..RecordedExchange::default()
    });
    state.end();
    let text = std::fs::read_to_string(folder.path().join("proxy.jsonl")).unwrap();
    assert_eq!(text.matches("\"type\":\"began\"").count(), 2, "{text}");
    assert!(text.contains("\"type\":\"lost\",\"at\":"), "{text}");
    assert!(text.contains("\"count\":1}"), "{text}");
    assert!(text.contains("\"type\":\"closed\""), "{text}");
}
