//! Conversations as a proxy hears them, request for request: who gets a fault, and what is made of what comes after it.

use super::*;
use crate::chaos::{ChaosOutcome, ChaosSpec, find, outcome_of_conversation};
use crate::session::Dialect;
use serde_json::{Value, json};

/// A proxy that is told what comes, one event after the other.
struct Story {
    course: Course,
    now_ms: u64,
    says_retry: bool,
    order: Option<InjectionOrder>,
    conversation: usize,
}

impl Story {
    fn of(plan: InjectionPlan) -> Self {
        Self {
            course: Course::new(1, plan),
            now_ms: 0,
            says_retry: false,
            order: None,
            conversation: 0,
        }
    }

    /// Whatever connects gets these faults, one a conversation, in this order.
    fn ambient(faults: &[&str]) -> Self {
        let trials = faults.iter().map(|fault| trial(fault, TurnChoice::Any, 1));
        let trials: Vec<ChaosTrial> = trials.collect();
        let mut story = Self::of(InjectionPlan::InTurn(trials.clone()));
        story.course.plan = InjectionPlan::InTurn(trials);
        story
    }

    /// An agent on which one fault is tried, and which asks as `control` did.
    fn campaign(trial: ChaosTrial, control: Self) -> Self {
        Self::of(InjectionPlan::One(trial, control.course.requested))
    }

    fn control(ask: impl FnOnce(&mut Self)) -> Self {
        let mut control = Self::of(InjectionPlan::Nothing);
        ask(&mut control);
        control
    }

    /// A request; gives the fault that its reply is to get.
    fn hears(&mut self, request: &ChaosRequest) -> Option<&'static str> {
        let sent = RequestTiming {
            is_retry: self.says_retry,
            at_ms: self.now_ms,
        };
        let asked = self.course.requested(request, sent);
        self.conversation = asked.conversation;
        let fault = asked.order.as_ref().map(|order| order.trial.fault.id);
        self.order = asked.order;
        fault
    }

    /// A request; its reply gets the fault that it is to get.
    fn asks(&mut self, messages: &[Value]) -> Option<&'static str> {
        self.goes(&chat(messages))
    }

    fn goes(&mut self, request: &ChaosRequest) -> Option<&'static str> {
        let fault = self.hears(request);
        if let Some(order) = self.order.take() {
            self.course.injected(&order, self.now_ms);
            if !matches!(order.trial.fault.kind, FaultKind::Cut) {
                self.course.read(&order);
            }
        }
        fault
    }

    fn only(&self) -> Injection {
        let [one] = self.course.injections() else {
            panic!("{:?}", self.course.injections());
        };
        one.clone()
    }

    fn outcomes(&self) -> Vec<(&'static str, ChaosOutcome)> {
        let injections = self.course.injections().iter();
        let of = |one: &Injection| (one.trial.fault.id, outcome_of_conversation(one));
        injections.map(of).collect()
    }
}

fn trial(fault: &str, turn: TurnChoice, times: u32) -> ChaosTrial {
    ChaosTrial {
        fault: find(fault).unwrap(),
        turn,
        number: 1,
        times,
    }
}

fn any(fault: &str) -> ChaosTrial {
    trial(fault, TurnChoice::Any, 1)
}

fn request(dialect: Dialect, body: &Value) -> ChaosRequest {
    ChaosRequest::read(dialect, body.to_string().as_bytes()).unwrap()
}

fn chat(messages: &[Value]) -> ChaosRequest {
    request(Dialect::Chat, &json!({"model": "m", "messages": messages}))
}

