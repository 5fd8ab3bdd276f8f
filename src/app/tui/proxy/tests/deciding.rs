//! An exchange in the debugger: it is taken over, decided, and the list has the screen again.

use super::fake::{Fake, seat, watching};
use super::*;
use crate::tui::effect::{Effect, LiveCommand};
use crate::tui::loader::Knowledge;
use crate::tui::loader::tests::Direct;
use crate::tui::proxy::watching::Watching;
use crate::tui::request::OpenRequest;
use crate::tui::state::State;
use crate::tui::tests::messages::{Message, update};
use crate::tui::view;
use retake_live::proxy::ProxyCommand;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The list, and an exchange that is open in the debugger.
struct Desk {
    fake: Arc<Fake>,
    watching: Watching,
    news: Sender<ProxyNews>,
    loader: Direct,
    state: State,
    left: Vec<Effect>,
    _folder: TempDir,
}

impl Desk {
    /// Opens exchange 4, which is held.
    fn on_a_hold() -> Self {
        let folder = TempDir::new().unwrap();
        let fake = Fake::default();
        *fake.seat.lock().unwrap() = Some(seat(folder.path()));
        let mut desk = Self::open(fake, held(4, Some(302)), folder);
        let agent = String::new();
        desk.perform(vec![Effect::Live(LiveCommand::Begin { agent })]);
        desk.comes("unknown-tool");
        desk
    }

    fn open(fake: Fake, seen: ExchangeSummary, folder: TempDir) -> Self {
        let fake = Arc::new(fake);
        let (mut watching, news) = watching(fake.clone());
        watching.start(|| {});
        let id = seen.id;
        watching.board.hear(vec![super::news(seen)]);
        let request = OpenRequest::default();
        let entered = watching.enter(id, &request).unwrap();
        let mut state = entered.opened.state((160, 30));
        let mut exchange = entered.exchange;
        exchange.wall_ms = BEGAN + 30_000;
        state.exchange = Some(exchange);
        let path = folder.path().join("hold.jsonl");
        let path = fake.recording.clone().unwrap_or(path);
        let knowledge = Knowledge::new(None, |_| None, None, None);
        let root = folder.path().join("state");
        let loader = Direct::open_staged(&path, &root, &knowledge, entered.staged);
        loader.read(&mut state);
        Self {
            fake,
            watching,
            news,
            loader,
            state,
            left: Vec::new(),
            _folder: folder,
        }
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        let left = self.loader.perform(&mut self.state, effects);
        self.left.extend(left);
    }

    fn press(&mut self, keys: &str) -> &mut Self {
        for name in keys.split(' ').filter(|name| !name.is_empty()) {
            let key = keymap::event(name).unwrap();
            let effects = update(&mut self.state, Message::Key(key));
            self.state.prepare();
            self.perform(effects);
        }
        self
    }

    fn screen(&self) -> String {
        debugger(&self.state)
    }

    #[track_caller]
    fn comes(&mut self, text: &str) -> &mut Self {
        let is_there = |state: &State| debugger(state).contains(text);
        let in_time = self.loader.handle_io(&mut self.state, is_there);
        assert!(in_time, "{text:?} does not come on\n{}", self.screen());
        self
    }

    #[track_caller]
    fn sees(&mut self, text: &str) -> &mut Self {
        let screen = self.screen();
        assert!(screen.contains(text), "{text:?} is not on\n{screen}");
        self
    }

    #[track_caller]
    fn misses(&mut self, text: &str) -> &mut Self {
        let screen = self.screen();
        assert!(!screen.contains(text), "{text:?} is on\n{screen}");
        self
    }

    /// The proxy tells something, and it is collected.
    fn tell(&mut self, seen: ExchangeSummary) -> Vec<Effect> {
        let (id, phase) = (seen.id, seen.phase.clone());
        self.news.send(news(seen)).unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let mut next = Vec::new();
            if let Some((seen, others)) = self.watching.collect()
                && !crate::tui::update::exchange(&mut self.state, seen.clone(), others)
            {
                self.watching.tell_outcome(&seen);
                next.push(Effect::Close);
            }
            self.state.prepare();
            let known = self.watching.board.of(id).map(|seen| &seen.phase);
            if known == Some(&phase) {
                return next;
            }
            assert!(Instant::now() < deadline, "the news do not come");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn items(&self) -> Vec<&'static str> {
        let tree = self.state.tree().unwrap();
        let session = self.state.session().unwrap();
        let items = (0..tree.items()).map(|place| tree.item(place));
        items.map(|item| session.items[item].kind.word()).collect()
    }
}

