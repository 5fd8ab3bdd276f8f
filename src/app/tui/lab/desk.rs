//! The lab with what works for it: the bench on threads of its own, the mailbox of its news,
//! files and the clipboard.

use super::models::read_models;
use super::state::Lab;
use super::subject::{Bench, Order, Running, Saved, Saving, Subject};
use crate::tui::effect::{Effect, Perform};
use crate::tui::layer::{Input, Layer, Step};
use crate::tui::loader::takes::saving::expanded;
use crate::tui::stack::Screen as _;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use retake_core::lab::Board;
use retake_live::lab::{News, Report};
use retake_live::replace::{Backup, replace};
use retake_live::wordings::Wordings;
use std::collections::VecDeque;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    begun: Option<Result<Box<dyn Running>, String>>,
    board: Option<Arc<Board>>,
    notices: VecDeque<String>,
    /// The lab is left: nobody looks any more.
    is_closed: bool,
}

impl Mailbox {
    fn mail(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, news: News) {
        let mut mail = self.mail();
        match news {
            News::Board(board) => mail.board = Some(board),
            News::Notice(words) => {
                if mail.notices.len() >= NOTICES {
                    mail.notices.pop_front();
                }
                mail.notices.push_back(words);
            }
        }
    }

    /// Takes in what has begun; what nobody waits for any more ends here.
    fn begun(&self, begun: Result<Box<dyn Running>, String>) {
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
    bench: Arc<dyn Bench>,
    wordings: Arc<Wordings>,
    running: Option<Box<dyn Running>>,
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
        subject: Subject,
        bench: Arc<dyn Bench>,
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
                    running.command(command);
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
    fn begin(&mut self, order: Order) {
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
