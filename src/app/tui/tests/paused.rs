//! Paused and ended runs whose history the operator changes: nothing is asked and nothing runs but by his word.

use super::desk::Desk;
use std::path::Path;

/// The broken arguments of a recording are answered in two takes, and a run goes on from the last one to its end.
fn went_live() -> Desk {
    let agents = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("sessions/agents");
    let agent = agents.join("broken-json.toml");
    let mut desk = Desk::of("broken-json.json");
    desk.loader.has_world = true;
    desk.press("] i ^s enter").sees("take 1 of 1");
    desk.press("u i tab j enter ^s enter").sees("take 2 of 2");
    desk.press("c ^u")
        .press(&format!("`{}` enter", agent.display()));
    desk.comes("paused: unknown-tool").press("X y");
    desk.comes("ended: aborted");
    desk
}

/// How many questions the events tell of.
#[track_caller]
fn questions(desk: &mut Desk) -> usize {
    desk.press("L G");
    let screen = desk.screen();
    desk.press("esc");
    let requests = screen
        .lines()
        .filter_map(|line| line.split_once(" request "));
    let made =
        |text: &str| text.starts_with(|it: char| it.is_ascii_digit()) && !text.contains("failed");
    let count = requests.filter(|(_, text)| made(text)).count();
    assert!(count > 0, "{screen}");
    count
}

#[test]
fn what_is_planned_for_the_recording_is_done_after_going_live() {
    let mut desk = went_live();
    desk.press("T g enter").sees("the recording");
    desk.press("x").sees("the run pauses here");
    desk.press("enter").misses("the history has changed");
    desk.sees("drop pair; u undoes it");
}

#[test]
fn a_change_of_a_take_that_is_looked_at_asks_nobody() {
    let mut desk = went_live();
    let asked = questions(&mut desk);
    desk.press("T g j enter").sees("paused: c continues");
    desk.press("x").sees("the run pauses here");
    desk.press("enter").sees("paused: c continues");
    assert_eq!(questions(&mut desk), asked);
    desk.press("u").sees("paused: c continues");
    desk.press("^r").sees("paused: c continues");
    desk.press("k D enter").sees("paused: c continues");
    assert_eq!(questions(&mut desk), asked);
    desk.press("c L").comes(&format!("request {}", asked + 1));
}

/// A run whose search needs an approval, which the operator refuses.
fn refused() -> Desk {
    let mut desk = Desk::run_as("flights.toml", |text| {
        text.replacen(
            "name = \"search_flights\"",
            "name = \"search_flights\"\napproval = \"ask\"",
            1,
        )
    });
    desk.comes("paused: unknown-tool").press("i ^s enter");
    desk.comes("n reject").at(10_000).screen();
    desk.press("n").sees("The operator rejected this call.");
    desk.press("^s").comes("finished");
    desk
}

#[test]
fn a_fork_of_a_run_that_ended_asks_for_the_approval_again_and_asks_no_model() {
    let mut desk = refused();
    let asked = questions(&mut desk);
    let items = desk.items();
    let call = items.iter().position(|item| item == "call search_flights");
    desk.go_to(call.unwrap() + 1).press("D enter");
    desk.sees("approve search_flights?");
    desk.at(90_000)
        .press("esc")
        .sees("the call is still waiting");
    assert_eq!(questions(&mut desk), asked);
    assert_eq!(desk.items().len(), call.unwrap() + 1);
    desk.press("u").go_to(call.unwrap() + 2).press("D enter");
    desk.sees("paused: c continues");
    assert_eq!(questions(&mut desk), asked);
    assert_eq!(desk.items().len(), call.unwrap() + 2);
}

/// A run that ended well after the misspelled call was answered.
fn finished() -> Desk {
    let mut desk = Desk::run("flights.toml");
    desk.comes("paused: unknown-tool").press("i ^s enter");
    desk.comes("finished");
    desk
}

/// Puts the cursor on the call that was misspelled.
fn on_the_misspelled_call(desk: &mut Desk) -> &mut Desk {
    let items = desk.items();
    let call = items.iter().position(|item| item == "call serch_flights");
    desk.go_to(call.unwrap() + 1)
}

#[test]
fn an_answered_call_gets_other_words_and_the_run_goes_on_from_there() {
    let mut desk = finished();
    let (asked, items) = (questions(&mut desk), desk.items().len());
    on_the_misspelled_call(&mut desk)
        .press("i")
        .sees("inject error: serch_flights")
        .press("^s")
        .sees("the call has this answer already: change the words");
    desk.press("`Call search_flights.` ^s")
        .sees("5 items after this turn leave this take")
        .sees("the run pauses here: c sends the request");
    desk.press("enter")
        .sees("paused: c continues")
        .sees("Call search_flights.");
    assert_eq!(desk.items().last().unwrap(), "output");
    assert_eq!(questions(&mut desk), asked);
    desk.press("c").comes("finished");
    assert_eq!(desk.items().len(), items);
    desk.press("T")
        .sees("take 3")
        .sees("current  no findings")
        .misses("not checked");
}

#[test]
fn another_output_in_a_run_that_ended_takes_the_replies_to_the_old_one_away() {
    let mut desk = finished();
    on_the_misspelled_call(&mut desk)
        .press("o `Ask for search_flights.` ^s")
        .sees("the run pauses here: c sends the request");
    desk.press("enter").sees("paused: c continues");
    assert_eq!(desk.items().last().unwrap(), "output");
    desk.press("c").comes("finished");
}

#[test]
fn a_change_that_no_reply_was_given_to_says_that_the_rest_stays() {
    let mut desk = finished();
    let items = desk.items();
    on_the_misspelled_call(&mut desk)
        .press("x")
        .sees("the items after it stay")
        .press("enter");
    assert_eq!(desk.items()[4..], items[6..]);
    desk.sees("finished");
}

#[test]
fn a_fork_inside_a_reply_is_paused_there_and_the_model_goes_on() {
    let mut desk = finished();
    let asked = questions(&mut desk);
    desk.go_to(4).press("D enter");
    desk.sees("paused: c continues").misses("finished");
    let screen = desk.press("esc").screen();
    assert_eq!(screen.matches("paused").count(), 1, "{screen}");
    assert_eq!(desk.items(), ["system", "user", "reasoning", "assistant"]);
    assert_eq!(questions(&mut desk), asked);
    desk.press("u ^r").sees("paused: c continues");
    desk.press("c").comes("finished");
    assert_eq!(
        desk.items()[4..],
        ["assistant"],
        "the script has no more to say"
    );
    assert_eq!(questions(&mut desk), asked + 1);
}