fn debugger(state: &State) -> String {
    let mut terminal = Terminal::new(TestBackend::new(state.size.0, state.size.1)).unwrap();
    let theme = Theme::new(Variant::Dark, Glyphs::UNICODE);
    terminal
        .draw(|frame| view::draw(frame, state, &theme))
        .unwrap();
    terminal.backend().to_string().replace('"', "")
}

#[test]
fn a_held_exchange_is_opened_mended_with_the_usual_keys_and_left_with_a_notice() {
    let mut desk = Desk::on_a_hold();
    desk.sees("exchange 4")
        .sees("held: 4:32")
        .sees("openai-python 3.52.0")
        .sees("i inject");
    desk.press("i ^s enter").comes("finished");
    desk.misses("c continue").sees("q back to list");
    desk.watching.board.hear(vec![ProxyNews::Decided {
        id: ExchangeId(4),
        rule: Some("unknown-tool".to_owned()),
        action: "inject-error".to_owned(),
        by: retake_core::session::takes::Author::Operator,
        wording: Some("nearest".to_owned()),
        text_sent: false,
    }]);
    let next = desk.tell(exchange(4, ExchangePhase::Ended(ExchangeEnding::Mended)));
    assert!(matches!(next[..], [Effect::Close]), "{next:?}");
    desk.watching.closed(&desk.state);
    let shown = screen(&desk.watching.board, (120, 14));
    let said =
        "exchange 4: fixed: the agent got the corrected reply (the operator: inject-error for";
    assert!(shown.contains(said), "{shown}");
}

#[test]
fn however_narrow_the_screen_the_time_that_is_left_is_seen() {
    let mut desk = Desk::on_a_hold();
    desk.state.size = (80, 24);
    desk.state.prepare();
    desk.sees("exchange 4")
        .sees("held: 4:32")
        .sees("● unknown-tool");
    desk.state.size = (60, 15);
    desk.state.prepare();
    desk.sees("held: 4:32");
}

#[test]
fn both_views_are_at_hand() {
    let mut desk = Desk::on_a_hold();
    desk.press("i ^s enter").comes("finished");
    desk.sees("provider sees");
    let provider = desk.items();
    assert_eq!(provider.iter().filter(|kind| **kind == "call").count(), 2);
    desk.press("v").sees("agent sees");
    let agent = desk.items();
    assert!(
        !agent.contains(&"call") && !agent.contains(&"output"),
        "{agent:?}"
    );
    assert_eq!(agent.last(), Some(&"assistant"));
    assert_eq!(&agent[..2], &provider[..2]);
    desk.press("v");
    assert_eq!(desk.items(), provider);
    desk.state.item = provider.iter().position(|kind| *kind == "call").unwrap();
    let before = desk.state.place();
    desk.press("v");
    assert_ne!(desk.state.place(), before);
    desk.press("v");
    assert_eq!(desk.state.place(), before, "the cursor is where it was");
}

#[test]
fn b2_the_client_that_leaves_leaves_nothing_to_decide() {
    let mut desk = Desk::on_a_hold();
    desk.press("i");
    assert!(desk.state.has_overlay());
    let began = Instant::now();
    let next = desk.tell(ExchangeSummary {
        ..exchange(4, ExchangePhase::Ended(ExchangeEnding::ClientLeft))
    });
    assert!(next.is_empty(), "{next:?}");
    desk.sees("too late: the client left");
    assert!(began.elapsed() < Duration::from_secs(1));
    desk.press("esc").sees("client left");
    assert!(!desk.state.has_overlay());
    for key in [
        "i", "r", "a", "s", "e", "o", "x", "u", "c", "X", "A", "enter",
    ] {
        desk.press(key);
        assert!(!desk.state.has_overlay(), "{key}\n{}", desk.screen());
    }
    assert!(desk.fake.commands.lock().unwrap().is_empty());
    assert!(desk.left.is_empty(), "{:?}", desk.left);
    desk.press("j")
        .sees("q close")
        .sees("w save as")
        .misses("inject");
    desk.press("q");
    assert!(matches!(desk.left[..], [Effect::Close]), "{:?}", desk.left);
}

