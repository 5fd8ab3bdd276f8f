//! Who asks: the SDK or program that sends a request, how long it waits, and what it hears meanwhile.
//!
//! Headers as the SDKs send them: `x-stainless-*` of the OpenAI and Anthropic libraries, the user agents of
//! Claude Code and Codex.

use crate::json::Cursor;
use crate::session::Dialect;

/// Longest name that is kept, in characters: it is shown.
const NAME: usize = 60;

/// A client, as far as its headers tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Client {
    /// What it calls itself, with its version, in printable ASCII: `openai-python 3.52.0`.
    pub name: String,
    /// Whose behaviour it has.
    pub kind: ClientKind,
    /// How long it says that it waits: in Python for each read, in Node for the head of
    /// the reply; in milliseconds.
    pub read_timeout_ms: Option<u64>,
    /// How often it has sent this request before.
    pub retry: u32,
}

/// Clients whose behaviour is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientKind {
    /// `openai` of Python, and what is built on it.
    OpenaiPython,
    OpenaiNode,
    /// `anthropic` of Python, and what is built on it.
    AnthropicPython,
    AnthropicNode,
    ClaudeCode,
    Codex,
    #[default]
    Other,
}

impl ClientKind {
    /// What an SDK is called; programs have names of their own.
    fn sdk(self) -> Option<&'static str> {
        match self {
            Self::OpenaiPython => Some("openai-python"),
            Self::OpenaiNode => Some("openai-node"),
            Self::AnthropicPython => Some("anthropic-python"),
            Self::AnthropicNode => Some("anthropic-node"),
            Self::ClaudeCode | Self::Codex | Self::Other => None,
        }
    }
}

impl Client {
    /// Reads the headers of a request; `header` gives the value of one by its name in small letters.
    pub fn of<'h>(header: impl Fn(&str) -> Option<&'h str>) -> Self {
        let agent = header("user-agent").unwrap_or_default();
        let kind = kind_of(agent, &header);
        let seconds = header("x-stainless-read-timeout").or(header("x-stainless-timeout"));
        let retry = header("x-stainless-retry-count").and_then(|count| count.trim().parse().ok());
        Self {
            name: name_of(kind, agent, header("x-stainless-package-version")),
            kind,
            read_timeout_ms: seconds.and_then(milliseconds),
            retry: retry.unwrap_or(0),
        }
    }
}

fn kind_of<'h>(agent: &str, header: &impl Fn(&str) -> Option<&'h str>) -> ClientKind {
    let begins = |word: &str| {
        agent
            .get(..word.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(word))
    };
    let originator = header("originator").unwrap_or_default();
    if begins("claude-cli/") || begins("claude-code/") {
        return ClientKind::ClaudeCode;
    }
    if begins("codex_") || begins("codex-") || originator.starts_with("codex_") {
        return ClientKind::Codex;
    }
    let is_anthropic = header("anthropic-version").is_some();
    match (header("x-stainless-lang"), is_anthropic) {
        // Claude Code is built on the SDK and says so in a header of its own.
        (Some("js"), true) if header("x-app") == Some("cli") => ClientKind::ClaudeCode,
        (Some("python"), true) => ClientKind::AnthropicPython,
        (Some("python"), false) => ClientKind::OpenaiPython,
        (Some("js"), true) => ClientKind::AnthropicNode,
        (Some("js"), false) => ClientKind::OpenaiNode,
        _ => ClientKind::Other,
    }
}

