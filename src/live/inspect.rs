//! Says in short what files hold: format, findings, tokens, the project, the first and the last words. Many files
//! are inspected in the background, on all cores, those that are wanted first at first.

use super::{InputError, OpenedInput, ReadOptions, Recording, check_recording, open, read_path};
use crate::lock::lock;
use retake_core::json::first_text_member;
use retake_core::rules::Severity;
use retake_core::session::{Dialect, Kind, Session, Source, Span};
use retake_core::usage::{Cost, Prices, UsageReader};
use retake_core::wire::{body_of, body_within};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Larger files are not read before they are opened: they would keep the cores from the rest.
const LIMIT: u64 = 256 << 20;
/// How much of the start of a recording is searched for its project.
const HEAD: u64 = 64 * 1024;
/// How much of the first words is kept, in bytes.
const WORDS: usize = 400;
/// What is before the words of the user in what Codex is sent from an editor.
const REQUEST: &str = "## My request for Codex:";
/// How many messages of the end are kept.
const LAST: usize = 3;
/// How many items of the user are looked at for words of their own, and how much of each, in bytes.
const LOOKED_AT: usize = 12;
const LOOKED_THROUGH: usize = 64 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    pub format: &'static str,
    /// Whether all of the file was read; of a head only the format, the folder, the model and the words are
    /// known.
    pub is_whole: bool,
    pub sessions: usize,
    pub turns: usize,
    pub errors: usize,
    pub warnings: usize,
    /// The rules that found something, the most findings first; what cannot be read is a `problem`.
    pub rules: Vec<(&'static str, Severity, usize)>,
    /// Input and output of all replies; `None` where the recording does not say.
    pub tokens: Option<u64>,
    /// What all replies cost together; `None` where no price is known.
    pub cost: Option<Cost>,
    /// Whether the recording counts only a part of the tokens.
    pub is_undercounted: bool,
    /// When the last entry was recorded, in milliseconds since 1970.
    pub last_entry: Option<u64>,
    pub models: Vec<String>,
    /// The tools that were called.
    pub tools: Vec<String>,
    /// The folder in which the agent worked, where it is recorded.
    pub folder: Option<String>,
    /// The beginning of the first text that says something, of the user where there is one.
    pub first: Option<(Kind, String)>,
    /// The last messages, in their order.
    pub last: Vec<(Kind, String)>,
    /// The id of the session that a sub-agent belongs to, where the file holds a sub-agent.
    pub parent: Option<String>,
}

impl Summary {
    /// The first words; empty where nothing is said.
    pub fn words(&self) -> &str {
        self.first.as_ref().map_or("", |(_, words)| words)
    }
}

/// What else is known about the run in a file: it is added to the recording, and the dialect to judge for is
/// named, if it is not the recorded one.
pub type InspectJudge = dyn Fn(&Path, &mut Recording) -> Option<Dialect> + Send + Sync;

/// Reads and checks one file as `options` and `judge` say. The error is a line for people.
pub fn inspect(
    path: &Path,
    options: &ReadOptions,
    prices: &Prices,
    judge: &InspectJudge,
) -> Result<Summary, String> {
    let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    if size > LIMIT {
        return Err("large; open it to see what it holds".to_owned());
    }
    let mut recording = read_path(path, options).map_err(|error| error.to_string())?;
    let target = judge(path, &mut recording);
    let findings = check_recording(&recording, target).map_err(|error| error.to_string())?;
    let mut summary = summary_of(&recording);
    let mut rules: BTreeMap<&'static str, (Severity, usize)> = BTreeMap::new();
    // What cannot be read counts as in the debugger.
    if !recording.problems.is_empty() {
        summary.warnings = recording.problems.len();
        rules.insert("problem", (Severity::Warning, summary.warnings));
    }
    for finding in findings.iter().flatten() {
        let (_, count) = rules
            .entry(finding.rule.id)
            .or_insert((finding.severity, 0));
        *count += 1;
        match finding.severity {
            Severity::Error => summary.errors += 1,
            Severity::Warning => summary.warnings += 1,
            Severity::Info => {}
        }
    }
    let rules = rules.into_iter();
    summary.rules = rules
        .map(|(rule, (bad, count))| (rule, bad, count))
        .collect();
    summary.rules.sort_by_key(|(_, _, count)| Reverse(*count));
    let mut tools = BTreeSet::new();
    let mut tokens = None;
    let mut cost: Option<Cost> = None;
    for session in &recording.sessions {
        let calls = session.items.iter().filter(|item| item.kind == Kind::Call);
        tools.extend(calls.map(|item| session.name(item).to_owned()));
        let mut reader = UsageReader::new(session, prices);
        let last = session.items.len().saturating_sub(1);
        let last = reader.item_time(last).map_err(|error| error.to_string())?;
        summary.last_entry = summary.last_entry.max(last);
        for turn in 0..session.turns.len() {
            let usage = reader.turn(turn).map_err(|error| error.to_string())?;
            summary.is_undercounted |= usage.is_undercounted;
            if let Some(used) = usage.tokens {
                let used = used.input.saturating_add(used.output);
                tokens = Some(used.saturating_add(tokens.unwrap_or(0)));
            }
            if let Some(paid) = usage.cost {
                cost.get_or_insert_default().add(paid.all);
            }
        }
    }
    summary.tokens = tokens;
    summary.cost = cost;
    summary.tools = tools.into_iter().collect();
    summary.last = main_session(&recording).map_or_else(Vec::new, last_messages);
    summary.is_whole = true;
    Ok(summary)
}

