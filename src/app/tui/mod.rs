//! The operator's face: a debugger on the screen, and before it a picker of what to open.
//!
//! ```text
//! keys, mouse ─┐                        ┌─▶ effects: editor, suspend, the end of the file
//! loader ──────┼─▶ Message ─▶ update ───┤
//! signals ─────┘   (pure)     state ────┴─▶ view ─▶ cells
//! ```
//!
//! `state` holds what is shown, `update` changes it, `view` draws it, `keymap` says which key means what.
//! This file owns the loop and knows tokio, with `signals` and `panics`, which end it. The first frame is
//! painted from the head of the file before anything else is read or started; the rest is read by `loader` on
//! threads of its own.

pub mod copy;
mod debugger;
pub mod filter;
pub mod fuzzy;
pub mod health;
pub mod help;
pub mod keymap;
pub mod lab;
mod labbing;
pub mod layer;
pub mod list;
pub mod live;
pub mod loader;
pub mod palette;
mod panics;
pub mod picker;
mod picking;
pub mod prompt;
pub mod proxy;
pub mod recovery;
mod request;
mod signals;
pub mod state;
mod terminal;
#[cfg(test)]
mod tests;
pub mod textbox;
pub mod texts;
pub mod theme;
pub mod update;
pub mod view;

pub use request::{Left, OpenError, OpenRequest};

use crossterm::event::{Event, EventStream};
use debugger::{Debugger, Opened};
use futures_util::StreamExt as _;
use labbing::Labbing;
use loader::Staged;
use picking::Picking;
use proxy::{Watched, Watching};
use retake_core::exchange::ExchangeId;
use retake_core::session::takes::TakeId;
use retake_live::discover::Discovery;
use retake_live::inspect::Summary;
use rustix::process::{Signal, kill_current_process_group};
use signals::Endings;
use state::exchange::Intercepted;
use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::task::Poll;
use std::time::Duration;
use terminal::Screen;
use theme::Theme;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use update::Report;

/// How often the seconds of a live run are drawn anew.
const TICK: Duration = Duration::from_millis(250);

/// News from other threads.
#[derive(Debug)]
enum News {
    /// The proxy has told something: it waits to be collected.
    Proxy,
    /// The same of the experiment of a lab.
    Lab,
    /// Of the file that is open; the number tells it from those that were open before.
    Report(u32, Report),
    /// A file was found.
    Found(Discovery),
    /// What a file holds.
    Inspected(usize, Result<Summary, String>),
}

/// Opens the debugger and returns when the operator leaves it.
pub fn run(request: &OpenRequest) -> Result<Left, OpenError> {
    panics::contain(|| open(request))
}

fn open(request: &OpenRequest) -> Result<Left, OpenError> {
    let one_file = match &request.paths[..] {
        [path] if !path.is_dir() => Some(path.clone()),
        _ => None,
    };
    let opened = one_file
        .map(|path| Opened::new(&path, request).map_err(|error| OpenError::Input { path, error }));
    let opened = opened.transpose()?;
    let (news, received) = unbounded_channel();
    let mut face = Face::new(request, news)?;
    match opened {
        Some(opened) => face.debug(opened, request.staged.clone(), None)?,
        None => {
            face.picking = Some(Picking::new(&request.paths));
            face.draw()?;
            let news = face.news.clone();
            if let Some(picking) = &mut face.picking {
                // Nobody hears the news once the program ends.
                picking.start(request, move |told| drop(news.send(told)));
            }
        }
    }
    face.stay(received)
}

/// Shows the exchanges of a proxy and returns when the operator leaves. `request` says how things are to look
/// and to be judged.
pub fn watch(request: &OpenRequest, watched: Watched) -> Result<Left, OpenError> {
    panics::contain(|| {
        let (news, received) = unbounded_channel();
        let mut face = Face::new(request, news.clone())?;
        let mut watching = Watching::new(watched);
        // Nobody hears the news once the program ends.
        watching.start(move || drop(news.send(News::Proxy)));
        face.watching = Some(watching);
        face.draw()?;
        face.stay(received)
    })
}

/// What the terminal shows.
struct Face<'a> {
    request: &'a OpenRequest,
    theme: Theme,
    screen: Screen,
    /// The choice of files; stays below the file that was chosen.
    picking: Option<Picking>,
    /// The exchanges of a proxy; stay below the one that is open.
    watching: Option<Watching>,
    debugger: Option<Debugger>,
    /// The wording lab; stays below the sample that is open.
    labbing: Option<Labbing>,
    /// How many files were opened.
    opened: u32,
    news: UnboundedSender<News>,
}

/// What is to be done once an event was taken.
#[derive(Debug)]
enum Next {
    Wait,
    Leave,
    /// Close the file; leave where nothing is below it.
    Close,
    Open(PathBuf),
    Enter(ExchangeId),
    /// Open the wording lab for a finding.
    Lab(Box<lab::Subject>),
    /// Leave the lab, then as from the debugger below it.
    QuitLab,
    /// Open a take of a journal: a sample of the lab.
    Sample(PathBuf, TakeId),
    Proxy(retake_live::proxy::Command),
    /// Stop the process until the shell calls again.
    Suspend,
    Redraw,
    /// Show an item in the operator's editor; what is made of it becomes an edit.
    Edit(String),
    /// Give words to the operator's editor and take them over.
    EditWords(String),
}

