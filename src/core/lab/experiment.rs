//! What is to be measured: findings, models, and the wordings that are compared on them.

use crate::session::takes::TakeId;
use crate::wording::{Axes, Channel, FailureKind};
use serde::Serialize;

/// How often each wording is tried where nothing else is given.
pub(super) const USUAL_SAMPLES: u32 = 20;

/// How likely a false leader may be, at most, where nothing else is given.
pub const USUAL_ERROR_RATE: f64 = 0.05;

/// How many questions are on their way at once where nothing else is given.
pub const USUAL_CONCURRENCY: u32 = 4;

/// How many questions are on their way at once at most: more than an endpoint takes only wait for each other.
pub const MOST_CONCURRENCY: u32 = 64;

/// A wording that no file holds, and with which the others are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserved {
    /// Its name, which no other wording has.
    pub name: &'static str,
    pub title: &'static str,
}

/// What the model read about a failed call when it was recorded.
pub const RECORDED: Reserved = Reserved {
    name: "recorded",
    title: "as recorded",
};

/// Nothing at all: a turn that is requested again may come out better by itself.
pub const PLAIN: Reserved = Reserved {
    name: "plain",
    title: "requested again without a word",
};

pub const RESERVED: [Reserved; 2] = [RECORDED, PLAIN];

/// Whether no other wording may have this name.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.iter().any(|reserved| reserved.name == name)
}

/// What the wordings for a kind of failure are compared with.
pub fn baseline_of(kind: FailureKind) -> Reserved {
    match kind.is_of_call() {
        true => RECORDED,
        false => PLAIN,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    pub name: String,
    /// Each finding with each model.
    pub trials: Vec<Trial>,
    /// What the spec names beside them and cannot be tried.
    pub left_out: Vec<LeftOut>,
    /// How often each wording is tried in each trial, at most.
    pub samples: u32,
    /// When a trial may end before that.
    pub stop: Stop,
    pub caps: Caps,
    /// How many questions are on their way at once, at least 1.
    pub concurrency: u32,
    /// Where the order in which wordings are tried comes from.
    pub seed: u64,
}

/// When a trial ends before its last sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "stop", rename_all = "lowercase")]
pub enum Stop {
    Never,
    /// When one wording is better than each of the others.
    Clear {
        /// How likely it may be, at most, that a trial names a leader that is not better than all others.
        error_rate: f64,
    },
}

/// What may be spent by the whole experiment. What is on its way when a cap is reached still counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Caps {
    /// Requests to models, those that were sent again among them.
    #[serde(rename = "max_requests")]
    pub requests: Option<u32>,
    /// Tokens, sent and answered; estimated where a provider tells none.
    #[serde(rename = "max_tokens")]
    pub tokens: Option<u64>,
}

/// A finding that cannot be tried with a model. Texts are from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub subject: Subject,
    pub model: String,
    pub why: String,
    /// Whether of what a `[[finding]]` of the spec names nothing at all is tried.
    pub is_all: bool,
}

/// One finding with one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    pub subject: Subject,
    pub model: String,
    /// Whether a script answers in its place, which is shown wherever results are shown.
    pub is_scripted: bool,
    /// The wordings that are compared; the one of the recording first, where there is one.
    pub variants: Vec<WordingVariant>,
}

impl Trial {
    /// The variant that the others are compared with: that of the recording, else the first.
    pub fn baseline(&self) -> usize {
        let mut variants = self.variants.iter();
        let recorded = variants.position(|variant| variant.origin == Origin::Recorded);
        recorded.unwrap_or(0)
    }
}

/// A finding whose wording is looked for. Texts are from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Which of the findings of the spec it is, from 0; several trials may be of one.
    pub finding: usize,
    pub path: String,
    /// The session of the file, from 0.
    pub session: u32,
    /// The item of the finding, from 0.
    pub item: u32,
    pub rule: String,
    /// What kind of failure the model is informed of.
    pub kind: FailureKind,
    /// The tool of the failing call, as the model spelled it; empty where there is none.
    pub tool: String,
    /// What a corrected turn does.
    pub meant: Meant,
}

/// What a turn has to do to count as corrected, beside being sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meant {
    Tool(String),
    /// Call any tool on offer: nobody knows which one was meant.
    AnyTool,
    /// Give the final message.
    Message,
    /// Anything sound, a call or a message, that is not this turn again.
    Otherwise,
}

impl Meant {
    /// The word for it in reports, and the tool where it names one.
    pub fn words(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Tool(tool) => ("tool", Some(tool)),
            Self::AnyTool => ("any-tool", None),
            Self::Otherwise => ("otherwise", None),
            Self::Message => ("message", None),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct WordingVariant {
    /// Its name; a trial has each only once.
    pub name: String,
    pub title: String,
    pub origin: Origin,
    pub template: String,
    pub channel: Channel,
    /// Where it is on the axes, where that is known.
    pub axes: Option<Axes>,
    /// The words as the model reads them.
    pub words: String,
    /// The take with these words, in the journal of the trial.
    pub take: TakeId,
}

impl WordingVariant {
    /// Words that are answered to a call as an error, before they are put into a history.
    pub fn new(name: &str, title: &str, origin: Origin, template: String) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            origin,
            template,
            channel: Channel::ErrorOutput,
            axes: None,
            words: String::new(),
            take: TakeId::MAIN,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Origin {
    /// The model read it when it was recorded.
    Recorded,
    Library,
    /// The operator's own files.
    Own,
    /// The spec of the experiment, or words that the operator typed.
    Spec,
}

impl Origin {
    pub fn word(self) -> &'static str {
        self.into()
    }
}
