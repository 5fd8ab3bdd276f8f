//! What happens next: a message changes the state and asks for effects. No terminal, no files, no clock.

mod arrive;
mod exchange;
pub(super) mod fix_all;
mod lab;
mod layers;
mod leaving;
mod live;
mod motion;
mod mouse;
mod recover;
mod takes;

pub use arrive::arrive;
pub use exchange::hear as exchange;
pub(super) use lab::inject;
pub use layers::closes_pane;
pub use leaving::stop_run;
pub use recover::edited;

use super::effect::{Effect, TakesCommand};
use super::keymap::{self, Command, Context};
use super::layer::Input;
use super::palette::{Choice, CommandPalette};
use super::stack::Screen as _;
use super::state::layout::{LEAST, Pane, WIDE};
use super::state::{Follow, State};
use super::transcript;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};
use retake_core::formats::is_verbatim;
use retake_core::session::Kind;

/// Takes what the operator does.
pub fn take(state: &mut State, input: Input<'_>) {
    // What is not drawn is not decided.
    let is_drawn = state.size.0 >= LEAST.0 && state.size.1 >= LEAST.1;
    match input {
        Input::Key(key) if key.kind == KeyEventKind::Release => {}
        Input::Key(key) if !is_drawn && !leads_out(state, &key) => {}
        Input::Paste(_) if !is_drawn => {}
        Input::Key(key) => press(state, key),
        Input::Mouse(event) => mouse::mouse(state, event),
        Input::Paste(_) | Input::Edited(_) => drop(state.give_to_layers(input)),
    }
}

/// Whether a key closes what is open, or the program.
fn leads_out(state: &State, key: &KeyEvent) -> bool {
    let closes = |command| {
        matches!(
            command,
            Command::Close | Command::Quit | Command::Suspend | Command::Back
        )
    };
    let is_bare = state.layers.is_empty();
    key.code == KeyCode::Esc || is_bare && keymap::command(state.context(), key).is_some_and(closes)
}

/// The context that the footer and the keys are read for.
pub fn context(state: &State) -> Context {
    match state.has_overlay() {
        true => Context::Overlay,
        false => state.context(),
    }
}

fn press(state: &mut State, key: KeyEvent) {
    (state.has_moved, state.has_pressed) = (true, true);
    if takes::keep_key(state, &key) {
        return;
    }
    (state.notice, state.fault, state.says_hit) = (None, None, false);
    state.recovery.awaited = None;
    if state.give_to_layers(Input::Key(key)) {
        exchange::leave_what_is_over(state);
    } else if let Some(command) = keymap::command(context(state), &key) {
        obey(state, command);
    }
}

/// Does what a command says.
pub fn obey(state: &mut State, command: Command) {
    if exchange::obey(state, command) {
        return;
    }
    let needs_item = matches!(
        command,
        Command::Recover(_)
            | Command::EditJson
            | Command::Editor
            | Command::Open
            | Command::Copy
            | Command::Mark
            | Command::Note
            | Command::Fork
            | Command::Lab
            | Command::Picture
            | Command::Break
    );
    if needs_item && state.has_no_match() && state.context() != Context::List {
        return state.say(state.no_match());
    }
    match command {
        Command::Step(_)
        | Command::HalfPage(_)
        | Command::Page(_)
        | Command::Edge(_)
        | Command::Turn(_)
        | Command::Unfold
        | Command::Fold
        | Command::Toggle
        | Command::FoldAll(_)
        | Command::Finding(_)
        | Command::Error(_)
        | Command::Partner
        | Command::SameTool => motion::motion(state, command),
        Command::Find => layers::find(state),
        Command::Hit(direction) => layers::next_hit(state, direction),
        Command::Filter => layers::filter(state),
        Command::Picture => layers::picture(state),
        Command::Copy => layers::copy(state),
        Command::Palette => palette(state),
        Command::Mark => takes::mark(state),
        Command::OnlyMarked => {
            only_marked(state);
        }
        Command::NextPane(direction) => {
            motion::next_pane(state, direction.is_forward());
        }
        Command::Pane(number) => {
            if let Some(pane) = Pane::ALL.get(usize::from(number)) {
                if matches!(pane, Pane::Turns | Pane::Items | Pane::Sessions) {
                    layers::leave_list(state);
                }
                motion::focus(state, *pane);
            }
        }
        Command::ZoomPane if !state.is_zoomed && shows_one_pane(state) => {
            state.say("this is the only pane: enter opens the item beside it");
        }
        Command::ZoomPane => {
            state.is_zoomed = !state.is_zoomed;
            state.notice = state
                .is_zoomed
                .then(|| "z shows all panes again".to_owned());
        }
        Command::Resize(direction) => state.resize_detail(direction.is_forward()),
        Command::Open => open(state),
        Command::Transcript => transcript::keys::switch(state),
        Command::View => {
            state.detail.mode = state.detail.mode.next();
            let flow = state.transcript.is_on.then_some(state.detail.mode);
            let document = state.document.as_ref();
            let is_verbatim = document.is_some_and(|it| is_verbatim(it.recording.format));
            state.notice = flow.map(|mode| mode.words(is_verbatim).to_owned());
        }
        // Where there is no exchange, that is reported above.
        Command::Intercept | Command::Views => {}
        Command::Lab => lab::begin(state),
        Command::Recover(action) => {
            let is_of_run = live::decide::recover(state, action);
            if is_of_run {
            } else if action == "supply-output" && misses_no_result(state) {
                layers::usage(state);
            } else {
                recover::begin(state, action);
            }
        }
        Command::FixAll => fix_all::begin(state),
        Command::EditJson => recover::edit_json(state),
        Command::Break
        | Command::Breakpoints
        | Command::StepRun
        | Command::Continue
        | Command::PauseRun
        | Command::Abort
        | Command::Always => live::obey(state, command),
        Command::Undo => takes::ask(state, TakesCommand::Undo),
        Command::Redo => takes::redo(state),
        Command::Fork => takes::fork(state),
        Command::Takes => takes::tree(state),
        Command::SaveAs => takes::ask(state, TakesCommand::Formats(state.session)),
        Command::Note => takes::ask_for_note(state),
        Command::Follow => follow(state),
        Command::Log => layers::log(state),
        Command::Health => live::health(state),
        Command::Explain => layers::explain(state),
        Command::Usage => layers::usage(state),
        Command::Sort => layers::sort_usage(state),
        Command::Timeline => layers::timeline(state),
        Command::Help => state.open_help(),
        Command::Editor => {
            let read = state.session().zip(state.item());
            match read.map(|(session, item)| session.bytes(item)) {
                Some(Ok(bytes)) => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    state.effects.push(Effect::EditItem(text));
                }
                Some(Err(error)) => state.notice = Some(error.to_string()),
                None => {}
            }
        }
        Command::Back => {
            layers::back(state);
        }
        Command::Close if layers::back_from_list(state) => {}
        Command::Close | Command::Quit => leaving::ask_to_leave(state, command),
        Command::Suspend => state.effects.push(Effect::Suspend),
        Command::Redraw => state.effects.push(Effect::Redraw),
        Command::NextTheme => state.effects.push(Effect::NextTheme),
        // Of layers and of other screens.
        _ => {}
    }
}

