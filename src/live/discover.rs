//! Looks for recordings: in the files and folders that were named, in `./sessions`, where retake keeps the
//! journals of runs, and in the stores of the agents.
//!
//! The search runs in the background: [`Walk`] hands over what it finds in batches, so that a picker can paint before a
//! folder of ten thousand files is read. Nothing is opened here; what a file holds is read by `inspect`.

use super::stores::{AGENTS, Agent};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::SystemTime;

const BATCH: usize = 256;
/// How deep folders are entered.
const DEPTH: usize = 32;
/// Where OpenClaw leaves the files that it moved into its database: it reads them no more.
const ARCHIVE: &str = "session-sqlite-import-archive";

/// The folders that are searched where nothing is named.
const SESSIONS: &str = "sessions";
const CURRENT: &str = ".";

/// The endings of files that may hold a recording, packed or not.
const ENDINGS: [&str; 18] = [
    "json", "jsonl", "ndjson", "sse", "txt", "db", "sqlite", "sqlite3", "journal", "yaml", "yml",
    "har", "eval", "traj", "flow", "mitm", "pb", "binpb",
];
/// Those of [`ENDINGS`] that mostly belong to other files: configurations of CI, models.
const COMMON_ENDINGS: [&str; 4] = ["yaml", "yml", "pb", "binpb"];
/// The endings of packed files, after those of the packed content.
const PACKED: [&str; 4] = [".zst", ".zstd", ".gz", ".gzip"];
/// The tools of the recording whose name, or its beginning, comes before this.
pub const TOOLS_SUFFIX: &str = ".tools.json";

/// The tree of files of opencode, by its end, and the database that it was moved into, from there.
const TREE: (&str, &str) = ("opencode/storage/session", "../../opencode.db");

/// How a place came to be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    Named,
    Sessions,
    /// It is the current folder, where nothing else is named: what lies deeper than one folder is left out.
    Current,
    /// This agent keeps its sessions there.
    Agent(&'static Agent),
    /// retake writes the journals of runs, of proxies and of labs there.
    Runs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// A file or a folder.
    pub path: PathBuf,
    pub origin: Origin,
}

/// The places to look in when the operator names none; `variable` looks a variable up. Folders of agents whose
/// home cannot be known are left out.
pub fn usual_places(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<Place> {
    let mut places = vec![Place {
        path: SESSIONS.into(),
        origin: Origin::Sessions,
    }];
    // As `usual_root` has it (XDG Base Directory Specification): a path that is not absolute is ignored.
    let set = variable("XDG_STATE_HOME").map(PathBuf::from);
    let state = set.filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(Path::new(&variable("HOME")?).join(".local/state")));
    if let Some(root) = state {
        let kept = ["runs", "proxy", "labs"].map(|name| root.join("retake").join(name));
        places.extend(kept.map(|path| Place {
            path,
            origin: Origin::Runs,
        }));
    }
    places.extend(agent_places(variable, Path::new(".")));
    let home = variable("HOME").map(PathBuf::from);
    let current = env::current_dir().ok();
    // Homes hold too much else.
    if current.is_some_and(|current| current.parent().is_some() && Some(current) != home) {
        places.push(Place {
            path: CURRENT.into(),
            origin: Origin::Current,
        });
    }
    places
}

/// The stores of the agents, each once, whether they exist or not; see [`super::stores::Store::path`].
pub fn agent_places(variable: &dyn Fn(&str) -> Option<OsString>, here: &Path) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for agent in AGENTS.iter() {
        let paths = agent
            .stores
            .iter()
            .filter_map(|store| store.path(variable, here));
        for path in paths {
            if places.iter().all(|place| place.path != path) {
                let origin = Origin::Agent(agent);
                places.push(Place { path, origin });
            }
        }
    }
    places
}

/// A file that may hold a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// How it is opened.
    pub path: PathBuf,
    /// The place it was found in, as an index into the places.
    pub place: usize,
    pub origin: Origin,
    /// Its size in bytes.
    pub size: u64,
    pub modified: Option<SystemTime>,
}

