//! Random runs in the small world: replies with bad calls, tools that fail, a model that cannot be asked, an operator who does anything
//! at any time, crashes and restarts. The world checks after every event what must always hold; here are the dice.
//!
//! `RETAKE_LONG=1` makes ten thousand runs instead of three hundred, `RETAKE_SEED=n` the one with that seed.

use super::history::TOOLS;
use super::world::{World, config};
use crate::engine::{Breakpoint, Config, ModelFault, Phase, Reason, RunCommand, RunEvent};
use crate::session::ledger::{Ask, CallFailure, CallKey, CallOutcome, Ending};

const POLICIES: &[&str] = &[
    "",
    "[retry]\nattempts = 3\nbackoff = \"1s\"\n[breaker]\nthreshold = 2\ncooldown = \"2s\"\n",
    "[on.unknown-tool]\ndo = \"inject\"\ntimes = 2\notherwise = \"ask\"\n[on.invalid-arguments]\ndo = \"retry\"\ntimes = 2\notherwise = \"raise\"\n",
    "[on.unknown-tool]\ndo = \"drop\"\n[on.invalid-arguments]\ndo = \"release\"\n[on.refused]\ndo = \"retry\"\n[retry]\nattempts = 2\n",
    "[on.unknown-tool]\ndo = \"suggest\"\n[on.invalid-arguments]\ndo = \"inject\"\n[on.invalid-final-output]\ndo = \"fallback\"\nvalue = { answer = 1 }\n[tools.search]\napproval = \"ask\"\n",
];

/// Splitmix64: the same seed throws the same dice everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    fn one_in(&mut self, odds: usize) -> bool {
        self.below(odds) == 0
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Says which run failed, and how it went.
struct Witness {
    seed: u64,
    world: World,
}

impl Drop for Witness {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let from = self.world.log.len().saturating_sub(60);
            let tail = self.world.log[from..].join("\n");
            eprintln!("RETAKE_SEED={} fails:\n{tail}", self.seed);
        }
    }
}

#[test]
fn whatever_happens_no_call_runs_twice_and_each_gets_one_output() {
    let seeds = match (std::env::var("RETAKE_SEED"), std::env::var("RETAKE_LONG")) {
        (Ok(seed), _) => {
            let seed = seed.parse().unwrap();
            seed..seed + 1
        }
        (_, Ok(_)) => 0..10_000,
        _ => 0..300,
    };
    let mut reached = Reached::default();
    let is_whole = seeds.end - seeds.start > 1;
    for seed in seeds {
        live(seed, &mut reached);
    }
    // Dice that never reach a state show nothing about it.
    if is_whole {
        let Reached {
            finals,
            retries,
            crashes,
            may_have_run,
            refusals,
            others,
        } = reached;
        for (what, count) in [
            ("final messages", finals),
            ("retries", retries),
            ("crashes", crashes),
            ("calls that may have run", may_have_run),
            ("open breakers", refusals),
            ("other endings", others),
        ] {
            assert!(count > 10, "only {count} {what}");
        }
    }
}

#[derive(Default)]
struct Reached {
    finals: u32,
    retries: u32,
    crashes: u32,
    may_have_run: u32,
    refusals: u32,
    others: u32,
}

fn live(seed: u64, reached: &mut Reached) {
    let mut dice = Dice(seed);
    let policy = POLICIES[dice.below(POLICIES.len())];
    let config = Config {
        has_operator: !dice.one_in(5),
        is_stepping: dice.one_in(6),
        max_turns: Some(6 + u32::try_from(dice.below(8)).unwrap()),
        seed,
        ..config(policy)
    };
    let mut world = World::new(config);
    world.refuses = dice.one_in(3);
    world.checks_state_every = 7;
    let mut witness = Witness { seed, world };
    let world = &mut witness.world;
    world.handle(RunEvent::StatusChanged(world.standing().into()));
    for _ in 0..20 + dice.below(150) {
        world.now += 1 + dice.next() % 800;
        if world.ended.is_some() && !world.config.has_operator {
            break;
        }
        if dice.one_in(6) {
            disturb(world, &mut dice);
        } else {
            go_on(world, &mut dice);
        }
        if world.ended == Some(Ending::Final) {
            reached.finals += 1;
            if dice.one_in(2) {
                break;
            }
        }
        let may_have_run = |reason: &Reason| matches!(reason, Reason::MayHaveRun { .. });
        reached.may_have_run += u32::from(world.paused.iter().any(may_have_run));
    }
    wind_up(world);
    let told = |word: &str| world.log.iter().filter(|line| line.contains(word)).count();
    let add = |count: &mut u32, word: &str| *count += u32::try_from(told(word)).unwrap();
    add(&mut reached.retries, "for RunAgain");
    add(&mut reached.crashes, "> crash");
    add(&mut reached.refusals, "is switched off for now");
    add(&mut reached.others, "finish: ");
}

