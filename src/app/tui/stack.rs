//! The layers over a screen: one stack.
//!
//! ```text
//! state.open(Confirmation::new("abort", reason, "Abort the run?"), |state, _, ()| abort(state));
//! ```

use super::copy;
use super::help::Help;
use super::keymap::{self, Command, Context, Group, KeyEntry};
use super::layer::{Areas, Input, Layer, Placement, Step};
use super::theme::Theme;
use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::Clear;
use std::any::Any;
use std::fmt;

/// What the list of recordings has, for its help.
const LISTED: &str =
    "The list without paths has the recordings of the current folder, of agents and of retake.";

/// Whether a layer stays once its opener has its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Stay,
    Close,
}

/// An opener that says nothing wants the layer closed.
impl From<()> for Flow {
    fn from((): ()) -> Self {
        Self::Close
    }
}

/// A screen that layers lie over.
pub trait Screen: Sized + 'static {
    fn layers(&mut self) -> &mut Layers<Self>;

    /// The table of its own keys.
    fn context(&self) -> Context {
        Context::Overlay
    }

    /// Whether a command of its tables can do anything here.
    fn has_use(&self, _: Command) -> bool {
        true
    }

    /// The groups of keys that the help begins with, where they are not the usual ones.
    fn first_groups(&self) -> &'static [Group] {
        &[]
    }

    /// Gives a text to $EDITOR; what is made of it comes back as [`Input::Edited`].
    fn edit(&mut self, text: String);

    /// Opens a layer; `then` gets what it gives, with the layer itself. The layer is not among the others
    /// while it has an input, so that what `then` opens lies over it.
    fn open<L: Layer<Self>, R: Into<Flow>>(
        &mut self,
        layer: L,
        then: impl FnMut(&mut Self, &mut L, L::Output) -> R + Send + 'static,
    ) {
        OpeningLayer::new(layer, then).over(self);
    }

    /// Gives an input to the topmost layer; false where there is none, or where it is not for it.
    fn give_to_layers(&mut self, input: Input<'_>) -> bool {
        let Some(mut top) = self.layers().0.pop() else {
            return false;
        };
        if let Input::Key(key) = input
            && top.asks_for_help(&key)
        {
            self.layers().0.push(top);
            self.open_help();
            return true;
        }
        let depth = self.layers().0.len();
        let after = top.handle(input, self);
        match after {
            After::Stay | After::Pass => {
                let layers = &mut self.layers().0;
                layers.insert(depth.min(layers.len()), top);
            }
            After::Leave => top.leave(self),
            After::Done => {}
        }
        !matches!(after, After::Pass)
    }

    /// Shows the keys of the layers, those of the topmost first; where nothing lies over the screen, its own.
    fn open_help(&mut self) {
        let layers = &self.layers().0;
        let mut keys: Vec<KeyEntry> = Vec::new();
        keys.extend(layers.last().into_iter().flat_map(|top| top.terms()));
        let mut contexts: Vec<&[Context]> =
            layers.iter().rev().map(|layer| layer.contexts()).collect();
        let (own, is_bare) = ([self.context()], contexts.is_empty());
        if is_bare {
            contexts.push(&own);
        }
        for contexts in contexts {
            for key in keymap::keys_of(contexts, |command| self.has_use(command)) {
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        let first = self.first_groups();
        let place = |key: &KeyEntry| first.iter().position(|group| group.title() == key.group);
        keys.sort_by_key(|key| place(key).unwrap_or(first.len()));
        let notes: &[&'static str] = match is_bare {
            true if own == [Context::Picker] => &[LISTED, copy::NOTE],
            true => &[copy::NOTE],
            false => &[],
        };
        let help = Help::new(&keys, &keymap::all_keys(), notes);
        self.open(help, |_, _, ()| ());
    }

    /// Leaves the topmost layer; false where there is none.
    fn leave_layer(&mut self) -> bool {
        let top = self.layers().0.pop();
        top.map(|top| top.leave(self)).is_some()
    }

    fn leave_layers(&mut self) {
        while self.leave_layer() {}
    }

    /// Leaves the layers that no longer hold; whether there were any.
    fn leave_outdated(&mut self) -> bool {
        let layers = std::mem::take(&mut self.layers().0);
        let (valid, outdated): (Vec<_>, Vec<_>) =
            layers.into_iter().partition(|layer| layer.is_valid(self));
        self.layers().0 = valid;
        let were_any = !outdated.is_empty();
        outdated.into_iter().for_each(|layer| layer.leave(self));
        were_any
    }
}

/// The layers over a screen, the topmost last.
pub struct Layers<S>(Vec<Box<dyn Opened<S>>>);

impl<S> Default for Layers<S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<S> fmt::Debug for Layers<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Layers")
            .field(&self.0.len())
            .finish()
    }
}

