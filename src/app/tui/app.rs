//! The screens that are open, each over the one that it was opened from, and the loop that feeds them. The first
//! frame is painted from the head of a file before anything else is read or started.

use super::debugger::{self, Debugger, OpenedFile};
use super::effect::{Effect, Perform};
use super::lab::desk::{Desk, World};
use super::lab::memory::LabMemory;
use super::lab::subject::LabSubject;
use super::layer::Input;
use super::loader::takes::conductor::Staged;
use super::picker::Picker;
use super::proxy::Watched;
use super::proxy::watching::Watching;
use super::report::News;
use super::request::{Left, OpenError, OpenRequest};
use super::signals::{self, Endings};
use super::stack::{self, Layers, OpeningLayer, Screen as _};
use super::state::exchange::Intercepted;
use super::terminal::{self, TerminalScreen};
use super::theme::Theme;
use super::{copy, panics, update, view};
use crossterm::event::{Event, EventStream};
use futures_util::StreamExt as _;
use retake_core::exchange::ExchangeId;
use retake_core::session::takes::TakeId;
use retake_live::lock::lock;
use retake_live::takes::usual_root;
use retake_live::tools::GRACE;
use rustix::process::{Signal, kill_current_process_group};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How often the seconds of a live run are drawn anew.
const TICK: Duration = Duration::from_millis(250);
/// How long runs have to stop when the program is asked to end: tools get their grace, then they are killed, and
/// what became of them is written.
const STOPPING: Duration = GRACE.saturating_add(Duration::from_secs(5));

/// Opens the debugger and returns when the operator leaves it.
pub fn run(request: &OpenRequest) -> Result<Left, OpenError> {
    panics::contain(|| open(request))
}

fn open(request: &OpenRequest) -> Result<Left, OpenError> {
    let one_file = match &request.paths[..] {
        [path] if !path.is_dir() => Some(path.clone()),
        _ => None,
    };
    let opened = one_file.map(|path| {
        OpenedFile::new(&path, request).map_err(|error| OpenError::Input { path, error })
    });
    let opened = opened.transpose()?;
    let (mut face, received) = Face::new(request)?;
    match opened {
        Some(opened) => {
            face.debug(opened, request.staged.clone(), None)?;
            face.app.say_fault();
        }
        None => {
            face.app.open(Picker::among(request), |_, _, ()| ());
            face.app.say_fault();
            face.draw()?;
            let news = face.app.news.clone();
            if let Some(picker) = face.app.layers.top_mut::<Picker>() {
                // Nobody hears the news once the program ends.
                picker.start(request, move |update| drop(news.send(update)));
            }
        }
    }
    face.stay(received)
}

/// Shows the exchanges of a proxy and returns when the operator leaves. `request` says how things are to look
/// and to be judged.
pub fn watch(request: &OpenRequest, watched: Watched) -> Result<Left, OpenError> {
    panics::contain(|| {
        let (mut face, received) = Face::new(request)?;
        let mut watching = Watching::new(watched);
        let news = face.app.news.clone();
        // Nobody hears the news once the program ends.
        watching.start(move || drop(news.send(News::Proxy)));
        face.app.open(watching, |_, _, ()| ());
        face.app.say_fault();
        face.draw()?;
        face.stay(received)
    })
}

/// The screens that are open, each over the one that it was opened from.
struct App {
    request: OpenRequest,
    layers: Layers<Self>,
    /// What is to be done once an input was taken.
    effects: VecDeque<Effect>,
    /// How many files were opened.
    opened: u32,
    news: UnboundedSender<News>,
}

impl Perform for App {
    fn perform(&mut self, effects: Vec<Effect>) {
        self.effects.extend(effects);
    }
}

impl stack::Screen for App {
    fn layers(&mut self) -> &mut Layers<Self> {
        &mut self.layers
    }

    fn edit(&mut self, text: String) {
        self.effects.push_back(Effect::Edit(text));
    }
}

