//! A proxy driven by hand: it records its commands, and a live run of a bundled agent stands in for a held exchange.

use super::super::watching::Watching;
use super::super::{CurlRequest, Exchanges, Watched};
use super::about;
use crate::tui::loader::takes::conductor::{Conductor, Seated, Stir};
use crate::tui::state::live::AgentInfo;
use retake_core::exchange::ExchangeId;
use retake_live::agents::AgentFile;
use retake_live::live::{RunOptions, prepare};
use retake_live::proxy::{ProxyCommand, ProxyNews};
use retake_live::wordings::Wordings;
use retake_live::{Input, TakeStore};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

/// The proxy.
#[derive(Default)]
pub(super) struct Fake {
    /// What it was commanded.
    pub(super) commands: Mutex<Vec<ProxyCommand>>,
    /// What can be taken over.
    pub(super) seat: Mutex<Option<(PathBuf, Seated)>>,
    /// How many clients are connected.
    pub(super) clients: AtomicUsize,
    /// A recording of what is over.
    pub(super) recording: Option<PathBuf>,
}

impl Exchanges for Fake {
    fn obey(&self, command: ProxyCommand) {
        self.commands.lock().unwrap().push(command);
    }

    fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    fn seat(&self, _: ExchangeId) -> Option<(PathBuf, Seated)> {
        self.seat.lock().unwrap().take()
    }

    fn recording(&self, _: ExchangeId) -> Result<Input, String> {
        let path = self.recording.as_ref().ok_or("its body was not kept")?;
        retake_live::open(path).map_err(|error| error.to_string())
    }

    fn request(&self, _: ExchangeId) -> Option<CurlRequest> {
        None
    }
}

/// The list in front of a proxy, and where its news come from.
pub(super) fn watching(fake: Arc<Fake>) -> (Watching, Sender<ProxyNews>) {
    let (sender, news) = channel();
    let watched = Watched {
        proxy: fake,
        news,
        about: about(),
    };
    (Watching::new(watched), sender)
}

/// A run of a bundled agent with a scripted model as a held exchange, and its journal, in a folder.
pub(super) fn seat(folder: &Path) -> (PathBuf, Seated) {
    let bundled = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("sessions/agents");
    for name in ["flights.toml", "flights.script.toml"] {
        fs::copy(bundled.join(name), folder.join(name)).unwrap();
    }
    let agent = AgentFile::read(&folder.join("flights.toml"), &Wordings::default()).unwrap();
    let (sender, events) = channel();
    let report = Arc::new(move |event| {
        // The test is over.
        let _ = sender.send(Stir::Io(event));
    });
    let options = RunOptions {
        has_operator: true,
        ..RunOptions::default()
    };
    let prepared = prepare(&agent, options, report).unwrap();
    let journal = folder.join("hold.jsonl");
    let bench = TakeStore::begin_run(&journal, prepared.about.clone(), &prepared.first, || 0);
    drop(bench.unwrap());
    (journal, seated(Box::new(prepared.run), events))
}

pub(super) fn seated(
    conductor: Box<dyn Conductor>,
    events: std::sync::mpsc::Receiver<Stir>,
) -> Seated {
    Seated {
        conductor,
        events,
        agent: AgentInfo {
            name: "openai-python 3.52.0".to_owned(),
            model: "gpt-5.2".to_owned(),
            ..AgentInfo::default()
        },
        breakpoints: Vec::new(),
    }
}
