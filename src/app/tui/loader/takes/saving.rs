//! Saves takes, in the format of their recording, converted or as a page, and says what each of these would lose.

use crate::page::{PageError, PageForm, PageSource};
use crate::tui::loader::work::Work;
use crate::tui::recovery::saving::{ENDINGS, SaveFormat};
use crate::tui::report::Report;
use crate::tui::state::document::Document;
use retake_core::formats::convert::{AgentProgram, ConvertOptions, Converted, convert};
use retake_core::formats::is_written;
use retake_core::repair::likely;
use retake_core::session::takes::TakeId;
use retake_core::session::{Dialect, Session, SourceError, index_number};
use retake_core::usage::working_folder;
use retake_live::discover::agent_places;
use retake_live::replace::{Backup, replace};
use retake_live::{
    Input, ReadOptions, TakeStore, is_same_file, new_session, prepare_store, read_input, read_path,
    save_take, session_path, tools_beside, tools_path, tools_text, without_secrets, write_session,
    write_take,
};
use rustix::fs::Access;
use std::env;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whether a copy belongs beside a recording: the operator may write there, and no agent keeps its sessions there.
fn is_own_folder(folder: &Path) -> bool {
    let is_writable = rustix::fs::access(folder, Access::WRITE_OK).is_ok();
    let is_owned = fs::metadata(folder)
        .is_ok_and(|folder| folder.uid() == rustix::process::geteuid().as_raw());
    let stores = agent_places(&|name| env::var_os(name), Path::new("."));
    let mut stores = stores
        .iter()
        .filter_map(|store| store.path.canonicalize().ok());
    let folder = folder.canonicalize().unwrap_or_default();
    is_writable && is_owned && !stores.any(|store| folder.starts_with(store))
}

/// Of larger sessions the losses of a conversion are reported when it is made.
const COUNTED: usize = 50_000;

impl Work {
    pub(super) fn tell_formats(
        &self,
        bench: &mut TakeStore,
        shown: Option<&Arc<Document>>,
        session: usize,
    ) {
        let Some(document) = shown else {
            return self.refuse("nothing is open");
        };
        let id = bench.takes().current();
        let mut formats = Vec::new();
        let own = document.recording.format.id;
        let recorded = self.opening.input().path.as_deref();
        let tools = recorded.and_then(|path| Some(tools_beside(path)?.0));
        let tools = tools.map_or_else(String::new, |path| {
            let name = path.file_name().unwrap_or_default().display();
            format!("its tools are in {name}; elsewhere they are written beside it")
        });
        let is_request = bench.is_run() || bench.request_below(id).is_some();
        let is_writable = is_written(document.recording.format) || id == TakeId::MAIN;
        if is_writable {
            let title = if is_request {
                format!("the request ({own})")
            } else {
                format!("as recorded ({own})")
            };
            formats.push(SaveFormat {
                id: OWN,
                title,
                ending: match bench.is_run() {
                    true => ".json".to_owned(),
                    false => self.ending(own),
                },
                path: None,
                losses: Vec::new(),
                tools: tools.clone(),
            });
        }
        let history = document.recording.sessions.get(session);
        for to in Dialect::ALL {
            formats.push(SaveFormat {
                id: id_of(to),
                title: title_of(to).to_owned(),
                ending: ".json".to_owned(),
                path: None,
                losses: history.map_or_else(Vec::new, |history| {
                    losses(history, &|write| convert(history, to, OPTIONS, write))
                }),
                tools: tools.clone(),
            });
        }
        let new = history.map(|history| (history, new_session(&folder(history))));
        let agents = new
            .iter()
            .flat_map(|new| AgentProgram::ALL.map(|agent| (agent, new)));
        for (agent, (history, new)) in agents {
            let path = session_path(agent, new, &|name| env::var_os(name));
            formats.push(SaveFormat {
                id: agent.word(),
                title: agent.title().to_owned(),
                ending: agent.ending().to_owned(),
                path: path.map(|path| path.to_string_lossy().into_owned()),
                losses: losses(history, &|write| write_session(history, agent, new, write)),
                tools: String::new(),
            });
        }
        for form in PageForm::ALL {
            formats.push(SaveFormat {
                id: form.word(),
                title: form.title().to_owned(),
                ending: form.ending().to_owned(),
                path: None,
                losses: Vec::new(),
                tools: String::new(),
            });
        }
        let mut name = self.opening.input().name.clone();
        let folder = name.rfind('/').map_or(".", |slash| &name[..=slash]);
        if bench.is_run() || !is_own_folder(Path::new(folder)) {
            // Runs lie among retake's own files; what is saved of them belongs where the operator works.
            name.replace_range(..name.rfind('/').map_or(0, |slash| slash + 1), "");
        }
        self.tell(Report::Formats(name, formats));
    }