impl App {
    fn take(&mut self, event: Event) {
        match event {
            Event::Key(key) => drop(self.give_to_layers(Input::Key(key))),
            Event::Mouse(event) => drop(self.give_to_layers(Input::Mouse(event))),
            Event::Paste(text) => drop(self.give_to_layers(Input::Paste(&text))),
            // The next key of a burst moves by the pages of the screen as it is then.
            Event::Resize(width, height) => {
                for debugger in self.layers.of::<Debugger>() {
                    debugger.state.size = (width, height);
                    debugger.state.lay_out();
                }
            }
            Event::FocusGained | Event::FocusLost => {}
        }
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Proxy => self.collect(),
            News::Lab => self.layers.of().for_each(Desk::collect),
            News::Report(number, report) => {
                let is_meant = |debugger: &Debugger| debugger.number == number;
                let is_on_top = self.layers.top().is_some_and(is_meant);
                let mut debuggers = self.layers.of::<Debugger>();
                let meant = debuggers.find(|debugger| is_meant(debugger));
                let effects = meant.map_or_else(Vec::new, |debugger| debugger.hear(report));
                // What lies below is read, and its run goes on; what it would ask for waits there.
                if is_on_top {
                    self.effects.extend(effects);
                }
            }
            News::Found(discovery) => {
                if let Some(picker) = self.layers.of::<Picker>().next() {
                    picker.discover(discovery);
                }
            }
            News::Renew => self.renew(),
            News::FoundText(number, found, done) => {
                if let Some(picker) = self.layers.of::<Picker>().next() {
                    picker.take_contents(number, found, done);
                }
            }
            News::Inspected(number, summary) => {
                if let Some(picker) = self.layers.of::<Picker>().next() {
                    picker.learn(number, summary);
                }
            }
        }
    }

    /// Looks for new files where the list of recordings is on top.
    fn renew(&mut self) {
        if let Some(picker) = self.layers.top_mut::<Picker>() {
            picker.renew(SystemTime::now());
        }
    }

    /// Takes in the news of the proxy; an exchange that was decided meanwhile is closed.
    fn collect(&mut self) {
        let open = self.layers.of().find_map(Watching::collect);
        let debugger = self.layers.top_mut::<Debugger>();
        let (Some((seen, others)), Some(debugger)) = (open, debugger) else {
            return;
        };
        if !update::exchange(&mut debugger.state, seen.clone(), others) {
            let lists = self.layers.of::<Watching>();
            lists.for_each(|watching| watching.tell_outcome(&seen));
            self.effects.push_back(Effect::Close);
        }
    }

    /// Quits. From a sample of the lab, from the lab, and from the recording of a proxy, what lies below may have something
    /// to lose, and asks then. False where the program goes on.
    fn quit(&mut self) -> bool {
        let has_list = self.layers.of::<Watching>().next().is_some();
        let over_list = self.layers.top::<Debugger>();
        // What is held was asked about there.
        let is_asked = |debugger: &Debugger| {
            let open = debugger.state.exchange.as_ref();
            open.is_some_and(|open| open.holding().is_some() || open.others > 0)
        };
        if has_list && over_list.is_some_and(|debugger| !is_asked(debugger)) {
            self.leave_layer();
            let watching = self.layers.top_mut::<Watching>();
            self.effects
                .extend(watching.map_or_else(Vec::new, Watching::quit));
            return false;
        }
        let has_lab = self.layers.of::<Desk>().next().is_some();
        if has_lab {
            self.leave_layer();
            let effects = match self.layers.top_mut::<Desk>() {
                Some(desk) => desk.quit(),
                None => self.layers.top_mut().map_or_else(Vec::new, Debugger::quit),
            };
            self.effects.extend(effects);
        }
        !has_lab
    }

    /// Notes which takes are kept with a file that is left.
    fn remember_takes(&self, debugger: &Debugger) {
        lock(&self.request.kept).extend(debugger.kept_takes());
    }

    /// Closes the screen on top; false where nothing lies below it.
    fn close(&mut self) -> bool {
        self.leave_layer();
        // What was decided while the lab had the screen has its list back.
        self.collect();
        self.renew();
        !self.layers.is_empty()
    }

    /// Opens the wording lab for a finding of the file that is shown.
    fn open_lab(&mut self, subject: LabSubject) {
        let has_lab = self.layers.of::<Desk>().next().is_some();
        let Some(below) = self.layers.top_mut::<Debugger>() else {
            return;
        };
        if has_lab {
            below.state.notice = Some("a sample of the lab: q goes back".to_owned());
            return;
        }
        let wordings = below.state.recovery.wordings.clone();
        let bench = Arc::new(World::new(wordings.clone(), usual_root()));
        let news = self.news.clone();
        // Nobody hears the news once the program ends.
        let desk = Desk::new(subject, bench, wordings, move || drop(news.send(News::Lab)));
        OpeningLayer::new(desk, |_: &mut Self, _, ()| ())
            .if_left(|app, desk| {
                app.remember(&desk);
                drop_elsewhere(desk);
            })
            .over(self);
    }

    /// Keeps what was written and measured in the lab for the next time.
    fn remember(&mut self, desk: &Desk) {
        let root = usual_root();
        let mut memory = LabMemory::read(root.as_deref());
        desk.lab.remember(&mut memory);
        let written = root.map_or(Ok(()), |root| memory.write(&root));
        if let Err(why) = written {
            self.say(format!("the lab cannot be remembered: {why}"));
        }
        for debugger in self.layers.of::<Debugger>() {
            debugger.state.recovery.lab = memory.clone();
        }
    }

    /// Says something on the screen on top, until the next key.
    fn say(&mut self, words: String) {
        if let Some(debugger) = self.layers.top_mut::<Debugger>() {
            debugger.state.notice = Some(words);
        } else if let Some(desk) = self.layers.top_mut::<Desk>() {
            desk.lab.say(words);
        } else if let Some(watching) = self.layers.top_mut::<Watching>() {
            watching.board.tell(words);
        } else if let Some(picker) = self.layers.top_mut::<Picker>() {
            picker.tell(&words);
        }
    }

    /// Says what is wrong with the file of settings.
    fn say_fault(&mut self) {
        let Some(fault) = self.request.fault.clone() else {
            return;
        };
        match self.layers.top_mut::<Debugger>() {
            Some(debugger) => {
                debugger.state.fault = Some(fault);
                debugger.state.say_fault();
            }
            None => self.say(fault),
        }
    }
}

