//! What the panes open over themselves to look for something: find, filter, copy, the log, the tool health.

use super::{leaving, motion};
use crate::tui::copy::{Copied, CopyMenu, LIMIT};
use crate::tui::effect::{Counting, Effect, Hit, SearchRequest, Sifting};
use crate::tui::filter::{Filter, FilterBar, Filtering, tool_in, tools_named, unknown_tool};
use crate::tui::keymap::{Command, Direction};
use crate::tui::live::words::sentence;
use crate::tui::stack::{Flow, OpeningLayer, Screen as _};
use crate::tui::state::detail::Mode;
use crate::tui::state::document::Place;
use crate::tui::state::hits::Hits;
use crate::tui::state::layout::Pane;
use crate::tui::state::tree::Shown;
use crate::tui::state::{Queued, State};
use crate::tui::texts::{self, TextPage};
use crate::tui::timeline::TimelinePage;
use crate::tui::transcript::nested::nested_calls;
use crate::tui::transcript::{Jump, keys};
use crate::usage::{UsageTarget, next_order};
use crate::words::session_label;
use retake_core::content::{call_text, display_name, result_text, without_colours};
use retake_core::rules::Health;
use retake_core::session::{Item, Kind};
use retake_core::wire::body_of;
use retake_core::wire::images::{image_files, images_of};
use retake_live::SubAgent;
use retake_live::search::Needle;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Asks for a text to find.
pub(super) fn find(state: &mut State) {
    let mut prompt = state.find.clone();
    prompt.open("");
    state.open(prompt, |state, prompt, text| {
        state.find = prompt.clone();
        match Needle::parse(&text) {
            Ok(needle) => {
                state.search_for(needle);
                next_hit(state, Direction::Forward);
            }
            Err(error) => state.notice = Some(error.to_string()),
        }
    });
}

/// Asks for a filter; what it lets through is shown while it is typed.
pub(super) fn filter(state: &mut State) {
    let mut bar = state.filter_bar.clone();
    bar.open();
    let before = state.shown.clone();
    let opening = OpeningLayer::new(bar, |state: &mut State, bar, filtering| match filtering {
        Filtering::Preview(filter) => {
            sift(state, filter, true);
            Flow::Stay
        }
        Filtering::Apply(filter) => {
            state.filter_bar = bar.clone();
            state.only_marked = false;
            state.shown = None;
            state.filter = (!matches!(filter, Filter::Everything)).then(|| filter.clone());
            state.has_moved = true;
            sift(state, filter, false);
            Flow::Close
        }
    });
    opening
        .if_left(move |state, _| state.shown = before)
        .over(state);
}

/// Asks which items a filter lets through.
pub(super) fn sift(state: &mut State, filter: Filter, is_preview: bool) {
    state.shown_elsewhere.clear();
    if matches!(filter, Filter::Everything) {
        state.shown = None;
    } else if let Some(document) = state.document.clone() {
        state.effects.push(Effect::Sift(Sifting {
            document,
            session: state.session,
            checked: state.checked.clone(),
            takes: state.recovery.takes.clone(),
            filter,
            is_preview,
        }));
    }
}

/// Applies the filter again to what is shown now.
pub(super) fn sift_again(state: &mut State) {
    if let Some(filter) = state.filter.clone() {
        sift(state, filter, false);
    }
}

/// Applies a filter by findings again: the rules have seen the session that is shown.
pub(super) fn sift_checked(state: &mut State) {
    if state.filter.as_ref().is_some_and(Filter::asks_for_findings) {
        sift_again(state);
    }
}

