//! The agents whose sessions are known on this machine: where each keeps them, which variables move them, and
//! what it repairs by itself when it loads one.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A program that keeps sessions on this machine.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Agent {
    pub id: &'static str,
    pub title: &'static str,
    pub stores: &'static [Store],
    /// How the names of its session files begin and end.
    pub names: &'static [(&'static str, &'static str)],
    /// The ids of the formats that it alone writes, or before all others.
    pub formats: &'static [&'static str],
    /// The rules whose findings it repairs by itself when it loads a session, and what is lost with that.
    pub repairs: &'static [(&'static str, &'static str)],
}

/// A folder or a file in which an agent keeps sessions.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Store {
    /// The variables that move it, each with the path below its value; the first that is set counts.
    pub moved_by: &'static [(&'static str, &'static str)],
    /// Its path below the home folder otherwise; empty for the folder that the agent was started in.
    pub usual: &'static str,
}

const fn store(moved_by: &'static [(&'static str, &'static str)], usual: &'static str) -> Store {
    Store { moved_by, usual }
}

/// An agent that repairs nothing, as far as is known.
const fn agent(
    id: &'static str,
    title: &'static str,
    stores: &'static [Store],
    names: &'static [(&'static str, &'static str)],
    formats: &'static [&'static str],
) -> Agent {
    Agent {
        id,
        title,
        stores,
        names,
        formats,
        repairs: &[],
    }
}

/// The sources of the paths are those of the agents themselves, as of 2026. For programs without public sources these
/// are their npm packages: `@kilocode/cli` 7.8, `@cline/cli` 3.0 (its sessions; the tasks are those of the extensions),
/// `@oh-my-pi/pi-utils` 18.2. `@github/copilot` 1.0 is packed: it names `COPILOT_HOME`; `session-state` is not
/// verified against its source.
pub const AGENTS: &[Agent] = &[
    agent(
        "claude-code",
        "Claude Code",
        &[store(
            &[("CLAUDE_CONFIG_DIR", "projects")],
            ".claude/projects",
        )],
        &[("", ".jsonl")],
        &["claude-code"],
    )
    .repairing(&[
        ("orphan-call", "leaves the call out"),
        ("orphan-output", "leaves the result out"),
    ]),
    agent(
        "codex",
        "Codex",
        &[
            store(&[("CODEX_HOME", "sessions")], ".codex/sessions"),
            store(
                &[("CODEX_HOME", "archived_sessions")],
                ".codex/archived_sessions",
            ),
        ],
        &[("rollout-", ".jsonl"), ("rollout-", ".jsonl.zst")],
        &["codex"],
    )
    .repairing(&[
        ("orphan-call", "adds the output \"aborted\""),
        ("orphan-output", "leaves the output out"),
    ]),
    agent(
        "openclaw",
        "OpenClaw",
        &[
            store(
                &[
                    ("OPENCLAW_STATE_DIR", "agents"),
                    ("CLAWDBOT_STATE_DIR", "agents"),
                    ("OPENCLAW_HOME", ".openclaw/agents"),
                ],
                ".openclaw/agents",
            ),
            store(&[], ".clawdbot/agents"),
        ],
        &[("", ".jsonl"), ("openclaw-agent", ".sqlite")],
        &["openclaw-sqlite"],
    )
    .repairing(&[
        ("orphan-call", "adds an error as the output"),
        ("orphan-output", "leaves the output out"),
        ("duplicate-output", "leaves the later output out"),
        ("misplaced-output", "moves the output to its call"),
    ]),
    agent(
        "opencode",
        "opencode",
        &[
            store(
                &[
                    ("OPENCODE_DB", ""),
                    ("XDG_DATA_HOME", "opencode/opencode.db"),
                ],
                ".local/share/opencode/opencode.db",
            ),
            store(
                &[("XDG_DATA_HOME", "opencode/storage/session")],
                ".local/share/opencode/storage/session",
            ),
        ],
        &[("ses_", ".json")],
        &["opencode-sqlite", "opencode"],
    )
    .repairing(&[(
        "orphan-call",
        "adds the output \"[Tool execution was interrupted]\"",
    )]),
    agent(
        "kilo",
        "Kilo",
        &[store(
            &[("KILO_DB", ""), ("XDG_DATA_HOME", "kilo/kilo.db")],
            ".local/share/kilo/kilo.db",
        )],
        &[("kilo", ".db")],
        &[],
    )
    .repairing(&[(
        "orphan-call",
        "adds the output \"[Tool execution was interrupted]\"",
    )]),
    agent(
        "gemini-cli",
        "Gemini CLI",
        &[store(&[("GEMINI_CLI_HOME", ".gemini/tmp")], ".gemini/tmp")],
        &[("session-", ".json"), ("session-", ".jsonl")],
        &["gemini-cli"],
    ),
    agent(
        "qwen-code",
        "Qwen Code",
        &[store(&[("QWEN_RUNTIME_DIR", "projects")], ".qwen/projects")],
        &[("", ".jsonl")],
        &["qwen-code"],
    ),
    agent(
        "hermes",
        "Hermes",
        &[
            store(&[("HERMES_HOME", "state.db")], ".hermes/state.db"),
            store(&[("HERMES_HOME", "profiles")], ".hermes/profiles"),
        ],
        &[("state", ".db")],
        &["hermes-sqlite"],
    ),
    agent(
        "copilot-cli",
        "Copilot CLI",
        &[store(
            &[("COPILOT_HOME", "session-state")],
            ".copilot/session-state",
        )],
        &[("", ".jsonl")],
        &["copilot-cli"],
    ),
    agent(
        "cline",
        "Cline",
        &[
            store(&[("CLINE_DIR", "data/tasks")], ".cline/data/tasks"),
            store(
                &[
                    ("CLINE_SESSION_DATA_DIR", ""),
                    ("CLINE_DATA_DIR", "sessions"),
                    ("CLINE_DIR", "data/sessions"),
                ],
                ".cline/data/sessions",
            ),
            store(
                &[(
                    "XDG_CONFIG_HOME",
                    "Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
                )],
                ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
            ),
            store(
                &[],
                "Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
            ),
            store(
                &[],
                ".vscode-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks",
            ),
            store(
                &[(
                    "XDG_CONFIG_HOME",
                    "Cursor/User/globalStorage/saoudrizwan.claude-dev/tasks",
                )],
                ".config/Cursor/User/globalStorage/saoudrizwan.claude-dev/tasks",
            ),
            store(
                &[],
                "Library/Application Support/Cursor/User/globalStorage/saoudrizwan.claude-dev/tasks",
            ),
        ],
        &[
            ("api_conversation_history", ".json"),
            ("", ".messages.json"),
        ],
        &["cline", "cline-xml"],
    ),
    agent(
        "roo",
        "Roo Code",
        &[
            store(
                &[(
                    "XDG_CONFIG_HOME",
                    "Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
                )],
                ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
            ),
            store(
                &[],
                "Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
            ),
            store(
                &[],
                ".vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
            ),
            store(
                &[(
                    "XDG_CONFIG_HOME",
                    "Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
                )],
                ".config/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
            ),
            store(
                &[],
                "Library/Application Support/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
            ),
        ],
        &[("api_conversation_history", ".json")],
        &[],
    ),
    agent(
        "goose",
        "Goose",
        &[store(
            &[
                ("GOOSE_PATH_ROOT", "data/sessions"),
                ("XDG_DATA_HOME", "goose/sessions"),
            ],
            ".local/share/goose/sessions",
        )],
        &[("sessions", ".db"), ("", ".jsonl")],
        &["goose-sqlite", "goose"],
    )
    .repairing(&[
        ("orphan-call", "leaves the call out"),
        ("orphan-output", "leaves the output out"),
    ]),
    agent(
        "pi",
        "pi",
        &[store(
            &[
                ("PI_CODING_AGENT_SESSION_DIR", ""),
                ("PI_CODING_AGENT_DIR", "sessions"),
            ],
            ".pi/agent/sessions",
        )],
        &[("", ".jsonl")],
        &["pi"],
    )
    .repairing(&[("orphan-call", "adds the output \"No result provided\"")]),
    agent(
        "oh-my-pi",
        "oh-my-pi",
        &[
            store(&[], ".omp/agent/sessions"),
            store(&[], ".omp/profiles"),
            store(
                &[("XDG_DATA_HOME", "omp/sessions")],
                ".local/share/omp/sessions",
            ),
        ],
        &[("", ".jsonl")],
        &[],
    )
    .repairing(&[("orphan-call", "adds the output \"No result provided\"")]),
    agent(
        "openai-agents",
        "openai-agents",
        &[store(&[], "")],
        &[("", ".db"), ("", ".sqlite"), ("", ".sqlite3")],
        &["agents-sqlite"],
    ),
];