/// What the beginning of a file tells; `None` where it has to be read whole for that, or is that short.
fn inspect_head(path: &Path, options: &ReadOptions) -> Result<Option<Summary>, String> {
    let text = |error: InputError| error.to_string();
    let opening = OpenedInput::begin(open(path).map_err(text)?, options).map_err(text)?;
    if opening.is_small() {
        return Ok(None);
    }
    let head = opening.head().map_err(text)?;
    Ok(head.as_ref().map(summary_of))
}

/// What sessions tell by themselves, without the figures of a file that was read whole.
fn summary_of(recording: &Recording) -> Summary {
    let source = &*recording.source;
    let models: BTreeSet<&String> = recording
        .sessions
        .iter()
        .filter_map(|session| session.model.as_ref())
        .collect();
    let turns = recording.sessions.iter().map(|session| session.turns.len());
    Summary {
        format: recording.format.id,
        sessions: recording.sessions.len(),
        turns: turns.sum(),
        models: models.into_iter().cloned().collect(),
        folder: member_of(source, "cwd"),
        first: main_session(recording).and_then(first_words),
        parent: member_of(source, "agentId").and_then(|_| member_of(source, "sessionId")),
        ..Summary::default()
    }
}

fn main_session(recording: &Recording) -> Option<&Session> {
    let mut sessions = recording.sessions.iter();
    let active = sessions.find(|session| session.active);
    active.or_else(|| recording.sessions.first())
}

/// A text member that Claude Code and Codex write into the first lines.
fn member_of(source: &dyn Source, key: &str) -> Option<String> {
    let end = source.len().min(HEAD);
    let head = source.read(Span { start: 0, end }).ok()?;
    first_text_member(&head, key)
}

/// The last messages of a session that say something.
fn last_messages(session: &Session) -> Vec<(Kind, String)> {
    let items = session.items.iter().rev();
    let spoken =
        items.filter(|item| matches!(item.kind, Kind::User | Kind::Assistant | Kind::Output));
    let texts = spoken.take(LOOKED_AT).filter_map(|item| {
        let text = body_within(session, item, HEAD)?.text;
        let own = match item.kind {
            Kind::User => own_words(&text),
            _ => text.trim(),
        };
        let own = own[..own.floor_char_boundary(WORDS)].to_owned();
        (!own.is_empty()).then_some((item.kind, own))
    });
    let mut last: Vec<_> = texts.take(LAST).collect();
    last.reverse();
    last
}

/// The first thing that the user of a session says, without what programs say in the user's name: Claude Code's
/// caveats and commands, Codex's environment. Where there is nothing else, that; where no user says anything, as in
/// the streams of `codex exec`, what the model says first.
pub fn first_words(session: &Session) -> Option<(Kind, String)> {
    let texts_of = |kind: Kind| {
        let items = session.items.iter().filter(move |item| item.kind == kind);
        items.take(LOOKED_AT).filter_map(|item| {
            let body = body_of(item, &session.bytes(item).ok()?).ok()?;
            let text = body.text.trim_start();
            Some(text[..text.floor_char_boundary(LOOKED_THROUGH)].to_owned())
        })
    };
    let mut texts = texts_of(Kind::User);
    let (mut command, mut first): (Option<String>, Option<String>) = (None, None);
    let own = texts.find_map(|text| {
        let own = own_words(&text).to_owned();
        command = command.take().or_else(|| command_of(&text));
        first.get_or_insert(text);
        (!own.is_empty()).then_some(own)
    });
    let without = || first.map(|text| without_tags(&text));
    let reply = || texts_of(Kind::Assistant).find(|text| !text.is_empty());
    let prompt = own.or(command).or_else(without);
    let prompt = prompt.map(|words| (Kind::User, words));
    let (kind, mut words) = prompt.or_else(|| Some((Kind::Assistant, reply()?)))?;
    words.truncate(words.floor_char_boundary(WORDS));
    Some((kind, words))
}

