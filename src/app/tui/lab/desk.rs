//! The lab with what works for it: the bench on threads of its own, the mailbox of its news,
//! files and the clipboard.

use super::form::read_models;
use super::state::Lab;
use super::subject::{ExperimentOrder, LabBench, LabSubject, Running, Saved, Saving};
use crate::tui::effect::{Effect, Perform};
use crate::tui::layer::{Input, Layer, Step};
use crate::tui::loader::takes::saving::expanded;
use crate::tui::stack::Screen as _;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use retake_core::engine::agent::ModelEndpoint;
use retake_core::lab::{Board, Spec};
use retake_core::session::Span;
use retake_live::lab::{self, LabContext, LabNews, Report, labs_folder, prepare};
use retake_live::lock::lock;
use retake_live::replace::{Backup, replace};
use retake_live::wordings::Wordings;
use retake_live::{tools_path, tools_text};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::fs;
use std::fs::DirBuilder;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf, absolute};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Most notices that wait for the screen.
const NOTICES: usize = 100;
/// How a script ends that is proposed.
const SCRIPT: &str = ".script.toml";
/// Where the order of questions comes from: the same experiment asks in the same order, and goes
/// on where it stopped.
const SEED: u64 = 1;

/// What the bench tells, until the screen looks.
#[derive(Default)]
struct Mailbox {
    mail: Mutex<Mail>,
    is_woken: AtomicBool,
}

#[derive(Default)]
struct Mail {
    begun: Option<Result<Running, String>>,
    board: Option<Arc<Board>>,
    notices: VecDeque<String>,
    /// The lab is left: nobody looks any more.
    is_closed: bool,
}

impl Mailbox {
    fn mail(&self) -> MutexGuard<'_, Mail> {
        lock(&self.mail)
    }

    fn put(&self, news: LabNews) {
        let mut mail = self.mail();
        match news {
            LabNews::Board(board) => mail.board = Some(board),
            LabNews::Notice(words) => {
                if mail.notices.len() >= NOTICES {
                    mail.notices.pop_front();
                }
                mail.notices.push_back(words);
            }
        }
    }

    /// Takes in what has begun; what nobody waits for any more ends here.
    fn begun(&self, begun: Result<Running, String>) {
        let late = {
            let mut mail = self.mail();
            match mail.is_closed {
                true => Some(begun),
                false => {
                    mail.begun = Some(begun);
                    None
                }
            }
        };
        drop(late);
    }
}

/// The lab of a finding.
pub(in crate::tui) struct Desk {
    pub(in crate::tui) lab: Lab,
    bench: Arc<dyn LabBench>,
    wordings: Arc<Wordings>,
    running: Option<Running>,
    mailbox: Arc<Mailbox>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl Drop for Desk {
    fn drop(&mut self) {
        let uncollected = {
            let mut mail = self.mailbox.mail();
            mail.is_closed = true;
            mail.begun.take()
        };
        // It would keep the mailbox, which would keep it.
        drop(uncollected);
    }
}

impl Desk {
    /// The lab for a finding; `wake` is called in other threads when there is something to collect.
    pub(in crate::tui) fn new(
        subject: LabSubject,
        bench: Arc<dyn LabBench>,
        wordings: Arc<Wordings>,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let proposed = subject.agent.clone();
        let proposed = proposed.or_else(|| script_beside(Path::new(&subject.name)));
        let proposed = proposed.unwrap_or_default();
        let models = read_models(&proposed, subject.dialect, &wordings);
        Self {
            lab: Lab::new(subject, proposed, models, SEED),
            bench,
            wordings,
            running: None,
            mailbox: Arc::default(),
            wake: Arc::new(wake),
        }
    }

    /// Takes an input; gives what is left to do.
    pub(in crate::tui) fn take(&mut self, input: Input<'_>) -> Vec<Effect> {
        let effects = match input {
            Input::Key(key) => self.lab.key(key),
            Input::Mouse(event) => self.lab.mouse(event),
            Input::Paste(_) | Input::Edited(_) => {
                self.lab.give_to_layers(input);
                Vec::new()
            }
        };
        let effects = effects.into_iter();
        effects.filter_map(|effect| self.perform(effect)).collect()
    }

