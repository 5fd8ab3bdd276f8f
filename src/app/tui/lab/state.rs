//! The state of the lab: the form, then the table, and what lies over them.

use super::form::{Field, Form, NamedModel};
use super::memory::LabMemory;
use super::subject::{ExperimentOrder, LabSubject, Saving};
use crate::tui::effect::Effect;
use crate::tui::keymap::Context;
use crate::tui::list::ListCursor;
use crate::tui::recovery::forms::Confirmation;
use crate::tui::stack::{Layers, Screen};
use retake_core::lab::words::{ended, last_failure, meant, remarks};
use retake_core::lab::{
    Board, LabPhase, LabSample, Origin, Trial, TrialEnd, WordingRow, WordingVariant, standings,
};
use retake_core::session::index_number;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the lab is at.
#[derive(Debug)]
pub(super) enum LabStage {
    /// The operator says what is measured.
    Ordering,
    /// It is being prepared.
    Beginning,
    Measuring(Box<WordingTable>),
}

#[derive(Debug)]
pub struct Lab {
    pub(super) subject: Arc<LabSubject>,
    pub(super) form: Form,
    pub(super) stage: LabStage,
    pub(super) layers: Layers<Self>,
    /// What is wanted since the last key.
    pub(super) effects: Vec<Effect>,
    pub(super) notice: Option<String>,
    /// What was reported while the experiment was prepared and ran.
    pub(super) notes: Vec<String>,
    /// What was ordered last.
    pub(super) ordered: Option<ExperimentOrder>,
}

impl Lab {
    /// The lab for a finding; `written_models` is proposed, `models` what it names.
    pub fn new(
        subject: LabSubject,
        written_models: String,
        models: Result<Vec<NamedModel>, String>,
        seed: u64,
    ) -> Self {
        let subject = Arc::new(subject);
        // That none is named yet, its field says.
        let notice = models.is_ok().then(|| notice_of(&models)).flatten();
        let mut form = Form::new(subject.clone(), written_models, models, seed);
        for own in subject.memory.own(subject.rule) {
            form.add(own.clone());
        }
        // Nothing can be measured before a model is named: its field is the first after the wordings.
        let names_model = !form.value(Field::Models).trim().is_empty();
        form.cursor.set(match names_model {
            true => 0,
            false => form.wordings.len(),
        });
        Self {
            form,
            subject,
            stage: LabStage::Ordering,
            layers: Layers::default(),
            effects: Vec::new(),
            notice,
            notes: Vec::new(),
            ordered: None,
        }
    }

    pub(super) fn table(&self) -> Option<&WordingTable> {
        match &self.stage {
            LabStage::Measuring(table) => Some(table),
            LabStage::Ordering | LabStage::Beginning => None,
        }
    }

    pub(super) fn table_mut(&mut self) -> Option<&mut WordingTable> {
        match &mut self.stage {
            LabStage::Measuring(table) => Some(table),
            LabStage::Ordering | LabStage::Beginning => None,
        }
    }

    /// Whether questions are still sent.
    pub fn is_running(&self) -> bool {
        match &self.stage {
            LabStage::Ordering => false,
            LabStage::Beginning => true,
            LabStage::Measuring(table) => table.is_running(),
        }
    }

    pub fn cannot_begin(&mut self, why: String) {
        if matches!(self.stage, LabStage::Beginning) {
            self.stage = LabStage::Ordering;
            self.notice = Some(why);
        }
    }

    /// Takes over the state of the experiment.
    pub fn hear(&mut self, board: Arc<Board>) {
        match &mut self.stage {
            LabStage::Ordering => {}
            LabStage::Beginning => {
                let table = WordingTable::new(board);
                self.stage = LabStage::Measuring(Box::new(table));
            }
            LabStage::Measuring(table) => {
                let was_running = table.is_running();
                table.learn(board);
                if let (true, Some(end)) = (was_running, table.ended()) {
                    let words = ended(&table.board.experiment, table.trial(), end);
                    let why = last_failure(&table.board, table.trial);
                    self.notice = Some(match (end, why) {
                        (TrialEnd::ModelFailed, Some(why)) => format!("{words}: {why}"),
                        (TrialEnd::ModelFailed, None) => words,
                        _ => format!("{words}: y exports the wording under the cursor"),
                    });
                }
            }
        }
        self.leave_outdated();
    }

    /// Has what was written and measured here remembered.
    pub fn remember(&self, memory: &mut LabMemory) {
        let models = self.form.models.is_ok();
        let models = models.then(|| self.form.value(Field::Models));
        let wordings = self.form.wordings.iter().map(|(wording, _)| wording);
        let own = wordings.filter(|wording| wording.origin == Origin::Spec);
        let own = own.map(|own| own.template.clone()).collect();
        let measured = self.table().map_or_else(Vec::new, WordingTable::standings);
        memory.learn(models, self.subject.rule, own, &measured);
    }