/// Drops what takes a while to drop: a large session, an experiment.
fn drop_elsewhere(large: impl Send + 'static) {
    std::thread::spawn(move || drop(large));
}

/// The screens on the terminal.
struct Face {
    app: App,
    theme: Theme,
    screen: TerminalScreen,
}

impl Face {
    fn new(request: &OpenRequest) -> io::Result<(Self, UnboundedReceiver<News>)> {
        let (news, received) = unbounded_channel();
        let face = Self {
            theme: Theme::choose(request.wish, &|name| std::env::var(name).ok()),
            screen: TerminalScreen::open(!request.without_mouse)?,
            app: App {
                request: request.clone(),
                layers: Layers::default(),
                effects: VecDeque::new(),
                opened: 0,
                news,
            },
        };
        Ok((face, received))
    }

    /// Shows what there is until the operator leaves.
    fn stay(self, received: UnboundedReceiver<News>) -> Result<Left, OpenError> {
        terminal::exit_when_hung_up(signals::is_ending, STOPPING);
        signals::end_without_reader();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(runtime.block_on(self.run(received))?)
    }

    fn draw(&mut self) -> io::Result<()> {
        let Self { app, theme, screen } = self;
        screen.draw(|frame| {
            app.layers.prepare_top(frame.area());
            app.layers.view_top(frame, app, theme);
        })
    }

    /// Shows a file: its head at once, the rest as it is read.
    fn debug(
        &mut self,
        opened: OpenedFile,
        staged: Staged,
        exchange: Option<Intercepted>,
    ) -> io::Result<()> {
        self.app.opened += 1;
        let (number, news) = (self.app.opened, self.app.news.clone());
        let mut state = opened.state(self.screen.size()?);
        let is_exchange = exchange.is_some();
        state.exchange = exchange;
        state.close_words = match self.app.layers.top::<Desk>() {
            Some(_) => "back to lab",
            None if self.app.layers.top::<Picker>().is_some() => "back to list",
            None if self.app.layers.top::<Watching>().is_some() => "back to list",
            None if self.app.layers.top::<Debugger>().is_some() => "back",
            None => "quit",
        };
        self.screen
            .draw(|frame| view::fit(frame, &mut state, &self.theme))?;
        // Nobody hears the news once the program ends.
        let report = move |report| drop(news.send(News::Report(number, report)));
        let debugger = Debugger::start(state, number, opened, staged, report);
        OpeningLayer::new(debugger, |_: &mut App, _, ()| ())
            .if_left(move |app, debugger| {
                let lists = app.layers.of::<Watching>().filter(|_| is_exchange);
                lists.for_each(|watching| watching.closed(&debugger.state));
                app.remember_takes(&debugger);
                drop_elsewhere(debugger);
            })
            .over(&mut self.app);
        Ok(())
    }

