//! Who asks: the SDK or program behind a request, and what it says of its patience.
//!
//! Headers as the SDKs send them: `x-stainless-*` of the OpenAI and Anthropic libraries, the user agents of
//! Claude Code and Codex.

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
/// (`Agents/Python 0.22.0`), and the version of the SDK stands in a header of its own.
fn name_of(kind: ClientKind, agent: &str, version: Option<&str>) -> String {
    // `Name/Language 1.2.3` of the SDKs, else the first product of RFC 9110 section 10.1.5: `name/1.2.3`.
    let mut words = agent.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let (product, behind) = first.split_once('/').unwrap_or((first, ""));
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
        (None, _) => format!("{product} {behind}"),
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
