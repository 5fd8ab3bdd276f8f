//! The run of a held exchange: started from its order, reported as proxy news, and read for its
//! outcome in the end.

use crate::http::{Headers, Http, HttpTarget};
use crate::live::{
    IoThread, Judged, LiveRun, ModelBinding, Phase, Report as RunReport, RunInfo, RunInput, RunIo,
    RunNews, Thread, UpstreamResult,
};
use crate::lock::lock;
use crate::model::{Model, Timeouts};
use crate::proxy::news::{ProxyNews, Report};
use crate::takes::{About, wall_clock};
use crate::{TakeError, TakeStore};
use retake_core::engine::{Breakpoint, Config, Machine, Policy, Reason, RunFault, ToolOwner};
use retake_core::exchange::{ExchangeFinding, ExchangeId};
use retake_core::redact::{Redactor, Vault};
use retake_core::rules::Finding;
use retake_core::session::ledger::{Ending, LedgerEvent, Usage};
use retake_core::session::takes::{Author, Take};
use retake_core::session::{Dialect, Tool};
use retake_core::wire::tools::read_tools;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the run of a hold is called in its journal, before its number.
pub(crate) const NAME: &str = "exchange";

/// How often a journal is tried that another store has not closed yet, and how long between.
const TRIES: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(50);

/// A run with what belongs to its exchange.
pub(crate) struct HeldRun {
    id: ExchangeId,
    run: LiveRun,
    /// The agent's request, as it came.
    base: Vec<u8>,
    journal: PathBuf,
    has_operator: bool,
    /// Why the model cannot be called again, if it cannot.
    closed: Option<String>,
    /// Whether the agent has words of the held reply already.
    text_sent: bool,
    report: Report,
    /// Who let something pass, and the rule of what that was.
    releases: Vec<(Option<String>, Author)>,
    /// The findings of the last report.
    found: Vec<RunFault>,
    /// The wait reason of the last report.
    waits: Option<HoldUpdate>,
}

/// A run that has started, the store of its takes and its first news.
pub(crate) type StartedRun = (Box<HeldRun>, Box<TakeStore>, Vec<RunNews>);

impl HeldRun {
    /// Starts the run of an order. Fails, in words for the operator, where the exchange cannot be held.
    pub(crate) fn start(
        order: HoldOrder,
        shared: &HoldContext,
        on_event: RunReport,
    ) -> Result<StartedRun, String> {
        let settings = &shared.settings;
        let name = format!("{NAME} {}", order.id);
        let closed = order.closed;
        let config = Config {
            has_operator: settings.has_operator,
            tools_are: ToolOwner::Agents {
                asks: if closed.is_some() { 0 } else { settings.asks },
            },
            policy: settings.policy.clone(),
            breakpoints: shared.breakpoints(),
            seed: wall_clock(),
            ..Config::default()
        };
        let secrets = settings.secrets.iter().cloned();
        let secrets = secrets.chain(order.headers.secrets());
        let tools = tools_of(&order.request);
        let words = tools.iter().map(|tool| &*tool.name);
        let redactor = Redactor::sparing(secrets, words.chain([&*order.model]));
        let mut vault = Vault::default();
        let first = redactor.json(&order.request, &mut vault).into_owned();
        let http = shared.http(&order.target, order.is_verified)?;
        let model = Model::of_client(order.dialect, order.target, order.headers, http);
        let io = RunIo::in_room(model, shared.room(), on_event);
        let about = About {
            agent: name.clone(),
            format: order.dialect.facts().format.to_owned(),
            scripted: false,
            model: order.model.clone(),
        };
        let who = RunInfo {
            name,
            file: String::new(),
            model: ModelBinding::OfClient {
                dialect: order.dialect,
                name: order.model,
            },
            tools: Vec::new(),
            redactor,
            vault,
        };
        let store = TakeStore::begin_run(&order.journal, about, &first, wall_clock);
        let mut store = Box::new(store.map_err(|error| error.to_string())?);
        let mut run = LiveRun::new(Machine::new(config), who, io);
        let news = run.start_held(&mut store, order.came);
        let news = news.map_err(|error| error.to_string())?;
        let path = order.journal.clone();
        (shared.report)(ProxyNews::Journal { id: order.id, path });
        let run = Box::new(Self {
            id: order.id,
            run,
            base: order.request,
            journal: order.journal,
            has_operator: settings.has_operator,
            closed,
            text_sent: order.text_sent,
            report: shared.report.clone(),
            releases: Vec::new(),
            found: Vec::new(),
            waits: None,
        });
        Ok((run, store, news))
    }

