//! The live run as reported: what it does, since when, what it waits for, what has happened.

use crate::tui::keymap::Command;
use crate::tui::live::words;
use retake_core::engine::{Breakpoint, Millis, Reason};
use retake_core::session::Session;
use retake_core::session::ledger::{Ask, CallKey, LedgerEvent, Usage};
use retake_core::session::takes::TakeId;
use retake_live::live::{Phase, RunNews, StreamedCall, Streaming, ToolState};
use std::collections::VecDeque;

/// How many events the log keeps.
const EVENTS: usize = 2000;
/// How many bytes of the end of a text that comes are kept: more than the largest screen shows.
const KEPT: usize = 16 * 1024;
/// How many of the calls that come are kept.
const CALLS: usize = 64;
/// How many items before the end are looked through for a call.
const NEAR: usize = 512;

/// The agent that a run is of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentInfo {
    pub path: String,
    /// What it is called.
    pub name: String,
    pub model: String,
    /// Whether the model is a script.
    pub is_scripted: bool,
    /// How many turns it may take; `None` where that is not known.
    pub max_turns: Option<u32>,
    /// Its tools, and what each of them runs in words: a command, an MCP server.
    pub tools: Vec<(String, String)>,
}

/// What an agent's file names that would run, or be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustRequest {
    pub agent: String,
    /// Why it needs a decision now: it is new here, or it has changed.
    pub why: String,
    /// What it may do, a sentence each: which programs run with which environment, which servers are reached.
    pub powers: Vec<String>,
}

/// An event of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// When it was reported.
    pub at: Millis,
    /// When it happened before the file was opened, in milliseconds since 1970.
    pub past: Option<u64>,
    /// Whether something went wrong.
    pub is_trouble: bool,
    /// What happened; it holds text from outside.
    pub words: String,
}

#[derive(Debug, Default)]
pub struct Live {
    /// What it is doing.
    pub phase: Phase,
    pub since: Millis,
    /// The take that it drives.
    pub take: Option<TakeId>,
    /// The agent; `None` until one is known.
    pub agent: Option<AgentInfo>,
    /// The file of an agent that is proposed where none runs.
    pub proposed_agent: Option<String>,
    /// The reply that is on its way, its ends.
    pub streaming: Option<Streaming>,
    /// How the tools stand.
    pub tools: Vec<ToolState>,
    /// Tokens of all replies.
    pub usage: Usage,
    /// The breakpoints, by their number.
    pub breakpoints: Vec<Breakpoint>,
    /// What happened, the newest last.
    pub log: VecDeque<LogEntry>,
    /// What has happened in the proxy whose journal the file is; `None` until that is read.
    pub proxy_log: Option<Vec<LogEntry>>,
    /// When the first event was reported.
    pub began: Option<Millis>,
    /// An agent's file that waits to be trusted.
    pub trust: Option<TrustRequest>,
    /// A text that was begun for a call and left.
    pub draft: Option<(CallKey, String)>,
    /// The command by which the operator leaves as soon as the run has ended.
    pub leaving: Option<Command>,
    /// Whether the agent was named to go on from a recording.
    pub is_of_recording: bool,
    /// For each reason of a pause the item of the shown session that holds.
    pub places: Vec<Option<usize>>,
    /// Whether the cursor is still to go to what holds.
    pub jumps: bool,
    /// Whether the operator asked for a pause that has not come yet.
    pub is_pausing: bool,
    /// Whether the take has grown by what was streamed; it goes when that is shown.
    is_grown: bool,
}

impl Live {
    /// Takes news; gives whether the phase is another one now.
    pub fn hear(&mut self, news: RunNews, now: Millis) -> bool {
        match news {
            RunNews::Phase(phase) => return self.enter(phase, now),
            RunNews::Grown(take) => {
                self.take = Some(take);
                self.is_grown = true;
            }
            RunNews::Streaming(streaming) => {
                self.is_grown = false;
                self.streaming = Some(bounded(streaming));
            }
            RunNews::Recorded(event) => self.record(&event, now),
            RunNews::Notice(text) => self.enter_log(now, true, text),
            RunNews::Tools(tools) => self.tools = tools,
            RunNews::Usage(usage) => self.usage = usage,
            // The screen's own checking judges what it shows.
            RunNews::Judged(_) => {}
        }
        false
    }

    fn enter(&mut self, phase: Phase, now: Millis) -> bool {
        let is_other = self.phase != phase;
        if is_other || matches!(phase, Phase::Waiting { .. }) {
            self.since = now;
        }
        let is_of_a_lost_attempt = match &phase {
            Phase::Idle | Phase::Asking { .. } | Phase::Waiting { .. } | Phase::Ended(_) => true,
            Phase::Paused { reasons } => {
                let mut reasons = reasons.iter();
                reasons.any(|reason| matches!(reason, Reason::Model { .. }))
            }
            Phase::Running { .. } => false,
        };
        if is_other && is_of_a_lost_attempt && !self.is_grown {
            self.streaming = None;
        }
        self.phase = phase;
        self.is_pausing &= self.is_busy();
        is_other
    }