impl<'a> Face<'a> {
    fn new(request: &'a OpenRequest, news: UnboundedSender<News>) -> io::Result<Self> {
        Ok(Self {
            request,
            theme: Theme::choose(request.wish, &|name| std::env::var(name).ok()),
            screen: Screen::open(!request.without_mouse)?,
            picking: None,
            watching: None,
            debugger: None,
            labbing: None,
            opened: 0,
            news,
        })
    }

    /// Shows what there is until the operator leaves.
    fn stay(self, received: UnboundedReceiver<News>) -> Result<Left, OpenError> {
        terminal::exit_when_hung_up();
        signals::end_without_reader();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(runtime.block_on(self.run(received))?)
    }

    fn draw(&mut self) -> io::Result<()> {
        if let Some(watching) = &mut self.watching {
            let open = self.debugger.as_mut();
            watching.look_at_the_clock(open.map(|debugger| &mut debugger.state));
        }
        if let (None, Some(labbing)) = (&self.debugger, &self.labbing) {
            let lab = &labbing.desk.lab;
            return self.screen.draw(|frame| lab.view(frame, &self.theme));
        }
        match (&mut self.debugger, &mut self.watching, &mut self.picking) {
            (Some(debugger), ..) => {
                debugger.look_at_the_clock();
                let state = &mut debugger.state;
                self.screen
                    .draw(|frame| view::fit(frame, state, &self.theme))
            }
            (None, Some(watching), _) => self
                .screen
                .draw(|frame| watching.board.view(frame, &self.theme)),
            (None, None, Some(picking)) => {
                self.screen
                    .draw(|frame| picking.picker.view(frame, frame.area(), &self.theme))?;
                picking.inspect_visible();
                Ok(())
            }
            (None, None, None) => Ok(()),
        }
    }

    /// Shows a file: its head at once, the rest as it is read.
    fn debug(
        &mut self,
        opened: Opened,
        staged: Staged,
        exchange: Option<Intercepted>,
    ) -> io::Result<()> {
        self.opened += 1;
        let (number, news) = (self.opened, self.news.clone());
        let mut state = opened.state(self.screen.size()?);
        state.exchange = exchange;
        state.close_words = match (&self.labbing, &self.picking) {
            (Some(_), _) => "to the lab",
            (None, Some(_)) => "to the list",
            (None, None) => "quit",
        };
        self.screen
            .draw(|frame| view::fit(frame, &mut state, &self.theme))?;
        // Nobody hears the news once the program ends.
        let report = move |report| drop(news.send(News::Report(number, report)));
        self.debugger = Some(Debugger::start(state, number, opened, staged, report));
        Ok(())
    }

    async fn run(mut self, mut received: UnboundedReceiver<News>) -> io::Result<Left> {
        let mut events = None;
        let mut endings = Endings::new()?;
        let mut resumed = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
        loop {
            let mut nexts = Vec::new();
            if events.is_none() {
                endings.forget_interrupts()?;
            }
            let stream = events.get_or_insert_with(EventStream::new);
            tokio::select! {
                biased;
                signal = endings.next() => return Ok(Left::Signal(signal)),
                () = panics::fatal() => return Ok(Left::Panicked),
                _ = resumed.recv() => nexts.push(Next::Redraw),
                event = stream.next() => {
                    let mut waiting = Poll::Ready(event);
                    while let Poll::Ready(event) = waiting {
                        let Some(Ok(event)) = event else {
                            return Ok(Left::Signal(Signal::HUP.as_raw()));
                        };
                        #[cfg(debug_assertions)]
                        panics::on_demand(&event);
                        nexts.extend(self.take(event));
                        if nexts.iter().any(|next| !matches!(next, Next::Wait)) {
                            // What was typed ahead is for the screen that comes of it.
                            break;
                        }
                        // Asked with the waker of this task: the stream keeps the first waker
                        // that finds it empty.
                        waiting = poll_fn(|task| Poll::Ready(stream.poll_next_unpin(task))).await;
                    }
                }
                Some(news) = received.recv() => {
                    nexts.extend(self.hear(news));
                    while let Ok(news) = received.try_recv() {
                        nexts.extend(self.hear(news));
                    }
                }
                // Seconds are counted on the screen.
                () = tokio::time::sleep(TICK), if self.counts() => {}
            }
            for next in nexts {
                if let Some(left) = self.perform(next, &mut events)? {
                    return Ok(left);
                }
            }
            self.draw()?;
        }
    }

    fn take(&mut self, event: Event) -> Vec<Next> {
        if let (None, Some(labbing)) = (&self.debugger, &mut self.labbing) {
            return labbing.desk.take(event);
        }
        match (&mut self.debugger, &mut self.watching, &mut self.picking) {
            (Some(debugger), ..) => debugger.take(event),
            (None, Some(watching), _) => watching.take(event),
            (None, None, Some(picking)) => vec![picking.take(event)],
            (None, None, None) => vec![Next::Leave],
        }
    }