/// The operator ends the run: what is under way ends, every call of the history has its output.
fn wind_up(world: &mut World) {
    if world.ended.is_none() {
        world.log.push("> abort".to_owned());
        world.handle(RunEvent::Operator(RunCommand::Abort));
    }
    while !world.running.is_empty() {
        world.end(0, Some(CallFailure::Stopped), true);
    }
    assert!(matches!(world.machine.phase(world.now), Phase::Ended(_)));
}

/// Something that was to be expected.
fn go_on(world: &mut World, dice: &mut Dice) {
    let mut ways: Vec<fn(&mut World, &mut Dice)> = Vec::new();
    if world.asking.is_some() {
        ways.push(reply);
    }
    if !world.running.is_empty() {
        ways.push(end);
    }
    if !world.timers.is_empty() {
        ways.push(|world, _| {
            world.log.push("> rings".to_owned());
            world.ring();
        });
    }
    if !world.paused.is_empty() && world.config.has_operator {
        ways.push(decide);
    }
    if world.ended.is_some() && world.config.has_operator {
        ways.push(|world, dice| {
            let how = dice
                .of(&[
                    RunCommand::Continue,
                    RunCommand::Step,
                    RunCommand::MoreTurns(2),
                ])
                .clone();
            operate(world, how);
        });
    }
    if !ways.is_empty() {
        dice.of(&ways)(world, dice);
    }
}

fn reply(world: &mut World, dice: &mut Dice) {
    if dice.one_in(6) {
        let (ask, _) = world.asking.take().unwrap();
        let status = *dice.of(&[None, Some(429), Some(503), Some(401)]);
        let fault = ModelFault {
            status,
            why: "the model is away".to_owned(),
            is_recoverable: status != Some(401),
            retry_after_ms: dice.one_in(3).then_some(1 << dice.below(40)),
            was_streaming: dice.one_in(8),
        };
        world.log.push(format!("> no reply: {fault:?}"));
        return world.handle(RunEvent::NotReplied { ask, fault });
    }
    if dice.one_in(5) {
        let text = *dice.of(&["done", "done", "done", "wrong", "refused", "cut"]);
        world.log.push(format!("> says {text}"));
        return world.reply(Vec::new(), Some(text.to_owned()), text != "cut");
    }
    let names = TOOLS.iter().map(|(name, ..)| *name);
    let names = names
        .chain(["search", "search", "serch"])
        .collect::<Vec<_>>();
    let calls = (0..1 + dice.below(4)).map(|_| {
        let id = dice.of(&["c1", "c2", "c3", "c4", "c5"]);
        let arguments = dice.of(&["{}", "1", "2", "3", "bad"]);
        (
            (*id).to_owned(),
            (*dice.of(&names)).to_owned(),
            (*arguments).to_owned(),
        )
    });
    let calls = calls.collect::<Vec<_>>();
    world.log.push(format!("> calls {calls:?}"));
    world.reply(calls, None, true);
}

fn end(world: &mut World, dice: &mut Dice) {
    let place = dice.below(world.running.len());
    let run = world.running[place].clone();
    if run.tool == "canned" && dice.one_in(3) {
        world.running.remove(place);
        world.log.push(format!("> needs operator {}", run.key));
        let note = "nothing fits".to_owned();
        return world.handle(RunEvent::NeedsOperator {
            call: run.key,
            note,
        });
    }
    let failure = if world.is_stopping {
        Some(CallFailure::Stopped)
    } else {
        let some = [
            CallFailure::Timeout,
            CallFailure::Connection,
            CallFailure::Reported,
            CallFailure::Permission,
            CallFailure::Unknown,
        ];
        dice.one_in(2).then(|| *dice.of(&some))
    };
    world.log.push(format!("> ends {} {failure:?}", run.key));
    world.end(place, failure, false);
}

