//! A recording in a folder of its own, opened in the debugger with its loader: keys in, screens and files out.

use crate::tui::effect::{Effect, LiveCommand};
use crate::tui::keymap;
use crate::tui::loader::Knowledge;
use crate::tui::loader::tests::Direct;
use crate::tui::state::State;
use crate::tui::tests::messages::{Message, update};
use crate::tui::view;
use crossterm::event::{KeyCode, KeyEvent};
use retake_core::session::Tool;
use retake_core::wire::tools::read_tools;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The debugger on a recording.
pub(super) struct Desk {
    folder: TempDir,
    path: PathBuf,
    pub(super) loader: Direct,
    pub(super) state: State,
    /// What was asked of the program around it and of nobody here.
    pub(super) left: Vec<Effect>,
}

impl Desk {
    /// On one of the bundled sessions, with the tools that lie beside it.
    pub(super) fn of(name: &str) -> Self {
        let bundled = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("sessions");
        let bytes = fs::read(bundled.join(name)).unwrap();
        let stem = name.split('.').next().unwrap();
        let tools = fs::read(bundled.join(format!("{stem}.tools.json"))).ok();
        Self::on(name, &bytes, tools.as_deref())
    }

    /// On a text.
    pub(super) fn with(name: &str, text: &str) -> Self {
        Self::on(name, text.as_bytes(), None)
    }