    async fn run(mut self, mut received: UnboundedReceiver<News>) -> io::Result<Left> {
        let mut events = None;
        let mut endings = Endings::new()?;
        let mut resumed = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
        loop {
            if events.is_none() {
                endings.forget_interrupts()?;
            }
            let stream = events.get_or_insert_with(EventStream::new);
            tokio::select! {
                biased;
                signal = endings.next() => {
                    self.end_runs(&mut received, &mut endings).await;
                    return Ok(Left::Signal(signal));
                }
                () = panics::fatal() => return Ok(Left::Panicked),
                _ = resumed.recv() => self.app.effects.push_back(Effect::Redraw),
                event = stream.next() => {
                    let mut waiting = Poll::Ready(event);
                    while let Poll::Ready(event) = waiting {
                        let Some(Ok(event)) = event else {
                            signals::begin_to_end();
                            self.end_runs(&mut received, &mut endings).await;
                            return Ok(Left::Signal(Signal::HUP.as_raw()));
                        };
                        #[cfg(debug_assertions)]
                        panics::on_demand(&event);
                        self.app.take(event);
                        if !self.app.effects.is_empty() {
                            // What was typed ahead is for the screen that comes of it.
                            break;
                        }
                        // Asked with the waker of this task: the stream keeps the first waker
                        // that finds it empty.
                        waiting = poll_fn(|task| Poll::Ready(stream.poll_next_unpin(task))).await;
                    }
                }
                Some(news) = received.recv() => {
                    self.app.hear(news);
                    while let Ok(news) = received.try_recv() {
                        self.app.hear(news);
                    }
                }
                // Seconds are counted on the screen.
                () = tokio::time::sleep(TICK), if self.app.layers.tick() => {}
            }
            while let Some(effect) = self.app.effects.pop_front() {
                if let Some(left) = self.perform(effect, &mut events)? {
                    if let Some(debugger) = self.app.layers.top::<Debugger>() {
                        self.app.remember_takes(debugger);
                    }
                    return Ok(left);
                }
            }
            self.draw()?;
        }
    }

    /// Stops the runs as `q` does: their open calls are closed, so that the journal says what may have happened. A
    /// second signal does not wait for them.
    async fn end_runs(&mut self, received: &mut UnboundedReceiver<News>, endings: &mut Endings) {
        let stopping = async {
            let debuggers = self.app.layers.of::<Debugger>();
            let mut busy = debuggers.filter_map(Debugger::stop_run).count();
            while busy > 0
                && let Some(news) = received.recv().await
            {
                self.app.hear(news);
                let debuggers = self.app.layers.of::<Debugger>();
                busy = debuggers.filter(|debugger| debugger.is_stopping()).count();
            }
        };
        tokio::select! {
            () = stopping => {}
            _ = endings.next() => {}
            () = tokio::time::sleep(STOPPING) => {}
        }
    }