    /// Whether something on the screen changes as time goes by.
    fn counts(&self) -> bool {
        let debugger = self.debugger.as_ref();
        let watching = self.watching.as_ref();
        watching.is_some_and(Watching::counts)
            || debugger.is_some_and(|debugger| debugger.state.live.is_busy())
    }

    fn hear(&mut self, news: News) -> Vec<Next> {
        match news {
            News::Proxy => {
                if let Some(watching) = &mut self.watching {
                    let open = self.debugger.as_mut();
                    return watching.collect(open.map(|debugger| &mut debugger.state));
                }
            }
            News::Lab => {
                if let Some(labbing) = &mut self.labbing {
                    labbing.desk.collect();
                }
            }
            News::Report(number, report) => {
                if let Some(debugger) = self.debugger.as_mut().filter(|it| it.number == number) {
                    return debugger.hear(report);
                }
                if let Some(labbing) = &mut self.labbing {
                    labbing.hear(number, report);
                }
            }
            News::Found(discovery) => {
                if let Some(picking) = &mut self.picking {
                    picking.discover(discovery);
                }
            }
            News::Inspected(number, summary) => {
                if let Some(picking) = &mut self.picking {
                    picking.picker.learn(number, summary);
                }
            }
        }
        Vec::new()
    }

    fn perform(
        &mut self,
        next: Next,
        events: &mut Option<EventStream>,
    ) -> io::Result<Option<Left>> {
        match next {
            Next::Wait => {}
            Next::Leave if self.labbing.is_some() => return self.quit_sample(events),
            Next::QuitLab => return self.quit_lab(events),
            Next::Leave => return Ok(Some(Left::Quit)),
            Next::Close if self.labbing.is_some() => self.close_in_lab(),
            Next::Close if self.picking.is_none() && self.watching.is_none() => {
                return Ok(Some(Left::Quit));
            }
            Next::Close => {
                let closed = self.debugger.take();
                if let (Some(watching), Some(closed)) = (&mut self.watching, &closed) {
                    watching.closed(&closed.state);
                }
                // A large session takes a while to drop.
                std::thread::spawn(move || drop(closed));
            }
            Next::Open(path) => self.open(&path)?,
            Next::Enter(id) => self.enter(id)?,
            Next::Lab(subject) => self.open_lab(*subject),
            Next::Sample(journal, take) => self.open_sample(&journal, take)?,
            Next::Proxy(command) => {
                if let Some(watching) = &mut self.watching {
                    watching.obey(command);
                }
            }
            Next::Redraw => {
                self.screen.resume()?;
                self.resize()?;
            }
            Next::Suspend => {
                self.away(events, || kill_current_process_group(Signal::TSTP))??;
            }
            Next::Edit(text) => {
                let edited = self.away(events, || debugger::edit(&text, ".json"))?;
                if let Some(debugger) = &mut self.debugger {
                    debugger.take_item(edited);
                }
            }
            Next::EditWords(text) => {
                let edited = self.away(events, || debugger::edit(&text, ".txt"))?;
                match (&mut self.debugger, &mut self.labbing) {
                    (Some(debugger), _) => debugger.take_words(edited),
                    (None, Some(labbing)) => labbing.desk.lab.take_words(edited),
                    (None, None) => {}
                }
            }
        }
        Ok(None)
    }

    fn open(&mut self, path: &Path) -> io::Result<()> {
        match Opened::new(path, self.request) {
            Ok(opened) => self.debug(opened, self.request.staged.clone(), None),
            Err(error) => {
                if let Some(picking) = &mut self.picking {
                    picking.picker.complain(path, &error.to_string());
                }
                Ok(())
            }
        }
    }

    fn enter(&mut self, id: ExchangeId) -> io::Result<()> {
        let Some(watching) = &mut self.watching else {
            return Ok(());
        };
        match watching.enter(id, self.request) {
            Ok(entered) => {
                self.debug(entered.opened, entered.staged, Some(entered.exchange))?;
                if let Some(debugger) = &mut self.debugger {
                    debugger.state.recovery.drafts = entered.drafts;
                }
                Ok(())
            }
            Err(why) => {
                let words = format!("exchange {id} cannot be opened: {why}");
                watching.board.tell(words);
                Ok(())
            }
        }
    }

    fn resize(&mut self) -> io::Result<()> {
        let size = self.screen.size()?;
        let below = self.labbing.as_mut().map(|labbing| &mut labbing.below);
        for debugger in self.debugger.as_mut().into_iter().chain(below) {
            debugger.state.size = size;
        }
        Ok(())
    }

    /// Gives the terminal away while something else has it.
    fn away<T>(
        &mut self,
        events: &mut Option<EventStream>,
        work: impl FnOnce() -> T,
    ) -> io::Result<T> {
        // The stream reads keys, and keeps others from it, until it is dropped; the loop makes a new one.
        *events = None;
        self.screen.suspend()?;
        let done = work();
        self.screen.resume()?;
        self.resize()?;
        Ok(done)
    }
}