/// A short name that can be shown. Frameworks on top of an SDK name themselves in the user agent
/// (`Agents/Python 0.22.0`), and the version of the SDK is in a header of its own.
fn name_of(kind: ClientKind, agent: &str, version: Option<&str>) -> String {
    // `Name/Language 1.2.3` of the SDKs, else the first product of RFC 9110 section 10.1.5: `name/1.2.3`.
    let mut words = agent.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let (product, rest) = first.split_once('/').unwrap_or((first, ""));
    let name = match (kind.sdk(), version) {
        (Some(sdk), version) => {
            let is_own =
                ["OpenAI", "AsyncOpenAI", "Anthropic", "AsyncAnthropic"].contains(&product);
            let version = version
                .or(words.next().filter(|_| is_own))
                .unwrap_or_default();
            let over = if is_own || product.is_empty() {
                String::new()
            } else {
                format!(" ({product})")
            };
            format!("{sdk} {version}{over}")
        }
        (None, _) => format!("{product} {rest}"),
    };
    let is_safe = |letter: &char| letter.is_ascii_graphic() || *letter == ' ';
    let name = name.chars().filter(is_safe).take(NAME).collect::<String>();
    name.trim().to_owned()
}

/// Seconds as the SDKs write them: `600`, `600.0`, `0.5`; anything else says nothing.
fn milliseconds(seconds: &str) -> Option<u64> {
    let seconds: f64 = seconds.trim().parse().ok()?;
    let is_sense = seconds.is_finite() && (0.0..=1e9).contains(&seconds);
    // In range: at most a million million, and no sign.
    is_sense.then_some((seconds * 1000.0) as u64)
}

// When a client that waits gives up, so that what is held can be released before.
//
// Measured, with the times that the SDKs announce: Python waits its read timeout for each byte; Node waits its
// timeout for the head of the reply, and its HTTP library gives up after 300 seconds without a byte whatever
// was announced; Codex waits 300 seconds for a real event.

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

// What a client hears while its exchange is held: bytes that keep its connection alive and
// that its SDK ignores.
//
// Measured with the SDKs of OpenAI and Anthropic in Python and Node: comment lines and white space before a
// body count as life signs and reach nobody; `event: ping` is ignored by Anthropic's and handed to the program
// by OpenAI's. Codex counts real events only, and hears its last `response.in_progress` again; nobody else
// does, for openai-node begins its reply anew with each. A blank line after a comment once broke a client
// (openai-go#556), so there is none; nor is there ever an `id:`, a `retry:` or an empty `data:`.

/// The usual time between two heartbeats, in milliseconds.
const INTERVAL_MS: u64 = 5_000;
const SHORTEST_MS: u64 = 100;

/// The last `response.in_progress` event that the client was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InProgress<'a> {
    /// Its data, one JSON object.
    pub data: &'a str,
    /// The sequence number that it gets this time.
    pub sequence: u64,
}

/// What is sent to a client that waits and has the head of its reply. Empty where nothing counts for it: then
/// [`super::deadline`] ends the hold in time.
pub fn heartbeat(
    dialect: Dialect,
    client: &Client,
    is_stream: bool,
    last: Option<InProgress<'_>>,
) -> Vec<u8> {
    if !is_stream {
        // White space before a value is JSON (RFC 8259 section 2).
        return b" ".to_vec();
    }
    let facts = dialect.facts();
    if !(facts.numbers_events && counts_events(client)) {
        return facts.heartbeat.as_bytes().to_vec();
    }
    let again = last.and_then(|last| numbered(last.data, last.sequence));
    // The data is on one line ([`super::gate::Gate::in_progress`]).
    let event = again.map(|data| format!("event: response.in_progress\ndata: {data}\n\n"));
    event.unwrap_or_default().into_bytes()
}

/// Whether a client counts nothing as a life sign but events.
pub fn counts_events(client: &Client) -> bool {
    client.kind == ClientKind::Codex
}

/// How long to wait between two heartbeats, in milliseconds: well within the time that the client announced.
pub fn interval_ms(client: &Client) -> u64 {
    let third = client.read_timeout_ms.map(|timeout| timeout / 3);
    third.map_or(INTERVAL_MS, |third| third.clamp(SHORTEST_MS, INTERVAL_MS))
}