impl Candidate {
    /// Its path below the place it was found in; `None` where it is that place.
    pub fn inside(&self, places: &[Place]) -> Option<&Path> {
        let inside = self.path.strip_prefix(&places.get(self.place)?.path).ok()?;
        (!inside.as_os_str().is_empty()).then_some(inside)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Discovery {
    Found(Vec<Candidate>),
    /// A place, or a folder in it, cannot be read; the system's words.
    Refused(PathBuf, String),
    Finished,
}

/// Looking, in a thread of its own. Dropping it ends it.
#[derive(Debug)]
pub struct Walk {
    cancel: Arc<AtomicBool>,
}

impl Walk {
    /// Starts to look; `on_discovery` is called in another thread.
    pub fn start(
        places: Vec<Place>,
        mut on_discovery: impl FnMut(Discovery) + Send + 'static,
    ) -> Self {
        let cancel = Arc::new(AtomicBool::new(false));
        let watched = cancel.clone();
        thread::spawn(move || walk(&places, &watched, &mut on_discovery));
        Self { cancel }
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}

pub fn walk(places: &[Place], cancel: &AtomicBool, on_discovery: &mut dyn FnMut(Discovery)) {
    let mut walker = Walker {
        cancel,
        on_discovery,
        batch: Vec::new(),
    };
    for (index, place) in places.iter().enumerate() {
        if cancel.load(Ordering::Relaxed) {
            return;
        }
        if place.path.ends_with(TREE.0) && place.path.join(TREE.1).exists() {
            continue;
        }
        match fs::metadata(&place.path) {
            Ok(metadata) if metadata.is_dir() => walker.folder(index, place),
            Ok(metadata) => walker.file(place.path.clone(), index, place.origin, &metadata),
            Err(error) if place.origin == Origin::Named => {
                (walker.on_discovery)(Discovery::Refused(place.path.clone(), error.to_string()));
            }
            // The usual places need not exist.
            Err(_) => {}
        }
    }
    walker.flush();
    (walker.on_discovery)(Discovery::Finished);
}

struct Walker<'a> {
    cancel: &'a AtomicBool,
    on_discovery: &'a mut dyn FnMut(Discovery),
    batch: Vec<Candidate>,
}

impl Walker<'_> {
    /// Looks through a folder and those below it. Links to folders are not followed, so no circle is walked.
    fn folder(&mut self, index: usize, place: &Place) {
        let is_flat = matches!(place.origin, Origin::Agent(agent) if agent.is_among_others());
        let deepest = match place.origin {
            _ if is_flat => 0,
            Origin::Current => 1,
            _ => DEPTH,
        };
        let is_searched = |name: &OsStr| place.origin == Origin::Current && name == SESSIONS;
        let mut folders = vec![(place.path.clone(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                // Nobody asked for what lies in the current folder.
                Err(_) if place.origin == Origin::Current => continue,
                Err(error) => {
                    (self.on_discovery)(Discovery::Refused(folder, error.to_string()));
                    continue;
                }
            };
            for entry in entries.flatten() {
                if self.cancel.load(Ordering::Relaxed) {
                    return;
                }
                let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else {
                    continue;
                };
                let is_left_out = is_hidden(&name) || name == ARCHIVE || is_searched(&name);
                if kind.is_dir() && depth < deepest && !is_left_out {
                    folders.push((entry.path(), depth + 1));
                } else if !kind.is_dir() && is_candidate(&name, place.origin) {
                    // Follows a link, so that its size is that of the file.
                    match fs::metadata(entry.path()) {
                        Ok(metadata) if metadata.is_file() => {
                            self.file(entry.path(), index, place.origin, &metadata);
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    fn file(&mut self, path: PathBuf, place: usize, origin: Origin, metadata: &Metadata) {
        self.batch.push(Candidate {
            path,
            place,
            origin,
            size: metadata.len(),
            modified: metadata.modified().ok(),
        });
        if self.batch.len() >= BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if !self.batch.is_empty() {
            (self.on_discovery)(Discovery::Found(std::mem::take(&mut self.batch)));
        }
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".")
}

/// The endings of recordings for a message: `.json, .jsonl or .db`.
pub fn endings_text() -> String {
    let (last, rest) = ENDINGS.split_last().unwrap_or((&"", &[]));
    let rest: Vec<String> = rest.iter().map(|ending| format!(".{ending}")).collect();
    format!("{} or .{last}", rest.join(", "))
}

/// A name in small letters as its stem and its ending, without the ending of a packed file.
fn split_name(name: &str) -> (&str, &str) {
    let unpacked = PACKED.iter().find_map(|ending| name.strip_suffix(ending));
    unpacked
        .unwrap_or(name)
        .rsplit_once('.')
        .unwrap_or_default()
}

/// Whether files of this name are mostly something else than recordings, so that one that cannot be read is not
/// worth a word.
pub fn is_common_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    COMMON_ENDINGS.contains(&split_name(&name).1)
}

/// Whether a file of this name in a folder may hold a recording.
pub fn is_recording_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    let (stem, ending) = split_name(&name);
    let is_companion = ["truth.json", "tools.json"].contains(&&*name)
        || name.ends_with(TOOLS_SUFFIX)
        || name.ends_with(".truth.json");
    let is_hidden = stem.is_empty() || stem.starts_with('.');
    ENDINGS.contains(&ending) && !is_hidden && !is_companion && !name.starts_with("readme")
}

fn is_candidate(name: &OsStr, origin: Origin) -> bool {
    match origin {
        Origin::Named | Origin::Sessions => is_recording_name(name),
        Origin::Current => is_recording_name(name) && !is_common_name(name),
        Origin::Runs => name.as_bytes().ends_with(b".jsonl") && !is_hidden(name),
        Origin::Agent(agent) => agent.is_session(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(places: &[Place]) -> (Vec<String>, Vec<Discovery>) {
        let (mut names, mut rest) = (Vec::new(), Vec::new());
        walk(
            places,
            &AtomicBool::new(false),
            &mut |discovery| match discovery {
                Discovery::Found(batch) => names.extend(batch.iter().map(|candidate| {
                    let root = &places[candidate.place].path;
                    let inside = candidate.path.strip_prefix(root);
                    inside.unwrap().to_string_lossy().into_owned()
                })),
                other => rest.push(other),
            },
        );
        names.sort();
        (names, rest)
    }

    fn folder_with(names: &[&[u8]]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(OsStr::from_bytes(name));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"{}").unwrap();
        }
        folder
    }

    fn of(format: &str) -> Origin {
        Origin::Agent(Agent::of_format(format).unwrap())
    }

    fn place(folder: &tempfile::TempDir, origin: Origin) -> Place {
        Place {
            path: folder.path().to_owned(),
            origin,
        }
    }

    #[test]
    fn of_the_current_folder_one_level_is_searched() {
        let folder = folder_with(&[
            b"a.json",
            b"runs/b.jsonl",
            b"runs/deep/c.json",
            b"sessions/d.json",
            b".git/e.json",
            b"ci.yml",
        ]);
        let (names, rest) = found(&[place(&folder, Origin::Current)]);
        assert_eq!(names, ["a.json", "runs/b.jsonl"]);
        assert_eq!(rest, [Discovery::Finished]);
    }

    #[test]
    fn folders_are_searched_and_what_is_no_recording_is_left_out() {
        let folder = folder_with(&[
            b"a.json",
            b"deep/er/b.jsonl.zst",
            b"deep/C.JSONL",
            b"own.journal",
            b"cassette.yaml",
            b"cassette.YML.gz",
            b"traffic.har",
            b"traffic.flow",
            b"samples.eval",
            b"run.traj",
            b"spans.binpb",
            b"sources.tar.gz",
            b"a.json.tools.json",
            b"a.json.truth.json",
            b"truth.json",
            b"tools.json",
            b"README.txt",
            b".hidden.json",
            b".git/c.json",
            b"main.rs",
            b"json",
        ]);
        std::os::unix::fs::symlink(folder.path(), folder.path().join("circle")).unwrap();
        std::os::unix::fs::symlink("a.json", folder.path().join("link.json")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("dead.json")).unwrap();
        let (names, rest) = found(&[place(&folder, Origin::Named)]);
        assert_eq!(
            names,
            [
                "a.json",
                "cassette.YML.gz",
                "cassette.yaml",
                "deep/C.JSONL",
                "deep/er/b.jsonl.zst",
                "link.json",
                "own.journal",
                "run.traj",
                "samples.eval",
                "spans.binpb",
                "traffic.flow",
                "traffic.har"
            ]
        );
        assert_eq!(rest, [Discovery::Finished]);
    }

    #[test]
    fn of_agents_only_their_sessions_count() {
        let claude = folder_with(&[
            b"-home-me-project/1.jsonl",
            b"-home-me-project/1/subagents/agent-2.jsonl",
            b"-home-me-project/notes.json",
        ]);
        let codex = folder_with(&[
            b"2026/11/20/rollout-1.jsonl",
            b"2026/11/20/rollout-2.jsonl.zst",
            b"index.jsonl",
        ]);
        let places = [
            place(&claude, of("claude-code")),
            place(&codex, of("codex")),
        ];
        let (names, _) = found(&places);
        assert_eq!(
            names,
            [
                "-home-me-project/1.jsonl",
                "-home-me-project/1/subagents/agent-2.jsonl",
                "2026/11/20/rollout-1.jsonl",
                "2026/11/20/rollout-2.jsonl.zst",
            ]
        );
    }

    #[test]
    fn hostile_names_are_kept_as_they_are() {
        let folder = folder_with(&[b"-a\n\x1b[m\xff.json"]);
        let mut paths = Vec::new();
        let places = [place(&folder, Origin::Named)];
        walk(&places, &AtomicBool::new(false), &mut |discovery| {
            if let Discovery::Found(batch) = discovery {
                paths.extend(batch.into_iter().map(|candidate| candidate.path));
            }
        });
        assert!(fs::read(&paths[0]).is_ok());
        assert!(
            paths[0]
                .as_os_str()
                .as_bytes()
                .ends_with(b"/-a\n\x1b[m\xff.json")
        );
    }

    #[test]
    fn a_named_place_that_is_missing_is_told_and_a_usual_one_is_not() {
        let missing = |origin| Place {
            path: "/no/such/place".into(),
            origin,
        };
        let (_, rest) = found(&[missing(Origin::Named), missing(of("codex"))]);
        assert_eq!(rest.len(), 2, "{rest:?}");
        assert!(matches!(&rest[0], Discovery::Refused(path, _) if path.ends_with("place")));
    }

    fn paths(set: &[(&str, &str)]) -> Vec<String> {
        let places = usual_places(&|name| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).into())
        });
        let paths = places.iter().map(|place| place.path.display().to_string());
        paths.collect()
    }

    #[test]
    fn the_environment_says_where_agents_keep_their_sessions() {
        let usual = paths(&[("HOME", "/home/me"), ("CODEX_HOME", "/x")]);
        assert_eq!(
            usual[..6],
            [
                "sessions",
                "/home/me/.local/state/retake/runs",
                "/home/me/.local/state/retake/proxy",
                "/home/me/.local/state/retake/labs",
                "/home/me/.claude/projects",
                "/x/sessions"
            ]
        );
        // Without a home, what agents keep beside their users' work is left.
        assert_eq!(
            paths(&[("XDG_STATE_HOME", "/state")]),
            [
                "sessions",
                "/state/retake/runs",
                "/state/retake/proxy",
                "/state/retake/labs",
                ".",
                "."
            ]
        );
        let usual = paths(&[("XDG_STATE_HOME", "state")]);
        assert_eq!(usual, ["sessions", ".", "."]);
    }

    #[test]
    fn each_agent_is_moved_by_its_own_variables() {
        let moved = |name: &str, value: &str| paths(&[("HOME", "/h"), (name, value)]);
        let cases = [
            ("CLAUDE_CONFIG_DIR", "/c/projects"),
            ("CODEX_HOME", "/c/sessions"),
            ("OPENCLAW_STATE_DIR", "/c/agents"),
            ("OPENCLAW_HOME", "/c/.openclaw/agents"),
            ("OPENCODE_DB", "/c"),
            ("XDG_DATA_HOME", "/c/opencode/opencode.db"),
            ("XDG_DATA_HOME", "/c/kilo/kilo.db"),
            ("XDG_DATA_HOME", "/c/goose/sessions"),
            ("GEMINI_CLI_HOME", "/c/.gemini/tmp"),
            ("QWEN_RUNTIME_DIR", "/c/projects"),
            ("HERMES_HOME", "/c/state.db"),
            ("COPILOT_HOME", "/c/session-state"),
            ("CLINE_DIR", "/c/data/tasks"),
            ("GOOSE_PATH_ROOT", "/c/data/sessions"),
            ("PI_CODING_AGENT_DIR", "/c/sessions"),
            ("PI_CODING_AGENT_SESSION_DIR", "/c"),
        ];
        for (name, path) in cases {
            assert!(moved(name, "/c").iter().any(|own| own == path), "{name}");
        }
        assert_eq!(
            moved("XDG_DATA_HOME", "c"),
            paths(&[("HOME", "/h")]),
            "a relative path is ignored"
        );
        assert_eq!(moved("OPENCODE_DB", ":memory:"), paths(&[("HOME", "/h")]));
    }

    #[test]
    fn what_an_agent_moved_into_its_database_is_left_out() {
        let home = folder_with(&[
            b"opencode/storage/session/p/ses_1.json",
            b"agents/main/sessions/1.jsonl",
            b"agents/main/session-sqlite-import-archive/1.jsonl",
        ]);
        let of_opencode = || Place {
            path: home.path().join("opencode/storage/session"),
            origin: of("opencode"),
        };
        assert_eq!(found(&[of_opencode()]).0, ["p/ses_1.json"]);
        fs::write(home.path().join("opencode/opencode.db"), b"").unwrap();
        assert_eq!(found(&[of_opencode()]).0, [""; 0]);
        let of_openclaw = Place {
            path: home.path().join("agents"),
            origin: of("openclaw-sqlite"),
        };
        assert_eq!(found(&[of_openclaw]).0, ["main/sessions/1.jsonl"]);
    }

    #[test]
    fn of_a_folder_that_is_not_the_agents_only_the_top_is_searched() {
        let here = folder_with(&[b"run.db", b"deep/other.db", b"notes.json"]);
        let (names, _) = found(&[place(&here, of("agents-sqlite"))]);
        assert_eq!(names, ["run.db"]);
    }
}