    fn ending(&self, format: &str) -> String {
        let name = &self.opening.input().name;
        let name = name.trim_end_matches(".zst").trim_end_matches(".gz");
        let own = ENDINGS.into_iter().find(|ending| name.ends_with(ending));
        let usual = if matches!(format, "claude-code" | "codex") {
            ".jsonl"
        } else {
            ".json"
        };
        own.unwrap_or(usual).to_owned()
    }

    pub(super) fn save(
        &self,
        bench: &mut TakeStore,
        shown: Option<&Arc<Document>>,
        session: usize,
        path: &str,
        format: &str,
        force: bool,
    ) -> Report {
        let path = expanded(path);
        let recorded = self.opening.input().path.as_deref();
        if recorded.is_some_and(|recorded| is_same_file(recorded, &path)) {
            return Report::TakesRefused(
                "the recording itself is never overwritten; choose another name".to_owned(),
            );
        }
        if path.exists() && !force {
            return Report::Exists;
        }
        let id = bench.takes().current();
        let dialect = Dialect::ALL.into_iter().find(|to| id_of(*to) == format);
        let form = PageForm::ALL.into_iter().find(|form| form.word() == format);
        let history = shown.and_then(|document| document.recording.sessions.get(session));
        let saved = match (dialect, AgentProgram::named(format), form) {
            (Some(to), _, _) => save_history(history, to, &path)
                .and_then(|notice| with_tools(notice, history, 0, &path)),
            (None, Some(agent), _) => save_session(history, agent, &path),
            (None, None, Some(form)) => self.save_page(bench, id, session, form, &path),
            (None, None, None) => save_own(bench, id, &path)
                .and_then(|notice| with_tools(notice, history, session, &path)),
        };
        match saved {
            Ok(notice) => Report::Saved(notice),
            Err(reason) => Report::TakesRefused(reason),
        }
    }
}

impl Work {
    /// Writes pictures of an item, the second and later ones with a number; a file that is there is left as it is.
    #[cfg(not(feature = "images"))]
    pub(super) fn save_pictures(path: &str, files: &[(&str, Vec<u8>)]) -> Report {
        let first = expanded(path);
        let stem = first.with_extension("");
        let mut names = Vec::new();
        for (number, (kind, file)) in (1..).zip(files) {
            let path = match number {
                1 => first.clone(),
                number => PathBuf::from(format!("{}-{number}.{kind}", stem.display())),
            };
            let name = path.display();
            if !path.exists() {
                let replaced = replace(&path, Backup::None, |out| out.write_all(file));
                if let Err(error) = replaced {
                    return Report::TakesRefused(format!("{name}: {error}"));
                }
            } else if fs::read(&path).ok().as_ref() != Some(file) {
                let words = format!("{name} holds something else; the picture is not saved");
                return Report::TakesRefused(words);
            }
            names.push(name.to_string());
        }
        let word = if files.len() == 1 {
            "picture is"
        } else {
            "pictures are"
        };
        Report::Saved(format!("the {word} saved as {}", names.join(", ")))
    }

