//! The run of a held exchange: begun from its order, told in the proxy's words, and read for its
//! outcome in the end.

use super::holder::Shared;
use super::{HoldUpdate, Mended, Order, Outcome, WaitReason};
use crate::live::{Input, Judged, News, Partner, Phase, Report, Run, Who, World};
use crate::model::Model;
use crate::proxy::News as Told;
use crate::takes::{About, wall_clock};
use crate::{NoTake, Workbench};
use retake_core::dialects::tools::read_tools;
use retake_core::engine::{Breakpoint, Config, Fault, Machine, Reason, Whose};
use retake_core::exchange::{ExchangeId, Found};
use retake_core::redact::{Redactor, Vault};
use retake_core::rules::Finding;
use retake_core::session::Tool;
use retake_core::session::ledger::{Ending, LedgerEvent};
use retake_core::session::takes::{Author, Take};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What the run of a hold is called in its journal, before its number.
pub(super) const NAME: &str = "exchange";

/// How often a journal is tried that another workbench has not closed yet, and how long between.
const TRIES: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(50);

/// A run with what belongs to its exchange.
pub(super) struct HeldRun {
    id: ExchangeId,
    run: Run,
    /// The agent's request, as it came.
    base: Vec<u8>,
    journal: PathBuf,
    has_operator: bool,
    /// Why the model cannot be asked again, where it cannot.
    closed: Option<String>,
    /// Whether the agent has words of the held reply already.
    text_sent: bool,
    report: super::holder::Report,
    /// Who let something pass, and the rule of what that was.
    releases: Vec<(Option<String>, Author)>,
    /// What was told as found last.
    found: Vec<Fault>,
    /// What was told as waited for last.
    waits: Option<WaitReason>,
}

/// A run that has begun, its workbench and its first news.
pub(super) struct Begun {
    pub(super) run: Box<HeldRun>,
    pub(super) bench: Box<Workbench>,
    pub(super) news: Vec<News>,
}

