//! An exchange of a proxy in the debugger: its own commands, what is left to do once its client is gone, which
//! items the agent sees.

use crate::tui::effect::{Effect, LiveCommand};
use crate::tui::keymap::{Command, with_ways};
use crate::tui::loader::takes::comparing::{all, compare_items};
use crate::tui::recovery::forms::{Confirmation, WordsForm};
use crate::tui::recovery::wording::WordingEditor;
use crate::tui::stack::{Layers, Screen as _};
use crate::tui::state::State;
use crate::tui::state::exchange::Intercepted;
use crate::tui::state::tree::Shown;
use retake_core::engine;
use retake_core::exchange::ExchangeSummary;
use retake_core::session::{Item, Kind, Session};
use retake_live::proxy;
use std::sync::Arc;

/// Why there are no two sides of a conversation.
const UNCHANGED: &str = "nothing was changed: the agent and the provider see the same";

/// The notice once nobody waits for a decision any more.
fn gone() -> String {
    let ways = [(Command::Close, "closes"), (Command::SaveAs, "saves")];
    with_ways("the client left: nothing to decide; ", &ways)
}

/// Takes news of the exchange that is open, and of how many others are held. False: it is decided, and nothing
/// is left to do here.
pub fn hear(state: &mut State, seen: Arc<ExchangeSummary>, others: usize) -> bool {
    let Some(open) = &mut state.exchange else {
        return true;
    };
    let was_gone = open.is_gone();
    open.seen = seen;
    open.others = others;
    if !open.is_seat {
        return true;
    }
    let is_gone = open.is_gone();
    if is_gone && was_gone {
        return true;
    }
    if is_gone {
        if !is_written(&mut state.layers) {
            state.leave_layers();
        }
        state.notice = Some(gone());
        return true;
    }
    let hold = open.seen.phase.hold().map(|holding| holding.since_ms);
    // What was fixed may be held again at once: that is another hold.
    if hold.is_some_and(|since| *open.hold.get_or_insert(since) == since) {
        return true;
    }
    // What is being written is not thrown away, and its keys are not for the list.
    open.is_over = is_written(&mut state.layers);
    open.is_over
}

/// Whether words are being written for a decision.
fn is_written(layers: &mut Layers<State>) -> bool {
    layers.of::<WordsForm>().next().is_some() || layers.of::<WordingEditor>().next().is_some()
}

/// The ids of the calls of a held reply that the agent does not have.
pub(super) fn held_calls(state: &State) -> Vec<String> {
    let open = state.exchange.as_ref().filter(|open| open.is_seat);
    let sent = open.and_then(|open| Some((open.sent?, open.seen.phase.hold()?)));
    let (Some((sent, holding)), Some(session)) = (sent, state.session()) else {
        return Vec::new();
    };
    let items = session.items.iter().skip(sent);
    let calls = items.filter(|item| item.kind == Kind::Call);
    let ids = calls.filter_map(|call| session.call_id(call).ok());
    ids.filter(|id| !holding.has.calls.contains(id)).collect()
}

/// What whoever asks the model again has to know where the agent has words of the reply already.
pub(super) fn text_sent(state: &State) -> Option<&'static str> {
    let open = state.exchange.as_ref().filter(|open| open.is_seat)?;
    let holding = open.seen.phase.hold()?;
    holding
        .has
        .text
        .then_some("the agent has already read the text of this reply: the next one is appended")
}

/// Whether words for a decision come too late: they are kept for the next hold of the same request.
pub(super) fn comes_too_late(state: &State) -> bool {
    state.exchange.as_ref().is_some_and(Intercepted::is_settled)
}

/// Leaves an exchange that was decided while words for it were written, once they are left.
pub(super) fn leave_what_is_over(state: &mut State) {
    let is_over = state.exchange.as_ref().is_some_and(|open| open.is_over);
    if is_over && !is_written(&mut state.layers) {
        state.effects.push(Effect::Close);
    }
}