/// The operator decides about what the run waits for.
fn decide(world: &mut World, dice: &mut Dice) {
    let reason = dice.of(&world.paused.clone()).clone();
    let supply = |call: &CallKey| RunCommand::Supply {
        call: call.clone(),
        output: "by hand".to_owned(),
        is_error: false,
    };
    let reject = |call: &CallKey| RunCommand::Reject {
        call: call.clone(),
        words: "no".to_owned(),
    };
    let approve = |call: &CallKey, always| RunCommand::Approve {
        call: call.clone(),
        always,
    };
    let command = match &reason {
        Reason::Fault { item, .. } => {
            if dice.one_in(4) {
                return operate(world, RunCommand::Release);
            }
            let calls = world.standing().calls;
            let call = item.and_then(|item| calls.get(item as usize));
            let actions = [
                "inject-error",
                "repair-arguments",
                "take-suggestion",
                "drop-pair",
                "retry",
            ];
            let action = *dice.of(&actions);
            world.log.push(format!("> {action}"));
            world.recover(action, call.map(|call| call.key.clone()));
            return world.handle(RunEvent::StatusChanged(world.standing().into()));
        }
        Reason::Approval { call, .. } => match dice.below(6) {
            0 => reject(call),
            1 => supply(call),
            2 => return edit(world, dice),
            way => approve(call, way == 3),
        },
        Reason::AskOperator { call, .. } => supply(call),
        Reason::MayHaveRun { call, .. } => match dice.below(3) {
            0 => supply(call),
            1 => reject(call),
            _ => RunCommand::RunAgain { call: call.clone() },
        },
        Reason::TurnLimit { .. } => dice
            .of(&[RunCommand::Release, RunCommand::MoreTurns(3)])
            .clone(),
        Reason::Model { .. } => dice
            .of(&[RunCommand::Continue, RunCommand::Now, RunCommand::Step])
            .clone(),
        Reason::Breakpoint { .. } | Reason::Stepped => dice
            .of(&[RunCommand::Continue, RunCommand::Step, RunCommand::Release])
            .clone(),
        Reason::NothingSaid => RunCommand::Continue,
    };
    operate(world, command);
}

fn operate(world: &mut World, command: RunCommand) {
    world.log.push(format!("> {command:?}"));
    world.handle(RunEvent::Operator(command));
}

/// The operator changes the arguments of an open call.
fn edit(world: &mut World, dice: &mut Dice) {
    let arguments = (*dice.of(&["1", "2", "7"])).to_owned();
    let calls = world.standing().calls;
    let Some(call) = calls.into_iter().find(|call| call.is_open) else {
        return;
    };
    world
        .log
        .push(format!("> edit {} to {arguments}", call.key));
    world.fork(|history| {
        let slots = history
            .replies
            .last_mut()
            .into_iter()
            .flat_map(|reply| &mut reply.calls);
        let mut slots = slots.filter(|slot| slot.key == call.key && slot.output.is_none());
        if let Some(slot) = slots.next() {
            slot.arguments = arguments;
        }
    });
    world.handle(RunEvent::StatusChanged(world.standing().into()));
}

/// Something that nobody expected.
fn disturb(world: &mut World, dice: &mut Dice) {
    if !world.config.has_operator && dice.one_in(2) {
        return intrude(world, dice);
    }
    let key = CallKey {
        ask: Ask(u32::try_from(dice.below(6)).unwrap()),
        call_id: (*dice.of(&["c1", "c2", "c3"])).to_owned(),
    };
    match dice.below(14) {
        0..=2 => {
            world.log.push("> crash".to_owned());
            world.crash();
        }
        _ if !world.config.has_operator => intrude(world, dice),
        3 => operate(world, RunCommand::Pause),
        4 => operate(world, RunCommand::Step),
        5 | 6 => operate(world, RunCommand::Now),
        7 => operate(
            world,
            RunCommand::Approve {
                call: key,
                always: true,
            },
        ),
        8 => operate(world, RunCommand::RunAgain { call: key }),
        9 => {
            let tool =
                (*dice.of(&["tool search", "once tool *", "turn 3", "arg . == 1"])).to_owned();
            let breakpoint = Breakpoint::parse(1, &tool).unwrap();
            operate(world, RunCommand::Breakpoints(vec![breakpoint]));
        }
        10 => go_elsewhere(world, dice),
        11 => edit(world, dice),
        12 if dice.one_in(3) => operate(world, RunCommand::Abort),
        _ => intrude(world, dice),
    }
}

fn go_elsewhere(world: &mut World, dice: &mut Dice) {
    let take = 1 + dice.below(world.takes.len() - 1);
    world.current = u32::try_from(take).unwrap();
    world.log.push(format!("> go to {take}"));
    world.handle(RunEvent::StatusChanged(world.standing().into()));
    // A take that has children does not grow: the operator goes on in a child of it.
    world.fork(|_| {});
    world.handle(RunEvent::StatusChanged(world.standing().into()));
}

/// Events that belong to nothing: of what was called off, or of nothing at all.
fn intrude(world: &mut World, dice: &mut Dice) {
    let ask = match world.called_off.pop() {
        Some(ask) => ask,
        None => Ask(900),
    };
    let call = CallKey {
        ask: Ask(900),
        call_id: "c1".to_owned(),
    };
    world.log.push("> intrusion".to_owned());
    match dice.below(3) {
        0 => world.handle_reply(ask, vec!["c1".to_owned()], true),
        1 => world.handle(RunEvent::Finished {
            call,
            outcome: CallOutcome {
                output: "late".to_owned(),
                is_error: false,
                failure: None,
                ms: 1,
            },
        }),
        _ => world.handle(RunEvent::Refused {
            rule: "unknown-tool".to_owned(),
            item: None,
            why: "late".to_owned(),
        }),
    }
}
