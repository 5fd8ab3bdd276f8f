//! A live run on the screen, told by hand: news and keys in, screens and commands out.

use super::desk::Desk;
use crate::tui::effect::{Effect, LiveCommand};
use crate::tui::report::Report;
use crate::tui::state::Follow;
use crate::tui::state::document::{Checked, Document, Extent};
use crate::tui::state::live::AgentInfo;
use crate::tui::state::live::TrustRequest;
use crate::tui::state::tests::recording;
use crate::tui::tests::messages::Message;
use retake_core::engine::{Reason, RunCommand};
use retake_core::session::ledger::{Ask, CallKey, Ending, LedgerEvent, Usage};
use retake_core::session::takes::TakeId;
use retake_live::live::{Phase, RunNews, StreamedCall, Streaming};
use std::sync::Arc;

pub(super) const QUESTION: Ask = Ask(1);

pub(super) fn call(id: &str) -> CallKey {
    CallKey {
        ask: QUESTION,
        call_id: id.to_owned(),
    }
}

pub(super) fn paused(reasons: &[Reason]) -> RunNews {
    RunNews::Phase(Phase::Paused {
        reasons: reasons.to_vec(),
    })
}

pub(super) fn asking() -> RunNews {
    RunNews::Phase(Phase::Asking {
        ask: QUESTION,
        attempt: 1,
    })
}

pub(super) fn running(calls: &[(&str, &str)]) -> RunNews {
    let calls = calls
        .iter()
        .map(|(id, tool)| (call(id), (*tool).to_owned()));
    RunNews::Phase(Phase::Running {
        calls: calls.collect(),
    })
}

pub(super) fn approval(id: &str, arguments: &str) -> Reason {
    Reason::Approval {
        call: call(id),
        tool: "refund".to_owned(),
        arguments: arguments.to_owned(),
        is_each_time: false,
    }
}

pub(super) fn agent() -> AgentInfo {
    AgentInfo {
        path: "agents/desk.toml".to_owned(),
        name: "desk".to_owned(),
        model: "gpt-4o".to_owned(),
        is_scripted: true,
        max_turns: Some(10),
        tools: vec![("refund".to_owned(), "python3 tools/refund.py".to_owned())],
    }
}

pub(super) const SAID: &str = r#"{"role":"user","content":"a seat to JFK"}"#;
pub(super) const CALLED: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"serch_flights","arguments":"{\"to\":\"JFK\"}"}},{"id":"call_2","type":"function","function":{"name":"refund","arguments":"{\"amount\":120}"}}]}"#;
const TOOLS: &str = r#"[{"type":"function","function":{"name":"search_flights","parameters":{"type":"object"}}},{"type":"function","function":{"name":"refund","parameters":{"type":"object"}}}]"#;

fn history(messages: &[&str]) -> String {
    format!(
        r#"{{"model":"gpt-4o","tools":{TOOLS},"messages":[{}]}}"#,
        messages.join(",")
    )
}

impl Desk {
    /// A run that has just begun, two seconds after the debugger was opened.
    pub(super) fn live(messages: &[&str]) -> Self {
        let mut desk = Self::with("run.json", &history(messages));
        desk.send(Message::Report(Report::Agent(Box::new(agent()))));
        desk.at(2000).tell(RunNews::Recorded(LedgerEvent::Began {
            take: TakeId(1),
            agent: "desk".to_owned(),
            file: String::new(),
            model: "gpt-4o".to_owned(),
            scripted: true,
        }));
        desk
    }

    pub(super) fn at(&mut self, now: u64) -> &mut Self {
        self.send(Message::Now(now));
        self
    }

    pub(super) fn tell(&mut self, news: RunNews) -> &mut Self {
        self.send(Message::Report(Report::Live(news)));
        self
    }

    /// The take of the run has grown to these messages.
    pub(super) fn grow(&mut self, messages: &[&str]) -> &mut Self {
        self.tell(RunNews::Grown(TakeId(1)));
        let document = Arc::new(Document {
            recording: Arc::new(recording(&history(messages))),
            extent: Extent::Whole,
        });
        let view = self.state.recovery.takes.clone();
        self.send(Message::Report(Report::TakeGrown {
            document: document.clone(),
            view,
        }));
        let session = &document.recording.sessions[0];
        let findings = retake_live::check_session(session, None).unwrap();
        self.send(Message::Report(Report::Checked {
            document: document.clone(),
            session: 0,
            checked: Arc::new(Checked::new(findings)),
        }));
        self.send(Message::Report(Report::Finished(document)));
        self
    }

    /// What was asked of the run since the last time.
    pub(super) fn asked(&mut self) -> Vec<LiveCommand> {
        let left = std::mem::take(&mut self.left);
        let asked = left.into_iter().filter_map(|effect| match effect {
            Effect::Live(command) => Some(command),
            _ => None,
        });
        asked.collect()
    }

    pub(super) fn asked_engine(&mut self) -> Vec<RunCommand> {
        let asked = self.asked().into_iter().map(|command| match command {
            LiveCommand::Engine(command) => command,
            other => panic!("{other:?}"),
        });
        asked.collect()
    }
}