/// Until something is decided, the agent has what was streamed to it, and nothing of what is held.
#[test]
fn what_the_agent_has_of_a_held_reply_is_told_from_what_it_has_not() {
    let mut desk = Desk::on_a_hold();
    let provider = desk.items();
    let asked = desk.state.exchange.as_ref().unwrap().sent.unwrap();
    desk.press("v").sees("what the agent has so far");
    assert_eq!(
        desk.items(),
        provider[..asked],
        "it has nothing of the reply"
    );
    desk.misses("c continue").misses(". step").sees("A release");
    let mut seen = held(4, Some(302));
    if let ExchangePhase::Held(holding) = &mut seen.phase {
        (holding.has.is_begun, holding.has.text) = (true, true);
    }
    assert!(desk.tell(seen).is_empty());
    desk.press("v v");
    let has = desk.items();
    assert!(
        has.contains(&"assistant") && !has.contains(&"call"),
        "{has:?}"
    );
    // Asking again is a turn after the words that it has read.
    desk.press("v ] r ^s")
        .sees("the agent has already read the text of this reply");
}

/// What is written when the time of a hold is up is not thrown away, and its keys are not for the list.
#[test]
fn a_hold_whose_time_is_up_warns_whoever_writes_and_keeps_what_is_written() {
    let mut desk = Desk::on_a_hold();
    desk.press("i ^a ^k N o p e").misses("s left");
    let wall = |desk: &mut Desk, ms| desk.state.exchange.as_mut().unwrap().wall_ms = BEGAN + ms;
    wall(&mut desk, 290_000);
    desk.sees("12 s left: then it is released unchanged");
    let by = "the client would have given up".to_owned();
    let next = desk.tell(exchange(
        4,
        ExchangePhase::Ended(ExchangeEnding::Released { by }),
    ));
    assert!(next.is_empty(), "the words stay: {next:?}");
    desk.sees("too late").press("a q !").sees("Nopeaq!");
    assert!(desk.left.is_empty() && desk.fake.commands.lock().unwrap().is_empty());
    // Neither way out decides anything; both keep the words.
    desk.press("^s");
    assert!(matches!(desk.left[..], [Effect::Close]), "{:?}", desk.left);
    desk.watching.closed(&desk.state);
    let shown = screen(&desk.watching.board, (120, 14));
    assert!(shown.contains("the client would have given up"), "{shown}");

    // The agent tries again: the words stand there.
    let folder = TempDir::new().unwrap();
    *desk.fake.seat.lock().unwrap() = Some(seat(folder.path()));
    desk.watching
        .board
        .hear(vec![super::news(held(5, Some(302)))]);
    let entered = desk.watching.enter(ExchangeId(5), &OpenRequest::default());
    let drafts = entered.unwrap().drafts;
    let again = desk.state.recovery.drafts.clone();
    assert_eq!(format!("{drafts:?}"), format!("{again:?}"));
    assert!(format!("{drafts:?}").contains("Nopeaq!"));
}

/// A mended request whose reply is held at once is another hold: the list has the screen again, and says so.
#[test]
fn an_exchange_that_is_held_again_leaves_the_first_hold() {
    let mut desk = Desk::on_a_hold();
    let mut again = held(4, Some(400));
    if let ExchangePhase::Held(holding) = &mut again.phase {
        holding.since_ms += 1;
    }
    let next = desk.tell(again);
    assert!(matches!(next[..], [Effect::Close]), "{next:?}");
    let shown = screen(&desk.watching.board, (120, 14));
    assert!(shown.contains("exchange 4: held: "), "{shown}");
}

#[test]
fn a_hold_is_released_and_cut_from_inside() {
    let mut desk = Desk::on_a_hold();
    desk.press("X").sees("Cut the connection to the agent?");
    desk.press("n");
    assert!(desk.left.is_empty());
    desk.press("X y");
    let id = ExchangeId(4);
    assert!(
        matches!(&desk.left[..], [Effect::Proxy(ProxyCommand::Cut(cut))] if *cut == id),
        "{:?}",
        desk.left
    );
    desk.left.clear();
    desk.press("I").sees("interception is off");
    assert!(
        matches!(
            &desk.left[..],
            [Effect::Proxy(ProxyCommand::Intercept(false))]
        ),
        "{:?}",
        desk.left
    );
    // Wherever the cursor is, what holds goes on.
    desk.press("g a").misses("paused: unknown-tool");
}