impl<S: 'static> Layers<S> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The topmost layer, where it is of this kind.
    pub fn top<L: Layer<S>>(&self) -> Option<&L> {
        self.0.last()?.layer().downcast_ref()
    }

    /// The same, to be changed.
    pub fn top_mut<L: Layer<S>>(&mut self) -> Option<&mut L> {
        self.0.last_mut()?.layer_mut().downcast_mut()
    }

    /// The layers of a kind, the topmost last.
    pub fn of<L: Layer<S>>(&mut self) -> impl Iterator<Item = &mut L> {
        let layers = self.0.iter_mut();
        layers.filter_map(|layer| layer.layer_mut().downcast_mut())
    }

    /// Draws the topmost layer alone: it covers what lies below it.
    pub fn view_top(&self, frame: &mut Frame<'_>, screen: &S, theme: &Theme) {
        if let Some(top) = self.0.last() {
            top.view(frame, frame.area(), screen, theme);
        }
    }

    pub fn prepare_top(&mut self, area: Rect) {
        if let Some(top) = self.0.last_mut() {
            top.prepare(area);
        }
    }

    /// Whether something on one of them changes as time goes by.
    pub fn tick(&self) -> bool {
        self.0.iter().any(|layer| layer.ticks())
    }

    pub fn view(&self, frame: &mut Frame<'_>, areas: Areas, screen: &S, theme: &Theme) {
        let below = Theme {
            shows_keys: false,
            ..*theme
        };
        for (number, layer) in self.0.iter().enumerate() {
            // Keys do what they do on the topmost one.
            let theme = match number + 1 == self.0.len() {
                true => theme,
                false => &below,
            };
            let area = match layer.placement() {
                Placement::Screen => areas.screen,
                Placement::Body => areas.body,
                Placement::Footer => {
                    frame.render_widget(Clear, areas.footer);
                    areas.footer
                }
            };
            layer.view(frame, area, screen, theme);
        }
    }
}

pub struct OpeningLayer<S, L: Layer<S>> {
    layer: L,
    then: Then<S, L>,
    left: Option<Left<S, L>>,
    holds: Option<Holds<S>>,
}

type Then<S, L> = Box<dyn FnMut(&mut S, &mut L, <L as Layer<S>>::Output) -> Flow + Send>;
type Left<S, L> = Box<dyn FnOnce(&mut S, L) + Send>;
type Holds<S> = Box<dyn Fn(&S) -> bool + Send>;

impl<S: Screen, L: Layer<S>> OpeningLayer<S, L> {
    pub fn new<R: Into<Flow>>(
        layer: L,
        mut then: impl FnMut(&mut S, &mut L, L::Output) -> R + Send + 'static,
    ) -> Self {
        Self {
            layer,
            then: Box::new(move |screen, layer, output| then(screen, layer, output).into()),
            left: None,
            holds: None,
        }
    }

    /// What is to be done where it is left, or no longer holds: not where it is done.
    pub fn if_left(mut self, left: impl FnOnce(&mut S, L) + Send + 'static) -> Self {
        self.left = Some(Box::new(left));
        self
    }

    /// [`Screen::leave_outdated`] closes it once this is false.
    pub fn as_long_as(mut self, holds: impl Fn(&S) -> bool + Send + 'static) -> Self {
        self.holds = Some(Box::new(holds));
        self
    }

    pub fn over(self, screen: &mut S) {
        screen.layers().0.push(Box::new(self));
    }
}