fn responses(input: &Value, behind: Option<&str>) -> ChaosRequest {
    let body = json!({"model": "m", "input": input, "previous_response_id": behind});
    request(Dialect::Responses, &body)
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn says(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn call() -> Value {
    json!({"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]})
}

fn output(text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": "c", "content": text})
}

#[test]
fn a_request_that_repeats_what_was_said_goes_on_and_says_how() {
    let system = json!({"role": "system", "content": "Be short."});
    for (next, how) in [
        (vec![user("a"), call(), output("error")], Reaction::Answered),
        (
            vec![user("a"), call(), output("12")],
            Reaction::AnsweredWithoutError,
        ),
        (vec![system, user("a"), call(), user("no")], Reaction::Told),
        (vec![user("a"), says("b")], Reaction::WentOn),
        (vec![user("a")], Reaction::Retried),
        (vec![user("b")], Reaction::BeganAnew),
    ] {
        let mut story = Story::campaign(any("unknown-tool-far"), Story::control(|_| {}));
        assert!(story.asks(&[user("a")]).is_some());
        assert_eq!(story.asks(&next), None);
        let injection = story.only();
        match how {
            // That is another question, and says nothing of this one.
            Reaction::BeganAnew => assert_eq!((injection.how, injection.requests_after), (None, 0)),
            how => assert_eq!((injection.how, injection.requests_after), (Some(how), 1)),
        }
    }
}

#[test]
fn an_agent_that_is_run_again_after_a_crash_begins_anew_and_gets_the_next_fault() {
    let faults = ["unknown-tool-far", "call-as-text", "http-503", "http-500"];
    let mut story = Story::ambient(&faults);
    for fault in faults {
        assert_eq!(story.asks(&[user("a")]), Some(fault));
        // Whoever started it needs a while.
        story.now_ms += 61_000;
    }
    let silent = faults.map(|fault| (fault, ChaosOutcome::Silent));
    assert_eq!(story.outcomes(), silent);
}

#[test]
fn an_agent_that_is_run_again_after_it_crashed_later_begins_anew_as_well() {
    let mut story = Story::ambient(&["unknown-tool-far", "http-500"]);
    let InjectionPlan::InTurn(trials) = &mut story.course.plan else {
        panic!();
    };
    trials[0].turn = TurnChoice::Nth(2);
    let answered = [user("a"), call(), output("12")];
    assert_eq!(story.asks(&[user("a")]), None);
    assert_eq!(story.asks(&answered), Some("unknown-tool-far"));
    assert_eq!(story.asks(&[user("a")]), Some("http-500"), "another run");
    assert_eq!(story.asks(&[user("a")]), None, "a retry");
    assert_eq!(story.asks(&answered), None);
    let outcomes = story.outcomes();
    assert_eq!(outcomes[0], ("unknown-tool-far", ChaosOutcome::Silent));
    assert_eq!(outcomes[1], ("http-500", ChaosOutcome::Survived));
}

#[test]
fn whoever_asks_again_soon_after_an_error_or_says_so_retries() {
    for (fault, says_retry, waits) in [
        ("http-503", false, 30_000),
        ("cut-stream", false, 30_000),
        ("http-503", true, 300_000),
        ("call-as-text", true, 1),
    ] {
        let mut story = Story::ambient(&[fault, "http-429"]);
        assert_eq!(story.asks(&[user("a")]), Some(fault));
        story.now_ms += waits;
        story.says_retry = says_retry;
        assert_eq!(story.asks(&[user("a")]), None, "{fault}");
        assert_eq!(story.outcomes(), [(fault, ChaosOutcome::Survived)]);
    }
    // What came whole at last is not an error.
    let mut story = Story::ambient(&["slow-stream", "http-429"]);
    assert_eq!(story.asks(&[user("a")]), Some("slow-stream"));
    assert_eq!(story.asks(&[user("a")]), Some("http-429"));
}

#[test]
fn a_history_that_is_longer_than_its_opening_is_asked_again_and_no_other_run() {
    let mut story = Story::ambient(&["wrong-final-output", "http-429"]);
    let answered = [user("a"), call(), output("12")];
    story.hears(&chat(&[user("a")]));
    let order = story.order.take().unwrap();
    story.course.missed(&order, None);
    assert_eq!(story.asks(&answered), Some("wrong-final-output"));
    assert_eq!(story.asks(&answered), None);
    assert_eq!(story.only().how, Some(Reaction::Retried));
    // Not for ever: the fault is answered.
    assert_eq!(story.asks(&answered), Some("http-429"));
}

#[test]
fn questions_of_others_do_not_tell_how_an_agent_went_on() {
    let control = Story::control(|agent| {
        agent.asks(&[user("Paris?")]);
        agent.asks(&[user("Rome?")]);
    });
    let mut two = Story::campaign(any("call-as-text"), control);
    assert!(two.asks(&[user("Paris?")]).is_some());
    assert_eq!(two.asks(&[user("Rome?")]), None);
    let injection = two.only();
    assert_eq!((injection.how, injection.requests_after), (None, 0));
}

#[test]
fn an_agent_that_begins_anew_with_the_same_words_has_noticed() {
    let control = Story::control(|agent| {
        agent.asks(&[user("a")]);
        agent.asks(&[user("a"), call(), output("12")]);
    });
    let mut story = Story::campaign(trial("empty-final-output", TurnChoice::Nth(2), 1), control);
    story.asks(&[user("a")]);
    assert!(story.asks(&[user("a"), call(), output("12")]).is_some());
    story.asks(&[user("a")]);
    let injection = story.only();
    assert_eq!(injection.how, Some(Reaction::BeganAnew));
    assert!(!injection.was_usual);
}

#[test]
fn the_next_question_of_a_chat_comes_without_a_fault_as_well() {
    let control = || {
        Story::control(|agent| {
            agent.asks(&[user("Paris?")]);
            agent.asks(&[user("Paris?"), call(), output("12")]);
            agent.asks(&[
                user("Paris?"),
                call(),
                output("12"),
                says("12"),
                user("Rome?"),
            ]);
        })
    };
    let of = |next: &str| {
        let mut story = Story::campaign(any("call-as-text"), control());
        assert!(story.asks(&[user("Paris?")]).is_some());
        story.asks(&[user("Paris?"), says("f()"), user(next)]);
        let injection = story.only();
        (injection.how, injection.was_usual)
    };
    assert_eq!(of("Rome?"), (Some(Reaction::Told), true));
    assert_eq!(of("Call the tool!"), (Some(Reaction::Told), false));
}

#[test]
fn a_conversation_is_one_however_its_client_spells_what_it_said() {
    let item = json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "12"}]);
    let first = responses(&json!("a"), None);
    expect_second_turn(&first, &responses(&item, None));

    let marked = json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}});
    let first = json!({"messages": [{"role": "user", "content": [marked]}]});
    let second = json!({"messages": [user("a"), says("b"), user("c")]});
    let of = |body: &Value| request(Dialect::Anthropic, body);
    expect_second_turn(&of(&first), &of(&second));
}