    /// What the lab was opened for.
    pub fn subject(&self) -> &LabSubject {
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
    pub fn learn_models(&mut self, models: Result<Vec<NamedModel>, String>) {
        self.notice = notice_of(&models);
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

    /// The order that is in the form, or that was given.
    pub(super) fn order(&self) -> Result<ExperimentOrder, String> {
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

/// What is to be known of models before they are asked: why there are none, or which key is missing.
fn notice_of(models: &Result<Vec<NamedModel>, String>) -> Option<String> {
    match models {
        Ok(models) => models.iter().find_map(|model| model.unset.clone()),
        Err(why) => Some(why.clone()),
    }
}

impl Screen for Lab {
    fn layers(&mut self) -> &mut Layers<Self> {
        &mut self.layers
    }

    fn context(&self) -> Context {
        match &self.stage {
            LabStage::Ordering => Context::LabForm,
            LabStage::Measuring(table) if table.samples.is_some() => Context::LabSamples,
            LabStage::Beginning | LabStage::Measuring(_) => Context::LabTable,
        }
    }

    fn edit(&mut self, text: String) {
        self.effects.push(Effect::Edit(text));
    }
}

// The wordings of an experiment with what came of each, and the samples of one of them.

/// The wordings of an experiment.
#[derive(Debug)]
pub(super) struct WordingTable {
    pub(super) board: Arc<Board>,
    /// The trial that is shown.
    pub(super) trial: usize,
    pub(super) cursor: ListCursor,
    /// Whether the best stand first.
    pub(super) is_sorted: bool,
    pub(super) samples: Option<(usize, ListCursor)>,
}

impl WordingTable {
    /// The table of an experiment.
    pub(super) fn new(board: Arc<Board>) -> Self {
        Self {
            board,
            trial: 0,
            cursor: ListCursor::default(),
            is_sorted: false,
            samples: None,
        }
    }

    /// Takes over the state of the experiment; the cursor stays on its wording.
    pub(super) fn learn(&mut self, board: Arc<Board>) {
        let variant = self.variant();
        self.board = board;
        self.go_to(variant);
    }

    /// The next or previous trial; false where there is only one.
    pub(super) fn turn(&mut self, forward: bool) -> bool {
        let count = self.board.experiment.trials.len();
        if count < 2 {
            return false;
        }
        let step = if forward { 1 } else { count - 1 };
        self.trial = (self.trial + step) % count;
        self.cursor.set(0);
        if let Some((_, cursor)) = &mut self.samples {
            cursor.set(0);
        }
        true
    }

    /// In the other order; the cursor stays on its wording.
    pub(super) fn sort(&mut self) {
        let variant = self.variant();
        self.is_sorted = !self.is_sorted;
        self.go_to(variant);
    }

    fn go_to(&mut self, variant: Option<usize>) {
        let order = self.order();
        let row = order.iter().position(|one| Some(*one) == variant);
        self.cursor.set(row.unwrap_or(0));
    }

    /// The trial that is shown.
    pub(super) fn trial(&self) -> Option<&Trial> {
        self.board.experiment.trials.get(self.trial)
    }

    /// The variants in the order in which they stand.
    pub(super) fn order(&self) -> Vec<usize> {
        let count = self.trial().map_or(0, |trial| trial.variants.len());
        let mut order: Vec<usize> = (0..count).collect();
        if self.is_sorted {
            let standings = self.standings();
            let rate = |variant: usize| {
                let standing = standings.get(variant);
                let rate = standing.and_then(|standing| standing.measured.rate());
                rate.unwrap_or(-1.0)
            };
            order.sort_by(|one, other| rate(*other).total_cmp(&rate(*one)));
        }
        order
    }

    /// The variant with the cursor.
    pub(super) fn variant(&self) -> Option<usize> {
        self.order().get(self.cursor.get()).copied()
    }

    /// The wording with the cursor, or whose samples are listed.
    pub(super) fn wording(&self) -> Option<&WordingVariant> {
        let listed = self.samples.as_ref().map(|(variant, _)| *variant);
        let variant = listed.or_else(|| self.variant())?;
        self.trial()?.variants.get(variant)
    }

    pub(super) fn samples_of(&self, variant: usize) -> &[LabSample] {
        self.board.samples(self.trial, variant)
    }

    /// What came of each wording of the trial so far, in the order of the experiment.
    pub(super) fn standings(&self) -> Vec<WordingRow> {
        standings(&self.board, self.trial)
    }

    /// How many questions with a wording are on their way.
    pub(super) fn in_flight_of(&self, variant: usize) -> u32 {
        let in_flight_of = self.board.in_flight.get(self.trial);
        let in_flight_of = in_flight_of.and_then(|in_flight_of| in_flight_of.get(variant));
        index_number(in_flight_of.map_or(0, Vec::len))
    }

    /// The remarks on the trial: on small samples, on intervals that overlap.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = remarks(&self.board, self.trial);
        remarks.extend(self.trial().map(|trial| meant(&trial.subject.meant)));
        remarks
    }

    /// How many questions are on their way in all trials.
    pub(super) fn in_flight(&self) -> u32 {
        let in_flight_of = self.board.in_flight.iter().flatten();
        index_number(in_flight_of.map(Vec::len).sum())
    }

    /// Whether anything is still to come by itself.
    pub(super) fn is_running(&self) -> bool {
        !matches!(self.board.phase, LabPhase::Ended(_))
    }

    /// Why it is over.
    pub(super) fn ended(&self) -> Option<TrialEnd> {
        match self.board.phase {
            LabPhase::Ended(end) => Some(end),
            _ => None,
        }
    }
}

// Numbers in few cells.

/// A number in four cells: `87`, `1234`, `12k`, `3.4M`.
pub(super) fn short(number: u64) -> String {
    match number {
        0..=9_999 => number.to_string(),
        10_000..=999_999 => format!("{}k", number / 1000),
        _ => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
    }
}

/// `1 request`, `2 requests`.
pub(super) fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