    /// Writes a session of a take as a page, from bytes without secrets.
    fn save_page(
        &self,
        bench: &mut TakeStore,
        id: TakeId,
        session: usize,
        form: PageForm,
        path: &Path,
    ) -> Result<String, String> {
        let rope = bench.rope(id).map_err(|error| error.to_string())?;
        let base = bench.base(id).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        write_take(base, &rope, &mut bytes).map_err(|error| error.to_string())?;
        let name = self.opening.input().name.clone();
        let input = without_secrets(Input::of(name, Arc::new(bytes)));
        let mut recording = input
            .and_then(|input| read_input(input, &ReadOptions::default()))
            .map_err(|error| error.to_string())?;
        self.knowledge.apply(&mut recording);
        let page = PageSource {
            recording: &recording,
            sessions: vec![(session, String::new())],
            target: self.knowledge.target,
            prices: &self.knowledge.prices,
            take: bench
                .takes()
                .get(id)
                .map(|take| format!("{id} of the recording, changed: {}", take.title)),
            is_redacted: true,
        };
        let replaced = replace(path, Backup::None, |out| {
            page.write(form, out).map_err(|error| match error {
                PageError::Output(error) => error,
                PageError::Source(error) => std::io::Error::other(error.to_string()),
            })
        });
        let replaced = replaced.map_err(|error| error.to_string())?;
        Ok(format!("the page is {}", replaced.path.display()))
    }
}

/// Id of the recording's own format in the save dialog.
const OWN: &str = "own";

fn id_of(to: Dialect) -> &'static str {
    to.word()
}

fn title_of(to: Dialect) -> &'static str {
    to.facts().history_title
}

fn save_own(bench: &mut TakeStore, id: TakeId, path: &Path) -> Result<String, String> {
    let rope = bench.rope(id).map_err(|error| error.to_string())?;
    let base = bench.base(id).map_err(|error| error.to_string())?;
    let replaced = save_take(base, &rope, path, Backup::None).map_err(|error| error.to_string())?;
    Ok(format!("{id} is saved as {}", replaced.path.display()))
}

/// Writes the tools of a saved session beside it, where it would be judged without them; gives what is said of both.
fn with_tools(
    notice: String,
    history: Option<&Session>,
    session: usize,
    saved: &Path,
) -> Result<String, String> {
    let Some(history) = history.filter(|history| history.contract.tools_known()) else {
        return Ok(notice);
    };
    let read = read_path(saved, &ReadOptions::default()).map_err(|error| error.to_string())?;
    let read = read.sessions.get(session);
    if read.is_some_and(|session| session.contract.tools_known()) {
        return Ok(notice);
    }
    let tools = history.contract.tools_at(index_number(history.items.len()));
    let found = tools_beside(saved);
    if let Some((found, _)) = found.filter(|(_, found)| found.iter().eq(tools.iter().copied())) {
        let name = found.file_name().unwrap_or_default();
        return Ok(format!("{notice}; its tools are in {}", name.display()));
    }
    let path = tools_path(saved);
    if path.exists() {
        let path = path.display();
        return Ok(format!("{notice} without its tools: {path} has others"));
    }
    let text = tools_text(&tools);
    let written = replace(&path, Backup::None, |out| out.write_all(text.as_bytes()));
    let written = written.map_err(|error| error.to_string())?;
    let name = written.path.file_name().unwrap_or_default();
    Ok(format!("{notice}, its tools as {}", name.display()))
}

/// Why there is nothing to convert.
const NO_SESSION: &str = "there is no such session";

fn save_history(history: Option<&Session>, to: Dialect, path: &Path) -> Result<String, String> {
    let history = history.ok_or(NO_SESSION)?;
    save_converted(title_of(to), path, &|write| {
        convert(history, to, OPTIONS, write)
    })
}

