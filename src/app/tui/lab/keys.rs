//! Keys, the mouse and pasted text in the lab, and what lies over it.

use super::form::{FIELDS, Field, Row};
use super::state::{Lab, Over, Saved, Stage, Wish};
use super::winning::Winning;
use super::words;
use crate::tui::copy;
use crate::tui::help::Help;
use crate::tui::keymap::lab::{Job, job, jobs};
use crate::tui::keymap::{Command as Shared, all_keys};
use crate::tui::list::ListCursor;
use crate::tui::palette::Palette;
use crate::tui::prompt::Prompt;
use crate::tui::recovery::forms::Confirmation;
use crate::tui::recovery::page::Page;
use crate::tui::recovery::wording::{Entry, Setup, WordingEditor};
use crate::tui::state::detail::{Line, Tone};
use crossterm::event::{KeyEvent, KeyEventKind, MouseEvent, MouseEventKind};
use retake_core::lab::{Origin, Phase, Spec};
use retake_core::safe_text::SafeText;
use retake_core::wording::{Channel, VARIABLES, default_of};
use retake_live::lab::Command;

/// How many samples `+` takes of each wording.
const MORE: u32 = 10;

impl Lab {
    pub fn key(&mut self, key: KeyEvent) -> Vec<Wish> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        self.notice = None;
        if !self.over.is_empty() {
            return self.key_over(key);
        }
        match job(self.context(), &key) {
            Some(job) => self.obey(job, key),
            None => Vec::new(),
        }
    }

    /// Quits, unless an experiment would end by that: then the operator is asked.
    pub fn quit(&mut self) -> Vec<Wish> {
        self.ask_to_leave(Wish::Quit)
    }

    pub fn paste(&mut self, text: &str) {
        match self.over.last_mut() {
            Some(Over::Palette(palette, _)) => palette.paste(text),
            Some(Over::Help(help)) => help.paste(text),
            Some(Over::Value(prompt, _) | Over::SaveAs(prompt, _)) => drop(prompt.paste(text)),
            Some(Over::Editor(editor, _)) => editor.paste(text),
            _ => {}
        }
    }

    /// Takes the mouse: the wheel moves, a click chooses, a click on the chosen row opens.
    pub fn mouse(&mut self, event: MouseEvent) -> Vec<Wish> {
        match self.over.last_mut() {
            Some(Over::Help(help)) => help.mouse(event),
            Some(Over::Editor(editor, _)) => editor.mouse(event),
            Some(Over::Words(_, page)) => page.mouse(event),
            Some(Over::Winner(winning)) => winning.mouse(event),
            Some(_) => {}
            None => {
                let Some((cursor, count)) = self.list() else {
                    return Vec::new();
                };
                let before = cursor.get();
                let is_taken = cursor.mouse(event, count);
                let is_same = cursor.get() == before;
                if is_taken && is_same && matches!(event.kind, MouseEventKind::Down(_)) {
                    return match self.stage {
                        Stage::Ordering => self.switch(),
                        Stage::Beginning | Stage::Measuring(_) => self.open(),
                    };
                }
            }
        }
        Vec::new()
    }

    /// The list that has the keys, and how many rows it has.
    pub(super) fn list(&mut self) -> Option<(&mut ListCursor, usize)> {
        match &mut self.stage {
            Stage::Ordering => {
                let count = self.form.rows().len();
                Some((&mut self.form.cursor, count))
            }
            Stage::Beginning => None,
            Stage::Measuring(table) => {
                let listed = table.samples.as_ref().map(|(variant, _)| *variant);
                let count = match listed {
                    Some(variant) => table.samples_of(variant).len(),
                    None => table.order().len(),
                };
                let cursor = match &mut table.samples {
                    Some((_, cursor)) => cursor,
                    None => &mut table.cursor,
                };
                Some((cursor, count))
            }
        }
    }

    pub(super) fn obey(&mut self, job: Job, key: KeyEvent) -> Vec<Wish> {
        match job {
            Job::Begin => return self.begin(),
            Job::Switch => return self.switch(),
            Job::Change => self.change(),
            Job::Add => self.edit_words(true),
            Job::Remove => {
                if !self.form.remove() {
                    self.notice = Some(
                        "only words of your own are taken away; space leaves a wording out"
                            .to_owned(),
                    );
                }
            }
            Job::Channel => self.next_channel(),
            Job::Save => self.ask_where(),
            Job::Words => self.show_words(),
            Job::Open => return self.open(),
            Job::Pause => return self.pause(),
            Job::More if self.table().is_some() => {
                self.notice = Some(format!("{MORE} samples more of each wording"));
                return vec![Wish::Tell(Command::More(MORE))];
            }
            Job::Stop => self.ask_to_stop(),
            Job::Sort => {
                if let Some(table) = self.table_mut() {
                    table.sort();
                }
            }
            Job::Winner => return self.ask_for_winner(),
            Job::Trial(direction) => {
                let table = self.table_mut();
                if !table.is_some_and(|table| table.turn(direction.is_forward())) {
                    self.notice = Some("one model is asked".to_owned());
                }
            }
            Job::Palette => {
                let (rows, jobs): (Vec<_>, Vec<_>) = jobs(self.context()).into_iter().unzip();
                let palette = Box::new(Palette::new(&rows, "a row"));
                self.over.push(Over::Palette(palette, jobs));
            }
            Job::Shared(command) => return self.obey_shared(command, key),
            Job::More => {}
        }
        Vec::new()
    }

    fn obey_shared(&mut self, command: Shared, key: KeyEvent) -> Vec<Wish> {
        match command {
            Shared::Help => {
                let rows: Vec<_> = jobs(self.context())
                    .into_iter()
                    .map(|(row, _)| row)
                    .collect();
                let help = Help::new(&rows, &all_keys(), &[copy::NOTE]);
                self.over.push(Over::Help(Box::new(help)));
            }
            Shared::Back | Shared::Close => {
                let samples = self.table_mut().and_then(|table| table.samples.take());
                if samples.is_none() {
                    return self.ask_to_leave(Wish::Leave);
                }
            }
            Shared::Quit => return self.quit(),
            Shared::Suspend => return vec![Wish::Suspend],
            Shared::Redraw => return vec![Wish::Redraw],
            _ => {
                if let Some((cursor, count)) = self.list() {
                    cursor.key(key, count);
                }
            }
        }
        Vec::new()
    }

    fn begin(&mut self) -> Vec<Wish> {
        let order = match self.form.order() {
            Ok(order) => order,
            Err(missing) => {
                self.notice = Some(missing);
                self.ask_for_model();
                return Vec::new();
            }
        };
        let wish = Wish::Begin(Box::new(order));
        if let Some(warning) = self.form.warning() {
            let question = Confirmation::new("not trusted", &warning, "Begin?");
            self.over.push(Over::Sure(Box::new(question), wish));
            return Vec::new();
        }
        self.granted(wish)
    }

    /// Notes what a wish changes here, and passes it on.
    pub(super) fn granted(&mut self, wish: Wish) -> Vec<Wish> {
        if let Wish::Begin(order) = &wish {
            self.ordered = Some((**order).clone());
            self.stage = Stage::Beginning;
        }
        vec![wish]
    }

    fn switch(&mut self) -> Vec<Wish> {
        let here = self.form.here();
        if here.is_some_and(|(it, _)| it.origin == Origin::Recorded) {
            self.notice = Some(
                "the words of the recording are always in: the others are compared with them"
                    .to_owned(),
            );
        } else if !self.form.switch() {
            self.change();
        }
        Vec::new()
    }

    /// Without a model nothing can begin: where none can be asked, its name is asked for.
    fn ask_for_model(&mut self) {
        let rows = self.form.rows();
        let model = rows
            .iter()
            .position(|row| *row == Row::Field(Field::Models));
        if let Some(model) = model.filter(|_| self.form.models.is_err()) {
            self.form.cursor.set(model);
            self.change();
        }
    }

    /// Asks for the value with the cursor, or opens the words.
    fn change(&mut self) {
        match self.form.row() {
            Some(Row::Field(field)) if self.form.is_on(field).is_some() => {
                self.form.switch();
            }
            Some(Row::Field(field)) => {
                let mut fields = FIELDS.iter();
                let known = fields.find(|(known, ..)| *known == field);
                if let Some((_, name, hint)) = known {
                    let mut prompt = Prompt::new(name, hint);
                    prompt.open(&self.form.value(field));
                    self.over.push(Over::Value(Box::new(prompt), field));
                }
            }
            Some(Row::Wording(_)) if self.form.own().is_some() => self.edit_words(false),
            Some(Row::Wording(_)) => {
                self.notice = Some(
                    "this wording is kept as it is: a begins words of your own with it".to_owned(),
                );
            }
            None => {}
        }
    }

    /// Opens the editor for words of the operator's own: new ones begin with the wording that has the cursor.
    fn edit_words(&mut self, is_new: bool) {
        let here = self
            .form
            .here()
            .map(|(candidate, _)| candidate.text.clone())
            .filter(|text| !text.is_empty());
        let text = here.unwrap_or_else(|| default_of(self.subject.kind).template.to_owned());
        let library = self.form.wordings.iter().map(|(candidate, _)| Entry {
            name: candidate.name.clone(),
            title: candidate.title.clone(),
            axes: candidate.axes.clone(),
            text: candidate.text.clone(),
        });
        let setup = Setup {
            title: format!("words of your own: {}", self.subject.rule),
            text,
            library: library.collect(),
            placeholders: VARIABLES.iter().map(|it| it.name.to_owned()).collect(),
            faulty: 1,
            whole_turn: false,
            last_try: None,
            previewer: self.subject.previewer.clone(),
        };
        let editor = Box::new(WordingEditor::new(setup));
        self.over.push(Over::Editor(editor, is_new));
    }

    fn next_channel(&mut self) {
        let Some(own) = self.form.own() else {
            self.notice =
                Some("how a wording of the library reaches the model is part of it".to_owned());
            return;
        };
        own.channel = match own.channel {
            Channel::ErrorOutput => Channel::Output,
            Channel::Output => Channel::UserMessage,
            Channel::UserMessage => Channel::ErrorOutput,
        };
    }

    fn ask_where(&mut self) {
        match self.order() {
            Ok(order) => {
                let name = format!("{}.lab.toml", self.subject.rule);
                self.save_as(&name, Saved::Spec(Box::new(order)));
            }
            Err(missing) => self.notice = Some(missing),
        }
    }

    pub(super) fn save_as(&mut self, name: &str, what: Saved) {
        let mut prompt = Prompt::new("save as", "enter saves  esc leaves");
        prompt.open(name);
        self.over.push(Over::SaveAs(Box::new(prompt), what));
    }

    fn show_words(&mut self) {
        let shown = match (
            &self.table().and_then(|table| table.wording()),
            self.form.here(),
        ) {
            (Some(variant), _) => Some((variant.name.clone(), variant.words.clone())),
            (None, Some((candidate, _))) => Some((candidate.name.clone(), candidate.text.clone())),
            (None, None) => None,
        };
        let Some((name, text)) = shown else {
            self.notice = Some("no wording is chosen here".to_owned());
            return;
        };
        let lines = SafeText::from_str(&text);
        let lines = lines.lines().map(|line| Line::new(Tone::Plain, line));
        let title = SafeText::single_line(&name, 60);
        let page = Box::new(Page::new(lines.collect()));
        self.over.push(Over::Words(title, page));
    }

    /// The samples of the wording with the cursor; the take of the sample with the cursor.
    fn open(&mut self) -> Vec<Wish> {
        let Some(table) = self.table_mut() else {
            return Vec::new();
        };
        let Some((variant, cursor)) = &table.samples else {
            table.samples = table.variant().map(|it| (it, ListCursor::default()));
            return Vec::new();
        };
        let sample = table.samples_of(*variant).get(cursor.get());
        let take = sample.map(|sample| (sample.take, sample.why.clone()));
        let trial = table.trial;
        match (take, self.journal(trial)) {
            (Some((Some(take), _)), Some(journal)) => {
                let journal = journal.to_owned();
                return vec![Wish::Open { journal, take }];
            }
            (Some((None, why)), _) => {
                self.notice = Some(format!("the request failed, there is no take: {why}"));
            }
            _ => {}
        }
        Vec::new()
    }

    fn pause(&mut self) -> Vec<Wish> {
        let Some(table) = self.table() else {
            return Vec::new();
        };
        match table.board.phase {
            Phase::Running => vec![Wish::Tell(Command::Pause)],
            Phase::Paused => vec![Wish::Tell(Command::Resume)],
            Phase::Ending(_) | Phase::Ended(_) => {
                self.notice = Some("it is over: + takes more samples".to_owned());
                Vec::new()
            }
        }
    }

    fn ask_to_stop(&mut self) {
        if !self.is_running() {
            self.notice = Some("it is over already".to_owned());
            return;
        }
        let reason = "What is on its way is called off. The samples so far are kept.";
        let question = Confirmation::new("stop", reason, "End the experiment?");
        let wish = Wish::Tell(Command::Stop);
        self.over.push(Over::Sure(Box::new(question), wish));
    }

    /// Leaves; an experiment that runs would end by that, so the operator is asked.
    fn ask_to_leave(&mut self, wish: Wish) -> Vec<Wish> {
        if !self.is_running() {
            return vec![wish];
        }
        let reason = "The experiment runs and ends when it is left. The samples so far are kept in its \
            journals; the same experiment goes on from them.";
        let question = Confirmation::new("leave", reason, "End it and leave?");
        self.over.push(Over::Sure(Box::new(question), wish));
        Vec::new()
    }

    /// Asks for the spec of the experiment, from which follows what the wording with the cursor becomes.
    fn ask_for_winner(&mut self) -> Vec<Wish> {
        let order = self.ordered.clone();
        let Some((order, true)) = order.map(|order| (order, self.table().is_some())) else {
            return Vec::new();
        };
        vec![Wish::Becomes(Box::new(order))]
    }

    /// Shows what the wording with the cursor becomes.
    pub fn show_winner(&mut self, spec: &Spec) {
        let is_custom = self.subject.is_custom;
        let winning = self.table().and_then(|table| {
            let variant = table.variant()?;
            Winning::of(&table.board, spec, (table.trial, variant), is_custom)
        });
        match winning {
            Some(winning) => self.over.push(Over::Winner(Box::new(winning))),
            None => self.notice = Some("there is no wording here".to_owned()),
        }
    }

    /// What the form would ask, in words.
    pub(super) fn asks_in_words(&self) -> String {
        let models = self.form.models.as_ref().map_or(0, Vec::len) as u64;
        format!(
            "{}, {}: {} at most",
            words::count(self.form.chosen() as u64, "wording"),
            words::count(models, "model"),
            words::count(self.form.requests(), "request"),
        )
    }
}