/// Shows what a filter lets through.
pub(super) fn sifted(state: &mut State, shown: Arc<Shown>, is_preview: bool) {
    let is_typing = state.layers.top::<FilterBar>().is_some();
    if is_preview != is_typing {
        return;
    }
    let has_pane = state.layout.area(Pane::Turns).is_some();
    state.unknown_tool = None;
    if shown.items.is_empty() && !is_preview {
        let session = state.session();
        let names = session.map(|session| {
            let names = session.items.iter().map(|item| session.name(item));
            let names: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
            names.into_iter().collect::<Vec<_>>()
        });
        let filter = state.filter_bar.applied();
        let unknown = unknown_tool(filter, &names.unwrap_or_default());
        let elsewhere = tool_in(filter).map_or(0, |tool| calls_elsewhere(state, tool));
        state.unknown_tool = match elsewhere {
            0 => unknown,
            count => unknown.map(|_| {
                let agents = if count == 1 {
                    "sub-agent calls"
                } else {
                    "sub-agents call"
                };
                let tool = tool_in(state.filter_bar.applied()).unwrap_or_default();
                format!("{count} {agents} `{tool}`, not this one: S lists them")
            }),
        };
        if !has_pane {
            state.say(state.no_match());
        }
    }
    state.shown = Some(shown);
    motion::stay_in_sight(state);
}

/// How many sub-agents with files of their own call a tool.
fn calls_elsewhere(state: &State, tool: &str) -> usize {
    let is_meant = tools_named(tool);
    let files = state.sub_agents.iter();
    let calls = |file: &&SubAgent| {
        let mut tools = file.usage.by_tool.iter();
        tools.any(|tool| is_meant(&tool.name))
    };
    files.filter(calls).count()
}

/// Says how many items a filter lets through in other sessions.
pub(super) fn sifted_elsewhere(state: &mut State, items: Vec<(usize, usize)>) {
    if state.filter.is_none() {
        return;
    }
    state.shown_elsewhere = items;
    if state.has_no_match() {
        let words = state.no_match();
        state.notice = Some(words);
    } else if let Some(words) = state.words_elsewhere() {
        let words = format!("{words} match, too: S lists the sessions, enter keeps the filter");
        state.notice.get_or_insert(words);
    }
}

