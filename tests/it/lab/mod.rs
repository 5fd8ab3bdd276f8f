//! The wording lab against scripted models: what is sent, what is counted, what is kept.

mod again;
mod endpoint;
mod rates;
mod requests;
mod resumed;
mod spending;

use retake_core::engine::agent::{AgentModel, ModelEndpoint};
use retake_core::lab::{Board, Caps, LabPhase, Named, Spec, Stop, TrialEnd, Wanted, Which};
use retake_core::session::Dialect;
use retake_live::lab::{LabContext, LabError, LabNews, LabRun, PreparedLab, prepare};
use retake_live::wordings::Wordings;
use serde_json::Map;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::TempDir;

/// Longer than anything that comes takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn sessions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions")
}

fn stock_script() -> String {
    std::fs::read_to_string(sessions().join("lab/stock.script.toml")).unwrap()
}

/// A model that a script plays.
fn scripted(dialect: Dialect, script: &str) -> AgentModel {
    AgentModel {
        dialect,
        name: "scripted".to_owned(),
        at: ModelEndpoint::Script {
            file: "script.toml".to_owned(),
            text: script.to_owned(),
        },
        stream: true,
        timeout_ms: 60_000,
        max_tokens: None,
        settings: Map::new(),
    }
}

/// Every wording for one finding.
fn spec(which: Which, models: Vec<AgentModel>, samples: u32) -> Spec {
    Spec {
        name: "story".to_owned(),
        findings: vec![which],
        wordings: Wanted {
            recorded: true,
            named: Named::All,
            added: Vec::new(),
        },
        models,
        samples,
        stop: Stop::Never,
        caps: Caps::default(),
        concurrency: 4,
        seed: 1,
        assertions: Vec::new(),
    }
}

fn which(path: &str, rule: &str) -> Which {
    Which {
        path: path.to_owned(),
        rule: Some(rule.to_owned()),
        ..Which::default()
    }
}

/// The experiment of the bundled spec.
fn stock(samples: u32) -> Spec {
    let which = which("unknown-tool-recovered.jsonl", "unknown-tool");
    let model = scripted(Dialect::Responses, &stock_script());
    spec(which, vec![model], samples)
}

fn prepared(spec: &Spec, journals: &Path) -> PreparedLab {
    try_prepare(spec, journals).unwrap()
}

/// The same in new journals.
fn afresh(spec: &Spec, journals: &Path) -> PreparedLab {
    prepare_in(spec, journals, true).unwrap()
}

fn try_prepare(spec: &Spec, journals: &Path) -> Result<PreparedLab, LabError> {
    prepare_in(spec, journals, false)
}

fn prepare_in(spec: &Spec, journals: &Path, is_fresh: bool) -> Result<PreparedLab, LabError> {
    let wordings = Wordings::default();
    let beside = LabContext {
        folder: &sessions(),
        wordings: &wordings,
        journals,
        is_fresh,
    };
    prepare(spec, beside)
}

/// An experiment that runs, and what it tells.
fn start(spec: &Spec, journals: &Path) -> (LabRun, Receiver<LabNews>) {
    go(prepared(spec, journals))
}

fn go(prepared: PreparedLab) -> (LabRun, Receiver<LabNews>) {
    let (sender, news) = channel();
    let report = Arc::new(move |one| {
        let _over = sender.send(one);
    });
    let lab = LabRun::start(prepared, report).unwrap();
    (lab, news)
}

/// The board once it is as asked for.
fn wait(news: &Receiver<LabNews>, is_it: impl Fn(&Board) -> bool) -> Arc<Board> {
    loop {
        match news.recv_timeout(PATIENCE).unwrap() {
            LabNews::Board(board) if is_it(&board) => return board,
            LabNews::Board(_) | LabNews::Notice(_) => {}
        }
    }
}

/// Waits until something holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_over(board: &Board) -> bool {
    matches!(board.phase, LabPhase::Ended(_))
}

/// Runs an experiment to its end.
fn run(spec: &Spec) -> (TempDir, Arc<Board>) {
    let folder = tempfile::tempdir().unwrap();
    let (_lab, news) = start(spec, folder.path());
    let board = wait(&news, is_over);
    (folder, board)
}

fn count(board: &Board) -> usize {
    board.samples.iter().flatten().map(Vec::len).sum()
}

#[test]
fn a_model_that_cannot_be_asked_ends_the_experiment_and_says_why() {
    let script = "[[rule]]\nstatus = 401\nerror = \"no such key\"\n";
    let mut spec = stock(20);
    spec.models = vec![scripted(Dialect::Chat, script)];
    let (_folder, board) = run(&spec);
    assert_eq!(board.phase, LabPhase::Ended(TrialEnd::ModelFailed));
    let samples: Vec<_> = board.samples.iter().flatten().flatten().collect();
    assert!(
        samples
            .iter()
            .all(|sample| sample.why.contains("no such key"))
    );
    assert!(samples.len() < 20, "{}", samples.len());
}

#[test]
fn caps_end_an_experiment_and_what_was_on_its_way_still_counts() {
    let mut spec = stock(20);
    spec.caps.requests = Some(10);
    let (_folder, board) = run(&spec);
    assert_eq!(board.phase, LabPhase::Ended(TrialEnd::Requests));
    assert_eq!((count(&board), board.spent.requests), (10, 10));
}