#[track_caller]
fn expect_second_turn(first: &ChaosRequest, second: &ChaosRequest) {
    let trial = trial("http-500", TurnChoice::Nth(2), 1);
    let mut story = Story::campaign(trial, Story::control(|_| {}));
    assert_eq!(story.goes(first), None);
    assert_eq!(story.goes(second), Some("http-500"));
}

#[test]
fn where_the_provider_keeps_the_history_the_id_of_the_reply_tells_the_conversation() {
    let mut story = Story::of(InjectionPlan::Nothing);
    let mut at = |input: &str, behind: Option<&str>, reply: &str| {
        story.goes(&responses(&json!(input), behind));
        story.course.replied(story.conversation, reply.to_owned());
        story.conversation
    };
    assert_eq!(at("Paris?", None, "r1"), 0);
    assert_eq!(at("Rome?", None, "r2"), 1);
    assert_eq!(at("And tomorrow?", Some("r1"), "r3"), 0);
    assert_eq!(at("And tomorrow?", Some("r2"), "r4"), 1);
    assert_eq!(at("And then?", Some("r3"), "r5"), 0);
    assert_eq!(at("Hi", Some("of yesterday"), "r6"), 2);
    assert_eq!(at("Hi", Some("r6"), "r7"), 2);
    assert_eq!(story.course.conversations(), 3);

    let of = |id: Value| {
        let body = json!({"input": "Hi", "conversation": id});
        request(Dialect::Responses, &body)
    };
    let mut story = Story::of(InjectionPlan::Nothing);
    let numbers = [json!("a"), json!({"id": "b"}), json!({"id": "a"})].map(|id| {
        story.goes(&of(id));
        story.conversation
    });
    assert_eq!(numbers, [0, 1, 0]);
}

#[test]
fn behind_a_fault_the_same_reply_can_be_gone_on_from_again() {
    let of = |input: &str, fault: &str| {
        let mut story =
            Story::campaign(trial(fault, TurnChoice::Nth(2), 1), Story::control(|_| {}));
        story.goes(&responses(&json!("Paris?"), None));
        story.course.replied(0, "r1".to_owned());
        assert!(story.goes(&responses(&json!("a"), Some("r1"))).is_some());
        if fault != "http-500" {
            story.course.replied(0, "r2".to_owned());
        }
        story.goes(&responses(&json!(input), Some("r1")));
        story.only().how
    };
    assert_eq!(of("a", "http-500"), Some(Reaction::Retried));
    assert_eq!(of("a", "call-as-text"), Some(Reaction::Retried));
    assert_eq!(of("b", "call-as-text"), Some(Reaction::Rewrote));
    assert_eq!(of("b", "http-500"), Some(Reaction::Told));
}

#[test]
fn a_fault_comes_as_often_in_a_row_as_it_should_whoever_asks_beside() {
    let trial = trial("http-500", TurnChoice::Any, 3);
    let mut story = Story::campaign(trial, Story::control(|_| {}));
    let mut faults = 0;
    for _ in 0..5 {
        faults += u32::from(story.asks(&[user("Paris?")]).is_some());
        assert_eq!(story.asks(&[user("Rome?")]), None);
        assert_eq!(story.asks(&[user("Oslo?")]), None);
    }
    let injection = story.only();
    assert_eq!((faults, injection.times), (3, 3));
    assert_eq!(injection.requests_after, 4);
    assert_eq!(injection.how, Some(Reaction::Retried));
}

#[test]
fn the_last_fault_in_a_row_decides_and_not_what_came_between() {
    let trial = trial("call-as-text", TurnChoice::Any, 2);
    let mut story = Story::campaign(trial, Story::control(|_| {}));
    let nudged = [user("a"), says("f()"), user("Call it!")];
    assert!(story.asks(&[user("a")]).is_some());
    assert!(story.asks(&nudged).is_some());
    assert_eq!(story.only().how, None, "the second one was taken for good");
}

#[test]
fn an_injection_says_which_trial_of_the_spec_it_is() {
    let spec = ChaosSpec::parse("faults = [\"http-500\"]\nrepeat = 2\nturns = [1]").unwrap();
    let mut story = Story::of(InjectionPlan::InTurn(spec.trials()));
    story.asks(&[user("a")]);
    story.asks(&[user("b")]);
    let injections = story.course.injections().iter();
    let mut numbers: Vec<u32> = injections.map(|one| one.trial.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2]);
}