pub(super) fn fault() -> Reason {
    Reason::Fault {
        rule: "unknown-tool".to_owned(),
        item: Some(1),
        message: "serch_flights is not offered".to_owned(),
    }
}

pub(super) fn streaming() -> Streaming {
    Streaming {
        ask: QUESTION,
        reasoning: "They want a seat. I look for flights first.".to_owned(),
        text: "Let me see".to_owned(),
        calls: vec![StreamedCall {
            call_id: "call_1".to_owned(),
            name: "serch_flights".to_owned(),
            arguments: r#"{"to":"J"#.to_owned(),
            is_complete: false,
        }],
        silent_ms: 0,
    }
}

#[test]
fn a_pause_that_has_not_come_is_seen_and_can_be_taken_back() {
    let mut desk = Desk::live(&[SAID]);
    desk.tell(asking()).press("p j");
    desk.sees("pausing after this reply").misses("p pause");
    desk.press("c").sees("waiting for the model");
    assert_eq!(
        desk.asked_engine(),
        [RunCommand::Pause, RunCommand::Continue]
    );
    desk.press("p").tell(paused(&[Reason::Stepped]));
    desk.tell(asking()).sees("waiting for the model");
}

#[test]
fn the_header_says_what_the_run_does_and_for_how_long() {
    let mut desk = Desk::live(&[SAID]);
    desk.tell(asking())
        .sees("waiting for the model, 0 s")
        .sees("[scripted]");
    desk.at(5400)
        .sees("waiting for the model, 3 s")
        .sees("reply 0/10");
    desk.tell(RunNews::Usage(Usage {
        input: 1234,
        output: 56,
    }));
    desk.send(Message::Resize(140, 30));
    desk.sees("1234+56 tokens").sees("p pause").sees("X abort");
    desk.tell(running(&[("call_1", "search_flights")])).at(7400);
    desk.sees("waiting for tool search_flights 2 s");
    desk.tell(running(&[("a", "one"), ("b", "two")]));
    desk.sees("waiting for 2 tools 0 s: one, two");
    desk.tell(RunNews::Phase(Phase::Waiting {
        why: "429".to_owned(),
        for_ms: 4000,
    }));
    desk.sees("retrying in 4 s (429)").at(9000);
    desk.sees("retrying in 3 s (429)").press("c");
    assert_eq!(desk.asked_engine(), [RunCommand::Now]);
    desk.tell(RunNews::Phase(Phase::Ended(Ending::Final)));
    desk.sees("finished")
        .sees("[scripted]")
        .sees("c next message");
}

#[test]
fn a_reply_is_seen_as_it_comes_and_gives_way_to_the_items() {
    let mut desk = Desk::live(&[SAID]);
    desk.tell(asking()).tell(RunNews::Streaming(streaming()));
    insta::assert_snapshot!("streaming", desk.screen());
    desk.press("k")
        .misses("Reply, streaming")
        .sees("follow paused");
    desk.press("G").sees("Reply, streaming");
    desk.send(Message::Resize(80, 24));
    desk.sees("call      serch_flights");
    desk.send(Message::Resize(100, 30));
    desk.tell(RunNews::Grown(TakeId(1)))
        .sees("Reply, streaming");
    desk.grow(&[SAID, CALLED]).misses("Reply, streaming");
    assert_eq!(desk.state.item, 2, "the end is followed");
}

#[test]
fn an_attempt_that_is_lost_is_no_longer_shown() {
    let mut desk = Desk::live(&[SAID]);
    desk.tell(asking()).tell(RunNews::Streaming(streaming()));
    desk.tell(RunNews::Phase(Phase::Waiting {
        why: "connection lost".to_owned(),
        for_ms: 1000,
    }));
    desk.misses("Let me see");
}

#[test]
fn a_fault_puts_the_cursor_on_the_call_and_the_footer_names_the_keys() {
    let mut desk = Desk::live(&[SAID]);
    desk.tell(asking()).grow(&[SAID, CALLED]);
    desk.tell(paused(&[fault()]));
    assert_eq!(desk.state.item, 1);
    desk.sees("paused: unknown-tool serch_flights");
    insta::assert_snapshot!("paused_fault", desk.screen());
    desk.press("a");
    assert_eq!(desk.asked_engine(), [RunCommand::Release]);
    desk.press("A .");
    let refused = "a refused step is not kept";
    assert_eq!(desk.asked_engine(), [RunCommand::Release], "{refused}");
    desk.press("i").sees("inject error: serch_flights");
    desk.press("esc s").sees("take the suggestion");
}

#[test]
fn a_pause_that_comes_before_its_items_waits_for_them() {
    let mut desk = Desk::live(&[SAID]);
    desk.tell(asking()).tell(paused(&[fault()]));
    desk.sees("paused: unknown-tool").grow(&[SAID, CALLED]);
    assert_eq!(desk.state.item, 1);
}