/// What is left of a text without the blocks in tags that stand before it, and without a caveat.
fn own_words(text: &str) -> &str {
    // An editor's extension of Codex puts what the editor shows before what was asked.
    let mut text = text
        .split_once(REQUEST)
        .map_or(text, |(_, request)| request);
    text = text.trim_start();
    while let Some(rest) = text.strip_prefix('<') {
        let name = rest.split(['>', ' ']).next().unwrap_or_default();
        if !is_tag(name) {
            break;
        }
        let end = format!("</{name}>");
        let Some(at) = text.find(&end) else { break };
        text = text[at + end.len()..].trim_start();
    }
    let of_programs = ["Caveat:", "# AGENTS.md", "[Request interrupted"];
    let is_of_program = of_programs.iter().any(|begins| text.starts_with(begins));
    if is_of_program { "" } else { text }
}

/// A text without its tags, but with their content.
fn without_tags(text: &str) -> String {
    let mut pieces = text.split('<');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once('>') {
            Some((tag, rest)) if is_tag(tag) => plain.push_str(rest),
            _ => {
                plain.push('<');
                plain.push_str(piece);
            }
        }
    }
    plain.trim().to_owned()
}

fn is_tag(text: &str) -> bool {
    let name = text.trim_start_matches('/');
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !name.is_empty() && name.bytes().all(is_name)
}

/// The command that Claude Code was given: `/review 12`.
fn command_of(text: &str) -> Option<String> {
    let inside = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0.trim())
    };
    let name = inside("command-name")?;
    let arguments = inside("command-args").unwrap_or_default();
    Some(format!("{name} {arguments}").trim_end().to_owned())
}

/// Inspects files in the background, on all cores: first their heads, then all of them. Dropping it ends it after
/// the files that are being read.
#[derive(Debug)]
pub struct Inspector {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// Files are known by numbers that the caller gives.
#[derive(Debug, Default)]
struct Queue {
    files: Vec<File>,
    /// Which of them are wanted first.
    preferred: Vec<usize>,
    /// The order in which the others are taken.
    order: Vec<usize>,
    /// How many of that order are taken, as heads and whole.
    heads: usize,
    whole: usize,
    closed: bool,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    next: Option<Depth>,
}

/// How much of a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Head,
    Whole,
}

impl Queue {
    /// The file to be read next: heads before whole files, what is preferred before the rest.
    fn take(&mut self) -> Option<(usize, PathBuf, Depth)> {
        for depth in [Depth::Head, Depth::Whole] {
            let preferred = self.preferred.iter().copied();
            let waiting = |number: &usize| self.waits_for(*number, depth);
            if let Some(number) = preferred.clone().find(waiting) {
                return self.begin(number, depth);
            }
        }
        for depth in [Depth::Head, Depth::Whole] {
            let mut taken = match depth {
                Depth::Head => self.heads,
                Depth::Whole => self.whole,
            };
            let found = loop {
                let Some(number) = self.order.get(taken).copied() else {
                    break None;
                };
                taken += 1;
                if self.waits_for(number, depth) {
                    break Some(number);
                }
            };
            match depth {
                Depth::Head => self.heads = taken,
                Depth::Whole => self.whole = taken,
            }
            if let Some(number) = found {
                return self.begin(number, depth);
            }
        }
        None
    }

    fn waits_for(&self, number: usize, depth: Depth) -> bool {
        let file = self.files.get(number);
        file.is_some_and(|file| file.next == Some(depth))
    }

    fn begin(&mut self, number: usize, depth: Depth) -> Option<(usize, PathBuf, Depth)> {
        let file = self.files.get_mut(number)?;
        file.next = None;
        Some((number, file.path.clone(), depth))
    }
}

