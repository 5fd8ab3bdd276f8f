//! `retake proxy` in a real pseudo-terminal, between clients that give up soon and a scripted model.

mod again;
mod client;
mod leaving;
mod reopened;
mod watching;

use client::{Came, Client, SILENCE};
use retake_core::session::Dialect;
use retake_live::scripted::{ANY_PORT, ScriptedServer, read_script};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use termlens::{Key, Terminal};

const RETAKE: &str = env!("CARGO_BIN_EXE_retake");
const WIDE: (u16, u16) = (110, 30);

/// The words of a user that are answered with a call of a tool that does not exist.
const BROKEN: &str = "Find me a flight.";
/// The words of a user that are answered with a call that is sound.
const SOUND: &str = "Find me a flight with search_flights.";

/// A proxy on a screen, and the model behind it.
struct Desk {
    terminal: Terminal,
    port: u16,
    folder: TempDir,
    /// It answers for as long as it is kept.
    _model: Option<ScriptedServer>,
}

/// The program with its files in a folder of their own.
fn spawn(
    folder: &TempDir,
    size: (u16, u16),
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Terminal {
    let home = folder.path().to_str().unwrap();
    let terminal = Terminal::builder()
        .size(size.0, size.1)
        .env_clear()
        .env("LANG", "C.UTF-8")
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home)
        .env("XDG_STATE_HOME", home)
        .timeout(Duration::from_secs(40))
        .current_dir(folder.path());
    let set = variables.iter();
    let terminal = set.fold(terminal, |terminal, (name, value)| {
        terminal.env(name, value)
    });
    let named = arguments.iter();
    let terminal = named.fold(terminal, |terminal, argument| terminal.arg(*argument));
    terminal.spawn(RETAKE).unwrap()
}

impl Desk {
    fn new(size: (u16, u16), more: &[&str]) -> Self {
        Self::start(TempDir::new().unwrap(), size, more, &[])
    }

    /// A proxy with its files in a folder, and variables of its environment.
    fn start(folder: TempDir, size: (u16, u16), more: &[&str], variables: &[(&str, &str)]) -> Self {
        let agents = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions/agents");
        let script = read_script(&agents.join("flights.script.toml")).unwrap();
        let model = ScriptedServer::start(script, ANY_PORT).unwrap();
        let address = model.address();
        Self::before(address, Some(model), folder, size, more, variables)
    }

    /// A proxy before a model that runs already, or before whoever is at its place.
    fn before(
        address: SocketAddr,
        model: Option<ScriptedServer>,
        folder: TempDir,
        size: (u16, u16),
        more: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let upstream = format!("http://{address}");
        let mut arguments = vec!["proxy", "--listen", "127.0.0.1:0", "--upstream", &upstream];
        arguments.extend(more);
        let mut desk = Self {
            terminal: spawn(&folder, size, &arguments, variables),
            port: 0,
            folder,
            _model: model,
        };
        desk.sees(&format!(" -> 127.0.0.1:{}", address.port()));
        let screen = desk.terminal.screen().to_string();
        let port = screen.split(" -> ").next().unwrap().rsplit(':').next();
        desk.port = port.unwrap().parse().unwrap();
        desk
    }

    fn ask(&self, dialect: Dialect, streams: bool, words: &str) -> Client {
        Client::ask(self.port, dialect, streams, words)
    }

    #[track_caller]
    fn sees(&mut self, text: &str) {
        let is_there = self.terminal.wait_until(|screen| screen.contains(text));
        if is_there.is_err() {
            panic!("{text:?} is not on\n{}", self.terminal.screen());
        }
    }

    #[track_caller]
    fn lacks(&mut self, text: &str) {
        let is_away = self.terminal.wait_until(|screen| !screen.contains(text));
        if is_away.is_err() {
            panic!("{text:?} is on\n{}", self.terminal.screen());
        }
    }

    fn press(&mut self, key: char) {
        self.terminal.send(Key::Char(key));
    }

    fn enter(&mut self) {
        self.terminal.send(Key::Enter);
    }

    /// Leaves the proxy, with nothing held any more; the screen hears of that a moment after the client.
    #[track_caller]
    fn quit(mut self) {
        // An exchange that was decided a moment ago gives its place to the list.
        self.sees("Exchanges");
        self.lacks("● held");
        self.press('q');
        // The list asks where it has just come back.
        let asked = self
            .terminal
            .wait_until(|screen| screen.contains("Quit?") || !screen.alternate_screen());
        asked.unwrap();
        if self.terminal.screen().contains("Quit?") {
            self.press('y');
        }
        assert!(self.terminal.wait_exit().unwrap().success());
    }
}