    fn perform(
        &mut self,
        effect: Effect,
        events: &mut Option<EventStream>,
    ) -> io::Result<Option<Left>> {
        match effect {
            Effect::Quit => return Ok(self.app.quit().then_some(Left::Quit)),
            Effect::Close => return Ok((!self.app.close()).then_some(Left::Quit)),
            Effect::Open(path) => self.open_below(&path)?,
            Effect::OpenAtStart(path) => {
                self.open_below(&path)?;
                if let Some(debugger) = self.app.layers.top_mut::<Debugger>() {
                    debugger.state.has_moved = true;
                }
            }
            Effect::OpenAt(found, needle) => {
                self.open(&found.path)?;
                if let Some(debugger) = self.app.layers.top_mut::<Debugger>() {
                    debugger.state.sought = Some((needle, found.place));
                }
            }
            Effect::OpenConversation(path, id, command) => {
                self.open(&path)?;
                if let Some(debugger) = self.app.layers.top_mut::<Debugger>() {
                    debugger.state.asked_for = Some((id, command));
                }
            }
            Effect::Enter(id) => self.enter(id)?,
            Effect::Lab(subject) => self.app.open_lab(*subject),
            Effect::InjectWording(place, rule, template) => {
                self.app.close();
                if let Some(debugger) = self.app.layers.top_mut::<Debugger>() {
                    let effects = debugger.inject(place, rule, template);
                    self.app.effects.extend(effects);
                }
            }
            Effect::Sample(journal, take) => self.open_sample(&journal, take)?,
            Effect::Proxy(command) => {
                if let Some(watching) = self.app.layers.of::<Watching>().next() {
                    watching.obey(command);
                }
            }
            Effect::Redraw => self.screen.resume()?,
            Effect::NextTheme => {
                let wish = self.theme.next(self.app.request.wish);
                let variable = |name: &str| std::env::var(name).ok();
                self.theme = Theme::choose(wish, &variable);
                self.app.say(self.theme.choice(&variable));
            }
            Effect::Suspend => {
                self.away(events, || kill_current_process_group(Signal::TSTP))??;
            }
            Effect::EditItem(text) => {
                let edited = self.away(events, || debugger::edit(&text, ".json"))?;
                if let Some(debugger) = self.app.layers.top_mut::<Debugger>() {
                    debugger.take_item(edited);
                }
            }
            Effect::Edit(text) => match self.away(events, || debugger::edit(&text, ".txt"))? {
                Ok(Some(text)) => drop(self.app.give_to_layers(Input::Edited(&text))),
                Ok(None) => {}
                Err(why) => self.app.say(why),
            },
            Effect::Copy(bytes) => {
                let copied = copy::copy(&mut io::stdout(), &bytes);
                let words = copied.unwrap_or_else(|error| error.to_string());
                self.app.say(words);
            }
            // The screens do these themselves.
            _ => {}
        }
        Ok(None)
    }

    fn open(&mut self, path: &Path) -> io::Result<()> {
        match OpenedFile::new(path, &self.app.request) {
            Ok(opened) => self.debug(opened, self.app.request.staged.clone(), None)?,
            Err(error) => match self.app.layers.top_mut::<Picker>() {
                Some(picker) => picker.complain(path, &error.to_string()),
                None => self.app.say(format!("{}: {error}", path.display())),
            },
        }
        Ok(())
    }

    /// Opens a file over the recording that led to it, if one did.
    fn open_below(&mut self, path: &Path) -> io::Result<()> {
        let parents = self.app.layers.of::<Debugger>().count();
        self.open(path)?;
        let is_open = self.app.layers.of::<Debugger>().count() > parents;
        if let Some(debugger) = self.app.layers.top_mut::<Debugger>() {
            debugger.state.is_sub_agent_file = is_open && parents > 0;
        }
        Ok(())
    }

    fn enter(&mut self, id: ExchangeId) -> io::Result<()> {
        let App {
            request, layers, ..
        } = &mut self.app;
        let Some(watching) = layers.top_mut::<Watching>() else {
            return Ok(());
        };
        match watching.enter(id, request) {
            Ok(entered) => {
                self.debug(entered.opened, entered.staged, Some(entered.exchange))?;
                if let Some(debugger) = self.app.layers.top_mut::<Debugger>() {
                    debugger.state.recovery.drafts = entered.drafts;
                }
            }
            Err(why) => {
                let words = format!("exchange {id} cannot be opened: {why}");
                watching.board.tell(words);
            }
        }
        Ok(())
    }

    /// Opens a sample of the lab in a debugger of its own.
    fn open_sample(&mut self, journal: &Path, take: TakeId) -> io::Result<()> {
        match OpenedFile::new(journal, &self.app.request) {
            Ok(opened) => {
                self.debug(opened, Staged::default(), None)?;
                if let Some(debugger) = self.app.layers.top_mut::<Debugger>() {
                    debugger.go_to_take(take);
                }
            }
            Err(error) => {
                let words = format!("the sample cannot be opened: {error}");
                self.app.say(words);
            }
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
        Ok(done)
    }
}