/// Pictures: the kind and the file of each.
type Pictures = Vec<(&'static str, Vec<u8>)>;

/// The index of the item with the cursor, or of the result of its call, with the pictures that it holds.
fn pictures_here(state: &State) -> Option<(usize, Pictures)> {
    let session = state.session()?;
    let places = [Some(state.item), session.pairing.partner(state.item)];
    places.into_iter().flatten().find_map(|place| {
        let item = session.items.get(place)?;
        let bytes = session.bytes(item).ok()?;
        let kinds = images_of(item, &bytes).into_iter();
        let kinds = kinds.filter_map(|image| image.kind.filter(|_| image.size.is_some()));
        let files: Vec<_> = kinds.zip(image_files(item, &bytes)).collect();
        (!files.is_empty()).then_some((place, files))
    })
}

/// Shows the pictures of the item, or of the result of the call.
#[cfg(feature = "images")]
pub(super) fn picture(state: &mut State) {
    use crate::tui::pictures::{PictureView, picker};

    let Some((_, files)) = pictures_here(state) else {
        return state.say("no image here");
    };
    let files = files.into_iter().map(|(_, file)| file).collect();
    let Some(picker) = picker(&|name| std::env::var(name).ok()) else {
        let words = "this terminal cannot draw images (kitty, iTerm2 and foot can); set RETAKE_IMAGES=sixel if yours can";
        return state.say(words);
    };
    OpeningLayer::new(PictureView::new(picker, files), |_, _, ()| ())
        .if_left(|state: &mut State, _| state.effects.push(Effect::Redraw))
        .over(state);
}

/// Saves the pictures of the item, or of the result of the call, as files.
#[cfg(not(feature = "images"))]
pub(super) fn picture(state: &mut State) {
    use crate::tui::effect::TakesCommand;
    use crate::tui::prompt::Prompt;
    use crate::tui::recovery::saving::{COPY, stem};

    let Some((item, files)) = pictures_here(state) else {
        return state.say("no image here");
    };
    let kind = files.first().map_or("png", |(kind, _)| *kind);
    let stem = stem(&state.name, state.recovery.takes.current);
    let stem = stem.trim_end_matches(COPY);
    let title = if files.len() == 1 {
        "save the image as "
    } else {
        "save the images as "
    };
    let mut prompt = Prompt::new(title, "enter saves, esc cancels");
    prompt.open(&format!("{stem}.item-{}.{kind}", item + 1));
    state.open(prompt, move |state, _, path: String| match path.trim() {
        "" => state.say("not saved: no path"),
        path => {
            let path = path.to_owned();
            let files = files.clone();
            super::takes::ask(state, TakesCommand::Pictures { path, files });
        }
    });
}

/// Asks for the next place of the text.
pub(super) fn next_hit(state: &mut State, direction: Direction) {
    let Some(needle) = state.needle.clone() else {
        state.notice = Some("no search text yet: / enters one".to_owned());
        return;
    };
    let whole = state.document.clone().filter(|_| state.is_whole());
    let Some(document) = whole else {
        state.queued = Some(Queued::Search(direction));
        return state.say("the search begins once the file is read");
    };
    state.has_moved = true;
    state.notice = Some("searching".to_owned());
    let counting = Counting {
        document,
        needle,
        tool: state.needle_tool.clone(),
        session: state.session,
        is_raw: state.detail.mode == Mode::Raw,
        takes: state.recovery.takes.clone(),
    };
    state.effects.push(Effect::Search(SearchRequest {
        counting: counting.clone(),
        from: state.place(),
        occurrence: state.occurrence_here(),
        direction,
    }));
    count_places(state, counting);
}

/// Goes to the item with the text for which the recording was opened.
pub(super) fn go_to_sought(state: &mut State) {
    let Some((needle, place)) = state.sought.take() else {
        return;
    };
    state.has_moved = true;
    (state.hits, state.hit) = (None, None);
    state.needle = Some(needle.clone());
    found(
        state,
        Some((
            Hit {
                place,
                occurrence: 0,
            },
            false,
        )),
    );
    if let Some(document) = state.document.clone() {
        let counting = Counting {
            document,
            needle,
            tool: None,
            session: place.session,
            is_raw: false,
            takes: state.recovery.takes.clone(),
        };
        count_places(state, counting);
    }
}

fn count_places(state: &mut State, counting: Counting) {
    let hits = state.hits.as_ref();
    if !hits.is_some_and(|hits| hits.is_of(&counting)) {
        state.hits = Some(Hits::new(counting.clone()));
        state.effects.push(Effect::Count(counting));
    }
}

/// The tool of a call as the transcript writes it, and a text in it: the argument of `Bash(cargo test)`, the value of
/// the first one in `book(from: JFK, to: LIS)`, the name in `Read(`.
fn parts_of_call(text: &str) -> Option<(&str, &str)> {
    let (name, arguments) = text.trim().split_once('(')?;
    let arguments = arguments.strip_suffix(')').unwrap_or(arguments).trim();
    let is_key = |key: &str| !key.contains(|letter: char| letter.is_whitespace() || letter == '"');
    let within = match arguments.split_once(": ") {
        _ if arguments.is_empty() => name.rsplit('.').next()?,
        Some((key, values)) if is_key(key) => values.split(", ").next()?,
        _ => arguments,
    };
    (!within.is_empty()).then_some((name, within))
}

/// Looks for the argument in the calls of a tool, whose title is in no file as the transcript writes it; false where
/// the text that was not found is none.
fn find_argument(state: &mut State) -> bool {
    let written = state.find.history().last();
    let parts = written.and_then(|text| parts_of_call(text));
    let (Some((name, argument)), None, Some(document)) =
        (parts, &state.needle_tool, &state.document)
    else {
        return false;
    };
    let mut tools = document.recording.sessions.iter();
    let tool = tools.find_map(|session| {
        let mut names = session.names.iter().map(|(_, tool)| tool);
        names.find(|tool| display_name(tool) == name)
    });
    let (Some(tool), Ok(needle)) = (tool.map(Arc::from), Needle::new(argument)) else {
        return false;
    };
    state.search_for(needle);
    state.needle_tool = Some(tool);
    next_hit(state, Direction::Forward);
    true
}

/// Goes to what was found.
pub(super) fn found(state: &mut State, found: Option<(Hit, bool)>) {
    if found.is_none() && find_argument(state) {
        return;
    }
    let wrapped = matches!(found, Some((_, true))).then(|| "search wrapped".to_owned());
    let elsewhere = found.and_then(|(hit, _)| place_elsewhere(state, hit.place.session));
    let words: Vec<String> = elsewhere.into_iter().chain(wrapped).collect();
    state.says_hit = true;
    state.notice = match found {
        None => Some(match state.find.history().last() {
            Some(text) => format!("not found: {text}"),
            None => "not found".to_owned(),
        }),
        Some(_) => Some(words.join(", ")).filter(|words| !words.is_empty()),
    };
    if let Some((hit @ Hit { place, .. }, _)) = found {
        motion::open_session(state, place.session);
        motion::reveal(state, place.item);
        state.go_to(place.item);
        state.hit = Some(hit);
        state.detail.seeks = true;
        if state.transcript.is_on {
            state.transcript.jump_to(Jump::Item);
            state.transcript.seek();
        }
    }
}

/// Which session it is, where it is another one than that which is shown.
fn place_elsewhere(state: &State, index: usize) -> Option<String> {
    let session = state.document.as_ref()?.session(index)?;
    let number = format!("in session {}", index + 1);
    (index != state.session).then(|| match &*session_label(session) {
        "" => number,
        label => format!("{number}, {label}"),
    })
}

/// Takes more of the items that hold the text, with the number of its places in each.
pub(super) fn counted(
    state: &mut State,
    counting: &Counting,
    places: Vec<(Place, usize)>,
    is_done: bool,
) {
    let hits = state.hits.as_mut();
    if let Some(hits) = hits.filter(|hits| hits.is_of(counting)) {
        hits.take(places, is_done);
    }
}

/// Opens the log at its end: the newest events are what is looked for.
pub(super) fn log(state: &mut State) {
    if state.is_of_proxy() && state.live.proxy_log.is_none() {
        state.effects.push(Effect::ReadProxyLog);
    }
    let page = TextPage::new(Command::Log, texts::log);
    state.open(page.at_end(), |_, _, _| ());
}

/// Explains the findings at the cursor: those of its item, of the other half of its pair, or the first one of its turn.
pub(super) fn explain(state: &mut State) {
    let (Some(session), Some(checked)) = (state.session(), state.checked()) else {
        return;
    };
    let of_partner = || {
        let partner = session.pairing.partner(state.item)?;
        Some(checked.of_item(partner)).filter(|found| !found.is_empty())
    };
    let of_turn = || {
        let turn = session.turns.get(state.turn())?;
        checked.findings()[checked.range(turn.items())]
            .chunks(1)
            .next()
    };
    let findings = match state.focus {
        Pane::Findings => checked
            .findings()
            .get(state.finding)
            .map(std::slice::from_ref),
        _ => {
            let here = Some(state.findings_here()).filter(|found| !found.is_empty());
            here.or_else(of_partner).or_else(of_turn)
        }
    };
    let Some(mut findings) = findings.map(<[_]>::to_vec) else {
        let here = state.live.reason_at(state.item);
        if let Some(reason) = here.or_else(|| state.live.reasons().first()) {
            let words = sentence(reason);
            let page = TextPage::new(Command::Explain, move |_: &State, theme, width| {
                texts::pause(&words, theme, width)
            });
            state.open(page, |_, _, _| ());
            return;
        }
        let words = match checked.findings().is_empty() {
            true => motion::with_read_errors(state, "no findings in this session"),
            false => "no finding in this turn: ] goes to the next one".to_owned(),
        };
        state.notice = Some(words);
        return;
    };
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let dialect = session.dialect;
    let page = TextPage::new(Command::Explain, move |state: &State, theme, width| {
        let offers_all = state.offers_safe_fix();
        texts::explanations(&findings, dialect, offers_all, theme, width)
    });
    state.open(page, |_, _, _| ());
}

/// Counts what is checked so far, for the table of tool health.
pub(super) fn health(state: &mut State) {
    let Some(document) = state.document.clone() else {
        return;
    };
    let sessions = &document.recording.sessions;
    let (mut health, all) = (Health::default(), sessions.len());
    for (session, checked) in sessions.iter().zip(&state.checked) {
        if let Some(checked) = checked {
            health.add(session, checked.findings());
        }
    }
    let page = TextPage::new(Command::Health, move |_: &State, theme, width| {
        texts::health(&health, all, theme, width)
    });
    state.open(page, |_, _, _| ());
}

/// Shows what the session took.
pub(super) fn usage(state: &mut State) {
    state.count_totals();
    let sessions = state.document.as_ref().map(|it| &it.recording.sessions[..]);
    let calls = nested_calls(
        sessions.unwrap_or_default(),
        &state.sub_agents,
        state.session,
    );
    let page = TextPage::new(Command::Usage, move |state: &State, theme, width| {
        texts::usage(state, &calls, theme, width)
    });
    page.set_cursor(state.usage.cursor);
    let opening = OpeningLayer::new(page, |state: &mut State, page, target| {
        state.usage.cursor = page.cursor();
        go_to_target(state, target);
    });
    opening.if_left(|state, _| back_to_list(state)).over(state);
}

/// Goes back to the list of a proxy that asked for totals or a timeline.
fn back_to_list(state: &mut State) {
    if std::mem::take(&mut state.usage.is_of_list) {
        state.effects.push(Effect::Close);
    }
}

/// Sorts the totals by something else.
pub(super) fn sort_usage(state: &mut State) {
    let page = state.layers.top::<TextPage<State>>();
    let page = page.filter(|page| page.command() == Command::Usage);
    let (Some(page), Some(totals)) = (page, state.totals()) else {
        return;
    };
    page.set_cursor(0);
    state.usage.order = next_order(totals, state.usage.order);
}

/// Goes to what a row of the totals counts.
fn go_to_target(state: &mut State, target: UsageTarget) {
    let (UsageTarget::Item(item) | UsageTarget::SubAgent(item)) = target;
    state.usage.is_of_list = false;
    state.has_moved = true;
    state.jumped_from = Some(state.place());
    state.say(format!("esc goes back to turn {}", state.turn() + 1));
    motion::focus(state, Pane::Turns);
    motion::reveal(state, item);
    state.go_to(item);
    if matches!(target, UsageTarget::SubAgent(_)) {
        keys::enter(state, motion::open_session);
    }
}

/// Goes back to where a row of the totals or of the timeline led away from; false where there is no way back.
fn back_from_jump(state: &mut State) -> bool {
    let session = state.session;
    let from = state.jumped_from.take_if(|from| from.session == session);
    if let Some(from) = from {
        motion::reveal(state, from.item);
        state.go_to(from.item);
    }
    from.is_some()
}

/// Shows the session as bars over time.
pub(super) fn timeline(state: &mut State) {
    state.count_totals();
    let opening = OpeningLayer::new(TimelinePage::new(state), |state: &mut State, _, item| {
        go_to_target(state, UsageTarget::Item(item));
    });
    opening.if_left(|state, _| back_to_list(state)).over(state);
}

/// Opens the menu of what can be copied of the item with the cursor.
pub(super) fn copy(state: &mut State) {
    let mut available = vec![Copied::Text, Copied::Path, Copied::Raw];
    let kind = state.item().map(|item| item.kind);
    if matches!(kind, Some(Kind::Call | Kind::HostedCall)) {
        available.push(Copied::Arguments);
    }
    let has_partner = state
        .session()
        .is_some_and(|session| session.pairing.partner(state.item).is_some());
    if kind == Some(Kind::Output) || has_partner {
        available.push(Copied::Output);
    }
    if state.item().is_some_and(|item| !item.call_id.is_none()) {
        available.push(Copied::CallId);
    }
    if state.live.error().is_some() {
        available.push(Copied::Error);
    }
    let menu = CopyMenu::of_item(&available);
    state.open(menu, |state, _, what| match copied(state, what) {
        Some(bytes) if bytes.len() > LIMIT => {
            let long = format!("too long for the clipboard: {} bytes", bytes.len());
            state.notice = Some(format!("{long}; ^e opens it in the editor"));
        }
        Some(bytes) => state.effects.push(Effect::Copy(bytes)),
        None => state.notice = Some("nothing to copy".to_owned()),
    });
}

fn copied(state: &State, what: Copied) -> Option<Vec<u8>> {
    let session = state.session()?;
    let item = state.item()?;
    let body = |item: &Item| body_of(item, &session.bytes(item).ok()?).ok();
    let output = |item: &Item| {
        let text = body(item)?.text;
        let result = without_colours(&result_text(&text).text).into_owned();
        Some(result.into_bytes())
    };
    let bytes = match what {
        Copied::Text if item.kind == Kind::Output => output(item)?,
        Copied::Text => match body(item) {
            Some(body) if body.text.is_empty() => {
                let arguments = body.arguments.as_written();
                let text = call_text(session.name(item), arguments);
                text.unwrap_or_else(|| arguments.to_owned()).into_bytes()
            }
            Some(body) => body.text.into_bytes(),
            None => session.bytes(item).ok()?,
        },
        Copied::Arguments => body(item)?.arguments.as_written().into(),
        Copied::Output if item.kind == Kind::Output => output(item)?,
        Copied::Output => output(session.items.get(session.pairing.partner(state.item)?)?)?,
        Copied::CallId => session.call_id(item).ok()?.into_bytes(),
        Copied::Path => state.name.clone().into_bytes(),
        Copied::Raw => session.bytes(item).ok()?,
        Copied::Error => state.live.error()?.into(),
    };
    Some(bytes)
}

/// One step back: what lies over the panes, then the places of a search, the zoom, the pane, a filter.
pub(super) fn back(state: &mut State) {
    if state.leave_layer() {
    } else if state.highlighted().is_some() {
        // The text stays for `n`; its places are no longer set apart.
        (state.hits, state.hit) = (None, None);
    } else if std::mem::take(&mut state.is_zoomed)
        || back_to_flow(state)
        || leave_list(state)
        || back_from_jump(state)
    {
    } else if state.shown.is_some() {
        state.show_all();
    } else if state.focus != Pane::Turns {
        motion::focus(state, Pane::Turns);
    } else if !back_to_parent(state) && state.is_sub_agent_file {
        leaving::ask_to_leave(state, Command::Close);
    }
}

/// Goes back to the session from which this one was reached; false where there was none.
fn back_to_parent(state: &mut State) -> bool {
    let is_back = keys::leave(state, motion::open_session);
    if is_back {
        if state.only_marked {
            state.show_marked();
        }
        sift_again(state);
    }
    is_back
}

/// Closes the list of findings or of sessions, and goes back to where it was opened from.
pub(super) fn leave_list(state: &mut State) -> bool {
    let is_open = is_list(state);
    if is_open {
        motion::focus(state, Pane::Turns);
        keys::return_to_place(state, motion::open_session);
    }
    is_open
}

/// Closes the pane of the item beside or over the transcript.
fn back_to_flow(state: &mut State) -> bool {
    let is_over = is_over_flow(state);
    if is_over {
        motion::focus(state, Pane::Turns);
    }
    is_over
}

/// Whether the item is shown in full beside or over the transcript.
fn is_over_flow(state: &State) -> bool {
    matches!(state.left, Pane::Turns | Pane::Items | Pane::Detail)
        && state.transcript.is_on
        && state.focus == Pane::Detail
}

fn is_list(state: &State) -> bool {
    matches!(state.left, Pane::Findings | Pane::Sessions)
}

/// Whether `q` closes a pane.
pub fn closes_pane(state: &State) -> bool {
    is_over_flow(state) || is_list(state)
}

/// Closes what `q` closes before it quits.
pub(super) fn back_from_list(state: &mut State) -> bool {
    if !state.has_overlay() && back_to_flow(state) {
        return true;
    }
    if state.has_overlay() || is_list(state) {
        back(state);
        return true;
    }
    back_to_parent(state)
}
