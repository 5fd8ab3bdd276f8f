//! A file that is open: its state, its loader, and what effects ask for between the two.

use super::effect::{Effect, LiveCommand, Perform};
use super::keymap::Command;
use super::lab::memory::LabMemory;
use super::lab::subject::LabSubject;
use super::layer::{Input, Layer, Step};
use super::loader::takes::conductor::Staged;
use super::loader::{Knowledge, Loader};
use super::report::Report;
use super::request::{OpenRequest, View};
use super::state::State;
use super::state::document::{Document, Extent, Place};
use super::state::layout::LayoutSettings;
use super::theme::Theme;
use super::{update, view};
use jiff::tz::TimeZone;
use ratatui::Frame;
use ratatui::layout::Rect;
use retake_core::session::takes::TakeId;
use retake_live::takes::{usual_root, wall_clock};
use retake_live::wordings::{Wordings, usual_files};
use retake_live::{InputError, OpenedInput, editor, proxy};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// A file whose head is read.
pub(super) struct OpenedFile {
    name: String,
    opening: Arc<OpenedInput>,
    head: Option<Arc<Document>>,
    knowledge: Arc<Knowledge>,
    view: View,
    layout: LayoutSettings,
}

impl OpenedFile {
    /// Opens a file; `-` is standard input.
    pub(super) fn new(path: &Path, request: &OpenRequest) -> Result<Self, InputError> {
        let input = if path.as_os_str() == "-" {
            retake_live::read_stdin()?
        } else {
            retake_live::open(path)?
        };
        let name = path.to_string_lossy().into_owned();
        let knowledge = Arc::new(request.knowledge.of_file(path));
        Ok(Self {
            view: request.view.unwrap_or(View::Flow),
            ..Self::of(input, name, knowledge, request)?
        })
    }

    /// Opens an input that is known by this name, and lives.
    pub(super) fn of(
        input: retake_live::Input,
        name: String,
        knowledge: Arc<Knowledge>,
        request: &OpenRequest,
    ) -> Result<Self, InputError> {
        let opening = OpenedInput::begin(input, &request.options)?;
        let head = opening.head()?.map(|recording| {
            Arc::new(Document {
                recording: Arc::new(recording),
                extent: Extent::Head,
            })
        });
        Ok(Self {
            name,
            opening: Arc::new(opening),
            head,
            knowledge,
            view: request.view.unwrap_or(View::Columns),
            layout: request.layout,
        })
    }

    /// What is shown of it at first.
    pub(super) fn state(&self, size: (u16, u16)) -> State {
        let mut state = State::new(self.name.clone(), size);
        state.recovery.target = self.knowledge.target();
        state.set_flowing(self.view == View::Flow);
        state.set_layout(self.layout);
        state.prices = self.knowledge.prices.clone();
        state.zone = TimeZone::system();
        if let Some(head) = &self.head {
            state.head = Some(head.clone());
            state.show(head.clone());
        }
        state
    }
}

/// A file that is open.
pub(super) struct Debugger {
    pub(super) state: State,
    /// Tells the file from those that were opened before.
    pub(super) number: u32,
    loader: Loader,
    /// Where the file is.
    path: Option<PathBuf>,
    knowledge: Arc<Knowledge>,
    /// When it was opened: what time it is counts from there.
    opened: Instant,
}

impl Debugger {
    /// Starts to read the rest of a file; `report` hears of it, in other threads.
    pub(super) fn start(
        mut state: State,
        number: u32,
        opened: OpenedFile,
        staged: Staged,
        report: impl Fn(Report) + Send + Sync + 'static,
    ) -> Self {
        let wordings = Wordings::read(&usual_files(Path::new(".")));
        if let Some(fault) = wordings.faults.first() {
            state.notice = Some(format!("a wording cannot be used: {fault}"));
        }
        state.recovery.wordings = Arc::new(wordings);
        state.recovery.lab = LabMemory::read(usual_root().as_deref());
        let agent = retake_live::agent_beside(Path::new(&state.name));
        state.live.proposed_agent = agent.map(|path| path.to_string_lossy().into_owned());
        Self {
            state,
            number,
            path: opened.opening.input().path.clone(),
            knowledge: opened.knowledge.clone(),
            loader: Loader::start(opened.opening, opened.knowledge, staged, Arc::new(report)),
            opened: Instant::now(),
        }
    }

    /// The recording with the number of takes that are kept with it; `None` of a run, whose journal they are in.
    pub(super) fn kept_takes(&self) -> Option<(PathBuf, (usize, bool))> {
        let takes = &self.state.recovery.takes;
        let recording = takes.rows.first().filter(|row| !row.is_first_request);
        let is_recording = recording.is_some() && self.state.exchange.is_none();
        let count = takes.rows.len().checked_sub(1 + takes.in_memory)?;
        let path = self.path.clone().filter(|_| is_recording && count > 0)?;
        Some((path, (count, takes.current != 0)))
    }

    /// The operator wants to quit from what lay over it.
    pub(super) fn quit(&mut self) -> Vec<Effect> {
        update::obey(&mut self.state, Command::Quit);
        self.perform_all()
    }

    /// Stops the run of this file where one is under way; `None` where there is none.
    pub(super) fn stop_run(&mut self) -> Option<()> {
        update::stop_run(&mut self.state).then(|| drop(self.perform_all()))
    }

    /// Whether a run that was asked to stop has not ended yet.
    pub(super) fn is_stopping(&self) -> bool {
        self.state.live.leaving.is_some()
    }