#[test]
fn what_else_becomes_held_is_told_and_quitting_asks() {
    let mut desk = Desk::on_a_hold();
    assert!(desk.tell(held(5, None)).is_empty());
    desk.sees("1 more exchange held");
    desk.press("q");
    assert!(
        matches!(desk.left[..], [Effect::Close]),
        "a hold is given back"
    );
    desk.left.clear();
    desk.press("Q")
        .sees("2 held exchanges would end with the proxy: quit?");
    desk.press("y");
    assert!(matches!(desk.left[..], [Effect::Quit]), "{:?}", desk.left);
}

#[test]
fn what_is_over_is_read_like_any_recording() {
    let folder = TempDir::new().unwrap();
    let bundled =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("sessions/unknown-tool.json");
    let fake = Fake {
        recording: Some(bundled),
        ..Fake::default()
    };
    let mut desk = Desk::open(
        fake,
        exchange(7, ExchangePhase::Ended(ExchangeEnding::Passed)),
        folder,
    );
    desk.sees("exchange 7")
        .sees("passed")
        .misses("provider sees");
    desk.press("v")
        .sees("nothing was changed: the agent and the provider see the same");
    desk.press("q");
    assert!(matches!(desk.left[..], [Effect::Close]), "{:?}", desk.left);
}

#[test]
fn what_was_fixed_shows_what_the_agent_sent_and_what_the_provider_got() {
    let folder = TempDir::new().unwrap();
    let journal = folder.path().join("exchange.jsonl");
    let line = retake_core::formats::retake_journal::encode_line(
        1,
        r#"{"type":"exchange","id":7,"at":1000000,"dialect":"chat","ending":{"how":"mended"},"request":{"model":"m","messages":[{"role":"user","content":"as the agent sent it"}]},"sent":{"model":"m","messages":[{"role":"user","content":"as the provider got it"}]},"response":{"id":"r","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}}"#,
    );
    let header = retake_core::formats::retake_journal::encode_header();
    std::fs::write(&journal, header + &line).unwrap();
    let fake = Fake {
        recording: Some(journal),
        ..Fake::default()
    };
    let mut seen = exchange(7, ExchangePhase::Ended(ExchangeEnding::Mended));
    seen.rewritten.request = true;
    let mut desk = Desk::open(fake, seen, folder);
    desk.sees("agent sees").sees("as the agent sent it");
    desk.press("v")
        .sees("provider sees")
        .sees("as the provider got it")
        .misses("as the agent sent it");
    desk.press("v").sees("as the agent sent it");
    // Beside each other, on the side that is shown as on the other.
    for keys in ["V", "esc v V"] {
        desk.press(keys).sees("the agent sees");
        let shown = desk.screen();
        let is_beside = |line: &str| {
            let [agent, provider] = ["as the agent sent it", "as the provider got it"];
            line.find(agent)
                .is_some_and(|at| line[at..].contains(provider))
        };
        assert!(shown.lines().any(is_beside), "{shown}");
        // Neither is the older one: each side has a mark of its own.
        for name in ["a the agent sees", "p the provider sees"] {
            assert!(shown.contains(name), "{shown}");
        }
        assert!(shown.contains("a   content: as the agent"), "{shown}");
        assert!(shown.contains("p   content: as the provider"), "{shown}");
    }
    desk.state.size = (80, 24);
    desk.state.prepare();
    desk.sees("a the agent sees, p the provider sees:");
}

#[test]
fn what_cannot_be_opened_says_why() {
    let fake = Arc::new(Fake::default());
    let (mut watching, _news) = watching(fake);
    let over = exchange(1, ExchangePhase::Ended(ExchangeEnding::Passed));
    watching.board.hear(vec![news(over), news(held(2, None))]);
    let request = OpenRequest::default();
    let why = |watching: &mut Watching, id| {
        let entered = watching.enter(ExchangeId(id), &request);
        entered.err().unwrap()
    };
    assert_eq!(why(&mut watching, 1), "its body was not kept");
    assert!(why(&mut watching, 2).contains("not ready yet"));
    assert!(why(&mut watching, 3).contains("no longer in the list"));
}