impl HeldRun {
    /// Begins the run of an order. Fails, in words for the operator, where the exchange cannot be held.
    pub(super) fn begin(
        order: Order,
        shared: &Shared,
        breakpoints: Vec<Breakpoint>,
        hears: Report,
    ) -> Result<Begun, String> {
        let settings = &shared.settings;
        let name = format!("{NAME} {}", order.id);
        let closed = order.closed;
        let config = Config {
            has_operator: settings.has_operator,
            tools_are: Whose::Agents {
                asks: if closed.is_some() { 0 } else { settings.asks },
            },
            policy: settings.policy.clone(),
            breakpoints,
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
        let world = World::in_room(model, shared.room(), hears);
        let about = About {
            agent: name.clone(),
            format: order.dialect.facts().format.to_owned(),
            scripted: false,
            model: order.model.clone(),
        };
        let who = Who {
            name,
            file: String::new(),
            model: Partner::OfClient {
                dialect: order.dialect,
                name: order.model,
            },
            tools: Vec::new(),
            redactor,
            vault,
        };
        let bench = Workbench::begin_run(&order.journal, about, &first, wall_clock);
        let mut bench = Box::new(bench.map_err(|error| error.to_string())?);
        let mut run = Run::new(Machine::new(config), who, world);
        let news = run.begin_held(&mut bench, order.came);
        let news = news.map_err(|error| error.to_string())?;
        let path = order.journal.clone();
        (shared.report)(Told::Journal { id: order.id, path });
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
        Ok(Begun { run, bench, news })
    }

    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    pub(super) fn journal(&self) -> &Path {
        &self.journal
    }

    /// The workbench of the run, which nobody has open, or has just closed.
    pub(super) fn open(&self) -> Result<Workbench, String> {
        let mut tries = 0;
        loop {
            let opened = Workbench::open_run(&self.journal, wall_clock);
            let (bench, _) = opened.map_err(|error| error.to_string())?;
            tries += 1;
            let Some(trouble) = bench.not_recording() else {
                return Ok(bench);
            };
            if tries == TRIES {
                self.notice(&trouble.to_string());
                return Ok(bench);
            }
            std::thread::sleep(BETWEEN);
        }
    }

    /// Whoever watches from now on is told everything again.
    pub(super) fn begin_again(&mut self, bench: &mut Workbench) -> Result<Vec<News>, NoTake> {
        if bench.takes().current() != self.run.take() {
            bench.go_to(self.run.take())?;
        }
        self.run.begin_again(bench)
    }

    /// The run hears something; what the operator did to its takes is told as a decision.
    pub(super) fn hear(&mut self, bench: &mut Workbench, input: Input) -> Vec<News> {
        if let Input::Mended(take) = input
            && let Some(take) = bench.takes().get(take)
        {
            let told = take.clone();
            self.tell_mended(&told);
        }
        self.run.hear(bench, input)
    }

    fn tell_mended(&mut self, take: &Take) {
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
        (self.report)(Told::Decided {
            id: self.id,
            rule,
            action,
            by,
            wording,
            text_sent: self.text_sent,
        });
    }

    /// Tells the proxy what the run told; gives what is new of it for the exchange.
    pub(super) fn tell(&mut self, news: &[News]) -> Vec<HoldUpdate> {
        let mut words = Vec::new();
        for news in news {
            match news {
                News::Recorded(LedgerEvent::Decided {
                    rule,
                    action,
                    by,
                    wording,
                    ..
                }) => self.decided(rule.clone(), action.clone(), *by, wording.clone()),
                News::Judged(judged) => words.extend(self.tell_found(judged)),
                News::Notice(said) => self.notice(said),
                _ => {}
            }
        }
        words.extend(self.new_waits().map(HoldUpdate::Waits));
        words
    }

    /// What it waits for, where that is new.
    fn new_waits(&mut self) -> Option<WaitReason> {
        let waits = match self.run.phase() {
            Phase::Paused { reasons } => {
                let why = reasons.iter().map(|reason| match reason {
                    Reason::TurnLimit { .. } => self.closed.clone().unwrap_or(reason.words()),
                    reason => reason.words(),
                });
                WaitReason::ForDecision(why.collect::<Vec<_>>().join("; "))
            }
            Phase::Asking { .. } | Phase::Waiting { .. } => WaitReason::ForModel,
            Phase::Idle | Phase::Running { .. } | Phase::Ended(_) => return None,
        };
        if self.waits.as_ref() == Some(&waits) {
            return None;
        }
        self.waits = Some(waits.clone());
        Some(waits)
    }

    fn tell_found(&mut self, judged: &Judged) -> Option<HoldUpdate> {
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
        let found = findings.iter().map(|one| Found::of(one, session));
        let word = HoldUpdate::Found(found.collect());
        (self.report)(Told::Found {
            id: self.id,
            findings: Arc::new(findings),
            session: judged.shared(),
        });
        Some(word)
    }

    /// Says something to the operator about this exchange.
    pub(super) fn notice(&self, said: &str) {
        (self.report)(Told::Notice(format!("{NAME} {}: {said}", self.id)));
    }

    /// What is to be done with the exchange, once its run has ended.
    pub(super) fn outcome(&self, bench: &mut Workbench) -> Option<Outcome> {
        let Phase::Ended(ending) = self.run.phase() else {
            return None;
        };
        let outcome = match ending {
            Ending::Final | Ending::HandedOver => self.handed_over(bench),
            Ending::Fallback => self.value(bench),
            Ending::Raised { rule } => {
                let said = self.run.fault_of(&rule).unwrap_or("the policy refuses it");
                let why = format!("{rule}: {said}");
                Ok(Outcome::Refused { why })
            }
            Ending::Aborted => {
                let why = "the operator cut the exchange".to_owned();
                Ok(Outcome::Cut { why })
            }
            Ending::TurnLimit { turns } => Ok(released(match &self.closed {
                Some(why) => why.clone(),
                None => {
                    format!("the model was asked again {turns} times, and it was wrong each time")
                }
            })),
            Ending::ModelFailed { why } => {
                Ok(released(format!("the model cannot be asked: {why}")))
            }
            Ending::Unattended { why } => Ok(released(why)),
        };
        // Nothing that was decided can be told from a take that cannot be read.
        Some(outcome.unwrap_or_else(|error| released(format!("the take is lost: {error}"))))
    }

    fn handed_over(&self, bench: &mut Workbench) -> Result<Outcome, NoTake> {
        let has_replies = self.run.has_replies();
        // A history that waits for the model has nothing for the agent but what came first.
        if has_replies && self.run.awaits_reply() {
            return Ok(released(self.released_by()));
        }
        let Some(take) = self.run.changed(bench)? else {
            return Ok(released(self.released_by()));
        };
        let mended = Box::new(self.mended(bench, take));
        Ok(match (has_replies, mended.last_reply.is_empty()) {
            (false, _) => Outcome::Request(mended),
            (true, false) => Outcome::Reply(Box::new(Mended {
                let_pass_by: self.lets_fault_pass().then(|| self.released_by()),
                ..*mended
            })),
            (true, true) => released(self.released_by()),
        })
    }

    fn value(&self, bench: &mut Workbench) -> Result<Outcome, NoTake> {
        let take = bench.takes().get(self.run.take());
        let text = take.and_then(|take| take.fallback.clone());
        let changed = self.run.changed(bench)?.unwrap_or_default();
        Ok(Outcome::Value {
            text: text.unwrap_or_default(),
            mended: Box::new(self.mended(bench, changed)),
        })
    }

    fn mended(&self, bench: &Workbench, take: Vec<u8>) -> Mended {
        Mended {
            base: self.base.clone(),
            take,
            last_reply: self.run.last_reply(bench).unwrap_or_default().to_owned(),
            usage: bench.ledger().usage(),
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

fn released(by: String) -> Outcome {
    Outcome::Release { by }
}
