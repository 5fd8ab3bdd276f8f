//! The list of exchanges with what works for it: the inbox of its news, the proxy that obeys, the way into
//! the debugger and back.

use super::board::ExchangeBoard;
use super::inbox::Inbox;
use super::{Exchanges, Watched, curl};
use crate::tui::debugger::OpenedFile;
use crate::tui::effect::{Effect, Perform};
use crate::tui::layer::{Input, Layer, Step};
use crate::tui::live::breakpoints::Stops as _;
use crate::tui::loader::takes::conductor::Staged;
use crate::tui::request::OpenRequest;
use crate::tui::stack::Screen as _;
use crate::tui::state::State;
use crate::tui::state::exchange::Intercepted;
use crate::tui::state::recovery::Drafts;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use retake_core::exchange::{ExchangeId, ExchangeSummary};
use retake_live::proxy::{ProxyCommand, ProxyNews};
use retake_live::takes::wall_clock;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// The list of exchanges of a proxy.
pub(in crate::tui) struct Watching {
    pub(in crate::tui) board: ExchangeBoard,
    proxy: Arc<dyn Exchanges>,
    inbox: Arc<Inbox>,
    news: Option<Receiver<ProxyNews>>,
    open: Option<ExchangeId>,
    /// Words that were begun for the request that was open last, by which its next try is known.
    drafts: Option<(Alike, Drafts)>,
}

/// What a request has in common with another try of it: where it goes, what it asks, how long it is.
type Alike = (String, String, u64);

fn alike(seen: &ExchangeSummary) -> Alike {
    (seen.path.clone(), seen.model.clone(), seen.sent)
}

/// An exchange that is to be shown in the debugger.
pub(in crate::tui) struct Entered {
    pub(in crate::tui) opened: OpenedFile,
    pub(in crate::tui) staged: Staged,
    pub(in crate::tui) exchange: Intercepted,
    /// Words that were begun for another try of the same request.
    pub(in crate::tui) drafts: Drafts,
}

impl Watching {
    pub(in crate::tui) fn new(watched: Watched) -> Self {
        Self {
            board: ExchangeBoard::new(watched.about),
            proxy: watched.proxy,
            inbox: Arc::default(),
            news: Some(watched.news),
            open: None,
            drafts: None,
        }
    }

    /// Begins to hear; `wake` is called in another thread when there is something to collect.
    pub(in crate::tui) fn start(&mut self, wake: impl Fn() + Send + 'static) {
        let Some(news) = self.news.take() else {
            return;
        };
        let inbox = self.inbox.clone();
        std::thread::spawn(move || inbox.fill(&news, wake));
    }

    /// Does what concerns the proxy; gives what is left to do.
    fn perform(&mut self, effect: Effect) -> Option<Effect> {
        match effect {
            Effect::Proxy(command) => self.obey(command),
            Effect::CopyRequest(id) => match self.proxy.request(id) {
                Some(request) => return Some(Effect::Copy(curl::curl(&request).into_bytes())),
                None => self.board.tell(format!(
                    "the request of exchange {id} is no longer available"
                )),
            },
            other => return Some(other),
        }
        None
    }

    /// Gives the proxy a command, from here or from the exchange that is open.
    pub(in crate::tui) fn obey(&mut self, command: ProxyCommand) {
        self.board.sent(&command);
        self.proxy.obey(command);
    }

    /// Takes in what waits. Gives what is known now of the exchange that is open, and how many others are held.
    pub(in crate::tui) fn collect(&mut self) -> Option<(Arc<ExchangeSummary>, usize)> {
        self.board.set_now(wall_clock());
        self.board.hear(self.inbox.take());
        let id = self.open?;
        let seen = self.board.of(id)?.clone();
        Some((seen, self.board.held_besides(id)))
    }

    /// The operator wants to quit from what lay over the list.
    pub(in crate::tui) fn quit(&mut self) -> Vec<Effect> {
        self.board.clients = self.proxy.clients();
        self.board.ask_to_leave();
        std::mem::take(&mut self.board.effects)
    }

    /// The exchange that is open was decided: the list says what came of it.
    pub(in crate::tui) fn tell_outcome(&mut self, seen: &ExchangeSummary) {
        let words = self.board.outcome(seen);
        self.board.tell(words);
        self.board.come_back();
    }

    /// Opens an exchange: one that is held to be decided, any other to be read.
    pub(in crate::tui) fn enter(
        &mut self,
        id: ExchangeId,
        request: &OpenRequest,
    ) -> Result<Entered, String> {
        let seen = self.board.of(id).ok_or("no longer in the list")?;
        let seen = seen.clone();
        let may_sit = seen.phase.hold().is_some();
        let seat = may_sit.then(|| self.proxy.seat(id)).flatten();
        let mut exchange = Intercepted::new(seen, seat.is_some());
        exchange.decided = self.board.decided(id).map(str::to_owned);
        exchange.others = self.board.held_besides(id);
        exchange.is_intercepting = self.board.is_intercepting();
        exchange.wall_ms = wall_clock();
        let (input, staged) = match seat {
            Some((journal, mut seated)) => {
                seated.breakpoints = self.board.breakpoints().to_vec();
                let input = retake_live::open(&journal).map_err(|error| error.to_string())?;
                (input, Staged::seated(seated))
            }
            None if may_sit => return Err("not ready yet: try again".to_owned()),
            None => (self.proxy.recording(id)?, Staged::default()),
        };
        let knowledge = match &input.path {
            Some(path) => request.knowledge.of_file(path),
            None => request.knowledge.clone(),
        };
        let name = format!("exchange {id}");
        let opened = OpenedFile::of(input, name, Arc::new(knowledge), request);
        let opened = opened.map_err(|error| error.to_string())?;
        self.open = Some(id);
        let drafts = self.drafts.as_ref();
        let drafts = drafts.filter(|(known, _)| *known == alike(&exchange.seen));
        Ok(Entered {
            drafts: drafts.map(|(_, drafts)| drafts.clone()).unwrap_or_default(),
            opened,
            staged,
            exchange,
        })
    }

    /// The debugger is closed: the list has the screen again. Words that were begun there wait for the next try
    /// of the same request.
    pub(in crate::tui) fn closed(&mut self, state: &State) {
        self.open = None;
        let Some(open) = &state.exchange else {
            return;
        };
        self.drafts = Some((alike(&open.seen), state.recovery.drafts.clone()));
        if open.is_over {
            self.tell_outcome(&open.seen);
        }
    }
}

impl<A: Perform> Layer<A> for Watching {
    type Output = ();

    fn handle(&mut self, input: Input<'_>, app: &mut A) -> Step {
        self.board.set_now(wall_clock());
        self.board.clients = self.proxy.clients();
        let effects = match input {
            Input::Key(key) => self.board.key(key),
            Input::Mouse(event) => self.board.mouse(event),
            Input::Paste(_) | Input::Edited(_) => {
                self.board.give_to_layers(input);
                Vec::new()
            }
        };
        let effects = effects.into_iter();
        app.perform(effects.filter_map(|effect| self.perform(effect)).collect());
        Step::Stay
    }

    fn prepare(&mut self, _: Rect) {
        self.board.set_now(wall_clock());
    }

    fn view(&self, frame: &mut Frame<'_>, _: Rect, _: &A, theme: &Theme) {
        self.board.view(frame, theme);
    }

    fn ticks(&self) -> bool {
        self.board.counts()
    }
}
