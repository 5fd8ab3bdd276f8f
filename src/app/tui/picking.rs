//! The picker with what works for it: the walk that finds files, the inspector that says what they hold.

use super::effect::{Effect, Perform};
use super::layer::{Layer, Step};
use super::picker::Picker;
use super::report::News;
use super::request::OpenRequest;
use super::theme::Theme;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use retake_live::Recording;
use retake_live::discover::{Discovery, Origin, Place, Walk, usual_places};
use retake_live::inspect::Inspector;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The choice of files.
pub(super) struct Picking {
    pub(super) picker: Picker,
    places: Vec<Place>,
    work: Option<(Walk, Inspector)>,
}

impl Picking {
    /// A choice among these files and folders; without any, among those where agents keep theirs.
    pub(super) fn new(paths: &[PathBuf]) -> Self {
        let named = |path: &PathBuf| Place {
            path: path.clone(),
            origin: Origin::Named,
        };
        let places = if paths.is_empty() {
            usual_places(&|name| std::env::var_os(name))
        } else {
            paths.iter().map(named).collect()
        };
        Self {
            picker: Picker::new(places.clone(), SystemTime::now()),
            places,
            work: None,
        }
    }

    /// Starts to look; to be called once the picker is painted. Files are judged as they will be when they are
    /// opened. `tell` is called in other threads.
    pub(super) fn start(
        &mut self,
        request: &OpenRequest,
        tell: impl Fn(News) + Clone + Send + Sync + 'static,
    ) {
        let found = tell.clone();
        let walk = Walk::start(self.places.clone(), move |discovery| {
            found(News::Found(discovery));
        });
        let knowledge = request.knowledge.clone();
        let judge = move |path: &Path, recording: &mut Recording| knowledge.judge(path, recording);
        let inspector = Inspector::start(
            request.options.clone(),
            Box::new(judge),
            move |number, summary| tell(News::Inspected(number, summary)),
        );
        self.work = Some((walk, inspector));
    }

    /// Takes what was found.
    pub(super) fn discover(&mut self, discovery: Discovery) {
        let files = match &discovery {
            Discovery::Found(files) => files.iter().map(|file| file.path.clone()).collect(),
            Discovery::Refused(..) | Discovery::Finished => Vec::new(),
        };
        self.picker.discover(discovery);
        if let Some((_, inspector)) = &self.work {
            inspector.add(files);
            inspector.order(self.picker.by_age());
        }
    }
}

impl<A: Perform> Layer<A> for Picking {
    type Output = ();

    fn key(&mut self, key: KeyEvent, app: &mut A) -> Step {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            _ if key.kind == KeyEventKind::Release => {}
            KeyCode::Char('z') if has_control => app.perform(vec![Effect::Suspend]),
            KeyCode::Char('l') if has_control => app.perform(vec![Effect::Redraw]),
            _ => app.perform(effects(self.picker.key(key))),
        }
        Step::Stay
    }

    fn mouse(&mut self, event: MouseEvent, app: &mut A) -> Step {
        app.perform(effects(self.picker.mouse(event)));
        Step::Stay
    }

    fn paste(&mut self, text: &str, _: &mut A) {
        self.picker.paste(text);
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &A, theme: &Theme) {
        self.picker.view(frame, area, theme);
        // What is on the screen is inspected first.
        if let Some((_, inspector)) = &self.work {
            inspector.prefer(self.picker.visible());
        }
    }
}

fn effects(picked: Step<PathBuf>) -> Vec<Effect> {
    match picked {
        Step::Done(path) => vec![Effect::Open(path)],
        Step::Leave => vec![Effect::Quit],
        Step::Stay | Step::Pass | Step::Edit(_) => Vec::new(),
    }
}
