//! The regression fixture of a recovery: the history of a take up to and with what it changed, as one request,
//! with what `check` finds in it.

use super::{Base, Input, InputError, Recording, check_session, read_written};
use retake_core::formats::convert::{ConvertOptions, convert};
use retake_core::formats::{CannotWrite, lower};
use retake_core::redact::shareable_json;
use retake_core::repair::likely;
use retake_core::session::boundary::Boundaries;
use retake_core::session::{
    Dialect, Edit, HistoryChange, Rope, Session, SourceError, compare, index_number,
};
use retake_core::wording::recipe::{History, RecipeError, RecoveryCase, fixture};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

pub struct RecoveryFixture<'a> {
    pub recovery: RecoveryCase<'a>,
    /// What the take is laid over.
    pub base: &'a Base,
    pub number: usize,
    /// The session before, with its text.
    pub before: (&'a Session, &'a Rope),
    pub rope: &'a Arc<Rope>,
    /// Whether it keeps the secrets of the history.
    pub keeps_secrets: bool,
    /// The dialect to judge for; that of the recording if `None`.
    pub target: Option<Dialect>,
    /// Adds what is known from outside of the file to a recording that was read.
    pub complete: &'a dyn Fn(&mut Recording),
}

#[derive(Debug, thiserror::Error)]
pub enum FixtureError {
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    #[error(transparent)]
    CannotWrite(#[from] CannotWrite),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("the recovery leaves no trace in the history")]
    NothingChanged,
}

impl From<SourceError> for FixtureError {
    fn from(error: SourceError) -> Self {
        Self::Input(error.into())
    }
}

impl RecoveryFixture<'_> {
    pub fn text(&self) -> Result<String, FixtureError> {
        let after = self.read(self.rope)?;
        let session = self.session_of(&after)?;
        let end = self.end_of_recovery(session)?;
        if end >= session.items.len() {
            return self.write(session);
        }
        let from = index_number(end);
        let splices = lower(session, &[Edit::Cut { from }])?;
        let ended = self.read(&Arc::new(self.rope.spliced(&splices)))?;
        self.write(self.session_of(&ended)?)
    }

    fn read(&self, rope: &Arc<Rope>) -> Result<Recording, FixtureError> {
        let mut recording = self.base.read(rope, &|_, _| ())?;
        (self.complete)(&mut recording);
        Ok(recording)
    }

    fn session_of<'r>(&self, recording: &'r Recording) -> Result<&'r Session, FixtureError> {
        let session = recording.sessions.get(self.number);
        session.ok_or(FixtureError::NothingChanged)
    }

    /// The first place after all changes where a history can end: no turn is torn
    /// apart, and no pair.
    fn end_of_recovery(&self, after: &Session) -> Result<usize, FixtureError> {
        let mut last = None;
        let mut at = 0;
        for change in compare(self.before, (after, self.rope))? {
            match change {
                HistoryChange::Same { after, .. } => at = after.end,
                HistoryChange::Changed { after, .. } | HistoryChange::Added { after } => {
                    at = after + 1;
                    last = Some(after);
                }
                HistoryChange::Removed { .. } => last = Some(at),
            }
        }
        let Some(last) = last else {
            return Err(FixtureError::NothingChanged);
        };
        let Some(item) = after.items.get(last) else {
            return Ok(after.items.len());
        };
        let turn = after.turns.get(item.turn as usize);
        let end = turn.map_or(after.items.len(), |turn| turn.end as usize);
        let boundaries = Boundaries::of(after);
        if boundaries.is_clean(end) {
            return Ok(end);
        }
        Ok(boundaries.after(end).unwrap_or(after.items.len()))
    }

    /// The request, which says how many findings it has itself.
    fn write(&self, session: &Session) -> Result<String, FixtureError> {
        let (before, _) = self.before;
        let fixed = before.items.get(self.recovery.item as usize);
        let call_id = fixed.map(|item| before.call_id(item)).transpose()?;
        let call_id = call_id.unwrap_or_default();
        let history = Spelled::of(session)?;
        let draft = self.fixture(session, &history, &call_id, 0)?;
        let findings = self.findings(&draft, session, &call_id)?;
        self.fixture(session, &history, &call_id, findings)
    }

    fn fixture(
        &self,
        session: &Session,
        history: &Spelled,
        call_id: &str,
        findings: usize,
    ) -> Result<String, FixtureError> {
        let last = index_number(session.items.len()).saturating_sub(1);
        let tools = session.contract.tools_at(last);
        let elements = history.elements.iter().map(|element| element.get());
        let elements = elements.map(str::as_bytes).collect::<Vec<_>>();
        let history = History {
            dialect: session.dialect,
            model: session.model.as_deref().unwrap_or_default(),
            instructions: history.system.as_ref(),
            elements: &elements,
            tools: session.contract.tools_known().then_some(&tools[..]),
            output_schema: session.contract.output_schema.as_ref(),
            call_id,
            findings,
        };
        let text = fixture(&self.recovery, &history)?;
        Ok(match self.keeps_secrets {
            true => text,
            false => String::from_utf8_lossy(&shareable_json(text.as_bytes())).into_owned(),
        })
    }

    /// How many findings of the rule `check` has in a fixture.
    fn findings(&self, text: &str, of: &Session, call_id: &str) -> Result<usize, FixtureError> {
        let recording = read_text(text, of.dialect)?;
        let mut count = 0;
        for session in &recording.sessions {
            for finding in check_session(session, self.target)? {
                let item = finding
                    .item
                    .and_then(|item| session.items.get(item as usize));
                let own = item.map(|item| session.call_id(item)).transpose()?;
                let is_own = call_id.is_empty() || own.as_deref() == Some(call_id);
                count += usize::from(finding.rule.id == self.recovery.rule && is_own);
            }
        }
        Ok(count)
    }
}

fn read_text(text: &str, to: Dialect) -> Result<Recording, InputError> {
    let input = Input::of("fixture", Arc::new(text.as_bytes().to_vec()));
    read_written(input, to.facts().format)
}

/// A history as the elements of a request.
struct Spelled {
    /// The system prompt of Anthropic, which is not an element.
    system: Option<Value>,
    elements: Vec<Box<RawValue>>,
}

/// Anthropic's history as `formats::convert` writes it; the others are a list.
#[derive(Deserialize)]
struct Members {
    #[serde(default)]
    system: Option<Value>,
    messages: Vec<Box<RawValue>>,
}

impl Spelled {
    fn of(session: &Session) -> Result<Self, FixtureError> {
        let mut text = Vec::new();
        let options = ConvertOptions {
            as_request: false,
            repair: likely,
        };
        convert(session, session.dialect, options, &mut |piece| {
            text.extend_from_slice(piece);
            Ok::<(), SourceError>(())
        })?;
        let unfit = |error: serde_json::Error| {
            RecipeError::Unfit(format!("an item of the history cannot be read: {error}"))
        };
        if session.dialect.facts().has_blocks {
            let Members { system, messages } = serde_json::from_slice(&text).map_err(unfit)?;
            return Ok(Self {
                system,
                elements: messages,
            });
        }
        Ok(Self {
            system: None,
            elements: serde_json::from_slice(&text).map_err(unfit)?,
        })
    }
}
