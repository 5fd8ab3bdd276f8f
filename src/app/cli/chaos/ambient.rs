//! Faults for whatever agents connect, one in each conversation, until the proxy is interrupted.

use super::conclude;
use super::report::{Report, Results, Tried};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::safe_line;
use crate::cli::proxy::not_running;
use retake_core::chaos::{Injection, Outcome, Plan, Spec, Trial, outcome_of_conversation};
use retake_live::proxy::{Chaos, News, Proxy, ProxyOptions, connect};
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// Injects faults until a signal comes, and reports them then.
pub(super) fn run(
    spec: &Spec,
    options: ProxyOptions,
    signal: &dyn Fn() -> Option<i32>,
    report: &Report,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let chaos = Arc::new(Chaos::new(spec, Plan::InTurn(spec.trials())));
    let (sender, news) = channel();
    let heard = Arc::new(move |one: News| {
        // Nobody hears it when the proxy is over.
        let _over = sender.send(one);
    });
    let proxy = Proxy::start_with_chaos(options, chaos.clone(), heard);
    let proxy = proxy.map_err(not_running)?;
    let journal = proxy.journal().to_string_lossy().into_owned();
    say(&connect::text(proxy.reaches()));
    wait(&news, signal)?;
    drop(proxy);
    let results = Results {
        seed: spec.seed,
        tried: tried(&chaos, &journal),
        journals: journal,
        outcomes: Outcome::OF_CONVERSATIONS,
        ..Results::default()
    };
    conclude(&results, report, out)
}

/// Waits for a signal, and tells on stderr what the operator should know.
fn wait(news: &Receiver<News>, signal: &dyn Fn() -> Option<i32>) -> Result<(), Failure> {
    while signal().is_none() {
        match news.recv_timeout(LOOK) {
            Ok(News::Notice(words)) => say(&format!("{}\n", safe_line(&words))),
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::refused("the proxy ended by itself"));
            }
        }
    }
    Ok(())
}

fn say(words: &str) {
    // Without stderr there is nobody to tell.
    let _unread = std::io::stderr().write_all(words.as_bytes());
}

fn tried(chaos: &Chaos, journal: &str) -> Vec<Tried> {
    let now = chaos.now_ms();
    let of = |trial: Trial, outcome: Outcome, injection: Option<Injection>| Tried {
        fault: trial.fault,
        turn: trial.turn.to_string(),
        number: trial.number,
        outcome,
        silent_ms: injection
            .as_ref()
            .filter(|_| outcome == Outcome::Silent)
            .map(|injection| now.saturating_sub(injection.at_ms)),
        injection,
        end: None,
        stderr: Vec::new(),
        journal: journal.to_owned(),
    };
    let injected = chaos.injections().into_iter().map(|injection| {
        let outcome = outcome_of_conversation(&injection);
        of(injection.trial, outcome, Some(injection))
    });
    let missed = chaos.not_reached().into_iter();
    let missed = missed.map(|trial| of(trial, Outcome::NotReached, None));
    injected.chain(missed).collect()
}
