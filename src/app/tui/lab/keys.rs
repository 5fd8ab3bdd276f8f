//! Keys, the mouse and pasted text in the lab, and what lies over it.

use super::form::{FIELDS, Field, FormRow};
use super::state::{Lab, LabStage, counted};
use super::subject::{ExperimentOrder, LabSubject, Saved, Saving};
use crate::tui::effect::Effect;
use crate::tui::keymap::{self, Command, Context, command};
use crate::tui::layer::{Input, Layer, Step};
use crate::tui::list::ListCursor;
use crate::tui::loader::paths::completed;
use crate::tui::palette::{Choice, CommandPalette};
use crate::tui::popup::{Popup, centred, framed, rows, split_top, write};
use crate::tui::prompt::Prompt;
use crate::tui::recovery::forms::Confirmation;
use crate::tui::recovery::wording::{Setup, WordingEditor, WordingEntry};
use crate::tui::stack::{Flow, OpeningLayer, Screen as _};
use crate::tui::text::{Line, TextWindow, Tone};
use crate::tui::theme::Theme;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, MouseEvent, MouseEventKind};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::lab;
use retake_core::lab::{Board, LabPhase, Origin, Spec, winner};
use retake_core::safe_text::SafeText;
use retake_core::wording::{Channel, VARIABLES, default_of};
use std::sync::Arc;

/// The widest that a text over the lab grows.
const WIDEST: u16 = 110;
/// How many samples `+` takes of each wording.
const MORE: u32 = 10;

