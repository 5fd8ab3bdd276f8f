//! The picker with what works for it: the walk that finds files, the inspector that says what they hold.

use super::picker::{Picked, Picker};
use super::{News, Next, OpenRequest};
use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
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

    /// Has the files on the screen inspected first.
    pub(super) fn inspect_visible(&self) {
        if let Some((_, inspector)) = &self.work {
            inspector.prefer(self.picker.visible());
        }
    }

    /// Takes an event of the terminal.
    pub(super) fn take(&mut self, event: Event) -> Next {
        let picked = match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => return Next::Wait,
            Event::Key(key) if key.modifiers.contains(KeyModifiers::CONTROL) => match key.code {
                KeyCode::Char('c') => return Next::Leave,
                KeyCode::Char('z') => return Next::Suspend,
                KeyCode::Char('l') => return Next::Redraw,
                _ => self.picker.key(key),
            },
            Event::Key(key) => self.picker.key(key),
            Event::Mouse(event) => self.picker.mouse(event),
            Event::Paste(text) => {
                self.picker.paste(&text);
                return Next::Wait;
            }
            Event::Resize(..) | Event::FocusGained | Event::FocusLost => return Next::Wait,
        };
        match picked {
            Picked::Pending => Next::Wait,
            Picked::Open(path) => Next::Open(path),
            Picked::Left => Next::Leave,
        }
    }
}
