//! Conversations between a world and a machine. Each script is what happens, a line an event; the snapshots beside this file say
//! what the machine wants done about it.

use super::world::{World, config};
use crate::engine::{Breakpoint, Config, ModelFault, RunCommand, RunEvent};
use crate::session::ledger::{Ask, CallFailure, CallKey, CallOutcome};

/// Plays a script and gives what happened, with the effects below each event.
pub(crate) fn play(config: Config, script: &str) -> String {
    let mut world = World::new(config);
    for line in script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        world.log.push(line.to_owned());
        happen(&mut world, line);
    }
    world.log.join("\n")
}

fn happen(world: &mut World, line: &str) {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "stands" => world.handle(RunEvent::StatusChanged(world.standing().into())),
        "agent-asks" => {
            let take = world.standing().take;
            world.handle(RunEvent::AgentRequested { take });
            world.asking = Some((Ask(1), 1));
        }
        "calls" => world.reply(calls(rest), None, true),
        "says" => world.reply(Vec::new(), Some(rest.to_owned()), rest != "cut"),
        "fails" => fail(world, rest),
        "late-reply" => {
            let ask = Ask(rest.parse().unwrap());
            world.handle_reply(ask, vec!["late".to_owned()], true);
        }
        "late-fault" => {
            world.asking = Some((Ask(rest.parse().unwrap()), 1));
            fail(world, "cancelled");
        }
        "ends" => {
            let (id, how) = rest.split_once(' ').unwrap_or((rest, "ok"));
            let place = world.running.iter().position(|run| run.key.call_id == id);
            let failure = match how {
                "timeout" => Some(CallFailure::Timeout),
                "connection" => Some(CallFailure::Connection),
                "reported" => Some(CallFailure::Reported),
                "stopped" => Some(CallFailure::Stopped),
                _ => None,
            };
            match place {
                Some(place) => world.end(place, failure, failure.is_some()),
                None => world.handle(RunEvent::Finished {
                    call: key(world, id),
                    outcome: CallOutcome {
                        output: "late".to_owned(),
                        is_error: false,
                        failure,
                        ms: 1,
                    },
                }),
            }
        }
        "needs" => {
            let place = world.running.iter().position(|run| run.key.call_id == rest);
            let call = world.running.remove(place.unwrap()).key;
            let note = "no recorded output fits".to_owned();
            world.handle(RunEvent::NeedsOperator { call, note });
        }
        "rings" => world.ring(),
        "crash" => world.crash(),
        "go" => {
            world.current = rest.parse().unwrap();
            world.handle(RunEvent::StatusChanged(world.standing().into()));
        }
        "edit" => {
            let (id, arguments) = rest.split_once(' ').unwrap();
            let key = key(world, id);
            world.fork(|history| {
                let slots = history
                    .replies
                    .iter_mut()
                    .flat_map(|reply| &mut reply.calls);
                slots
                    .filter(|slot| slot.key == key)
                    .for_each(|slot| slot.arguments = arguments.to_owned());
            });
            world.handle(RunEvent::StatusChanged(world.standing().into()));
        }
        "inject-error" | "take-suggestion" | "repair-arguments" | "drop-pair" | "retry" => {
            let call = (!rest.is_empty()).then(|| key(world, rest));
            world.recover(word, call);
            world.handle(RunEvent::StatusChanged(world.standing().into()));
        }
        _ => {
            let command = command(world, word, rest);
            world.handle(RunEvent::Operator(command));
        }
    }
}

fn command(world: &World, word: &str, rest: &str) -> RunCommand {
    let (id, words) = rest.split_once(' ').unwrap_or((rest, ""));
    match word {
        "continue" => RunCommand::Continue,
        "step" => RunCommand::Step,
        "pause" => RunCommand::Pause,
        "abort" => RunCommand::Abort,
        "release" => RunCommand::Release,
        "now" => RunCommand::Now,
        "accept-fallback" => RunCommand::AcceptFallback,
        "more-turns" => RunCommand::MoreTurns(rest.parse().unwrap()),
        "enable" => RunCommand::Enable {
            tool: rest.to_owned(),
        },
        "approve" => RunCommand::Approve {
            call: key(world, id),
            always: words == "always",
        },
        "reject" => RunCommand::Reject {
            call: key(world, id),
            words: words.to_owned(),
        },
        "supply" => RunCommand::Supply {
            call: key(world, id),
            output: words.to_owned(),
            is_error: false,
        },
        "run-again" => RunCommand::RunAgain {
            call: key(world, id),
        },
        "break" => RunCommand::Breakpoints(vec![Breakpoint::parse(1, rest).unwrap()]),
        _ => panic!("what is {word}?"),
    }
}