    pub(super) fn on(name: &str, bytes: &[u8], tools: Option<&[u8]>) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        if let Some(tools) = tools {
            fs::write(folder.path().join("tools.json"), tools).unwrap();
        }
        Self::open(folder, path)
    }

    /// On a run of one of the bundled agents that begins: its scripted model answers, its tools run.
    pub(super) fn run(agent: &str) -> Self {
        Self::run_as(agent, |text| text)
    }

    /// The same, with something else in the agent file.
    pub(super) fn run_as(agent: &str, change: impl Fn(String) -> String) -> Self {
        let folder = TempDir::new().unwrap();
        let bundled =
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("sessions/agents");
        let name = agent.trim_end_matches(".toml");
        let script = format!("{name}.script.toml");
        fs::copy(bundled.join(&script), folder.path().join(&script)).unwrap();
        let text = fs::read_to_string(bundled.join(agent)).unwrap();
        let agent = folder.path().join(agent);
        fs::write(&agent, change(text)).unwrap();
        let path = folder.path().join("run.jsonl");
        let knowledge = Knowledge::new(None, |_| None, None, None);
        let loader = Direct::run(&agent, &path, &folder.path().join("state"), &knowledge);
        let mut state = State::new("run.jsonl".to_owned(), (100, 30));
        loader.read(&mut state);
        let mut desk = Self {
            folder,
            path,
            loader,
            state,
            left: Vec::new(),
        };
        let agent = String::new();
        desk.perform(vec![Effect::Live(LiveCommand::Begin { agent })]);
        desk
    }

    /// Lets the run go on until this is on the screen.
    #[track_caller]
    pub(super) fn comes(&mut self, text: &str) -> &mut Self {
        let is_there = |state: &State| super::screen(state).contains(text);
        let in_time = self.loader.handle_io(&mut self.state, is_there);
        assert!(in_time, "{text:?} does not come on\n{}", self.screen());
        self
    }

    fn open(folder: TempDir, path: PathBuf) -> Self {
        let tools = fs::read(folder.path().join("tools.json")).ok();
        let tools: Option<Vec<Tool>> =
            tools.map(|text| read_tools(&serde_json::from_slice(&text).unwrap()).0);
        let knowledge = Knowledge::new(tools, |_| None, None, None);
        let loader = Direct::open(&path, &folder.path().join("state"), &knowledge);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut state = State::new(name, (100, 30));
        loader.read(&mut state);
        state.notice = state
            .notice
            .filter(|notice| notice.contains("T lists them") || notice.contains("as you left it"));
        Self {
            folder,
            path,
            loader,
            state,
            left: Vec::new(),
        }
    }

    /// Closes the file and opens it again.
    pub(super) fn again(self) -> Self {
        let Self {
            folder,
            path,
            loader,
            ..
        } = self;
        // It holds the lock of the journal.
        drop(loader);
        Self::open(folder, path)
    }

    /// Presses keys, written as in the table of keys; what is in quotes is typed.
    pub(super) fn press(&mut self, keys: &str) -> &mut Self {
        for (number, part) in keys.split('`').enumerate() {
            if number % 2 == 1 {
                part.chars()
                    .for_each(|letter| self.key(KeyCode::Char(letter).into()));
            } else {
                let names = part.split(' ').filter(|name| !name.is_empty());
                names.for_each(|name| {
                    self.key(keymap::event(name).unwrap_or_else(|| panic!("no key {name}")));
                });
            }
        }
        self
    }

    fn key(&mut self, key: KeyEvent) {
        self.send(Message::Key(key));
    }

    /// Gives the debugger a message and does what comes of it.
    pub(super) fn send(&mut self, message: Message) {
        let effects = update(&mut self.state, message);
        let size = self.state.size;
        view::prepare(&mut self.state, size);
        // What has to be read counts from when it was seen.
        super::screen(&self.state);
        self.perform(effects);
    }

    /// Does what effects ask for.
    pub(super) fn perform(&mut self, effects: Vec<Effect>) {
        let left = self.loader.perform(&mut self.state, effects);
        self.left.extend(left);
        let size = self.state.size;
        view::prepare(&mut self.state, size);
    }

    /// Waits until the loader has something to tell by itself.
    pub(super) fn wait(&mut self) {
        self.loader.wait(&mut self.state);
        let size = self.state.size;
        view::prepare(&mut self.state, size);
    }

    /// Puts the cursor on an item, counted from 1.
    pub(super) fn go_to(&mut self, item: usize) -> &mut Self {
        self.state.on_turn = false;
        self.state.item = item - 1;
        let size = self.state.size;
        view::prepare(&mut self.state, size);
        self
    }

    /// What is seen.
    pub(super) fn screen(&self) -> String {
        let shown = super::screen(&self.state);
        let rows = shown
            .lines()
            .map(|row| row.trim_matches('"').trim_end().to_owned());
        rows.collect::<Vec<_>>().join("\n")
    }

    /// Fails unless this is on the screen.
    #[track_caller]
    pub(super) fn sees(&mut self, text: &str) -> &mut Self {
        let screen = self.screen();
        assert!(screen.contains(text), "{text:?} is not on\n{screen}");
        self
    }

    /// Fails if this is on the screen.
    #[track_caller]
    pub(super) fn misses(&mut self, text: &str) -> &mut Self {
        let screen = self.screen();
        assert!(!screen.contains(text), "{text:?} is on\n{screen}");
        self
    }

    /// The items of the session that is shown, a word and the tool for each.
    pub(super) fn items(&self) -> Vec<String> {
        let session = self.state.session().unwrap();
        let items = session.items.iter().map(|item| {
            let name = session.name(item);
            format!("{} {name}", item.kind.word()).trim_end().to_owned()
        });
        items.collect()
    }

    /// The bytes of an item, counted from 1.
    pub(super) fn text(&self, item: usize) -> String {
        let session = self.state.session().unwrap();
        let bytes = session.bytes(&session.items[item - 1]).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// The rules that found something, settled or not.
    pub(super) fn rules(&self) -> Vec<String> {
        let checked = self.state.checked().unwrap();
        let rules = checked.findings().iter().map(|finding| {
            let id = finding.rule.id;
            match finding.is_settled {
                true => format!("{id} {}", finding.resolution()),
                false => id.to_owned(),
            }
        });
        rules.collect()
    }

    /// A file of the folder.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What the recorded file holds now.
    pub(super) fn recorded(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap()
    }
}
