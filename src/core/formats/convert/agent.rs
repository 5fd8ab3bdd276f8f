//! A session as an agent keeps it, so that the agent lists it and goes on from it.
//!
//! Claude Code and Codex keep the messages of their provider, so that these are copied where they are spelled that way
//! already; the others have a spelling of their own. A tool that the target has as well gets its name there, and its
//! arguments theirs.

use crate::session::Dialect;
use crate::wire::write::{Object, elements, quoted, text_of};
use std::path::Path;

/// An agent whose sessions can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum AgentProgram {
    ClaudeCode,
    Codex,
    GeminiCli,
    Opencode,
    Pi,
}

/// What a session that is written is called, and where and when it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    pub id: String,
    /// The folder that the agent works in.
    pub folder: String,
    /// Milliseconds since 1970.
    pub at: u64,
}

impl NewSession {
    /// With the id that a file is named by, where it is; Claude Code finds a session by that.
    pub fn named_by(self, path: &Path) -> Self {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let id = stem
            .get(stem.len().saturating_sub(36)..)
            .unwrap_or_default();
        let is_dash = |place| [8, 13, 18, 23].contains(&place);
        let fits = |(place, letter): (usize, u8)| match is_dash(place) {
            true => letter == b'-',
            false => letter.is_ascii_hexdigit(),
        };
        match id.len() == 36 && id.bytes().enumerate().all(fits) {
            true => Self {
                id: id.to_owned(),
                ..self
            },
            false => self,
        }
    }
}

/// The id of the session of opencode that a UUID becomes.
pub(super) fn opencode_session(id: &str) -> String {
    let letters = id.replace('-', "");
    format!("ses_{}{}", &letters[..letters.len().min(12)], tail(id))
}

/// The last letters of a UUID, as many as an id of opencode ends on.
pub(super) fn tail(id: &str) -> String {
    let letters = id.replace('-', "");
    letters[letters.len().saturating_sub(14)..].to_owned()
}

impl AgentProgram {
    pub const ALL: [Self; 5] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::GeminiCli,
        Self::Opencode,
        Self::Pi,
    ];

    /// The id of the format of its sessions.
    pub fn word(self) -> &'static str {
        self.into()
    }

    pub fn named(word: &str) -> Option<Self> {
        word.parse().ok()
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "session of Claude Code",
            Self::Codex => "session of Codex",
            Self::GeminiCli => "session of Gemini CLI",
            Self::Opencode => "session of opencode",
            Self::Pi => "session of pi",
        }
    }

    /// The package and the version of it that went on from what is written.
    pub fn proven_with(self) -> (&'static str, &'static str) {
        match self {
            Self::ClaudeCode => ("@anthropic-ai/claude-code", "2.1.330"),
            Self::Codex => ("@openai/codex", "0.169.0"),
            Self::GeminiCli => ("@google/gemini-cli", "0.61.0"),
            Self::Opencode => ("opencode-ai", "1.18.33"),
            Self::Pi => ("@mariozechner/pi-coding-agent", "0.73.1"),
        }
    }

    /// How files of its sessions end.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Opencode => ".json",
            Self::ClaudeCode | Self::Codex | Self::GeminiCli | Self::Pi => ".jsonl",
        }
    }

    /// The command that goes on from a session: from a file where one is given, else from the agent's own store.
    /// `None` where the agent takes no file.
    pub fn resume(self, id: &str, file: Option<&str>) -> Option<String> {
        Some(match (self, file) {
            (Self::ClaudeCode, file) => format!("claude --resume {}", file.unwrap_or(id)),
            (Self::Codex, None) => format!("codex resume {id}"),
            (Self::Codex, Some(_)) => return None,
            (Self::GeminiCli, None) => format!("gemini --resume {id}"),
            (Self::GeminiCli, Some(file)) => format!("gemini --session-file {file}"),
            (Self::Opencode, file) => {
                let id = opencode_session(id);
                let file = file.unwrap_or("FILE");
                format!("opencode import {file} && opencode --session {id}")
            }
            (Self::Pi, file) => format!("pi --session {}", file.unwrap_or(id)),
        })
    }

    /// The dialect whose rules about ids, names and order hold in its sessions.
    pub(super) fn dialect(self) -> Dialect {
        match self {
            Self::Codex => Dialect::Responses,
            Self::ClaudeCode | Self::GeminiCli | Self::Opencode | Self::Pi => Dialect::Anthropic,
        }
    }

    /// Whether outputs in its sessions have a mark that they are errors.
    pub fn marks_errors(self) -> bool {
        self.dialect().facts().marks_errors
    }

    /// Whether its records hold the messages of its provider as they are sent.
    pub(super) fn keeps_wire(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Codex)
    }

    /// Whether messages of a recording are copied where they are spelled in the dialect: not where another agent's
    /// tools are named in them.
    pub(super) fn copies(self, format: &str) -> bool {
        self.keeps_wire() && Self::of_format(format).is_none_or(|recorded| recorded == self)
    }

    /// Whether a call holds its output, so that an output without a call has no place.
    pub(super) fn joins_outputs(self) -> bool {
        matches!(self, Self::GeminiCli | Self::Opencode)
    }

    pub(super) fn images_in_outputs(self) -> bool {
        !self.joins_outputs()
    }

    /// Whether an image has to be in the session itself.
    pub(super) fn needs_image_data(self) -> bool {
        matches!(self, Self::GeminiCli | Self::Pi)
    }

    /// The agent whose tools a recording names.
    fn of_format(format: &str) -> Option<Self> {
        Some(match format {
            "claude-code" | "claude-stream" => Self::ClaudeCode,
            "codex" | "codex-exec" => Self::Codex,
            "gemini-cli" | "qwen-code" => Self::GeminiCli,
            "opencode" | "opencode-sqlite" => Self::Opencode,
            "pi" | "openclaw-sqlite" => Self::Pi,
            _ => return None,
        })
    }

    /// The tool that does what a tool of another agent's recording did.
    pub(super) fn tool(self, format: &str, name: &str) -> Option<EquivalentTool> {
        let recorded = Self::of_format(format).filter(|recorded| *recorded != self)?;
        let words = |row: &[&'static str; 5], agent: Self| {
            let words = row[agent as usize].split(' ');
            words.collect::<Vec<&'static str>>()
        };
        let mut rows = TOOLS
            .iter()
            .map(|row| [words(row, recorded), words(row, self)]);
        let is_row = |from: &[&str], to: &[&str]| has_name(from[0], name) && !to[0].is_empty();
        let [from, to] = rows.find(|[from, to]| is_row(from, to))?;
        let keys = from[1..].iter().copied().zip(to[1..].iter().copied());
        Some(EquivalentTool {
            name: written(to[0]),
            keys: keys.collect(),
        })
    }
}