    pub(crate) fn run(&self) -> &LiveRun {
        &self.run
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.run.phase(), Phase::Ended(_))
    }

    pub(crate) fn journal(&self) -> &Path {
        &self.journal
    }

    /// The store of the run, which nobody has open, or has just closed.
    pub(crate) fn open(&self) -> Result<TakeStore, String> {
        let mut tries = 0;
        loop {
            let opened = TakeStore::open_run(&self.journal, wall_clock);
            let (store, _) = opened.map_err(|error| error.to_string())?;
            tries += 1;
            let Some(trouble) = store.not_recording() else {
                return Ok(store);
            };
            if tries == TRIES {
                self.notice(&trouble.to_string());
                return Ok(store);
            }
            std::thread::sleep(BETWEEN);
        }
    }

    /// Reports everything again to a new watcher.
    pub(crate) fn start_again(&mut self, store: &mut TakeStore) -> Result<Vec<RunNews>, TakeError> {
        if store.takes().current() != self.run.take() {
            store.go_to(self.run.take())?;
        }
        self.run.start_again(store)
    }

    /// Handles an input; a change that the operator made to its takes is reported as a decision.
    pub(crate) fn handle(&mut self, store: &mut TakeStore, input: RunInput) -> Vec<RunNews> {
        if let RunInput::Edited(take) = input
            && let Some(take) = store.takes().get(take)
        {
            let reported = take.clone();
            self.report_edited(&reported);
        }
        self.run.handle(store, input)
    }

    fn report_edited(&mut self, take: &Take) {
        let action = take.cause.action.clone();
        self.decided(
            take.cause.rule.clone(),
            action.unwrap_or_else(|| take.title.clone()),
            take.cause.by,
            take.wording.clone(),
        );
    }

    fn decided(
        &mut self,
        rule: Option<String>,
        action: String,
        by: Author,
        wording: Option<String>,
    ) {
        if action == "release" {
            self.releases.push((rule.clone(), by));
        }
        (self.report)(ProxyNews::Decided {
            id: self.id,
            rule,
            action,
            by,
            wording,
            text_sent: self.text_sent,
        });
    }

    /// Reports the news of the run to the proxy; returns what is new for the exchange.
    pub(crate) fn report(&mut self, news: &[RunNews]) -> Vec<HoldUpdate> {
        let mut words = Vec::new();
        for news in news {
            match news {
                RunNews::Recorded(LedgerEvent::Decided {
                    rule,
                    action,
                    by,
                    wording,
                    ..
                }) => self.decided(rule.clone(), action.clone(), *by, wording.clone()),
                RunNews::Judged(judged) => words.extend(self.report_found(judged)),
                RunNews::Notice(text) => self.notice(text),
                _ => {}
            }
        }
        words.extend(self.new_waits());
        words
    }

    /// What it waits for, where that is new.
    fn new_waits(&mut self) -> Option<HoldUpdate> {
        let waits = match self.run.phase() {
            Phase::Paused { reasons } => {
                let why = reasons.iter().map(|reason| match reason {
                    Reason::TurnLimit { .. } => self.closed.clone().unwrap_or(reason.words()),
                    reason => reason.words(),
                });
                HoldUpdate::AwaitsDecision(why.collect::<Vec<_>>().join("; "))
            }
            Phase::Asking { .. } | Phase::Waiting { .. } => HoldUpdate::AwaitsModel,
            Phase::Idle | Phase::Running { .. } | Phase::Ended(_) => return None,
        };
        if self.waits.as_ref() == Some(&waits) {
            return None;
        }
        self.waits = Some(waits.clone());
        Some(waits)
    }

    fn report_found(&mut self, judged: &Judged) -> Option<HoldUpdate> {
        let faults = judged.faults();
        if faults.is_empty() || self.found == faults {
            return None;
        }
        self.found = faults.to_vec();
        let places = faults.iter().map(|fault| (fault.rule, fault.item));
        let places: HashSet<_> = places.collect();
        let findings = judged.findings().iter();
        let findings = findings.filter(|one| places.contains(&(one.rule.id, one.item)));
        let findings: Vec<Finding> = findings.cloned().collect();
        let session = judged.recording().sessions.first()?;
        let found = findings.iter().map(|one| ExchangeFinding::of(one, session));
        let word = HoldUpdate::Found(found.collect());
        (self.report)(ProxyNews::Found {
            id: self.id,
            findings: Arc::new(findings),
            session: judged.shared(),
        });
        Some(word)
    }

    /// Says something to the operator about this exchange.
    pub(crate) fn notice(&self, text: &str) {
        (self.report)(ProxyNews::Notice(format!("{NAME} {}: {text}", self.id)));
    }

    /// What is to be done with the exchange, once its run has ended.
    pub(crate) fn outcome(&self, store: &mut TakeStore) -> Option<HoldOutcome> {
        let Phase::Ended(ending) = self.run.phase() else {
            return None;
        };
        let outcome = match ending {
            Ending::Final | Ending::HandedOver => self.handed_over(store),
            Ending::Fallback => self.value(store),
            Ending::Raised { rule } => {
                let text = self.run.fault_of(&rule).unwrap_or("the policy refuses it");
                let why = format!("{rule}: {text}");
                Ok(HoldOutcome::Refused { why })
            }
            Ending::Aborted => {
                let why = "the operator cut the exchange".to_owned();
                Ok(HoldOutcome::Cut { why })
            }
            Ending::TurnLimit { turns } => Ok(released(match &self.closed {
                Some(why) => why.clone(),
                None => {
                    format!("the model was called again {turns} times, and it was wrong each time")
                }
            })),
            Ending::ModelFailed { why } => {
                Ok(released(format!("the request to the model failed: {why}")))
            }
            Ending::Unattended { why } => Ok(released(why)),
        };
        // An unreadable take gives no decision to pass on.
        Some(outcome.unwrap_or_else(|error| released(format!("the take is lost: {error}"))))
    }

    fn handed_over(&self, store: &mut TakeStore) -> Result<HoldOutcome, TakeError> {
        let has_replies = self.run.has_replies();
        // A history that waits for the model has nothing for the agent but what came first.
        if has_replies && self.run.awaits_reply() {
            return Ok(released(self.released_by()));
        }
        let Some(take) = self.run.changed(store)? else {
            return Ok(released(self.released_by()));
        };
        let edited = Box::new(self.edited(store, take));
        Ok(match (has_replies, edited.last_reply.is_empty()) {
            (false, _) => HoldOutcome::Request(edited),
            (true, false) => HoldOutcome::Reply(Box::new(EditedExchange {
                let_pass_by: self.lets_fault_pass().then(|| self.released_by()),
                ..*edited
            })),
            (true, true) => released(self.released_by()),
        })
    }

    fn value(&self, store: &mut TakeStore) -> Result<HoldOutcome, TakeError> {
        let take = store.takes().get(self.run.take());
        let text = take.and_then(|take| take.fallback.clone());
        let changed = self.run.changed(store)?.unwrap_or_default();
        Ok(HoldOutcome::Value {
            text: text.unwrap_or_default(),
            edited: Box::new(self.edited(store, changed)),
        })
    }

    fn edited(&self, store: &TakeStore, take: Vec<u8>) -> EditedExchange {
        EditedExchange {
            base: self.base.clone(),
            take,
            last_reply: self.run.last_reply(store).unwrap_or_default().to_owned(),
            usage: store.ledger().usage(),
            let_pass_by: None,
        }
    }

    /// Whether the reply is still wrong and was let pass.
    fn lets_fault_pass(&self) -> bool {
        let mut rules = self.releases.iter().filter_map(|(rule, _)| rule.as_deref());
        rules.any(|rule| self.run.fault_of(rule).is_some())
    }

    /// Who let it pass.
    fn released_by(&self) -> String {
        let by = match self.releases.last().map(|(_, by)| by) {
            Some(Author::Policy) => "policy",
            Some(Author::Operator | Author::Fix) => "operator",
            None if self.has_operator => "operator",
            None => "nobody is there to decide",
        };
        by.to_owned()
    }
}

