//! The operator's face: a debugger on the screen.
//!
//! ```text
//! keys, mouse ─┐                        ┌─▶ effects: editor, suspend, the end of the file
//! loader ──────┼─▶ Message ─▶ update ───┤
//! signals ─────┘   (pure)     state ────┴─▶ view ─▶ cells
//! ```
//!
//! `state` holds what is shown, `update` changes it, `view` draws it, `keymap` says which key means what. This file owns the loop and
//! is the only one here that knows tokio's runtime. The first frame is painted from the head of the file before anything else is
//! read or started; the rest is read by `loader` on threads of its own.

pub mod copy;
pub mod fuzzy;
pub mod help;
pub mod keymap;
pub mod list;
pub mod loader;
pub mod palette;
pub mod picker;
pub mod prompt;
pub mod state;
mod terminal;
pub mod theme;
pub mod update;
pub mod view;

use crate::runtime::{self, InputError, Opening, ReadOptions, editor};
use crate::session::Span;
use anyhow::Context as _;
use crossterm::event::{Event, EventStream};
use futures_util::{FutureExt as _, StreamExt as _};
use loader::{Knowledge, Loader};
use state::State;
use state::document::{Document, Extent};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use terminal::Screen;
use theme::{Theme, Wish};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use update::{Effect, Message, Report};

/// What is to be opened, and how.
#[derive(Debug, Default)]
pub struct OpenRequest {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// How it is read.
    pub options: ReadOptions,
    /// What is known about the run besides the file.
    pub knowledge: Knowledge,
    /// How things are to look.
    pub wish: Wish,
    /// Whether the mouse is left to the terminal.
    pub without_mouse: bool,
}

/// Opens the debugger and returns when the operator leaves it. An input that cannot be read at all is an error before the screen is
/// taken, so that it can be told in one line.
pub fn run(request: &OpenRequest) -> anyhow::Result<ExitCode> {
    let input = if request.path.as_os_str() == "-" {
        runtime::read_stdin()
    } else {
        runtime::open(&request.path)
    };
    let name = request.path.to_string_lossy().into_owned();
    let told = |error: InputError| anyhow::Error::new(error).context(name.clone());
    let opening = Opening::begin(input.map_err(told)?, &request.options).map_err(told)?;
    let mut head = opening.head().map_err(told)?;
    let screen = Screen::open(!request.without_mouse).context("cannot open the terminal")?;
    let mut state = State::new(name.clone(), screen.size()?);
    if let Some(recording) = &mut head {
        request.knowledge.apply(recording);
    }
    if let Some(recording) = head {
        let document = Arc::new(Document {
            recording,
            extent: Extent::Head,
        });
        state.head = Some(document.clone());
        state.show(document);
    }
    let mut debugger = Debugger {
        theme: Theme::choose(request.wish, &|name| std::env::var(name).ok()),
        screen,
        state,
    };
    debugger.draw()?;
    debugger.run(Arc::new(opening), Arc::new(request.knowledge.clone()))
}

struct Debugger {
    theme: Theme,
    screen: Screen,
    state: State,
}

/// Whether the loop goes on.
enum Next {
    Goes,
    Ends(ExitCode),
}

impl Debugger {
    fn draw(&mut self) -> std::io::Result<()> {
        self.state.prepare();
        self.screen.draw(&self.state, &self.theme)
    }

