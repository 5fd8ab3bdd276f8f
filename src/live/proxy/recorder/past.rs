//! What a proxy's journal says has happened, as the news that its screen had of it.

use crate::proxy::news::ProxyNews;
use retake_core::exchange::{
    ExchangeEnding, ExchangeId, ExchangePhase, ExchangeSummary, Holding, Rewritten,
};
use retake_core::formats::retake_journal::decode_line;
use retake_core::session::takes::Author;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// The longest line that is looked at, in bytes: a request and a reply as they are recorded at most,
/// and what escaping adds.
pub(super) const LINE: u64 = 512 << 20;

/// What is read of an entry.
#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    id: ExchangeId,
    #[serde(default)]
    at: u64,
    #[serde(default)]
    ms: [Option<u64>; 2],
    #[serde(default)]
    held_ms: [u64; 2],
    holding: Option<HoldingMembers>,
    ending: Option<ExchangeEnding>,
    sent: Option<IgnoredAny>,
    told: Option<IgnoredAny>,
    rule: Option<String>,
    action: Option<String>,
    by: Option<Author>,
    wording: Option<String>,
    count: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct HoldingMembers {
    since: u64,
    is_request: bool,
    why: String,
}

/// Reads the news of a journal, each with its time in milliseconds since 1970, in the order in which they came.
/// Damaged lines are left out; it ends early once it `is_over`.
pub fn past_news(
    journal: &Path,
    is_over: &dyn Fn() -> bool,
    mut hear: impl FnMut(u64, ProxyNews),
) -> io::Result<()> {
    let mut lines = BufReader::new(File::open(journal)?);
    let mut line = Vec::new();
    while !is_over() {
        line.clear();
        if lines.by_ref().take(LINE).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let entry = decode_line(&line).and_then(|sound| {
            // What this version does not know is no news.
            serde_json::from_slice::<Entry>(&line[sound.entry]).ok()
        });
        if let Some((at, news)) = entry.and_then(Entry::news) {
            hear(at, news);
        }
    }
    Ok(())
}

impl Entry {
    fn news(self) -> Option<(u64, ProxyNews)> {
        let exchange = |phase, rewritten| {
            ProxyNews::Exchange(Arc::new(ExchangeSummary {
                id: self.id,
                phase,
                rewritten,
                ..ExchangeSummary::default()
            }))
        };
        let news = match self.kind.as_str() {
            "held" => {
                let holding = self.holding?;
                let phase = ExchangePhase::Held(Holding {
                    is_request: holding.is_request,
                    since_ms: holding.since,
                    until_ms: None,
                    why: holding.why,
                    is_gone: false,
                    has: retake_core::exchange::AgentHas::default(),
                });
                (holding.since, exchange(phase, Rewritten::default()))
            }
            "exchange" | "ended" => {
                let ending = self.ending?;
                let rewritten = Rewritten {
                    again: self.sent.is_some() && ending == ExchangeEnding::Passed,
                    request: self.sent.is_some(),
                    reply: self.told.is_some(),
                };
                let took = self.ms[1].unwrap_or(0) + self.held_ms.iter().sum::<u64>();
                let phase = ExchangePhase::Ended(ending);
                (self.at + took, exchange(phase, rewritten))
            }
            "decided" => {
                let decided = ProxyNews::Decided {
                    id: self.id,
                    rule: self.rule,
                    action: self.action?,
                    by: self.by?,
                    wording: self.wording,
                    text_sent: false,
                };
                (self.at, decided)
            }
            "lost" => {
                let count = self.count?;
                let words = format!("exchanges that could not be recorded: {count}");
                (self.at, ProxyNews::Notice(words))
            }
            _ => return None,
        };
        Some(news)
    }
}
