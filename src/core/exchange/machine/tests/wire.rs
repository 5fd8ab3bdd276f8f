//! A wire to play with: an upstream and a client, and what the machine makes of them.

use crate::exchange::client::Client;
use crate::exchange::machine::{
    BodyShape, Event, Exchange, ExchangeEffect, ExchangeSettings, ExchangeTimer,
};
use crate::session::Dialect;
use crate::wire::ToolCall;
use crate::wire::write::NewReply;

/// An exchange with everything that it asked for.
pub(crate) struct Wire {
    pub(crate) exchange: Exchange,
    pub(crate) now: u64,
    /// What the client has read.
    pub(crate) read: Vec<u8>,
    /// What happened, in words.
    pub(crate) log: Vec<String>,
    /// When timers are due.
    pub(crate) timers: Vec<(ExchangeTimer, u64)>,
}

pub(crate) fn settings(dialect: Dialect, streams: bool) -> ExchangeSettings {
    ExchangeSettings {
        dialect,
        client: Client::default(),
        streams,
        has_output_schema: false,
        holds_text: false,
        tells_usage: true,
        intercepts: true,
    }
}

impl Wire {
    pub(crate) fn new(settings: ExchangeSettings) -> Self {
        Self {
            exchange: Exchange::new(settings),
            now: 1_000_000,
            read: Vec::new(),
            log: Vec::new(),
            timers: Vec::new(),
        }
    }

    /// An exchange whose request was sound, and whose reply begins.
    pub(crate) fn replying(dialect: Dialect, streams: bool) -> Self {
        Self::begun(settings(dialect, streams))
    }

    /// The same, of an exchange of this kind.
    pub(crate) fn begun(settings: ExchangeSettings) -> Self {
        let streams = settings.streams;
        let mut wire = Self::new(settings);
        wire.tell(Event::Asked(crate::exchange::machine::Judgement::Sound));
        let shape = if streams {
            BodyShape::Stream
        } else {
            BodyShape::Whole
        };
        wire.tell(Event::Head { status: 200, shape });
        wire.log.clear();
        wire
    }

    pub(crate) fn tell(&mut self, event: Event<'_>) {
        let bytes = match event {
            Event::Bytes(bytes) => bytes.to_vec(),
            _ => Vec::new(),
        };
        for effect in self.exchange.handle(self.now, event) {
            let word = match effect {
                ExchangeEffect::Ask(None) => "ask".to_owned(),
                ExchangeEffect::Ask(Some(body)) => {
                    format!("ask {}", String::from_utf8(body).unwrap())
                }
                ExchangeEffect::Judge => "judge".to_owned(),
                ExchangeEffect::Head(head) => format!("head {head:?}"),
                ExchangeEffect::Pass => {
                    self.read.extend_from_slice(&bytes);
                    continue;
                }
                ExchangeEffect::Send(bytes) => {
                    self.read.extend_from_slice(&bytes);
                    continue;
                }
                ExchangeEffect::Whole { head, body } => {
                    self.read.extend_from_slice(&body);
                    format!("whole {head:?}")
                }
                ExchangeEffect::End => "end".to_owned(),
                ExchangeEffect::Abort => "abort".to_owned(),
                ExchangeEffect::Hold(held) => format!("hold: {}", held.why),
                ExchangeEffect::LeaveHold { why } => format!("leave the hold: {why}"),
                ExchangeEffect::Wait { timer, at } => {
                    self.timers.retain(|(known, _)| *known != timer);
                    self.timers.push((timer, at));
                    continue;
                }
                ExchangeEffect::Note(note) => format!("note: {note}"),
                ExchangeEffect::Ended(how) => format!("ended: {how:?}"),
            };
            self.log.push(word);
        }
    }

    /// Time passes, and what is due rings.
    pub(crate) fn pass(&mut self, ms: u64) {
        let until = self.now + ms;
        loop {
            let due = self.timers.iter().filter(|(_, at)| *at <= until);
            let Some((timer, at)) = due.min_by_key(|(_, at)| *at).copied() else {
                break;
            };
            self.timers.retain(|(known, _)| *known != timer);
            self.now = self.now.max(at);
            self.tell(Event::Rang(timer));
        }
        self.now = until;
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.read).unwrap()
    }

    /// What was logged since the last time.
    pub(crate) fn heard(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }
}

/// A streamed reply with a word and calls of these tools.
pub(crate) fn stream(dialect: Dialect, tools: &[&str]) -> Vec<Vec<u8>> {
    let events = reply(tools).events(dialect, 8, true);
    let mut pieces: Vec<Vec<u8>> = events
        .iter()
        .map(|event| event.to_wire().into_bytes())
        .collect();
    if dialect == Dialect::Chat {
        pieces.push(b"data: [DONE]\n\n".to_vec());
    }
    pieces
}

/// The same in one piece.
pub(crate) fn whole(dialect: Dialect, tools: &[&str]) -> String {
    reply(tools).spell(dialect)
}

fn reply(tools: &[&str]) -> NewReply {
    let calls = tools
        .iter()
        .enumerate()
        .map(|(number, tool)| ToolCall::new(&format!("call_{number}"), tool, r#"{"city":"Oslo"}"#));
    NewReply {
        tag: "a1".to_owned(),
        model: "m".to_owned(),
        texts: vec!["Let me look.".to_owned()],
        calls: calls.collect(),
        ..NewReply::default()
    }
}