#[test]
fn an_operator_who_is_at_something_else_is_told_and_left_there() {
    let mut desk = Desk::live(&[SAID]);
    desk.tell(asking())
        .grow(&[SAID, CALLED, SAID])
        .press("k k k");
    assert_eq!((desk.state.item, desk.state.follow), (0, Follow::Paused));
    desk.tell(paused(&[approval("call_2", "{}")]));
    desk.sees("the run is paused: approval: refund {}");
    assert!(desk.state.item == 0 && !desk.state.has_overlay());
    desk.tell(asking()).press("F /").tell(paused(&[fault()]));
    desk.press("`seat` enter").sees("paused: unknown-tool");
}

#[test]
fn a_run_is_paused_and_aborted_and_left_with_a_question() {
    let mut desk = Desk::live(&[SAID, CALLED]);
    desk.tell(running(&[("call_2", "refund")])).press("c");
    desk.sees("p pauses it").press("p . ");
    assert_eq!(desk.asked_engine(), [RunCommand::Pause, RunCommand::Pause]);
    desk.press("X")
        .sees("Running now, will be stopped: refund.");
    insta::assert_snapshot!("abort", desk.screen());
    desk.press("enter y");
    assert_eq!(desk.asked_engine(), [RunCommand::Abort]);
    desk.press("Q").sees("will be stopped: quit?").press("y");
    assert_eq!(desk.asked_engine(), [RunCommand::Abort]);
    desk.tell(RunNews::Phase(Phase::Ended(Ending::Aborted)));
    assert!(matches!(desk.left[..], [Effect::Quit]));
    desk.left.clear();
    desk.press("X . p").sees("no run: c");
    assert!(desk.left.is_empty());
}

fn trust() -> TrustRequest {
    let powers = [
        "runs 'python3' 'refund desk.py' in tools, seeing $PATH, for the tool refund",
        "starts 'python3' 'db.py' as the MCP server db",
    ];
    TrustRequest {
        agent: "agents/desk.toml".to_owned(),
        why: "it has changed since it was trusted".to_owned(),
        powers: powers.map(str::to_owned).to_vec(),
    }
}

#[test]
fn a_file_of_an_agent_is_trusted_once_it_was_read() {
    let mut desk = Desk::of("unknown-tool.json");
    desk.press("c")
        .sees("agent ")
        .press("`agents/desk.toml` enter");
    let agent = "agents/desk.toml".to_owned();
    assert_eq!(
        desk.asked(),
        [LiveCommand::GoOnFrom {
            agent,
            take: 0,
            session: 0
        }]
    );
    desk.send(Message::Report(Report::Trust(trust())));
    desk.press("y y").at(400);
    insta::assert_snapshot!("trust", desk.screen());
    desk.press("y");
    assert_eq!(desk.asked(), [LiveCommand::ConfirmTrust(true)]);
    desk.press("/")
        .send(Message::Report(Report::Trust(trust())));
    desk.press("esc c")
        .sees("trust this agent?")
        .at(900)
        .press("n");
    assert_eq!(desk.asked(), [LiveCommand::ConfirmTrust(false)]);
    desk.press("c").sees("agents/desk.toml");
}

#[test]
fn a_run_of_its_own_is_begun_and_goes_on_where_it_ended() {
    let mut desk = Desk::live(&[SAID]);
    desk.press("c");
    let path = || "agents/desk.toml".to_owned();
    assert_eq!(desk.asked(), [LiveCommand::Begin { agent: path() }]);
    desk.tell(asking())
        .tell(RunNews::Phase(Phase::Ended(Ending::Aborted)));
    desk.press(": `run` enter");
    let again = LiveCommand::GoOnFrom {
        agent: path(),
        take: 0,
        session: 0,
    };
    assert_eq!(desk.asked(), [again]);
}

#[test]
fn the_words_of_gdb_are_known() {
    let mut desk = Desk::live(&[SAID]);
    desk.tell(paused(&[Reason::Stepped]));
    for (word, asked) in [
        ("continue", RunCommand::Continue),
        ("c", RunCommand::Continue),
        ("step", RunCommand::Step),
        ("s", RunCommand::Step),
    ] {
        desk.press(": ").press(&format!("`{word}` enter"));
        assert_eq!(desk.asked_engine(), [asked], "{word}");
    }
    for (word, seen) in [
        ("b", "stop at"),
        ("break", "stop at"),
        ("info breakpoints", "no breakpoints"),
        ("kill", "Abort the run?"),
        ("abort", "Abort the run?"),
    ] {
        desk.press(": ")
            .press(&format!("`{word}` enter"))
            .sees(seen)
            .press("esc");
    }
}

#[test]
fn a_journal_that_cannot_be_written_stays_in_sight() {
    let desk = Desk::of("unknown-tool.json");
    std::fs::write(desk.file("state"), "in the way").unwrap();
    let mut desk = desk.again();
    desk.press("i ^s enter").tell(asking()).at(9000);
    for width in [80, 100, 120] {
        desk.send(Message::Resize(width, 24));
        desk.sees("NOT RECORDING").sees("waiting for the model");
    }
}