/// Does what a command says where an exchange gives it a meaning of its own; whether it does.
pub(super) fn obey(state: &mut State, command: Command) -> bool {
    let Some(open) = &mut state.exchange else {
        match command {
            Command::Views if state.is_of_proxy() => sides(state),
            Command::BothViews if state.is_of_proxy() => both_views(state),
            Command::Views | Command::BothViews | Command::Intercept => {
                state.say("only retake proxy intercepts")
            }
            _ => return false,
        }
        return true;
    };
    if open.is_gone() {
        let offers = command == Command::Open && state.offering_here().next().is_some();
        let decides = decides(command) || offers;
        if decides {
            state.say(gone());
        }
        return decides;
    }
    let id = open.id();
    match command {
        Command::Intercept => {
            open.is_intercepting = !open.is_intercepting;
            let on = open.is_intercepting;
            state.say(crate::tui::proxy::words::interception(on));
            let command = proxy::ProxyCommand::Intercept(on);
            state.effects.push(Effect::Proxy(command));
        }
        Command::Views => views(state),
        Command::BothViews => both_views(state),
        Command::Abort if open.is_seat => cut(state),
        Command::Continue if open.is_seat && !state.live.is_on() => {
            state.say("this exchange belongs to the proxy: q goes back to the list")
        }
        Command::Always if open.is_seat && state.live.reasons().is_empty() => {
            let command = proxy::ProxyCommand::Release(id);
            state.effects.push(Effect::Proxy(command));
        }
        Command::Recover("fallback")
            if open.is_seat
                && state.finding_for("fallback").is_none()
                && state.live.reason_at(state.item).is_none() =>
        {
            state.effects.push(match state.live.is_paused() {
                true => Effect::Live(LiveCommand::Engine(engine::RunCommand::Release)),
                false => Effect::Proxy(proxy::ProxyCommand::Release(id)),
            });
        }
        _ => return false,
    }
    true
}

/// Whether a command decides something: none does once the client is gone.
fn decides(command: Command) -> bool {
    matches!(
        command,
        Command::Recover(_)
            | Command::EditJson
            | Command::Undo
            | Command::Redo
            | Command::Fork
            | Command::Editor
            | Command::Break
            | Command::Breakpoints
            | Command::StepRun
            | Command::Continue
            | Command::PauseRun
            | Command::Abort
            | Command::Always
    )
}

/// Cuts the connection to the agent, once the operator has confirmed it.
fn cut(state: &mut State) {
    let reason = "The agent's connection is closed; its client sees an error and may retry.";
    let question = Confirmation::new("cut", reason, "Cut the connection to the agent?");
    state.open(question, |state, _, ()| {
        let open = state.exchange.as_ref().filter(|open| !open.is_gone());
        let cut = open.map(|open| Effect::Proxy(proxy::ProxyCommand::Cut(open.id())));
        state.effects.extend(cut);
    });
}

/// From what the provider sees to what the agent sees, and back.
fn views(state: &mut State) {
    let is_request = |open: &Intercepted| open.holding().is_some_and(|held| held.is_request);
    let Some(open) = state.exchange.as_mut() else {
        return;
    };
    if !open.is_seat {
        return sides(state);
    }
    if is_request(open) {
        let words = "the agent sees its own request, the provider the take: T compares them";
        return state.say(words);
    }
    if open.sent.is_none() {
        return state.say("not read yet: try again");
    }
    open.is_agents_view = !open.is_agents_view;
    let is_agents = open.is_agents_view;
    let moved = open.moved.take();
    let is_held = state.live.is_on();
    let from = state.item;
    state.show_all();
    narrow(state);
    let to = state.item;
    match moved.filter(|(_, put)| *put == from) {
        Some((before, _)) => state.go_to(before),
        None => {
            if let Some(open) = state.exchange.as_mut().filter(|_| is_agents) {
                open.moved = Some((from, to));
            }
        }
    }
    state.say(match is_agents {
        true if is_held => "what the agent has so far: v shows what the provider sees",
        true => "what the agent sees: v shows what the provider sees",
        false => "what the provider sees: v shows what the agent sees",
    })
}