fn calls(text: &str) -> Vec<(String, String, String)> {
    let call = |call: &str| {
        let mut words = call.split_whitespace().map(str::to_owned);
        let mut next = || words.next().unwrap_or_else(|| "{}".to_owned());
        (next(), next(), next())
    };
    text.split(", ").map(call).collect()
}

fn key(world: &World, id: &str) -> CallKey {
    let takes = world
        .takes
        .iter()
        .rev()
        .flat_map(|take| take.replies.iter().rev());
    let mut slots = takes.flat_map(|reply| &reply.calls);
    let slot = slots.find(|slot| slot.key.call_id == id);
    slot.map_or(
        CallKey {
            ask: Ask(0),
            call_id: id.to_owned(),
        },
        |slot| slot.key.clone(),
    )
}

fn fail(world: &mut World, how: &str) {
    let (ask, _) = world.asking.take().expect("nobody asks");
    let mut words = how.split_whitespace();
    let first = words.next().unwrap();
    let retry_after_ms = words.next().and_then(|word| word.parse().ok());
    let status = first.parse().ok();
    let fault = ModelFault {
        status,
        why: format!("the provider says {first}"),
        is_recoverable: !matches!(status, Some(400..=404)),
        retry_after_ms,
        was_streaming: first == "streaming",
    };
    world.handle(RunEvent::NotReplied { ask, fault });
}

/// Stories: a name, a policy, a script.
const STORIES: &[(&str, &str, &str)] = &[
    (
        "a plain run",
        "",
        "stands\n calls a search\n ends a\n says done",
    ),
    (
        "parallel calls run side by side and end in any order",
        "",
        "stands\n calls a search 1, b search 2, c canned\n ends c\n ends b\n ends a\n says done",
    ),
    (
        "one bad call among good ones is settled before anything runs",
        "",
        "stands\n calls a search, b serch, c search bad\n continue\n inject-error b\n repair-arguments c\n ends c\n ends a\n says done",
    ),
    (
        "a released unknown tool is the operator's to answer",
        "",
        "stands\n calls a serch\n release\n supply a the operator knows\n says done",
    ),
    (
        "a policy corrects without asking, and leaves the rest to the operator",
        "[on.unknown-tool]\ndo = \"inject\"\n",
        "stands\n calls a serch, b search bad\n repair-arguments b\n ends b\n says done",
    ),
    (
        "a policy that has acted often enough raises",
        "[on.unknown-tool]\ndo = \"retry\"\ntimes = 2\notherwise = \"raise\"\n",
        "stands\n calls a serch\n calls b serch\n calls c serch",
    ),
    (
        "approvals are asked for all at once, and edited arguments are approved as they are",
        "",
        "stands\n calls a search, b pay 1, c wire 2\n approve b\n edit c 3\n approve c\n ends c\n ends a\n ends b\n calls d pay 4\n approve d always\n ends d\n calls e pay 5, f wire 6\n reject f do not\n ends e\n says done",
    ),
    (
        "recoverable failures are tried again before the model hears of them",
        "[retry]\nattempts = 3\nbackoff = \"1s\"\n",
        "stands\n calls a search, b search 2\n ends a timeout\n ends b reported\n rings\n ends a connection\n now\n ends a timeout\n says done",
    ),
    (
        "a tool that fails is switched off, tried once and used again",
        "[breaker]\nthreshold = 2\ncooldown = \"1s\"\nwebhook = \"http://127.0.0.1:9/hook\"\n",
        "stands\n calls a search 1, b search 2\n ends a reported\n ends b reported\n calls c search\n enable search\n calls d search\n ends d\n enable search\n says done",
    ),
    (
        "what may have run is the operator's to decide after a crash",
        "",
        "stands\n calls a search 1, b search 2, c search 3\n ends a\n crash\n continue\n supply b seen in the shop\n run-again c\n ends c\n says done",
    ),
    (
        "the end of a call comes late, after the operator has answered it",
        "",
        "stands\n calls a search\n supply a I know\n ends a\n ends a\n says done",
    ),
    (
        "the operator goes elsewhere while tools run",
        "",
        "stands\n calls a search 1\n ends a\n calls b search 2\n edit b 9\n ends b\n ends b\n calls c search 3\n retry\n ends c\n calls d canned\n ends d\n says done",
    ),
    (
        "an older take is looked at and not driven",
        "",
        "stands\n calls a serch\n inject-error a\n go 1\n go 2\n continue\n says done",
    ),
    (
        "the model is asked again when that may help, and the operator is asked when not",
        "",
        "stands\n fails 429 2000\n rings\n fails 503\n now\n fails 503\n continue\n fails 401\n now\n fails 429 999999999\n continue\n fails streaming\n continue\n says done",
    ),
    (
        "a question of another take is called off, and its reply is recorded",
        "",
        "stands\n calls a search\n ends a\n retry\n late-reply 2\n late-reply 2\n late-reply 77\n says done",
    ),
    (
        "an aborted run stops its tools, closes its calls and can be taken up",
        "",
        "stands\n calls a search 1, b search 2, c pay\n approve c\n ends a\n abort\n ends b stopped\n ends c\n abort\n continue\n says done",
    ),
    (
        "an aborted question is cancelled",
        "",
        "stands\n abort\n late-reply 1\n continue\n says done",
    ),
    (
        "a cancelled question that fails is not told twice",
        "",
        "stands\n abort\n late-fault 1\n late-fault 77",
    ),
    (
        "steps stop before the tools and before each question",
        "",
        "pause\n stands\n step\n calls a search, b pay\n step\n approve b\n ends a\n ends b\n step\n calls c search\n continue\n ends c\n says done",
    ),
    (
        "a breakpoint stops once at a turn",
        "",
        "break once tool search\n stands\n calls a search\n continue\n ends a\n calls b search\n ends b\n break turn 3\n calls c search\n edit c 2\n continue\n ends c\n says done",
    ),
    (
        "a wrong last message holds until it is right or released",
        "",
        "stands\n says wrong\n retry\n says cut\n retry\n says refused\n retry\n says wrong\n release",
    ),
    (
        "a fallback ends the run",
        "[on.invalid-final-output]\ndo = \"fallback\"\nvalue = { answer = 1 }\n",
        "stands\n says wrong\n continue",
    ),
    (
        "a fallback of the operator ends the run",
        "",
        "stands\n says wrong\n accept-fallback",
    ),
    (
        "a recorded tool that has no output that fits asks the operator",
        "",
        "stands\n calls a canned, b search\n needs a\n ends b\n supply a by hand\n says done",
    ),
    (
        "decisions are known after a crash",
        "",
        "stands\n calls a serch, b pay 1, c wire 2\n release\n approve b always\n crash\n approve c\n supply a yes\n ends b\n ends c\n calls d pay 3\n ends d\n says done",
    ),
    (
        "what does not belong is told and not dropped",
        "",
        "stands\n ends nobody\n approve nobody\n now\n release\n enable search\n calls a search\n run-again a\n approve a\n reject a no\n ends a\n supply a late\n says done\n abort",
    ),
];