    /// The operator wants to quit from a sample.
    pub(in crate::tui) fn quit(&mut self) -> Vec<Effect> {
        let effects = self.lab.quit().into_iter();
        effects.filter_map(|effect| self.perform(effect)).collect()
    }

    fn perform(&mut self, effect: Effect) -> Option<Effect> {
        match effect {
            Effect::Begin(order) => self.begin(*order),
            Effect::Experiment(command) => {
                if let Some(running) = &self.running {
                    running(command);
                }
            }
            Effect::ReadModels(written) => {
                let dialect = self.lab.subject().dialect;
                let models = read_models(&written, dialect, &self.wordings);
                self.lab.learn_models(models);
            }
            Effect::Becomes(order) => match self.bench.spec(&order, Path::new("")) {
                Ok(spec) => self.lab.show_winner(&spec),
                Err(why) => self.lab.say(why),
            },
            Effect::Save(saving) => self.save(saving),
            other => return Some(other),
        }
        None
    }

    /// Begins an experiment beside the screen.
    fn begin(&mut self, order: ExperimentOrder) {
        let (bench, mailbox, wake) = (self.bench.clone(), self.mailbox.clone(), self.wake.clone());
        let report: Report = {
            let (mailbox, wake) = (mailbox.clone(), wake.clone());
            Arc::new(move |news| {
                mailbox.put(news);
                notify(&mailbox, &*wake);
            })
        };
        std::thread::spawn(move || {
            let begun = bench.begin(&order, report);
            mailbox.begun(begun);
            notify(&mailbox, &*wake);
        });
    }

    /// Takes in what waits.
    pub(in crate::tui) fn collect(&mut self) {
        // Before it is looked at: what comes from now on wakes again.
        self.mailbox.is_woken.store(false, Ordering::Release);
        let mail = {
            let mut mail = self.mailbox.mail();
            let is_closed = mail.is_closed;
            std::mem::replace(
                &mut *mail,
                Mail {
                    is_closed,
                    ..Mail::default()
                },
            )
        };
        for words in mail.notices {
            self.lab.tell(words);
        }
        if let Some(board) = mail.board {
            self.lab.hear(board);
        }
        match mail.begun {
            Some(Ok(running)) => self.running = Some(running),
            Some(Err(why)) => self.lab.cannot_begin(why),
            None => {}
        }
    }

    fn save(&mut self, saving: Saving) {
        let path = expanded(&saving.path);
        if path.exists() && !saving.force {
            return self.lab.ask_to_replace(saving);
        }
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let text = match &saving.what {
            Saved::Text(text) => Ok(text.clone()),
            Saved::Spec(order) => {
                let spec = self.bench.spec(order, folder);
                spec.and_then(|spec| spec.write().map_err(|error| error.to_string()))
            }
        };
        let written = text.and_then(|text| {
            let written = replace(&path, Backup::None, |out| out.write_all(text.as_bytes()));
            written.map_err(|error| error.to_string())
        });
        self.lab.say(match written {
            Ok(replaced) => format!("saved as {}", replaced.path.display()),
            Err(why) => why,
        });
    }
}

impl<A: Perform> Layer<A> for Desk {
    type Output = ();

    fn handle(&mut self, input: Input<'_>, app: &mut A) -> Step {
        app.perform(self.take(input));
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, _: Rect, _: &A, theme: &Theme) {
        self.lab.view(frame, theme);
    }
}

/// Wakes the screen, unless it was woken already and has not looked yet.
fn notify(mailbox: &Mailbox, wake: &(dyn Fn() + Send + Sync)) {
    if !mailbox.is_woken.swap(true, Ordering::AcqRel) {
        wake();
    }
}

/// The first script in the folder of a recording.
fn script_beside(recording: &Path) -> Option<String> {
    let folder = recording.parent()?;
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let entries = fs::read_dir(folder).ok()?.flatten();
    let names = entries.map(|entry| entry.path().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(SCRIPT)).min()
}

// The lab in the world: what is shown is a file or becomes one, and an experiment on it begins.

/// Most characters of a recording's name in that of its copy.
const NAME: usize = 40;

pub struct World {
    wordings: Arc<Wordings>,
    /// The operator's folder for what programs remember.
    root: Option<PathBuf>,
}

impl World {
    /// The machine with the operator's wordings, and with `root` as the folder for what programs remember.
    pub fn new(wordings: Arc<Wordings>, root: Option<PathBuf>) -> Self {
        Self { wordings, root }
    }

