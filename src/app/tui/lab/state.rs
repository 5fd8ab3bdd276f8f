//! The lab as it stands: the form, then the table, and what lies over them.

use super::form::Form;
use super::models::Asked;
use super::subject::{Order, Saving, Subject};
use super::table::Table;
use crate::tui::effect::Effect;
use crate::tui::keymap::Context;
use crate::tui::recovery::forms::Confirmation;
use crate::tui::stack::{Layers, Screen};
use retake_core::lab::Board;
use retake_core::lab::words::ended;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the lab is at.
#[derive(Debug)]
pub(super) enum Stage {
    /// The operator says what is measured.
    Ordering,
    /// It is being prepared.
    Beginning,
    Measuring(Box<Table>),
}

#[derive(Debug)]
pub struct Lab {
    pub(super) subject: Arc<Subject>,
    pub(super) form: Form,
    pub(super) stage: Stage,
    pub(super) layers: Layers<Self>,
    /// What is wanted since the last key.
    pub(super) effects: Vec<Effect>,
    pub(super) notice: Option<String>,
    /// What was told while the experiment was prepared and ran.
    pub(super) notes: Vec<String>,
    /// What was ordered last.
    pub(super) ordered: Option<Order>,
}

impl Lab {
    /// The lab for a finding; `written_models` is proposed, `models` what it names.
    pub fn new(
        subject: Subject,
        written_models: String,
        models: Result<Vec<Asked>, String>,
        seed: u64,
    ) -> Self {
        let subject = Arc::new(subject);
        Self {
            form: Form::new(subject.clone(), written_models, models, seed),
            subject,
            stage: Stage::Ordering,
            layers: Layers::default(),
            effects: Vec::new(),
            notice: None,
            notes: Vec::new(),
            ordered: None,
        }
    }

    pub(super) fn table(&self) -> Option<&Table> {
        match &self.stage {
            Stage::Measuring(table) => Some(table),
            Stage::Ordering | Stage::Beginning => None,
        }
    }

    pub(super) fn table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.stage {
            Stage::Measuring(table) => Some(table),
            Stage::Ordering | Stage::Beginning => None,
        }
    }

    /// Whether questions are still asked.
    pub fn is_running(&self) -> bool {
        match &self.stage {
            Stage::Ordering => false,
            Stage::Beginning => true,
            Stage::Measuring(table) => table.is_running(),
        }
    }

    pub fn cannot_begin(&mut self, why: String) {
        if matches!(self.stage, Stage::Beginning) {
            self.stage = Stage::Ordering;
            self.notice = Some(why);
        }
    }

    /// It stands so now.
    pub fn hear(&mut self, board: Arc<Board>) {
        match &mut self.stage {
            Stage::Ordering => {}
            Stage::Beginning => {
                let table = Table::new(board);
                self.stage = Stage::Measuring(Box::new(table));
            }
            Stage::Measuring(table) => {
                let was_running = table.is_running();
                table.learn(board);
                if let (true, Some(end)) = (was_running, table.ended()) {
                    let words = ended(&table.board.experiment, table.trial(), end);
                    self.notice = Some(format!("{words}: y shows what a wording becomes"));
                }
            }
        }
    }

    /// What the lab was opened for.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Says something until the next key.
    pub fn say(&mut self, words: impl Into<String>) {
        self.notice = Some(words.into());
    }

    /// Tells the operator something that stays to be read.
    pub fn tell(&mut self, words: impl Into<String>) {
        let words = words.into();
        self.notes.push(words.clone());
        self.notice = Some(words);
    }

    /// Takes over which models the form names.
    pub fn learn_models(&mut self, models: Result<Vec<Asked>, String>) {
        self.notice = models.as_ref().err().cloned();
        self.form.models = models;
    }

    /// There is a file of this name already: whether it may be replaced is asked.
    pub fn ask_to_replace(&mut self, saving: Saving) {
        let question = format!("{} exists: replace it?", saving.path);
        let question = Confirmation::new("save", "", &question);
        let saving = Saving {
            force: true,
            ..saving
        };
        self.confirm(question, Effect::Save(saving));
    }

    /// The order that stands in the form, or that was given.
    pub(super) fn order(&self) -> Result<Order, String> {
        match &self.ordered {
            Some(order) if self.table().is_some() => Ok(order.clone()),
            _ => self.form.order(),
        }
    }

    pub(super) fn journal(&self, trial: usize) -> Option<&Path> {
        let journals = &self.table()?.board.journals;
        journals.get(trial).map(PathBuf::as_path)
    }
}

impl Screen for Lab {
    fn layers(&mut self) -> &mut Layers<Self> {
        &mut self.layers
    }

    fn context(&self) -> Context {
        match &self.stage {
            Stage::Ordering => Context::LabForm,
            Stage::Measuring(table) if table.samples.is_some() => Context::LabSamples,
            Stage::Beginning | Stage::Measuring(_) => Context::LabTable,
        }
    }

    fn edit(&mut self, text: String) {
        self.effects.push(Effect::Edit(text));
    }
}