#[test]
fn what_happens_and_what_is_done_about_it() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    for (name, policy, script) in STORIES {
        let told = play(config(policy), script);
        let name = name.replace([' ', ',', '\''], "_");
        settings.bind(|| insta::assert_snapshot!(name, told));
    }
}

#[test]
fn turns_are_used_up() {
    let limited = |has_operator| Config {
        max_turns: Some(2),
        has_operator,
        ..config("")
    };
    let script = "stands\n calls a search\n ends a\n calls b search\n ends b";
    let told = play(
        limited(true),
        &format!(
            "{script}\n continue\n more-turns 1\n calls c search\n ends c\n release\n says done"
        ),
    );
    insta::assert_snapshot!("turns_are_used_up", told);
    let told = play(limited(false), script);
    assert!(told.ends_with("finish: TurnLimit { turns: 2 }"), "{told}");
}

#[test]
fn without_an_operator_a_pause_is_an_end() {
    let alone = |policy| Config {
        has_operator: false,
        is_stepping: true,
        breakpoints: vec![Breakpoint::parse(1, "tool *").unwrap()],
        ..config(policy)
    };
    let endings = [
        (
            "",
            "stands\n calls a search, b serch",
            "Unattended { why: \"unknown-tool: unknown-tool here\" }",
        ),
        (
            "",
            "stands\n calls a search, b human",
            "Unattended { why: \"the output of human is the operator's to give (b of reply 1)\" }",
        ),
        (
            "",
            "stands\n calls a search, b pay",
            "Unattended { why: \"pay needs an approval (b of reply 1)\" }",
        ),
        (
            "",
            "stands\n fails 401",
            "ModelFailed { why: \"the provider says 401\" }",
        ),
        (
            "[on.unknown-tool]\ndo = \"raise\"\n",
            "stands\n calls a serch",
            "Raised { rule: \"unknown-tool\" }",
        ),
        (
            "",
            "stands\n calls a search, b canned\n needs b\n ends a",
            "Unattended { why: \"the output of canned is the operator's to give (b of reply 1)\" }",
        ),
        (
            "",
            "stands\n calls a search\n crash",
            "Unattended { why: \"search may have run (a of reply 1)\" }",
        ),
        (
            "",
            "stands\n says wrong",
            "Unattended { why: \"invalid-final-output: invalid-final-output here\" }",
        ),
        ("", "stands\n calls a search\n ends a\n says done", "Final"),
    ];
    for (policy, script, ending) in endings {
        let told = play(alone(policy), script);
        assert!(told.ends_with(&format!("finish: {ending}")), "{told}");
    }
}