    fn run(mut self, opening: Arc<Opening>, knowledge: Arc<Knowledge>) -> anyhow::Result<ExitCode> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (sender, reports) = unbounded_channel();
        let mut loader = Loader::start(opening, knowledge, sender);
        terminal::exit_when_hung_up();
        let ended = runtime.block_on(self.drive(&mut loader, reports));
        // Restored before the error is told, and before large files are let go.
        drop(self.screen);
        ended
    }

    async fn drive(
        &mut self,
        loader: &mut Loader,
        mut reports: UnboundedReceiver<Report>,
    ) -> anyhow::Result<ExitCode> {
        let mut events = EventStream::new();
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let mut resumed = signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?;
        loop {
            let mut effects = Vec::new();
            tokio::select! {
                biased;
                _ = terminate.recv() => return Ok(ended_by(rustix::process::Signal::TERM)),
                _ = hangup.recv() => return Ok(ended_by(rustix::process::Signal::HUP)),
                _ = resumed.recv() => effects.push(Effect::Redraw),
                event = events.next() => {
                    let mut next = Some(event);
                    while let Some(event) = next {
                        let Some(Ok(event)) = event else {
                            return Ok(ended_by(rustix::process::Signal::HUP));
                        };
                        effects.extend(self.take(event));
                        next = events.next().now_or_never();
                    }
                }
                Some(report) = reports.recv() => {
                    effects.extend(update::update(&mut self.state, Message::Report(report)));
                    while let Ok(report) = reports.try_recv() {
                        effects.extend(update::update(&mut self.state, Message::Report(report)));
                    }
                }
            }
            for effect in effects {
                if let Next::Ends(code) = self.perform(effect, loader, &mut events)? {
                    return Ok(code);
                }
            }
            self.draw()?;
        }
    }

    fn take(&mut self, event: Event) -> Vec<Effect> {
        let message = match event {
            Event::Key(key) => Message::Key(key),
            Event::Mouse(event) => Message::Mouse(event),
            Event::Paste(text) => Message::Paste(text),
            Event::Resize(width, height) => Message::Resize(width, height),
            Event::FocusGained | Event::FocusLost => return Vec::new(),
        };
        // A page is as long as the screen is now, not as it was when the last frame was drawn.
        let effects = update::update(&mut self.state, message);
        self.state.layout =
            state::layout::Layout::new(self.state.size, self.state.left, self.state.focus);
        effects
    }

    fn perform(
        &mut self,
        effect: Effect,
        loader: &mut Loader,
        events: &mut EventStream,
    ) -> anyhow::Result<Next> {
        match effect {
            Effect::Quit => return Ok(Next::Ends(ExitCode::SUCCESS)),
            Effect::Redraw => {
                self.screen.resume()?;
                self.state.size = self.screen.size()?;
            }
            Effect::Suspend => {
                self.away(events, || {
                    Ok(rustix::process::kill_current_process_group(
                        rustix::process::Signal::TSTP,
                    )?)
                })?;
            }
            Effect::Edit(span) => {
                self.edit(span, events);
            }
            Effect::ReadTail => match loader.tail() {
                Ok(Some(report)) => {
                    let effects = update::update(&mut self.state, Message::Report(report));
                    for effect in effects {
                        self.perform(effect, loader, events)?;
                    }
                }
                Ok(None) => {
                    self.state.notice = Some("the end is shown once the file is read".to_owned());
                }
                Err(error) => self.state.notice = Some(error.to_string()),
            },
            Effect::Search(search) => loader.search(search),
            Effect::Copy(bytes) => {
                let said = copy::copy(&mut std::io::stdout(), &bytes)?;
                self.state.notice = Some(said.as_plain().to_owned());
            }
            Effect::Watch(on) => loader.watch(on),
            Effect::Discard(document) => loader.discard(document),
        }
        Ok(Next::Goes)
    }

    /// Shows bytes of the file in the operator's editor. What is changed there is not taken over yet.
    fn edit(&mut self, span: Span, events: &mut EventStream) {
        let Some(session) = self.state.session() else {
            return;
        };
        let bytes = session.source.read(span);
        let command = editor::editor_command(&|name| std::env::var(name).ok());
        let edited = self.away(events, || {
            let text = String::from_utf8_lossy(&bytes?).into_owned();
            Ok(editor::edit(&text, ".json", &command)?)
        });
        self.state.notice = match edited {
            Ok(None) => None,
            Ok(Some(_)) => Some("not yet: taking over what was edited".to_owned()),
            Err(error) => Some(format!("{error:#}")),
        };
    }

    /// Gives the terminal away while something else has it.
    fn away<T>(
        &mut self,
        events: &mut EventStream,
        work: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        // The thread of the old stream reads keys until the stream is dropped; that of the new one waits to be asked.
        *events = EventStream::new();
        self.screen.suspend()?;
        let done = work();
        self.screen.resume()?;
        self.state.size = self.screen.size()?;
        done
    }
}

fn ended_by(signal: rustix::process::Signal) -> ExitCode {
    ExitCode::from(u8::try_from(128 + signal.as_raw()).unwrap_or(u8::MAX))
}