/// The tools that a request offers.
fn tools_of(request: &[u8]) -> Vec<Tool> {
    let request = serde_json::from_slice::<serde_json::Value>(request);
    let tools = request.map(|request| read_tools(&request["tools"]).0);
    // A request that is no JSON offers none.
    tools.unwrap_or_default()
}

fn released(by: String) -> HoldOutcome {
    HoldOutcome::Release { by }
}

// What is held, what it reports, and how it ends.

/// Calls to the model that retake adds to one exchange before it turns to the operator.
pub const ASKS: u32 = 5;

/// An exchange that is to be held.
#[derive(Debug)]
pub struct HoldOrder {
    pub id: ExchangeId,
    /// How it is spelled.
    pub dialect: Dialect,
    /// The model of the request.
    pub model: String,
    /// Where the client's request goes, with its path and its query.
    pub target: HttpTarget,
    /// Whether the server must prove who it is.
    pub is_verified: bool,
    /// The client's own lines ([`Headers::passed_on`]).
    pub headers: Headers,
    /// The request, decoded and otherwise as it came.
    pub request: Vec<u8>,
    pub came: UpstreamResult,
    /// Why the model cannot be called again, if it cannot.
    pub closed: Option<String>,
    /// Whether the agent has words of the held reply already.
    pub text_sent: bool,
    /// Where the journal of the hold is to be; there is no such file yet.
    pub journal: PathBuf,
}