/// A tool of the target that does what a tool of the recording did.
pub(super) struct EquivalentTool {
    pub(super) name: &'static str,
    /// The recorded names of the arguments, with those of the target.
    keys: Vec<(&'static str, &'static str)>,
}

/// Arguments of a call for the target's tool.
pub(super) struct AgentArguments {
    /// Under the target's names; `None` where nothing changes.
    pub(super) renamed: Option<String>,
    /// The recorded names of those that the target's tool does not have; they stay.
    pub(super) unknown: Vec<String>,
}

impl EquivalentTool {
    pub(super) fn arguments(&self, json: &str) -> AgentArguments {
        let object = Object::read(json);
        let (mut renamed, mut unknown) = (Object::default(), Vec::new());
        for (key, value) in object.members() {
            let known = self.keys.iter().find(|(names, _)| has_name(names, key));
            match known.map(|(_, names)| written(names)) {
                Some(key @ ("cmd" | "command")) if value.starts_with('[') => {
                    renamed.set(key, command_line(value));
                }
                Some(NONE) | None => {
                    unknown.push(key.to_owned());
                    renamed.set(key, value);
                }
                Some(key) => renamed.set(key, value),
            }
        }
        let renamed = renamed.json();
        AgentArguments {
            renamed: (renamed != object.json()).then_some(renamed),
            unknown,
        }
    }
}

/// Whether a name is one of those of a place in a row.
fn has_name(names: &str, name: &str) -> bool {
    !name.is_empty() && name != NONE && names.split('|').any(|known| known == name)
}

/// The name of a place in a row that is written: the first.
fn written(names: &'static str) -> &'static str {
    names.split_once('|').map_or(names, |(first, _)| first)
}

/// A command that is a list of words, as a text: what the shell runs in `["bash", "-lc", "ls"]`.
fn command_line(words: &str) -> String {
    let words = elements(words);
    match words[..] {
        [_, "\"-lc\"" | "\"-c\"", script] => script.to_owned(),
        _ => {
            let words = words.into_iter().map(text_of).collect::<Vec<_>>();
            quoted(&words.join(" "))
        }
    }
}

/// An argument that an agent's tool does not have.
const NONE: &str = "-";

/// Tools that several agents have, a row each: in the order of [`AgentProgram::ALL`] the name and then the arguments,
/// those of one place in a row with one meaning; `a|b` where other versions say b. The first row of a tool is the
/// one that is written.
const TOOLS: [[&str; 5]; 12] = [
    [
        "Bash command description timeout",
        "exec_command cmd",
        "run_shell_command command description",
        "bash command description timeout",
        "bash command",
    ],
    [
        "Bash command",
        "shell_command command",
        "run_shell_command command",
        "bash command",
        "bash command",
    ],
    [
        "Bash command",
        "shell command",
        "run_shell_command command",
        "bash command",
        "bash command",
    ],
    [
        "Read file_path offset limit",
        "",
        "read_file file_path|absolute_path|path start_line -|limit",
        "read filePath offset limit",
        "read path offset limit",
    ],
    [
        "Write file_path content",
        "",
        "write_file file_path content",
        "write filePath content",
        "write path content",
    ],
    [
        "Edit file_path old_string new_string replace_all",
        "",
        "replace|edit file_path old_string new_string allow_multiple",
        "edit filePath oldString newString replaceAll",
        "edit path oldText newText",
    ],
    [
        "Glob pattern path",
        "",
        "glob pattern dir_path|path",
        "glob pattern path",
        "find pattern path",
    ],
    [
        "Grep pattern path glob",
        "",
        "grep_search|search_file_content pattern dir_path|path include_pattern|include|glob",
        "grep pattern path include",
        "grep pattern path glob",
    ],
    [
        "",
        "",
        "list_directory dir_path|path",
        "list path",
        "ls path",
    ],
    [
        "TodoWrite todos",
        "",
        "write_todos|todo_write todos",
        "todowrite todos",
        "",
    ],
    ["WebFetch url prompt", "", "", "webfetch url -", ""],
    [
        "WebSearch query",
        "",
        "google_web_search query",
        "websearch query",
        "",
    ],
];