#[test]
fn a_held_call_is_corrected_by_keys_while_the_clients_are_kept_alive() {
    let mut desk = Desk::new(WIDE, &[]);
    desk.sees("no exchange yet");
    desk.sees("export OPENAI_BASE_URL=http://127.0.0.1:");
    let clean = desk.ask(Dialect::Responses, true, SOUND).body();
    assert!(clean.contains("search_flights"));
    desk.sees("✓ passed");

    let whole = desk.ask(Dialect::Chat, false, BROKEN);
    desk.sees("1 held");
    let stream = desk.ask(Dialect::Responses, true, BROKEN);
    desk.sees("2 held");
    // Longer than either would wait in silence.
    std::thread::sleep(SILENCE + SILENCE / 4);
    assert!(stream.waits() && whole.waits());

    for _ in 0..2 {
        desk.press('}');
        desk.enter();
        desk.sees("paused: unknown-tool serch_flights");
        desk.sees("● 1 error");
        desk.lacks("saved take");
        desk.press('i');
        desk.sees("the model reads");
        desk.terminal.send(Key::Ctrl('s'));
        desk.sees("next: a request to the model");
        desk.enter();
        desk.sees("fixed: the agent got the corrected reply");
    }
    for client in [stream, whole] {
        let body = client.body();
        assert!(!body.contains("serch_flights"), "{body}");
        assert!(body.contains("\"search_flights\""), "{body}");
    }
    desk.lacks("1 held");
    desk.quit();
}

#[test]
fn one_is_given_the_suggestion_while_the_other_stays_held_and_is_then_released_from_the_list() {
    let mut desk = Desk::new(WIDE, &[]);
    let first = desk.ask(Dialect::Anthropic, true, BROKEN);
    desk.sees("1 held");
    let second = desk.ask(Dialect::Chat, true, BROKEN);
    desk.sees("2 held");
    desk.enter();
    desk.sees("exchange 2  reply 1  ● 1 error");
    desk.press('s');
    desk.sees("take the suggestion");
    desk.enter();
    desk.sees("exchange 2: fixed");
    desk.sees("1 held");
    let mended = second.body();
    assert!(mended.contains("search_flights") && !mended.contains("serch_flights"));
    assert!(first.waits());

    desk.press('}');
    desk.press('a');
    desk.sees("released");
    assert!(first.body().contains("serch_flights"));
    desk.quit();
}

#[test]
fn all_are_released_after_a_question_one_is_cut_and_what_follows_passes_without_interception() {
    let mut desk = Desk::new(WIDE, &[]);
    let clients = [Dialect::Responses, Dialect::Chat].map(|one| desk.ask(one, true, BROKEN));
    desk.sees("2 held");
    desk.press('A');
    desk.sees("Release all 2 held exchanges?");
    desk.press('y');
    for client in clients {
        assert!(client.body().contains("serch_flights"));
    }
    desk.lacks("2 held");
    desk.lacks("1 held");

    let cut = desk.ask(Dialect::Chat, true, BROKEN);
    desk.sees("1 held");
    desk.press('X');
    desk.sees("Cut");
    desk.press('n');
    desk.sees("1 held");
    desk.press('X');
    desk.sees("Cut");
    desk.press('y');
    assert_eq!(cut.came(), Came::Cut);
    desk.lacks("1 held");
    desk.sees("▲ cut");

    let waiting = desk.ask(Dialect::Chat, false, BROKEN);
    desk.sees("1 held");
    desk.press('I');
    desk.sees("NOT INTERCEPTING");
    assert!(waiting.body().contains("serch_flights"));
    let passed = desk.ask(Dialect::Chat, true, BROKEN).body();
    assert!(passed.contains("serch_flights"));
    desk.quit();
}

#[test]
fn a_window_that_changes_its_size_all_the_time_loses_no_hold() {
    let mut desk = Desk::new(WIDE, &[]);
    let client = desk.ask(Dialect::Responses, true, BROKEN);
    desk.sees("1 held");
    desk.enter();
    desk.sees("paused: unknown-tool");
    let rounds = match std::env::var_os("RETAKE_LONG").is_some() {
        true => 1000,
        false => 60,
    };
    let sizes = [(20, 5), (80, 24), (40, 10), (200, 60), (41, 11), (110, 30)];
    let keys = ["j", "i", "\u{1b}", "v", "\u{1b}", "?", "\u{1b}", "1", "3"];
    for round in 0..rounds {
        let (columns, rows) = sizes[round * 5 % sizes.len()];
        desk.terminal.resize(columns, rows).unwrap();
        desk.terminal.send_str(keys[round % keys.len()]);
        std::thread::sleep(Duration::from_millis([0, 1, 4, 16][round % 4]));
    }
    assert!(client.waits());
    for _ in 0..4 {
        desk.terminal.send(Key::Esc);
    }
    desk.terminal.resize(WIDE.0, WIDE.1).unwrap();
    desk.sees("paused: unknown-tool");
    desk.press('s');
    desk.sees("take the suggestion");
    desk.enter();
    assert!(client.body().contains("\"search_flights\""));
    desk.quit();
}