    /// Takes news of the file and of the run; a run that has ended may be what the operator waits for to leave.
    pub(super) fn hear(&mut self, report: Report) -> Vec<Effect> {
        self.update(|state| update::arrive(state, report))
    }

    /// Tells the state what time it is.
    fn look_at_the_clock(&mut self) {
        let now = self.opened.elapsed().as_millis();
        self.state.now = u64::try_from(now).unwrap_or(u64::MAX);
    }

    fn update(&mut self, change: impl FnOnce(&mut State)) -> Vec<Effect> {
        self.look_at_the_clock();
        change(&mut self.state);
        // The next key of a burst moves by the pages of the screen as it is now.
        self.state.lay_out();
        self.perform_all()
    }

    /// Does what the state asks for; gives what is left to do.
    fn perform_all(&mut self) -> Vec<Effect> {
        let effects = std::mem::take(&mut self.state.effects).into_iter();
        effects.filter_map(|effect| self.perform(effect)).collect()
    }

    /// Does what concerns this file alone; gives what is left to do.
    fn perform(&mut self, effect: Effect) -> Option<Effect> {
        match effect {
            Effect::Take(order) => self.loader.make_take(*order),
            Effect::Takes(command) => {
                self.loader
                    .command_takes(command, self.state.document.clone());
            }
            Effect::Live(command) => {
                let effect = self.told_to_proxy(&command);
                self.loader.command_live(command);
                return effect;
            }
            Effect::Lab(subject) => return Some(Effect::Lab(Box::new(self.located(*subject)))),
            Effect::ReadTail => self.read_tail(),
            Effect::Sift(sifting) => self.loader.sift(sifting),
            Effect::Count(counting) => self.loader.count(counting),
            Effect::Total(document, session) => {
                let prices = self.state.prices.clone();
                self.loader.total(document, session, prices);
            }
            Effect::FindSubAgents => {
                if let Some(path) = self.path.clone() {
                    let (prices, document) = (&self.state.prices, &self.state.document);
                    self.loader
                        .find_sub_agents(path, prices.clone(), document.clone());
                }
            }
            Effect::ReadProxyLog => {
                if let Some(path) = self.path.clone() {
                    self.loader.read_proxy_log(path);
                }
            }
            Effect::Complete(typed) => self.loader.complete(typed),
            Effect::Search(search) => self.loader.search(search),
            Effect::Watch(on) => self.loader.watch(on),
            Effect::Discard(document) => self.loader.discard(document),
            other => return Some(other),
        }
        None
    }

    /// Says in which file a finding is, where the file holds exactly what is shown.
    fn located(&self, subject: LabSubject) -> LabSubject {
        let has_tools_from_outside = self.knowledge.has_tools();
        let is_file = subject.is_main && !has_tools_from_outside;
        LabSubject {
            file: self.path.clone().filter(|_| is_file),
            has_tools_from_outside,
            ..subject
        }
    }

    /// Goes to the end of a take as soon as the file is read: what came last is what it was made for.
    pub(super) fn go_to_take(&mut self, take: TakeId) {
        self.state.recovery.wanted = Some(take.0);
    }

    /// Words the error for a finding that the lab was opened for.
    pub(super) fn inject(&mut self, place: Place, rule: &str, template: String) -> Vec<Effect> {
        self.update(|state| update::inject(state, place, rule, template))
    }

    /// Breakpoints that are set in an exchange hold for all others as well.
    fn told_to_proxy(&self, command: &LiveCommand) -> Option<Effect> {
        match command {
            LiveCommand::SetBreakpoints(breakpoints) if self.state.exchange.is_some() => {
                let command = proxy::ProxyCommand::Breakpoints(breakpoints.clone());
                Some(Effect::Proxy(command))
            }
            _ => None,
        }
    }

    /// Takes over an item that was edited outside: it is proposed as an edit.
    pub(super) fn take_item(&mut self, edited: Result<Option<String>, String>) {
        match edited {
            Ok(None) => {}
            Ok(Some(text)) => {
                update::edited(&mut self.state, &text);
                // A proposal asks for nothing that would be left to do.
                drop(self.perform_all());
            }
            Err(reason) => self.state.notice = Some(reason),
        }
    }

    fn read_tail(&mut self) {
        match self.loader.tail() {
            // The end of a file asks for nothing that would be left to do.
            Ok(Some(report)) => drop(self.hear(report)),
            Ok(None) => {
                self.state.notice = Some("the end is shown once the file has been read".to_owned());
            }
            Err(error) => self.state.notice = Some(error.to_string()),
        }
    }
}

impl<A: Perform> Layer<A> for Debugger {
    type Output = ();

    fn handle(&mut self, input: Input<'_>, app: &mut A) -> Step {
        app.perform(self.update(|state| update::take(state, input)));
        Step::Stay
    }

    fn prepare(&mut self, area: Rect) {
        self.look_at_the_clock();
        if let Some(exchange) = &mut self.state.exchange {
            exchange.wall_ms = wall_clock();
        }
        view::prepare(&mut self.state, (area.width, area.height));
    }

    fn view(&self, frame: &mut Frame<'_>, _: Rect, _: &A, theme: &Theme) {
        view::draw(frame, &self.state, theme);
    }

    fn ticks(&self) -> bool {
        self.state.live.is_busy()
    }
}

/// Gives a text to the operator's editor: what was made of it, or why nothing.
pub(super) fn edit(text: &str, suffix: &str) -> Result<Option<String>, String> {
    let command = editor::editor_command(&|name| std::env::var(name).ok());
    editor::edit(text, suffix, &command).map_err(|error| error.to_string())
}