/// Whether one pane has the whole screen anyway.
fn shows_one_pane(state: &State) -> bool {
    let is_seen = |pane: &&Pane| state.layout.area(**pane).is_some();
    Pane::ALL.iter().filter(is_seen).count() < 2
}

/// Whether the cursor of the transcript is on an item with which nothing is wrong.
fn misses_no_result(state: &State) -> bool {
    let is_open = state.session().is_some_and(|session| {
        let is_call = state.item().is_some_and(|item| item.kind == Kind::Call);
        is_call && session.pairing.partner(state.item).is_none()
    });
    let is_in_flow = state.transcript.is_on && state.focus == Pane::Turns;
    is_in_flow && state.is_known() && !is_open && state.offering_here().next().is_none()
}

fn palette(state: &mut State) {
    let panes = [Context::Browse, Context::Detail, Context::List];
    let commands = keymap::commands_of(&panes).into_iter();
    let commands = commands.filter(|(_, command)| state.has_use(*command));
    let (rows, commands): (Vec<_>, Vec<_>) = commands.unzip();
    let palette = CommandPalette::new(&rows, "a turn").with_items();
    state.open(palette, move |state, _, choice| match choice {
        Choice::Chosen(number) => obey(state, commands[number]),
        Choice::Number(number) => motion::go_to_turn(state, number),
        Choice::Item(number) => motion::go_to_item(state, number),
    });
}

fn only_marked(state: &mut State) {
    if state.only_marked {
        state.show_all();
    } else if state.marks.is_empty() && state.recovery.takes.notes.is_empty() {
        state.say("nothing is marked: m marks an item, ' writes a note on it");
    } else {
        state.only_marked = true;
        state.show_marked();
        motion::stay_in_sight(state);
    }
}

fn open(state: &mut State) {
    if state.focus == Pane::Turns && transcript::keys::enter(state, motion::open_session) {
        return;
    }
    match state.focus {
        Pane::Findings => {
            state.transcript.read_at = None;
            motion::focus(state, Pane::Turns);
            motion::focus(state, Pane::Items);
        }
        Pane::Sessions => {
            let session = state.listed_session;
            let sessions = state.document.as_ref();
            let of_file = sessions.map_or(0, |it| it.recording.sessions.len());
            if let Some(file) = session.checked_sub(of_file) {
                let path = state.sub_agents.get(file).map(|file| file.path.clone());
                return state.effects.extend(path.map(Effect::Open));
            }
            let (bar, filter) = (state.filter_bar.clone(), state.filter.clone());
            transcript::keys::note_way(state, session);
            motion::open_session(state, session);
            motion::focus(state, Pane::Turns);
            if filter.is_some() {
                (state.filter_bar, state.filter) = (bar, filter);
                layers::sift_again(state);
            }
        }
        // The flow shows the item already, at every width.
        Pane::Turns if state.transcript.is_on && state.offering_here().next().is_some() => {
            recover::offers(state);
        }
        Pane::Turns if state.transcript.is_on => {
            transcript::keys::go_to_result(state);
            motion::focus(state, Pane::Detail);
        }
        // Only one pane is seen: the item comes before its fixes.
        Pane::Turns | Pane::Items
            if state.size.0 < WIDE && state.layout.area(Pane::Detail).is_none() =>
        {
            motion::focus(state, Pane::Detail);
        }
        Pane::Turns | Pane::Items | Pane::Detail if state.offering_here().next().is_some() => {
            recover::offers(state);
        }
        Pane::Turns | Pane::Items => motion::focus(state, Pane::Detail),
        Pane::Detail => {}
    }
}

fn follow(state: &mut State) {
    if state.live.is_on() {
        state.follow = match state.follow {
            Follow::On => Follow::Off,
            Follow::Off | Follow::Paused => Follow::On,
        };
        if state.follow == Follow::On {
            return motion::to_end(state);
        }
        return;
    }
    match state.follow {
        Follow::On => {
            state.follow = Follow::Off;
            state.effects.push(Effect::Watch(false))
        }
        Follow::Off | Follow::Paused => {
            let was_off = state.follow == Follow::Off;
            state.follow = Follow::On;
            motion::to_end(state);
            if was_off {
                state.effects.push(Effect::Watch(true));
            }
        }
    }
}