impl Agent {
    const fn repairing(mut self, repairs: &'static [(&'static str, &'static str)]) -> Self {
        self.repairs = repairs;
        self
    }

    /// The agent that writes files of a format.
    pub fn of_format(format: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.formats.contains(&format))
    }

    /// Whether a file of this name in its store is a session. Agents keep other files beside theirs.
    pub fn is_session(&self, name: &OsStr) -> bool {
        let name = name.as_bytes();
        let mut names = self.names.iter();
        !name.starts_with(b".")
            && names.any(|(start, end)| {
                name.starts_with(start.as_bytes()) && name.ends_with(end.as_bytes())
            })
    }

    /// Whether files of any program may lie beside its own, and folders below are none of its business.
    pub fn is_among_others(&self) -> bool {
        self.stores.iter().all(|store| store.usual.is_empty())
    }

    /// What it does by itself about the findings of a rule when it loads a session.
    pub fn repair(&self, rule: &str) -> Option<&'static str> {
        let mut repairs = self.repairs.iter();
        repairs
            .find(|(known, _)| *known == rule)
            .map(|(_, what)| *what)
    }
}

impl Store {
    /// Where it is; `variable` looks a variable up, `here` is the folder that agents are started in. `None`
    /// where the home folder is not known.
    pub fn path(
        &self,
        variable: &dyn Fn(&str) -> Option<OsString>,
        here: &Path,
    ) -> Option<PathBuf> {
        let moved = self.moved_by.iter().find_map(|(name, below)| {
            let path = PathBuf::from(variable(name).filter(|value| !value.is_empty())?);
            // The XDG specification ignores a relative path, and so do programs that are given a whole file.
            let needs_root = name.starts_with("XDG_") || below.is_empty();
            match (*below, needs_root && !path.is_absolute()) {
                (_, true) => None,
                ("", false) => Some(path),
                (below, false) => Some(path.join(below)),
            }
        });
        match (moved, self.usual) {
            (Some(path), _) => Some(path),
            (None, "") => Some(here.to_owned()),
            (None, usual) => Some(Path::new(&variable("HOME")?).join(usual)),
        }
    }
}