/// What the stack knows of a layer.
trait Opened<S>: Send {
    fn contexts(&self) -> &'static [Context];
    fn terms(&self) -> &[KeyEntry];
    fn asks_for_help(&self, key: &KeyEvent) -> bool;
    fn placement(&self) -> Placement;
    fn handle(&mut self, input: Input<'_>, screen: &mut S) -> After;
    fn prepare(&mut self, area: Rect);
    fn view(&self, frame: &mut Frame<'_>, area: Rect, screen: &S, theme: &Theme);
    fn ticks(&self) -> bool;
    fn is_valid(&self, screen: &S) -> bool;
    fn leave(self: Box<Self>, screen: &mut S);
    fn layer(&self) -> &dyn Any;
    fn layer_mut(&mut self) -> &mut dyn Any;
}

enum After {
    Stay,
    Pass,
    Leave,
    Done,
}

impl<S: Screen, L: Layer<S>> Opened<S> for OpeningLayer<S, L> {
    fn contexts(&self) -> &'static [Context] {
        self.layer.contexts()
    }

    fn terms(&self) -> &[KeyEntry] {
        self.layer.terms()
    }

    fn asks_for_help(&self, key: &KeyEvent) -> bool {
        self.layer.asks_for_help(key)
    }

    fn placement(&self) -> Placement {
        self.layer.placement()
    }

    fn handle(&mut self, input: Input<'_>, screen: &mut S) -> After {
        match self.layer.handle(input, screen) {
            Step::Stay => After::Stay,
            Step::Pass => After::Pass,
            Step::Leave => After::Leave,
            Step::Edit(text) => {
                screen.edit(text);
                After::Stay
            }
            Step::Done(output) => match (self.then)(screen, &mut self.layer, output) {
                Flow::Stay => After::Stay,
                Flow::Close => After::Done,
            },
        }
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, screen: &S, theme: &Theme) {
        self.layer.view(frame, area, screen, theme);
    }

    fn prepare(&mut self, area: Rect) {
        self.layer.prepare(area);
    }

    fn ticks(&self) -> bool {
        self.layer.ticks()
    }

    fn is_valid(&self, screen: &S) -> bool {
        self.holds.as_ref().is_none_or(|holds| holds(screen))
    }

    fn leave(self: Box<Self>, screen: &mut S) {
        if let Some(left) = self.left {
            left(screen, self.layer);
        }
    }

    fn layer(&self) -> &dyn Any {
        &self.layer
    }

    fn layer_mut(&mut self) -> &mut dyn Any {
        &mut self.layer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::prompt::Prompt;
    use crate::tui::recovery::forms::Confirmation;
    use crate::tui::recovery::tests::fixture::{event, events, screen};

    #[derive(Default)]
    struct Bench {
        layers: Layers<Self>,
        heard: Vec<String>,
        is_open: bool,
    }

    impl Screen for Bench {
        fn layers(&mut self) -> &mut Layers<Self> {
            &mut self.layers
        }

        fn context(&self) -> Context {
            Context::Browse
        }

        fn edit(&mut self, text: String) {
            self.heard.push(text);
        }
    }

    fn prompt() -> OpeningLayer<Bench, Prompt> {
        let prompt = Prompt::new("find", "");
        let opening =
            OpeningLayer::new(prompt, |bench: &mut Bench, _, text| bench.heard.push(text));
        opening.if_left(|bench, prompt| bench.heard.push(format!("left {}", prompt.text())))
    }

    fn press(bench: &mut Bench, keys: &str) {
        for key in events(keys) {
            assert!(bench.give_to_layers(Input::Key(key)), "{key:?}");
        }
    }

    #[test]
    fn an_opener_hears_what_is_done_and_what_is_left() {
        let mut bench = Bench::default();
        assert!(!bench.give_to_layers(Input::Key(event("j"))));
        prompt().over(&mut bench);
        press(&mut bench, "\"one\" enter");
        prompt().over(&mut bench);
        press(&mut bench, "\"two\" esc");
        assert!(bench.layers.is_empty());
        assert_eq!(bench.heard, ["one", "left two"]);
    }

    #[test]
    fn what_an_answer_opens_lies_over_what_stays() {
        let mut bench = Bench::default();
        let question = Confirmation::new("go", "", "Go?");
        bench.open(question, |bench, _, ()| {
            prompt().over(bench);
            Flow::Stay
        });
        press(&mut bench, "y");
        assert!(bench.layers.top::<Prompt>().is_some());
        press(&mut bench, "esc");
        assert!(bench.layers.top::<Confirmation>().is_some());
    }

    #[test]
    fn what_no_longer_holds_is_left_wherever_it_lies() {
        let mut bench = Bench {
            is_open: true,
            ..Bench::default()
        };
        prompt().as_long_as(|bench| bench.is_open).over(&mut bench);
        prompt().over(&mut bench);
        assert!(!bench.leave_outdated());
        bench.is_open = false;
        assert!(bench.leave_outdated());
        assert_eq!(bench.heard, ["left "]);
        assert_eq!(bench.layers.of::<Prompt>().count(), 1);
    }

    #[test]
    fn the_help_shows_the_layers_from_the_topmost_down_and_else_the_screen() {
        let mut bench = Bench::default();
        bench.open_help();
        let shown = |bench: &Bench| {
            let help: &Help = bench.layers.top().unwrap();
            screen((60, 60), |frame, area, theme| {
                help.view(frame, area, bench, theme)
            })
        };
        assert!(shown(&bench).contains("next finding"));
        bench.leave_layers();
        bench.open(Confirmation::new("go", "", "Go?"), |_, _, ()| ());
        prompt().over(&mut bench);
        press(&mut bench, "F1");
        let shown = shown(&bench);
        let place = |words| shown.find(words);
        assert!(place("previous entry").unwrap() < place(" yes").unwrap());
        assert_eq!(place("next finding"), None, "the keys below do not work");
    }
}