    fn folder(&self) -> Result<PathBuf, String> {
        let root = self.root.as_deref();
        let root = root.ok_or("there is no home folder to keep samples in")?;
        Ok(labs_folder(root))
    }

    /// The spec with the file that holds what is shown.
    fn on_file(&self, order: &ExperimentOrder) -> Result<Spec, String> {
        let path = match &order.subject.file {
            Some(path) => path.clone(),
            None => copy_of(&order.subject, &self.folder()?.join("recordings"))?,
        };
        let mut spec = order.spec.clone();
        for which in &mut spec.findings {
            which.path = path.to_string_lossy().into_owned();
        }
        Ok(spec)
    }
}

impl LabBench for World {
    fn begin(&self, order: &ExperimentOrder, report: Report) -> Result<Running, String> {
        let spec = self.on_file(order)?;
        let beside = LabContext {
            folder: Path::new("."),
            wordings: &self.wordings,
            journals: &self.folder()?,
            is_fresh: order.is_fresh,
        };
        let prepared = prepare(&spec, beside).map_err(|error| error.to_string())?;
        let lab = lab::LabRun::start(prepared, report).map_err(|error| error.to_string())?;
        Ok(Box::new(move |command| lab.command(command)))
    }

    fn spec(&self, order: &ExperimentOrder, folder: &Path) -> Result<Spec, String> {
        let mut spec = self.on_file(order)?;
        // Files of a spec are looked for beside it.
        if folder.as_os_str().is_empty() || folder == Path::new(".") {
            return Ok(spec);
        }
        let findings = spec.findings.iter_mut().map(|which| &mut which.path);
        let models = spec.models.iter_mut();
        let scripts = models.filter_map(|model| match &mut model.at {
            ModelEndpoint::Script { file, .. } => Some(file),
            ModelEndpoint::Http { .. } => None,
        });
        for file in findings.chain(scripts) {
            let path = absolute(&*file).map_err(|error| error.to_string())?;
            *file = path.to_string_lossy().into_owned();
        }
        Ok(spec)
    }
}

/// Writes what is shown to a file of its own, with its tools beside it. The same is written only once.
fn copy_of(subject: &LabSubject, folder: &Path) -> Result<PathBuf, String> {
    let failed = |error: &dyn std::fmt::Display| format!("what is shown cannot be saved: {error}");
    let recording = &subject.document.recording;
    let all = Span {
        start: 0,
        end: recording.source.len(),
    };
    let bytes = recording.source.read(all).map_err(|error| failed(&error))?;
    let session = subject.document.session(subject.place.session);
    let item = u32::try_from(subject.place.item).unwrap_or(u32::MAX);
    let contract = session.map(|session| &session.contract);
    let contract = contract.filter(|contract| contract.tools_known());
    let tools = contract.map(|contract| tools_text(&contract.tools_at(item)));
    let mut digest = Sha256::new();
    digest.update(&bytes);
    digest.update(tools.as_deref().unwrap_or_default());
    let digest: String = digest
        .finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let stem = format!("{}-{digest}", plain_name(&subject.name));
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(folder);
    made.map_err(|error| failed(&error))?;
    let write = |path: &Path, bytes: &[u8]| {
        let written = replace(path, Backup::None, |out| {
            std::io::Write::write_all(out, bytes)
        });
        written.map(drop).map_err(|error| failed(&error))
    };
    let path = folder.join(format!("{stem}.json"));
    if let Some(tools) = tools {
        write(&tools_path(&path), tools.as_bytes())?;
    }
    write(&path, &bytes)?;
    Ok(path)
}

/// The letters and digits of a recording's name.
fn plain_name(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or_default();
    let letters = name.chars().map(|letter| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => letter,
        _ => '-',
    });
    letters.take(NAME).collect()
}