/// Goes to the conversation of the exchange that the file was opened for, and does what it was opened for.
pub(super) fn go_to_asked(state: &mut State) {
    let Some((id, command)) = state.asked_for.take() else {
        return;
    };
    let document = state.document.clone();
    let sessions = document.iter().flat_map(|it| &it.recording.sessions);
    let mut exchanges = sessions.map(|session| &session.exchanges);
    let session = exchanges.position(|all| all.iter().any(|one| one.number == id.0));
    match session {
        Some(session) => {
            super::motion::open_session(state, session);
            super::motion::to_end(state);
            state.usage.is_of_list = true;
            super::obey(state, command);
        }
        None => state.say(format!("exchange {id} is recorded when it ends")),
    }
}

/// From the agent's side of a conversation to the provider's, and back: where they differ, the recording has a session
/// of each.
fn sides(state: &mut State) {
    let Some(side) = state.other_side() else {
        return state.say(UNCHANGED);
    };
    let sessions = state.document.clone();
    let sessions = sessions.as_ref().map(|it| &it.recording.sessions);
    let item = sessions.map_or(0, |sessions| {
        first_difference(&sessions[state.session], &sessions[side])
    });
    super::motion::open_session(state, side);
    state.go_to(item);
    let is_agents = state.session().is_none_or(|session| session.active);
    state.say(match is_agents {
        true => "what the agent sent and got: v shows the provider's side, V both",
        false => "what the provider got and answered: v shows the agent's side, V both",
    });
}

/// Shows what the agent sees beside what the provider sees, item by item.
fn both_views(state: &mut State) {
    let Some(document) = state.document.clone() else {
        return;
    };
    let seat = state.exchange.as_ref().filter(|open| open.is_seat);
    let (agent, provider) = match (seat, state.other_side()) {
        (Some(_), _) => (state.session, state.session),
        (None, None) => return state.say(UNCHANGED),
        (None, Some(side)) if state.session().is_none_or(|it| it.active) => (state.session, side),
        (None, Some(side)) => (side, state.session),
    };
    let [Some(agent), Some(provider)] = [agent, provider].map(|it| document.session(it)) else {
        return;
    };
    let agents = match seat {
        Some(open) if open.sent.is_none() => return state.say("not read yet: try again"),
        Some(open) => {
            let is_decided = matches!(state.live.phase, engine::Phase::Ended(_));
            open.agents_items(agent, is_decided)
        }
        None => all(agent),
    };
    let sides = [(agent, &agents[..]), (provider, &all(provider)[..])];
    match compare_items(["the agent sees", "the provider sees"], sides) {
        Ok(comparison) => state.open(comparison.with_marks(["a", "p"]), |_, _, ()| ()),
        Err(error) => state.say(error.to_string()),
    }
}

/// The first item of `after` that is not the same in `before`, or the last one.
fn first_difference(before: &Session, after: &Session) -> usize {
    let is_same = |(old, new): &(&Item, &Item)| {
        old.span == new.span
            || (old.kind, old.span.len()) == (new.kind, new.span.len())
                && before.bytes(old).ok() == after.bytes(new).ok()
    };
    let same = before.items.iter().zip(&after.items).take_while(is_same);
    same.count().min(after.items.len().saturating_sub(1))
}

/// Leaves only what the agent sees, where that is wanted; to be called whenever other items are shown.
pub(super) fn narrow(state: &mut State) {
    let open = state.exchange.as_ref();
    let Some(open) = open.filter(|open| open.is_agents_view) else {
        return;
    };
    if let Some(session) = state.session() {
        let is_decided = matches!(state.live.phase, engine::Phase::Ended(_));
        let items = open.agents_items(session, is_decided);
        state.shown = Some(Arc::new(Shown::new(session, items)));
        super::motion::stay_in_sight(state);
    }
}