/// The data of an event with another sequence number; `None` where it is not an object.
fn numbered(data: &str, sequence: u64) -> Option<String> {
    let mut place = None;
    let is_object = Cursor::new(data.as_bytes()).object(|cursor, key| {
        if key == b"sequence_number" {
            place = Some(cursor.skip()?);
        }
        Ok(())
    });
    let mut text = data.to_owned();
    if let (Ok(true), Some(place)) = (is_object, place) {
        text.replace_range(place, &sequence.to_string());
    }
    matches!(is_object, Ok(true)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(headers: &[(&'static str, &'static str)]) -> Client {
        let headers = headers.to_vec();
        Client::of(|name| {
            let mut headers = headers.iter();
            headers
                .find(|(known, _)| *known == name)
                .map(|(_, value)| *value)
        })
    }

    #[test]
    fn sdks_are_known_by_their_headers() {
        let python = [
            ("user-agent", "AsyncOpenAI/Python 3.52.0"),
            ("x-stainless-lang", "python"),
            ("x-stainless-package-version", "3.52.0"),
            ("x-stainless-read-timeout", "600.0"),
            ("x-stainless-retry-count", "1"),
        ];
        let expected = Client {
            name: "openai-python 3.52.0".to_owned(),
            kind: ClientKind::OpenaiPython,
            read_timeout_ms: Some(600_000),
            retry: 1,
        };
        assert_eq!(client(&python), expected);
        let node = client(&[
            ("user-agent", "Anthropic/JS 1.11.0"),
            ("x-stainless-lang", "js"),
            ("x-stainless-package-version", "1.11.0"),
            ("x-stainless-timeout", "600"),
            ("anthropic-version", "2026-10-21"),
        ]);
        assert_eq!(node.kind, ClientKind::AnthropicNode);
        assert_eq!(node.name, "anthropic-node 1.11.0");
        assert_eq!((node.read_timeout_ms, node.retry), (Some(600_000), 0));
        let agents = client(&[
            ("user-agent", "Agents/Python 0.22.0"),
            ("x-stainless-lang", "python"),
            ("x-stainless-package-version", "3.52.0"),
        ]);
        assert_eq!(agents.kind, ClientKind::OpenaiPython);
        assert_eq!(agents.name, "openai-python 3.52.0 (Agents)");
    }

    #[test]
    fn programs_are_known_by_their_user_agents() {
        let code = client(&[
            ("user-agent", "claude-cli/2.1.0 (external, cli)"),
            ("x-stainless-lang", "js"),
            ("x-app", "cli"),
            ("anthropic-version", "2023-06-01"),
        ]);
        assert_eq!(
            (code.kind, &*code.name),
            (ClientKind::ClaudeCode, "claude-cli 2.1.0")
        );
        let codex = client(&[("user-agent", "codex_exec/0.99.0 (Linux; x86_64)")]);
        assert_eq!(
            (codex.kind, &*codex.name),
            (ClientKind::Codex, "codex_exec 0.99.0")
        );
        let codex = client(&[("originator", "codex_cli_rs"), ("user-agent", "other/1")]);
        assert_eq!(codex.kind, ClientKind::Codex);
        let other = client(&[("user-agent", "python-requests/2.32")]);
        assert_eq!(
            (other.kind, &*other.name),
            (ClientKind::Other, "python-requests 2.32")
        );
        assert_eq!(client(&[]), Client::default());
    }

    #[test]
    fn headers_that_lie_or_attack_say_nothing() {
        for seconds in ["", "soon", "-1", "NaN", "inf", "1e300"] {
            assert_eq!(milliseconds(seconds), None, "{seconds}");
        }
        assert_eq!(milliseconds("0.5"), Some(500));
        assert_eq!(milliseconds(" 2 "), Some(2_000));
        let hostile = Client::of(|name| match name {
            "user-agent" => Some("\u{1b}]0;x\u{7}\u{202e}evil/1\u{9b}31m"),
            "x-stainless-retry-count" => Some("99999999999"),
            _ => None,
        });
        assert_eq!((&*hostile.name, hostile.retry), ("]0;xevil 131m", 0));
    }
}

#[cfg(test)]
mod deadline_tests {
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

#[cfg(test)]
mod heartbeat_tests {
    use super::*;

    const IN_PROGRESS: &str = r#"{"type":"response.in_progress","response":{"id":"resp_1","sequence_number":1},"sequence_number": 1}"#;

    fn client(kind: ClientKind) -> Client {
        Client {
            kind,
            ..Client::default()
        }
    }

    fn beat(dialect: Dialect, kind: ClientKind, is_stream: bool, data: Option<&str>) -> String {
        let last = data.map(|data| InProgress { data, sequence: 7 });
        String::from_utf8(heartbeat(dialect, &client(kind), is_stream, last)).unwrap_or_default()
    }

    #[test]
    fn responses_hear_their_last_event_again_under_a_new_number() {
        let beat = beat(
            Dialect::Responses,
            ClientKind::Codex,
            true,
            Some(IN_PROGRESS),
        );
        let expected = r#"{"type":"response.in_progress","response":{"id":"resp_1","sequence_number":1},"sequence_number": 7}"#;
        assert_eq!(
            beat,
            format!("event: response.in_progress\ndata: {expected}\n\n")
        );
    }

    #[test]
    fn a_comment_keeps_all_but_codex() {
        use ClientKind::{
            AnthropicNode, AnthropicPython, ClaudeCode, OpenaiNode, OpenaiPython, Other,
        };
        for kind in [OpenaiPython, OpenaiNode, Other] {
            for data in [None, Some("no json"), Some(IN_PROGRESS)] {
                assert_eq!(
                    beat(Dialect::Responses, kind, true, data),
                    ": held by retake\n"
                );
            }
            assert_eq!(
                beat(Dialect::Chat, kind, true, Some(IN_PROGRESS)),
                ": held by retake\n"
            );
        }
        assert_eq!(beat(Dialect::Responses, ClientKind::Codex, true, None), "");
        for kind in [AnthropicPython, AnthropicNode, ClaudeCode, Other] {
            assert_eq!(
                beat(Dialect::Anthropic, kind, true, None),
                "event: ping\ndata: {\"type\":\"ping\"}\n\n"
            );
        }
    }

    #[test]
    fn a_whole_reply_is_preceded_by_white_space() {
        for dialect in [Dialect::Responses, Dialect::Chat, Dialect::Anthropic] {
            assert_eq!(
                beat(dialect, ClientKind::Other, false, Some(IN_PROGRESS)),
                " "
            );
        }
    }

    #[test]
    fn no_openai_stream_ever_gets_a_ping_or_a_blank_line_alone() {
        for data in [None, Some(IN_PROGRESS), Some("{\n\"sequence_number\":1\n}")] {
            for dialect in [Dialect::Responses, Dialect::Chat] {
                let beat = beat(dialect, ClientKind::OpenaiPython, true, data);
                assert!(!beat.contains("ping") && !beat.starts_with('\n'), "{beat}");
                for line in beat.lines().filter(|line| !line.is_empty()) {
                    let is_known = [": ", "event: ", "data: "]
                        .iter()
                        .any(|head| line.starts_with(head));
                    assert!(is_known, "{line}");
                }
            }
        }
    }

    #[test]
    fn heartbeats_come_every_five_seconds_or_well_within_an_announced_time() {
        let announced = |timeout| {
            interval_ms(&Client {
                read_timeout_ms: timeout,
                ..Client::default()
            })
        };
        assert_eq!(announced(None), 5_000);
        assert_eq!(announced(Some(600_000)), 5_000);
        assert_eq!(announced(Some(1_000)), 333);
        assert_eq!(announced(Some(0)), 100);
    }
}