impl Lab {
    pub fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind != KeyEventKind::Release {
            self.notice = None;
            if !self.give_to_layers(Input::Key(key))
                && let Some(command) = keymap::command(self.context(), &key)
            {
                self.obey(command, key);
            }
        }
        std::mem::take(&mut self.effects)
    }

    /// Quits, unless an experiment would end by that: then the operator is asked.
    pub fn quit(&mut self) -> Vec<Effect> {
        self.ask_to_leave(Effect::Quit);
        std::mem::take(&mut self.effects)
    }

    /// Takes the mouse: the wheel moves, a click chooses, a click on the chosen row opens.
    pub fn mouse(&mut self, event: MouseEvent) -> Vec<Effect> {
        let is_over = self.give_to_layers(Input::Mouse(event)) || !self.layers.is_empty();
        if let Some((cursor, count)) = self.list().filter(|_| !is_over) {
            let before = cursor.get();
            let is_taken = cursor.mouse(event, count);
            let is_same = cursor.get() == before;
            if is_taken && is_same && matches!(event.kind, MouseEventKind::Down(_)) {
                match self.stage {
                    LabStage::Ordering => self.switch(),
                    LabStage::Beginning | LabStage::Measuring(_) => self.open_row(),
                }
            }
        }
        std::mem::take(&mut self.effects)
    }

    /// The list that has the keys, and how many rows it has.
    pub(super) fn list(&mut self) -> Option<(&mut ListCursor, usize)> {
        match &mut self.stage {
            LabStage::Ordering => {
                let count = self.form.rows().len();
                Some((&mut self.form.cursor, count))
            }
            LabStage::Beginning => None,
            LabStage::Measuring(table) => {
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

    fn obey(&mut self, command: Command, key: KeyEvent) {
        match command {
            Command::Begin => self.begin(),
            Command::Include => self.switch(),
            Command::Change => self.change(),
            Command::Add => self.edit_words(true),
            Command::Delete => {
                if !self.form.remove() {
                    self.notice = Some(
                        "only your own wordings can be removed; space excludes a wording"
                            .to_owned(),
                    );
                }
            }
            Command::Channel => self.next_channel(),
            Command::SaveAs => self.ask_where(),
            Command::Words => self.show_words(),
            Command::Open => self.open_row(),
            Command::PauseRun => self.pause(),
            Command::More if self.table().is_some() => {
                self.notice = Some(format!("{MORE} more samples of each wording"));
                self.effects
                    .push(Effect::Experiment(lab::LabCommand::More(MORE)));
            }
            Command::Abort => self.ask_to_stop(),
            Command::Sort => {
                if let Some(table) = self.table_mut() {
                    table.sort();
                }
            }
            Command::Winner => self.ask_for_winner(),
            Command::Recover("inject-error") => self.inject(),
            Command::Trial(direction) => {
                let table = self.table_mut();
                if !table.is_some_and(|table| table.turn(direction.is_forward())) {
                    self.notice = Some("a single model is used".to_owned());
                }
            }
            Command::Palette => {
                let commands = keymap::commands_of(&[self.context()]);
                let (rows, commands): (Vec<_>, Vec<_>) = commands.into_iter().unzip();
                self.open(
                    CommandPalette::new(&rows, "a row"),
                    move |lab, _, choice| {
                        lab.choose(choice, &commands);
                    },
                );
            }
            Command::More => {}
            Command::Help => self.open_help(),
            Command::Back | Command::Close => {
                let samples = self.table_mut().and_then(|table| table.samples.take());
                if samples.is_none() {
                    self.ask_to_leave(Effect::Close);
                }
            }
            Command::Quit => self.ask_to_leave(Effect::Quit),
            Command::Suspend => self.effects.push(Effect::Suspend),
            Command::Redraw => self.effects.push(Effect::Redraw),
            Command::NextTheme => self.effects.push(Effect::NextTheme),
            _ => {
                if let Some((cursor, count)) = self.list() {
                    cursor.key(key, count);
                }
            }
        }
    }

    /// Does what was chosen by name: what moves is done by its key.
    fn choose(&mut self, choice: Choice, commands: &[Command]) {
        match choice {
            Choice::Chosen(number) => {
                let command = commands[number];
                let key = keymap::key_of(command);
                self.obey(command, key.unwrap_or(KeyCode::Null.into()));
            }
            Choice::Number(number) | Choice::Item(number) => {
                if let Some((cursor, count)) = self.list() {
                    cursor.set(number.clamp(1, count.max(1)) - 1);
                }
            }
        }
    }

    fn begin(&mut self) {
        let order = match self.form.order() {
            Ok(order) => order,
            Err(missing) => {
                self.notice = Some(missing);
                return self.ask_for_model();
            }
        };
        if let Some(missing) = self.form.missing_key() {
            self.notice = Some(missing);
            return;
        }
        let effect = Effect::Begin(Box::new(order));
        if let Some((title, warning)) = self.form.warning() {
            let question = Confirmation::new(title, &warning, "Begin?");
            return self.confirm(question, effect);
        }
        self.grant(effect);
    }

    pub(super) fn confirm(&mut self, question: Confirmation, effect: Effect) {
        self.open(question, move |lab, _, ()| lab.grant(effect.clone()));
    }

    /// Notes what a effect changes here, and passes it on.
    fn grant(&mut self, effect: Effect) {
        if let Effect::Begin(order) = &effect {
            self.ordered = Some((**order).clone());
            self.stage = LabStage::Beginning;
        }
        self.effects.push(effect);
    }

    fn switch(&mut self) {
        let here = self.form.here();
        if here.is_some_and(|(it, _)| it.origin == Origin::Recorded) {
            self.notice =
                Some("the recorded wording is always included: it is the baseline".to_owned());
        } else if !self.form.switch() {
            self.change();
        }
    }

    /// Without a model nothing can begin: where none can be reached, its name is requested.
    fn ask_for_model(&mut self) {
        let rows = self.form.rows();
        let model = rows
            .iter()
            .position(|row| *row == FormRow::Field(Field::Models));
        if let Some(model) = model.filter(|_| self.form.models.is_err()) {
            self.form.cursor.set(model);
            self.change();
        }
    }

    /// Asks for the value with the cursor, or opens the words.
    fn change(&mut self) {
        match self.form.row() {
            Some(FormRow::Field(field)) if self.form.is_on(field).is_some() => {
                self.form.switch();
            }
            Some(FormRow::Field(field)) => {
                let mut fields = FIELDS.iter();
                let known = fields.find(|(known, ..)| *known == field);
                if let Some((_, name, hint)) = known {
                    let mut prompt = Prompt::new(name, hint);
                    if field == Field::Models {
                        prompt = prompt.with_completions(completed);
                    }
                    prompt.open(&self.form.value(field));
                    self.open(prompt, move |lab, prompt, text| {
                        match lab.form.set(field, &text) {
                            Ok(()) if field == Field::Models => {
                                lab.effects.push(Effect::ReadModels(text));
                            }
                            Ok(()) => {}
                            Err(wrong) => {
                                prompt.complain(SafeText::single_line(&wrong, 200));
                                return Flow::Stay;
                            }
                        }
                        Flow::Close
                    });
                }
            }
            Some(FormRow::Wording(_)) if self.form.own().is_some() => self.edit_words(false),
            Some(FormRow::Wording(_)) => {
                self.notice =
                    Some("this wording cannot be edited: a starts your own from it".to_owned());
            }
            None => {}
        }
    }

    /// Opens the editor for words of the operator's own: new ones begin with the wording that has the cursor.
    fn edit_words(&mut self, is_new: bool) {
        let here = self
            .form
            .here()
            .map(|(candidate, _)| candidate.template.clone())
            .filter(|text| !text.is_empty());
        let text = here.unwrap_or_else(|| default_of(self.subject.kind).template.to_owned());
        let library = self
            .form
            .wordings
            .iter()
            .map(|(candidate, _)| WordingEntry {
                name: candidate.name.clone(),
                title: candidate.title.clone(),
                axes: candidate
                    .axes
                    .map_or_else(String::new, |axes| axes.to_string()),
                rate: self.subject.memory.rate(self.subject.rule, &candidate.name),
                text: candidate.template.clone(),
            });
        let setup = Setup {
            title: format!("your own wording: {}", self.subject.rule),
            text,
            library: library.collect(),
            placeholders: VARIABLES.iter().map(|it| it.name.to_owned()).collect(),
            faulty: 1,
            whole_turn: false,
            last_try: None,
            previewer: self.subject.previewer.clone(),
        };
        let editor = WordingEditor::new(setup);
        self.open(editor, move |lab, _, worded| match lab.form.own() {
            Some(own) if !is_new => own.template = worded.template,
            _ => lab.form.add(worded.template),
        });
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

    fn save_as(&mut self, name: &str, what: Saved) {
        let mut prompt = Prompt::new("save as", "enter save  esc cancel");
        prompt.open(name);
        self.open(prompt, move |lab, _, path| {
            let path = path.trim().to_owned();
            if path.is_empty() {
                return Flow::Stay;
            }
            let what = what.clone();
            lab.effects.push(Effect::Save(Saving {
                path,
                what,
                force: false,
            }));
            Flow::Close
        });
    }

    fn show_words(&mut self) {
        let shown = match (
            &self.table().and_then(|table| table.wording()),
            self.form.here(),
        ) {
            (Some(variant), _) => Some((variant.name.clone(), variant.words.clone())),
            (None, Some((candidate, _))) => {
                Some((candidate.name.clone(), candidate.template.clone()))
            }
            (None, None) => None,
        };
        let Some((name, text)) = shown else {
            self.notice = Some("no wording is selected here".to_owned());
            return;
        };
        let lines = SafeText::from_str(&text);
        let lines = lines.lines().map(|line| Line::new(Tone::Plain, line));
        let words = WordsPage {
            title: SafeText::single_line(&name, 60),
            page: TextWindow::new(lines.collect()),
        };
        self.open(words, |_, _, ()| ());
    }

    /// The samples of the wording with the cursor; the take of the sample with the cursor.
    fn open_row(&mut self) {
        let Some(table) = self.table_mut() else {
            return;
        };
        let Some((variant, cursor)) = &table.samples else {
            table.samples = table.variant().map(|it| (it, ListCursor::default()));
            return;
        };
        let sample = table.samples_of(*variant).get(cursor.get());
        let take = sample.map(|sample| (sample.take, sample.why.clone()));
        let trial = table.trial;
        match (take, self.journal(trial)) {
            (Some((Some(take), _)), Some(journal)) => {
                let journal = journal.to_owned();
                self.effects.push(Effect::Sample(journal, take));
            }
            (Some((None, why)), _) => {
                self.notice = Some(format!("the request failed, there is no take: {why}"));
            }
            _ => {}
        }
    }

    fn pause(&mut self) {
        match self.table().map(|table| &table.board.phase) {
            Some(LabPhase::Running) => self
                .effects
                .push(Effect::Experiment(lab::LabCommand::Pause)),
            Some(LabPhase::Paused) => self
                .effects
                .push(Effect::Experiment(lab::LabCommand::Resume)),
            Some(LabPhase::Ending(_) | LabPhase::Ended(_)) => {
                self.notice = Some("the experiment has ended: + takes more samples".to_owned());
            }
            None => {}
        }
    }

    fn ask_to_stop(&mut self) {
        if !self.is_running() {
            self.notice = Some("the experiment has ended".to_owned());
            return;
        }
        let reason = "Running requests are cancelled. The samples so far are kept.";
        let question = Confirmation::new("stop", reason, "End the experiment?");
        self.confirm_while_running(question, Effect::Experiment(lab::LabCommand::Stop));
    }

    /// Leaves; an experiment that runs would end by that, so the operator is asked.
    fn ask_to_leave(&mut self, effect: Effect) {
        if !self.is_running() {
            return self.effects.push(effect);
        }
        let reason = "The experiment runs and ends when it is left. The samples so far are kept in its \
            journals; the same experiment goes on from them.";
        let question = Confirmation::new("leave", reason, "End it and leave?");
        self.confirm_while_running(question, effect);
    }

    /// Asks as long as the experiment goes on: then there is nothing to lose.
    fn confirm_while_running(&mut self, question: Confirmation, effect: Effect) {
        let then = move |lab: &mut Self, _: &mut Confirmation, ()| lab.grant(effect.clone());
        let opening = OpeningLayer::new(question, then);
        opening.as_long_as(Self::is_running).over(self);
    }

    /// Goes back to the call with the wording under the cursor, to inject it there.
    fn inject(&mut self) {
        let template = self.table().and_then(|table| table.wording());
        match template.map(|wording| wording.template.clone()) {
            Some(template) if !template.is_empty() => {
                let effect = Effect::InjectWording(self.subject.place, self.subject.rule, template);
                self.ask_to_leave(effect);
            }
            _ => self.say("no wording to inject here: this row asks the model as it is"),
        }
    }

    /// Asks for the spec of the experiment, from which follows what the wording with the cursor becomes.
    fn ask_for_winner(&mut self) {
        let order = self.ordered.clone().filter(|_| self.table().is_some());
        let effect = order.map(|order| Effect::Becomes(Box::new(order)));
        self.effects.extend(effect);
    }

    /// Shows what the wording with the cursor becomes.
    pub fn show_winner(&mut self, spec: &Spec) {
        let winning = self.table().and_then(|table| {
            let variant = table.variant()?;
            Winning::of(&table.board, spec, (table.trial, variant), &self.subject)
        });
        match winning {
            Some(winning) => self.open(winning, |lab, _, chosen| match chosen {
                Chosen::Copied(text) => lab.effects.push(Effect::Copy(text.into_bytes())),
                Chosen::Saved { name, what } => lab.save_as(&name, what),
            }),
            None => self.notice = Some("no wording here".to_owned()),
        }
    }

    pub(super) fn asks_in_words(&self) -> String {
        let models = self.form.models.as_ref().map_or(0, Vec::len) as u64;
        format!(
            "{}, {}: {} at most",
            counted(self.form.chosen() as u64, "wording"),
            counted(models, "model"),
            counted(self.form.requests(), "request"),
        )
    }
}

#[derive(Debug)]
struct WordsPage {
    title: SafeText,
    page: TextWindow,
}

impl Layer<Lab> for WordsPage {
    type Output = ();

    fn key(&mut self, key: KeyEvent, _: &mut Lab) -> Step {
        match self.page.key(key) {
            true => Step::Stay,
            false => Step::Leave,
        }
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut Lab) -> Step {
        self.page.mouse(event);
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &Lab, theme: &Theme) {
        let high = u16::try_from(self.page.len()).unwrap_or(u16::MAX);
        let area = centred(area, WIDEST, high.saturating_add(8));
        let inside = framed(frame, area, &self.title, " esc close ", theme);
        self.page.view(frame, inside, theme);
    }
}

// What a wording becomes once it was measured: texts to copy or to save.

/// What was chosen of what a wording becomes.
#[derive(Debug, Clone)]
pub(super) enum Chosen {
    Copied(String),
    Saved {
        /// The name that is proposed.
        name: String,
        what: Saved,
    },
}

/// Something that a wording becomes.
#[derive(Debug, Clone)]
struct Becoming {
    title: &'static str,
    /// What a file of it is called.
    file: String,
    /// The text, or the reason why there is none.
    text: String,
    /// `None` where it is not possible.
    what: Option<Saved>,
}

impl Becoming {
    /// Something with its text, or the reason why it is not possible.
    fn new<E: ToString>(
        title: &'static str,
        file: String,
        made: Result<(String, Saved), E>,
    ) -> Self {
        let (text, what) = match made {
            Ok((text, what)) => (text, Some(what)),
            Err(why) => (format!("not possible: {}", why.to_string()), None),
        };
        Self {
            title,
            file,
            text,
            what,
        }
    }
}

/// What a wording becomes.
#[derive(Debug)]
pub(super) struct Winning {
    title: SafeText,
    becomings: Vec<Becoming>,
    chosen: usize,
    page: TextWindow,
}

impl Winning {
    /// What the variant of a trial becomes; `spec` is what the experiment was ordered with. `None` where there
    /// is no such variant.
    fn of(
        board: &Board,
        spec: &Spec,
        (trial, variant): (usize, usize),
        subject: &Arc<LabSubject>,
    ) -> Option<Self> {
        let becomes = winner(board, spec, (trial, variant), subject.is_custom)?;
        let of_trial = board.experiment.trials.get(trial)?;
        let name = &of_trial.variants.get(variant)?.name;
        let rule = &of_trial.subject.rule;
        let text = |text: String| (text.clone(), Saved::Text(text));
        // Its paths depend on where it is saved.
        let test = becomes.test.map_err(|error| error.to_string());
        let test = test.and_then(|spec| {
            let text = spec.write().map_err(|error| error.to_string())?;
            let order = ExperimentOrder {
                spec,
                subject: subject.clone(),
                is_fresh: false,
            };
            Ok((text, Saved::Spec(Box::new(order))))
        });
        let recipe = format!("{}_recipe.py", rule.replace('-', "_"));
        let becomings = vec![
            Becoming::new(
                "policy",
                format!("{rule}.policy.toml"),
                becomes.policy.map(text),
            ),
            Becoming::new("openai-agents", recipe, becomes.recipe.map(text)),
            Becoming::new("regression test", format!("{rule}.lab.toml"), test),
        ];
        let mut winning = Self {
            title: SafeText::single_line(&format!("what {name} becomes"), 100),
            becomings,
            chosen: 0,
            page: TextWindow::default(),
        };
        winning.show();
        Some(winning)
    }

    fn show(&mut self) {
        let text = self.becomings.get(self.chosen);
        let text = SafeText::from_str(text.map_or("", |it| &it.text));
        let lines = text.lines().map(|line| Line::new(Tone::Plain, line));
        self.page = TextWindow::new(lines.collect());
    }
}

impl<S> Layer<S> for Winning {
    type Output = Chosen;

    fn contexts(&self) -> &'static [Context] {
        &[Context::Winner]
    }

    fn key(&mut self, key: KeyEvent, _: &mut S) -> Step<Chosen> {
        let chosen = self.becomings.get(self.chosen);
        let possible = chosen.and_then(|it| it.what.as_ref().map(|what| (it, what)));
        match (command(Context::Winner, &key), possible) {
            (Some(Command::Leave), _) => return Step::Leave,
            (Some(Command::Choose), Some((it, _))) => {
                return Step::Done(Chosen::Copied(it.text.clone()));
            }
            (Some(Command::Accept), Some((it, what))) => {
                return Step::Done(Chosen::Saved {
                    name: it.file.clone(),
                    what: what.clone(),
                });
            }
            (Some(Command::Value(direction)), _) => {
                let count = self.becomings.len().max(1);
                let step = if direction.is_forward() { 1 } else { count - 1 };
                self.chosen = (self.chosen + step) % count;
                self.show();
            }
            _ => drop(self.page.key(key)),
        }
        Step::Stay
    }

    fn mouse(&mut self, event: MouseEvent, _: &mut S) -> Step<Chosen> {
        self.page.mouse(event);
        Step::Stay
    }

    fn view(&self, frame: &mut Frame<'_>, area: Rect, _: &S, theme: &Theme) {
        let popup = Popup {
            title: &self.title,
            context: Context::Winner,
            without: &[],
        };
        let inside = popup.view(frame, area, theme);
        let mut tabs = Vec::new();
        for (number, becoming) in self.becomings.iter().enumerate() {
            let style = match number == self.chosen {
                true => theme.selected,
                false => theme.dim,
            };
            tabs.push(Span::styled(format!(" {} ", becoming.title), style));
            tabs.push(Span::raw(" "));
        }
        if let Some(row) = rows(inside).next() {
            write(frame, row, tabs, Style::new(), theme);
        }
        let [_, below] = split_top(inside, 2);
        self.page.view(frame, below, theme);
    }
}