    fn record(&mut self, event: &LedgerEvent, now: Millis) {
        if let LedgerEvent::Began {
            agent,
            model,
            scripted,
            take,
            ..
        } = event
        {
            self.take = Some(*take);
            let known = self.agent.get_or_insert_default();
            known.name.clone_from(agent);
            known.model.clone_from(model);
            known.is_scripted = *scripted;
        }
        let (is_trouble, words) = words::event(event);
        self.enter_log(now, is_trouble, words);
    }

    /// Takes note of what happened before the file was opened.
    pub fn recall(&mut self, event: &LedgerEvent, time: u64) {
        let began = self.began;
        self.record(event, 0);
        // The time of what happens from now on is counted from its own beginning.
        self.began = began;
        if let Some(entry) = self.log.back_mut() {
            entry.past = Some(time);
        }
    }

    fn enter_log(&mut self, at: Millis, is_trouble: bool, words: String) {
        self.began.get_or_insert(at);
        while self.log.len() >= EVENTS {
            self.log.pop_front();
        }
        let end = words.floor_char_boundary(KEPT);
        let mut words = words;
        words.truncate(end);
        self.log.push_back(LogEntry {
            at,
            past: None,
            is_trouble,
            words,
        });
    }

    /// Another document of the run is shown: it holds what was streamed, and items have other places.
    pub fn shown(&mut self, session: Option<&Session>) {
        if std::mem::take(&mut self.is_grown) {
            self.streaming = None;
        }
        self.find_places(session);
    }

    /// Finds the items that hold the run.
    pub fn find_places(&mut self, session: Option<&Session>) {
        let place = |reason: &Reason| {
            let session = session?;
            let item = match reason {
                Reason::Fault { item, .. } | Reason::Breakpoint { item, .. } => (*item)? as usize,
                Reason::Approval { call, .. }
                | Reason::AskOperator { call, .. }
                | Reason::MayHaveRun { call, .. } => item_of_call(session, call)?,
                Reason::Model { .. }
                | Reason::TurnLimit { .. }
                | Reason::Stepped
                | Reason::NothingSaid => return None,
            };
            (item < session.items.len()).then_some(item)
        };
        self.places = self.reasons().iter().map(place).collect();
    }

    /// Why the run waits for the operator; nothing where it does not.
    pub fn reasons(&self) -> &[Reason] {
        match &self.phase {
            Phase::Paused { reasons } => reasons,
            _ => &[],
        }
    }

    /// The reason that is about an item, else the first that is about none.
    pub fn reason_at(&self, item: usize) -> Option<&Reason> {
        let both = || self.reasons().iter().zip(&self.places);
        let here = both().find(|(_, place)| **place == Some(item));
        let found = here.or_else(|| both().find(|(_, place)| place.is_none()));
        found.map(|(reason, _)| reason)
    }

    /// The error of the model for which the run is paused.
    pub fn error(&self) -> Option<&str> {
        self.reasons().iter().find_map(|reason| match reason {
            Reason::Model { why } => Some(why.as_str()),
            _ => None,
        })
    }

    /// Whether a run was begun and has not ended.
    pub fn is_on(&self) -> bool {
        !matches!(self.phase, Phase::Idle | Phase::Ended(_))
    }

    /// Whether something goes on that the operator does not decide.
    pub fn is_busy(&self) -> bool {
        matches!(
            self.phase,
            Phase::Asking { .. } | Phase::Running { .. } | Phase::Waiting { .. }
        )
    }

    /// Whether the run waits for the operator.
    pub fn is_paused(&self) -> bool {
        matches!(self.phase, Phase::Paused { .. })
    }

    /// Whether anything is known of a run, also one that ended.
    pub fn has_news(&self) -> bool {
        self.phase != Phase::Idle || !self.log.is_empty()
    }

    /// Whether the model is a script.
    pub fn is_scripted(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.is_scripted)
    }

    pub fn runs(&self, tool: &str) -> Option<&str> {
        let mut tools = self.agent.as_ref()?.tools.iter();
        let found = tools.find(|(name, _)| name == tool);
        found.map(|(_, runs)| runs.as_str())
    }
}

/// The item of a call, looked for from the end.
fn item_of_call(session: &Session, call: &CallKey) -> Option<usize> {
    let items = session.items.iter().enumerate().rev().take(NEAR);
    let mut calls = items.filter(|(_, item)| item.kind == retake_core::session::Kind::Call);
    let is_meant = |item| {
        session
            .call_id(item)
            .is_ok_and(|call_id| call_id == call.call_id)
    };
    calls
        .find(|(_, item)| is_meant(item))
        .map(|(index, _)| index)
}

/// The end of a text, as far as it is kept.
fn end_of(text: String) -> String {
    if text.len() <= KEPT {
        return text;
    }
    text[text.ceil_char_boundary(text.len() - KEPT)..].to_owned()
}

fn bounded(streaming: Streaming) -> Streaming {
    let Streaming {
        ask,
        reasoning,
        text,
        mut calls,
        silent_ms,
    } = streaming;
    let ask: Ask = ask;
    let surplus = calls.len().saturating_sub(CALLS);
    calls.drain(..surplus);
    Streaming {
        ask,
        reasoning: end_of(reasoning),
        text: end_of(text),
        calls: calls
            .into_iter()
            .map(|call| StreamedCall {
                arguments: end_of(call.arguments),
                ..call
            })
            .collect(),
        silent_ms,
    }
}
