//! How known agents are pointed at the proxy: one row each, with the lines that do it.
//!
//! Where a fact comes from: the SDKs' own sources for the variables that they read, and their tests under
//! `.ci/real/proxy` for those that run there (SDKs of OpenAI and Anthropic in Python and Node, of Google in Python,
//! openai-agents, Codex CLI). What is set for an agent of one's own that is started with the proxy is the
//! union of the variables.

use super::options::{Family, Upstream};
use retake_core::session::Dialect;
use std::fmt::Write as _;
use std::path::Path;

/// An agent, or what agents are made with.
#[derive(Debug, Clone, Copy)]
pub struct KnownAgent {
    pub name: &'static str,
    /// What it speaks to its provider.
    pub speaks: &'static [Dialect],
    /// What points it at the proxy.
    pub lines: &'static [SetupLine],
    /// What else there is to know, in a sentence or two.
    pub note: &'static str,
    /// A program that takes no variables: its name, and the arguments that it needs.
    pub program: Option<(&'static str, &'static [&'static str])>,
}

/// One line of those that point an agent at the proxy.
///
/// In its text `{base}` is the address of the listener, and `{v1}` the end of an OpenAI client's base URL.
#[derive(Debug, Clone, Copy)]
pub struct SetupLine {
    /// Whose wire it moves.
    pub family: Family,
    /// Where the line goes.
    pub place: SetupPlace,
    /// The line; of a variable its value.
    pub text: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupPlace {
    /// A variable of this name in the agent's environment.
    Variable(&'static str),
    /// A file of this name.
    File(&'static str),
    Command,
    /// The agent's own code.
    Code,
}

/// The base URL of OpenAI's clients.
const OPENAI: &str = "{base}{v1}";
/// The base URL of Anthropic's clients.
const ANTHROPIC: &str = "{base}";

/// The base URL of Google's clients.
const GOOGLE: &str = "{base}";

const fn openai(name: &'static str, value: &'static str) -> SetupLine {
    SetupLine {
        family: Family::OpenAi,
        place: SetupPlace::Variable(name),
        text: value,
    }
}

const fn anthropic(name: &'static str) -> SetupLine {
    SetupLine {
        family: Family::Anthropic,
        place: SetupPlace::Variable(name),
        text: ANTHROPIC,
    }
}

const fn google(name: &'static str) -> SetupLine {
    SetupLine {
        family: Family::Google,
        place: SetupPlace::Variable(name),
        text: GOOGLE,
    }
}

const fn other(family: Family, place: SetupPlace, text: &'static str) -> SetupLine {
    SetupLine {
        family,
        place,
        text,
    }
}

/// Where Codex CLI keeps its settings.
const CODEX_FILE: SetupPlace = SetupPlace::File("~/.codex/config.toml");

use Dialect::{Anthropic, Chat, Converse, Gemini, Responses};

/// Every agent that is known.
pub const AGENTS: &[KnownAgent] = &[
    KnownAgent {
        name: "openai-python, openai-node",
        speaks: &[Responses, Chat],
        lines: &[openai("OPENAI_BASE_URL", OPENAI)],
        note: "A base URL that is given in code overrides the variable.",
        program: None,
    },
    KnownAgent {
        name: "openai-agents",
        speaks: &[Responses, Chat],
        lines: &[
            openai("OPENAI_BASE_URL", OPENAI),
            openai("OPENAI_AGENTS_DISABLE_TRACING", "1"),
        ],
        note: "Its traces would go to api.openai.com, past the proxy and whatever the base URL is.",
        program: None,
    },
    KnownAgent {
        name: "anthropic SDKs",
        speaks: &[Anthropic],
        lines: &[anthropic("ANTHROPIC_BASE_URL")],
        note: "Without `/v1`: they add it.",
        program: None,
    },
    KnownAgent {
        name: "Claude Code",
        speaks: &[Anthropic],
        lines: &[anthropic("ANTHROPIC_BASE_URL")],
        note: "Its search for MCP tools is off for any host but Anthropic's, unless \
            `ENABLE_TOOL_SEARCH=true` is set as well.",
        program: None,
    },
    KnownAgent {
        name: "Codex CLI",
        speaks: &[Responses],
        lines: &[
            other(
                Family::OpenAi,
                SetupPlace::Command,
                "codex -c model_provider=retake -c 'model_providers.retake={ name = \"retake\", base_url = \
                \"{base}{v1}\", env_key = \"OPENAI_API_KEY\", wire_api = \"responses\" }'",
            ),
            other(Family::OpenAi, CODEX_FILE, "model_provider = \"retake\""),
            other(Family::OpenAi, CODEX_FILE, "[model_providers.retake]"),
            other(Family::OpenAi, CODEX_FILE, "name = \"retake\""),
            other(Family::OpenAi, CODEX_FILE, "base_url = \"{base}{v1}\""),
            other(Family::OpenAi, CODEX_FILE, "env_key = \"OPENAI_API_KEY\""),
            other(Family::OpenAi, CODEX_FILE, "wire_api = \"responses\""),
        ],
        note: "Once on the command line, or for good in the file. The ids `openai`, `ollama` and `lmstudio` are \
            its own and cannot be set; `wire_api` is `responses` and nothing else. `retake proxy -- codex` puts \
            the first line's options in by itself.",
        program: Some((
            "codex",
            &[
                "-c",
                "model_provider=retake",
                "-c",
                "model_providers.retake={ name = \"retake\", base_url = \"{base}{v1}\", env_key = \
                \"OPENAI_API_KEY\", wire_api = \"responses\" }",
            ],
        )),
    },
    KnownAgent {
        name: "google-genai, Gemini CLI",
        speaks: &[Gemini],
        lines: &[google("GOOGLE_GEMINI_BASE_URL")],
        note: "Without `/v1beta`: they add it.",
        program: None,
    },
    KnownAgent {
        name: "boto3, AWS SDKs",
        speaks: &[Converse],
        lines: &[SetupLine {
            family: Family::Amazon,
            place: SetupPlace::Variable("AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
            text: "{base}",
        }],
        note: "With a key of Bedrock in `AWS_BEARER_TOKEN_BEDROCK`: a signature (SigV4) covers the host and the body, \
            and the provider refuses it when it comes from another host.",
        program: None,
    },
    KnownAgent {
        name: "LangChain",
        speaks: &[Responses, Chat, Anthropic],
        lines: &[
            openai("OPENAI_API_BASE", OPENAI),
            anthropic("ANTHROPIC_API_URL"),
        ],
        note: "It reads these before `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL`.",
        program: None,
    },
    KnownAgent {
        name: "Vercel AI SDK",
        speaks: &[Responses, Chat, Anthropic],
        lines: &[
            openai("OPENAI_BASE_URL", OPENAI),
            other(
                Family::Anthropic,
                SetupPlace::Code,
                "createAnthropic({ baseURL: \"{base}/v1\" })",
            ),
        ],
        note: "With `/v1` for Anthropic, where Anthropic's own SDKs have none: the two cannot share \
            `ANTHROPIC_BASE_URL`, so it is set in code.",
        program: None,
    },
    KnownAgent {
        name: "LiteLLM",
        speaks: &[Responses, Chat, Anthropic],
        lines: &[
            openai("OPENAI_API_BASE", OPENAI),
            anthropic("ANTHROPIC_API_BASE"),
        ],
        note: "Or `api_base=` in code.",
        program: None,
    },
    KnownAgent {
        name: "curl",
        speaks: &[Responses, Chat, Anthropic],
        lines: &[
            other(
                Family::OpenAi,
                SetupPlace::Command,
                "curl {base}{v1}/responses -H \"Authorization: Bearer $OPENAI_API_KEY\" -H 'Content-Type: \
                application/json' -d @request.json",
            ),
            other(
                Family::Anthropic,
                SetupPlace::Command,
                "curl {base}/v1/messages -H \"x-api-key: $ANTHROPIC_API_KEY\" -H 'anthropic-version: \
                2023-06-01' -H 'Content-Type: application/json' -d @request.json",
            ),
        ],
        note: "",
        program: None,
    },
];

/// Where an upstream is reached through the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// The address without a slash at its end, as `http://127.0.0.1:8484`; a token is part of it.
    pub base: String,
    pub upstream: Upstream,
}

impl Reach {
    fn fill(&self, text: &str) -> String {
        let filled = text.replace("{v1}", self.upstream.version);
        filled.replace("{base}", &self.base)
    }
}

/// The lines for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSetup {
    pub agent: &'static str,
    /// Where each line goes, and the line; a variable as `export NAME=VALUE`.
    pub lines: Vec<(SetupPlace, String)>,
    /// What else there is to know.
    pub note: &'static str,
}

/// The lines for every agent that one of the upstreams may serve. For each wire it is the first
/// one that speaks it.
pub fn setups(reaches: &[Reach]) -> Vec<AgentSetup> {
    let agents = AGENTS.iter().map(|agent| AgentSetup {
        agent: agent.name,
        lines: lines_of(agent, reaches),
        note: agent.note,
    });
    agents.filter(|setup| !setup.lines.is_empty()).collect()
}

fn lines_of(agent: &KnownAgent, reaches: &[Reach]) -> Vec<(SetupPlace, String)> {
    let lines = agent.lines.iter().filter_map(|line| {
        let filled = first(reaches, line.family)?.fill(line.text);
        let text = match line.place {
            SetupPlace::Variable(name) => format!("export {name}={filled}"),
            SetupPlace::File(_) | SetupPlace::Command | SetupPlace::Code => filled,
        };
        Some((line.place, text))
    });
    lines.collect()
}

/// The listener whose upstream is most surely of a family; of several the first.
fn first(reaches: &[Reach], family: Family) -> Option<&Reach> {
    let fits = reaches.iter().rev();
    let fits = fits.filter_map(|reach| Some((reach.upstream.speaks(family)?, reach)));
    fits.max_by_key(|(fit, _)| *fit).map(|(_, reach)| reach)
}

/// What the environment of an agent that is started with the proxy holds beside what it holds anyway: the
/// variables of all agents.
pub fn variables(reaches: &[Reach]) -> Vec<(&'static str, String)> {
    let mut variables: Vec<(&'static str, String)> = Vec::new();
    for line in AGENTS.iter().flat_map(|agent| agent.lines) {
        let SetupPlace::Variable(name) = line.place else {
            continue;
        };
        let is_new = variables.iter().all(|(known, _)| *known != name);
        if let Some(reach) = first(reaches, line.family).filter(|_| is_new) {
            variables.push((name, reach.fill(line.text)));
        }
    }
    variables
}

/// The arguments of a program that takes no variables; empty for any other.
pub fn arguments_for(program: &Path, reaches: &[Reach]) -> Vec<String> {
    let name = program.file_name().unwrap_or_default();
    let known = AGENTS.iter().find_map(|agent| {
        let (program, arguments) = agent.program.filter(|(program, _)| name == *program)?;
        let family = agent.speaks.first()?.facts().family;
        Some((program, arguments, first(reaches, family)?))
    });
    let Some((_, arguments, reach)) = known else {
        return Vec::new();
    };
    arguments.iter().map(|text| reach.fill(text)).collect()
}

/// The lines for every agent as text: what a terminal shows at the start.
pub fn text(reaches: &[Reach]) -> String {
    let mut text = String::new();
    for setup in setups(reaches) {
        let mut place = None;
        // Writing to a string cannot fail.
        let _infallible = writeln!(text, "{}", setup.agent);
        for (location, line) in &setup.lines {
            if let SetupPlace::File(name) = location
                && place != Some(location)
            {
                let _infallible = writeln!(text, "  in {name}:");
            }
            let indent = if matches!(location, SetupPlace::File(_)) {
                4
            } else {
                2
            };
            let _infallible = writeln!(text, "{:indent$}{line}", "");
            place = Some(location);
        }
        if !setup.note.is_empty() {
            let _infallible = writeln!(text, "  # {}", setup.note);
        }
    }
    text
}

/// How a client is pointed at each of them, in a line, and where the rest is.
pub fn hint(reaches: &[Reach]) -> String {
    let mut text = String::new();
    for reach in reaches {
        let mut lines = AGENTS.iter().flat_map(|agent| agent.lines);
        let line = lines.find_map(|line| match line.place {
            SetupPlace::Variable(name) if reach.upstream.speaks(line.family).is_some() => {
                Some(format!("export {name}={}", reach.fill(line.text)))
            }
            _ => None,
        });
        // Writing to a string cannot fail.
        let _infallible = writeln!(text, "listening on {}", reach.base);
        if let Some(line) = line {
            let _infallible = writeln!(text, "  {line}");
        }
    }
    text.push_str("`retake help proxy` has the lines for every agent\n");
    text
}

/// The table as `retake help` shows it, for a proxy at its usual address whose upstream may be any provider.
pub fn markdown_table() -> String {
    let mut table = "| agent | lines | |\n|---|---|---|\n".to_owned();
    for agent in AGENTS {
        let mut place = None;
        let mut lines = Vec::new();
        for line in agent.lines {
            let text = line.text.replace("{v1}", "/v1");
            let text = text.replace("{base}", &format!("http://{}", super::options::USUAL));
            if let SetupPlace::File(name) = line.place
                && place != Some(line.place)
            {
                lines.push(format!("in `{name}`:"));
            }
            lines.push(match line.place {
                SetupPlace::Variable(name) => format!("`export {name}={text}`"),
                SetupPlace::File(_) | SetupPlace::Command | SetupPlace::Code => format!("`{text}`"),
            });
            place = Some(line.place);
        }
        let lines = lines.join("<br>");
        let _infallible = writeln!(table, "| {} | {lines} | {} |", agent.name, agent.note);
    }
    table
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn reach(host: &str, upstream: &str) -> Reach {
        Reach {
            base: format!("http://{host}"),
            upstream: Upstream::parse(upstream).unwrap(),
        }
    }

    fn environment(reaches: &[Reach]) -> HashMap<&'static str, String> {
        variables(reaches).into_iter().collect()
    }

    fn lines(reaches: &[Reach], agent: &str) -> Vec<String> {
        let setup = setups(reaches);
        let found = setup.iter().find(|setup| setup.agent == agent).unwrap();
        found.lines.iter().map(|(_, line)| line.clone()).collect()
    }

    #[test]
    fn clients_of_openai_get_a_v1_and_those_of_anthropic_get_none() {
        let any = [reach("127.0.0.1:8484", "http://127.0.0.1:8000")];
        let environment = environment(&any);
        assert_eq!(environment["OPENAI_BASE_URL"], "http://127.0.0.1:8484/v1");
        assert_eq!(environment["OPENAI_API_BASE"], "http://127.0.0.1:8484/v1");
        assert_eq!(environment["ANTHROPIC_BASE_URL"], "http://127.0.0.1:8484");
        assert_eq!(environment["ANTHROPIC_API_URL"], "http://127.0.0.1:8484");
        assert_eq!(environment["OPENAI_AGENTS_DISABLE_TRACING"], "1");
        let vercel = lines(&any, "Vercel AI SDK");
        assert!(vercel[1].contains("http://127.0.0.1:8484/v1"), "{vercel:?}");
    }

    #[test]
    fn each_wire_leads_to_the_upstream_that_speaks_it() {
        let both = [
            reach("127.0.0.1:8484", "https://api.openai.com"),
            reach("127.0.0.1:8485", "https://api.anthropic.com"),
        ];
        let environment = environment(&both);
        assert_eq!(environment["OPENAI_BASE_URL"], "http://127.0.0.1:8484/v1");
        assert_eq!(environment["ANTHROPIC_BASE_URL"], "http://127.0.0.1:8485");
    }

    #[test]
    fn an_agent_of_another_provider_is_left_alone() {
        let openai = [reach("127.0.0.1:8484", "https://api.openai.com/v1")];
        let environment = environment(&openai);
        assert!(!environment.keys().any(|name| name.starts_with("ANTHROPIC")));
        assert!(!text(&openai).contains("Claude Code"));
        let anthropic = [reach("127.0.0.1:8484", "https://api.anthropic.com")];
        let environment = self::environment(&anthropic);
        assert!(!environment.keys().any(|name| name.starts_with("OPENAI")));
        assert!(arguments_for(Path::new("codex"), &anthropic).is_empty());
    }

    #[test]
    fn a_base_url_without_v1_stays_without_it() {
        let plain = [reach("127.0.0.1:8484", "https://api.z.ai/api/paas/v4")];
        assert_eq!(
            environment(&plain)["OPENAI_BASE_URL"],
            "http://127.0.0.1:8484"
        );
    }

    #[test]
    fn a_token_is_part_of_every_address() {
        let far = [reach("box:8484/t/c0ffee", "http://127.0.0.1:8000")];
        let environment = environment(&far);
        assert_eq!(
            environment["OPENAI_BASE_URL"],
            "http://box:8484/t/c0ffee/v1"
        );
        assert_eq!(
            environment["ANTHROPIC_BASE_URL"],
            "http://box:8484/t/c0ffee"
        );
        for setup in setups(&far) {
            let all = setup.lines.iter().map(|(_, line)| line.as_str());
            let all = all.collect::<String>();
            assert!(all.contains("http://box:8484/t/c0ffee"), "{}", setup.agent);
        }
    }

    #[test]
    fn a_program_that_reads_no_variables_gets_its_options() {
        let any = [reach("127.0.0.1:8484", "http://127.0.0.1:8000")];
        let arguments = arguments_for(Path::new("/usr/local/bin/codex"), &any);
        assert_eq!(arguments[..2], ["-c", "model_provider=retake"]);
        assert!(arguments[3].contains("base_url = \"http://127.0.0.1:8484/v1\""));
        assert!(arguments_for(Path::new("python3"), &any).is_empty());
        assert!(arguments_for(Path::new("mycodex"), &any).is_empty());
    }

    #[test]
    fn the_hint_is_one_line_for_each_upstream_and_names_the_help() {
        let both = [
            reach("127.0.0.1:8484", "https://api.openai.com"),
            reach("127.0.0.1:8485", "https://api.anthropic.com"),
        ];
        assert_eq!(
            hint(&both),
            "listening on http://127.0.0.1:8484\n  \
             export OPENAI_BASE_URL=http://127.0.0.1:8484/v1\n\
             listening on http://127.0.0.1:8485\n  \
             export ANTHROPIC_BASE_URL=http://127.0.0.1:8485\n\
             `retake help proxy` has the lines for every agent\n"
        );
    }

    #[test]
    fn no_placeholder_is_left_anywhere() {
        let any = [reach("127.0.0.1:8484", "http://127.0.0.1:8000")];
        for shown in [text(&any), markdown_table()] {
            assert!(
                !shown.contains("{base}") && !shown.contains("{v1}"),
                "{shown}"
            );
            for agent in AGENTS {
                assert!(shown.contains(agent.name), "{} in {shown}", agent.name);
            }
        }
    }
}