/// Writes a session that an agent goes on from.
fn save_session(
    history: Option<&Session>,
    agent: AgentProgram,
    path: &Path,
) -> Result<String, String> {
    let history = history.ok_or(NO_SESSION)?;
    let new = new_session(&folder(history)).named_by(path);
    let proposed = session_path(agent, &new, &|name| env::var_os(name));
    let is_installed = proposed.is_some_and(|proposed| proposed.parent() == path.parent());
    if is_installed {
        prepare_store(agent, &new, path).map_err(|error| error.to_string())?;
    }
    let saved = save_converted(agent.title(), path, &|write| {
        write_session(history, agent, &new, write)
    })?;
    let name = path.to_string_lossy();
    let command = agent.resume(&new.id, Some(&*name).filter(|_| !is_installed));
    Ok(match command {
        Some(command) => format!("{saved}; `{command}` resumes it"),
        None => saved,
    })
}

/// The folder that an agent works in when it goes on from a session.
fn folder(history: &Session) -> PathBuf {
    let recorded = working_folder(history)
        .map(|folder| PathBuf::from(folder.trim_end_matches('/')))
        .filter(|folder| folder.is_dir());
    recorded.unwrap_or_else(|| env::current_dir().unwrap_or_default())
}

/// What writes a conversion piece by piece.
type Convert<'a, E> = &'a dyn Fn(&mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<Converted, E>;

fn save_converted(
    title: &str,
    path: &Path,
    convert: Convert<'_, Stopped>,
) -> Result<String, String> {
    let mut losses = 0;
    let replaced = replace(path, Backup::None, |out| {
        let mut write = |piece: &[u8]| out.write_all(piece).map_err(Stopped::Output);
        let converted = convert(&mut write).map_err(Stopped::into_io)?;
        losses = converted.losses.len();
        Ok(())
    });
    let replaced = replaced.map_err(|error| error.to_string())?;
    let lost = match losses {
        0 => String::new(),
        1 => "; 1 loss".to_owned(),
        count => format!("; {count} losses"),
    };
    Ok(format!(
        "saved as {title} in {}{lost}",
        replaced.path.display()
    ))
}

/// Why a conversion stopped.
enum Stopped {
    Source(SourceError),
    Output(std::io::Error),
}

impl From<SourceError> for Stopped {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl Stopped {
    fn into_io(self) -> std::io::Error {
        match self {
            Self::Source(error) => std::io::Error::other(error.to_string()),
            Self::Output(error) => error,
        }
    }
}

const OPTIONS: ConvertOptions = ConvertOptions {
    as_request: false,
    repair: likely,
};

/// What a conversion loses, a sentence for each kind of loss.
fn losses(session: &Session, convert: Convert<'_, SourceError>) -> Vec<String> {
    if session.items.len() > COUNTED {
        return vec!["losses are counted on saving".to_owned()];
    }
    let mut nothing = |_: &[u8]| Ok::<(), SourceError>(());
    let Ok(converted) = convert(&mut nothing) else {
        return Vec::new();
    };
    let mut counted: Vec<(String, usize)> = Vec::new();
    for loss in &converted.losses {
        let words = loss.kind.to_string();
        match counted.iter_mut().find(|(known, _)| *known == words) {
            Some((_, count)) => *count += 1,
            None => counted.push((words, 1)),
        }
    }
    let parts = counted.into_iter().map(|(words, count)| match count {
        1 => words,
        count => format!("{words} ({count} times)"),
    });
    parts.collect()
}

/// `~` for the home folder, as shells read it.
pub(in crate::tui) fn expanded(path: &str) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::chown;

    #[test]
    fn a_copy_is_proposed_beside_recordings_of_the_operator_only() {
        let folder = tempfile::tempdir().unwrap();
        assert!(is_own_folder(folder.path()));
        assert!(!is_own_folder(&folder.path().join("missing")));
        if rustix::process::geteuid().is_root() {
            chown(folder.path(), Some(12_345), None).unwrap();
            assert!(!is_own_folder(folder.path()));
        }
    }
}