impl Inspector {
    /// Starts as many threads as there are cores; `on_summary` gets the number of a file and its summary, that of
    /// its head first.
    pub fn start(
        options: ReadOptions,
        prices: Prices,
        judge: Box<InspectJudge>,
        on_summary: impl Fn(usize, Result<Summary, String>) + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        let given = Arc::new((options, prices, judge, on_summary));
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let (shared, given) = (shared.clone(), given.clone());
            thread::spawn(move || {
                let (options, prices, judge, on_summary) = &*given;
                while let Some((number, path, depth)) = shared.next() {
                    let head = match depth {
                        Depth::Head => inspect_head(&path, options).transpose(),
                        Depth::Whole => None,
                    };
                    match head {
                        Some(Ok(head)) => {
                            on_summary(number, Ok(head));
                            shared.read_whole_later(number);
                        }
                        Some(Err(error)) => on_summary(number, Err(error)),
                        None => on_summary(number, inspect(&path, options, prices, &**judge)),
                    }
                }
            });
        }
        Self { shared }
    }

    /// Adds files; numbers continue those added before.
    pub fn add(&self, paths: impl IntoIterator<Item = PathBuf>) {
        let mut queue = self.shared.lock();
        for path in paths {
            let number = queue.files.len();
            let next = Some(Depth::Head);
            queue.files.push(File { path, next });
            queue.order.push(number);
        }
        self.shared.changed.notify_all();
    }

    /// Reads files again that have changed since.
    pub fn again(&self, numbers: impl IntoIterator<Item = usize>) {
        let mut queue = self.shared.lock();
        for number in numbers {
            if let Some(file) = queue.files.get_mut(number) {
                file.next = Some(Depth::Whole);
                queue.order.push(number);
            }
        }
        self.shared.changed.notify_all();
    }

    /// These are wanted before all others.
    pub fn prefer(&self, first: impl IntoIterator<Item = usize>) {
        self.shared.lock().preferred = first.into_iter().collect();
    }

    /// The order in which files are taken that nobody prefers.
    pub fn order(&self, numbers: impl IntoIterator<Item = usize>) {
        let mut queue = self.shared.lock();
        queue.order = numbers.into_iter().collect();
        (queue.heads, queue.whole) = (0, 0);
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    fn read_whole_later(&self, number: usize) {
        let mut queue = self.lock();
        if let Some(file) = queue.files.get_mut(number) {
            file.next = Some(Depth::Whole);
        }
        // Others may have passed it by.
        queue.whole = 0;
        self.changed.notify_one();
    }

    /// Waits for the next file; `None` when there will be none.
    fn next(&self) -> Option<(usize, PathBuf, Depth)> {
        let mut queue = self.lock();
        loop {
            if queue.closed {
                return None;
            }
            if let Some(next) = queue.take() {
                return Some(next);
            }
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const BROKEN: &str = r#"{"model":"m","tools":[{"type":"function","function":{"name":"search_flights"}}],"messages":[
        {"role":"user","content":"Find me\na flight"},
        {"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"serch_flights","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"1","content":"no such tool"}]}"#;

    fn inspect(path: &Path) -> Result<Summary, String> {
        super::inspect(
            path,
            &ReadOptions::default(),
            &Prices::built_in(),
            &|_, _| None,
        )
    }

    #[test]
    fn a_summary_tells_format_findings_and_first_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::write(&path, BROKEN).unwrap();
        let summary = inspect(&path).unwrap();
        assert_eq!(summary.format, "openai-chat");
        assert!(summary.errors + summary.warnings > 0);
        assert_eq!(summary.words(), "Find me\na flight");
        std::fs::write(&path, r#"[{"role":"user","content":"Hi"},{"role":"assi"#).unwrap();
        let summary = inspect(&path).unwrap();
        assert_eq!(summary.rules, [("problem", Severity::Warning, 1)]);
        assert_eq!(summary.warnings, 1);
        std::fs::write(&path, "what").unwrap();
        assert!(inspect(&path).is_err());
    }

    #[test]
    fn a_summary_counts_what_is_wrong_with_what_else_is_known() {
        const BARE: &str = r#"[{"role":"user","content":"Find me a flight"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"fly","arguments":"{}"}}]}]"#;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::write(&path, BARE).unwrap();
        assert_eq!(inspect(&path).unwrap().errors, 0);
        let offers_nothing = |_: &Path, recording: &mut Recording| {
            for session in &mut recording.sessions {
                session.contract.supplement(Some(&[]), None, None);
            }
            None
        };
        let judged = super::inspect(
            &path,
            &ReadOptions::default(),
            &Prices::built_in(),
            &offers_nothing,
        )
        .unwrap();
        assert_eq!(judged.errors, 1);
    }

    #[test]
    fn what_programs_say_in_the_users_name_is_no_title() {
        let caveat = "Caveat: The messages below were generated by the user";
        let command = "<command-message>review is running</command-message>\n<command-name>/review</command-name>";
        let environment = "<environment_context>\n<cwd>/home</cwd>\n</environment_context>";
        assert_eq!(own_words(caveat), "");
        assert_eq!(own_words(command), "");
        assert_eq!(own_words(&format!("{environment}\n\nFix it")), "Fix it");
        assert_eq!(own_words("<b is less"), "<b is less");
        let context = "# Context from my IDE setup:\n\n## Active file: a.rs\n\n## My request for Codex:\nFix it";
        assert_eq!(own_words(context), "Fix it");
        assert_eq!(command_of(command).as_deref(), Some("/review"));
        let texts = |texts: &[&str]| {
            let messages: Vec<_> = texts
                .iter()
                .map(|text| serde_json::json!({"role": "user", "content": text}))
                .chain([serde_json::json!({"role": "assistant", "content": "ok"})])
                .collect();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.json");
            let text = serde_json::json!({"model": "m", "messages": messages}).to_string();
            std::fs::write(&path, text).unwrap();
            inspect(&path).unwrap().words().to_owned()
        };
        let cleared = "<command-name>/clear</command-name>\n <command-message>clear</command-message>\n <command-args></command-args>";
        let tagged = "<local-command-caveat>Caveat: The messages below</local-command-caveat>";
        assert_eq!(texts(&[tagged, cleared, "Fix it"]), "Fix it");
        assert_eq!(texts(&[tagged, cleared]), "/clear");
        assert_eq!(texts(&[tagged]), "Caveat: The messages below");
        assert_eq!(
            texts(&["<local-command-stdout>a < b</local-command-stdout>"]),
            "a < b"
        );
        assert_eq!(texts(&[caveat, command, environment, "Fix it"]), "Fix it");
        assert_eq!(texts(&[command]), "/review");
        assert_eq!(texts(&[]), "ok");
    }

    #[test]
    fn the_folder_is_the_recorded_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let line = r#"{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","cwd":"/home/me/a \"b\"","message":{"role":"user","content":"hi"}}"#;
        let reply = r#"{"type":"assistant","uuid":"b","parentUuid":"a","sessionId":"s","message":{"role":"assistant","content":[{"type":"text","text":"hello"}]}}"#;
        std::fs::write(&path, format!("{line}\n{reply}\n")).unwrap();
        let summary = inspect(&path).unwrap();
        assert_eq!(summary.folder.as_deref(), Some("/home/me/a \"b\""));
        assert_eq!(summary.words(), "hi");
    }

    #[test]
    fn what_is_preferred_is_taken_first_and_nothing_twice() {
        let file = |number: usize| File {
            path: number.to_string().into(),
            next: Some(Depth::Head),
        };
        let mut queue = Queue {
            files: (0..4).map(file).collect(),
            preferred: vec![2, 9],
            order: vec![3, 2, 1, 0],
            ..Queue::default()
        };
        let taken = |queue: &mut Queue| -> Vec<usize> {
            let all = std::iter::from_fn(|| queue.take());
            all.map(|(number, ..)| number).collect()
        };
        assert_eq!(taken(&mut queue), [2, 3, 1, 0]);
        for number in [0, 2] {
            queue.files[number].next = Some(Depth::Whole);
            queue.whole = 0;
        }
        assert_eq!(taken(&mut queue), [2, 0]);
    }

    #[test]
    fn every_file_is_told_once() {
        let (send, receive) = mpsc::channel();
        let judge = Box::new(|_: &Path, _: &mut Recording| None);
        let inspector = Inspector::start(
            ReadOptions::default(),
            Prices::built_in(),
            judge,
            move |number, summary| {
                let _closed = send.send((number, summary.is_err()));
            },
        );
        inspector.add((0..20).map(|_| PathBuf::from("/no/such/file")));
        let mut told: Vec<_> = (0..20).map(|_| receive.recv().unwrap()).collect();
        told.sort_unstable();
        assert_eq!(
            told,
            (0..20).map(|number| (number, true)).collect::<Vec<_>>()
        );
        drop(inspector);
        assert!(receive.recv().is_err(), "the threads have ended");
    }
}