impl HoldOrder {
    /// Bytes of what is held.
    pub(crate) fn size(&self) -> usize {
        let came = match &self.came {
            UpstreamResult::Reply(answer) => answer.json.len(),
            UpstreamResult::Nothing | UpstreamResult::Refusal(_) => 0,
        };
        self.request.len() + came
    }
}

/// What the wire is to do with an exchange.
#[derive(Debug, Clone, PartialEq)]
pub enum HoldOutcome {
    /// What is held passes as it came: a reply, a refusal, a request.
    Release {
        /// `operator`, `policy`, or why nobody was waited for any longer.
        by: String,
    },
    /// Another request goes to the provider than the agent's: its repair.
    Request(Box<EditedExchange>),
    /// The agent gets another reply than the provider's, or the provider is to see another
    /// history than the agent.
    Reply(Box<EditedExchange>),
    /// The agent gets this text as the model's final message.
    Value {
        text: String,
        /// What was changed beside it.
        edited: Box<EditedExchange>,
    },
    /// The agent gets an error that it does not try again on.
    Refused {
        /// Why; it holds text of the exchange.
        why: String,
    },
    /// The connection to the agent is cut.
    Cut { why: String },
    /// There is nobody left to answer.
    ClientLeft,
}

/// What an exchange has become. Secrets are in their places.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EditedExchange {
    /// The agent's request, as it came.
    pub base: Vec<u8>,
    /// The same with everything after it, as the last take has it: what the provider is to see.
    pub take: Vec<u8>,
    /// The last reply of the provider that the take goes on from, as one piece of JSON; empty
    /// where there was none.
    pub last_reply: String,
    /// Tokens of all replies that retake requested, and of the held one.
    pub usage: Usage,
    /// Who let the last reply pass although something is still wrong with it; `None` where nothing is.
    pub let_pass_by: Option<String>,
}

/// Progress of a hold before its decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HoldUpdate {
    Found(Vec<ExchangeFinding>),
    /// It waits for a decision: why, in a few words that hold text of the exchange.
    AwaitsDecision(String),
    /// It waits for another reply of the model.
    AwaitsModel,
}

// What the runs of all holds share.

/// How exchanges are held.
#[derive(Debug, Clone)]
pub struct HoldSettings {
    /// What is done without asking.
    pub policy: Policy,
    /// Where a hold stops although nothing is wrong, to begin with.
    pub breakpoints: Vec<Breakpoint>,
    /// Whether somebody is there to decide. Where nobody is, everything passes that the policy does not settle.
    pub has_operator: bool,
    /// Secrets to be taken out of what is written, each with its placeholder; those in header
    /// lines are known besides.
    pub secrets: Vec<(String, String)>,
    /// The most calls to the model that retake adds to one exchange.
    pub asks: u32,
}

impl Default for HoldSettings {
    /// Nobody is there, and no policy: everything passes.
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            breakpoints: Vec::new(),
            has_operator: false,
            secrets: Vec::new(),
            asks: ASKS,
        }
    }
}

/// What the runs of all holds share.
pub(crate) struct HoldContext {
    pub(crate) settings: HoldSettings,
    pub(crate) report: Report,
    pub(crate) breakpoints: Mutex<Vec<Breakpoint>>,
    thread: Thread,
    /// The clients by whether they speak TLS, and whether servers must prove who they are. Reading certificates
    /// takes a while.
    clients: Mutex<HashMap<(bool, bool), Http>>,
}

impl HoldContext {
    /// Fails where the system gives no thread.
    pub(crate) fn start(settings: HoldSettings, report: Report) -> io::Result<Self> {
        Ok(Self {
            breakpoints: Mutex::new(settings.breakpoints.clone()),
            settings,
            report,
            thread: Thread::start()?,
            clients: Mutex::default(),
        })
    }

    /// A slot in the thread that calls models.
    pub(crate) fn room(&self) -> IoThread {
        self.thread.room()
    }

    pub(crate) fn breakpoints(&self) -> Vec<Breakpoint> {
        lock(&self.breakpoints).clone()
    }

    /// The client for a target, which is believed as the exchange itself believes it.
    pub(crate) fn http(&self, target: &HttpTarget, is_verified: bool) -> Result<Http, String> {
        let kind = (target.is_encrypted(), is_verified);
        let mut clients = lock(&self.clients);
        if let Some(known) = clients.get(&kind) {
            return Ok(known.clone());
        }
        let connect = Timeouts::default().connect;
        let http = Http::trusting(kind.0, kind.1, connect).map_err(|error| error.to_string())?;
        clients.insert(kind, http.clone());
        Ok(http)
    }
}
