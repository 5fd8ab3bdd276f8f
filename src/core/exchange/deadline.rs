//! When a client that waits gives up, so that what is held can be released before.
//!
//! Measured, with the times that the SDKs announce: Python waits its read timeout for each byte; Node waits its
//! timeout for the head of the reply, and its HTTP library gives up after 300 seconds without a byte whatever
//! was announced; Codex waits 300 seconds for a real event.

use super::client::{Client, ClientKind};

/// What a client that waits hears meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hears {
    /// Nothing at all: the head of its reply was not sent.
    NoHead,
    /// It has the head, and nothing since: heartbeats cannot be sent.
    Silence,
    /// It has the head and hears heartbeats that count for it.
    Heartbeats,
}

/// What the SDKs wait where nothing else is announced.
const SDK_MS: u64 = 600_000;
/// `headersTimeout` and `bodyTimeout` of the HTTP library of Node, and `stream_idle_timeout_ms` of Codex.
const IDLE_MS: u64 = 300_000;
/// For clients of which nothing is known: many HTTP libraries give up after one minute.
const UNKNOWN_MS: u64 = 60_000;
/// The largest part of the time that is left to the reply to arrive.
const MARGIN_MS: u64 = 10_000;

/// How long a client waits, in milliseconds from when it began to hear nothing; `None` where it waits as long
/// as it hears heartbeats.
pub fn patience_ms(client: &Client, hears: Hears) -> Option<u64> {
    if hears == Hears::Heartbeats {
        return None;
    }
    let announced = client.read_timeout_ms;
    Some(match (client.kind, hears) {
        (ClientKind::OpenaiPython | ClientKind::AnthropicPython, _) => announced.unwrap_or(SDK_MS),
        (
            ClientKind::OpenaiNode | ClientKind::AnthropicNode | ClientKind::ClaudeCode,
            Hears::NoHead,
        ) => announced.unwrap_or(SDK_MS).min(IDLE_MS),
        // The announced time of Node covers only the head.
        (ClientKind::OpenaiNode | ClientKind::AnthropicNode | ClientKind::ClaudeCode, _) => IDLE_MS,
        (ClientKind::Codex, _) => IDLE_MS,
        (ClientKind::Other, _) => announced.unwrap_or(UNKNOWN_MS),
    })
}

/// When what is held is released by itself, in the clock of `quiet_since_ms`: since when the client hears
/// nothing. A tenth of its patience is left for the reply to arrive, at most ten seconds.
pub fn until_ms(client: &Client, hears: Hears, quiet_since_ms: u64) -> Option<u64> {
    let patience = patience_ms(client, hears)?;
    let margin = (patience / 10).min(MARGIN_MS);
    Some(quiet_since_ms.saturating_add(patience - margin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(kind: ClientKind, read_timeout_ms: Option<u64>) -> Client {
        Client {
            kind,
            read_timeout_ms,
            ..Client::default()
        }
    }

    #[test]
    fn whoever_hears_heartbeats_waits_as_long_as_it_takes() {
        for kind in [
            ClientKind::OpenaiPython,
            ClientKind::Codex,
            ClientKind::Other,
        ] {
            let client = client(kind, Some(1_000));
            assert_eq!(until_ms(&client, Hears::Heartbeats, 5), None, "{kind:?}");
        }
    }

    #[test]
    fn python_gives_up_when_it_announced_it() {
        for (kind, announced, patience) in [
            (ClientKind::OpenaiPython, Some(600_000), 590_000),
            (ClientKind::AnthropicPython, None, 590_000),
            (ClientKind::OpenaiPython, Some(2_000), 1_800),
            (ClientKind::OpenaiPython, Some(0), 0),
        ] {
            for hears in [Hears::NoHead, Hears::Silence] {
                let until = until_ms(&client(kind, announced), hears, 1_000);
                assert_eq!(until, Some(1_000 + patience), "{announced:?}");
            }
        }
    }

    #[test]
    fn node_gives_up_after_300_seconds_and_before_the_head_perhaps_sooner() {
        for kind in [
            ClientKind::OpenaiNode,
            ClientKind::AnthropicNode,
            ClientKind::ClaudeCode,
        ] {
            let long = client(kind, Some(600_000));
            assert_eq!(until_ms(&long, Hears::NoHead, 0), Some(290_000));
            assert_eq!(until_ms(&long, Hears::Silence, 0), Some(290_000));
            let short = client(kind, Some(20_000));
            assert_eq!(until_ms(&short, Hears::NoHead, 0), Some(18_000));
            assert_eq!(until_ms(&short, Hears::Silence, 0), Some(290_000));
        }
    }

    #[test]
    fn codex_waits_for_events_and_nobody_waits_for_the_unknown() {
        let codex = client(ClientKind::Codex, None);
        assert_eq!(until_ms(&codex, Hears::Silence, 0), Some(290_000));
        let other = client(ClientKind::Other, None);
        assert_eq!(until_ms(&other, Hears::NoHead, 0), Some(54_000));
        let last = until_ms(&other, Hears::NoHead, u64::MAX);
        assert_eq!(last, Some(u64::MAX));
    }
}
