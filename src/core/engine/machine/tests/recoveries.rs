//! Every way to recover, after a reply that came whole and after one whose first attempt broke off while it was streaming, with one
//! call and with three of which one is bad; the good ones end in reverse. The world checks that nothing runs twice and no call is
//! answered twice.

use super::world::{World, config};
use crate::engine::{Config, ModelFault, RunCommand, RunEvent};
use crate::session::ledger::{CallKey, Ending};

/// How the bad call is settled: by an action in another take, or by a word to the machine.
const WAYS: &[&str] = &[
    "inject-error",
    "take-suggestion",
    "drop-pair",
    "retry",
    "supply",
    "reject",
    "release",
];

/// What a policy can do about it.
const DEEDS: &[&str] = &["inject", "suggest", "drop", "retry", "release"];

fn begin(config: Config, is_streamed: bool, is_parallel: bool) -> World {
    let mut world = World::new(config);
    world.handle(RunEvent::StatusChanged(world.standing().into()));
    if is_streamed {
        let (ask, _) = world.asking.take().unwrap();
        let fault = ModelFault {
            status: None,
            why: "the stream broke off".to_owned(),
            is_recoverable: true,
            retry_after_ms: None,
            was_streaming: true,
        };
        world.handle(RunEvent::NotReplied { ask, fault });
        world.handle(RunEvent::Operator(RunCommand::Continue));
    }
    let call = |id: &str, tool: &str| (id.to_owned(), tool.to_owned(), "{}".to_owned());
    let mut calls = vec![call("bad", "serch")];
    if is_parallel {
        calls.insert(0, call("first", "search"));
        calls.push(call("last", "canned"));
    }
    world.reply(calls, None, true);
    world
}

/// Ends what runs, the last first, and answers what the operator is asked for, until the model says that it is done.
fn finish(world: &mut World) {
    for _ in 0..20 {
        if world.ended.is_some() {
            break;
        }
        if let Some(last) = world.running.len().checked_sub(1) {
            world.end(last, None, false);
        } else if world.asking.is_some() {
            world.reply(Vec::new(), Some("done".to_owned()), true);
        } else {
            say(world, "supply");
        }
    }
    assert_eq!(world.ended, Some(Ending::Final), "{}", world.log.join("\n"));
}

fn bad_call(world: &World) -> Option<CallKey> {
    let calls = world.standing().calls;
    let call = calls.into_iter().find(|call| call.key.call_id == "bad");
    call.map(|call| call.key)
}

fn say(world: &mut World, word: &str) {
    let call = bad_call(world).expect("the call is there");
    world.handle(RunEvent::Operator(match word {
        "supply" => RunCommand::Supply {
            call,
            output: "by hand".to_owned(),
            is_error: false,
        },
        "reject" => RunCommand::Reject {
            call,
            words: "no".to_owned(),
        },
        _ => RunCommand::Release,
    }));
}

fn each_shape(mut then: impl FnMut(bool, bool)) {
    for is_streamed in [false, true] {
        for is_parallel in [false, true] {
            then(is_streamed, is_parallel);
        }
    }
}

#[test]
fn the_operator_recovers_in_every_way_and_each_call_has_one_output() {
    for way in WAYS {
        each_shape(|is_streamed, is_parallel| {
            let mut world = begin(config(""), is_streamed, is_parallel);
            assert!(
                world.running.is_empty(),
                "{way}: something runs beside a bad call"
            );
            if matches!(*way, "supply" | "reject" | "release") {
                say(&mut world, way);
            } else {
                let call = bad_call(&world);
                world.recover(way, call);
                world.handle(RunEvent::StatusChanged(world.standing().into()));
            }
            finish(&mut world);
        });
    }
}

#[test]
fn a_policy_recovers_in_every_way_and_each_call_has_one_output() {
    for deed in DEEDS {
        let policy = format!("[on.unknown-tool]\ndo = \"{deed}\"\n");
        each_shape(|is_streamed, is_parallel| {
            let mut world = begin(config(&policy), is_streamed, is_parallel);
            finish(&mut world);
        });
    }
}

#[test]
fn a_refused_action_of_a_policy_leaves_the_fault_to_the_operator() {
    let policy = "[on.unknown-tool]\ndo = \"inject\"\n";
    each_shape(|_, is_parallel| {
        let mut world = World::new(config(policy));
        world.refuses_all = true;
        world.handle(RunEvent::StatusChanged(world.standing().into()));
        let mut calls = vec![("bad".to_owned(), "serch".to_owned(), "{}".to_owned())];
        if is_parallel {
            calls.push(("good".to_owned(), "search".to_owned(), "{}".to_owned()));
        }
        world.reply(calls, None, true);
        assert_eq!(world.paused.len(), 1);
        assert!(world.running.is_empty());
        say(&mut world, "reject");
        finish(&mut world);
    });
}
