//! Live runs with their conductor, a scripted model and real tools: keys in, screens out.

use super::desk::Desk;

#[test]
fn one_wording_sets_the_model_right_and_another_does_not() {
    let mut desk = Desk::run("flights.toml");
    desk.comes("paused: unknown-tool serch_flights")
        .sees("[scripted]")
        .sees("take 1 of 1")
        .misses("pending-call");
    desk.press("i ^s").sees("next: a request to the model");
    desk.press("enter")
        .comes("finished")
        .sees("take 2 of 2")
        .sees("TP 204");
    desk.press("u")
        .sees("take 1 of 2")
        .comes("paused: unknown-tool serch_flights");
    desk.press("i tab j enter").sees("the fact only");
    desk.press("^s enter")
        .comes("take 3 of 3")
        .comes("paused: unknown-tool serch_flights");
    assert_eq!(
        desk.items(),
        [
            "system",
            "user",
            "reasoning",
            "assistant",
            "call serch_flights",
            "output",
            "assistant",
            "call serch_flights",
        ]
    );

    desk.press("T")
        .sees("first request")
        .sees("take 1  live  the run")
        .sees("\u{2514}\u{2500} take 3")
        .sees("nearest-and-list:")
        .sees("bare:");
    desk.press("k m j d").sees("take 2 / take 3");
    desk.press("esc esc w").sees("(*) the request");
}

#[test]
fn the_totals_follow_the_run() {
    let mut desk = Desk::run("flights.toml");
    desk.comes("paused: unknown-tool serch_flights");
    desk.press("U").sees("290 tokens in; 43 out");
    desk.press("esc i ^s enter U")
        .comes("token counts for 3 of");
}

#[test]
fn the_calls_beside_a_faulty_one_wait_without_being_faults() {
    let mut desk = Desk::run("parallel.toml");
    desk.comes("paused: unknown-tool serch_flights")
        .misses("pending-call");
    assert_eq!(desk.rules(), ["unknown-tool"]);
    let faulty = desk.state.item;
    desk.go_to(faulty)
        .press("enter")
        .sees("the call waits for its output");
    desk.misses("the recording ends here").sees("supply output");
    desk.press("esc").go_to(faulty + 1).press("i ^s enter");
    desk.comes("finished");
    let outputs = |item: &&String| item.starts_with("output");
    assert_eq!(desk.items().iter().filter(outputs).count(), 4);
}

#[test]
fn the_help_of_a_run_begins_with_the_keys_of_the_run() {
    let mut desk = Desk::run("parallel.toml");
    desk.comes("paused: unknown-tool").press("?");
    let shown = desk.screen();
    let at = |title: &str| {
        shown
            .find(title)
            .unwrap_or_else(|| panic!("{title}\n{shown}"))
    };
    assert!(at("Live") < at("Recover"), "{shown}");
    assert!(
        !shown.contains("Turns") || at("Recover") < at("Turns"),
        "{shown}"
    );
    assert!(shown.contains("step: one model request"), "{shown}");
}

#[test]
fn an_aborted_run_ends_with_an_output_for_each_call() {
    let mut desk = Desk::run("parallel.toml");
    desk.comes("paused: unknown-tool");
    desk.press("X").sees("Abort the run?");
    desk.press("y").comes("ended: aborted");
    let count = |kind| {
        let items = desk.items();
        items.iter().filter(|item| item.starts_with(kind)).count()
    };
    assert_eq!((count("call"), count("output")), (3, 3));
}

#[test]
fn a_wait_before_the_next_question_is_cut_short() {
    let mut desk = Desk::run("flaky.toml");
    desk.comes("retrying in");
    desk.press("c").misses("called off");
    desk.comes("paused: the request to the model failed");
    // The second reply breaks off as well, inside the arguments of its call.
    desk.press("c").comes("22 degrees");
    desk.comes("paused: the request to the model failed");
    desk.press("c").comes("finished");
    desk.press("L")
        .sees("429 Too Many Requests")
        .misses("called off");
}

#[test]
fn an_answer_that_breaks_its_schema_waits_for_the_operator_who_lets_it_pass() {
    // Without a policy that asks the model once more, the operator is next.
    let without_policy = |text: String| match text.split_once("[policy") {
        Some((agent, _)) => agent.to_owned(),
        None => text,
    };
    let mut desk = Desk::run_as("final.toml", without_policy);
    desk.comes("paused: invalid-final-output")
        .misses("c continue");
    desk.press("a")
        .sees("the value to continue with")
        .press("esc");
    desk.press("c").sees("A releases it unchanged");
    desk.press("A").comes("finished");
}

#[test]
fn a_pause_names_no_suggestion_where_there_is_none() {
    let mut desk = Desk::run("broken-json.toml");
    desk.comes("paused: malformed-arguments");
    desk.press("i ^s enter").comes("paused: invalid-arguments");
    desk.press("c")
        .sees("held by a finding: i injects an error, r retries, A releases it unchanged");
}

#[test]
fn a_step_that_is_refused_does_not_stop_the_run_later() {
    let mut desk = Desk::run("flights.toml");
    desk.comes("paused: unknown-tool serch_flights");
    desk.press(".").sees(
        "held by a finding: i injects an error, s corrects, r retries, A releases it unchanged",
    );
    desk.press("i ^s enter").comes("finished");
}
